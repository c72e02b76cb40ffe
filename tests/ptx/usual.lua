--- The usual kernels of cuda/ahead/kernels.lua on small data: each is compiled by the real NVRTC, and its PTX runs. Products and
-- reductions are compared with the interpreter of folds, bit for bit; fits run where "fits" asks for them, which takes minutes.
--
-- Run:  build/gibbous tests/ptx/usual.lua FOLDER [POINTS [fits]]     (with EMU_PTX and the environment of tests/cuda)
local points <const> = tonumber(arg[2]) or 40
local folder <const> = arg[1]

-- In a process of its own: what kernels.lua plans is evaluated, and a line says what it gives --------------------------------

local function run()
  local gb <const> = require "gibbous"
  local f <const> = assert(io.open "cuda/ahead/kernels.lua")
  local text <const>, found <const> = f:read "a":gsub("= 512, 200\n", ("= %d, %d\n"):format(points, points // 2))
  f:close()
  local fits <const> = text:find("--- A fit of two steps", 1, true)
  assert(found == 1 and fits, "the sizes or the fits of kernels.lua are not where they were")
  local seed = 0
  local function rand(...)
    seed = seed + 1
    local shape <const> = {...}
    shape[#shape].seed = seed
    return gb.rand(table.unpack(shape))
  end
  local function evaluate(e)
    local words <const> = {}
    for i, v in ipairs(e:eval():reshape(-1):totable()) do words[i] = ("%a"):format(v) end
    print(table.concat(words, " "))
  end
  local small <const> = setmetatable({zeros = rand, plan = evaluate}, {__index = gb})
  local environment <const> = setmetatable({require = function() return small end}, {__index = _G})
  assert(load(text:sub(1, arg[3] == "fits" and -1 or fits - 1), "kernels.lua", "t", environment))()
  io.stderr:write(gb.devices()[1].kernels, "\n")
  os.exit(0)
end
if folder == "--run" then run() end

-- Twice -------------------------------------------------------------------------------------------------------------------------

local function lines(setting, log)
  local command <const> = ("%s XDG_CACHE_HOME='%s/cache' GIBBOUS_DEVICE=cuda:0 GIBBOUS_CUDA_ARITHMETIC=unit '%s' "
    .. "tests/ptx/usual.lua --run %d %s 2>'%s/%s'"):format(setting, folder, arg[-1], points, arg[3] or "", folder, log)
  local pipe <const> = assert(io.popen(command))
  local out <const> = {}
  for line in pipe:lines() do out[#out + 1] = line end
  local ok <const> = pipe:close()
  local f <const> = assert(io.open(folder .. "/" .. log))
  local said <const> = f:read "a"
  f:close()
  if not ok then
    print(said)
    os.exit(1)
  end
  return out, said
end

os.execute(("rm -rf '%s' && mkdir -p '%s'"):format(folder, folder))
local want <const> = lines("GIBBOUS_CUDA_COMPILE=off", "interpreter")
local got <const>, said <const> = lines("GIBBOUS_CUDA_COMPILE=wait", "ptx")

--- The largest difference of two lines of numbers, over the largest number.
local function difference(a, b)
  local most, apart, n = 0, 0, {}
  for w in a:gmatch "%S+" do n[#n + 1] = tonumber(w) end
  local i = 0
  for w in b:gmatch "%S+" do
    i = i + 1
    most, apart = math.max(most, math.abs(n[i])), math.max(apart, math.abs(n[i] - tonumber(w)))
  end
  return i == #n and apart / most or 1 / 0
end

local same, near = 0, 0
for i, line in ipairs(want) do
  if line == got[i] then same = same + 1
  else
    local d <const> = difference(line, got[i] or "")
    if not (d < 1e-5) then print(("line %d differs by %g"):format(i, d)) end
    near = near + (d < 1e-5 and 1 or 0)
  end
end
print(("%d results, %d bit for bit, %d near (logarithms); %s"):format(#want, same, near, said:match "PTX: [^\n]*" or "no PTX ran"))
-- logsumexp takes exponentials and logarithms of NVRTC's own library.
os.exit(same + near == #want and #got == #want and near <= 4 and said:find "PTX: %d+ kernels ran" ~= nil and 0 or 1)

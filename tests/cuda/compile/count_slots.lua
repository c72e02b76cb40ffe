--- Issue slots of a pair, registers and stack of generated kernels, from their code for sm_90: the table of docs/guide/cuda.md.
--
-- Run:  build/gibbous tests/cuda/compile/count_slots.lua PTXAS FOLDER [NVDISASM] [--write]
--
-- The texts of the cases below are recorded (cuda/ahead/record.c) and compiled in FOLDER, and what is counted is compared with
-- slots.txt beside it, line by line; --write replaces that file. Registers are compared where the toolkit is the one of the file,
-- the stack always: a kernel has none. Slots need a disassembler: NVDISASM, or nvdisasm on the PATH; without one they are not
-- compared, which is said. They are the instructions of the largest innermost loop, over the pairs of a turn: the rows of a thread
-- times the unrolled columns.
local images <const> = require "tests.cuda.compile.images"

local cases <const> = {
  {"d=3 R=1", d = 3, r = 1}, {"d=8 R=1", d = 8, r = 1}, {"d=3 R=16", d = 3, r = 16}, {"d=8 R=16", d = 8, r = 16},
  {"d=32 R=1", d = 32, r = 1}, {"d=32 R=16", d = 32, r = 16}, {"d=3 R=1 transposed", d = 3, r = 1, transposed = true},
  {"d=3 R=1 symmetric", d = 3, r = 1, symmetric = true}, {"d=3 R=4 symmetric", d = 3, r = 4, symmetric = true},
  {"d=3 R=1 Matern 3/2", d = 3, r = 1, kernel = "matern32"},
  {"d=3 R=1 f64", d = 3, r = 1, dtype = "f64"}, {"d=3 logsumexp", d = 3, reduce = "logsumexp"},
  {"d=2 argmin", d = 2, reduce = "argmin"}, {"d=3 argmin", d = 3, reduce = "argmin"}}

-- In a process of its own, whose device records: a line for each kernel of each case --------------------------------------------

local function record()
  local gb <const> = require "gibbous"
  local n <const> = 400
  local function fill(make, c, ...)
    local shape <const> = {...}
    shape[#shape + 1] = {dtype = c.dtype or "f32"}
    return make(table.unpack(shape)):eval()
  end
  for _, c in ipairs(cases) do
    local x <const> = fill(gb.zeros, c, n, c.d)
    local y <const> = c.symmetric and x or fill(gb.ones, c, n, c.d)
    local k <const> = gb.kernels[c.kernel or "rbf"]{lengthscale = 0.3}
    if c.reduce == "argmin" then ((x:unsqueeze(2) - y:unsqueeze(1)) ^ 2):sum(3):argmin(2):eval()
    elseif c.reduce then k(x, y)[c.reduce](k(x, y), 2):eval()
    else
      local v <const> = c.r == 1 and fill(gb.zeros, c, n) or fill(gb.zeros, c, n, c.r)
      local products <const> = c.transposed and k(x, y):t() or k(x, y)
      products:matmul(v):eval()
    end
    for key, reach in gb.devices()[1].kernels:gmatch "(%x+) (%w+) " do print(c[1], key, reach) end
  end
end

-- Counting ----------------------------------------------------------------------------------------------------------------------

--- Number of instructions of the innermost loop that has most; nil where there is none. 'text': of nvdisasm.
local function hot_loop(text)
  local label <const>, n, best = {}, 0, nil
  local loops <const> = {}
  for line in text:gmatch "[^\n]+" do
    local name <const> = line:match "^%s*(%.L_x_%d+):"
    if name then label[name] = n
    elseif line:match "/%*%x%x%x%x+%*/%s+[@%u]" then
      n = n + 1
      local target <const> = line:match "BRA.*(%.L_x_%d+)"
      if target and label[target] and label[target] < n - 1 then loops[#loops + 1] = {label[target], n} end
    end
  end
  for _, a in ipairs(loops) do
    local innermost = true
    for _, b in ipairs(loops) do innermost = innermost and (a == b or not (a[1] <= b[1] and b[2] <= a[2])) end
    if innermost and (not best or a[2] - a[1] > best) then best = a[2] - a[1] end
  end
  return best
end

local read <const> = images.read

local function output(command)
  local pipe <const> = assert(io.popen(command))
  local out <const> = pipe:read "a"
  return pipe:close() and out or nil
end

--- Rows of a thread and columns that its loop takes at once: unrolled ones, or those of a group of LSE.
local function batch_of(text)
  local columns <const> = text:match "#pragma unroll (%d+)\n%s*for %(int s = [^(]"
    or text:match "for %(int g = 0; g < (%d+); g%+%+%) {"
  return tonumber(text:match "int64_t held%[(%d+)%];"), tonumber(columns)
end

local function count(folder, disassembler, class, label, key, reach)
  local text <const> = read(("%s/%s/%s.cu"):format(folder, class, key))
  local image <const> = images.pack(("%s/%s.pack"):format(folder, class))[images.at(key, 90)]
  local resources <const> = images.resources(assert(image, label .. " has no code"))
  local rows <const>, columns <const> = batch_of(text)
  local slots
  if disassembler then
    local path <const> = folder .. "/image.cubin"
    local f <const> = assert(io.open(path, "wb"))
    f:write(image)
    f:close()
    local loop <const> = hot_loop(assert(output(disassembler .. " -c " .. path), "the disassembler failed"))
    slots = loop and rows and columns and ("%.2f"):format(loop / (rows * columns))
  end
  return {("%s, %s, %s"):format(label, class, reach), tostring(rows), tostring(resources.registers),
    tostring(resources.stack), slots or "?"}
end

-- The table ---------------------------------------------------------------------------------------------------------------------

local path <const> = "tests/cuda/compile/slots.txt"

local function rows_of_file()
  local out <const>, toolkit = {}, nil
  for line in io.lines(path) do
    toolkit = toolkit or line:match "^# toolkit (.*)$"
    local cells <const> = {}
    for cell in line:gmatch "[^|]+" do cells[#cells + 1] = cell:match "^%s*(.-)%s*$" end
    if line:sub(1, 1) ~= "#" then out[cells[1]] = cells end
  end
  return out, toolkit
end

local function version(ptxas) return output(ptxas .. " --version"):match "release ([%d.]+)" or "?" end

local function main(words)
  local write, rest = false, {}
  for _, w in ipairs(words) do
    if w == "--write" then write = true else rest[#rest + 1] = w end
  end
  local ptxas <const>, folder <const> = rest[1], rest[2]
  local disassembler = rest[3] or (os.execute "command -v nvdisasm >/dev/null 2>&1" and "nvdisasm" or nil)
  if not folder then error("usage: count_slots.lua PTXAS FOLDER [NVDISASM] [--write]", 0) end
  if not disassembler then print "nvdisasm is not here: slots are not counted, registers and stack are" end
  local build <const> = arg[-1]:match "^(.*)/[^/]*$" or "."
  local found <const> = {}
  for _, class in ipairs{"unit", "exact"} do
    os.execute(("rm -rf '%s/%s' && mkdir -p '%s/%s'"):format(folder, class, folder, class))
    local lines <const> = assert(output(("GIBBOUS_RATES=fixed GIBBOUS_DEVICE=cuda GIBBOUS_CUDA_ARITHMETIC=%s "
      .. "GIBBOUS_CUDA='%s/cuda/ahead/libgibbous_cuda_record.so' GIBBOUS_CUDA_RECORD='%s/%s' "
      .. "'%s' tests/cuda/compile/count_slots.lua --record"):format(class, build, folder, class, arg[-1])), "nothing was recorded")
    assert(os.execute(("XDG_CACHE_HOME='%s' '%s/cuda/ahead/gibbous_cuda_pack' '%s' '%s/%s' '%s/%s.pack' 80 90"):format(
      folder, build, ptxas, folder, class, folder, class)))
    for label, key, reach in lines:gmatch "([^\t\n]+)\t(%x+)\t(%w+)" do
      if class == "exact" or not label:find "f64" then   -- f64 has one class
        found[#found + 1] = count(folder, disassembler, class, label, key, reach)
      end
    end
  end
  assert(#found >= 2 * #cases - 1, "cases are missing")
  local toolkit <const> = version(ptxas)
  if write then
    local f <const> = assert(io.open(path, "w"))
    f:write("# toolkit ", toolkit, "\n# case | rows of a thread | registers | bytes of stack | slots of a pair\n")
    for _, row in ipairs(found) do f:write(table.concat(row, " | "), "\n") end
    f:close()
  end
  local want <const>, of <const> = rows_of_file()
  local wrong = 0
  for _, row in ipairs(found) do
    local w <const> = want[row[1]] or {}
    local same <const> = row[4] == "0" and (of ~= toolkit or row[2] == w[2] and row[3] == w[3])
      and (not disassembler or of ~= toolkit or math.abs((tonumber(row[5]) or 1 / 0) / (tonumber(w[5]) or 0) - 1) <= 0.01)
    if not same then wrong = wrong + 1 end
    print(table.concat(row, " | ") .. (same and "" or "   <- " .. table.concat(w, " | ")))
  end
  local other <const> = of == toolkit and "" or ("; toolkit %s, the table is of %s"):format(toolkit, of)
  print(("%d kernels, %d wrong%s"):format(#found, wrong, other))
  os.exit(wrong == 0 and 0 or 1)
end

if arg[1] == "--record" then record() else main(arg) end

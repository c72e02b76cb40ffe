--- The pack of a build: what its kernels take, and whether programs have the texts that it was made of.
--
-- Run:  build/gibbous tests/cuda/compile/pack_check.lua PACK TEXTS FOLDER
--
-- Every kernel of PACK has its code for sm_80 and sm_90, no stack, where spilled registers would lie, and registers for the thread
-- blocks that it promises. The cases of scripts/bench/cuda.lua, run on the device that records, find all of theirs in it. What a
-- GPU (the emulated one) compiles for three products has the keys that the device that records gives for them. TEXTS: the folder
-- that PACK was made of; FOLDER: for files of this script.
local images <const> = require "tests.cuda.compile.images"
local path <const>, texts <const>, folder <const> = arg[1], arg[2], arg[3]

local function output(command)
  local pipe <const> = assert(io.popen(command))
  local out <const> = pipe:read "a"
  assert(pipe:close(), "failed: " .. command)
  return out
end

-- In a process of its own: products, and what the device says of its kernels ----------------------------------------------------

if path == "--products" then
  local gb <const> = require "gibbous"
  local k <const>, l <const> = gb.kernels.rbf{lengthscale = 0.3}, gb.kernels.matern32{lengthscale = 0.3}
  local o <const> = {dtype = "f32", seed = 1}
  local x <const>, v <const> = gb.rand(400, 3, o):eval(), gb.rand(400, o):eval()
  k(x, gb.rand(300, 3, o):eval()):matmul(gb.rand(300, o):eval()):eval()
  l(x, x):matmul(v):eval()
  io.write(gb.devices()[1].kernels)
  os.exit(0)
end

local build <const> = arg[-1]:match "^(.*)/[^/]*$" or "."
local recording <const> = ("GIBBOUS_RATES=fixed GIBBOUS_CUDA_RECORD= GIBBOUS_DEVICE=cuda GIBBOUS_CUDA_ARITHMETIC=unit "
  .. "GIBBOUS_CUDA='%s/cuda/ahead/libgibbous_cuda_record.so' '%s' "):format(build, arg[-1])
local pack <const> = images.pack(path)
local wrong = 0

local function check(ok, ...)
  if ok then return end
  wrong = wrong + 1
  print("wrong:", ...)
end

-- What kernels take -------------------------------------------------------------------------------------------------------------

local kernels, known = 0, {}
for name in output("ls '" .. texts .. "'"):gmatch "(%x+)%.cu\n" do
  local f <const> = assert(io.open(("%s/%s.cu"):format(texts, name)))
  local threads <const>, blocks <const> = f:read "a":match "__launch_bounds__%((%d+), (%d+)%)"
  f:close()
  kernels, known[name:sub(1, 16)] = kernels + 1, true
  for _, target in ipairs{80, 90} do
    local image <const> = pack[images.at(name, target)]
    check(image, name, "has no code for", target)
    local r <const> = image and images.resources(image)
    check(r and r.stack == 0, name, target, r and r.stack, "bytes of stack")
    check(r and r.registers * threads * blocks <= 65536, name, target, r and r.registers, "registers", threads, blocks)
  end
  check(pack[images.at(name, 0x10000 | 80)], name, "has no PTX")
end
check(kernels > 100, kernels, "kernels")

-- Who finds them ----------------------------------------------------------------------------------------------------------------

local function keys_of(said)
  local out <const> = {}
  for key, reach in said:gmatch "(%x+) (%w+) %d" do out[#out + 1] = {key = key, reach = reach} end
  return out
end

local bench <const> = ("%s/bench.lua"):format(folder)
os.execute("mkdir -p '" .. folder .. "'")
local f <const> = assert(io.open(bench, "w"))
f:write [[arg = {[0] = "scripts/bench/cuda.lua", "--quick", "--points", "400"}
local print <const> = print
_G.print = function() end
dofile "scripts/bench/cuda.lua"
print(require "gibbous".devices()[1].kernels)]]
f:close()
local found <const> = keys_of(output(recording .. bench))
check(#found >= 9, #found, "kernels of the benchmark")
for _, k in ipairs(found) do
  check(known[k.key:sub(1, 16)], "the benchmark has a kernel that is not in the pack:", k.key, k.reach)
end

-- Texts at run time -------------------------------------------------------------------------------------------------------------

local here <const> = "tests/cuda/compile/pack_check.lua --products"
local recorded <const> = keys_of(output(recording .. here))
check(#recorded >= 2, #recorded, "kernels of two products")
local cache <const> = folder .. "/cache"
os.execute("rm -rf '" .. cache .. "'")
local said <const> = output(("GIBBOUS_DEVICE=cuda GIBBOUS_CUDA=emulated GIBBOUS_CUDA_ARITHMETIC=unit GIBBOUS_CUDA_COMPILE=wait "
  .. "GIBBOUS_CUDA_PACK='%s' XDG_CACHE_HOME='%s' GIBBOUS_RATES=fixed '%s' %s"):format(path, cache, arg[-1], here))
-- Its code is none of a GPU.
check(said:find("pack: '" .. path .. "' is of another version", 1, true), "the emulated GPU says:", said)
local compiled <const> = {}
for name in output("ls '" .. cache .. "/gibbous/kernels'"):gmatch "(%x+)%.cubin" do compiled[name:sub(1, 16)] = true end
for _, k in ipairs(recorded) do
  check(compiled[k.key:sub(1, 16)], "a GPU has another text than the device that records:", k.key, k.reach)
  check(known[k.key:sub(1, 16)], "not in the pack:", k.key, k.reach)
end

print(("%d kernels; %d of the benchmark and %d of two products are among them; %d wrong"):format(kernels, #found, #recorded, wrong))
os.exit(wrong == 0 and 0 or 1)

--- The memory of the emulated GPU as scripts see it, and GPUs that are not there or go away: each an error with the line.
local process <const> = require "spec.process"

local prelude <const> = [[
local gb <const> = require "gibbous"
local function try(f)
  local ok <const>, e <const> = pcall(f)
  if ok then print("done", e) else print(e.code, e.line:match "[^/]*$", (e.message:gsub("\n", " "))) end
  return e
end
]]

local function run(env, script)
  local path <const> = os.tmpname()
  do
    local f <close> = assert(io.open(path, "wb"))
    f:write(prelude .. script)
  end
  local out <const>, errors <const>, rc <const> = process.run({path}, {env = "GIBBOUS_DEVICE= " .. env})
  os.remove(path)
  assert.equal("", errors)
  assert.equal(0, rc)
  local lines <const> = {}
  for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

--- A line "code, script:line, message" of try, for a call in line n of the script.
local function refused(line, code, n, words)
  local got <const>, at <const>, text <const> = line:match "^(%S+)\t(%S+)\t(.*)$"
  assert.equal(code, got, line)
  assert.equal(n + 6, tonumber(at:match ":(%d+)$"), line)                -- behind the lines of the prelude
  assert.is_truthy(text:find(words, 1, true), ("'%s' expected in '%s'"):format(words, text))
end

describe("the memory of a GPU", function()
  it("is told as bytes that tensors have and bytes of pages", function()
    local out <const> = run("GIBBOUS_CUDA=emulated", [[
local before <const> = gb.zeros(1, {device = "cuda"}):eval()
local x = gb.randn(1000, 1000, {seed = 1, device = "cuda"}):eval()
local function told() local d <const> = gb.devices()[2] print(d.name, d.used, d.mapped) end
told()
x = nil
collectgarbage()
collectgarbage()
gb.memory.limit{["cuda:0"] = "1 MiB"}
told()
print(gb.devices()[1].mapped)
local y <const> = gb.zeros(100, 1000, {device = "cuda"}):eval()
told()
]])
    assert.same({"cuda:0\t8000008\t8388608", "cuda:0\t8\t8388608", "nil", "cuda:0\t800008\t2097152"}, out)
  end)

  it("has a limit by name, which goes below what is used and up again", function()
    local out <const> = run("GIBBOUS_CUDA=emulated", [[
local before <const> = gb.memory.limit{["cuda:0"] = "64 MiB", cpu = "1 GiB"}
print(before["cuda:0"] > 3e9, before.cpu > 0, gb.devices()[2].limit, gb.devices()[1].limit)
local x <const> = gb.ones(1000, 1000, {device = "cuda:0"}):eval()
gb.memory.limit{["cuda:0"] = "4 MiB"}
local e <const> = try(function() local v <const> = (x + 1):eval() return v end)
print(e.need, e.have, e.minimum)
local advised <const> = math.tointeger(e.message:match "gb.memory.limit%((%d+), {device = 'cuda:0'}%)")
print(advised - 8000000 - e.minimum)
gb.memory.limit{["cuda:0"] = advised}
local y <const> = (x + 1):eval()
print(y.device)
for name, size in pairs(gb.memory.limit(before)) do print(name, size) end
print(gb.memory.limit(nil, {device = "cuda"}) == before["cuda:0"])
]])
    assert.equal("true\ttrue\t67108864\t1073741824", out[1])
    refused(out[2], "refused", 5, "on cuda:0, have 0 B of 4 MiB")
    assert.matches("^800%d+\t0\t800%d+$", out[3])
    assert.equal("0", out[4])
    assert.equal("cuda:0", out[5])
    assert.equal("true", out[#out])
  end)

  it("is not set, and the error says why, where a limit is not valid", function()
    local out <const> = run("GIBBOUS_CUDA=emulated", [[
try(function() local v <const> = gb.memory.limit({["cuda:0"] = "1 MiB", ["cuda:9"] = 5}) return v end)
try(function() local v <const> = gb.memory.limit({["cuda:0"] = "1 MiB", cpu = "64 XX"}) return v end)
try(function() local v <const> = gb.memory.limit({"1 MiB"}) return v end)
print(gb.memory.limit(nil, {device = "cuda:0"}) > 3e9)
]])
    refused(out[1], "device", 1, "there is no GPU number 9: the NVIDIA driver finds 1, counted from 0")
    refused(out[2], "option", 2, "memory limit must be bytes or text")
    refused(out[3], "option", 3, "expected {name of a device = size}, got a key of type number")
    assert.equal("true", out[4])
  end)

  it("that a tensor does not fit into names the least that works, and it works", function()
    local out <const> = run("GIBBOUS_CUDA=emulated EMU_BYTES=50000000", [[
local e <const> = try(function() local v <const> = gb.ones(3000, 3000, {device = "cuda"}):eval() return v end)
print(e.need, e.minimum, e.have == gb.devices()[2].limit)
local x <const> = gb.ones(1000, 1000):eval()
gb.memory.limit{["cuda:0"] = 8000000 - 1}
local far <const> = try(function() local v <const> = x:to "cuda":eval() return v end)
gb.memory.limit{["cuda:0"] = far.minimum}
print(far.minimum, x:to "cuda":eval().device)
]])
    refused(out[1], "refused", 1, "on cuda:0")
    assert.matches("^7200%d+\t7200%d+\ttrue$", out[2])
    refused(out[3], "refused", 5, "on cuda:0")
    assert.matches("^8000%d+\tcuda:0$", out[4])
  end)
end)

describe("a GPU that is not there", function()
  local script <const> = [[
try(function() local v <const> = gb.zeros(3, {device = "cuda"}) return v end)
try(function() local v <const> = gb.zeros(3):to "cuda" return v end)
try(function() local v <const> = gb.plan(gb.ones(4, 4):sum(), {device = {"cpu", "cuda"}}) return v end)
try(function() local v <const> = gb.config{device = "cuda"} return v end)
try(function() local v <const> = gb.memory.limit({cuda = "1 MiB"}) return v end)
try(function() local v <const> = gb.zeros(3):to "cuda:9" return v end)
print(gb.ones(3):sum():item())
]]
  for env, why in pairs{["GIBBOUS_CUDA=off"] = "it is switched off by the environment",
    ["GIBBOUS_CUDA=/nowhere/at.so"] = "/nowhere/at.so: cannot open shared object file",
    ["GIBBOUS_CUDA=emulated EMU_DEVICES=0"] = "the NVIDIA driver finds no GPU",
    ["GIBBOUS_CUDA=emulated EMU_FAIL=cudaDriverGetVersion@1+=35"] = "no NVIDIA driver is loaded",
    ["GIBBOUS_CUDA=emulated EMU_FAIL=cudaGetDeviceCount@1+=35"] = "install a newer driver",
    ["GIBBOUS_CUDA=emulated EMU_FAIL=cudaSetDevice@1+=46"] = "exclusive mode",
    ["GIBBOUS_CUDA=emulated EMU_FAIL=kernel:probe@1+=1"] = "the first kernel: ",
    ["GIBBOUS_CUDA=emulated EMU_FAIL=kernel:probe@1+=209"] = "the library has no code for GPU"} do
    it("is an error with the line: " .. why, function()
      local out <const> = run(env, script)
      for i = 1, 6 do refused(out[i], "device", i, i == 6 and "cuda:9" or why) end
      assert.equal("3.0", out[7])
    end)
  end

  it("is told from one that is", function()
    local out <const> = run("GIBBOUS_CUDA=emulated EMU_DEVICES=2", [[
local x <const> = gb.rand(3, {device = "cuda"}):eval()
try(function() local v <const> = x + gb.rand(3, {device = "cuda:1"}) return v end)
try(function() local v <const> = gb.cat({x, gb.rand(3):eval()}, 1):eval() return v end)
try(function() local v <const> = gb.zeros(3):to "cuda:9" return v end)
print((x:to "cuda:1" * 0 + gb.ones(3, {device = "cuda:1"})):sum():item())
]])
    refused(out[1], "device", 2, "cuda:1")
    refused(out[2], "device", 3, "cuda:0")
    refused(out[3], "device", 4, "there is no GPU number 9: the NVIDIA driver finds 2, counted from 0")
    assert.equal("3.0", out[4])
  end)

  it("any more is lost with what lay there, and the rest of the script works", function()
    local lost = 0
    for call = 20, 160, 9 do
      local out <const> = run(("GIBBOUS_CUDA=emulated EMU_FAIL=*@%d+=999"):format(call), [[
local x <const> = gb.rand(40, 2, {seed = 1}):eval()
try(function()
  local y <const> = x:to "cuda"
  local v <const> = gb.linalg.cholesky(gb.kernels.rbf{}(y, y) + gb.eye(40, {device = "cuda"})):sum():item()
  return v
end)
try(function() local v <const> = x:to "cuda":sum():item() return v end)
print(gb.linalg.cholesky(gb.kernels.rbf{}(x, x) + gb.eye(40)):sum():item() > 0)
]])
      if not out[1]:find "^done" then
        lost = lost + 1
        assert.matches("^device\t%S+:%d+\t.*", out[1])
        assert.matches("^device\t%S+:%d+\t.*", out[2])
      end
      assert.equal("true", out[3])
    end
    assert.is_true(lost > 5, lost)
  end)
end)

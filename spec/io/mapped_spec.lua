--- gb.data.map: arrays that stay in their .npy file. Values, orders and types; what it takes; what is refused; files that change.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local raises <const> = support.raises

local at_home <const> = gb.devices()[1].name == "cpu" and not os.getenv "GIBBOUS_DEVICE"

local function settle()
  core.drop_caches()
  for _ = 1, 3 do collectgarbage() end
end

local function write(bytes, ending)
  local path <const> = support.path(ending or ".npy")
  local f <close> = assert(io.open(path, "wb"))
  f:write(bytes)
  return path
end

--- An .npy file of format 1. gap: bytes that its data begin off a multiple of 64.
local function npy(descr, fortran, shape, data, gap)
  local text = ("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }"):format(descr, fortran and "True" or "False", shape)
  text = text .. (" "):rep((64 - (10 + #text + 1) % 64) % 64 + (gap or 0)) .. "\n"
  return write("\x93NUMPY\1\0" .. string.pack("<I2", #text) .. text .. data)
end

local function doubles(t) return string.pack("<" .. ("d"):rep(#t), table.unpack(t)) end

describe("gb.data.map", function()
  teardown(support.sweep)

  it("has the values of gb.data.read, for each type, at home", function()
    for _, dtype in ipairs{"f64", "f32", "f16", "i64", "i32", "bool"} do
      for _, shape in ipairs{{}, {1}, {7}, {0}, {3, 0}, {513, 9}, {2, 3, 4}} do
        local n = 1
        for _, extent in ipairs(shape) do n = n * extent end
        local x = (gb.range(1, n > 0 and n or 1) % 11):slice(1, 1, n):reshape(table.unpack(shape))
        x = dtype == "bool" and x:gt(4) or x:to{dtype = dtype}
        local path <const> = support.path ".npy"
        gb.data.write(path, x)
        local y <const> = gb.data.map(path)
        assert.equal("cpu", y.device)
        assert.equal(dtype, y.dtype)
        assert.equal(tostring(x.shape), tostring(y.shape))
        assert.is_true(y:equal(gb.data.read(path):to "cpu"))
        assert.is_true((y:to "f64" + 1):equal(gb.data.read(path):to "cpu":to "f64" + 1))
      end
    end
  end)

  it("takes Fortran order as it lies", function()
    local values <const> = {}
    for i = 1, 24 do values[i] = i end
    local y <const> = gb.data.map(npy("<f8", true, "2, 3, 4", doubles(values)))
    local want <const> = gb.tensor(values):reshape(4, 3, 2):permute(3, 2, 1)
    assert.is_true(y:to "cpu":equal(want:to "cpu"))
    assert.is_true(y:select(1, 2):sum(-1):equal(want:to "cpu":select(1, 2):sum(-1)))
    local x <const> = gb.data.map(npy("<f8", true, "8, 3", doubles(values)))
    assert.same({1, 9, 17}, x[1]:totable())
    assert.is_true((x:t():matmul(x)):equal(gb.data.read(npy("<f8", true, "8, 3", doubles(values))):to "cpu":t():matmul(
      gb.tensor(values):to "cpu":reshape(3, 8):t())))
  end)

  it("begins at any multiple of an element, and ends where a page ends", function()
    for _, gap in ipairs{8, 16, 24, 40} do
      local values <const> = {}
      for i = 1, 4000 do values[i] = i % 17 end
      local y <const> = gb.data.map(npy("<f8", false, "4000,", doubles(values), gap))
      assert.equal(y:sum():item(), gb.tensor(values):sum():item())
      assert.is_true((y * 2):exp():equal((gb.tensor(values):to "cpu" * 2):exp()))
    end
    local page <const> = {}
    for i = 1, (8192 - 128) / 8 do page[i] = i end
    assert.equal(8192, #io.open(npy("<f8", false, ("%d,"):format(#page), doubles(page)), "rb"):read "a")
    local y <const> = gb.data.map(npy("<f8", false, ("%d,"):format(#page), doubles(page)))
    assert.equal(#page * (#page + 1) / 2, y:sum():item())
    assert.equal(#page, y:max():item())
  end)

  it("takes no bytes of the limit, is counted as mapped, and goes with its last reference", function()
    if not at_home then return end
    local path <const> = support.path ".npy"
    gb.data.write(path, gb.rand(1000, 100, {seed = 1}))
    settle()
    local before <const> = gb.memory.report()
    do
      local x <const> = gb.data.map(path)
      assert.equal(800000, gb.memory.report().mapped - before.mapped)
      assert.equal(before.used, gb.memory.report().used)
      assert.matches("  mapped 781.2 KiB\n", tostring(gb.memory.report()))
      local part <const> = x:slice(1, 5, 9)
      x:close()
      settle()
      assert.equal(800000, gb.memory.report().mapped - before.mapped)
      assert.is_true(part:sum():item() > 0)
    end
    settle()
    assert.equal(before.mapped, gb.memory.report().mapped)
    assert.is_nil(tostring(gb.memory.report()):find "mapped")
    local y <const> = gb.data.map(path)
    y:close()
    settle()
    assert.equal(before.mapped, gb.memory.report().mapped)
  end)

  it("is never written: what changes values copies first", function()
    local path <const> = support.path ".npy"
    gb.data.write(path, gb.rand(40, 3, {seed = 1, device = "cpu"}))
    local function bytes()
      local f <close> = io.open(path, "rb")
      return f:read "a"
    end
    local was <const> = bytes()
    local x <const> = gb.data.map(path)
    local values <const> = x:totable()
    x:put(1, gb.tensor({2}, {dtype = "i64", device = "cpu"}), 7.0):eval()
    x:sort(1)
    x:cumsum(1):eval()
    if at_home then
      local p <const> = gb.param(x)
      local opt <const> = gb.optim.adam{p, lr = 0.1}
      for _ = 1, 3 do opt:step(function() return (p ^ 2):sum() end) end
      assert.is_false(p.value:equal(x))
      gb.linalg.cholesky(x:t():matmul(x) + gb.eye(3)):eval()
      x:matmul(x:t()):eval()
    end
    assert.same(values, x:totable())
    assert.equal(was, bytes())
  end)

  it("goes to a file as other tensors do", function()
    local path <const>, copy <const> = support.path ".npy", support.path ".npy"
    gb.data.write(path, gb.rand(40, 3, {seed = 1}))
    gb.data.write(copy, gb.data.map(path))
    assert.is_true(gb.data.read(copy):equal(gb.data.read(path)))
    local x <const> = gb.data.map(path)
    local values <const> = x:totable()
    gb.data.write(path, x * 2)                       -- another file takes the name, and the mapped one stays
    assert.same(values, x:totable())
  end)

  it("names what it cannot map", function()
    local function bad(code, text, path) raises(code, text, gb.data.map, path) end
    bad("io", "cannot find 'nowhere.npy'", "nowhere.npy")
    bad("io", "a folder, not a plain file", "/tmp")
    bad("format", "only .npy files are mapped; gb.data.read reads it", write("a,b\n1,2\n", ".csv"))
    bad("format", "not a NumPy array file", write "nothing")
    bad("format", "24 bytes of data expected, 16 found", npy("<f8", false, "3,", doubles{1, 2}))
    bad("format", "16 bytes of data expected, 24 found", npy("<f8", false, "2,", doubles{1, 2, 3}))
    bad("format", "truncated heading", write "\x93NUMPY\1\0\118\0{'descr'")
    bad("format", "an array of Python objects is not read", npy("|O", false, "1,", doubles{1}))
    bad("format", "big-endian", npy(">f8", false, "1,", doubles{1}))
    bad("format", "elements of 2 bytes ('i2') would become i64, which a mapped file cannot: gb.data.read reads it",
      npy("<i2", false, "4,", doubles{1}))
    bad("format", "elements of 1 bytes ('u1')", npy("|u1", false, "8,", doubles{1}))
    bad("format", "0 or 1 expected for element 3, got 9", npy("|b1", false, "4,", "\0\1\9\0"))
    bad("format", "the data begin at byte 132, which is no multiple of the 8 bytes of an element: gb.data.read reads it",
      npy("<f8", false, "1,", doubles{1}, 4))
    bad("option", "map: expected a path, got 3; gb.data.map(path)", 3)
  end)

  it("says when the file has become shorter", function()
    if not at_home then return end
    local path <const> = support.path ".npy"
    gb.data.write(path, gb.rand(3000, 3, {seed = 1}))
    local x <const> = gb.data.map(path)
    local f <const> = assert(io.open(path, "rb"))
    local some <const> = f:read(50000)
    f:close()
    local g <close> = assert(io.open(path, "wb"))
    g:write(some)
    g:flush()
    local text <const> = "has become shorter since it was mapped: it has 50000 bytes of 72128"
    raises("io", text, function() return ((x + 1):eval()) end)
    raises("io", text, function() return (gb.kmeans{k = 2}:fit(x)) end)
  end)

  it("is of the host where the session has another device", function()
    if not process.has_cuda() then return end
    local out <const>, errors <const> = process.run({"-e", [[
      local gb = require "gibbous"
      local path = os.tmpname()
      gb.data.write(path .. ".npy", gb.rand(10, 3, {seed = 1}))
      local x = gb.data.map(path .. ".npy")
      print(x.device, gb.rand(1).device, gb.memory.report().mapped, x:to "cuda:0":equal(gb.data.read(path .. ".npy")))
      os.remove(path .. ".npy")
      os.remove(path)]]}, {env = "GIBBOUS_DEVICE=cuda:0 GIBBOUS_CUDA=emulated GIBBOUS_CUDA_COMPILE=off"})
    assert.equal("", errors)
    assert.equal("cpu\tcuda:0\t240\ttrue\n", out)
  end)
end)

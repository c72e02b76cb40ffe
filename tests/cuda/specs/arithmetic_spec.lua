--- A class of arithmetic of a GPU, that of GIBBOUS_CUDA_ARITHMETIC, and what it promises. With the emulated GPU as the session's
--- device and GIBBOUS_ISA=avx2; run once for each class.
local gb <const> = require "gibbous"
local process <const> = require "spec.process"

local class <const>, device <const> = gb.config().arithmetic, gb.config().device
local n <const> = 300

local function bytes(t) return table.concat(t:reshape(-1):totable(), " ") end

--- The largest difference of two tensors in units of (4 + 1.4 t) 2^-23 of the second, t the exponent of its element.
local function worst(got, want)
  local a <const>, b <const> = got:to{dtype = "f64"}:to "cpu", gb.maximum(want:to{dtype = "f64"}:to "cpu", 1e-37)
  return ((a - b):abs() / (b * (4 - 1.4 / math.log(2) * b:log()) * 2 ^ -23)):max():item()
end

--- Numbers that are made on the CPU.
local function points(where, rows, columns, seed)
  return gb.randn(rows, columns, {dtype = "f32", seed = seed, device = "cpu"}):to(where):eval():detach()
end

local names <const> = {"rbf", "matern12", "matern32", "matern52"}

describe("a kernel in class " .. class, function()
  it("is that of the CPU's avx2: bit for bit, or as near as it promises", function()
    for _, name in ipairs(names) do
      local k <const> = gb.kernels[name]{lengthscale = 0.7}
      local function matrix(where) return k(points(where, n, 3, 7), points(where, n, 3, 8)):eval() end
      local here <const>, home <const> = matrix(device), matrix "cpu"
      if class == "exact" then assert.equal(bytes(home), bytes(here), name)
      else
        -- 2 ulp of the unit, half an ulp of each rounded step, and for each unit of the exponent 0.35 ulp for each half ulp of
        -- the argument: the squared distance, a root of the unit (an ulp), and its scale
        local gap <const> = worst(here, home)
        assert.is_true(gap > 0 and gap <= 1, name .. ": " .. gap)
      end
    end
  end)

  it("has such products and gradients by points, of one dimension and of several", function()
    for d = 1, 3 do
      for _, size in ipairs{{300, 200}, {20, 600}} do
        local k <const> = gb.kernels.matern52{lengthscale = 0.7}
        local function slopes(where)
          local a <const> = points(where, size[1], d, 3):requires_grad()
          return gb.grad(k(a, points(where, size[2], d, 4)):sum(), a):eval()
        end
        local here <const>, home <const> = slopes(device), slopes "cpu"
        if class == "exact" then assert.equal(bytes(home), bytes(here), d .. " dimensions") end
        assert.is_true((here:to "cpu" - home):abs():max():item() <= 1e-4 * home:abs():max():item(), d .. " dimensions")
      end
    end
  end)

  it("passes NaN on, in its row alone", function()
    local x <const> = gb.where(gb.range(0, n - 1, 1, {dtype = "f32"}):unsqueeze(2):ne(16), points(device, n, 3, 7), 0 / 0)
    local isnan <const> = gb.kernels.rbf{}(x, points(device, n, 3, 8)):sum(2):isnan():totable()
    for i = 1, n do assert.equal(i == 17, isnan[i], "row " .. i) end
  end)

  it("stays in it: another class is refused once the device has computed", function()
    local other <const> = class == "exact" and "unit" or "exact"
    local ok <const>, err <const> = pcall(gb.config, {arithmetic = other})
    assert.is_false(ok)
    assert.equal("option", err.code)
    assert.matches(("has computed in arithmetic '%s' already"):format(class), err.message)
    assert.equal(class, gb.config().arithmetic)
    assert.same({arithmetic = class}, gb.config{arithmetic = class})
  end)

  it("has the same bits by the interpreter and by generated kernels", function()
    local script <const> = [[local gb = require "gibbous"
      local x, y = gb.randn(300, 3, {dtype = "f32", seed = 7}), gb.randn(300, 3, {dtype = "f32", seed = 8})
      local v = gb.randn(300, {dtype = "f32", seed = 9})
      for _, name in ipairs{"rbf", "matern12", "matern32", "rational_quadratic"} do
        print(table.concat(gb.kernels[name]{lengthscale = 0.7}(x, y):matmul(v):totable(), " "))
      end
      local kinds = {}
      for _, row in ipairs(gb.profile(function() return gb.kernels.rbf{lengthscale = 0.7}(x, y):matmul(v) end)) do
        kinds[row.carrier] = true
      end
      io.stderr:write(kinds.compiled and "compiled" or "interpreted")]]
    local said <const> = {}
    for _, compile in ipairs{"off", "wait"} do
      local out <const>, errors <const> = process.run({"-e", script}, {env = "GIBBOUS_CUDA_COMPILE=" .. compile})
      assert.equal(compile == "off" and "interpreted" or "compiled", errors)
      said[#said + 1] = out
    end
    assert.is_true(#said[1] > 5000)
    assert.equal(said[1], said[2])
  end)
end)

describe("arithmetic", function()
  it("is 'unit' unless something else is asked for, and is told", function()
    local out <const> = process.run({"-e", [[local gb = require "gibbous"
      print(gb.config().arithmetic)
      gb.config{arithmetic = "exact"}
      local x = gb.zeros(2):to "cuda":eval()
      print(gb.config().arithmetic, gb.devices()[2].arithmetic, gb.devices()[1].arithmetic)]]},
      {env = "GIBBOUS_DEVICE= GIBBOUS_CUDA_ARITHMETIC= GIBBOUS_CUDA=emulated"})
    assert.equal("unit\nexact\texact\tnil\n", out)
  end)

  it("of the environment is told before and after a device is open", function()
    local out <const> = process.run({"-e", [[local gb = require "gibbous"
      print(gb.config().arithmetic)
      local x = gb.zeros(2):to "cuda":eval()
      print(gb.config().arithmetic)
      gb.config(gb.config{arithmetic = "exact"})
      print(gb.devices()[2].arithmetic)]]}, {env = "GIBBOUS_DEVICE= GIBBOUS_CUDA_ARITHMETIC=exact GIBBOUS_CUDA=emulated"})
    assert.equal("exact\nexact\nexact\n", out)
  end)

  it("that is not there is an error", function()
    for name, words in pairs{auto = "is not in this version", mma = "is not in this version", fast = "must be 'unit' or 'exact'"} do
      local ok <const>, err <const> = pcall(gb.config, {arithmetic = name})
      assert.is_false(ok)
      assert.equal("option", err.code)
      assert.matches(words, err.message)
    end
    local _, errors <const>, rc <const> = process.run({"-e", "require 'gibbous'.zeros(2):to 'cuda'"},
      {env = "GIBBOUS_DEVICE= GIBBOUS_CUDA_ARITHMETIC=fast GIBBOUS_CUDA=emulated"})
    assert.matches("GIBBOUS_CUDA_ARITHMETIC must be 'unit' or 'exact', got 'fast'", errors)
    assert.is_true(rc ~= 0)
  end)
end)

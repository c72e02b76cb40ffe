--- Classes of arithmetic of a GPU: what each promises, and that values of one never stand in for those of another. With the
--- emulated GPU as the session's device.
local gb <const> = require "gibbous"
local process <const> = require "spec.process"

local f32 <const> = {dtype = "f32", seed = 7}
local n <const> = 300
local x <const>, y <const> = gb.randn(n, 3, f32):eval(), gb.randn(n, 3, {dtype = "f32", seed = 8}):eval()
local v <const> = gb.randn(n, {dtype = "f32", seed = 9}):eval()

local kernels <const> = {
  rbf = gb.kernels.rbf{lengthscale = 0.7}, matern12 = gb.kernels.matern12{lengthscale = 0.7},
  matern32 = gb.kernels.matern32{lengthscale = 0.7}, matern52 = gb.kernels.matern52{lengthscale = 0.7},
  rational_quadratic = gb.kernels.rational_quadratic{lengthscale = 0.7, alpha = 1.3},
}

--- f's result in a class; the one before comes back.
local function within(class, f)
  local before <const> = gb.config{arithmetic = class}
  local out <const> = f()
  gb.config(before)
  return out
end

local function bytes(t) return table.concat(t:reshape(-1):totable(), " ") end

describe("arithmetic", function()
  it("is 'unit' unless something else is asked for, and is told", function()
    local out <const> = process.run({"-e", [[local gb = require "gibbous"
      local x = gb.zeros(2):to "cuda":eval()
      print(gb.config().arithmetic, gb.devices()[2].arithmetic, gb.devices()[1].arithmetic)
      gb.config{arithmetic = "exact"}
      print(gb.config().arithmetic, gb.devices()[2].arithmetic)]]},
      {env = "GIBBOUS_DEVICE= GIBBOUS_CUDA_ARITHMETIC= GIBBOUS_CUDA=emulated"})
    assert.equal("unit\tunit\tnil\nexact\texact\n", out)
  end)

  it("'exact' has the bits of the CPU's avx2, in kernels and their gradients", function()
    for name, k in pairs(kernels) do
      local here <const> = within("exact", function() return k(x, y):matmul(v):eval() end)
      local home <const> = k(x:to "cpu", y:to "cpu"):matmul(v:to "cpu"):eval()
      assert.equal(bytes(home), bytes(here), name)
    end
  end)

  it("'unit' is near it", function()
    for name, k in pairs(kernels) do
      local exact <const> = within("exact", function() return k(x, y):to{dtype = "f64"}:eval() end)
      local unit <const> = within("unit", function() return k(x, y):to{dtype = "f64"}:eval() end)
      local worst <const> = ((unit - exact):abs() / gb.maximum(exact:abs(), 1e-30)):max():item()
      -- 2 ulp of the unit, half an ulp of each rounded step, and 0.35 ulp for each unit of the exponent, which is below 40 here
      assert.is_true(worst <= (4 + 0.35 * 40) * 2 ^ -23, name .. ": " .. worst)
    end
  end)

  it("of another class computes anew what was computed", function()
    local k <const> = kernels.matern32(x, y)
    local out <const> = k:matmul(v)
    local first <const> = within("exact", function() return bytes(out:eval()) end)
    local other <const> = within("unit", function() return bytes(k:matmul(v):eval()) end)
    local again <const> = within("exact", function() return bytes(kernels.matern32(x, y):matmul(v):eval()) end)
    assert.equal(first, again)
    assert.equal(first, bytes(out))
    assert.is_string(other)
  end)

  it("passes NaN on, in its row alone", function()
    for _, class in ipairs{"exact", "unit"} do
      local bad <const> = gb.where(gb.range(0, n - 1, 1, {dtype = "f32"}):unsqueeze(2):ne(16), x, 0 / 0)
      local out <const> = within(class, function() return kernels.rbf(bad, y):matmul(v):eval() end)
      local isnan <const> = out:isnan():totable()
      for i = 1, n do assert.equal(i == 17, isnan[i], class .. " row " .. i) end
    end
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

describe("generated kernels", function()
  it("have the bits of the interpreter in both classes", function()
    local script <const> = [[local gb = require "gibbous"
      local x, y = gb.randn(300, 3, {dtype = "f32", seed = 7}), gb.randn(300, 3, {dtype = "f32", seed = 8})
      local v = gb.randn(300, {dtype = "f32", seed = 9})
      for _, name in ipairs{"rbf", "matern12", "matern32", "matern52", "rational_quadratic"} do
        print(table.concat(gb.kernels[name]{lengthscale = 0.7}(x, y):matmul(v):totable(), " "))
      end
      local kinds = {}
      for _, row in ipairs(gb.profile(function() return gb.kernels.rbf{lengthscale = 0.7}(x, y):matmul(v) end)) do
        kinds[row.carrier] = true
      end
      io.stderr:write(kinds.compiled and "compiled" or "interpreted")]]
    for _, class in ipairs{"exact", "unit"} do
      local said <const> = {}
      for _, compile in ipairs{"off", "wait"} do
        local env <const> = ("GIBBOUS_CUDA_COMPILE=%s GIBBOUS_CUDA_ARITHMETIC=%s"):format(compile, class)
        local out <const>, errors <const> = process.run({"-e", script}, {env = env})
        assert.equal(compile == "off" and "interpreted" or "compiled", errors)
        said[#said + 1] = out
      end
      assert.is_true(#said[1] > 5000)
      assert.equal(said[1], said[2], class)
    end
  end)
end)

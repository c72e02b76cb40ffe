--- What streams through changes of type, gathers and joins: no value of all pairs is stored, whatever the spelling, and
-- windows change no bit.
local gb <const> = require "gibbous"

local MiB <const> = 2^20

local function points(n) return gb.tensor(gb.randn(n, 3, {seed = 1}):totable()) end

local function squares(x) return ((x:unsqueeze(2) - x:unsqueeze(1))^2):sum(-1) end

--- Ten positions, from the last on.
local function some(n) return gb.range(n, n - 18, -2, {dtype = "i64"}) end

--- Each is a function of points, their kernel and two vectors, one of the other width.
local cases <const> = {
  {"a mask that is summed", function(x) return squares(x):lt(0.5):to{dtype = x.dtype}:sum(2) end},
  {"a sum of a mask", function(_, K) return K:gt(0.5):sum(2) end},
  {"another width", function(_, K, _, w) return K:to{dtype = w.dtype}:matmul(w) end},
  {"another width and back", function(x, K, v, w) return K:to{dtype = w.dtype}:exp():to{dtype = x.dtype}:matmul(v) end},
  {"half precision and back", function(_, K) return K:to{dtype = "f32"}:to{dtype = "f16"}:to{dtype = "f32"}:sum(2) end},
  {"a mask of random numbers", function(x, K, v)
    return (gb.rand(#x, #x, {seed = 3}):gt(0.1):to{dtype = x.dtype} * K):matmul(v)
  end},
  {"some rows", function(x, K, v) return (K + gb.eye(#x, {dtype = x.dtype})):index(1, some(#x)):matmul(v) end},
  {"some rows of some columns", function(x, K) return K:index(1, some(#x)):index(2, some(#x)):sum(1) end},
  {"some rows of a softmax", function(x, K, v) return K:softmax(2):index(1, some(#x)):matmul(v) end},
  {"rows that are joined", function(_, K, v) return gb.cat({K, K * 2}, 1):matmul(v) end},
  {"columns that are joined", function(_, K, v) return gb.cat({K, K^2}, 2):matmul(gb.cat({v, v}, 1)) end},
}

local function build(case, n, dtype)
  local x <const> = points(n):to{dtype = dtype}:eval()
  local v <const> = x:select(2, 1)
  return case[2](x, gb.kernels.rbf{}(x, x), v, v:to{dtype = dtype == "f32" and "f64" or "f32"}:eval())
end

local function values(y, budget)
  gb.plan(y, {budget = budget}):run()
  return y:totable()
end

describe("a value that streams", function()
  for _, case in ipairs(cases) do
    for _, dtype in ipairs{"f32", "f64"} do
      it(("is not stored for %s, %s"):format(case[1], dtype), function()
        local plan <const> = gb.plan(build(case, 20000, dtype), {budget = 4 * MiB})
        assert.is_true(plan.peak < 4 * MiB)
        assert.is_true(plan.minimum < 2 * MiB)
      end)

      it(("has the same bits in windows for %s, %s"):format(case[1], dtype), function()
        local whole <const> = values(build(case, 700, dtype))
        collectgarbage()
        local y <const> = build(case, 700, dtype)
        assert.same(whole, values(y, gb.plan(y).minimum))
      end)
    end
  end

  it("is what its stored parts are", function()
    local x <const> = points(300)
    local K <const>, v = gb.kernels.rbf{}(x, x), x:select(2, 1)
    local stored <const> = gb.kernels.rbf{}(points(300), points(300)):eval()
    local half <const> = stored:to{dtype = "f16"}:eval()
    assert.equal(0, (K:to{dtype = "f16"}:to{dtype = "f64"}:sum(2) - half:to{dtype = "f64"}:eval():sum(2)):abs():max():item())
    local single <const> = stored:to{dtype = "f32"}:eval()
    assert.is_true((K:to{dtype = "f32"}:to{dtype = "f64"}:matmul(v) - single:to{dtype = "f64"}:eval():matmul(v)):abs():max():item()
                   <= 1e-12)
    assert.same(stored:gt(0.5):eval():sum(2):totable(), K:gt(0.5):sum(2):totable())
  end)

  it("is what is gathered from its stored value", function()
    local x <const> = points(60)
    local K <const> = gb.kernels.rbf{}(x, x) + gb.eye(60)
    local stored <const> = gb.tensor(K:totable())
    local far <const> = gb.tensor({3, 60, 3, 1}, {dtype = "i64"})
    assert.same(stored:index(1, far):totable(), K:index(1, far):totable())
    assert.same(stored:index(2, far):index(1, far):totable(), K:index(2, far):index(1, far):totable())
    assert.same(stored:t():index(1, far):totable(), K:t():index(1, far):totable())
    local outside <const> = gb.tensor({3, 61}, {dtype = "i64"})
    assert.is_false(pcall(function() return K:index(1, outside):totable() end))
  end)

  it("is what is joined of its stored parts", function()
    local x <const> = points(60)
    local K <const>, v = gb.kernels.rbf{}(x, x), x:select(2, 1)
    local stored <const> = gb.tensor(K:totable())
    local function near(a, b) assert.is_true((a - b):abs():max():item() <= 1e-13) end
    for _, make in ipairs{function(k) return gb.cat({k, k * 2}, 1):matmul(v) end,
                          function(k) return gb.cat({k, k * 2}, 2):matmul(gb.cat({v, v * 3}, 1)) end,
                          function(k) return gb.cat({v, v * 3}, 1):matmul(gb.cat({k, k * 2}, 1)) end,
                          function(k) return v:matmul(gb.cat({k, k * 2}, 2)) end} do
      near(make(stored), make(K))
    end
  end)

  it("has its gradient through gathers and joins", function()
    local X <const> = points(40):requires_grad()
    local at <const> = gb.tensor({3, 40, 3, 1}, {dtype = "i64"})
    for _, loss in ipairs{function(K) return (K:index(1, at)^2):sum() end,
                          function(K) return (gb.cat({K, K^2}, 1):matmul(K:select(2, 1))^2):sum() end} do
      local stored <const> = gb.tensor(gb.kernels.rbf{}(X, X):totable()):requires_grad()
      local bar <const> = gb.grad(loss(stored), stored):eval()
      local want <const> = gb.grad(gb.kernels.rbf{}(X, X), X, {cotangent = bar})
      local got <const> = gb.grad(loss(gb.kernels.rbf{}(X, X)), X)
      assert.is_true((got - want):abs():max():item() <= 1e-12)
    end
    local Y <const> = gb.tensor(gb.randn(20000, 3, {seed = 1}):totable()):requires_grad()
    local K <const> = gb.kernels.rbf{}(Y, Y)
    assert.is_true(gb.plan(gb.grad((K:index(1, some(20000))^2):sum(), Y)).peak < 4 * MiB)
  end)

  it("has its gradient through a change of type", function()
    local X <const> = points(40):requires_grad()
    local function loss(K) return (K:to{dtype = "f32"}:to{dtype = "f64"}^2):sum() end
    local g <const> = gb.grad(loss(gb.kernels.rbf{}(X, X)), X)
    local want <const> = gb.grad((gb.kernels.rbf{}(X, X)^2):sum(), X)
    assert.is_true((g - want):abs():max():item() <= 1e-5)
    local Y <const> = gb.tensor(gb.randn(20000, 3, {seed = 1}):totable()):requires_grad()
    assert.is_true(gb.plan(gb.grad(loss(gb.kernels.rbf{}(Y, Y)), Y)).minimum < 4 * MiB)
  end)
end)

describe("random values", function()
  --- The product in hexadecimal digits.
  local function product(v)
    local p <const> = v:matmul(v:t())
    return ("%a %a"):format(p[1][2]:item(), p[1][1]:item())
  end

  it("are multiplied alike whether or not someone looked at them", function()
    local fresh <const> = product(gb.rand(3, 4000, {seed = 198}))
    collectgarbage()
    local v <const> = gb.rand(3, 4000, {seed = 198})
    assert.is_string(tostring(v))
    assert.equal(fresh, product(v))
  end)

  it("are multiplied alike when they are asked for with the product, time after time", function()
    local v <const> = gb.rand(3, 4000, {seed = 199})
    local function digits()
      local p <const> = gb.eval(v:matmul(v:t()), v)
      local text <const> = ("%a"):format(p[1][2]:item())
      return text
    end
    local first <const> = digits()
    collectgarbage()
    collectgarbage()
    assert.equal(first, digits())
  end)
end)

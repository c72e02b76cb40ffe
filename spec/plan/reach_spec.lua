--- Kernels stream through changes of type, gathers and joins: no value of all pairs is stored in any spelling, and
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
  {"a product in half precision", function(_, K, v) return K:to{dtype = "f16"}:matmul(v:to{dtype = "f16"}) end},
  {"half precision and back to a product", function(x, K, v) return K:to{dtype = "bf16"}:to{dtype = x.dtype}:matmul(v) end},
  {"sums of whole numbers", function(_, K) return ((K * 10):to{dtype = "i64"} + 1):sum(2) end},
  {"positions of whole numbers", function(_, K) return (K * 10):to{dtype = "i64"}:argmin(1) end},
  {"whole numbers in a product", function(x, K, v) return (K * 10):to{dtype = "i64"}:to{dtype = x.dtype}:matmul(v) end},
  {"the nearest by columns", function(x) return (squares(x):topk(3, 1, {largest = false})) end},
  {"positions of the nearest by columns", function(x) return (select(2, squares(x):topk(3, 1, {largest = false}))) end},
  {"a mask of random numbers", function(x, K, v)
    return (gb.rand(#x, #x, {seed = 3}):gt(0.1):to{dtype = x.dtype} * K):matmul(v)
  end},
  {"some rows", function(x, K, v) return (K + gb.eye(#x, {dtype = x.dtype})):index(1, some(#x)):matmul(v) end},
  {"some rows of some columns", function(x, K) return K:index(1, some(#x)):index(2, some(#x)):sum(1) end},
  {"some rows of a softmax", function(x, K, v) return K:softmax(2):index(1, some(#x)):matmul(v) end},
  {"rows that are joined", function(_, K, v) return gb.cat({K, K * 2}, 1):matmul(v) end},
  {"columns that are joined", function(_, K, v) return gb.cat({K, K^2}, 2):matmul(gb.cat({v, v}, 1)) end},
  {"rows that are put", function(_, K, v) return K:put(1, some(#v), 0.5):matmul(v) end},
  {"columns that are put", function(_, K, v) return K:put(2, some(#v), -math.huge):exp():matmul(v) end},
  {"stored rows that are put", function(_, K, v)
    return K:put(1, some(#v), gb.rand(10, #v, {seed = 4, dtype = v.dtype}):eval()):sqrt():matmul(v)
  end},
  {"stored columns that are put", function(_, K, v)
    return K:put(2, some(#v), gb.rand(#v, 10, {seed = 4, dtype = v.dtype}):eval()):log():matmul(v)
  end},
  {"sums over stored rows that are put", function(_, K, v)
    return K:put(1, some(#v), gb.randn(10, #v, {seed = 4, dtype = v.dtype}):eval()):sum(1)
  end},
  {"rows of itself that are put", function(_, K, v) return K:put(1, some(#v), K:index(1, some(#v)) * 2):max(2) end},
  {"sums of columns that are joined", function(_, K) return gb.cat({K, K^2}, 2):sum(2) end},
  {"sums of rows that are joined", function(_, K) return (gb.cat({K, K^2}, 1) * 2):exp():sum(1) end},
  {"extremes of columns that are joined", function(_, K) return gb.cat({K, K^2}, 2):max(2) end},
  {"positions in columns that are joined", function(_, K) return gb.cat({K, K^2}, 2):argmin(2) end},
  {"logsumexp of columns that are joined", function(_, K) return gb.cat({K, K^2}, 2):logsumexp(2) end},
  {"softmax of columns that are joined", function(_, K, v)
    return gb.cat({K, K^2}, 2):softmax(2):matmul(gb.cat({v, v}, 1))
  end},
  {"a sum of what is stacked", function(_, K, v) return gb.stack({K, K^2}, 1):sum(1):matmul(v) end},
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

  it("is what its stored value is in any type", function()
    for _, dtype in ipairs{"f64", "f32"} do
      local x <const> = points(150):to{dtype = dtype}:eval()
      local K <const> = gb.kernels.rbf{}(x, x) * 1000 - 500
      local stored <const> = gb.tensor(K:totable(), {dtype = dtype})
      for _, to in ipairs{"f16", "bf16", "i64"} do
        for i, f in ipairs{
          function(k) return k:sum(2) end, function(k) return k:sum(1) end, function(k) return k:max(2) end,
          function(k) return k:argmax(1) end,
          function(k) return (k * 2 + 1):sum(2) end, function(k) return k:gt(3):sum(1) end, function(k) return k % 7 end,
          function(k) return k:to{dtype = dtype}:sum(2) end, function(k) return k:index(1, some(150)):abs() end,
        } do
          assert.same(f(stored:to{dtype = to}):totable(), f(K:to{dtype = to}):totable(), ("%s to %s, %d"):format(dtype, to, i))
        end
      end
    end
    local wild <const> = gb.tensor{0 / 0, math.huge, -math.huge, 2.0^63, -2.0^63, -0.9, 1e300}
    local spread <const> = wild:unsqueeze(2) + gb.zeros(1, 9)
    local whole <const> = spread:to{dtype = "i64"}
    assert.same({0, math.maxinteger, math.mininteger, math.maxinteger, math.mininteger, 0, math.maxinteger}, whole:max(2):totable())
    assert.same({0, math.maxinteger, math.mininteger, math.maxinteger, math.mininteger, 0, math.maxinteger}, whole:min(2):totable())
  end)

  it("has the largest and smallest along any axis that its stored value has, and their gradients", function()
    local rounded <const> = (gb.randn(3, 4, 5, {seed = 3}) * 4):floor():eval()
    for d = 1, 3 do
      for _, o in ipairs{{largest = true}, {largest = false}} do
        for k = 0, rounded.shape[d] do
          local values <const>, at <const> = (rounded * 0.5):topk(k, d, o)
          local want <const>, want_at <const> = (rounded * 0.5):eval():topk(k, d, o)
          assert.same({want:totable(), want_at:totable(), tostring(want.shape)},
            {values:totable(), at:totable(), tostring(values.shape)})
          local x <const>, y <const> = gb.tensor(rounded:totable()):requires_grad(), gb.tensor(rounded:totable()):requires_grad()
          assert.same(gb.grad((x:topk(k, d, o)^2):sum(), x):totable(), gb.grad(((y * 2):topk(k, d, o)^2):sum() / 4, y):totable())
        end
      end
    end
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

  --- Expressions with values put or joined along an axis, of a kernel, rows of as many columns and one of these.
  local function choices()
    local twice <const> = gb.tensor({3, 40, 3, 1}, {dtype = "i64"})
    local evenly <const> = gb.range(2, 20, 6, {dtype = "i64"})
    local list = {}
    local function add(f) for axis = 1, 2 do
      for _, at in ipairs{twice, evenly} do
        list[#list + 1] = function(K, Y, r) return f(K, axis == 1 and Y or Y:t(), r, axis, at) end
      end
    end end
    add(function(K, _, _, axis, at) return K:put(axis, at, 2.5):exp() end)
    add(function(K, Y, r, axis, at) return (K:put(axis, at, Y) * r + 1):exp() end)
    add(function(K, Y, r, axis, at) return K:put(axis, at, Y):t() * r:unsqueeze(2) end)
    add(function(K, Y, _, axis, at) return K:put(axis, at, Y:abs() + 1):put(3 - axis, at, 0.5):log() end)
    add(function(K, _, _, axis, at) return K:put(axis, at, K:index(axis, at) * 2) end)
    add(function(K, _, _, axis) return (gb.cat({K, K:slice(axis, 1, 5)^2, K}, axis) * 2):exp():t() end)
    add(function(K, _, _, axis) return gb.stack({K, K + 1}, axis) end)
    return list
  end

  local function reductions()
    local list = {}
    for _, name in ipairs{"sum", "prod", "min", "max", "logsumexp", "argmin", "argmax"} do
      for axis = 1, 3 do
        list[#list + 1] = function(z)
          if name == "prod" then z = z / 2 end
          local y <const> = axis == 3 and z[name](z) or z[name](z, axis)
          return y, name:match("^arg")
        end
      end
    end
    list[#list + 1] = function(z) return z:softmax(-1):matmul(gb.randn(z.shape[#z.shape], 2, {seed = 9})) end
    list[#list + 1] = function(z) return gb.randn(2, z.shape[#z.shape - 1], {seed = 9}):matmul(z) end
    return list
  end

  it("is reduced, with its gradient, as its stored value where some is put or joined", function()
    local x <const> = points(40):requires_grad()
    local Y <const> = gb.tensor(gb.randn(4, 40, {seed = 2}):totable()):requires_grad()
    local r <const> = gb.tensor(gb.randn(40, {seed = 3}):totable()):requires_grad()
    local K <const> = gb.kernels.rbf{}(x, x)
    local function near(want, got)
      want, got = want:to{dtype = "f64"}, got:to{dtype = "f64"}
      assert.is_true(((got - want):abs() / (want:abs() + 1)):max():item() <= 1e-11)
    end
    for _, choose in ipairs(choices()) do
      for _, reduce in ipairs(reductions()) do
        local z <const> = choose(K, Y, r)
        local stored <const> = gb.tensor(z:totable()):requires_grad()
        local got <const>, whole = reduce(z)
        local want <const> = reduce(stored)
        near(want, got)
        if not whole then
          local bar <const> = gb.randn(got.numel, {seed = 11}):reshape(got.shape):eval()
          local of_z <const> = gb.grad(want, stored, {cotangent = bar}):eval()
          near(gb.grad(z, x, {cotangent = of_z}), gb.grad(got, x, {cotangent = bar}))
        end
      end
    end
  end)

  it("has a gradient of 0, not NaN, where something is put over a pole", function()
    local x <const> = points(40):requires_grad()
    local over <const> = gb.tensor((gb.rand(2, 40, {seed = 5}) + 1):totable())
    local K <const> = gb.kernels.rbf{}(x, x):put(1, {3, 4}, 0)
    local want <const> = gb.grad(gb.kernels.rbf{}(x, x):log():sum(2):index(1, {1, 40}):sum(), x)
    local bar <const> = gb.grad(K:put(1, {3, 4}, over):log():sum(2):index(1, {1, 40}):sum(), x)
    assert.is_true((want - bar):abs():max():item() <= 1e-12)
    assert.is_true(gb.grad(K:put(1, {3, 4}, over):log():sum(), x):isfinite():all())
  end)

  it("is chosen, not multiplied by 0, where it is put", function()
    local x <const> = points(40)
    local K <const> = gb.kernels.rbf{}(x, x)
    local bad <const> = K:put(1, {3}, 0 / 0):put(2, {5}, math.huge)
    local good <const> = bad:put(1, {3}, gb.ones(1, 40)):put(2, {5}, gb.ones(40, 1))
    local want <const> = gb.tensor(K:totable()):put(1, {3}, 1):put(2, {5}, 1)
    assert.is_true((good:sum(2) - want:sum(2)):abs():max():item() <= 1e-13)
    assert.is_true((good:sum(1) - want:sum(1)):abs():max():item() <= 1e-13)
    local v <const> = gb.ones(40):put(1, {5}, math.huge):eval()
    assert.same(want:matmul(v):totable(), K:put(1, {3}, gb.ones(1, 40)):put(2, {5}, gb.ones(40, 1)):matmul(v):totable())
  end)

  it("gives the last of values that are put at one position its gradient alone", function()
    for _, n in ipairs{1, 40} do
      local K <const> = n == 1 and gb.tensor(gb.randn(3, 3):totable()) or gb.kernels.rbf{}(points(40), points(40))
      local w <const> = gb.tensor{1, 2, 3}:requires_grad()
      local bar <const> = gb.grad(K:put(1, {2, 3, 2}, w:unsqueeze(2)):sum(), w)
      assert.same({0, #K, #K}, bar:totable())
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

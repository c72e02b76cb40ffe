local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function rows(x) return x:totable() end

-- Name, what it should give at a number, arguments.
local elementwise <const> = {
  exp = math.exp, log = math.log, sqrt = math.sqrt, sin = math.sin, cos = math.cos, tan = math.tan, atan = math.atan,
  abs = math.abs, floor = math.floor, ceil = math.ceil,
  asin = function(v) return math.asin(v / 4) end, acos = function(v) return math.acos(v / 4) end,
  log1p = function(v) return math.log(1 + v) end, expm1 = function(v) return math.exp(v) - 1 end,
  rsqrt = function(v) return 1 / math.sqrt(v) end,
  tanh = function(v) return (math.exp(v) - math.exp(-v)) / (math.exp(v) + math.exp(-v)) end,
  sigmoid = function(v) return 1 / (1 + math.exp(-v)) end, softplus = function(v) return math.log(1 + math.exp(v)) end,
  relu = function(v) return math.max(v, 0) end, sign = function(v) return v > 0 and 1 or -1 end,
  lgamma = {[0.5] = 0.5723649429247001, [1] = 0, [2.5] = 0.2846828704729192},
  digamma = {[0.5] = -1.9635100260214235, [1] = -0.5772156649015329, [2.5] = 0.7031566406452432},
  erf = {[0.5] = 0.5204998778130465, [1] = 0.8427007929497149, [2.5] = 0.9995930479825550},
  ndtr = {[0.5] = 0.6914624612740131, [1] = 0.8413447460685429, [2.5] = 0.9937903346742240},
  log_ndtr = {[0.5] = math.log(0.6914624612740131), [1] = math.log(0.8413447460685429), [2.5] = math.log(0.9937903346742240)},
  round = {[0.5] = 0, [1] = 1, [2.5] = 2},
  isnan = function() return false end, isfinite = function() return true end, detach = function(v) return v end,
}

describe("elementwise methods", function()
  for name, want in pairs(elementwise) do
    it(name .. " agrees with its definition", function()
      local x = gb.tensor{0.5, 1, 2.5}
      if name == "asin" or name == "acos" then x = x / 4 end
      local expected <const> = {}
      for i, v in ipairs{0.5, 1, 2.5} do
        expected[i] = type(want) == "table" and want[v] or want(v)
        if type(expected[i]) == "boolean" then expected[i] = expected[i] and 1 or 0 end
      end
      near(expected, x[name](x), 1e-12)
    end)
  end

  it("pass NaN on", function()
    for name in pairs(elementwise) do
      if name ~= "isnan" and name ~= "isfinite" then
        local v <const> = gb.tensor{0 / 0}
        local got <const> = v[name](v):item()
        assert.is_true(got ~= got, name)
      end
    end
    assert.is_true(gb.tensor{0 / 0}:isnan():item())
    assert.is_false(gb.tensor{1 / 0}:isfinite():item())
  end)

  it("clamp, with either bound left out", function()
    assert.same({0, 0.5, 1}, rows(gb.tensor{-1, 0.5, 2}:clamp(0, 1)))
    assert.same({0, 0.5, 2}, rows(gb.tensor{-1, 0.5, 2}:clamp(0)))
    assert.same({-1, 0.5, 1}, rows(gb.tensor{-1, 0.5, 2}:clamp(nil, 1)))
    assert.is_false((pcall(function() return gb.zeros(1):clamp() end)))
  end)

  it("softmax sums to one and log_softmax is its log", function()
    local x <const> = gb.tensor{{1, 2, 3}, {1000, 1000, 1000}}
    near({1, 1}, x:softmax(2):sum(2), 1e-12)
    near(x:softmax(2):log(), x:log_softmax(2), 1e-12)
  end)

  it("where, maximum and minimum take numbers on either side", function()
    local x <const> = gb.tensor{-1, 2}
    assert.same({0, 2}, rows(gb.where(x:gt(0), x, 0)))
    assert.same({9, 2}, rows(gb.where(x:gt(0), x, 9)))
    assert.same({0, 2}, rows(gb.maximum(x, 0)))
    assert.same({-1, 0}, rows(gb.minimum(0, x)))
    assert.equal(3, gb.maximum(2, 3):item())
  end)
end)

describe("operators", function()
  local x <const>, y <const> = gb.tensor{1, -2, 3.5}, gb.tensor{2, 2, 2}

  it("agree with Lua's on numbers", function()
    local operators <const> = {
      function(a, b) return a + b end, function(a, b) return a - b end, function(a, b) return a * b end,
      function(a, b) return a / b end, function(a, b) return a // b end, function(a, b) return a % b end,
    }
    for i, f in ipairs(operators) do
      for _, pair in ipairs{{x, y}, {x, 2}, {3, y}} do
        local want <const> = {}
        for k = 1, 3 do
          local function at(v) return type(v) == "number" and v or v[k]:item() end
          want[k] = f(at(pair[1]), at(pair[2]))
        end
        near(want, f(pair[1], pair[2]), 1e-14, "operator " .. i)
      end
    end
    near({1, 4, 12.25}, x ^ 2, 1e-14)
    near({2, 0.25, 2 ^ 3.5}, 2 ^ x, 1e-14)
    near({-1, 2, -3.5}, -x, 0)
  end)

  it("work on booleans", function()
    local a <const>, b <const> = gb.tensor{true, true, false}, gb.tensor{true, false, false}
    assert.same({true, false, false}, rows(a & b))
    assert.same({true, true, false}, rows(a | b))
    assert.same({false, false, true}, rows(~a))
    assert.same({true, true, false}, rows(a | false))
  end)

  it("compare element by element", function()
    assert.same({true, true, false}, rows(x:lt(y)))
    assert.same({false, false, true}, rows(x:ge(2)))
    assert.same({true, false, false}, rows(x:eq(1)))
    assert.same({false, true, true}, rows(x:ne(1)))
    assert.same({true, true, false}, rows(x:le(1)))
    assert.same({false, false, true}, rows(x:gt(y)))
  end)

  it("broadcast at the right, and never both ways at once", function()
    assert.equal("2x3", tostring((gb.zeros(2, 3) + gb.zeros(3)).shape))
    assert.equal("2x3", tostring((gb.zeros(2, 1) + gb.zeros(1, 3)).shape))
    raises("shape", "unsqueeze", function() return gb.zeros(3) + gb.zeros(3, 1) end)
  end)

  it("do not mix float widths silently", function()
    raises("dtype", "", function() return gb.zeros(2) + gb.zeros(2, {dtype = "f32"}) end)
    assert.equal("f32", (gb.zeros(2, {dtype = "f32"}) + 1).dtype)
    assert.equal("i64", (gb.zeros(2, {dtype = "i64"}) + 1).dtype)
  end)

  it("accept anything with __tensor", function()
    local box <const> = setmetatable({}, {__tensor = function() return x end, __add = core.operators.__add})
    near({2, -1, 4.5}, box + 1, 0)
    near({2, -1, 4.5}, 1 + box, 0)
    near({2, -4, 7}, x + box, 0)
    near(2.5, x:sum(), 0)
    near({1, -2, 3.5}, gb.maximum(box, -10), 0)
    local broken <const> = setmetatable({}, {__tensor = function() return 3 end})
    assert.is_false((pcall(gb.maximum, broken, x)))
  end)
end)

describe("reductions", function()
  local x <const> = gb.tensor{{1, 2, 3}, {4, 5, 9}}

  it("reduce everything, one dimension, or several", function()
    near(24, x:sum(), 0)
    near({5, 7, 12}, x:sum(1), 0)
    near({6, 18}, x:sum(-1), 0)
    near(24, x:sum({1, 2}), 0)
    assert.equal("1x1", tostring(x:sum({1, 2}, {keepdim = true}).shape))
    assert.equal("2x1", tostring(x:sum(2, {keepdim = true}).shape))
    assert.equal("1x1", tostring(x:sum({keepdim = true}).shape))
    raises("index", "given twice", x.sum, x, {1, -2})
    raises("index", "dimension 3 of a tensor with 2", x.sum, x, 3)
  end)

  it("agree with their definitions", function()
    near(4, x:mean(), 1e-15)
    near(1080, x:prod(), 1e-12)
    near({4.5, 4.5, 18}, x:var(1), 1e-12)
    near({2.25, 2.25, 9}, x:var(1, {ddof = 0}), 1e-12)
    near({math.sqrt(4.5), math.sqrt(4.5), math.sqrt(18)}, x:std(1), 1e-12)
    near({1, 4}, x:min(2), 0)
    near({3, 9}, x:max(2), 0)
    assert.same({1, 1}, rows(x:argmin(2)))
    assert.equal(6, x:argmax():item())
    near(math.log(math.exp(1) + math.exp(2) + math.exp(3)), x[1]:logsumexp(), 1e-14)
    near(math.sqrt(14), x[1]:norm(), 1e-14)
    near(6, x[1]:norm({p = 1}), 1e-14)
    near({{1, 3, 6}, {4, 9, 18}}, x:cumsum(2), 0)
  end)

  it("any and all without a dimension are Lua booleans", function()
    assert.is_true(x:gt(8):any())
    assert.is_false(x:gt(8):all())
    assert.same({false, true}, rows(x:gt(8):any(2)))
    assert.same({true, true}, rows(x:gt(0):all(2)))
  end)

  it("of nothing are defined, or say so", function()
    near(0, gb.zeros(0):sum(), 0)
    near(1, gb.zeros(0):prod(), 0)
    local rows <const>, none <const> = gb.zeros(1, 0):eval(), gb.zeros(0):eval()
    near(0, rows:matmul(none * (0 / 0)), 0)                        -- no factor multiplies a sum of nothing
    near(0, (rows * math.huge):matmul(none), 0)
    assert.is_false((pcall(function() return gb.zeros(0):min():eval() end)))
  end)

  it("sort and topk give values and positions", function()
    local v <const>, p <const> = gb.tensor{3, 1, 2}:sort(1)
    assert.same({1, 2, 3}, rows(v))
    assert.same({2, 3, 1}, rows(p))
    assert.same({3, 2, 1}, rows((gb.tensor{3, 1, 2}:sort(1, {descending = true}))))
    local t <const>, q <const> = gb.tensor{3, 1, 2}:topk(2, 1)
    assert.same({3, 2}, rows(t))
    assert.same({1, 3}, rows(q))
    assert.same({1}, rows((gb.tensor{3, 1, 2}:topk(1, 1, {largest = false}))))
    raises("index", "k = 4 of 3", function() return gb.tensor{3, 1, 2}:topk(4, 1) end)
  end)

  it("along the last dimension have the bits of the transposed copy", function()
    local nan <const> = 0 / 0
    for _, dtype in ipairs{"f64", "f32", "f16", "i64"} do
      for _, shape in ipairs{{64, 64}, {70, 300}, {129, 17}, {65, 3}, {100, 1031}, {1, 700}, {700, 1}} do
        local x = (gb.randn(shape, {seed = 7}) * 8):to{dtype = dtype}:eval()
        local y <const> = (x:t() + 0):eval()                       -- the same elements, contiguous along the kept dimension
        for _, name in ipairs{"sum", "prod", "max", "min", "argmax", "argmin"} do
          assert.is_true(x[name](x, 2):equal(y[name](y, 1)), ("%s, %s, %dx%d"):format(name, dtype, shape[1], shape[2]))
        end
        if dtype ~= "i64" then
          assert.is_true(((x * 3):exp()):sum(2):equal(((y * 3):exp()):sum(1)))
          assert.is_true(x:logsumexp(2):equal(y:logsumexp(1)))
          assert.is_true(x:softmax(2):equal(y:softmax(1):t()))
          x = x:put(2, 1, nan):put(1, 1, 1):eval()
          assert.is_true(x:isnan():equal((x:t() + 0):eval():isnan():t()))
          assert.is_true(x:max(2):isnan():equal((x:t() + 0):eval():max(1):isnan()))
        end
      end
    end
  end)

end)

describe("linear algebra", function()
  local a <const> = gb.tensor{{4, 1}, {1, 3}}
  local b <const> = gb.tensor{1, 2}

  it("multiplies", function()
    assert.same({{17, 7}, {7, 10}}, rows(a:matmul(a)))
    assert.same({6, 7}, rows(a:matmul(b)))
    assert.equal(5, b:matmul(b):item())
    near(a:matmul(a), gb.einsum("ij,jk->ik", a, a), 1e-14)
    near(7, gb.einsum("ii->", a), 1e-14)
    raises("shape", "", a.matmul, a, gb.zeros(3))
    for _, dtype in ipairs{"f16", "bf16"} do
      local half <const> = a:to{dtype = dtype}
      assert.equal(dtype, half:matmul(half).dtype)
      assert.same({{17, 7}, {7, 10}}, rows(half:matmul(half)))
    end
  end)

  it("factors and solves", function()
    local l <const> = gb.linalg.cholesky(a)
    near(a, l:matmul(l:t()), 1e-14)
    near({1 / 11, 7 / 11}, gb.linalg.solve(a, b), 1e-14)
    near(math.log(11), gb.linalg.logdet(a), 1e-14)
    near(15 / 11, gb.linalg.inv_quad(a, b), 1e-14)
    near(b, l:matmul(gb.linalg.triangular_solve(l, b)), 1e-14)
    near(b, l:t():matmul(gb.linalg.triangular_solve(l, b, {transposed = true})), 1e-14)
    near({{1, 0}, {0, 2}}, gb.linalg.diag(b), 0)
    near(gb.tensor{{5, 1}, {1, 4}}, (function(m) return m:matmul(m:t()) end)(gb.linalg.cholesky(a, {jitter = 1})), 1e-13)
  end)

  it("refuses a triangular matrix with 0 on its diagonal, and names the row", function()
    local function solve(l, o) return gb.linalg.triangular_solve(gb.tensor(l), gb.ones(#l), o):eval() end
    local err <const> = raises("not_pd", "row 2 of 2 has 0 on the diagonal", solve, {{1, 0}, {1, 0}})
    assert.matches("ops_spec.lua:%d+", err.message)
    raises("not_pd", "row 1 of 3", solve, {{0, 1, 2}, {0, 1, 1}, {0, 0, 0}}, {upper = true})
    local many <const> = gb.vmap(function(l) return gb.linalg.triangular_solve(l, gb.ones(2)) end)
    raises("not_pd", "row 1 of 2", function() return many(gb.tensor{{{1, 0}, {1, 2}}, {{0, 0}, {1, 2}}}):eval() end)
    near({1, 0}, solve{{1, 0}, {1, 5}}, 0)
  end)

  it("refuses least squares without full rank, and names the rank and the column", function()
    local function fit(m, o) return gb.linalg.lstsq(gb.tensor(m, o), gb.full({#m}, 1, o)):eval() end
    local err <const> = raises("not_pd", "rank 1, of 2 columns: column 2 is made of those before it", fit,
      {{1, 1}, {1, 1}, {1, 1}})
    assert.matches("ops_spec.lua:%d+", err.message)
    raises("not_pd", "rank 0, of 2 columns: column 1", fit, {{0, 0}, {0, 0}, {0, 0}})
    raises("not_pd", "rank 2, of 3 columns: column 3", fit, {{1, 2, 3}, {1, 3, 4}, {1, 5, 6}, {2, 7, 9}})
    raises("not_pd", "rank 1, of 2 columns", fit, {{1, 3}, {1 / 3, 1}, {0.7, 2.1}}, {dtype = "f32"})
    raises("not_pd", "rank 1", function()
      return gb.vmap(function(m) return gb.linalg.lstsq(m, gb.ones(2)) end)(gb.tensor{{{1, 0}, {0, 1}}, {{1, 2}, {1, 2}}}):eval()
    end)
    near({1, 0}, fit{{1, 1e-9}, {1, -1e-9}, {1, 1e-9}}, 1e-6)          -- small is not dependent
    near({1e300}, gb.linalg.lstsq(gb.tensor{{1e-300}, {1e-300}}, gb.ones(2)), 1e-14)
  end)

  it("decomposes", function()
    local q <const>, r <const> = gb.linalg.qr(a)
    near(a, q:matmul(r), 1e-14)
    near(gb.eye(2), q:t():matmul(q), 1e-14)
    local w <const>, v <const> = gb.linalg.eigh(a)
    near(a, (v * w):matmul(v:t()), 1e-13)
    local u <const>, s <const>, z <const> = gb.linalg.svd(a)
    near(a, (u * s):matmul(z:t()), 1e-13)
    near({1 / 11, 7 / 11}, gb.linalg.lstsq(a, b), 1e-13)
  end)

  it("knows symmetric expressions", function()
    local x <const> = gb.rand(4, 2, {seed = 1})
    assert.is_true(core.symmetric(core.sqdist(x, x)))
    assert.is_false(core.symmetric(gb.rand(4, 4, {seed = 1})))
  end)

  it("of entries near the ends of a type is that of ordinary ones, scaled", function()
    local a <const> = gb.tensor{{1, 0.25}, {0.5, -0.75}, {0.125, 1}}
    local g <const>, b <const> = gb.tensor{{1, 1}, {-1, 1}}, gb.tensor{1, 2}
    local L <const> = gb.linalg
    local function near(want, got, what)
      for i, v in ipairs((got / want):reshape(-1):totable()) do
        assert(math.abs(v - 1) <= 1e-5, ("%s [%d]: off by a factor of %g"):format(what, i, v))
      end
    end
    for dtype, ends in pairs{f64 = {2.0^-1015, 2.0^1023}, f32 = {2.0^-120, 2.0^127}} do
      for _, s in ipairs(ends) do
        local as <const>, gs <const> = (a * s):to{dtype = dtype}:eval(), (g * s):to{dtype = dtype}:eval()
        local function wide(t, by) return t:to{dtype = "f64"} * by end
        local q <const>, r <const> = L.qr(as)
        near((L.qr(a)), wide(q, 1), "Q")
        near(a, wide(q, 1):matmul(wide(r, 1 / s)), "Q R")
        near(L.lstsq(a, gb.ones(3)), wide(L.lstsq(as, as:select(2, 1) * 0 + s), 1), "lstsq")
        near(L.solve(g, b), wide(L.solve(gs, (b * (s / 4)):to{dtype = dtype}), 4), "solve")
        assert(math.abs(L.logdet(gs):item() - L.logdet(g):item() - 2 * math.log(s)) <= 1e-5 * math.abs(2 * math.log(s)))
      end
    end
  end)

  it("says where a result does not fit the type, and passes on what is not finite", function()
    local L <const> = gb.linalg
    local tiny <const> = (gb.eye(2) * 1e-300):eval()
    local large <const> = gb.full({3, 3}, 3e38, {dtype = "f32"}) * gb.tensor({{1, 1, 1}, {1, 0.5, 1}, {1, 1, 0.25}},
      {dtype = "f32"})
    local function overflows(what, f)
      local ok <const>, err <const> = pcall(function() return f():eval() end)
      assert.is_false(ok, what)
      assert.equal("nan", err.code)
      assert.matches(what .. " overflows f", err.message, 1, true)
      assert.matches("ops_spec.lua:", tostring(err), 1, true)
    end
    local b <const> = gb.tensor{1e10, 0}
    overflows("solve: the solution", function() return L.solve(tiny, b) end)
    overflows("solve: the solution", function() return L.solve(gb.eye(2) * 1e-300, b) end)
    overflows("solve: the solution", function() return L.solve(gb.eye(2) * 1e-300 + gb.zeros(2, 2), b) end)
    overflows("inv_quad: b' A^-1 b", function() return L.inv_quad(gb.eye(2) * 1e-300, b) end)
    overflows("triangular_solve: the solution", function() return L.triangular_solve(tiny, b) end)
    overflows("lstsq: the solution", function() return L.lstsq(tiny, b) end)
    overflows("svd: a singular value", function() return select(2, L.svd(large)) end)
    overflows("eigh: an eigenvalue", function() return (L.eigh(large)) end)
    overflows("qr: R", function() return select(2, L.qr(large)) end)
    for _, v in ipairs{0 / 0, 1 / 0} do
      local x <const> = L.solve(tiny, gb.tensor{v, 1}):totable()
      assert.is_false(x[1] - x[1] == 0)
    end
  end)
end)

describe("gradients", function()
  it("have the keys of what they are by", function()
    local x <const>, y <const> = gb.tensor{1, 2}:requires_grad(), gb.tensor{3, 4}:requires_grad()
    local f <const> = (x * x * y):sum()
    near({6, 16}, gb.grad(f, x), 1e-14)
    local g <const> = gb.grad(f, {a = x, [3] = y})
    near({6, 16}, g.a, 1e-14)
    near({1, 4}, g[3], 1e-14)
  end)

  it("take a cotangent where y has many elements", function()
    local x <const> = gb.tensor{1, 2}:requires_grad()
    near({2, 40}, gb.grad(x * x, x, {cotangent = gb.tensor{1, 10}}), 1e-13)
    raises("shape", "", gb.grad, x * x, x)
  end)

  it("are zero or an error for what is not used", function()
    local x <const>, z <const> = gb.tensor{1, 2}:requires_grad(), gb.tensor{1}:requires_grad()
    near({0}, gb.grad(x:sum(), z, {unused = "zero"}), 0)
    raises("option", 'unused = "zero" gives zeros for it', gb.grad, x:sum(), z)
    raises("option", "unused", gb.grad, x:sum(), z, {unused = "maybe"})
    raises("option", "tensors expected to differentiate by", gb.grad, x:sum(), {3})
  end)

  it("stop at detach and at new leaves", function()
    local x <const> = gb.tensor{1, 2}:requires_grad()
    near({1, 2}, gb.grad((x * x:detach()):sum(), x), 1e-14)
    assert.is_false(x:requires_grad() == x)
    raises("dtype", "a float tensor expected", function() return gb.tensor({1}, {dtype = "i64"}):requires_grad() end)
  end)

  it("of kernels agree with differences", function()
    local y <const> = gb.rand(5, 2, {seed = 2}):eval()
    local function f(t) return (core.sqdist(t, y) * -0.5):exp():sum() end
    local x <const> = gb.rand(4, 2, {seed = 1}):requires_grad()
    local g <const>, values <const>, want <const> = gb.grad(f(x), x), x:totable(), {}
    for i = 1, 4 do
      want[i] = {}
      for k = 1, 2 do
        local v <const> = values[i][k]
        values[i][k] = v + 1e-5
        local up <const> = f(gb.tensor(values)):item()
        values[i][k] = v - 1e-5
        want[i][k] = (up - f(gb.tensor(values)):item()) / 2e-5
        values[i][k] = v
      end
    end
    near(want, g, 1e-8)
  end)

  it("take params as they are", function()
    local p <const> = gb.param(2, {min = 0})
    near(4, gb.grad(p * p, p), 1e-13)
    near(8, gb.grad(p * p, p, {raw = true}), 1e-13)
    near(8, gb.grad(p * p, {p}, {raw = true})[1], 1e-13)
  end)
end)

describe("gb.vmap", function()
  it("draws afresh for each slice, whatever was drawn with that seed before", function()
    local function draw(v) return v * 0 + gb.randn(3, {seed = 5}) end
    local before <const> = gb.randn(3, {seed = 5}):eval()
    local x <const>, z <const> = gb.ones(4, 3):eval(), (gb.ones(4, 3) * 2):eval()
    local first <const>, second <const> = gb.vmap(draw)(x):eval(), gb.vmap(draw)(z):eval()
    assert.is_true(first:equal(second))
    assert.is_false(first[1]:equal(first[2]))
    assert.is_true(gb.vmap(function(v) return v * 0 + before end)(x)[4]:equal(before))
  end)

  it("adds the mapped dimension in front", function()
    local x <const> = gb.tensor{{1, 2, 3}, {4, 5, 6}}
    local norm <const> = gb.vmap(function(r) return (r * r):sum() end)
    near({14, 77}, norm(x), 1e-13)
    near({17, 29, 45}, gb.vmap(function(c) return (c * c):sum() end, 2)(x), 1e-13)
  end)

  it("leaves arguments marked false whole", function()
    local x <const>, w <const> = gb.tensor{{1, 2}, {3, 4}, {5, 6}}, gb.tensor{10, 1}
    near({12, 34, 56}, gb.vmap(function(r, v) return r:matmul(v) end, {1, false})(x, w), 1e-13)
    raises("option", "no argument is mapped", gb.vmap(function(r) return r end, {false}), x)
    raises("shape", "argument 2 has 2 slices, 3 expected", gb.vmap(function(r, v) return r + v end, {1, 1}), x, w)
  end)

  it("gives several results, and passes errors on", function()
    local a <const>, b <const> = gb.vmap(function(r) return r + 1, r:sum() end)(gb.tensor{{1, 2}, {3, 4}})
    assert.same({{2, 3}, {4, 5}}, rows(a))
    assert.same({3, 7}, rows(b))
    raises("option", "must return tensors, got number", gb.vmap(function() return 3 end), gb.zeros(2))
    local ok <const>, err <const> = pcall(gb.vmap(function() error("mine", 0) end), gb.zeros(2))
    assert.is_false(ok)
    assert.equal("mine", err)
  end)

  it("does not let slices be observed", function()
    local ok <const> = pcall(gb.vmap(function(r) return r * r:sum():item() end), gb.tensor{{1, 2}, {3, 4}})
    assert.is_false(ok)
    near({3, 7}, gb.tensor{{1, 2}, {3, 4}}:sum(2), 0)
  end)
end)

describe("products of a reshaped row", function()
  it("have gradients through views whose dimensions of extent 1 are an input's none", function()
    local a <const> = gb.tensor{{1, 2, 3}}
    local x <const> = (gb.range(1, 36) / 36):reshape(3, 12):eval():requires_grad()
    local v <const> = a:matmul(x):reshape(4, 3)
    local k <const> = v:matmul(v:t())
    local loss <const> = (k * k * k):sum()
    local rows_ <const> = gb.tensor(v:totable())                          -- dL/dv = 6 (v v')^2 v, squared entry by entry
    local want <const> = a:t():matmul((6 * rows_:matmul(rows_:t()) ^ 2):matmul(rows_):reshape(1, 12))
    near(want, gb.grad(loss, x), 1e-12)
  end)
end)

describe("truths that are counted and joined at once", function()
  it("share one pass, whichever is asked for first", function()
    local function both()
      local b <const> = gb.tensor{true, false}
      local pair <const> = gb.stack({b, b}, 1)
      return pair:all({1}), pair:sum(1)
    end
    local all, count = both()
    gb.eval(all, count)
    assert.same({true, false}, all:totable())
    assert.same({2, 0}, count:totable())
    all, count = both()
    gb.eval(count, all)
    assert.same({{true, false}, {2, 0}}, {all:totable(), count:totable()})
  end)
end)

describe("squared distances", function()
  it("of a row to itself are 0 and others not below it, however the row and the points are computed", function()
    local sqdist <const> = require "gibbous.core".sqdist
    for _, dtype in ipairs{"f64", "f32"} do
      for _, d in ipairs{1, 3, 8, 17} do
        local x <const> = (gb.randn(7, d, {seed = d, dtype = dtype}) * 3 + 1000):eval()
        for _, f in ipairs{function(v) return v * 1.7 end, function(v) return (v * 0.3):sin() * 100 + 1e4 end} do
          local stored <const> = f(x):eval()
          for i = 1, 7, 3 do
            for _, row in ipairs{f(x):slice(1, i, i), f(x):select(1, i):unsqueeze(1), f(x:slice(1, i, i)), stored:slice(1, i, i)} do
              for _, points in ipairs{f(x), stored} do
                local d2 <const> = sqdist(row, points):totable()[1]
                assert.equal(0, d2[i])
                for _, v in ipairs(d2) do assert.is_true(v >= 0) end
              end
            end
          end
        end
      end
    end
  end)

  it("are recognised as |x|^2 + |y|^2 - 2 x y of one point, of rows to a point and of rows each to its own", function()
    local function squares(v, ...) return (v^2):sum(...) end
    local spellings <const> = {
      pairs_of_rows = function(x, y)
        return (squares(x, 2):unsqueeze(2) + squares(y, 2):unsqueeze(1) - 2 * x:matmul(y:t())):diagonal()
      end,
      kept = function(x, y)
        return (squares(x, 2, {keepdim = true}) - 2 * x:matmul(y:t()) + squares(y, 2, {keepdim = true}):t()):diagonal()
      end,
      rows = function(x, y) return squares(x, 2) + squares(y, 2) - 2 * (x * y):sum(2) end,
      to_point = function(x, y) return squares(y[1]) - 2 * x:matmul(y[1]) + squares(x, 2) end,
      to_point_summed = function(x, y) return squares(x, 2) + squares(y[1]) - (x * y[1] * 2):sum(2) end,
      points = function(x, y) return (squares(x[1]) + squares(y[1]) - 2 * x[1]:matmul(y[1])):unsqueeze(1) end,
      columns = function(x, y) return squares(x:t(), 1) + squares(y:t(), 1) - 2 * (x:t() * y:t()):sum(1) end,
      one_row = function(x, y)
        local r <const>, s <const> = x:slice(1, 1, 1), y:slice(1, 1, 1)
        return (squares(r) + squares(s) - 2 * r:matmul(s:t())):squeeze(2)
      end,
    }
    local maps <const> = {
      function(v) return v end, function(v) return v * 1.7 end, function(v) return v:tanh() end,
      function(v) return (v * 1.3 + 1) * 1e160 end, function(v) return v * 0.3 + 1000 end,
    }
    for n = 1, 3, 2 do
      local stored <const> = gb.randn(n, 3, {seed = n}):eval()
      for name, f in pairs(spellings) do
        for i, map in ipairs(maps) do
          for k, other in ipairs{gb.tensor(stored:totable()), gb.tensor((stored + 1e-9):totable())} do
            local x <const>, y <const> = map(stored), map(other)
            local got <const>, want <const> = f(x, y)[1]:item(), ((x - y)^2):sum(2)[1]:item()
            assert(math.abs(got - want) <= 1e-6 * want or got == want, ("%s %d %d: %g, not %g"):format(name, i, k, got, want))
          end
        end
      end
      local x <const> = stored * 1.7                         -- the row itself: both norms are one value
      local r <const> = x:slice(1, 1, 1)
      assert.equal(0, (squares(r, 2):unsqueeze(2) + squares(r, 2):unsqueeze(1) - 2 * r:matmul(r:t())):item())
    end
  end)

  it("are not made of terms that only look alike", function()
    local x <const>, y <const> = gb.randn(3, 3, {seed = 1}):eval(), gb.randn(3, 3, {seed = 2}):eval()
    local xs <const>, ys <const> = x:totable(), y:totable()
    local function close(want, got) assert(math.abs(got - want) <= 1e-12, ("%g, not %g"):format(got, want)) end
    local dots <const>, xx <const>, yy <const>, columns = {}, {}, {}, {0, 0, 0}
    for i = 1, 3 do
      dots[i], xx[i], yy[i] = 0, 0, 0
      for k = 1, 3 do
        dots[i], xx[i], yy[i] = dots[i] + xs[i][k] * ys[i][k], xx[i] + xs[i][k]^2, yy[i] + ys[i][k]^2
        columns[k] = columns[k] + ys[i][k]^2
      end
    end
    local rows <const> = (x * y):sum(2)
    local across <const> = (x^2):sum(2) + (y^2):sum(1) - 2 * rows            -- |y|^2 by columns
    local turned <const> = (x^2):sum(2):unsqueeze(1) + (y^2):sum(2) - 2 * x:matmul(y:t())   -- both along columns
    local whole <const> = (x^2):sum() + (y^2):sum(2) - 2 * rows
    local twice <const> = 2 * (x^2):sum(2) - 2 * rows
    for i = 1, 3 do
      close(xx[i] + columns[i] - 2 * dots[i], across[i]:item())
      close(xx[i] + yy[i] - 2 * dots[i], turned[i][i]:item())
      close(xx[1] + xx[2] + xx[3] + yy[i] - 2 * dots[i], whole[i]:item())
      close(2 * xx[i] - 2 * dots[i], twice[i]:item())
    end
    close(xx[2] + yy[2] - 2 * (xs[1][1] * ys[2][1] + xs[1][2] * ys[2][2] + xs[1][3] * ys[2][3]), turned[1][2]:item())
  end)
end)

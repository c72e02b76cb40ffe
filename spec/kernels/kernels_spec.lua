local cases <const> = require "spec.kernels.kernel_cases"
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local points <const> = {{0.1, -0.4}, {1.2, 0.3}, {-0.7, 0.9}}
local others <const> = {{0.5, 0.5}, {-1.0, 0.2}, {1.2, 0.3}, {0.0, 0.0}}
local x <const>, z <const> = gb.tensor(points), gb.tensor(others)

--- The matrix of f(a, b, same) over two lists of points.
local function matrix(f, as, bs)
  local out <const> = {}
  for i, a in ipairs(as) do
    out[i] = {}
    for j, b in ipairs(bs) do out[i][j] = f(a, b, as == bs and i == j) end
  end
  return out
end

local function all_finite(list)
  for _, g in ipairs(list) do
    for _, v in ipairs(support.numbers(g)) do
      if not (math.abs(v) < math.huge) then return false end
    end
  end
  return true
end

--- n points like those of a row: spread, or with task numbers.
local function many(row, n, dtype)
  local a <const> = gb.randn(n, 2, {seed = 11, dtype = dtype or "f64"})
  if not row.points then return a:eval() end
  local task <const> = (gb.rand(n, 1, {seed = 12, dtype = dtype or "f64"}) * 3):floor() + 1
  return gb.cat({a:slice(2, 1, 1), task}, 2):eval()
end

describe("gb.kernels", function()
  it("has a row of cases for every kernel", function()
    local known <const> = {}
    for _, row in ipairs(cases.rows) do known[row[1]] = true end
    for name in pairs(K) do
      assert.is_true(known[name] or cases.helpers[name] or false, "no case for gb.kernels." .. name)
    end
    for name in pairs(known) do assert.equal("function", type(K[name])) end
  end)

  for i, row in ipairs(cases.rows) do
    local make <const>, f <const> = row[2], row[3]
    local as <const>, bs <const> = row.points or points, row.others or others
    local p <const>, q <const> = gb.tensor(as), gb.tensor(bs)
    local k <const> = make()

    describe(("%s (%d)"):format(row[1], i), function()
      it("has the textbook's entries", function()
        near(matrix(f, as, bs), k(p, q), 2e-13)
        near(matrix(f, as, as), k(p), 2e-13)
      end)

      it("has them in f32", function()
        local got <const> = k(p:to{dtype = "f32"}, q:to{dtype = "f32"})
        assert.equal("f32", got.dtype)
        near(matrix(f, as, bs), got, 1e-5)
        assert.equal("f32", k:diag(p:to{dtype = "f32"}).dtype)
      end)

      it("has the diagonal of its matrix", function()
        local block <const> = k(p):diagonal()
        near(block, k:diag(p), 1e-13)
        if not row.exact then return end
        local exact <const> = gb.tensor(math.log(row.exact)):exp():item()        -- a variance is kept as its logarithm
        for _, v in ipairs(support.numbers(block)) do assert.equal(exact, v) end
        for _, v in ipairs(support.numbers(k:diag(p))) do assert.equal(exact, v) end
      end)

      it("has rows of its matrix", function()
        local whole <const> = k(p, q):eval()
        for at = 1, #as do near(whole:slice(1, at, at), k(p:slice(1, at, at), q), 1e-14) end
      end)

      it("multiplies vectors as its matrix does", function()
        for _, dtype in ipairs{"f64", "f32"} do
          local a <const>, b <const> = many(row, 150, dtype), many(row, 97, dtype)
          local v <const> = gb.randn(97, 3, {seed = 13, dtype = dtype}):eval()
          local dense <const> = k(a, b):eval():to{dtype = "f64"}
          local want <const>, tol <const> = dense:matmul(v:to{dtype = "f64"}), dtype == "f64" and 1e-11 or 5e-4
          near(want, k(a, b):matmul(v):to{dtype = "f64"}, tol)
          near(want:select(2, 1), k(a, b):matmul(v:select(2, 1)):to{dtype = "f64"}, tol)
        end
      end)

      it("streams: products and gradients of 200,000 points take memory in proportion to them", function()
        local n <const> = 200000
        local a <const> = many(row, n)
        local v <const> = gb.randn(n, {seed = 14}):eval()
        local product <const> = k(a):matmul(v)
        local list <const> = {product}
        for _, g in ipairs(gb.grad((product * v):sum(), (gb.params(k)), {raw = true})) do list[#list + 1] = g end
        local plan <const> = gb.plan(list, {allow = {}})
        assert.is_true(plan.peak <= 64 * 8 * n, ("%s takes %d bytes"):format(row[1], plan.peak))
      end)

      it("differentiates by its hyper-parameters", function()
        local w <const> = gb.randn(#as, #bs, {seed = 5}):eval()
        local u <const> = gb.randn(#as, {seed = 8}):eval()
        support.check_gradients(function() return (k(p, q) * w):sum() + (k:diag(p) * u):sum() end, (gb.params(k)), 2e-8)
      end)

      if not row.flat then it("differentiates by its inputs", function()
        local w <const> = gb.randn(3, 4, {seed = 6}):eval()
        local at <const> = gb.param({0.3, -0.2, 0.5, 0.1, -0.6, 0.4}, {name = "inputs"})
        support.check_gradients(function() return (k(p + at:reshape(3, 2), q) * w):sum() end, {at}, 1e-7)
        support.check_gradients(function() return (k(q, p + at:reshape(3, 2)) * w:t()):sum() end, {at}, 1e-7)
      end) end

      it("has finite gradients where points coincide, or nearly", function()
        local nearly <const> = row.points and p or p + 1e-9
        local twice <const> = gb.cat({p, p, nearly, q}, 1):requires_grad()
        local w <const> = gb.randn(#twice, #twice, {seed = 9}):eval()
        local of <const> = {twice, table.unpack((gb.params(k)))}
        assert.is_true(all_finite(gb.grad((k(twice) * w):sum(), of, {unused = "zero"})))
        local single <const> = gb.cat({p, p, nearly, q}, 1):to{dtype = "f32"}:requires_grad()
        assert.is_true(all_finite{gb.grad((k(single) * w:to{dtype = "f32"}):sum(), single, {unused = "zero"})})
      end)

      it("is symmetric, by structure and in value", function()
        assert.is_true(core.symmetric(k(p)))
        local block <const> = k(many(row, 40)):eval()
        near(block:t(), block, 1e-15)
      end)

      it("has no negative eigenvalue", function()
        local values <const> = gb.linalg.eigh(k(many(row, 60)))
        assert.is_true(values:min():item() >= -1e-10 * math.max(1, values:max():item()))
      end)

      if not row.deaf and not row.points then it("keeps NaN to the points that have one", function()
        local nan <const> = 0 / 0
        for column = 1, 2 do
          local looked <const> = not k.active_dims or k.active_dims[1] == column
          local bad <const> = {{0.1, -0.4}, {1.2, 0.3}, {-0.7, 0.9}}
          bad[2][column] = nan
          local block <const> = k(gb.tensor(bad), q):isnan():totable()
          for r, cells in ipairs(block) do
            for _, is_nan in ipairs(cells) do assert.equal(looked and r == 2, is_nan) end
          end
        end
      end) end

      it("takes no points, and one", function()
        local none <const> = p:slice(1, 1, 0)
        assert.same({0, #bs}, {table.unpack(k(none, q).shape)})
        assert.same({0}, {table.unpack(k:diag(none).shape)})
        assert.equal(0, k(none):eval().numel)
        near(matrix(f, {as[2]}, bs), k(p:slice(1, 2, 2), q), 2e-13)
      end)

      it("has copies with boxes of their own, and a text", function()
        local copy <const> = k:copy()
        for _, box in ipairs((gb.params(copy))) do box.raw = box.raw + 0.1 end
        near(matrix(f, as, bs), k(p, q), 2e-13)
        if row[1] ~= "white" then assert.is_false(copy(p, q):allclose(k(p, q))) end
        assert.matches(row[1], tostring(k), 1, true)
      end)
    end)
  end

  it("keeps the digits of f32 inputs far from 0, waves too", function()
    local far <const> = (gb.rand(40, 1, {seed = 3}) * 8 + 2000):to{dtype = "f32"}:eval()
    local exact <const> = far:to{dtype = "f64"}
    for _, k in ipairs{K.rbf{}, K.matern12{}, K.periodic{}, K.cosine{}, K.piecewise_polynomial{lengthscale = 3},
      K.spectral_mixture{weights = {1}, means = {1}, variances = {0.01}}} do
      near(k(exact), k(far), 3e-5, tostring(k))
      near(k(exact), k(far, far:slice(1, 1, 40)), 3e-5, tostring(k))
    end
  end)

  it("white is the identity on one set of points, in a vector too", function()
    local k <const>, v <const> = K.white{}, gb.tensor{1, 2}
    near({{1, 0}, {0, 1}}, k(v), 0)
    near({{1, 0}, {0, 1}}, k(v, v), 0)
    near({{0, 0}, {0, 0}}, k(v, gb.tensor{1, 2}), 0)
  end)

  it("takes a vector as one column", function()
    local k <const> = K.rbf{}
    near(k(gb.tensor{{1}, {2}}), k(gb.tensor{1, 2}), 0)
  end)

  it("refuses inputs of different width and lengthscales that do not fit", function()
    raises("shape", "kernel: inputs differ in columns: 3x2 and 2", K.rbf{}, x, gb.tensor{1, 2})
    raises("shape", "rbf: 3 lengthscales for inputs with 2 columns", K.rbf{lengthscale = {1, 2, 3}}, x)
    raises("option", "must be a tensor, got string", K.rbf{}, "x")
  end)

  it("refuses unknown options with the nearest name, and values out of bounds", function()
    raises("option", "gb.kernels.rbf: unknown option 'lenghtscale', did you mean 'lengthscale'?", K.rbf, {lenghtscale = 1})
    raises("option", "'lengthscale' = -1", K.rbf, {lengthscale = -1})
    raises("shape", "'variance' must be one number, got 2; lengthscale may be one per column", K.linear, {variance = {1, 2}})
    raises("option", "option 'degree' must be one of 0, 1, 2, 3", K.piecewise_polynomial, {degree = 4})
    raises("option", "option 'order' must be one of 0, 1, 2", K.arc_cosine, {order = -1})
    raises("option", "option 'degree'", K.polynomial, {degree = 0})
  end)
end)

describe("active_dims", function()
  it("looks at those columns only, in their order", function()
    near(K.rbf{lengthscale = 0.5}(gb.tensor{{-0.4}, {0.3}, {0.9}}), K.rbf{lengthscale = 0.5, active_dims = {2}}(x), 1e-14)
    local wide <const> = gb.randn(4, 5, {seed = 1}):eval()
    local picked <const> = gb.cat({wide:slice(2, 5, 5), wide:slice(2, 2, 3)}, 2)
    near(K.rbf{lengthscale = {1, 2, 3}}(picked), K.rbf{lengthscale = {1, 2, 3}, active_dims = {5, 2, 3}}(wide), 1e-14)
    near(K.linear{active_dims = {-1}}(wide), K.linear{active_dims = {5}}(wide), 0)
  end)

  it("keeps one distance for kernels of the same columns", function()
    local wide <const> = gb.randn(2000, 4, {seed = 1}):eval()
    local v <const> = gb.randn(2000, {seed = 2}):eval()
    local function of(name) return K[name]{active_dims = {2, 3}} end
    local k <const> = of "rbf" + of "matern32" * of "rational_quadratic"
    local programs <const> = gb.plan(k(wide):matmul(v)):programs()
    local _, fronts <const> = programs:gsub("sqdist", "sqdist")
    assert.equal(1, fronts, programs)
  end)

  it("refuses columns that are not there, 0, and none", function()
    raises("index", "active_dims 3, but the inputs have 2 columns", K.rbf{active_dims = {3}}, x)
    raises("index", "active_dims -3, but the inputs have 2 columns", K.rbf{active_dims = {-3}}, x)
    raises("option", "must be column numbers, counted from 1, got 0", K.rbf, {active_dims = {0}})
    raises("option", "must be column numbers, counted from 1, got 1.5", K.rbf, {active_dims = {1.5}})
    raises("option", "names no column", K.rbf, {active_dims = {}})
  end)
end)

describe("ard", function()
  it("= d gives each column a parameter", function()
    near({2, 2}, K.matern32{lengthscale = 2, ard = 2}.lengthscale.value, 1e-15)
    near({1, 1, 1}, K.periodic{ard = 3}.lengthscale.value, 1e-15)
    near({1, 1}, K.linear{ard = 2}.lengthscale.value, 1e-15)
    near({1, 1}, K.arc_cosine{ard = 2}.weight_variance.value, 1e-15)
    near({5, 5}, K.cosine{ard = 2, period = 5}.period.value, 1e-15)
  end)

  it("= true waits for the data", function()
    local other <const> = {cosine = "period", arc_cosine = "weight_variance"}
    for _, name in ipairs{"rbf", "matern52", "periodic", "linear", "polynomial", "piecewise_polynomial", "cosine",
      "arc_cosine"} do
      local key <const> = other[name] or "lengthscale"
      local k <const> = K[name]{ard = true, [key] = 1.5}
      local before <const> = k(x, z):eval()
      local copy <const> = k:copy()
      K.resolve_ard(copy, 2)
      near({1.5, 1.5}, copy[key].value, 1e-15, name)
      near(before, copy(x, z), 1e-14, name)
      assert.is_true(#gb.params(k) == #gb.params(copy))
      assert.equal(0, k[key].ndim)
    end
  end)

  it("keeps what was set on the parameter: fixed, a prior", function()
    local k <const> = K.rbf{ard = true}
    k.lengthscale.fixed, k.lengthscale.prior = true, gb.priors.gamma{shape = 2, rate = 1}
    local copy <const> = k:copy()
    K.resolve_ard(copy, 3)
    assert.equal(3, copy.lengthscale.numel)
    assert.is_true(copy.lengthscale.fixed)
    assert.is_true(rawequal(k.lengthscale.prior, copy.lengthscale.prior))
  end)

  it("counts the columns that a kernel looks at", function()
    local function first(t) return t:slice(2, 1, 1) end
    local k <const> = K.rbf{ard = true, active_dims = {1, 3}} + K.rbf{ard = true}:warp(first)
    K.resolve_ard(k, 3)
    assert.equal(2, k[1].lengthscale.numel)
    assert.equal(1, k[2].lengthscale.numel)
    local m <const> = K.rbf{ard = true} * K.index{tasks = 2}
    K.resolve_ard(m, 4)
    assert.equal(3, m[1].lengthscale.numel)
  end)

  it("goes with lists of that many, and not with one shared number", function()
    near({1, 2}, K.rbf{ard = 2, lengthscale = {1, 2}}.lengthscale.value, 1e-15)
    near({1, 2}, K.rbf{ard = true, lengthscale = {1, 2}}.lengthscale.value, 1e-15)
    raises("shape", "ard = 3, but 'lengthscale' has 2", K.rbf, {ard = 3, lengthscale = {1, 2}})
    raises("option", "is one shared gb.param", K.rbf, {ard = true, lengthscale = gb.param(1, {min = 0})})
    raises("shape", "ard = 2, but 'lengthscale' has 1", K.rbf, {ard = 2, lengthscale = gb.param(1, {min = 0})})
    raises("option", "option 'ard' must be true, or the number of columns, 1 or more", K.rbf, {ard = 0})
    raises("option", "unknown option 'ard'", K.constant, {ard = true})
  end)
end)

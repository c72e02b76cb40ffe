--- Sparse regression: bounds against dense formulas, here and by NumPy (scripts/reference/sparse.py); gradients; streaming; the
-- surface that it shares with exact models.
local gb <const> = require "gibbous"
local model <const> = require "gibbous.gp.model"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const>, m <const> = 40, 7
local i <const>, j <const> = gb.range(0, n - 1, 1, {dtype = "f64"}), gb.range(0, m - 1, 1, {dtype = "f64"})
local x <const> = gb.stack({(1.7 * i + 0.3):sin(), (2.3 * i):cos()}, 2):eval()
local y <const> = ((3 * x:select(2, 1)):sin() + x:select(2, 2) ^ 2 + 0.1 * (11 * i):cos()):eval()
local z <const> = gb.stack({(2.9 * j + 1):sin(), (1.1 * j + 0.5):cos()}, 2):eval()
local known <const> = (0.05 + 0.02 * (1 + i:sin())):eval()
local at <const>, there <const> = gb.rand(6, 2, {seed = 3}):eval(), gb.randn(6, {seed = 4}):eval()

local function kernel() return K.matern52{lengthscale = {0.8, 1.1}, variance = 1.3} end

local function sparse(o)
  local all <const> = {kernel = kernel(), inducing = z, noise = not (o and o.likelihood) and 0.07 or nil}
  for key, v in pairs(o or {}) do all[key] = v or nil end
  return gb.gp.sgpr(all)
end

local function held(o)
  local noise <const> = o and o.noise
  return sparse(o):condition(x, y, {noise = type(noise) ~= "number" and noise or nil})
end

-- What the script prints, by noise.
local NUMPY <const> = {
  one = {vfe = -67.080744613733, fitc = -24.010607279338, upper = 1.130849496902, exact = -12.409017133845},
  known = {vfe = -69.208189653376, fitc = -23.931548717525, upper = 1.279647979825, exact = -12.469870006073},
}

--- Mean and covariance of f at t given y by the joint prior of f and the values at z, all dense. S: spread of y beside Q.
local function dense(t, S)
  local k <const> = kernel()
  local Kzz <const> = k(z) + gb.eye(m) * 1.3e-8
  local function q(a, b) return k(a, z):matmul(gb.linalg.solve(Kzz, k(z, b))) end
  local C <const> = q(x, x) + gb.linalg.diag(S)
  return q(t, x):matmul(gb.linalg.solve(C, y)), k(t) - q(t, x):matmul(gb.linalg.solve(C, q(x, t)))
end

local function left()
  local k <const> = kernel()
  local Kzz <const> = k(z) + gb.eye(m) * 1.3e-8
  return k:diag(x) - (k(z, x) * gb.linalg.solve(Kzz, k(z, x))):sum(1)
end

describe("the bounds of gb.gp.sgpr", function()
  for name, noise in pairs{one = 0.07, known = known} do
    it("are those of dense matrices by NumPy, " .. name .. " noise", function()
      local want <const> = NUMPY[name]
      for _, bound in ipairs{"vfe", "fitc"} do
        local a <const> = held{bound = bound, noise = noise}
        near(want[bound], (a:log_marginal_likelihood()), 1e-9, bound)
        local b <const> = a:bounds()
        near({want.vfe, want.upper}, {b.lower, b.upper}, 1e-9)
        assert.is_true(b.lower < want.exact and want.exact < b.upper)
        near({b.upper - b.lower, b.gap / n}, {b.gap, b.gap_per_point}, 1e-14)
        assert.same({bound, m, n}, {b.bound, b.inducing, b.n})
      end
    end)
  end

  it("close where the inducing points are the data", function()
    local a <const> = held{inducing = x}
    local b <const> = a:bounds()
    near({NUMPY.one.exact, NUMPY.one.exact}, {b.lower, b.upper}, 1e-4)
    assert.is_true(b.lower <= NUMPY.one.exact and NUMPY.one.exact <= b.upper)
  end)

  it("have the gradients of differences, by parameters, places, mean and noise of any form", function()
    local varying <const> = gb.likelihoods.heteroscedastic{log_variance = gb.means.linear{}, noise = 0.07}
    for _, bound in ipairs{"vfe", "fitc"} do
      for _, o in ipairs{{}, {noise = known}, {likelihood = varying}} do
        local a <const> = held{bound = bound, mean = gb.means.constant(0.3), noise = o.noise or not o.likelihood and 0.07,
          likelihood = o.likelihood}
        local list <const> = {}
        for _, p in ipairs((gb.params(a))) do list[#list + 1] = not p.fixed and p or nil end
        support.check_gradients(function() return a:log_marginal_likelihood() end, list, 1e-6)
      end
    end
  end)

  it("have second derivatives", function()
    local a <const> = held()
    local p <const> = a:get "kernel.variance"
    local function slope() return gb.grad((a:log_marginal_likelihood()), p) end
    local h <const>, v <const> = 1e-4, p.value:item()
    a:set("kernel.variance", v + h)
    local up <const> = slope():item()
    a:set("kernel.variance", v - h)
    local down <const> = slope():item()
    a:set("kernel.variance", v)
    near((up - down) / (2 * h), gb.grad(slope(), p), 1e-6)
  end)
end)

describe("gb.gp.sgpr", function()
  it("predicts as dense matrices do, and leaves one out", function()
    for _, bound in ipairs{"vfe", "fitc"} do
      local a <const>, S <const> = held{bound = bound}, bound == "fitc" and left() + 0.07 or gb.full({n}, 0.07)
      local mean <const>, cov <const> = dense(at, S)
      local p <const> = a:predict(at)
      near(mean, p.mean, 1e-9)
      near(cov, p.f_cov, 1e-9)
      near(cov:diagonal(), p.f_var, 1e-9)
      near(cov:diagonal() + 0.07, p.y_var, 1e-9)
      assert.same({bound, "f64", true}, {p.info.algorithm, p.info.precision, p.converged})
      local one <const> = a:leave_one_out()
      local rows <const> = gb.tensor({1, 2, 3, 4, 6}, {dtype = "i64"})
      local rest <const> = {}
      for k = 1, n do rest[#rest + 1] = k ~= 5 and k or nil end
      local others <const> = gb.tensor(rest, {dtype = "i64"})
      local b <const> = sparse{bound = bound}:condition(x:index(1, others), y:index(1, others))
      local q <const> = b:predict(x:slice(1, 5, 5))
      near({q.mean[1]:item(), q.y_var[1]:item()}, {one.mean[5]:item(), one.var[5]:item()}, 1e-9)
      assert.equal(5, #rows)
    end
  end)

  it("has predictions with gradients by everything", function()
    local a <const> = held()
    support.check_gradients(function()
      local p <const> = a:predict(at)
      return p.mean:sum() + p.f_var:sum()
    end, (gb.params(a)), 1e-6)
  end)

  it("fits, its report says the gap, and more places never lower the bound", function()
    local before = -math.huge
    for _, count in ipairs{4, 8, 16} do
      local a <const> = gb.gp.sgpr{kernel = kernel(), noise = 0.07, inducing = count, learn = false}
      local info <const> = a:fit(x, y, {steps = 0})
      assert.equal("vfe", info.objective)
      assert.is_true(info.log_likelihood > before)
      before = info.log_likelihood
      near(info.log_likelihood, info.approximation.lower, 1e-12)
      assert.matches("lower bound of the log marginal likelihood .* a gap of [%d.e+-]+ nats, [%d.e+-]+ a point", tostring(info))
    end
    local a <const> = gb.gp.sgpr{kernel = K.matern52{}, inducing = 16}
    local info <const> = a:fit(x, y)
    assert.is_true(info.converged and info.log_likelihood > before)
    assert.matches("^gp.sgpr  vfe, 40 points, 2 columns, f64; 16 inducing points, kmeans\n", tostring(a))
    local fitc <const> = gb.gp.sgpr{kernel = K.matern52{}, inducing = 8, bound = "fitc"}
    assert.matches("log marginal likelihood by FITC", tostring(fitc:fit(x, y, {steps = 3})))
  end)

  it("chooses places from the data, anew from others until a fit moves them", function()
    for _, select in ipairs{"kmeans", "greedy", "random"} do
      local function new(learn) return gb.gp.sgpr{kernel = K.rbf{lengthscale = 1}, inducing = 5, select = select, learn = learn} end
      local a <const>, b <const> = new(false):condition(x, y), new(true)
      b:fit(x, y, {steps = 2})
      local first <const> = a.inducing.points:totable()
      local again <const> = new(false)
      again:fit(3 * x, y, {steps = 1})
      again:fit(x, y, {steps = 1})
      if select ~= "greedy" then assert.same(first, again.inducing.points:totable()) end
      local moved <const> = b.inducing.points:totable()
      b:fit(2 * x, y, {steps = 0})
      assert.same(moved, b.inducing.points:totable())
      assert.is_false(gb.tensor(moved):allclose(gb.tensor(first)))
    end
    local kept <const> = gb.gp.sgpr{kernel = K.rbf{}, inducing = z, learn = false}
    kept:fit(x, y, {steps = 3})
    assert.same(z:totable(), kept.inducing.points:totable())
  end)

  it("gives the same bits within any budget, and its plan says what it takes", function()
    local rows <const> = 8000
    local many <const> = gb.rand(rows, 2, {seed = 1}):eval()
    local values <const> = (5 * many):sin():sum(2):eval()
    for _, bound in ipairs{"vfe", "fitc"} do
      local function new() return gb.gp.sgpr{kernel = kernel(), inducing = 30, bound = bound, select = "random", noise = 0.07} end
      local whole <const> = new():plan(many, values)
      local least <const> = whole.minimum
      assert.is_true(least < 8 * 30 * rows / 2)
      local a <const>, b <const> = new(), new()
      a:fit(many, values, {steps = 2})
      b:fit(many, values, {steps = 2, budget = least})
      assert.same(gb.params(a)[1]:totable(), gb.params(b)[1]:totable())
      assert.equal(a.info.value, b.info.value)
      assert.same(a.inducing.points:totable(), b.inducing.points:totable())
      raises("refused", "", function() new():fit(many, values, {budget = 2000}) end)
    end
  end)

  it("takes more points in, to what all of them give", function()
    for _, bound in ipairs{"vfe", "fitc"} do
      local a <const> = held{bound = bound}
      a:predict(at).mean:eval()
      local more <const> = a:condition(at, there)
      assert.is_true(model.fields(more).state.carried)
      local all <const> = sparse{bound = bound}:condition(gb.cat({x, at}, 1), gb.cat({y, there}, 1))
      for _, name in ipairs{"mean", "f_cov"} do near(all:predict(x)[name], more:predict(x)[name], 1e-9, name) end
      near((all:log_marginal_likelihood()), (more:log_marginal_likelihood()), 1e-9)
    end
    local fixed <const> = held{noise = known}
    fixed:predict(at).mean:eval()
    local more <const> = fixed:condition(at, there, {noise = gb.full({6}, 0.1)})
    assert.equal(46, #more.x)
    raises("option", "give noise = a tensor of 6 variances", function() fixed:condition(at, there) end)
    raises("shape", "fantasies, y (b, k), are for gb.gp.exact", function() fixed:condition(at, gb.zeros(2, 6)) end)
  end)

  it("draws functions of its posterior", function()
    local a <const> = held()
    local p <const> = a:predict(at)
    local f <const> = a:draw(4000, {seed = 1, features = 4000})(at)
    near(p.mean, f:mean(1), 0.03)
    near(p.f_var, f:var(1), 0.05)
    assert.same({2, 6}, {p:sample(2, {seed = 1, method = "pathwise"}).shape[1], p:sample(2).shape[2]})
  end)

  it("draws values at its places by their joint covariance, others for another seed", function()
    local a <const> = held()
    local p <const>, f <const> = a:predict(z), a:draw(4000, {seed = 1, features = 4000})(z)
    local centred <const> = f - f:mean(1)
    near(p.f_cov, centred:t():matmul(centred) / 4000, 0.1 * p.f_var:max():item())
    local others <const> = a:draw(4000, {seed = 2, features = 4000})(z)
    assert.is_true((f - others):abs():mean():item() > 0.5 * p.f_var:min():item() ^ 0.5)
  end)

  it("is scored, planned, copied and saved as other models are", function()
    local a <const>, path <const> = held(), os.tmpname()
    local s <const> = a:score(at, there)
    assert.is_true(s.rmse > 0 and s.nlpd == s.nlpd)
    assert.is_true(a:plan().peak > 0)
    near(a:predict(at).mean, a:copy():predict(at).mean, 0)
    a:predict(at).mean:eval()
    local more <const> = a:condition(at, there)
    for _, one in ipairs{a, more} do
      for _, o in ipairs{{}, {caches = true}} do
        one:save(path, o)
        local l <const> = gb.load(path)
        assert.same(one:predict(at).mean:totable(), l:predict(at).mean:totable())
        assert.same(one:predict(at).f_var:totable(), l:predict(at).f_var:totable())
        assert.equal(tostring(one), tostring(l))
      end
    end
    a:save(path, {data = false})
    assert.same(a:predict(at).mean:totable(), gb.load(path, {x = x, y = y}):predict(at).mean:totable())
    os.remove(path)
  end)

  it("computes in f64 whatever the data are, and predicts in their type", function()
    local narrow <const> = {dtype = "f32"}
    local a <const> = sparse():condition(x:to(narrow), y:to(narrow))
    local p <const> = a:predict(at:to(narrow))
    assert.equal("f32", p.mean.dtype)
    assert.equal("f64", p.info.precision)
    near(held():predict(at).mean, p.mean, 1e-5)
  end)

  it("refuses what it cannot do, and says what does it", function()
    raises("option", "gb.gp.sgpr: inducing is needed", gb.gp.sgpr, {kernel = K.rbf{}})
    raises("option", "gb.gp.sgpr: a kernel is needed", gb.gp.sgpr, {inducing = 3})
    raises("option", "gb.gp.sgpr: inducing must be 1 or more, got 0", gb.gp.sgpr, {kernel = K.rbf{}, inducing = 0})
    raises("option", "these are given", gb.gp.sgpr, {kernel = K.rbf{}, inducing = z, select = "random"})
    raises("nan", "an inducing point is not finite", gb.gp.sgpr, {kernel = K.rbf{}, inducing = gb.tensor{0 / 0}})
    for _, select in ipairs{"kmeans", "random"} do
      raises("shape", "gb.gp.sgpr: 5 inducing points for 1 distinct row: choose at most 1, inducing = 1", function()
        gb.gp.sgpr{kernel = K.rbf{}, inducing = 5, select = select}:fit(gb.ones(40, 2), gb.randn(40, {seed = 1}))
      end)
    end
    raises("shape", "gb.gp.sgpr: 50 inducing points for 40 rows: choose at most 40, inducing = 40",
      function() gb.gp.sgpr{kernel = K.rbf{}, inducing = 50}:fit(x, y) end)
    raises("shape", "the inducing points have 2 columns, x has 1 column", function() sparse():condition(gb.rand(9), gb.rand(9)) end)
    raises("option", 'the objective "loo" is for gb.gp.exact', function() sparse():fit(x, y, {objective = "loo"}) end)
    raises("option", 'variance = "cached" is for gb.gp.exact', function() held():predict(at, {variance = "cached"}) end)
    raises("option", "bounds: the model holds no data", function() sparse():bounds() end)
    raises("not_pd", "the covariance of the 2 inducing points could not be factored",
      function() gb.gp.sgpr{kernel = K.linear{}, inducing = gb.zeros(2, 2)}:condition(x, y):predict(at).mean:eval() end)
  end)
end)

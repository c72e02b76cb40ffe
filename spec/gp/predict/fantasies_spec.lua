--- Fantasies: many continuations of one model, each conditioned on observations of its own, predicted from at once.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local raises <const> = require "spec.support".raises
local K <const> = gb.kernels

local function truth(x) return (x:select(2, 1) * 6):sin() * (x:select(2, 2) * 3):cos() + 0.3 end

local function draw(n, seed, dtype)
  local o <const> = {seed = seed, dtype = dtype}
  local x <const> = gb.rand(n, 2, o):eval()
  return x, (truth(x) + gb.randn(n, {seed = seed + 1, dtype = dtype}) * 0.1):eval()
end

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = K.matern52{lengthscale = {0.4, 0.3}, variance = 1.3}, mean = gb.means.constant(0.2),
    noise = o.noise or 0.02, solver = o.solver or "direct"}
end

--- A model that was asked for a prediction: it has a factor.
local function ready(m)
  m:predict(gb.zeros(1, m.x.shape[2], {dtype = m.x.dtype})).mean:eval()
  return m
end

local t <const> = gb.rand(25, 2, {seed = 99}):eval()

local function far(a, b) return (a:to{dtype = "f64"} - b:to{dtype = "f64"}):abs():max():item() end

describe("fantasies", function()
  local m <const> = ready(model():condition(draw(60, 1)))
  local y3 <const> = gb.randn(5, 3, {seed = 4}):eval()

  --- Largest difference of a prediction's numbers for fantasy i from those of one model's.
  local function apart(p, i, shared, one)
    local worst = 0
    local function see(a, b)
      assert.equal(tostring(b.shape), tostring(a.shape))
      local d <const> = far(a, b)
      worst = (worst ~= worst or d <= worst) and worst or d              -- NaN stays
    end
    for _, key in ipairs{"f_var", "y_var", "f_cov"} do see(shared and p[key] or p[key][i], one[key]) end
    see(p.mean[i], one.mean)
    for _, of in ipairs{"f", "y"} do
      local lo <const>, hi <const> = p:interval(0.8, {of = of})
      local low <const>, high <const> = one:interval(0.8, {of = of})
      see(lo[i], low)
      see(hi[i], high)
      see(p:sample(2, {of = of, seed = 7})[i], one:sample(2, {of = of, seed = 7}))
    end
    return worst
  end

  it("are as many models conditioned one by one", function()
    local exact <const> = gb.solvers.cg{tol = 1e-12, precond = gb.precond.pivoted_cholesky{rank = 20}}
    for _, base in ipairs{m, m:condition(draw(1, 6)), model():condition(draw(0, 1)),
      ready(model{solver = exact}:condition(draw(60, 1)))} do
      for _, k in ipairs{1, 3} do
        local y <const> = y3:slice(2, 1, k)
        local shared <const>, own <const> = gb.rand(k, 2, {seed = 3}):eval(), gb.rand(5, k, 2, {seed = 5}):eval()
        local p <const>, q <const> = base:condition(shared, y):predict(t), base:condition(own, y):predict(t)
        assert.equal("5x25", tostring(p.mean.shape))
        assert.equal("25", tostring(p.f_var.shape))
        assert.equal("5x25", tostring(q.f_var.shape))
        for i = 1, 5 do
          local one <const>, other <const> = base:condition(shared, y[i]):predict(t), base:condition(own[i], y[i]):predict(t)
          assert.is_true(apart(p, i, true, one) <= 1e-9)
          assert.is_true(apart(q, i, false, other) <= 1e-9)
          assert.equal(other.info.algorithm, q.info.algorithm)
        end
        assert.is_true(p.converged and q.converged and q.info.converged)
        assert.equal(0, q.info.jitter)
      end
    end
  end)

  it("of f32 data are computed in f64 where predictions of the model are", function()
    local x <const>, y <const> = draw(60, 1, "f32")
    local base <const> = ready(gb.gp.exact{kernel = K.rbf{}, noise = 1e-5, solver = "direct"}:condition(x, y))
    local z <const>, values <const> = gb.rand(4, 2, {seed = 2, dtype = "f32"}):eval(),
      gb.randn(3, 4, {seed = 4, dtype = "f32"}):eval()
    local at <const> = t:to{dtype = "f32"}:eval()
    local p <const>, one <const> = base:condition(z, values):predict(at), base:condition(z, values[1]):predict(at)
    assert.equal("f64", base:predict(at).info.precision)
    assert.equal("f64", p.info.precision)
    for _, v in ipairs{p.mean, p.f_var, p.f_cov, (p:interval()), p:sample(2)} do assert.equal("f32", v.dtype) end
    assert.is_true(far(p.mean[1], one.mean) <= 1e-6 * one.mean:abs():max():item())
    assert.is_true(far(p.f_var, one.f_var) <= 1e-6 and far(p.f_cov, one.f_cov) <= 1e-6)
  end)

  it("by a coarse solver keep a positive covariance", function()
    local x <const>, y <const> = draw(60, 1)
    for _, solver in ipairs{gb.solvers.cg{tol = 0.2}, gb.solvers.sdd{}} do
      local base <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1e-4, solver = solver}:condition(x, y)
      local z <const>, values <const> = x:slice(1, 1, 4):eval(), gb.randn(3, 4, {seed = 4})
      for _, f in ipairs{base:condition(z, values), base:condition(x:slice(1, 1, 12):reshape(3, 4, 2), values)} do
        local p <const> = f:predict(t)
        assert.is_true(p.f_var:min():item() >= 0 and p.mean:isfinite():all())
        local joint <const> = p.f_cov.ndim == 3 and p.f_cov[2] or p.f_cov
        assert.is_true(gb.linalg.eigh(joint):min():item() >= -1e-12)
        assert.is_true(p:sample(2):isfinite():all())
      end
    end
  end)

  it("say how they were computed, and what did not converge", function()
    local x <const>, y <const> = draw(80, 1)
    local z <const>, values <const> = gb.rand(3, 2, 2, {seed = 2}):eval(), gb.randn(3, 2, {seed = 4}):eval()
    local short <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1e-6, solver = gb.solvers.cg{tol = 1e-10, max_iter = 3}}
    local p <const> = short:condition(x, y * 0):condition(z, values):predict(t)     -- whose own solve has nothing to do
    assert.is_false(p.converged or p.info.converged)
    assert.equal("max_iter", p.info.reason)
    assert.is_true(p.info.residual > 1e-10 and p.info.iterations == 3 and p.info.slices == nil)
    p.f_var:eval()
    assert.is_true(p.info.slices >= 1)
    local f <const> = m:condition(z, values)
    assert.is_false(f:predict(t).info.reused)
    local again <const> = f:predict(gb.cat({t, z[1]}, 1))
    assert.is_true(again.info.reused)
    assert.equal("direct, variance exact, f64", tostring(again.info))
    local lost <const> = gb.gp.exact{kernel = K.rbf{}, noise = gb.param(1e-300, {fixed = true}), solver = "direct"}
    local near <const> = lost:condition(gb.tensor{{0.5}}, gb.tensor{1}):condition(gb.tensor{{1}}, gb.tensor{{1}, {2}})
    local q <const> = near:predict(gb.tensor{{1}, {0.5}, {0.7}})
    assert.is_true(q.f_var:min():item() == 0)
    assert.equal(2, q.info.clamped)
    assert.is_true(q:sample(2).shape[3] == 3 and q.info.jitter > 0)
  end)

  it("have gradients in the test points, and none of a number per test point and data point beyond the budget", function()
    local z <const>, values <const> = gb.rand(2, 2, 2, {seed = 2}):eval(), gb.randn(2, 2, {seed = 4}):eval()
    local at <const> = gb.rand(4, 2, {seed = 6}):eval():requires_grad()
    local function slope(p, i)
      local lo <const> = p:interval(0.9)
      return gb.grad((i and lo[i] or lo):sum(), at)
    end
    local p <const> = m:condition(z, values):predict(at)
    for i = 1, 2 do assert.is_true(far(slope(p, i), slope(m:condition(z[i], values[i]):predict(at))) <= 1e-9) end
    local f <const>, many <const> = m:condition(z, values), gb.rand(20000, 2, {seed = 4}):eval()
    local whole <const> = f:predict(many).f_var:eval()
    local limit <const> = gb.memory.limit(gb.memory.report().used + 4 * 2 ^ 20)     -- v, (60, 20000), takes 9.2 MiB
    local ok, cut = pcall(function() return f:predict(many).f_var:eval() end)
    gb.memory.limit(limit)
    assert.is_true(ok, tostring(cut))
    assert.is_true(cut:equal(whole))
  end)

  it("at no points, and draws of their own without a seed", function()
    local z <const>, values <const> = gb.rand(3, 2, 2, {seed = 2}):eval(), gb.randn(3, 2, {seed = 4}):eval()
    local none <const> = m:condition(z, values):predict(gb.zeros(0, 2))
    local lo <const> = none:interval()
    for _, v in ipairs{none.mean, none.f_var, none.y_var, lo} do assert.equal("3x0", tostring(v:eval().shape)) end
    assert.equal("3x0x0", tostring(none.f_cov:eval().shape))
    assert.equal("3x4x0", tostring(none:sample(4):eval().shape))
    local shared <const> = m:condition(z[1], gb.tensor{{1, 2}, {1, 2}}):predict(t)
    local free <const>, tied <const> = shared:sample(3), shared:sample(3, {seed = 1})
    assert.equal("2x3x25", tostring(free.shape))
    assert.is_true(far(free[1], free[2]) > 1e-3 and far(tied[1], tied[2]) == 0)
  end)

  it("stay what they are when the model's parameters are set", function()
    local other <const> = ready(model():condition(draw(30, 1)))
    local f <const> = other:condition(gb.rand(1, 2, {seed = 3}), gb.tensor{{1}, {2}})
    local before <const> = f:predict(t).mean:eval()
    other:get "kernel.variance".value = 9
    assert.is_true(far(f:predict(t).mean, before) == 0)
  end)

  it("take the noise where it is known per observation", function()
    local x <const>, y <const> = draw(4, 1)
    local known <const> = ready(model{noise = gb.tensor{0.1, 0.2, 0.3, 0.1}}:condition(x, y))
    local z <const>, noise <const> = gb.rand(2, 1, 2, {seed = 8}):eval(), gb.tensor{{0.5}, {0.01}}
    local p <const> = known:condition(z, gb.tensor{{1}, {2}}, {noise = noise}):predict(t)
    for i = 1, 2 do
      local one <const> = known:condition(z[i], gb.tensor{i}, {noise = noise[i]}):predict(t)
      assert.is_true(far(p.mean[i], one.mean) <= 1e-10 and far(p.f_var[i], one.f_var) <= 1e-10)
    end
    raises("option", "give noise = a tensor of 2 variances", known.condition, known, z, gb.tensor{{1}, {2}})
  end)

  it("form nothing of test points by fantasies beyond the budget", function()
    local many <const> = gb.rand(20000, 2, {seed = 4}):eval()
    local f <const> = m:condition(gb.rand(40, 1, 2, {seed = 5}), gb.randn(40, 1, {seed = 6}))
    local best <const> = f:predict(many).mean:max(2)                    -- (40): the means of all, (40, 20000), take 6.1 MiB
    local plan <const> = gb.plan(best)
    assert.is_true(plan.minimum < 2 * 2 ^ 20, ("%d bytes"):format(plan.minimum))
    local got <const> = gb.plan(f:predict(many).mean:max(2), {budget = plan.minimum}):run()
    assert.is_true(got:equal(best))
  end)

  it("only predict, and say what is wrong with their shapes", function()
    local f <const> = m:condition(gb.rand(5, 2, 2), gb.randn(5, 2))
    assert.equal("5 fantasies of 2 observations each at other points: predict", tostring(f))
    local p <const> = f:predict(t)
    assert.equal("prediction of 5 fantasies at 25 points: .mean .f_var .y_var .f_cov .info :interval(level) :sample(k)",
      tostring(p))
    assert.equal(5, f.count)
    raises("option", "fantasies have no 'fit': they only predict", function() return f.fit end)
    raises("option", "a prediction has no field 'var': f_var of the function", function() return p.var end)
    raises("option", "a prediction of fantasies has no f_var_bound", function() return p.f_var_bound end)
    raises("option", "a prediction is a value; 'mean' cannot be assigned", function() p.mean = 1 end)
    raises("option", "interval: the level must be between 0 and 1, got 2", p.interval, p, 2)
    raises("option", "sample: fantasies have no method = \"pathwise\"; condition the model", p.sample, p, 1, {method = "pathwise"})
    raises("shape", "x has shape 5x2x2, y must be 5x2, got shape 5x3", m.condition, m, gb.rand(5, 2, 2), y3)
    raises("shape", "the model was given 2 columns", m.condition, m, gb.rand(5, 2, 3), gb.randn(5, 2))
    raises("shape", "fantasies need observations, y has shape 0x1", m.condition, m, gb.rand(0, 1, 2), gb.zeros(0, 1))
    raises("nan", "condition: y", m.condition, m, gb.rand(3, 2), gb.tensor{{1, 2, 0 / 0}, {1, 2, 3}})
    raises("shape", "y must be (3), got shape 3x1", m.condition, m, gb.rand(3, 2), gb.zeros(3, 1))
  end)
end)

describe("what fantasies are", function()
  local fantasies <const> = require "gibbous.gp.exact.fantasies"

  it("is told by the shapes of x and y", function()
    local function batch(x, y) return fantasies.is_batch(x, y) end
    local function z(...) return gb.zeros(...) end
    assert.same({true, true, true, true},
      {batch(z(2, 3, 1), z(2, 3)), batch(z(2, 3, 1), z(5)), batch(z(3, 2), z(4, 3)), batch(z(3), z(4, 3))})
    assert.same({false, false, false, false},
      {batch(z(3, 2), z(3)), batch(z(3, 2), z(3, 1)), batch(z(3, 2), z(3, 2)), batch("x", z(3))})
    assert.same({false, true, true, false, true},
      {batch(z(3), "y"), batch(z(1), z(2, 1)), batch(z(3), z(3, 3)), batch(z(1), z(1, 1)), batch(z(1, 1), z(0, 1))})
  end)

  it("is a value with its observations and its model", function()
    local m <const> = model():condition(draw(10, 1))
    local x <const>, y <const> = gb.rand(2, 2, {seed = 3}):eval(), gb.tensor{{1, 2}, {3, 4}, {5, 6}}
    local f <const> = m:condition(x, y)
    assert.equal("3 fantasies of 2 observations at the same points: predict", tostring(f))
    assert.equal(3, f.count)
    assert.is_true(f.x:equal(x) and f.y:equal(y))
    assert.is_true(f.model.x:equal(m.x) and not rawequal(f.model, m))
    m:get "kernel.variance".value = 9
    assert.equal(1.3, f.model:get "kernel.variance".value:item())
    local own <const> = m:condition(gb.rand(3, 2, 2, {seed = 3}), y)
    assert.equal("3x2x2", tostring(own.x.shape))
    raises("option", "fantasies are a value; 'count' cannot be assigned", function() f.count = 2 end)
    raises("option", "fantasies have no 'fit': they only predict", function() return f.fit end)
    raises("shape", "predict: the model was given 2 columns, x has shape 3x1", f.predict, f, gb.zeros(3, 1))
    raises("shape", "predict: the model was given 2 columns, x has shape 3x1", own.predict, own, gb.zeros(3, 1))
    raises("dtype", "predict: the model's data are f64, x is f32", f.predict, f, gb.zeros(3, 2, {dtype = "f32"}))
  end)

  it("takes what its model had prepared, and what it prepares does not go back", function()
    local function factors(f)
      local count, cholesky = 0, core.linalg.cholesky
      core.linalg.cholesky = function(...)
        count = count + 1
        return cholesky(...)
      end
      local ok <const>, err <const> = pcall(f)
      core.linalg.cholesky = cholesky
      assert.is_true(ok, tostring(err))
      return count
    end
    for _, warm in ipairs{true, false} do
      local m <const> = model():condition(draw(10, 1))
      if warm then ready(m) end
      local f <const> = m:condition(gb.rand(2, 2, {seed = 3}), gb.tensor{{1, 2}, {3, 4}, {5, 6}})
      assert.equal(warm and 1 or 2, factors(function() f:predict(t).mean:eval() end))
      assert.equal(0, factors(function() f:predict(t).f_var:eval() end))
      assert.equal(warm and 0 or 1, factors(function() m:predict(t).mean:eval() end))
    end
    local stale <const> = ready(model():condition(draw(10, 1)))
    stale:get "kernel.variance".value = 2
    assert.equal(2, factors(function() stale:condition(gb.rand(2, 2), gb.zeros(3, 2)):predict(t).mean:eval() end))
  end)

  it("says how its predictions were made, and of what size its plans are", function()
    local x <const>, y <const> = gb.rand(2, 2, {seed = 3}):eval(), gb.tensor{{1, 2}, {3, 4}, {5, 6}}
    local prior <const> = model():condition(gb.zeros(0, 2), gb.zeros(0)):condition(x, y):predict(t)
    prior.mean:eval()
    assert.equal("direct", prior.info.algorithm)
    local m <const> = ready(model():condition(draw(10, 1)))
    local f <const> = m:condition(x, y)
    local forecast <const>, asked = require "gibbous.gp.exact.forecast", nil
    require "spec.support".with(forecast, {of = function(_, at, o, key, columns)
      asked = {#at, next(o), key, columns}
      return {what = "nothing", bytes = 1, minimum = 1, kept = 1}
    end}, function() gb.plan(f:predict(t).f_var) end)
    assert.same({25, nil, "f_var", 2}, asked)
    assert.is_false(f:predict(t).info.reused)
    assert.is_true(f:predict(t).info.reused)
    m:get "kernel.variance".value = 3                                   -- the fantasies keep theirs
    assert.is_true(f:predict(t).info.reused)
    f.model:get "kernel.variance".value = 2
    local p <const> = f:predict(t)
    assert.is_false(p.info.reused)
    local other <const> = model():condition(m.x, m.y)
    other:get "kernel.variance".value = 2
    assert.is_true(far(p.mean[2], other:condition(x, y[2]):predict(t).mean) <= 1e-9)
  end)
end)

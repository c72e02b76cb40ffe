--- Likelihoods: one noise, known noises, noise that varies, floors, none at all.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const>, L <const> = gb.kernels, gb.likelihoods

local x <const> = gb.linspace(0, 1, 30)
local y <const> = ((x * 6):sin() + 0.1 * gb.randn(30, {seed = 1})):eval()

local function model(likelihood, kernel)
  return gb.gp.exact{kernel = kernel or K.rbf{lengthscale = 0.3}, likelihood = likelihood, solver = "direct"}
end

describe("the noise floor", function()
  it("is a multiple of var(y), worked out when a fit begins, and part of the printed constraint", function()
    local m <const> = model(L.gaussian{noise = 0.1, floor = 1e-3})
    m:fit(x, y, {steps = 2})
    near(1e-3 * y:var():item(), m.likelihood.noise.min, 1e-12)
    assert.matches(("likelihood%%.noise +%%S+ +%%(%g, inf%%)"):format(m.likelihood.noise.min):gsub("%-", "%%-"), tostring(m))
  end)

  it("is 1e-6 of var(y) unless it is given, 1e-5 in f32, and none when false", function()
    local m <const> = model(L.gaussian(0.1))
    m:fit(x, y, {steps = 1})
    near(1e-6 * y:var():item(), m.likelihood.noise.min, 1e-18)
    local f32 <const> = {dtype = "f32"}
    local n <const> = model(L.gaussian(0.1))
    n:fit(x:to(f32), y:to(f32), {steps = 1})
    near(1e-5 * y:var():item(), n.likelihood.noise.min, 1e-9)
    local none <const> = model(L.gaussian{noise = 0.1, floor = false})
    none:fit(x, y, {steps = 1})
    near(0, none.likelihood.noise.min, 0)
  end)

  it("binds where the data have no noise, and the report says so", function()
    local m <const> = model(L.gaussian{noise = 0.1, min = 1e-3})
    local info <const> = m:fit(x, (x * 6):sin())
    assert.is_true(info.converged, tostring(info))
    near(1e-3, info.noise_floor, 1e-15)
    assert.same({"likelihood.noise"}, info.active_bounds)
    assert.matches("the noise floor 0.001 binds", tostring(info))
    assert.matches("at a bound: likelihood.noise", tostring(info))
    near(1e-3, m.likelihood.noise.value, 1e-5)
  end)

  it("does not bind where they have", function()
    local info <const> = model(L.gaussian{noise = 0.1, min = 1e-5}):fit(x, y)
    assert.is_nil(info.noise_floor)
    assert.same({}, info.active_bounds)
    assert.is_nil(tostring(info):find "binds")
  end)

  it("moves a start that lies below it, and leaves a gb.param and a fixed noise alone", function()
    local m <const> = model(L.gaussian{noise = 1e-9, floor = 0.1})
    m:fit(x, y, {steps = 0})
    near(0.11 * y:var():item(), m.likelihood.noise.value, 1e-9)
    local own <const> = gb.param(1e-9, {min = 0, fixed = true})
    model(L.gaussian{noise = own, floor = 0.1}):fit(x, y, {steps = 1})
    near(0, own.min, 0)
    near(1e-9, own.value, 1e-22)
  end)

  it("is no trap: a fit that ended there goes on when other data have noise", function()
    local function held(v) return gb.param(v, {min = 0, fixed = true}) end
    local m <const> = model(L.gaussian{noise = 0.1, floor = 1e-6}, K.rbf{lengthscale = held(0.3), variance = held(1)})
    assert.is_true(m:fit(x, (x * 6):sin()).noise_floor > 0)
    local noisy <const> = ((x * 6):sin() + 0.5 * gb.randn(30, {seed = 9})):eval()
    local info <const> = m:fit(x, noisy)
    assert.is_nil(info.noise_floor)
    near(0.25, m.likelihood.noise.value, 0.12)
  end)

  it("is printed with the model", function()
    assert.matches("noise floor: 1e%-06 of var%(y%), 1e%-05 in f32$", tostring(model(L.gaussian(1))))
    assert.matches("noise floor: 0.01 of var%(y%)$", tostring(model(L.gaussian{floor = 0.01})))
    assert.matches("noise floor: 0.5$", tostring(model(L.gaussian{min = 0.5})))
    assert.is_nil(tostring(model(L.gaussian(0))):find "floor")
    assert.matches("noise of new observations: not known, y_var is f_var$", tostring(model(L.fixed(y * y))))
  end)

  it("refuses nonsense", function()
    raises("option", "give min or floor, not both", L.gaussian, {noise = 1, min = 1, floor = 1})
    raises("option", "one noise; a variance for each observation is", L.gaussian, {0.1, 0.2})
    raises("option", "noise 0.5 is not above its floor, min = 1", L.gaussian, {noise = 0.5, min = 1})
    raises("option", "option 'min' must be a finite number, 0 or more", L.gaussian, {noise = 0.5, min = -1})
    raises("option", "must be a variance, 0 or more and finite, got -1", L.gaussian, -1)
    raises("option", "must be a variance, 0 or more and finite", L.gaussian, math.huge)
    raises("option", "noise variances must be 0 or more and finite", L.fixed, gb.tensor{1, math.huge})
    raises("option", "must be a variance, 0 or more", L.gaussian, 0 / 0)
    raises("shape", "a vector is for gb.likelihoods.fixed", L.gaussian, gb.param({1, 2}, {min = 0}))
  end)
end)

describe("no noise", function()
  it("interpolates: the posterior goes through the data, without variance there", function()
    local m <const> = gb.gp.exact{kernel = K.matern52{lengthscale = 0.3}, noise = 0, solver = "direct"}
    local held <const> = m:condition(x, y)
    near(y, held:predict(x).mean, 1e-9)
    near(gb.zeros(30), held:predict(x).f_var, 1e-9)
    near(gb.zeros(30), held:predict(x).y_var, 1e-9)
    assert.is_true(m:get "likelihood.noise".fixed)
    near(0, m:get "likelihood.noise".value, 0)
  end)

  it("stays none in a fit", function()
    local m <const> = gb.gp.exact{kernel = K.matern32{lengthscale = 0.3}, noise = 0, solver = "direct"}
    local info <const> = m:fit(x, (x * 6):sin(), {steps = 20})
    near(0, m:get "likelihood.noise".value, 0)
    assert.is_true(info.value == info.value and math.abs(info.value) < math.huge)
  end)
end)

describe("known noise per point", function()
  local noise <const> = gb.linspace(0.01, 0.3, 30):eval()

  it("adds to new observations what 'new' says: nothing, a number, a parameter, a function of x", function()
    local xs <const> = gb.tensor{0.1, 0.9}
    local base <const> = model(L.fixed(noise)):condition(x, y):predict(xs)
    near(base.f_var, base.y_var, 0)
    local function added(new)
      local p <const> = model(L.fixed(noise, {new = new})):condition(x, y):predict(xs)
      near(base.f_var, p.f_var, 0)
      return p.y_var - p.f_var
    end
    near({0.2, 0.2}, added(0.2), 1e-14)
    near({0.3, 0.3}, added(gb.param(0.3, {min = 0})), 1e-14)
    near({0.01, 0.81}, added(function(at) return at:select(2, 1) ^ 2 end), 1e-14)
    raises("shape", "'new' of the noise must give one variance a row", function()
      return added(function(at) return at end):eval()
    end)
  end)

  it("checks them", function()
    raises("option", "noise variances must be 0 or more", L.fixed, gb.tensor{1, -1})
    raises("option", "noise variances must be 0 or more", L.fixed, gb.tensor{1, 0 / 0})
    raises("option", "noise variances must be 0 or more", L.fixed, gb.tensor{1}, {new = -1})
    raises("option", "new must be a number", L.fixed, gb.tensor{1}, {new = "x"})
    raises("option", "unknown option 'news', did you mean 'new'?", L.fixed, gb.tensor{1}, {news = 1})
  end)

  it("of many magnitudes takes a preconditioned solver few steps, for the same answers", function()
    local n <const> = 300
    local at <const> = gb.rand(n, 2, {seed = 1}):eval()
    local noise <const> = (-9 * gb.rand(n, {seed = 2})):exp():eval()
    local values <const> = ((5 * at:select(2, 1)):sin() + noise:sqrt() * gb.randn(n, {seed = 3})):eval()
    local new <const> = at:slice(1, 1, 100)
    local function by(solver, variances)
      return gb.gp.exact{kernel = K.matern52{lengthscale = 0.5}, likelihood = L.fixed(variances or noise), solver = solver}
    end
    local exact <const> = by("direct"):condition(at, values)
    for _, kind in ipairs{"nystrom", "pivoted_cholesky"} do
      local solver <const> = gb.solvers.cg{tol = 1e-8, precond = gb.precond[kind]{rank = 60}}
      local m <const> = by(solver):condition(at, values)
      local p <const>, want <const> = m:predict(new), exact:predict(new)
      near(want.mean, p.mean, 1e-6)
      near(want.f_var, p.f_var, 1e-8)
      assert.is_true(p.converged and p.info.iterations < 40, tostring(p.info))          -- with one noise: hundreds
      near(0, exact:log_marginal_likelihood() - m:log_marginal_likelihood(), 2)           -- with one noise: off by 6
      local s <const> = gb.solvers.cg{tol = 1e-6, precond = gb.precond[kind]{rank = 60}}
      local info <const> = by(s):fit(at, values, {steps = 5})
      local log <const> = info.solve_log
      assert.is_true(log.solves > 0 and log.unconverged == 0 and log.iterations < 40 * log.solves, tostring(info))
    end
    local solver <const> = gb.solvers.cg{tol = 1e-8, precond = gb.precond.nystrom{rank = 60}}
    local sure <const> = noise:put(1, gb.tensor({5}, {dtype = "i64"}), gb.tensor{0.0}):eval()    -- a point without noise
    local p <const> = by(solver, sure):condition(at, values):predict(new)
    near(by("direct", sure):condition(at, values):predict(new).mean, p.mean, 1e-6)
    assert.is_true(p.converged)
  end)

  it("counts at points of little noise, however much there is elsewhere", function()
    local n <const> = 600
    local at <const> = gb.rand(n, 2, {seed = 3}):eval()
    local precise <const> = gb.rand(n, {seed = 8}):lt(0.5)
    local base <const> = (5 * at:select(2, 1)):sin()
    local solver <const> = gb.solvers.cg{precond = gb.precond.nystrom{rank = 60}}
    for _, much in ipairs{1, 1e4, 1e10} do
      local noise <const> = gb.where(precise, 1e-6, much):eval()
      local values <const> = (base + noise:sqrt() * gb.randn(n, {seed = 5})):eval()
      local function by(s)
        return gb.gp.exact{kernel = K.matern52{lengthscale = 0.7}, likelihood = L.fixed(noise), solver = s}:condition(at, values)
      end
      local want <const>, m <const> = by("direct"), by(solver)
      local covariance <const> = m.kernel(at) + gb.linalg.diag(noise)
      local value, info = solver:objective(covariance, values, m.kernel(at), noise)
      value = -value:item()
      assert.is_true(info.converged, tostring(info))
      near(0, want:log_marginal_likelihood() - value, 4 * info.standard_error + 0.1)
      local p <const>, q <const> = want:predict(at), m:predict(at)
      near(p.mean, q.mean, 1e-4)
      assert.is_true(q.converged)
    end
    do                                                     -- products of f32 beside residuals of f64
      local line <const> = gb.rand(1000, 1, {seed = 3}):eval()
      local noise <const> = gb.where(gb.rand(1000, {seed = 8}):lt(0.5), 1e-4, 1):eval()
      local values <const> = ((5 * line:select(2, 1)):sin() + noise:sqrt() * gb.randn(1000, {seed = 5})):eval()
      local function by(s)
        return gb.gp.exact{kernel = K.matern52{lengthscale = 1.1354231418989, variance = 6.6221487396882},
          likelihood = L.fixed(noise), solver = s}:condition(line, values)
      end
      local cg <const> = gb.solvers.cg{precond = gb.precond.nystrom{}}
      near(0, by("direct"):log_marginal_likelihood() - by(cg):log_marginal_likelihood(), 0.1)
    end
    local masked <const> = gb.full({n}, 1e-4):put(1, gb.tensor({7}, {dtype = "i64"}), gb.tensor{1e12}):eval()
    local m <const> = gb.gp.exact{kernel = K.matern52{lengthscale = 0.7}, likelihood = L.fixed(masked), solver = solver}
    local p <const> = m:condition(at, base):predict(at)
    assert.is_true(p.mean:isfinite():all() and p.converged and p.info.iterations < 60, tostring(p.info))
  end)

  it("of none at all, or too little for f64, says so", function()
    local solver <const> = gb.solvers.cg{precond = gb.precond.nystrom{rank = 5}}
    raises("option", "a low-rank preconditioner needs a noise above 0", function()
      return gb.gp.exact{kernel = K.rbf{}, noise = 0, solver = solver}:condition(x, y):predict(x).mean:eval()
    end)
    local line <const> = gb.linspace(0, 1, 50)
    for _, noise in ipairs{1e-18, 1e-14} do
      for _, likelihood in ipairs{L.fixed(gb.full({50}, noise)), L.gaussian(noise)} do
        local p <const> = gb.gp.exact{kernel = K.matern12{lengthscale = 0.3}, likelihood = likelihood,
          solver = gb.solvers.cg{precond = gb.precond.nystrom{}}}:condition(line, (5 * line):sin()):predict(line)
        assert.is_true(p.f_var_bound:min():item() >= 0)
        assert.is_true((p.f_var - p.f_var_bound):max():item() <= 1e-9)         -- the variance itself is 0
      end
    end
    for _, noise in ipairs{0, 1e-17, 1e-6} do                                   -- one point is as two
      local p <const> = gb.gp.exact{kernel = K.rbf{}, likelihood = L.fixed(gb.full({1}, noise)),
        solver = gb.solvers.cg{precond = gb.precond.nystrom{}}}:condition(x:slice(1, 1, 1), gb.ones(1)):predict(x:slice(1, 1, 1))
      near(1, p.mean, 1e-5)
      assert.is_true(p.converged)
    end
    local auto <const> = gb.solvers.cg{precond = gb.precond.nystrom{rank = "auto"}}
    local few <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.05}, likelihood = L.fixed(gb.zeros(20)),
      solver = auto}:condition(
      x:slice(1, 1, 20), y:slice(1, 1, 20))
    assert.is_true(few:predict(gb.rand(200, {seed = 1})).f_var:isfinite():all())
  end)

  it("that is not finite on the way of a fit is a step undone", function()
    local wide <const>, values <const> = gb.rand(100, {seed = 1}) * 1000, gb.randn(100, {seed = 2})
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 300},
      likelihood = L.heteroscedastic{log_variance = gb.means.linear{}},
      solver = gb.solvers.cg{precond = gb.precond.nystrom{rank = 20}}}
    assert.is_true(m:fit(wide, values).setbacks > 0)
  end)

  it("is fitted around, never changed", function()
    local m <const> = model(L.fixed(noise))
    local info <const> = m:fit(x, y, {steps = 20})
    near(noise, m.likelihood.noise, 0)
    assert.is_nil(info.noise_floor)
  end)
end)

describe("noise that varies", function()
  local n <const> = 240
  local t <const> = gb.linspace(0, 1, n)
  local sd <const> = 0.05 + 0.5 * t
  local s <const> = ((t * 6):sin() + sd * gb.randn(n, {seed = 3})):eval()
  local at <const> = gb.tensor{0.1, 0.3, 0.5, 0.7, 0.9}
  local truth <const> = (0.05 + 0.5 * at):totable()

  --- The fitted noise curve within a factor of the true one, and better than one noise for all by this many nats.
  local function check(likelihood, factor, steps)
    local m <const> = model(likelihood)
    local info <const> = m:fit(t, s, {steps = steps})
    local p <const> = m:predict(at)
    local got <const> = (p.y_var - p.f_var):sqrt():totable()
    for i, v in ipairs(got) do
      assert.is_true(v <= truth[i] * factor and v >= truth[i] / factor, ("at %d: %g for %g"):format(i, v, truth[i]))
    end
    local one <const> = model(L.gaussian(0.1))
    one:fit(t, s)
    assert.is_true(m:leave_one_out().nlpd < one:leave_one_out().nlpd - 0.2)
    return m, info
  end

  it("is learned as a function with parameters of its own", function()
    local m <const> = check(L.heteroscedastic{log_variance = gb.means.linear{}}, 1.6)
    assert.is_true(m:get "likelihood.log_variance.slope".value:item() > 1)
    assert.is_true(m:get "likelihood.noise".fixed)
  end)

  it("is learned as a second process, with its prior in the objective", function()
    local m <const>, info <const> = check(L.heteroscedastic{kernel = K.rbf{lengthscale = 0.4}, noise = 0.1, places = 12}, 1.5)
    local v <const> = m:get "likelihood.latent"
    assert.equal(12, #v)
    near(gb.priors.normal{}:log_density(v.value), info.log_prior, 1e-10)
    near(0.4, m:get "likelihood.kernel.lengthscale".value, 1e-15)     -- held
    assert.equal("heteroscedastic", m.likelihood.kind)
  end)

  it("differentiates by the latent values, the level and a shared lengthscale", function()
    local l <const> = gb.param(0.4, {min = 0})
    local m <const> = model(L.heteroscedastic{kernel = K.rbf{lengthscale = l}, noise = 0.1, places = gb.tensor{0.1, 0.5, 0.8}})
      :condition(x, y)
    m:set("likelihood.latent", {0.3, -0.5, 1})
    support.check_gradients(function() return m:log_marginal_likelihood() end, (gb.params(m)), 1e-6)
  end)

  it("interpolates its values: at a place the noise is level * exp(of the whitened value)", function()
    local m <const> = model(L.heteroscedastic{kernel = K.rbf{lengthscale = 0.2}, noise = 0.5, places = gb.tensor{0.5}})
      :condition(x, y)
    m:set("likelihood.latent", {0.7})
    local p <const> = m:predict(gb.tensor{0.5, 40})
    near({0.5 * math.exp(0.7), 0.5}, p.y_var - p.f_var, 1e-5)         -- far away only the level is left
    local z <const>, v <const> = {0.1, 0.5, 0.8}, {0.3, -0.5, 1}
    local three <const> = model(L.heteroscedastic{kernel = K.rbf{lengthscale = 0.4}, noise = 0.5, places = gb.tensor(z)})
      :condition(x, y)
    three:set("likelihood.latent", v)
    local k <const> = {}
    for i = 1, 3 do
      k[i] = {}
      for j = 1, 3 do k[i][j] = math.exp(-(z[i] - z[j]) ^ 2 / (2 * 0.4 ^ 2)) end
    end
    local root <const>, want <const> = support.cholesky(k), {}
    for i = 1, 3 do
      local g = 0.0
      for j = 1, i do g = g + root[i][j] * v[j] end
      want[i] = 0.5 * math.exp(g)
    end
    local q <const> = three:predict(gb.tensor(z))
    near(want, q.y_var - q.f_var, 1e-4)
  end)

  it("starts as one noise for all, and before data is the level", function()
    local hetero <const> = model(L.heteroscedastic{kernel = K.rbf{}, noise = 0.3})
    near({1.3, 1.3}, hetero:predict(gb.tensor{0, 1}).y_var, 1e-14)
    near(model(L.gaussian(0.3)):condition(x, y):log_marginal_likelihood(), hetero:condition(x, y):log_marginal_likelihood(), 1e-9)
  end)

  it("takes places that lie apart, no more than there are distinct rows", function()
    local m <const> = model(L.heteroscedastic{kernel = K.rbf{}, noise = 0.3, places = 4})
      :condition(gb.tensor{0, 1, 0.5, 0, 1, 0.25}, gb.tensor{1, 2, 3, 4, 5, 6})
    local places <const> = support.numbers(m.likelihood.places)
    table.sort(places)
    near({0, 0.25, 0.5, 1}, places, 0)
    local few <const> = model(L.heteroscedastic{kernel = K.rbf{}, noise = 0.3}):condition(gb.tensor{0, 1, 0}, gb.tensor{1, 2, 3})
    assert.equal(2, #few:get "likelihood.latent")
  end)

  it("does not fall below the floor, and says where it is there", function()
    local exact <const> = (x * 6):sin():eval()
    local m <const> = model(L.heteroscedastic{log_variance = gb.means.constant(0), noise = 0.1, min = 1e-3})
    local info <const> = m:fit(x, exact)
    near(1e-3, info.noise_floor, 1e-15)
    near(1e-3, m.likelihood:variance(m.x):min(), 5e-5)
    assert.matches("the noise floor 0.001 binds", tostring(info))
    assert.is_nil(model(L.heteroscedastic{kernel = K.rbf{}, noise = 0.1}):fit(x, y, {steps = 5}).noise_floor)
    assert.matches("noise floor: 0.001$", tostring(m))
  end)

  it("does not leak between models", function()
    local given <const> = K.rbf{lengthscale = 0.4}
    local lik <const> = L.heteroscedastic{kernel = given, noise = 0.1, places = 5}
    assert.is_false(given.lengthscale.fixed)
    local a <const>, b <const> = model(lik), model(lik)
    a:fit(x, y, {steps = 3})
    b:fit(x:slice(1, 1, 20), y:slice(1, 1, 20), {steps = 0})
    near(gb.zeros(5), b:get "likelihood.latent".value, 0)
    near(0.1, b:get "likelihood.noise".value, 1e-15)
    assert.is_nil(rawget(lik, "places"))
  end)

  it("works in f32", function()
    local f32 <const> = {dtype = "f32"}
    local m <const> = model(L.heteroscedastic{kernel = K.rbf{lengthscale = 0.4}, noise = 0.1, places = 6})
    m:fit(x:to(f32), y:to(f32), {steps = 5})
    assert.equal("f32", m:predict(x:to(f32)).y_var.dtype)
    assert.is_true(m:predict(x:to(f32)).y_var:isfinite():all())
  end)

  it("refuses nonsense", function()
    raises("option", "give either kernel or log_variance", L.heteroscedastic, {})
    raises("option", "give either kernel or log_variance", L.heteroscedastic, {kernel = K.rbf{}, log_variance = gb.means.linear{}})
    raises("option", "places must be a count", L.heteroscedastic, {kernel = K.rbf{}, places = 0})
    raises("option", "option 'log_variance' must be a gb.means value", L.heteroscedastic, {log_variance = 3})
  end)
end)

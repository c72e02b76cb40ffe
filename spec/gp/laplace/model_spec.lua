-- gb.gp.laplace as a model: fits, predictions, scores, draws, files, copies, plans, and what has no meaning.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local K <const>, L <const> = gb.kernels, gb.likelihoods
local n <const> = 80
local x <const> = (gb.rand(n, 2, {seed = 1}) * 4):eval()
local f <const> = ((1.5 * x:select(2, 1)):sin() + 1):eval()
local counts <const> = L.poisson():draw(f, 3):eval()
local t <const> = (gb.rand(5, 2, {seed = 4}) * 4):eval()

local function model(o)
  o = o or {}
  return gb.gp.laplace{kernel = K.rbf{lengthscale = 1.2, variance = 0.8}, mean = gb.means.constant(1),
    likelihood = o.likelihood or L.poisson(), solver = o.solver, standardize = o.standardize}
end

describe("a model by Laplace's approximation", function()
  after_each(support.sweep)

  it("is fitted, and says of new observations what the likelihood has", function()
    local m <const> = gb.gp.laplace{kernel = K.rbf{}, mean = gb.means.constant(), likelihood = L.negative_binomial{}}
    local before <const> = model{likelihood = L.negative_binomial{}}:condition(x, counts):log_marginal_likelihood():item()
    local info <const> = m:fit(x, counts)
    assert.is_true(info.converged and info.log_likelihood > before)
    near(info.log_likelihood, m:log_marginal_likelihood(), 1e-9)
    local p <const> = m:predict(t)
    local of <const> = m.likelihood:predictive(p.mean, p.f_var)
    near(of.mean, p.y_mean, 0)
    near(of.var, p.y_var, 0)
    assert.is_true((p.y_var - p.y_mean):min():item() > 0)
    raises("option", "observations of 'negative_binomial' have no classes: y_mean and y_var", function() return p.probabilities end)
    raises("option", "interval(level, {of = \"f\"}) holds f", p.interval, p)
    local lo <const>, hi <const> = p:interval(0.9, {of = "f"})
    near(2 * 1.6448536269514722 * p.f_var:sqrt(), hi - lo, 1e-12)
    local s <const> = m:score(x, counts)
    near(-m:predict(x):log_density(counts):mean(), s.nlpd, 1e-14)
    near(((counts - m:predict(x).y_mean) ^ 2):mean():sqrt(), s.rmse, 1e-12)
    assert.is_nil(s.accuracy)
    assert.matches("^rmse .* mae .* nlpd .* n 80$", tostring(s))
    raises("option", "a score has no field 'crps'", function() return s.crps end)
  end)

  it("finds the mode of counts of any size in a few steps", function()
    local t <const> = gb.linspace(0, 1, 150):eval()
    for _, level in ipairs{18, 30} do
      local f <const> = (level + (6 * t):sin()):eval()
      local m <const> = gb.gp.laplace{kernel = gb.kernels.rbf{lengthscale = 0.5}, mean = gb.means.constant(level),
        likelihood = gb.likelihoods.poisson{}}:condition(t, f:exp():round())
      local mode <const> = require "gibbous.gp.laplace.mode".find(m, "direct")
      assert.is_true(mode.converged and mode.steps <= 15, ("level %d: %d steps"):format(level, mode.steps))
      assert.is_true((m:predict(t).mean - f):abs():max():item() < 2e-3)
    end
  end)

  it("reaches the same optimum in any units of x and y where the noise has them", function()
    local x <const> = gb.linspace(0, 6, 30)
    local y <const> = ((2 * x):sin() + 0.1 * L.student_t{scale = 1}:draw(gb.zeros(30), 1)):detach():eval()
    local function reached(unit)
      local m <const> = gb.gp.laplace{kernel = K.rbf{}, likelihood = L.student_t{}}
      return m:fit(unit * x, unit * y, {steps = 8}).log_likelihood + 30 * math.log(unit)
    end
    local one <const> = reached(1)
    near({one}, {reached(2 ^ 20)}, 1e-8)
    near({one}, {reached(2 ^ -20)}, 1e-8)
  end)

  it("takes counts of any dtype, and refuses what is none", function()
    near(model():condition(x, counts):predict(t).mean, model():condition(x, counts:to{dtype = "i64"}):predict(t).mean, 0)
    local m <const> = model()
    raises("option", "fit: row 2 of y is 1.5, expected a count, 0 or more", m.fit, m, gb.ones(2, 2), gb.tensor{1, 1.5})
    raises("option", "score: row 1 of y is -1", function() model():condition(x, counts):score(t, gb.full({5}, -1)) end)
    raises("option", 'the objective "loo" is for Gaussian noise', m.fit, m, x, counts, {objective = "loo"})
    raises("option", 'variance = "cached" is for exact models', function()
      return model():condition(x, counts):predict(t, {variance = "cached"})
    end)
    raises("option", "a likelihood is needed", gb.gp.laplace, {kernel = K.rbf{}})
    raises("option", "are not scaled: standardize = {x = true}", model, {standardize = true})
    local masked <const> = model()
    local holes <const> = gb.where(gb.linspace(1, n, n):le(3), 0 / 0, counts)
    assert.equal(3, masked:fit(x, holes, {missing = "mask", steps = 1}).masked)
    raises("nan", "; missing = \"mask\" leaves such rows out", m.fit, m, x, holes)
  end)

  it("draws functions whose moments are its predictions", function()
    for _, solver in ipairs{"direct", "cg"} do
      local m <const> = model{solver = solver}:condition(x, counts)
      local p <const>, draws <const> = m:predict(t), m:draw(4000, {seed = 2, features = 4096})(t):eval()
      near(p.mean, draws:mean(1), 0.05)
      near(p.f_var, draws:var(1), 0.05)
      local joint <const> = p:sample(4000, {seed = 5}):eval()
      near(p.mean, joint:mean(1), 0.05)
      local y <const> = p:sample(4000, {seed = 5, of = "y"}):eval()
      assert.equal(0, (y - y:round()):abs():max():item())
      near(p.y_mean, y:mean(1), 0.3)
    end
  end)

  it("is one with its file, its copy and the model that has seen the data in two parts", function()
    local cauchy <const> = L.define{name = "cauchy", parameters = {scale = 1}, mean = function(v) return v end,
      variance = function(v) return v * 0 + math.huge end,
      log_density = function(v, y, p) return -((y - v) ^ 2 / p.scale ^ 2):log1p() - (math.pi * p.scale):log() end}
    for _, l in ipairs{L.poisson(), L.negative_binomial{dispersion = 0.3}, L.student_t{df = 3}, cauchy{scale = 0.7},
      L.ordinal{cuts = {0.5, 1, 2}}} do
      local y <const> = l.kind == "ordinal" and l:draw(f, 2):eval() or counts
      local m <const> = model{likelihood = l}:condition(x, y)
      local want <const> = m:predict(t)
      local path <const> = os.tmpname()
      m:save(path)
      local loaded <const> = gb.load(path, {likelihoods = {cauchy = cauchy}})
      os.remove(path)
      assert.is_true(loaded:predict(t).mean:equal(want.mean) and loaded:predict(t).f_var:equal(want.f_var))
      assert.equal(tostring(l), tostring(loaded.likelihood))
      local copy <const> = m:copy()
      copy:set("kernel.variance", 3)
      near(0.8, m:get "kernel.variance".value, 1e-15)
      local half <const> = model{likelihood = l}:condition(x:slice(1, 1, 50), y:slice(1, 1, 50))
      near(want.mean, half:condition(x:slice(1, 51, n), y:slice(1, 51, n)):predict(t).mean, 1e-9)
    end
    local path <const> = os.tmpname()
    model{likelihood = cauchy{}}:save(path)
    raises("option", "likelihoods = {cauchy = constructor}", gb.load, path)
    os.remove(path)
  end)

  it("tells a step's memory, chooses a solver where that is too much, and has the same bits within any budget", function()
    local m <const> = model()
    local plan <const> = m:plan(x, counts)
    assert.is_true(plan.peak > 8 * n * n)
    local wide <const>, tight <const> = model(), model()
    local a <const> = wide:fit(x, counts, {steps = 3})
    local b <const> = tight:fit(x, counts, {steps = 3, budget = plan.peak})
    assert.equal(a.log_likelihood, b.log_likelihood)
    local many <const> = (gb.rand(1000, 2, {seed = 7}) * 4):eval()
    local y <const> = L.poisson():draw((1.5 * many:select(2, 1)):sin() + 1, 1):eval()
    local large <const> = model()
    assert.matches("^cg", large:fit(many, y, {steps = 1, budget = "12 MiB"}).solver)
    near(model{solver = "direct"}:condition(many, y):predict(t).mean, model{solver = "cg"}:condition(many, y):predict(t).mean, 1e-4)
  end)

  it("says what it did to be ready, and scales inputs by itself", function()
    local m <const> = model():condition(x, counts)
    assert.equal("none", m.update.kind)
    m:predict(t).mean:eval()
    assert.equal("mode", m.update.kind)
    local scaled <const>, scaler <const> = gb.data.standardize(x)
    near(model():condition(scaled, counts):predict(scaler:apply(t)).mean,
      model{standardize = {x = true}}:condition(x, counts):predict(t).mean, 1e-10)
    local narrow <const> = {dtype = "f32"}
    assert.equal("f32", model():condition(x:to(narrow), counts:to(narrow)):predict(t:to(narrow)).mean.dtype)
  end)

  it("has plans that hold the search for the mode too", function()
    local n <const> = 300
    local x <const> = gb.rand(n, 1, {seed = 1}):eval()
    for _, case in ipairs{{gb.likelihoods.bernoulli{}, gb.ones(n), 3}, {gb.likelihoods.softmax{classes = 3}, gb.ones(n), 6}} do
      local m <const> = gb.gp.laplace{kernel = gb.kernels.rbf{}, likelihood = case[1], solver = "direct"}
      local plan <const> = m:plan(x, case[2]:eval())
      assert.is_true(plan.peak >= case[3] * 8 * n * n, ("%.2f matrices"):format(plan.peak / (8 * n * n)))
      assert.matches("the search for the mode of 300 points", plan:explain(), 1, true)
    end
  end)
end)

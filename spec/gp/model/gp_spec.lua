local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local function rbf(a, b, l, v)
  local s = 0.0
  for k = 1, #a do s = s + (a[k] - b[k]) ^ 2 end
  return v * math.exp(-s / (2 * l * l))
end

local X <const> = {{0.1, -0.4}, {1.2, 0.3}, {-0.7, 0.9}, {0.4, 0.4}, {-1.1, -0.8}}
local Y <const> = {0.3, -1.2, 0.8, 0.1, 2.0}
local XS <const> = {{0.0, 0.0}, {1.0, -1.0}, {5.0, 5.0}}
local x <const>, y <const>, xs <const> = gb.tensor(X), gb.tensor(Y), gb.tensor(XS)
local L <const>, V <const>, NOISE <const>, MEAN <const> = 0.9, 1.7, 0.2, 0.4

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or K.rbf{lengthscale = L, variance = V}, mean = gb.means.constant(MEAN),
    noise = o.noise or NOISE, solver = o.solver}
end

--- Posterior and log marginal likelihood of the same model by dense textbook algebra. noise: a number or a list.
local function textbook(noise)
  local n <const> = #X
  local c <const>, r <const> = {}, {}
  for i = 1, n do
    c[i] = {}
    for j = 1, n do c[i][j] = rbf(X[i], X[j], L, V) end
    c[i][i] = c[i][i] + (type(noise) == "table" and noise[i] or noise)
    r[i] = Y[i] - MEAN
  end
  local root <const> = support.cholesky(c)
  local alpha <const> = support.cholesky_solve(root, r)
  local lml = -0.5 * support.dot(r, alpha) - 0.5 * n * math.log(2 * math.pi)
  for i = 1, n do lml = lml - math.log(root[i][i]) end
  local mean <const>, cov <const>, cross <const> = {}, {}, {}
  for s, at in ipairs(XS) do
    cross[s] = {}
    for i = 1, n do cross[s][i] = rbf(X[i], at, L, V) end
    mean[s] = MEAN + support.dot(cross[s], alpha)
  end
  for s, at in ipairs(XS) do
    cov[s] = {}
    local w <const> = support.cholesky_solve(root, cross[s])
    for t, other in ipairs(XS) do cov[s][t] = rbf(at, other, L, V) - support.dot(cross[t], w) end
  end
  return {mean = mean, cov = cov, lml = lml, var = {cov[1][1], cov[2][2], cov[3][3]}}
end

describe("the posterior", function()
  it("of one point is the formula by hand", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{variance = 2}, noise = 0.5}:condition(gb.tensor{1}, gb.tensor{3})
    local p <const> = m:predict(gb.tensor{1, 2})
    local k <const> = 2 * math.exp(-0.5)
    near({2 / 2.5 * 3, k / 2.5 * 3}, p.mean, 1e-14)
    near({2 - 4 / 2.5, 2 - k * k / 2.5}, p.f_var, 1e-14)
    near({2 - 4 / 2.5 + 0.5, 2 - k * k / 2.5 + 0.5}, p.y_var, 1e-14)
    near(-0.5 * 9 / 2.5 - 0.5 * math.log(2.5) - 0.5 * math.log(2 * math.pi), m:log_marginal_likelihood(), 1e-14)
  end)

  it("of two points is the formula by hand", function()
    local m <const> = gb.gp.exact{kernel = K.matern12{}, noise = 0.1}:condition(gb.tensor{0, 1}, gb.tensor{1, -1})
    local c <const>, e <const> = 1.1, math.exp(-1)
    local det <const> = c * c - e * e
    local k <const> = math.exp(-0.5)                  -- at 0.5, as far from both
    local a1 <const>, a2 <const> = (c * 1 - e * -1) / det, (c * -1 - e * 1) / det
    local p <const> = m:predict(gb.tensor{0.5})
    near(k * (a1 + a2), p.mean, 1e-14)
    near(1 - 2 * k * k * (c - e) / det, p.f_var, 1e-14)
    near(-0.5 * (a1 - a2) - 0.5 * math.log(det) - math.log(2 * math.pi), m:log_marginal_likelihood(), 1e-14)
  end)

  it("of several points is the textbook's", function()
    local want <const> = textbook(NOISE)
    local m <const> = model():condition(x, y)
    local p <const> = m:predict(xs)
    near(want.mean, p.mean, 1e-12)
    near(want.var, p.f_var, 1e-12)
    near(want.cov, p.f_cov, 1e-12)
    near(want.lml, m:log_marginal_likelihood(), 1e-12)
  end)

  it("with known noise per point is the textbook's; a new point then has none", function()
    local noise <const> = {0.1, 0.5, 0.2, 0.9, 0.05}
    local want <const> = textbook(noise)
    local m <const> = model{noise = gb.tensor(noise)}:condition(x, y)
    local p <const> = m:predict(xs)
    near(want.mean, p.mean, 1e-12)
    near(want.lml, m:log_marginal_likelihood(), 1e-12)
    near(want.var, p.y_var, 1e-12)
    raises("shape", "noise has 5 variances for 3 observations", function()
      return model{noise = gb.tensor(noise)}:condition(xs, gb.ones(3)):predict(xs).mean:eval()
    end)
  end)

  it("in f32 is the same to f32", function()
    local want <const> = textbook(NOISE)
    local f32 <const> = {dtype = "f32"}
    local p <const> = model():condition(x:to(f32), y:to(f32)):predict(xs:to(f32))
    assert.equal("f32", p.mean.dtype)
    near(want.mean, p.mean, 1e-5)
    near(want.var, p.f_var, 1e-5)
  end)

  it("goes back to the prior far away, and through the data without noise", function()
    local m <const> = model{noise = 1e-10}:condition(x, y)
    near(y, m:predict(x).mean, 1e-6)
    near({0, 0, 0, 0, 0}, m:predict(x).f_var, 1e-6)
    local far <const> = m:predict(gb.tensor{{100, 100}})
    near(MEAN, far.mean, 1e-12)
    near(V, far.f_var, 1e-12)
  end)

  it("never has a negative variance", function()
    local t <const> = gb.linspace(0, 1, 40)
    local p <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 3}, noise = 1e-12}:condition(t, t:sin()):predict(t)
    assert.is_true(p.f_var:ge(0):all())
  end)

  it("without data is the prior", function()
    local m <const> = model()
    local p <const> = m:predict(xs)
    near({MEAN, MEAN, MEAN}, p.mean, 0)
    near({V, V, V}, p.f_var, 1e-14)
    near({V + NOISE, V + NOISE, V + NOISE}, p.y_var, 1e-14)
    near(K.rbf{lengthscale = L, variance = V}(xs), p.f_cov, 1e-14)
    assert.is_nil(m.x)
  end)

  it("on zero rows is the prior too", function()
    local p <const> = model():condition(gb.zeros(0, 2), gb.zeros(0)):predict(xs)
    near({MEAN, MEAN, MEAN}, p.mean, 0)
    near({V, V, V}, p.f_var, 1e-14)
  end)

  it("at no points is empty", function()
    local p <const> = model():condition(x, y):predict(gb.zeros(0, 2))
    assert.equal(0, p.mean.numel)
    assert.equal(0, p.f_var.numel)
  end)
end)

describe("predictions", function()
  local m <const> = model():condition(x, y)

  it("give intervals of y, or of f", function()
    local p <const> = m:predict(xs)
    local lo <const>, hi <const> = p:interval(0.95)
    local q <const> = 1.959963984540054
    near(p.mean - q * p.y_var:sqrt(), lo, 1e-10)
    near(p.mean + q * p.y_var:sqrt(), hi, 1e-10)
    local flo <const> = p:interval(0.5, {of = "f"})
    near(p.mean - 0.6744897501960817 * p.f_var:sqrt(), flo, 1e-10)
    raises("option", "level must be between 0 and 1, got 95", p.interval, p, 95)
  end)

  it("give joint draws as a function of the seed", function()
    local p <const> = m:predict(xs)
    local a <const>, b <const> = p:sample(4, {seed = 1}), p:sample(4, {seed = 1})
    assert.equal("4x3", tostring(a.shape))
    assert.is_true(a:equal(b))
    assert.is_false(a:equal(p:sample(4, {seed = 2})))
  end)

  it("draw with the right mean and covariance", function()
    local p <const> = m:predict(xs)
    local draws <const> = p:sample(20000, {seed = 3}):eval()
    near(p.mean, draws:mean(1), 0.04)
    local centred <const> = draws - draws:mean(1)
    near(p.f_cov, centred:t():matmul(centred) / 20000, 0.06)
    near(p.y_var, p:sample(20000, {seed = 4, of = "y"}):var(1), 0.06)
  end)

  it("are lazy records that name their fields", function()
    local p <const> = m:predict(xs)
    raises("option", "no field 'var': f_var of the function, y_var of a new observation", function() return p.var end)
    raises("option", "cannot be assigned", function() p.mean = 1 end)
    assert.matches("prediction at 3 points", tostring(p))
  end)

  it("never form the covariance between test points unless asked", function()
    local many <const> = gb.rand(3000, 2, {seed = 1}):eval()
    local p <const> = m:predict(many)
    local lo <const>, hi <const> = p:interval(0.95)
    local plan <const> = gb.plan{p.mean, p.f_var, p.y_var, lo, hi}
    assert.is_true(plan.peak < 4 * 2 ^ 20, plan:explain())
    assert.is_true(gb.plan(p.f_cov).peak >= 3000 * 3000 * 8)
    gb.eval(p.mean, p.f_var)
  end)

  it("follow a parameter that was set", function()
    local moved <const> = model():condition(x, y)
    moved:predict(xs).mean:eval()
    moved:get "kernel.lengthscale".value = 0.5
    local fresh <const> = model{kernel = K.rbf{lengthscale = 0.5, variance = V}}:condition(x, y)
    near(fresh:predict(xs).mean, moved:predict(xs).mean, 1e-13)
    near(fresh:predict(xs).f_var, moved:predict(xs).f_var, 1e-13)
    near(fresh:log_marginal_likelihood(), moved:log_marginal_likelihood(), 1e-13)
  end)

  it("are the same in one call or in pieces", function()
    local many <const> = gb.rand(700, 2, {seed = 2}):eval()
    local whole <const>, part <const> = m:predict(many), m:predict(many:slice(1, 101, 300))
    near(whole.mean:slice(1, 101, 300), part.mean, 1e-13)
    near(whole.f_var:slice(1, 101, 300), part.f_var, 1e-12)
  end)

  it("at many points are cut to the memory there is, with the same bits", function()
    local points <const> = gb.rand(500, 2, {seed = 1}):eval()
    local m <const> = gb.gp.exact{kernel = K.matern32{lengthscale = L} + K.rbf{}, noise = NOISE}
    m:fit(points, points:sum(2):sin(), {steps = 1})
    local many <const> = gb.rand(40000, 2, {seed = 2}):totable()
    local function predict(budget)
      collectgarbage()
      local p <const> = m:predict(gb.tensor(many))
      local mean <const>, f_var <const> = p.mean, p.f_var
      gb.plan({mean, f_var}, {budget = budget}):run()
      return mean, f_var
    end
    local mean <const>, f_var <const> = predict "1 GiB"
    local tight_mean <const>, tight_var <const> = predict "8 MiB"            -- k(x, xs) takes 153 MiB
    assert.is_true(mean:equal(tight_mean))
    assert.is_true(f_var:equal(tight_var))
  end)
end)

describe("condition", function()
  it("adds observations and leaves the old model as it was", function()
    local first <const> = model():condition(x:slice(1, 1, 3), y:slice(1, 1, 3))
    local before <const> = first:predict(xs).mean:totable()
    local both <const> = first:condition(x:slice(1, 4, 5), y:slice(1, 4, 5))
    near(textbook(NOISE).mean, both:predict(xs).mean, 1e-12)
    near(before, first:predict(xs).mean, 0)
    assert.equal(3, #first.x)
    assert.equal(5, #both.x)
  end)

  it("refuses other widths and types", function()
    local m <const> = model():condition(x, y)
    raises("shape", "condition: the model was given 2 columns, x has shape 2x1", m.condition, m, gb.tensor{1, 2}, gb.tensor{1, 2})
    raises("dtype", "condition: x is f64, y is f32", m.condition, m, x, y:to{dtype = "f32"})
  end)
end)

describe("the log marginal likelihood", function()
  it("differentiates by every parameter", function()
    local kernel <const> = K.rbf{lengthscale = {0.9, 0.6}, variance = V} + K.linear{variance = 0.3} * K.matern52{}
    local m <const> = gb.gp.exact{kernel = kernel, mean = gb.means.linear{slope = {0.1, -0.2}, offset = 0.3}, noise = 0.2}
      :condition(x, y)
    support.check_gradients(function() return m:log_marginal_likelihood() end, (gb.params(m)), 2e-7)
  end)

  it("needs data", function()
    local m <const> = model()
    raises("option", "the model holds no data", m.log_marginal_likelihood, m)
  end)
end)

describe("fit", function()
  local truth <const> = {lengthscale = 0.4, variance = 2.0, noise = 0.05}
  local t <const> = gb.rand(250, 1, {seed = 11}):eval() * 6
  local prior <const> = gb.gp.exact{kernel = K.rbf{lengthscale = truth.lengthscale, variance = truth.variance}, noise = truth.noise}
  local s <const> = prior:predict(t:eval()):sample(1, {of = "y", seed = 12})[1]:eval()

  it("recovers the hyper-parameters of simulated data", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1}
    local info <const> = m:fit(t, s)
    assert.is_true(info.converged, tostring(info))
    near(math.log(truth.lengthscale), m.kernel.lengthscale.value:log(), 0.2)
    near(math.log(truth.noise), m:get "likelihood.noise".value:log(), 0.3)
    near(math.log(truth.variance), m.kernel.variance.value:log(), 0.9)
    near(-info.value, m:log_marginal_likelihood(), 1e-9)
    assert.is_true(-info.value >= prior:condition(t, s):log_marginal_likelihood():item())
    assert.is_true(rawequal(info, m.info))
    assert.matches("^fit of 250 points, direct: converged", tostring(info))
  end)

  it("does not change what it was built from, but shares explicit parameters", function()
    local k <const>, noise <const> = K.rbf{lengthscale = 1}, gb.param(1, {min = 0})
    local m <const> = gb.gp.exact{kernel = k, noise = noise}
    m:fit(t:slice(1, 1, 60), s:slice(1, 1, 60), {steps = 10})
    near(1, k.lengthscale.value, 0)
    assert.is_true(m.kernel.lengthscale.value:item() ~= 1)
    assert.is_true(noise.value:item() ~= 1)
    assert.is_true(rawequal(noise, m:get "likelihood.noise"))
    local other <const> = gb.gp.exact{kernel = m.kernel, noise = 0.1}
    other:get "kernel.lengthscale".value = 9
    assert.is_true(m.kernel.lengthscale.value:item() ~= 9)
  end)

  it("leaves fixed parameters alone, and adds priors", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = gb.param(0.7, {min = 0, fixed = true})},
      noise = gb.param(0.5, {min = 0, prior = gb.priors.log_normal{mean = math.log(0.5), sd = 1e-3}})}
    m:fit(t:slice(1, 1, 60), s:slice(1, 1, 60), {steps = 30})
    near(0.7, m.kernel.lengthscale.value, 0)
    near(0.5, m:get "likelihood.noise".value, 0.01)
  end)

  it("goes on from where it is on the data it holds", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1}
    local first <const> = m:fit(t:slice(1, 1, 80), s:slice(1, 1, 80), {steps = 3})
    local second <const> = m:fit()
    assert.is_true(second.value <= first.value)
    near(-second.value, m:log_marginal_likelihood(), 1e-9)
  end)

  it("begins the first extra start with little noise, further ones anywhere", function()
    local noise <const> = gb.param(0.5, {min = 1e-4})
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 3}, noise = noise}
    local begun <const> = {}
    m:fit(t:slice(1, 1, 40), s:slice(1, 1, 40), {restarts = 2, steps = 2, on_step = function(step)
      if step.step == 0 then begun[#begun + 1] = {noise.value:item(), m:get "kernel.lengthscale".value:item()} end
    end})
    assert.equal(3, #begun)
    near(0.5, begun[1][1], 1e-12)
    near(1e-4 + (0.5 - 1e-4) * math.exp(-6), begun[2][1], 1e-12)
    near(3, begun[2][2], 1e-12)
    assert.is_true(begun[3][2] ~= 3 and begun[3][1] ~= begun[2][1])
  end)

  it("with restarts keeps the best, and is a function of the seed", function()
    local function run(seed)
      local m <const> = gb.gp.exact{kernel = K.periodic{period = 2} + K.rbf{}, noise = 1}
      return m:fit(t:slice(1, 1, 60), s:slice(1, 1, 60), {restarts = 2, seed = seed, steps = 25}), m
    end
    local single <const> = gb.gp.exact{kernel = K.periodic{period = 2} + K.rbf{}, noise = 1}
    local alone <const> = single:fit(t:slice(1, 1, 60), s:slice(1, 1, 60), {steps = 25})
    local a <const>, ma <const> = run(5)
    local b <const> = run(5)
    assert.equal(2, a.restarts)
    assert.equal(a.value, b.value)
    assert.is_true(a.value <= alone.value)
    near(-a.value, ma:log_marginal_likelihood(), 1e-9)
    assert.matches("best of 3 starts", tostring(a))
  end)

  it("stopped early keeps the best point seen", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1}
    local values <const> = {}
    local info <const> = m:fit(t, s, {on_step = function(step)
      values[#values + 1] = step.value
      return step.step < 3
    end})
    assert.is_true(info.interrupted)
    assert.is_false(info.converged)
    near(-math.min(table.unpack(values)), m:log_marginal_likelihood(), 1e-9)
  end)

  it("tells converged from not converged", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1}
    local info <const> = m:fit(t, s, {steps = 2})
    assert.is_false(info.converged)
    assert.equal("step limit reached", info.reason)
    assert.matches("not converged", tostring(info))
  end)

  it("works by Adam", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1}
    m:fit(t, s, {method = "adam", lr = 0.1, steps = 100})
    near(math.log(truth.lengthscale), m.kernel.lengthscale.value:log(), 0.25)
  end)

  it("resolves ard = true when the data arrives", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{ard = true, lengthscale = 2}, noise = 0.1}
    m:fit(x, y, {steps = 2})
    assert.equal(2, #m.kernel.lengthscale)
  end)

  it("names the row and column of a value that is not finite", function()
    local bad <const> = gb.tensor{{1, 2}, {3, 4}, {5, 0 / 0}}
    local m <const> = model()
    raises("nan", "fit: x: the value in row 3, column 2 is not finite", m.fit, m, bad, gb.ones(3))
    raises("nan", "fit: y: the value in row 2 is not finite", m.fit, m, gb.ones(3, 2), gb.tensor{1, math.huge, 2})
  end)

  it("refuses no rows, no data, and shapes that do not fit", function()
    local m <const> = model()
    raises("shape", "fit: there are no rows to fit", m.fit, m, gb.zeros(0, 2), gb.zeros(0))
    raises("option", "the model holds no data", m.fit, model())
    raises("shape", "fit: x has 5 rows, y must be (5), got shape 5x1", m.fit, m, x, y:unsqueeze(2))
    raises("shape", "fit: x must be (n) or (n, d), got shape 5x1x2", m.fit, m, x:unsqueeze(2), y)
    raises("option", "fit: y must be a tensor, got a list: gb.tensor(list)", m.fit, m, x, Y)
    raises("option", "fit: unknown option 'restart', did you mean 'restarts'?", m.fit, m, x, y, {restart = 2})
    raises("option", "fit: option 'steps' must be a whole number, 0 or more, got number -1", m.fit, m, x, y, {steps = -1})
  end)

  it("holds what it promised: steps do not grow memory", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1}
    m:fit(t, s, {steps = 3})
    collectgarbage() collectgarbage()
    local before <const> = gb.memory.report().used
    m:fit(t, s, {steps = 10})
    assert.is_true(gb.memory.report().used <= before + 4096)
  end)
end)

describe("score", function()
  it("is the textbook's figures", function()
    local m <const> = model():condition(x, y)
    local ys <const> = gb.tensor{0.5, -0.3, 9}
    local p <const> = m:predict(xs)
    local mean <const>, var <const> = p.mean:totable(), p.y_var:totable()
    local se, ae, nlpd, inside = 0.0, 0.0, 0.0, 0
    for i, v in ipairs{0.5, -0.3, 9} do
      local e <const> = v - mean[i]
      se, ae = se + e * e / 3, ae + math.abs(e) / 3
      nlpd = nlpd + (0.5 * math.log(2 * math.pi * var[i]) + 0.5 * e * e / var[i]) / 3
      if math.abs(e) <= 1.959963984540054 * math.sqrt(var[i]) then inside = inside + 1 / 3 end
    end
    local s <const> = m:score(xs, ys)
    near({math.sqrt(se), ae, nlpd, inside}, {s.rmse, s.mae, s.nlpd, s.coverage95}, 1e-12)
    assert.equal(3, s.n)
    assert.is_true(s.converged)
    assert.matches("^rmse .* nlpd .* coverage95 66.7 %% *n 3$", tostring(s))
  end)
end)

describe("a model", function()
  it("prints path, value, constraint and what is trainable", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = gb.param(0.5, {min = 0, fixed = true})}:named "trend", noise = 0.1}
    local text <const> = tostring(m)
    assert.matches("^gp%.exact  no data: the prior\n", text)
    assert.matches("kernel%.lengthscale +0%.5 +%(0, inf%) +none +no", text)
    assert.matches("likelihood%.noise +0%.1", text)
    assert.matches("5 points, 2 columns, f64", tostring(m:condition(x, y)))
  end)

  it("has fields for what it holds, and refuses others", function()
    local m <const> = model():condition(x, y)
    assert.equal("kernel", gb.type(m.kernel))
    assert.equal("5x2", tostring(m.x.shape))
    raises("option", "no field 'predic' (did you mean 'predict'?)", function() return m.predic end)
    raises("option", "field 'kernel' of a model cannot be assigned", function() m.kernel = K.rbf{} end)
    raises("option", "no parameter 'kernel.lengthscal' (did you mean 'kernel.lengthscale'?)", m.get, m, "kernel.lengthscal")
  end)

  it("checks what it is built from", function()
    raises("option", "gb.gp.exact: a kernel is needed", gb.gp.exact, {})
    raises("option", "give noise or likelihood, not both", gb.gp.exact,
      {kernel = K.rbf{}, noise = 1, likelihood = gb.likelihoods.gaussian(1)})
    raises("option", "unknown option 'kernal', did you mean 'kernel'?", gb.gp.exact, {kernal = K.rbf{}})
    raises("option", "option 'kernel' must be a gb.kernels value, got string rbf", gb.gp.exact, {kernel = "rbf"})
    raises("shape", "predict: the model was given 2 columns, x has shape 3x1", function()
      return model():condition(x, y):predict(gb.ones(3))
    end)
    raises("dtype", "predict: the model's data are f64, x is f32", function()
      return model():condition(x, y):predict(xs:to{dtype = "f32"})
    end)
  end)
end)

describe("gb.likelihoods", function()
  it("gaussian is one variance, fixed is one a point", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = L, variance = V}, mean = gb.means.constant(MEAN),
      likelihood = gb.likelihoods.gaussian{noise = NOISE}}
    near(textbook(NOISE).mean, m:condition(x, y):predict(xs).mean, 1e-12)
    raises("option", "takes a vector of variances", gb.likelihoods.fixed, gb.ones(2, 2))
    raises("option", "noise variances must be 0 or more", gb.likelihoods.fixed, gb.tensor{1, -1})
  end)
end)

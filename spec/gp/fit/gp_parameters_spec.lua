--- Parameters of models: by path, with priors, printed, and never leaking from one model into another.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const>, P <const> = gb.kernels, gb.priors

local x <const> = gb.rand(40, 2, {seed = 1}):eval()
local y <const> = ((x:select(2, 1) * 5):sin() + 0.1 * gb.randn(40, {seed = 2})):eval()

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or K.rbf{lengthscale = {0.5, 0.7}}, mean = o.mean or gb.means.constant(0.1),
    noise = o.noise or 0.2, solver = "direct"}
end

--- Every parameter of a model as text, to see that nothing moved.
local function snapshot(m)
  local list <const>, names <const> = gb.params(m)
  local out <const> = {}
  for i, p in ipairs(list) do out[names[i]] = support.numbers(p.value) end
  return out
end

describe("m:set", function()
  it("sets by path: a number, a list, several at once", function()
    local m <const> = model()
    assert.is_true(rawequal(m, m:set("kernel.variance", 3)))
    near(3, m:get "kernel.variance".value, 1e-14)
    m:set{["kernel.lengthscale"] = {0.2, 0.4}, ["likelihood.noise"] = 0.05, ["mean.value"] = gb.tensor(-1)}
    near({0.2, 0.4}, m.kernel.lengthscale.value, 1e-14)
    near(0.05, m:get "likelihood.noise".value, 1e-14)
    near(-1, m.mean.value.value, 0)
  end)

  it("takes one number for all elements, and no other shape", function()
    local m <const> = model()
    m:set("kernel.lengthscale", 0.9)
    near({0.9, 0.9}, m.kernel.lengthscale.value, 1e-14)
    raises("shape", "parameter 'lengthscale' has shape 2, got a value of shape 3", m.set, m, "kernel.lengthscale", {1, 2, 3})
  end)

  it("names the nearest path", function()
    local m <const> = model()
    raises("option", "no parameter 'kernel.varianc' (did you mean 'kernel.variance'?)", m.set, m, "kernel.varianc", 1)
    raises("option", "no parameter 'likelihood.nois' (did you mean 'likelihood.noise'?)", m.set, m, {["likelihood.nois"] = 1})
    raises("option", "parameter 'kernel.variance' was given no value", m.set, m, "kernel.variance")
  end)

  it("sets all or none", function()
    local m <const> = model()
    local before <const> = snapshot(m)
    raises("option", "not inside its bounds", m.set, m, {["kernel.variance"] = 9, ["likelihood.noise"] = -1})
    raises("option", "no parameter", m.set, m, {["kernel.variance"] = 9, ["likelihood.nose"] = 1})
    raises("nan", "NaN", m.set, m, {["kernel.lengthscale"] = 5, ["likelihood.noise"] = 0 / 0})
    assert.same(before, snapshot(m))
  end)

  it("changes what the model predicts at once", function()
    local m <const> = model():condition(x, y)
    local before <const> = m:predict(x).f_var:totable()
    m:set("likelihood.noise", 1e-4)
    assert.is_true(m:predict(x).f_var:max():item() < math.max(table.unpack(before)))
  end)
end)

describe("priors", function()
  local noise_prior <const> = P.log_normal{mean = math.log(0.3), sd = 0.5}

  it("are added to what fit minimises, and its report says so", function()
    local m <const> = model{kernel = K.rbf{lengthscale = gb.param({0.5, 0.7}, {min = 0, prior = P.gamma{shape = 3, rate = 6}})},
      noise = gb.param(0.2, {min = 0, prior = noise_prior})}
    local info <const> = m:fit(x, y, {steps = 5})
    local want <const> = P.gamma{shape = 3, rate = 6}:log_density(m.kernel.lengthscale.value):item()
      + noise_prior:log_density(m:get "likelihood.noise".value):item()
    near(want, info.log_prior, 1e-12)
    near(m:log_marginal_likelihood(), info.log_likelihood, 1e-9)
    near(-(m:log_marginal_likelihood():item() + want), info.value, 1e-9)
    assert.matches("log prior", tostring(info))
  end)

  it("of fixed parameters do not count", function()
    local m <const> = model{noise = gb.param(0.2, {min = 0, fixed = true, prior = noise_prior})}
    local info <const> = m:fit(x, y, {steps = 2})
    near(0, info.log_prior, 0)
    near(-m:log_marginal_likelihood():item(), info.value, 1e-9)
  end)

  it("make the objective's gradient theirs too", function()
    local p <const> = gb.param(0.4, {min = 0, prior = noise_prior})
    local values <const> = {}
    gb.optim.minimize(function() return p * 0 end, p, {on_step = function(s) values[#values + 1] = s.value end})
    near(math.exp(math.log(0.3) - 0.25), p.value, 1e-4)               -- the mode of the log-normal
    assert.is_true(values[#values] <= values[1])
  end)

  it("must allow the start", function()
    local nowhere <const> = P.define("nowhere", {}, function(v) return gb.where(v:gt(1), v * 0, -math.huge) end)
    local m <const> = model{noise = gb.param(0.1, {min = 0, prior = nowhere{}})}
    raises("option", "fit: the prior of 'likelihood.noise', nowhere(), has density 0 at its value 0.1", m.fit, m, x, y)
    local several <const> = model{noise = 0.1,
      kernel = K.rbf{lengthscale = gb.param(gb.full({x.shape[2]}, 0.5), {min = 0, prior = nowhere{}})}}
    raises("option",
      ("fit: the prior of 'kernel.lengthscale', nowhere(), has density 0 at its value of shape %d"):format(x.shape[2]),
      several.fit, several, x, y)
    local held <const> = model{noise = gb.param(0.1, {min = 0, prior = nowhere{}, fixed = true})}
    held:fit(x, y, {steps = 0})
    local inside <const> = model{noise = gb.param(0.1, {min = 0, prior = P.uniform{min = 0.09, max = 0.5}})}
    local info <const> = inside:fit(x, y)
    assert.is_true(math.abs(info.value) < math.huge)
    local v <const> = inside:get "likelihood.noise".value:item()
    assert.is_true(v >= 0.09 and v <= 0.5)
  end)

  it("may be set and taken away", function()
    local m <const> = model()
    m:get "likelihood.noise".prior = noise_prior
    assert.matches("log_normal", tostring(m))
    m:get "likelihood.noise".prior = nil
    assert.is_nil(m:get "likelihood.noise".prior)
    raises("option", "must be a gb.priors value (gb.priors.define makes one's own), got number",
      function() m:get "likelihood.noise".prior = 3 end)
    raises("option", "option 'prior' must be a gb.priors value", gb.param, 1, {prior = 3})
  end)
end)

describe("fitted values", function()
  it("do not leak through a kernel, mean or likelihood used in two models", function()
    local k <const>, mean <const>, lik <const> = K.rbf{lengthscale = {0.5, 0.7}}, gb.means.constant(0), gb.likelihoods.gaussian(0.3)
    local function build() return gb.gp.exact{kernel = k, mean = mean, likelihood = lik, solver = "direct"} end
    local a <const>, b <const> = build(), build()
    local before <const> = snapshot(b)
    a:fit(x, y, {steps = 8})
    assert.same(before, snapshot(b))
    near({0.5, 0.7}, k.lengthscale.value, 1e-15)
    near(0, mean.value.value, 0)
    near(0.3, lik.noise.value, 1e-15)
    b:fit(x, y, {steps = 8})
    assert.same(snapshot(a), snapshot(b))                             -- b began where a did
  end)

  it("do not leak through one kernel twice in one model", function()
    local k <const> = K.rbf{}
    local m <const> = gb.gp.exact{kernel = k + K.linear{} * k, noise = 0.1}
    m:fit(x, y, {steps = 3})
    near(1, k.lengthscale.value, 0)
  end)

  it("do not leak through a fitted model's kernel into the next", function()
    local a <const> = model()
    a:fit(x, y, {steps = 5})
    local at <const> = snapshot(a)
    local b <const> = gb.gp.exact{kernel = a.kernel, mean = a.mean, likelihood = a.likelihood, solver = "direct"}
    assert.same(at, snapshot(b))
    b:fit(x, -y, {steps = 5})
    b:set("kernel.variance", 77)
    assert.same(at, snapshot(a))
  end)

  it("do not leak between a model and what it was conditioned into", function()
    local a <const> = model():condition(x, y)
    local b <const> = a:condition(x:slice(1, 1, 2) + 0.01, y:slice(1, 1, 2))
    local before <const> = snapshot(a)
    local mean <const> = a:predict(x).mean:totable()
    b:fit{steps = 5}
    assert.same(before, snapshot(a))
    near(mean, a:predict(x).mean, 0)
    a:set("likelihood.noise", 5)
    assert.is_true(b:get "likelihood.noise".value:item() < 5)
  end)

  it("are shared where a gb.param says so, and only there", function()
    local shared <const> = gb.param(0.3, {min = 0})
    local a <const>, b <const> = model{noise = shared}, model{noise = shared}
    a:fit(x, y, {steps = 5})
    near(shared.value, b:get "likelihood.noise".value, 0)
    assert.is_true(shared.value:item() ~= 0.3)
    near({0.5, 0.7}, b.kernel.lengthscale.value, 1e-15)
  end)

  it("of one start do not reach the next", function()
    local function run(o)
      local m <const> = model()
      return m:fit(x, y, o), m
    end
    local alone <const> = run{steps = 3}
    local many <const>, m <const> = run{steps = 3, restarts = 3, seed = 4}
    assert.is_true(many.value <= alone.value)
    near(-many.value, m:log_marginal_likelihood(), 1e-9)
    assert.equal(many.value, (run{steps = 3, restarts = 3, seed = 4}).value)
  end)

  it("stay at the best point when a fit is broken off by an error", function()
    local m <const> = model()
    local best = math.huge
    local ok <const>, err <const> = pcall(m.fit, m, x, y, {on_step = function(s)
      best = math.min(best, s.value)
      if s.step == 3 then error("enough", 0) end
    end})
    assert.is_false(ok)
    assert.equal("enough", err)
    near(-best, m:log_marginal_likelihood(), 1e-9)
  end)

  it("are where they were when a fit never began", function()
    local m <const> = model():condition(x, y)
    local before <const> = snapshot(m)
    raises("nan", "not finite", m.fit, m, x, y * (0 / 0))
    raises("shape", "y must be (40)", m.fit, m, x, y:slice(1, 1, 3))
    raises("option", "unknown option", m.fit, m, x, y, {stepz = 1})
    assert.same(before, snapshot(m))
    assert.equal(40, #m.y)
    near(y, m.y, 0)
  end)

  it("are not changed by planning, scoring or leaving one out", function()
    local m <const> = model{kernel = K.rbf{ard = true}, mean = gb.means.linear{slope = 0.5}}
    local before <const>, text <const> = snapshot(m), tostring(m)
    m:plan(x, y)
    assert.same(before, snapshot(m))
    assert.equal(text, tostring(m))
    local held <const> = m:condition(x, y)
    local at <const> = snapshot(held)
    held:score(x, y)
    held:leave_one_out()
    held:plan()
    assert.same(at, snapshot(held))
  end)
end)

describe("print(model)", function()
  it("is a table of value, constraint, prior and what is trainable", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = gb.param(0.5, {min = 0.1, max = 2, fixed = true})}, noise =
      gb.param(0.3, {min = 0, prior = P.half_normal{sd = 2}}), mean = gb.means.constant(1)}
    local text <const> = tostring(m)
    assert.matches("parameter +value +constraint +prior +trainable", text)
    assert.matches("kernel%.lengthscale +0%.5 +%(0%.1, 2%) +none +no", text)
    assert.matches("kernel%.variance +1 +%(0, inf%) +none +yes", text)
    assert.matches("mean%.value +1 +none +none +yes", text)
    assert.matches("likelihood%.noise +0%.3 +%(0, inf%) +half_normal%(sd=2%) +yes", text)
  end)

  it("shows the paths that get and set take", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}:named "trend" + K.linear{} * K.periodic{}, noise = 0.1}
    local _, names <const> = gb.params(m)
    for _, path in ipairs(names) do
      assert.is_true(tostring(m):find(path, 1, true) ~= nil, path)
      m:set(path, 0.5)
      near(0.5, m:get(path).value, 1e-14)
    end
  end)
end)

--- A third posterior beside the exact and the Kronecker one, of five functions and a class: Bayesian linear regression, which
-- works with the d weights of a linear kernel, in O(n d^2), and not with n points. Fits, predictions, reports and files come from
-- the rooms that all classes share, and its figures are those of the exact model with the same kernel.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local leave_one_out <const> = require "gibbous.gp.report.leave_one_out"
local likelihood <const> = require "gibbous.gp.report.likelihood"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.observations"
local parameters <const> = require "gibbous.gp.parameters"
local posterior <const> = require "gibbous.gp.posterior"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local save <const> = require "gibbous.gp.save"
local score <const> = require "gibbous.gp.report.score"
local summary <const> = require "gibbous.gp.report.summary"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

-- The posterior -----------------------------------------------------------------------------------------------------------------

--- Scaled features v^1/2 x of a linear kernel of variance v: k(x, z) = phi(x) phi(z)'.
local function phi(f, x) return x * f.kernel.variance.value:sqrt() end

--- A = I + phi' phi / s2 (d, d), with C^-1 = (I - phi A^-1 phi' / s2) / s2; r = y - m(x) and the noise s2.
local function parts(f)
  local p <const>, s2 <const> = phi(f, f.x), f.likelihood.noise.value
  return p:t():matmul(p) / s2 + gb.eye(f.x.shape[2]), p, f.y - f.mean(f.x), s2
end

local five <const> = {}

function five.prepare(self)
  local state <const>, reused <const> = posterior_cache.of(self, function()
    local A <const>, p <const>, r <const>, s2 <const> = parts(model.fields(self))
    local factor <const>, weights <const> = gb.linalg.cholesky(A), gb.linalg.solve(A, p:t():matmul(r) / s2)
    return {factor = core.hold(factor, factor:detach():eval()), weights = core.hold(weights, weights:detach():eval())}
  end)
  return {state = state, reused = reused, algorithm = "weights"}
end

function five.mean(self, ready, query)
  local f <const> = model.fields(self)
  return f.mean(query.inputs) + phi(f, query.inputs):matmul(ready.state.weights)
end

--- phi(t) A^-1/2, (d, m), whose products are the posterior covariance.
local function root(self, ready, query)
  return gb.linalg.triangular_solve(ready.state.factor, phi(model.fields(self), query.inputs):t())
end

function five.explained(self, ready, query)
  local u <const>, p <const> = root(self, ready, query), phi(model.fields(self), query.inputs)
  return (p * p):sum(2) - (u * u):sum(1)
end

function five.joint(self, ready, query)
  local u <const>, p <const> = root(self, ready, query), phi(model.fields(self), query.inputs)
  return p:matmul(p:t()) - u:t():matmul(u)
end

function five.objective(self, _, kind)
  if kind == "loo" then core.raise("option", "weights have no leave-one-out density") end
  local f <const> = model.fields(self)
  local A <const>, p <const>, r <const>, s2 <const> = parts(f)
  local n <const>, b <const> = #f.x, p:t():matmul(r) / s2
  local quad <const> = (r * r):sum() / s2 - core.linalg.inv_quad(A, b)
  return (quad + core.linalg.logdet(A) + n * s2:log() + n * math.log(2 * math.pi)) / 2
end

local class <const> = model.define{
  name = "spec.linear", maker = "linear", what = "a linear model",
    public = {"kernel", "mean", "likelihood", "x", "y", "info", "solver"},
  posterior = five, observations = observations.single,
  text = function(self) return summary.text(self, "linear  ", summary.points) end,
  methods = {parameters.methods, require "gibbous.gp.fit".methods, require "gibbous.gp.fit.plan".methods,
    require "gibbous.gp.predict".methods, score.methods, leave_one_out.methods, likelihood.methods, save.methods,
      {copy = model.copy}},
}

-- Models ------------------------------------------------------------------------------------------------------------------------

local n <const> = 40
local x <const> = gb.randn(n, 3, {seed = 1}):eval()
local y <const> = (0.5 + x:matmul(gb.tensor{1, -2, 0.5}) + 0.3 * gb.randn(n, {seed = 2})):eval()
local at <const>, there <const> = gb.randn(7, 3, {seed = 3}):eval(), gb.randn(7, {seed = 4}):eval()

local function pieces()
  return {kernel = K.linear{variance = 1.5}, mean = gb.means.constant(0.2), likelihood = gb.likelihoods.gaussian(0.2)}
end

local function linear()
  local o <const> = pieces()
  o.solver = "auto"
  return class.new(o)
end

local function exact()
  local o <const> = pieces()
  o.solver = "direct"
  return gb.gp.exact(o)
end

local function fitted(m)
  m:fit(x, y, {steps = 30})
  return m
end

local function of_same_parameters()
  local a <const>, b <const> = linear(), exact()
  a:fit(x, y, {steps = 0})
  b:fit(x, y, {steps = 0})
  return a, b
end

describe("a third posterior", function()
  it("predicts what the exact model with the same kernel predicts", function()
    local a <const>, b <const> = of_same_parameters()
    local p <const>, q <const> = a:predict(at), b:predict(at)
    for _, name in ipairs{"mean", "f_var", "y_var", "f_cov"} do near(q[name], p[name], 1e-10, name) end
    near(gb.zeros(7), p.f_var_bound, 0)
    for i, bound in ipairs{p:interval(0.9)} do near(select(i, q:interval(0.9)), bound, 1e-10) end
    near(q:sample(3, {seed = 5, of = "y"}), p:sample(3, {seed = 5, of = "y"}), 1e-6)
    local info <const> = p.info
    assert.same({"weights", "exact", "f64", true, false},
      {info.algorithm, info.variance, info.precision, info.converged, info.reused})
    assert.is_true(a:predict(at).info.reused)
  end)

  it("has the gradients of the exact model", function()
    local a <const>, b <const> = of_same_parameters()
    local got <const>, want <const> = a:predict(at), b:predict(at)
    local g <const> = gb.grad(got.mean:sum() + got.f_var:sum(), (gb.params(a)))
    local names <const> = select(2, gb.params(a))
    for i, v in ipairs(gb.grad(want.mean:sum() + want.f_var:sum(), (gb.params(b)))) do near(v, g[i], 1e-9, names[i]) end
    support.check_gradients(function() return a:predict(at).f_var:sum() + a:predict(at).mean:sum() end, (gb.params(a)), 1e-6)
  end)

  it("is what it was when the prediction was asked for, whatever is set later", function()
    local a <const>, b <const> = of_same_parameters()
    local before <const> = b:predict(at).mean:eval()
    local late <const> = a:predict(at)
    a:set("kernel.variance", 0.1)
    a:set("likelihood.noise", 2)
    near(before, late.mean, 1e-10)
    assert.is_true(math.abs(late.mean[1]:item() - a:predict(at).mean[1]:item()) > 1e-3)
  end)

  it("keeps what it prepared for one state of the parameters", function()
    local a <const> = of_same_parameters()
    a:predict(at).mean:eval()
    local f <const> = model.fields(a)
    local state <const> = f.state
    assert.is_true(state ~= nil and rawequal(state, posterior_cache.present(a)))
    assert.is_nil(posterior_cache.present(a, "other"))
    a:set("likelihood.noise", 2)
    assert.is_nil(f.state)
    f.state = state
    assert.is_nil(posterior_cache.present(a))
  end)

  it("fits to the same parameters and the same likelihood", function()
    local a <const>, b <const> = fitted(linear()), fitted(exact())
    assert.is_true(a.info.converged and a.info.iterations > 2)
    near(b.info.log_likelihood, a.info.log_likelihood, 1e-8)
    for _, path in ipairs{"kernel.variance", "mean.value", "likelihood.noise"} do near(b:get(path), a:get(path), 1e-4, path) end
    assert.same({"direct", 40, "mll"}, {a.info.solver, a.info.n, a.info.objective})
    assert.matches("^fit of 40 points, direct: converged", tostring(a.info))
    local masked <const> = linear():fit(x, gb.where(gb.range(1, n):eq(3), 0 / 0, y), {steps = 1, missing = "mask"})
    assert.same({39, 1}, {masked.n, masked.masked})
  end)

  it("reports: likelihood, score, plan, text", function()
    local a <const>, b <const> = of_same_parameters()
    local value <const>, record <const> = a:log_marginal_likelihood()
    near(b:log_marginal_likelihood(), value, 1e-9)
    assert.equal(0, record.standard_error)
    local s <const>, t <const> = a:score(at, there), b:score(at, there)
    for _, name in ipairs{"rmse", "mae", "nlpd", "crps", "coverage95", "msll", "joint_log_density"} do
      near(t[name], s[name], 1e-8, name) end
    assert.is_true(a:plan().peak > 0)
    assert.equal("weights", a:copy():predict(at).info.algorithm)
    assert.matches("^linear  40 points, 3 columns, f64\nparameter", tostring(a))
    assert.matches("^linear  no data: the prior\n", tostring(linear()))
  end)

  it("is saved and loaded by the name of its class, and predicts with the same bits", function()
    local a <const>, path <const> = fitted(linear()), os.tmpname()
    a:save(path)
    local l <const> = gb.load(path)
    assert.equal("spec.linear", getmetatable(l).__name)
    for _, name in ipairs{"mean", "f_var", "f_cov"} do assert.same(a:predict(at)[name]:totable(), l:predict(at)[name]:totable()) end
    assert.equal(tostring(a), tostring(l))
    a:save(path, {data = false})
    raises("option", "predict: the model was saved without its data (40 points, 3 columns, f64)",
      function() gb.load(path):predict(at) end)
    assert.same(a:predict(at).mean:totable(), gb.load(path, {x = x, y = y}):predict(at).mean:totable())
    os.remove(path)
  end)

  it("says what it lacks", function()
    local a <const> = of_same_parameters()
    raises("option", "weights have no leave-one-out density", a.fit, a, {objective = "loo"})
    raises("option", "leave_one_out: a model of this class has no closed form of it", a.leave_one_out, a)
    raises("option", 'sample: a model of this class has no method = "pathwise"',
      function() a:predict(at):sample(1, {method = "pathwise"}) end)
    raises("option", "draw: functions of a model of this class cannot be drawn", a.draw, a)
    raises("option", "a linear model has no field 'update'", function() return a.update end)
    raises("option", "it is chosen when a model is made: linear{kernel = ...}", function() a.kernel = 1 end)
  end)
end)

describe("a class of models", function()
  local function describing(changes)
    local out <const> = {name = "spec.other", maker = "other", what = "other", public = {}, posterior = five,
      observations = observations.single, text = tostring, methods = {}}
    for key, v in pairs(changes) do out[key] = v end
    return out
  end

  it("has the fields that it declares, and no others", function()
    local f <const> = model.fields(linear())
    assert.is_nil(f.state)
    raises("internal", "spec.linear does not declare a field 'twin'", function() return f.twin end)
    raises("internal", "spec.linear does not declare a field 'zzz'", function() f.zzz = 1 end)
    raises("internal", "spec.linear does not declare a field 'zzz'", class.new, {zzz = 1})
  end)

  it("takes each method once, and only what a class has", function()
    local part <const> = {one = function() end}
    raises("internal", "two parts of a class define the method 'one'", model.define, describing{methods = {part, part}})
    raises("internal", "a class of models has no 'metods'", model.define, describing{metods = {}})
    assert.is_nil(model.class_named "spec.other")
  end)

  it("needs all five functions of a posterior", function()
    for name in pairs{prepare = 1, mean = 1, explained = 1, joint = 1, objective = 1} do
      local of <const> = {}
      for key, f in pairs(five) do of[key] = f end
      of[name] = nil
      raises("internal", ("a posterior needs a function '%s'"):format(name), posterior.check, of)
    end
    local of <const> = {varance = print}
    for key, f in pairs(five) do of[key] = f end
    raises("internal", "a posterior has no 'varance'", posterior.check, of)
  end)
end)

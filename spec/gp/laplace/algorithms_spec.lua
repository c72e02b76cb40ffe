-- Laplace's approximation against algorithms 3.1 to 3.4 and 5.1 of Rasmussen & Williams (2006) (scripts/reference/laplace.py).
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local mode <const> = require "gibbous.gp.laplace.mode"
local param <const> = require "gibbous.param"
local several_mode <const> = require "gibbous.gp.laplace.several_mode"
local support <const> = require "spec.support"
local values <const> = require "spec.gp.laplace.values"
local near <const>, raises <const> = support.near, support.raises

local L <const> = gb.likelihoods

local function likelihood(case)
  if case.kind == "softmax" then return L.softmax{classes = 3, draws = 2000} end
  return L[case.kind](case.link and {link = case.link} or nil)
end

local function model(case, o)
  return gb.gp.laplace{kernel = gb.kernels.rbf{lengthscale = 0.7, variance = 1.8}, likelihood = likelihood(case),
    solver = o and o.solver}:condition(gb.tensor(case.x), gb.tensor(case.y))
end

describe("Laplace's approximation", function()
  it("has the mode, the evidence and the predictions of the algorithms", function()
    for _, case in ipairs(values) do
      local m <const>, t <const> = model(case), gb.tensor(case.t)
      local several <const> = case.kind == "softmax"
      local at <const> = (several and several_mode or mode).find(m, "direct")
      assert.is_true(at.converged)
      near(case.f, at.f, 1e-9, case.kind)
      near(case.evidence, m:log_marginal_likelihood(), 1e-9, case.kind)
      local p <const> = m:predict(t)
      near(case.mean, p.mean, 1e-9, case.kind)
      if not several then near(case.var, p.f_var, 1e-9, case.kind) end
      if case.probability then near(case.probability, p.y_mean, 1e-9) end
    end
  end)

  it("has the covariance of classes, and probabilities averaged over it", function()
    local case <const> = values[4]
    local m <const>, t <const> = model(case), gb.tensor(case.t)
    local p <const>, cov <const> = m:predict(t), gb.tensor(case.cov)
    for c = 1, 3 do near(cov:select(3, c):select(2, c), p.f_var:select(2, c), 1e-9) end
    local root <const> = gb.linalg.cholesky(cov)
    near(likelihood(case):predictive(gb.tensor(case.mean), root).probabilities, p.probabilities, 1e-8)
    local others <const> = L.softmax{classes = 3, draws = 20000, seed = 9}
    near(others:predictive(gb.tensor(case.mean), root).probabilities, p.probabilities, 0.01)
    near(p.probabilities:select(2, 2):log(), p:log_density(gb.full({#t}, 2)), 1e-12)
  end)

  it("has the gradient of algorithm 5.1", function()
    for i = 1, 3 do
      local case <const>, m <const> = values[i], model(values[i])
      local v <const> = m:log_marginal_likelihood()
      local g <const> = gb.grad(v, {m:get "kernel.lengthscale", m:get "kernel.variance"})
      near(case.by_lengthscale, g[1], 1e-8)
      near(case.by_variance, g[2], 1e-8)
    end
  end)

  it("agrees with itself through a solver, which stores no matrix", function()
    for i = 1, 3 do
      local case <const> = values[i]
      local solver <const> = gb.solvers.cg{tol = 1e-12, train_tol = 1e-12, probes = "exact"}
      local direct <const>, streamed <const> = model(case), model(case, {solver = solver})
      local v <const>, w <const> = direct:log_marginal_likelihood(), streamed:log_marginal_likelihood()
      near(v, w, 1e-8)
      for _, name in ipairs{"kernel.lengthscale", "kernel.variance"} do
        near(gb.grad(v, direct:get(name)), gb.grad(w, streamed:get(name)), 1e-6, name)
      end
      local p <const>, q <const> = direct:predict(gb.tensor(case.t)), streamed:predict(gb.tensor(case.t))
      near(p.mean, q.mean, 1e-8)
      near(p.f_var, q.f_var, 1e-8)
      near(p.f_cov, q.f_cov, 1e-8)
      assert.is_true(q.converged)
      assert.matches("^cg", q.info.algorithm)
    end
    raises("option", "needs solver = \"direct\"", function() model(values[4], {solver = "cg"}):log_marginal_likelihood() end)
  end)
end)

-- Every kind ----------------------------------------------------------------------------------------------------------------------

describe("the evidence of every smooth likelihood", function()
  local x <const> = gb.tensor(values[1].x):slice(1, 1, 24):eval()
  local f <const> = ((2 * x:select(2, 1)):sin() * 1.5):eval()
  local cauchy <const> = L.define{name = "cauchy", parameters = {scale = 1},
    log_density = function(g, y, p) return -((y - g) ^ 2 / p.scale ^ 2):log1p() - (math.pi * p.scale):log() end}
  local heavy <const> = (f + 0.2 * gb.randn(#f, {seed = 2}) / gb.rand(#f, {seed = 3})):eval()
  local cases <const> = {
    {L.bernoulli{link = "logit"}}, {L.poisson()}, {L.negative_binomial{dispersion = 0.5}}, {L.gamma{shape = 2}}, {L.exponential()},
    {L.beta{concentration = 4}, function(y) return y:clamp(1e-4, 1 - 1e-4) end}, {L.ordinal{classes = 4}},
    {L.ordinal{classes = 3, link = "logit"}}, {L.student_t{scale = 0.3, df = 3}, function() return heavy end},
    {cauchy{scale = 0.2}, function() return heavy end},
    {L.softmax{classes = 3}, function()
      return L.softmax{classes = 3}:draw(gb.stack({f, -f, 0 * f}, 2), 4)
    end},
  }

  local function observations(case)
    local own <const> = case[2]
    return (own and own(case[1].kind == "beta" and case[1]:draw(f, 4) or nil) or case[1]:draw(f, 4)):eval()
  end

  local function raws_of(list)
    local out <const> = {}
    for i, p in ipairs(list) do out[i] = p.raw end
    return out
  end

  local function check(m, build, what)
    local list <const>, names <const> = param.collect(m)
    local got <const> = gb.grad(build(), raws_of(list), {unused = "zero"})
    local want <const> = support.differences(build, list)
    for i in ipairs(list) do near(want[i], got[i]:reshape(-1), 1e-6, ("%s by %s"):format(what, names[i])) end
  end

  it("has the gradient of its differences by every parameter, the implicit part included", function()
    for _, case in ipairs(cases) do
      local m <const> = gb.gp.laplace{kernel = gb.kernels.matern52{lengthscale = 0.9, variance = 1.3}, likelihood = case[1],
        mean = gb.means.constant(0.1)}:condition(x, observations(case))
      check(m, function() return (m:log_marginal_likelihood()) end, tostring(case[1]))
    end
  end)

  it("goes with predictions that have gradients", function()
    local t <const> = gb.tensor(values[1].t)
    for _, i in ipairs{1, 2, 6, 9, 11} do
      local case <const> = cases[i]
      local m <const> = gb.gp.laplace{kernel = gb.kernels.rbf{lengthscale = 0.9, variance = 1.3}, likelihood = case[1]}
        :condition(x, observations(case))
      for _, key in ipairs{"mean", "f_var"} do
        check(m, function() return m:predict(t)[key]:sum() end, ("%s of %s"):format(key, tostring(case[1])))
      end
    end
  end)

  it("ends its search where the density is not concave, and says so", function()
    local y <const> = core.where(gb.linspace(1, 24, 24):eq(7), 60, heavy):eval()
    local m <const> = gb.gp.laplace{kernel = gb.kernels.rbf{lengthscale = 0.9, variance = 4},
      likelihood = L.student_t{scale = 0.2, df = 3}}:condition(x, y)
    local at <const> = mode.find(m, "direct")
    assert.is_true(at.converged and at.steps < 100)
    near(at.g, at.a, 1e-6)
    assert.is_true(math.abs(m:predict(x:slice(1, 7, 7)).mean:item()) < 5)             -- the far observation is left
    raises("option", "the log density of 'laplace' has no second derivative: gb.gp.svgp needs none", gb.gp.laplace,
      {kernel = gb.kernels.rbf{}, likelihood = L.laplace{}})
    raises("option", "Gaussian noise needs no approximation; gb.gp.exact has it", gb.gp.laplace,
      {kernel = gb.kernels.rbf{}, likelihood = L.gaussian(1)})
    raises("option", "is not concave, and its derivatives need solver = \"direct\"", function()
      gb.gp.laplace{kernel = gb.kernels.rbf{}, likelihood = L.student_t{}, solver = "cg"}:condition(x, y):log_marginal_likelihood()
    end)
  end)
end)

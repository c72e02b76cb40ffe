--- Gaussian-process models of observations that are not Gaussian, by Laplace's approximation: y ~ p(y | f), f ~ GP(m, k).
-- Source: Rasmussen & Williams (2006), sections 3.4 and 3.5.
local class <const> = require "gibbous.gp.laplace.class"
local core <const> = require "gibbous.core"
local likelihoods <const> = require "gibbous.likelihoods"
local means <const> = require "gibbous.means"
local options <const> = require "gibbous.base.options"
local rules <const> = require "gibbous.gp.rules"
local scaling <const> = require "gibbous.gp.scaling"

local likelihood_rule <const> = options.value_of(likelihoods.is, "a gb.likelihoods value", likelihoods, "gb.likelihoods", "()")
local solver_rule <const> = rules.solver{"auto", "direct"}

--- gb.gp.laplace{kernel, mean = zero, likelihood, solver = "auto"|"direct"|"cg"|...|a gb.solvers value}
-- The posterior of f is taken as Gaussian around its most likely values. likelihood: a gb.likelihoods value that is not Gaussian
-- and whose log density has a second derivative; of softmax all classes share the kernel and the mean. The model copies what it is
-- given; only explicit gb.params and networks stay shared. standardize = {x = true}, or a scaler in the place of true: the model
-- scales its inputs. All is computed in f64.
-- Errors: option.
---@return gibbous.gp.laplace
return function(opts)
  local what <const> = "gb.gp.laplace"
  local o <const> = options.parse(opts, {kernel = rules.kernel, mean = rules.mean, likelihood = likelihood_rule,
    solver = solver_rule, standardize = scaling.rule}, what)
  local scaled <const> = scaling.asked(o.standardize)
  if scaled and scaled.y then
    core.raise("option", what .. ": observations that are not Gaussian are not scaled: standardize = {x = true}")
  end
  if not o.kernel then core.raise("option", what .. ": a kernel is needed: gb.gp.laplace{kernel = gb.kernels.rbf{}, ...}") end
  local l <const> = o.likelihood
  if not l then
    core.raise("option", what .. ": a likelihood is needed: gb.likelihoods.bernoulli(), gb.likelihoods.poisson(), ...")
  end
  if likelihoods.is_gaussian(l) then
    core.raise("option", what .. ": Gaussian noise needs no approximation; gb.gp.exact has it")
  end
  if not l:is_smooth() then
    core.raise("option", ("%s: the log density of '%s' has no second derivative: gb.gp.svgp needs none; gb.likelihoods.student_t, "
      .. "whose tails are heavy too, has one"):format(what, l.kind))
  end
  return class.new{kernel = o.kernel:copy(), mean = means.of(o.mean or means.zero()):copy(), likelihood = l:copy(),
    solver = o.solver or "auto", standardize = scaled}
end

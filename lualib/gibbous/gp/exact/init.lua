--- Exact Gaussian-process regression: y = m(x) + f(x) + noise, f ~ GP(0, k).
-- Source: Rasmussen & Williams (2006), algorithm 2.1 and equation 5.8.
--
-- Two algorithms give the same posterior, and one is chosen once per fit: "direct" factors the (n, n) covariance, n^2 values and
-- n^3 / 3 multiply-adds; "cg" never stores it and streams it through preconditioned conjugate gradients.
local class <const> = require "gibbous.gp.exact.class"
local core <const> = require "gibbous.core"
local gradients <const> = require "gibbous.gp.gradients.class"
local likelihoods <const> = require "gibbous.likelihoods"
local means <const> = require "gibbous.means"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local rules <const> = require "gibbous.gp.rules"
local scaling <const> = require "gibbous.gp.scaling"

local likelihood_rule <const> = options.value_of(likelihoods.is, "a gb.likelihoods value", likelihoods, "gb.likelihoods", "()")
local solver_rule <const> = rules.solver{"auto", "direct"}

--- A model whose data have values and derivatives, from checked options.
local function of_gradients(o)
  if o.likelihood then
    core.raise("option", "gb.gp.exact: gradients: noise, of values, and gradient_noise, of derivatives, stand for a likelihood")
  end
  if o.standardize then
    core.raise("option", "gb.gp.exact: gradients: a model scales values and derivatives by no standardize yet: divide x by s, y by "
      .. "r and derivatives by r / s, a column each")
  end
  return gradients.of_parts{kernel = o.kernel:copy(), mean = means.of(o.mean or means.zero()):copy(),
    likelihood = likelihoods.of_gradients(o.noise, o.gradient_noise, "gb.gp.exact"):copy(), solver = o.solver or "auto"}
end

--- gb.gp.exact{kernel, mean = zero, noise = 1 | likelihood, solver = "auto"|"direct"|"cg"|...|a gb.solvers value, standardize}
-- noise: a variance in units of y squared: a number (free; 0: it stays 0, the data are exact), a gb.param, or a tensor (n) of
-- known variances. solver: the name of one of gb.solvers stands for it with its usual options; "cg" with those that "auto" uses.
-- mean: a gb.means value, a function of x (n, d) giving (n), or a network. The model copies what it is given; only explicit
-- gb.params and networks stay shared. Without data it is the prior. standardize = true, or {x = true, y = true} with scalers of
-- gb.data.standardize in the place of true: the model scales inputs and targets, and is asked and answers in their own units;
-- kernel, mean and a noise that is a number are of the scaled data (gp/scaling.lua).
-- gradients = true: the data have partial derivatives too, y is (n, 1 + d): f in the first column, its derivative by column a of x
-- in column 1 + a; missing = "mask" leaves out cells that are NaN. gradient_noise: of derivatives, as noise, or a list, one a
-- column; by default a fit chooses one a column. Predictions are then of both (m:predict). N values of all columns cost what N
-- points do.
-- Errors: option.
---@return gibbous.gp.exact
return function(opts)
  local o <const> = options.parse(opts, {kernel = rules.kernel, mean = rules.mean, likelihood = likelihood_rule, noise = "any",
    gradients = "boolean", gradient_noise = "any", solver = solver_rule, standardize = scaling.rule}, "gb.gp.exact")
  if not o.kernel then core.raise("option", "gb.gp.exact: a kernel is needed: gb.gp.exact{kernel = gb.kernels.rbf{}}") end
  if o.noise and o.likelihood then core.raise("option", "gb.gp.exact: give noise or likelihood, not both") end
  if o.gradients then return of_gradients(o) end
  if o.gradient_noise then
    core.raise("option", "gb.gp.exact: gradient_noise is for data that have derivatives: gradients = true")
  end
  local likelihood = o.likelihood
  if likelihood and not likelihoods.is_gaussian(likelihood) then
    core.raise("option", ("gb.gp.exact: the noise must be Gaussian, and this likelihood is '%s'; gb.gp.laplace takes it")
      :format(likelihood.kind))
  end
  if not likelihood then
    local noise <const> = o.noise or nil
    local is_vector <const> = not param.is(noise) and core.type(noise) == "tensor" and noise.ndim == 1
    likelihood = is_vector and likelihoods.fixed(noise) or likelihoods.gaussian(noise)
  end
  return class.new{kernel = o.kernel:copy(), mean = means.of(o.mean or means.zero()):copy(), likelihood = likelihood:copy(),
    solver = o.solver or "auto", standardize = scaling.asked(o.standardize)}
end

--- Sparse Gaussian-process regression: m inducing points stand for n rows, O(n m^2) time and O(m^2) memory beside the data.
-- Source: Titsias (2009); Snelson & Ghahramani (2006).
local class <const> = require "gibbous.gp.sgpr.class"
local core <const> = require "gibbous.core"
local likelihoods <const> = require "gibbous.likelihoods"
local means <const> = require "gibbous.means"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local places <const> = require "gibbous.gp.places"
local rules <const> = require "gibbous.gp.rules"
local scaling <const> = require "gibbous.gp.scaling"

local likelihood_rule <const> = options.value_of(likelihoods.is, "a gb.likelihoods value", likelihoods, "gb.likelihoods", "()")

local SPEC <const> = {kernel = rules.kernel, mean = rules.mean, likelihood = likelihood_rule, noise = "any",
  bound = {"vfe", "fitc"}, standardize = scaling.rule}
for key, rule in pairs(places.spec) do SPEC[key] = rule end

--- gb.gp.sgpr{kernel, inducing, mean = zero, noise = 1 | likelihood, select = "kmeans"|"greedy"|"random", learn = true, seed = 0,
-- bound = "vfe"|"fitc", standardize}
-- inducing: their number m, or places (m, d). select: how a number of places is chosen when data arrive (gb.gp.inducing_points);
-- learn = false: a fit does not move them. bound: "vfe", the collapsed lower bound, or "fitc". noise: as in gb.gp.exact; known
-- variances of observations are allowed. standardize: as in gb.gp.exact; places that are given are of the scaled inputs. The rest
-- is gb.gp.exact's. Errors: option, shape.
---@return gibbous.gp.sgpr
return function(opts)
  local what <const> = "gb.gp.sgpr"
  local o <const> = options.parse(opts, SPEC, what)
  if not o.kernel then
    core.raise("option", what .. ": a kernel is needed: gb.gp.sgpr{kernel = gb.kernels.rbf{}, inducing = 500}")
  end
  if o.noise and o.likelihood then core.raise("option", what .. ": give noise or likelihood, not both") end
  local likelihood = o.likelihood
  if likelihood and not likelihoods.is_gaussian(likelihood) then
    core.raise("option", ("%s has Gaussian noise; gb.gp.svgp takes gb.likelihoods.%s"):format(what, likelihood.kind))
  end
  if not likelihood then
    local noise <const> = o.noise or nil
    local is_vector <const> = not param.is(noise) and core.type(noise) == "tensor" and noise.ndim == 1
    likelihood = is_vector and likelihoods.fixed(noise) or likelihoods.gaussian(noise)
  end
  return class.new{kernel = o.kernel:copy(), mean = means.of(o.mean or means.zero()):copy(), likelihood = likelihood:copy(),
    inducing = places.of(o, what), solver = o.bound or "vfe", standardize = scaling.asked(o.standardize)}
end

--- Variational Gaussian processes: m inducing points, any likelihood, minibatches of any number of rows.
-- Source: Hensman, Fusi & Lawrence (2013); Hensman, Matthews & Ghahramani (2015).
local class <const> = require "gibbous.gp.svgp.class"
local core <const> = require "gibbous.core"
local likelihoods <const> = require "gibbous.likelihoods"
local means <const> = require "gibbous.means"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local places <const> = require "gibbous.gp.places"
local rules <const> = require "gibbous.gp.rules"
local scaling <const> = require "gibbous.gp.scaling"
local variational <const> = require "gibbous.gp.svgp.variational"

local likelihood_rule <const> = options.value_of(likelihoods.is, "a gb.likelihoods value", likelihoods, "gb.likelihoods", "()")

local BATCH <const>, RANK <const> = 1024, 10

local SPEC <const> = {kernel = rules.kernel, mean = rules.mean, likelihood = likelihood_rule, noise = "any",
  standardize = scaling.rule, whiten = "boolean", q = {"full", "diagonal", "low_rank"}, rank = "count", batch = "count"}
for key, rule in pairs(places.spec) do SPEC[key] = rule end

--- The number of latent functions; nil: one.
local function latents_of(l)
  local count <const> = l and not likelihoods.is_gaussian(l) and l:latents() or 1
  return count > 1 and count or nil
end

local function check(o, what)
  local l <const> = o.likelihood
  if not o.kernel then
    core.raise("option", what .. ": a kernel is needed: gb.gp.svgp{kernel = gb.kernels.rbf{}, inducing = 500}")
  end
  if o.noise and l then core.raise("option", what .. ": give noise or likelihood, not both") end
  if o.rank and o.q ~= "low_rank" then core.raise("option", what .. ': rank is for q = "low_rank"') end
  if o.rank == 0 or o.batch == 0 then core.raise("option", what .. ": rank and batch are 1 or more") end
  if latents_of(l) and o.whiten == false then
    core.raise("option", ("%s: the %d latent functions of '%s' are whitened: leave out whiten = false"):format(what, l:latents(),
      l.kind))
  end
end

--- gb.gp.svgp{kernel, inducing, likelihood | noise = 1, mean = zero, q = "full"|"diagonal"|"low_rank", rank = 10, whiten = true,
-- batch = 1024, select = "kmeans"|"greedy"|"random", learn = true, seed = 0, standardize}
-- Of several latent functions (softmax) all share kernel, mean and places, and each has a q of its own.
-- q: the covariance of the values at the places; whiten = false: q is of the values themselves. batch: rows of a step. The others
-- are those of gb.gp.sgpr and gb.gp.exact; places that are given are of the scaled inputs. Errors: option, shape, nan.
---@return gibbous.gp.svgp
return function(opts)
  local what <const> = "gb.gp.svgp"
  local o <const> = options.parse(opts, SPEC, what)
  check(o, what)
  local likelihood = o.likelihood
  if not likelihood then
    local noise <const> = o.noise or nil
    local is_vector <const> = not param.is(noise) and core.type(noise) == "tensor" and noise.ndim == 1
    likelihood = is_vector and likelihoods.fixed(noise) or likelihoods.gaussian(noise)
  end
  local scaled <const> = scaling.asked(o.standardize)
  if scaled and scaled.y and not likelihoods.is_gaussian(likelihood) then
    core.raise("option", what .. ": observations that are not Gaussian are not scaled: standardize = {x = true}")
  end
  local inducing <const> = places.of(o, what)
  return class.new{kernel = o.kernel:copy(), mean = means.of(o.mean or means.zero()):copy(), likelihood = likelihood:copy(),
    inducing = inducing, q = variational.new(inducing.count, o.q or "full", o.whiten ~= false, o.rank or RANK, o.seed or 0,
      latents_of(likelihood)),
    batch = o.batch or BATCH, solver = "svgp", standardize = scaled}
end

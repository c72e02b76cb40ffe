--- Many exact models of one make, each of data of its own, fitted in one call.
--
-- Every model is descended by itself, through the same starts and steps as gb.gp.exact alone, so its result has the same bits in a
-- batch of any size and order. What the batch shares is the planned step: models with as many rows run one plan, each with its own
-- values in the leaves (gp/batch/steps.lua), and nothing is built or planned again at a point.
local batch <const> = require "gibbous.gp.batch.batch"
local core <const> = require "gibbous.core"
local exact <const> = require "gibbous.gp.exact"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local rules <const> = require "gibbous.gp.rules"
local scaling <const> = require "gibbous.gp.scaling"

local WHAT <const> = "gb.gp.batch"

--- Raises where models could not have this part each for themselves: a network, which stays one, or noise that belongs to rows.
local function check_apart(template)
  local of <const> = {}
  for _, p in ipairs((param.collect(template))) do of[p] = true end
  local list <const>, names <const> = param.collect(model.copy(template))
  for i, p in ipairs(list) do
    if of[p] and not p.fixed then
      core.raise("option", ("%s: '%s' belongs to a network or a function, which all models would share: fit models of gb.gp.exact "
        .. "one by one"):format(WHAT, names[i]))
    end
  end
end

--- Raises for noise that is not one variance a model. v: the option, which gb.gp.exact checks later, or the likelihood.
local function check_noise(v)
  local kind <const> = likelihoods.is(v) and v.kind or "gaussian"
  if kind ~= "gaussian" then
    core.raise("option", ("%s: the noise is one variance a model, and this likelihood is '%s': fit models of gb.gp.exact one by "
      .. "one"):format(WHAT, kind))
  end
end

--- gb.gp.batch{kernel, mean = zero, noise = 1 | likelihood, standardize}: as gb.gp.exact takes them; every model gets a copy of
-- all, gb.params too. Errors: option.
---@return gibbous.gp.batch
return function(opts)
  local o <const> = options.parse(opts, {kernel = rules.kernel, mean = rules.mean, likelihood = "any", noise = "any",
    standardize = scaling.rule}, WHAT)
  if not o.kernel then core.raise("option", WHAT .. ": a kernel is needed: gb.gp.batch{kernel = gb.kernels.rbf{}}") end
  check_noise(o.likelihood)
  local template <const> = exact{kernel = o.kernel, mean = o.mean or nil, likelihood = o.likelihood or nil, noise = o.noise or nil,
    standardize = o.standardize or nil, solver = "direct"}
  check_noise(template.likelihood)
  check_apart(template)
  return batch.new(template)
end

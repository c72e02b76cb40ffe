--- The class of variational models of one latent function.
local bound <const> = require "gibbous.gp.sgpr.bound"
local condition <const> = require "gibbous.gp.svgp.condition"
local core <const> = require "gibbous.core"
local fit <const> = require "gibbous.gp.svgp.fit"
local leave_one_out <const> = require "gibbous.gp.report.leave_one_out"
local likelihood <const> = require "gibbous.gp.report.likelihood"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.laplace.observations"
local parameters <const> = require "gibbous.gp.parameters"
local plan <const> = require "gibbous.gp.fit.plan"
local posterior <const> = require "gibbous.gp.svgp.posterior"
local predict <const> = require "gibbous.gp.predict"
local save <const> = require "gibbous.gp.save"
local score <const> = require "gibbous.gp.report.score"
local sparse <const> = require "gibbous.gp.sparse"
local summary <const> = require "gibbous.gp.report.summary"
local whole <const> = require "gibbous.gp.svgp.whole"

---@class gibbous.gp.svgp
---@field kernel gibbous.kernel       the model's own copy; the fitted one after fit
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field inducing gibbous.places     m.inducing.points (m, d), a parameter
---@field q gibbous.variational       the posterior of the values there
---@field batch integer               rows of a step
---@field x gibbous.tensor|nil        (n, d)
---@field y gibbous.tensor|nil        (n)
---@field solver string               "svgp"
---@field info table|nil              of the last fit
---@field update table|nil            what it took to be ready for predictions (gp/update_record.lua)

local methods <const> = {copy = model.copy}

--- What the exact log marginal likelihood lies between at the present parameters and places, with Gaussian noise, whatever q is.
-- Cost: two passes over the rows, O(n m^2). Errors: option; not_pd.
---@return gibbous.bounds
function methods.bounds(self)
  local f <const> = model.fields(self)
  if f.x == nil then core.raise("option", "bounds: the model holds no data") end
  if not likelihoods.is_gaussian(f.likelihood) then
    core.raise("option", ("bounds: they are known with Gaussian noise; m:log_marginal_likelihood() is the ELBO of '%s'"):format(
      f.likelihood.kind))
  end
  return posterior.guarded(self, "bounds", function() return bound.between(self, whole.pass_bytes(self)) end)
end

local class

--- A model without data from the parts in a file.
local function read(r, parts, described)
  parts.inducing, parts.q = r:of(described.inducing, "gibbous.places"), r:of(described.q, "gibbous.variational")
  parts.batch = described.batch
  if math.type(parts.batch) ~= "integer" or parts.batch < 1 or parts.q.count ~= parts.inducing.count then
    r:fail "its q does not go with its inducing points"
  end
  return class.new(parts)
end

class = model.define{
  name = "gibbous.gp.svgp", maker = "gb.gp.svgp", what = "a variational model",
  public = {"kernel", "mean", "likelihood", "inducing", "q", "batch", "x", "y", "info", "solver",
    "update"}, parts = {"inducing", "q"},
  -- batch: rows of a step; budget: bytes of a fit, nil: what there is; search: of a fit on all rows (gp/svgp/all_rows.lua)
  settings = {"batch"}, fields = {"budget", "search"}, caches = {"budget", "search"},
  posterior = posterior, observations = observations, settle = sparse.settle, units = sparse.units,
  words = {"svgp"}, read = read,
  text = function(self)
    return summary.text(self, "gp.svgp  ", sparse.held(summary.points))
  end,
  methods = {parameters.methods, fit.methods, plan.methods, predict.methods, condition.methods, score.methods,
    leave_one_out.methods, likelihood.methods, save.methods, summary.methods, methods},
}

return class

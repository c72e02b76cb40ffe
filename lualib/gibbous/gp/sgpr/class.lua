--- The class of sparse models of one output with Gaussian noise.
local bound <const> = require "gibbous.gp.sgpr.bound"
local condition <const> = require "gibbous.gp.sgpr.condition"
local core <const> = require "gibbous.core"
local fit <const> = require "gibbous.gp.fit"
local leave_one_out <const> = require "gibbous.gp.report.leave_one_out"
local likelihood <const> = require "gibbous.gp.report.likelihood"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.observations"
local parameters <const> = require "gibbous.gp.parameters"
local plan <const> = require "gibbous.gp.fit.plan"
local posterior <const> = require "gibbous.gp.sgpr.posterior"
local predict <const> = require "gibbous.gp.predict"
local save <const> = require "gibbous.gp.save"
local score <const> = require "gibbous.gp.report.score"
local sparse <const> = require "gibbous.gp.sparse"
local summary <const> = require "gibbous.gp.report.summary"

---@class gibbous.gp.sgpr
---@field kernel gibbous.kernel       the model's own copy; the fitted one after fit
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field inducing gibbous.places     m.inducing.points (m, d), a parameter
---@field x gibbous.tensor|nil        (n, d)
---@field y gibbous.tensor|nil        (n)
---@field solver string              the bound: "vfe" or "fitc"
---@field info table|nil              of the last fit
---@field update table|nil            what it took to be ready for predictions (gp/update_record.lua)

local methods <const> = {copy = model.copy}

--- What the exact log marginal likelihood lies between at the present parameters: lower, the collapsed bound, upper, gap and
-- gap_per_point, in nats. Cost: two passes over the rows, O(n m^2). Errors: option; not_pd.
---@return gibbous.bounds
function methods.bounds(self)
  local f <const> = model.fields(self)
  if f.x == nil then core.raise("option", "bounds: the model holds no data") end
  return posterior.guarded(self, "bounds", function() return bound.between(self, f.budget) end)
end

local class

--- A model without data from the parts in a file.
local function read(r, parts, described)
  parts.inducing = r:of(described.inducing, "gibbous.places")
  return class.new(parts)
end

class = model.define{
  name = "gibbous.gp.sgpr", maker = "gb.gp.sgpr", what = "a sparse model",
  public = {"kernel", "mean", "likelihood", "inducing", "x", "y", "info", "solver", "update"}, parts = {"inducing"},
  -- budget: bytes of a fit, nil: what there is
  fields = {"budget"}, caches = {"budget"},
  posterior = posterior, observations = observations.single, settle = sparse.settle, units = sparse.units,
  words = {"vfe", "fitc"}, read = read,
  text = function(self)
    return summary.text(self, ("gp.sgpr  %s, "):format(model.fields(self).solver), sparse.held(summary.points))
  end,
  methods = {parameters.methods, fit.methods, plan.methods, predict.methods, condition.methods, score.methods,
    leave_one_out.methods, likelihood.methods, save.methods, summary.methods, methods},
}

return class

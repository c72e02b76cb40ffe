--- The class of classifiers: models by Laplace's approximation (gp/laplace/class.lua) or with inducing points (gp/svgp/class.lua)
-- whose observations are labels.
local by_laplace <const> = require "gibbous.gp.laplace.condition"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.counted"
local fit <const> = require "gibbous.gp.classifier.fit"
local leave_one_out <const> = require "gibbous.gp.report.leave_one_out"
local likelihood <const> = require "gibbous.gp.report.likelihood"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.classifier.observations"
local parameters <const> = require "gibbous.gp.parameters"
local plan <const> = require "gibbous.gp.fit.plan"
local posterior <const> = require "gibbous.gp.laplace.posterior"
local predict <const> = require "gibbous.gp.predict"
local save <const> = require "gibbous.gp.save"
local score <const> = require "gibbous.gp.report.score"
local sparse <const> = require "gibbous.gp.sparse"
local summary <const> = require "gibbous.gp.report.summary"
local variational_posterior <const> = require "gibbous.gp.svgp.posterior"

---@class gibbous.gp.classifier
---@field kernel gibbous.kernel   the model's own copy; the fitted one after fit
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood  bernoulli, or softmax of more classes than two
---@field inducing gibbous.places|nil  where the last fit was by inducing points; q, batch: as of gb.gp.svgp
---@field classes table|nil       the labels, in the order of probabilities; nil before they are known
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n) numbers of classes as the likelihood takes them
---@field solver string|table     as given
---@field info table|nil          of the last fit
---@field update table|nil        what it took to be ready for predictions (gp/update_record.lua)

local class

--- A model without data from the parts in a file.
local function read(r, parts, described)
  parts.classes, parts.asked = r:value(described.classes), r:value(described.asked)
  parts.inference, parts.most = described.inference or "auto", described.most
  local known <const> = parts.inference == "auto" or parts.inference == "laplace" or parts.inference == "svgp"
  if not known or parts.most ~= nil and math.type(parts.most) ~= "integer" then r:fail "its inference makes no sense" end
  if described.q ~= nil then
    parts.inducing, parts.q = r:of(described.inducing, "gibbous.places"), r:of(described.q, "gibbous.variational")
    parts.batch = described.batch
    if math.type(parts.batch) ~= "integer" or parts.batch < 1 or parts.q.count ~= parts.inducing.count then
      r:fail "its q does not go with its inducing points"
    end
  end
  return class.new(parts)
end

local methods <const> = {copy = model.copy}

--- A new model that has also seen x (k, d) or (k) with labels y (k), by Laplace's approximation (gp/laplace/condition.lua); by
-- inducing points there is no closed form of it. Errors: option, shape, dtype, nan.
function methods.condition(self, x, y, o)
  if model.fields(self).q then
    core.raise("option", "condition: with inducing points there is no closed form of one more row of labels; fit the model to all "
      .. "rows, or make it with inference = \"laplace\"")
  end
  return by_laplace.methods.condition(self, x, y, o)
end

class = model.define{
  name = "gibbous.gp.classifier", maker = "gb.gp.classifier", what = "a classifier",
  public = {"kernel", "mean", "likelihood", "classes", "inducing", "q", "batch", "x", "y", "info", "solver", "update"},
  -- inference: "auto", "laplace" or "svgp", as asked for; most: inducing points that were; inducing, q, batch: of a fit by these
  fields = {"classes", "asked", "budget", "search"}, parts = {"inducing", "q"}, settings = {"batch", "inference", "most"},
  caches = {"budget", "search"},
  read = read, words = {"svgp"},
  posterior = posterior, observations = observations,
  other = function(f) return f.q and variational_posterior end,
  settle = function(self)
    if model.fields(self).inducing then sparse.settle(self) end
  end,
  units = function(self) return model.fields(self).inducing and sparse.units(self) or {} end,
  text = function(self)
    return summary.text(self, "gp.classifier  ", function(f)
      return ("%s, %s%s"):format(summary.points(f), counted(#f.classes, "class", "classes"),
        f.inducing and "; " .. tostring(f.inducing) or "")
    end)
  end,
  methods = {parameters.methods, fit.methods, plan.methods, predict.methods, score.methods,
    leave_one_out.methods, likelihood.methods, save.methods, summary.methods, methods},
}

return class

--- The class of classifiers: models by Laplace's approximation (gp/laplace/class.lua) whose observations are labels.
local condition <const> = require "gibbous.gp.laplace.condition"
local counted <const> = require "gibbous.counted"
local fit <const> = require "gibbous.gp.fit"
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
local summary <const> = require "gibbous.gp.report.summary"

---@class gibbous.gp.classifier
---@field kernel gibbous.kernel   the model's own copy; the fitted one after fit
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood  bernoulli, or softmax of more classes than two
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
  return class.new(parts)
end

class = model.define{
  name = "gibbous.gp.classifier", maker = "gb.gp.classifier", what = "a classifier",
  public = {"kernel", "mean", "likelihood", "classes", "x", "y", "info", "solver", "update"},
  fields = {"classes", "asked"}, read = read,
  posterior = posterior, observations = observations,
  text = function(self)
    return summary.text(self, "gp.classifier  ", function(f)
      return ("%s, %s"):format(summary.points(f), counted(#f.classes, "class", "classes"))
    end)
  end,
  methods = {parameters.methods, fit.methods, plan.methods, predict.methods, condition.methods, score.methods,
    leave_one_out.methods, likelihood.methods, save.methods, summary.methods, {copy = model.copy}},
}

return class

--- The class of models by Laplace's approximation, of one latent function.
local condition <const> = require "gibbous.gp.laplace.condition"
local fit <const> = require "gibbous.gp.fit"
local leave_one_out <const> = require "gibbous.gp.report.leave_one_out"
local likelihood <const> = require "gibbous.gp.report.likelihood"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.laplace.observations"
local parameters <const> = require "gibbous.gp.parameters"
local plan <const> = require "gibbous.gp.fit.plan"
local posterior <const> = require "gibbous.gp.laplace.posterior"
local predict <const> = require "gibbous.gp.predict"
local save <const> = require "gibbous.gp.save"
local score <const> = require "gibbous.gp.report.score"
local summary <const> = require "gibbous.gp.report.summary"

---@class gibbous.gp.laplace
---@field kernel gibbous.kernel   the model's own copy; the fitted one after fit
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n)
---@field solver string|table     as given
---@field info table|nil          of the last fit
---@field update table|nil        what it took to be ready for predictions (gp/update_record.lua)

return model.define{
  name = "gibbous.gp.laplace", maker = "gb.gp.laplace", what = "a model",
  public = {"kernel", "mean", "likelihood", "x", "y", "info", "solver", "update"},
  posterior = posterior, observations = observations,
  text = function(self) return summary.text(self, "gp.laplace  ", summary.points) end,
  methods = {parameters.methods, fit.methods, plan.methods, predict.methods, condition.methods, score.methods,
    leave_one_out.methods, likelihood.methods, save.methods, summary.methods, {copy = model.copy}},
}

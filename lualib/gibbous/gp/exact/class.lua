--- The class of exact models of one output.
local condition <const> = require "gibbous.gp.exact.condition"
local fit <const> = require "gibbous.gp.fit"
local leave_one_out <const> = require "gibbous.gp.report.leave_one_out"
local likelihood <const> = require "gibbous.gp.report.likelihood"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.observations"
local parameters <const> = require "gibbous.gp.parameters"
local plan <const> = require "gibbous.gp.fit.plan"
local posterior <const> = require "gibbous.gp.exact.posterior"
local predict <const> = require "gibbous.gp.predict"
local save <const> = require "gibbous.gp.save"
local score <const> = require "gibbous.gp.report.score"
local summary <const> = require "gibbous.gp.report.summary"

---@class gibbous.gp.exact
---@field kernel gibbous.kernel   the model's own copy; the fitted one after fit
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n)
---@field solver string|table     as given: "auto", "direct" or a gb.solvers value
---@field info table|nil          of the last fit
---@field update table|nil        what it took to be ready for predictions (gp/update_record.lua)

return model.define{
  name = "gibbous.gp.exact", maker = "gb.gp.exact", what = "a model", implied = true,
  public = {"kernel", "mean", "likelihood", "x", "y", "info", "solver", "update"},
  -- twin: the model in f64 that computes the predictions of f32 data; bound: by which it is chosen; owner: fields of whose twin
  -- it is (gp/exact/precision_twin.lua). grid: the data of Kronecker structure (gp/tasks/kronecker.lua)
  fields = {"owner", "grid"}, caches = {"twin", "bound"},
  posterior = posterior, observations = observations.single,
  text = function(self) return summary.text(self, "gp.exact  ", summary.points) end,
  methods = {parameters.methods, fit.methods, plan.methods, predict.methods, condition.methods, score.methods,
    leave_one_out.methods, likelihood.methods, save.methods, summary.methods, {copy = model.copy}},
}

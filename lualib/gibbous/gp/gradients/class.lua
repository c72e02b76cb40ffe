--- The class of exact models whose data are values and partial derivatives of f. Such a model presents an exact model, 'inner',
-- whose rows are cells of y, and whose kernel is that of f and its derivatives (kernels/gradients.lua).
local condition <const> = require "gibbous.gp.gradients.condition"
local counted <const> = require "gibbous.base.counted"
local exact <const> = require "gibbous.gp.exact.class"
local fit <const> = require "gibbous.gp.fit"
local gradients <const> = require "gibbous.kernels.gradients"
local leave_one_out <const> = require "gibbous.gp.report.leave_one_out"
local likelihood <const> = require "gibbous.gp.report.likelihood"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.gradients.observations"
local parameters <const> = require "gibbous.gp.parameters"
local plan <const> = require "gibbous.gp.fit.plan"
local predict <const> = require "gibbous.gp.predict"
local remove <const> = require "gibbous.gp.remove"
local save <const> = require "gibbous.gp.save"
local score <const> = require "gibbous.gp.tasks.score"
local summary <const> = require "gibbous.gp.report.summary"
local with_gradients <const> = require "gibbous.gp.gradients.mean"

---@class gibbous.gp.gradients
---@field kernel gibbous.kernel   of f
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood   noise, of values, and gradient_noise, of derivatives
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n, 1 + d): f, then its derivative by each column of x; NaN where missing
---@field solver string|table     as given
---@field info table|nil          of the last fit
---@field update table|nil        what it took to be ready for predictions (gp/update_record.lua); its rows are cells

local function held_text(f)
  local known <const> = observations.count(f.y)
  local values <const> = observations.count(f.y:slice(2, 1, 1))
  return ("%s, %s, %s, %s, %s"):format(counted(#f.x, "point"), counted(f.x.shape[2], "column"), counted(values, "value"),
    counted(known - values, "derivative"), f.x.dtype)
end

local class

--- A model of these parts {kernel, mean, likelihood, solver}, which it then owns, without data.
local function of_parts(known)
  known.kernel, known.mean = gradients.of(known.kernel, "gb.gp.exact"), with_gradients(known.mean)
  return class.new{inner = exact.new(known), solver = known.solver}
end

--- A model without data from the parts in a file.
local function read(r, known)
  if known.likelihood.kind ~= "gradients" then r:fail "its noise is not one of gradients" end
  if known.standardize then r:fail "a model of gradients scales no data" end
  known.standardize = nil
  return of_parts(known)
end

class = model.define{
  name = "gibbous.gp.gradients", maker = "gb.gp.exact", what = "a model of gradients",
  public = {"x", "y", "solver"}, inherited = {"kernel", "mean", "likelihood", "info", "update"},
  observations = observations, read = read,
  text = function(self) return summary.text(self, "gp.exact  ", held_text) end,
  methods = {parameters.methods, fit.methods, plan.methods, predict.methods, condition.methods, remove.methods, score.methods,
    leave_one_out.methods, likelihood.methods, save.methods, summary.methods, {copy = model.copy}},
}

return {of_parts = of_parts}

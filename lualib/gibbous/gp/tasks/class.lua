--- The class of models of several outputs. Such a model presents an exact model in the long form, 'inner', which has the
-- parameters; the inner model's posterior is that of Kronecker structure, and its 'grid' {x, y, tasks} is there, exactly where
-- the data are solved so.
local condition <const> = require "gibbous.gp.tasks.condition"
local counted <const> = require "gibbous.base.counted"
local exact <const> = require "gibbous.gp.exact.class"
local fit <const> = require "gibbous.gp.fit"
local leave_one_out <const> = require "gibbous.gp.report.leave_one_out"
local likelihood <const> = require "gibbous.gp.report.likelihood"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.tasks.observations"
local parameters <const> = require "gibbous.gp.parameters"
local parts <const> = require "gibbous.gp.tasks.parts"
local plan <const> = require "gibbous.gp.fit.plan"
local predict <const> = require "gibbous.gp.predict"
local remove <const> = require "gibbous.gp.remove"
local save <const> = require "gibbous.gp.save"
local score <const> = require "gibbous.gp.tasks.score"
local summary <const> = require "gibbous.gp.report.summary"

---@class gibbous.gp.multitask
---@field kernel gibbous.kernel   of points and tasks; m.kernel.tasks is the index kernel, m.kernel.tasks:matrix() is B;
--                               of a sum m.kernel[1].tasks
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field tasks integer           T
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n, T), NaN where missing
---@field solver string|table     as given: "auto", "direct", "kronecker" or a gb.solvers value
---@field info table|nil          of the last fit
---@field update table|nil        what it took to be ready for predictions (gp/update_record.lua); its rows are cells

local function held_text(f)
  return ("%s, %s, %d of %s, %s"):format(counted(#f.x, "point"), counted(f.x.shape[2], "column"),
    observations.count(f.y), counted(f.y.numel, "value"), f.x.dtype)
end

local class

--- A model of these parts {kernel, mean, likelihood, ...}, which it then owns, without data.
local function of_parts(known, T, solver, standardize)
  known.solver, known.of_tasks = solver, T
  return class.new{inner = exact.new(known), tasks = T, solver = solver, standardize = standardize}
end

--- A model without data from the parts in a file, which must be those of 'tasks' outputs.
local function read(r, known, described)
  local T <const>, l <const> = described.tasks, known.likelihood
  if math.type(T) ~= "integer" or not parts.is_of_tasks(known.kernel, T) then r:fail "its kernel is not one of its tasks" end
  if l.kind ~= "gaussian" and not (l.kind == "tasks" and l.noise.numel == T) then r:fail "its noise is not one of its tasks" end
  known.mean = parts.mean(known.mean, T)
  local standardize <const> = known.standardize
  known.standardize = nil
  return of_parts(known, T, known.solver, standardize)
end

class = model.define{
  name = "gibbous.gp.multitask", maker = "gb.gp.multitask", what = "a model of several outputs", implied = true,
  public = {"x", "y", "tasks", "solver"}, inherited = {"kernel", "mean", "likelihood", "info", "update"},
  observations = observations, words = {"kronecker"}, read = read,
  text = function(self)
    return summary.text(self, ("gp.multitask  %s, "):format(counted(model.fields(self).tasks, "task")), held_text)
  end,
  methods = {parameters.methods, fit.methods, plan.methods, predict.methods, condition.methods, remove.methods, score.methods,
    leave_one_out.methods, likelihood.methods, save.methods, summary.methods, {copy = model.copy}},
}

return {of_parts = of_parts}

--- What a classifier says about new points: a record of latent functions, with the most likely class by its label.
local core <const> = require "gibbous.core"
local labels <const> = require "gibbous.gp.classifier.labels"
local object <const> = require "gibbous.base.object"

---@class gibbous.class_prediction
---@field probabilities gibbous.tensor  (m, C), a column a class, in the order of 'classes'
---@field class table|gibbous.tensor    (m) the most likely class: a list of strings, or a tensor (i64) of numbers
---@field classes table                 the labels
---@field mean gibbous.tensor           of the latent function (m), of more than two classes (m, C); f_var likewise
local Record <const> = {__name = "gibbous.class_prediction"}
local methods <const> = object.methods(Record, "a prediction", "p")

local function box(self) return rawget(self, "_box") end

--- Bounds (lo, hi) that hold the latent function with probability 'level' (0.95).
function methods.interval(self, level) return box(self).own:interval(level, {of = "f"}) end

--- The log probability of each label of y (m): nats.
function methods.log_density(self, y)
  local b <const> = box(self)
  local numbers <const> = labels.numbers(labels.list(y, "log_density"), b.classes, "log_density")
  local p <const> = self.probabilities
  return b.own:log_density(core.tensor(numbers, {dtype = p.dtype}) - (#b.classes == 2 and 1 or 0))
end

local derived <const> = {}

function derived.class(b, self)
  local p <const> = self.probabilities
  local at <const>, good <const> = p:argmax(2), p:eq(p):all(2)
  core.eval(at, good)
  if not good:all() then
    core.raise("nan", ("class: point %d is not finite, and has no class: its probabilities are NaN"):format(
      good:to{dtype = "f32"}:argmin():item()))
  end
  local list <const> = {}
  for i, c in ipairs(at:totable()) do list[i] = b.classes[c] end
  if type(b.classes[1]) == "string" then return list end
  return #list > 0 and core.tensor(list, {dtype = "i64"}) or core.zeros(0, {dtype = "i64"})
end

function derived.classes(b) return table.move(b.classes, 1, #b.classes, 1, {}) end

local passed <const> = {mean = true, f_var = true, f_cov = true, probabilities = true, info = true, converged = true}

function Record.__index(self, key)
  if methods[key] then return methods[key] end
  local b <const> = box(self)
  if derived[key] then
    local v <const> = derived[key](b, self)
    rawset(self, key, v)
    return v
  end
  if passed[key] then return b.own[key] end
  object.no_field("a prediction of classes", key, passed, derived, methods)
end

function Record.__newindex(_, key)
  core.raise("option", ("a prediction is a value; '%s' cannot be assigned"):format(tostring(key)))
end

function Record.__tostring(self)
  local b <const> = box(self)
  return ("%s of %d classes: .probabilities .class .classes .mean .f_var .info :log_density(y)"):format(
    tostring(b.own):match "^prediction at [^:]*", #b.classes)
end

return {
  --- own: a prediction of latent functions; classes: the labels.
  new = function(own, classes) return setmetatable({_box = {own = own, classes = classes}}, Record) end,
  --- The prediction of latent functions behind one of classes.
  coded = function(self) return box(self).own end,
}

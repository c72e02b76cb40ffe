--- The form of observations (gp/observations.lua) of classifiers: y (n) are labels; the model holds the numbers of their classes as
-- its likelihood takes them. A fit takes the classes from its data, unless they were given.
local core <const> = require "gibbous.core"
local column <const> = require "gibbous.frame.column"
local frame <const> = require "gibbous.frame"
local labels <const> = require "gibbous.gp.classifier.labels"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local named <const> = require "gibbous.frame.named"
local prediction <const> = require "gibbous.gp.classifier.prediction"
local shallow_copy <const> = require "gibbous.base.shallow_copy"
local single <const> = require "gibbous.gp.observations".single

local form <const> = shallow_copy(single)

local learns <const> = {fit = true, plan = true}               -- calls whose data say what the classes are

local found <const> = setmetatable({}, {__mode = "k"})          -- by y: the classes of its labels

--- The likelihood of so many classes: of the model's own kind where it has that.
local function likelihood_of(l, count)
  if count == 2 then return l.kind == "bernoulli" and l or likelihoods.bernoulli() end
  return l.kind == "softmax" and l.classes == count and l or likelihoods.softmax{classes = count}
end
form.likelihood_of = likelihood_of

function form.check(self, x, y, what, missing)
  local f <const>, list <const> = model.fields(self), labels.list(y, what)
  local classes <const> = f.asked or learns[what] and labels.classes(list, what) or f.classes
  if classes == nil then core.raise("option", what .. ": the model does not know its classes yet: fit it, or give classes") end
  local numbers <const> = labels.numbers(list, classes, what)
  local inputs <const> = core.as_tensor(x)
  local least <const> = #classes == 2 and 1 or 0
  for i, c in ipairs(numbers) do numbers[i] = c - least end
  local like <const> = {dtype = inputs and inputs.dtype == "f32" and "f32" or "f64"}
  local t <const> = #numbers > 0 and core.tensor(numbers, like) or core.zeros(0, like)
  local xs <const>, ys <const>, kept <const> = single.check(self, x, t, what, missing)
  found[ys] = classes
  return xs, ys, kept
end

--- The classes of labels y that 'check' gave.
function form.classes_of(y) return found[y] end

function form.fill(self, x, y, what)
  local f <const> = model.fields(self)
  f.classes = found[y] or f.classes
  f.likelihood = likelihood_of(f.likelihood, #f.classes)
  return single.fill(self, x, y, what)
end

function form.outputs(self, record)
  local f <const> = model.fields(self)
  if f.classes == nil then core.raise("option", "predict: the model does not know its classes yet: fit it, or give classes") end
  return prediction.new(record, f.classes)
end

--- The record of numbers behind a prediction.
form.coded = prediction.coded

--- A column of a frame as labels.
function form.target(f, name, what)
  local c <const> = frame.column(f, name)
  local v <const> = column.seen(c)
  return named.note(labels.list(v, what), {name})
end

return form

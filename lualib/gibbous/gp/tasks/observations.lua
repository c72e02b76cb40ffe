--- The form of observations of several outputs (gp/observations.lua): y (n, T), a row for each point. The model that computes has
-- the long form: a row for each cell of y that has a value, with the task as a last column of the inputs (gp/tasks/parts.lua).
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.data"
local kernels <const> = require "gibbous.kernels"
local kronecker <const> = require "gibbous.gp.tasks.posterior"
local model <const> = require "gibbous.gp.model"
local named <const> = require "gibbous.frame.named"
local parts <const> = require "gibbous.gp.tasks.parts"
local task_prediction <const> = require "gibbous.gp.tasks.prediction"

local M <const> = {nothing = "there are no values", axes = 2, width = "tasks"}

local function isnan(t) return ~t:eq(t) end

local function count(mask) return math.tointeger(mask:to{dtype = "f64"}:sum():item()) end

--- How many cells of y have a value.
function M.count(y) return y.numel - count(isnan(y)) end

-- Data ----------------------------------------------------------------------------------------------------------------

--- The first cell of a mask (n, T) that is true.
local function first(mask)
  local at <const> = mask:to{dtype = "f32"}:reshape(-1):argmax():item() - 1
  return at // mask.shape[2] + 1, at % mask.shape[2] + 1
end

--- told(column): what a column of y is called in messages.
local function refuse(mask, what, kind, hint, told)
  local row <const>, column <const> = first(mask)
  local number <const> = count(mask)
  core.raise("nan", ("%s: y is %s in %s, the first in row %d, %s%s"):format(what, kind, counted(number, "cell"),
    row, told(column), hint or ""), {row = row, column = column, count = number})
end

--- x (n, d) or (n), finite, and y (n, T) of one float dtype, finite except for cells that are NaN if missing is "mask". columns:
-- what they are, in messages; T(x): their number, for x (n, d); told: as of refuse.
function M.check_cells(x, y, T, what, missing, columns, told)
  local t <const> = data.observations(y, what)
  local inputs <const> = x
  x = kernels.points(x, what .. ": x")
  data.check_home(what, x, t)
  local width <const> = T(x)
  if t.ndim ~= 2 or #t ~= #x or t.shape[2] ~= width then
    core.raise("shape", ("%s: x has %s, y must be (%d, %d), %s, got shape %s beside x %s"):format(what,
      counted(#x, "row"), #x, width, columns, core.told(t), core.told(inputs)))
  end
  if t.dtype ~= x.dtype then data.refuse_dtypes(x, t, what) end
  x = data.check(named.carry(inputs, x), core.zeros(#x, {dtype = x.dtype}), what)
  if #x == 0 then return x:eval(), t:eval() end
  local absent <const> = isnan(t)
  if missing ~= "mask" and absent:any() then
    refuse(absent, what, "NaN", '; missing = "mask" leaves such cells out', told)
  end
  local infinite <const> = ~(t:isfinite() | absent)
  if infinite:any() then refuse(infinite, what, "infinite", nil, told) end
  return x:eval(), t:eval()
end

function M.check(self, x, y, what, missing)
  local T <const> = model.fields(self).tasks
  return M.check_cells(x, y, function() return T end, what, missing, "a column a task", function(task)
    local names <const> = named.of(y)
    return "task " .. (names and ("'%s'"):format(names[task]) or task)
  end)
end

--- The long form of all cells: x (n T, d + 1), and y (n T), NaN where there is no value.
function M.long(x, y) return parts.every(x, y.shape[2]), y:reshape(y.numel) end

--- Takes checked data over and chooses the posterior of the inner model: with Kronecker structure where every cell has a value,
-- the kernel is one product, and the solver allows it, else that of exact models. The inner model has yet to get the long form.
-- Errors: option.
function M.take(self, x, y, what)
  local f <const> = model.fields(self)
  local inside <const>, known <const> = model.fields(f.inner), M.count(y)
  local complete <const> = known == y.numel
  if f.solver == "kronecker" and not complete then
    core.raise("option", ('%s: solver = "kronecker" needs a value in every cell, %d of %d have one'):format(what, known, y.numel))
  end
  f.x, f.y = x, y
  inside.points = x
  local allowed <const> = inside.kernel.kind == "product" and (f.solver == "auto" or f.solver == "kronecker")
  local structured <const> = complete and #x > 0 and allowed
  inside.grid = structured and {x = x, y = y, tasks = f.tasks} or nil
  inside.posterior = structured and kronecker or nil
  inside.solver = structured and "kronecker" or f.solver
end

function M.fill(self, x, y, what)
  M.take(self, x, y, what)
  local all <const>, values <const> = M.long(x, y)
  local rows <const>, known <const> = data.check(all, values, what, "mask")
  model.set_data(model.core(self), rows, known)
end

--- May y have this width, for inputs x?
function M.fits(self, _, y) return y.shape[2] == model.fields(self).tasks end

-- Predictions ---------------------------------------------------------------------------------------------------------

function M.inputs(self, t) return parts.every(t, model.fields(self).tasks) end

function M.outputs(self, record, t) return task_prediction(record, #t, model.fields(self).tasks) end

function M.drawn(self, v, m) return v:reshape(v.shape[1], m, model.fields(self).tasks) end

--- v (N) of the cells that have a value, or (n, T), as (n, T); NaN in cells without one.
function M.weights(self, v)
  local y <const> = model.fields(self).y
  if v.ndim == 2 then return v end
  local at <const>, next = {}, 0
  for i, here in ipairs(y:eq(y):reshape(y.numel):totable()) do
    if here then next = next + 1 end
    at[i] = here and next or #v + 1
  end
  return core.cat({v, core.full({1}, 0 / 0, {dtype = v.dtype})}, 1):index(1, core.tensor(at, {dtype = "i64"})):reshape(y.shape)
end

return M

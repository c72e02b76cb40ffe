--- The model of several outputs as a value: its fields, and the data it takes. It holds an exact model, 'inner', in the long form:
-- a row for each cell of y (n, T) that has a value, with the task as a last column (gp/tasks/parts.lua). gp/tasks/init.lua and
-- gp/store.lua add the methods.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local kernels <const> = require "gibbous.kernels"
local kronecker <const> = require "gibbous.gp.tasks.kronecker"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.object"
local parts <const> = require "gibbous.gp.tasks.parts"

---@class gibbous.gp.multitask
---@field kernel gibbous.kernel   of points and tasks; m.kernel.tasks is the index kernel, m.kernel.tasks:matrix() is B
---@field mean gibbous.mean
---@field likelihood gibbous.likelihood
---@field tasks integer           T
---@field x gibbous.tensor|nil    (n, d)
---@field y gibbous.tensor|nil    (n, T), NaN where missing
---@field solver string|table     as given: "auto", "direct", "kronecker" or a gb.solvers value
---@field info table|nil          of the last fit
---@field update table|nil        what it took to be ready for predictions (gp/update_record.lua); its rows are cells
local Model <const> = {__name = "gibbous.gp.multitask"}

local M <const> = {methods = object.methods(Model, "a model", "m")}
local methods <const> = M.methods
local of_inner <const> = {kernel = true, mean = true, likelihood = true, info = true, update = true}
local own <const> = {x = true, y = true, tasks = true, solver = true}

--- What such a model holds: tasks solver x y, absent as an exact model does, and inner, which has the parameters; inner's solver
-- is "kronecker", and its 'grid' {x, y, tasks, nlml, state} is there, exactly where the data are solved so (gp/tasks/kronecker.lua).
M.fields = model.fields

--- A model of the given fields, which it then owns.
function M.of_fields(f) return setmetatable({_fields = f}, Model) end

--- A model without data of these parts {kernel, mean, likelihood}, which it then owns.
function M.new(of, T, solver)
  of.solver, of.of_tasks = solver, T
  return M.of_fields{inner = model.new(of), tasks = T, solver = solver}
end

function Model.__index(self, key)
  local f <const> = M.fields(self)
  if methods[key] then
    model.check_present(f, key)
    return methods[key]
  end
  if own[key] then return f[key] end
  if of_inner[key] then return f.inner[key] end
  object.no_field("a model of several outputs", key, methods, own, of_inner)
end

function Model.__newindex(self, key) model.refuse_assignment(self, "gb.gp.multitask", key) end

function Model.__children(self)
  local inner <const> = M.fields(self).inner
  return getmetatable(inner).__children(inner)
end

local function isnan(t) return ~t:eq(t) end

local function count(mask) return math.tointeger(mask:to{dtype = "f64"}:sum():item()) end

--- How many cells of y have a value.
function M.known(y) return y.numel - count(isnan(y)) end

function Model.__tostring(self)
  local f <const> = M.fields(self)
  local held = "no data: the prior"
  if f.x then
    held = ("%d points, %d columns, %d of %d values, %s"):format(#f.x, f.x.shape[2], M.known(f.y), f.y.numel, f.x.dtype)
  end
  return ("gp.multitask  %d tasks, %s\n%s"):format(f.tasks, held, tostring(f.inner):match "\n(.*)$")
end

-- Data ----------------------------------------------------------------------------------------------------------------

--- The first cell of a mask (n, T) that is true.
local function first(mask)
  local at <const> = mask:to{dtype = "f32"}:reshape(-1):argmax():item() - 1
  return at // mask.shape[2] + 1, at % mask.shape[2] + 1
end

local function refuse(mask, what, kind, hint)
  local row <const>, task <const> = first(mask)
  local number <const> = count(mask)
  core.raise("nan", ("%s: y is %s in %d cell%s, the first in row %d, task %d%s"):format(what, kind, number,
    number == 1 and "" or "s", row, task, hint or ""), {row = row, column = task, count = number})
end

--- x (n, d) or (n), finite, and y (n, T), finite but for cells that are NaN where missing is "mask", of one float dtype.
function M.check(self, x, y, what, missing)
  local f <const> = M.fields(self)
  local t <const> = data.observations(y, what)
  x = kernels.points(x, what .. ": x")
  if t.ndim ~= 2 or #t ~= #x or t.shape[2] ~= f.tasks then
    core.raise("shape", ("%s: x has %d rows, y must be (%d, %d), a column a task, got shape %s"):format(what, #x, #x,
      f.tasks, tostring(t.shape)))
  end
  if t.dtype ~= x.dtype then data.refuse_dtypes(x, t, what) end
  x = data.check(x, core.zeros(#x, {dtype = x.dtype}), what)
  if #x == 0 then return x:eval(), t:eval() end
  local absent <const> = isnan(t)
  if missing ~= "mask" and absent:any() then
    refuse(absent, what, "NaN", '; missing = "mask" leaves such cells out')
  end
  local infinite <const> = ~(t:isfinite() | absent)
  if infinite:any() then refuse(infinite, what, "infinite", nil) end
  return x:eval(), t:eval()
end

--- Takes checked data over and decides how they are solved; inner has yet to get their long form.
function M.take(self, x, y, what)
  local f <const> = M.fields(self)
  local inside <const> = model.fields(f.inner)
  local known <const> = M.known(y)
  local complete <const> = known == y.numel
  if f.solver == "kronecker" and not complete then
    core.raise("option", ('%s: solver = "kronecker" needs a value in every cell, %d of %d have one'):format(what, known, y.numel))
  end
  f.x, f.y = x, y
  inside.points = x
  local kron <const> = complete and #x > 0 and (f.solver == "auto" or f.solver == "kronecker")
  inside.grid = kron and {x = x, y = y, tasks = f.tasks, nlml = kronecker.nlml} or nil
  inside.solver = kron and "kronecker" or f.solver
end

--- The long form of all cells: x (n T, d + 1), and y (n T), NaN where there is no value.
function M.long(x, y) return parts.every(x, y.shape[2]), y:reshape(y.numel) end

--- Gives inner the long form of the data that were taken.
function M.fill(self, what)
  local f <const> = M.fields(self)
  local all <const>, values <const> = M.long(f.x, f.y)
  local kept <const>, known <const> = data.check(all, values, what, "mask")
  model.set_data(f.inner, kept, known)
end

return M

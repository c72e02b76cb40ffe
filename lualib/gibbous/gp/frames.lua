--- Data of frames for models: columns by name, in any order. A model remembers what the columns of its data are called, in field
-- 'names': {x = list, y = list, left = list}, of inputs, targets, and columns of the frame that it was fitted to without them; nil
-- where they have none.
local column <const> = require "gibbous.frame.column"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.data"
local frame <const> = require "gibbous.frame"
local kernels <const> = require "gibbous.kernels"
local model <const> = require "gibbous.gp.model"
local named <const> = require "gibbous.frame.named"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"

local M <const> = {}

M.is = frame.is

local function set_of(list)
  local out <const> = {}
  for _, name in ipairs(list or {}) do out[name] = true end
  return out
end

local function near(name, list)
  local one <const> = options.nearest(name, set_of(list))
  return one and (", did you mean '%s'?"):format(one) or ""
end

-- Columns as numbers --------------------------------------------------------------------------------------------------------------

local EXACT <const> = 2.0 ^ 53                                -- integers up to here are f64

--- What would make numbers of a column.
local remedies <const> = {
  text = 'it holds text: f:encode "%s" gives its categories as numbers and f:one_hot "%s" as columns of 0 and 1, which '
    .. 'f:with{...} puts in',
  date = 'it holds dates: f:with{days = f:col "%s" / 86400} has days since 1970 instead',
}

--- A column as numbers (n) of a dtype. role: "input" or "target". Raises where its file has a mistake in it, with the line.
local function numbers(f, name, dtype, role, what)
  local c <const> = frame.column(f, name)
  if c.fault then c.fault() end
  local kind <const> = column.kind(c)
  if not column.is_number(c) then
    local v <const> = remedies[kind] or "it holds no numbers"
    local out <const> = role == "input" and "; inputs = {...} can leave it out" or ""
    core.raise("format", ("%s: column '%s' cannot be %s: %s%s"):format(what, c.name,
      role == "input" and "an input" or "a target", v:gsub("%%s", (c.name:gsub("%%", "%%%%"))), out))
  end
  local v <const> = column.seen(c)
  if v.dtype == "i64" and #v > 0 and dtype == "f64" and math.max(v:max():item(), -v:min():item()) > EXACT then
    core.raise("dtype", ("%s: column '%s' holds integers that f64 would round, the largest of %d: leave it out, or "
      .. "f:with{%s = f:col(\"%s\"):to{dtype = \"f64\"}} rounds them"):format(what, c.name,
      math.max(v:max():item(), -v:min():item()), c.name, c.name))
  end
  return v.dtype == dtype and v or v:to{dtype = dtype}
end

--- Columns side by side, (n, k), with their names.
local function together(f, names, dtype, role, what)
  local list <const> = {}
  for i, name in ipairs(names) do list[i] = numbers(f, name, dtype, role, what) end
  return named.note(core.stack(list, 2):eval(), names)
end

-- A fit -------------------------------------------------------------------------------------------------------------------------

--- A list of names of columns that the frame has, each once.
local function listed(f, list, option, what)
  if type(list) ~= "table" or getmetatable(list) ~= nil or #list == 0 then
    core.raise("option", ("%s: %s must be a list of names of columns, got %s"):format(what, option,
      type(list) == "table" and #list == 0 and "an empty list" or options.shown(list)))
  end
  local known <const>, seen <const> = set_of(f.names), {}
  for _, name in ipairs(list) do
    if not known[name] then
      core.raise("option", ("%s: %s: there is no column '%s'%s; columns: %s"):format(what, option, tostring(name),
        type(name) == "string" and near(name, f.names) or "", table.concat(f.names, ", ")))
    end
    if seen[name] then core.raise("option", ("%s: %s: column '%s' is named twice"):format(what, option, name)) end
    seen[name] = true
  end
  return list
end

--- The names of targets that a call gives, a name or a list; whether it was a list.
local function targets_of(self, f, y, what)
  local tasks <const> = model.fields(self).tasks
  local is_options <const> = type(y) == "table" and #y == 0 and next(y) ~= nil
  if type(y) ~= "string" and type(y) ~= "table" or is_options then
    core.raise("option", ("%s: the frame's column of targets is named behind it: m:%s(frame, \"%s\"), got %s"):format(what, what,
      f.names[#f.names] or "y", y == nil and "nothing" or is_options and "options" or options.shown(y)))
  end
  local list <const> = listed(f, type(y) == "string" and {y} or y, "the target", what)
  if tasks and #list ~= tasks then
    core.raise("shape", ("%s: the model has %s, got the names of %s"):format(what, counted(tasks, "task"),
      counted(#list, "target")))
  end
  if #list > 1 and model.class(self).observations.axes == 1 then
    core.raise("option", ("%s: %d targets are named, and this model has one output: gb.gp.multitask{tasks = %d, ...} models all")
      :format(what, #list, #list))
  end
  return list
end

local function without(list, taken)
  local gone <const>, out <const> = set_of(taken), {}
  for _, name in ipairs(list) do
    if not gone[name] then out[#out + 1] = name end
  end
  return out
end

--- x, y and the columns that are left out, of a frame and what a call says of it.
local function of_fit(self, f, y, inputs, what)
  local targets <const> = targets_of(self, f, y, what)
  local chosen <const> = inputs and listed(f, inputs, "inputs", what) or without(f.names, targets)
  for _, name in ipairs(inputs or {}) do
    if set_of(targets)[name] then core.raise("option", ("%s: column '%s' is both an input and a target"):format(what, name)) end
  end
  if #chosen == 0 then core.raise("option", ("%s: the frame has no column beside the target"):format(what)) end
  local dtype <const> = core.config().dtype
  local xs <const> = together(f, chosen, dtype, "input", what)
  local left <const> = without(without(f.names, targets), chosen)
  local own <const> = model.class(self).observations.target
  if own then return xs, own(f, targets[1], what), left end
  local all <const> = together(f, targets, dtype, "target", what)
  local ys <const> = model.class(self).observations.axes == 2 and all or named.note(all:select(2, 1):eval(), targets)
  return xs, ys, left
end

--- Data of a call fit(x, y) or plan(x, y) as tensors that know their names, and the columns of the frame that are left out; x nil:
-- nothing is given. inputs: option of the call.
function M.data(self, x, y, inputs, what)
  if frame.is(x) then return of_fit(self, x, y, inputs or nil, what) end
  if inputs then
    core.raise("option", ("%s: inputs chooses columns of a frame, m:%s(frame, \"y\", {inputs = {...}}), got %s"):format(what, what,
      x == nil and "no data" or core.type(x)))
  end
  return x, y
end

--- Remembers what the columns of data x, y are called, those that a frame had besides being 'left'.
function M.remember(self, x, y, left)
  local f <const> = model.fields(self)
  local of_x <const>, of_y <const> = named.of(x), named.of(y)
  f.names = (of_x or of_y) and {x = of_x, y = of_y, left = left} or nil
end

--- Gives the tensors of a model's data the names that it knows.
function M.label(self)
  local f <const> = model.fields(self)
  if not f.names then return end
  for _, part in ipairs{"x", "y"} do
    if f[part] and f.names[part] then named.note(scaling.held(self, part), f.names[part]) end
  end
end

--- Lets 'out' call its columns as 'self' does.
function M.inherit(self, out)
  model.fields(out).names = model.fields(self).names
  M.label(out)
end

-- Other calls -------------------------------------------------------------------------------------------------------------------

--- The names of a part of a model's data; raises where it has none.
local function known(f, part, what)
  local names <const> = f.names and f.names[part]
  if names then return names end
  core.raise("option", ("%s: the %s of this model's data have no names, so a frame does not go with it: f:col{...} makes a tensor, "
    .. "or m:fit(frame, \"y\")"):format(what, part == "x" and "inputs" or "targets"))
end

--- Raises where the frame lacks one of the columns, or has one that the model was not fitted beside.
local function check_columns(m, f, wanted, what)
  local has <const>, strange <const> = set_of(f.names), {}
  local seen <const> = set_of(m.names.x)
  for _, list in ipairs{m.names.y or {}, m.names.left or {}} do
    for _, name in ipairs(list) do seen[name] = true end
  end
  for _, name in ipairs(f.names) do
    if not seen[name] then strange[#strange + 1] = name end
  end
  for _, name in ipairs(wanted) do
    if not has[name] then
      local other <const> = options.nearest(name, set_of(strange))
      core.raise("option", ("%s: the frame has no column '%s', which the model was fitted to%s; columns: %s"):format(what, name,
        other and (": is it '%s'? f:rename{[\"%s\"] = \"%s\"}"):format(other, other, name) or "", table.concat(f.names, ", ")))
    end
  end
  if #strange > 0 then
    core.raise("option", ("%s: the model does not know the column '%s'%s; f:select{...} leaves it out; the model's inputs: %s")
      :format(what, strange[1], near(strange[1], m.names.x), table.concat(m.names.x, ", ")))
  end
end

--- The columns of a part by name, in the model's order.
local function by_name(self, f, part, what)
  local m <const> = model.fields(self)
  local names <const> = known(m, part, what)
  check_columns(m, f, names, what)
  local like <const> = m.x or m.absent
  return together(f, names, like and like.dtype or core.config().dtype, part == "x" and "input" or "target", what)
end

--- Raises where a tensor that a frame gave has the model's columns in another order.
local function check_order(self, x, what)
  local m <const>, own <const> = model.fields(self), named.of(x)
  local names <const> = own and m.names and m.names.x
  if not names then return end
  local place <const> = {}
  for i, name in ipairs(names) do place[name] = i end
  for i, name in ipairs(own) do
    if place[name] and place[name] ~= i then
      core.raise("option", ("%s: column %d of x is '%s', which is column %d of the model's data (%s): m:%s(frame) finds columns by "
        .. "name"):format(what, i, name, place[name], table.concat(names, ", "), what))
    end
  end
end

--- Inputs of a call as a tensor.
function M.tensor(self, x, what)
  if frame.is(x) then return by_name(self, x, "x", what) end
  check_order(self, x, what)
  return x
end

--- Points of a call (m, d), checked, as the model takes them (lazily scaled where it scales inputs).
function M.points(self, x, what)
  local t <const> = kernels.points(M.tensor(self, x, what), what .. ": x")
  data.check_width(model.fields(self), t, what)
  return scaling.points(self, t, what)
end

--- Observations of a call and its options: (x, y, o), or (frame, o), whose columns the model knows by name.
function M.observed(self, x, y, o, what)
  if not frame.is(x) then
    check_order(self, x, what)
    return x, y, o
  end
  if o ~= nil or y ~= nil and (type(y) ~= "table" or core.as_tensor(y) ~= nil) then
    core.raise("option", ("%s: a frame has the targets too: m:%s(frame), m:%s(frame, {...})"):format(what, what, what))
  end
  local xs <const>, own <const> = by_name(self, x, "x", what), model.class(self).observations.target
  if own then return xs, own(x, known(model.fields(self), "y", what)[1], what), y end
  local ys <const> = by_name(self, x, "y", what)
  return xs, model.class(self).observations.axes == 2 and ys or ys:select(2, 1):eval(), y
end

return M

--- Frames: tables whose columns have names, and hold numbers, truth values, dates or words. A frame is a value: every method that
-- changes something gives another one.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local column <const> = require "gibbous.frame.column"
local named <const> = require "gibbous.frame.named"

local M <const> = {}

---@class gibbous.frame
---@field names string[]     column names, in order
---@field warnings string[]  what was read otherwise than it may be meant, each with file:line; also said on stderr
local Frame <const> = {__name = "gibbous.frame"}
local methods <const> = object.methods(Frame, "a frame", "f")

--- A frame of n rows: a list of columns (frame.column). more: path of the file, warnings, decimal (was one given?).
function M.new(columns, n, more)
  more = more or {}
  local names <const> = {}
  for i, c in ipairs(columns) do names[i] = c.name end
  return setmetatable({_columns = columns, _rows = n, _names = names, _path = more.path or "the frame",
    _warnings = more.warnings or {}}, Frame)
end

--- The same kind of frame with other columns or rows.
function M.like(self, columns, n) return M.new(columns, n, {path = rawget(self, "_path")}) end

function M.is(v) return getmetatable(v) == Frame end
function M.columns(self) return rawget(self, "_columns") end
M.methods = methods

-- Fields -----------------------------------------------------------------------------------------------------------------------

--- The number of the column of this name, which must be the only one; nil where there is none.
local function number_of(self, name)
  local found <const> = {}
  for i, c in ipairs(rawget(self, "_columns")) do
    if c.name == name then found[#found + 1] = i end
  end
  if #found <= 1 then return found[1] end
  core.raise("option", ("%s: columns %s are all called '%s': f:col(%d) takes one by its number, names = {...} gives them names")
    :format(rawget(self, "_path"), table.concat(found, ", "), name, found[1]))
end

local function listed(self)
  local names <const> = rawget(self, "_names")
  return #names == 0 and "it has no columns" or "columns: " .. table.concat(names, ", ")
end

--- The nearest of what a frame has under names, as a question.
local function guess(self, name, with_methods)
  local known <const> = {}
  for _, one in ipairs(rawget(self, "_names")) do known[one] = true end
  for one in pairs(with_methods and methods or {}) do known[one] = true end
  local near <const> = options.nearest(tostring(name), known)
  return near and (" (did you mean '%s'?)"):format(near) or ""
end

local function no_column(self, name)
  core.raise("option", ("there is no column '%s'%s; %s"):format(tostring(name), guess(self, name), listed(self)))
end

--- The column by name or number.
function M.column(self, name)
  local columns <const> = rawget(self, "_columns")
  if math.type(name) ~= "integer" then return columns[number_of(self, name) or no_column(self, name)] end
  local c <const> = columns[name < 0 and #columns + 1 + name or name]
  if c then return c end
  core.raise("index", ("column %d of a frame with %s"):format(name, counted(#columns, "column")))
end

function Frame.__index(self, key)
  if methods[key] then return methods[key] end
  if key == "names" then return rawget(self, "_names") end
  if key == "warnings" then return rawget(self, "_warnings") end
  local i <const> = number_of(self, key)
  if i then return column.seen(rawget(self, "_columns")[i]) end
  core.raise("option", ("a frame has no column and no method '%s'%s; %s"):format(tostring(key), guess(self, key, true),
    listed(self)))
end

function Frame.__newindex()
  core.raise("option", "a frame is a value and cannot be assigned to; f:with{name = ...} gives another one")
end

function Frame.__len(self) return rawget(self, "_rows") end
function Frame.__tostring(self) return require "gibbous.frame.print"(self) end

-- Columns ----------------------------------------------------------------------------------------------------------------------

--- A column of numbers; text has no place in a tensor.
local function numbers(self, name)
  local c <const> = M.column(self, name)
  local v <const> = column.seen(c)
  if type(v) ~= "table" then return v end
  local place <const> = c.first and ("%s:%d has '%s'"):format(rawget(self, "_path"), c.first.line, c.first.sample)
    or ("row 1 has '%s'"):format(tostring(v[1]))
  core.raise("format", ("column '%s' holds text and cannot join a tensor: %s; f:encode(name) and f:one_hot(name) make numbers of "
    .. "it"):format(c.name, place))
end

local function is_whole(v) return (v:floor():eq(v) & v:abs():lt(2.0 ^ 63)):all() end

--- Columns of one type; bool becomes 0 and 1 beside numbers. i64 is i64 because no float holds it: beside it, f64 that holds
-- whole numbers alone becomes i64, too.
local function together(list, names)
  local seen <const>, wide = {}, false
  for _, v in ipairs(list) do wide = wide or v.dtype == "i64" end
  for i, v in ipairs(list) do
    if wide and v.dtype == "f64" and is_whole(v) then list[i] = v:to{dtype = "i64"} end
    seen[list[i].dtype] = seen[list[i].dtype] or names[i]
  end
  if seen.i64 and seen.f64 then
    core.raise("dtype", ("column '%s' is i64, for f64 would round its integers, and '%s' is f64: they do not go into one tensor; "
      .. "f:col(name):to{dtype = \"f64\"} rounds"):format(seen.i64, seen.f64))
  end
  local dtype <const> = seen.bool and (seen.f64 and "f64" or seen.i64 and "i64")
  for i, v in ipairs(list) do list[i] = dtype and v.dtype == "bool" and v:to{dtype = dtype} or v end
  return core.stack(list, 2)
end

--- f:col(name) gives a column (n), as f.name does: a tensor, f64, NaN where the file says "not available"; i64 where its integers
-- need it; bool where every cell is true or false; of dates the seconds since 1970 in UTC; a list of strings where it holds text.
-- f:col{names} gives the named columns as (n, k), whose names figures show.
function methods.col(self, name)
  if type(name) ~= "table" then return column.seen(M.column(self, name)) end
  if #name == 0 then core.raise("option", "col: the list of names is empty") end
  local list <const>, names <const> = {}, {}
  for i, one in ipairs(name) do list[i], names[i] = numbers(self, one), M.column(self, one).name end
  return named.note(together(list, name), names)
end

--- Words and dates as they were written, a list of strings.
function methods.text(self, name)
  local c <const> = M.column(self, name)
  if c.words then return c.words() end
  column.seen(c)                                             -- raises where the column is a mistake
  core.raise("option", ("text: column '%s' is %s; f:col(name):totable() is a list of its values"):format(c.name, column.kind(c)))
end

--- A frame of these columns, in this order.
function methods.select(self, names)
  if type(names) ~= "table" then core.raise("option", "select: a list of names or numbers expected, got " .. core.type(names)) end
  local out <const> = {}
  for i, name in ipairs(names) do out[i] = M.column(self, name) end
  return M.like(self, out, #self)
end

local function names_of(t, what)
  if type(t) ~= "table" or getmetatable(t) ~= nil then
    core.raise("option", ("%s: a table of columns by name expected, got %s"):format(what, core.type(t)))
  end
  local names <const> = {}
  for name in pairs(t) do
    if type(name) ~= "string" then core.raise("option", ("%s: columns have names, {name = ...}"):format(what)) end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- The frame with more columns, vectors or lists by name; those of a name that exists are replaced, others follow in the order of
-- their names.
function methods.with(self, columns)
  local out <const> = table.move(rawget(self, "_columns"), 1, #rawget(self, "_columns"), 1, {})
  local n = #self
  for _, name in ipairs(names_of(columns, "with")) do
    local c <const> = column.of(name, columns[name])
    if #out == 0 then n = column.rows(c) end
    if column.rows(c) ~= n then
      core.raise("shape", ("with: the frame has %s, column '%s' %d"):format(counted(n, "row"), name, column.rows(c)))
    end
    out[number_of(self, name) or #out + 1] = c
  end
  return M.like(self, out, n)
end

--- The frame with other names: {old = "new"}.
function methods.rename(self, names)
  local out <const> = table.move(rawget(self, "_columns"), 1, #rawget(self, "_columns"), 1, {})
  for _, old in ipairs(names_of(names, "rename")) do
    local i <const>, new <const> = number_of(self, old) or no_column(self, old), names[old]
    if type(new) ~= "string" or new == "" then core.raise("option", ("rename: '%s' needs a name, a string"):format(old)) end
    out[i] = column.renamed(out[i], new)
  end
  return M.like(self, out, #self)
end

--- A frame of vectors and lists by name. o.names: their order, otherwise that of the alphabet.
function M.of(columns, opts)
  local o <const> = options.parse(opts, {names = "table"}, "gb.data.frame")
  local names <const>, seen <const>, out <const> = o.names or names_of(columns, "gb.data.frame"), {}, {}
  for i, name in ipairs(names) do
    if columns[name] == nil then core.raise("option", ("gb.data.frame: there is no column '%s'"):format(tostring(name))) end
    if seen[name] then core.raise("option", ("gb.data.frame: column '%s' is named twice"):format(name)) end
    seen[name], out[i] = true, column.of(name, columns[name])
    if column.rows(out[i]) ~= column.rows(out[1]) then
      core.raise("shape", ("gb.data.frame: column '%s' has %s, '%s' has %d"):format(out[1].name,
        counted(column.rows(out[1]), "row"), name, column.rows(out[i])))
    end
  end
  for _, name in ipairs(names_of(columns, "gb.data.frame")) do
    if not seen[name] then core.raise("option", ("gb.data.frame: names lacks column '%s'"):format(name)) end
  end
  return M.new(out, out[1] and column.rows(out[1]) or 0)
end

require "gibbous.frame.rows"(M)
require "gibbous.frame.category"(M)
require "gibbous.frame.group"(M)
require "gibbous.frame.join"(M)
require "gibbous.frame.describe"(M)

return M

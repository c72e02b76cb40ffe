--- A column of a frame: {name =, value = tensor (n)} of numbers, of truth values or, with date = true, of seconds since 1970.
-- Words and dates have words(most), a list of strings of which only the first 'most' need be there. fault() raises where a file's
-- column is a mistake; it has neither.
local core <const> = require "gibbous.core"
local named <const> = require "gibbous.frame.named"

local M <const> = {}

local SLOT <const>, STRING <const> = 16, 40                  -- bytes of an entry of a list, and of a string beside its text
M.STRING = STRING
local WHOLE <const> = 1 << 53                                 -- f64 has every integer up to it

--- The words that get(most) gives, n of them with so many bytes of their own. Once the whole list was asked for, it is kept, and
-- its bytes are in the ledger.
function M.lazily(n, bytes, get)
  local kept <const> = {}
  return function(most)
    if kept.list == nil and most then return get(most) end
    if kept.list == nil then
      kept.account = core.account(SLOT * n + bytes)
      kept.list = get()
    end
    return kept.list
  end
end

local function always(list) return function() return list end end

--- What a script sees: a tensor, or a list of strings.
function M.seen(c)
  if c.fault then c.fault() end
  return c.value and named.note(c.value, {c.name}) or c.words()
end

--- "text", "date", "none" where nothing is known of it, or the dtype.
function M.kind(c)
  if c.fault then return "mixed" end
  return c.date and "date" or c.value and c.value.dtype or "text"
end

--- Is it a number a row (truth values count, dates do not)?
function M.is_number(c) return c.value ~= nil and not c.date end

--- The rows 'at' (a tensor of positions), which rows() gives as a list, too.
function M.take(c, at, rows)
  local words <const> = c.words
  return {name = c.name, date = c.date, fault = c.fault, value = c.value and c.value:index(1, at):eval(),
    words = words and M.lazily(#at, 0, function()
      local all <const>, out <const> = words(), {}
      for i, row in ipairs(rows()) do out[i] = all[row] end
      return out
    end)}
end

--- The same under another name.
function M.renamed(c, name)
  local out <const> = {name = name}
  for key, v in pairs(c) do out[key] = out[key] or v end
  return out
end

--- The values at 'positions', NaN at those that are 0: they become f64, and integers that f64 would round are refused.
local function values_or_nan(c, positions, row)
  local v <const> = c.value:to{dtype = "f64"}
  if c.value.dtype == "i64" and #v > 0 and (c.value:max():item() > WHOLE or c.value:min():item() < -WHOLE) then
    core.raise("dtype", ("join: column '%s' holds integers beyond 2^53, which have no missing value, and row %d has no partner: "
      .. "how = \"inner\" leaves the row out, f:select{...} the column"):format(c.name, row))
  end
  if #v == 0 then return core.full({#positions}, 0 / 0):eval() end
  local at <const> = core.tensor(positions, {dtype = "i64"})
  local there <const> = at:gt(0)
  return core.where(there, v:index(1, core.where(there, at, 1)), 0 / 0):eval()
end

--- The same where position 0 stands for a row that is missing, 'row' the first such: NaN in numbers, "" in words.
function M.take_or_missing(c, positions, row)
  if c.fault then c.fault() end
  local out <const> = {name = c.name, date = c.date, value = c.value and values_or_nan(c, positions, row)}
  if c.words then
    out.words = M.lazily(#positions, 0, function()
      local all <const>, list <const> = c.words(), {}
      for i, at in ipairs(positions) do list[i] = all[at] or "" end
      return list
    end)
  end
  return out
end

local function raise_entry(name, i, v, expected)
  core.raise("option", ("column '%s': entry %d is of type %s, %s"):format(name, i, type(v), expected))
end

--- A list of numbers, which is i64 where f64 would round an integer.
local function of_numbers(name, list, absent)
  local missing, large, values = false, false, list
  local whole = true
  for i, v in ipairs(list) do
    if v == absent then missing = true
    elseif type(v) ~= "number" then raise_entry(name, i, v, "the others are numbers")
    else
      local is_integer <const> = math.type(v) == "integer"
      whole, large = whole and is_integer, large or is_integer and (v > WHOLE or v < -WHOLE)
    end
  end
  if missing then
    values = {}
    for i, v in ipairs(list) do values[i] = v == absent and 0 / 0 or v end
  end
  local dtype <const> = whole and large and not missing and "i64" or "f64"
  return {name = name, value = core.tensor(values, {dtype = dtype}):reshape(#list):eval()}
end

local function of_strings(name, list, absent)
  local words <const> = {}
  for i, v in ipairs(list) do
    if v ~= absent and type(v) ~= "string" then raise_entry(name, i, v, "the others are strings") end
    words[i] = v == absent and "" or v
  end
  return {name = name, words = always(words)}
end

--- Truth values: bool, or 0, 1 and NaN where some are missing.
local function of_booleans(name, list, absent)
  local values <const>, missing = {}, false
  for i, v in ipairs(list) do
    if v == absent then missing = true
    elseif type(v) ~= "boolean" then raise_entry(name, i, v, "the others are booleans") end
  end
  if not missing then return {name = name, value = core.tensor(list):reshape(#list):eval()} end
  for i, v in ipairs(list) do values[i] = v == absent and 0 / 0 or v and 1 or 0 end
  return {name = name, value = core.tensor(values):reshape(#list):eval()}
end

local makers <const> = {number = of_numbers, string = of_strings, boolean = of_booleans}

--- A column of the numbers, strings or booleans of a list, all of one type. absent: the value that stands for one that is
-- missing, NaN among numbers and "" among strings; where all are, they are numbers.
function M.of_list(name, list, absent)
  local kind = "number"
  for _, v in ipairs(list) do
    if v ~= absent then kind = type(v) break end
  end
  local make <const> = makers[kind]
  if make == nil then core.raise("option", ("column '%s': numbers, strings or booleans expected, got %s"):format(name, kind)) end
  return make(name, list, absent)
end

--- A column of what a script gives: a vector or a list.
function M.of(name, v)
  if type(name) ~= "string" or name == "" then core.raise("option", "a frame: names of columns are strings, and not empty") end
  local t <const> = core.as_tensor(v)
  if t == nil then
    if type(v) ~= "table" or getmetatable(v) ~= nil then
      core.raise("option", ("column '%s': a vector or a list expected, got %s"):format(name, core.type(v)))
    end
    return M.of_list(name, v)
  end
  if t.ndim ~= 1 then
    core.raise("shape", ("column '%s': a vector expected, got shape %s; x:select(2, j) is one column of a matrix"):format(name,
      tostring(t.shape)))
  end
  return {name = name, value = t:eval()}
end

--- How many rows.
function M.rows(c) return c.value and #c.value or #c.words() end

return M

--- Rows of a frame in groups of equal keys.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local column <const> = require "gibbous.frame.column"
local moments <const> = require "gibbous.frame.moments"

---@class gibbous.frame.group
local Group <const> = {__name = "gibbous.frame.group"}
local methods <const> = object.methods(Group, "a group of rows", "g")

function Group.__index(_, key)
  if methods[key] then return methods[key] end
  object.no_field("a group of rows", key, methods)
end

function Group.__newindex() core.raise("option", "a group of rows is a value and cannot be assigned to") end
function Group.__len(self) return rawget(self, "_k") end

function Group.__tostring(self)
  local names <const> = {}
  for i, c in ipairs(rawget(self, "_keys")) do names[i] = c.name end
  return ("%s of equal %s"):format(counted(#self, "group"), table.concat(names, ", "))
end

return function(M)
  --- Codes from 1 of the distinct values of a list of whole numbers, in their order, and how many there are.
  local function dense(list)
    local found <const>, values <const> = {}, {}
    for _, v in ipairs(list) do
      if not found[v] then
        found[v] = true
        values[#values + 1] = v
      end
    end
    table.sort(values)
    for code, v in ipairs(values) do found[v] = code end
    local out <const> = {}
    for i, v in ipairs(list) do out[i] = found[v] end
    return out, #values
  end

  --- The group of each row, in the order of the keys, the first one first.
  local function labels_of(columns)
    local labels, k
    for _, c in ipairs(columns) do
      local codes <const>, categories <const> = M.codes_of(c)
      for i, code in ipairs(codes) do codes[i] = ((labels and labels[i] or 1) - 1) * #categories + code end
      labels, k = dense(codes)
    end
    return labels, k
  end

  --- Groups of rows that are equal in a column, or in each of a list of columns: f:group "site":mean().
  function M.methods.group(self, names)
    local list <const>, keys <const> = type(names) == "table" and names or {names}, {}
    if #list == 0 then core.raise("option", "group: a name or a list of names expected") end
    for i, name in ipairs(list) do keys[i] = M.column(self, name) end
    local held <close> = core.account(M.KEY * #self * #list)  -- luacheck: ignore 211
    local labels <const>, k <const> = labels_of(keys)
    local first <const> = {}
    for i = #labels, 1, -1 do first[labels[i]] = i end
    return setmetatable({_frame = self, _keys = keys, _k = k, _first = first,
      _labels = core.tensor(labels, {dtype = "i64"}):reshape(#labels):eval()}, Group)
  end

  --- The keys of the groups, one a row.
  local function key_columns(self)
    local first <const> = rawget(self, "_first")
    local at <const>, out <const> = core.tensor(first, {dtype = "i64"}):reshape(#first), {}
    for i, c in ipairs(rawget(self, "_keys")) do out[i] = column.take(c, at, function() return first end) end
    return out
  end

  --- A frame with a row a group: the keys, and the statistic of each other column of numbers.
  local function statistic(self, name)
    local out <const>, is_key <const> = key_columns(self), {}
    for _, c in ipairs(rawget(self, "_keys")) do is_key[c] = true end
    for _, c in ipairs(M.columns(rawget(self, "_frame"))) do
      if not is_key[c] and column.is_number(c) then
        out[#out + 1] = {name = c.name, value = moments.of(name, c.value, rawget(self, "_labels"), #self)}
      end
    end
    return M.like(rawget(self, "_frame"), out, #self)
  end

  for _, name in ipairs{"sum", "mean", "std", "min", "max"} do
    methods[name] = function(self) return statistic(self, name) end
  end

  --- The keys, and how many rows each group has, in the column "count".
  function methods.count(self)
    local out <const> = key_columns(self)
    local labels <const> = rawget(self, "_labels")
    out[#out + 1] = {name = "count", value = moments.of("count", core.ones(#labels), labels, #self)}
    return M.like(rawget(self, "_frame"), out, #self)
  end
end

--- Labels of classes, numbers that are whole or strings, and their numbers 1 .. C in a list of classes.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local options <const> = require "gibbous.base.options"

local M <const> = {}

-- More distinct numbers than this, and than half the rows, are no classes.
local MANY <const> = 20

local function shown(v) return type(v) == "string" and ("'%s'"):format(v) or options.got(v) end

--- The labels of a call as a list: of a tensor (n), or a list of numbers or strings. Raises where an entry is no label.
function M.list(y, what)
  local t <const> = core.as_tensor(y)
  if t and t.ndim ~= 1 then core.raise("shape", ("%s: labels must be (n), got shape %s"):format(what, core.told(t))) end
  if not t and (type(y) ~= "table" or getmetatable(y) ~= nil) then
    core.raise("option", ("%s: labels must be a tensor or a list of numbers or strings, got %s"):format(what, core.type(y)))
  end
  local out <const> = {}
  for i, v in ipairs(t and t:totable() or y) do
    local label <const> = type(v) == "boolean" and tostring(v) or type(v) == "string" and v or options.whole(v)
    if label == nil then
      core.raise("option", ("%s: row %d of y is %s, expected a class: a whole number or a string; gb.gp.exact takes numbers")
        :format(what, i, options.got(v)), {row = i})
    end
    out[i] = label
  end
  return out
end

--- The classes of a list of labels in order: numbers by size, strings by their bytes. Raises where there are less than two, both
-- kinds, or so many that y is no class.
function M.classes(list, what)
  local seen <const>, out <const> = {}, {}
  for i, v in ipairs(list) do
    if type(v) ~= type(list[1]) then
      core.raise("option", ("%s: row %d of y is %s, and row 1 is %s: labels are all numbers or all strings"):format(what, i,
        shown(v), shown(list[1])))
    end
    if not seen[v] then
      seen[v] = true
      out[#out + 1] = v
    end
  end
  if #out < 2 then
    core.raise("option", ("%s: y has %s: a classifier needs two, classes = {...} names those that are not there"):format(what,
      counted(#out, "class", "classes")))
  end
  if #out > MANY and #out > #list // 2 and type(list[1]) == "number" then
    core.raise("option", ("%s: y has %d distinct values in %d rows, which are hardly classes; gb.gp.exact takes numbers")
      :format(what, #out, #list))
  end
  table.sort(out)
  return out
end

--- The numbers of labels in 'classes', a list. Raises for one that is none of them, naming its row.
function M.numbers(list, classes, what)
  local number <const>, out <const> = {}, {}
  for c, v in ipairs(classes) do number[v] = c end
  for i, v in ipairs(list) do
    out[i] = number[v]
    if out[i] == nil then
      local all <const> = {}
      for c = 1, math.min(#classes, 12) do all[c] = shown(classes[c]) end
      core.raise("option", ("%s: row %d of y is %s, which is none of the classes %s%s; a fit takes new ones in"):format(what, i,
        shown(v), table.concat(all, ", "), #classes > 12 and ", ..." or ""), {row = i})
    end
  end
  return out
end

return M

--- Option tables: every key is known, every value has its type, and a mistake names the nearest right key.
--
--   local o <const> = options.parse(given, {steps = "count", lr = "positive", method = {"adam", "sgd"}}, "gb.optim.fit")
--
-- A rule is a type (or several joined by "|"), a list of allowed values, or a predicate, which may give beside false what it
-- expects and what it got, in words. Types: the checks below, and whatever gb.type answers ("param", "kernel", ...). nil means the
-- default, which is the caller's affair; false means off and passes every rule.
local core <const> = require "gibbous.core"

local M <const> = {}

local function sorted_names(t)
  local names <const> = {}
  for name in pairs(t) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- A name without what habits differ in: case and punctuation.
local function plain(name) return (name:lower():gsub("[^%w]", "")) end

--- The key of 'names' nearest to 'name', or nil when none is near.
function M.nearest(name, names)
  local sorted <const> = sorted_names(names)
  for _, one in ipairs(sorted) do
    if plain(one) == plain(name) then return one end
  end
  return core.nearest(name, sorted)
end

--- Is v a whole number? A string of digits is not, although math.tointeger takes it: it cannot be compared with numbers.
function M.integral(v) return type(v) == "number" and math.tointeger(v) ~= nil end

--- v as an integer, nil where it is no whole number.
function M.whole(v) return type(v) == "number" and math.tointeger(v) or nil end

local integral <const> = M.integral

local checks <const> = {
  any = function() return true end,
  number = function(v) return type(v) == "number" end,
  integer = integral,
  positive = function(v) return type(v) == "number" and v > 0 end,
  count = function(v) return integral(v) and v >= 0 end,
  tensor = function(v) return core.as_tensor(v) ~= nil end,
  ["function"] = function(v)
    local meta <const> = type(v) == "table" and getmetatable(v)
    return type(v) == "function" or (type(meta) == "table" and meta.__call ~= nil)
  end,
}

local wording <const> = {positive = "a positive number", count = "a whole number, 0 or more", integer = "an integer"}

--- A rule "number|tensor" in words: "a number or a tensor".
local function in_words(rule)
  local out <const> = {}
  for name in rule:gmatch "[^|]+" do out[#out + 1] = wording[name] or "a " .. name end
  return table.concat(out, " or ")
end

--- v, a NaN without its sign: texts show none.
function M.plain(v) return v ~= v and math.abs(v) or v end

--- A value in messages: numbers and strings as they are, anything else by its type.
function M.shown(v)
  if v ~= v then return "number nan" end               -- whatever its sign
  return (type(v) == "number" or type(v) == "string") and ("%s %s"):format(type(v), tostring(v)) or core.type(v)
end

--- The same where a number is expected: digits in a string are no number, and look like one.
function M.got(v) return type(v) == "number" and tostring(M.plain(v)) or M.shown(v) end

--- Is 'v' of one of the types? Returns it, a whole float as an integer where an integer is asked for.
local function of_type(v, types)
  for name in types:gmatch "[^|]+" do
    local check <const> = checks[name]
    if check and check(v) or not check and (type(v) == name or core.type(v) == name) then
      return true, (name == "integer" or name == "count") and math.tointeger(v) or M.plain(v)
    end
  end
  return false
end

local function bad(name, what, expected, got)
  core.raise("option", ("%s: option '%s' must be %s, got %s"):format(what, name, expected, got))
end

--- The rule of an option that takes values for which is(v) holds, 'expected' in words. part: the table of their constructors,
-- called 'named' ("gb.kernels") with 'call' ("{}"), of which one that was not called is told apart.
function M.value_of(is, expected, part, named, call)
  return function(v)
    for name, make in pairs(type(v) == "function" and part or {}) do
      if rawequal(make, v) then
        return false, expected, ("the function %s.%s: call it, %s.%s%s"):format(named, name, named, name, call)
      end
    end
    if is(v) then return true end
    return false, expected
  end
end

local function checked(name, v, rule, what)
  if v == false then return false end
  if type(rule) == "function" then
    local ok <const>, expected <const>, got <const> = rule(v)
    if ok then return v end
    if expected then bad(name, what, expected, got or M.shown(v)) end
    core.raise("option", ("%s: bad value for option '%s', got %s"):format(what, name, M.shown(v)))
  elseif type(rule) == "string" then
    local ok <const>, value <const> = of_type(v, rule)
    if not ok then bad(name, what, in_words(rule), M.shown(v)) end
    return value
  end
  local known <const> = {}
  for _, choice in ipairs(rule) do
    if v == choice then return v end
    known[choice] = true
  end
  local near <const> = type(v) == "string" and M.nearest(v, known)
  local hint <const> = near and ", did you mean " .. near .. "?" or ""
  bad(name, what, "one of " .. table.concat(rule, ", "), M.shown(v) .. hint)
end

--- The message for an unknown key: names the nearest known one, and all of them.
local function unknown(name, spec)
  local known <const> = sorted_names(spec)
  if type(name) ~= "string" then
    return ("options have names, {%s = ...}: got a value without one"):format(spec.kernel and "kernel" or known[1] or "name")
  end
  local near <const>, list <const> = M.nearest(name, spec), "known: " .. table.concat(known, ", ")
  if spec.keepdim and (name == "axis" or name == "dim") then
    return ("unknown option '%s': the dimension is an argument before the options; %s"):format(name, list)
  end
  return ("unknown option '%s'%s"):format(name, #known == 0 and ", there are none"
    or near and (", did you mean '%s'? %s"):format(near, list) or "; " .. list)
end

--- A checked copy of 'given'; absent options stay nil.
---@param given table|nil                 what the user passed; never changed
---@param spec table<string, any>         name -> rule
---@param what string                     whose options they are, for messages: "gb.optim.minimize"
---@return table
function M.parse(given, spec, what)
  if given == nil then return {} end
  local meta <const> = type(given) == "table" and getmetatable(given)
  if type(given) ~= "table" or core.as_tensor(given) ~= nil or type(meta) == "table" and meta.__name then
    local kind <const> = core.type(given)
    core.raise("option", ("%s: options must be a table, got %s%s"):format(what, M.shown(given),
      spec[kind] and (": it has a name, {%s = ...}"):format(kind) or ""))
  end
  local names <const>, out <const> = {}, {}
  for name in pairs(given) do names[#names + 1] = name end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)      -- the first mistake reported is always the same
  for _, name in ipairs(names) do
    local rule <const> = spec[name]
    if rule == nil then core.raise("option", ("%s: %s"):format(what, unknown(name, spec))) end
    out[name] = checked(name, given[name], rule, what)
  end
  return out
end

return M

--- Option tables: every key is known, every value has its type, and a mistake names the nearest right key.
--
--   local o <const> = options.parse(given, {steps = "count", lr = "positive", method = {"adam", "sgd"}}, "gb.optim.fit", 2)
--
-- A rule is a type (or several joined by "|"), a list of allowed values, or a predicate. Types: the checks below, and
-- whatever gb.type answers ("param", "kernel", ...). nil means the default, which is the caller's affair; false means off
-- and passes every rule.
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

--- The key of 'names' nearest to 'name', or nil when none is near.
function M.nearest(name, names) return core.nearest(name, sorted_names(names)) end

local function integral(v) return type(v) == "number" and math.tointeger(v) ~= nil end

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

local function describe(v)
  return (type(v) == "number" or type(v) == "string") and ("%s %s"):format(type(v), tostring(v)) or core.type(v)
end

--- Is 'v' of one of the types? Returns it, a whole float as an integer where an integer is asked for.
local function of_type(v, types)
  for name in types:gmatch "[^|]+" do
    local check <const> = checks[name]
    if check and check(v) or not check and (type(v) == name or core.type(v) == name) then
      return true, (name == "integer" or name == "count") and math.tointeger(v) or v
    end
  end
  return false
end

local function bad(name, what, expected, v, level)
  core.raise("option", ("%s: option '%s' must be %s, got %s"):format(what, name, expected, describe(v)), level + 1)
end

local function checked(name, v, rule, what, level)
  if v == false then return false end
  if type(rule) == "function" then
    if not rule(v) then core.raise("option", ("%s: bad value for option '%s', got %s"):format(what, name, describe(v)), level + 1) end
    return v
  elseif type(rule) == "string" then
    local ok <const>, value <const> = of_type(v, rule)
    if not ok then bad(name, what, wording[rule] or rule:gsub("|", " or "), v, level + 1) end
    return value
  end
  local known <const> = {}
  for _, choice in ipairs(rule) do
    if v == choice then return v end
    known[choice] = true
  end
  local near <const> = type(v) == "string" and M.nearest(v, known)
  bad(name, what, "one of " .. table.concat(rule, ", "), near and v .. ", did you mean " .. near .. "?" or v, level + 1)
end

--- Is 'v' an option table: a plain table without an array part?
function M.is_options(v) return type(v) == "table" and getmetatable(v) == nil and #v == 0 end

--- A checked copy of 'given'; absent options stay nil.
---@param given table|nil                 what the user passed; never changed
---@param spec table<string, any>         name -> rule
---@param what string                     whose options they are, for messages: "gb.optim.minimize"
---@param level integer|nil               stack level blamed, as in error()
---@return table
function M.parse(given, spec, what, level)
  level = level or 1
  if given == nil then return {} end
  if type(given) ~= "table" or core.as_tensor(given) ~= nil then
    core.raise("option", ("%s: options must be a table, got %s"):format(what, describe(given)), level + 1)
  end
  local names <const>, out <const> = {}, {}
  for name in pairs(given) do names[#names + 1] = name end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)      -- the first mistake reported is always the same
  for _, name in ipairs(names) do
    local rule <const> = spec[name]
    if rule == nil then
      local near <const> = type(name) == "string" and M.nearest(name, spec)
      core.raise("option", ("%s: unknown option '%s'%s"):format(what, tostring(name),
        near and (", did you mean '%s'?"):format(near) or ""), level + 1)
    end
    out[name] = checked(name, given[name], rule, what, level + 1)
  end
  return out
end

return M

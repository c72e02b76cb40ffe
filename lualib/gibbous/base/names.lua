--- Closes the table of a part of the library: a name that is planned says so, any other unknown one names the nearest.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

-- What parts offer to each other only.
local internal <const> = {exists = true, fields = true, for_models = true, is = true, is_gaussian = true, named = true,
  names = true, new = true, places = true, varies = true}

---@param part table              what the part offers
---@param what string             "gb.kernels"
---@param later string[]|nil      names that are planned
---@param elsewhere table<string, string>|nil  what does what other libraries call by these names
---@return table part
return function(part, what, later, elsewhere)
  local function there_are()
    local list <const> = {}
    for name in pairs(part) do list[#list + 1] = not internal[name] and name or nil end
    table.sort(list)
    return "there are " .. table.concat(list, ", ")
  end
  local planned <const> = {}
  for _, name in ipairs(later or {}) do planned[name] = true end
  return setmetatable(part, {__index = function(_, name)
    if planned[name] then core.raise("option", ("%s.%s is not in this version; %s"):format(what, name, there_are())) end
    local hint <const> = elsewhere and elsewhere[tostring(name):lower()]
    if hint then core.raise("index", ("%s.%s does not exist: %s"):format(what, name, hint)) end
    local near <const> = options.nearest(tostring(name), part)
    core.raise("index", ("%s.%s does not exist%s"):format(what, tostring(name),
      near and (", did you mean %s.%s?"):format(what, near) or "; " .. there_are()))
  end})
end

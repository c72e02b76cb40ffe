--- The values of a model's small parameters, as numbers and lists by their paths: what a report or an error says of a model
-- without holding it.
local param <const> = require "gibbous.param"

local MOST <const> = 32                    -- elements of a parameter that is said

---@return table<string, number|number[]>
return function(self)
  local out <const> = {}
  local list <const>, names <const> = param.collect(self)
  for i, p in ipairs(list) do
    local v <const> = p.value
    if v.numel <= MOST then out[names[i]] = v.ndim == 0 and v:item() or v:totable() end
  end
  return out
end

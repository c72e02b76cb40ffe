--- The values of a model's small parameters, as numbers and lists by their paths: what a report or an error says of a model
-- without holding it.
local param <const> = require "gibbous.param"

local MOST <const> = 32                    -- elements of a parameter that is said

---@return table<string, number|number[]>
return function(self)
  local out <const> = {}
  local list <const>, names <const> = param.collect(self)
  for i, p in ipairs(list) do
    if p.numel <= MOST then out[names[i]] = p.ndim == 0 and p.value:item() or p.value:totable() end
  end
  return out
end

--- Durations: 90, "90s", "20m", "1.5h", "2d" as seconds.
local core <const> = require "gibbous.core"

local unit <const> = {s = 1, m = 60, h = 3600, d = 86400}

---@param v number|string
---@param what string  whose it is, for messages
---@return number seconds
return function(v, what)
  if type(v) == "number" and v > 0 and v < math.huge then return v end
  local n <const>, u <const> = tostring(v):match "^%s*([%d.]+)%s*([smhd]?)%s*$"
  local value <const> = tonumber(n) and tonumber(n) * unit[u ~= "" and u or "s"]
  if value and value > 0 then return value end
  core.raise("option", ("%s: seconds or a text as \"90s\", \"20m\", \"1.5h\", \"2d\" expected, got %s"):format(what, tostring(v)))
end

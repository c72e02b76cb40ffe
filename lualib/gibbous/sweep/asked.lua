--- What a short process of this program prints, which is asked for something that this one should not do itself: plan a fit, open a
-- device.
local core <const> = require "gibbous.core"

--- words: behind `gibbous sweep`; environment: "NAME=value", or nil. Gives what it printed, and whether it ended within so many
-- seconds.
---@return string said
---@return boolean ended
return function(words, environment, seconds)
  local out <const> = os.tmpname()
  local child <const> = core.child({"/proc/self/exe", "sweep", table.unpack(words)}, environment, out)
  local ended <const> = core.wait({child}, seconds) ~= nil
  child:close()
  local f <const> = io.open(out, "rb")
  local said <const> = f and f:read "a" or ""
  if f then f:close() end
  os.remove(out)
  return said, ended
end

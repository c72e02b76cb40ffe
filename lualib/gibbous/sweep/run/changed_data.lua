--- Which files that finished trials read have changed since.
local core <const> = require "gibbous.core"
local raised <const> = require "gibbous.base.raised"

--- The distinct values of trial.data (digests by path, JSON) that are no longer what lies there. A file that is gone has not
-- changed: what was made of it is kept.
---@return string[]
return function(store)
  local now <const>, out <const> = {}, {}
  for _, row in ipairs(store.db:rows "SELECT DISTINCT data FROM trial WHERE wanted = 1 AND data IS NOT NULL AND state = 'done'") do
    for path, digest in pairs(core.json_decode(row.data)) do
      if now[path] == nil then
        local ok <const>, found <const> = raised.attempt(core.sha256_file, path)
        now[path] = ok and found or false
      end
      if now[path] and now[path] ~= digest then
        out[#out + 1] = row.data
        break
      end
    end
  end
  return out
end

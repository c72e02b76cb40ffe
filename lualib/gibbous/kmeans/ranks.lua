--- Calls that all ranks make together: what one of them raises, all raise, and none waits for ever.
local core <const> = require "gibbous.core"

local M <const> = {}

local function messages() return (select(3, core.ranks())) end

--- What body() gives. The first message of the ranks, in it or after it, is an agreement: where body() raises before it has sent
-- any, the others hear of it there.
function M.joined(on, body)
  if not on then return body() end
  local before <const> = messages()
  local got <const> = table.pack(pcall(body))
  if got[1] then return table.unpack(got, 2, got.n) end
  if messages() == before then core.ranks_agree(got[2] == nil and "error" or got[2]) end
  error(got[2], 0)
end

return M

--- Calls that all ranks make together: what one of them raises, all raise, and none waits for ever.
local core <const> = require "gibbous.core"

local M <const> = {}

local function rest(_, ...) return ... end

--- What body() gives, which sends nothing, once it has returned at all ranks.
function M.agreed(on, body)
  if not on then return body() end
  local got <const> = table.pack(pcall(body))
  if got[1] then core.ranks_agree()
  else core.ranks_agree(got[2] == nil and "error" or got[2]) end
  return rest(table.unpack(got, 1, got.n))
end

local function messages() return (select(3, core.ranks())) end

--- What body() gives, whose first message is an agreement: where it raises before that, the others hear of it there.
function M.joined(on, body)
  if not on then return body() end
  local before <const> = messages()
  local got <const> = table.pack(pcall(body))
  if got[1] then return rest(table.unpack(got, 1, got.n)) end
  if messages() == before then core.ranks_agree(got[2] == nil and "error" or got[2]) end
  error(got[2], 0)
end

return M

--- Which running trials have no process any more. On this host the kernel knows; a process of another host shows that it is there
-- by a beat that changes, and is taken for dead when this process has seen none for a minute of its own clock: no clocks are
-- compared.
local core <const> = require "gibbous.core"

local M <const> = {}

local SILENCE <const> = 60                 -- seconds

---@class gibbous.sweep.holders
local Holders <const> = {__name = "gibbous.sweep.holders"}
Holders.__index = Holders

function M.new() return setmetatable({seen = {}}, Holders) end

--- Has this sign of 'who' been the same for a minute? clock: for tests.
function Holders:is_silent(who, sign, clock)
  local now <const>, last <const> = clock or core.clock(), self.seen[who]
  if not last or last.sign ~= sign then
    self.seen[who] = {sign = sign, since = now}
    return false
  end
  return now - last.since > SILENCE
end

--- Running trials, rows of the table, whose process is gone. is_alive(pid, started): of this host.
function Holders:gone(rows, host, is_alive)
  local list <const> = {}
  for _, t in ipairs(rows) do
    local gone
    if t.host == host then gone = not is_alive(t.pid, t.pid_started) else gone = self:is_silent(t.token, t.beat) end
    if gone then list[#list + 1] = t end
  end
  return list
end

return M

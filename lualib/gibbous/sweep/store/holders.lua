--- Which running trials nobody holds any more. On this host the kernel knows: neither the trial's own process is there, nor the one
-- that claimed it, which would tell what it came to. A process of another host shows that it is there by a beat that changes, and
-- is taken for dead when this process has seen none for a minute of its own clock: no clocks are compared.
local core <const> = require "gibbous.core"

local M <const> = {}

local SILENCE <const> = 60                 -- seconds

---@class gibbous.sweep.holders
local Holders <const> = {__name = "gibbous.sweep.holders"}
Holders.__index = Holders

--- The token of an attempt, and of the process that claims it. started: nil where the process is not known.
function M.token(host, pid, started, attempt) return ("%s-%d.%d-%d"):format(host, pid, started or 0, attempt) end

--- Is the process there that claimed a running trial of this host? is_alive(pid, started).
function M.is_claimant_there(token, is_alive)
  local pid <const>, started <const> = token:match "%-(%d+)%.(%d+)%-%d+$"
  return pid ~= nil and is_alive(math.tointeger(tonumber(pid)), math.tointeger(tonumber(started)))
end

--- Is a running trial of this host in somebody's hands?
function M.is_held(t, is_alive) return is_alive(t.pid, t.pid_started) or M.is_claimant_there(t.token, is_alive) end

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

--- Running trials, rows of the table, that nobody holds. is_alive(pid, started): of this host.
function Holders:gone(rows, host, is_alive)
  local list <const> = {}
  for _, t in ipairs(rows) do
    local gone
    if t.host == host then gone = not M.is_held(t, is_alive) else gone = self:is_silent(t.token, t.beat) end
    if gone then list[#list + 1] = t end
  end
  return list
end

return M

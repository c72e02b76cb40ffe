--- What a sweep may take of this machine.
local core <const> = require "gibbous.core"
local memory <const> = require "gibbous.memory"

local M <const> = {}

M.SHARE = 0.9                              -- of the bytes that are free, left to trials where nobody said how many

--- Bytes for all trials of this machine together: what the study or the command line says, else most of what the memory limit
-- allows.
function M.limit(given, what)
  local bytes <const> = given and core.bytes(given, what)
  if bytes == 0 then core.raise("option", what .. " must be above 0") end
  if bytes then return bytes end
  return math.floor(M.SHARE * (memory.report().limit - memory.report().used))
end

--- The bytes that a study says a trial needs; nil where it says nothing.
function M.need(study, params)
  local v = study.memory
  if type(v) == "function" then v = v(params) end
  return v and core.bytes(v, "gb.sweep: memory") or nil
end

--- The number of processes that run at once, where nobody said.
function M.jobs(devices, share) return devices and #devices * share or 1 end

--- Is the process there that had this number and began then?
function M.is_alive(pid, started)
  local _, now <const> = core.process(pid)
  return now ~= nil and now == started
end

--- The number of this process, when it started, the name of the host.
M.process = core.process

return M

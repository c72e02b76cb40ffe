--- What one process has and no other, on file systems without locks: a file that it made and nobody else can make again,
-- FOLDER/claims/NAME. It tells its owner, {host, pid, started}, and more. A file is never taken away while a process could still
-- want its name; what is taken again and again has a number in its name.
local core <const> = require "gibbous.core"
local machine <const> = require "gibbous.sweep.run.machine"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

local OVER <const> = "over\n"

local function path_of(folder, name) return folder .. "/claims/" .. name end

--- The file name of a process's journal, without its folder.
function M.journal_of(owner)
  return ("%s-%d-%d.jsonl"):format(owner.host:gsub("[^%w.-]", "_"), owner.pid, owner.started)
end

--- This process, as owner.
function M.me()
  local pid <const>, started <const>, host <const> = machine.process()
  return {host = host, pid = pid, started = started}
end

--- Makes a file for this process; false where it is there. more: of the owner's record.
function M.take(folder, name, me, more)
  local record <const> = {host = me.host, pid = me.pid, started = me.started}
  for key, v in pairs(more or {}) do record[key] = v end
  return core.claim(path_of(folder, name), core.json_encode(record) .. "\n")
end

--- Whose file it is: its record, nil where there is none or its maker was killed while writing it; and whether that is over.
function M.owner(folder, name)
  local f <const> = io.open(path_of(folder, name), "rb")
  if not f then return nil, false end
  local line <const>, rest <const> = f:read("L", "a")
  f:close()
  local ok <const>, record <const> = raised.attempt(core.json_decode, line and line:match "^(.*)\n$" or "")
  if not ok or type(record) ~= "table" or not record.host then return nil, false end
  return record, rest == OVER
end

--- What a process had is free for others.
function M.give_back(folder, name) core.append(path_of(folder, name), OVER) end

--- Has the owner gone? On this host the kernel knows; another host's process is silent when its journal has not grown for a minute.
-- seen: gibbous.sweep.holders. what: of whom nothing is known, its name.
function M.is_gone(folder, owner, what, me, seen)
  if owner and owner.host == me.host then return not machine.is_alive(owner.pid, owner.started) end
  local stamp <const> = owner and core.file_stamp(folder .. "/journal/" .. M.journal_of(owner)) or ""
  return seen:is_silent(owner and M.journal_of(owner) or what, stamp)
end

--- The greatest number of files NAME.1, NAME.2, ...; 0 where there are none.
function M.last(folder, name)
  local n = 0
  for _, path in ipairs(core.glob(folder:gsub("[%*%?%[%]\\]", "\\%0") .. "/claims/" .. name .. ".*")) do
    n = math.max(n, math.tointeger(tonumber(path:match "%.(%d+)$")) or 0)
  end
  return n
end

return M

--- The right to be the one `run` of a store in journal files: claims/run.N, of which the last counts.
local core <const> = require "gibbous.core"
local holders <const> = require "gibbous.sweep.store.holders"
local turns <const> = require "gibbous.sweep.store.turns"

local function path_of(folder, n) return ("%s/claims/run.%d"):format(folder, n) end

--- Waits until the owner on another host has shown that it is there, or was silent for a minute. Is it gone?
local function wait_for_sign(folder, owner, name, me)
  local seen <const>, journal <const> = holders.new(), owner and folder .. "/journal/" .. turns.journal_of(owner)
  local first <const> = journal and core.file_stamp(journal)
  if turns.is_gone(folder, owner, name, me, seen) then return true end
  if owner and owner.host == me.host then return false end
  io.stderr:write(("gibbous: a run on %s may work on %s: waiting a minute for a sign of it\n"):format(owner and owner.host
    or "another host", folder))
  while not turns.is_gone(folder, owner, name, me, seen) do
    if journal and core.file_stamp(journal) ~= first then return false end
    core.wait({}, 0.5)
  end
  return true
end

--- Is run.n over, or its owner gone? true; false, and whether that is on another host; nil where a later run has removed the file.
local function is_free(folder, n, me)
  if n == 0 then return true end
  local name <const> = "run." .. n
  local owner <const>, over <const> = turns.owner(folder, name)
  if over then return true end
  if not owner and not core.file_exists(path_of(folder, n)) then return nil end
  return wait_for_sign(folder, owner, name, me), not owner or owner.host ~= me.host
end

--- Makes run.n for this process. Numbers below the last one are removed, so one of them may be made again by a process that has
-- slept: where a later one is there, it counts.
local function take(folder, n, me)
  if not turns.take(folder, "run." .. n, me) then return false end
  if turns.last(folder, "run") == n then return true end
  os.remove(path_of(folder, n))
  return false
end

--- The right to be the one `run` of a folder, until it is closed; nil where another process has it, and whether that may be on
-- another host.
return function(folder)
  core.make_folder(folder .. "/claims")
  core.make_folder(folder .. "/journal")
  local me <const> = turns.me()
  while true do
    local n <const> = turns.last(folder, "run")
    local free <const>, is_remote <const> = is_free(folder, n, me)
    if free == false then return nil, is_remote end
    if free and take(folder, n + 1, me) then
      if n > 0 then os.remove(path_of(folder, n)) end      -- never the last one
      local held <const> = {}
      function held:close()
        if not self.closed then turns.give_back(folder, "run." .. n + 1) end
        self.closed = true
      end
      return setmetatable(held, {__close = held.close})
    end
  end
end

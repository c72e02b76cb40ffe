--- The right to be the one `run` of a store in journal files: claims/run.N, of which the last counts.
local core <const> = require "gibbous.core"
local holders <const> = require "gibbous.sweep.store.holders"
local turns <const> = require "gibbous.sweep.store.turns"

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

--- The right to be the one `run` of a folder, until it is closed; nil where another process has it.
return function(folder)
  core.make_folder(folder .. "/claims")
  core.make_folder(folder .. "/journal")
  local me <const> = turns.me()
  while true do
    local n <const> = turns.last(folder, "run")
    local name <const> = "run." .. n
    local owner <const>, over <const> = turns.owner(folder, name)
    if n > 0 and not over and not wait_for_sign(folder, owner, name, me) then return nil end
    local mine <const> = "run." .. n + 1
    if turns.take(folder, mine, me) then
      if n > 0 then os.remove(folder .. "/claims/" .. name) end      -- never the last one: its number would be given again
      local held <const> = {}
      function held:close()
        if not self.closed then turns.give_back(folder, mine) end
        self.closed = true
      end
      return setmetatable(held, {__close = held.close})
    end
  end
end

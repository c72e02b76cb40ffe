--- A store in files that any file system carries, for those of networks: no file has two writers, and nothing is locked.
--
--   journal/HOST-PID-STARTED.jsonl    events of one coordinator
--   trials/ID/events.K.jsonl          events of the process of attempt K, until its coordinator has copied them
--   claims/ID.K, plan.G, run.N        files that one process alone could make (turns.lua)
--   snapshot                          what the journals told up to some place (snapshot.lua)
--
-- What is known is a database in memory to which all events were applied (known.lua); new ones are read before each query.
local core <const> = require "gibbous.core"
local events <const> = require "gibbous.sweep.store.events"
local holders <const> = require "gibbous.sweep.store.holders"
local known <const> = require "gibbous.sweep.store.known"
local raised <const> = require "gibbous.base.raised"
local state <const> = require "gibbous.sweep.store.state"
local turns <const> = require "gibbous.sweep.store.turns"

local M <const> = {lock = require "gibbous.sweep.store.run_lock"}

local CHUNK <const> = 200                  -- trials that one line tells of
local PATIENCE <const> = 0.005             -- seconds between two looks at what another process has
local LONGEST <const> = 10                 -- seconds that a turn is waited for: its holder may have been stopped

---@class gibbous.sweep.journal: gibbous.sweep.store, gibbous.sweep.known
---@field me table         this process, as an owner
---@field out string?      the file that it writes
---@field keeps boolean    it writes snapshots
---@field is_trial boolean?   it is the process of a trial, which knows the others' events only where it asks
local Store <const> = {__name = "gibbous.sweep.store"}
local methods <const> = {}
for name, f in pairs(state.queries) do methods[name] = f end

--- self.db is what is known now.
function Store.__index(self, key)
  if key ~= "db" then return methods[key] end
  local db <const> = known.refresh(self)
  if self.keeps and not self.is_trial then known.renew(self) end
  return db
end

-- Writing ---------------------------------------------------------------------------------------------------------------------

--- Writes events to the file of this process. durable: they are on the disk then.
local function write(self, list, durable)
  local lines <const> = {}
  if not self.out then
    self.out = self.folder .. "/journal/" .. turns.journal_of(self.me)
    lines[1] = events.line{change = "open", version = state.VERSION}
  end
  for _, e in ipairs(list) do lines[#lines + 1] = events.line(e) end
  if #lines > 0 then core.append(self.out, table.concat(lines), durable) end
end

local function about(row, change, o)
  o.change = change
  return state.about(row, o)
end

-- Opening ---------------------------------------------------------------------------------------------------------------------

function M.open(folder, mode)
  if mode == "create" then
    for _, name in ipairs{"claims", "journal", "trials"} do core.make_folder(folder .. "/" .. name) end
    turns.take(folder, "store", turns.me(), {clock = core.clock()})
  end
  local self <const> = known.fields()
  self.folder, self.me, self.holders, self.keeps = folder, turns.me(), holders.new(), mode ~= "read"
  return setmetatable(self, Store)
end

function methods:close() if self.tables then self.tables:close() end end
Store.__close = methods.close

--- Words for what is damaged; nil where nothing is.
function methods:damage()
  local n <const> = self.db and self.reader.damaged
  if n == 0 then return nil end
  return ("%s/journal: %d lines are damaged and were left out; what they told is computed again"):format(self.folder, n)
end

-- The trials of a study -------------------------------------------------------------------------------------------------------

function methods:set(key, value)
  local last <const> = self:value(key)
  if last == value then return end
  write(self, {{change = "set", key = key, value = value, stamp = (self.stamps[key] or {stamp = 0}).stamp + 1,
    by = turns.journal_of(self.me)}}, true)
end

function methods:keep(kind, text)
  local digest <const> = state.digest(text)
  if self.is_trial or not self:text(digest) then
    write(self, {{change = "keep", digest = digest, kind = kind, text = text}})
  end
  return digest
end

--- The number of the next change of the study, which this process alone may make.
local function next_generation(self)
  local g = known.refresh(self) and self.generation + 1
  while not turns.take(self.folder, "plan." .. g, self.me) do
    local gone <const> = turns.is_gone(self.folder, (turns.owner(self.folder, "plan." .. g)), "plan." .. g, self.me, self.holders)
    known.refresh(self)                            -- behind the look: what it wrote before it went is read
    if self.generation >= g then g = self.generation + 1
    elseif gone then g = g + 1
    else core.wait({}, PATIENCE) end
  end
  known.refresh(self)
  return g
end

--- Makes trials wanted, unless the study would have more cells than 'most' then. Gives how many are new. The generation is written
-- in any case, for others wait for it.
local function want(self, trials, code, replaces, most)
  local generation <const> = next_generation(self)
  if not state.has_room(self.tables, trials, most) then trials = {} end
  local new <const>, list <const> = state.numbered(self.tables, trials, code), {}
  for i = 1, math.max(#trials, 1), CHUNK do
    local e <const> = {change = "want", generation = generation, replaces = replaces, ids = {},
      new = table.move(new, i, math.min(i + CHUNK - 1, #new), 1, {})}
    for k = i, math.min(i + CHUNK - 1, #trials) do e.ids[#e.ids + 1] = trials[k].id end
    list[#list + 1] = e
  end
  write(self, list, true)
  return #new
end

--- Do the wanted trials have these keys, and no others?
local function is_wanted(self, trials)
  local there <const>, n = {}, 0
  for _, t in ipairs(self.db:rows "SELECT id FROM trial WHERE wanted = 1") do
    there[t.id], n = true, n + 1
  end
  for _, t in ipairs(trials) do
    if not there[t.id] then return false end
  end
  return n == #trials
end

function methods:want(trials, code)
  if is_wanted(self, trials) then return 0 end
  return want(self, trials, code, true)
end

function methods:want_code(code)
  if #self.db:rows("SELECT 1 FROM trial WHERE wanted <> (code = ?) LIMIT 1", code) == 0 then return end
  write(self, {{change = "want", generation = next_generation(self), replaces = true, code = code}}, true)
end

function methods:add(trials, code, most) return want(self, trials, code, false, most) end

-- Claims ----------------------------------------------------------------------------------------------------------------------

--- Coordinators of one host take turns, so that the bytes that they give out are counted: by a lock on a disk of this host. Without
-- one nothing is lost but this count. Signals come while it waits: nothing is claimed yet.
local function turn_on_host(self)
  if not self.turn then
    local owner <const> = turns.owner(self.folder, "store") or {}
    self.turn = "/tmp/gibbous-" .. core.sha256(core.json_encode(owner)):sub(1, 16) .. ".lock"
  end
  local deadline <const> = core.clock() + LONGEST
  repeat
    local ok <const>, held <const> = raised.attempt(core.lock, self.turn)
    if held then return ok and held or nil end
    core.interruptible(core.wait, {}, PATIENCE)
  until core.clock() > deadline
end

--- Tries to be the one that has the next attempt of a row. An attempt whose process went before it could say so is passed over.
-- True, false; nil: what is known has changed.
local function win(self, row, o)
  while true do
    local name <const> = ("%s.%d"):format(row.id, row.attempts)
    row.token = holders.token(o.host, o.pid, o.started, row.attempts)
    if turns.take(self.folder, name, self.me, {row = row}) then return true end
    local owner <const> = turns.owner(self.folder, name)
    local gone <const> = turns.is_gone(self.folder, owner, name, self.me, self.holders)
    local now <const> = self:trial(row.id)   -- behind the look
    if now.attempts >= row.attempts or now.state ~= "pending" then return nil end
    if not gone then return false end
    row.attempts = row.attempts + 1
  end
end

function methods:claim(o)
  local _ <close> = turn_on_host(self)
  local lost <const> = {}
  local at, n = 1, 1
  while true do
    local rows <const> = state.fitting(self.db, o, n)
    local row <const> = rows[at]
    if not row then return nil end
    if lost[row.id] then
      at, n = at + 1, n + 1
    else
      local won <const> = win(self, row, o)
      if won then
        write(self, {about(row, "claim", {host = o.host, pid = o.pid, started = o.started, room = row.room, now = core.now(),
          beat = os.time(), device = o.device})})
        return row
      end
      if won == false then lost[row.id] = true end
      at, n = 1, 1
    end
  end
end

--- The process of a trial writes to a file of its own, and reads the others only where it asks for them.
function methods:claimed(id, token)
  local attempt <const> = math.tointeger(tonumber(token:match "(%d+)$"))
  local record <const> = turns.owner(self.folder, ("%s.%d"):format(id, attempt))
  local row <const> = record and record.row
  if not row or row.token ~= token then return nil end
  self.out, self.is_trial = known.events_of(self, id, attempt), true
  return row
end

function methods:started(row, pid, started) write(self, {about(row, "started", {pid = pid, started = started})}) end

local function holds(self, row)
  if self.is_trial then return true end
  local now <const> = self:trial(row.id)
  return now.state == "running" and now.token == row.token
end

--- Nobody waits for the disk: where the line is lost, so is the process, and its trial is pending all the same.
function methods:release(row, o)
  if not holds(self, row) then return false end
  write(self, {about(row, "release", o)})
  return true
end

function methods:acknowledge(row, o)
  if not holds(self, row) then return false end
  o.cell = row.cell
  write(self, {about(row, "acknowledge", o)}, true)
  return true
end

--- The right to end a trial that another program runs: of several processes that tell at once, one has it. One that went before it
-- could say so is passed over.
function methods:may_end(row)
  local n = 0
  repeat
    n = n + 1
    local name <const> = ("%s.%d.told.%d"):format(row.id, row.attempts, n)
    if turns.take(self.folder, name, self.me) then return true end
  until not turns.is_gone(self.folder, (turns.owner(self.folder, name)), name, self.me, self.holders)
  return false
end

--- Copies what the process of a trial has told, now that it has ended.
function methods:collect(row)
  local path <const> = known.events_of(self, row.id, row.attempts)
  local list <const>, kept <const> = {}, {}
  events.reader():read(path, list)
  for _, e in ipairs(list) do
    if e.change ~= "keep" or not self:text(e.digest) then kept[#kept + 1] = e end
  end
  write(self, kept, true)
  os.remove(path)
  self.reader.place[path] = nil
end

function methods:measured(row, resident) write(self, {about(row, "measured", {resident = resident})}) end

function methods:beat(host, ids) write(self, {{change = "beat", ids = ids, host = host, beat = os.time()}}) end

function methods:recover(host, is_alive)
  local n = 0
  for _, t in ipairs(self.holders:gone(self:trials "state = 'running'", host, is_alive)) do
    if self:release(t, {}) then n = n + 1 end            -- which reads, behind the look, what it wrote before it went
  end
  return n
end

function methods:again(condition, ...)
  local list <const> = {}
  for i, t in ipairs(self:trials("state IN ('done', 'failed') AND " .. condition, ...)) do list[i] = about(t, "again", {}) end
  write(self, list, true)
  return #list
end

function methods:grow(row, need)
  local now <const> = self:trial(row.id)
  if now.attempts ~= row.attempts or now.state ~= "failed" and now.state ~= "done" then return false end
  write(self, {about(row, "again", {need = need})}, true)
  return true
end

function methods:report(row, step, value, seconds)
  write(self, {about(row, "report", {step = step, value = value, seconds = seconds})})
end

return M

--- What is known of a store in journal files: its events, applied to tables in memory in whatever order they are read. Events name
-- the trial and the attempt that they are about. The state of a trial is that of its greatest attempt, whose acknowledgement wins
-- over its release; an event whose attempt has not been read yet waits.
local core <const> = require "gibbous.core"
local events <const> = require "gibbous.sweep.store.events"
local raised <const> = require "gibbous.base.raised"
local snapshot <const> = require "gibbous.sweep.store.snapshot"
local state <const> = require "gibbous.sweep.store.state"

local M <const> = {}

local SMALL <const>, SHARE <const> = 1 << 18, 8    -- a snapshot is renewed when more bytes have come, and an eighth of what it has

local changes <const> = state.changes

---@class gibbous.sweep.known
---@field folder string
---@field tables table    the database in memory; nil before the first time
---@field reader gibbous.sweep.events
---@field trial_at table<string, table>   of each trial: {attempt = greatest, ended = it was acknowledged, code, wanted}
---@field numbers table<integer, true>    that trials have
---@field touched table<string, integer>  the last generation in which a trial, or a code, was wanted
---@field generation integer              the last one, and that of the last event that replaced all others
---@field since integer
---@field stamps table<string, table>     the event that set a key
---@field waiting table[]                 events that were read too early
---@field bytes integer                   of the journals that were read, and those that the last snapshot covers
---@field covered integer

--- The fields above, of nothing.
function M.fields()
  return {reader = events.reader(), trial_at = {}, numbers = {}, touched = {}, generation = 0, since = 0, stamps = {}, waiting = {},
    bytes = 0, covered = 0}
end

-- Applying events -------------------------------------------------------------------------------------------------------------

--- What is applied first of one attempt.
local rank <const> = {open = 0, want = 1, set = 1, keep = 1, claim = 2, started = 3, beat = 4, report = 4, measured = 4,
  acknowledge = 5, release = 6, again = 7}

--- Events of a study; true: applied.
local general <const> = {}

function general.open(_, e)
  if math.type(e.version) ~= "integer" or e.version > state.VERSION then
    core.raise("format", ("a journal of version %s, this program knows %d: a newer gibbous reads it"):format(tostring(e.version),
      state.VERSION))
  end
end

function general.keep(self, e) changes.keep(self.tables, e) end

function general.beat(self, e) changes.beat(self.tables, e) end

--- The value of the greatest stamp stays; of two equal ones, that of the process whose name is greater.
function general.set(self, e)
  local last <const> = self.stamps[e.key]
  if last and (last.stamp > e.stamp or last.stamp == e.stamp and last.by >= e.by) then return end
  self.stamps[e.key] = e
  changes.set(self.tables, e)
end

--- A trial or a code is wanted as of this generation.
local function touch(self, key, generation) self.touched[key] = math.max(self.touched[key] or 0, generation) end

--- Trials that are wanted as of a generation: those that the event names, and all of a code. e.replaces: no others are.
function general.want(self, e)
  for _, t in ipairs(e.new or {}) do
    if not self.trial_at[t.id] then
      if self.numbers[t.number] then t.number = state.next_number(self.tables) end
      self.numbers[t.number] = true
      changes.insert(self.tables, t)
      self.trial_at[t.id] = {attempt = 0, ended = false, code = t.code, wanted = true}
    end
  end
  for _, id in ipairs(e.ids or {}) do touch(self, id, e.generation) end
  if e.code then touch(self, e.code, e.generation) end
  self.generation = math.max(self.generation, e.generation)
  if e.replaces then self.since = math.max(self.since, e.generation) end
  self.rewanted = true
end

--- Wanted are the trials that were named, or whose code was, in the last event that replaced all others or behind it.
local function rewant(self)
  for id, t in pairs(self.trial_at) do
    local wanted <const> = math.max(self.touched[id] or 0, self.touched[t.code] or 0) >= self.since
    if wanted ~= t.wanted then
      self.tables:run("UPDATE trial SET wanted = ? WHERE id = ?", wanted and 1 or 0, id)
      t.wanted = wanted
    end
  end
end

--- Events of the trial's greatest attempt; false: it must wait.
local of_attempt <const> = {}

function of_attempt.acknowledge(self, e, t)
  if t.ended then return true end
  t.ended = true                             -- whoever has it by now: it is the result of this attempt
  self.tables:run("UPDATE trial SET state = 'running', token = ? WHERE id = ?", e.token, e.id)
  changes.acknowledge(self.tables, e)
  return true
end

function of_attempt.release(self, e, t)
  if not t.ended then changes.release(self.tables, e) end
  return true
end

function of_attempt.again(self, e, t)
  if t.ended then changes.again(self.tables, e) end
  return t.ended
end

--- Applies an event; false where it must wait for others.
local function apply(self, e)
  if general[e.change] then
    general[e.change](self, e)
    return true
  end
  local t <const> = self.trial_at[e.id]
  if not t or e.change ~= "claim" and e.attempt > t.attempt then return false end
  if e.attempt < t.attempt then return true end
  if of_attempt[e.change] then return of_attempt[e.change](self, e, t) end
  if e.change == "claim" then
    if e.attempt == t.attempt then return true end
    t.attempt, t.ended = e.attempt, false
  end
  changes[e.change](self.tables, e)
  return true
end

--- Applies a list; those that must wait stay for the next one.
local function apply_all(self, list)
  for i, e in ipairs(list) do e.place = i end
  table.sort(list, function(a, b)
    local m <const>, n <const> = a.attempt or 0, b.attempt or 0
    if m ~= n then return m < n end
    local p <const>, q <const> = rank[a.change] or 0, rank[b.change] or 0
    if p ~= q then return p < q end
    return a.place < b.place
  end)
  self.waiting, self.rewanted = {}, false
  self.tables:run "BEGIN"
  for _, e in ipairs(list) do
    if rank[e.change] and not apply(self, e) then self.waiting[#self.waiting + 1] = e end
  end
  if self.rewanted then rewant(self) end
  self.tables:run "COMMIT"
end

-- Reading ---------------------------------------------------------------------------------------------------------------------

--- The file of the process of an attempt.
function M.events_of(self, id, attempt) return ("%s/trials/%s/events.%d.jsonl"):format(self.folder, id, attempt) end

local function new_tables()
  local tables <const> = core.database ":memory:"
  state.make(tables)
  changes.set(tables, {key = "version", value = state.VERSION})
  return tables
end

local function prepare(self)
  self.tables = snapshot.load(self, M.fields) or new_tables()
  self.pattern = self.folder:gsub("[%*%?%[%]\\]", "\\%0") .. "/journal/*-*-*.jsonl"
end

local function read_journals(self)
  local list <const>, before <const> = self.waiting, #self.waiting
  self.bytes = 0
  for _, path in ipairs(core.glob(self.pattern)) do
    self.reader:read(path, list)
    self.bytes = self.bytes + (self.reader.place[path] or 0)
  end
  if #list > before then apply_all(self, list) end
end

local function read_trials(self)
  local list <const>, before <const> = self.waiting, #self.waiting
  for _, t in ipairs(self.tables:rows "SELECT id, attempts FROM trial WHERE state = 'running'") do
    self.reader:read(M.events_of(self, t.id, t.attempts), list)
  end
  if #list > before then apply_all(self, list) end
end

--- Reads what is new. The database is there after the first time.
function M.refresh(self)
  if not self.tables then
    prepare(self)
    self.reader.parts = nil
  end
  read_journals(self)
  read_trials(self)
  return self.tables
end

-- Snapshots -------------------------------------------------------------------------------------------------------------------

--- Has more than so many bytes come since the last one?
local function is_due(self, most) return self.bytes - self.covered > (most or math.max(SMALL, self.covered // SHARE)) end

--- Writes a snapshot of the journals, which are read anew for it: what processes of trials have told is not theirs yet, and may be
-- lost. Where another process has written one meanwhile, that stays.
local function write_snapshot(self, most)
  local fresh <const> = M.fields()
  fresh.folder = self.folder
  prepare(fresh)
  local _ <close> = fresh.tables
  read_journals(fresh)
  local due <const> = is_due(fresh, most)
  self.covered = due and fresh.bytes or fresh.covered
  if due then snapshot.write(fresh) end
end

--- Writes a new snapshot where much has come since the last one. It may fail, as on a full disk: the journals have all of it.
-- most: bytes that are not much.
function M.renew(self, most)
  if not is_due(self, most) then return end
  local ok <const>, why <const> = pcall(write_snapshot, self, most)
  if not ok and not raised.is(why, "io") then error(why, 0) end
end

return M

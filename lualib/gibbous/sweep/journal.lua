--- A store in files that any file system carries, for those of networks: no file has two writers, and nothing is locked.
--
--   journal/HOST-PID-STARTED.jsonl    events of one coordinator
--   trials/ID/events.K.jsonl          events of the process of attempt K, until its coordinator has copied them
--   claims/ID.K, plan.G, run.N        files that one process alone could make (turns.lua)
--
-- What is known is a database in memory to which all events were applied; new ones are read before each query. Events name the trial
-- and the attempt that they are about, so that the order in which files are read does not matter: the state of a trial is that of its
-- greatest attempt, whose acknowledgement wins over its release; an event whose attempt has not been read yet waits.
local core <const> = require "gibbous.core"
local events <const> = require "gibbous.sweep.events"
local holders <const> = require "gibbous.sweep.holders"
local state <const> = require "gibbous.sweep.state"
local turns <const> = require "gibbous.sweep.turns"

local M <const> = {}

local changes <const> = state.changes
local CHUNK <const> = 200                  -- trials that one line tells of
local PATIENCE <const> = 0.005             -- seconds between two looks at what another process has

---@class gibbous.sweep.journal: gibbous.sweep.store
---@field tables table    the database in memory
---@field trial_at table<string, table>   of each trial: {attempt = greatest, ended = it was acknowledged, code, wanted}
---@field touched table<string, integer>  the last generation in which a trial, or a code, was wanted
---@field waiting table[] events that were read too early
local Store <const> = {__name = "gibbous.sweep.store"}
local methods <const> = {}
for name, f in pairs(state.queries) do methods[name] = f end

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

local function events_of(self, id, attempt) return ("%s/events.%d.jsonl"):format(self:folder_of(id), attempt) end

local function prepare(self)
  self.tables = core.database ":memory:"
  state.make(self.tables)
  changes.set(self.tables, {key = "version", value = state.VERSION})
  self.pattern = self.folder:gsub("[%*%?%[%]\\]", "\\%0") .. "/journal/*-*-*.jsonl"
end

local function read_journals(self)
  local list <const>, before <const> = self.waiting, #self.waiting
  for _, path in ipairs(core.glob(self.pattern)) do self.reader:read(path, list) end
  if #list > before then apply_all(self, list) end
end

local function read_trials(self)
  local list <const>, before <const> = self.waiting, #self.waiting
  for _, t in ipairs(self.tables:rows "SELECT id, attempts FROM trial WHERE state = 'running'") do
    self.reader:read(events_of(self, t.id, t.attempts), list)
  end
  if #list > before then apply_all(self, list) end
end

--- Reads what is new. The database is there after the first time.
local function refresh(self)
  if not self.tables then prepare(self) end
  read_journals(self)
  read_trials(self)
  return self.tables
end

--- self.db is what is known now.
function Store.__index(self, key)
  if key == "db" then return refresh(self) end
  return methods[key]
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
  return setmetatable({folder = folder, me = turns.me(), reader = events.reader(), holders = holders.new(), trial_at = {},
    numbers = {}, touched = {}, waiting = {}, stamps = {}, generation = 0, since = 0}, Store)
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
  local g = refresh(self) and self.generation + 1
  while not turns.take(self.folder, "plan." .. g, self.me) do
    local gone <const> = turns.is_gone(self.folder, (turns.owner(self.folder, "plan." .. g)), "plan." .. g, self.me, self.holders)
    refresh(self)                            -- behind the look: what it wrote before it went is read
    if self.generation >= g then g = self.generation + 1
    elseif gone then g = g + 1
    else core.wait({}, PATIENCE) end
  end
  refresh(self)
  return g
end

--- Makes trials wanted. Gives how many are new.
local function want(self, trials, code, replaces)
  local generation <const> = next_generation(self)
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

function methods:add(trials, code) return want(self, trials, code, false) end

-- Claims ----------------------------------------------------------------------------------------------------------------------

--- Coordinators of one host take turns, so that the bytes that they give out are counted: by a lock on a disk of this host. Without
-- one nothing is lost but this count.
local function turn_on_host(self)
  if not self.turn then
    local owner <const> = turns.owner(self.folder, "store") or {}
    self.turn = "/tmp/gibbous-" .. core.sha256(core.json_encode(owner)):sub(1, 16) .. ".lock"
  end
  while true do
    local ok <const>, held <const> = pcall(core.lock, self.turn)
    if held then return ok and held or nil end
    core.wait({}, PATIENCE)
  end
end

--- Tries to be the one that has the next attempt of a row. An attempt whose process went before it could say so is passed over. True,
-- false; nil: what is known has changed.
local function win(self, row, o)
  while true do
    local name <const> = ("%s.%d"):format(row.id, row.attempts)
    row.token = state.token(o.host, o.pid, row.attempts)
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
        write(self, {about(row, "claim", {host = o.host, pid = o.pid, started = o.started, room = row.room, now = o.now,
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
  self.out, self.is_trial = events_of(self, id, attempt), true
  return row
end

function methods:started(row, pid, started) write(self, {about(row, "started", {pid = pid, started = started})}) end

local function holds(self, row)
  if self.is_trial then return true end
  local now <const> = self:trial(row.id)
  return now.state == "running" and now.token == row.token
end

function methods:release(row, o)
  if not holds(self, row) then return false end
  write(self, {about(row, "release", o)}, true)
  return true
end

function methods:acknowledge(row, o)
  if not holds(self, row) then return false end
  o.cell = row.cell
  write(self, {about(row, "acknowledge", o)}, true)
  return true
end

--- Copies what the process of a trial has told, now that it has ended.
function methods:collect(row)
  local path <const> = events_of(self, row.id, row.attempts)
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

-- The one run -----------------------------------------------------------------------------------------------------------------

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
function M.lock(folder)
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

return M

--- A store in an SQLite file, FOLDER/study.db, in WAL mode: for file systems of one host. Several processes write it at once: each
-- change is one transaction that locks before it reads.
local core <const> = require "gibbous.core"
local holders <const> = require "gibbous.sweep.store.holders"
local raised <const> = require "gibbous.base.raised"
local state <const> = require "gibbous.sweep.store.state"

local M <const> = {}

local changes <const> = state.changes

---@class gibbous.sweep.sqlite: gibbous.sweep.store
local Store <const> = {__name = "gibbous.sweep.store"}
for name, f in pairs(state.queries) do Store[name] = f end
Store.__index = Store

-- Opening ---------------------------------------------------------------------------------------------------------------------

--- f() as one transaction, that of this store: all of it happens, or nothing.
function Store:atomically(f)
  self.db:run "BEGIN IMMEDIATE"
  local result <const> = table.pack(pcall(f))
  if not result[1] then
    pcall(self.db.run, self.db, "ROLLBACK")
    error(result[2], 0)
  end
  self.db:run "COMMIT"
  return table.unpack(result, 2, result.n)
end

local function make_tables(self)
  self:atomically(function()
    state.make(self.db)
    if not self:value "version" then self:set("version", state.VERSION) end
  end)
end

--- The tables of a store appear at once. The process that makes them may not have come so far, or was killed before.
local function check_version(self)
  local is_empty <const> = #self.db:rows "SELECT 1 FROM sqlite_master LIMIT 1" == 0         -- before the look at them
  local ok <const>, version <const> = pcall(self.value, self, "version")
  if not ok and tostring(version):find("no such table", 1, true) then
    if not is_empty then core.raise("format", self.path .. " is no store of a sweep") end
    core.raise("io", ("there is no sweep in %s yet: gibbous sweep run SCRIPT makes one"):format(self.folder))
  end
  if not ok then error(version, 0) end
  if math.type(version) ~= "integer" or version > state.VERSION then
    core.raise("format", ("%s is a store of version %s, this program knows %d: a newer gibbous reads it"):format(self.path,
      tostring(version), state.VERSION))
  end
end

local PATIENCE <const>, TURN <const> = 30, 0.02          -- seconds: to wait for others that open the file, and at most at a time

--- Takes the database to WAL mode. SQLite refuses this at once where two connections to a new file do it together.
local function write_ahead(db)
  local deadline <const> = core.clock() + PATIENCE
  while true do
    local ok <const>, why <const> = pcall(db.run, db, "PRAGMA journal_mode = WAL")
    if ok then return end
    if not tostring(why):find("database is locked", 1, true) or core.clock() >= deadline then error(why, 0) end
    core.wait({}, TURN * (1e4 * core.clock() % 1))            -- others wait another time
  end
end

--- The database; where its folder cannot be written and it was closed well, as a file that nobody writes.
local function open_database(path, mode)
  local db <const> = core.database(path, mode)
  if mode ~= "read" then write_ahead(db) end
  local ok <const>, why <const> = pcall(db.run, db, "PRAGMA synchronous = NORMAL")
  if ok then return db end
  local words <const> = tostring(why)
  local barred <const> = words:find("unable to open", 1, true) or words:find("readonly database", 1, true)
  if mode ~= "read" or not barred then error(why, 0) end
  if core.file_exists(path .. "-wal") then
    core.raise("io", ("%s was not closed well, and its folder cannot be written: copy the folder to where it can be"):format(path))
  end
  return core.database(path, "frozen")
end

function M.open(folder, mode)
  local path <const> = folder .. "/study.db"
  if mode == "create" then core.make_folder(folder .. "/trials") end
  local self <const> = setmetatable({folder = folder, path = path, db = open_database(path, mode), holders = holders.new()}, Store)
  if mode == "create" then make_tables(self) end
  check_version(self)
  return self
end

--- Raises where the file is damaged: it is read as a whole. Gives no words, for nothing can be left out.
function Store:damage()
  local ok <const>, rows <const> = raised.attempt(self.db.rows, self.db, "PRAGMA quick_check(1)")
  local found <const> = ok and rows[1].quick_check or tostring(rows)
  if found == "ok" then return nil end
  core.raise("format", ("%s is damaged: %s. Move it away and run the sweep again, or take it from a copy; "
    .. "`sqlite3 study.db .recover` saves what can be read"):format(self.path, found))
end

function Store:close() self.db:close() end
Store.__close = Store.close

--- The right to be the one `run` of a folder, until it is closed; nil where another process has it.
function M.lock(folder) return core.lock(folder .. "/lock") end

-- The trials of a study -------------------------------------------------------------------------------------------------------

function Store:set(key, value) changes.set(self.db, {key = key, value = value}) end

--- Keeps a text once: gives its digest.
function Store:keep(kind, text)
  local digest <const> = state.digest(text)
  changes.keep(self.db, {digest = digest, kind = kind, text = text})
  return digest
end

--- Adds trials that are not there yet: a list of {id, params, cell, seed}, all JSON but the seed. Gives how many were added.
local function add(self, trials, code)
  local new <const> = state.numbered(self.db, trials, code)
  for _, t in ipairs(new) do changes.insert(self.db, t) end
  for _, t in ipairs(trials) do self.db:run("UPDATE trial SET wanted = 1 WHERE id = ? AND wanted = 0", t.id) end
  return #new
end

--- The study consists of these trials from now on; others stay, as unwanted. Gives how many are new.
function Store:want(trials, code)
  return self:atomically(function()
    self.db:run "UPDATE trial SET wanted = 0 WHERE wanted = 1"
    return add(self, trials, code)
  end)
end

--- The study consists of the trials of this code from now on.
function Store:want_code(code) self.db:run("UPDATE trial SET wanted = (code = ?)", code) end

--- Adds trials to the study, unless it would have more cells than 'most' then. Gives how many are new.
function Store:add(trials, code, most)
  return self:atomically(function()
    return state.has_room(self.db, trials, most) and add(self, trials, code) or 0
  end)
end

-- Claims ----------------------------------------------------------------------------------------------------------------------

--- The first pending trial whose need fits beside those that run on this host's device. o: host, pid, started, limit (bytes of
-- the device), least (bytes that every trial has), device (nil: none is named), share (trials on the device at once). Gives
-- its row, with token and room; nil where there is none.
function Store:claim(o)
  return self:atomically(function()
    local row <const> = state.fitting(self.db, o, 1)[1]
    if not row then return nil end
    changes.claim(self.db, state.about(row, {host = o.host, pid = o.pid, started = o.started, room = row.room, now = core.now(),
      beat = os.time(), device = o.device}))
    return row
  end)
end

--- The row of a trial that this process was given; nil where it is another's.
function Store:claimed(id, token) return self:trials("id = ? AND token = ?", id, token)[1] end

--- The process of a claimed trial is this one.
function Store:started(row, pid, started)
  changes.started(self.db, state.about(row, {pid = pid, started = started}))
end

--- A running trial becomes pending, with what is known of it now. o: need (bytes), class and message of the attempt.
function Store:release(row, o)
  o.room = row.room
  return self:atomically(function() return changes.release(self.db, state.about(row, o)) == 1 end)
end

--- Ends a trial, once: false where it is not this holder's any more. o: class, message, fingerprint, result (JSON), metric, peak,
-- resident, seconds, ended, data and environment (digests or JSON).
function Store:acknowledge(row, o)
  o.cell = row.cell
  return self:atomically(function() return changes.acknowledge(self.db, state.about(row, o)) == 1 end)
end

--- May this process end a trial that another program runs? Of several that tell at once, acknowledge() lets one.
function Store:may_end() return true end

--- What the process of a trial has told, now that it has ended, is in the store: here it always is.
function Store:collect() end

--- What the kernel tells of the process of a trial that ended.
function Store:measured(row, resident) changes.measured(self.db, state.about(row, {resident = resident})) end

--- This process is there: the trials that it runs are not given to others.
function Store:beat(host, ids) changes.beat(self.db, {ids = ids, host = host, beat = os.time()}) end

--- Running trials that nobody holds become pending. is_alive(pid, started): of this host. Gives how many.
function Store:recover(host, is_alive)
  return self:atomically(function()
    local gone <const> = self.holders:gone(self:trials "state = 'running'", host, is_alive)
    for _, t in ipairs(gone) do changes.release(self.db, state.about(t, {})) end
    return #gone
  end)
end

--- Ended trials become pending. condition: as for trials(). Gives how many.
function Store:again(condition, ...)
  return self.db:run("UPDATE trial SET state = 'pending', token = NULL WHERE state IN ('done', 'failed') AND " .. condition, ...)
end

--- An ended trial becomes pending, to have so many bytes then. False where it has not ended.
function Store:grow(row, need) return changes.again(self.db, state.about(row, {need = need})) == 1 end

--- A value on the way, of a running trial.
function Store:report(row, step, value, seconds)
  changes.report(self.db, state.about(row, {step = step, value = value, seconds = seconds}))
end

return M

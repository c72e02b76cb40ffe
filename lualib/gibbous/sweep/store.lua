--- What a sweep knows, in an SQLite file: STORE/study.db. Several processes write it at once: each change is one transaction that
-- locks before it reads. A trial is acknowledged by the holder of its token alone, so nothing is counted twice.
--
-- States of a trial: pending -> running -> done (classes ok, pruned) or failed (all others). A running one whose process is gone
-- becomes pending again.
local core <const> = require "gibbous.core"

local M <const> = {}

local VERSION <const> = 1
local SILENCE <const> = 60                   -- seconds after which the processes of another host are taken for dead

local schema <const> = {
  [[CREATE TABLE IF NOT EXISTS study (key TEXT PRIMARY KEY, value) WITHOUT ROWID]],
  [[CREATE TABLE IF NOT EXISTS trial (
      id TEXT PRIMARY KEY, number INTEGER UNIQUE NOT NULL, params TEXT NOT NULL, cell TEXT NOT NULL, code TEXT NOT NULL,
      seed INTEGER NOT NULL, wanted INTEGER NOT NULL DEFAULT 1, state TEXT NOT NULL DEFAULT 'pending',
      class TEXT, message TEXT, fingerprint TEXT, result TEXT, metric REAL, attempts INTEGER NOT NULL DEFAULT 0,
      need INTEGER, room INTEGER, peak INTEGER, resident INTEGER, seconds REAL, started REAL, ended REAL,
      token TEXT, host TEXT, pid INTEGER, pid_started INTEGER, beat REAL, device TEXT, data TEXT, environment TEXT)]],
  [[CREATE INDEX IF NOT EXISTS trial_state ON trial (wanted, state, number)]],
  [[CREATE INDEX IF NOT EXISTS trial_cell ON trial (cell)]],
  [[CREATE TABLE IF NOT EXISTS report (
      trial TEXT NOT NULL, step REAL NOT NULL, value REAL, seconds REAL, PRIMARY KEY (trial, step)) WITHOUT ROWID]],
  [[CREATE TABLE IF NOT EXISTS attempt (
      trial TEXT NOT NULL, number INTEGER NOT NULL, class TEXT, message TEXT, room INTEGER, peak INTEGER, seconds REAL,
      PRIMARY KEY (trial, number)) WITHOUT ROWID]],
  [[CREATE TABLE IF NOT EXISTS text (digest TEXT PRIMARY KEY, kind TEXT, text TEXT) WITHOUT ROWID]],
}

---@class gibbous.sweep.store
---@field folder string
local Store <const> = {__name = "gibbous.sweep.store"}
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

function Store:value(key)
  local row <const> = self.db:rows("SELECT value FROM study WHERE key = ?", key)[1]
  return row and row.value
end

function Store:set(key, value) self.db:run("INSERT OR REPLACE INTO study VALUES (?, ?)", key, value) end

local function make_tables(self)
  self:atomically(function()
    for _, sql in ipairs(schema) do self.db:run(sql) end
    if not self:value "version" then self:set("version", VERSION) end
  end)
end

local function check_version(self)
  local ok <const>, version <const> = pcall(self.value, self, "version")
  if not ok and tostring(version):find("no such table", 1, true) then
    core.raise("format", self.path .. " is no store of a sweep")
  end
  if not ok then error(version, 0) end
  if math.type(version) ~= "integer" or version > VERSION then
    core.raise("format", ("%s is a store of version %s, this program knows %d: a newer gibbous reads it"):format(self.path,
      tostring(version), VERSION))
  end
end

--- The store in a folder. mode: "create" makes one that is missing, "write" and "read" do not.
function M.open(folder, mode)
  local path <const> = folder .. "/study.db"
  if mode == "create" then core.make_folder(folder .. "/trials") end
  if mode ~= "create" and not core.file_exists(path) then
    core.raise("io", ("there is no sweep in %s: gibbous sweep run SCRIPT makes one"):format(folder))
  end
  local self <const> = setmetatable({folder = folder, path = path, db = core.database(path, mode)}, Store)
  if mode ~= "read" then self.db:run "PRAGMA journal_mode = WAL" end
  self.db:run "PRAGMA synchronous = NORMAL"
  if mode == "create" then make_tables(self) end
  check_version(self)
  return self
end

function Store:close() self.db:close() end
Store.__close = Store.close

-- The trials of a study -------------------------------------------------------------------------------------------------------

local function next_number(self)
  return self.db:rows("SELECT COALESCE(MAX(number), 0) + 1 AS n FROM trial")[1].n
end

--- Adds trials that are not there yet: a list of {id, params, cell, seed}, all JSON but the seed. Gives how many were added.
local function add(self, trials, code)
  local n, added = next_number(self), 0
  for _, t in ipairs(trials) do
    local made <const> = self.db:run([[INSERT INTO trial (id, number, params, cell, code, seed) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET wanted = 1 WHERE wanted = 0 AND excluded.id = id]], t.id, n, t.params, t.cell, code, t.seed)
    local is_new <const> = made > 0 and self.db:rows("SELECT number FROM trial WHERE id = ?", t.id)[1].number == n
    if is_new then n, added = n + 1, added + 1 end
  end
  return added
end

--- The study consists of these trials from now on; others stay, as unwanted. Gives how many are new.
function Store:want(trials, code)
  return self:atomically(function()
    self.db:run "UPDATE trial SET wanted = 0 WHERE wanted = 1"
    return add(self, trials, code)
  end)
end

--- Adds trials to the study.
function Store:add(trials, code)
  return self:atomically(function() return add(self, trials, code) end)
end

--- Rows of the table of trials, by number. condition: SQL behind WHERE, with values for its '?'.
function Store:trials(condition, ...)
  return self.db:rows("SELECT * FROM trial WHERE " .. (condition or "1") .. " ORDER BY number", ...)
end

function Store:trial(id) return self:trials("id = ?", id)[1] end

--- How many wanted trials there are of each state and class: {{state, class, n}, ...}.
function Store:counts()
  return self.db:rows "SELECT state, class, COUNT(*) AS n FROM trial WHERE wanted = 1 GROUP BY state, class"
end

--- The folder of a trial, for its log and what it keeps.
function Store:folder_of(id) return self.folder .. "/trials/" .. id end

--- Keeps a text once: gives its digest.
function Store:keep(kind, text)
  local digest <const> = core.sha256(text):sub(1, 16)
  self.db:run("INSERT OR IGNORE INTO text VALUES (?, ?, ?)", digest, kind, text)
  return digest
end

function Store:text(digest)
  local row <const> = digest and self.db:rows("SELECT text FROM text WHERE digest = ?", digest)[1]
  return row and row.text
end

-- Claims ----------------------------------------------------------------------------------------------------------------------

--- Bytes that running trials of this host may take.
local function in_use(self, host)
  return self.db:rows("SELECT COALESCE(SUM(room), 0) AS n FROM trial WHERE state = 'running' AND host = ?", host)[1].n
end

--- The first pending trial whose need fits beside those that run on this host. o: host, pid, started, limit (bytes of
-- the host), least (bytes that every trial has), now, device. What needs more than the limit gets the limit. Gives its row, with
-- token and room; nil where there is none.
function Store:claim(o)
  return self:atomically(function()
    local left <const> = o.limit - in_use(self, o.host)
    local row <const> = self.db:rows([[SELECT * FROM trial WHERE wanted = 1 AND state = 'pending'
      AND MIN(MAX(COALESCE(need, 0), ?), ?) <= ? ORDER BY number LIMIT 1]], o.least, o.limit, left)[1]
    if not row then return nil end
    row.room = math.min(math.max(row.need or 0, o.least), o.limit)
    row.token = ("%s-%d-%d"):format(o.host, o.pid, row.attempts + 1)
    row.attempts = row.attempts + 1
    self.db:run([[UPDATE trial SET state = 'running', token = ?, host = ?, pid = ?, pid_started = ?, beat = ?, room = ?,
      attempts = ?, started = ?, ended = NULL, class = NULL, message = NULL, fingerprint = NULL, result = NULL, metric = NULL,
      device = ? WHERE id = ?]], row.token, o.host, o.pid, o.started, os.time(), row.room, row.attempts, o.now, o.device, row.id)
    self.db:run("DELETE FROM report WHERE trial = ?", row.id)
    return row
  end)
end

--- The process of a claimed trial is this one.
function Store:started(row, pid, started)
  self.db:run("UPDATE trial SET pid = ?, pid_started = ? WHERE id = ? AND token = ?", pid, started, row.id, row.token)
end

--- A running trial becomes pending, with what is known of it now. o: need (bytes), class and message of the attempt.
function Store:release(row, o)
  return self:atomically(function()
    local changed <const> = self.db:run([[UPDATE trial SET state = 'pending', token = NULL, need = COALESCE(?, need)
      WHERE id = ? AND token = ? AND state = 'running']], o.need, row.id, row.token)
    if changed == 1 and o.class then
      self.db:run("INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?)", row.id, row.attempts, o.class, o.message, row.room,
        o.peak, o.seconds)
    end
    return changed == 1
  end)
end

--- Ends a trial, once: false where it is not this holder's any more. o: class, message, fingerprint, result (JSON), metric, peak,
-- resident, seconds, ended, data and environment (digests or JSON).
function Store:acknowledge(row, o)
  return self:atomically(function()
    local changed <const> = self.db:run([[UPDATE trial SET state = ?, class = ?, message = ?, fingerprint = ?, result = ?,
      metric = ?, peak = COALESCE(?, peak), resident = COALESCE(?, resident), seconds = ?, ended = ?, data = COALESCE(?, data),
      environment = COALESCE(?, environment), token = NULL WHERE id = ? AND token = ? AND state = 'running']],
      (o.class == "ok" or o.class == "pruned") and "done" or "failed", o.class, o.message, o.fingerprint, o.result, o.metric,
      o.peak, o.resident, o.seconds, o.ended, o.data, o.environment, row.id, row.token)
    if changed == 1 and o.class == "ok" and o.peak then      -- its cell's other repeats need as much
      self.db:run("UPDATE trial SET need = ? WHERE cell = ? AND state = 'pending' AND need IS NULL", o.peak, row.cell)
    end
    return changed == 1
  end)
end

--- What the kernel tells of the process of a trial that ended.
function Store:measured(id, resident)
  self.db:run("UPDATE trial SET resident = ? WHERE id = ?", resident, id)
end

--- This process is there: the trials that it runs are not given to others.
function Store:beat(host, ids)
  for _, id in ipairs(ids) do
    self.db:run("UPDATE trial SET beat = ? WHERE id = ? AND host = ? AND state = 'running'", os.time(), id, host)
  end
end

--- Running trials whose process is gone become pending. is_alive(pid, started): of this host. Gives how many.
function Store:recover(host, is_alive)
  return self:atomically(function()
    local n = 0
    for _, t in ipairs(self.db:rows "SELECT id, host, pid, pid_started, beat FROM trial WHERE state = 'running'") do
      local gone
      if t.host == host then gone = not is_alive(t.pid, t.pid_started) else gone = os.time() - t.beat > SILENCE end
      if gone then
        self.db:run("UPDATE trial SET state = 'pending', token = NULL WHERE id = ?", t.id)
        n = n + 1
      end
    end
    return n
  end)
end

--- Trials become pending. condition: as for trials(). Gives how many.
function Store:again(condition, ...)
  return self.db:run("UPDATE trial SET state = 'pending', token = NULL WHERE state IN ('done', 'failed') AND " .. condition, ...)
end

-- Reports ---------------------------------------------------------------------------------------------------------------------

--- A value on the way, of a running trial.
function Store:report(row, step, value, seconds)
  self.db:run("INSERT OR REPLACE INTO report SELECT ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM trial WHERE id = ? AND token = ?)",
    row.id, step, value, seconds, row.id, row.token)
end

--- The reports of a trial, by step: {step, value, seconds}.
function Store:reports(id)
  return self.db:rows("SELECT step, value, seconds FROM report WHERE trial = ? ORDER BY step", id)
end

return M

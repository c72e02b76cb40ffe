--- What a sweep knows, as tables of an SQLite database, and the changes of them: one statement or a few each, for the carrier to
-- make in a transaction. The carriers of a store (sqlite.lua, journal.lua) differ in who may change what, and in what lasts.
--
-- States of a trial: pending -> running -> done (classes ok, pruned) or failed (all others). A running one whose process is gone
-- becomes pending again. An attempt of a trial is known by its number, and its holder by a token; only the holder ends it.
local core <const> = require "gibbous.core"
local holders <const> = require "gibbous.sweep.store.holders"
local machine <const> = require "gibbous.sweep.run.machine"

local M <const> = {VERSION = 1}

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
  [[CREATE INDEX IF NOT EXISTS trial_running ON trial (host) WHERE state = 'running']],
  [[CREATE TABLE IF NOT EXISTS report (
      trial TEXT NOT NULL, step REAL NOT NULL, value REAL, seconds REAL, PRIMARY KEY (trial, step)) WITHOUT ROWID]],
  [[CREATE TABLE IF NOT EXISTS attempt (
      trial TEXT NOT NULL, number INTEGER NOT NULL, class TEXT, message TEXT, room INTEGER, peak INTEGER, seconds REAL,
      PRIMARY KEY (trial, number)) WITHOUT ROWID]],
  [[CREATE TABLE IF NOT EXISTS text (digest TEXT PRIMARY KEY, kind TEXT, text TEXT) WITHOUT ROWID]],
}

function M.make(db)
  for _, sql in ipairs(schema) do db:run(sql) end
end

-- Queries of every store ------------------------------------------------------------------------------------------------------

---@class gibbous.sweep.store
---@field folder string
---@field db table       the database; of a journal, as far as it has been written
local queries <const> = {}
M.queries = queries

function queries:value(key)
  local row <const> = self.db:rows("SELECT value FROM study WHERE key = ?", key)[1]
  return row and row.value
end

--- Rows of the table of trials, by number. condition: SQL behind WHERE, with values for its '?'.
function queries:trials(condition, ...)
  return self.db:rows("SELECT * FROM trial WHERE " .. (condition or "1") .. " ORDER BY number", ...)
end

function queries:trial(id) return self:trials("id = ?", id)[1] end

--- How many wanted trials there are of each state and class: {{state, class, n}, ...}.
function queries:counts()
  return self.db:rows "SELECT state, class, COUNT(*) AS n FROM trial WHERE wanted = 1 GROUP BY state, class"
end

--- Is any trial of the study running or pending?
function queries:is_open()
  return #self.db:rows "SELECT 1 FROM trial WHERE wanted = 1 AND state IN ('running', 'pending') LIMIT 1" > 0
end

--- Does a search add cells yet? It has said how many there will be.
function queries:has_more()
  local cells <const> = self:value "cells"
  return cells ~= nil and self.db:rows "SELECT COUNT(DISTINCT cell) AS n FROM trial WHERE wanted = 1"[1].n < cells
end

--- Is any trial of the study pending?
function queries:has_pending()
  return #self.db:rows "SELECT 1 FROM trial WHERE wanted = 1 AND state = 'pending' LIMIT 1" > 0
end

--- Has any trial of the study ended as it should?
function queries:has_done()
  return #self.db:rows "SELECT 1 FROM trial WHERE wanted = 1 AND state = 'done' LIMIT 1" > 0
end

--- Wanted trials that are kept as running, of which this host knows that nobody holds them: by id. The next coordinator makes
-- them pending.
function queries:lost()
  local lost <const>, host <const> = {}, select(3, machine.process())
  for _, t in ipairs(self.db:rows([[SELECT id, pid, pid_started, token FROM trial
      WHERE wanted = 1 AND state = 'running' AND host = ?]], host)) do
    if not holders.is_held(t, machine.is_alive) then lost[t.id] = t.token end
  end
  for id, token in pairs(lost) do            -- behind the look: one that ended well has said so before
    if not self.db:rows("SELECT 1 FROM trial WHERE id = ? AND token = ?", id, token)[1] then lost[id] = nil end
  end
  return lost
end

--- The folder of a trial, for its log and what it keeps.
function queries:folder_of(id) return self.folder .. "/trials/" .. id end

function queries:text(digest)
  local row <const> = digest and self.db:rows("SELECT text FROM text WHERE digest = ?", digest)[1]
  return row and row.text
end

--- The reports of a trial, by step: {step, value, seconds}.
function queries:reports(id)
  return self.db:rows("SELECT step, value, seconds FROM report WHERE trial = ? ORDER BY step", id)
end

-- What is claimed -------------------------------------------------------------------------------------------------------------

function M.next_number(db) return db:rows("SELECT COALESCE(MAX(number), 0) + 1 AS n FROM trial")[1].n end

--- What running trials of a host have on a device, or where they name none: {bytes, trials}.
local function in_use(db, host, device)
  return db:rows([[SELECT COALESCE(SUM(room), 0) AS bytes, COUNT(*) AS trials FROM trial
    WHERE state = 'running' AND host = ? AND device IS ?]], host, device)[1]
end

--- Up to n pending trials, by number, whose need fits beside those that run on the host's device, whichever process runs them. What
-- needs more than the limit gets the limit. o: as for a store's claim. Each has room then, and token, of its next attempt.
function M.fitting(db, o, n)
  local used <const> = in_use(db, o.host, o.device)
  if o.share and used.trials >= o.share then return {} end
  local rows <const> = db:rows([[SELECT * FROM trial WHERE wanted = 1 AND state = 'pending'
    AND MIN(MAX(COALESCE(need, 0), ?), ?) <= ? ORDER BY number LIMIT ?]], o.least, o.limit, o.limit - used.bytes, n)
  for _, row in ipairs(rows) do
    row.room = math.min(math.max(row.need or 0, o.least), o.limit)
    row.attempts = row.attempts + 1
    row.token = holders.token(o.host, o.pid, o.started, row.attempts)
  end
  return rows
end

-- Changes ---------------------------------------------------------------------------------------------------------------------

--- Changes by name: (db, e) -> the number of rows of trials that changed. e: id, token and attempt of whom it is about, and what is
-- new. One that comes from a holder which is it no more changes nothing.
local changes <const> = {}
M.changes = changes

--- A study's key has a value. e: key, value.
function changes.set(db, e) return db:run("INSERT OR REPLACE INTO study VALUES (?, ?)", e.key, e.value) end

--- A text is kept. e: digest, kind, text.
function changes.keep(db, e) return db:run("INSERT OR IGNORE INTO text VALUES (?, ?, ?)", e.digest, e.kind, e.text) end

--- e: number, id, params, cell, code, seed; need: bytes, nil where they are not known.
function changes.insert(db, e)
  return db:run("INSERT OR IGNORE INTO trial (id, number, params, cell, code, seed, need) VALUES (?, ?, ?, ?, ?, ?, ?)",
    e.id, e.number, e.params, e.cell, e.code, e.seed, e.need)
end

--- A process holds an attempt from now on. e: host, pid, started (of the process), room, now, beat, device.
function changes.claim(db, e)
  db:run("DELETE FROM report WHERE trial = ?", e.id)
  return db:run([[UPDATE trial SET state = 'running', token = ?, host = ?, pid = ?, pid_started = ?, beat = ?, room = ?,
    attempts = ?, started = ?, ended = NULL, class = NULL, message = NULL, fingerprint = NULL, result = NULL, metric = NULL,
    device = ? WHERE id = ?]], e.token, e.host, e.pid, e.started, e.beat, e.room, e.attempt, e.now, e.device, e.id)
end

--- The process of a claimed trial is this one. e: pid, started.
function changes.started(db, e)
  return db:run("UPDATE trial SET pid = ?, pid_started = ? WHERE id = ? AND attempts = ?", e.pid, e.started, e.id, e.attempt)
end

--- A running trial becomes pending. e: need (bytes), class, message, room, peak and seconds of the attempt.
function changes.release(db, e)
  local changed <const> = db:run([[UPDATE trial SET state = 'pending', token = NULL, need = COALESCE(?, need)
    WHERE id = ? AND token = ? AND state = 'running']], e.need, e.id, e.token)
  if changed == 1 and e.class then
    db:run("INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?)", e.id, e.attempt, e.class, e.message, e.room, e.peak,
      e.seconds)
  end
  return changed
end

--- A running trial ends. e: class, message, fingerprint, result (JSON), metric, peak, resident, seconds, ended, data and
-- environment (digests or JSON), cell.
function changes.acknowledge(db, e)
  local changed <const> = db:run([[UPDATE trial SET state = ?, class = ?, message = ?, fingerprint = ?, result = ?,
    metric = ?, peak = COALESCE(?, peak), resident = COALESCE(?, resident), seconds = ?, ended = ?, data = COALESCE(?, data),
    environment = COALESCE(?, environment), token = NULL WHERE id = ? AND token = ? AND state = 'running']],
    (e.class == "ok" or e.class == "pruned") and "done" or "failed", e.class, e.message, e.fingerprint, e.result, e.metric,
    e.peak, e.resident, e.seconds, e.ended, e.data, e.environment, e.id, e.token)
  if changed == 1 and e.class == "ok" and e.peak then      -- its cell's other repeats need as much
    db:run("UPDATE trial SET need = ? WHERE cell = ? AND state = 'pending' AND need IS NULL", e.peak, e.cell)
  end
  return changed
end

--- What the kernel tells of the process of a trial that ended. e: resident.
function changes.measured(db, e)
  return db:run("UPDATE trial SET resident = ? WHERE id = ? AND attempts = ?", e.resident, e.id, e.attempt)
end

--- An ended trial becomes pending. e: need.
function changes.again(db, e)
  return db:run([[UPDATE trial SET state = 'pending', token = NULL, need = COALESCE(?, need)
    WHERE id = ? AND attempts = ? AND state IN ('done', 'failed')]], e.need, e.id, e.attempt)
end

--- A value on the way. e: step, value, seconds.
function changes.report(db, e)
  return db:run("INSERT OR REPLACE INTO report SELECT ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM trial WHERE id = ? AND attempts = ?)",
    e.id, e.step, e.value, e.seconds, e.id, e.attempt)
end

--- The holder of running trials is there. e: ids, host, beat (differs from the last one).
function changes.beat(db, e)
  local n = 0
  for _, id in ipairs(e.ids) do
    n = n + db:run("UPDATE trial SET beat = ? WHERE id = ? AND host = ? AND state = 'running'", e.beat, id, e.host)
  end
  return n
end

--- What an event of a claimed row says of whom it is about, and more: o, changed.
function M.about(row, o)
  o.id, o.token, o.attempt = row.id, row.token, row.attempts
  return o
end

--- A list of {id, params, cell, seed}, of which those that are not there yet get numbers behind the others.
function M.numbered(db, trials, code)
  local n, list <const> = M.next_number(db), {}
  for _, t in ipairs(trials) do
    if not db:rows("SELECT 1 FROM trial WHERE id = ?", t.id)[1] then
      list[#list + 1] = {id = t.id, number = n, params = t.params, cell = t.cell, code = code,
        seed = t.seed, need = t.need}
      n = n + 1
    end
  end
  return list
end

--- Does the study have room for the cells of these trials, where it has at most so many? nil: any number.
function M.has_room(db, trials, most)
  if not most then return true end
  local cells <const> = {}
  for _, t in ipairs(trials) do cells[t.cell] = true end
  local n = db:rows("SELECT COUNT(DISTINCT cell) AS n FROM trial WHERE wanted = 1")[1].n
  for cell in pairs(cells) do
    n = n + 1 - db:rows("SELECT COUNT(*) AS n FROM (SELECT 1 FROM trial WHERE cell = ? AND wanted = 1 LIMIT 1)", cell)[1].n
  end
  return n <= most
end

--- The digest that a text is kept by.
function M.digest(text) return core.sha256(text):sub(1, 16) end

return M

--- gibbous sweep ask and tell: a study whose trials something else runs. `ask` hands out a trial, `tell` says what it came to; the
-- store, the searches, tables and reports are those of every sweep. A trial that was handed out belongs to the process that started
-- `ask`, or to the one that is named: when that process ends without a word, the trial is pending again.
local core <const> = require "gibbous.core"
local failure <const> = require "gibbous.sweep.failure"
local machine <const> = require "gibbous.sweep.machine"
local results <const> = require "gibbous.sweep.results"
local text <const> = require "gibbous.sweep.text"

local M <const> = {}

local ALL <const> = 1 << 60                -- bytes of this host, to claims of which the memory is not this program's concern

--- The process that started this one.
local function parent()
  local f <close> = assert(io.open "/proc/self/stat")
  return math.tointeger(tonumber((f:read "a"):match "^.*%) %a (%d+)"))
end

--- Claims the next pending trial for a process, one that the search adds where none is. more: adds trials, or nil. Gives its row;
-- nil where there is none now.
local function claimed(store, holder, more)
  local pid <const> = holder or parent()
  local _, started <const> = core.process(pid)
  if not started then core.raise("option", ("--holder: there is no process %d"):format(pid)) end
  local host <const> = select(3, machine.process())
  local function claim()
    return store:claim{host = host, pid = pid, started = started, limit = ALL, least = 0, now = core.now()}
  end
  local row <const> = claim() or more and more() and claim() or nil
  if row then store:started(row, pid, started) end
  return row
end

--- Hands out a trial: its description as a text, JSON where json is set; "null" or "none" where there is none to be had now.
function M.ask(store, o)
  local row <const> = claimed(store, o.holder, o.more)
  if not row then return o.json and "null" or "none" end
  local folder <const> = store:folder_of(row.id)
  core.make_folder(folder)
  if not o.json then return ("%d  %s"):format(row.number, text.params(row.params)) end
  return core.json_encode{number = row.number, id = row.id, seed = row.seed, dir = folder, params = core.json_decode(row.params)}
end

--- What a word says that a trial came to: a number, the metric; or a JSON object of results.
local function result_of(word, metric)
  local v = tonumber(word) or results.number(word)
  local ok <const>, object <const> = pcall(core.json_decode, word)
  if not v and not (ok and type(object) == "table") then
    core.raise("option", ("a result is a number or a JSON object as '{\"rmse\": 0.1}', got '%s'"):format(word))
  end
  if v then return {[metric or "value"] = v}, v end
  v = object[metric]
  if metric and type(v) ~= "number" then
    core.raise("option", ("the result has no number '%s', which is the study's metric"):format(metric))
  end
  return object, v
end

--- What ends a trial as the store keeps it. o: result (a word), failed (a message).
local function outcome(o, metric)
  if o.failed then
    return {class = "error", message = o.failed, fingerprint = failure.fingerprint("error", o.failed)}
  end
  local result <const>, v <const> = result_of(o.result, metric)
  if v and (v ~= v or math.abs(v) == math.huge) then
    local message <const> = ("the metric '%s' is %s"):format(metric or "value", tostring(v))
    return {class = "nan", message = message, fingerprint = failure.fingerprint("nan", message)}
  end
  return {class = "ok", result = core.json_encode(result), metric = metric and v or nil}
end

--- Ends a trial that was handed out. number: its number or id, a word. o: result, failed.
function M.tell(store, number, o)
  local row <const> = store:trials("number = ? OR id = ?", math.tointeger(tonumber(number)), number)[1]
  if not row then core.raise("index", ("there is no trial %s in %s; gibbous sweep ls lists them"):format(number, store.folder)) end
  if row.state ~= "running" then
    core.raise("closed", ("trial %d is %s, not handed out: gibbous sweep ask hands one out"):format(row.number,
      row.state == "pending" and "pending" or row.class))
  end
  local e <const> = outcome(o, store:value "metric")
  e.seconds, e.ended = core.now() - (row.started or core.now()), core.now()
  if not store:acknowledge(row, e) then
    core.raise("closed", ("trial %d was ended by another process meanwhile"):format(row.number))
  end
  return ("%d  %s%s"):format(row.number, e.class, e.metric and ("  %.10g"):format(e.metric) or "")
end

return M

--- gibbous sweep ask and tell: a study whose trials something else runs. `ask` hands out a trial, `tell` says what it came to; the
-- store, the searches, tables and reports are those of every sweep. A trial that was handed out belongs to the process that started
-- `ask`, or to the one that is named: when that process ends without a word, the trial is pending again.
local core <const> = require "gibbous.core"
local failure <const> = require "gibbous.sweep.run.failure"
local machine <const> = require "gibbous.sweep.run.machine"
local raised <const> = require "gibbous.base.raised"
local text <const> = require "gibbous.sweep.show.text"

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
    return store:claim{host = host, pid = pid, started = started, limit = ALL, least = 0}
  end
  local row
  repeat row = claim() until row or not (more and more())      -- another process may claim what this one has added
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

local words_of_numbers <const> = {nan = 0 / 0, ["-nan"] = 0 / 0, inf = math.huge, infinity = math.huge, ["-inf"] = -math.huge,
  ["-infinity"] = -math.huge}

--- The number of a word, nil where it is none.
local function number_of(word) return tonumber(word) or words_of_numbers[word:lower()] end

--- The word that stands for a number in JSON, which has none for it; nil for a finite one.
local function word_of(v)
  if v ~= v then return "nan" end
  return math.abs(v) == math.huge and (v > 0 and "inf" or "-inf") or nil
end

--- The metric in an object of results; a word stands for one that is not finite.
local function metric_of(object, metric)
  local v <const> = object[metric]
  local number <const> = type(v) == "string" and number_of(v) or v
  if type(number) ~= "number" or type(v) == "string" and not word_of(number) then
    core.raise("option", ("the result has no number '%s', which is the study's metric"):format(metric))
  end
  return number
end

--- What a word says that a trial came to: a number, the metric; or a JSON object of results. Gives the object and the metric.
local function result_of(word, metric)
  local v <const> = number_of(word)
  if v then return {}, v end
  local ok <const>, object <const> = raised.attempt(core.json_decode, word)
  if not ok or type(object) ~= "table" then
    core.raise("option", ("a result is a number or a JSON object as '{\"rmse\": 0.1}', got '%s'%s"):format(word,
      word:find "^%s*{" and ("; nan and infinite numbers in it are strings: {\"%s\": \"nan\"}"):format(metric or "rmse") or ""))
  end
  return object, metric and metric_of(object, metric)
end

--- What ends a trial as the store keeps it. o: result (a word), failed (a message).
local function outcome(o, metric)
  if o.failed then
    return {class = "error", message = o.failed, fingerprint = failure.fingerprint("error", o.failed)}
  end
  local result <const>, v <const> = result_of(o.result, metric)
  local word <const> = v and word_of(v)
  if v then result[metric or "value"] = word or v end
  local e <const> = {class = "ok", result = core.json_encode(result), metric = metric and not word and v or nil}
  if word then
    e.class, e.message = "nan", ("the metric '%s' is %s"):format(metric or "value", word)
    e.fingerprint = failure.fingerprint("nan", e.message)
  end
  return e
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
  if not store:may_end(row) or not store:acknowledge(row, e) then
    core.raise("closed", ("trial %d was ended by another process meanwhile"):format(row.number))
  end
  return ("%d  %s%s"):format(row.number, e.class, e.metric and ("  %.10g"):format(e.metric) or "")
end

return M

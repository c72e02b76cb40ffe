--- One trial, in a process of its own: its parameters come from the store, its result goes there. What it prints is its log.
local admission <const> = require "gibbous.base.admission"
local core <const> = require "gibbous.core"
local failure <const> = require "gibbous.sweep.run.failure"
local memory <const> = require "gibbous.memory"
local object <const> = require "gibbous.base.object"
local printable <const> = require "gibbous.printable"
local prune <const> = require "gibbous.sweep.run.prune"
local seen <const> = require "gibbous.data.seen"

local M <const> = {}

local PATIENCE <const> = 3                 -- reports in a row that are no numbers

---@class gibbous.sweep.trial
---@field number integer   its place in the study, from 1
---@field seed integer     for all that is random in it
---@field dir string       a folder of its own, which exists
---@field params table     its parameters
local Trial <const> = {__name = "gibbous.sweep.trial"}
local methods <const> = object.methods(Trial, "a trial", "trial")

local private <const> = setmetatable({}, {__mode = "k"})     -- what a trial keeps to itself

function Trial.__index(self, key)
  if methods[key] then return methods[key] end
  object.no_field("a trial", key, methods, self)
end

function Trial.__newindex(_, key) core.raise("option", ("'%s' of a trial cannot be assigned to"):format(tostring(key))) end

function Trial:__tostring() return ("trial %d, seed %d"):format(self.number, self.seed) end

--- Ends the fit or the function that reports, at this line.
local function stop(t, class, words)
  t.stopped = {class = class, message = words}
  core.raise("interrupted", words)
end

--- Tells a value on the way: of a fit's step, an epoch. Where the study prunes, it may end the trial. step: a number, larger each
-- time.
function methods.report(self, step, value)
  local t <const> = private[self]
  if type(step) ~= "number" or type(value) ~= "number" then
    core.raise("option", ("trial:report takes two numbers, the step and its value, got %s and %s"):format(core.type(step),
      core.type(value)))
  end
  if t.dry then return end
  local finite <const> = value == value and math.abs(value) ~= math.huge
  t.store:report(t.row, step, finite and value or nil, core.clock() - t.began)
  t.bad = finite and 0 or t.bad + 1
  if t.bad >= PATIENCE then stop(t, "nan", ("%d reports in a row are no numbers, the last at step %g"):format(t.bad, step)) end
  if not finite then return end
  local better <const> = t.best == nil or (t.study.goal == "max") == (value > t.best)
  t.best = better and value or t.best
  local why <const> = t.study.prune and prune.verdict(t.store, t.row, self.params, t.study.prune, t.study.goal, step, t.best)
  if why then stop(t, "pruned", why) end
end

-- Memory ----------------------------------------------------------------------------------------------------------------------

--- Bytes that the ledger has held at most.
local function peak() return memory.report().peak end

--- Before a fit: where its plan, made as if all of the host's bytes were there, needs more than this trial has, the process ends,
-- to be started again with so much.
local function ask(t)
  return function(planned)
    memory.limit(t.limit)
    local ok <const>, bytes <const> = pcall(planned)
    memory.limit(t.row.room)
    if not ok then return end                -- the fit will say why
    local need <const> = math.min(memory.report().used + bytes, t.limit)
    if need <= t.row.room then return end
    t.store:release(t.row, {need = need})
    os.exit(M.AGAIN, true)
  end
end

--- The exit status of a trial that was released.
M.AGAIN = 98

--- The exit status of a trial that could not write what it came to.
M.UNTOLD = 97

-- Results ---------------------------------------------------------------------------------------------------------------------

local function plain(v, name, depth)
  local kind <const> = math.type(v) or type(v)
  if kind == "float" and (v ~= v or math.abs(v) == math.huge) then return v ~= v and "nan" or v > 0 and "inf" or "-inf" end
  if kind == "integer" or kind == "float" or kind == "string" or kind == "boolean" then return v end
  local t <const> = core.as_tensor(v)
  if t and #t.shape == 0 then return plain(t:item(), name, depth) end
  if kind ~= "table" or t or depth > 8 then
    core.raise("option", ("the result of run: '%s' is a %s; results are numbers, strings, booleans and tables of them, anything "
      .. "larger goes to a file in trial.dir"):format(name, core.type(v)))
  end
  local out <const> = {}
  for key, one in pairs(v) do out[key] = plain(one, tostring(key), depth + 1) end
  return out
end

--- What run gave, as a table of plain values.
local function checked(result)
  if type(result) == "number" then result = {value = result} end
  if result == nil then return {} end
  if type(result) ~= "table" or core.as_tensor(result) then
    core.raise("option", ("run must give a table as {rmse = 0.1} or a number, got %s"):format(core.type(result)))
  end
  return plain(result, "result", 0)
end

--- The value of the study's metric in a result; an error where there is none.
local function metric_of(study, result)
  local name <const> = study.metric
  if not name then return nil end
  local v <const> = result[name]
  if v == nil then
    local names <const> = {}
    for key in pairs(result) do names[#names + 1] = tostring(key) end
    table.sort(names)
    core.raise("option", ("the metric '%s' is not in the result of run, which has %s"):format(name,
      #names > 0 and table.concat(names, ", ") or "nothing"))
  end
  if type(v) ~= "number" and v ~= "nan" and v ~= "inf" and v ~= "-inf" then
    core.raise("option", ("the metric '%s' must be a number, got the %s %s"):format(name, type(v), tostring(v)))
  end
  return v
end

local function outcome(t, ok, result)
  local stopped <const> = t.stopped
  if not ok then
    local class <const> = stopped and stopped.class or failure.of_error(result.error)
    local text <const> = stopped and stopped.message or result.text
    return {class = class, message = text, fingerprint = class ~= "pruned" and failure.fingerprint(class, text) or nil}
  end
  local metric <const> = metric_of(t.study, result)
  local o <const> = {class = "ok", result = core.json_encode(result), metric = type(metric) == "number" and metric or nil}
  if stopped then o.class, o.message = stopped.class, stopped.message end
  if metric and not o.metric and o.class == "ok" then
    o.class, o.message = "nan", ("the metric '%s' is %s"):format(t.study.metric, metric)
    o.fingerprint = failure.fingerprint("nan", o.message)
  end
  return o
end

-- Running ---------------------------------------------------------------------------------------------------------------------

--- Runs the study's function for a claimed row and acknowledges what came out. o: limit (bytes of the host), environment (digest).
-- Gives the class.
function M.run(study, store, row, o)
  local params <const> = core.json_decode(row.params)
  local folder <const> = store:folder_of(row.id)
  core.make_folder(folder)
  local trial <const> = setmetatable({number = row.number, seed = row.seed, dir = folder, params = params}, Trial)
  local t <const> = {study = study, store = store, row = row, limit = o.limit, began = core.clock(), bad = 0}
  private[trial] = t
  core.seed(row.seed)
  math.randomseed(row.seed)
  memory.limit(row.room)
  admission.answers(ask(t))
  local ok <const>, result <const> = xpcall(function() return checked(study.run(params, trial)) end, function(err)
    return {error = err, text = core.traceback(failure.text(err), 2)}
  end)
  memory.limit(o.limit)
  local last <const>, last_result <const> = pcall(outcome, t, ok, result)
  local out <const> = last and last_result
    or {class = "error", message = failure.text(last_result), fingerprint = failure.fingerprint("error", failure.text(last_result))}
  out.seconds, out.ended, out.peak, out.environment = core.clock() - t.began, core.now(), peak(), o.environment
  local digests <const> = {}
  for path, digest in pairs(seen.digests()) do digests[printable(path)] = digest end
  out.data = next(digests) and core.json_encode(digests) or nil
  if out.message then io.stderr:write(out.message, "\n") end
  local told <const>, why <const> = pcall(store.acknowledge, store, row, out)
  if not told then
    io.stderr:write("gibbous: ", failure.text(why), "\n")
    os.exit(M.UNTOLD, true)
  end
  return out.class
end

--- A trial of no store, which keeps nothing that is reported.
function M.unattached(params, folder)
  local trial <const> = setmetatable({number = 0, seed = 1, dir = folder, params = params}, Trial)
  private[trial] = {dry = true}
  return trial
end

--- Runs the study's function up to its first fit, and prints "need BYTES"; "plain" where it has none.
function M.dry(study, params, limit)
  local folder <const> = os.tmpname()
  os.remove(folder)
  core.make_folder(folder)
  local trial <const> = M.unattached(params, folder)
  memory.limit(limit)
  admission.answers(function(planned)
    print(("need %d"):format(memory.report().used + planned()))
    os.remove(folder)
    os.exit(0, true)
  end)
  study.run(params, trial)
  os.remove(folder)
  print "plain"
  return true
end

return M

--- gibbous sweep VERB SCRIPT ...: runs studies, and shows what they came to. Each verb gives true, or the exit status.
local changed_data <const> = require "gibbous.sweep.run.changed_data"
local core <const> = require "gibbous.core"
local devices <const> = require "gibbous.sweep.run.devices"
local identity <const> = require "gibbous.sweep.run.identity"
local look <const> = require "gibbous.sweep.show.look"
local machine <const> = require "gibbous.sweep.run.machine"
local raised <const> = require "gibbous.base.raised"
local results <const> = require "gibbous.sweep.store.results"
local script <const> = require "gibbous.sweep.script"
local search <const> = require "gibbous.sweep.search"
local space <const> = require "gibbous.sweep.search.space"
local store <const> = require "gibbous.sweep.store"
local text <const> = require "gibbous.sweep.show.text"
local words_of <const> = require "gibbous.sweep.words"

local verbs <const> = {}
for name, f in pairs(look.verbs) do verbs[name] = f end

local UNFINISHED <const>, REQUEUE <const>, INTERRUPTED <const>, TERMINATED <const> = 3, 99, 130, 143

-- Registering -----------------------------------------------------------------------------------------------------------------

--- The trials of a study as the store takes them.
local function identified(study, code, trials)
  local out <const> = {}
  for i, t in ipairs(trials) do
    local params <const> = core.json_encode(t.params)
    out[i] = {id = identity.trial(t.params, code), params = params, cell = identity.cell(t.cell),
      seed = identity.seed(t.params, study.seed), need = machine.need(study, t.params)}
  end
  return out
end

--- Finished trials whose data files have changed since become pending. Gives how many.
local function recheck_data(self)
  local n = 0
  for _, data in ipairs(changed_data(self)) do n = n + self:again("data = ? AND wanted = 1", data) end
  return n
end

local function keep_script(self, path, code)
  local f <const> = io.open(path, "rb")
  local content <const> = f and f:read "a" or ""
  if f then f:close() end
  local digest <const> = self:keep("script", content)
  self:set("script", digest)
  self:set("script of " .. code, digest)
  self:set("script_path", path)
end

--- The store of a study, which consists of the trials of the script from now on. Says what changed.
local function register(study, code, path, folder, carrier)
  local self <const> = store.open(folder, "create", carrier)
  local damage <const> = self:damage()
  if damage then io.stderr:write("gibbous: ", damage, "\n") end
  local before <const> = self:value "code"
  if not search.learns(study) then
    local kept <const> = self:want(identified(study, code, space.trials(study)), code)
    local stale <const> = self.db:rows "SELECT COUNT(*) AS n FROM trial WHERE wanted = 0 AND state = 'done'"[1].n
    if before and before ~= code and stale > 0 then
      io.stderr:write(("gibbous: the code of the trials has changed: %d finished ones are of the older code and stay in the store, "
        .. "%d are new\n"):format(stale, kept))
    end
  end
  if search.learns(study) then self:want_code(code) end
  self:set("code", code)
  self:set("name", study.name)
  self:set("metric", study.metric)
  self:set("goal", study.goal)
  self:set("cells", search.learns(study) and study.trials or nil)
  keep_script(self, path, code)
  local changed <const> = recheck_data(self)
  if changed > 0 then io.stderr:write(("gibbous: data files have changed: %d finished trials run again\n"):format(changed)) end
  self:recover((select(3, machine.process())), machine.is_alive)
  return self
end

-- Running ---------------------------------------------------------------------------------------------------------------------

local run_options <const> = {j = "count", jobs = "count", store = "string", limit = "string", ["keep-going"] = "flag",
  ["retry-failed"] = "flag", quiet = "flag", journal = "flag"}

local function lock(folder, carrier)
  local held <const> = store.lock(folder, carrier)
  if not held then
    core.raise("io", ("another `gibbous sweep run` works on %s: wait for it, or help it with `gibbous sweep work SCRIPT`")
      :format(folder))
  end
  return held
end

--- A function that adds the trials of the next cell of a search, and says whether there are any; nil where none learns.
local function proposer(study, self)
  return search.learns(study) and search.proposer(study, self, function(trials)
    return self:add(identified(study, self:value "code", trials), self:value "code", study.trials)
  end) or nil
end

local LIMIT <const> = "gibbous sweep: the limit"

local function coordinate(study, self, path, o, rest, stays)
  local coordinator <const> = require "gibbous.sweep.run.coordinator"
  local more <const> = proposer(study, self)
  return coordinator.run(study, self, path, {jobs = o.j or o.jobs or machine.jobs(study.devices, study.share),
    limit = machine.limit(o.limit or study.limit, LIMIT), devices = devices.of(study, o.limit or study.limit),
    keep_going = o["keep-going"], quiet = o.quiet,
    words = rest, more = more, stays = stays})
end

--- Says which signal asked for the end, and gives the status for it: a worker's says that it may be started again.
local function asked_to_end(alone)
  local signal <const> = core.heeded()
  io.stderr:write(("gibbous: %s; the same line goes on from here\n"):format(signal and "ended by signal " .. signal:upper()
    or "interrupted"))
  return not signal and INTERRUPTED or (signal == "usr1" or not alone) and REQUEUE or TERMINATED
end

--- Runs the pending trials of the study; alone: as the only one that says so. A signal that asks for the end (USR1: its time is
-- nearly over; TERM) gives running trials back.
local function run_study(words, alone)
  local path <const>, o <const>, rest <const> = words_of(words, run_options, "SCRIPT")
  local study <const>, code <const> = script.load(path, rest)
  machine.limit(o.limit or study.limit, LIMIT)       -- a mistake is told before anything is kept
  local folder <const> = script.folder(study, o.store)
  local carrier <const> = o.journal and "journal" or nil
  local held <close> = alone and lock(folder, carrier) or nil
  local self <close> = register(study, code, path, folder, carrier)
  if o["retry-failed"] then self:again "wanted = 1 AND state = 'failed'" end
  local ok <const>, result <const> = pcall(coordinate, study, self, path, o, rest, alone)
  if held then held:close() end
  print(text.summary(study, self))
  if not ok then
    if raised.is(result, "interrupted") then return asked_to_end(alone) end
    io.stderr:write("gibbous: the sweep stops here; what trials came to is kept, and the same line goes on from there\n")
    if not raised.is(result, "io") then error(result, 0) end               -- a mistake
    io.stderr:write(("gibbous: %s\n"):format(result))
    return UNFINISHED
  end
  if result.halted then io.stderr:write("gibbous: ", result.halted, "\n") end
  return (result.halted or text.tally(self).failed > 0) and UNFINISHED or true
end

local function run(words, alone)
  core.heed()
  local ok <const>, result <const> = pcall(run_study, words, alone)
  if ok then return result end
  if not raised.is(result, "interrupted") then error(result, 0) end
  return asked_to_end(alone)                         -- while the script was read, or the study entered in its store
end

function verbs.run(words) return run(words, true) end
function verbs.work(words) return run(words, false) end

function verbs.ask(words)
  local path <const>, o <const>, rest <const> = words_of(words, {store = "string", holder = "count", json = "flag",
    journal = "flag"}, "SCRIPT")
  local study <const>, code <const> = script.load(path, rest)
  local self <close> = register(study, code, path, script.folder(study, o.store), o.journal and "journal" or nil)
  local more <const> = proposer(study, self)
  core.defer(true)                                   -- what is claimed is said: else its holder would have it and not know
  print(require "gibbous.sweep.run.ask".ask(self, {holder = o.holder, json = o.json, more = more and function()
    return core.interruptible(more)
  end}))
  io.flush()
  core.defer(false, true)
  return true
end

function verbs.tell(words)
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string", failed = "string"}, "SCRIPT|STORE",
    "the number of a trial and what it came to")
  if #rest ~= (o.failed and 1 or 2) then
    core.raise("option", "it needs the number of a trial, and either its result or --failed MESSAGE")
  end
  local study <const> = store.is(where) and {} or script.load(where)
  local self <close> = store.open(study.name and script.folder(study, o.store) or where, "write")
  print(require "gibbous.sweep.run.ask".tell(self, rest[1], {result = rest[2], failed = o.failed}))
  return true
end

--- gibbous sweep trial SCRIPT STORE ID TOKEN LIMIT PARENT ...: what coordinators start.
function verbs.trial(words)
  local path <const>, folder <const>, id <const>, token <const>, limit <const>, parent <const> = table.unpack(words, 1, 6)
  if not core.bind(math.tointeger(tonumber(parent)), true) then return false end
  space.deferred = true
  local study <const> = script.load(path, {table.unpack(words, 7)})
  local self <close> = store.open(folder, "write")
  require "gibbous.sweep.run.coordinator".one(study, self, id, token, math.tointeger(tonumber(limit)))
  return true
end

--- gibbous sweep dry SCRIPT PARAMS LIMIT PARENT: prints what the first fit of a trial needs.
function verbs.dry(words)
  local path <const>, params <const>, limit <const>, parent <const> = table.unpack(words)
  if not core.bind(math.tointeger(tonumber(parent))) then return false end
  space.deferred = true
  return require "gibbous.sweep.run.trial".dry(script.load(path), core.json_decode(params), math.tointeger(tonumber(limit)))
end

--- gibbous sweep room PARENT: prints the bytes that the device of this process has.
function verbs.room(words)
  return core.bind(math.tointeger(tonumber(words[1]))) and devices.tell()
end

-- Looking ---------------------------------------------------------------------------------------------------------------------

function verbs.ls(words)
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string", all = "flag", class = "string"}, "SCRIPT|STORE")
  local class <const> = look.class(o)
  local self <close> = look.open(where, o, rest)
  local rows <const> = {{"trial", "parameters", "state", self:value "metric" or "metric", "seconds", "peak", "what"}}
  local lost <const> = self:lost()
  for _, t in ipairs(self:trials(o.all and "1" or "wanted = 1")) do
    if not class or t.class == class then
      rows[#rows + 1] = {tostring(t.number), text.params(t.params),
        (t.wanted == 0 and "stale " or "") .. results.state(t, lost),
        t.metric and ("%.6g"):format(t.metric) or "",
        t.seconds and ("%.1f"):format(t.seconds) or "", t.peak and ("%.1f MiB"):format(t.peak / 2 ^ 20) or "",
        ((t.message or ""):match "^[^\n]*":gsub("%c", " "))}
    end
  end
  print(require "gibbous.text.table"(rows))
  return true
end

function verbs.show(words)
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string"}, "SCRIPT|STORE", "N")
  local self <close> = look.open(where, o)
  if #rest > 1 then core.raise("option", ("it shows one trial, got %d numbers"):format(#rest)) end
  print(require "gibbous.sweep.show.page"(self, look.trial(self, rest[1]).row))
  return true
end

function verbs.plan(words)
  local path <const>, o <const>, rest <const> = words_of(words, run_options, "SCRIPT")
  local study <const>, code <const> = script.load(path, rest)
  local limit, device = machine.limit(o.limit or study.limit, "the limit"), nil
  for i, d in ipairs(devices.of(study, o.limit or study.limit) or {}) do      -- what fits one of them fits
    if i == 1 or d.limit > limit then limit, device = d.limit, d.name end
  end
  local forecast <const> = require "gibbous.sweep.run.forecast"
  return forecast(study, path, identified(study, code, space.trials(study)), script.folder(study, o.store), {
    jobs = o.j or o.jobs or machine.jobs(study.devices, study.share), limit = limit, device = device,
  })
end

function verbs.rerun(words)
  local where <const>, o <const>, rest <const> = words_of(words, {store = "string", failed = "flag", class = "string"},
    "SCRIPT|STORE")
  local class <const> = look.class(o)
  if not class and not o.failed and #rest == 0 then
    core.raise("option", "it needs numbers of trials, --failed or --class CLASS")
  end
  local study <const> = store.is(where) and {} or script.load(where)
  local self <close> = store.open(study.name and script.folder(study, o.store) or where, "write")
  local numbers <const> = {}
  for i, word in ipairs(rest) do numbers[i] = look.trial(self, word).number end
  local n = 0
  if class then n = self:again("wanted = 1 AND class = ?", class)
  elseif o.failed then n = self:again "wanted = 1 AND state = 'failed'" end
  for _, number in ipairs(numbers) do n = n + self:again("number = ?", number) end
  print(("%d trials are pending again; gibbous sweep run runs them"):format(n))
  return true
end

local slurm_options <const> = {j = "count", jobs = "count", store = "string", time = "string", array = "count",
  ["at-once"] = "count", cpus = "count", mem = "string", gpus = "count", partition = "string"}

function verbs.slurm(words)
  local path <const>, o <const>, rest <const> = words_of(words, slurm_options, "SCRIPT")
  local study <const> = script.load(path, rest)
  io.write(require "gibbous.sweep.run.slurm".text(study, path, {jobs = o.j or o.jobs or machine.jobs(study.devices, study.share),
    store = o.store, time = o.time or "24h", array = o.array or 1, at_once = o["at-once"], cpus = o.cpus, memory = o.mem,
    gpus = o.gpus, partition = o.partition}, rest))
  return true
end

function verbs.replay(words)
  local path <const>, o <const>, rest <const> = words_of(words, {store = "string", except = "string", limit = "string"},
    "SCRIPT", "N")
  local number <const> = table.remove(rest, 1)
  local study <const>, code <const> = script.load(path, rest)
  local self <close> = store.open(script.folder(study, o.store), "read")
  return require "gibbous.sweep.run.replay"(study, self, look.trial(self, number), path, {code = code, words = rest,
    limit = machine.limit(o.limit or study.limit, "--limit"), devices = devices.of(study, o.limit or study.limit),
    except = o.except})
end

--- Runs a verb.
return function(words)
  return require "gibbous.commands.verbs"(verbs, words, "sweep", "run, work, plan, watch, ls, show, rerun, replay, ask, tell, "
    .. "table, diff, plot, export, report, slurm; gibbous help gibbous sweep VERB says what one does")
end

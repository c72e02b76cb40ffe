--- Runs the trials of a study that are pending: claims one where there is room, starts its process, waits, and tells what came of
-- it. Several coordinators, on one host or more, share a store; each takes what is pending.
--
-- A signal that asks for the end comes only where this process waits, or where a search thinks (core.interruptible). Then all that
-- is claimed is in the list of what runs, which is given back whole however often the end is asked for.
local core <const> = require "gibbous.core"
local failure <const> = require "gibbous.sweep.run.failure"
local holders <const> = require "gibbous.sweep.store.holders"
local line <const> = require "gibbous.text.progress_line"
local log <const> = require "gibbous.sweep.run.log"
local machine <const> = require "gibbous.sweep.run.machine"
local text <const> = require "gibbous.sweep.show.text"
local trial <const> = require "gibbous.sweep.run.trial"

local M <const> = {}

local LEAST <const> = 64 << 20             -- bytes of a trial of which nothing is known
local BEAT <const> = 10                    -- seconds between two signs of life
local GRACE <const> = 5                    -- seconds between asking a process to end and ending it
local SAY <const> = 1                      -- seconds between two looks at how far the sweep is
local FIRST <const>, ROW <const> = 3, 5    -- failures of one cause in a row that stop a sweep: before any trial was ok, after it
local LIMITS <const> = {oom = true, timeout = true}      -- what comes of parameters, as more rows, rather than of a mistake

-- Processes -------------------------------------------------------------------------------------------------------------------

--- Where a trial of this process might run now: devices to which it has given less than their share, those with the fewest trials
-- first; what no device is named for is one place, the host.
local function places(self)
  if not self.devices then return {{limit = self.limit}} end
  local out <const>, count <const> = {}, {}
  for _, device in ipairs(self.devices) do
    local n = 0
    for _, r in ipairs(self.running) do n = n + (r.device == device and 1 or 0) end
    if n < self.study.share then out[#out + 1], count[device] = device, n * #self.devices + #out end
  end
  table.sort(out, function(a, b) return count[a] < count[b] end)
  return out
end

--- Threads are shared out; the bits of a result do not depend on their number.
local function environment(self, row, device)
  local list <const> = {"GIBBOUS_TRIAL=" .. row.id}
  if not os.getenv "GIBBOUS_THREADS" then
    list[#list + 1] = ("GIBBOUS_THREADS=%d"):format(math.max(1, core.devices()[1].threads // self.jobs))
  end
  if device.name then list[#list + 1] = "GIBBOUS_DEVICE=" .. device.name end
  return list
end

local function start(self, row, device)
  local folder <const> = self.store:folder_of(row.id)
  core.make_folder(folder)
  local words <const> = {"/proc/self/exe", "sweep", "trial", self.script, self.store.folder, row.id, row.token,
    tostring(device.limit), tostring(self.pid)}
  for _, word in ipairs(self.words) do words[#words + 1] = word end
  local log_path <const> = folder .. "/log.txt"
  local child <const> = core.child(words, environment(self, row, device), log_path, self.guard)
  local pid <const> = child:pid()
  local _, began <const> = machine.process(pid)
  self.running[#self.running + 1] = {row = row, device = device, child = child, began = core.clock(), log = log_path, left_out = 0}
  self.store:started(row, pid, began or 0)
end

--- Asks for a trial, and starts it. False where none is to be had now.
local function take(self)
  if #self.running >= self.jobs then return false end
  for _, device in ipairs(places(self)) do
    local row <const> = self.store:claim{host = self.host, pid = self.pid, started = self.since, limit = device.limit,
      least = math.min(self.least, device.limit), device = device.place, share = device.name and self.study.share}
    if row then
      local ok <const>, why <const> = pcall(start, self, row, device)
      if ok then return true end
      self.store:release(row, {})
      error(why, 0)
    end
  end
  return false
end

-- Ends ------------------------------------------------------------------------------------------------------------------------

--- A trial that had too few bytes is tried again with twice as many, where there are more.
local function grows(self, row, limit)
  if row.class ~= "oom" or row.room >= limit or row.attempts >= 4 then return false end
  return self.store:grow(row, math.min(2 * row.room, limit))
end

--- Do failures alike in a row tell of a mistake, which the trials to come would meet as well?
local function is_systematic(self, class)
  if self.alike < FIRST then return false end
  if not self.store:has_done() then return true end
  return self.alike >= ROW and not LIMITS[class]
end

local function note_failure(self, row)
  self.failures = self.failures + 1
  if row.fingerprint == self.cause then self.alike = self.alike + 1 else self.cause, self.alike = row.fingerprint, 1 end
  if not self.keep_going and is_systematic(self, row.class) then
    self.halted = ("%d trials in a row failed alike, so the sweep stops here; --keep-going runs the others"):format(self.alike)
  end
end

--- A trial whose result could not be written is pending, and so are the others.
local function halt_untold(self, r)
  self.store:release(r.row, {})
  self.halted = ("trial %d could not write what it came to, so the sweep stops here: is the disk full? Its log: %s"):format(
    r.row.number, r.log)
end

--- What a trial came to, that has ended.
local function settle(self, r, how)
  self.store:collect(r.row)
  local row = self.store:trial(r.row.id)
  if row.token == r.row.token then           -- its process ended before it could tell
    local class <const>, message <const> = failure.of_process(how, r.stopped, self.study.time or 0)
    if class == "interrupted" then return self.store:release(r.row, {}) end
    if how.exit == trial.UNTOLD then return halt_untold(self, r) end
    self.store:acknowledge(r.row, {class = class, message = message, fingerprint = failure.fingerprint(class, message),
      seconds = core.clock() - r.began, ended = core.now(), resident = how.peak})
    row = self.store:trial(r.row.id)
  else
    self.store:measured(r.row, how.peak)
  end
  if row.attempts ~= r.row.attempts or row.state == "pending" then return end      -- released for more room
  if grows(self, row, r.device.limit) then return end
  self.ended = self.ended + 1
  if row.state == "done" then
    self.alike, self.cause = 0, nil
  else
    line.clear()
    io.stderr:write(text.failed(row, self.store), "\n")
    note_failure(self, row)
  end
end

--- The process has ended; those that it started and left behind end with it.
local function reap(self, at)
  local r <const> = table.remove(self.running, at)
  r.child:signal "kill"
  log.trim(r.log, r.left_out)
  settle(self, r, r.child:reap())
end

--- Ends trials that take longer than they may: a signal first, so that buffers are written, then the end.
local function watch_time(self, now)
  local most <const> = self.study.time
  for _, r in ipairs(self.running) do
    local over <const> = most and now - r.began - most or -1
    if over >= 0 and not r.stopped then
      r.stopped = "timeout"
      r.child:signal "term"
    elseif over >= GRACE then
      r.child:signal "kill"
    end
  end
end

local function watch_logs(self)
  for _, r in ipairs(self.running) do r.left_out = log.trim(r.log, r.left_out) end
end

local function beat(self, now)
  if now - self.last_beat < BEAT then return end
  self.last_beat = now
  local ids <const> = {}
  for i, r in ipairs(self.running) do ids[i] = r.row.id end
  self.store:beat(self.host, ids)
  self.store:recover(self.host, machine.is_alive)
end

-- The loop --------------------------------------------------------------------------------------------------------------------

local function say(self, now)
  if self.quiet or now - self.said.last < SAY or not line.is_due(self.said, now) then return end
  line.say(text.status(self.study, self.store, #self.running, now - self.start))
end

local function wait(self)
  local children <const> = {}
  for i, r in ipairs(self.running) do children[i] = r.child end
  local at <const> = core.interruptible(core.wait, children, 0.25)
  if at then reap(self, at) end
end

--- Does a trial of this host run whose coordinator is gone? It is about to end, too.
local function has_orphans(self)
  for _, t in ipairs(self.store:trials("wanted = 1 AND state = 'running' AND host = ?", self.host)) do
    if not holders.is_claimant_there(t.token, machine.is_alive) then return true end
  end
  return false
end

--- Is anything left for this process, which runs nothing? Trials of processes that are gone become pending; those that are pending
-- may have no room beside what others run. stays: it waits for the others' trials, too.
local function left(self, stays)
  local store <const> = self.store
  if store:recover(self.host, machine.is_alive) > 0 or store:has_pending() then return true end
  if stays then return store:is_open() end
  return has_orphans(self)
end

--- Does a search add trials now? Not while some wait for room.
local function adds(self, more)
  return more and #self.running < self.jobs and not self.store:has_pending() and core.interruptible(more)
end

--- Takes trials until no more may run beside one another, or none is to be had.
local function fill(self, more)
  while not self.halted do
    if not take(self) and not adds(self, more) then return end
    core.interruptible(core.wait, {}, 0)
  end
end

--- No trial of this process stays behind as running. Where one cannot be given back, as in a store that another process has locked,
-- neither can the others: they are taken for pending, for their processes are gone.
local function close(self)
  local ok, why = true, nil
  for _, r in ipairs(self.running) do r.child:signal "kill" end
  for _, r in ipairs(self.running) do r.child:close() end
  for _, r in ipairs(self.running) do
    if ok then ok, why = pcall(self.store.release, self.store, r.row, {}) end
  end
  self.running = {}
  self.guard:close()
  core.defer(false, true)
  if not ok then error(why, 0) end
end

--- Runs until nothing is pending, or Ctrl-C. study, store, script (its path), code; o: jobs, limit (bytes, where no device is
-- named), devices, least, keep_going, quiet, words (of the script), stays (until trials of other processes have ended), more (adds
-- trials to the store where a search has some, gives true then). Gives {ended, failures, halted}.
function M.run(study, store, script, o)
  local pid <const>, since <const>, host <const> = machine.process()
  local self <const> = {study = study, store = store, script = script, words = o.words or {}, pid = pid, since = since,
    host = host, jobs = o.jobs, limit = o.limit, devices = o.devices, least = o.least or LEAST, keep_going = o.keep_going,
    quiet = o.quiet, running = {}, ended = 0, failures = 0, alike = 0, start = core.clock(), last_beat = core.clock(),
    said = {last = core.clock()}, guard = core.guard()}
  local _ <close> = setmetatable({}, {__close = function() close(self) end})
  core.defer(true)
  while true do
    fill(self, o.more)
    if #self.running == 0 and (self.halted or not left(self, o.stays)) then break end
    wait(self)
    local now <const> = core.clock()
    watch_time(self, now)
    watch_logs(self)
    beat(self, now)
    say(self, now)
  end
  if not self.quiet then line.clear() end
  return {ended = self.ended, failures = self.failures, halted = self.halted}
end

--- Runs a trial that a coordinator has claimed, in this process, which ends with its parent.
function M.one(study, store, id, token, limit)
  local row <const> = store:claimed(id, token)
  if not row then
    core.raise("closed", ("trial %s is not this process's: it was given to another, or ended"):format(id))
  end
  local about <const> = store:keep("environment", core.json_encode(require "gibbous.commands.doctor".facts()))
  return trial.run(study, store, row, {limit = limit, environment = about})
end

return M

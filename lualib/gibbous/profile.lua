--- gb.profile: which steps took how long, by script line.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local table_text <const> = require "gibbous.text.table"
local timing <const> = require "gibbous.timing"

local LISTED <const> = 40                  -- rows that are printed

local Profile <const> = object.record("gibbous.profile", "the report of gb.profile",
  "core_seconds folds json measured opaques pairs predicted")
local Row <const> = object.record("gibbous.profile_row", "a row of gb.profile", "predicted bound")
local methods <const> = object.methods(Profile, "the report of gb.profile", "p")

local fields <const> = Profile.__index
function Profile.__index(self, key)
  local method <const> = methods[key]
  if method ~= nil then return method end
  return fields(self, key)
end

-- Text ------------------------------------------------------------------------------------------------------------------------

local function head(self)
  local parts <const> = {timing.duration(self.seconds), ("of it in steps %s"):format(timing.duration(self.device)),
    counted(self.steps, "step")}
  if self.folds then
    parts[#parts + 1] = ("%s (%d pairs)  %d library calls  peak %.1f MiB"):format(counted(self.folds, "fold"), self.pairs,
      self.opaques, self.measured / 2 ^ 20)
  end
  if self.missed > 0 then
    parts[#parts + 1] = ("%s more, whose times the device does not tell"):format(counted(self.missed, "step"))
  end
  return table.concat(parts, "  ")
end

function Profile.__tostring(self)
  local rows <const> = {{"line", "op", "device", "carrier", "calls", "seconds", "%", "bytes", "predicted"}}
  for i = 1, math.min(#self, LISTED) do
    local r <const> = self[i]
    rows[i + 1] = {r.line == "" and "-" or r.line, r.op, r.device, r.carrier, tostring(r.calls), timing.duration(r.seconds),
      ("%.1f"):format(self.device > 0 and 100 * r.seconds / self.device or 0), timing.scaled(r.bytes) .. "B",
      r.predicted and timing.duration(r.predicted) or ""}
  end
  local lines <const> = {head(self)}
  if #self > 0 then lines[2] = table_text(rows) end
  if #self > LISTED then lines[#lines + 1] = ("and %s more"):format(counted(#self - LISTED, "row")) end
  return table.concat(lines, "\n")
end

-- Chrome's trace format: chrome://tracing and Perfetto read it ---------------------------------------------------------------

--- As JSON: an event a step, a thread a device, microseconds from the beginning.
function methods.json(self)
  local thread <const>, list <const> = {}, {}
  for _, name in ipairs(self._devices) do
    thread[name] = #list + 1
    list[#list + 1] = {name = "thread_name", ph = "M", pid = 1, tid = thread[name], args = {name = name}}
  end
  for _, e in ipairs(self._events) do
    local r <const> = self._rows[e.row]
    list[#list + 1] = {name = r.op, cat = r.carrier, ph = "X", pid = 1, tid = thread[r.device],
      ts = (e.from - self._began) * 1e6, dur = (e.to - e.from) * 1e6,
      args = {line = r.line, carrier = r.carrier, kernel = r.kernel, bytes = r.bytes / r.calls}}
  end
  if #list == 0 then
    return ('{"displayTimeUnit": "ms", "traceEvents": [], "otherData": {"dropped": %d}}'):format(self.dropped)
  end
  return core.json_encode{displayTimeUnit = "ms", traceEvents = list, otherData = {dropped = self.dropped}}
end

-- Recording -------------------------------------------------------------------------------------------------------------------

local function by_seconds(a, b)
  if a.seconds ~= b.seconds then return a.seconds > b.seconds end
  if a.line ~= b.line then return a.line < b.line end
  return a.op < b.op
end

--- The report of what a trace has seen in so many seconds.
local function report(trace, seconds)
  local seen <const> = core.traced(trace)
  local p <const> = {seconds = seconds, device = timing.total(seen.rows, "seconds"), steps = timing.total(seen.rows, "calls"),
    predicted = timing.total(seen.rows, "predicted"), dropped = seen.dropped, missed = seen.missed, _rows = seen.rows,
    _events = seen.events, _began = seen.began, _devices = {}}
  local known <const> = {}
  for i, row in ipairs(seen.rows) do
    p[i] = setmetatable(row, Row)
    if not known[row.device] then p._devices[#p._devices + 1] = row.device end
    known[row.device] = true
  end
  p._rows = table.move(p, 1, #p, 1, {})                    -- as events number them
  table.sort(p, by_seconds)
  return setmetatable(p, Profile)
end

local recording <const> = {}               -- traces of "on", the last one last

local function on()
  recording[#recording + 1] = {trace = core.trace(true), began = core.clock()}
end

local function off()
  local last <const> = table.remove(recording)
  if last == nil then core.raise("option", 'gb.profile: "off" without an "on" before it') end
  core.synchronize()
  local trace <close> = last.trace
  return report(trace, core.clock() - last.began)
end

--- Runs f once and computes its values again, as gb.time does.
local function run(f)
  local _ <close> = core.measure()
  local trace <close> = core.trace(true)
  local began <const> = core.clock()
  timing.observe(f())
  core.synchronize()
  local p <const> = report(trace, core.clock() - began)
  local all <const> = core.measured()
  p.core_seconds, p.folds, p.pairs, p.opaques, p.measured = all.seconds, all.folds, all.pairs, all.opaques, all.measured
  return p
end

--- gb.profile(f) runs f once; gb.profile "on" records what the script computes from here on, gb.profile "off" gives the report.
---@param what function|string
return function(what, ...)
  if select("#", ...) > 0 then core.raise("option", "gb.profile: one argument expected, got " .. 1 + select("#", ...)) end
  if what == "on" then return on() end
  if what == "off" then return off() end
  if type(what) == "string" then
    core.raise("option", ('gb.profile: a function, "on" or "off" expected, got the string "%s"'):format(what))
  end
  timing.check_function(what, "gb.profile")
  return run(what)
end

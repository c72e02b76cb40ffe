--- gb.time: what a function costs, by two clocks, with the tensors that it returns evaluated inside the measurement. Nothing is
-- remembered from one run to the next: an expression that f builds again is computed again, and so is what a lazy tensor from
-- outside is made of, unless it had its value before. What is built after a measurement does not find its values either.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local Result <const> = object.record("gibbous.timing", "the report of gb.time", "first remembered predicted bound share waits")

--- Three digits, without an exponent.
local function digits(v) return (v < 999.5 and "%.3g" or "%.0f"):format(v) end

--- Seconds as a text.
function M.duration(s)
  if s < 999.5e-6 then return digits(s * 1e6) .. " us" end
  if s < 999.5e-3 then return digits(s * 1e3) .. " ms" end
  return digits(s) .. " s"
end
local duration <const> = M.duration

--- A number of bytes or operations as a text: 1.5 G.
function M.scaled(v)
  for _, unit in ipairs{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} do
    if v >= 0.9995 * unit[1] then return ("%s %s"):format(digits(v / unit[1]), unit[2]) end
  end
  return digits(v) .. " "
end
local scaled <const> = M.scaled

-- What is said of the runs beside their seconds -----------------------------------------------------------------------------

local function work_line(self)
  if self.steps == 0 and self.missed > 0 then
    return ("%s ran, and the device does not tell their times"):format(counted(self.missed, "step"))
  end
  if self.steps == 0 then
    return "nothing was computed: no step ran, f returns no tensor or values that were there already"
  end
  local parts <const> = {("device %s  %s  %sB  %sflop"):format(duration(self.device), counted(self.steps, "step"),
    scaled(self.bytes), scaled(self.flops))}
  if self.share then parts[#parts + 1] = ("%.0f %% of the bound %s"):format(self.share * 100, duration(self.bound)) end
  return table.concat(parts, "  ")
end

local function waits_line(self)
  if self.device > self.wall then return "steps of several devices ran at the same time" end
  local parts <const> = {}
  for i, w in ipairs(self.waits) do
    if i <= 3 then
      parts[i] = ("%s %s"):format(duration(w.seconds), w.op and ("before %s%s"):format(w.op,
        w.line ~= "" and (" (%s)"):format(w.line) or "") or "after the last step")
    end
  end
  return "no step ran for " .. table.concat(parts, ", ")
end

function Result.__tostring(self)
  local sure <const> = self.coverage >= 0.95 and ("  95 %% %s to %s"):format(duration(self.low), duration(self.high)) or ""
  local lines <const> = {("median %s%s  fastest %s  slowest %s  (%s)"):format(duration(self.median), sure,
    duration(self.fastest), duration(self.slowest), counted(self.runs, "run")), "  " .. work_line(self)}
  if self.remembered then
    lines[#lines + 1] = ("  %s of the first run %s remembered by f and did not run again"):format(
      counted(self.remembered, "step"), self.remembered == 1 and "was" or "were")
  end
  if self.waits and self.steps > 0 then lines[#lines + 1] = "  " .. waits_line(self) end
  return table.concat(lines, "\n")
end

-- One run -----------------------------------------------------------------------------------------------------------------------

--- Evaluates every tensor among the values, also inside tables.
function M.observe(...)
  local found <const> = {}
  local function visit(v, depth)
    if core.as_tensor(v) ~= nil then
      found[#found + 1] = v
    elseif type(v) == "table" and depth < 8 then
      for _, inner in pairs(v) do visit(inner, depth + 1) end
    end
  end
  for i = 1, select("#", ...) do visit((select(i, ...)), 0) end
  core.eval(found)
end

--- Seconds that f takes, its results included, and what its steps took.
local function measured(f)
  local _ <close> = core.measure()
  local trace <close> = core.trace()
  local began <const> = core.clock()
  M.observe(f())
  core.synchronize()
  local ended <const> = core.clock()
  local run <const> = core.traced(trace)
  run.began, run.ended, run.wall = began, ended, ended - began
  return run
end

--- The sum of a field over all rows; nil where one has none.
function M.total(rows, field)
  local sum = 0
  for _, row in ipairs(rows) do
    if row[field] == nil then return nil end
    sum = sum + row[field]
  end
  return sum
end
local total <const> = M.total

-- Where nothing ran -------------------------------------------------------------------------------------------------------------

local SLACK <const>, SHARE <const> = 20e-6, 0.05           -- by which the two clocks may differ: seconds, and of the wall's

--- The times of a run in which no step ran, the longest first: before which step, or after the last one.
local function waits_of(run)
  local events <const> = table.move(run.events, 1, #run.events, 1, {})
  table.sort(events, function(a, b)
    if a.from ~= b.from then return a.from < b.from end
    return a.to > b.to
  end)
  local list <const>, upto = {}, run.began
  local function wait(to, row)
    if to > upto then list[#list + 1] = {seconds = to - upto, line = row and row.line, op = row and row.op} end
  end
  for _, e in ipairs(events) do
    wait(math.min(e.from, run.ended), run.rows[e.row])
    upto = math.max(upto, e.to)
  end
  wait(run.ended, nil)
  table.sort(list, function(a, b) return a.seconds > b.seconds end)
  return list
end

-- Many runs ---------------------------------------------------------------------------------------------------------------------

--- The least j so that the j-th of n sorted values and the j-th from above contain the median with 95 %, by the binomial
-- distribution of how many lie below it; and with what probability they do. Of five values and fewer none do: the extremes.
local function interval(n)
  if n > 500 then return math.floor((n - 1.959964 * math.sqrt(n)) / 2), 0.95 end
  local term, below, j = 0.5 ^ n, 0.0, 0                   -- P(exactly j below), P(fewer than j below)
  while 2 * (below + term) <= 0.05 do
    below = below + term
    term = term * (n - j) / (j + 1)
    j = j + 1
  end
  if j == 0 then return 1, math.max(0, 1 - 2 * term) end
  return j, 1 - 2 * below
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

local function check_function(f, what)
  local meta <const> = getmetatable(f)
  if type(f) ~= "function" and not (type(meta) == "table" and meta.__call) then
    core.raise("option", ("%s: a function expected, got %s"):format(what, core.type(f)))
  end
end
M.check_function = check_function

local SETTLING <const> = 3                 -- runs at most after which a device is asked whether it compiles

--- Runs that do not count. Kernels that are compiled meanwhile are waited for, and used by one run more.
local function warm_up(f, count, compile)
  local first
  for _ = 1, count do
    local run <const> = measured(f)
    first = first or run
  end
  for _ = 1, count > 0 and compile ~= false and SETTLING or 0 do
    if not core.settle() then break end
    measured(f)
  end
  return first
end

--- Steps of the first run of a kind (line, op, device) that no later run has: their values were remembered. Of other kinds a run
-- may have more or fewer, since f decides.
local function remembered(first, later)
  local seen <const>, count = {}, 0
  local function kind(row) return table.concat({row.line, row.op, row.device}, "\0") end
  for _, row in ipairs(later) do seen[kind(row)] = true end
  for _, row in ipairs(first) do
    if not seen[kind(row)] then count = count + row.calls end
  end
  return count > 0 and count or nil
end

--- Of some runs the one that took nearest to so many seconds.
local function nearest(runs, seconds)
  local best
  for _, run in pairs(runs) do
    if best == nil or math.abs(run.wall - seconds) < math.abs(best.wall - seconds) then best = run end
  end
  return best
end

local function report(times, device, first, kept)
  local wall <const> = median(times)
  local typical <const> = nearest(kept, wall)
  local rows <const> = typical.rows
  local j <const>, coverage <const> = interval(#times)
  local r <const> = {median = wall, low = times[j], high = times[#times + 1 - j], coverage = coverage, runs = #times,
    fastest = times[1], slowest = times[#times], wall = wall, device = median(device), steps = total(rows, "calls"),
    bytes = total(rows, "bytes"), flops = total(rows, "flops"), predicted = total(rows, "predicted"),
    bound = total(rows, "bound"), missed = typical.missed}
  if r.bound and r.device > 0 then r.share = r.bound / r.device end
  if first then
    r.first, r.remembered = first.wall, remembered(first.rows, rows)
  end
  r.agree = math.abs(r.wall - r.device) <= SHARE * r.wall + SLACK
  if not r.agree then r.waits = waits_of(typical) end
  return setmetatable(r, Result)
end

local KEPT <const> = 16                    -- runs whose steps are remembered, the last ones

--- Runs f at least 'runs' times (3) and for 'seconds' (0.05); the first 'warmup' runs (1) do not count.
---@return table  median low high coverage runs fastest slowest wall device steps bytes flops predicted bound share agree waits
function M.time(f, opts)
  check_function(f, "gb.time")
  local o <const> = options.parse(opts, {runs = "count", repeats = "count", seconds = "positive", warmup = "count",
    compile = "boolean"}, "gb.time")
  local runs <const>, seconds <const> = o.runs or o.repeats or 3, o.seconds or 0.05
  local first <const> = warm_up(f, o.warmup or 1, o.compile)
  local times <const>, device <const>, kept <const> = {}, {}, {}
  local start <const> = core.clock()
  repeat
    local run <const> = measured(f)
    times[#times + 1], device[#device + 1] = run.wall, total(run.rows, "seconds")
    kept[#times % KEPT] = run
  until #times >= runs and core.clock() - start >= seconds
  return report(times, device, first, kept)
end

return M

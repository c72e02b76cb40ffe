--- gb.bench and gb.profile: what a function costs, with the tensors it returns evaluated inside the measurement. Nothing is
-- remembered from one run to the next: an expression that f builds again is computed again, and so is what a lazy tensor from
-- outside is made of, unless it had its value before. What is built after a measurement does not find its values either.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.object"
local options <const> = require "gibbous.options"

local M <const> = {}

local Result <const> = object.record("gibbous.timing", "the report of gb.bench", "")

local function duration(s)
  if s < 1e-3 then return ("%.3g us"):format(s * 1e6) end
  if s < 1 then return ("%.3g ms"):format(s * 1e3) end
  return ("%.3g s"):format(s)
end

function Result.__tostring(self)
  return ("median %s  fastest %s  slowest %s  (%d runs)"):format(duration(self.median), duration(self.fastest),
    duration(self.slowest), self.runs)
end

-- Evaluates every tensor among the values, also inside tables.
local function observe(...)
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

-- Seconds that f takes, its results included.
local function measured(f)
  local _ <close> = core.measure()
  local began <const> = core.clock()
  observe(f())
  return core.clock() - began
end

local function check_function(f, what)
  local meta <const> = getmetatable(f)
  if type(f) ~= "function" and not (type(meta) == "table" and meta.__call) then
    core.raise("option", ("%s: a function expected, got %s"):format(what, core.type(f)))
  end
end

--- Runs f at least 'runs' times (5) and for 'seconds' (0.5); the first 'warmup' runs (1) do not count.
---@return table  median fastest slowest runs
function M.bench(f, opts)
  check_function(f, "gb.bench")
  local o <const> = options.parse(opts, {runs = "count", seconds = "positive", warmup = "count"}, "gb.bench")
  local runs <const>, seconds <const> = o.runs or 5, o.seconds or 0.5
  for _ = 1, o.warmup or 1 do measured(f) end
  local times <const>, start <const> = {}, core.clock()
  repeat
    times[#times + 1] = measured(f)
  until #times >= runs and core.clock() - start >= seconds
  table.sort(times)
  return setmetatable({median = times[(#times + 1) // 2], fastest = times[1], slowest = times[#times], runs = #times}, Result)
end

local Profile <const> = object.record("gibbous.profile", "the report of gb.profile", "")

function Profile.__tostring(self)
  return ("%s  of it in the core %s  %d folds (%d pairs)  %d library calls  peak %.1f MiB"):format(duration(self.seconds),
    duration(self.core_seconds), self.folds, self.pairs, self.opaques, self.measured / 2^20)
end

--- Runs f once: wall seconds, and what the evaluations in it did.
---@return table  seconds core_seconds folds pairs opaques measured
function M.profile(f)
  check_function(f, "gb.profile")
  local seconds <const>, run <const> = measured(f), core.measured()
  return setmetatable({seconds = seconds, core_seconds = run.seconds, folds = run.folds, pairs = run.pairs,
    opaques = run.opaques, measured = run.measured}, Profile)
end

return M

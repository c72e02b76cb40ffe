--- Sums, means and extremes of the values that are there, by group; NaN counts for nothing.
local core <const> = require "gibbous.core"
local segments <const> = require "gibbous.tensor.segments"

local M <const> = {}

--- What a column of numbers needs: x, labels (n), k, the number of values of each group.
local function facts(v, labels, k)
  local x <const> = v.dtype == "bool" and v:to{dtype = "f64"} or v
  local there <const> = x.dtype:find("f", 1, true) and ~x:isnan() or core.ones(#x, {dtype = "i64"}):gt(0)
  return {x = x, labels = labels, k = k, there = there, count = segments.segment_sum(there:to{dtype = "i64"}, labels, k)}
end

local function filled(f, by) return f.x.dtype == "i64" and f.x or core.where(f.there, f.x, by) end

local function or_missing(f, v) return f.x.dtype == "i64" and v or core.where(f.count:gt(0), v, 0 / 0) end

local function sum(f) return segments.segment_sum(filled(f, 0), f.labels, f.k) end

local function mean(f) return sum(f):to{dtype = "f64"} / f.count:to{dtype = "f64"} end

local function std(f)
  local x <const> = f.x:to{dtype = "f64"}
  local apart <const> = core.where(f.there, (x - mean(f):index(1, f.labels)) ^ 2, 0)
  local rest <const> = f.count:to{dtype = "f64"} - 1
  return (segments.segment_sum(apart, f.labels, f.k) / core.where(rest:gt(0), rest, 0 / 0)):sqrt()
end

local of <const> = {
  sum = sum,
  mean = mean,
  std = std,
  count = function(f) return f.count end,
  min = function(f) return or_missing(f, segments.segment_min(filled(f, math.huge), f.labels, f.k)) end,
  max = function(f) return or_missing(f, segments.segment_max(filled(f, -math.huge), f.labels, f.k)) end,
}

--- The statistic of this name of v (n) in each of k groups.
function M.of(name, v, labels, k)
  if k == 0 then return core.zeros(0) end
  return of[name](facts(v, labels, k)):eval()
end

return M

--- What the figures of a study share. s: {store, trials, name, metric, goal}.
local core <const> = require "gibbous.core"
local results <const> = require "gibbous.sweep.store.results"
local statistics <const> = require "gibbous.sweep.show.statistics"

local M <const> = {}

M.LINES = 400                              -- of one figure, at most
M.TICKS = 12                               -- names along an axis, at most

function M.shown(v) return type(v) == "number" and ("%.4g"):format(v) or type(v) == "string" and v or core.json_encode(v) end

--- Cells with a value: {params, mean, se, n, number (of the first trial)}.
function M.means(s)
  local out <const> = {}
  for _, c in ipairs(results.cells(s.trials, s.metric)) do
    local m <const> = statistics.summary(c.values)
    if m.n > 0 and math.abs(m.mean) < math.huge then
      out[#out + 1] = {params = c.params, mean = m.mean, se = m.se or 0, n = m.n, trials = c.trials}
    end
  end
  if #out == 0 then core.raise("option", ("no trial that ended well has a finite '%s' yet"):format(s.metric)) end
  return out
end

function M.ends(list, of)
  local lo, hi = math.huge, -math.huge
  for _, one in ipairs(list) do lo, hi = math.min(lo, of(one)), math.max(hi, of(one)) end
  return lo, hi
end

--- The best of a list by the goal.
function M.best_of(list, goal, of)
  local best = list[1]
  for _, one in ipairs(list) do
    if (goal == "max") == (of(one) > of(best)) and of(one) ~= of(best) then best = one end
  end
  return best
end

--- Is an axis of numbers better shown by ratios?
function M.is_log(axis)
  local v <const> = axis.values
  if not axis.numeric or #v < 3 or v[1] <= 0 or v[#v] / v[1] < 100 then return false end
  return v[math.ceil(#v / 2)] < (v[1] + v[#v]) / 4
end

--- Where a value is on its axis: numbers as they are, others by their place.
function M.place(axis, v) return axis.numeric and v or axis.place[results.key(v)] end

--- Ticks of an axis that has words, or few numbers.
function M.ticks(axis)
  if axis.numeric and #axis.values > M.TICKS then return nil end
  local out <const> = {}
  for i, v in ipairs(axis.values) do out[i] = {M.place(axis, v), M.shown(v)} end
  return out
end

function M.varied(s)
  local axes <const> = results.varied(results.axes(s.trials))
  if #axes == 0 then core.raise("option", "no parameter of the study has two values, so there is nothing to draw it against") end
  return axes
end

return M

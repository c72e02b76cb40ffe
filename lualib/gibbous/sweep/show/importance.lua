--- Which axes a metric depends on: the share of its variance that each axis explains alone (functional ANOVA: Hutter, Hoos and
-- Leyton-Brown, 2014, on the trials themselves), what only several axes together explain, and what the repeats scatter.
local results <const> = require "gibbous.sweep.store.results"

local M <const> = {}

local BINS <const> = 8                     -- of an axis of numbers with more values, at most

--- The group of each value of an axis, and their number: its place, or one of 2 to 8 of equal size, fewer where there are few of n
-- values.
local function groups(axis, n)
  if not axis.numeric or #axis.values <= BINS and #axis.values * 2 <= n then return axis.place, #axis.values end
  local out <const>, count <const> = {}, math.max(2, math.min(BINS, math.floor(math.sqrt(n / 2))))
  for i, v in ipairs(axis.values) do out[results.key(v)] = math.ceil(i * count / #axis.values) end
  return out, count
end

--- A share less what so many groups of n values explain by chance: the adjusted coefficient of determination, 0 at least.
local function adjusted(share, count, n)
  if n <= count then return 0.0 end
  return math.max(0.0, 1 - (1 - share) * (n - 1) / (n - count))
end

--- The sum of squares between the means of groups of values around the mean of all. group(i): of the i-th value.
local function between(values, mean, group)
  local sum <const>, count <const>, square = {}, {}, 0.0
  for i, v in ipairs(values) do
    local g <const> = group(i)
    sum[g], count[g] = (sum[g] or 0) + v - mean, (count[g] or 0) + 1
  end
  for g, s in pairs(sum) do square = square + s * s / count[g] end
  return square
end

--- Does every cell of the grid have as many values?
local function is_balanced(cells, axes)
  local want = 1
  for _, axis in ipairs(axes) do want = want * #axis.values end
  if #cells ~= want then return false end
  for _, c in ipairs(cells) do
    if #c.values ~= #cells[1].values then return false end
  end
  return true
end

---@class gibbous.sweep.importance
---@field axes {name: string, share: number}[]   the largest first
---@field together number   what several axes explain together and none alone; of no whole grid, the rest
---@field repeats number    what is left among equal parameters
---@field balanced boolean  does every combination have as many trials? Where not, shares are less what chance explains
---@field n integer

--- trials: gibbous.sweep.result[]. nil where fewer than three have the metric, or all have one value.
---@return gibbous.sweep.importance?
function M.of(trials, metric)
  local axes <const> = results.varied(results.axes(trials))
  local cells <const> = results.cells(trials, metric)
  local values <const>, owner <const>, mean = {}, {}, 0.0
  for _, c in ipairs(cells) do
    for _, v in ipairs(c.values) do
      if math.abs(v) < math.huge then values[#values + 1], owner[#values + 1] = v, c end
    end
  end
  for i, v in ipairs(values) do mean = mean + (v - mean) / i end
  local total <const> = between(values, mean, function(i) return i end)
  if #values < 3 or not (total > 0) then return nil end
  local out <const> = {axes = {}, balanced = is_balanced(cells, axes), n = #values}
  local alone = 0.0
  for i, axis in ipairs(axes) do
    local group, count = axis.place, #axis.values
    if not out.balanced then group, count = groups(axis, #values) end
    local share = between(values, mean, function(k)
      return group[results.key(owner[k].params[axis.name])] or 0       -- 0: of the cells that do not have the axis
    end) / total
    if not out.balanced then share = adjusted(share, count, #values) end
    out.axes[i], alone = {name = axis.name, share = share}, alone + share
  end
  table.sort(out.axes, function(a, b)
    if a.share ~= b.share then return a.share > b.share end
    return a.name < b.name
  end)
  local of_cells <const> = between(values, mean, function(k) return owner[k].cell end) / total
  out.together, out.repeats = math.max(0.0, of_cells - alone), 1 - of_cells
  return out
end

return M

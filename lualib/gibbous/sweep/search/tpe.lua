--- Search by tree-structured Parzen estimators. The cells that have ended are divided into the better ones and the others; each
-- group is a density, a mean of kernels around its cells and of the whole space. Of points drawn from the density of the better
-- ones the next cell is the one where it is largest relative to that of the others, which is where the expected improvement is. A
-- kernel is a product over the axes, so that axes that matter together are seen together; an axis that only one of two cells has
-- counts as the whole space. Cells that run and cells that failed are among the others.
-- Source: Bergstra, Bardenet, Bengio and Kegl (2011), Algorithms for Hyper-Parameter Optimization, section 4. Cost: O(n d) a point.
local core <const> = require "gibbous.core"
local identity <const> = require "gibbous.sweep.run.identity"
local space <const> = require "gibbous.sweep.search.space"

local M <const> = {}

local POINTS <const> = 48                  -- drawn, of which one is taken
local SHARE <const>, MOST <const> = 0.15, 25   -- of the cells that are the better ones, and how many at most
local WIDTH <const>, LEAST <const> = 0.2, 0.01     -- of a kernel, on an axis of length 1: of one cell alone; at least
local DRAWS <const> = 512                  -- of the whole space, where no point is new

-- Densities -------------------------------------------------------------------------------------------------------------------

---@class gibbous.sweep.parzen
---@field axes table[]
---@field at table[]       for each cell by axis: where it lies in (0, 1), the index of its value; nil where the axis is not there
---@field width number[]   of the kernels of each axis of numbers

local function index_of(axis, v)
  local text <const> = core.json_encode(v)
  for j, one in ipairs(axis.values) do
    if core.json_encode(one) == text then return j end
  end
end

--- Where a cell lies: a number an axis of numbers, an index another; false where it does not have the axis.
local function located(axes, cell)
  local at <const> = {}
  for k, axis in ipairs(axes) do
    local v <const> = cell[axis.name]
    if v == nil then at[k] = false
    elseif axis.values then at[k] = index_of(axis, v) or false
    else at[k] = space.place(axis, v) end
  end
  return at
end

--- How far neighbouring whole numbers are apart on an axis, at its low end; 0 of other axes.
local function step_of(axis)
  local r <const> = axis.range
  if not r or not r.whole then return 0 end
  return math.min(space.place(axis, r.low + 1) - space.place(axis, r.low), 1)
end

--- The density of cells. Kernels are narrower the more cells there are, and no narrower than half the step of whole numbers.
local function parzen(axes, cells)
  local at <const>, width <const> = {}, {}
  for i, c in ipairs(cells) do at[i] = located(axes, c) end
  local shrunk <const> = WIDTH * (#cells + 1) ^ (-1 / (#axes + 4))
  for k, axis in ipairs(axes) do width[k] = math.max(shrunk, LEAST, step_of(axis) / 2) end
  return {axes = axes, at = at, width = width}
end

--- The normal density around m, reflected at the ends of [0, 1], so that it integrates to one there.
local function reflected(x, m, w)
  local function bell(d) return math.exp(-0.5 * (d / w) ^ 2) end
  return (bell(x - m) + bell(x + m) + bell(2 - x - m)) / (w * math.sqrt(2 * math.pi))
end

--- The probability of a value of a list under the kernel of another: most is its own, some of all.
local function of_value(j, own, n, cells)
  local spread <const> = 1 / (cells + 1)
  return ((j == own and 1 or 0) + spread) / (1 + n * spread)
end

--- The density at a place that located() gave.
function M.density(p, x)
  local n <const> = #p.at
  local sum = 0
  for i = 0, n do                          -- 0: the kernel of the whole space
    local product = 1
    for k, axis in ipairs(p.axes) do
      local v <const>, m <const> = x[k], i > 0 and p.at[i][k]
      if v and axis.values then
        product = product * (m and of_value(v, m, #axis.values, n) or 1 / #axis.values)
      elseif v and m then
        product = product * reflected(v, m, p.width[k])
      end
    end
    sum = sum + product
  end
  return sum / (n + 1)
end

M.parzen, M.located = parzen, located

-- Drawing ---------------------------------------------------------------------------------------------------------------------

--- x on the other side of the ends of [0, 1], until it is within.
local function fold(x)
  x = math.abs(x) % 2
  return math.min(x > 1 and 2 - x or x, 1 - 1e-12)
end

--- Points of [0, 1)^d that have the density p, made of uniform numbers (d + 1 a point) and normal ones (d a point).
local function drawn(p, uniform, normal)
  local points <const>, n <const> = {}, #p.at
  for i, u in ipairs(uniform) do
    local from <const> = p.at[math.floor(u[#u] * (n + 1))]       -- nil: the whole space
    local point <const> = {}
    for k, axis in ipairs(p.axes) do
      local m <const> = from and from[k]
      if not m then point[k] = u[k]
      elseif axis.values then
        local q <const> = of_value(m, m, #axis.values, n)        -- its own value, else any of the others
        local j <const> = u[k] < q and m or 1 + math.floor((u[k] - q) / (1 - q) * (#axis.values - 1))
        point[k] = ((u[k] >= q and j >= m and j + 1 or j) - 0.5) / #axis.values
      else
        point[k] = fold(m + p.width[k] * normal[i][k])
      end
    end
    points[i] = point
  end
  return points
end

-- The search ------------------------------------------------------------------------------------------------------------------

--- The better cells and the others. list: as search.lua knows it.
function M.divided(list)
  local ranked <const>, others <const> = {}, {}
  for i, c in ipairs(list) do
    if c.value then ranked[#ranked + 1] = {value = c.value, cell = c.cell, place = i} else others[#others + 1] = c.cell end
  end
  table.sort(ranked, function(a, b)
    if a.value ~= b.value then return a.value < b.value end
    return a.place < b.place
  end)
  local better <const> = {}
  for i, c in ipairs(ranked) do
    local into <const> = i <= math.min(math.ceil(SHARE * #ranked), MOST) and better or others
    into[#into + 1] = c.cell
  end
  return better, others
end

--- The first cell of points that was not tried, by falling score where there is one.
local function first_new(study, points, tried, score)
  local best, best_score
  for _, u in ipairs(points) do
    local cell <const> = space.cell(study.space, u)
    if not tried[identity.cell(cell)] then
      if not score then return cell end
      local s <const> = score(cell)
      if not best or s > best_score then best, best_score = cell, s end
    end
  end
  return best
end

--- The cell to try next; nil where no new one is found.
local function next_cell(study, list)
  local axes <const>, d <const>, seed <const> = study.space, #study.space, 2 * (study.seed * 1000003 + #list)
  local tried <const> = {}
  for _, c in ipairs(list) do tried[c.key] = true end
  if d == 0 then return first_new(study, {{}}, tried) end
  local better <const>, others <const> = M.divided(list)
  local good <const>, bad <const> = parzen(axes, better), parzen(axes, others)
  local uniform <const> = core.rand(POINTS, d + 1, {seed = seed, dtype = "f64"}):totable()
  local normal <const> = core.randn(POINTS, d, {seed = seed + 1, dtype = "f64"}):totable()
  return first_new(study, drawn(good, uniform, normal), tried, function(cell)
    local x <const> = located(axes, cell)
    return math.log(M.density(good, x)) - math.log(M.density(bad, x))
  end) or first_new(study, space.draws("sobol", DRAWS, d, seed), tried)
end

return setmetatable(M, {__call = function(_, study, list) return next_cell(study, list) end})

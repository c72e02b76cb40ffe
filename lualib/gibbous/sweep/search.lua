--- A search by a Gaussian process: the next cell of a study is where the expected improvement of its metric is largest, by a model
-- of the cells that have ended. Cells that run count as ended with the mean that the model predicts, cells that failed with the
-- worst value.
local core <const> = require "gibbous.core"
local identity <const> = require "gibbous.sweep.identity"
local space <const> = require "gibbous.sweep.space"

local M <const> = {}

local CANDIDATES <const>, NEAR <const> = 512, 256      -- points over the whole space, points near the best
local RESTARTS <const>, STEPS <const> = 1, 60          -- of the fit of the model

--- How many cells are drawn before a model is fitted.
local function initial(study) return math.min(study.trials, math.max(5, 2 * #study.space + 1)) end

local REAL <const>, MARGIN <const> = 1e-3, 0.1         -- improvements, in standard deviations of the values

-- Points of the unit cube and cells -------------------------------------------------------------------------------------------

local function cell_of(study, u)
  local cell <const> = {}
  for k, axis in ipairs(study.space) do cell[axis.name] = space.canonical(space.at(axis, u[k])) end
  return cell
end

local function place(range, v)
  if range.log then return math.log(v / range.low) / math.log(range.high / range.low) end
  return (v - range.low) / (range.high - range.low)
end

--- What the model sees of a cell: a number for an axis of numbers, one for each value of another.
local function features(study, cell)
  local x <const> = {}
  for _, axis in ipairs(study.space) do
    local v <const> = cell[axis.name]
    if axis.range then
      x[#x + 1] = place(axis.range, v)
    else
      local text <const> = core.json_encode(v)
      for _, one in ipairs(axis.values) do x[#x + 1] = core.json_encode(one) == text and 1 or 0 end
    end
  end
  return x
end

-- What is known ---------------------------------------------------------------------------------------------------------------

--- The cells that were tried, in order: {cell, value (mean of the metric over repeats that ended well, signed so that less is
-- better; nil while none has), ended (nothing of it runs or waits)}.
local function known(study, store)
  local sign <const> = study.goal == "max" and -1 or 1
  local list <const> = {}
  for _, r in ipairs(store.db:rows [[SELECT cell, AVG(CASE WHEN class = 'ok' THEN metric END) AS mean, MIN(number) AS first,
      SUM(state IN ('pending', 'running')) AS left FROM trial WHERE wanted = 1 GROUP BY cell ORDER BY first]]) do
    list[#list + 1] = {cell = core.json_decode(r.cell), key = r.cell, value = r.mean and sign * r.mean, ended = r.left == 0}
  end
  return list
end

--- Inputs, values of cells that have any, and inputs of those that run without one.
local function data(study, list)
  local x <const>, y <const>, waiting <const>, worst = {}, {}, {}, -math.huge
  for _, c in ipairs(list) do worst = math.max(worst, c.value or -math.huge) end
  for _, c in ipairs(list) do
    local v <const> = c.value or c.ended and worst
    local into <const> = v and v ~= -math.huge and x or waiting
    into[#into + 1] = features(study, c.cell)
    if into == x then y[#y + 1] = v end
  end
  return x, y, waiting
end

-- The model -------------------------------------------------------------------------------------------------------------------

local function fitted(x, y, seed)
  local gb <const> = require "gibbous"
  local ys <const> = gb.data.standardize(gb.tensor(y, {dtype = "f64"}))
  local xs <const> = gb.tensor(x, {dtype = "f64"})
  local m <const> = gb.gp.exact{kernel = gb.kernels.matern52{ard = true}, noise = 1e-2}
  m:fit(xs, ys, {restarts = RESTARTS, steps = STEPS, seed = seed})
  return m, ys
end

--- By how much a cell must be better to count: by nothing; by MARGIN for every other cell since the last real improvement, so that
-- a search leaves a place that has no more to give. y: standardised values, in the order of their cells.
local function margin(y)
  local best, since = math.huge, 0
  for _, v in ipairs(y) do
    since = v < best - REAL and 0 or since + 1
    best = math.min(best, v)
  end
  return since % 2 == 1 and MARGIN or 0
end

--- Points to choose from: over the cube, and around the best cell at three distances.
local function candidates(study, best, seed)
  local d <const> = #study.space
  local points <const> = space.draws("sobol", CANDIDATES, d, seed)
  if not best then return points end
  local moves <const> = core.randn(NEAR, d, {seed = seed, dtype = "f64"}):totable()
  for i, move in ipairs(moves) do
    local u <const> = {}
    for k, axis in ipairs(study.space) do
      local v <const> = best[axis.name]
      local at
      if axis.range then
        at = place(axis.range, v)
      else
        for j, one in ipairs(axis.values) do
          if core.json_encode(one) == core.json_encode(v) then at = (j - 0.5) / #axis.values end
        end
      end
      u[k] = math.max(0, math.min(1 - 1e-12, at + move[k] * ({0.02, 0.1, 0.3})[i % 3 + 1]))
    end
    points[#points + 1] = u
  end
  return points
end

--- Cells that were not tried yet, with the features of each.
local function fresh(study, points, list)
  local tried <const>, cells <const>, x <const> = {}, {}, {}
  for _, c in ipairs(list) do tried[c.key] = true end
  for _, u in ipairs(points) do
    local cell <const> = cell_of(study, u)
    local key <const> = identity.cell(cell)
    if not tried[key] then
      tried[key] = true
      cells[#cells + 1], x[#x + 1] = cell, features(study, cell)
    end
  end
  return cells, x
end

--- The cell to try next; nil where every one was tried.
local function next_cell(study, list)
  local gb <const> = require "gibbous"
  local x <const>, y <const>, waiting <const> = data(study, list)
  local seed <const> = study.seed + #list
  local best
  for _, c in ipairs(list) do best = c.value and (not best or c.value < best.value) and c or best end
  local cells <const>, at <const> = fresh(study, candidates(study, best and best.cell, seed), list)
  if #cells == 0 or #y < 2 then return cells[1] end
  local m, ys = fitted(x, y, seed)
  local incumbent <const> = ys:min():item() - margin(ys:totable())
  if #waiting > 0 then
    local w <const> = gb.tensor(waiting, {dtype = "f64"})
    m = m:condition(w, m:predict(w).mean:eval())
  end
  local p <const> = m:predict(gb.tensor(at, {dtype = "f64"}))
  local gain <const> = gb.bo.log_ei(p.mean, p.f_var:sqrt(), incumbent)
  return cells[gain:argmax():item()]
end

--- A function that adds a cell to the store where the search wants one, and says whether it did. add: takes trials of
-- space.repeated; it adds none where other processes have taken the last cells meanwhile.
function M.proposer(study, store, add)
  local drawn <const> = space.draws("sobol", initial(study), #study.space, study.seed)
  return function()
    local list <const> = known(study, store)
    if #list >= study.trials then return false end
    local cell
    if #list < #drawn then cell = cell_of(study, drawn[#list + 1]) else cell = next_cell(study, list) end
    if not cell then return false end
    return add(space.repeated(study, cell)) > 0
  end
end

return M

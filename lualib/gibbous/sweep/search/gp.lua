--- Search by a Gaussian process: the next cell is where the expected improvement of the metric is largest, by a model of the cells
-- that have ended. Cells that run count as ended with the mean that the model predicts, cells that failed with the worst value.
local core <const> = require "gibbous.core"
local identity <const> = require "gibbous.sweep.run.identity"
local space <const> = require "gibbous.sweep.search.space"

local CANDIDATES <const>, NEAR <const> = 512, 256      -- points over the whole space, points near the best
local RESTARTS <const>, STEPS <const> = 1, 60          -- of the fit of the model
local REAL <const>, MARGIN <const> = 1e-3, 0.1         -- improvements, in standard deviations of the values

-- Points of the unit cube and cells -------------------------------------------------------------------------------------------

--- What the model sees of a cell: a number for an axis of numbers, one for each value of another; of an axis that the cell does not
-- have, the middle and zeros.
local function features(study, cell)
  local x <const> = {}
  for _, axis in ipairs(study.space) do
    local v <const> = cell[axis.name]
    if axis.range then
      x[#x + 1] = space.place(axis, v)
    else
      local text <const> = v ~= nil and core.json_encode(v) or nil
      for _, one in ipairs(axis.values) do x[#x + 1] = core.json_encode(one) == text and 1 or 0 end
    end
  end
  return x
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
      local at <const> = space.place(axis, best[axis.name])
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
    local cell <const> = space.cell(study.space, u)
    local key <const> = identity.cell(cell)
    if not tried[key] then
      tried[key] = true
      cells[#cells + 1], x[#x + 1] = cell, features(study, cell)
    end
  end
  return cells, x
end

--- The cell to try next; nil where every one was tried.
return function(study, list)
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

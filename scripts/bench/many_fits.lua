--- Fits many models one after the other in this process and says what stayed. Shared by thousand_fits.lua and a spec.
local gb <const> = require "gibbous"
local support <const> = require "support"

local M <const> = {}
local kinds <const> = {"rbf", "matern12", "matern32", "matern52", "rational_quadratic"}

--- Data number i: 40 to 49 points, so that structures come back, and are not all the same. Evaluations of the objective,
-- processor seconds.
function M.fit(i)
  local cpu <const> = os.clock()
  local n <const> = 40 + i % 10
  local x <const> = gb.rand(n, 2, {seed = i}):eval()
  local y <const> = ((4 * x:select(2, 1)):sin() + x:select(2, 2) + 0.1 * gb.randn(n, {seed = i + 1000000})):eval()
  local m <const> = gb.gp.exact{kernel = gb.kernels[kinds[i % #kinds + 1]]{ard = true}, noise = gb.param(0.1, {min = 1e-4})}
  local info <const> = m:fit(x, y, {steps = 15})
  local p <const> = m:predict(gb.rand(30, 2, {seed = 2 * i}))
  gb.eval(p.mean, p.y_var)
  return info.evaluations, os.clock() - cpu
end

--- Fits models from .. to, one after the other: evaluations, processor seconds.
function M.fit_all(from, to)
  local evaluations, seconds = 0, 0.0
  for i = from, to do
    local e <const>, s <const> = M.fit(i)
    evaluations, seconds = evaluations + e, seconds + s
  end
  return evaluations, seconds
end

--- Bytes held by tensors and by Lua after a full collection, and those of the process.
local function held()
  collectgarbage()
  gb.zeros(1):eval()                                   -- an evaluation lets go of what only dead expressions had cached
  collectgarbage()
  local report <const> = gb.memory.report()
  return report.used, report.lua, support.process_bytes "VmRSS"
end

--- Fits models 1 .. count after 'warm' that do not count. Rows of 'each' fits: evaluations, processor seconds, and what is held.
function M.rows(count, each, warm)
  M.fit_all(1, warm)
  local rows <const> = {}
  for from = 1, count, each do                         -- made now, so that they are no growth
    rows[#rows + 1] = {fits = math.min(count, from + each - 1), evaluations = 0, seconds = 0.0, used = 0, lua = 0, process = 0.0}
  end
  for r, row in ipairs(rows) do
    row.evaluations, row.seconds = M.fit_all((r - 1) * each + 1, row.fits)
    row.used, row.lua, row.process = held()
  end
  return rows
end

return M

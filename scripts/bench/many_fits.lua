--- Fits many models one after the other in this process and says what stayed. Shared by thousand_fits.lua and a spec.
local gb <const> = require "gibbous"
local support <const> = require "support"

local kinds <const> = {"rbf", "matern12", "matern32", "matern52", "rational_quadratic"}

--- Data number i: 40 to 49 points, so that structures come back, and are not all the same.
local function fit(i)
  local n <const> = 40 + i % 10
  local x <const> = gb.rand(n, 2, {seed = i}):eval()
  local y <const> = ((4 * x:select(2, 1)):sin() + x:select(2, 2) + 0.1 * gb.randn(n, {seed = i + 1000000})):eval()
  local m <const> = gb.gp.exact{kernel = gb.kernels[kinds[i % #kinds + 1]]{ard = true}, noise = gb.param(0.1, {min = 1e-4})}
  local info <const> = m:fit(x, y, {steps = 15})
  local p <const> = m:predict(gb.rand(30, 2, {seed = 2 * i}))
  gb.eval(p.mean, p.y_var)
  return info.evaluations
end

--- Processor seconds of a fixed piece of arithmetic: how fast the machine is at this moment.
local function pace()
  local start <const>, x = os.clock(), 0.5
  for _ = 1, 300000 do x = 3.9 * x * (1 - x) end
  assert(x > 0 and x < 1)
  return os.clock() - start
end

--- Fits 'count' models after 'warm' that do not count. Rows of a hundred fits each: evaluations, processor seconds, and after a
-- full collection the bytes held by tensors and by Lua, and those of the process; 'pace': seconds of work that is always the same,
-- done between the fits.
return function(count, each, warm)
  for i = 1, warm do fit(i) end
  local rows <const> = {}
  for from = 1, count, each do                         -- made now, so that they are no growth
    rows[#rows + 1] = {fits = math.min(count, from + each - 1), evaluations = 0, seconds = 0.0, pace = 0.0, used = 0, lua = 0,
      process = 0.0}
  end
  for r, row in ipairs(rows) do
    for i = (r - 1) * each + 1, row.fits do
      local cpu <const> = os.clock()
      row.evaluations = row.evaluations + fit(i)
      row.seconds, row.pace = row.seconds + os.clock() - cpu, row.pace + pace()
    end
    collectgarbage()
    gb.zeros(1):eval()                                 -- an evaluation lets go of what only dead expressions had cached
    collectgarbage()
    local report <const> = gb.memory.report()
    row.used, row.lua, row.process = report.used, report.lua, support.process_bytes "VmRSS"
  end
  return rows
end

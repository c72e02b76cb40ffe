-- Noises of many magnitudes: steps of conjugate gradients with a preconditioner that knows the noise of each point, and with one
-- that knows their mean.
-- Run: build/gibbous scripts/bench/noises.lua [points] [columns of x] [tolerance]
--
-- (K + D) x = b with a Matern 5/2 kernel on uniform points of the unit cube, its lengthscale 1 (smooth: the low-rank factor
-- resolves K) and 0.3, and noises between 0.1 and 0.1 / 10^magnitudes, uniform in the logarithm. b: a function plus that noise, and
-- 16 probes, solved together; f64 with products in f32, the usual rank. "-": not within 2,000 steps.
local gb <const> = require "gibbous"
local table_text <const> = require "gibbous.text.table"

local n <const>, d <const>, tol <const> = tonumber(arg[1]) or 4000, tonumber(arg[2]) or 3, tonumber(arg[3]) or 1e-4
if math.type(n) ~= "integer" or math.type(d) ~= "integer" or n < 2 or d < 1 or not (tol > 0 and tol < 1) then
  io.stderr:write("usage: noises.lua [points] [columns of x] [tolerance]\n")
  os.exit(2)
end

local x <const> = gb.rand(n, d, {seed = 1}):eval()
local solver <const> = gb.solvers.cg{tol = tol, max_iter = 2000, precond = gb.precond.nystrom{}}

--- Steps and seconds of a solve, the preconditioner included, as text.
local function solved(c, k, noise, b)
  collectgarbage()
  local start <const> = gb.clock()
  local _, info <const> = solver:prepare(c, k, noise):solve(b)
  local seconds <const> = gb.clock() - start
  return info.converged and tostring(info.iterations) or "-", ("%.2f"):format(seconds)
end

local rows <const> = {{"lengthscale", "magnitudes", "mean: steps", "seconds", "each: steps", "seconds"}}
for _, lengthscale in ipairs{1, 0.3} do
  for _, magnitudes in ipairs{0, 1, 2, 4, 6} do
    local noise <const> = (0.1 * (-magnitudes * math.log(10) * gb.rand(n, {seed = 2})):exp()):eval()
    local y <const> = (5 * x:select(2, 1)):sin() + noise:sqrt() * gb.randn(n, {seed = 3})
    local b <const> = gb.cat({y:unsqueeze(2), gb.randn(n, 16, {seed = 4})}, 2):eval()
    local k <const> = gb.kernels.matern52{lengthscale = lengthscale}(x)
    local c <const> = k + gb.linalg.diag(noise)
    local steps <const>, seconds <const> = solved(c, k, noise:mean():item(), b)
    local row <const> = {("%g"):format(lengthscale), tostring(magnitudes), steps, seconds}
    row[5], row[6] = solved(c, k, noise, b)
    rows[#rows + 1] = row
  end
end
print(("n = %d, d = %d, tol = %g, rank %d, %d threads"):format(n, d, tol, solver.o.precond:rank_at(n), gb.config().threads))
print(table_text(rows))

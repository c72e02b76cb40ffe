-- Residual against seconds: conjugate gradients, alternating projections and stochastic dual descent on one kernel system.
-- Run: build/gibbous scripts/bench/solvers.lua [points] [columns of x] [noise]
--
-- (K + noise I) x = y with a Matern 3/2 kernel of lengthscale 1 on standard normal points and y a smooth function plus noise, in
-- f64. Each solver starts from 0 for each tolerance; a figure is one solve, preconditioner included. "-": not reached in the steps
-- given to it. Pairs: kernel values computed, in units of n^2.
local gb <const> = require "gibbous"
local table_text <const> = require "gibbous.text.table"

local n <const>, d <const>, noise <const> = tonumber(arg[1]) or 4000, tonumber(arg[2]) or 4, tonumber(arg[3]) or 0.05
if math.type(n) ~= "integer" or math.type(d) ~= "integer" or n < 2 or d < 1 or not (noise > 0) then
  io.stderr:write("usage: solvers.lua [points] [columns of x] [noise]\n")
  os.exit(2)
end

local x <const> = gb.randn(n, d, {seed = 1}):eval()
local y <const> = ((x * 2):sin():sum(2) + math.sqrt(noise) * gb.randn(n, {seed = 2})):eval()
local k <const> = gb.kernels.matern32{}(x)
local a <const> = k + noise * gb.eye(n)
local TOLERANCES <const> = {1e-1, 1e-2, 1e-3, 1e-4}
local BLOCK <const>, BATCH <const> = math.max(1, math.min(1000, n // 4)), math.min(512, n)

local solvers <const> = {
  {"cg", function(tol) return gb.solvers.cg{tol = tol} end, function(steps) return steps end},
  {"cg, pivoted_cholesky(auto)", function(tol)
    return gb.solvers.cg{tol = tol, precond = gb.precond.pivoted_cholesky{rank = "auto", noise = noise}}
  end, function(steps) return steps end},
  {"minres", function(tol) return gb.solvers.minres{tol = tol} end, function(steps) return steps end},
  {"alternating_projections", function(tol)
    return gb.solvers.alternating_projections{tol = tol, block = BLOCK, max_iter = 100}
  end, function(epochs) return epochs end},
  {"sdd", function(tol) return gb.solvers.sdd{tol = tol, batch = BATCH, max_iter = 300 * (n // BATCH)} end,
    function(steps) return steps * BATCH / n end},
}

local rows <const> = {{"solver", "tol", "seconds", "residual", "steps", "pairs / n^2"}}
for _, s in ipairs(solvers) do
  for _, tol in ipairs(TOLERANCES) do
    collectgarbage()
    local start <const> = gb.clock()
    local _, info <const> = s[2](tol):solve(a, y)
    local residual <const>, seconds <const> = info.residual, gb.clock() - start
    rows[#rows + 1] = {s[1], ("%g"):format(tol), info.converged and ("%.2f"):format(seconds) or ("- (%.2f)"):format(seconds),
      ("%.2g"):format(residual), tostring(info.iterations), ("%.1f"):format(s[3](info.iterations))}
    if not info.converged then break end
  end
end
print(("n = %d, d = %d, noise = %g, block %d, batch %d, %d threads"):format(n, d, noise, BLOCK, BATCH, gb.config().threads))
print(table_text(rows))

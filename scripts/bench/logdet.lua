-- The stochastic log determinant measured: how often its 95 % interval covers the truth, how wide it is at the defaults, what a
-- loose tolerance of the solves changes, and that with all unit vectors for probes it is the exact one.
-- Run: build/gibbous scripts/bench/logdet.lua [seeds [n]]
local gb <const> = require "gibbous"

local seeds <const> = math.tointeger(arg and tonumber(arg[1]) or 200)
local n <const> = math.tointeger(arg and tonumber(arg[2]) or 2000)
local missed = 0

local function verdict(ok)
  if not ok then missed = missed + 1 end
  return ok and "PASS" or "MISS"
end

local cases <const> = {
  {name = "matern52 d=3", d = 3, length = 0.5, noise = 0.1, kernel = gb.kernels.matern52},
  {name = "rbf d=8", d = 8, length = 2, noise = 0.05, kernel = gb.kernels.rbf},
  {name = "matern32 d=18", d = 18, length = 4, noise = 0.1, kernel = gb.kernels.matern32},
}

local function problem(case)
  local x <const> = gb.randn(n, case.d, {seed = 1}):eval()
  local y <const> = ((2 * x:select(2, 1)):sin() + 0.3 * gb.randn(n, {seed = 2})):eval()
  local k <const> = case.kernel{lengthscale = case.length}(x)
  return x, y, k, (k + case.noise * gb.eye(n))
end

local function solver(o)
  o.precond = o.precond == nil and gb.precond.nystrom{} or o.precond or nil
  return gb.solvers.cg(o)
end

local function covers(case)
  local _, _, k <const>, c <const> = problem(case)
  local truth <const> = gb.linalg.logdet(c):item()
  local covered, width, start = 0, 0, gb.clock()
  for seed = 1, seeds do
    local _, lo <const>, hi <const> = solver{seed = seed}:logdet(c, k, case.noise)
    covered = covered + (lo <= truth and truth <= hi and 1 or 0)
    width = width + (hi - lo) / seeds
  end
  local share <const>, relative <const> = 100 * covered / seeds, 100 * width / math.abs(truth)
  local slack <const> = math.max(2, 100 * 1.96 * math.sqrt(0.05 * 0.95 / seeds))
  print(("%-14s log det %.1f: covered in %.1f %% of %d seeds %s, width %.2f %% %s, %.2f s each"):format(case.name, truth, share,
    seeds, verdict(math.abs(share - 95) <= slack), relative, verdict(relative <= 2), (gb.clock() - start) / seeds))
end

local function model(case, x, y, s)
  return gb.gp.exact{kernel = case.kernel{lengthscale = case.length}, noise = case.noise, solver = s}:condition(x, y)
end

local function terms(case, x, y, s)
  local m <const> = model(case, x, y, s)
  local value <const> = m:log_marginal_likelihood()
  local g <const> = gb.grad(value, (gb.params(m)))
  gb.eval(value, g)
  local out <const> = {value:item()}
  for i, slope in ipairs(g) do out[i + 1] = slope:item() end
  return out
end

--- The effect of the solves' tolerance, in standard errors of the log determinant; and a fit's gradient, relative to its norm.
local function tolerance(case)
  local x <const>, y <const>, k <const>, c <const> = problem(case)
  local _, _, _, info <const> = solver{}:logdet(c, k, case.noise)
  local tight <const> = terms(case, x, y, solver{tol = 1e-8})
  for _, tol in ipairs{1e-1, 1e-2, 1e-3, 1e-4} do
    local loose <const> = terms(case, x, y, solver{train_tol = tol})
    local error, norm = 0, 0
    for i = 2, #tight do
      error = error + (loose[i] - tight[i]) ^ 2
      norm = norm + tight[i] ^ 2
    end
    print(("%-14s train_tol %-6g value off by %8.4f = %.3f standard errors, gradient by %.2g of its norm"):format(case.name, tol,
      math.abs(loose[1] - tight[1]), 2 * math.abs(loose[1] - tight[1]) / info.standard_error, math.sqrt(error / norm)))
  end
end

local function exact(case)
  local x <const>, y <const> = problem(case)
  local want <const>, got <const> = terms(case, x, y, "direct"), terms(case, x, y, gb.solvers.cg{tol = 1e-8, probes = "exact"})
  local worst = 0
  for i = 1, #want do worst = math.max(worst, math.abs(got[i] - want[i]) / math.max(1, math.abs(want[i]))) end
  print(("%-14s all unit vectors for probes against Cholesky, value and gradient: %.2g %s"):format(case.name, worst,
    verdict(worst <= 1e-4)))
end

print(("n = %d, defaults: rank %d, tolerance 1e-2"):format(n, gb.precond.nystrom{}:rank_at(n)))
for _, case in ipairs(cases) do covers(case) end
for _, case in ipairs(cases) do tolerance(case) end
exact(cases[1])
print(missed == 0 and "all PASS" or missed .. " MISS")
os.exit(missed == 0)

-- A model of 217,437 points, in the time and memory that there are.
--
-- Who has so many points is sent to variational models with inducing points, by a loop that the script writes: how many points, how
-- many rows a batch, which steps, when to stop. None of these follows from the time or the memory there is, and nothing says what
-- the approximation costs.
-- Here a script says how long a fit may take, and within how many bytes. gb.gp.auto weighs models by their plans, takes one, fits
-- it, and says which, why, and what was approximated by how much; 100,000 predictions with variances follow within their plan.
-- The points are drawn from a model by a seed, so the noise that no model gets below is known; a tenth of them is held out.
-- Run: build/gibbous scripts/stories/seed_size.lua [--seconds 60] [--full] [--points 217437] [--asked 100000] [--limit "1 GiB"]
--   --full: 600 seconds, as where scripts/bench/scale.lua compares with GPyTorch (drawn)
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"

local o <const> = gb.cli{"Fits a model of 217,437 points within a time and a budget.",
  seconds = {60, "of the choice and the fit together"}, full = {false, "600 seconds"},
  points = {217437, "a tenth of them is held out"}, asked = {100000, "predictions with variances"},
  limit = {"1 GiB", "bytes of all that tensors, plans and solvers hold"}}
local seconds <const> = o.full and 600 or o.seconds
local D <const>, NOISE <const>, LENGTHSCALE <const> = 3, 0.1, 0.2

local function MiB(bytes) return ("%.2f MiB"):format(bytes / 2 ^ 20) end
local function GiB(bytes) return ("%.1f GiB"):format(bytes / 2 ^ 30) end

--- n points in the unit cube, and a function of them with noise: a draw of a model, made of 2,000 random features.
local function drawn(n)
  local x <const> = gb.rand(n, D, {seed = 1}):eval()
  local prior <const> = gb.gp.exact{kernel = gb.kernels.matern52{lengthscale = LENGTHSCALE}, noise = NOISE ^ 2}
    :condition(gb.zeros(0, D), gb.zeros(0))
  local f <const> = prior:draw(1, {seed = 2, features = 2000})
  return x, (f(x):reshape(n) + NOISE * gb.randn(n, {seed = 3})):detach():eval()
end

gb.memory.limit(o.limit)
local x <const>, y <const> = drawn(o.points)
local held <const> = o.points // 10
local function rows(v, from, to) return v:slice(1, from, to):eval() end
local test_x <const>, test_y <const> = rows(x, 1, held), rows(y, 1, held)
local train_x <const>, train_y <const> = rows(x, held + 1, o.points), rows(y, held + 1, o.points)
local n <const> = #train_x

print(("%d points in %d dimensions, f64, drawn from a Matern 5/2 with noise of standard deviation %g; memory limit %s"):format(
  o.points, D, NOISE, o.limit))
print(("  %d of them are held out; the kernel matrix of the other %d, dense: %s"):format(held, n, GiB(8.0 * n * n)))

-- The fit ---------------------------------------------------------------------------------------------------------------------

local _ <const> = core.process_memory(true)
local before <const> = core.process_memory()
local start <const> = gb.clock()
local m <const>, info <const> = gb.gp.auto{kernel = gb.kernels.matern52{ard = true}}:fit(train_x, train_y, {seconds = seconds})
local took <const> = gb.clock() - start
local _, most <const> = core.process_memory()
local account <const> = gb.memory.report()

print(("\ngb.gp.auto within %g s"):format(seconds))
print(info)
print(m)

-- The plan of a step, beside what the whole fit held: data, the choice of points, steps, and passes over all rows.
local step <const> = m:plan()
print(("\nmemory of the fit\n  a step        %s planned"):format(MiB(step.peak)))
print(("  the account   %s at most, of a limit of %s\n  the process   grew by %s"):format(MiB(account.peak), MiB(account.limit),
  MiB(math.max(most - before, 0))))

if info.bounds == nil then
  local from <const> = gb.clock()
  local bounds <const> = m:bounds()
  print(("\nafter the limit, %.1f s: %s"):format(gb.clock() - from, bounds))
end

-- Predictions -----------------------------------------------------------------------------------------------------------------

local p <const> = m:predict(gb.rand(o.asked, D, {seed = 4}))
local plan <const> = gb.plan{p.mean, p.y_var}
local begun <const> = gb.clock()
local mean <const>, var <const> = table.unpack(plan:run())
local passed <const>, measured <const> = gb.clock() - begun, plan:stats().measured
print(("\n%d predictions with variances\n  %s planned, %s measured; %.1f s"):format(o.asked, MiB(plan.peak), MiB(measured), passed))

local score <const> = m:score(test_x, test_y)
print(("\n%d points held out: RMSE %.4f, NLPD %.4f; the noise alone has RMSE %g, NLPD %.4f"):format(held, score.rmse, score.nlpd,
  NOISE, math.log(NOISE) + math.log(2 * math.pi * math.exp(1)) / 2))
print(("  the standard deviation of y is %.3f; %.1f %% of the points are in their 95 %% intervals"):format(
  test_y:std():item(), 100 * score.coverage95))

-- These hold on every machine; times, and with them the number of steps, depend on the machine.
assert(gb.memory.report().peak <= account.limit, "the account went past its limit")
assert(measured <= plan.peak, "a plan did not keep its word")
assert(#mean == o.asked and mean:isfinite():all() and var:gt(0):all(), "predictions are not what was asked for")
assert(score.rmse < test_y:std():item() / 2, "the model explains little")
print(("\nin all %.1f s for choice and fit, of %g s"):format(took, seconds))

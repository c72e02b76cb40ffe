-- How close folds come to what this machine can do. Run: build/gibbous scripts/bench/fold.lua [--full] [--quick]
--
-- The bound: a vector is 64 bytes, 16 f32 or 8 f64 pairs, and takes
--     seconds per vector = max(FMA ops / FMA rate, all ops / issue rate)
-- with both rates measured in this run. Of one covariance profile and R right-hand sides:
--     FMA ops = d (squared distance) + 5 (exp2 polynomial, f32) or 13 (f64) + R (contraction)
--     all ops = FMA ops + d (differences) + 3 (exp2: round, remainder, scale)
-- A sum of two profiles on one distance adds one polynomial (5), one add that joins the weights (FMA) and 3; a product adds
-- one polynomial, one multiplication and 3. No other terms: loads, broadcasts and loop control are the implementation's affair.
--
-- A figure is the best of several runs of one plan; ratios compare figures taken in turns. --full also runs the 200,000-point
-- case for real (about a minute); --quick takes fewer runs and is for a look, not for a claim.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local table_text <const> = require "gibbous.text.table"

local full, quick = false, false
for _, word in ipairs(arg or {}) do
  if word == "--full" then full = true
  elseif word == "--quick" then quick = true
  else
    io.stderr:write("usage: fold.lua [--full] [--quick]\n")
    os.exit(2)
  end
end

local SECONDS <const> = quick and 0.3 or 1.5       -- a figure is measured for at least this long
local threads_here <const> = gb.config().threads
gb.config{threads = 1}

-- Rates ---------------------------------------------------------------------------------------------------------------------

local rates <const> = core.rates(quick and 0.1 or 0.4)

--- Measures again: the best seen anywhere in the run stands, so that a busy moment cannot lower the bound.
local function refresh_rates()
  local now <const> = core.rates(0.05)
  rates.fma, rates.issue = math.max(rates.fma, now.fma), math.max(rates.issue, now.issue)
end

local POLY <const> = {f32 = 5, f64 = 13}
local LANES <const> = {f32 = 16, f64 = 8}

--- Pairs a second. profiles: how many polynomials; joins: operations that join them.
local function bound_of(dtype, d, r, profiles, joins)
  local fma <const> = d + POLY[dtype] * (profiles or 1) + (joins or 0) + r
  local all <const> = fma + d + 3 * (profiles or 1)
  return LANES[dtype] / math.max(fma / rates.fma, all / rates.issue)
end

-- Cases ---------------------------------------------------------------------------------------------------------------------

local function data(dtype, n, d, r, seed)
  local o <const> = {dtype = dtype, seed = seed}
  local x <const> = gb.randn(n, d, o):eval()
  local y <const> = gb.randn(n, d, {dtype = dtype, seed = seed + 1}):eval()
  local v <const> = (r == 1 and gb.randn(n, {dtype = dtype, seed = seed + 2})
    or gb.randn(n, r, {dtype = dtype, seed = seed + 2})):eval()
  return x, y, v
end

--- Seconds of the fastest run of a plan with the same values bound again, and what it did.
local function fastest(plan, leaf)
  local best = math.huge
  plan:run{[leaf] = leaf}
  local start <const> = gb.clock()
  repeat
    local began <const> = gb.clock()
    plan:run{[leaf] = leaf}
    best = math.min(best, gb.clock() - began)
  until gb.clock() - start > SECONDS
  refresh_rates()
  return best, plan:stats()
end

local rows <const> = {{"case", "measured", "bound", "of bound", "target", "", "note"}}
local passed, missed = 0, 0

local function verdict(ok)
  if ok then passed = passed + 1 else missed = missed + 1 end
  return ok and "PASS" or "MISS"
end

local function rate_text(v) return ("%.2e/s"):format(v) end

--- A row of pairs a second against a bound; target a fraction, or nil for information.
local function rate_row(case, measured, bound, target, note)
  rows[#rows + 1] = {case, rate_text(measured), rate_text(bound), ("%.0f %%"):format(100 * measured / bound),
    target and (">= %.0f %%"):format(100 * target) or "", target and verdict(measured >= target * bound) or "", note or ""}
end

--- A row of anything else.
local function row(case, measured, target, ok, note)
  rows[#rows + 1] = {case, measured, "", "", target, ok == nil and "" or verdict(ok), note or ""}
end

local function section(title) io.stderr:write("measuring: ", title, "\n") end

-- Single profiles -----------------------------------------------------------------------------------------------------------

--- k(x, y) v on one thread: pairs a second.
local function product_rate(kernel, dtype, n, d, r)
  local x <const>, y <const>, v <const> = data(dtype, n, d, r, 10 * d + r)
  local seconds <const>, stats <const> = fastest(gb.plan(kernel(x, y):matmul(v)), v)
  return n * n / seconds, stats
end

-- By d: a run of a millisecond or two, so that the best of many is a run that nothing interrupted.
local SIZE <const> = {[3] = 4096, [8] = 4096, [32] = 2048}

local function rbf() return gb.kernels.rbf{lengthscale = 1.3} end

section "single profiles"
local plain_rate
for _, case in ipairs{{"f32", 3, 1, 0.80}, {"f32", 8, 1, 0.75}, {"f32", 32, 1, 0.75}, {"f32", 3, 16, 0.75}, {"f32", 8, 16, 0.75},
  {"f32", 32, 16, 0.75}, {"f64", 3, 1, 0.80}, {"f64", 8, 1}, {"f64", 3, 16}} do
  local dtype <const>, d <const>, r <const>, target <const> = table.unpack(case)
  local measured <const> = product_rate(rbf(), dtype, SIZE[d], d, r)
  rate_row(("rbf %s d=%d R=%d"):format(dtype, d, r), measured, bound_of(dtype, d, r), target)
  if dtype == "f32" and d == 3 and r == 1 then plain_rate = measured end
end

for _, name in ipairs{"matern12", "matern32", "matern52", "rational_quadratic"} do
  for _, dtype in ipairs{"f32", "f64"} do
    local measured <const> = product_rate(gb.kernels[name]{}, dtype, SIZE[3], 3, 1)
    rate_row(("%s %s d=3 R=1"):format(name, dtype), measured, bound_of(dtype, 3, 1), nil, "against the rbf bound")
  end
end

-- Symmetric -----------------------------------------------------------------------------------------------------------------

section "symmetric"
do
  local n <const> = SIZE[3]
  local x <const>, _, v <const> = data("f32", n, 3, 1, 1)
  local seconds <const>, stats <const> = fastest(gb.plan(rbf()(x):matmul(v)), v)
  local again <const> = product_rate(rbf(), "f32", n, 3, 1)
  plain_rate = math.max(plain_rate, again)
  local ratio <const> = n * n / seconds / plain_rate
  row("symmetric k(x) v, f32 d=3 R=1", ("%.2fx plain"):format(ratio), ">= 1.6x", ratio >= 1.6,
    rate_text(n * n / seconds) .. " ordered pairs")
  local allowed <const> = (n * n + n * 64) // 2
  row("  pairs evaluated", ("%d"):format(stats.pairs), ("<= %d"):format(allowed), stats.pairs > 0 and stats.pairs <= allowed)
end

-- The interpreter -----------------------------------------------------------------------------------------------------------

section "expressions without a template"
local function written(f, target, bound, name, note)
  local n <const> = 2048
  local x <const>, y <const>, v <const> = data("f32", n, 3, 1, 5)
  local k <const> = f(x:unsqueeze(2), y:unsqueeze(1))
  local seconds <const> = fastest(gb.plan(k:matmul(v)), v)
  rate_row(name, n * n / seconds, bound, target, "fused rbf bound" .. (note and "; " .. note or ""))
end

local fused <const> = bound_of("f32", 3, 1)
local function d2(p, q) return ((p - q) ^ 2):sum(-1) end
written(function(p, q) return (1 + d2(p, q)) ^ -1 end, 0.5, fused, "inverse multiquadric squared, d=3")
written(function(p, q) return (1 + d2(p, q)) ^ -1 * (d2(p, q) * -0.5):exp() end, 0.5, fused, "rbf / (1 + d2), d=3")
written(function(p, q) return (-((p - q):abs():sum(-1))):exp() end, 0.2, fused, "exp(-|x - y|_1), d=3")
written(function(p, q) return (-(p - q):abs() * (p * q):cos()):sum(-1):exp() end, 0.2, fused, "exp(-sum |x - y| cos(x y)), d=3",
  "three cosines a pair")

section "sums and products"
for _, case in ipairs{{"rbf", gb.kernels.rbf{lengthscale = 0.4}},
    {"matern32", gb.kernels.matern32{lengthscale = 0.7}, "no root in the bound"}} do
  local name <const>, other <const>, note <const> = table.unpack(case)
  local both <const> = bound_of("f32", 3, 1, 2, 1)
  rate_row(("rbf + %s, f32 d=3 R=1"):format(name), product_rate(rbf() + other, "f32", SIZE[3], 3, 1), both, 0.65, note)
  rate_row(("rbf * %s, f32 d=3 R=1"):format(name), product_rate(rbf() * other, "f32", SIZE[3], 3, 1), both, 0.65, note)
end

-- Gradients -----------------------------------------------------------------------------------------------------------------

--- x, y, v leaves, lengthscale and variance parameters; loss of z; everything together against the value alone.
local function gradient_ratio(n, r, loss_of)
  local x, y, v = data("f32", n, 3, r, 21)
  x, y, v = x:requires_grad(), y:requires_grad(), v:requires_grad()
  local k <const> = gb.kernels.rbf{lengthscale = 1.3, variance = 2}
  local z <const> = k(x, y):matmul(v)
  local w <const> = gb.randn(n, {dtype = "f32", seed = 30}):eval()
  local loss <const> = loss_of(z, w)
  local g <const> = gb.grad(loss, {x, y, v, k.lengthscale, k.variance})
  local value <const>, everything <const> = gb.plan(z), gb.plan{z, loss, table.unpack(g)}
  local best_value, best_all, stats = math.huge, math.huge, nil
  for _ = 1, 2 do                                       -- in turns
    best_value = math.min(best_value, (fastest(value, v)))
    local seconds
    seconds, stats = fastest(everything, v)
    best_all = math.min(best_all, seconds)
  end
  return best_all / best_value, stats.pairs / (n * n)
end

section "gradients"
do
  local n <const> = SIZE[3]
  local ratio, traversals = gradient_ratio(n, 1, function(z, w) return (z * w):sum() end)
  row("value + all gradients, cotangent given", ("%.2fx value"):format(ratio), "<= 3x", ratio <= 3)
  row("  traversals", ("%.3g"):format(traversals), "1", traversals == 1)
  ratio, traversals = gradient_ratio(n, 1, function(z) return (z * z):sum() / 2 end)
  row("value + all gradients, cotangent depends on z", ("%.2fx value"):format(ratio), "<= 4x", ratio <= 4)
  row("  traversals", ("%.3g"):format(traversals), "2", traversals == 2)
end

-- First results -------------------------------------------------------------------------------------------------------------

section "first results"
do
  local x <const>, y <const>, v <const> = data("f32", 512, 3, 1, 41)
  local function expression(i)                          -- a structure of its own for every i
    local k = d2(x:unsqueeze(2), y:unsqueeze(1))
    for _ = 1, i do k = (k + 1):sqrt() * k:tanh() end
    return (-k):exp():matmul(v)
  end
  expression(0):eval()
  local extra <const> = {}
  for i = 1, 9 do
    local start <const> = gb.clock()
    local z <const> = expression(i):eval()
    local first <const> = gb.clock() - start
    local plan <const> = gb.plan((expression(i) * 1):detach())
    local again = math.huge
    for _ = 1, 5 do
      local began <const> = gb.clock()
      plan:run{[v] = v}
      again = math.min(again, gb.clock() - began)
    end
    extra[i] = first - again
    assert(z.numel == 512)
  end
  table.sort(extra)
  row("first result of a new expression, beyond its arithmetic", ("%.2f ms"):format(1e3 * extra[5]), "< 5 ms", extra[5] < 5e-3,
    ("median of 9, worst %.2f ms"):format(1e3 * extra[9]))
end

-- Memory --------------------------------------------------------------------------------------------------------------------

section "memory"
local MiB <const> = 2 ^ 20

local function forward_and_gradients(x, y, v)
  local k <const> = gb.kernels.rbf{lengthscale = 1.3, variance = 2}
  local z <const> = k(x, y):matmul(v)
  local loss <const> = (z * z):sum()
  return {z, loss, table.unpack(gb.grad(loss, {x, y, v, k.lengthscale, k.variance}))}
end

do
  local small <const> = 6000
  local x, y, v = data("f32", small, 3, 16, 51)
  local plan = gb.plan(forward_and_gradients(x:requires_grad(), y:requires_grad(), v:requires_grad()))
  plan:run()
  local stats = plan:stats()
  row(("measured peak = planned peak, n = %d"):format(small), ("%d B"):format(stats.measured), ("%d B"):format(plan.peak),
    stats.measured == plan.peak)
  local n <const> = 200000
  x, y, v = data("f32", n, 3, 16, 52)
  plan = gb.plan(forward_and_gradients(x:requires_grad(), y:requires_grad(), v:requires_grad()))
  row("planned peak, n = m = 200,000, R = 16, all gradients", ("%.1f MiB"):format(plan.peak / MiB), "< 200 MiB",
    plan.peak < 200 * MiB)
  if full then
    gb.config{threads = threads_here}
    local start <const> = gb.clock()
    plan:run()
    stats = plan:stats()
    row("  the same, run", ("%.1f MiB"):format(stats.measured / MiB), "< 200 MiB", stats.measured < 200 * MiB,
      ("%.1f s on %d threads"):format(gb.clock() - start, threads_here))
    gb.config{threads = 1}
  end
end

-- Threads -------------------------------------------------------------------------------------------------------------------

section "threads"
if threads_here >= 2 then
  local n <const> = 2 * SIZE[3]
  local x <const>, y <const>, v <const> = data("f32", n, 3, 1, 61)
  local plan <const> = gb.plan(rbf()(x, y):matmul(v))
  local one, two, scaling = math.huge, math.huge, 0.0
  for _ = 1, 3 do                                       -- in turns, so that all see the same machine
    gb.config{threads = 1}
    one = math.min(one, (fastest(plan, v)))
    gb.config{threads = 2}
    two = math.min(two, (fastest(plan, v)))
    scaling = math.max(scaling, core.rates(0.2, 2).fma / core.rates(0.2, 1).fma)
  end
  gb.config{threads = 1}
  row("two threads, f32 d=3 R=1", ("%.2fx"):format(one / two), (">= %.2fx"):format(0.95 * scaling), one / two >= 0.95 * scaling,
    ("FMA alone scales %.2fx"):format(scaling))
else
  row("two threads, f32 d=3 R=1", "not measured", "", nil, "one processor")
end

-- Report --------------------------------------------------------------------------------------------------------------------

print(("isa %s, one thread: %.2e FMA vectors/s, %.2e vector instructions/s issued, %.2e exp2/s\n"):format(rates.isa, rates.fma,
  rates.issue, rates.exp2))
print(table_text(rows))
print(("\n%d PASS, %d MISS"):format(passed, missed))

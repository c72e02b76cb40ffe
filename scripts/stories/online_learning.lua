-- One more observation.
--
-- Adding a point to a Gaussian process is a row more of a Cholesky factor: n^2 operations. In GPyTorch get_fantasy_model went
-- through a pseudo-inverse by QR, which below 2,049 columns was sent to the CPU for the sake of a bug of 2019: a model became
-- faster when it grew past 2,048 points (#2468, answered by another fixed number), every update inverted the whole triangle again
-- (#2494), and past 800 points an update was approximate, so that at n = 1,000 it disagreed with setting the data (#2660).
-- Here the factor lives in block rows of its own and rows are written behind the last: nothing is copied, inverted or
-- approximated, no threshold decides anything, and the model that was extended stays what it was. With a solver the old
-- solution is where the next one starts.
-- This adds points one by one, draws the time of each, and compares with a new model of the same data.
-- Run: build/gibbous scripts/stories/online_learning.lua [--quick] [folder for online_learning.svg and .png]
local gb <const> = require "gibbous"

local quick, folder = false, nil
for _, a in ipairs(arg or {}) do
  if a == "--quick" then quick = true else folder = a end
end

local first <const>, last <const> = 50, quick and 330 or 4000
local bin <const> = quick and 10 or 25                       -- a median is that of so many neighbours
local grid <const> = quick and {100, 200, 256, 300} or {100, 250, 500, 1000, 1500, 2000, 2048, 2100, 3000, 4000}
local solver_steps <const> = 3

local kernel <const> = gb.kernels.matern52{lengthscale = {0.3, 0.4}, variance = 1.5}
local cg <const> = gb.solvers.cg{tol = 1e-8, precond = gb.precond.nystrom{}}
local function model(solver)
  return gb.gp.exact{kernel = kernel, mean = gb.means.constant(0.3), noise = 0.01, solver = solver or "direct"}
end

local x <const> = gb.rand(last, 2, {seed = 1}):eval()
local y <const> = ((x:select(2, 1) * 6):sin() * (x:select(2, 2) * 5):cos() + gb.randn(last, {seed = 2}) * 0.1):eval()
local t <const> = gb.rand(200, 2, {seed = 3}):eval()

local function rows(v, from, to) return v:slice(1, from, to):eval() end
local function data(to) return rows(x, 1, to), rows(y, 1, to) end
local function far(a, b) return (a - b):abs():max():item() / b:abs():max():item() end

local function sorted(list, from, to)
  local v <const> = table.move(list, from, to, 1, {})
  table.sort(v)
  return v
end

local function median(list, from, to)
  local v <const> = sorted(list, from, to)
  return v[(#v + 1) // 2]
end

--- Other load on the machine can only add to a time.
local function least(list, from, to) return sorted(list, from, to)[1] end

local function timed(f)
  local start <const> = gb.clock()
  local v <const> = f()
  return gb.clock() - start, v
end

--- A model asked for a prediction is prepared: it has its factor, or its solution.
local function ready(m)
  m:predict(t).mean:eval()
  return m
end

-- One by one ------------------------------------------------------------------------------------------------------------------

local seconds <const>, at <const> = {}, {}                   -- of the point that makes n of n - 1; the model of n points
local wanted <const> = {}
for _, n in ipairs(grid) do wanted[n] = true end
do
  local m = ready(model():condition(data(first)))
  for n = first + 1, last do
    local xn <const>, yn <const> = rows(x, n, n), rows(y, n, n)
    seconds[n], m = timed(function() return m:condition(xn, yn) end)
    assert(m.update.kind == "append" and m.update.onto == n - 1)
    if wanted[n] then at[n] = m end
  end
end

-- Against refitting ------------------------------------------------------------------------------------------------------------

local function around(n) return median(seconds, math.max(first + 2, n - bin), math.min(last, n + bin)) end

--- Seconds a point of the streamed path at n points, steps of its solves, and the model.
local function streamed(n)
  local m = ready(model(cg):condition(data(n - solver_steps)))
  local times <const>, steps = {}, 0
  for k = n - solver_steps + 1, n do
    local xk <const>, yk <const> = rows(x, k, k), rows(y, k, k)
    times[#times + 1], m = timed(function() return m:condition(xk, yk) end)
    steps = math.max(steps, m.update.solve.iterations)
  end
  return median(times, 1, #times), steps, m
end

print(("one more point: Matern 5/2 in 2 dimensions, f64, appended one by one from %d to %d\n"):format(first, last))
print("    n   append    refit    ratio   solver (steps)    |mean|      |f_var|    |mean| of solver   factor")
local results <const> = {}
for _, n in ipairs(grid) do
  local m <const>, r = at[n], {n = n, append = around(n)}
  local fresh
  r.refit, fresh = timed(function() return ready(model():condition(data(n))) end)
  local p <const>, q <const> = m:predict(t), fresh:predict(t)
  r.mean, r.f_var = far(p.mean, q.mean), far(p.f_var, q.f_var)
  local s
  r.solver, r.steps, s = streamed(n)
  r.solver_mean = far(s:predict(t).mean, q.mean)
  results[n] = r
  print(("%5d %6.2f ms %8.1f ms %6.0fx %8.0f ms (%3d)    %.1e     %.1e        %.1e      %5.1f MiB"):format(n,
    r.append * 1e3, r.refit * 1e3, r.refit / r.append, r.solver * 1e3, r.steps, r.mean, r.f_var, r.solver_mean,
    m.update.bytes / 2 ^ 20))
end

-- Smoothness ------------------------------------------------------------------------------------------------------------------

--- Largest ratio of times just after and just before a multiple of 'block': where tiles begin, and memory is asked for.
local function largest_step(of, block)
  local most, where = 0, 0
  for border = block, last - bin, block do
    if border - bin > first then
      local ratio <const> = of(seconds, border + 1, border + bin) / of(seconds, border - bin + 1, border)
      if ratio > most then most, where = ratio, border end
    end
  end
  return most, where
end

local function curve_of(of)
  local centres <const>, curve <const> = {}, {}
  for n = first + 1, last - bin + 1, bin do
    centres[#centres + 1], curve[#curve + 1] = n + bin // 2, of(seconds, n, n + bin - 1)
  end
  return centres, curve
end

local function largest_ratio(centres, curve)
  local most, where = 0, 0
  for i = 2, #curve do
    local ratio <const> = math.max(curve[i] / curve[i - 1], curve[i - 1] / curve[i])
    if ratio > most then most, where = ratio, centres[i] end
  end
  return most, where
end

print(("\nlargest ratio between neighbouring runs of %d points, and across a border of tiles"):format(bin))
for _, way in ipairs{{"median", median}, {"least", least}} do
  local name <const>, of <const> = table.unpack(way)
  local ratio <const>, where <const> = largest_ratio(curve_of(of))
  local step <const>, border <const> = largest_step(of, 256)
  print(("  by the %s of each: %.2f at %d, %.2f at %d"):format(name, ratio, where, step, border))
end
local target <const> = results[2000] or results[grid[#grid]]
print(("at n = %d appending one point is %.0f times as fast as building the model again from all points"):format(target.n,
  target.refit / target.append))
local thousand <const> = results[1000] or target
print(("conditioned or given the data at n = %d: means differ by %.1e of their size"):format(thousand.n, thousand.mean))

-- Memory: what the next row takes, and a row onto an older version -------------------------------------------------------------

local function growth(m)
  collectgarbage() collectgarbage()
  local before <const> = gb.memory.report().used
  local more <const> = m:condition(rows(x, 1, 1) + 0.01, rows(y, 1, 1))
  collectgarbage() collectgarbage()
  return (gb.memory.report().used - before) / 2 ^ 10, more
end

growth(at[target.n])                                         -- what was computed before and is no longer needed goes
local branch <const>, tip <const> = growth(at[target.n])
print(("at n = %d a row more of an older version holds %.0f KiB of its own, the row after that %.0f KiB"):format(target.n, branch,
  (growth(tip))))

-- Fantasies: many continuations at once -----------------------------------------------------------------------------------

local base <const> = at[thousand.n]
local many <const> = 64
local z <const>, values <const> = gb.rand(many, 1, 2, {seed = 5}):eval(), gb.randn(many, 1, {seed = 6}):eval()
local together <const>, all = timed(function() return base:condition(z, values):predict(t).mean:eval() end)
local one_by_one <const>, each = timed(function()
  local means <const> = {}
  for i = 1, many do means[i] = base:condition(z[i], values[i]):predict(t).mean:eval() end
  return gb.stack(means)
end)
print(("%d fantasies of one point each on %d: together %.1f ms, one by one %.1f ms, means differ by %.1e"):format(many,
  thousand.n, together * 1e3, one_by_one * 1e3, far(all, each)))

-- The curve -------------------------------------------------------------------------------------------------------------------

local function log_ms(v)
  local out <const> = {}
  for i, s in ipairs(v) do out[i] = math.log(s * 1e3, 10) end
  return out
end

local centres <const>, medians <const> = curve_of(median)
local _, leasts <const> = curve_of(least)
local refit <const>, solved <const> = {}, {}
for i, n in ipairs(grid) do refit[i], solved[i] = results[n].refit, results[n].solver end
local figure <const> = gb.plot.figure{title = "One more observation", xlabel = "observations there already",
  ylabel = "log10 of milliseconds"}
  :line(centres, log_ms(medians), {label = ("append a row: median of %d"):format(bin)})
  :line(grid, log_ms(solved), {label = "conjugate gradients, warm"})
  :line(grid, log_ms(refit), {label = "refit"})
  :line(centres, log_ms(leasts), {label = "the least of them", colour = 5})
  :scatter(grid, log_ms(solved), {colour = 2}):scatter(grid, log_ms(refit), {colour = 3})
print()
figure:show()
if folder then
  for _, ending in ipairs{"svg", "png"} do figure:save(("%s/online_learning.%s"):format(folder, ending)) end
  print(("saved as %s/online_learning.svg and .png"):format(folder))
end

-- These bounds hold on every machine; times depend on the machine.
for _, r in pairs(results) do
  assert(r.mean <= 1e-9 and r.f_var <= 1e-9, "appending does not equal refitting")
end

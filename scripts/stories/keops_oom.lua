-- A kernel matrix that asked for 528 GB.
--
-- A GPyTorch tutorial trains on n = 217,437 points in three dimensions with a Matern 5/2 kernel, through KeOps. Where KeOps is
-- not installed, the same class quietly falls back to a broadcast of all differences, n x n x 3 floats, and asks the card for
-- 528 GB. Nothing said that the method had changed.
-- Here there is one method. A kernel matrix is a lazy tensor; a product with it is one streamed fold, with its gradients, and
-- asking for all of it is refused beforehand, with the reason and what would fit.
-- Run: build/gibbous scripts/stories/keops_oom.lua [n]
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"

local n <const> = math.tointeger(arg and tonumber(arg[1]) or 217437)
if not n or 4 * n * n <= 2^30 then
  io.stderr:write "usage: keops_oom.lua [n], more than 16,384 points: fewer have a matrix that fits the limit of 1 GiB\n"
  os.exit(2)
end
local function GiB(bytes) return ("%.1f GiB"):format(bytes / 2 ^ 30) end
local function MiB(bytes) return ("%.2f MiB"):format(bytes / 2 ^ 20) end

gb.config{dtype = "f32"}
gb.memory.limit("1 GiB")
local x <const> = gb.randn(n, 3, {seed = 1}):eval()
local v <const> = gb.randn(n, {seed = 2}):eval()

print(("%d points in 3 dimensions, f32, Matern 5/2, memory limit 1 GiB"):format(n))
print(("  all differences, as the fallback stores them: %s"):format(GiB(4.0 * n * n * 3)))
print(("  the kernel matrix itself, dense:              %s"):format(GiB(4.0 * n * n)))

-- A new kernel for every step, so that nothing is found of the one before.
local function parts()
  local lengthscale <const> = gb.param(0.7, {min = 0, name = "lengthscale"})
  local variance <const> = gb.param(1.3, {min = 0, name = "variance"})
  return gb.kernels.matern52{lengthscale = lengthscale, variance = variance}(x), {lengthscale, variance}
end

local K <const> = parts()
local refused <const>, why = pcall(gb.plan, K)
assert(not refused, "a dense matrix was not refused")
print("\nasking for all of it:")
print((tostring(why):gsub("\n", "\n  ")))
print(("  (error object: code %s, need %d, have %d)"):format(why.code, why.need, why.have))

-- The system's own count of the process, beside the plan: what the plan adds, over what was there before it.
local function run(title, values, pairs_once)
  local plan <const> = gb.plan(values)
  collectgarbage()
  local before <const> = core.process_memory(true)
  local start <const> = gb.clock()
  plan:run()
  local seconds <const> = gb.clock() - start
  local _, peak <const> = core.process_memory()
  local stats <const> = plan:stats()
  assert(stats.measured == plan.peak, "a plan did not keep its word")
  print(("\n%s\n  %s predicted, %s measured, difference %d B; the process grew by %s"):format(title, MiB(plan.peak),
    MiB(stats.measured), stats.measured - plan.peak, MiB(math.max(peak - before, 0))))
  print(("  %.2f s on %d threads, %.3g pairs evaluated of %.3g, %.2g pairs/s"):format(seconds, gb.config().threads, stats.pairs,
    1.0 * n * n, pairs_once * n * n / seconds))
  return plan
end

do
  local warm <const> = gb.kernels.matern52{}(x:slice(1, 1, math.min(n, 3000)))
  warm:matmul(v:slice(1, 1, math.min(n, 3000)):unsqueeze(2)):eval()       -- libraries, threads and pages of the first plan
end

local plan <const> = run("K v, streamed", parts():matmul(v:unsqueeze(2)), 1)
print(plan:explain())

local K2 <const>, params <const> = parts()
local quadratic <const> = (v * K2:matmul(v)):sum()
local grads <const> = gb.grad(quadratic, params, {raw = true})
run("v' K v and its gradients in lengthscale and variance, streamed", {quadratic, grads[1], grads[2]}, 1)
print(("  v'Kv = %s   d/dlog lengthscale = %s   d/dlog variance = %s"):format(quadratic, grads[1], grads[2]))
print(("\nheld now: %s of %s"):format(MiB(gb.memory.report().used), GiB(gb.memory.limit())))

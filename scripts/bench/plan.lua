-- The planner measured: how long planning takes, what packing a factor costs and saves, and whether streaming is the right
-- choice. Ratios are within one run; nothing is compared with figures of another.
-- Run: build/gibbous scripts/bench/plan.lua [largest n of the crossover]
local gb <const> = require "gibbous"

local largest <const> = math.tointeger(arg and tonumber(arg[1]) or 20000)
local missed = 0

local function verdict(ok)
  if not ok then missed = missed + 1 end
  return ok and "PASS" or "MISS"
end

--- The fastest of several runs; 'make' builds what 'work' then does, untimed.
local function fastest(times, make, work)
  local best = math.huge
  for _ = 1, times do
    local made <const> = make()
    collectgarbage()
    local start <const> = gb.clock()
    work(made)
    best = math.min(best, gb.clock() - start)
  end
  return best
end

print "planning a graph of 1,000 nodes"
do
  local function chain(length)
    local x = gb.rand(64, 64):eval()
    local w <const> = gb.rand(64, 64):eval()
    for i = 1, length do
      if i % 10 == 0 then
        x = x:matmul(w)
      elseif i % 10 == 5 then
        x = x - x:sum(2, {keepdim = true}) * (1 / i)
      else
        x = (x + i):tanh()
      end
    end
    return x:sum()
  end
  local length = 500
  local seconds <const> = fastest(5, function()
    length = length + 1                                        -- another structure every time: nothing is remembered
    return chain(length)
  end, function(y) gb.plan(y) end)
  print(("  %.2f ms, lowering included  (target < 10 ms)  %s"):format(seconds * 1e3, verdict(seconds < 0.010)))
end

print "\nplanning many layers (matmul, tanh) and many outputs: seconds of a plan, four times as many against as many"
do
  local w <const> = gb.rand(64, 64):eval()
  local salt = 0
  local function layers(n)
    salt = salt + 1                                            -- another structure every time
    local x = gb.rand(64, 64):eval()
    for _ = 1, n + salt do x = x:matmul(w):tanh() end
    return {x:sum()}
  end
  local function outputs(n)
    salt = salt + 1
    local out <const>, x <const> = {}, gb.rand(64, 64):eval()
    for i = 1, n + salt do out[i] = (x * i):sum() end
    return out
  end
  for _, case in ipairs{{"layers", layers}, {"outputs", outputs}} do
    local name <const>, make <const> = case[1], case[2]
    local seconds <const> = {}
    for i, n in ipairs{1000, 4000} do
      seconds[i] = fastest(3, function() return make(n) end, function(y)
        local _ <close> = gb.plan(y)
      end)
    end
    local ratio <const> = seconds[2] / seconds[1]
    print(("  %-8s 1,000 in %.4f, 4,000 in %.4f: %.1f times (target <= 6)  %s"):format(name, seconds[1], seconds[2], ratio,
      verdict(ratio <= 6)))
  end
end

print "\nlog determinant and quadratic form of an rbf matrix, f64: square and packed"
print "n       square      packed      n larger in the same bytes   square s   packed s   ratio"
for _, n in ipairs{4000, 8000} do
  local x <const>, y <const> = gb.randn(n, 3, {seed = 1}):eval(), gb.randn(n, {seed = 2}):eval()
  local function objective()
    local K <const> = gb.kernels.rbf{lengthscale = 1.0}(x) + 0.1 * gb.eye(n)
    return gb.linalg.logdet(K) + gb.linalg.inv_quad(K, y)
  end
  local square <const> = gb.plan(objective(), {allow = {}})
  local packed <const> = gb.plan(objective(), {allow = {"pack"}, prefer = "memory"})
  local function run(options)
    return fastest(3, function() return gb.plan(objective(), options) end, function(p) p:run() end)
  end
  local a <const>, b <const> = run{allow = {}}, run{allow = {"pack"}, prefer = "memory"}
  local larger <const> = math.sqrt(square.peak / packed.peak)
  print(("%-7d %-11d %-11d %.3f (target 1.38) %s            %.3f      %.3f      %.2f (target <= 1.5) %s"):format(n, square.peak,
    packed.peak, larger, n >= 8000 and verdict(larger >= 1.38) or "    ", a, b, b / a, verdict(b <= 1.5 * a)))
end

--- One product, or 'times' products with one matrix: streamed as planned, and with the matrix stored.
local function crossover(name, make, dtype, n, times)
  local x <const> = gb.randn(n, 3, {seed = 1, dtype = dtype}):eval()
  local v <const> = gb.randn(n, 1, {seed = 2, dtype = dtype}):eval()
  local streamed <const> = fastest(3, function() return make()(x) end, function(K)
    for i = 1, times do K:matmul(v * (1.0 + i)):eval() end
  end)
  local bytes <const> = n * n * (dtype == "f64" and 8 or 4)
  if bytes > gb.memory.limit() * 0.9 then
    print(("%-10s %-5s %-7d %-9d %.4g s    does not fit"):format(name, dtype, n, times, streamed))
    return
  end
  local stored <const> = fastest(3, function() return make()(x) end, function(K)
    local dense <const> = gb.tensor((K:eval()))                                      -- a leaf: it is read, not made again
    for i = 1, times do dense:matmul(v * (1.0 + i)):eval() end
  end)
  print(("%-10s %-5s %-7d %-9d %-11.4g %-11.4g %.2f %s"):format(name, dtype, n, times, streamed, stored,
    streamed / math.min(streamed, stored), times == 1 and verdict(streamed <= 1.3 * stored) or ""))
end

print "\nproducts with a kernel matrix of d = 3: streamed, as planned, and with the matrix stored"
print "kernel     dtype n       products  streamed s  stored s    planned / best (target <= 1.3 for one product)"
local kernels <const> = {rbf = function() return gb.kernels.rbf{lengthscale = 1.0} end,
  matern52 = function() return gb.kernels.matern52{lengthscale = 1.0} end}
for _, name in ipairs{"rbf", "matern52"} do
  for _, dtype in ipairs{"f32", "f64"} do
    for _, n in ipairs{500, 1000, 2000, 5000, 10000, 20000, 50000} do
      if n <= largest then crossover(name, kernels[name], dtype, n, 1) end
    end
    for _, n in ipairs{500, 1000, 2000, 5000} do
      if n <= largest then crossover(name, kernels[name], dtype, n, 50) end
    end
  end
end
print(missed == 0 and "\nall targets met" or ("\n%d missed"):format(missed))

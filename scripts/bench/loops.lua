-- Several loops over one axis: bytes and seconds of training with a batch norm, of two-pass statistics and of attention at several
-- budgets, from the smallest that works to what the whole takes. Ratios are within one run.
-- Run: build/gibbous scripts/bench/loops.lua
local gb <const> = require "gibbous"

local missed = 0

local function verdict(ok)
  if not ok then missed = missed + 1 end
  return ok and "PASS" or "MISS"
end

--- New leaves every time: of the same ones a run would find the values of the one before.
local function data(seed, ...)
  local shape <const> = {...}
  shape[#shape + 1] = {seed = seed}
  return gb.randn(table.unpack(shape)):eval():detach()
end

local function normalise(z, gain)
  local centred <const> = z - z:mean(1)
  return centred / ((centred ^ 2):mean(1) + 1e-5):sqrt() * gain
end

local function batch_norm()
  local x <const>, w <const>, target <const>, gain <const> = data(1, 20000, 64), data(2, 64, 64), data(3, 20000, 64), data(4, 64)
  local loss <const> = ((normalise(x:matmul(w), gain) - target) ^ 2):mean()
  return {loss, table.unpack(gb.grad(loss, {w, gain}))}
end

local function covariance()
  local z <const> = normalise(data(1, 20000, 64):sin(), data(2, 64))
  return {z:t():matmul(z)}
end

--- Forward and gradient, 8 x 1,024 x 64.
local function attention(mask)
  return function()
    local q <const>, k <const>, v <const> = data(1, 8, 1024, 64), data(2, 8, 1024, 64), data(3, 8, 1024, 64)
    local loss <const> = (mask(q:matmul(k:permute(1, 3, 2)) / 8):softmax(3):matmul(v) ^ 2):sum()
    return {loss, table.unpack(gb.grad(loss, {q, k, v}))}
  end
end

local position <const> = gb.range(1, 1024)
local function is_past() return position:reshape(1024, 1):ge(position:reshape(1, 1024)) end

--- The least bytes, and the fastest of three runs by budget.
local function sweep(name, build)
  local ample <const> = gb.plan(build())
  local least <const>, most <const> = ample.minimum, ample.peak
  local seconds <const> = {}
  for i = 0, 4 do
    local budget <const> = math.ceil(least * (most / least) ^ (i / 4))
    local best, plan = math.huge, nil
    for _ = 1, 3 do
      plan = gb.plan(build(), {budget = budget})
      collectgarbage()
      local start <const> = gb.clock()
      plan:run()
      best = math.min(best, gb.clock() - start)
    end
    seconds[i] = best
    print(("%-32s %8.2f  %8.2f  %8.3f  %.2f   %s   %s"):format(i == 0 and name or "", budget / 2 ^ 20, plan.peak / 2 ^ 20, best,
      best / seconds[0], verdict(plan:stats().measured == plan.peak), plan:explain():match "chosen +(.-)%s%s"))
  end
  return {least = least, most = most, seconds = seconds}
end

print "                              budget MiB  peak MiB   seconds  / least  measured == peak"
local norm <const> = sweep("batch norm, 20,000 x 64", batch_norm)
local activation <const> = 20000 * 64 * 8
print(("  least / one activation: %.3f (target < 1)  %s"):format(norm.least / activation, verdict(norm.least < activation)))
sweep("covariance of standardised", covariance)
local plain <const> = sweep("attention", attention(function(s) return s end))
for name, mask in pairs{
  ["causal by where"] = function(s) return gb.where(is_past(), s, -1e9) end,
  ["causal by addition"] = function(s) return s + gb.where(is_past(), 0, -1e9) end,
} do
  local masked <const> = sweep("attention, " .. name, attention(mask))
  print(("  to plain attention: bytes %.2f, seconds %.2f whole, %.2f at the least (target <= 2)  %s"):format(
    masked.least / plain.least, masked.seconds[4] / plain.seconds[4], masked.seconds[0] / plain.seconds[0],
    verdict(masked.least <= 2 * plain.least and masked.seconds[4] <= 2 * plain.seconds[4]
      and masked.seconds[0] <= 2 * plain.seconds[0])))
end
print(missed == 0 and "\nall targets met" or ("\n%d missed"):format(missed))

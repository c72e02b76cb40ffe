-- A batch that does not fit.
--
-- Koila (2021) promised that a network's batch is cut as memory allows, by one line: lazy(x, y, batch=0). It adds up what it
-- knows of the forward pass, sees no lifetimes and no gradients, gives up on a bias or a reshape, and where it does cut it sums
-- the chunks of a mean loss: for a batch of 9 cut into 8 and 1 the gradient is g8 + g1 where (8 g8 + g1) / 9 was meant.
-- Here the plan of loss and gradients is known to the byte before anything runs; gb.lazy lets the planner cut the batch so that
-- the bits stay those of the whole, and what does not fit is refused with the number that would do.
-- Run: build/gibbous scripts/stories/koila.lua [n] [share of the whole, in per cent]
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"

local n <const> = math.tointeger(arg and tonumber(arg[1]) or 20000)
local share <const> = (arg and tonumber(arg[2]) or 25) / 100
local d <const>, hidden <const>, classes <const> = 256, 256, 10
gb.config{dtype = "f32"}

local centres <const> = gb.randn(classes, d, {seed = 1}):eval()
local y <const> = (gb.randperm(n, {seed = 2}) % classes + 1):eval()
local x <const> = (centres:index(1, y) + gb.randn(n, d, {seed = 3}) * 4):eval()

local net <const> = gb.nn.sequential{gb.nn.linear(d, hidden, {seed = 4}), "relu", gb.nn.linear(hidden, hidden, {seed = 5}), "relu",
  gb.nn.linear(hidden, classes, {seed = 6})}
local params <const> = gb.params(net)

--- Loss and all gradients, lazy. The parameters are set again, so that no value of an earlier run is found.
local function step(inputs, labels)
  for _, p in ipairs(params) do p.raw = p.raw end
  local loss <const> = gb.nn.cross_entropy(net(inputs), labels)
  return {loss, table.unpack(gb.grad(loss, params, {raw = true}))}
end

local function MiB(bytes) return ("%.1f MiB"):format(bytes / 2 ^ 20) end

--- The values, seconds, and by how much the process grew, as the system counts it.
local function timed(plan)
  collectgarbage()
  local before <const> = core.process_memory(true)
  local start <const> = gb.clock()
  local values <const> = plan:run()
  local seconds <const> = gb.clock() - start
  local _, peak <const> = core.process_memory()
  assert(plan:stats().measured == plan.peak, "a plan did not keep its word")
  return values, seconds, math.max(peak - before, 0)
end

print(net)
print(("\n%d rows of %d numbers; loss and %d gradients at once"):format(n, d, #params))

local plain <const> = gb.plan(step(x, y))
print(("as it stands      peak %s, smallest budget %s"):format(MiB(plain.peak), MiB(plain.minimum)))

-- From here on sums over the first axis of x and y run in grains of rows, whole or cut: the same bits either way.
local rows <const>, labels <const> = gb.lazy(x, y, {batch = 1})
local whole <const> = gb.plan(step(rows, labels))
gb.eval(table.unpack(step(x:slice(1, 1, 2000), y:slice(1, 1, 2000))))     -- the first plan wakes threads and libraries
local want <const>, seconds <const>, grown <const> = timed(whole)
print(("gb.lazy, whole    peak %s predicted, %s measured, process %s, %.2f s, loss %s"):format(MiB(whole.peak),
  MiB(whole:stats().measured), MiB(grown), seconds, want[1]))

local budget <const> = math.max(math.floor(whole.peak * share), whole.minimum)
local plan <const> = gb.plan(step(rows, labels), {budget = budget})
local got <const>, cut_seconds <const>, cut_grown <const> = timed(plan)
local same = 0
for i = 1, #want do same = same + (got[i]:equal(want[i]) and 1 or 0) end
print(("budget %s   peak %s predicted, %s measured, process %s, %.2f s, loss %s, in %d windows"):format(MiB(budget),
  MiB(plan.peak), MiB(plan:stats().measured), MiB(cut_grown), cut_seconds, got[1], plan:stats().windows))
print(("%d of %d results have the bits of the whole batch"):format(same, #want))

local ok <const>, refusal <const> = pcall(gb.plan, step(rows, labels), {budget = whole.minimum - 1})
print(("smallest budget   %s; one byte less: %s"):format(MiB(whole.minimum),
  ok and "it fits" or (tostring(refusal):match "[^\n]*")))

-- The error of adding up means of chunks, for the same loss: 8 of 9 rows and 1 of 9.
local nine <const> = gb.range(1, 9, 1, {dtype = "i64"})
local function gradient(rows)
  return gb.grad(gb.nn.cross_entropy(net(x:index(1, rows)), y:index(1, rows)), params[1], {raw = true})
end
local right <const> = gradient(nine)
local summed <const> = gradient(nine:slice(1, 1, 8)) + gradient(nine:slice(1, 9, 9))
print(("chunks of a mean added up without weights, 9 = 8 + 1: |g| %.4g where it is %.4g"):format(summed:norm():item(),
  right:norm():item()))

-- Training, with no line about memory in it: every step runs in what the limit leaves beside the data.
local limit <const> = gb.memory.limit(gb.memory.report().used + budget)
local adam <const> = gb.optim.adam(net, {lr = 1e-3})
local first, last
for _ = 1, 20 do
  last = adam:step(function() return gb.nn.cross_entropy(net(rows), labels) end)
  first = first or last
end
gb.memory.limit(limit)
print(("20 steps of Adam within %s: loss %.4f to %.4f"):format(MiB(budget), first, last))

-- The one idea, in one script: a broadcast writes 200,000 x 200,000 values down, and a reduction of it streams them.
-- Nothing here asks for a special class; the planner decides what exists. Run: build/gibbous scripts/broadcast.lua [n]
local gb <const> = require "gibbous"

local n <const> = math.tointeger(arg and tonumber(arg[1]) or 200000)
gb.config{dtype = "f32"}
gb.seed(1)
local x <const>, v <const> = gb.randn(n, 3):eval(), gb.randn(n, 4):eval()

local d2 <const> = ((x:unsqueeze(2) - x:unsqueeze(1)) ^ 2):sum(-1)     -- n x n, written down, never stored
local K <const> = (d2 * -0.5):exp()
local z <const> = K:matmul(v)                                          -- n x 4

print "K, as the prompt would show it:"
print(K)
print "\nthe plan of z = K v:"
local plan <const> = gb.plan(z)
print(plan:explain())

local function MiB(bytes) return bytes / 2 ^ 20 end
local start <const> = gb.clock()
plan:run()                                                             -- what z:eval() would do
local seconds <const> = gb.clock() - start
print(("\n%d x %d pairs, %d right-hand sides: %.2f s, %.2e pairs/s"):format(n, n, 4, seconds, n * n / seconds))
print(("predicted peak %.2f MiB, measured %.2f MiB; stored whole, K alone would take %.0f MiB"):format(
  MiB(plan.peak), MiB(plan:stats().measured), MiB(4.0 * n * n)))

-- Asked for whole, it is refused before a byte is allocated, with the smallest budget that would do.
local ok <const>, err <const> = pcall(function() return (K + 1):eval() end)
if not ok then print("\nasking for all of it:\n" .. tostring(err)) end

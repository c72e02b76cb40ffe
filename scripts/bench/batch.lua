-- Batches of models: gb.gp.batch beside a loop of gb.gp.exact and, with --python, GPyTorch's batched ExactGP on the same data.
-- Run: build/gibbous scripts/bench/batch.lua [--models 1000] [--n 50] [--loop 200] [--steps 100] [--python peers/bin/python]
-- models: B sets of n points in two columns, matern52 with a lengthscale a column; loop: how many of them the loop fits (its time
-- is told a model); steps: of Adam that GPyTorch makes (learning rate 0.1), all models at once. python: one with gpytorch.
-- Figures are milliseconds of wall clock a model, and nats a model at the end: a fit that stops early is not faster.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "support"

local o <const> = support.options{models = 1000, n = 50, loop = 200, steps = 100, python = ""}
local B <const>, n <const> = math.tointeger(o.models), math.tointeger(o.n)
local looped <const> = math.min(B, math.tointeger(o.loop))
local x <const> = gb.rand(B, n, 2, {seed = 1}):eval()
local y <const> = ((4 * x:select(3, 1)):sin() + x:select(3, 2) + 0.1 * gb.randn(B, n, {seed = 2})):eval()

io.stdout:setvbuf "line"

local function options() return {kernel = gb.kernels.matern52{ard = true}} end

--- Wall seconds and processor seconds of f().
local function timed(f)
  local wall <const>, cpu <const> = core.clock(), os.clock()
  f()
  return core.clock() - wall, os.clock() - cpu
end

local function row(name, models, seconds, cpu, value, evaluations)
  print(("%-28s %8d %12.2f %12s %12.3f %14.1f"):format(name, models, 1e3 * seconds / models,
    cpu and ("%.2f"):format(1e3 * cpu / models) or "-", value, evaluations))
end

local batch <const> = gb.gp.batch(options())
batch:fit(x:slice(1, 1, math.min(B, 5)), y:slice(1, 1, math.min(B, 5)))   -- measured rates are met before
print(("%-28s %8s %12s %12s %12s %14s"):format("", "models", "ms a model", "cpu ms", "nats", "evaluations"))
local info
local wall <const>, cpu <const> = timed(function() info = batch:fit(x, y) end)
row("gb.gp.batch", B, wall, cpu, info.log_likelihood:mean():item(), info.evaluations / B)

local nats, evaluations, differing = 0.0, 0, 0
local loop_wall <const>, loop_cpu <const> = timed(function()
  for i = 1, looped do
    local m <const> = gb.gp.exact(options())
    local one <const> = m:fit(x:select(1, i), y:select(1, i))
    nats, evaluations = nats + one.log_likelihood, evaluations + one.evaluations
    differing = differing + (one.log_likelihood == info.log_likelihood[i]:item() and 0 or 1)
  end
end)
row("gb.gp.exact, a loop", looped, loop_wall, loop_cpu, nats / looped, evaluations / looped)
print(("the loop takes %.1f times as long a model; %d of %d models differ in the last bit of their likelihood"):format(
  loop_wall / looped / (wall / B), differing, looped))

if o.python == "" then os.exit(differing == 0) end
local folder <const> = os.tmpname() .. ".d"
assert(os.execute("mkdir -p " .. support.quoted(folder)))
core.npy_write(folder .. "/x.npy", x)
core.npy_write(folder .. "/y.npy", y)
local pipe <const> = assert(io.popen(("%s %s %s %d 2>/dev/null"):format(support.quoted(o.python),
  support.quoted(here .. "/peers/batch_gpytorch.py"), support.quoted(folder), math.tointeger(o.steps))))
local seconds <const>, value <const> = pipe:read "a":match "(%S+) (%S+)%s*$"
assert(pipe:close() and seconds, "the peer failed")
os.execute("rm -r " .. support.quoted(folder))
row(("GPyTorch, %d steps of Adam"):format(math.tointeger(o.steps)), B, tonumber(seconds), nil, tonumber(value), o.steps)
print(("GPyTorch takes %.1f times as long a model"):format(tonumber(seconds) / wall))
os.exit(differing == 0)

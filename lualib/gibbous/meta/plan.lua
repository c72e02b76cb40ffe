---@meta

--- What evaluating will take, as gb.plan and m:plan give it. Prints as text.
---@class gibbous.plan
---@field peak integer  bytes held at once, a promise
---@field minimum integer  the smallest budget that would do
---@field arena integer  bytes of intermediate values
---@field outputs integer  bytes of the results
---@field caches integer  bytes of values that are kept for later
---@field lower_bound integer  bytes that no realisation can go below
---@field steps integer  how many
---@field rows integer?  of a window, where an axis is cut
---@field variants integer  realisations that were weighed
---@field seconds number?  predicted; nil where it is not known
---@field waits table[]  what y waits for: {what, bytes, minimum, seconds}
---@field devices table[]  of several devices: {name, peak, arena, budget, range, window, copies}
local plan = {}

---@class gibbous
local gb = {}

---@class gibbous.plan.options
---@field budget? integer|string|(integer|string)[]  bytes or "1 GiB", of each device; default: what is free
---@field device? string|string[]  devices that share an axis; default: that of the session
---@field exact? "bits"|"math"  "math": sums may run in other pieces; default: "bits"
---@field prefer? "time"|"memory"  the fastest that fits, or the one of least peak; default: "time"
---@field allow? string[]  of "cache", "order", "pack", "cut", "recompute" (with "cut"), beside running each step whole; default: all

--- What evaluating y will take, before it takes it.
--- With a list of devices they share an axis (the batch of gb.lazy, else the one with the most work) in contiguous ranges,
--- by their budgets; the value has the bits of one device, if they compute alike (not a CPU beside a GPU). Leaves and results stay
--- on cpu. Values that x:to moved elsewhere are computed
--- there without this option, within the limit of that device; peak and minimum are of cpu. plan.devices lists each with its name,
--- peak, arena, budget, range {first, last}, window and copies.
--- plan.seconds is the predicted time, nil where it is not known. Where y waits for what nobody has looked at yet, as predictions do for
--- their solves, peak, minimum and seconds are of all of it; plan.waits lists that, each with what (text), bytes, minimum and seconds.
---@param y gibbous.tensor|gibbous.tensor[]
---@param o gibbous.plan.options?
---@return gibbous.plan
--- Errors: refused, with need, have, minimum and options (the ways out), where it cannot fit.
---```lua
--- local x = gb.rand(200, 3)
--- local plan = gb.plan(gb.kernels.rbf{}(x):matmul(gb.ones(200)), {budget = "4 MiB"})
--- print(plan.peak)
---```
function gb.plan(y, o) end

--- One readable screen: the budget and what it is spent on, the largest buffers with their lines, what is streamed and
--- never stored, memory over time, the realisations that were weighed; after a run, predicted and measured bytes.
---@return string
---```lua
--- local plan = gb.plan(gb.rand(50, 50):matmul(gb.rand(50)))
--- print(#plan:explain() > 0)
---```
function plan:explain() end

--- The same as JSON text; sizes in bytes, steps from 1. With a path it is written there.
---@param path string?
---@return string?
---```lua
--- local plan = gb.plan(gb.rand(50, 50):matmul(gb.rand(50)))
--- print(#plan:json() > 0)
---```
function plan:json(path) end

--- The fold program of each step, as text: axes with their roles, instructions with what they vary along, outputs.
---@return string
---```lua
--- local plan = gb.plan(gb.rand(50, 50):matmul(gb.rand(50)))
--- print(#plan:programs() > 0)
---```
function plan:programs() end

--- Computes what was planned; with {[leaf] = tensor} the same expression over other values.
---@param values table<gibbous.tensor, gibbous.tensor>?  by the leaves they stand for
---@return gibbous.tensor ...
---```lua
--- local plan = gb.plan(gb.rand(50, 50):matmul(gb.rand(50)))
--- print(plan:run().shape)
---```
function plan:run(values) end

--- The last run: predicted and measured bytes, seconds, pairs, folds, opaques, windows; devices: bytes by name.
---@return table
---```lua
--- local plan = gb.plan(gb.rand(50, 50):matmul(gb.rand(50)))
--- plan:run()
--- print(plan:stats().measured)
---```
function plan:stats() end

--- A drawing of memory over time, as SVG text; with a path it is written there.
---@param path string?
---@return string?
---```lua
--- local plan = gb.plan(gb.rand(50, 50):matmul(gb.rand(50)))
--- print(#plan:svg() > 0)
---```
function plan:svg(path) end

--- Gives the plan back at once.
---```lua
--- local plan = gb.plan(gb.rand(50, 50):matmul(gb.rand(50)))
--- plan:close()
---```
function plan:close() end

---@meta

---@class gibbous.plan
local plan = {}

---@class gibbous
local gb = {}

--- What evaluating y will take, before it takes it. Raises refused, with need, have, minimum and
--- options (the ways out), where it cannot fit.
--- With a list of devices they share an axis (the batch of gb.lazy, else the one with the most work) in contiguous ranges,
--- by their budgets; the value has the bits of one device, if they compute alike (not a CPU beside a GPU). Leaves and results stay
--- on cpu. Values that x:to moved elsewhere are computed
--- there without this option, within the limit of that device; peak and minimum are of cpu. plan.devices lists each with its name,
--- peak, arena, budget, range {first, last}, window and copies.
--- plan.seconds is the predicted time, nil where it is not known. Where y waits for what nobody has looked at yet, as predictions do for
--- their solves, peak, minimum and seconds are of all of it; plan.waits lists that, each with what (text), bytes, minimum and seconds.
---@param y gibbous.tensor|gibbous.tensor[]
--- allow: what it may do beside running every step whole in program order (default: all; none changes a bit): "cache"
--- values for later, another "order", "pack" triangular factors, "cut" an axis into windows. prefer = "memory": the
--- realisation of least peak instead of the fastest that fits. exact = "math": sums may run in other pieces.
---@param y gibbous.tensor|gibbous.tensor[]
---@param o {budget: integer|string|(integer|string)[], device: string|string[], exact: "bits"|"math", prefer: "time"|"memory", allow: string[]}?
---@return gibbous.plan
function gb.plan(y, o) end

--- One readable screen: the budget and what it is spent on, the largest buffers with their lines, what is streamed and
--- never stored, memory over time, the realisations that were weighed; after a run, predicted and measured bytes.
---@return string
function plan:explain() end

--- The same as JSON text; sizes in bytes, steps from 1. With a path it is written there.
---@param path string?
---@return string?
function plan:json(path) end

--- The fold program of each step, as text: axes with their roles, instructions with what they vary along, outputs.
---@return string
function plan:programs() end

--- Computes what was planned; with {[leaf] = tensor} the same expression over other values.
function plan:run(values) end

--- The last run: predicted and measured bytes, seconds, pairs, folds, opaques, windows; devices: bytes by name.
---@return table
function plan:stats() end

--- A drawing of memory over time, as SVG text; with a path it is written there.
---@param path string?
---@return string?
function plan:svg(path) end

--- Gives the plan back at once.
function plan:close() end

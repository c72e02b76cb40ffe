---@meta

---@class gibbous
local gb = {}

--- Times f, with the tensors that it returns evaluated and all devices done. Nothing is remembered from one run to the next; a
--- tensor from outside that has its value already is given, and where no step ran at all the record says so. Two clocks: wall,
--- and device, the seconds of the steps by the clocks of the devices that ran them. agree: they differ by at most 5 % + 20 us;
--- else waits lists the times of a typical run in which no step ran, the longest first: {seconds, line, op} of the step after
--- it, no op after the last one. low and high contain the median with probability coverage, 95 % from 6 runs on. steps, bytes
--- and flops are of one run; predicted: seconds by the figures of the planner; bound: the least that the devices' peaks allow,
--- share of it = bound / device (nil where figures are not known). first: seconds of the first run; remembered: steps of it
--- that later runs did not repeat, since f keeps values itself. Prints as text.
---@param f function
---@param o {runs: integer?, seconds: number?, warmup: integer?, compile: boolean?}?  at least so many runs (3, also called repeats), for so long (0.05); runs that do not count (1); compile = false: kernels that a device compiles are not waited for
---@return {median: number, low: number, high: number, coverage: number, runs: integer, fastest: number, slowest: number, wall: number, device: number, agree: boolean, waits: table[]?, steps: integer, bytes: number, flops: number, predicted: number?, bound: number?, share: number?, first: number?, remembered: integer?}  seconds
function gb.time(f, o) end

--- Another name of gb.time.
---@param f function
---@param o table?
---@return table
function gb.bench(f, o) end

--- What the steps of f took, run once as in gb.time; or, between gb.profile "on" and gb.profile "off", which gives the report,
--- those of the script (pairs of on and off nest). A list of rows, the slowest first: line, op, device, carrier (the instruction
--- set of a CPU; interpreter, template, compiled or library on a GPU; host: a solver or another registered op; copy), kernel,
--- calls, seconds, total (with the steps inside a solver), bytes, flops, predicted. Beside them seconds of the wall, device (the
--- sum of the steps'), steps, and of a function core_seconds, folds, pairs of points, library calls (opaques) and the most bytes
--- that one evaluation took (measured). Prints as a table; p:json() is in Chrome's trace format. Figures of a machine that was
--- never measured are measured first. On a GPU each step is a range of NVTX, "line: op".
---@param f function|string  a function, "on" or "off"
---@return table
function gb.profile(f) end

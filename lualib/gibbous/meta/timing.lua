---@meta

---@class gibbous
local gb = {}

---@class gibbous.time.options
---@field runs? integer  at least so many (also called repeats); default: 3
---@field repeats? integer  another name of runs
---@field seconds? number  for at least so long; default: 0.05
---@field warmup? integer  runs that do not count; default: 1
---@field compile? boolean  false: kernels that a device compiles are not waited for; default: true

--- Times f, with the tensors that it returns evaluated and all devices done. Nothing is remembered from one run to the next. Two clocks:
--- wall, and device, the seconds of the steps by the clocks of the devices that ran them.
---@param f function
---@param o gibbous.time.options?
---@return gibbous.timing
---```lua
--- local x = gb.rand(50, 50):eval()
--- print(gb.time(function() return x:matmul(x):sum() end, {runs = 1, seconds = 1e-3}).median)
---```
function gb.time(f, o) end

--- Another name of gb.time.
---@param f function
---@param o gibbous.time.options?
---@return gibbous.timing
---@see gb.time
---```lua
--- print(gb.bench == gb.time)
---```
function gb.bench(f, o) end

--- What the steps of f took, run once as in gb.time; or, between gb.profile "on" and gb.profile "off", which gives the report, those of
--- the script. A list of rows, the slowest first. On a GPU each step is a range of NVTX, "line: op".
---@param f function|string  a function, "on" or "off"
---@return gibbous.profile
--- Errors: option for "off" without an "on" before it.
---```lua
--- local x = gb.rand(50, 50):eval()
--- print(#gb.profile(function() return x:matmul(x):sum() end))
---```
function gb.profile(f) end

--- The report of gb.time, in seconds. Prints as text.
---@class gibbous.timing
---@field median number  of the wall clock
---@field low number  low and high contain the median with probability 'coverage'
---@field high number  see low
---@field coverage number  0.95 from 6 runs on
---@field runs integer  that count
---@field fastest number  of the runs
---@field slowest number  of the runs
---@field wall number  the typical run, by the wall clock
---@field device number  the same, by the clocks of the devices
---@field agree boolean  both differ by at most 5 % + 20 us
---@field waits table[]?  where they differ: when no step ran, the longest first: {seconds, line, op}
---@field steps integer  of one run
---@field bytes integer  of one run
---@field flops integer  of one run
---@field predicted number?  by the figures of the planner
---@field bound number?  the least that the peaks of the devices allow
---@field share number?  bound / device
---@field first number?  the first run
---@field remembered integer?  steps of the first run that later ones did not repeat
---@field missed integer  steps whose times the device does not tell
local timing = {}

--- The report of gb.profile: a list of gibbous.profile_row, the slowest first. Prints as a table.
---@class gibbous.profile
---@field seconds number  of the wall
---@field device number  the sum of the steps
---@field steps integer  how many ran
---@field predicted number?  by the figures of the planner
---@field dropped integer  steps without an event
---@field missed integer  steps whose times the device does not tell
---@field core_seconds number?  of a function: in the core
---@field folds integer?  of a function: fold programs run
---@field pairs integer?  of a function: pairs of points
---@field opaques integer?  of a function: library calls
---@field measured integer?  of a function: the most bytes that one evaluation took
local profile = {}

--- The report in Chrome's trace format, which chrome://tracing and Perfetto read.
---@return string
---```lua
--- print(#gb.profile(function() return gb.rand(9):sum() end):json() > 0)
---```
function profile:json() end

--- What the steps of one line and op took.
---@class gibbous.profile_row
---@field line string  of the script
---@field op string  what was computed
---@field device string  where
---@field carrier string  the instruction set of a CPU; interpreter, template, compiled or library on a GPU; host; copy
---@field kernel string  of a GPU
---@field calls integer  how often
---@field seconds number  of the steps alone
---@field total number  with the steps inside a solver
---@field bytes integer  moved
---@field flops integer  operations
---@field predicted number?  by the figures of the planner
---@field bound number?  the least that the peaks of the device allow
local profile_row = {}

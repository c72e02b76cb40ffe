---@meta

---@class gibbous
local gb = {}

---@class gibbous.sweep.options
---@field name string  a word: the store is the folder NAME.gibbous
---@field run function  run(p, trial): p are the parameters, trial a gibbous.sweep.trial; gives a number, or a table of plain values
---@field space? table<string, any>  lists of values by name; for a search also ranges
---@field repeats? integer|table<string, any[]>  how often each cell is tried, or lists by name; default: 1
---@field search? "grid"|"random"|"sobol"|"gp"  default: "grid"
---@field trials? integer  cells that a search draws
---@field seed? integer  of the search and of all trials; default: 0
---@field metric? string  the field of the result that is compared
---@field goal? "min"|"max"  default: "min"
---@field budget? table  {time = of a trial, memory = of all that run, trials = cells}
---@field memory? integer|string|function  bytes of a trial
---@field devices? string[]  names of GPUs that trials are given to
---@field share? integer  trials that run on one GPU at once; default: 1
---@field prune? string|table  "median", "halving" or {rule =, start = 5, factor = 3, within = names of parameters}

--- Studies, and the axes of their spaces.
---@class gb.sweep
gb.sweep = {}

--- A study: many trials of one function over a space of parameters. A script that ends with return gb.sweep{...} is run by gibbous sweep
--- run SCRIPT, each trial in a process of its own. docs/guide/sweeps.md describes it.
---@param o gibbous.sweep.options
---@return gibbous.sweep
--- Errors: option.
---```lua
--- print(gb.sweep{name = "squares", space = {x = gb.sweep.range(1, 5)}, run = function(p) return {value = p.x^2} end})
---```
function gb.sweep(o) end

--- The list first, first + step, ... up to last: of an axis, or of repeats.
---@param first number
---@param last number
---@param step number?  default: 1
---@return number[]
--- Errors: option.
---```lua
--- print(table.concat(gb.sweep.range(0, 1, 0.25), " "))
---```
function gb.sweep.range(first, last, step) end

--- An axis of numbers between low and high, all equally likely; for search = "random", "sobol" and "gp".
---@param low number
---@param high number
---@return gibbous.sweep.range
--- Errors: option.
---```lua
--- print(gb.sweep.uniform(-1, 1))
---```
function gb.sweep.uniform(low, high) end

--- An axis of numbers between low and high, both above 0, whose logarithms are equally likely.
---@param low number
---@param high number
---@return gibbous.sweep.range
--- Errors: option.
---```lua
--- print(gb.sweep.log_uniform(1e-4, 1))
---```
function gb.sweep.log_uniform(low, high) end

---@class gibbous.sweep.integers.options
---@field log? boolean  true: ratios are equally likely, not differences

--- An axis of the whole numbers from low to high, all equally likely.
---@param low integer
---@param high integer
---@param o gibbous.sweep.integers.options?
---@return gibbous.sweep.range
--- Errors: option.
---```lua
--- print(gb.sweep.integers(1, 512, {log = true}))
---```
function gb.sweep.integers(low, high, o) end

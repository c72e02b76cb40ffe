---@meta

---@class gibbous
local gb = {}

--- The options of a script, declared once: types, help, errors and completion come from the declaration. given[1]: what the script
--- does; every other key names an option and has {default, "help"}, or default, help, type ("string", "integer", "number",
--- "boolean"), choices, required, min, max and short (a letter). The words are those of arg: --lr=0.05, --lr 0.05, --json, --no-json.
--- Wrong words end the script with status 2, --help with 0; with GIBBOUS_COMPLETE set it prints its options, for shells.
---@param given table
---@return table
--- Errors: option, of the declaration.
---```lua
--- local before = arg
--- _G.arg = {[0] = "fit.lua", "--lr=0.05"}              -- as gibbous fit.lua --lr=0.05 has it
--- local o = gb.cli{"Fits a model.", lr = {0.1, "learning rate"}, json = {false, "prints JSON"}}
--- print(o.lr, o.json)
--- _G.arg = before
---```
function gb.cli(given) end

---@class gibbous.sweep.options
---@field name string  of letters, digits, ".", "_" and "-": the folder NAME.gibbous beside the script keeps the results
---@field run fun(p: table, trial: gibbous.sweep.trial): table|number  one trial: its parameters, and the trial itself; gives results by name
---@field space? table<string, any[]|gibbous.sweep.range>  values, or a range, of each parameter
---@field repeats? integer|table<string, any[]>  each point is tried so often, p["repeat"] = 1, 2, ..., or for each of these values
---@field search? "grid"|"random"|"sobol"|"gp"  all points; drawn ones; or where a model expects the largest improvement; default: "grid"
---@field trials? integer  how many points a search draws
---@field seed? integer  of the search and of the trials' seeds; default: 0
---@field metric? string  the result by which trials are compared
---@field goal? "min"|"max"  of the metric; default: "min"
---@field budget? table  time of a trial (seconds or "20m"), memory of all that run (bytes, "1 GiB" or "auto"), trials of a search
---@field memory? integer|string|function  bytes of one trial, or a function of its parameters; otherwise its first fit says
---@field devices? string[]  that trials are given, such as "cuda:0"
---@field share? integer  how many trials one device has at once; default: 1
---@field prune? string|table  "median" or "halving", or {rule, start, factor, within}: ends trials whose reports are poor

--- A study: many trials of one function over a space of parameters. The value describes it; gibbous sweep run SCRIPT runs it, each
--- trial in a process of its own, and goes on where it was stopped. A script gives the study back at its end.
---@param o gibbous.sweep.options
---@return gibbous.sweep
--- Cost: none. Errors: option.
---```lua
--- local study = gb.sweep{name = "squares", space = {x = gb.sweep.range(1, 3)}, metric = "y",
---   run = function(p) return {y = p.x ^ 2} end}
--- print(study)
---```
function gb.sweep(o) end

--- The list first, first + step, ..., last.
---@param first number
---@param last number
---@param step number?  default: 1
---@return number[]
--- Errors: option.
---```lua
--- print(table.concat(gb.sweep.range(1, 9, 4), " "))
---```
function gb.sweep.range(first, last, step) end

--- An axis of numbers between two ends, all equally likely; of a search other than "grid".
---@param low number
---@param high number
---@return gibbous.sweep.range
--- Errors: option.
---```lua
--- print(gb.sweep.uniform(0, 1))
---```
function gb.sweep.uniform(low, high) end

--- An axis of numbers between two ends above 0, whose logarithms are equally likely.
---@param low number
---@param high number
---@return gibbous.sweep.range
--- Errors: option.
---```lua
--- print(gb.sweep.log_uniform(1e-4, 1))
---```
function gb.sweep.log_uniform(low, high) end

---@class gibbous.sweep.integers.options
---@field log? boolean  are ratios equally likely, not differences? default: false

--- An axis of whole numbers between two ends, all equally likely.
---@param low integer
---@param high integer
---@param o gibbous.sweep.integers.options?
---@return gibbous.sweep.range
--- Errors: option.
---```lua
--- print(gb.sweep.integers(1, 1000, {log = true}))
---```
function gb.sweep.integers(low, high, o) end

--- Is it a study?
---@param v any
---@return boolean
---```lua
--- print(gb.sweep.is(3))
---```
function gb.sweep.is(v) end

--- A study as gb.sweep made it; it does not change.
---@class gibbous.sweep
---@field name string  of the study, and of its folder
---@field run function  one trial
---@field space table[]  the axes, sorted by name: {name, values} or {name, range}
---@field repeats table[]  the axes of repeats
---@field search string  "grid", "random", "sobol", "gp"
---@field trials integer?  how many points a search draws
---@field seed integer  of the search and of the trials' seeds
---@field metric string?  the result by which trials are compared
---@field goal string  "min" or "max"
---@field memory (integer|string|function)?  bytes of one trial
---@field devices string[]?  that trials are given
---@field share integer  how many trials one device has at once
---@field time number?  seconds of a trial
---@field limit (integer|string)?  bytes of all trials together
---@field prune table?  the rule that ends poor trials
local sweep = {}

--- An axis of numbers between two ends.
---@class gibbous.sweep.range
---@field low number  the smallest
---@field high number  the largest
---@field log boolean  are ratios equally likely, not differences?
---@field whole boolean  are its values whole numbers?
local range = {}

--- What the function of a study gets beside its parameters: one trial.
---@class gibbous.sweep.trial
---@field number integer  its place in the study, from 1
---@field seed integer  for all that is random in it; gb.seed and math.randomseed have it already
---@field dir string  a folder of its own, which exists, for anything larger than a number
---@field params table  its parameters
local trial = {}

--- Tells a value on the way, of a step of a fit or an epoch: the store keeps it, and where the study prunes, a poor trial ends here.
--- Three values in a row that are no numbers end it, too.
---@param step number  larger each time
---@param value number
--- Errors: option; interrupted, which ends the trial.
---```lua
--- local study = gb.sweep{name = "report", run = function(p, trial)
---   for step = 1, 3 do trial:report(step, 1 / step) end
---   return 1 / 3
--- end}
--- print(study.name)
---```
function trial:report(step, value) end

--- What a search by a Gaussian process goes by.
---@class gb.bo
gb.bo = {}

---@class gibbous.bo.log_ei.options
---@field goal? "min"|"max"  is less better, or more? default: "min"

--- The logarithm of the expected improvement on 'best' of values that are normal, E max(best - y, 0), or E max(y - best, 0) of "max".
--- It is right where the improvement itself is 0 in floating point, and differentiable. Source: Ament et al. (2023).
---@param mean gibbous.tensor  of each value
---@param sd gibbous.tensor  of each value, above 0
---@param best number|gibbous.tensor  the best value so far
---@param o gibbous.bo.log_ei.options?
---@return gibbous.tensor
--- Errors: option, shape.
---```lua
--- print(gb.bo.log_ei(gb.tensor{0, 1, 50}, gb.tensor{1, 1, 1}, 0))
---```
function gb.bo.log_ei(mean, sd, best, o) end

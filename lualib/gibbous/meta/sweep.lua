---@meta

---@class gibbous
local gb = {}

--- The words of a script, declared once: types, help, errors and completion come from the declaration. given[1]: what the script
--- does; a name as key is an option and has {default, "help"}, or default, help, type ("string", "integer", "number", "boolean"),
--- choices, required, min, max and short (a letter). Tables without a key are words that have a place, in this order: {"file", help =,
--- type =, choices =, min =, max =, default =, n =}; n "+" is a list of one or more, "*" of any number, 3 of three, "?" one or none.
--- The words are those of arg: --lr=0.05, --lr 0.05, --no-json; behind a -- nothing is an option. Wrong words, too few or too many end
--- the script with status 2, --help with 0; with GIBBOUS_COMPLETE set it prints what may be typed, for shells.
---@param given table
---@return table
--- Errors: option, of the declaration.
---```lua
--- local before = arg
--- _G.arg = {[0] = "fit.lua", "--lr=0.05"}              -- as gibbous fit.lua --lr=0.05 has it
--- local o = gb.cli{"Fits a model.", lr = {0.1, "learning rate"}, json = {false, "prints JSON"}}
--- print(o.lr, o.json)
--- _G.arg = {[0] = "join.lua", "a.csv", "b.csv", "out.csv"}
--- local w = gb.cli{"Joins tables.", {"file", help = "tables to read", n = "+"}, {"out", help = "the table to write"}}
--- print(#w.file, w.out)
--- _G.arg = before
---```
function gb.cli(given) end

---@class gibbous.sweep.options
---@field name string  a word: the store is the folder NAME.gibbous
---@field run function  run(p, trial): p are the parameters, trial a gibbous.sweep.trial; gives a number, or a table of plain values
---@field space? table<string, any>  lists of values by name; for a search also ranges; gb.sweep.when(...) of either
---@field repeats? integer|table<string, any[]>  how often each cell is tried, or lists by name; default: 1
---@field search? "grid"|"random"|"sobol"|"gp"|"tpe"  default: "grid"
---@field trials? integer  cells that a search draws
---@field seed? integer  of the search and of all trials; default: 0
---@field metric? string  the field of the result that is compared
---@field goal? "min"|"max"  default: "min"
---@field budget? table  {time = of a trial, memory = of all that run, trials = cells}
---@field memory? integer|string|function  bytes of a trial
---@field devices? string[]  names of GPUs that trials are given to
---@field share? integer  trials that run on one GPU at once; default: 1
---@field prune? string|table  "median", "halving" or {rule =, start = 5, factor = 3, within = names of parameters}

--- A study: many trials of one function over a space of parameters. A script that ends with return gb.sweep{...} is run by
--- gibbous sweep run SCRIPT, each trial in a process of its own. docs/guide/sweeps.md describes it.
---@param o gibbous.sweep.options
---@return gibbous.sweep
--- Errors: option.
---```lua
--- print(gb.sweep{name = "squares", space = {x = gb.sweep.range(1, 5)}, run = function(p) return {value = p.x^2} end})
---```
---@class gb.sweep
gb.sweep = {}

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

--- An axis of numbers between low and high, all equally likely; for every search but "grid".
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

--- An axis that a cell has only where other axes have these values: p.period is nil in the others.
---@param condition table<string, any>  by the name of an axis that lists values: one of them, or a list
---@param axis any[]|gibbous.sweep.range
---@return gibbous.sweep.when
--- Errors: option.
---```lua
--- print(gb.sweep{name = "kinds", run = function(p) return #p.kernel + (p.period or 0) end, space = {
---   kernel = {"rbf", "periodic"}, period = gb.sweep.when({kernel = "periodic"}, {0.5, 1, 2})}})
---```
function gb.sweep.when(condition, axis) end

--- A study: a value, as gb.sweep{...} made it. Prints as text.
---@class gibbous.sweep
---@field name string  of its store
---@field run function  of parameters and trial
---@field search string  "grid", "random", "sobol", "gp" or "tpe"
---@field seed integer  of the search and of all trials
---@field goal string  "min" or "max"
---@field share integer  trials on one GPU at once
---@field space table[]  its axes: {name, values} or {name, range}, by name; condition, where an axis depends on others before it
---@field repeats table[]  the same
---@field trials integer?  cells of a search
---@field metric string?  the field of the result that is compared
---@field memory (integer|string|function)?  bytes of a trial
---@field devices string[]?  names of GPUs
---@field time number?  seconds of a trial
---@field limit (integer|string)?  bytes of all trials that run
---@field prune table?  {rule, start, factor, within}
local sweep = {}

--- An axis of numbers between two ends. Prints as text.
---@class gibbous.sweep.range
---@field low number  the least value
---@field high number  the greatest value
---@field log boolean  are ratios equally likely, not differences?
---@field whole boolean  are its values integers?
local range = {}

--- An axis that depends on others. Prints as text.
---@class gibbous.sweep.when
---@field condition table<string, any>  values by the name of an axis
---@field axis any  a list of values, or a range
local when = {}

--- What the function of a study gets beside its parameters: one trial.
---@class gibbous.sweep.trial
---@field number integer  its place in the study, from 1
---@field seed integer  for all that is random in it; gb.seed and math.randomseed have it already
---@field dir string  a folder of its own, which exists, for anything larger than a number
---@field params table  its parameters
local trial = {}

--- Tells a value on the way, of a step of a fit or an epoch: the store keeps it, and where the study prunes, a poor trial ends.
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

--- What a search by models is made of.
---@class gb.bo
gb.bo = {}

---@class gibbous.bo.log_ei.options
---@field goal? "min"|"max"  is less better, or more? default: "min"

--- The logarithm of the expected improvement on 'best' of values that are normal: log E max(best - y, 0), or log E max(y - best, 0)
--- where more is better. It is right where the improvement itself is 0 in floating point, lazy and differentiable. Source: Ament
--- et al., 2023.
---@param mean gibbous.tensor
---@param sd gibbous.tensor  of one shape with mean, above 0
---@param best number|gibbous.tensor
---@param o gibbous.bo.log_ei.options?
---@return gibbous.tensor
--- Errors: option, shape.
---```lua
--- print(gb.bo.log_ei(gb.tensor{0.5, 2}, gb.tensor{0.1, 0.3}, 1))
---```
function gb.bo.log_ei(mean, sd, best, o) end

---@meta

---@class gibbous
local gb = {}

--- Optimisers over parameters. They move the unconstrained values, so bounds hold; a step to a value that is not finite is undone.
---@class gb.optim
---@field spec table<string, any>  the rules of the options of a descent; for the library
---@field LIMIT string  the reason of a descent that reached its steps; for the library
gb.optim = {}

---@class gibbous.minimize.options
---@field method? "lbfgs"|"adam"|"sgd"  default: "lbfgs"
---@field steps? integer  at most; default: 200, of "adam" and "sgd" 500
---@field lr? number  step length of "adam" (0.05) and "sgd" (1e-3)
---@field tol? number  stops where the largest element of the gradient is below; default: 1e-5
---@field ftol? number  stops where the value changes by less than this share of itself; default: 1e-9
---@field on_step? fun(s: table): boolean?  gets {step, value, gradient_norm}, and stops by returning false
---@field resume? gibbous.optim_info  of a call that was interrupted or reached its steps: it goes on there; 'steps' counts all

--- Minimises f() over the free parameters below a root. They end at the best point seen, also when interrupted.
---@param f fun(): gibbous.tensor  gives one element
---@param root any  parameters, or what has some: as of gb.params
---@param o gibbous.minimize.options?
---@return gibbous.optim_info
--- Errors: option where f depends on no free parameter; nan where it is not finite at the start.
---```lua
--- local p = gb.param(0)
--- print(gb.optim.minimize(function() return (p - 3) ^ 2 end, {p}).value, p)
---```
function gb.optim.minimize(f, root, o) end

---@class gibbous.first_order.options
---@field lr? number  step length; default: of adam 0.05, of sgd 1e-3

--- An optimiser by Adam, for loops of one's own.
---@param root any  parameters, or what has some
---@param o gibbous.first_order.options?
---@return gibbous.optimiser
---```lua
--- local p = gb.param(0)
--- local opt = gb.optim.adam({p}, {lr = 0.1})
--- for _ = 1, 5 do opt:step(function() return (p - 3) ^ 2 end) end
--- print(p)
---```
function gb.optim.adam(root, o) end

--- An optimiser by gradient descent, for loops of one's own.
---@param root any  parameters, or what has some
---@param o gibbous.first_order.options?
---@return gibbous.optimiser
---```lua
--- local p = gb.param(0)
--- local opt = gb.optim.sgd({p}, {lr = 0.1})
--- print(opt:step(function() return (p - 3) ^ 2 end))
---```
function gb.optim.sgd(root, o) end

---@class gibbous.optim.lbfgs.options
---@field steps? integer  of L-BFGS in one opt:step; default: 20

--- An optimiser by L-BFGS, for loops of one's own.
---@param root any  parameters, or what has some
---@param o gibbous.optim.lbfgs.options?
---@return gibbous.optimiser
---```lua
--- local p = gb.param(0)
--- gb.optim.lbfgs{p}:step(function() return (p - 3) ^ 2 end)
--- print(p)
---```
function gb.optim.lbfgs(root, o) end

--- What gb.optim.minimize does, with options that were checked; for the library.
---@param f fun(): gibbous.tensor
---@param root any
---@param o table  checked options, of gb.optim.minimize
---@return gibbous.optim_info
---```lua
--- local p = gb.param(0)
--- print(gb.optim.run(function() return (p - 3) ^ 2 end, {p}, {steps = 1}).iterations)
---```
function gb.optim.run(f, root, o) end

--- Where a descent stood at the last point that on_step heard of, while its report lives; for the library.
---@param info gibbous.optim_info
---@return table?
---```lua
--- local p = gb.param(0)
--- print(gb.optim.state(gb.optim.minimize(function() return (p - 3) ^ 2 end, {p})).at.step)
---```
function gb.optim.state(info) end

--- How many steps a method makes at most where nothing else is said.
---@param method string?  default: "lbfgs"
---@return integer
---```lua
--- print(gb.optim.usual_steps "adam")
---```
function gb.optim.usual_steps(method) end

--- An optimiser that keeps its state from step to step.
---@class gibbous.optimiser
---@field lr number  step length; may be assigned
---@field steps integer  of lbfgs: in one step; may be assigned
---@field root any  of lbfgs: what it optimises
---@field space table  of adam and sgd: the parameters; for the library
---@field state table  of adam and sgd: their moments; for the library
---@field previous table?  of adam and sgd: where the last step began; for the library
local optimiser = {}

--- One step on f(). Gives the loss before the step, and {undone, gradient_norm} (of lbfgs a gibbous.optim_info).
---@param f fun(): gibbous.tensor  gives one element
---@return number
---@return table
---```lua
--- local p = gb.param(0)
--- print(gb.optim.adam{p}:step(function() return (p - 3) ^ 2 end))
---```
function optimiser:step(f) end

--- How new values follow from the gradient; for the library.
---@param state table
---@param x number[]
---@param g number[]
---@param lr number
---@return number[]
function optimiser:update(state, x, g, lr) end

--- The report of a minimisation. Prints as text.
---@class gibbous.optim_info
---@field converged boolean  a test of the method was met
---@field reason string  why it stopped
---@field value number  at the best point
---@field iterations integer  steps
---@field evaluations integer  of f
---@field setbacks integer  steps undone
---@field interrupted boolean  Ctrl-C or on_step stopped it
---@field method string  "lbfgs", "adam", "sgd"
---@field seconds number  it took
---@field solve table?  of a fit: the report of the solver
---@field gradient_norm number?  of a fit: at the best point
---@field precision string?  of a fit: "f32" or "f64"
local optim_info = {}

--- Raises for checked options that the method has no use for: lr of L-BFGS; for the library.
---@param o table  checked options, of gb.optim.minimize or of a fit
---@param what string  what begins the message
---@return nil
--- Errors: option.
---```lua
--- gb.optim.check({method = "adam", lr = 0.1}, "fit")
---```
function gb.optim.check(o, what) end

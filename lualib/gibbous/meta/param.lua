---@meta

---@class gibbous
local gb = {}

---@class gibbous.param.options
---@field min? number  the value stays above it
---@field max? number  the value stays below it
---@field fixed? boolean  true: optimisers leave it alone; default: false
---@field prior? gibbous.prior  its log density is added to what a fit maximises
---@field name? string  what messages and reports call it; default: "param"
---@field transform? "identity"|"exp"|table  from the unconstrained to the constrained value: a name, or {forward, inverse}; default: by the bounds

--- A parameter: a named box with a value inside its bounds, which optimisers replace. It can stand wherever a tensor can, and answers to
--- the methods of tensors. Models, kernels and means share a parameter that is given to several of them.
---@param v number|table|gibbous.tensor  the value at the start, strictly inside the bounds
---@param o gibbous.param.options?
---@return gibbous.param
--- Errors: option where the value lies outside its bounds; nan where it is not finite.
---```lua
--- local p = gb.param(0.5, {min = 0, name = "noise"})
--- p.value = 0.7
--- p.max = 1
--- print(p.value:item(), p.min, p.max)
---```
function gb.param(v, o) end

--- The parameters below a root, in a fixed order, and their paths: a model, kernel, mean, likelihood, network, or a table of these.
---@param root any
---@return gibbous.param[]
---@return string[] paths
---```lua
--- local list, paths = gb.params(gb.kernels.rbf{lengthscale = 2})
--- print(#list, paths[1])
---```
function gb.params(root) end

--- A parameter as gb.param makes it.
---@class gibbous.param
---@field value gibbous.tensor  the constrained value; what is assigned (a number, list or tensor) is evaluated
---@field raw gibbous.tensor  the unconstrained value, which optimisers move; may be assigned
---@field fixed boolean  true: optimisers leave it alone; may be assigned
---@field prior gibbous.prior?  nil: none; may be assigned
---@field name string  what messages call it
---@field version integer  how often it was assigned
---@field min number?  the lower bound, nil: none; may be assigned (the value stays and must be above it), nil: the one it has by what it is
---@field max number?  the upper bound, nil: none; may be assigned likewise
local param = {}

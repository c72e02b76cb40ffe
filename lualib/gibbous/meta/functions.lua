---@meta

---@class gibbous
local gb = {}

---@class gibbous.grad.options
---@field cotangent? gibbous.tensor  what dy is multiplied by, of the shape of y; needed where y has several elements
---@field raw? boolean  by the unconstrained values of params instead of their values; default: false
---@field unused? "error"|"zero"  what does not depend on y: an error, or zeros; default: "error"

--- dy/dxs, lazy, with the keys of xs; it can be differentiated again.
---@param y gibbous.tensor  one element, unless a cotangent is given
---@param xs gibbous.tensor|gibbous.param|table  a tensor, a param, or a table of them
---@param o gibbous.grad.options?
---@return gibbous.tensor|table
--- Errors: option where y does not depend on an x.
---```lua
--- local x = gb.tensor{1, 2, 3}:requires_grad()
--- print(gb.grad((x ^ 2):sum(), x))
---```
function gb.grad(y, xs, o) end

---@class gibbous.func.options
---@field name string  for messages and plans
---@field shape "same"|function  of the result: as the first argument, or a function of the arguments' shapes that gives extents and, optionally, a dtype
---@field forward function  of the arguments, with values, that gives the result from ordinary operations
---@field backward? function  (dy, x, ...) on lazy tensors: the gradient by each argument, or nil for none
---@field bytes? integer|string|function  what forward holds at once beyond arguments and result; without it no plan takes the function
---@field axes? string[]  per dimension "map", where slices may be computed on their own, or "coupled"; default: "coupled"
---@field batched? boolean  true: under gb.vmap forward gets all arguments with the mapped dimension in front; default: false

--- A function of tensors as an op: f(x, ...) is lazy, and f.name is its name.
---@param o gibbous.func.options
---@return gibbous.func
--- Errors: option.
---```lua
--- local twice = gb.func{name = "twice", shape = "same", forward = function(x) return x * 2 end, bytes = "1 MiB"}
--- print(twice(gb.ones(3)))
---```
function gb.func(o) end

--- A function as an op, as gb.func makes it; f(x, ...) is lazy.
---@class gibbous.func
---@field name string  for messages and plans
local func = {}

---@class gibbous.vmap.options
---@field randomness? "independent"|"same"  whether each slice has numbers of its own; default: "independent"

--- f over slices: each argument along its dimension (false: whole). f is traced once and must not observe its arguments.
---@param f function
---@param dims integer|(integer|false)[]?  default: 1
---@param o gibbous.vmap.options?
---@return function
---```lua
--- local f = gb.vmap(function(row) return row:sum() end)
--- print(f(gb.ones(3, 2)))
---```
function gb.vmap(f, dims, o) end

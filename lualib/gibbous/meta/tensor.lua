---@meta

--- An array of numbers, or an expression for one: everything is lazy, until a value is looked at. `==` asks whether two handles are one and the same; x:equal(y) compares elements, x:item() is the number of one element.
---@class gibbous.tensor
---@field shape integer[]        extents; prints as 500x3, compares with ==
---@field ndim integer           number of dimensions
---@field numel integer          number of elements
---@field dtype gibbous.dtype  the type of its elements
---@field device string         where its value lies: "cpu", "cpu:2", or a kind that x:to opened
---@field [integer] gibbous.tensor
---@operator add(gibbous.operand): gibbous.tensor
---@operator sub(gibbous.operand): gibbous.tensor
---@operator mul(gibbous.operand): gibbous.tensor
---@operator div(gibbous.operand): gibbous.tensor
---@operator idiv(gibbous.operand): gibbous.tensor
---@operator mod(gibbous.operand): gibbous.tensor
---@operator pow(gibbous.operand): gibbous.tensor
---@operator band(gibbous.operand): gibbous.tensor
---@operator bor(gibbous.operand): gibbous.tensor
---@operator bnot: gibbous.tensor
---@operator unm: gibbous.tensor
---@operator len: integer
local tensor = {}

---@class gibbous
local gb = {}

--- The number of a tensor of one element. Evaluates.
---@return number|boolean
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:sum():item())
---```
function tensor:item() end

--- Nested lists. Evaluates.
---@return table
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:totable()[1][2])
---```
function tensor:totable() end

--- Evaluates x now; gives x.
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:exp():eval())
---```
function tensor:eval() end

--- Evaluates tensors, also inside tables, in one traversal; gives its arguments.
---@param ... any  tensors, and tables with tensors
---```lua
--- local a, b = gb.eval(gb.rand(2), gb.rand(2))
--- print(a, b)
---```
function gb.eval(...) end

--- The same shape, type and elements? NaN equals nothing. Evaluates.
---@param y gibbous.tensor
---@return boolean
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:equal(gb.ones(2, 2)))
---```
function tensor:equal(y) end

---@class gibbous.allclose.options
---@field rtol? number  default: 1e-5
---@field atol? number  default: 1e-8

--- |x - y| <= atol + rtol |y| everywhere? {rtol = 1e-5, atol = 1e-8}. Evaluates.
---@param y gibbous.operand
---@param o gibbous.allclose.options?
---@return boolean
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:allclose(gb.ones(2, 2), {rtol = 1}))
---```
function tensor:allclose(y, o) end

--- x converted: x:to "f32", x:to "cuda", or x:to{dtype, device}. On another device an op runs where its inputs lie:
--- numbers and values without axes follow, of two tensors the script moves one. Gradients come back to where x lies.
--- Kernels and networks take their parameters along; models, solvers and gb.func work on the session's device.
--- Costs one copy; a plan says how many bytes each device takes. Errors: "device" if no device has that name.
---@param o string|gibbous.make.options  a dtype, a device, or both
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:to "f32")
---```
function tensor:to(o) end

--- Gives the handle back at once; it then answers nothing but close and tostring. Also 'local x <close> = ...'.
---```lua
--- local x = gb.zeros(3)
--- x:close()
---```
function tensor:close() end

--- A new leaf of x's value, by which gradients can be asked for. Evaluates.
---@return gibbous.tensor
---```lua
--- local x = gb.tensor{1, 2}:requires_grad()
--- print(gb.grad((x * x):sum(), x))
---```
function tensor:requires_grad() end

--- x, through which no gradient flows.
---@return gibbous.tensor
---```lua
--- local x = gb.tensor{1, 2}:requires_grad()
--- print(gb.grad((x * x:detach()):sum(), x))
---```
function tensor:detach() end

---@meta

---@alias gibbous.dtype "f64"|"f32"|"f16"|"bf16"|"i64"|"i32"|"bool"
---@alias gibbous.operand gibbous.tensor|gibbous.param|number

---@class gibbous.make.options
---@field dtype? gibbous.dtype  the type of the elements; that of gb.config ("f64") by default
---@field device? string  where the value is made; the device of the session by default

---@class gibbous.lazy.options
---@field batch? integer  the axis that a plan may cut; default: 1

---@class gibbous.randperm.options
---@field device? string  where the value is made
---@field seed? integer  the order depends on it alone

---@class gibbous.random.options: gibbous.make.options
---@field seed? integer  draws that depend on it alone, whatever was drawn before

---@class gibbous
local gb = {}

--- A tensor from a number, a boolean, nested lists, or another tensor. Evaluated.
---@param t number|boolean|table|gibbous.tensor  lists must not be ragged
---@param o gibbous.make.options?  dtype: f64 by default (gb.config), bool for booleans; integers that f64 would round want a dtype
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{1, 2}, {3, 4}})
---```
function gb.tensor(t, o) end

--- Names the axis of data that a plan may cut when memory is short, and gives the same tensors back; numbers pass
--- through. Sums over that axis run in grains (a function of its extent alone), so that a result has the same bits
--- whole and in chunks: gradients accumulated over chunks are the gradient of the whole batch.
---@param ... gibbous.tensor|number|gibbous.lazy.options  data of one batch, and options last
---@return gibbous.tensor ...
---```lua
--- local x = gb.lazy(gb.rand(100, 3))
--- print(x:sum():item() > 0)
---```
function gb.lazy(...) end

--- Zeros of shape (n, m, ...); the last argument may be {dtype, device}. Takes no memory.
---@param ... integer|integer[]|gibbous.make.options  extents, and options last
---@return gibbous.tensor
---```lua
--- print(gb.zeros(2, 3))
---```
function gb.zeros(...) end

--- Ones of shape (n, m, ...); the last argument may be {dtype, device}. Takes no memory.
---@param ... integer|integer[]|gibbous.make.options  extents, and options last
---@return gibbous.tensor
---```lua
--- print(gb.ones(2, {dtype = "f32"}))
---```
function gb.ones(...) end

--- v everywhere. Takes no memory.
---@param shape integer[]
---@param v number|boolean
---@param o gibbous.make.options?
---@return gibbous.tensor
---```lua
--- print(gb.full({2, 2}, 7))
---```
function gb.full(shape, v, o) end

--- A shape without a value: stands for data in gb.plan, bound by plan:run{[leaf] = x}. Observing it is an error.
---@param ... integer|integer[]|gibbous.make.options  extents, and options last
---@return gibbous.tensor
---```lua
--- local x = gb.empty(100, 3)
--- local plan = gb.plan((x * 2):sum())
--- print(plan:run{[x] = gb.ones(100, 3)}:item())
---```
function gb.empty(...) end

--- The (n, n) identity. Takes no memory; A + s * gb.eye(n) streams.
---@param n integer
---@param o gibbous.make.options?
---@return gibbous.tensor
---```lua
--- print(gb.eye(2) * 3)
---```
function gb.eye(n, o) end

--- a, a + step, ... up to b, which is included when it is hit within rounding.
---@param a number
---@param b number
---@param step number?  default: 1
---@param o gibbous.make.options?
---@return gibbous.tensor
---```lua
--- print(gb.range(1, 2, 0.25))
---```
function gb.range(a, b, step, o) end

--- n evenly spaced points from a to b, both included.
---@param a number
---@param b number
---@param n integer
---@param o gibbous.make.options?
---@return gibbous.tensor
---```lua
--- print(gb.linspace(0, 1, 5))
---```
function gb.linspace(a, b, n, o) end

--- Uniform random numbers in (0, 1) of shape (n, m, ...); the last argument may be {dtype, device, seed}.
--- A pure function of seed, order of creation since gb.seed, and element position.
---@param ... integer|integer[]|gibbous.random.options  extents, and options last
---@return gibbous.tensor
---```lua
--- print(gb.rand(2, 3, {seed = 1}))
---```
function gb.rand(...) end

--- Standard normal random numbers; as gb.rand.
---@param ... integer|integer[]|gibbous.random.options  extents, and options last
---@return gibbous.tensor
---```lua
--- print(gb.randn(2, 3, {seed = 1}))
---```
function gb.randn(...) end

--- The positions 1 .. n in random order, i64.
---@param n integer
---@param o gibbous.randperm.options?
---@return gibbous.tensor
---```lua
--- print(gb.randperm(5, {seed = 1}))
---```
function gb.randperm(n, o) end

--- n points of the d-dimensional Sobol sequence in the unit cube, digitally shifted by the seed.
---@param n integer
---@param d integer
---@param o gibbous.random.options?
---@return gibbous.tensor (n, d)
---```lua
--- print(gb.sobol(4, 2))
---```
function gb.sobol(n, d, o) end

--- Random tensors made from here on depend on n and their order only.
---@param n integer
---@param made integer?  they count as if so many had been made since gb.seed(n); default: 0
---```lua
--- gb.seed(1)
--- local x, y = gb.rand(2), gb.rand(2)
--- gb.seed(1, 1)
--- print(gb.rand(2):equal(y))
---```
function gb.seed(n, made) end

---@meta

---@class gibbous
local gb = {}

--- Mean functions: values called as m(x) with x (n, d), giving (n), lazy.
---@class gb.means
gb.means = {}

---@class gibbous.means.linear.options
---@field slope? number|number[]|gibbous.param  in units of y over x: a list has one per column; a number starts every column; default: 0
---@field offset? number|gibbous.param  the value at x = 0, in units of y; default: 0

--- A mean function, as gb.means makes it; m.value = 3 gives a parameter its value. Means add up, also with functions of x (n, d), and
--- with numbers, which are constants that a fit may move; c * m is a multiple, whose c stays unless it is a gb.param.
---@class gibbous.mean
---@field value gibbous.param  of constant: the value, in units of y
---@field slope gibbous.param  of linear: in units of y over x
---@field offset gibbous.param  of linear: the value at x = 0
---@field root any?  the function or network it is made of
---@field factor gibbous.param  of a multiple c * m: fixed where c was a number
---@field parts gibbous.mean[]?  of a sum, or the one of a multiple; m[1] is the first
---@field pending boolean?  true: the slopes follow when data arrive
---@field task_column boolean?  true: the last column of x is the task, which it does not see
local mean = {}

--- m(x) = 0.
---@return gibbous.mean
---```lua
--- print(gb.means.zero()(gb.ones(3, 1)))
---```
function gb.means.zero() end

--- m(x) = value, in units of y; a number is free to be fitted.
---@param value number|number[]|gibbous.param?  0; a list has one per task, for gb.gp.multitask
---@return gibbous.mean
---```lua
--- print(gb.means.constant(2)(gb.ones(3, 1)))
---```
function gb.means.constant(value) end

--- m(x) = offset + x . slope.
---@param o gibbous.means.linear.options?
---@return gibbous.mean
--- Errors: shape where there are not as many slopes as columns.
---```lua
--- print(gb.means.linear{slope = {1, 2}, offset = 3}(gb.ones(4, 2)))
---```
function gb.means.linear(o) end

--- A constructor for means of one's own: f(x, p) gives (n), with p the values of the parameters by name.
---@param name string
---@param params table<string, number|table>  the parameters and their values at the start
---@param f fun(x: gibbous.tensor, p: table): gibbous.tensor
---@return fun(o: table?): gibbous.mean
---```lua
--- local decay = gb.means.define("decay", {rate = 1}, function(x, p) return (x:squeeze(2) * -p.rate):exp() end)
--- print(decay{rate = 2}(gb.ones(3, 1)))
---```
function gb.means.define(name, params, f) end

--- A mean from a mean, a function of x (n, d) giving (n) or (n, 1), or a network; nil from anything else. For models.
---@param v any
---@return gibbous.mean?
---```lua
--- print(gb.means.of(function(x) return x:sum(2) end)(gb.ones(3, 2)))
---```
function gb.means.of(v) end

--- The sum of means ("sum"), or the multiple of one by hyper.factor ("multiple"); for the library: a + b and c * a make them.
---@param kind "sum"|"multiple"
---@param parts gibbous.mean[]
---@param hyper table<string, gibbous.param>?
---@return gibbous.mean
---```lua
--- local m = gb.means.linear{slope = 2} + gb.means.constant(1)
--- print(m, 3 * m, (m - 1)(gb.ones(2, 1)))
--- print(gb.means.composite("sum", {gb.means.zero(), gb.means.constant(1)})(gb.ones(2, 1)))
---```
function gb.means.composite(kind, parts, hyper) end

--- Is v a mean?
---@param v any
---@return boolean
---```lua
--- print(gb.means.is(gb.means.zero()))
---```
function gb.means.is(v) end

--- The state of a mean; for the library.
---@param m gibbous.mean
---@return table
---```lua
--- print(gb.means.fields(gb.means.zero()).kind)
---```
function gb.means.fields(m) end

--- Gives a linear mean that was built from one number a slope for each of d columns; models call it when data arrive.
---@param m gibbous.mean
---@param d integer
---```lua
--- local m = gb.means.linear{slope = 1}
--- gb.means.resolve(m, 2)
--- print(m.slope)
---```
function gb.means.resolve(m, d) end

--- The mean m for inputs with one more column, the task, which form(m, x) takes; for models of several outputs.
---@param m gibbous.mean
---@param form fun(m: gibbous.mean, x: gibbous.tensor): gibbous.tensor
---@return gibbous.mean
---```lua
--- local m = gb.means.with_task(gb.means.zero(), function(_, x) return x:select(2, 1) end)
--- print(m(gb.ones(2, 2)))
---```
function gb.means.with_task(m, form) end

--- An independent copy; explicit gb.params and networks are shared.
---@return gibbous.mean
---```lua
--- print(gb.means.constant(2):copy())
---```
function mean:copy() end

---@meta

---@class gibbous.reduce.options
---@field keepdim? boolean  true keeps extents of 1; default: false

---@class gibbous.var.options: gibbous.reduce.options
---@field ddof? integer  the sum is divided by n - ddof; default: 1

---@class gibbous.arg.options: gibbous.reduce.options
---@field dtype? "i64"|"i32"  of the positions; default: "i64"

---@class gibbous.norm.of.options: gibbous.reduce.options
---@field p? number  default: 2

---@class gibbous.sort.options
---@field descending? boolean  default: false
---@field dtype? "i64"|"i32"  of the positions; default: "i64"

---@class gibbous.topk.options
---@field largest? boolean  false: the smallest; default: true
---@field dtype? "i64"|"i32"  of the positions; default: "i64"

---@class gibbous.argsort.options: gibbous.sort.options
---@field dim? integer  in place of d

---@class gibbous.tensor
local tensor = {}

--- Sum; 0 of nothing.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.reduce.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:sum(1))
---```
function tensor:sum(d, o) end

--- Arithmetic mean.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.reduce.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:mean(1))
---```
function tensor:mean(d, o) end

--- Product; 1 of nothing.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.reduce.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:prod(1))
---```
function tensor:prod(d, o) end

--- Variance, two-pass; {ddof = 1}. It overflows where squares of x - mean(x) do, and is 0 where they are: f64 above about 1e154 and
--- below 1e-154, f32 1e19 and 1e-19. gb.data.standardize takes values of any size.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.var.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:var(1))
---```
function tensor:var(d, o) end

--- Standard deviation, the root of the variance; {ddof = 1}. It has the limits of :var().
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.var.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:std(1))
---```
function tensor:std(d, o) end

--- Smallest element; NaN if any is.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.reduce.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:min(1))
---```
function tensor:min(d, o) end

--- Largest element; NaN if any is.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.reduce.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:max(1))
---```
function tensor:max(d, o) end

--- Position of the smallest element, the first of ties; {dtype = "i64"}, or "i32".
---@param d integer?  a dimension; all, in row-major order
---@param o gibbous.arg.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:argmin(1))
---```
function tensor:argmin(d, o) end

--- Position of the largest element, the first of ties; {dtype = "i64"}, or "i32".
---@param d integer?  a dimension; all, in row-major order
---@param o gibbous.arg.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:argmax(1))
---```
function tensor:argmax(d, o) end

--- log of the sum of exponentials, without overflow.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.reduce.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:logsumexp(1))
---```
function tensor:logsumexp(d, o) end

--- (sum |x|^p)^(1/p); {p = 2}. It is inf where |x|^p overflows and 0 where all are 0 (p = 2 in f64: |x| above about 1e154 and below
--- 1e-154, in f32 1e19 and 1e-19), and its gradient is 0 then, as in PyTorch: m * (x / m):norm() with m = x:abs():max():item() takes any size.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.norm.of.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:norm(1))
---```
function tensor:norm(d, o) end

--- Is any element true? Without d evaluates and gives a Lua boolean.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.reduce.options?
---@return gibbous.tensor|boolean
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:gt(3):any())
---```
function tensor:any(d, o) end

--- Are all elements true? Without d evaluates and gives a Lua boolean.
---@param d integer|integer[]?  a dimension or several; default: all
---@param o gibbous.reduce.options?
---@return gibbous.tensor|boolean
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:gt(0):all())
---```
function tensor:all(d, o) end

--- Running sum along d.
---@param d integer
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:cumsum(1))
---```
function tensor:cumsum(d) end

--- Sorted along d, stable, NaN last; {descending = false}. Positions are i64, or as {dtype = "i32"} says.
---@param d integer
---@param o gibbous.sort.options?
---@return gibbous.tensor values
---@return gibbous.tensor positions
---```lua
--- print(gb.tensor{3, 1, 2}:sort(1))
---```
function tensor:sort(d, o) end

--- The k largest along d, or smallest with {largest = false}; NaN last. Positions are i64, or as {dtype = "i32"} says. Up to 16
--- smallest floats, at most a quarter of each of 64 lines or more, are a reduction: what they are chosen from streams, and -0 is
--- returned as 0.
---@param k integer
---@param d integer
---@param o gibbous.topk.options?
---@return gibbous.tensor values
---@return gibbous.tensor positions
---```lua
--- print(gb.tensor{3, 1, 2}:topk(2, 1))
---```
function tensor:topk(k, d, o) end

---@class gibbous.argsort.options

--- The positions that sort x along d, stable, NaN last; {descending = false}; also argsort{dim = d}.
---@param d integer?  default: -1
---@param o gibbous.argsort.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{3, 1, 2}:argsort())
---```
function tensor:argsort(d, o) end

--- The quantiles q, from 0 to 1, along d or of all elements, linear between neighbours; NaN if any element is. A list of fractions
--- gives a new first dimension. {keepdim = true} keeps an extent of 1.
---@param q number|number[]
---@param d integer?
---@param o gibbous.reduce.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{3, 1, 2}:quantile(0.5))
---```
function tensor:quantile(q, d, o) end

--- The middle value along d or of all elements, the mean of both where there are two; NaN if any element is.
---@param d integer?
---@param o gibbous.reduce.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{3, 1, 2}:median())
---```
function tensor:median(d, o) end

--- The distinct values, ascending, where each element of x is among them, how often each occurs. Evaluates: their number depends on
--- the values. Each NaN is distinct.
---@return gibbous.tensor values (m)
---@return gibbous.tensor positions  the shape of x, i64
---@return gibbous.tensor counts (m), i64
---```lua
--- print(gb.tensor{3, 1, 3}:unique())
---```
function tensor:unique() end

--- The positions of the elements that are not 0, of a mask those that are true, a row each, in row-major order. Evaluates: their
--- number depends on the values.
---@return gibbous.tensor (m, ndim), i64
---```lua
--- print(gb.tensor{0, 1, 3}:nonzero())
---```
function tensor:nonzero() end

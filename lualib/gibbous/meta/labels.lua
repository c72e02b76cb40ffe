---@meta

---@class gibbous
local gb = {}

--- Row j is the sum of the rows of x whose label is j, in their order; 0 of none. Work n d; nothing but the result is stored.
---@param x gibbous.tensor  (n, ...)
---@param labels gibbous.tensor|integer[]  (n), i64 or i32
---@param k integer
---@return gibbous.tensor (k, ...)
---```lua
--- print(gb.segment_sum(gb.tensor{1, 2, 3}, {1, 2, 1}, 2))
---```
function gb.segment_sum(x, labels, k) end

--- Row j is the mean of the rows of x whose label is j; NaN of none.
---@param x gibbous.tensor  (n, ...)
---@param labels gibbous.tensor|integer[]  (n), i64 or i32
---@param k integer
---@return gibbous.tensor (k, ...)
---```lua
--- print(gb.segment_mean(gb.tensor{1, 2, 3}, {1, 2, 1}, 2))
---```
function gb.segment_mean(x, labels, k) end

--- Row j holds the largest values of the rows of x whose label is j; -inf (of i64 the least integer) of none. Work n d; those that
--- attain them share the gradient.
---@param x gibbous.tensor  (n, ...)
---@param labels gibbous.tensor|integer[]  (n), i64 or i32
---@param k integer
---@return gibbous.tensor (k, ...)
---```lua
--- print(gb.segment_max(gb.tensor{1, 2, 3}, {1, 2, 1}, 2))
---```
function gb.segment_max(x, labels, k) end

--- Row j holds the smallest values of the rows of x whose label is j; inf (of i64 the largest integer) of none. Otherwise as
--- segment_max.
---@param x gibbous.tensor  (n, ...)
---@param labels gibbous.tensor|integer[]  (n), i64 or i32
---@param k integer
---@return gibbous.tensor (k, ...)
---```lua
--- print(gb.segment_min(gb.tensor{1, 2, 3}, {1, 2, 1}, 2))
---```
function gb.segment_min(x, labels, k) end

---@class gibbous.bincount.options
---@field k? integer  how many labels; default: the largest, which observes them
---@field weights? gibbous.tensor|number[]  (n)

--- How often each label occurs, i64; with weights (n) the sum of those of each. Without k observes the labels: k is the largest.
---@param labels gibbous.tensor|integer[]  (n), i64 or i32
---@param o gibbous.bincount.options?
---@return gibbous.tensor (k)
---```lua
--- print(gb.bincount({1, 2, 1, 3}))
---```
function gb.bincount(labels, o) end

---@class gibbous.histogram.options
---@field bins? integer|number[]  how many, or the edges; default: 10
---@field range? number[]  {low, high}; default: the least and the largest value
---@field weights? gibbous.tensor  the shape of x

--- How many values of x lie in each bin [edge, next edge), in the last one with its end; what is outside, and NaN, is not counted.
--- Without range observes x: bins cover its least to its largest value. Work n bins; no table of n x bins.
---@param x gibbous.tensor  of any shape
---@param o gibbous.histogram.options?
---@return gibbous.tensor counts (bins), i64; with weights the sum of those of each bin
---@return gibbous.tensor edges (bins + 1)
---```lua
--- local counts, edges = gb.histogram(gb.tensor{0, 1, 2, 2.5}, {bins = 2})
--- print(counts, edges)
---```
function gb.histogram(x, o) end

---@class gibbous.one_hot.options
---@field dtype? gibbous.dtype  default: that of gb.config

--- Rows of zeros with a 1 at each label; a mask that is not stored where it is multiplied or summed.
---@param labels gibbous.tensor|integer[]  (...), i64 or i32
---@param k integer
---@param o gibbous.one_hot.options?
---@return gibbous.tensor (..., k)
---```lua
--- print(gb.one_hot({1, 3}, 3))
---```
function gb.one_hot(labels, k, o) end

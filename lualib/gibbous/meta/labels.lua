---@meta

---@class gibbous
local gb = {}

--- Row j is the sum of the rows of x whose label is j, in their order; 0 of none. Work n d; nothing but the result is stored.
---@param x gibbous.tensor  (n, ...)
---@param labels gibbous.tensor|integer[]  (n), i64 or i32
---@param k integer
---@return gibbous.tensor (k, ...)
function gb.segment_sum(x, labels, k) end

--- Row j is the mean of the rows of x whose label is j; NaN of none.
---@return gibbous.tensor (k, ...)
function gb.segment_mean(x, labels, k) end

--- Row j holds the largest values of the rows of x whose label is j; -inf (of i64 the least integer) of none. Work n d; those that
--- attain them share the gradient.
---@return gibbous.tensor (k, ...)
function gb.segment_max(x, labels, k) end

--- Row j holds the smallest values of the rows of x whose label is j; inf (of i64 the largest integer) of none. Otherwise as
--- segment_max.
---@return gibbous.tensor (k, ...)
function gb.segment_min(x, labels, k) end

--- How often each label occurs, i64; with weights (n) the sum of those of each. Without k observes the labels: k is the largest.
---@param labels gibbous.tensor|integer[]  (n), i64 or i32
---@param o {k: integer, weights: gibbous.tensor|number[]}?
---@return gibbous.tensor (k)
function gb.bincount(labels, o) end

--- How many values of x lie in each bin [edge, next edge), in the last one with its end; what is outside, and NaN, is not counted.
--- Without range observes x: bins cover its least to its largest value. Work n bins; no table of n x bins.
---@param x gibbous.tensor  of any shape
---@param o {bins: integer|number[], range: number[], weights: gibbous.tensor}?  bins = 10, or the edges
---@return gibbous.tensor counts (bins), i64; with weights the sum of those of each bin
---@return gibbous.tensor edges (bins + 1)
function gb.histogram(x, o) end

--- Rows of zeros with a 1 at each label; a mask that is not stored where it is multiplied or summed.
---@param labels gibbous.tensor|integer[]  (...), i64 or i32
---@param k integer
---@param o {dtype: gibbous.dtype}?
---@return gibbous.tensor (..., k)
function gb.one_hot(labels, k, o) end

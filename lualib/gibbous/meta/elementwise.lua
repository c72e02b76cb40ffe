---@meta

---@class gibbous.tensor
local tensor = {}

---@class gibbous
local gb = {}

--- e^x
function tensor:exp() end

--- Natural logarithm.
function tensor:log() end

--- log(1 + x), accurate near 0.
function tensor:log1p() end

--- e^x - 1, accurate near 0.
function tensor:expm1() end

--- Square root; its gradient is 0 at 0.
function tensor:sqrt() end

--- 1 / sqrt(x)
function tensor:rsqrt() end

--- Sine, radians.
function tensor:sin() end

--- Cosine, radians.
function tensor:cos() end

--- Tangent, radians.
function tensor:tan() end

--- Arc sine, radians.
function tensor:asin() end

--- Arc cosine, radians.
function tensor:acos() end

--- Arc tangent, radians.
function tensor:atan() end

--- Hyperbolic tangent.
function tensor:tanh() end

--- 1 / (1 + e^-x)
function tensor:sigmoid() end

--- log(1 + e^x), without overflow.
function tensor:softplus() end

--- max(x, 0)
function tensor:relu() end

--- Error function.
function tensor:erf() end

--- Standard normal distribution function.
function tensor:ndtr() end

--- log of ndtr, accurate in the lower tail.
function tensor:log_ndtr() end

--- log |Gamma(x)|
function tensor:lgamma() end

--- Derivative of lgamma.
function tensor:digamma() end

--- |x|
function tensor:abs() end

--- -1, 0 or 1; NaN stays NaN.
function tensor:sign() end

--- Largest integer not above x.
function tensor:floor() end

--- Smallest integer not below x.
function tensor:ceil() end

--- Nearest integer, ties to even.
function tensor:round() end

--- Where x is NaN (bool).
function tensor:isnan() end

--- Where x is neither NaN nor infinite (bool).
function tensor:isfinite() end

--- x between lo and hi; either may be nil.
---@param lo gibbous.operand?
---@param hi gibbous.operand?
function tensor:clamp(lo, hi) end

--- e^x / sum e^x along d.
---@param d integer
function tensor:softmax(d) end

--- log of softmax along d, without overflow.
---@param d integer
function tensor:log_softmax(d) end

--- x where it is positive, slope x elsewhere.
---@param slope number?  0.01
function tensor:leaky_relu(slope) end

--- x where it is positive, alpha (e^x - 1) elsewhere.
---@param alpha number?  1
function tensor:elu(alpha) end

--- elu with the scales that keep mean 0 and variance 1.
function tensor:selu() end

--- x sigmoid(x)
function tensor:silu() end

--- x Phi(x), Phi the normal distribution function; {approximate = "tanh"}: the formula with tanh.
---@param o gibbous.gelu.options?
function tensor:gelu(o) end

--- x tanh(softplus(x))
function tensor:mish() end

--- x / (1 + |x|)
function tensor:softsign() end

--- x between -1 and 1.
function tensor:hard_tanh() end

--- x / 6 + 1/2 between 0 and 1.
function tensor:hard_sigmoid() end

--- x hard_sigmoid(x)
function tensor:hard_swish() end

--- x between 0 and 6.
function tensor:relu6() end

--- x < y (bool)
---@param y gibbous.operand
function tensor:lt(y) end

--- x <= y (bool)
---@param y gibbous.operand
function tensor:le(y) end

--- x > y (bool)
---@param y gibbous.operand
function tensor:gt(y) end

--- x >= y (bool)
---@param y gibbous.operand
function tensor:ge(y) end

--- x = y (bool)
---@param y gibbous.operand
function tensor:eq(y) end

--- x differs from y (bool)
---@param y gibbous.operand
function tensor:ne(y) end

--- a where c holds, else b.
---@param c gibbous.tensor  bool
---@param a gibbous.operand
---@param b gibbous.operand
---@return gibbous.tensor
function gb.where(c, a, b) end

--- The larger of two; NaN if either is.
---@param a gibbous.operand
---@param b gibbous.operand
---@return gibbous.tensor
function gb.maximum(a, b) end

--- The smaller of two; NaN if either is.
---@param a gibbous.operand
---@param b gibbous.operand
---@return gibbous.tensor
function gb.minimum(a, b) end

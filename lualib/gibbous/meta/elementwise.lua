---@meta

---@class gibbous.tensor
local tensor = {}

---@class gibbous
local gb = {}

--- e^x
---```lua
--- print(gb.tensor{0.25, 0.5}:exp())
---```
function tensor:exp() end

--- Natural logarithm.
---```lua
--- print(gb.tensor{0.25, 0.5}:log())
---```
function tensor:log() end

--- log(1 + x), accurate near 0.
---```lua
--- print(gb.tensor{0.25, 0.5}:log1p())
---```
function tensor:log1p() end

--- e^x - 1, accurate near 0.
---```lua
--- print(gb.tensor{0.25, 0.5}:expm1())
---```
function tensor:expm1() end

--- Square root; its gradient is 0 at 0.
---```lua
--- print(gb.tensor{0.25, 0.5}:sqrt())
---```
function tensor:sqrt() end

--- 1 / sqrt(x)
---```lua
--- print(gb.tensor{0.25, 0.5}:rsqrt())
---```
function tensor:rsqrt() end

--- Sine, radians.
---```lua
--- print(gb.tensor{0.25, 0.5}:sin())
---```
function tensor:sin() end

--- Cosine, radians.
---```lua
--- print(gb.tensor{0.25, 0.5}:cos())
---```
function tensor:cos() end

--- Tangent, radians.
---```lua
--- print(gb.tensor{0.25, 0.5}:tan())
---```
function tensor:tan() end

--- Arc sine, radians.
---```lua
--- print(gb.tensor{0.25, 0.5}:asin())
---```
function tensor:asin() end

--- Arc cosine, radians.
---```lua
--- print(gb.tensor{0.25, 0.5}:acos())
---```
function tensor:acos() end

--- Arc tangent, radians.
---```lua
--- print(gb.tensor{0.25, 0.5}:atan())
---```
function tensor:atan() end

--- Hyperbolic tangent.
---```lua
--- print(gb.tensor{0.25, 0.5}:tanh())
---```
function tensor:tanh() end

--- 1 / (1 + e^-x)
---```lua
--- print(gb.tensor{0.25, 0.5}:sigmoid())
---```
function tensor:sigmoid() end

--- log(1 + e^x), without overflow.
---```lua
--- print(gb.tensor{0.25, 0.5}:softplus())
---```
function tensor:softplus() end

--- max(x, 0)
---```lua
--- print(gb.tensor{0.25, 0.5}:relu())
---```
function tensor:relu() end

--- Error function.
---```lua
--- print(gb.tensor{0.25, 0.5}:erf())
---```
function tensor:erf() end

--- Standard normal distribution function.
---```lua
--- print(gb.tensor{0.25, 0.5}:ndtr())
---```
function tensor:ndtr() end

--- log of ndtr, accurate in the lower tail.
---```lua
--- print(gb.tensor{0.25, 0.5}:log_ndtr())
---```
function tensor:log_ndtr() end

--- log |Gamma(x)|
---```lua
--- print(gb.tensor{0.25, 0.5}:lgamma())
---```
function tensor:lgamma() end

--- Derivative of lgamma.
---```lua
--- print(gb.tensor{0.25, 0.5}:digamma())
---```
function tensor:digamma() end

--- |x|
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:abs())
---```
function tensor:abs() end

--- -1, 0 or 1; NaN stays NaN.
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:sign())
---```
function tensor:sign() end

--- Largest integer not above x.
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:floor())
---```
function tensor:floor() end

--- Smallest integer not below x.
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:ceil())
---```
function tensor:ceil() end

--- Nearest integer, ties to even.
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:round())
---```
function tensor:round() end

--- Where x is NaN (bool).
---```lua
--- print(gb.tensor{1, 0 / 0}:isnan())
---```
function tensor:isnan() end

--- Where x is neither NaN nor infinite (bool).
---```lua
--- print(gb.tensor{1, math.huge}:isfinite())
---```
function tensor:isfinite() end

--- x between lo and hi; either may be nil.
---@param lo gibbous.operand?
---@param hi gibbous.operand?
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:clamp(-1, 1))
---```
function tensor:clamp(lo, hi) end

--- e^x / sum e^x along d.
---@param d integer
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:softmax(-1))
---```
function tensor:softmax(d) end

--- log of softmax along d, without overflow.
---@param d integer
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:log_softmax(-1))
---```
function tensor:log_softmax(d) end

--- x where it is positive, slope x elsewhere.
---@param slope number?  default: 0.01
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:leaky_relu(0.1))
---```
function tensor:leaky_relu(slope) end

--- x where it is positive, alpha (e^x - 1) elsewhere.
---@param alpha number?  default: 1
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:elu())
---```
function tensor:elu(alpha) end

--- elu with the scales that keep mean 0 and variance 1.
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:selu())
---```
function tensor:selu() end

--- x sigmoid(x)
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:silu())
---```
function tensor:silu() end

--- x Phi(x), Phi the normal distribution function; {approximate = "tanh"}: the formula with tanh.
---@param o gibbous.gelu.options?
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:gelu())
---```
function tensor:gelu(o) end

--- x tanh(softplus(x))
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:mish())
---```
function tensor:mish() end

--- x / (1 + |x|)
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:softsign())
---```
function tensor:softsign() end

--- x between -1 and 1.
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:hard_tanh())
---```
function tensor:hard_tanh() end

--- x / 6 + 1/2 between 0 and 1.
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:hard_sigmoid())
---```
function tensor:hard_sigmoid() end

--- x hard_sigmoid(x)
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:hard_swish())
---```
function tensor:hard_swish() end

--- x between 0 and 6.
---```lua
--- print(gb.tensor{-1.5, 0.5, 2.5}:relu6())
---```
function tensor:relu6() end

--- x < y (bool)
---@param y gibbous.operand
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:lt(2))
---```
function tensor:lt(y) end

--- x <= y (bool)
---@param y gibbous.operand
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:le(2))
---```
function tensor:le(y) end

--- x > y (bool)
---@param y gibbous.operand
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:gt(2))
---```
function tensor:gt(y) end

--- x >= y (bool)
---@param y gibbous.operand
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:ge(2))
---```
function tensor:ge(y) end

--- x = y (bool)
---@param y gibbous.operand
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:eq(2))
---```
function tensor:eq(y) end

--- x differs from y (bool)
---@param y gibbous.operand
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:ne(2))
---```
function tensor:ne(y) end

--- a where c holds, else b.
---@param c gibbous.tensor  bool
---@param a gibbous.operand
---@param b gibbous.operand
---@return gibbous.tensor
---```lua
--- local x = gb.tensor{1, -2, 3}
--- print(gb.where(x:gt(0), x, 0))
---```
function gb.where(c, a, b) end

--- The larger of two; NaN if either is.
---@param a gibbous.operand
---@param b gibbous.operand
---@return gibbous.tensor
---```lua
--- print(gb.maximum(gb.tensor{1, 5}, 3))
---```
function gb.maximum(a, b) end

--- The smaller of two; NaN if either is.
---@param a gibbous.operand
---@param b gibbous.operand
---@return gibbous.tensor
---```lua
--- print(gb.minimum(gb.tensor{1, 5}, 3))
---```
function gb.minimum(a, b) end

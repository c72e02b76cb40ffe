---@meta

---@class gibbous.kernel.options
---@field variance? number|gibbous.param  of f, in units of y squared; default: 1
---@field active_dims? integer[]  the columns that it looks at; default: all

---@class gibbous.stationary.options: gibbous.kernel.options
---@field lengthscale? number|number[]|gibbous.param  in units of x: one, or one per column; default: 1
---@field ard? boolean|integer  one lengthscale per column: true when data arrive, or how many; default: false

---@class gibbous.rational_quadratic.options: gibbous.stationary.options
---@field alpha? number|gibbous.param  of the mixture of lengthscales; default: 1

---@class gibbous.periodic.options: gibbous.stationary.options
---@field period? number|number[]|gibbous.param  in units of x: one, or one per column; default: 1

---@class gibbous.cosine.options: gibbous.kernel.options
---@field period? number|number[]|gibbous.param  in units of x: one, or one per column; default: 1
---@field ard? boolean|integer  one period per column

---@class gibbous.piecewise_polynomial.options: gibbous.stationary.options
---@field degree? integer  0 to 3: so many times two derivatives; default: 2

---@class gibbous.spectral_mixture.options
---@field components integer  how many, q
---@field weights? number[]|gibbous.param  (q)
---@field means? number[]|gibbous.param  (q) or (q, d), frequencies in 1 over units of x
---@field variances? number[]|gibbous.param  (q) or (q, d)
---@field active_dims? integer[]  the columns that it looks at; default: all

---@class gibbous.dot.options: gibbous.kernel.options
---@field lengthscale? number|number[]|gibbous.param  in units of x: one, or one per column; none
---@field ard? boolean|integer  one lengthscale per column

---@class gibbous.polynomial.options: gibbous.dot.options
---@field degree? integer  1 or more; default: 2
---@field offset? number|gibbous.param  default: 1

---@class gibbous.arc_cosine.options: gibbous.kernel.options
---@field order? integer  0, 1, 2; default: 1
---@field weight_variance? number|number[]|gibbous.param  one, or one per column; default: 1
---@field bias_variance? number|gibbous.param  default: 1
---@field ard? boolean|integer  one weight_variance per column

---@class gibbous.index.options
---@field tasks integer  how many
---@field rank? integer  of W; default: 1
---@field weights? number[][]|gibbous.tensor|gibbous.param  W, (tasks, rank)
---@field diagonal? number|number[]|gibbous.param  v, (tasks)
---@field seed? integer  of W at the start
---@field active_dims? integer[]  the column of the task; default: the last

---@class gibbous.change_point.options
---@field location number|number[]|gibbous.param  one a change, ascending, in units of x
---@field steepness? number|number[]|gibbous.param  one, or one a change; default: 1
---@field column? integer  of x; default: 1

---@class gibbous.kernel.init.options
---@field seed? integer  default: 0

--- A covariance function: k(x) is (n, n), k(x, z) is (n, m); k1 + k2 and k1 * k2 are kernels, too. So are 2 * k, k ^ 2 (k * k with the
--- same parameters, up to k ^ 16) and k + 1, a constant of that variance, which is free to be fitted. Its parameters are fields.
---@class gibbous.kernel
---@field variance gibbous.param?  of f
---@field lengthscale gibbous.param?  in units of x
---@field period gibbous.param?  in units of x
---@field alpha gibbous.param?  of rational_quadratic
---@field offset gibbous.param?  of polynomial
---@field weights gibbous.param?  of spectral_mixture and index
---@field means gibbous.param?  of spectral_mixture
---@field variances gibbous.param?  of spectral_mixture
---@field diagonal gibbous.param?  of index
---@field weight_variance gibbous.param?  of arc_cosine
---@field bias_variance gibbous.param?  of arc_cosine
---@field location gibbous.param?  of change_point
---@field steepness gibbous.param?  of change_point
---@field active_dims integer[]?  the columns that it looks at
---@field parts gibbous.kernel[]?  of a sum or product
---@operator add(gibbous.kernel): gibbous.kernel
---@operator mul(gibbous.kernel|gibbous.param|number): gibbous.kernel
local kernel = {}

---@class gibbous
local gb = {}

--- Covariance functions: k(x) is (n, n), k(x, z) is (n, m), lazy and streamed. Options common to them: variance (1), active_dims =
--- {columns}; where there is one parameter a column, ard = true (when data arrive) or ard = d. A hyper-parameter is a positive number
--- (free), a list with one per column where that is said, or a gb.param (shared).
---@class gb.kernels
gb.kernels = {}

--- exp(-r^2 / 2), r = |x - z| / lengthscale. Options: lengthscale (one, or one per column), ard.
---@param o gibbous.stationary.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.rbf{lengthscale = 2}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.rbf(o) end

--- exp(-r), as rbf.
---@param o gibbous.stationary.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.matern12{lengthscale = 2}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.matern12(o) end

--- (1 + sqrt(3) r) exp(-sqrt(3) r), as rbf.
---@param o gibbous.stationary.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.matern32{lengthscale = 2}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.matern32(o) end

--- (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r), as rbf.
---@param o gibbous.stationary.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.matern52{lengthscale = 2}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.matern52(o) end

--- (1 + r^2 / (2 alpha))^-alpha, as rbf; alpha (1).
---@param o gibbous.rational_quadratic.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.rational_quadratic{alpha = 2}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.rational_quadratic(o) end

--- exp(-2 sum_k sin^2(pi (x_k - z_k) / period_k) / lengthscale_k^2): the lengthscale enters squared. Options: lengthscale and
--- period (each one, or one per column), ard (lengthscales).
---@param o gibbous.periodic.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.periodic{period = 3}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.periodic(o) end

--- cos(2 pi sum_k (x_k - z_k) / period_k). Options: period (one, or one per column), ard.
---@param o gibbous.cosine.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.cosine{period = 3}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.cosine(o) end

--- max(0, 1 - r)^(j + degree) times a polynomial in r: 0 from one lengthscale on, 2 degree times differentiable. The exponent
--- grows with the number d of columns, j = floor(d / 2) + degree + 1. Options: degree 0 to 3 (2), lengthscale, ard.
---@param o gibbous.piecewise_polynomial.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.piecewise_polynomial{degree = 1}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.piecewise_polynomial(o) end

--- sum_q weights_q prod_k exp(-2 pi^2 variances_qk (x_k - z_k)^2) cos(2 pi means_qk (x_k - z_k)). Options: components (q),
--- weights (q), means and variances (q) or (q, d); what is not given is one per column when data arrives. No variance of its
--- own. See :init.
---@param o gibbous.spectral_mixture.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.spectral_mixture{components = 2, weights = {1, 1}, means = {0.1, 0.2}, variances = {1, 1}}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.spectral_mixture(o) end

--- sum_k x_k z_k / lengthscale_k^2. Without lengthscale or ard plainly x . z.
---@param o gibbous.dot.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.linear{}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.linear(o) end

--- (x . z + offset)^degree. Options: degree 1 or more (2), offset (1), lengthscale and ard as linear.
---@param o gibbous.polynomial.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.polynomial{degree = 2}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.polynomial(o) end

--- (|x| |z|)^order J_order(angle) / pi, the kernel of an infinite network of activations max(0, a)^order, with
--- x . z = sum_k weight_variance_k x_k z_k + bias_variance. Options: order 0, 1, 2 (1), weight_variance (one, or one per
--- column; ard), bias_variance.
---@param o gibbous.arc_cosine.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.arc_cosine{order = 1}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.arc_cosine(o) end

--- variance, for any two points.
---@param o gibbous.kernel.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.constant{variance = 2}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.constant(o) end

--- variance where the two points are one observation: on the diagonal of k(x), nowhere in k(x, z).
---@param o gibbous.kernel.options?
---@return gibbous.kernel
---```lua
--- print(gb.kernels.white{variance = 0.1}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.white(o) end

--- B[t, s] for task numbers t and s from 1, B = W W' + diag(v): several outputs. They are the last column, or the one in
--- active_dims, and the other kernels of the expression do not see it. Options: tasks, rank (1), weights (W, tasks x rank),
--- diagonal (v), seed. Any other number in the column raises, with its row. No variance of its own: B has the scale, and a
--- factor beside it should hold its variance (variance = gb.param(1, {fixed = true})), or one of both is free.
---@param o gibbous.index.options?
---@return gibbous.kernel
---```lua
--- local k = gb.kernels.rbf{} * gb.kernels.index{tasks = 2, seed = 1}
--- print(k(gb.tensor{{0, 1}, {0, 2}}))
---```
function gb.kernels.index(o) end

--- k_1 before location_1, k_2 from there to location_2, and so on, by sigmoid weights along one column:
--- change_point(k1, k2, o) or change_point({k1, k2, ...}, o). Options: location (one a change, ascending), steepness (1; one,
--- or one a change), column (1).
---@param a gibbous.kernel|gibbous.kernel[]
---@param b gibbous.kernel|gibbous.change_point.options
---@param o gibbous.change_point.options?
---@return gibbous.kernel
---```lua
--- local k = gb.kernels.change_point(gb.kernels.rbf{}, gb.kernels.matern12{}, {location = 1})
--- print(k(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.change_point(a, b, o) end

--- A constructor for kernels of one's own: f(x, z, p) on points that broadcast, reducing the last axis; p holds the values of
--- the parameters. Traced into the expression: it streams and differentiates like the others.
---@param name string
---@param params table<string, number|table>  defaults
---@param f function
---@return function
---```lua
--- local laplace = gb.kernels.define("laplace", {scale = 1}, function(x, z, p) return ((x - z):abs() / -p.scale):sum(-1):exp() end)
--- print(laplace{scale = 2}(gb.tensor{{0}, {1}, {3}}))
---```
function gb.kernels.define(name, params, f) end

--- Is v a kernel?
---@param v any
---@return boolean
---```lua
--- print(gb.kernels.is(gb.kernels.rbf{}))
---```
function gb.kernels.is(v) end

--- x as (n, d): a vector is one column. For models.
---@param x gibbous.tensor|number[]
---@param what string  begins a message
---@return gibbous.tensor
---```lua
--- print(gb.kernels.points(gb.ones(3), "example").shape)
---```
function gb.kernels.points(x, what) end

--- Gives k, for inputs with d columns, what it left open: ard = true, spectral mixtures. Models call it on their copy.
---@param k gibbous.kernel
---@param d integer
---```lua
--- local k = gb.kernels.rbf{ard = true}
--- gb.kernels.resolve_ard(k, 2)
--- print(k.lengthscale)
---```
function gb.kernels.resolve_ard(k, d) end

--- The diagonal of k(x), (n), lazy.
---@param x gibbous.tensor  (n, d) or (n)
---@return gibbous.tensor
---```lua
--- print(gb.kernels.rbf{variance = 2}:diag(gb.tensor{{0}, {1}, {3}}))
---```
function kernel:diag(x) end

--- The same kernel under a name of its own in paths and reports: (a:named "trend" + b).trend.
---@param name string
---@return gibbous.kernel
---```lua
--- local k = gb.kernels.rbf{}:named "trend" + gb.kernels.white{}
--- print(k.trend)
---```
function kernel:named(name) end

--- The kernel of f(x), f a function or network from (n, d) to (n, d').
---@param f function|gibbous.block
---@return gibbous.kernel
---```lua
--- print(gb.kernels.rbf{}:warp(function(x) return x:exp() end)(gb.tensor{{0}, {1}, {3}}))
---```
function kernel:warp(f) end

--- An independent copy; explicit gb.params and networks are shared.
---@return gibbous.kernel
---```lua
--- print(gb.kernels.rbf{}:copy())
---```
function kernel:copy() end

--- Of spectral_mixture: the same kernel with parameters from the empirical spectrum of y (n) at x (n, d), evenly spaced or
--- not; each column by itself, so that a pattern which only shows in several columns together is not found. {seed = 0}. Cost:
--- n times up to 4,096 frequencies a column. Evaluates.
---@param x gibbous.tensor  (n, d)
---@param y gibbous.tensor  (n)
---@param o gibbous.kernel.init.options?
---@return gibbous.kernel
---```lua
--- local x = gb.linspace(0, 10, 50):reshape(50, 1)
--- print(gb.kernels.spectral_mixture{components = 1}:init(x, (x * 3):sin():squeeze(2)).means)
---```
function kernel:init(x, y, o) end

--- Of index: B = W W' + diag(v), (tasks, tasks), lazy.
---@return gibbous.tensor
---```lua
--- print(gb.kernels.index{tasks = 2, seed = 1}:matrix())
---```
function kernel:matrix() end

---@meta

---@class gibbous.kernel
---@operator add(gibbous.kernel): gibbous.kernel
---@operator mul(gibbous.kernel|gibbous.param|number): gibbous.kernel
local kernel = {}

---@class gibbous
local gb = {}

---@class gb.kernels
gb.kernels = {}

-- Each constructor gives a covariance function k: k(x) is (n, n), k(x, z) is (n, m), lazy and streamed. Options common to them:

-- variance (1), active_dims = {columns}; where there is one parameter a column, ard = true (when data arrives) or ard = d. A

-- hyper-parameter is a positive number (free), a list with one per column where that is said, or a gb.param (shared).

--- exp(-r^2 / 2), r = |x - z| / lengthscale. Options: lengthscale (one, or one per column), ard.
---@return gibbous.kernel
function gb.kernels.rbf(o) end

--- exp(-r), as rbf.
---@return gibbous.kernel
function gb.kernels.matern12(o) end

--- (1 + sqrt(3) r) exp(-sqrt(3) r), as rbf.
---@return gibbous.kernel
function gb.kernels.matern32(o) end

--- (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r), as rbf.
---@return gibbous.kernel
function gb.kernels.matern52(o) end

--- (1 + r^2 / (2 alpha))^-alpha, as rbf; alpha (1).
---@return gibbous.kernel
function gb.kernels.rational_quadratic(o) end

--- exp(-2 sum_k sin^2(pi (x_k - z_k) / period_k) / lengthscale_k^2): the lengthscale enters squared. Options: lengthscale and
--- period (each one, or one per column), ard (lengthscales).
---@return gibbous.kernel
function gb.kernels.periodic(o) end

--- cos(2 pi sum_k (x_k - z_k) / period_k). Options: period (one, or one per column), ard.
---@return gibbous.kernel
function gb.kernels.cosine(o) end

--- max(0, 1 - r)^(j + degree) times a polynomial in r: 0 from one lengthscale on, 2 degree times differentiable. The exponent
--- grows with the number d of columns, j = floor(d / 2) + degree + 1. Options: degree 0 to 3 (2), lengthscale, ard.
---@return gibbous.kernel
function gb.kernels.piecewise_polynomial(o) end

--- sum_q weights_q prod_k exp(-2 pi^2 variances_qk (x_k - z_k)^2) cos(2 pi means_qk (x_k - z_k)). Options: components (q),
--- weights (q), means and variances (q) or (q, d); what is not given is one per column when data arrives. No variance of its
--- own. See :init.
---@return gibbous.kernel
function gb.kernels.spectral_mixture(o) end

--- sum_k x_k z_k / lengthscale_k^2. Without lengthscale or ard plainly x . z.
---@return gibbous.kernel
function gb.kernels.linear(o) end

--- (x . z + offset)^degree. Options: degree 1 or more (2), offset (1), lengthscale and ard as linear.
---@return gibbous.kernel
function gb.kernels.polynomial(o) end

--- (|x| |z|)^order J_order(angle) / pi, the kernel of an infinite network of activations max(0, a)^order, with
--- x . z = sum_k weight_variance_k x_k z_k + bias_variance. Options: order 0, 1, 2 (1), weight_variance (one, or one per
--- column; ard), bias_variance.
---@return gibbous.kernel
function gb.kernels.arc_cosine(o) end

--- variance, for any two points.
---@return gibbous.kernel
function gb.kernels.constant(o) end

--- variance where the two points are one observation: on the diagonal of k(x), nowhere in k(x, z).
---@return gibbous.kernel
function gb.kernels.white(o) end

--- B[t, s] for task numbers t and s from 1, B = W W' + diag(v): several outputs. They are the last column, or the one in
--- active_dims, and the other kernels of the expression do not see it. Options: tasks, rank (1), weights (W, tasks x rank),
--- diagonal (v), seed. Any other number in the column raises, with its row. No variance of its own: B has the scale, and a
--- factor beside it should hold its variance (variance = gb.param(1, {fixed = true})), or one of both is free.
---@return gibbous.kernel
function gb.kernels.index(o) end

--- k_1 before location_1, k_2 from there to location_2, and so on, by sigmoid weights along one column:
--- change_point(k1, k2, o) or change_point({k1, k2, ...}, o). Options: location (one a change, ascending), steepness (1; one,
--- or one a change), column (1).
---@return gibbous.kernel
function gb.kernels.change_point(a, b, o) end

--- A constructor for kernels of one's own: f(x, z, p) on points that broadcast, reducing the last axis; p holds the values of
--- the parameters. Traced into the expression: it streams and differentiates like the others.
---@param name string
---@param params table<string, number|table>  defaults
---@param f function
---@return function
function gb.kernels.define(name, params, f) end

--- Is v a kernel?
---@return boolean
function gb.kernels.is(v) end

--- x as (n, d): a vector is one column. For models.
function gb.kernels.points(x, what) end

--- Gives k, for inputs with d columns, what it left open: ard = true, spectral mixtures. Models call it on their copy.
function gb.kernels.resolve_ard(k, d) end

--- The diagonal of k(x), (n), lazy.
---@param x gibbous.tensor  (n, d) or (n)
---@return gibbous.tensor
function kernel:diag(x) end

--- The same kernel under a name of its own in paths and reports: (a:named "trend" + b).trend.
---@param name string
---@return gibbous.kernel
function kernel:named(name) end

--- The kernel of f(x), f a function or network from (n, d) to (n, d').
---@return gibbous.kernel
function kernel:warp(f) end

--- An independent copy; explicit gb.params and networks are shared.
---@return gibbous.kernel
function kernel:copy() end

--- Of spectral_mixture: the same kernel with parameters from the empirical spectrum of y (n) at x (n, d), evenly spaced or
--- not; each column by itself, so that a pattern which only shows in several columns together is not found. {seed = 0}. Cost:
--- n times up to 4,096 frequencies a column. Evaluates.
---@return gibbous.kernel
function kernel:init(x, y, o) end

--- Of index: B = W W' + diag(v), (tasks, tasks), lazy.
---@return gibbous.tensor
function kernel:matrix() end

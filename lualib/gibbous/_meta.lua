---@meta gibbous
-- Documentation and types of every name written in C, and of a few others, for editors and for '?name' at the prompt. Never run.
-- Dimensions and positions count from 1, negative from the end; ranges include both ends. Everything is lazy unless it
-- says "evaluates". Shapes are written (n, m).

---@alias gibbous.dtype "f64"|"f32"|"f16"|"bf16"|"i64"|"i32"|"bool"
---@alias gibbous.operand gibbous.tensor|gibbous.param|number
---@class gibbous.make {dtype: gibbous.dtype, device: string}
---@class gibbous.random {dtype: gibbous.dtype, device: string, seed: integer}
---@class gibbous.error {code: string, message: string, line: string, need: integer?, have: integer?, minimum: integer?}

--- `==` asks whether two handles are one and the same; x:equal(y) compares elements, x:item() is the number of one element.
---@class gibbous.tensor
---@field shape integer[]        extents; prints as 500x3, compares with ==
---@field ndim integer           number of dimensions
---@field numel integer          number of elements
---@field dtype gibbous.dtype
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

local gb = {linalg = {}, memory = {}, mpi = {}, kernels = {}, gp = {}, likelihoods = {}, plot = {}}
local plan, kmeans = {}, {}
local core = {}

-- Makers ------------------------------------------------------------------------------------------------------------------

--- A tensor from a number, a boolean, nested lists, or another tensor. Evaluated.
---@param t number|boolean|table|gibbous.tensor  lists must not be ragged
---@param o gibbous.make?  dtype: f64 by default (gb.config), bool for booleans; integers that f64 would round want a dtype
---@return gibbous.tensor
function gb.tensor(t, o) end

--- Names the axis of data that a plan may cut when memory is short, and gives the same tensors back; numbers pass
--- through. Sums over that axis run in grains (a function of its extent alone), so that a result has the same bits
--- whole and in chunks: gradients accumulated over chunks are the gradient of the whole batch.
---@param ... gibbous.tensor|number|{batch: integer}  data of one batch; last {batch = 1}: the axis
---@return gibbous.tensor ...
function gb.lazy(...) end

--- Zeros of shape (n, m, ...); the last argument may be {dtype, device}. Takes no memory.
---@return gibbous.tensor
function gb.zeros(...) end

--- Ones of shape (n, m, ...); the last argument may be {dtype, device}. Takes no memory.
---@return gibbous.tensor
function gb.ones(...) end

--- v everywhere. Takes no memory.
---@param shape integer[]
---@param v number|boolean
---@param o gibbous.make?
---@return gibbous.tensor
function gb.full(shape, v, o) end

--- A shape without a value: stands for data in gb.plan, bound by plan:run{[leaf] = x}. Observing it is an error.
---@return gibbous.tensor
function gb.empty(...) end

--- The (n, n) identity. Takes no memory; A + s * gb.eye(n) streams.
---@param n integer
---@param o gibbous.make?
---@return gibbous.tensor
function gb.eye(n, o) end

--- a, a + step, ... up to b, which is included when it is hit within rounding.
---@param a number
---@param b number
---@param step number?  1
---@param o gibbous.make?
---@return gibbous.tensor
function gb.range(a, b, step, o) end

--- n evenly spaced points from a to b, both included.
---@param a number
---@param b number
---@param n integer
---@param o gibbous.make?
---@return gibbous.tensor
function gb.linspace(a, b, n, o) end

--- Uniform random numbers in (0, 1) of shape (n, m, ...); the last argument may be {dtype, device, seed}.
--- A pure function of seed, order of creation since gb.seed, and element position.
---@return gibbous.tensor
function gb.rand(...) end

--- Standard normal random numbers; as gb.rand.
---@return gibbous.tensor
function gb.randn(...) end

--- The positions 1 .. n in random order, i64.
---@param n integer
---@param o gibbous.random?
---@return gibbous.tensor
function gb.randperm(n, o) end

--- n points of the d-dimensional Sobol sequence in the unit cube, digitally shifted by the seed.
---@param n integer
---@param d integer
---@param o gibbous.random?
---@return gibbous.tensor (n, d)
function gb.sobol(n, d, o) end

--- Random tensors made from here on depend on n and their order only.
---@param n integer
function gb.seed(n) end

-- Shapes ------------------------------------------------------------------------------------------------------------------

--- The same elements in row-major order under another shape; one extent may be -1.
---@return gibbous.tensor
function tensor:reshape(...) end

--- Dimensions in another order: result dimension i is dimension p_i of x.
---@return gibbous.tensor
function tensor:permute(...) end

--- The last two dimensions exchanged.
---@return gibbous.tensor
function tensor:t() end

--- A new dimension of extent 1 at d.
---@param d integer
---@return gibbous.tensor
function tensor:unsqueeze(d) end

--- Drops dimension d, which must have extent 1.
---@param d integer
---@return gibbous.tensor
function tensor:squeeze(d) end

--- Extents of 1 grow to the given shape; -1 keeps an extent.
---@return gibbous.tensor
function tensor:expand(...) end

--- Repeats x along each dimension.
---@return gibbous.tensor
function tensor:tile(...) end

--- The order along d reversed.
---@param d integer
---@return gibbous.tensor
function tensor:flip(d) end

--- Positions i, i + step, ... up to j of dimension d; j = i - 1 gives none.
---@param d integer
---@param i integer?  1
---@param j integer?  -1
---@param step integer?  1
---@return gibbous.tensor
function tensor:slice(d, i, j, step) end

--- Position i of dimension d, which is dropped.
---@param d integer
---@param i integer
---@return gibbous.tensor
function tensor:select(d, i) end

--- The entries at the given positions of dimension d; a mask is observed.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer  positions (i64 or i32) or a mask (bool)
---@return gibbous.tensor
function tensor:index(d, idx) end

--- x with the entries at the given positions of dimension d replaced by y, which may broadcast.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer
---@param y gibbous.operand
---@return gibbous.tensor
function tensor:put(d, idx, y) end

--- x with y added at the given positions of dimension d, in their order; y may broadcast.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer
---@param y gibbous.operand
---@return gibbous.tensor
function tensor:index_add(d, idx, y) end

--- x with the larger of itself and y at the given positions of dimension d; y may broadcast. NaN if either is; those that attain the
--- result share the gradient.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer
---@param y gibbous.operand
---@return gibbous.tensor
function tensor:index_max(d, idx, y) end

--- x with the smaller of itself and y at the given positions of dimension d; otherwise as index_max.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer
---@param y gibbous.operand
---@return gibbous.tensor
function tensor:index_min(d, idx, y) end

--- out[i, j] = x[i, index[i, j]] along d, here the last of two: one position an element.
---@param d integer
---@param index gibbous.tensor  i64 or i32, the shape of x but for dimension d
---@return gibbous.tensor  the shape of index
function tensor:gather(d, index) end

--- x with src[i, j] added at [i, index[i, j]] along d, here the last of two, in their order: the reverse of gather.
---@param d integer
---@param index gibbous.tensor  i64 or i32, the shape of x but for dimension d
---@param src gibbous.tensor|number  the shape of index
---@return gibbous.tensor
function tensor:scatter_add(d, index, src) end

--- v where mask holds, else x.
---@param mask gibbous.tensor  bool
---@param v gibbous.operand
---@return gibbous.tensor
function tensor:masked_fill(mask, v) end

--- Moves elements by 'shift' along d; those that leave come in at the other end.
---@param shift integer
---@param d integer
---@return gibbous.tensor
function tensor:roll(shift, d) end

--- A list of views along d: parts of 'sizes' entries, the last perhaps smaller, or of the sizes in a list.
---@param sizes integer|integer[]
---@param d integer?  1
---@return gibbous.tensor[]
function tensor:split(sizes, d) end

--- A list of at most 'count' views along d, all of one size but the last.
---@param count integer
---@param d integer?  1
---@return gibbous.tensor[]
function tensor:chunk(count, d) end

--- x with 'before' entries in front of dimension d and 'after' behind it: of a value, or by mode, "reflect" those beyond the first
--- and the last mirrored, "replicate" the first and the last, "circular" those from the other end.
---@param d integer
---@param before integer
---@param after integer?  before
---@param o {value: number|boolean, mode: "constant"|"reflect"|"replicate"|"circular"}?  0, "constant"
---@return gibbous.tensor
function tensor:pad(d, before, after, o) end

--- Windows of 'size' entries of dimension d, each 'step' further: d counts them, a new last dimension their entries.
---@param d integer
---@param size integer
---@param step integer?  1
---@return gibbous.tensor
function tensor:unfold(d, size, step) end

--- The lower triangle of the last two dimensions: diagonal k (0) and all below; others 0.
---@param k integer?
---@return gibbous.tensor
function tensor:tril(k) end

--- The upper triangle of the last two dimensions: diagonal k (0) and all above; others 0.
---@param k integer?
---@return gibbous.tensor
function tensor:triu(k) end

--- The sum of x[i, i] over the last two dimensions.
---@return gibbous.tensor
function tensor:trace() end

--- x[i, i] of the last two dimensions.
---@return gibbous.tensor
function tensor:diagonal() end

--- Joins tensors along dimension d.
---@param list gibbous.tensor[]
---@param d integer?  1
---@return gibbous.tensor
function gb.cat(list, d) end

--- Joins tensors of one shape along a new dimension at d.
---@param list gibbous.tensor[]
---@param d integer?  1
---@return gibbous.tensor
function gb.stack(list, d) end

-- Elementwise ---------------------------------------------------------------------------------------------------------------

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
---@param o {approximate: "none"|"tanh"}?
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

-- Reductions: over dimension d, over {d1, d2}, or over all; {keepdim = true} keeps extents of 1 --------------------------------

--- Sum; 0 of nothing.
function tensor:sum(d, o) end

--- Arithmetic mean.
function tensor:mean(d, o) end

--- Product; 1 of nothing.
function tensor:prod(d, o) end

--- Variance, two-pass; {ddof = 1}. It overflows where squares of x - mean(x) do, and is 0 where they are: f64 above about 1e154 and
--- below 1e-154, f32 1e19 and 1e-19. gb.data.standardize takes values of any size.
function tensor:var(d, o) end

--- Standard deviation, the root of the variance; {ddof = 1}. It has the limits of :var().
function tensor:std(d, o) end

--- Smallest element; NaN if any is.
function tensor:min(d, o) end

--- Largest element; NaN if any is.
function tensor:max(d, o) end

--- Position of the smallest element, the first of ties; {dtype = "i64"}, or "i32".
function tensor:argmin(d, o) end

--- Position of the largest element, the first of ties; {dtype = "i64"}, or "i32".
function tensor:argmax(d, o) end

--- log of the sum of exponentials, without overflow.
function tensor:logsumexp(d, o) end

--- (sum |x|^p)^(1/p); {p = 2}. It is inf where |x|^p overflows and 0 where all are 0 (p = 2 in f64: |x| above about 1e154 and below
--- 1e-154, in f32 1e19 and 1e-19), and its gradient is 0 then, as in PyTorch: m * (x / m):norm() with m = x:abs():max():item() takes any size.
function tensor:norm(d, o) end

--- Is any element true? Without d evaluates and gives a Lua boolean.
function tensor:any(d, o) end

--- Are all elements true? Without d evaluates and gives a Lua boolean.
function tensor:all(d, o) end

--- Running sum along d.
---@param d integer
function tensor:cumsum(d) end

--- Sorted along d, stable, NaN last; {descending = false}. Positions are i64, or as {dtype = "i32"} says.
---@param d integer
---@return gibbous.tensor values
---@return gibbous.tensor positions
function tensor:sort(d, o) end

--- The k largest along d, or smallest with {largest = false}; NaN last. Positions are i64, or as {dtype = "i32"} says. Up to 16
--- smallest floats, at most a quarter of each of 64 lines or more, are a reduction: what they are chosen from streams, and -0 is
--- returned as 0.
---@param k integer
---@param d integer
---@return gibbous.tensor values
---@return gibbous.tensor positions
function tensor:topk(k, d, o) end

--- The positions that sort x along d, stable, NaN last; {descending = false}; also argsort{dim = d}.
---@param d integer?  -1
---@param o {descending: boolean, dtype: "i64"|"i32"}?  i64
---@return gibbous.tensor
function tensor:argsort(d, o) end

--- The quantiles q, from 0 to 1, along d or of all elements, linear between neighbours; NaN if any element is. A list of fractions
--- gives a new first dimension. {keepdim = true} keeps an extent of 1.
---@param q number|number[]
---@param d integer?
---@return gibbous.tensor
function tensor:quantile(q, d, o) end

--- The middle value along d or of all elements, the mean of both where there are two; NaN if any element is.
---@param d integer?
---@return gibbous.tensor
function tensor:median(d, o) end

--- The distinct values, ascending, where each element of x is among them, how often each occurs. Evaluates: their number depends on
--- the values. Each NaN is distinct.
---@return gibbous.tensor values (m)
---@return gibbous.tensor positions  the shape of x, i64
---@return gibbous.tensor counts (m), i64
function tensor:unique() end

--- The positions of the elements that are not 0, of a mask those that are true, a row each, in row-major order. Evaluates: their
--- number depends on the values.
---@return gibbous.tensor (m, ndim), i64
function tensor:nonzero() end

-- By label: labels are whole numbers from 1 to k; one outside is an error, at once where the labels have their values -------------

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

-- Products and linear algebra -------------------------------------------------------------------------------------------------

--- Matrix product (..., n, k) x (..., k, m); vectors are allowed on either side. Streams where an operand is not stored.
---@param y gibbous.tensor
---@return gibbous.tensor
function tensor:matmul(y) end

--- Distances |x_i - y_j| of all rows; an expression that streams. Its gradient is 0 at 0.
---@param x gibbous.tensor  (..., n, d)
---@param y gibbous.tensor  (..., m, d)
---@param o {p: number}?  the norm: 2, 1, math.huge, ...
---@return gibbous.tensor (..., n, m)
function gb.cdist(x, y, o) end

--- a_i b_j of two vectors.
---@param a gibbous.tensor  (n)
---@param b gibbous.tensor  (m)
---@return gibbous.tensor (n, m)
function gb.outer(a, b) end

--- Sums of products by index letters: gb.einsum("ij,jk->ik", x, y).
---@param spec string
---@return gibbous.tensor
function gb.einsum(spec, ...) end

-- All of gb.linalg takes batches: axes in front of those that are named here. Axes of A and of right-hand sides broadcast. A failure
-- says which matrix of the batch it is. One A with many b is one solve of all their columns.

--- Lower L with L L' = A + jitter I. n^3/3 operations. Raises not_pd with the order of the failing minor. Reads the lower triangle
--- of A alone, as gb.solvers.cholesky does.
---@param A gibbous.tensor  (..., n, n), symmetric
---@param o {jitter: number}?
---@return gibbous.tensor
function gb.linalg.cholesky(A, o) end

--- x with A x = b: by Cholesky where A is symmetric by structure and larger than 1 x 1, which must then be positive definite, else by
--- LU. The factor is shared with logdet and inv_quad.
--- A solution of finite A and b that does not fit their dtype is an error of code "nan", here and in inv_quad, triangular_solve, lstsq,
--- qr, eigh and svd.
---@param A gibbous.tensor  (..., n, n)
---@param b gibbous.tensor  (n), (..., n) with the axes that A has in front of its last two, or (..., n, r)
---@return gibbous.tensor
function gb.linalg.solve(A, b) end

--- x with L x = b for triangular L; {upper = false, transposed = false}. A 0 on the diagonal is an error of code "not_pd".
---@param L gibbous.tensor  (..., n, n)
---@param b gibbous.tensor  as for solve
---@return gibbous.tensor
function gb.linalg.triangular_solve(L, b, o) end

--- log |det A|
---@param A gibbous.tensor  (..., n, n)
---@return gibbous.tensor (...)
function gb.linalg.logdet(A) end

--- sum b' A^-1 b for symmetric positive definite A, a number for each matrix.
---@param A gibbous.tensor  (..., n, n)
---@param b gibbous.tensor  as for solve
---@return gibbous.tensor (...)
function gb.linalg.inv_quad(A, b) end

--- Thin QR of (n, m), n >= m; R has a positive diagonal.
---@param A gibbous.tensor  (..., n, m)
---@return gibbous.tensor Q (..., n, m)
---@return gibbous.tensor R (..., m, m)
function gb.linalg.qr(A) end

--- Eigenvalues of a symmetric matrix, ascending, and vectors in columns.
---@param A gibbous.tensor  (..., n, n)
---@return gibbous.tensor values (..., n)
---@return gibbous.tensor vectors (..., n, n)
function gb.linalg.eigh(A) end

--- Thin singular value decomposition A = U diag(s) V'.
---@param A gibbous.tensor  (..., n, m)
---@return gibbous.tensor U (..., n, k)
---@return gibbous.tensor s (..., k), descending
---@return gibbous.tensor V (..., m, k)
function gb.linalg.svd(A) end

--- x that minimises |A x - b|, by QR. A must have full column rank; else an error of code "not_pd" names its rank.
---@param A gibbous.tensor  (..., n, m), n >= m
---@param b gibbous.tensor  as for solve
---@return gibbous.tensor
function gb.linalg.lstsq(A, b) end

--- The (n, n) matrix with v on its diagonal; takes no memory.
---@param v gibbous.tensor  (..., n)
---@return gibbous.tensor (..., n, n)
function gb.linalg.diag(v) end

-- Observing -------------------------------------------------------------------------------------------------------------------

--- The number of a tensor of one element. Evaluates.
---@return number|boolean
function tensor:item() end

--- Nested lists. Evaluates.
---@return table
function tensor:totable() end

--- Evaluates x now; gives x.
---@return gibbous.tensor
function tensor:eval() end

--- Evaluates tensors, also inside tables, in one traversal; gives its arguments.
function gb.eval(...) end

--- The same shape, type and elements? NaN equals nothing. Evaluates.
---@param y gibbous.tensor
---@return boolean
function tensor:equal(y) end

--- |x - y| <= atol + rtol |y| everywhere? {rtol = 1e-5, atol = 1e-8}. Evaluates.
---@param y gibbous.operand
---@return boolean
function tensor:allclose(y, o) end

--- x converted: x:to "f32", x:to "cuda", or x:to{dtype, device}. On another device an op runs where its inputs lie:
--- numbers and values without axes follow, of two tensors the script moves one. Gradients come back to where x lies.
--- Kernels and networks take their parameters along; models, solvers and gb.func work on the session's device.
--- Costs one copy; a plan says how many bytes each device takes. Errors: "device" if no device has that name.
---@param o string|table
---@return gibbous.tensor
function tensor:to(o) end

--- Gives the handle back at once; it then answers nothing but close and tostring. Also 'local x <close> = ...'.
function tensor:close() end

-- Gradients ---------------------------------------------------------------------------------------------------------------------

--- A new leaf of x's value, by which gradients can be asked for. Evaluates.
---@return gibbous.tensor
function tensor:requires_grad() end

--- x, through which no gradient flows.
---@return gibbous.tensor
function tensor:detach() end

--- f over slices: each argument along its dimension (false: whole). f is traced once and must not observe its arguments.
---@param f function
---@param dims integer|(integer|false)[]?  1
---@param o {randomness: "independent"|"same"}?
---@return function
function gb.vmap(f, dims, o) end

-- Kernels --------------------------------------------------------------------------------------------------------------------
--
-- Each constructor gives a covariance function k: k(x) is (n, n), k(x, z) is (n, m), lazy and streamed. Options common to them:
-- variance (1), active_dims = {columns}; where there is one parameter a column, ard = true (when data arrives) or ard = d. A
-- hyper-parameter is a positive number (free), a list with one per column where that is said, or a gb.param (shared).

---@class gibbous.kernel
---@operator add(gibbous.kernel): gibbous.kernel
---@operator mul(gibbous.kernel|gibbous.param|number): gibbous.kernel
local kernel = {}

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

-- Several outputs ---------------------------------------------------------------------------------------------------------------

--- A model of T outputs, cov(f_t(x), f_s(z)) = k(x, z) B[t, s]. Options: kernel (of the points), tasks, rank of B (1), noise (one
--- variance, or a list with one per task, the default), mean (of x; gb.means.constant{c_1, ..., c_T} has one per task), solver.
--- y is (n, T). Without missing cells the covariance is a Kronecker product: O(n^3 + T^3 + n T (n + T)) a step, instead of
--- O(n^3 T^3). fit(x, y, {missing = "mask"}) leaves NaN cells out, counts them in info.masked, and works on the values there
--- are; by default NaN raises. predict(x) gives mean, f_var and y_var as (m, T); score(x, y, {missing}) adds figures per task.
--- condition(x, y, {missing}) gives a model that has also seen k more points: in O(N^2 K) for K values more than N where cells
--- are missing and a prediction was made before, else made anew when it first predicts. draw(k)(x) gives (k, m, T), and
--- leave_one_out() predicts each cell from all others, (n, T). plan(x, y), save(path) and gb.load as gb.gp.exact.
---@return gibbous.gp.multitask
function gb.gp.multitask(o) end

--- m places that stand for the rows of x, (n, d) or (n), as a tensor (m, d) of its type (of whole numbers f64). o: method "kmeans"
--- (centroids of a k-means by Euclidean distance: give x in units of the lengthscales), "random" (distinct rows) or "greedy" (rows of
--- the largest variance that those before leave, with a kernel); seed (0); weights, one a row. Fewer distinct rows than m are an
--- error. Evaluates.
---@param x gibbous.tensor
---@param m integer
---@param o {method: "kmeans"|"random"|"greedy", kernel: gibbous.kernel, seed: integer, weights: gibbous.tensor}?
---@return gibbous.tensor
function gb.gp.inducing_points(x, m, o) end

--- Noise with a variance for each task, free: a list or a gb.param of T. The last column of the inputs is the task, from 1.
---@return gibbous.likelihood
function gb.likelihoods.tasks(v) end

-- Plans and memory ----------------------------------------------------------------------------------------------------------------

--- What evaluating y will take, before it takes it. Raises refused, with need, have, minimum and
--- options (the ways out), where it cannot fit.
--- With a list of devices they share an axis (the batch of gb.lazy, else the one with the most work) in contiguous ranges,
--- by their budgets; the value has the bits of one device, if they compute alike (not a CPU beside a GPU). Leaves and results stay
--- on cpu. Values that x:to moved elsewhere are computed
--- there without this option, within the limit of that device; peak and minimum are of cpu. plan.devices lists each with its name,
--- peak, arena, budget, range {first, last}, window and copies.
--- plan.seconds is the predicted time, nil where it is not known. Where y waits for what nobody has looked at yet, as predictions do for
--- their solves, peak, minimum and seconds are of all of it; plan.waits lists that, each with what (text), bytes, minimum and seconds.
---@param y gibbous.tensor|gibbous.tensor[]
--- allow: what it may do beside running every step whole in program order (default: all; none changes a bit): "cache"
--- values for later, another "order", "pack" triangular factors, "cut" an axis into windows. prefer = "memory": the
--- realisation of least peak instead of the fastest that fits. exact = "math": sums may run in other pieces.
---@param y gibbous.tensor|gibbous.tensor[]
---@param o {budget: integer|string|(integer|string)[], device: string|string[], exact: "bits"|"math", prefer: "time"|"memory", allow: string[]}?
---@return gibbous.plan
function gb.plan(y, o) end

--- One readable screen: the budget and what it is spent on, the largest buffers with their lines, what is streamed and
--- never stored, memory over time, the realisations that were weighed; after a run, predicted and measured bytes.
---@return string
function plan:explain() end

--- The same as JSON text; sizes in bytes, steps from 1. With a path it is written there.
---@param path string?
---@return string?
function plan:json(path) end

--- The fold program of each step, as text: axes with their roles, instructions with what they vary along, outputs.
---@return string
function plan:programs() end

--- Computes what was planned; with {[leaf] = tensor} the same expression over other values.
function plan:run(values) end

--- The last run: predicted and measured bytes, seconds, pairs, folds, opaques, windows; devices: bytes by name.
---@return table
function plan:stats() end

--- A drawing of memory over time, as SVG text; with a path it is written there.
---@param path string?
---@return string?
function plan:svg(path) end

--- Gives the plan back at once.
function plan:close() end

--- Sets the memory limit, in bytes or as "1 GiB", of cpu or of another device; gives the previous one. Or of several by name,
--- {["cuda:0"] = "8 GiB", cpu = "4 GiB"}, all or none of them: gives a table of the previous ones. A GPU has no limit above its memory.
---@param size integer|string|table<string, integer|string>|nil
---@param o {device: string}?
---@return integer|table<string, integer>
function gb.memory.limit(size, o) end

--- Bytes by purpose, the peak, and the largest holders with the lines that made them; prints as a table. graph: nodes and plans,
--- beside 'used'; what is more than 64 MiB of it counts against the limit, too. devices: limit, used and peak of the others.
--- mapped: bytes of files that tensors lie in (gb.data.map), in no account.
---@return table
function gb.memory.report() end

--- Bytes that can still be had on a device, the session's own unless it is named; values that can be computed again count as free.
---@param device string?
---@return integer
function core.memory.room(device) end

-- Settings ------------------------------------------------------------------------------------------------------------------------

--- Sets dtype ("f64" or "f32"), device, devices, threads, digits, edge, arithmetic; gives the previous values of those, or all
--- without argument. device ("cpu", "cuda", "cuda:1"): where makers put tensors, and where models, solvers and gb.func work, from
--- here on; tensors from before stay where they are, :to moves them; plans and preconditioners from before are refused, and so is
--- a change within gb.vmap, a function that an evaluation calls, or gb.time. arithmetic: of kernel profiles in f32 on a GPU, "unit" (its special function unit) or "exact" (the bits of the
--- CPU); chosen before the device computes. devices = n: besides cpu there are cpu:2 to cpu:n, simulated: memory limits of their own, the same code and
--- threads, one after the other (GIBBOUS_DEVICES sets it at the start).
---@return table
function gb.config(o) end

--- The devices: name, isa, blas, threads, limit, used, of a GPU mapped (bytes of the pages that it holds) and kernels (what it
--- has compiled), state ("ready", or "lost" with the reason in why); memory is the limit too. The session's own first, its
--- simulated ones, the host's, and those that the script has named (x:to, option device). kinds.cuda: count, how many GPUs
--- there are to open as cuda:0, cuda:1, ...; without one, why.
---@return table[]
function gb.devices() end

--- Monotonic seconds.
---@return number
function gb.clock() end

--- Times f, with the tensors that it returns evaluated and all devices done. Nothing is remembered from one run to the next; a
--- tensor from outside that has its value already is given, and where no step ran at all the record says so. Two clocks: wall,
--- and device, the seconds of the steps by the clocks of the devices that ran them. agree: they differ by at most 5 % + 20 us;
--- else waits lists the times of a typical run in which no step ran, the longest first: {seconds, line, op} of the step after
--- it, no op after the last one. low and high contain the median with probability coverage, 95 % from 6 runs on. steps, bytes
--- and flops are of one run; predicted: seconds by the figures of the planner; bound: the least that the devices' peaks allow,
--- share of it = bound / device (nil where figures are not known). first: seconds of the first run; remembered: steps of it
--- that later runs did not repeat, since f keeps values itself. Prints as text.
---@param f function
---@param o {runs: integer?, seconds: number?, warmup: integer?, compile: boolean?}?  at least so many runs (3, also called repeats), for so long (0.05); runs that do not count (1); compile = false: kernels that a device compiles are not waited for
---@return {median: number, low: number, high: number, coverage: number, runs: integer, fastest: number, slowest: number, wall: number, device: number, agree: boolean, waits: table[]?, steps: integer, bytes: number, flops: number, predicted: number?, bound: number?, share: number?, first: number?, remembered: integer?}  seconds
function gb.time(f, o) end

--- Another name of gb.time.
---@param f function
---@param o table?
---@return table
function gb.bench(f, o) end

--- What the steps of f took, run once as in gb.time; or, between gb.profile "on" and gb.profile "off", which gives the report,
--- those of the script (pairs of on and off nest). A list of rows, the slowest first: line, op, device, carrier (the instruction
--- set of a CPU; interpreter, template, compiled or library on a GPU; host: a solver or another registered op; copy), kernel,
--- calls, seconds, total (with the steps inside a solver), bytes, flops, predicted. Beside them seconds of the wall, device (the
--- sum of the steps'), steps, and of a function core_seconds, folds, pairs of points, library calls (opaques) and the most bytes
--- that one evaluation took (measured). Prints as a table; p:json() is in Chrome's trace format. Figures of a machine that was
--- never measured are measured first. On a GPU each step is a range of NVTX, "line: op".
---@param f function|string  a function, "on" or "off"
---@return table
function gb.profile(f) end

--- "tensor", "param", "kernel", "plan", ..., else Lua's type.
---@return string
function gb.type(v) end

-- Files and loops, written in Lua ------------------------------------------------------------------------------------------------

--- The model, of one output or several, of a file that m:save(path) wrote; it predicts with the same bits. Runs nothing: what
--- only a script can say is given.
---@param path string
---@param o {kernels: table, means: table, functions: table, warp: function, x: gibbous.tensor, y: gibbous.tensor}?
---@return gibbous.gp.exact|gibbous.gp.multitask
function gb.load(path, o) end

--- Centroids of k clusters by Lloyd's iterations, with exact sums: the same bits for any number of threads, pieces and bytes. An
--- object with fields centroids (k, d) of f64, labels (n) of i32 from 1, inertia, iterations, converged, history, empty (clusters
--- without rows), bytes (what the fit took beside the points), counts (of partial_fit). o: k; init ("k-means++", "k-means||", "random", a
--- tensor (k, d), or a function of the points, k and the run); n_init ("auto": 10 for random and functions, else 1);
--- max_iter (300); tol (1e-4 of the mean variance of the columns); algorithm ("auto", "lloyd", "elkan": the same with fewer
--- distances, "minibatch"); spherical (true: rows divided by their lengths, centroids of length 1); seed (0); weights, one a row;
--- device: a name or a list of names, of the devices that pass over the rows, else where these lie: a GPU makes every pass but
--- mini-batches, in emulation so far; budget: bytes of each account, or bytes by name of a device; ranks (true: points are those of all ranks of gb.mpi, each gives its own and has their
--- labels). device_bytes: what the fit took on devices other than the host, by name.
---@param o {k: integer, init: string|gibbous.tensor|function, n_init: integer|string, max_iter: integer, tol: number, algorithm: string, spherical: boolean, seed: integer, budget: integer|string|table<string, integer|string>, device: string|string[], weights: gibbous.tensor, ranks: boolean}
---@return gibbous.kmeans
function gb.kmeans(o) end

--- Finds the centroids of the rows of X, a tensor (n, d), a list of tensors that are one data set, or an expression, which is
--- computed tile by tile. o: weights. Evaluates; gives the object, which is as before where this raises.
---@return gibbous.kmeans
function kmeans:fit(X, o) end

--- What a fit would take beside X: peak, formula, data, buffers {what, bytes}; prints as text. X may be gb.empty(n, d).
---@return table
function kmeans:plan(X, o) end

--- Numbers of the nearest centroids, (n) of i32, from 1. Evaluates.
---@return gibbous.tensor
function kmeans:predict(X) end

--- Minus the sum of w |x - c|^2 of the rows and their nearest centroids. o: weights. Evaluates.
---@return number
function kmeans:score(X, o) end

--- Distances (n, k) to the centroids, lazy; of a list of tensors a list.
---@return gibbous.tensor|gibbous.tensor[]
function kmeans:transform(X) end

--- One mini-batch: each centroid becomes the mean of all rows that were nearest to it when their batch came. o: weights. Evaluates.
---@return gibbous.kmeans
function kmeans:partial_fit(X, o) end

--- Silhouettes of the rows of X and their nearest centroids, as of gb.silhouette. o: sample, seed, simplified. Evaluates.
---@return gibbous.silhouette
function kmeans:silhouette(X, o) end

--- The permutation (n) of i64 that puts the rows of a cluster beside each other, in their order: X:index(1, km:order()). Of the rows
--- of the fit, or of X. Evaluates.
---@return gibbous.tensor
function kmeans:order(X) end

--- Writes the object to one file, which gb.load(path) reads.
---@param path string
function kmeans:save(path) end

--- Silhouettes of rows with labels (n) from 1: (b - a) / max(a, b), a the mean Euclidean distance to the other rows of a row's
--- cluster, b the least mean distance to the rows of another; 0 of a row that is alone. Fields: mean, values (m), rows (of a
--- sample, else nil), labels (m), means (k), counts (k), n, k. o: k (the largest label); sample: so many rows, drawn by seed (0), are
--- compared with all; simplified: distances to the means of the clusters. X: a tensor (n, d), a list of tensors, an expression. Work
--- n^2 d (sample: m n d; simplified: n k d); nothing of n x n or n x k is stored. Evaluates.
---@param o {k: integer, sample: integer, seed: integer, simplified: boolean}?
---@return gibbous.silhouette
function gb.silhouette(X, labels, o) end

--- A figure of what gb.silhouette or km:silhouette gives: a bar a row, sorted within its cluster, clusters from the top; the line is
--- the mean. o: title, xlabel, ylabel.
---@param s gibbous.silhouette
---@return gibbous.figure
function gb.plot.silhouette(s, o) end

--- A figure of inertia against k, from a list of {k, inertia} or of fitted k-means; and the k of its elbow, the point farthest below
--- the chord from the first to the last, or nil where none lies below. o: title, xlabel, ylabel.
---@return gibbous.figure, integer|nil
function gb.plot.elbow(list, o) end

--- The number of this rank, from 0, of those that mpirun started; without it there is one, 0.
---@return integer
function gb.mpi.rank() end

--- How many ranks there are.
---@return integer
function gb.mpi.size() end

--- Whether there can be several ranks: the library of MPI was built. Where it was not, false, and why.
---@return boolean, string?
function gb.mpi.available() end

--- The first and the last of n rows that are this rank's; none where the last is less than the first.
---@param n integer
---@return integer, integer
function gb.mpi.share(n) end

--- for i in gb.progress(n, label), for i, v in gb.progress(list, label): a bar with rate and time left, where stderr is a terminal.
---@param over integer|any[]
---@param label string?
function gb.progress(over, label) end

-- gibbous.core: what the Lua library uses besides; not for scripts ------------------------------------------------------------------

--- v as a tensor (params give their value), nil if it is none.
function core.as_tensor(v) end

--- A number of bytes from a number or "1 MiB"; 'what' names it in messages.
---@return integer
function core.bytes(size, what) end

--- The lazy result of an op made by core.func: tensors, shape and dtype of the result, bytes for its work.
---@return gibbous.tensor
function core.call(op, tensors, shape, dtype, bytes) end

--- An op for core.call from callbacks {run, grad, bytes}; gb.func makes one.
function core.func(name, callbacks, batched, map_axes) end

--- Lets go of every value that can be computed again; gives the bytes freed.
function core.drop_caches() end

--- An error object for the caller's line, not raised.
function core.error(code, message, fields) end

--- The n-th allocation from now, from 0, and all later ones fail, on a device, the session's own unless it is named; -1: never again.
function core.fail_after(n, device) end

--- Resident bytes of the process now, and at most since the last reset, as the system counts them.
---@param reset boolean?  count the peak anew, from now
---@return integer now, integer peak
function core.process_memory(reset) end

--- Predicted times of an imaginary machine, for texts that must not change.
---@param on boolean
function core.fixed_rates(on) end

--- The figures of a device by name, which predicted times come from; nil where it has none.
---@param device string
---@return table<string, number>?
function core.figures(device) end

--- dy/dxs with the keys of xs; {cotangent, unused = "error"}. gb.grad adds what params need.
function core.grad(y, xs, o) end

--- Does x have its value already?
---@return boolean
function core.known(x) end

--- Of the account of each device that is named {bytes in use, its peak so far}; a new peak is counted from this call on. With what that
--- gave as 'before': the most bytes in use since, beside those of then; the account has the larger of both peaks again.
---@param names string[]
---@param before integer[][]?
function core.high_water(names, before) end

--- Bytes of each buffer that core.kmeans_fit takes, and what they follow from; nothing is allocated, and gb.empty is welcome.
---@return table<string, integer>
function core.kmeans_bytes(list, o) end

--- K-means of the rows of a list of tensors: labels (n) of i32 from 1, centroids and shift (f64), history, {inertia, iterations,
--- empty, converged, change}. o: k, start, max_iter, tol, seed, bounded (Elkan's iterations), spherical, runs,
--- weights, devices, rooms, ranks.
function core.kmeans_fit(list, o) end

--- What centroids that are known say of points: labels, inertia, sums less the shift. o: k, centroids, shift, spherical, weights, devices,
--- rooms, ranks; labels, sums: whether they are wanted (labels or inertia).
function core.kmeans_apply(list, o) end

--- The number of this rank, from 0; how many there are; messages that it has sent to the others, and their bytes.
---@return integer, integer, integer, integer
function core.ranks() end

--- All ranks call it with what was raised there, or nil: it raises what the lowest rank says that has something.
function core.ranks_agree(err) end

--- Raises where the library of several ranks cannot be opened.
function core.ranks_check() end

--- What the last evaluation did.
function core.last_run() end

--- Until what it gives is closed, an expression that is built again is computed again, and values of older ones are not kept.
function core.measure() end

--- What was run since the last measurement began; 'measured' is of the largest run.
function core.measured() end

--- Times the steps of all runs until what it gives is closed; figures: devices that were never measured are measured first.
---@param figures boolean?
function core.trace(figures) end

--- What a trace has seen: began, dropped (steps without an event), rows (line, op, device, carrier, kernel, calls, seconds, total,
--- bytes, flops, predicted, bound), events (row, from, to, depth: registered ops around it).
---@return table
function core.traced(trace) end

--- Returns when the work of all devices is complete.
function core.synchronize() end

--- Returns when kernels that devices compile beside their work are there; true: work that is done again may be faster.
---@return boolean
function core.settle() end

--- A fresh leaf of x's value: kind "param" or "grad".
function core.leaf(x, kind, name) end

--- Says once a script line, on stderr, that a solve missed its tolerance, by its record.
---@param info gibbous.solve_info
function core.solve_missed(info) end

--- x with a value that is known: nothing computes it again, and gradients pass through it as through x.
function core.hold(x, value) end

--- A tensor that stands for what keep() gives, which is called when the tensor is looked at or differentiated, and may compute.
--- cost() says what that will take, as gb.plan wants it: {what, bytes, minimum, kept, seconds}.
---@param shape integer[]
---@param dtype string
---@param keep fun(): gibbous.tensor
---@param cost fun(): table
---@return gibbous.tensor
function core.promise(shape, dtype, keep, cost) end

--- The machine is measured, unless it was before, so that plans have seconds.
function core.know_rates() end

--- Is a function being traced, by gb.vmap?
---@return boolean
function core.tracing() end

--- Does x stand for what has not been asked for yet?
---@return boolean
function core.is_promise(x) end

--- "script.lua:12" of the nearest caller outside the library.
function core.line() end

--- Bytes and blocks in the ledger, nodes in the graph.
function core.live() end

--- Names of the modules built in.
function core.modules() end

--- Names a tensor in plans and messages; gives it.
function core.name(x, name) end

--- The most similar string of a list, nil if none is near.
function core.nearest(name, list) end

--- A stationary profile at u = c s: "rbf", "m12", "m32", "m52", or "rq" with alpha.
function core.radial(profile, s, c, alpha) end

--- Raises an error object for the nearest caller outside the library.
function core.raise(code, message, fields) end

--- The text of a module of the library, nil where there is none.
function core.source(module) end

--- Squared distances (n, m) of x (n, d) and y (m, d), weighted by w (d).
function core.sqdist(x, y, w) end

--- y as it is, a function of x whose gradient goes to x by way of 'slope', the derivative of y in x: elementwise, in shapes that
--- broadcast. The slope is computed by gradients only, and may have one itself.
function core.with_slope(y, x, slope) end

--- Is x symmetric by structure?
function core.symmetric(x) end

--- Conjugate gradients for symmetric positive definite A, at once; {tol, max_iter, mixed, precond, x0}. Gives x and a table.
function core.cg(A, b, o) end

--- A Cholesky factor that grows: of the lower factor L (n, n), or, with L nil, of the matrix C. A value: f:append(B, C) is the
--- factor of [[A, B'], [B, C]], in O(n^2 k) for k rows, and f stays. n, dtype, capacity, bytes; half_solve(b) L^-1 b,
--- back_solve(b) L^-T b, solve(b), logdet() are lazy; extend(w, r) goes on with L^-1 b where w = L^-1 of b's first part is
--- known and r is the rest; dense() is L. gb.linalg.triangular_solve takes it in place of L.
function core.factor(L, C) end

--- The same as a lazy x, differentiable and planned; {tol, max_iter, mixed, precond, rank, precond_tol, k, noise, x0}.
function core.solver(A, b, o) end

--- What a lazy solve said when it ran, a table; nil before.
function core.solver_report(x) end

--- Do the elements of A exist nowhere, so that it has at least twice as many as what it is made of?
function core.is_streamed(A) end

--- Half of a two-sided interval of Student's t, in standard errors.
function core.student_quantile(degrees, level) end

--- The preconditioner diag(A).
function core.jacobi(A) end

--- Quadratic form and stochastic log-determinant in one set of products, lazy: (4) of f64, inv_quad, log det, its standard error
--- and 0, and all that was computed; the options of core.solver, probes, seed and exact.
function core.marginal(A, b, o) end

--- Alternating projections for symmetric positive definite A; {tol, max_iter, x0, block, keep}. Gives x and a record.
function core.alternating_projections(A, b, o) end

--- Stochastic dual descent for symmetric positive definite A; {tol, max_iter, x0, batch, momentum, step, seed}. Gives x and a record.
function core.sdd(A, b, o) end

--- |A| |A^-1| in the 1-norm for symmetric A with Cholesky factor L, estimated in O(n^2).
function core.factor_condition(A, L) end

--- (L L')^-1 b for a Cholesky factor L; lazy. Its gradient goes straight to the matrix of the factor.
function core.solve_chol(L, b) end

--- An orthonormal basis Q (n, t) of the Krylov space of symmetric A and q, T = Q' A Q tridiagonal, and a record.
function core.lanczos(A, q, steps) end

--- log det A by stochastic Lanczos quadrature; {tol, max_iter, precond, probes, seed}. Gives a record with value and standard_error.
function core.logdet_slq(A, o) end

--- Minimal residuals for symmetric A, definite or not; {tol, max_iter, precond, x0}. Gives x and a record.
function core.minres(A, b, o) end

--- A preconditioner of K + noise, one or (n), by Nystrom from drawn points; gives it, its rank, the share of the trace left out.
function core.nystrom(K, noise, rank, seed, tol) end

--- P^-1 b for a preconditioner, b (n) or (n, r); f64.
function core.precond_apply(P, b) end

--- The rows of K (n, n) that pivoted Cholesky takes, a list of at most 'most', each with the largest diagonal entry that those before
--- leave, until 'tol' of the trace is left; and that share. most n numbers of workspace.
---@param K gibbous.tensor
---@param most integer
---@param tol number?
function core.pivots(K, most, tol) end

--- log det P of a preconditioner.
function core.precond_logdet(P) end

--- A preconditioner as core.nystrom makes it, by pivoted Cholesky.
function core.pivoted_cholesky(K, noise, rank, tol) end

--- What the machine can do, measured now: {isa, fma, issue, exp2} a second.
function core.rates(seconds, threads) end

--- Reads columns from delimited text.
function core.csv_read(path, o) end

--- The cells of a column of text, of the frame that core.csv_read gave.
---@return string[]
function core.csv_text(frame, k) end

--- Writes a matrix, or a list of columns, as text.
function core.csv_write(path, x, names) end

--- Is anything there?
---@return boolean
function core.file_exists(path) end

--- The first bytes of a plain file.
---@return string
function core.file_lead(path) end

--- Reads one .npy array.
function core.npy_read(path) end

--- The array of a .npy file where it lies there, mapped, on the host.
---@return gibbous.tensor
function core.npy_map(path) end

--- Writes one .npy array.
function core.npy_write(path, x) end

--- Reads a .safetensors file: {name = tensor}, its metadata {key = text}, and whether its heading is spelled as the function below
--- does.
function core.safetensors_read(path) end

--- Writes {name = tensor} and {key = text}; the file is there whole or not at all.
function core.safetensors_write(path, tensors, texts) end

--- 16 hexadecimal digits of what the strings and tensors of a list hold: type, shape and bits, in order.
---@return string
function core.digest(list) end

--- The paths that match a pattern of the shell, sorted.
---@return string[]
function core.glob(pattern) end

--- Plain data as JSON text, keys sorted; a number has the same bits when it is read back.
---@return string
function core.json_encode(v) end

--- The value of JSON text; null is nil, a key that is there twice an error.
function core.json_decode(text) end

--- An empty figure.
function core.figure(title, xlabel, ylabel) end

--- Adds a series to a figure.
function core.figure_add(figure, kind, x, y, o) end

--- Adds a heat map to a figure.
function core.figure_heatmap(figure, z, x, y) end

--- Names on the vertical axis of a figure, at these heights, in place of numbers.
---@param at number[]
---@param names string[]
function core.figure_ticks(figure, at, names) end

--- Draws a figure to a file.
function core.figure_save(figure, path, width, height) end

--- Draws a figure as characters.
function core.figure_text(figure, columns, rows) end

--- Is the file descriptor a terminal?
function core.isatty(fd) end

--- Columns and rows of the terminal, and whether there is one.
function core.terminal() end

return {gb = gb, tensor = tensor, plan = plan, core = core}

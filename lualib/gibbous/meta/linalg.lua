---@meta

---@class gibbous.tensor
local tensor = {}

---@class gibbous
local gb = {}

--- Linear algebra. All functions take batches: axes in front of those that are named; axes of A and of right-hand sides broadcast. A
--- failure says which matrix of the batch it is.
---@class gb.linalg
gb.linalg = {}

--- Matrix product (..., n, k) x (..., k, m); vectors are allowed on either side. Streams where an operand is not stored.
---@param y gibbous.tensor
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:matmul(gb.ones(2)))
---```
function tensor:matmul(y) end

---@class gibbous.cdist.options
---@field p? number  the norm: 2, 1, math.huge, ...; default: 2

--- Distances |x_i - y_j| of all rows; an expression that streams. Its gradient is 0 at 0.
---@param x gibbous.tensor  (..., n, d)
---@param y gibbous.tensor  (..., m, d)
---@param o gibbous.cdist.options?
---@return gibbous.tensor (..., n, m)
---```lua
--- print(gb.cdist(gb.tensor{{0}, {3}}, gb.tensor{{1}}))
---```
function gb.cdist(x, y, o) end

--- a_i b_j of two vectors.
---@param a gibbous.tensor  (n)
---@param b gibbous.tensor  (m)
---@return gibbous.tensor (n, m)
---```lua
--- print(gb.outer(gb.tensor{1, 2}, gb.tensor{3, 4}))
---```
function gb.outer(a, b) end

--- Sums of products by index letters: gb.einsum("ij,jk->ik", x, y).
---@param spec string
---@param ... gibbous.tensor  as many as the spec has
---@return gibbous.tensor
---```lua
--- print(gb.einsum("ij,jk->ik", gb.ones(2, 3), gb.ones(3, 2)))
---```
function gb.einsum(spec, ...) end

-- All of gb.linalg takes batches: axes in front of those that are named here. Axes of A and of right-hand sides broadcast. A failure

-- says which matrix of the batch it is. One A with many b is one solve of all their columns.

---@class gibbous.linalg.cholesky.options
---@field jitter? number  added to the diagonal; default: 0

--- Lower L with L L' = A + jitter I. n^3/3 operations. Raises not_pd with the order of the failing minor. Reads the lower triangle
--- of A alone, as gb.solvers.cholesky does.
---@param A gibbous.tensor  (..., n, n), symmetric
---@param o gibbous.linalg.cholesky.options?
---@return gibbous.tensor
---```lua
--- print(gb.linalg.cholesky(gb.tensor{{2, 1}, {1, 3}}))
---```
function gb.linalg.cholesky(A, o) end

--- x with A x = b: by Cholesky where A is symmetric by structure and larger than 1 x 1, which must then be positive definite, else by
--- LU. The factor is shared with logdet and inv_quad.
--- A solution of finite A and b that does not fit their dtype is an error of code "nan", here and in inv_quad, triangular_solve, lstsq,
--- qr, eigh and svd.
---@param A gibbous.tensor  (..., n, n)
---@param b gibbous.tensor  (n), (..., n) with the axes that A has in front of its last two, or (..., n, r)
---@return gibbous.tensor
---```lua
--- print(gb.linalg.solve(gb.tensor{{2, 1}, {1, 3}}, gb.ones(2)))
---```
function gb.linalg.solve(A, b) end

---@class gibbous.triangular_solve.options
---@field upper? boolean  L is an upper triangle; default: false
---@field transposed? boolean  L' x = b; default: false

--- x with L x = b for triangular L; {upper = false, transposed = false}. A 0 on the diagonal is an error of code "not_pd".
---@param L gibbous.tensor  (..., n, n)
---@param b gibbous.tensor  as for solve
---@param o gibbous.triangular_solve.options?
---@return gibbous.tensor
---```lua
--- print(gb.linalg.triangular_solve(gb.tensor{{2, 0}, {1, 3}}, gb.ones(2)))
---```
function gb.linalg.triangular_solve(L, b, o) end

--- log |det A|
---@param A gibbous.tensor  (..., n, n)
---@return gibbous.tensor (...)
---```lua
--- print(gb.linalg.logdet(gb.tensor{{2, 1}, {1, 3}}):item())
---```
function gb.linalg.logdet(A) end

--- sum b' A^-1 b for symmetric positive definite A, a number for each matrix.
---@param A gibbous.tensor  (..., n, n)
---@param b gibbous.tensor  as for solve
---@return gibbous.tensor (...)
---```lua
--- print(gb.linalg.inv_quad(gb.tensor{{2, 1}, {1, 3}}, gb.ones(2)):item())
---```
function gb.linalg.inv_quad(A, b) end

--- Thin QR of (n, m), n >= m; R has a positive diagonal.
---@param A gibbous.tensor  (..., n, m)
---@return gibbous.tensor Q (..., n, m)
---@return gibbous.tensor R (..., m, m)
---```lua
--- local Q, R = gb.linalg.qr(gb.tensor{{2, 1}, {1, 3}})
--- print(Q, R)
---```
function gb.linalg.qr(A) end

--- Eigenvalues of a symmetric matrix, ascending, and vectors in columns.
---@param A gibbous.tensor  (..., n, n)
---@return gibbous.tensor values (..., n)
---@return gibbous.tensor vectors (..., n, n)
---```lua
--- local values, vectors = gb.linalg.eigh(gb.tensor{{2, 1}, {1, 3}})
--- print(values, vectors)
---```
function gb.linalg.eigh(A) end

--- Thin singular value decomposition A = U diag(s) V'.
---@param A gibbous.tensor  (..., n, m)
---@return gibbous.tensor U (..., n, k)
---@return gibbous.tensor s (..., k), descending
---@return gibbous.tensor V (..., m, k)
---```lua
--- local U, s, V = gb.linalg.svd(gb.tensor{{2, 1}, {1, 3}})
--- print(U, s, V)
---```
function gb.linalg.svd(A) end

--- x that minimises |A x - b|, by QR. A must have full column rank; else an error of code "not_pd" names its rank.
---@param A gibbous.tensor  (..., n, m), n >= m
---@param b gibbous.tensor  as for solve
---@return gibbous.tensor
---```lua
--- print(gb.linalg.lstsq(gb.tensor{{1, 0}, {1, 1}, {1, 2}}, gb.tensor{1, 3, 5}))
---```
function gb.linalg.lstsq(A, b) end

--- The (n, n) matrix with v on its diagonal; takes no memory.
---@param v gibbous.tensor  (..., n)
---@return gibbous.tensor (..., n, n)
---```lua
--- print(gb.linalg.diag(gb.tensor{1, 2}))
---```
function gb.linalg.diag(v) end

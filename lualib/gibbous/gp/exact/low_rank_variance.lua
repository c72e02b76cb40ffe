--- Predictive variances from a low-rank cache of the covariance C = K + noise, in O(n rank) a point instead of O(n^2).
--
-- With an orthonormal basis V (n, r) and T = V' C V, the share z'z, z = L^-1 V' k, T = L L', of what the data explain about a
-- point with covariances k is at most k' C^-1 k: the cached variance never falls below the exact one, hence never below 0. What
-- is missing is R' C^-1 R <= |R|^2 / (least noise) for the residual R = k - C V T^-1 V' k, which costs as much again to know.
-- With r = n nothing is missing.
--
-- V spans K^2 W for random W (n, r): a block does in three passes over the pairs what a Lanczos run of r steps does in r, and
-- repeated eigenvalues, as of data on a grid, do not stop it. The k of every point lie near the range of K, noise does not.
-- Source: Pleiss, Gardner, Weinberger & Wilson (2018), Constant-time predictive distributions for Gaussian processes; the basis:
-- Halko, Martinsson & Tropp (2011), algorithm 4.4.
local core <const> = require "gibbous.core"

local Cache <const> = {}
Cache.__index = Cache

-- Columns of a basis whose part of R is below this, relative to the first, are made of rounding; what lies along them is too
-- little to have a derivative.
local RESOLVED <const> = {f64 = 1e-5, f32 = 1e-2}

--- 'q', an orthonormal basis of y's columns, y = q r, as a function of y: y r^-1 with r as it is spans the same for any y, and
-- what is made of a basis depends on what it spans alone. A derivative of q itself would be that of r as well, and fail with r.
local function following(q, r, y)
  local values <const> = r:detach():diagonal():abs():totable()
  local count = 0
  while count < #values and values[count + 1] > RESOLVED[q.dtype] * values[1] do count = count + 1 end
  if count == 0 then return q:detach() end
  local part <const> = core.linalg.triangular_solve(r:detach():slice(1, 1, count):slice(2, 1, count), y:slice(2, 1, count):t(),
    {upper = true, transposed = true}):t()
  return core.hold(core.cat({part, q:detach():slice(2, count + 1, #values)}, 2), q)
end

--- For K and C (n, n), lazy. Cost: three products with r columns, 2 QR factorisations; 2 n r values are kept.
-- 'live' are the basis and the factor as functions of K and C, for gradients.
local function build(k, c, rank, seed)
  local n <const> = #c
  local r <const> = math.min(rank, n)
  local start <const> = core.randn(n, r, {dtype = c.dtype, seed = seed}):eval()
  local first <const>, r1 <const> = core.linalg.qr(k:matmul(start))
  core.eval(first, r1)
  local v <const>, r2 <const> = core.linalg.qr(k:matmul(first))
  core.eval(v, r2)
  local image <const> = c:matmul(v):eval()                           -- C V
  local t <const> = v:t():matmul(image)
  local l <const> = core.linalg.cholesky((t + t:t()) / 2):eval()
  local g <const> = core.linalg.triangular_solve(l, image:t())
  local gram <const> = g:matmul(g:t()):eval()
  local basis <const> = following(v, r2, k:matmul(following(first, r1, k:matmul(start))))
  local inner <const> = basis:t():matmul(c:matmul(basis))
  return setmetatable({rank = r, basis = v:t(), images = image:t(), factor = l, gram = gram, live = {basis = basis:t(),
    factor = core.hold(core.linalg.cholesky((inner + inner:t()) / 2), l)}}, Cache)
end

--- z (r, m) for covariances k (n, m) of the data with m points, lazy; streamed.
function Cache:root(k) return core.linalg.triangular_solve(self.factor, self.basis:matmul(k)) end

--- Two matrices (r, m) whose columns' products are those of root(k)'s, lazy, to differentiate.
function Cache:sides(k)
  local b <const> = self.live.basis:matmul(k)
  return b, core.solve_chol(self.live.factor, b)
end

--- |R|^2 (m), lazy: R = k - C V L^-T z.
function Cache:residual(k)
  local z <const>, g <const> = self:root(k), core.linalg.triangular_solve(self.factor, self.images:matmul(k))
  local squares <const> = (k * k):sum(1) - 2 * (z * g):sum(1) + (self.gram:matmul(z) * z):sum(1)
  return core.maximum(squares, squares * 0)
end

--- The cache of a model's state, made once for a state and a rank.
return function(state, k, c, rank, seed)
  local known <const> = state.low_rank
  if known and known.asked == rank then return known end
  local cache <const> = build(k, c, rank, seed)
  cache.asked = rank
  state.low_rank = cache
  return cache
end

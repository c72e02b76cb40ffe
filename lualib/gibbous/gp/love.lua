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

--- For K and C (n, n), lazy. Cost: three products with r columns, 2 QR factorisations; 2 n r values are kept.
local function build(k, c, rank, seed)
  local n <const> = #c
  local r <const> = math.min(rank, n)
  local start <const> = core.randn(n, r, {dtype = c.dtype, seed = seed}):eval()
  local first <const> = (core.linalg.qr(k:matmul(start))):eval()
  local v <const> = (core.linalg.qr(k:matmul(first))):eval()
  local image <const> = c:matmul(v):eval()                           -- C V
  local t <const> = v:t():matmul(image)
  local l <const> = core.linalg.cholesky((t + t:t()) / 2):eval()
  local g <const> = core.linalg.triangular_solve(l, image:t())
  local gram <const> = g:matmul(g:t()):eval()
  return setmetatable({rank = r, basis = v:t(), images = image:t(), factor = l, gram = gram}, Cache)
end

--- z (r, m) for covariances k (n, m) of the data with m points, lazy; streamed.
function Cache:root(k) return core.linalg.triangular_solve(self.factor, self.basis:matmul(k)) end

--- |R|^2 (m), lazy: R = k - C V L^-T z.
function Cache:residual(k)
  local z <const>, g <const> = self:root(k), core.linalg.triangular_solve(self.factor, self.images:matmul(k))
  local squares <const> = (k * k):sum(1) - 2 * (z * g):sum(1) + (self.gram:matmul(z) * z):sum(1)
  return core.maximum(squares, squares * 0)
end

--- The cache of a model's state, made once for a state and a rank.
return function(state, k, c, rank, seed)
  local known <const> = state.love
  if known and known.asked == rank then return known end
  local cache <const> = build(k, c, rank, seed)
  cache.asked = rank
  state.love = cache
  return cache
end

--- The evidence lower bound of a variational model,
--   ELBO = sum over the rows of E_q log p(y | f) - KL(q(u) || p(u)),
-- and the slopes of a step. For rows x with U = L^-1 K_zx, q(v) = N(a, S) of whitened values and k = diag K:
--   f has mean m(x) + U'a and variance k - diag(U'U) + diag(U'S U).
-- With g and h the derivatives of the first sum by mean and variance:
--   natural parameters   S^-1 <- (1 - rate) S^-1 + rate (I - 2 U diag(h) U'),  S^-1 a <- (1 - rate) S^-1 a + rate U (g - 2 h U'a)
--   dELBO/dU = a g' + 2 (S - I) U diag(h) =: T,  dELBO/dK_zx = L^-T T,  dELBO/dK_zz = -L^-T sym(phi(T U')) L^-1,
-- phi the lower triangle with half the diagonal: the derivative through the factor, of the orders of one product.
-- Source: Hensman, Fusi & Lawrence (2013), Gaussian processes for big data; Hensman, Matthews & Ghahramani (2015), Scalable
-- variational Gaussian process classification; Salimbeni, Eleftheriadis & Hensman (2018), Natural gradients in practice; Murray
-- (2016), Differentiation of the Cholesky decomposition.
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local variational <const> = require "gibbous.gp.svgp.variational"
local triangular_solve <const> = core.linalg.triangular_solve

local M <const> = {}

local log_2pi <const> = math.log(2 * math.pi)

--- E_q log p(y | f), (n), for moments of f at x; noise: known variances of these rows.
local function expected(f, x, y, mean, var, noise)
  if not likelihoods.is_gaussian(f.likelihood) then return f.likelihood:expected(mean, var, y) end
  local s <const> = noise or f.likelihood:variance(x)
  local e <const> = y - mean
  return -0.5 * (log_2pi + s:log() + (e * e + var) / s)
end

local function squares(U) return (U * U):sum(1) end

--- What is made of rows x, y (f64): K, U, the mean function and the diagonal of k.
function M.rows(self, at, x, y, noise)
  local f <const> = model.fields(self)
  local K <const> = f.kernel(at.z, x)
  return {x = x, y = y, noise = noise, K = K, U = triangular_solve(at.L, K), m = f.mean(x), k = f.kernel:diag(x)}
end

--- Mean and variance of f at rows p, (n) each.
function M.moments(p, q) return p.m + p.U:t():matmul(q.a), p.k - squares(p.U) + squares(q.half(p.U)) end

--- -ELBO of rows x, y, each counted 'scale' times, as an expression of everything.
function M.negative(self, x, y, scale, noise)
  local f <const> = model.fields(self)
  local at <const> = bound.places(self, x)
  local q <const> = variational.at(f.q, at)
  local p <const> = M.rows(self, at, x, y, noise)
  local mean <const>, var <const> = M.moments(p, q)
  return q.kl - scale * expected(f, x, y, mean, var, noise):sum()
end

-- Steps ---------------------------------------------------------------------------------------------------------------------------

--- The lower triangle with half the diagonal, and its transpose, halved: sym(phi(A)).
local function folded(A)
  local i <const> = core.range(1, #A)
  local row <const>, column <const> = i:unsqueeze(2), i:unsqueeze(1)
  local low <const> = core.where(row:gt(column), A, core.where(row:eq(column), 0.5 * A, 0.0))
  return 0.5 * (low + low:t())
end

local function bend(x, slope) return core.with_slope(core.zeros(slope.shape), x, slope):sum() end

--- -ELBO of rows, its slopes written out, and the natural parameters after a step of this rate: of a whitened full q.
function M.step(self, x, y, scale, rate, noise)
  local f <const> = model.fields(self)
  local at <const> = bound.places(self, x)
  local q <const> = variational.at(f.q, at)
  local p <const> = M.rows(self, at, x, y, noise)
  local V <const>, Ua <const> = q.half(p.U), p.U:t():matmul(q.a)
  local mean <const>, var <const> = (p.m + Ua):detach(), (p.k - squares(p.U) + squares(V)):detach()
  local total <const> = scale * expected(f, x, y, mean, var, noise):sum()
  local slopes <const> = core.grad(total, {mean, var}, {unused = "zero"})
  local g <const>, h <const> = slopes[1], slopes[2]
  local back <const> = {transposed = true}
  local Uh <const> = p.U * h:unsqueeze(1)
  local precision <const> = (1 - rate) * q.precision + rate * (core.eye(#q.a) - 2 * Uh:matmul(p.U:t()))
  local shift <const> = (1 - rate) * q.shift + rate * p.U:matmul(g - 2 * h * Ua)
  local T <const> = q.a:unsqueeze(2) * g:unsqueeze(1)
    + 2 * (triangular_solve(q.R, V, back) - p.U) * h:unsqueeze(1)
  local turned <const> = triangular_solve(at.L, folded(T:matmul(p.U:t())), back)
  local of_Kzz <const> = triangular_solve(at.L, turned:t(), back)
  local value <const> = q.kl:detach() - total
    - bend(p.K, triangular_solve(at.L, T, back)) + bend(at.Kzz, of_Kzz) - bend(p.m, g) - bend(p.k, h)
  return value, precision, shift, at.L
end

return M

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
local whitened <const> = require "gibbous.gp.whitened"
local squares <const>, triangular_solve <const> = whitened.squares, core.linalg.triangular_solve

local M <const> = {}

local log_2pi <const> = math.log(2 * math.pi)

--- E_q log p(y | f), (n), for moments of f at x; noise: known variances of these rows.
local function expected(f, x, y, mean, var, noise)
  if not likelihoods.is_gaussian(f.likelihood) then return f.likelihood:expected(mean, var, y) end
  local s <const> = noise or f.likelihood:variance(x)
  local e <const> = y - mean
  return -0.5 * (log_2pi + s:log() + (e * e + var) / s)
end

--- What is made of rows x, y (f64): K, U, the mean function and the diagonal of k.
function M.rows(self, at, x, y, noise)
  local f <const> = model.fields(self)
  local K <const> = f.kernel(at.z, x)
  return {x = x, y = y, noise = noise, K = K, U = triangular_solve(at.L, K), m = f.mean(x), k = f.kernel:diag(x)}
end

--- U'a of rows p, (n), of C latent functions (n, C).
local function pull(p, q) return q.latents and q.a:matmul(p.U):t() or p.U:t():matmul(q.a) end

--- Mean and variance of f at rows p, (n) each, of C latent functions (n, C). V: half(U), nil: it is made here.
local function moments(p, q, Ua, V)
  local mean <const>, left <const> = (q.latents and p.m:unsqueeze(2) or p.m) + Ua, p.k - squares(p.U)
  local own <const> = squares(V or q.half(p.U))
  return mean, q.latents and left:unsqueeze(2) + own:t() or left + own
end

--- E_q log p of each row (n), mean and variance of f there, and what q says of whitened values, as expressions of everything.
function M.rows_of(self, x, y, noise)
  local f <const> = model.fields(self)
  local at <const> = bound.places(self, x)
  local q <const> = variational.at(f.q, at)
  local p <const> = M.rows(self, at, x, y, noise)
  local mean <const>, var <const> = moments(p, q, pull(p, q))
  return expected(f, x, y, mean, var, noise), mean, var, q
end

--- -ELBO of rows x, y, each counted 'scale' times, as an expression of everything.
function M.negative(self, x, y, scale, noise)
  local each <const>, _, _, q <const> = M.rows_of(self, x, y, noise)
  return q.kl - scale * each:sum()
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

--- -ELBO of rows, its slopes written out, and the natural parameters after a step of this rate: of a whitened full q. Of C latent
-- functions, which share K and m, the slopes by these are sums over them; slopes by variance that the rounding of draws made
-- positive do not count in the natural parameters, since log p is concave. Last, of noise that is not Gaussian, the largest
-- distance of a row's f to the peak of the parabola that the step takes log p for (svgp/natural.lua).
function M.step(self, x, y, scale, rate, noise)
  local f <const> = model.fields(self)
  local at <const> = bound.places(self, x)
  local q <const> = variational.at(f.q, at)
  local p <const> = M.rows(self, at, x, y, noise)
  local V <const>, Ua <const> = q.half(p.U), pull(p, q)
  local m, v = moments(p, q, Ua, V)
  m, v = m:detach(), v:detach()
  local total <const> = scale * expected(f, x, y, m, v, noise):sum()
  local slopes <const> = core.grad(total, {m, v}, {unused = "zero"})
  --- (n, C) as (C, n).
  local function first(t) return q.latents and t:t() or t end
  local function over(t) return q.latents and t:sum(1) or t end
  local g <const>, h <const>, pulled <const> = first(slopes[1]), first(slopes[2]), first(Ua)
  local natural <const> = q.latents and core.minimum(h, 0) or h
  local back <const> = {transposed = true}
  local Uh <const>, target <const> = (q.latents and p.U:unsqueeze(1) or p.U) * natural:unsqueeze(-2), g - 2 * natural * pulled
  local precision <const> = (1 - rate) * q.precision + rate * (core.eye(f.q.count) - 2 * Uh:matmul(p.U:t()))
  local shift <const> = (1 - rate) * q.shift + rate * (q.latents and target:matmul(p.U:t()) or p.U:matmul(target))
  local T <const> = over(q.a:unsqueeze(-1) * g:unsqueeze(-2)
    + 2 * (triangular_solve(q.R, V, back) - p.U) * h:unsqueeze(-2))
  local turned <const> = triangular_solve(at.L, folded(T:matmul(p.U:t())), back)
  local of_Kzz <const> = triangular_solve(at.L, turned:t(), back)
  local value <const> = q.kl:detach() - total
    - bend(p.K, triangular_solve(at.L, T, back)) + bend(at.Kzz, of_Kzz) - bend(p.m, over(g)) - bend(p.k, over(h))
  local reach <const> = not likelihoods.is_gaussian(f.likelihood) and (g / (2 * natural)):abs():max() or nil
  return value, precision, shift, at.L, reach
end

return M

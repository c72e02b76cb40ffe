--- The evidence lower bound of a variational model,
--   ELBO = sum over the rows of E_q log p(y | f) - KL(q(u) || p(u)),
-- and the slopes of a step. For rows x with U = L^-1 K_zx, q(v) = N(a, S) of whitened values and k = diag K:
--   f has mean m(x) + U'a and variance k - diag(U'U) + diag(U'S U).
-- With g and h the derivatives of the first sum by mean and variance (natural gradients of q by them: gp/svgp/natural.lua):
--   dELBO/dU = a g' + 2 (S - I) U diag(h) =: T,  dELBO/dK_zx = L^-T T,  dELBO/dK_zz = -L^-T sym(phi(T U')) L^-1,
-- phi the lower triangle with half the diagonal: the derivative through the factor, of the orders of one product.
-- Source: Hensman, Fusi & Lawrence (2013), Gaussian processes for big data; Hensman, Matthews & Ghahramani (2015), Scalable
-- variational Gaussian process classification; Salimbeni, Eleftheriadis & Hensman (2018), Natural gradients in practice; Murray
-- (2016), Differentiation of the Cholesky decomposition.
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local natural <const> = require "gibbous.gp.svgp.natural"
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

--- Mean and variance of f at rows p, (n) each, of C latent functions (n, C). Ua: U'a, (.., n).
local function moments(p, q, Ua)
  local mean <const>, left <const> = q.latents and p.m:unsqueeze(2) + Ua:t() or p.m + Ua, p.k - squares(p.U)
  local own <const> = squares(q.half(p.U))
  return mean, q.latents and left:unsqueeze(2) + own:t() or left + own
end

--- E_q log p of each row (n), mean and variance of f there, and what q says of whitened values, as expressions of everything.
function M.rows_of(self, x, y, noise)
  local f <const> = model.fields(self)
  local at <const> = bound.places(self, x)
  local q <const> = variational.at(f.q, at)
  local p <const> = M.rows(self, at, x, y, noise)
  local mean <const>, var <const> = moments(p, q, natural.pull(p.U, q.a, q.latents))
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

--- The slopes of the sum over rows p, {total, g, h (.., n), pulled}, by present moments, and h of natural gradients: slopes by
-- variance above 0, where log p is not concave or the draws of an expectation round, are left out.
local function slopes_of(f, p, q, scale)
  local pulled <const> = natural.pull(p.U, q.a, q.latents)
  local m, v = moments(p, q, pulled)
  m, v = m:detach(), v:detach()
  local total <const> = scale * expected(f, p.x, p.y, m, v, p.noise):sum()
  local slopes <const> = core.grad(total, {m, v}, {unused = "zero"})
  local g, h = slopes[1], slopes[2]
  if q.latents then g, h = g:t(), h:t() end
  local concave <const> = likelihoods.is_gaussian(f.likelihood) and h or core.minimum(h, 0)
  return total, g, h, {g = g, h = concave, pulled = pulled}
end

--- -ELBO of rows p, its slopes written out but for those by q, which is whitened. Of C latent functions, which share K and m, the
-- slopes by these are sums over them.
local function written(at, p, q, total, g, h)
  local function over(t) return q.latents and t:sum(1) or t end
  local back <const> = {transposed = true}
  local T <const> = over(q.a:unsqueeze(-1) * g:unsqueeze(-2) + 2 * (q.spread(p.U) - p.U) * h:unsqueeze(-2))
  local turned <const> = triangular_solve(at.L, folded(T:matmul(p.U:t())), back)
  local of_Kzz <const> = triangular_solve(at.L, turned:t(), back)
  return q.kl:detach() - total
    - bend(p.K, triangular_solve(at.L, T, back)) + bend(at.Kzz, of_Kzz) - bend(p.m, over(g)) - bend(p.k, over(h))
end

--- -ELBO of rows x, y, each counted 'scale' times, with slopes by all that Adam moves; and q after a natural step of this rate, as
-- variational.put takes it; of noise that is not Gaussian the largest distance of a row's f to the peak of the parabola that the step
-- takes log p for (svgp/damped.lua).
function M.step(self, x, y, scale, rate, noise)
  local f <const> = model.fields(self)
  local at <const> = bound.places(self, x)
  local q <const> = variational.at(f.q, at)
  local p <const> = M.rows(self, at, x, y, noise)
  local total <const>, g <const>, h <const>, r <const> = slopes_of(f, p, q, scale)
  local new <const> = natural.step(f.q, at, p, r, rate, q)
  local reach
  if not likelihoods.is_gaussian(f.likelihood) then reach = core.where(r.h:lt(0), r.g / (2 * r.h), 0.0):abs():max() end
  if f.q.kind == "low_rank" or not f.q.whiten then return M.negative(self, x, y, scale, noise), new, reach end
  return written(at, p, q, total, g, h), new, reach
end

return M

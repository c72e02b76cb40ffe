--- Natural gradients of q: steps, and the q that is best where the noise is Gaussian.
--
-- With U, g, h and a of elbo.lua, h <= 0, a natural step of this rate moves
--   full       S^-1 <- (1 - rate) S^-1 + rate (I - 2 U diag(h) U'),  S^-1 a <- (1 - rate) S^-1 a + rate U (g - 2 h U'a)
--   diagonal   precision <- (1 - rate) precision + rate c with c = diag(C - 2 W diag(h) W'),  mean <- mean + step slope /
--              precision, the new precision 1 / scale^2, with W = U and C = I, or L^-T U and K_zz^-1 where q is of u itself
--   low_rank   1 / scale^2 <- (1 - rate) / scale^2 + rate (c + 1 / scale^2 - diag S^-1),  mean <- mean + step S slope
-- The last is the step of a diagonal q by the slope with the weights as they are, (diag S^-1 - c) / 2 by scale^2; what it adds is
-- positive, and near a maximum it goes part of the way. Weights move by Adam: a natural step of all of S leaves the normal
-- distributions of this form, which are no exponential family, and the nearest one, by divergence, has no closed form.
-- slope is that of the ELBO by the mean. A full S takes the mean along Newton's direction; the others move entries at once that
-- depend on each other, which may overshoot: step is the rate, or what takes the quadratic model of the ELBO, whose curvature is
-- I - 2 U diag(h) U', to its maximum along the direction, if that is less.
--
-- With Gaussian noise of known sums over all rows, B = I + U D^-1 U' and b = U D^-1 r (sgpr/bound.lua), the best q has the mean
-- B^-1 b, and, full, the precision B; diagonal, that of B's diagonal, or where q is of u itself of L^-T B L^-1. -ELBO is then above
-- that of the full q by KL(q || N(B^-1 b, B^-1)).
-- Source: Hensman, Fusi & Lawrence (2013); Salimbeni, Eleftheriadis & Hensman (2018), Natural gradients in practice.
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local variational <const> = require "gibbous.gp.svgp.variational"
local squares <const> = require "gibbous.gp.whitened".squares
local triangular_solve <const> = core.linalg.triangular_solve

local M <const> = {}

local BACK <const> = {transposed = true}

--- U'v of v (m), and U v of v (n); of C latent functions (C, m) and (C, n).
function M.pull(U, v, latents) return latents and v:matmul(U) or U:t():matmul(v) end

function M.push(U, v, latents) return latents and v:matmul(U:t()) or U:matmul(v) end

local pull <const>, push <const> = M.pull, M.push

-- Steps ---------------------------------------------------------------------------------------------------------------------------

--- The mean of q after a step along 'direction', uphill by 'slope', that of the ELBO by this mean.
local function moved_mean(q, at, p, r, rate, slope, direction)
  local v <const> = q.whiten and direction or triangular_solve(at.L, direction)
  local seen <const> = pull(p.U, v, q.latents)
  local curvature <const> = (v * v):sum(-1) - 2 * (r.h * seen * seen):sum(-1)
  -- Both are 0 where the slope is.
  local most <const> = (direction * slope):sum(-1) / core.maximum(curvature, 1e-300)
  local step <const> = core.minimum(most, rate)
  return q.mean + (q.latents and step:unsqueeze(-1) or step) * direction
end

--- The slope of the ELBO by the mean, as q has it.
local function slope_of(q, at, p, r, a)
  local slope <const> = push(p.U, r.g, q.latents) - a
  return q.whiten and slope or triangular_solve(at.L, slope, BACK)
end

local steps <const> = {}

function steps.full(q, at, p, r, rate, now)
  local C <const> = q.latents
  local Uh <const> = (C and p.U:unsqueeze(1) or p.U) * r.h:unsqueeze(-2)
  local target <const> = r.g - 2 * r.h * r.pulled
  return {(1 - rate) * now.precision + rate * (core.eye(q.count) - 2 * Uh:matmul(p.U:t())),
    (1 - rate) * now.shift + rate * push(p.U, target, C), at.L}
end

--- New precisions 1 / scale^2. shared: 1 / scale^2 - diag S^-1, 0 without weights.
local function precisions(q, at, p, r, rate, shared)
  local W <const> = q.whiten and p.U or triangular_solve(at.L, p.U, BACK)
  local own <const> = q.whiten and 1 or squares(triangular_solve(at.L, core.eye(q.count)))
  return (1 - rate) / (q.scale * q.scale) + rate * (own - 2 * push(W * W, r.h, q.latents) + shared)
end

function steps.diagonal(q, at, p, r, rate, now)
  local precision <const> = precisions(q, at, p, r, rate, 0)
  local slope <const> = slope_of(q, at, p, r, now.a)
  return {moved_mean(q, at, p, r, rate, slope, slope / precision), 1 / precision:sqrt()}
end

--- 1 / scale^2 - diag S^-1 of a low-rank q, by Woodbury's identity.
local function shared_of(q)
  local v <const>, rank <const> = q.weights / q.scale:unsqueeze(-1), q.weights.shape[q.weights.ndim]
  local R <const> = core.linalg.cholesky(v:t():matmul(v) + core.eye(rank))
  return squares(triangular_solve(R, v:t())) / (q.scale * q.scale)
end

function steps.low_rank(q, at, p, r, rate, now)
  local slope <const>, w <const> = slope_of(q, at, p, r, now.a), q.weights.value
  local inner <const> = (w * slope:unsqueeze(-1)):sum(-2)
  local direction <const> = q.scale * q.scale * slope + (w * inner:unsqueeze(-2)):sum(-1)
  return {moved_mean(q, at, p, r, rate, slope, direction), 1 / precisions(q, at, p, r, rate, shared_of(q)):sqrt()}
end

--- q after a step on rows p (elbo.rows), lazy, as variational.put takes it. r: {g, h (.., n): the slopes of the sum over the rows
-- by mean and variance of f, h <= 0; pulled (.., n): U'a}; now: what q is (variational.at).
function M.step(q, at, p, r, rate, now)
  local new <const> = steps[q.kind](q, at, p, r, rate, now)
  for i, t in ipairs(new) do new[i] = t:detach() end
  return new
end

-- Gaussian noise ------------------------------------------------------------------------------------------------------------------

local best <const> = {}

function best.full(_, L, sums) return {sums.gram + core.eye(#sums.gram), sums.proj, L} end

--- By the root R of B: the diagonal of RR', or of L^-T RR' L^-1.
function best.diagonal(q, L, _, R, a)
  local root <const> = q.whiten and R or triangular_solve(L, R, BACK)
  return {q.whiten and a or L:matmul(a), 1 / (root * root):sum(-1):sqrt()}
end

function best.low_rank(q, L, _, _, a) return {q.whiten and a or L:matmul(a)} end

--- Makes q the best there is, of "low_rank" its mean, by sums over all rows that are computed and the factor L of K_zz. Gives -ELBO
-- less that of a full q.
function M.finish(q, L, sums)
  local R <const>, a <const> = bound.solution(sums)
  local new <const> = best[q.kind](q, L, sums, R, a)
  for i, t in ipairs(new) do new[i] = t:detach() end
  core.eval(table.unpack(new))
  variational.put(q, new)
  if q.kind == "full" then return 0.0 end
  local now <const> = variational.at(q, {L = L})
  local off <const> = R:t():matmul(now.a - a)
  local apart <const> = (now.half(R) ^ 2):sum() + (off * off):sum() - q.count - 2 * R:diagonal():log():sum() - now.logdet
  return (apart / 2):detach():item()
end

return M

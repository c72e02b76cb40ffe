--- The joint covariance of a model's observations, C = k(x, x) + noise, and their residuals, lazy.
local core <const> = require "gibbous.core"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"

local M <const> = {}

--- k(x, x) + noise, (n, n), lazy; noise: one element, or (n).
function M.of(self)
  local f <const> = model.fields(self)
  local noise <const> = f.likelihood:variance(f.x)
  local n <const> = #f.x
  local eye <const> = core.eye(n, {dtype = f.x.dtype})
  if noise.ndim == 1 then return f.kernel(f.x) + core.linalg.diag(noise) end
  return f.kernel(f.x) + noise * eye
end

--- y - m(x), (n), lazy.
function M.residual(self)
  local f <const> = model.fields(self)
  return f.y - f.mean(f.x)
end

--- Raises where kernel, noise or mean do not go with the data. Computes nothing.
function M.check(self)
  local f <const> = model.fields(self)
  if not likelihoods.is_gaussian(f.likelihood) then return f.kernel(f.x), f.mean(f.x) end
  M.of(self)
  M.residual(self)
end

--- The noise as preconditioners take it: a number or, where points have noises of their own, a lazy tensor (n) of f64. f: fields.
function M.noise_of(f)
  local noise <const> = f.likelihood:variance(f.x):detach():to{dtype = "f64"}
  return noise.ndim == 0 and noise:item() or noise
end

--- The diagonal (n) of the inverse of a symmetric positive definite matrix (n, n), lazy. O(n^3).
function M.inverse_diagonal(c)
  local eye <const> = core.eye(#c, {dtype = c.dtype})
  return (core.linalg.solve(c, eye) * eye):sum(1)
end

return M

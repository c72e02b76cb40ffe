--- Joint draws from a prediction, by the Cholesky factor of its covariance. b: what a prediction keeps (gp/predict/record.lua),
-- of which these read points, count, parts, draw, many and each, and set jitter and relative_jitter.
local core <const> = require "gibbous.core"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

-- Jitter that joint samples may need, in units of the largest prior variance.
local MOST_JITTER <const> = {f64 = 1e-6, f32 = 1e-3}

--- A lower factor of a joint covariance. A covariance that is a difference is positive definite up to rounding: first nothing is
-- added to its diagonal, then 4 n u of 'scale', the largest prior variance, and ten times as much as long as the factorisation
-- fails.
local function factored(b, cov, scale)
  local unit <const> = cov.dtype == "f32" and 2.0 ^ -24 or 2.0 ^ -53
  local relative = 0.0
  while true do
    local ok <const>, root <const> = pcall(function()
      return core.linalg.cholesky(cov, {jitter = relative * scale}):eval()
    end)
    if ok then
      b.relative_jitter = math.max(b.relative_jitter or 0, relative)
      b.jitter = b.relative_jitter * scale
      return root
    end
    local most <const> = MOST_JITTER[cov.dtype]
    if not raised.is(root, "not_pd") then error(root, 0) end
    if relative >= most then
      core.raise("not_pd", ("sample: the covariance of the %d points is not positive definite, also with %g of the prior variance "
        .. "added%s"):format(b.count, most, b.draw and "; method = \"pathwise\" needs no factor" or ""))
    end
    relative = math.min(most, relative == 0 and 4 * unit * ((b.parts.count or 0) + b.count) or 10 * relative)
  end
end

--- Raises for a covariance that is not finite, by a point or by a kernel.
local function refuse_nan(b)
  local whole <const> = b.points:isfinite():all(2)
  local fault <const> = b.parts.fault
  local text <const> = not whole:all() and ("the point in row %d is not finite"):format(whole:to{dtype = "f32"}:argmin():item())
    or fault and fault() or "the covariance of the points is not finite"
  core.raise("nan", "sample: " .. text)
end

--- Lower factors of a joint covariance, (m, m) or (b, m, m).
local function roots(b, cov)
  local scale <const> = b.parts.prior():max():item()
  if not (scale < math.huge) or not cov:isfinite():all() then refuse_nan(b) end
  b.jitter, b.relative_jitter = nil, nil
  local all <const> = {}
  for i = 1, b.each or 1 do all[i] = factored(b, b.each and cov[i] or cov, scale) end
  return b.each and core.stack(all, 1) or all[1]
end

--- Standard normals, (k, m), or (b, k, m) for fantasies without a seed. With a seed all fantasies share them, so that each has
-- the draws of a model conditioned on it alone.
function M.normals(b, k, dtype, seed)
  if seed or not b.many then return core.randn(k, b.count, {dtype = dtype, seed = seed}) end
  return core.randn(b.many, k, b.count, {dtype = dtype})
end

--- k joint draws, (k, m) or (b, k, m), from a covariance 'cov' of m points, m > 0. Errors: not_pd, nan.
function M.joint(b, cov, k, seed)
  local root <const> = roots(b, cov:eval())
  local spread <const>, mean <const> = M.normals(b, k, root.dtype, seed):matmul(root:t()), b.parts.mean()
  if not b.many then return spread + mean end
  return (spread.ndim == 2 and spread:unsqueeze(1) or spread) + mean:unsqueeze(2)
end

return M

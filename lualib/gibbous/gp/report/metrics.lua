--- Figures of predictive quality from errors and variances. e = y - mean and var are (m) tensors; each figure is lazy.
local core <const> = require "gibbous.core"

local M <const> = {}

local log_2pi <const> = math.log(2 * math.pi)

--- Negative log density of a normal with this variance, a point (nats). Without variance it is infinite: -inf at the mean.
function M.neg_log_density(e, var)
  local v <const> = 0.5 * (var:log() + e * e / var + log_2pi)
  return core.where(var:eq(0), core.where(e:eq(0), -math.huge, e * 0 + math.huge), v)    -- no infinite slope beside v
end

--- Continuous ranked probability score of a normal, a point (units of y); |e| where there is no variance.
-- Source: Gneiting & Raftery (2007), equation 21.
function M.crps(e, var)
  local sd <const> = var:sqrt()
  local z <const> = e / sd
  local density <const> = (-0.5 * z * z):exp() / math.sqrt(2 * math.pi)
  return core.where(var:eq(0), e:abs(), sd * (z * (2 * z:ndtr() - 1) + 2 * density - 1 / math.sqrt(math.pi)))
end

--- The standard normal quantile, by Newton's method on ndtr.
function M.quantile(p)
  local z = core.tensor(0, {dtype = "f64"})
  for _ = 1, 60 do
    local density <const> = (-0.5 * z * z):exp() / math.sqrt(2 * math.pi)
    local step <const> = ((z:ndtr() - p) / density):clamp(-1, 1):eval()
    z = (z - step):eval()
    if math.abs(step:item()) < 1e-12 then break end
  end
  return z:item()
end

local half_widths <const> = {}       -- of the few levels that scores report

--- The part of the points whose central interval of this probability holds them.
function M.coverage(e, var, level)
  half_widths[level] = half_widths[level] or M.quantile(0.5 + level / 2)
  return e:abs():le(half_widths[level] * var:sqrt()):to{dtype = "f64"}:mean()
end

return M

--- Densities of Gaussian noise, as likelihoods of other kinds have them (gibbous.likelihoods.class). x: the inputs (n, d), which
-- noise that varies with x or is known an observation needs.
local core <const> = require "gibbous.core"

local M <const> = {}

local LOG_2PI <const> = math.log(2 * math.pi)

--- The noise variance of y, of new observations where 'new', like f: one element or (n).
local function noise(self, f, x, new)
  if x == nil and self.kind ~= "gaussian" then
    core.raise("option", ("the noise '%s' has a variance for each observation: give the inputs x (n, d) as the last argument")
      :format(self.kind))
  end
  x = x or f
  local v <const> = new and self:new_variance(x) or self:variance(x)
  return v.dtype == f.dtype and v or v:to{dtype = f.dtype}
end

local function log_normal(e2, v) return -0.5 * (LOG_2PI + v:log() + e2 / v) end

function M.latents() return 1 end

function M.check(_, y, what)
  return require "gibbous.likelihoods.rows".check(y, function(t) return t:isfinite() end, what or "gaussian", "a finite number")
end

--- log p(y | f), (n), lazy.
function M.log_density(self, f, y, x)
  local e <const> = y - f
  return log_normal(e * e, noise(self, f, x))
end

--- E log p(y | f) of f ~ N(mean, var), (n), lazy.
function M.expected(self, mean, var, y, x)
  local e <const> = y - mean
  return log_normal(e * e + var, noise(self, mean, x))
end

function M.expected_error(_, mean) return mean * 0 end

--- {mean, var} of y where f ~ N(mean, var), (n), lazy.
function M.predictive(self, mean, var, x) return {mean = mean, var = var + noise(self, mean, x, true)} end

--- log E p(y | f) of f ~ N(mean, var), (n), lazy.
function M.log_predictive(self, mean, var, y, x)
  local e <const> = y - mean
  return log_normal(e * e, var + noise(self, mean, x, true))
end

--- f with noise of this seed (0).
function M.draw(self, f, seed, x)
  return f + noise(self, f, x, true):sqrt() * core.randn(f.shape, {dtype = f.dtype, device = f.device, seed = seed or 0})
end

return M

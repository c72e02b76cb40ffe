--- The joint covariance of the observations, the log marginal likelihood, and which algorithm computes it.
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"

local M <const> = {}
local fields <const>, methods <const> = model.fields, model.methods

-- Largest n that "auto" factors directly, and the values a direct step holds at once (covariance, factor, inverse).
local DIRECT_POINTS <const> = 12000
local DIRECT_COPIES <const> = 4

--- k(x, x) + noise, (n, n), lazy.
function M.covariance(self)
  local f <const> = fields(self)
  local noise <const> = f.likelihood:variance(f.x)
  local n <const> = #f.x
  local eye <const> = core.eye(n, {dtype = f.x.dtype})
  if noise.ndim == 1 then return f.kernel(f.x) + core.linalg.diag(noise) end
  return f.kernel(f.x) + noise * eye
end

--- y - m(x), (n), lazy.
function M.residual(self)
  local f <const> = fields(self)
  return f.y - f.mean(f.x)
end

function M.is_iterative(solver) return type(solver) == "table" end

--- "direct" or an iterative solver, once per fit.
function M.decide(self)
  local f <const> = fields(self)
  if f.solver ~= "auto" then return f.solver end
  local n <const> = #f.x
  local width <const> = f.x.dtype == "f32" and 4 or 8
  local room <const> = core.memory.room()
  if n <= DIRECT_POINTS and DIRECT_COPIES * n * n * width <= room then return "direct" end
  return require "gibbous.solvers".for_models(f.x.dtype)
end

--- One number for the noise, where a preconditioner wants one.
function M.noise_level(f) return f.likelihood:variance(f.x):mean():item() end

--- Negative log marginal likelihood in nats, lazy. Data on a grid bring an algorithm of their own.
function M.nlml(self, solver)
  local f <const> = fields(self)
  if f.grid then return f.grid.nlml(self) end
  local c <const>, r <const> = M.covariance(self), M.residual(self)
  if M.is_iterative(solver) then
    local value <const>, info <const> = solver:objective(c, r, f.kernel(f.x), M.noise_level(f))
    f.solve_info = info
    return value
  end
  local n <const> = #f.x
  return (core.linalg.inv_quad(c, r) + core.linalg.logdet(c) + n * math.log(2 * math.pi)) / 2
end

--- log p(y | x) of the data the model holds, in nats (a sum, not divided by n), lazy.
function methods.log_marginal_likelihood(self)
  local f <const> = fields(self)
  if f.x == nil then core.raise("option", "log_marginal_likelihood: the model holds no data", 2) end
  f.active = f.active or M.decide(self)
  return -M.nlml(self, f.active)
end

return M

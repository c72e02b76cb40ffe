--- Laplace's approximation of the log marginal likelihood, log p(y | f) - (f - m)' K^-1 (f - m) / 2 - log|B| / 2 at the mode f, and
-- what is differentiable about the mode. Source: Rasmussen & Williams (2006), equations 3.32 and 5.20 to 5.24.
--
-- A parameter moves the value directly and by way of the mode, which solves r(f) = m + K g(f) - f = 0: one Newton step of that,
-- from the mode and with a constant matrix, is the mode and has its derivative. So the implicit term comes from the gradient
-- of log|B| at such a step.
local algorithm <const> = require "gibbous.gp.algorithm"
local core <const> = require "gibbous.core"
local mode <const> = require "gibbous.gp.laplace.mode"
local model <const> = require "gibbous.gp.model"

local M <const> = {}

local function one(dtype) return core.full({}, 1, {dtype = dtype}) end

--- (I + K W)^-1 r for the true W at the mode, lazy in r, by B.
local function by_b(at, kernel, r)
  local b <const> = at.sw * r
  local x
  if at.factor then
    local half <const> = core.linalg.triangular_solve(at.factor, b)
    x = core.linalg.triangular_solve(at.factor, half, {transposed = true})
  else
    x = at.planned and b or at.system:lazy(b)
  end
  return r - kernel:matmul(at.sw * x)
end

--- The same where the true W may be negative: with K = L L', r - L (I + L' W L)^-1 L' W r. At a mode that matrix is positive
-- definite.
local function by_root(at, _, r)
  local inner <const> = core.eye(#r, {dtype = r.dtype}) + at.root:t():matmul(at.root * at.true_w:unsqueeze(2))
  return r - at.root:matmul(core.linalg.solve(inner, at.root:t():matmul(at.true_w * r)))
end

--- What depends on the mode, lazy, with derivatives by parameters: f, alpha = g(f), sw = W^1/2 and B, (n) and (n, n); kernel, mean:
-- K and m at the data.
function M.of(self, at)
  local fields <const>, l <const> = model.fields(self), model.fields(self).likelihood
  local kernel <const>, mean <const> = fields.kernel(at.x), fields.mean(at.x)
  local g <const> = l:slopes(at.f, at.y)
  local r <const> = mean + kernel:matmul(g) - at.f
  local moved <const> = (at.exact and by_b or by_root)(at, fields.kernel(at.x):detach(), r)
  local f <const> = core.with_slope(at.f, moved, one "f64")
  local alpha <const>, second <const> = l:slopes(f, at.y)
  local w <const> = l:curvature(f, at.y) or second
  local sw <const> = core.maximum(w, mode.LEAST ^ 2):sqrt()
  local b <const>, scaled <const> = mode.matrix(kernel, sw)
  return {f = f, alpha = alpha, sw = sw, b = b, scaled = scaled, kernel = kernel, mean = mean}
end

--- log p(y | f) - (f - m)' a / 2 as a function of the parameters: the density is flat at the mode, so that f and a stay. Its value
-- is that at the mode, its slope a' dK a / 2 + a' dm and that of the likelihood's parameters.
local function flat_part(self, at, parts)
  local log_density <const> = model.fields(self).likelihood:log_density(at.f, at.y):sum()
  local pull <const> = (at.a * parts.kernel:matmul(at.a)):sum() / 2
  return log_density + pull + (at.a * (parts.mean - at.f)):sum()
end

--- The negative log marginal likelihood, lazy, nats, by the parts of M.of.
function M.negative(self, algorithm_of, at, parts)
  local f <const>, n <const> = model.fields(self), #at.f
  local flat <const> = flat_part(self, at, parts)
  if not algorithm.is_iterative(algorithm_of) then return core.linalg.logdet(parts.b) / 2 - flat end
  if at.planned and not algorithm_of.planned then return (parts.b:matmul(at.sw) * at.sw):sum() - flat end
  local half, info <const> = algorithm_of:objective(parts.b, core.zeros(n, {dtype = "f64"}), parts.scaled, 1.0)
  f.solve_info = info
  return half - n * math.log(2 * math.pi) / 2 - flat
end

return M

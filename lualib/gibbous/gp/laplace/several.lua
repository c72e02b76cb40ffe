--- Laplace's approximation for several latent functions of one kernel and one mean function (the softmax likelihood): the five
-- functions of gp/posterior.lua, with means and variances (m, C). Source: Rasmussen & Williams (2006), algorithms 3.3 and 3.4.
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local mode <const> = require "gibbous.gp.laplace.several_mode"
local model <const> = require "gibbous.gp.model"

local M <const> = {}

local WIDE <const> = {dtype = "f64"}

local function one() return core.full({}, 1, WIDE) end

--- What depends on the mode, lazy, with derivatives by parameters (gp/laplace/evidence.lua has the argument): alpha = y - pi, sw =
-- D^1/2, (n, C), the matrices B_c and the sum of E_c; kernel, mean: K and m at the data.
local function parts_of(self, at)
  local f <const> = model.fields(self)
  local kernel <const>, mean <const> = f.kernel(at.x), (f.mean(at.x) + core.zeros(#at.x, WIDE)):unsqueeze(2)
  local r <const> = mean + kernel:matmul(at.g) - at.f
  local moved <const> = r - f.kernel(at.x):detach():matmul(mode.inverse(at, r))
  local latent <const> = core.with_slope(at.f, moved, one())
  local sw <const>, matrices <const>, total = mode.roots(latent), {}, nil
  for c = 1, latent.shape[2] do
    local root <const> = sw:select(2, c)
    matrices[c] = mode.matrix(kernel, root)
    local e <const> = root:unsqueeze(2) * core.linalg.solve(matrices[c], core.linalg.diag(root))
    total = total and total + e or e
  end
  return {kernel = kernel, mean = mean, alpha = at.hot - latent:softmax(2), sw = sw, matrices = matrices,
    total = (total + total:t()) / 2}
end

--- The mode and what predictions need, held with its history: alpha, sw, the factors of B_c and of the sum of E_c.
function M.prepared(self)
  local at <const> = mode.find(self)
  local parts <const>, factors <const> = parts_of(self, at), {}
  for c, factor in ipairs(at.factors) do factors[c] = core.hold(core.linalg.cholesky(parts.matrices[c]), factor) end
  return {at = at, alpha = core.hold(parts.alpha, at.a), sw = core.hold(parts.sw, at.sw), factors = factors,
    sum = core.hold(core.linalg.cholesky(parts.total), at.sum)}
end

--- For each class |B_c^-1/2 D_c^1/2 k'|^2 (m), and the root (n, m) of what the sum of E_c gives back: the covariance of classes c
-- and c' at a point is [c = c'] (prior - q_c) + w_c' w_c'.
local function explained_by(state, cross)
  local k <const>, q <const>, w <const> = cross:t(), {}, {}
  for c, factor in ipairs(state.factors) do
    local e <const>, half <const> = mode.times_e(factor, state.sw:select(2, c), k)
    q[c], w[c] = (half * half):sum(1), core.linalg.triangular_solve(state.sum, e)
  end
  return q, w
end

-- Of the prior variance: added to the covariances of classes for their factors.
local JITTER <const> = 1e-10

--- Roots (m, C, C) of the covariances of the latent functions at each point, lazy; the identity at points that are not finite,
-- whose means are NaN.
local function roots(state, cross, prior)
  local q <const>, w <const> = explained_by(state, cross)
  local rows <const> = {}
  for c = 1, #q do
    local row <const> = {}
    for d = 1, #q do
      local v = (w[c] * w[d]):sum(1)
      if c == d then v = v + core.maximum(prior - q[c], 0) + prior * JITTER end
      row[d] = core.where(v:eq(v), v, c == d and 1.0 or 0.0)
    end
    rows[c] = core.stack(row, 2)
  end
  return core.linalg.cholesky(core.stack(rows, 2))
end

function M.ready(self, state, query)
  local f <const> = model.fields(self)
  local kernel <const> = component.kernel(query, f.kernel)
  local cross <const> = kernel(query.inputs, state.at.x)
  return {state = state, cross = cross, converged = state.at.converged, count = #f.x,
    spread = function() return roots(state, cross, kernel:diag(query.inputs) + core.zeros(query.count, WIDE)) end}
end

function M.mean(self, ready, query)
  return component.mean(query, model.fields(self).mean, query.inputs):unsqueeze(-1) + ready.cross:matmul(ready.state.alpha)
end

function M.explained(_, ready)
  local q <const>, w <const> = explained_by(ready.state, ready.cross)
  for c = 1, #q do q[c] = q[c] - (w[c] * w[c]):sum(1) end
  return core.stack(q, 2)
end

--- The negative log marginal likelihood, lazy, nats.
function M.negative(self, at)
  local parts <const>, l <const> = parts_of(self, at), model.fields(self).likelihood
  local flat <const> = l:log_density(at.f, at.y):sum() + (at.a * parts.kernel:matmul(at.a)):sum() / 2
    + (at.a * (parts.mean - at.f)):sum()
  local logdet = core.linalg.logdet(parts.total)
  for _, b in ipairs(parts.matrices) do logdet = logdet + core.linalg.logdet(b) end
  return logdet / 2 - flat
end

M.find, M.planned, M.planned_step = mode.find, mode.planned, mode.planned_step

return M

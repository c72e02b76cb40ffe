--- The most likely values of C latent functions of one kernel, for the softmax likelihood, by Newton's method. W = D - P P' is not
-- diagonal, D = diag(pi) and P the stacked diag(pi_c); with B_c = I + D_c^1/2 K D_c^1/2 and E_c = D_c^1/2 B_c^-1 D_c^1/2,
--   (K + W^-1)^-1 = E - E R (sum_c E_c)^-1 R' E,   log|I + K W| = sum_c log|B_c| + log|sum_c E_c|,
-- R the stacked identities: C factors of order n in place of one of order n C.
-- Source: Rasmussen & Williams (2006), algorithm 3.3 and equation 3.47.
local climb <const> = require "gibbous.gp.laplace.climb"
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"

local M <const> = {}

-- As gp/laplace/mode.lua has them.
local STEPS <const>, CLOSE <const>, NEAR <const>, ROUNDED <const> = 200, 1e-10, 1e-6, 1e-12

local WIDE <const> = {dtype = "f64"}

--- D_c^1/2 is at least this: its derivative is infinite at 0.
local LEAST <const> = 1e-20

--- The classes as (n, C) of 0 and 1.
function M.one_hot(y, C)
  return y:unsqueeze(2):eq(core.linspace(1, C, C, WIDE):unsqueeze(1)):to(WIDE)
end

--- The roots of D_c for latent values f (n, C), lazy.
function M.roots(f) return core.maximum(f:softmax(2), LEAST ^ 2):sqrt() end

--- B_c, lazy; sw (n).
function M.matrix(kernel, sw) return kernel * sw:unsqueeze(2) * sw:unsqueeze(1) + core.eye(#sw, {dtype = sw.dtype}) end

--- E_c v for v (n) or (n, r), lazy, by the factor of B_c.
local function times_e(factor, sw, v)
  local d <const> = v.ndim == 2 and sw:unsqueeze(2) or sw
  local half <const> = core.linalg.triangular_solve(factor, d * v)
  return d * core.linalg.triangular_solve(factor, half, {transposed = true}), half
end
M.times_e = times_e

--- (K + W^-1)^-1 v for v (n, C), lazy. at: {factors, sum, sw}, of B_c, of the sum of E_c, and D^1/2 (n, C).
function M.inverse(at, v)
  local list <const>, total = {}, nil
  for c, factor in ipairs(at.factors) do
    list[c] = times_e(factor, at.sw:select(2, c), v:select(2, c))
    total = total and total + list[c] or list[c]
  end
  local half <const> = core.linalg.triangular_solve(at.sum, total)
  local s <const> = core.linalg.triangular_solve(at.sum, half, {transposed = true})
  for c, factor in ipairs(at.factors) do list[c] = list[c] - (times_e(factor, at.sw:select(2, c), s)) end
  return core.stack(list, 2)
end

--- Factors of B_c and of the sum of E_c at the latent values f, evaluated.
local function factored(kernel, f)
  local sw <const> = M.roots(f):eval()
  local factors <const>, total = {}, nil
  for c = 1, f.shape[2] do
    local root <const> = sw:select(2, c):eval()
    factors[c] = core.linalg.cholesky(M.matrix(kernel, root)):eval()
    local half <const> = core.linalg.triangular_solve(factors[c], core.linalg.diag(root))
    local e <const> = half:t():matmul(half)
    total = (total and total + e or e):eval()
  end
  return {sw = sw, factors = factors, sum = core.linalg.cholesky(total):eval()}
end

local function largest(v) return v:abs():max():item() end

--- b = W (f - m) + y - pi, (n, C), lazy.
local function right_side(p, f)
  local pi <const>, u <const> = f:softmax(2), f - p.mean
  return pi * u - pi * (pi * u):sum(2):unsqueeze(2) + p.hot - pi
end

--- The mode for the model's present data and parameters, evaluated and without gradients: f, a (n, C) with f = m + K a; g = y - pi;
-- sw, factors, sum as M.inverse has them; value, steps, converged; x, y, hot. Cost: C factors of order n, a step.
function M.find(self)
  local f <const> = model.fields(self)
  local C <const>, x <const>, y <const> = f.likelihood:latents(), f.x:to(WIDE):eval(), f.y:to(WIDE):eval()
  local mean <const> = (f.mean(x) + core.zeros(#x, WIDE)):detach():unsqueeze(2):eval()
  local p <const> = {likelihood = f.likelihood, y = y, mean = mean, hot = M.one_hot(y, C):eval()}
  local kernel <const>, zeros <const> = f.kernel(x):detach():eval(), core.zeros(#x, C, WIDE)
  local now = {f = (mean + zeros):eval(), a = zeros:eval()}
  now.value = climb.density(p, now.f, now.a)
  local converged, steps = false, 0
  while steps < STEPS and not converged do
    steps = steps + 1
    local at <const> = factored(kernel, now.f)
    local b <const> = right_side(p, now.f):eval()
    local step <const> = (b - M.inverse(at, kernel:matmul(b)) - now.a):eval()
    local moved <const> = kernel:matmul(step):eval()
    local size <const> = largest(moved) / (1 + largest(now.f))
    local after <const> = climb.uphill(p, now, step, moved)
    local still <const> = not after or after.value - now.value <= ROUNDED * (1 + math.abs(now.value))
    converged = size <= (still and NEAR or CLOSE)
    now = after or now
    if not after then break end
  end
  local at <const> = factored(kernel, now.f)
  for key, v in pairs(now) do at[key] = v end
  at.g, at.steps, at.converged, at.x, at.y, at.hot = (p.hot - now.f:softmax(2)):eval(), steps, converged, x, y, p.hot
  return at
end

--- The tensors of one step of a search, for plans: the factors of B_c and of the sum of E_c; K is there.
function M.planned_step(self)
  local n <const>, C <const> = #model.fields(self).x, model.fields(self).likelihood:latents()
  local kernel <const>, sw <const>, out <const>, total = core.empty(n, n, WIDE), core.empty(n, C, WIDE), {}, nil
  for c = 1, C do
    out[c] = core.linalg.cholesky(M.matrix(kernel, sw:select(2, c)))
    local half <const> = core.linalg.triangular_solve(out[c], core.linalg.diag(sw:select(2, c)))
    local e <const> = half:t():matmul(half)
    total = total and total + e or e
  end
  out[C + 1] = core.linalg.cholesky(total)
  return out
end

--- A mode that stands for what a step will find, for plans.
function M.planned(self)
  local f <const> = model.fields(self)
  local n <const>, C <const> = #f.x, f.likelihood:latents()
  local function block(columns) return core.empty(n, columns, WIDE) end
  local factors <const> = {}
  for c = 1, C do factors[c] = block(n) end
  return {f = block(C), a = block(C), g = block(C), sw = block(C), factors = factors, sum = block(n), hot = block(C),
    x = f.x:to(WIDE), y = f.y:to(WIDE)}
end

return M

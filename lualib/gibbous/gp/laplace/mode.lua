--- The most likely latent values f of the data, by Newton's method: with W = -d2 log p(y | f) / df2 and B = I + W^1/2 K W^1/2,
-- f = m + K a for a = W (f - m) + g - W^1/2 B^-1 W^1/2 K (W (f - m) + g), g = d log p / df.
-- Source: Rasmussen & Williams (2006), algorithm 3.1.
--
-- B is symmetric and no eigenvalue of it is below 1, so that its factor, or a solve, is well conditioned whatever K is. W is the
-- likelihood's 'curvature' where it has one, else at least 0: then a step goes uphill also where the density is not concave. A step
-- is halved until the density rises; where W is not the true curvature, the last ones are by that, as long as it leaves the density
-- a peak. The search begins at the mean function, so that what is found depends on the parameters alone.
local algorithm <const> = require "gibbous.gp.algorithm"
local climb <const> = require "gibbous.gp.laplace.climb"
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

-- Steps at most; halvings of one; the change of f, relative to its size, that ends the search, and one that ends it where the
-- density rises by no more than this part of itself: its rounding.
local STEPS <const>, CLOSE <const>, NEAR <const>, ROUNDED <const> = 500, 1e-10, 1e-6, 1e-12
-- Steps without smaller changes of f, in which the density rises by this part of itself at most, that end the search: only rounding
-- moves it.
local IDLE <const>, LITTLE <const> = 10, 1e-9
-- Changes of f from which steps are by the true curvature.
local LAST <const> = 1e-2
-- Changes of f in multiples of a solver's tolerance that end the search.
local SOLVED <const> = 10
-- Of the mean of K's diagonal: added to it for its root, more where that is not enough.
local JITTER <const>, MORE <const>, MOST <const> = 1e-12, 100, 1e-6

--- W^1/2 is at least this: its derivative is infinite at 0.
M.LEAST = 1e-20
-- In steps it is at least this: with any W their fixed point is the mode.
local DIVISOR <const> = 1e-10

local WIDE <const> = {dtype = "f64"}

--- What is fixed while the mode is sought: x, y, m (n), K, lazy, of f64, without gradients; unit: the standard deviation of f by
-- itself, for densities that are not concave, of which student_t has units of y.
local function problem(self)
  local f <const> = model.fields(self)
  local x <const>, y <const> = f.x:to(WIDE):eval(), f.y:to(WIDE):eval()
  return {x = x, y = y, kernel = f.kernel(x):detach(), mean = (f.mean(x) + core.zeros(#x, WIDE)):detach():eval(),
    likelihood = f.likelihood, unit = math.sqrt(f.kernel:diag(x):mean():item())}
end

--- g and the positive part of W, (n), at f, evaluated; exact: W is the negative second derivative.
local function slopes(p, f)
  local at <const> = f:detach():requires_grad()
  local first <const>, second <const> = p.likelihood:slopes(at, p.y)
  local own <const> = p.likelihood:curvature(at, p.y)
  local w <const>, true_w <const> = core.maximum(own or second, 0):detach(), second:detach()
  local g <const>, gap <const> = first:detach(), (w - true_w):abs():max()
  core.eval(g, w, true_w, gap)
  return g, w, true_w, not (gap:item() > 0)
end

--- B = I + W^1/2 K W^1/2, lazy, and the part with K.
function M.matrix(kernel, sw)
  local scaled <const> = kernel * sw:unsqueeze(2) * sw:unsqueeze(1)
  return scaled + core.eye(#sw, {dtype = sw.dtype}), scaled
end

--- A function that gives B^-1 b, evaluated, at these weights; what it does it by goes to 'out': factor, or system, solve. Without
-- 'solver' by a factor.
local function inverse(p, sw, solver, out)
  local b_matrix <const>, scaled <const> = M.matrix(p.kernel, sw)
  if solver then
    out.system = solver:prepare(b_matrix, scaled, 1.0)
    return function(b)
      local x <const>, info <const> = out.system:solve(b:eval())
      out.solve = info
      return x
    end
  end
  out.factor = core.linalg.cholesky(b_matrix):eval()
  return function(b)
    local half <const> = core.linalg.triangular_solve(out.factor, b)
    return core.linalg.triangular_solve(out.factor, half, {transposed = true}):eval()
  end
end

--- L with L L' = K, but for a little on the diagonal.
local function root_of(kernel)
  local n <const> = #kernel
  local eye <const> = core.eye(n, {dtype = kernel.dtype})
  local scale <const> = (kernel * eye):sum():item() / n
  local jitter = JITTER
  while true do
    local ok <const>, root <const> = pcall(function() return core.linalg.cholesky(kernel + eye * (jitter * scale)):eval() end)
    if ok then return root end
    if not raised.is(root, "not_pd") or jitter >= MOST then error(root, 0) end
    jitter = jitter * MORE
  end
end

--- The Newton step of a and f by the true W, where K^-1 + W is positive definite; else nil. With r = m + K g - f the step of f is
-- (I + K W)^-1 r = r - L (I + L' W L)^-1 L' W r, that of a g - a - W times it.
local function true_step(p, now, g, w)
  p.root = p.root or root_of(p.kernel)
  local r <const> = p.mean + p.kernel:matmul(g) - now.f
  local inner <const> = core.eye(#g, WIDE) + p.root:t():matmul(p.root * w:unsqueeze(2))
  local ok <const>, x <const> = pcall(function() return core.linalg.solve(inner, p.root:t():matmul(w * r)):eval() end)
  if not ok then
    if not raised.is(x, "not_pd") then error(x, 0) end
    return nil
  end
  local moved <const> = (r - p.root:matmul(x)):eval()
  return (g - now.a - w * moved):eval(), moved
end

--- The step of a and f by W, at least 0, and B. By a factor a = W^1/2 B^-1 (W^1/2 (f - m) + g / W^1/2), in which nothing as large
-- as W cancels; g / W^1/2 would be most of what a solver's tolerance refers to.
local function step_by(p, now, g, w, solver, found)
  local sw <const> = core.maximum(w:sqrt(), solver and 0 or DIVISOR):eval()
  local solve <const>, away <const> = inverse(p, sw, solver, found), now.f - p.mean
  local a
  if solver then
    local b <const> = (w * away + g):eval()
    a = b - sw * solve(sw * p.kernel:matmul(b))
  else
    a = sw * solve(sw * away + g / sw)
  end
  local step <const> = (a - now.a):eval()
  return step, p.kernel:matmul(step):eval()
end

local function largest(v) return v:abs():max():item() end

--- The mode for the model's present data and parameters, all values evaluated and without gradients:
--   f, a (n)       the latent values, and K^-1 (f - m); value: log p(y | f) - (f - m)' a / 2, nats
--   g, w, sw (n)   the slope of the log density at f, W and its root; true_w: the negative second derivative; exact: W is that
--   root           where W is not: L with L L' = K
--   factor         of B, by a factor; system, solve: the prepared B and the record of the last solve, by a solver
--   steps, converged
-- Cost: a factor of B, n^3 / 3 multiply-adds, or a solve, a step. Errors: nan, where the density is not finite at its start;
-- not_pd.
function M.find(self, algorithm_of)
  local solver <const> = algorithm.is_iterative(algorithm_of) and algorithm_of or nil
  local p <const> = problem(self)
  if not solver then p.kernel = p.kernel:eval() end
  local n <const> = #p.x
  local now = {f = p.mean, a = core.zeros(n, WIDE):eval()}
  now.value = climb.density(p, now.f, now.a)
  if not (math.abs(now.value) < math.huge) then
    core.raise("nan", ("the log density of the data is %g at the mean function; gb.means.constant() begins at their level"):format(
      now.value))
  end
  local close <const> = solver and math.max(CLOSE, SOLVED * solver.o.tol) or CLOSE
  local converged, steps, found, size, least, idle = false, 0, {}, math.huge, math.huge, 0
  while steps < STEPS and not converged do
    steps = steps + 1
    local g <const>, w <const>, true_w <const>, exact <const> = slopes(p, now.f)
    local step, moved
    if not exact and not solver and size < LAST then step, moved = true_step(p, now, g, true_w) end
    if not step then step, moved = step_by(p, now, g, w, solver, found) end
    size = largest(moved) / ((exact and 1 or p.unit) + largest(now.f))
    local after <const> = climb.uphill(p, now, step, moved)
    local still <const> = not after or after.value - now.value <= ROUNDED * (1 + math.abs(now.value))
    converged = size <= (still and math.max(close, NEAR) or close)
    local little <const> = after and after.value - now.value <= LITTLE * (1 + math.abs(now.value))
    idle, least = little and size > least / 2 and idle + 1 or 0, math.min(size, least)
    now = after or now
    if not after or idle >= IDLE then break end
  end
  now.steps, now.converged = steps, converged
  now.g, now.w, now.true_w, now.exact = slopes(p, now.f)
  now.sw = core.maximum(now.w:sqrt(), M.LEAST):eval()
  now.solve = found.solve
  inverse(p, now.sw, solver, now)
  if not now.exact and not solver then now.root = p.root or root_of(p.kernel) end
  now.x, now.y = p.x, p.y
  return now
end

--- The tensors of one step of a search by a factor, for plans: B's factor, the step of a by it, and that of f; K is there.
function M.planned_step(self)
  local n <const> = #model.fields(self).x
  local kernel <const>, sw <const>, b <const> = core.empty(n, n, WIDE), core.empty(n, WIDE), core.empty(n, WIDE)
  local factor <const> = core.linalg.cholesky((M.matrix(kernel, sw)))
  local step <const> = sw * core.solve_chol(factor, sw * b + b / sw)
  return {factor, step, kernel:matmul(step)}
end

--- A mode of n points that stands for what a step will find, for plans: nothing is computed.
function M.planned(self, algorithm_of)
  local f <const> = model.fields(self)
  local n <const>, iterative <const> = #f.x, algorithm.is_iterative(algorithm_of)
  local function column() return core.empty(n, WIDE) end
  local exact <const> = not f.likelihood:is_curved()
  return {f = column(), a = column(), g = column(), w = column(), sw = column(), true_w = column(),
    exact = exact, root = not exact and core.empty(n, n, WIDE) or nil, value = 0.0, x = f.x:to(WIDE), y = f.y:to(WIDE),
    factor = not iterative and core.empty(n, n, WIDE) or nil, planned = iterative}
end

return M

--- A complete grid of n points by T tasks: the covariance of y (n, T), row by row, is K (x) B + I (x) D. Two small
-- eigendecompositions do the work of one of size n T: O(n^3 + T^3 + n T (n + T)) time, O(n^2 + n T) memory.
-- Source: Rakitsch, Lippert, Borgwardt & Stegle (2013), It is all in the noise, section 2; with K = U L U' and
-- h B h = V S V', h = D^(-1/2), the covariance is (I (x) h^-1) (U (x) V) (L (x) S + I) (U (x) V)' (I (x) h^-1).
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"
local parts <const> = require "gibbous.gp.task_parts"
local update <const> = require "gibbous.gp.update"

local M <const> = {}
local fields <const> = model.fields

local function cast(v, dtype) return v.dtype == dtype and v or v:to{dtype = dtype} end

--- K (n, n), B (T, T), the noise (one element, or (T)) and residuals R (n, T) at the model's parameters, lazy.
local function ingredients(self, dtype)
  local f <const> = fields(self)
  local grid <const> = f.grid
  local k <const>, index <const> = parts.split(f.kernel)
  local x <const>, y <const> = cast(grid.x, dtype), cast(grid.y, dtype)
  return {k = k, x = x, K = parts.between(k, x, x), B = cast(index:matrix(), dtype),
    noise = cast(f.likelihood.noise.value, dtype), R = y - f.mean(parts.every(x, grid.tasks)):reshape(y.shape)}
end

--- The decomposition of detached ingredients: U, V, h (nil for common noise), eigenvalues L (n), S (T), and the inverse
-- M (n, T) of the covariance's eigenvalues.
local function decompose(p)
  local noise <const> = p.noise:detach()
  local h <const> = noise.ndim == 1 and noise ^ -0.5 or nil
  local W <const> = h and p.B:detach() * h:unsqueeze(2) * h:unsqueeze(1) or p.B:detach()
  local L <const>, U <const> = core.linalg.eigh(p.K:detach())
  local S <const>, V <const> = core.linalg.eigh(W)
  local l <const>, s <const> = L:relu(), S:relu()
  local inverse <const> = (l:unsqueeze(2) * s:unsqueeze(1) + (h and 1 or noise)) ^ -1
  return {U = U, V = V, L = l, S = s, h = h, M = inverse}
end

--- Z = U' R h V and A, the weights C^-1 vec(R) as (n, T).
local function solve(q, R)
  local Z <const> = q.U:t():matmul(q.h and R * q.h or R):matmul(q.V)
  local A <const> = q.U:matmul(Z * q.M):matmul(q.V:t())
  return Z, q.h and A * q.h or A
end

--- Half of <dC, C^-1 - a a'> + a . dr as a function of the ingredients, by traces: its gradient is that of the negative log
-- marginal likelihood, where derivatives of eigenvectors would fail at equal eigenvalues.
local function tangent(p, q, A)
  local h <const>, V <const> = q.h, q.h and q.V * q.h:unsqueeze(2) or q.V
  local a <const>, b <const> = (q.M * q.S):sum(2), (q.M * q.L:unsqueeze(2)):sum(1)
  local of_K <const> = (q.U * a):matmul(q.U:t()) - A:matmul(p.B:detach()):matmul(A:t())
  local of_B <const> = (V * b):matmul(V:t()) - A:t():matmul(p.K:detach():matmul(A))
  local of_D
  if h then
    of_D = (V * V):matmul(q.M:sum(1)) - (A * A):sum(1)
  else
    of_D = q.M:sum() - (A * A):sum()
  end
  return ((of_K * p.K):sum() + (of_B * p.B):sum() + (of_D * p.noise):sum()) / 2 + (A * p.R):sum()
end

--- Negative log marginal likelihood in nats, lazy, in f64 as predictions are.
function M.nlml(self)
  local p <const> = ingredients(self, "f64")
  local q <const> = decompose(p)
  local n <const>, T <const> = p.R.shape[1], p.R.shape[2]
  local Z <const>, A <const> = solve(q, p.R:detach())
  local logdet = -q.M:log():sum()
  if q.h then logdet = logdet - 2 * n * q.h:log():sum() end
  local value <const> = ((Z * Z * q.M):sum() + logdet + n * T * math.log(2 * math.pi)) / 2
  local slope <const> = tangent(p, q, A)
  return value + (slope - slope:detach())
end

--- What predictions need, {k, x, B, U, M, Q, weights}, in f64, kept until a parameter is set. 'solved' has the last four.
local function keep(self, p, solved)
  local grid <const> = fields(self).grid
  solved.k, solved.x, solved.B = p.k, p.x:eval(), p.B:detach():eval()
  grid.state = solved
  param.keep(param.collect(self), grid)
  return solved
end

--- That state, and whether it was there already.
local function state_of(self)
  local f <const> = fields(self)
  if f.grid.state then return f.grid.state, true end
  local start <const> = core.clock()
  local p <const> = ingredients(self, "f64")
  local q <const> = decompose(p)
  local _, A <const> = solve(q, p.R:detach())
  local B <const> = p.B:detach()
  local V <const> = q.h and q.V * q.h:unsqueeze(2) or q.V
  local solved <const> = {U = q.U, M = q.M, Q = B:matmul(V), weights = A:matmul(B)}
  core.eval(solved)
  local state <const> = keep(self, p, solved)
  update.note(f, {kind = "decomposition", rows = #f.x, onto = 0, reason = update.missing(f), seconds = core.clock() - start})
  return state, false
end

--- C^-1 times the columns of b (n T, r), point by point, in f64.
function M.solve(self, b)
  local q <const> = decompose(ingredients(self, "f64"))
  local n <const>, T <const>, r <const> = #q.L, #q.S, b.shape[2]
  local V <const> = q.h and q.V * q.h:unsqueeze(2) or q.V
  local inner <const> = q.U:t():matmul(b:to{dtype = "f64"}:reshape(n, T * r)):reshape(n, T, r):permute(1, 3, 2)
  local Z <const> = inner:matmul(V) * q.M:unsqueeze(2)
  return q.U:matmul(Z:matmul(V:t()):permute(1, 3, 2):reshape(n, T * r)):reshape(n * T, r)
end

--- The diagonal of C^-1 and C^-1 (y - m(x)), (n, T), in f64.
function M.leave_one_out(self)
  local p <const> = ingredients(self, "f64")
  local q <const> = decompose(p)
  local _, A <const> = solve(q, p.R:detach())
  local V <const> = q.h and q.V * q.h:unsqueeze(2) or q.V
  return (q.U * q.U):matmul(q.M):matmul((V * V):t()), A
end

--- The shapes of what the state has of its own, for files: n points, T tasks.
function M.kept_shapes(n, T) return {U = {n, n}, M = {n, T}, Q = {T, T}, weights = {n, T}} end

--- Gives a model these tensors as its state.
function M.restore(self, solved) keep(self, ingredients(self, "f64"), solved) end

--- What a prediction of all tasks at x (m, d) is made of (gp/prediction.lua), point by point: (m T) and (m T, m T).
-- The covariance of f_t(x) with the data is k(x, .) (x) B[t, .]; with P = k U and Q = B h V the data explain
-- sum_is P_i^2 M_is Q_ts^2 of its variance.
function M.parts(self, x)
  local f <const> = fields(self)
  local state <const>, reused <const> = state_of(self)
  local m <const>, T <const>, n <const> = #x, f.grid.tasks, #state.x
  local mean <const>, likelihood <const>, every <const> = f.mean, f.likelihood, parts.every(x, T)
  local at <const> = param.remember(self)
  local function cross() return at(parts.between, state.k, x, state.x) end
  local how <const> = {}
  function how.explained()
    local P <const> = cross():matmul(state.U)
    return (P * P):matmul(state.M):matmul((state.Q * state.Q):t()):reshape(m * T)
  end
  function how.joint()
    local P <const> = cross():matmul(state.U)
    local root <const> = P:reshape(m, 1, n, 1) * state.Q:reshape(1, T, 1, T) * state.M:sqrt():reshape(1, 1, n, T)
    local w <const> = root:reshape(m * T, n * T)
    return w:matmul(w:t())
  end
  return {
    mean = function() return at(mean, every) + cross():matmul(state.weights):reshape(m * T) end,
    prior = function()
      return (at(parts.diag, state.k, x):unsqueeze(2) * state.B:diagonal():unsqueeze(1)):reshape(m * T)
    end,
    prior_cov = function()
      local K <const> = at(parts.between, state.k, x, x)
      return (K:reshape(m, 1, m, 1) * state.B:reshape(1, T, 1, T)):reshape(m * T, m * T)
    end,
    noise = function() return at(likelihood.new_variance, likelihood, every) end,
    info = {algorithm = "kronecker", variance = "exact", precision = "f64", converged = true, reused = reused},
    how = how, count = n * T,
  }
end

return M

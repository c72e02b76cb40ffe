--- A complete grid of n points by T tasks: the covariance of y (n, T), row by row, is K (x) B + I (x) D. Two small
-- eigendecompositions do the work of one of size n T: O(n^3 + T^3 + n T (n + T)) time, O(n^2 + n T) memory.
-- Source: Rakitsch, Lippert, Borgwardt & Stegle (2013), It is all in the noise, section 2; with K = U L U' and
-- h B h = V S V', h = D^(-1/2), the covariance is (I (x) h^-1) (U (x) V) (L (x) S + I) (U (x) V)' (I (x) h^-1).
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local func <const> = require "gibbous.func"
local model <const> = require "gibbous.gp.model"
local parts <const> = require "gibbous.gp.tasks.parts"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local update_record <const> = require "gibbous.gp.update_record"

local M <const> = {}
local fields <const> = model.fields

local function cast(v, dtype) return v.dtype == dtype and v or v:to{dtype = dtype} end

--- K (n, n), B (T, T), the noise (one element, or (T)) and residuals R (n, T) at the model's parameters, lazy.
local function ingredients(self, dtype)
  local f <const> = fields(self)
  local grid <const> = f.grid
  local k <const>, index <const> = parts.split(f.kernel)
  local x <const>, y <const> = cast(grid.x, dtype), cast(grid.y, dtype)
  return {k = k, x = x, K = parts.between(k, x, x), B = columns.like(index:matrix(), x),
    noise = columns.like(f.likelihood.noise.value, x), R = y - f.mean(parts.every(x, grid.tasks)):reshape(y.shape)}
end

--- The eigendecomposition of the tasks, of detached ingredients: eigenvalues S (T), V, h (nil for common noise).
local function decompose_tasks(p)
  local noise <const> = p.noise:detach()
  local h <const> = noise.ndim == 1 and noise ^ -0.5 or nil
  local W <const> = h and p.B:detach() * h:unsqueeze(2) * h:unsqueeze(1) or p.B:detach()
  local S <const>, V <const> = core.linalg.eigh(W)
  return S, V, h, noise
end

--- E = h V, with which C^-1 = (U (x) E) diag(M) (U (x) E)'.
local function sides(V, h) return h and V * h:unsqueeze(2) or V end

--- The decomposition of detached ingredients: U, V, h (nil for common noise), E, eigenvalues L (n), S (T), and the inverse
-- M (n, T) of the covariance's eigenvalues.
local function decompose(p)
  local L <const>, U <const> = core.linalg.eigh(p.K:detach())
  local S <const>, V <const>, h <const>, noise <const> = decompose_tasks(p)
  local l <const>, s <const> = L:relu(), S:relu()
  local inverse <const> = (l:unsqueeze(2) * s:unsqueeze(1) + (h and 1 or noise)) ^ -1
  return {U = U, V = V, E = sides(V, h), L = l, S = s, h = h, M = inverse}
end

-- Gradients -------------------------------------------------------------------------------------------------------------------

-- A decomposition has plain numbers: values are made of it, and derivatives of eigenvectors would fail at equal eigenvalues. How
-- a value varies with K, B and the noise is said by the 'form' of core.with_slope, which nothing computes.

local function of_values() core.raise("internal", "what carries gradients alone was computed") end

local function by_form(value, form) return core.with_slope(value, form, core.full({}, 1, {dtype = value.dtype})) end

--- X with K X B + X D = G, for each of the columns r of G (n, r, T): C^-1 times them.
local solved

local solution <const> = func{name = "kronecker solve", shape = "same", forward = of_values,
  backward = function(dX, G, K, B, D, U, E, M)
    local q <const> = {U = U, E = E, M = M}
    local X <const>, Y <const> = solved(G, K, B, D, q), solved(dX, K, B, D, q)
    local n <const>, r <const>, T <const> = table.unpack(G.shape)
    local function flat(v) return v:reshape(n, r * T) end
    local dB <const> = K:matmul(flat(X)):reshape(n * r, T):t():matmul(Y:reshape(n * r, T))
    local dD <const> = (X * Y):reshape(n * r, T):sum(1)
    return Y, -flat(Y:matmul(B)):matmul(flat(X):t()), -dB, -(D.ndim == 0 and dD:sum() or dD)
  end}

function solved(G, K, B, D, q)
  local n <const>, r <const>, T <const> = table.unpack(G.shape)
  local Z <const> = q.U:t():matmul(G:reshape(n, r * T)):reshape(n, r, T):matmul(q.E) * q.M:unsqueeze(2)
  local X <const> = q.U:matmul(Z:reshape(n, r * T)):reshape(n, r, T):matmul(q.E:t())
  return by_form(X, solution(G, K, B, D, q.U, q.E, q.M))
end

--- C^-1 times the columns of G (n, r, T), with gradients of every order. p: ingredients, q: U, E and M of their decomposition.
local function solve_live(p, q, G) return solved(G, p.K, p.B, p.noise, q) end

-- A value whose gradient is known and whose second derivatives are not: the form beside what the gradient of logdet gives.
local once <const> = func{name = "log det", shape = "same", forward = of_values, backward = function()
  core.raise("option", 'with Kronecker structure the log determinant has no second derivatives; solver = "direct" has them')
end}

--- log det C, of this value.
local logdet <const> = func{name = "log det", shape = "same", forward = of_values, backward = function(g, _, K, B, D, U, E, M, L, S)
  local a <const>, b <const> = (M * S):sum(2), (M * L:unsqueeze(2)):sum(1)
  local function first(v) return by_form(v, once(v, K, B, D)) * g end
  local dD <const> = (E * E):matmul(M:sum(1))
  return nil, first((U * a):matmul(U:t())), first((E * b):matmul(E:t())), first(D.ndim == 0 and dD:sum() or dD)
end}

--- Z = U' R h V and A, the weights C^-1 vec(R) as (n, T).
local function solve(q, R)
  local Z <const> = q.U:t():matmul(q.h and R * q.h or R):matmul(q.V)
  local A <const> = q.U:matmul(Z * q.M):matmul(q.V:t())
  return Z, q.h and A * q.h or A
end

--- C^-1 vec(R) as (n, T), lazy, to differentiate.
local function weights_live(p, q) return solve_live(p, q, p.R:unsqueeze(2)):squeeze(2) end

--- Negative log marginal likelihood in nats, lazy, in f64 as predictions are.
function M.nlml(self)
  local p <const> = ingredients(self, "f64")
  local q <const> = decompose(p)
  local n <const>, T <const> = p.R.shape[1], p.R.shape[2]
  local Z <const> = solve(q, p.R:detach())
  local det = -q.M:log():sum()
  if q.h then det = det - 2 * n * q.h:log():sum() end
  local quad <const> = by_form((Z * Z * q.M):sum(), (p.R * weights_live(p, q)):sum())
  return (quad + by_form(det, logdet(det, p.K, p.B, p.noise, q.U, q.E, q.M, q.L, q.S)) + n * T * math.log(2 * math.pi)) / 2
end

-- State -------------------------------------------------------------------------------------------------------------------

--- What predictions need, {k, x, B, U, M, Q, weights}, in f64. 'values' has U, M, Q and the weights. B and the weights are held
-- (core.hold); gradients also go by 'of', the ingredients, and E, which is lazy.
local function state_from(p, values)
  local _, V <const>, h <const> = decompose_tasks(p)
  local state <const> = {k = p.k, x = p.x:eval(), B = core.hold(p.B, p.B:detach():eval()), of = p, E = sides(V, h), U = values.U,
    M = values.M, Q = values.Q}
  state.weights = core.hold(weights_live(p, state):matmul(p.B), values.weights)
  return state
end

--- That state, kept until a parameter is set, and whether it was there already. O(n^3 + T^3).
function M.state(self)
  local f <const> = fields(self)
  return posterior_cache.of(self, function()
    local start <const> = core.clock()
    local p <const> = ingredients(self, "f64")
    local q <const> = decompose(p)
    local _, A <const> = solve(q, p.R:detach())
    local B <const> = p.B:detach()
    local values <const> = {U = q.U, M = q.M, Q = B:matmul(q.E), weights = A:matmul(B)}
    core.eval(values)
    local state <const> = state_from(p, values)
    update_record.note(f, {kind = "decomposition", rows = #f.x, onto = 0, reason = update_record.missing(f),
      seconds = core.clock() - start})
    return state
  end)
end

--- The shapes of the tensors of a state that files keep, for n points and T tasks.
function M.kept_shapes(n, T) return {U = {n, n}, M = {n, T}, Q = {T, T}, weights = {n, T}} end

--- Gives a model these tensors as its state.
function M.restore(self, values)
  posterior_cache.of(self, function() return state_from(ingredients(self, "f64"), values) end)
end

-- Solves ------------------------------------------------------------------------------------------------------------------

--- C^-1 times the columns of b (n T, r), point by point, in f64.
function M.solve(self, b)
  local p <const> = ingredients(self, "f64")
  local q <const> = decompose(p)
  local n <const>, T <const>, r <const> = #q.L, #q.S, b.shape[2]
  local V <const> = q.E
  local inner <const> = q.U:t():matmul(b:to{dtype = "f64"}:reshape(n, T * r)):reshape(n, T, r):permute(1, 3, 2)
  local Z <const> = inner:matmul(V) * q.M:unsqueeze(2)
  local value <const> = q.U:matmul(Z:matmul(V:t()):permute(1, 3, 2):reshape(n, T * r)):reshape(n * T, r)
  local G <const> = b:to{dtype = "f64"}:reshape(n, T, r):permute(1, 3, 2)
  return by_form(value, solve_live(p, q, G):permute(1, 3, 2):reshape(n * T, r))
end

--- The diagonal of C^-1 and C^-1 (y - m(x)), (n, T), in f64. O(n^3 + T^3).
function M.leave_one_out(self)
  local p <const> = ingredients(self, "f64")
  local q <const> = decompose(p)
  local _, A <const> = solve(q, p.R:detach())
  local n <const>, T <const> = p.R.shape[1], p.R.shape[2]
  local unit <const> = core.eye(n * T, {dtype = "f64"}):reshape(n, T, n * T):permute(1, 3, 2)
  local diagonal <const> = (solve_live(p, q, unit) * unit):sum(2)
  return by_form((q.U * q.U):matmul(q.M):matmul((q.E * q.E):t()), diagonal), by_form(A, weights_live(p, q))
end

--- C^-1 times the columns of G (n, r, T) by a state, with gradients.
function M.solve_by(state, G) return solve_live(state.of, state, G) end

M.by_form = by_form

return M

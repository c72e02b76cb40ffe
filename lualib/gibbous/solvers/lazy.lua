--- Solves by conjugate gradients as nodes of the graph: their settings, and the solve of a prepared matrix.
local core <const> = require "gibbous.core"

local M <const> = {MAX_ITER = 1000}

-- Points from which products in f32 with residuals in f64 are twice as fast, and as exact: for streamed matrices, which need no
-- copy.
local MIXED_FROM <const> = 1000

function M.is_mixed(o, a)
  if o.precision then return o.precision == "mixed" end
  return a.dtype == "f64" and #a >= MIXED_FROM and core.is_streamed(a)
end

--- What a node of the graph has to know, beside its matrices.
function M.settings(o, a, tol, more)
  local p = o.precond
  local rank <const> = p and p.choices and p:resolve(a, more.k, more.noise, {tol = tol}):rank_at(#a) or nil
  if rank == 0 then p, more.k, more.noise = nil, nil, nil end
  local s <const> = {tol = tol, max_iter = o.max_iter, mixed = M.is_mixed(o, a), precond = p and p.kind or nil,
    rank = p and rank or nil, precond_tol = p and p.tol or nil, precond_seed = p and p.seed or nil}
  for key, value in pairs(more) do s[key] = value end
  return s
end

--- k and noise, a number or one for each point (n), with A = k + noise I, for preconditioners that need them.
function M.split(o, a, k, noise)
  local p <const> = o.precond
  if not p or p.kind == "jacobi" then return nil, nil end
  return p:split(a, k, noise)
end

--- x with A x = b for a prepared matrix (solvers/system.lua), lazy and differentiable any number of times. o: tol, max_iter,
-- precond, precision. The graph makes the preconditioner, within its plan. x0: a first guess.
function M.solve(o, system, b, x0)
  local a <const> = system.live.a
  local k <const>, noise <const> = M.split(o, a, system.live.k, system.noise)
  return core.solver(a, b, M.settings(o, a, o.tol, {x0 = x0, k = k, noise = noise}))
end

return M

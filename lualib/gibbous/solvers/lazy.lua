--- Solves by conjugate gradients as nodes of the graph: their settings, and the solve of a prepared matrix.
local core <const> = require "gibbous.core"
local raised <const> = require "gibbous.base.raised"

local M <const> = {MAX_ITER = 1000}

-- Points from which products in f32 with residuals in f64 are twice as fast, and as exact: for streamed matrices, which need no
-- copy.
local MIXED_FROM <const> = 1000

-- The unit of rounding of f32.
local UNIT <const> = 2.0 ^ -24

--- Is a = k + noise I another matrix in f32, since rounding of k is more than the least noise? nil where that is not known.
local function is_rounded(k, noise)
  if not (k and noise) then return nil end
  local ok <const>, trace <const> = pcall(function() return k:detach():diagonal():to{dtype = "f64"}:sum():item() end)
  if not ok and not raised.is(trace, "option") then error(trace, 0) end      -- option: a plan of data that are not there yet
  local least <const> = type(noise) == "number" and noise or noise:min():item()
  return ok and least < UNIT * trace
end

--- Products in f32? As the options say; else for a large streamed matrix a, whose k and noise, a number or (n), with
-- a = k + noise I are given where known.
function M.is_mixed(o, a, k, noise)
  if o.precision then return o.precision == "mixed" end
  return a.dtype == "f64" and #a >= MIXED_FROM and core.is_streamed(a) and not is_rounded(k, noise)
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
  return core.solver(a, b, M.settings(o, a, o.tol, {x0 = x0, k = k, noise = noise,
    mixed = M.is_mixed(o, a, system.live.k, system.noise)}))
end

return M

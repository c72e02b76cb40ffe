--- One matrix prepared for many right-hand sides by a solver: {solver, a, precond}.
--
-- A solver is {o = its options, run = function(self, system, b, x0) -> x, info fields, text = function(self) -> string}
-- (solvers/base.lua).
local core <const> = require "gibbous.core"
local home <const> = require "gibbous.solvers.home"
local new_info <const> = require "gibbous.solvers.info"
local object <const> = require "gibbous.base.object"
local preconds <const> = require "gibbous.precond"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

local System <const> = {}
System.__index = System

--- x with A x = b, b (n) or (n, r), and info; x depends on nothing. alone: b (n) is the only one of a model, and a solver that has
-- a faster way for one takes it (solvers/cg.lua).
function System:solve(b, x0, alone)
  home.check("solve", nil, b, x0)
  local x <const>, info <const> = self.solver:run(self, b, x0, alone)
  return x, new_info(info)
end

--- The same x as a lazy expression, differentiable in A and b any number of times; x0: a first guess. By conjugate gradients, to
-- this solver's tolerance, whatever the algorithm: gradients go by it.
function System:lazy(b, x0)
  local x <const> = self.solver:lazy(self, b, x0)
  return x.dtype == b.dtype and x or x:to{dtype = b.dtype}
end

--- x, which solves A x = b, with the history of that.
function System:hold(b, x)
  local lazy <const> = self.solver:lazy(self, b)
  if lazy.dtype == x.dtype then return core.hold(lazy, x) end
  return core.hold(lazy, x:to{dtype = lazy.dtype}):to{dtype = x.dtype}
end

-- So many right-hand sides are worth a preconditioner of a higher rank, up to RANK and this part of the memory left.
local MANY <const>, RANK <const>, PART <const> = 64, 1000, 4

--- What makes preconditioners for many right-hand sides: the solver's own, or, where it has none and takes one, one that keeps
-- nothing of few.
local function maker_of(solver)
  if solver.o.precond or not solver.forms then return solver.o.precond end
  return preconds.pivoted_cholesky{rank = 1}
end

--- This system for 'count' right-hand sides, to be closed: the same matrix, with a preconditioner that saves steps where that is
-- known to pay, or as it is. Building takes 2 n rank^2 flops, a column's step n rank more of them than before; each step saved, a
-- product.
function System:for_many(count)
  local p <const>, k <const>, noise <const> = maker_of(self.solver), self.k, self.noise
  if count < MANY or not (p and p.deepen and k and noise) or noise == 0 then return self end
  local n <const> = #self.a
  local rank <const> = math.min(RANK, n // PART, core.memory.room() // (PART * 8 * n))
  local ok <const>, deep <const> = pcall(p.deepen, p, k, noise, rank)
  if not ok and not raised.is(deep, "refused", "oom") then error(deep, 0) end
  if not ok or deep == nil then return self end
  return setmetatable({solver = self.solver, a = self.a, precond = deep, own = deep, k = k, noise = noise}, System)
end

function System:__close()
  local _ <close> = self.own
  self.own = nil
end

--- The matrix A = k + noise I prepared for a solver; k and noise, a number or one for each point (n), where they are known.
function M.prepare(solver, a, k, noise)
  home.check("prepare", a)
  local precond <const> = solver.o.precond
  return setmetatable({solver = solver, a = a:detach(), precond = precond and precond:build(a, k, noise) or nil,
    k = k and k:detach(), noise = noise, live = {a = a, k = k}}, System)
end

--- x and info, of which stderr says, once a script line, that the solve missed its tolerance.
function M.told(x, info)
  if not info.converged then core.solve_missed(info) end
  return x, info
end

--- For a prepared system and b (n, r): x, info, the forms q = b' A^-1 b (r), and how much too small these are at most, or nil
-- where that is not known. Solvers that can, stop when prior - q is known to their tolerance of itself; no eigenvalue of A is
-- below 'least'.
function M.forms(system, b, prior, least)
  local solver <const> = system.solver
  if least > 0 and solver and solver.forms then
    local x <const>, info <const>, q <const>, missing <const> = solver:forms(system, b, prior, least)
    return x, new_info(info), q, missing
  end
  local x <const>, info <const> = system:solve(b)
  return x, info, (x * (2 * b - system.a:matmul(x))):sum(1)
end

object.guard(System, "a prepared matrix", "system")

return M

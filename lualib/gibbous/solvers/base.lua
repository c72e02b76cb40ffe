--- What solvers share: a matrix prepared once for many right-hand sides, and the likelihood of a model that trains with them.
--
-- A solver is {o = its options, run = function(self, system, b, x0) -> x, info fields, text = function(self) -> string}; a
-- system is {solver, a, precond}.
local core <const> = require "gibbous.core"
local new_info <const> = require "gibbous.solvers.info"
local object <const> = require "gibbous.object"
local options <const> = require "gibbous.options"
local raised <const> = require "gibbous.raised"

local M <const> = {}

-- One matrix --------------------------------------------------------------------------------------------------------------

local System <const> = {}
System.__index = System

--- x with A x = b, b (n) or (n, r), and info; x depends on nothing.
function System:solve(b, x0)
  local x <const>, info <const> = self.solver:run(self, b, x0)
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

--- This system for 'count' right-hand sides, to be closed: the same matrix, with a preconditioner that saves steps where that is
-- known to pay, or as it is. Building takes 2 n rank^2 flops, a column's step n rank more of them than before; each step saved, a
-- product.
function System:for_many(count)
  local p <const>, k <const>, noise <const> = self.solver.o.precond, self.k, self.noise
  if count < MANY or not (p and p.deepen and k and noise) or noise == 0 then return self end
  local n <const> = #self.a
  local rank <const> = math.min(RANK, n // PART, core.memory.room() // (PART * 8 * n))
  local ok <const>, deep <const> = pcall(p.deepen, p, k, noise, rank)
  if not ok and not raised.is(deep, "refused", "oom") then error(deep, 0) end
  if not ok or deep == nil then return self end
  return setmetatable({solver = self.solver, a = self.a, precond = deep, own = deep}, System)
end

function System:__close()
  local _ <close> = self.own
  self.own = nil
end

--- The matrix A = k + noise I prepared for a solver; k and noise, a number or one for each point (n), where they are known.
function M.prepare(solver, a, k, noise)
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

-- Solvers -----------------------------------------------------------------------------------------------------------------

local Solver <const> = {__name = "gibbous.solver"}

function Solver:__tostring() return self:text() end

Solver.prepare = M.prepare

function Solver:lazy(system, b, x0)
  local o <const> = self.o
  return require "gibbous.solvers.cg"{tol = o.tol, precond = o.precond or nil}:lazy(system, b, x0)
end

--- x with A x = b and a record of how it went: converged reason iterations residual condition jitter seconds bytes.
-- b (n) or (n, r), all columns at once; o: x0, a first guess of b's shape. Not converging is not an error.
function Solver:solve(a, b, opts)
  local o <const> = options.parse(opts, {x0 = "tensor"}, "solve")
  local at <const>, bt <const> = core.as_tensor(a), core.as_tensor(b)
  if at == nil or bt == nil then core.raise("option", "solve: a matrix and a right-hand side are needed") end
  return M.told(self:prepare(at):solve(bt, o.x0 or nil))
end

--- Columns of length sqrt(n) in directions that depend on the seed alone, (n, probes).
local function directions(n, probes, seed, dtype)
  local z <const> = core.randn(n, probes, {seed = seed, dtype = dtype})
  return (z * (math.sqrt(n) / (z * z):sum(1):sqrt())):eval()
end

--- This solver at the tolerance of fits.
local function in_training(self)
  local out <const> = {}
  for key, v in pairs(self) do out[key] = v end
  out.o = setmetatable({tol = self.o.train_tol}, {__index = self.o})
  return setmetatable(out, Solver)
end

--- The negative log marginal likelihood of residuals r under covariance c = k + noise I, and how the solve went: the quadratic
-- form, its error quadratic in the residual, and the gradient from this solver's solutions for r and the probes, the log
-- determinant by Lanczos quadrature. Probes depend on the seed alone. The result's gradient is that of the estimate; its value is
-- known already.
function Solver:objective(c, r, k, noise)
  local n <const>, probes <const> = #r, self.o.probes
  local z <const> = directions(n, probes, self.o.seed, r.dtype)
  local x <const>, info <const> = in_training(self):prepare(c, k, noise):solve(core.cat({r:detach():unsqueeze(2), z}, 2):eval())
  local alpha <const> = x:select(2, 1):eval()
  local lanczos <const> = require "gibbous.solvers.lanczos"{probes = probes, seed = self.o.seed, precond = self.o.precond}
  local logdet <const>, estimate <const> = lanczos:logdet(c:detach(), self.o.precond and {k = k and k:detach(), noise = noise})
  rawset(info, "standard_error", estimate.standard_error)
  local inv_quad <const> = (alpha * (2 * r:detach() - c:detach():matmul(alpha))):sum():item()
  local left <const> = core.cat({-alpha:unsqueeze(2), x:slice(2, 2, probes + 1) / probes}, 2):eval()
  local right <const> = core.cat({alpha:unsqueeze(2), z}, 2):eval()
  local slope <const> = ((left * c:matmul(right)):sum() + 2 * (alpha * r):sum()):to{dtype = "f64"} / 2
  return slope - slope:detach() + (inv_quad + logdet + n * math.log(2 * math.pi)) / 2, info
end

object.guard(Solver, "a solver", "solver")

--- What the library keeps with a solver, or asks it for, that not every one has.
M.sometimes = "planned forms probe_count run text objective logdet lazy gradient_interval tol train_tol seed probes precond "
  .. "max_iter"

object.settle(Solver, "a solver", M.sometimes)

--- Options that every solver takes, with those of its own.
function M.spec(own)
  local spec <const> = {tol = "positive", train_tol = "positive", max_iter = "count", probes = "count", seed = "integer"}
  for key, rule in pairs(own) do spec[key] = rule end
  return spec
end

--- Checked options with the defaults, and their rules; tol must be in (0, 1), and so train_tol, that of fits: 'tol' where that is
-- given, else 1e-2.
function M.options(opts, own, defaults, what)
  local spec <const> = M.spec(own)
  local o <const> = options.parse(opts, spec, what)
  for _, key in ipairs{"tol", "train_tol"} do
    if o[key] and o[key] >= 1 then
      core.raise("option", ("%s: %s must be between 0 and 1, got %g"):format(what, key, o[key]))
    end
  end
  o.train_tol = o.train_tol or o.tol or 1e-2
  if o.probes and o.probes < 2 then core.raise("option", what .. ": probes must be 2 or more") end
  for key, default in pairs(defaults) do
    if o[key] == nil then o[key] = default end
  end
  return o, spec
end

--- A solver: 'run' and 'text' as above, and what else it can do; made by 'maker' with options by the rules of spec.
function M.new(o, parts, maker, spec)
  local self <const> = {o = o}
  for key, f in pairs(parts) do self[key] = f end
  return object.made(Solver, self, maker, spec)
end

return M

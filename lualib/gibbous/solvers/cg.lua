--- Preconditioned conjugate gradients: A is any lazy symmetric positive definite matrix and is never stored, only multiplied.
local core <const> = require "gibbous.core"
local new_info <const> = require "gibbous.solvers.info"
local options <const> = require "gibbous.options"
local precond <const> = require "gibbous.precond"

-- One matrix with its preconditioner ------------------------------------------------------------------------------------------

local System <const> = {}
System.__index = System

--- x with A x = b, b (n) or (n, r), and info; x depends on nothing.
function System:solve(b, x0)
  local o <const> = self.solver.o
  local x <const>, info <const> = core.cg(self.a, b, {tol = o.tol, max_iter = o.max_iter, precond = self.precond, x0 = x0})
  return x, new_info(info)
end

--- diag(B' A^-1 B) for B (n, m), (m).
function System:explained(b)
  local x <const>, info <const> = self:solve(b)
  return (b * x):sum(1), info
end

-- Conjugate gradients -------------------------------------------------------------------------------------------------------

local Cg <const> = {__name = "gibbous.solver"}
Cg.__index = Cg

function Cg:__tostring()
  local o <const> = self.o
  return ("cg(tol %g%s)"):format(o.tol, o.precond and ", " .. tostring(o.precond) or "")
end

local function preconditioner(self, a, k, noise)
  return self.o.precond and self.o.precond:build(a, k, noise) or nil
end

--- The solver with its preconditioner for one matrix A = k + noise I; k and noise where they are known.
function Cg:prepare(a, k, noise)
  return setmetatable({solver = self, a = a:detach(), precond = preconditioner(self, a, k, noise)}, System)
end

--- x with A x = b and a record of how it went: converged reason iterations residual condition seconds bytes.
-- b (n) or (n, r), all columns at once; o: x0, a first guess of b's shape. Not converging is not an error.
function Cg:solve(a, b, opts)
  local o <const> = options.parse(opts, {x0 = "tensor"}, "solve", 2)
  local at <const>, bt <const> = core.as_tensor(a), core.as_tensor(b)
  if at == nil or bt == nil then core.raise("option", "solve: a matrix and a right-hand side are needed", 2) end
  return self:prepare(at):solve(bt, o.x0 or nil)
end

--- The negative log marginal likelihood of residuals r under covariance c = k + noise I, and how the solve went. The log
-- determinant is estimated from random probes that depend on the seed alone, so the same parameters give the same value.
-- The result's gradient is that of the estimate; its value is known already.
function Cg:objective(c, r, k, noise)
  local o <const> = self.o
  local m <const> = core.marginal(c, r, {tol = o.tol, max_iter = o.max_iter, probes = o.probes, seed = o.seed,
    precond = preconditioner(self, c, k, noise)})
  local value <const> = (m.inv_quad + m.logdet + #r * math.log(2 * math.pi)) / 2
  local slope <const> = m.surrogate:to{dtype = "f64"} / 2
  return slope - slope:detach() + value, new_info(m.cg)
end

-- Construction --------------------------------------------------------------------------------------------------------------

--- Conjugate gradients: tol, largest |b - A x| / |b| of a column; max_iter; precond, a gb.precond value; probes and seed of
-- the log determinant in a model's fit. Cost: one product with A a step.
return function(opts)
  local o <const> = options.parse(opts, {tol = "positive", max_iter = "count", precond = precond.is, probes = "count",
    seed = "integer"}, "gb.solvers.cg", 2)
  if o.probes and o.probes < 2 then core.raise("option", "gb.solvers.cg: probes must be 2 or more", 2) end
  return setmetatable({o = {tol = o.tol or 1e-6, max_iter = o.max_iter or 1000, precond = o.precond or nil,
    probes = o.probes or 16, seed = o.seed or 0}}, Cg)
end

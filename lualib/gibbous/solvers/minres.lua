--- Minimal residuals: A is any lazy symmetric matrix, definite or not, and is never stored, only multiplied.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"
local settings <const> = require "gibbous.solvers.settings"

local function run(self, system, b, x0)
  local o <const> = self.o
  return core.minres(system.a, b, {tol = o.tol, max_iter = o.max_iter, precond = system.precond, x0 = x0})
end

local function text(self)
  local o <const> = self.o
  return ("minres(tol %g%s)"):format(o.tol, o.precond and ", " .. tostring(o.precond) or "")
end

--- Minimal residuals: tol, largest |b - A x| / |b| of a column, in (0, 1); max_iter; precond, a gb.precond value, which must be
-- positive definite; probes and seed of the log determinant in a model's fit. A system without a solution gives x of least
-- residual and the reason "singular". Cost: one product with A a step.
return function(opts)
  local o <const>, spec <const> = base.options(opts, {precond = settings.precond},
    {tol = 1e-6, max_iter = 1000, probes = 16, seed = 0}, "gb.solvers.minres")
  return base.new(o, {run = run, text = text}, "gb.solvers.minres", spec)
end

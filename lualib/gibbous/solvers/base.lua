--- What solvers share: their class, and the likelihood of a model that trains with them.
--
-- A solver is {o = its options, run = function(self, system, b, x0) -> x, info fields, text = function(self) -> string}.
local core <const> = require "gibbous.core"
local home <const> = require "gibbous.solvers.home"
local lanczos <const> = require "gibbous.solvers.lanczos"
local lazy <const> = require "gibbous.solvers.lazy"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local settings <const> = require "gibbous.solvers.settings"
local systems <const> = require "gibbous.solvers.system"

local M <const> = {options = settings.options, spec = settings.spec, prepare = systems.prepare, told = systems.told,
  forms = systems.forms}

local Solver <const> = {__name = "gibbous.solver"}

function Solver:__tostring() return self:text() end

Solver.prepare = M.prepare

--- x with A x = b as a node of the graph: by conjugate gradients to this solver's tolerance, since gradients go by it.
function Solver:lazy(system, b, x0)
  return lazy.solve({tol = self.o.tol, max_iter = lazy.MAX_ITER, precond = self.o.precond or nil}, system, b, x0)
end

--- x with A x = b and a record of how it went: converged reason iterations residual condition jitter seconds bytes.
-- b (n) or (n, r), all columns at once; o: x0, a first guess of b's shape. Not converging is not an error.
function Solver:solve(a, b, opts)
  local o <const> = options.parse(opts, {x0 = "tensor"}, "solve")
  local at <const>, bt <const> = core.as_tensor(a), core.as_tensor(b)
  if at == nil or bt == nil then core.raise("option", "solve: a matrix and a right-hand side are needed: solver:solve(A, b)") end
  home.check("solve", at, bt, core.as_tensor(o.x0 or nil))
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
  local quadrature <const> = lanczos{probes = probes, seed = self.o.seed, precond = self.o.precond}
  local logdet <const>, estimate <const> = quadrature:logdet(c:detach(), self.o.precond and {k = k and k:detach(), noise = noise})
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

--- A solver: 'run' and 'text' as above, and what else it can do; made by 'maker' with options by the rules of spec.
function M.new(o, parts, maker, spec)
  local self <const> = {o = o}
  for key, f in pairs(parts) do self[key] = f end
  return object.made(Solver, self, maker, spec)
end

return M

--- Preconditioned conjugate gradients: A is any lazy symmetric positive definite matrix and is never stored, only multiplied.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"
local home <const> = require "gibbous.solvers.home"
local lazy <const> = require "gibbous.solvers.lazy"
local new_info <const> = require "gibbous.solvers.info"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local settings <const> = require "gibbous.solvers.settings"

local function tolerance(name, value)
  if value and value >= 1 then
    core.raise("option", ("gb.solvers.cg: %s must be below 1, got %g: x = 0 has a residual of 1"):format(name, value))
  end
  return value or nil
end

-- Conjugate gradients -------------------------------------------------------------------------------------------------------

--- Probes of n points: the error of log det grows with sqrt(n / probes), log det itself with n. So its interval is about as wide,
-- 2 % of it, from 1,250 points on, and narrower from 5,000.
local function probes_of(o, n)
  if o.probes == "exact" then return n end
  return o.probes or math.max(16, math.min(64, -(-80000 // math.max(n, 1))))
end

local function is_exact(o) return o.probes == "exact" end

--- planned: its objective is a node of the graph, planned as it runs.
local Cg <const> = {__name = "gibbous.solver", planned = true}

--- Right-hand sides of a fit's solves for n points beside the residual.
function Cg:probe_count(n) return probes_of(self.o, n) end

function Cg:__tostring()
  local o <const> = self.o
  local parts <const> = {("tol %g"):format(o.tol)}
  if o.train_tol ~= o.tol then parts[2] = ("%g in fits"):format(o.train_tol) end
  parts[#parts + 1] = o.precond and tostring(o.precond) or nil
  parts[#parts + 1] = o.precision
  return "cg(" .. table.concat(parts, ", ") .. ")"
end

--- x, which mixed precision gives in f64, in the dtype of b, and the record.
local function adopted(x, b, info, o)
  if x.dtype == b.dtype then return x, info end
  local out <const> = x:to{dtype = b.dtype}:eval()
  if info.converged and not out:isfinite():all() then
    info.converged, info.reason = false, "overflow"
    info.message = ("the solution is larger than %s holds: scale the right-hand side"):format(b.dtype)
  end
  local size <const> = x:abs():max(1)
  local lost <const> = info.converged and core.where(size:gt(0), (x - out:to{dtype = x.dtype}):abs():max(1) / size, 0)
  if lost and lost:gt(math.max(o.tol, 1e-3)):any() then
    info.converged, info.reason, info.residual = false, "underflow", lost:max():item()
    info.message = ("the solution is smaller than %s holds: scale the right-hand side"):format(b.dtype)
  end
  return out, info
end

--- Solves for b with a prepared matrix, at once: x, of b's dtype, and the fields of its record. spread: b (n) alone is solved by
-- its parts, which takes several times fewer products where n is large, and then has not the bits of a column beside others.
function Cg:run(system, b, x0, spread)
  local o <const> = self.o
  local x <const>, info <const> = core.cg(system.a, b, {tol = o.tol, max_iter = o.max_iter, precond = system.precond, x0 = x0,
    mixed = lazy.is_mixed(o, system.a, system.k, system.noise), spread = spread})
  return adopted(x, b, info, o)
end

--- The same as run, but a column is solved when prior - b' A^-1 b, one number a column, is known to 'tol' of itself; no
-- eigenvalue of A is below 'least'. Also the forms b' A^-1 b and how much too small they are at most, (r) of f64.
function Cg:forms(system, b, prior, least)
  local o <const> = self.o
  local x, info, q <const>, missing <const> = core.cg(system.a, b, {tol = o.tol, max_iter = o.max_iter,
    precond = system.precond, mixed = lazy.is_mixed(o, system.a, system.k, system.noise), prior = prior, least = least})
  x, info = adopted(x, b, info, o)
  return x, info, q, missing
end

Cg.prepare = base.prepare

--- x with A x = b for a prepared matrix, lazy and differentiable. The graph makes the preconditioner, within its plan.
function Cg:lazy(system, b, x0) return lazy.solve(self.o, system, b, x0) end

--- x with A x = b, lazy, and a record of how it went: converged reason message iterations residual condition jitter seconds
-- bytes, there once x is computed; looking at it computes x. Not converging is not an error.
-- b (n) or (n, r), all columns at once; o: x0, a first guess of b's shape. x has b's dtype, or f64 with precision = "mixed".
-- Differentiable in A and b: the gradient is one more solve and one pass over A. Memory: about 8 (n, r) blocks of f64 and the
-- preconditioner, all of it in the plan.
function Cg:solve(a, b, opts)
  local o <const> = options.parse(opts, {x0 = "tensor"}, "solve")
  local at <const>, bt <const> = core.as_tensor(a), core.as_tensor(b)
  if at == nil or bt == nil then core.raise("option", "solve: a matrix and a right-hand side are needed: solver:solve(A, b)") end
  home.check("solve", at, bt, core.as_tensor(o.x0 or nil))
  local k <const>, noise <const> = lazy.split(self.o, at)
  local x <const> = core.solver(at, bt, lazy.settings(self.o, at, self.o.tol, {x0 = o.x0 or nil, k = k, noise = noise}))
  return x, new_info(x)
end

--- The terms of the marginal likelihood of residuals r under covariance c = k + noise I: b' C^-1 b and log det C, lazy f64
-- numbers, the record, and the constants behind their gradient.
local function marginal(self, c, r, k, noise)
  local o <const> = self.o
  home.check("the likelihood", c, r)
  local mixed <const> = lazy.is_mixed(o, c, k, noise)
  k, noise = lazy.split(self.o, c, k, noise)
  local head <const>, all <const> = core.marginal(c, r, lazy.settings(o, c, o.train_tol, {k = k, noise = noise, seed = o.seed,
    mixed = mixed, probes = not is_exact(o) and probes_of(o, #r) or nil, exact = is_exact(o)}))
  return head, all, new_info(all)
end

--- The negative log marginal likelihood of residuals r under covariance c = k + noise I, lazy, and how its solve goes: also
-- residual_y, residual_probes, logdet and standard_error. The log determinant is estimated from random probes that depend on the
-- seed alone, so the same parameters give the same value; the gradient is that of the estimate.
function Cg:objective(c, r, k, noise)
  local head <const>, _, info <const> = marginal(self, c, r, k, noise)
  return (head:select(1, 1) + head:select(1, 2) + #r * math.log(2 * math.pi)) / 2, info
end

--- log det of c = k + noise I: value, and the lower and upper end of the interval that covers it with probability 'level' (0.95),
-- by Student's t with probes - 1 degrees of freedom. Numbers; computed at once.
function Cg:logdet(c, k, noise, level)
  local _, _, info <const> = marginal(self, c, core.ones(#c, {dtype = c.dtype}), k, noise)
  local half <const> = is_exact(self.o) and 0 or core.student_quantile(probes_of(self.o, #c) - 1, level or 0.95) *
    info.standard_error
  return info.logdet, info.logdet - half, info.logdet + half, info
end

--- The gradient of the negative log marginal likelihood in the tensors xs and half the width of the interval that covers that of
-- the exact one with probability 'level' (0.95), element by element: two lists. The probes' own gradients are its sample.
function Cg:gradient_interval(c, r, xs, k, noise, level)
  local _, all <const> = marginal(self, c, r, k, noise)
  local n <const>, probes <const> = #r, probes_of(self.o, #r)
  local width <const> = probes + 1
  local from = 4 + width + n
  local function block()
    local t <const> = all:slice(1, from + 1, from + n * width):reshape{n, width}:to{dtype = c.dtype}:detach()
    from = from + n * width
    return t
  end
  local alpha <const> = all:slice(1, 4 + width + 1, 4 + width + n):to{dtype = c.dtype}:detach()
  local C <const>, D <const> = block(), block()
  local fixed <const> = core.grad((alpha * r):sum() + ((C:slice(2, 1, 1) * c:matmul(D:slice(2, 1, 1))):sum()) / 2, xs,
    {unused = "zero"})
  local samples <const> = {}
  for p = 2, width do
    samples[p - 1] = core.grad((C:slice(2, p, p) * c:matmul(D:slice(2, p, p))):sum() * (probes / 2), xs, {unused = "zero"})
  end
  local value <const>, half <const> = {}, {}
  local t <const> = is_exact(self.o) and 0 or core.student_quantile(probes - 1, level or 0.95)
  for i in ipairs(xs) do
    local list <const> = {}
    for p = 1, probes do list[p] = samples[p][i] end
    local s <const> = core.stack(list, 1)
    value[i], half[i] = fixed[i] + s:mean(1), s:std(1) * (t / math.sqrt(probes))
  end
  return value, half
end

object.guard(Cg, "a solver", "solver")
object.settle(Cg, "a solver", base.sometimes)

-- Construction --------------------------------------------------------------------------------------------------------------

local function is_probes(v) return v == "exact" or math.type(v) == "integer", '"exact" or a whole number' end

local SPEC <const> = {tol = "positive", train_tol = "positive", max_iter = "count", precond = settings.precond,
  probes = is_probes, seed = "integer", precision = {"full", "mixed"}}

--- Conjugate gradients. Cost: one product with A a step.
--  tol         largest |b - A x| / |b| of a column; 1e-6, below 1
--  train_tol   the same in a model's fit; 'tol' where that is given, else 1e-2
--  max_iter    1000
--  precond     a gb.precond value
--  precision   "full": products in A's dtype; "mixed": products in f32, residuals and result in f64: about twice as fast for f64,
--              and as exact; for f32 it reaches residuals that f32 cannot. Default: "mixed" for streamed f64 matrices of 1,000
--              points or more, unless the noise is known to be below 2^-24 of the trace, else "full"
--  probes      random vectors of the log determinant in a fit: 64 for 1,250 points or fewer, 16 from 5,000 on; "exact": all unit
--              vectors, n^2 values, for small n
--  seed        of the probes, 0
return function(opts)
  local o <const> = options.parse(opts, SPEC, "gb.solvers.cg")
  if math.type(o.probes or nil) == "integer" and o.probes < 2 then
    core.raise("option", "gb.solvers.cg: probes must be 2 or more")
  end
  local tol <const> = tolerance("tol", o.tol)
  return object.made(Cg, {o = {tol = tol or 1e-6, train_tol = tolerance("train_tol", o.train_tol) or tol or 1e-2,
    max_iter = o.max_iter or lazy.MAX_ITER, precond = o.precond or nil, precision = o.precision or nil,
    probes = o.probes or nil, seed = o.seed or 0}}, "gb.solvers.cg", SPEC)
end

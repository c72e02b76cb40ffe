--- Lanczos tridiagonalisation of a lazy symmetric matrix, and log det by quadrature from it. Source: Golub & Meurant
-- (2010), Matrices, Moments and Quadrature with Applications; Ubaru, Chen & Saad (2017), Fast estimation of tr(f(A)) via
-- stochastic Lanczos quadrature.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local home <const> = require "gibbous.solvers.home"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local settings <const> = require "gibbous.solvers.settings"

-- The record --------------------------------------------------------------------------------------------------------------

---@class gibbous.logdet_info
---@field value number           nats
---@field standard_error number  of the probes' mean
---@field interval number[]      {low, high}: holds log det A in 95 % of seeds (Student's t); too few steps widen it by 'truncation'
---@field truncation number      how much the last fifth of the steps changed the value
---@field probes integer
---@field converged boolean      every probe's Krylov space was exhausted to tol
local Info <const> = object.record("gibbous.logdet_info", "the report of a log determinant", "message")

function Info:__tostring()
  return ("log det %.8g, 95 %% in [%.8g, %.8g]: %s, %s%s, %.2f s"):format(self.value, self.interval[1],
    self.interval[2], counted(self.probes, "probe"),
    counted(self.iterations, "step"), self.converged and "" or " (" .. self.reason .. ")", self.seconds)
end

local Lanczos <const> = {__name = "gibbous.lanczos"}

function Lanczos:__tostring()
  local o <const> = self.o
  return ("lanczos(%s, %s%s)"):format(counted(o.steps, "step"), counted(o.probes, "probe"),
    o.precond and ", " .. tostring(o.precond) or "")
end

--- Q (n, t) with orthonormal columns, the first along q (n); T (t, t) = Q' A Q tridiagonal; and {steps, residual}: t, and
-- |A Q - Q T|. t <= steps, less where an invariant subspace is found. Orthogonal to rounding: every vector is
-- orthogonalised twice against all before. Cost: t products with A, 4 n t^2 flops, n t values.
function Lanczos:run(a, q)
  local at <const>, qt <const> = core.as_tensor(a), core.as_tensor(q)
  if at == nil or qt == nil then core.raise("option", "run: a matrix and a first vector are needed") end
  home.check("run", at, qt)
  return core.lanczos(at, qt, self.o.steps)
end

local function is_noise(v) return type(v) == "number" and v > 0 or core.type(v) == "tensor", "a number above 0, or a tensor (n)" end

--- log det A for symmetric positive definite A (n, n), a number, and a gibbous.logdet_info. Probes depend on the seed
-- alone: the same matrix gives the same value. o: k and noise, a number or one for each point (n), with A = k + noise I, where a
-- preconditioner wants them.
-- Cost: at most 'steps' products with A and 'probes' columns; 6 n probes values. Errors: not_pd; nan.
function Lanczos:logdet(a, opts)
  local o <const>, given <const> = self.o, options.parse(opts, {k = "tensor", noise = is_noise}, "logdet")
  local at <const> = core.as_tensor(a)
  if at == nil then core.raise("option", "logdet: a matrix is needed") end
  home.check("logdet", at)
  local n <const> = #at
  if n == 0 then
    return 0.0, setmetatable({value = 0.0, standard_error = 0.0, interval = {0.0, 0.0}, truncation = 0.0, probes = o.probes,
      converged = true, reason = "converged", iterations = 0, residual = 0.0, condition = 0.0, seconds = 0.0, bytes = 0}, Info)
  end
  local p <const> = o.precond and o.precond:build(at, given.k or nil, given.noise or nil) or nil
  local info <const> = core.logdet_slq(at, {tol = o.tol, max_iter = o.steps, precond = p, probes = o.probes, seed = o.seed})
  if info.reason == "indefinite" then
    core.raise("not_pd", ("logdet: the matrix is not positive definite, seen after %s"):format(counted(info.iterations, "step")))
  elseif info.reason == "nan" then
    core.raise("nan", "logdet: a product with the matrix is not finite")
  end
  local half <const> = core.student_quantile(o.probes - 1, 0.95) * info.standard_error + (info.converged and 0 or info.truncation)
  info.probes, info.interval = o.probes, {info.value - half, info.value + half}
  return info.value, setmetatable(info, Info)
end

object.guard(Lanczos, "a solver", "solver")
object.settle(Lanczos, "a solver")

--- Lanczos: steps of one run (100); probes (32), seed and precond of logdet, and tol (1e-8): a probe stops where its
-- residual is that small.
return function(opts)
  if type(opts) == "table" and opts.max_iter ~= nil then
    core.raise("option", "gb.solvers.lanczos: unknown option 'max_iter', did you mean 'steps'?")
  end
  local o <const>, spec <const> = settings.options(opts, {steps = "count", precond = settings.precond},
    {tol = 1e-8, steps = 100, probes = 32, seed = 0}, "gb.solvers.lanczos", {"max_iter", "train_tol"})
  if o.steps == 0 then core.raise("option", "gb.solvers.lanczos: steps must be 1 or more") end
  return object.made(Lanczos, {o = o}, "gb.solvers.lanczos", spec)
end

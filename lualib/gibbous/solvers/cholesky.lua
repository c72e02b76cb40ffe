--- The direct solver: one Cholesky factor of a symmetric positive definite A, (n, n) values, n^3 / 3 multiply-adds.
--
-- Jitter changes the model, so none is added unless asked for: then only where the factorisation of A itself fails, the least
-- of jitter, 10 jitter, ... up to max_jitter that succeeds, relative to A's mean diagonal; the record says how much.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"
local home <const> = require "gibbous.solvers.home"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local raised <const> = require "gibbous.base.raised"

local UNIT <const> = {f64 = 2 ^ -53, f32 = 2 ^ -24}
local TRUSTED <const> = 1e-2                      -- condition times unit roundoff beyond which no digit is promised

-- The record --------------------------------------------------------------------------------------------------------------

---@class gibbous.direct_info
---@field converged boolean         false: ill-conditioned, digits below 2, or A is not symmetric
---@field reason string             "converged", "ill_conditioned", "not_symmetric", "underflow", "nan"
---@field iterations integer        0
---@field residual number           largest |b - A x| / |b| of a column; A with its jitter
---@field condition number          |A| |A^-1| in the 1-norm, an estimate
---@field digits number             that x can be expected to have
---@field jitter number             added to the diagonal
---@field relative_jitter number    the same, of A's mean diagonal
---@field seconds number
---@field bytes integer             of the factor
local Info <const> = object.record("gibbous.solve_info", "the report of a solve", "message missing standard_error")

function Info:__tostring()
  local jitter <const> = self.jitter > 0 and ("jitter %.2g (%.2g of the mean diagonal)"):format(self.jitter, self.relative_jitter)
    or "no jitter"
  return ("%s: relative residual %.2g, condition about %.2g, %.0f digits, %s, %.2f s"):format(
    self.converged and "solved" or self.reason, self.residual, self.condition, self.digits, jitter, self.seconds)
end

-- One matrix --------------------------------------------------------------------------------------------------------------

--- The factor of a + jitter I, evaluated; nil and the error where it is not positive definite.
local function factor(a, jitter)
  local l <const> = core.linalg.cholesky(a, {jitter = jitter})
  local ok <const>, err <const> = pcall(core.eval, l)
  if ok then return l end
  if not raised.is(err, "not_pd") then error(err, 0) end
  return nil, err
end

local function mean_diagonal(a) return a:diagonal():mean():item() end

--- The factor of least jitter, and that jitter: absolute and relative.
local function factor_of(o, a)
  local l, err = factor(a, 0)
  if l or o.jitter == 0 then return l, 0, 0, err end
  local scale <const> = mean_diagonal(a)
  local relative = o.jitter
  while scale > 0 and relative <= o.max_jitter * (1 + 1e-12) do
    local again <const> = factor(a, relative * scale)
    if again then return again, relative * scale, relative end
    relative = relative * 10
  end
  return nil, 0, 0, err
end

local System <const> = {}
System.__index = System

local function columns(b) return b.ndim == 1 and b:unsqueeze(2) or b end

local SMALLEST <const> = {f64 = 2.0 ^ -1022, f32 = 2.0 ^ -126}   -- normal number

--- Largest |b - A x| / |b| over the columns; of columns of any size, whose squares may be no numbers.
local function residual_of(a, jitter, x, b)
  if b.numel == 0 then return 0.0 end
  local full <const>, solution <const> = columns(b):detach(), columns(x):detach()
  local size <const> = full:abs():max(1):unsqueeze(1)
  local unit <const> = core.where(size:gt(0) & size:isfinite(), size, 1)
  local rhs <const> = full / unit
  local left <const> = (full - a:detach():matmul(solution) - solution * jitter) / unit
  local above <const>, below <const> = (left * left):sum(1):sqrt():totable(), (rhs * rhs):sum(1):sqrt():totable()
  local worst = 0.0
  for c, top in ipairs(above) do
    local share <const> = top == 0 and 0.0 or top / below[c]
    if not (share <= worst) then worst = share end
  end
  return worst
end

--- Are digits of a column of x lost because it is smaller than its dtype holds?
local function underflows(x, b, residual)
  if b.numel == 0 or not (residual > math.sqrt(UNIT[b.dtype])) then return false end
  return (columns(x):detach():abs():max(1):lt(SMALLEST[b.dtype]) & columns(b):detach():abs():max(1):gt(0)):any()
end

--- Is the residual one that no symmetric A of this condition leaves? The factor is of the lower triangle alone.
local function misses(a, residual, loss)
  return residual > math.sqrt(UNIT[a.dtype]) and residual > 100 * #a * loss
end

--- x with A x = b, b (n) or (n, r), differentiable in A and b, and a gibbous.direct_info. x0 is not needed and not used.
function System:solve(b)
  local start <const> = core.clock()
  local x <const> = core.solve_chol(self.factor, b)
  local residual <const> = residual_of(self.a, self.jitter, x, b)
  local loss <const> = self.condition * UNIT[self.a.dtype]
  local reason <const> = residual ~= residual and "nan" or underflows(x, b, residual) and "underflow" or
    loss > TRUSTED and "ill_conditioned" or misses(self.a, residual, loss) and "not_symmetric" or "converged"
  return x, setmetatable({converged = reason == "converged", reason = reason,
    iterations = 0, residual = residual, condition = self.condition, digits = math.max(0, -math.log(loss, 10)),
    jitter = self.jitter, relative_jitter = self.relative, seconds = self.seconds + core.clock() - start,
    bytes = #self.a * #self.a * (self.a.dtype == "f32" and 4 or 8)}, Info)
end

function System:lazy(b) return core.solve_chol(self.factor, b) end
function System:hold(b, x) return core.hold(self:lazy(b), x) end

-- The solver --------------------------------------------------------------------------------------------------------------

local Cholesky <const> = {__name = "gibbous.solver"}

function Cholesky:__tostring()
  local o <const> = self.o
  return o.jitter > 0 and ("cholesky(jitter %g to %g)"):format(o.jitter, o.max_jitter) or "cholesky()"
end

--- Factors A once. Errors: not_pd with the order of the minor in .order; refused where A and its factor do not fit.
function Cholesky:prepare(a)
  local start <const> = core.clock()
  local l <const>, jitter <const>, relative <const>, err <const> = factor_of(self.o, a)
  if l == nil then
    local tried <const> = self.o.jitter > 0 and ("; nor with jitter up to %g of the mean diagonal"):format(self.o.max_jitter) or ""
    core.raise("not_pd", err.message .. tried, {order = err.order})
  end
  return setmetatable({a = a, factor = l, jitter = jitter, relative = relative,
    condition = core.factor_condition(a:detach(), l), seconds = core.clock() - start}, System)
end

--- x with A x = b, differentiable, and a gibbous.direct_info; A (n, n) symmetric positive definite, of which the lower
-- triangle is factored, b (n) or (n, r). x0 is accepted as by every solver, and not needed.
function Cholesky:solve(a, b, opts)
  options.parse(opts, {x0 = "tensor"}, "solve")
  local at <const>, bt <const> = core.as_tensor(a), core.as_tensor(b)
  if at == nil or bt == nil then core.raise("option", "solve: a matrix and a right-hand side are needed: solver:solve(A, b)") end
  home.check_one("solve", at, bt)
  return base.told(self:prepare(at):solve(bt))
end

--- The negative log marginal likelihood of residuals r under covariance c, lazy, and how the solve went.
function Cholesky:objective(c, r)
  local system <const> = self:prepare(c)
  local x <const>, info <const> = system:solve(r)
  local logdet <const> = 2 * system.factor:diagonal():log():sum()
  return ((r * x):sum() + logdet + #r * math.log(2 * math.pi)) / 2, info
end

object.guard(System, "a prepared matrix", "system")
object.guard(Cholesky, "a solver", "solver")
object.settle(Cholesky, "a solver", base.sometimes)

local SPEC <const> = {jitter = "number", max_jitter = "positive"}

--- The direct solver: jitter, the first one tried where A is not positive definite, and max_jitter (1e-6), both relative to A's
-- mean diagonal; jitter 0 (the default): never any.
return function(opts)
  local o <const> = options.parse(opts, SPEC, "gb.solvers.cholesky")
  local jitter <const>, most <const> = o.jitter or 0, o.max_jitter or 1e-6
  if not (jitter >= 0 and jitter <= most and most < 1) then
    core.raise("option", ("gb.solvers.cholesky: expected 0 <= jitter <= max_jitter < 1, got %g and %g"):format(jitter, most))
  end
  return object.made(Cholesky, {o = {jitter = jitter, max_jitter = most}}, "gb.solvers.cholesky", SPEC)
end

--- The collapsed bound of a sparse model, FITC, and what the exact log marginal likelihood lies between.
--
-- With K_zz + jitter = L L', U = L^-1 K_zx (m, n), q = diag(U'U), r = y - m(x), noise D and k = diag K:
--   vfe   S = D            fitc   S = D + k - q
--   B = I + U S^-1 U',  b = U S^-1 r,  a = B^-1 b
--   F = (r' S^-1 r - b'a + log det B + log det S + n log 2 pi) / 2  [+ sum((k - q) / D) / 2 of vfe]
-- -F is the log density of y by covariance U'U + S, for vfe less the trace term, a lower bound of the exact one at any places.
-- jitter is a part of the variances of the places: the values there are observed with this noise, and bounds stay bounds.
--
-- F is computed in two passes over the rows, each a plan that streams them: the sums B, b and the numbers; then the slopes.
-- These are written out, since U of the first pass need not exist in the second: with Q = B^-1 + aa' - [1 of vfe] I and
-- w = diag S^-1,
--   dF/dw = (diag(U'Q U) + r^2 + [k of vfe] - 1/w) / 2 - (a'U) r
--   dF/dU = (Q U - a r') w [+ 2 w^2 dF/dw U of fitc],  dF/dK_zx = L^-T dF/dU
--   dF/dK_zz = -L^-T (dF/dU U') L^-1 / 2,  since F depends on U through U'U alone, so that dF/dU U' is symmetric.
-- Source: Titsias (2009), Variational learning of inducing variables in sparse Gaussian processes; Snelson & Ghahramani (2006),
-- Sparse Gaussian processes using pseudo-inputs; Titsias (2014), Variational inference for Gaussian and determinantal point
-- processes (the upper bound).
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local places <const> = require "gibbous.gp.places"
local scaling <const> = require "gibbous.gp.scaling"
local within <const> = require "gibbous.gp.within"
local cholesky <const>, triangular_solve <const> = core.linalg.cholesky, core.linalg.triangular_solve

local M <const> = {}

-- Of the variances at the places.
local JITTER <const> = 1e-8
M.JITTER = JITTER

-- What is made of the data --------------------------------------------------------------------------------------------------

local function wide(t) return t.dtype == "f64" and t or t:to{dtype = "f64"} end

--- x, y and known noise (nil: none) as rows of a batch, so that all sums over them may be cut anywhere. They are data, without the
-- gradients of what they were made of: residuals of another model, or the outputs of a network.
function M.batch(x, y, known)
  x, y = x:detach(), y:detach()
  if known then return core.lazy(x, y, known:detach(), {batch = 1}) end
  return core.lazy(x, y, {batch = 1})
end

--- K_zz with its jitter, (m, m).
local function of_places(f, z) return f.kernel(z) + core.linalg.diag(f.kernel:diag(z) * JITTER) end

--- {z, Kzz, L} of a model with places, lazy; like: a tensor of the dtype and device.
function M.places(self, like)
  local f <const> = model.fields(self)
  local z <const> = places.like(f.inducing, like)
  local Kzz <const> = of_places(f, z)
  return {z = z, Kzz = Kzz, L = cholesky(Kzz)}
end

--- The same with data x (n, d), y (n), in f64: K (m, n) and U, r, k and the noise, one element or (n). The rows are a batch.
function M.rows(self, at, x, y)
  local f <const> = model.fields(self)
  local known = f.likelihood.kind == "fixed" and f.likelihood:variance(x) or nil
  x, y, known = M.batch(x, y, known)
  x, y, known = wide(x), wide(y), known and wide(known)
  local K <const> = f.kernel(at.z, x)
  return {z = at.z, Kzz = at.Kzz, L = at.L, K = K, U = triangular_solve(at.L, K), r = y - f.mean(x), k = f.kernel:diag(x),
    noise = known or f.likelihood:variance(x), n = #x, kind = f.solver}
end

--- The same of the model's own data. kind: "vfe" or "fitc"; nil: the model's.
function M.data(self, kind)
  local f <const> = model.fields(self)
  local p <const> = M.rows(self, M.places(self, wide(f.x)), f.x, f.y)
  p.kind = kind or p.kind
  return p
end

-- Sums over the rows ----------------------------------------------------------------------------------------------------------

local function squares(U) return (U * U):sum(1) end

--- S of rows p (M.rows): one element or (n). more: noise beside theirs.
function M.spread(p, more)
  local s <const> = more and p.noise + more or p.noise
  return p.kind == "fitc" and s + core.maximum(p.k - squares(p.U), 0.0) or s
end

--- {gram = U w U' (m, m), proj = U w r (m), quad = r'w r, logs = log det S, trace = sum(w k)}, lazy.
function M.sums(p, more)
  local s <const> = M.spread(p, more)
  local one <const>, w <const> = s.ndim == 0, 1 / s
  local scaled <const> = one and p.U or p.U * w:unsqueeze(1)
  local gram <const>, proj <const> = scaled:matmul(p.U:t()), scaled:matmul(p.r)
  local quad <const>, trace <const> = (p.r * p.r * w):sum(), (p.k * w):sum()
  local logs <const> = one and p.n * s:log() or s:log():sum()
  return {gram = one and gram * w or gram, proj = one and proj * w or proj, quad = quad, logs = logs, trace = trace}
end

--- Sums computed within a budget, with the factor of K_zz, and held (core.hold): plain values with their history.
function M.computed(p, sums, budget)
  local names <const>, values <const> = {"gram", "proj", "quad", "logs", "trace"}, {}
  for i, name in ipairs(names) do values[i] = sums[name]:detach() end
  within(budget)(p.L, table.unpack(values))
  local out <const> = {}
  for i, name in ipairs(names) do out[name] = core.hold(sums[name], values[i]:eval()) end
  return out
end

--- B's factor R and a of sums, lazy.
function M.solution(sums)
  local R <const> = cholesky(sums.gram + core.eye(#sums.gram))
  return R, core.solve_chol(R, sums.proj)
end

--- F of sums over n rows; traced: with the trace term.
function M.value(sums, n, traced)
  local R <const>, a <const> = M.solution(sums)
  local v <const> = sums.quad - (sums.proj * a):sum() + 2 * R:diagonal():log():sum() + sums.logs + n * math.log(2 * math.pi)
  return (traced and v + sums.trace - sums.gram:diagonal():sum() or v) / 2
end

-- Slopes ----------------------------------------------------------------------------------------------------------------------

--- 0, whose derivative by x is 'slope'. like: the shape of the slope.
local function bend(x, slope, like)
  return core.with_slope(core.zeros(like.shape), x, slope):sum()
end

--- The zeros that give F its derivatives by K_zz, K_zx, r, k and the noise of rows p, from their sums.
local function slopes(p, sums)
  local fitc <const>, eye <const> = p.kind == "fitc", core.eye(#sums.gram)
  local R <const>, a <const> = M.solution(sums)
  local w <const> = (1 / M.spread(p)):expand(p.n)
  local B_inverse <const>, aa <const> = core.solve_chol(R, eye), a:unsqueeze(2) * a:unsqueeze(1)
  local Q <const> = fitc and B_inverse + aa or B_inverse + aa - eye
  local QU <const> = Q:matmul(p.U)
  local aU <const> = (a:unsqueeze(2) * p.U):sum(1)
  local of_w <const> = ((p.U * QU):sum(1) + p.r * p.r + (fitc and 0 or p.k) - 1 / w) / 2 - aU * p.r
  local of_noise <const> = -w * w * of_w
  local of_U = (QU - a:unsqueeze(2) * p.r:unsqueeze(1)) * w:unsqueeze(1)
  -- dF/dU U', of which fitc's part through q is a sum over the rows of its own
  local turned = fitc and eye - B_inverse - aa or 2 * eye - B_inverse - sums.gram - eye - aa
  if fitc then
    of_U = of_U - 2 * of_noise:unsqueeze(1) * p.U
    turned = turned - 2 * (p.U * of_noise:unsqueeze(1)):matmul(p.U:t())
  end
  local back <const> = {transposed = true}
  local half <const> = triangular_solve(p.L, turned, back)               -- L^-T (dF/dU U')
  local of_Kzz <const> = -0.5 * triangular_solve(p.L, half:t(), back)
  return bend(p.K, triangular_solve(p.L, of_U, back), p.K) + bend(p.Kzz, of_Kzz, of_Kzz)
    + bend(p.r, w * (p.r - aU), p.r) + bend(p.k, fitc and of_noise or w / 2, p.k) + bend(p.noise, of_noise, p.r)
end

-- Objectives --------------------------------------------------------------------------------------------------------------------

--- F of rows p, whose sums are computed now, and these: O(n m^2) time, and as few rows at once as the budget asks for. Its
-- gradients, of any order, are those of F as a function of the parameters, the places and y.
function M.objective(p, budget)
  local sums <const> = M.computed(p, M.sums(p), budget)
  return M.value(sums, p.n, p.kind == "vfe"):detach() + slopes(p, sums), sums
end

--- A step as a plan has it: its second pass from sums that stand for those of the first, which it waits for. beside: bytes of what
-- is made of the sums and stays for the second pass; nil: nothing is.
function M.planned(p, budget, beside)
  local m <const>, own <const> = #p.z, M.sums(p)
  local function first() return {p.L, own.gram, own.proj, own.quad, own.logs, own.trace} end
  local function cost()
    local plan <close> = core.plan(first(), {budget = budget})
    return {what = ("the sums over %s"):format(counted(p.n, "row")), bytes = plan.peak, minimum = plan.minimum,
      kept = 8 * (m * (2 * m + 1) + 3) + (beside or 0), seconds = plan.seconds}
  end
  local sums <const> = {
    gram = core.empty(m, m), proj = core.empty(m), quad = core.empty{}, logs = core.empty{}, trace = core.empty{}}
  local second <const> = {}
  for key, v in pairs(p) do second[key] = v end
  second.L = core.empty(m, m)
  second.U = triangular_solve(second.L, p.K)
  return M.value(sums, p.n, p.kind == "vfe"):detach() + slopes(second, sums),
    core.promise({}, "f64", function() return own.quad end, cost)
end

-- What lies between -------------------------------------------------------------------------------------------------------------

---@class gibbous.bounds
---@field bound string          "vfe" or "fitc": what the fit maximised
---@field inducing integer      m
---@field n integer             rows
---@field lower number          nats: the collapsed bound
---@field upper number          nats: the exact log marginal likelihood at these parameters is not above it
---@field gap number            upper - lower
---@field gap_per_point number  gap / n
---@field trace number          sum(k - q), the prior variance of the rows that the places leave
local Bounds <const> = object.record("gibbous.bounds", "the bounds of a sparse model", "")

function Bounds.__tostring(self)
  return ("%s: the exact log marginal likelihood is between %.4f and %.4f, a gap of %.3g nats, %.2g a point"):format(
    counted(self.inducing, "inducing point"), self.lower, self.upper, self.gap, self.gap_per_point)
end

--- The bounds at the present parameters, of y in its own units. Two passes over the rows, O(n m^2), each within a budget in bytes,
-- nil: what there is.
function M.between(self, budget)
  local f <const>, p <const> = model.fields(self), M.data(self, "vfe")
  local sums <const> = M.computed(p, M.sums(p), budget)
  local lower <const> = M.value(sums, p.n, true)
  local left <const> = (p.k - squares(p.U)):sum()
  within(budget)(lower, left)
  local trace <const> = math.max(left:item(), 0.0)
  -- log det C is at least that of U'U + D, and C at most U'U + D + trace I.
  local raised <const> = M.computed(p, M.sums(p, trace), budget)
  local _, a <const> = M.solution(raised)
  local R <const> = M.solution(sums)
  local upper <const> = (2 * R:diagonal():log():sum() + sums.logs + raised.quad - (raised.proj * a):sum()
    + p.n * math.log(2 * math.pi)) / 2
  core.eval(upper)
  local shift <const> = scaling.log_scale(self)
  local low <const>, high <const> = -lower:item() - shift, -upper:item() - shift
  return setmetatable({bound = f.solver, inducing = #p.z, n = p.n, lower = low, upper = high, gap = high - low,
    gap_per_point = (high - low) / p.n, trace = trace}, Bounds)
end


return M

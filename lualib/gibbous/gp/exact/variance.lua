--- What data explain of the prior variance, by three algorithms. Each has
--   explained(cross, m)   q (m): diag(k C^-1 k') for k = cross(1, m) (m, n), and the size of the rounding errors in it
--   joint(cross, m)       (m, m): k C^-1 k'
--   bound(cross, m)       (m): how much too small q may be beyond rounding, infinite where that is not known; nil: no part is
--   left out
-- and 'report', what its solves said; 'solves': explained and joint compute when they are called, else they are lazy.
-- cross(from, to) gives rows of k. 'more' is nil, or what further observations explain: u = more(v, from, to), (c, points) or
-- (b, c, points), explains u'u beside v'v, where v (n, points) is the algorithm's half of what the data explain; then q is (m) or
-- (b, m). more(false, from, to) is the same without v, to differentiate.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"
local low_rank_variance <const> = require "gibbous.gp.exact.low_rank_variance"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

--- 'value', whose gradient is that of 'form', an equal value. The forms are made of solutions, whose gradients go straight to C
-- and cost no more than they do; those of the roots behind the values would go through the factorisation, or stop at a solver.
local function by_form(value, form) return core.with_slope(value, form, core.full({}, 1, {dtype = value.dtype})) end
M.by_form = by_form

local function squares(u) return (u * u):sum(-2) end

local function gram(u) return u:t():matmul(u) end

-- By a factor -----------------------------------------------------------------------------------------------------------------

--- C = L L'. Nothing is inverted: q = |v|^2 for v = L^-1 k'. Lazy, so that a plan cuts the points where n m values do not fit.
function M.direct(factor, more)
  return {
    explained = function(cross, m)
      local k <const> = cross(1, m):t()
      local v <const> = core.linalg.triangular_solve(factor, k)
      local q <const> = by_form(squares(v), (k * core.solve_chol(factor, k)):sum(1))
      return more and q + squares(more(v, 1, m)) or q
    end,
    joint = function(cross, m)
      local k <const> = cross(1, m):t()
      local v <const> = core.linalg.triangular_solve(factor, k)
      local q <const> = by_form(gram(v), k:t():matmul(core.solve_chol(factor, k)))
      return more and q + gram(more(v, 1, m)) or q
    end,
  }
end

-- Slices ----------------------------------------------------------------------------------------------------------------------

-- Right-hand sides solved together at most, and the values in them where n is small. More are not faster: the pairs' values are
-- then a small part of the work.
local WIDEST <const>, WIDEST_VALUES <const> = 128, 1 << 18
-- Values held for one right-hand side and data point: six of a run of conjugate gradients and those built here.
local VALUES <const> = 16

--- How many of m points to take at once: 'widest' at most, of 'values' numbers each, in half the memory there is.
local function width_of(m, values, widest)
  return math.tointeger(math.max(1, math.min(m, widest, core.memory.room() // (2 * 8 * values))))
end

--- How many of m points a solver takes at once, of n data.
function M.width(m, n) return width_of(m, VALUES * n, math.max(WIDEST, WIDEST_VALUES // n)) end

--- Bytes with which a solver takes as many points at once as it ever does, and has the rank for many (solvers/system.lua).
function M.room(n) return 2 * 8 * VALUES * n * math.max(WIDEST, WIDEST_VALUES // math.max(n, 1)) end

--- Calls f(from, to) for slices of 1 .. m of this width; one that is refused is halved.
local function in_slices(m, width, f)
  local from = 1
  while from <= m do
    local to <const> = math.min(m, from + width - 1)
    local ok <const>, err <const> = pcall(f, from, to)
    if ok then
      from = to + 1
    elseif width > 1 and raised.is(err, "refused", "oom") then
      width = width // 2
    else
      error(err, 0)
    end
  end
end

local function joined(parts, axis, like)
  if #parts == 0 then return core.zeros(0, {dtype = like}) end
  return #parts == 1 and parts[1] or core.cat(parts, axis):eval()
end

--- Plain values of slices as one, along the last axis, with the gradients of lazy forms, one a slice: of all that is held once.
local function told(values, forms, like)
  local value <const> = joined(values, -1, like)
  if #values == 0 then return value end
  return core.hold(#forms == 1 and forms[1] or core.cat(forms, -1), value)
end

-- By a low-rank cache ---------------------------------------------------------------------------------------------------------

-- Values of the root at most that are held at once.
local CACHED_VALUES <const> = 1 << 21

--- 'k' the covariance of f at the data, 'c' that of the observations, 'noise' their least noise variance.
function M.cached(state, k, c, rank, noise)
  local size <const> = math.min(rank, #c)
  local made
  local function cache()
    made = made or low_rank_variance(state, k, c, rank, 0)
    return made
  end
  --- f(k) (c) for slices k (n, c), with the gradient of form(k): lazy where one is enough, else computed now.
  local function each(cross, m, f, form)
    local width <const> = width_of(m, 8 * size + 64, math.max(1024, CACHED_VALUES // size))
    if width == m then
      local k <const> = cross(1, m):t()
      return form and by_form(f(k), form(k)) or f(k):detach()
    end
    local parts <const>, forms <const> = {}, {}
    in_slices(m, width, function(from, to)
      local k <const> = cross(from, to):t()
      parts[#parts + 1] = f(k):detach():eval()
      forms[#parts] = form and form(k)
    end)
    return form and told(parts, forms) or joined(parts, 1)
  end
  local function explained(k) return squares(cache():root(k)) end
  local function form(k)
    local b <const>, x <const> = cache():sides(k)
    return (b * x):sum(1)
  end
  local least <const> = core.maximum(noise, 1e-30)
  return {
    rank = size, solves = true,
    explained = function(cross, m) return each(cross, m, explained, form) end,
    joint = function(cross, m)
      local k <const> = cross(1, m):t()
      local b <const>, x <const> = cache():sides(k)
      return by_form(gram(cache():root(k)), b:t():matmul(x))
    end,
    bound = function(cross, m) return each(cross, m, function(k) return cache():residual(k) / least end) end,
  }
end

-- By a solver -----------------------------------------------------------------------------------------------------------------

local Report <const> = {}
Report.__index = Report

--- partial: the solve's share is of a part of what is explained, and says nothing of a whole variance.
function Report:add(info, partial)
  self.slices, self.seconds = self.slices + 1, self.seconds + (info.seconds or 0)
  self.converged = self.converged and info.converged
  self.iterations = math.max(self.iterations, info.iterations or 0)
  if info.missing and not partial then
    self.variance_error = math.max(self.variance_error or 0, math.min(info.missing, 1))
  elseif not info.missing then
    self.residual = math.max(self.residual, info.residual or 0)
  end
  if not info.converged then self.reason = info.reason end
end

--- Right-hand sides k' (n, c) as a solver takes them: 0 in the place of what is not finite.
local function sound(k) return core.where((k * 0):eq(0), k, 0.0) end

--- What makes NaN (c) of the points that right-hand sides which are not finite came from.
local function lost_of(k) return core.where((k * 0):eq(0), 0.0, 0 / 0):sum(1):to{dtype = k.dtype} end

--- The variances behind forms q = b' C^-1 b for b = k': with residuals R = b - C v of solutions v, 2 b'v - v'Cv is below q by R'
-- C^-1 R: quadratic in what the solver left, and never above. Computed when asked for, in slices. A gradient solves again, to the
-- solver's tolerance of the residual: v, good enough for q, has the square root of its error. 'prior(from, to)' gives prior
-- variances; 'noise' is the least noise variance. With 'more', which is made of solutions too, there is no bound.
function M.solver(system, prior, noise, more)
  local report <const> = setmetatable({slices = 0, seconds = 0.0, converged = true, residual = 0.0, iterations = 0}, Report)
  local n <const>, dtype <const> = #system.a, system.a.dtype
  local missing
  --- f(from, to, system) for slices of the points.
  local function slices(m, f)
    local all <close> = system.for_many and system:for_many(m)
    in_slices(m, M.width(m, n), function(from, to) f(from, to, all or system) end)
  end
  local function solved(by, b, from, to)
    local v <const>, info <const>, q <const>, below <const> = base.forms(by, b, prior(from, to):detach():eval(), noise)
    report:add(info, more)
    return v, q:to{dtype = dtype}, below
  end
  local function explained(cross, m)
    local parts <const>, forms <const>, sizes <const>, bounds <const> = {}, {}, {}, {}
    slices(m, function(from, to, by)
      local lazy <const> = cross(from, to):t()
      local b <const>, lost <const> = sound(lazy:detach()), lost_of(lazy:detach())
      core.eval(b, lost)
      local v <const>, value <const>, below <const> = solved(by, b, from, to)
      local live <const> = sound(lazy)
      local q, form = lost + value, (live * system:lazy(live, to - from + 1 == m and v or nil)):sum(1)
      if more then q, form = q + squares(more(v, from, to)):detach(), form + squares(more(false, from, to)) end
      local size <const> = (v * b):abs():sum(1)
      core.eval(q, size)
      parts[#parts + 1], forms[#forms + 1], sizes[#sizes + 1], bounds[#bounds + 1] = q, form, size, below
    end)
    missing = #bounds == #parts and joined(bounds, 1, dtype) or nil
    return told(parts, forms, dtype), joined(sizes, 1, dtype)
  end
  local function joint(cross, m)
    local all <const>, images <const> = {}, {}
    slices(m, function(from, to, by)
      local v <const> = solved(by, sound(cross(from, to):t():detach()):eval(), from, to)
      all[#all + 1], images[#images + 1] = v, system.a:matmul(v):eval()
    end)
    local v <const> = joined(all, 2)
    local s <const>, k <const> = cross(1, m):matmul(v), cross(1, m)
    local own <const> = by_form(s + s:t() - v:t():matmul(joined(images, 2)),
      k:matmul(system:lazy(sound(k:t()), v)))
    return more and own + gram(more(v, 1, m)) or own
  end
  local function bound(cross, m)
    if missing == nil then explained(cross, m) end
    return missing or core.full({m}, math.huge, {dtype = dtype})
  end
  return {explained = explained, joint = joint, bound = not more and bound or nil, report = report, solves = true}
end

return M

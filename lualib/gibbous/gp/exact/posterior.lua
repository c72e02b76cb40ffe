--- The exact posterior (gp/posterior.lua): by a factor of C = k(x, x) + noise, O(n^3), or by a solver that never stores C.
-- Source: Rasmussen & Williams (2006), equations 2.25 and 2.26.
local algorithm <const> = require "gibbous.gp.algorithm"
local cache <const> = require "gibbous.gp.exact.posterior_cache"
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local covariance <const> = require "gibbous.gp.covariance"
local forecast <const> = require "gibbous.gp.exact.forecast"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"
local precision_twin <const> = require "gibbous.gp.exact.precision_twin"
local stored_state <const> = require "gibbous.gp.exact.stored_state"
local variance <const> = require "gibbous.gp.exact.variance"

local DEFAULT_RANK <const> = 100

local M <const> = {worker = precision_twin, components = true, gradients = true}

--- Rows from..to of the points of a query.
local function some(query, from, to)
  return (from == 1 and to == query.count) and query.inputs or query.inputs:slice(1, from, to)
end

--- The algorithm of variances (gp/exact/variance.lua) for a query.
local function variances(self, state, query)
  local f <const>, o <const> = model.fields(self), query.options
  if o.variance ~= "cached" and not state.system then return variance.direct(state.factor, query.further) end
  local noise <const>, kernel <const> = f.likelihood:variance(f.x):min(), component.kernel(query, f.kernel)
  if o.variance == "cached" then
    return variance.cached(state, f.kernel(f.x), covariance.of(self), o.rank or DEFAULT_RANK, noise)
  end
  local function prior(from, to) return kernel:diag(some(query, from, to)) end
  return variance.solver(state.system, prior, noise:item(), query.further)
end

function M.room(self, solver)
  return algorithm.is_iterative(solver) and variance.room(#model.fields(self).x) or 0
end

function M.prepare(self, query)
  local f <const> = model.fields(self)
  local state <const>, reused <const> = cache.of(self)
  local how <const> = variances(self, state, query)
  -- of now, whatever the model is fitted to later
  local kernel <const>, x <const> = component.kernel(query, f.kernel), component.data(query, f.x)
  local function cross(from, to) return kernel(some(query, from, to), x) end
  return {state = state, how = how, cross = cross, reused = reused, solve = state.solve, converged = state.converged, count = #x,
    algorithm = state.system and tostring(f.active) or "direct", variance = query.options.variance, rank = how.rank,
    computes = how.solves, report = how.report,
    bound = how.bound and function(q) return how.bound(cross, q.count) end or nil}
end

function M.mean(self, ready, query)
  local f <const> = model.fields(self)
  local cross <const> = component.kernel(query, f.kernel)(query.inputs, component.data(query, f.x))
  return component.mean(query, f.mean, query.inputs) + cross:matmul(ready.state.alpha)
end

function M.explained(_, ready, query) return ready.how.explained(ready.cross, query.count) end

function M.joint(_, ready, query) return ready.how.joint(ready.cross, query.count) end

function M.objective(self, solver, kind) return objective.value(self, solver, kind) end

-- Optional -------------------------------------------------------------------------------------------------------------------

function M.decide(self, budget, untried) return objective.decide(self, budget, untried) end

function M.check_options(o)
  if o.rank == 0 then core.raise("option", "predict: the rank must be 1 or more") end
end

function M.guarded(self, what, f) return objective.guarded(self, what, f) end

function M.step(self, solver, kind) return objective.plan_of_step(self, solver, kind) end

function M.cost(self, query, key) return forecast.of(self, query.inputs, query.options, key, nil, query) end

function M.announce(self, query, key) forecast.announce(self, query.inputs, query.options, key, nil, query) end

--- C^-1 b for b (n, r), computed and held, and the solver's record.
function M.solve(self, b)
  local state <const>, rhs <const> = cache.of(self), b:detach():eval()
  if state.system then
    local x <const>, info <const> = state.system:solve(rhs)
    return state.system:hold(b, x), info
  end
  local half <const> = core.linalg.triangular_solve(state.factor, rhs)
  local x <const> = core.linalg.triangular_solve(state.factor, half, {transposed = true}):detach()
  return core.hold(core.solve_chol(state.factor, b), x)
end

-- Columns of the identity that an iterative solver solves for at once.
local COLUMNS <const> = 64

--- diag(C^-1) (n) by n solves, and whether all converged.
local function diagonal_by_solver(system, n, dtype)
  local parts <const>, converged = {}, true
  for from = 1, n, COLUMNS do
    local last <const> = math.min(n, from + COLUMNS - 1)
    local lazy <const> = core.eye(n, {dtype = dtype}):slice(2, from, last)
    local unit <const> = lazy:detach():eval()
    local x <const>, info <const> = system:solve(unit)
    local form <const> = (system:lazy(lazy) * lazy):sum(1)
    parts[#parts + 1] = core.hold(form, (x * unit):sum(1):detach())
    converged = converged and info.converged
  end
  return core.cat(parts, 1), converged
end

--- The diagonal of C^-1 and C^-1 (y - m(x)), (n), and whether solves converged; computed in f64 where predictions are.
function M.leave_one_out(self)
  local worker <const>, narrow <const> = precision_twin(self, nil), {dtype = model.fields(self).x.dtype}
  local f <const> = model.fields(worker)
  local state <const> = cache.of(worker, "leave_one_out")
  local function diagonal_of()
    if not algorithm.is_iterative(f.active) then return covariance.inverse_diagonal(covariance.of(worker)), true end
    return diagonal_by_solver(state.system, #f.x, f.x.dtype)
  end
  local diagonal <const>, converged <const> = diagonal_of()
  return diagonal:to(narrow), state.alpha:to(narrow), converged and state.converged
end

M.write_state, M.read_state = stored_state.write, stored_state.read

return require "gibbous.gp.posterior".check(M)

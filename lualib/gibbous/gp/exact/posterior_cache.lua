--- What an exact model keeps for predictions, until a parameter or the data change (gp/posterior_cache.lua):
--   stamp      of the parameters it holds for
--   factor     direct: L with L L' = C, a tensor (n, n) or, after condition, a factor that grows; for triangular_solve
--   half       direct, after condition: L^-1 (y - m(x)), (n), a plain value
--   system     by a solver: the prepared matrix
--   alpha      C^-1 (y - m(x)), (n)
--   converged  whether that was solved to the tolerance
--   solve      the solver's record of it, nil when direct
--   carried    whether it followed from the state of a smaller model: made from the start it would round otherwise
--   low_rank   the cache of variance = "cached" (gp/exact/low_rank_variance.lua), once it was asked for
-- factor and alpha are held (core.hold): plain values with the history of what they are the values of. So predictions cost what
-- they cost with plain values, and have gradients by parameters, noise, inputs and y.
local algorithm <const> = require "gibbous.gp.algorithm"
local core <const> = require "gibbous.core"
local covariance <const> = require "gibbous.gp.covariance"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local update_record <const> = require "gibbous.gp.update_record"

local M <const> = {}

--- Gives the values of a state their history, for the model's present data and parameters. factor: that of the covariance, where
-- it was built already.
function M.hold(self, state, factor)
  local r <const> = covariance.residual(self)
  if state.system then
    state.alpha = state.system:hold(r, state.alpha)
    return state
  end
  factor = factor or core.linalg.cholesky(covariance.of(self))
  state.factor = core.type(state.factor) == "tensor" and core.hold(factor, state.factor) or state.factor:hold(factor)
  state.alpha = core.hold(core.solve_chol(state.factor, r), state.alpha)
  return state
end

local function factored(self, state, what)
  local c <const>, r <const> = covariance.of(self), covariance.residual(self)
  state.factor, state.alpha = core.linalg.cholesky(c), core.linalg.solve(c, r)
  objective.guarded(self, what, function() core.eval(state.factor, state.alpha) end)
end

local function solved(self, state, what)
  local f <const> = model.fields(self)
  local c <const>, r <const> = covariance.of(self), covariance.residual(self)
  local info
  objective.guarded(self, what, function()
    state.system = f.active:prepare(c, f.kernel(f.x), covariance.noise_of(f))
    state.alpha, info = state.system:solve(r, nil, true)
  end)
  state.converged, state.solve = info.converged, info
  return info
end

--- The state of a model with data, and whether it was there already. 'what' ("predict") begins messages; f.update says what
-- making it took. Cost: O(n^3) by a factor, one solve by a solver. Errors: not_pd; nan; refused, oom.
function M.of(self, what)
  local f <const> = model.fields(self)
  return posterior_cache.of(self, function()
    f.active = f.active or objective.decide(self)
    if f.owner then f.owner.active = f.active end
    local start <const> = core.clock()
    local state <const> = {converged = true}
    local iterative <const> = algorithm.is_iterative(f.active)
    local info <const> = (iterative and solved or factored)(self, state, what or "predict")
    update_record.note(f, {kind = iterative and "solve" or "factor", rows = #f.x, onto = 0,
      reason = update_record.missing(f.owner or f), solve = info, seconds = core.clock() - start})
    return M.hold(self, state, state.factor)
  end)
end

return M

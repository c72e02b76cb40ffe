--- What a model keeps for predictions, until a parameter or the data changes:
--   stamp      of the parameters it holds for
--   factor     direct: L with L L' = C, a tensor (n, n) or, after condition, a factor that grows; for triangular_solve
--   half       direct, after condition: L^-1 (y - m(x)), (n), a plain value
--   system     else: the prepared solver
--   alpha      C^-1 (y - m(x)), (n)
--   converged  whether that was solved as exactly as asked
--   solve      the solver's record of it, nil when direct
--   carried    whether it followed from the state of a smaller model: made anew it would round otherwise
-- factor and alpha are held (core.hold): values that nothing computes again, with the history of what they are the values of. So
-- predictions cost what they cost with plain values, and have gradients by parameters, noise, inputs and y.
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"
local update <const> = require "gibbous.gp.update_record"

local M <const> = {}

--- Gives the values of a state their history, for the model's data and parameters as they are. factor: that of the covariance,
-- where it was built already.
function M.hold(self, state, factor)
  local r <const> = objective.residual(self)
  if state.system then
    state.alpha = state.system:hold(r, state.alpha)
    return state
  end
  factor = factor or core.linalg.cholesky(objective.covariance(self))
  state.factor = core.type(state.factor) == "tensor" and core.hold(factor, state.factor) or state.factor:hold(factor)
  state.alpha = core.hold(core.solve_chol(state.factor, r), state.alpha)
  return state
end

local function factored(self, state, what)
  local c <const>, r <const> = objective.covariance(self), objective.residual(self)
  state.factor, state.alpha = core.linalg.cholesky(c), core.linalg.solve(c, r)
  objective.guarded(self, what, function() core.eval(state.factor, state.alpha) end)
end

local function solved(self, state, what)
  local f <const> = model.fields(self)
  local c <const>, r <const> = objective.covariance(self), objective.residual(self)
  local info
  objective.guarded(self, what, function()
    state.system = f.active:prepare(c, f.kernel(f.x), objective.noise_of(f))
    state.alpha, info = state.system:solve(r)
  end)
  state.converged, state.solve = info.converged, info
  return info
end

--- The state of a model with data, for 'what' ("predict"); f.update says what making it took.
function M.of(self, what)
  local f <const> = model.fields(self)
  local now <const> = model.stamp(self)
  if f.state and f.state.stamp == now then return f.state end
  f.active = f.active or objective.decide(self)
  if f.owner then f.owner.active = f.active end
  local start <const> = core.clock()
  local state <const> = {stamp = now, converged = true}
  local iterative <const> = objective.is_iterative(f.active)
  local info <const> = (iterative and solved or factored)(self, state, what or "predict")
  update.note(f, {kind = iterative and "solve" or "factor", rows = #f.x, onto = 0, reason = update.missing(f.owner or f),
    solve = info, seconds = core.clock() - start})
  f.state = M.hold(self, state, state.factor)
  return state
end

return M

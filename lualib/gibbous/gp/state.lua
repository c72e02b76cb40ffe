--- What a model keeps for predictions: a factor of the covariance or a prepared solver, and alpha = C^-1 (y - m(x)).
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.objective"

--- What predictions need, kept until a parameter or the data changes.
return function(self)
  local f <const> = model.fields(self)
  local now <const> = model.stamp(self)
  if f.state and f.state.stamp == now then return f.state end
  f.active = f.active or objective.decide(self)
  local c <const>, r <const> = objective.covariance(self), objective.residual(self)
  local state <const> = {stamp = now, converged = true}
  if objective.is_iterative(f.active) then
    state.system = f.active:prepare(c, f.kernel(f.x), objective.noise_level(f))
    local info
    state.alpha, info = state.system:solve(r)
    state.converged = info.converged
  else
    state.factor = core.linalg.cholesky(c):detach()
    state.alpha = core.linalg.solve(c, r):detach()
    objective.guarded(self, "predict", 3, function() core.eval(state.factor, state.alpha) end)
  end
  f.state = state
  return state
end

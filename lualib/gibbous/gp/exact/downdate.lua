--- What an exact model has for predictions, less some of its observations. With L the factor of C, and the rows up to the first
-- that goes unchanged, the factor of what stays is [[L11, 0], [L21, S]], S S' = T T', where T are the rows of L that stay below
-- and its columns from the first that goes: a Schur complement, which is positive definite and as well conditioned as C, so that
-- this is as stable as a new factor, at the cost of one of the rows below alone.
local cache <const> = require "gibbous.gp.exact.posterior_cache"
local core <const> = require "gibbous.core"
local covariance <const> = require "gibbous.gp.covariance"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local precision_twin <const> = require "gibbous.gp.exact.precision_twin"
local update_record <const> = require "gibbous.gp.update_record"

-- The part of the rows that may lie below: T T' and its factor are then cheaper than the covariance and its factor.
local BELOW <const> = 0.5

--- The factor of the rows 'keep' (list, ascending) of L (n, n), of which the first 'above' are the first of L.
local function without(L, keep, above)
  local n <const>, below <const> = #L, #keep - above
  local top <const> = above > 0 and L:slice(1, 1, above):slice(2, 1, above) or nil
  if below == 0 then return top end
  local rows <const> = L:index(1, core.tensor(table.move(keep, above + 1, #keep, 1, {}), {dtype = "i64"}))
  local T <const> = rows:slice(2, above + 1, n)
  local S <const> = core.linalg.cholesky(T:matmul(T:t()))
  if not top then return S end
  local right <const> = core.zeros(above, below, {dtype = L.dtype})
  return core.cat({core.cat({top, right}, 2), core.cat({rows:slice(2, 1, above), S}, 2)}, 1)
end

--- How many rows come before the first that is not kept.
local function count_above(keep)
  local above = 0
  while keep[above + 1] == above + 1 do above = above + 1 end
  return above
end

local function by_factor(self, out, keep, above)
  local factor <const>, state <const> = model.fields(self).state.factor, {stamp = model.stamp(out), converged = true}
  local L <const> = core.type(factor) == "tensor" and factor:detach() or factor:dense():detach()
  state.factor = without(L, keep, above):detach()
  objective.guarded(out, "remove", function()
    state.factor = state.factor:eval()
    state.alpha = core.solve_chol(state.factor, covariance.residual(out):detach()):detach():eval()
  end)
  return cache.hold(out, state)
end

--- The solver starts from the old solution.
local function by_solver(self, out, keep)
  local f <const>, g <const>, state <const> = model.fields(self), model.fields(out), {stamp = model.stamp(out)}
  local start <const> = f.state.alpha:detach():index(1, core.tensor(keep, {dtype = "i64"})):eval()
  state.system = g.active:prepare(covariance.of(out), g.kernel(g.x), covariance.noise_of(g))
  state.alpha, state.solve = state.system:solve(covariance.residual(out), start)
  state.converged = state.solve.converged
  return cache.hold(out, state)
end

--- Gives 'out', which holds the rows 'keep' of the data of 'self', what follows from self's state; where nothing does, its first
-- prediction begins anew.
local function carry(self, out, keep)
  local f <const>, g <const> = model.fields(self), model.fields(out)
  local start <const>, gone <const>, above <const> = core.clock(), #f.x - #keep, count_above(keep)
  local function left(reason) update_record.note(g, {kind = "none", rows = 0, onto = 0, seconds = 0, reason = reason}) end
  if not posterior_cache.present(self) then
    return left(update_record.missing(f) or "the model was not asked for a prediction before")
  end
  g.active = f.active
  if f.state.system then
    g.state = by_solver(self, out, keep)
  elseif #keep - above > BELOW * #keep then
    return left("most rows lie below the first that was removed")
  else
    g.state = by_factor(self, out, keep, above)
  end
  g.state.carried = true
  update_record.note(g, {kind = "remove", rows = gone, onto = #keep, seconds = core.clock() - start, solve = g.state.solve})
end

--- The same for the model that computes the predictions: itself, or its twin in f64.
return function(self, out, keep)
  local f <const> = model.fields(self)
  carry(self, out, keep)
  if f.twin == nil then return end
  model.fields(out).active = f.active
  carry(f.twin, precision_twin(out, "f64"), keep)
end

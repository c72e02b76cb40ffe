--- More observations for an exact model without another fit. What the model has for predictions grows with them: k rows are
-- appended to a factor in O(n^2 k) (core.factor), while a new factor costs O(n^3); a solver starts from the old solution.
local cache <const> = require "gibbous.gp.exact.posterior_cache"
local core <const> = require "gibbous.core"
local covariance <const> = require "gibbous.gp.covariance"
local fantasies <const> = require "gibbous.gp.exact.fantasies"
local model <const> = require "gibbous.gp.model"
local more_rows <const> = require "gibbous.gp.more_rows"
local objective <const> = require "gibbous.gp.exact.objective"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local precision_twin <const> = require "gibbous.gp.exact.precision_twin"
local update_record <const> = require "gibbous.gp.update_record"

--- The covariance of new observations with each other: k(x, x) + noise; noise one element or (k).
local function corner(kernel, x, noise) return kernel(x) + noise * core.eye(#x, {dtype = x.dtype}) end

--- The state's factor as one that grows, and L^-1 (y - m(x)): made once, O(n^2).
local function growing(self, state)
  if state.half == nil then
    state.half = core.linalg.triangular_solve(state.factor, covariance.residual(self)):detach():eval()
    if core.type(state.factor) == "tensor" then
      state.factor = core.factor(state.factor:detach()):hold(core.linalg.cholesky(covariance.of(self)))
    end
  end
  return state.factor, state.half
end

local function append(self, out, x, y, noise)
  local f <const>, g <const> = model.fields(self), model.fields(out)
  local factor <const>, half <const> = growing(self, f.state)
  local rows <const> = g.kernel(x, f.x):detach()
  local state <const> = {stamp = model.stamp(out), converged = true}
  state.factor = objective.guarded(out, "condition", function()
    return factor:append(rows, corner(g.kernel, x, noise):detach())
  end)
  state.half = state.factor:extend(half, (y - g.mean(x)):detach())
  state.alpha = state.factor:back_solve(state.half):detach():eval()
  return cache.hold(out, state), {kind = "append", bytes = state.factor.bytes}
end

--- The solver builds its preconditioner again, which costs about one step, and starts from the old solution.
local function warm_start(self, out, x)
  local f <const>, g <const> = model.fields(self), model.fields(out)
  local state <const> = {stamp = model.stamp(out)}
  local start <const> = core.cat({f.state.alpha, core.zeros(#x, {dtype = x.dtype})}, 1):eval()
  local info
  state.system = g.active:prepare(covariance.of(out), g.kernel(g.x), covariance.noise_of(g))
  state.alpha, info = state.system:solve(covariance.residual(out), start)
  state.converged, state.solve = info.converged, info
  return cache.hold(out, state), {kind = "solve", solve = info}
end

--- Gives 'out', which holds the data of 'self' and then x (k, d), y (k) of these noise variances, the state that follows
-- from self's.
local function carry_over(self, out, x, y, noise)
  local f <const>, g <const> = model.fields(self), model.fields(out)
  local start <const> = core.clock()
  if not posterior_cache.present(self) then
    update_record.note(g, {kind = "none", rows = 0, onto = 0, seconds = 0,
      reason = update_record.missing(f) or "the model was not asked for a prediction before"})
    return
  end
  g.active = f.active
  local done
  g.state, done = (f.state.system and warm_start or append)(self, out, x, y, noise)
  g.state.carried = true
  done.rows, done.onto, done.seconds = #x, #f.x, core.clock() - start
  update_record.note(g, done)
end

--- The same for the model that computes the predictions: itself, or its twin in f64. noise: nil where the likelihood knows it.
local function carry_all(self, out, x, y, noise)
  local f <const> = model.fields(self)
  if f.x == nil or #f.x == 0 then return end
  noise = noise or model.fields(out).likelihood:variance(x)
  carry_over(self, out, x, y, noise)
  if f.twin == nil then return end
  model.fields(out).active = f.active
  local wide <const> = {dtype = "f64"}
  carry_over(f.twin, precision_twin(out, "f64"), x:to(wide), y:to(wide), noise:to(wide))
end

local methods <const> = {}

--- A new model that has also seen x (k, d) or (k), y (k). Parameters are copied (explicit gb.params and networks are shared) and
-- not fitted again; the old model stays as it is, and what it scales keeps its scale. A frame gives x and y by the names of its
-- columns: m:condition(frame, o). If the old model was ready for predictions, the new one is too: equal to
-- factoring from the start up to rounding, in O(n^2 k) time and O(n k) bytes beside the factor, which they share; with a solver,
-- to its residual. Otherwise the first prediction prepares it. m.update says which, and what it took.
-- o: noise (k), variances where the model's noise is known per observation; missing = "mask" leaves out rows where y is NaN.
-- y (b, k): b fantasies of the same points; x (b, k, d): of points of their own. The result then only predicts, all b at once
-- (gp/exact/fantasies.lua). Errors: option, shape, dtype, nan; not_pd.
function methods.condition(self, x, y, opts)
  local o
  x, y, o = more_rows.asked(self, x, y, opts)
  local f <const> = model.fields(self)
  if fantasies.is_batch(x, y) then
    local parts <const> = model.copy_parts(f)
    return fantasies.new(self, x, y, function(z) return more_rows.noise_of(f, parts, z, o.noise and o.noise:reshape(-1)) end)
  end
  local xs <const>, ys <const>, given <const> = more_rows.checked(self, x, y, o)
  local parts <const> = model.copy_parts(f)
  local noise <const> = more_rows.noise_of(f, parts, xs, given)
  local out <const> = model.class(self).new(parts)
  local own_x <const>, own_y <const> = more_rows.append(self, out, xs, ys)
  carry_all(self, out, own_x, own_y, noise)
  return out
end

return {methods = methods}

--- The state of an exact model in its file (gp/store.lua): written where that is asked for, and where computing it from the start
-- would give other bits; taken back only if it goes with the data.
local algorithm <const> = require "gibbous.gp.algorithm"
local cache <const> = require "gibbous.gp.exact.posterior_cache"
local core <const> = require "gibbous.core"
local covariance <const> = require "gibbous.gp.covariance"
local model <const> = require "gibbous.gp.model"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local precision_twin <const> = require "gibbous.gp.exact.precision_twin"
local stored <const> = require "gibbous.gp.stored"

local M <const> = {}

--- The state of one model, where it belongs to the present parameters.
local function of_one(w, self, caches)
  local state <const> = posterior_cache.present(self)
  if not state or not (caches or state.carried) then return nil end
  local factor, grown = state.factor, false
  if factor and core.type(factor) ~= "tensor" then factor, grown = factor:dense(), true end
  return {converged = state.converged, carried = state.carried, system = state.system ~= nil, grown = grown,
    alpha = w:value(state.alpha, "alpha"), half = w:value(state.half, "half"), factor = w:value(factor, "factor")}
end

--- Adds to the description of a model its state and that of its twin in f64. caches: true for all there is; nil for what followed
-- from the state of a smaller model.
function M.write(w, self, caches, described)
  local f <const> = model.fields(self)
  described.state, described.wide = of_one(w, self, caches), f.twin and of_one(w, f.twin, caches)
end

local function restore_one(r, self, saved)
  local f <const> = model.fields(self)
  local n <const>, dtype <const> = #f.x, f.x.dtype
  local state <const> = {alpha = stored.tensor(r, saved, "alpha", dtype, n), half = stored.tensor(r, saved, "half", dtype, n),
    factor = stored.tensor(r, saved, "factor", dtype, n, n), stamp = model.stamp(self), converged = saved.converged == true,
    carried = saved.carried == true}
  if saved.system and algorithm.is_iterative(f.active) then
    state.system = f.active:prepare(covariance.of(self), f.kernel(f.x), covariance.noise_of(f))
  end
  if state.alpha == nil or (state.factor == nil) == (state.system == nil) then r:fail "its caches are not complete" end
  if saved.grown then state.factor = core.factor(state.factor) end
  f.state = cache.hold(self, state)
end

--- Gives a model with data the state that its description holds. Errors: format.
function M.read(r, self, described)
  if described.grid ~= nil then r:fail "its caches do not go with the data" end
  if described.state ~= nil then restore_one(r, self, described.state) end
  if described.wide ~= nil then
    local twin <const> = precision_twin(self, "f64")
    if rawequal(twin, self) then r:fail "its caches do not go with the data" end
    restore_one(r, twin, described.wide)
  end
end

return M

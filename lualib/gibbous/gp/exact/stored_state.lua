--- What a model keeps for predictions, in its file: written where it is asked for, and where another computation would give other
-- bits; taken back only if it goes with the data.
local core <const> = require "gibbous.core"
local kronecker <const> = require "gibbous.gp.tasks.kronecker"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"
local states <const> = require "gibbous.gp.exact.posterior_cache"
local working <const> = require "gibbous.gp.exact.precision_twin"

local M <const> = {}

-- Writing -----------------------------------------------------------------------------------------------------------------

--- The state of one model, where it belongs to the parameters as they are.
local function of_one(w, self, caches)
  local state <const> = model.fields(self).state
  if not state or state.stamp ~= model.stamp(self) or not (caches or state.carried) then return nil end
  local factor, grown = state.factor, false
  if factor and core.type(factor) ~= "tensor" then factor, grown = factor:dense(), true end
  return {converged = state.converged, carried = state.carried, system = state.system ~= nil, grown = grown,
    alpha = w:value(state.alpha, "alpha"), half = w:value(state.half, "half"), factor = w:value(factor, "factor")}
end

local function of_grid(w, grid, caches)
  if not (caches and grid.state) then return nil end
  local out <const> = {}
  for name in pairs(kronecker.kept_shapes(#grid.x, grid.tasks)) do out[name] = w:value(grid.state[name], "grid." .. name) end
  return out
end

--- Adds to the description of an exact model its state, that of its twin in f64, and that of its grid. caches: true for all there
-- is, false for none; else what followed from the state of a smaller model.
function M.describe(w, self, caches, described)
  if caches == false then return end
  local f <const> = model.fields(self)
  if f.grid then
    described.grid = of_grid(w, f.grid, caches)
    return
  end
  described.state, described.wide = of_one(w, self, caches), f.twin and of_one(w, f.twin, caches)
end

-- Reading -----------------------------------------------------------------------------------------------------------------

--- Tensor 'name' of a saved state, of this dtype and these extents.
local function tensor(r, saved, name, dtype, ...)
  local t <const> = r:value(r:list(saved)[name])
  if t == nil then return nil end
  local fits = core.type(t) == "tensor" and t.ndim == select("#", ...) and t.dtype == dtype
  for i, extent in ipairs{...} do fits = fits and t.shape[i] == extent end
  if not fits then r:fail(("'%s' does not go with the data"):format(name)) end
  return t
end

local function restore_one(r, self, saved)
  local f <const> = model.fields(self)
  local n <const>, dtype <const> = #f.x, f.x.dtype
  local state <const> = {alpha = tensor(r, saved, "alpha", dtype, n), half = tensor(r, saved, "half", dtype, n),
    factor = tensor(r, saved, "factor", dtype, n, n), stamp = model.stamp(self), converged = saved.converged == true,
    carried = saved.carried == true}
  if saved.system and objective.is_iterative(f.active) then
    state.system = f.active:prepare(objective.covariance(self), f.kernel(f.x), objective.noise_of(f))
  end
  if state.alpha == nil or (state.factor == nil) == (state.system == nil) then r:fail "its caches are not complete" end
  if saved.grown then state.factor = core.factor(state.factor) end
  f.state = states.hold(self, state)
end

local function restore_grid(r, self, saved)
  local grid <const>, solved <const> = model.fields(self).grid, {}
  if grid == nil then r:fail "its caches do not go with the data" end
  for name, shape in pairs(kronecker.kept_shapes(#grid.x, grid.tasks)) do
    solved[name] = tensor(r, saved, name, "f64", table.unpack(shape)) or r:fail "its caches are not complete"
  end
  kronecker.restore(self, solved)
end

--- Gives an exact model with data what its description holds of these.
function M.restore(r, self, described)
  if described.state ~= nil then restore_one(r, self, described.state) end
  if described.wide ~= nil then
    local twin <const> = working(self, "f64")
    if rawequal(twin, self) then r:fail "its caches do not go with the data" end
    restore_one(r, twin, described.wide)
  end
  if described.grid ~= nil then restore_grid(r, self, described.grid) end
end

return M

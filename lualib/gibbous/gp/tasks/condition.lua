--- More observations for a model of several outputs without another fit.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local exact <const> = require "gibbous.gp.exact.condition"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.tasks.observations"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"
local update_record <const> = require "gibbous.gp.update_record"

local methods <const> = {}

--- A new model that has also seen x (k, d) or (k), y (k, T), or the rows of a frame: m:condition(frame, o). Parameters are copied
-- (explicit gb.params and networks are shared) and not fitted again; the old model stays as it is, and what it scales keeps its
-- scale. If a cell is missing, the new model is in the long form; an old model that was in it too and ready for predictions gives
-- it what it has, as gb.gp.exact's condition does, in O(N^2 K) for K more values onto N. If every cell has a value, the new model
-- keeps its Kronecker structure, and the first prediction makes the two eigendecompositions again, in O(n^3 + T^3). m.update says
-- which. o: missing "error" (default: NaN in y raises) or "mask" (such cells are left out). Errors: option, shape, dtype, nan;
-- not_pd.
---@return gibbous.gp.multitask
function methods.condition(self, x, y, opts)
  x, y, opts = frames.observed(self, x, y, opts, "condition")
  local o <const> = options.parse(opts, {missing = data.missing}, "condition")
  local f <const> = model.fields(self)
  local inside <const> = model.fields(f.inner)
  local given_x <const>, given_y <const> = observations.check(self, x, y, "condition", o.missing)
  data.check_width(f, given_x, "condition")
  local out <const> = model.bare(self)
  local xs <const>, ys <const> = scaling.extend(self, out, given_x, given_y, "condition")
  local all_x, all_y = xs, ys
  if f.x then all_x, all_y = core.cat({f.x, xs}, 1):eval(), core.cat({f.y, ys}, 1):eval() end
  local g <const> = model.fields(out)
  observations.take(out, all_x, all_y, "condition")
  if inside.grid or model.fields(g.inner).grid then
    observations.fill(out, all_x, all_y, "condition")
  else
    local more <const>, values <const> = observations.long(xs, ys)
    g.inner = exact.methods.condition(f.inner, more, values, {missing = "mask"})
  end
  frames.inherit(self, out)
  if inside.grid then
    update_record.note(model.fields(g.inner), {kind = "none", rows = 0, onto = 0, seconds = 0,
      reason = "the eigendecompositions of a complete y do not grow"})
  end
  return out
end

return {methods = methods}

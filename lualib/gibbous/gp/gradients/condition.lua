--- More observations of f and its derivatives without another fit.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local exact <const> = require "gibbous.gp.exact.condition"
local frames <const> = require "gibbous.gp.frames"
local model <const> = require "gibbous.gp.model"
local observations <const> = require "gibbous.gp.gradients.observations"
local options <const> = require "gibbous.base.options"

local methods <const> = {}

--- A new model that has also seen x (k, d) or (k), y (k, 1 + d), or the rows of a frame. Parameters are copied (explicit gb.params
-- and networks are shared) and not fitted again; the old model stays as it is. What an old model that was ready for predictions has
-- is carried over, as gb.gp.exact's condition does, in O(N^2 K) for K more values onto N. o: missing "error" (default: NaN in y
-- raises) or "mask" (such cells are left out). Errors: option, shape, dtype, nan; not_pd.
function methods.condition(self, x, y, opts)
  x, y, opts = frames.observed(self, x, y, opts, "condition")
  local o <const> = options.parse(opts, {missing = data.missing}, "condition")
  local f <const> = model.fields(self)
  local xs <const>, ys <const> = observations.check(self, x, y, "condition", o.missing)
  data.check_width(f, xs, "condition")
  local out <const> = model.bare(self)
  if f.x == nil or #f.x == 0 then
    observations.fill(out, xs, ys, "condition")
  else
    local g <const>, more <const>, values <const> = model.fields(out), observations.long(xs, ys)
    g.inner = exact.methods.condition(f.inner, more, values, {missing = "mask"})
    g.x, g.y = core.cat({f.x, xs}, 1):eval(), core.cat({f.y, ys}, 1):eval()
    model.fields(g.inner).points = g.x
  end
  frames.inherit(self, out)
  return out
end

return {methods = methods}

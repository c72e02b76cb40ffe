--- More observations without another fit: the mode of all is sought when a prediction needs it.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.options"
local scaling <const> = require "gibbous.gp.scaling"
local update_record <const> = require "gibbous.gp.update_record"

local methods <const> = {}

--- A new model that has also seen x (k, d) or (k), y (k). Parameters are copied (explicit gb.params and networks are shared) and
-- not fitted again; the old model stays as it is. Its first prediction seeks the mode for all observations: nothing of the old one
-- is carried over, since every weight changes. m:condition(frame, o): the rows of a frame. o: missing = "mask" leaves out rows
-- where y is NaN. Errors: option, shape, dtype, nan.
function methods.condition(self, x, y, opts)
  x, y, opts = frames.observed(self, x, y, opts, "condition")
  local o <const> = options.parse(opts, {missing = data.missing}, "condition")
  local f <const> = model.fields(self)
  local xs <const>, ys <const> = model.class(self).observations.check(self, x, y, "condition", o.missing or nil)
  data.check_width(f, xs, "condition")
  local out <const>, onto <const> = model.bare(self), f.x and #f.x or 0
  local own_x, own_y = scaling.extend(self, out, xs, ys, "condition")
  if onto > 0 then own_x, own_y = core.cat({f.x, own_x}, 1), core.cat({f.y, own_y}, 1) end
  model.set_data(out, own_x, own_y)
  frames.inherit(self, out)
  update_record.note(model.fields(out), {kind = "none", rows = 0, onto = 0, seconds = 0,
    reason = "the mode of all observations is sought when it is needed"})
  return out
end

return {methods = methods}

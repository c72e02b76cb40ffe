--- More observations without another fit: the mode of all is sought when a prediction needs it.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.options"
local update_record <const> = require "gibbous.gp.update_record"

local methods <const> = {}

--- A new model that has also seen x (k, d) or (k), y (k). Parameters are copied (explicit gb.params and networks are shared) and
-- not fitted again; the old model stays as it is. Its first prediction seeks the mode for all observations: nothing of the old one
-- is carried over, since every weight changes. o: missing = "mask" leaves out rows where y is NaN. Errors: option, shape, dtype, nan.
function methods.condition(self, x, y, opts)
  local o <const> = options.parse(opts, {missing = data.missing}, "condition")
  local f <const> = model.fields(self)
  local xs, ys = model.class(self).observations.check(self, x, y, "condition", o.missing or nil)
  data.check_width(f, xs, "condition")
  local out <const>, onto <const> = model.bare(self), f.x and #f.x or 0
  if onto > 0 then xs, ys = core.cat({f.x, xs}, 1), core.cat({f.y, ys}, 1) end
  model.set_data(out, xs, ys)
  update_record.note(model.fields(out), {kind = "none", rows = 0, onto = 0, seconds = 0,
    reason = "the mode of all observations is sought when it is needed"})
  return out
end

return {methods = methods}

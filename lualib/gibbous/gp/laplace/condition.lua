--- More observations without another fit: the mode of all is sought when a prediction needs it.
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"
local more_rows <const> = require "gibbous.gp.more_rows"
local update_record <const> = require "gibbous.gp.update_record"

local methods <const> = {}

--- A new model that has also seen x (k, d) or (k), y (k). Parameters are copied (explicit gb.params and networks are shared) and
-- not fitted again; the old model stays as it is. Its first prediction seeks the mode for all observations: nothing of the old one
-- is carried over, since every weight changes. m:condition(frame, o): the rows of a frame. o: missing = "mask" leaves out rows
-- where y is NaN. Errors: option, shape, dtype, nan.
function methods.condition(self, x, y, opts)
  local o
  x, y, o = more_rows.asked(self, x, y, opts, {missing = data.missing})
  local xs <const>, ys <const> = more_rows.checked(self, x, y, o)
  local out <const> = model.bare(self)
  more_rows.append(self, out, xs, ys)
  update_record.note(model.fields(out), {kind = "none", rows = 0, onto = 0, seconds = 0,
    reason = "the mode of all observations is sought when it is needed"})
  return out
end

return {methods = methods}

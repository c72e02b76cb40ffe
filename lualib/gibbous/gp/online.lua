--- More observations for a model, without fitting again.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"

--- A new model that has also seen (x, y); the parameters are copied, not refitted.
function model.methods.condition(self, x, y)
  local f <const> = model.fields(self)
  local xs <const>, ys <const> = data.check(x, y, "condition", 2)
  data.check_width(f, xs, "condition", 2)
  local out <const> = model.new(model.copy_parts(f))
  if f.x and #f.x > 0 then
    model.set_data(out, core.cat({f.x, xs}, 1), core.cat({f.y, ys}, 1))
  else
    model.set_data(out, xs, ys)
  end
  return out
end

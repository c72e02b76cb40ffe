--- The form of observations (gp/observations.lua) of models whose likelihood says what an observation is.
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local shallow_copy <const> = require "gibbous.base.shallow_copy"
local single <const> = require "gibbous.gp.observations".single

local form <const> = shallow_copy(single)

--- y in the dtype of x: counts and class numbers are whole numbers of any dtype.
function form.check(self, x, y, what, missing)
  local t <const>, inputs <const> = core.as_tensor(y), core.as_tensor(x)
  if t and inputs and t.dtype ~= inputs.dtype and (inputs.dtype == "f64" or inputs.dtype == "f32") then
    y = t:to{dtype = inputs.dtype}
  end
  local xs <const>, ys <const>, kept <const> = single.check(self, x, y, what, missing)
  return xs, model.fields(self).likelihood:check(ys, what), kept
end

return form

--- What classes of models with inducing points share: how places are settled, their units, reading files.
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"
local places <const> = require "gibbous.gp.places"
local starts <const> = require "gibbous.gp.fit.starts"

local M <const> = {}

--- The kernel of a model with data as its fit begins: values that were not given at the scale of the data.
local function kernel_at_start(self)
  local f <const> = model.fields(self)
  local kernel <const> = f.kernel:copy()
  local scales <const>, own <const> = starts.scales(self), (param.collect(f.kernel))
  for i, p in ipairs((param.collect(kernel))) do
    if param.is_open(p) and not param.shared(p) then starts.put(p, {[p] = scales[own[i]]}) end
  end
  return kernel
end

--- Settles the places of a model that has been given data.
function M.settle(self)
  local f <const> = model.fields(self)
  places.settle(f.inducing, f.x, function() return kernel_at_start(self) end, model.class(self).maker, f.planned)
end

function M.units(self)
  local f <const> = model.fields(self)
  local p <const> = f.inducing.points
  return p and not p.fixed and {[p] = places.unit(f.x)} or {}
end

--- Text of what is held for print(model).
function M.held(points)
  return function(f) return ("%s; %s"):format(points(f), tostring(f.inducing)) end
end

return M

--- Starts of a fit that a script lists: option starts = {{["kernel.lengthscale"] = 0.1, ...}, ...}.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local parameters <const> = require "gibbous.gp.parameters"
local raised <const> = require "gibbous.base.raised"

local function refuse(i, text, ...) core.raise("option", ("fit: start %d: %s"):format(i, text:format(...))) end

--- The unconstrained values of one start by parameter.
local function raw_values(self, i, values)
  if type(values) ~= "table" or getmetatable(values) ~= nil or next(values) == nil then
    refuse(i, 'values by paths of parameters are needed, {["kernel.lengthscale"] = 0.1}, got %s',
      type(values) == "table" and "none" or options.shown(values))
  end
  local out <const> = {}
  for path, v in pairs(values) do
    local ok <const>, err <const> = pcall(function()
      local p <const> = parameters.methods.get(self, path)
      if p.fixed then core.raise("option", ("parameter '%s' is fixed"):format(path)) end
      out[p] = param.raw_of(p, v)
    end)
    if not ok then
      if raised.code(err) == nil then error(err, 0) end
      core.raise(err.code, ("fit: start %d: %s"):format(i, err.message))
    end
  end
  return out
end

--- The starts of a checked option, each the unconstrained values by parameter; self: the model that computes. Errors: option,
-- shape, nan, which name the start.
return function(self, list)
  local out <const> = {}
  if not list then return out end
  for key in pairs(list) do
    if math.type(key) ~= "integer" or key < 1 or key > #list then
      core.raise("option", ('fit: starts is a list, {{["kernel.lengthscale"] = 0.1}, ...}, got the key %s'):format(
        options.shown(key)))
    end
  end
  for i, values in ipairs(list) do out[i] = raw_values(self, i, values) end
  return out
end

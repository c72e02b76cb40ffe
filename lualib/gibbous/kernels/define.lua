--- Kernels of one's own.
local build <const> = require "gibbous.kernels.build"
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"

local function checked(v, want, name, what)
  if core.type(v) ~= "tensor" then
    core.raise("option", ("kernel '%s' must return a tensor, got %s"):format(name, type(v)))
  end
  local fits = v.ndim == #want
  for i, extent in ipairs(want) do fits = fits and v.shape[i] == extent end
  if not fits then
    core.raise("shape", ("kernel '%s' must reduce the last axis: %s gave shape %s, expected %s"):format(name, what,
      tostring(v.shape), table.concat(want, "x")))
  end
  return v
end

--- A constructor for kernels of one's own.
-- f(x, z, p) is written on points: it sees (n,1,d) and (1,m,d) for a block of k, (n,d) and (n,d) for the diagonal, and
-- reduces the last axis. p holds the current values of the parameters by name. It is traced into the expression, never
-- called per tile, so it streams and differentiates like the built-in ones. Each kernel also has a variance.
---@param name string
---@param params table<string, number|table>   defaults; a hyper-parameter is positive unless given as a gb.param
---@param f fun(x, z, p): gibbous.tensor
return function(name, params, f)
  if type(name) ~= "string" then core.raise("option", "gb.kernels.define: the name must be a string") end
  if type(params) ~= "table" then core.raise("option", "gb.kernels.define: the parameters must be a table") end
  if type(f) ~= "function" then core.raise("option", "gb.kernels.define: the third argument must be a function") end
  for key in pairs(params) do
    if type(key) ~= "string" or kernel.is_taken(key) then
      core.raise("option", ("gb.kernels.define: '%s' cannot be the name of a parameter"):format(tostring(key)))
    end
  end
  local function values(self, x)
    local p <const> = {}
    for key in pairs(params) do p[key] = columns.adopt(self.hyper[key], x) end
    return p
  end
  local each <const> = {}
  for key in pairs(params) do each[key] = true end
  return build.constructor(name, {
    hyper = params, each = each, own = true,
    form = function(self, x, z)
      return checked(f(x:unsqueeze(2), z:unsqueeze(1), values(self, x)), {#x, #z}, name, "a block")
    end,
    diag = function(self, x) return checked(f(x, x, values(self, x)), {#x}, name, "the diagonal") end,
  }, name)
end

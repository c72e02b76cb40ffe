--- Kernels that look at no column.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"

return {
  constant = {blind = true, form = function(_, x, z) return columns.one(x):expand(#x, #z) end},

  --- 1 where the two points are the same observation: on the diagonal of k(x), nowhere in k(x, z).
  white = {blind = true, rough = "white noise belongs into noise", form = function(_, x, z)
    if rawequal(x, z) then return core.eye(#x, {dtype = x.dtype, device = x.device}) end
    return core.zeros(1, 1, {dtype = x.dtype, device = x.device}):expand(#x, #z)
  end},
}

--- A supply of random tensors for functions drawn from a prior. What it gives depends on the seed and on the order of asking
-- alone.
local core <const> = require "gibbous.core"

local Supply <const> = {}
Supply.__index = Supply

function Supply:options()
  self.asked = self.asked + 1
  return {dtype = self.dtype, seed = self.seed * 7919 + self.asked}
end

function Supply:normal(rows, columns) return core.randn(rows, columns, self:options()):eval() end

--- The numbers 1 .. n in random order.
function Supply:order(n)
  local key <const>, out <const> = self:normal(1, n):reshape(n):totable(), {}
  for i = 1, n do out[i] = i end
  table.sort(out, function(a, b) return key[a] < key[b] end)
  return out
end

--- Random signs, (rows, columns).
function Supply:sign(rows, columns)
  return core.where(core.rand(rows, columns, self:options()):lt(0.5), core.full({rows, columns}, -1, {dtype = self.dtype}), 1)
end

--- (1, count) draws of the gamma distribution with mean 1 and this shape. Source: Marsaglia & Tsang (2000).
function Supply:gamma(shape, count)
  local out <const>, small <const> = {}, shape < 1
  local d <const> = (small and shape + 1 or shape) - 1 / 3
  local z, u, v, at
  while #out < count do
    if z == nil or at > #z then
      local o <const> = {dtype = "f64"}
      local function fresh(make)
        o.seed = self:options().seed
        return make(2 * count + 16, o):totable()
      end
      z, u, v, at = fresh(core.randn), fresh(core.rand), fresh(core.rand), 1
    end
    local t <const> = (1 + z[at] / math.sqrt(9 * d)) ^ 3
    if t > 0 and math.log(u[at]) < z[at] ^ 2 / 2 + d - d * t + d * math.log(t) then
      out[#out + 1] = d * t / shape * (small and v[at] ^ (1 / shape) or 1)
    end
    at = at + 1
  end
  return core.tensor({out}, {dtype = self.dtype})
end

--- A supply of this seed, whose tensors have this dtype.
return function(seed, dtype) return setmetatable({seed = seed, asked = 0, dtype = dtype}, Supply) end

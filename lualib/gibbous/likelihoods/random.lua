--- Draws of distributions by their parameters, element by element: what they give depends on the seed and the values alone.
local core <const> = require "gibbous.core"

local M <const> = {}

--- Uniform numbers in (0, 1), shaped like f.
function M.uniform(f, seed)
  return core.rand(f.shape, {dtype = f.dtype, device = f.device, seed = seed}):clamp(1e-300, 1 - 2.0 ^ -24)
end

function M.normal(f, seed) return core.randn(f.shape, {dtype = f.dtype, device = f.device, seed = seed}) end

--- A source of uniform numbers and of normal ones, as Lua numbers.
local function source(seed)
  local block <const>, kept, rounds = 1024, {}, 0
  local function next_of(make, name)
    return function()
      local list <const> = kept[name]
      if list == nil or list.at > block then
        rounds = rounds + 1
        kept[name] = make(block, {dtype = "f64", device = "cpu", seed = seed * 7919 + rounds}):totable()
        kept[name].at = 1
      end
      local out <const> = kept[name]
      out.at = out.at + 1
      return out[out.at - 1]
    end
  end
  return next_of(core.rand, "uniform"), next_of(core.randn, "normal")
end

--- One draw of the gamma distribution of this shape and scale 1. Source: Marsaglia & Tsang (2000).
local function gamma(shape, uniform, normal)
  if shape < 1 then return gamma(shape + 1, uniform, normal) * uniform() ^ (1 / shape) end
  local d <const> = shape - 1 / 3
  while true do
    local z <const>, u <const> = normal(), uniform()
    local t <const> = (1 + z / math.sqrt(9 * d)) ^ 3
    if t > 0 and math.log(u) < z * z / 2 + d - d * t + d * math.log(t) then return d * t end
  end
end

-- Means from which a gamma draw splits the range: below, uniform numbers are multiplied.
local SMALL <const> = 12

--- One draw of the Poisson distribution: the events of a unit of time; of the first m of a larger mean the time is gamma
-- distributed, and where it is too long the rest is binomial. Source: Ahrens & Dieter (1974).
local function poisson(rate, uniform, normal)
  local count = 0
  while rate > SMALL do
    local m <const> = rate * 7 // 8
    local time <const> = gamma(m, uniform, normal)
    if time > rate then
      for _ = 1, m - 1 do count = count + (uniform() < rate / time and 1 or 0) end
      return count
    end
    count, rate = count + m, rate - time
  end
  local product, limit <const> = uniform(), math.exp(-rate)
  while product > limit do count, product = count + 1, product * uniform() end
  return count
end

--- one(value, uniform, normal) for each value of t.
local function each(t, seed, one)
  local uniform <const>, normal <const> = source(seed)
  local list <const> = t:detach():to{dtype = "f64", device = "cpu"}:reshape(-1):totable()
  for i, v in ipairs(list) do list[i] = v == v and v < math.huge and one(v, uniform, normal) or v end
  if #list == 0 then return t:detach() end
  return core.tensor(list, {dtype = t.dtype, device = t.device}):reshape(t.shape)
end

--- Gamma draws of mean 1, of scale 1 / shape; shape: a tensor.
function M.gamma(shape, seed)
  return each(shape, seed, function(a, uniform, normal) return gamma(a, uniform, normal) / a end)
end

--- Poisson draws of these rates.
function M.poisson(rate, seed) return each(rate, seed, poisson) end

return M

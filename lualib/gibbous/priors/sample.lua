--- Draws of the families of gb.priors, by name: f(o, k, stream) gives k numbers (k), f64. stream.uniform(k), stream.normal(k): the
-- next of a stream of random numbers, (k).
local core <const> = require "gibbous.core"

local M <const> = {}

--- Streams of random numbers: of a seed, or those that gb.seed began.
function M.stream(seed)
  local drawn = 0
  local function options()
    drawn = drawn + 1
    return {dtype = "f64", seed = seed and seed * 7919 + drawn * 104729}
  end
  return {uniform = function(k) return core.rand(k, options()) end, normal = function(k) return core.randn(k, options()) end}
end

--- Gamma variates of this shape, 1 or more, and rate 1, a list. Source: Marsaglia & Tsang (2000), A simple method for generating
-- gamma variables, section 3: about 1.05 rounds each at most.
local function large_gammas(shape, k, stream)
  local d <const> = shape - 1 / 3
  local c <const>, out <const> = 1 / math.sqrt(9 * d), {}
  while #out < k do
    local left <const> = k - #out
    local normals <const>, uniforms <const> = stream.normal(left):totable(), stream.uniform(left):totable()
    for i = 1, left do
      local z <const>, v <const> = normals[i], (1 + c * normals[i]) ^ 3
      if v > 0 and math.log(uniforms[i]) < z * z / 2 + d - d * v + d * math.log(v) then out[#out + 1] = d * v end
    end
  end
  return out
end

--- The same of any shape: one below 1 is that of shape + 1 times u^(1 / shape), section 6.
local function gammas(shape, k, stream)
  if k == 0 then return core.zeros(0, {dtype = "f64"}) end
  local v <const> = core.tensor(large_gammas(shape < 1 and shape + 1 or shape, k, stream), {dtype = "f64"})
  return shape < 1 and v * stream.uniform(k) ^ (1 / shape) or v
end

local families <const> = {}
M.families = families

function families.normal(o, k, stream) return o.mean + o.sd * stream.normal(k) end
function families.log_normal(o, k, stream) return (o.mean + o.sd * stream.normal(k)):exp() end
function families.gamma(o, k, stream) return gammas(o.shape, k, stream) / o.rate end
function families.inverse_gamma(o, k, stream) return o.rate / gammas(o.shape, k, stream) end
function families.exponential(o, k, stream) return -(-stream.uniform(k)):log1p() / o.rate end
function families.half_normal(o, k, stream) return (o.sd * stream.normal(k)):abs() end
function families.uniform(o, k, stream) return o.min + (o.max - o.min) * stream.uniform(k) end

--- tan(pi u / 2) as sin / cos.
function families.half_cauchy(o, k, stream)
  local angle <const> = math.pi / 2 * stream.uniform(k)
  return o.scale * angle:sin() / angle:cos()
end

function families.student_t(o, k, stream)
  return o.mean + o.scale * stream.normal(k) / (gammas(o.df / 2, k, stream) / (o.df / 2)):sqrt()
end

--- Inside with the weight of the flat part, else in the tail below or above.
function families.smoothed_box(o, k, stream)
  local width <const> = o.max - o.min
  local inside <const> = stream.uniform(k):lt(width / (width + o.sd * math.sqrt(2 * math.pi)))
  local tail <const>, flat <const> = o.sd * stream.normal(k), o.min + width * stream.uniform(k)
  return core.where(inside, flat, core.where(tail:lt(0), o.min + tail, o.max + tail))
end

return M

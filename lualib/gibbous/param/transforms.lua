--- How the values of parameters follow from unconstrained ones, which optimisers move: {forward(raw), inverse(value)} for tensors.
local identity <const> = {
  forward = function(raw) return raw end,
  inverse = function(value) return value end,
}

local function below(min)
  return {
    forward = function(raw) return min == 0 and raw:exp() or raw:exp() + min end,
    inverse = function(value) return (min == 0 and value or value - min):log() end,
  }
end

local function above(max)
  return {
    forward = function(raw) return max - raw:exp() end,
    inverse = function(value) return (max - value):log() end,
  }
end

local function between(min, max)
  return {
    forward = function(raw) return min + (max - min) * raw:sigmoid() end,
    inverse = function(value)
      local unit <const> = (value - min) / (max - min)
      return unit:log() - (-unit):log1p()
    end,
  }
end

--- The transform of {min, max, transform}: a table of functions, "identity", "exp", or nil: by the bounds.
return function(o)
  if type(o.transform) == "table" then return o.transform end
  if o.transform == "identity" then return identity end
  if o.transform == "exp" or (o.min and not o.max) then return below(o.min or 0) end
  if o.max and not o.min then return above(o.max) end
  if o.min then return between(o.min, o.max) end
  return identity
end

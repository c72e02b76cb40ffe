--- Numbers as texts: rounded by their error, or so that they are read back with the same bits.
local core <const> = require "gibbous.core"

local M <const> = {}

--- The decimals that an error is worth: two digits where it begins with 1.00 to 3.54, else one (the rule of the Particle Data
-- Group); nil where it says nothing.
local function decimals(err)
  if not (err > 0 and err < math.huge) then return nil end
  local power = math.floor(math.log(err, 10))
  local lead <const> = math.floor(err / 10.0 ^ (power - 2) + 0.5)        -- 100 .. 1000
  if lead >= 950 then power = power + 1 end
  return (lead < 355 or lead >= 950) and 1 - power or -power
end

local function fixed(v, places)
  if places >= 0 then return ("%." .. places .. "f"):format(v) end
  local unit <const> = 10.0 ^ -places
  return ("%.0f"):format(math.floor(v / unit + 0.5) * unit)
end

--- A value and its error, both with the digits that the error leaves: "0.123", "0.004". Without an error four digits.
---@return string value
---@return string? error
function M.rounded(v, err)
  local places <const> = err and math.abs(v) < math.huge and decimals(err)
  local magnitude <const> = math.max(math.abs(v), err or 0)
  if not places or magnitude >= 1e7 or places > 8 then
    return ("%.4g"):format(v), err and ("%.2g"):format(err) or nil
  end
  return fixed(v, places), fixed(err, places)
end

--- The shortest text that is read back as the same number; nan, inf and -inf as words.
function M.exact(v)
  if v ~= v then return "nan" end
  if math.abs(v) == math.huge then return v > 0 and "inf" or "-inf" end
  return core.json_encode(v)
end

return M

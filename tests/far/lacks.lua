-- lacks.lua - scripts on a device that does not run one op, GIBBOUS_FAR_LACKS: an error before anything is computed, and
-- everything else runs.
local gb <const> = require "gibbous"

local lacks <const> = assert(os.getenv "GIBBOUS_FAR_LACKS")

local function expect_refusal(make)
  local line
  local ok <const>, err <const> = pcall(function()
    local y <const> = make()
    line = debug.getinfo(make, "S").linedefined
    return y:eval()
  end)
  assert(not ok, "a device that lacks " .. lacks .. " ran it")
  assert(err.code == "device", tostring(err))
  for _, part in ipairs{lacks, "does not run on device far", "GIBBOUS_FAR_LACKS names it", "lacks.lua:" .. line} do
    assert(err.message:find(part, 1, true), ("no '%s' in: %s"):format(part, err.message))
  end
end

local x <const> = gb.rand(40, 40):eval()
local a <const> = (x:matmul(x:t()) + 40 * gb.eye(40)):eval()
local y

if lacks == "erf" then
  expect_refusal(function() return x:erf() end)
  expect_refusal(function() return ((x * 2):erf() + 1):sum() end)
  y = gb.linalg.cholesky(a)
elseif lacks == "cholesky" then
  expect_refusal(function() return gb.linalg.cholesky(a) end)
  expect_refusal(function() return gb.linalg.cholesky(2 * a):exp():sum() end)
  y = x:erf()
end
assert(y:isfinite():all())
print("ok: a device without " .. lacks)

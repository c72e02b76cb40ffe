-- lacks.lua - scripts on a device that does not run some ops, GIBBOUS_FAR_LACKS: they are computed at home, with the same bits,
-- and the plan says so.
local gb <const> = require "gibbous"

local lacks <const> = assert(os.getenv "GIBBOUS_FAR_LACKS")

local function expect_home(make, x)
  local y <const> = make(x)
  local p <const> = gb.plan(y)
  assert(p:explain():find(lacks .. "[^\n]* runs on cpu, not on far: GIBBOUS_FAR_LACKS names it"), p:explain())
  p:run()
  for _, d in ipairs(p.devices) do assert(d.peak == p:stats().devices[d.name], d.name) end
  assert(y.device == "far" and y:eval().device == "far")
  assert(make(x:to "cpu"):eval():to "far":equal(y), "home computes something else")
end

local x <const> = gb.rand(40, 40):eval()
local a <const> = (x:matmul(x:t()) + 40 * gb.eye(40)):eval()
local y

if lacks == "erf" then
  expect_home(function(v) return v:erf() end, x)
  expect_home(function(v) return ((v * 2):erf() + 1):sum() end, x)
  y = gb.linalg.cholesky(a)
elseif lacks == "cholesky" then
  expect_home(gb.linalg.cholesky, a)
  expect_home(function(v) return gb.linalg.cholesky(2 * v):exp():sum() end, a)
  y = x:erf()
end
assert(#gb.plan(y).devices == 1, "what the device has goes nowhere")
assert(y:isfinite():all())
print("ok: a device without " .. lacks)

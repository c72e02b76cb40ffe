-- Where the seconds of a fit go on a GPU: three steps at four sizes, each with the profile of its steps.
--
-- Run:  GIBBOUS_DEVICE=cuda build/gibbous scripts/bench/cuda_fits.lua [--quick]
--
-- Points are uniform in three dimensions, y is smooth with noise. f64 where a Cholesky factor is used, f32 beyond.
local gb <const> = require "gibbous"

local quick <const> = arg[1] == "--quick"
local sizes <const> = quick and {{500, "f64"}} or {{2000, "f64"}, {10000, "f64"}, {50000, "f32"}, {200000, "f32"}}

for _, size in ipairs(sizes) do
  local n <const>, dtype <const> = size[1], size[2]
  local x <const> = gb.rand(n, 3, {seed = 1, dtype = dtype}):eval()
  local wave <const> = (6 * x:select(2, 1)):sin() + (4 * x:select(2, 2)):cos()
  local y <const> = (wave + 0.1 * gb.randn(n, {seed = 2, dtype = dtype})):eval()
  local m <const> = gb.gp.exact{kernel = 1.0 * gb.kernels.rbf{lengthscale = 0.3}, noise = 0.02}
  gb.profile "on"
  local ok <const>, report <const> = pcall(m.fit, m, x, y, {steps = 3})
  local profile <const> = gb.profile "off"
  if not ok then error(report, 0) end
  print(("%d points, %s\n%s\n%s\n"):format(n, dtype, report, profile))
end

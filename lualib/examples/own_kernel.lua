-- A kernel of one's own: its function is traced, so that it streams, has derivatives and can be part of sums and products.
local gb = require "gibbous"

-- Gibbs's kernel: a lengthscale that grows with |x|.
local gibbs = gb.kernels.define("gibbs", {a = 0.2, b = 0.2}, function(x, z, p)
  local lx, lz = p.a + p.b * x:abs(), p.a + p.b * z:abs()
  local s = lx ^ 2 + lz ^ 2
  return ((2 * lx * lz / s):sqrt() * (-(x - z) ^ 2 / s):exp()):prod(-1)
end)

local x = gb.linspace(0, 8, 80)
local y = (12 / (1 + x)):sin() + 0.05 * gb.randn(80, {seed = 1})
local m = gb.gp.exact{kernel = gibbs{}, noise = 0.01}
print(m:fit(x, y))
print(m)
print "beside a lengthscale that is the same everywhere:"
print(gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.01}:fit(x, y))

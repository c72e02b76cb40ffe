-- A deep kernel: a network moves the points before the kernel sees them; both are fitted together.
local gb = require "gibbous"

local x = gb.linspace(-1, 1, 120):unsqueeze(2)
local y = gb.where(x:gt(0), 1, -1):squeeze(2) + 0.05 * gb.randn(120, {seed = 1})     -- a step

local net = gb.nn.sequential{gb.nn.linear(1, 8, {seed = 2}), "tanh", gb.nn.linear(8, 2, {seed = 3})}
local deep = gb.gp.exact{kernel = gb.kernels.rbf{}:warp(net), noise = 0.1}
print("deep", deep:fit(x, y, {method = "adam", lr = 0.02, steps = 200}))

local plain = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
print("plain", plain:fit(x, y))
print(deep:predict(gb.tensor{{-0.1}, {0.1}}).mean)   -- on both sides of the step

-- A model of noisy values: fit, print, predict.
local gb = require "gibbous"

local x = gb.linspace(0, 10, 60)
local y = x:sin() + 0.1 * gb.randn(60, {seed = 1})

local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
print(m:fit(x, y))                                   -- maximises the marginal likelihood
print(m)                                             -- parameters, with their units

local p = m:predict(gb.tensor{2.5, 11})
print(p.mean)

-- Several outputs that depend on one another, where some values are missing.
local gb = require "gibbous"

local x = gb.linspace(0, 6, 40)
local first = x:sin() + 0.05 * gb.randn(40, {seed = 1})
local second = x:sin() * 2 + x:cos() * 0.3 + 0.05 * gb.randn(40, {seed = 2})
second = gb.where(x:gt(4), 0 / 0, second)            -- not known beyond 4

local m = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2, rank = 2}
m:fit(x, gb.stack({first, second}, 2), {missing = "mask", steps = 60})

local at = gb.tensor{4.5, 5, 5.5}
print(m:predict(at).mean)                            -- a column for each output
print(at:sin() * 2 + at:cos() * 0.3)                 -- what the second one is

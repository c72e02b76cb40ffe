-- Memory is planned: an n x n expression that is only multiplied takes O(n) bytes, and one that cannot fit is refused at once.
local gb = require "gibbous"

local x = gb.rand(20000, 3, {seed = 1, dtype = "f32"})
local K = gb.kernels.matern52{lengthscale = 0.5}(x)  -- 20,000 x 20,000, 1.5 GiB if it were stored
local z = K:matmul(gb.ones(20000, 1, {dtype = "f32"}))

local plan = gb.plan(z)
print(plan)                                          -- what will be held, to the byte
print(plan:explain())
print(z:slice(1, 1, 3))                              -- computed here

gb.memory.limit "256 MiB"
local ok, err = pcall(function() return (K * 2):eval() end)
print(ok, err)                                       -- refused before a byte was allocated

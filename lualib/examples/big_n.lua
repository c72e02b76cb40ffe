-- 3,000 points by conjugate gradients: the covariance is never stored, and the fit says whether its solves converged.
local gb = require "gibbous"

local n = 3000
local x = gb.rand(n, 3, {seed = 1, dtype = "f32"})
local y = (6 * x):sin():sum(2) + 0.1 * gb.randn(n, {seed = 2, dtype = "f32"})

local m = gb.gp.exact{kernel = gb.kernels.matern32{lengthscale = 0.4}, noise = 0.02,
  solver = gb.solvers.cg{tol = 1e-2, precond = gb.precond.pivoted_cholesky{rank = 50}}}
print(m:plan(x, y))                                  -- the bytes of a step, before anything runs
print(m:fit(x, y, {method = "adam", lr = 0.1, steps = 3}))
print(m:predict(gb.rand(5, 3, {seed = 3, dtype = "f32"})).mean)

-- Predictions by conjugate gradients beside those by a factor, at hyper-parameters fitted to 1,500 rows: f64, solves at 1e-8.
-- Run: GIBBOUS_DATA=folder build/gibbous scripts/bench/cg_cholesky.lua [set ...] [--rows 10000] [--points 128]
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local gb <const> = require "gibbous"
local support <const> = require "support"

local o <const>, words <const> = support.options{rows = 10000, points = 128}
local FITTED <const>, TOLERANCE <const> = 1500, 1e-6

local function first(part, n)
  n = math.tointeger(math.min(n, #part.x))
  return part.x:slice(1, 1, n):eval(), part.y:slice(1, 1, n):eval()
end

--- Mean and f_var at t of a model with these hyper-parameters and data, and what is said of how.
local function predicted(fitted, solver, x, y, t)
  local m <const> = gb.gp.exact{kernel = fitted.kernel, likelihood = fitted.likelihood, solver = solver}:condition(x, y)
  local start <const> = gb.clock()
  local p <const> = m:predict(t)
  gb.eval(p.mean, p.f_var)
  return p.mean, p.f_var, ("%s, %.1f s"):format(p.info, gb.clock() - start)
end

local function verdict(what, error)
  print(("  %-38s %.2e  (target <= %g)  %s"):format(what, error, TOLERANCE, error <= TOLERANCE and "PASS" or "MISS"))
end

for _, name in ipairs(#words > 0 and words or {"elevators", "kin40k"}) do
  local train <const>, test <const> = gb.data.set(name):split(1, {standardize = true})
  local m <const> = gb.gp.exact{kernel = gb.kernels.matern32{ard = true, lengthscale = 3},
    noise = gb.param(0.1, {min = 1e-4}), solver = "direct"}
  m:fit(first(train, FITTED))
  local x <const>, y <const> = first(train, o.rows)
  local t <const> = first(test, o.points)
  local mean <const>, var <const>, how <const> = predicted(m, "direct", x, y, t)
  local solver <const> = gb.solvers.cg{tol = 1e-8, max_iter = 5000, precond = gb.precond.nystrom{}}
  local mean_cg <const>, var_cg <const>, how_cg <const> = predicted(m, solver, x, y, t)
  print(("%s, %d rows, noise %.3g, variance %.3g\n  %s\n  %s"):format(name, #x, m:get "likelihood.noise".value:item(),
    m:get "kernel.variance".value:item(), how, how_cg))
  verdict("mean, of the largest", ((mean - mean_cg):abs():max() / mean:abs():max()):item())
  verdict("f_var, each of itself", ((var - var_cg):abs() / var):max():item())
  verdict("f_var, of the prior variance", ((var - var_cg):abs():max() / m.kernel:diag(t):max()):item())
end

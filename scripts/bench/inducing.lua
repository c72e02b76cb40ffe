-- Inducing points by k-means, greedily and by random rows: what a Nystrom approximation of the covariance of the training rows
-- leaves out, as a share of its trace, and the error of the regression on its features (subset of regressors), on a regression set.
-- Run: GIBBOUS_DATA=folder build/gibbous scripts/bench/inducing.lua [set ...] [--seeds 5] [--fitted 1500] [--points 64,128,256,512]
-- Model: rbf with a lengthscale a column, fitted with its noise to the first --fitted training rows of split 1; inputs and y are
-- standardised. K-means sees the columns divided by their lengthscales.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local gb <const> = require "gibbous"
local support <const> = require "support"

local o <const>, words <const> = support.options{seeds = 5, fitted = 1500, points = "64,128,256,512"}
local JITTER <const> = 1e-8

--- Kernel, lengthscales and noise.
local function fitted(train)
  local d <const>, n <const> = train.x.shape[2], math.min(o.fitted, #train.x)
  local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = gb.ones(d)}, noise = 0.1}
  m:fit(train.x:slice(1, 1, n):eval(), train.y:slice(1, 1, n):eval())
  return m.kernel, m.kernel.lengthscale.value:eval(), m.likelihood.noise.value:item()
end

--- The share of the trace that is left out, and the RMSE of the test rows.
local function errors(k, z, noise, train, test)
  local kzz <const> = k(z, z) + JITTER * gb.eye(#z)
  local normal <const> = k(z, train.x):matmul(k(train.x, z)):eval()
  local trace <const> = k:diag(train.x):sum():item()
  local kept <const> = gb.linalg.solve(kzz, normal):diagonal():sum():item()
  local w <const> = gb.linalg.solve(normal + noise * kzz, k(z, train.x):matmul(train.y))
  local off <const> = k(test.x, z):matmul(w) - test.y
  return 1 - kept / trace, ((off * off):mean() ^ 0.5):item()
end

local function timed(f)
  local start <const> = gb.clock()
  local v <const> = f()
  return v, gb.clock() - start
end

local function run(name)
  local set <const>, why <const> = support.set(name)
  if set == nil then return print(name, why) end
  local train <const>, test <const> = support.split(set, 1)
  local k <const>, scale <const>, noise <const> = fitted(train)
  local scaled <const> = (train.x / scale):eval()
  print(("%s: %d x %d, noise %.3g; k-means, greedy rows, random rows: mean (least) of %d seeds"):format(name, #train.x,
    train.x.shape[2], noise, o.seeds))
  print "m     left of the trace                     rmse of the test rows                 seconds of k-means, greedy"
  for m in o.points:gmatch "%d+" do
    m = math.tointeger(m)
    local z <const>, seconds <const> = timed(function() return (gb.gp.inducing_points(scaled, m) * scale):eval() end)
    local left <const>, rmse <const> = errors(k, z, noise, train, test)
    local pivots <const>, taken <const> = timed(function()
      return gb.gp.inducing_points(train.x, m, {method = "greedy", kernel = k})
    end)
    local greedy <const>, of_greedy <const> = errors(k, pivots, noise, train, test)
    local sum <const>, least <const> = {0, 0}, {math.huge, math.huge}
    for seed = 1, o.seeds do
      local rows <const> = gb.gp.inducing_points(train.x, m, {method = "random", seed = seed})
      for i, v in ipairs{errors(k, rows, noise, train, test)} do
        sum[i], least[i] = sum[i] + v, math.min(least[i], v)
      end
    end
    print(("%-5d %.4f, %.4f, %.4f (%.4f)      %.4f, %.4f, %.4f (%.4f)      %.2f, %.2f"):format(m, left, greedy, sum[1] / o.seeds,
      least[1], rmse, of_greedy, sum[2] / o.seeds, least[2], seconds, taken))
  end
end

for _, name in ipairs(#words > 0 and words or {"kin40k"}) do run(name) end

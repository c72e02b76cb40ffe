-- Fits of gb.gp.svgp by Adam in minibatches and by L-BFGS on all rows: the ELBO that each reaches, and the seconds after which
-- L-BFGS has passed Adam's. "labels": 569 x 10, drawn, a smooth function of three hidden columns seen through a logistic link;
-- "counts": N x 2, drawn, Poisson; other words are sets of GIBBOUS_DATA, their first split, standardised, Gaussian noise.
-- Run: GIBBOUS_DATA=folder build/gibbous scripts/bench/variational.lua [labels] [counts] [airfoil] [--points 50] [--rows 2000]
-- Model: Matern 5/2 with a lengthscale a column, a full q; steps are the defaults, 1000 of Adam and at most 200 of L-BFGS.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "support"

local o <const>, words <const> = support.options{points = 50, rows = 2000}

local drawn <const> = {}

function drawn.labels()
  local n <const>, columns <const> = 569, 10
  local hidden <const> = gb.randn(n, 3, {seed = 1}):eval()
  local x <const> = hidden:matmul(gb.randn(3, columns, {seed = 2})) + 0.7 * gb.randn(n, columns, {seed = 3})
  local f <const> = 2 * hidden:select(2, 1) - 1.2 * hidden:select(2, 2) + hidden:select(2, 3) ^ 2 - 0.5
  local y <const> = gb.where((1 / (1 + (-2 * f):exp())):gt(gb.rand(n, {seed = 4})), 1.0, 0.0)
  return x:eval(), y:eval(), gb.likelihoods.bernoulli{}
end

--- The count whose distribution function first reaches u.
local function quantile(rate, u)
  local k, p = 0, math.exp(-rate)
  local sum = p
  while u > sum and k < 200 do
    k = k + 1
    p = p * rate / k
    sum = sum + p
  end
  return k
end

function drawn.counts()
  local n <const> = math.tointeger(o.rows)
  local x <const> = gb.rand(n, 2, {seed = 5}):eval()
  local rates <const> = ((7 * x:select(2, 1)):sin() + (5 * x:select(2, 2)):cos() + 0.8):exp():totable()
  local y <const> = gb.rand(n, {seed = 6}):totable()
  for i, u in ipairs(y) do y[i] = quantile(rates[i], u) end
  return x, gb.tensor(y, {dtype = "f64"}), gb.likelihoods.poisson{}
end

local function fitted(x, y, likelihood, options)
  local m <const> = gb.gp.svgp{kernel = gb.kernels.matern52{ard = true}, inducing = math.tointeger(o.points),
    likelihood = likelihood}
  return m:fit(x, y, options)
end

for _, name in ipairs(#words > 0 and words or {"labels", "counts"}) do
  local x, y, likelihood
  if drawn[name] then
    x, y, likelihood = drawn[name]()
  else
    local train <const> = support.split(assert(support.set(name)), 1)
    x, y = train.x, train.y
  end
  local adam <const> = fitted(x, y, likelihood, {method = "adam"})
  local start <const>, passed = core.clock(), nil
  local lbfgs <const> = fitted(x, y, likelihood, {method = "lbfgs", on_step = function(s)
    if not passed and -s.value > adam.log_likelihood then passed = core.clock() - start end
  end})
  print(("%-8s %6d rows  Adam %.2f in %.1f s  L-BFGS %.2f in %.1f s (%d steps, %s), above Adam's after %s"):format(name, #x,
    adam.log_likelihood, adam.seconds, lbfgs.log_likelihood, lbfgs.seconds, lbfgs.iterations, lbfgs.reason,
    passed and ("%.1f s"):format(passed) or "none"))
end

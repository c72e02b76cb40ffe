-- A study: gibbous sweep run SCRIPT -j 2 runs its trials, gibbous sweep table SCRIPT compares them.
local gb = require "gibbous"

local x = 6 * gb.rand(200, 1, {seed = 1})
local y = (2 * x):sin():squeeze(2) + 0.2 * gb.randn(200, {seed = 2})

return gb.sweep{
  name    = "kernels",
  space   = {kernel = {"rbf", "matern32", "matern52"}, noise = {0.01, 0.1}},
  repeats = {split = gb.sweep.range(1, 3)},
  metric  = "nlpd", goal = "min",
  run = function(p, trial)
    local train, test = gb.data.split(x, y, {test = 0.25, seed = p.split})
    local m = gb.gp.exact{kernel = gb.kernels[p.kernel]{}, noise = p.noise}
    local fit = m:fit(train.x, train.y, {steps = 50, seed = trial.seed})
    local s = m:score(test.x, test.y)
    return {nlpd = s.nlpd, rmse = s.rmse, evaluations = fit.evaluations}
  end,
}

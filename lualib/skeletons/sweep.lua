#!/usr/bin/env gibbous
-- NAME: says what the study compares.
--
--   gibbous sweep plan NAME.lua           what it will take
--   gibbous sweep run NAME.lua -j 2       stopped? the same line goes on
--   gibbous sweep table NAME.lua          means, errors, and which differ
local gb = require "gibbous"

local x = 6 * gb.rand(200, 1, {seed = 1})
local y = (2 * x):sin():squeeze(2) + 0.1 * gb.randn(200, {seed = 2})

return gb.sweep{
  name    = "NAME",
  space   = {kernel = {"rbf", "matern52"}, noise = {0.01, 0.1}},
  repeats = {split = gb.sweep.range(1, 3)},
  metric  = "nlpd", goal = "min",
  run = function(p, trial)
    local train, test = gb.data.split(x, y, {test = 0.25, seed = p.split})
    local m = gb.gp.exact{kernel = gb.kernels[p.kernel]{}, noise = p.noise}
    m:fit(train.x, train.y, {seed = trial.seed})
    local s = m:score(test.x, test.y)
    return {nlpd = s.nlpd, rmse = s.rmse}
  end,
}

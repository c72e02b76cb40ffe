#!/usr/bin/env gibbous
-- NAME: says what the experiment asks.
--
--   gibbous NAME.lua --help
local gb = require "gibbous"

local o = gb.cli{"Fits a model to a made-up record and scores it on points it has not seen.",
  n = {default = 200, min = 10, help = "points"},
  kernel = {default = "matern52", choices = {"rbf", "matern32", "matern52"}, help = "of the model"},
  seed = {1, "of the points and their division"},
  json = {false, "prints the result as JSON"}}

local x = 6 * gb.rand(o.n, 1, {seed = o.seed})
local y = (2 * x):sin():squeeze(2) + 0.1 * gb.randn(o.n, {seed = o.seed + 1})
local train, test = gb.data.split(x, y, {test = 0.25, seed = o.seed})

local m = gb.gp.exact{kernel = gb.kernels[o.kernel]{ard = true}, noise = 0.1}
local fit = m:fit(train.x, train.y)
local score = m:score(test.x, test.y)

if o.json then
  print(("{\"rmse\": %.17g, \"nlpd\": %.17g, \"converged\": %s}"):format(score.rmse, score.nlpd, fit.converged))
else
  print(fit)
  print(m)
  print(score)
end

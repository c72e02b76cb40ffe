-- Predictions with variances and intervals, and how well they hold on points that the model has not seen.
local gb = require "gibbous"

local x = 6 * gb.rand(150, 1, {seed = 1})
local y = (2 * x):sin():squeeze(2) + 0.2 * gb.randn(150, {seed = 2})
local train, test = gb.data.split(x, y, {test = 50, seed = 3})

local m = gb.gp.exact{kernel = gb.kernels.matern52{}, noise = 0.1}
m:fit(train.x, train.y)

local p = m:predict(test.x)
print("of f", p.f_var:sqrt():mean():item())          -- standard deviations: of the function,
print("of y", p.y_var:sqrt():mean():item())          -- and of a new observation

local low, high = p:interval(0.95)
local inside = test.y:ge(low) & test.y:le(high)
print(("%d of 50 inside the 95 %% interval"):format(inside:sum():item()))
print(m:score(test.x, test.y))                       -- RMSE, NLPD, coverage

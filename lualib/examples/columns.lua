-- A table with names: a model finds its columns by name, scales them itself, and speaks in their units.
local gb = require "gibbous"

-- What a file would give: local cars = gb.data.read "cars.csv"
local weight = gb.rand(80, {seed = 1}) * 1200 + 900                       -- kg
local power = gb.rand(80, {seed = 2}) * 120 + 50                          -- kW
local use = weight / 300 + power / 40 + 0.2 * gb.randn(80, {seed = 3})    -- litres
local maker = {}
for i = 1, 80 do maker[i] = i % 3 == 0 and "A" or "B" end
local cars = gb.data.frame({weight = weight, power = power, maker = maker, use = use},
  {names = {"weight", "power", "maker", "use"}})
print(cars:head(4))

-- Text is no input: inputs = {...} leaves it out, f:encode and f:one_hot make numbers of it.
local m = gb.gp.exact{kernel = gb.kernels.matern52{ard = true}, standardize = true}
print(pcall(m.fit, m, cars, "use"))
print(m:fit(cars, "use", {inputs = {"weight", "power"}}))
print(m)                                             -- lengthscales by column, also in kg and kW
print(m:value "likelihood.noise":sqrt())             -- in litres

-- Columns are found by name, in any order; one that is missing is named, with the nearest.
local new = gb.data.frame{power = {90, 150}, weight = {1200, 1900}}
local lo, hi = m:predict(new):interval(0.9)
print(m:predict(new).mean, lo, hi)
print(pcall(m.predict, m, new:rename{weight = "wieght"}))
print(m:score(cars))

---@meta

---@class gibbous.gp.sgpr.options
---@field kernel gibbous.kernel  the covariance of f
---@field inducing integer|gibbous.tensor|gibbous.param  how many inducing points, m, or the points (m, d)
---@field mean? gibbous.mean|function|gibbous.block  the mean of f; default: gb.means.zero()
---@field noise? number|gibbous.param|gibbous.tensor  variance, in units of y squared: a number is free (0 is held), a tensor (n) is known
---@field likelihood? gibbous.likelihood  in place of noise: one of Gaussian noise
---@field select? "kmeans"|"greedy"|"random"  how a number of points is chosen when data arrive: centroids, each column in its standard deviations; rows of the largest variance that those before leave (n m numbers); distinct rows; default: "kmeans"
---@field learn? boolean  false: a fit does not move the points; default: true
---@field seed? integer  of the choice; default: 0
---@field bound? "vfe"|"fitc"  the collapsed lower bound, or FITC; default: "vfe"

--- Sparse regression: m inducing points stand for n rows. Cost: a step takes O(n m^2) time, and as few rows at once as the budget
--- asks for. The report of a fit says what the exact log marginal likelihood lies between. Computes in f64.
---@param o gibbous.gp.sgpr.options
---@return gibbous.gp.sgpr
--- Errors: option, shape, nan.
---@see sgpr:bounds
---```lua
--- local x = gb.linspace(0, 6, 200)
--- local m = gb.gp.sgpr{kernel = gb.kernels.rbf{}, inducing = 10, noise = 0.1}
--- print(m:fit(x, x:sin() + 0.1 * gb.randn(200, {seed = 1}), {steps = 5}).approximation.gap_per_point)
--- print(m:predict(gb.tensor{1.5, 2.5}).mean)
---```
function gb.gp.sgpr(o) end

--- A sparse model of one output, as gb.gp.sgpr makes it.
---@class gibbous.gp.sgpr: gibbous.model
---@field inducing gibbous.places  the inducing points; m:get "inducing.points" is their parameter
local sgpr = {}

--- What the exact log marginal likelihood lies between at the present parameters.
---@return gibbous.bounds
--- Cost: two passes over the rows, O(n m^2). Errors: option; not_pd.
---```lua
--- local x = gb.linspace(0, 6, 50)
--- local m = gb.gp.sgpr{kernel = gb.kernels.rbf{}, inducing = 8, noise = 0.1}
--- m:fit(x, x:sin(), {steps = 3})
--- local b = m:bounds()
--- print(b.lower <= b.upper, b.gap_per_point)
---```
function sgpr:bounds() end

--- Inducing points of a model.
---@class gibbous.places
---@field points gibbous.param?  (m, d), in units of x; nil before data arrive
---@field count integer  m
---@field select string?  "kmeans", "greedy", "random"
---@field learn boolean  whether a fit moves them
---@field seed integer  of the choice
local places = {}

--- What the exact log marginal likelihood of a sparse model's data lies between, of m:bounds and m.info.approximation.
---@class gibbous.bounds
---@field lower number  nats: the collapsed bound of Titsias (2009)
---@field upper number  nats: that of Titsias (2014)
---@field gap number  upper - lower, nats
---@field gap_per_point number  gap / n, nats a point
---@field trace number  the prior variance of the rows that the inducing points leave, summed, in units of y squared
---@field bound string  what the fit maximised: "vfe", "fitc"
---@field inducing integer  m
---@field n integer  rows
local bounds = {}

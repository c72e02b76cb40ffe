---@meta

---@class gibbous
local gb = {}

---@class gibbous.gp.batch.options
---@field kernel gibbous.kernel  the covariance of f
---@field mean? gibbous.mean|function  the mean of f; default: gb.means.zero()
---@field noise? number|gibbous.param  variance, in units of y squared: a number is free (0 is held)
---@field likelihood? gibbous.likelihood  in place of noise, a gb.likelihoods.gaussian
---@field standardize? boolean|gibbous.standardize.options  as of gb.gp.exact, every model by the scale of its own data

--- Many models of one make, each of data of its own, fitted in one call. Every model has its own copy of all parameters, gb.params
--- too, and is descended by itself through the starts and steps of gb.gp.exact: its result has the same bits alone and in a batch of
--- any size and order. Models with as many rows run one plan, so nothing is built again at a point.
---@param o gibbous.gp.batch.options
---@return gibbous.gp.batch
--- Errors: option; of a network or noise of rows too, which models cannot have each for themselves.
---@see batch:fit
---```lua
--- local x = gb.rand(5, 30, 1, {seed = 1})                           -- 5 sets of 30 points
--- local y = (6 * x:select(3, 1)):sin() + 0.1 * gb.randn(5, 30, {seed = 2})
--- local b = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0.1}
--- print(b:fit(x, y, {steps = 10}))
--- print(b:predict(gb.tensor{0.2, 0.8}).mean, b:get "kernel.lengthscale", b[3])
---```
function gb.gp.batch(o) end

--- Models of one make, as gb.gp.batch makes them. b[i] is a gb.gp.exact of its own, a copy of model i with its data and its report; #b
--- is their number.
---@class gibbous.gp.batch
---@field info gibbous.batch_info?  of the last fit
---@field [integer] gibbous.gp.exact
local batch = {}

---@class gibbous.batch.fit.options
---@field method? "lbfgs"|"adam"|"sgd"  default: "lbfgs"
---@field steps? integer  at most; default: 200, of "adam" and "sgd" 500
---@field lr? number  step length of "adam" (0.05) and "sgd" (1e-3)
---@field tol? number  stops where the largest element of the gradient is below; default: 1e-5
---@field ftol? number  stops where the value changes by less than this share of itself; default: 1e-9
---@field restarts? integer  extra starts; by default one where a fit has brought the noise down or to most of var(y)
---@field starts? table[]  {{["kernel.lengthscale"] = 0.1}, ...}: further starts
---@field seed? integer  of the starts; default: 0
---@field objective? "mll"|"loo"  default: "mll"
---@field budget? integer|string  bytes or "1 GiB": a model's step is planned within it, or refused
---@field missing? "error"|"mask"  a model with NaN in y fails, or such rows are left out; default: "error"
---@field inputs? string[]  of frames: the columns that are inputs

--- Fits a model to the data of each entry, all with the same options; what the batch held before is replaced. A model whose numbers
--- fail (rows that are not finite, a covariance without a factor) is named in the report, and the others are what they would be
--- without it. Data are f64.
---@param x gibbous.tensor|table  (B, n, d), (n, d) for all models, or a list with an entry a model: tensors (n, d) or frames
---@param y gibbous.tensor|table|string  (B, n), a list of (n), or of frames the name of the target
---@param o gibbous.batch.fit.options?
---@return gibbous.batch_info
--- Cost: O(n^3) a model and step; beside the data the memory of one model's step.
--- Errors: option, shape, dtype; refused, oom.
---```lua
--- local b = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0.1}
--- local x, y = {}, {}
--- for i = 1, 3 do
---   x[i] = gb.linspace(0, 6, 10 + i)                                   -- as many rows as each has
---   y[i] = (i * x[i]):sin()
--- end
--- local info = b:fit(x, y, {steps = 5})
--- print(info.log_likelihood, info.reports[2], b[2].x.shape)
---```
function batch:fit(x, y, o) end

--- Means and variances of every model at new points, computed.
---@param x gibbous.tensor|gibbous.frame|table  (B, m, d), (m, d) or a frame for all models, or a list
---@return gibbous.batch_prediction
--- Cost: O(n^3 + n^2 m) a model. Errors: option, shape, dtype.
---```lua
--- local x = gb.rand(2, 12, 1, {seed = 1})
--- local b = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0.1}
--- b:fit(x, x:select(3, 1):sin(), {steps = 3})
--- local p = b:predict(gb.tensor{0.3, 0.6})
--- print(p.mean, p.y_var)
---```
function batch:predict(x) end

--- How well every model predicts new observations.
---@param x gibbous.tensor|table  points as of predict
---@param y gibbous.tensor|table  (B, m), or a list of (m)
---@return gibbous.batch_score
--- Cost: that of predict. Errors: option, shape, dtype.
---```lua
--- local x = gb.rand(2, 12, 1, {seed = 1})
--- local b = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0.1}
--- b:fit(x, x:select(3, 1):sin(), {steps = 3})
--- print(b:score(x, x:select(3, 1):sin()).nlpd)
---```
function batch:score(x, y) end

--- A parameter of all models, (B, ...); NaN of a model without a result.
---@param path string  as print(b[1]) lists them
---@return gibbous.tensor
--- Errors: option.
---```lua
--- local x = gb.rand(2, 12, 1, {seed = 1})
--- local b = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0.1}
--- b:fit(x, x:select(3, 1):sin(), {steps = 3})
--- print(b:get "likelihood.noise")
---```
function batch:get(path) end

---@class gibbous.batch.draw.options
---@field features? integer  of the prior's functions; default: 1024
---@field seed? integer  of the first model, the next one's is one more; without it the next numbers of gb.seed

--- k functions drawn from the posterior of each model: a function of points, (B, m, d) or (m, d) for all, that gives (B, k, m), lazy.
---@param k integer
---@param o gibbous.batch.draw.options?
---@return fun(x: gibbous.tensor): gibbous.tensor
--- Cost: that of draws of each model. Errors: option where a model has no result.
---```lua
--- local x = gb.rand(2, 12, 1, {seed = 1})
--- local b = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0.1}
--- b:fit(x, x:select(3, 1):sin(), {steps = 3})
--- print(b:draw(4, {seed = 1})(gb.linspace(0, 1, 5)).shape)
---```
function batch:draw(k, o) end

--- An independent batch of the same models and their last report.
---@return gibbous.gp.batch
---```lua
--- print(gb.gp.batch{kernel = gb.kernels.rbf{}}:copy())
---```
function batch:copy() end

--- Writes the batch to one file, whole or not at all: the make, and of each model data, parameters and report, without histories.
--- gb.load(path) gives it back, and its models predict with the same bits.
---@param path string
--- Cost: the bytes of the data. Errors: io; option, as of m:save.
---```lua
--- local x = gb.rand(2, 12, 1, {seed = 1})
--- local b = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0.1}
--- b:fit(x, x:select(3, 1):sin(), {steps = 3})
--- local path = os.tmpname()
--- b:save(path)
--- print(#gb.load(path))
--- os.remove(path)
---```
function batch:save(path) end

--- The report of b:fit; print shows the counts and the models that failed.
---@class gibbous.batch_info
---@field count integer  models
---@field converged integer  of them, how many converged
---@field failed table[]  {model, reason} of each that has no result, by number
---@field reports table  by number, the report of each fit (gibbous.info); nil where it failed
---@field log_likelihood gibbous.tensor  (B), nats; NaN where there is no result
---@field evaluations integer  of all models together
---@field interrupted boolean  Ctrl-C stopped it: models that were not reached have no result
---@field seconds number  it took
local batch_info = {}

--- What b:predict gives: tensors (B, m), of a list of points lists of (m); NaN of a model without a result.
---@class gibbous.batch_prediction
---@field mean gibbous.tensor|table  of the function, mean function included
---@field f_var gibbous.tensor|table  of the function
---@field y_var gibbous.tensor|table  of new observations
local batch_prediction = {}

--- What b:score gives, (B) each; NaN of a model without a result.
---@class gibbous.batch_score
---@field rmse gibbous.tensor  root mean squared error (units of y)
---@field mae gibbous.tensor  mean absolute error (units of y)
---@field nlpd gibbous.tensor  mean negative log predictive density (nats a point)
---@field coverage95 gibbous.tensor  part of the y inside their central 95 % interval
local batch_score = {}

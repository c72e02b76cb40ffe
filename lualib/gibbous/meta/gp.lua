---@meta

---@class gibbous
local gb = {}

--- Gaussian-process models: values that are fitted to data and predict.
---@class gb.gp
gb.gp = {}

---@class gibbous.gp.exact.options
---@field kernel gibbous.kernel  the covariance of f
---@field mean? gibbous.mean|function|gibbous.block  the mean of f: a function takes x (n, d) and gives (n); default: gb.means.zero()
---@field noise? number|gibbous.param|gibbous.tensor  variance, in units of y squared: a number is free (0 is held), a tensor (n) is known
---@field likelihood? gibbous.likelihood  in place of noise
---@field gradients? boolean  true: the data have partial derivatives of f too: y is (n, 1 + d), f in the first column and its derivative by column a of x in column 1 + a, and missing = "mask" leaves out cells that are NaN; default: false
---@field gradient_noise? number|gibbous.param|number[]  variance of the noise of derivatives, in units of y squared over those of x squared; a list has one a column; default: one a column, which a fit chooses
---@field solver? string|gibbous.solver  "auto", "direct", a name or value of gb.solvers; default: "auto"
---@field standardize? boolean|gibbous.standardize.options  true: the model scales inputs and targets to mean 0 and standard deviation 1; kernel, mean and a noise that is a number are then of the scaled data; all that is asked and answered is in the units of the data

---@class gibbous.standardize.options
---@field x? boolean|gibbous.scaler  true, or a scaler that gb.data.standardize gave, of the inputs
---@field y? boolean|gibbous.scaler  the same of the targets

--- Exact regression: y = mean(x) + f(x) + noise, f ~ GP(0, kernel). "direct" factors the (n, n) covariance; "cg" streams it through
--- conjugate gradients and never stores it; "auto" takes the faster that fits the memory. The model copies what it is given: only
--- gb.params and networks stay shared. Without data it is the prior. With gradients = true it is conditioned on values and derivatives,
--- whatever differentiable kernel it has: N values of both cost what N points do. Its predictions are of both, (m, 1 + d).
---@param o gibbous.gp.exact.options
---@return gibbous.gp.exact
--- Errors: option, also where functions of the kernel have no derivative.
--- Source: Solak, Murray-Smith, Leithead, Leith & Rasmussen (2003), Derivative observations in Gaussian process models of dynamic systems.
---@see model:fit
---```lua
--- local x = gb.linspace(0, 6, 30)
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(x, x:sin(), {steps = 20})
--- print(m:predict(gb.tensor{1.5, 2.5}).mean)
--- local s = gb.gp.exact{kernel = gb.kernels.rbf{}, standardize = true}
--- s:fit(1000 * x, 20 + 5 * x:sin(), {steps = 20})
--- print(s:predict(gb.tensor{1500, 2500}).mean, s:value "kernel.lengthscale")
--- local g = gb.gp.exact{kernel = gb.kernels.matern52{}, gradients = true, noise = 0.01}
--- g:fit(x, gb.stack({x:sin(), x:cos()}, 2), {steps = 20})
--- print(g:predict(gb.tensor{1.5, 2.5}).mean)
---```
function gb.gp.exact(o) end

---@class gibbous.gp.laplace.options
---@field kernel gibbous.kernel  the covariance of f
---@field likelihood gibbous.likelihood  one that is not Gaussian and whose log density has a second derivative
---@field mean? gibbous.mean|function|gibbous.block  the mean of f; default: gb.means.zero()
---@field solver? string|gibbous.solver  "auto", "direct", a name or value of gb.solvers; default: "auto"
---@field standardize? gibbous.standardize.options  {x = true}: the model scales its inputs

--- Observations that are not Gaussian, y ~ p(y | f), f ~ GP(mean, kernel), by Laplace's approximation: the posterior of f is taken as
--- Gaussian around its most likely values, which Newton's method finds. A fit maximises the approximate log marginal likelihood. Softmax
--- has C latent functions, which share kernel and mean; their predictions are (m, C). All is computed in f64.
--- Cost of an evaluation: some 5 to 15 factors of order n (of softmax C times as many), or solves through the streamed kernel.
---@param o gibbous.gp.laplace.options
---@return gibbous.gp.laplace
--- Errors: option.
--- Source: Rasmussen & Williams (2006), algorithms 3.1 to 3.4.
---```lua
--- local x = gb.linspace(0, 6, 40)
--- local y = gb.likelihoods.poisson():draw(x:sin() + 1, 1)
--- local m = gb.gp.laplace{kernel = gb.kernels.rbf{}, mean = gb.means.constant(), likelihood = gb.likelihoods.poisson()}
--- m:fit(x, y, {steps = 10})
--- local p = m:predict(gb.tensor{1.5, 4.5})
--- print(p.y_mean, p.y_var, m:score(x, y))
---```
function gb.gp.laplace(o) end

---@class gibbous.gp.classifier.options
---@field kernel gibbous.kernel  the covariance of f
---@field classes? integer|table  their number, of labels 1 .. C, or the list of their labels; default: those of the data of a fit
---@field mean? gibbous.mean|function|gibbous.block  the mean of f; default: gb.means.zero()
---@field link? "probit"|"logit"  of two classes; default: "probit"
---@field solver? string|gibbous.solver  as of gb.gp.laplace; of more than two classes "direct" alone
---@field standardize? gibbous.standardize.options  {x = true}: the model scales its inputs
---@field inference? "auto"|"laplace"|"svgp"  how the posterior is approximated; default: "auto", a fit to two classes weighs both by predicted time and memory, to more takes "svgp"; with a solver "laplace"
---@field inducing? integer  points of inference = "svgp"; default: 500, at most the rows

--- Classification. Two classes have a Bernoulli likelihood and are fitted as by gb.gp.laplace, or as by gb.gp.svgp where that would
--- take too much time or memory; more have softmax, as by gb.gp.svgp. Labels are whole numbers, strings (a list), or a column of a
--- frame. A fit to more than 500 rows keeps to its 'seconds' (600) and 'budget'; m.info.notes says which it took, and why. Other
--- options of a fit are those of the model that it takes.
---@param o gibbous.gp.classifier.options
---@return gibbous.gp.classifier
--- Errors: option; of a fit where a label is none, naming its row.
---```lua
--- local x = gb.linspace(0, 6, 30)
--- local labels = {}
--- for i, v in ipairs(x:sin():totable()) do labels[i] = v > 0 and "up" or "down" end
--- local m = gb.gp.classifier{kernel = gb.kernels.rbf{}}
--- m:fit(x, labels, {steps = 5})
--- local p = m:predict(gb.tensor{1.5, 4.5})
--- print(p.class[1], p.class[2], p.probabilities, m:score(x, labels))
---```
function gb.gp.classifier(o) end

---@class gibbous.gp.multitask.options
---@field kernel gibbous.kernel|gibbous.kernel[]  of the points; of a list each has a B of its own, and they add up (m.kernel[1].tasks:matrix() is the first)
---@field seed? integer  of the W of a list of kernels at the start; default: 0
---@field tasks integer  how many outputs, T
---@field rank? integer  of B = W W' + diag(v); default: 1
---@field noise? number|number[]|gibbous.param  one variance, or one per task (the default)
---@field mean? gibbous.mean|function|gibbous.block  of x; gb.means.constant{c_1, ..., c_T} has one per task
---@field solver? string|gibbous.solver  as of gb.gp.exact
---@field standardize? boolean|gibbous.standardize.options  as of gb.gp.exact, each output by its own scale

--- A model of T outputs, cov(f_t(x), f_s(z)) = kernel(x, z) B[t, s]; y is (n, T).
--- Cost: a step takes O(n^3 + T^3 + n T (n + T)) where no cell of y is missing (Kronecker structure), else O(N^3) for N values.
---@param o gibbous.gp.multitask.options
---@return gibbous.gp.multitask
--- Errors: option.
---```lua
--- local x = gb.linspace(0, 6, 20)
--- local m = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}
--- m:fit(x, gb.stack({x:sin(), x:cos()}, 2), {steps = 5})
--- print(m:predict(gb.tensor{1, 2}).mean.shape)
--- local two = gb.gp.multitask{kernel = {gb.kernels.rbf{lengthscale = 3}:named "slow", gb.kernels.matern32{}}, tasks = 2}
--- two:fit(x, gb.stack({x:sin(), x:cos()}, 2), {steps = 5})
--- print(two.kernel.slow.tasks:matrix(), two:predict(gb.tensor{1}, {kernel = "slow"}).mean)
---```
function gb.gp.multitask(o) end

---@class gibbous.inducing_points.options
---@field method? "kmeans"|"random"|"greedy"  "kmeans": centroids by Euclidean distance; "random": distinct rows; "greedy": rows of the largest variance that those before leave; default: "kmeans"
---@field kernel? gibbous.kernel  of "greedy"
---@field seed? integer  default: 0
---@field weights? gibbous.tensor|number[]  (n), one a row

--- m places that stand for the rows of x, (m, d), of the type of x (of whole numbers f64). Evaluates.
--- Errors: option where there are fewer distinct rows than m.
---@param x gibbous.tensor
---@param m integer
---@param o gibbous.inducing_points.options?
---@return gibbous.tensor
---```lua
--- print(gb.gp.inducing_points(gb.rand(50, 2, {seed = 1}), 5, {seed = 1}).shape)
---```
function gb.gp.inducing_points(x, m, o) end

---@class gibbous.load.options
---@field x? gibbous.tensor|gibbous.frame  inputs of a model that was saved without its data, or the frame that has both
---@field y? gibbous.tensor  observations of such a model
---@field kernels? table<string, function>  constructors of gb.kernels.define by name
---@field means? table<string, function>  constructors of gb.means.define by name
---@field priors? table<string, function>  constructors of gb.priors.define by name
---@field likelihoods? table<string, function>  constructors of gb.likelihoods.define by name
---@field functions? table<string, function>  gb.func values by name
---@field warp? function  what the kernel was warped by

--- The model, of one output or several, the batch, or the k-means, of a file that its :save(path) wrote; it predicts with the same bits. Nothing
--- of the file is run: what only a script can say is given.
---@param path string
---@param o gibbous.load.options?
---@return gibbous.gp.exact|gibbous.gp.multitask|gibbous.gp.batch|gibbous.kmeans
--- Errors: io, format; option where something is missing that the file names.
---```lua
--- local path = os.tmpname()
--- gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:save(path)
--- print(gb.load(path).kernel)
--- os.remove(path)
---```
function gb.load(path, o) end

--- The same as gb.load.
---@param path string
---@param o gibbous.load.options?
---@return gibbous.gp.exact|gibbous.gp.multitask
---@see gb.load
---```lua
--- print(gb.gp.load == gb.load)
---```
function gb.gp.load(path, o) end

--- What every model has. Parameters are set by m:set(path, value) or through m.kernel, m.mean and m.likelihood.
---@class gibbous.model
---@field kernel gibbous.kernel  the model's own copy
---@field mean gibbous.mean  the model's own copy
---@field likelihood gibbous.likelihood  the model's own copy
---@field solver string|gibbous.solver  as given
---@field x gibbous.tensor?  the inputs (n, d); nil: the model holds no data
---@field y gibbous.tensor?  the observations (n), of several outputs (n, T)
---@field info gibbous.info?  the report of the last fit
---@field update gibbous.gp.update?  what it took to be ready for predictions
local model = {}

--- A model of one output, as gb.gp.exact makes it.
---@class gibbous.gp.exact: gibbous.model
local exact = {}

--- A new model without these rows of the data; parameters are not fitted again, the old model stays as it is, and what it scales keeps
--- its scale. Of a factor the rows above the first that goes stay, where at most half of the others lie below it.
---@param rows integer|integer[]|gibbous.tensor  numbers of rows, from 1, each once
---@return gibbous.gp.exact
--- Cost: O(k^3) for k rows below the first that goes, where they are at most half; else the next prediction takes O(n^3); m.update says.
--- Errors: index where there is no such row; option; not_pd.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2, 9}, gb.tensor{0, 1, 0, 50}, {steps = 3})
--- local without = m:remove(4)
--- print(#without.x, without:predict(gb.tensor{1.5}).mean, without.update)
---```
function exact:remove(rows) end

--- A model by Laplace's approximation, as gb.gp.laplace makes it.
---@class gibbous.gp.laplace: gibbous.model
local laplace = {}

--- A classifier, as gb.gp.classifier makes it. Its y are the numbers of classes as the likelihood takes them.
---@class gibbous.gp.classifier: gibbous.model
---@field classes table?  the labels in the order of probabilities; nil before they are known
---@field inducing gibbous.places?  the inducing points, where the last fit took such; m:get "inducing.points" is their parameter
---@field q gibbous.variational?  then the posterior of the values there
---@field batch integer?  then rows of a step
local classifier = {}

--- A model of several outputs, as gb.gp.multitask makes it.
---@class gibbous.gp.multitask: gibbous.model
---@field tasks integer  how many outputs, T
local multitask = {}

--- A new model without these rows of the data, as of gb.gp.exact; the next prediction begins anew.
---@param rows integer|integer[]|gibbous.tensor  numbers of rows, from 1, each once
---@return gibbous.gp.multitask
--- Cost: that of a fit without steps. Errors: index where there is no such row; option; not_pd.
---```lua
--- local m = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{{0, 1}, {1, 0}, {50, 1}}, {steps = 3})
--- print(#m:remove{3}.x)
---```
function multitask:remove(rows) end

--- A model of values and derivatives, as gb.gp.exact{gradients = true} makes it; kernel and mean are those of f. Its likelihood has
--- noise, of values, and gradient_noise, of derivatives; its y is (n, 1 + d).
---@class gibbous.gp.gradients: gibbous.model
local gradients = {}

--- A new model without these rows of the data, as of gb.gp.exact; the next prediction begins anew.
---@param rows integer|integer[]|gibbous.tensor  numbers of rows, from 1, each once
---@return gibbous.gp.gradients
--- Cost: that of a fit without steps. Errors: index where there is no such row; option; not_pd.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, gradients = true}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{{0, 1}, {1, 0}, {0, -1}}, {steps = 3})
--- print(#m:remove{3}.x)
---```
function gradients:remove(rows) end

---@class gibbous.model.fit.options
---@field method? "lbfgs"|"adam"|"sgd"  default: "lbfgs"
---@field steps? integer  at most; default: 200, of "adam" and "sgd" 500
---@field lr? number  step length of "adam" (0.05) and "sgd" (1e-3)
---@field tol? number  stops where the largest element of the gradient is below; default: 1e-5
---@field ftol? number  stops where the value changes by less than this share of itself; default: 1e-9
---@field on_step? fun(s: table): boolean?  gets {step, value, gradient_norm, solve}, and stops the fit by returning false
---@field starts? table[]  {{["kernel.lengthscale"] = 0.1}, ...}: further starts, each the first one but for these values
---@field seconds? number  the fit ends after the step at which so many have gone by since the call, at the best point so far; m:fit{resume = report} goes on
---@field restarts? integer  extra starts; by default one where a direct fit has brought the noise down or to most of var(y)
---@field seed? integer  of the starts and of a solver's probes; default: 0
---@field objective? "mll"|"loo"  the log marginal likelihood, or the leave-one-out predictive density (direct only); default: "mll"
---@field budget? integer|string  bytes or "1 GiB": every evaluation is planned within it, or refused
---@field missing? "error"|"mask"  NaN in y raises, or its values are left out; default: "error"
---@field resume? gibbous.info  of a fit that was interrupted or reached its steps: it goes on, as if it had not ended; 'steps' counts all
---@field inputs? string[]  of a frame: the columns that are inputs; default: all but the targets

--- Fits all free parameters to data: m:fit(x, y, o), or m:fit(o) to those that the model holds. It begins at the values given; a
--- value that is not given begins at the scale of the data. The best point seen is kept, also when the fit is interrupted. m:fit{resume = report}
--- goes on where that fit ended (L-BFGS memory, Adam moments, number of the start), with the bits of one that never ended.
--- m:fit(frame, "y", o): of the columns of a frame, which the model knows by name from then on; {"y1", "y2"} are several outputs.
---@param x gibbous.tensor|gibbous.frame  (n, d) or (n), in units of the lengthscales unless the model scales them
---@param y gibbous.tensor|string|string[]  (n), of several outputs (n, T); of a frame the names of the targets
---@param o gibbous.model.fit.options?
---@return gibbous.info
---@overload fun(self: gibbous.model, o?: gibbous.model.fit.options): gibbous.info
--- Cost: a step takes O(n^3) direct, O(n^2) per iteration of a solver.
--- Errors: option, shape, dtype, nan; refused, oom; not_pd.
---```lua
--- local x = gb.linspace(0, 6, 30)
--- local m = gb.gp.exact{kernel = gb.kernels.matern52{}, noise = 0.1}
--- print(m:fit(x, x:sin(), {steps = 20}).converged)
--- print(m:fit(x, x:sin(), {starts = {{["kernel.lengthscale"] = 0.1}}, seconds = 5}).history[1].parameters)
--- local f = gb.data.frame{t = x, y = x:sin()}
--- m:fit(f, "y", {steps = 5})
--- print(m:predict(f:head(2)).mean, m)
---```
function model:fit(x, y, o) end

---@class gibbous.model.predict.options
---@field kernel? string|gibbous.kernel|table  a part of the kernel, or a list of parts: f is their part of the sum, without the mean function and noise. A part is a name given by k:named, a path ("kernel[2]") or m.kernel.trend itself; a factor of a product is none
---@field gradients? boolean  true, of a model of gb.gp.exact: of f and its partial derivatives: mean, f_var and y_var are (m, 1 + d), f in the first column and its derivative by column a of x in column 1 + a, f_cov (m (1 + d), m (1 + d)) point by point; y_var of derivatives is f_var where the data are values. false: of f alone, by a model whose data have derivatives; default: true of such a model
---@field variance? "exact"|"cached"  "cached": f_var in O(n rank m), at most f_var_bound too large; default: "exact"
---@field rank? integer  of the cache; default: 100
---@field precision? "f32"|"f64"  for f32 data; default: f64 where f32 could lose the variance

--- A lazy record of f and y at new points. Nothing is computed until a field is looked at, and it stays what it is when parameters are
--- set later.
---@param x gibbous.tensor|gibbous.frame  (m, d) or (m); of a frame the columns of the model's inputs, found by name
---@param o gibbous.model.predict.options?
---@return gibbous.prediction
--- Cost: mean one pass over n m pairs; variances O(n^2 m), or a solve a point; once for the parameters a factor, O(n^3), or a solve.
--- Errors: option, shape, dtype; when a field is looked at: not_pd, nan, refused, oom.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 3})
--- local p = m:predict(gb.tensor{0.5, 1.5})
--- print(p.mean, p.y_var)
--- local k = gb.kernels.rbf{lengthscale = 5}:named "trend" + gb.kernels.periodic{}:named "season"
--- local s = gb.gp.exact{kernel = k, noise = 0.1}:condition(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0})
--- print(s:predict(gb.tensor{0.5}, {kernel = "trend"}).mean, s:predict(gb.tensor{0.5}, {kernel = s.kernel.season}).f_var)
--- local slope = m:predict(gb.tensor{0.5, 1.5}, {gradients = true})
--- print(slope.mean:select(2, 2), slope.f_var:select(2, 2):sqrt())
---```
function model:predict(x, o) end

---@class gibbous.model.score.options
---@field noise? number|gibbous.tensor  variances of the noise in these y, in place of the likelihood's
---@field missing? "error"|"mask"  rows (of several outputs cells) whose y is NaN: raise, or are left out; default: "error"
---@field variance? "exact"|"cached"  as of predict
---@field rank? integer  as of predict

--- How well new observations are predicted, as numbers. m:score(frame, o): of the rows of a frame.
---@param x gibbous.tensor|gibbous.frame  (m, d) or (m)
---@param y gibbous.tensor  (m), of several outputs (m, T)
---@param o gibbous.model.score.options?
---@return gibbous.score|gibbous.observed_score  the second where the likelihood is not Gaussian
---@overload fun(self: gibbous.model, frame: gibbous.frame, o?: gibbous.model.score.options): gibbous.score
--- Cost: a prediction's mean and y_var. Errors: option, shape, dtype, nan; those of a prediction.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 3})
--- print(m:score(gb.tensor{0.5, 1.5}, gb.tensor{0.5, 0.5}).rmse)
---```
function model:score(x, y, o) end

---@class gibbous.model.condition.options
---@field noise? gibbous.tensor  (k): variances, where the model's noise is known per observation
---@field missing? "error"|"mask"  rows where y is NaN: raise, or are left out; default: "error"

--- A new model that has also seen k more points; parameters are not fitted again, and the old model stays as it is. With y (b, k) it
--- gives b fantasies, which only predict, all at once. m:condition(frame, o): on the rows of a frame. What the model scales keeps its scale.
---@param x gibbous.tensor|gibbous.frame  (k, d) or (k); (b, k, d): points of their own for each fantasy
---@param y gibbous.tensor  (k); (b, k); of several outputs (k, T)
---@param o gibbous.model.condition.options?
---@return gibbous.gp.exact|gibbous.gp.multitask|gibbous.gp.fantasies
---@overload fun(self: gibbous.model, frame: gibbous.frame, o?: gibbous.model.condition.options): gibbous.gp.exact|gibbous.gp.multitask
--- Cost: O(n^2 k) where the old model was ready for predictions; m.update says what it took.
--- Errors: option, shape, dtype, nan; not_pd.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 3})
--- print(m:condition(gb.tensor{3}, gb.tensor{1}):predict(gb.tensor{2.5}).mean)
--- print(m:condition(gb.tensor{3, 4}, gb.tensor{{1, 0}, {0, 1}}):predict(gb.tensor{2.5}).mean.shape)
---```
function model:condition(x, y, o) end

---@class gibbous.model.draw.options
---@field features? integer  of the random expansion of the prior; default: 1024
---@field seed? integer  without it the next numbers of gb.seed are taken

--- k functions drawn from the posterior: a value that is called with points. White noise in the kernel is left out.
---@param k integer?  default: 1
---@param o gibbous.model.draw.options?
---@return gibbous.draw
--- Cost: one solve with k right-hand sides. Errors: option; those of a solve.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 3})
--- local f = m:draw(2, {seed = 1})
--- print(f(gb.tensor{0.5, 1, 1.5}).shape)
---```
function model:draw(k, o) end

--- Each observation of the model's data predicted from all others, the parameters as they are.
---@return gibbous.leave_one_out
--- Cost: O(n^3) and n^2 values; by a solver n solves. Errors: option, shape; not_pd.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 3})
--- print(m:leave_one_out().rmse)
---```
function model:leave_one_out() end

---@class gibbous.log_marginal_likelihood.options
---@field unconverged? boolean  true: where the solve missed its tolerance only the record says so

--- log p(y | x) of the data that the model holds, in nats, a sum not divided by n, with gradients, and a report. A solver estimates it.
---@param o gibbous.log_marginal_likelihood.options?
---@return gibbous.tensor
---@return gibbous.likelihood_info
--- Cost: one evaluation of the objective. Errors: not_converged; option; not_pd.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 3})
--- print((m:log_marginal_likelihood()):item())
---```
function model:log_marginal_likelihood(o) end

---@class gibbous.model.plan.options
---@field budget? integer|string  bytes or "1 GiB"
---@field method? "lbfgs"|"adam"|"sgd"  as of fit: a step of gb.gp.svgp takes a batch, or by "lbfgs" all rows
---@field objective? "mll"|"loo"  as of fit
---@field missing? "error"|"mask"  as of fit
---@field inputs? string[]  as of fit

--- The plan of one training step, the objective with its gradients: m:plan(x, y, o), or m:plan(o) for the data that the model holds.
--- Computes nothing.
---@param x gibbous.tensor|gibbous.frame  (n, d) or (n); gb.empty(n, d) is welcome
---@param y gibbous.tensor|string|string[]  (n), gb.empty(n) likewise; of a frame as of fit
---@param o gibbous.model.plan.options?
---@return gibbous.plan
--- Errors: refused, with need and minimum, where the step does not fit; option, shape, dtype, nan.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = "direct"}
--- print(m:plan(gb.empty(50, 2), gb.empty(50)).peak)
---```
function model:plan(x, y, o) end

--- A parameter by its path, as print(model) shows it.
---@param path string
---@return gibbous.param
--- Errors: option for an unknown path.
---```lua
--- print(gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:get "kernel.lengthscale")
---```
function model:get(path) end

--- The value of a parameter in the units of the data: that of m:get(path), unless the model scales its data (standardize = true). A
--- lengthscale of several scaled columns becomes one a column.
---@param path string
---@return gibbous.tensor
--- Errors: option for an unknown path, or a parameter whose value cannot be told in these units, as one of a function of the script.
---```lua
--- local x = gb.linspace(0, 6000, 30)
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, standardize = true}
--- m:fit(x, 20 + (x / 1000):sin(), {steps = 5})
--- print(m:value "kernel.lengthscale", m:get "kernel.lengthscale")
---```
function model:value(path) end

---@class gibbous.model.bound.options
---@field min? number|false  lower bound; false: none, of a positive parameter 0; default: it stays
---@field max? number|false  upper bound; false: none; default: it stays
---@field value? number|number[]|gibbous.tensor  of the parameter, inside the bounds; default: the one it has

--- Other bounds for a parameter by its path, also for one that was not made by gb.param; m.kernel.lengthscale.min = 0.1 sets one.
--- Bounds of the noise take the place of its floor. Gives the model.
---@param path string
---@param o gibbous.model.bound.options
---@return gibbous.model
--- Errors: option for an unknown path, or a value outside the bounds; the parameter then stays as it was.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- print(m:bound("kernel.lengthscale", {min = 0.1, max = 10}))
--- m.likelihood.noise.min = 0.01
---```
function model:bound(path, o) end

--- Sets parameters by path, all or none: m:set("kernel.lengthscale", 0.3), or m:set{["kernel.variance"] = 2, ...}. Gives the model.
---@param path string|table
---@param v number|table|gibbous.tensor|nil  inside the bounds; one number stands for all elements
---@return gibbous.model
--- Errors: option for an unknown path, or a value outside the bounds.
---```lua
--- print(gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:set("kernel.lengthscale", 0.3))
---```
function model:set(path, v) end

--- An independent model of the same data, and its last report: parameters are copied, networks and functions are shared.
---@return gibbous.model
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:copy():set("kernel.lengthscale", 3)
--- print(m:get "kernel.lengthscale")
---```
function model:copy() end

---@class gibbous.model.save.options
---@field data? boolean  false keeps only the digest of the data; default: true
---@field caches? boolean  true keeps what the last prediction prepared, n^2 values; false none; by default where m:condition made it

--- Writes the model to one file, which gb.load reads: structure, parameters with their bits, data, solver, report. The file is there
--- whole or not at all. Functions of the script are kept by name, networks of gb.nn whole.
---@param path string
---@param o gibbous.model.save.options?
--- Errors: io; option.
---```lua
--- local path = os.tmpname()
--- gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:save(path)
--- os.remove(path)
---```
function model:save(path, o) end

--- Many possible continuations of a model's data, as m:condition(x, y) gives them for y (b, k).
---@class gibbous.gp.fantasies
---@field count integer  how many, b
---@field model gibbous.gp.exact  the model that they continue
---@field x gibbous.tensor  (k, d) or (b, k, d), the points
---@field y gibbous.tensor  (b, k), the observations
local fantasies = {}

--- A lazy record at new points: mean (b, m); variances (m) where they are the same for all, else (b, m).
---@param x gibbous.tensor  (m, d) or (m)
---@return gibbous.prediction
--- Cost: O(n m k) for the means of fantasies at shared points, O(n m k b) where each has its own.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 3})
--- print(m:condition(gb.tensor{3}, gb.tensor{{1}, {0}}):predict(gb.tensor{2.5}).mean)
---```
function fantasies:predict(x) end

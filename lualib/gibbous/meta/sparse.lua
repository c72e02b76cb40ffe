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
---@field standardize? boolean|gibbous.standardize.options  the model scales x and y, as gb.gp.exact does; inducing points that are given are scaled ones

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

---@class gibbous.gp.svgp.options
---@field kernel gibbous.kernel  the covariance of f
---@field inducing integer|gibbous.tensor|gibbous.param  how many inducing points, m, or the points (m, d)
---@field likelihood? gibbous.likelihood  of any kind; of softmax all classes share kernel, mean and points, and q is whitened
---@field noise? number|gibbous.param|gibbous.tensor  of Gaussian noise, in place of likelihood
---@field mean? gibbous.mean|function|gibbous.block  the mean of f; default: gb.means.zero()
---@field q? "full"|"diagonal"|"low_rank"  the covariance of the values at the points; default: "full"
---@field rank? integer  of "low_rank"; default: 10
---@field whiten? boolean  q is of v = L^-1 u, K_zz = L L'; false: of u; default: true
---@field batch? integer  rows of a step, of all at most n; default: 1024
---@field standardize? boolean|gibbous.standardize.options  the model scales x and, with Gaussian noise, y; inducing points that are given are scaled ones
---@field select? "kmeans"|"greedy"|"random"  as of gb.gp.sgpr
---@field learn? boolean  false: a fit does not move the points; default: true
---@field seed? integer  of the choice; default: 0

--- A variational model: m inducing points, any likelihood, minibatches of any number of rows, from memory or
--- a file that gb.data.read maps. q moves by natural gradients but for the weights of a low-rank one, the rest by Adam; or all by
--- L-BFGS on all rows. Computes in f64.
--- Cost: a step takes O(m^2 (m + batch)) time and O(m (m + batch)) memory.
---@param o gibbous.gp.svgp.options
---@return gibbous.gp.svgp
--- Errors: option, shape, nan.
---@see svgp:fit
---```lua
--- local x = gb.rand(300, 2, {seed = 1})
--- local y = gb.where((x:sum(2) - 1):abs():lt(0.3), 1.0, 0.0)
--- local m = gb.gp.svgp{kernel = gb.kernels.rbf{}, inducing = 10, likelihood = gb.likelihoods.bernoulli{}, batch = 100}
--- print(m:fit(x, y, {steps = 10}).log_likelihood)
--- print(m:predict(gb.tensor{{0.5, 0.5}}).probabilities)
---```
function gb.gp.svgp(o) end

--- A variational model, as gb.gp.svgp makes it.
---@class gibbous.gp.svgp: gibbous.model
---@field inducing gibbous.places  the inducing points; m:get "inducing.points" is their parameter
---@field q gibbous.variational  the posterior of the values there
---@field batch integer  rows of a step
local svgp = {}

---@class gibbous.gp.svgp.fit.options
---@field method? "adam"|"lbfgs"  minibatches by Adam and natural gradients, or all rows at every evaluation by L-BFGS; default: "adam"
---@field steps? integer  default: 1000, unless epochs or seconds are given; of "lbfgs" 200
---@field epochs? number  of "adam", in place of steps: passes over the rows
---@field seconds? number  a time limit, of "adam" the last pass included; "lbfgs" ends after the step at which so many have gone by
---@field batch? integer  of "adam": rows of a step, at most n; default: the model's. "lbfgs" refuses it: budget bounds its windows of rows
---@field lr? number  of Adam, in units of log parameters and of the spread of x, falling to 0 as a cosine does; default: 0.02
---@field rate? number  of "adam": of natural gradients, which move q but the weights of "low_rank", falling to a tenth; default: 0.1
---@field patience? number  of "adam", epochs: the fit ends where the mean ELBO of the batches of so many is no better than that of as many before
---@field seed? integer  of the order of rows, of "lbfgs" of its starts; default: 0
---@field polish? boolean  of "adam", false: no last pass, which with Gaussian noise makes q the best there is, of "low_rank" its mean; default: true
---@field tol? number  of "lbfgs": stops where the largest element of the gradient is below; default: 1e-5
---@field ftol? number  of "lbfgs": stops where the value changes by less than this share of itself; default: 1e-9
---@field restarts? integer  of "lbfgs": extra starts
---@field starts? table[]  of "lbfgs": {{["kernel.lengthscale"] = 0.1}, ...}: further starts, each the first one but for these values
---@field resume? gibbous.info  of "lbfgs": of a fit that was interrupted or reached its steps: it goes on, as if it had not ended
---@field on_step? fun(s: table): boolean?  gets {step, value}, -ELBO by the batch, of "lbfgs" of all rows with gradient_norm, and stops the fit by returning false
---@field missing? "error"|"mask"  NaN in y raises, or its rows are left out; default: "error"
---@field budget? integer|string  bytes or "1 GiB": every step is planned within it, or refused
---@field inputs? string[]  of a frame: the columns of x, by name

--- Fits parameters, places and q: m:fit(x, y, o), or m:fit(o) to the data that the model holds. An epoch is a permutation of the rows
--- that the seed fixes. The report's log_likelihood is the ELBO of all rows, its history that of the batches.
--- method = "lbfgs": every evaluation is of all rows, streamed within the budget to the same bits; report, history and resumption are
--- those of exact models. A full q is the best there is at every point: with Gaussian noise the ELBO is then the collapsed bound, with
--- other likelihoods natural steps find q; another q moves with the parameters. m:plan{method = "lbfgs"} plans an evaluation.
---@param x gibbous.tensor  (n, d) or (n)
---@param y gibbous.tensor  (n)
---@param o gibbous.gp.svgp.fit.options?
---@return gibbous.info
--- Cost: a step takes O(m^2 (m + batch)), the last pass O(n m^2); of "lbfgs" an evaluation two passes, O(n m^2), and one for each
--- natural step. Errors: option, shape, dtype, nan; refused, oom; not_pd.
---```lua
--- local x = gb.rand(300, 2, {seed = 1})
--- local m = gb.gp.svgp{kernel = gb.kernels.rbf{}, inducing = 10, noise = 0.1}
--- print(m:fit(x, (6 * x):sin():sum(2), {epochs = 2, batch = 100}).iterations)
--- print(m:fit{method = "lbfgs", steps = 5}.log_likelihood)
---```
function svgp:fit(x, y, o) end

--- A new model that has also seen k more points, with Gaussian noise and a full q, which takes their terms in.
---@param x gibbous.tensor  (k, d) or (k)
---@param y gibbous.tensor  (k)
---@param o gibbous.model.condition.options?
---@return gibbous.gp.svgp
--- Cost: O(k m^2 + m^3). Errors: option, shape, dtype, nan; not_pd.
---```lua
--- local m = gb.gp.svgp{kernel = gb.kernels.rbf{}, inducing = gb.linspace(0, 3, 5), noise = 0.1}
--- print(m:condition(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}):predict(gb.tensor{1.5}).mean)
---```
function svgp:condition(x, y, o) end

--- What the exact log marginal likelihood lies between at the present parameters and places, with Gaussian noise, whatever q is.
---@return gibbous.bounds
--- Cost: two passes over the rows, O(n m^2). Errors: option; not_pd.
---```lua
--- local x = gb.linspace(0, 6, 50)
--- local m = gb.gp.svgp{kernel = gb.kernels.rbf{}, inducing = 8, noise = 0.1}
--- m:fit(x, x:sin(), {steps = 3})
--- print(m:bounds().gap_per_point)
---```
function svgp:bounds() end

--- q, the posterior of the values at inducing points: its parameters.
---@class gibbous.variational
---@field kind string  "full", "diagonal", "low_rank"
---@field whiten boolean  it is of whitened values
---@field latents integer?  of several latent functions: their number, then the first axis of the parameters
---@field count integer  m
---@field precision gibbous.param?  (m, m), of "full": the inverse of the covariance S
---@field shift gibbous.param?  (m), of "full": S^-1 times the mean
---@field mean gibbous.param?  (m), of the others
---@field scale gibbous.param?  (m), of the others: S = diag(scale^2) + weights weights'
---@field weights gibbous.param?  (m, rank), of "low_rank"
local variational = {}

---@class gibbous.gp.auto.options
---@field kernel gibbous.kernel  the covariance of f
---@field mean? gibbous.mean|function|gibbous.block  the mean of f; default: gb.means.zero()
---@field noise? number|gibbous.param|gibbous.tensor  of Gaussian noise
---@field likelihood? gibbous.likelihood  in place of noise

--- A maker of models: a:fit(x, y, {seconds = 600}) takes gb.gp.exact by a factor or by a solver, gb.gp.laplace, gb.gp.sgpr or
--- gb.gp.svgp, by predicted time and memory, and fits it.
---@param o gibbous.gp.auto.options
---@return gibbous.gp.auto
--- Errors: option.
---```lua
--- local x = gb.linspace(0, 6, 100)
--- local m, info = gb.gp.auto{kernel = gb.kernels.rbf{}}:fit(x, x:sin(), {seconds = 10})
--- print(info.kind, m:predict(gb.tensor{1.5}).mean)
---```
function gb.gp.auto(o) end

--- A maker of models, as gb.gp.auto gives it.
---@class gibbous.gp.auto
local auto = {}

---@class gibbous.gp.auto.fit.options
---@field seconds? number  a limit of the whole; default: 600
---@field budget? integer|string  bytes or "1 GiB"; default: what there is
---@field seed? integer  of what is random; default: 0
---@field missing? "error"|"mask"  NaN in y raises, or its rows are left out; default: "error"
---@field inputs? string[]  columns of a frame; default: all but the target

--- Chooses a model for the data, and fits it: the model, and which it is, why, and what was approximated by how much. Costs are
--- predicted from plans; where the machine is slower, the fit ends at the limit with what it has.
---@param x gibbous.tensor|gibbous.frame  (n, d) or (n)
---@param y gibbous.tensor|string  (n); of a frame the name of the column
---@param o gibbous.gp.auto.fit.options?
---@return gibbous.model
---@return gibbous.auto_info
--- Errors: option, shape, dtype, nan; refused where the smallest model does not fit the budget.
---```lua
--- local x = gb.linspace(0, 6, 100)
--- local m, info = gb.gp.auto{kernel = gb.kernels.rbf{}}:fit(x, x:sin(), {seconds = 10})
--- print(info.reason, info.approximated)
---```
function auto:fit(x, y, o) end

--- Which model gb.gp.auto took, why, and what was approximated by how much.
---@class gibbous.auto_info
---@field kind string  "exact", "iterative", "laplace", "sgpr", "svgp"
---@field reason string  why
---@field inducing integer?  how many inducing points
---@field approximated string  what, and by how much
---@field bounds gibbous.bounds?  of a sparse model with Gaussian noise, where time allowed
---@field costs table  {seconds, bytes}, predicted, by kind; refused, minimum: it does not fit
---@field fit gibbous.info  the report of the fit
---@field seconds number  all of it
---@field limit number  of the seconds
---@field budget integer  bytes
local auto_info = {}

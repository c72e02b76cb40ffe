---@meta

--- What a model says about new points: a lazy record. Of b fantasies means are (b, m).
---@class gibbous.prediction
---@field mean gibbous.tensor  (m) of f and, with Gaussian noise, of y; of several outputs (m, T), of C latent functions (m, C)
---@field y_mean gibbous.tensor  (m) mean of a new observation
---@field probabilities gibbous.tensor  (m, C) of the classes, where the likelihood has classes
---@field f_var gibbous.tensor  (m) variance of the function, from 0 to the prior variance; NaN where rounding left nothing
---@field y_var gibbous.tensor  (m) variance of a new observation
---@field f_cov gibbous.tensor  (m, m) covariance of the function; m^2 values
---@field f_var_bound gibbous.tensor  (m) how much too large f_var may be: 0 by a factor
---@field converged boolean  whether every solve so far did; true without a solver
---@field info gibbous.prediction_info  how it was computed, as far as it was
local prediction = {}

--- The log density, or log probability, of each observation y (m) at these points by itself: nats. Of several outputs, and of f and
--- its derivatives, y and the densities have the shape of the mean.
---@param y gibbous.tensor
---@return gibbous.tensor (m)
--- Errors: shape; option where y is none of the likelihood's.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- print(m:predict(gb.tensor{0.5, 1.5}):log_density(gb.tensor{0.1, -0.3}))
---```
function prediction:log_density(y) end

---@class gibbous.prediction.interval.options
---@field of? "y"|"f"  a new observation, or the function; default: "y"

--- Bounds that hold a new observation with this probability.
---@param level number?  from 0 to 1; default: 0.95
---@param o gibbous.prediction.interval.options?
---@return gibbous.tensor low (m)
---@return gibbous.tensor high (m)
--- Errors: option; those of the variances.
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- local low, high = m:predict(gb.tensor{0.5, 1.5}):interval(0.9)
--- print(low, high)
---```
function prediction:interval(level, o) end

---@class gibbous.prediction.sample.options
---@field of? "f"|"y"  "y" adds the noise of observations; default: "f"
---@field seed? integer  without it the next numbers of gb.seed are taken
---@field method? "cholesky"|"pathwise"  "pathwise": by random features, never (m, m); default: "cholesky"
---@field features? integer  of "pathwise"; default: 1024

--- k joint draws at the points.
---@param k integer?  default: 1
---@param o gibbous.prediction.sample.options?
---@return gibbous.tensor (k, m)
--- Cost: O(m^3) and m^2 values by "cholesky", O(m (n + features)) a draw by "pathwise".
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
--- print(m:predict(gb.tensor{0.5, 1.5}):sample(3, {seed = 1}).shape)
---```
function prediction:sample(k, o) end

--- How a prediction was computed. What does not apply is nil.
---@class gibbous.prediction_info
---@field algorithm string  "direct", the solver, or "prior"
---@field variance string  "exact" or "cached"
---@field rank integer?  of cached variances
---@field precision string  "f32" or "f64"
---@field reused boolean  the model was prepared before
---@field converged boolean  every solve so far met its tolerance
---@field missed string?  whose solves did not: "mean", "variances", "mean and variances"
---@field reason string?  why not
---@field residual number?  the largest |b - A x| / |b|
---@field iterations integer?  of the longest solve
---@field slices integer?  groups of points that variances were solved for
---@field seconds number?  of the solves
---@field variance_error number?  the largest f_var_bound over its f_var
---@field clamped integer?  variances that are 0 after rounding, of those looked at
---@field invalid integer?  variances lost to rounding, at finite points
---@field jitter number?  that a joint draw needed, in units of y squared
---@field relative_jitter number?  the same over the prior variance
---@field noise string?  "unknown" where y_var is f_var for that reason
local prediction_info = {}

--- Functions drawn from a posterior by m:draw(k): f(x) takes points (m, d) or (m) and gives (k, m), of several outputs (k, m, T), lazy
--- and differentiable in the points. The same point gives the same value, however often it is asked for.
--- Cost: O(m (features + n)) a function, streamed.
---@class gibbous.draw
---@field count integer  how many functions
---@field features integer  of the random expansion
---@field converged boolean  whether the solve behind them did
---@field info table?  the record of that solve
local draw = {}

--- What a fit reports, of m:fit and m.info. Prints as text.
---@class gibbous.info
---@field converged boolean  the optimiser's test was met, not interrupted, and the last solve converged
---@field reason string  why it stopped
---@field value number  what was minimised, at the best point: -(objective + log_prior), nats
---@field log_prior number  of the free parameters, 0 without priors, nats
---@field log_likelihood number  the objective itself, nats
---@field log_likelihood_error number?  its standard error, where a solver estimated it from random probes, nats
---@field objective string  "mll" or "loo"
---@field gradient_norm number?  of the value by the unconstrained parameters, at the best point
---@field active_bounds string[]  paths of free parameters that lie at a bound
---@field shared string[]  paths of free parameters that another model had fitted before
---@field notes string[]  why the fit may be worth little
---@field noise_floor number?  the least variance allowed, where it binds, in units of y squared
---@field iterations integer  steps of the best start
---@field evaluations integer  of all starts
---@field setbacks integer  steps undone, of all starts
---@field restarts integer  extra starts
---@field failed_starts integer  starts that came to nothing
---@field solver string  "direct" or the solver
---@field precision string  of the objective at the end, "f32" or "f64"
---@field dtype string  of the data
---@field why gibbous.choice?  how solver = "auto" came to it
---@field solve_log table  solves, iterations, unconverged, the worst residual and condition, all 0 when direct; worst: of the worst that missed
---@field parameters table<string, number|number[]>  values at the best point, by path, of parameters with 32 elements at most
---@field history table[]  its steps in order: {step, value, gradient_norm, residual, parameters}, residual where a solver has one, parameters the values of the free ones by path where there are 64 numbers at most; of more than 4096 every second, or fourth ..
---@field seed integer  of the starts and the probes
---@field n integer  values of y
---@field masked integer  values of y left out by missing = "mask"
---@field tasks integer?  of a model of several outputs
---@field derivatives integer?  of a model of values and derivatives: how many of the n are derivatives
---@field approximation gibbous.bounds?  of a sparse model: what was approximated, by how much
---@field seconds number  it took
---@field bytes integer  the most held since the report was last reset
---@field interrupted boolean  Ctrl-C, on_step or the time limit stopped it
---@field method string  "lbfgs", "adam", "sgd"
local info = {}

--- Why solver = "auto" took an algorithm, with the predicted costs of a step.
---@class gibbous.choice
---@field solver string  the algorithm
---@field reason string  why
---@field direct table  {seconds, bytes, minimum}; refused: it does not fit, and reason says what it lacks
---@field iterative table  {seconds, bytes, steps}; at_least: enough to decide
---@field budget integer  bytes
local choice = {}

--- What a model did last to be ready for predictions, of m.update.
---@class gibbous.gp.update
---@field kind string  "append" rows to the factor, "factor" all rows, "solve", "decomposition", "sums" over the rows of a sparse model, "mode" by Newton's method, "remove" rows that were there, "none": left for later
---@field rows integer  observations that were worked in, or removed
---@field onto integer  observations that were there already; of "remove" those that are left
---@field seconds number  it took
---@field reason string?  why it was, or will be, from the start
---@field solve gibbous.solve_info?  the report of the solver
---@field bytes integer?  of the factor
---@field x gibbous.tensor?  the inputs it is about
local update = {}

--- The report of m:log_marginal_likelihood.
---@class gibbous.likelihood_info
---@field value number  nats
---@field standard_error number  nats; 0 by a factor
---@field converged boolean  whether the solve behind it did
---@field reason string?  of that solve
---@field iterations integer?  of that solve
---@field residual number?  of that solve
local likelihood_info = {}

--- The report of m:leave_one_out.
---@class gibbous.leave_one_out
---@field mean gibbous.tensor  (n), of y_i given all others; of several outputs (n, T), NaN where y is
---@field var gibbous.tensor  likewise, noise included, in units of y squared
---@field log_density gibbous.tensor  likewise, of y_i, nats
---@field nlpd number  mean negative log density, nats a point
---@field rmse number  root mean squared error, in units of y
---@field n integer  observations
---@field converged boolean  whether the solves behind it did
local leave_one_out = {}

--- How well observations that are not Gaussian are predicted.
---@class gibbous.observed_score
---@field nlpd number  mean negative log predictive density, or probability, of each y by itself, nats a point
---@field accuracy number?  of classes: the part of the y whose class is the most likely one
---@field brier number?  of classes: mean squared distance of the probabilities to the class, from 0 to 2
---@field rmse number?  of numbers: root mean squared error of y_mean
---@field mae number?  of numbers: mean absolute error of y_mean
---@field n integer  points scored
---@field masked integer  rows left out by missing = "mask"
---@field converged boolean  false: the search for the mode, or a solve, missed its tolerance
local observed_score = {}

--- What a classifier says about new points, as its predict gives it: a lazy record.
---@class gibbous.class_prediction
---@field probabilities gibbous.tensor  (m, C), a column a class, in the order of 'classes'
---@field class gibbous.tensor|string[]  (m), the most likely class: numbers (i64), or a list of strings
---@field classes table  the labels
---@field mean gibbous.tensor  of the latent function, (m), of more than two classes (m, C)
---@field f_var gibbous.tensor  its variance, like mean
---@field f_cov gibbous.tensor  (m, m) of two classes
---@field converged boolean  whether every solve and the search for the mode did
---@field info gibbous.prediction_info  how it was computed
local class_prediction = {}

--- Bounds that hold the latent function with this probability.
---@param level number?  default: 0.95
---@return gibbous.tensor low
---@return gibbous.tensor high
---```lua
--- local m = gb.gp.classifier{kernel = gb.kernels.rbf{}, classes = 2}
--- print(m:predict(gb.tensor{0.5, 1.5}):interval(0.9))
---```
function class_prediction:interval(level) end

--- The log probability of each label of y (m), nats.
---@param y gibbous.tensor|table
---@return gibbous.tensor (m)
---```lua
--- local m = gb.gp.classifier{kernel = gb.kernels.rbf{}, classes = {"no", "yes"}}
--- print(m:predict(gb.tensor{0.5, 1.5}):log_density{"yes", "no"})
---```
function class_prediction:log_density(y) end

--- How well new observations are predicted, of m:score.
---@class gibbous.score
---@field rmse number  root mean squared error, in units of y
---@field mae number  mean absolute error, in units of y
---@field smse number?  mean squared error over the variance of these y; nil where they do not vary
---@field nlpd number  mean negative log predictive density, nats a point
---@field msll number?  nlpd less that of a normal with the mean and variance of the training y, nats a point
---@field crps number  mean continuous ranked probability score, in units of y
---@field coverage50 number  the part of the y inside their central 50 % interval
---@field coverage90 number  the same of 90 %
---@field coverage95 number  the same of 95 %
---@field calibration number  mean |coverage - level| over the levels 0.1, 0.2, ..., 0.9
---@field joint_log_density number  of all y together, nats; m^2 values, computed when it is first read
---@field f_var_bound number?  how much too large cached variances are at most, on average
---@field n integer  points scored
---@field noise_known boolean  false: the noise of these y is not known, and figures are as if there were none
---@field masked integer  rows left out by missing = "mask"
---@field converged boolean  false: some solve behind these figures missed its tolerance
---@field tasks table[]  of several outputs: the figures of each, and the name of its column where there is one
local score = {}

---@meta

---@class gibbous
local gb = {}

--- The noise of observations: y = f(x) + noise.
---@class gb.likelihoods
gb.likelihoods = {}

--- A likelihood, as gb.likelihoods makes it; l.noise = 0.1 gives a parameter its value. Which fields it has depends on its kind.
---@class gibbous.likelihood
---@field kind string  "gaussian", "fixed", "tasks", "heteroscedastic"
---@field noise gibbous.param  variance, in units of y squared
---@field floor number?  the least variance of a fit in multiples of var(y)
---@field min number?  the least variance of a fit, in units of y squared
---@field least number?  the floor that the data gave, in units of y squared
---@field new any?  of fixed: the variance of new observations
---@field kernel gibbous.kernel?  of heteroscedastic: the kernel of g
---@field log_variance any?  of heteroscedastic: g
---@field latent gibbous.param?  of heteroscedastic: the values of g at its places, whitened
---@field places any?  of heteroscedastic: where g is held
---@field unit number?  of fixed, in a model that scales its targets: what the variances are divided by there
---@field count integer?  of fixed: the number of observations
local likelihood = {}

---@class gibbous.likelihoods.gaussian.options
---@field noise? number|gibbous.param  variance, in units of y squared
---@field min? number  least variance of a fit
---@field floor? number|false  the same in multiples of var(y): 1e-6 (f32: 1e-5); false: none

--- The same noise for every observation.
---@param v number|gibbous.param|gibbous.likelihoods.gaussian.options?  the variance: a number is free to be fitted, 0 is held: the data are exact
---@return gibbous.likelihood
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, likelihood = gb.likelihoods.gaussian{noise = 0.1, min = 1e-4}}
---```
function gb.likelihoods.gaussian(v) end

---@class gibbous.likelihoods.fixed.options
---@field new? number|gibbous.param|function  the variance of new observations; a function takes x (m, d) and gives (m)

--- Known variances, one per observation, which are not fitted. Without 'new' a prediction's y_var is its f_var.
---@param v gibbous.tensor|number[]  (n), in units of y squared
---@param o gibbous.likelihoods.fixed.options?
---@return gibbous.likelihood
---```lua
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, likelihood = gb.likelihoods.fixed({0.1, 0.2, 0.1}, {new = 0.1})}
--- m:fit(gb.tensor{1, 2, 3}, gb.tensor{1, 0, 1}, {steps = 2})
---```
function gb.likelihoods.fixed(v, o) end

--- Noise with a variance for each task, free to be fitted. The last column of the inputs is the task, from 1.
---@param v number[]|gibbous.param  (T), in units of y squared
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.tasks{0.1, 0.2})
---```
function gb.likelihoods.tasks(v) end

---@class gibbous.likelihoods.heteroscedastic.options
---@field kernel? gibbous.kernel  of a second Gaussian process g, held by its values at 'places'; or
---@field log_variance? function|gibbous.mean|gibbous.block  g itself: x (n, d) to (n) or (n, 1)
---@field places? integer|gibbous.tensor  (m, d), or that many rows of the data, which lie apart; default: 30
---@field noise? number|gibbous.param  what exp(g) multiplies; default: 1, held with log_variance
---@field min? number  least variance of a fit
---@field floor? number|false  the same in multiples of var(y)

--- Noise that varies with x: variance(x) = noise exp(g(x)), learned together with the other parameters. Predictions take exp(g) at its
--- most likely value: its own uncertainty is not in y_var.
--- Cost: O(n m + m^3) an evaluation beside the model.
---@param o gibbous.likelihoods.heteroscedastic.options
---@return gibbous.likelihood
---```lua
--- local noisy = gb.likelihoods.heteroscedastic{kernel = gb.kernels.rbf{}, places = 5}
--- local m = gb.gp.exact{kernel = gb.kernels.rbf{}, likelihood = noisy}
---```
function gb.likelihoods.heteroscedastic(o) end

--- Is v a likelihood?
---@param v any
---@return boolean
---```lua
--- print(gb.likelihoods.is(gb.likelihoods.gaussian(1)))
---```
function gb.likelihoods.is(v) end

--- The state of a likelihood; for the library.
---@param l gibbous.likelihood
---@return table
---```lua
--- print(gb.likelihoods.fields(gb.likelihoods.gaussian(1)).kind)
---```
function gb.likelihoods.fields(l) end

--- A likelihood of these fields; for the library.
---@param f table
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.is(gb.likelihoods.new{kind = "own"}))
---```
function gb.likelihoods.new(f) end

--- Do the values of y vary, but for rounding? Evaluates.
---@param y gibbous.tensor
---@return boolean
---```lua
--- print(gb.likelihoods.varies(gb.tensor{1, 2, 3}))
---```
function gb.likelihoods.varies(y) end

--- An independent copy; explicit gb.params and networks are shared.
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.gaussian(1):copy())
---```
function likelihood:copy() end

--- The noise variance of observations at x, one element or (n), in units of y squared.
---@param x gibbous.tensor  (n, d)
---@return gibbous.tensor
---```lua
--- print(gb.likelihoods.gaussian(0.5):variance(gb.ones(3, 1)):item())
---```
function likelihood:variance(x) end

--- The noise variance of new observations at x, one element or (n); nil where it is not known, and predictions add none.
---@param x gibbous.tensor  (n, d)
---@return gibbous.tensor?
---```lua
--- print(gb.likelihoods.gaussian(0.5):new_variance(gb.ones(3, 1)):item())
---```
function likelihood:new_variance(x) end

--- What print(model) says of the noise below the parameters, or nil.
---@return string?
---```lua
--- print(gb.likelihoods.gaussian(0.5):note())
---```
function likelihood:note() end

--- Settles what depends on the inputs x (n, d); models call it when data arrive.
---@param x gibbous.tensor
---```lua
--- gb.likelihoods.gaussian(0.5):resolve(gb.ones(3, 1))
---```
function likelihood:resolve(x) end

--- Holds latent noise at z (m, d); models call it.
---@param z gibbous.tensor
---```lua
--- gb.likelihoods.heteroscedastic{kernel = gb.kernels.rbf{}, places = 2}:place(gb.tensor{{0}, {1}})
---```
function likelihood:place(z) end

--- Works out the least variance for observations y, makes it the lower bound of the noise, and gives it; nil where there is none. Fits
--- call it.
---@param y gibbous.tensor  (n)
---@return number?
---```lua
--- print(gb.likelihoods.gaussian(0.5):set_floor(gb.tensor{1, 2, 3}))
---```
function likelihood:set_floor(y) end

--- The likelihood of some of the observations that it was made for; models call it where values are missing.
---@param keep gibbous.tensor  (m), i64: the rows that stay
---@param count integer  of the observations there are
---@param what string  begins a message
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.fixed{1, 2, 3}:of_rows(gb.tensor({1, 3}, {dtype = "i64"}), 3, "example"))
---```
function likelihood:of_rows(keep, count, what) end

--- The likelihood for targets that were divided by sd: known variances stay in units of the data, and the model divides them; models
--- call it.
---@param sd gibbous.tensor?  one number; nil: the targets are as they are
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.fixed{1, 2}:in_units(gb.tensor(2)):variance(gb.ones(2, 1)))
---```
function likelihood:in_units(sd) end

--- Known variances in the units of the targets that the model holds; models call it.
---@param v gibbous.tensor
---@return gibbous.tensor
---```lua
--- print(gb.likelihoods.fixed{1, 2}:scaled(gb.tensor{3, 4}))
---```
function likelihood:scaled(v) end

---@meta

---@class gibbous
local gb = {}

--- p(y | f) of observations: Gaussian noise, y = f(x) + noise, and others.
---@class gb.likelihoods
gb.likelihoods = {}

--- A likelihood, as gb.likelihoods makes it; l.noise = 0.1 gives a parameter its value. Which fields it has depends on its kind.
---@class gibbous.likelihood
---@field kind string  "gaussian", "fixed", "tasks", "heteroscedastic", "bernoulli", "softmax", ... or the name of one's own
---@field points integer?  not of Gaussian ones: points of a Gauss-Hermite rule
---@field link string?  of bernoulli and ordinal: "probit" or "logit"
---@field scale gibbous.param?  of student_t and laplace, in units of y
---@field df gibbous.param?  of student_t: degrees of freedom, above 1
---@field dispersion gibbous.param?  of negative_binomial
---@field shape gibbous.param?  of gamma
---@field concentration gibbous.param?  of beta
---@field classes integer?  of softmax and ordinal
---@field first gibbous.param?  of ordinal: the first cut point
---@field gaps gibbous.param?  of ordinal: between cut points, above 0
---@field draws integer?  of softmax: of averages
---@field seed integer?  of softmax: of these draws
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

---@class gibbous.likelihoods.bernoulli.options
---@field link? "probit"|"logit"  p(y = 1 | f) is Phi(f), the default, or 1 / (1 + e^-f)
---@field points? integer  points of a Gauss-Hermite rule; default: 20

--- Observations 0 or 1. Of the probit link predictions are in closed form; other averages are by quadrature.
--- Source: Rasmussen & Williams (2006), sections 3.3 and 3.9.
---@param o gibbous.likelihoods.bernoulli.options?
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.bernoulli{link = "logit"}:log_density(gb.tensor{0.5, -1}, gb.tensor{1, 0}))
---```
function gb.likelihoods.bernoulli(o) end

---@class gibbous.likelihoods.softmax.options
---@field classes integer  their number, 2 or more
---@field draws? integer  of averages in fits, an even number; predictions take ten times as many; default: 200
---@field seed? integer  of these draws; default: 0

--- Classes 1 .. C without order, of C latent functions: p(y | f) = e^f_y / sum_c e^f_c. Averages are by seeded draws, whose standard
--- error is expected_error.
--- Source: Rasmussen & Williams (2006), sections 3.3 and 3.5.
---@param o gibbous.likelihoods.softmax.options
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.softmax{classes = 3}:log_density(gb.tensor{{0.5, -1, 2}}, gb.tensor{3}))
---```
function gb.likelihoods.softmax(o) end

---@class gibbous.likelihoods.ordinal.options
---@field classes? integer  their number, 3 or more; or
---@field cuts? number[]  the cut points between them, in order, where a fit begins
---@field link? "probit"|"logit"  default: "probit"
---@field points? integer  points of a Gauss-Hermite rule; default: 20

--- Ordered classes 1 .. K: p(y <= k | f) = F(c_k - f), F the normal or the logistic distribution function. The cut points are fitted,
--- as the first and the gaps between them, and so stay in order.
--- Source: Chu & Ghahramani (2005).
---@param o gibbous.likelihoods.ordinal.options
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.ordinal{classes = 4}:predictive(gb.tensor{0.5}, gb.tensor{1}).probabilities)
---```
function gb.likelihoods.ordinal(o) end

---@class gibbous.likelihoods.points.options
---@field points? integer  points of a Gauss-Hermite rule; default: 20

--- Counts 0, 1, 2, ... with the rate e^f.
---@param o gibbous.likelihoods.points.options?
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.poisson():expected(gb.tensor{0.5}, gb.tensor{2}, gb.tensor{3}))
---```
function gb.likelihoods.poisson(o) end

---@class gibbous.likelihoods.negative_binomial.options
---@field dispersion? number|gibbous.param  default: 1; towards 0 the distribution is Poisson's
---@field points? integer  points of a Gauss-Hermite rule; default: 20

--- Counts that vary more than Poisson's: mean mu = e^f and variance mu + dispersion mu^2.
---@param o gibbous.likelihoods.negative_binomial.options?
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.negative_binomial{dispersion = 0.5}:predictive(gb.tensor{0.5}, gb.tensor{2}).var)
---```
function gb.likelihoods.negative_binomial(o) end

---@class gibbous.likelihoods.student_t.options
---@field scale? number|gibbous.param  in units of y; default: 1
---@field df? number|gibbous.param  degrees of freedom, above 1; default: 4
---@field points? integer  points of a Gauss-Hermite rule; default: 20

--- Noise with heavy tails: (y - f) / scale has Student's distribution, which lets a few observations lie far out. Up to df = 2 the
--- variance of y is infinite.
---@param o gibbous.likelihoods.student_t.options?
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.student_t{scale = 0.1}:log_density(gb.tensor{0.5}, gb.tensor{2}))
---```
function gb.likelihoods.student_t(o) end

---@class gibbous.likelihoods.laplace.options
---@field scale? number|gibbous.param  in units of y; default: 1
---@field points? integer  points of a Gauss-Hermite rule; default: 20

--- Noise with the Laplace distribution, e^(-|y - f| / scale) / (2 scale). All its averages are in closed form. Its log density has no
--- second derivative, so it is for variational models and not for gb.gp.laplace.
---@param o gibbous.likelihoods.laplace.options?
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.laplace{scale = 0.1}:expected(gb.tensor{0.5}, gb.tensor{2}, gb.tensor{2}))
---```
function gb.likelihoods.laplace(o) end

---@class gibbous.likelihoods.gamma.options
---@field shape? number|gibbous.param  default: 1, the exponential distribution
---@field points? integer  points of a Gauss-Hermite rule; default: 20

--- Numbers above 0 of mean e^f and variance e^2f / shape, by a gamma distribution.
---@param o gibbous.likelihoods.gamma.options?
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.gamma{shape = 3}:predictive(gb.tensor{0.5}, gb.tensor{0.1}).mean)
---```
function gb.likelihoods.gamma(o) end

--- Numbers above 0 of mean e^f, by an exponential distribution.
---@param o gibbous.likelihoods.points.options?
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.exponential():predictive(gb.tensor{0.5}, gb.tensor{0.1}).mean)
---```
function gb.likelihoods.exponential(o) end

---@class gibbous.likelihoods.beta.options
---@field concentration? number|gibbous.param  default: 2
---@field points? integer  points of a Gauss-Hermite rule; default: 20

--- Numbers between 0 and 1 of mean m = 1 / (1 + e^-f) and variance m (1 - m) / (1 + concentration), by a beta distribution.
---@param o gibbous.likelihoods.beta.options?
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.beta{concentration = 10}:predictive(gb.tensor{0.5}, gb.tensor{0.1}).mean)
---```
function gb.likelihoods.beta(o) end

---@class gibbous.likelihoods.define.options
---@field name string  by which saved models keep it
---@field log_density function  (f, y, p) to log p(y | f), (..., n): f (..., n), y (n), p the values of the parameters by name
---@field parameters? table<string, number|gibbous.param>  a number is above 0 and stays so
---@field mean? function  (f, p) to the mean of y given f
---@field variance? function  (f, p) to its variance
---@field draw? function  (f, p, seed) to observations
---@field check? function  y to a tensor of booleans: which rows are observations of this kind; default: those that are finite
---@field expects? string  what an observation must be, in words of the error
---@field curvature? function  (f, y, p) to what Laplace's approximation takes for the negative second derivative by f

--- A constructor of likelihoods of one's own: it takes the parameters by name, and 'points'. Averages over latent values are by
--- quadrature. gb.load is given it in its option 'likelihoods'.
---@param o gibbous.likelihoods.define.options
---@return fun(o: table?): gibbous.likelihood
---```lua
--- local cauchy = gb.likelihoods.define{name = "cauchy", parameters = {scale = 1},
---   log_density = function(f, y, p) return -((y - f) ^ 2 / p.scale ^ 2):log1p() - (math.pi * p.scale):log() end}
--- print(cauchy{scale = 0.3}:log_density(gb.tensor{0.5}, gb.tensor{2}))
---```
function gb.likelihoods.define(o) end

--- Is v a likelihood of Gaussian noise?
---@param v any
---@return boolean
---```lua
--- print(gb.likelihoods.is_gaussian(gb.likelihoods.bernoulli()))
---```
function gb.likelihoods.is_gaussian(v) end

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

--- Noise of values and of derivatives; for the library: gb.gp.exact{gradients = true, noise = ..., gradient_noise = ...} makes it.
---@param noise number|gibbous.param|nil  of values, in units of y squared; nil: a fit chooses
---@param gradient_noise number|gibbous.param|number[]|nil  of derivatives, in those over units of x squared; a list has one a column
---@param what string  begins messages
---@return gibbous.likelihood
---```lua
--- print(gb.likelihoods.of_gradients(0.1, {0.2, 0.3}, "example"))
---```
function gb.likelihoods.of_gradients(noise, gradient_noise, what) end

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

--- The number of latent functions that an observation depends on.
---@return integer
---```lua
--- print(gb.likelihoods.bernoulli():latents())
---```
function likelihood:latents() end

--- y (n) as the densities take it.
---@param y gibbous.tensor
---@param what string?  begins a message
---@return gibbous.tensor
--- Errors: option, which names the first row that is no observation of this kind, and the way out.
---```lua
--- print(gb.likelihoods.bernoulli():check(gb.tensor{0, 1}))
---```
function likelihood:check(y, what) end

--- log p(y | f), (n), lazy, differentiable by f and by parameters.
---@param f gibbous.tensor  (n), of several latent functions (n, C); leading axes stay
---@param y gibbous.tensor  (n)
---@param x gibbous.tensor?  (n, d), for Gaussian noise that varies with x
---@return gibbous.tensor
---```lua
--- print(gb.likelihoods.gaussian(0.5):log_density(gb.tensor{0, 1}, gb.tensor{0.1, 0.8}))
---```
function likelihood:log_density(f, y, x) end

--- E log p(y | f) where f ~ N(mean, var), (n), lazy: in closed form where there is one, else by a Gauss-Hermite rule.
---@param mean gibbous.tensor  (n), of several latent functions (n, C)
---@param var gibbous.tensor  like mean
---@param y gibbous.tensor  (n)
---@param x gibbous.tensor?  (n, d), for Gaussian noise that varies with x
---@return gibbous.tensor
---```lua
--- print(gb.likelihoods.bernoulli():expected(gb.tensor{0.5}, gb.tensor{2}, gb.tensor{1}))
---```
function likelihood:expected(mean, var, y, x) end

--- How far 'expected' is off: the difference to the same rule with twice the points, (n), lazy; 0 of closed forms.
---@param mean gibbous.tensor
---@param var gibbous.tensor
---@param y gibbous.tensor
---@return gibbous.tensor
---```lua
--- print(gb.likelihoods.bernoulli():expected_error(gb.tensor{0.5}, gb.tensor{2}, gb.tensor{1}))
---```
function likelihood:expected_error(mean, var, y) end

--- What is known of y where f ~ N(mean, var): a table of lazy tensors mean, var (n), and of classes probabilities (n, classes).
---@param mean gibbous.tensor
---@param var gibbous.tensor
---@param x gibbous.tensor?  (n, d), for Gaussian noise that varies with x
---@return table
---```lua
--- print(gb.likelihoods.bernoulli():predictive(gb.tensor{0.5}, gb.tensor{2}).probabilities)
---```
function likelihood:predictive(mean, var, x) end

--- log E p(y | f) where f ~ N(mean, var), (n), lazy: the log density of each observation, for scores.
---@param mean gibbous.tensor
---@param var gibbous.tensor
---@param y gibbous.tensor
---@param x gibbous.tensor?  (n, d), for Gaussian noise that varies with x
---@return gibbous.tensor
---```lua
--- print(gb.likelihoods.bernoulli():log_predictive(gb.tensor{0.5}, gb.tensor{2}, gb.tensor{1}))
---```
function likelihood:log_predictive(mean, var, y, x) end

--- Observations for latent values f, in the shape of f; of several latent functions f is (n, C).
---@param f gibbous.tensor
---@param seed integer?  default: 0
---@param x gibbous.tensor?  (n, d), for Gaussian noise that varies with x
---@return gibbous.tensor
---```lua
--- print(gb.likelihoods.bernoulli():draw(gb.tensor{0.5, -3}, 1))
---```
function likelihood:draw(f, seed, x) end

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

--- Has a likelihood that is not Gaussian classes, with probabilities?
---@return boolean
---```lua
--- print(gb.likelihoods.softmax{classes = 3}:has_classes())
---```
function likelihood:has_classes() end

--- Are the mean and the variance of its observations known?
---@return boolean
---```lua
--- print(gb.likelihoods.poisson():has_moments())
---```
function likelihood:has_moments() end

--- Has its log density a second derivative, as gb.gp.laplace needs it?
---@return boolean
---```lua
--- print(gb.likelihoods.laplace():is_smooth())
---```
function likelihood:is_smooth() end

--- Has it a curvature of its own, because the log density is not concave?
---@return boolean
---```lua
--- print(gb.likelihoods.student_t():is_curved())
---```
function likelihood:is_curved() end

--- What Laplace's approximation takes for the negative second derivative of the log density by f, where that may be below 0 (the
--- Fisher information); nil: the derivative itself.
---@param f gibbous.tensor  (n)
---@param y gibbous.tensor  (n)
---@return gibbous.tensor?
---```lua
--- print(gb.likelihoods.student_t():curvature(gb.tensor{0, 1}, gb.tensor{5, 1}))
---```
function likelihood:curvature(f, y) end

--- The first derivative of the log density by f, and the negative second one, (n), lazy.
---@param f gibbous.tensor  (n)
---@param y gibbous.tensor  (n)
---@return gibbous.tensor first
---@return gibbous.tensor second
---```lua
--- print(gb.likelihoods.poisson():slopes(gb.tensor{0, 1}, gb.tensor{5, 1}))
---```
function likelihood:slopes(f, y) end

--- Where fits begin for observations y (n): {level, spread}, the mean and variance of f, and values of parameters by name.
---@param y gibbous.tensor
---@return table
---```lua
--- print(gb.likelihoods.poisson():scales(gb.tensor{1, 2, 3}).level)
---```
function likelihood:scales(y) end

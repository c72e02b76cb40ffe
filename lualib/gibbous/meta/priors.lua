---@meta

---@class gibbous
local gb = {}

--- Prior densities over the value of a parameter, given as gb.param's option 'prior'.
---@class gb.priors
gb.priors = {}

--- A prior, as gb.priors makes it; its settings are fields.
---@class gibbous.prior
---@field name string  "normal", "gamma", ...
---@field o table<string, number>  its settings by name
---@field density fun(v: gibbous.tensor, o: table): gibbous.tensor  the log density of each element
---@field support table?  {min, max}: the interval outside of which there is no density; nil: none
---@field own boolean?  true: made by gb.priors.define
---@field draw function?  that of gb.priors.define, draw(o, k, seed); prior:sample calls it
local prior = {}

--- The sum of the log densities of the elements of v, lazy, in nats.
---@param v gibbous.tensor
---@return gibbous.tensor
---```lua
--- print(gb.priors.normal{}:log_density(gb.tensor{0, 1}):item())
---```
function prior:log_density(v) end

---@class gibbous.prior.sample.options
---@field seed? integer  without it the next numbers of gb.seed

--- k independent draws, (k), f64, computed.
---@param k integer?  default: 1
---@param o gibbous.prior.sample.options?
---@return gibbous.tensor
--- Errors: option, of a prior of gb.priors.define that was made without draw, too.
--- Source: Marsaglia & Tsang (2000) for gamma and what is made of it.
---```lua
--- print(gb.priors.gamma{shape = 2, rate = 3}:sample(4, {seed = 1}))
---```
function prior:sample(k, o) end

---@class gibbous.priors.normal.options
---@field mean? number  default: 0
---@field sd? number  standard deviation, above 0; default: 1

--- The normal density.
---@param o gibbous.priors.normal.options?
---@return gibbous.prior
---```lua
--- local p = gb.param(1, {prior = gb.priors.normal{mean = 1, sd = 0.5}})
---```
function gb.priors.normal(o) end

--- log v is normal with this mean and standard deviation.
---@param o gibbous.priors.normal.options?
---@return gibbous.prior
---```lua
--- local p = gb.param(1, {min = 0, prior = gb.priors.log_normal{mean = 0, sd = 1}})
---```
function gb.priors.log_normal(o) end

---@class gibbous.priors.gamma.options
---@field shape? number  above 0
---@field rate? number  above 0; default: 1

--- Density rate^shape / Gamma(shape) v^(shape-1) e^(-rate v); shape 1, rate 1.
---@param o gibbous.priors.gamma.options?
---@return gibbous.prior
---```lua
--- local p = gb.param(1, {min = 0, prior = gb.priors.gamma{shape = 2, rate = 3}})
---```
function gb.priors.gamma(o) end

--- Density rate^shape / Gamma(shape) v^(-shape-1) e^(-rate / v); shape 2, rate 1. It keeps a lengthscale away from 0 and infinity.
---@param o gibbous.priors.gamma.options?
---@return gibbous.prior
---```lua
--- local k = gb.kernels.rbf{lengthscale = gb.param(1, {min = 0, prior = gb.priors.inverse_gamma{shape = 3}})}
---```
function gb.priors.inverse_gamma(o) end

---@class gibbous.priors.exponential.options
---@field rate? number  above 0; default: 1

--- Density rate e^(-rate v).
---@param o gibbous.priors.exponential.options?
---@return gibbous.prior
---```lua
--- print(gb.priors.exponential{rate = 2})
---```
function gb.priors.exponential(o) end

---@class gibbous.priors.half_normal.options
---@field sd? number  above 0; default: 1

--- The positive half of a normal density of mean 0.
---@param o gibbous.priors.half_normal.options?
---@return gibbous.prior
---```lua
--- print(gb.priors.half_normal{sd = 2})
---```
function gb.priors.half_normal(o) end

---@class gibbous.priors.student_t.options
---@field df? number  degrees of freedom, above 0; default: 4
---@field mean? number  default: 0
---@field scale? number  above 0; default: 1

--- Student's t: heavier tails than the normal density.
---@param o gibbous.priors.student_t.options?
---@return gibbous.prior
---```lua
--- print(gb.priors.student_t{df = 3})
---```
function gb.priors.student_t(o) end

---@class gibbous.priors.half_cauchy.options
---@field scale? number  above 0; default: 1

--- The positive half of a Cauchy density.
---@param o gibbous.priors.half_cauchy.options?
---@return gibbous.prior
---```lua
--- print(gb.priors.half_cauchy{scale = 2})
---```
function gb.priors.half_cauchy(o) end

---@class gibbous.priors.uniform.options
---@field min? number  default: 0
---@field max? number  default: 1

--- Flat from min to max, which are bounds of the parameter, too.
---@param o gibbous.priors.uniform.options?
---@return gibbous.prior
---```lua
--- local p = gb.param(1, {prior = gb.priors.uniform{min = 0, max = 2}})
---```
function gb.priors.uniform(o) end

---@class gibbous.priors.smoothed_box.options
---@field min? number  default: 0
---@field max? number  default: 1
---@field sd? number  of the tails, above 0; default: 0.01

--- Flat between min and max, with normal tails outside.
---@param o gibbous.priors.smoothed_box.options?
---@return gibbous.prior
---```lua
--- print(gb.priors.smoothed_box{min = 1, max = 2})
---```
function gb.priors.smoothed_box(o) end

---@class gibbous.priors.define.options
---@field draw? fun(o: table, k: integer, seed: integer?): gibbous.tensor  k draws, (k), for prior:sample; without a seed any

--- A constructor for priors of one's own: f(v, o) gives the log density of each element of v, or their sum. Saved models keep them by
--- name (gb.load's option 'priors').
---@param name string
---@param defaults table<string, number>  the settings and their usual values
---@param f fun(v: gibbous.tensor, o: table): gibbous.tensor  made of v by functions of tensors, so that it has gradients
---@param further gibbous.priors.define.options?
---@return fun(o: table?): gibbous.prior
---```lua
--- local laplace = gb.priors.define("laplace", {scale = 1}, function(v, o) return v:abs() / -o.scale - math.log(2 * o.scale) end)
--- print(laplace{scale = 2}:log_density(gb.tensor{1}):item())
--- local shifted = gb.priors.define("shifted", {by = 1}, function(v, o) return o.by - v end, {draw = function(o, k, seed)
---   return o.by - gb.rand(k, {seed = seed}):log()
--- end})
--- print(shifted{by = 2}:sample(3, {seed = 1}))
---```
function gb.priors.define(name, defaults, f, further) end

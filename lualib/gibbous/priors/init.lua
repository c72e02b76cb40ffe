--- Prior densities over parameter values, as values: prior:log_density(v) is a lazy tensor of one element, prior:sample(k) draws.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local raised <const> = require "gibbous.base.raised"
local sample <const> = require "gibbous.priors.sample"

local Prior <const> = {__name = "gibbous.prior"}

function Prior:log_density(v) return self.density(v, self.o):sum() end

local function check_draws(v, k, name)
  if core.type(v) ~= "tensor" or v.ndim ~= 1 or #v ~= k then
    core.raise("option", ("prior '%s': draw(o, k, seed) must give a tensor of shape %d, got %s"):format(name, k,
      core.type(v) == "tensor" and "shape " .. tostring(v.shape) or core.type(v)))
  end
end

--- k independent draws (k), f64, computed. o: seed; without it the next numbers of gb.seed. Errors: option, of a prior of
-- gb.priors.define that was made without a draw too.
function Prior:sample(k, opts)
  local o <const> = options.parse(opts, {seed = "integer"}, "sample")
  k = k or 1
  if not options.integral(k) or k < 0 then
    core.raise("option", ("sample: the number of draws must be a whole number, 0 or more, got %s"):format(options.shown(k)))
  end
  if not self.own then return sample.families[self.name](self.o, k, sample.stream(o.seed or nil)):eval() end
  if not self.draw then
    core.raise("option", ("sample: prior '%s' has no draw: gb.priors.define(name, settings, f, "
      .. "{draw = function(o, k, seed) ... end})"):format(self.name))
  end
  local v <const> = self.draw(self.o, k, o.seed or nil)
  check_draws(v, k, self.name)
  return v:eval()
end

object.guard(Prior, "a prior", "prior")
object.settle(Prior, "a prior", "support own draw")

function Prior:__tostring()
  local keys <const>, cells <const> = {}, {}
  for k in pairs(self.o) do keys[#keys + 1] = k end
  table.sort(keys)
  for _, k in ipairs(keys) do cells[#cells + 1] = ("%s=%.4g"):format(k, self.o[k]) end
  return ("%s(%s)"):format(self.name, table.concat(cells, ", "))
end

local M <const> = {}

--- A constructor of priors of this name, called 'what' in messages. own: {draw} of gb.priors.define.
-- support(o): the interval outside of which there is no density; nil: not an interval that bounds a parameter.
local function constructor(name, defaults, density, what, own, support)
  local spec <const> = {}
  for k in pairs(defaults) do spec[k] = "number" end
  return function(opts)
    local o <const> = options.parse(opts, spec, what)
    for k, v in pairs(defaults) do
      if o[k] == nil then o[k] = v end
    end
    if own then
      return object.made(Prior, {name = name, o = o, density = density, own = true, draw = own.draw or nil}, what, spec)
    end
    for _, k in ipairs{"sd", "shape", "rate", "scale", "df"} do
      if o[k] and not (o[k] > 0) then core.raise("option", ("%s: %s must be above 0"):format(what, k)) end
    end
    if o.min and not (o.min < o.max) then
      core.raise("option", ("%s: min %g is not below max %g"):format(what, o.min, o.max))
    end
    return object.made(Prior, {name = name, o = o, density = density, support = support and support(o)}, what, spec)
  end
end

local function define(name, defaults, density, support)
  M[name] = constructor(name, defaults, density, "gb.priors." .. name, nil, support)
end

local function log_gamma(v) return core.tensor(v, {dtype = "f64"}):lgamma():item() end

local half_log_2pi <const> = 0.5 * math.log(2 * math.pi)

define("normal", {mean = 0, sd = 1}, function(v, o)
  return -0.5 * ((v - o.mean) / o.sd) ^ 2 - (math.log(o.sd) + half_log_2pi)
end)

--- log v is normal with the given mean and sd.
define("log_normal", {mean = 0, sd = 1}, function(v, o)
  local u <const> = v:log()
  return -0.5 * ((u - o.mean) / o.sd) ^ 2 - u - (math.log(o.sd) + half_log_2pi)
end)

--- Density rate^shape / Gamma(shape) v^(shape-1) e^(-rate v).
define("gamma", {shape = 1, rate = 1}, function(v, o)
  local norm <const> = o.shape * math.log(o.rate) - log_gamma(o.shape)
  return (o.shape - 1) * v:log() - o.rate * v + norm
end)

--- Density rate^shape / Gamma(shape) v^(-shape-1) e^(-rate / v): keeps a lengthscale away from 0 and from infinity.
define("inverse_gamma", {shape = 2, rate = 1}, function(v, o)
  return (-o.shape - 1) * v:log() - o.rate * v ^ -1 + (o.shape * math.log(o.rate) - log_gamma(o.shape))
end)

define("exponential", {rate = 1}, function(v, o) return math.log(o.rate) - o.rate * v end)

--- The positive half of normal{mean = 0}.
define("half_normal", {sd = 1}, function(v, o)
  return -0.5 * (v / o.sd) ^ 2 - (math.log(o.sd / 2) + half_log_2pi)
end)

--- Heavier tails than normal's: 'df' degrees of freedom.
define("student_t", {df = 4, mean = 0, scale = 1}, function(v, o)
  local norm <const> = log_gamma((o.df + 1) / 2) - log_gamma(o.df / 2) - 0.5 * math.log(o.df * math.pi) - math.log(o.scale)
  return -0.5 * (o.df + 1) * (((v - o.mean) / o.scale) ^ 2 / o.df):log1p() + norm
end)

define("half_cauchy", {scale = 1}, function(v, o)
  return math.log(2 / (math.pi * o.scale)) - ((v / o.scale) ^ 2):log1p()
end)

--- Flat from min to max: these are bounds of the parameter too.
define("uniform", {min = 0, max = 1}, function(v, o)
  local inside <const> = v:ge(o.min) & v:le(o.max)
  return core.where(inside, v * 0 - math.log(o.max - o.min), -math.huge)
end, function(o) return {min = o.min, max = o.max} end)

--- Flat between min and max, normal tails of width sd outside.
define("smoothed_box", {min = 0, max = 1, sd = 0.01}, function(v, o)
  local out <const> = core.maximum(core.maximum(o.min - v, v - o.max), v * 0)
  return -0.5 * (out / o.sd) ^ 2 - math.log((o.max - o.min) + o.sd * math.sqrt(2 * math.pi))
end)

--- Raises where d has no gradient by v, though it is made of v: it went through a number, or was detached.
local function check_gradient(name, d, v)
  local ok <const>, err <const> = pcall(core.grad, d:sum(), {v})
  if ok or not raised.is(err, "option") then return end
  core.raise("option", ("prior '%s' has no gradient by the value: its log density must be made of v by functions of tensors")
    :format(name))
end

--- A log density of a script, checked: a tensor as large as v or of one element, whose gradient by v is looked for once.
local function checked_density(name, density)
  local seen = false
  return function(v, o)
    local d <const> = density(v, o)
    if core.type(d) ~= "tensor" then
      core.raise("option", ("prior '%s' must give a tensor of log densities, got %s"):format(name, core.type(d)))
    end
    if d.numel ~= 1 and tostring(d.shape) ~= tostring(v.shape) then
      core.raise("shape", ("prior '%s' must give a log density for each element, shape %s, or their sum, got shape %s"):format(
        name, tostring(v.shape), tostring(d.shape)))
    end
    if not seen then
      local probe <const> = v:detach():eval():requires_grad()
      check_gradient(name, density(probe, o), probe)
      seen = true
    end
    return d
  end
end

local DEFINE <const> = {draw = "function"}

--- A constructor for priors of one's own: f(v, o) gives the log density of each element of v, or their sum; o holds the settings,
-- numbers, of which 'defaults' has names and usual values. Saved models keep them by name (gb.load's option 'priors').
-- further: draw(o, k, seed) gives k draws (k), for prior:sample; seed nil: any.
---@param name string
---@param defaults table<string, number>
---@param f fun(v: gibbous.tensor, o: table): gibbous.tensor
---@param further table|nil
function M.define(name, defaults, f, further)
  if type(name) ~= "string" then core.raise("option", "gb.priors.define: the name must be a string") end
  local numbers = type(defaults) == "table" and getmetatable(defaults) == nil
  for key, v in pairs(numbers and defaults or {}) do numbers = numbers and type(key) == "string" and type(v) == "number" end
  if not numbers then core.raise("option", "gb.priors.define: the settings must be a table of numbers by name") end
  if type(f) ~= "function" then core.raise("option", "gb.priors.define: the third argument must be a function") end
  local own <const> = options.parse(further, DEFINE, "gb.priors.define")
  return constructor(name, defaults, checked_density(name, f), name, own)
end

return require "gibbous.base.names"(M, "gb.priors")

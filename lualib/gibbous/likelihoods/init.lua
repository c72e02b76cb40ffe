--- Likelihoods. Gaussian ones, in this file, give the noise variance of each observation, in units of y squared; the others are in
-- gibbous/likelihoods/.
--
-- The noise floor is the least variance that a fit may take the noise to: 'min', absolute, or 'floor', a multiple of var(y), or of
-- y^2 where y is constant, that is worked out when a fit begins. print(model) shows it, and a fit's report names it when it binds.
local class <const> = require "gibbous.likelihoods.class"
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local gaussian <const> = require "gibbous.likelihoods.gaussian"
local kernels <const> = require "gibbous.kernels"
local means <const> = require "gibbous.means"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local priors <const> = require "gibbous.priors"
local rules <const> = require "gibbous.gp.rules"

---@class gibbous.likelihood
---@field kind string          "gaussian", "fixed" or "heteroscedastic"
---@field noise gibbous.param|gibbous.tensor   one variance; of fixed noise one an observation (n)
local Likelihood <const> = {__name = "gibbous.likelihood"}
local methods <const> = object.methods(Likelihood, "a likelihood", "l")

local M <const> = {}

-- Fields that some likelihoods have: parts of noise that varies with x or is known, and its floor; unit: what known variances are
-- divided by (nil: 1) where the model scales its targets.
local settings <const> = {kernel = true, latent = true, log_variance = true, new = true, places = true, count = true,
  floor = true, min = true, least = true, unit = true}

--- The state of a likelihood: kind, noise, settings, and methods of its own kind.
function M.fields(l) return rawget(l, "_fields") end

local fields <const> = M.fields

--- A likelihood of these fields.
function M.new(f) return setmetatable({_fields = f}, Likelihood) end

function Likelihood.__index(self, key)
  local f <const> = fields(self)
  if f[key] ~= nil then return f[key] end
  if methods[key] then return methods[key] end
  if settings[key] then return nil end
  object.no_field("a likelihood", key, f)
end

--- l.noise = 0.1 gives the parameter that value; nothing else of a likelihood changes.
function Likelihood.__newindex(self, key, v)
  local f <const> = fields(self)
  if param.is(f[key]) then
    param.set(f[key], v)
  elseif f[key] ~= nil or settings[key] then
    core.raise("option", ("'%s' of a likelihood cannot change once it is made"):format(tostring(key)))
  else
    object.no_field("a likelihood", key, f)
  end
end

-- Multiples of var(y) below which a fit does not take the noise: a factor exists with digits to spare, and on data without
-- noise a fit does not spend its steps on the way to none.
local FLOOR <const> = {f64 = 1e-6, f32 = 1e-5}

-- Of the mean square of y: observations that vary by less are constant but for rounding, and floors are multiples of their square.
local CONSTANT <const> = 1e-28

-- The least variance of y whose part that is the noise floor is a normal number.
local LEAST <const> = {f64 = 2.0 ^ -1022 / FLOOR.f64, f32 = 2.0 ^ -126 / FLOOR.f32}

--- Is it Gaussian noise?
function M.is_gaussian(v) return type(v) == "table" and getmetatable(v) == Likelihood end

function M.is(v) return M.is_gaussian(v) or class.is(v) end

local function value_of(v) return param.is(v) and v.value or v end

function Likelihood.__children(self)
  local out <const> = {}
  if param.is(self.noise) then out[1] = {"noise", self.noise} end
  for _, name in ipairs{"gradient_noise", "kernel", "latent", "log_variance", "new"} do
    local part <const> = fields(self)[name]
    if type(part) == "table" then out[#out + 1] = {name, part} end
  end
  return out
end

local function copy_part(v, copies)
  if param.is(v) then return copies(v) end
  return (kernels.is(v) or means.is(v)) and v:copy(copies) or v
end

--- An independent copy: implicit parameters are copied, explicit gb.params and networks are shared. copies: param.copies().
function methods:copy(copies)
  copies = copies or param.copies()
  local out <const> = {}
  for key, v in pairs(fields(self)) do out[key] = v end
  for _, name in ipairs{"noise", "gradient_noise", "kernel", "latent", "log_variance", "new"} do
    out[name] = copy_part(out[name], copies)
  end
  return M.new(out)
end

local function text_of(v)
  if param.is(v) and v.ndim == 0 then return ("%.6g"):format(v.value:item()) end
  return counted(#v, "variance")
end

function Likelihood:__tostring()
  if self.kind == "heteroscedastic" then
    return ("heteroscedastic{noise=%s, %s}"):format(text_of(self.noise),
      self.kernel and "kernel=" .. tostring(self.kernel) or "log_variance=" .. tostring(self.log_variance))
  end
  local slopes <const> = self.kind == "gradients" and ", gradient_noise=" .. text_of(self.gradient_noise) or ""
  return ("%s{noise=%s%s}"):format(self.kind, text_of(self.noise), slopes)
end

-- Relative to the variance of the latent kernel: keeps its factor, part of what the noise is defined to be.
local LATENT_JITTER <const> = 1e-6

--- exp(g(x)) of a heteroscedastic likelihood. g is a function, or interpolates L v at the places z, with L L' = k(z, z):
-- g(x) = k(x, z) L^-T v.
local function factor_at(self, x)
  if self.log_variance then return self.log_variance(x):exp() end
  if not self.places then return core.ones(1, {dtype = x.dtype}):squeeze(1) end
  local z <const> = columns.like(self.places, x)
  local kzz <const> = self.kernel(z)
  local jitter <const> = core.eye(#z, {dtype = x.dtype}) * (columns.like(self.kernel:diag(z), x):mean() * LATENT_JITTER)
  local root <const> = core.linalg.cholesky(kzz + jitter)
  local w <const> = core.linalg.triangular_solve(root, columns.like(self.latent.value, x), {transposed = true})
  return self.kernel(x, z):matmul(w):exp()
end

--- Its variance, floor + noise * exp(g(x)): one element or (n).
local function varying(self, x)
  return columns.like(value_of(self.noise), x) * factor_at(self, x) + (self.least or 0)
end

--- 'count' rows of x that lie apart: the first is the one farthest from the mean, each next the farthest from those chosen.
local function spread_rows(x, count)
  local nearest, at = nil, core.sqdist(x, x:mean(1, {keepdim = true})):squeeze(2):argmax():item()
  local rows <const> = {}
  for i = 1, math.min(count, #x) do
    rows[i] = at
    local d <const> = core.sqdist(x, x:slice(1, at, at)):squeeze(2)
    nearest = (nearest and core.minimum(nearest, d) or d):eval()
    at = nearest:argmax():item()
    if not (nearest:max():item() > 0) then break end           -- every distinct row is there
  end
  return x:index(1, core.tensor(rows, {dtype = "i64"})):eval()
end

--- The likelihood for targets that were divided by sd, nil: that are as they are. Known variances stay in units of the data.
function methods:in_units(sd)
  local unit <const> = sd and (sd * sd):item() or nil
  if self.kind ~= "fixed" or self.unit == unit then return self end
  local out <const> = self:copy()
  fields(out).unit = unit
  return out
end

--- Known variances in the units of the targets that the model holds.
function methods:scaled(v) return self.unit and v / self.unit or v end

--- The noise variance of observations at x (n, d), in the dtype of x: one element, or (n).
function methods:variance(x)
  if self.kind == "heteroscedastic" then return varying(self, x) end
  local v <const> = value_of(self.noise)
  if v.ndim == 1 and #v ~= #x then
    core.raise("shape", ("noise has %s for %s"):format(counted(#v, "variance"), counted(#x, "observation")))
  end
  return self:scaled(columns.like(v, x))
end

--- The noise variance of new observations at x: one element or (n); nil where it is not known, and predictions add none.
function methods:new_variance(x)
  if self.kind == "heteroscedastic" then return varying(self, x) end
  if self.kind == "gaussian" then return columns.like(value_of(self.noise), x) end
  local new <const> = self.new
  if new == nil then return nil end
  if type(new) == "function" then
    local v <const> = new(x)
    if core.type(v) ~= "tensor" or v.ndim ~= 1 or #v ~= #x then
      core.raise("shape", ("'new' of the noise must give one variance a row, shape %d"):format(#x))
    end
    return self:scaled(v)
  end
  return self:scaled(columns.like(value_of(new), x))
end

--- Places of latent noise, where they are to be taken from the inputs x (n, d). Models call it when data arrive.
function methods:resolve(x)
  if self.log_variance then means.resolve(self.log_variance, x.shape[2]) end
  if self.kernel == nil then return end
  kernels.resolve_ard(self.kernel, x.shape[2])
  if self.places or #x == 0 then return end
  self:place(spread_rows(x, self.count))
end

--- Holds latent noise at z (m, d).
function methods:place(z)
  local f <const> = fields(self)
  f.places = z
  f.latent = param.hyper(core.zeros(#z), "latent", {prior = priors.normal{}})
end

--- Is there a floor for a fit to keep this noise to? Not where a script has set the bounds.
local function is_open_below(p)
  return param.is(p) and not param.shared(p) and not p.fixed and not param.is_bounded(p)
end

local function has_floor(self) return self.kind == "heteroscedastic" or is_open_below(self.noise) end

--- Do the values of y vary, but for rounding? Their squares may be too large or too small for f64: those of y / max|y| are not.
function M.varies(y)
  local values <const> = y:to{dtype = "f64"}
  local largest <const> = y.numel > 1 and values:abs():max():item() or 0
  if largest == 0 then return false end
  local unit <const> = values / largest
  return unit:var():item() > CONSTANT * (unit * unit):mean():item()
end

--- The variance of y, in f64, or its mean square where y does not vary: 1 where that is nearly 0. Raises where variances of this
-- size are no numbers.
local function spread(y)
  local values <const>, varies <const>, least <const> = y:to{dtype = "f64"}, M.varies(y), LEAST[y.dtype]
  local size <const> = varies and values:var():item() or y.numel > 0 and (values * values):mean():item() or 0
  local wrong <const> = not (size < math.huge) and "large for f64" or varies and size < least and "small for " .. y.dtype
  if wrong then core.raise("nan", ("fit: the variance of y is too %s; gb.data.standardize scales y"):format(wrong)) end
  return size >= least and size or 1
end

--- Makes 'min' the lower bound of a noise p.
local function raise(p, min)
  if min ~= p.min or p.value:min():item() < 1.1 * min then param.raise_bound(p, min) end
end

--- Works the floor out for observations y and makes it the noise's lower bound, or of noise that varies a part of it; gives it,
-- nil where there is none.
function methods:set_floor(y)
  local size <const> = spread(y)
  if not has_floor(self) then return nil end
  local min <const> = self.min or (self.floor or FLOOR[y.dtype]) * size
  if self.kind == "heteroscedastic" then
    fields(self).least = min
    return min > 0 and min or nil
  end
  raise(self.noise, min)
  return min > 0 and min or nil
end

--- The text of print(model) below the parameters, or nil.
function methods:note()
  if self.kind == "fixed" then
    return self.new == nil and "noise of new observations: not known, y_var is f_var" or nil
  end
  if not has_floor(self) then return nil end
  if self.kind == "gradients" then
    return ("noise floors: %g of the variance of values and of derivatives, %g in f32"):format(FLOOR.f64, FLOOR.f32)
  end
  if self.min then return self.min > 0 and ("noise floor: %g"):format(self.min) or nil end
  if self.floor then return ("noise floor: %g of var(y)"):format(self.floor) end
  return ("noise floor: %g of var(y), %g in f32"):format(FLOOR.f64, FLOOR.f32)
end

--- The likelihood of the rows 'keep' (i64) of 'count' observations, those it was made for. 'what' begins the message.
function methods:of_rows(keep, count, what)
  if self.kind ~= "fixed" then return self end
  if #self.noise ~= count then
    core.raise("shape", ("%s: noise has %s for %s, those with missing y included"):format(what, counted(#self.noise, "variance"),
      counted(count, "observation")))
  end
  local out <const> = self:copy()
  fields(out).noise = self.noise:index(1, keep):eval()
  return out
end

for name, f in pairs(gaussian) do methods[name] = f end

-- Constructors ----------------------------------------------------------------------------------------------------------------

--- A noise level: a positive number is free, 0 is held there, a gb.param is shared; nil: 1, open to what a fit chooses.
local function level_of(v, what)
  if v == nil then return param.set_open(param.hyper(1, "noise"), true) end
  if param.is(v) then
    if v.ndim > 0 then
      core.raise("shape", what .. ": the noise must be one number, a vector is for gb.likelihoods.fixed")
    end
    return param.hyper(v, "noise")
  end
  if type(v) ~= "number" or not (v >= 0 and v < math.huge) then
    core.raise("option", ("%s: the noise must be a variance, 0 or more and finite, got %s"):format(what,
      options.got(v)))
  end
  if v == 0 then return param.hyper(0, "noise", {fixed = true}) end
  return param.hyper(v, "noise")
end

local function check_floor(o, noise, what)
  if o.min and o.floor then core.raise("option", what .. ": give min or floor, not both") end
  if o.min and type(noise) == "number" and noise > 0 and not (noise > o.min) then
    core.raise("option", ("%s: noise %g is not above its floor, min = %g"):format(what, noise, o.min))
  end
end

local function not_negative(v) return type(v) == "number" and v >= 0 and v < math.huge, "a finite number, 0 or more" end

local function with_floor(self, o, given)
  local f <const> = fields(self)
  f.floor = o.floor or nil
  f.min = o.min or nil
  if o.floor == false or o.min == false then f.min = 0 end
  local bounded <const> = self.kind == "gaussian" and (given == nil or type(given) == "number" and given > 0)
  if o.min and bounded then param.raise_bound(self.noise, o.min) end
  return self
end

--- The same noise for every observation: a number (free; 0 is held fixed: the data are taken as exact), a gb.param, or
-- {noise, min, floor}. min: least variance of a fit; floor: the same in multiples of var(y), 1e-6 by default (f32: 1e-5);
-- false: none. A gb.param keeps its own bounds.
function M.gaussian(v)
  local o = {}
  if type(v) == "table" and getmetatable(v) == nil then
    if #v > 0 then
      core.raise("option", "gb.likelihoods.gaussian: one noise; a variance for each observation is for gb.likelihoods.fixed")
    end
    o = options.parse(v, {noise = "any", min = not_negative, floor = not_negative}, "gb.likelihoods.gaussian")
    v = o.noise
  end
  v = v or nil
  check_floor(o, v, "gb.likelihoods.gaussian")
  return with_floor(M.new{kind = "gaussian", noise = level_of(v, "gb.likelihoods.gaussian")}, o, v)
end

local function check_variances(t, what)
  if t.numel > 0 and not (t:min():item() >= 0 and t:max():item() < math.huge) then
    core.raise("option", ("%s: noise variances must be 0 or more and finite"):format(what))
  end
end

--- Known variances, one per observation (n), not fitted. new: the variance of new observations, a number, a gb.param or a
-- function of x (m, d) giving (m); without it nothing is added, and y_var of a prediction is its f_var.
function M.fixed(v, opts)
  local o <const> = options.parse(opts, {new = "any"}, "gb.likelihoods.fixed")
  local t <const> = core.as_tensor(v) or (type(v) == "table" and core.tensor(v))
  if not t or t.ndim ~= 1 then core.raise("option", "gb.likelihoods.fixed takes a vector of variances (n)") end
  check_variances(t, "gb.likelihoods.fixed")
  local new = o.new or nil
  if type(new) == "number" then
    new = core.full({}, new, {dtype = "f64"})
    check_variances(new, "gb.likelihoods.fixed")
  elseif new ~= nil and type(new) ~= "function" and not param.is(new) then
    core.raise("option", "gb.likelihoods.fixed: new must be a number, a gb.param or a function, got " .. core.type(new))
  end
  return M.new{kind = "fixed", noise = t, new = new}
end

--- A variance for each task, free: a list or a gb.param of T. The last column of the inputs is the task, from 1.
function M.tasks(v)
  local p <const> = param.hyper(v, "noise")
  if p.ndim ~= 1 then core.raise("option", "gb.likelihoods.tasks takes a list of variances, one a task") end
  return M.new(require "gibbous.likelihoods.task_noise"(p))
end

--- Noise of values and of partial derivatives, of a model whose data have both: each a number (free; 0 is held fixed), a gb.param,
-- or nil, which a fit chooses; of derivatives also a list, one a column. 'what' begins messages. For the library.
function M.of_gradients(noise, gradient_noise, what)
  local given <const> = gradient_noise
  local listed <const> = type(given) == "table" and not param.is(given) or core.type(given) == "tensor" or param.is(given) and
    given.ndim == 1
  local slopes <const> = listed and param.hyper(given, "noise") or level_of(given, what .. ": gradient_noise")
  return M.new(require "gibbous.likelihoods.gradient_noise"(level_of(noise, what), slopes, function(p, values)
    if not is_open_below(p) then return nil end
    local min <const> = FLOOR[values.dtype] * spread(values)
    raise(p, min)
    return min
  end))
end

-- Noise that varies with x ----------------------------------------------------------------------------------------------------

--- The kernel of the log noise: what the user gave is held where it is, but for explicit gb.params.
local function held(k)
  local own <const> = k:copy()
  for _, p in ipairs((param.collect(own))) do
    if not param.shared(p) then p.fixed = true end
  end
  return own
end

--- Noise that varies with x: variance(x) = noise * exp(g(x)), learned together with the other parameters.
-- log_variance: g is a function of x (n, d) giving (n) or (n, 1), a gb.means value or a network; 'noise' is then held at 1
-- unless it is given; or
-- kernel: g is a second Gaussian process of this kernel, held through its values at 'places' (m, d) or at that many rows of
-- the data (30), which lie apart. These values are parameters, whitened, with standard normal priors: a fit finds the most
-- likely noise, jointly with f. The kernel's own parameters are held but for explicit gb.params (give those a prior).
-- Predictions take exp(g) at its most likely value: its own uncertainty is not in y_var.
-- Cost beside the model: O(n m + m^3) an evaluation. min, floor: as in gaussian; a fit adds the floor to the variance.
-- Source: Kersting, Plagemann, Pfaff & Burgard (2007), the model; Le, Smola & Canu (2005), the joint maximum.
function M.heteroscedastic(opts)
  local what <const> = "gb.likelihoods.heteroscedastic"
  local o <const> = options.parse(opts, {kernel = rules.kernel, log_variance = rules.mean,
    places = "any", noise = "any", min = not_negative, floor = not_negative}, what)
  if (o.kernel and o.log_variance) or not (o.kernel or o.log_variance) then
    core.raise("option", what .. ": give either kernel or log_variance")
  end
  local noise <const> = o.noise or nil
  if o.min and o.floor then core.raise("option", what .. ": give min or floor, not both") end
  local self <const> = M.new{kind = "heteroscedastic", noise = level_of(noise, what)}
  if o.log_variance then
    fields(self).log_variance = means.of(o.log_variance):copy()
    if o.noise == nil then self.noise.fixed = true end
    return with_floor(self, o, noise)
  end
  local places <const> = o.places or 30
  fields(self).kernel = held(o.kernel)
  if type(places) == "number" then
    if options.whole(places) == nil or places < 1 then
      core.raise("option", what .. ": places must be a count, 1 or more, or inputs (m, d)")
    end
    fields(self).count = places
  else
    self:place(kernels.points(places, what .. ": places"):to(core.config().device):eval())
  end
  return with_floor(self, o, noise)
end

-- Not Gaussian ----------------------------------------------------------------------------------------------------------------

M.bernoulli = require "gibbous.likelihoods.bernoulli"
M.beta = require "gibbous.likelihoods.beta"
M.define = require "gibbous.likelihoods.define"
M.exponential = require "gibbous.likelihoods.gamma".exponential
M.gamma = require "gibbous.likelihoods.gamma".gamma
M.laplace = require "gibbous.likelihoods.laplace"
M.negative_binomial = require "gibbous.likelihoods.negative_binomial"
M.ordinal = require "gibbous.likelihoods.ordinal"
M.poisson = require "gibbous.likelihoods.poisson"
M.softmax = require "gibbous.likelihoods.softmax"
M.student_t = require "gibbous.likelihoods.student_t"

return require "gibbous.base.names"(M, "gb.likelihoods", {"binomial"}, {normal = "gb.likelihoods.gaussian",
  categorical = "gb.likelihoods.softmax", multinomial = "gb.likelihoods.softmax"})

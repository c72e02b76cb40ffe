--- The class of likelihoods p(y | f) that are not Gaussian. Each observation depends on the latent function at its own row alone.
--
-- A kind is a description that M.define checks:
--   kind                       its name; constructor: "gb.likelihoods." and the name
--   spec                       further options of the constructor (gibbous.options); 'points' is every kind's
--   make(o, what) -> fields    settings and parameters of a value; o: the options, what: the constructor's name
--   parameters                 the names of those fields that are parameters, in their order
--   latents(self)              the number of latent functions: by default 1
--   concave                    true: the log density is concave in f, or nearly so: it has one peak
--   smooth                     false: the log density has no second derivative, as Laplace's approximation needs it
--   check(self, y, what) -> y  y as densities take it. Errors: option, naming the row and the way out; 'what' begins the message
--   log_density(self, f, y)    lazy; f (..., n), of several latent functions (..., n, C); y (n); (..., n)
--   moments(self, f)           mean and variance of y given f, (..., n)
--   draw(self, f, seed)        y for f, (..., n)
-- and, where there is a closed form or a way of its own,
--   expected(self, mean, var, y), predictive(self, mean, var), log_predictive(self, mean, var, y)
--   probabilities(self, f)     of classes given f, (..., n, classes): their predictive form is their average
--   scales(self, y)            where fits begin: {level, spread} of f, and values of parameters by name
--   curvature(self, f, y)      what Laplace's approximation takes for -d2 log p / df2, where that may be negative
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local quadrature <const> = require "gibbous.likelihoods.quadrature"

local Likelihood <const> = {__name = "gibbous.likelihood"}
local methods <const> = object.methods(Likelihood, "a likelihood", "l")

local M <const> = {}

local POINTS <const>, MOST_POINTS <const> = 20, 150           -- of a quadrature rule

local function fields(l) return rawget(l, "_fields") end

function M.is(v) return type(v) == "table" and getmetatable(v) == Likelihood end

-- What only some likelihoods, or only the Gaussian ones, have.
local absent <const> = {noise = true, new = true, kernel = true, form = true}

function Likelihood.__index(self, key)
  local f <const> = fields(self)
  if key ~= "form" and f[key] ~= nil then return f[key] end
  if methods[key] then return methods[key] end
  if absent[key] then return nil end
  object.no_field("a likelihood", key, f, methods)
end

--- l.scale = 0.1 gives the parameter that value; nothing else of a likelihood changes.
function Likelihood.__newindex(self, key, v)
  local f <const> = fields(self)
  if param.is(f[key]) then
    param.set(f[key], v)
  elseif f[key] ~= nil then
    core.raise("option", ("'%s' of a likelihood cannot change once it is made"):format(tostring(key)))
  else
    object.no_field("a likelihood", key, f)
  end
end

function Likelihood.__children(self)
  local out <const>, f <const> = {}, fields(self)
  for i, name in ipairs(f.form.parameters or {}) do out[i] = {name, f[name]} end
  return out
end

function Likelihood.__tostring(self)
  local cells <const>, f <const> = {}, fields(self)
  for _, name in ipairs(f.form.shown or {}) do cells[#cells + 1] = ("%s=%s"):format(name, f[name]) end
  for _, name in ipairs(f.form.parameters or {}) do
    local v <const> = f[name].value
    cells[#cells + 1] = ("%s=%s"):format(name, v.ndim == 0 and ("%.6g"):format(v:item()) or tostring(v.shape))
  end
  return ("%s{%s}"):format(f.kind, table.concat(cells, ", "))
end

-- Methods that models call of every likelihood ----------------------------------------------------------------------------------

--- An independent copy: implicit parameters are copied, explicit gb.params are shared. copies: param.copies().
function methods.copy(self, copies)
  copies = copies or param.copies()
  local out <const> = {}
  for key, v in pairs(fields(self)) do out[key] = param.is(v) and copies(v) or v end
  return M.new(out)
end

function methods.note() return nil end

function methods.resolve() end

function methods.set_floor() return nil end

function methods.of_rows(self) return self end

function methods.in_units(self) return self end

--- The likelihood has no noise variance: the moments of new observations are those of predictive.
local function no_variance(self)
  core.raise("option", ("the likelihood '%s' has no noise variance; gb.likelihoods.gaussian has one"):format(self.kind))
end

methods.variance, methods.new_variance = no_variance, no_variance

-- Densities -----------------------------------------------------------------------------------------------------------------------

--- The number of latent functions.
function methods.latents(self)
  local of <const> = fields(self).form.latents
  return of and of(self) or 1
end

--- y (n) as the densities take it. what: begins a message (the likelihood's kind). Errors: option, naming the first row that
-- is no observation of this kind, and the way out.
function methods.check(self, y, what) return fields(self).form.check(self, y, what or self.kind) end

--- log p(y | f), (n), lazy; f (n), of several latent functions (n, C). Leading axes of f stay.
function methods.log_density(self, f, y) return fields(self).form.log_density(self, f, y) end

local function expected_by(self, mean, var, y, points)
  return quadrature.expectation(function(f) return self:log_density(f, y) end, mean, var, points)
end

--- E log p(y | f) of f ~ N(mean, var), (n), lazy; in closed form where there is one, else by Gauss-Hermite with l.points points.
function methods.expected(self, mean, var, y)
  local own <const> = fields(self).form.expected
  if own then return own(self, mean, var, y) end
  return expected_by(self, mean, var, y, self.points)
end

--- The difference to the same rule with twice the points, (n), lazy: how far 'expected' is off, about. 0 of closed forms.
function methods.expected_error(self, mean, var, y)
  local form <const> = fields(self).form
  if form.expected_error then return form.expected_error(self, mean, var, y) end
  if form.expected then return mean * 0 end
  return (self:expected(mean, var, y) - expected_by(self, mean, var, y, 2 * self.points)):abs()
end

--- Are observations classes, with probabilities?
function methods.has_classes(self) return fields(self).form.probabilities ~= nil end

--- Have observations a mean and a variance that are known?
function methods.has_moments(self) return fields(self).form.moments ~= nil end

--- The moments of y over f ~ N(mean, var) by those of y given f.
local function moments_by(self, mean, var)
  local form <const> = fields(self).form
  local f <const>, w <const> = quadrature.places(mean, var, self.points)
  local weight <const>, m <const>, v <const> = w:exp(), form.moments(self, f)
  local first <const> = (weight * m):sum(1)
  local away <const> = m - first
  return first, (weight * (v + away * away)):sum(1)
end

local function probabilities_by(self, mean, var)
  local f <const>, w <const> = quadrature.places(mean, var, self.points)
  return (w:exp():unsqueeze(-1) * fields(self).form.probabilities(self, f)):sum(1)
end

--- What is known of y where f ~ N(mean, var): {mean, var} (n), and of classes probabilities (n, classes), lazy.
function methods.predictive(self, mean, var)
  local form <const> = fields(self).form
  if form.predictive then return form.predictive(self, mean, var) end
  if not form.moments then
    core.raise("option", ("the likelihood '%s' was defined without 'mean' and 'variance', which new observations need")
      :format(self.kind))
  end
  local first <const>, second <const> = moments_by(self, mean, var)
  return {mean = first, var = second, probabilities = form.probabilities and probabilities_by(self, mean, var) or nil}
end

--- log E p(y | f) of f ~ N(mean, var), (n), lazy: the log density of an observation, for scores. Where the density is concave in f
-- the peak of the integrand is sought first, which computes.
function methods.log_predictive(self, mean, var, y)
  local form <const> = fields(self).form
  if form.log_predictive then return form.log_predictive(self, mean, var, y) end
  local by <const> = form.concave and quadrature.log_expectation_at_peak or quadrature.log_expectation
  return by(function(f) return self:log_density(f, y) end, mean, var, self.points)
end

--- Observations for latent values f, (n); of several latent functions f is (n, C). Leading axes of f stay. seed (0).
function methods.draw(self, f, seed) return fields(self).form.draw(self, f, seed or 0) end

--- Where fits begin for observations y (n), f64: {level, spread} of f, its mean and variance, and values of parameters by name.
function methods.scales(self, y)
  local own <const> = fields(self).form.scales
  return own and #y > 0 and own(self, y) or {level = 0.0, spread = 1.0}
end

-- Derivatives -------------------------------------------------------------------------------------------------------------------

--- The derivative of the log density by f, and the negative second one, (n), lazy; of one latent function.
function methods.slopes(self, f, y)
  local first <const> = core.grad(self:log_density(f, y):sum(), f)
  return first, -core.grad(first:sum(), f, {unused = "zero"})
end

--- What Laplace's approximation takes for the negative second derivative, where that may be below 0; nil: that itself.
function methods.curvature(self, f, y)
  local own <const> = fields(self).form.curvature
  return own and own(self, f, y)
end

--- Has the likelihood a curvature of its own?
function methods.is_curved(self) return fields(self).form.curvature ~= nil end

--- Has its log density a second derivative?
function methods.is_smooth(self) return fields(self).form.smooth ~= false end

-- Kinds ---------------------------------------------------------------------------------------------------------------------------

--- A likelihood of these fields, form among them; for copies.
function M.new(f) return setmetatable({_fields = f}, Likelihood) end

--- The fields of a likelihood; nil of any other value.
function M.fields(l) return M.is(l) and fields(l) or nil end

local forms <const> = {}                   -- of the library, by kind

--- The likelihood of these fields as a file has them, of a kind of the library or of the given constructor; nil where they lack
-- something.
function M.restored(kind, given, f)
  local form <const> = given and fields(given()).form or forms[kind]
  if form == nil then return nil end
  for _, name in ipairs(form.parameters or {}) do
    if not param.is(f[name]) then return nil end
  end
  f.kind, f.form, f.points = kind, form, math.tointeger(f.points) or POINTS
  return M.new(f)
end

--- The constructor of a kind of likelihoods.
function M.define(form)
  local what <const> = form.constructor or "gb.likelihoods." .. form.kind
  local spec <const> = form.quadrature == false and {} or {points = "count"}
  for name, rule in pairs(form.spec or {}) do spec[name] = rule end
  if not form.own then forms[form.kind] = form end
  return function(opts)
    local o <const> = options.parse(opts, spec, what)
    if o.points and not (o.points >= 1 and o.points <= MOST_POINTS) then
      core.raise("option", ("%s: points must be 1 to %d, got %d"):format(what, MOST_POINTS, o.points))
    end
    local f <const> = form.make and form.make(o, what) or {}
    f.kind, f.form, f.points = form.kind, form, o.points or POINTS
    return M.new(f)
  end
end

return M

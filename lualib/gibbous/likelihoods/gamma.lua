--- Positive observations of mean e^f: p(y | f) is a gamma distribution of this shape, of variance e^2f / shape. With shape 1 it is
-- the exponential distribution.
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local parameters <const> = require "gibbous.likelihoods.parameters"
local random <const> = require "gibbous.likelihoods.random"
local rows <const> = require "gibbous.likelihoods.rows"

local function positive(y) return y:isfinite() & y:gt(0) end

local function hint(v)
  if v == 0 then return "leave such rows out, or model counts with gb.likelihoods.poisson" end
end

--- The kind of this name; shape(l, f): the shape as a tensor like f.
local function kind(name, shape, own)
  local form <const> = own
  form.kind, form.concave = name, true

  function form.check(_, y, what) return rows.check(y, positive, what, "a number above 0", hint) end

  --- The part without f.
  local function norm(a, y) return a * a:log() - a:lgamma() + (a - 1) * y:log() end

  function form.log_density(self, f, y)
    local a <const> = shape(self, f)
    return norm(a, y) - a * (f + y * (-f):exp())
  end

  function form.expected(self, mean, var, y)
    local a <const> = shape(self, mean)
    return norm(a, y) - a * (mean + y * (var / 2 - mean):exp())
  end

  function form.moments(self, f) return f:exp(), (2 * f):exp() / shape(self, f) end

  function form.predictive(self, mean, var)
    local first <const>, second <const> = parameters.log_normal(mean, var)
    return {mean = first, var = second / shape(self, mean) + core.maximum(second - first * first, 0)}
  end

  --- The level of the logarithm.
  function form.scales(_, y) return {level = math.log(y:mean():item()), spread = 1.0} end

  function form.draw(self, f, seed) return f:exp() * random.gamma(f * 0 + shape(self, f), seed) end

  return class.define(form)
end

return {
  gamma = kind("gamma", function(self, f) return parameters.value(self, "shape", f) end, {
    spec = {shape = parameters.rule}, parameters = {"shape"},
    make = function(o, what) return {shape = parameters.positive(o.shape, "shape", 1, what)} end,
  }),
  exponential = kind("exponential", function(_, f) return core.full({}, 1, {dtype = f.dtype, device = f.device}) end, {}),
}

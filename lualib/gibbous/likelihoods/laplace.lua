--- Noise with the Laplace distribution: p(y | f) = e^(-|y - f| / scale) / (2 scale), whose most likely f is a median.
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local parameters <const> = require "gibbous.likelihoods.parameters"
local random <const> = require "gibbous.likelihoods.random"
local rows <const> = require "gibbous.likelihoods.rows"

local form <const> = {kind = "laplace", spec = {scale = parameters.rule}, parameters = {"scale"}, smooth = false}

function form.make(o, what) return {scale = parameters.positive(o.scale, "scale", 1, what)} end

function form.check(_, y, what) return rows.check(y, rows.finite, what, "a finite number") end

function form.log_density(self, f, y)
  local scale <const> = parameters.value(self, "scale", f)
  return -(y - f):abs() / scale - (2 * scale):log()
end

-- Least standard deviation of f beside the scale: below it f is a number.
local LEAST <const> = 1e-12

--- y - mean, the standard deviation of f, and the scale.
local function distance(self, mean, var, y)
  local scale <const> = parameters.value(self, "scale", mean)
  return y - mean, core.maximum(var, (LEAST * scale) ^ 2):sqrt(), scale
end

--- By the mean of a folded normal variable.
function form.expected(self, mean, var, y)
  local e <const>, sd <const>, scale <const> = distance(self, mean, var, y)
  local z <const> = e / sd
  local away <const> = sd * (-z * z / 2):exp() * math.sqrt(2 / math.pi) + e * (z:ndtr() - (-z):ndtr())
  return -away / scale - (2 * scale):log()
end

function form.moments(self, f) return f, f * 0 + 2 * parameters.value(self, "scale", f) ^ 2 end

function form.predictive(self, mean, var)
  return {mean = mean, var = var + 2 * parameters.value(self, "scale", mean) ^ 2}
end

--- The convolution of a normal and a Laplace density, as a sum of two tails.
function form.log_predictive(self, mean, var, y)
  local e <const>, sd <const>, scale <const> = distance(self, mean, var, y)
  local z <const>, ratio <const> = e / sd, sd / scale
  local below <const>, above <const> = (z - ratio):log_ndtr() - e / scale, (-z - ratio):log_ndtr() + e / scale
  return core.stack({below, above}, 1):logsumexp(1) + ratio * ratio / 2 - (2 * scale):log()
end

--- f takes most of the variance of y.
function form.scales(_, y) return parameters.noise_scales(y) end

function form.draw(self, f, seed)
  local u <const> = random.uniform(f, seed)
  return f + parameters.value(self, "scale", f) * core.where(u:lt(0.5), (2 * u):log(), -(2 - 2 * u):log())
end

return class.define(form)

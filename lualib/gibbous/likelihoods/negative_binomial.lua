--- Counts that vary more than Poisson's: mean mu = e^f and variance mu + dispersion mu^2.
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local parameters <const> = require "gibbous.likelihoods.parameters"
local random <const> = require "gibbous.likelihoods.random"
local rows <const> = require "gibbous.likelihoods.rows"

local form <const> = {kind = "negative_binomial", concave = true, spec = {dispersion = parameters.rule},
  parameters = {"dispersion"}}

function form.make(o, what) return {dispersion = parameters.positive(o.dispersion, "dispersion", 1, what)} end

function form.check(_, y, what) return rows.check(y, rows.count, what, "a count, 0 or more", rows.no_count) end

--- With r = 1 / dispersion: Gamma(y + r) / (Gamma(r) y!) (mu / (r + mu))^y (r / (r + mu))^r.
function form.log_density(self, f, y)
  local r <const> = 1 / parameters.value(self, "dispersion", f)
  local odds <const> = f - r:log()
  return (y + r):lgamma() - r:lgamma() - (y + 1):lgamma() + y * odds - (y + r) * odds:softplus()
end

function form.moments(self, f)
  local mu <const> = f:exp()
  return mu, mu + parameters.value(self, "dispersion", f) * mu * mu
end

function form.predictive(self, mean, var)
  local first <const>, second <const> = parameters.log_normal(mean, var)
  local spread <const> = parameters.value(self, "dispersion", mean) * second
  return {mean = first, var = first + spread + core.maximum(second - first * first, 0)}
end

--- The level of the logarithm.
function form.scales(_, y) return {level = math.log(math.max(y:mean():item(), 1e-3)), spread = 1.0} end

--- A Poisson draw whose rate is a gamma draw.
function form.draw(self, f, seed)
  local shape <const> = f * 0 + 1 / parameters.value(self, "dispersion", f)
  return random.poisson(f:exp() * random.gamma(shape, seed), seed + 104729)
end

return class.define(form)

--- Counts: p(y | f) is Poisson with the rate e^f.
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local parameters <const> = require "gibbous.likelihoods.parameters"
local random <const> = require "gibbous.likelihoods.random"
local rows <const> = require "gibbous.likelihoods.rows"

local form <const> = {kind = "poisson", concave = true}

function form.check(_, y, what) return rows.check(y, rows.count, what, "a count, 0 or more", rows.no_count) end

function form.log_density(_, f, y) return y * f - f:exp() - (y + 1):lgamma() end

function form.expected(_, mean, var, y) return y * mean - (mean + var / 2):exp() - (y + 1):lgamma() end

function form.moments(_, f) return f:exp(), f:exp() end

function form.predictive(_, mean, var)
  local first <const>, second <const> = parameters.log_normal(mean, var)
  return {mean = first, var = first + core.maximum(second - first * first, 0)}
end

--- The level of the logarithm.
function form.scales(_, y) return {level = math.log(math.max(y:mean():item(), 1e-3)), spread = 1.0} end

function form.draw(_, f, seed) return random.poisson(f:exp(), seed) end

return class.define(form)

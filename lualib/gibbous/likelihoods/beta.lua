--- Observations between 0 and 1: p(y | f) is a beta distribution of mean m = 1 / (1 + e^-f) and variance m (1 - m) / (1 +
-- concentration).
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local parameters <const> = require "gibbous.likelihoods.parameters"
local quadrature <const> = require "gibbous.likelihoods.quadrature"
local random <const> = require "gibbous.likelihoods.random"
local rows <const> = require "gibbous.likelihoods.rows"

local form <const> = {kind = "beta", concave = true, spec = {concentration = parameters.rule}, parameters = {"concentration"}}

function form.make(o, what) return {concentration = parameters.positive(o.concentration, "concentration", 2, what)} end

local function inside(y) return y:gt(0) & y:lt(1) end

local function hint(v)
  if v == 0 or v == 1 then return "gb.likelihoods.bernoulli has 0 and 1; y:clamp(1e-6, 1 - 1e-6) moves them inside" end
  return "scale y to that interval"
end

function form.check(_, y, what) return rows.check(y, inside, what, "a number inside (0, 1)", hint) end

--- The shapes a and b of the density y^(a - 1) (1 - y)^(b - 1), and their sum.
local function shapes(self, f)
  local c <const> = parameters.value(self, "concentration", f)
  return c * f:sigmoid(), c * (-f):sigmoid(), c
end

function form.log_density(self, f, y)
  local a <const>, b <const>, c <const> = shapes(self, f)
  return c:lgamma() - a:lgamma() - b:lgamma() + (a - 1) * y:log() + (b - 1) * (-y):log1p()
end

--- The derivative of digamma.
local function trigamma(x) return core.grad(x:digamma():sum(), x) end

--- The Fisher information: the curvature at y may be negative.
function form.curvature(self, f)
  local a <const>, b <const>, c <const> = shapes(self, f)
  local slope <const> = c * f:sigmoid() * (-f):sigmoid()
  return (trigamma(a) + trigamma(b)) * slope * slope
end

function form.moments(self, f)
  local c <const> = parameters.value(self, "concentration", f)
  return f:sigmoid(), f:sigmoid() * (-f):sigmoid() / (1 + c)
end

function form.predictive(self, mean, var)
  local m <const>, rest <const> = quadrature.sigmoid(mean, var, self.points), quadrature.sigmoid(-mean, var, self.points)
  local slope <const> = quadrature.sigmoid_slope(mean, var, self.points)
  local c <const> = parameters.value(self, "concentration", mean)
  return {mean = m, var = slope / (1 + c) + core.maximum(m * rest - slope, 0)}
end

function form.scales(_, y)
  local m <const> = y:mean():item()
  return {level = math.log(m / (1 - m)), spread = 1.0}
end

--- Of two gamma draws the part of the first.
function form.draw(self, f, seed)
  local a <const>, b <const> = shapes(self, f)
  local x <const>, z <const> = a * random.gamma(a, seed), b * random.gamma(b, seed + 104729)
  return x / (x + z)
end

return class.define(form)

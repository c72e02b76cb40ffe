--- Noise with heavy tails: (y - f) / scale has Student's distribution with df degrees of freedom, which lets a few observations
-- lie far out. Its log density is not concave in f.
local class <const> = require "gibbous.likelihoods.class"
local core <const> = require "gibbous.core"
local parameters <const> = require "gibbous.likelihoods.parameters"
local random <const> = require "gibbous.likelihoods.random"
local rows <const> = require "gibbous.likelihoods.rows"

local form <const> = {kind = "student_t", spec = {scale = parameters.rule, df = parameters.rule}, parameters = {"scale", "df"}}

function form.make(o, what)
  return {scale = parameters.positive(o.scale, "scale", 1, what), df = parameters.positive(o.df, "df", 4, what, 1)}
end

function form.check(_, y, what) return rows.check(y, rows.finite, what, "a finite number") end

local function of(self, f) return parameters.value(self, "scale", f), parameters.value(self, "df", f) end

function form.log_density(self, f, y)
  local scale <const>, df <const> = of(self, f)
  local z <const> = (y - f) / scale
  local norm <const> = ((df + 1) / 2):lgamma() - (df / 2):lgamma() - (df * math.pi):log() / 2 - scale:log()
  return norm - (df + 1) / 2 * (z * z / df):log1p()
end

--- The Fisher information, in place of a curvature that is negative where |y - f| > scale df^1/2.
function form.curvature(self, f)
  local scale <const>, df <const> = of(self, f)
  return f * 0 + (df + 1) / ((df + 3) * scale * scale)
end

--- The variance is infinite up to df = 2.
local function variance(scale, df) return core.where(df:gt(2), scale * scale * df / core.maximum(df - 2, 1e-300), math.huge) end

function form.moments(self, f) return f, f * 0 + variance(of(self, f)) end

function form.predictive(self, mean, var) return {mean = mean, var = var + variance(of(self, mean))} end

--- f takes most of the variance of y.
function form.scales(_, y) return parameters.noise_scales(y) end

--- A normal draw over the root of a gamma draw of mean 1 and shape df / 2.
function form.draw(self, f, seed)
  local scale <const>, df <const> = of(self, f)
  return f + scale * random.normal(f, seed) / random.gamma(f * 0 + df / 2, seed + 104729):sqrt()
end

return class.define(form)

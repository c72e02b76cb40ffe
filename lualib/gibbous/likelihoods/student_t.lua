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

-- Nodes of the average over scales, and the nats below its peaks at which it ends.
local NODES <const>, BELOW <const> = 256, 40

--- Where u = log lambda of the average below lies, from and to: lambda has a gamma density of shape a at least, by itself around 1
-- and given y around (df + 1) / (df + z^2). There a (e^t - t - 1) = BELOW, about, at both ends t.
local function range(df, z)
  local a <const> = df / 2
  local reach <const> = (2 * BELOW / a):sqrt() + BELOW / a
  local peak <const> = core.minimum(((df + 1) / (df + z * z)):log(), 0)
  return (peak - reach):detach(), (z * 0 + reach:log1p()):detach()
end

--- Student's distribution mixes N(0, scale^2 / lambda) by a gamma density of lambda, so y has N(mean, var + scale^2 / lambda): a
-- smooth function of log lambda, however narrow the noise is beside var. The trapezoidal rule averages it, in f64.
function form.log_predictive(self, mean, var, y)
  local wide <const> = {dtype = "f64"}
  local m <const>, v <const> = mean:to(wide), core.maximum(var:to(wide), 0)
  local scale <const>, df <const> = of(self, m)
  local off <const> = y:to(wide) - m
  local from <const>, to <const> = range(df, off / scale)
  local step <const> = (to - from) / (NODES - 1)
  local shape <const> = {NODES}
  for i = 1, off.ndim do shape[i + 1] = 1 end
  local k <const> = core.linspace(0, NODES - 1, NODES, {dtype = "f64", device = m.device}):reshape(shape)
  local u <const> = from:unsqueeze(1) + k * step:unsqueeze(1)
  local spread <const> = v:unsqueeze(1) + scale * scale * (-u):exp()
  local log_normal <const> = -(2 * math.pi * spread):log() / 2 - off:unsqueeze(1) ^ 2 / (2 * spread)
  local a <const> = df / 2
  local norm <const> = a * a:log() - a - a:lgamma()
  return ((a * (u - u:expm1()) + log_normal):logsumexp(1) + step:log() + norm):to{dtype = mean.dtype}
end

--- f takes most of the variance of y.
function form.scales(_, y) return parameters.noise_scales(y) end

--- A normal draw over the root of a gamma draw of mean 1 and shape df / 2.
function form.draw(self, f, seed)
  local scale <const>, df <const> = of(self, f)
  return f + scale * random.normal(f, seed) / random.gamma(f * 0 + df / 2, seed + 104729):sqrt()
end

return class.define(form)

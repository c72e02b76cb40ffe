--- How well a model predicts new observations.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local likelihoods <const> = require "gibbous.likelihoods"
local metrics <const> = require "gibbous.gp.report.metrics"
local model <const> = require "gibbous.gp.model"
local observed_score <const> = require "gibbous.gp.report.observed_score"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"

---@class gibbous.score
---@field rmse number         root mean squared error (units of y)
---@field mae number          mean absolute error (units of y)
---@field smse number|nil     mean squared error / variance of these y (ddof 0); nil where they do not vary
---@field nlpd number         mean negative log predictive density of each y by itself, the marginal one (nats a point)
---@field msll number|nil     nlpd less that of a normal with the mean and variance of the training y (nats a point)
---@field crps number         mean continuous ranked probability score (units of y)
---@field coverage50 number   part of the y inside their central 50 % interval; coverage90, coverage95
---@field calibration number  mean |coverage - level| over the levels 0.1, 0.2, ..., 0.9
---@field joint_log_density number   log density of all y together (nats); m^2 values, computed when it is first read
---@field f_var_bound number|nil  how much too large cached variances are at most, on average; nil of exact ones
---@field n integer           points scored
---@field noise_known boolean  false: the noise of these y is not known, and figures are as if there were none (give noise)
---@field masked integer      rows left out by missing = "mask"
---@field converged boolean   false: some solve behind these figures missed its tolerance
local Score <const> = {__name = "gibbous.score"}

local COVERED <const> = {50, 90, 95}

function Score.__index(self, key)
  if key == "joint_log_density" then
    local v <const> = rawget(self, "_joint")()
    rawset(self, key, v)
    return v
  end
  if key == "smse" or key == "msll" or key == "f_var_bound" then return nil end
  local known <const> = {joint_log_density = true}
  for name in pairs(self) do known[name] = true end
  local near <const> = options.nearest(tostring(key), known)
  core.raise("option", ("a score has no field '%s'%s"):format(tostring(key),
    near and (" (did you mean '%s'?)"):format(near) or ""))
end

function Score.__tostring(self)
  local text <const> = ("rmse %.4g  mae %.4g  nlpd %.4g  crps %.4g  coverage95 %.1f %%  n %d"):format(self.rmse, self.mae,
    self.nlpd, self.crps, 100 * self.coverage95, self.n)
  local masked <const> = self.masked > 0 and ("  masked %d"):format(self.masked) or ""
  local bare <const> = self.noise_known and "" or
    "  (the noise of these y is not known and left out: give noise = their variances, or the likelihood new)"
  return text .. masked .. bare .. (self.converged and "" or "  (from a solve that did not converge)")
end

--- Log density of e under the joint covariance of new observations.
local function joint(p, e, var)
  local noise <const> = var - p.f_var
  local c <const> = p.f_cov + core.linalg.diag(noise)
  return -((core.linalg.inv_quad(c, e) + core.linalg.logdet(c) + #e * math.log(2 * math.pi)) / 2):item()
end

local function calibration(e, var)
  local sum
  for tenth = 1, 9 do
    local miss <const> = (metrics.coverage(e, var, tenth / 10) - tenth / 10):abs()
    sum = sum and sum + miss or miss
  end
  return sum / 9
end

--- nlpd of a normal with the mean and variance of the training y; nil where these do not vary.
local function trivial_nlpd(y, trained)
  if trained == nil or #trained == 0 then return nil end
  local mean <const>, var <const> = trained:mean(), trained:var(nil, {ddof = 0})
  if not (var:item() > 0) then return nil end
  return metrics.neg_log_density(y - mean, var):mean()
end

local function is_noise(v)
  return type(v) == "number" and v >= 0 and v < math.huge or core.as_tensor(v) ~= nil, "a variance, 0 or more, or a tensor of them"
end

--- The noise variances given for y ('count' rows, of which 'keep' are scored), as predictions at xs have them; nil: none given.
local function noise_of(given, keep, count, xs)
  if given == nil or given == false then return nil end
  local v <const> = type(given) == "number" and core.full({}, given, {dtype = xs.dtype})
    or columns.like(core.as_tensor(given), xs)
  if v.ndim == 0 then return v end
  if v.ndim ~= 1 or #v ~= count then
    core.raise("shape", ("score: noise must be one variance, or one for each of the %s, got shape %s"):format(counted(count, "row"),
      tostring(v.shape)))
  end
  if not (v:min():item() >= 0 and v:max():item() < math.huge) then
    core.raise("option", "score: noise variances must be 0 or more and finite")
  end
  return keep and v:index(1, keep) or v
end

local methods <const> = {}

--- How well new observations x (m, d), y (m), or the rows of a frame, m:score(frame, o), are predicted: a gibbous.score of numbers;
-- of a likelihood that is not Gaussian a gibbous.observed_score, whose one option is 'missing'.
-- Cost: a prediction's mean and y_var; exact variances by conjugate gradients take a solve a row, cached ones are at most
-- s.f_var_bound too large, on average.
-- o: noise: variances of the noise in these y, a number or (m), in place of the likelihood's. Where neither knows them, as with
-- known noise of the observations alone, they are left out, and the score says so. missing = "mask": rows whose y is NaN are left
-- out; variance = "cached", rank: as in predict. Errors: option, shape, dtype, nan; those of a prediction.
function methods.score(self, x, y, o)
  x, y, o = frames.observed(self, x, y, o, "score")
  if not likelihoods.is_gaussian(model.fields(model.core(self)).likelihood) then return observed_score(self, x, y, o) end
  o = options.parse(o, {missing = data.missing, variance = {"exact", "cached"}, rank = "count", noise = is_noise}, "score")
  local xs <const>, ys <const>, keep <const> = data.check(x, y, "score", o.missing)
  if #xs == 0 then core.raise("shape", "score: there are no rows to score") end
  local f <const> = model.fields(self)
  data.check_width(f, xs, "score")
  local p <const> = self:predict(xs, {variance = o.variance or nil, rank = o.rank or nil})
  local own <const> = noise_of(o.noise, keep, #core.as_tensor(y), xs)
  local mean <const>, var <const> = p.mean, own and p.f_var + own or p.y_var
  local e <const> = ys - mean
  local lazy <const> = {mse = (e * e):mean(), mae = e:abs():mean(), nlpd = metrics.neg_log_density(e, var):mean(),
    crps = metrics.crps(e, var):mean(), calibration = calibration(e, var), spread = ys:var(nil, {ddof = 0}),
    trivial = trivial_nlpd(ys, scaling.held(self, "y"))}
  if o.variance == "cached" then lazy.f_var_bound = p.f_var_bound:mean() end
  for _, level in ipairs(COVERED) do lazy["coverage" .. level] = metrics.coverage(e, var, level / 100) end
  core.eval(lazy)
  local s <const> = {}
  for name, v in pairs(lazy) do s[name] = v:item() end
  s.rmse = math.sqrt(s.mse)
  s.smse = s.spread > 0 and s.mse / s.spread or nil
  s.msll = s.trivial and s.nlpd - s.trivial
  s.mse, s.spread, s.trivial = nil, nil, nil
  s.n, s.masked = #xs, keep and #core.as_tensor(y) - #xs or 0
  s.converged = p.converged
  s.noise_known = own ~= nil or f.likelihood.kind ~= "fixed" or f.likelihood.new ~= nil
  s._joint = function()
    if not s.noise_known then
      core.raise("option", "score: the joint density of y needs their noise variances, which are not known: give noise")
    end
    return joint(p, e, var)
  end
  return setmetatable(s, Score)
end

return {methods = methods}

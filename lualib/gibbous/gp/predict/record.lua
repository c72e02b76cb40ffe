--- What a model says about new points: a lazy record. Nothing is computed before a field is looked at, no solve either: a field
-- that needs solves is a tensor that stands for what they will give (core.promise), and gb.plan says beforehand what they will
-- take. The covariance between test points is formed for f_cov alone. Of b fantasies (gp/exact/fantasies.lua) means are (b, m)
-- and draws (b, k, m); variances (m) and covariances (m, m) where they are the same for all, else (b, m) and (b, m, m).
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.data"
local metrics <const> = require "gibbous.gp.report.metrics"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local pathwise <const> = require "gibbous.gp.predict.pathwise"
local prediction_parts <const> = require "gibbous.gp.predict.parts"
local samples <const> = require "gibbous.gp.predict.samples"

---@class gibbous.prediction
---@field mean gibbous.tensor    (m) of f and, with Gaussian noise, of y
---@field f_var gibbous.tensor   (m) variance of the function, within 0 and the prior variance; NaN where rounding left nothing
---@field y_mean gibbous.tensor  (m) mean of a new observation; y_var: its variance
---@field probabilities gibbous.tensor (m, classes) of the likelihoods of classes
---@field f_cov gibbous.tensor   (m, m) covariance of the function; m^2 values
---@field f_var_bound gibbous.tensor (m) how much too large f_var may be: 0 by a factor; f_var where that is not known
---@field converged boolean      whether every solve so far did; true without a solver
---@field info gibbous.prediction_info
local Prediction <const> = {__name = "gibbous.prediction"}

--- How a prediction was computed, as far as it was: algorithm, variance ("exact" or "cached"), rank, precision, reused (the model
-- was prepared before), converged; else missed ("mean", "variances", "mean and variances": whose solves did not) and reason;
-- residual, iterations, slices, seconds of the solves; variance_error, the largest f_var_bound over its f_var, of variances by
-- gb.solvers.cg; of variances that were looked at clamped (0 after rounding, count) and invalid (NaN at finite points, count);
-- jitter of joint samples, and relative_jitter, that over the prior variance; noise = "unknown" where y_var is f_var for that
-- reason.
local Info <const> = object.record("gibbous.prediction_info", "the report of a prediction",
  "rank missed reason residual iterations slices seconds variance_error clamped invalid jitter relative_jitter noise")

local BARE <const> = "noise of new observations not known: y_var is f_var"

function Info.__tostring(self)
  local text = ("%s, variance %s%s, %s"):format(self.algorithm, self.variance, self.rank and " of rank " .. self.rank or "",
    self.precision)
  if not self.converged then
    text = ("%s, %s not converged%s"):format(text, self.missed, self.reason and " (" .. self.reason .. ")" or "")
  end
  if self.residual then text = text .. (", residual %.2g after %s"):format(self.residual, counted(self.iterations, "step")) end
  if self.variance_error then text = text .. (", variances too large by %.2g of themselves at most"):format(self.variance_error) end
  if self.clamped and self.clamped > 0 then text = text .. (", %s 0 after rounding"):format(counted(self.clamped, "variance")) end
  if self.invalid and self.invalid > 0 then
    text = text .. (", %s lost to rounding: more noise, or precision = \"f64\", keeps them"):format(
      counted(self.invalid, "variance"))
  end
  if self.noise then text = text .. ", " .. BARE end
  if self.jitter and self.jitter > 0 then text = text .. (", jitter %.2g"):format(self.jitter) end
  return text
end

-- Fields ----------------------------------------------------------------------------------------------------------------------

local function box(self) return rawget(self, "_box") end

--- Raises where the session has another device than when the prediction was made. What was made of it before stays what it is.
local function check_session(b, what) data.check_session(what, b.points.device) end

--- What the prediction is made of, made now at the latest: with the data prepared, by a factor or a solve.
local function parts_of(b)
  if b.parts == nil then b.parts = b.prepare() end
  return b.parts
end

--- Is y_var f_var, because the noise of new observations is not known?
local function is_bare(b) return b.count > 0 and not b.part and not b.observed and b.noise() == nil end

--- Raises where a prediction of a part of f is asked for a new observation. instead: what does not ask for one.
local function check_whole(b, what, instead)
  if not b.part then return end
  core.raise("option", ("%s: an observation is of the whole of f: %s is of its part, and m:predict(x) of y"):format(what, instead))
end

--- A part in the dtype that was asked for.
local function narrowed(b, v) return v.dtype == b.dtype and v or v:to{dtype = b.dtype} end

--- Zeros of one number a point, of each fantasy.
local function zeros(b)
  return core.zeros(b.each and {b.each, b.count} or {b.count, b.observed and b.observed.latents}, {dtype = b.dtype})
end

--- What the data leave of the prior variance, (m), in the working dtype.
local function left(b)
  if b.count == 0 then return zeros(b) end
  if b.left then return b.left end
  local parts <const> = parts_of(b)
  b.left = parts.prior()
  if parts.how then
    local explained <const>, size <const> = parts.how.explained(b.count)
    b.left = prediction_parts.left(b.left, explained, size, parts.count)
  end
  return b.left
end

--- The joint covariance in the working dtype, made once.
local function covariance(b)
  if b.cov then return b.cov end
  local parts <const> = parts_of(b)
  if b.count == 0 then
    b.cov = core.zeros(b.each and {b.each, 0, 0} or {0, 0}, {dtype = b.dtype})
  else
    b.cov = parts.prior_cov()
    if parts.how then b.cov = b.cov - parts.how.joint(b.count) end
  end
  return b.cov
end

local fields <const> = {}

function fields.mean(b) return narrowed(b, parts_of(b).mean()) end
function fields.f_var(b) return narrowed(b, left(b)) end
function fields.f_cov(b) return narrowed(b, covariance(b)) end

--- Of an exact variance 0; without gradients. No more than f_var itself: the exact one is not below 0.
function fields.f_var_bound(b)
  local how <const> = parts_of(b).how
  if how == nil or how.bound == nil or b.count == 0 then return zeros(b) end
  local f_var <const> = fields.f_var(b)                     -- first: its solves know the bound
  return core.minimum(narrowed(b, how.bound(b.count)), f_var):detach()
end

--- The shape of a field.
local function shape_of(b, key)
  local latents <const> = b.observed and b.observed.latents                    -- nil: one
  if key == "mean" then return b.many and {b.many, b.count} or {b.count, latents} end
  if key == "f_cov" then return b.each and {b.each, b.count, b.count} or {b.count, b.count} end
  return b.each and {b.each, b.count} or {b.count, latents}
end

--- Does building the field compute? The data are not prepared, or what they explain is solved for at once.
local function computes(b, key)
  if b.count == 0 then return false end
  if b.parts == nil then
    if not b.is_ready() then return true end
    parts_of(b)
  end
  return key ~= "mean" and b.parts.how ~= nil and b.parts.how.solves == true
end

--- A field, or what stands for it until it is looked at. Neither function knows the record, which has the tensor. In a trace it
-- is built at once: points that stand for slices are gone when it is looked at.
local function field(b, key)
  local build <const> = fields[key]
  if not computes(b, key) or core.tracing() then return build(b) end
  return core.promise(shape_of(b, key), b.dtype, function()
    check_session(b, key)
    b.announce(key)
    return build(b)
  end, function() return b.cost(key) end)
end

--- Fields that are made of others.
local derived <const> = {}

--- The variances of f, or roots of the covariances of several latent functions.
local function spread(b, self)
  local how <const> = b.observed.latents and b.count > 0 and parts_of(b).how
  return how and how.spread and narrowed(b, how.spread()) or self.f_var
end

--- What is known of new observations that are not Gaussian: {mean, var, probabilities} where they have them.
local function observed(b, self, key)
  b.predictive = b.predictive or b.observed.predictive(self.mean, spread(b, self))
  local v <const> = b.predictive[key]
  if v == nil then
    core.raise("option", key == "probabilities"
      and ("observations of '%s' have no classes: y_mean and y_var"):format(b.observed.kind)
      or "classes without order have no mean and no variance: probabilities")
  end
  return v
end

function derived.y_mean(b, self)
  if b.observed then check_whole(b, "y_mean", "mean") end
  return b.observed and observed(b, self, "mean") or self.mean
end

function derived.probabilities(b, self)
  if not b.observed then core.raise("option", "probabilities are of classes; this model has Gaussian noise: mean and y_var") end
  check_whole(b, "probabilities", "mean")
  return observed(b, self, "probabilities")
end

function derived.y_var(b, self)
  check_whole(b, "y_var", "f_var")
  if b.observed then return observed(b, self, "var") end
  local noise <const> = b.noise()
  return noise and self.f_var + narrowed(b, noise) or self.f_var
end

-- Facts, looked up anew each time -----------------------------------------------------------------------------------------------

local facts <const> = {}

--- Of which solves missed their tolerance so far; nil: none did.
local function missed(b)
  local how <const> = parts_of(b).how
  local report <const> = how and how.report
  local variances <const> = report and not report.converged
  if b.parts.info.converged then return variances and "variances" or nil end
  return variances and "mean and variances" or "mean"
end

function facts.converged(b) return missed(b) == nil end

--- Counts of variances that were looked at; observing them costs nothing more.
local function count_variances(b, self, out)
  local v <const> = rawget(self, "f_var")
  if v == nil or core.is_promise(v) then return end
  local given = (b.points * 0):sum(2):eq(0)                              -- points that are finite
  if v.ndim > given.ndim and not b.each then given = given:unsqueeze(2) end
  local zero <const>, lost <const> = v:eq(0):to{dtype = "i64"}:sum(), (v:ne(v) & given):to{dtype = "i64"}:sum()
  core.eval(v, zero, lost)
  out.clamped, out.invalid = zero:item(), lost:item()
end

--- 'out', the report of solves, with that of another: the worst of both.
local function add_solve(out, other)
  if other.residual == nil then return end
  out.residual, out.iterations = math.max(out.residual, other.residual), math.max(out.iterations, other.iterations)
  if not other.converged then out.converged, out.reason = false, other.reason end
end

function facts.info(b, self)
  local out <const> = setmetatable({}, Info)
  for k, v in pairs(parts_of(b).info) do out[k] = v end
  local report <const> = b.parts.how and b.parts.how.report
  if report and report.slices > 0 then
    for k, v in pairs(report) do out[k] = v end
    add_solve(out, b.parts.info)
  end
  out.missed = missed(b)
  out.noise = is_bare(b) and "unknown" or nil
  out.converged = out.missed == nil
  if b.count > 0 and b.parts.how then count_variances(b, self, out) end
  out.jitter, out.relative_jitter = b.jitter, b.relative_jitter
  return out
end

-- Methods -----------------------------------------------------------------------------------------------------------------------

local methods <const> = object.methods(Prediction, "a prediction", "p")

--- Bounds (lo, hi), each (m), that hold a new observation with probability 'level'; of = "f": the function, which alone a part has.
function methods.interval(self, level, opts)
  local o <const> = options.parse(opts, {of = {"y", "f"}}, "interval")
  level = level or 0.95
  if type(level) ~= "number" or not (level > 0 and level < 1) then
    core.raise("option", ("interval: the level must be between 0 and 1, got %s"):format(options.got(level)))
  end
  local b <const> = box(self)
  check_session(b, "interval")
  local of <const> = o.of or b.part and "f" or "y"
  if b.observed and of ~= "f" then
    core.raise("option", ("interval: observations of '%s' are not Gaussian: interval(level, {of = \"f\"}) holds f, and "
      .. "quantiles of sample(k, {of = \"y\"}) hold y"):format(b.observed.kind))
  end
  local sd <const> = (of == "f" and self.f_var or self.y_var):sqrt()
  local half <const> = metrics.quantile(0.5 + level / 2) * sd
  return self.mean - half, self.mean + half
end

--- The log density of each observation y (m) of these points by itself, (m), or the log probability of its class: nats.
function methods.log_density(self, y)
  local b <const>, t <const> = box(self), core.as_tensor(y)
  check_session(b, "log_density")
  if t == nil or t.ndim ~= 1 or #t ~= b.count or b.many then
    core.raise("shape", ("log_density: y must be (%d), an observation a point"):format(b.count))
  end
  check_whole(b, "log_density", "f_var")
  if b.observed then return b.observed.log_density(self.mean, spread(b, self), t) end
  return -metrics.neg_log_density(t - self.mean, self.y_var)
end

local function joint_draws(b, k, seed)
  if b.count == 0 then return core.zeros(b.many and {b.many, k, 0} or {k, 0}, {dtype = b.dtype}) end
  return narrowed(b, samples.joint(b, covariance(b), k, seed))
end

local sample_spec <const> = {of = {"f", "y"}, seed = "integer", method = {"cholesky", "pathwise"}, features = "count"}

--- k joint draws, (k, m); of = "y" adds observation noise. By the Cholesky factor of the (m, m) covariance, for m up to a few
-- thousand; the jitter it needed, if any, stands in p.info (of fantasies: the most). method = "pathwise": by random features
-- (see m:draw) in O(m (n + features)), never (m, m); not of fantasies.
function methods.sample(self, k, opts)
  local o <const> = options.parse(opts, sample_spec, "sample")
  local b <const> = box(self)
  check_session(b, "sample")
  if o.of == "y" then check_whole(b, "sample", 'of = "f"') end
  k = k or 1
  if not options.integral(k) or k < 1 then
    core.raise("option", ("sample: the number of draws must be 1 or more, got %s"):format(options.got(k)))
  end
  if b.observed and b.observed.latents then
    core.raise("option", "sample: predictions of several latent functions have no joint samples: mean, f_var, probabilities")
  end
  if o.method == "pathwise" and b.many then
    core.raise("option", "sample: fantasies have no method = \"pathwise\"; condition the model on one of them")
  elseif o.method == "pathwise" and b.part then
    core.raise("option", "sample: a part of f has no method = \"pathwise\"; without it samples are made of f_cov")
  elseif o.method == "pathwise" and b.count > 0 and not b.draw then
    core.raise("option", "sample: a model of this class has no method = \"pathwise\"")
  end
  local draws <const> = o.method == "pathwise" and b.count > 0 and b.draw(k, pathwise.settings(o))(b.points)
    or joint_draws(b, k, o.seed)
  if b.observed and o.of == "y" then return b.observed.draw(draws, o.seed and o.seed + 1) end
  local noise <const> = o.of == "y" and b.noise()
  if not noise or b.count == 0 then return draws end
  return draws + narrowed(b, noise):sqrt() * samples.normals(b, k, b.dtype, o.seed and o.seed + 1)
end

-- The record --------------------------------------------------------------------------------------------------------------------

-- Names that other libraries give to variances and standard deviations: what is said of them beside.
local ROOTS <const> = "; :sqrt() of one is its standard deviation"
local SPREADS <const> = {var = "", variance = "", sd = ROOTS, std = ROOTS, stddev = ROOTS}

function Prediction.__index(self, key)
  if methods[key] then return methods[key] end
  local b <const> = box(self)
  if facts[key] then
    if b.parts == nil then check_session(b, key) end
    return facts[key](b, self)
  end
  if fields[key] == nil and derived[key] == nil then
    if SPREADS[key] then
      core.raise("option", ("a prediction has no field '%s': f_var of the function, y_var of a new observation%s"):format(key,
        SPREADS[key]))
    end
    object.no_field("a prediction", key, fields, derived, facts, methods)
  end
  if b.many and key == "f_var_bound" then core.raise("option", "a prediction of fantasies has no f_var_bound") end
  check_session(b, key)
  local v = derived[key] and derived[key](b, self) or field(b, key)
  rawset(self, key, v)
  return v
end

function Prediction.__newindex(_, key)
  core.raise("option", ("a prediction is a value; '%s' cannot be assigned"):format(tostring(key)))
end

function Prediction.__tostring(self)
  local b <const> = box(self)
  return ("prediction %sat %s: .mean .f_var %s%s.f_cov .info :interval(level) :sample(k)%s"):format(
    b.many and ("of %d fantasies "):format(b.many) or b.part and "of a part " or "", counted(b.count, "point"),
    b.observed and ".y_mean " or "", b.part and "" or ".y_var ", is_bare(b) and "\n  " .. BARE or "")
end

--- A record at points (m, d) of 'how':
--   prepare()         gives its parts, as gp/predict/parts.lua makes them; called once
--   is_ready()        whether that computes nothing
--   noise()           what parts.noise gives, without them
--   cost(key)         what a field will take that is not there, for gb.plan (gp/exact/forecast.lua)
--   announce(key)     says what is about to take long
--   observed          nil with Gaussian noise; else {kind, predictive(mean, var), log_density(mean, var, y),
--                     draw(f, seed), latents} of the likelihood; latents: nil for one
--   draw(k, settings) k functions of the posterior; nil of fantasies
--   part              whether f is a part of the model's
--   many, each        how many fantasies there are, and where each has variances of its own
local function new(points, how)
  local b <const> = {points = points, count = #points, dtype = points.dtype}
  for key, v in pairs(how) do b[key] = v end
  if b.is_ready() then parts_of(b) end
  return setmetatable({_box = b}, Prediction)
end

return {new = new, add_solve = add_solve}

--- What a model says about new points.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local forecast <const> = require "gibbous.gp.exact.forecast"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local kernels <const> = require "gibbous.kernels"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.object"
local objective <const> = require "gibbous.gp.exact.objective"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"
local pathwise <const> = require "gibbous.gp.predict.pathwise"
local prediction <const> = require "gibbous.gp.predict.record"
local states <const> = require "gibbous.gp.exact.posterior_cache"
local variance <const> = require "gibbous.gp.exact.variance"
local working <const> = require "gibbous.gp.exact.precision_twin"

local fields <const>, methods <const> = model.fields, model.methods

local DEFAULT_RANK <const> = 100

---@class gibbous.likelihood_info
---@field standard_error number  of the value, nats: 0 by a factor; a solver's is estimated from random probes
---@field converged boolean      whether the solve behind it did; reason, iterations, residual: of that
local LikelihoodInfo <const> = object.record("gibbous.likelihood_info", "the report of a likelihood", "reason iterations residual")

function LikelihoodInfo.__tostring(self)
  local text <const> = ("log marginal likelihood %.4f"):format(self.value)
  local error <const> = self.standard_error > 0 and (", standard error %.2g"):format(self.standard_error) or ""
  return text .. error .. (self.converged and "" or (", from a solve that did not converge (%s)"):format(self.reason))
end

--- By a solver: the value and its record. A solve that missed its tolerance raises unless 'kept'.
local function estimated(self, kept)
  local f <const> = fields(self)
  local value <const> = (-objective.nlml(self, f.active)):eval()
  local solve <const> = f.solve_info
  if not (solve.converged or kept) then
    core.raise("not_converged", ("log_marginal_likelihood: the solver missed its tolerance (%s after %d steps, residual %.2g), and the "
      .. "value is off by an unknown amount; more steps (max_iter), a preconditioner or solver = \"direct\" mend that, "
      .. "unconverged = true gives it all the same"):format(solve.reason, solve.iterations, solve.residual))
  end
  return value, setmetatable({value = value:item(), standard_error = objective.standard_error(solve) or 0.0,
    converged = solve.converged, reason = solve.reason, iterations = solve.iterations, residual = solve.residual}, LikelihoodInfo)
end

--- log p(y | x) of the data the model holds, in nats (a sum, not divided by n), evaluated, and a gibbous.likelihood_info. In f64
-- where f32 does not resolve the covariance (gp/exact/precision_twin.lua); gradients are still to be had. By a solver it is an estimate, whose
-- standard error the record has; where the solve missed its tolerance an error says so. o: unconverged = true: the record alone
-- says so.
---@return gibbous.tensor, gibbous.likelihood_info
function methods.log_marginal_likelihood(self, o)
  local f <const> = fields(self)
  o = options.parse(o, {unconverged = "boolean"}, "log_marginal_likelihood")
  if f.x == nil then core.raise("option", "log_marginal_likelihood: the model holds no data") end
  f.active = f.active or objective.decide(self)
  if objective.is_iterative(f.active) then return estimated(self, o.unconverged) end
  local worker <const> = f.grid and self or working(self, nil)
  local value <const> = objective.guarded(worker, "log_marginal_likelihood", function()
    local v <const> = -objective.nlml(worker, f.active)
    return (f.grid and v or v:to{dtype = f.x.dtype}):eval()
  end)
  return value, setmetatable({value = value:item(), standard_error = 0.0, converged = true}, LikelihoodInfo)
end

--- The state of a model, kept until one of its parameters is set, and whether it was there already.
local function prepared(self)
  local f <const> = fields(self)
  local before <const> = f.state
  local state <const> = states.of(self)
  param.keep(param.collect(self), f)
  return state, before ~= nil and rawequal(before, state)
end

--- How the variances of a model with data are computed; see gp/exact/variance.lua. prior(from, to): variances of some points.
local function algorithm(self, state, prior, o, more)
  local f <const> = fields(self)
  if o.variance ~= "cached" and not state.system then return variance.direct(state.factor, more) end
  local noise <const> = f.likelihood:variance(f.x):min()
  if o.variance ~= "cached" then return variance.solver(state.system, prior, noise:item(), more) end
  return variance.cached(state, f.kernel(f.x), objective.covariance(self), o.rank or DEFAULT_RANK, noise)
end

local M <const> = {}

--- What a prediction is made of, for a model and inputs t of one dtype: functions that build each part, with the parameters
-- as they are now. further(v, points): what more observations than the model's explain, as gp/exact/variance.lua has it; nil for none.
function M.parts(self, t, o, further)
  local f <const> = fields(self)
  local x <const>, kernel <const>, mean <const>, likelihood <const> = f.x, f.kernel, f.mean, f.likelihood
  local at <const> = param.remember(self)
  local rows <const> = f.of_tasks and kernel_checks.rows_of_tasks(f.of_tasks)
  local parts <const> = {
    mean = function() return at(mean, t) end,
    prior = function() return at(kernel.diag, kernel, t) end,
    prior_cov = function()
      if (x == nil or #x == 0) and not core.tracing() then at(kernel_checks.symmetric, kernel, t, rows) end
      return at(kernel, t)
    end,
    fault = function() return at(kernel_checks.not_finite, kernel, t, rows) end,
    noise = function() return at(likelihood.new_variance, likelihood, t) end,
    info = {algorithm = "prior", variance = "exact", precision = t.dtype, converged = true, reused = false},
  }
  local function some(from, to) return (from == 1 and to == #t) and t or t:slice(1, from, to) end
  local more <const> = further and function(v, from, to) return further(v, some(from, to)) end
  if x == nil or #x == 0 then
    parts.how = more and variance.alone(more)
    return parts
  end
  local state <const>, reused <const> = prepared(self)
  local how <const> = algorithm(self, state, function(from, to) return at(kernel.diag, kernel, some(from, to)) end, o, more)
  local info <const> = parts.info
  info.algorithm = state.system and tostring(f.active) or "direct"
  info.converged, info.reused, info.variance = state.converged, reused, o.variance or "exact"
  if state.solve then
    info.residual, info.iterations, info.reason = state.solve.residual, state.solve.iterations, state.solve.reason
  end
  info.rank = how.rank
  parts.cross = function(from, to) return at(kernel, some(from, to), x) end
  parts.mean = function()
    return at(function() return mean(t) + kernel(t, x):matmul(state.alpha) end)
  end
  parts.how, parts.count = how, #x
  return parts
end

local predict_spec <const> = {variance = {"exact", "cached"}, rank = "count", precision = {"f32", "f64"}}

--- Whether what predictions need is there for the parameters of this stamp: the state of the model, or of its twin in f64.
local function is_prepared(self, stamp, precision)
  local f <const> = fields(self)
  if f.x == nil or #f.x == 0 then return true end
  local worker <const> = working(self, precision, stamp)
  local state <const> = worker and fields(worker).state
  return state ~= nil and state.stamp == stamp
end

--- A lazy record of f and y at new points xs (m, d) or (m): nothing of it is computed until a field is looked at, no solve either,
-- and it stays what it is when parameters are set or data are added later. gb.plan of a field says before what it will take. See
-- gp/predict/record.lua for its fields. What depends on the data alone is computed once for the present parameters: a factor, O(n^3),
-- or one solve.
-- mean costs one streamed pass over n m pairs; f_var and y_var O(n^2 m) where the plan takes as many points at once as fit, or
-- a solve a point; f_cov also stores (m, m). A point that is not finite gives NaN in its place alone.
-- o: variance = "cached": f_var in O(n rank m) from a cache of this rank (100), at most f_var_bound too large; off by default.
--    precision: "f32" or "f64" for f32 data; else f64 where f32 could lose the variance (p.info.precision says).
---@return gibbous.prediction
function methods.predict(self, xs, opts)
  local o <const> = options.parse(opts, predict_spec, "predict")
  local f <const> = fields(self)
  local t <const> = kernels.points(xs, "predict: x")
  data.check_width(f, t, "predict")
  if f.x == nil then kernels.resolve_ard(f.kernel, t.shape[2]) end
  if o.rank == 0 then core.raise("option", "predict: the rank must be 1 or more") end
  local at <const>, stamp <const> = param.remember(self), model.stamp(self)
  local held <const>, precision <const> = model.with_data_of(self), o.precision or nil
  --- The model, which then keeps what is computed, as long as it is what it was.
  local function same()
    local now <const> = fields(self)
    return rawequal(now.x, fields(held).x) and rawequal(now.y, fields(held).y) and model.stamp(self) == stamp and self or held
  end
  local function parts_of(of)
    local worker <const> = working(of, precision)
    return M.parts(worker, rawequal(worker, of) and t or t:to{dtype = "f64"}, o)
  end
  local likelihood <const> = f.likelihood
  return prediction.new(t, {
    prepare = function() return at(parts_of, same()) end,
    is_ready = function() return is_prepared(same(), stamp, precision) end,
    noise = function() return at(likelihood.new_variance, likelihood, t) end,
    cost = function(key) return at(forecast.of, same(), t, o, key) end,
    announce = function(key) at(forecast.announce, same(), t, o, key) end,
    draw = function(count, settings) return at(pathwise.new, held, t, count, settings) end,
  })
end

return M

--- What a prediction is made of: functions that build each part, with the parameters as they are when parts are made.
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"

local M <const> = {}

local function squares(u) return (u * u):sum(-2) end

--- prior - explained, (m), within 0 and the prior variance. What rounding may have made negative, down to -8 n u times the prior
-- (and 'size'), becomes 0; anything below is NaN.
function M.left(prior, explained, size, n)
  local unit <const> = prior.dtype == "f32" and 2.0 ^ -24 or 2.0 ^ -53
  local raw <const> = prior - explained
  local slack <const> = 8 * n * unit * (size and prior + size or prior)
  return core.where((raw + slack):lt(0), 0 / 0, core.minimum(core.maximum(raw, raw * 0), prior))
end

--- What observations u = further(nil, from, to) explain beside a model without data: u'u (gp/exact/variance.lua).
function M.alone(further)
  return {
    explained = function(m) return squares(further(nil, 1, m)) end,
    joint = function(m)
      local u <const> = further(nil, 1, m)
      return u:t():matmul(u)
    end,
  }
end

--- The parts that the prior alone decides.
local function of_prior(self, query, at)
  local f <const>, t <const> = model.fields(self), query.inputs
  local kernel <const>, likelihood <const> = component.kernel(query, f.kernel), f.likelihood
  local bare <const> = f.x == nil or #f.x == 0
  local rows <const> = f.of_tasks and kernel_checks.rows_of_tasks(f.of_tasks)
    or kernel.row.presents and kernel_checks.rows_of_points(t, query.points, true) or nil
  local latents <const> = likelihoods.is_gaussian(likelihood) and 1 or likelihood:latents()
  --- A value a point for each latent function, (m) or (m, latents).
  local function of_each(v)
    if latents == 1 then return v end
    return v:unsqueeze(-1) + core.zeros(#t, latents, {dtype = t.dtype})
  end
  return {
    mean = function() return of_each(at(component.mean, query, f.mean, t)) end,
    prior = function() return of_each(at(kernel.diag, kernel, t)) end,
    prior_cov = function()
      if bare and not core.tracing() then at(kernel_checks.symmetric, kernel, t, rows) end
      return at(kernel, t)
    end,
    fault = function() return at(kernel_checks.not_finite, kernel, t, rows) end,
    noise = function() return likelihoods.is_gaussian(likelihood) and at(component.noise, query, likelihood) or nil end,
    info = {algorithm = "prior", variance = "exact", precision = t.dtype, converged = true, reused = false},
  }
end

--- Takes over what a posterior said of itself when it was prepared.
local function report(info, ready)
  info.algorithm, info.variance = ready.algorithm or "direct", ready.variance or "exact"
  info.converged, info.reused, info.rank = ready.converged ~= false, ready.reused or false, ready.rank
  if ready.solve then
    info.residual, info.iterations, info.reason = ready.solve.residual, ready.solve.iterations, ready.solve.reason
  end
end

--- The parts of a prediction by a model that computes, for a query as gp/posterior.lua has it:
--   mean() (m); prior() (m), prior_cov() (m, m); noise(): variances of new observations, or nil; fault(): which kernel gives
--   values that are not finite, as text, or nil; info: the fields of gibbous.prediction_info; count: observations
--   how             nil without observations: explained(m), joint(m), bound(m), report, solves (gp/posterior.lua)
-- Prepares the posterior, by a factor or a solve where it is not prepared.
function M.of(self, query)
  local f <const>, at <const> = model.fields(self), param.remember(self)
  local parts <const> = of_prior(self, query, at)
  if f.x == nil or #f.x == 0 then
    local further <const> = query.further
    parts.how = further and M.alone(further)
    return parts
  end
  local of <const> = model.posterior(self)
  local ready <const>, now <const> = of.prepare(self, query), model.with_data_of(self)
  report(parts.info, ready)
  parts.count = ready.count or #f.x
  function parts.mean() return at(of.mean, now, ready, query) end
  for _, name in ipairs{"prior", "prior_cov"} do
    local own <const> = ready[name]
    if own then parts[name] = function() return at(own, query) end end
  end
  parts.how = {
    explained = function() return at(of.explained, now, ready, query) end,
    joint = function() return at(of.joint, now, ready, query) end,
    bound = ready.bound and function() return at(ready.bound, query) end,
    spread = ready.spread and function() return at(ready.spread, query) end,
    report = ready.report, solves = ready.computes,
  }
  return parts
end

return M

--- What a fit reports.
local algorithm <const> = require "gibbous.gp.algorithm"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local model <const> = require "gibbous.gp.model"
local notes <const> = require "gibbous.gp.fit.notes"
local object <const> = require "gibbous.base.object"
local param <const> = require "gibbous.param"
local parameter_values <const> = require "gibbous.gp.report.values"

---@class gibbous.fit_info
---@field converged boolean     the optimiser's test was met, not interrupted, and the last solve converged
---@field reason string         why it stopped
---@field value number          what was minimised, at the best point: -(objective + log_prior), nats
---@field log_prior number      of the free parameters, 0 without priors
---@field log_likelihood number the objective itself, nats: the log marginal likelihood, or the leave-one-out density
---@field log_likelihood_error number|nil  standard error of that, where a solver estimated it from random probes
---@field objective string      "mll" or "loo"; "vfe" or "fitc", "elbo": the bound of a sparse model
---@field approximation table|nil  of a sparse model: what the data's likelihood lies between
---@field gradient_norm number  of the value by the unconstrained parameters, at the best point
---@field active_bounds string[]  paths of free parameters that lie at a bound
---@field shared string[]      paths of free parameters that another model had fitted before: its predictions changed with them
---@field notes string[]       why the fit may be worth little: it explains nothing, y is far from its mean function
---@field noise_floor number|nil  the least variance allowed, where it binds
---@field iterations integer    of the best start; evaluations, setbacks (steps undone): of all starts
---@field restarts integer      extra starts; failed_starts: starts that came to nothing
---@field solver string         "direct" or the solver
---@field precision string      of the objective at the end: f32 data are finished in "f64" where f32 tells no steps apart any more
---@field why gibbous.choice|nil  how solver = "auto" came to it, with the predicted costs
---@field solve_log table       solves, iterations, unconverged, and the worst residual and condition; all 0 when direct
---@field parameters table<string, number|number[]>  values at the best point, by path, of those with 32 elements at most
---@field history table[]        its steps: {step, value, gradient_norm, residual of an iterative solver, parameters}; of a long fit
--                               not all; parameters: values of the free ones by path, where there are 64 numbers at most
---@field seed integer          of the starts and the probes
---@field n integer             values of y; masked: those left out by missing = "mask"
---@field tasks integer|nil     of a model of several outputs
---@field derivatives integer|nil of a model whose data have derivatives: how many of the n are such
---@field seconds number
---@field bytes integer         most bytes held since the report was last reset
---@field interrupted boolean
---@field method string
local Info <const> = object.record("gibbous.info", "the report of a fit",
  "gradient_norm log_likelihood_error noise_floor tasks derivatives why approximation")

-- Objectives in words.
local WHAT <const> = {mll = "log marginal likelihood", loo = "leave-one-out density",
  vfe = "lower bound of the log marginal likelihood", fitc = "log marginal likelihood by FITC", elbo = "evidence lower bound"}

-- A value this near to its bound, relative to the bound or to the width between two, is at it; near 0, relative to where it began.
local NEAR <const>, SHARE <const>, TINY <const> = 0.05, 0.01, 1e-12

local function near_one(distance, bound, began)
  return distance <= (bound == 0 and TINY * (began or 1.0) or NEAR * math.abs(bound))
end

local function warnings(self)
  local out <const> = table.move(self.notes, 1, #self.notes, 1, {})
  if #self.active_bounds > 0 then out[#out + 1] = "at a bound: " .. table.concat(self.active_bounds, ", ") end
  if #self.shared > 0 then
    out[#out + 1] = ("shared with a model fitted before, whose predictions change too: %s"):format(table.concat(self.shared, ", "))
  end
  if self.noise_floor then out[#out + 1] = ("the noise floor %.3g binds"):format(self.noise_floor) end
  if self.failed_starts > 0 then
    out[#out + 1] = ("%d of %s failed"):format(self.failed_starts, counted(self.restarts + 1, "start"))
  end
  if self.masked > 0 then
    out[#out + 1] = ("%s of y left out"):format(counted(self.masked, "missing value"))
  end
  local log <const> = self.solve_log
  if log.unconverged > 0 then
    out[#out + 1] = ("%d of %d solves missed the tolerance, residual up to %.2g, condition about %.2g"):format(log.unconverged,
      log.solves, log.residual, log.condition)
  end
  return out
end

--- What was fitted.
local function data_text(info)
  local slopes <const> = info.derivatives
  if slopes then return ("%s and %s"):format(counted(info.n - slopes, "value"), counted(slopes, "derivative")) end
  return info.tasks and ("%s of %s"):format(counted(info.n, "value"), counted(info.tasks, "task")) or counted(info.n, "point")
end

function Info.__tostring(self)
  local what <const> = WHAT[self.objective]
  local likelihood <const> = self.log_likelihood > -math.huge and ("%s %.4f"):format(what, self.log_likelihood)
    or "stopped before the first " .. what
  local text = ("fit of %s, %s: %s (%s), %s, %s, %s, %.2f s"):format(data_text(self), self.solver,
    self.converged and "converged" or "not converged", self.reason, likelihood,
    counted(self.iterations, "step"), counted(self.evaluations, "evaluation"), self.seconds)
  if self.log_likelihood_error then text = text .. ("; standard error of the likelihood %.2g"):format(self.log_likelihood_error) end
  if self.log_prior ~= 0 then text = text .. ("; log prior %.4f"):format(self.log_prior) end
  if self.restarts > 0 then
    local of <const> = self.interrupted and "; the best before all of %s had ended" or "; best of %s"
    text = text .. of:format(counted(self.restarts + 1, "start"))
  end
  if self.precision ~= self.dtype then text = text .. "; finished in " .. self.precision end
  if self.setbacks > 0 then text = text .. ("; %s undone"):format(counted(self.setbacks, "step")) end
  if self.why then text = text .. "\n  " .. tostring(self.why) end
  if self.approximation then text = text .. "\n  " .. tostring(self.approximation) end
  for _, line in ipairs(warnings(self)) do text = text .. "\n  " .. line end
  return text
end

--- began: the least value that p began with, nil: unknown.
local function at_bound(p, began)
  local lo <const>, hi <const> = p.value:min():item(), p.value:max():item()
  if p.min and p.max then
    local width <const> = p.max - p.min
    return lo - p.min <= SHARE * width or p.max - hi <= SHARE * width
  end
  return p.min ~= nil and near_one(lo - p.min, p.min, began) or p.max ~= nil and near_one(p.max - hi, p.max)
end

local function bounds_met(list, names, began)
  local out <const> = {}
  for i, p in ipairs(list) do
    if not p.fixed and at_bound(p, began and began[p]) then out[#out + 1] = names[i] end
  end
  return out
end

--- The record of a fit from the best start's, the totals of all, and what the fit adds; of this shift and notes may be absent, of a
-- model that scales nothing.
return function(self, best, total, more)
  local f <const> = model.fields(self)
  local list <const>, names <const> = param.collect(self)
  local prior <const> = param.log_prior(list)
  local log_prior <const> = prior and prior:item() or 0.0
  local value <const> = best.value + (more.shift or 0)
  local solved <const> = best.solve == nil or best.solve.converged
  local floor_binds <const> = more.floor and f.likelihood:variance(f.x):min():item() <= (1 + NEAR) * more.floor
  local out <const> = setmetatable({converged = best.converged and not best.interrupted and solved,
    reason = solved and best.reason or "the solver: " .. tostring(best.solve.reason),
    value = value, log_prior = log_prior, log_likelihood = -value - log_prior, objective = more.objective,
    log_likelihood_error = algorithm.standard_error(best.solve),
    gradient_norm = best.gradient_norm, active_bounds = bounds_met(list, names, more.began), shared = more.shared,
    noise_floor = floor_binds and more.floor or nil,
    iterations = best.iterations, evaluations = total.evaluations, setbacks = total.setbacks,
    precision = best.precision or f.x.dtype, dtype = f.x.dtype, restarts = more.restarts, failed_starts = total.failed_starts,
    solver = algorithm.is_iterative(f.active) and tostring(f.active) or f.active, why = f.choice, solve_log = more.log,
    history = more.history, seed = more.seed, n = #f.x, tasks = f.of_tasks,
    derivatives = f.likelihood.kind == "gradients" and f.likelihood:derivatives() or nil, masked = more.masked,
    seconds = more.seconds,
    parameters = parameter_values(self), interrupted = best.interrupted or false,
    method = best.method, bytes = core.memory.report().peak}, Info)
  out.approximation = model.posterior(self).approximation(self)
  local told <const> = notes(self, out, more.shift)
  local further <const> = more.notes or {}
  out.notes = table.move(further, 1, #further, #told + 1, told)
  return out
end

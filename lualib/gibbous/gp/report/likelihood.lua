--- m:log_marginal_likelihood, and what it reports.
local algorithm <const> = require "gibbous.gp.algorithm"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"

---@class gibbous.likelihood_info
---@field standard_error number  of the value, nats: 0 by a factor; a solver's is estimated from random probes
---@field converged boolean      whether the solve behind it did; reason, iterations, residual: of that
local LikelihoodInfo <const> = object.record("gibbous.likelihood_info", "the report of a likelihood", "reason iterations residual")

function LikelihoodInfo.__tostring(self)
  local text <const> = ("log marginal likelihood %.4f"):format(self.value)
  local error <const> = self.standard_error > 0 and (", standard error %.2g"):format(self.standard_error) or ""
  return text .. error .. (self.converged and "" or (", from a solve that did not converge (%s)"):format(self.reason))
end

--- A value of scaled targets as that of the targets themselves. scale: gp/scaling.lua, log_scale.
local function of_data(value, scale) return scale == 0 and value or value - scale end

--- By a solver: the value and its record. A solve that missed its tolerance raises unless 'kept'.
local function estimated(self, kept, scale)
  local f <const> = model.fields(self)
  local value <const> = of_data(-model.posterior(self).objective(self, f.active, "mll"), scale):eval()
  local solve <const> = f.solve_info
  if not (solve.converged or kept) then
    core.raise("not_converged", ("log_marginal_likelihood: the solver missed its tolerance (%s after %s, residual %.2g), "
      .. "and the value is off by an unknown amount; more steps (max_iter), a preconditioner or solver = \"direct\" mend that, "
      .. "unconverged = true gives it all the same"):format(solve.reason, counted(solve.iterations, "step"), solve.residual))
  end
  return value, setmetatable({value = value:item(), standard_error = algorithm.standard_error(solve) or 0.0,
    converged = solve.converged, reason = solve.reason, iterations = solve.iterations, residual = solve.residual}, LikelihoodInfo)
end

local methods <const> = {}

--- log p(y | x) of the data that the model holds, in nats (a sum, not divided by n), evaluated, and a gibbous.likelihood_info. In
-- f64 where f32 does not resolve the covariance (gp/exact/precision_twin.lua); the value has gradients. A solver estimates it,
-- and the record has the standard error. Cost: one evaluation of the objective.
-- o: unconverged = true: where the solve missed its tolerance only the record says so. Errors: not_converged otherwise; option;
-- not_pd.
---@return gibbous.tensor, gibbous.likelihood_info
function methods.log_marginal_likelihood(self, o)
  local inner <const> = model.core(self)
  local f <const>, of <const> = model.fields(inner), model.posterior(inner)
  o = options.parse(o, {unconverged = "boolean"}, "log_marginal_likelihood")
  if f.x == nil then core.raise("option", "log_marginal_likelihood: the model holds no data") end
  f.active = f.active or of.decide(inner)
  local scale <const> = scaling.log_scale(self)
  if algorithm.is_iterative(f.active) then return estimated(inner, o.unconverged, scale) end
  local worker <const> = of.worker(inner)
  local value <const> = of.guarded(worker, "log_marginal_likelihood", function()
    return of_data(-of.objective(worker, f.active, "mll"), scale):to{dtype = of.dtype or f.x.dtype}:eval()
  end)
  return value, setmetatable({value = value:item(), standard_error = 0.0, converged = true}, LikelihoodInfo)
end

return {methods = methods}

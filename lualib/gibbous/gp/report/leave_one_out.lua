--- Leave-one-out prediction in closed form: each observation predicted from all others with the parameters as they are.
-- Source: Rasmussen & Williams (2006), equations 5.10 to 5.13.
local core <const> = require "gibbous.core"
local metrics <const> = require "gibbous.gp.report.metrics"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local scaling <const> = require "gibbous.gp.scaling"

---@class gibbous.leave_one_out
---@field mean gibbous.tensor          (n) of y_i given all others; of several outputs (n, T), NaN where y is
---@field var gibbous.tensor           likewise, of y_i given all others, noise included
---@field log_density gibbous.tensor   likewise, of y_i (nats)
---@field nlpd number                  mean negative log density (nats a point)
---@field rmse number                  units of y
---@field n integer                   observations
---@field converged boolean
local Record <const> = object.record("gibbous.leave_one_out", "the report of leaving one out", "")

function Record.__tostring(self)
  return ("leave one out: rmse %.4g  nlpd %.4g  n %d%s"):format(self.rmse, self.nlpd, self.n,
    self.converged and "" or "  (from a solve that did not converge)")
end

--- The record of observations y, the diagonal of C^-1 and alpha = C^-1 (y - m(x)), of one shape; NaN in all where there is none.
local function record(y, diagonal, alpha, converged)
  local e <const>, var <const> = alpha / diagonal, diagonal ^ -1
  local log_density <const> = -metrics.neg_log_density(e, var)
  local mean <const> = y - e
  local known <const> = y:eq(y)
  local n <const> = math.tointeger(known:to{dtype = "f64"}:sum():item())
  local function average(v) return core.where(known, v, 0):sum() / n end
  local nlpd <const>, mse <const> = -average(log_density), average(e * e)
  core.eval(mean, var, log_density, nlpd, mse)
  return setmetatable({mean = mean, var = var, log_density = log_density, nlpd = nlpd:item(),
    rmse = math.sqrt(mse:item()), n = n, converged = converged}, Record)
end

local methods <const> = {}

--- Each observation of the model's data predicted from all others: mean, var, log_density (n), nlpd, rmse. Of several outputs
-- each cell is predicted from all others, those of its own point included: mean, var and log_density are (n, T), NaN where y is.
-- Cost: O(n^3), (n, n) values; by an iterative solver n solves; O(n^3 + T^3) with Kronecker structure. Errors: option, shape;
-- not_pd.
---@return gibbous.leave_one_out
function methods.leave_one_out(self)
  local f <const>, form <const>, inner <const> = model.fields(self), model.class(self).observations, model.core(self)
  if f.x == nil then core.raise("option", "leave_one_out: the model holds no data") end
  local count <const>, of <const> = form.count(f.y), model.posterior(inner)
  if count < 2 then core.raise("shape", "leave_one_out: needs 2 observations or more, got " .. count) end
  if not of.leave_one_out then
    core.raise("option", "leave_one_out: a model of this class has no closed form of it: fit and score a model for each fold of "
      .. "gb.data.kfold")
  end
  local own_diagonal <const>, own_weights <const>, converged <const> = of.leave_one_out(inner)
  local diagonal <const>, weights <const> = form.weights(self, own_diagonal), form.weights(self, own_weights)
  local scaler <const> = scaling.scaler(f, "y", "leave_one_out")
  if not scaler then return record(f.y, diagonal, weights, converged) end
  return record(scaling.held(self, "y"), diagonal / (scaler.sd * scaler.sd), weights / scaler.sd, converged)
end

return {methods = methods}

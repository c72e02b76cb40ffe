--- Leave-one-out prediction in closed form: each observation predicted from all others with the parameters as they are.
-- Source: Rasmussen & Williams (2006), equations 5.10 to 5.13.
local core <const> = require "gibbous.core"
local metrics <const> = require "gibbous.gp.metrics"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.objective"
local state_of <const> = require "gibbous.gp.state"

---@class gibbous.leave_one_out
---@field mean gibbous.tensor          (n) of y_i given all others
---@field var gibbous.tensor           (n) of y_i given all others, noise included
---@field log_density gibbous.tensor   (n) of y_i (nats)
---@field nlpd number                  mean negative log density (nats a point)
---@field rmse number                  units of y
---@field n integer
---@field converged boolean
local Record <const> = {__name = "gibbous.leave_one_out"}

function Record.__tostring(self)
  return ("leave one out: rmse %.4g  nlpd %.4g  n %d%s"):format(self.rmse, self.nlpd, self.n,
    self.converged and "" or "  (from a solve that did not converge)")
end

-- Columns of the identity solved at once by an iterative solver.
local COLUMNS <const> = 64

--- diag(C^-1) (n) by n solves, and whether all converged.
local function diagonal_by_solver(system, n, dtype)
  local parts <const>, converged = {}, true
  for from = 1, n, COLUMNS do
    local last <const> = math.min(n, from + COLUMNS - 1)
    local unit <const> = core.eye(n, {dtype = dtype}):slice(2, from, last):eval()
    local x <const>, info <const> = system:solve(unit)
    parts[#parts + 1] = (x * unit):sum(1):eval()
    converged = converged and info.converged
  end
  return core.cat(parts, 1), converged
end

--- Each observation of the model's data predicted from all others: mean, var, log_density (n), nlpd, rmse.
-- O(n^3), (n, n) values; by an iterative solver n solves.
---@return gibbous.leave_one_out
function model.methods.leave_one_out(self)
  local f <const> = model.fields(self)
  if f.x == nil then core.raise("option", "leave_one_out: the model holds no data", 2) end
  if #f.x < 2 then core.raise("shape", "leave_one_out: needs 2 observations or more, got " .. #f.x, 2) end
  local state <const> = state_of(self)
  local diagonal, alpha, converged
  if objective.is_iterative(f.active) then
    alpha = state.alpha
    diagonal, converged = diagonal_by_solver(state.system, #f.x, f.x.dtype)
    converged = converged and state.converged
  else
    diagonal, alpha, converged = objective.inverse_diagonal(objective.covariance(self)), state.alpha, true
  end
  local e <const>, var <const> = alpha / diagonal, diagonal ^ -1
  local log_density <const> = -metrics.neg_log_density(e, var)
  local mean <const> = f.y - e
  local nlpd <const>, mse <const> = -log_density:mean(), (e * e):mean()
  core.eval(mean, var, log_density, nlpd, mse)
  return setmetatable({mean = mean:detach(), var = var:detach(), log_density = log_density:detach(), nlpd = nlpd:item(),
    rmse = math.sqrt(mse:item()), n = #f.x, converged = converged}, Record)
end

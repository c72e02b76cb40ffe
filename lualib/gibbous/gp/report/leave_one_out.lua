--- Leave-one-out prediction in closed form: each observation predicted from all others with the parameters as they are.
-- Source: Rasmussen & Williams (2006), equations 5.10 to 5.13.
local core <const> = require "gibbous.core"
local kronecker <const> = require "gibbous.gp.tasks.kronecker"
local metrics <const> = require "gibbous.gp.report.metrics"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.object"
local objective <const> = require "gibbous.gp.exact.objective"
local states <const> = require "gibbous.gp.exact.posterior_cache"
local task_model <const> = require "gibbous.gp.tasks.model"
local working <const> = require "gibbous.gp.exact.precision_twin"

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

-- Columns of the identity solved at once by an iterative solver.
local COLUMNS <const> = 64

--- diag(C^-1) (n) by n solves, and whether all converged.
local function diagonal_by_solver(system, n, dtype)
  local parts <const>, converged = {}, true
  for from = 1, n, COLUMNS do
    local last <const> = math.min(n, from + COLUMNS - 1)
    local lazy <const> = core.eye(n, {dtype = dtype}):slice(2, from, last)
    local unit <const> = lazy:detach():eval()
    local x <const>, info <const> = system:solve(unit)
    local form <const> = (system:lazy(lazy) * lazy):sum(1)
    parts[#parts + 1] = core.hold(form, (x * unit):sum(1):detach())
    converged = converged and info.converged
  end
  return core.cat(parts, 1), converged
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

--- The diagonal of C^-1 and C^-1 (y - m(x)), (n), and whether solves converged; computed in f64 where predictions are.
local function of_model(self)
  local worker <const>, narrow <const> = working(self, nil), {dtype = model.fields(self).x.dtype}
  local f <const> = model.fields(worker)
  local state <const> = states.of(worker, "leave_one_out")
  local diagonal, converged = nil, true
  if objective.is_iterative(f.active) then
    diagonal, converged = diagonal_by_solver(state.system, #f.x, f.x.dtype)
  else
    diagonal = objective.inverse_diagonal(objective.covariance(worker))
  end
  return diagonal:to(narrow), state.alpha:to(narrow), converged and state.converged
end

local function check(f, count)
  if f.x == nil then core.raise("option", "leave_one_out: the model holds no data") end
  if count < 2 then core.raise("shape", "leave_one_out: needs 2 observations or more, got " .. count) end
end

--- Each observation of the model's data predicted from all others: mean, var, log_density (n), nlpd, rmse.
-- O(n^3), (n, n) values; by an iterative solver n solves.
---@return gibbous.leave_one_out
function model.methods.leave_one_out(self)
  local f <const> = model.fields(self)
  check(f, f.x and #f.x)
  return record(f.y, of_model(self))
end

--- The values v (N) of the cells of y (n, T) that have one, as (n, T); NaN elsewhere.
local function spread(v, y)
  local at <const>, next = {}, 0
  for i, here in ipairs(y:eq(y):reshape(y.numel):totable()) do
    if here then next = next + 1 end
    at[i] = here and next or #v + 1
  end
  return core.cat({v, core.full({1}, 0 / 0, {dtype = v.dtype})}, 1):index(1, core.tensor(at, {dtype = "i64"})):reshape(y.shape)
end

--- Each cell of the model's data predicted from all others, those of its own point included: mean, var, log_density (n, T), NaN
-- where y is; nlpd and rmse over all. O(n^3 + T^3) for a y without missing cells, else as gb.gp.exact's.
---@return gibbous.leave_one_out
function task_model.methods.leave_one_out(self)
  local f <const> = model.fields(self)
  check(f, f.x and task_model.known(f.y))
  if model.fields(f.inner).grid then
    local diagonal <const>, alpha <const> = kronecker.leave_one_out(f.inner)
    return record(f.y, diagonal:to{dtype = f.y.dtype}, alpha:to{dtype = f.y.dtype}, true)
  end
  local diagonal <const>, alpha <const>, converged <const> = of_model(f.inner)
  return record(f.y, spread(diagonal, f.y), spread(alpha, f.y), converged)
end

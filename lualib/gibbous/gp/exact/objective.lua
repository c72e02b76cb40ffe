--- What a fit of an exact model maximises: the log marginal likelihood, or the leave-one-out predictive density.
local algorithm <const> = require "gibbous.gp.algorithm"
local core <const> = require "gibbous.core"
local covariance <const> = require "gibbous.gp.covariance"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local model <const> = require "gibbous.gp.model"
local parameter_values <const> = require "gibbous.gp.report.values"
local raised <const> = require "gibbous.base.raised"
local solver_choice <const> = require "gibbous.gp.exact.solver_choice"
local solvers <const> = require "gibbous.solvers"
local training_step <const> = require "gibbous.gp.training_step"

local M <const> = {}
local fields <const> = model.fields

--- "direct" or a solver, for the data and parameters that the model has. budget: bytes, nil: what there is; untried: nothing is
-- computed, no trial solve either. Errors: refused.
function M.decide(self, budget, untried)
  local f <const> = fields(self)
  local function step(solver) return M.step(self, solver, "mll") end
  if f.solver ~= "auto" then
    local solver = solvers.named(f.solver, f.x.dtype)
    if algorithm.is_iterative(solver) then solver = solver_choice.within(self, solver, step, budget) end
    if budget and algorithm.is_streamed(solver) then solver_choice.check_budget(self, solver, step, budget, "fit") end
    return solver
  end
  local solver
  solver, f.choice = solver_choice.decide(self, step, budget, untried)
  return solver
end

-- Values ------------------------------------------------------------------------------------------------------------------

--- The negative log marginal likelihood in nats, lazy. Direct: O(n^3); a solver: O(n^2) a step, and its record is left in
-- fields(self).solve_info. Source: Rasmussen & Williams (2006), equation 5.8.
function M.nlml(self, solver)
  local f <const> = fields(self)
  local c <const>, r <const> = covariance.of(self), covariance.residual(self)
  if algorithm.is_iterative(solver) then
    local value <const>, info <const> = solver:objective(c, r, f.kernel(f.x), covariance.noise_of(f))
    f.solve_info = info
    return value
  end
  local n <const> = #f.x
  return (core.linalg.inv_quad(c, r) + core.linalg.logdet(c) + n * math.log(2 * math.pi)) / 2
end

--- The negative log leave-one-out predictive density in nats (a sum), lazy, O(n^3). Source: Rasmussen & Williams (2006),
-- equation 5.11. Raises option for a solver.
function M.nlloo(self, solver)
  if algorithm.is_iterative(solver) then
    core.raise("option", 'the objective "loo" needs solver = "direct"; this model uses ' .. tostring(solver))
  end
  local c <const>, r <const> = covariance.of(self), covariance.residual(self)
  local precision <const>, alpha <const> = covariance.inverse_diagonal(c), core.linalg.solve(c, r)
  return 0.5 * (alpha * alpha / precision - precision:log() + math.log(2 * math.pi)):sum()
end

--- What a fit minimises, without priors: kind "mll" or "loo".
function M.value(self, solver, kind)
  if kind == "loo" then return M.nlloo(self, solver) end
  return M.nlml(self, solver)
end

-- Steps -------------------------------------------------------------------------------------------------------------------

--- The tensors of one training step: the value, and its gradients by every free parameter.
function M.step(self, solver, kind) return training_step.of(self, M.value(self, solver, kind)) end

--- The streamed work of a step by a solver: the product with the right-hand sides, and the gradients of it.
local function streamed_step(self, solver)
  local f <const> = fields(self)
  local n <const>, r <const> = #f.x, solver_choice.columns(solver, #f.x)
  local function columns() return core.empty(n, r, {dtype = f.x.dtype}) end
  local v <const> = columns()
  local product <const> = covariance.of(self):matmul(v)
  return training_step.with_gradients(self, (product * columns()):sum(), {product})
end

--- The tensors of a step as a plan has them. A solver whose objective is a node of the graph says planned = true and is planned
-- as it runs. Other solvers compute while they are asked: their streamed work is planned.
function M.plan_of_step(self, solver, kind)
  if not algorithm.is_streamed(solver) then return M.step(self, "direct", kind) end
  if solver.planned then return M.step(self, solver, kind) end
  return streamed_step(self, solver)
end

-- Errors ------------------------------------------------------------------------------------------------------------------

--- Why the covariance of the model's data has no factor, with remedies (gp/report/diagnosis.lua).
function M.diagnose(self, err)
  local f <const> = fields(self)
  return require "gibbous.gp.report.diagnosis"(f.x, f.y, f.kernel, f.likelihood:variance(f.x), err)
end

--- What f() gives. If a matrix is not positive definite, the error has a diagnosis of the model's covariance; if a value is not
-- finite, the kernel that gave it. 'what' begins the message.
function M.guarded(self, what, f)
  local got <const> = table.pack(pcall(f))
  if got[1] then return table.unpack(got, 2, got.n) end
  local err <const>, of <const> = got[2], fields(self)
  local text <const> = raised.is(err, "nan") and kernel_checks.not_finite(of.kernel, of.x, model.row_names(of))
  if text then core.raise("nan", ("%s: %s"):format(what, text)) end
  if not raised.is(err, "not_pd") or not core.source "gibbous.gp.report.diagnosis" then error(err, 0) end
  local diagnosis <const> = M.diagnose(self, err)
  core.raise("not_pd", ("%s: %s\n%s"):format(what, err.message, tostring(diagnosis)),
    {diagnosis = diagnosis, order = err.order, parameters = parameter_values(self)})
end

return M

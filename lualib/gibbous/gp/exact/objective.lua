--- The joint covariance of the observations, and what a fit maximises: the log marginal likelihood, or the leave-one-out
-- predictive density.
local core <const> = require "gibbous.core"
local choice <const> = require "gibbous.gp.exact.solver_choice"
local kernel_checks <const> = require "gibbous.gp.kernel_checks"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"
local solvers <const> = require "gibbous.solvers"
local raised <const> = require "gibbous.raised"

local M <const> = {}
local fields <const> = model.fields

M.is_iterative = choice.is_iterative

--- k(x, x) + noise, (n, n), lazy.
function M.covariance(self)
  local f <const> = fields(self)
  local noise <const> = f.likelihood:variance(f.x)
  local n <const> = #f.x
  local eye <const> = core.eye(n, {dtype = f.x.dtype})
  if noise.ndim == 1 then return f.kernel(f.x) + core.linalg.diag(noise) end
  return f.kernel(f.x) + noise * eye
end

--- y - m(x), (n), lazy.
function M.residual(self)
  local f <const> = fields(self)
  return f.y - f.mean(f.x)
end

--- "direct" or an iterative solver, for the data and parameters the model has; budget: bytes, nil: what there is. untried: with
-- nothing computed, no trial solve either.
function M.decide(self, budget, untried)
  local f <const> = fields(self)
  local function step(solver) return M.step(self, solver, "mll") end
  if f.solver ~= "auto" then
    local solver = solvers.named(f.solver, f.x.dtype)
    if choice.is_iterative(solver) then solver = choice.within(self, solver, step, budget) end
    if budget and choice.is_streamed(solver) then choice.check_budget(self, solver, step, budget, "fit") end
    return solver
  end
  local solver
  solver, f.choice = choice.decide(self, step, budget, untried)
  return solver
end

--- The noise as preconditioners want it: a number, or where points have noises of their own a lazy tensor (n).
function M.noise_of(f)
  local noise <const> = f.likelihood:variance(f.x):detach():to{dtype = "f64"}
  return noise.ndim == 0 and noise:item() or noise
end

--- The diagonal of the inverse of a symmetric positive definite matrix, lazy.
function M.inverse_diagonal(c)
  local eye <const> = core.eye(#c, {dtype = c.dtype})
  return (core.linalg.solve(c, eye) * eye):sum(1)
end

--- Negative log marginal likelihood in nats, lazy. Data on a grid bring an algorithm of their own.
function M.nlml(self, solver)
  local f <const> = fields(self)
  if f.grid then return f.grid.nlml(self) end
  local c <const>, r <const> = M.covariance(self), M.residual(self)
  if M.is_iterative(solver) then
    local value <const>, info <const> = solver:objective(c, r, f.kernel(f.x), M.noise_of(f))
    f.solve_info = info
    return value
  end
  local n <const> = #f.x
  return (core.linalg.inv_quad(c, r) + core.linalg.logdet(c) + n * math.log(2 * math.pi)) / 2
end

--- The standard error of a log marginal likelihood that a solver estimated, from its record; nil where it was computed.
function M.standard_error(info)
  local of_logdet <const> = info and info.standard_error
  return of_logdet and of_logdet > 0 and of_logdet / 2 or nil
end

--- Negative log leave-one-out predictive density in nats (a sum), lazy. Rasmussen & Williams (2006), equation 5.11.
local function nlloo(self)
  local c <const>, r <const> = M.covariance(self), M.residual(self)
  local precision <const>, alpha <const> = M.inverse_diagonal(c), core.linalg.solve(c, r)
  return 0.5 * (alpha * alpha / precision - precision:log() + math.log(2 * math.pi)):sum()
end

--- What a fit minimises, without priors: kind "mll" or "loo".
function M.value(self, solver, kind)
  if kind ~= "loo" then return M.nlml(self, solver) end
  if M.is_iterative(solver) then
    core.raise("option", 'the objective "loo" needs solver = "direct"; this model uses ' .. tostring(solver))
  end
  return nlloo(self)
end

--- 'results' followed by the gradients of y, a tensor of one element, by every free parameter.
function M.with_gradients(self, y, results)
  local raws <const> = {}
  for _, p in ipairs((param.collect(self))) do
    if not p.fixed then raws[#raws + 1] = p.raw end
  end
  return table.move(core.grad(y, raws, {unused = "zero"}), 1, #raws, #results + 1, results)
end

--- The tensors of one training step: the value, and its gradients by every free parameter.
function M.step(self, solver, kind)
  local value <const> = M.value(self, solver, kind)
  return M.with_gradients(self, value, {value})
end

--- What f() gives. A matrix that is not positive definite then raises with a diagnosis of the model's covariance.
function M.guarded(self, what, f)
  local got <const> = table.pack(pcall(f))
  if got[1] then return table.unpack(got, 2, got.n) end
  local err <const> = got[2]
  local f <const> = model.fields(self)
  local text <const> = raised.is(err, "nan") and kernel_checks.not_finite(f.kernel, f.x, model.row_names(f))
  if text then core.raise("nan", ("%s: %s"):format(what, text)) end
  if not raised.is(err, "not_pd") or not core.source "gibbous.gp.report.diagnosis" then error(err, 0) end
  local diagnosis <const> = M.diagnose(self, err)
  core.raise("not_pd", ("%s: %s\n%s"):format(what, err.message, tostring(diagnosis)),
    {diagnosis = diagnosis, order = err.order})
end

--- Why the covariance of the model's data has no factor, with remedies.
function M.diagnose(self, err)
  local f <const> = fields(self)
  return require "gibbous.gp.report.diagnosis"(f.x, f.y, f.kernel, f.likelihood:variance(f.x), err)
end

return M

--- Which algorithm a model with solver = "auto" uses: a comparison of predicted costs, made once and kept with its numbers.
--
-- The cost of a direct step is the plan of the objective with its gradients. The cost of an iterative step is the planned
-- product with all right-hand sides, times the number of steps. That number is found by a trial: the residual is solved for as for
-- predictions, and the trial gives up where the direct step would have won, so that it takes less than one direct step does. A fit
-- usually ends with less noise than it begins with, and steps grow with its root: the trial has NOISE_SHARE of the noise that the
-- parameters have now. Times are predicted, steps counted: the choice is the same each time.
local algorithm <const> = require "gibbous.gp.algorithm"
local counted <const> = require "gibbous.base.counted"
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

local NOISE_SHARE <const> = 0.01
local FEWEST_STEPS <const> = 10
-- Direct is exact. A step of up to this many seconds is quick enough: what another would take is said, not tried.
local PATIENCE <const> = 1
-- A machine that is not known is measured, which takes two seconds and is said, where a direct step has so many multiply-adds: a
-- slow machine takes PATIENCE for them.
local WORTH_MEASURING <const> = 1e10
-- Setting a solver up takes as long as a direct step of this many seconds.
local SHORT <const> = 1e-3
-- Nor does direct give way to what is predicted to be less than this many times faster: so well are times predicted.
local MARGIN <const> = 2
-- Beside the solve: the product for the gradients and its transposes.
local GRADIENT_PRODUCTS <const> = 4
-- Of a preconditioner whose rank is chosen later.
local USUAL_RANK <const> = 100
-- Columns of n f64 values that a solve holds for each right-hand side, at most.
local VECTORS <const> = 10

local function bytes_text(b)
  local unit = 1
  local units <const> = {"B", "KiB", "MiB", "GiB", "TiB"}
  while b >= 1024 and unit < #units do b, unit = b / 1024, unit + 1 end
  return ("%.3g %s"):format(b, units[unit])
end

--- What f(...) gives; where memory does not hold it, {minimum, refused = true, reason}. The minimum is nil where it is not known.
local function unless_refused(f, ...)
  local ok <const>, out <const> = pcall(f, ...)
  if ok then return out end
  if not raised.is(out, "refused", "oom") then error(out, 0) end
  return {minimum = rawget(out, "minimum"), refused = true, reason = rawget(out, "message")}
end

--- {seconds, bytes, minimum} of evaluating what make() builds; seconds nil where they are not known. What the budget does not
-- hold, or what is refused while it is built, as unless_refused has it.
local function cost_of(make, budget)
  return unless_refused(function()
    local plan <const> = core.plan(make(), {budget = budget})
    local out <const> = {seconds = plan.seconds, bytes = plan.peak, minimum = plan.minimum}
    plan:close()
    return out
  end)
end

--- Right-hand sides of a solver's objective: the residual and the probes.
function M.columns(solver, n)
  return 1 + (solver.planned and solver:probe_count(n) or solver.o and solver.o.probes or 16)
end

local function rank_of(solver, n)
  local p <const> = solver.o and solver.o.precond
  local rank <const> = p and p.choices and p:rank_at(n) or 0
  return rank == "auto" and math.min(USUAL_RANK, n) or rank
end

--- Bytes that a solve for so many columns holds beside its product: vectors, and the rows of a preconditioner.
function M.working_bytes(n, columns, solver) return 8 * n * (VECTORS * columns + 2 * rank_of(solver, n)) end

--- The same of one evaluation of the objective.
function M.solver_bytes(n, solver) return M.working_bytes(n, M.columns(solver, n), solver) end

--- {seconds, bytes} of the product with a solver's columns; bytes with all that the solver holds: those of its step within the
-- budget where that is planned (step(solver) gives its tensors), else an estimate. Refused: as unless_refused has it.
local function product(f, solver, step, budget)
  local n <const> = #f.x
  local columns <const> = core.empty(n, M.columns(solver, n), {dtype = f.x.dtype})
  local out <const> = cost_of(function() return {f.kernel(f.x):matmul(columns)} end)
  if solver.planned then
    local whole <const> = cost_of(function() return step(solver) end, budget)
    if whole.refused then return whole end
    out.bytes = whole.bytes
  elseif out.bytes then
    out.bytes = out.bytes + M.solver_bytes(n, solver)
  end
  return out
end

--- A solver like this one whose preconditioner, where its rank was left open, has one that the budget of a step holds: its usual
-- part of the budget, else 1, so that what a refusal says is the least there is.
function M.within(self, solver, step, budget)
  local p <const> = budget and solver.o and solver.o.precond
  if not (p and p.choices and p.rank == nil) then return solver end
  local usual <const> = algorithm.with_options(solver, {precond = p:within(budget)})
  local need <const> = product(model.fields(self), usual, step, budget).bytes
  return need and need <= budget and usual or algorithm.with_options(solver, {precond = p:within(0)})
end

--- f: the fields of the model. Where its data have derivatives, the rows are told, which are more than its points.
local function refuse(f, what, need, have)
  local slopes <const> = f.likelihood.kind == "gradients" and f.likelihood:derivatives()
  local rows <const> = slopes and (" for %s and %s"):format(counted(#f.x - slopes, "value"), counted(slopes, "derivative")) or ""
  core.raise("refused", ("%s: needs %s%s, the budget is %s"):format(what, bytes_text(need), rows, bytes_text(have)),
    {need = need, have = have, minimum = need})
end

--- Raises refused where a step by this solver does not fit the budget.
function M.check_budget(self, solver, step, budget, what)
  local cost <const> = product(model.fields(self), solver, step, budget)
  local need <const> = cost.bytes or cost.minimum
  if need and need > budget then refuse(model.fields(self), what, need, budget) end
end

--- Steps of a solve for the residual at NOISE_SHARE of the noise; nil if that takes more than 'most'.
local function trial_steps(f, solver, most)
  local n <const>, wide <const> = #f.x, {dtype = f.x.dtype}
  local noise <const> = math.max(NOISE_SHARE * f.likelihood:variance(f.x):mean():item(), 1e-300)
  local k <const> = f.kernel(f.x):detach()
  local trial <const> = algorithm.with_options(solver, {max_iter = most, tol = solver.o.train_tol})
  local _, info <const> = trial:prepare(k + core.eye(n, wide) * noise, k, noise):solve((f.y - f.mean(f.x)):detach(), nil, true)
  return info.iterations < most and info.iterations or nil
end

--- Predicted seconds of applying the preconditioner to all columns once: two products with an (n, rank) factor.
local function precond_seconds(f, solver)
  local rank <const> = rank_of(solver, #f.x)
  if rank == 0 then return 0 end
  local factor <const> = core.empty(#f.x, rank, {dtype = f.x.dtype})
  local columns <const> = core.empty(#f.x, M.columns(solver, #f.x), {dtype = f.x.dtype})
  local cost <const> = cost_of(function() return {factor:t():matmul(columns)} end)
  return 2 * (cost.seconds or 0)
end

local function iterative_cost(f, solver, step, direct, budget, untried)
  if direct.seconds and direct.seconds <= SHORT then
    return {seconds = SHORT, bytes = M.solver_bytes(#f.x, solver), at_least = true}
  end
  local out <const> = product(f, solver, step, budget)
  if out.seconds == nil then return out end
  if direct.refused then
    out.seconds, out.at_least = FEWEST_STEPS * out.seconds, true
    return out
  end
  local one <const> = out.seconds + precond_seconds(f, solver)
  local slow <const> = not untried and direct.seconds and direct.seconds > PATIENCE
  -- With as many steps or more direct wins.
  local enough <const> = slow and math.ceil(direct.seconds / (MARGIN * one)) - GRADIENT_PRODUCTS or FEWEST_STEPS
  local most <const> = math.min(enough, solver.o.max_iter)
  local tried <const> = most > FEWEST_STEPS
  local trial <const> = tried and unless_refused(function() return {steps = trial_steps(f, solver, most)} end) or {}
  if trial.refused then return trial end
  local steps <const> = trial.steps
  out.at_least = steps == nil or nil
  out.steps = steps or tried and enough or FEWEST_STEPS
  out.seconds = one * (out.steps + GRADIENT_PRODUCTS)
  return out
end

-- The record ------------------------------------------------------------------------------------------------------------------

---@class gibbous.choice
---@field solver string      the algorithm, as text
---@field reason string
---@field direct table       {seconds, bytes, minimum} of a step, predicted; refused: does not fit, 'reason' says what it lacks
---@field iterative table    {seconds, bytes, steps} of a step, predicted; at_least: enough to decide, not looked into further;
-- refused, with minimum and reason: as of direct
---@field budget integer     bytes
local Choice <const> = object.record("gibbous.choice", "the choice of a solver", "")

local function cost_text(name, c)
  if c.refused then return c.minimum and ("%s needs %s"):format(name, bytes_text(c.minimum)) or name .. " does not fit" end
  local seconds <const> = c.seconds and ("%s%.2g s and "):format(c.at_least and "at least " or "about ", c.seconds) or ""
  return ("%s %s%s a step"):format(name, seconds, bytes_text(c.bytes))
end

function Choice.__tostring(self)
  return ("auto: %s, %s (%s; %s; budget %s)"):format(self.solver, self.reason, cost_text("direct", self.direct),
    cost_text("iterative", self.iterative), bytes_text(self.budget))
end

--- "direct" or a solver for the model's data at its parameters, and a gibbous.choice that says why. step(s) gives the
-- tensors of a step by an algorithm s. Direct where the times are near or unknown.
function M.decide(self, step, budget, untried)
  local f <const> = model.fields(self)
  if (#f.x + 0.0) ^ 3 >= WORTH_MEASURING then core.know_rates() end
  local solver <const> = M.within(self, require "gibbous.solvers".for_models(f.x.dtype), step, budget)
  budget = budget or core.memory.room()
  local direct <const> = cost_of(function() return step "direct" end, budget)
  local iterative <const> = iterative_cost(f, solver, step, direct, budget, untried)
  local quick <const> = direct.seconds and direct.seconds <= PATIENCE
  local reason, chosen = quick and "exact and quick enough" or "exact and no slower", "direct"
  local least <const> = iterative.bytes or iterative.minimum
  if direct.refused and (iterative.refused or least and least > budget) then
    refuse(f, "fit", math.min(direct.minimum or math.huge, least or math.huge), budget)
  elseif direct.refused then
    chosen, reason = solver, "direct does not fit the budget"
  elseif direct.seconds and iterative.steps and not iterative.at_least and iterative.bytes <= budget then
    chosen, reason = solver, "the faster one"
  elseif not (direct.seconds and iterative.seconds) then
    reason = "exact, and it fits"
  end
  return chosen, setmetatable({solver = tostring(chosen), reason = reason, direct = direct, iterative = iterative,
    budget = budget}, Choice)
end

return M

--- m:plan: what a training step will take, before anything is computed.
local core <const> = require "gibbous.core"
local choice <const> = require "gibbous.gp.exact.solver_choice"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"
local task_model <const> = require "gibbous.gp.tasks.model"

local plan_spec <const> = {budget = "any", objective = {"mll", "loo"}, missing = data.missing}

--- The streamed work of a step by a solver: the product with the right-hand sides, and the gradients of it.
local function streamed_step(self, solver)
  local f <const> = model.fields(self)
  local n <const>, r <const> = #f.x, choice.columns(solver, #f.x)
  local function columns() return core.empty(n, r, {dtype = f.x.dtype}) end
  local v <const> = columns()
  local product <const> = objective.covariance(self):matmul(v)
  return objective.with_gradients(self, (product * columns()):sum(), {product})
end

--- The tensors of one training step. A solver whose objective is a node of the graph says planned = true and is planned as it
-- runs; of the others, which compute while they are asked, the streamed work is.
local function step_of(self, solver, kind)
  if not choice.is_streamed(solver) then return objective.step(self, "direct", kind) end
  if solver.planned then return objective.step(self, solver, kind) end
  return streamed_step(self, solver)
end

--- The options of a plan, and its data: x, y, or nothing where o stands first.
local function asked(f, x, y, o)
  if o == nil and y == nil and (x == nil or core.as_tensor(x) == nil) then o, x = x, nil end
  o = options.parse(o, plan_spec, "plan")
  if x == nil and f.x == nil then core.raise("option", "plan: the model holds no data; call plan(x, y)") end
  return o, x
end

--- The plan of a step of a model that nobody else holds.
local function plan_of(self, o)
  param.part(self)                                      -- as a step begins: with new values of the parameters
  if #model.fields(self).x == 0 then core.raise("shape", "plan: there are no rows to fit") end
  local budget <const> = o.budget and core.bytes(o.budget, "plan: the budget") or nil
  local solver <const> = objective.decide(self, budget, true)
  return core.plan(step_of(self, solver, o.objective), {budget = budget})
end

--- The plan of one training step, the objective with its gradients, as a gb.plan value; the model stays as it is.
-- m:plan(x, y, o) for these data, m:plan(o) for those the model holds. o: budget, objective, missing as in fit. Raises refused,
-- with need and minimum, where the step does not fit.
---@return gibbous.plan
function model.methods.plan(self, x, y, o)
  local f <const> = model.fields(self)
  o, x = asked(f, x, y, o)
  local other <const> = model.new(model.copy_parts(f))
  if x == nil then
    model.set_data(other, f.x, f.y)
  else
    local xs <const>, ys <const>, keep <const> = data.check(x, y, "plan", o.missing)
    if keep then model.fields(other).likelihood = f.likelihood:of_rows(keep, #core.as_tensor(y), "plan") end
    model.set_data(other, xs, ys)
  end
  return plan_of(other, o)
end

--- The same of a model of several outputs, y (n, T).
---@return gibbous.plan
function task_model.methods.plan(self, x, y, o)
  local f <const> = model.fields(self)
  o, x = asked(f, x, y, o)
  local other <const> = task_model.new(model.copy_parts(model.fields(f.inner)), f.tasks, f.solver)
  local xs, ys = f.x, f.y
  if x ~= nil then xs, ys = task_model.check(self, x, y, "plan", o.missing) end
  task_model.take(other, xs, ys, "plan")
  task_model.fill(other, "plan")
  return plan_of(model.fields(other).inner, o)
end

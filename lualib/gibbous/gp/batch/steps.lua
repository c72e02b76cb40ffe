--- The objective of models of one make as a function of numbers: one plan, kept while they have as many rows and columns, that
-- every point of every model runs with its own data and parameters in the leaves.
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"
local raised <const> = require "gibbous.base.raised"

local M <const> = {}

local WIDE <const> = {dtype = "f64"}

--- The free parameters below a model, in order, and how many numbers they are.
function M.free(self)
  local out <const>, count = {}, 0
  for _, p in ipairs((param.collect(self))) do
    if not p.fixed then out[#out + 1], count = p, count + p.numel end
  end
  return out, count
end

--- The unconstrained values of the free parameters as one tensor.
function M.theta(self)
  local out <const> = {}
  for _, p in ipairs((M.free(self))) do
    for _, v in ipairs(p.raw:reshape(-1):totable()) do out[#out + 1] = v end
  end
  return core.tensor(out, WIDE)
end

--- Sets them.
function M.set(self, list)
  local at = 0
  for _, p in ipairs((M.free(self))) do
    p.raw = core.tensor(table.move(list, at + 1, at + p.numel, 1, {}), WIDE):reshape(p.raw.shape)
    at = at + p.numel
  end
end

--- The lower bound of the noise, which differs from model to model; nil where the noise has no floor.
function M.floor(self)
  local noise <const> = model.fields(self).likelihood.noise
  local min <const> = not noise.fixed and noise.min or 0
  return min > 0 and min or nil
end

--- A copy of the model whose data and free parameters are leaves without values: {model, theta, x, y, floor}. What a script's own
-- function looks at while it is asked raises, so it cannot become part of the plan.
function M.trace(self)
  local f <const> = model.fields(self)
  local on <const> = {dtype = f.x.dtype, device = f.x.device}
  local out <const> = {model = model.copy(self), x = core.empty(#f.x, f.x.shape[2], on), y = core.empty(#f.x, on),
    floor = M.floor(self) and core.empty(1, WIDE) or nil}
  local g <const> = model.fields(out.model)
  g.x, g.y, g.planned = out.x, out.y, true
  local list <const>, count <const> = M.free(out.model)
  out.theta = core.empty(count, WIDE)
  local at = 0
  for _, p in ipairs(list) do
    local raw <const> = out.theta:slice(1, at + 1, at + p.numel):reshape(p.raw.shape)
    at = at + p.numel
    param.defer(p, raw, out.floor and rawequal(p, g.likelihood.noise) and out.floor:reshape{} or nil)
  end
  return out
end

--- Does v depend on this leaf? A derivative that does not exist is one by a leaf that v reads.
local function reads(v, leaf)
  local ok <const>, err <const> = pcall(core.grad, v, {leaf})
  return ok or not (raised.is(err, "option") and err.message:find("does not depend on", 1, true))
end

--- Plans v, of the leaves of a trace: a function of a table of tensors by the leaves' names that runs it. Leaves that v does not
-- read are left out.
function M.planned(trace, v, names, budget)
  local plan <const>, of <const>, sum <const> = core.plan(v, {budget = budget}), {}, v:sum()
  for _, name in ipairs(names) do
    if trace[name] and reads(sum, trace[name]) then of[name] = trace[name] end
  end
  return function(values)
    local leaves <const> = {}
    for name, leaf in pairs(of) do leaves[leaf] = values[name] end
    return plan:run(leaves)
  end
end

local LEAVES <const> = {"theta", "x", "y", "floor"}

--- A floor as a plan takes it.
function M.floor_of(v) return v and core.tensor({v}, WIDE) or nil end

--- The value (1) and its derivatives by the free parameters, of a copy of the model, planned.
local function step_of(self, kind, budget)
  local trace <const> = M.trace(self)
  local value = model.posterior(trace.model).objective(trace.model, "direct", kind)
  local prior <const> = param.log_prior((M.free(trace.model)))
  if prior then value = value - prior end
  local slopes <const> = core.grad(value, {trace.theta})[1]
  return M.planned(trace, core.cat({value:reshape(1), slopes}, 1), LEAVES, budget)
end

--- 'steps' of a run of a fit (gp/fit/descent.lua) for models of one make. One plan is held at a time, so models come in groups of
-- as many rows.
function M.new(budget)
  local key, run
  return function(self, kind)
    local f <const>, floor <const> = model.fields(self), M.floor(self)
    local own <const> = ("%d %d %s %s"):format(#f.x, f.x.shape[2], kind or "mll", floor ~= nil)
    if own ~= key then run, key = step_of(self, kind, budget), own end
    local values <const>, step <const> = {x = f.x, y = f.y, floor = M.floor_of(floor)}, run
    return function(raws)
      values.theta = core.tensor(raws, WIDE)
      local out <const> = step(values):totable()
      return table.remove(out, 1), out
    end
  end
end

return M

--- m:plan: what a training step will take, before anything is computed.
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local frames <const> = require "gibbous.gp.frames"
local model <const> = require "gibbous.gp.model"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local raised <const> = require "gibbous.base.raised"
local scaling <const> = require "gibbous.gp.scaling"

local SPEC <const> = {budget = "any", method = {"lbfgs", "adam", "sgd"}, objective = {"mll", "loo"}, missing = data.missing,
  inputs = "table"}

--- The plan of a step of a model that computes and that nobody else holds, and its algorithm.
local function plan_of(self, o)
  param.part(self)                                      -- as a step begins: with new values of the parameters
  if #model.fields(self).x == 0 then core.raise("shape", "plan: there are no rows to fit") end
  local budget <const> = o.budget and core.bytes(o.budget, "plan: the budget") or nil
  local of <const> = model.posterior(self)
  local how <const> = of.decide(self, budget, true, o.method)
  return core.plan(of.step(self, how, o.objective), {budget = budget}), how
end

--- t; where it has no values (gb.empty), v in each place: a plan has the same bytes for all.
local function standing(t, v)
  local it <const> = core.as_tensor(t)
  if it == nil or it.numel == 0 or core.known(it) then return t end
  local ok <const>, err <const> = pcall(function() it:reshape(-1):slice(1, 1, 1):eval() end)
  if ok or not raised.is(err, "option") then return t end
  return core.full({table.unpack(it.shape)}, v, {dtype = it.dtype, device = it.device})
end

--- A model like this one with the data, to be planned, and checked options.
local function prepared(self, x, y, o)
  local f <const>, form <const> = model.fields(self), model.class(self).observations
  if o == nil and y == nil and (x == nil or core.as_tensor(x) == nil and not frames.is(x)) then o, x = x, nil end
  o = options.parse(o, SPEC, "plan")
  if x == nil and f.x == nil then core.raise("option", "plan: the model holds no data; call plan(x, y)") end
  x, y = frames.data(self, x, y, o.inputs, "plan")
  x, y = standing(x, 0.0), standing(y, 1.0)               -- 1: an observation of most likelihoods
  local other <const> = model.bare(self)
  model.fields(model.core(other)).planned = true
  if x == nil then
    data.check_session("plan", f.x.device)
    form.fill(other, f.x, f.y, "plan")
  else
    local xs <const>, ys <const>, kept <const> = form.check(self, x, y, "plan", o.missing)
    local own_x <const>, own_y <const> = scaling.take(other, xs, ys, "plan")
    form.fill(other, own_x, own_y, "plan", kept, kept and #core.as_tensor(y))
  end
  return model.core(other), o
end

-- Predictions after a fit are given this part of the memory limit at most.
local PART <const> = 4

--- Bytes of a fit to these data and of predictions after it that take no longer than they must.
local function bytes(self, x, y, o)
  local it <const>, checked <const> = prepared(self, x, y, o)
  local plan <const>, how <const> = plan_of(it, checked)
  return math.max(plan.peak, math.min(model.posterior(it).room(it, how), core.memory.report().limit // PART))
end

local methods <const> = {}

--- The plan of one training step, the objective with its gradients, as a gb.plan value; the model stays as it is.
-- m:plan(x, y, o) for these data, whose values may be absent (gb.empty), m:plan(o) for those the model holds. o: budget, method,
-- objective, missing as in fit. Computes nothing.
-- Errors: refused, with need and minimum, where the step does not fit; option, shape, dtype, nan.
---@return gibbous.plan
function methods.plan(self, x, y, o) return (plan_of(prepared(self, x, y, o))) end

return {methods = methods, bytes = bytes}

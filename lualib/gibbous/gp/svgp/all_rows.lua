--- Fits of variational models by L-BFGS, method = "lbfgs": every evaluation is of all rows, streamed within the budget, and the
-- descent is that of all other models (gp/fit).
--
-- A full q does not take part in the descent: it is the best there is at every point, so that what falls is a function of the
-- parameters and places alone, and its slopes are those at a q that is held, as the ELBO has none by the best q. With Gaussian noise
-- that q has a closed form and the ELBO is the collapsed bound (gp/sgpr/bound.lua); with other likelihoods natural steps find it
-- (gp/svgp/whole.lua), from the q of the last point that the descent has accepted. The values of another q are parameters of the
-- descent like the rest.
-- Source: Titsias (2009); Salimbeni, Eleftheriadis & Hensman (2018).
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.counted"
local elbo <const> = require "gibbous.gp.svgp.elbo"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local model_fit <const> = require "gibbous.gp.fit"
local param <const> = require "gibbous.param"
local training_step <const> = require "gibbous.gp.training_step"
local whole <const> = require "gibbous.gp.svgp.whole"

--- name: of the algorithm, as the field 'active' of the model has it while it is fitted so.
local M <const> = {name = "svgp on all rows"}
local fields <const> = model.fields

-- The field 'search' of a model with a full q: {state, raws}: the q from which searches begin, and the unconstrained values of all
-- other parameters that q is the best for.

--- The unconstrained values of all parameters of a model but q's.
local function parameters(f)
  local list <const>, raws <const> = param.collect{f.kernel, f.mean, f.likelihood, f.inducing}, {}
  for i, p in ipairs(list) do raws[i] = p.raw end
  return raws
end

local function equal(a, b)
  for i, t in ipairs(a) do
    if not t:eq(b[i]):all() then return false end
  end
  return true
end

local function is_full(f) return f.q.kind == "full" end

--- Is the best q known in closed form?
local function is_closed(f) return likelihoods.is_gaussian(f.likelihood) end

--- Sets q to the best for the present parameters by natural steps.
local function search(self)
  local f <const> = fields(self)
  whole.restore(f.q, f.search.state)
  whole.search(self)
end

--- -ELBO of all rows, with slopes by what the descent moves: at the best q, which the model then has, if q is full.
function M.objective(self)
  local f <const> = fields(self)
  if not is_full(f) then return whole.negative(self) end
  f.search = f.search or {state = whole.state(f.q)}
  local value
  if is_closed(f) then
    local p <const>, sums = bound.data(self, "vfe"), nil
    value, sums = bound.objective(p, f.budget)
    whole.put(self, p, sums)
  else
    search(self)
    local x <const>, y <const>, noise <const> = whole.rows(self)
    value = elbo.step(self, x, y, 1, 1, noise)
  end
  f.search.raws = parameters(f)
  return value
end

--- Sets q to the best for the parameters as they are, unless it is that. ended: the fit has; where it goes on, searches begin where
-- they would have begun.
function M.settle(self, ended)
  local f <const>, s <const> = fields(self), fields(self).search
  if f.active ~= M.name or not s then return end
  if s.raws == nil then return whole.restore(f.q, s.state) end          -- interrupted before the first value
  local now <const> = parameters(f)
  if not equal(now, s.raws) then
    if is_closed(f) then whole.polish(self) else search(self) end
    s.raws = now
  end
  if not ended then s.state = whole.state(f.q) end
end

-- Plans -------------------------------------------------------------------------------------------------------------------------

-- Natural steps that a search usually takes.
local USUAL <const> = 4

--- What stands for such a search in plans: a step at a time, beside the q before it and that of the last point; q stays.
local function searched(self, bytes)
  local f <const> = fields(self)
  local function cost()
    local plan <close> = core.plan(whole.natural(self, 1), {budget = f.budget})
    return {what = ("natural steps on %s"):format(counted(#f.x, "row")), bytes = plan.peak + 2 * bytes,
      minimum = plan.minimum + 2 * bytes, kept = bytes, seconds = plan.seconds and USUAL * plan.seconds}
  end
  return core.promise({}, "f64", function() return core.zeros({}, {dtype = "f64"}) end, cost)
end

--- The tensors of an evaluation as plans see it.
function M.planned(self)
  local f <const> = fields(self)
  if not is_full(f) then return training_step.of(self, whole.negative(self)) end
  local bytes <const> = 8 * (f.q.latents or 1) * f.q.count * (f.q.count + 1)
  local value, first
  if is_closed(f) then
    value, first = bound.planned(bound.data(self, "vfe"), f.budget, bytes)
  else
    local x <const>, y <const>, noise <const> = whole.rows(self)
    value, first = elbo.step(self, x, y, 1, 1, noise), searched(self, bytes)
  end
  local out <const> = training_step.of(self, value)
  out[#out + 1] = first
  return out
end

-- Fits --------------------------------------------------------------------------------------------------------------------------

--- A fit with checked options of gp/fit.
function M.fit(self, x, y, o)
  local f <const> = fields(self)
  if not o.resume then f.search = nil end
  local ok <const>, info <const> = pcall(model_fit.methods.fit, self, x, y, o)
  if f.active then f.active = "svgp" end
  if not ok then error(info, 0) end
  if info.converged then f.search = nil end
  return info
end

return M

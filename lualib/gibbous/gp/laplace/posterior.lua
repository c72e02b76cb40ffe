--- The posterior by Laplace's approximation (gp/posterior.lua): f is taken as Gaussian around its most likely values, with the
-- covariance (K^-1 + W)^-1, by a factor of B or by a solver that multiplies by the kernel and never stores it.
-- Source: Rasmussen & Williams (2006), algorithm 3.2.
local algorithm <const> = require "gibbous.gp.algorithm"
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local evidence <const> = require "gibbous.gp.laplace.evidence"
local mode <const> = require "gibbous.gp.laplace.mode"
local model <const> = require "gibbous.gp.model"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local raised <const> = require "gibbous.base.raised"
local several <const> = require "gibbous.gp.laplace.several"
local solvers <const> = require "gibbous.solvers"
local training_step <const> = require "gibbous.gp.training_step"
local update_record <const> = require "gibbous.gp.update_record"
local variance <const> = require "gibbous.gp.exact.variance"

local M <const> = {dtype = "f64", components = true}

local WIDE <const> = {dtype = "f64"}

--- Has the likelihood several latent functions (gp/laplace/several.lua)?
local function is_several(self) return model.fields(self).likelihood:latents() > 1 end

--- What predictions need of one latent function: the mode, and alpha = g(f), W^1/2 and the factor of B, held with their history, or
-- the prepared B.
local function of_one(self)
  local f <const> = model.fields(self)
  local at <const> = mode.find(self, f.active)
  local parts <const>, state = evidence.of(self, at), {at = at}
  state.alpha = core.hold(parts.alpha, at.a)                   -- a is g, but for what a solver left, which K makes small in f
  state.sw = core.hold(parts.sw, at.sw)
  if at.factor then
    state.factor = core.hold(core.linalg.cholesky(parts.b), at.factor)
  else
    state.system = f.active:prepare(parts.b, parts.scaled, 1.0)
  end
  return state
end

--- The state for the present parameters, and whether it was there already.
local function state_of(self)
  return posterior_cache.of(self, function()
    local f <const>, start <const> = model.fields(self), core.clock()
    f.active = f.active or M.decide(self)
    local state <const> = is_several(self) and several.prepared(self) or of_one(self)
    update_record.note(f, {kind = "mode", rows = #f.x, onto = 0, reason = update_record.missing(f), solve = state.at.solve,
      seconds = core.clock() - start})
    return state
  end)
end

local function some(query, from, to)
  return (from == 1 and to == query.count) and query.inputs or query.inputs:slice(1, from, to)
end

function M.prepare(self, query)
  local f <const> = model.fields(self)
  local state <const>, reused <const> = state_of(self)
  if is_several(self) then
    local ready <const> = several.ready(self, state, query)
    ready.reused = reused
    return ready
  end
  local kernel <const>, x <const> = component.kernel(query, f.kernel), state.at.x
  local function cross(from, to) return kernel(some(query, from, to), x) * state.sw:unsqueeze(1) end
  local function prior(from, to) return kernel:diag(some(query, from, to)) + core.zeros(to - from + 1, WIDE) end
  local how <const> = state.system and variance.solver(state.system, prior, 1.0) or variance.direct(state.factor)
  return {state = state, how = how, cross = cross, reused = reused, solve = state.at.solve, count = #x,
    converged = state.at.converged, algorithm = state.system and tostring(f.active) or "direct", computes = how.solves,
    report = how.report, bound = how.bound and function(q) return how.bound(cross, q.count) end or nil}
end

function M.mean(self, ready, query)
  if is_several(self) then return several.mean(self, ready, query) end
  local f <const> = model.fields(self)
  local cross <const> = component.kernel(query, f.kernel)(query.inputs, ready.state.at.x)
  return component.mean(query, f.mean, query.inputs) + cross:matmul(ready.state.alpha)
end

function M.explained(self, ready, query)
  if is_several(self) then return several.explained(self, ready) end
  return ready.how.explained(ready.cross, query.count)
end

function M.joint(self, ready, query)
  if is_several(self) then
    core.raise("option", "predictions of several latent functions have no f_cov and no joint samples: mean, f_var, probabilities")
  end
  return ready.how.joint(ready.cross, query.count)
end

function M.objective(self, algorithm_of, kind)
  if kind == "loo" then core.raise("option", 'fit: the objective "loo" is for Gaussian noise; "mll" is the only one here') end
  if is_several(self) then return several.negative(self, several.find(self)) end
  local at <const> = mode.find(self, algorithm_of)
  return evidence.negative(self, algorithm_of, at, evidence.of(self, at))
end

-- Optional -------------------------------------------------------------------------------------------------------------------

--- "direct" where a step of it fits memory, or the budget; else conjugate gradients.
function M.decide(self, budget)
  local f <const> = model.fields(self)
  if f.solver ~= "auto" then
    local solver <const> = solvers.named(f.solver, "f64")
    if algorithm.is_iterative(solver) and is_several(self) then
      core.raise("option", ("gb.gp.laplace: '%s' of several latent functions is not streamed: it needs solver = \"direct\"; "
        .. "gb.gp.svgp streams its rows"):format(f.likelihood.kind))
    end
    if algorithm.is_iterative(solver) and f.likelihood:is_curved() then
      core.raise("option", ("gb.gp.laplace: the log density of '%s' is not concave, and its derivatives need solver = \"direct\"")
        :format(f.likelihood.kind))
    end
    return solver
  end
  if f.likelihood:is_curved() or is_several(self) then return "direct" end
  local ok <const>, plan <const> = pcall(core.plan, M.step(self, "direct", "mll"), {budget = budget or core.memory.room()})
  if ok then
    plan:close()
    return "direct"
  end
  if not raised.is(plan, "refused", "oom") then error(plan, 0) end
  return solvers.for_models "f64"
end

function M.check_options(o)
  if o.variance == "cached" then core.raise("option", 'predict: variance = "cached" is for exact models') end
end

-- Steps of Newton's method that a search usually takes.
local USUAL <const> = 10

--- What stands for a search by a factor in plans: computed before a step, a Newton step's tensors at a time, beside K and what the
-- step then finds there. factors: how many of order n it holds; one_step() -> tensors, of one of its steps.
local function search(n, factors, one_step)
  local square <const> = 8 * n * n
  local function cost()
    local plan <close> = core.plan(one_step())
    return {what = ("the search for the mode of %s"):format(counted(n, "point")), bytes = plan.peak + square,
      minimum = plan.minimum + square, kept = factors * square, seconds = plan.seconds and USUAL * plan.seconds}
  end
  return core.promise({}, "f64", function() return core.zeros({}, WIDE) end, cost)
end

--- A step as plans see it: the objective with its gradients at the mode, and the search for that by a factor.
function M.step(self, algorithm_of)
  local n <const> = #model.fields(self).x
  if is_several(self) then
    local out <const> = training_step.of(self, several.negative(self, several.planned(self)))
    out[#out + 1] = search(n, model.fields(self).likelihood:latents() + 1, function() return several.planned_step(self) end)
    return out
  end
  local at <const> = mode.planned(self, algorithm_of)
  local out <const> = training_step.of(self, evidence.negative(self, algorithm_of, at, evidence.of(self, at)))
  if at.factor then
    out[#out + 1] = search(n, at.root and 2 or 1, function() return mode.planned_step(self) end)
  end
  return out
end

--- The weights of k(., x) of functions drawn by Matheron's rule, K^-1 (f - m - prior) for f of the posterior: (n, count), and the
-- record of the solve. The mode is that of Gaussian observations z with the noise 1 / W, where W^1/2 (z - m) = W^1/2 (f - m) + g /
-- W^1/2, so that nothing is divided by W.
function M.weights(self, prior, white, seed)
  if is_several(self) then core.raise("option", "draw: functions cannot be drawn from a model of several latent functions") end
  local state <const> = state_of(self)
  local at <const> = state.at
  local n <const>, count <const> = #at.x, prior.shape[2]
  local function normals(stream) return core.randn(n, count, {dtype = "f64", seed = seed * 7919 + stream}) end
  local values = prior
  if white then values = values + white:sqrt() * normals(7901) end
  local sw <const> = state.sw:unsqueeze(2)
  local b <const> = sw * values + normals(7907)
  local x, info
  if state.system then
    x, info = state.system:solve(b:detach():eval())
    x = state.system:hold(b, x)
  else
    x = core.solve_chol(state.factor, b)
  end
  return state.alpha:unsqueeze(2) - sw * x, info
end

return require "gibbous.gp.posterior".check(M)

--- The posterior (gp/posterior.lua) of a sparse model: the values at the places, whitened by the factor of their prior, are
-- normal with mean a and covariance B^-1 (gp/sgpr/bound.lua, gp/whitened.lua).
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local state <const> = require "gibbous.gp.sgpr.state"
local stored <const> = require "gibbous.gp.stored"
local training_step <const> = require "gibbous.gp.training_step"
local within <const> = require "gibbous.gp.within"
local whitened <const> = require "gibbous.gp.whitened"
local triangular_solve <const> = core.linalg.triangular_solve

local M <const> = whitened.posterior("gb.gp.sgpr", state.of)
local squares <const> = whitened.squares

function M.objective(self, _, kind)
  if kind == "loo" then
    core.raise("option", 'fit: gb.gp.sgpr maximises its bound; the objective "loo" is for gb.gp.exact')
  end
  return (bound.objective(bound.data(self), model.fields(self).budget))
end

-- Optional ------------------------------------------------------------------------------------------------------------------------

--- The kind of bound; passes over the rows keep to the budget.
function M.decide(self, budget)
  local f <const> = model.fields(self)
  f.budget = budget
  return f.solver
end

function M.objective_name(self) return model.fields(self).solver end

function M.approximation(self) return bound.between(self, model.fields(self).budget) end

M.guarded = state.guarded

function M.step(self, _, kind)
  if kind == "loo" then return {M.objective(self, nil, kind)} end
  local value <const>, first <const> = bound.planned(bound.data(self), model.fields(self).budget)
  local out <const> = training_step.of(self, value)
  out[#out + 1] = first
  return out
end

--- Each row given all others, by taking its term out of B and b: with h = s u'B^-1 u and g = u'a, s one over its spread S, the
-- residual is left (r - g) / (1 - h) and f has variance (k - u'u) + h / (s (1 - h)). Diagonal and weights are those of a covariance
-- with these predictions.
function M.leave_one_out(self)
  local now <const>, p <const> = state.of(self), bound.data(self)
  local u <const> = p.U
  local s <const> = 1 / bound.spread(p)
  local V <const>, rest <const> = squares(triangular_solve(now.R, u)), core.maximum(p.k - squares(u), 0.0)
  local h <const>, g <const> = V * s, p.K:t():matmul(now.weights)
  local diagonal <const> = 1 / (p.noise + rest + V / (1 - h))
  local weights <const> = (p.r - g) / (1 - h) * diagonal
  within(model.fields(self).budget)(diagonal, weights)
  local narrow <const> = {dtype = model.fields(self).x.dtype}
  return diagonal:to(narrow), weights:to(narrow), true
end

function M.write_state(w, self, caches, described)
  local now <const> = posterior_cache.present(self)
  if not now or not (caches or now.carried) then return end
  described.state = {gram = w:value(now.gram:detach(), "gram"), proj = w:value(now.proj:detach(), "proj"), carried = now.carried}
end

function M.read_state(r, self, described)
  local saved <const> = described.state
  if saved == nil then return end
  local m <const> = model.fields(self).inducing.count
  local gram <const>, proj <const> = stored.tensor(r, saved, "gram", "f64", m, m), stored.tensor(r, saved, "proj", "f64", m)
  if not (gram and proj) then r:fail "its caches are not complete" end
  state.put(self, {gram = gram, proj = proj}, saved.carried == true)
end

return require "gibbous.gp.posterior".check(M)

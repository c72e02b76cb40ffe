--- The posterior (gp/posterior.lua) of a sparse model: the values at the places, whitened by the factor of their prior, are
-- normal with mean a and covariance B^-1 (gp/sgpr/bound.lua). All values are in f64, whatever the data's type is: bounds are
-- differences of large numbers.
-- With u = L^-1 k(z, t):  mean m(t) + u'a,  explained u'u - u'B^-1 u.
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local state <const> = require "gibbous.gp.sgpr.state"
local stored <const> = require "gibbous.gp.stored"
local training_step <const> = require "gibbous.gp.training_step"
local within <const> = require "gibbous.gp.within"
local triangular_solve <const> = core.linalg.triangular_solve

local M <const> = {dtype = "f64"}

-- The five functions --------------------------------------------------------------------------------------------------------------

function M.prepare(self, query)
  local f <const> = model.fields(self)
  local now <const>, reused <const> = state.of(self)
  local kernel <const> = f.kernel
  local function u() return triangular_solve(now.L, kernel(now.z, query.inputs)) end
  return {state = now, u = u, reused = reused, algorithm = f.solver, count = #now.z}
end

function M.mean(self, ready, query)
  local f <const> = model.fields(self)
  return f.mean(query.inputs) + f.kernel(query.inputs, ready.state.z):matmul(ready.state.weights)
end

local function squares(u) return (u * u):sum(1) end

function M.explained(_, ready)
  local u <const> = ready.u()
  return squares(u) - squares(triangular_solve(ready.state.R, u))
end

function M.joint(_, ready)
  local u <const> = ready.u()
  local v <const> = triangular_solve(ready.state.R, u)
  return u:t():matmul(u) - v:t():matmul(v)
end

function M.objective(self, _, kind)
  if kind == "loo" then
    core.raise("option", 'fit: gb.gp.sgpr maximises its bound; the objective "loo" is for gb.gp.exact')
  end
  return bound.objective(self)
end

-- Optional ------------------------------------------------------------------------------------------------------------------------

--- The kind of bound; passes over the rows keep to the budget.
function M.decide(self, budget)
  local f <const> = model.fields(self)
  f.budget = budget
  return f.solver
end

function M.objective_name(self) return model.fields(self).solver end

function M.approximation(self) return bound.between(self) end

function M.check_options(o)
  if o.variance == "cached" or o.rank then
    core.raise("option", 'predict: variances of gb.gp.sgpr cost O(m^2) a point already; variance = "cached" is for gb.gp.exact')
  end
  if o.precision == "f32" then
    core.raise("option", 'predict: gb.gp.sgpr computes in f64; precision = "f32" is for gb.gp.exact')
  end
end

M.guarded = state.guarded

function M.step(self, _, kind)
  if kind == "loo" then return {M.objective(self, nil, kind)} end
  local value <const>, first <const> = bound.planned(self)
  local out <const> = training_step.of(self, value)
  out[#out + 1] = first
  return out
end

--- Functions of the posterior, given those of the prior at the places: v' = L^-1 (prior + e), e the jitter's noise, is moved to a
-- draw v of the posterior by weights L^-T (v - v').
-- Source: Wilson, Borovitskiy, Terenin, Mostowsky & Deisenroth (2020), equation 13.
function M.correct(self, prior, count, seed)
  local now <const>, f <const> = state.of(self), model.fields(self)
  local m <const> = #now.z
  local function normals(stream) return core.randn(m, count, {dtype = "f64", seed = seed * 7919 + stream}) end
  local e <const> = (f.kernel:diag(now.z) * bound.JITTER):sqrt():unsqueeze(2) * normals(7907)
  local before <const> = triangular_solve(now.L, prior(now.z) + e)
  local after <const> = now.a:unsqueeze(2) + triangular_solve(now.R, normals(7909), {transposed = true})
  return now.z, triangular_solve(now.L, after - before, {transposed = true}):detach():eval()
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

--- The posterior (gp/posterior.lua) of a variational model, from q and the places alone, in f64. With u = L^-1 k(z, t):
--   mean m(t) + u'a,  explained u'u - u'S u,
-- a and S the mean and covariance of whitened values.
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local fit <const> = require "gibbous.gp.svgp.fit"
local model <const> = require "gibbous.gp.model"
local posterior_cache <const> = require "gibbous.gp.posterior_cache"
local state <const> = require "gibbous.gp.sgpr.state"
local update_record <const> = require "gibbous.gp.update_record"
local variational <const> = require "gibbous.gp.svgp.variational"
local triangular_solve <const> = core.linalg.triangular_solve

local M <const> = {dtype = "f64", guarded = state.guarded}

--- L, what q says of whitened values, and the weights L^-T a, held: values with the history of what they are the values of.
local function state_of(self)
  return posterior_cache.of(self, function()
    local f <const>, start <const> = model.fields(self), core.clock()
    return M.guarded(self, "predict", function()
      local at <const> = bound.places(self, f.inducing.points.value)
      local q <const> = variational.at(f.q, at)
      local weights <const> = triangular_solve(at.L, q.a, {transposed = true})
      core.eval{at.L, weights, q.a, q.R}
      update_record.note(f, {kind = "factor", rows = #at.z, onto = 0, seconds = core.clock() - start,
        reason = update_record.missing(f)})
      return {z = at.z, L = at.L, q = q, weights = weights}
    end)
  end)
end

function M.prepare(self, query)
  local f <const> = model.fields(self)
  local now <const>, reused <const> = state_of(self)
  local kernel <const> = f.kernel
  local function u() return triangular_solve(now.L, kernel(now.z, query.inputs)) end
  return {state = now, u = u, reused = reused, algorithm = "svgp", count = #now.z}
end

function M.mean(self, ready, query)
  local f <const> = model.fields(self)
  return f.mean(query.inputs) + f.kernel(query.inputs, ready.state.z):matmul(ready.state.weights)
end

local function squares(u) return (u * u):sum(1) end

function M.explained(_, ready)
  local u <const> = ready.u()
  return squares(u) - squares(ready.state.q.half(u))
end

function M.joint(_, ready)
  local u <const> = ready.u()
  local v <const> = ready.state.q.half(u)
  return u:t():matmul(u) - v:t():matmul(v)
end

--- -ELBO of all rows at the present q.
function M.objective(self, _, kind)
  if kind == "loo" then core.raise("option", 'fit: gb.gp.svgp maximises the ELBO; the objective "loo" is for gb.gp.exact') end
  return (fit.whole(self))
end

-- Optional ------------------------------------------------------------------------------------------------------------------------

function M.decide(self, budget)
  model.fields(self).budget = budget
  return "svgp"
end

function M.objective_name() return "elbo" end

function M.check_options(o)
  if o.variance == "cached" or o.rank then
    core.raise("option", 'predict: variances of gb.gp.svgp cost O(m^2) a point already; variance = "cached" is for gb.gp.exact')
  end
  if o.precision == "f32" then
    core.raise("option", 'predict: gb.gp.svgp computes in f64; precision = "f32" is for gb.gp.exact')
  end
end

--- One step on a batch of the model's size.
function M.step(self, _, kind)
  if kind == "loo" then return {M.objective(self, nil, kind)} end
  local f <const> = model.fields(self)
  local b <const>, n <const> = math.min(f.batch, #f.x), #f.x
  local x <const>, y <const> = core.empty(b, f.x.shape[2], {dtype = "f64"}), core.empty(b, {dtype = "f64"})
  local noise <const> = f.likelihood.kind == "fixed" and core.empty(b, {dtype = "f64"}) or nil
  local list <const> = fit.free(self)
  local t <const> = fit.tensors(self, list, x, y, noise, n / b, 0.5)
  local out <const> = {t.value}
  table.move(t.slopes, 1, #t.slopes, 2, out)
  if t.precision then table.move({t.precision, t.shift}, 1, 2, #out + 1, out) end
  return out
end

--- Functions of the posterior, given those of the prior at the places (gp/sgpr/posterior.lua), by a factor of S.
function M.correct(self, prior, count, seed)
  local now <const>, f <const> = state_of(self), model.fields(self)
  local m <const> = #now.z
  local function normals(stream, rows) return core.randn(rows, count, {dtype = "f64", seed = seed * 7919 + stream}) end
  local e <const> = (f.kernel:diag(now.z) * bound.JITTER):sqrt():unsqueeze(2) * normals(7907, m)
  local before <const> = triangular_solve(now.L, prior(now.z) + e)
  local root <const> = now.q.half(core.eye(m)):t()
  local after <const> = now.q.a:unsqueeze(2) + root:matmul(normals(7909, root.shape[2]))
  return now.z, triangular_solve(now.L, after - before, {transposed = true}):detach():eval()
end

return require "gibbous.gp.posterior".check(M)

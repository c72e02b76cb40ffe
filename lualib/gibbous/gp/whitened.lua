--- What the posteriors (gp/posterior.lua) of models with inducing points share. The values at the places z, whitened by the factor
-- L of their prior, are normal with mean a and covariance S; with u = L^-1 k(z, t),
--   mean m(t) + u'a,  explained u'u - u'S u.
-- Of a part of the kernel's sum u has that part's k(z, t), since f at t is normal given the values at z for each term.
-- All values are in f64, whatever the data's type is: bounds are differences of large numbers.
--
-- A state, which predictions share, is
--   z, L             the places (m, d) and the factor of K_zz
--   a, weights       (m), of C latent functions (C, m) and (m, C); weights = L^-T a
--   half(U)          with U'S U = half'half, for U (m, c); of C latent functions (C, .., c)
--   deviates(normals)   draws of N(0, S), (m, count), from standard normals: normals(rows) gives (rows, count)
--   latents          C; nil: 1
local bound <const> = require "gibbous.gp.sgpr.bound"
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local triangular_solve <const> = core.linalg.triangular_solve

local M <const> = {}

--- Sums of squares of the columns of U (m, c), (c); leading axes stay.
function M.squares(U) return (U * U):sum(-2) end

local squares <const> = M.squares

local function mean(self, ready, query)
  local f <const> = model.fields(self)
  local cross <const> = component.kernel(query, f.kernel)(query.inputs, ready.state.z)
  local m <const> = component.mean(query, f.mean, query.inputs)
  return (ready.state.latents and m:unsqueeze(-1) or m) + cross:matmul(ready.state.weights)
end

local function explained(_, ready)
  local u <const>, now <const> = ready.u(), ready.state
  if not now.latents then return squares(u) - squares(now.half(u)) end
  return (squares(u):unsqueeze(1) - squares(now.half(u))):t()
end

local function joint(_, ready)
  if ready.state.latents then
    core.raise("option", "predictions of several latent functions have no f_cov and no joint samples: mean, f_var, probabilities")
  end
  local u <const> = ready.u()
  local v <const> = ready.state.half(u)
  return u:t():matmul(u) - v:t():matmul(v)
end

--- A table with the functions of a posterior that a state decides. maker: of the models, in messages; state_of(self) -> state,
-- reused.
function M.posterior(maker, state_of)
  local of <const> = {dtype = "f64", components = true, mean = mean, explained = explained, joint = joint}

  function of.prepare(self, query)
    local f <const> = model.fields(self)
    local now <const>, reused <const> = state_of(self)
    local kernel <const> = component.kernel(query, f.kernel)
    local function u() return triangular_solve(now.L, kernel(now.z, query.inputs)) end
    return {state = now, u = u, reused = reused, algorithm = f.solver, count = #now.z}
  end

  function of.check_options(o)
    if o.variance == "cached" or o.rank then
      core.raise("option", ('predict: variances of %s cost O(m^2) a point already; variance = "cached" is for gb.gp.exact'):format(
        maker))
    end
    if o.precision == "f32" then
      core.raise("option", ('predict: %s computes in f64; precision = "f32" is for gb.gp.exact'):format(maker))
    end
  end

  --- Functions of the posterior, given those of the prior at the places: v' = L^-1 (prior + e), e the jitter's noise, is moved to a
  -- draw v of the posterior by weights L^-T (v - v').
  -- Source: Wilson, Borovitskiy, Terenin, Mostowsky & Deisenroth (2020), equation 13.
  function of.correct(self, prior, count, seed)
    local now <const>, f <const> = state_of(self), model.fields(self)
    if now.latents then core.raise("option", "draw: functions cannot be drawn from a model of several latent functions") end
    local function normals(stream)
      return function(rows) return core.randn(rows, count, {dtype = "f64", seed = seed * 7919 + stream}) end
    end
    local e <const> = (f.kernel:diag(now.z) * bound.JITTER):sqrt():unsqueeze(2) * normals(7907)(#now.z)
    local before <const> = triangular_solve(now.L, prior(now.z) + e)
    local after <const> = now.a:unsqueeze(2) + now.deviates(normals(7909))
    return now.z, triangular_solve(now.L, after - before, {transposed = true}):detach():eval()
  end

  return of
end

return M

--- Predictions of parts of the kernel by models that approximate: inducing points, Laplace's approximation. References are dense
-- formulas: f_j at t given the values that the model is about, u ~ N(a, S) at z, has
--   mean k_j(t, z) C^-1 a,  covariance k_j(t, t') - k_j(t, z) C^-1 (C - S) C^-1 k_j(z, t'),  C = k(z, z).
local bound <const> = require "gibbous.gp.sgpr.bound"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const>, m <const> = 30, 6
local x <const> = (6 * gb.rand(n, 1, {seed = 1})):eval()
local y <const> = ((3 * x):sin():sum(2) + 0.5 * x:sum(2) + 0.1 * gb.randn(n, {seed = 2})):eval()
local z <const> = gb.linspace(0, 6, m):unsqueeze(2):eval()
local xs <const> = gb.linspace(-1, 7, 9):unsqueeze(2):eval()
local zeros <const> = gb.where(y:gt(1.5), 1.0, 0.0):eval()
local three <const> = gb.where(y:gt(2), 3.0, gb.where(y:gt(1), 2.0, 1.0)):eval()

local function kernel()
  return K.rbf{lengthscale = 3, variance = 2}:named "trend" + K.matern32{lengthscale = 0.8, variance = 0.7}:named "rest"
end

--- Mean and covariance of the part k, from C, a and S.
local function dense(k, at, C, a, S)
  local c <const> = k(xs, at)
  local W <const> = gb.linalg.solve(C, c:t())
  return W:t():matmul(a), k(xs) - c:matmul(W) + W:t():matmul(S):matmul(W)
end

local function check(model, of, tol)
  for _, name in ipairs{"trend", "rest"} do
    local p <const> = model:predict(xs, {kernel = name})
    local mean <const>, cov <const> = of(model.kernel[name])
    near(mean, p.mean, tol, name)
    near(cov, p.f_cov, tol, name)
    near(cov:diagonal(), p.f_var, tol, name)
    raises("option", "y_var: an observation is of the whole", function() return p.y_var end)
    raises("option", "log_density: an observation is of the whole", p.log_density, p, gb.ones(9))
  end
  near(model:predict(xs).mean, model:predict(xs, {kernel = "trend"}).mean + model:predict(xs, {kernel = "rest"}).mean
    + model.mean(xs), tol)
  near(model:predict(xs).f_cov, model:predict(xs, {kernel = {"trend", "rest"}}).f_cov, tol)
end

local function jittered(k) return k(z) + gb.linalg.diag(k:diag(z) * bound.JITTER) end

describe("a prediction of a part of the kernel", function()
  it("of gb.gp.sgpr is that of the dense formulas", function()
    for _, kind in ipairs{"vfe", "fitc"} do
      local s <const> = gb.gp.sgpr{kernel = kernel(), inducing = z, noise = 0.05, bound = kind,
        mean = gb.means.constant(0.4)}:condition(x, y)
      local k <const> = s.kernel
      local C <const>, c <const> = jittered(k), k(z, x)
      local left <const> = k:diag(x) - (c * gb.linalg.solve(C, c)):sum(1)
      local D <const> = 0.05 + (kind == "fitc" and left or 0 * left)
      local S <const> = C:matmul(gb.linalg.solve(C + (c / D:unsqueeze(1)):matmul(c:t()), C))
      local a <const> = S:matmul(gb.linalg.solve(C, (c / D:unsqueeze(1)):matmul(y - 0.4)))
      check(s, function(part) return dense(part, z, C, a, S) end, 1e-6)
    end
  end)

  it("of gb.gp.svgp is that of the dense formulas, for every q", function()
    for _, q in ipairs{"full", "diagonal", "low_rank"} do
      for _, whiten in ipairs{true, false} do
        local s <const> = gb.gp.svgp{kernel = kernel(), inducing = z, learn = false, q = q, whiten = whiten,
          mean = gb.means.constant(0.4), likelihood = gb.likelihoods.bernoulli{}}
        s:fit(x, zeros, {steps = 5})
        if q ~= "full" then s:set{["q.scale"] = gb.linspace(0.2, 0.4, m)} end
        local C <const> = jittered(s.kernel)
        local S, a
        if q == "full" then
          S = gb.linalg.solve(s.q.precision.value, gb.eye(m))
          a = S:matmul(s.q.shift.value)
        else
          S, a = gb.linalg.diag(s.q.scale.value ^ 2), s.q.mean.value
          if q == "low_rank" then S = S + s.q.weights.value:matmul(s.q.weights.value:t()) end
        end
        local L <const> = whiten and gb.linalg.cholesky(C) or gb.eye(m)
        S, a = L:matmul(S):matmul(L:t()), L:matmul(a)
        check(s, function(part) return dense(part, z, C, a, S) end, 1e-6)
        raises("option", "probabilities: an observation is of the whole", function()
          return s:predict(xs, {kernel = "trend"}).probabilities
        end)
        raises("option", "y_mean: an observation is of the whole", function()
          return s:predict(xs, {kernel = "trend"}).y_mean
        end)
      end
    end
  end)

  it("of gb.gp.laplace is that of the dense formulas, by a factor and by a solver", function()
    for _, solver in ipairs{"direct", gb.solvers.cg{tol = 1e-12}} do
      local l <const> = gb.gp.laplace{kernel = kernel(), mean = gb.means.constant(0.4), likelihood = gb.likelihoods.bernoulli{},
        solver = solver}:condition(x, zeros)
      local C <const> = l.kernel(x)
      local f <const> = l:predict((x + 0):eval()).mean:detach():requires_grad()
      local slope <const>, w <const> = l.likelihood:slopes(f, zeros)
      local S <const> = gb.linalg.solve(gb.eye(n) + C * w:unsqueeze(1), C)
      check(l, function(part) return dense(part, x, C, C:matmul(slope), S) end, 1e-6)
    end
  end)

  it("of several latent functions sums to the whole, with the variance of the dense formulas", function()
    local soft <const> = gb.likelihoods.softmax{classes = 3}
    local l <const> = gb.gp.laplace{kernel = kernel(), likelihood = soft}:condition(x, three)
    local v <const> = gb.gp.svgp{kernel = kernel(), inducing = z, learn = false, likelihood = soft}
    v:fit(x, three, {steps = 20})
    for _, one in ipairs{l, v} do
      local trend <const>, rest <const> = one:predict(xs, {kernel = "trend"}), one:predict(xs, {kernel = "rest"})
      assert.same({9, 3}, {trend.mean.shape[1], trend.mean.shape[2]})
      near(one:predict(xs).mean, trend.mean + rest.mean, 1e-9)
      near(one:predict(xs).f_var, one:predict(xs, {kernel = {"trend", "rest"}}).f_var, 1e-9)
    end
    local C <const> = jittered(v.kernel)
    local L <const> = gb.linalg.cholesky(C)
    for c = 1, 3 do
      local S <const> = gb.linalg.solve(v.q.precision.value:select(1, c), gb.eye(m))
      local a <const> = S:matmul(v.q.shift.value:select(1, c))
      local mean <const>, cov <const> = dense(v.kernel.trend, z, C, L:matmul(a), L:matmul(S):matmul(L:t()))
      near(mean, v:predict(xs, {kernel = "trend"}).mean:select(2, c), 1e-6)
      near(cov:diagonal(), v:predict(xs, {kernel = "trend"}).f_var:select(2, c), 1e-6)
    end
  end)
end)

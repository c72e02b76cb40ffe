--- Models of several outputs by several kernels, each with coregionalisation of its own.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const>, T <const> = 14, 3
local x <const> = (5 * gb.rand(n, 1, {seed = 1})):eval()
local slow <const>, fast <const> = x:select(2, 1):sin(), (4 * x:select(2, 1)):cos()
local y <const> = (gb.stack({slow + fast, slow - 0.5 * fast, 0.3 * slow}, 2) + 0.05 * gb.randn(n, T, {seed = 2})):eval()
local t <const> = gb.linspace(0, 5, 7):unsqueeze(2):eval()

local function model(o)
  o = o or {}
  return gb.gp.multitask{kernel = {K.rbf{lengthscale = 2}:named "slow", K.matern32{lengthscale = 0.5, variance = 2}}, tasks = T,
    rank = o.rank or 1, noise = 0.1, seed = o.seed, solver = o.solver, standardize = o.standardize}
end

--- The Kronecker product of K (a, b) and B (T, T), point by point.
local function kron(k, B)
  local a <const>, b <const> = k.shape[1], k.shape[2]
  return (k:reshape(a, 1, b, 1) * B:reshape(1, T, 1, T)):reshape(a * T, b * T)
end

describe("gb.gp.multitask of a list of kernels", function()
  it("has the covariance sum_q k_q(x, z) B_q", function()
    local m <const> = model{rank = 2}:condition(x, y)
    local B1 <const>, B2 <const> = m.kernel.slow.tasks:matrix(), m.kernel[2].tasks:matrix()
    local k1 <const>, k2 <const> = K.rbf{lengthscale = 2}, K.matern32{lengthscale = 0.5}
    local C <const> = kron(k1(x), B1) + kron(k2(x), B2) + 0.1 * gb.eye(n * T)
    local r <const> = y:reshape(n * T)
    local cross <const> = kron(k1(t, x), B1) + kron(k2(t, x), B2)
    local p <const> = m:predict(t)
    near(cross:matmul(gb.linalg.solve(C, r)):reshape(7, T), p.mean, 1e-11)
    near(kron(k1(t), B1) + kron(k2(t), B2) - cross:matmul(gb.linalg.solve(C, cross:t())), p.f_cov, 1e-10)
    local value <const> = -0.5 * ((r * gb.linalg.solve(C, r)):sum() + 2 * gb.linalg.cholesky(C):diagonal():log():sum()
      + n * T * math.log(2 * math.pi))
    near(value, m:log_marginal_likelihood(), 1e-10)
    near(kron(k1(t, x), B1):matmul(gb.linalg.solve(C, r)):reshape(7, T), m:predict(t, {kernel = "slow"}).mean, 1e-11)
  end)

  it("has no variance beside those of B, and starts W by the seed", function()
    local _, names <const> = gb.params(model())
    assert.same({"kernel.slow[1].lengthscale", "kernel.slow.tasks.diagonal", "kernel.slow.tasks.weights",
      "kernel[2][1].lengthscale", "kernel[2].tasks.diagonal", "kernel[2].tasks.weights", "likelihood.noise"}, names)
    local function weights(seed, q) return model{seed = seed}.kernel[q].tasks.weights end
    near(gb.full({3, 1}, math.sqrt(0.5)), weights(0, 1), 1e-14)
    near(weights(4, 2), weights(4, 2), 0)
    assert.is_true((weights(4, 2) - weights(5, 2)):abs():max():item() > 0.1)
    near(gb.full({3}, 1), model().kernel[2].tasks.diagonal:reshape(-1), 1e-13)
  end)

  it("fits better than one kernel, is saved, copied, grows, leaves cells out, is scaled", function()
    local m <const> = model()
    local info <const> = m:fit(x, y, {steps = 60, restarts = 0})
    local one <const> = gb.gp.multitask{kernel = K.rbf{lengthscale = 2}, tasks = T, noise = 0.1}:fit(x, y, {steps = 60,
      restarts = 0})
    assert.is_true(info.log_likelihood > one.log_likelihood + 5)
    local path <const> = os.tmpname()
    m:save(path)
    local back <const> = gb.load(path)
    os.remove(path)
    near(m:predict(t).mean, back:predict(t).mean, 0)
    near(m:predict(t).f_var, m:copy():predict(t).f_var, 1e-12)
    local less <const> = m:remove(1)
    near(m:predict(t).mean, less:condition(x:slice(1, 1, 1), y:slice(1, 1, 1)):predict(t).mean, 1e-8)
    local missing <const> = gb.where(y:gt(1), 0 / 0, y):eval()
    assert.is_true(m:fit(x, missing, {steps = 2, missing = "mask"}).masked > 0)
    assert.is_true(model{standardize = true}:fit(x, 100 * y, {steps = 2, restarts = 0}).log_likelihood < 0)
  end)

  it("refuses what it cannot be", function()
    raises("option", 'solver = "kronecker" is for one kernel', model, {solver = "kronecker"})
    raises("option", "option 'kernel' must be a kernel or a list of kernels, got an empty list", gb.gp.multitask,
      {kernel = {}, tasks = 2})
    raises("option", "got a list whose entry 2 is a number", gb.gp.multitask, {kernel = {K.rbf{}, 3}, tasks = 2})
    local single <const> = gb.gp.multitask{kernel = {K.rbf{}}, tasks = T, noise = 0.1}:condition(x, y)
    near(gb.gp.multitask{kernel = K.rbf{}, tasks = T, noise = 0.1}:condition(x, y):predict(t).mean, single:predict(t).mean, 0)
  end)
end)

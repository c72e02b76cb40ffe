--- Predictions of parts of the kernel: f = f_1 + f_2 + ..., each given all data.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const> = 40
local x <const> = (6 * gb.rand(n, 1, {seed = 1})):eval()
local y <const> = ((3 * x):sin():sum(2) + 0.5 * x:sum(2) + 2 + 0.1 * gb.randn(n, {seed = 2})):eval()
local xs <const> = gb.linspace(-1, 7, 15):unsqueeze(2):eval()

local function kernel()
  return K.rbf{lengthscale = 3, variance = 2}:named "trend" + K.periodic{lengthscale = 0.8, period = 2.1}:named "season"
    + K.matern32{lengthscale = 0.4, variance = 0.3} * K.linear{variance = 0.5}
end

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or kernel(), noise = 0.05, mean = gb.means.linear{slope = 0.3, offset = 1},
    solver = o.solver or "direct", standardize = o.standardize}:condition(x, y)
end

--- k_j C^-1 r and k_j(t, t) - k_j C^-1 k_j' by dense algebra.
local function dense(m, k)
  local C <const> = m.kernel(x) + 0.05 * gb.eye(n)
  local c <const> = k(xs, x)
  local mean <const> = c:matmul(gb.linalg.solve(C, y - m.mean(x)))
  return mean, k(xs) - c:matmul(gb.linalg.solve(C, c:t()))
end

describe("a prediction of a part of the kernel", function()
  it("has the mean and covariance of that part of the sum, given all data", function()
    local m <const> = model()
    for _, one in ipairs{{"trend", m.kernel.trend}, {"season", m.kernel.season}, {"kernel[3]", m.kernel[3]},
      {m.kernel.trend, m.kernel.trend}} do
      local p <const> = m:predict(xs, {kernel = one[1]})
      local mean <const>, cov <const> = dense(m, one[2])
      near(mean, p.mean, 1e-11)
      near(cov:diagonal(), p.f_var, 1e-11)
      near(cov, p.f_cov, 1e-11)
      local lo <const>, hi <const> = p:interval(0.95)
      near(hi - lo, 2 * 1.959963984540054 * p.f_var:sqrt(), 1e-10)
    end
  end)

  it("sums to the whole mean with the other parts and the mean function", function()
    for _, how in ipairs{{}, {standardize = true}, {solver = gb.solvers.cg{tol = 1e-13}}} do
      local m <const> = model(how)
      local sum = m:predict(xs, {kernel = "trend"}).mean + m:predict(xs, {kernel = "season"}).mean
        + m:predict(xs, {kernel = "kernel[3]"}).mean
      local all <const> = m:predict(xs, {kernel = {"trend", m.kernel.season, "kernel[3]"}}).mean
      near(sum, all, 1e-11)
      near(sum, m:predict(xs, {kernel = m.kernel}).mean, 1e-11)
      if how.standardize then
        local shift <const> = gb.gp.exact{kernel = 1e-300 * K.rbf{}, noise = 0.05, mean = gb.means.linear{slope = 0.3, offset = 1},
          standardize = true}:condition(x, y):predict(xs).mean
        near(m:predict(xs).mean, sum + shift, 1e-11)
      else
        near(m:predict(xs).mean, sum + m.mean(xs), 1e-11)
      end
    end
  end)

  it("has the whole's variance where every part is asked for, and the prior's without data", function()
    local m <const> = model()
    near(m:predict(xs).f_cov, m:predict(xs, {kernel = {"trend", "season", "kernel[3]"}}).f_cov, 1e-11)
    local prior <const> = gb.gp.exact{kernel = kernel(), noise = 0.05}
    near(gb.full({15}, 2), prior:predict(xs, {kernel = "trend"}).f_var, 1e-13)
    near(gb.zeros(15), prior:predict(xs, {kernel = "trend"}).mean, 0)
  end)

  it("goes into nested and warped sums, whose variances it keeps", function()
    local inner <const> = (2 * (K.rbf{lengthscale = 2}:named "a" + K.matern12{}:named "b")):warp(function(t) return t / 2 end)
    local m <const> = gb.gp.exact{kernel = inner + K.rbf{lengthscale = 0.3}, noise = 0.05}:condition(x, y)
    local C <const> = m.kernel(x) + 0.05 * gb.eye(n)
    local a <const> = 2 * K.rbf{lengthscale = 4}
    near(a(xs, x):matmul(gb.linalg.solve(C, y)), m:predict(xs, {kernel = "a"}).mean, 1e-11)
  end)

  it("is of a term times the other factors, where a factor of a product is the sum", function()
    local k <const> = (K.rbf{lengthscale = 2}:named "a" + K.matern12{}:named "b") * K.linear{}
    local m <const> = gb.gp.exact{kernel = k, noise = 0.05}:condition(x, y)
    near(m:predict(xs).mean, m:predict(xs, {kernel = "a"}).mean + m:predict(xs, {kernel = "b"}).mean, 1e-11)
    near((K.rbf{lengthscale = 2} * K.linear{}):diag(xs), gb.gp.exact{kernel = k}:predict(xs, {kernel = "a"}).f_var, 1e-12)
  end)

  it("is of every output of a model of several, with and without Kronecker structure", function()
    local Y <const> = gb.stack({y, y:sin()}, 2):eval()
    local both <const> = {}
    for i, solver in ipairs{"kronecker", "direct"} do
      local m <const> = gb.gp.multitask{kernel = K.rbf{lengthscale = 3}:named "trend" + K.matern32{lengthscale = 0.4}:named "rest",
        tasks = 2, noise = 0.05, solver = solver, mean = gb.means.constant{1, 0.5}}:condition(x, Y)
      local trend <const>, rest <const> = m:predict(xs, {kernel = "trend"}), m:predict(xs, {kernel = "rest"})
      near(m:predict(xs).mean, trend.mean + rest.mean + gb.tensor{{1, 0.5}}, 1e-11)
      both[i] = trend
      raises("option", "'tasks' is a factor of a product", m.predict, m, xs, {kernel = "tasks"})
      raises("option", "y_var: an observation is of the whole", function() return trend.y_var end)
    end
    near(both[1].f_cov, both[2].f_cov, 1e-10)
    near(both[1].f_var, both[2].f_var, 1e-10)
  end)

  it("bounds cached variances, samples by the covariance, has gradients by parameters", function()
    local m <const> = model()
    local exact <const>, cached <const> = m:predict(xs, {kernel = "trend"}), m:predict(xs, {kernel = "trend", variance = "cached",
      rank = 10})
    assert.is_true((cached.f_var - exact.f_var):min():item() >= -1e-9)
    assert.is_true((cached.f_var - exact.f_var - cached.f_var_bound):max():item() <= 1e-9)
    assert.equal("3x15", tostring(exact:sample(3, {seed = 1}).shape))
    local p <const> = m:get "kernel.season.period"
    local function f() return m:predict(xs, {kernel = "trend"}).mean:sum() end
    near(support.differences(f, {p}, 1e-4)[1], {gb.grad(f(), p.raw):item()}, 1e-5)
  end)

  it("is drawn alone: its mean and band, without data", function()
    local m <const> = model()
    local text <const> = gb.plot.posterior(m, {kernel = "trend"}):text(60, 12)
    assert.is_nil(text:match "of y")
    assert.is_not_nil(text:match "of f")
    assert.is_nil(text:match "data")
  end)
end)

describe("a prediction of what is no part of the sum", function()
  local m <const> = model()
  local function refused(text, wanted, o)
    o = o or {}
    o.kernel = wanted
    raises("option", text, m.predict, m, xs, o)
  end

  it("is refused with the reason", function()
    refused("predict: kernel: matern32{lengthscale=0.4} is a factor of a product: it scales the other factors", "kernel[3][1]")
    refused("the kernel has no part 'trned' (did you mean 'trend'?)", "trned")
    refused('named parts: "season", "trend"', "xyzzy")
    refused("is no part of this model's, which are copies", K.rbf{})
    refused("is given twice", {"trend", "kernel[1]"})
    refused("the list of parts of the kernel is empty", {})
    refused("the whole kernel is given beside parts", {"trend", "kernel"})
    refused("a part of the kernel is a name, a path or a kernel, got number 3", 3)
    refused("the kernel has no part 'kernel[9]'", "kernel[9]")
  end)

  it("and of new observations, which are of the whole", function()
    local p <const> = m:predict(xs, {kernel = "trend"})
    raises("option", "y_var: an observation is of the whole of f: f_var is of its part", function() return p.y_var end)
    raises("option", "sample: an observation is of the whole", p.sample, p, 2, {of = "y"})
    raises("option", "y_var: an observation", p.interval, p, 0.9, {of = "y"})
    raises("option", 'a part of f has no method = "pathwise"', p.sample, p, 2, {method = "pathwise"})
    assert.equal("prediction of a part at 15 points: .mean .f_var .f_cov .info :interval(level) :sample(k)", tostring(p))
  end)
end)

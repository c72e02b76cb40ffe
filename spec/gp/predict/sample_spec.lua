--- Draws from a posterior: joint samples at points, and functions.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const> = 150
local x <const> = (4 * gb.rand(n, 2, {seed = 1})):eval()
local y <const> = ((2 * x):sin():sum(2) + 0.1 * gb.randn(n, {seed = 2})):eval()
local xs <const> = (5 * gb.rand(60, 2, {seed = 3})):eval()
local f32 <const> = {dtype = "f32"}

local function cg(o)
  o = o or {}
  return gb.solvers.cg{tol = o.tol or 1e-8, max_iter = o.max_iter, precond = gb.precond.pivoted_cholesky{rank = 40}}
end

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or K.matern52{variance = 1.5}, noise = o.noise or 0.02,
    mean = gb.means.constant(gb.param(0.3)), solver = o.solver or "direct"}
end

local function worst(a, b) return (a - b):abs():max():item() end
local function most(t) return t:max():item() end
local function least(t) return t:min():item() end

--- f runs with 'room' bytes beyond what is held now: the ledger grants no more.
local function within(room, f)
  collectgarbage()
  collectgarbage()
  local before <const> = gb.memory.limit(gb.memory.report().used + room)
  local ok <const>, err <const> = pcall(f)
  gb.memory.limit(before)
  assert(ok, tostring(err))
end

describe("joint samples", function()
  local m <const> = model():condition(x, y)

  it("state the jitter that they needed", function()
    local p <const> = m:predict(xs)
    p:sample(2, {seed = 1})
    assert.equal(0, p.info.jitter)
    local twice <const> = m:predict(gb.cat({xs, xs}, 1))
    local s <const> = twice:sample(2, {seed = 1})
    assert.is_true(twice.info.jitter > 0 and twice.info.relative_jitter <= 1e-6)
    assert.is_true(worst(s:slice(2, 1, 60), s:slice(2, 61, 120)) <= 1e-4)
    assert.matches("jitter", tostring(twice.info))
  end)

  it("refuse a covariance that is none", function()
    local bad <const> = K.define("bad", {}, function(a, b) return (a * 0 + b * 0 + 3 - (a - b) ^ 2):prod(-1) end)
    local p <const> = gb.gp.exact{kernel = bad{}, noise = 4}:predict(gb.tensor{0, 30, 60})
    raises("not_pd", "the covariance of the 3 points is not positive definite, also with 1e-06 of the prior variance added",
      p.sample, p, 1)
  end)

  it("check what they are asked", function()
    local p <const> = m:predict(xs)
    raises("option", "the number of draws must be 1 or more, got 0", p.sample, p, 0)
    raises("option", "option 'method' must be one of cholesky, pathwise", p.sample, p, 1, {method = "lanczos"})
    raises("option", "unknown option 'seeds', did you mean 'seed'?", p.sample, p, 1, {seeds = 1})
  end)
end)

describe("functions drawn from the posterior", function()
  local at <const> = xs:slice(1, 1, 6):eval()
  local count <const>, features <const> = 1500, 2048

  --- Means and covariances of draws are within z standard errors, and 'bias' of features, of a prediction's.
  local function check(m, z, bias)
    local p <const> = m:predict(at)
    local v <const> = m:draw(count, {features = features, seed = 7})(at):eval()
    local sd <const> = p.f_var:sqrt()
    assert.is_true(most((v:mean(1) - p.mean):abs() / (sd + 1e-9)) <= z / math.sqrt(count))
    local centred <const> = v - v:mean(1)
    local error <const> = (centred:t():matmul(centred) / (count - 1) - p.f_cov):abs()
    local sampling <const> = z * math.sqrt(2 / count) * sd:unsqueeze(2) * sd:unsqueeze(1)
    local prior <const> = most(m.kernel:diag(at))
    assert.is_true(least(sampling + bias * prior - error) >= 0, ("%g"):format(most(error - sampling)))
  end

  it("have its mean and covariance", function()
    check(model():condition(x, y), 4.5, 0.03)
    check(model{solver = cg()}:condition(x, y), 4.5, 0.03)
    check(model{noise = gb.full({n}, 0.1)}:condition(x, y), 4.5, 0.03)
    check(model{kernel = K.rbf{lengthscale = {1, 3}} + K.linear{variance = 0.3}}:condition(x, y), 4.5, 0.03)
    for _, noise in ipairs{1, gb.full({n}, 1)} do                                -- all of their features are exact
      check(model{kernel = K.linear{} + K.constant{}, noise = noise}:condition(x, y), 4.5, 1e-9)
    end
  end)

  it("without data have the prior's, kernel by kernel", function()
    for name, kernel in pairs{rbf = K.rbf{lengthscale = {1, 2}}, matern12 = K.matern12{}, matern32 = K.matern32{},
      rq = K.rational_quadratic{alpha = 0.6, lengthscale = 2}, periodic = K.periodic{period = 3, lengthscale = 1.5},
      linear = K.linear{variance = 0.5}, polynomial = K.polynomial{degree = 2}, constant = K.constant{variance = 2},
      product = 2 * K.rbf{active_dims = {1}} * K.periodic{active_dims = {2}, period = 4},
      spread = (K.rbf{} + K.matern32{}) * K.linear{}, warped = K.rbf{}:warp(function(t) return t:sin() end)} do
      local m <const> = gb.gp.exact{kernel = kernel, noise = 0.1}:condition(gb.zeros(0, 2), gb.zeros(0))
      local v <const> = m:draw(count, {features = features, seed = 3})(at):eval()
      local want <const> = m.kernel(at)
      assert.is_true(worst(v:t():matmul(v) / count, want) <= 0.13 * most(want:abs()), name)
    end
  end)

  it("are as rough as the kernel says", function()
    for name, kernel in pairs{rbf = K.rbf{}, matern12 = K.matern12{}, matern32 = K.matern32{}, matern52 = K.matern52{},
      rq = K.rational_quadratic{alpha = 0.4}, periodic = K.periodic{period = 2}} do
      local m <const> = gb.gp.exact{kernel = kernel, noise = 0.1}:condition(gb.zeros(0, 2), gb.zeros(0))
      local from <const> = (9 * gb.rand(40, 2, {seed = 4})):eval()
      local angle <const> = gb.linspace(0, 6, 40)
      local to <const> = (from + 0.4 * gb.stack({angle:cos(), angle:sin()}, 2)):eval()
      local want <const> = (2 - 2 * m.kernel(from, to):diagonal()):mean():item()
      local got = 0
      for seed = 1, 8 do                                                       -- each is within 10 %
        local f <const> = m:draw(50, {features = features, seed = seed})
        got = got + ((f(from) - f(to)) ^ 2):mean():item() / 8
      end
      near(1, got / want, 0.07, name)
    end
  end)

  it("go through the data without noise, whatever the features", function()
    local m <const> = model{noise = 1e-8}:condition(x, y)
    local v <const> = m:draw(5, {features = 16, seed = 1})(x)
    assert.is_true(worst(v, y:unsqueeze(1):expand(5, n)) <= 1e-3)
  end)

  it("are functions: the same value at the same point, however it is asked for; values of a seed", function()
    local m <const> = model():condition(x, y)
    local f <const> = m:draw(3, {seed = 4})
    local all <const> = f(xs):eval()
    near(all:slice(2, 11, 20), f(xs:slice(1, 11, 20)), 1e-12)
    near(all, f(xs), 0)
    near(all, m:draw(3, {seed = 4})(xs), 0)
    assert.is_true(worst(all, m:draw(3, {seed = 5})(xs)) > 0.01)
    gb.seed(1)
    local a <const> = m:draw(1)(xs):eval()
    local b <const> = m:draw(1)(xs):eval()
    gb.seed(1)
    near(a, m:draw(1)(xs), 0)
    assert.is_true(worst(a, b) > 0.01)
  end)

  it("differentiate in the points", function()
    for _, solver in ipairs{"direct", cg()} do
      local f <const> = model{solver = solver}:condition(x, y):draw(2, {seed = 1})
      local t <const> = at:requires_grad()
      local g <const> = gb.grad(f(t)[1]:sum(), t)
      local h <const> = 1e-5
      local step <const> = gb.tensor{{h, 0}}
      near((f(at + step)[1] - f(at - step)[1]) / (2 * h), g:select(2, 1), 1e-6)
    end
  end)

  it("leave white noise out, and refuse kernels without features", function()
    local m <const> = model{kernel = K.rbf{} + K.white{variance = 0.5}}:condition(x, y)
    local plain <const> = model{kernel = K.rbf{}, noise = 0.52}:condition(x, y)
    local v <const> = m:draw(count, {seed = 2, features = features})(at):eval()
    assert.is_true(most((v:mean(1) - plain:predict(at).mean):abs() / plain:predict(at).f_var:sqrt()) <= 4.5 / math.sqrt(count))
    local mine <const> = K.define("mine", {}, function(a, b) return (-(a - b) ^ 2):exp():prod(-1) end)
    raises("option", "a function cannot be drawn from kernel 'mine'", function()
      return model{kernel = mine{} + K.rbf{}}:condition(x, y):draw(1)
    end)
    raises("option", "the model holds no data", function() return model():draw(1) end)
    raises("option", "the number of functions must be 1 or more, got -1", m.draw, m, -1)
    raises("shape", "draw: the model was given 2 columns, x has shape 3x1", m:draw(1), gb.ones(3))
    raises("dtype", "draw: the model's data are f64, x is f32", m:draw(1), at:to(f32))
  end)

  it("look at each pair once, however many they are", function()
    local f <const> = model():condition(x, y):draw(8, {seed = 1, features = 64})
    local many <const> = (4 * gb.rand(1000, 2, {seed = 8})):eval()
    local p <const> = gb.plan(f(many))
    p:run()
    assert.is_true(p:stats().pairs >= n * 1000 and p:stats().pairs <= (n + 2 * 64) * 1000, tostring(p:stats().pairs))
  end)

  it("serve samples at many points", function()
    local m <const> = model():condition(x, y)
    local many <const> = (4 * gb.rand(20000, 2, {seed = 8})):eval()
    local p <const> = m:predict(many)
    local draws <const> = p:sample(2, {method = "pathwise", seed = 9, features = 256})
    near(m:draw(2, {seed = 9, features = 256})(many), draws, 0)
    local noisy <const> = p:sample(1, {method = "pathwise", seed = 9, features = 256, of = "y"}) - p:sample(1, {method = "pathwise",
      seed = 9, features = 256})
    near(0.02, noisy:var(), 0.002)
    assert.equal("3x60", tostring(model():predict(xs):sample(3, {method = "pathwise"}).shape))
    within(4 * 2 ^ 20, function() p:sample(2, {method = "pathwise", seed = 1}):eval() end)
  end)
end)

--- Kernels of functions and their derivatives, against closed forms and differences.
local gb <const> = require "gibbous"
local gradients <const> = require "gibbous.kernels.gradients"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const>, m <const>, d <const> = 5, 4, 2
local x <const>, z <const> = gb.rand(n, d, {seed = 1}):eval(), gb.rand(m, d, {seed = 2}):eval()
local l <const>, v <const> = {0.7, 0.4}, 1.7

--- The matrix of all kinds between points a and b, from f(i, j): the matrix of kinds i, j, where 0 is the value.
local function matrix(f)
  local rows <const> = {}
  for i = 0, d do
    local cells <const> = {}
    for j = 0, d do cells[j + 1] = f(i, j) end
    rows[i + 1] = gb.cat(cells, 2)
  end
  return gb.cat(rows, 1)
end

--- x_c - z_c (n, m) for column c.
local function difference(a, b, c) return a:select(2, c):unsqueeze(2) - b:select(2, c):unsqueeze(1) end

--- The sum of squared differences in lengthscales.
local function square(a, b)
  local s = 0
  for c = 1, d do s = s + (difference(a, b, c) / l[c]) ^ 2 end
  return s
end

--- The blocks of phi(r^2), with its first and second derivative in r^2 as matrices p, p1, p2.
local function blocks(a, b, p, p1, p2)
  return matrix(function(i, j)
    if i == 0 and j == 0 then return p end
    if j == 0 then return p1 * 2 * difference(a, b, i) / l[i] ^ 2 end
    if i == 0 then return p1 * -2 * difference(a, b, j) / l[j] ^ 2 end
    local cross <const> = p2 * -4 * difference(a, b, i) * difference(a, b, j) / (l[i] * l[j]) ^ 2
    return i == j and cross - p1 * 2 / l[i] ^ 2 or cross
  end)
end

local closed <const> = {
  rbf = function(a, b)
    local k <const> = v * (square(a, b) * -0.5):exp()
    return blocks(a, b, k, k * -0.5, k * 0.25)
  end,
  matern52 = function(a, b)
    local s <const> = square(a, b)
    local r <const> = (5 * s):sqrt()
    local e <const> = v * (-r):exp()
    return blocks(a, b, e * (1 + r + r * r / 3), e * (1 + r) * (-5 / 6), e * (25 / 12))
  end,
}

local own <const> = K.define("gibbs", {a = 0.5, b = 0.5}, function(a, b, p)
  local la <const>, lb <const> = p.a + p.b * a:abs(), p.a + p.b * b:abs()
  local s <const> = la ^ 2 + lb ^ 2
  return ((2 * la * lb / s):sqrt() * (-(a - b) ^ 2 / s):exp()):prod(-1)
end)

local differentiable <const> = {
  rbf = K.rbf{lengthscale = l}, matern32 = K.matern32{lengthscale = 0.6}, matern52 = K.matern52{},
  rational_quadratic = K.rational_quadratic{alpha = 0.8}, periodic = K.periodic{period = {1.3, 2}, lengthscale = 1.4},
  cosine = K.cosine{period = 3}, piecewise = K.piecewise_polynomial{degree = 1, lengthscale = 2}, linear = K.linear{ard = 2},
  polynomial = K.polynomial{degree = 3}, arc_cosine = K.arc_cosine{order = 1}, arc_cosine_2 = K.arc_cosine{order = 2},
  mixture = K.spectral_mixture{weights = {0.4, 0.6}, means = {{0.5, 1}, {1, 0.2}}, variances = {{0.03, 0.02}, {0.01, 0.04}}},
  constant = K.constant{variance = 2}, gibbs = own{}, warped = K.rbf{}:warp(function(t) return t:sin() end),
  change = K.change_point(K.rbf{}, K.matern52{}, {location = 0.5, steepness = 4, column = -1}),
  composed = 0.5 * K.matern52{lengthscale = l} * K.periodic{active_dims = {-1}} + K.linear{active_dims = {1}}
    + K.rbf{active_dims = {2}},
}

--- k between x and z moved by h along columns i and j, 0 for not at all.
local function moved(k, i, j, h, g)
  local function at(t, c, by)
    local step <const> = {0.0, 0.0}
    if c > 0 then step[c] = by end
    return t + gb.tensor(step)
  end
  return k(at(x, i, h), at(z, j, g))
end

local function quotient(k, i, j, h)
  if i == 0 and j == 0 then return k(x, z) end
  if j == 0 then return (moved(k, i, 0, h, 0) - moved(k, i, 0, -h, 0)) / (2 * h) end
  if i == 0 then return (moved(k, 0, j, 0, h) - moved(k, 0, j, 0, -h)) / (2 * h) end
  return (moved(k, i, j, h, h) - moved(k, i, j, h, -h) - moved(k, i, j, -h, h) + moved(k, i, j, -h, -h)) / (4 * h * h)
end

--- Central differences, extrapolated.
local function by_differences(k)
  return matrix(function(i, j) return (4 * quotient(k, i, j, 1e-3) - quotient(k, i, j, 2e-3)) / 3 end)
end

describe("the kernel of a function and its derivatives", function()
  for name, f in pairs(closed) do
    it("has the closed form of " .. name, function()
      local g <const> = gradients.of(K[name]{lengthscale = l, variance = v}, "spec")
      near(f(x, z), g(gradients.every(x), gradients.every(z)), 1e-12)
      local X <const> = gradients.every(x)
      near(f(x, x), g(X), 1e-12)
      near(f(x, x):diagonal(), g:diag(X), 1e-12)
    end)
  end

  for name, k in pairs(differentiable) do
    it("has the differences of " .. name .. ", and is symmetric and positive", function()
      local g <const> = gradients.of(k, "spec")
      local X <const> = gradients.every(x):eval()
      near(by_differences(k), g(X, gradients.every(z)), 2e-6)
      local C <const> = g(X):eval()
      near(C, C:t(), 1e-13)
      near(C, g(X, X + 0), 1e-11)
      near(C:diagonal(), g:diag(X), 1e-11)
      local least <const>, most <const> = gb.linalg.eigh(C):min():item(), C:diagonal():max():item()
      assert.is_true(least > -1e-12 * most * n * (d + 1))
    end)
  end

  it("takes rows in any order", function()
    local g <const> = gradients.of(differentiable.composed, "spec")
    local X <const> = gradients.every(x):eval()
    local order <const> = gb.tensor({9, 1, 15, 4, 4, 12, 2}, {dtype = "i64"})
    local some <const> = X:index(1, order):eval()
    near(g(X):index(1, order):index(2, order), g(some), 1e-13)
    near(g(X):index(1, order), g(some, X + 0), 1e-12)
    near(g:diag(X):index(1, order), g:diag(some), 1e-13)
    assert.equal("0x15", tostring(g(X:slice(1, 1, 0), X).shape))
    raises("index", "row 1 has task 4", g, X + gb.tensor{0, 0, 3})
  end)

  it("keeps its digits far from the origin", function()
    local g <const> = gradients.of(differentiable.composed, "spec")
    local fine <const> = (x * 2 ^ 20):round() / 2 ^ 20
    local stationary <const> = gradients.of(K.matern52{lengthscale = l} + K.periodic{}, "spec")
    near(stationary(gradients.every(fine)), stationary(gradients.every(fine + 1024)), 1e-9)
    assert.equal("{-1}", "{" .. table.concat(gradients.base(g)[1][2].active_dims, ", ") .. "}")
  end)

  it("streams first derivatives: a product stores no block of them", function()
    local a <const>, b <const> = gb.rand(3000, 2, {seed = 3}):eval(), gb.rand(3000, 2, {seed = 4}):eval()
    local g <const> = gradients.of(K.rbf{}, "spec")
    local slopes <const> = gradients.every(b):slice(1, 3001, 6000):eval()
    local plan <close> = gb.plan(g(gradients.values(a), slopes):matmul(gb.ones(3000, 1)))
    assert.is_true(plan.peak < 3000 * 3000)
  end)

  it("has gradients by parameters and points", function()
    local p <const> = gb.param(0.6, {min = 0})
    local g <const> = gradients.of(K.matern52{lengthscale = p}, "spec")
    local w <const> = gb.rand(n * (d + 1), n * (d + 1), {seed = 5})
    local function value(t) return (w * g(gradients.every(t))):sum() end
    local points <const> = x:requires_grad()
    local by_x <const>, by_l <const> = gb.grad(value(points), points), gb.grad(value(x), p):item()
    local h <const> = 1e-5
    local e <const> = gb.full({n, d}, 0):totable()
    e[2][1] = h
    local step <const> = gb.tensor(e)
    near((value(x + step) - value(x - step)):item() / (2 * h), by_x[2][1]:item(), 1e-6)
    p.value = 0.6 + h
    local up <const> = value(x):item()
    p.value = 0.6 - h
    near((up - value(x):item()) / (2 * h), by_l, 1e-6)
  end)

  it("refuses what has no derivative, and says what has", function()
    local refused <const> = {
      {K.matern12{}, "'matern12' have no derivative: gb.kernels.matern32"},
      {K.rbf{} + K.white{}, "'white' have no derivative: white noise belongs into noise"},
      {K.rbf{} * K.piecewise_polynomial{degree = 0}, "'piecewise_polynomial' have no derivative: those of degree 1"},
      {K.arc_cosine{order = 0}, "'arc_cosine' have no derivative: those of order 1"},
      {K.matern12{}:named "rough" + K.rbf{}, "'rough' (matern12) have no derivative"},
      {K.rbf{} * K.index{tasks = 2}, "'index' have no derivative"},
    }
    for _, one in ipairs(refused) do raises("option", one[2], gb.gp.exact, {kernel = one[1], gradients = true}) end
  end)
end)

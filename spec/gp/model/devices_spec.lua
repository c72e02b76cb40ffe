--- Models and kernels where tensors lie on several devices: kernels work wherever their inputs lie, models on the session's device.
local gb = require "gibbous"

local home <const> = gb.config().device
local n <const> = 30

local function raises(text, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal("device", err.code)
  assert.is_truthy(tostring(err):find(text, 1, true), tostring(err))
end

describe("on another device", function()
  local other, x, y, far, there
  before_each(function()
    gb.config{devices = 2}
    other = home .. ":2"
    x = gb.randn(n, 3, {seed = 1}):eval()
    y = x:sum(2):sin():eval()
    far, there = x:to(other):eval(), y:to(other):eval()
  end)

  after_each(function()
    x, y, far, there = nil, nil, nil, nil
    collectgarbage()
    collectgarbage()
  end)

  it("every kernel has the bits of home", function()
    local kernels <const> = {gb.kernels.rbf{lengthscale = {1, 2, 3}}, gb.kernels.periodic{period = {1, 2, 3}},
      gb.kernels.spectral_mixture{components = 3}, gb.kernels.rbf{lengthscale = gb.param(far:select(1, 1):abs() + 1, {min = 0})},
      gb.kernels.index{tasks = 2, active_dims = {1}} * gb.kernels.rbf{active_dims = {2, 3}}}
    for _, name in ipairs{"rbf", "matern12", "matern32", "matern52", "rational_quadratic", "cosine", "arc_cosine", "periodic",
      "linear", "polynomial", "constant", "white", "piecewise_polynomial"} do
      kernels[#kernels + 1] = gb.kernels[name]{}
    end
    for i, k in ipairs(kernels) do
      local a, b = x, far
      if i == 5 then
        a = gb.cat({gb.range(1, n):lt(9):to "f64":unsqueeze(2) + 1, x:slice(2, 1, 2)}, 2):eval()
        b = a:to(other):eval()
      end
      local value <const>, diagonal <const> = k(b, b), k:diag(b)
      assert.equal(other, value.device, tostring(k))
      assert.equal(other, diagonal.device, tostring(k))
      assert.is_true(value:to(home):equal(k(a, a)), tostring(k))
      assert.is_true(diagonal:to(home):equal(k:diag(a)), tostring(k))
    end
    raises(("kernel: argument 1 lies on %s, argument 2 on %s"):format(other, home), gb.kernels.rbf{}, far, x)
  end)

  it("parameters stay at home, and so do their gradients", function()
    local p <const> = gb.param(gb.tensor({1, 2, 3}, {device = other}), {min = 0})
    assert.equal(home, p.value.device)
    local k <const> = gb.kernels.rbf{lengthscale = p}
    local g <const> = gb.grad(k(far, far):sum(), p.raw)
    assert.equal(home, g.device)
    assert.is_true(g:allclose(gb.grad(k(x, x):sum(), p.raw), {rtol = 1e-12}))
  end)

  it("data are refused by every method of a model, which says what to move", function()
    local function model() return gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1} end
    local m <const> = model()
    local both <const> = ("x lies on %s, y on %s, and models work on %s: x:to '%s' and y:to '%s' move them"):format(other, other,
      home, home, home)
    raises("fit: " .. both, m.fit, m, far, there)
    raises("plan: " .. both, m.plan, m, far, there)
    raises(("fit: x lies on %s, y on %s, and models work on %s: x:to '%s' moves it"):format(other, home, home, home), m.fit, m,
      far, y)
    raises(("fit: x lies on %s, y on %s, and models work on %s: y:to '%s' moves it"):format(home, other, home, home), m.fit, m,
      x, there)
    raises("predict: x lies on " .. other, m.predict, m, far)
    m:fit(x, y, {steps = 2})
    raises("predict: x lies on " .. other, m.predict, m, far)
    raises("score: " .. both, m.score, m, far, there)
    raises("condition: " .. both, m.condition, m, far, there)
    raises("condition: x lies on " .. home, m.condition, m, x:slice(1, 1, 3), gb.randn(5, 3, {device = other}))
    raises("draw: x lies on " .. other, m:draw(2), far)
    local tasks <const> = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}
    raises("fit: x lies on " .. home, tasks.fit, tasks, x, gb.randn(n, 2, {device = other}))
    assert.equal(n, m:score(x, y, {noise = there:abs() + 0.1}).n)      -- what belongs to the data is moved to them
  end)

  it("solvers name the tensor that lies elsewhere", function()
    local a <const>, k <const> = gb.kernels.rbf{}(far, far) + gb.eye(n), gb.kernels.rbf{}(x, x) + gb.eye(n)
    local mend <const> = (", and iterative solvers work on %s: x:to '%s' moves a tensor, or what a matrix is made of; "
      .. "gb.config{device = '%s'} works there"):format(home, home, other)
    local function both(A, b) return ("the matrix lies on %s, the right-hand side on %s"):format(A, b) end
    local ones <const> = gb.ones(n, {device = other})              -- a number, which other ops take along
    for _, name in ipairs{"cg", "minres", "sdd", "alternating_projections"} do
      local s <const> = gb.solvers[name]{}
      for _, b in ipairs{there, ones} do
        raises("solve: " .. both(home, other) .. mend, s.solve, s, k, b)
        raises("solve: " .. both(other, other) .. mend, s.solve, s, a, b)
      end
      raises("solve: " .. both(other, home) .. mend, s.solve, s, a, y)
      raises("solve: " .. both(home, home) .. ", x0 on " .. other .. mend, s.solve, s, k, y, {x0 = there})
      raises("prepare: the matrix lies on " .. other .. mend, s.prepare, s, a)
      local prepared <const> = s:prepare(k)
      raises("solve: the right-hand side lies on " .. other .. mend, prepared.solve, prepared, there)
    end
    raises("logdet: the matrix lies on " .. other .. mend, function() return gb.solvers.lanczos{}:logdet(a) end)
    raises(("solve: %s: x:to '%s' moves a tensor"):format(both(other, home), other),
      function() return gb.solvers.cholesky{}:solve(a, y) end)
    local twice <const> = gb.func{name = "twice", shape = "same", forward = function(v) return v * 2 end}
    raises("twice: this runs on " .. home, twice, far)
    assert.is_true(gb.linalg.solve(a, there):to(home):equal(gb.linalg.solve(k, y)))
    assert.is_true(gb.solvers.cholesky{}:solve(a, there):to(home):allclose(gb.linalg.solve(k, y)))
  end)
end)

--- Models of several outputs inside: the long form of their data, and the cost of a prediction from a complete grid.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels
local nan <const> = 0 / 0

describe("the long form", function()
  --- 100 + 100 points of two tasks, as (x, task).
  local function hadamard(dtype)
    local x <const> = gb.rand(200, {seed = 9})
    local task <const> = gb.cat({gb.ones(100), gb.ones(100) * 2}, 1)
    local angle <const> = 2 * math.pi * x
    local y <const> = gb.where(task:eq(1), angle:sin(), angle:cos()) + 0.05 * gb.randn(200, {seed = 10})
    return gb.stack({x, task}, 2):to{dtype = dtype}:eval(), y:to{dtype = dtype}:eval()
  end

  for _, dtype in ipairs{"f64", "f32"} do
    it("fits two tasks of 100 points each in " .. dtype, function()
      local x <const>, y <const> = hadamard(dtype)
      local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.3, ard = true} * K.index{tasks = 2}, noise = 0.1}
      m:fit(x, y, {steps = 100})
      assert.equal(1, m.kernel[1].lengthscale.numel)
      local t <const> = gb.linspace(0, 1, 51, {dtype = dtype})
      for task, f in ipairs{(2 * math.pi * t):sin(), (2 * math.pi * t):cos()} do
        local p <const> = m:predict(gb.stack({t, t * 0 + task}, 2))
        assert.is_true((p.mean - f):abs():mean():item() < 0.03)
      end
      assert.is_true(m:score(x, y).rmse < 0.07)
    end)
  end

  it("has the likelihood of the covariance written out", function()
    local x <const>, y <const> = hadamard "f64"
    local some <const> = gb.tensor({1, 5, 30, 101, 130, 177}, {dtype = "i64"})
    local xs <const>, ys <const> = x:index(1, some):eval(), y:index(1, some):eval()
    local W <const>, v <const> = {{0.5}, {-1.2}}, {0.3, 0.7}
    local m <const> = gb.gp.exact{kernel = 1.5 * K.rbf{lengthscale = 0.4} * K.index{tasks = 2, weights = W, diagonal = v},
      noise = 0.2}
    m:fit(xs, ys, {steps = 0})
    local rows <const>, c <const> = xs:totable(), {}
    for i, a in ipairs(rows) do
      c[i] = {}
      for j, b in ipairs(rows) do
        local B <const> = W[a[2]][1] * W[b[2]][1] + (a[2] == b[2] and v[a[2]] or 0)
        c[i][j] = 1.5 * math.exp(-((a[1] - b[1]) / 0.4) ^ 2 / 2) * B + (i == j and 0.2 or 0)
      end
    end
    local l <const>, values <const> = support.cholesky(c), ys:totable()
    local sum = support.dot(values, support.cholesky_solve(l, values)) + #values * math.log(2 * math.pi)
    for i = 1, #values do sum = sum + 2 * math.log(l[i][i]) end
    near(-sum / 2, m:log_marginal_likelihood(), 1e-12)
  end)

  it("has noise of each task", function()
    local x <const>, y <const> = hadamard "f64"
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.3} * K.index{tasks = 2},
      likelihood = gb.likelihoods.tasks{0.1, 0.4}}
    local noise <const> = gb.cat({gb.ones(100) * 0.1, gb.ones(100) * 0.4}, 1)
    local fixed <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.3} * K.index{tasks = 2}, noise = noise}
    m:fit(x, y, {steps = 0})
    fixed:fit(x, y, {steps = 0})
    near(fixed:log_marginal_likelihood(), m:log_marginal_likelihood(), 1e-12)
    m:fit{steps = 60}
    local p <const> = m:predict(gb.tensor{{0.5, 1}, {0.5, 2}})
    near(m:get "likelihood.noise".value, p.y_var - p.f_var, 1e-12)
    assert.is_true(m:get "likelihood.noise".value:max():item() < 0.01)
    raises("option", "takes a list of variances, one a task", gb.likelihoods.tasks, 0.1)
    raises("index", "the noise of each task: row 1 has task 3", function()
      return m.likelihood:variance(gb.tensor{{0.5, 3}})
    end)
  end)

  it("names the row of a task that is none", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{} * K.index{tasks = 2}, noise = 0.1}
    raises("index", "index: row 2 has task 3, expected a whole number from 1 to 2", m.fit, m, gb.tensor{{0, 1}, {0, 3}},
      gb.tensor{1, 2})
    raises("index", "row 1 has task 1.5", m.kernel, gb.tensor{{0, 1.5}})
    raises("index", "row 3 has task 0", m.kernel, gb.tensor{{0, 1}, {1, 2}, {3, 0}})
    raises("index", "row 1 has task nan", K.index{tasks = 2}, gb.tensor{nan})
  end)

  it("leaves the tasks to the index kernel, unless columns are named", function()
    local x <const> = gb.tensor{{0.1, 2, 1}, {0.5, 1, 2}, {0.7, 3, 1}}
    local points <const> = x:slice(2, 1, 2)
    local B <const> = K.index{tasks = 2}(x)
    near(K.rbf{}(points) * B, (K.rbf{} * K.index{tasks = 2})(x), 1e-14)
    near(K.rbf{}(x) * B, (K.rbf{active_dims = {1, 2, 3}} * K.index{tasks = 2})(x), 1e-14)
    near(K.rbf{}(points) * B + K.linear{}(points), (K.rbf{} * K.index{tasks = 2} + K.linear{})(x), 1e-14)
    local function double(t) return t * 2 end
    near((K.rbf{} + K.linear{})(points * 2) * B, ((K.rbf{} + K.linear{}):warp(double) * K.index{tasks = 2})(x), 1e-13)
    local function first_last(t) return gb.cat({t:slice(2, 3, 3), t:slice(2, 1, 1):ceil()}, 2) end
    near((K.rbf{} * K.index{tasks = 2})(first_last(x)) + K.linear{}(x),
      ((K.rbf{} * K.index{tasks = 2}):warp(first_last) + K.linear{})(x), 1e-14)
    near((K.rbf{} * K.index{tasks = 2})(x), (K.rbf{} * K.index{tasks = 2, active_dims = {3}})(x), 0)
    near(K.rbf{}(x:slice(2, 2, 3)) * K.index{tasks = 2}(x:slice(2, 1, 1):ceil()),
      (K.rbf{} * K.index{tasks = 2, active_dims = {1}})(gb.cat({x:slice(2, 1, 1):ceil(), x:slice(2, 2, 3)}, 2)), 1e-14)
    raises("shape", "beside the task numbers the inputs have no column", K.rbf{} * K.index{tasks = 2}, gb.tensor{1, 2})
  end)
end)

describe("the cost of a prediction from a grid", function()
  local core <const> = require "gibbous.core"
  local kronecker <const> = require "gibbous.gp.tasks.kronecker"
  local posterior <const> = require "gibbous.gp.tasks.posterior"
  local present <const> = require "gibbous.gp.posterior_cache".present
  local model_of <const> = require "gibbous.gp.model"

  it("is of two decompositions and a product, by the sizes of points and tasks", function()
    local m <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2, noise = 0.1}:condition(gb.linspace(0, 1, 5),
      gb.randn(5, 2, {seed = 1}))
    local inner <const>, at <const> = model_of.fields(m).inner, gb.zeros(3, 1)
    assert.is_nil(present(inner))
    --- The cost by these plans, {seconds, bytes}, and the shapes that were planned.
    local function cost(key, prepare, product)
      local asked <const>, plans <const>, open = {}, {prepare, product}, 0
      local got <const> = support.with(core, {plan = function(tensors)
        local shapes <const> = {}
        for i, v in ipairs(gb.type(tensors) == "tensor" and {tensors} or tensors) do shapes[i] = tostring(v.shape) end
        asked[#asked + 1] = table.concat(shapes, " ")
        open = open + 1
        return setmetatable({seconds = plans[#asked][1], peak = plans[#asked][2]}, {__close = function() open = open - 1 end})
      end}, function() return posterior.cost(inner, {points = at}, key) end)
      assert.equal(0, open)
      assert.equal(2, #asked)
      return {got.what, got.bytes, got.minimum, got.kept, got.seconds}, asked[2]
    end
    local kept <const> = 8 * (5 * 5 + 5 * 2)
    local mean <const>, shape <const> = cost("mean", {2, 10}, {1.25, 100})
    local own = 100 + 8 * 6 + 8 * 5 * 6
    assert.same({"mean of 3 points: about 3.2 s, eigendecompositions of order 5 and 2", kept + own, kept + own, kept + 8 * 6,
      3.25}, mean)
    assert.equal("3x5", shape)
    assert.equal(5000, cost("f_var", {2, 5000}, {1.25, 100})[2])
    local joint <const>, wide <const> = cost("f_cov", {nil, 10}, {1.25, 100})
    own = 100 + 8 * 36 + 8 * 5 * 6
    assert.same({"f_cov of 3 points: eigendecompositions of order 5 and 2", kept + own, kept + own, kept + 8 * 36, nil}, joint)
    assert.equal("6x5", wide)
    assert.is_nil(cost("mean", {2, 10}, {nil, 100})[5])
    m:predict(at).mean:eval()
    assert.is_not_nil(present(inner))
    local apart <const> = model_of.copy(inner)
    assert.is_nil(present(apart))
    assert.is_not_nil(present(inner))
    assert.equal(2, model_of.fields(apart).grid.tasks)
    m:set("kernel[1].lengthscale", 0.4)
    assert.is_nil(model_of.fields(inner).state)
    assert.same({U = {5, 5}, M = {5, 2}, Q = {2, 2}, weights = {5, 2}}, kronecker.kept_shapes(5, 2))
  end)

  it("is of a likelihood whose gradient has none of its own", function()
    local m <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2, noise = 0.1}:condition(gb.linspace(0, 1, 5),
      gb.randn(5, 2, {seed = 1}))
    local l <const> = m:get "kernel[1].lengthscale"
    raises("option", 'with Kronecker structure the log determinant has no second derivatives; solver = "direct" has them', gb.grad,
      gb.grad(m:log_marginal_likelihood(), l), l)
  end)

  it("is told of once it was made", function()
    local m <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2, noise = 0.1}:condition(gb.linspace(0, 1, 5),
      gb.randn(5, 2, {seed = 1}))
    local p <const> = m:predict(gb.zeros(3, 1))
    p.mean:eval()
    local info <const>, u <const> = p.info, m.update
    assert.same({"kronecker", "exact", "f64", true, false},
      {info.algorithm, info.variance, info.precision, info.converged, info.reused})
    assert.same({"decomposition", 10, 0}, {u.kind, u.rows, u.onto})
    assert.is_true(u.seconds >= 0 and u.seconds < 60)
    assert.is_true(m:predict(gb.zeros(3, 1)).info.reused)
  end)
end)

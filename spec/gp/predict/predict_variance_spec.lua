--- Variances of predictions, exact and cached: their range, their bounds, what rounding does to them.
local core <const> = require "gibbous.core"
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

--- How often functions of the core were called while f ran.
local function counting(names, f)
  local counts <const>, saved <const> = {}, {}
  for name, owner in pairs(names) do
    local original <const> = owner[name]
    saved[name], counts[name] = original, 0
    owner[name] = function(...)
      counts[name] = counts[name] + 1
      return original(...)
    end
  end
  local ok <const>, err <const> = pcall(f)
  for name, owner in pairs(names) do owner[name] = saved[name] end
  assert(ok, err)
  return counts
end

describe("variances", function()
  local kernels <const> = {
    rbf = K.rbf{lengthscale = 2}, white = K.matern32{} + K.white{variance = 0.1}, constant = K.constant{variance = 2},
    linear = K.linear{} + K.constant{}, product = K.periodic{period = 3} * K.rbf{lengthscale = 3},
  }

  it("lie within 0 and the prior's, and are the diagonal of the joint covariance", function()
    local known <const> = x:slice(1, 1, 15)
    local at <const> = gb.cat({xs:slice(1, 1, 20), known, known}, 1):eval()      -- points of the data too
    for name, kernel in pairs(kernels) do
      for _, noise in ipairs{1e-1, 1e-6, gb.full({n}, 0.05)} do
        for _, solver in ipairs{"direct", cg()} do
          local m <const> = model{kernel = kernel, noise = noise, solver = solver}:condition(x, y)
          local p <const> = m:predict(at)
          assert.is_true(least(p.f_var) >= 0, name)
          assert.is_true(least(m.kernel:diag(at) - p.f_var) >= 0, name)
          assert.is_true(worst(p.f_cov:diagonal(), p.f_var) <= 1e-12 * most(m.kernel:diag(at)), name)
          assert.equal(0, p.info.invalid)
        end
      end
    end
  end)

  it("that rounding made negative are 0 and counted; what is worse is NaN and counted", function()
    local left <const> = require "gibbous.gp.predict.parts".left
    local prior <const> = gb.full({5}, 2)
    local u <const> = 2.0 ^ -53
    local got <const> = left(prior, gb.tensor{1, 2, 2 + 8 * 10 * u, 2 + 8 * 10 * u * 4, -1}, nil, 10):totable()
    near({1, 0, 0}, {got[1], got[2], got[3]}, 0)
    assert.is_true(got[4] ~= got[4])
    near(2, got[5], 0)
    assert.is_true(left(gb.tensor{0 / 0}, gb.tensor{1}, nil, 10):ne(0):item())

    local t <const> = gb.linspace(0, 1, 40)
    local p <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 3}, noise = 1e-12}:condition(t, t:sin()):predict(t)
    local zero = 0
    for _, v in ipairs(p.f_var:totable()) do
      assert.is_true(v >= 0)
      if v == 0 then zero = zero + 1 end
    end
    assert.equal(zero, p.info.clamped)
    assert.equal(0, p.info.invalid)
  end)

  it("that are lost are told of", function()
    local bad <const> = K.define("bad", {}, function(a, b) return (a * 0 + b * 0 + 3 - (a - b) ^ 2):prod(-1) end)
    local t <const> = gb.tensor{0, 0.1}
    local p <const> = gb.gp.exact{kernel = bad{}, noise = 4}:condition(t, t):predict(gb.tensor{0.05, 30})
    assert.is_true(p.f_var[2]:ne(p.f_var[2]):item())
    assert.equal(1, p.info.invalid)
    assert.matches("1 variance lost to rounding", tostring(p.info))
  end)

  it("by a solver are above the exact ones, by no more than its tolerance of themselves", function()
    local want <const> = model():condition(x, y):predict(xs)
    local rough <const> = model{solver = cg{tol = 1e-2}}:condition(x, y):predict(xs)
    local over <const> = rough.f_var - want.f_var
    assert.is_true(least(over) >= -1e-12)
    assert.is_true(most(over) > 1e-9 and least(rough.f_var_bound + 1e-12 - over) >= 0)
    assert.is_true(most(rough.f_var_bound / want.f_var) <= 1.02e-2)
    assert.is_true(rough.info.variance_error <= 1e-2 and rough.info.slices == 1 and rough.info.iterations > 0)
    local exact <const> = model{solver = cg{tol = 1e-10}}:condition(x, y):predict(xs)
    near(want.f_var, exact.f_var, 1e-9)
    near(want.f_cov, exact.f_cov, 1e-9)
  end)

  it("by a solver have a bound of f_var itself where none is known", function()
    local each <const> = gb.cat({gb.zeros(1), gb.full({n - 1}, 0.1)}, 1):eval()
    for _, case in ipairs{{solver = cg{tol = 1e-1}, noise = each}, {solver = gb.solvers.minres{tol = 1e-1}, noise = 0.1}} do
      local p <const> = model(case):condition(x, y):predict(xs)
      local over <const> = p.f_var - model{noise = case.noise}:condition(x, y):predict(xs).f_var
      assert.is_true(most(over) > 1e-9)
      near(p.f_var, p.f_var_bound, 0)
    end
  end)

  it("of f32 data by products in mixed precision are of f32, and have gradients", function()
    local x32 <const>, y32 <const>, at <const> = x:to(f32):eval(), y:to(f32):eval(), xs:to(f32):eval()
    local o <const> = {noise = 0.1, solver = gb.solvers.cg{tol = 1e-8, precision = "mixed"}}
    local p <const> = model(o):condition(x32, y32):predict(at, {precision = "f32"})
    for _, field in ipairs{"f_var", "f_cov", "f_var_bound"} do assert.equal("f32", p[field].dtype) end
    local want <const> = model{noise = 0.1}:condition(x32:to{dtype = "f64"}, y32:to{dtype = "f64"}):predict(at:to{dtype = "f64"})
    near(want.f_var, p.f_var:to{dtype = "f64"}, 1e-5)
    near(want.f_cov, p.f_cov:to{dtype = "f64"}, 1e-5)
    assert.is_true(p.converged)
    assert.equal("f32", core.grad(p.f_var:sum(), {at}, {unused = "zero"})[1].dtype)
  end)

  it("that fail are named by the worst, whatever a NaN beside them", function()
    local at <const> = gb.cat({xs:slice(1, 1, 2), gb.tensor{{0 / 0, 1}, {100, 100}}}, 1):eval()
    local p <const> = model{solver = gb.solvers.cg{tol = 1e-12, max_iter = 2}}:condition(x, y):predict(at)
    local known <const> = (p.f_var_bound / p.f_var):totable()
    assert.is_true(known[1] > 1e-6 and known[4] < 1e-6 and known[3] ~= known[3])
    assert.is_true(math.abs(p.info.variance_error / math.max(known[1], known[2]) - 1) < 1e-9)
  end)

  it("by a solver are differentiable in the points, in however many slices they are solved for", function()
    local m <const> = model{kernel = K.linear{} + K.rbf{}, solver = cg{tol = 1e-10}}:condition(x, y)
    local exact <const> = model{kernel = K.linear{} + K.rbf{}}:condition(x, y)
    local few <const> = xs:slice(1, 1, 5):eval():requires_grad()
    near(gb.grad(exact:predict(few).f_var:sum(), few), gb.grad(m:predict(few).f_var:sum(), few), 1e-5)
    local many <const> = gb.rand(2 ^ 18 // n + 5, xs.shape[2], {seed = 1}):requires_grad()
    local v <const> = m:predict(many).f_var
    near(exact:predict(many).f_var, v, 1e-8)
    near(gb.grad(exact:predict(many).f_var:sum(), many), gb.grad(v:sum(), many), 1e-5)
  end)

  it("say when a solve did not converge", function()
    local m <const> = model{solver = cg{tol = 1e-12, max_iter = 3}}:condition(x, y)
    local p <const> = m:predict(xs)
    assert.is_false(p.converged)
    p.f_var:eval()
    assert.same({"max_iter", "mean and variances"}, {p.info.reason, p.info.missed})
    assert.matches(", mean and variances not converged %(max_iter%)", tostring(p.info))
    local fine <const> = model{solver = cg()}:condition(x, y):predict(xs)
    assert.is_true(fine.converged and fine.info.missed == nil)
    assert.is_true(least(p.f_var - fine.f_var) >= -1e-12)
  end)

  it("of f32 data are those of f64, where f32 would lose them", function()
    local x32 <const>, y32 <const>, at <const> = x:to(f32):eval(), y:to(f32):eval(), xs:to(f32):eval()
    local x64 <const>, y64 <const>, at64 <const> = x32:to{dtype = "f64"}, y32:to{dtype = "f64"}, at:to{dtype = "f64"}
    for _, case in ipairs{{noise = 0.1, precision = "f32"}, {noise = 1e-4, precision = "f64"}, {noise = 1e-7, precision = "f64"}} do
      local o <const> = {kernel = K.rbf{lengthscale = 1.5}, noise = case.noise}
      local want <const> = model(o):condition(x64, y64):predict(at64)
      local m <const> = model(o):condition(x32, y32)
      local p <const> = m:predict(at)
      assert.equal(case.precision, p.info.precision)
      for _, field in ipairs{"mean", "f_var", "y_var", "f_cov", "f_var_bound"} do assert.equal("f32", p[field].dtype) end
      assert.is_true(most((p.f_var:to{dtype = "f64"} - want.f_var):abs() / want.f_var) <= 1e-2)
      assert.is_true(most((p.mean:to{dtype = "f64"} - want.mean):abs() / want.y_var:sqrt()) <= 1e-3)
      assert.equal("f64", m:predict(at, {precision = "f64"}).info.precision)
      assert.equal("f32", m:draw(1, {seed = 1})(at).dtype)
    end
    local narrow <const> = model{kernel = K.rbf{lengthscale = 1.5}, noise = 1e-4}:condition(x32, y32):predict(at,
      {precision = "f32"})
    assert.equal("f32", narrow.info.precision)
  end)

  it("of f32 data are solved in f64, where f32 cannot reach the tolerance; the record is of the mean's solve too", function()
    local x32 <const>, y32 <const>, at <const> = x:to(f32):eval(), y:to(f32):eval(), xs:to(f32):eval()
    local o <const> = {kernel = K.rbf{lengthscale = 1.5}, noise = 1e-2, solver = gb.solvers.cg{}}
    local p <const> = model(o):condition(x32, y32):predict(at)
    assert.equal("f64", p.info.precision)
    assert.is_true(p.converged and p.info.residual <= 1e-6 and p.info.iterations > 0)
    p.f_var:eval()
    assert.is_true(p.converged and p.info.residual <= 1e-6)
    local narrow <const> = model(o):condition(x32, y32):predict(at, {precision = "f32"})
    assert.is_true(not narrow.converged and narrow.info.residual > 1e-6)
    assert.equal("stagnated", narrow.info.reason)
    narrow.f_var:eval()
    assert.is_true(narrow.info.residual > 1e-6 and narrow.info.reason == "stagnated")
  end)
end)

describe("cached variances", function()
  local exact <const> = model():condition(x, y)
  local want <const> = exact:predict(xs)

  it("are off unless asked for, and then too large by no more than their bound", function()
    assert.equal("exact", want.info.variance)
    near(0, most(want.f_var_bound), 0)
    local before = math.huge
    for _, rank in ipairs{10, 40, 80, n} do
      for _, solver in ipairs{"direct", cg()} do
        local m <const> = model{solver = solver}:condition(x, y)
        local p <const> = m:predict(xs, {variance = "cached", rank = rank})
        local over <const> = p.f_var - want.f_var
        assert.is_true(least(over) >= -1e-11)
        assert.is_true(least(p.f_var_bound + 1e-11 - over) >= 0)
        assert.is_true(least(p.f_var - p.f_var_bound) >= 0 and least(p.f_var_bound) >= 0)
        assert.is_true(most(over) <= before)
        assert.equal(rank, p.info.rank)
        near(p.f_var, p.f_cov:diagonal(), 1e-12)
        if solver ~= "direct" then before = most(over) end
      end
    end
    assert.is_true(before <= 1e-11)                                              -- nothing is left out at full rank
  end)

  it("tell a useful bound at a rank that resolves the kernel", function()
    local p <const> = model{kernel = K.rbf{lengthscale = 2}}:condition(x, y):predict(xs, {variance = "cached", rank = 60})
    local truth <const> = model{kernel = K.rbf{lengthscale = 2}}:condition(x, y):predict(xs)
    assert.is_true(most(p.f_var_bound) <= 1e-3)
    assert.is_true(most(p.f_var - truth.f_var) <= most(p.f_var_bound))
  end)

  it("hold on a grid, whose eigenvalues repeat, and with duplicates", function()
    local rows <const> = {}
    for i = 0, 7 do
      for j = 0, 7 do rows[#rows + 1] = {i / 2, j / 2} end
    end
    local grid <const> = gb.tensor(rows)
    local twice <const> = gb.cat({grid, grid}, 1):eval()
    local m <const> = model():condition(twice, twice:sum(2))
    near(m:predict(xs).f_var, m:predict(xs, {variance = "cached", rank = 128}).f_var, 1e-10)
    near(m:predict(xs).f_var, m:predict(xs, {variance = "cached", rank = 70}).f_var, 1e-10)
  end)

  it("are made once, and anew when a parameter is set", function()
    local m <const> = model():condition(x, y)
    local spy <const> = {qr = core.linalg}
    local function look() m:predict(xs, {variance = "cached", rank = 20}).f_var:eval() end
    assert.equal(2, counting(spy, look).qr)
    assert.equal(0, counting(spy, look).qr)
    m:get "likelihood.noise".value = 0.5
    assert.equal(2, counting(spy, look).qr)
    raises("option", "predict: the rank must be 1 or more", m.predict, m, xs, {variance = "cached", rank = 0})
    assert.equal(2, counting(spy, function() m:predict(xs, {variance = "cached", rank = n + 5}).f_var:eval() end).qr)
    assert.equal(0, counting(spy, function() m:predict(xs, {variance = "cached", rank = n + 5}).f_var:eval() end).qr)
  end)

  -- A kernel (1, b; b, s) whose basis starts at the unit vectors: the slope by b of what the second vector has of the first is 1
  -- / s^2 where that vector follows the kernel, 0 where it is left as it is.
  it("have the slope of what stands above rounding alone", function()
    local low_rank_variance <const> = require "gibbous.gp.exact.low_rank_variance"
    local function slopes(first, second, dtype)
      local by <const> = gb.tensor(0, {dtype = dtype}):requires_grad()
      local k <const> = gb.tensor({{first, 0}, {0, second}}, {dtype = dtype}) + by * gb.tensor({{0, 1}, {1, 0}}, {dtype = dtype})
      local cache <const> = support.with(core,
        {randn = function(rows, columns, o) return core.eye(rows, {dtype = o.dtype}):slice(2, 1, columns) end},
        function() return low_rank_variance({}, k, k + gb.eye(2, {dtype = dtype}), 2, 0) end)
      local basis <const> = cache.live.basis
      return {gb.grad(basis[1][2], by, {unused = "zero"}):item(), gb.grad(basis[2][1], by, {unused = "zero"}):item()}
    end
    for dtype, bound in pairs{f64 = 1e-5, f32 = 1e-2} do
      local above <const>, below <const> = slopes(4, 6 * bound, dtype), slopes(4, 3.6 * bound, dtype)
      near({1 + 1.5 * bound, 1}, {4 * above[1], 4 * above[2] * (1.5 * bound) ^ 2}, 0.02)
      near({(1 + 0.9 * bound) / 4, 0}, below, 1e-3)
    end
    assert.same({0, 0}, slopes(0, 0, "f64"))
  end)
end)

describe("what is left of a prior variance", function()
  local left <const> = require "gibbous.gp.predict.parts".left

  it("is 0 where rounding took it, NaN where more is missing, and the prior at most", function()
    for dtype, unit in pairs{f64 = 2.0 ^ -53, f32 = 2.0 ^ -24} do
      local slack <const> = 8 * 16 * unit * 2
      local function of(explained, size)
        return left(gb.full({#explained}, 2, {dtype = dtype}), gb.tensor(explained, {dtype = dtype}), size, 16):totable()
      end
      local v <const> = of{0.5, 2 + slack, 2 + 2 * slack, -1}
      near(1.5, v[1], 1e-6)
      assert.equal(0, v[2])
      assert.is_true(v[3] ~= v[3])
      assert.equal(2, v[4])
      local wide <const> = of({2 + 2 * slack, 2 + 4 * slack}, gb.full({2}, 2, {dtype = dtype}))      -- of terms that large
      assert.equal(0, wide[1])
      assert.is_true(wide[2] ~= wide[2])
    end
  end)
end)

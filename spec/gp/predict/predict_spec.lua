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

local spied <const> = {cholesky = core.linalg, triangular_solve = core.linalg, cg = core}

--- f runs with 'room' bytes beyond what is held now: the ledger grants no more.
local function within(room, f)
  collectgarbage()
  collectgarbage()
  local before <const> = gb.memory.limit(gb.memory.report().used + room)
  local ok <const>, err <const> = pcall(f)
  gb.memory.limit(before)
  assert(ok, tostring(err))
end

describe("a prediction of a model whose noise is known for its observations alone", function()
  it("says that y_var is f_var", function()
    local x <const>, y <const> = gb.tensor{1, 2, 3}, gb.tensor{1, 0, 1}
    local note <const> = "\n  noise of new observations not known: y_var is f_var"
    local function text(o)
      o.kernel = gb.kernels.rbf{}
      return tostring(gb.gp.exact(o):condition(x, y):predict(x)), tostring(gb.gp.exact(o):predict(x))
    end
    for _, one in ipairs{text{noise = gb.full({3}, 0.01)}} do assert.equal(note, one:match "\n.*") end
    for _, one in ipairs{text{noise = 0.01}} do assert.is_nil(one:match "\n") end
    for _, one in ipairs{text{likelihood = gb.likelihoods.fixed(gb.full({3}, 0.01), {new = 0.1})}} do
      assert.is_nil(one:match "\n") end
  end)
end)

describe("a prediction computes what is looked at:", function()
  local m <const> = model():condition(x, y)
  m:predict(xs).mean:eval()

  it("nothing by itself, and no solve but alpha's for the mean", function()
    local counts <const> = counting(spied, function() m:predict(xs).mean:eval() end)
    assert.same({cholesky = 0, triangular_solve = 0, cg = 0}, counts)
    local c <const> = model{solver = cg()}:condition(x, y)
    assert.equal(1, counting(spied, function() c:predict(xs).mean:eval() end).cg)
    assert.equal(0, counting(spied, function() c:predict(xs).mean:eval() end).cg)
    assert.equal(1, counting(spied, function() c:predict(xs).f_var:eval() end).cg)
    assert.equal(1, counting(spied, function()
      local p <const> = c:predict(xs)
      gb.eval(p.f_var_bound, p.f_var)
    end).cg)
  end)

  it("one triangular solve for variances, and no (m, m) but for f_cov", function()
    local p <const> = m:predict((5 * gb.rand(2000, 2, {seed = 4})):eval())
    assert.same({cholesky = 0, triangular_solve = 1, cg = 0}, counting(spied, function()
      local _ <const> = {p.f_var, p.y_var, p:interval(0.9)}
    end))
    local lo <const>, hi <const> = p:interval(0.95)
    assert.is_true(gb.plan({p.mean, p.f_var, p.y_var, lo, hi}).peak < 2000 * 2000 * 8 / 4)
    assert.is_true(gb.plan(p.f_cov).peak >= 2000 * 2000 * 8)
  end)

  it("the factor once for all predictions", function()
    local fresh <const> = model():condition(x, y)
    local infos <const> = {}
    local counts <const> = counting(spied, function()
      for i = 1, 3 do
        local p <const> = fresh:predict(xs)
        p.f_var:eval()
        infos[i] = p.info.reused
      end
    end)
    assert.equal(1, counts.cholesky)
    assert.same({false, true, true}, infos)
  end)
end)

describe("a prediction is a value", function()
  it("of the parameters and the data it was made with, whenever it is looked at", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 3, {seed = 1}), "tanh"}
    local shared <const> = gb.param(1.5, {min = 0})
    for _, solver in ipairs{"direct", cg()} do
      local m <const> = gb.gp.exact{kernel = K.matern52{variance = shared}:warp(net), noise = 0.02, solver = solver,
        mean = gb.means.linear{}}:condition(x, y)
      local want <const> = m:predict(xs)
      gb.eval(want.mean, want.f_var, want.y_var, want.f_cov)
      local late <const>, cached <const> = m:predict(xs), m:predict(xs, {variance = "cached", rank = n})
      local draw <const> = m:draw(2, {seed = 1})
      local drawn <const> = draw(xs):eval()
      shared.value = 9
      m:get "likelihood.noise".value = 1
      m:get "mean.offset".value = 100
      for _, p in ipairs((gb.params(net))) do p.raw = p.raw * 2 end
      m:fit(x:slice(1, 1, 20), y:slice(1, 1, 20), {steps = 1})
      for _, field in ipairs{"mean", "f_var", "y_var", "f_cov"} do near(want[field], late[field], 1e-12, field) end
      near(want.f_var, cached.f_var, 1e-7)
      near(drawn, draw(xs), 0)
      assert.is_true(worst(want.mean, m:predict(xs).mean) > 0.01)
      shared.value = 1.5
    end
  end)

  it("and what was kept for it is gone when a parameter is set", function()
    local function used()
      collectgarbage() collectgarbage()
      return gb.memory.report().used
    end
    local m <const> = model():condition((4 * gb.rand(500, 2, {seed = 5})):eval(), gb.rand(500, {seed = 6}):eval())
    local before <const> = used()
    m:predict(xs).f_var:eval()
    assert.is_true(used() >= before + 500 * 500 * 8)
    m:get "likelihood.noise".value = 0.03
    assert.is_true(used() <= before + 500 * 500)
    assert.is_false(m:predict(xs).info.reused)
  end)

  it("an error while old parameters stand leaves the present ones in place", function()
    local shared <const> = gb.param(1, {min = 0})
    local fails = false
    local odd <const> = K.define("odd", {}, function(a, b)
      if fails then error "odd" end
      return (-(a - b) ^ 2):exp():prod(-1)
    end)
    local m <const> = gb.gp.exact{kernel = shared * odd{}, noise = 0.1}:condition(x, y)
    local p <const> = m:predict(xs)
    shared.value = 2
    fails = true
    assert.is_false(pcall(function() return p.mean:eval() end))
    near(2, shared.value, 0)
    fails = false
    assert.is_true(worst(p.mean, m:predict(xs).mean) > 1e-3)
  end)
end)

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
    assert.matches("1 variances lost to rounding", tostring(p.info))
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

describe("many test points", function()
  local many <const> = (4 * gb.rand(200000, 2, {seed = 9})):eval()
  local few <const> = 40

  it("are cut to the memory there is: 200,000 by a factor", function()
    local m <const> = model():condition(x, y)
    within(12 * 2 ^ 20, function()                                               -- k(x, xs) takes 229 MiB
      local p <const> = m:predict(many)
      gb.eval(p.mean, p.f_var)
      assert.is_true(least(p.f_var) >= 0)
    end)
  end)

  it("200,000 by a solver, and from a cache", function()
    local m <const> = model{solver = cg{tol = 1e-6}}:condition(x:slice(1, 1, few), y:slice(1, 1, few))
    within(16 * 2 ^ 20, function()                                               -- k(x, xs) takes 61 MiB
      local p <const> = m:predict(many)
      gb.eval(p.mean, p.f_var)
      assert.is_true(p.converged and p.info.slices > 1 and p.info.residual <= 1e-6)
      local c <const> = m:predict(many, {variance = "cached", rank = few})
      assert.is_true(worst(c.f_var, p.f_var) <= 1e-8)
    end)
  end)

  it("by a solver are the same in narrow slices", function()
    local m <const> = model{solver = cg{tol = 1e-6}}:condition(x, y)
    local points <const> = many:slice(1, 1, 500):eval()
    local wide <const> = m:predict(points)
    wide.f_var:eval()
    local p <const> = m:predict(points)
    within(2 ^ 20, function() p.f_var:eval() end)
    assert.is_true(p.info.slices > wide.info.slices)
    near(wide.f_var, p.f_var, 1e-12)
  end)

  it("are refused with the least that would do", function()
    local m <const> = model{solver = cg()}:condition(x, y)
    local p <const> = m:predict(many:slice(1, 1, 10):eval())
    collectgarbage() collectgarbage()
    local before <const> = gb.memory.limit(gb.memory.report().used + 4096)
    local ok <const>, err <const> = pcall(function() return p.f_var:eval() end)
    gb.memory.limit(before)
    assert.is_false(ok)
    assert.equal("refused", err.code)
    assert.is_true(err.minimum > 0)
    near(model():condition(x, y):predict(many:slice(1, 1, 10)).f_var, p.f_var, 1e-9)   -- nothing is lost
  end)
end)

describe("other data of the same x", function()
  local x32 <const>, at <const> = x:to(f32):eval(), xs:to(f32):eval()
  local y32 <const> = y:to(f32):eval()
  local other <const> = (10 * y32 - 3):eval()

  it("are seen where f32 data are predicted in f64", function()
    local function held()
      return gb.gp.exact{kernel = K.rbf{lengthscale = 1, variance = 1}, noise = gb.param(1e-4, {min = 0, fixed = true}),
        solver = "direct"}
    end
    local m <const>, fresh <const> = held(), held()
    m:fit(x32, y32, {steps = 0})
    local first <const> = m:predict(at)
    near(fresh:condition(x32, y32):predict(at).mean, first.mean, 1e-4)
    assert.equal("f64", first.info.precision)
    m:fit(x32, other, {steps = 0})
    near(fresh:condition(x32, other):predict(at).mean, m:predict(at).mean, 1e-4)
  end)

  it("leave draws from an earlier prediction alone", function()
    local m <const>, o <const> = model():condition(x, y), {method = "pathwise", seed = 5}
    local p <const> = m:predict(xs)
    local before <const> = p:sample(2, o):eval()
    m:fit(x, 10 * y, {steps = 1})
    near(before, p:sample(2, o), 1e-12)
  end)
end)

describe("odd inputs", function()
  it("a point that is NaN gives NaN in its place alone", function()
    local at <const> = gb.tensor{{1, 1}, {0 / 0, 1}, {2, 1}}
    for _, solver in ipairs{"direct", cg()} do
      local m <const> = model{solver = solver}:condition(x, y)
      local p <const>, fine <const> = m:predict(at), m:predict(gb.tensor{{1, 1}, {2, 1}})
      for _, field in ipairs{"mean", "f_var", "y_var"} do
        local got <const>, want <const> = p[field]:totable(), fine[field]:totable()
        assert.is_true(got[2] ~= got[2])
        near(want, {got[1], got[3]}, 1e-9)
      end
      assert.equal(0, p.info.invalid)
      assert.is_true(p.converged)
      local cov <const> = p.f_cov:slice(1, 1, 1):totable()[1]
      assert.is_true(cov[2] ~= cov[2] and math.abs(cov[3] - fine.f_cov:totable()[1][2]) < 1e-9)
    end
  end)

  it("a point that is NaN among so many that they are solved in slices", function()
    local many <const> = gb.cat({gb.tensor{{0 / 0, 1}}, gb.rand(2 ^ 18 // n + 5, 2, {seed = 1})}, 1):eval()
    local p <const> = model{solver = cg{tol = 1e-10}}:condition(x, y):predict(many)
    local v <const> = p.f_var:totable()
    assert.is_true(v[1] ~= v[1] and p.converged and p.info.slices > 1)
    near(model():condition(x, y):predict(many).f_var:slice(1, 2, #many), p.f_var:slice(1, 2, #many), 1e-8)
  end)

  it("no points, one point, no rows", function()
    for _, solver in ipairs{"direct", cg()} do
      local m <const> = model{solver = solver}:condition(x, y)
      local p <const> = m:predict(gb.zeros(0, 2))
      for _, field in ipairs{"mean", "f_var", "y_var", "f_var_bound"} do assert.equal("0", tostring(p[field].shape)) end
      assert.equal("0x0", tostring(p.f_cov.shape))
      assert.equal("3x0", tostring(p:sample(3).shape))
      assert.equal("2x0", tostring(m:draw(2)(gb.zeros(0, 2)).shape))
      local one <const> = m:predict(xs:slice(1, 1, 1))
      near(m:predict(xs).f_var:slice(1, 1, 1), one.f_var, 1e-9)
      near(one.f_var, one.f_cov:reshape(1), 1e-12)
      assert.equal("4x1", tostring(one:sample(4, {seed = 1}).shape))
      local none <const> = model{solver = solver}:condition(gb.zeros(0, 2), gb.zeros(0)):predict(xs, {variance = "cached"})
      near(gb.full({60}, 1.5), none.f_var, 1e-14)
      assert.equal("prior", none.info.algorithm)
    end
  end)

  it("at the data the variance is near 0, never below", function()
    local m <const> = model{noise = 1e-10}:condition(x, y)
    local p <const> = m:predict(x)
    assert.is_true(least(p.f_var) >= 0 and most(p.f_var) <= 1.1e-10)
  end)

  it("are told of: closed tensors, unknown options", function()
    local m <const> = model():condition(x, y)
    local t <const> = gb.ones(3, 2):eval()
    t:close()
    local text <const> = "closed tensor: x:close(), the end of its <close> variable or of a gb.func released it; use it before, "
      .. "or leave it to the collector, as models need their data"
    local a <const>, b <const> = (x * 1.0):eval(), (y * 1.0):eval()
    local of_closed <const>, of_half <const> = model():condition(a, y), model():condition(x, b)
    a:close()
    b:close()
    for _, f in ipairs{function() return m:predict(t).mean end, function() return of_closed:predict(xs).mean:eval() end,
      function() return of_half:predict(xs).mean:eval() end, function() return (of_closed:fit{steps = 1}) end} do
      local err <const> = raises("closed", text, f)
      assert.matches("predict_spec.lua:%d+", tostring(err))
    end
    raises("option", "predict: unknown option 'variances', did you mean 'variance'?", m.predict, m, xs, {variances = "cached"})
    raises("option", "option 'precision' must be one of f32, f64", m.predict, m, xs, {precision = "f16"})
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

describe("a prediction that nobody has looked at", function()
  local function solvers() return {"direct", "auto", gb.solvers.cg{}, gb.solvers.cholesky{}, gb.solvers.minres{}} end
  local several <const> = gb.stack({y, 2 * y + 1}, 2):eval()
  local makers <const> = {}
  for i, s in ipairs(solvers()) do
    makers[i] = function() return model{solver = s}:condition(x, y) end
  end
  makers[#makers + 1] = function()
    return model{solver = cg()}:condition(gb.rand(3, 2, 2, {seed = 4}), gb.randn(3, 2, {seed = 5})) end
  makers[#makers + 1] = function()
    return model{solver = cg()}:condition(x, y):condition(gb.rand(3, 2, 2, {seed = 4}), gb.randn(3, 2, {seed = 5}))
  end
  makers[#makers + 1] = function() return gb.gp.multitask{kernel = K.rbf{}, tasks = 2}:condition(x, several) end

  local function all_of(p) return {mean = p.mean, f_var = p.f_var, y_var = p.y_var, f_cov = p.f_cov} end

  it("has computed nothing, and plans compute nothing", function()
    for _, make in ipairs(makers) do
      local m <const> = make()
      local watched <const> = {cg = core, minres = core, eval = core}
      local counts <const> = counting(watched, function()
        for _, o in ipairs{{}, {variance = "cached"}} do
          local p <const> = m.x.ndim == 2 and m:predict(xs, m.y.ndim == 1 and o or nil) or m:predict(xs)
          for _, v in pairs(all_of(p)) do
            local plan <const> = gb.plan(v)
            assert.is_true(plan.seconds > 0 and plan.peak > 0 and plan.minimum > 0)
          end
        end
      end)
      assert.same({cg = 0, minres = 0, eval = 0}, counts)
    end
  end)

  it("is the same as one of a model that was asked before, bit by bit, looked at or planned and run", function()
    for _, make in ipairs(makers) do
      local ready <const>, fresh <const>, planned <const> = make(), make(), make()
      ready:predict(xs).mean:eval()
      local want <const> = all_of(ready:predict(xs))
      for name, v in pairs(all_of(fresh:predict(xs))) do assert.is_true(v:equal(want[name]), name) end
      local plan <const> = gb.plan(planned:predict(xs).f_var)
      assert.is_true(plan:run():equal(want.f_var))
      assert.is_true(plan:run():equal(want.f_var))
    end
  end)

  it("keeps what it computes in the model, once for all", function()
    local m <const> = model{solver = cg()}:condition(x, y)
    local p <const>, q <const> = m:predict(xs), m:predict(0.5 * xs)
    local means <const> = {p.mean, q.mean}
    assert.equal(1, counting(spied, function() gb.eval(means) end).cg)
    assert.equal("solve", m.update.kind)
    assert.equal(1, counting(spied, function() gb.eval(p.f_var, p.y_var, p.mean) end).cg)
  end)

  it("is what it was, whatever the model has become", function()
    local m <const> = model():condition(x, y)
    local want <const> = model():condition(x, y):predict(xs)
    local p <const>, before <const> = m:predict(xs), all_of(m:predict(xs))
    m:set("kernel.lengthscale", 3)
    m:fit(x, 2 * y, {steps = 2})
    for name, v in pairs(before) do assert.is_true(v:equal(want[name]), name) end
    assert.is_true(p.f_var:equal(want.f_var))
    near(3, model{}:condition(x, y):set("kernel.lengthscale", 3).kernel.lengthscale.value, 1e-12)
    local t <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2}:condition(x, several)
    local old <const> = t:predict(xs)
    local expected <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2}:condition(x, several):predict(xs).mean:eval()
    t:set("kernel[1].lengthscale", 3)
    t:predict(xs).mean:eval()
    assert.is_true(old.mean:equal(expected))
  end)

  it("goes with the model when both are let go", function()
    local seen <const> = setmetatable({}, {__mode = "k"})
    for _ = 1, 3 do
      local m <const> = model{solver = cg()}:condition(x, y)
      local p <const> = m:predict(xs)
      local s <const> = (p.f_var + p.mean):sum()
      seen[m], seen[p], seen[s] = true, true, true
    end
    collectgarbage() collectgarbage()
    assert.is_nil(next(seen))
  end)

  it("is mapped over points as one of a model that was asked before", function()
    local function mapped(m)
      return gb.vmap(function(at)
        local p <const> = m:predict(at:unsqueeze(1))
        return p.mean:squeeze(1) + p.f_var:squeeze(1)
      end)(xs)
    end
    local m <const> = model():condition(x, y)
    local got <const>, p <const> = mapped(m), m:predict(xs)
    near(p.mean + p.f_var, got, 1e-12)
  end)

  it("has gradients, and is part of other expressions", function()
    local m <const> = model():condition(x, y)
    local at <const> = xs:requires_grad()
    local ready <const> = model():condition(x, y)
    ready:predict(xs).mean:eval()
    local function loss(p) return (p.mean * p.f_var):sum() + p.f_cov:diagonal():sum() end
    local got <const>, want <const> = gb.grad(loss(m:predict(at)), at), gb.grad(loss(ready:predict(at)), at)
    assert.is_true(got:equal(want))
    local chained <const> = model():condition(xs, m:predict(xs, {precision = "f64"}).mean)
    near(chained:predict(xs).mean, ready:condition(xs, ready:predict(xs).mean):predict(xs).mean, 1)
    local lazy <const> = gb.solvers.cg{tol = 1e-10}:solve(gb.eye(#xs) + gb.linalg.diag(m:predict(xs,
      {variance = "cached"}).f_var), gb.ones(#xs))
    near(1 / (1 + m:predict(xs, {variance = "cached"}).f_var), lazy, 1e-8)
  end)

  it("says bytes, steps and seconds beforehand, and cheaper ways where it takes hours, which are there", function()
    local m <const> = model{solver = cg()}:condition(x, y)
    local large <const> = model{solver = gb.solvers.cg{}}:condition(gb.rand(20000, 2, {seed = 1}), gb.randn(20000, {seed = 2}))
    local first <const> = gb.plan(m:predict(xs).f_var)
    assert.matches("^the variances of %d+ points: about .+ s, a solve, .*; about %d+ steps each, at most: there was none before$",
      first.waits[1].what)
    assert.matches("  about .+ s$", tostring(first))
    assert.is_true(first:explain():find(first.waits[1].what, 1, true) == 1)
    m:predict(xs).mean:eval()
    local steps <const> = m:predict(xs).info.iterations
    assert.matches(("about %d steps each, as the last one$"):format(steps), gb.plan(m:predict(xs).f_var).waits[1].what)
    raises("refused", "what it waits for needs", gb.plan, m:predict(xs).f_var, {budget = 100})
    local many_points <const> = gb.rand(200000, 2, {seed = 3})
    local plan <const> = gb.plan(large:predict(many_points).f_var)
    local text <const> = plan.waits[1].what
    assert.is_true(plan.seconds > 3600)
    assert.matches("about %S+ hours, .*%. Less: variance = \"cached\" takes about .*; fewer points", text)
    local advice <const> = {[text:match "Less: (%w+) ="] = text:match "Less: %w+ = \"(%w+)\""}
    assert.is_true(gb.plan(large:predict(many_points, advice).f_var).seconds < plan.seconds / 10)
    local p <const> = m:predict(xs, advice)
    assert.is_true(p.f_var:isfinite():all() and p.f_var_bound:isfinite():all())
    local fits <const> = model{solver = gb.solvers.cg{}}:condition(gb.rand(5000, 2, {seed = 1}), gb.randn(5000, {seed = 2}))
    local some <const> = gb.rand(100000, 2, {seed = 3})
    assert.matches("; solver = \"direct\" takes about %S+ %a+; fewer points", gb.plan(fits:predict(some).f_var).waits[1].what)
    local direct <const> = model{solver = "direct"}:condition(fits.x, fits.y)
    assert.is_true(gb.plan(direct:predict(some).f_var).seconds < gb.plan(fits:predict(some).f_var).seconds)
  end)
end)

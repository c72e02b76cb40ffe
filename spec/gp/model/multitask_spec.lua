--- gb.gp.multitask against dense algebra: Kronecker structure, missing values, fits, predictions.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels
local nan <const> = 0 / 0

--- y (n, T) at x: shifted sines of several sizes, with noise.
local function sample(n, T, dtype)
  local x <const> = gb.linspace(0, 4, n):eval()
  local columns <const> = {}
  for t = 1, T do columns[t] = (x + 0.3 * t):sin() * (0.5 + t / 2) end
  local y <const> = gb.stack(columns, 2) + 0.05 * gb.randn(n, T, {seed = 1})
  return x:to{dtype = dtype or "f64"}:eval(), y:to{dtype = dtype or "f64"}:eval()
end

local function model(o)
  return gb.gp.multitask{kernel = o.kernel or K.rbf{lengthscale = 0.8, variance = 1.3}, tasks = o.tasks, rank = o.rank,
    noise = o.noise, mean = o.mean, solver = o.solver}
end

--- The same model by eigendecompositions and by the factor of all cells, on the same data.
local function both(o, x, y)
  local out <const> = {}
  for i, solver in ipairs{"kronecker", "direct"} do
    local settings <const> = {solver = solver}
    for key, v in pairs(o) do settings[key] = v end
    out[i] = model(settings)
    out[i]:fit(x, y, {steps = 0})
  end
  return out[1], out[2]
end

local function gradients(m)
  local list <const> = gb.params(m)
  return gb.grad(m:log_marginal_likelihood(), list, {raw = true, unused = "zero"})
end

local function agree(a, b, xs, tol)
  near(b:log_marginal_likelihood(), a:log_marginal_likelihood(), tol)
  local got <const>, want <const> = gradients(a), gradients(b)
  for i in ipairs(want) do near(want[i], got[i], tol, "gradient " .. i) end
  local p <const>, q <const> = a:predict(xs), b:predict(xs)
  for _, name in ipairs{"mean", "f_var", "y_var", "f_cov"} do near(q[name], p[name], tol, name) end
  local one <const>, other <const> = a:leave_one_out(), b:leave_one_out()
  for _, name in ipairs{"mean", "var", "log_density"} do near(other[name], one[name], 100 * tol, name) end
  local few <const> = {seed = 5, features = 64}
  local ok <const>, drawn <const> = pcall(b.draw, b, 4, few)
  if ok then near(drawn(xs), a:draw(4, few)(xs), 100 * tol, "draws") end     -- some kernels have no features
end

describe("a Kronecker product", function()
  local xs <const> = gb.linspace(-1, 5, 7)

  for label, o in pairs{
    ["common noise"] = {tasks = 3, rank = 2, noise = 0.1},
    ["noise of each task"] = {tasks = 3, rank = 1, noise = {0.1, 0.2, 0.05}},
    ["independent tasks"] = {tasks = 3, rank = 0, noise = 0.1},
    ["full rank and means"] = {tasks = 3, rank = 3, mean = gb.means.constant{0.1, -0.2, 0.3}},
    ["one task"] = {tasks = 1, noise = 0.1, mean = gb.means.constant(0.4)},
    ["a sum"] = {tasks = 2, noise = 0.1, kernel = K.rbf{} + 0.3 * K.linear{} * K.periodic{}},
    ["a product"] = {tasks = 2, noise = 0.1, kernel = 2 * K.rbf{} * K.cosine{period = 3}},
    ["equal eigenvalues"] = {tasks = 2, rank = 0, noise = 0.1, kernel = K.rbf{lengthscale = 1e-3} + K.constant{}},
  } do
    it("gives what the factor of all cells gives: " .. label, function()
      local x <const>, y <const> = sample(25, o.tasks)
      local a <const>, b <const> = both(o, x, y)
      assert.equal("kronecker", a.info.solver)
      assert.equal("direct", b.info.solver)
      agree(a, b, xs, 1e-9)
    end)
  end

  it("holds for several columns, repeated points and columns counted from the end", function()
    local x = gb.rand(12, 2, {seed = 5})
    x = gb.cat({x, x}, 1):eval()
    local y <const> = gb.randn(24, 2, {seed = 6}):eval()
    local k <const> = K.change_point(K.rbf{ard = true}, K.matern32{active_dims = {-1}}, {location = 0.5, column = -1})
    local a <const>, b <const> = both({tasks = 2, kernel = k, noise = {0.2, 0.3}}, x, y)
    assert.equal(2, a.kernel[1][1].lengthscale.numel)
    agree(a, b, gb.rand(3, 2, {seed = 7}), 1e-9)
  end)

  it("holds for one point", function()
    local a <const>, b <const> = both({tasks = 2, noise = 0.1}, gb.tensor{0.5}, gb.tensor{{1, 2}})
    agree(a, b, xs, 1e-9)
  end)

  it("holds in f32", function()
    local x <const>, y <const> = sample(25, 3, "f32")
    local a <const>, b <const> = both({tasks = 3, noise = {0.1, 0.2, 0.05}}, x, y)
    near(b:log_marginal_likelihood(), a:log_marginal_likelihood(), 1e-3)
    local p <const>, q <const> = a:predict(xs:to{dtype = "f32"}), b:predict(xs:to{dtype = "f32"})
    assert.equal("f32", p.mean.dtype)
    near(q.mean, p.mean, 1e-3)
    near(q.f_var, p.f_var, 1e-3)
  end)

  it("differentiates as differences do", function()
    local x <const>, y <const> = sample(10, 2)
    local m <const> = model{tasks = 2, noise = {0.1, 0.2}, mean = gb.means.constant{0.1, 0.2}}
    m:fit(x, y, {steps = 0})
    support.check_gradients(function() return m:log_marginal_likelihood() end, (gb.params(m)), 1e-6)
  end)

  it("fits to the point that the factor of all cells leads to", function()
    local x <const>, y <const> = sample(30, 2)
    local a <const>, b <const> = model{tasks = 2}, model{tasks = 2, solver = "direct"}
    local got <const>, want <const> = a:fit(x, y), b:fit(x, y)
    assert.equal("kronecker", got.solver)
    near(want.value, got.value, 1e-4)
    near(b:predict(xs).mean, a:predict(xs).mean, 1e-2)
  end)

  it("needs no matrix of all cells", function()
    local n <const>, T <const> = 200, 20
    local m <const> = model{tasks = T, noise = 0.1}
    m:fit(gb.linspace(0, 4, n), gb.randn(n, T, {seed = 2}), {steps = 0})
    local plan <const> = gb.plan((m:log_marginal_likelihood()))
    assert.is_true(plan.peak < 20 * 8 * n * n, plan.peak)          -- (n T)^2 values would be 400 n^2
  end)
end)

describe("missing values", function()
  local x <const>, full <const> = sample(30, 3)
  local holes <const> = gb.rand(30, 3, {seed = 3}):lt(0.25)
  local y <const> = gb.where(holes, nan, full):eval()
  local xs <const> = gb.linspace(-1, 5, 7)

  --- The cells with a value, written out by hand.
  local function written_out()
    local rows <const>, values <const> = {}, {}
    local at <const> = x:totable()
    for i, cells in ipairs(y:totable()) do
      for t, v in ipairs(cells) do
        if v == v then
          rows[#rows + 1], values[#values + 1] = {at[i], t}, v
        end
      end
    end
    return rows, values
  end

  it("are left out, exactly as if their rows were never written", function()
    local m <const> = model{tasks = 3, noise = 0.1}
    m:fit(x, y, {missing = "mask", steps = 0})
    local rows <const>, values <const> = written_out()
    assert.same({#values, 90 - #values}, {m.info.n, m.info.masked})
    assert.matches(("%d missing values of y left out"):format(90 - #values), tostring(m.info))
    assert.equal(90 - #values, m:fit{steps = 0}.masked)
    assert.equal(0, m:fit(x, full, {missing = "mask", steps = 0}).masked)
    m:fit(x, y, {missing = "mask", steps = 0})
    local long <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.8, variance = 1.3} * K.index{tasks = 3}, noise = 0.1}
    long:fit(gb.tensor(rows), gb.tensor(values), {steps = 0})
    near(long:log_marginal_likelihood(), m:log_marginal_likelihood(), 1e-12)
    local p <const> = m:predict(xs)
    for t = 1, 3 do
      local q <const> = long:predict(gb.stack({xs, xs * 0 + t}, 2))
      near(q.mean, p.mean:select(2, t), 1e-12)
      near(q.f_var, p.f_var:select(2, t), 1e-12)
      near(q.y_var, p.y_var:select(2, t), 1e-12)
    end
  end)

  it("count per task noise by the task of each value", function()
    local m <const> = model{tasks = 3, noise = {0.1, 0.2, 0.3}}
    m:fit(x, y, {missing = "mask", steps = 0})
    local rows <const>, values <const> = written_out()
    local noise <const> = {}
    for i, row in ipairs(rows) do noise[i] = row[2] / 10 end
    local long <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.8, variance = 1.3} * K.index{tasks = 3},
      noise = gb.tensor(noise)}
    long:fit(gb.tensor(rows), gb.tensor(values), {steps = 0})
    near(long:log_marginal_likelihood(), m:log_marginal_likelihood(), 1e-12)
    local p <const> = m:predict(xs)
    near({0.1, 0.2, 0.3}, (p.y_var - p.f_var)[1], 1e-12)
  end)

  for _, T in ipairs{1, 10} do
    it(("of a sine: every 4th of 41 points, %d task(s)"):format(T), function()
      local t <const> = gb.linspace(0, 1, 41)
      local sine <const> = (2 * math.pi * t):sin():unsqueeze(2):expand(41, T)
      local gone <const> = ((gb.range(1, 41) * 1.0) % 4):eq(0):unsqueeze(2):expand(41, T)
      local seen <const> = gb.where(gone, nan, sine + 0.01 * gb.randn(41, T, {seed = 4})):eval()
      local m <const> = model{tasks = T, noise = 0.01, kernel = K.rbf{lengthscale = 0.3}}
      local info <const> = m:fit(t, seen, {missing = "mask", steps = 30})
      assert.is_true(math.abs(info.value) < math.huge)
      local p <const> = m:predict(t)
      assert.is_true(p.mean:isfinite():all() and p.y_var:isfinite():all())
      assert.is_true((p.mean - sine):abs():max():item() < 0.05)
      local s <const> = m:score(t, seen, {missing = "mask"})
      assert.equal(31 * T, s.n)
      assert.is_true(s.rmse < 0.03)
    end)
  end

  it("are an error unless asked for, with the first cell and their number", function()
    local m <const> = model{tasks = 3}
    local err <const> = raises("nan", 'missing = "mask" leaves such cells out', m.fit, m, x, y)
    local count, row, task = 0, nil, nil
    for i, cells in ipairs(holes:totable()) do
      for t, gone in ipairs(cells) do
        if gone then
          count = count + 1
          if not row then row, task = i, t end
        end
      end
    end
    assert.same({row, task, count}, {err.row, err.column, err.count})
    assert.is_nil(m.x)
    raises("nan", "y is infinite in 1 cell, the first in row 2, task 1", m.fit, m, gb.tensor{1, 2},
      gb.tensor{{1, 2, nan}, {1 / 0, 1, 1}}, {missing = "mask"})
    raises("option", "needs a value in every cell, " .. 90 - count .. " of 90 have one", function()
      model{tasks = 3, solver = "kronecker"}:fit(x, y, {missing = "mask"})
    end)
    raises("shape", "there are no values to fit", m.fit, m, gb.tensor{1}, gb.tensor{{nan, nan, nan}}, {missing = "mask"})
    raises("nan", "fit: x: the value in row 2", m.fit, m, gb.tensor{1, nan}, gb.tensor{{1, 2, 3}, {1, 2, 3}})
  end)
end)

describe("gb.gp.multitask", function()
  local x <const>, y <const> = sample(20, 2)

  it("finds what tasks share", function()
    local t <const> = gb.linspace(0, 1, 60)
    local f <const> = (2 * math.pi * t):sin()
    local m <const> = model{tasks = 2, kernel = K.rbf{lengthscale = 0.3}, noise = {0.1, 0.1}}
    m:fit(t, gb.stack({f, -2 * f}, 2) + 0.05 * gb.randn(60, 2, {seed = 8}))
    local B <const> = m.kernel.tasks:matrix():totable()
    assert.is_true(B[1][2] / math.sqrt(B[1][1] * B[2][2]) < -0.95)
    local s <const> = m:score(t, gb.stack({f, -2 * f}, 2))
    assert.is_true(s.tasks[1].mae < 0.05 and s.tasks[2].mae < 0.05)
    assert.equal(120, s.n)
    near(60 * (s.tasks[1].rmse ^ 2 + s.tasks[2].rmse ^ 2), 120 * s.rmse ^ 2, 1e-9)
    assert.matches("\ntask 2: rmse", tostring(s))
    local half <const> = m:score(t, gb.where(gb.tensor{true, false}, gb.stack({f, -2 * f}, 2), nan), {missing = "mask"})
    near({s.tasks[1].nlpd, s.tasks[1].crps, s.tasks[1].coverage95}, {half.nlpd, half.crps, half.coverage95}, 1e-9)
    assert.equal(0, half.tasks[2].n)
    assert.matches("\ntask 2: no values$", tostring(half))
  end)

  it("is the prior without data", function()
    local m <const> = model{tasks = 2, noise = {0.5, 0.25}, mean = gb.means.constant{3, 4}}
    local p <const> = m:predict(gb.tensor{0, 1, 2})
    near({{3, 4}, {3, 4}, {3, 4}}, p.mean, 1e-12)
    near({{1.3, 1.3}, {1.3, 1.3}, {1.3, 1.3}}, p.f_var, 1e-12)
    near({{1.8, 1.55}, {1.8, 1.55}, {1.8, 1.55}}, p.y_var, 1e-12)
  end)

  it("gives records of all tasks: intervals, draws, no points", function()
    local m <const> = model{tasks = 2, noise = 0.1}
    m:fit(x, y, {steps = 0})
    local p <const> = m:predict(gb.linspace(0, 4, 5))
    local lo <const>, hi <const> = p:interval(0.9)
    assert.is_true((lo:lt(p.mean) & hi:gt(p.mean)):all())
    local draws <const> = p:sample(4000, {seed = 1})
    assert.same({4000, 5, 2}, {table.unpack(draws.shape)})
    assert.is_true((draws:mean(1) - p.mean):abs():max():item() < 0.05)
    near(p.f_var, draws:var(1), 0.05)
    assert.same({0, 2}, {table.unpack(m:predict(gb.zeros(0, 1)).mean.shape)})
  end)

  it("predicts each cell from all others, missing ones left out", function()
    local holes <const> = gb.where(y:gt(1.2), nan, y)
    for _, cells in ipairs{y, holes} do
      local m <const> = model{tasks = 2, noise = {0.1, 0.2}}
      m:fit(x, cells, {missing = "mask", steps = 0})
      local r <const> = m:leave_one_out()
      local known <const> = cells:eq(cells)
      assert.same({20, 2}, {table.unpack(r.mean.shape)})
      assert.equal(math.tointeger(known:to{dtype = "f64"}:sum():item()), r.n)
      local squares, density = 0, 0
      for i = 1, 20, 3 do
        for t = 1, 2 do
          local there <const> = known[i][t]:item()
              local left_out <const> = gb.range(1, 20):eq(i):unsqueeze(2) & gb.tensor{{1, 2}}:eq(t)
          local rest <const> = model{tasks = 2, noise = {0.1, 0.2}}
          rest:fit(x, gb.where(left_out, nan, cells), {missing = "mask", steps = 0})
          local p <const> = rest:predict(x:slice(1, i, i))
          if there then
            near(p.mean[1][t], r.mean[i][t], 1e-9)
            near(p.y_var[1][t], r.var[i][t], 1e-9)
          else
            assert.is_true(r.mean[i][t]:isnan():item() and r.var[i][t]:isnan():item() and r.log_density[i][t]:isnan():item())
          end
        end
      end
      for i, row in ipairs(gb.where(known, y - r.mean, 0):totable()) do
        for t, e in ipairs(row) do
          squares = squares + e * e
          density = density + (known[i][t]:item() and r.log_density[i][t]:item() or 0)
        end
      end
      near({math.sqrt(squares / r.n), -density / r.n}, {r.rmse, r.nlpd}, 1e-12)
    end
  end)

  it("draws functions of all tasks, with the posterior's mean and spread", function()
    local holes <const> = gb.where(y:gt(1.2), nan, y)
    local xs <const> = gb.linspace(-1, 5, 6)
    for _, cells in ipairs{y, holes} do
      local m <const> = model{tasks = 2, noise = {0.1, 0.2}, rank = 2}
      m:fit(x, cells, {missing = "mask", steps = 0})
      local f <const>, p <const> = m:draw(6000, {seed = 3, features = 4096}), m:predict(xs)
      assert.same({6000, 6, 2}, {table.unpack(f(xs).shape)})
      assert.is_true(f.converged)
      near(p.mean, f(xs):mean(1), 0.06)
      near(p.f_var, f(xs):var(1), 0.09)
      near(f(xs):select(2, 2), f(xs:slice(1, 2, 2)):select(2, 1), 1e-9)   -- a function: the same point, the same value
    end
    local prior <const> = model{tasks = 2, kernel = K.constant{}, noise = 1}:condition(gb.zeros(0, 1), gb.zeros(0, 2))
    local v <const> = prior:draw(20000, {seed = 4, features = 512})(gb.zeros(1, 1)):squeeze(2)
    near({{1, 0.5}, {0.5, 1}}, v:t():matmul(v) / 20000, 0.08)          -- B as it starts
    local alone <const> = gb.gp.exact{kernel = K.index{tasks = 3, rank = 1}}:condition(gb.tensor{{2}}, gb.tensor{0.7})
    local tasks <const> = gb.tensor{{1}, {2}, {3}}
    near(alone:predict(tasks).f_var, alone:draw(20000, {seed = 1})(tasks):var(1), 0.05)
  end)

  it("draws from f32 data as it predicts, in f64", function()
    local at <const> = gb.linspace(0, 1, 40):to{dtype = "f32"}:eval()
    local values <const> = gb.stack({(6 * at):sin(), (5 * at):cos()}, 2):eval()
    local m <const> = gb.gp.multitask{kernel = K.rbf{lengthscale = 0.3}, tasks = 2, noise = 1e-8}:condition(at, values)
    local draws <const> = m:draw(3, {seed = 1})(at)
    assert.equal("f32", draws.dtype)
    assert.is_true((draws - values):abs():max():item() < 5e-4)
  end)

  it("draws as much of each task, also of more tasks than features", function()
    local total
    for seed = 1, 150 do
      local m <const> = gb.gp.multitask{kernel = K.constant{}, tasks = 12, noise = 1}:condition(gb.zeros(0, 1), gb.zeros(0, 12))
      local v <const> = m:draw(40, {seed = seed, features = 16})(gb.zeros(1, 1)):squeeze(2)
      local square <const> = (v * v):mean(1)
      total = (total and total + square or square):eval()
    end
    near(gb.ones(12), total / 150, 0.3)
  end)

  it("plans a training step as it then runs", function()
    local m <const> = model{tasks = 2, noise = 0.1}
    local whole <const> = m:plan(x, y)
    local masked <const> = m:plan(x, gb.where(y:gt(1.2), nan, y), {missing = "mask"})
    assert.matches('"eigh', whole:json(), 1, true)
    assert.matches('"cholesky', masked:json(), 1, true)
    assert.is_nil(m.x)
    m:fit(x, y, {steps = 0})
    assert.equal(whole.peak, m:plan().peak)
    raises("refused", "", m.plan, m, {budget = 1000})
  end)

  it("fits again from where it is, and shows its parameters", function()
    local m <const> = model{tasks = 2}
    m:fit(x, y, {steps = 3})
    local before <const> = m.info.value
    assert.matches("^fit of 40 values of 2 tasks, kronecker: ", tostring(m.info))
    assert.is_true(m:fit{steps = 5}.value < before)
    assert.matches("^gp.multitask  2 tasks, 20 points, 1 column, 40 of 40 values, f64\n", tostring(m))
    assert.matches("kernel.tasks.weights", tostring(m), 1, true)
    m:get "likelihood.noise".value = {0.1, 0.3}
    near({0.1, 0.3}, m.likelihood.noise.value, 1e-12)
  end)

  it("takes the structure anew with other data", function()
    local m <const> = model{tasks = 2, noise = 0.1}
    m:fit(x, gb.where(y:gt(1.4), nan, y), {missing = "mask", steps = 0})
    assert.equal("direct", m.info.solver)
    m:fit(x, y, {steps = 0})
    assert.equal("kronecker", m.info.solver)
    assert.equal("kronecker", m:predict(x).info.algorithm)
    m:fit(x:slice(1, 1, 9), y:slice(1, 1, 9), {steps = 0})
    local fresh <const> = model{tasks = 2, noise = 0.1}
    fresh:fit(x:slice(1, 1, 9), y:slice(1, 1, 9), {steps = 0})
    near(fresh:predict(x).mean, m:predict(x).mean, 1e-12)
    m:fit(x, gb.where(y:gt(1.4), nan, y), {missing = "mask", steps = 0})
    assert.equal("direct", m.info.solver)
    assert.equal("direct", m:predict(x).info.algorithm)
  end)

  it("predicts with the parameters as they are, and leaves records as they were", function()
    local a <const>, b <const> = both({tasks = 2, noise = {0.1, 0.2}}, x, y)
    local before <const>, unseen <const> = a:predict(x), a:predict(x)
    local mean <const> = before.mean:eval()
    for _, m in ipairs{a, b} do m:get "kernel[1].lengthscale".value = 0.3 end
    near(b:predict(x).mean, a:predict(x).mean, 1e-9)
    near(b:predict(x).f_var, a:predict(x).f_var, 1e-9)
    near(mean, unseen.mean, 1e-12)
    assert.is_false(mean:allclose(a:predict(x).mean))
    assert.is_true(a:predict(x).info.reused)
  end)

  it("takes means of the points: slopes one a column, functions", function()
    local wide <const> = gb.rand(15, 2, {seed = 11})
    local targets <const> = gb.randn(15, 2, {seed = 12}):eval()
    for _, mean in ipairs{gb.means.linear{slope = 0.5, offset = 0}, function(t) return t:sum(2) / 2 end} do
      local a <const>, b <const> = both({tasks = 2, mean = mean, noise = 0.1}, wide, targets)
      agree(a, b, gb.rand(3, 2, {seed = 13}), 1e-9)
      if gb.type(mean) ~= "function" then
        assert.equal(2, a:get "mean.slope".numel)
        assert.equal(2, b:condition(wide, targets):get "mean.slope".numel)
      end
      local c <const> = model{tasks = 2, mean = gb.means.linear{slope = {0.5, 0.5}, offset = 0}, noise = 0.1}
      c:fit(wide, targets, {steps = 0})
      near(c:log_marginal_likelihood(), a:log_marginal_likelihood(), 1e-9)
      near(wide:sum(2) / 2, model{tasks = 2, mean = mean}:predict(wide).mean:select(2, 2), 1e-12)
    end
  end)

  it("shares no parameter with its parts, but explicit ones", function()
    local k <const>, v <const> = K.rbf{lengthscale = 0.8}, gb.param(0.2, {min = 0})
    local a <const> = gb.gp.multitask{kernel = k, tasks = 2, noise = v}
    local b <const> = gb.gp.multitask{kernel = k, tasks = 2, noise = v}
    a:fit(x, y, {steps = 5})
    near(0.8, k.lengthscale.value, 1e-12)
    near(0.8, b:get "kernel[1].lengthscale".value, 1e-12)
    near(v.value, b:get "likelihood.noise".value, 0)
  end)

  it("checks what it is given", function()
    raises("option", "a kernel is needed", gb.gp.multitask, {tasks = 2})
    raises("option", "tasks, the number of outputs, is needed", gb.gp.multitask, {kernel = K.rbf{}})
    raises("shape", "3 noise variances for 2 tasks", gb.gp.multitask, {kernel = K.rbf{}, tasks = 2, noise = {1, 2, 3}})
    raises("shape", "3 constant means for 2 tasks", gb.gp.multitask, {kernel = K.rbf{}, tasks = 2,
      mean = gb.means.constant{1, 2, 3}})
    raises("option", "unknown option 'task', did you mean 'tasks'?", gb.gp.multitask, {kernel = K.rbf{}, task = 2})
    raises("option", "white noise belongs into noise", gb.gp.multitask, {kernel = K.rbf{} + K.white{}, tasks = 2})
    local m <const> = model{tasks = 2}
    raises("shape", "y must be (20, 2), a column a task, got shape 20", m.fit, m, x, y:select(2, 1))
    raises("dtype", "x is f64, y is f32", m.fit, m, x, y:to{dtype = "f32"})
    raises("option", "the model holds no data", m.fit, m)
    m:fit(x, y, {steps = 0})
    raises("shape", "the model was given 1 column", m.predict, m, gb.zeros(3, 2))
    local wide <const> = model{tasks = 2, kernel = K.rbf{lengthscale = {1, 2}}}:condition(gb.rand(4, 2), gb.zeros(4, 2))
    raises("option", "a function cannot be drawn from kernel 'piecewise_polynomial'", function()
      model{tasks = 2, kernel = K.piecewise_polynomial{}}:condition(x, y):draw(2)
    end)
    raises("option", "draw: the number of functions must be 1 or more", wide.draw, wide, 0)
    raises("option", "draw: the model holds no data", function() model{tasks = 2}:draw() end)
    raises("shape", "draw: the model was given 2 columns", function() wide:draw(2)(gb.zeros(3, 1)) end)
    raises("option", "leave_one_out: the model holds no data", function() model{tasks = 2}:leave_one_out() end)
    raises("option", "plan: the model holds no data", function() model{tasks = 2}:plan() end)
    raises("shape", "y must be (20, 2)", m.plan, m, x, y:select(2, 1))
    local mean <const> = m:predict(x).mean:eval()
    local err <const> = raises("option", "unknown option 'stepz'", m.fit, m, x:slice(1, 1, 5), y:slice(1, 1, 5), {stepz = 1})
    assert.matches("^%.?/?spec/", err.line)
    raises("option", "fit: options must be a table, got number 5", m.fit, m, x:slice(1, 1, 5), y:slice(1, 1, 5), 5)
    raises("option", "fit: the budget", m.fit, m, x:slice(1, 1, 5), y:slice(1, 1, 5), {budget = "lots"})
    assert.equal(20, #m.x)
    near(mean, m:predict(x).mean, 0)
    raises("option", "has no field 'predictt' (did you mean 'predict'?)", function() return m.predictt end)
  end)
end)

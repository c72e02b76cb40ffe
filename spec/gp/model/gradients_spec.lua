--- Models whose data have derivatives, and derivatives that models of values predict, against dense formulas written here.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const>, d <const> = 12, 2
local x <const> = gb.rand(n, d, {seed = 1}):eval()
local t <const> = gb.rand(4, d, {seed = 2}):eval()
local L <const>, VARIANCE <const> = {0.7, 0.4}, 1.7
local NOISE <const>, SLOPES <const>, LEVEL <const> = 0.01, {0.05, 0.2}, 0.3

--- f = sin(3 x1) + x1 x2 and its derivatives, (n, 1 + d).
local function truth(at)
  local a <const>, b <const> = at:select(2, 1), at:select(2, 2)
  return gb.stack({(3 * a):sin() + a * b, 3 * (3 * a):cos() + b, a}, 2):eval()
end

local y <const> = (truth(x) + 0.1 * gb.randn(n, 1 + d, {seed = 3})):eval()

-- The reference -----------------------------------------------------------------------------------------------------------------

--- Rows as lists {point, kind} of points of p (a table), kind 0 for the value; 'known' says which.
local function rows_of(p, known)
  local out <const> = {}
  for i, point in ipairs(p:totable()) do
    for kind = 0, d do
      if not known or known(i, kind) then out[#out + 1] = {point, kind, i} end
    end
  end
  return out
end

--- The covariance of two rows under the squared exponential kernel, by its closed form.
local function covariance(a, b)
  local s, p <const>, q <const> = 0.0, a[2], b[2]
  local function scaled(c) return (a[1][c] - b[1][c]) / L[c] ^ 2 end
  for c = 1, d do s = s + ((a[1][c] - b[1][c]) / L[c]) ^ 2 end
  local k <const> = VARIANCE * math.exp(-s / 2)
  if p == 0 and q == 0 then return k end
  if q == 0 then return -scaled(p) * k end
  if p == 0 then return scaled(q) * k end
  return ((p == q and 1 / L[p] ^ 2 or 0) - scaled(p) * scaled(q)) * k
end

local function matrix(a, b)
  local out <const> = {}
  for i, r in ipairs(a) do
    out[i] = {}
    for j, c in ipairs(b) do out[i][j] = covariance(r, c) end
  end
  return gb.tensor(out)
end

local function level(rows)
  local out <const> = {}
  for i, r in ipairs(rows) do out[i] = r[2] == 0 and LEVEL or 0.0 end
  return gb.tensor(out)
end

--- Mean and covariance at every kind of t, and the log marginal likelihood, from the rows of the data and their values.
local function posterior(rows, values, noises)
  local noise <const> = {}
  for i, r in ipairs(rows) do noise[i] = noises[r[2] + 1] end
  local C <const> = matrix(rows, rows) + gb.linalg.diag(gb.tensor(noise))
  local all <const>, r <const> = rows_of(t), gb.tensor(values) - level(rows)
  local cross <const> = matrix(all, rows)
  local value <const> = -0.5 * ((r * gb.linalg.solve(C, r)):sum() + 2 * gb.linalg.cholesky(C):diagonal():log():sum()
    + #rows * math.log(2 * math.pi))
  return {mean = (level(all) + cross:matmul(gb.linalg.solve(C, r))):reshape(4, 1 + d), value = value,
    cov = matrix(all, all) - cross:matmul(gb.linalg.solve(C, cross:t())), C = C, r = r}
end

local function values_of(rows, of)
  local out <const>, cells <const> = {}, of:totable()
  for i, r in ipairs(rows) do out[i] = cells[r[3]][r[2] + 1] end
  return out
end

local function kernel() return K.rbf{lengthscale = L, variance = VARIANCE} end

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or kernel(), gradients = true, noise = NOISE, gradient_noise = o.noise or SLOPES,
    mean = o.mean or gb.means.constant(LEVEL), solver = o.solver}
end

local function gaps(cell)
  local cells <const> = y:totable()
  for i = 1, n do
    for k = 0, d do
      if not cell(i, k) then cells[i][k + 1] = 0 / 0 end
    end
  end
  return gb.tensor(cells)
end

-- Some rows have values alone, some one derivative, one nothing.
local function known(i, k) return i ~= 5 and (k == 0 and i ~= 3 or k == 1 and i > 6 or k == 2 and i % 2 == 1) end

describe("gb.gp.exact of values and derivatives", function()
  it("has the posterior and the likelihood of the dense formulas", function()
    local rows <const> = rows_of(x)
    local want <const> = posterior(rows, values_of(rows, y), {NOISE, SLOPES[1], SLOPES[2]})
    local m <const> = model():condition(x, y)
    local p <const> = m:predict(t)
    near(want.mean, p.mean, 1e-10)
    near(want.cov, p.f_cov, 1e-10)
    near(want.cov:diagonal():reshape(4, 1 + d), p.f_var, 1e-10)
    near(p.f_var + gb.tensor{NOISE, SLOPES[1], SLOPES[2]}, p.y_var, 1e-14)
    near(want.value, m:log_marginal_likelihood(), 1e-9)
    near(-0.5 * ((truth(t) - p.mean) ^ 2 / p.y_var + (2 * math.pi * p.y_var):log()), p:log_density(truth(t)), 1e-12)
    near(p.mean, p.y_mean, 0)
    raises("shape", "y must be (4, 3), a row a point", p.log_density, p, gb.ones(4))
    assert.equal("prediction of f and 2 derivatives at 4 points", tostring(p):match "^[^:]*")
    assert.equal("2x4x3", tostring(p:sample(2, {seed = 1}).shape))
  end)

  it("leaves out cells that are NaN, of values or of derivatives", function()
    local rows <const> = rows_of(x, known)
    local want <const> = posterior(rows, values_of(rows, y), {NOISE, SLOPES[1], SLOPES[2]})
    local m <const>, with_gaps <const> = model():condition(x, gaps(known), {missing = "mask"}), gaps(known)
    near(want.mean, m:predict(t).mean, 1e-10)
    near(want.cov, m:predict(t).f_cov, 1e-10)
    near(want.value, m:log_marginal_likelihood(), 1e-9)
    raises("nan", 'in row 1, the column of derivatives by column 1 of x; missing = "mask"', m.fit, m, x, with_gaps)
    local Ci <const> = gb.linalg.solve(want.C, gb.eye(#rows))
    local loo <const>, of_rows <const> = m:leave_one_out(), Ci:matmul(want.r) / Ci:diagonal()
    local cells <const> = loo.mean:totable()
    for i, row in ipairs(rows) do
      local got <const> = cells[row[3]][row[2] + 1]
      near(y[row[3]][row[2] + 1]:item() - of_rows[i]:item(), got, 1e-9)
    end
    assert.equal(#rows, loo.n)
  end)

  it("works by a solver as by a factor", function()
    local a <const>, b <const> = model():condition(x, y), model{solver = "cg"}:condition(x, y)
    near(a:predict(t).mean, b:predict(t).mean, 1e-6)
    near(a:predict(t).f_var, b:predict(t).f_var, 1e-6)
  end)

  it("has gradients of the likelihood by every parameter", function()
    local m <const> = model{kernel = K.matern52{lengthscale = L, variance = VARIANCE} * K.periodic{lengthscale = 2, period = 3},
      mean = gb.means.linear{slope = {0.2, -0.3}, offset = 0.1}}:condition(x, gaps(known), {missing = "mask"})
    support.check_gradients(function() return m:log_marginal_likelihood() end, (gb.params(m)), 1e-6)
  end)

  it("fits noise of values and of derivatives apart, and finds the function", function()
    local far <const> = gb.rand(40, d, {seed = 5})
    local clean <const> = truth(far)
    local noisy <const> = gb.cat({clean:slice(2, 1, 1) + 0.02 * gb.randn(40, 1, {seed = 6}),
      clean:slice(2, 2, 3) + 0.3 * gb.randn(40, 2, {seed = 7})}, 2)
    local m <const> = gb.gp.exact{kernel = K.rbf{ard = true}, gradients = true}
    local info <const> = m:fit(far, noisy)
    assert.is_true(info.converged)
    assert.equal(80, info.derivatives)
    assert.matches("fit of 40 values and 80 derivatives", tostring(info), 1, true)
    local noise <const>, slopes <const> = m.likelihood.noise.value:item(), m.likelihood.gradient_noise.value
    assert.is_true(noise > 0.01 ^ 2 and noise < 0.04 ^ 2)
    assert.equal(2, #slopes)
    assert.is_true(slopes:min():item() > 0.15 ^ 2 and slopes:max():item() < 0.6 ^ 2)
    assert.is_true(m:score(t, truth(t)).rmse < 0.15)
    assert.equal("df/dx2", m:score(t, truth(t)).tasks[3].name)
    assert.matches("40 points, 2 columns, 40 values, 80 derivatives, f64", tostring(m), 1, true)
  end)

  it("begins fits at the scale of values, and of derivatives", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, gradients = true}
    m:fit(x, 10 * y, {steps = 0})
    local values <const>, slopes <const> = 10 * y:slice(2, 1, 1), 10 * y:slice(2, 2, 3)
    near((values * values):mean(), m.kernel.variance.value, 1e-12)
    near(0.1 * values:var(), m.likelihood.noise.value, 1e-12)
    near((0.1 * (slopes * slopes):mean()):expand(2), m.likelihood.gradient_noise.value, 1e-12)
    near(1e-6 * values:var():item(), m.likelihood.noise.min, 1e-15)
    near(1e-6 * slopes:var():item(), m.likelihood.gradient_noise.min, 1e-15)
  end)

  it("takes more observations, onto the factor, and gives some back", function()
    local first <const>, rest <const> = x:slice(1, 1, 7), x:slice(1, 8, n)
    local all <const> = gaps(known)
    local small <const> = model():condition(first, all:slice(1, 1, 7), {missing = "mask"})
    small:predict(t).mean:eval()
    local m <const> = small:condition(rest, all:slice(1, 8, n), {missing = "mask"})
    assert.equal("append", m.update.kind)
    local whole <const> = model():condition(x, all, {missing = "mask"})
    near(whole:predict(t).mean, m:predict(t).mean, 1e-10)
    near(whole:predict(t).f_cov, m:predict(t).f_cov, 1e-10)
    near(whole:log_marginal_likelihood(), m:log_marginal_likelihood(), 1e-10)
    local a <const>, b <const> = whole:leave_one_out().mean, m:leave_one_out().mean
    local zero <const> = a * 0
    near(gb.where(a:eq(a), a, 9), gb.where(b:eq(b), b, 9), 1e-9)
    assert.equal(zero.numel, b.numel)
    local less <const> = m:remove{8, 9, 10, 11, 12}
    near(small:predict(t).mean, less:predict(t).mean, 1e-10)
  end)

  it("is saved, loaded and copied with its bits", function()
    local path <const> = support.path ".gb"
    local m <const> = model{kernel = K.rbf{lengthscale = L}:named "near" + K.linear{active_dims = {-1}},
      mean = gb.means.linear{slope = {0.2, -0.3}} + 1}:condition(x, gaps(known), {missing = "mask"})
    m:save(path)
    local l <const> = gb.load(path)
    assert.is_true(l:predict(t).mean:eq(m:predict(t).mean):all())
    assert.is_true(l:predict(t).f_var:eq(m:predict(t).f_var):all())
    assert.equal(tostring(m), tostring(l))
    local c <const> = m:copy()
    c.kernel.near.lengthscale = {0.3, 0.3}
    near(L[1], m.kernel.near.lengthscale.value[1]:item(), 0)
    assert.is_false(c:predict(t).mean:eq(m:predict(t).mean):all())
    local line <const> = gb.stack({1 + t:matmul(gb.tensor{0.2, -0.3}), gb.full({4}, 0.2), gb.full({4}, -0.3)}, 2)
    near(m:predict(t).mean, m:predict(t, {kernel = "near"}).mean + m:predict(t, {kernel = "kernel[2]"}).mean + line, 1e-11)
  end)

  it("predicts f alone where that is asked for, and the prior without data", function()
    local m <const> = model():condition(x, y)
    local p <const>, q <const> = m:predict(t), m:predict(t, {gradients = false})
    near(p.mean:select(2, 1), q.mean, 1e-13)
    near(p.f_var:select(2, 1), q.f_var, 1e-13)
    local prior <const> = model():predict(t)
    near(matrix(rows_of(t), rows_of(t)), prior.f_cov, 1e-12)
    near(gb.tensor{LEVEL, 0, 0}:expand(4, 3), prior.mean, 0)
  end)

  it("is planned by its rows, and refused beyond a budget", function()
    local m <const> = model()
    local plan <close> = m:plan(x, y)
    assert.is_true(plan.peak >= 8 * (n * (1 + d)) ^ 2 // 2)
    local text <const> = " for 12 values and 24 derivatives, the budget is 1 KiB"
    assert.is_true(raises("refused", text, m.fit, m, x, y, {budget = "1 KiB"}).minimum > 1024)
    raises("refused", text, m.plan, m, x, y, {budget = "1 KiB"})
  end)

  it("takes frames, and names what does not fit", function()
    local f <const> = gb.data.frame{a = x:select(2, 1), b = x:select(2, 2), f = y:select(2, 1), fa = y:select(2, 2),
      fb = y:select(2, 3)}
    local m <const> = model()
    m:fit(f, {"f", "fa", "fb"}, {inputs = {"a", "b"}, steps = 0})
    near(model():condition(x, y):predict(t).mean, m:predict(t).mean, 1e-12)
    assert.equal("fb", m:score(f).tasks[3].name)
    raises("shape", "y must be (12, 3), f in the first column, then its derivative by each column of x", m.fit, m, x,
      y:select(2, 1))
    raises("shape", "gradient_noise has 3 variances for 2 columns", m.condition, model{noise = {1, 1, 1}}, x, y)
    raises("option", "no standardize", gb.gp.exact, {kernel = kernel(), gradients = true, standardize = true})
    raises("option", "stand for a likelihood", gb.gp.exact,
      {kernel = kernel(), gradients = true, likelihood = gb.likelihoods.gaussian(1)})
    raises("option", "gradient_noise is for data that have derivatives", gb.gp.exact, {kernel = kernel(), gradient_noise = 1})
    raises("option", "no random features", m.draw, m, 1)
  end)

  it("refuses a kernel of the script whose functions have no derivative", function()
    local rough <const> = K.define("rough", {l = 0.5}, function(a, b, p) return (-(a - b):abs() / p.l):exp():prod(-1) end)
    local smooth <const> = K.define("smooth", {l = 0.5}, function(a, b, p) return (-((a - b) / p.l) ^ 2):exp():prod(-1) end)
    raises("option", "functions of kernel 'rough' have no derivative by column 1", model().condition,
      model{kernel = rough{}}, x, y)
    local m <const> = gb.gp.exact{kernel = rough{}, noise = 0.1}:condition(x, y:select(2, 1))
    raises("option", "functions of kernel 'rough' have no derivative by column 1", m.predict, m, t, {gradients = true})
    assert.is_true(model{kernel = smooth{}}:condition(x, y):predict(t).mean:isfinite():all())
    assert.is_true(model{kernel = smooth{l = 1e-6}}:condition(x, y):predict(t).mean:isfinite():all())
  end)
end)

describe("gradients of predictions of a model of values", function()
  local values <const> = y:select(2, 1):eval()
  local function only_values(_, k) return k == 0 end

  it("are those of the dense formulas", function()
    local rows <const> = rows_of(x, only_values)
    local want <const> = posterior(rows, values_of(rows, y), {NOISE})
    local m <const> = gb.gp.exact{kernel = kernel(), noise = NOISE, mean = gb.means.constant(LEVEL)}:condition(x, values)
    local p <const> = m:predict(t, {gradients = true})
    near(want.mean, p.mean, 1e-10)
    near(want.cov, p.f_cov, 1e-10)
    near(p.f_var + gb.tensor{NOISE, 0, 0}, p.y_var, 1e-14)
    near(m:predict(t).mean, p.mean:select(2, 1), 1e-13)
    local scaled <const> = gb.gp.exact{kernel = kernel(), noise = NOISE, standardize = true}:condition(10 * x, 5 * values)
    local q <const> = scaled:predict(10 * t, {gradients = true})
    near(-0.5 * ((5 * truth(t) - q.mean) ^ 2 / q.y_var + (2 * math.pi * q.y_var):log()), q:log_density(5 * truth(t)), 1e-9)
    raises("shape", "y must be (4, 3), a row a point", q.log_density, q, gb.ones(4, 2))
    raises("shape", "y must be (4, 3), a row a point", q.log_density, q, 3)
    local lo <const>, hi <const> = p:interval(0.95, {of = "f"})
    near(2 * 1.959963984540054 * p.f_var:sqrt(), hi - lo, 1e-10)
    local plan <close> = gb.plan(m:copy():predict(t, {gradients = true}).f_var)
    assert.is_true(plan.peak > 0)
  end)

  it("are those of p.mean, by every way of computing", function()
    local k <const> = K.matern52{lengthscale = L} * K.periodic{period = 3} + K.linear{}
    local at <const> = t:requires_grad()
    for _, o in ipairs{{}, {standardize = true}, {solver = "cg"}, {mean = function(p) return p:select(2, 1) ^ 2 end}} do
      local m <const> = gb.gp.exact{kernel = k, noise = 0.1, standardize = o.standardize, solver = o.solver, mean = o.mean}
      m:fit(x, values, {steps = 3})
      local p <const> = m:predict(at, {gradients = true})
      near(gb.grad(m:predict(at).mean:sum(), at), p.mean:slice(2, 2, 3), 1e-7)
      local function quotient(h)
        local pair <const> = gb.cat({t:slice(1, 1, 1) + gb.tensor{h, 0}, t:slice(1, 1, 1) - gb.tensor{h, 0}}, 1)
        local c <const> = m:predict(pair).f_cov
        return (c[1][1] + c[2][2] - 2 * c[1][2]):item() / (4 * h * h)
      end
      near((4 * quotient(1e-3) - quotient(2e-3)) / 3, p.f_var[1][2]:item(), 1e-5)
      near(p.f_cov:diagonal():reshape(4, 3), p.f_var, 1e-9)
    end
  end)

  it("go through gb.vmap and gb.grad, and add up over the parts of a kernel", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}:named "trend" + K.periodic{period = 3}, noise = 0.1}:condition(x, values)
    local whole <const> = m:predict(t, {gradients = true})
    local each <const> = gb.vmap(function(row)
      return m:predict(row:unsqueeze(1), {gradients = true}).mean:reshape(3)
    end)
    near(whole.mean, each(t), 1e-12)
    near(whole.mean, m:predict(t, {kernel = "trend", gradients = true}).mean
      + m:predict(t, {kernel = "kernel[2]", gradients = true}).mean, 1e-12)
    local at <const> = t:requires_grad()
    local g <const> = gb.grad(m:predict(at, {gradients = true}).mean:select(2, 2):sum(), at)
    local h <const> = gb.tensor{1e-4, 0}
    local up <const>, down <const> = m:predict(t + h, {gradients = true}).mean, m:predict(t - h, {gradients = true}).mean
    near((up - down):select(2, 2) / 2e-4, g:select(2, 1), 1e-6)
  end)

  it("are computed in f64 where f32 could lose them, and keep the data's type", function()
    local narrow <const> = {dtype = "f32"}
    local m <const> = gb.gp.exact{kernel = kernel(), noise = 1e-6, mean = gb.means.constant(LEVEL)}:condition(x:to(narrow),
      values:to(narrow))
    local p <const> = m:predict(t:to(narrow), {gradients = true})
    assert.equal("f32", p.mean.dtype)
    assert.equal("f64", p.info.precision)
    local wide <const> = gb.gp.exact{kernel = kernel(), noise = 1e-6, mean = gb.means.constant(LEVEL)}:condition(
      x:to(narrow):to "f64", values:to(narrow):to "f64"):predict(t:to(narrow):to "f64", {gradients = true})
    near(wide.mean, p.mean:to "f64", 1e-5)
  end)

  it("are refused by models that have none", function()
    local sparse <const> = gb.gp.sgpr{kernel = kernel(), inducing = 3}
    raises("option", "a model of gb.gp.sgpr has no derivatives of f", sparse.predict, sparse, t, {gradients = true})
    local several <const> = gb.gp.multitask{kernel = kernel(), tasks = 2}
    raises("option", "a model of gb.gp.multitask has no derivatives of f", several.predict, several, t, {gradients = true})
    local rough <const> = gb.gp.exact{kernel = K.matern12{}}:condition(x, values)
    raises("option", "'matern12' have no derivative", rough.predict, rough, t, {gradients = true})
  end)
end)

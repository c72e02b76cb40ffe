--- Variational models: the ELBO against GPyTorch (scripts/reference/elbo.py) and the collapsed bound, gradients, natural gradients,
-- minibatches, the surface that they share with exact models.
local elbo <const> = require "gibbous.gp.svgp.elbo"
local fit <const> = require "gibbous.gp.svgp.fit"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const>, m <const> = 40, 7
local i <const>, j <const> = gb.range(0, n - 1, 1, {dtype = "f64"}), gb.range(0, m - 1, 1, {dtype = "f64"})
local x <const> = gb.stack({(1.7 * i + 0.3):sin(), (2.3 * i):cos()}, 2):eval()
local y <const> = ((3 * x:select(2, 1)):sin() + x:select(2, 2) ^ 2 + 0.1 * (11 * i):cos()):eval()
local z <const> = gb.stack({(2.9 * j + 1):sin(), (1.1 * j + 0.5):cos()}, 2):eval()
local classes <const> = gb.where(y:gt(0.5), 1.0, 0.0):eval()
local at <const>, there <const> = gb.rand(6, 2, {seed = 3}):eval(), gb.randn(6, {seed = 4}):eval()

local function kernel() return K.matern52{lengthscale = {0.8, 1.1}, variance = 1.3} end

local function new(o)
  local all <const> = {kernel = kernel(), inducing = z, noise = not (o and o.likelihood) and 0.07 or nil}
  for key, v in pairs(o or {}) do all[key] = v end
  return gb.gp.svgp(all)
end

local function collapsed(o)
  local all <const> = {kernel = kernel(), inducing = z, noise = 0.07}
  for key, v in pairs(o or {}) do all[key] = v end
  return gb.gp.sgpr(all):condition(x, y)
end

--- A model that holds data, with the q of the script: N(mean, root root') of whitened values.
local function of_script(likelihood, values)
  local a <const> = likelihood and new{likelihood = likelihood} or new()
  a:fit(x, values, {steps = 0})
  local row <const>, column <const> = j:unsqueeze(2), j:unsqueeze(1)
  local root <const> = gb.where(row:gt(column), 0.05 * (row + 2 * column):cos(), gb.where(row:eq(column), 0.5 + 0.1 * row, 0.0))
  local precision <const> = gb.linalg.solve(root:matmul(root:t()), gb.eye(m))
  return a:set{["q.precision"] = precision, ["q.shift"] = precision:matmul(0.3 * j:sin())}
end

local function free(a)
  local out <const>, raws <const> = fit.free(a), {}
  for k, p in ipairs(out) do raws[k] = p.raw end
  return out, raws
end

describe("the ELBO of gb.gp.svgp", function()
  it("is GPyTorch's at equal parameters", function()
    -- GPyTorch adds its jitter to the variances of f too.
    near(-469.274887608008 + n * 1.3e-8 / (2 * 0.07), (of_script(nil, y):log_marginal_likelihood()), 1e-10)
    near(-38.852687413168, (of_script(gb.likelihoods.bernoulli{points = 60}, classes):log_marginal_likelihood()), 1e-8)
  end)

  it("is the collapsed bound after one natural step of rate 1 on all rows, whatever q was", function()
    for _, whiten in ipairs{true, false} do
      for _, o in ipairs{{}, {noise = (0.05 + 0.02 * (1 + i:sin())):eval()}} do
        local a <const> = new{whiten = whiten, noise = o.noise or 0.07}
        for _ = 1, 2 do
          a:fit(x, y, {steps = 1, rate = 1, lr = 1e-300, polish = false})
          local want <const> = gb.gp.sgpr{kernel = kernel(), inducing = z, noise = o.noise or 0.07}
          want:fit(x, y, {steps = 0})
          near((want:log_marginal_likelihood()), a.info.log_likelihood, 1e-9)
          for _, name in ipairs{"mean", "f_cov"} do near(want:predict(at)[name], a:predict(at)[name], 1e-8, name) end
        end
      end
    end
  end)

  it("is that of a full q of the same mean and covariance, for every q", function()
    for _, q in ipairs{"diagonal", "low_rank"} do
      for _, whiten in ipairs{true, false} do
        local a <const> = new{q = q, rank = q == "low_rank" and 3 or nil, whiten = whiten}
        local full <const> = new{whiten = whiten}
        for _, one in ipairs{a, full} do one:fit(x, y, {steps = 0}) end
        local mean <const>, scale <const> = 0.3 * j:sin(), 0.5 + 0.1 * j
        a:set{["q.mean"] = mean, ["q.scale"] = scale}
        local S = gb.linalg.diag(scale * scale)
        if q == "low_rank" then
          local weights <const> = 0.7 * (j:unsqueeze(2) + 2 * gb.tensor{{0, 1, 2}}):cos()
          a:set{["q.weights"] = weights}
          S = S + weights:matmul(weights:t())
        end
        local precision <const> = gb.linalg.solve(S, gb.eye(m))
        full:set{["q.precision"] = (precision + precision:t()) / 2, ["q.shift"] = precision:matmul(mean)}
        near((full:log_marginal_likelihood()), (a:log_marginal_likelihood()), 1e-9, q)
        for _, name in ipairs{"mean", "f_cov"} do near(full:predict(at)[name], a:predict(at)[name], 1e-8, name) end
      end
    end
  end)

  it("has the gradients of differences, for every q", function()
    for _, q in ipairs{"full", "diagonal", "low_rank"} do
      for _, whiten in ipairs{true, false} do
        local a <const> = new{q = q, rank = q == "low_rank" and 3 or nil, whiten = whiten, mean = gb.means.constant(0.3)}
        a:fit(x, y, {steps = 2, lr = 0.01, polish = false})
        local list <const> = free(a)
        support.check_gradients(function() return a:log_marginal_likelihood() end, list, 2e-6)
      end
    end
  end)

  it("has slopes of steps, written out, that are those of its expression", function()
    local known <const> = (0.05 + 0.02 * (1 + i:sin())):eval()
    local varying <const> = gb.likelihoods.heteroscedastic{log_variance = gb.means.linear{}, noise = 0.07}
    for _, case in ipairs{{{noise = 0.07}, y}, {{noise = known}, y, known}, {{likelihood = varying}, y},
      {{likelihood = gb.likelihoods.bernoulli{}}, classes}, {{likelihood = gb.likelihoods.student_t{}}, y}} do
      local o <const>, values <const>, noise <const> = table.unpack(case)
      o.mean = gb.means.constant(0.3)
      local a <const> = new(o)
      a:fit(x, values, {steps = 3, polish = false})
      local list <const>, raws <const> = free(a)
      local t <const> = fit.tensors(a, list, x, values, noise, 2.5, 0.1)
      local whole <const> = elbo.negative(a, x, values, 2.5, noise)
      near(whole, t.value, 1e-11)
      for k, g in ipairs(gb.grad(whole, raws, {unused = "zero"})) do near(g, t.slopes[k], 1e-9, list[k].name) end
    end
  end)
end)

describe("gb.gp.svgp", function()
  it("moves every parameter by the rate in the first step of Adam, whatever its slope", function()
    local a <const> = new()
    a:fit(x, y, {steps = 0})
    local before <const> = a.kernel.variance.raw:item()
    a:fit(x, y, {steps = 1, lr = 0.01, polish = false})
    near(0.01, math.abs(a.kernel.variance.raw:item() - before), 1e-6)
  end)

  it("fits in minibatches to nearly what the collapsed bound's fit finds", function()
    local a <const> = gb.gp.svgp{kernel = K.matern52{}, inducing = 16, batch = 20}
    local values <const> = {}
    local info <const> = a:fit(x, y, {steps = 400, lr = 0.06, on_step = function(s) values[s.step] = s.value end})
    local best <const> = gb.gp.sgpr{kernel = K.matern52{}, inducing = 16}
    best:fit(x, y)
    assert.is_true(info.log_likelihood > best.info.log_likelihood - 6)
    assert.is_true(info.log_likelihood <= best.info.log_likelihood + 1)
    assert.equal(400, #info.history)
    assert.equal(values[400], info.history[400].value)
    assert.matches("^fit of 40 points, svgp: not converged %(step limit reached%), evidence lower bound", tostring(info))
    assert.matches("^gp.svgp  40 points, 2 columns, f64; 16 inducing points, kmeans\n", tostring(a))
    near((a:log_marginal_likelihood()), info.log_likelihood, 1e-9)
    assert.is_true(a:bounds().upper >= info.log_likelihood)
  end)

  it("takes rows in an order that the seed fixes, to the same bits within any budget", function()
    local function bits(o)
      local a <const> = gb.gp.svgp{kernel = kernel(), inducing = 8, noise = 0.1, batch = 15}
      a:fit(x, y, o)
      return {a.info.value, a.inducing.points:totable(), a.q.precision:totable()}
    end
    local first <const> = bits{steps = 7, seed = 1}
    assert.same(first, bits{steps = 7, seed = 1})
    assert.same(first, bits{steps = 7, seed = 1, budget = "1 MiB"})
    assert.is_not.same(first, bits{steps = 7, seed = 2})
    assert.same(bits{steps = 8}, bits{epochs = 3})                    -- 120 rows in batches of 15
  end)

  it("sees every row once an epoch, across the ends of epochs", function()
    local rows <const> = gb.range(0, 9, 1, {dtype = "f64"}):reshape(10, 1)
    local a <const> = gb.gp.svgp{kernel = K.rbf{}, inducing = rows:slice(1, 1, 2), noise = 0.1}
    a:fit(rows, rows:squeeze(2), {steps = 0})
    local known <const>, seen <const> = {}, {}
    for k = 1, 5 do                                                    -- 5 batches of 4: two epochs
      for _, row in ipairs(fit.rows_of(k, 4, 10, 0, known):totable()) do seen[row] = (seen[row] or 0) + 1 end
    end
    for row = 1, 10 do assert.equal(2, seen[row]) end
  end)

  it("reads rows of a mapped file", function()
    local path <const> = os.tmpname()
    os.remove(path)
    gb.data.write(path .. ".npy", x)
    gb.data.write(path .. "-y.npy", y)
    local a <const>, b <const> = new{batch = 10}, new{batch = 10}
    a:fit(x, y, {steps = 5})
    b:fit(gb.data.read(path .. ".npy"), gb.data.read(path .. "-y.npy"), {steps = 5})
    assert.equal(a.info.value, b.info.value)
    os.remove(path .. ".npy")
    os.remove(path .. "-y.npy")
  end)

  it("classifies, counts, and says how well", function()
    local a <const> = gb.gp.svgp{kernel = K.matern52{}, inducing = 12, likelihood = gb.likelihoods.bernoulli{}, batch = 20}
    local before <const> = -n * math.log(2)
    a:fit(x, classes, {steps = 150})
    assert.is_true(a.info.log_likelihood > before)
    local s <const> = a:score(x, classes)
    assert.is_true(s.accuracy > 0.9 and s.nlpd < 0.4)
    assert.same({6, 2}, {a:predict(at).probabilities.shape[1], a:predict(at).probabilities.shape[2]})
    local counts <const> = (3 + 2 * (3 * x:select(2, 1)):sin()):floor():eval()
    local c <const> = gb.gp.svgp{kernel = K.rbf{}, inducing = 10, likelihood = gb.likelihoods.poisson{}}
    c:fit(x, counts, {steps = 100})
    assert.is_true(c:score(x, counts).nlpd < 2)
  end)

  it("draws values at its places by their joint covariance, others for another seed", function()
    local a <const> = of_script(nil, y)
    local p <const>, f <const> = a:predict(z), a:draw(4000, {seed = 1, features = 4000})(z)
    local centred <const> = f - f:mean(1)
    near(p.f_cov, centred:t():matmul(centred) / 4000, 0.1 * p.f_var:max():item())
    local others <const> = a:draw(4000, {seed = 2, features = 4000})(z)
    assert.is_true((f - others):abs():mean():item() > 0.5 * p.f_var:min():item() ^ 0.5)
  end)

  it("takes more points in, draws, copies and saves", function()
    local a <const>, path <const> = new(), os.tmpname()
    local b <const> = a:condition(x, y):condition(at, there)
    local want <const> = collapsed():condition(at, there)
    for _, name in ipairs{"mean", "f_cov"} do near(want:predict(x)[name], b:predict(x)[name], 1e-8, name) end
    local f <const> = b:draw(4000, {seed = 1, features = 4000})(at)
    near(b:predict(at).mean, f:mean(1), 0.03)
    near(b:predict(at).f_var, f:var(1), 0.05)
    near(b:predict(at).mean, b:copy():predict(at).mean, 0)
    for _, q in ipairs{"full", "diagonal", "low_rank"} do
      local one <const> = new{q = q}
      one:fit(x, y, {steps = 3})
      one:save(path)
      local l <const> = gb.load(path)
      for _, name in ipairs{"mean", "f_var"} do assert.same(one:predict(at)[name]:totable(), l:predict(at)[name]:totable()) end
      assert.equal(tostring(one), tostring(l))
      assert.equal(one.batch, l.batch)
      assert.is_true(one:plan().peak > 0)
    end
    os.remove(path)
  end)

  it("has predictions with gradients", function()
    for _, q in ipairs{"full", "low_rank"} do
      local a <const> = new{q = q}
      a:fit(x, y, {steps = 3, polish = false})
      local list <const> = {a:get "kernel.lengthscale", a:get "kernel.variance", a:get "inducing.points"}
      support.check_gradients(function() return a:predict(at).mean:sum() + a:predict(at).f_var:sum() end, list, 1e-6)
    end
  end)

  it("takes frames, as the collapsed model does", function()
    local f <const> = gb.data.frame{a = x:select(2, 1), b = x:select(2, 2), y = y}
    for _, make in ipairs{gb.gp.svgp, gb.gp.sgpr} do
      local one <const>, two <const> = make{kernel = kernel(), inducing = z, noise = 0.07}, make{kernel = kernel(), inducing = z,
        noise = 0.07}
      one:fit(f, "y", {steps = 2})
      two:fit(x, y, {steps = 2})
      assert.same(two:predict(x).mean:totable(), one:predict(f).mean:totable())
      assert.equal(46, #one:condition(gb.data.frame{b = at:select(2, 2), a = at:select(2, 1), y = there}).x)
    end
  end)

  it("stops at a time limit, or when a step says so, and keeps what it has", function()
    local a <const> = new{batch = 10}
    assert.equal("time limit reached", a:fit(x, y, {seconds = 0.05}).reason)
    local b <const> = new{batch = 10}
    local info <const> = b:fit(x, y, {steps = 50, on_step = function(s) return s.step < 4 end})
    assert.same({true, 4}, {info.interrupted, info.iterations})
    assert.is_true(b:predict(at).mean:isfinite():all())
  end)

  it("scales its data as by hand, and speaks in their units", function()
    local big <const>, large <const> = (5 * x + 3):eval(), (20 * y - 7):eval()
    local scaled_x <const>, scaler_x <const> = gb.data.standardize(big)
    local scaled_y <const>, scaler_y <const> = gb.data.standardize(large)
    for _, make in ipairs{gb.gp.svgp, gb.gp.sgpr} do
      local function one(o) return make{kernel = K.matern52{}, inducing = 8, noise = 0.1, standardize = o} end
      local by_hand <const>, by_model <const> = one(), one(true)
      by_hand:fit(scaled_x, scaled_y, {steps = 6})
      by_model:fit(big, large, {steps = 6})
      local p <const>, q <const> = by_hand:predict(scaler_x:apply(5 * at)), by_model:predict(5 * at)
      near(scaler_y:undo(p.mean), q.mean, 1e-12)
      near(scaler_y:undo_var(p.y_var), q.y_var, 1e-12)
      local shift <const> = n * math.log(scaler_y.sd:item())
      near(by_hand.info.log_likelihood - shift, by_model.info.log_likelihood, 1e-9)
      near(by_hand:bounds().upper - shift, by_model:bounds().upper, 1e-9)
      near(by_hand:bounds().lower - shift, by_model:bounds().lower, 1e-9)
      near((by_hand:log_marginal_likelihood()) - shift, (by_model:log_marginal_likelihood()), 1e-9)
      near(by_model.info.history[1].value, by_hand.info.history[1].value + shift, 1e-9)
      local more <const> = by_hand:condition(scaler_x:apply(at), scaler_y:apply(there))
      near(scaler_y:undo(more:predict(scaler_x:apply(big)).mean), by_model:condition(at, there):predict(big).mean, 1e-9)
      local path <const> = os.tmpname()
      by_model:save(path)
      assert.same(q.mean:totable(), gb.load(path):predict(5 * at).mean:totable())
      os.remove(path)
    end
    raises("option", "observations that are not Gaussian are not scaled: standardize = {x = true}", new,
      {likelihood = gb.likelihoods.bernoulli{}, standardize = true})
    local c <const> = new{likelihood = gb.likelihoods.bernoulli{}, standardize = {x = true}}
    assert.is_true(c:fit(big, classes, {steps = 3}).log_likelihood < 0)
  end)

  it("stays as it is where another model takes more rows in", function()
    for _, make in ipairs{gb.gp.svgp, gb.gp.sgpr} do
      local a <const> = make{kernel = kernel(), inducing = z, noise = 0.07}
      a:fit(x, y, {steps = 2})
      local before <const> = a:predict(at).mean:totable()
      local b <const> = a:condition(at, there)
      assert.same(before, a:predict(at).mean:totable())
      b:fit{steps = 2}
      assert.same(before, a:predict(at).mean:totable())
    end
  end)

  it("takes f32 data and computes in f64", function()
    local narrow <const>, wide <const> = {dtype = "f32"}, {dtype = "f64"}
    local x32 <const>, y32 <const> = x:to(narrow):eval(), y:to(narrow):eval()
    for _, make in ipairs{gb.gp.svgp, gb.gp.sgpr} do
      local one <const>, two <const> = make{kernel = kernel(), inducing = z, noise = 0.07}, make{kernel = kernel(), inducing = z,
        noise = 0.07}
      local still <const> = make == gb.gp.svgp and {steps = 1, lr = 1e-300} or {steps = 0}
      one:fit(x32, y32, still)
      two:fit(x32:to(wide):eval(), y32:to(wide):eval(), still)
      local p <const> = one:predict(at:to(narrow))
      assert.equal("f32", p.mean.dtype)
      for _, name in ipairs{"mean", "y_var"} do near(two:predict(at:to(narrow):to(wide))[name], p[name]:to(wide), 1e-6, name) end
      near(two.info.log_likelihood, one.info.log_likelihood, 1e-9)
      assert.equal("f64", one:log_marginal_likelihood().dtype)
    end
  end)

  it("stops where its patience ends, by a rule on the ELBO of epochs", function()
    local values <const> = {}
    local a <const> = new{batch = 10}
    local info <const> = a:fit(x, y, {steps = 400, lr = 1e-300, rate = 1, patience = 2,
      on_step = function(s) values[s.step] = s.value end})
    local function mean(from, to)
      local sum = 0
      for k = from, to do sum = sum + values[k] / (to - from + 1) end
      return sum
    end
    local first
    for k = 16, #values do
      if not first and mean(k - 7, k) >= mean(k - 15, k - 8) then first = k end
    end
    assert.equal(first, info.iterations)
    assert.is_true(info.iterations < 400 and info.converged and #values == info.iterations)
    assert.equal("no better over the last 2 epochs", info.reason)
    assert.is_false(new{batch = 10}:fit(x, y, {steps = 16, patience = 3}).converged)
    raises("option", "patience is 1 epoch or more", a.fit, a, x, y, {patience = 0.5})
  end)

  it("fits counts of any size, from any mean", function()
    local t <const> = gb.linspace(0, 1, 120):unsqueeze(2):eval()
    for _, level in ipairs{4, 18, 30} do
      local f <const> = (level + (6 * t:select(2, 1)):sin()):eval()
      for _, likelihood in ipairs{gb.likelihoods.poisson{}, gb.likelihoods.negative_binomial{dispersion = 0.01}} do
        local a <const> = gb.gp.svgp{kernel = K.rbf{lengthscale = 0.2}, inducing = 12, batch = 40, likelihood = likelihood}
        local info <const> = a:fit(t, f:exp():round(), {steps = 60})
        assert.is_true(info.log_likelihood > -math.huge)
        assert.is_true((a:predict(t).mean - f):abs():max():item() < (likelihood.kind == "poisson" and 0.3 or 1),
          ("%s %d"):format(likelihood.kind, level))
      end
    end
  end)

  it("names the row of y that has no density, and what may help", function()
    local a <const> = new{likelihood = gb.likelihoods.poisson{},
      mean = function(p) return 1e4 * (p:select(2, 1) - 0.9) end}
    a:fit(x, (i + 2):floor(), {steps = 0})
    local err <const> = raises("nan", "fit: the ELBO of step 1 is not finite: row ", a.fit, a, {steps = 2})
    local row <const>, value <const>, mean <const> = err.message:match(
      "row (%d+) of y, (%d+), has no finite log density where f has mean (%S+) and variance 1.3; other values of mean")
    assert.equal(row + 1, value + 0)                                  -- y of row i is i + 1
    assert.is_true(mean + 0 > 700)
    raises("option", "row 3 of y is 1e+16, expected a count, 0 or more; f64 has every whole number up to 2^53", a.fit, a,
      x, gb.where(i:eq(2), 1e16, 3.0))
  end)

  it("keeps the first fit within a budget, or refuses it and says what does without", function()
    local far <const> = gb.rand(600, 2, {seed = 5}):eval()
    local values <const> = (4 * far):sin():sum(2):eval()
    local a <const> = gb.gp.svgp{kernel = K.rbf{}, inducing = 8, batch = 50}
    local err <const> = raises("refused", "This is the first fit, an exact one to 500 of the rows, of parameters without given",
      a.fit, a, far, values, {budget = "1 MiB", steps = 3})
    assert.is_true(err.minimum > 2 ^ 20)
    a:fit(far, values, {budget = err.minimum, steps = 3})
    local free <const> = gb.gp.svgp{kernel = K.rbf{}, inducing = 8, batch = 50}
    free:fit(far, values, {steps = 3})
    assert.same(free.q.shift:totable(), a.q.shift:totable())
    local given <const> = gb.gp.svgp{kernel = K.rbf{lengthscale = 1, variance = 1}, noise = 0.1, inducing = 8, batch = 50}
    given:fit(far, values, {budget = "1 MiB", steps = 3})
  end)

  it("takes what depends on parameters as data: residuals of a model, outputs of a network", function()
    local first <const> = gb.gp.exact{kernel = kernel(), noise = 0.1}:condition(x, y)
    local rest <const>, seen <const> = y - first:predict(x).mean, gb.nn.linear(2, 2, {seed = 1})(x)
    local function ended(make, o, opts)
      return make(o):fit(seen, rest, opts).value, make(o):fit(seen:detach():eval(), rest:detach():eval(), opts).value
    end
    for _, q in ipairs{"adam", "lbfgs"} do
      local value <const>, plain <const> = ended(gb.gp.svgp, {kernel = K.rbf{}, inducing = z}, {steps = 3, method = q})
      assert.equal(plain, value)
    end
    local value <const>, plain <const> = ended(gb.gp.sgpr, {kernel = K.rbf{}, inducing = z}, {steps = 3})
    assert.equal(plain, value)
    local known <const> = ended(gb.gp.sgpr, {kernel = K.rbf{}, inducing = z, noise = gb.param(0.1) * gb.ones(n)}, {steps = 1})
    assert.is_true(known == known)
  end)

  it("refuses what it cannot do, and says what does it", function()
    raises("option", "a batch of 50 rows is larger than the data, 40 rows: batch = 40 at most",
      function() new():fit(x, y, {batch = 50}) end)
    raises("option", "give steps or epochs, not both", function() new():fit(x, y, {steps = 1, epochs = 1}) end)
    raises("option", 'rank is for q = "low_rank"', new, {rank = 3})
    raises("option", "the 3 latent functions of 'softmax' are whitened: leave out whiten = false", new,
      {likelihood = gb.likelihoods.softmax{classes = 3}, whiten = false})
    raises("option", "gb.gp.sgpr has Gaussian noise; gb.gp.svgp takes gb.likelihoods.poisson", gb.gp.sgpr,
      {kernel = K.rbf{}, inducing = 3, likelihood = gb.likelihoods.poisson{}})
    raises("option", "has no closed form of one more row", function()
      new{likelihood = gb.likelihoods.poisson{}}:condition(x, gb.ones(n))
    end)
    raises("option", "row 1 of y is 1.8749, expected 0 or 1", function() new{likelihood = gb.likelihoods.bernoulli{}}:fit(x, y) end)
    raises("option", "leave_one_out: a model of this class has no closed form of it", function()
      new():condition(x, y):leave_one_out()
    end)
  end)
end)

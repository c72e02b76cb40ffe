local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local raises <const> = (require "spec.support").raises

-- B sets of n points, with levels and noises of their own.
local function data(B, n, seed)
  local x <const> = gb.rand(B, n, 2, {seed = seed}):eval()
  local scale <const> = (1 + gb.rand(B, 1, {seed = seed + 1})):eval()
  local y <const> = (scale * (4 * x:select(3, 1)):sin() + x:select(3, 2) + 0.1 * gb.randn(B, n, {seed = seed + 2})):eval()
  return x, y
end

local function options() return {kernel = gb.kernels.matern52{ard = true}, mean = gb.means.constant()} end

local PATHS <const> = {"kernel.lengthscale", "kernel.variance", "mean.value", "likelihood.noise"}

local function same(a, b) return a:eq(b):all() end

local function check_bits(m, alone, what)
  for _, path in ipairs(PATHS) do assert.is_true(same(m:get(path).value, alone:get(path).value), what .. " " .. path) end
  for _, key in ipairs{"value", "evaluations", "iterations", "reason", "restarts", "converged", "noise_floor"} do
    assert.equal(alone.info[key], m.info[key], what .. " " .. key)
  end
end

local function near(a, b, tol, what)
  local worst <const> = (a - b):abs():max():item()
  assert.is_true(worst <= tol, ("%s: %g"):format(what, worst))
end

describe("a batch of models", function()
  it("gives every model the bits of one that is fitted alone", function()
    local x <const>, y <const> = data(6, 30, 10)
    for name, o in pairs{usual = {}, restarts = {restarts = 2, seed = 3}, adam = {method = "adam", steps = 20},
      starts = {starts = {{["kernel.lengthscale"] = 0.2}}}} do
      local b <const> = gb.gp.batch(options())
      local info <const> = b:fit(x, y, o)
      assert.equal(6, #b)
      assert.equal(0, #info.failed)
      for i = 1, 6 do
        local alone <const> = gb.gp.exact(options())
        alone:fit(x:select(1, i), y:select(1, i), o)
        check_bits(b[i], alone, ("%s %d"):format(name, i))
        assert.equal(alone.info.log_likelihood, info.log_likelihood[i]:item())
      end
    end
  end)

  it("fits by the leave-one-out density as one alone does, to rounding, and to the bit in any batch", function()
    local x <const>, y <const> = data(3, 30, 15)
    local b <const>, single <const>, alone <const> = gb.gp.batch(options()), gb.gp.batch(options()), gb.gp.exact(options())
    b:fit(x, y, {objective = "loo"})
    single:fit(x:slice(1, 2, 2), y:slice(1, 2, 2), {objective = "loo"})
    check_bits(single[1], b[2], "alone in its batch")
    alone:fit(x:select(1, 2), y:select(1, 2), {objective = "loo"})
    for _, path in ipairs(PATHS) do near(b[2]:get(path).value:log(), alone:get(path).value:log(), 1e-8, path) end
    assert.equal("loo", b[2].info.objective)
  end)

  it("does not depend on the size and the order of the batch", function()
    local x <const>, y <const> = data(7, 25, 20)
    local whole <const>, back <const> = gb.gp.batch(options()), gb.gp.batch(options())
    whole:fit(x, y)
    local xs <const>, ys <const> = {}, {}
    for i = 1, 5 do xs[i], ys[i] = x:select(1, 8 - i), y:select(1, 8 - i) end
    back:fit(xs, ys)
    for i = 1, 5 do check_bits(back[i], whole[8 - i], "model " .. i) end
  end)

  it("takes models of other numbers of rows, and rows without y", function()
    local xs <const>, ys <const> = {}, {}
    for i, n in ipairs{22, 30, 22, 27, 30} do
      local x <const>, y <const> = data(1, n, 30 + i)
      xs[i], ys[i] = x:select(1, 1), y:select(1, 1)
    end
    ys[2] = gb.where(gb.range(1, 30):eq(4), 0 / 0, ys[2]):eval()
    local b <const> = gb.gp.batch(options())
    local info <const> = b:fit(xs, ys, {missing = "mask"})
    assert.equal(1, info.reports[2].masked)
    for i = 1, 5 do
      local alone <const> = gb.gp.exact(options())
      alone:fit(xs[i], ys[i], {missing = "mask"})
      check_bits(b[i], alone, "model " .. i)
    end
    assert.equal(29, #b[2].x)
    local p <const> = b:predict(xs)
    for i = 1, 5 do near(p.mean[i], b[i]:predict(xs[i]).mean, 1e-10, "mean " .. i) end
  end)

  it("keeps bounds, priors, ties and what is held, each model for itself", function()
    local x <const>, y <const> = data(4, 25, 50)
    local function made(maker)
      local l <const> = gb.param(0.3, {min = 0.05, max = 0.4})
      local v <const> = gb.param(1, {min = 0, prior = gb.priors.gamma{shape = 2, rate = 1}})
      return maker{kernel = gb.kernels.rbf{lengthscale = l, variance = v}
        + gb.kernels.linear{variance = gb.param(0.5, {fixed = true})}, noise = gb.param(0.1, {min = 1e-3})}, l
    end
    local b <const>, l <const> = made(gb.gp.batch)
    b:fit(x, y)
    assert.equal(0.3, l.value:item())                               -- the script's own parameter is nobody's
    for i = 1, 4 do
      local alone <const> = made(gb.gp.exact)
      alone:fit(x:select(1, i), y:select(1, i))
      local m <const> = b[i]
      for _, path in ipairs{"kernel[1].lengthscale", "kernel[1].variance", "kernel[2].variance", "likelihood.noise"} do
        assert.equal(alone:get(path).value:item(), m:get(path).value:item(), path)
      end
      assert.equal(alone.info.log_prior, m.info.log_prior)
    end
    local all <const> = b:get "kernel[1].lengthscale"
    assert.equal(4, #all)
    assert.is_true(all:max():item() <= 0.4 and all:min():item() >= 0.05)
  end)

  it("names the model that fails and leaves the others what they are", function()
    local x <const>, y <const> = data(5, 20, 60)
    local good <const> = gb.gp.batch(options())
    good:fit(x, y)
    local bad <const> = gb.where(gb.range(1, 5):eq(3):unsqueeze(2) & gb.range(1, 20):eq(7):unsqueeze(1), 0 / 0, y):eval()
    local b <const> = gb.gp.batch(options())
    local info <const> = b:fit(x, bad)
    assert.equal(1, #info.failed)
    assert.equal(3, info.failed[1].model)
    assert.matches("row 7", info.failed[1].reason)
    assert.matches("model 3: .*row 7", tostring(info))
    assert.is_nil(info.reports[3])
    for _, i in ipairs{1, 2, 4, 5} do check_bits(b[i], good[i], "model " .. i) end
    raises("option", "b[3]: this model has no result: ", function() return b[3] end)
    local p <const> = b:predict(x)
    assert.is_true(p.mean:select(1, 3):isnan():all() and b:get "kernel.variance":isnan():select(1, 3):item() == true)
    assert.is_true(p.mean:select(1, 2):isfinite():all())
  end)

  it("reports a covariance without a factor by the number of its model", function()
    local x <const>, y <const> = data(3, 12, 70)
    local twice <const> = gb.where(gb.range(1, 3):eq(2):reshape(3, 1, 1), x:slice(2, 1, 1), x):eval()   -- all rows the same
    local b <const> = gb.gp.batch{kernel = gb.kernels.rbf{}, noise = 0}
    local info <const> = b:fit(twice, y)
    assert.equal(1, #info.failed)
    assert.equal(2, info.failed[1].model)
    assert.matches("of order 2 of 12 is not positive", info.failed[1].reason)
  end)

  it("predicts and scores what each model does", function()
    local x <const>, y <const> = data(4, 30, 80)
    local z <const>, w <const> = data(4, 9, 90)
    for _, standardize in ipairs{false, true} do
      local o <const> = options()
      o.standardize = standardize or nil
      local b <const> = gb.gp.batch(o)
      b:fit(x, y)
      local p <const>, s <const> = b:predict(z), b:score(z, w)
      assert.same({4, 9}, {table.unpack(p.mean.shape)})
      for i = 1, 4 do
        local m <const> = b[i]
        local q <const>, t <const> = m:predict(z:select(1, i)), m:score(z:select(1, i), w:select(1, i))
        for _, key in ipairs{"mean", "f_var", "y_var"} do near(p[key]:select(1, i), q[key], 1e-9, key) end
        for _, key in ipairs{"rmse", "mae", "nlpd", "coverage95"} do
          local off <const> = math.abs(s[key][i]:item() - t[key])
          assert.is_true(off <= 1e-8, ("%s %g"):format(key, off))
        end
      end
      local shared <const> = b:predict(z:select(1, 1))
      near(shared.mean:select(1, 2), b[2]:predict(z:select(1, 1)).mean, 1e-9, "shared points")
    end
  end)

  it("takes frames, one set of inputs for all, draws and copies", function()
    local x <const>, y <const> = data(3, 20, 100)
    local frames <const> = {}
    for i = 1, 3 do
      local own <const> = x:select(1, i)
      frames[i] = gb.data.frame{a = own:select(2, 1), b = own:select(2, 2), y = y:select(1, i)}
    end
    local named <const>, plain <const> = gb.gp.batch(options()), gb.gp.batch(options())
    named:fit(frames, "y")
    plain:fit(x, y)
    for i = 1, 3 do check_bits(named[i], plain[i], "frame " .. i) end
    assert.is_true(same(named:predict(frames[2]).mean, plain:predict(x:select(1, 2)).mean))
    assert.is_true(same(named:predict(frames).mean[3], plain:predict(x).mean:select(1, 3)))
    local broken <const> = {frames[1], gb.data.frame{a = gb.ones(4), b = gb.ones(4), y = gb.full({4}, 0 / 0)}}
    assert.equal(2, named:copy():fit(broken, "y").failed[1].model)
    local half <const> = gb.gp.batch(options())
    half:fit(broken, "y")
    assert.is_true(half:predict(broken).mean[2]:isnan():all())
    raises("option", "predict: the points of model 2 must be a tensor or a frame, got 1", function() half:predict{broken[1], 1} end)
    local together <const> = gb.gp.batch(options())
    together:fit(x:select(1, 1), y)
    local alone <const> = gb.gp.exact(options())
    alone:fit(x:select(1, 1), y:select(1, 2))
    check_bits(together[2], alone, "shared inputs")
    local f <const> = plain:draw(2, {seed = 5})
    assert.is_true(same(f(x):select(1, 2), plain[2]:draw(2, {seed = 6})(x:select(1, 2))))
    local copy <const> = plain:copy()
    copy:fit(x, -y)
    assert.is_true(same(plain:predict(x).mean, named:predict(x).mean))
    local own <const> = plain[1]
    own:set("kernel.variance", 7)
    assert.is_true(plain[1]:get "kernel.variance".value:item() ~= 7)
  end)

  it("keeps the models that were fitted when Ctrl-C comes", function()
    local x <const>, y <const> = data(1, 20, 140)
    local long_x <const>, long_y <const> = data(2, 24, 150)
    local asked = 0
    local function mean(t)
      if #t == 24 then asked = asked + 1 end
      if asked > 2 then error(core.error("interrupted", "interrupted"), 0) end      -- checks of the data ask once a model
      return t:select(2, 1) * 0
    end
    local b <const> = gb.gp.batch{kernel = gb.kernels.rbf{}, mean = mean}
    local info <const> = b:fit({long_x:select(1, 1), x:select(1, 1), long_x:select(1, 2)},
      {long_y:select(1, 1), y:select(1, 1), long_y:select(1, 2)})
    assert.is_true(info.interrupted)
    assert.equal(0, #info.failed)
    assert.equal(20, #b[2].x)
    assert.is_true(b[2].info.converged)
    raises("option", "b[1]: this model has no result: the fit was interrupted before it", function() return b[1] end)
    assert.is_true(info.log_likelihood[3]:isnan():item())
  end)

  it("is saved and loaded with its bits, failed models and scales among them", function()
    local x <const>, y <const> = data(4, 15, 105)
    local bad <const> = gb.where(gb.range(1, 4):eq(2):unsqueeze(2), 0 / 0, y):eval()
    local o <const> = options()
    o.standardize = true
    local b <const>, path <const> = gb.gp.batch(o), os.tmpname()
    b:fit(x, bad)
    b:save(path)
    local l <const> = gb.load(path)
    os.remove(path)
    assert.equal(4, #l)
    for _, i in ipairs{1, 3, 4} do
      check_bits(l[i], b[i], "model " .. i)
      assert.is_true(same(l[i]:predict(x:select(1, i)).y_var, b[i]:predict(x:select(1, i)).y_var))
      assert.is_true(same(l:predict(x).mean:select(1, i), b:predict(x).mean:select(1, i)))
    end
    assert.same(b.info.failed, l.info.failed)
    raises("option", "b[2]: this model has no result: ", function() return l[2] end)
    assert.equal(b.info.evaluations, l.info.evaluations)
    local again <const> = l:copy()
    again:fit(x, y)
    local fresh <const> = gb.gp.batch(o)
    fresh:fit(x, y)
    for i = 1, 4 do check_bits(again[i], fresh[i], "fitted again " .. i) end
  end)

  it("does not depend on the budget and refuses one that is too small", function()
    local x <const>, y <const> = data(3, 40, 110)
    local b <const>, c <const> = gb.gp.batch(options()), gb.gp.batch(options())
    b:fit(x, y)
    c:fit(x, y, {budget = "1 MiB"})
    for i = 1, 3 do check_bits(c[i], b[i], "model " .. i) end
    assert.equal("refused", select(2, pcall(b.fit, b, x, y, {budget = 1000})).code)
    assert.equal(3, #b)
  end)

  it("does not bake what a function of the script sees into the plan", function()
    local x <const>, y <const> = data(2, 10, 120)
    local b <const> = gb.gp.batch{kernel = gb.kernels.rbf{}, mean = function(t) return t:select(2, 1) * t:max():item() end}
    local ok <const>, err <const> = pcall(b.fit, b, x, y)
    assert.is_false(ok)
    assert.equal("option", err.code)
  end)

  it("takes every kernel of real inputs", function()
    local x <const>, y <const> = data(2, 12, 160)
    local K <const> = gb.kernels
    for _, name in ipairs{"rbf", "matern12", "rational_quadratic", "periodic", "cosine", "linear", "polynomial", "arc_cosine",
      "piecewise_polynomial", "white", "constant"} do
      local b <const>, alone <const> = gb.gp.batch{kernel = K[name]()}, gb.gp.exact{kernel = K[name]()}
      local info <const> = b:fit(x, y, {steps = 2})
      alone:fit(x:select(1, 2), y:select(1, 2), {steps = 2})
      assert.equal(alone.info.value, info.reports[2].value, name)
    end
  end)

  it("fails the model that has no rows, alone", function()
    local x <const>, y <const> = data(3, 12, 170)
    local gone <const> = gb.where(gb.range(1, 3):eq(2):unsqueeze(2), 0 / 0, y):eval()
    local b <const> = gb.gp.batch(options())
    local info <const> = b:fit(x, gone, {missing = "mask", steps = 2})
    assert.equal(1, #info.failed)
    assert.equal(2, info.failed[1].model)
    assert.matches("no rows to fit", info.failed[1].reason)
    assert.same({false, true, false}, b:predict(x).mean:isnan():all(2):totable())
  end)

  it("says what it cannot take", function()
    local x <const>, y <const> = data(2, 10, 130)
    local b <const> = gb.gp.batch(options())
    raises("option", "predict: the batch holds no models yet; call b:fit(x, y)", function() b:predict(x) end)
    raises("option", "gb.gp.batch: the noise is one variance a model, and this likelihood is 'fixed'",
      function() gb.gp.batch{kernel = gb.kernels.rbf{}, noise = gb.ones(10)} end)
    raises("option", "gb.gp.batch: the noise is one variance a model, and this likelihood is 'poisson'",
      function() gb.gp.batch{kernel = gb.kernels.rbf{}, likelihood = gb.likelihoods.poisson()} end)
    raises("option", "belongs to a network or a function",
      function() gb.gp.batch{kernel = gb.kernels.rbf{}, mean = gb.nn.linear(2, 1)} end)
    raises("shape", "fit: x is of 2 models, y of 1", function() b:fit(x, y:slice(1, 1, 1)) end)
    raises("shape", "model 2: fit: x has 10 rows, y must be (10)",
      function() b:fit({x:select(1, 1), x:select(1, 2)}, {y:select(1, 1), y:select(1, 2):slice(1, 1, 4)}) end)
    raises("shape", "fit: the models of a batch have as many columns: x of model 2 has 1 column, that of model 1 has 2",
      function() b:fit({x:select(1, 1), x:select(1, 2):slice(2, 1, 1)}, y) end)
    raises("dtype", "model 1: a batch is fitted in f64", function() b:fit(x:to "f32", y:to "f32") end)
    b:fit(x, y, {steps = 3})
    raises("index", "b[3]: the batch has 2 models", function() return b[3] end)
    raises("shape", "predict: x is of 1 model, the batch has 2", function() b:predict(x:slice(1, 1, 1)) end)
    raises("option", "a batch takes points alone", function() b:predict(x, {gradients = true}) end)
    raises("option", "field 'info' of a batch cannot be assigned", function() b.info = 1 end)
  end)
end)

--- Where fits begin, what they reach on data of any scale, and what their reports say of those that came to little.
local gb <const> = require "gibbous"
local param <const> = require "gibbous.param"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local x <const> = gb.rand(60, 2, {seed = 1}):eval()
local y <const> = ((6 * x):sin():sum(2) + 0.05 * gb.randn(60, {seed = 2})):eval()

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or K.rbf{}, mean = o.mean, noise = o.noise, solver = "direct"}
end

--- The root of the mean square distance of rows in the columns given, but for the largest twentieth, by sorting them all.
local function usual(rows, columns)
  local list <const>, sum = {}, 0.0
  for i = 2, #rows do
    for j = 1, i - 1 do
      local s = 0.0
      for _, k in ipairs(columns) do s = s + (rows[i][k] - rows[j][k]) ^ 2 end
      list[#list + 1] = s
    end
  end
  table.sort(list)
  local count <const> = math.ceil(0.95 * #list)
  for i = 1, count do sum = sum + list[i] end
  return math.sqrt(sum / count)
end

describe("a fit of what nobody gave values", function()
  it("reaches the same on data of any scale", function()
    --- The log marginal likelihood of y in units of its standard deviation, and the evaluations it took.
    local function reached(xs, ys, mean)
      local m <const> = model{mean = mean}
      local info <const> = m:fit(xs, ys)
      assert.is_true(info.converged, info.reason)
      assert.same({}, info.notes)
      return info.log_likelihood + 30 * math.log(ys:var():item()), info.evaluations
    end
    for _, case in ipairs{{mean = gb.means.constant(), want = 36.020}, {mean = gb.means.zero(), want = 35.982}} do
      local first <const>, evaluations <const> = reached(x, y, case.mean)
      near(case.want, first, 1e-4)
      for _, scaled in ipairs{{1e4 * x, y}, {1e-4 * x, y}, {x, 1e4 * y}, {x, 1e-4 * y}, {1e5 + 1e-3 * x, y}} do
        local value <const>, count <const> = reached(scaled[1], scaled[2], case.mean)
        near(first, value, 1e-4)
        assert.is_true(count <= 2 * evaluations)
      end
    end
    for _, level in ipairs{1000, 1e6} do near(36.020, (reached(x, y + level, gb.means.constant())), 1e-3) end
    local f32 <const> = {dtype = "f32"}
    local narrow <const> = model()
    narrow:fit((1e4 * x):to(f32), (1e4 * y):to(f32))
    near(35.982, narrow:log_marginal_likelihood():item() + 30 * math.log((1e4 * y):var():item()), 0.1)
  end)

  it("begins at the distances of points and the variance of y", function()
    local rows <const> = x:totable()
    local var <const> = (y * y):mean():item()
    local function begun(o)
      local m <const> = model(o)
      m:fit(x, y, {steps = 0, restarts = 0})
      return function(path) return m:get(path).value end
    end
    local plain <const> = begun()
    near(usual(rows, {1, 2}), plain "kernel.lengthscale", 1e-12)
    near(var, plain "kernel.variance", 1e-12)
    near(0.1 * y:var():item(), plain "likelihood.noise", 1e-12)
    local ard <const> = begun{kernel = K.matern52{ard = true}, mean = gb.means.constant()}
    near({usual(rows, {1}) * math.sqrt(2), usual(rows, {2}) * math.sqrt(2)}, ard "kernel.lengthscale", 1e-12)
    near(y:mean(), ard "mean.value", 1e-12)
    near(y:var(nil, {ddof = 0}), ard "kernel.variance", 1e-12)
    local product <const> = begun{kernel = K.rbf{active_dims = {1}} * K.matern32{active_dims = {2}}}
    near(usual(rows, {1}) * math.sqrt(2), product "kernel[1].lengthscale", 1e-12)
    near(usual(rows, {2}) * math.sqrt(2), product "kernel[2].lengthscale", 1e-12)
    near(var, product "kernel.variance", 1e-12)
    local sum <const> = begun{kernel = K.rbf{} + K.linear{} + K.white{}}
    near(var / 3, sum "kernel[1].variance", 1e-12)
    near(var / 3 / (x * x):sum(2):mean():item(), sum "kernel[2].variance", 1e-12)
    near(0.1 * y:var():item() / 1, sum "kernel[3].variance", 1e-12)
    local warped <const> = begun{kernel = K.rbf{}:warp(function(t) return 100 * t end)}
    near(100 * usual(rows, {1, 2}), warped "kernel.lengthscale", 1e-9)
    local periodic <const> = begun{kernel = K.periodic{active_dims = {1}}}
    near({1, 1}, {periodic "kernel.lengthscale":item(), periodic "kernel.period":item()}, 1e-15)
    local linear <const> = begun{mean = gb.means.linear{slope = {1, 1}}}
    near((y - x:sum(2)):mean(), linear "mean.offset", 1e-12)
  end)

  it("of several outputs begins there too", function()
    local both <const> = gb.stack({y, 2 * y}, 2):eval()
    local m <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2}
    m:fit(x, 1e4 * both, {steps = 0, restarts = 0})
    local var <const> = (both * both):mean():item() * 1e8
    near({0.5 * var, 0.5 * var}, m:get "kernel.tasks.diagonal".value, 1e-9)
    near(usual(x:totable(), {1, 2}), m:get "kernel[1].lengthscale".value, 0.1)          -- of some of 120 rows
    local plain <const>, large <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2}, gb.gp.multitask{kernel = K.rbf{}, tasks = 2}
    local want <const> = plain:fit(x, both).log_likelihood - 120 * math.log(1e4)
    near(want, large:fit(1e-4 * x, 1e4 * both).log_likelihood, 1e-4)
  end)

  it("keeps what was given, assigned, fixed or fitted before", function()
    local m <const> = model{kernel = K.rbf{lengthscale = 7}, noise = 0.3}
    m:fit(x, y, {steps = 0, restarts = 0})
    near(7, m.kernel.lengthscale.value, 1e-14)
    near(0.3, m:get "likelihood.noise".value, 1e-14)
    near((y * y):mean(), m.kernel.variance.value, 1e-12)
    local assigned <const> = model()
    assigned.kernel.lengthscale = 1
    assigned:set("kernel.variance", 1)
    assigned:get "likelihood.noise".fixed = true
    assigned:fit(x, y, {steps = 0, restarts = 0})
    near({1, 1, 1}, {assigned.kernel.lengthscale:item(), assigned.kernel.variance:item(), assigned.likelihood.noise:item()}, 1e-14)
    local fitted <const> = model()
    fitted:fit(x, y, {steps = 3, restarts = 0})
    local at <const> = fitted.kernel.lengthscale:item()
    fitted:fit(10 * x, y, {steps = 0, restarts = 0})
    near(at, fitted.kernel.lengthscale.value, 1e-14)
    local bounded <const> = model{kernel = K.rbf{lengthscale = gb.param(30, {min = 20})}}
    bounded:fit(x, y, {steps = 0, restarts = 0})
    near(30, bounded.kernel.lengthscale.value, 1e-12)
    local copied <const> = gb.gp.exact{kernel = model().kernel}                 -- nobody has chosen those either
    copied:fit(x, y, {steps = 0, restarts = 0})
    near(usual(x:totable(), {1, 2}), copied.kernel.lengthscale.value, 1e-12)
    local path <const> = support.path()
    model():save(path)
    local loaded <const> = gb.load(path)
    support.sweep()
    loaded:fit(x, y, {steps = 0, restarts = 0})
    near(usual(x:totable(), {1, 2}), loaded.kernel.lengthscale.value, 1e-12)
  end)

  it("is not misled by columns of few values, of which two are close, nor by one point far away", function()
    local values <const> = {-2.4, -2.3, -2.4, -2.3, -2.4, -2.3, -5, 0}
    local close <const>, apart <const> = {}, {}
    for i = 1, 60 do
      close[i] = values[i % 8 + 1]
      apart[i] = i == 7 and 1e6 or x[i][2]:item()
    end
    local odd <const> = gb.stack({gb.tensor(close), gb.tensor(apart)}, 2):eval()
    local m <const> = model{kernel = K.rbf{ard = true}}
    m:fit(odd, y, {steps = 0, restarts = 0})
    local l <const> = m.kernel.lengthscale:totable()
    local sd <const> = gb.tensor(close):std():item()                       -- most pairs differ by 0.1 or less
    assert.is_true(l[1] > sd and l[1] < 3 * sd)
    local plain <const> = model{kernel = K.rbf{ard = true}}
    plain:fit(x, y, {steps = 0, restarts = 0})
    near(1, l[2] / plain.kernel.lengthscale:totable()[2], 0.2)
  end)

  it("is not misled by columns that hardly vary, or not at all", function()
    local flags <const> = gb.range(1, 60):to{dtype = "f64"} % 10
    local odd <const> = gb.stack({x:select(2, 1), gb.where(flags:eq(0), 1, 0), gb.ones(60)}, 2):eval()
    local m <const> = model{kernel = K.rbf{ard = true}}
    m:fit(odd, y, {steps = 0, restarts = 0})
    local l <const> = m.kernel.lengthscale:totable()
    assert.is_true(l[2] > 0.3 and l[2] < 3)
    near(1, l[3], 1e-15)
    local alone <const> = model()
    alone:fit(gb.ones(4, 1), gb.tensor{1, 2, 3, 4})
    assert.is_true(alone.kernel.lengthscale:item() > 0)
  end)
end)

describe("further starts", function()
  local function far() return model{kernel = K.rbf{lengthscale = 1, variance = 1}, noise = 1} end

  it("are drawn around the scale of the data, whatever was given", function()
    local info <const> = far():fit(x, 1e4 * y, {restarts = 3})
    near(35.982, info.log_likelihood + 30 * math.log((1e4 * y):var():item()), 1e-3)
  end)

  it("leave a start given where noise has taken most of y", function()
    for _, data in ipairs{{x, 1e4 * y}, {1e4 * x, y}} do
      local info <const> = far():fit(data[1], data[2])
      assert.equal(1, info.restarts)
      near(35.982, info.log_likelihood + 30 * math.log(data[2]:var():item()), 1e-3)
    end
  end)
end)

describe("the report of a fit says", function()
  it("that nothing is explained", function()
    local m <const> = model{kernel = K.rbf{lengthscale = 1, variance = 1}, noise = 1}
    local info <const> = m:fit(x, 1e4 * y, {restarts = 0})
    assert.same({"the fit explains nothing: noise takes 101 % of var(y)"}, info.notes)
    assert.matches("\n  the fit explains nothing: noise takes 101 %% of var%(y%)", tostring(info))
    local spiky <const> = model{kernel = K.rbf{lengthscale = gb.param(1e-6, {min = 1e-7, max = 1e-5})}, mean = gb.means.constant()}
    local notes <const> = spiky:fit(x, y).notes
    assert.equal(1, #notes)
    local alone <const> = -30 * (math.log(2 * math.pi * y:var(nil, {ddof = 0}):item()) + 1)
    assert.equal(("the fit explains nothing: a constant with noise alone has the log marginal likelihood %.4f"):format(alone),
      notes[1])
    assert.same({}, model():fit(x, y).notes)
  end)

  it("that y is far from its mean function, or does not vary", function()
    local off <const> = model():fit(x, y + 1000, {steps = 2}).notes
    assert.equal(1, #off)
    assert.equal(("mean(y) is %.4g standard deviations from the zero mean; gb.means.constant() would follow it"):format(
      (y + 1000):mean():item() / y:std():item()), off[1])
    local held <const> = model{mean = gb.means.constant(gb.param(-50, {fixed = true}))}
    assert.matches("^y is %d+%.?%d* standard deviations from its mean function on average$", held:fit(x, y, {steps = 2}).notes[1])
    assert.same({}, model{mean = gb.means.constant()}:fit(x, y + 1000, {steps = 2, restarts = 0}).notes)
    assert.same({"y does not vary"}, model():fit(x, gb.full({60}, 0.1)).notes)
    assert.matches("\n  y does not vary", tostring(model():fit(x, gb.zeros(60))))
  end)

  it("the norm of the gradient by the unconstrained values, in whatever units descents are made", function()
    local m <const> = model{mean = gb.means.constant()}
    local info <const> = m:fit(x, 1e3 * y, {steps = 3, restarts = 0})
    local sum = 0.0
    for _, p in ipairs((gb.params(m))) do
      for _, v in ipairs(support.numbers(gb.grad(m:log_marginal_likelihood(), p, {raw = true}))) do sum = sum + v * v end
    end
    near(1, info.gradient_norm / math.sqrt(sum), 1e-6)
  end)
end)

describe("a uniform prior", function()
  local P <const> = gb.priors
  local t <const> = (6 * gb.rand(80, 1, {seed = 1})):eval()
  local wave <const> = (t:sin():squeeze(2) + 0.02 * gb.randn(80, {seed = 2})):eval()

  it("bounds what is fitted, and stops nothing else", function()
    local function fitted(o)
      local m <const> = model{kernel = K.rbf{lengthscale = gb.param(0.5, o), variance = 1}, noise = 0.1}
      return m:fit(t, wave), m
    end
    local want <const> = fitted{min = 0.1, max = 1}
    for _, min in ipairs{0.1, 0} do
      local info <const>, m <const> = fitted{min = min, prior = P.uniform{min = 0.1, max = 1}}
      assert.is_true(info.converged, info.reason)
      near(want.log_likelihood, info.log_likelihood, 1e-3)
      near(math.log(1 / 0.9), info.log_prior, 1e-12)
      assert.same({"kernel.lengthscale"}, info.active_bounds)
      assert.matches("kernel%.lengthscale +%S+ +%(0%.1, 1%) +uniform%(max=1, min=0%.1%)", tostring(m))
    end
    assert.is_true(want.log_likelihood > 168.7)
  end)

  it("is part of a parameter's interval as long as it is there", function()
    local p <const> = gb.param(0.5, {min = 0.2, prior = P.uniform{min = 0, max = 1}})
    near({0.2, 1}, {p.min, p.max}, 0)
    raises("option", "= 1.5 is not inside its bounds (0.2, 1), outside which its prior has no density", function()
      p.value = 1.5
    end)
    near(0.5, p.value, 1e-15)
    p.raw = 50
    assert.is_true(p.value:item() <= 1)
    p.value = 0.7
    p.prior = nil
    near(0.7, p.value, 1e-14)
    assert.is_nil(p.max)
    p.value = 3
    raises("option", "is not inside its bounds", function() p.prior = P.uniform{min = 0, max = 1} end)
    assert.is_nil(p.prior)
    raises("option", "is not inside its bounds (1, 2), outside which its prior", gb.param, 0.5,
      {prior = P.uniform{min = 1, max = 2}})
    local free <const> = gb.param(0.3, {prior = P.uniform{}})
    gb.optim.minimize(function() return (free - 4) ^ 2 end, free)
    near(1, free.value, 1e-3)
  end)

  it("leaves files as they are", function()
    local p <const> = gb.param({0.3, 0.9}, {min = 0, prior = P.uniform{min = 0.1, max = 1}})
    local again <const> = param.restore(param.describe(p))
    assert.is_true(again.value:equal(p.value) and again.raw:equal(p.raw) and again.version == p.version)
    local before <const> = param.describe(gb.param({0.3, 0.9}, {min = 0}))      -- of a version that did not bound them
    before.prior = P.uniform{min = 0.1, max = 1}
    local old <const> = param.restore(before)
    near({0.3, 0.9}, old.value, 1e-14)
    near({0.1, 1}, {old.min, old.max}, 0)
  end)

  it("leaves the noise floor its room, or says that it does not", function()
    local m <const> = model()
    m:get "likelihood.noise".prior = P.uniform{min = 0, max = 2}
    assert.is_true(m:fit(x, y).converged)
    local tight <const> = model{noise = 1e-9}
    tight:get "likelihood.noise".prior = P.uniform{min = 0, max = 1e-8}
    raises("option", "leaves the prior of parameter 'noise', uniform(max=1e-08, min=0), no room", tight.fit, tight, x, y)
  end)
end)

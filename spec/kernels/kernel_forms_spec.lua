local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

--- Gradients of gradients by inputs and hyper-parameters, which slopes of slopes make, are those of differences.
local function has_second_derivatives(k)
  local a <const>, b <const> = gb.randn(4, 3, {seed = 1}) * 0.4, gb.randn(3, 3, {seed = 2}) * 0.4
  local w <const>, u <const> = gb.randn(4, 3, {seed = 3}):eval(), gb.randn(4, 3, {seed = 4}):eval()
  local at <const> = gb.param({0.1, -0.2, 0.3}, {name = "at"})
  local all <const> = {at, table.unpack((gb.params(k)))}
  support.check_gradients(function()
    local list <const> = gb.grad((k(a + at, b) * w):sum(), all)
    local sum = 0
    for i, g in ipairs(list) do sum = sum + (g * (0.7 + i / 3)):sum() end
    return sum + (k(a, b + at) * u):sum()
  end, all, 1e-6)
end

describe("piecewise_polynomial", function()
  it("has second derivatives", function()
    for degree = 0, 3 do has_second_derivatives(K.piecewise_polynomial{degree = degree, lengthscale = 2}) end
  end)

  it("is 0 from one lengthscale on, and flat there", function()
    local edge <const> = gb.tensor{0, 1, 1 + 1e-9, 7}:requires_grad()
    local origin <const> = gb.tensor{0}
    for degree = 0, 3 do
      local k <const> = K.piecewise_polynomial{degree = degree}
      local v <const> = k(edge, origin)
      near({1, 0, 0, 0}, v, 1e-15)
      near({0, 0, 0, 0}, gb.grad(v:sum(), edge), 1e-12)
      local l <const> = k.lengthscale
      near(0, gb.grad(k(edge, origin):slice(1, 2, 4):sum(), l), 1e-12)
      for dtype, distance in pairs{f32 = 1e18, f64 = 1e150} do
        local far <const> = gb.tensor({distance}, {dtype = dtype}):requires_grad()
        local at <const> = k(far, origin:to{dtype = dtype})
        near(0, at, 0)
        near(0, gb.grad(at:sum(), far), 0)
        near(0, gb.grad(at:sum(), l), 0)
      end
    end
  end)

  it("is smoother the higher its degree: 1 - k near 0 goes as r, then as r^2", function()
    local h <const>, origin <const> = gb.tensor{1e-3, 2e-3}, gb.tensor{0}
    for degree, order in pairs{[0] = 1, 2, 2, 2} do
      local rest <const> = (1 - K.piecewise_polynomial{degree = degree}(h, origin)):totable()
      near(order, math.log(rest[2][1] / rest[1][1], 2), 0.02)
    end
  end)

  it("raises its exponent with the columns, so that it stays positive definite", function()
    for d = 1, 7 do
      local x <const> = gb.rand(60, d, {seed = d})
      for degree = 0, 3 do
        local k <const> = K.piecewise_polynomial{degree = degree, lengthscale = 0.6 * math.sqrt(d)}
        assert.is_true(gb.linalg.eigh(k(x)):min():item() > -1e-12)
        local j <const> = d // 2 + degree + 1
        local half <const> = gb.full({1, d}, 0.5 / math.sqrt(d))
        if degree == 0 then near(0.5 ^ j, K.piecewise_polynomial{degree = 0}(gb.zeros(1, d), half), 1e-13) end
      end
    end
  end)
end)

describe("cosine", function()
  it("is 1 a whole number of periods apart, and of rank two", function()
    local k <const> = K.cosine{period = 0.25}
    near({{1, 1, -1}}, k(gb.tensor{0}, gb.tensor{0.25, 1000, 0.125}), 1e-9)
    local values <const> = gb.linalg.eigh(K.cosine{period = {0.7, 1.9}}(gb.randn(30, 2, {seed = 1}))):totable()
    for i = 1, 28 do assert.is_true(math.abs(values[i]) < 1e-13) end
    assert.is_true(values[29] > 1)
  end)
end)

describe("arc_cosine", function()
  it("has second derivatives", function()
    for order = 0, 2 do has_second_derivatives(K.arc_cosine{order = order}) end
  end)

  it("keeps its digits at small and at nearly opposite angles", function()
    for _, angle in ipairs{1e-12, 1e-6, 1e-3, 3.1, 3.14} do
      local a <const> = gb.tensor{{1e3, 0}}
      local b <const> = gb.tensor{{1e3 * math.cos(angle), 1e3 * math.sin(angle)}}
      local k <const> = K.arc_cosine{order = 0, bias_variance = 1e-8}
      near(1 - angle / math.pi, k(a, b):item(), 1e-10)
    end
  end)

  it("grows with the norms by its order", function()
    for order = 0, 2 do
      local k <const> = K.arc_cosine{order = order, bias_variance = 1e-12}
      local a <const>, b <const> = gb.tensor{{1, 2}}, gb.tensor{{3, -1}}
      near(10 ^ (2 * order) * k(a, b):item(), k(10 * a, 10 * b), 1e-6)
    end
  end)

  it("is finite where directions are opposite to rounding", function()
    for dtype, size in pairs{f64 = 1e12, f32 = 1e6} do
      local far <const> = gb.tensor({{size, 0}, {-size, 0}}, {dtype = dtype}):requires_grad()
      for order = 0, 2 do
        local k <const> = K.arc_cosine{order = order}
        assert.is_true(k(far):isfinite():all())
        assert.is_true(gb.grad(k(far):sum(), far):isfinite():all(), dtype .. " " .. order)
      end
    end
  end)
end)

describe("change_point", function()
  local a <const>, b <const> = K.rbf{lengthscale = 0.7}, K.matern12{lengthscale = 2}

  it("is one kernel far on the left, the other far on the right, and neither across", function()
    local k <const> = K.change_point(a, b, {location = 0, steepness = 100})
    local left <const>, right <const> = gb.tensor{-3, -2.5}, gb.tensor{2, 2.7}
    near(a(left), k(left), 1e-12)
    near(b(right), k(right), 1e-12)
    near({{0, 0}, {0, 0}}, k(left, right), 1e-12)
  end)

  it("lets its location be fitted, of any sign", function()
    local k <const> = K.change_point(a, b, {location = -1.5})
    near(-1.5, k.location.value, 1e-15)
    near(1, k.steepness.value, 1e-15)
    local _, names <const> = gb.params(k)
    assert.same({"location", "steepness", "[1].lengthscale", "[1].variance", "[2].lengthscale", "[2].variance"}, names)
    assert.equal(2, #k)
  end)

  it("holds white noise of two kinds", function()
    local k <const> = K.change_point(K.white{variance = 1}, K.white{variance = 4}, {location = 0, steepness = 1000})
    near({{1, 0}, {0, 4}}, k(gb.tensor{-1, 1}), 1e-12)
    near({1, 4}, k:diag(gb.tensor{-1, 1}), 1e-12)
  end)

  it("checks its arguments", function()
    raises("option", "two kernels or a list of kernels are needed", K.change_point, a, {location = 1})
    raises("option", "two kernels or a list of kernels are needed", K.change_point, {a, 3}, {location = 1})
    raises("option", "a location is needed", K.change_point, a, b)
    raises("option", "unknown option 'locations', did you mean 'location'?", K.change_point, a, b, {locations = 1})
    raises("shape", "3 kernels need 2 location values, got 3", K.change_point, {a, b, a}, {location = {1, 2, 3}})
    raises("shape", "3 kernels need 2 locations, got 1", K.change_point, {a, b, a}, {location = 1})
    raises("index", "change_point: column 2, but the inputs have 1 column",
      K.change_point(a, b, {location = 1, column = 2}), gb.tensor{1})
    raises("option", "columns count from 1, got 0", K.change_point, a, b, {location = 1, column = 0})
  end)
end)

describe("spectral_mixture", function()
  it("starts from the spectrum of uneven data", function()
    local t <const> = (gb.rand(300, {seed = 1}) * 20):sort(1)
    local y <const> = 2 * (2 * math.pi * 0.7 * t):sin() + (2 * math.pi * 2.3 * t):cos() + 5
    local k <const> = K.spectral_mixture{components = 2}:init(t, y)
    local means <const>, weights <const> = k.means:totable(), k.weights:totable()
    local slow <const> = means[1][1] < means[2][1] and 1 or 2
    near(0.7, means[slow][1], 0.02)
    near(2.3, means[3 - slow][1], 0.05)
    assert.is_true(weights[slow] > 2 * weights[3 - slow])
    near(y:var(nil, {ddof = 0}):item(), weights[1] + weights[2], 0.02)
  end)

  it("knows the power of a sinusoid at its frequency, however few and uneven the points", function()
    local periodogram <const> = (require "gibbous.kernels.spectrum").periodogram
    local t <const> = gb.tensor{0, 0.13, 0.2, 0.55, 0.61, 0.9}
    local r <const> = (2 * math.pi * 1.7 * t):sin() + 0.4 * (2 * math.pi * 1.7 * t):cos()
    near((r * r):sum(), periodogram(t, r, gb.tensor{1.7}):item(), 1e-6)
  end)

  it("takes for a signal what white noise reaches nowhere in 95 of 100 spectra", function()
    local significant <const> = (require "gibbous.kernels.spectrum").significant
    local noise <const> = 1 / math.log(2)                -- the mean of powers with median 1
    local least <const> = noise * math.log(5 / 0.05)
    near({0, 0, 0, 100 - noise, 0}, significant{1, 1, 0.5, 100, 1}, 1e-12)
    near({0, 0, 0, least + 0.01 - noise, 0}, significant{1, 1, 0.5, least + 0.01, 1}, 1e-12)
    near({1, 1, 0.5, least - 0.01, 1}, significant{1, 1, 0.5, least - 0.01, 1}, 0)       -- nothing stands out
  end)

  it("gives the same start for the same seed, whatever the dtype", function()
    local t <const> = gb.rand(100, 2, {seed = 1})
    local y <const> = (9 * t):sin():sum(2)
    local k <const> = K.spectral_mixture{components = 3}
    local one <const>, two <const> = k:init(t, y, {seed = 3}), k:init(t, y, {seed = 3})
    assert.is_true(one.means:equal(two.means.value))
    assert.same({3, 2}, {table.unpack(one.means.shape)})
    assert.is_true(k:init(t:to{dtype = "f32"}, y:to{dtype = "f32"}, {seed = 3}).means:gt(0):all())
    local before <const> = gb.config{dtype = "f32"}
    local ok <const>, narrow <const> = pcall(k.init, k, t, y, {seed = 3})       -- in a session of f32
    gb.config(before)
    assert.is_true(ok, tostring(narrow))
    near(one.means, narrow.means, 1e-5)
    assert.equal(1, k.means.ndim)
    assert.same({3, 1}, {table.unpack(K.spectral_mixture{components = 3, active_dims = {2}}:init(t, y).means.shape)})
  end)

  it("extrapolates a sine of 15 points", function()
    local x <const>, xs <const> = gb.linspace(0, 1, 15), gb.linspace(0, 1.5, 51)
    local y <const> = (2 * math.pi * x):sin()
    local k <const> = K.spectral_mixture{components = 4}:init(x, y)
    local m <const> = gb.gp.exact{kernel = k, noise = gb.param(0.01, {min = 1e-8})}
    m:fit(x, y)
    assert.is_true((m:predict(xs).mean - (2 * math.pi * xs):sin()):abs():mean():item() < 1e-3)
  end)

  it("widens to the columns when data arrives, or keeps what it was given", function()
    local open <const> = K.spectral_mixture{components = 2}
    local shut <const> = K.spectral_mixture{means = {1, 2}, variances = {{1}, {2}}}
    local x <const> = gb.rand(5, 3, {seed = 1})
    local before <const> = open(x):eval()
    K.resolve_ard(open, 3)
    assert.same({2, 3}, {table.unpack(open.variances.shape)})
    near(before, open(x), 1e-14)
    K.resolve_ard(shut, 3)
    assert.equal(2, shut.components)
    assert.equal(1, shut.means.ndim)
    raises("shape", "variances for 1 column, the inputs have 3", shut, x)
  end)

  it("checks its arguments and its data", function()
    local k <const> = K.spectral_mixture{components = 2}
    raises("option", "components, their number, is needed", K.spectral_mixture)
    raises("shape", "2 components, but 'means' has 3", K.spectral_mixture, {components = 2, means = {1, 2, 3}})
    raises("option", "'weights' must be a list with a row per component", K.spectral_mixture, {components = 2, weights = 1})
    raises("option", "unknown option 'variance'", K.spectral_mixture, {components = 2, variance = 1})
    raises("option", "y is constant", k.init, k, gb.tensor{1, 2, 3}, gb.tensor{4, 4, 4})
    raises("option", "column 2 is constant", k.init, k, gb.tensor{{1, 1}, {2, 1}, {3, 1}}, gb.tensor{4, 5, 4})
    raises("nan", "must be finite", k.init, k, gb.tensor{1, 2, 3}, gb.tensor{4, 0 / 0, 4})
    raises("shape", "needs 3 points or more, got 2", k.init, k, gb.tensor{1, 2}, gb.tensor{4, 5})
    raises("shape", "y must be (3), got shape 2", k.init, k, gb.tensor{1, 2, 3}, gb.tensor{4, 5})
    raises("option", "the kernel rbf has no field 'init'", function() return K.rbf{}.init end)
  end)
end)

describe("index", function()
  it("gives its matrix, and starts with correlations of a half", function()
    near({{1, 0.5}, {0.5, 1}}, K.index{tasks = 2}:matrix(), 1e-14)
    near({{2, 0}, {0, 3}}, K.index{tasks = 2, rank = 0, diagonal = {2, 3}}:matrix(), 1e-14)
    local k <const> = K.index{tasks = 4, rank = 3}
    near(k:matrix(), k(gb.tensor{1, 2, 3, 4}), 1e-14)
    assert.is_true(gb.linalg.eigh(k:matrix()):min():item() > 0)
    assert.is_true(k.weights:equal(K.index{tasks = 4, rank = 3}.weights.value))
    assert.is_false(k.weights:equal(K.index{tasks = 4, rank = 3, seed = 1}.weights.value))
  end)

  it("checks its settings", function()
    raises("option", "tasks, the number of tasks, is needed", K.index)
    raises("option", "task numbers are one column, got 2", K.index, {tasks = 2, active_dims = {1, 2}})
    raises("shape", "'weights' must be 2x1, got 3x1", K.index, {tasks = 2, weights = {{1}, {2}, {3}}})
    raises("shape", "'diagonal' must be 2, got 3", K.index, {tasks = 2, diagonal = {1, 2, 3}})
    raises("option", "unknown option 'variance'", K.index, {tasks = 2, variance = 1})
  end)
end)

describe("sums and products", function()
  local x <const> = gb.randn(1000, 2, {seed = 1}):eval()
  local v <const> = gb.randn(1000, {seed = 2}):eval()

  it("of any kernels are one traversal", function()
    local all <const> = K.rbf{} + K.piecewise_polynomial{} * K.cosine{} + K.spectral_mixture{components = 2} * K.arc_cosine{}
      + K.change_point(K.matern32{}, K.polynomial{}, {location = 0})
    local plan <const> = gb.plan(all(x):matmul(v))
    plan:run()
    assert.is_true(plan:stats().pairs <= 1000 * 1000 * 0.6, plan:stats().pairs)         -- symmetric: half of them
  end)

  it("print with brackets where they are needed, settings first", function()
    assert.equal("{variance=1} (rbf{lengthscale=1} * (linear{variance=1} + polynomial{degree=3, offset=1, variance=2}))",
      tostring(K.rbf{} * (K.linear{} + K.polynomial{degree = 3, variance = 2})))
    assert.equal("index{tasks=2, rank=1, diagonal={0.5, 0.5}, weights={{0.7071}, {0.7071}}, active_dims={-1}}",
      tostring(K.index{tasks = 2}))
    assert.equal("rbf{lengthscale=1, variance=1}:warp(...)", tostring(K.rbf{}:warp(function(t) return t end)))
    assert.equal("change_point{location=2, steepness=1}(rbf{lengthscale=1, variance=1}, constant{variance=1})",
      tostring(K.change_point(K.rbf{}, K.constant{}, {location = 2})))
  end)

  it("keep the parameters of every network they pass", function()
    local first <const>, second <const> = gb.nn.linear(2, 2, {seed = 1}), gb.nn.linear(2, 2, {seed = 2})
    assert.equal(2 + 2, #gb.params(K.rbf{}:warp(first)))
    assert.equal(2 + 4, #gb.params(K.rbf{}:warp(first):warp(second)))
    local few <const> = x:slice(1, 1, 5)
    near(K.rbf{}(first(second(few))), K.rbf{}:warp(first):warp(second)(few), 1e-13)
  end)
end)

describe("an empirical spectrum", function()
  local spectrum <const> = require "gibbous.kernels.spectrum"
  local core <const> = require "gibbous.core"
  local DRAWS <const> = 512

  it("has as power what a sinusoid explains in least squares", function()
    local t <const>, r <const> = gb.rand(13, {seed = 1}):totable(), gb.randn(13, {seed = 2}):totable()
    local f <const> = {0, 1e-3, 2e-3, 0.5, 1, 7.3}
    local want <const> = {}
    for k, v in ipairs(f) do
      local c, s, cc, cs, ss = 0.0, 0.0, 0.0, 0.0, 0.0
      for i = 1, 13 do
        local a <const>, b <const> = math.cos(2 * math.pi * v * t[i]), math.sin(2 * math.pi * v * t[i])
        c, s, cc, cs, ss = c + a * r[i], s + b * r[i], cc + a * a, cs + a * b, ss + b * b
      end
      want[k] = (c * c * ss - 2 * c * s * cs + s * s * cc) / (cc * ss - cs * cs + 1e-9 * 13 ^ 2)
    end
    local got <const> = spectrum.periodogram(gb.tensor(t), gb.tensor(r), gb.tensor(f))
    near(want, got, 1e-5)
    local wave <const> = (2 * math.pi * 3 * gb.tensor(t)):sin()
    near((wave * wave):sum(), spectrum.periodogram(gb.tensor(t), wave, gb.tensor{3})[1], 1e-6)
  end)

  it("has frequencies half a resolved width apart, up to half the mean rate", function()
    assert.same({0.25, 19}, {spectrum.grid(2, 20)})
    assert.same({0.5, 1, 0.5, 2}, {spectrum.grid(1, 1), select(2, spectrum.grid(1, 2)), spectrum.grid(1, 3),
      select(2, spectrum.grid(1, 3))})
    assert.same({4096, 4096, 4095}, {select(2, spectrum.grid(1, 9000)), select(2, spectrum.grid(1, 4097)),
      (select(2, spectrum.grid(1, 4096)))})
  end)

  it("counts what white noise would not reach, or all", function()
    for _, n in ipairs{4, 5} do
      local power <const> = {1, 2, 3, 50, 0.5, n = nil}
      if n == 4 then power[5] = nil end
      local mean <const> = (n == 4 and 2 or 2) / math.log(2)
      local least <const> = mean * math.log(n / 0.05)
      assert.is_true(least < 50 and least > 3)
      local want <const> = {0, 0, 0, 50 - mean, n == 5 and 0 or nil}
      near(want, spectrum.significant(power), 1e-12)
      power[4] = least * 0.999
      assert.is_true(rawequal(power, spectrum.significant(power)))
      power[4] = least * 1.001
      near({0, 0, 0, power[4] - mean, n == 5 and 0 or nil}, spectrum.significant(power), 1e-12)
    end
  end)

  it("has quantiles of a density that is constant around each frequency", function()
    local got <const> = spectrum.quantiles({1, 0, 3}, 2)
    assert.equal(DRAWS, #got)
    for k = 1, DRAWS do
      local target <const> = (k - 0.5) / DRAWS * 4
      near(2 * (target <= 1 and 0.5 + target or 2.5 + (target - 1) / 3), got[k], 1e-12)
    end
  end)

  local points <const> = gb.randn(40, 2, {seed = 3}):totable()
  local scale <const> = {0.7, 2.0}

  it("has centres drawn in proportion to their squared distance from those before", function()
    for seed = 1, 20 do
      local u <const> = core.rand(4, {seed = seed, dtype = "f64"}):totable()
      local got <const>, want <const> = spectrum.centres(points, 4, scale, seed), {}
      for j = 1, 4 do
        local sums <const>, total = {}, 0.0
        for i, p in ipairs(points) do
          local least = j == 1 and 1.0 or math.huge
          for _, c in ipairs(want) do least = math.min(least, ((p[1] - c[1]) / scale[1]) ^ 2 + ((p[2] - c[2]) / scale[2]) ^ 2) end
          total = total + least
          sums[i] = total
        end
        for i, p in ipairs(points) do
          if want[j] == nil and sums[i] >= u[j] * total then want[j] = p end
        end
      end
      near(want, got, 0)
      assert.is_false(rawequal(want[1], got[1]))
    end
    assert.equal(3, #spectrum.centres({{1}, {1}, {1}}, 3, {1}, 0))
  end)

  local function start()
    return {{weight = 0.3, mean = {0.5, -1}, variance = {0.4, 0.9}}, {weight = 0.7, mean = {-0.2, 0.3}, variance = {1.5, 0.6}},
      {weight = 0.1, mean = {900, 900}, variance = {0.1, 0.1}}}
  end

  it("is described by expectation and maximisation", function()
    local floor <const> = {0.1, 0.95}
    local mixture <const>, old <const> = start(), start()
    local n <const>, first <const>, second <const> = {1e-12, 1e-12, 1e-12}, {{0, 0}, {0, 0}, {0, 0}}, {{0, 0}, {0, 0}, {0, 0}}
    for _, p in ipairs(points) do
      local d <const>, total = {}, 0.0
      for j, c in ipairs(old) do
        d[j] = c.weight
        for k = 1, 2 do d[j] = d[j] * math.exp(-(p[k] - c.mean[k]) ^ 2 / (2 * c.variance[k])) / math.sqrt(c.variance[k]) end
        total = total + d[j]
      end
      for j, c in ipairs(old) do
        n[j] = n[j] + d[j] / total
        for k = 1, 2 do
          first[j][k] = first[j][k] + d[j] / total * p[k]
          second[j][k] = second[j][k] + d[j] / total * (p[k] - c.mean[k]) ^ 2
        end
      end
    end
    spectrum.improve(points, mixture, floor)
    for j, c in ipairs(mixture) do
      near(j == 3 and 1e-3 or n[j] / 40, c.weight, 1e-11)
      for k = 1, 2 do
        local mean <const> = first[j][k] / n[j]
        near(j == 3 and 900 or mean, c.mean[k], 1e-10)
        if j < 3 then near(math.max(floor[k] ^ 2, second[j][k] / n[j] - (mean - old[j].mean[k]) ^ 2), c.variance[k], 1e-9) end
      end
    end
    assert.is_true(mixture[1].variance[2] == 0.95 ^ 2 or mixture[2].variance[2] == 0.95 ^ 2)
    assert.same({floor[1] ^ 2, floor[2] ^ 2}, mixture[3].variance)
  end)

  it("is described in a hundred steps from centres of equal weight, as wide as the points over twice their number", function()
    local floor <const> = {0.05, 9}
    local lo, hi = math.huge, 0.0
    for _, p in ipairs(points) do lo, hi = math.min(lo, p[1]), math.max(hi, p[1]) end
    local want <const> = {}
    for j, mean in ipairs(spectrum.centres(points, 2, {hi - lo, 9}, 5)) do
      want[j] = {weight = 1 / 2, mean = mean, variance = {((hi - lo) / 4) ^ 2, (9 / 4) ^ 2}}
    end
    for _ = 1, 100 do spectrum.improve(points, want, floor) end
    for j, c in ipairs(spectrum.fit(points, 2, floor, 5)) do
      near({want[j].weight, want[j].mean, want[j].variance}, {c.weight, c.mean, c.variance}, 1e-12)
    end
  end)

  it("of several columns pairs their quantiles at random", function()
    local n <const> = 24
    local x <const> = (gb.rand(n, 2, {seed = 6}) * gb.tensor{3, 0.5} + 7):eval()
    local y <const> = ((9 * x:select(2, 1)):sin() + gb.randn(n, {seed = 7})):eval()
    local r <const> = y - y:mean()
    local all <const>, floor <const> = {}, {}
    for i = 1, DRAWS do all[i] = {} end
    for k = 1, 2 do
      local t <const> = x:select(2, k)
      local range <const> = t:max():item() - t:min():item()
      local step <const> = 1 / (2 * range)
      local power <const> = spectrum.periodogram(t - t:min():item(), r, gb.range(1, n - 1) * step):totable()
      local cells <const> = spectrum.quantiles(spectrum.significant(power), step)
      local order <const> = core.randperm(DRAWS, {seed = 4 + k}):totable()
      for i = 1, DRAWS do all[i][k] = cells[k == 1 and i or order[i]] end
      floor[k] = step / 4
    end
    local want <const> = spectrum.fit(all, 2, floor, 4)
    local got <const> = spectrum.mixture(x, y, 2, 4)
    for j, c in ipairs(want) do
      near({c.weight * (r * r):mean():item(), c.mean, c.variance}, {got.weights[j], got.means[j], got.variances[j]}, 1e-6)
    end
    local k <const> = K.spectral_mixture{components = 2}:init(x, y, {seed = 4})
    near({got.weights, got.means, got.variances}, {k.weights, k.means, k.variances}, 1e-12)
    assert.is_true(K.spectral_mixture{components = 2}:init(x, y).means:equal(
      K.spectral_mixture{components = 2}:init(x, y, {seed = 0}).means.value))
    near(K.spectral_mixture{components = 2}:init(x:select(2, 2), y).means,
      K.spectral_mixture{components = 2, active_dims = {-1}}:init(x, y).means, 0)
  end)

  it("is refused by reason", function()
    local k <const> = K.spectral_mixture{components = 2}
    local line <const> = gb.range(1, 4)
    for _, row in ipairs{
      {"option", "init: y must be a tensor, got string", line, "x"},
      {"shape", "init: x has 4 rows, y must be (4), got shape 4x1", line, gb.ones(4, 1)},
      {"shape", "init: x has 4 rows, y must be (4), got shape 3", line, gb.ones(3)},
      {"shape", "init: a spectrum needs 3 points or more, got 2", gb.range(1, 2), gb.range(1, 2)},
      {"nan", "init: x and y must be finite", gb.tensor{1, 2, 0 / 0}, gb.range(1, 3)},
      {"nan", "init: x and y must be finite", gb.range(1, 3), gb.tensor{1, 2, 1 / 0}},
      {"option", "init: y is constant: it has no spectrum", gb.range(1, 3), gb.ones(3)},
      {"option", "init: column 1 is constant: it has no spectrum", gb.ones(3), gb.range(1, 3)},
      {"option", "init: x must be a tensor, got string", "x", line},
      {"option", "init: option 'seed' must be an integer, got string x", line, line, {seed = "x"}},
      {"shape", "init: x must be (n) or (n, d), got shape 1x1x1", gb.ones(1, 1, 1), line},
    } do assert.equal(row[2], support.shapes_alone(raises(row[1], "", k.init, k, row[3], row[4], row[5]).message)) end
    assert.is_true(k:init(gb.range(1, 3), gb.tensor{1, 5, 2}).weights:gt(0):all())
  end)
end)

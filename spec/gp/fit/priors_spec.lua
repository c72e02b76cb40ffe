local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function density(prior, v) return prior:log_density(gb.tensor(v)):item() end

--- The integral of exp(log density) over (from, to) by the midpoint rule.
local function mass(prior, from, to, n)
  local step <const> = (to - from) / n
  local sum = 0.0
  for i = 1, n do sum = sum + math.exp(density(prior, {from + (i - 0.5) * step})) * step end
  return sum
end

describe("gb.priors", function()
  it("normal", function()
    near(-0.5 * math.log(2 * math.pi) - math.log(2) - 0.5 * (1.5 / 2) ^ 2, density(gb.priors.normal{mean = 1, sd = 2}, {2.5}),
      1e-14)
  end)

  it("log_normal", function()
    local u <const> = math.log(2.5)
    near(-0.5 * math.log(2 * math.pi) - math.log(0.7) - u - 0.5 * ((u - 0.3) / 0.7) ^ 2,
      density(gb.priors.log_normal{mean = 0.3, sd = 0.7}, {2.5}), 1e-14)
  end)

  it("gamma of shape 3 and rate 2", function()
    near(math.log(2 ^ 3 / 2 * 1.5 ^ 2 * math.exp(-3)), density(gb.priors.gamma{shape = 3, rate = 2}, {1.5}), 1e-13)
  end)

  it("half_cauchy", function()
    near(math.log(2 / (math.pi * 2 * (1 + 0.25))), density(gb.priors.half_cauchy{scale = 2}, {1}), 1e-14)
  end)

  it("half_normal, exponential, inverse_gamma, student_t", function()
    near(math.log(2 / (2 * math.sqrt(2 * math.pi)) * math.exp(-0.5 * (1.5 / 2) ^ 2)),
      density(gb.priors.half_normal{sd = 2}, {1.5}), 1e-14)
    near(math.log(3 * math.exp(-4.5)), density(gb.priors.exponential{rate = 3}, {1.5}), 1e-14)
    near(math.log(2 ^ 3 / 2 * 1.5 ^ -4 * math.exp(-2 / 1.5)), density(gb.priors.inverse_gamma{shape = 3, rate = 2}, {1.5}), 1e-13)
    near(math.log(1 / (math.pi * 2 * (1 + 0.25))), density(gb.priors.student_t{df = 1, mean = 1, scale = 2}, {2}), 1e-13)
  end)

  it("uniform, and nothing outside", function()
    local p <const> = gb.priors.uniform{min = 1, max = 3}
    near(-math.log(2), density(p, {2}), 1e-14)
    assert.equal(-math.huge, density(p, {3.5}))
  end)

  it("sums over the elements of a vector", function()
    local p <const> = gb.priors.normal{}
    near(density(p, {0.3}) + density(p, {-1}), density(p, {0.3, -1}), 1e-14)
  end)

  it("integrates to one", function()
    near(1, mass(gb.priors.normal{mean = 1, sd = 0.5}, -4, 6, 400), 1e-9)
    near(1, mass(gb.priors.log_normal{mean = 0, sd = 0.4}, 1e-9, 12, 2000), 1e-6)
    near(1, mass(gb.priors.gamma{shape = 2.5, rate = 1.5}, 1e-9, 25, 2000), 1e-4)
    near(1, mass(gb.priors.half_normal{sd = 0.7}, 1e-9, 8, 2000), 1e-6)
    near(1, mass(gb.priors.exponential{rate = 2}, 1e-9, 15, 2000), 1e-4)
    near(1, mass(gb.priors.inverse_gamma{shape = 4, rate = 2}, 1e-9, 60, 20000), 1e-4)
    near(1, mass(gb.priors.student_t{df = 5, scale = 0.5}, -40, 40, 8000), 1e-5)
    near(1, mass(gb.priors.smoothed_box{min = -1, max = 2, sd = 0.1}, -3, 4, 2000), 1e-4)
  end)

  it("differentiates", function()
    for name, o in pairs{normal = {mean = 1}, log_normal = {}, gamma = {shape = 2}, half_cauchy = {}, half_normal = {},
      exponential = {}, inverse_gamma = {shape = 3}, student_t = {mean = 1}, smoothed_box = {min = 2, max = 3, sd = 0.5}} do
      local prior <const> = gb.priors[name](o)
      local p <const> = gb.param(1.3, {min = 0, name = name})
      support.check_gradients(function() return prior:log_density(p.value) end, {p}, 1e-8)
    end
  end)

  it("checks its options and prints itself", function()
    raises("option", "gb.priors.normal: unknown option 'std', did you mean 'sd'?", gb.priors.normal, {std = 1})
    raises("option", "sd must be above 0", gb.priors.normal, {sd = -1})
    raises("option", "gb.priors.gamma: rate must be above 0", gb.priors.gamma, {rate = 0})
    raises("option", "gb.priors.uniform: min 2 is not below max 1", gb.priors.uniform, {min = 2})
    assert.equal("normal(mean=0, sd=2)", tostring(gb.priors.normal{sd = 2}))
  end)
end)

describe("a prior, to the letter,", function()
  local P <const> = gb.priors
  local log <const>, pi <const> = math.log, math.pi

  it("has the density of the textbook", function()
    local root <const> = math.sqrt(2 * pi)
    for _, row in ipairs{
      {P.normal{mean = 0.5, sd = 3}, -0.7, -log(3 * root) - (1.2 / 3) ^ 2 / 2}, {P.normal{}, 2, -log(root) - 2},
      {P.log_normal{mean = 0.5, sd = 3}, 2, -log(2 * 3 * root) - ((log(2) - 0.5) / 3) ^ 2 / 2},
        {P.log_normal{}, 2, -log(2 * root) - log(2) ^ 2 / 2},
      {P.gamma{shape = 2.5, rate = 3}, 0.7, 2.5 * log(3) - log(1.329340388179137) + 1.5 * log(0.7) - 2.1}, {P.gamma{}, 0.7, -0.7},
      {P.inverse_gamma{shape = 2.5, rate = 3}, 0.7, 2.5 * log(3) - log(1.329340388179137) - 3.5 * log(0.7) - 3 / 0.7},
      {P.inverse_gamma{}, 0.7, -3 * log(0.7) - 1 / 0.7}, {P.exponential{rate = 3}, 0.7, log(3) - 2.1}, {P.exponential{}, 0.7, -0.7},
      {P.half_normal{sd = 3}, 0.7, log(2 / (3 * root)) - (0.7 / 3) ^ 2 / 2}, {P.half_normal{}, 0.7, log(2 / root) - 0.245},
      {P.student_t{df = 2, mean = 0.5, scale = 3}, 2, log(math.sqrt(pi) / 2 / math.sqrt(2 * pi) / 3) - 1.5 * log(1 + 0.25 / 2)},
      {P.student_t{}, 1, log(1.329340388179137 / math.sqrt(4 * pi)) - 2.5 * log(1.25)},
      {P.half_cauchy{scale = 3}, 2, log(2 / (3 * pi)) - log(1 + 4 / 9)}, {P.half_cauchy{}, 2, log(2 / pi) - log(5)},
      {P.uniform{min = 1, max = 4}, 1, -log(3)}, {P.uniform{min = 1, max = 4}, 4, -log(3)},
        {P.uniform{min = 1, max = 4}, 2, -log(3)},
      {P.uniform{}, 1, 0}, {P.smoothed_box{min = 1, max = 4, sd = 0.5}, 2, -log(3 + 0.5 * root)},
      {P.smoothed_box{min = 1, max = 4, sd = 0.5}, 0.2, -log(3 + 0.5 * root) - 1.6 ^ 2 / 2},
      {P.smoothed_box{min = 1, max = 4, sd = 0.5}, 4.8, -log(3 + 0.5 * root) - 1.6 ^ 2 / 2},
        {P.smoothed_box{}, 0.5, -log(1 + 0.01 * root)},
    } do
      near(row[3], row[1]:log_density(gb.tensor(row[2])), 1e-12, tostring(row[1]))
      near(2 * row[3], row[1]:log_density(gb.full({2}, row[2])), 1e-12)
    end
    for _, v in ipairs{0.999, 4.001} do assert.equal(-math.huge, P.uniform{min = 1, max = 4}:log_density(gb.tensor(v)):item()) end
    assert.equal("f32", P.uniform{}:log_density(gb.ones(2, {dtype = "f32"})).dtype)
  end)

  it("says what it is made of, and what it supports", function()
    local u <const> = P.uniform{min = 0.25, max = 12345.678}
    assert.equal("uniform(max=1.235e+04, min=0.25)", tostring(u))
    assert.same({min = 0.25, max = 12345.678}, u.support)
    assert.same({"uniform", 0.25, 12345.678}, {u.name, u.min, u.max})
    assert.is_nil(P.normal{}.support)
    assert.is_nil(P.smoothed_box{}.support)
    assert.is_nil(u.own)
    assert.is_true(P.define("mine", {}, print){}.own)
    assert.equal("mine()", tostring(P.define("mine", {}, print){}))
    local given <const> = {sd = 2}
    P.normal(given)
    assert.same({sd = 2}, given)
    assert.equal("log_density is a method of a prior: write prior:log_density(...) with a colon, not prior.log_density(...)",
      raises("option", "", u.log_density, 3).message)
    assert.equal("a prior has no field 'zzzz' (it has log_density, max, min, name, sample)",
      raises("option", "", function() return u.zzzz end).message)
  end)

  it("is refused by reason", function()
    for name, keys in pairs{normal = "sd", log_normal = "sd", gamma = "shape rate", inverse_gamma = "shape rate",
      exponential = "rate", half_normal = "sd",
      student_t = "df scale", half_cauchy = "scale", smoothed_box = "sd"} do
      for key in keys:gmatch "%S+" do
        for _, v in ipairs{0, -1, 0 / 0} do
          assert.equal(("gb.priors.%s: %s must be above 0"):format(name, key), raises("option", "", P[name], {[key] = v}).message)
        end
        assert.equal(("gb.priors.%s: option '%s' must be a number, got string x"):format(name, key),
          raises("option", "", P[name], {[key] = "x"}).message)
      end
    end
    for _, name in ipairs{"uniform", "smoothed_box"} do
      assert.equal(("gb.priors.%s: min 3 is not below max 3"):format(name),
        raises("option", "", P[name], {min = 3, max = 3}).message)
      assert.equal(("gb.priors.%s: min 1 is not below max -1"):format(name),
        raises("option", "", P[name], {min = 1, max = -1}).message)
    end
    for i, text in ipairs{"the name must be a string", "the settings must be a table of numbers by name",
      "the third argument must be a function"} do
      local args <const> = {"p", {a = 1}, print}
      args[i] = 3
      assert.equal("gb.priors.define: " .. text, raises("option", "", P.define, table.unpack(args)).message)
    end
    for _, settings in ipairs{{1}, {a = "x"}, setmetatable({}, {}), "x"} do
      assert.equal("gb.priors.define: the settings must be a table of numbers by name",
        raises("option", "", P.define, "p", settings, print).message)
    end
    local make <const> = P.define("p", {a = 1, sd = 2}, function(v, o) return v * o.a + o.sd end)
    near(-3 * 5 - 1, make{a = -3, sd = -1}:log_density(gb.tensor(5)), 1e-14)
    near(7, make{}:log_density(gb.tensor(5)), 1e-14)
    assert.equal("p: unknown option 'zzzz'; known: a, sd", raises("option", "", make, {zzzz = 1}).message)
    local bad <const> = P.define("bad", {}, function() return 3 end){}
    assert.equal("prior 'bad' must give a tensor of log densities, got number",
      raises("option", "", bad.log_density, bad, gb.ones(1)).message)
  end)
end)

describe("prior:sample", function()
  local P <const> = gb.priors
  local cases <const> = {
    normal = {P.normal{mean = 1, sd = 2}, -12, 14}, log_normal = {P.log_normal{mean = 0.3, sd = 0.5}, 1e-9, 15},
    gamma = {P.gamma{shape = 3, rate = 2}, 1e-9, 15}, small = {P.gamma{shape = 1.2, rate = 2}, 1e-9, 15},
    inverse_gamma = {P.inverse_gamma{shape = 5, rate = 3}, 1e-9, 20}, exponential = {P.exponential{rate = 2}, 0, 15},
    half_normal = {P.half_normal{sd = 2}, 0, 16}, student_t = {P.student_t{df = 6, mean = 1, scale = 0.5}, -30, 32},
    half_cauchy = {P.half_cauchy{scale = 0.5}, 0, 100}, uniform = {P.uniform{min = -1, max = 2}, -1, 2},
    smoothed_box = {P.smoothed_box{min = 1, max = 2, sd = 0.5}, -4, 7},
  }

  --- The largest difference of the empirical distribution of draws and that of the density, by the midpoint rule.
  local function distance(prior, from, to, draws)
    table.sort(draws)
    local step <const>, sum, at, worst = (to - from) / 20000, 0.0, 0, 0.0
    local mids <const> = {}
    for i = 1, 20000 do mids[i] = from + (i - 0.5) * step end
    local log_density <const> = prior.density(gb.tensor(mids), prior.o):totable()
    for i = 1, 20000 do
      sum = sum + math.exp(log_density[i]) * step
      while at < #draws and draws[at + 1] <= mids[i] + step / 2 do at = at + 1 end
      worst = math.max(worst, math.abs(at / #draws - sum))
    end
    return worst
  end

  it("has the distribution of the density, of every family", function()
    local sampled <const> = require "gibbous.priors.sample".families
    for name, case in pairs(cases) do
      local prior <const>, from <const>, to <const> = table.unpack(case)
      local v <const> = prior:sample(20000, {seed = 3})
      assert.same({1, 20000, "f64"}, {v.ndim, #v, v.dtype})
      local off <const> = distance(prior, from, to, v:totable())
      assert.is_true(off < 0.0115, ("%s: %g"):format(name, off))              -- 1.63 / sqrt(n): 1 % by chance, of fixed seeds
    end
    for name in pairs(sampled) do assert.is_not_nil(cases[name], name) end
  end)

  it("of a gamma whose shape is below 1, and again by the seed", function()
    local prior <const> = P.gamma{shape = 0.5, rate = 2}
    local v <const> = prior:sample(20000, {seed = 1})
    near(0.25, v:mean(), 0.01)
    near(0.125, v:var(), 0.01)
    near(v, prior:sample(20000, {seed = 1}), 0)
    assert.is_false((prior:sample(5, {seed = 2}) - prior:sample(5, {seed = 1})):abs():max():item() == 0)
    assert.same({0, 1}, {#prior:sample(0), #prior:sample()})
    raises("option", "sample: the number of draws must be a whole number, 0 or more, got number -1", prior.sample, prior, -1)
  end)

  it("of one's own by its draw, which is checked", function()
    local function made(draw)
      return P.define("own", {by = 2}, function(v, o) return -o.by * v end, draw and {draw = draw})()
    end
    near({2, 2, 2}, made(function(o, k) return gb.full({k}, o.by) end):sample(3), 0)
    near(gb.rand(3, {seed = 5}), made(function(_, k, seed) return gb.rand(k, {seed = seed}) end):sample(3, {seed = 5}), 0)
    raises("option", "sample: prior 'own' has no draw", function() made():sample(3) end)
    raises("option", "prior 'own': draw(o, k, seed) must give a tensor of shape 3, got number", function()
      made(function() return 1 end):sample(3)
    end)
    raises("option", "must give a tensor of shape 3, got shape 2", function() made(function() return gb.ones(2) end):sample(3) end)
    raises("option", "unknown option 'drow', did you mean 'draw'?", P.define, "own", {}, print, {drow = print})
  end)
end)

describe("a prior of one's own", function()
  local function fitted(f)
    local k <const> = gb.kernels.rbf{lengthscale = gb.param(0.5, {min = 0, prior = gb.priors.define("own", {}, f)()})}
    return gb.gp.exact{kernel = k, noise = 0.1}:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 2})
  end

  it("without a gradient, or of another shape, is refused by the fit", function()
    raises("option", "prior 'own' has no gradient by the value", fitted, function(v) return gb.tensor(-v:item()) end)
    raises("option", "prior 'own' has no gradient by the value", fitted, function(v) return -v:detach() end)
    raises("shape", "prior 'own' must give a log density for each element, shape (), or their sum, got shape 2", fitted,
      function(v) return gb.stack({-v, -v}, 1) end)
    assert.is_true(fitted(function(v) return -v end).log_prior < 0)
  end)
end)

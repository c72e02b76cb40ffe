-- Likelihoods against values in 40 digits (scripts/reference/likelihoods.py), their gradients against differences, draws against
-- moments, and observations that are none.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local param <const> = require "gibbous.param"
local random <const> = require "gibbous.likelihoods.random"
local support <const> = require "spec.support"
local values <const> = require "spec.gp.likelihoods.values"
local near <const>, raises <const> = support.near, support.raises

local L <const> = gb.likelihoods

-- How far averages by 20 points may be off: nothing, in closed form; where the integrand has a narrow peak more.
local BY_RULE <const> = 2e-3

local function options(o, more)
  local out <const> = {}
  for key, v in pairs(o) do out[key] = v end
  for key, v in pairs(more or {}) do out[key] = v end
  return out
end

local function make(row, more) return L[row[1]](options(row[2], more)) end

describe("a likelihood", function()
  it("has the log density of its formula, in both tails", function()
    for _, row in ipairs(values) do
      local l <const>, f <const> = make(row), gb.tensor(row[4])
      near(row[5], l:log_density(f, f * 0 + row[3]), 4e-14, ("%s of %g"):format(tostring(l), row[3]))
    end
  end)

  it("averages it over a Gaussian latent value: in closed form, or as the rule has points", function()
    local closed <const> = {poisson = true, gamma = true, exponential = true, laplace = true}
    for _, row in ipairs(values) do
      for _, c in ipairs(row[6]) do
        local m <const>, v <const>, y <const> = gb.tensor{c[1]}, gb.tensor{c[2]}, gb.tensor{row[3]}
        local l <const>, fine <const> = make(row), make(row, {points = 120})
        local what <const> = ("%s of %g"):format(tostring(l), row[3])
        near(c[3], l:expected(m, v, y), closed[row[1]] and 1e-13 or BY_RULE, what)
        near(c[3], fine:expected(m, v, y), 1e-6, what)
        near(c[4], fine:log_predictive(m, v, y), 1e-6, what)
        local error <const> = l:expected_error(m, v, y):item()
        assert.is_true(math.abs(l:expected(m, v, y):item() - c[3]) <= 4 * error + 1e-9, what)
        if closed[row[1]] then assert.equal(0, error) end
      end
    end
  end)

  it("has gradients by the latent value and its parameters, to differences", function()
    local seen <const> = {}
    for _, row in ipairs(values) do
      local l <const> = make(row)
      local y <const>, h <const> = gb.tensor{row[3], row[3]}, 1e-5
      for _, name in ipairs{"log_density", "expected", "log_predictive"} do
        local f <const>, v <const> = gb.tensor{-0.6, 1.1}:requires_grad(), gb.tensor{0.3, 0.8}:requires_grad()
        local function at(a, b)
          if name == "log_density" then return l:log_density(a, y) end
          return l[name](l, a, b, y)
        end
        local what <const>, plain <const>, var <const> = ("%s %s"):format(tostring(l), name), f:detach(), v:detach()
        local slopes <const> = gb.grad(at(f, v):sum(), {f, v}, {unused = "zero"})
        near((at(plain + h, var) - at(plain - h, var)) / (2 * h), slopes[1], 1e-6, what)
        near((at(plain, var + h) - at(plain, var - h)) / (2 * h), slopes[2], 1e-6, what)
        local list <const>, raws <const> = param.collect(l), {}
        for i, p in ipairs(list) do raws[i] = p.raw end
        if #list > 0 then
          local function total() return at(plain, var):sum() end
          local got <const>, want <const> = gb.grad(total(), raws), support.differences(total, list)
          for i in ipairs(list) do near(want[i], got[i]:reshape(-1), 1e-6, what) end
        end
      end
      seen[row[1]] = true
    end
    assert.is_true(seen.ordinal and seen.beta and seen.student_t)
  end)

  it("predicts the moments of what it draws", function()
    local n <const> = 40000
    local m <const>, v <const> = gb.full({n}, 0.4), gb.full({n}, 0.3)
    local f <const> = (m + v:sqrt() * gb.randn(n, {seed = 11})):eval()
    for _, l in ipairs{L.bernoulli{link = "logit"}, L.poisson{}, L.negative_binomial{dispersion = 0.4},
      L.student_t{scale = 0.7, df = 6}, L.laplace{scale = 0.7}, L.gamma{shape = 2.5}, L.exponential{}, L.beta{concentration = 6},
      L.ordinal{classes = 4}} do
      local of <const>, y <const> = l:predictive(m, v), l:draw(f, 5):eval()
      local sd <const> = of.var:select(1, 1):item() ^ 0.5
      assert.equal(0, (y - l:check(y)):abs():max():item())
      near(of.mean:select(1, 1), y:mean(), 5 * sd / math.sqrt(n), tostring(l))
      near(of.var:select(1, 1), y:var(), 0.1 * sd ^ 2 + 0.02, tostring(l))
      assert.is_true(l:draw(f, 5):equal(y))
      assert.is_false(l:draw(f, 6):equal(y))
    end
    local large <const> = L.poisson{}:draw(gb.full({4000}, math.log(300)), 2)
    near(300, large:mean(), 5 * math.sqrt(300 / 4000))
    near(300, large:var(), 30)
  end)

  it("has the Fisher information where its density is not concave", function()
    local f <const> = gb.tensor{-0.7, 0.2, 1.1}
    near(gb.full({3}, 4 / (6 * 0.3 ^ 2)), L.student_t{scale = 0.3, df = 3}:curvature(f, f), 1e-12)
    local beta <const>, count <const> = L.beta{concentration = 6}, 20000
    local y <const> = ((gb.range(1, count) - 0.5) / count):unsqueeze(1):expand(3, count)
    local at <const> = f:unsqueeze(2):expand(3, count):eval():detach():requires_grad()
    local density <const> = beta:log_density(at, y)
    local score <const> = gb.grad(density:sum(), at)
    near((density:exp() * score ^ 2):mean(2), beta:curvature(f, f:sigmoid()), 1e-4)
  end)

  it("draws what its moments say for small shapes and middling means, by the seed", function()
    local f <const>, count <const> = gb.zeros(40000), 40000
    local y <const> = L.gamma{shape = 0.3}:draw(f, 3)
    near(1, y:mean(), 5 * math.sqrt(1 / 0.3 / count))
    near(1 / 0.3, y:var(), 0.3)
    local counts <const> = L.poisson{}:draw(f + math.log(13), 3)
    near(13, counts:mean(), 5 * math.sqrt(13 / count) / 13)
    near(13, counts:var(), 0.05)
    local nearly_poisson <const> = L.negative_binomial{dispersion = 1e-12}
    assert.is_false(nearly_poisson:draw(f + 2, 1):equal(nearly_poisson:draw(f + 2, 2)))
  end)

  it("is Laplace noise of a known latent value where that has no variance", function()
    local l <const>, y <const> = L.laplace{scale = 0.5}, gb.tensor{0.3, 2}
    near(l:log_density(gb.tensor{0.3, 0.1}, y), l:expected(gb.tensor{0.3, 0.1}, gb.zeros(2), y), 1e-10)
  end)

  it("draws finite noise from uniform numbers next to 0 and 1, in f32 too", function()
    local uniform <const> = random.uniform
    for _, dtype in ipairs{"f32", "f64"} do
      random.uniform = function() return gb.tensor({2.0 ^ -30, 0.25, 0.75, 1 - 2.0 ^ -24}, {dtype = dtype}) end
      local ok <const>, y <const> = pcall(L.laplace{scale = 2}.draw, L.laplace{scale = 2}, gb.zeros(4, {dtype = dtype}), 1)
      random.uniform = uniform
      assert(ok, y)
      near({-2 * 29 * math.log(2), -2 * math.log(2), 2 * math.log(2), 2 * 23 * math.log(2)}, y, 1e-6)
    end
  end)

  it("has probabilities of classes that add to 1 and agree with its densities", function()
    local m <const>, v <const> = gb.tensor{-0.4, 0.9}, gb.tensor{0.3, 1.2}
    for _, link in ipairs{"probit", "logit"} do
      local l <const> = L.ordinal{cuts = {-1, 0.25, 1.5}, link = link, points = 60}
      local p <const> = l:predictive(m, v).probabilities
      near(gb.ones(2), p:sum(2), 1e-14)
      for k = 1, 4 do near(l:log_predictive(m, v, gb.full({2}, k)):exp(), p:select(2, k), 1e-8) end
    end
  end)

  it("average over f that is wide beside their noise, however narrow that is", function()
    local count <const> = 200001
    --- E p(y | f) of f ~ N(0.3, v) by the trapezoidal rule.
    local function average(l, v, y)
      local sd <const> = math.sqrt(v)
      local f <const> = gb.linspace(0.3 - 10 * sd, 0.3 + 10 * sd, count)
      local density <const> = (l:log_density(f, gb.full({count}, y)) - (f - 0.3) ^ 2 / (2 * v)):exp():sum():item()
      return density * 20 * sd / (count - 1) / math.sqrt(2 * math.pi * v)
    end
    for _, v in ipairs{0.01, 0.7, 10, 400} do
      local mean <const>, var <const> = gb.tensor{0.3}, gb.tensor{v}
      for _, scale in ipairs{0.02, 0.5} do
        for _, df in ipairs{1.5, 4, 3000} do
          local l <const> = L.student_t{scale = scale, df = df}
          for _, y in ipairs{0.3, 0.9, -7} do
            near({math.log(average(l, v, y))}, l:log_predictive(mean, var, gb.tensor{y}):totable(), 1e-6)
          end
        end
      end
      for _, link in ipairs{"probit", "logit"} do
        local two <const>, four <const> = L.bernoulli{link = link}, L.ordinal{cuts = {-1, 0.5, 1.5}, link = link}
        for y = 0, 1 do near({average(two, v, y)}, {two:predictive(mean, var).probabilities[1][y + 1]:item()}, 1e-9) end
        for y = 1, 4 do near({average(four, v, y)}, {four:predictive(mean, var).probabilities[1][y]:item()}, 1e-9) end
      end
    end
  end)

  it("has the moments of a beta distribution whose mean is wide", function()
    local l <const>, count <const> = L.beta{concentration = 5}, 200001
    for _, v in ipairs{1e-8, 0.1, 0.7, 10, 400} do
      local sd <const> = math.sqrt(v)
      local f <const> = gb.linspace(0.3 - 10 * sd, 0.3 + 10 * sd, count)
      local weight <const> = (-(f - 0.3) ^ 2 / (2 * v)):exp() * 20 * sd / (count - 1) / math.sqrt(2 * math.pi * v)
      local m <const> = f:sigmoid()
      local first <const> = (weight * m):sum():item()
      local second <const> = (weight * (m * (1 - m) / 6 + (m - first) ^ 2)):sum():item()
      local got <const> = l:predictive(gb.tensor{0.3}, gb.tensor{v})
      near({first}, got.mean:totable(), 1e-9)
      near({second}, got.var:totable(), 1e-9)
    end
  end)

  it("has the slopes of the log density of Student's distribution that is averaged", function()
    local scale <const>, df <const> = gb.param(0.05, {min = 0}), gb.param(4.0, {min = 1})
    local l <const> = L.student_t{scale = scale, df = df}
    local m <const>, v <const> = gb.tensor{0.2, 0.3}:requires_grad(), gb.tensor{0.5, 3}:requires_grad()
    local y <const> = gb.tensor{0.1, 4}
    local function sum(a, b) return l:log_predictive(a, b, y):sum() end
    local value <const>, h <const> = sum(m, v), 1e-5
    local slopes <const> = gb.grad(value, {m, v, scale, df})
    near({(sum(m + h, v):item() - sum(m - h, v):item()) / (2 * h)}, {slopes[1]:sum():item()}, 1e-7)
    near({(sum(m, v + h):item() - sum(m, v - h):item()) / (2 * h)}, {slopes[2]:sum():item()}, 1e-7)
    for i, p in ipairs{scale, df} do
      local at <const> = p.value:item()
      p.value = at * (1 + h)
      local above <const> = sum(m, v):item()
      p.value = at * (1 - h)
      local below <const> = sum(m, v):item()
      p.value = at
      near({(above - below) / (2 * h * at)}, {slopes[2 + i]:item()}, 1e-7)
    end
    assert.equal(0, #l:log_predictive(gb.zeros(0), gb.ones(0), gb.zeros(0)))
    local one <const> = gb.ones(2, {dtype = "f32"})
    assert.equal("f32", l:log_predictive(0 * one, one, one).dtype)
  end)

  it("keeps cut points in order, whatever their parameters", function()
    local l <const> = L.ordinal{classes = 5}
    l.gaps = {1e-9, 1e-3, 10}
    local list <const> = l:log_density(gb.zeros(5), gb.tensor{1, 2, 3, 4, 5}):exp()
    near(1, list:sum(), 1e-12)
    assert.is_true(list:min():item() > 0)
    raises("option", "cut points are finite and in order: cut 3 is 0.5", L.ordinal, {cuts = {0, 1, 0.5}})
    raises("option", "classes must be 3 or more; for two gb.likelihoods.bernoulli", L.ordinal, {classes = 2})
  end)
end)

describe("a softmax likelihood", function()
  local m <const>, v <const> = gb.tensor{{0.3, -1, 2}, {5, 5, -40}}, gb.tensor{{0.5, 1, 0.2}, {0.1, 2, 1}}
  local y <const> = gb.tensor{1, 3}

  it("is a log of sums of exponentials, of any size", function()
    local l <const> = L.softmax{classes = 3}
    near({0.3 - math.log(math.exp(0.3) + math.exp(-1) + math.exp(2)), -45 - math.log(2)}, l:log_density(m, y), 1e-14)
    near({0, -2000}, l:log_density(gb.tensor{{1000, 0, -1000}, {1000, 0, -1000}}, y), 1e-14)
    assert.equal(3, l:latents())
  end)

  it("draws in pairs, whose mean is exact, and otherwise by its seed", function()
    local one <const>, other <const> = L.softmax{classes = 3, seed = 1}, L.softmax{classes = 3, seed = 2}
    local far <const> = gb.tensor{{60, 0, 0}}
    near({0}, one:expected(far, gb.ones(1, 3), gb.tensor{1}), 1e-13)
    assert.is_true((one:expected(m, v, y) - other:expected(m, v, y)):abs():min():item() > 1e-6)
  end)

  it("averages by seeded draws with a stated error", function()
    local l <const>, fine <const> = L.softmax{classes = 3}, L.softmax{classes = 3, draws = 20000, seed = 5}
    local off <const> = (l:expected(m, v, y) - fine:expected(m, v, y)):abs()
    local said <const> = l:expected_error(m, v, y)
    assert.is_true((off / said):max():item() < 4)
    assert.is_true(said:max():item() < 0.1)
    local p <const> = l:predictive(m, v).probabilities
    near(gb.ones(2), p:sum(2), 1e-14)
    near(fine:predictive(m, v).probabilities, p, 0.05)
    near(p:gather(2, gb.tensor({{1}, {3}}, {dtype = "i64"})):log():squeeze(2), l:log_predictive(m, v, y), 1e-12)
    local root <const> = gb.stack({gb.linalg.diag(v:select(1, 1):sqrt()), gb.linalg.diag(v:select(1, 2):sqrt())}, 1)
    near(p, l:predictive(m, root).probabilities, 1e-14)
    local a <const>, way <const>, h <const> = m:detach():requires_grad(), gb.tensor{{1, 0, 0}, {0, 1, 0}}, 1e-5
    near((l:expected(m + h * way, v, y) - l:expected(m - h * way, v, y)) / (2 * h),
      (gb.grad(l:expected(a, v, y):sum(), a) * way):sum(2), 1e-8)
  end)

  it("draws classes as often as they are likely", function()
    local l <const> = L.softmax{classes = 3}
    local drawn <const> = l:draw(m:slice(1, 1, 1):expand{20000, 3}:eval(), 4):eval()
    for k = 1, 3 do near(m:slice(1, 1, 1):softmax(2):select(2, k), drawn:eq(k):to{dtype = "f64"}:mean():reshape(1), 0.02) end
  end)
end)

describe("an observation that is none", function()
  it("is named by its row, with the way out", function()
    local function refused(text, l, y) raises("option", text, l.check, l, gb.tensor(y), "fit") end
    refused("fit: row 2 of y is -3, expected a count, 0 or more; gb.likelihoods.student_t", L.poisson{}, {1, -3, 2})
    refused("fit: row 3 of y is 2.5, expected a count, 0 or more; y:round() makes counts of it", L.negative_binomial{}, {1, 3, 2.5})
    refused("fit: row 1 of y is 1, expected a number inside (0, 1); gb.likelihoods.bernoulli has 0 and 1", L.beta{}, {1, 0.5})
    refused("fit: row 2 of y is 40, expected a number inside (0, 1); scale y to that interval", L.beta{}, {0.2, 40})
    refused("fit: row 1 of y is 0, expected a number above 0; leave such rows out", L.gamma{}, {0, 1})
    refused("fit: row 1 of y is -1, expected a number above 0", L.exponential{}, {-1, 1})
    refused("fit: row 2 of y is 0, expected a class, 1 to 3; classes count from 1: give y + 1", L.softmax{classes = 3}, {1, 0})
    refused("fit: row 2 of y is 2.5, expected a class, 1 to 4", L.ordinal{classes = 4}, {1, 2.5})
    refused("fit: row 1 of y is inf, expected a finite number", L.student_t{}, {math.huge, 1})
    refused("fit: row 2 of y is nan, expected a finite number", L.laplace{}, {1, 0 / 0})
  end)

  it("goes with options that are none", function()
    raises("option", "gb.likelihoods.student_t: df must be above 1 and finite, got 0.5", L.student_t, {df = 0.5})
    raises("option", "unknown option 'rate'", L.poisson, {rate = 1})
    raises("option", "draws come in pairs", L.softmax, {classes = 3, draws = 5})
    raises("option", "give classes, their number, or cuts", L.ordinal, {})
    raises("option", "the likelihood 'poisson' has no noise variance", function() return L.poisson{}:variance(gb.ones(2, 1)) end)
    raises("option", "a likelihood has no field 'scal' (did you mean 'scale'?)", function() return L.laplace{}.scal end)
  end)
end)

describe("a likelihood of one's own", function()
  local cauchy <const> = L.define{name = "cauchy", parameters = {scale = 1},
    log_density = function(f, y, p) return -((y - f) ^ 2 / p.scale ^ 2):log1p() - (math.pi * p.scale):log() end,
    draw = function(f, p, seed) return f + p.scale * ((gb.rand(f.shape, {seed = seed}) - 0.5) * math.pi):tan() end}

  it("has densities, averages and parameters as others have", function()
    local l <const> = cauchy{scale = 2}
    local f <const>, y <const> = gb.tensor{0.5, 1}, gb.tensor{1, -3}
    near({-math.log(math.pi * 2 * (1 + 0.0625)), -math.log(math.pi * 2 * 5)}, l:log_density(f, y), 1e-14)
    assert.is_true(l:expected_error(f, f * 0 + 0.1, y):max():item() < 1e-8)
    assert.equal(2, l.scale.value:item())
    assert.equal("cauchy{scale=2}", tostring(l:copy()))
    near(l:draw(f, 3), l:draw(f, 3), 0)
    raises("option", "the likelihood 'cauchy' was defined without 'mean'", l.predictive, l, f, f * 0 + 1)
    local p <const> = gb.param(3, {min = 0})
    assert.is_true(rawequal(p, cauchy{scale = p}.scale))
    core.eval(l:log_density(f, y))
  end)

  it("says what it needs", function()
    raises("option", "name and log_density are needed", L.define, {name = "own"})
    raises("option", "parameter 'a' as a number is above 0; gb.param(-1) has no bound", L.define,
      {name = "own", parameters = {a = -1}, log_density = function(f) return f end})
    local wrong <const> = L.define{name = "own", log_density = function() return 3 end}
    raises("shape", "own: log_density must give a number for each f, shape 3, got shape ()", function()
      local whole <const> = gb.likelihoods.define{name = "own", log_density = function(f, y) return (y - f):sum() end}
      return whole{}:log_density(gb.zeros(3), gb.ones(3))
    end)
    raises("option", "own: log_density must give a tensor, got number", function()
      return wrong{}:log_density(gb.ones(1), gb.ones(1))
    end)
    local picky <const> = L.define{name = "even", log_density = function(f) return f end, expects = "an even number",
      check = function(y) return (y / 2):eq((y / 2):floor()) end}
    raises("option", "even: row 2 of y is 3, expected an even number", function() return picky{}:check(gb.tensor{2, 3}) end)
  end)
end)

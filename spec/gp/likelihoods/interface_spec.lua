-- What every likelihood answers: densities, their averages over a Gaussian latent value, draws. References are sums on a fine grid.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local L <const> = gb.likelihoods
local mean <const>, var <const> = gb.tensor{0.3, -2, 4, 0}, gb.tensor{1, 2, 0.1, 9}

--- E g(f) of f ~ N(m, v) by the trapezoid rule on 12 standard deviations either side.
local function on_grid(g, m, v)
  local sd <const>, sum <const>, steps <const> = math.sqrt(v), {0}, 4000
  for i = -steps, steps do
    local z <const> = 12 * i / steps
    sum[1] = sum[1] + g(m + sd * z) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * 12 / steps
  end
  return sum[1]
end

local function each(g, y)
  local m <const>, v <const>, out <const> = mean:totable(), var:totable(), {}
  for i = 1, #m do out[i] = on_grid(function(f) return g(f, y[i]) end, m[i], v[i]) end
  return out
end

local function logs(list)
  local out <const> = {}
  for i, v in ipairs(list) do out[i] = math.log(v) end
  return out
end

local function sigmoid(f) return 1 / (1 + math.exp(-f)) end

describe("a Bernoulli likelihood", function()
  local y <const> = {1, 0, 0, 1}

  it("has the densities of its links, in both tails", function()
    local f <const>, one <const> = gb.tensor{0.5, -0.5, 30, -30}, gb.ones(4)
    local logit <const> = L.bernoulli{link = "logit"}
    near({-0.474076984180106706, -0.974076984180106706, -9.35762296884017e-14, -30.0000000000000936}, logit:log_density(f, one),
      1e-15)
    near(logit:log_density(f, one), logit:log_density(-f, 0 * one), 0)
    local probit <const>, some <const> = L.bernoulli(), gb.tensor{0.5, -0.5, -30}
    near({-0.368946415288656998, -1.17591176159362046, -454.321243956343}, probit:log_density(some, gb.ones(3)), 1e-14)
    assert.is_true(probit:log_density(f, one):select(1, 3):item() <= 0)
  end)

  it("averages over the latent value as a fine grid does", function()
    local l <const> = L.bernoulli{link = "logit", points = 60}
    local function p(f, v) return sigmoid(v == 1 and f or -f) end
    near(each(function(f, v) return math.log(p(f, v)) end, y), l:expected(mean, var, gb.tensor(y)), 1e-6)
    near(logs(each(p, y)), l:log_predictive(mean, var, gb.tensor(y)), 1e-6)
    local of <const>, want <const> = l:predictive(mean, var), each(sigmoid, y)
    near(want, of.mean, 1e-7)
    near(of.mean * (1 - of.mean), of.var, 1e-15)
    near(of.mean, of.probabilities:select(2, 2), 0)
    near(gb.ones(4), of.probabilities:sum(2), 1e-14)
  end)

  it("has probit predictions in closed form", function()
    local wide <const>, l <const> = L.bernoulli{points = 100}, L.bernoulli()
    local by_rule <const> = require "gibbous.likelihoods.quadrature".expectation(function(f) return f:ndtr() end, mean, var, 100)
    near(by_rule, l:predictive(mean, var).mean, 1e-8)
    near(l:predictive(mean, var).mean:log(), l:log_predictive(mean, var, gb.ones(4)), 1e-14)
    near(wide:expected(mean, var, gb.tensor(y)), l:expected(mean, var, gb.tensor(y)), 1e-3)
  end)

  it("states the error of its rule", function()
    local l <const>, t <const> = L.bernoulli{points = 6}, gb.tensor(y)
    local truth <const> = L.bernoulli{points = 100}:expected(mean, var, t)
    local said <const> = l:expected_error(mean, var, t):max():item()
    local off <const> = (l:expected(mean, var, t) - truth):abs():max():item()
    assert.is_true(off > 0 and said > off / 2 and said < 2 * off)
  end)

  it("is differentiable by what it averages over", function()
    local m <const>, v <const> = mean:detach():requires_grad(), var:detach():requires_grad()
    for _, link in ipairs{"logit", "probit"} do
      for _, of in ipairs{"expected", "log_predictive"} do
        local l <const> = L.bernoulli{link = link, points = 100}
        local function value(a, b) return l[of](l, a, b, gb.tensor(y)) end
        local slope <const>, h <const> = gb.grad(value(m, v):sum(), {m, v}), 1e-5
        near((value(m + h, v) - value(m - h, v)) / (2 * h), slope[1], 1e-6, of)
        near((value(m, v + h) - value(m, v - h)) / (2 * h), slope[2], 1e-6, of)
      end
    end
  end)

  it("draws what it says, by the seed", function()
    local l <const>, f <const> = L.bernoulli{link = "logit"}, gb.full({20000}, 0.7)
    local drawn <const> = l:draw(f, 3):eval()
    near(sigmoid(0.7), drawn:mean(), 0.01)
    near(drawn, l:draw(f, 3), 0)
    assert.is_true((drawn - l:draw(f, 4)):abs():sum():item() > 0)
  end)

  it("names the row of a label that is none, and the way out", function()
    local l <const> = L.bernoulli()
    near({0, 1, 1}, l:check(gb.tensor{0, 1, 1}), 0)
    raises("option", "bernoulli: row 2 of y is 2, expected 0 or 1; for classes 1 and 2 give y - 1", l.check, l, gb.tensor{1, 2, 3})
    raises("option", "fit: row 3 of y is -1, expected 0 or 1; for classes -1 and 1 give (y + 1) / 2", l.check, l,
      gb.tensor{0, 1, -1}, "fit")
    raises("option", "row 1 of y is nan", l.check, l, gb.tensor{0 / 0, 1})
    raises("option", "did you mean logit", L.bernoulli, {link = "logi"})
    raises("option", "the noise must be Gaussian", gb.gp.exact, {kernel = gb.kernels.rbf{}, likelihood = l})
  end)
end)

describe("a Gaussian likelihood", function()
  local y <const> = {1, -1, 3.5, 0.2}
  local function log_density(f, v) return -0.5 * (math.log(2 * math.pi * 0.4) + (v - f) ^ 2 / 0.4) end

  it("answers as the others do", function()
    local l <const>, t <const> = L.gaussian(0.4), gb.tensor(y)
    assert.equal(1, l:latents())
    near(each(log_density, y), l:expected(mean, var, t), 1e-10)
    near(logs(each(function(f, v) return math.exp(log_density(f, v)) end, y)), l:log_predictive(mean, var, t), 1e-10)
    near(log_density(0.3, 1), l:log_density(mean, t):select(1, 1), 1e-14)
    near(var + 0.4, l:predictive(mean, var).var, 1e-15)
    near(0, l:expected_error(mean, var, t):sum(), 0)
    local drawn <const> = l:draw(gb.full({20000}, 2), 1):eval()
    near(2, drawn:mean(), 0.02)
    near(0.4, drawn:var(), 0.02)
  end)

  it("asks for the inputs where its noise goes with them", function()
    local l <const>, t <const> = L.fixed({1, 2, 3, 4}, {new = 0.5}), gb.tensor(y)
    raises("option", "give the inputs x (n, d) as the last argument", l.log_density, l, mean, t)
    local x <const> = gb.ones(4, 1)
    local v <const> = gb.tensor{1, 2, 3, 4}
    near(-0.5 * (v * (2 * math.pi)):log() - (t - mean) ^ 2 / (2 * v), l:log_density(mean, t, x), 1e-14)
    near(var + 0.5, l:predictive(mean, var, x).var, 0)
  end)
end)

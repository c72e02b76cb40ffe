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
    near(-0.5 * math.log(2 * math.pi) - math.log(2) - 0.5 * (1.5 / 2) ^ 2, density(gb.priors.normal{mean = 1, sd = 2}, {2.5}), 1e-14)
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
    near(math.log(2 / (2 * math.sqrt(2 * math.pi)) * math.exp(-0.5 * (1.5 / 2) ^ 2)), density(gb.priors.half_normal{sd = 2}, {1.5}), 1e-14)
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

-- The algorithm alone: objectives that are plain functions of lists of numbers.
local lbfgs <const> = require "gibbous.lbfgs"

local function run(f, x, o)
  local points, values <const> = 0, {}
  local settings <const> = {steps = 100, tol = 1e-8, ftol = 1e-12, limit = {}}
  for k, v in pairs(o or {}) do settings[k] = v end
  local at
  local reason <const>, converged <const>, steps <const> = lbfgs.minimize(function(v)
    points = points + 1
    return f(v)
  end, x, settings, function(_, v, value)
    at = v
    values[#values + 1] = value
  end)
  return {x = at, values = values, points = points, reason = reason, converged = converged, steps = steps}
end

describe("lbfgs.minimize", function()
  it("meets the least point of a parabola by one interpolation", function()
    local r <const> = run(function(x) return 50 * (x[1] - 0.1) ^ 2, {100 * (x[1] - 0.1)}, 1e-15 end, {0.0})
    assert.is_true(r.converged)
    assert.is_true(math.abs(r.x[1] - 0.1) < 1e-12)
    assert.equal(3, r.points)                          -- the start, x = 1, x = 0.1
  end)

  it("never accepts a larger value", function()
    local r <const> = run(function(x)
      local a <const>, b <const> = x[1], x[2]
      return (1 - a) ^ 2 + 100 * (b - a * a) ^ 2, {-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)}, 1e-15
    end, {-1.2, 1.0})
    assert.is_true(r.converged and r.points <= 50)
    for i = 2, #r.values do assert.is_true(r.values[i] < r.values[i - 1]) end
  end)

  it("halves a step to where there is no value", function()
    local seen <const> = {}
    local r <const> = run(function(x)
      seen[#seen + 1] = x[1]
      if x[1] >= 0.6 then return math.huge end
      return -x[1], {-1.0}, 1e-15
    end, {0.0}, {steps = 1})
    assert.same({0.0, 1.0, 0.5}, {seen[1], seen[2], seen[3]})
    assert.is_true(r.x[1] < 0.6 and r.x[1] >= 0.5)
  end)

  it("gives up a search once the change it looks for is below the rounding of values", function()
    local flat <const> = run(function() return 5.0, {1.0}, 1e-3 end, {0.0})
    assert.is_false(flat.converged)
    assert.equal("no further decrease along the gradient", flat.reason)
    assert.is_true(flat.points <= 12, flat.points .. " evaluations")
  end)

  it("stops where a step changes no more than rounding", function()
    local r <const> = run(function(x)
      return 1000 + x[1] ^ 4, {4 * x[1] ^ 3}, 1e-6
    end, {1.3}, {ftol = 1e-300, tol = 1e-300})
    assert.is_true(r.converged)
    assert.matches("rounding", r.reason)
    assert.is_true(r.points <= 10, r.points .. " evaluations")
  end)

  it("moves a limited element no further than its limit in the first trial", function()
    local seen <const> = {}
    run(function(x)
      seen[#seen + 1] = {x[1], x[2]}
      return (x[1] - 9) ^ 2 + (x[2] - 9) ^ 2, {2 * (x[1] - 9), 2 * (x[2] - 9)}, 1e-15
    end, {0.0, 0.0}, {limit = {[2] = 0.25}})
    assert.is_true(math.abs(seen[2][2] - 0.25) < 1e-15)
  end)

  it("says where there is no value at the start, and at a minimum that there is nothing to do", function()
    local none <const> = run(function() return math.huge end, {0.0})
    assert.is_false(none.converged)
    assert.equal("no value at the start", none.reason)
    local there <const> = run(function(x) return x[1] ^ 2, {2 * x[1]}, 1e-15 end, {0.0})
    assert.is_true(there.converged)
    assert.equal(1, there.points)
  end)

  it("ends at the limit of steps with the point it has", function()
    local r <const> = run(function(x) return math.exp(-x[1]), {-math.exp(-x[1])}, 1e-15 end, {0.0}, {steps = 3})
    assert.is_false(r.converged)
    assert.equal("step limit reached", r.reason)
    assert.equal(3, r.steps)
  end)
end)

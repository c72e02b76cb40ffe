-- The algorithm alone: objectives that are plain functions of lists of numbers.
local lbfgs <const> = require "gibbous.optim.lbfgs"

local function run(f, x, o)
  local points, values <const> = 0, {}
  local settings <const> = {steps = 100, tol = 1e-8, ftol = 1e-12, limit = {}}
  local heard = 0
  for k, v in pairs(o or {}) do settings[k] = v end
  local at
  local reason <const>, converged <const>, steps <const> = lbfgs.minimize(function(v)
    points = points + 1
    return f(v)
  end, x, settings, function(s)
    assert.is_true(#values == 0 and s.step == 0 or s.step > heard)
    at, heard = s.x, s.step
    values[#values + 1] = s.value
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

-- The same algorithm as the textbook writes it, with a matrix for the curvature.

local function dot(a, b)
  local s = 0.0
  for i = 1, #a do s = s + a[i] * b[i] end
  return s
end

local function plus(x, t, d)
  local out <const> = {}
  for i = 1, #x do out[i] = x[i] + t * d[i] end
  return out
end

--- H g for H = (I - rho s y') H' (I - rho y s') + rho s s' of the last 20 pairs, from H' = s'y / y'y of the last.
local function applied(history, g)
  local H <const>, last <const> = {}, history[#history]
  local function product(v)
    local out <const> = {}
    for i = 1, #g do out[i] = dot(H[i], v) end
    return out
  end
  for i = 1, #g do
    H[i] = {}
    for j = 1, #g do H[i][j] = i == j and (last and dot(last.s, last.y) / dot(last.y, last.y) or 1) or 0 end
  end
  for k = math.max(1, #history - 19), #history do
    local s <const>, y <const> = history[k].s, history[k].y
    local rho <const>, Hy <const> = 1 / dot(s, y), product(history[k].y)
    local scale <const> = rho * rho * dot(y, Hy) + rho
    for i = 1, #g do
      for j = 1, #g do H[i][j] = H[i][j] - rho * (s[i] * Hy[j] + Hy[i] * s[j]) + scale * s[i] * s[j] end
    end
  end
  return product(g)
end

--- Every point that is evaluated from x within so many steps; 'noise' as lbfgs.minimize takes it.
local function by_the_book(f, x, steps, noise)
  local seen <const>, history <const> = {}, {}
  local function at(v)
    local value <const>, g <const> = f(v)
    seen[#seen + 1] = v
    return {x = v, f = value, g = g}
  end
  local here = at(x)
  for _ = 1, steps do
    local Hg <const>, steepest = applied(history, here.g), 0.0
    local d <const> = plus(Hg, -2, Hg)
    for _, v in ipairs(here.g) do steepest = math.max(steepest, math.abs(v)) end
    local slope <const> = dot(d, here.g)
    local trials, step, lo, hi, found = 0, #history == 0 and math.min(1, 1 / steepest) or 1, {t = 0, f = here.f, slope = slope},
      nil, nil
    repeat
      trials = trials + 1
      local p <const> = at(plus(here.x, step, d))
      p.t, p.slope = step, p.g and dot(d, p.g) or math.huge
      if p.f > here.f + 1e-4 * step * slope or p.f >= lo.f then hi = p
      elseif math.abs(p.slope) <= -0.9 * slope then found = p
      else
        if hi and p.slope * (hi.t - lo.t) >= 0 or not hi and p.slope >= 0 then hi = lo end
        lo = p
      end
      if hi and math.abs((hi.t - lo.t) * lo.slope) <= (noise or 0) or trials == 25 then found = found or lo end
      if not hi then step = 2 * step
      else
        local w <const> = hi.t - lo.t
        local guess
        local d1 <const> = lo.slope + hi.slope - 3 * (lo.f - hi.f) / (lo.t - hi.t)
        local square <const> = d1 ^ 2 - lo.slope * hi.slope
        if hi.f == math.huge or square < 0 then guess = lo.t + w / 2
        else
          local d2 <const> = (w > 0 and 1 or -1) * math.sqrt(square)
          guess = hi.t - w * (hi.slope + d2 - d1) / (hi.slope - lo.slope + 2 * d2)
        end
        local share <const> = math.max(0.1, math.min(0.9, (guess - lo.t) / w))
        step = lo.t + share * w
      end
    until found
    if not found.x then break end
    history[#history + 1] = {s = plus(found.x, -1, here.x), y = plus(found.g, -1, here.g)}
    here = found
  end
  return seen
end

--- Rosenbrock's function in a chain.
local function chain(x)
  local value <const>, g <const> = {0.0}, {}
  for i = 1, #x do g[i] = 0.0 end
  for i = 1, #x - 1 do
    local u <const>, v <const> = x[i + 1] - x[i] ^ 2, 1 - x[i]
    value[1] = value[1] + 100 * u * u + v * v
    g[i] = g[i] - 400 * u * x[i] - 2 * v
    g[i + 1] = g[i + 1] + 200 * u
  end
  return value[1], g, 0
end

describe("the points that lbfgs.minimize evaluates", function()
  local function same(f, x, steps, tol, noise)
    local seen <const> = {}
    run(function(v)
      seen[#seen + 1] = v
      return f(v)
    end, x, {steps = steps, tol = 0, ftol = -math.huge})
    local want <const> = by_the_book(f, x, steps, noise)
    assert.equal(#want, #seen)
    for k, v in ipairs(want) do
      for i = 1, #v do
        assert.is_true(math.abs(seen[k][i] - v[i]) <= (tol or 1e-9) * math.max(1,
          math.abs(v[i])), ("point %d of %d: %.15g, %.15g expected")
          :format(k, #want, seen[k][i], v[i]))
      end
    end
    return seen
  end

  it("are those of the textbook", function()
    same(chain, {-1.2, 1.0}, 20, 1e-7)
    same(chain, {-1.2, 1.0, 0.3, -0.5, 2.0, 1.0}, 30, 1e-5)
    same(function(x) return x[1] ^ 4 - 3 * x[1] + math.sin(9 * x[1]), {4 * x[1] ^ 3 - 3 + 9 * math.cos(9 * x[1])}, 0 end, {-2.0}, 4)
    for _, from in ipairs{0.01, 0.3, 3.0, 30.0} do
      same(function(x) return math.log(1 + x[1] ^ 2) + math.cos(5 * x[1]) / 9,
        {2 * x[1] / (1 + x[1] ^ 2) - 5 * math.sin(5 * x[1]) / 9}, 0 end, {from}, 3)
    end
  end)

  it("are those of the textbook where the objective ends", function()
    same(function(x)
      if x[1] >= 2 then return math.huge end
      return -x[1] - 0.1 * math.log(2 - x[1]) + x[1] ^ 2 / 50, {-1 + 0.1 / (2 - x[1]) + x[1] / 25}, 0
    end, {0.0}, 6)
  end)

  it("are those of the textbook for values and slopes that fit no function", function()
    local state = 1
    local function draw()
      state = (state * 6364136223846793005 + 1442695040888963407) & math.maxinteger
      return (state >> 33) / (1 << 30) * 2 - 1
    end
    for n = 1, 300 do
      local script <const>, count = {[0] = {0.0, -1.0}}, 0
      for i = 1, 30 do script[i] = {n % 3 == 0 and draw() > 0.9 and math.huge or 0.5 * draw(), 3 * draw()} end
      local noise <const> = n % 2 * 0.05
      same(function(x)
        count = x[1] == 0 and 0 or count + 1
        return script[count][1], script[count][1] < math.huge and {script[count][2]} or nil, noise
      end, {0.0}, 1, nil, noise)
    end
  end)

  it("grow far from the start, and keep the last twenty changes of the gradient", function()
    local far <const> = same(function(x) return math.exp(-x[1] / 64), {-math.exp(-x[1] / 64) / 64}, 0 end, {0.0}, 1)
    assert.same({0, 1 / 64, 2 / 64, 4 / 64, 8 / 64}, {far[1][1], far[2][1], far[3][1], far[4][1], far[5][1]})
    local x <const> = {}
    for i = 1, 12 do x[i] = i % 2 == 0 and 1.0 or -1.2 end
    same(chain, x, 32, 1e-4)
  end)
end)

describe("the first trial of a search", function()
  --- How many points a search takes whose first trial, at 1, has this value and slope, where those of the start are 0 and -1.
  local function points(value, slope)
    return run(function(x) return x[1] == 0 and 0 or x[1] == 1 and value or -9, {x[1] == 0 and -1 or x[1] == 1 and slope or 0},
      0 end,
      {0.0}, {steps = 1, tol = -1, ftol = -1}).points
  end

  it("is taken where it decreases and flattens enough", function()
    assert.same({2, 3, 2}, {points(-1e-4, 0), points(-0.99e-4, 0), points(-1.5e-4, 0)})
    assert.same({2, 2, 3, 3}, {points(-1, -0.9), points(-1, 0.9), points(-1, -0.901), points(-1, 0.901)})
  end)

  it("counts the curvature of the step before, unless it is rounding", function()
    local function third(change)
      local seen <const> = {}
      run(function(x)
        seen[#seen + 1] = x
        return -#seen, #seen == 1 and {-1.0, 0.0} or {-0.5, change}, 0
      end, {0.0, 0.0}, {steps = 2})
      return seen[3]
    end
    local small <const>, large <const> = 0.5 / 1.5e-10, 0.5 / 0.7e-10
    assert.same({1 + 0.5 / large, -1}, third(large))             -- along the gradient, of length 1
    local at <const> = third(small)
    assert.is_true(math.abs(at[2]) < 1e-3)
  end)

  it("is along the gradient where curvature overflows", function()
    local seen <const> = {}
    run(function(x)
      seen[#seen + 1] = x[1]
      return -#seen, {#seen == 1 and -1e-155 or -0.5e-155}, 0
    end, {0.0}, {steps = 2, tol = 0, ftol = -1})
    assert.same({0.0, 1e-155}, {seen[1], seen[2]})
    assert.is_true(math.abs(seen[3] - 1.5e-155) < 1e-165)
  end)
end)

describe("a search that finds nothing", function()
  it("takes 25 trials; after it the curvature is forgotten, once", function()
    local least = 1
    local none <const> = run(function(x)
      least = math.min(least, x[1] < 0 and -x[1] or 1)
      return x[1] == 0 and 1 or math.huge, x[1] == 0 and {1.0} or nil, 0
    end, {0.0})
    assert.equal(2.0 ^ -24, least)
    assert.same({"no further decrease along the gradient", false, 0, 26}, {none.reason, none.converged, none.steps, none.points})
    local seen <const> = {}
    local one <const> = run(function(x)
      seen[#seen + 1] = x[1]
      if #seen > 2 then return math.huge end
      return 10 - x[1], {x[1] == 0 and -1.0 or -0.5}, 0
    end, {0.0})
    assert.same({"no further decrease along the gradient", false, 2, 52}, {one.reason, one.converged, one.steps, one.points})
    assert.same({0.0, 1.0, 2.0, 1.5}, {seen[1], seen[2], seen[3], seen[4]})     -- the step that the change of 0.5 in 1 means: 1
    assert.same({1.5, 1.25}, {seen[28], seen[29]})                              -- along the gradient itself
  end)

  it("is the end where the slope is within the accuracy, said by its name", function()
    local function ended(rounding, accuracy, o)
      local r <const> = run(function(x) return x[1] == 0 and 3 or math.huge, x[1] == 0 and {1e-3} or nil, rounding, accuracy end,
        {0.0}, o)
      return {r.reason, r.converged, r.steps}
    end
    local within <const> = 1e-6 / 3                  -- relative to the value, 3
    assert.same({"no decrease beyond rounding is left", true, 0}, ended(0.5 * within, nil, {ftol = 0}))
    assert.same({"no decrease beyond the accuracy of values is left", true, 0}, ended(0, 0.5 * within, {ftol = 0}))
    assert.same({"no further decrease along the gradient", false, 0}, ended(0.49 * within, nil, {ftol = 0}))
    assert.same({"no decrease beyond rounding is left", true, 0}, ended(0, nil, {ftol = within}))
    assert.same({"no further decrease along the gradient", false, 0}, ended(0, nil, {ftol = 0.99 * within}))
  end)
end)

describe("the end of lbfgs.minimize", function()
  local function parabola(x) return x[1] ^ 2, {2 * x[1]}, 0 end

  it("is told with the steps it took", function()
    local function told(o, f)
      local r <const> = run(f or parabola, {1.0}, o)
      return {r.reason, r.converged, r.steps, #r.values}
    end
    assert.same({"gradient below tol", true, 0, 1}, told{tol = 2})
    assert.same({"gradient below tol", true, 1, 2}, told{tol = 1.999, ftol = -1})
    assert.same({"change of the value below ftol", true, 1, 2}, told{tol = -1, ftol = 1})
    assert.same({"no decrease beyond rounding is left", true, 1, 2}, told{tol = -1, ftol = 0.999})
    assert.same({"change of the value below its rounding", true, 1, 2}, told({tol = -1, ftol = -1}, function(x)
      return x[1] ^ 2, {2 * x[1]}, 1
    end))
    assert.same({"no value at the start", false, 0, 0}, told({}, function() return math.huge end))
    assert.same({"step limit reached", false, 0, 1}, told{steps = 0})
  end)

  it("is judged relative to values above 1", function()
    local function big(x) return 100 + x[1] ^ 2, {2 * x[1]}, 0 end
    assert.equal("change of the value below ftol", run(big, {1.0}, {tol = -1, ftol = 0.01}).reason)
    assert.equal("no decrease beyond rounding is left", run(big, {1.0}, {tol = -1, ftol = 0.0099}).reason)
  end)

  it("leaves out a change of the gradient that says nothing", function()
    local seen <const> = {}
    run(function(x)                                  -- a straight line: no curvature, so each first trial is of unit length
      seen[#seen + 1] = x[1]
      return -x[1], {#seen == 3 and -0.5 or -1.0}, 0
    end, {0.0}, {steps = 1})
    assert.same({0.0, 1.0, 2.0}, seen)
  end)
end)

--- L-BFGS with a strong Wolfe line search over flat lists of numbers: the algorithm alone, without tensors.
-- Source: Nocedal & Wright (2006), algorithms 3.5, 3.6 and 7.4, equation 3.59.
local M <const> = {}

-- Pairs of steps and changes of gradient that stand for the curvature; more than there are unknowns make it BFGS.
local PAIRS <const> = 20
-- Sufficient decrease and curvature.
local C1 <const>, C2 <const> = 1e-4, 0.9
local TRIALS <const> = 25

-- Small vectors -----------------------------------------------------------------------------------------------------------

function M.dot(a, b)
  local s = 0.0
  for i = 1, #a do s = s + a[i] * b[i] end
  return s
end

--- alpha x + y
function M.axpy(alpha, x, y)
  local out <const> = {}
  for i = 1, #x do out[i] = alpha * x[i] + y[i] end
  return out
end

local function scaled(alpha, x)
  local out <const> = {}
  for i = 1, #x do out[i] = alpha * x[i] end
  return out
end

function M.largest(a)
  local m = 0.0
  for i = 1, #a do m = math.max(m, math.abs(a[i])) end
  return m
end

local dot <const>, axpy <const>, largest <const> = M.dot, M.axpy, M.largest

-- Direction ---------------------------------------------------------------------------------------------------------------

--- -H g by the two-loop recursion.
local function direction(memory, g)
  local q = scaled(-1, g)
  local alpha <const> = {}
  for i = #memory, 1, -1 do
    local m <const> = memory[i]
    alpha[i] = m.rho * dot(m.s, q)
    q = axpy(-alpha[i], m.y, q)
  end
  local last <const> = memory[#memory]
  if last then q = scaled(1 / (last.rho * dot(last.y, last.y)), q) end
  for i, m in ipairs(memory) do
    q = axpy(alpha[i] - m.rho * dot(m.y, q), m.s, q)
  end
  return q
end

--- Takes the pair of a step, unless rounding has eaten its curvature.
local function remember(memory, s, y)
  local sy <const> = dot(s, y)
  if not (sy > 1e-10 * math.sqrt(dot(s, s) * dot(y, y))) then return end
  memory[#memory + 1] = {s = s, y = y, rho = 1 / sy}
  if #memory > PAIRS then table.remove(memory, 1) end
end

-- Line search -------------------------------------------------------------------------------------------------------------

--- Where the cubic through values and slopes at two points is least. It has a minimum: the slope at the lower one points at the
-- other, and is steeper than what the values fall by on the way.
local function cubic_minimum(a, b)
  local d1 <const> = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
  local d2 <const> = (b.t > a.t and 1 or -1) * math.sqrt(d1 * d1 - a.slope * b.slope)
  return b.t - (b.t - a.t) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2)
end

--- The next trial between lo and hi, off their ends by a tenth; the middle where hi has no value.
local function between(lo, hi)
  local width <const> = hi.t - lo.t
  local near <const>, far <const> = lo.t + 0.1 * width, lo.t + 0.9 * width
  local guess <const> = hi.f < math.huge and cubic_minimum(lo, hi) or lo.t + 0.5 * width
  return math.max(math.min(near, far), math.min(math.max(near, far), guess))
end

--- A step that satisfies the strong Wolfe conditions, else the best of sufficient decrease, else nil. at(t) gives
-- {t, f, slope, x, g}, f = math.huge where the objective has no value; 'noise' is a change of it that no comparison can see.
-- Invariant: lo has the least value of all points of sufficient decrease, and its slope points at hi.
local function line_search(at, f0, slope0, step, noise)
  local lo, hi = {t = 0, f = f0, slope = slope0}, nil
  for _ = 1, TRIALS do
    local p <const> = at(step)
    if not (p.f <= f0 + C1 * step * slope0 and p.f < lo.f) then
      hi = p
    else
      if math.abs(p.slope) <= -C2 * slope0 then return p end
      if p.slope * ((hi and hi.t or math.huge) - lo.t) >= 0 then hi = lo end
      lo = p
    end
    if hi and math.abs((hi.t - lo.t) * lo.slope) <= noise then break end
    step = hi and between(lo, hi) or 2 * step
  end
  return lo.x and lo or nil
end

-- Minimisation ------------------------------------------------------------------------------------------------------------

--- The first trial of a line search: the whole quasi-Newton step (of unit length before curvature is known), shortened so
-- that no element i moves by more than limit[i].
local function first_trial(memory, g, d, limit)
  local step = #memory == 0 and math.min(1, 1 / largest(g)) or 1
  for i, most in pairs(limit) do
    if step * math.abs(d[i]) > most then step = most / math.abs(d[i]) end
  end
  return step
end

--- Minimises from x. evaluate(x) gives value, gradient and the relative rounding of values, and where they are known less well
-- their accuracy; math.huge and nil where there are none. A search that fails at a slope within the accuracy is the end; a step
-- that changes less is not, as it may leave a plateau. o.steps, o.tol (largest element of the gradient), o.ftol (change of the
-- value, relative above 1), o.limit (see first_trial). report(step, x, value, gradient) hears of every accepted point, the first
-- included.
-- Returns reason, converged, steps.
function M.minimize(evaluate, x, o, report)
  local value, g, rounding, accuracy = evaluate(x)
  if g == nil then return "no value at the start", false, 0 end
  accuracy = math.max(rounding, accuracy or 0)
  report(0, x, value, g)
  local memory = {}
  local function share(relative) return relative * math.max(1, math.abs(value)) end
  for iteration = 1, o.steps do
    if largest(g) <= o.tol then return "gradient below tol", true, iteration - 1 end
    local d = direction(memory, g)
    if not (dot(d, g) < 0) then
      memory = {}
      d = direction(memory, g)
    end
    local slope <const> = dot(d, g)
    local p <const> = line_search(function(t)
      local xt <const> = axpy(t, d, x)
      local ft <const>, gt <const> = evaluate(xt)
      return {t = t, f = ft, g = gt, x = xt, slope = gt and dot(d, gt) or math.huge}
    end, value, slope, first_trial(memory, g, d, o.limit), share(accuracy))
    if p then
      remember(memory, axpy(-1, x, p.x), axpy(-1, g, p.g))
      local change <const> = value - p.f
      x, value, g = p.x, p.f, p.g
      report(iteration, x, value, g)
      if change <= share(o.ftol) then return "change of the value below ftol", true, iteration end
      if change <= share(rounding) then return "change of the value below its rounding", true, iteration end
    elseif -slope <= share(math.max(o.ftol, 2 * accuracy)) then
      local known <const> = accuracy > rounding and "the accuracy of values" or "rounding"
      return ("no decrease beyond %s is left"):format(known), true, iteration - 1
    elseif #memory == 0 then
      return "no further decrease along the gradient", false, iteration - 1
    else
      memory = {}
    end
  end
  return "step limit reached", false, o.steps
end

return M

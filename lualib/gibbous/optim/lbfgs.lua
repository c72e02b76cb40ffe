--- L-BFGS with a strong Wolfe line search over flat lists of numbers: the algorithm alone, without tensors.
-- Source: Nocedal & Wright (2006), algorithms 3.5, 3.6 and 7.4, equation 3.59.
local shallow_copy <const> = require "gibbous.base.shallow_copy"

local M <const> = {LIMIT = "step limit reached"}

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

--- q := q + alpha x, of a list that nobody else holds.
local function add(alpha, x, q)
  for i = 1, #x do q[i] = alpha * x[i] + q[i] end
end

local dot <const>, axpy <const>, largest <const> = M.dot, M.axpy, M.largest

-- Direction ---------------------------------------------------------------------------------------------------------------

--- -H g by the two-loop recursion.
local function direction(memory, g)
  local q <const> = scaled(-1, g)
  local alpha <const> = {}
  for i = #memory, 1, -1 do
    local m <const> = memory[i]
    alpha[i] = m.rho * dot(m.s, q)
    add(-alpha[i], m.y, q)
  end
  local last <const> = memory[#memory]
  local scale <const> = last and 1 / (last.rho * dot(last.y, last.y)) or 1
  for i = 1, #q do q[i] = scale * q[i] end
  for i, m in ipairs(memory) do
    add(alpha[i] - m.rho * dot(m.y, q), m.s, q)
  end
  return q
end

--- The memory with the pair of a step, unless rounding has eaten its curvature.
local function remember(memory, s, y)
  local sy <const> = dot(s, y)
  if not (sy > 1e-10 * math.sqrt(dot(s, s) * dot(y, y))) then return memory end
  local out <const> = table.move(memory, #memory < PAIRS and 1 or 2, #memory, 1, {})
  out[#out + 1] = {s = s, y = y, rho = 1 / sy}
  return out
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

--- Where a descent stands after an accepted point: {step, x, value, g, memory, change (of the value, nil at the start), rounding,
-- accuracy}. Lists in it never change, so that a state which was kept stays what it was.
local function first_state(evaluate, x)
  local value <const>, g <const>, rounding <const>, accuracy <const> = evaluate(x)
  if g == nil then return nil end
  return {step = 0, x = x, value = value, g = g, memory = {}, rounding = rounding, accuracy = math.max(rounding, accuracy or 0)}
end

local function share(s, relative) return relative * math.max(1, math.abs(s.value)) end

--- Why a descent ends where it stands, and whether it has converged; nil: it goes on. 'tried': iterations, those of searches that
-- failed among them.
local function ending(s, o, tried)
  if s.change and s.step == tried then
    if s.change <= share(s, o.ftol) then return "change of the value below ftol", true end
    if s.change <= share(s, s.rounding) then return "change of the value below its rounding", true end
  end
  if tried >= o.steps then return M.LIMIT, false end
  if largest(s.g) <= o.tol then return "gradient below tol", true end
end

--- The direction from where a descent stands, and the slope along it; without memory where that does not lead down.
local function way_down(s)
  local d <const> = direction(s.memory, s.g)
  local slope <const> = dot(d, s.g)
  if slope < 0 or #s.memory == 0 then return d, slope end
  s.memory = {}
  return way_down(s)
end

--- Minimises from x. evaluate(x) gives value, gradient and the relative rounding of values, and where they are known less well
-- their accuracy; math.huge and nil where there are none. A search that fails at a slope within the accuracy is the end; a step
-- that changes less is not, as it may leave a plateau. o.steps, o.tol (largest element of the gradient), o.ftol (change of the
-- value, relative above 1), o.limit (see first_trial). report(state) hears of every accepted point, the first included; 'from', a
-- state that it heard of, goes on from there with the same bits as if the descent had never ended.
-- Returns reason, converged, steps.
function M.minimize(evaluate, x, o, report, from)
  local s = shallow_copy(from or first_state(evaluate, x) or {})
  if s.x == nil then return "no value at the start", false, 0 end
  local function accepted(state)
    report(shallow_copy(state))
  end
  if not from then accepted(s) end
  local tried = s.step
  while true do
    local reason <const>, converged <const> = ending(s, o, tried)
    if reason then return reason, converged, tried end
    local d <const>, slope <const> = way_down(s)
    local p <const> = line_search(function(t)
      local xt <const> = axpy(t, d, s.x)
      local ft <const>, gt <const> = evaluate(xt)
      return {t = t, f = ft, g = gt, x = xt, slope = gt and dot(d, gt) or math.huge}
    end, s.value, slope, first_trial(s.memory, s.g, d, o.limit), share(s, s.accuracy))
    if p then
      tried = tried + 1
      s = {step = tried, x = p.x, value = p.f, g = p.g, change = s.value - p.f, rounding = s.rounding, accuracy = s.accuracy,
        memory = remember(s.memory, axpy(-1, s.x, p.x), axpy(-1, s.g, p.g))}
      accepted(s)
    elseif -slope <= share(s, math.max(o.ftol, 2 * s.accuracy)) then
      local known <const> = s.accuracy > s.rounding and "the accuracy of values" or "rounding"
      return ("no decrease beyond %s is left"):format(known), true, tried
    elseif #s.memory == 0 then
      return "no further decrease along the gradient", false, tried
    else
      s.memory, tried = {}, tried + 1
    end
  end
end

return M

--- Gauss-Hermite quadrature: E_N(f; mean, var) g(f) as a weighted sum of g at so many points, exact for polynomials of degree
-- 2 points - 1. Source: Golub & Welsch (1969): nodes are the eigenvalues of the Jacobi matrix of the orthogonal polynomials.
local core <const> = require "gibbous.core"

local M <const> = {}

local rules <const> = {}                   -- by the number of points

--- 1 / sum of squares of the orthonormal Hermite polynomials below degree 'points' at x: the weight of that node, also where it is
-- far below the rounding of the others.
local function weight(x, points)
  local before, now, sum = 0.0, 1.0, 1.0
  for k = 0, points - 2 do
    before, now = now, (x * now - math.sqrt(k) * before) / math.sqrt(k + 1)
    sum = sum + now * now
  end
  return 1 / sum
end

--- The nodes and the logarithms of the weights, lists of numbers, of the standard normal distribution.
function M.rule(points)
  if rules[points] == nil then
    local jacobi = core.zeros(points, points, {dtype = "f64", device = "cpu"})
    if points > 1 then
      local above <const> = {}
      for i = 1, points - 1 do above[i] = math.sqrt(i) end
      local band <const> = core.linalg.diag(core.tensor(above, {dtype = "f64", device = "cpu"}))
      local zero <const> = core.zeros(points - 1, 1, {dtype = "f64", device = "cpu"})
      local upper <const> = core.cat({core.cat({zero, band}, 2), core.zeros(1, points, {dtype = "f64", device = "cpu"})}, 1)
      jacobi = upper + upper:t()
    end
    local v <const>, w <const> = core.linalg.eigh(jacobi):totable(), {}
    for i = 1, points // 2 do                                   -- the rule is symmetric: rounding has no side
      v[points + 1 - i] = (v[points + 1 - i] - v[i]) / 2
      v[i] = -v[points + 1 - i]
    end
    if points % 2 == 1 then v[points // 2 + 1] = 0.0 end
    for i = 1, points do w[i] = math.log(weight(v[i], points)) end
    rules[points] = {v, w}
  end
  return rules[points][1], rules[points][2]
end

--- A list of numbers as a tensor of 1 + axes axes, all but the first of extent 1, like x.
local function upright(list, x, axes)
  local shape <const> = {#list}
  for i = 1, axes do shape[i + 1] = 1 end
  return core.tensor(list, {dtype = x.dtype, device = x.device}):reshape(shape)
end

--- Where functions of N(mean, var), both (...), are evaluated, (points, ...), and the log weights, which broadcast beside them.
function M.places(mean, var, points)
  local nodes <const>, weights <const> = M.rule(points)
  local axes <const> = mean.ndim
  return mean:unsqueeze(1) + var:sqrt():unsqueeze(1) * upright(nodes, mean, axes), upright(weights, mean, axes)
end

--- E g(f), (...), lazy.
function M.expectation(g, mean, var, points)
  local f <const>, w <const> = M.places(mean, var, points)
  return (w:exp() * g(f)):sum(1)
end

--- log E exp(g(f)), (...), lazy, without overflow.
function M.log_expectation(g, mean, var, points)
  local f <const>, w <const> = M.places(mean, var, points)
  return (w + g(f)):logsumexp(1)
end

-- Variances from which on averages over logistic noise take the place of averages over f; the step and the ends of their rule.
M.WIDE = 0.7
local STEP <const>, REACH <const> = 0.5, 38

--- E g(mean + e), (...), lazy, for e of the standard logistic distribution, by the trapezoidal rule. g: smooth, as a normal
-- distribution function is whose variance is M.WIDE at least.
function M.with_logistic(g, mean)
  local nodes <const>, weights <const> = {}, {}
  for e = -REACH, REACH, STEP do
    nodes[#nodes + 1], weights[#weights + 1] = e, STEP / (2 + math.exp(e) + math.exp(-e))
  end
  return (upright(weights, mean, mean.ndim) * g(mean:unsqueeze(1) + upright(nodes, mean, mean.ndim))):sum(1)
end

--- E s(f), s(f) = 1 / (1 + e^-f), lazy: over f or, where it is wide, over e of p(f + e > 0).
function M.sigmoid(mean, var, points)
  local sd <const> = core.maximum(var, M.WIDE):sqrt():unsqueeze(1)
  return core.where(var:ge(M.WIDE), M.with_logistic(function(f) return (f / sd):ndtr() end, mean),
    M.expectation(function(f) return f:sigmoid() end, mean, var, points))
end

--- E s(f) (1 - s(f)), the density of f + e at 0, likewise.
function M.sigmoid_slope(mean, var, points)
  local v <const> = core.maximum(var, M.WIDE):unsqueeze(1)
  local function density(f) return (-(f * f) / (2 * v)):exp() / (2 * math.pi * v):sqrt() end
  return core.where(var:ge(M.WIDE), M.with_logistic(density, mean),
    M.expectation(function(f) return f:sigmoid() * (-f):sigmoid() end, mean, var, points))
end

local STEPS <const>, NEAR <const> = 100, 1e-6      -- of the search for a maximum: at most, and in standard deviations

--- Where g(f) - (f - mean)^2 / (2 var) is largest, and the standard deviation of the normal density of the same curvature there, at
-- most that of f: plain values, by Newton's method with steps of 4 of these at most.
local function peak(g, mean, var)
  local c = mean
  for _ = 1, STEPS do
    local f <const> = c:requires_grad()
    local slope <const> = core.grad(g(f):sum(), f)
    local bend <const> = core.grad(slope:sum(), f, {unused = "zero"})
    local precision <const> = core.maximum(1 / var - bend, 1 / var):detach()
    local sd <const> = precision ^ -0.5
    local step <const> = core.minimum(core.maximum((slope:detach() - (c - mean) / var) / precision, -4 * sd), 4 * sd)
    local next_c <const>, largest <const> = c + step, (step / sd):abs():max()
    core.eval(next_c, sd, largest)
    c = next_c:detach()
    if not (largest:item() > NEAR) then return c, sd end
  end
  return c, var:sqrt()
end

--- The same for g concave in f, lazy but for the peak of the integrand, which is sought first: the rule lies where the integrand
-- does, however narrow it is. Source: Naylor & Smith (1982).
function M.log_expectation_at_peak(g, mean, var, points)
  local least <const> = 1e-24                                -- without variance f is a number
  local plain <const>, spread <const> = mean:detach():eval(), core.maximum(var:detach(), least):eval()
  if plain.numel == 0 then return g(mean) end
  local c <const>, sd <const> = peak(g, plain, spread)
  local nodes <const>, weights <const> = M.rule(points)
  local z <const> = upright(nodes, mean, mean.ndim)
  local f <const> = c:unsqueeze(1) + sd:unsqueeze(1) * z
  local v <const> = core.maximum(var, least):unsqueeze(1)
  local away <const> = f - mean:unsqueeze(1)
  local tilt <const> = z * z / 2 - away * away / (2 * v) + (sd * sd):log():unsqueeze(1) / 2 - v:log() / 2
  return (upright(weights, mean, mean.ndim) + tilt + g(f)):logsumexp(1)
end

return M

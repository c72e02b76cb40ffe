--- Gauss-Hermite quadrature: E_N(f; mean, var) g(f) as a weighted sum of g at so many points, exact for polynomials of degree
-- 2 points - 1. Source: Golub & Welsch (1969): nodes are the eigenvalues of the Jacobi matrix of the orthogonal polynomials, and
-- weights the squares of the first entries of its eigenvectors.
local core <const> = require "gibbous.core"

local M <const> = {}

local rules <const> = {}                   -- by the number of points

--- The nodes and the logarithms of the weights, (points), f64, of the standard normal distribution.
function M.rule(points)
  if rules[points] == nil then
    local above <const> = {}
    for i = 1, points - 1 do above[i] = math.sqrt(i) end
    local jacobi = core.zeros(points, points, {dtype = "f64", device = "cpu"})
    if points > 1 then
      local band <const> = core.linalg.diag(core.tensor(above, {dtype = "f64", device = "cpu"}))
      local zero <const> = core.zeros(points - 1, 1, {dtype = "f64", device = "cpu"})
      local upper <const> = core.cat({core.cat({zero, band}, 2), core.zeros(1, points, {dtype = "f64", device = "cpu"})}, 1)
      jacobi = upper + upper:t()
    end
    local nodes <const>, vectors <const> = core.linalg.eigh(jacobi)
    local first <const> = vectors:select(1, 1)
    local v, w = nodes:totable(), (first * first):totable()
    for i = 1, points // 2 do                                   -- the rule is symmetric: rounding has no side
      local j <const> = points + 1 - i
      v[j] = (v[j] - v[i]) / 2
      v[i] = -v[j]
      w[i] = (w[i] + w[j]) / 2
      w[j] = w[i]
    end
    if points % 2 == 1 then v[points // 2 + 1] = 0.0 end
    for i = 1, points do w[i] = math.log(w[i]) end
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

return M

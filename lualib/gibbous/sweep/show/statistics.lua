--- Means with standard errors, and two tests of paired differences.
local core <const> = require "gibbous.core"

local M <const> = {}

--- Of a list of numbers: n, mean, standard deviation (n - 1), standard error; the last two nil where n < 2.
---@return {n: integer, mean: number, sd: number?, se: number?}
function M.summary(list)
  local n <const> = #list
  if n == 0 then return {n = 0} end
  local mean, square = 0.0, 0.0
  for i, v in ipairs(list) do mean = mean + (v - mean) / i end
  if n == 1 or mean ~= mean or math.abs(mean) == math.huge then return {n = n, mean = mean} end
  for _, v in ipairs(list) do square = square + (v - mean) ^ 2 end
  local sd <const> = math.sqrt(square / (n - 1))
  return {n = n, mean = mean, sd = sd, se = sd / math.sqrt(n)}
end

-- Distributions ---------------------------------------------------------------------------------------------------------------

--- The beta function B(n / 2, 1 / 2), by its recurrence from B(1/2, 1/2) = pi and B(1, 1/2) = 2.
local function half_beta(n)
  local b = n % 2 == 1 and math.pi or 2.0
  for k = n % 2 == 1 and 1 or 2, n - 2, 2 do b = b * k / (k + 1) end
  return b
end

--- The continued fraction of the incomplete beta function I_x(a, b) by Lentz's method, for x < (a + 1) / (a + b + 2).
-- Source: Abramowitz and Stegun (1964), 26.5.8.
local function fraction(x, a, b)
  local c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
  local h = d
  for m = 1, 10000 do
    local before <const>, even <const>, odd <const> = h, m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
      -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    for _, k in ipairs{even, odd} do
      d, c = 1 / (1 + k * d), 1 + k / c
      h = h * d * c
    end
    if math.abs(h - before) <= 1e-16 * math.abs(h) then break end
  end
  return h
end

--- P(|T| >= |t|) of Student's t with n degrees of freedom, a whole number: I_x(n/2, 1/2) with x = n / (n + t^2).
function M.student(t, n)
  if t ~= t or t == 0 then return t ~= t and t or 1.0 end
  if math.abs(t) == math.huge then return 0.0 end
  local x <const>, y <const>, a <const> = n / (n + t * t), t * t / (n + t * t), n / 2
  local front <const> = x ^ a * math.sqrt(y) / half_beta(n)
  if x < (a + 1) / (a + 2.5) then return front * fraction(x, a, 0.5) / a end
  return 1 - front * fraction(y, 0.5, a) / 0.5
end

--- P(|Z| >= |z|) of the normal distribution.
local function normal(z) return 1 - core.tensor(math.abs(z) / math.sqrt(2)):erf():item() end

-- Tests -----------------------------------------------------------------------------------------------------------------------

--- The paired t test of differences, two-sided: its p, nil where there are fewer than two. All differences equal: 1 of zeros, else
-- 0.
function M.paired_t(differences)
  local s <const> = M.summary(differences)
  if not s.sd then return nil end
  if s.sd == 0 then return s.mean == 0 and 1.0 or 0.0 end
  return M.student(s.mean / s.se, s.n - 1)
end

local FEWEST <const> = 6                   -- of fewer pairs no p is below 0.05
local EXACT <const> = 25                   -- up to so many pairs the distribution is counted

--- Ranks of |d| from 1, the mean of tied ones, twice, so that they are whole: for the differences that are not 0, with their signs.
local function doubled_ranks(differences)
  local list <const> = {}
  for _, d in ipairs(differences) do
    if d ~= 0 then list[#list + 1] = d end
  end
  table.sort(list, function(a, b) return math.abs(a) < math.abs(b) end)
  local ranks <const>, i = {}, 1
  while i <= #list do
    local j = i
    while j < #list and math.abs(list[j + 1]) == math.abs(list[i]) do j = j + 1 end
    for k = i, j do ranks[k] = i + j end
    i = j + 1
  end
  return list, ranks
end

--- P(sum of a random half of the ranks <= w), by counting all signs.
local function counted(ranks, w)
  local ways <const>, total = {[0] = 1.0}, 0
  for _, r in ipairs(ranks) do
    total = total + r
    for s = total, r, -1 do ways[s] = (ways[s] or 0) + (ways[s - r] or 0) end
  end
  local below = 0.0
  for s = 0, w do below = below + (ways[s] or 0) end
  return below / 2.0 ^ #ranks
end

--- Wilcoxon's signed rank test of differences, two-sided: its p, nil where fewer than 6 are not 0. Exact to 25 pairs, ties
-- included; above, by the normal distribution.
function M.wilcoxon(differences)
  local list <const>, ranks <const> = doubled_ranks(differences)
  local n <const> = #list
  if n < FEWEST then return nil end
  local plus, minus, squares = 0, 0, 0
  for i, d in ipairs(list) do
    if d > 0 then plus = plus + ranks[i] else minus = minus + ranks[i] end
    squares = squares + ranks[i] ^ 2
  end
  local least <const> = math.min(plus, minus)
  if n <= EXACT then return math.min(1.0, 2 * counted(ranks, least)) end
  local z <const> = (least + 1 - (plus + minus) / 2) / (math.sqrt(squares) / 2)     -- the ranks are doubled, so is the step of 1/2
  return math.min(1.0, normal(math.min(z, 0)))
end

return M

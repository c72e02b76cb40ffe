--- Means with standard errors, and two tests of paired differences.
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

-- The t distribution ----------------------------------------------------------------------------------------------------------

--- log Gamma(x), x > 0: Lanczos' series (Numerical Recipes, 3rd ed., 6.1), to 1e-14.
local LANCZOS <const> = {57.1562356658629235, -59.5979603554754912, 14.1360979747417471, -0.491913816097620199, .339946499848118887e-4,
  .465236289270485756e-4, -.983744753048795646e-4, .158088703224912494e-3, -.210264441724104883e-3, .217439618115212643e-3,
  -.164318106536763890e-3, .844182239838527433e-4, -.261908384015814087e-4, .368991826595316234e-5}

local function log_gamma(x)
  local t <const> = x + 5.24218750000000000
  local sum = 0.999999999999997092
  for i, c in ipairs(LANCZOS) do sum = sum + c / (x + i) end
  return (x + 0.5) * math.log(t) - t + math.log(2.5066282746310005 * sum / x)
end

--- The continued fraction of the incomplete beta function (Lentz), for x < (a + 1) / (a + b + 2).
local function fraction(a, b, x)
  local tiny <const> = 1e-300
  local c, d = 1.0, 1 - (a + b) * x / (a + 1)
  d = 1 / (math.abs(d) < tiny and tiny or d)
  local h = d
  for m = 1, 10000 do
    local before <const> = h
    for _, k in ipairs{m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))} do
      d = 1 + k * d
      d = 1 / (math.abs(d) < tiny and tiny or d)
      c = 1 + k / c
      c = math.abs(c) < tiny and tiny or c
      h = h * d * c
    end
    if math.abs(h - before) <= 1e-16 * math.abs(h) then break end
  end
  return h
end

--- The regularised incomplete beta function I_x(a, b).
local function beta(x, a, b)
  if x <= 0 then return 0.0 end
  if x >= 1 then return 1.0 end
  local front <const> = math.exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * math.log(x) + b * math.log(1 - x))
  if x < (a + 1) / (a + b + 2) then return front * fraction(a, b, x) / a end
  return 1 - front * fraction(b, a, 1 - x) / b
end

--- P(|T| >= |t|) of Student's t with so many degrees of freedom.
function M.student(t, freedom)
  if t ~= t then return t end
  if math.abs(t) == math.huge then return 0.0 end
  return beta(freedom / (freedom + t * t), freedom / 2, 0.5)
end

-- Tests -----------------------------------------------------------------------------------------------------------------------

--- The paired t test of differences, two-sided: its p, nil where there are fewer than two. All differences equal: 1 of zeros, else 0.
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

--- Wilcoxon's signed rank test of differences, two-sided: its p, nil where fewer than 6 are not 0. Exact to 25 pairs, ties included;
-- above, by the normal distribution.
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
  return math.min(1.0, M.student(math.min(z, 0), 1e9))
end

return M

--- The empirical spectrum of a sample, and a mixture of Gaussians that describes it.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"

local M <const> = {}

local MAX_FREQUENCIES <const> = 4096
local OVERSAMPLE <const> = 2                 -- frequencies per resolved width 1 / range
local DRAWS <const> = 512                    -- points that stand for the spectrum where a mixture is fitted to it
local STEPS <const> = 100
local LEAST_SHARE <const> = 1e-3             -- of the variance, that a component keeps

--- Power of r (n) at t (n), points spaced in any way, for frequencies f (m): the sum of squares that a sinusoid of each
-- frequency explains in least squares, (m). Streams; cost O(n m). Source: Lomb (1976), equation 7.
function M.periodogram(t, r, f)
  local angle <const> = 2 * math.pi * f:unsqueeze(2) * t:unsqueeze(1)
  local cos <const>, sin <const> = angle:cos(), angle:sin()
  local c <const>, s <const> = cos:matmul(r), sin:matmul(r)
  local cc <const>, cs <const>, n <const> = (cos * cos):sum(2), (cos * sin):sum(2), #t
  local ss <const> = n - cc
  local det <const> = cc * ss - cs * cs
  return (c * c * ss - 2 * c * s * cs + s * s * cc) / (det + 1e-9 * n * n)
end

--- Frequencies 1 / (2 range) apart, up to the mean sampling rate's half.
function M.grid(range, n)
  local step <const> = 1 / (OVERSAMPLE * range)
  local count <const> = math.max(1, math.min(MAX_FREQUENCIES, OVERSAMPLE * (n - 1) // 2))
  return step, count
end

--- Power that white noise would reach nowhere with probability 0.95, less its mean; all power where nothing stands out. Its
-- level: the median of an exponential distribution is log 2 of the mean.
function M.significant(power)
  local sorted <const> = table.move(power, 1, #power, 1, {})
  table.sort(sorted)
  local mean <const> = sorted[(#sorted + 1) // 2] / math.log(2)
  local least <const> = mean * math.log(#power / 0.05)
  local out <const>, total = {}, 0.0
  for i, p in ipairs(power) do
    out[i] = p > least and p - mean or 0.0
    total = total + out[i]
  end
  return total > 0 and out or power
end

--- DRAWS quantiles of the density that is constant around each frequency i * step.
function M.quantiles(density, step)
  local total = 0.0
  for _, p in ipairs(density) do total = total + p end
  local out <const>, i, below = {}, 1, 0.0
  for k = 1, DRAWS do
    local target <const> = (k - 0.5) / DRAWS * total
    while i < #density and below + density[i] < target do
      below = below + density[i]
      i = i + 1
    end
    out[k] = (i - 0.5 + (target - below) / density[i]) * step
  end
  return out
end

--- Quantiles of the spectrum of one column, (DRAWS), and the width that the sample resolves.
local function spectrum_of(t, r, column)
  local lo <const>, hi <const> = t:min():item(), t:max():item()
  if not (hi > lo) then
    core.raise("option", ("init: column %d is constant: it has no spectrum"):format(column))
  end
  local step <const>, count <const> = M.grid(hi - lo, #t)
  local f <const> = core.range(1, count, 1, {dtype = t.dtype}) * step
  local power <const> = M.periodogram(t - lo, r, f):totable()
  for i, p in ipairs(power) do power[i] = math.max(p, 0) end
  return M.quantiles(M.significant(power), step), step / 4
end

-- A mixture of Gaussians with diagonal covariances, by expectation and maximisation -----------------------------------

local function squared(a, b, scale)
  local s = 0.0
  for k = 1, #a do s = s + ((a[k] - b[k]) / scale[k]) ^ 2 end
  return s
end

--- Centres far from each other: each next one is a point drawn in proportion to its squared distance from those before.
function M.centres(points, q, scale, seed)
  local u <const> = core.rand(q, {seed = seed, dtype = "f64"}):totable()
  local out <const>, nearest <const> = {}, {}
  for i = 1, #points do nearest[i] = 1.0 end
  for j = 1, q do
    local total = 0.0
    for i = 1, #points do total = total + nearest[i] end
    local target, at = u[j] * total, 1
    while at < #points and target > nearest[at] do
      target = target - nearest[at]
      at = at + 1
    end
    out[j] = table.move(points[at], 1, #points[at], 1, {})
    for i, p in ipairs(points) do
      local s <const> = squared(p, out[j], scale)
      nearest[i] = j == 1 and s or math.min(nearest[i], s)
    end
  end
  return out
end

local function log_density(p, c)
  local s = math.log(c.weight)
  for k = 1, #p do s = s - 0.5 * ((p[k] - c.mean[k]) ^ 2 / c.variance[k] + math.log(c.variance[k])) end
  return s
end

--- Responsibilities of the components for point p.
local function shares(p, mixture)
  local out <const>, top, total = {}, -math.huge, 0.0
  for j, c in ipairs(mixture) do
    out[j] = log_density(p, c)
    top = math.max(top, out[j])
  end
  for j = 1, #out do
    out[j] = math.exp(out[j] - top)
    total = total + out[j]
  end
  for j = 1, #out do out[j] = out[j] / total end
  return out
end

--- One step; 'floor' are the least standard deviations by column.
function M.improve(points, mixture, floor)
  local d <const> = #points[1]
  local sums <const> = {}
  for j = 1, #mixture do sums[j] = {n = 1e-12, first = {}, second = {}} end
  for _, p in ipairs(points) do
    for j, w in ipairs(shares(p, mixture)) do
      local s <const> = sums[j]
      s.n = s.n + w
      for k = 1, d do
        s.first[k] = (s.first[k] or 0) + w * p[k]
        s.second[k] = (s.second[k] or 0) + w * (p[k] - mixture[j].mean[k]) ^ 2
      end
    end
  end
  for j, c in ipairs(mixture) do
    c.weight = math.max(LEAST_SHARE, sums[j].n / #points)
    for k = 1, d do
      local mean <const> = sums[j].first[k] / sums[j].n
      c.variance[k] = math.max(floor[k] ^ 2, sums[j].second[k] / sums[j].n - (mean - c.mean[k]) ^ 2)
      c.mean[k] = sums[j].n > 1e-6 and mean or c.mean[k]
    end
  end
end

function M.fit(points, q, floor, seed)
  local d <const> = #points[1]
  local spread <const> = {}
  for k = 1, d do
    local lo, hi = math.huge, 0.0
    for _, p in ipairs(points) do lo, hi = math.min(lo, p[k]), math.max(hi, p[k]) end
    spread[k] = math.max(hi - lo, floor[k])
  end
  local mixture <const> = {}
  for j, mean in ipairs(M.centres(points, q, spread, seed)) do
    mixture[j] = {weight = 1 / q, mean = mean, variance = {}}
    for k = 1, d do mixture[j].variance[k] = (spread[k] / (2 * q)) ^ 2 end
  end
  for _ = 1, STEPS do M.improve(points, mixture, floor) end
  return mixture
end

-- Both together -------------------------------------------------------------------------------------------------------

local function checked(x, y)
  local t <const> = core.as_tensor(y)
  if t == nil then core.raise("option", ("init: y must be a tensor, got %s"):format(type(y))) end
  if t.ndim ~= 1 or #t ~= #x then
    core.raise("shape", ("init: x has %s, y must be (%d), got shape %s"):format(counted(#x, "row"), #x, core.told(t)))
  end
  if #x < 3 then core.raise("shape", ("init: a spectrum needs 3 points or more, got %d"):format(#x)) end
  if not (x:isfinite():all() and t:isfinite():all()) then
    core.raise("nan", "init: x and y must be finite")
  end
  local z <const> = t:to{dtype = "f64"}:detach():eval()
  local r <const> = (z - z:mean()):eval()
  local variance <const> = (r * r):mean():item()
  if not (variance > 0) then core.raise("option", "init: y is constant: it has no spectrum") end
  return x:to{dtype = "f64"}:detach():eval(), r, variance
end

--- {weights (q), means (q, d), variances (q, d)} as lists. Columns are taken as independent: each keeps its own periodogram,
-- joined by a random pairing of their quantiles.
function M.mixture(x, y, q, seed)
  local r, variance
  x, r, variance = checked(x, y)
  local points <const>, floor <const> = {}, {}
  for i = 1, DRAWS do points[i] = {} end
  for k = 1, x.shape[2] do
    local cells <const>, width <const> = spectrum_of(x:select(2, k), r, k)
    local order <const> = k > 1 and core.randperm(DRAWS, {seed = seed + k}):totable()
    for i = 1, DRAWS do points[i][k] = cells[order and order[i] or i] end
    floor[k] = width
  end
  local out <const> = {weights = {}, means = {}, variances = {}}
  for j, c in ipairs(M.fit(points, q, floor, seed)) do
    out.weights[j], out.means[j], out.variances[j] = variance * c.weight, c.mean, c.variance
  end
  return out
end

return M

--- Why a covariance could not be factored, and what would help: a pure function of the data, the kernel, the noise and the error.
-- Cost: one pass over the n^2 pairs of rows, 30 products with the covariance, O(n) memory.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local named <const> = require "gibbous.frame.named"

local UNIT <const> = {f64 = 2 ^ -53, f32 = 2 ^ -24}
local STEPS <const> = 30                          -- of Lanczos
local FAR <const> = 1e30                          -- a squared distance beyond those of data
local OFF_CENTRE <const> = 1e3                    -- |mean| / spread of a column that costs digits of distances

---@class gibbous.diagnosis
---@field code string             of the error
---@field pivot integer|nil       the order of the first leading minor that is not positive: the row that failed
---@field n integer
---@field dtype string
---@field noise number            smallest variance on the diagonal
---@field nearest table|nil       {i, j, distance}: the two rows of x that are nearest to each other
---@field of_pivot table|nil      {row, distance}: the row nearest to the one that failed
---@field duplicates integer      rows that have a twin at distance 0
---@field scale table[]           of each column: {mean, spread, label}; label: its number, or its name in quotes
---@field largest number          eigenvalue of k(x) + noise, from below
---@field smallest number         the same, from above
---@field condition number        largest / noise, infinite without noise
---@field bad table|nil           {what, row, column, count}: values of x or y that are not finite
---@field remedies string[]       three, of one row two
local Diagnosis <const> = {__name = "gibbous.diagnosis"}

local function pair_text(self)
  if not self.nearest then return "there is one row" end
  local near <const> = self.nearest
  return ("rows %d and %d are nearest, at distance %.3g; %s a twin at distance 0"):format(near.i, near.j, near.distance,
    self.duplicates == 1 and "1 row has" or self.duplicates .. " rows have")
end

--- The labels of the columns that have one value in all rows.
local function constants_of(scale)
  local out <const> = {}
  for c, s in ipairs(scale) do
    if s.spread == 0 then out[#out + 1] = s.label or c end
  end
  return out
end

local function constant_text(scale)
  local list <const> = constants_of(scale)
  if #list == 0 then return "" end
  if #list == #scale then return "every column of x is constant, so all rows are one point" end
  return ("; column%s %s of x %s constant"):format(#list == 1 and "" or "s", table.concat(list, ", "), #list == 1 and "is" or "are")
end

local function scale_text(scale)
  local low, high, off = math.huge, 0, 0
  if #scale > 0 and #constants_of(scale) == #scale then return constant_text(scale) end
  for _, c in ipairs(scale) do
    low, high = math.min(low, c.spread), math.max(high, c.spread)
    off = math.max(off, c.spread > 0 and math.abs(c.mean) / c.spread or 0)
  end
  return ("columns have spreads from %.3g to %.3g and means up to %.3g spreads from 0%s"):format(low, high, off,
    constant_text(scale))
end

function Diagnosis:__tostring()
  local lines <const> = {("the covariance of %s, %s, could not be factored (%s)"):format(counted(self.n, "point"), self.dtype,
    self.code)}
  if self.bad then
    lines[#lines + 1] = ("  %s: %s not finite, the first in row %d, column %d"):format(self.bad.what,
      self.bad.count == 1 and "1 value is" or self.bad.count .. " values are", self.bad.row, self.bad.column)
  else
    if self.pivot then
      local twin <const> = self.of_pivot
      lines[#lines + 1] = ("  it failed at row %d%s"):format(self.pivot,
        twin and (", whose nearest is row %d at distance %.3g"):format(twin.row, twin.distance) or "")
    end
    lines[#lines + 1] = "  " .. pair_text(self)
    if self.n > 1 then lines[#lines + 1] = "  " .. scale_text(self.scale) end
    lines[#lines + 1] = ("  noise %.3g, largest eigenvalue about %.3g, condition about %.2g: %.1f of %.1f digits are left"):format(
      self.noise, self.largest, self.condition, math.max(0, -math.log(self.condition * UNIT[self.dtype], 10)),
      -math.log(UNIT[self.dtype], 10))
  end
  for i, text in ipairs(self.remedies) do lines[#lines + 1] = ("  %d. %s"):format(i, text) end
  return table.concat(lines, "\n")
end

-- Facts -------------------------------------------------------------------------------------------------------------------

--- The values of t (n) or (n, d) that are not finite: {what, row, column, count}, or nil.
local function bad_values(t, what)
  local finite <const> = t:isfinite():to{dtype = "f64"}
  local count <const> = math.tointeger(t.numel - finite:sum():item())
  if count == 0 then return nil end
  local at <const> = finite:argmin():item() - 1
  local columns <const> = t.ndim == 2 and t.shape[2] or 1
  return {what = what, row = at // columns + 1, column = at % columns + 1, count = count}
end

--- The nearest pair of rows of x and how many rows have a twin.
local function neighbours(x)
  if #x < 2 then return nil, 0 end
  local d2 <const> = core.sqdist(x, x) + core.eye(#x, {dtype = x.dtype}) * FAR
  local least <const>, where <const> = d2:min(2), d2:argmin(2)
  core.eval(least, where)
  local i <const> = least:argmin():item()
  local twins <const> = least:eq(0):to{dtype = "f64"}:sum():item()
  return {i = i, j = where:select(1, i):item(), distance = math.sqrt(least:select(1, i):item())}, math.tointeger(twins)
end

--- The row nearest to row p.
local function nearest_to(x, p)
  if #x < 2 or p < 1 or p > #x then return nil end
  local d2 <const> = core.sqdist(x:slice(1, p, p), x):reshape(#x)
  local others <const> = core.where(core.range(1, #x):eq(p), FAR, d2:to{dtype = "f64"})
  local j <const> = others:argmin():item()
  return {row = j, distance = math.sqrt(others:select(1, j):item())}
end

local function column_scales(x)
  local out <const> = {}
  local means <const> = x:mean(1)
  local spreads <const> = ((x - means) ^ 2):mean(1):sqrt():totable()
  for c, mean in ipairs(means:totable()) do
    local name <const> = named.column(x, c)
    out[c] = {mean = mean, spread = spreads[c], label = name and ("'%s'"):format(name) or tostring(c)}
  end
  return out
end

--- The largest eigenvalue of c, from below, and the smallest, from above; NaN where products are not finite.
local function extreme_eigenvalues(c)
  local start <const> = core.randn(#c, {seed = 1, dtype = c.dtype})
  local ok <const>, _, t = pcall(core.lanczos, c:detach(), start, math.min(STEPS, #c))
  if not ok then return 0 / 0, 0 / 0 end
  local values <const> = core.linalg.eigh(t)
  return values:max():item(), values:min():item()
end

-- Remedies ----------------------------------------------------------------------------------------------------------------

--- The noise up to which rounding alone can fail: below it a matrix that is positive definite may have no factor.
local function rounding_level(d) return 10 * d.n * UNIT[d.dtype] * d.largest end

--- Is the covariance indefinite by more than rounding? Then the kernel is to blame.
local function is_indefinite(d) return d.smallest < -rounding_level(d) end

--- Sentences with numbers, the most fitting first.
local function remedies(d)
  local out <const> = {}
  local indefinite <const> = is_indefinite(d)
  local enough <const> = indefinite and d.noise - 2 * d.smallest or rounding_level(d)
  if indefinite then
    out[#out + 1] = ("look at the kernel: it is not positive definite, the covariance has an eigenvalue of %.3g or less"):format(
      d.smallest)
  end
  if d.n > 1 and #constants_of(d.scale) == #d.scale then
    out[#out + 1] = "give x a column that differs between rows: as it is, the kernel sees one point " .. d.n .. " times"
  end
  if d.nearest and d.nearest.distance == 0 then
    out[#out + 1] = ("average the %s that have a twin, such as %d and %d, or give them noise"):format(counted(d.duplicates, "row"),
      d.nearest.i, d.nearest.j)
  end
  if d.dtype == "f32" then
    out[#out + 1] = ("use f64: condition %.2g leaves %.1f digits there"):format(d.condition,
      math.max(0, -math.log(d.condition * UNIT.f64, 10)))
  end
  for _, s in ipairs(d.scale) do
    if s.spread > 0 and math.abs(s.mean) > OFF_CENTRE * s.spread then
      out[#out + 1] = ("centre the inputs: column %s has mean %.4g and spread %.3g"):format(s.label, s.mean, s.spread)
      break
    end
  end
  out[#out + 1] = ("raise the noise to %.2g or more; it is %.2g"):format(enough, d.noise)
  if not indefinite then
    out[#out + 1] = ("ask for jitter and have it reported: gb.solvers.cholesky{jitter = %.0e, max_jitter = %.0e}"):format(
      enough / d.mean_diagonal / 10, 10 * enough / d.mean_diagonal)
  end
  if d.nearest then
    out[#out + 1] = ("drop row %d or row %d, which are %.3g apart"):format(d.nearest.i, d.nearest.j, d.nearest.distance)
  end
  return table.move(out, 1, 3, 1, {})
end

local function remedies_for_bad(bad)
  return {("drop the rows of %s with a value that is not finite, from row %d on"):format(bad.what, bad.row),
    ("mask them in y: missing = \"mask\" leaves out %s"):format(counted(bad.count, "value")),
    ("look at how row %d, column %d of %s was made"):format(bad.row, bad.column, bad.what)}
end

--- Why k(x) + noise I could not be factored. x (n, d); y (n) or nil; kernel: a gb.kernels value; noise: a number, or a tensor (n)
-- of variances; err: the error object that the factorisation raised, or nil.
---@return gibbous.diagnosis
return function(x, y, kernel, noise, err)
  if x.ndim == 1 then x = x:unsqueeze(2) end
  local levels <const> = core.as_tensor(noise)
  local least <const> = levels and levels:min():item() or noise
  local raised <const> = err or {}
  local d <const> = {code = raised.code or "not_pd", pivot = raised.order, n = #x, dtype = x.dtype, noise = least, duplicates = 0}
  d.bad = bad_values(x, "x") or y and bad_values(y, "y") or nil
  if d.bad then
    d.remedies = remedies_for_bad(d.bad)
    return setmetatable(d, Diagnosis)
  end
  d.nearest, d.duplicates = neighbours(x)
  d.of_pivot = d.pivot and nearest_to(x, d.pivot) or nil
  d.scale = column_scales(x)
  local on_diagonal <const> = levels and levels.ndim == 1 and core.linalg.diag(levels) or core.eye(#x, {dtype = x.dtype}) * least
  local c <const> = kernel(x):detach() + on_diagonal
  d.mean_diagonal = kernel:diag(x):mean():item() + least
  d.largest, d.smallest = extreme_eigenvalues(c)
  d.condition = least > 0 and not is_indefinite(d) and d.largest / least or math.huge
  d.remedies = remedies(d)
  return setmetatable(d, Diagnosis)
end

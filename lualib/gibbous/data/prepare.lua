--- Data made ready for a model: columns brought to one scale, and back; rows divided into training and test.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local function rows(v, what)
  local t <const> = core.as_tensor(v)
  if t == nil then core.raise("option", ("%s must be a tensor, got %s"):format(what, core.type(v))) end
  if t.ndim < 1 then core.raise("shape", ("%s must have rows, got one number"):format(what)) end
  return t
end

---@class gibbous.scaler
---@field mean gibbous.tensor  (d), or one number for a vector
---@field sd gibbous.tensor    the same shape; 1 for constant columns
local Scaler <const> = {__name = "gibbous.scaler"}

--- (x - mean) / sd: other rows on the same scale.
function Scaler:apply(x) return (x - self.mean) / self.sd end

--- Values, means and interval ends, back in the original units.
function Scaler:undo(xs) return xs * self.sd + self.mean end

--- Variances, back in the original units squared.
function Scaler:undo_var(v) return v * (self.sd * self.sd) end

function Scaler.__tostring(self) return ("scaler: mean %s, sd %s"):format(self.mean, self.sd) end

--- A scaler of these moments.
function M.scaler(mean, sd) return setmetatable({mean = mean, sd = sd}, Scaler) end

object.guard(Scaler, "a scaler", "scaler")
object.settle(Scaler, "a scaler", "mean sd")

--- Mean, standard deviation, least and largest value of each column, of those that are there: NaN means that one is missing.
local function moments(x)
  local there <const> = ~x:isnan()
  if there:all() then return x:mean(1), x:std(1, {ddof = 0}), x:min(1), x:max(1) end
  local count <const> = there:to{dtype = x.dtype}:sum(1)
  if not count:gt(0):all() then core.raise("nan", "standardize: a column has no value that is not NaN") end
  local mean <const> = core.where(there, x, 0):sum(1) / count
  local sd <const> = (core.where(there, (x - mean) ^ 2, 0):sum(1) / count):sqrt()
  return mean, sd, core.where(there, x, math.huge):min(1), core.where(there, x, -math.huge):max(1)
end

-- Of the largest value of a column, by dtype: beyond 'large' and below 1 / large its squares may overflow or underflow.
local LARGE <const> = {f64 = 1e100, f32 = 1e12, bf16 = 1e12, f16 = 1e12}

--- The same of columns of any size: those whose squares are no numbers are divided by their largest value meanwhile.
local function safe_moments(x)
  local large <const>, size <const> = LARGE[x.dtype], core.where(x:isnan(), 0, x):abs():max(1)
  local unit <const> = core.where(size:gt(large) | (size:lt(1 / large) & size:gt(0)), size, 1):eval()
  if unit:eq(1):all() then return moments(x) end
  local mean <const>, sd <const>, low <const>, high <const> = moments(x / unit)
  return mean * unit, sd * unit, low * unit, high * unit
end

--- Zero mean and unit standard deviation (ddof 0) by column: xs = (x - mean) / sd. Gives xs and the scaler that undoes it.
-- x (n, d) or (n). Columns of one value become 0. A missing value (NaN) stays missing and counts for nothing; infinite ones
-- raise. Integers are taken in the dtype of gb.config.
---@param x gibbous.tensor
---@return gibbous.tensor xs, gibbous.scaler scaler
function M.standardize(x)
  local t = rows(x, "standardize: x")
  if #t == 0 then core.raise("shape", "standardize: there are no rows") end
  if not t.dtype:find("f", 1, true) then t = t:to{dtype = core.config().dtype} end
  if t:abs():eq(math.huge):any() then core.raise("nan", "standardize: a value is infinite") end
  local mean <const>, sd <const>, low <const>, high <const> = safe_moments(t)
  local constant <const> = low:eq(high)                     -- not sd = 0: its mean is rounded
  local scaler <const> = M.scaler(core.where(constant, low, mean):eval(), core.where(constant, 1, sd):eval())
  return scaler:apply(t):eval(), scaler
end

--- Splits rows at random: o.test is the fraction (below 1) or the number (a whole one) of test rows, 0.1; o.seed. Gives train, test
-- with .x .y.
function M.split(x, y, opts)
  local o <const> = options.parse(opts, {test = "positive", seed = "integer"}, "gb.data.split")
  x, y = rows(x, "split: x"), rows(y, "split: y")
  local n <const> = #x
  if #y ~= n then
    core.raise("shape", ("split: x has %s, y has %d: x %s, y %s"):format(counted(n, "row"), #y, core.told(x), core.told(y)))
  end
  local test <const> = o.test or 0.1
  if test >= 1 and test ~= math.floor(test) then
    core.raise("option", ("gb.data.split: option 'test' must be a fraction below 1 or a whole number of rows, got %s"):format(test))
  end
  if test >= n and test >= 1 then core.raise("option", ("split: %s test rows of %d leave nothing"):format(test, n)) end
  local k <const> = test < 1 and math.floor(test * n + 0.5) or math.floor(test)
  if k < 1 or k >= n then core.raise("option", ("split: %d test rows of %d leave nothing"):format(k, n)) end
  local order <const> = core.randperm(n, {seed = o.seed or 0})
  local function part(from, to)
    local at <const> = order:slice(1, from, to)
    local function of(v) return v:index(1, at:to(v.device)):eval() end
    return {x = of(x), y = of(y)}
  end
  return part(k + 1, n), part(1, k)
end

return M

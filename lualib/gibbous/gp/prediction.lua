--- What a model says about new points: a lazy record. Nothing is computed before it is looked at, and the covariance
-- between test points is never formed unless f_cov is.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.options"

---@class gibbous.prediction
---@field mean gibbous.tensor    (m) of f and of y
---@field f_var gibbous.tensor   (m) variance of the function
---@field y_var gibbous.tensor   (m) variance of a new observation
---@field f_cov gibbous.tensor   (m, m) covariance of the function; m^2 values
local Prediction <const> = {__name = "gibbous.prediction"}

--- The standard normal quantile, by Newton's method on ndtr.
local function quantile(p)
  local z = core.tensor(0, {dtype = "f64"})
  for _ = 1, 60 do
    local density <const> = (-0.5 * z * z):exp() / math.sqrt(2 * math.pi)
    local step <const> = ((z:ndtr() - p) / density):clamp(-1, 1):eval()
    z = (z - step):eval()
    if math.abs(step:item()) < 1e-12 then break end
  end
  return z:item()
end

local methods <const> = {}

--- Bounds (lo, hi), each (m), that hold a new observation with probability 'level'; of = "f": the function.
function methods.interval(self, level, opts)
  local o <const> = options.parse(opts, {of = {"y", "f"}}, "interval", 2)
  level = level or 0.95
  if type(level) ~= "number" or not (level > 0 and level < 1) then
    core.raise("option", ("interval: the level must be between 0 and 1, got %s"):format(tostring(level)), 2)
  end
  local sd <const> = (o.of == "f" and self.f_var or self.y_var):sqrt()
  local half <const> = quantile(0.5 + level / 2) * sd
  return self.mean - half, self.mean + half
end

--- k joint draws, (k, m); of = "y" adds observation noise. Costs the Cholesky factor of the (m, m) covariance.
function methods.sample(self, k, opts)
  local o <const> = options.parse(opts, {of = {"f", "y"}, seed = "integer"}, "sample", 2)
  local cov = self.f_cov
  local m <const> = #self.mean
  local scale <const> = self.f_var:max():item()
  local tiny <const> = self.mean.dtype == "f32" and 1e-5 or 1e-10
  local root <const> = core.linalg.cholesky(cov, {jitter = tiny * math.max(scale, 1e-300)})
  local z <const> = core.randn(k, m, {dtype = self.mean.dtype, seed = o.seed})
  local draws = z:matmul(root:t()) + self.mean
  if o.of == "y" then
    draws = draws + (self.y_var - self.f_var):sqrt() * core.randn(k, m, {dtype = self.mean.dtype, seed = o.seed and o.seed + 1})
  end
  return draws
end

--- 'parts': functions that build each field when it is first asked for.
function Prediction.__index(self, key)
  if methods[key] then return methods[key] end
  local build <const> = rawget(self, "_parts")[key]
  if build == nil then
    local hint <const> = (key == "var" or key == "variance") and ": f_var of the function, y_var of a new observation" or ""
    core.raise("option", ("a prediction has no field '%s'%s"):format(tostring(key), hint), 2)
  end
  local v <const> = build(self)
  rawset(self, key, v)
  return v
end

function Prediction.__newindex(_, key)
  core.raise("option", ("a prediction is a value; '%s' cannot be assigned"):format(tostring(key)), 2)
end

function Prediction.__tostring(self)
  return ("prediction at %d points: .mean .f_var .y_var .f_cov :interval(level) :sample(k)"):format(rawget(self, "_count"))
end

return {new = function(count, parts) return setmetatable({_parts = parts, _count = count}, Prediction) end}

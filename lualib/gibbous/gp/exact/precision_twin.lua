--- The model that computes predictions: the model itself or, for f32 data whose covariance f32 cannot resolve, its twin in f64.
local algorithm <const> = require "gibbous.gp.algorithm"
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"

local UNIT <const> = 2.0 ^ -24                     -- of f32

-- Variances are differences of numbers near the prior variance: with condition number K they lose about K units in the last place
-- of it. Predictions leave f32 if this loss, bounded through K <= 1 + trace / least noise, is larger. Residuals of solves are no
-- smaller either, so the tolerance of a solver is another bound.
local WORST_LOSS <const> = 1e-2

local function worst_loss(self)
  local f <const> = model.fields(self)
  f.active = f.active or objective.decide(self)
  return algorithm.is_iterative(f.active) and f.active.o.tol and math.min(WORST_LOSS, f.active.o.tol) or WORST_LOSS
end

--- A model with the same parameters, not copies, whose data are f64; kept until other data are taken. owner: the fields of the
-- model whose twin it is.
local function twin_of(self)
  local f <const> = model.fields(self)
  if f.twin == nil then
    local wide <const> = {dtype = "f64"}
    f.twin = model.class(self).new{kernel = f.kernel, mean = f.mean, likelihood = f.likelihood, solver = f.solver, owner = f,
      x = f.x:to(wide):eval(), y = f.y:to(wide):eval()}
  end
  model.fields(f.twin).active = f.active
  return f.twin
end

--- An upper bound of the covariance's condition number, infinite without noise. O(n), once for the present parameters.
local function condition_bound(self)
  local f <const>, now <const> = model.fields(self), model.stamp(self)
  if f.bound == nil or f.bound.stamp ~= now then
    local wide <const> = {dtype = "f64"}
    local trace <const> = f.kernel:diag(f.x):to(wide):sum()
    local least <const> = f.likelihood:variance(f.x):to(wide):min()
    core.eval(trace, least)
    f.bound = {stamp = now, value = 1 + trace:item() / least:item()}
  end
  return f.bound.value
end

--- The model or its twin. precision: "f32", "f64", or nil for what is needed. stamp: with it nothing is computed, and the result
-- is nil where the answer is not known yet for the parameters of this stamp, or the twin is not made.
return function(self, precision, stamp)
  local f <const> = model.fields(self)
  if f.x == nil or #f.x == 0 or f.x.dtype ~= "f32" or precision == "f32" then return self end
  if precision ~= "f64" then
    if stamp and not (f.active and f.bound and f.bound.stamp == stamp) then return nil end
    local bound <const> = stamp and f.bound.value or condition_bound(self)
    if UNIT * bound <= worst_loss(self) then return self end
  end
  if stamp then return f.twin end
  return twin_of(self)
end

--- Predictions by every model of a batch: one plan for all that have as many rows and points.
-- Source: Rasmussen & Williams (2006), equations 2.25 and 2.26.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local covariance <const> = require "gibbous.gp.covariance"
local data <const> = require "gibbous.gp.batch.data"
local frames <const> = require "gibbous.gp.frames"
local metrics <const> = require "gibbous.gp.report.metrics"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local scaling <const> = require "gibbous.gp.scaling"
local steps <const> = require "gibbous.gp.batch.steps"

local M <const> = {}

local LEAVES <const> = {"theta", "x", "y", "floor", "points"}

---@class gibbous.batch_prediction
---@field mean gibbous.tensor|table    (B, m), of a list of points a list of (m); NaN of a model without a result
---@field f_var gibbous.tensor|table   of the function
---@field y_var gibbous.tensor|table   of new observations
local Prediction <const> = object.record("gibbous.batch_prediction", "the predictions of a batch", "")

function Prediction.__tostring(self)
  local text <const> = "predictions of " .. counted(#self.mean, "model")
  return core.type(self.mean) == "tensor" and ("%s, the mean\n%s"):format(text, tostring(self.mean)) or text
end

--- Mean, variance of f and of y at points, (3, m), of a trace.
local function moments(trace)
  local f <const>, z <const> = model.fields(trace.model), trace.points
  local c <const>, cross <const> = covariance.of(trace.model), f.kernel(z, trace.x)
  local mean <const> = f.mean(z) + cross:matmul(core.linalg.solve(c, covariance.residual(trace.model)))
  local half <const> = core.linalg.triangular_solve(core.linalg.cholesky(c), cross:t())
  local f_var <const> = core.maximum(f.kernel:diag(z) - (half * half):sum(1), 0)
  return core.stack({mean, f_var, (f_var + f.likelihood:new_variance(z)):expand(#z)}, 1)
end

--- A function that gives (3, m) for a model and points in its units. One plan is held at a time.
local function predictor()
  local key, run
  return function(self, z)
    local f <const>, floor <const> = model.fields(self), steps.floor(self)
    local own <const> = ("%d %d %s"):format(#f.x, #z, floor ~= nil)
    if own ~= key then
      local trace <const> = steps.trace(self)
      trace.points = core.empty(#z, z.shape[2], {dtype = f.x.dtype, device = f.x.device})
      run, key = steps.planned(trace, moments(trace), LEAVES), own
    end
    local theta <const> = #steps.free(self) > 0 and steps.theta(self) or nil
    return run{theta = theta, x = f.x, y = f.y, floor = steps.floor_of(floor), points = z}
  end
end

--- In the units of the script.
local function undone(self, v)
  local scaler <const> = scaling.scaler(model.fields(self), "y", "predict")
  if not scaler then return v end
  local unit <const> = scaler.sd * scaler.sd
  return core.stack({scaler:undo(v:select(1, 1)), v:select(1, 2) * unit, v:select(1, 3) * unit}, 1):eval()
end

--- The number of points for model i, which has no result.
local function rows_at(x, i)
  local t <const> = frames.is(x) and x or core.as_tensor(x)
  if t == nil then
    core.raise("option", ("predict: the points of model %d must be a tensor or a frame, got %s"):format(i, options.got(x)))
  end
  return #t
end

--- (3, m) of each model; models: by number, false where the fit failed.
local function all(models, at)
  local of <const>, order <const>, out <const> = predictor(), {}, {}
  local points <const> = {}
  for i, m in ipairs(models) do
    if m then
      points[i] = frames.points(m, at(i), "predict"):eval()
      order[#order + 1] = i
    end
  end
  local function rows(i) return #model.fields(models[i]).x end
  table.sort(order, function(a, b)
    local n <const>, k <const> = rows(a), rows(b)
    if n ~= k then return n < k end
    if #points[a] ~= #points[b] then return #points[a] < #points[b] end
    return a < b
  end)
  for _, i in ipairs(order) do out[i] = undone(models[i], of(models[i], points[i])) end
  for i, m in ipairs(models) do
    if not m then out[i] = core.full({3, rows_at(at(i), i)}, 0 / 0, {dtype = "f64"}) end
  end
  return out
end

--- Predictions of all models at the points of a call.
function M.of(models, x)
  local at <const>, together <const> = data.points(x, #models, "predict")
  local list <const>, out <const> = all(models, at), {}
  local stacked <const> = together and core.stack(list, 1):eval()
  for k, name in ipairs{"mean", "f_var", "y_var"} do
    out[name] = {}
    if stacked then out[name] = stacked:select(2, k):eval()
    else
      for i, v in ipairs(list) do out[name][i] = v:select(1, k):eval() end
    end
  end
  return setmetatable(out, Prediction)
end

---@class gibbous.batch_score
---@field rmse gibbous.tensor         (B), as of gibbous.score, and so are the others
---@field mae gibbous.tensor
---@field nlpd gibbous.tensor
---@field coverage95 gibbous.tensor
local Score <const> = object.record("gibbous.batch_score", "the score of a batch", "")

local FIGURES <const> = {"rmse", "mae", "nlpd", "coverage95"}

function Score.__tostring(self)
  return ("score of %s: median rmse %.4g  nlpd %.4g  coverage95 %.1f %%"):format(counted(#self.rmse, "model"),
    self.rmse:median():item(), self.nlpd:median():item(), 100 * self.coverage95:mean():item())
end

local function figures(y, mean, var)
  local e <const> = y - mean
  return core.stack({(e * e):mean():sqrt(), e:abs():mean(), metrics.neg_log_density(e, var):mean(),
    metrics.coverage(e, var, 0.95)}, 1)
end

--- How well every model predicts observations y at points x.
function M.score(models, x, y)
  local p <const>, at <const> = M.of(models, x), data.targets(y, #models, "score")
  local rows <const> = {}
  for i = 1, #models do
    local mean <const>, var <const> = p.mean, p.y_var
    local together <const> = core.type(mean) == "tensor"
    local t <const> = core.as_tensor(at(i))
    local own <const> = together and mean:select(1, i) or mean[i]
    if t == nil or t.ndim ~= 1 or #t ~= #own then
      core.raise("shape", ("score: model %d: y must be (%d), got %s"):format(i, #own,
        t and "shape " .. core.told(t) or core.type(at(i))))
    end
    rows[i] = figures(t, own, together and var:select(1, i) or var[i])
  end
  local table_of <const>, out <const> = core.stack(rows, 1):eval(), {}
  for k, name in ipairs(FIGURES) do out[name] = table_of:select(2, k):eval() end
  return setmetatable(out, Score)
end

return M

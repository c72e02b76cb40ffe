--- What a model of several outputs says about new points: a record of the long form, seen as (m, T).

local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"

---@class gibbous.task_prediction
---@field mean gibbous.tensor    (m, T)
---@field f_var gibbous.tensor   (m, T) variance of the functions
---@field y_var gibbous.tensor   (m, T) variance of new observations
---@field f_cov gibbous.tensor   (m T, m T), point by point
---@field converged boolean
---@field info gibbous.prediction_info
local Record <const> = {__name = "gibbous.prediction"}
-- Values by point and output, of a box.
local shaped <const> = {mean = true, y_mean = true, f_var = true, y_var = true, f_var_bound = true}
local methods <const> = object.methods(Record, "a prediction", "p")

local function box(self) return rawget(self, "_box") end

--- Values (m T) of a box as (m, T); draws (k, m T) as (k, m, T).
local function wide(b, v)
  if v.ndim == 1 then return b.by_output and v:reshape(b.T, b.m):t() or v:reshape(b.m, b.T) end
  if not b.by_output then return v:reshape(#v, b.m, b.T) end
  return v:reshape(#v, b.T, b.m):permute(1, 3, 2)
end

--- A covariance (m T, m T) of a box, point by point.
local function by_point(b, v)
  if not b.by_output then return v end
  return v:reshape(b.T, b.m, b.T, b.m):permute(2, 1, 4, 3):reshape(b.m * b.T, b.m * b.T)
end

--- Bounds (lo, hi), each (m, T), that hold a new observation with probability 'level'; of = "f": the function.
function methods.interval(self, level, o)
  local b <const> = box(self)
  local lo <const>, hi <const> = b.flat:interval(level, o)
  return wide(b, lo), wide(b, hi)
end

--- The log density of each observation y (m, T) by itself, (m, T): nats; NaN where y is.
function methods.log_density(self, y)
  local b <const>, t <const> = box(self), core.as_tensor(y)
  if t == nil or t.ndim ~= 2 or t.shape[1] ~= b.m or t.shape[2] ~= b.T then
    core.raise("shape", ("log_density: y must be (%d, %d), a row a point"):format(b.m, b.T))
  end
  return wide(b, b.flat:log_density((b.by_output and t:t() or t):reshape(t.numel)))
end

--- k joint draws, (k, m, T); of = "y" adds observation noise.
function methods.sample(self, k, o)
  local b <const> = box(self)
  return wide(b, b.flat:sample(k, o))
end

function Record.__index(self, key)
  if methods[key] then return methods[key] end
  local b <const> = box(self)
  local v <const> = b.flat[key]
  if not shaped[key] and key ~= "f_cov" then return v end
  local own <const> = shaped[key] and wide(b, v) or by_point(b, v)
  rawset(self, key, own)
  return own
end

function Record.__newindex(self, key, v) box(self).flat[key] = v end

function Record.__tostring(self)
  local b <const> = box(self)
  return ("prediction of %s at %s: .mean .f_var .y_var .f_cov .info :interval(level) :sample(k)"):format(
    b.by_output and "f and " .. counted(b.T - 1, "derivative") or counted(b.T, "task"), counted(b.m, "point"))
end

--- 'flat': a prediction at m points with T outputs each, point by point; by_output: output by output, f before its derivatives.
return function(flat, m, T, by_output) return setmetatable({_box = {flat = flat, m = m, T = T, by_output = by_output}}, Record) end

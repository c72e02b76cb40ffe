--- What a model of several outputs says about new points: a record of the long form, seen as (m, T).

local counted <const> = require "gibbous.counted"
local object <const> = require "gibbous.object"

---@class gibbous.task_prediction
---@field mean gibbous.tensor    (m, T)
---@field f_var gibbous.tensor   (m, T) variance of the functions
---@field y_var gibbous.tensor   (m, T) variance of new observations
---@field f_cov gibbous.tensor   (m T, m T), point by point
---@field converged boolean
---@field info gibbous.prediction_info
local Record <const> = {__name = "gibbous.prediction"}
local shaped <const> = {mean = true, f_var = true, y_var = true, f_var_bound = true}
local methods <const> = object.methods(Record, "a prediction", "p")

local function box(self) return rawget(self, "_box") end

--- Bounds (lo, hi), each (m, T), that hold a new observation with probability 'level'; of = "f": the function.
function methods.interval(self, level, o)
  local b <const> = box(self)
  local lo <const>, hi <const> = b.flat:interval(level, o)
  return lo:reshape(b.m, b.T), hi:reshape(b.m, b.T)
end

--- k joint draws, (k, m, T); of = "y" adds observation noise.
function methods.sample(self, k, o)
  local b <const> = box(self)
  return b.flat:sample(k, o):reshape(k or 1, b.m, b.T)
end

function Record.__index(self, key)
  if methods[key] then return methods[key] end
  local b <const> = box(self)
  local v <const> = b.flat[key]
  if not shaped[key] then return v end
  local wide <const> = v:reshape(b.m, b.T)
  rawset(self, key, wide)
  return wide
end

function Record.__newindex(self, key, v) box(self).flat[key] = v end

function Record.__tostring(self)
  return ("prediction of %s at %s: .mean .f_var .y_var .f_cov .info :interval(level) :sample(k)"):format(
    counted(box(self).T, "task"), counted(box(self).m, "point"))
end

--- 'flat': a prediction at m points with T tasks each, point by point.
return function(flat, m, T) return setmetatable({_box = {flat = flat, m = m, T = T}}, Record) end

--- What a model that scales its targets (gp/scaling.lua) says about new points: a record in the model's units, seen in those of
-- the data.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.base.object"

local Record <const> = {__name = "gibbous.prediction"}
local methods <const> = object.methods(Record, "a prediction", "p")

local function box(self) return rawget(self, "_box") end

--- Bounds (lo, hi) that hold a new observation with probability 'level'; of = "f": the function.
function methods.interval(self, level, o)
  local b <const> = box(self)
  local lo <const>, hi <const> = b.own:interval(level, o)
  return b.scaler:undo(lo), b.scaler:undo(hi)
end

--- k joint draws; of = "y" adds observation noise.
function methods.sample(self, k, o)
  local b <const> = box(self)
  return b.scaler:undo(b.own:sample(k, o))
end

--- The log density of each observation y by itself: nats.
function methods.log_density(self, y)
  local b <const>, t <const> = box(self), core.as_tensor(y)
  local sd <const> = b.scaler.sd
  if t == nil or sd.ndim > 0 and t.shape[t.ndim] ~= #sd then return b.own:log_density(y) end      -- which says what is wrong
  return b.own:log_density(b.scaler:apply(t)) - sd:log()
end

--- The standard deviations of the outputs in the order of a joint covariance of n values: one number, or (n).
local function in_order(sd, n)
  if sd.ndim == 0 then return sd end
  local tasks <const> = #sd
  return sd:unsqueeze(1):expand(n // tasks, tasks):reshape(n)
end

local rescaled <const> = {}

function rescaled.mean(b, v) return b.scaler:undo(v) end
rescaled.y_mean = rescaled.mean
function rescaled.f_var(b, v) return b.scaler:undo_var(v) end
rescaled.y_var, rescaled.f_var_bound = rescaled.f_var, rescaled.f_var

function rescaled.f_cov(b, v)
  local sd <const> = in_order(b.scaler.sd, v.shape[v.ndim])
  return sd.ndim == 0 and b.scaler:undo_var(v) or v * sd:unsqueeze(2) * sd:unsqueeze(1)
end

--- Jitter is in units of y squared; of several outputs, whose units differ, it is told relative to the prior variance alone.
function rescaled.info(b, info)
  local sd <const> = b.scaler.sd
  info.jitter = info.jitter and sd.ndim == 0 and info.jitter * sd:item() ^ 2 or nil
  return info
end

function Record.__index(self, key)
  if methods[key] then return methods[key] end
  local b <const> = box(self)
  local v <const> = b.own[key]
  if not rescaled[key] then return v end
  local out <const> = rescaled[key](b, v)
  if key ~= "info" then rawset(self, key, out) end
  return out
end

function Record.__newindex(self, key, v) box(self).own[key] = v end

function Record.__tostring(self) return tostring(box(self).own) end

--- own: a prediction of targets that 'scaler' scaled; nil: they are as they are.
return function(own, scaler)
  return scaler and setmetatable({_box = {own = own, scaler = scaler}}, Record) or own
end

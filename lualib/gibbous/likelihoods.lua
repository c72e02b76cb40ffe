--- Observation noise. A likelihood gives the noise variance of each observation, in units of y squared.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"

local Likelihood <const> = {__name = "gibbous.likelihood"}
Likelihood.__index = Likelihood

local M <const> = {}

function M.is(v) return type(v) == "table" and getmetatable(v) == Likelihood end

function Likelihood.__children(self)
  return param.is(self.noise) and {{"noise", self.noise}} or {}
end

function Likelihood:copy()
  local noise = self.noise
  if param.is(noise) and not param.shared(noise) then noise = param.copy(noise) end
  return setmetatable({kind = self.kind, noise = noise}, Likelihood)
end

local function adopt(v, x) return v.dtype == x.dtype and v or v:to{dtype = x.dtype} end

--- The noise variance in the dtype of x: one element, or (n).
function Likelihood:variance(x)
  local v <const> = param.is(self.noise) and self.noise.value or self.noise
  if v.ndim == 1 and #v ~= #x then
    core.raise("shape", ("noise has %d variances for %d observations"):format(#v, #x), 4)
  end
  return adopt(v, x)
end

--- Noise of a new observation: the common variance; a per-point noise has none, and 0 is added.
function Likelihood:new_variance(x)
  local v <const> = param.is(self.noise) and self.noise.value or self.noise
  return v.ndim == 0 and adopt(v, x) or nil
end

--- The same noise for every observation: a number (free), a gb.param, or a table {noise = ...}.
function M.gaussian(v)
  if type(v) == "table" and getmetatable(v) == nil then
    v = options.parse(v, {noise = "any"}, "gb.likelihoods.gaussian", 2).noise
  end
  return setmetatable({kind = "gaussian", noise = param.hyper(v or 1.0, "noise", 2)}, Likelihood)
end

--- Known variances, one per observation (n), not fitted.
function M.fixed(v)
  local t <const> = core.as_tensor(v) or (type(v) == "table" and core.tensor(v))
  if not t or t.ndim ~= 1 then core.raise("option", "gb.likelihoods.fixed takes a vector of variances (n)", 2) end
  if t.numel > 0 and not (t:min():item() >= 0) then core.raise("option", "noise variances must be 0 or more", 2) end
  return setmetatable({kind = "fixed", noise = t}, Likelihood)
end

--- A variance for each task, free: a list or a gb.param of T. The last column of the inputs is the task, from 1.
function M.tasks(v)
  local p <const> = param.hyper(v, "noise", 2)
  if p.ndim ~= 1 then core.raise("option", "gb.likelihoods.tasks takes a list of variances, one a task", 2) end
  return require "gibbous.task_noise"(Likelihood, p)
end

return require "gibbous.names"(M, "gb.likelihoods", {"heteroscedastic"})

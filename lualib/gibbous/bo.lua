--- gb.bo: what a search by a Gaussian process goes by.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local HALF_LOG_2PI <const> = 0.5 * math.log(2 * math.pi)
local FAR <const> = -20                    -- below it the asymptotic series has 10 digits

local function log_density(z) return -0.5 * z * z - HALF_LOG_2PI end

--- log(phi(z) + z Phi(z)). Each branch is computed where it has no cancellation, and elsewhere at its border, so that gradients
-- stay finite. Below -1 it is log phi + log(1 + z Phi / phi), whose sum loses eps z^4; far below, phi / z^2 times a series in 1 /
-- z^2.
local function log_h(z)
  local high <const>, low <const>, far <const> = z:clamp(-1, math.huge), z:clamp(FAR, -1), z:clamp(-math.huge, FAR)
  local above <const> = (log_density(high):exp() + high * high:ndtr()):log()
  local below <const> = log_density(low) + (low * (low:log_ndtr() - log_density(low)):exp()):log1p()
  local w <const> = 1 / (far * far)
  local series <const> = 1 - w * (3 - w * (15 - w * (105 - w * (945 - w * 10395))))
  local deep <const> = log_density(far) + (w * series):log()
  return core.where(z:gt(-1), above, core.where(z:gt(FAR), below, deep))
end

local function number_or_tensor(v, what)
  local t <const> = type(v) ~= "number" and core.as_tensor(v)
  if type(v) ~= "number" and not t then
    core.raise("option", ("gb.bo.log_ei: %s must be a tensor or a number, got %s"):format(what, options.shown(v)))
  end
  return t or v
end

--- The logarithm of the expected improvement on 'best' of values that are normal: E max(best - y, 0), or E max(y - best, 0) where
-- goal is "max". Right where the improvement itself is 0 in floating point, and differentiable. mean, sd: tensors of one shape,
-- sd > 0; best: a number or tensor. o: goal "min"|"max". Source: Ament et al., 2023.
function M.log_ei(mean, sd, best, o)
  local goal <const> = options.parse(o, {goal = {"min", "max"}}, "gb.bo.log_ei").goal or "min"
  local m <const>, s <const> = core.as_tensor(mean), core.as_tensor(sd)
  if not m or not s then core.raise("option", "gb.bo.log_ei: mean and sd must be tensors") end
  local b <const> = number_or_tensor(best, "best")
  local gain <const> = goal == "min" and b - m or m - b
  return s:log() + log_h(gain / s)
end

return require "gibbous.base.names"(M, "gb.bo")

--- What the kinds of likelihoods share: parameters as options, constants of densities.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

local M <const> = {}

M.LOG_2PI = math.log(2 * math.pi)

--- The rule of an option that is a parameter: a number or a gb.param.
function M.rule(v) return type(v) == "number" or param.is(v), "a number or a gb.param" end

--- A parameter of one number above 'min' (0): a number is free, a gb.param is shared; default where nothing is given.
function M.positive(v, name, default, what, min)
  min = min or 0
  if v == nil or v == false then return param.set_open(param.hyper(default, name, {min = min, name = name}), true) end
  if type(v) == "number" and not (v > min and v < math.huge) then
    core.raise("option", ("%s: %s must be above %g and finite, got %s"):format(what, name, min, options.got(v)))
  end
  local p <const> = param.hyper(v, name, {min = min, name = name})
  if p.ndim ~= 0 then core.raise("shape", ("%s: %s must be one number"):format(what, name)) end
  return p
end

--- The value of a parameter of l, like f.
function M.value(l, name, f) return columns.like(l[name].value, f) end

-- The part of the variance of y that noise begins with.
local NOISE <const> = 0.1

--- Where fits of noise with a 'scale' begin.
function M.noise_scales(y)
  local spread <const> = #y > 1 and y:var():item() or 0
  if not (spread > 0 and spread < math.huge) then return {level = y:mean():item(), spread = 1.0} end
  return {level = y:mean():item(), spread = spread, parameters = {scale = math.sqrt(NOISE * spread)}}
end

--- The moments of e^f for f ~ N(mean, var): E e^f and E e^2f.
function M.log_normal(mean, var) return (mean + var / 2):exp(), (2 * mean + 2 * var):exp() end

return M

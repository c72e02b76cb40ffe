--- Elementwise functions of networks, methods of tensors and functions of gb.nn. At a corner the derivative is the mean of both
-- sides, as everywhere here.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local subject <const> = require "gibbous.tensor.subject"

local M <const> = {}

local function number(v, default, name, what)
  if v == nil then return default end
  if type(v) ~= "number" or v - v ~= 0 then
    core.raise("option", ("%s: %s must be a finite number, got %s"):format(what, name, tostring(options.plain(v))))
  end
  return v
end

--- x where it is positive, slope x (0.01) elsewhere.
function M.leaky_relu(x, slope)
  local t <const> = subject.tensor(x, "leaky_relu")
  local s <const> = number(slope, 0.01, "the slope", "leaky_relu")
  if s == 0 then return core.maximum(t, 0) end                        -- 0 times infinity is NaN
  return s <= 1 and core.maximum(t, t * s) or core.minimum(t, t * s)
end

--- x where it is positive, alpha (e^x - 1) elsewhere; alpha = 1.
function M.elu(x, alpha)
  local t <const> = subject.tensor(x, "elu")
  return core.maximum(t, 0) + core.minimum(t, 0):expm1() * number(alpha, 1, "alpha", "elu")
end

--- elu with the scales that keep mean 0 and variance 1. Source: Klambauer et al. (2017), Self-normalizing neural networks.
function M.selu(x)
  local t <const> = subject.tensor(x, "selu")
  return (core.maximum(t, 0) + core.minimum(t, 0):expm1() * 1.6732632423543772) * 1.0507009873554805
end

--- x sigmoid(x)
function M.silu(x)
  local t <const> = subject.tensor(x, "silu")
  return t * t:sigmoid()
end

--- x Phi(x), Phi the normal distribution function; {approximate = "tanh"}: the formula with tanh.
-- Source: Hendrycks & Gimpel (2016), Gaussian error linear units.
function M.gelu(x, opts)
  local t <const> = subject.tensor(x, "gelu")
  local o <const> = options.parse(opts, {approximate = {"none", "tanh"}}, "gelu")
  if o.approximate ~= "tanh" then return t * t:ndtr() end
  return t * ((t + t * t * t * 0.044715) * math.sqrt(8 / math.pi)):sigmoid()         -- (1 + tanh u) / 2, without cancellation
end

--- x tanh(softplus(x))
function M.mish(x)
  local t <const> = subject.tensor(x, "mish")
  return t * t:softplus():tanh()
end

--- x / (1 + |x|)
function M.softsign(x)
  local t <const> = subject.tensor(x, "softsign")
  local below <const> = 1 / (t:abs() + 1)
  return core.with_slope(t * below, t, below * below)                 -- the rule of products would cancel where |x| is large
end

--- x between -1 and 1
function M.hard_tanh(x) return subject.tensor(x, "hard_tanh"):clamp(-1, 1) end

--- x / 6 + 1/2 between 0 and 1
function M.hard_sigmoid(x) return (subject.tensor(x, "hard_sigmoid") / 6 + 0.5):clamp(0, 1) end

--- x hard_sigmoid(x)
function M.hard_swish(x)
  local t <const> = subject.tensor(x, "hard_swish")
  return t * (t / 6 + 0.5):clamp(0, 1)
end

--- x between 0 and 6
function M.relu6(x) return subject.tensor(x, "relu6"):clamp(0, 6) end

return M

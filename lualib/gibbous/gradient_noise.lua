--- Noise of values and of partial derivatives. The last column of the inputs says what a row is about (kernels/gradients.lua). The
-- noise of derivatives is in units of y squared over those of x squared: one variance for all columns, or one a column.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.counted"
local param <const> = require "gibbous.param"
local tasks <const> = require "gibbous.kernels.tasks"

--- The positions (n) of rows x (n, d + 1) among (noise, derivatives).
local function kinds(x)
  local d <const> = x.shape[2]
  return tasks.positions(columns.take(x, {d}), d, "the noise of gradients")
end

--- The variances (n) of observations at x (n, d + 1).
local function variance(self, x)
  local d <const>, slopes <const> = x.shape[2] - 1, columns.like(self.gradient_noise.value, x)
  local all <const> = core.cat({columns.like(self.noise.value, x):reshape(1), slopes.ndim == 1 and slopes or slopes:expand(d)}, 1)
  return all:index(1, kinds(x))
end

--- Gives noise of derivatives that a fit may choose one variance for each of d columns. x: (n, d + 1).
local function resolve(self, x)
  local p <const>, d <const> = self.gradient_noise, x.shape[2] - 1
  if p.ndim == 0 and param.is_open(p) and d > 1 then
    local list <const> = {}
    for i = 1, d do list[i] = p.value:item() end
    rawget(self, "_fields").gradient_noise = param.set_open(param.like(p, list), true)
  elseif p.ndim == 1 and p.numel ~= d then
    core.raise("shape", ("gradient_noise has %s for %s"):format(counted(p.numel, "variance"), counted(d, "column")))
  end
end

--- The fields of a likelihood of these variances, gb.params of one number, and of one or (d).
return function(noise, gradient_noise)
  return {kind = "gradients", noise = noise, gradient_noise = gradient_noise, variance = variance, new_variance = variance,
    resolve = resolve}
end

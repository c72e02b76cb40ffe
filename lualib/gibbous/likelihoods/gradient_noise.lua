--- Noise of values and of partial derivatives. The last column of the inputs says what a row is about (kernels/gradients.lua). The
-- noise of derivatives is in units of y squared over those of x squared: one variance for all columns, or one a column.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local gradients <const> = require "gibbous.kernels.gradients"
local param <const> = require "gibbous.param"
local tasks <const> = require "gibbous.kernels.tasks"

--- The variances (n) of observations at x (n, d + 1).
local function variance(self, x)
  local noise <const>, slopes <const> = columns.like(self.noise.value, x), columns.like(self.gradient_noise.value, x)
  local list <const>, places <const> = gradients.groups(x)
  local cells <const> = {}
  for i, group in ipairs(list) do
    local v <const> = group.kind == 1 and noise or slopes.ndim == 0 and slopes or slopes:select(1, group.kind - 1)
    cells[i] = v:expand(#group.points)
  end
  return #cells > 0 and gradients.joined(cells, 1, places) or core.zeros(0, {dtype = x.dtype, device = x.device})
end

--- How many rows are derivatives.
local function derivatives(self)
  return math.tointeger(rawget(self, "_fields").kinds:gt(1):to{dtype = "f64"}:sum():item())
end

--- Gives its own floor to each noise that has one: floor(p, v) raises the bound of p for observations v, and gives it. y (n): those
-- of the rows that 'resolve' saw.
local function set_floor(self, y, floor)
  local function rows(of_values)
    local list <const> = {}
    for i, k in ipairs(rawget(self, "_fields").kinds:totable()) do
      if (k == 1) == of_values then list[#list + 1] = i end
    end
    return #list > 0 and y:index(1, core.tensor(list, {dtype = "i64"})) or nil
  end
  local values <const>, slopes <const> = rows(true), rows(false)
  local min <const> = values and floor(self.noise, values)
  if slopes then floor(self.gradient_noise, slopes) end
  return min
end

--- Keeps what rows x (n, d + 1) are about, and gives noise of derivatives that a fit may choose one variance for each of d columns.
local function resolve(self, x)
  local p <const>, d <const> = self.gradient_noise, x.shape[2] - 1
  rawget(self, "_fields").kinds = tasks.positions(x:slice(2, d + 1, d + 1), d + 1, "the noise of gradients")
  if p.ndim == 0 and param.is_open(p) and d > 1 then
    local list <const> = {}
    for i = 1, d do list[i] = p.value:item() end
    rawget(self, "_fields").gradient_noise = param.set_open(param.like(p, list), true)
  elseif p.ndim == 1 and p.numel ~= d then
    core.raise("shape", ("gradient_noise has %s for %s"):format(counted(p.numel, "variance"), counted(d, "column")))
  end
end

--- The fields of a likelihood of these variances, gb.params of one number, and of one or (d). floor: as of set_floor.
return function(noise, gradient_noise, floor)
  return {kind = "gradients", noise = noise, gradient_noise = gradient_noise, variance = variance, new_variance = variance,
    resolve = resolve, derivatives = derivatives, set_floor = function(self, y) return set_floor(self, y, floor) end}
end

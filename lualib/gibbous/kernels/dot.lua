--- Kernels of inner products x . z. A lengthscale divides the columns; 1 by default, a list or ard = true gives each column
-- its own (automatic relevance).
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local power <const> = require "gibbous.kernels.stationary".power

local M <const> = {}

--- x . z with columns divided by lengthscales.
local function product(self, x, z)
  local same <const> = rawequal(x, z)
  local l <const> = self.hyper.lengthscale and columns.each(self, "lengthscale", x)
  if l then
    x = x / l
    z = same and x or z / l
  end
  return x:matmul(z:t())
end

local function squared_norm(self, x)
  if self.hyper.lengthscale then x = x / columns.each(self, "lengthscale", x) end
  return (x * x):sum(2)
end

--- Lengthscales exist only where they are asked for: one common lengthscale says what the variance says.
local function weighted(self, o)
  if o.lengthscale or o.ard then return end
  self.hyper.lengthscale = nil
end

--- sum_k x_k z_k / lengthscale_k^2
M.linear = {
  hyper = {lengthscale = 1.0}, each = {lengthscale = true}, ard = {"lengthscale"}, setup = weighted,
  form = product,
  diag = squared_norm,
}

--- (x . z + offset)^degree
M.polynomial = {
  hyper = {lengthscale = 1.0, offset = 1.0}, each = {lengthscale = true}, ard = {"lengthscale"}, setup = weighted,
  choices = {{"degree", 2, function(v) return options.integral(v) and v >= 1, "a whole number, 1 or more" end}},
  form = function(self, x, z) return power(product(self, x, z) + columns.adopt(self.hyper.offset, x), self.degree) end,
  diag = function(self, x) return power(squared_norm(self, x) + columns.adopt(self.hyper.offset, x), self.degree) end,
}

--- Directions of (x, 1) in the metric diag(weight_variance, bias_variance), (n, d + 1), and squared norms (n, 1).
local function directions(self, x)
  local w <const> = columns.each(self, "weight_variance", x):sqrt()
  local b <const> = columns.adopt(self.hyper.bias_variance, x)
  local a <const> = x * w
  local norm <const> = (a * a):sum(2, {keepdim = true}) + b
  local root <const> = norm:sqrt()
  return core.cat({a / root, b:sqrt() / root}, 2), norm
end

--- -1 / (2 pi sin theta), 0 where theta is 0 or pi.
local function slope_of_angle(s)
  local w <const> = (s * (4 - s):relu()):sqrt()
  return (-1 / math.pi) / core.where(w:eq(0), math.huge, w)
end

--- J_n(theta) / pi for theta the angle between directions of squared distance s. With s = 4 sin^2(theta / 2) and
-- t = 4 cos^2(theta / 2) nothing is lost at small angles; the tiny number keeps the ratio finite at opposite directions.
-- From order 1 on the derivative in s is a multiple of the function of the next lower order.
local function angular(order, s)
  local t <const> = core.maximum(4 - s, 1e-30)
  local w <const> = (s * t):sqrt()                                             -- 2 sin(theta)
  local beyond <const> = 1 - (2 / math.pi) * (w / t):atan()                    -- (pi - theta) / pi
  if order == 0 then return core.with_slope(beyond, s, slope_of_angle(s)) end
  local sin <const>, cos <const> = w * (0.5 / math.pi), 1 - 0.5 * s
  if order == 1 then return core.with_slope(sin + beyond * cos, s, -0.5 * angular(0, s)) end
  return core.with_slope(3 * sin * cos + beyond * (1 + 2 * cos * cos), s, -2 * angular(1, s))
end

--- The covariance of an infinite network of activations max(0, a)^order, up to scale:
-- (|x| |z|)^order J_order(theta) / pi, with x . z = sum_k weight_variance_k x_k z_k + bias_variance.
-- Source: Cho & Saul (2009), equations 1 to 6.
M.arc_cosine = {
  hyper = {weight_variance = 1.0, bias_variance = 1.0}, each = {weight_variance = true}, ard = {"weight_variance"},
  choices = {{"order", 1, {0, 1, 2}}},
  rough = function(self) return self.order == 0 and "those of order 1 and more have one" or nil end,
  form = function(self, x, z)
    local u <const>, p <const> = directions(self, x)
    local v, q = u, p
    if not rawequal(x, z) then v, q = directions(self, z) end
    local shape <const> = angular(self.order, core.sqdist(u, v))
    if self.order == 0 then return shape end
    local a <const>, b <const> = power(p:sqrt(), self.order), power(q:sqrt(), self.order)
    return a * b:t() * shape
  end,
  diag = function(self, x)
    if self.order == 0 then return columns.one(x):expand(#x) end
    local _, norm <const> = directions(self, x)
    return (self.order == 2 and 3 or 1) * power(norm, self.order):squeeze(2)
  end,
}

return M

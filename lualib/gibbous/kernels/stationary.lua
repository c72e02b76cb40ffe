--- Kernels of differences x - z. Each is 1 at distance 0, times its variance. 'lengthscale' (units of x) is one number, or a
-- list with one per column (ARD).
-- Source: Rasmussen & Williams (2006), section 4.2; the formulas stand at the rows.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"

local M <const> = {}

--- (s, c) such that u = c s is the squared distance in lengthscales: ARD weights go into the distance, a single lengthscale
-- stays outside it, so that kernels of several lengthscales share their distance.
local function scaled_distance(self, x, z)
  local l <const> = columns.each(self, "lengthscale", x)
  if l.ndim == 0 then return core.sqdist(x, z), (l * l) ^ -1 end
  return core.sqdist(x, z, (l * l) ^ -1), columns.one(x)
end

local function radial(profile)
  return {
    hyper = {lengthscale = 1.0}, each = {lengthscale = true}, ard = {"lengthscale"}, scaled = true,
    form = function(self, x, z)
      local s <const>, c <const> = scaled_distance(self, x, z)
      local alpha <const> = self.hyper.alpha and columns.adopt(self.hyper.alpha, x) or nil
      return core.radial(profile, s, c, alpha)
    end,
  }
end

M.rbf = radial "rbf"                     -- exp(-r^2 / 2),  r = |x - z| / lengthscale
M.matern12 = radial "m12"                -- exp(-r)
M.matern12.rough = "gb.kernels.matern32 is the roughest Matern kernel whose functions have one"
M.matern32 = radial "m32"                -- (1 + sqrt(3) r) exp(-sqrt(3) r)
M.matern52 = radial "m52"                -- (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)
M.rational_quadratic = radial "rq"       -- (1 + r^2 / (2 alpha))^-alpha
M.rational_quadratic.hyper = {lengthscale = 1.0, alpha = 1.0}

--- x and z less one point of z: angles are products, and keep the digits of differences only if these come first. No
-- gradient is lost, since differences do not change; a point that is not finite stays alone with it.
function M.centred(x, z)
  if #z == 0 then return x, z end
  local c <const> = z:slice(1, 1, 1):detach()
  local at <const> = core.where(c:isfinite(), c, 0)
  local b <const> = z - at
  return rawequal(x, z) and b or x - at, b
end

--- Points on circles of radius 1: |(cos a, sin a) - (cos b, sin b)|^2 = 4 sin^2((a - b) / 2) = 2 - 2 cos(a - b), computed
-- from differences, hence exactly 0 at equal points.
function M.circle(angle) return core.cat({angle:cos(), angle:sin()}, 2) end

--- f of x and z, centred.
function M.waves(x, z, f)
  local p <const>, q <const> = M.centred(x, z)
  local a <const> = f(p)
  return a, rawequal(p, q) and a or f(q)
end

--- exp(-2 sum_k sin^2(pi (x_k - z_k) / period_k) / lengthscale_k^2). The lengthscale enters squared.
M.periodic = {
  hyper = {lengthscale = 1.0, period = 1.0}, each = {lengthscale = true, period = true}, ard = {"lengthscale"},
  form = function(self, x, z)
    local rate <const> = 2 * math.pi / columns.each(self, "period", x)
    local a <const>, b <const> = M.waves(x, z, function(t) return M.circle(t * rate) end)
    local l <const> = columns.each(self, "lengthscale", x)
    local w <const> = (l * l) ^ -1
    if l.ndim == 0 then return core.radial("rbf", core.sqdist(a, b), w) end
    return core.radial("rbf", core.sqdist(a, b, core.cat({w, w}, 1)), columns.one(x))
  end,
}

--- cos(2 pi sum_k (x_k - z_k) / period_k): of rank two in any number of columns.
M.cosine = {
  hyper = {period = 1.0}, each = {period = true}, ard = {"period"},
  form = function(self, x, z)
    local rate <const> = 2 * math.pi / columns.each(self, "period", x)
    local a <const>, b <const> = M.waves(x, z, function(t) return M.circle((t * rate):sum(2, {keepdim = true})) end)
    return 1 - core.sqdist(a, b) / 2
  end,
}

--- t^n by products; n >= 1.
function M.power(t, n)
  if n == 1 then return t end
  local half <const> = M.power(t, n // 2)
  return n % 2 == 0 and half * half or half * half * t
end

--- Factor polynomials in r of equation 4.21, lowest power first, with j = floor(d / 2) + degree + 1.
local factors <const> = {
  [0] = function() return {1} end,
  function(j) return {1, j + 1} end,
  function(j) return {1, j + 2, (j * j + 4 * j + 3) / 3} end,
  function(j) return {1, j + 3, (6 * j * j + 36 * j + 45) / 15, (j ^ 3 + 9 * j * j + 23 * j + 15) / 15} end,
}

local function polynomial(cells, r)
  local v = cells[#cells]
  for i = #cells - 1, 1, -1 do v = v * r + cells[i] end
  return v
end

--- The member of a degree at u, with r = min(1, sqrt(u)), whose powers stay finite, and tail = max(0, 1 - sqrt(u)). Its
-- derivative in u is a multiple of the next lower member of the same j, which has no pole at 0 but for degree 0.
-- Source: Wendland (2005), Scattered Data Approximation, lemma 9.8.
local function compact(u, r, tail, j, degree)
  local power <const> = M.power(tail, j + degree)
  if degree == 0 then return power end
  local rate <const> = (j + 2 * degree - 1) * (j + 2 * degree) / (2 - 4 * degree)
  return core.with_slope(power * polynomial(factors[degree](j), r), u, rate * compact(u, r, tail, j, degree - 1))
end

--- max(0, 1 - r)^(j + degree) times a polynomial in r: 0 from one lengthscale on, 2 degree times differentiable, positive
-- definite in the d columns it looks at (the exponent grows with d). Equation 4.21.
M.piecewise_polynomial = {
  hyper = {lengthscale = 1.0}, each = {lengthscale = true}, ard = {"lengthscale"}, scaled = true,
  choices = {{"degree", 2, {0, 1, 2, 3}}},
  rough = function(self) return self.degree == 0 and "those of degree 1 and more have one" or nil end,
  form = function(self, x, z)
    local s <const>, c <const> = scaled_distance(self, x, z)
    local u <const> = c * s
    local r <const> = u:sqrt()
    return compact(u, core.minimum(r, 1), (1 - r):relu(), x.shape[2] // 2 + self.degree + 1, self.degree)
  end,
}

return M

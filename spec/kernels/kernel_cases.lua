--- Every kernel of gb.kernels with settings and its textbook formula of two points, for kernels_spec: a kernel without a row
-- fails there. A row: kind; make() -> kernel; f(a, b, same) by the textbook, same = "a and b are one observation";
-- points, others: of its own; exact: k is its variance at distance 0, to the last bit; flat: its inputs are not
-- differentiable (or not looked at); deaf: NaN inputs change nothing.
local gb <const> = require "gibbous"
local K <const> = gb.kernels
local pi <const>, exp <const>, cos <const>, sin <const>, sqrt <const> = math.pi, math.exp, math.cos, math.sin, math.sqrt

local function each(v, k) return type(v) == "table" and v[k] or v end

local function squared(a, b, l)
  local s = 0.0
  for k = 1, #a do s = s + ((a[k] - b[k]) / each(l, k)) ^ 2 end
  return s
end

local function dot(a, b, w, bias)
  local s = bias or 0.0
  for k = 1, #a do s = s + each(w or 1, k) * a[k] * b[k] end
  return s
end

local function product_over(a, f)
  local p = 1.0
  for k = 1, #a do p = p * f(k) end
  return p
end

local function periodic(l, period)
  return function(a, b)
    local s = 0.0
    for k = 1, #a do s = s + (sin(pi * (a[k] - b[k]) / each(period, k)) / each(l, k)) ^ 2 end
    return exp(-2 * s)
  end
end

local function cosine(period)
  return function(a, b)
    local s = 0.0
    for k = 1, #a do s = s + (a[k] - b[k]) / each(period, k) end
    return cos(2 * pi * s)
  end
end

--- Equation 4.21 of Rasmussen & Williams, as printed.
local function piecewise(degree, l)
  return function(a, b)
    local r <const> = sqrt(squared(a, b, l))
    local j <const> = #a // 2 + degree + 1
    local base <const> = math.max(0, 1 - r)
    if degree == 0 then return base ^ j end
    if degree == 1 then return base ^ (j + 1) * ((j + 1) * r + 1) end
    if degree == 2 then return base ^ (j + 2) * ((j ^ 2 + 4 * j + 3) * r ^ 2 + (3 * j + 6) * r + 3) / 3 end
    return base ^ (j + 3) * ((j ^ 3 + 9 * j ^ 2 + 23 * j + 15) * r ^ 3 + (6 * j ^ 2 + 36 * j + 45) * r ^ 2
      + (15 * j + 45) * r + 15) / 15
  end
end

local function arc_cosine(order, w, bias)
  local J <const> = {
    [0] = function(t) return pi - t end,
    function(t) return sin(t) + (pi - t) * cos(t) end,
    function(t) return 3 * sin(t) * cos(t) + (pi - t) * (1 + 2 * cos(t) ^ 2) end,
  }
  return function(a, b)
    local p <const>, q <const> = sqrt(dot(a, a, w, bias)), sqrt(dot(b, b, w, bias))
    local c <const> = math.max(-1, math.min(1, dot(a, b, w, bias) / (p * q)))
    local same = true
    for k = 1, #a do same = same and a[k] == b[k] end
    return (p * q) ^ order * J[order](same and 0 or math.acos(c)) / pi
  end
end

local function spectral(weights, means, variances)
  return function(a, b)
    local s = 0.0
    for q, w in ipairs(weights) do
      s = s + w * product_over(a, function(k)
        local t <const> = a[k] - b[k]
        return exp(-2 * pi ^ 2 * t ^ 2 * each(variances[q], k)) * cos(2 * pi * t * each(means[q], k))
      end)
    end
    return s
  end
end

local function coregion(w, v)
  return function(a, b)
    local s = a[2] == b[2] and v[a[2]] or 0.0
    for r = 1, #w[1] do s = s + w[a[2]][r] * w[b[2]][r] end
    return s
  end
end

local function sigmoid(t) return 1 / (1 + exp(-t)) end

local function rbf(l, variance)
  return function(a, b) return (variance or 1) * exp(-squared(a, b, l) / 2) end
end

local tasks <const> = {
  points = {{0.1, 1}, {1.2, 3}, {-0.7, 2}, {0.4, 3}},
  others = {{0.5, 2}, {-1.0, 1}, {1.2, 3}},
}
local W <const>, V <const> = {{0.5, -0.2}, {1.1, 0.3}, {-0.4, 0.7}}, {0.3, 0.8, 1.2}

local rows <const> = {
  {"rbf", function() return K.rbf{lengthscale = 0.7, variance = 2} end, rbf(0.7, 2), exact = 2},
  {"rbf", function() return K.rbf{lengthscale = {0.7, 1.9}} end, rbf{0.7, 1.9}, exact = 1},
  {"matern12", function() return K.matern12{lengthscale = 0.7} end, function(a, b) return exp(-sqrt(squared(a, b, 0.7))) end,
    exact = 1},
  {"matern32", function() return K.matern32{lengthscale = 1.3, variance = 0.5} end, function(a, b)
    local r <const> = sqrt(3 * squared(a, b, 1.3))
    return 0.5 * (1 + r) * exp(-r)
  end, exact = 0.5},
  {"matern52", function() return K.matern52{lengthscale = {0.5, 1.3}} end, function(a, b)
    local s <const> = squared(a, b, {0.5, 1.3})
    local r <const> = sqrt(5 * s)
    return (1 + r + 5 * s / 3) * exp(-r)
  end, exact = 1},
  {"rational_quadratic", function() return K.rational_quadratic{lengthscale = 0.9, alpha = 1.7} end, function(a, b)
    return (1 + squared(a, b, 0.9) / (2 * 1.7)) ^ -1.7
  end, exact = 1},
  {"periodic", function() return K.periodic{lengthscale = 0.8, period = 1.5, variance = 3} end,
    function(a, b) return 3 * periodic(0.8, 1.5)(a, b) end, exact = 3},
  {"periodic", function() return K.periodic{lengthscale = {0.8, 1.4}, period = {1.5, 2.5}} end,
    periodic({0.8, 1.4}, {1.5, 2.5}), exact = 1},
  {"cosine", function() return K.cosine{period = 1.7, variance = 2} end, function(a, b) return 2 * cosine(1.7)(a, b) end,
    exact = 2},
  {"cosine", function() return K.cosine{period = {1.7, 3.1}} end, cosine{1.7, 3.1}, exact = 1},
  {"piecewise_polynomial", function() return K.piecewise_polynomial{degree = 0, lengthscale = 1.6} end, piecewise(0, 1.6),
    exact = 1},
  {"piecewise_polynomial", function() return K.piecewise_polynomial{degree = 1, lengthscale = {1.2, 2}} end,
    piecewise(1, {1.2, 2}), exact = 1},
  {"piecewise_polynomial", function() return K.piecewise_polynomial{lengthscale = 2.1, variance = 3} end,
    function(a, b) return 3 * piecewise(2, 2.1)(a, b) end, exact = 3},
  {"piecewise_polynomial", function() return K.piecewise_polynomial{degree = 3, lengthscale = 1.9} end, piecewise(3, 1.9),
    exact = 1},
  {"piecewise_polynomial", function() return K.piecewise_polynomial{degree = 2, lengthscale = 1.9, active_dims = {1}} end,
    function(a, b) return piecewise(2, 1.9)({a[1]}, {b[1]}) end, exact = 1},
  {"spectral_mixture", function()
    return K.spectral_mixture{weights = {0.7, 1.6}, means = {{0.3, 0.9}, {1.1, 0.2}}, variances = {{0.02, 0.1}, {0.3, 0.05}}}
  end, spectral({0.7, 1.6}, {{0.3, 0.9}, {1.1, 0.2}}, {{0.02, 0.1}, {0.3, 0.05}})},
  {"spectral_mixture", function()
    return K.spectral_mixture{weights = {0.7, 1.6}, means = {0.3, 1.1}, variances = {0.02, 0.3}, active_dims = {2}}
  end, function(a, b) return spectral({0.7, 1.6}, {0.3, 1.1}, {0.02, 0.3})({a[2]}, {b[2]}) end},
  {"linear", function() return K.linear{variance = 1.5} end, function(a, b) return 1.5 * dot(a, b) end},
  {"linear", function() return K.linear{lengthscale = {0.5, 2}} end, function(a, b) return dot(a, b, {4, 0.25}) end},
  {"polynomial", function() return K.polynomial{offset = 0.6, degree = 3} end,
    function(a, b) return dot(a, b, 1, 0.6) ^ 3 end},
  {"polynomial", function() return K.polynomial{offset = 0.6, lengthscale = {0.5, 2}} end,
    function(a, b) return dot(a, b, {4, 0.25}, 0.6) ^ 2 end},
  {"arc_cosine", function() return K.arc_cosine{order = 0, weight_variance = {0.5, 2}, bias_variance = 0.3} end,
    arc_cosine(0, {0.5, 2}, 0.3), exact = 1},
  {"arc_cosine", function() return K.arc_cosine{weight_variance = 0.7, bias_variance = 0.4, variance = 2} end,
    function(a, b) return 2 * arc_cosine(1, 0.7, 0.4)(a, b) end},
  {"arc_cosine", function() return K.arc_cosine{order = 2, bias_variance = 0.4} end, arc_cosine(2, 1, 0.4)},
  {"constant", function() return K.constant{variance = 4} end, function() return 4 end, flat = true, deaf = true, exact = 4},
  {"white", function() return K.white{variance = 0.3} end, function(_, _, same) return same and 0.3 or 0 end, flat = true,
    deaf = true, exact = 0.3},
  {"index", function() return K.index{tasks = 3, rank = 2, weights = W, diagonal = V} end, coregion(W, V), flat = true,
    points = tasks.points, others = tasks.others},
  {"index", function() return K.index{tasks = 3, rank = 0, diagonal = V} end, coregion({{0}, {0}, {0}}, V), flat = true,
    points = tasks.points, others = tasks.others},
  {"index", function() return 2 * K.rbf{lengthscale = 0.7} * K.index{tasks = 3, rank = 2, weights = W, diagonal = V} end,
    function(a, b) return 2 * rbf(0.7)({a[1]}, {b[1]}) * coregion(W, V)(a, b) end, flat = true,
    points = tasks.points, others = tasks.others},
  {"change_point", function()
    return K.change_point(K.rbf{lengthscale = 0.7}, K.linear{variance = 2} + K.constant{}, {location = 0.3, steepness = 2})
  end, function(a, b)
    local s <const>, t <const> = sigmoid(2 * (a[1] - 0.3)), sigmoid(2 * (b[1] - 0.3))
    return (1 - s) * (1 - t) * rbf(0.7)(a, b) + s * t * (2 * dot(a, b) + 1)
  end},
  {"change_point", function()
    return K.change_point({K.rbf{}, K.rbf{lengthscale = 0.4}, K.constant{variance = 3}},
      {location = {-0.5, 0.4}, steepness = {3, 5}, column = 2})
  end, function(a, b)
    local function w(p)
      local s <const>, t <const> = sigmoid(3 * (p[2] + 0.5)), sigmoid(5 * (p[2] - 0.4))
      return 1 - s, s * (1 - t), t
    end
    local a1 <const>, a2 <const>, a3 <const> = w(a)
    local b1 <const>, b2 <const>, b3 <const> = w(b)
    return a1 * b1 * rbf(1)(a, b) + a2 * b2 * rbf(0.4)(a, b) + 3 * a3 * b3
  end},
}

-- The other fields of gb.kernels.
local helpers <const> = {define = true, is = true, points = true, resolve_ard = true}

return {rows = rows, helpers = helpers}

--- Rows of kernels and of squared distances.
local dense <const> = require "spec.fuzz.dense"
local dot <const> = require "spec.fuzz.sums".dot
local scalar <const> = require "spec.fuzz.scalar"

local rows <const> = {}
local function row(name, ops, weight, public, make)
  rows[#rows + 1] = {name = name, ops = ops, public = public, weight = weight, smooth = true, make = make}
end

local function number_text(v) return require "spec.fuzz.generate".number_text(v) end

--- u = |x - z|^2 / lengthscale^2
-- Derivatives are as exact as sums over both points make them: to a share of the points' own, not of the differences.
local function squared(S, a, b, l)
  local terms <const> = {}
  for k = 1, #a do
    local d <const> = S.div(S.sub(a[k], b[k]), S.lift(l))
    terms[k] = S.mul(d, d)
    if S.level > 0 then
      local p <const>, q <const> = S.div(a[k], S.lift(l)), S.div(b[k], S.lift(l))
      local cross <const> = S.rough_mul(S.lift(-2.0), S.rough_mul(p, q))
      terms[k] = scalar.with_value(S, S.rough_add(S.rough_add(S.rough_mul(p, p), S.rough_mul(q, q)), cross), S.val(terms[k]))
    end
  end
  return S.sum(terms)
end

local function over_distance(f) return function(S, a, b, o) return f(S, squared(S, a, b, o.lengthscale), o) end end

--- max(0, 1 - r)^(j + degree) times its polynomial, by Horner.
local function compact(S, a, b, o)
  local u <const> = squared(S, a, b, o.lengthscale)
  local q <const>, j <const> = o.degree, #a // 2 + o.degree + 1
  if S.val(u) >= 1 then return S.lift(0.0) end
  if S.level > 0 and S.val(u) == 0 then
    if q == 0 or S.level > 1 then scalar.state.undefined = true end
    return S.lift(1.0)
  end
  local r <const> = S.fn("sqrt", u)
  local factors <const> = ({[0] = {1}, {1, j + 1}, {1, j + 2, (j * j + 4 * j + 3) / 3},
    {1, j + 3, (6 * j * j + 36 * j + 45) / 15, (j ^ 3 + 9 * j * j + 23 * j + 15) / 15}})[q]
  local poly = S.lift(0.0)
  for i = #factors, 1, -1 do poly = S.add(S.mul(poly, r), S.lift(factors[i] + 0.0)) end
  return S.mul(S.pow(S.sub(S.lift(1.0), r), S.lift(j + q + 0.0)), poly)
end

--- 4 sin^2(rate (a - b) / 2), the squared distance of two points on a circle.
local function chord(S, a, b, rate)
  local s <const> = S.fn("sin", S.mul(S.sub(a, b), S.lift(rate / 2)))
  local value <const> = S.mul(S.lift(4.0), S.mul(s, s))
  if S.level == 0 then return value end
  local p <const>, q <const> = S.mul(a, S.lift(rate)), S.mul(b, S.lift(rate))
  local points <const> = {{S.fn("cos", p), S.fn("sin", p)}, {S.fn("cos", q), S.fn("sin", q)}}
  return scalar.with_value(S, squared(S, points[1], points[2], 1.0), S.val(value))
end

local function inner(S, a, b, o)
  local l <const> = (o.lengthscale or 1) ^ -2
  return S.mul(dot(S, a, b), S.lift(l))
end

local kernels <const> = {
  {"rbf", {"lengthscale"}, over_distance(function(S, u) return S.fn("exp", S.mul(S.lift(-0.5), u)) end)},
  {"matern12", {"lengthscale"}, over_distance(function(S, u) return S.fn("decay", u) end)},
  {"matern32", {"lengthscale"}, over_distance(function(S, u) return S.fn("decay_1", S.mul(S.lift(3.0), u)) end)},
  {"matern52", {"lengthscale"}, over_distance(function(S, u) return S.fn("decay_2", S.mul(S.lift(5.0), u)) end)},
  {"rational_quadratic", {"lengthscale", "alpha"}, over_distance(function(S, u, o)
    return S.pow(S.add(S.lift(1.0), S.mul(u, S.lift(0.5 / o.alpha))), S.lift(-o.alpha))
  end)},
  {"periodic", {"lengthscale", "period"}, function(S, a, b, o)
    local terms <const> = {}
    for k = 1, #a do terms[k] = chord(S, a[k], b[k], 2 * math.pi / o.period) end
    return S.fn("exp", S.mul(S.sum(terms), S.lift(-0.5 / o.lengthscale ^ 2)))
  end},
  {"cosine", {"period"}, function(S, a, b, o)
    return S.sub(S.lift(1.0), S.mul(S.lift(0.5), chord(S, S.sum(a), S.sum(b), 2 * math.pi / o.period)))
  end},
  {"linear", {}, inner},
  {"linear", {"lengthscale"}, inner},
  {"polynomial", {"offset", "degree"}, function(S, a, b, o)
    return S.pow(S.add(dot(S, a, b), S.lift(o.offset)), S.lift(o.degree + 0.0))
  end},
  {"piecewise_polynomial", {"lengthscale", "degree"}, compact},
  {"constant", {}, function(S) return S.lift(1.0) end},
}

row("gb.kernels", {"sqdist", "radial", "diffmv"}, 7, {"gb.kernels.rbf", "gb.kernels.matern12", "gb.kernels.matern32",
  "gb.kernels.matern52", "gb.kernels.rational_quadratic", "gb.kernels.periodic", "gb.kernels.cosine", "gb.kernels.linear",
  "gb.kernels.polynomial",
  "gb.kernels.piecewise_polynomial", "gb.kernels.constant", "gb.kernels.white"}, function(g)
  local function points(v)
    return #v.shape == 2 and v.shape[1] > 0 and v.shape[2] > 0 and v.shape[2] <= 6 and v.finite and v.most < 20
      and (v.dtype == "f64" or v.dtype == "f32")
  end
  local x <const> = g:float(points)
  if not x then return nil end
  local k <const> = g:choose(kernels)
  local values <const> = {lengthscale = g:choose{1.0, 0.5, 2.0, 1.5}, alpha = g:choose{1.0, 2.5}, period = g:choose{3.0, 1.5},
    offset = 1.0, degree = k[1] == "polynomial" and 1 + g:draw(3) or k[1] == "piecewise_polynomial" and g:draw(4),
    variance = g:choose{1.0, 2.0}}
  local options <const> = {"variance = " .. number_text(values.variance)}
  local lengthscale = false
  for _, name in ipairs(k[2]) do
    options[#options + 1] = name .. " = " .. number_text(values[name])
    lengthscale = lengthscale or name == "lengthscale"
  end
  local own <const> = setmetatable({lengthscale = lengthscale and values.lengthscale or 1.0}, {__index = values})
  local z <const> = not g:chance(2) and x or g:float(function(v)
    return points(v) and v.dtype == x.dtype and v.shape[2] == x.shape[2]
  end) or x
  local noise <const> = z == x and g:chance(5) and 0.25 or nil
  local kernel <const> = ("gb.kernels.%s{%s}%s"):format(k[1], table.concat(options, ", "),
    noise and " + gb.kernels.white{variance = 0.25}" or "")
  local text <const> = ("(%s)(%%1%s)"):format(kernel, z ~= x and ", %2" or "")
  local shape <const> = {x.shape[1], z.shape[1]}
  return g:emit(text, {x, z ~= x and z or nil}, shape, x.dtype, function(S, a, b)
    local p <const> = dense.matrices(a)[1]
    local q <const>, out <const> = b and dense.matrices(b)[1] or p, {}
    for i = 1, #p do
      for j = 1, #q do
        local e = S.mul(S.lift(values.variance), k[3](S, p[i], q[j], own))
        if noise and i == j then e = S.add(e, S.lift(noise)) end
        out[#out + 1] = e
      end
    end
    return dense.new(shape, x.dtype, out)
  end)
end)

-- Squared distances as scripts write them, for the planner to recognise.
row("squared distances", {"sqdist", "diffmv"}, 3, {}, function(g)
  local x <const> = g:float(function(v)
    return #v.shape == 2 and v.most < 100 and v.finite and v.dtype ~= "f16" and v.dtype ~= "bf16"
  end)
  if not x then return nil end
  local how <const> = g:draw(3)
  local text <const> = ({"((%1:unsqueeze(2) - %1:unsqueeze(1)) ^ 2):sum(-1)",
    "((%1 * %1):sum(2):unsqueeze(2) + (%1 * %1):sum(2):unsqueeze(1) - 2 * %1:matmul(%1:t()))",
    "core.sqdist(%1, %1)"})[how + 1]
  return g:emit(text, {x}, {x.shape[1], x.shape[1]}, x.dtype, function(S, a)
    local p <const>, out <const> = dense.matrices(a)[1] or {}, {}
    for i = 1, x.shape[1] do
      for j = 1, x.shape[1] do
        local d <const> = x.shape[2] > 0 and squared(S, p[i], p[j], 1.0) or S.lift(0.0)
        out[#out + 1] = how == 1 and S.level == 0 and scalar.blur(d, x.most * x.most * x.shape[2]) or d
      end
    end
    return dense.new({x.shape[1], x.shape[1]}, x.dtype, out)
  end)
end)

return rows

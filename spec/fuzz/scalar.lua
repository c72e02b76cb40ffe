--- Scalars of the evaluator: Lua numbers that know how far rounding may take them, and dual numbers over any scalars.
--
-- An algebra is a table of functions: add, sub, mul, div, neg, pow, fn(name, x), less(a, b), val(x), lift(number).
-- S.level is 0 for numbers, 1 for dual numbers (value and derivative along one direction), 2 for dual numbers of dual
-- numbers (second derivatives). All derivatives are exact: no differences are taken.
--
-- Every program is evaluated several times, each time with another pattern of rounding errors: an operation whose result
-- may be inexact in its dtype is moved by up to 'amp' of itself. Where the samples agree a result is determined to that
-- precision, and Gibbous must give it; where they do not, it is not determined (a comparison of values that are equal up
-- to rounding, a difference that cancels), and nothing is asked. Numbers "on the grid", few binary digits on both sides of
-- the point, are exact in any order of evaluation, and stay as they are: so ties, zeros and signs of such numbers are
-- determined. An error pattern is a function of the result it moves: equal computations give equal numbers.
local M <const> = {}

local abs <const>, floor <const>, log <const>, exp <const>, sqrt <const> = math.abs, math.floor, math.log, math.exp, math.sqrt
local huge <const> = math.huge
local nan <const> = 0.0 / 0.0

-- Precision ------------------------------------------------------------------------------------------------------------

-- amp: relative size of errors; 2^-point and 2^digits bound the grid; beyond big, and below tiny, a dtype may lose a number.
local precisions <const> = {
  f64 = {amp = 0x1p-44, point = 20, digits = 32, big = 1e300, tiny = 1e-300},
  f32 = {amp = 0x1p-19, point = 10, digits = 13, big = 1e37, tiny = 1e-36},
  f16 = {amp = 0x1p-8, point = 3, digits = 7, big = 3e4, tiny = 1e-4},
  bf16 = {amp = 0x1p-5, point = 2, digits = 5, big = 1e37, tiny = 1e-36},
}

local amp, scale, limit, big, tiny
local seed = 0                 -- 0: no errors
-- signed: a number was divided by 0; undefined: a second derivative was asked for that does not exist.
local state <const> = {signed = false, undefined = false}
M.state = state

--- The dtype whose precision operations have from here on.
function M.use(dtype)
  local p <const> = precisions[dtype]
  if p then
    amp, scale, limit, big, tiny = p.amp, 2.0 ^ p.point, 2.0 ^ (p.digits + p.point), p.big, p.tiny
  end
end
M.use "f64"

function M.amplitude(dtype) return precisions[dtype].amp end
function M.smallest(dtype) return precisions[dtype].tiny end

--- Do products of some of these numbers leave the dtype, whatever the product of all is?
function M.passes_bounds(list)
  local above, below = 0.0, 0.0
  for _, x in ipairs(list) do
    local size <const> = x ~= 0 and log(abs(x)) or 0.0
    above, below = above + math.max(size, 0), below + math.min(size, 0)
  end
  return above > log(big) or below < log(tiny)
end

local function on_grid(x)
  local t <const> = x * scale
  return t % 1 == 0 and t < limit and t > -limit
end
M.on_grid = on_grid

-- In (-1, 1), a function of x and the sample.
local function pattern(x)
  local t = log(abs(x)) * 7919.17
  t = t - floor(t) + seed * 0.6180339887
  t = t * (t + 3.7) * 97.13
  return 2 * (t - floor(t)) - 1
end

--- A truth that nothing determines.
local tosses = 0
local function toss()
  tosses = tosses + 1
  return seed == 0 or pattern(tosses + 0.5) > 0
end
M.toss = toss

--- Starts sample k of a program; sample 0 has no errors.
function M.sample(k)
  seed, tosses = k, 0
  state.signed, state.undefined = false, false
end

--- r, moved by up to amp * size; to a number of the grid that is so near, in some samples (1 + 1e-12 may be 1).
local function blur(r, size)
  if seed == 0 or r - r ~= 0 then return r end
  local key <const> = r ~= 0 and r or size
  if key == 0 then return r end
  if abs(r) > big then return seed % 2 == 0 and r or r * huge end
  local whole <const> = floor(r * scale + 0.5) / scale
  if abs(whole - r) <= amp * size and abs(whole) * scale < limit and pattern(1.5 * key) < -0.25 then return whole end
  local moved <const> = r + amp * size * pattern(key)
  if r == 0 or abs(r) >= tiny then return moved end
  return pattern(key) < 0 and 0.0 or moved + tiny * pattern(key) * 0x1p-10         -- it may become 0
end
M.blur = blur

-- Numbers ---------------------------------------------------------------------------------------------------------------

local N <const> = {level = 0}
M.number = N

function N.val(x) return x end
function N.lift(x) return x end
function N.is_zero(x) return x == 0 end

function N.add(a, b)
  local r <const> = a + b
  if seed == 0 or on_grid(r) and on_grid(a) and on_grid(b) then return r end
  return blur(r, abs(a) + abs(b))
end

function N.sub(a, b) return N.add(a, -b) end
function N.neg(a) return -a end

function N.mul(a, b)
  local r <const> = a * b
  if seed == 0 or a == 0 or b == 0 or on_grid(r) and on_grid(a) and on_grid(b) then return r end
  return blur(r, abs(r))
end

function N.div(a, b)
  local r <const> = a / b
  if b == 0 then state.signed = true end                     -- by the sign of a zero, which is not determined
  if seed == 0 or a == 0 or on_grid(r) and on_grid(a) and on_grid(b) then return r end
  return blur(r, abs(r))
end

-- The same for parts of derivatives, which are exact nowhere: the formulas by which Gibbous computes them are its own.
function N.rough_add(a, b)
  local r <const> = a + b
  if seed == 0 or a == 0 and b == 0 then return r end
  return blur(r, abs(a) + abs(b))
end

function N.rough_mul(a, b)
  local r <const> = a * b
  if seed == 0 or r == 0 then return r end
  return blur(r, abs(r))
end

function N.rough_div(a, b)
  local r <const> = a / b
  if seed == 0 or r == 0 then return r end
  return blur(r, abs(r))
end

--- Are a and b equal up to rounding?
local function close(a, b) return abs(a - b) <= 64 * amp * (abs(a) + abs(b)) end
M.close = close

--- The same, and not exact?
local function near(a, b)
  if on_grid(a) and on_grid(b) or a - a ~= 0 or b - b ~= 0 then return false end
  return close(a, b)
end

--- a < b, where it is determined.
function N.less(a, b)
  if seed ~= 0 and near(a, b) then return toss() end
  return a < b
end

--- a = b, where it is determined.
function N.equal(a, b)
  if seed ~= 0 and near(a, b) then return toss() end
  return a == b
end

--- a + sum of the list, compensated; what is left over is within amp of the sum of sizes.
function N.sum(list)
  local s, c, size, exact = 0.0, 0.0, 0.0, true
  for i = 1, #list do
    local x <const> = list[i]
    local t <const> = s + x
    c = c + (abs(s) >= abs(x) and (s - t) + x or (x - t) + s)
    s = t
    size = size + abs(x)
    exact = exact and on_grid(x)
  end
  if s - s ~= 0 then return s end
  if exact and size * scale < limit then return s + c end
  return blur(s + c, size)
end

-- Elementary functions --------------------------------------------------------------------------------------------------

local function expm1(x)
  if x ~= x or x == huge then return x end
  local u <const> = exp(x)
  if u == 1 then return x end
  if u - 1 == -1 then return -1.0 end
  if u == huge then return u end
  return (u - 1) * x / log(u)
end

local function log1p(x)
  local u <const> = 1 + x
  if u == 1 or x == huge then return x end
  return log(u) * x / (u - 1)
end

local function tanh(x)
  if x ~= x or x == 0 then return x end
  if abs(x) > 30 then return x > 0 and 1.0 or -1.0 end
  local t <const> = expm1(2 * abs(x))
  return (x > 0 and 1 or -1) * t / (t + 2)
end

local root_pi <const> = sqrt(math.pi)

-- erfc(x) exp(x^2) for x >= 1: Laplace's continued fraction.
local function erfc_scaled(x)
  local t = x
  for k = 250, 1, -1 do t = x + 0.5 * k / t end
  return 1 / (root_pi * t)
end

local function erf_series(x)
  local term, s, k = x, x, 0
  repeat
    k = k + 1
    term = term * 2 * x * x / (2 * k + 1)
    s = s + term
  until abs(term) <= 1e-18 * abs(s)
  return 2 / root_pi * exp(-x * x) * s
end

local function erfc(x)
  if x >= 1 then return x > 1e3 and 0.0 or exp(-x * x) * erfc_scaled(x) end
  if x > -1 then return 1 - erf_series(x) end
  return x < -30 and 2.0 or 2 - exp(-x * x) * erfc_scaled(-x)
end

local function erf(x)
  if x ~= x then return x end
  if abs(x) < 1 then return x == 0 and x or erf_series(x) end
  return x > 0 and 1 - erfc(x) or erfc(-x) - 1
end

local function ndtr(x) return x ~= x and x or 0.5 * erfc(-x * sqrt(0.5)) end

local function log_ndtr(x)
  if x ~= x then return x end
  if x == -huge then return x end
  if x > 0 then return log1p(-ndtr(-x)) end
  if x > -2 then return log(ndtr(x)) end
  return log(0.5 * erfc_scaled(-x * sqrt(0.5))) - 0.5 * x * x
end

-- Sums from x to 15 and more, and Stirling's series there.
local stirling <const> = {1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156}

local function lgamma(x)
  if x ~= x then return x end
  if x == 1 or x == 2 then return 0.0 end
  if abs(x) == huge then return huge end
  if x <= 0 then
    if x == floor(x) then return huge end
    if x > -1e-10 then return -log(-x) end
    return log(math.pi / abs(math.sin(math.pi * (x - floor(x + 0.5))))) - lgamma(1 - x)
  end
  local product, below = 1.0, 0.0
  while x < 15 do
    product = product * x
    x = x + 1
    if product > 1e200 then product, below = 1.0, below + log(product) end
  end
  local s, z = 0.0, 1 / x
  for _, c in ipairs(stirling) do s, z = s + c * z, z / (x * x) end
  return (x - 0.5) * log(x) - x + 0.5 * log(2 * math.pi) + s - below - log(product)
end

-- Bernoulli numbers B_2, B_4, ...
local bernoulli <const> = {1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510}

local function digamma(x)
  if x <= 0 then
    if x == 0 then
      state.signed = true                                    -- a pole: its sign is that of the zero
      return -1 / x
    end
    if x == floor(x) then return nan end
    return digamma(1 - x) - math.pi / math.tan(math.pi * (x - floor(x + 0.5)))
  end
  if x ~= x or x == huge then return x end
  local s = 0.0
  while x < 16 do s, x = s - 1 / x, x + 1 end
  local z = 1 / (x * x)
  s = s + log(x) - 0.5 / x
  local power = z
  for k, b in ipairs(bernoulli) do s, power = s - b / (2 * k) * power, power * z end
  return s
end

local function trigamma(x)
  if x ~= x then return x end
  if x == huge then return 0.0 end
  if x <= 0 then
    if x == floor(x) then return x == -huge and nan or huge end
    return (math.pi / math.sin(math.pi * (x - floor(x + 0.5)))) ^ 2 - trigamma(1 - x)
  end
  local s = 0.0
  while x < 16 do s, x = s + 1 / (x * x), x + 1 end
  local z <const> = 1 / (x * x)
  s = s + 1 / x + 0.5 * z
  local power = z / x
  for _, b in ipairs(bernoulli) do s, power = s + b * power, power * z end
  return s
end

local function tetragamma(x)
  if x ~= x then return x end
  if x == huge then return 0.0 end
  if x <= 0 then
    if x == floor(x) then return nan end
    local at <const> = math.pi * (x - floor(x + 0.5))
    return tetragamma(1 - x) - 2 * math.pi ^ 3 * math.cos(at) / math.sin(at) ^ 3
  end
  local s = 0.0
  while x < 16 do s, x = s - 2 / (x * x * x), x + 1 end
  local z <const> = 1 / (x * x)
  s = s - z - z / x
  local power = z * z
  for k, b in ipairs(bernoulli) do s, power = s - (2 * k + 1) * b * power, power * z end
  return s
end

local function round(x)
  if x - x ~= 0 or abs(x) >= 0x1p52 then return x end
  local r = floor(x + 0.5) + 0.0
  if r - x == 0.5 and r % 2 == 1 then r = r - 1 end
  return r
end

local function whole(f) return function(x) return x - x ~= 0 and x or f(x) + 0.0 end end

local function sign(x) return x > 0 and 1.0 or x < 0 and -1.0 or x == 0 and 0.0 or x end
local function lift_of(S, x) return S.lift(x) end

local root_2_pi <const> = sqrt(2 * math.pi)
local function zero_slope(S) return S.lift(0.0) end

-- exp(-scale x^2) * factor
local function bell(S, x, factor, scale_)
  return S.mul(S.lift(factor), S.fn("exp", S.mul(S.lift(-scale_), S.mul(x, x))))
end

local function one_minus(S, x) return S.rough_add(S.lift(1.0), S.neg(x)) end
local function one_minus_square(S, x) return one_minus(S, S.mul(x, x)) end

--- f: the number; d(S, x): its derivative in the algebra S. size: what errors of the result are relative to, where that is not
--- the result itself. jumps: piecewise constant.
M.functions = {
  neg = {f = function(x) return -x end, d = function(S) return S.lift(-1.0) end, exact = true},
  abs = {f = abs, d = function(S, x)
    if S.level > 0 and S.val(x) == 0 then state.undefined = true end
    return S.lift(sign(S.val(x)))
  end, exact = true},
  sign = {f = sign, d = zero_slope, jumps = true},
  floor = {f = whole(floor), d = zero_slope, jumps = true},
  ceil = {f = whole(math.ceil), d = zero_slope, jumps = true},
  round = {f = round, d = zero_slope, jumps = true},
  relu = {f = function(x) return x <= 0 and 0.0 or x end, d = function(S, x) return S.lift(S.val(x) > 0 and 1.0 or 0.0) end,
    exact = true},
  detach = {f = function(x) return x end, d = zero_slope, exact = true},
  sqrt = {f = sqrt, d = function(S, x)
    if S.val(x) == 0 then
      if S.level > 0 then state.undefined = true end
      return S.lift(0.0)
    end
    return S.div(S.lift(0.5), S.fn("sqrt", x))
  end},
  rsqrt = {f = function(x) return 1 / sqrt(x) end, d = function(S, x)
    return S.div(S.lift(-0.5), S.mul(x, S.fn("sqrt", x)))
  end},
  exp = {f = exp, d = function(S, x) return S.fn("exp", x) end, size = function(x, r) return r * (1 + abs(x) / 8) end},
  expm1 = {f = expm1, d = function(S, x) return S.fn("exp", x) end, size = function(x, r) return abs(r) * (1 + abs(x) / 8) end},
  log = {f = log, d = function(S, x) return S.div(S.lift(1.0), x) end},
  log1p = {f = log1p, d = function(S, x) return S.div(S.lift(1.0), S.add(x, S.lift(1.0))) end},
  sin = {f = math.sin, d = function(S, x) return S.fn("cos", x) end, size = function(x, r) return abs(r) + abs(x) / 8 end},
  cos = {f = math.cos, d = function(S, x) return S.neg(S.fn("sin", x)) end, size = function(x, r) return abs(r) + abs(x) / 8 end},
  tan = {f = math.tan, d = function(S, x)
    local t <const> = S.fn("tan", x)
    return S.add(S.lift(1.0), S.mul(t, t))
  end, size = function(x, r) return (1 + abs(x)) * (1 + r * r) end},
  asin = {f = math.asin, d = function(S, x) return S.fn("rsqrt", one_minus_square(S, x)) end},
  acos = {f = math.acos, d = function(S, x) return S.neg(S.fn("rsqrt", one_minus_square(S, x))) end,
    size = function() return 1 end},
  atan = {f = math.atan, d = function(S, x) return S.div(S.lift(1.0), S.add(S.lift(1.0), S.mul(x, x))) end},
  tanh = {f = tanh, d = function(S, x) return one_minus_square(S, S.fn("tanh", x)) end},
  sigmoid = {f = function(x) return 1 / (1 + exp(-x)) end, d = function(S, x)
    local y <const> = S.fn("sigmoid", x)
    return S.mul(y, one_minus(S, y))                  -- to that precision only, as the house has it
  end, size = function(x, r) return r * (1 + abs(x) / 8) end},
  softplus = {f = function(x) return x ~= x and x or (x > 0 and x or 0.0) + log1p(exp(-abs(x))) end,
    d = function(S, x) return S.fn("sigmoid", x) end, size = function(x, r) return r * (1 + abs(x) / 8) end},
  erf = {f = erf, d = function(S, x) return bell(S, x, 2 / root_pi, 1.0) end},
  ndtr = {f = ndtr, d = function(S, x) return bell(S, x, 1 / root_2_pi, 0.5) end,
    size = function(x, r) return r * (1 + x * x / 4) end},
  log_ndtr = {f = log_ndtr, d = function(S, x)
    return S.div(bell(S, x, 1 / root_2_pi, 0.5), S.fn("ndtr", x))
  end, size = function(x, r) return x > 0 and abs(r) * (1 + x * x / 4) or abs(r) end},
  lgamma = {f = lgamma, d = function(S, x) return S.fn("digamma", x) end, size = function(x, r) return 1 + abs(r) + abs(x) end},
  digamma = {f = digamma, d = function(S, x) return S.fn("trigamma", x) end, size = function(_, r) return 1 + abs(r) end},
  trigamma = {f = trigamma, d = function(S, x) return S.fn("tetragamma", x) end,
    size = function(x, r) return abs(r) * (1 + abs(x)) end},
  tetragamma = {f = tetragamma, d = function(S)           -- programs are derived twice
    state.undefined = true
    return S.lift(0.0)
  end, size = function(x, r) return abs(r) * (1 + abs(x)) end},
  -- exp(-sqrt(k u)) and its companions: profiles of the Matern kernels in squared distances
  decay = {f = function(u) return exp(-sqrt(u)) end, d = function(S, u)
    if S.val(u) == 0 then
      if S.level > 0 then state.undefined = true end
      return S.lift(0.0)
    end
    return S.div(S.mul(S.lift(-0.5), S.fn("decay", u)), S.fn("sqrt", u))
  end, size = function(u, r) return r * (1 + sqrt(u) / 8) end},
  decay_1 = {f = function(u) return (1 + sqrt(u)) * exp(-sqrt(u)) end,
    d = function(S, u) return S.mul(S.lift(-0.5), S.fn("decay", u)) end, size = function(u, r) return r * (1 + sqrt(u) / 8) end},
  decay_2 = {f = function(u) return (1 + sqrt(u) + u / 3) * exp(-sqrt(u)) end,
    d = function(S, u) return S.mul(S.lift(-1 / 6), S.fn("decay_1", u)) end,
    size = function(u, r) return r * (1 + sqrt(u) / 8) end},
}
M.lift_of = lift_of

local has_poles <const> = {lgamma = true, digamma = true, trigamma = true, tetragamma = true}        -- at 0, -1, -2, ...

function N.fn(name, x)
  local row <const> = M.functions[name]
  if has_poles[name] and x < 0 and seed ~= 0 and near(x, round(x)) and toss() then x = round(x) end
  local r <const> = row.f(x)
  if x == 0 and r - r ~= 0 and r == r and name == "rsqrt" then state.signed = true end
  if seed == 0 or row.exact or row.jumps or r - r ~= 0 then return r end
  if on_grid(x) and on_grid(r) then return r end
  return blur(r, row.size and row.size(x, r) or abs(r))
end

-- C's pow, but for the noise.
function N.pow(a, b)
  local r <const> = a ^ b
  if a == 0 and b < 0 then state.signed = true end
  if seed == 0 or r - r ~= 0 or r == 0 or on_grid(a) and on_grid(b) and on_grid(r) then return r end
  return blur(r, abs(r) * (1 + abs(b) * (1 + (a > 0 and abs(log(a)) or 0)) / 8))
end

-- Dual numbers: {v, d}, the value and its derivative, both of the algebra below ---------------------------------------------

--- The algebra of dual numbers over the algebra S.
function M.dual(S)
  local D <const> = {level = S.level + 1}
  local rough_add <const>, rough_mul <const>, rough_div <const> = S.rough_add, S.rough_mul, S.rough_div
  local zero <const> = S.lift(0.0)

  function D.val(x) return S.val(x[1]) end
  function D.lift(x) return {S.lift(x), zero} end
  function D.is_zero(x) return S.is_zero(x[1]) and S.is_zero(x[2]) end
  function D.neg(a) return {S.neg(a[1]), S.neg(a[2])} end
  function D.sub(a, b) return D.add(a, D.neg(b)) end

  -- Sums, products and quotients by what those of the values are.
  local function arithmetic(add, mul, div)
    return function(a, b) return {add(a[1], b[1]), rough_add(a[2], b[2])} end,
      function(a, b) return {mul(a[1], b[1]), rough_add(rough_mul(a[1], b[2]), rough_mul(a[2], b[1]))} end,
      function(a, b)
        local q <const> = div(a[1], b[1])
        local d <const> = rough_div(rough_add(a[2], S.neg(rough_mul(q, b[2]))), b[1])
        -- Gibbous forms q / b by itself, which may leave the dtype where d does not.
        local part <const> = S.level == 0 and abs(q / b[1]) or 0.0
        return {q, (part ~= 0 and part < tiny or part > big) and blur(d, abs(d) / amp) or d}
      end
  end
  D.add, D.mul, D.div = arithmetic(S.add, S.mul, S.div)
  D.rough_add, D.rough_mul, D.rough_div = arithmetic(rough_add, rough_mul, rough_div)

  function D.fn(name, x)
    local v <const> = S.fn(name, x[1])
    if S.is_zero(x[2]) then return {v, zero} end
    return {v, rough_mul(M.functions[name].d(S, x[1]), x[2])}
  end

  --- The slope in x of x^p is 0 where p is, that in p is taken to be 0 where x is.
  function D.pow(a, p)
    local d = zero
    if not S.is_zero(a[2]) and not S.is_zero(p[1]) then
      d = rough_mul(rough_mul(p[1], S.pow(a[1], S.sub(p[1], S.lift(1.0)))), a[2])
    end
    if not S.is_zero(p[2]) and S.val(a[1]) ~= 0 then
      d = rough_add(d, rough_mul(rough_mul(S.pow(a[1], p[1]), S.fn("log", a[1])), p[2]))
    end
    return {S.pow(a[1], p[1]), d}
  end

  function D.less(a, b) return S.less(a[1], b[1]) end
  function D.equal(a, b) return S.equal(a[1], b[1]) end

  function D.sum(list)
    local v <const>, d = {}, zero
    for i = 1, #list do v[i], d = list[i][1], rough_add(d, list[i][2]) end
    return {S.sum(v), d}
  end
  return D
end

-- Derived, in any algebra ---------------------------------------------------------------------------------------------------

--- The average of scalars of one value, which it keeps.
function M.average(S, list)
  if S.level == 0 or #list == 1 then return list[1] end
  local below <const> = S.level == 2 and M.dual1 or N
  local v <const>, d <const> = {}, {}
  for i, x in ipairs(list) do v[i], d[i] = x[1], x[2] end
  return {M.average(below, v), below.mul(below.sum(d), below.lift(1 / #list))}
end

M.dual1 = M.dual(N)
M.dual2 = M.dual(M.dual1)
M.algebras = {[0] = N, M.dual1, M.dual2}

--- x with another value, its derivatives kept.
function M.with_value(S, x, v)
  if S.level == 0 then return v end
  return {M.with_value(S.level == 2 and M.dual1 or N, x[1], v), x[2]}
end

--- The last of the components: the derivative of highest order along all directions.
function M.last(S, x)
  for _ = 1, S.level do x = x[2] end
  return x
end

--- Are all components finite?
function M.finite(S, x)
  if S.level == 0 then return x - x == 0 end
  local below <const> = S.level == 2 and M.dual1 or N
  return M.finite(below, x[1]) and M.finite(below, x[2])
end

return M

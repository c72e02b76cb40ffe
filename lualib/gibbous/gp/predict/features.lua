--- Functions drawn from a prior: sums of random features. A kernel is the mean of products of features,
--   k(x, z) = v E[a(x) a(z) cos(p(x) - p(z))],
-- over random phases p and amplitudes a: of a stationary kernel p(x) = x . w with w from its spectral density (Bochner), of an
-- inner product a(x) = x . w. Phases of factors add, amplitudes multiply, terms of a sum stand side by side. With F pairs
-- cos p, sin p and standard normal weights the drawn function has variance v a(x)^2 exactly and covariance k to O(v F^-1/2).
-- Source: Rahimi & Recht (2007), Random features for large-scale kernel machines; densities: Rasmussen & Williams (2006),
-- section 4.2.1.
local core <const> = require "gibbous.core"
local func <const> = require "gibbous.func"
local kernel <const> = require "gibbous.kernels.kernel"
local new_supply <const> = require "gibbous.gp.predict.supply"
local tasks <const> = require "gibbous.kernels.tasks"

local M <const> = {}

-- Terms ---------------------------------------------------------------------------------------------------------------------

-- A term: {scale, width, phase(x), amplitude(x), exact(x)}. 'phase' and 'amplitude' give (m, width), or (m, 1); nil: 0 and 1.
-- 'exact' gives (m, exact_width) features whose products are the kernel itself; it is used if the term is not multiplied by
-- another.

--- A value that is computed here; its history serves gradients alone.
local function kept(v) return core.hold(v, v) end

local function value(p, s) return kept(p.value:to{dtype = s.dtype}) end

--- A number, or one a row of a (d, F) matrix.
local function by_row(v) return v.ndim == 0 and v or v:unsqueeze(2) end

--- x . w for directions w (d, F): of a kernel of (x - z) / lengthscale.
local function waves(w, k, s)
  local frequencies <const> = kept(w / by_row(value(k.lengthscale, s)))
  return {width = s.pairs, phase = function(x) return x:matmul(frequencies) end}
end

local function gaussian(k, d, s) return {waves(s:normal(d, s.pairs), k, s)} end

--- The density of Matern kernels is a Student t with 2 nu degrees of freedom.
local function student(dof)
  return function(k, d, s)
    local chi2 <const> = (s:normal(dof, s.pairs) ^ 2):sum(1, {keepdim = true})
    return {waves(s:normal(d, s.pairs) * (dof / chi2):sqrt(), k, s)}
  end
end

--- x . w + b g with w, g standard normal: a product of 'degree' of them has the kernel (x . z + b^2)^degree.
local function inner(k, d, s, degree, offset)
  local l <const> = k.lengthscale and by_row(value(k.lengthscale, s)) or 1
  local factors <const> = {}
  for i = 1, degree do
    factors[i] = {kept(s:normal(d, s.pairs) / l), offset and kept(s:normal(1, s.pairs) * offset:sqrt())}
  end
  return function(x)
    local out
    for _, f in ipairs(factors) do
      local a <const> = f[2] and x:matmul(f[1]) + f[2] or x:matmul(f[1])
      out = out and out * a or a
    end
    return out
  end
end

--- makers[kind](kernel, d, supply): the terms of a kernel of d columns without its variance.
local makers <const> = {
  rbf = gaussian, matern12 = student(1), matern32 = student(3), matern52 = student(5),
}

--- The identity whose gradient raises: draws of the gamma distribution, accepted or rejected, have no gradient by its shape.
local by_alpha <const> = func{name = "draws of a rational quadratic kernel", shape = "same", forward = function(v) return v * 1 end,
  backward = function()
    core.raise("option", "draw: functions drawn from a rational_quadratic kernel have no gradient by its alpha; "
      .. "p:sample(k, {seed = ...}) has")
  end}

--- A scale mixture of rbf kernels.
function makers.rational_quadratic(k, d, s)
  local w <const>, mixed <const> = s:normal(d, s.pairs), s:gamma(value(k.alpha, s):item(), s.pairs):eval()
  return {waves(w * core.hold(by_alpha(mixed, k.alpha.value), mixed):sqrt(), k, s)}
end

--- The rbf of points on circles.
function makers.periodic(k, d, s)
  local period <const>, l <const> = value(k.period, s), value(k.lengthscale, s)
  local cos <const>, sin <const> = kept(s:normal(d, s.pairs) / by_row(l)), kept(s:normal(d, s.pairs) / by_row(l))
  return {{width = s.pairs, phase = function(x)
    local angle <const> = x * (2 * math.pi / period)
    return angle:cos():matmul(cos) + angle:sin():matmul(sin)
  end}}
end

function makers.cosine(k, _, s)
  local period <const> = value(k.period, s)
  return {{width = 1, phase = function(x) return (x * (2 * math.pi / period)):sum(2, {keepdim = true}) end}}
end

function makers.spectral_mixture(k, d, s)
  local weights <const> = value(k.weights, s)
  local out <const> = {}
  for q = 1, #weights do
    local function row(p)
      local v <const> = value(p, s)
      return v.ndim == 1 and v[q] or v[q]:unsqueeze(2)
    end
    local w <const> = kept(2 * math.pi * (row(k.means) * s:sign(d, s.pairs) + row(k.variances):sqrt() * s:normal(d, s.pairs)))
    out[q] = {scale = weights[q], width = s.pairs, phase = function(x) return x:matmul(w) end}
  end
  return out
end

function makers.linear(k, d, s)
  local l <const> = k.lengthscale and value(k.lengthscale, s) or 1
  return {{width = s.pairs, amplitude = inner(k, d, s, 1), exact = function(x) return x / l end, exact_width = d}}
end

function makers.polynomial(k, d, s)
  return {{width = s.pairs, amplitude = inner(k, d, s, k.degree, value(k.offset, s))}}
end

function makers.constant() return {{width = 1}} end

--- Rows of a root of B for each task. Each feature has one column of the root; all columns have equally many features, or one
-- more, and are scaled so that the mean of the products is B itself. With fewer features than columns the choice of columns is
-- random, and B is the expected mean.
function makers.index(k, _, s)
  local own <const> = core.linalg.diag(value(k.diagonal, s):sqrt())
  local root <const> = kept(k.hyper.weights and core.cat({value(k.hyper.weights, s), own}, 2) or own)
  local width <const>, column <const>, scale <const> = root.shape[2], {}, {}
  local columns <const> = s:order(width)
  for i, j in ipairs(s:order(s.pairs)) do
    local turn <const> = (i - 1) % width + 1
    column[j] = columns[turn]
    scale[j] = math.sqrt(s.pairs < width and width or s.pairs / ((s.pairs - turn) // width + 1))
  end
  local mixed <const> = kept(root:index(2, core.tensor(column, {dtype = "i64"})) * core.tensor(scale, {dtype = s.dtype}))
  local function at(x) return tasks.positions(x, k.tasks, "index") end
  return {{width = s.pairs, amplitude = function(x) return mixed:index(1, at(x)) end,
    exact = function(x) return root:index(1, at(x)) end, exact_width = root.shape[2]}}
end

-- Kernels -------------------------------------------------------------------------------------------------------------------

local function no_features(k)
  core.raise("option", ("a function cannot be drawn from kernel '%s': it has no random features; p:sample draws values at points")
    :format(k.kind))
end

local joints <const> = {sum = true, product = true, white = true}

--- Raises where some part of the kernel has no features.
local function check(k)
  if not (makers[k.kind] or joints[k.kind]) then no_features(k) end
  for _, part in ipairs(k.parts or {}) do check(part) end
end

--- Number of terms.
local function count(k)
  if k.kind == "white" then return 0 end
  if k.kind == "spectral_mixture" then return #k.weights.value end
  local n = k.kind == "sum" and 0 or 1
  for _, part in ipairs(k.parts or {}) do
    if k.kind == "sum" then n = n + count(part) else n = n * count(part) end
  end
  return n
end

local function join(a, b, join_two)
  if a and b then return join_two(a, b) end
  return a or b
end

local function multiplied(s, t)
  return {width = math.max(s.width, t.width), scale = join(s.scale, t.scale, function(a, b) return a * b end),
    phase = join(s.phase, t.phase, function(a, b) return function(x) return a(x) + b(x) end end),
    amplitude = join(s.amplitude, t.amplitude, function(a, b) return function(x) return a(x) * b(x) end end)}
end

local terms

--- The product of the parts' sums, multiplied out.
local function product(k, x, s, hidden)
  local out
  for _, part in ipairs(k.parts) do
    if part.kind == "white" then no_features(part) end
    local list <const> = terms(part, x, s, hidden)
    local next <const> = {}
    for _, a in ipairs(out or {}) do
      for _, b in ipairs(list) do next[#next + 1] = multiplied(a, b) end
    end
    out = out and next or list
  end
  return out
end

local function sum(k, x, s, hidden)
  local out <const> = {}
  for _, part in ipairs(k.parts) do
    if part.kind == "white" then
      s.white = join(s.white, value(part.hyper.variance, s), function(a, b) return a + b end)
    else
      for _, t in ipairs(terms(part, x, s, hidden)) do out[#out + 1] = t end
    end
  end
  return out
end

--- The terms of a kernel for inputs like x, of which only the columns matter; 'hidden' as in kernels/kernel.lua. What the parts
-- of a composite take are its own inputs, unless it is warped.
function terms(k, x, s, hidden)
  local seen <const> = kernel.seen(k, x, hidden)
  local function through(f) return f and function(t) return f(kernel.seen(k, t, hidden)) end end
  local list
  if k.kind == "sum" then
    list = sum(k, seen, s, kernel.within(k, seen, hidden))
  elseif k.kind == "product" then
    list = product(k, seen, s, kernel.within(k, seen, hidden))
  else
    list = makers[k.kind](k, seen.shape[2], s)
  end
  local variance <const> = k.hyper.variance
  for i, t in ipairs(list) do
    list[i] = {width = t.width, exact_width = t.exact_width, phase = through(t.phase), amplitude = through(t.amplitude),
      exact = through(t.exact), scale = join(t.scale, variance and value(variance, s), function(a, b) return a * b end)}
  end
  return list
end

-- Functions -----------------------------------------------------------------------------------------------------------------

--- A function that gives (m, width) features times weights (width, draws); the features are streamed.
local function drawn(t, draws, s)
  local width <const> = t.exact and t.exact_width or t.width
  local scale <const> = t.scale and t.scale:sqrt() or 1
  local function weights() return kept(s:normal(width, draws) * (scale / math.sqrt(t.exact and 1 or width))) end
  local w <const> = weights()
  if t.exact then return function(x) return t.exact(x):matmul(w) end end
  if not t.phase then
    return function(x) return (t.amplitude and t.amplitude(x) or core.ones(#x, 1, {dtype = x.dtype})):matmul(w) end
  end
  local w_sin <const> = weights()
  return function(x)
    local p <const> = t.phase(x)
    local cos, sin = p:cos(), p:sin()
    if t.amplitude then
      local a <const> = t.amplitude(x)
      cos, sin = a * cos, a * sin
    end
    return cos:matmul(w) + sin:matmul(w_sin)
  end
end

--- 'draws' functions of the prior of kernel k from 'features' random features: f(x) gives (m, draws), lazy. Also the variance of
-- white noise in the kernel, which is left out of the functions, or nil. Errors: option for a kernel without features.
function M.draw(k, x, draws, features, seed)
  check(k)
  local s <const> = new_supply(seed, x.dtype)
  if k.kind == "white" then
    return function(t) return core.zeros(#t, draws, {dtype = t.dtype}) end, value(k.variance, s)
  end
  s.pairs = math.max(1, features // (2 * math.max(1, count(k))))
  local parts <const> = {}
  for i, t in ipairs(terms(k, x, s, kernel.outer_claims(k, x.shape[2]))) do parts[i] = drawn(t, draws, s) end
  return function(t)
    local out = core.zeros(#t, draws, {dtype = t.dtype})
    for _, f in ipairs(parts) do out = out + f(t) end
    return out
  end, s.white
end

return M

--- Inducing points: few places that stand for many rows, in Nystrom approximations K_xz K_zz^-1 K_zx and all that is made of them.
-- Source: Zhang & Kwok (2010), Clustered Nystrom method for large scale manifold learning and dimension reduction: the error is
-- bounded by the inertia of the places, which k-means minimises.
local check_finite <const> = require "gibbous.kmeans.finite"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local kmeans <const> = require "gibbous.kmeans"
local options <const> = require "gibbous.base.options"
local points <const> = require "gibbous.kmeans.points"
local rules <const> = require "gibbous.gp.rules"
local subject <const> = require "gibbous.tensor.subject"
local fail <const> = points.fail

local WHAT <const> = "gb.gp.inducing_points"

--- The error has n as its field 'distinct'.
local function too_many(m, n, one, many)
  core.raise("shape", ("%s: %s cannot be %s: choose m of at most %d"):format(WHAT, counted(n, one, many), counted(m, "point"), n),
    {distinct = n})
end

--- Numbers of the rows of x in the order in which they are drawn, (n) of i64: by weight without replacement, those of weight 0
-- left out.
-- Source: Efraimidis & Spirakis (2006), Weighted random sampling with a reservoir.
local function drawing_order(x, weights, seed, m)
  local kind <const> = {seed = seed, device = x.device}
  if weights == nil then return core.randperm(#x, kind):eval() end
  local drawn <const> = weights:gt(0):sum():item()
  if drawn < m then too_many(m, drawn, "row with a weight", "rows with a weight") end
  local keys <const> = core.where(weights:gt(0), core.rand(#x, kind):log() / weights, -math.huge)
  local _, order <const> = keys:sort(1, {descending = true})
  return order:slice(1, 1, drawn):eval()
end

--- Of the rows at these positions, those that equal none before them.
local function first_of_equals(x, at)
  local z <const>, count <const> = x:index(1, at):eval(), #at
  local row <const> = core.range(1, count, 1, {dtype = "i64", device = x.device})
  local earlier <const> = row:unsqueeze(1):lt(row:unsqueeze(2))
  local equals <const> = core.where(core.sqdist(z, z, nil):eq(0) & earlier, 1, 0):sum(2)
  return at:index(1, equals:eq(0)):eval()
end

--- m rows of x, no two of them equal, the first in the order.
local function random_rows(x, m, weights, seed)
  local order <const> = drawing_order(x, weights, seed, m)
  local kept, seen = first_of_equals(x, order:slice(1, 1, m)), m
  while #kept < m do
    if seen == #order then too_many(m, #kept, "distinct row") end
    local more <const> = math.min(#order - seen, m)
    kept = first_of_equals(x, core.cat({kept, order:slice(1, seen + 1, seen + more)}, 1))
    seen = seen + more
  end
  return x:index(1, kept:slice(1, 1, m)):eval()
end

--- The m centroids of a k-means.
local function centroids_of(x, m, weights, seed)
  local km <const> = kmeans{k = m, seed = seed}:fit(x, {weights = weights})
  if km.empty > 0 then
    local of <const> = weights and " with a weight" or ""
    too_many(m, m - km.empty, "distinct row" .. of, "distinct rows" .. of)
  end
  return km.centroids
end

local function check_weights(weights)
  local bad <const> = ~(weights:ge(0) & weights:isfinite())
  if bad:any() then
    fail("nan", WHAT, "the weight of point %d is negative or not finite", bad:to{dtype = "i64"}:argmax():item())
  end
end

-- What is left of the trace where no row differs from those that were taken by more than rounding.
local NOTHING <const> = 2.0 ^ -50

--- The m rows of which each has the largest variance that those before leave it.
-- Source: Burt, Rasmussen & van der Wilk (2020), Convergence of sparse variational inference in Gaussian processes regression.
local function greedy_rows(x, m, kernel)
  local pivots <const> = core.pivots(kernel(x, x), m, NOTHING)
  if #pivots < m then too_many(m, #pivots, "row that this kernel tells apart", "rows that this kernel tells apart") end
  return x:index(1, core.tensor(pivots, {dtype = "i64", device = x.device})):eval()
end

local SPEC <const> = {method = {"kmeans", "random", "greedy"}, seed = "integer", weights = "any", kernel = rules.kernel}

local function parsed(opts)
  local o <const> = options.parse(opts, SPEC, WHAT)
  if o.method == "greedy" then
    if not o.kernel then fail("option", WHAT, "method = 'greedy' needs a kernel: kernel = gb.kernels.rbf{}") end
    if o.weights then fail("option", WHAT, "method = 'greedy' takes no weights") end
  elseif o.kernel then fail("option", WHAT, "a kernel is for method = 'greedy'") end
  return o
end

--- m places for the rows of x, as a tensor (m, d) of its type (of whole numbers f64). method "kmeans": the centroids of a k-means
-- of x, by Euclidean distance; "random": distinct rows, drawn by the seed; "greedy": rows by pivoted Cholesky of kernel(x, x),
-- each with the largest variance that those before leave, n m^2 work and n m numbers. weights: (n), 0 or more, one a row.
-- Evaluates. Errors: shape (fewer distinct rows than m), nan, option.
---@param x gibbous.tensor  (n, d) or (n)
---@param m integer
---@param opts {method: "kmeans"|"random"|"greedy", kernel: gibbous.kernel, seed: integer, weights: gibbous.tensor}?
---@return gibbous.tensor (m, d)
return function(x, m, opts)
  local o <const> = parsed(opts)
  local t = subject.tensor(x, WHAT)
  if t.ndim == 1 then t = t:unsqueeze(2) end
  if t.dtype == "i64" or t.dtype == "i32" then t = t:to{dtype = "f64"} end
  local list <const> = points.list(t, WHAT)
  m = subject.whole(m, 1, "m", WHAT)
  if m > #t then too_many(m, #t, "row") end
  local given <const>, seed <const> = points.weights(o.weights, list, WHAT), o.seed or 0
  local weights <const> = given and given:to{dtype = "f64", device = t.device}:eval()
  if o.method == "greedy" then
    check_finite(list, WHAT)
    return greedy_rows(t, m, o.kernel)
  end
  if o.method == "random" then
    if weights then check_weights(weights) end
    check_finite(list, WHAT)
    return random_rows(t, m, weights, seed)
  end
  return (centroids_of(t, m, weights, seed):to{dtype = t.dtype, device = t.device}:eval())
end

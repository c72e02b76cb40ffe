--- Where fits begin. A parameter without a given value starts at the scale of the data: lengthscales at the usual distance of
-- points, variances and noise as parts of the variance of y, constant means at the mean of y. Given values stay; further starts
-- are drawn around the scale of the data in any case.
--
-- The distance of two points in lengthscales should be about 1. So one lengthscale for all columns starts at the usual distance.
-- A lengthscale for each column starts at the usual difference in that column times the root of the number of columns, counting
-- those of all factors of a product. "Usual" is the root of the mean square without the largest few: in a column with few values
-- the median may be the gap between two neighbours, and one far point dominates a mean over all pairs.
local core <const> = require "gibbous.core"
local kernel <const> = require "gibbous.kernels.kernel"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"

local M <const> = {}

-- Rows that are looked at, if there are more: 2,016 distances.
local ROWS <const> = 64
-- The part of pairs that count; the farthest pairs, which may belong to one far point, do not.
local COUNTED <const> = 0.95
-- The part of the variance of y that noise starts with.
local NOISE <const> = 0.1

-- Distances ---------------------------------------------------------------------------------------------------------------

--- Rows of x to look at, of all where they are few. Which ones does not follow the order of the rows.
local function some_rows(x)
  if #x <= ROWS then return x:detach() end
  return x:index(1, core.randperm(#x, {seed = 0}):slice(1, 1, ROWS)):detach()
end

--- The root of the mean of the first 'count' squares.
local function root_mean_square(list, count)
  local sum = 0.0
  for i = 1, count do sum = sum + list[i] ^ 2 end
  return math.sqrt(sum / count)
end

--- The usual distance f of two rows. If all but the farthest pairs are at 0, all pairs count; nil if every distance is 0 or not
-- finite.
local function usual(rows, f)
  local list <const> = {}
  for i = 2, #rows do
    for j = 1, i - 1 do
      local v <const> = f(rows[i], rows[j])
      if v == v and v < math.huge then list[#list + 1] = v end
    end
  end
  if #list == 0 then return nil end
  table.sort(list)
  local v = root_mean_square(list, math.ceil(COUNTED * #list))
  if v == 0 then v = root_mean_square(list, #list) end
  return v > 0 and v < math.huge and v or nil
end

local function column_distance(k) return function(a, b) return math.abs(a[k] - b[k]) end end

local function distance(a, b)
  local s = 0.0
  for k = 1, #a do s = s + (a[k] - b[k]) ^ 2 end
  return math.sqrt(s)
end

-- Kernels -----------------------------------------------------------------------------------------------------------------

--- How many columns the lengthscales of k and its parts divide, for inputs x of k.
local function width(k, x, hidden)
  local seen <const> = kernel.seen(k, x, hidden)
  if not k.parts then return k.row.scaled and seen.shape[2] or 0 end
  local sum = 0
  for _, part in ipairs(k.parts) do sum = sum + width(part, seen, kernel.within(k, seen, hidden)) end
  return sum
end

--- Notes the scale of a base kernel's lengthscales; columns: how many share the distance.
local function lengthscales(out, k, x, columns)
  local p <const> = k.hyper.lengthscale
  local rows <const> = x:to{dtype = "f64"}:totable()
  if p.ndim == 0 then
    local v <const> = usual(rows, distance)
    out[p] = v and v * math.sqrt(columns / x.shape[2])
    return
  end
  local list <const> = {}
  for i = 1, x.shape[2] do
    local v <const> = usual(rows, column_distance(i))
    list[i] = v and v * math.sqrt(columns) or 1.0
  end
  out[p] = #list == #p and list or nil
end

--- The mean of the diagonal of k but for its variance.
local function unit_diagonal(k, x, hidden)
  local v <const> = kernel.diag(k, x, hidden):detach():mean():item() / k.hyper.variance.value:item()
  return v > 0 and v < math.huge and v or 1.0
end

--- The index of the factor of a product that takes its variance: a kernel of tasks, one with a variance, or one made of parts;
-- else 1.
local function taker(product)
  for i, part in ipairs(product.parts) do
    if part.kind == "index" or part.hyper.variance or part.parts then return i end
  end
  return 1
end

--- Notes scales of the parameters of k in 'out'. x as k sees it; amount: what k is to take of the variance of y; columns: of the
-- product that k is a factor of.
local function visit(out, k, x, hidden, amount, noise, columns)
  local seen <const> = kernel.seen(k, x, hidden)
  if k.kind == "index" then
    for name, power in pairs{weights = 0.5, diagonal = 1} do        -- in these units already where the script gave them
      local p <const> = k.hyper[name]
      if p and param.is_open(p) then out[p] = (p.value * amount ^ power):detach():eval() end
    end
    return
  end
  if k.kind == "white" then amount = noise end
  if not k.parts then
    if k.row.scaled then lengthscales(out, k, seen, columns or seen.shape[2]) end
    if k.hyper.variance then out[k.hyper.variance] = amount / unit_diagonal(k, x, hidden) end
    return
  end
  local inner <const> = kernel.within(k, seen, hidden)
  if k.kind == "product" then
    columns = columns or width(k, x, hidden)
    if k.hyper.variance then
      out[k.hyper.variance] = amount
      amount = 1.0
    end
    local at <const> = taker(k)
    for i, part in ipairs(k.parts) do visit(out, part, seen, inner, i == at and amount or 1.0, noise, columns) end
    return
  end
  if k.hyper.variance then amount = amount / k.hyper.variance.value:item() end
  for _, part in ipairs(k.parts) do visit(out, part, seen, inner, amount / #k.parts, noise, columns) end
end

-- Models ------------------------------------------------------------------------------------------------------------------

--- The level of a constant or a line; nil of others.
local function own_level(mean)
  return mean.kind == "constant" and mean.hyper.value or mean.kind == "linear" and mean.hyper.offset or nil
end

--- The free parameter, if there is one, that moves the whole mean: of a sum that of one of its terms.
local function level_of(mean)
  for _, part in ipairs(mean.kind == "sum" and mean.parts or {mean}) do
    local p <const> = own_level(part)
    if p and not p.fixed and p.ndim == 0 then return p end
  end
end

--- The same where y is not f and noise: by the level and the spread that the likelihood expects of f for such y.
local function of_latent(f, out)
  local s <const> = f.likelihood:scales(f.y:to{dtype = "f64"})
  local level <const> = level_of(f.mean)
  if level then out[level] = s.level end
  for name, v in pairs(s.parameters or {}) do out[f.likelihood[name]] = v end
  visit(out, f.kernel, some_rows(f.x), kernel.outer_claims(f.kernel, f.x.shape[2]), s.spread, NOISE * s.spread)
  return out
end

--- The rows of the data that are values of f, x and y; the scale of the noise of the others, derivatives, is noted in 'out'. Where
-- there is one value at most, all rows.
local function values_of(f, out)
  local noise <const> = f.likelihood.kind == "gradients" and f.likelihood.gradient_noise
  if not noise then return f.x, f.y end
  local kinds <const>, rows <const> = f.x:select(2, f.x.shape[2]):totable(), {}
  local sum, count = 0.0, 0
  for i, v in ipairs(f.y:totable()) do
    if kinds[i] == 1 then rows[#rows + 1] = i else sum, count = sum + v * v, count + 1 end
  end
  if sum > 0 and sum < math.huge then
    out[noise] = noise.ndim == 0 and NOISE * sum / count or core.full(noise.value.shape, NOISE * sum / count, {dtype = "f64"})
  end
  if #rows < 2 then return f.x, f.y end
  local at <const> = core.tensor(rows, {dtype = "i64"})
  return f.x:index(1, at):eval(), f.y:index(1, at):eval()
end

--- The scale of the parameters of a model with data, by parameter: numbers, lists or tensors; those of other kinds have none.
function M.scales(self)
  local f <const> = model.fields(self)
  local out <const> = {}
  if not likelihoods.is_gaussian(f.likelihood) then return of_latent(f, out) end
  local x <const>, own <const> = values_of(f, out)
  local y <const> = own:to{dtype = "f64"}
  local level <const>, rest = level_of(f.mean), y - f.mean(x):detach():to{dtype = "f64"}
  if level then
    local off <const> = rest:mean():item()
    out[level], rest = level.value:item() + off, rest - off
  end
  local amount <const>, spread <const> = (rest * rest):mean():item(), #y > 1 and y:var():item() or 0
  if not (amount > 0 and amount < math.huge) then return out end
  local noise <const> = NOISE * (spread > 0 and spread < amount and spread or amount)
  local p <const> = f.likelihood.noise
  if param.is(p) then out[p] = noise end
  visit(out, f.kernel, some_rows(x), kernel.outer_claims(f.kernel, x.shape[2]), amount, noise)
  return out
end

--- Unbounded parameters in units of y: a mean's level, the weights of tasks.
local function in_units_of_y(f)
  local list <const> = {}
  local function note(p)
    if p and p.min == nil and p.max == nil then list[#list + 1] = p end
  end
  local function tasks(k)
    if k.kind == "index" then note(k.hyper.weights) end
    for _, part in ipairs(k.parts or {}) do tasks(part) end
  end
  for _, part in ipairs(f.mean.kind == "sum" and f.mean.parts or {f.mean}) do note(own_level(part)) end
  tasks(f.kernel)
  return list
end

--- The units of parameters, by parameter: those in units of y are told in standard deviations of y, or descents would see little
-- of them where y is large.
function M.units(self)
  local f <const>, units <const> = model.fields(self), model.class(self).units
  local out <const> = units and units(self) or {}
  if not likelihoods.is_gaussian(f.likelihood) then return out end
  local list <const> = in_units_of_y(f)
  local spread <const> = #list > 0 and #f.y > 1 and f.y:to{dtype = "f64"}:std():item() or 0
  if not (spread > 0 and spread < math.huge) then return out end
  for _, p in ipairs(list) do out[p] = spread end
  return out
end

local function inside(p, v)
  local t <const> = core.type(v) == "tensor" and v or core.tensor(v, {dtype = "f64"})
  local lo <const>, hi <const> = t:min():item(), t:max():item()
  return lo > (p.min or -math.huge) and hi < (p.max or math.huge)
end

--- Puts a free parameter at its scale, where that is known and within its bounds.
function M.put(p, scales)
  local v <const> = not p.fixed and scales[p]
  if v and inside(p, v) then p.value = v end
end

--- Sets the parameters in the list whose values were not given to their scales. Returns a function that computes the scales of
-- all parameters once; with "known" it returns what it has computed so far, nil before. before: the scales of the fit that is
-- resumed, whose parameters stay as they are.
function M.begin(self, list, before)
  local known = before and next(before) ~= nil and before or nil
  local function scales(what)
    known = known or what ~= "known" and M.scales(self) or nil
    return known
  end
  if before then return scales end
  for _, p in ipairs(list) do
    if param.is_open(p) and not p.fixed then
      scales()
      break
    end
  end
  for _, p in ipairs(list) do
    if param.is_open(p) then M.put(p, known) end
  end
  return scales
end

--- The least value, by parameter, of those of the list that 0 bounds from below: what is small is so beside it.
function M.least(list)
  local out <const> = {}
  for _, p in ipairs(list) do
    if p.min == 0 then out[p] = p.value:min():item() end
  end
  return out
end

return M

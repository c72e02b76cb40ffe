--- Methods of tensors that come from sorting: positions in order, quantiles, distinct values; and where a tensor is not 0.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local subject <const> = require "gibbous.tensor.subject"

local M <const> = {}

--- The positions that sort x along d (-1), stable, NaN last: the second result of x:sort. {dtype = "i32"} stores them as i32.
function M.argsort(x, d, opts)
  local what <const> = "argsort"
  local t <const> = subject.tensor(x, what)
  if type(d) == "table" and opts == nil then d, opts = nil, d end
  local o <const> = options.parse(opts, {dim = "integer", descending = "boolean", dtype = {"i64", "i32"}}, what)
  if d ~= nil and o.dim then core.raise("option", what .. ": the dimension is given twice") end
  local axis <const> = subject.dimension(t, d or o.dim or -1, what)
  if o.dtype == "i32" and t.shape[axis] > 0x7fffffff then
    core.raise("dtype", ("%s: positions up to %d do not fit i32: {dtype = 'i64'}, the default, holds them"):format(what,
      t.shape[axis]))
  end
  local _, at <const> = t:sort(axis, {descending = o.descending or false, dtype = o.dtype or nil})
  return at
end

--- One quantile of values sorted along axis; every extent of 'sorted' stays but that one, which becomes 1.
local function at_fraction(sorted, q, axis)
  local n <const> = sorted.shape[axis]
  local place <const> = q * (n - 1)
  local low <const> = math.min(math.floor(place), n - 1)
  local a <const> = sorted:slice(axis, low + 1, low + 1)
  local last <const> = sorted:slice(axis, n, n)
  local between = a
  if place > low then
    local b <const> = sorted:slice(axis, low + 2, low + 2)
    between = core.where(a:eq(b), a, a + (b - a) * (place - low))        -- also where both are infinite
  end
  return core.where(last:isnan(), last, between)
end

local function checked_fractions(q, what)
  local list <const> = type(q) == "table" and getmetatable(q) == nil and q or {q}
  for _, v in ipairs(list) do
    if type(v) ~= "number" or not (v >= 0 and v <= 1) then
      core.raise("option", ("%s: a fraction from 0 to 1 expected, got %s"):format(what, tostring(options.plain(v))))
    end
  end
  if #list == 0 then core.raise("option", what .. ": a fraction from 0 to 1 expected, got an empty list") end
  return list, list == q
end

local function quantiles(x, q, d, opts, what)
  local t = subject.tensor(x, what)
  local list <const>, several <const> = checked_fractions(q, what)
  if type(d) == "table" and opts == nil then d, opts = nil, d end
  local o <const> = options.parse(opts, {keepdim = "boolean"}, what)
  local rank <const> = t.ndim
  if not t.dtype:find("f", 1, true) then t = t:to{dtype = "f64"} end
  if d == nil then t = t:reshape(-1) end
  local axis <const> = d == nil and 1 or subject.dimension(t, d, what)
  if t.shape[axis] == 0 then core.raise("shape", what .. ": there is no value along a dimension of extent 0") end
  local sorted <const> = t:sort(axis)
  local out <const> = {}
  for i, v in ipairs(list) do
    local one <const> = at_fraction(sorted, v, axis)
    if not o.keepdim then
      out[i] = one:squeeze(axis)
    elseif d == nil then
      local ones <const> = {}
      for k = 1, rank do ones[k] = 1 end
      out[i] = one:reshape(ones)
    else
      out[i] = one
    end
  end
  return several and core.stack(out, 1) or out[1]
end

--- Quantiles along d, or of all elements, linear between neighbours; NaN if any element is. A list of fractions gives a new first
-- dimension.
function M.quantile(x, q, d, opts) return quantiles(x, q, d, opts, "quantile") end

--- The middle value along d, or of all elements: the mean of both where there are two; NaN if any element is.
function M.median(x, d, opts) return quantiles(x, 0.5, d, opts, "median") end

--- The distinct values, ascending; the position of each element of x among them; how often each occurs. Evaluates: their number
-- depends on the values. A NaN equals nothing, so that each is distinct.
function M.unique(x)
  local t <const> = subject.tensor(x, "unique")
  local flat <const> = t:reshape(-1)
  local n <const> = t.numel
  local whole <const> = {dtype = "i64", device = t.device}
  if n == 0 then return flat, core.zeros(t.shape, whole), core.zeros(0, whole) end
  local sorted <const>, at <const> = (t.dtype == "bool" and flat:to{dtype = "i64"} or flat):sort(1)
  local first <const> = core.full({1}, true, {device = t.device})
  local starts <const> = n > 1 and core.cat({first, sorted:slice(1, 2, n):ne(sorted:slice(1, 1, n - 1))}, 1) or first
  local group <const> = starts:to{dtype = "i64"}:cumsum(1)
  local values = sorted:index(1, starts)
  if t.dtype == "bool" then values = values:ne(0) end
  local counts <const> = core.zeros(#values, whole):index_add(1, group, core.ones(n, whole))
  return values, core.zeros(n, whole):put(1, at, group):reshape(t.shape), counts
end

--- The positions of the elements that are not 0 (of a mask: true), a row each, (m, ndim) of i64, in row-major order. Evaluates:
-- their number depends on the values.
function M.nonzero(x)
  local t <const> = subject.tensor(x, "nonzero")
  if t.ndim == 0 then core.raise("shape", "nonzero: a tensor of one element has no positions: use x:item() ~= 0") end
  local mask <const> = t.dtype == "bool" and t or t:ne(0)
  local whole <const> = {dtype = "i64", device = t.device}
  if t.numel == 0 then return core.zeros(0, t.ndim, whole) end
  local at <const> = core.range(0, t.numel - 1, 1, whole):index(1, mask:reshape(-1))
  local columns <const>, stride = {}, 1
  for a = t.ndim, 1, -1 do
    columns[a] = at // stride % t.shape[a] + 1
    stride = stride * t.shape[a]
  end
  return core.stack(columns, 2)
end

return M

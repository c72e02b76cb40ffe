--- Sums, means and extremes of rows by label, counts, histograms, one-hot rows, distances. Lazy.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local labels_of <const> = require "gibbous.tensor.labels"
local options <const> = require "gibbous.base.options"
local subject <const> = require "gibbous.tensor.subject"

local M <const> = {}

local function is_float(t) return t.dtype:find("f", 1, true) ~= nil end

--- x (n, ...), labels (n) and k, checked.
local function checked(x, labels, k, what)
  local t <const> = subject.tensor(x, what)
  if t.ndim < 1 then core.raise("shape", ("%s: expected rows, x (n, ...), got one number"):format(what)) end
  local y <const> = labels_of.of(labels, what, t.device)
  if y.ndim ~= 1 or #y ~= #t then
    core.raise("shape", ("%s: expected one label a row: x %s, labels %s"):format(what, core.told(t), core.told(y)))
  end
  if t.dtype == "bool" then
    core.raise("dtype", ("%s: no arithmetic on bool: x:to{dtype = 'f64'}"):format(what))
  end
  k = subject.whole(k, 1, "k", what)
  return t, labels_of.checked(y, k, what), k
end

local function add_rows(t, y, k)
  return core.zeros(subject.shape_with(t, 1, k), {dtype = t.dtype, device = t.device}):index_add(1, y, t)
end

--- Row j is the sum of the rows of x whose label is j, in their order; 0 of none. Work n d; nothing larger than x or the result.
---@param x gibbous.tensor        (n, ...)
---@param labels gibbous.tensor   (n), i64 or i32, from 1 to k
---@param k integer
---@return gibbous.tensor (k, ...)
function M.segment_sum(x, labels, k) return add_rows(checked(x, labels, k, "gb.segment_sum")) end

local function count(y, k)
  return core.zeros(k, {dtype = "i64", device = y.device}):index_add(1, y, core.ones(#y, {dtype = "i64", device = y.device}))
end

--- Row j is the mean of the rows of x whose label is j; NaN of none.
function M.segment_mean(x, labels, k)
  local t, y, n = checked(x, labels, k, "gb.segment_mean")
  if not is_float(t) then t = t:to{dtype = "f64"} end
  local shape <const> = {n}
  for i = 2, t.ndim do shape[i] = 1 end
  return add_rows(t, y, n) / count(y, n):to{dtype = t.dtype}:reshape(shape)
end

local extremes <const> = {f64 = math.huge, f32 = math.huge, f16 = math.huge, bf16 = math.huge, i64 = math.maxinteger}

--- Extremes of k groups of rows: each row is compared with what its group has so far.
local function extreme(x, labels, k, largest)
  local t, y <const>, n <const> = checked(x, labels, k, largest and "gb.segment_max" or "gb.segment_min")
  if t.dtype == "i32" then t = t:to "i64" end
  local most <const> = extremes[t.dtype]
  local none <const> = largest and (t.dtype == "i64" and math.mininteger or -most) or most
  local start <const> = core.full(subject.shape_with(t, 1, n), none, {dtype = t.dtype, device = t.device})
  return largest and start:index_max(1, y, t) or start:index_min(1, y, t)
end

--- Row j holds the largest values of the rows of x whose label is j; -inf (of i64 the least integer) of none. Work n d; the
-- gradient is shared by those that attain it.
function M.segment_max(x, labels, k) return extreme(x, labels, k, true) end

--- Row j holds the smallest values of the rows of x whose label is j; inf (of i64 the largest integer) of none. Otherwise as
-- segment_max.
function M.segment_min(x, labels, k) return extreme(x, labels, k, false) end

--- How often each label occurs, (k) of i64; with weights (n) the sum of those of each label. Without k the labels are observed:
-- k is the largest.
---@param labels gibbous.tensor   (n), i64 or i32, from 1
---@param opts {k: integer, weights: gibbous.tensor}?
---@return gibbous.tensor (k)
function M.bincount(labels, opts)
  local what <const> = "gb.bincount"
  local o <const> = options.parse(opts, {k = "any", weights = "any"}, what)
  local y = labels_of.of(labels, what)
  if y.ndim ~= 1 then core.raise("shape", ("%s: expected labels (n), got %s"):format(what, core.told(y))) end
  local k = o.k
  if not k then
    if y.numel == 0 then core.raise("option", what .. ": there are no labels: say how many counts there are, {k = n}") end
    k = math.max(1, y:max():item())
  end
  if o.weights then
    local is_list <const> = type(o.weights) == "table" and getmetatable(o.weights) == nil
    local w <const> = subject.tensor(is_list and core.tensor(o.weights) or o.weights, what .. ": weights")
    if w.ndim ~= 1 then core.raise("shape", ("%s: expected weights (n), got %s"):format(what, core.told(w))) end
    return add_rows(checked(w, y, k, what))
  end
  k = subject.whole(k, 1, "k", what)
  y = labels_of.checked(y, k, what)
  return count(y, k)
end

local most_bins <const> = 1000000

--- Edges of b bins of one width from lo to hi: a list, the last of them exactly hi.
local function uniform_edges(lo, hi, b)
  if lo == hi then lo, hi = lo - 0.5, hi + 0.5 end
  local edges <const> = {}
  for i = 0, b do edges[i + 1] = lo * (1 - i / b) + hi * (i / b) end
  edges[1], edges[b + 1] = lo, hi
  return edges
end

local function checked_range(x, range, what)
  local lo, hi
  if not range then
    if x.numel == 0 then return 0, 1 end
    lo, hi = x:min():item(), x:max():item()
    if not (hi - lo < math.huge) then
      core.raise("nan", ("%s: x runs from %s to %s: give the range, {range = {lo, hi}}; what is outside is not counted"):format(
        what, tostring(options.plain(lo)), tostring(options.plain(hi))))
    end
    return lo, hi
  end
  if type(range) == "table" and getmetatable(range) == nil then lo, hi = range[1], range[2] end
  if type(lo) ~= "number" or type(hi) ~= "number" or not (lo <= hi and hi - lo < math.huge) then
    core.raise("option", ("%s: range must be two finite numbers, {lo, hi} with lo <= hi"):format(what))
  end
  return lo, hi
end

local function edges_of(x, o, what)
  local bins <const> = o.bins or 10
  if type(bins) == "number" then
    local b <const> = subject.whole(bins, 1, "bins", what)
    if b > most_bins then core.raise("option", ("%s: at most %s, got %d"):format(what, counted(most_bins, "bin"), b)) end
    local lo <const>, hi <const> = checked_range(x, o.range, what)
    return core.tensor(uniform_edges(lo, hi, b), {dtype = x.dtype, device = x.device})
  end
  local is_list <const> = type(bins) == "table" and getmetatable(bins) == nil
  local edges = subject.tensor(is_list and core.tensor(bins, {dtype = x.dtype, device = x.device}) or bins, what .. ": bins")
  if o.range then core.raise("option", what .. ": bins are edges already: leave out range") end
  if edges.ndim ~= 1 or #edges < 2 then
    core.raise("shape", ("%s: edges are a list of two numbers or more, got shape %s"):format(what, core.told(edges)))
  end
  if not edges:slice(1, 1, -2):le(edges:slice(1, 2)):all() then core.raise("option", what .. ": edges must ascend") end
  return edges
end

--- How many values lie in each bin [edge, next edge), the last one with its end. What is outside, and NaN, is not counted.
-- Without range x is observed: bins cover its least to its largest value. Work n bins, in one pass that stores nothing.
---@param x gibbous.tensor        of any shape
---@param opts {bins: integer|number[], range: number[], weights: gibbous.tensor}?  bins = 10, or the edges
---@param caller string?        begins the messages
---@return gibbous.tensor counts  (bins), i64; with weights the sum of those of each bin
---@return gibbous.tensor edges   (bins + 1)
function M.histogram(x, opts, caller)
  local what <const> = caller or "gb.histogram"
  local o <const> = options.parse(opts, {bins = "any", range = "any", weights = "any"}, "gb.histogram")
  local t = subject.tensor(x, what)
  if not is_float(t) then t = t:to{dtype = "f64"} end
  local edges <const> = edges_of(t, o, what)
  local b <const>, flat <const> = #edges - 1, t:reshape(-1):unsqueeze(1)
  local lo <const>, hi <const> = edges:slice(1, 1, b):unsqueeze(2), edges:slice(1, 2, b + 1):unsqueeze(2)
  local last <const> = subject.range_along(1, 1, b, 1, 2, t.device):eq(b)
  local inside <const> = flat:ge(lo) & (flat:lt(hi) | last & flat:eq(hi))
  if not o.weights then return inside:sum(2):to{dtype = "i64"}, edges end
  local w <const> = subject.tensor(o.weights, what .. ": weights")
  if w.shape ~= t.shape then
    core.raise("shape", ("%s: weights must be one a value: x %s, weights %s"):format(what, core.told(t), core.told(w)))
  end
  return core.where(inside, w:reshape(-1):unsqueeze(1), 0):sum(2), edges
end

--- Rows of zeros with a 1 at each label: a mask that streams where it is multiplied or summed.
---@param labels gibbous.tensor   (...), i64 or i32, from 1 to k
---@param k integer
---@param opts {dtype: gibbous.dtype}?
---@return gibbous.tensor (..., k)
function M.one_hot(labels, k, opts)
  local what <const> = "gb.one_hot"
  local o <const> = options.parse(opts, {dtype = {"f64", "f32", "f16", "bf16", "i64", "i32", "bool"}}, what)
  k = subject.whole(k, 1, "k", what)
  local y <const> = labels_of.checked(labels_of.of(labels, what), k, what)
  local dtype <const> = o.dtype or core.config().dtype
  return labels_of.mask(y:unsqueeze(-1), k, y.ndim + 1, dtype):to{dtype = dtype}
end

--- Distances |x_i - y_j| of all rows: an expression that streams, and is stored only where it is observed. Its gradient is 0 at 0.
---@param x gibbous.tensor  (..., n, d)
---@param y gibbous.tensor  (..., m, d)
---@param opts {p: number}?  the norm, p = 2; 1, math.huge, ...
---@return gibbous.tensor (..., n, m)
function M.cdist(x, y, opts)
  local what <const> = "gb.cdist"
  local o <const> = options.parse(opts, {p = "positive"}, what)
  local a <const>, b <const> = subject.tensor(x, what), subject.tensor(y, what)
  if a.ndim < 2 or a.ndim ~= b.ndim or a.shape[-1] ~= b.shape[-1] then
    core.raise("shape", ("%s: expected x (..., n, d) and y (..., m, d), got %s and %s; v:unsqueeze(2) makes rows"):format(what,
      core.told(a), core.told(b)))
  end
  local p <const> = o.p or 2
  if p == 2 then return core.sqdist(a, b):sqrt() end
  return (a:unsqueeze(-2) - b:unsqueeze(-3)):norm(-1, {p = p})
end

--- a_i b_j for vectors a (n) and b (m).
---@return gibbous.tensor (n, m)
function M.outer(a, b)
  local what <const> = "gb.outer"
  local v <const>, w <const> = subject.tensor(a, what), subject.tensor(b, what)
  if v.ndim ~= 1 or w.ndim ~= 1 then
    core.raise("shape", ("%s: expected two vectors, got %s and %s"):format(what, core.told(v), core.told(w)))
  end
  return v:unsqueeze(2) * w:unsqueeze(1)
end

return M

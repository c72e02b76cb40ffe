--- Silhouettes: how much nearer a row lies to the rows of its own cluster than to those of the next.
--
-- s = (b - a) / max(a, b), with a the mean distance to the other rows of its cluster and b the least of the mean distances to the
-- rows of another. Clusters are visited one after another: the distances of all rows to the rows of one cluster are summed within a
-- fold, so that nothing of n x n, or of n x k, is stored. docs/guide/kmeans.md has bytes and work.
-- Source: Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster analysis.
local check_finite <const> = require "gibbous.kmeans.finite"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local labels_of <const> = require "gibbous.tensor.labels"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local points <const> = require "gibbous.kmeans.points"
local segments <const> = require "gibbous.tensor.segments"
local subject <const> = require "gibbous.tensor.subject"
local fail <const> = points.fail

local M <const> = {}

-- What is given ---------------------------------------------------------------------------------------------------------------

local function is_wide(x) return x.dtype == "f64" or x.dtype == "i64" or x.dtype == "i32" end

--- x in the type in which distances are computed.
local function in_compute_type(x)
  local dtype <const> = is_wide(x) and "f64" or "f32"
  return x.dtype == dtype and x or x:to{dtype = dtype}
end

--- Every tensor of the list has the columns of the first, and its type of computation.
local function check_alike(list, what)
  local first <const> = list[1]
  for i, x in ipairs(list) do
    if x.shape[2] ~= first.shape[2] then
      fail("shape", what, "element %d of the list has %d columns, the first has %d", i, x.shape[2], first.shape[2])
    end
    if is_wide(x) ~= is_wide(first) then
      fail("dtype", what, "element %d of the list is %s, the first is %s: distances are computed in one type, x:to{dtype = 'f32'}",
        i, x.dtype, first.dtype)
    end
  end
end

--- Points as parts {x, y}: tensors of the list and the labels of their rows.
local function parts_of(list, y)
  local out <const>, before = {}, 0
  for _, x in ipairs(list) do
    local mine <const> = y:slice(1, before + 1, before + #x)
    out[#out + 1] = #x > 0 and {x = in_compute_type(x), y = (mine.device == x.device and mine or mine:to(x.device)):eval()} or nil
    before = before + #x
  end
  return out
end

local function tensors_of(parts)
  local out <const> = {}
  for i, p in ipairs(parts) do out[i] = p.x end
  return out
end

local function check_labels(y, n, what)
  if y.ndim ~= 1 or #y ~= n then
    fail("shape", what, "expected one label a row, %d, got shape %s", n, core.told(y))
  end
  local least <const> = n > 0 and y:min():item() or 1
  if least < 1 then fail("index", what, "label %d: labels are whole numbers from 1; labels + %d are such", least, 1 - least) end
end

--- Counts of the labels 1 .. k, as a list; k by default the largest label.
local function counts_of(y, k)
  local counts <const> = segments.bincount(y, {k = k or nil}):totable()
  local used = 0
  for _, c in ipairs(counts) do used = used + (c > 0 and 1 or 0) end
  return counts, used
end

-- Rows whose silhouettes are asked for ------------------------------------------------------------------------------------------

--- m rows, each at most once, drawn by the seed; ascending.
local function drawn(n, m, seed) return (core.randperm(n, {seed = seed}):slice(1, 1, m):sort(1)):eval() end

--- The rows at these positions (ascending, over all parts) as one part.
local function gathered(parts, at)
  local xs <const>, ys <const>, before = {}, {}, 0
  for _, p in ipairs(parts) do
    local own <const> = at:index(1, at:gt(before) & at:le(before + #p.x)) - before
    if #own > 0 then
      local here <const> = own:to(p.x.device)
      xs[#xs + 1], ys[#ys + 1] = p.x:index(1, here), p.y:index(1, here)
    end
    before = before + #p.x
  end
  local x <const>, y <const> = core.cat(xs, 1), core.cat(ys, 1)
  core.eval(x, y)
  return {x = x, y = y}
end

-- Mean distances ------------------------------------------------------------------------------------------------------------------

--- For each part the positions of its rows by cluster, and how many of them each cluster has.
local function by_cluster(parts, k)
  local out <const> = {}
  for i, p in ipairs(parts) do
    local starts <const>, counts <const> = {}, counts_of(p.y, k)
    local from = 1
    for j, c in ipairs(counts) do starts[j], from = from, from + c end
    out[i] = {x = p.x, order = p.y:argsort():eval(), starts = starts, counts = counts}
  end
  return out
end

--- The rows of cluster j of all parts: a copy, as long as the fold of j runs.
local function members(sorted, j)
  local out <const> = {}
  for _, s in ipairs(sorted) do
    local from <const>, c <const> = s.starts[j], s.counts[j]
    if c > 0 then out[#out + 1] = s.x:index(1, s.order:slice(1, from, from + c - 1)) end
  end
  return core.cat(out, 1):eval()
end

--- One value for each row of a part.
local function filled(row, value) return core.full({#row.x}, value, {dtype = "f64", device = row.x.device}):eval() end

--- Takes the mean distances to the rows of cluster j, of which there are c, into a (own cluster) and b (the nearest other). Handles
-- are closed: what they hold would else wait for the collector.
local function visit(row, xj, j, c)
  local squares <close> = core.sqdist(row.x, xj, nil)
  local distances <close> = squares:sqrt()
  local rounded <close> = distances:sum(2)
  local sums <close> = rounded:to{dtype = "f64"}
  local within <close> = sums / math.max(c - 1, 1)
  local between <close> = sums / c
  local nearer <close> = core.minimum(row.b, between)
  local own <close> = row.y:eq(j)
  local a <const>, b <const> = core.where(own, within, row.a), core.where(own, row.b, nearer)
  core.eval(a, b)
  row.a:close()
  row.b:close()
  row.a, row.b = a, b
end

local function exact(parts, rows, counts)
  local sorted <const> = by_cluster(parts, #counts)
  for _, row in ipairs(rows) do row.a, row.b = filled(row, 0), filled(row, math.huge) end
  for j, c in ipairs(counts) do
    if c > 0 then
      local xj <const> = members(sorted, j)
      for _, row in ipairs(rows) do visit(row, xj, j, c) end
      xj:close()
    end
  end
end

-- Distances to centroids ----------------------------------------------------------------------------------------------------------

--- Means of the rows of each cluster, less 'shift', the mean of all rows as their type has it: {centroids (k, d), shift (d)}, f64.
local function means_of(parts, counts)
  local n, k <const>, total = 0, #counts, 0
  for _, p in ipairs(parts) do n, total = n + #p.x, total + p.x:to{dtype = "f64"}:sum(1) end
  local shift <const> = (total / n):to{dtype = parts[1].x.dtype}:to{dtype = "f64"}:eval()
  local sums = 0
  for _, p in ipairs(parts) do
    sums = sums + segments.segment_sum(p.x:to{dtype = "f64"} - shift, p.y, k)
  end
  local c <const> = core.tensor(counts, {dtype = "f64", device = sums.device}):unsqueeze(2)
  return {centroids = (sums / core.maximum(c, 1)):eval(), shift = shift}
end

--- a: the distance to the centroid of a row's cluster; b: the least to that of another cluster with rows. One fold, n k d.
local function simplified(rows, counts, means)
  local k <const> = #counts
  for _, row in ipairs(rows) do
    local kind <const> = {dtype = row.x.dtype, device = row.x.device}
    local from <const>, to <const> = row.x - means.shift:to(kind), means.centroids:to(kind)
    local apart <const> = core.sqdist(from, to, nil):sqrt()
    local own <const> = labels_of.mask(row.y:unsqueeze(2), k, 2, row.x.dtype)
    local empty <const> = core.tensor(counts, {dtype = "i64", device = row.x.device}):eq(0)
    row.a = core.where(own, apart, 0):sum(2):to{dtype = "f64"}
    row.b = core.where(own | empty, math.huge, apart):min(2):to{dtype = "f64"}
    core.eval(row.a, row.b)
  end
end

-- The result --------------------------------------------------------------------------------------------------------------------

---@class gibbous.silhouette
---@field mean number                of the values
---@field values gibbous.tensor      (m) of f64, -1 to 1; 0 of a row that is alone in its cluster, or where a and b are 0
---@field rows gibbous.tensor|nil    (m) of i64: numbers of the rows that were drawn; nil: all rows, in order
---@field labels gibbous.tensor      (m) of i64
---@field means gibbous.tensor       (k): mean of the values of each cluster; NaN of none
---@field counts gibbous.tensor      (k) of i64: rows of each cluster, of all rows
---@field n integer                  rows
---@field k integer
---@field simplified boolean         distances to centroids
local Silhouette <const> = object.record("gibbous.silhouette", "a silhouette", "rows")

function Silhouette.__tostring(s)
  local of <const> = s.rows and ("%d drawn of %s"):format(#s.values, counted(s.n, "row")) or counted(s.n, "row")
  local kind <const> = s.simplified and "simplified silhouette" or "silhouette"
  local lines <const> = {("%s %.4g  %s, %s"):format(kind, options.plain(s.mean), of, counted(s.k, "cluster"))}
  local means <const>, counts <const> = s.means:totable(), s.counts:totable()
  for j = 1, math.min(s.k, 20) do
    lines[j + 1] = ("  cluster %d: %s, mean %.4g"):format(j, counted(counts[j], "row"), options.plain(means[j]))
  end
  if s.k > 20 then lines[#lines + 1] = ("  and %d more"):format(s.k - 20) end
  return table.concat(lines, "\n")
end

--- (b - a) / max(a, b); 0 where the row is alone, and where both are 0.
local function values_of(row, counts)
  local most <const> = core.maximum(row.a, row.b)
  local alone <const> = core.tensor(counts, {dtype = "i64", device = row.x.device}):eq(1):index(1, row.y)
  return core.where(alone, 0, (row.b - row.a) / core.where(most:eq(0), 1, most))
end

local function result(rows, counts, at, n, is_simplified)
  local values <const>, labels <const>, device = {}, {}, rows[1].x.device
  for i, row in ipairs(rows) do
    local v <const> = values_of(row, counts)
    values[i], labels[i] = v.device == device and v or v:to(device), row.y.device == device and row.y or row.y:to(device)
  end
  local all <const>, y <const> = core.cat(values, 1), core.cat(labels, 1)
  local mean <const>, means <const> = all:mean(), segments.segment_mean(all, y, #counts)
  core.eval(all, y, mean, means)
  return setmetatable({mean = mean:item(), values = all, labels = y, means = means, rows = at, n = n, k = #counts,
    counts = core.tensor(counts, {dtype = "i64"}), simplified = is_simplified}, Silhouette)
end

local function check_clusters(used, n, what)
  if used < 2 then
    fail("option", what, "%s of %s: a silhouette compares two clusters or more", counted(n, "row"), counted(used, "cluster"))
  end
end

local SPEC <const> = {k = "any", sample = "any", seed = "integer", simplified = "boolean"}

--- Silhouettes of a list of points. means: centroids and their shift, or nil; they are used where o.simplified.
local function measured(list, labels, o, means, what)
  local n <const> = points.extent(list)
  local y <const> = labels.dtype == "i64" and labels or labels:to{dtype = "i64"}
  check_labels(y, n, what)
  local k <const> = o.k and subject.whole(o.k, 1, "k", what) or nil
  if n > 0 and k then labels_of.checked(y, k, what) end
  if n == 0 then check_clusters(0, 0, what) end
  local counts <const>, used <const> = counts_of(y, k)
  check_clusters(used, n, what)
  local m <const> = o.sample and subject.whole(o.sample, 1, "sample", what) or nil
  if m and m > n then
    fail("option", what, "sample = %d of %d rows: leave it out for all rows", m, n)
  end
  local parts <const> = parts_of(list, y)
  check_finite(tensors_of(parts), what)
  local at <const> = m and drawn(n, m, o.seed or 0) or nil
  local rows <const> = at and {gathered(parts, at)} or parts
  if o.simplified then simplified(rows, counts, means or means_of(parts, counts))
  else exact(parts, rows, counts) end
  return result(rows, counts, at, n, o.simplified or false)
end

--- Silhouettes of the rows of X by exact formula, Euclidean: work n^2 d, or m n d of a sample. Evaluates.
---@param X gibbous.tensor|gibbous.tensor[]  (n, d), a list that is one data set, or an expression
---@param labels gibbous.tensor              (n), whole numbers from 1
---@param opts {k: integer, sample: integer, seed: integer, simplified: boolean}?
---@return gibbous.silhouette
function M.silhouette(X, labels, opts)
  local what <const> = "gb.silhouette"
  local o <const> = options.parse(opts, SPEC, what)
  local list <const> = points.list(X, what)
  check_alike(list, what)
  return measured(list, labels_of.of(labels, what), o, nil, what)
end

--- Rows divided by their lengths: an expression, beside which 16 bytes a row are held.
local function unit(x)
  local v <const> = x:to{dtype = (x.dtype == "f64" or x.dtype == "i64" or x.dtype == "i32") and "f64" or "f32"}
  local longest <const> = v:abs():max(2, {keepdim = true}):eval()
  local y <const> = v / longest
  return y / (y * y):sum(2, {keepdim = true}):sqrt():eval()
end

--- The same of points whose labels are those of the nearest centroids; f: fields of a k-means, labels: of the list.
function M.of_kmeans(f, list, labels, opts, what)
  local o <const> = options.parse(opts, {sample = SPEC.sample, seed = SPEC.seed, simplified = SPEC.simplified}, what)
  check_alike(list, what)
  o.k = f.o.k
  if f.o.spherical then
    for i, x in ipairs(list) do list[i] = unit(x) end
  end
  return measured(list, labels, o, {centroids = f.centroids - f.shift, shift = f.shift}, what)
end

return M

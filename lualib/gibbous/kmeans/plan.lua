--- What a fit of k-means takes beside the points: every buffer to the byte, before anything is allocated.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.object"
local points <const> = require "gibbous.kmeans.points"

local M <const> = {}

local UNITS <const> = {"B", "KB", "MB", "GB", "TB"}

--- Bytes in decimal units, as the formula of k-means is quoted.
function M.text(bytes)
  local v, unit = bytes, 1
  while v >= 999.5 and unit < #UNITS do v, unit = v / 1000, unit + 1 end
  return (unit == 1 and "%d %s" or "%.4g %s"):format(unit == 1 and bytes or v, UNITS[unit])
end

--- 4000000 as "4,000,000".
function M.count(n)
  local text, k = tostring(n), 1
  while k > 0 do text, k = text:gsub("^(%d+)(%d%d%d)", "%1,%2") end
  return text
end

local Plan <const> = object.record("gibbous.kmeans_plan", "the plan of k-means", "")

function Plan.__tostring(p)
  local lines <const> = {("k-means of %s x %s %s, k = %s"):format(M.count(p.n), M.count(p.d), p.dtype, M.count(p.k)),
    ("  formula  (n d + k d) numbers of %d B and a label of 4 B a row: %s B"):format(p.size, M.count(p.formula)),
    ("  points   n d numbers: %s B%s"):format(M.count(p.data), p.tile > 0 and ", computed tile by tile and never stored" or ""),
    "  beside the points"}
  for _, b in ipairs(p.buffers) do
    if b.bytes > 0 then lines[#lines + 1] = ("    %15s B  %s"):format(M.count(b.bytes), b.what) end
  end
  lines[#lines + 1] = ("    %15s B  peak: %.2f B a row, %.3f of the formula with the points"):format(M.count(p.peak),
    p.peak / math.max(p.n, 1), (p.peak + p.data) / p.formula)
  return table.concat(lines, "\n")
end

local function rows_of(b, runs, start)
  local results <const> = b.labels + b.centroids + b.history
  return {
    {what = "labels, 4 B a row", bytes = b.labels},
    {what = "centroids and their shift, f64", bytes = b.centroids},
    {what = "inertia of each iteration", bytes = b.history},
    {what = "the same of the best run so far", bytes = runs > 1 and results or 0},
    {what = "weights as f64", bytes = b.weights},
    {what = "the start as f64", bytes = start and b.start or 0},
    {what = ("exact sums of %d threads"):format(b.workers), bytes = b.sums},
    {what = "distances to the nearest seed, a number a row", bytes = b.seeds},
    {what = "candidates for seeds, 10 k + 1 rows, and their weights", bytes = b.candidates},
    {what = "bounds of distances, 8 B a row, less what seeds leave", bytes = b.bounds},
    {what = "packed centroids and tiles of rows", bytes = b.scratch},
    {what = "centroids before and after, sums, farthest rows", bytes = b.state},
    {what = "the start, then batches: sums, seeds, packed centroids", bytes = b.batches},
    {what = "the rows of the expression that are computed at a time", bytes = b.tile},
  }
end

--- The plan of a fit. list: points; o: options of core.kmeans_bytes; runs: how many; size: bytes of an element.
function M.new(list, o, runs)
  local b <const> = core.kmeans_bytes(list, o)
  local p <const> = {n = b.n, d = b.d, k = o.k, dtype = list[1].dtype, size = b.size, runs = runs, tile = b.tile,
    buffers = rows_of(b, runs, o.start), peak = 0}
  for _, one in ipairs(p.buffers) do p.peak = p.peak + one.bytes end
  p.data = p.n * p.d * p.size
  p.formula = (p.n * p.d + p.k * p.d) * p.size + 4 * p.n
  p.minimum = p.peak
  return setmetatable(p, Plan)
end

local function refuse(p, have, whose, what)
  core.raise("refused", ("%s: k-means takes %s B beside the points, %s %s B: the smallest %s that works is %s B"):format(what,
    M.count(p.peak), whose, M.count(have), whose:find "budget" and "budget" or "free memory", M.count(p.minimum)),
    {need = p.peak, have = have, minimum = p.minimum})
end

--- Raises where the plan does not fit the budget (bytes or nil) or what is free below gb.memory.limit.
function M.admit(p, budget, what)
  if budget and p.peak > budget then refuse(p, budget, "the budget is", what) end
  if p.peak <= core.memory.room() then return end
  collectgarbage()
  collectgarbage()
  if p.peak > core.memory.room() then refuse(p, core.memory.room(), "what is free below gb.memory.limit is", what) end
end

M.fail = points.fail

return M

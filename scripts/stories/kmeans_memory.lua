-- K-means that took twice the memory of its formula.
--
-- For six years the k-means of cuML took up to twice what its own formula, (n d + k d) numbers and a label a row, allows: at
-- 4,000,000 rows of 250 f32 columns and k = 10,000 (4 GB) the card held 8.4 GB (NVIDIA/cuml#5936), since pieces of the data were
-- joined and predicted once more without being asked. Nothing said so beforehand.
-- Here the plan lists every buffer to the byte before anything is allocated; a fit takes what the plan says, and a list of tensors
-- is one data set that is never joined, with the same bits.
-- Run: build/gibbous scripts/stories/kmeans_memory.lua [rows of the scaled run]
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"

local ROWS <const>, COLUMNS <const>, CLUSTERS <const> = 4000000, 250, 10000
local rows <const> = math.tointeger(arg and tonumber(arg[1]) or 40000)
local clusters <const> = rows * CLUSTERS // ROWS

local function MB(bytes) return ("%9.2f MB"):format(bytes / 1e6) end

print "The 4 GB case, planned and not allocated"
local before <const> = gb.memory.report().used
local plan <const> = gb.kmeans{k = CLUSTERS}:plan(gb.empty(ROWS, COLUMNS, {dtype = "f32"}))
print(plan)
print(("  bytes that the plan itself took of the account: %d"):format(gb.memory.report().used - before))

print(("\nA scaled run: %d x %d f32, k = %d, the same rows a cluster"):format(rows, COLUMNS, clusters))
local places <const> = (gb.randn(clusters, COLUMNS, {seed = 1, dtype = "f32"}) * 2):eval()
local x <const> = (places:index(1, gb.range(1, rows, 1, {dtype = "i64"}) % clusters + 1) +
  gb.randn(rows, COLUMNS, {seed = 2, dtype = "f32"})):eval()

--- Fits within a limit that leaves no byte beside what was planned, and prints formula, plan and measurement.
local function run(title, points)
  local km <const> = gb.kmeans{k = clusters, max_iter = 10}
  local p <const> = km:plan(points)
  core.drop_caches()
  collectgarbage()
  collectgarbage()
  local old <const> = gb.memory.limit(gb.memory.report().used + p.peak)
  local resident <const> = core.process_memory(true)
  local start <const> = gb.clock()
  km:fit(points)
  local seconds <const> = gb.clock() - start
  local _, most <const> = core.process_memory()
  gb.memory.limit(old)
  assert(km.bytes == p.peak, "a plan did not keep its word")
  print(("\n%s\n  formula  %s   with the rows"):format(title, MB(p.formula)))
  print(("  plan     %s   = rows %s + beside them %s: %.3f of the formula"):format(MB(p.data + p.peak), MB(p.data), MB(p.peak),
    (p.data + p.peak) / p.formula))
  print(("  measured %s   beside them %s, difference %d B; the process grew by %s"):format(MB(p.data + km.bytes), MB(km.bytes),
    km.bytes - p.peak, MB(math.max(most - resident, 0))))
  print(("  inertia %.12g after %d iterations, %d clusters without rows; %.2f s on %d threads"):format(km.inertia, km.iterations,
    km.empty, seconds, gb.config().threads))
  return km
end

local whole <const> = run("one tensor, the limit at what was planned", x)
local pieces <const> = {}
for i = 1, 8 do pieces[i] = x:slice(1, (i - 1) * rows // 8 + 1, i * rows // 8) end
local joined <const> = run("eight tensors, one data set", pieces)
local same <const> = joined.centroids:equal(whole.centroids) and joined.labels:equal(whole.labels)
print("  the same bits as for one tensor: " .. tostring(same))
assert(same)

local refused <const>, why <const> = pcall(function()
  return (gb.kmeans{k = clusters, budget = plan.peak // 1000}:fit(x))
end)
print(("\nwith a budget of %s:\n  %s"):format(MB(plan.peak // 1000), tostring(why)))
assert(not refused and why.code == "refused")

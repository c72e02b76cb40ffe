-- K-means: seconds of a whole fit and of an iteration, beside the machine's bounds and, where they are given, beside scikit-learn
-- and FAISS. Run: build/gibbous scripts/bench/kmeans.lua [--python peers/bin/python] [--d 2,4,16,64,256,768] [--k 8,32,128,2048]
--   [--iterations 10] [--work 4e10] [--rounds 3]
-- or: build/gibbous scripts/bench/kmeans.lua --bounds yes [--d 2,16,64] [--k 32,128,2048] [--work 4e10] [--rounds 3]
--
-- Every fit of a cell has the same points (f32), the same start (the first k of them) and the same number of iterations. An
-- iteration is the difference of fits of 1 and of 1 + iterations, divided by them. It cannot take less than
--     max(n k d / (16 FMA rate), bytes of x / bandwidth)
-- with both rates of all threads, measured beside each cell: a vector is 16 f32, and x is read once. --python runs peers/kmeans.py
-- in turns with our own fits; figures are the least of the rounds, ratios are theirs / ours: above 1, ours is faster.
--
-- --bounds yes: instead, whole fits of at most 100 iterations (tol 1e-4) by algorithm = "elkan" beside those by "lloyd", over rows
-- in k clusters (standard deviation 1, centres 4) and over rows without any (a normal distribution). Both have the same bits.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local table_text <const> = require "gibbous.text.table"
local here <const> = arg[0]:gsub("[^/]*$", "")
local support <const> = dofile(here .. "support.lua")

local o <const> = support.options{python = "", d = "", k = "", iterations = 10, work = 4e10, rounds = 3, bounds = "no"}
local bounds <const> = o.bounds == "yes"
if o.d == "" then o.d = bounds and "2,16,64" or "2,4,16,64,256,768" end
if o.k == "" then o.k = bounds and "32,128,2048" or "8,32,128,2048" end
local threads <const> = gb.config().threads
local iterations <const>, rounds <const> = math.tointeger(o.iterations), math.tointeger(o.rounds)
assert(iterations and iterations > 0 and rounds and rounds > 0, "--iterations and --rounds are whole numbers above 0")

local function counts(text)
  local list <const> = {}
  for word in text:gmatch "[^,]+" do list[#list + 1] = assert(math.tointeger(tonumber(word)), "not a count: " .. word) end
  return list
end

-- Lloyd and Elkan ---------------------------------------------------------------------------------------------------------------

local function rows_of(kind, n, d, k)
  local x <const> = gb.randn(n, d, {dtype = "f32", seed = 7 * d + k})
  if kind == "none" then return x:eval() end
  local of <const> = (gb.rand(n, {seed = 3}) * k):floor():clamp(0, k - 1):to "i64" + 1
  return (x + (gb.randn(k, d, {dtype = "f32", seed = 1}) * 4):index(1, of)):eval()
end

--- The least seconds of whole fits, and the last of these.
local function fit_by(algorithm, x, k)
  local best, km = math.huge, nil
  for _ = 1, rounds do
    local began <const> = gb.clock()
    km = gb.kmeans{k = k, init = x:slice(1, 1, k):eval(), max_iter = 100, algorithm = algorithm}:fit(x)
    best = math.min(best, gb.clock() - began)
  end
  return best, km
end

local function compare_bounds()
  local out <const> = {{"clusters", "d", "k", "n", "iterations", "lloyd", "elkan", "lloyd / elkan"}}
  for _, kind in ipairs{"k", "none"} do
    for _, d in ipairs(counts(o.d)) do
      for _, k in ipairs(counts(o.k)) do
        local n <const> = math.max(8 * k, math.min(1000000, (1 << 25) // d, math.tointeger(o.work // (d * k * 20))))
        local x <const> = rows_of(kind, n, d, k)
        local lloyd <const>, a <const> = fit_by("lloyd", x, k)
        local elkan <const>, b <const> = fit_by("elkan", x, k)
        assert(a.labels:equal(b.labels) and a.centroids:equal(b.centroids) and a.history:equal(b.history))
        assert(a.inertia == b.inertia)
        out[#out + 1] = {kind, tostring(d), tostring(k), tostring(n), tostring(a.iterations), ("%.3f s"):format(lloyd),
          ("%.3f s"):format(elkan), ("%.2f"):format(lloyd / elkan)}
      end
    end
  end
  print(("%d threads, f32, the least of %d rounds"):format(threads, rounds))
  print(table_text(out))
end

if bounds then
  compare_bounds()
  return
end

-- Bounds ------------------------------------------------------------------------------------------------------------------------

local wide <const> = gb.rand(1 << 26, {dtype = "f32", seed = 1}):eval()
local sum_of_wide <const> = gb.plan(wide:sum())

--- The greatest rates of a cell: vectors of multiply-adds a second by all threads at once, and bytes a second that a sum of 256 MiB
--- reads; measured in turns with the fits.
local function measure(rates)
  rates.fma = math.max(rates.fma or 0, core.rates(0.1, threads).fma)
  for _ = 1, 3 do
    local began <const> = gb.clock()
    sum_of_wide:run{[wide] = wide}
    rates.bandwidth = math.max(rates.bandwidth or 0, 4 * (1 << 26) / (gb.clock() - began))
  end
end

local function bound_of(rates, n, d, k) return math.max(n * d * k / (16 * rates.fma), 4 * n * d / rates.bandwidth) end

-- Ours and theirs -----------------------------------------------------------------------------------------------------------------

local function fit(x, k, start, max_iter)
  local began <const> = gb.clock()
  local km <const> = gb.kmeans{k = k, init = start, max_iter = max_iter, tol = 0, n_init = 1}:fit(x)
  local inertia <const> = km.inertia
  return gb.clock() - began, inertia, km.iterations
end

local function ours(x, k, start)
  local one <const> = fit(x, k, start, 1)
  local whole <const>, inertia <const>, made <const> = fit(x, k, start, 1 + iterations)
  return {whole = whole, iteration = made > 1 and (whole - one) / (made - 1) or 0 / 0, inertia = inertia, made = made}
end

--- name -> {whole seconds, inertia, bytes beside the points}, of the libraries that are there.
local function theirs(folder, made)
  local command <const> = ("OMP_NUM_THREADS=%d OPENBLAS_NUM_THREADS=%d %s %s %s %d"):format(threads, threads,
    support.quoted(o.python), support.quoted(here .. "peers/kmeans.py"), support.quoted(folder), made)
  local pipe <const>, out <const> = io.popen(command), {}
  for line in pipe:lines() do
    local name <const>, whole <const>, inertia <const>, bytes <const> = line:match "^(%S+) (%S+) (%S+) (%S+)$"
    if name then out[name] = {whole = tonumber(whole), inertia = tonumber(inertia), bytes = tonumber(bytes)} end
  end
  assert(pipe:close(), "failed: " .. command)
  return out
end

local function lesser(a, b, key) return (not a or b[key] < a[key]) and b or a end

-- Cells -------------------------------------------------------------------------------------------------------------------------

local folder <const> = os.tmpname() .. ".kmeans"
os.execute("mkdir -p " .. support.quoted(folder))

local function cell(d, k)
  local n <const> = math.max(4 * k, math.min(2000000, (1 << 26) // d, math.tointeger(o.work // (d * k * iterations))))
  local x <const> = gb.randn(n, d, {dtype = "f32", seed = 7 * d + k}):eval()
  local start <const> = x:slice(1, 1, k):eval()
  if o.python ~= "" then
    core.npy_write(folder .. "/x.npy", x)
    core.npy_write(folder .. "/start.npy", start)
  end
  local own, peers, rates = nil, {}, {}
  for _ = 1, rounds do
    measure(rates)
    local now <const> = ours(x, k, start)
    if own then now.iteration = math.min(now.iteration, own.iteration) end
    own = lesser(own, now, "whole")
    own.iteration = math.min(own.iteration, now.iteration)
    if o.python ~= "" then
      for name, r in pairs(theirs(folder, now.made)) do peers[name] = lesser(peers[name], r, "whole") end
    end
  end
  return n, own, peers, rates
end

local rows <const> = {{"d", "k", "n", "GFLOP/s", "GB/s", "fit", "an iteration", "of bound", "scikit-learn", "FAISS",
  "inertia, theirs / ours - 1"}}
print(("%d threads, f32, %d iterations, the least of %d rounds"):format(threads, iterations, rounds))
for _, d in ipairs(counts(o.d)) do
  for _, k in ipairs(counts(o.k)) do
    local n <const>, own <const>, peers <const>, rates <const> = cell(d, k)
    local function ratio(name) return peers[name] and ("%.2f"):format(peers[name].whole / own.whole) or "" end
    local sk <const> = peers["scikit-learn"]
    rows[#rows + 1] = {tostring(d), tostring(k), tostring(n), ("%.0f"):format(32 * rates.fma / 1e9),
      ("%.1f"):format(rates.bandwidth / 1e9),
      ("%.3f s"):format(own.whole), ("%.2f ms"):format(1e3 * own.iteration),
      ("%.0f %%"):format(100 * bound_of(rates, n, d, k) / own.iteration), ratio "scikit-learn", ratio "faiss",
      sk and ("%.1e"):format(sk.inertia / own.inertia - 1) or ""}
    io.stderr:write("\r", table.concat(rows[#rows], "  "), "   ")
  end
end
io.stderr:write "\n"
print(table_text(rows))
os.execute("rm -rf " .. support.quoted(folder))

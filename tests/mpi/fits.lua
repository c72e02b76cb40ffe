--- Fits of one data set in several divisions among the ranks: fits.lua folder. Every rank writes what it has to folder/rank, a line
-- a case; what must not depend on ranks comes first, then the labels of its rows.
local folder <const> = arg[1]
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"

local N <const>, D <const>, K <const> = 2000, 5, 6
local RANK <const>, SIZE <const> = gb.mpi.rank(), gb.mpi.size()

-- The first and the last row of this rank.
local divisions <const> = {even = function() return gb.mpi.share(N) end}
--- 97 of 100 at the first, the others at the second; a third and a fourth have none.
function divisions.uneven()
  local most <const> = SIZE == 1 and N or N * 97 // 100
  if RANK == 0 then return 1, most end
  if RANK == 1 then return most + 1, N end
  return N + 1, N
end
--- All at the last.
function divisions.last()
  if RANK == SIZE - 1 then return 1, N end
  return 1, 0
end

local places <const> = gb.randn(12, D, {seed = 1}) * 3         -- they overlap
local whole <const> = (places:index(1, gb.range(1, N, 1, {dtype = "i64"}) % 12 + 1) + gb.randn(N, D, {seed = 2}) * 2):eval()
local weight <const> = (gb.rand(N, {seed = 3}) * 3):eval()

local function hex(t)
  local out <const> = {}
  for i, v in ipairs(t:reshape{t.numel}:totable()) do out[i] = ("%016x"):format((string.unpack("i8", string.pack("d", v)))) end
  return table.concat(out, " ")
end

local lines <const> = {}
local function fit(name, division, dtype, init, weighted)
  local first <const>, last <const> = divisions[division]()
  local x <const> = last < first and gb.zeros(0, D, {dtype = dtype}) or whole:slice(1, first, last):to(dtype):eval()
  local w <const> = weighted and (last < first and gb.zeros(0) or weight:slice(1, first, last)) or nil
  local start <const> = init == "rows" and (RANK == 0 and whole:slice(1, 1, K) or gb.ones(K, D)) or init
  local km <const> = gb.kmeans{k = K, init = start, seed = 5, max_iter = 8, n_init = init == "random" and 2 or 1, ranks = true}
  local planned <const> = km:plan(x, {weights = w}).peak
  for _ = 1, 3 do collectgarbage() end                         -- nothing goes meanwhile
  km:fit(x, {weights = w})
  assert(km.bytes == planned, ("%d bytes, planned %d"):format(km.bytes, planned))
  if RANK == SIZE - 1 then km:predict(x) end                    -- each by itself
  local labels <const> = km:predict(x)
  assert(last < first or labels:equal(km.labels), "predict gives other labels")
  local score <const> = km:score(x, {weights = w})
  local batch <const> = gb.kmeans{k = K, init = "random", seed = 5, ranks = true}
  batch:partial_fit(x, {weights = w}):partial_fit(x, {weights = w})
  lines[#lines + 1] = ("%s: %d %s %d %.17g %.17g | %s | %s | %s #%s"):format(name, km.iterations, km.converged, km.empty,
    km.inertia, score, hex(km.centroids), hex(km.history), hex(batch.centroids), table.concat(labels:totable(), ","))
end

for _, init in ipairs{"k-means++", "random", "rows"} do
  for _, dtype in ipairs{"f32", "f64"} do
    for _, division in ipairs{"even", "uneven", "last"} do fit(init .. dtype .. division, division, dtype, init, dtype == "f32") end
  end
end

--- Messages and bytes of a fit of so many iterations.
local function sent(iterations)
  local first <const>, last <const> = gb.mpi.share(N)
  local _, _, messages <const>, bytes <const> = core.ranks()
  local km <const> = gb.kmeans{k = K, init = whole:slice(1, 1, K), tol = 0, max_iter = iterations, ranks = true}
  km:fit(whole:slice(1, first, last))
  assert(km.iterations == iterations)
  local _, _, messages_now <const>, bytes_now <const> = core.ranks()
  return messages_now - messages, bytes_now - bytes
end

local messages <const>, bytes <const> = sent(3)
for iterations = 4, 6 do
  local m <const>, b <const> = sent(iterations)
  local more <const> = SIZE > 1 and iterations - 3 or 0
  assert(m == messages + more, ("%d iterations more send %d messages"):format(more, m - messages))
  assert(b == bytes + more * 8 * (K * (D + 1) + 2), ("they send %d bytes"):format(b - bytes))
end

local out <close> = assert(io.open(("%s/%d"):format(folder, RANK), "w"))
out:write(table.concat(lines, "\n"), "\n")

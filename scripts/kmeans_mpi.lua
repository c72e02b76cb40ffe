-- K-means of rows that several processes hold, of one machine or of many:
--
--   mpirun -np 4 build/gibbous scripts/kmeans_mpi.lua          rows (400000), columns (16), k (32)
--   build/gibbous scripts/kmeans_mpi.lua                       the same result, by one process
--
-- Each rank makes the rows that are its share, by their numbers, so any number of ranks has the same data. What is printed but for
-- the last lines is the same, too, to the bit.
local gb <const> = require "gibbous"

local N <const> = math.tointeger(arg[1]) or 400000
local D <const> = math.tointeger(arg[2]) or 16
local K <const> = math.tointeger(arg[3]) or 32
local BLOCK <const> = 4096             -- rows of one seed

--- Rows first to last of the data set: around 2 K places, that overlap.
local function rows(first, last)
  local places <const> = gb.randn(2 * K, D, {seed = 1}) * 3
  local parts <const> = {gb.zeros(0, D, {dtype = "f32"})}          -- what a rank without rows has
  for block = (first - 1) // BLOCK, (last - 1) // BLOCK do
    local number <const> = gb.range(1, BLOCK, 1, {dtype = "i64"}) + block * BLOCK
    local x <const> = places:index(1, number % (2 * K) + 1) + gb.randn(BLOCK, D, {seed = 2 + block})
    local from <const>, to <const> = math.max(first - block * BLOCK, 1), math.min(last - block * BLOCK, BLOCK)
    parts[#parts + 1] = x:slice(1, from, to):to "f32":eval()
  end
  return parts
end

--- The bits of a tensor's numbers as one, in order.
local function checksum(t)
  local sum = 0
  for _, row in ipairs(t:totable()) do
    for _, v in ipairs(row) do
      sum = (sum ~ string.unpack("i8", string.pack("d", v))) * 1099511628211
      sum = sum ~ sum >> 29
    end
  end
  return ("%016x"):format(sum)
end

local first <const>, last <const> = gb.mpi.share(N)
local km <const> = gb.kmeans{k = K, seed = 1, ranks = true}
km:fit(rows(first, last))

if gb.mpi.rank() == 0 then
  print(("%d rows of %d columns, k = %d"):format(N, D, K))
  print(("inertia %.17g after %d iterations"):format(km.inertia, km.iterations))
  print("centroids " .. checksum(km.centroids))
end
print(("rank %d of %d: rows %d to %d, %d B beside them, planned %d B"):format(gb.mpi.rank(), gb.mpi.size(), first, last, km.bytes,
  km:plan(rows(first, last)).peak))

-- Rows in the order of clusters: seconds of a product with a covariance of compact support, for rows as they come and for rows
-- whose neighbours in the order are neighbours in space. Tiles of distant rows add nothing and are not visited.
-- Run: build/gibbous scripts/bench/order.lua [--n 50000] [--d 3] [--rows 64] [--lengthscale 0.3,0.1,0.03] [--rounds 3]
--
-- The points are uniform in the unit cube, f32; --rows: of a cluster, in the mean. A pair farther apart than the length-scale has
-- the covariance 0; its share is counted among 2,000 of the rows. Figures are the least of the rounds, which take turns.
local gb <const> = require "gibbous"
local table_text <const> = require "gibbous.text.table"
local here <const> = arg[0]:gsub("[^/]*$", "")
local support <const> = dofile(here .. "support.lua")

local o <const> = support.options{n = 50000, d = 3, rows = 64, lengthscale = "0.3,0.1,0.03", rounds = 3}
local n <const>, d <const>, rounds <const> = math.tointeger(o.n), math.tointeger(o.d), math.tointeger(o.rounds)

local function seconds(f)
  local began <const> = gb.clock()
  f()
  return gb.clock() - began
end

local x <const> = gb.rand(n, d, {dtype = "f32", seed = 1}):eval()
local v <const> = gb.randn(n, {dtype = "f32", seed = 2}):eval()
local km <const> = gb.kmeans{k = math.max(1, n // o.rows), max_iter = 5, seed = 1}
local clustering <const> = seconds(function() km:fit(x) end)
local order <const> = km:order(x):eval()
local sorted <const> = x:index(1, order):eval()

local function product(points, ell, round)
  local w <const> = (v * round):eval()                       -- no product is made twice
  return seconds(function() gb.kernels.piecewise_polynomial{lengthscale = ell}(points, points):matmul(w):eval() end)
end

local function share_in_reach(ell)
  local some <const> = x:slice(1, 1, math.min(n, 2000)):eval()
  return gb.cdist(some, some):lt(ell):to "f64":mean():item()
end

print(("%d points of %d columns, f32; k-means of %d clusters, 5 iterations: %.2f s"):format(n, d, km.k, clustering))
local rows <const> = {{"length-scale", "pairs in reach", "as they come", "in order", "ratio"}}
for word in o.lengthscale:gmatch "[^,]+" do
  local ell <const>, plain, ordered = tonumber(word), math.huge, math.huge
  for round = 1, rounds do
    plain, ordered = math.min(plain, product(x, ell, round)), math.min(ordered, product(sorted, ell, round))
  end
  rows[#rows + 1] = {word, ("%.2f %%"):format(100 * share_in_reach(ell)), ("%.3f s"):format(plain), ("%.3f s"):format(ordered),
    ("%.1f"):format(plain / ordered)}
end
print(table_text(rows))

--- An order of clusters in which neighbours lie near one another: the centroids are halved, by number, along the column in which
-- they reach farthest, and each half again.
local core <const> = require "gibbous.core"

--- The column in which the centroids of ids[first..last] reach farthest.
local function widest(centroids, ids, first, last)
  local best, most = 1, -1
  for column = 1, #centroids[1] do
    local least, greatest = math.huge, -math.huge
    for i = first, last do
      local v <const> = centroids[ids[i]][column]
      least, greatest = math.min(least, v), math.max(greatest, v)
    end
    if greatest - least > most then best, most = column, greatest - least end
  end
  return best
end

local function halve(centroids, ids, first, last)
  if last - first < 1 then return end
  local column <const> = widest(centroids, ids, first, last)
  local part <const> = table.move(ids, first, last, 1, {})
  table.sort(part, function(a, b)
    local u <const>, v <const> = centroids[a][column], centroids[b][column]
    return u < v or (u == v and a < b)
  end)
  table.move(part, 1, #part, first, ids)
  local middle <const> = (first + last) // 2
  halve(centroids, ids, first, middle)
  halve(centroids, ids, middle + 1, last)
end

--- centroids: a tensor (k, d). Gives (k) of i32: the place of each cluster, from 1.
return function(centroids)
  local rows <const>, ids <const>, place <const> = centroids:totable(), {}, {}
  for j = 1, #rows do ids[j] = j end
  halve(rows, ids, 1, #ids)
  for at, j in ipairs(ids) do place[j] = at end
  return core.tensor(place, {dtype = "i32"})
end

--- Lloyd's iterations in plain Lua, from the definition: the reference for gb.kmeans.
local M <const> = {}

local function square_apart(x, c)
  local s = 0.0
  for t = 1, #x do s = s + (x[t] - c[t]) ^ 2 end
  return s
end

--- The number of the nearest centre, the first of equally near ones, its squared distance, and how much farther the next one is.
function M.nearest(x, centres)
  local at, best, next_best = 0, math.huge, math.huge
  for j, c in ipairs(centres) do
    local s <const> = square_apart(x, c)
    if s < best then at, best, next_best = j, s, best elseif s < next_best then next_best = s end
  end
  return at, best, next_best - best
end

--- From lists of rows, start and weights (or nil): {labels, centres, inertia, iterations, gap}. gap: the least by which a row's
-- nearest centre was nearer than the next one, in any iteration.
function M.run(x, start, weights, most)
  local k <const>, d <const> = #start, #x[1]
  local r <const> = {labels = {}, centres = start, iterations = 0, gap = math.huge}
  local moved = true
  while moved and r.iterations < (most or 300) do
    local sums <const> = {}
    for j = 1, k do
      sums[j] = {w = 0.0}
      for t = 1, d do sums[j][t] = 0.0 end
    end
    moved, r.inertia, r.iterations = false, 0.0, r.iterations + 1
    for i, row in ipairs(x) do
      local at <const>, apart <const>, gap <const> = M.nearest(row, r.centres)
      local w <const> = weights and weights[i] or 1
      moved = moved or r.labels[i] ~= at
      r.labels[i], r.inertia, r.gap = at, r.inertia + w * apart, math.min(r.gap, gap)
      for t = 1, d do sums[at][t] = sums[at][t] + w * row[t] end
      sums[at].w = sums[at].w + w
    end
    local centres <const> = {}
    for j = 1, k do
      centres[j] = {}
      for t = 1, d do centres[j][t] = sums[j].w > 0 and sums[j][t] / sums[j].w or r.centres[j][t] end
    end
    r.centres = centres
  end
  return r
end

--- Mini-batches of so many rows, in order: {labels, centres, history, inertia} after the passes.
function M.minibatches(x, start, rows, passes)
  local r <const> = {centres = {}, history = {}, labels = {}, inertia = 0.0}
  local counts <const> = {}
  for j, c in ipairs(start) do r.centres[j], counts[j] = table.move(c, 1, #c, 1, {}), 0 end
  for pass = 1, passes do
    r.history[pass] = 0.0
    for first = 1, #x, rows do
      local of <const> = {}                                          -- rows by centre: all are assigned before any centre moves
      for i = first, math.min(first + rows - 1, #x) do
        local at <const>, apart <const> = M.nearest(x[i], r.centres)
        r.history[pass] = r.history[pass] + apart
        of[#of + 1] = {x[i], at}
      end
      for _, one in ipairs(of) do
        local row <const>, at <const> = one[1], one[2]
        counts[at] = counts[at] + 1
        for t, v in ipairs(row) do r.centres[at][t] = r.centres[at][t] + (v - r.centres[at][t]) / counts[at] end
      end
    end
  end
  for i, row in ipairs(x) do
    local at <const>, apart <const> = M.nearest(row, r.centres)
    r.labels[i], r.inertia = at, r.inertia + apart
  end
  return r
end

return M

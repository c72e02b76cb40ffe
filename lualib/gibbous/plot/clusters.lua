--- Figures by which a number of clusters is chosen: silhouettes, and inertia against k.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local options <const> = require "gibbous.base.options"
local segments <const> = require "gibbous.tensor.segments"

local M <const> = {}

local TEXTS <const> = {title = "string", xlabel = "string", ylabel = "string"}

-- Colours of clusters repeat after so many; the next one, grey, is of lines that belong to none.
local COLOURS <const> = 6
local GREY <const> = {colour = COLOURS + 1}

-- Silhouettes -----------------------------------------------------------------------------------------------------------------

--- The values by cluster, each from the largest; and how many each cluster has, as a list.
local function by_cluster(s)
  local values <const>, at <const> = s.values:sort(1, {descending = true})
  local order <const> = s.labels:index(1, at):argsort()
  local sorted <const>, counts <const> = values:index(1, order), segments.bincount(s.labels, {k = s.k})
  core.eval(sorted, counts)
  return sorted, counts:totable()
end

--- Clusters with values from the top: {j, first, last: in the sorted values, top: height of the first}, and the height of them all.
local function blocks(counts)
  local rows, used = 0, 0
  for _, c in ipairs(counts) do rows, used = rows + c, used + (c > 0 and 1 or 0) end
  local gap <const> = math.max(1, math.min(rows // 50, rows // (5 * used)))
  local out <const>, first, top = {}, 1, rows + gap * (used - 1)
  local height <const> = top
  for j, c in ipairs(counts) do
    if c > 0 then
      out[#out + 1] = {j = j, first = first, last = first + c - 1, top = top}
      first, top = first + c, top - c - gap
    end
  end
  return out, height
end

local function number_text(n)
  local text, k = tostring(n), 1
  while k > 0 do text, k = text:gsub("^(%d+)(%d%d%d)", "%1,%2") end
  return text
end

--- What gb.silhouette or km:silhouette gives: a bar a row, sorted within its cluster, clusters from the top; the line is the mean.
-- o: title, xlabel, ylabel.
---@return gibbous.figure
function M.silhouette(figure, s, opts)
  local what <const> = "gb.plot.silhouette"
  local o <const> = options.parse(opts, TEXTS, what)
  local kind <const> = type(s) == "table" and getmetatable(s)
  if type(kind) ~= "table" or kind.__name ~= "gibbous.silhouette" then
    core.raise("option", ("%s: what gb.silhouette or km:silhouette gives is needed, got %s"):format(what, core.type(s)))
  end
  local sorted <const>, counts <const> = by_cluster(s)
  local list <const>, height <const> = blocks(counts)
  local ticks <const> = {}
  for i, b in ipairs(list) do ticks[i] = {b.top - (b.last - b.first) / 2, tostring(b.j)} end
  local rows <const> = s.rows and ("%s drawn of %s rows"):format(number_text(#s.rows), number_text(s.n)) or
    number_text(s.n) .. " rows"
  local fig <const> = figure{title = o.title or "silhouettes of " .. rows, ylabel = o.ylabel or "cluster", yticks = ticks,
    xlabel = o.xlabel or ("silhouette; the line is the mean, %.3f"):format(s.mean)}
  for _, b in ipairs(list) do
    fig:bars(core.range(b.top, b.top - (b.last - b.first), -1), sorted:slice(1, b.first, b.last),
      {colour = (b.j - 1) % COLOURS + 1})
  end
  return fig:line({s.mean, s.mean}, {0.5, height + 0.5}, GREY)
end

-- Elbows ----------------------------------------------------------------------------------------------------------------------

--- {k, inertia} of an element: itself, or a fitted k-means.
local function pair_of(v, i, what)
  local k, inertia
  if core.type(v) == "kmeans" then k, inertia = v.k, v.inertia
  elseif type(v) == "table" and getmetatable(v) == nil then k, inertia = v[1], v[2] end
  if options.whole(k) == nil or type(inertia) ~= "number" or not (math.abs(inertia) < math.huge) then
    core.raise("option", ("%s: element %d must be {k, inertia} or a k-means that was fitted"):format(what, i))
  end
  return {options.whole(k), inertia}
end

--- The pairs by ascending k.
local function pairs_of(list, what)
  local out <const> = {}
  if type(list) == "table" and getmetatable(list) == nil then
    for i, v in ipairs(list) do out[i] = pair_of(v, i, what) end
  end
  if #out == 0 then core.raise("option", what .. ": a list of {k, inertia}, or of k-means that were fitted, is needed") end
  table.sort(out, function(a, b) return a[1] < b[1] end)
  for i = 2, #out do
    if out[i][1] == out[i - 1][1] then core.raise("option", ("%s: k = %d is there twice"):format(what, out[i][1])) end
  end
  return out
end

--- Which pair lies farthest below the chord from the first to the last, and the chord's height there; nil where none lies below.
local function elbow_of(list)
  local first <const>, last <const> = list[1], list[#list]
  local at, most, height = nil, 0, nil
  for i = 2, #list - 1 do
    local chord <const> = first[2] + (list[i][1] - first[1]) / (last[1] - first[1]) * (last[2] - first[2])
    if chord - list[i][2] > most then at, most, height = i, chord - list[i][2], chord end
  end
  return at, height
end

--- Inertia against k, from a list of {k, inertia} or of fitted k-means. Beside the figure the k of its elbow: the point farthest
-- below the chord from the first to the last, or nil where the curve lies nowhere below. o: title, xlabel, ylabel.
-- Source: Satopaa, Albrecht, Irwin & Raghavan (2011), Finding a "kneedle" in a haystack.
---@return gibbous.figure, integer|nil
function M.elbow(figure, list, opts)
  local what <const> = "gb.plot.elbow"
  local o <const> = options.parse(opts, TEXTS, what)
  local curve <const> = pairs_of(list, what)
  local at <const>, height <const> = elbow_of(curve)
  local k <const> = at and curve[at][1] or nil
  local ks <const>, inertias <const> = {}, {}
  for i, p in ipairs(curve) do ks[i], inertias[i] = p[1], p[2] end
  local fig <const> = figure{title = o.title, ylabel = o.ylabel or "inertia",
    xlabel = o.xlabel or (k and ("clusters k; the elbow is at %d"):format(k) or "clusters k")}
  fig:line({ks[1], ks[#ks]}, {inertias[1], inertias[#ks]}, GREY)
  if at then fig:line({k, k}, {inertias[at], height}, GREY) end
  fig:line(ks, inertias, {colour = 1}):scatter(ks, inertias, {colour = 1})
  if at then fig:scatter({k}, {inertias[at]}, {colour = 2}) end
  return fig, k
end

-- Points ----------------------------------------------------------------------------------------------------------------------

--- Labels (n), centres (k, d) or nil, and k.
local function labels_of(x, km, what)
  if core.type(km) == "kmeans" then return km:predict(x), km.centroids, km.k end
  local listed <const> = type(km) == "table" and getmetatable(km) == nil and type(km[1]) == "number"
  local labels <const> = listed and core.tensor(km) or core.as_tensor(km)
  if labels == nil or labels.ndim ~= 1 then
    core.raise("option", ("%s: a k-means that was fitted, or labels (n), are needed, got %s"):format(what, core.type(km)))
  end
  if #labels ~= #x then core.raise("shape", ("%s: x has %s, the labels %d: x %s, labels %s"):format(what, counted(#x, "row"),
    #labels, core.told(x), core.told(labels))) end
  return labels, nil, #labels > 0 and math.tointeger(labels:max():item()) or 0
end

--- The two columns of x that are drawn.
local function columns_of(o, x, what)
  local c <const> = o.columns or {1, 2}
  local d <const> = x.shape[2]
  for i = 1, 2 do
    local k <const> = options.whole(c[i])
    if #c ~= 2 or k == nil or k < 1 or k > d then
      core.raise("shape", ("%s: two columns of x are drawn, columns = {1, 2}; x has %d"):format(what, d))
    end
  end
  return c[1], c[2]
end

local MOST_IN_LEGEND <const> = 12

--- Points by cluster, and the centres. x (n, d); km: a fitted k-means, or labels (n). o: columns = {1, 2}, title, xlabel, ylabel.
---@return gibbous.figure
function M.clusters(figure, x, km, opts)
  local what <const> = "gb.plot.clusters"
  local o <const> = options.parse(opts, {title = "string", xlabel = "string", ylabel = "string", columns = "table"}, what)
  local xs <const> = core.as_tensor(x)
  if xs == nil or xs.ndim ~= 2 then core.raise("shape", what .. ": x must be a matrix of points (n, d)") end
  local a <const>, b <const> = columns_of(o, xs, what)
  local labels <const>, centres <const>, k <const> = labels_of(xs, km, what)
  local fig <const> = figure{title = o.title or ("%s points in %s"):format(number_text(#xs), counted(k, "cluster")),
    xlabel = o.xlabel or ("column %d"):format(a), ylabel = o.ylabel or ("column %d"):format(b)}
  local across <const>, up <const>, of <const> = xs:select(2, a):totable(), xs:select(2, b):totable(), labels:totable()
  local points <const> = {}
  for j = 1, k do points[j] = {{}, {}} end
  for i, j in ipairs(of) do
    local p <const> = points[options.whole(j)]
    if p then p[1][#p[1] + 1], p[2][#p[2] + 1] = across[i], up[i] end
  end
  for j, p in ipairs(points) do
    if #p[1] > 0 then
      fig:scatter(p[1], p[2], {colour = (j - 1) % COLOURS + 1, label = k <= MOST_IN_LEGEND and ("cluster %d"):format(j) or nil})
    end
  end
  if centres then
    fig:scatter(centres:select(2, a), centres:select(2, b), {colour = "black", marker = "plus", size = 9, label = "centres"})
  end
  return fig
end

return M

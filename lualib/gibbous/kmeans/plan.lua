--- What a fit of k-means takes beside the points: every buffer to the byte, before anything is allocated.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
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

local function add_buffers(lines, buffers)
  for _, b in ipairs(buffers) do
    if b.bytes > 0 then lines[#lines + 1] = ("    %15s B  %s"):format(M.count(b.bytes), b.what) end
  end
end

function Plan.__tostring(p)
  local lines <const> = {("k-means of %s x %s %s, k = %s"):format(M.count(p.n), M.count(p.d), p.dtype, M.count(p.k)),
    ("  formula  (n d + k d) numbers of %d B and a label of 4 B a row: %s B"):format(p.size, M.count(p.formula)),
    ("  points   n d numbers: %s B%s"):format(M.count(p.data), p.tile > 0 and ", computed tile by tile and never stored" or ""),
    "  beside the points" .. (#p.devices > 0 and ", on the host" or "")}
  add_buffers(lines, p.buffers)
  lines[#lines + 1] = ("    %15s B  peak: %.2f B a row, %.3f of the formula with the points"):format(M.count(p.peak),
    p.peak / math.max(p.n, 1), (p.peak + p.data) / p.formula)
  for _, d in ipairs(p.devices) do
    lines[#lines + 1] = ("  on %s, which passes over %s rows%s"):format(d.name, M.count(d.rows), d.how)
    add_buffers(lines, d.buffers)
    lines[#lines + 1] = ("    %15s B  peak"):format(M.count(d.peak))
  end
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
    {what = "the host's copies of points, weights or a start of another device", bytes = b.mirrors},
    {what = ("exact sums of %s"):format(counted(b.workers, "thread")), bytes = b.sums},
    {what = "distances to the nearest seed, a number a row", bytes = b.seeds},
    {what = "candidates for seeds, 10 k + 1 rows, and their weights", bytes = b.candidates},
    {what = "bounds of distances, 8 B a row, less what seeds leave", bytes = b.bounds},
    {what = "packed centroids and tiles of rows", bytes = b.scratch},
    {what = "centroids before and after, sums, farthest rows", bytes = b.state},
    {what = "the start, then batches: sums, seeds, packed centroids", bytes = b.batches},
    {what = "the rows of the expression that are computed at a time", bytes = b.tile},
  }
end

local function sum(buffers)
  local bytes = 0
  for _, one in ipairs(buffers) do bytes = bytes + one.bytes end
  return bytes
end

--- How the rows of the host get to a device.
local function how(d)
  if d.sent == 0 then return "" end
  if d.stay == d.sent then return "; those of the host are copied once" end
  return ("; of %d pieces from the host %d stay, the others are copied in each pass"):format(d.sent, d.stay)
end

local function device_of(d)
  local buffers <const> = {
    {what = "labels, 4 B a row", bytes = d.labels},
    {what = "weights as f64", bytes = d.weights},
    {what = "exact sums", bytes = d.sums},
    {what = "distances to the nearest seed, a number a row", bytes = d.seeds},
    {what = "candidates for seeds, 10 k + 1 rows, and their weights", bytes = d.candidates},
    {what = "bounds of distances, 8 B a row, less what seeds leave", bytes = d.bounds},
    {what = "packed centroids and what a pass counts", bytes = d.scratch},
    {what = "rows of the host", bytes = d.rows},
    {what = "centroids before and after, sums, farthest rows", bytes = d.state},
    {what = "labels, centroids, shift and history, of two runs at most", bytes = d.results},
    {what = "the rows of the expression that are computed at a time", bytes = d.tile},
  }
  return {name = d.name, rows = d.n, how = how(d), buffers = buffers, peak = sum(buffers), room = d.room,
    minimum = d.minimum + d.state + d.candidates}
end

--- What the host takes where the other devices take as little as they can: their rows are then in more pieces.
local function least_of_host(list, o, runs, devices)
  local rooms <const>, least <const> = {}, {}
  for _, d in ipairs(devices) do rooms[d.name] = d.minimum end
  for key, v in pairs(o) do least[key] = v end
  least.rooms = rooms
  return sum(rows_of(core.kmeans_bytes(list, least), runs, o.start))
end

--- The plan of a fit. list: points; o: options of core.kmeans_bytes; runs: how many.
function M.new(list, o, runs)
  local b <const> = core.kmeans_bytes(list, o)
  local p <const> = {n = b.n, d = b.d, k = o.k, dtype = list[1].dtype, size = b.size, runs = runs, tile = b.tile, home = b.home,
    buffers = rows_of(b, runs, o.start), devices = {}}
  p.peak = sum(p.buffers)
  for i, d in ipairs(b.devices) do p.devices[i] = device_of(d) end
  p.data = p.n * p.d * p.size
  p.formula = (p.n * p.d + p.k * p.d) * p.size + 4 * p.n
  p.minimum = #p.devices > 0 and least_of_host(list, o, runs, p.devices) or p.peak
  return setmetatable(p, Plan)
end

--- What each other device may take, as the plan has it.
function M.rooms(p)
  local rooms <const> = {}
  for _, d in ipairs(p.devices) do rooms[d.name] = d.room end
  return rooms
end

--- The names of all accounts, the host's first.
function M.accounts(p)
  local names <const> = {p.home}
  for _, d in ipairs(p.devices) do names[#names + 1] = d.name end
  return names
end

--- One account has too little. minimum: the smallest budget that works, of this account or of all.
local function refuse(need, have, minimum, where, whose, what)
  core.raise("refused", ("%s: k-means takes %s B beside the points%s, %s %s B: the smallest %s that works is %s B"):format(what,
    M.count(need), where, whose, M.count(have), whose:find "budget" and "budget" or "free memory", M.count(minimum)),
    {need = need, have = have, minimum = minimum})
end

local FREE <const> = "what is free below gb.memory.limit is"

local function budget_of(budget, name)
  if type(budget) == "table" then return budget[name] end
  return budget or nil
end

--- The smallest budget that works: of one account, or, where one number is for all, of all.
local function smallest(p, budget, minimum)
  if type(budget) ~= "table" then
    minimum = math.max(minimum, p.minimum)
    for _, d in ipairs(p.devices) do minimum = math.max(minimum, d.minimum) end
  end
  return minimum
end

local function admit_device(p, d, budget, what)
  local most <const> = budget_of(budget, d.name)
  if d.peak <= d.room then return end
  if most and most <= d.room then
    refuse(d.minimum, most, smallest(p, budget, d.minimum), " on " .. d.name, "the budget is", what)
  end
  refuse(d.minimum, d.room, d.minimum, " on " .. d.name, FREE, what)
end

--- A budget for an account that the fit has not.
local function check_names(p, budget, what)
  local names <const> = M.accounts(p)
  local known <const> = {}
  for _, name in ipairs(names) do known[name] = true end
  for name in pairs(type(budget) == "table" and budget or {}) do
    if not known[name] then
      points.fail("option", what, "option 'budget' names %s, which has no part in it: %s", name, table.concat(names, ", "))
    end
  end
end

--- Raises where the plan does not fit the budget (bytes, of each account; or bytes by name of a device; or nil), or what is free
-- below gb.memory.limit.
function M.admit(p, budget, what)
  check_names(p, budget, what)
  local most <const> = budget_of(budget, p.home)
  if most and p.peak > most then
    refuse(p.peak, most, smallest(p, budget, p.minimum), #p.devices > 0 and " on " .. p.home or "", "the budget is", what)
  end
  for _, d in ipairs(p.devices) do admit_device(p, d, budget, what) end
  if p.peak <= core.memory.room(p.home) then return end
  collectgarbage()
  collectgarbage()
  if p.peak > core.memory.room(p.home) then refuse(p.peak, core.memory.room(p.home), p.minimum, "", FREE, what) end
end

M.fail = points.fail

return M

--- gb.kmeans: centroids that minimise the sum of squared distances of points to the nearest of them.
--
-- An object is a box: fit and partial_fit change it, and where they raise it is as it was. The points are never copied, joined or
-- converted whole. docs/guide/kmeans.md has formulas, bytes and rules.
local admission <const> = require "gibbous.base.admission"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local plan <const> = require "gibbous.kmeans.plan"
local points <const> = require "gibbous.kmeans.points"
local ranks <const> = require "gibbous.kmeans.ranks"
local fail <const> = points.fail

-- Fields of an object, in rawget(km, "_fields"):
--   o           options with their defaults, as checked
--   centroids   (k, d) f64; shift: (d) f64, that passes compute coordinates less of
--   labels      (n) i32, of the last fit
--   inertia iterations converged history empty bytes   of the last fit; bytes: on the host
--   on          {name, bytes, planned} of each other device; nil: none
--   counts      (k) f64: weight that each centroid of partial_fit stands for
local KMeans <const> = {__name = "gibbous.kmeans"}
local methods <const> = object.methods(KMeans, "a k-means", "km")

local function fields(self) return rawget(self, "_fields") end

-- Options -----------------------------------------------------------------------------------------------------------------

local MOST <const> = 1 << 24

local function whole_from(least)
  return function(v)
    if math.type(v) ~= nil and math.tointeger(v) and v >= least and v <= MOST then return true end
    return false, ("a whole number, %d to %d"):format(least, MOST)
  end
end

local function is_start(v)
  return v == "k-means++" or v == "k-means||" or v == "random" or core.as_tensor(v) ~= nil or type(v) == "function"
end

local function start_rule(v)
  if is_start(v) then return true end
  return false, "'k-means++', 'k-means||', 'random', a tensor (k, d) or a function of the points, k and the number of the run"
end

local function algorithm_rule(v)
  if v == "auto" or v == "elkan" or v == "lloyd" or v == "minibatch" then return true end
  return false, "one of auto, elkan, lloyd, minibatch"
end

local function runs_rule(v)
  if v == "auto" then return true end
  local ok <const>, expected <const> = whole_from(1)(v)
  return ok, "'auto' or " .. (expected or "")
end

local function tol_rule(v) return type(v) == "number" and v >= 0 and v < math.huge, "a number, 0 or more" end

local function any() return true end

local function device_rule(v)
  if type(v) == "string" then return true end
  local list <const> = type(v) == "table" and getmetatable(v) == nil and #v > 0
  for i = 1, list and #v or 0 do
    if type(v[i]) ~= "string" then return false, "a name of a device or a list of names" end
  end
  return list, "a name of a device or a list of names"
end

--- Bytes of each account, or by name of a device.
local function budget_of(v)
  if type(v) ~= "table" or getmetatable(v) ~= nil then return core.bytes(v, "gb.kmeans: option 'budget'") end
  local out <const> = {}
  for name, bytes in pairs(v) do
    if type(name) ~= "string" then fail("option", "gb.kmeans", "option 'budget' must be bytes, or bytes by name of a device") end
    out[name] = core.bytes(bytes, ("gb.kmeans: option 'budget' of %s"):format(name))
  end
  return out
end

local SPEC <const> = {k = whole_from(1), init = start_rule, n_init = runs_rule, max_iter = whole_from(1), tol = tol_rule,
  algorithm = algorithm_rule, spherical = "boolean", seed = "integer", device = device_rule, budget = any, weights = any,
  ranks = "boolean"}

local function checked(opts)
  local o <const> = options.parse(opts, SPEC, "gb.kmeans")
  if not o.k then fail("option", "gb.kmeans", "option 'k' is needed: the number of clusters") end
  local out <const> = {k = math.tointeger(o.k), init = o.init or "k-means++", n_init = o.n_init or "auto",
    max_iter = math.tointeger(o.max_iter or 300), tol = o.tol or o.tol == nil and 1e-4 or 0, algorithm = o.algorithm or "auto",
    spherical = o.spherical or false, seed = o.seed or 0, device = o.device or nil, weights = o.weights or nil,
    ranks = o.ranks or nil, budget = o.budget and budget_of(o.budget) or nil}
  if out.ranks and out.algorithm == "minibatch" then
    fail("option", "gb.kmeans", "algorithm = 'minibatch' is of one rank: with ranks = true choose 'lloyd', or km:partial_fit")
  end
  local start <const> = type(out.init) ~= "string" and core.as_tensor(out.init) or nil
  if start and (start.ndim ~= 2 or #start ~= out.k) then
    fail("shape", "gb.kmeans", "option 'init' must have k = %d rows, got shape %s", out.k, core.told(start))
  end
  return out
end

--- How many runs a fit makes.
local function runs_of(o)
  if o.n_init ~= "auto" then return math.tointeger(o.n_init) end
  return (o.init == "random" or type(o.init) == "function") and 10 or 1
end

-- Fits ----------------------------------------------------------------------------------------------------------------------

--- The start of run 'run' as core takes it: a name, or a tensor with its values.
local function start_of(f, X, list, run, what)
  local o <const> = f.o
  if type(o.init) == "string" then return o.init end
  local _, d <const> = points.extent(list)
  local v = o.init
  if type(v) == "function" then v = v(X, o.k, run) end
  local t <const> = core.as_tensor(v)
  if t == nil then fail("option", what, "init must give a tensor %dx%d, got %s", o.k, d, core.type(v)) end
  if t.ndim ~= 2 or #t ~= o.k or t.shape[2] ~= d then
    fail("shape", what, "the start must be %dx%d, a row a cluster and a column a column of the points, got %s", o.k, d,
      core.told(t))
  end
  return core.known(t) and t or t:eval()
end

--- Names of the devices that pass over the rows; nil: where the rows lie.
local function devices_of(o)
  if type(o.device) == "string" then return {o.device} end
  return o.device
end

local function core_options(f, weights, start, run, rooms)
  local o <const> = f.o
  return {k = o.k, start = start, max_iter = o.max_iter, tol = o.tol, seed = o.seed + (run or 1) - 1, weights = weights,
    devices = devices_of(o), rooms = rooms or o.budget, spherical = o.spherical,
    minibatch = o.algorithm == "minibatch", bounded = o.algorithm == "elkan",
    ranks = o.ranks, runs = runs_of(o)}
end

--- Of several ranks the core knows how many rows there are.
local function check_rows(list, o, what)
  local n <const>, k <const> = points.extent(list), o.k
  if n < k and not o.ranks then
    local remedy <const> = n > 0 and ("choose k of at most %d"):format(n) or "give a row a cluster at least"
    fail("shape", what, "%s cannot be %d clusters: %s", counted(n, "row"), k, remedy)
  end
end

--- A start that a function will give is planned as one that is not f64.
local function plan_of(f, X, list, weights, what)
  local start
  if type(f.o.init) == "function" then start = core.empty(f.o.k, list[1].shape[2], {dtype = "f32"})
  else start = start_of(f, X, list, 1, what) end
  return plan.new(list, core_options(f, weights, start), runs_of(f.o))
end

local function close(r)
  r.labels:close()
  r.centroids:close()
  r.shift:close()
  r.history:close()
end

--- The best of all runs, as fields.
local function best_run(f, X, list, weights, rooms, what)
  local best
  for run = 1, runs_of(f.o) do
    local labels <const>, centroids <const>, shift <const>, history <const>, facts <const> = ranks.joined(f.o.ranks, function()
      return core.kmeans_fit(list, core_options(f, weights, start_of(f, X, list, run, what), run, rooms))
    end)
    local r <const> = {labels = labels, centroids = centroids, shift = shift, history = history, facts = facts, run = run}
    if best == nil then best = r
    elseif facts.inertia < best.facts.inertia then
      close(best)
      best = r
    else close(r) end
  end
  return best
end

--- f() and the bytes that it takes at most, of each account. Older garbage stays meanwhile, unless memory is short: what it gives
--- back would count as not taken.
local function measured(names, f)
  local before <const>, collects <const> = core.high_water(names), collectgarbage "isrunning"
  collectgarbage "stop"
  local got <const> = table.pack(pcall(f))
  if collects then collectgarbage "restart" end
  local most <const> = core.high_water(names, before)
  if not got[1] then error(got[2], 0) end
  return got[2], most
end

--- Bytes taken and planned on each device except the host, as a list of {name, bytes, planned}; nil where the host alone was used.
local function on_devices(p, most)
  local on <const> = {}
  for i, d in ipairs(p.devices) do on[i] = {name = d.name, bytes = most[i + 1], planned = d.peak} end
  return #on > 0 and on or nil
end

local function device_bytes(f)
  if not f.on then return nil end
  local bytes <const> = {}
  for _, d in ipairs(f.on) do bytes[d.name] = d.bytes end
  return bytes
end

local function set(f, values)
  for _, name in ipairs{"centroids", "shift", "labels", "inertia", "iterations", "converged", "history", "empty", "bytes",
    "on", "counts", "planned", "rows"} do
    f[name] = values[name]
  end
end

local FIT <const> = {weights = any}

--- Points, weights and the plan of a fit that there is room for.
local function prepared(f, X, opts)
  local o <const> = options.parse(opts, FIT, "fit")
  local list <const> = points.list(X, "fit")
  check_rows(list, f.o, "fit")
  local weights <const> = points.weights(o.weights or f.o.weights, list, "fit")
  local p <const> = plan_of(f, X, list, weights, "fit")
  plan.admit(p, f.o.budget, "fit")
  return list, weights, p
end

--- Finds the centroids of the rows of X: a tensor (n, d) of any dtype and strides, a list of tensors (one data set, never joined),
-- or a lazy expression, of which some rows at a time are computed. o: weights (n), one a row, 0 or more. Gives km.
-- Errors: nan (row and column), shape, option, refused (with the smallest budget), interrupted; km is then as before.
function methods.fit(self, X, opts)
  local f <const> = fields(self)
  admission.ask(function() return self:plan(X, opts).peak end)
  local list <const>, weights <const>, p <const> = ranks.joined(f.o.ranks, function() return prepared(f, X, opts) end)
  local r <const>, most <const> = measured(plan.accounts(p), function()
    return best_run(f, X, list, weights, plan.rooms(p), "fit")
  end)
  set(f, {on = on_devices(p, most), centroids = r.centroids, shift = r.shift, labels = r.labels, inertia = r.facts.inertia,
    iterations = r.facts.iterations, converged = r.facts.converged, history = r.history, empty = r.facts.empty, bytes = most[1],
    planned = p.peak, rows = p.n})
  return self
end

--- What km:fit(X) would take beside X: .peak, .formula, .data in bytes, .buffers {what, bytes}. X may be gb.empty(n, d), too.
-- Nothing is computed, and nothing but the plan is allocated.
function methods.plan(self, X, opts)
  local f <const> = fields(self)
  local o <const> = options.parse(opts, FIT, "plan")
  local list <const> = points.list(X, "plan")
  check_rows(list, f.o, "plan")
  return plan_of(f, X, list, points.weights(o.weights or f.o.weights, list, "plan"), "plan")
end

-- Centroids that are known --------------------------------------------------------------------------------------------------

local function fitted(self, what)
  local f <const> = fields(self)
  if not f.centroids then fail("option", what, "there are no centroids yet: km:fit(X) or km:partial_fit(X) finds them") end
  return f
end

local function known_points(f, X, what)
  local list <const> = points.list(X, what)
  points.check_width(list, f.centroids.shape[2], what)
  return list
end

local function apply(f, list, wanted)
  return core.kmeans_apply(list, {k = f.o.k, centroids = f.centroids, shift = f.shift, devices = devices_of(f.o),
    rooms = f.o.budget, spherical = f.o.spherical, weights = wanted.weights, labels = wanted.labels, sums = wanted.sums,
    ranks = f.o.ranks})
end

--- Numbers of the nearest centroids; 'what' asks for them.
local function nearest(self, X, what)
  local f <const> = fitted(self, what)
  return (apply(f, known_points(f, X, what), {labels = true}))
end

--- Numbers of the nearest centroids, (n) of i32, from 1; of equally near ones the first. Evaluates; 4 bytes a row, and some
-- thousand rows at a time.
function methods.predict(self, X) return nearest(self, X, "predict") end

--- Minus the sum of w |x - c|^2 of the rows, of all ranks, and their nearest centroids.
function methods.score(self, X, opts)
  local f <const> = fitted(self, "score")
  local _, inertia <const> = ranks.joined(f.o.ranks, function()
    local o <const> = options.parse(opts, FIT, "score")
    local list <const> = known_points(f, X, "score")
    return apply(f, list, {weights = points.weights(o.weights, list, "score")})
  end)
  return -inertia
end

local function distances(f, x)
  local wide <const> = x.dtype == "f64" or x.dtype == "i64" or x.dtype == "i32"
  local t <const> = {dtype = wide and "f64" or "f32"}
  local from = x.dtype == t.dtype and x or x:to(t)
  if f.o.spherical then from = from / (from * from):sum(2, {keepdim = true}):sqrt() end
  return core.sqdist(from - f.shift:to(t), (f.centroids - f.shift):to(t), nil):sqrt()
end

--- Distances (n, k) to the centroids, as a lazy expression that is never stored unless it is asked for whole; of a list a list.
-- With spherical = true of the rows divided by their lengths: sqrt(2 - 2 cos).
function methods.transform(self, X)
  local f <const> = fitted(self, "transform")
  local list <const> = known_points(f, X, "transform")
  if core.as_tensor(X) then return distances(f, list[1]) end
  local out <const> = {}
  for i, x in ipairs(list) do out[i] = distances(f, x) end
  return out
end

-- Mini-batches ----------------------------------------------------------------------------------------------------------------

--- Centroids from the start alone.
local function begin(f, X, list, weights)
  check_rows(list, f.o, "partial_fit")
  local o <const> = core_options(f, weights, start_of(f, X, list, 1, "partial_fit"))
  o.max_iter, o.minibatch = 0, false
  local labels <const>, centroids <const>, shift <const> = core.kmeans_fit(list, o)
  labels:close()
  return centroids, shift, core.zeros(f.o.k)
end

--- Rows divided by their lengths; where one has none, what it was before.
local function directions(rows, before)
  local length <const> = (rows * rows):sum(2, {keepdim = true}):sqrt()
  local some <const> = length:gt(1e-6)
  return core.where(some, rows / core.where(some, length, 1.0), before)
end

--- Moves each centroid to the mean of all rows of batches that were nearest to it when they came (Sculley, 2010). The first batch
-- starts the centroids as a fit would. km.inertia is that of the batch at the centroids it met. Gives km.
function methods.partial_fit(self, X, opts)
  local f <const> = fields(self)
  local list <const>, weights <const> = ranks.joined(f.o.ranks, function()
    local o <const> = options.parse(opts, FIT, "partial_fit")
    local rows <const> = points.list(X, "partial_fit")
    if f.centroids then points.check_width(rows, f.centroids.shape[2], "partial_fit") end
    return rows, points.weights(o.weights, rows, "partial_fit")
  end)
  local now <const> = {o = f.o, centroids = f.centroids, shift = f.shift, counts = f.counts}
  if not f.centroids then
    now.centroids, now.shift, now.counts = ranks.joined(f.o.ranks, function() return begin(f, X, list, weights) end)
  end
  local counts <const> = now.counts or core.zeros(f.o.k)
  local _, inertia <const>, sums <const> = ranks.joined(f.o.ranks, function()
    return apply(now, list, {weights = weights, sums = true})
  end)
  local d <const> = now.centroids.shape[2]
  local total <const> = counts + sums:select(2, d + 1)
  local seen <const> = total:gt(0):unsqueeze(2)
  local before <const> = (now.centroids - now.shift) * counts:unsqueeze(2) + sums:slice(2, 1, d)
  local mean = before / core.where(seen, total:unsqueeze(2), 1.0) + now.shift
  if f.o.spherical then mean = directions(mean, now.centroids) end
  local centroids <const> = core.where(seen, mean, now.centroids)
  core.eval(centroids, total)
  local history <const> = {}
  for i, v in ipairs(f.counts and f.history and f.history:totable() or {}) do history[i] = v end
  history[#history + 1] = inertia
  set(f, {centroids = centroids, shift = now.shift, counts = total, inertia = inertia, history = core.tensor(history),
    iterations = #history, converged = false, empty = math.tointeger(total:le(0):to "i64":sum():item())})
  return self
end

-- Fields and text -------------------------------------------------------------------------------------------------------------

local PUBLIC <const> = {centroids = true, labels = true, inertia = true, iterations = true, converged = true, history = true,
  empty = true, bytes = true, device_bytes = true, counts = true, k = true}

function KMeans.__index(self, key)
  local f <const> = fields(self)
  if methods[key] then return methods[key] end
  if key == "device_bytes" then return device_bytes(f) end
  if key == "k" then return f.o.k end
  if PUBLIC[key] then return f[key] end
  object.no_field("k-means", key, methods, PUBLIC)
end

function KMeans.__newindex(_, key)
  core.raise("option", ("km.%s cannot be assigned: options are chosen when gb.kmeans{...} is called"):format(tostring(key)))
end

local function init_text(o)
  if type(o.init) == "string" then return ("%s, seed %d"):format(o.init, o.seed) end
  return type(o.init) == "function" and "a function's start" or "a given start"
end

function KMeans.__tostring(self)
  local f <const> = fields(self)
  local lines <const> = {("k-means  k = %d, %s%s%s"):format(f.o.k, f.o.spherical and "spherical, " or "", init_text(f.o),
    runs_of(f.o) > 1 and (", the best of %d runs"):format(runs_of(f.o)) or "")}
  if not f.centroids then
    lines[2] = "  no centroids yet: km:fit(X)"
    return table.concat(lines, "\n")
  end
  local d <const> = f.centroids.shape[2]
  if f.counts then
    lines[2] = ("  %d batch%s of %s, inertia of the last one %.6g"):format(f.iterations,
      f.iterations == 1 and "" or "es", counted(d, "column"), f.inertia)
  else
    lines[2] = ("  %s rows of %s%s, inertia %.6g"):format(plan.count(f.rows), counted(d, "column"), f.o.ranks and " here" or "",
      f.inertia)
    lines[3] = ("  %s, %s%s"):format(counted(f.iterations, "iteration"),
      f.converged and "converged" or "not converged: max_iter ends it",
      f.empty > 0 and (", %d of the clusters without rows"):format(f.empty) or "")
    lines[4] = f.bytes and ("  %s beside the rows, planned %s"):format(plan.text(f.bytes), plan.text(f.planned)) or nil
    for _, d in ipairs(f.on or {}) do
      lines[#lines + 1] = ("  %s on %s, planned %s"):format(plan.text(d.bytes), d.name, plan.text(d.planned))
    end
  end
  return table.concat(lines, "\n")
end

-- Construction ------------------------------------------------------------------------------------------------------------------

KMeans.__children = function() return {} end

--- The object with these fields; o as gb.kmeans checks it.
local function new(o, values)
  local f <const> = {o = o}
  set(f, values or {})
  return setmetatable({_fields = f}, KMeans)
end

require "gibbous.kmeans.uses"{methods = methods, fitted = fitted, known_points = known_points, nearest = nearest}

require "gibbous.kmeans.store"{methods = methods, fields = fields, checked = checked, new = new, name = KMeans.__name}

--- K-means by Lloyd's iterations with exact sums: the same bits for any number of threads, pieces and bytes.
---@param opts table  k; init, n_init, max_iter, tol, algorithm, spherical, seed, device, budget, weights, ranks
---@return gibbous.kmeans
return function(opts) return new(checked(opts)) end

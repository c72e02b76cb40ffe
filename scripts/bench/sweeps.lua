--- What sweeps cost: transactions of 16 processes, a trial beside its work, looks at a store of many trials, bytes of trials
-- that are admitted under a limit.
--   gibbous scripts/bench/sweeps.lua [--trials 10000] [--only transactions|trials|looks|admission] [--carrier sqlite|journal]
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local store <const> = require "gibbous.sweep.store"

local o <const> = gb.cli{"Measures what sweeps cost.", trials = {1000, "of the study of instant trials"},
  only = {default = "all", choices = {"all", "transactions", "trials", "looks", "admission"}},
  carrier = {default = "sqlite", choices = {"sqlite", "journal"}}, worker = {"", "internal: a writer's store"}}

local SELF <const>, PROGRAM <const> = arg[0], "/proc/self/exe"

local function folder()
  local path <const> = os.tmpname()
  os.remove(path)
  core.make_folder(path)
  return path
end

local function remove(path) os.execute("rm -rf '" .. path .. "'") end

local function wait_all(children)
  local bad = 0
  for _, child in ipairs(children) do bad = bad + (child:reap().exit == 0 and 0 or 1) end
  return bad
end

-- Transactions ----------------------------------------------------------------------------------------------------------------

local WRITERS <const>, CLAIMS <const>, REPORTS <const> = 16, 640, 5

--- Claims trials until there are none, with reports and an acknowledgement each; as a worker does.
local function write(path)
  local s <close> = store.open(path, "write")
  local pid <const>, started <const>, host <const> = core.process()
  while true do
    local row <const> = s:claim{host = host, pid = pid, started = started, limit = 1 << 40, least = 1, now = os.time()}
    if not row then return end
    for step = 1, REPORTS do s:report(row, step, step / 2, 0) end
    assert(s:acknowledge(row, {class = "ok", result = "{}", metric = 1}))
  end
end

local function transactions()
  local path <const> = folder()
  local trials <const> = {}
  for i = 1, CLAIMS do
    local params <const> = ("{\"i\":%d}"):format(i)
    trials[i] = {id = ("%016x"):format(i), params = params, cell = params, seed = i}
  end
  do
    local s <close> = store.open(path, "create", o.carrier)
    s:want(trials, "code")
  end
  local t <const>, children <const> = gb.clock(), {}
  for i = 1, WRITERS do children[i] = core.child({PROGRAM, SELF, "--worker", path}) end
  local bad <const> = wait_all(children)
  local seconds <const> = gb.clock() - t
  local s <close> = store.open(path, "read")
  local done <const> = #s:trials "class = 'ok' AND attempts = 1"
  local n <const> = CLAIMS * (REPORTS + 2)
  print(("%s: %d processes: %d transactions in %.2f s, %.0f a second; %d processes failed, %d of %d trials ended once"):format(
    o.carrier, WRITERS, n, seconds, n / seconds, bad, done, CLAIMS))
  remove(path)
end

-- Trials ----------------------------------------------------------------------------------------------------------------------

local function script(path, text)
  local f <close> = assert(io.open(path .. "/study.lua", "wb"))
  f:write('local gb = require "gibbous"\n', text, "\n")
  return path .. "/study.lua"
end

local function sweep(path, file, ...)
  local t <const> = gb.clock()
  local child <close> = core.child({PROGRAM, "sweep", "run", file, "--store", path .. "/store", "--quiet", ...},
    {"GIBBOUS_STORE=" .. o.carrier}, path .. "/out.txt")
  core.wait{child}
  local how <const> = child:reap()
  return gb.clock() - t, how
end

-- Every thousandth trial writes the time and the bytes of its coordinator, its parent, beside the store.
local INSTANT <const> = [[
local function note(i)
  local stat <close> = assert(io.open("/proc/self/stat"))
  local parent <const> = stat:read "l":match "^.*%%) %%S (%%d+)"
  local status <close> = assert(io.open("/proc/" .. parent .. "/status"))
  local out <close> = assert(io.open(%q, "a"))
  out:write(("%%d %%.17g %%s\n"):format(i, gb.clock(), status:read "a":match "VmRSS:%%s*(%%d+)"))
end
return gb.sweep{name = "instant", space = {i = gb.sweep.range(1, %d)}, metric = "v", run = function(p)
  if p.i == 1 or p.i %% 1000 == 0 then note(p.i) end
  return {v = p.i}
end}]]

local function size_of(path)
  local size = 0
  for _, name in ipairs{"/study.db", "/journal/*.jsonl"} do
    for _, file_path in ipairs(core.glob(path .. "/store" .. name)) do
      local f <close> = assert(io.open(file_path, "rb"))
      size = size + f:seek "end"
    end
  end
  return size
end

--- A line for each thousand trials.
local function print_thousands(path)
  local last_i, last_t
  for line in io.lines(path) do
    local i <const>, t <const>, kib <const> = line:match "(%d+) (%S+) (%d+)"
    if last_i then
      local each <const> = (t - last_t) / (i - last_i) * 1e3
      print(("  %6d to %6d: %.1f ms a trial, coordinator %.1f MiB"):format(last_i, i, each, kib / 1024))
    end
    last_i, last_t = i, t
  end
end

--- A study of n trials that compute nothing is run: milliseconds a trial, bytes of its store a trial. Gives its folder.
local function instant(n)
  local path <const> = folder()
  local file <const> = script(path, INSTANT:format(path .. "/thousands", n))
  local seconds <const>, how <const> = sweep(path, file, "-j", "1")
  local s <close> = store.open(path .. "/store", "read")
  assert(#s:trials "class = 'ok'" == n)
  print(("%s: %6d trials, one at a time: %.1f ms a trial, %.1f of it processor; store %.0f B a trial; coordinator %.1f MiB"):format(
    o.carrier, n, seconds / n * 1e3, (how.user + how.system) / n * 1e3, size_of(path) / n, how.peak / 2 ^ 20))
  print_thousands(path .. "/thousands")
  return path
end

--- How long the verbs that look take with the store of a folder, and a start that finds nothing to do. Journals are also looked at
-- without their snapshot, before the start, which makes a new one.
local function looks(path)
  local function timed(words, what)
    local t <const> = gb.clock()
    local child <close> = core.child({PROGRAM, "sweep", table.unpack(words)}, nil, path .. "/look.txt")
    core.wait{child}
    local how <const> = child:reap()
    print(("  sweep %-7s %.2f s, %.2f of it processor, %.0f MiB%s"):format(what or words[1], gb.clock() - t, how.user + how.system,
      how.peak / 2 ^ 20, how.exit == 0 and "" or ", status " .. tostring(how.exit)))
  end
  if os.remove(path .. "/store/snapshot") then timed({"watch", path .. "/store"}, "watch, all lines") end
  timed({"run", path .. "/study.lua", "--store", path .. "/store", "--quiet"}, "run")
  for _, words in ipairs{{"ls"}, {"watch"}, {"table", "--rows", "i"}, {"plot", "--out", path .. "/figure.svg"},
    {"export", "--out", path .. "/trials.csv"}, {"report", "--out", path .. "/report.html"}} do
    timed{words[1], path .. "/store", table.unpack(words, 2)}
  end
end

-- Admission -------------------------------------------------------------------------------------------------------------------

--- Trials that hold random bytes for a random time, all that fit at once, under a limit of 1 GiB. A reader looks every 20 ms.
local function admission()
  local path <const>, limit <const>, n <const> = folder(), 1 << 30, 200
  local file <const> = script(path, ([[return gb.sweep{name = "admission", space = {i = gb.sweep.range(1, %d)}, metric = "v",
    search = "grid", seed = 5, budget = {memory = "1 GiB"}, run = function(p, trial)
      local rows = 10000 + trial.seed %% 990000                      -- 0.64 to 64 MB of points, twice in the fit
      local x = gb.rand(rows, 16, {seed = trial.seed})
      gb.kmeans{k = 4, max_iter = 2, n_init = 1, seed = 1, init = "random"}:fit(x)
      local till = gb.clock() + 0.2 + trial.seed %% 7 / 10
      while gb.clock() < till do end
      return {v = rows}
    end}]]):format(n))
  local child <close> = core.child({PROGRAM, "sweep", "run", file, "--store", path .. "/store", "--quiet", "-j", "64"},
    {"GIBBOUS_STORE=" .. o.carrier}, path .. "/out.txt")
  local most, over, idle, looks = 0, 0, 0, 0
  while not core.wait({child}, 0.02) do
    if store.is(path .. "/store") then
      local ok <const>, used <const>, fits <const> = pcall(function()
        local s <close> = store.open(path .. "/store", "read")
        local u <const> = s.db:rows "SELECT COALESCE(SUM(room), 0) AS n FROM trial WHERE state = 'running'"[1].n
        return u, s.db:rows("SELECT COUNT(*) AS n FROM trial WHERE state = 'pending' AND MAX(COALESCE(need, 0), ?) <= ?", 64 << 20,
          limit - u)[1].n
      end)
      if ok then
        looks, most, over = looks + 1, math.max(most, used), over + (used > limit and 1 or 0)
        idle = idle + (fits > 0 and 1 or 0)
      end
    end
  end
  child:reap()
  local s <close> = store.open(path .. "/store", "read")
  local rows <const> = s:trials "class = 'ok'"
  local beyond = 0
  for _, t in ipairs(rows) do beyond = beyond + (t.peak > t.room and 1 or 0) end
  print(("%d trials under 1 GiB: %d ok, %d used more than they had; %d looks: at most %.0f MiB given out, above the "
    .. "limit %d times, room for one that waited %.1f %% of the looks"):format(n, #rows, beyond, looks, most / 2 ^ 20, over,
    100 * idle / looks))
  remove(path)
end

if o.worker ~= "" then return write(o.worker) end
if o.only == "all" or o.only == "transactions" then transactions() end
if o.only == "all" or o.only == "trials" or o.only == "looks" then
  remove(instant(100))
  local path <const> = instant(o.trials)
  if o.only ~= "trials" then looks(path) end
  remove(path)
end
if o.only == "all" or o.only == "admission" then admission() end

--- gb.kmeans over several devices whose memory the host reads, and over rows in files that are larger than the limit: bits, bytes
-- of each account, budgets by name. tests/cuda/specs/kmeans_spec.lua has the same on GPUs.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local raises <const> = support.raises

local at_home <const> = gb.devices()[1].name == "cpu" and not os.getenv "GIBBOUS_DEVICE"

local function settle()
  core.drop_caches()
  for _ = 1, 3 do collectgarbage() end
end

local function same(want, got)
  assert.is_true(got.centroids:equal(want.centroids))
  assert.is_true(got.labels:equal(want.labels))
  assert.is_true(got.history:equal(want.history))
  assert.equal(want.inertia, got.inertia)
end

describe("gb.kmeans over several devices", function()
  local before
  setup(function() if at_home then before = gb.config{devices = 3} end end)
  teardown(function()
    if before then gb.config(before) end
    support.sweep()
    settle()                                           -- what later specs measure has none of this
  end)

  it("has the bits of one, and the bytes of the plan on each", function()
    if not at_home then return end
    local x <const> = (gb.randn(7000, 5, {seed = 3}) * 2 + gb.range(1, 7000):unsqueeze(2) % 3):eval()
    local weights <const> = (gb.range(1, 7000) % 3):eval()
    for _, init in ipairs{"k-means++", "random"} do
      local want <const> = gb.kmeans{k = 6, init = init, n_init = 2}:fit(x, {weights = weights})
      for _, device in ipairs{"cpu:2", {"cpu", "cpu:3"}, {"cpu:3", "cpu", "cpu:2"}} do
        for _, list in ipairs{x, {x:slice(1, 1, 11), x:slice(1, 12, 4000), x:slice(1, 4001, 7000)}} do
          local km <const> = gb.kmeans{k = 6, init = init, n_init = 2, device = device}
          local p <const> = km:plan(list, {weights = weights})
          settle()
          km:fit(list, {weights = weights})
          same(want, km)
          assert.equal(p.peak, km.bytes)
          for _, d in ipairs(p.devices) do assert.equal(d.peak, km.device_bytes[d.name]) end
          assert.is_true(km:predict(list):equal(want.labels))
          assert.equal(want:score(x, {weights = weights}), km:score(list, {weights = weights}))
        end
      end
    end
    for _, device in ipairs{"cpu:2", {"cpu:3", "cpu", "cpu:2"}} do
      local o <const> = {k = 6, init = "k-means||", algorithm = "elkan", spherical = true}
      local want <const> = gb.kmeans(o):fit(x)
      o.device = device
      local p <const> = gb.kmeans(o):plan(x)
      for _, budget in ipairs{false, true} do
        o.budget = budget and {cpu = p.peak, [p.devices[1].name] = p.devices[1].peak} or nil
        settle()
        local km <const> = gb.kmeans(o):fit(x)
        same(want, km)
        assert.equal(p.peak, km.bytes)
        for _, d in ipairs(p.devices) do assert.equal(d.peak, km.device_bytes[d.name]) end
      end
      o.budget = {[p.devices[1].name] = p.devices[1].peak - 1}
      local err <const> = raises("refused", " on cpu:", gb.kmeans(o).fit, gb.kmeans(o), x)
      assert.equal(p.devices[1].peak, err.minimum)
    end
    local lazy <const> = gb.randn(500000, 4, {seed = 9})
    local o <const> = {k = 3, max_iter = 2, device = {"cpu", "cpu:2"}}
    same(gb.kmeans{k = 3, max_iter = 2}:fit(lazy), gb.kmeans(o):fit(lazy))
    assert.is_false(core.known(lazy))
  end)

  it("shares rows in whole blocks, and says what each device has", function()
    if not at_home then return end
    local km <const> = gb.kmeans{k = 2, device = {"cpu", "cpu:2"}}
    local p <const> = km:plan(gb.empty(2000, 3))
    assert.equal("cpu:2", p.devices[1].name)
    assert.equal(2000 - 1920, p.devices[1].rows)
    assert.matches("beside the points, on the host\n", tostring(p))
    assert.matches("\n  on cpu:2, which passes over 80 rows\n", tostring(p))
    km:fit(gb.rand(2000, 3, {seed = 1}))
    assert.matches("\n  [%d.]+ K?B on cpu:2, planned [%d.]+ K?B$", tostring(km))
    assert.equal(0, gb.kmeans{k = 2, device = {"cpu", "cpu:2"}}:plan(gb.empty(960, 3)).devices[1].rows)
  end)

  it("has a budget for each account", function()
    if not at_home then return end
    local x <const> = gb.rand(4000, 3, {seed = 1}):eval()
    local o <const> = {k = 4, device = {"cpu", "cpu:2"}}
    local p <const> = gb.kmeans(o):plan(x)
    local least <const> = {cpu = p.peak, ["cpu:2"] = p.devices[1].peak}
    o.budget = least
    gb.kmeans(o):fit(x)
    for name in pairs(least) do
      o.budget = {cpu = least.cpu, ["cpu:2"] = least["cpu:2"]}
      o.budget[name] = o.budget[name] - 1
      local err <const> = raises("refused", (" on %s, the budget is"):format(name), gb.kmeans(o).fit, gb.kmeans(o), x)
      assert.equal(least[name], err.minimum)
    end
    o.budget = 1000
    local err <const> = raises("refused", "the smallest budget that works", gb.kmeans(o).fit, gb.kmeans(o), x)
    o.budget = err.minimum
    gb.kmeans(o):fit(x)
    o.budget = err.minimum - 1
    raises("refused", "the smallest budget that works", gb.kmeans(o).fit, gb.kmeans(o), x)
  end)

  it("names what is wrong", function()
    if not at_home then return end
    local x <const> = gb.rand(40, 3, {seed = 1})
    local function fit(o) return function() return (gb.kmeans(o):fit(x)) end end
    raises("device", "device 'cpu' is listed twice", fit{k = 2, device = {"cpu", "cpu"}})
    raises("device", "there is no device 'gpu9'", fit{k = 2, device = {"cpu", "gpu9"}})
    raises("option", "'device' must be a name of a device or a list of names", fit{k = 2, device = {}})
    raises("option", "'device' must be a name of a device or a list of names", fit{k = 2, device = {"cpu", 3}})
    raises("option", "bytes by name of a device", fit{k = 2, budget = {1000}})
    raises("option", "'budget' of cpu", fit{k = 2, budget = {cpu = "much"}})
    if process.has_far() then
      local out <const>, errors <const> = process.run({"-e", [[
        local gb = require "gibbous"
        local x = gb.rand(40, 3, {seed = 1, device = "far"})
        print(gb.kmeans{k = 2}:fit(x).centroids:equal(gb.kmeans{k = 2}:fit(x:to "cpu").centroids))
        print(select(2, pcall(function() return (gb.kmeans{k = 2, device = "far"}:fit(x)) end)).message)]]},
        {env = "GIBBOUS_DEVICE= GIBBOUS_DEVICE_PATH=" .. process.tests})
      assert.equal("", errors)
      assert.equal("true\nk-means: device 'far' has no passes over points; without 'device' the host makes them\n", out)
    end
  end)
end)

describe("gb.kmeans of rows in files", function()
  teardown(function()
    support.sweep()
    settle()
  end)

  -- 64 MiB of rows in a process that may hold 16 MiB; the plan is kept as if they were in memory.
  local script <const> = [[
    local gb, core = require "gibbous", require "gibbous.core"
    local path, n, d, limit = arg[1], 262144, 64, arg[2]
    local x = limit == "none" and gb.data.read(path) or gb.data.map(path)
    if arg[3] == "two" then x = {x:slice(1, 1, 100000), gb.data.map(arg[4])} end
    if limit ~= "none" then gb.memory.limit(limit) end
    local used = gb.memory.report().used
    local km = gb.kmeans{k = 8, max_iter = 4, seed = 5}
    local p = km:plan(x)
    km:fit(x)
    assert(limit == "none" or km.bytes == p.peak and p.peak < (16 << 20))
    local labels = km:predict(x)
    print(core.digest{km.centroids, km.labels, km.history, labels}, ("%a %a"):format(km.inertia, km:score(x)))
    if limit ~= "none" then
      assert(gb.memory.report().peak <= (16 << 20) and gb.memory.report().mapped >= (64 << 20))
      local anonymous = 0
      for line in io.lines "/proc/self/status" do anonymous = tonumber(line:match "^RssAnon:%s+(%d+)") or anonymous end
      assert(anonymous * 1024 < (48 << 20), anonymous)
    end]]

  local function run(...)
    local program <const> = support.path ".lua"
    do
      local f <close> = assert(io.open(program, "wb"))
      f:write(script)
    end
    local out <const>, errors <const>, rc <const> = process.run({program, ...}, {env = "GIBBOUS_DEVICE="})
    assert.equal("", errors)
    assert.equal(0, rc)
    return out
  end

  it("has the bits of the rows in memory, in a fourth of their bytes", function()
    local path <const>, rest <const> = support.path ".npy", support.path ".npy"
    local x <const> = gb.randn(262144, 64, {seed = 7, dtype = "f32", device = "cpu"}):eval()
    gb.data.write(path, x)
    gb.data.write(rest, x:slice(1, 100001, 262144))
    x:close()
    local want <const> = run(path, "none")
    assert.equal(want, run(path, "16 MiB"))
    assert.equal(want, run(path, "16 MiB", "two", rest))
  end)

  it("reads files of columns, and of each type", function()
    if not at_home then return end
    local path <const> = support.path ".npy"
    local x <const> = (gb.randn(3, 2000, {seed = 3, device = "cpu"}) * 5):eval()
    for _, dtype in ipairs{"f64", "f32", "f16", "i64", "i32"} do
      local v <const> = (dtype:match "^i" and x:round() or x):to{dtype = dtype}:eval()
      gb.data.write(path, v)
      local y <const> = gb.data.map(path):t()                   -- rows lie side by side, as in a file in Fortran order
      same(gb.kmeans{k = 4, device = "cpu"}:fit(v:t():eval()), gb.kmeans{k = 4, device = "cpu"}:fit(y))
    end
  end)
end)

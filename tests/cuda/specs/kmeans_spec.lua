--- gb.kmeans on one emulated GPU, on two, and on the CPU beside them: the bits of the CPU alone, the bytes of the plan on every
-- account, whatever a device has room for; failures, Ctrl-C, errors.
local process <const> = require "spec.process"

local prelude <const> = [[
local gb <const>, core <const> = require "gibbous", require "gibbous.core"
local function settle()
  core.drop_caches()
  for _ = 1, 3 do collectgarbage() end
end
local function blobs(n, d, dtype)
  local x <const> = gb.randn(n, d, {seed = 3}) * 3 + gb.range(1, n):unsqueeze(2) % 5
  return (dtype:match "^i" and (x * 100):round() or x):to{dtype = dtype}:eval()
end
local function same(want, got, what)
  assert(got.centroids:equal(want.centroids), what .. ": centroids")
  assert(got.labels:equal(want.labels), what .. ": labels")
  assert(got.history:equal(want.history), what .. ": history")
  assert(got.inertia == want.inertia and got.empty == want.empty and got.iterations == want.iterations, what .. ": inertia")
end
--- The smallest budget of each device that is not the host, and so many bytes more.
local function smallest(p, more)
  local least <const> = {}
  for _, d in ipairs(p.devices) do least[d.name] = d.minimum + more end
  return least
end
--- A fit whose accounts are those of its plan.
local function fit(o, x, more, what)
  local km <const> = gb.kmeans(o)
  local p <const> = km:plan(x, more)
  settle()
  km:fit(x, more)
  assert(km.bytes == p.peak, ("%s: %d bytes on the host, planned %d"):format(what, km.bytes, p.peak))
  for _, d in ipairs(p.devices) do
    local got <const> = km.device_bytes[d.name]
    assert(got == d.peak, ("%s: %d bytes on %s, planned %d"):format(what, got, d.name, d.peak))
    assert(not o.budget or d.peak <= (type(o.budget) == "table" and o.budget[d.name] or o.budget), what .. ": over the budget")
  end
  return km, p
end
local lists <const> = {"cuda:0", {"cuda:0", "cuda:1"}, {"cpu", "cuda:1"}, {"cuda:1", "cpu", "cuda:0"}}
local function name(list) return type(list) == "table" and table.concat(list, " ") or list end
local function with(o, more)
  local out <const> = {}
  for k, v in pairs(o) do out[k] = v end
  for k, v in pairs(more) do out[k] = v end
  return out
end
]]

--- What the script prints, and the emulation says. env: further settings.
local function start(script, env)
  local path <const> = os.tmpname()
  do
    local f <close> = assert(io.open(path, "wb"))
    f:write(prelude .. script)
  end
  local out <const>, errors <const>, rc <const> = process.run({path}, {env = "GIBBOUS_DEVICE= GIBBOUS_CUDA=emulated EMU_DEVICES=2 "
    .. "EMU_LEAKS=1 GIBBOUS_CUDA_COMPILE=off " .. (env or "EMU_SCHEDULE=lazy")})
  os.remove(path)
  assert.equal(0, rc, errors)
  return out, errors
end

--- What the script prints, by lines.
local function run(script, env)
  local out <const>, errors <const> = start(script, env)
  assert.equal("", errors)
  local lines <const> = {}
  for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

describe("gb.kmeans on GPUs", function()
  -- Budgets: none, where all rows are copied once; the smallest, where they go through two slots; between, where some stay.
  local grid <const> = [[
local dtype <const> = %q
local x <const>, weights <const> = blobs(9000, 7, dtype), (gb.range(1, 9000) %% 7):eval()
local count = 0
for i, init in ipairs{"k-means++", "random", "k-means||"} do
  local o <const>, more <const> = {k = 9, init = init, n_init = 2, max_iter = 5}, {weights = i ~= 2 and weights or nil}
  local want <const> = gb.kmeans(o):fit(x, more)
  for at = 1, dtype:match "^f[63]" and #lists or 2 do
    local list <const> = lists[at]
    local there <const> = with(o, {device = list})
    local free <const> = gb.kmeans(there):plan(x, more)
    local two <const> = 2 * 960 * 7 * (dtype:match "64" and 8 or dtype:match "32" and 4 or 2)
    for way, budget in ipairs{1 << 30, smallest(free, 0), smallest(free, two)} do
      local what <const> = ("%%s, %%s on %%s, way %%d"):format(dtype, init, name(list), way)
      local km <const>, p <const> = fit(with(there, {budget = budget}), x, more, what)
      same(want, km, what)
      local streamed <const> = tostring(p):find "of %%d+ pieces from the host %%d+ stay" ~= nil
      assert(way == 3 or streamed == (way == 2), what .. ": " .. tostring(p))
      if way == 3 and list == "cuda:0" then assert(tostring(p):find "pieces from the host 2 stay", what .. tostring(p)) end
      if way == 2 then
        assert(want:predict(x):equal(km:predict(x)) and want:score(x, more) == km:score(x, more), what)
        for key, bytes in pairs(budget) do
          local less <const> = gb.kmeans(with(there, {budget = with(budget, {[key] = bytes - 1})}))
          local ok <const>, err <const> = pcall(less.fit, less, x, more)
          assert(not ok and err.code == "refused" and err.minimum == bytes, what .. tostring(err))
          assert(err.message:find(("on %%s, the budget is"):format(key), 1, true), err.message)
        end
      end
      count = count + 1
    end
  end
end
print(count)]]
  local schedules <const> = {f64 = "lazy", f32 = "3", f16 = "eager", bf16 = "7", i64 = "11", i32 = "2"}
  for dtype, schedule in pairs(schedules) do
    it(("have the bits of the CPU, and the bytes of the plan, for %s"):format(dtype), function()
      assert.same({dtype:match "^f[63]" and "36" or "18"}, run(grid:format(dtype), "EMU_SCHEDULE=" .. schedule))
    end)
  end

  it("take rows divided by their lengths, wherever they lie, and name those that have none", function()
    assert.same({"ok"}, run([[
local function at(i) return gb.tensor({i}, {dtype = "i64"}) end
for _, dtype in ipairs{"f64", "f32", "bf16", "i32"} do
  local x <const>, weights <const> = blobs(5000, 6, dtype), (gb.range(1, 5000) % 7):eval()
  local o <const>, more <const> = {k = 7, spherical = true, max_iter = 6}, {weights = weights}
  local want <const> = gb.kmeans(o):fit(x, more)
  for i, list in ipairs(lists) do
    local there <const> = with(o, {device = list})
    local budget <const> = smallest(gb.kmeans(there):plan(x, more), i % 2 == 0 and 0 or 1 << 20)
    local what <const> = ("%s on %s"):format(dtype, name(list))
    local km <const> = fit(with(there, {budget = budget}), x, more, what)
    same(want, km, what)
    assert(want:predict(x):equal(km:predict(x)) and want:score(x, more) == km:score(x, more), what)
    same(want, (fit(there, {x:slice(1, 1, 700):to "cuda:1":eval(), x:slice(1, 701, 5000)}, more, what)), what)
  end
  local there <const> = x:t():eval():to "cuda:0":eval():t()
  same(want, (fit(o, there, more, dtype .. " there")), dtype .. " there")
end
local x <const> = blobs(5000, 6, "f32")
local start <const> = {k = 3, spherical = true, init = gb.tensor{{1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 1}, {0, 0, 0, 0, 1, 1}}}
local a <const>, b <const> = gb.kmeans(start), gb.kmeans(with(start, {device = {"cuda:1", "cpu"}}))
for i = 1, 3 do
  a:partial_fit(x:slice(1, 1000 * i, 1000 * i + 1500))
  b:partial_fit(x:slice(1, 1000 * i, 1000 * i + 1500))
end
assert(a.centroids:equal(b.centroids) and a.inertia == b.inertia, "partial_fit")
local zero <const>, odd <const> = gb.zeros(1, 6):to "f32", x:slice(1, 1, 1):put(2, at(4), 0 / 0)
for _, rows in ipairs{{1, 2}, {961, 960}, {2881, 2880}, {5000, 4999}} do
  local y <const> = x:put(1, at(rows[1]), zero):eval()
  for _, bad in ipairs{y, y:put(1, at(rows[2]), odd):eval()} do
    local home <const> = gb.kmeans{k = 3, spherical = true}
    local _, want <const> = pcall(home.fit, home, bad)
    assert(want.code == "nan" and (want.message:find "has length 0, and no" or want.message:find "not finite in column 4"))
    for _, list in ipairs(lists) do
      local there <const> = {k = 3, spherical = true, device = list}
      local km <const> = gb.kmeans(with(there, {budget = smallest(gb.kmeans(there):plan(x), 0)}))
      local ok <const>, err <const> = pcall(km.fit, km, bad)
      assert(not ok and err.code == "nan" and err.message == want.message, tostring(err))
      same(gb.kmeans{k = 3, spherical = true}:fit(x), km:fit(x), "without it")
    end
  end
end
print "ok"]]))
  end)

  it("make every kind of fit, drawn at random, and such of fewer different rows than centroids", function()
    for seed = 1, 3 do
      assert.same({"ok"}, run(("local seed <const> = %d\n"):format(seed) .. [[
math.randomseed(seed)
local function one(of) return of[math.random(#of)] end
local fits = 0
while fits < 14 do
  local dtype <const> = one{"f64", "f32", "f16", "bf16", "i64", "i32"}
  local n <const>, d <const> = math.random(900, 6000), math.random(14)
  local rows <const> = (gb.randn(n, d, {seed = seed * 100 + fits}) * 2 + gb.range(1, n):unsqueeze(2) % 7 + 30)
  local few <const> = math.random(3) == 1
  local x <const> = (few and (rows:slice(1, 1, 5):index(1, gb.range(1, n, 1, {dtype = "i64"}) % 5 + 1)) or rows) * 10
  local points <const> = (dtype:match "^i" and x:round() or x):to{dtype = dtype}:eval()
  local o <const> = {k = math.random(2, 40), init = one{"k-means++", "k-means||", "k-means||", "random"}, seed = math.random(99),
    spherical = math.random(2) == 1, algorithm = one{"lloyd", "elkan", "elkan"}, max_iter = math.random(12), n_init = 1}
  local more <const> = {weights = math.random(2) == 1 and (gb.range(1, n) % math.random(2, 5)):eval() or nil}
  local list <const> = one(lists)
  local what <const> = ("fit %d of %d on %s: %s (%d, %d), k = %d, %s, %s%s"):format(fits, seed, name(list), dtype, n, d, o.k,
    o.init, o.algorithm, o.spherical and ", spherical" or "")
  local want <const> = gb.kmeans(o):fit(points, more)
  local there <const> = with(o, {device = list})
  there.budget = one{1 << 30, smallest(gb.kmeans(there):plan(points, more), 0)}
  same(want, (fit(there, points, more, what)), what)
  assert(not few or want.empty == math.max(0, o.k - 5) or o.spherical or more.weights, what)
  fits = fits + 1
end
print "ok"]], "EMU_SCHEDULE=" .. ({"lazy", "5", "eager"})[seed]))
    end
  end)

  it("read rows where they lie, and any strides, lists and weights", function()
    assert.same({"ok"}, run([[
local x <const> = blobs(4000, 6, "f32")
local start <const> = x:slice(1, 1, 5):eval()
local o <const> = {k = 5, init = start, max_iter = 6}
local want <const> = gb.kmeans(o):fit(x)
local wide <const> = gb.cat({x:t(), gb.ones(2, 4000):to "f32"}, 1):eval()
local padded <const> = gb.cat({gb.ones(4000, 3):to "f32", x}, 2):eval()
local apart <const> = gb.stack({x, x * 2}, 3):eval()
local views <const> = {x, wide:slice(1, 1, 6):t(), padded:slice(2, 4, 9), x:flip(1):eval():flip(1), x:flip(2):eval():flip(2),
  apart:slice(3, 1, 1):squeeze(3), x:t():eval():t()}
for i, v in ipairs(views) do
  local p <const> = gb.kmeans(with(o, {device = "cuda:0"})):plan(v)
  for way, budget in ipairs{1 << 30, smallest(p, 0)} do
    same(want, (fit(with(o, {device = "cuda:0", budget = budget}), v, nil, "view " .. i)), "view " .. i .. " way " .. way)
  end
  local there <const> = v:to "cuda:0":eval()
  local km <const>, q <const> = fit(o, there, nil, "there " .. i)                -- where the rows lie, without being told
  same(want, km, "there " .. i)
  assert(q.devices[1].name == "cuda:0" and q.devices[1].rows == 4000 and not tostring(q):find "rows of the host", tostring(q))
  assert(km:predict(there):equal(want.labels), "labels of " .. i)
end
local weights <const> = (gb.range(1, 4000) % 4):eval()
local more <const> = {weights = weights}
local heavy <const> = gb.kmeans{k = 5, max_iter = 6}:fit(x, more)
local function some(from, to, device) return x:slice(1, from, to):eval():to(device):eval() end
local mixed <const> = {some(1, 700, "cuda:1"), some(701, 1000, "cpu"), some(1001, 2900, "cuda:0"),
  some(2901, 4000, "cpu")}
for _, list in ipairs(lists) do
  for way = 1, 2 do
    local free <const> = {k = 5, max_iter = 6, device = list}
    local p <const> = gb.kmeans(free):plan(mixed, more)
    local km <const> = fit(with(free, {budget = way == 2 and smallest(p, 0) or nil}), mixed, more, name(list))
    same(heavy, km, "mixed on " .. name(list))
    assert(km:score(mixed, more) == heavy:score(x, more))
    assert(km:predict(mixed):equal(heavy.labels))
    settle()
  end
end
local on <const> = gb.kmeans{k = 5, max_iter = 6}:fit(mixed, more)         -- on several devices: the host reads them
same(heavy, on, "mixed at home")
local types <const> = {x:slice(1, 1, 1000):to "f16":eval(), x:slice(1, 1001, 4000):to "bf16":eval()}
same(gb.kmeans(o):fit(types), fit(with(o, {device = {"cuda:0", "cuda:1"}}), types, nil, "types"), "types")
print "ok"]]))
  end)

  it("fill clusters without rows, one row after the other", function()
    for _, schedule in ipairs{"lazy", "3", "8"} do
      assert.same({"ok"}, run([[
local x <const> = blobs(5000, 6, "f32")
local far <const> = gb.range(1, 12):unsqueeze(2) * 1000 + gb.range(1, 6):unsqueeze(1)
local start <const> = gb.cat({x:slice(1, 1, 2):to "f64", far}, 1):eval()
local o <const> = {k = 14, init = start, max_iter = 5}
local want <const> = gb.kmeans(o):fit(x)
for _, list in ipairs(lists) do
  local there <const> = with(o, {device = list})
  same(want, (fit(with(there, {budget = smallest(gb.kmeans(there):plan(x), 0)}), x, nil, name(list))), name(list))
end
print "ok"]], "EMU_SCHEDULE=" .. schedule))
    end
  end)

  it("compute an expression where it lies, tile by tile", function()
    assert.same({"ok"}, run([[
local function lazy(device) return gb.randn(30000, 40, {seed = 9, device = device}) end
local o <const> = {k = 4, max_iter = 3, init = gb.randn(4, 40, {seed = 1}):eval()}
local want <const> = gb.kmeans(o):fit(lazy "cpu")
for i, device in ipairs{"cpu", "cuda:0"} do
  for _, list in ipairs{"cpu", "cuda:0", {"cuda:0", "cuda:1"}} do
    local there <const> = with(o, {device = list})
    local x <const> = lazy(device)
    for way = 1, 2 do
      local budget <const> = way == 2 and smallest(gb.kmeans(there):plan(x), 0) or nil
      local what <const> = ("of %s on %s, way %d"):format(device, name(list), way)
      same(want, (fit(with(there, {budget = budget}), x, nil, what)), what)
      assert(not core.known(x))
    end
  end
end
local x <const> = lazy "cuda:0"
local km <const>, p <const> = fit(o, x, nil, "untold")
same(want, km, "untold")
assert(p.devices[1].rows == 30000)
print "ok"]]))
  end)

  it("partial_fit there and take mini-batches at home", function()
    assert.same({"ok"}, run([[
local x <const> = blobs(9000, 3, "f64")
local o <const> = {k = 4, algorithm = "minibatch", seed = 3, max_iter = 2}
local want <const> = gb.kmeans(o):fit(x)
for _, list in ipairs(lists) do
  same(want, (fit(with(o, {device = list}), x, nil, name(list))), name(list))
  same(want, (fit(with(o, {device = list}), x:to "cuda:0":eval(), nil, name(list))), name(list))
  local a <const>, b <const> = gb.kmeans{k = 4}, gb.kmeans{k = 4, device = list}
  for i = 1, 3 do
    local batch <const> = x:slice(1, 3000 * i - 2999, 3000 * i)
    a:partial_fit(batch)
    b:partial_fit(i == 2 and batch:eval():to "cuda:0":eval() or batch)
  end
  assert(a.centroids:equal(b.centroids) and a.inertia == b.inertia, name(list))
end
print "ok"]]))
  end)

  it("leave km as it was where a device has no memory", function()
    assert.same({"ok"}, run([[
local x <const> = blobs(5000, 6, "f32")
local km <const> = gb.kmeans{k = 5, max_iter = 4, device = {"cuda:0", "cuda:1"}}:fit(x:slice(1, 1, 4000):eval())
local before <const>, centroids <const>, labels <const> = tostring(km), km.centroids:totable(), km.labels:totable()
local function unchanged()
  assert(tostring(km) == before)
  assert(km.centroids:equal(gb.tensor(centroids)) and table.concat(km.labels:totable(), " ") == table.concat(labels, " "))
end
local function held()
  settle()
  local out <const> = {gb.memory.report().used}
  for i, d in ipairs(gb.memory.report().devices) do out[i + 1] = d.used end
  return table.concat(out, " ")
end
local at <const> = held()
for _, name in ipairs{"cuda:0", "cuda:1"} do
  for n = 0, 1 do
    core.fail_after(n, name)
    local ok <const>, err <const> = pcall(km.fit, km, x)
    core.fail_after(-1, name)
    assert(not ok and err.code == "oom" and err.message:find(name, 1, true), tostring(err))
    unchanged()
  end
  core.fail_after(0, name)
  local ok <const>, err <const> = pcall(km.predict, km, x)
  core.fail_after(-1, name)
  assert(not ok and err.code == "oom", tostring(err))
end
assert(held() == at, held() .. " and not " .. at)
gb.memory.limit("100 KB", {device = "cuda:1"})
local ok <const>, err <const> = pcall(km.fit, km, blobs(40000, 6, "f32"))
assert(not ok and err.code == "refused", tostring(err))
assert(err.message:find("on cuda:1, what is free below gb.memory.limit is", 1, true), err.message)
assert(err.have <= 100000 and err.minimum > err.have)
unchanged()
km:fit(x)
print "ok"]]))
  end)

  it("name a row that is not finite by its number in all rows", function()
    assert.same({"ok"}, run([[
local x <const> = blobs(5000, 6, "f32")
local function at(i) return gb.tensor({i}, {dtype = "i64"}) end
for _, row in ipairs{1, 961, 2881, 5000} do
  local y <const> = x:put(1, at(row), x:slice(1, row, row):put(2, at(4), 0 / 0)):eval()
  for _, list in ipairs(lists) do
    local free <const> = {k = 5, max_iter = 4, device = list}
    for way = 1, 2 do
      local budget <const> = way == 2 and smallest(gb.kmeans(free):plan(x), 0) or nil
      local km <const> = gb.kmeans(with(free, {budget = budget}))
      local ok <const>, err <const> = pcall(km.fit, km, y)
      assert(not ok and err.code == "nan", tostring(err))
      assert(err.message:find(("row %d is not finite in column 4"):format(row), 1, true), err.message)
      same(gb.kmeans{k = 5, max_iter = 4}:fit(x), km:fit(x), "without it")
      local _, bad <const> = pcall(km.predict, km, {y:slice(1, 1, 100), y:slice(1, 101, 5000)})
      assert(bad.code == "nan" and bad.message:find(("row %d is not finite"):format(row), 1, true), tostring(bad))
      local w <const> = gb.ones(5000):put(1, at(row), -1)
      local weighted <const> = gb.kmeans(free)
      local _, light <const> = pcall(weighted.fit, weighted, x, {weights = w})
      assert(light.code == "nan" and light.message:find(("the weight of point %d"):format(row), 1, true), tostring(light))
    end
  end
end
print "ok"]]))
  end)

  it("answer Ctrl-C in a pass, whose device computes on", function()
    for _, at in ipairs{30, 77, 150, 190} do
      assert.same({"interrupted", "ok"}, run([[
local x <const> = blobs(9000, 6, "f32")
local o <const> = {k = 5, max_iter = 4, device = {"cuda:0", "cuda:1"}}
o.budget = smallest(gb.kmeans(o):plan(x), 0)
local km <const> = gb.kmeans(o)
local ok <const>, err <const> = pcall(km.fit, km, x)
print(ok and "done" or err.code)
assert(km.centroids == nil)
same(gb.kmeans{k = 5, max_iter = 4}:fit(x), km:fit(x), "again")
print "ok"]], ("EMU_SCHEDULE=5 GIBBOUS_CUDA_PANEL=4096 EMU_FAIL=kernel:*@%d=int"):format(at)))
    end
  end)

  it("answer Ctrl-C between passes over rows that are there", function()
    for _, init in ipairs{"random", "k-means++"} do
      local out <const>, errors <const> = start(([[
local x <const> = gb.rand(6000, 6, {dtype = "f32", seed = 1}):eval()
local km <const> = gb.kmeans{k = 40, init = %q, tol = 0, device = "cuda:0"}
local ok <const>, err <const> = pcall(km.fit, km, x)
print(ok and km.iterations or err.code)]]):format(init), "EMU_SCHEDULE=lazy EMU_COUNT=1 EMU_FAIL=kernel:*@25=int")
      assert.equal("interrupted\n", out)
      local made <const> = tonumber(errors:match "cuda emulation: kernel:%* (%d+)\n")
      assert.is_true(made >= 25 and made <= 25 + 12, ("%d launches, interrupted at the 25th"):format(made))
    end
  end)

  it("give an error or the right result, whichever call of CUDA fails, and leak nothing", function()
    local seen <const> = {}
    for i = 1, 40 do
      local code <const> = ({2, 700, 999})[i % 3 + 1]
      local more <const> = i % 2 == 0 and "" or ', spherical = true, init = "k-means||", algorithm = "elkan"'
      local out <const> = run(("local plain <const> = {k = 5, max_iter = 3%s}\n"):format(more) .. [[
local ok <const>, err = pcall(function()
  local x <const> = blobs(5000, 6, "f32")
  local o <const> = with(plain, {device = {"cuda:0", "cuda:1"}})
  o.budget = smallest(gb.kmeans(o):plan(x), 0)
  local km <const> = gb.kmeans(o)
  local fine <const>, why <const> = pcall(km.fit, km, x)
  if not fine then
    assert(km.centroids == nil)
    error(why, 0)
  end
  same(gb.kmeans(plain):fit(x), km, "spoilt")
end)
if ok then print "right" elseif type(err) == "string" then print(err) else print(err.code) end
err = nil
settle()
assert(gb.memory.report().workspace == 0)]], ("EMU_SCHEDULE=lazy EMU_FAIL=*@%d=%d"):format(20 + i * 41, code))
      seen[out[1]] = (seen[out[1]] or 0) + 1
      assert.is_true(out[1] == "right" or out[1] == "device" or out[1] == "oom" or out[1] == "internal", out[1])
    end
    assert.is_true((seen.device or 0) > 10, "devices were lost")
  end)

  it("are refused by name where they cannot be", function()
    assert.same({"ok"}, run([[
local x <const> = blobs(100, 2, "f32")
local function bad(code, text, o)
  local ok <const>, err <const> = pcall(function() return (gb.kmeans(o):fit(x)) end)
  assert(not ok and err.code == code and err.message:find(text, 1, true), tostring(err))
end
bad("device", "device 'cuda:1' is listed twice", {k = 2, device = {"cuda:1", "cpu", "cuda:1"}})
bad("device", "cuda:0' is listed twice", {k = 2, device = {"cuda:0", "cuda"}})
bad("device", "there is no GPU number 2", {k = 2, device = {"cuda:0", "cuda:2"}})
bad("option", "'device' must be a name of a device or a list of names", {k = 2, device = {}})
bad("option", "'device' must be a name of a device or a list of names", {k = 2, device = {"cpu", 3}})
bad("option", "bytes by name of a device", {k = 2, budget = {1000}})
bad("option", "'budget' of cuda:0", {k = 2, budget = {["cuda:0"] = "much"}})
print "ok"]]))
  end)
end)

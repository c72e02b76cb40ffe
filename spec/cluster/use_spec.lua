--- What clusters are used for: silhouettes against a plain double loop, orders, figures, inducing points.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local whole <const> = {dtype = "i64"}
local at_home <const> = gb.devices()[1].name == "cpu" and not os.getenv "GIBBOUS_DEVICE"

--- Rows around k places, and the number of the place of each; the last place has one row.
local function blobs(n, d, k, o)
  o = o or {}
  local y <const> = core.where(gb.range(1, n, 1, whole):eq(n), k, gb.range(1, n, 1, whole) % (k - 1) + 1)
  local places <const> = (gb.randn(k, d, {seed = 1}) * 4):index(1, y)
  local x <const> = places + gb.randn(n, d, {seed = 2}) * (o.spread or 1) + (o.offset or 0)
  return x:to{dtype = o.dtype or "f64"}:eval(), y:eval()
end

-- Plain Lua -------------------------------------------------------------------------------------------------------------------

local function apart(a, b)
  local s = 0.0
  for t = 1, #a do s = s + (a[t] - b[t]) ^ 2 end
  return math.sqrt(s)
end

local function silhouette_of(a, b, alone)
  if alone or math.max(a, b) == 0 then return 0.0 end
  return (b - a) / math.max(a, b)
end

--- From lists of rows and labels, the values.
local function double_loop(x, y)
  local out <const> = {}
  for i, own in ipairs(y) do
    local sums <const>, counts <const> = {}, {}
    for j, other in ipairs(y) do
      sums[other] = (sums[other] or 0) + apart(x[i], x[j])
      counts[other] = (counts[other] or 0) + 1
    end
    local b = math.huge
    for j, sum in pairs(sums) do
      if j ~= own then b = math.min(b, sum / counts[j]) end
    end
    out[i] = silhouette_of(sums[own] / (counts[own] - 1), b, counts[own] == 1)
  end
  return out
end

--- The same from distances to centroids, of which those without rows are nobody's.
local function simple_loop(x, y, centroids)
  local out <const>, counts <const> = {}, {}
  for _, j in ipairs(y) do counts[j] = (counts[j] or 0) + 1 end
  for i, own in ipairs(y) do
    local b = math.huge
    for j in pairs(counts) do
      if j ~= own then b = math.min(b, apart(x[i], centroids[j])) end
    end
    out[i] = silhouette_of(apart(x[i], centroids[own]), b, counts[own] == 1)
  end
  return out
end

local function means_by_label(x, y, k)
  local sums <const>, counts <const> = {}, {}
  for j = 1, k do sums[j], counts[j] = {}, 0 end
  for i, j in ipairs(y) do
    counts[j] = counts[j] + 1
    for t, v in ipairs(x[i]) do sums[j][t] = (sums[j][t] or 0) + v end
  end
  for j, s in ipairs(sums) do
    for t in ipairs(s) do s[t] = s[t] / counts[j] end
  end
  return sums
end

local function mean_of(list)
  local s = 0.0
  for _, v in ipairs(list) do s = s + v end
  return s / #list
end

local function settle()
  core.drop_caches()
  for _ = 1, 3 do collectgarbage() end
end

teardown(settle)             -- specs after these measure bytes

describe("gb.silhouette", function()
  for _, s in ipairs{{12, 1, 3}, {150, 2, 3}, {201, 7, 9}, {130, 33, 5}} do
    it(("is a plain double loop for %d x %d of %d clusters"):format(table.unpack(s)), function()
      local x <const>, y <const> = blobs(s[1], s[2], s[3])
      local want <const> = double_loop(x:totable(), y:totable())
      local got <const> = gb.silhouette(x, y)
      near(want, got.values, 1e-13)
      near(mean_of(want), got.mean, 1e-13)
      assert.equal(0, got.values[s[1]]:item())                              -- alone
      assert.is_true(got.labels:equal(y) and got.counts:equal(gb.bincount(y)))
      near(gb.segment_mean(got.values, y, s[3]), got.means, 1e-14)
      assert.same({s[1], s[3], false}, {got.n, got.k, got.simplified})
      assert.is_nil(got.rows)
    end)
  end

  it("has the figures of scikit-learn", function()
    local y <const> = gb.range(1, 500, 1, whole) % 4 + 1
    local x <const> = gb.tensor{{0, 0, 0}, {4, 0, 1}, {0, 5, 2}, {3, 3, 3}}:index(1, y) + gb.randn(500, 3, {seed = 1})
    local s <const> = gb.silhouette(x, y)
    near(0.418165782962553, s.mean, 1e-12)                                  -- 1.9.1
    near(0.334940967791003, s.values[17]:item(), 1e-12)
  end)

  it("does not ask for all labels, and tells clusters without rows", function()
    local x <const>, y <const> = blobs(60, 2, 3)
    local want <const>, got <const> = gb.silhouette(x, y), gb.silhouette(x, y * 2, {k = 7})
    assert.is_true(got.values:equal(want.values))
    assert.same({0, 29, 0, 30, 0, 1, 0}, got.counts:totable())
    local means <const> = got.means:totable()
    for j = 1, 7, 2 do assert.is_true(means[j] ~= means[j]) end
    assert.matches("^silhouette 0%.%d+  60 rows, 7 clusters\n  cluster 1: 0 rows, mean nan\n  cluster 2: 29 rows", tostring(got))
    raises("option", "a silhouette has no field 'value' (did you mean 'values'?)", function() return got.value end)
  end)

  it("takes strides, types, lists and expressions", function()
    local x <const>, y <const> = blobs(300, 4, 6)
    local want <const> = gb.silhouette(x, y)
    for i, v in ipairs{x:t():eval():t(), x:flip(1):eval():flip(1), (x - 3) + 3, {x}, {x:slice(1, 1, 7), x:slice(1, 8, 300)},
      {x:slice(1, 1, 100), x:slice(1, 1, 0), x:slice(1, 101, 300) * 1.0}} do
      local got <const> = gb.silhouette(v, y)
      near(want.values, got.values, 1e-12, "form " .. i)
      assert.is_true(got.labels:equal(y))
    end
    assert.is_true(gb.silhouette({x:slice(1, 1, 7), x:slice(1, 8, 300)}, y).values:equal(want.values))
    for _, dtype in ipairs{"f32", "f16", "bf16"} do
      local z <const> = x:to(dtype):eval()
      near(double_loop(z:totable(), y:totable()), gb.silhouette(z, y).values, 1e-5, dtype)
    end
    for _, dtype in ipairs{"i64", "i32"} do
      local z <const> = (x * 10):round():to(dtype):eval()
      near(double_loop(z:totable(), y:totable()), gb.silhouette(z, y:totable()).values, 1e-13)
      assert.is_true(gb.silhouette(x, y:to(dtype)).values:equal(want.values))
    end
  end)

  it("keeps its digits 1e4 standard deviations off the origin in f32", function()
    local x <const>, y <const> = blobs(200, 3, 5, {offset = 1e4, dtype = "f32"})
    local rows <const>, labels <const> = x:totable(), y:totable()
    near(double_loop(rows, labels), gb.silhouette(x, y).values, 2e-6)
    near(simple_loop(rows, labels, means_by_label(rows, labels, 5)), gb.silhouette(x, y, {simplified = true}).values, 1e-4)
  end)

  it("is 0 of rows in one place", function()
    assert.same({0, 0, 0, 0}, gb.silhouette(gb.ones(4, 3), {1, 1, 2, 2}).values:totable())
    assert.same({0, 0}, gb.silhouette(gb.tensor{{1}, {5}}, {1, 2}).values:totable())           -- each alone
  end)

  it("compares a sample with all rows", function()
    local x <const>, y <const> = blobs(400, 3, 5)
    local all <const> = gb.silhouette(x, y)
    local s <const> = gb.silhouette(x, y, {sample = 60, seed = 3})
    local rows <const> = s.rows:totable()
    assert.equal(60, #rows)
    for i = 2, 60 do assert.is_true(rows[i - 1] < rows[i]) end
    assert.is_true(s.labels:equal(y:index(1, s.rows)) and s.counts:equal(all.counts))
    near(all.values:index(1, s.rows), s.values, 1e-13)
    near(s.values:mean():item(), s.mean, 1e-14)
    assert.is_true(gb.silhouette(x, y, {sample = 60, seed = 3}).rows:equal(s.rows))
    assert.is_false(gb.silhouette(x, y, {sample = 60, seed = 4}).rows:equal(s.rows))
    local parts <const> = gb.silhouette({x:slice(1, 1, 150), x:slice(1, 151, 400)}, y, {sample = 60, seed = 3})
    assert.is_true(parts.rows:equal(s.rows) and parts.labels:equal(s.labels))
    near(s.values, parts.values, 1e-13)
    near(all.values, gb.silhouette(x, y, {sample = 400}).values, 1e-13)
    assert.matches("^silhouette 0%.%d+  60 drawn of 400 rows, 5 clusters\n", tostring(s))
    local few <const> = gb.silhouette(x, y, {sample = 60, seed = 3, simplified = true})
    near(gb.silhouette(x, y, {simplified = true}).values:index(1, s.rows), few.values, 1e-13)
  end)

  it("takes the distances to the means of the clusters", function()
    local x <const>, y <const> = blobs(211, 3, 6)
    local rows <const>, labels <const> = x:totable(), (y * 2):totable()
    local want <const> = simple_loop(rows, labels, means_by_label(rows, labels, 12))
    local got <const> = gb.silhouette(x, labels, {simplified = true})
    near(want, got.values, 1e-12)
    near(mean_of(want), got.mean, 1e-12)
    assert.is_true(got.simplified)
    assert.matches("^simplified silhouette ", tostring(got))
    near(want, gb.silhouette({x:slice(1, 1, 9), x:slice(1, 10, 211)}, labels, {simplified = true}).values, 1e-12)
  end)

  it("stores neither n x n nor n x k", function()
    local n <const>, k <const> = 12000, 400
    local x <const> = gb.randn(n, 2, {seed = 1, dtype = "f32"}):eval()
    local y <const> = (gb.range(1, n, 1, whole) % k + 1):eval()
    settle()
    local accounts <const> = {"cpu", x.device ~= "cpu" and x.device or nil}
    local before <const> = core.high_water(accounts)
    local s <const> = gb.silhouette(x, y)
    for _, most in ipairs(core.high_water(accounts, before)) do assert.is_true(most < 80 * n) end       -- n k: 1600 n
    gb.silhouette(x, y, {simplified = true})
    settle()
    assert.is_true(gb.memory.report().used - before[1][1] < 40 * n)
    local members <const> = x:index(1, y:argsort():slice(1, 1, 3000)):eval()
    local most <const> = at_home and 60 * n or 200 * n                       -- a GPU has a sum of each 256 members
    assert.is_true(gb.plan(gb.cdist(x, members):sum(2)).peak < most)        -- n 3000: 12000 n
    assert.equal(n, #s.values)
  end)

  it("has the same bits for 1 and 2 threads", function()
    local script <const> = [[
      local gb, core = require "gibbous", require "gibbous.core"
      for _, dtype in ipairs{"f32", "f64"} do
        local x = gb.randn(3000, 5, {seed = 3, dtype = dtype}):eval()
        local y = gb.range(1, 3000, 1, {dtype = "i64"}) % 7 + 1
        local all, few = gb.silhouette(x, y), gb.silhouette(x, y, {sample = 70, simplified = true})
        print(core.digest{all.values, few.values, all.means}, ("%a %a"):format(all.mean, few.mean))
      end]]
    local one <const>, err <const> = process.run({"-e", script}, {env = "GIBBOUS_THREADS=1"})
    assert.equal("", err)
    assert.equal(2, select(2, one:gsub("\n", "\n")))
    assert.equal(one, (process.run({"-e", script}, {env = "GIBBOUS_THREADS=2"})))
  end)

  it("refuses what it cannot compare", function()
    local x <const>, y <const> = blobs(20, 2, 3)
    local nan <const> = core.where(gb.range(1, 40):reshape(20, 2):eq(24), 0 / 0, x)
    for _, row in ipairs{
      {"option", "gb.silhouette: 20 rows of 1 cluster: a silhouette compares two clusters or more", x, gb.ones(20, whole)},
      {"option", "gb.silhouette: 0 rows of 0 clusters: a silhouette compares two clusters or more", gb.ones(0, 2),
        gb.ones(0, whole)},
      {"shape", "gb.silhouette: expected one label a row, 20, got shape 19", x, y:slice(1, 1, 19)},
      {"index", "gb.silhouette: label 3 of row 20 is outside 1 .. 2: labels are positions, counted from 1", x, y, {k = 2}},
      {"dtype", "gb.silhouette: labels are whole numbers from 1, of i64 or i32, got f64: labels:to{dtype = 'i64'} rounds", x,
        y:to "f64"},
      {"option", "gb.silhouette: sample = 21 of 20 rows: leave it out for all rows", x, y, {sample = 21}},
      {"option", "gb.silhouette: sample must be a whole number, 1 or more, got 0", x, y, {sample = 0}},
      {"option", "gb.silhouette: unknown option 'smple', did you mean 'sample'?", x, y, {smple = 3}},
      {"nan", "gb.silhouette: the point in row 12 is not finite in column 2", nan, y},
      {"nan", "gb.silhouette: the point in row 12 is not finite in column 2", {x:slice(1, 1, 9), nan:slice(1, 10, 20)}, y},
      {"shape", "gb.silhouette: element 2 of the list has 1 columns, the first has 2", {x, gb.ones(3, 1)}, y},
      {"dtype", "gb.silhouette: element 2 of the list is f32, the first is f64", {x, x:to "f32"}, y},
      {"option", "gb.silhouette: the points must be a tensor (n, d) or a list of such tensors, got nil", nil, y},
    } do
      assert.equal(row[2], raises(row[1], "", gb.silhouette, row[3], row[4], row[5]).message:sub(1, #row[2]))
    end
  end)
end)

describe("k-means", function()
  local x <const> = blobs(300, 3, 6, {spread = 2})

  it("has the silhouettes of its labels, of points of any kind", function()
    local km <const> = gb.kmeans{k = 5}:fit(x)
    local want <const> = gb.silhouette(x, km.labels)
    assert.is_true(km:silhouette(x).values:equal(want.values))
    assert.is_true(km:silhouette({x:slice(1, 1, 20), x:slice(1, 21, 300)}).values:equal(want.values))
    assert.is_true(km:silhouette(x, {sample = 30, seed = 2}).rows:equal(gb.silhouette(x, km.labels, {sample = 30, seed = 2}).rows))
    local z <const> = (x:slice(1, 1, 90) + 0.5):eval()
    assert.is_true(km:silhouette(z).values:equal(gb.silhouette(z, km:predict(z), {k = 5}).values))
  end)

  it("has simplified ones by its own centroids", function()
    local km <const> = gb.kmeans{k = 5, max_iter = 2}:fit(x)                -- which are not the means of its labels
    local want <const> = simple_loop(x:totable(), km.labels:totable(), km.centroids:totable())
    near(want, km:silhouette(x, {simplified = true}).values, 1e-11)
    local far <const> = (x + 1e4):to "f32":eval()
    local there <const> = gb.kmeans{k = 5}:fit(far)
    near(simple_loop(far:totable(), there.labels:totable(), there.centroids:totable()),
      there:silhouette(far, {simplified = true}).values, 1e-4)
  end)

  it("puts the rows of a cluster beside each other", function()
    local km <const> = gb.kmeans{k = 5}:fit(x)
    local order <const> = km:order()
    local labels <const>, at <const> = km.labels:index(1, order):totable(), order:totable()
    local place <const> = (require "gibbous.kmeans.order")(km.centroids):totable()
    for i = 2, 300 do
      local before <const>, now <const> = place[labels[i - 1]], place[labels[i]]
      assert.is_true(before < now or before == now and at[i - 1] < at[i])
    end
    assert.is_true(order:sort(1):equal(gb.range(1, 300, 1, whole)))
    assert.is_true(km:order(x):equal(order))
    assert.is_true(km:order({x:slice(1, 1, 20), x:slice(1, 21, 300)}):equal(order))
    assert.equal("i64", order.dtype)
    local z <const> = x:slice(1, 5, 60)
    assert.is_true(km:order(z):equal((gb.tensor(place, whole):index(1, km:predict(z)):argsort())))
  end)

  it("says what it needs for them", function()
    local km <const> = gb.kmeans{k = 2}
    for _, name in ipairs{"silhouette", "order"} do
      assert.equal(name .. ": there are no centroids yet: km:fit(X) or km:partial_fit(X) finds them",
        raises("option", "", km[name], km, x).message)
    end
    km:partial_fit(x)
    assert.equal("order: labels are those of a fit: km:order(X) labels the rows of X by the nearest centroids",
      raises("option", "", km.order, km).message)
    assert.equal(300, #km:order(x))
    raises("shape", "silhouette: points of 2 columns, the centroids have 3", km.silhouette, km, gb.ones(4, 2))
    raises("option", "silhouette: unknown option 'k'", km.silhouette, km, x, {k = 3})
    raises("option", "silhouette: 300 rows of 1 cluster:", function() gb.kmeans{k = 1}:fit(x):silhouette(x) end)
  end)
end)

describe("gb.plot.silhouette", function()
  after_each(support.sweep)

  --- Calls of the core that draw what f makes, tensors as lists.
  local function drawn(f)
    local out <const> = {}
    local function note(...) out[#out + 1] = {...} end
    local got <const> = table.pack(support.with(core, {figure = function() return "F" end,
      figure_axes = function(_, _, o) note("figure", o.title or "", o.xlabel, o.ylabel) end,
      figure_ticks = function(figure, _, _, at, names) note("ticks", figure, at, names) end,
      figure_add = function(figure, _, kind, x, y, hi, style)
        note("add", figure, kind, x:totable(), y:totable(), hi or "nil", style.label or "nil", style.colour + 1)
      end}, f))
    return out, got
  end

  it("has a bar a row, sorted within its cluster, and the mean", function()
    local x <const>, y <const> = gb.tensor{{0}, {1}, {9}, {2}, {12}, {50}}, gb.tensor({1, 1, 3, 1, 3, 4}, whole)
    local s <const> = gb.silhouette(x, y)
    local v <const> = s.values:totable()
    local got <const> = drawn(function() gb.plot.silhouette(s) end)
    assert.same({"figure", "silhouettes of 6 rows", ("silhouette; the line is the mean, %.3f"):format(s.mean), "cluster"}, got[1])
    assert.same({"ticks", "F", {7.0, 3.5, 1.0}, {"1", "3", "4"}}, got[2])
    local function down(list)
      table.sort(list, function(a, b) return a > b end)
      return list
    end
    assert.same({"add", "F", "bars", down{v[1], v[2], v[4]}, {8, 7, 6}, "nil", "nil", 1}, got[3])
    assert.same({"add", "F", "bars", down{v[3], v[5]}, {4, 3}, "nil", "nil", 3}, got[4])
    assert.same({"add", "F", "bars", {0}, {1}, "nil", "nil", 4}, got[5])
    assert.same({"add", "F", "line", {s.mean, s.mean}, {0.5, 8.5}, "nil", "nil", 7}, got[6])
    assert.equal(6, #got)
    local few <const> = gb.silhouette(x, y, {sample = 4, seed = 1})
    got[1] = drawn(function() gb.plot.silhouette(few, {xlabel = "s", ylabel = "c"}) end)[1]
    assert.same({"figure", "silhouettes of 4 drawn of 6 rows", "s", "c"}, got[1])
  end)

  it("repeats six colours, and gives gaps a fifth of the picture at most", function()
    local y <const> = gb.range(1, 1200, 1, whole) % 40 + 1
    local got <const> = drawn(function() gb.plot.silhouette(gb.silhouette(gb.randn(1200, 1, {seed = 1}), y), {title = "T"}) end)
    assert.equal("T", got[1][2])
    for j = 1, 40 do assert.equal((j - 1) % 6 + 1, got[j + 2][8]) end
    assert.same({0.5, 1200 + 39 * 6 + 0.5}, got[43][5])
  end)

  it("is drawn to files and as text", function()
    local x <const>, y <const> = blobs(200, 2, 4)
    local fig <const> = gb.plot.silhouette(gb.silhouette(x, y))
    for _, ending in ipairs{".svg", ".png", ".pdf"} do
      local path <const> = support.path(ending)
      fig:save(path)
      assert.is_true(#support.read(path) > 3000)
    end
    local text <const> = fig:text(80, 30)
    for _, word in ipairs{"silhouettes of 200 rows", "cluster", "1┤", "3┤", "▒▒▒▒", "the line is the mean"} do
      assert.is_true(text:find(word, 1, true) ~= nil, word)
    end
  end)

  it("refuses other things", function()
    for _, v in ipairs{3, "x", {}, gb.ones(3)} do
      raises("option", "gb.plot.silhouette: what gb.silhouette or km:silhouette gives is needed, got ", gb.plot.silhouette, v)
    end
    local x <const>, y <const> = blobs(20, 2, 3)
    raises("option", "gb.plot.silhouette: unknown option 'titel', did you mean 'title'?", gb.plot.silhouette, gb.silhouette(x, y),
      {titel = "x"})
  end)

  -- Elbows ------------------------------------------------------------------------------------------------------------------

  it("has a sister that marks the elbow", function()
    local got <const>, made <const> = drawn(function() return gb.plot.elbow{{5, 10}, {1, 100}, {2, 40}, {3, 20}} end)
    assert.equal(2, made[2])                               -- below the chord by 37.5, 35
    assert.same({"figure", "", "clusters k; the elbow is at 2", "inertia"}, got[1])
    assert.same({"add", "F", "line", {1, 5}, {100, 10}, "nil", "nil", 7}, got[2])
    assert.same({"add", "F", "line", {2, 2}, {40, 77.5}, "nil", "nil", 7}, got[3])
    assert.same({"add", "F", "line", {1, 2, 3, 5}, {100, 40, 20, 10}, "nil", "nil", 1}, got[4])
    assert.same({"add", "F", "scatter", {1, 2, 3, 5}, {100, 40, 20, 10}, "nil", "nil", 1}, got[5])
    assert.same({"add", "F", "scatter", {2}, {40}, "nil", "nil", 2}, got[6])
    assert.equal(6, #got)
    for _, list in ipairs{{{1, 4}, {2, 3.5}, {3, 1}}, {{1, 4}, {2, 1}}, {{3, 3}}, {{1, 3}, {2, 2}, {3, 1}}} do
      local calls <const>, none <const> = drawn(function() return gb.plot.elbow(list, {title = "t", ylabel = "y"}) end)
      assert.is_nil(none[2])
      assert.same({"figure", "t", "clusters k", "y"}, calls[1])
      assert.equal(4, #calls)
    end
  end)

  it("takes k-means that were fitted", function()
    local x <const> = blobs(401, 2, 6, {spread = 0.1})
    local fits <const> = {}
    for k = 1, 9 do fits[k] = gb.kmeans{k = k, n_init = 3}:fit(x) end
    local path <const> = support.path ".png"
    local fig <const>, k <const> = gb.plot.elbow(fits)
    fig:save(path)
    assert.is_true(#support.read(path) > 3000)
    local pairs_of <const> = {}
    for i, km in ipairs(fits) do pairs_of[i] = {km.k, km.inertia} end
    assert.equal(k, (select(2, gb.plot.elbow(pairs_of))))
    assert.is_true(k >= 3 and k <= 6)
  end)

  it("says what a curve is made of", function()
    for _, row in ipairs{
      {"a list of {k, inertia}, or of k-means that were fitted, is needed", nil}, {"a list of {k, inertia}, or", {}},
      {"a list of {k, inertia}, or", gb.kmeans{k = 2}},
      {"element 2 must be {k, inertia} or a k-means that was fitted", {{1, 2}, {2}}},
      {"element 1 must be {k, inertia}", {gb.kmeans{k = 2}}}, {"element 1 must be {k, inertia}", {{1.5, 2}}},
      {"element 1 must be {k, inertia}", {{1, 0 / 0}}}, {"element 1 must be {k, inertia}", {3}},
      {"k = 2 is there twice", {{2, 1}, {2, 1}}},
    } do raises("option", "gb.plot.elbow: " .. row[1], gb.plot.elbow, row[2]) end
    raises("option", "gb.plot.elbow: unknown option 'x'", gb.plot.elbow, {{1, 2}}, {x = 1})
  end)
end)

describe("gb.gp.inducing_points", function()
  local function points(...) return gb.gp.inducing_points(...) end

  --- What K_xz K_zz^-1 K_zx leaves out of K, as a share of its trace.
  local function left_out(x, z, kernel)
    local kzz <const> = kernel(z, z) + 1e-8 * gb.eye(#z)
    local normal <const> = kernel(z, x):matmul(kernel(x, z))
    return 1 - gb.linalg.solve(kzz, normal):diagonal():sum():item() / kernel:diag(x):sum():item()
  end

  it("leave less of a covariance by k-means than random rows do", function()
    local x <const> = gb.cat({gb.randn(1500, 2, {seed = 1}), gb.randn(60, 2, {seed = 2}) * 0.3 + 5}, 1):eval()
    local kernel <const> = gb.kernels.rbf{lengthscale = 0.6}
    local by_kmeans <const> = left_out(x, points(x, 60), kernel)
    local sum, least = 0, math.huge
    for seed = 1, 8 do
      local v <const> = left_out(x, points(x, 60, {method = "random", seed = seed}), kernel)
      sum, least = sum + v, math.min(least, v)
    end
    assert.is_true(by_kmeans > 0 and by_kmeans < 0.6 * sum / 8 and by_kmeans < 0.8 * least,
      ("%g, %g, %g"):format(by_kmeans, sum / 8, least))
  end)

  it("are the centroids of a k-means, in the type of x", function()
    local x <const> = blobs(200, 3, 5)
    local want <const> = gb.kmeans{k = 7, seed = 4}:fit(x, {weights = gb.range(1, 200) % 3})
    assert.is_true(points(x, 7, {seed = 4, weights = gb.range(1, 200) % 3}):equal(want.centroids))
    assert.is_true(points(x, 7):equal(gb.kmeans{k = 7}:fit(x).centroids))
    for _, dtype in ipairs{"f32", "f16", "bf16"} do
      for _, method in ipairs{"kmeans", "random"} do
        local z <const> = points(x:to(dtype), 7, {method = method})
        assert.same({dtype, 7, 3}, {z.dtype, #z, z.shape[2]})
      end
    end
    for _, method in ipairs{"kmeans", "random"} do
      for _, dtype in ipairs{"i64", "i32"} do
        assert.equal("f64", points(gb.tensor({{1}, {5}, {9}}, {dtype = dtype}), 2, {method = method}).dtype)
      end
      assert.equal("2x1", tostring(points(gb.tensor{1, 2, 3}, 2, {method = method}).shape))
    end
  end)

  it("lie where x lies, as silhouettes do", function()
    local script <const> = [[
      local gb = require "gibbous"
      gb.config{devices = 2}
      local x = gb.randn(90, 3, {seed = 1}):eval()
      local y, there = gb.range(1, 90, 1, {dtype = "i64"}) % 4 + 1, x:to "cpu:2":eval()
      for _, o in ipairs{{}, {sample = 30}, {simplified = true}} do
        local home, away = gb.silhouette(x, y, o), gb.silhouette(there, y, o)
        print(away.values.device, away.values:to "cpu":equal(home.values), away.mean == home.mean)
      end
      for _, o in ipairs{{}, {method = "random"}, {method = "random", weights = gb.range(1, 90)}} do
        local home, away = gb.gp.inducing_points(x, 9, o), gb.gp.inducing_points(there, 9, o)
        print(away.device, away:to "cpu":equal(home), true)
      end
      local km = gb.kmeans{k = 3}:fit(there)
      print("cpu:2", km:silhouette(there).values:to "cpu":equal(gb.silhouette(x, km.labels).values),
        gb.plot.silhouette(km:silhouette(there)):text():find "cluster" ~= nil)]]
    local got <const>, err <const> = process.run({"-e", script}, {env = "GIBBOUS_DEVICE="})
    assert.equal("", err)
    assert.equal(("cpu:2\ttrue\ttrue\n"):rep(7), got)
  end)

  it("are distinct rows, drawn by the seed", function()
    local x <const> = (gb.range(1, 90) // 3 * 1.0):unsqueeze(2):eval()                 -- 31 distinct values
    local z <const> = points(x, 31, {method = "random", seed = 2}):squeeze(2):totable()
    table.sort(z)
    for i = 1, 31 do assert.equal(i - 1, z[i]) end
    local few <const> = points(x, 5, {method = "random", seed = 2})
    assert.is_true(few:equal(points(x, 31, {method = "random", seed = 2}):slice(1, 1, 5)))
    assert.is_false(few:equal(points(x, 5, {method = "random", seed = 3})))
    assert.is_true(points(x, 5, {method = "random"}):equal(points(x, 5, {method = "random", seed = 0})))
  end)

  it("are drawn by weight", function()
    local x <const>, hits = gb.range(1, 4):unsqueeze(2):eval(), {0, 0, 0, 0}
    for seed = 1, 400 do
      local at <const> = points(x, 1, {method = "random", seed = seed, weights = {1, 0, 6, 3}}):item() // 1 | 0
      hits[at] = hits[at] + 1
    end
    assert.equal(0, hits[2])
    for i, want in ipairs{40, 0, 240, 120} do assert.is_true(math.abs(hits[i] - want) <= 45, table.concat(hits, " ")) end
    local z <const> = points(x, 3, {method = "random", weights = {1, 0, 6, 3}}):squeeze(2):totable()
    table.sort(z)
    assert.same({1.0, 3.0, 4.0}, z)
  end)

  it("are refused where there are not so many, or x is no numbers", function()
    local x <const>, nan <const> = blobs(9, 2, 3), gb.tensor{{1, 2}, {3, 0 / 0}, {4, 5}}
    for _, method in ipairs{"kmeans", "random"} do
      local o <const> = {method = method}
      for _, row in ipairs{
        {"shape", "9 rows cannot be 10 points: choose m of at most 9", x, 10, o},
        {"shape", "2 distinct rows cannot be 3 points: choose m of at most 2", gb.tensor{{1, 2}, {3, 4}, {1, 2}, {3, 4}}, 3, o},
        {"option", "m must be a whole number, 1 or more, got 0", x, 0, o},
        {"option", "takes a tensor, got string", "x", 2, o},
        {"shape", "the points must be a tensor (n, d), got shape 2x2x2", gb.ones(2, 2, 2), 2, o},
        {"shape", "option 'weights' must have one number a row, 9, got shape 2", x, 2, {method = method, weights = {1, 2}}},
      } do
        local message <const> = raises(row[1], "", points, row[3], row[4], row[5]).message
        assert.is_true(message:find(row[2], 1, true) ~= nil, message)
      end
      raises("nan", "the point in row 2 is not finite in column 2", points, nan, 2, o)
      raises("shape", "points: choose m of at most 2", points, x, 3, {method = method, weights = {0, 0, 1, 0, 1, 0, 0, 0, 0}})
      for _, w in ipairs{-1, 0 / 0, 1 / 0} do
        raises("nan", "the weight of point 4 is negative or not finite", points, x, 2,
          {method = method, weights = {1, 1, 1, w, 1, 1, 1, 1, 1}})
      end
    end
    raises("option", "option 'method' must be one of kmeans, random, greedy", points, x, 2, {method = "grid"})
  end)

  it("are the rows of the largest variance left, by a kernel", function()
    local x <const> = blobs(80, 2, 5)
    local kernel <const> = gb.kernels.rbf{lengthscale = 1.5} * gb.kernels.linear{} + gb.kernels.rbf{lengthscale = 4}
    local want <const>, k <const>, left <const> = {}, kernel(x, x):totable(), {}
    for i = 1, 80 do left[i] = k[i][i] end
    local columns <const> = {}
    for step = 1, 12 do
      local best = 1
      for i = 2, 80 do best = left[i] > left[best] and i or best end
      want[step] = best
      local column <const> = {}
      for i = 1, 80 do
        column[i] = k[i][best]
        for _, c in ipairs(columns) do column[i] = column[i] - c[i] * c[best] end
      end
      local root <const> = math.sqrt(left[best])
      for i = 1, 80 do
        column[i] = column[i] / root
        left[i] = left[i] - column[i] ^ 2
      end
      columns[step] = column
    end
    local o <const> = {method = "greedy", kernel = kernel}
    assert.is_true(points(x, 12, o):equal(x:index(1, gb.tensor(want, whole))))
    local single <const> = points(x:to "f32", 5, {method = "greedy", kernel = gb.kernels.matern32{}})
    assert.same({"f32", 5}, {single.dtype, #single})
    local twice <const> = gb.cat({x, x}, 1):eval()
    assert.equal(80, #points(twice, 80, {method = "greedy", kernel = gb.kernels.matern12{}}))
    assert.equal("gb.gp.inducing_points: 80 rows that this kernel tells apart cannot be 81 points: choose m of at most 80",
      raises("shape", "", points, twice, 81, {method = "greedy", kernel = gb.kernels.matern12{}}).message)
    raises("nan", "the point in row 2 is not finite in column 2", points, gb.tensor{{1, 2}, {3, 0 / 0}}, 1, o)
    raises("option", "method = 'greedy' needs a kernel", points, x, 2, {method = "greedy"})
    raises("option", "method = 'greedy' takes no weights", points, x, 2,
      {method = "greedy", kernel = kernel, weights = gb.ones(80)})
    raises("option", "a kernel is for method = 'greedy'", points, x, 2, {kernel = kernel})
    raises("option", "option 'kernel' must be a gb.kernels value", points, x, 2, {method = "greedy", kernel = 3})
  end)

  it("serve a streamed regression", function()
    local x <const> = (gb.rand(3000, 1, {seed = 1}) * 10):eval()
    local y <const> = (x:squeeze(2):sin() + 0.1 * gb.randn(3000, {seed = 2})):eval()
    local k <const>, z <const> = gb.kernels.rbf{lengthscale = 1.0}, points(x, 25)
    local w <const> = gb.linalg.solve(k(z, x):matmul(k(x, z)) + 0.01 * k(z, z), k(z, x):matmul(y))
    local at <const> = gb.linspace(0.5, 9.5, 40):unsqueeze(2)
    near(at:squeeze(2):sin(), k(at, z):matmul(w), 0.05)
  end)
end)

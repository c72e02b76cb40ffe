--- Sums, means and extremes by label, counts, histograms, one-hot rows, distances: values by plain loops, gradients by differences,
-- cuts along the batch.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function whole(list) return gb.tensor(list, {dtype = "i64"}) end
local function read(t) return gb.tensor(t:totable(), {dtype = t.dtype}) end

local n <const>, d <const>, k <const> = 40, 3, 5
local x <const> = read(gb.randn(n, d, {seed = 1}))
local at <const> = {}
for i = 1, n do at[i] = (i * 7 + i // 5) % 4 + 1 end              -- 1 .. 4: label 5 has no rows
local labels <const> = whole(at)

--- One list a label: the rows of t with that label.
local function grouped(t)
  local out <const> = {}
  for j = 1, k do out[j] = {} end
  for i, row in ipairs(t:totable()) do table.insert(out[at[i]], row) end
  return out
end

local function by_loops(combine, start)
  local out <const> = {}
  for j, rows in ipairs(grouped(x)) do
    out[j] = {}
    for c = 1, d do
      local v = start
      for _, row in ipairs(rows) do v = combine(v, row[c], #rows) end
      out[j][c] = v
    end
  end
  return out
end

describe("segments", function()
  it("are sums, means and extremes of the rows of a label", function()
    local sums <const> = by_loops(function(v, e) return v + e end, 0.0)
    near(sums, gb.segment_sum(x, labels, k), 0)                  -- the order of the rows: no rounding differs
    local means <const> = gb.segment_mean(x, labels, k)
    near(by_loops(function(v, e, count) return v + e / count end, 0.0), gb.where(means:isnan(), 0, means), 1e-14)
    for _, v in ipairs(support.numbers(means[k])) do assert.is_true(v ~= v) end
    assert.same(by_loops(function(v, e) return math.max(v, e) end, -math.huge), gb.segment_max(x, labels, k):totable())
    assert.same(by_loops(function(v, e) return math.min(v, e) end, math.huge), gb.segment_min(x, labels, k):totable())
  end)

  it("take vectors, blocks of more dimensions, whole numbers, lists of labels, f32", function()
    near({5.0, 2.0}, gb.segment_sum(gb.tensor{1, 2, 4}, {1, 2, 1}, 2), 0)
    local blocks <const> = gb.range(1, 12):reshape(3, 2, 2)
    near({{{10, 12}, {14, 16}}, {{5, 6}, {7, 8}}}, gb.segment_sum(blocks, whole{1, 2, 1}, 2), 0)
    near({{{9, 10}, {11, 12}}, {{5, 6}, {7, 8}}}, gb.segment_max(blocks, whole{1, 2, 1}, 2), 0)
    assert.same({(1 << 53) + 2, 7}, gb.segment_sum(whole{1 << 53, 7, 2}, {1, 2, 1}, 2):totable())
    assert.same({1 << 53, 7, math.mininteger}, gb.segment_max(whole{1 << 53, 7, 2}, {1, 2, 1}, 3):totable())
    assert.equal("f64", gb.segment_mean(whole{1, 2}, {1, 1}, 1).dtype)
    assert.equal("f32", gb.segment_mean(x:to "f32", labels, k).dtype)
    assert.same({0.0, 0.0}, gb.segment_sum(gb.zeros(0), whole{}, 2):totable())
  end)

  it("keep a NaN in its segment", function()
    local v <const> = gb.tensor{0 / 0, 1, 2, math.huge}
    for _, f in ipairs{gb.segment_sum, gb.segment_max, gb.segment_min, gb.segment_mean} do
      local y <const> = f(v, {1, 2, 2, 3}, 3):totable()
      assert.is_true(y[1] ~= y[1] and y[2] == y[2] and y[3] == math.huge)
    end
  end)

  it("have the gradients that differences have", function()
    local weight <const> = read(gb.randn(4, d, {seed = 3}))
    for name, f in pairs{sum = gb.segment_sum, mean = gb.segment_mean, max = gb.segment_max, min = gb.segment_min} do
      local p <const> = gb.param(x, {name = name})
      support.check_gradients(function() return (f(p.value, labels, 4) ^ 2 * weight):sum() end, {p}, 1e-7)
    end
    local p <const> = gb.param(x:select(2, 1), {name = "weights"})
    support.check_gradients(function() return (gb.bincount(labels, {k = k, weights = p.value}) ^ 2):sum() end, {p}, 1e-7)
    support.check_gradients(function()
      return (gb.histogram(x:select(2, 2), {bins = 4, range = {-2, 2}, weights = p.value}) ^ 2):sum()
    end, {p}, 1e-7)
  end)

  it("name the row of a label out of range", function()
    raises("index", "gb.segment_sum: label 7 of row 3 is outside 1 .. 5", gb.segment_sum, gb.ones(3), {1, 2, 7}, 5)
    raises("index", "gb.segment_mean: label 0 of row 1 is outside 1 .. 5", gb.segment_mean, gb.ones(3), whole{0, 2, 7}, 5)
    local late <const> = gb.segment_sum(gb.ones(3), whole{1, 2, 3} * 2, 5)
    local err <const> = raises("index", "position 6 (entry 3) is outside 1 .. 5 (the labels of gb.segment_sum", late.eval, late)
    assert.matches("segments_spec.lua:%d+%)$", err.message)
    raises("dtype", "element [2] is not a whole number", gb.segment_sum, gb.ones(2), {1, 1.5}, 2)
    raises("dtype", "labels are whole numbers from 1, of i64 or i32, got f64", gb.segment_max, gb.ones(2), gb.ones(2), 2)
    raises("option", "gb.segment_min: k must be a whole number, 1 or more, got 0", gb.segment_min, gb.ones(2), {1, 1}, 0)
    raises("option", "k must be a whole number, 1 or more, got nil", gb.segment_sum, gb.ones(2), {1, 1})
    raises("shape", "expected one label a row: x 2, labels 3", gb.segment_sum, gb.ones(2), {1, 1, 1}, 2)
    raises("option", "gb.segment_sum takes a tensor, got string", gb.segment_sum, "x", {1}, 2)
    raises("dtype", "no arithmetic on bool", gb.segment_sum, gb.tensor{true}, {1}, 1)
  end)

  it("are cut along the batch, with the same bits at every budget", function()
    for name, f in pairs{sum = gb.segment_sum, mean = gb.segment_mean, max = gb.segment_max} do
      local function made()                                        -- of leaves of its own: nothing is remembered
        local r <const>, l <const> = gb.lazy(read(gb.randn(3000, 16, {seed = 1})), read(gb.randperm(3000, {seed = 2}) % 6 + 1),
          {batch = 1})
        local w <const>, c <const> = read(gb.randn(16, 64, {seed = 3})):requires_grad(), read(gb.randn(6, 64, {seed = 4}))
        local s <const> = f(r:matmul(w):tanh(), l, 6)
        if name == "max" then return {s} end                       -- its gradient reads all rows twice
        return {s, gb.grad((s * c):sum(), w)}
      end
      local plan <const> = gb.plan(made())
      assert.is_true(plan.minimum < plan.peak / 4, name)
      local want
      for i = 0, 3 do
        local out <const> = made()
        gb.plan(out, {budget = plan.minimum + (plan.peak - plan.minimum) * i // 3}):run()
        local got <const> = {}
        for j, t in ipairs(out) do got[j] = t:reshape(-1):totable() end
        want = want or got
        assert.same(want, got, name)
      end
    end
  end)
end)

describe("index_max and index_min", function()
  local v <const> = gb.tensor{{1, 5}, {2, 0 / 0}, {3, 7}}
  local function same(want, got)
    for i, row in ipairs(want) do
      for j, w in ipairs(row) do
        local g <const> = got:totable()[i][j]
        assert.is_true(w == g or w ~= w and g ~= g, ("%d, %d: %s for %s"):format(i, j, g, w))
      end
    end
  end

  it("keep the larger or the smaller of what meets at a position; a NaN stays", function()
    same({{4, 5}, {2, 0 / 0}, {9, 0 / 0}}, v:index_max(1, {3, 1, 3}, gb.tensor{{9, 1}, {4, 2}, {-1, 0 / 0}}))
    same({{1, 2}, {2, 0 / 0}, {-1, 0 / 0}}, v:index_min(1, {3, 1, 3}, gb.tensor{{9, 1}, {4, 2}, {-1, 0 / 0}}))
    same({{6, 6}, {2, 0 / 0}, {6, 7}}, v:index_max(1, {true, false, true}, 6))
    same({{1, 4}, {2, 0 / 0}, {3, 7}}, v:index_min(2, {2, 2}, gb.tensor{{9, 4}, {9, 9}, {9, 8}}))
    local whole_numbers <const> = whole{math.mininteger, -5, 3}
    assert.same({1 << 60, -4, 3}, whole_numbers:index_max(1, {2, 1}, whole{-4, 1 << 60}):totable())
    assert.equal("i64", whole_numbers:to "i32":index_min(1, {1}, -7):to "i64".dtype)
    for _, dtype in ipairs{"f32", "f16", "bf16"} do
      assert.same({2, 3}, gb.tensor({2, 1}, {dtype = dtype}):index_max(1, {2, 2}, gb.tensor({3, 0}, {dtype = dtype})):totable())
    end
    raises("dtype", "no arithmetic on bool", function() return gb.tensor{true}:index_max(1, {1}, true) end)
    raises("index", "position 4 (entry 1) is outside 1 .. 3", function() return v:index_max(1, whole{2} * 2, 0):eval() end)
  end)

  it("share the gradient among those that attain the result", function()
    local a, b = gb.tensor{2, 1, 0 / 0}:requires_grad(), gb.tensor{2, 2, 5, 7}:requires_grad()
    local g <const> = gb.grad((a:index_max(1, {1, 1, 2, 3}, b) * gb.tensor{6, 10, 1}):sum(), {a, b})
    assert.same({{2, 0, 0}, {2, 2, 10, 0}}, {g[1]:totable(), g[2]:totable()})
    for _, name in ipairs{"index_max", "index_min"} do
      local p <const> = gb.param(gb.randn(4, 3, {seed = 1}), {name = "x"})
      local q <const> = gb.param(gb.randn(6, 3, {seed = 2}), {name = "y"})
      support.check_gradients(function()
        return (p.value[name](p.value, 1, {1, 3, 3, 4, 1, 1}, q.value) ^ 2):sum()
      end, {p, q}, 1e-7)
    end
  end)

  it("cost as much for a thousand labels as for one", function()
    local y <const> = read(gb.randperm(5000, {seed = 1}) % 1000 + 1)
    local rows <const> = read(gb.randn(5000, 4, {seed = 2}))
    assert.is_nil(gb.plan(gb.segment_max(rows, y, 1000)):programs():find("reduce max", 1, true))
    assert.is_true(gb.plan(gb.segment_max(rows, y, 1000)).peak < 5000 * 4 * 8)
  end)
end)

describe("gb.bincount", function()
  it("counts labels, as many as the largest where k is not said", function()
    assert.same({2, 0, 1}, gb.bincount(whole{1, 3, 1}):totable())
    assert.same({2, 0, 1, 0, 0}, gb.bincount({1, 3, 1}, {k = 5}):totable())
    assert.equal("i64", gb.bincount{1}.dtype)
    near({0.75, 0, 2}, gb.bincount({1, 3, 1}, {weights = {0.25, 2, 0.5}}), 0)
    assert.same({0, 0}, gb.bincount(whole{}, {k = 2}):totable())
  end)

  it("refuses what are no labels", function()
    raises("option", "gb.bincount: there are no labels: say how many counts there are", gb.bincount, whole{})
    raises("index", "label 3 of row 2 is outside 1 .. 2", gb.bincount, {1, 3}, {k = 2})
    raises("index", "label 0 of row 1 is outside 1 .. 3", gb.bincount, {0, 3})
    raises("option", "unknown option 'weight', did you mean 'weights'?", gb.bincount, {1}, {weight = {1}})
    raises("shape", "one label a row: x 2, labels 1", gb.bincount, {1}, {weights = {1, 2}})
    raises("shape", "expected labels (n), got 1x1", gb.bincount, whole{{1}})
  end)
end)

describe("gb.histogram", function()
  local v <const> = gb.tensor{0, 0.5, 1, 1, 2, 2.999, 3, -1, 4, 0 / 0}

  it("counts values by half open bins, the last with its end; what is outside is not counted", function()
    local counts <const>, edges <const> = gb.histogram(v, {bins = 3, range = {0, 3}})
    assert.same({2, 2, 3}, counts:totable())
    assert.equal("i64", counts.dtype)
    near({0, 1, 2, 3}, edges, 0)
    assert.same({5, 1}, (gb.histogram(v, {bins = {-1, 2, 2.5}})):totable())
    near({1.5, 7}, (gb.histogram(gb.tensor{1, 2, 2}, {bins = 2, weights = gb.tensor{1.5, 3, 4}})), 0)
  end)

  it("runs from the least to the largest value where no range is said", function()
    local t <const> = read(gb.randn(500, {seed = 5}))
    local counts <const>, edges <const> = gb.histogram(t:reshape(50, 10), {bins = 7})
    local e <const>, want <const> = edges:totable(), {0, 0, 0, 0, 0, 0, 0}
    for _, u in ipairs(t:totable()) do
      for b = 1, 7 do
        if u >= e[b] and (u < e[b + 1] or b == 7 and u == e[8]) then want[b] = want[b] + 1 end
      end
    end
    assert.same(want, counts:totable())
    assert.equal(500, counts:sum():item())
    assert.same({t:min():item(), t:max():item()}, {e[1], e[8]})
    assert.same({0, 2}, (gb.histogram(gb.tensor{3, 3}, {bins = 2})):totable())
    assert.equal(10, #gb.histogram(t))
  end)

  it("stores no table of values by bins", function()
    local r <const> = gb.lazy(read(gb.randn(20000, {seed = 6})), {batch = 1})
    assert.is_true(gb.plan((gb.histogram(r, {bins = 100, range = {-4, 4}}))).minimum < 400000)
  end)

  it("refuses bins below 1 and ranges that are empty", function()
    raises("nan", "gb.histogram: x runs from nan to nan: give the range", gb.histogram, v)
    raises("option", "bins must be a whole number, 1 or more, got 0", gb.histogram, v, {bins = 0})
    raises("option", "range must be two finite numbers", gb.histogram, v, {range = {2, 1}})
    raises("option", "edges must ascend", gb.histogram, v, {bins = {1, 0}})
    raises("shape", "edges are a list of two numbers or more, got shape 1", gb.histogram, v, {bins = {1}})
    raises("option", "bins are edges already: leave out range", gb.histogram, v, {bins = {1, 2}, range = {1, 2}})
    raises("shape", "weights must be one a value: x 10, weights 2", gb.histogram, v, {range = {0, 1}, weights = gb.ones(2)})
  end)
end)

describe("gb.one_hot", function()
  it("is 1 at each label", function()
    assert.same({{0, 1, 0}, {1, 0, 0}}, gb.one_hot({2, 1}, 3):totable())
    assert.same({{{false, true}}, {{true, false}}}, gb.one_hot(whole{{2}, {1}}, 2, {dtype = "bool"}):totable())
    raises("index", "gb.one_hot: label 4 of row 2 is outside 1 .. 3", gb.one_hot, {2, 4}, 3)
  end)

  it("streams where it is multiplied", function()
    local w <const> = read(gb.randn(50, 4, {seed = 2}))
    local l <const> = read(gb.randperm(4000, {seed = 1}) % 50 + 1)
    local y <const> = gb.one_hot(l, 50):matmul(w)
    assert.is_true(gb.plan(y).peak < 4000 * 50 * 8 / 4)
    near(w:index(1, l), y, 0)
  end)
end)

describe("gb.cdist", function()
  local a <const>, b <const> = read(gb.randn(6, 3, {seed = 1})), read(gb.randn(4, 3, {seed = 2}))

  it("is the distance of every pair of rows, in any norm", function()
    for _, p in ipairs{2, 1, 3, math.huge} do
      local want <const> = {}
      for i, u in ipairs(a:totable()) do
        want[i] = {}
        for j, v in ipairs(b:totable()) do
          local s = 0
          for c = 1, 3 do
            local e <const> = math.abs(u[c] - v[c])
            if p == math.huge then s = math.max(s, e) else s = s + e ^ p end
          end
          want[i][j] = p == math.huge and s or s ^ (1 / p)
        end
      end
      near(want, gb.cdist(a, b, {p = p}), 1e-14)
    end
    near(gb.cdist(a, b), gb.cdist(a:unsqueeze(1), b:unsqueeze(1))[1], 1e-14)
  end)

  it("is differentiated, and not stored unless it is observed", function()
    local p <const> = gb.param(a, {name = "a"})
    for _, norm in ipairs{2, 1, 3} do
      support.check_gradients(function() return (gb.cdist(p.value, b, {p = norm}) ^ 2):sum() end, {p}, 1e-6)
    end
    near(gb.zeros(6, 3), gb.grad(gb.cdist(p.value, p.value):diagonal():sum(), p.value), 0)
    local many <const> = read(gb.randn(2000, 3, {seed = 3}))
    assert.is_true(gb.plan(gb.cdist(many, many):min(2)).peak < 2000 * 2000)
    raises("shape", "gb.cdist: expected x (..., n, d) and y (..., m, d), got 3 and 3", gb.cdist, gb.ones(3), gb.ones(3))
    raises("option", "option 'p' must be a positive number", gb.cdist, a, b, {p = -1})
  end)
end)

describe("gb.outer", function()
  it("is the product of every pair", function()
    near({{3, 4}, {6, 8}}, gb.outer(gb.tensor{1, 2}, gb.tensor{3, 4}), 0)
    raises("shape", "gb.outer: expected two vectors, got 2x2 and 2", gb.outer, gb.ones(2, 2), gb.ones(2))
  end)
end)

--- Methods that move, mask, order and pick elements, against plain loops; gradients against differences.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function whole(list) return gb.tensor(list, {dtype = "i64"}) end
local function read(t) return gb.tensor(t:totable(), {dtype = t.dtype}) end

local x <const> = gb.tensor{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}
local v <const> = gb.tensor{1, 2, 3, 4, 5}

describe("methods that move elements", function()
  it("roll, split and chunk", function()
    near({4, 5, 1, 2, 3}, v:roll(2, 1), 0)
    near({2, 3, 4, 5, 1}, v:roll(-6, -1), 0)
    near({{3, 4, 1, 2}, {7, 8, 5, 6}, {11, 12, 9, 10}}, x:roll(2, 2), 0)
    local a <const>, b <const>, c <const> = table.unpack(v:split(2))
    near({1, 2, 3, 4, 5}, {a, b, c}, 0)
    assert.same({2, 2, 1}, {#a, #b, #c})
    near({{1}, {5}, {9}}, x:split({1, 3}, 2)[1], 0)
    near({{2, 3, 4}, {6, 7, 8}, {10, 11, 12}}, x:split({1, 3}, -1)[2], 0)
    assert.same({2, 1}, {#x:chunk(2)[1], #x:chunk(2)[2]})
    assert.equal(5, #v:chunk(100))
    assert.equal(0, #gb.zeros(0):chunk(3))
  end)

  it("pad and unfold", function()
    near({0, 1, 2, 3, 4, 5, 0}, v:pad(1, 1), 0)
    near({{-1, 1, 2, 3, 4}, {-1, 5, 6, 7, 8}, {-1, 9, 10, 11, 12}}, x:pad(2, 1, 0, {value = -1}), 0)
    for mode, want in pairs{reflect = {3, 2, 1, 2, 3, 4, 5, 4}, replicate = {1, 1, 1, 2, 3, 4, 5, 5},
      circular = {4, 5, 1, 2, 3, 4, 5, 1}} do
      near(want, v:pad(1, 2, 1, {mode = mode}), 0)
      near(want, v:unsqueeze(1):pad(2, 2, 1, {mode = mode})[1], 0)
      near({1, 2, 3, 4, 5}, v:pad(1, 0, 0, {mode = mode}), 0)
    end
    near({1, 1, 1}, gb.tensor{1}:pad(1, 1, {mode = "replicate"}), 0)
    assert.same({false, true, true}, gb.tensor{true}:pad(1, 1, 0):pad(1, 0, 1, {value = true}):totable())
    near({{1, 2, 3}, {3, 4, 5}}, v:unfold(1, 3, 2), 0)
    near({{{1, 5}, {2, 6}, {3, 7}, {4, 8}}, {{5, 9}, {6, 10}, {7, 11}, {8, 12}}}, x:unfold(1, 2), 0)
    local long <const> = gb.range(1, 400):reshape(2, 200)
    local windows <const> = long:unfold(2, 100, 7):totable()           -- more entries than slices are joined of
    for i = 1, 2 do
      for j = 1, 15 do
        for k = 1, 100 do assert.equal((i - 1) * 200 + (j - 1) * 7 + k, windows[i][j][k]) end
      end
    end
    near(long:unfold(2, 100, 7):permute(2, 3, 1), long:t():unfold(1, 100, 7):permute(1, 3, 2), 0)
  end)

  it("mask triangles, elements, and sum a diagonal", function()
    near({{1, 0, 0, 0}, {5, 6, 0, 0}, {9, 10, 11, 0}}, x:tril(), 0)
    near({{0, 0, 0, 0}, {5, 0, 0, 0}, {9, 10, 0, 0}}, x:tril(-1), 0)
    near({{0, 2, 3, 4}, {0, 0, 7, 8}, {0, 0, 0, 12}}, x:triu(1), 0)
    near(x, x:triu(-100), 0)
    near(gb.zeros(3, 4), x:triu(math.maxinteger), 0)
    assert.same({{true, false}, {true, true}}, x:gt(0):slice(1, 1, 2):slice(2, 1, 2):tril():totable())
    assert.same({{false, true}, {false, false}}, x:gt(0):slice(1, 1, 2):slice(2, 1, 2):triu(1):totable())
    near(18, x:trace(), 0)
    near({18, 36}, gb.stack{x, 2 * x}:trace(), 0)
    near({1, 2, -1, -1, -1}, v:masked_fill(v:gt(2), -1), 0)
  end)

  it("are differentiated", function()
    local w <const> = read(gb.randn(3, 4, {seed = 1}))
    local p <const> = gb.param(x, {name = "x"})
    for name, f in pairs{
      roll = function(t) return (t:roll(1, 2) * w):sum() end, tril = function(t) return (t:tril() * w):sum() end,
      pad = function(t) return (t:pad(2, 1, 2) ^ 2):sum() end, trace = function(t) return t:trace() ^ 2 end,
      unfold = function(t) return (t:unfold(2, 3) ^ 2):sum() end,
      fill = function(t) return (t:masked_fill(w:gt(0), 7) ^ 2):sum() end,
      chunk = function(t) return (t:chunk(2, 2)[2] ^ 2):sum() end,
      gather = function(t) return (t:gather(2, whole{{4, 4}, {1, 2}, {3, 3}}) ^ 2):sum() end,
      gather_many = function(t)
        return (t:gather(1, whole{{3, 3, 1, 2}, {1, 1, 1, 1}, {2, 3, 1, 1}, {2, 2, 2, 2}, {1, 2, 3, 1}}) ^ 2):sum()
      end,
      scatter = function(t) return (t:scatter_add(2, whole{{4, 4}, {1, 2}, {3, 3}}, t:slice(2, 1, 2)) ^ 2):sum() end,
      median = function(t) return (t:median(1) ^ 2):sum() end,
      quantile = function(t) return (t:quantile({0.1, 0.6}, 2) ^ 2):sum() end,
      index_add = function(t) return (t:index_add(1, {1, 1}, t:slice(1, 1, 2) * 2) ^ 2):sum() end,
    } do
      p.value = x
      local want <const> = support.differences(function() return f(p.value) end, {p})[1]
      near(want, gb.grad(f(p.value), p.value):reshape(-1), 1e-6, name)
    end
  end)

  it("name what is wrong", function()
    raises("option", "roll: the shift must be a whole number, got 1.5", v.roll, v, 1.5, 1)
    raises("index", "roll: dimension 2 of a tensor with 1 dimension", v.roll, v, 1, 2)
    raises("option", "roll: a dimension expected, 1 to 1, or -1 for the last; got nil", v.roll, v, 1)
    raises("shape", "split: sizes that add up to 3 for a dimension of extent 5", v.split, v, {1, 2})
    raises("option", "split: the size must be a whole number, 1 or more, got 0", v.split, v, 0)
    raises("option", "chunk: 1000000 parts, at most 65536 are possible", function() return gb.zeros(1000000):chunk(1000000) end)
    raises("option", "pad: the number in front must be a whole number, 0 or more, got -1", v.pad, v, 1, -1)
    raises("shape", "pad: mode 'reflect' of a dimension of extent 5 adds at most 4 entries, got 5 and 0",
      v.pad, v, 1, 5, 0, {mode = "reflect"})
    raises("shape", "pad: mode 'circular' of a dimension of extent 5 adds at most 5 entries, got 1 and 6",
      v.pad, v, 1, 1, 6, {mode = "circular"})
    raises("shape", "pad: mode 'replicate' of a dimension of extent 0 adds at most 0",
      gb.zeros(0).pad, gb.zeros(0), 1, 1, {mode = "replicate"})
    raises("option", "pad: mode 'reflect' takes no value", v.pad, v, 1, 1, {mode = "reflect", value = 1})
    raises("option", "pad: unknown option 'with'", v.pad, v, 1, 1, {with = 1})
    raises("shape", "unfold: windows of 6 entries of a dimension of extent 5", v.unfold, v, 1, 6)
    raises("option", "unfold: the step must be a whole number, 1 or more, got 0", v.unfold, v, 1, 2, 0)
    raises("shape", "tril: expected a matrix, got 5", v.tril, v)
    raises("shape", "trace: expected a matrix, got 5", v.trace, v)
    raises("dtype", "masked_fill: a mask is bool, got f64", v.masked_fill, v, v, 1)
  end)
end)

describe("gather and scatter_add", function()
  -- x[i, index[i, j]] and its reverse along each dimension of three, by loops; one position each, few, and many.
  it("are what loops over positions give", function()
    local shape <const> = {3, 4, 5}
    local t <const> = read(gb.randn(3, 4, 5, {seed = 1}))
    local a <const> = t:totable()
    for axis = 1, 3 do
      for _, count in ipairs{1, 3, 6} do
        local own <const> = table.move(shape, 1, 3, 1, {})
        own[axis] = count
        local index <const>, want <const>, sums <const> = {}, {}, t:totable()
        local src <const> = read(gb.randn(own[1], own[2], own[3], {seed = 2}))
        local s <const> = src:totable()
        for i = 1, own[1] do
          index[i], want[i] = {}, {}
          for j = 1, own[2] do
            index[i][j], want[i][j] = {}, {}
            for k = 1, own[3] do
              local at <const> = {i, j, k}
              at[axis] = (i * 5 + j * 3 + k * 7) % shape[axis] + 1
              index[i][j][k] = at[axis]
              want[i][j][k] = a[at[1]][at[2]][at[3]]
              sums[at[1]][at[2]][at[3]] = sums[at[1]][at[2]][at[3]] + s[i][j][k]
            end
          end
        end
        near(want, t:gather(axis, whole(index)), 0)
        near(sums, t:scatter_add(axis, whole(index), src), 0)
      end
    end
  end)

  it("take vectors, masks and whole numbers, and keep what is not picked out of it", function()
    near({3, 1, 1}, v:gather(1, {3, 1, 1}), 0)
    near({3, 3, 3, 4, 5}, v:scatter_add(1, {1, 2, 1}, gb.tensor{1, 1, 1}), 0)
    near({2, 2, 3, 4, 5}, v:scatter_add(1, {1}, 1), 0)
    assert.same({{true}, {false}}, gb.tensor{{true, false}, {true, false}}:gather(2, whole{{1}, {2}}):totable())
    assert.same({{(1 << 53) + 1}}, whole{{(1 << 53) + 1, 4}}:gather(2, whole{{1}}):totable())
    assert.same({{2.0}, {1.0}}, gb.tensor{{0 / 0, 2}, {1, math.huge}}:gather(2, whole{{2}, {1}}):totable())
    assert.same({0, 4}, {#x:gather(1, gb.zeros(0, 4, {dtype = "i64"})), x:gather(1, gb.zeros(0, 4, {dtype = "i64"})).shape[2]})
  end)

  it("are cut along the batch", function()
    local w <const>, values <const> = read(gb.randn(40, 40, {seed = 3})), {}
    for i = 1, 2 do                                                      -- leaves of their own: nothing is remembered
      local rows <const>, at <const> = gb.lazy(read(gb.randn(3000, 40, {seed = 1})), read(gb.randperm(3000, {seed = 2}) % 40 + 1),
        {batch = 1})
      local y <const> = rows:matmul(w):tanh():gather(2, at:unsqueeze(2)):sum()
      local plan <const> = gb.plan(y)
      assert.is_true(plan.minimum < 3000 * 40 * 8 / 3)
      gb.plan(y, {budget = i == 1 and plan.minimum or plan.peak}):run()
      values[i] = y:item()
    end
    assert.equal(values[1], values[2])
  end)

  it("name a position outside of the axis", function()
    raises("index", "gather: label 5 of row 2 is outside 1 .. 4", x.gather, x, 2, whole{{1}, {5}, {1}})
    raises("shape", "positions must have the shape of x but for dimension 2: x 3x4, positions 2x1", x.gather, x, 2, whole{{1}, {2}})
    raises("dtype", "gather: labels are whole numbers from 1, of i64 or i32, got f64", x.gather, x, 2, gb.ones(3, 1))
    raises("shape", "expected a value for each position: positions 3x1, values 3x2", x.scatter_add, x, 2, whole{{1}, {2}, {1}},
      gb.ones(3, 2))
    local late <const> = x:gather(2, whole{{0}, {4}, {0}} + 1)
    raises("index", "position 5 (entry 2) is outside 1 .. 4 (the labels of gather", late.eval, late)
  end)
end)

describe("methods that order", function()
  it("argsort gives positions", function()
    local t <const> = gb.tensor{{3, 1, 0 / 0, 2}, {1, 1, 0, 5}}
    assert.same({{2, 4, 1, 3}, {3, 1, 2, 4}}, t:argsort():totable())
    assert.same({{1, 4, 2, 3}, {4, 1, 2, 3}}, t:argsort{descending = true}:totable())
    assert.same(t:argsort(1):totable(), t:argsort{dim = 1}:totable())
    assert.same({{2, 1, 2, 1}, {1, 2, 1, 2}}, t:argsort(1):totable())
    raises("option", "argsort: the dimension is given twice", t.argsort, t, 1, {dim = 2})
    raises("option", "argsort: unknown option 'descend'", t.argsort, t, {descend = true})
  end)

  it("quantile and median are linear between neighbours, and NaN where any is", function()
    near(3, v:median(), 0)
    near({6.5, 2.5}, gb.tensor{{1, 12, 5, 8}, {4, 1, 3, 2}}:median(2), 0)
    near({{1, 2, 3, 4}, {3, 4, 5, 6}, {8.2, 9.2, 10.2, 11.2}}, x:quantile({0, 0.25, 0.9}, 1), 1e-14)
    near({{6.5}}, x:median{keepdim = true}, 0)
    near({{5, 6, 7, 8}}, x:median(1, {keepdim = true}), 0)
    assert.same({math.huge, -math.huge}, gb.tensor{-math.huge, -math.huge, math.huge, math.huge}:quantile{0.9, 0.1}:totable())
    local holes <const> = gb.tensor{{1, 0 / 0, 2}, {1, 2, 3}}:median(2):totable()
    assert.is_true(holes[1] ~= holes[1] and holes[2] == 2)
    assert.equal(1.5, whole{1, 2}:median():item())
    raises("option", "quantile: a fraction from 0 to 1 expected, got 1.5", v.quantile, v, 1.5)
    raises("option", "quantile: a fraction from 0 to 1 expected, got nan", v.quantile, v, {0, 0 / 0})
    raises("shape", "median: there is no value along a dimension of extent 0", function() return gb.zeros(0):median() end)
  end)

  it("unique gives values, positions and counts", function()
    local values <const>, at <const>, counts <const> = gb.tensor{{3, 1, 3}, {2, 2, 3}}:unique()
    near({1, 2, 3}, values, 0)
    assert.same({{3, 1, 3}, {2, 2, 3}}, at:totable())
    assert.same({1, 2, 3}, counts:totable())
    assert.same({false, true}, gb.tensor{true, false, true}:unique():totable())
    assert.same({7}, whole{7}:unique():totable())
    assert.equal(0, #gb.zeros(0, 2):unique())
    assert.equal(3, #gb.tensor{0 / 0, 1, 0 / 0}:unique())
  end)

  it("nonzero gives a row of positions each", function()
    assert.same({{1, 2}, {2, 1}, {2, 3}}, gb.tensor{{0, 1, 0}, {-2, 0, 0 / 0}}:nonzero():totable())
    assert.same({{2}, {3}}, gb.tensor{false, true, true}:nonzero():totable())
    assert.same({0, 3}, {table.unpack(gb.zeros(2, 2, 2):nonzero().shape)})
    raises("shape", "nonzero: a tensor of one element has no positions", function() return gb.tensor(1):nonzero() end)
  end)
end)

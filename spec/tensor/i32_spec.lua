--- i32 stores whole numbers in 4 bytes. What computes reads it as i64 and gives i64; what moves elements keeps it.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local raises <const> = support.raises

local top <const>, low <const> = 0x7fffffff, -0x80000000
local function narrow(list) return gb.tensor(list, {dtype = "i32"}) end
local function wide(list) return gb.tensor(list, {dtype = "i64"}) end

--- x holds these values, in this type.
local function is(dtype, want, x)
  assert.equal(dtype, x.dtype)
  assert.same(want, x:totable())
end

describe("i32", function()
  it("is made as other types are, and holds what it can hold", function()
    is("i32", {1, low, top}, narrow{1, low, top})
    is("i32", {{0, 0}, {0, 0}}, gb.zeros(2, 2, {dtype = "i32"}))
    is("i32", {1, 1}, gb.ones(2, {dtype = "i32"}))
    is("i32", {low}, gb.full({1}, low, {dtype = "i32"}))
    is("i32", {{1, 0}, {0, 1}}, gb.eye(2, {dtype = "i32"}))
    is("i32", {5, 3, 1}, gb.range(5, 1, -2, {dtype = "i32"}))
    is("i32", {top - 1, top}, gb.range(top - 1, top, {dtype = "i32"}))
    is("i32", {-3, 0, 3}, gb.linspace(-3, 3, 3, {dtype = "i32"}))
    is("i32", {}, gb.range(2, 1, {dtype = "i32"}))
    assert.equal("integer", math.type(narrow{3}:item()))
    assert.matches("^tensor 2 i32 %S+  8 B\n   3  %-1$", tostring(narrow{3, -1}))
  end)

  it("refuses what it does not hold where a number is written", function()
    raises("dtype", "element [2], 2147483648, is out of range, expected an i32 of -2^31 .. 2^31 - 1", narrow, {1, top + 1})
    raises("dtype", "element [1] is not a whole number", narrow, {1.5})
    raises("dtype", "2147483648 is out of range, expected an i32", gb.full, {1}, top + 1, {dtype = "i32"})
    raises("dtype", "0.5 is not an integer, expected i32", gb.full, {1}, 0.5, {dtype = "i32"})
    raises("dtype", "range: 2147483648 is out of range", gb.range, top - 1, top + 1, {dtype = "i32"})
    raises("dtype", "range: -2147483649 is out of range", gb.range, low - 1, 0, {dtype = "i32"})
    raises("dtype", "linspace: 2147483648 is out of range", gb.linspace, 0, top + 1, 2, {dtype = "i32"})
    raises("dtype", "range: whole numbers expected for i32, got 0.5", gb.range, 0, 2, 0.5, {dtype = "i32"})
  end)

  it("takes the nearest number where it is converted to, as i64 does", function()
    local x <const> = gb.tensor{1.9, -1.9, 2^31, -2^31 - 1, 1e300, -1 / 0, 0 / 0}
    is("i32", {1, -1, top, low, top, low, 0}, x:to "i32")
    is("i32", {top, low, 5}, wide{top + 1, low - 1, 5}:to "i32")
    is("i32", {1, 0}, gb.tensor{true, false}:to "i32")
    for _, dtype in ipairs{"f64", "f32", "f16", "bf16", "i64"} do is(dtype, {3, -2}, narrow{3, -2}:to(dtype)) end
    is("bool", {true, false}, narrow{3, 0}:to "bool")
  end)

  it("computes as i64: the same numbers, of i64", function()
    local list <const>, other <const> = {7, -7, top, low, 0, 3}, {2, -3, top, low, 5, -1}
    local a <const>, b <const> = narrow(list), narrow(other)
    local ops <const> = {
      function(x, y) return x + y end, function(x, y) return x * y end, function(x, y) return x - 5 * y end,
      function(x, y) return x // y end, function(x, y) return x % y end, function(x) return -x end,
      function(x) return x:abs() end,
      function(x, y) return gb.maximum(x, y) end, function(x) return x:clamp(-3, 1 << 40) end, function(x) return x:cumsum(1) end,
      function(x) return x:sum() end, function(x) return x:prod() end, function(x) return x:max() end,
      function(x) return x:min() end,
      function(x) return x:argmax() end, function(x) return x + (1 << 40) end, function(x) return (1 << 40) - x end,
      function(x, y) return x:index_add(1, {2}, y:slice(1, 1, 1)) end, function(x) return x:relu() end,
      function(x) return (x:sort(1)):cumsum(1) end, function(x) return x:index(1, {6, 1, 2}):to "i64" end,
      function(x) return gb.cat({x:index(1, {6, 1, 2}):to "i64", x:to "i64"}, 1) end,
    }
    for i, f in ipairs(ops) do
      local want <const> = f(wide(list), wide(other))
      for _, got in ipairs{f(a, b), f(a, wide(other)), f(wide(list), b)} do
        assert.equal("i64", got.dtype, i)
        assert.same(want:totable(), got:totable(), i)
      end
    end
    for _, name in ipairs{"lt", "le", "gt", "ge", "eq", "ne"} do
      local z <const> = wide(list)
      local want <const> = z[name](z, wide(other)):totable()
      assert.same(want, a[name](a, b):totable())
      assert.same(want, a[name](a, wide(other)):totable())
      assert.same(want, z[name](z, b):totable())
    end
    assert.same({wide(list):mean():item(), wide(list):std():item()}, {a:mean():item(), a:std():item()})
  end)

  it("does not mix with floats, nor with i64 where elements are moved", function()
    local x <const> = narrow{1, 2}
    raises("dtype", "add: dtypes differ, convert one with :to{dtype=...}: i32 2", function() return x + gb.ones(2) end)
    raises("dtype", "cat: dtypes differ", gb.cat, {x, wide{1}}, 1)
    raises("dtype", "where: dtypes differ", gb.where, x:eq(1), x, wide{1, 2})
    raises("dtype", "put: dtypes differ", x.put, x, 1, {1}, wide{5})
    raises("dtype", "0.5 is not an integer", function() return x + 0.5 end)
    raises("dtype", "is out of range, expected an i32", x.put, x, 1, {1}, top + 1)
    raises("dtype", "is out of range, expected an i32", gb.where, x:eq(1), x, top + 1)
    assert.is_false(x:equal(wide{1, 2}))
    assert.is_true(x:equal(narrow{1, 2}))
    raises("dtype", "exp: expected float tensors", x.exp, x)
    raises("option", "integers divided by the number 0", function() return x // 0 end)
    raises("option", "integers divided by the number 0", function() return x % gb.full({}, 0, {dtype = "i32"}) end)
    raises("dtype", "a float tensor expected", x.requires_grad, x)
  end)

  it("is kept by what moves elements", function()
    local x <const> = narrow{{3, 1, 2}, {6, 5, 4}}
    is("i32", {{3, 6}, {1, 5}, {2, 4}}, x:t())
    is("i32", {{2, 1}, {4, 5}}, x:slice(2, -1, 2, -1))
    is("i32", {3, 5}, x:diagonal())
    is("i32", {6, 5, 4}, x[2])
    is("i32", {{6, 5, 4}, {3, 1, 2}, {3, 1, 2}}, gb.cat({x:flip(1), x:slice(1, 1, 1)}, 1))
    is("i32", {{{3, 1, 2}, {6, 5, 4}}}, gb.stack({x}, 1))
    is("i32", {{2, 3}, {4, 6}}, x:index(2, {3, 1}))
    is("i32", {{3, 9, 2}, {6, 9, 4}}, x:put(2, {2}, 9))
    is("i32", {{3, 8, 2}, {6, 7, 4}}, x:put(2, {2}, narrow{{8}, {7}}))
    is("i32", {{0, 1, 2}, {0, 0, 0}}, gb.where(x:lt(3), x, 0))
    is("i32", {{3, -1, -1}, {6, 5, 4}}, gb.where(x:lt(3), -1, x))
    is("i32", {{1, 2, 3}, {4, 5, 6}}, (x:sort(2)))
    is("i32", {{3, 2}, {6, 5}}, (x:topk(2, 2)))
    is("i64", {{1, 3}, {1, 2}}, (select(2, x:topk(2, 2))))
    is("i32", {{3}, {4}}, x:gather(2, wide{{1}, {3}}))
    is("i32", {{3, 1, 2, 3, 1, 2}, {6, 5, 4, 6, 5, 4}}, x:tile(1, 2))
    is("i32", {{0, 3, 1, 2}, {0, 6, 5, 4}}, x:pad(2, 1, 0))
    is("i32", {{3, 0, 0}, {6, 5, 0}}, x:tril())
    is("i32", {1, 2, 3, 4, 5, 6}, (x:unique()))
    is("i32", {{6, 2, 4}, {12, 10, 8}}, (2 * x):to "i32")
  end)

  it("is what labels and positions may be", function()
    local list <const>, x <const> = {3, 1, 3, 2}, gb.tensor{{1, 2}, {3, 4}, {5, 6}, {7, 8}}
    local y <const>, z <const> = narrow(list), wide(list)
    local uses <const> = {
      function(at) return x:index(1, at) end, function(at) return x:put(1, at, x) end,
      function(at) return x:index_add(1, at, x) end,
      function(at) return gb.segment_sum(x, at, 3) end, function(at) return gb.segment_mean(x, at, 3) end,
      function(at) return gb.segment_max(x, at, 3) end, function(at) return gb.segment_min(x, at, 3) end,
      function(at) return gb.bincount(at) end, function(at) return gb.bincount(at, {weights = {1, 2, 3, 4}}) end,
      function(at) return gb.one_hot(at, 3) end, function(at) return gb.one_hot(at, 3, {dtype = "i32"}) end,
      function(at) return gb.nn.embedding(3, 2, {seed = 1})(at) end,
      function(at) return gb.nn.cross_entropy(gb.ones(4, 3), at) end,
      function(at) return x:gather(2, at:reshape(4, 1):clamp(1, 2)) end,
      function(at) return gb.zeros(4, 3):scatter_add(2, at:reshape(4, 1), gb.ones(4, 1)) end,
      function(at) return gb.segment_sum(x, at * 2 - 1, 5) end,
    }
    for i, f in ipairs(uses) do
      local got <const>, want <const> = f(y), f(z)
      assert.equal(want.dtype, got.dtype, i)
      assert.same(want:totable(), got:totable(), i)
    end
    raises("index", "label 3 of row 1 is outside 1 .. 2", gb.segment_sum, x, y, 2)
    raises("index", "position 9 (entry 2) is outside 1 .. 4", function() return x:index(1, narrow{1, 9}):eval() end)
    raises("index", "position -5", function() return x:put(1, narrow{-5}, 0):eval() end)
  end)

  it("sums, gathers and streams without another copy", function()
    local n <const> = 100000
    local y <const>, x <const> = gb.range(1, n, {dtype = "i32"}):eval(), gb.randn(n, 2, {seed = 1}):eval()
    assert.equal(n * (n + 1) // 2, y:sum():item())
    assert.is_true(gb.plan((y + 1):max()).peak < n)                   -- read as it lies
    local function growth(f) return gb.plan(f(n)).peak - gb.plan(f(n - 1000)).peak end
    assert.equal(4 * 1000, growth(function(m) return gb.ones(m, {dtype = "i32"}) end))
    assert.equal(8 * 1000, growth(function(m) return y:slice(1, 1, m):to "i64" end))
    local function positions(m) return gb.range(1, m, {dtype = "i32"}):eval() end
    assert.equal(16 * 1000, growth(function(m) return x:index(1, positions(m)) end))
    local none <const> = gb.zeros(n, {dtype = "i64"})
    assert.equal(8 * 1000, growth(function(m) return none:index_add(1, positions(m), gb.ones(m, {dtype = "i64"})) end))
    local at <const> = (y % 7 + 1):to "i32":eval()
    assert.is_true(gb.plan(gb.segment_sum(x, at, 7)).peak < 4 * n)
    local plan <close> = gb.plan((y * 2):to "i32")
    assert.is_true(plan.minimum < plan.peak)
    local least <close> = gb.plan((y * 3):to "i32", {budget = plan.minimum})
    for _, p in ipairs{plan, least} do
      p:run()
      assert.equal(p.peak, p:stats().measured)
    end
    assert.is_true((y * 2):to "i32":equal(gb.range(2, 2 * n, 2, {dtype = "i32"})))
    assert.is_true((y * 3):to "i32":equal(gb.range(3, 3 * n, 3, {dtype = "i32"})))
    -- pairs are never stored
    local few <const> = at:slice(1, 1, 300)
    local same <const> = gb.where(at:unsqueeze(2):eq(few:unsqueeze(1)), at:unsqueeze(2), 0):sum(1)
    assert.is_true(gb.plan(same).peak < 300 * n)
    assert.same((gb.bincount(at, {k = 7}):index(1, few) * few):totable(), same:totable())
    -- what does not fit i32 does not, stored or streamed
    local square <const> = at:unsqueeze(2) * (few:unsqueeze(1) * (1 << 29))
    local stored <const> = square:slice(1, 1, 20):to "i32":eval()
    assert.equal(top, stored:max():item())
    assert.is_true(square:to "i32":slice(1, 1, 20):equal(stored))
    assert.equal(square:slice(1, 1, 20):clamp(low, top):sum():item(), square:to "i32":slice(1, 1, 20):sum():item())
  end)

  it("survives files", function()
    local x <const> = narrow{{1, low, 3}, {top, -5, 6}}
    for _, view in ipairs{x, narrow{{1, 2}, {3, top}, {5, low}}:t(), gb.zeros(0, 3, {dtype = "i32"})} do
      for _, ending in ipairs{".npy", ".csv"} do
        local path <const> = support.path(ending)
        if ending == ".npy" or view.numel > 0 then
          gb.data.write(path, view)
          local back = gb.data.read(path)
          if ending == ".csv" then back = back:col{1, 2, 3}:to "i32" end
          assert.is_true(back:equal(view), ending)
        end
        os.remove(path)
      end
    end
    local path <const> = support.path ".safetensors"
    gb.data.write(path, {labels = x, wide = x:to "i64"})
    local back <const> = gb.data.read(path)
    assert.is_true(back.labels:equal(x))
    assert.equal("i64", back.wide.dtype)
    os.remove(path)
  end)
end)

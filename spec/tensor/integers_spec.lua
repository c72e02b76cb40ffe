--- Whole numbers of i64 are exact wherever they come in: as elements, as numbers beside tensors, as ends of ranges.
local gb <const> = require "gibbous"
local raises <const> = require "spec.support".raises

local top <const>, low <const>, big <const> = math.maxinteger, math.mininteger, (1 << 53) + 1
local function ints(list) return gb.tensor(list, {dtype = "i64"}) end

describe("integers beyond 2^53", function()
  it("are told apart by comparisons", function()
    local x <const> = ints{big - 1, big, top - 1, top, low}
    assert.same({false, true, false, false, false}, x:eq(big):totable())
    assert.same({false, false, true, false, false}, x:eq(top - 1):totable())
    assert.same({true, false, false, false, true}, x:lt(big):totable())
    assert.same({false, false, false, true, false}, x:gt(top - 1):totable())
  end)

  it("come exactly through full, put, where, clamp and maximum", function()
    for _, v in ipairs{big, -big, top, top - 1, low, low + 1} do
      assert.equal(v, gb.full({1}, v, {dtype = "i64"}):item())
      assert.same({7, v}, ints{7, 5}:put(1, ints{2}, v):totable())
      assert.same({v, 2}, gb.where(ints{1, 2}:eq(1), v, ints{3, 2}):totable())
      assert.same({v}, ints{v > 0 and low or top}:clamp(v, v):totable())
      assert.same({v}, gb.maximum(ints{low}, v):totable())
    end
  end)

  it("are added, multiplied and divided exactly, and wrap around as Lua's", function()
    for _, a in ipairs{big, -big, top, low, 3} do
      for _, b in ipairs{big, 7, -7, top, low, -1} do
        local x <const> = ints{a}
        assert.same({a + b, a - b, b - a, a * b}, {(x + b):item(), (x - b):item(), (b - x):item(), (x * b):item()})
        assert.same({a // b, a % b}, {(x // b):item(), (x % b):item()}, a .. " and " .. b)
      end
    end
  end)

  it("stay exact when two ops meet, which may be rewritten as one", function()
    local c <const> = (1 << 62) - 2
    local ops <const> = {
      function(x) return -x end, function(x) return x + c end, function(x) return x - c end, function(x) return c - x end,
      function(x) return x * c end, function(x) return c * x end, function(x) return x + x end, function(x) return x * x end,
      function(x) return x * -1 end, function(x) return x // c end, function(x) return x % c end,
    }
    for i, first in ipairs(ops) do
      for j, second in ipairs(ops) do
        for _, a in ipairs{3, big, top, low} do
          local want <const>, x <const> = second(first(a)), ints{a, 1}
          assert.equal(want, second(first(x)):totable()[1], ("ops %d and %d of %d"):format(i, j, a))
          assert.equal(want + second(first(1)), second(first(x)):sum():item(), ("sum of ops %d and %d of %d"):format(i, j, a))
        end
      end
    end
  end)

  it("are refused beside numbers alone, where f64 would round them", function()
    raises("dtype", "f64 does not hold 9007199254740993", gb.where, gb.tensor{true}, big, big)
    raises("dtype", "f64 does not hold 9007199254740993", gb.where, gb.tensor{true}, 1, big)
    assert.equal(1 << 53, gb.where(gb.tensor{true}, 1 << 53, 1):item())
  end)

  it("are refused beside floats, which would take the nearest number for them", function()
    local bool <const> = gb.tensor{true, false}
    for dtype, at in pairs{f64 = 2.0^53, f32 = 2.0^53, f16 = 1, bf16 = 1} do
      local x <const> = gb.tensor({at}, {dtype = dtype})
      local ops <const> = {
        function(v) return x:eq(v) end, function(v) return x:ne(v) end, function(v) return x:lt(v) end,
        function(v) return x:ge(v) end,
        function(v) return x + v end, function(v) return v - x end, function(v) return x * v end, function(v) return v / x end,
        function(v) return x % v end, function(v) return x // v end, function(v) return x^v end,
        function(v) return gb.maximum(x, v) end,
        function(v) return gb.minimum(v, x) end, function(v) return x:clamp(0, v) end,
        function(v) return gb.where(x:gt(0), x, v) end,
        function(v) return x:put(1, {1}, v) end,
      }
      for i, f in ipairs(ops) do
        for _, v in ipairs{big, -big, top} do
          raises("dtype", ("f64 does not hold %d: write %d.0 for the nearest number that it holds"):format(v, v), f, v)
          assert(f(v + 0.0), i)
        end
        assert(f(1 << 53), i)
        assert(f(low), i)
      end
    end
    raises("dtype", "f64 does not hold 9007199254740993", function() return bool * big end)
    assert.same({true}, gb.tensor{2.0^53}:eq(1 << 53):totable())
    assert.same({2.0^53}, gb.maximum(gb.tensor{1.0}, 1 << 53):totable())
  end)

  it("are ends and steps of ranges", function()
    assert.same({top - 1, top}, gb.range(top - 1, top, {dtype = "i64"}):totable())
    assert.same({low, low + 2, low + 4}, gb.range(low, low + 5, 2, {dtype = "i64"}):totable())
    assert.same({top, -1}, gb.range(top, low, low, {dtype = "i64"}):totable())
    assert.same({}, gb.range(top, low, {dtype = "i64"}):totable())
    assert.same({big, big + 1}, (gb.range(0, 1, {dtype = "i64"}) + big):totable())
    assert.same({3}, gb.range(3, 3, {dtype = "i64"}):totable())
    raises("dtype", "range: whole numbers expected for i64, got 0.5", gb.range, 0, 2, 0.5, {dtype = "i64"})
    raises("dtype", "a step of 0.25 does not give whole numbers", gb.linspace, 0, 1, 5, {dtype = "i64"})
    assert.same({1, 3, 5}, gb.linspace(1, 5, 3, {dtype = "i64"}):totable())
    raises("shape", "too many elements", gb.range, low, top, {dtype = "i64"})
  end)

  it("print as they are", function()
    assert.matches("9223372036854775807  %-9223372036854775808$", tostring(ints{top, low}))
  end)

  it("share a plan: a number is a binding", function()
    local x <const> = ints{1, 2, 3}
    for _, v in ipairs{big, top, 5} do assert.same({1 + v, 2 + v, 3 + v}, (x + v):totable()) end
  end)

  it("are refused where they are none, or too large", function()
    raises("dtype", "out of range, expected an i64", gb.full, {1}, 2^63, {dtype = "i64"})
    raises("dtype", "0.5 is not an integer", gb.full, {1}, 0.5, {dtype = "i64"})
  end)

  it("are not rounded in a list, a number or a range whose type nobody gave", function()
    raises("dtype",
      "element [2][1]: f64 does not hold 9007199254740993: {dtype = \"i64\"} keeps it, {dtype = \"f64\"} rounds it",
      gb.tensor, {{1, 2}, {big, 3}})
    raises("dtype", "element [1]: f64 does not hold 9223372036854775807", gb.tensor, {top})
    raises("dtype", "gb.tensor: f64 does not hold -9007199254740993", gb.tensor, -big)
    raises("dtype", "gb.full: f64 does not hold 9007199254740993", gb.full, {2}, big)
    raises("dtype", "range: f64 does not hold 9007199254740993", gb.range, big - 1, big)
    raises("dtype", "linspace: f64 does not hold 9007199254740993", gb.linspace, big, 0, 3)
    assert.same({2 ^ 53, -2.0 ^ 63}, gb.tensor{big - 1, low}:totable())
    assert.same({2.0 ^ 53}, gb.tensor({big}, {dtype = "f64"}):totable())
    assert.same({2.0 ^ 53, 2.0 ^ 63}, {gb.full({1}, big, {dtype = "f64"}):item(), gb.tensor(top, {dtype = "f32"}):item()})
  end)

  it("divided by the number 0 raise; a divisor that is a tensor gives 0 and leaves x", function()
    raises("option", "divided by the number 0", function() return ints{1} // 0 end)
    raises("option", "divided by the number 0", function() return ints{1} % 0 end)
    assert.same({0, 2}, (ints{5, 5} // ints{0, 2}):totable())
    assert.same({5, 1}, (ints{5, 5} % ints{0, 2}):totable())
  end)
end)

describe("NaN", function()
  it("prints without a sign", function()
    local x <const> = gb.zeros(1) / 0
    for _, v in ipairs{x, -x} do
      assert.equal("nan", tostring(v))
      assert.equal("nan", tostring(v:item()))
      assert.equal("nan", tostring(v:totable()[1]))
    end
  end)
end)

--- Positions: those of argmin and argmax do not depend on whether what they search was stored, seen through views, or computed;
-- i32 where it is asked for; the few smallest as a reduction.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"

local next_number
local function draw(n)
  next_number = (next_number * 1103515245 + 12345) & 0x7fffffff
  return (next_number >> 16) % n + 1
end

local function numel(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return n
end

-- Another shape of as many elements: random divisors in turn.
local function other_shape(n)
  local out <const> = {}
  while n > 1 and #out < 3 do
    local divisors <const> = {}
    for d = 2, n do if n % d == 0 then divisors[#divisors + 1] = d end end
    local d <const> = divisors[draw(#divisors)]
    out[#out + 1] = d
    n = n // d
  end
  out[#out + 1] = n
  return out
end

local function random_order(n)
  local order <const> = {}
  for i = 1, n do order[i] = i end
  for i = n, 2, -1 do
    local k <const> = draw(i)
    order[i], order[k] = order[k], order[i]
  end
  return order
end

-- A chain of views and maps of an expression that nothing has stored.
local function random_view(x)
  for _ = 1, draw(4) do
    local shape <const> = {table.unpack(x.shape)}
    local kind <const> = draw(5)
    if kind == 1 then x = x:permute(table.unpack(random_order(#shape)))
    elseif kind == 2 then x = x:reshape(table.unpack(other_shape(numel(shape))))
    elseif kind == 3 and numel(shape) < 200 then
      for i = 1, #shape do shape[i] = draw(2) end
      x = x:tile(table.unpack(shape))
    elseif kind == 4 then x = x:flip(draw(#shape))
    else x = x * 0.5 + 1 end
  end
  return x
end

-- The sets of axes of n: all of them, and a random one.
local function check(x, what)
  local stored <const> = gb.tensor(x:totable())
  local axes <const> = {}
  for i = 1, x.ndim do if draw(2) == 1 then axes[#axes + 1] = i end end
  for _, name in ipairs{"argmin", "argmax"} do
    assert.same(stored[name](stored):totable(), x[name](x):totable(), what .. ", all axes, " .. name)
    if #axes > 0 then
      assert.same(stored[name](stored, axes):totable(), x[name](x, axes):totable(),
        what .. ", axes " .. table.concat(axes, " ") .. ", " .. name)
    end
  end
end

describe("argmin and argmax", function()
  it("count in row-major order through tiles and reshapes", function()
    assert.equal(2, gb.tensor{{1, 9}, {2, 4}, {3, 5}}:tile(2, 1):argmax():item())
    assert.equal(3, (gb.tensor{{1, 2}, {9, 4}} * 1):tile(2, 1):argmax():item())
    local pairs_of <const> = gb.tensor{0, 0, 0, 0, 0, 5}:unsqueeze(2) + gb.tensor{0, 1, 0, 0}:unsqueeze(1)
    assert.equal(22, pairs_of:reshape(12, 2):argmax():item())
  end)

  it("give the same positions for a stored value and for 400 chains of views", function()
    for seed = 1, 400 do
      next_number = seed * 7919
      local n <const> = draw(6)
      local x = gb.rand(n, seed % 2 == 0 and n or draw(6), 2, {seed = seed}):eval()
      if seed % 3 == 0 then x = (x * 4):floor() end                     -- ties: the first counts
      if seed % 2 == 0 then x = x:slice(3, 1, 1) + x:slice(3, 2, 2):permute(2, 1, 3) end
      check(random_view(x), "seed " .. seed)
    end
  end)
end)

describe("positions of i32", function()
  local x <const> = (gb.randn(40, 90, {seed = 4}) * 3):round()                  -- ties
  local methods <const> = {
    function(t, o) return t:argmax(1, o) end, function(t, o) return t:argmin({1, 2}, o) end, function(t, o) return t:argmin(o) end,
    function(t, o) return t:argsort(2, o) end, function(t, o) return select(2, t:sort(1, o)) end,
    function(t, o) return select(2, t:topk(7, 2, o)) end,
    function(t, o) return select(2, t:topk(7, 1, {dtype = o.dtype, largest = false})) end,
    function(t, o) return select(2, t:topk(30, 2, {dtype = o.dtype, largest = false})) end,
    function(t, o) return t:argmax(2, {dtype = o.dtype, keepdim = true}) end,
  }

  it("are those of i64, of any type that has an order", function()
    for _, dtype in ipairs{"f64", "f32", "i64", "i32"} do
      local t <const> = x:to(dtype):eval()
      for i, f in ipairs(methods) do
        local narrow <const>, wide <const> = f(t, {dtype = "i32"}), f(t, {dtype = "i64"})
        assert.equal("i32", narrow.dtype, i)
        assert.equal("i64", wide.dtype, i)
        assert.equal("i64", f(t, {}).dtype, i)
        assert.same(wide:totable(), narrow:totable(), i)
      end
    end
    local sorted <const>, at <const> = x:sort(2, {dtype = "i32"})
    assert.is_true(x:gather(2, at):equal(sorted))
  end)

  it("take 4 bytes in a plan", function()
    local t <const> = gb.rand(50000, {seed = 3}):eval()
    local function peak(dtype) return gb.plan(t:argsort{dtype = dtype}).peak end
    assert.equal(4 * 50000, peak "i64" - peak "i32")
  end)

  it("let gradients through the values", function()
    local p <const> = gb.param(gb.randn(5, 6, {seed = 8}), {name = "p"})
    for _, largest in ipairs{true, false} do
      support.check_gradients(function()
        return ((p.value:topk(3, 2, {largest = largest, dtype = "i32"})) ^ 2):sum()
      end, {p}, 1e-7)
    end
    support.check_gradients(function() return ((p.value:sort(1, {dtype = "i32"})) ^ 3):sum() end, {p}, 1e-7)
  end)

  it("are refused where they do not fit, and in other types", function()
    local long <const> = gb.zeros(1 << 31)
    for name, f in pairs{argmax = function(o) return long:argmax(o) end, argmin = function(o) return long:argmin(1, o) end,
      sort = function(o) return long:sort(1, o) end, topk = function(o) return long:topk(2, 1, o) end,
      argsort = function(o) return long:argsort(o) end} do
      support.raises("dtype", name .. ": positions up to 2147483648 do not fit i32: {dtype = 'i64'}", f, {dtype = "i32"})
      f{dtype = "i64"}
    end
    gb.zeros((1 << 31) - 1):argmax{dtype = "i32"}
    support.raises("dtype", "argmax: positions are of i64 or i32, got f32", x.argmax, x, {dtype = "f32"})
    support.raises("dtype", "topk: positions are of i64 or i32, got bool", x.topk, x, 2, 1, {dtype = "bool"})
    support.raises("option", "option 'dtype' must be one of i64, i32", x.argsort, x, {dtype = "f64"})
    support.raises("option", "unknown dtype 'i16' (f64, f32, f16, bf16, i64, i32 or bool expected)", x.sort, x, 1, {dtype = "i16"})
  end)
end)

describe("topk of few smallest", function()
  local function kinds(t) return gb.plan(t):programs() end

  it("is a reduction of many lines, of stored and of lazy values", function()
    local x <const> = gb.randn(64, 80, {seed = 1}):eval()
    assert.matches("reduce kmin", kinds((x:topk(16, 2, {largest = false}))))
    assert.matches("reduce kmin", kinds((x:topk(3, 1, {largest = false}))))
    assert.matches("reduce kmin", kinds((x:exp():topk(3, 2, {largest = false}))))
    for _, t in ipairs{(x:topk(17, 2, {largest = false})), (x:topk(3, 2)), (x:slice(1, 1, 63):topk(3, 2, {largest = false})),
      (x:slice(2, 1, 11):topk(3, 2, {largest = false})), (x:to "i64":topk(3, 2, {largest = false}))} do
      assert.is_nil(kinds(t):find("kmin", 1, true))
    end
  end)

  it("chooses what a sort has first: ties by position, NaN last", function()
    for _, dtype in ipairs{"f64", "f32", "f16"} do
      local t <const> = (gb.randn(70, 90, {seed = 2}) * 2):round():to(dtype):eval()
      local holes <const> = gb.where(t:gt(0), 0 / 0, t):put(2, {5}, -1 / 0):eval()
      for _, v in ipairs{t, holes, gb.full({70, 90}, 0 / 0, {dtype = dtype})} do
        for d = 1, 2 do
          local least <const>, at <const> = v:topk(7, d, {largest = false})
          local sorted <const>, order <const> = v:sort(d)
          assert.is_true(at:equal(order:slice(d, 1, 7)))
          assert.is_true((least:eq(sorted:slice(d, 1, 7)) | (least:isnan() & sorted:slice(d, 1, 7):isnan())):all())
        end
      end
    end
  end)

  it("has the gradient of what it chose", function()
    local x <const> = gb.randn(66, 12, {seed = 5}):eval():requires_grad()
    for d = 1, 2 do
      local weights <const> = gb.randn(d == 1 and {3, 12} or {66, 3}, {seed = 6})
      local _, at <const> = x:topk(3, d, {largest = false})
      local want <const> = gb.zeros(66, 12):scatter_add(d, at, weights)
      support.near(want, gb.grad(((x:topk(3, d, {largest = false})) * weights):sum(), x), 0)
    end
    local p <const> = gb.param(gb.randn(64, 8, {seed = 7}), {name = "p"})
    support.check_gradients(function() return ((p.value:topk(2, 2, {largest = false})) ^ 3):sum() end, {p}, 1e-6)
  end)

  it("streams distances", function()
    local x <const>, y <const> = gb.randn(3000, 3, {seed = 1}):eval(), gb.randn(2000, 3, {seed = 2}):eval()
    local d <const>, at <const> = gb.cdist(x, y):topk(5, 2, {largest = false, dtype = "i32"})
    local plan <close> = gb.plan({d, at})
    assert.is_true(plan.peak < 3000 * 2000)
    assert.is_true(at:slice(2, 1, 1):squeeze(2):equal(gb.cdist(x, y):argmin(2, {dtype = "i32"})))
  end)
end)

local core <const> = require "gibbous.core"
local functions <const> = require "spec.tensor.functions"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local func <const>, cube <const>, settled <const> = functions.func, functions.cube, functions.settled

describe("gb.func", function()
  it("gives a lazy tensor, evaluated once and with others in one plan", function()
    local calls = 0
    local f <const> = func{forward = function(x)
      calls = calls + 1
      return x ^ 3
    end}
    local x <const> = gb.tensor{1, 2, -3}
    local y <const> = f(x) + f(x)
    assert.equal(0, calls)
    near({2, 16, -54}, y, 0)
    near({1, 8, -27}, f(x), 0)
    near({2, 9, -26}, f(x) + 1, 0)
    assert.is_true(calls <= 2)
    assert.equal("func", gb.type(f))
    assert.equal("f", f.name)
    assert.matches("^func cube: shape same, backward$", tostring(cube()))
  end)

  it("takes numbers, params, lazy arguments and several of them; in f32 too", function()
    local f <const> = func{forward = function(x, y, z) return x * y + z end}
    local x <const>, p <const> = gb.tensor{{1, 2}, {3, 4}}, gb.param(10)
    near({{12, 22}, {32, 42}}, f(x, p, 2), 0)
    near({{13, 22}, {33, 46}}, f(x + 1, x + p * 0.5, gb.ones(2, 2)), 0)
    local y <const> = f(x:to{dtype = "f32"}, 2, p)
    assert.equal("f32", y.dtype)
    near({{12, 14}, {16, 18}}, y, 0)
  end)

  it("asks its shape for extents and type", function()
    local f <const> = func{name = "counts", shape = function(s, k) return {s[2], k[1]}, "i64" end, forward = function(x, k)
      return x:t():matmul(x):slice(2, 1, #k):round():to{dtype = "i64"}
    end}
    local y <const> = f(gb.ones(5, 3), gb.zeros(2))
    assert.same({3, 2}, {y.shape[1], y.shape[2]})
    assert.equal("i64", y.dtype)
    near({{5, 5}, {5, 5}, {5, 5}}, y, 0)
    assert.equal("5x3", tostring(cube()(gb.ones(5, 3)).shape))
  end)

  it("works where arguments and results are values, views and temporaries of a plan", function()
    local f <const> = func{forward = function(x) return x:cumsum(1) end}
    local x <const> = gb.tensor{{1, 2}, {3, 4}, {5, 6}}
    near({{1, 3, 5}, {3, 7, 11}}, f(x:t()), 0)
    near({{5, 6}, {8, 10}}, f(x:flip(1):slice(1, 1, 2)), 0)
    near(2 * (1 + 2 + 4 + 6 + 9 + 12), (f(x * 2):exp():log()):sum(), 1e-12)
    near({{1, 2}, {4, 6}, {9, 12}}, func{bytes = "300 KiB", forward = function(v) return f(v) end}(x), 0)
    near(x, func{forward = function(v) return v end}(x), 0)
    near({}, f(gb.zeros(0)), 0)
  end)

  it("may observe its arguments, and anything else", function()
    local w <const> = gb.randn(4, {seed = 1}) * 2
    local f <const> = func{forward = function(x)
      local largest <const> = x:max():item()
      if #x:totable() ~= 4 then error "rows" end
      return x / largest + w
    end}
    local x <const> = gb.tensor{1, 2, 4, 8}
    near(w + x / 8, f(x * 3), 1e-14)
    near(w:totable(), w, 0)
  end)
end)

describe("what is known outside", function()
  it("is read, not computed again", function()
    local a <const> = gb.randn(300, 300, {seed = 1}):matmul(gb.randn(300, 300, {seed = 2}))
    local sorted <const> = a:sort(1)
    assert.is_true(sorted[1][1]:item() <= sorted[2][1]:item())
    local first <const> = sorted:totable()[1]
    local f <const> = func{bytes = "300 KiB", forward = function(x) return sorted:select(1, 1) * x end}     -- a sort takes 1.4 MB
    near(gb.tensor(first) * 2, f(gb.full({300}, 2)), 0)
  end)
end)

describe("arguments", function()
  it("are closed when the call is over", function()
    local p <const> = gb.param(2)
    local kept, built, view, seen
    local f <const> = func{name = "keep", forward = function(x)
      kept, built, view = x, x + 1, x:slice(1, 2, 3):eval()
      seen = x:exp() * p
      seen:totable()
      return x:exp()
    end}
    local x <const> = gb.tensor{1, 2, 3}
    near({math.exp(2), math.exp(4), math.exp(6)}, f(x * 2), 1e-12)
    raises("closed", "closed tensor", function() return kept.shape end)
    raises("closed", "closed tensor", function() return kept + 1 end)
    raises("closed", "argument 1 of keep 3", function() return built:totable() end)
    near({4, 6}, view, 0)                                 -- what was evaluated outlives it
    near({2 * math.exp(2) + 1, 2 * math.exp(4) + 1, 2 * math.exp(6) + 1}, seen + 1, 1e-12)
    near({1, 2, 3}, x, 0)
  end)

  it("are closed where the function raised, too", function()
    local kept
    local f <const> = func{forward = function(x)
      kept = x
      error "no"
    end}
    pcall(function() return f(gb.ones(3)):totable() end)
    raises("closed", "closed tensor", function() return kept:sum() end)
  end)

  it("may be closed early, as may any tensor, also the one that is computed", function()
    local y
    local f <const> = func{forward = function(x)
      local z <const> = x * 2
      x:close()
      y:close()
      collectgarbage()
      return z
    end}
    y = f(gb.ones(3)) + 1
    local sum <const> = y:sum()
    near(9, sum, 0)
    local z = f(gb.ones(3) * 4) + 1
    y = z
    assert.same({9, 9, 9}, z:totable())
    raises("closed", "closed tensor", function() return z.shape end)
  end)
end)

describe("the result", function()
  it("is checked for shape and type", function()
    local x <const> = gb.ones(2, 3)
    raises("shape", "flat: forward gave shape 6, its shape says 2x3", function()
      return func{name = "flat", forward = function(v) return v:reshape(-1) end}(x):sum():item()
    end)
    raises("dtype", "half: forward gave f32, f64 was announced", function()
      return func{name = "half", forward = function(v) return v:to{dtype = "f32"} end}(x):sum():item()
    end)
    raises("callback", "none: forward must give a tensor, got nil", function()
      return func{name = "none", forward = function() end}(x):sum():item()
    end)
  end)

  it("has the same bits alone, in a plan, and whatever was observed before", function()
    local x <const> = gb.randn(50, 20, {seed = 3}):eval()
    local f <const> = func{bytes = "2 MiB", forward = function(v) return (v:matmul(v:t()) * 0.1):tanh():matmul(v) end}
    local alone <const> = f(x):totable()
    local parts <const> = gb.eval(f(x * 1) + 0, f(x):sum())
    assert.is_true(parts:equal(gb.tensor(alone)))
    assert.is_true(f(x):equal((x:matmul(x:t()) * 0.1):tanh():matmul(x)))
  end)
end)

describe("gradients", function()
  it("come from backward, on lazy tensors", function()
    local x <const> = gb.tensor{1, 2, -3}:requires_grad()
    near({3, 12, 27}, gb.grad(cube()(x):sum(), x), 1e-14)
    near({6, 12, -18}, gb.grad(gb.grad(cube()(x):sum(), x):sum(), x), 1e-14)       -- backward is differentiable itself
    local p <const> = gb.param{0.5, 1.5}
    local f <const> = func{forward = function(a, b) return a * b:exp() end, backward = function(dy, a, b)
      return dy * b:exp(), dy * a * b:exp()
    end}
    support.check_gradients(function() return (f(p, p * 2) * gb.tensor{1, -2}):sum() end, {p}, 1e-7)
  end)

  it("may be none for an argument, and are not asked for where none is needed", function()
    local x <const>, w <const> = gb.tensor{1, 2}:requires_grad(), gb.tensor{3, 4}:requires_grad()
    local f <const> = func{forward = function(a, b) return a * b end, backward = function(dy, _, b) return dy * b end}
    near({3, 4}, gb.grad(f(x, w):sum(), x), 0)
    near({0, 0}, gb.grad(f(x, w):sum(), w, {unused = "zero"}), 0)
    local g <const> = func{forward = function(a, b) return a * b end, backward = function(dy, _, b) return dy * b, 1 end}
    near({3, 4}, gb.grad(g(x, w:detach()):sum(), x), 0)
    raises("callback", "f: backward must give a tensor or nil for argument 2, got number",
      function() return gb.grad(g(x, w):sum(), w) end)
  end)

  it("name the function that has none, and check what backward gives", function()
    local x <const> = gb.tensor{1, 2}:requires_grad()
    local f <const> = func{name = "stiff", forward = function(a) return a end}
    raises("option", "grad: stiff has no backward", function() return gb.grad(f(x):sum(), x) end)
    local function back(g) return func{name = "odd", forward = function(a) return a end, backward = g}(x):sum() end
    raises("shape", "odd: backward gave shape () for argument 1, which has shape 2", gb.grad,
      back(function(dy) return dy:sum() end), x)
    raises("dtype", "odd: backward gave f32 for argument 1, which is f64", gb.grad,
      back(function(dy) return dy:to{dtype = "f32"} end), x)
    raises("callback", "went wrong", gb.grad, back(function() error "went wrong" end), x)
  end)
end)

describe("vmap", function()
  local x <const> = gb.tensor{{3, 1, 2}, {9, 8, 7}}

  it("gives batched functions all slices at once", function()
    local shapes <const> = {}
    local f <const> = func{batched = true, bytes = function(s) return 2 ^ 18 + 8 * s[1] end, forward = function(v, w)
      shapes[#shapes + 1] = tostring(v.shape) .. " " .. tostring(w.shape)
      return v:cumsum(-1) + w
    end, backward = function(dy) return dy:flip(-1):cumsum(-1):flip(-1), nil end}
    local w <const> = gb.tensor{10, 20, 30}
    local mapped <const> = gb.vmap(function(v) return f(v, w) end)
    near({{13, 24, 36}, {19, 37, 54}}, mapped(x), 0)
    assert.same({"2x3 2x3"}, shapes)
    local leaf <const> = x:requires_grad()
    near({{3, 2, 1}, {3, 2, 1}}, gb.grad(mapped(leaf):sum(), leaf), 0)
  end)

  it("loops over slices for others", function()
    local calls = 0
    local f <const> = func{forward = function(v)
      calls = calls + 1
      assert.equal("3", tostring(v.shape))
      return v:sort(1)
    end, backward = function(dy) return dy * 2 end}
    near({{1, 2, 3}, {7, 8, 9}}, gb.vmap(f)(x), 0)
    assert.equal(2, calls)
    local leaf <const> = x:requires_grad()
    near({{2, 2, 2}, {2, 2, 2}}, gb.grad(gb.vmap(f)(leaf):sum(), leaf), 0)
    raises("refused", "bare does not declare its bytes", function()
      return gb.vmap(gb.func{name = "bare", shape = "same", batched = true, forward = function(v) return v end})(x):totable()
    end)
    raises("callback", "f: ", function()
      return gb.vmap(func{batched = true, bytes = function(s) return #s > 1 and error "no" or 1 end,
        forward = function(v) return v end})(x)
    end)
  end)
end)

describe("options of gb.func", function()
  local function id(v) return v end

  it("are checked where the function is made", function()
    raises("option", "gb.func: cube needs 'forward'", gb.func, {name = "cube", shape = "same"})
    raises("option", "gb.func: func needs 'shape'", gb.func, {forward = id})
    raises("option", "unknown option 'foward', did you mean 'forward'?", gb.func, {foward = id})
    raises("option", "shape must be a function or 'same', got 'like'", gb.func, {shape = "like", forward = id})
    raises("option", "gb.func: bytes must be bytes or text", gb.func, {shape = "same", forward = id, bytes = "lots"})
    raises("option", "axes must be a list of 'map' and 'coupled', got rows at position 1", gb.func,
      {shape = "same", forward = id, axes = {"rows"}})
    func{forward = id, axes = {"map", "coupled"}}
  end)

  it("and where it is called", function()
    local f <const> = cube()
    raises("option", "cube: argument 1 must be a tensor, got string", f, "x")
    raises("option", "cube: a tensor expected among the arguments", f, 3)
    raises("option", "cube: a tensor expected among the arguments", f)
    raises("option", "f: shape must give a list of extents, got nil", func{shape = function() end, forward = id}, gb.ones(2))
    raises("shape", "f: shape gave extent -1 at position 1", func{shape = function() return {-1} end, forward = id}, gb.ones(2))
    raises("option", "f: bytes must be bytes or text", func{bytes = function() return "lots" end, forward = id}, gb.ones(2))
    raises("index", "a function has no field 'forward'", function() return f.forward end)
    raises("option", "a function never changes", function() f.name = "g" end)
  end)
end)

describe("functions", function()
  it("live as long as an expression uses them, and no longer", function()
    local watched <const> = setmetatable({}, {__mode = "k"})
    local function made(x)
      local token <const> = {}
      watched[token] = true
      return func{forward = function(v) return v + #token end}(x)
    end
    local y = made(gb.ones(3))
    settled()
    assert.is_not_nil(next(watched))
    near({1, 1, 1}, y, 0)
    y = nil -- luacheck: ignore 311 (released)
    settled()
    assert.is_nil(next(watched))
  end)

  it("may be many", function()
    local before <const> = settled()
    local y = gb.ones(2)
    for i = 1, 200 do y = func{forward = function(v) return v + i end}(y):eval() end
    near({20101, 20101}, y, 0)
    y = nil -- luacheck: ignore 311 (released)
    assert.equal(before, settled())
  end)

  it("are layers, and bits of models", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 3, {seed = 1}), cube(), gb.nn.linear(3, 1, {seed = 2})}
    local x <const> = gb.tensor{{0.5, -1}, {1, 0.25}}
    near(gb.nn.sequential{net[1], function(v) return v ^ 3 end, net[3]}(x), net(x), 1e-14)
    support.check_gradients(function() return net(x):sum() end, (gb.params(net)), 1e-6)
  end)
end)

describe("a function of tensors", function()
  local function id(v) return v end

  it("prints what it is made of", function()
    for text, o in pairs{["func f: shape same, backward"] = {forward = id, backward = id},
      ["func f: shape by function, batched"] = {forward = id, shape = id, batched = true},
      ["func f: shape same"] = {forward = id, backward = false, batched = false}} do assert.equal(text, tostring(func(o))) end
    assert.equal("func func: shape same, no bytes", tostring(gb.func{shape = "same", forward = id, bytes = false}))
    assert.equal("f", func{forward = id}.name)
    assert.same({}, (gb.params(func{forward = id})))
  end)

  it("takes numbers in the type of the first tensor, and gives shape and type by its function", function()
    local seen <const> = {}
    local f <const> = func{shape = function(a, b, c) return {a[1], 2 + #b, 3 * c[1]}, "f64" end, forward = function(a, b)
      seen[1], seen[2], seen[3] = a.dtype, b.dtype, b.ndim
      return gb.zeros(2, 2, 3)
    end}
    local got <const> = f(gb.ones(2, {dtype = "f32"}), 2, gb.ones(1)):eval()
    assert.same({"f64", "2x2x3", "f32", "f32", 0}, {got.dtype, tostring(got.shape), table.unpack(seen)})
    assert.equal("0", tostring(func{shape = function() return {0} end, forward = id}(gb.ones(1)).shape))
    local g <const> = func{shape = function(a) return {a[1], 1} end, forward = function(a) return a:unsqueeze(2) end}
    assert.same({"f32", "2x1"}, {g(gb.ones(2, {dtype = "f32"})).dtype, tostring(g(gb.ones(2, {dtype = "f32"})).shape)})
    near({{5}, {5}}, func{shape = function(_, b) return {b[1], 1} end, forward = function(a, b) return (a * b):unsqueeze(2) end}(5,
      gb.ones(2)), 0)
  end)

  it("is refused to the letter", function()
    for _, row in ipairs{
      {"option", "f: argument 2 must be a tensor, got string", function() return func{forward = id}(gb.ones(1), "x") end},
      {"option", "f: a tensor expected among the arguments", function() return func{forward = id}(3) end},
      {"shape", "f: shape gave extent -1 at position 2", function()
        return func{forward = id, shape = function() return {0, -1} end}(gb.ones(1))
      end},
      {"index", "a function has no field 'forward'", function() return func{forward = id}.forward end},
      {"option", "a function never changes: 'name'", function() func{forward = id}.name = "g" end},
      {"option", "gb.func: option 'shape' must be a string or a function, got number 3",
        function() return func{forward = id, shape = 3} end},
      {"option", "gb.func: option 'backward' must be a function, got number 3",
        function() return func{forward = id, backward = 3} end},
      {"option", "gb.func: option 'batched' must be a boolean, got number 3",
        function() return func{forward = id, batched = 3} end},
      {"option", "gb.func: option 'name' must be a string, got number 3", function() return func{forward = id, name = 3} end},
      {"option", "gb.func: option 'bytes' must be a number or a string or a function, got boolean",
        function() return func{forward = id, bytes = true} end},
      {"option", "gb.func: f: axes must be a list of 'map' and 'coupled', got map at position 9", function()
        return func{forward = id, axes = {"map", "map", "map", "map", "map", "map", "map", "map", "map"}}
      end},
    } do assert.equal(row[2], raises(row[1], "", row[3]).message) end
    assert.equal("func", gb.type(func{forward = id, axes = {"map", "map", "map", "map", "map", "map", "map", "map"}}))
  end)

  it("tells the core which dimensions are mapped, what it may hold, and what is batched", function()
    local masks <const> = {}
    local function made(o)
      return support.with(core, {func = function(name, callbacks, batched, mask)
        masks[#masks + 1] = {name, callbacks.run == id, callbacks.grad == id,
          callbacks.bytes ~= nil and callbacks.bytes({3}) or "none", batched, mask}
        return "op"
      end}, function() return gb.func(o) end)
    end
    made{shape = "same", forward = id}
    made{name = "a", shape = "same", forward = id, backward = id, bytes = 7, axes = {"map", "coupled", "map"}, batched = true}
    made{name = "b", shape = "same", forward = id, bytes = function(s) return s[1] * 2 end, axes = {"coupled", "map"}}
    made{name = "c", shape = "same", forward = id, bytes = "1 KiB", axes = {}}
    assert.same({{"func", true, false, "none", false, 0}, {"a", true, true, 7, true, 5}, {"b", true, false, 6, false, 2},
      {"c", true, false, 1024, false, 0}}, masks)
  end)
end)

-- What asked for a value may be gone, or another, when the function has given it.
describe("a function that is called for a value", function()
  local function calling(act)
    return func{bytes = "1 MiB", forward = function(x)
      act()
      collectgarbage()
      collectgarbage()
      return x + 1
    end}
  end
  local x <const> = gb.ones(64)

  it("may close the plan that runs with it", function()
    local leaf <const> = gb.empty(64)
    local plan <const> = gb.plan(leaf * 2)
    raises("closed", "closed plan", function() plan:run{[leaf] = calling(function() plan:close() end)(x)} end)
  end)

  it("may run that plan", function()
    local leaf <const> = gb.empty(64)
    local plan <const> = gb.plan(leaf * 2)
    local y <const> = plan:run{[leaf] = calling(function() plan:run{[leaf] = x} end)(x)}
    near(gb.full({64}, 4), y, 0)
  end)

  it("may add to the values of a run, and to what is saved", function()
    local leaf <const>, others <const>, values <const>, saved <const> = gb.empty(64), {}, {}, {}
    local sum = leaf
    for i = 1, 40 do
      others[i] = gb.empty(64)
      sum = sum + others[i]
    end
    local plan <const> = gb.plan(sum)
    values[leaf] = calling(function()
      for _, other in ipairs(others) do values[other] = x end
    end)(x)
    assert.is_false(pcall(plan.run, plan, values))
    saved.a = calling(function()
      for i = 1, 40 do saved["b" .. i] = x end
    end)(x + 2)
    local path <const> = support.path ".safetensors"
    pcall(core.safetensors_write, path, saved)
    support.sweep()
  end)

  it("may close a preconditioner that is applied to it", function()
    local p <const> = core.jacobi(gb.eye(64) * 2)
    local y <const> = core.precond_apply(p, calling(function() local _ <close> = p end)(x))
    near(gb.ones(64), y, 0)
  end)
end)

describe("a list that was planned", function()
  it("may change: the plan keeps what it was", function()
    local x <const> = gb.ones(4)
    local list <const> = {x + 1, x + 2}
    local plan <const> = gb.plan(list)
    for i = 1, 30 do list[i] = gb.ones(3, 3) end
    local y <const> = plan:run()
    assert.equal(2, #y)
    near(gb.full({4}, 3), y[2], 0)
    for i = 1, 30 do y[i] = x end
    assert.equal(2, #plan:run())
  end)
end)

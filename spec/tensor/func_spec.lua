local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function func(o)
  local given <const> = {name = "f", shape = "same", bytes = "256 KiB"}
  for key, v in pairs(o) do given[key] = v end
  return gb.func(given)
end

local function cube(more)
  local o <const> = {name = "cube", forward = function(x) return x ^ 3 end, backward = function(dy, x) return 3 * x ^ 2 * dy end}
  for key, v in pairs(more or {}) do o[key] = v end
  return func(o)
end

--- Bytes held when everything that nobody can reach is gone.
local function settled()
  for _ = 1, 3 do collectgarbage() end
  core.drop_caches()
  return (core.live())
end

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

describe("bytes", function()
  it("stand in the plan, and are what the run takes", function()
    local f <const> = func{bytes = "1 MiB", forward = function(x) return x:sort(1) end}
    local y <const> = f(gb.randn(1000, {seed = 1}) + 1)
    local plan <const> = gb.plan(y)
    assert.is_true(plan.arena >= 2 ^ 20 and plan.arena <= 2 ^ 20 + 50000)
    assert.equal("call: f", plan.variants[2])
    plan:run()
    assert.equal(plan.peak, plan:stats().measured)
    local before <const> = settled()
    near(y:min():item(), f(gb.randn(1000, {seed = 1}) + 1)[1]:item(), 0)
    assert.equal(before, settled())
  end)

  it("may be a number or go with the shapes", function()
    local seen
    local f <const> = func{bytes = function(a, b)
      seen = {tostring(a), tostring(b)}
      return 300000 + 8 * a[1]
    end, forward = function(x) return x end}
    local b <const> = gb.rand(2, 3):eval()
    local small <const> = gb.plan(f(gb.rand(10):eval(), b)).arena
    assert.same({"10", "2x3"}, seen)
    assert.equal(small + 8 * 64, gb.plan(f(gb.rand(74):eval(), b)).arena)
    assert.is_true(gb.plan(func{bytes = 1e6, forward = function(x) return x end}(gb.ones(2))).arena >= 1e6)
  end)

  it("refuse what takes more, with what it asked for", function()
    local x <const> = gb.randn(10000, {seed = 1})
    local before <const> = settled()
    local f <const> = func{name = "greedy", bytes = "64 KiB", forward = function(v) return v:sort(1) end}
    local err = raises("refused", "greedy declares 64 KiB for its own work, which asks for ", function()
      return f(x):sum():item()
    end)
    assert.equal(65536, err.have)
    assert.is_true(err.need >= 80000)
    local need <const> = err.need
    local function try(bytes)
      local sorted <const> = func{bytes = bytes, forward = function(v) return v:sort(1) end}(x)
      return sorted:sum():item()
    end
    near(try(need), x:sum(), 1e-10)
    raises("refused", "asks for", try, need - 1)
    err = raises("refused", "hoard declares 100 KiB", function()
      return func{name = "hoard", bytes = "100 KiB", forward = function(v)
        local held <const> = {} -- luacheck: ignore 241 (kept alive)
        for i = 1, 20 do held[i] = (v:slice(1, 1, 2000) * i):eval() end
        return v
      end}(x):sum():item()
    end)
    assert.is_true(err.need > 102400 and err.need < 200000, err.need)
    err = nil -- luacheck: ignore 311 (released)
    assert.is_true(settled() - before <= 8)                 -- the sum above
  end)

  it("are enough where what is not needed goes", function()
    local f <const> = func{bytes = "160 KiB", forward = function(v)
      for i = 1, 50 do (v * i):eval() end                  -- 16 kB each, garbage at once
      return v
    end}
    near(2000, f(gb.ones(2000)):sum(), 0)
  end)

  it("are missing: no plan takes the function", function()
    local f <const> = gb.func{name = "cube", shape = "same", forward = function(x) return x ^ 3 end}
    local y <const> = f(gb.ones(3))
    assert.equal("3", tostring(y.shape))
    raises("refused", "cube declares no bytes", gb.plan, y)
    raises("refused", "add bytes =", function() return y:totable() end)
  end)

  it("leave the limit to the outside", function()
    local limit
    local f <const> = func{bytes = "1 MiB", forward = function(x)
      limit = gb.memory.limit()
      gb.memory.limit("8 GiB")
      return x
    end}
    raises("option", "the memory limit cannot be set inside a function", function() return f(gb.ones(2)):totable() end)
    assert.equal(2 ^ 20, limit)
    assert.is_true(gb.memory.limit() > 2 ^ 20)
  end)
end)

describe("values that outlive a call", function()
  it("move out of its memory", function()
    local before <const> = settled()
    local held <const> = {}
    local f <const> = func{bytes = "512 KiB", forward = function(x)
      held[#held + 1] = (x * 2):eval()
      held[#held + 1] = gb.tensor{5, 6, 7}
      return x + held[2][1]
    end}
    near({6, 7, 8}, f(gb.tensor{1, 2, 3}), 0)
    near({7, 7, 7}, f(gb.tensor{2, 2, 2}), 0)
    near({2, 4, 6, 5, 6, 7, 4, 4, 4}, {held[1], held[2], held[3]}, 0)
    assert.equal(before + 4 * 24, settled() )
    for i = 1, #held do held[i] = nil end
    assert.equal(before, settled())
  end)

  it("are not what the library would keep for later", function()
    local f <const> = func{bytes = "1 MiB", forward = function(x)
      local a <const> = x:matmul(x:t()) + gb.eye(#x) * 9
      return x * gb.linalg.logdet(a):item() + gb.linalg.inv_quad(a, x:select(2, 1)):item()
    end}
    local plan <const> = gb.plan(f(gb.randn(40, 3, {seed = 1}) + 1))
    plan:run()
    assert.equal(plan.peak, plan:stats().measured)
  end)

  it("leave alone what the outside keeps for later, and what it measures", function()
    local b <const> = (gb.eye(64) * 3 + 1):eval()
    local a <const> = b:matmul(b:t()) + gb.eye(64)
    local kept
    core.drop_caches()
    near(gb.linalg.logdet(a):item(), gb.linalg.logdet(a), 0)
    local f <const> = func{bytes = "1 MiB", forward = function(x)
      kept = (x * 3 + gb.linalg.inv_quad(a, gb.ones(64)):item()):eval()
      return x
    end}
    local y <const> = (f(gb.tensor{1, 2} * 2) + 1):eval()
    local last <const> = core.last_run()
    assert.same({2, 1}, {last.folds, last.opaques})
    near({3, 5}, y, 0)
    assert.is_true(core.drop_caches() >= 64 * 64 * 8)
    near(kept[2]:item() - 6, kept[1], 1e-12)
  end)

  it("may be plans, params and values of expressions from outside", function()
    local before <const> = settled()
    do
      local w <const>, p <const> = gb.randn(100, {seed = 2}) + 1, gb.param(2)
      local plan, leaf
      local f <const> = func{bytes = "1 MiB", forward = function(x)
        leaf = gb.empty(3)
        plan = gb.plan(leaf:exp())
        plan:run{[leaf] = x}
        p.value = 3
        return x * w:sum():item()
      end}
      local s <const> = w:sum():item()
      near({s, 2 * s, 3 * s}, f(gb.tensor{1, 2, 3}), 1e-12)
      near({1, math.exp(1), math.exp(2)}, plan:run{[leaf] = gb.tensor{0, 1, 2}}, 1e-14)
      near(3, p, 0)
    end
    assert.equal(before, settled())
  end)
end)

describe("errors inside", function()
  local x <const> = gb.ones(3)

  it("arrive as they are, and the plan is undone", function()
    local before <const> = settled()
    local own <const> = setmetatable({code = "mine"}, {__tostring = function() return "my error" end})
    for _, thrown in ipairs{own, {1, 2}} do
      local ok <const>, err <const> = pcall(function()
        return (func{forward = function() error(thrown) end}(x * 2):exp() + x):totable()
      end)
      assert.is_false(ok)
      assert.equal(thrown, err)
    end
    local err = raises("shape", "2x2", function()
      return func{forward = function(v) return v + gb.ones(2, 2) end}(x):totable()
    end)
    assert.matches("func_spec.lua:%d+$", err.line)
    assert.matches("func_spec.lua", err.traceback)
    assert.equal(before, settled())
    near({1, 1, 1}, cube()(x), 0)
  end)

  it("get the code callback where they were words", function()
    local err = raises("callback", "odd: ", function()
      return func{name = "odd", forward = function() error "went wrong" end}(x):totable()
    end)
    assert.matches("func_spec.lua:%d+: went wrong", err.message)
    assert.matches("stack traceback:.*func_spec.lua", err.traceback)
    raises("callback", "odd: nil", function()
      return func{name = "odd", forward = function() error() end}(x):totable()
    end)
    raises("callback", "odd: 42", function()
      return func{name = "odd", forward = function() error(42) end}(x):totable()
    end)
  end)

  it("pass through functions inside functions", function()
    local before <const> = settled()
    local inner <const> = func{name = "inner", bytes = "64 KiB", forward = function(v) return v:sort(1) end}
    local outer <const> = func{name = "outer", bytes = "1 MiB", forward = function(v) return inner(v) + 1 end}
    near({2, 2, 2}, outer(x), 0)
    local err = raises("refused", "inner declares 64 KiB", function() return outer(gb.ones(50000)):sum():item() end)
    assert.is_nil(err.message:find("outer declares", 1, true))
    raises("refused", "outer declares 32 KiB", function()
      return func{name = "outer", bytes = "32 KiB", forward = function(v) return inner(v) + 1 end}(x):totable()
    end)
    assert.equal(before, settled())
  end)

  it("are raised by yields, which cannot cross a plan", function()
    local f <const> = func{forward = function(v)
      coroutine.yield(1)
      return v
    end}
    local co <const> = coroutine.create(function() return f(x):totable() end)
    local ok <const>, err <const> = coroutine.resume(co)
    assert.is_false(ok)
    assert.equal("callback", err.code)
    assert.matches("yield", err.message)
    local steps <const> = func{forward = function(v)
      local sum = 0
      for k in coroutine.wrap(function() for k = 1, 3 do coroutine.yield(gb.full({}, k):item()) end end) do sum = sum + k end
      return v * sum
    end}
    assert.same({6, 6, 6}, select(2, coroutine.resume(coroutine.create(function() return steps(x):totable() end))))
    near({6, 6, 6}, steps(x), 0)
  end)

  it("are raised for a plan that runs itself, or closes itself", function()
    local plan
    local f <const> = func{forward = function(v)
      plan:run()
      return v
    end}
    plan = gb.plan(f(x))
    raises("option", "run: the plan is running already", plan.run, plan)
    local g <const> = func{forward = function(v)
      plan:close()
      return v
    end}
    plan = gb.plan(g(x))
    raises("option", "cannot be closed while it runs", plan.run, plan)
  end)

  it("come from Ctrl-C as from anywhere, with the traceback of where it was", function()
    local script <const> = [[
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local f <const> = gb.func{name = "endless", shape = "same", bytes = "1 MiB", forward = function(v)
  io.popen("kill -INT $PPID"):close()
  while true do (v * 2):sum():item() end
end}
local x <const> = gb.ones(3)
local ok <const>, err <const> = pcall(function() return (f(x * 2) + 1):totable() end)
for _ = 1, 3 do collectgarbage() end
print(ok, err.code, (core.live()))
print((f(x)))
]]
    local path <const> = support.write(support.path(".lua"), script)
    local out <const>, err <const>, code <const> = process.run{path}
    support.sweep()
    assert.matches("^false\tinterrupted\t0\n", out)
    assert.matches("interrupted", err)
    local _, tracebacks <const> = err:gsub("stack traceback:", "")
    assert.equal(1, tracebacks)
    assert.matches("in function <[^>]*:3>", err)
    assert.is_true(code ~= 0)
  end)

  it("leave nothing behind wherever an allocation fails", function()
    local f <const> = func{forward = function(v)
      local m <const> = (v + 1):eval()
      return m:sort(1) * v
    end}
    local before <const> = settled()
    local n = -1
    local ok, result
    repeat
      n = n + 1
      core.fail_after(n)
      ok, result = pcall(function() return f(x * 2):sum():item() end)
      core.fail_after(-1)
      if not ok then assert.is_true(result.code == "oom" or result.code == "refused", tostring(result)) end
      assert.equal(before, settled())
    until ok or n > 50
    assert.is_true(ok)
    assert.is_true(n >= 3)
    near(18, result, 1e-12)
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
    raises("refused", "bare declares no bytes", function()
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
      {"option", "gb.func: option 'shape' must be string or function, got number 3",
        function() return func{forward = id, shape = 3} end},
      {"option", "gb.func: option 'backward' must be function, got number 3",
        function() return func{forward = id, backward = 3} end},
      {"option", "gb.func: option 'batched' must be boolean, got number 3", function() return func{forward = id, batched = 3} end},
      {"option", "gb.func: option 'name' must be string, got number 3", function() return func{forward = id, name = 3} end},
      {"option", "gb.func: option 'bytes' must be number or string or function, got boolean",
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

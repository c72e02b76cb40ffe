--- The memory of gb.func: declared bytes, values that outlive a call, and nothing after an error.
local core <const> = require "gibbous.core"
local functions <const> = require "spec.tensor.functions"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local func <const>, cube <const>, settled <const> = functions.func, functions.cube, functions.settled

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
    raises("refused", "cube does not declare its bytes", gb.plan, y)
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
    assert.matches("func_memory_spec.lua:%d+$", err.line)
    assert.matches("func_memory_spec.lua", err.traceback)
    assert.equal(before, settled())
    near({1, 1, 1}, cube()(x), 0)
  end)

  it("get the code callback where they were words", function()
    local err = raises("callback", "odd: ", function()
      return func{name = "odd", forward = function() error "went wrong" end}(x):totable()
    end)
    assert.matches("func_memory_spec.lua:%d+: went wrong", err.message)
    assert.matches("stack traceback:.*func_memory_spec.lua", err.traceback)
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

describe("a collection before a call", function()
  it("may run finalizers that use the library in a coroutine: the call is on the caller's thread", function()
    local script <const> = [[
local gb <const> = require "gibbous"
gb.memory.limit "64 MiB"
local ran, on = 0, nil
local f <const> = gb.func{name = "f", shape = "same", bytes = "1 MiB", forward = function(v)
  on = coroutine.running()
  return 2 * v
end}
collectgarbage "stop"
setmetatable({}, {__gc = function()
  coroutine.wrap(function()
    ran = ran + 1
    coroutine.yield(gb.memory.report())
  end)()
end})
for k = 1, 4 do gb.rand(1500, 800, {seed = k}):eval() end
local before <const> = ran
f(gb.rand(1500, 1200, {seed = 5})):sum():eval()
print(before, ran, on == coroutine.running())
]]
    local path <const> = support.write(support.path(".lua"), script)
    local out <const>, err <const> = process.run{path}
    support.sweep()
    assert.equal("0\t1\ttrue\n", out, err)
  end)
end)

describe("finalizers that use the library in a coroutine", function()
  it("do not move the work of a binding to it", function()
    local script <const> = [[
local gb <const> = require "gibbous"
local main <const> = coroutine.running()
local strange, nameless = 0, 0
local f <const> = gb.func{name = "f", shape = "same", bytes = "1 MiB", forward = function(v)
  if coroutine.running() ~= main then strange = strange + 1 end
  return 2 * v
end}
local function plant()
  setmetatable({}, {__gc = function()
    coroutine.wrap(function() coroutine.yield(gb.memory.report()) end)()
    plant()
  end})
end
for _ = 1, 20 do plant() end
collectgarbage("incremental", 1, 10000, 1)
local X <const> = gb.ones(3)
for i = 1, 500 do
  f(gb.ones(3 + i % 5)):sum():item()
  local _, e <const> = pcall(function() return X:matmul(gb.ones(5)) end)
  if not tostring(e):find("(X", 1, true) then nameless = nameless + 1 end
end
print(strange, nameless)
]]
    local path <const> = support.write(support.path(".lua"), script)
    local out <const>, err <const> = process.run{path}
    support.sweep()
    assert.equal("0\t0\n", out, err)
  end)
end)

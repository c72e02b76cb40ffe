local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function settle()
  core.drop_caches()
  for _ = 1, 3 do collectgarbage() end
  return core.live()
end

describe("gb.memory", function()
  it("sets the limit in bytes or words and gives the previous one", function()
    local old <const> = gb.memory.limit("1 GiB")
    assert.equal(1 << 30, gb.memory.limit("500 MB"))
    assert.equal(500000000, gb.memory.limit(1 << 20))
    assert.equal(1 << 20, gb.memory.limit("1.5KiB"))
    assert.equal(1536, gb.memory.limit(old))
    assert.equal(old, gb.memory.limit())
    for _, bad in ipairs{"1 foo", "GiB", "", "-1", "1e30", "nan"} do raises("option", "memory limit", gb.memory.limit, bad) end
    raises("option", "memory limit", gb.memory.limit, -1)
    raises("option", "memory limit", gb.memory.limit, {1})
    assert.equal(old, gb.memory.limit())
  end)

  it("reports who holds what, with lines", function()
    settle()
    local x <const> = gb.rand(500000, {seed = 1}):eval()
    local line <const> = debug.getinfo(1, "l").currentline - 1
    local r <const> = gb.memory.report()
    assert.is_true(r.used >= 4000000 and r.peak >= r.used and r.limit >= r.used)
    assert.equal(r.used, r.tensor + r.cache + r.arena + r.workspace)
    local found = false
    for _, h in ipairs(r.holders) do found = found or (h.bytes == 4000000 and h.line:find("memory_spec.lua:" .. line, 1, true)) end
    assert.is_truthy(found)
    assert.matches("^memory  used .- peak .- limit .- lua ", tostring(r))
    assert.equal(500000, #x)
  end)

  it("counts graphs and plans in an account of their own, and refuses what passes the limit", function()
    settle()
    local before <const> = gb.memory.report()
    local leaf <const> = gb.rand(8, 8, {seed = 1}):eval()
    local all = {}
    for i = 1, 1000 do all[i] = leaf + i end
    local built <const> = gb.memory.report()
    assert.is_true(built.graph - before.graph > 1000 * 100)
    assert.equal(before.used + 512, built.used)
    for i = 1, 1000 do all[i]:close() end
    settle()
    assert.is_true(gb.memory.report().graph - before.graph < 16384)
    all = nil -- luacheck: ignore 311 (released)

    local old <const> = gb.memory.limit(gb.memory.report().used + (1 << 20))
    local deep = leaf
    local ok <const>, err <const> = pcall(function()
      for _ = 1, 200000 do deep = deep:matmul(leaf):tanh() end
    end)
    gb.memory.limit(old)
    assert.is_false(ok)
    assert.matches("memory_spec.lua:%d+: out of memory: no room for a node of the graph: graphs and plans take 6[45]",
      tostring(err))
    deep:close()
    settle()
    assert.is_true(gb.memory.report().graph - before.graph < 16384)
    for i = 1, 100000 do local _ <const> = leaf + i end                    -- what nobody holds makes room
    leaf:close()
  end)

  it("gives up plans that are only remembered before it refuses tensors or other plans", function()
    settle()
    local leaf <const> = gb.rand(2, 2, {seed = 1}):eval()
    local function remember()
      for i = 1, 34 do
        local y = leaf
        for _ = 1, 640 + i do y = y:matmul(leaf):tanh() end
        gb.plan(y):close()
        y:close()
      end
      settle()
    end
    for _, take in ipairs{function() return gb.zeros(1 << 19):eval() end,
                          function() return gb.plan(leaf:matmul(gb.rand(2, 1 << 18, {seed = 2}))):run() end} do
      remember()
      local before <const> = gb.memory.report()
      assert.is_true(before.graph > 78 << 20, before.graph)
      local old <const> = gb.memory.limit(before.used + (12 << 20))
      local ok <const>, err = pcall(take)
      gb.memory.limit(old)
      assert.is_true(ok, tostring(err))
      err = nil -- luacheck: ignore 311 (released)
      assert.is_true(gb.memory.report().graph < before.graph)
    end
    leaf:close()
  end)

  it("gives everything back", function()
    local before <const> = settle()
    do
      local a <const> = gb.rand(200, 200, {seed = 1})
      local b <const> = gb.linalg.cholesky(a:matmul(a:t()) + gb.eye(200)):eval()
      assert.equal(200, #b)
    end
    assert.equal(before, settle())
  end)

  it("collects what no handle reaches before it refuses", function()
    settle()
    local old <const> = gb.memory.limit(core.live() + 3 * 800000)
    for i = 1, 50 do gb.rand(100000, {seed = i}):eval() end            -- each 800 kB, never closed
    gb.memory.limit(old)
  end)

  it("keeps a loop that closes nothing near one budget", function()
    settle()
    local old <const> = gb.memory.limit(core.live() + 64 * 80000)
    local most = 0
    for i = 1, 400 do
      gb.rand(10000, {seed = i}):eval()
      most = math.max(most, (core.live()))
    end
    local limit <const> = gb.memory.limit(old)
    assert.is_true(most <= limit)
  end)

  it("keeps finalizers out of the core while it runs", function()
    settle()
    local attempts, refused = 0, 0
    local function trap()
      setmetatable({}, {__gc = function()
        attempts = attempts + 1
        local ok <const>, err <const> = pcall(function() return (gb.ones(3) + 1):sum():item() end)
        if not ok and err.code == "internal" then refused = refused + 1 end
      end})
    end
    local old <const> = gb.memory.limit(core.live() + 100000)
    collectgarbage "stop"                               -- so that the collection is the one before the refusal
    trap()
    assert.is_false((pcall(function() return gb.rand(50000, {seed = 1}):eval() end)))
    collectgarbage "restart"
    gb.memory.limit(old)
    assert.is_true(attempts > 0 and refused == attempts, ("%d of %d"):format(refused, attempts))
    near(6, (gb.ones(3) + 1):sum(), 0)
  end)

  it("leaves collectgarbage('stop') its meaning until memory runs out", function()
    settle()
    collectgarbage "stop"
    local before <const> = core.live()
    for i = 1, 10 do gb.rand(1000, {seed = i}):eval() end
    assert.equal(before + 10 * 8000, (core.live()))
    collectgarbage "restart"
  end)
end)

describe("a million nodes", function()
  it("deep do not overflow a stack", function()
    local x = gb.zeros(1)
    for _ = 1, 100000 do x = x + 1 end
    near({100000}, x, 0)
  end)

  it("made and dropped do not pile up", function()
    local x <const> = gb.ones(4)
    settle()
    local before <const> = select(3, core.live())
    for _ = 1, 200000 do local _ = x + math.random() end
    settle()
    assert.is_true(select(3, core.live()) < before + 20000)
  end)
end)

describe("gb.plan", function()
  it("says what will be taken, and takes that", function()
    local x <const> = gb.rand(300, 2, {seed = 1}):eval()
    local k <const> = (core.sqdist(x, x) * -0.5):exp()
    local p <const> = gb.plan(k:matmul(gb.ones(300)))
    assert.is_true(p.peak >= 300 * 8 and p.peak < 300 * 300 * 8)
    assert.is_true(p.minimum <= p.peak)
    assert.equal("string", type(p:explain()))
    assert.equal("{", p:json():match "^%s*(.)")
    assert.equal(p.steps, #p.variants)
    assert.matches("^plan of %d+ steps  peak ", tostring(p))
    local z <const> = p:run()
    assert.equal(p.peak, p:stats().measured)
    near(k:matmul(gb.ones(300)), z, 0)
  end)

  it("keeps what is detached from a stored value where it is", function()
    local n <const> = 200
    local x <const>, noise <const> = gb.rand(n, 2, {seed = 1}):eval(), gb.tensor(0.1):requires_grad()
    local c <const> = (core.sqdist(x, x) * -0.5):exp() + gb.eye(n) * noise
    local l <const> = core.linalg.cholesky(c)
    local one <const>, both <const> = gb.plan(l), gb.plan{l, l:detach()}
    assert.is_true(both.peak < one.peak + n * n * 8)
    local a <const>, b <const> = table.unpack(both:run())
    near(a, b, 0)
    near(c, a:matmul(b:t()), 1e-13)
    near({0, 0}, gb.grad((b * l:detach()):sum(), {noise, x:requires_grad()}, {unused = "zero"})[1] + gb.zeros(2), 0)
  end)

  it("keeps what is detached from a leaf apart from the leaf", function()
    local p <const> = gb.param(2.0)
    local was <const> = p.raw:detach():eval()
    p.raw = 3
    near({2}, was:reshape(1), 0)
    near({3}, p.raw:reshape(1), 0)
  end)

  it("lets the history of its results go when it has run", function()
    for _, options in ipairs{{}, {budget = 1 << 20}} do
      local x, used = gb.rand(64, 64, {seed = 1}):eval(), {}
      for k = 1, 5 do
        local next <const>, sum <const> = x * 0.5 + 1, (x * x):sum()
        gb.plan({next, sum}, options):run()
        x = next
        collectgarbage()
        collectgarbage()
        used[k] = gb.memory.report().used
      end
      assert.equal(used[2], used[5])
    end
  end)

  it("runs again over other values", function()
    local x <const> = gb.empty(3)
    local y <const>, z <const> = x * 2, (x + 1):sum()
    local p <const> = gb.plan{y, z}
    local r <const> = p:run{[x] = gb.tensor{1, 2, 3}}
    near({2, 4, 6}, r[1], 0)
    near(9, r[2], 0)
    near({0, 0, 20}, p:run{[x] = gb.tensor{0, 0, 10}}[1], 0)
    near({2, 2, 2}, gb.plan(y):run{[x] = gb.ones(3)}, 0)
    assert.is_false((pcall(p.run, p, {[x] = gb.ones(4)})))
    assert.is_false((pcall(p.run, p, {[3] = gb.ones(3)})))
    assert.is_false((pcall(p.run, p, {[gb.ones(3)] = gb.ones(3)})))
  end)

  it("refuses values for what is no leaf of it", function()
    local data <const> = gb.rand(3, {seed = 1}):eval()
    local marked <const> = gb.lazy(data)
    local p <const> = gb.plan((marked * 2):sum())
    near(6, p:run{[marked] = gb.ones(3)}, 0)
    for _, key in ipairs{data, marked * 2, gb.rand(3, {seed = 2}):eval()} do
      local ok <const>, err <const> = pcall(p.run, p, {[key] = gb.ones(3)})
      assert.is_false(ok)
      assert.equal("option", err.code)
      assert.matches("leaves of the plan, and 3 .*is not one", err.message)
    end
  end)

  it("refuses what cannot fit, with the numbers", function()
    local x <const> = gb.rand(1000, 1000, {seed = 1})
    local err <const> = raises("refused", "", gb.plan, gb.linalg.cholesky(x:matmul(x:t())), {budget = "1 MB"})
    assert.is_true(err.need > 1000000 and err.have <= 1000000 and err.minimum >= 8000000, tostring(err))
    raises("option", "option 'budget' must be above 0", gb.plan, x, {budget = 0})
    raises("option", "'exact' must be", gb.plan, x, {exact = "nearly"})
    raises("option", "must be a string", gb.plan, x, {prefer = {}})
    raises("option", "unknown option 'budgett', did you mean 'budget'", gb.plan, x, {budgett = 1})
  end)

  it("answers nothing once closed", function()
    local p <const> = gb.plan(gb.ones(3):sum())
    p:close()
    raises("closed", "closed plan", function() return p.peak end)
    raises("closed", "closed plan", p.run, p)
    assert.equal("plan (closed)", tostring(p))
    raises("index", "did you mean 'peak'?", function() return gb.plan(gb.ones(3):sum()).peek end)
  end)
end)

describe("the limit that a refusal names", function()
  it("is one that works beside what is held", function()
    local before <const> = gb.memory.limit()
    local held <const>, v <const> = gb.randn(1000, 40, {seed = 1}):eval(), gb.randn(700, 700, {seed = 2}):eval()
    collectgarbage()
    gb.memory.limit(v.numel * 8 + held.numel * 8 + (1 << 20))
    local err <const> = support.raises("refused", "smallest budget that works", function() return v:matmul(v):eval() end)
    gb.memory.limit(err.minimum)
    local ok <const>, again <const> = pcall(function() return v:matmul(v):eval() end)
    gb.memory.limit(before)
    assert.is_true(ok, tostring(again))
    assert.equal(40000, held.numel)
  end)
end)

describe("failing allocations", function()
  -- Fails the n-th allocation and all later ones, n = 0, 1, ... until the task gets through; nothing may leak.
  local function fault_loop(task)
    local n = -1
    local ok, err
    repeat
      n = n + 1
      local before <const> = settle()
      core.fail_after(n)
      ok, err = pcall(task)
      core.fail_after(-1)
      if not ok then
        assert.not_equal("string", type(err), tostring(err))
        assert.is_true(err.code == "oom" or err.code == "refused", tostring(err))
      end
      err = nil -- luacheck: ignore 311 (released)
      assert.equal(before, settle(), ("after failure %d"):format(n))
    until ok
    return n
  end

  it("leak nothing: elementwise and reductions", function()
    assert.is_true(fault_loop(function()
      local x <const> = gb.tensor{1, 2, 3}
      local y <const> = (x:exp() + 1):sum()
      return gb.eval(y, x:put(1, {2}, 0))
    end) >= 2)
  end)

  it("leak nothing: products, factors, gradients", function()
    local x <const> = gb.rand(40, 2, {seed = 1}):eval()
    assert.is_true(fault_loop(function()
      local z <const> = x:requires_grad()
      local k <const> = (core.sqdist(z, z) * -0.5):exp() + gb.eye(40)
      local loss <const> = gb.linalg.logdet(k) + gb.linalg.inv_quad(k, gb.ones(40))
      gb.eval(loss, gb.grad(loss, z))
    end) >= 3)
  end)

  it("leak nothing: sorting, indexing, plans", function()
    assert.is_true(fault_loop(function()
      local v <const>, p <const> = gb.rand(100, {seed = 1}):sort(1)
      gb.eval(v, p, v:index(1, v:gt(0.5)), gb.cat{v, v})
      gb.plan(v:sum()):run()
      tostring(v)
    end) >= 3)
  end)
end)

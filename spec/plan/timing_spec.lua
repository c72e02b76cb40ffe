local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local near <const> = require("spec.support").near

local function settled()
  for _ = 1, 3 do collectgarbage() end
  core.drop_caches()
  return core.live()
end

describe("a measurement", function()
  -- The op counts how often it runs.
  local runs
  local twice <const> = gb.func{name = "twice", shape = "same", bytes = "1 MiB", forward = function(x)
    runs = runs + 1
    return x * 2
  end}
  before_each(function() runs = 0 end)

  it("does the work of every run", function()
    local x <const> = gb.rand(5, {seed = 1}):eval()
    local function f() return twice(x):sum() end
    assert.equal(8, gb.bench(f, {runs = 8, seconds = 1e-9}).runs)
    assert.equal(9, runs)                                        -- one to warm up
    gb.bench(function() return twice(x):sum():item() end, {runs = 3, seconds = 1e-9, warmup = 2})
    assert.equal(14, runs)
  end)

  it("finds nothing that was computed before it", function()
    local x <const> = gb.rand(5, {seed = 2}):eval()
    local kept <const> = twice(x):eval()
    assert.equal(1, runs)
    gb.bench(function() return twice(x) end, {runs = 1, seconds = 1e-9, warmup = 0})
    assert.equal(2, runs)
    gb.bench(function() return kept:sum() end, {runs = 2, seconds = 1e-9})       -- a value that is there is given
    assert.equal(2, runs)
    near((x * 2):sum(), twice(x):sum(), 1e-15)                                     -- and is found again afterwards
    assert.equal(2, runs)
  end)

  it("leaves no value behind for what is built after it", function()
    for i, measure in ipairs{function(f) gb.bench(f, {runs = 1, seconds = 1e-9, warmup = 0}) end, gb.profile} do
      local x <const> = gb.rand(5, {seed = 7 + i}):eval()
      local kept
      measure(function() kept = twice(x):eval() end)
      local y <const> = twice(x):sum()
      runs = 0
      gb.bench(function() return y:item() end, {runs = 3, seconds = 1e-9})
      assert.equal(4, runs)
      near(kept:sum(), y, 1e-15)
    end
    local a <const> = gb.rand(50, 50, {seed = 10}):eval()
    local product
    gb.profile(function() product = a:matmul(a):eval() end)
    local c <const> = (a * 2):matmul(a * 3):sum()                    -- 6 a a by the canonical form
    for _ = 1, 2 do
      local p <const> = gb.profile(function() return c:item() end)
      assert.is_true(p.folds + p.opaques > 0)
    end
    near(product:sum() * 6, c, 1e-9)
  end)

  it("leaves a lazy tensor from outside as lazy as it was, whatever f asks of it", function()
    local x <const> = gb.rand(5, {seed = 3}):eval()
    for i, f in ipairs{
      function(y) return y end, function(y) return y:sum() end, function(y) return y:eval() end,
      function(y) return y:sum():item() end, function(y) return gb.eval(y, y + 1) end, function(y) return {{y}} end,
    } do
      local y <const> = twice(x + i)
      runs = 0
      gb.bench(function() return f(y) end, {runs = 3, seconds = 1e-9})
      assert.equal(4, runs)
      assert.is_false(core.known(y))
      near((x + i) * 2, y, 1e-15)
      assert.equal(5, runs)
      gb.bench(function() return f(y) end, {runs = 3, seconds = 1e-9})
      assert.equal(5, runs)
      assert.is_true(core.known(y))
    end
  end)

  it("counts every evaluation of a profile", function()
    local a <const> = gb.rand(40, 40, {seed = 4}):eval()
    local function f()
      local s <const> = (a * 3):sum():item()
      return gb.linalg.logdet(a:matmul(a:t()) + gb.eye(40)) * s, gb.linalg.logdet(a:matmul(a:t()) + gb.eye(40) * 2)
    end
    for _ = 1, 2 do
      local p <const> = gb.profile(f)
      assert.is_true(p.folds >= 1 and p.opaques >= 2 and p.pairs > 0 and p.measured > 0)
      assert.is_true(p.core_seconds > 0 and p.core_seconds <= p.seconds)
    end
    assert.equal(0, gb.profile(function() end).folds)
    assert.equal(0, gb.profile(function() end).core_seconds)
  end)

  it("ends when f raises, and nests", function()
    local x <const> = gb.rand(5, {seed = 5}):eval()
    assert.is_false(pcall(gb.bench, function() error "boo" end))
    near(twice(x):eval(), twice(x), 0)
    runs = 0
    local y <const> = twice(x + 7)
    gb.bench(function()
      gb.bench(function() return y end, {runs = 2, seconds = 1e-9, warmup = 0})
      return y
    end, {runs = 2, seconds = 1e-9, warmup = 0})
    assert.is_false(core.known(y))
    local one <const> = twice(x + 8):eval()
    runs = 0
    near(one, twice(x + 8), 0)
    assert.equal(0, runs)
  end)

  it("keeps nothing alive", function()
    local x <const> = gb.rand(50, {seed = 6}):eval()
    local y <const> = twice(x + 1)
    settled()
    local bytes <const>, blocks <const>, nodes <const> = settled()
    gb.bench(function() return y:sum(), twice(x):exp() end, {runs = 20, seconds = 1e-9})
    gb.profile(function() return y end)
    assert.same({bytes, blocks, nodes}, {settled()})
  end)
end)

describe("the two clocks of a measurement", function()
  local core <const> = require "gibbous.core"
  local support <const> = require "spec.support"
  local step <const> = {line = "a.lua:1", op = "one", device = "cpu", carrier = "avx2", kernel = "vm", calls = 1, bytes = 1500.0,
    flops = 3e9}

  --- gb.time of runs of one second in which steps took place at these times, {from, to} from the beginning of the run.
  local function timed(events, fields)
    local now = 50.0
    local function traced()
      local row <const>, list <const> = {seconds = 0.0}, {}
      for key, v in pairs(step) do row[key] = v end
      for key, v in pairs(fields or {}) do row[key] = v end
      for i, e in ipairs(events) do
        list[i] = {row = 1, from = now - 1 + e[1], to = now - 1 + e[2], depth = 0}
        row.seconds = row.seconds + e[2] - e[1]
      end
      row.calls = #events
      return {began = now - 1, dropped = 0, rows = #events > 0 and {row} or {}, events = list}
    end
    return support.with(core, {clock = function() return now end, traced = traced}, function()
      return gb.time(function() now = now + 1 end, {runs = 1, warmup = 0})
    end)
  end

  it("agree within 5 % and 20 us, or the record says when no step ran", function()
    local r <const> = timed{{0.0, 0.96}}
    assert.same({true, 1, 1}, {r.agree, r.steps, r.wall})
    near(0.96, r.device, 1e-12)
    assert.is_nil(r.waits)
    local s <const> = timed{{0.125, 0.25}, {0.5, 0.75}, {0.75, 0.875}}
    assert.same({false, 3, 0.5}, {s.agree, s.steps, s.device})
    table.sort(s.waits, function(a, b) return (a.op or "") > (b.op or "") or a.op == b.op and a.seconds > b.seconds end)
    assert.same({{seconds = 0.25, line = "a.lua:1", op = "one"}, {seconds = 0.125, line = "a.lua:1", op = "one"},
      {seconds = 0.125}}, s.waits)
    assert.matches("no step ran for 250 ms before one %(a.lua:1%), 125 ms ", tostring(s))
    local over <const> = timed{{0.0, 1.0}, {0.25, 0.75}}
    assert.is_false(over.agree)
    assert.matches("steps of several devices ran at the same time", tostring(over))
    assert.same({}, over.waits)
  end)

  it("say what was done, and how far it is from what the devices could do", function()
    local r <const> = timed({{0.0, 0.5}, {0.5, 1.0}}, {predicted = 0.75, bound = 0.25})
    assert.same({0.75, 0.25, 0.25, 1500, 3e9}, {r.predicted, r.bound, r.share, r.bytes, r.flops})
    assert.equal("median 1 s  fastest 1 s  slowest 1 s  (1 run)\n"
      .. "  device 1 s  2 steps  1.5 kB  3 Gflop  25 % of the bound 250 ms", tostring(r))
    local plain <const> = timed{{0.0, 1.0}}
    assert.is_nil(plain.share)
    assert.is_nil(plain.bound)
    assert.is_nil(plain.predicted)
    assert.equal("  device 1 s  1 step  1.5 kB  3 Gflop", tostring(plain):match "\n(.*)")
  end)

  it("say when there was nothing to compute", function()
    local x <const> = gb.rand(5, {seed = 1}):eval()
    for _, f in ipairs{function() return x end, function() end, function() return 3, {x, {x}} end} do
      local r <const> = gb.time(f, {runs = 2, seconds = 1e-9})
      assert.same({0, 0, 0, 0}, {r.steps, r.device, r.bytes, r.flops})
      assert.matches("\n  nothing was computed: no step ran", tostring(r))
      assert.is_nil(tostring(r):find("no step ran for", 1, true))
    end
    assert.is_nil(tostring(gb.time(function() return x + 1 end, {runs = 1})):find("nothing was computed", 1, true))
  end)

  it("tell steps that f itself remembers from those that every run repeats", function()
    local x <const> = gb.rand(50, 3, {seed = 1}):eval()
    local kept
    local r <const> = gb.time(function()
      kept = kept or gb.linalg.cholesky(gb.kernels.rbf{}(x) + gb.eye(50)):eval()
      return kept:sum()
    end, {runs = 2, seconds = 1e-9})
    assert.is_true(r.steps >= 1 and r.remembered >= 1)
    assert.matches("of the first run w%a+ remembered by f", tostring(r))
    local s <const> = gb.time(function() return gb.linalg.cholesky(gb.kernels.rbf{}(x) + gb.eye(50)):sum() end,
      {runs = 2, seconds = 1e-9})
    assert.equal(r.steps + r.remembered, s.steps)
    assert.is_nil(s.remembered)
    assert.is_nil(gb.time(function() return x + 1 end, {runs = 1, warmup = 0}).first)
    local count = 0
    local fewer <const> = gb.time(function()                         -- f decides how often a step runs: nothing is remembered
      count = count + 1
      local v = x
      for i = 1, count == 1 and 9 or 2 do v = (v + i):eval() end
      return v
    end, {runs = 2, seconds = 1e-9})
    assert.equal(2, fewer.steps)
    assert.is_nil(fewer.remembered)
  end)

  it("count the operations and bytes of the textbook", function()
    local a <const>, b <const> = gb.randn(30, 40, {seed = 1}):eval(), gb.randn(40, 20, {seed = 2}):eval()
    local function work(f)
      local r <const> = gb.time(f, {runs = 1, seconds = 1e-9, warmup = 0})
      return {r.steps, r.flops, r.bytes}
    end
    assert.same({1, 2.0 * 30 * 40 * 20, 8.0 * (30 * 40 + 40 * 20 + 30 * 20)}, work(function() return a:matmul(b) end))
    assert.same({1, 2.0 * 1200, 16.0 * 1200}, work(function() return a:exp():sin() end))
    assert.same({1, 1200.0, 8.0 * (1200 + 30)}, work(function() return a:sum(2) end))
    local s <const> = (gb.eye(30) * 3):eval()
    assert.same({1, 9000.0, 16.0 * 900}, work(function() return gb.linalg.cholesky(s) end))
    local x <const>, y <const>, v <const> = gb.randn(50, 3, {seed = 3}):eval(), gb.randn(60, 3, {seed = 4}):eval(),
      gb.randn(60, 2, {seed = 5}):eval()
    local one <const> = work(function() return ((x:unsqueeze(2) - y:unsqueeze(1)) ^ 2):sum(-1):matmul(v) end)
    assert.same({1, 3000.0 * (3 * 3 + 2 * 2), 8.0 * (150 + 180 + 120 + 100)}, one)
  end)
end)

describe("the seconds of a record", function()
  local K <const> = gb.kernels
  local x <const>, y <const> = gb.rand(30, 2, {seed = 1}):eval(), gb.rand(30, {seed = 2}):eval()
  local a <const> = (x:matmul(x:t()) + gb.eye(30)):eval()
  local function model(o)
    return gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = o and o.solver or "direct"}
  end
  local function second(...) return (select(2, ...)) end

  it("lie within what a clock saw around it", function()
    local S <const> = gb.solvers
    local iterative <const> = {solver = S.cg{tol = 1e-6}}
    for name, make in pairs{
      minimize = function()
        local p <const> = gb.param(3.0)
        return gb.optim.minimize(function() return (p - 1) ^ 2 end, p)
      end,
      fit = function() return model():fit(x, y, {steps = 2}) end,
      ["fit by a solver"] = function() return model(iterative):fit(x, y, {steps = 2}) end,
      ["fit of several outputs"] = function()
        return gb.gp.multitask{kernel = K.rbf{}, tasks = 2, noise = 0.1}:fit(x, x, {steps = 1})
      end,
      update = function() return model():condition(x, y):condition(x + 2, y).update end,
      ["update by a solver"] = function() return model(iterative):condition(x, y):condition(x + 2, y).update end,
      prediction = function()
        local p <const> = model(iterative):condition(x, y):predict(x)
        gb.eval(p.mean, p.f_var)
        return p.info
      end,
      logdet = function() return second(S.lanczos{}:logdet(a)) end,
      cg = function() return second(S.cg{}:solve(a, y)) end, cholesky = function() return second(S.cholesky{}:solve(a, y)) end,
      minres = function() return second(S.minres{}:solve(a, y)) end,
      projections = function() return second(S.alternating_projections{}:solve(a, y)) end,
      rank = function()
        local p <const> = gb.precond.nystrom{rank = "auto"}
        return p:resolve(a, a - gb.eye(30), 1.0).info
      end,
      bench = function()
        return {seconds = gb.bench(function() return a:sum() end, {runs = 1, seconds = 1e-9, warmup = 0}).median}
      end,
      profile = function() return gb.profile(function() return a:sum() end) end,
    } do
      local start <const> = gb.clock()
      local record <const> = make()
      local seconds <const>, most <const> = record.seconds, gb.clock() - start
      assert.is_true(seconds >= 0 and seconds <= most, ("%s: %s of %g s"):format(name, seconds, most))
    end
  end)
end)

describe("measurements with a clock that is given", function()
  local core <const> = require "gibbous.core"
  local support <const> = require "spec.support"

  --- gb.bench of runs that take these seconds, one after the other and then again.
  local function bench(seconds, opts)
    local now, run = 100.0, 0
    return support.with(core, {clock = function() return now end}, function()
      return gb.bench(function()
        run = run + 1
        now = now + seconds[(run - 1) % #seconds + 1]
      end, opts), run
    end)
  end

  it("are of three runs or more, for 50 ms, after one that does not count", function()
    local r <const>, runs <const> = bench({9, 5, 1, 4})
    assert.same({4, 1, 5, 3, 4, 9}, {r.median, r.fastest, r.slowest, r.runs, runs, r.first})
    assert.same({4, 5}, {bench({0.015625}).runs, select(2, bench({0.015625}))})
    assert.same({7, 8}, {bench({1}, {repeats = 7}).runs, select(2, bench({1}, {repeats = 7}))})
    assert.same({1, 1}, {bench({0.25}, {runs = 1, warmup = 0}).runs, select(2, bench({0.25}, {runs = 1, warmup = 0}))})
    assert.equal(2, bench({0.03125}, {runs = 1, warmup = 0}).runs)
    assert.equal(4, bench({0.25}, {runs = 1, seconds = 1}).runs)
    assert.equal(2, bench({4, 1, 3, 2}, {runs = 4, warmup = 0}).median)
  end)

  it("evaluate what is in tables, eight deep", function()
    local evaluated
    local x <const>, y <const> = gb.ones(2), gb.zeros(3)
    support.with(core, {eval = function(list) evaluated = #list end}, function()
      gb.bench(function() return x, {a = {y, 3}, b = "text"} end, {runs = 1, seconds = 1e-9, warmup = 0})
      assert.equal(2, evaluated)
      local round <const> = {x}
      round[2] = round
      gb.bench(function() return round end, {runs = 1, seconds = 1e-9, warmup = 0})
      assert.equal(8, evaluated)
    end)
  end)

  it("begin when devices have compiled what the first run asked for", function()
    local function runs(more, opts)
      local ran, asked = 0, 0
      support.with(core, {settle = function()
        asked = asked + 1
        return asked <= more
      end}, function() gb.time(function() ran = ran + 1 end, opts) end)
      return {ran, asked}
    end
    assert.same({1 + 3, 1}, runs(0, {seconds = 1e-9}))
    assert.same({1 + 2 + 3, 3}, runs(2, {seconds = 1e-9}))
    assert.same({2 + 3 + 3, 3}, runs(100, {seconds = 1e-9, warmup = 2}))       -- not for ever
    assert.same({1 + 3, 0}, runs(2, {seconds = 1e-9, compile = false}))
    assert.same({3, 0}, runs(2, {seconds = 1e-9, warmup = 0}))
  end)

  --- What fraction of samples of n puts the median of 0 .. 1 between the j-th and the j-th from above.
  local function coverage(n, j)
    local term, sum = 1.0, 0.0
    for k = 0, n do
      if k >= j and k <= n - j then sum = sum + term / 2.0 ^ n end
      term = term * (n - k) / (k + 1)
    end
    return sum
  end

  it("give the interval of the median by the order of the runs", function()
    for _, n in ipairs{1, 2, 3, 5, 6, 7, 8, 9, 20, 71, 500} do
      local seconds <const> = {}
      for i = 1, n do seconds[i] = ((i * 7919) % n + 1) / 64 end             -- 1/64 .. n/64, each once: 7919 is prime
      local r <const> = bench(seconds, {runs = n, seconds = 1e-9, warmup = 0})
      local j <const> = math.tointeger(r.low * 64)
      assert.equal(n + 1, (r.low + r.high) * 64)
      near(coverage(n, j), r.coverage, 1e-12, n)
      if n >= 6 then
        assert.is_true(r.coverage >= 0.95 and coverage(n, j + 1) < 0.95, n)
      else assert.equal(1, j) end
    end
    local many <const> = {}
    for i = 1, 2000 do many[i] = i / 1024 end
    local r <const> = bench(many, {runs = 2000, seconds = 1e-9, warmup = 0})
    local j <const> = math.tointeger(r.low * 1024)
    assert.equal(956, j)
    assert.equal(2001, (r.low + r.high) * 1024)
  end)

  it("print as text", function()
    local meta <const> = debug.getmetatable(gb.time(function() end, {runs = 1}))
    local function text(fields)
      for key, v in pairs{coverage = 0.5, fastest = 1.5e-3, slowest = 2.0, runs = 7, steps = 0, missed = 0} do
        if fields[key] == nil then fields[key] = v end
      end
      return tostring(setmetatable(fields, meta)):match "[^\n]*"
    end
    assert.equal("median 2.5 us  fastest 1.5 ms  slowest 2 s  (7 runs)", text{median = 2.5e-6})
    assert.equal("median 1 ms  fastest 1 s  slowest 1234 s  (1 run)", text{median = 0.9996e-3, fastest = 0.9996, slowest = 1234.4,
      runs = 1})
    assert.equal("median 999 us  95 % 0.5 us to 999 ms  fastest 1.5 ms  slowest 2 s  (7 runs)", text{median = 0.9993e-3,
      coverage = 0.96, low = 5e-7, high = 0.9992})
    local scaled <const> = require("gibbous.timing").scaled
    local texts <const> = {}
    for i, v in ipairs{0, 7, 999.4, 999.7, 12345, 9.996e8, 3e9, 4.5e15} do texts[i] = scaled(v) end
    assert.same({"0 ", "7 ", "999 ", "1 k", "12.3 k", "1 G", "3 G", "4500 T"}, texts)
  end)

  it("have classes", function()
    assert.equal("timing", gb.type(gb.bench(function() end, {runs = 1, seconds = 1e-9})))
    assert.equal("profile", gb.type(gb.profile(function() end)))
  end)
end)

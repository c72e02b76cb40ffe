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

  it("prints as one line", function()
    local t <const> = setmetatable({median = 2.5e-6, fastest = 1.5e-3, slowest = 2, runs = 7},
      debug.getmetatable(gb.bench(function() end, {runs = 1, seconds = 1e-9})))
    assert.equal("median 2.5 us  fastest 1.5 ms  slowest 2 s  (7 runs)", tostring(t))
    local p <const> = setmetatable({seconds = 0.25, core_seconds = 5e-4, folds = 3, pairs = 100, opaques = 2, measured = 3 * 2^19},
      debug.getmetatable(gb.profile(function() end)))
    assert.equal("250 ms  of it in the core 500 us  3 folds (100 pairs)  2 library calls  peak 1.5 MiB", tostring(p))
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

  it("are of five runs or more, for half a second, after one that does not count", function()
    local r <const>, runs <const> = bench({9, 5, 1, 4, 2, 3})
    assert.same({3, 1, 5, 5, 6}, {r.median, r.fastest, r.slowest, r.runs, runs})
    assert.same({8, 9}, {bench({0.0625}).runs, select(2, bench({0.0625}))})
    assert.same({2, 2}, {bench({0.25}, {runs = 1, warmup = 0}).runs, select(2, bench({0.25}, {runs = 1, warmup = 0}))})
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

  it("have classes", function()
    assert.equal("timing", gb.type(gb.bench(function() end, {runs = 1, seconds = 1e-9})))
    assert.equal("profile", gb.type(gb.profile(function() end)))
  end)
end)

local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const> = 700
local x <const>, y <const>, v <const> = gb.randn(n, 3, {seed = 1}):eval(), gb.randn(n, 3, {seed = 2}):eval(),
  gb.randn(n, {seed = 3}):eval()
local function product() return K.rbf{lengthscale = 1.3}(x, y):matmul(v) end

describe("gb.plan", function()
  it("promises the bytes that a run then takes", function()
    local plan <const> = gb.plan(product())
    local z <const> = plan:run()
    assert.equal(plan.peak, plan:stats().measured)
    assert.equal(n * n, plan:stats().pairs)
    assert.equal(plan.peak, plan.arena + plan.outputs + plan.caches)
    assert.is_true(plan.minimum <= plan.peak)
    near(product(), z, 0)
    assert.matches("peak", tostring(plan))
    assert.matches("streamed, never stored\n +3.738 MiB  700x700 in step", plan:explain())
  end)

  it("promises them for values and gradients together", function()
    local xg <const>, vg <const> = x:requires_grad(), v:requires_grad()
    local z <const> = K.matern32{}(xg, y):matmul(vg)
    local loss <const> = (z * z):sum()
    local plan <const> = gb.plan{z, loss, table.unpack(gb.grad(loss, {xg, vg}))}
    plan:run()
    assert.equal(plan.peak, plan:stats().measured)
    assert.is_true(plan.peak < n * n)
  end)

  it("runs again with other values in its leaves", function()
    local plan <const> = gb.plan(product())
    local other <const> = gb.randn(n, {seed = 9}):eval()
    near(K.rbf{lengthscale = 1.3}(x, y):matmul(other), plan:run{[v] = other}, 0)
    near(product(), plan:run{[v] = v}, 0)
  end)

  it("runs with shapes that have no value yet", function()
    local shape <const> = gb.empty(n, 3)
    local plan <const> = gb.plan(K.rbf{lengthscale = 1.3}(shape, y):matmul(v))
    assert.is_true(plan.peak > 0)
    near(product(), plan:run{[shape] = x}, 0)
    raises("option", "has no value", plan.run, plan)
  end)

  it("gives the same bits on any number of threads, also when it was planned for another", function()
    local before <const> = gb.config{threads = 1}
    local plan <const> = gb.plan(product())
    local one <const> = plan:run{[v] = v}
    for _, threads in ipairs{2, 5, 1, 3} do
      gb.config{threads = threads}
      assert.is_true(plan:run{[v] = v}:equal(one), threads .. " threads")
    end
    gb.config(before)
  end)

  it("refuses with the smallest budget that would do, and runs at it", function()
    local z <const> = gb.linalg.cholesky(K.rbf{}(x) + gb.eye(n)):matmul(v)
    local err <const> = raises("refused", "", gb.plan, z, {budget = 1000})
    assert.is_true(err.minimum > 1000 and err.need >= err.minimum and err.have == 1000)
    local plan <const> = gb.plan(z, {budget = err.minimum})
    assert.is_true(plan.peak <= err.minimum)
    plan:run()
    raises("refused", "", gb.plan, (z + 1), {budget = 100})
  end)

  it("names its fields", function()
    raises("index", "did you mean 'peak'?", function() return gb.plan(product()).peek end)
    raises("option", "'exact' must be 'bits' or 'math', got 'nearly'", gb.plan, product(), {exact = "nearly"})
    raises("option", "'prefer' must be", gb.plan, product(), {prefer = "beauty"})
  end)

  it("does only what it is allowed", function()
    local function factor()
      return gb.linalg.logdet(K.rbf{}(gb.randn(600, 2)) + gb.eye(600))
    end
    local square <const>, packed <const> = gb.plan(factor(), {allow = {}}), gb.plan(factor(), {allow = {"pack"}})
    assert.is_true(square.minimum >= 600 * 600 * 8 and packed.minimum < 0.75 * square.minimum)
    assert.equal(packed.peak, square.peak)                       -- it packs only where it must
    assert.equal(packed.minimum, gb.plan(factor(), {allow = {"pack"}, prefer = "memory"}).peak)
    raises("refused", "", gb.plan, factor(), {allow = {"order"}, budget = packed.minimum})
    raises("option", "got 'spill'", gb.plan, factor(), {allow = {"spill"}})
    raises("option", "must be a list", gb.plan, factor(), {allow = "pack"})
  end)
end)

describe("values that can be computed again", function()
  it("are dropped when a parameter they depend on is set, even under handles to the past", function()
    local p <const> = gb.param(1.0, {min = 0})
    local C <const> = K.rbf{lengthscale = p}(x) + gb.eye(n)
    local logdet <const> = gb.linalg.logdet(C)
    local value <const> = logdet:item()
    local held <const> = gb.memory.report().cache
    assert.is_true(held >= n * n * 8)
    p.value = 2
    assert.is_true(gb.memory.report().cache <= held - n * n * 8)
    near(value, gb.linalg.logdet(C) * 1, 1e-12)           -- the past is computed again
  end)

  it("stay when a model copies the kernel they depend on", function()
    require "gibbous.core".drop_caches()
    local k <const> = K.rbf{}
    gb.linalg.logdet(k(x) + gb.eye(n)):item()
    local held <const> = gb.memory.report().cache
    local m <const> = gb.gp.exact{kernel = k}
    assert.equal(held, gb.memory.report().cache)
    assert.is_nil(m.x)
  end)
end)

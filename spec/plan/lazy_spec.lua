-- gb.lazy: data with a batch, cut into windows where memory is short. The shapes and promises of a lazy tensor library with a
-- batch, as far as they concern this surface, and what it must keep: one gradient, whatever the windows.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function shape_is(want, x)
  assert.same(want, x.shape)
  assert.equal(#want, x.ndim)
end
local function random(shape)
  local args <const> = table.move(shape, 1, #shape, 1, {})
  args[#args + 1] = {seed = 4}
  return gb.rand(table.unpack(args)):eval()
end
local function lazy_of(shape) return gb.lazy(random(shape)) end
local function leaf(...) return gb.tensor(random{...}:totable()) end   -- data that are read, not computed

describe("gb.lazy", function()
  local a <const>, b <const> = leaf(9, 3), leaf(9)

  it("gives back the handles it was given, numbers as they are", function()
    local x <const>, two <const>, y <const> = gb.lazy(a, 2, b)
    assert.is_true(rawequal(a, x) and rawequal(b, y))
    assert.equal(2, two)
    assert.equal(1, select("#", gb.lazy(a)))
    assert.equal(2.5, gb.lazy(2.5))
    assert.is_true(rawequal(gb.lazy(gb.lazy(a)), a))
    assert.is_true(rawequal(gb.lazy(a, {batch = -2}), a))
    near(a, gb.lazy(a, {batch = 1}), 0)
  end)

  it("evaluates what is computed, without its history", function()
    local z <const> = gb.lazy(a * 2 + 1)
    near(a * 2 + 1, z, 0)
    local p <const> = gb.plan(z:sum())
    assert.equal(1, p.steps)
  end)

  it("takes placeholders and gradient leaves, not what depends on one", function()
    local e <const> = gb.empty(9, 3)
    assert.is_true(rawequal(e, gb.lazy(e)))
    local g <const> = a:requires_grad()
    assert.is_true(rawequal(g, gb.lazy(g)))
    raises("option", "depends on a parameter", gb.lazy, g * 2)
    raises("option", "depends on a parameter", gb.lazy, a * gb.param(1.0))
    raises("option", "has no value", gb.lazy, e * 2)
  end)

  it("says what is wrong", function()
    raises("index", "'batch' = 3 is not an axis of 9x3", gb.lazy, a, {batch = 3})
    raises("index", "'batch' = 0 is not an axis of 9x3", gb.lazy, a, {batch = 0})
    raises("index", "'batch' = -3 is not an axis of 9x3", gb.lazy, a, {batch = -3})
    raises("index", "'batch' = 2 is not an axis of 9", gb.lazy, a, b, {batch = 2})
    raises("index", "'batch' = 1 is not an axis of ()", gb.lazy, gb.tensor(3))
    raises("shape", "one batch expected along axis 1, got 9x3", gb.lazy, a, gb.ones(8))
    raises("option", "unknown option 'bacth', did you mean 'batch'", gb.lazy, a, {bacth = 1})
    raises("option", "must be an integer", gb.lazy, a, {batch = 1.5})
    assert.has_error(function() gb.lazy() end)
    assert.has_error(function() gb.lazy{batch = 1} end)
    assert.has_error(function() gb.lazy(a, "b") end)
  end)

  it("names no axis where it fails", function()
    local x <const> = leaf(100, 30)
    local function total()
      collectgarbage()
      collectgarbage()                                    -- what was observed before is gone
      return (x:sin():cumsum(2) * 0.5):sum():item()
    end
    local before <const> = total()
    assert.is_false((pcall(gb.lazy, x, gb.ones(7))))
    assert.equal(before, total())
    gb.lazy(x)
    near(before, total(), 1e-12)
    assert.is_true(before ~= total(), "sums over a batch run in its grains, other sums do not")
  end)
end)

describe("a lazy value", function()
  it("broadcasts", function()
    shape_is({2, 4, 5}, lazy_of{2, 1, 5} * lazy_of{2, 4, 1})
    shape_is({2, 4, 5}, lazy_of{2, 4, 5} - gb.tensor(2))
    shape_is({2, 4, 5}, 2 / lazy_of{2, 4, 5})
  end)

  it("multiplies", function()
    for _, c in ipairs{
      {{8}, {8}, {}}, {{8, 3}, {3}, {8}}, {{8}, {8, 3}, {3}}, {{4, 5}, {5, 3}, {4, 3}}, {{9, 4, 5}, {1, 5, 3}, {9, 4, 3}},
      {{9, 7, 4, 5}, {1, 5, 3}, {9, 7, 4, 3}},
    } do shape_is(c[3], lazy_of(c[1]):matmul(lazy_of(c[2]))) end
  end)

  it("reduces", function()
    shape_is({1, 3, 4, 5}, lazy_of{1, 2, 3, 4, 5}:sum(2))
    shape_is({1, 2, 5}, lazy_of{1, 2, 3, 4, 5}:sum{3, 4})
    shape_is({5, 2, 1, 1}, lazy_of{5, 2, 3, 4}:sum({3, 4}, {keepdim = true}))
    shape_is({}, lazy_of{5, 2, 3, 4}:sum())
  end)

  it("turns and joins", function()
    shape_is({3, 5, 4}, lazy_of{3, 4, 5}:permute{1, 3, 2})
    shape_is({5, 3, 5}, gb.cat({lazy_of{2, 3, 5}, lazy_of{3, 3, 5}}, 1))
    shape_is({2, 7, 5}, gb.cat({lazy_of{2, 3, 5}, lazy_of{2, 4, 5}}, 2))
  end)

  it("passes a layer and its loss", function()
    local w <const>, bias <const> = gb.rand(17, 13, {seed = 1}), gb.rand(17, {seed = 2})
    shape_is({7, 11, 17}, lazy_of{7, 11, 13}:matmul(w:t()) + bias:reshape(1, 1, 17))
    local e <const> = (lazy_of{2, 4, 5} - lazy_of{2, 4, 5} * 2) ^ 2
    shape_is({2, 4, 5}, e)
    shape_is({}, e:mean())
    shape_is({}, e:sum())
  end)

  it("has the values of each function over its domain", function()
    local inf <const> = math.huge
    for name, f in pairs{
      abs = math.abs, exp = math.exp, sin = math.sin, cos = math.cos, atan = math.atan, floor = math.floor, ceil = math.ceil,
      tanh = function(v) return (math.exp(v) - math.exp(-v)) / (math.exp(v) + math.exp(-v)) end,
      sigmoid = function(v) return 1 / (1 + math.exp(-v)) end,
    } do
      for _, v in ipairs{-20.0, -1.5, -1e-3, 0.0, 0.5, 1.0, 20.0} do
        near(f(v), gb.lazy(gb.tensor{v})[name](gb.lazy(gb.tensor{v}))[1], 1e-14, name)
      end
    end
    for name, f in pairs{log = math.log, sqrt = math.sqrt, asin = math.asin, acos = math.acos} do
      for _, v in ipairs{1e-300, 0.25, 1.0} do near(f(v), gb.lazy(gb.tensor{v})[name](gb.lazy(gb.tensor{v}))[1], 1e-14, name) end
    end
    local edge <const> = gb.lazy(gb.tensor{-inf, inf})
    assert.same({-inf, inf}, edge:floor():totable())
    assert.same({0.0, inf}, edge:exp():totable())
    assert.same({inf, -inf}, (-edge):totable())
    assert.same({-inf, 0.0}, gb.lazy(gb.tensor{0.0, 1.0}):log():totable())
  end)
end)

describe("memory of lazy values", function()
  it("counts a shared value once", function()
    local la <const>, lb <const> = gb.lazy(gb.rand(4, 5, 6, {seed = 1, dtype = "f32"}):eval(),
      gb.rand(4, 5, 1, {seed = 2, dtype = "f32"}):eval())
    local lc <const> = la + lb
    local le <const> = lc * 1.5
    local p <const> = gb.plan{lc, le, lc + le}
    assert.equal(3 * 120 * 4, p.outputs)
    assert.equal(120 * 4, gb.plan(lc).outputs)
    assert.equal(120 * 4, gb.plan{lc, lc}.outputs)
  end)

  it("is what was said", function()
    local x <const> = gb.lazy(gb.rand(200, 10, {seed = 1}):eval())
    local function make() return gb.plan((x:sin():cumsum(2):matmul(gb.ones(10, 7)):cumsum(2)):sum(1), {budget = "1 GiB"}) end
    local p <const> = make()
    p:run()
    assert.equal(p.peak, p:stats().measured)
  end)

  it("adds a chain of sixteen doublings once each, and observes once", function()
    local z = gb.lazy(gb.rand(64, {seed = 1}):eval())
    local x <const> = z
    for _ = 1, 16 do z = z + z end
    near(x * 65536, z, 0)
    z:eval()
    local fresh = x + 0.5
    for _ = 1, 16 do fresh = fresh + fresh end
    fresh:eval()
    local run <const> = core.last_run()
    assert.is_true(run.folds + run.opaques <= 16 and run.folds + run.opaques >= 1)
    fresh:eval()
    local again <const> = gb.plan(fresh)
    again:run()
    assert.equal(0, again:stats().folds + again:stats().opaques)
  end)
end)

-- A network over a batch: its loss, and the gradients by its weights.
local function data(n)
  return gb.rand(n, 6, {seed = 1}):eval(), gb.randn(n, {seed = 2}):eval(), gb.rand(n, {seed = 3}):eval()
end
local weights <const> = {gb.randn(6, 512, {seed = 4}):eval(), gb.randn(512, {seed = 5}):eval(), gb.randn(512, {seed = 6}):eval()}
local function network(x, w) return (x:matmul(w[1]) + w[2]:unsqueeze(1)):tanh():matmul(w[3]) end

local losses <const> = {
  mean = function(e) return (e * e):mean() end,
  sum = function(e) return (e * e):sum() end,
  weighted = function(e, w) return (e * e * w):sum() / w:sum() end,
}

-- The loss and its gradients, as new nodes: nothing of them exists.
local function results(x, y, w, loss)
  local ws <const> = {}
  for i, v in ipairs(weights) do ws[i] = v:requires_grad() end
  local value <const> = loss(network(x, ws) - y, w)
  return {value, table.unpack(gb.grad(value, ws))}
end

local function run(list, budget)
  local p <const> = gb.plan(list, {budget = budget})
  p:run()
  assert.equal(p.peak, p:stats().measured)
  assert.is_true(p.peak <= budget)
  return p:stats().windows
end

-- Windows in which the loss ran, for budgets from the smallest that works to one that is ample.
local function run_all(n, loss, budgets)
  local x <const>, y <const>, w <const> = gb.lazy(data(n))
  local function make() return results(x, y, w, loss) end
  local full <const> = make()
  run(full, 1 << 30)
  local plan <const> = gb.plan(make(), {budget = 1 << 30})
  local seen <const> = {}
  for i = 0, budgets do
    local part <const> = make()
    local windows <const> = run(part, plan.minimum + (plan.peak - plan.minimum) * i // budgets)
    seen[windows] = true
    for k in ipairs(full) do
      assert.is_true(part[k]:equal(full[k]), ("result %d of batch %d in %d windows"):format(k, n, windows))
    end
  end
  raises("refused", "", gb.plan, make(), {budget = plan.minimum - 1})
  return seen, full, {x, y, w}
end

local function reference(full, d, loss)
  local plain <const> = {}
  for i, v in ipairs(d) do plain[i] = (v + 0):eval():detach() end
  for k, v in ipairs(results(plain[1], plain[2], plain[3], loss)) do near(v, full[k], 1e-10, "result " .. k) end
end

describe("a loss over a batch", function()
  for _, n in ipairs{9, 20, 100, 1000} do
    for name, loss in pairs(losses) do
      it(("of %d, %s: the gradient in windows is the full gradient"):format(n, name), function()
        local seen <const>, full <const>, d <const> = run_all(n, loss, 25)
        local most = 0
        for windows in pairs(seen) do most = math.max(most, windows) end
        assert.is_true(most > 1, "never ran in windows")
        assert.is_true(seen[1], "ample memory runs in one")
        reference(full, d, loss)
      end)
    end
  end

  it("4+4+1: of nine samples, in windows of four, four and one", function()
    local seen <const> = run_all(9, losses.mean, 120)
    assert.is_true(seen[3], "a budget that takes four samples but not nine")
    local x <const>, y <const>, w <const> = gb.lazy(data(9))
    local whole <const> = gb.plan(results(x, y, w, losses.mean), {budget = 1 << 30})
    local found
    for budget = whole.peak, whole.minimum, -64 do
      local p <const> = gb.plan(results(x, y, w, losses.mean), {budget = budget})
      found = p:explain():match "in (%d+ windows of %d+ of %d+)"
      if found then break end
    end
    assert.equal("3 windows of 4 of 9", found)
  end)

  it("refuses with the bytes of the smallest windows", function()
    local x <const>, y <const>, w <const> = gb.lazy(data(100))
    local err <const> = raises("refused", "", gb.plan, results(x, y, w, losses.mean), {budget = 100})
    assert.equal(100, err.have)
    assert.is_true(err.minimum > 100 and err.need >= err.minimum)
    run(results(x, y, w, losses.mean), err.minimum)
  end)
end)

-- Runs make() whole and in the least memory: the same bits. Windows of the latter.
local function least(make)
  local function whole()
    local y <const> = make()
    local p <const> = gb.plan(y, {budget = 1 << 30})
    p:run()
    return y:totable(), p.minimum
  end
  local values <const>, minimum <const> = whole()
  core.drop_caches()
  collectgarbage()
  collectgarbage()                       -- the nodes of before are gone: nothing exists
  local part <const> = make()
  local windows <const> = run({part}, minimum)
  near(values, part, 0)
  return windows
end

describe("a batch", function()
  local x <const> = gb.lazy(gb.rand(512, 8, {seed = 1}):eval())
  local w <const>, bias <const> = gb.rand(8, 40, {seed = 2}):eval(), gb.rand(1, 40, {seed = 3}):eval()
  local function fresh() return x:sin() + 1e-3 end
  local function stored(y) return y:cumsum(2) end

  it("survives a bias, a product with weights, a reshape that keeps it and turned axes", function()
    for name, f in pairs{
      bias = function() return stored(stored(fresh()):matmul(w) + bias):sum() end,
      product = function() return stored(stored(fresh()):matmul(w)):sum(1) end,
      reshape = function() return stored(fresh()):reshape(512, 2, 4):cumsum(2):sum(1) end,
      turned = function() return stored(fresh()):t():cumsum(1):sum(2) end,
      slice = function() return stored(fresh()):slice(2, 3, 6):cumsum(2):sum(1) end,
      joined = function() return gb.cat({stored(fresh()), stored(fresh() * 2)}, 2):cumsum(2):sum(1) end,
    } do assert.is_true(least(f) > 1, name) end
  end)

  it("is cut for predictions as for gradients", function()
    assert.is_true(least(function() return stored((stored(fresh()):matmul(w) + bias):tanh()):sum(2) end) > 1)
  end)

  it("is not cut by what mixes its samples", function()
    local function values(v) return v:totable() end
    local s <const> = stored(x:sin())
    local e <const> = values(s)
    local total, top = {}, {}
    for k = 1, 8 do
      total[k], top[k] = 0.0, 0.0
      for i = 1, 512 do total[k], top[k] = total[k] + e[i][k], top[k] + math.exp(e[i][k]) end
    end
    local soft <const>, share <const>, run_of <const> = {}, {}, {}
    for i = 1, 512 do
      soft[i], share[i], run_of[i] = {}, {}, {}
      for k = 1, 8 do
        soft[i][k], share[i][k] = math.exp(e[i][k]) / top[k], e[i][k] / total[k]
        run_of[i][k] = e[i][k] + (i > 1 and run_of[i - 1][k] or 0)
      end
    end
    for name, c in pairs{
      softmax = {soft, function(y) return y:softmax(1) end},
      share = {share, function(y) return y / y:sum(1, {keepdim = true}) end},
      cumsum = {run_of, function(y) return y:cumsum(1) end},
    } do
      local y <const> = c[2](stored(x:sin()) * 1)
      local p <const> = gb.plan(y)
      run({y}, p.minimum)
      near(c[1], y, 1e-12, name)
    end
  end)

  it("gives slices what the slice of the data gives", function()
    local function net(v) return ((v:matmul(w) + bias):tanh() * 2):sum(2) end
    near(net(x):slice(1, 3, 6), net(x:slice(1, 3, 6)), 1e-14)
    near(x:slice(1, 3, 6), gb.lazy(x):slice(1, 3, 6), 0)
  end)

  it("runs in one window where it fits", function()
    local y <const> = stored(fresh()):sum(1)
    local p <const> = gb.plan(y)
    p:run()
    assert.equal(1, p:stats().windows)
  end)

  it("takes data alone, and says how values become data", function()
    local p <const> = gb.param(2)
    raises("option", "depends on a parameter or a gradient leaf: x:detach() is its values as data", gb.lazy, x * p)
    assert.is_true(gb.lazy((x * p):detach()):equal(x * 2))
  end)

  it("takes other data in its place", function()
    local e <const> = gb.lazy(gb.empty(512, 8))
    local y <const> = stored(stored(e:sin()):matmul(w)):sum(1)
    local whole <const> = gb.plan(y)
    local tight <const> = gb.plan(y, {budget = whole.minimum})
    for seed = 5, 7 do
      local z <const> = gb.rand(512, 8, {seed = seed}):eval()
      assert.is_true(tight:run{[e] = z}:equal(whole:run{[e] = z}))
      assert.is_true(tight:stats().windows > 1)
    end
  end)
end)

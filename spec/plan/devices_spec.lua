local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local raises <const> = (require "spec.support").raises
local K <const> = gb.kernels
-- Where the session's device is one that a library brings, the CPU of its home is one more, the last of the list.
local homes <const> = (os.getenv "GIBBOUS_DEVICE" or "") == "" and 0 or 1

describe("simulated devices", function()
  local n <const> = 3000
  local before, x, y, v
  setup(function()
    before = gb.config{devices = 4}
    x, y, v = gb.randn(n, 3, {seed = 1}):eval(), gb.randn(400, 3, {seed = 2}):eval(), gb.randn(400, {seed = 3}):eval()
  end)
  teardown(function()
    gb.config(before)
    x, y, v = nil, nil, nil                            -- the specs after this one start with as much memory as before
    collectgarbage()
  end)

  --- A new expression of the same value each time: what was observed is not computed again.
  local function product() return K.rbf{lengthscale = 1.3}(x, y):matmul(v) end

  --- The plan's values without observing the expression: by binding a leaf to itself.
  local function run(plan, leaf) return plan:run{[leaf] = leaf} end

  local function check(plan, budgets)
    local next_row, measured = 1, plan:stats().devices
    for i, d in ipairs(plan.devices) do
      assert.equal(d.peak, measured[d.name])
      assert.is_true(d.peak <= d.budget)
      if budgets then assert.equal(budgets[i], d.budget) end
      if d.range then
        assert.equal(next_row, d.range[1])
        next_row = d.range[2] + 1
      end
    end
    return next_row - 1
  end

  it("are listed with their limits", function()
    local all <const> = gb.devices()
    assert.equal(4 + homes, #all)
    assert.same({"cpu", "cpu:2", "cpu:3", "cpu:4"}, {all[1].name, all[2].name, all[3].name, all[4].name})
    assert.equal(4, gb.config().devices)
    local old <const> = gb.memory.limit("1 MiB", {device = "cpu:3"})
    assert.equal(all[3].limit, old)
    assert.equal(1 << 20, gb.devices()[3].limit)
    assert.equal(all[1].limit, gb.memory.limit(nil, {device = "cpu:1"}))
    assert.equal(1 << 20, gb.memory.limit(old, {device = "cpu:3"}))
    local report <const> = gb.memory.report()
    assert.same({"cpu:2", "cpu:3", "cpu:4"}, {report.devices[1].name, report.devices[2].name, report.devices[3].name})
    assert.equal(0, report.devices[2].used)
    assert.matches("cpu:4  used 0 B", tostring(report))
  end)

  it("can be asked for by the environment", function()
    local program <const> = "for _, d in ipairs(require('gibbous').devices()) do io.write(d.name, ' ') end"
    local out <const> = process.run({"-e", program}, {env = "GIBBOUS_DEVICES=3"})
    assert.equal("cpu cpu:2 cpu:3 " .. ("cpu "):rep(homes), out)
  end)

  it("share a plan, and give the bits of one", function()
    local one <const> = run(gb.plan(product()), v)
    for _, names in ipairs{{"cpu", "cpu:2"}, {"cpu", "cpu:2", "cpu:3", "cpu:4"}, {"cpu:3"}, {"cpu:4", "cpu:2"}} do
      local plan <const> = gb.plan(product(), {device = names})
      assert.is_true(run(plan, v):equal(one))
      assert.equal(n, check(plan))
      assert.equal("cpu", plan.devices[1].name)
      assert.equal(plan.peak, plan.devices[1].peak)
      for _, d in ipairs(gb.devices()) do if d.name ~= "cpu" then assert.equal(0, d.used) end end
    end
  end)

  it("share gradients of a batch", function()
    local data <const>, target <const> = gb.lazy(gb.randn(1000, 5, {seed = 4}):eval(), gb.randn(1000, 1, {seed = 5}):eval(),
      {batch = 1})
    local w1 <const>, w2 <const> = gb.randn(5, 8, {seed = 6}):requires_grad(), gb.randn(8, 1, {seed = 7}):requires_grad()
    local loss <const> = ((data:matmul(w1):tanh():matmul(w2) - target)^2):mean()
    local outs <const> = {loss, table.unpack(gb.grad(loss, {w1, w2}))}
    local one <const> = run(gb.plan(outs), target)
    local plan <const> = gb.plan(outs, {device = {"cpu", "cpu:2", "cpu:3"}})
    for i, value in ipairs(run(plan, target)) do assert.is_true(value:equal(one[i]), "result " .. i) end
    assert.equal(1000, check(plan))
    local passed = 0
    for _, c in ipairs(plan.devices[3].copies) do
      assert.is_true(c.bytes > 0 and c.times >= 1)
      if c.from == "cpu:2" then passed = passed + 1 end
    end
    assert.is_true(passed > 0, "totals go from device to device")
  end)

  it("take what their budgets allow", function()
    local full <const> = gb.plan(product(), {device = {"cpu", "cpu:2"}})
    local half <const> = full.devices[2].peak              -- scratch of each thread, and windows of rows
    local least <const> = raises("refused", "", gb.plan, product(), {device = "cpu:2", budget = 1000}).need
    local less <const> = (least + half) // 2
    local uneven <const> = gb.plan(product(), {device = {"cpu", "cpu:2"}, budget = {"64 MiB", less}})
    assert.is_true(uneven.devices[2].range[2] - uneven.devices[2].range[1] + 1 < n // 2)
    assert.is_true(run(uneven, v):equal(run(gb.plan(product()), v)))
    check(uneven, {64 << 20, less})
    local windows <const> = gb.plan(product(), {device = {"cpu:2", "cpu:3"},
      budget = {(3 * least + half) // 4, (4 * least + half) // 5}})
    run(windows, v)
    assert.equal(n, check(windows))
    assert.is_true(windows:stats().windows > 2)
    local alone <const> = gb.plan(product(), {device = {"cpu", "cpu:2"}, budget = {"64 MiB", 100}})
    assert.is_nil(alone.devices[2].range)
    assert.equal(0, alone.devices[2].peak)
    assert.same({1, n}, alone.devices[1].range)
  end)

  it("refuse by name", function()
    local err <const> = raises("refused", "device cpu:3 needs", gb.plan, product(), {device = "cpu:3", budget = 1000})
    assert.is_true(err.need > 1000 and err.have == 1000)
    assert.equal(err.need, gb.plan(product(), {device = "cpu:3", budget = {err.need}}).devices[2].peak)
    raises("refused", "device cpu needs", gb.plan, product(), {device = {"cpu", "cpu:2"}, budget = {1000, "1 GiB"}})
    local old <const> = gb.memory.limit(1000, {device = "cpu:2"})
    raises("refused", "device cpu:2 needs", gb.plan, product(), {device = "cpu:2"})
    gb.memory.limit(old, {device = "cpu:2"})
    raises("refused", "no axis can be shared", gb.plan, (gb.tensor{3, 1, 2}:sort(1)), {device = {"cpu", "cpu:2"}})
  end)

  it("name mistakes", function()
    raises("device", "there is no device 'cpu:9' (cpu to cpu:4 expected)", gb.plan, product(), {device = {"cpu", "cpu:9"}})
    raises("device", "there is no device 'gpu'", gb.zeros, 2, {device = "gpu"})
    assert.equal("cpu:2", gb.zeros(2, {device = "cpu:2"}).device)
    raises("device", "cpu:2 is listed twice", gb.plan, product(), {device = {"cpu:2", "cpu:2"}})
    raises("option", "a name or a list of names", gb.plan, product(), {device = {1}})
    raises("option", "lists 1 to 16 names", gb.plan, product(), {device = {}})
    raises("option", "one size a device, got 1 for 2", gb.plan, product(), {device = {"cpu", "cpu:2"}, budget = {1}})
    raises("option", "above 0", gb.plan, product(), {device = {"cpu", "cpu:2"}, budget = {0, 1}})
    raises("option", "1..16", gb.config, {devices = 17})
    raises("option", "1..16", gb.config, {devices = 0})
  end)

  it("are explained", function()
    local plan <const> = gb.plan(product(), {device = {"cpu", "cpu:2"}})
    assert.matches("cpu:2 +1501 to 3000 of 3000 in 1 window", plan:explain())
    assert.matches("devices share an axis, one after the other", plan:explain())
    assert.matches('"devices": %[', plan:json())
    local one <const> = gb.plan(product())
    assert.equal(1, #one.devices)
    assert.equal(one.peak, one.devices[1].peak)
    assert.is_nil(one:json():find('"devices"', 1, true))
  end)

  it("go away with fewer of them, and come back", function()
    local plan <const> = gb.plan(product(), {device = {"cpu", "cpu:4"}})
    local was <const> = gb.config{devices = 2}
    raises("device", "cpu to cpu:2 expected", gb.plan, product(), {device = "cpu:4"})
    assert.is_true(run(plan, v):equal(run(gb.plan(product()), v)))
    gb.config(was)
    assert.equal(4 + homes, #gb.devices())
  end)

  it("leave nothing where an allocation fails", function()
    local plan <const> = gb.plan(product(), {device = {"cpu", "cpu:2"}})
    collectgarbage()
    local used <const> = core.live()
    core.fail_after(1)
    raises("oom", "", plan.run, plan)
    core.fail_after(-1)
    collectgarbage()
    assert.equal(used, (core.live()))
    assert.equal(0, gb.devices()[2].used)
  end)
end)

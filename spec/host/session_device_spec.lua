--- gb.config{device}: the device of a session changes in its middle. The far device of the tests is the other one.
local process <const> = require "spec.process"

local folder <const>, has_far <const> = process.tests, process.has_far

-- What both devices compute, with the same bits; 'told' gets each number.
local common <const> = [[
  local gb = require "gibbous"
  local function told(t) for _, v in ipairs(t:reshape(-1):totable()) do io.write(("%a "):format(v)) end print() end
  local function fitted(x, y)
    local m = gb.gp.exact{kernel = gb.kernels.matern52{ard = true} + gb.kernels.linear{}, noise = 0.1}
    m:fit(x, y, {steps = 6})
    return m
  end
  local x = gb.rand(40, 2, {seed = 1}):eval()
  local y = (6 * x):sin():sum(2):eval()
  local t = gb.rand(7, 2, {seed = 2}):eval()
]]

local function run(script)
  local out <const>, errors <const>, rc <const> = process.run({"-e", common .. script},
    {env = "GIBBOUS_DEVICE=cpu GIBBOUS_RATES=fixed GIBBOUS_FAR_NAME=far GIBBOUS_DEVICE_PATH=" .. folder})
  assert.equal("", errors)
  assert.equal(0, rc)
  return out
end

local function lines(text)
  local out <const> = {}
  for line in text:gmatch "[^\n]+" do out[#out + 1] = line end
  return out
end

describe("gb.config{device}", function()
  if not has_far() then return it("needs the far device", function() pending "the far device was not built" end) end

  it("says where makers put tensors, gives the previous device, and leaves tensors where they are", function()
    assert.equal("cpu\tfar\tfar\tfar\tfar\tcpu\tcpu\nfar\tcpu\tcpu\nfar\ttrue\ttrue\tcpu\ttrue\n", run [[
      print(gb.config{device = "far"}.device, gb.config().device, gb.zeros(2).device, gb.tensor{1, 2}.device,
        gb.randn(3):eval().device, gb.ones(2, {device = "cpu"}).device, x.device)
      print(gb.config{device = "cpu"}.device, gb.config().device, gb.eye(2).device)
      local there, lazy = x:to "far":eval(), (x:to "far" + 1):to "cpu" * 3
      gb.config{device = "far"}
      local doubled = there * 2
      print(doubled.device, doubled:to "cpu":equal(x * 2), (x + 1):to "far":equal(there + 1), lazy.device,
        lazy:equal((x + 1) * 3))]])
  end)

  it("moves models, solvers, functions and gradients, with the bits of a session that began there", function()
    local body <const> = [[
      local m = fitted(x, y)
      local p = m:predict(t)
      assert(p.mean.device == gb.config().device)
      told(p.mean) told(p.y_var) told(m:condition(t, p.mean:eval()):predict(t).mean)
      local k = gb.kernels.rbf{}(x) + 0.1 * gb.eye(40)
      told(gb.solvers.cg{}:solve(k, y)) told(gb.linalg.solve(k, y))
      told(gb.func{name = "half", shape = "same", bytes = 1e6, forward = function(v) return v * 0.5 end}(y))
      local l = gb.param(0.7, {min = 0})
      told(gb.grad(gb.kernels.rbf{lengthscale = l}(x, x):sum(), l.raw))]]
    local near <const>, far <const> = lines(run(body)),
      lines(run("gb.config{device = 'far'} x, y, t = x:to 'far', y:to 'far', t:to 'far'\n" .. body))
    assert.same(near, far)
    assert.equal(7, #near)
  end)

  it("keeps a model that was fitted elsewhere, which says where its data lie", function()
    local out <const> = lines(run [[
      local m = fitted(x, y)
      local before = m:predict(t).mean:eval()
      gb.config{device = "far"}
      print(select(2, pcall(m.predict, m, t:to "far")))
      print(select(2, pcall(m.predict, m, t)))
      local there = fitted(x:to "far", y:to "far"):predict(t:to "far").mean
      print(there.device, there:to "cpu":equal(before))
      gb.config{device = "cpu"}
      print(m:predict(t).mean:equal(before))]])
    local text <const> = "predict: the model's data lie on cpu, and models work on far: gb.config{device = 'cpu'} goes back"
    assert.matches(text, out[1], 1, true)
    assert.matches("predict: the model's data lie on cpu", out[2], 1, true)
    assert.equal("far\ttrue", out[3])
    assert.equal("true", out[4])
  end)

  it("refuses all that an older model computes by one text, and takes new data", function()
    local out <const> = lines(run [[
      local Y, mask = gb.stack({y, 2 * y}, 2):eval(), {missing = "mask", steps = 1}
      local gaps = gb.where(Y:gt(1.8), 0 / 0, Y):eval()
      local rbf = gb.kernels.rbf
      local models = {
        {gb.gp.exact{kernel = rbf{}, noise = 0.1}, y}, {gb.gp.exact{kernel = rbf{}, noise = 0.1, solver = "cg"}, y},
        {gb.gp.multitask{kernel = rbf{}, tasks = 2}, Y}, {gb.gp.multitask{kernel = rbf{}, tasks = 2}, gaps},
      }
      for _, r in ipairs(models) do
        r[1]:fit(x, r[2], mask)
        r.p, r.draw, r.later = r[1]:predict(t), r[1]:draw(1), r[1]:copy():predict(t)
        r.lazy = r.later.mean
        assert(r.p.mean:eval().device == "cpu")
      end
      local f = models[1][1]:condition(t, gb.randn(3, 7))
      gb.config{device = "far"}
      local near, far = {t, Y:slice(1, 1, 7)}, {t:to "far", Y:slice(1, 1, 7):to "far"}
      local function refused(what, f, ...)
        local ok, err = pcall(f, ...)
        local text = what .. ": the model's data lie on cpu, and models work on far: gb.config{device = 'cpu'} goes back, or "
          .. "m:fit(x, y) with data that lie on far"
        if ok or err.code ~= "device" or not tostring(err):find(text, 1, true) then print(what, ok, err) end
      end
      for _, r in ipairs(models) do
        local m, p = r[1], r.p
        refused("fit", m.fit, m, {steps = 1})
        refused("fit", m.fit, m:copy(), {steps = 1})
        refused("plan", m.plan, m)
        refused("leave_one_out", m.leave_one_out, m)
        refused("log_marginal_likelihood", m.log_marginal_likelihood, m)
        refused("draw", m.draw, m, 1)
        for _, d in ipairs{near, far} do
          local v = r[2].ndim == 1 and d[2]:select(2, 1) or d[2]
          refused("predict", m.predict, m, d[1])
          refused("score", m.score, m, d[1], v)
          refused("condition", m.condition, m, d[1], v)
          refused("draw", r.draw, d[1])
        end
        refused("sample", p.sample, p, 1)
        refused("interval", p.interval, p, 0.9)
        for _, key in ipairs{"f_var", "y_var", "f_cov"} do refused(key, function() return p[key] end) end
        refused("f_var", function() return r.later.f_var end)
        refused("mean", function() return r.lazy:eval() end)
        assert(p.mean.device == "cpu" and p.mean:isfinite():all())
        local other = m:copy()
        other:plan(x:to "far", r[2]:to "far", {missing = "mask"})
        other:fit(x:to "far", r[2]:to "far", mask)
        local q = other:predict(far[1])
        print(q.y_var.device, q:interval(0.9).device, other:draw(1)(far[1]).device, other:leave_one_out().n)
      end
      refused("predict", f.predict, f, far[1])
      gb.config{device = "cpu"}
      for _, r in ipairs(models) do
        local lo = r.p:interval(0.9)
        print(lo:isfinite():all(), r.draw(t).device, r.lazy:isfinite():all(), r[1]:leave_one_out().converged)
      end]])
    local want <const> = {}
    for i = 1, 4 do
      want[i] = ("far\tfar\tfar\t%s"):format(({"40", "40", "80", out[4] and out[4]:match "%d+$" or "?"})[i])
      want[4 + i] = "true\tcpu\ttrue\ttrue"
    end
    assert.same(want, out)
  end)

  it("refuses plans and preconditioners from before, and not those from after it", function()
    local out <const> = lines(run [[
      local function product() return gb.kernels.rbf{}(x):matmul(y) end
      local plan = gb.plan(product())
      local k = gb.kernels.rbf{}(x)
      local core = require "gibbous.core"
      local precond = core.jacobi(k)
      gb.config{device = "far"}
      print(select(2, pcall(plan.run, plan)))
      print(select(2, pcall(plan.explain, plan)))
      print(select(2, pcall(core.precond_apply, precond, y:to "far")))
      plan:close()
      gb.config{device = "cpu"}
      local again = gb.plan(product())
      print(again:run():equal(product()))]])
    assert.matches("plan: it was made for cpu, and the session's device is far now: plan again", out[1], 1, true)
    assert.matches("plan: it was made for cpu", out[2], 1, true)
    assert.matches("this preconditioner lies on cpu, and solvers work on far: make it there", out[3], 1, true)
    assert.equal("true", out[4])
  end)

  it("is refused where values would lie on two devices at once, and changes nothing then", function()
    local out <const> = lines(run [[
      local function try(f) print((select(2, pcall(f)))) end
      local change = function(v) gb.config{device = "far"} return v end
      try(function() return gb.vmap(change)(x):eval() end)
      try(function() return gb.func{name = "f", shape = "same", bytes = 0, forward = change}(y):eval() end)
      try(function() gb.config{devices = 2} gb.config{device = "cpu:2"} end)
      try(function() gb.config{device = "farr"} end)
      try(function() gb.config{device = "far", digits = 99} end)
      print(gb.config().device, (x * 2).device)]])
    assert.matches("cannot change within gb.vmap", out[1], 1, true)
    assert.matches("cannot change within a function that an evaluation calls", out[2], 1, true)
    assert.matches("cpu:2 is simulated", out[3], 1, true)
    assert.matches("there is no device 'farr'", out[4], 1, true)
    assert.matches("option 'digits' must be in 1..17, got 99", out[5], 1, true)
    assert.matches("^cpu", out[6])
  end)

  it("gives all memory back, on both devices, however often it changes", function()
    assert.equal("true\ttrue\ttrue\n", run [[
      local function used(name) for _, d in ipairs(gb.devices()) do if d.name == name then return d.used end end end
      local function round()
        for _, name in ipairs{"far", "cpu"} do
          gb.config{device = name}
          fitted(x:to(name), y:to(name)):predict(t:to(name)).mean:eval()
        end
        collectgarbage() collectgarbage()
        gb.config{device = "far"} gb.config{device = "cpu"}
      end
      round() round()
      local near, far, graph = used "cpu", used "far", gb.memory.report().graph
      for _ = 1, 5 do round() end
      print(used "cpu" <= near, used "far" <= far, gb.memory.report().graph <= 1.1 * graph)]])
  end)
end)

-- Values on several devices of one session: x:to, what follows it, plans that promise the bytes of each device.
local core = require "gibbous.core"
local gb = require "gibbous"

local home <const> = gb.config().device
local n <const> = 120

describe("values on another device", function()
  local other, x, v
  before_each(function()
    gb.config{devices = 2}
    other = home .. ":2"
    x, v = gb.randn(n, 3, {seed = 1}):eval(), gb.randn(n, {seed = 2}):eval()
  end)

  after_each(function() -- values there are gone before others count its bytes
    x, v = nil, nil
    collectgarbage()
    collectgarbage()
  end)

  it("are computed there, and come back with the same bits", function()
    local far <const> = x:to(other)
    assert.equal(other, far.device)
    assert.equal(other, (far * 2 + 1):sum(1).device)
    assert.equal(home, x.device)
    local k <const> = gb.kernels.rbf{}
    local y <const> = k(far, far):matmul(v:to(other))
    assert.equal(other, y.device)
    assert.is_true(y:to(home):equal(k(x, x):matmul(v)))
    assert.is_true(far:to(home):equal(x))
    assert.equal("1 2 3", table.concat(gb.tensor({1, 2, 3}, {device = other}):totable(), " "):gsub("%.0", ""))
  end)

  it("are compared with their like alone, by the name of the comparison", function()
    local far <const> = x:to(other):eval()
    for _, name in ipairs{"equal", "allclose"} do
      local ok <const>, err <const> = pcall(x[name], x, far)
      assert.is_false(ok)
      assert.matches("device error: " .. name .. ": .* lies on " .. home .. ", .* on " .. other, err.message)
      assert.is_true(far[name](far, far))
      assert.is_true(gb.zeros(2, {device = other})[name](gb.zeros(2), gb.zeros(2)))
    end
  end)

  it("are chosen by makers, too", function()
    for _, y in ipairs{gb.zeros(2, {device = other}), gb.eye(3, {device = other}), gb.tensor({1, 2}, {device = other}),
      gb.range(1, 4, {device = other}), gb.randn(3, {device = other}), gb.randperm(4, {device = other}),
      gb.full({2, 2}, 7, {device = other}), gb.tensor(x, {device = other, dtype = "f32"})} do
      assert.equal(other, y.device)
      assert.equal(other, y:eval().device)
    end
    assert.equal("f32", x:to("f32").dtype)
    assert.equal(other, x:to{device = other, dtype = "f32"}.device)
  end)

  it("take numbers and scalars with them; of two tensors the script moves one", function()
    local far <const> = x:to(other)
    assert.equal(other, (far * gb.tensor(2.5) + gb.ones(3)).device)
    local ok, err = pcall(function() return x + far end)
    assert.is_false(ok)
    assert.equal("device", err.code)
    assert.is_truthy(tostring(err):find("lies on " .. home, 1, true))
    assert.is_truthy(tostring(err):find("moves_spec.lua:", 1, true))
    ok, err = pcall(function() return gb.solvers.cg{}:solve(far:matmul(far:t()) + gb.eye(n), v:to(other)) end)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find(("iterative solvers work on %s: x:to '%s' moves a tensor"):format(home, home), 1, true))
  end)

  it("have gradients at home", function()
    local w <const> = gb.tensor{1, 2, 3}:requires_grad()
    local g <const> = gb.grad((((w:to(other) * 2) ^ 2):sum()):to(home), w)
    assert.equal(home, g.device)
    assert.equal("8 16 24", table.concat(g:totable(), " "):gsub("%.0", ""))
  end)

  it("take the numbers that an expression is rewritten with along", function()
    local far <const> = x:to(other)
    local squares <const> = ((far:unsqueeze(2) - far:unsqueeze(1))^2):sum(-1)
    local here <const> = ((x:unsqueeze(2) - x:unsqueeze(1))^2):sum(-1)
    assert.is_true(((squares * -0.5):exp() + squares / 3):to(home):equal((here * -0.5):exp() + here / 3))
  end)

  it("have gradients where the variable is, also gradients that are numbers", function()
    local w <const> = gb.tensor({{1, 2}, {3, 4}}, {device = other}):requires_grad()
    local u <const> = gb.tensor({1, 2}, {device = other}):requires_grad()
    local slopes <const> = gb.grad(w:ceil():sum() + w:sum(), {w, u}, {unused = "zero"})
    for _, g in ipairs(slopes) do assert.equal(other, g.device) end
    assert.equal("1 1 0 0", table.concat(gb.cat{slopes[1][1], slopes[2]}:totable(), " "):gsub("%.0", ""))
    local tops <const> = w:max({1}, {keepdim = true}):to(home)      -- twice derived, by way of both devices
    local f <const> = core.sqdist(tops:to(other), tops:to(other)):to(home):sum()
    assert.equal(other, gb.grad(gb.grad(f, w):to(home):sum(), w, {unused = "zero"}).device)
    assert.equal("3 3", table.concat(gb.grad(u * 3, u, {cotangent = gb.ones(2)}):totable(), " "):gsub("%.0", ""))
    local ok, err = pcall(gb.grad, u * 3, u, {cotangent = gb.tensor{1, 2}})
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("the result lies on " .. other .. ", and the cotangent on " .. home, 1, true))
  end)

  it("are indexed by lists, numbers and masks", function()
    local far <const> = gb.tensor({5, 6, 7}, {device = other})
    local function text(y)
      assert.equal(other, y.device)
      return (table.concat(y:totable(), " "):gsub("%.0", ""))
    end
    assert.equal("7 5", text(far:index(1, {3, 1})))
    assert.equal("6", text(far:index(1, 2)))
    assert.equal("5 7", text(far:index(1, {true, false, true})))
    assert.equal("6 7", text(far:index(1, far:gt(5))))
    assert.equal("5 0 0", text(far:put(1, {2, 3}, 0)))
    assert.has_error(function() return far:index(1, gb.tensor{true, false, true}) end)
  end)

  it("are mapped slice by slice there", function()
    local far <const>, rows <const> = x:to(other), gb.vmap(function(p, q) return (p * q):sum() end)
    assert.equal(other, rows(far, far).device)
    assert.is_true(rows(far, far):to(home):equal(rows(x, x)))
    assert.is_true(gb.vmap(function(p) return p * 2 + v:to(other) end)(v:to(other)):to(home)
      :equal(v:unsqueeze(2) * 2 + v:unsqueeze(1)))
    local noisy <const> = gb.vmap(function(p) return p:to(other) + gb.rand(3, {seed = 5, device = other}) end)(x)
    assert.equal(other, noisy:eval().device)
    local same <const> = gb.vmap(function(p) return p + gb.rand(3, {seed = 5}) end)(x)
    assert.is_true(noisy:to(home):equal(same))
  end)

  it("come home by gb.tensor, too", function()
    local far <const> = gb.tensor({1, 2}, {device = other})
    assert.equal(home, gb.tensor(far, {device = home}).device)
    assert.equal(other, gb.tensor(far, {dtype = "f32"}).device)
  end)

  it("are planned to the byte on each device", function()
    local far <const> = x:to(other)
    local y <const> = (gb.kernels.matern32{}(far, far):matmul(v:to(other))):to(home)
    local p <const> = gb.plan(y)
    assert.equal(2, #p.devices)
    p:run()
    for _, d in ipairs(p.devices) do
      assert.is_true(d.peak > 0)
      assert.equal(d.peak, p:stats().devices[d.name])
    end
    local moved = 0
    for _, d in ipairs(p.devices) do
      for _, c in ipairs(d.copies) do moved = moved + c.bytes end
    end
    assert.equal(moved, p:stats().moved)
    assert.is_truthy(p:explain():find(home .. " to " .. other, 1, true))
  end)

  it("need room there: the refusal names the device, and its advice works", function()
    local far <const> = (x:to(other) * 3):eval()
    local before <const> = gb.memory.limit(nil, {device = other})
    local used = 0
    for _, d in ipairs(gb.devices()) do
      if d.name == other then used = d.used end
    end
    gb.memory.limit(used + 64, {device = other})
    local ok, err = pcall(function() return (far * 2):sum():item() end)
    assert.is_false(ok)
    assert.equal("refused", err.code)
    local advised <const> = math.tointeger(err.options[1]:match "gb%.memory%.limit%((%d+)")
    assert.is_truthy(tostring(err):find(other, 1, true))
    gb.memory.limit(advised, {device = other})
    local sum <const> = (far * 2):sum():item()
    gb.memory.limit(before, {device = other})
    assert.is_true(math.abs(sum - 6 * x:sum():item()) < 1e-10)
  end)

  it("are realised by what fits there, and the others say by how much they do not", function()
    local far <const> = gb.randn(600, 3, {seed = 5}):to(other):eval()
    local function nearest() return (gb.kernels.rbf{}(far, far):topk(3, 2)) end
    local ample <const> = gb.plan(nearest()).devices[2].peak
    local want <const> = nearest():eval():to(home):eval()
    collectgarbage()
    collectgarbage()
    local used = 0
    for _, d in ipairs(gb.devices()) do
      if d.name == other then used = d.used end
    end
    local before <const> = gb.memory.limit(used + ample // 2, {device = other})
    for _, prefer in ipairs{"time", "memory"} do
      local p <const> = gb.plan(nearest(), {prefer = prefer})
      local text <const> = p:explain()
      local got <const> = p:run()
      assert.is_true(p:stats().windows > 1)
      assert.equal(p.devices[2].peak, p:stats().devices[other])
      assert.is_true(got:to(home):equal(want))
      assert.matches("no  +whole .* over by %S+ %a+ on " .. other, text)
      assert.is_nil(text:find("also   whole", 1, true))
      assert.is_nil(text:match "sweep[^\n]*whole")
    end
    gb.memory.limit(used + 1000, {device = other})
    local ok, err = pcall(gb.plan, nearest(), {prefer = "memory"})
    gb.memory.limit(before, {device = other})
    assert.is_false(ok)
    assert.equal("refused", err.code)
    assert.is_truthy(tostring(err):find("on " .. other, 1, true))
  end)

  it("are what plans bind to leaves that lie there, and a plan's text tells of each device", function()
    local far <const> = x:to(other):eval()
    local p <const> = gb.plan((far * 2):sum(1))
    local again <const> = gb.randn(n, 3, {seed = 7}):eval()
    assert.is_true(p:run{[far] = again:to(other):eval()}:to(home):equal((again * 2):sum(1)))
    local ok, err = pcall(p.run, p, {[far] = again})
    assert.is_false(ok)
    assert.equal("device", err.code)
    assert.is_truthy(tostring(err):find(("a leaf on %s is planned here, got a value on %s"):format(other, home), 1, true))
    assert.matches("peak %S+ %a+ on " .. home .. ", %S+ %a+ on " .. other, tostring(p))
    ok, err = pcall(gb.plan, (far * 2):sum(1), {device = other})
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("leave it out; gb.memory.limit(size, {device = name})", 1, true))
  end)

  it("go through networks, losses and splits", function()
    local far <const> = x:to(other):eval()
    local net <const> = gb.nn.sequential{gb.nn.linear(3, 4, {seed = 1}), gb.nn.layer_norm(4), gb.nn.linear(4, 2, {seed = 2})}
    local out <const> = net(far)
    assert.equal(other, out.device)
    assert.is_true(out:to(home):allclose(net(x), {rtol = 1e-12}))
    local label <const> = gb.tensor({1}, {dtype = "i64"}):expand(n):eval()
    local loss <const> = gb.nn.cross_entropy(out, label:to(other))
    local here <const> = gb.nn.cross_entropy(net(x), label)
    local w <const> = gb.params(net)[1]
    assert.is_true(gb.grad(loss, w.raw):allclose(gb.grad(here, w.raw), {rtol = 1e-10}))
    local ok <const>, err <const> = pcall(gb.nn.cross_entropy, out, label)
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find(("the labels on %s: labels:to '%s' moves them"):format(home, other), 1, true))
    local train <const>, test <const> = gb.data.split(far, v, {test = 20, seed = 1})
    local same <const> = gb.data.split(x, v, {test = 20, seed = 1})
    assert.equal(other, train.x.device)
    assert.equal(home, test.y.device)
    assert.is_true(train.x:to(home):equal(same.x) and train.y:equal(same.y))
  end)

  it("are named where no such device is", function()
    local ok, err = pcall(function() return x:to "abacus" end)
    assert.is_false(ok)
    assert.equal("device", err.code)
    assert.is_truthy(tostring(err):find("there is no device 'abacus'", 1, true))
    assert.has_error(function() gb.config{device = other} end)
  end)
end)

--- GIBBOUS_DEVICE: kinds of devices that a library brings. The far device of the tests is one, where it was built.
local process <const> = require "spec.process"

local folder <const>, has_far <const> = process.tests, process.has_far

local function run(env, script)
  return process.run({"-e", script}, {env = env})
end

describe("GIBBOUS_DEVICE", function()
  it("names the kind and the reason where there is no such device", function()
    local _, errors <const>, rc <const> = run("GIBBOUS_DEVICE=nosuch", "require 'gibbous'")
    assert.not_equal(0, rc)
    assert.matches("no device of kind 'nosuch': .*libgibbous_nosuch%.so", errors)
  end)

  it("refuses what is no name of a kind", function()
    local _, errors <const>, rc <const> = run("GIBBOUS_DEVICE=../far", "require 'gibbous'")
    assert.not_equal(0, rc)
    assert.matches("'%.%./far' is no kind of device: lower%-case letters expected", errors)
  end)

  it("is the host's own CPU where it is empty or cpu", function()
    for _, name in ipairs{"", "cpu"} do
      local out <const>, errors <const>, rc <const> = run("GIBBOUS_DEVICE=" .. name, "print(require 'gibbous'.tensor{1}.device)")
      assert.equal("", errors)
      assert.equal(0, rc)
      assert.equal("cpu\n", out)
    end
  end)

  it("opens a device whose memory the host cannot read: the same bits, in its own account", function()
    if not has_far() then return pending "the far device was not built" end
    local script <const> = [[
      local gb = require "gibbous"
      local x, v = gb.randn(70, 3, {seed = 1}), gb.randn(70, 2, {seed = 2})
      local k = gb.kernels.matern52{}(x, x) + 0.1 * gb.eye(70)
      local z, s = gb.eval(k:matmul(v), gb.linalg.solve(k, v))
      print(x.device, gb.config().device, gb.devices()[1].name, gb.memory.report().used)
      print(("%a %a %a"):format(z:sum():item(), s:sum():item(), s[3][2]:item()))]]
    local near <const>, why <const> = run("GIBBOUS_DEVICE=cpu", script)
    assert.equal("", why)
    local env <const> = ("GIBBOUS_DEVICE=far GIBBOUS_FAR_NAME=far GIBBOUS_DEVICE_PATH=%s"):format(folder)
    local far <const>, errors <const>, rc <const> = run(env, script)
    assert.equal("", errors)
    assert.equal(0, rc)
    assert.matches("^cpu\tcpu\tcpu\t%d+\n", near)
    assert.equal((near:gsub("cpu", "far")), far)
  end)

  it("need not be set: x:to opens a device by its kind, whose account is reported beside the session's", function()
    if not has_far() then return pending "the far device was not built" end
    local out <const>, errors <const>, rc <const> = run("GIBBOUS_DEVICE=cpu GIBBOUS_FAR_NAME=far GIBBOUS_DEVICE_PATH=" .. folder, [[
      local gb = require "gibbous"
      local x = gb.randn(50, 3, {seed = 1}):eval()
      local y = (x:to "far" * 2):eval()
      local there = gb.memory.report().devices[1]
      print(y.device, y:to "cpu":equal(x * 2), there.name, there.used, #gb.devices())]])
    assert.equal("", errors)
    assert.equal(0, rc)
    assert.equal("far\ttrue\tfar\t1200\t2\n", out)
  end)

  it("names devices to every option alike", function()
    if not has_far() then return pending "the far device was not built" end
    local out <const>, errors <const>, rc <const> = run("GIBBOUS_DEVICE=cpu GIBBOUS_FAR_NAME=far GIBBOUS_DEVICE_PATH=" .. folder, [[
      local gb = require "gibbous"
      local x, y, v = gb.randn(900, 3, {seed = 1}):eval(), gb.randn(700, 3, {seed = 2}):eval(), gb.randn(700, {seed = 3}):eval()
      local function product() return gb.kernels.rbf{}(x, y):matmul(v) end
      local plan = gb.plan(product(), {device = {"cpu", "far"}})
      print(plan:run():equal(product()), plan.devices[2].name, plan.devices[2].range[2],
        plan:stats().devices.far == plan.devices[2].peak, plan:explain():match("devices share[^\n]*"))
      print(gb.plan(product(), {device = "far", budget = "1 MiB"}):run():equal(product()))
      print(gb.zeros(2, {device = "far"}).device, gb.memory.limit(nil, {device = "far"}) > 0, x:to "cpu:1".device)
      local wrong = {}
      for i, f in ipairs{function(d) gb.plan(x * 2, {device = {"cpu", d}}) end, function(d) gb.config{device = d} end,
        function(d) gb.ones(2, {device = d}) end, function(d) gb.memory.limit(nil, {device = d}) end, function(d) x:to(d) end} do
        for _, d in ipairs{"fare", "cpu:3", "CUDA"} do
          local _, err = pcall(f, d)
          wrong[err.message] = (wrong[err.message] or 0) + 1
        end
      end
      for text, n in pairs(wrong) do print(n, text) end
      print(select(2, pcall(x.to, x, "f33")).message)]])
    assert.equal("", errors)
    assert.equal(0, rc)
    assert.matches("^true\tfar\t900\ttrue\tdevices share an axis, one after the other\ntrue\nfar\ttrue\tcpu\n", out)
    for _, text in ipairs{"there is no device 'fare' (cpu, far expected), did you mean 'far'?",
      "there is no device 'cpu:3' (cpu, far expected); gb.config{devices = 3} makes it, simulated",
      "there is no device 'CUDA' (cpu, far expected), did you mean 'cuda'? 'CUDA' is no kind of device: lower-case"} do
      assert.is_truthy(out:find("5\tdevice error: " .. text, 1, true), text)
    end
    assert.is_truthy(out:find("unknown dtype 'f33'", 1, true))
  end)

  it("shows each device of a plan, and says which has no prices", function()
    if not has_far() then return pending "the far device was not built" end
    local script <const> = [[
      local gb = require "gibbous"
      local x, v = gb.randn(400, 3, {seed = 1}):eval(), gb.randn(400, {seed = 2}):eval()
      local far = x:to "far":eval()
      local plan = gb.plan((gb.kernels.rbf{}(far, far) + 0.5 * gb.eye(400)):matmul(v:to "far"):to "cpu")
      plan:run()
      print(plan:explain())
      print(plan.seconds, plan.devices[2].peak, plan:stats().devices.far)]]
    local env <const> = "GIBBOUS_RATES=fixed GIBBOUS_DEVICE=cpu GIBBOUS_FAR_NAME=far GIBBOUS_DEVICE_PATH=" .. folder
    local out <const>, errors <const> = run(env, script)
    assert.equal("", errors)
    assert.matches("\nfar +budget %S+ %a+ = %S+ %a+ arena %+ 0 B outputs %+ %S+ %a+ unused\n", out)
    assert.matches("\npeak +%S+ %a+ on cpu at step", out)
    assert.matches("\npeak +%S+ %a+ on far at step", out)
    assert.matches("\nmemory held on far over time", out)
    assert.matches("\nsmallest budget %S+ %a+ on cpu\n", out)
    local seconds <const>, peak <const>, measured <const> = out:match "\n(%S+)\t(%d+)\t(%d+)\n$"
    assert.is_true(tonumber(seconds) > 0)
    assert.equal(peak, measured)
    assert.is_true(tonumber(peak) < 400 * 400)               -- the identity is not sent there
    assert.is_nil(out:find("no prices", 1, true))
    local unpriced <const>, why <const> = run(env .. " GIBBOUS_FAR_UNPRICED=1", script)
    assert.equal("", why)
    assert.is_truthy(unpriced:find("without seconds: no prices for device far", 1, true))
    assert.is_nil(unpriced:find("~%d"))
    assert.matches("\nnil\t%d+\t%d+\n$", unpriced)
  end)

  it("says why a library that is there cannot be loaded", function()
    local place <const> = os.tmpname()
    os.remove(place)
    assert(os.execute("mkdir " .. place))
    io.open(place .. "/libgibbous_junk.so", "w"):write("no library"):close()
    local _, errors <const>, rc <const> = run("GIBBOUS_DEVICE=junk GIBBOUS_DEVICE_PATH=" .. place, "require 'gibbous'")
    os.execute("rm -r " .. place)
    assert.not_equal(0, rc)
    assert.matches("libgibbous_junk%.so: file too short", errors)
  end)

  it("of another kind work with the threads that are set after they were opened", function()
    if not has_far() then return pending "the far device was not built" end
    local out <const>, errors <const> = run("MALLOC_PERTURB_=165 GIBBOUS_DEVICE=cpu GIBBOUS_FAR_NAME=far GIBBOUS_DEVICE_PATH="
      .. folder, [[
      local gb = require "gibbous"
      local x = gb.randn(500, 3, {seed = 1}):eval()
      local y = x:to "far"
      for _, n in ipairs{2, 3, 1} do
        gb.config{threads = n}
        print(gb.devices()[2].threads, gb.kernels.rbf{}(y, y):sum(1):to "cpu":equal(gb.kernels.rbf{}(x, x):sum(1)))
      end]])
    assert.equal("", errors)
    assert.equal("2\ttrue\n3\ttrue\n1\ttrue\n", out)
  end)
end)

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

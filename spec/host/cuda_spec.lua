--- GPUs as devices: how they are named, why there is none, what is said of them. The emulated one of the tests is enough, where it
--- was built.
local process <const> = require "spec.process"

local function run(env, script)
  local out <const>, errors <const>, rc <const> = process.run({"-e", "local gb = require 'gibbous' " .. script}, {env = env})
  return out, errors, rc
end

local function emulated(gpus, script)
  local out <const>, errors <const>, rc <const> = run(
    ("GIBBOUS_DEVICE= GIBBOUS_CUDA=emulated GIBBOUS_CUDA_PACK=off XDG_CACHE_HOME=/dev/null EMU_DEVICES=%d"):format(gpus), script)
  assert.equal("", errors)
  assert.equal(0, rc)
  return out
end

describe("a GPU", function()
  it("is named by its number, of which 0 need not be said", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    assert.equal("cuda:0\tcuda:0\tcuda:1\t3\n", emulated(2, [[
      local x = gb.randn(50, 3, {seed = 1})
      local y, z, w = x:to "cuda":eval(), x:to "cuda:0":eval(), x:to "cuda:1":eval()
      print(y.device, z.device, w.device, #gb.devices())]]))
  end)

  it("takes values and gives them back, charged to an account of its own", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    assert.equal("true\t1200\n", emulated(1, [[
      local x = gb.randn(50, 3, {seed = 1}):eval()
      local y = x:to "cuda":eval()
      print(y:to "cpu":equal(x), gb.memory.report().devices[1].used)]]))
  end)

  it("can be the session's own, with simulated ones beside it", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local out <const>, errors <const> = run("GIBBOUS_DEVICE=cuda:1 GIBBOUS_CUDA=emulated EMU_DEVICES=2", [[
      gb.config{devices = 2}
      print(gb.config().device, gb.tensor{1, 2}.device, gb.devices()[2].name, gb.devices()[3].name)]])
    assert.equal("", errors)
    assert.equal("cuda:1\tcuda:1\tcuda:1:2\tcpu\n", out)
  end)

  it("that is not there is an error that says how many are", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local out <const> = emulated(2, [[
      for _, name in ipairs{"cuda:2", "cuda:x", "cuda:", "cuda:0:2"} do
        local ok, err = pcall(function() return gb.zeros(2):to(name) end)
        print(ok, err.code, err.message)
      end]])
    local lines <const> = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.matches("^false\tdevice\t.*there is no GPU number 2: the NVIDIA driver finds 2, counted from 0$", lines[1])
    for i = 2, 4 do assert.matches("^false\tdevice\t.*is no kind of device: lower%-case letters expected", lines[i]) end
  end)

  it("is counted, or the reason is said, in gb.devices and gibbous doctor", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    assert.equal("2\tnil\tready\n", emulated(2, "local d = gb.devices() print(d.kinds.cuda.count, d.kinds.cuda.why, d[1].state)"))
    for env, words in pairs{["GIBBOUS_CUDA=off"] = "it is switched off by the environment, GIBBOUS_CUDA=off",
      ["GIBBOUS_CUDA=emulated EMU_FAIL=cudaGetDeviceCount@1=35"] = "install a newer driver",
      ["GIBBOUS_CUDA=emulated EMU_FAIL=cudaGetDeviceCount@1=100"] = "the NVIDIA driver finds no GPU",
      ["GIBBOUS_CUDA=/nowhere/at.so"] = "/nowhere/at.so: cannot open shared object file"} do
      local out <const> = run("GIBBOUS_DEVICE= " .. env, "local c = gb.devices().kinds.cuda print(c.count, c.why)")
      assert.is_truthy(out:find("^0\t") and out:find(words, 1, true), out)
      local report <const> = process.run({"env"}, {env = "GIBBOUS_DEVICE= " .. env})
      assert.is_truthy(report:find("\nGPUs", 1, true) and report:find(words, 1, true), report)
    end
    local report <const> = process.run({"env"}, {env = "GIBBOUS_DEVICE= GIBBOUS_CUDA=emulated EMU_DEVICES=2"})
    assert.matches("\nGPUs +2, cuda:0 to cuda:1\n", report)
  end)

  it("is not opened by a value of GIBBOUS_CUDA that means nothing", function()
    for _, value in ipairs{"OFF", "Off", "0", "no", "on", "emulatd", "libgibbous_cuda.so"} do
      local words <const> = ("GIBBOUS_CUDA is '%s': off, emulated, or the path of a library\n"):format(value)
      local env <const> = "GIBBOUS_DEVICE= GIBBOUS_CUDA=" .. value
      local out <const>, errors <const> = run(env, [[
        print(gb.devices().kinds.cuda.why)
        print(select(2, pcall(gb.zeros, 2, {device = "cuda"})).message)]])
      assert.equal("", errors)
      assert.equal(2, select(2, out:gsub(words:gsub("%p", "%%%0"), "")), out)
      assert.is_truthy((process.run({"env"}, {env = env})):find(words, 1, true))
      local _, why <const>, rc <const> = run("GIBBOUS_DEVICE=cuda GIBBOUS_CUDA=" .. value, "print(1)")
      assert.is_true(rc ~= 0 and rc < 128 and why:find("cannot start: .*" .. words:gsub("%p", "%%%0")) ~= nil, why)
    end
    assert.equal("1\n", (run("GIBBOUS_DEVICE= GIBBOUS_CUDA=OFF", "print(1)")))
    local threads <const> = run("GIBBOUS_DEVICE= GIBBOUS_THREADS=2",
      "print(select(2, pcall(gb.zeros, 2, {device = 'threads'})).message)")
    assert.is_truthy(threads:find("libgibbous_threads.so", 1, true), "a variable of the program is not of that kind")
  end)

  it("is not opened by a library of something else", function()
    local script <const> = [[print(gb.devices().kinds.cuda.why)
      print(select(2, pcall(gb.zeros, 2, {device = "cuda"})).message)]]
    local maps <close> = assert(io.open "/proc/self/maps")
    local other <const> = maps:read "a":match "/%S+/libm[.%-]%S+"
    local out <const> = run("GIBBOUS_DEVICE= GIBBOUS_CUDA=" .. other, script)
    local words <const> = other .. " is no library of devices, it has no function gb_device_open_plugin\n"
    assert.equal(2, select(2, out:gsub(words:gsub("%p", "%%%0"), "")), out)
    if not process.has_far() then return pending "the far device was not built" end
    local far <const> = process.tests .. "/libgibbous_far.so"
    local told <const> = run("GIBBOUS_DEVICE= GIBBOUS_CUDA=" .. far, script)
    assert.is_truthy(told:find(far .. " is a library of the kind 'far'\n", 1, true), told)
  end)

  it("has a limit of no more than its memory, and no advice says otherwise", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local out <const> = emulated(1, [[
      local function message(f, ...) print((select(2, pcall(f, ...)).message:gsub("\n", ";"))) end
      message(gb.memory.limit, 2^40, {device = "cuda"})
      message(gb.memory.limit, {cuda = "1 TiB"})
      local before = gb.memory.limit("4 GiB", {device = "cuda"})
      print(gb.memory.limit(1000, {device = "cuda"}), gb.memory.limit(2^40) > 0)
      message(function() gb.rand(100000, 100000, {device = "cuda"}):eval() end)
      message(function() gb.rand(100, 100, {device = "cuda"}):eval() end)]])
    assert.equal([[
memory limit: cuda:0 has 4 GiB (4294967296 bytes), got 1 TiB
memory limit: cuda:0 has 4 GiB (4294967296 bytes), got 1 TiB
4294967296	true
plan refused: needs 74.51 GiB on cuda:0, have 1000 B of 1000 B;  it does not fit the device: cuda:0 has 4 GiB
plan refused: needs 78.12 KiB on cuda:0, have 1000 B of 1000 B;  ]] ..
      "a limit of 80000 bytes on cuda:0 works: gb.memory.limit(80000, {device = 'cuda:0'})\n", out)
    local own <const> = run("GIBBOUS_DEVICE=cuda GIBBOUS_CUDA=emulated", [[
      print(select(2, pcall(function() gb.rand(100000, 100000):eval() end)).message)
      print(select(2, pcall(function() gb.memory.limit(1000) gb.rand(100, 100):eval() end)).message)]])
    assert.is_truthy(own:find("  it does not fit the device: cuda:0 has 4 GiB\n", 1, true), own)
    assert.is_truthy(own:find("  smallest budget that works: 78.12 KiB (80000 bytes)\n", 1, true), own)
    assert.equal(1, select(2, own:gsub("budget that works", "")), own)
  end)

  it("is measured by a line of its own after a run", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local out <const> = emulated(1, [[
      local g = gb.randn(300, {seed = 1}):to "cuda":eval()
      local p = gb.plan((g * 2):sum():to "cpu")
      p:run()
      print(p:explain():match "after run.*", p:stats().devices["cuda:0"])]])
    local predicted <const>, measured <const>, told <const> = out:match(
      "^after run on cpu: predicted 8 B, measured 8 B, difference 0\n"
      .. "after run on cuda:0: predicted (%d+) B, measured (%d+) B, difference 0\n\t(%d+)\n$")
    assert.is_true(predicted ~= nil and predicted == measured and measured == told, out)
  end)

  it("is meant by names that are nearly its own", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local out <const> = emulated(1, [[
      local x = gb.zeros(2)
      for _, name in ipairs{"cuda0", "cuda 0", "CUDA", "gpu", "GPU:1", "cuda_1", "cpu2"} do
        print((select(2, pcall(x.to, x, name)).message:match "did you mean '(.-)'"))
      end
      for _, name in ipairs{"f33", "float32"} do print((select(2, pcall(x.to, x, name)).message:match "unknown dtype")) end]])
    assert.equal("cuda:0 cuda:0 cuda cuda cuda:1 cuda:1 cpu:2 unknown dtype unknown dtype ", (out:gsub("\n", " ")))
  end)

  it("is asked for by the one argument of x:to", function()
    for _, names in ipairs{{"'cuda', 'f32'"}, {"'f32', 'cuda'"}, {"'f32', {device = 'cuda'}", "more"}} do
      local out <const> = run("GIBBOUS_DEVICE= GIBBOUS_CUDA=off",
        ("local x = gb.zeros(2) print(select(2, pcall(x.to, x, %s)).message)"):format(names[1]))
      assert.equal(('to: one argument expected, got %s: x:to{dtype = "f32", device = "cuda"}\n')
        :format(names[2] or "two"), out)
    end
  end)

  it("says what it compiles, and refuses another policy", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local script <const> = "gb.zeros(2):to 'cuda':eval() print(gb.devices()[1].kernels, gb.devices()[2].kernels)"
    assert.equal("nil\t0 compiled, 0 from the cache, 0 on the way\n", emulated(1, script))
    local env <const> = "GIBBOUS_DEVICE= GIBBOUS_CUDA=emulated GIBBOUS_CUDA_COMPILE="
    assert.equal("nil\tnone is compiled (GIBBOUS_CUDA_COMPILE=off)\n", (run(env .. "off", script)))
    local out <const>, errors <const> = run(env .. "never", script)
    assert.equal("", out)
    assert.is_truthy(errors:find("GIBBOUS_CUDA_COMPILE is 'off', 'wait', 'background' or 'background:SECONDS', got 'never'", 1,
      true))
  end)

  it("gives the same bits by compiled kernels, which a second process finds", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local script <const> = [[
      gb.config{dtype = "f32"}
      local x, y = gb.linspace(0, 1, 600):unsqueeze(2):eval(), gb.linspace(0, 2, 300):unsqueeze(2):eval()
      local v = gb.linspace(-1, 1, 300):eval()
      local k = gb.kernels.matern32{lengthscale = 0.3}
      local function show(t)
        local c = t:to "cpu":eval()
        for i = 1, c.shape[1], 37 do io.write(("%a "):format(c[i]:item())) end
      end
      show(k(x, y):matmul(v))
      show(k(y, x):t():matmul(v))
      show(k(x):sum(1))
      io.write("\n", gb.devices()[1].kernels)]]
    local folder <const> = os.tmpname()
    os.remove(folder)
    local function kernels(policy)
      local out <const>, errors <const> = run(
        ("GIBBOUS_DEVICE=cuda GIBBOUS_CUDA=emulated GIBBOUS_CUDA_PACK=off XDG_CACHE_HOME=%s GIBBOUS_CUDA_COMPILE=%s")
        :format(folder, policy), script)
      assert.equal("", errors)
      return out:match "^(.*)\n(.*)$"
    end
    local want <const> = kernels "off"
    local first <const>, compiled <const> = kernels "wait"
    local second <const>, kept <const> = kernels "background"
    os.execute("rm -r '" .. folder .. "'")
    assert.is_true(#want > 400)
    assert.equal(want, first)
    assert.equal(want, second)
    local n <const> = compiled:match "^(%d+) compiled, 0 from the cache, 0 on the way$"
    assert.is_true(n ~= nil and tonumber(n) >= 4, compiled)
    assert.equal(("0 compiled, %s from the cache, 0 on the way"):format(n), kept)
  end)

  it("that is lost is said to be", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local out <const> = run("GIBBOUS_DEVICE= GIBBOUS_CUDA=emulated EMU_FAIL=cudaMemcpyAsync@2=700", [[
      local x = gb.randn(50, 3, {seed = 1}):eval()
      local y = x:to "cuda":eval()
      print(pcall(function() return y:to "cpu":eval() end))
      local d = gb.devices()[2]
      print(d.name, d.state, d.why)
      print((x + 1):sum():item() ~= nil)]])
    assert.matches("^false\t.*device cuda:0 is lost %(cudaMemcpyAsync: ", out)
    assert.matches("\ncuda:0\tlost\tdevice cuda:0 is lost", out)
    assert.matches("\ntrue\n$", out)
  end)

  it("gives a solve the bits of the CPU, or an error where a call of it fails", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local script <const> = [[
      local x, b = gb.rand(60, 2, {seed = 1}):eval(), gb.randn(60, 2, {seed = 2}):eval()
      local A = gb.kernels.matern32{lengthscale = 0.3}(x) + 0.5 * gb.eye(60)
      local v, info = gb.solvers.cg{}:solve(A, b)
      print(("%a %a %s %d"):format(v:select(2, 1)[7]:item(), v:select(2, 2)[60]:item(), info.reason, info.iterations))]]
    local near <const>, why <const> = run("GIBBOUS_DEVICE=cpu GIBBOUS_ISA=avx2", script)
    assert.equal("", why)
    local env <const> = "GIBBOUS_DEVICE=cuda GIBBOUS_CUDA=emulated"
    assert.equal(near, (run(env, script)))
    local lost = 0
    for k = 60, 900, 53 do
      local out <const>, errors <const>, rc <const> = run(env .. (" EMU_FAIL=*@%d=700"):format(k), script)
      if rc == 0 then assert.equal(near, out)
      else
        lost = lost + 1
        assert.matches("device error: .*cuda:0 is lost %(", errors)
        assert.equal("", out)
      end
    end
    assert.is_true(lost > 8, lost)
  end)
end)

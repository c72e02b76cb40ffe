--- A device that lacks ops: what it lacks is computed on the CPU, with the bits of the CPU alone; a result is where its inputs
--- are, and a plan says what is moved and why. The far device pretends to lack them.
local process <const> = require "spec.process"

local function run(env, script)
  local out <const>, errors <const>, code <const> = process.run({"-e", script},
    {env = "GIBBOUS_RATES=fixed GIBBOUS_THREADS=2 " .. env})
  assert.equal("", errors)
  assert.equal(0, code)
  return out
end

local function far(lacks, script)
  return run(("GIBBOUS_DEVICE=far GIBBOUS_FAR_NAME=far GIBBOUS_DEVICE_PATH=%s GIBBOUS_FAR_LACKS=%s")
    :format(process.tests, lacks), script)
end

-- Each prints numbers to the last bit, and the device of results where 'here' asks for it.
local start <const> = [[
local gb = require "gibbous"
local here = gb.config().device
local function bits(...)
  for _, y in ipairs{...} do
    assert(y.device == here, y.device)
    for _, v in ipairs(y:reshape(-1):totable()) do print(math.type(v) == "float" and ("%a"):format(v) or v) end
  end
end
local x = gb.randn(60, 3, {seed = 1}):eval()
local y = (x:sum(2):sin() + 0.1 * gb.randn(60, {seed = 2})):eval()
]]

local programs <const> = {
  ["a fit of a model"] = [[
    local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = "direct"}
    m:fit(x, y, {steps = 5, seed = 1})
    local p = m:predict(gb.randn(7, 3, {seed = 3}))
    bits(p.mean, p.f_var, (m:log_marginal_likelihood()))]],
  ["observations added to a model, across a border of blocks"] = [[
    local big = gb.randn(250, 3, {seed = 5}):eval()
    local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = "direct"}:condition(big, big:sum(2):sin())
    m = m:condition(x, y):condition(x:slice(1, 1, 3) + 1, y:slice(1, 1, 3))
    local p = m:predict(gb.randn(7, 3, {seed = 3}))
    bits(p.mean, p.f_var, p.f_cov)]],
  ["a sort and the k largest"] = [[
    local s, at = x:sort(1)
    local top, where = x:topk(4, 1)
    bits(s, at, top, where, x:sort(2):exp():sum(1), x:cumsum(1))]],
  ["a determinant, solves and decompositions"] = [[
    local k = gb.kernels.matern52{}(x, x) + 0.1 * gb.eye(60)
    local u, s = gb.linalg.svd(x)
    local q, r = gb.linalg.qr(x)
    bits(gb.linalg.logdet(k), gb.linalg.solve(k, y), gb.linalg.cholesky(k), s, r:abs(), gb.linalg.inv_quad(k, y))]],
  ["gradients, first and second"] = [[
    local w = gb.randn(8, 2, {seed = 4}):requires_grad()
    local k = gb.kernels.rbf{}(w, w) + 0.5 * gb.eye(8)
    local f = gb.linalg.logdet(k) + (w:sort(1) ^ 2):sum() + (w:abs() + 1):digamma():sum()
    local g = gb.grad(f, w)
    bits(f, g, gb.grad((g ^ 2):sum(), w))]],
  ["slices of a function"] = [[
    bits(gb.vmap(function(v) return v:sort(1):cumsum(1) end)(x),
         gb.vmap(function(v) return gb.linalg.logdet(v:unsqueeze(2):matmul(v:unsqueeze(1)) + gb.eye(3)) end)(x))]],
  ["views, lists and masks"] = [[
    local v = x:t():slice(2, 60, 30, -2)
    bits(v:sort(1), v:cumsum(2), v:digamma(), gb.cat({x, x * 2}, 1), x:index(1, {5, 1}), x:index(1, y:gt(0)):sum(1), x:to "f32")]],
  ["text of a tensor"] = [[print(x:sort(1)) print(x:slice(1, 1, 2):digamma())]],
}

describe("a device that lacks ops", function()
  for name, program in pairs(programs) do
    it("gives the results of the CPU: " .. name, function()
      if not process.has_far() then return pending "the far device was not built" end
      local script <const> = start .. program
      local want <const> = run("GIBBOUS_DEVICE=cpu", script):gsub(" cpu  ", " far  ")
      assert.is_true(#want > 40)
      for _, lacks in ipairs{"dense", "all", "all,digamma,exp,add", "sort,cholesky,solve_chol"} do
        assert.equal(want, far(lacks, script), lacks)
      end
    end)
  end

  it("says what runs at home, why, and what is moved for it; the bytes of both are those promised", function()
    if not process.has_far() then return pending "the far device was not built" end
    local out <const> = far("sort,digamma", start .. [[
      local p = gb.plan(((x * 2):sort(1):abs() + 1):digamma():sum())
      print(p:explain())
      p:run()
      for _, d in ipairs(p.devices) do print(d.name, d.peak == p:stats().devices[d.name] and d.peak > 0) end]])
    assert.matches("computed at home\n  step %d: sort runs on cpu, not on far: GIBBOUS_FAR_LACKS names it\n", out)
    assert.matches("\n  step %d: digamma in fold elementwise runs on cpu, not on far: GIBBOUS_FAR_LACKS names it\n", out)
    assert.matches("moved between devices\n    cpu to far +8 B[^\n]*\n    far to cpu +1.406 KiB", out)
    assert.matches("\nfar\ttrue\ncpu\ttrue\n$", out)
  end)

  it("moves nothing for what it has", function()
    if not process.has_far() then return pending "the far device was not built" end
    local out <const> = far("topk", start .. "print(#gb.plan(x:sort(1):sum()).devices)")
    assert.equal("1\n", out)
  end)

  it("refuses for want of room at home by its name, with advice that works", function()
    if not process.has_far() then return pending "the far device was not built" end
    local out <const> = far("sort", start .. [[
      local big = gb.randn(300, 300, {seed = 1}):eval()
      gb.memory.limit(200000, {device = "cpu"})
      local ok, err = pcall(function() return big:reshape(-1):sort(1):sum():item() end)
      print(ok, err.code, err.message:match "on cpu")
      gb.memory.limit(math.tointeger(err.options[1]:match "gb%.memory%.limit%((%d+)"), {device = "cpu"})
      print(math.abs(big:reshape(-1):sort(1):sum():item() - big:sum():item()) < 1e-8)]])
    assert.equal("false\trefused\ton cpu\ntrue\n", out)
  end)

  it("shares no axis with others where a step of it goes home", function()
    if not process.has_far() then return pending "the far device was not built" end
    local out <const> = far("sort", start .. [[
      gb.config{devices = 2}
      local ok, err = pcall(gb.plan, x:sort(1):sum(), {device = {"far", "far:2"}})
      print(ok, err.code, err.message)]])
    assert.matches("^false\tdevice\t.*sort does not run there: GIBBOUS_FAR_LACKS names it; leave it out", out)
  end)
end)

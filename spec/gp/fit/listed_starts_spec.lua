--- Fits: starts that a script lists, time limits, what a history has.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local x <const> = gb.rand(25, 1, {seed = 1}):eval()
local y <const> = ((25 * x):sin():sum(2) + 0.3 * gb.randn(25, {seed = 2})):eval()

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = K.rbf{lengthscale = o.lengthscale or 3}, noise = o.noise or 0.5, solver = "direct"}
end

describe("the starts of a fit that are listed", function()
  it("come after the given one and before the others, and the best of all stays", function()
    local firsts <const> = {}
    local m <const> = model()
    local info <const> = m:fit(x, y, {starts = {{["kernel.lengthscale"] = 0.1}, {["kernel.lengthscale"] = 0.2,
      ["likelihood.noise"] = 0.05}}, restarts = 1, on_step = function(s)
        if s.step == 0 then firsts[#firsts + 1] = {m:get "kernel.lengthscale":item(), m:get "likelihood.noise":item()} end
      end})
    near({{3, 0.5}, {0.1, 0.5}, {0.2, 0.05}}, table.move(firsts, 1, 3, 1, {}), 1e-12)
    assert.same({4, 3}, {#firsts, info.restarts})
    local alone <const> = model{lengthscale = 0.1}:fit(x, y, {restarts = 0})
    assert.is_true(info.log_likelihood >= alone.log_likelihood - 1e-9)
    assert.is_true(info.log_likelihood > model():fit(x, y, {restarts = 0}).log_likelihood + 1)
    assert.is_true(info.history[1].parameters["kernel.lengthscale"] > 2.9)
  end)

  it("end as a fit does that begins there", function()
    local m <const>, one <const> = model(), model{lengthscale = 0.1}
    m:fit(x, y, {starts = {{["kernel.lengthscale"] = 0.1}}, restarts = 0})
    one:fit(x, y, {restarts = 0})
    near(one:get "kernel.lengthscale", m:get "kernel.lengthscale", 0)
  end)

  it("go on after an interruption as if there had been none", function()
    local whole <const>, cut <const> = model(), model()
    local o <const> = {starts = {{["kernel.lengthscale"] = 0.1}, {["kernel.lengthscale"] = 9}}, restarts = 1}
    whole:fit(x, y, o)
    local seen = 0
    o.on_step = function()
      seen = seen + 1
      if seen % 4 == 0 then core.raise("interrupted", "interrupted") end
    end
    local info = cut:fit(x, y, o)
    while info.interrupted do info = cut:fit{resume = info} end
    assert.is_true(seen > 8)
    near(whole:get "kernel.lengthscale", cut:get "kernel.lengthscale", 0)
    assert.same({whole.info.value, whole.info.evaluations, whole.info.restarts}, {info.value, info.evaluations, info.restarts})
  end)

  it("are checked before anything is computed", function()
    local function refused(text, list, o)
      local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = o and 0 or 0.5}
      raises("option", text, m.fit, m, x, y, {starts = list})
    end
    refused("fit: start 2: the model has no parameter 'kernel.lengthscal' (did you mean 'kernel.lengthscale'?)",
      {{["kernel.lengthscale"] = 1}, {["kernel.lengthscal"] = 1}})
    refused("fit: start 1: parameter 'lengthscale' = -1.0 is not inside its bounds (0, inf)", {{["kernel.lengthscale"] = -1}})
    refused("fit: start 1: parameter 'likelihood.noise' is fixed", {{["likelihood.noise"] = 1}}, true)
    refused("fit: start 1: values by paths of parameters are needed", {{}})
    refused("fit: start 1: values by paths of parameters are needed, {[\"kernel.lengthscale\"] = 0.1}, got number 3", {3})
    refused("fit: starts is a list", {["kernel.lengthscale"] = 1})
  end)
end)

describe("a fit with a time limit", function()
  it("ends at the best point so far, says so, and can go on", function()
    local m <const> = model()
    local before <const> = core.clock
    local now = 0
    core.clock = function()
      now = now + 1
      return now
    end
    local ok <const>, info <const> = pcall(m.fit, m, x, y, {seconds = 12, restarts = 20})
    core.clock = before
    assert(ok, info)
    assert.is_true(info.interrupted)
    assert.is_false(info.converged)
    assert.equal("the time limit of 12 s", info.reason)
    assert.matches("not converged %(the time limit of 12 s%)", tostring(info))
    assert.matches("the best before all of 21 starts had ended", tostring(info))
    local least = math.huge
    for _, s in ipairs(info.history) do least = math.min(least, s.value) end
    near(least, info.value, 0)
    local again <const> = m:fit{resume = info, seconds = 600}
    local whole <const> = model()
    whole:fit(x, y, {restarts = 20})
    assert.is_false(again.interrupted)
    near(whole.info.value, again.value, 0)
    raises("option", "fit: option 'seconds' must be a positive number, got number 0", m.fit, m, {seconds = 0})
  end)
end)

describe("the history of a fit", function()
  it("has the free parameters by step, those of the value", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{ard = true, variance = gb.param(1, {fixed = true})}, noise = 0.5,
      solver = "direct"}
    local wide <const> = gb.rand(25, 2, {seed = 3}):eval()
    m:fit(wide, y, {restarts = 0})
    for _, s in ipairs(m.info.history) do
      assert.is_nil(s.parameters["kernel.variance"])
      local other <const> = gb.gp.exact{kernel = K.rbf{lengthscale = s.parameters["kernel.lengthscale"]},
        noise = s.parameters["likelihood.noise"]}:condition(wide, y)
      near(s.value, -other:log_marginal_likelihood():item(), 1e-9)
    end
    assert.is_true(#m.info.history > 2)
    local text <const> = gb.plot.training(m.info):text(60, 12)
    assert.is_true(#text > 100)
  end)

  it("has none where there are many", function()
    local wide <const> = gb.rand(5, 70, {seed = 3}):eval()
    local m <const> = gb.gp.exact{kernel = K.rbf{ard = true}, noise = 0.5}
    assert.is_nil(m:fit(wide, y:slice(1, 1, 5), {steps = 2}).history[1].parameters)
  end)
end)

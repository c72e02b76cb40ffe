-- What is computed within a budget is a value to the next step: neither its bytes nor its history stay in that step's plan.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local within <const> = require "gibbous.gp.within"

local WIDE <const> = {dtype = "f64"}
local KIB <const> = 1024

--- A step on weights w (64, 64) over 1024 rows, which are new each time: new weights and a value.
local function step_of(w, k)
  local x <const> = core.randn(1024, 64, {seed = k, dtype = "f64"}):eval()
  local p <const> = x:matmul(w):tanh()
  return (w - 1e-3 * x:t():matmul(p)):detach(), (p * p):sum():detach()
end

describe("a step within a budget that reorders or cuts", function()
  it("needs the bytes of the step before", function()
    local w, first = core.ones(64, 64, WIDE):eval(), nil
    for k = 1, 10 do
      local moved <const>, value <const> = step_of(w, k)
      local plan <const> = core.plan({moved, value}, {budget = 400 * KIB})
      local own <const> = {peak = plan.peak, minimum = plan.minimum}
      plan:close()
      first = first or own
      assert.same(first, own)
      within(400 * KIB)(moved, value)
      w = moved
    end
    assert.is_true(first.peak < 512 * KIB)                  -- the rows' products were never whole
  end)

  it("of a variational fit needs the bytes of the step before", function()
    local x <const> = core.randn(600, 2, {seed = 1, dtype = "f64"}):eval()
    local m <const> = gb.gp.svgp{kernel = gb.kernels.rbf{lengthscale = 1, variance = 1}, noise = 0.1, inducing = 64}
    local plan <const>, seen <const> = core.plan, {}
    core.plan = function(...)
      local p <const> = plan(...)
      seen[#seen + 1] = {peak = p.peak, minimum = p.minimum}
      return p
    end
    local ok <const>, err <const> = pcall(m.fit, m, x, x:slice(2, 1, 1):reshape(-1):sin():eval(),
      {batch = 512, steps = 11, budget = 1280 * KIB, polish = false})
    core.plan = plan
    assert(ok, err)
    local steps <const> = table.move(seen, #seen - 11, #seen - 1, 1, {})    -- but for the last, of all rows
    for k = 3, 11 do assert.same(steps[2], steps[k]) end    -- the first has no moments
  end)
end)

describe("the seconds of a plan", function()
  local function waits(seconds)
    local p <const> = core.promise({}, "f64", function() return core.zeros({}, WIDE) end, function()
      return {what = "a thing", bytes = 8, minimum = 8, kept = 8, seconds = seconds}
    end)
    local plan <close> = core.plan{p}
    return plan.seconds
  end
  it("are a number where a promise takes none, and nil where one is not known", function()
    assert.equal(0, waits(0))
    assert.equal(2, waits(2))
    assert.is_nil(waits(nil))
  end)
end)

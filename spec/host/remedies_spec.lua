-- What :why recommends, from records alone.
local remedies <const> = require "gibbous.prompt.remedies"

--- A record whose residual falls by 'rate' a step.
local function solve(o)
  local curve <const> = {every = o.every or 1}
  for i = 1, o.count or 20 do curve[i] = o.rate ^ (i * curve.every) end
  return {reason = o.reason or "max_iter", iterations = #curve * curve.every, tol = 1e-6, residual = curve[#curve], curve = curve,
    condition = o.condition or 1e4, largest_eigenvalue = o.largest,
    smallest_eigenvalue = o.largest and 1e-3, seconds = 1}
end

describe("the steps that a solve needs", function()
  it("go on from its curve", function()
    for _, every in ipairs{1, 4} do
      local steps <const> = remedies.steps_needed(solve{rate = 0.9, every = every, count = 20 // every})
      assert.is_true(math.abs(steps - math.log(1e-6) / math.log(0.9)) <= 1.001, steps)
    end
  end)

  it("are not known where it does not come down, or has no curve", function()
    assert.is_nil(remedies.steps_needed(solve{rate = 1}))
    assert.is_nil(remedies.steps_needed(solve{rate = 1.1}))
    assert.is_nil(remedies.steps_needed{reason = "max_iter", iterations = 3, tol = 1e-6})
    assert.is_nil(remedies.steps_needed(solve{rate = 0 / 0}))
  end)
end)

describe("remedies", function()
  it("begin with more steps where few are missing, with a preconditioner where many are", function()
    local few <const> = remedies.of_solve(solve{rate = 0.9, largest = 10})
    assert.matches("^allow more steps: max_iter = 140;", few[1])
    assert.equal("use a preconditioner: gb.solvers.cg{precond = gb.precond.nystrom{rank = 200, noise = 0.001}}", few[2])
    assert.matches("nystrom{rank = 200}}", remedies.of_solve(solve{rate = 0.9, largest = 10}, 0.1)[2])
    local many <const> = remedies.of_solve(solve{rate = 0.999})
    assert.matches("^use a preconditioner of a higher rank", many[1])
    assert.matches("max_iter = 14000", table.concat(many, "\n"))
  end)

  it("say the noise, or the diagonal, that makes the steps do", function()
    local c <const> = ((1 + (5e-7) ^ (1 / 20)) / (1 - (5e-7) ^ (1 / 20))) ^ 2
    local text <const> = table.concat(remedies.of_solve(solve{rate = 0.9}, 0.01), "\n")
    local noise <const> = tonumber(text:match 'm:set%("likelihood.noise", ([^)]*)%)')
    assert.is_true(noise >= 0.01 * 1e4 / c and noise <= 0.0101 * 1e4 / c * 1.1, text)
    local shift <const> = tonumber(table.concat(remedies.of_solve(solve{rate = 0.9, largest = 50}), "\n"):match "A %+ (%S+) %*")
    assert.is_true(shift >= 50 / c and shift <= 1.1 * 50 / c)
  end)

  it("suit the reason", function()
    assert.matches("use f64", remedies.of_solve(solve{rate = 0.9, reason = "stagnated"})[1])
    assert.matches("A %+ 1e%-05 %* gb.eye", remedies.of_solve(solve{rate = 0.9, reason = "indefinite", largest = 10})[1])
    assert.matches("^let it run: about 120 steps more", remedies.of_solve(solve{rate = 0.9, reason = "interrupted"})[1])
    for _, reason in ipairs{"nan", "overflow", "underflow", "singular", "diverged", "step"} do
      assert.is_true(#remedies.of_solve(solve{rate = 0.9, reason = reason}) > 0)
    end
  end)

  it("of a fit go on where it stopped", function()
    local function fit(o)
      o.solve_log, o.parameters, o.iterations = o.solve_log or {}, {["likelihood.noise"] = 0.1}, 7
      return remedies.of_fit(o)
    end
    assert.matches("^go on: :continue", fit{interrupted = true}[1])
    assert.same({"give it more steps: m:fit{resume = report, steps = 14}"}, fit{reason = "step limit reached"})
    assert.matches("restarts = 3", fit{reason = "no further decrease along the gradient"}[1])
    assert.matches("allow more steps", fit{reason = "the solver: max_iter", solve_log = {worst = solve{rate = 0.9}}}[1])
  end)
end)

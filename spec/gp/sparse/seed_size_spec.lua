--- scripts/stories/seed_size.lua, small: what it says of the choice, the approximation, memory and held-out points.
local process <const> = require "spec.process"

describe("the story of a model of many points", function()
  local out

  local function number(pattern)
    local text <const> = out:match(pattern)
    assert.is_not_nil(text, pattern .. "\n" .. out)
    return tonumber(text)
  end

  setup(function()
    local errors, code
    out, errors, code = process.run({"scripts/stories/seed_size.lua", "--points", "5000", "--seconds", "3", "--asked", "2000",
      "--limit", "200 MiB"}, {env = "GIBBOUS_RATES=fixed"})
    assert.equal(0, code, errors)
  end)

  it("says which model, why, what else was weighed, and what was approximated by how much", function()
    assert.matches("auto: s[gv][pg][rp], %d+ inducing points[^\n]* are as many as time and memory allow", out)
    assert.matches("predicted: exact [^\n]*; iterative [^\n]*; sgpr [^\n]*; svgp ", out)
    local lower <const>, upper <const> = out:match "likelihood is between (%-?[%d.]+) and (%-?[%d.]+), a gap of"
    assert.is_true(lower ~= nil and tonumber(lower) <= tonumber(upper), out)
  end)

  it("keeps to the limit, and holds predictions to their plan", function()
    assert.is_true(number "a step +([%d.]+) MiB planned" > 0)
    assert.is_true(number "the account +([%d.]+) MiB at most, of a limit of 200.00 MiB" <= 200)
    assert.is_true(number "([%d.]+) MiB measured" <= number "([%d.]+) MiB planned, [%d.]+ MiB measured")
  end)

  it("predicts held-out points far better than their mean, and no better than the noise", function()
    local rmse <const>, spread <const> = number "held out: RMSE ([%d.]+)", number "standard deviation of y is ([%d.]+)"
    assert.is_true(rmse >= 0.09 and rmse < spread / 2, out)
    assert.is_true(number "held out: RMSE [%d.]+, NLPD (%-?[%d.]+)" >= -0.9, out)
    assert.is_true(number "([%d.]+) %% of the points are in" > 85, out)
  end)

  it("says how it is called where a word is wrong", function()
    local _, errors <const>, code <const> = process.run{"scripts/stories/seed_size.lua", "--sekonds", "3"}
    assert.equal(2, code)
    assert.matches("seconds", errors)
  end)
end)

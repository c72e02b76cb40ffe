--- Random programs against an independent evaluator; spec/fuzz/run.lua says how, and how to run more of them.
local passes <const> = require "spec.fuzz.passes"
local run <const> = require "spec.fuzz.run"

describe("random programs", function()
  it("have the values, gradients and second derivatives of an evaluator by plain loops", function()
    local count <const>, first <const> = run.asked(2000)
    local counts <const>, failures <const> = run.run(count, first)
    if failures[1] then error("a program is wrong:\n" .. failures[1].script, 0) end
    assert.equal(count, counts.programs)
    -- Most of what is compared is determined, and few programs say nothing.
    assert.is_true(counts.open < 0.1 * counts.yes, run.summary(counts, failures))
    assert.is_true(counts.refused + counts.singular + counts.nothing < 0.05 * count, run.summary(counts, failures))
  end)

  it("reach every op and every public name that makes a value", function()
    assert.same({}, run.missing("host/program/ops.def", 3000))
  end)

  it("with several loops over their rows have the values of plain lists, and the same bits under any budget", function()
    local count <const>, first <const> = passes.asked(150)
    local counts <const>, failure <const> = passes.run(math.min(count, 150), first)
    if failure then error("a program is wrong:\n" .. failure, 0) end
    local several = 0
    for loops, plans in pairs(counts.loops) do if loops > 1 then several = several + plans end end
    assert.is_true(counts.open < 0.05 * count and several > 0.05 * count, passes.summary(counts))
  end)
end)

local gb <const> = require "gibbous"
local text <const> = require "gibbous.progress_text"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local raises <const> = support.raises

describe("gb.progress", function()
  it("counts from 1, or walks a list", function()
    local seen <const> = {}
    for i in gb.progress(4, "count") do seen[#seen + 1] = i end
    assert.same({1, 2, 3, 4}, seen)
    local values <const> = {}
    for i, v in gb.progress({"a", false, "c"}) do values[i] = v end
    assert.same({"a", false, "c"}, values)
    for _ in gb.progress(0, "none") do error "no round expected" end
    for _ in gb.progress{} do error "no round expected" end
    local sum = 0
    for i in gb.progress(3.0) do sum = sum + i end
    assert.equal("integer", math.type(sum))
  end)

  it("leaves by break and by error", function()
    local last
    for i in gb.progress(9) do
      last = i
      if i == 4 then break end
    end
    assert.equal(4, last)
    assert.is_false(pcall(function()
      for i in gb.progress(9) do if i == 2 then error "out" end end
    end))
  end)

  it("refuses what cannot be counted", function()
    raises("option", "a whole number, 0 or more, or a list expected, got -1", gb.progress, -1)
    raises("option", "got 2.5", gb.progress, 2.5)
    raises("option", "got string", gb.progress, "x")
    raises("option", "got tensor", gb.progress, gb.ones(3))
    raises("option", "the label must be a string, got number", gb.progress, 3, 4)
  end)

  it("says rate and time left", function()
    local loop <const> = {label = "fit", done = 3, total = 12, start = 100}
    assert.equal("fit █████                3/12  1.5/s  0:06 left", text.text(loop, 102))
    assert.equal("fit █████                3/12  20 s each  3:00 left", text.text(loop, 160))
    assert.equal("fit █████                3/12  4e+03 s each  10:00:00 left", text.text(loop, 100 + 12000))
    loop.done = 0
    assert.equal("fit                      0/12", text.text(loop, 102))
    loop.done = 12
    assert.equal("fit 12/12 in 2 s", text.closing(loop, 102))
    assert.equal("██", text.clip("███", 2))
    assert.equal("ab", text.clip("ab", 5))
  end)

  it("says nothing where stderr is no terminal", function()
    local path <const> = support.write(support.path ".lua", [[
      local gb = require "gibbous"
      for i in gb.progress(3, "quiet") do if i == 2 then break end end]])
    local out <const>, errors <const>, rc <const> = process.run{path}
    support.sweep()
    assert.same({"", "", 0}, {out, errors, rc})
  end)
end)

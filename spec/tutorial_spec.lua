-- Every block of the tutorial runs as it stands, one after another, in one environment a section.
local support <const> = require "spec.support"
local process <const> = require "spec.process"

describe("docs/tutorial.md", function()
  local text <const> = support.read "docs/tutorial.md"
  local sections <const>, order <const> = {}, {}
  local title
  for line, is_code in (function()
    local inside = false
    return coroutine.wrap(function()
      for line in text:gmatch "([^\n]*)\n" do
        if line == "```lua" then inside = true
        elseif line == "```" then
          coroutine.yield("", true)
          inside = false
        else coroutine.yield(line, inside) end
      end
    end)
  end)() do
    title = not is_code and line:match "^## (.*)" or title
    if is_code then
      if not sections[title] then
        sections[title] = {}
        order[#order + 1] = title
      end
      table.insert(sections[title], line)
    end
  end

  it("has code", function() assert.is_true(#order >= 8) end)

  for _, name in ipairs(order) do
    it(name, function()
      local code <const> = 'local gb = require "gibbous"\n' .. table.concat(sections[name], "\n")
      local path <const> = support.write(support.path ".lua", code)
      local out <const>, errors <const>, rc <const> = process.run({path}, {env = "GIBBOUS_DATA=scripts/data"})
      support.sweep()
      assert.equal(0, rc, errors)
      assert.is_true(#out > 0)
    end)
  end
end)

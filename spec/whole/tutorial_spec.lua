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

  local folder <const> = os.tmpname()
  local set <const> = folder .. "/toy"

  setup(function()                         -- a data set, so that what the page does with each set there is runs
    os.remove(folder)
    assert(os.execute(("mkdir -p '%s'"):format(set)))
    support.write(set .. "/data.csv", ("1,10,5\n2,20,7\n3,30,9\n"):rep(4))
    support.write(set .. "/test_mask.csv", ("1,0\n0,1\n0,0\n"):rep(4))
  end)

  teardown(function()
    os.remove(set .. "/data.csv")
    os.remove(set .. "/test_mask.csv")
    os.remove(set)
    os.remove(folder)
  end)

  for _, name in ipairs(order) do
    it(name, function()
      local code <const> = 'local gb = require "gibbous"\n' .. table.concat(sections[name], "\n")
      local path <const> = support.write(support.path ".lua", code)
      local out <const>, errors <const>, rc <const> = process.run({path}, {env = "GIBBOUS_DATA=scripts/data:" .. folder})
      support.sweep()
      assert.equal(0, rc, errors)
      assert.is_true(#out > 0)
      if code:find("gb.data.sets", 1, true) then assert.is_true(out:find("toy: 12 rows", 1, true) ~= nil, out) end
    end)
  end
end)

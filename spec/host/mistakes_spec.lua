--- The mistakes of spec/host/mistakes.lua: each message says what is wrong, where in the script, and how to mend it.
local mistakes <const> = dofile "spec/host/mistakes.lua"
local support <const> = require "spec.support"
local typed <const> = require "spec.host.typed"

local function any(text, patterns)
  for _, pattern in ipairs(patterns) do
    if text:find(pattern:lower()) then return true end
  end
  return false
end

--- What a mistake is told, nil: nothing; and which of the three properties the message lacks, in words.
local function judge(row, dir)
  local text <const> = typed.said(row[1], dir)
  if text == nil then return nil, "silent" end
  local low <const>, lacks <const> = text:lower(), {}
  if not low:find(row[2]:lower()) then lacks[#lacks + 1] = "what" end
  if not text:find(typed.last_line(row[1]), 1, true) then lacks[#lacks + 1] = "where" end
  if not any(low, row[3]) then lacks[#lacks + 1] = "how" end
  return text, table.concat(lacks, " ")
end

describe("each of 150 mistakes", function()
  local dir <const> = os.tmpname()

  setup(function()
    os.remove(dir)
    assert(os.execute(("mkdir '%s'"):format(dir)))
    support.write(dir .. "/table.csv", "a,b\n1,2\n3,4\n")
    support.write(dir .. "/text.csv", "a,name\n1,one\n2,two\n")
    typed.surroundings(dir).m:save(dir .. "/model.gb")
  end)

  teardown(function()
    for _, name in ipairs{"table.csv", "text.csv", "model.gb"} do os.remove(dir .. "/" .. name) end
    os.remove(dir)
  end)

  it("is one of 150, none twice", function()
    local seen <const> = {}
    for _, row in ipairs(mistakes) do
      assert.is_nil(seen[row[1]])
      seen[row[1]] = true
    end
    assert.equal(150, #mistakes)
  end)

  for i, row in ipairs(mistakes) do
    it(("%d: %s"):format(i, row[1]), function()
      local text <const>, lacks <const> = judge(row, dir)
      if os.getenv "GIBBOUS_SHOW_MISTAKES" then io.stderr:write(("%3d %s\n    %s\n"):format(i, row[1], text or "(nothing)")) end
      assert.equal("", lacks, text)
    end)
  end
end)

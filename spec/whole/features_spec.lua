--- docs/features.md: every line of the table runs, every file that it names exists, and one of them speaks of what the line does.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"

--- The rows of the tables, of four cells each: {feature, here, line, evidence}.
local function rows()
  local out <const> = {}
  for row in support.read("docs/features.md"):gmatch "\n(|[^\n]*)" do
    local cells <const> = {}
    for cell in row:gmatch "|([^|]+)" do cells[#cells + 1] = cell:match "^%s*(.-)%s*$" end
    assert(#cells == 4, row)
    if cells[2] ~= "here" and not row:find "^|%-" then
      out[#out + 1] = {feature = cells[1], here = cells[2], line = cells[3]:match "`(.-)`", evidence = cells[4]}
    end
  end
  return out
end

--- What the lines take for given.
local function given()
  local x <const> = gb.rand(20, 2, {seed = 1}):eval()
  local y <const>, k <const> = (5 * x):sin():sum(2):eval(), gb.kernels.matern52{}
  local m <const> = gb.gp.exact{kernel = k, noise = 0.1}:condition(x, y)
  return setmetatable({gb = gb, x = x, y = y, k = k, m = m, p = m:predict(x)}, {__index = _G})
end

local function files(text)
  local out <const> = {}
  for path in text:gmatch "`([^`]+)`" do out[#out + 1] = path end
  return out
end

local common <const> = {kernel = true, kernels = true, likelihoods = true, predict = true, noise = true, steps = true, seed = true}

--- Does a file have one of the names of a line?
local function speaks(path, line)
  local text <const>, names = support.read(path), 0
  for word in line:gmatch "[%a_][%w_]+" do
    if not common[word] and #word > 2 then
      names = names + 1
      if text:find(word, 1, true) then return true end
    end
  end
  return names == 0
end

describe("docs/features.md", function()
  local list <const>, threads <const> = rows(), gb.config().threads

  after_each(function() gb.config{threads = threads} end)

  it("has a table", function()
    local count <const> = {yes = 0, partly = 0, ["not"] = 0}
    for _, row in ipairs(list) do count[row.here] = assert(count[row.here], row.here) + 1 end
    assert.is_true(count.yes > 50 and count["not"] > 10, tostring(count.yes))
  end)

  for _, row in ipairs(list) do
    if row.here ~= "not" then
      it("is right of " .. row.feature, function()
        assert.is_string(row.line, "no line to type")
        assert.is_not_nil(assert(load("return " .. row.line, row.line, "t", given()))())
        local told, paths <const> = false, files(row.evidence)
        assert.is_true(#paths > 0, "no evidence")
        for _, path in ipairs(paths) do told = speaks(path, row.line) or told end
        assert.is_true(told, "no file speaks of " .. row.line)
      end)
    end
  end
end)

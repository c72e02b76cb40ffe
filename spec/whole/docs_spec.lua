--- The pages under docs/ speak of files that exist, and the page of the architecture stays short.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"

local pages <const> = {"README.md", "docs/architecture.md", "docs/contributing.md", "docs/tutorial.md",
  "docs/guide/devices.md", "docs/guide/embedding.md", "docs/guide/folds.md", "docs/guide/kmeans.md", "docs/guide/lua.md",
  "docs/guide/models.md", "docs/guide/plans.md", "docs/guide/solvers.md", "docs/stories/keops_oom.md", "docs/stories/koila.md",
  "docs/stories/kmeans_memory.md", "docs/stories/online_learning.md", "docs/stories/kernel_matrix.md",
  "docs/stories/seed_size.md", "docs/features.md"}

-- Where a path may begin: pages name a file from the root, or from the folder that they speak of.
local roots <const> = {"", "host/", "host/cpu/isa/", "host/graph/", "lualib/gibbous/", "tests/cpu/", "tests/graph/", "tests/plan/",
  "tests/support/", "docs/", "docs/guide/", "scripts/", "scripts/bench/"}

local endings <const> = {}
for _, ending in ipairs{".c", ".h", ".lua", ".md", ".inc", ".def", ".sh"} do endings[ending] = true end

local function exists(path)
  for _, root in ipairs(roots) do
    local f <close> = io.open(root .. path)
    if f then return true end
  end
  return false
end

--- Words in backquotes that name a file: letters, digits, _ - / . and one of these endings, with a folder in front. Templates
-- (<name>/device.c) do not count.
local function paths(text)
  local out <const> = {}
  for quoted in text:gsub("```.-```", ""):gmatch "`([^`\n]+)`" do
    for word in (quoted:find "<" and "" or quoted):gmatch "[%w_/.-]+" do
      local ending <const> = word:find "/" and word:match "%.%l+$"
      if ending and endings[ending] then out[#out + 1] = word end
    end
  end
  return out
end

describe("the pages of docs/", function()
  for _, page in ipairs(pages) do
    it(page .. " names files that exist", function()
      for _, path in ipairs(paths(support.read(page))) do
        assert.is_true(exists(path), path)
      end
    end)
  end

  it("name many files", function()
    local count = 0
    for _, page in ipairs(pages) do count = count + #paths(support.read(page)) end
    assert.is_true(count > 150, tostring(count))
  end)

  it("list names of the library that exist", function()
    local count = 0
    local function find(owner, path)
      for part in path:gmatch "[%w_]+" do
        owner = owner[part]
        assert.is_not_nil(owner, path)
      end
      count = count + 1
    end
    for row in support.read("docs/guide/lua.md"):gmatch "\n| [^\n]*" do
      for quoted in row:gmatch "`([^`]*)`" do
        quoted = quoted:gsub("gb%.([%w_.]+)%.{([^}]*)}", function(path, list)
          for name in list:gmatch "[%w_]+" do find(gb, path .. "." .. name) end
          return ""
        end)
        for path in quoted:gmatch "gb%.([%w_.]+)" do find(gb, path) end
        if quoted:find "^:%l[%w_ ]*$" then
          for name in quoted:gmatch "[%w_]+" do find(core.methods, name) end
        end
      end
    end
    assert.is_true(count > 120, tostring(count))
  end)

  it("compare with other libraries by the results that a script recorded", function()
    local printed <const>, err <const>, code <const> = process.run{"scripts/bench/peers.lua", "--from",
      "scripts/bench/peers/results.csv"}
    assert.same({"", 0}, {err, code})
    assert.is_truthy(printed:find("GPyTorch", 1, true) and printed:find("KeOps", 1, true))
    assert.is_truthy(support.read "README.md":find(printed, 1, true), "README.md does not have this table:\n" .. printed)
  end)

  it("have an architecture of at most 200 lines", function()
    local _, lines <const> = support.read("docs/architecture.md"):gsub("\n", "\n")
    assert.is_true(lines <= 200, tostring(lines))
  end)
end)

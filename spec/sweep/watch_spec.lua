local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local shown <const> = require "spec.sweep.shown"
local store <const> = require "gibbous.sweep.store"
local support <const> = require "spec.support"

local slow <const> = [[
local gb = require "gibbous"
return gb.sweep{name = "slow", space = {a = {1, 2, 3}}, metric = "v", run = function(p, trial)
  if p.a == 1 then return {v = 0.25} end
  trial:report(7, 0.125)
  while true do gb.randn(100, 100):sum():item() end
end}
]]

--- Waits until a study has so many running trials: its view.
local function running(f, n)
  for _ = 1, 400 do
    local view <const> = f.run("watch", "study.lua")
    if view:find(n .. " running", 1, true) and select(2, view:gsub("step 7", "")) == n then return view end
    core.key(0.05)
  end
  error("no trial runs: " .. f.run("ls", "study.lua"))
end

--- A coordinator that runs in the folder.
local function start(f, verb)
  return core.child({"sh", "-c", ("cd '%s' && exec '%s' sweep %s study.lua -j 2"):format(f.path, process.binary, verb)}, nil,
    f.path .. "/said.txt")
end

describe("gibbous sweep watch", function()
  it("shows a study that has ended, and its failures", function()
    local f <const> = shown.ran()
    local out <const>, errors <const>, rc <const> = f.run("watch", "study.lua")
    assert.same({"", 0}, {errors, rc})
    assert.truthy(out:find("study  24 of 24\n[" .. ("#"):rep(28) .. ("x"):rep(12) .. "]\n17 done, 7 failed\nbest nlpd 0.1855", 1,
      true), out)
    assert.truthy(out:find("last failures\n  trial ", 1, true))
    assert.truthy(out:find("(data=pol rank=0 split=1): error: study.lua:8: no room for rank 0\n", 1, true))
    f.close()
  end)

  --- What is drawn at a terminal of so many columns and rows, whose keys are those of a list.
  local function drawn(folder, columns, rows, keys)
    local out <const>, asked = {}, 0
    local self <close> = store.open(folder, "read")
    support.with(core, {isatty = function(fd) return fd == 1 end, terminal = function() return columns, rows, true end,
      key = function(seconds)
        asked = asked + (seconds > 0 and 1 or 0)
        if keys[asked] == "interrupt" then core.raise("interrupted", "interrupted") end
        return keys[asked]
      end}, function()
      support.with(io, {write = function(...) for _, one in ipairs{...} do out[#out + 1] = one end end}, function()
        assert.is_true(require "gibbous.sweep.show.watch"(self))
      end)
    end)
    return table.concat(out), asked
  end

  it("draws at a terminal until it is done, q or Ctrl-C, within the window", function()
    local f <const> = shown.ran()
    local view <const>, asked <const> = drawn(f.path .. "/study.gibbous", 30, 5, {})
    assert.equal(0, asked)
    assert.matches("^\27%[2J\27%[Hstudy  24 of 24\27%[K\n", view)
    for line in (view:gsub("\27%[%d?%a", "") .. "\n"):gmatch "(.-)\n" do assert.is_true(#line <= 30, line) end
    assert.equal(4, select(2, view:match "^(.-)\27%[J":gsub("\27%[K", "")))
    f.run("rerun", "study.lua", "3")
    for _, last in ipairs{"q", "interrupt"} do
      local again <const>, times <const> = drawn(f.path .. "/study.gibbous", 80, 40, {"x", false, last})
      assert.equal(3, times)
      assert.equal(3, select(2, again:gsub("study  23 of 24", "")))
      assert.truthy(again:find("q ends the view, not the sweep", 1, true))
    end
    f.close()
  end)

  it("shows what runs, and a signal gives it back", function()
    for _, case in ipairs{{"work", "usr1", 99}, {"work", "term", 99}, {"run", "usr1", 99}, {"run", "term", 143}} do
      local f <const> = shown.folder(slow)
      local child <close> = start(f, case[1])
      local view <const> = running(f, 2)
      assert.truthy(view:find("slow  1 of 3\n", 1, true))
      assert.truthy(view:find("best v 0.25, trial 1 (a=1)", 1, true))
      assert.matches("\n2 +a=2 +0:%d%d +64 MiB +step 7: 0%.125 ", view)
      child:signal(case[2])
      local how <const> = child:reap()
      assert.equal(case[3], how.exit)
      assert.truthy(f.read "said.txt":find("ended by signal " .. case[2]:upper(), 1, true))
      local after <const> = f.run("watch", "study.lua")
      assert.truthy(after:find("1 done, 2 pending", 1, true), after)
      f.close()
    end
  end)
end)

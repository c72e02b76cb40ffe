local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local shown <const> = require "spec.sweep.shown"

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

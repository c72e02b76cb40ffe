local folder <const> = require "spec.delivery.folder"

local BUSTED <const> = "/usr/bin/busted"

local function busted(run, file)
  if not folder.read(BUSTED) then return end
  local out <const>, err <const>, code <const> = run(BUSTED, "--output=TAP", file)
  assert.equal("ok 1 ", out:match "ok %d+ ", out .. err)
  assert.equal(0, code)
end

describe("gibbous new", function()
  it("makes an experiment that runs, with options and a spec", function()
    folder.with(function(path, run)
      local out <const>, err <const>, code <const> = run("new", "first")
      assert.same({"first.lua and first_spec.lua are written\ngibbous first.lua --help\n", "", 0}, {out, err, code})
      assert.is_nil(folder.read(path .. "/first.lua"):find "NAME")
      assert.matches('^{"rmse": 0%.%d+, "nlpd": [-%d.]+, "converged": true}\n$', (run("first.lua", "--json", "--n=60")))
      assert.matches("^usage: gibbous first.lua %[options%]\n", (run("first.lua", "--help")))
      assert.equal(2, (select(3, run("first.lua", "--kernel=rbff"))))
      busted(run, "first_spec.lua")
    end)
  end)

  it("makes a study that sweeps can plan and run", function()
    folder.with(function(_, run)
      assert.matches("\ngibbous sweep plan night.lua\n$", (run("new", "night.lua", "--kind=sweep")))
      local _, err <const>, code <const> = run("sweep", "run", "night.lua", "--quiet")
      assert.same({"", 0}, {err, code})
      busted(run, "night_spec.lua")
    end)
  end)

  it("makes a module that can be required", function()
    folder.with(function(_, run)
      run("new", "covariances", "--kind", "module")
      assert.equal("kernel\n", (run("-e", "print(require 'gibbous'.type(require 'covariances'.seasonal(2)))")))
      busted(run, "covariances_spec.lua")
    end)
  end)

  it("overwrites nothing, and writes both files or none", function()
    folder.with(function(path, run)
      folder.write(path .. "/a_spec.lua", "mine")
      assert.same({"", "gibbous: a_spec.lua is there already: nothing was written\n", 1}, {run("new", "a")})
      assert.equal("mine", folder.read(path .. "/a_spec.lua"))
      assert.is_nil(folder.read(path .. "/a.lua"))
    end)
  end)

  it("says what is wrong", function()
    folder.with(function(_, run)
      local function refused(...) return (select(2, run("new", ...))) end
      assert.equal("gibbous: new needs a name: gibbous new NAME [--kind experiment|sweep|module]\n", refused())
      assert.matches("^gibbous: the name must be a word .*, got 'a/b'\n$", refused "a/b")
      assert.matches("^gibbous: the name must be a word .*, got 'end'\n$", refused "end")
      assert.equal("gibbous: --kind must be experiment, sweep, module, got 'swep', did you mean 'sweep'?\n",
        refused("a", "--kind", "swep"))
      assert.equal("gibbous: new takes a name and --kind, got '--kind'\n", refused("a", "--kind"))
    end)
  end)
end)

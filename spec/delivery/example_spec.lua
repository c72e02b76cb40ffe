local core <const> = require "gibbous.core"
local example <const> = require "gibbous.commands.example"
local folder <const> = require "spec.delivery.folder"

local MOST_LINES <const> = 60

describe("gibbous example", function()
  it("lists the examples, each by its first comment", function()
    folder.with(function(_, run)
      local out <const>, _, code <const> = run "example"
      assert.equal(0, code)
      assert.is_true(#example.names() >= 12)
      for _, name in ipairs(example.names()) do
        local text <const> = core.text("examples/" .. name .. ".lua")
        assert.is_true(out:find("\n" .. name .. " ", 1, true) ~= nil or out:find(name .. " ", 1, true) == 1, name)
        assert.matches("^%-%- [%u%d][^\n]+[.:]", text)
        assert.is_true(select(2, text:gsub("\n", "\n")) < MOST_LINES, name)
      end
    end)
  end)

  for _, name in ipairs(example.names()) do
    it(name .. " runs", function()
      folder.with(function(_, run)
        local out <const>, err <const>, code <const> = run("example", name)
        assert.same({"", 0}, {err, code})
        assert.is_true(#out > #core.text("examples/" .. name .. ".lua") + 10)
        assert.is_nil(out:lower():find "%f[%a]nan%f[%A]")
      end)
    end)
  end

  it("writes one, or all, and overwrites none", function()
    folder.with(function(path, run)
      assert.equal("written to there/online.lua\n", (run("example", "online", "--copy", "there")))
      assert.equal(core.text "examples/online.lua", folder.read(path .. "/there/online.lua"))
      folder.write(path .. "/there/online.lua", "mine")
      assert.same({"", "gibbous: there/online.lua is there already: nothing was written\n", 1},
        {run("example", "online", "--copy=there")})
      assert.equal("mine", folder.read(path .. "/there/online.lua"))
      run("example", "--copy", "all")
      assert.equal(#example.names(), #core.glob(path .. "/all/*.lua"))
    end)
  end)

  it("is a study that sweeps run", function()
    folder.with(function(_, run)
      run("example", "sweep", "--copy", ".")
      local out <const>, _, code <const> = run("sweep", "run", "sweep.lua", "-j", "2", "--quiet")
      assert.equal(0, code)
      assert.matches("18", out)
    end)
  end)

  it("says what is wrong", function()
    folder.with(function(_, run)
      assert.same({"", "gibbous: there is no example 'onlin', did you mean 'online'?; gibbous example lists them\n", 1},
        {run("example", "onlin")})
      assert.equal("gibbous: example takes a name and --copy DIR, got '--copy'\n", (select(2, run("example", "online", "--copy"))))
      assert.equal("gibbous: example takes a name and --copy DIR, got 'b'\n", (select(2, run("example", "a", "b"))))
    end)
  end)
end)

local shown <const> = require "spec.sweep.shown"
local unified <const> = require "gibbous.sweep.show.unified"

describe("gibbous sweep diff", function()
  local f

  setup(function()
    f = shown.ran()
    f.write("study.lua", (shown.script:gsub("or 0%.2%)", "or 0.25)")))
    f.run("run", "study.lua", "--quiet", "--keep-going")
  end)
  teardown(function() f.close() end)

  it("has parameters, results, and what was told on the way", function()
    local out <const>, _, rc <const> = f.run("diff", "study.gibbous", "3", "4")
    assert.equal(0, rc)
    assert.truthy(out:find("parameters\n      trial 3  trial 4\n", 1, true), out)
    assert.truthy(out:find("rank  0        15\nthe other 2 are the same", 1, true))
    assert.matches("nlpd +0%.511 +0%.20550000000000002 +%-0%.3055 %(%-59%.8 %%%)", out)
    assert.matches("script\nthe same code, %x+", out)
    assert.truthy(out:find("data (SHA-256)\nnone", 1, true))
    assert.truthy(out:find("on the way\n", 1, true))
    assert.truthy(out:find("trial 3    ╌ trial 4", 1, true))
  end)

  it("has the lines of the scripts that differ", function()
    local out <const> = f.run("diff", "study.lua", "3", "27")
    assert.truthy(out:find("--- script of trial 3\n+++ script of trial 27\n@@ -7,7 +7,7 @@\n", 1, true), out)
    assert.truthy(out:find("\n-    local nlpd = (p.rank == 0 and 0.5 or 0.2)", 1, true))
    assert.truthy(out:find("\n+    local nlpd = (p.rank == 0 and 0.5 or 0.25)", 1, true))
    assert.truthy(out:find("parameters\nthe same, 3\n", 1, true))
  end)

  it("names trials that there are not", function()
    local _, errors <const>, rc <const> = f.run("diff", "study.lua", "3", "999")
    assert.equal(1, rc)
    assert.truthy(errors:find("there is no trial 999", 1, true))
    assert.truthy(select(2, f.run("diff", "study.lua", "3")):find("it compares two trials, got 1 numbers", 1, true))
  end)
end)

describe("a difference of texts", function()
  it("is that of diff -u", function()
    local support <const> = require "spec.support"
    local a <const>, b <const> = os.tmpname(), os.tmpname()
    local texts <const> = {"", "x\n", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n", "a\nb\nX\nd\ne\nf\ng\nh\ni\nj\nk\nl\n",
      "b\nc\nd\ne\nf\ng\nh\ni\nj\n", "a\nb\nc\nd\ne\nf\ng\nh\nnew\ni\nj\nk\n"}
    for _, x in ipairs(texts) do
      for _, y in ipairs(texts) do
        support.write(a, x)
        support.write(b, y)
        local pipe <close> = assert(io.popen(("diff -u '%s' '%s' | tail -n +3"):format(a, b)))
        local want <const> = pipe:read "a"
        local got <const> = unified.diff(x, y, "A", "B")
        assert.equal(want, got and got:gsub("^%-%-%- A\n%+%+%+ B\n", "") .. "\n" or "")
      end
    end
    os.remove(a)
    os.remove(b)
  end)
end)

local figures <const> = require "gibbous.sweep.show.figures"
local importance <const> = require "gibbous.sweep.show.importance"
local results <const> = require "gibbous.sweep.store.results"
local shown <const> = require "spec.sweep.shown"
local gb <const> = require "gibbous"
local store <const> = require "gibbous.sweep.store"
local support <const> = require "spec.support"
local raises <const> = support.raises

describe("gibbous sweep plot", function()
  local f

  setup(function() f = shown.ran() end)
  teardown(function() f.close() end)

  local says <const> = {
    parallel = {"study: 3 combinations, the best nlpd 0.199", "data", "rank", "pol", "kin_40k"},
    slice = {"nlpd", "data", "rank", "pol", "kin_40k", ">15<"},
    heat = {"study: mean nlpd", "[0.1992]", "0.4983", "pol"},
    importance = {"what the variance of nlpd comes from, less what chance explains", "% of the variance of 17 trials", "repeats",
      "several together"},
    curve = {"study: reports of 17 trials", "best, trial", "reported value"},
    timeline = {"study: 24 trials", "failed", "process"},
    pareto = {"study: 3 combinations, mean and standard error", "nothing beats these in both", "seconds"},
  }

  for _, kind in ipairs(figures.kinds) do
    it("draws " .. kind .. " to a file and to the terminal", function()
      local _, errors <const>, rc <const> = f.run("plot", "study.lua", "--kind", kind, "--out", kind .. ".svg")
      assert.equal(0, rc, errors)
      local svg <const> = f.read(kind .. ".svg")
      for _, words in ipairs(says[kind]) do assert.truthy(svg:find(words, 1, true), kind .. ": " .. words) end
      assert.is_nil(svg:find("nan", 1, true))
      local text <const>, _, status <const> = f.run("plot", "study.gibbous", "--kind", kind)
      assert.equal(0, status)
      assert.is_true(#text > 200)
    end)
  end

  it("draws an area for each of 24 trials in the timeline, and for ok and failed in its legend", function()
    f.run("plot", "study.lua", "--kind", "timeline", "--out", "areas.svg")
    local _, areas <const> = f.read "areas.svg":gsub("fill%-opacity:0%.9;", "")
    assert.equal(24 + 2, areas)
  end)

  it("is gb.plot.sweep in a script, of a folder, a name, or a study", function()
    for _, kind in ipairs(figures.kinds) do
      local path <const> = support.path ".svg"
      gb.plot.sweep(f.path .. "/study.gibbous", {kind = kind}):save(path)
      local svg <const> = support.read(path)
      for _, words in ipairs(says[kind]) do assert.truthy(svg:find(words, 1, true), kind .. ": " .. words) end
    end
    local of <const> = {store = f.path .. "/study.gibbous", where = {data = "kin_40k"}, kind = "pareto", x = "fit.seconds",
      title = "T"}
    local path <const> = support.path ".svg"
    gb.plot.sweep(gb.sweep{name = "study", run = print, space = {a = {1}}}, of):save(path)
    assert.truthy(support.read(path):find(">rank=15<", 1, true))
    assert.truthy(support.read(path):find(">T<", 1, true))
    gb.plot.sweep("any", {store = f.path .. "/study.gibbous", where = {data = "pol", rank = 15}, kind = "timeline"}):save(path)
    raises("io", "gb.plot.sweep: there is no sweep in any.gibbous: gibbous sweep run SCRIPT makes one", gb.plot.sweep, "any")
    raises("option", "gb.plot.sweep: option 'kind' must be one of parallel", gb.plot.sweep, "any", {kind = "haet"})
    raises("option", "unknown option 'metrci', did you mean 'metric'?", gb.plot.sweep, "any", {metrci = "nlpd"})
    raises("option", "the name of a sweep, its folder or a gb.sweep value expected, got number", gb.plot.sweep, 3)
    raises("option", "no result has the number 'nlpdd', did you mean 'nlpd'?", gb.plot.sweep, f.path .. "/study.gibbous",
      {metric = "nlpdd"})
    support.sweep()
  end)

  it("draws PNG and PDF", function()
    f.run("plot", "study.lua", "--out", "x.png")
    f.run("plot", "study.lua", "--out", "x.pdf")
    assert.same({"\137PNG", "%PDF"}, {f.read "x.png":sub(1, 4), f.read "x.pdf":sub(1, 4)})
  end)

  it("takes axes, fields, and trials of some values", function()
    f.run("plot", "study.lua", "--kind", "heat", "--x", "rank", "--y", "data", "--metric", "fit.seconds", "--out", "h.svg")
    assert.truthy(f.read "h.svg":find("mean fit.seconds", 1, true))
    f.run("plot", "study.lua", "--kind", "pareto", "--x", "fit.seconds", "--where", "data=kin_40k", "--out", "p.svg")
    assert.truthy(f.read "p.svg":find("study: 2 combinations", 1, true))
    assert.truthy(f.read "p.svg":find(">rank=15<", 1, true))
  end)

  it("says why there is no figure", function()
    for words, message in pairs{["--kind haet"] = "there is no figure 'haet', did you mean 'heat'?",
      ["--kind heat --where data=pol"] = "a heat map needs two parameters with two values each",
      ["--kind heat --x rnk"] = "did you mean 'rank'?",
      ["--where data=kin_40k,rank=15"] = "no parameter of the study has two values"} do
      local list <const> = {}
      for word in words:gmatch "%S+" do list[#list + 1] = word end
      local _, errors <const>, rc <const> = f.run("plot", "study.lua", table.unpack(list))
      assert.equal(1, rc)
      assert.truthy(errors:find(message, 1, true), errors)
    end
  end)

  it("draws nothing of a study that has not run", function()
    local g <const> = shown.folder((shown.script:gsub('"study"', '"empty"'):gsub("run = function%(p, trial%)", "%0 error \"x\"")))
    g.run("run", "study.lua", "--quiet")
    for _, kind in ipairs{"parallel", "curve", "pareto", "importance"} do
      local _, errors <const>, rc <const> = g.run("plot", "study.lua", "--kind", kind)
      assert.equal(1, rc)
      assert.matches("^gibbous: no trial ", errors)
    end
    g.close()
  end)

  it("shows importance that adds up on a whole grid", function()
    local self <close> = store.open(f.path .. "/study.gibbous", "read")
    local i <const> = importance.of(results.of(self, "params LIKE '%kin_40k%' OR class = 'none'"), "nlpd")
    assert.equal(12, i.n)
    assert.is_true(i.balanced)
    assert.equal("rank", i.axes[1].name)
    assert.is_true(math.abs(i.axes[1].share + i.together + i.repeats - 1) < 1e-12)
    assert.is_true(i.axes[1].share > 0.95 and i.repeats > 0 and math.abs(i.together) < 1e-12)
  end)
end)

describe("importance", function()
  --- Trials of a full grid of two axes with values of f(a, b, r).
  local function grid(f, repeats)
    local core <const>, out <const> = require "gibbous.core", {}
    for a = 1, 3 do
      for b = 1, 4 do
        for r = 1, repeats do
          local v <const> = f(a, b, r)
          out[#out + 1] = {number = #out + 1, params = {a = a, b = b, r = r}, result = {v = v}, state = "ok",
            row = {class = "ok", state = "done", cell = core.json_encode{a = a, b = b}}}
        end
      end
    end
    return importance.of(out, "v")
  end

  it("is that of the closed form", function()
    local i <const> = grid(function(a, b) return 2 * a + b end, 1)         -- variances 4 * 2/3 and 5/4
    assert.same({"a", "b"}, {i.axes[1].name, i.axes[2].name})
    local total <const> = 4 * 2 / 3 + 5 / 4
    assert.is_true(math.abs(i.axes[1].share - 8 / 3 / total) < 1e-14)
    assert.is_true(math.abs(i.axes[2].share - 5 / 4 / total) < 1e-14)
    assert.is_true(math.abs(i.together) < 1e-14 and math.abs(i.repeats) < 1e-14)
  end)

  it("knows what only both explain, and what repeats scatter", function()
    local both <const> = grid(function(a, b) return (a - 2) * (b - 2.5) end, 2)
    assert.is_true(both.together > 1 - 1e-14 and both.axes[1].share < 1e-14)
    local scattered <const> = grid(function(_, _, r) return r end, 2)
    assert.is_true(scattered.repeats > 1 - 1e-14)
  end)

  it("takes chance off where the trials are no whole grid", function()
    local random <const> = grid(function(a, b) return (a * 7 + b * 13) % 11 end, 1)
    assert.is_true(random.balanced)
    local core <const>, trials <const>, seed = require "gibbous.core", {}, 1
    local function draw()                                  -- a fixed sequence: this is no test of luck
      seed = seed * 1103515245 + 12345 & 0x7fffffff
      return seed / 0x80000000
    end
    for i = 1, 60 do
      local p <const> = {good = draw(), idle = draw()}
      trials[i] = {number = i, params = p, result = {v = 3 * p.good + 0.3 * draw()}, state = "ok",
        row = {class = "ok", state = "done", cell = core.json_encode(p)}}
    end
    local i <const> = importance.of(trials, "v")
    assert.same({"good", "idle", false}, {i.axes[1].name, i.axes[2].name, i.balanced})
    assert.is_true(i.axes[1].share > 0.85 and i.axes[2].share < 0.01, ("%g %g"):format(i.axes[1].share, i.axes[2].share))
  end)

  it("has none of one value", function()
    assert.is_nil(grid(function() return 3 end, 1))
  end)
end)

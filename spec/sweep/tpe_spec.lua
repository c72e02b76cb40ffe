--- Axes that depend on others, and the search by tree-structured Parzen estimators.
local gb <const> = require "gibbous"
local new <const> = require "spec.sweep.study"
local space <const> = require "gibbous.sweep.search.space"
local support <const> = require "spec.support"
local tpe <const> = require "gibbous.sweep.search.tpe"

describe("an axis that depends on others", function()
  local axes <const> = {kind = {"a", "b", "c"}, period = gb.sweep.when({kind = "b"}, {1, 2}),
    depth = gb.sweep.when({kind = {"a", "b"}, period = 2}, {7, 8})}

  it("is there for their values only, in a grid", function()
    local study <const> = gb.sweep{name = "s", run = print, space = axes, repeats = 2}
    local seen <const> = {}
    for _, t in ipairs(space.trials(study)) do
      local p <const> = t.params
      if p["repeat"] == 1 then seen[#seen + 1] = ("%s %s %s"):format(p.kind, p.period, p.depth) end
    end
    table.sort(seen)
    assert.same({"a nil nil", "b 1 nil", "b 2 7", "b 2 8", "c nil nil"}, seen)
    assert.equal(10, space.count(study))
  end)

  it("is there for their values only, in a search", function()
    local study <const> = gb.sweep{name = "s", run = print, search = "random", trials = 60, space = {kind = {"a", "b"},
      period = gb.sweep.when({kind = "b"}, gb.sweep.uniform(1, 2))}}
    local n <const> = {a = 0, b = 0}
    for _, t in ipairs(space.trials(study)) do
      local p <const> = t.params
      n[p.kind] = n[p.kind] + 1
      assert.equal(p.kind == "b", p.period ~= nil)
    end
    assert.equal(1, n.a)                     -- all of kind a are one cell
    assert.is_true(n.b > 20, tostring(n.b))
  end)

  it("says what is wrong with it", function()
    local function study(s) return function() gb.sweep{name = "s", run = print, space = s} end end
    support.raises("option", "gb.sweep.when: a table of values by name", gb.sweep.when, "kind", {1})
    support.raises("option", "space.x depends on 'kind', which is no axis that lists values",
      study{x = gb.sweep.when({kind = 1}, {1})})
    support.raises("option", "space.x depends on kind = 3, which it never is",
      study{kind = {1, 2}, x = gb.sweep.when({kind = 3}, {1})})
    support.raises("option", "depends on itself", study{x = gb.sweep.when({y = 1}, {1}), y = gb.sweep.when({x = 1}, {1})})
  end)

  it("is told from its absence in tables and figures", function()
    local s <close> = new [[metric = "v", repeats = 3,
      space = {kind = {"a", "b"}, n = {1, 2}, period = gb.sweep.when({kind = "b"}, {0.1, 2})},
      run = function(p, t) return {v = p.n + (p.period or 0) + (t.seed % 10) / 100} end]]
    s:sweep("run", "-j", 2)
    local out <const>, err <const> = s:sweep("table", "--rows", "kind", "--cols", "period")
    assert.matches("^kind%s+no period%s+period=0%.1%s+period=2\n", out, 1, false, err)
    assert.matches("\na%s+1%.%S+ ± %S+ %*%s+missing%s+missing\n", out)
    for _, kind in ipairs{"parallel", "slice", "heat", "importance", "pareto"} do
      local path <const> = s:path(kind .. ".svg")
      assert.same({"", "", 0}, {s:sweep("plot", "--kind", kind, "--out", path)})
    end
    assert.equal(0, select(3, s:sweep("report", "--out", s:path "report.html")))
  end)

  it("is found again where a value of it lies", function()
    local s <const> = gb.sweep{name = "s", run = print, search = "random", trials = 1, space = {a = gb.sweep.uniform(-3, 5),
      b = gb.sweep.log_uniform(1e-3, 10), c = gb.sweep.integers(2, 9), d = gb.sweep.integers(1, 99, {log = true}),
      e = {"x", true, 3}}}
    for i = 0, 40 do
      local u <const> = {}
      for k in ipairs(s.space) do u[k] = (i + 0.5) / 41 end
      local cell <const>, back <const> = space.cell(s.space, u), {}
      for k, axis in ipairs(s.space) do back[k] = space.place(axis, cell[axis.name]) end
      assert.same(cell.e, space.cell(s.space, back).e)
      for _, name in ipairs{"a", "b", "c", "d"} do support.near(cell[name], space.cell(s.space, back)[name], 1e-12) end
    end
  end)
end)

describe("a Parzen estimator", function()
  local function study(axes)
    return gb.sweep{name = "s", run = print, search = "tpe", trials = 9, metric = "v", space = axes}
  end

  it("is a mean of reflected kernels and of the whole space", function()
    local s <const> = study{x = gb.sweep.uniform(0, 10)}
    local cells <const> = {{x = 1}, {x = 9.8}}
    local p <const> = tpe.parzen(s.space, cells)
    local w <const> = 0.2 * 3 ^ (-1 / 5)     -- by hand: two cells, one axis
    for i = 0, 20 do
      local x <const>, sum = i / 20, 1
      for _, m in ipairs{0.1, 0.98} do
        for image = -4, 4 do                 -- all images of the kernel in the two ends, by their whole series
          for _, c in ipairs{2 * image + m, 2 * image - m} do
            sum = sum + math.exp(-(x - c) ^ 2 / (2 * w * w)) / (w * math.sqrt(2 * math.pi))
          end
        end
      end
      support.near(sum / 3, tpe.density(p, tpe.located(s.space, {x = 10 * x})), 1e-6, tostring(x))
    end
  end)

  it("integrates to one over words and numbers together, with an axis of one word alone", function()
    local s <const> = study{kind = {"a", "b", "c"}, x = gb.sweep.uniform(0, 1),
      y = gb.sweep.when({kind = "b"}, gb.sweep.uniform(0, 1))}
    local p <const> = tpe.parzen(s.space, {{kind = "a", x = 0.2}, {kind = "b", x = 0.9, y = 0.4}, {kind = "a", x = 0.5}})
    local n <const> = 60
    local sum = 0
    for i = 1, n do
      for _, kind in ipairs{"a", "c"} do
        sum = sum + tpe.density(p, tpe.located(s.space, {kind = kind, x = (i - 0.5) / n})) / n
      end
      for j = 1, n do
        sum = sum + tpe.density(p, tpe.located(s.space, {kind = "b", x = (i - 0.5) / n, y = (j - 0.5) / n})) / n ^ 2
      end
    end
    support.near(1, sum, 1e-3)
  end)

  it("divides cells by their values, and counts what has none with the others", function()
    local list <const> = {}
    for i = 1, 20 do list[i] = {cell = i, value = (i * 7) % 20} end
    list[21], list[22] = {cell = 21, ended = true}, {cell = 22, ended = false}
    local better <const>, others <const> = tpe.divided(list)
    assert.same({20, 3, 6}, better)          -- 15 % of twenty: the values 0, 1 and 2
    assert.equal(19, #others)
  end)
end)

describe("a search by Parzen estimators", function()
  local MIXED <const> = [[search = "tpe", trials = 60, metric = "v", seed = 3,
    space = {kind = {"a", "b"}, rate = gb.sweep.log_uniform(1e-4, 1), n = gb.sweep.integers(1, 60),
      period = gb.sweep.when({kind = "b"}, gb.sweep.uniform(0, 4))},
    run = function(p)
      if p.n == 60 then error "too many" end
      return {v = math.log(p.rate / 1e-2, 10) ^ 2 + (p.n / 20 - 1) ^ 2 + (p.kind == "b" and (p.period - 1) ^ 2 or 1)}
    end]]

  local function best(s)
    local v = math.huge
    for _, t in ipairs(s:trials "class = 'ok'") do v = math.min(v, t.metric) end
    return v
  end

  it("comes nearer to the minimum of a mixed space than random numbers do, and is the same again", function()
    local a <close> = new(MIXED)
    local out <const>, err <const>, code <const> = a:sweep("run", "-j", 1, "--keep-going")
    assert.is_true(code == 0 or code == 3, out .. err)
    assert.equal(60, #a:trials())
    local r <close> = new((MIXED:gsub('"tpe"', '"random"')))
    r:sweep("run", "-j", 2, "--keep-going")
    assert.is_true(best(a) < best(r) / 2, ("tpe %.4g, random %.4g"):format(best(a), best(r)))
    local b <close> = new(MIXED)
    b:sweep("run", "-j", 1, "--keep-going")
    assert.equal(a:results(), b:results())
    for _, t in ipairs(a:trials()) do assert.equal(t.params:find('"kind":"b"', 1, true) ~= nil, t.params:find "period" ~= nil) end
  end)

  it("tries no cell twice and ends where there is no more, with several trials at once", function()
    local s <close> = new [[search = "tpe", trials = 50, metric = "v", space = {a = {1, 2, 3}, b = {"x", "y"}},
      run = function(p) return {v = p.a} end]]
    assert.equal(0, select(3, s:sweep("run", "-j", 3)))
    assert.equal(6, #s:trials "class = 'ok'")
  end)
end)

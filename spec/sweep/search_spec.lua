--- Searches of a space: random, Sobol, and by a Gaussian process with the expected improvement.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"
local space <const> = require "gibbous.sweep.search.space"
local store <const> = require "gibbous.sweep.store"
local support <const> = require "spec.support"

describe("gb.bo.log_ei", function()
  -- log(phi(z) + z Phi(z)) to 17 digits, by 50-digit arithmetic.
  local exact <const> = {{-1e4, -50000019.339619307}, {-40, -808.29856835661996}, {-20.5, -217.09186837038313},
    {-19.5, -196.99258561722833}, {-5, -16.744301162660990}, {-1.0001, -2.4853114564458834}, {-0.5, -1.6205162643873199},
    {3, 1.0987396653277078}}

  local function one(z, o)
    local sd <const> = gb.full({1}, 2, {dtype = "f64"})
    return gb.bo.log_ei(gb.tensor({-z * 2 + 3}, {dtype = "f64"}), sd, 3, o):item() - math.log(2)
  end

  it("has ten digits from -10,000 standard deviations to 3", function()
    for _, row in ipairs(exact) do support.near(row[2], one(row[1]), 1e-10, tostring(row[1])) end
  end)

  it("is that of the other side for a maximum", function()
    local mean <const>, sd <const> = gb.tensor{1, 2}, gb.tensor{0.5, 2}
    support.near(gb.bo.log_ei(mean, sd, 1.5), gb.bo.log_ei(-mean, sd, -1.5, {goal = "max"}), 1e-14)
  end)

  it("has gradients that agree with differences on every branch", function()
    for _, z in ipairs{-300, -21, -19, -2, -0.9, 0, 4} do
      local mean <const> = gb.tensor({-z}, {dtype = "f64"})
      local function f(m) return gb.bo.log_ei(m, gb.ones(1, {dtype = "f64"}), 0):sum() end
      local h <const> = 1e-5 * math.max(1, math.abs(z))
      local difference <const> = (f(mean + h):item() - f(mean - h):item()) / (2 * h)
      support.near(difference, gb.grad(f(mean), mean):item(), 1e-6, tostring(z))
    end
  end)

  it("says what it wants", function()
    support.raises("option", "mean and sd must be tensors", gb.bo.log_ei, 1, 2, 3)
    support.raises("option", "best must be a tensor or a number, got string x", gb.bo.log_ei, gb.ones(1), gb.ones(1), "x")
    support.raises("option", "did you mean 'goal'?", gb.bo.log_ei, gb.ones(1), gb.ones(1), 1, {gaol = "min"})
  end)
end)

describe("a space", function()
  local function study(search, trials)
    return gb.sweep{name = "s", run = print, search = search, trials = trials, metric = "v", space = {a = gb.sweep.uniform(-1, 1),
      b = gb.sweep.log_uniform(1e-3, 10), c = gb.sweep.integers(2, 5), d = {"x", "y", "z"}}}
  end

  it("is drawn within its ends, and the first points of more are those of fewer", function()
    for _, search in ipairs{"random", "sobol"} do
      local few <const>, many <const> = space.trials(study(search, 16)), space.trials(study(search, 64))
      assert.equal(16, #few)
      local seen <const> = {c = {}, d = {}}
      for i, t in ipairs(many) do
        if i <= 16 then assert.same(few[i].params, t.params) end
        local p <const> = t.params
        assert.is_true(p.a >= -1 and p.a < 1 and p.b >= 1e-3 and p.b < 10 and math.type(p.c) == "integer" and p.c >= 2 and p.c <= 5)
        seen.c[p.c], seen.d[p.d] = true, true
      end
      assert.same({[2] = true, [3] = true, [4] = true, [5] = true}, seen.c)
      assert.same({x = true, y = true, z = true}, seen.d)
    end
  end)

  it("lists a value once, and tells words from the tables that are written so", function()
    local axis <const> = space.axes({a = {"[1]", {1}, 1, "1"}}, "grid", "space")[1]
    assert.equal(4, #axis.values)
    for _, twice in ipairs{{1, 1.0}, {"x", "x"}, {{1}, {1}}} do
      support.raises("option", " twice", space.axes, {a = twice}, "grid", "space")
    end
  end)

  it("has its axes checked where they are asked for, in the process of a trial", function()
    local study <const> = {name = "a", run = print, space = {a = {1, 2}, b = {3, 3}}}
    support.raises("option", "b holds 3 twice", gb.sweep, study)
    finally(function() space.deferred = nil end)
    space.deferred = true
    local wrong <const> = gb.sweep(study)
    support.raises("option", "b holds 3 twice", function() return wrong.space end)
    study.space.b = nil
    local s <const> = gb.sweep(study)
    assert.is_nil(rawget(s, "space"))
    assert.same({1, 2}, s.space[1].values)
    assert.same({}, s.repeats)
    assert.matches("2 trials", tostring(s), 1, true)
  end)

  it("is another one for another seed", function()
    local function one(seed)
      local axes <const> = {a = gb.sweep.uniform(0, 1)}
      return gb.sweep{name = "s", run = print, search = "random", trials = 1, space = axes, seed = seed}
    end
    local a <const>, b <const> = one(1), one(2)
    assert.is_not_equal(space.trials(a)[1].params.a, space.trials(b)[1].params.a)
  end)

  it("says what is wrong with its ends", function()
    support.raises("option", "the first end must be below the second", gb.sweep.uniform, 1, 1)
    support.raises("option", "two numbers expected, got number nan", gb.sweep.uniform, 0 / 0, 1)
    support.raises("option", "both ends must be above 0", gb.sweep.log_uniform, 0, 1)
    support.raises("option", "two whole numbers expected", gb.sweep.integers, 0.5, 2)
    support.raises("option", "say how many, trials = 50", gb.sweep, {name = "s", run = print, search = "sobol"})
    support.raises("option", "needs a metric", gb.sweep, {name = "s", run = print, search = "gp", trials = 3})
  end)
end)

describe("a search by a Gaussian process", function()
  local BRANIN <const> = [[search = "gp", trials = 30, metric = "v",
    space = {x = gb.sweep.uniform(-5, 10), y = gb.sweep.uniform(0, 15)},
    run = function(p)
      local b, c, t = 5.1 / (4 * math.pi ^ 2), 5 / math.pi, 1 / (8 * math.pi)
      return {v = (p.y - b * p.x ^ 2 + c * p.x - 6) ^ 2 + 10 * (1 - t) * math.cos(p.x) + 10}
    end]]

  it("comes within 0.05 of the minimum of Branin's function in 30 trials, and is the same again", function()
    local a <close> = new(BRANIN)
    local out <const>, err <const>, code <const> = a:sweep("run", "-j", 1)
    assert.equal(0, code, out .. err)
    assert.equal(30, #a:trials())
    local best = math.huge
    for _, t in ipairs(a:trials()) do best = math.min(best, t.metric) end
    assert.is_true(best >= 0.397887 and best <= 0.397887 + 0.05, ("best %.6g"):format(best))
    local b <close> = new(BRANIN)
    b:sweep("run", "-j", 1)
    assert.equal(a:results(), b:results())
    assert.equal(0, select(3, a:sweep("run", "-j", 1)))
    assert.equal(30, #a:trials())
  end)

  it("searches words, numbers and failures together, and for a maximum", function()
    local s <close> = new [[search = "gp", trials = 20, metric = "v", goal = "max",
      space = {kind = {"a", "b", "c"}, n = gb.sweep.integers(1, 40, {log = true})}, run = function(p)
        if p.kind == "c" then error("c is bad " .. p.n) end
        return {v = (p.kind == "b" and 1 or 0) - math.log(p.n / 12) ^ 2}
      end]]
    s:sweep("run", "-j", 2, "--keep-going")
    local best
    for _, t in ipairs(s:trials "class = 'ok'") do best = best and best.metric > t.metric and best or t end
    assert.matches('"kind":"b"', best.params, 1, true)
    assert.is_true(best.metric > 0.9, tostring(best.metric))
    local bad <const> = s:trials "class = 'error'"
    assert.is_true(#bad >= 1 and #bad <= 8, ("%d trials of the kind that fails"):format(#bad))
  end)

  for _, carrier in ipairs{"sqlite", "journal"} do
    it("adds no cell to a study that has all: " .. carrier, function()
      local s <close> = new "run = print"
      local db <close> = store.open(s.store, "create", carrier)
      local function add(id, cell) return db:add({{id = id, params = "{}", cell = cell, seed = 1}}, "code", 2) end
      assert.equal(1, add("0000000000000001", "a"))
      assert.equal(1, add("0000000000000002", "b"))
      assert.equal(0, add("0000000000000003", "c"))
      assert.equal(1, add("0000000000000004", "b"))          -- another repeat of a cell
      assert.equal(0, add("0000000000000005", "d"))
      assert.equal(3, #db:trials "wanted = 1")
    end)

    it("has as many cells as were asked for, however many coordinators look for them: " .. carrier, function()
      local s <close> = new [[search = "gp", trials = 12, metric = "v",
        space = {x = gb.sweep.uniform(0, 1), y = gb.sweep.uniform(0, 1)}, repeats = 2,
        run = function(p) return {v = (p.x - 0.3) ^ 2 + (p.y - 0.6) ^ 2} end]]
      local list <const> = {}
      for i, verb in ipairs{"run", "work", "work", "work"} do
        list[i] = core.child({process.binary, "sweep", verb, s.script, "--store", s.store, "--quiet", "-j", "2"},
          {"GIBBOUS_STORE=" .. carrier}, s:path "output.txt")
      end
      for _, child in ipairs(list) do assert.equal(0, child:reap().exit) end
      local cells <const>, rows <const> = {}, s:trials()
      for _, t in ipairs(rows) do cells[t.cell] = (cells[t.cell] or 0) + 1 end
      assert.equal(24, #rows)
      for _, n in pairs(cells) do assert.equal(2, n) end
      assert.equal(24, #s:trials "class = 'ok' AND attempts = 1")
    end)
  end
end)

--- What a prediction is forecast to take: which products and factors are planned, and how bytes, seconds and texts are made of
-- their plans. The plans are given here; those of a machine are in predict_spec.lua.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local forecast <const> = require "gibbous.gp.exact.forecast"
local model <const> = require "gibbous.gp.model"
local support <const> = require "spec.support"
local variance <const> = require "gibbous.gp.exact.variance"
local K <const>, S <const> = gb.kernels, gb.solvers

local x <const>, y <const>, t <const> = gb.tensor{1, 2, 3, 5}, gb.tensor{1, 0, 1, 0}, gb.tensor{1.5, 2.5, 4}:unsqueeze(2)

local function given(solver, dtype)
  return gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = solver}:condition(x:to{dtype = dtype or "f64"},
    y:to{dtype = dtype or "f64"})
end

--- f() where the plans asked for are these, in order, {seconds, peak, minimum}; gives what f gives and the shapes that were
-- planned.
local function with_plans(plans, f)
  local asked <const>, closed = {}, 0
  local function plan(tensors, o)
    assert.is_nil(o)
    local shapes <const> = {}
    for i, v in ipairs(tensors) do shapes[i] = tostring(v.shape) end
    asked[#asked + 1] = table.concat(shapes, " ")
    local p <const> = plans[#asked]
    if p.refused then core.raise("refused", "no room") end
    return setmetatable({seconds = p[1], peak = p[2], minimum = p[3]}, {__close = function() closed = closed + 1 end})
  end
  local got <const> = support.with(core, {plan = plan, know_rates = function() end}, f)
  assert.equal(#plans, #asked)
  return got, asked
end

--- The forecast of a field of a model: {what, bytes, minimum, kept, seconds} and the shapes.
local function of(m, key, plans, o, columns, at)
  return with_plans(plans, function() return forecast.of(m, at or t, o or {}, key, columns) end)
end

local function is(want, w) assert.same(want, {w.what, w.bytes, w.minimum, w.kept, w.seconds}) end

describe("the forecast of a prediction by a factor", function()
  it("is of the factor and what the field takes, one after the other", function()
    local w, asked = of(given "direct", "mean", {{1, 100, 50}, {2, 300, 200}})
    is({"the mean of 3 points: about 3 s, a factor of order 4, a pass over all pairs", 460, 360, 184, 3}, w)
    assert.same({"4x4 4", "3 3"}, asked)
    w, asked = of(given "direct", "f_var", {{1, 1000, 900}, {2, 300, 200}})
    is({"the variances of 3 points: about 3 s, a factor of order 4, triangular solves", 1000, 900, 184, 3}, w)
    assert.same({"4x4 4", "3"}, asked)
    w, asked = of(given "direct", "f_cov", {{1, 100, 50}, {2, 300, 200}})
    is({"the covariance of 3 points: about 3 s, a factor of order 4, triangular solves", 460, 360, 160 + 72, 3}, w)
    assert.same({"4x4 4", "3x3"}, asked)
    w = of(given "direct", "f_var_bound", {{1, 100, 50}, {2, 300, 200}}, nil, nil, gb.ones(1, 1))
    assert.equal("the bounds of variances of 1 point: about 3 s, a factor of order 4, triangular solves", w.what)
    w = of(given("direct", "f32"), "f_cov", {{1, 100, 50}, {2, 300, 200}}, nil, nil, t:to{dtype = "f32"})
    is({"the covariance of 3 points: about 3 s, a factor of order 4, triangular solves", 380, 280, 80 + 36, 3}, w)
  end)

  it("is of the field alone where the model is prepared", function()
    local m <const> = given "direct"
    m:predict(t).mean:eval()
    is({"the mean of 3 points: about 2 s, a pass over all pairs", 300, 200, 24, 2}, (of(m, "mean", {{2, 300, 200}})))
    m:set("likelihood.noise", 0.2)
    is({"the mean of 3 points: about 3 s, a factor of order 4, a pass over all pairs", 460, 360, 184, 3},
      (of(m, "mean", {{1, 100, 50}, {2, 300, 200}})))
  end)

  it("has the machine measured, and tries no solver", function()
    local measured, untried = 0, nil
    support.with(require "gibbous.gp.exact.objective", {decide = function(_, budget, not_tried)
      assert.is_nil(budget)
      untried = not_tried
      return "direct"
    end}, function()
      support.with(core, {know_rates = function() measured = measured + 1 end},
        function() forecast.of(given "auto", t, {}, "mean") end)
    end)
    assert.same({1, true}, {measured, untried})
  end)

  it("has no seconds where those of a part are not known", function()
    for _, plans in ipairs{{{nil, 100, 50}, {2, 300, 200}}, {{1, 100, 50}, {nil, 300, 200}}} do
      is({"the mean of 3 points: a factor of order 4, a pass over all pairs", 460, 360, 184,
        nil}, (of(given "direct", "mean", plans)))
    end
  end)

  it("with cached variances is of the basis and its use", function()
    local m <const> = given "direct"
    m:predict(t).mean:eval()
    local w, asked = of(m, "f_var", {{1, 1000, 50}, {0.5, 300, 200}}, {variance = "cached", rank = 2})
    is({"the variances of 3 points: about 3.5 s, a cache of rank 2", 1256, 1256, 24, 3.5}, w)
    assert.same({"4x2", "2x3"}, asked)
    w, asked = of(m, "f_var", {{1, 100, 50}, {0.5, 300, 200}}, {variance = "cached"})
    is({"the variances of 3 points: about 3.5 s, a cache of rank 4", 812, 812, 24, 3.5}, w)
    assert.same({"4x4", "4x3"}, asked)
    w = of(m, "f_var", {{nil, 100, 50}, {0.5, 300, 200}}, {variance = "cached", rank = 9})
    is({"the variances of 3 points: a cache of rank 4", 812, 812, 24, nil}, w)
    local many <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = "direct"}:condition(gb.rand(101), gb.ones(101))
    w = of(many, "f_var", {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, {variance = "cached"})
    assert.matches("a cache of rank 100$", w.what)
    w = of(m, "mean", {{2, 300, 200}}, {variance = "cached"})
    assert.equal("the mean of 3 points: about 2 s, a pass over all pairs", w.what)
  end)
end)

describe("the forecast of a prediction by a solver", function()
  local function solver(o) return S.cg{max_iter = o or 7, tol = 1e-6, train_tol = 1e-2} end

  it("is of one solve, and one for the points, as many steps as there may be", function()
    local w, asked = of(given(solver()), "mean", {{1, 100, 50}, {2, 300, 200}})
    is({"the mean of 3 points: about 10 s, a solve, a pass over all pairs; about 7 steps each, at most: no solve before",
      420, 420, 32 + 24, 10}, w)
    assert.same({"4x1", "3 3"}, asked)
    w, asked = of(given(solver(70)), "f_var", {{1, 100, 50}, {2, 300, 200}})
    is({"the variances of 3 points: about 2.05 minutes, a solve, a solve of 3 columns; about 40 steps each, at most: "
      .. "no solve before",
      32 + 300 + 960, 1292, 56, 41 + 82}, w)
    assert.same({"4x1", "4x3"}, asked)
    w = of(given(solver()), "f_var", {{nil, 100, 50}, {2, 300, 200}})
    is({"the variances of 3 points: a solve, a solve of 3 columns; about 7 steps each, at most: no solve before", 1292,
      1292, 56, nil}, w)
    w, asked = of(given(solver()), "f_var", {{1, 100, 50}, {1, 100, 50}, {1, 100, 50}}, {variance = "cached", rank = 2})
    assert.equal("the variances of 3 points: about 12 s, a solve, a cache of rank 2; about 7 steps each, at most: "
      .. "no solve before", w.what)
    assert.same({"4x1", "4x2", "2x3"}, asked)
  end)

  it("takes the points in slices, as the solver does", function()
    local m <const> = given(solver())
    m:predict(t).mean:eval()
    model.fields(m).state.solve.iterations = 5
    for _, row in ipairs{{3, "12 s, 2 solves"}, {4, "12 s, 2 solves"}, {5, "18 s, 3 solves"}} do
      local at <const>, text <const> = table.unpack(row)
      support.with(variance, {width = function(count, points)
        assert.same({at, 4}, {count, points})
        return 2
      end}, function()
        local w <const>, asked <const> = of(m, "f_var", {{1, 100, 50}}, nil, nil, gb.ones(at, 1))
        assert.same({"4x2"}, asked)
        is({("the variances of %d points: about %s of 2 columns; about 5 steps each, as the last one"):format(at, text), 740, 740,
          8 * at,
          math.tointeger(tonumber(text:match "%d+"))}, w)
      end)
    end
    local w <const> = of(m, "f_var", {{1, 100, 50}}, nil, nil, gb.ones(1, 1))
    assert.equal("the variances of 1 point: about 6 s, a solve; about 5 steps each, as the last one", w.what)
  end)

  it("takes the steps of the model's last solve, or those of its fit", function()
    local m <const> = given(solver(70))
    local f <const> = model.fields(m)
    local function steps()
      return of(m, "mean", {{1, 100, 50}, {2, 300, 200}}).what:match "; (.*)$"
    end
    f.info = {solve_log = {solves = 2, iterations = 9}}
    assert.equal("about 14 steps each, by those of the fit", steps())           -- 4.5 to a tolerance of 1e-2, three times for 1e-6
    f.info = {solve_log = {solves = 1, iterations = 14}}
    assert.equal("about 40 steps each, by those of the fit", steps())
    f.info = {solve_log = {solves = 0, iterations = 0}}
    assert.equal("about 40 steps each, at most: no solve before", steps())
    f.info = {solve_log = {solves = 1, iterations = 0}}
    assert.equal("about 40 steps each, at most: no solve before", steps())
    f.info = {solve_log = {solves = 1, iterations = 1}}
    assert.equal("about 3 steps each, by those of the fit", steps())
    local coarse <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = S.cg{tol = 1e-2, train_tol = 1e-4}}:condition(x, y)
    model.fields(coarse).info = {solve_log = {solves = 1, iterations = 5}}
    assert.matches("; about 5 steps each, by", of(coarse, "mean", {{1, 100, 50}, {2, 300, 200}}).what)
    m:predict(t).mean:eval()
    f.state.solve.iterations = 0
    f.info = nil
    assert.matches("; about 40 steps each, at most", of(m, "f_var", {{1, 100, 50}}).what)
    f.state.solve.iterations = 1
    assert.matches("; about 1 steps each, as the last one", of(m, "f_var", {{1, 100, 50}}).what)
  end)

  it("has the solves of fantasies besides, and those of the prior are a product", function()
    local w, asked = of(given(solver()), "mean", {{2, 300, 200}, {1, 100, 50}, {1, 400, 350}}, nil, 2)
    assert.same({"4x1", "3 3", "4x2"}, asked)
    assert.equal("the mean of 3 points: about 25 s, a solve, a solve of 2 columns, a pass over all pairs; about 7 steps "
      .. "each, at most: no solve before", w.what)
    asked = select(2, of(given "direct", "mean", {{1, 100, 50}, {2, 300, 200}}, nil, 2))
    assert.same({"4x4 4", "3 3"}, asked)
    local prior <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}
    for _, m in ipairs{prior, prior:condition(gb.zeros(0, 1), gb.zeros(0))} do
      w, asked = of(m, "f_cov", {{2, 300, 200}}, nil, 2)
      is({"the covariance of 3 points: fantasies of the prior", 300, 200, 300, 2}, w)
      assert.same({"3x3"}, asked)
      asked = select(2, of(m, "f_var", {{2, 300, 200}}, nil, 2))
      assert.same({"3"}, asked)
    end
  end)
end)

describe("a forecast of hours", function()
  local prepared <const> = given(S.cg{max_iter = 7})
  prepared:predict(t).mean:eval()
  model.fields(prepared).state.solve.iterations = 7

  it("names them, and what takes less", function()
    local function what(key, plans, o, m) return of(m or prepared, key, plans, o).what end
    assert.equal("the mean of 3 points: about 59 s, a pass over all pairs", what("mean", {{59, 1, 1}}))
    assert.equal("the mean of 3 points: about 0.12 s, a pass over all pairs", what("mean", {{0.125, 1, 1}}))
    assert.equal("the mean of 3 points: about 1 minutes, a pass over all pairs", what("mean", {{60, 1, 1}}))
    assert.equal("the mean of 3 points: about 60 minutes, a pass over all pairs", what("mean", {{3599, 1, 1}}))
    assert.equal("the mean of 3 points: about 1 hours, a pass over all pairs. Less: time is proportional to the points",
      what("mean", {{3600, 1, 1}, {3600, 1, 1}, {0, 1, 1}}))
    local head <const> = "the variances of 3 points: about 8 hours, a solve of 3 columns; about 7 steps each, as the "
      .. "last one. Less: "
    local cached <const> = 'variance = "cached" takes about 40 s; p.f_var_bound bounds their excess; '
    local function variances(...) return what("f_var", {{3600, 100, 50}, ...}) end
    assert.equal(head .. cached .. 'solver = "direct" takes about 2 minutes; time is proportional to the points',
      variances({10, 1, 1}, {10, 1, 1}, {60, 1, 1}, {60, 1, 1}))
    assert.equal(head .. cached .. "time is proportional to the points",
      variances({10, 1, 1}, {10, 1, 1}, {28800, 1, 1}, {0, 1, 1}))
    assert.equal(head .. cached .. "time is proportional to the points",
      variances({10, 1, 1}, {10, 1, 1}, {nil, 1, 1}, {1, 1, 1}))
    assert.equal(head .. "time is proportional to the points", variances({9600, 1, 1}, {1, 1, 1}, {28801, 1, 1}, {1, 1, 1}))
    assert.equal(head .. cached .. "time is proportional to the points", variances({10, 1, 1}, {10, 1, 1}, {refused = true}))
    assert.equal("the variances of 3 points: about 1.01 hours, a cache of rank 4. Less: time is proportional to the points",
      what("f_var", {{1200, 1, 1}, {30, 1, 1}}, {variance = "cached"},  (function()
        local m <const> = given "direct"
        m:predict(t).mean:eval()
        return m
      end)()))
  end)

  it("offers a factor where there is room for it", function()
    local function offered(room)
      return support.with(core.memory, {room = function() return room end}, function()
        return of(prepared, "mean", {{3600, 1, 1}, {5, 1000, 700}, {5, 300, 200}}).what
      end)
    end
    assert.matches('Less: solver = "direct" takes about 10 s; time is', offered(700))
    assert.matches("Less: time is", offered(699))
  end)
end)

describe("hours to come", function()
  it("are told once, on stderr, where pairs times points are many", function()
    local name <const> = "gibbous.gp.exact.forecast"
    local loaded <const> = package.loaded[name]
    package.loaded[name] = nil
    local fresh <const> = require(name)
    package.loaded[name] = loaded
    local large <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = "direct"}:condition(gb.rand(100000, {seed = 1}),
      gb.zeros(100000))
    local told <const>, asked = {}, 0
    local function announce(m, points, seconds)
      local function plan()
        asked = asked + 1
        if seconds == "refused" then core.raise("refused", "no room") end
        return setmetatable({seconds = seconds, peak = 1, minimum = 1}, {__close = function() end})
      end
      support.with(core, {plan = plan, know_rates = function() end}, function()
        support.with(io, {stderr = {write = function(_, ...) told[#told + 1] = table.concat{...} end}}, function()
          fresh.announce(m, gb.zeros(points, 1), {}, "mean")
        end)
      end)
      return #told
    end
    assert.equal(0, announce(gb.gp.exact{kernel = K.rbf{}}, 100, 1e4))
    assert.equal(0, announce(large, 99, 1e4))
    assert.equal(0, asked)
    assert.equal(0, announce(large, 100, 1799))
    assert.equal(0, announce(large, 100, nil))
    assert.equal(0, announce(large, 100, "refused"))
    assert.equal(1, announce(large, 100, 1800))
    assert.equal(1, announce(large, 100, 1e4))
    assert.same({"gibbous: the mean of 100 points: about 1 hours, a factor of order 100000, a pass over all pairs. "
      .. "Less: time is proportional to the points\n"}, told)
  end)
end)

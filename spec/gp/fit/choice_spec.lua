--- How solver = "auto" weighs a factor against a solver: what is planned, how many steps are tried, and which is chosen. Plans
-- and the solver are given here; those of a machine are in gp_fit_spec.lua.
local gb <const> = require "gibbous"
local algorithm <const> = require "gibbous.gp.algorithm"
local choice <const> = require "gibbous.gp.exact.solver_choice"
local core <const> = require "gibbous.core"
local support <const> = require "spec.support"
local raises <const> = support.raises

local n <const> = 6
local x <const>, y <const> = gb.range(1, n):to{dtype = "f64"} * 3, gb.tensor{3, 1, 2, 5, 4, 2}

local function model(o)
  return gb.gp.exact{kernel = gb.kernels.rbf{variance = 2}, mean = gb.means.constant(1), noise = 0.5}:condition(
    x:to{dtype = o and o.dtype or "f64"}, y:to{dtype = o and o.dtype or "f64"})
end

--- A solver of three probes; o: fields of its options, 'planned', 'iterations' of a solve. asked: what solves were asked for.
local function solver_of(o, asked)
  local s <const> = {planned = o.planned, building = o.building}
  s.o = {probes = not o.planned and 3 or nil, tol = 1e-6, train_tol = o.train_tol or 1e-2,
    max_iter = o.max_iter or 1000, precond = o.precond}
  function s.probe_count(_, count) return count == n and 4 or 0 end
  function s.prepare(self, c, k, noise)
    return {solve = function(_, columns)
      asked[#asked + 1] = {o = self.o, c = c, k = k, noise = noise, columns = columns}
      if o.trial then o.trial() end
      return columns, {iterations = o.iterations}
    end}
  end
  return setmetatable(s, {__tostring = function() return "stepping" end})
end

--- f() where plans(what, budget) gives {seconds, bytes, minimum}; what: the algorithm of a step, or the shape of a product.
local function with_plans(plans, f)
  local open = 0
  local function plan(tensors, o)
    local what <const> = type(tensors[1]) == "table" and tensors[1].of or tostring(tensors[1].shape)
    local p <const> = plans(what, o and o.budget)
    if p.refused then core.raise("refused", "too large", {minimum = p[3]}) end
    if p.failed then error("failed", 0) end
    open = open + 1
    return {seconds = p[1] ~= 0 and p[1] or nil, peak = p[2], minimum = p[3], close = function() open = open - 1 end}
  end
  local got <const> = table.pack(support.with(core, {plan = plan, know_rates = function() end}, f))
  assert.equal(0, open)
  return table.unpack(got, 1, got.n)
end

local function step(s)
  if s ~= "direct" and s.building then s.building() end
  return {{of = s == "direct" and "direct" or "stepping"}}
end

--- What is chosen where a direct step has this plan and a product of the solver's columns that one: the name, the record, the
-- trial.
local function decided(o)
  local asked <const> = {}
  local solver <const> = solver_of(o, asked)
  local chosen <const>, record <const> = with_plans(function(what, budget)
    if what == "direct" then
      assert.equal(o.budget or core.memory.room(), budget)
      return o.direct
    end
    if what == "stepping" then return o.step end
    if what == (o.planned and "6x5" or "6x4") then return o.product end
    return assert(o.preconditioner and what == "2x4" and o.preconditioner, what)
  end, function()
    return support.with(core.memory, {room = function() return 2 ^ 30 end}, function()
      return support.with(require "gibbous.solvers", {for_models = function(dtype)
        assert.equal("f64", dtype)
        return solver
      end}, function() return choice.decide(model(), step, o.budget, o.untried) end)
    end)
  end)
  return tostring(chosen), record, asked
end

--- The record as {solver, reason, seconds, steps, at_least} of the iterative cost.
local function is(want, o)
  local name <const>, r <const>, asked <const> = decided(o)
  assert.equal(want[1], name)
  assert.equal(want[1], r.solver)
  assert.equal(want[2], r.reason)
  if want[3] then support.near(want[3], r.iterative.seconds, 1e-12) else assert.is_nil(r.iterative.seconds) end
  assert.same({want[4], want[5]}, {r.iterative.steps, r.iterative.at_least})
  return r, asked
end

describe("a choice by predicted times", function()
  local QUICK <const>, SLOWER <const>, FITS <const> = "exact and quick enough", "exact and no slower", "exact, and it fits"

  it("keeps a direct step that takes no longer than setting a solver up", function()
    local r <const>, asked <const> = is({"direct", QUICK, 1e-3, nil, true}, {direct = {1e-3, 500, 400}})
    assert.same({{seconds = 1e-3, bytes = 500, minimum = 400}, 8 * 6 * 40, 2 ^ 30}, {r.direct, r.iterative.bytes, r.budget})
    assert.equal(0, #asked)
    is({"direct", QUICK, 14e-4, 10, true}, {direct = {1.001e-3, 500, 400}, product = {1e-4, 100, 50}})
  end)

  it("keeps one of up to a second, where nothing is tried", function()
    local _, asked <const> = is({"direct", QUICK, 0.14, 10, true},
      {direct = {1, 500, 400}, product = {0.01, 100, 50}, iterations = 1})
    assert.equal(0, #asked)
  end)

  it("tries as many steps as would be faster twice over, with a hundredth of the noise", function()
    local r <const>, asked <const> = is({"stepping", "the faster one", 0.24, 20},
      {direct = {1.01, 500, 400}, product = {0.01, 100, 50},
      iterations = 20})
    assert.equal(100 + 8 * 6 * 40, r.iterative.bytes)
    assert.equal(1, #asked)
    local trial <const> = asked[1]
    assert.same({47, 1e-2, 3}, {trial.o.max_iter, trial.o.tol, trial.o.probes})
    support.near(0.005, trial.noise, 1e-12)
    support.near(model().kernel(x), trial.k, 1e-12)
    support.near(model().kernel(x) + gb.eye(n) * 0.005, trial.c, 1e-12)
    assert.equal("6", tostring(trial.columns.shape))
    support.near(y - 1, trial.columns, 1e-12)
    is({"stepping", "the faster one", 0.50, 46}, {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, iterations = 46})
    is({"direct", SLOWER, 0.51, 47, true}, {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, iterations = 47})
    is({"direct", SLOWER, 0.51, 47, true}, {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, iterations = 15, max_iter = 15})
    is({"stepping", "the faster one", 0.18, 14},
      {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, iterations = 14, max_iter = 15})
    is({"direct", SLOWER, 0.14, 10, true}, {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, iterations = 5, max_iter = 10})
    is({"stepping", "the faster one", 0.09, 5},
      {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, iterations = 5, max_iter = 11})
    is({"direct", SLOWER, 0.14, 10, true}, {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, iterations = 5, untried = true})
    -- not worth a trial
    is({"direct", SLOWER, 0.1 * 14, 10, true}, {direct = {2.8, 500, 400}, product = {0.1, 100, 50}, iterations = 5})
    is({"stepping", "the faster one", 0.1 * 9, 5}, {direct = {2.801, 500, 400}, product = {0.1, 100, 50}, iterations = 5})
  end)

  it("counts a preconditioner twice a step", function()
    local low <const> = {choices = {}, rank = 2, rank_at = function(_, count) return count == n and 2 or 0 end}
    local r <const> = is({"stepping", "the faster one", 0.03 * 9, 5}, {direct = {1.01, 500, 400}, product = {0.01, 100, 50},
      preconditioner = {0.01, 9, 9}, precond = low, iterations = 5})
    assert.equal(100 + 8 * 6 * (40 + 4), r.iterative.bytes)
    is({"stepping", "the faster one", 0.01 * 9, 5},
      {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, preconditioner = {0, 9, 9},
      precond = low, iterations = 5})
    is({"stepping", "the faster one", 0.01 * 9, 5},
      {direct = {1.01, 500, 400}, product = {0.01, 100, 50}, precond = {kind = "jacobi"},
      iterations = 5})
    local function bytes(count, rank)
      return choice.working_bytes(count, 1, {o = {precond = {choices = {}, rank_at = function() return rank end}}})
    end
    assert.same({8 * 200 * 210, 8 * 50 * 110, 8 * 50 * 24}, {bytes(200, "auto"), bytes(50, "auto"), bytes(50, 7)})
    assert.equal(8 * 50 * 10, choice.working_bytes(50, 1, {}))
  end)

  it("is direct where a time is not known", function()
    is({"direct", FITS, 0.14, 10, true}, {direct = {0, 500, 400}, product = {0.01, 100, 50}, iterations = 5})
    is({"direct", FITS, nil, nil, nil}, {direct = {0, 500, 400}, product = {0, 100, 50}, iterations = 5})
    is({"direct", FITS, nil, nil, nil}, {direct = {5, 500, 400}, product = {0, 100, 50}, iterations = 5})
    is({"direct", FITS, nil, nil, nil}, {direct = {0.5, 500, 400}, product = {0, 100, 50}, iterations = 5})
  end)

  it("is of what fits the budget", function()
    local fast <const> = {direct = {2, 500, 400}, product = {0.01, 100, 50}, iterations = 5}
    local need <const> = 100 + 8 * 6 * 40
    local function within(budget, direct)
      return {direct = direct or fast.direct, product = fast.product, iterations = 5, budget = budget}
    end
    assert.equal(need, is({"stepping", "the faster one", 0.09, 5}, within(need)).budget)
    is({"direct", SLOWER, 0.09, 5}, within(need - 1))
    local refused <const> = {0, 0, 3000, refused = true}
    local r <const> = is({"stepping", "direct does not fit the budget", 0.1, nil, true}, within(need, refused))
    assert.same({minimum = 3000, refused = true, reason = "too large"}, r.direct)
    local err = raises("refused", "fit: needs 1.97 KiB, the budget is 1.97 KiB", decided, within(need - 1, refused))
    assert.same({need, need - 1, need}, {err.need, err.have, err.minimum})
    err = raises("refused", "fit: needs 1e+03 B, the budget is 1.97 KiB", decided, within(need - 1, {0, 0, 1000, refused = true}))
    assert.same({1000, need - 1, 1000}, {err.need, err.have, err.minimum})
    assert.same({false, "failed"}, {pcall(decided, within(need, {failed = true}))})
    local neither <const> = {direct = refused, product = {0, 0, 70, refused = true}, budget = 10}
    assert.equal(70, raises("refused", "fit: needs 70 B, the budget is 10 B", decided, neither).minimum)
  end)

  it("is direct where the solver is refused: its step, while that is built, its trial, or the plan of its product", function()
    local function direct_for(reason, more)
      local o <const> = {direct = {2, 500, 400}, product = {0.01, 100, 50}, iterations = 5}
      for key, v in pairs(more) do o[key] = v end
      local name <const>, r <const> = decided(o)
      assert.same({"direct", "exact, and it fits", {minimum = 900, refused = true, reason = reason}},
        {name, r.reason, r.iterative})
      assert.matches("iterative needs 900 B", tostring(r), 1, true)
    end
    local function refuse(code) return function() core.raise(code, "no room", {minimum = 900}) end end
    direct_for("too large", {product = {0, 0, 900, refused = true}})
    direct_for("too large", {planned = true, step = {0, 0, 900, refused = true}})
    direct_for("no room", {planned = true, building = refuse "refused"})
    direct_for("no room", {trial = refuse "oom"})
    assert.equal("exact, and it fits", select(2, decided{direct = {2, 500, 400}, product = {0.01, 100, 50},
      trial = function() core.raise("oom", "no room") end}).reason)
    local err <const> = raises("refused", "fit: needs 900 B, the budget is 800 B", decided, {planned = true, budget = 800,
      direct = {0, 0, 3000, refused = true}, product = {0.01, 100, 50}, building = refuse "refused"})
    assert.equal(900, err.minimum)
    raises("option", "no room", decided, {direct = {2, 500, 400}, product = {0.01, 100, 50}, trial = refuse "option"})
  end)

  it("has the bytes of a step that is planned whole", function()
    local function bytes(plan)
      return is({"stepping", "the faster one", 0.09, 5},
        {planned = true, direct = {2, 500, 400}, product = {0.01, 100, 50}, step = plan,
        iterations = 5, budget = 2 ^ 20}).iterative.bytes
    end
    assert.equal(777, bytes{1, 777, 700})
  end)
end)

describe("a preconditioner whose rank is open", function()
  local function open(rank)
    local p <const> = {choices = {}, rank = rank, rank_at = function(self) return self.budget == 0 and 1 or 3 end}
    function p.within(self, budget)
      local out <const> = {}
      for key, v in pairs(self) do out[key] = v end
      out.budget = budget
      return out
    end
    return p
  end

  local function within(s, budget)
    return with_plans(function(what)
      assert.equal("6x4", what)
      return {0.01, 100, 50}
    end, function() return choice.within(model(), s, step, budget) end)
  end

  it("has one that the budget holds", function()
    local s <const>, need <const> = solver_of({precond = open()}, {}), 100 + 8 * 6 * (40 + 6)
    assert.equal(need, within(s, need).o.precond.budget)
    assert.equal(0, within(s, need - 1).o.precond.budget)
    assert.is_nil(s.o.precond.budget)
    assert.is_true(rawequal(getmetatable(s), getmetatable(within(s, need))))
    assert.equal(1000, within(s, need).o.max_iter)
  end)

  it("is left alone without a budget, and where the rank is given", function()
    for _, row in ipairs{{open(), nil}, {open(5), 10}, {{kind = "jacobi"}, 10}, {nil, 10}} do
      local s <const> = solver_of({precond = row[1]}, {})
      assert.is_true(rawequal(s, choice.within(model(), s, step, row[2])))
    end
  end)

  it("is refused where its step does not fit, by name and figures", function()
    local s <const> = solver_of({}, {})
    local function check(budget)
      return with_plans(function() return {0.01, 100, 50} end,
        function() return choice.check_budget(model(), s, step, budget, "plan") end)
    end
    check(2020)
    local err <const> = raises("refused", "plan: needs 1.97 KiB, the budget is 1.97 KiB", check, 2019)
    assert.same({2020, 2019, 2020}, {err.need, err.have, err.minimum})
    raises("refused", "plan: needs 5 B, the budget is 1 B", with_plans, function() return {0, 0, 5, refused = true} end,
      function() choice.check_budget(model(), s, step, 1, "plan") end)
  end)
end)

describe("a solver", function()
  it("is streamed where it estimates a log determinant", function()
    local S <const> = gb.solvers
    assert.same({true, true, false, false},
      {algorithm.is_streamed(S.cg{}), algorithm.is_streamed(S.minres{}), algorithm.is_streamed "direct",
      algorithm.is_streamed{planned = false}})
    assert.same({4, 5, 17}, {choice.columns(solver_of({}, {}), n), choice.columns(solver_of({planned = true}, {}), n),
      choice.columns({}, n)})
  end)
end)

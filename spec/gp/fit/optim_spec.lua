local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function rosenbrock(p)
  return function()
    local a <const>, b <const> = p[1], p[2]
    return (1 - a) ^ 2 + 100 * (b - a ^ 2) ^ 2
  end
end

describe("gb.optim.minimize", function()
  it("finds the minimum of Rosenbrock's function by L-BFGS", function()
    local p <const> = gb.param{-1.2, 1}
    local info <const> = gb.optim.minimize(rosenbrock(p), p)
    assert.is_true(info.converged)
    near({1, 1}, p.value, 1e-4)
    near(0, info.value, 1e-8)
    assert.is_true(info.iterations < 100 and info.evaluations >= info.iterations)
    assert.equal("lbfgs", info.method)
    assert.matches("^converged %(.*%) after %d+ steps of lbfgs", tostring(info))
  end)

  it("walks down a quadratic by Adam and by gradient descent", function()
    for _, o in ipairs{{method = "adam", steps = 600, lr = 0.05}, {method = "sgd", steps = 300, lr = 0.1}} do
      local p <const> = gb.param{3, -4}
      gb.optim.minimize(function() return ((p - gb.tensor{1, 2}) ^ 2):sum() end, p, o)
      near({1, 2}, p.value, 1e-2, o.method)
    end
  end)

  it("holds bounds by construction", function()
    local p <const> = gb.param(0.5, {min = 0, max = 1})
    gb.optim.minimize(function() return -p end, p, {steps = 50})
    assert.is_true(p.value:item() > 0.99 and p.value:item() <= 1)
  end)

  it("leaves fixed parameters alone", function()
    local a <const>, b <const> = gb.param(2), gb.param(5, {fixed = true})
    gb.optim.minimize(function() return (a - b) ^ 2 end, {a, b})
    near(5, b.value, 0)
    near(5, a.value, 1e-6)
  end)

  it("adds the parameters' priors", function()
    local p <const> = gb.param(0, {prior = gb.priors.normal{mean = 3, sd = 0.1}})
    gb.optim.minimize(function() return p * 0 end, p)
    near(3, p.value, 1e-4)
  end)

  it("tells every step, and stops at the best point when told to", function()
    local p <const> = gb.param{-1.2, 1}
    local seen <const> = {}
    local info <const> = gb.optim.minimize(rosenbrock(p), p, {on_step = function(s)
      seen[#seen + 1] = s.value
      assert.is_true(s.gradient_norm >= 0)
      return s.step < 4
    end})
    assert.is_true(info.interrupted)
    assert.is_false(info.converged)
    assert.equal(5, #seen)
    near(math.min(table.unpack(seen)), rosenbrock(p)(), 1e-12)
  end)

  it("goes back to the best point when it is stopped at a worse one", function()
    local p <const> = gb.param(1)
    local info <const> = gb.optim.minimize(function() return p ^ 2 end, p, {method = "sgd", lr = 1.1,
      on_step = function(s) return s.step < 3 end})
    assert.is_true(info.interrupted)
    near(1, info.value, 1e-15)
    near(1, p.value, 1e-15)
  end)

  it("undoes and counts steps to values that are not finite", function()
    local p <const> = gb.param(0.1)
    local info <const> = gb.optim.minimize(function() return 5 * p - p:log() end, p, {method = "sgd", lr = 0.3, steps = 80})
    assert.is_true(info.setbacks > 0)
    near(0.2, p.value, 0.05)
    assert.matches("steps? undone", tostring(info))
  end)

  it("treats a matrix that is not positive definite as such a step", function()
    local p <const> = gb.param(2)
    local y <const> = gb.tensor{1, 1}
    local function loss()                              -- p + 2 / (p + 1): least at 0.41, positive definite above 1
      local A <const> = gb.tensor{{1, 0}, {0, 1}} * p + gb.tensor{{0, 1}, {1, 0}}
      return (gb.linalg.triangular_solve(gb.linalg.cholesky(A), y) ^ 2):sum() + p
    end
    local info <const> = gb.optim.minimize(loss, p, {steps = 20})
    assert.is_true(info.setbacks > 0)
    assert.is_true(p.value:item() > 1 and p.value:item() < 1.001)
    assert.is_false(info.converged)
    near(p.value:item() + 2 / (p.value:item() + 1), info.value, 1e-14)
  end)

  it("needs no more evaluations than the line search should", function()
    local p <const> = gb.param{-1.2, 1}
    local info = gb.optim.minimize(rosenbrock(p), p)
    assert.is_true(info.evaluations <= 50, info.evaluations .. " evaluations")
    local q <const> = gb.param{1, 1, 1, 1}
    local scales <const> = gb.tensor{1, 10, 100, 1000}
    info = gb.optim.minimize(function() return ((q - scales) ^ 2 / scales):sum() end, q)
    assert.is_true(info.converged and info.evaluations <= 40, info.evaluations .. " evaluations")
    near({1, 10, 100, 1000}, q.value, 1e-2)
  end)

  it("stops when only rounding is left, without a search for more", function()
    local p <const> = gb.param{2, 3}
    local info <const> = gb.optim.minimize(function() return (p ^ 2):sum() * 1e-3 + 1e6 end, p, {tol = 1e-300, ftol = 1e-300})
    assert.is_true(info.evaluations <= 60, info.evaluations .. " evaluations")
  end)

  it("stops at the accuracy of a solver's values", function()
    local x <const> = gb.rand(150, 2, {seed = 3}):eval()
    local y <const> = ((5 * x:select(2, 1)):sin() + 0.1 * gb.randn(150, {seed = 4})):eval()
    local function fitted(tol)
      local m <const> = gb.gp.exact{kernel = gb.kernels.matern32{lengthscale = {1, 1}, variance = 1}, noise = 0.1,
        solver = gb.solvers.cg{train_tol = tol, precond = gb.precond.nystrom{rank = 20}}}
      return m:fit(x, y, {restarts = 0, ftol = 1e-12})
    end
    local info <const>, fine <const> = fitted(1e-2), fitted(1e-8)
    assert.is_true(info.converged, info.reason)
    assert.matches("accuracy", info.reason)
    assert.is_true(info.evaluations <= 40, info.evaluations .. " evaluations")
    near(fine.value, info.value, 0.05)
  end)

  it("does not take a plateau for the end, however coarse the solver", function()
    local x <const> = gb.rand(200, 2, {seed = 1}):eval()
    local y <const> = (2 * (40 * x:select(2, 1)):sin() + 0.3 * gb.randn(200, {seed = 91})):eval()
    local function fitted(tol)
      local m <const> = gb.gp.exact{kernel = gb.kernels.matern52{},
        solver = gb.solvers.cg{train_tol = tol, precond = gb.precond.nystrom{}}}
      return m:fit(x, y).value
    end
    near(fitted(1e-6), fitted(1e-2), 1)
  end)

  it("knows the rounding of an f32 objective", function()
    local x <const> = gb.rand(60, 2, {seed = 3, dtype = "f32"}):eval()
    local y <const> = ((5 * x:select(2, 1)):sin() + 0.1 * gb.randn(60, {seed = 4, dtype = "f32"})):eval()
    local m <const> = gb.gp.exact{kernel = gb.kernels.matern32{ard = true}, noise = 0.1}
    local info <const> = m:fit(x, y, {restarts = 0})
    assert.is_true(info.converged, info.reason)
    assert.is_true(info.evaluations <= 25, info.evaluations .. " evaluations")
  end)

  it("moves a bounded parameter by a factor of e^2 in a trial, and gets far all the same", function()
    local p <const> = gb.param(1, {min = 0})
    local seen <const> = {}
    local info <const> = gb.optim.minimize(function()
      seen[#seen + 1] = p.value:item()
      return (p:log() - 12) ^ 2
    end, p)
    for i = 2, math.min(4, #seen) do assert.is_true(seen[i] / seen[i - 1] < math.exp(2) ^ 2) end
    near(12, p.value:log(), 1e-3)
    assert.is_true(info.evaluations <= 12, info.evaluations .. " evaluations")
  end)

  it("raises where there is nothing to start from", function()
    local p <const> = gb.param(-1)
    raises("nan", "not finite at the starting point", gb.optim.minimize, function() return p:log() end, p)
    near(-1, p.value, 0)
    raises("option", "no free parameter", gb.optim.minimize, function() return p end, {})
    raises("option", "the objective must return a tensor", gb.optim.minimize, function() return "x" end, p)
    raises("option", "did you mean 'steps'?", gb.optim.minimize, function() return p end, p, {step = 3})
    raises("option", "one of lbfgs, adam, sgd", gb.optim.minimize, function() return p end, p, {method = "newton"})
  end)

  it("passes errors of the objective on, and keeps the best point", function()
    local p <const> = gb.param(4)
    local calls = 0
    local ok <const>, err <const> = pcall(gb.optim.minimize, function()
      calls = calls + 1
      if calls == 3 then error "mine" end
      return p ^ 2
    end, p)
    assert.is_false(ok)
    assert.matches("mine", tostring(err))
    assert.is_true(math.abs(p.value:item()) <= 4)
  end)

  it("neither plans nor lowers again after the first step", function()
    local p <const> = gb.param{-1.2, 1}
    gb.optim.minimize(rosenbrock(p), p, {steps = 3})
    local before <const> = gb.memory.report().used
    gb.optim.minimize(rosenbrock(p), p, {steps = 10})
    collectgarbage() collectgarbage()
    assert.is_true(gb.memory.report().used <= before + 4096)
  end)
end)

describe("stateful optimisers", function()
  it("step, give the loss before the step, and keep their state", function()
    for _, name in ipairs{"adam", "sgd", "lbfgs"} do
      local p <const> = gb.param(3)
      local opt <const> = gb.optim[name](p, name == "lbfgs" and {} or {lr = 0.1})
      local function loss() return (p - 1) ^ 2 end
      local first <const> = opt:step(loss)
      near(4, first, 1e-12, name)
      for _ = 1, 200 do opt:step(loss) end
      near(1, p.value, 1e-2, name)
    end
  end)

  it("undo a step to nowhere", function()
    local p <const> = gb.param(0.2)
    local opt <const> = gb.optim.sgd(p, {lr = 1})
    local function loss() return -p:log() * -1 end
    opt:step(loss)                                     -- to 0.2 - 5 < 0
    assert.is_true(p.value:item() < 0)
    local _, info <const> = opt:step(loss)
    assert.is_true(info.undone)
    near(0.2, p.value, 1e-15)
  end)
end)

describe("an error of any kind in an objective", function()
  local values <const> = {n = 5, nil, 7, print, {}, "text"}

  it("arrives as it was raised", function()
    local p <const> = gb.param(1.0)
    for i = 1, values.n do
      local function f() error(values[i], 0) end
      for name, call in pairs{
        minimize = function() return gb.optim.minimize(f, {p}) end,
        lbfgs = function() return gb.optim.lbfgs({p}):step(f) end, adam = function() return gb.optim.adam({p}):step(f) end,
        on_step = function() return gb.optim.minimize(function() return (p - i) ^ 2 end, p, {on_step = f}) end,
      } do
        local ok <const>, got <const> = pcall(call)
        assert.is_false(ok, name)
        assert.equal(values[i], got, name)
      end
    end
  end)

  it("arrives through a fit, from a kernel and from a mean", function()
    local x <const>, y <const> = gb.rand(6, 1, {seed = 1}), gb.rand(6, {seed = 2})
    for i = 1, values.n do
      local function f() error(values[i], 0) end
      local kernel <const>, mean <const> = gb.kernels.define("raising" .. i, {a = 1}, f), gb.means.define("raising" .. i, {}, f)
      for _, o in ipairs{{kernel = kernel(), noise = 0.1}, {kernel = gb.kernels.rbf{}, mean = mean(), noise = 0.1}} do
        local ok <const>, got <const> = pcall(function() return gb.gp.exact(o):fit(x, y, {steps = 1}) end)
        assert.is_false(ok)
        assert.equal(values[i], got)
      end
    end
  end)
end)

describe("first-order methods", function()
  --- Values at the steps of a method, and the record.
  local function run(p, f, o)
    local values <const> = {}
    o.on_step = function(s) values[#values + 1] = s.value end
    local info <const> = gb.optim.minimize(f, p, o)
    return values, info
  end

  it("make the steps of the textbook", function()
    local function slope(v) return 4 * (v - 2) ^ 3 + 1 end
    local function height(v) return (v - 2) ^ 4 + v end
    local want <const>, v = {adam = {}, sgd = {}}, 0.0
    local m, u = 0.0, 0.0
    for t = 1, 5 do
      want.adam[t] = height(v)
      local g <const> = slope(v)
      m, u = 0.9 * m + 0.1 * g, 0.999 * u + 0.001 * g * g
      v = v - 0.3 * (m / (1 - 0.9 ^ t)) / (math.sqrt(u / (1 - 0.999 ^ t)) + 1e-8)
    end
    v = 0.0
    for t = 1, 5 do
      want.sgd[t] = height(v)
      v = v - 0.02 * slope(v)
    end
    for name, lr in pairs{adam = 0.3, sgd = 0.02} do
      local p <const> = gb.param(0)
      local values <const>, info <const> = run(p, function() return (p - 2) ^ 4 + p end, {method = name, lr = lr, steps = 4})
      assert.equal(5, #values)
      for t = 1, 5 do assert.is_true(math.abs(values[t] - want[name][t]) <= 1e-12 * math.abs(want[name][t]), name .. t) end
      assert.same({4, 5, 0, false, "step limit reached", name},
        {info.iterations, info.evaluations, info.setbacks, info.converged, info.reason, info.method})
    end
  end)

  it("go back to the best point, at half the rate, where the objective has no value", function()
    local p <const> = gb.param(0)
    local values <const>, info <const> = run(p, function() return gb.where(p:gt(3), 0 / 0, (p - 2) ^ 2) end,
      {method = "sgd", lr = 1, steps = 3})
    assert.same({4, 4, 0}, values)                                -- at 0; 4 is undone; at 0 again; at 2
    assert.same({2, 3, 1, true, "gradient below tol"},
      {p.value:item(), info.iterations, info.setbacks, info.converged, info.reason})
  end)

  it("end at the best point seen", function()
    local p <const> = gb.param(1)
    local values <const>, info <const> = run(p, function() return p ^ 2 end, {method = "sgd", lr = 1.5, steps = 2})
    assert.same({1, 4, 16}, values)
    assert.same({1, 1}, {p.value:item(), info.value})
  end)

  it("find a NaN at the start to be an error", function()
    local p <const> = gb.param(1)
    for _, name in ipairs{"adam", "sgd", "lbfgs"} do
      local ok <const>, err <const> = pcall(gb.optim.minimize, function() return p * (0 / 0) end, p, {method = name})
      assert.is_false(ok)
      assert.equal("nan", err.code)
    end
  end)
end)

describe("a minimisation, to the letter,", function()
  local core <const> = require "gibbous.core"
  local optim <const> = gb.optim
  local quasi_newton <const> = require "gibbous.optim.lbfgs"

  --- What lbfgs.minimize is asked for, and what 'evaluate' gives at the start and at 'x'.
  local function asked(f, root, o, x)
    local got <const> = {}
    support.with(quasi_newton, {minimize = function(evaluate, from, settings, report)
      got.from, got.settings = from, settings
      got.first = table.pack(evaluate(from))
      report{step = 0, x = from, value = got.first[1], g = got.first[2]}
      if x then got.second = table.pack(evaluate(x)) end
      return "reason", true, 7
    end}, function() got.info = optim.run(f, root, o or {}) end)
    return got
  end

  it("asks L-BFGS for 200 steps, tolerances of 1e-5 and 1e-9, and leaps of 2 of what is bounded", function()
    local a <const>, b <const>, c <const>, d <const> = gb.param({1, 2}, {min = 0}), gb.param{3, 4, 5}, gb.param(6, {max = 9}),
      gb.param(7, {fixed = true})
    local function f() return a:sum() + (b * b):sum() + c + d end
    local got = asked(f, {a, b, c, d})
    assert.same({steps = 200, tol = 1e-5, ftol = 1e-9, limit = {2, 2, [6] = 2}}, got.settings)
    near({a.raw, b.raw, c.raw}, got.from, 0)
    near({66, {1, 2, 6, 8, 10, -3}}, {got.first[1], got.first[2]}, 1e-13)
    assert.same({1e-15, 0}, {got.first[3], got.first[4]})
    local info <const> = got.info
    assert.same({"reason", true, 7, "lbfgs", 1, 0, false},
      {info.reason, info.converged, info.iterations, info.method, info.evaluations, info.setbacks, info.interrupted})
    near(66, info.value, 1e-13)
    assert.is_true(info.seconds >= 0)
    got = asked(f, {a, b, c, d}, {steps = 3, tol = 0.1, ftol = 0.2, resolution = 0.3}, {0, 0, 1, 1, 1, 0})
    assert.same({3, 0.1, 0.2, 0.3}, {got.settings.steps, got.settings.tol, got.settings.ftol, got.first[4]})
    near(1 + 1 + 3 + 8 + 7, got.second[1], 1e-13)
    near({1, 2}, a, 1e-13)                                     -- back at the best point
    local single <const> = gb.ones(2, {dtype = "f32"})
    assert.equal(1e-5, asked(function() return (single * a):sum() end, a).first[3])
    assert.same({200, 200, 500, 500},
      {optim.usual_steps(), optim.usual_steps "lbfgs", optim.usual_steps "adam", optim.usual_steps "sgd"})
  end)

  it("counts parameters in units of their own", function()
    local p <const>, q <const> = gb.param(6), gb.param(4)
    local norms <const> = {}
    local function f() return 2 * p + 5 * q end
    local got <const> = asked(f, {p, q}, {units = {[p] = 3}})
    assert.same({2, 4}, got.from)
    near({6, 5}, got.first[2], 1e-14)
    optim.run(f, {p, q}, {method = "sgd", lr = 0.1, steps = 1, units = {[p] = 3},
      on_step = function(s) norms[#norms + 1] = s.gradient_norm end})
    near({6 - 0.1 * 2 * 9, 4 - 0.1 * 5}, {p, q}, 1e-13)
    near({math.sqrt(29), math.sqrt(29)}, norms, 1e-13)
  end)

  it("goes 0.05 by Adam, 1e-3 by gradient descent, where no rate is given", function()
    for name, rate in pairs{adam = 0.05, sgd = 1e-3} do
      local p <const>, q <const> = gb.param(1), gb.param(1)
      optim.minimize(function() return p * 1 end, p, {method = name, steps = 1})
      near(1 - rate, p, 1e-9)
      local opt <const> = optim[name](q)
      local loss <const>, info <const> = opt:step(function() return q * 3 end)
      near({3, 3}, {loss, info.gradient_norm}, 1e-14)
      near(1 - (name == "sgd" and 3 * rate or rate), q, 1e-9)
      assert.same({false, rate}, {info.undone, opt.lr})
    end
    assert.equal(20, optim.lbfgs(gb.param(1)).steps)
    for _, name in ipairs{"adam", "lbfgs"} do
      local opt <const> = optim[name](gb.param(1))
      assert.equal("optimiser", gb.type(opt))
      raises("option", "an optimiser has no field 'zzzz'", function() return opt.zzzz end)
    end
    local p <const> = gb.param{-1.2, 1}
    local opt <const> = optim.lbfgs(p, {steps = 2})
    local before <const>, info <const> = opt:step(rosenbrock(p))
    near(24.2, before, 1e-12)
    assert.same({2, "step limit reached"}, {info.iterations, info.reason})
  end)

  it("subtracts the log priors of free parameters, and holds the best point", function()
    local prior <const> = gb.priors.normal{}
    local p <const>, q <const> = gb.param(2, {prior = prior}), gb.param(3, {prior = prior, fixed = true})
    local got <const> = asked(function() return p * q end, {p, q})
    near({6 - prior:log_density(gb.tensor(2)):item(), 5}, {got.first[1], got.first[2][1]}, 1e-13)
  end)

  it("undoes what has no value: codes of setbacks, NaN and infinite values and gradients", function()
    for _, code in ipairs{"not_pd", "nan", "not_converged"} do
      local p <const> = gb.param(1)
      local calls = 0
      local info <const> = optim.minimize(function()
        calls = calls + 1
        if calls == 2 then error(core.error(code, "on the way"), 0) end
        return p * p
      end, p, {method = "sgd", lr = 0.25, steps = 3})
      assert.same({1, 4, 0.75}, {info.setbacks, info.evaluations, p.value:item()})             -- back, and half the rate
      local function never() error(core.error(code, "at the start"), 0) end
      raises(code, "at the start", optim.minimize, never, p)
      raises("nan", "the objective is not finite at the starting point", optim.minimize, never, p, {method = "sgd"})
    end
    local p <const> = gb.param(0)
    for _, f in ipairs{function() return p * 1e200 * 1e200 end, function() return p * 1e200 * -1e200 end,
      function() return p + 0 / 0 end, function() return p + 1 / 0 end,
      function() return p - 1 / 0 end} do
      for _, method in ipairs{"lbfgs", "adam"} do
        assert.equal("the objective is not finite at the starting point",
          raises("nan", "", optim.minimize, f, p, {method = method}).message)
      end
    end
    local ok <const>, err <const> = pcall(optim.minimize, function() error(core.error("option", "mine"), 0) end, p)
    assert.same({false, "mine"}, {ok, err.message})
  end)

  it("is stopped by on_step at the best point, with the steps it took", function()
    for method, want in pairs{lbfgs = 1, sgd = 1} do
      local p <const> = gb.param(3)
      local info <const> = optim.minimize(function() return p * p end, p,
        {method = method, lr = method == "sgd" and 0.25 or nil, on_step = function(s) return s.step < 1 end})
      assert.same({"stopped by on_step", true, false, want, method},
        {info.reason, info.interrupted, info.converged, info.iterations, info.method})
      near({info.value}, {p.value:item() ^ 2}, 1e-13)
    end
    local p <const> = gb.param(3)
    local info <const> = optim.minimize(function() return p * p end, p,
      {method = "sgd", lr = 0.25, steps = 1, on_step = function() return nil end})
    assert.same({false, 1.5}, {info.interrupted, p.value:item()})
  end)

  it("prints itself", function()
    local p <const> = gb.param(1)
    local meta <const> = getmetatable(optim.minimize(function() return p * p end, p, {steps = 1}))
    local function text(changes)
      local info <const> = {converged = true, reason = "why", iterations = 3, method = "adam", value = 1.23456789,
        evaluations = 4, seconds = 0.256, setbacks = 0}
      for key, v in pairs(changes or {}) do info[key] = v end
      return tostring(setmetatable(info, meta))
    end
    assert.equal("converged (why) after 3 steps of adam: value 1.23457, 4 evaluations, 0.26 s", text())
    assert.equal("stopped (why) after 3 steps of adam: value 1.23457, 4 evaluations, 0.26 s, 1 step undone",
      text{converged = false, setbacks = 1})
    local info <const> = setmetatable({a = 1}, meta)
    for _, key in ipairs{"solve", "gradient_norm", "precision"} do assert.is_nil(info[key]) end
    assert.equal("the report of a minimisation has no field 'zzzzzzz' (it has a, gradient_norm, precision, solve)",
      raises("option", "", function() return info.zzzzzzz end).message)
  end)

  it("is refused by reason", function()
    local NO_PARAMETER <const> = ": give it a gb.param that is not fixed, a table of them, a network or a model, before the options"
    local p <const> = gb.param(1)
    local four <const> = {gb.param(1), gb.param(1), gb.param(1), gb.param(1, {name = "last"})}
    local callable <const> = setmetatable({}, {__call = function() return p * p end})
    for _, row in ipairs{
      {"gb.optim.minimize: the objective must be a function, got nil", optim.minimize, nil, p},
      {"gb.optim.minimize: the objective must be a function, got table", optim.minimize, {}, p},
      {"gb.optim.minimize: there is no free parameter to optimise" .. NO_PARAMETER, optim.minimize,
        print, {gb.param(1, {fixed = true})}},
      {"gb.optim.adam: there is no free parameter to optimise" .. NO_PARAMETER, optim.adam, {}},
        {"gb.optim.sgd: there is no free parameter to optimise" .. NO_PARAMETER, optim.sgd, {}},
      {"gb.optim.lbfgs: there is no free parameter to optimise" .. NO_PARAMETER, optim.lbfgs, {}},
      {"the objective must return a tensor of one element, got shape 2", optim.minimize, function() return gb.ones(2) * p end, p},
      {"the objective must return a tensor of one element, got string", optim.minimize, function() return "x" end, p},
      {"the objective does not depend on any free parameter ([1], [2], [3], ...): numbers, and what was detached, have "
        .. "no gradient", optim.minimize,
        function() return gb.ones(1) end, four},
      {"the objective does not depend on any free parameter ([1], [2], [3]): numbers, and what was detached, have no gradient",
        optim.minimize,
        function() return p:detach() end, {four[1], four[2], four[3]}},
      {"the objective does not depend on any free parameter (param): numbers, and what was detached, have no gradient",
        optim.minimize,
        function() return p:detach() * 1 end, p},
      {"gb.optim.minimize: option 'steps' must be a whole number, 0 or more, got number -1", optim.minimize, print, p,
        {steps = -1}},
      {"gb.optim.minimize: option 'lr' must be a positive number, got number 0", optim.minimize, print, p, {lr = 0}},
      {"gb.optim.minimize: option 'tol' must be a positive number, got number 0", optim.minimize, print, p, {tol = 0}},
      {"gb.optim.minimize: option 'ftol' must be a positive number, got number 0", optim.minimize, print, p, {ftol = 0}},
      {"gb.optim.minimize: option 'on_step' must be a function, got number 0", optim.minimize, print, p, {on_step = 0}},
      {"gb.optim.lbfgs: option 'steps' must be a whole number, 0 or more, got number -1", optim.lbfgs, p, {steps = -1}},
      {"gb.optim.sgd: option 'lr' must be a positive number, got number -1", optim.sgd, p, {lr = -1}},
      {'gb.optim.minimize: lr is of method = "adam" or "sgd"; with "lbfgs" a line search finds the length of steps',
        optim.minimize, function() return p * p end, p, {lr = 0.1}},
      {"step is a method of an optimiser: write opt:step(...) with a colon, not opt.step(...)", optim.sgd(p).step, print},
      {"step is a method of an optimiser: write opt:step(...) with a colon, not opt.step(...)", optim.lbfgs(p).step, print},
      {"step: the objective must be a function, got number", optim.sgd(p).step, optim.sgd(p), 3},
      {"step: the objective must be a function, got number", optim.lbfgs(p).step, optim.lbfgs(p), 3},
    } do assert.equal(row[1], raises("option", "", row[2], row[3], row[4], row[5]).message) end
    near(0, optim.minimize(callable, p).value, 1e-9)
    local q <const> = gb.param(1)
    optim.minimize(function() return q * q end, {p, q}, {steps = 3})                -- of several, one is enough
    assert.is_true(q.value:item() < 1)
  end)
end)

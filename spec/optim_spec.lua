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
    assert.matches("steps undone", tostring(info))
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
    local values <const>, info <const> = run(p, function() return gb.where(p:gt(3), 0 / 0, (p - 2) ^ 2) end, {method = "sgd", lr = 1, steps = 3})
    assert.same({4, 4, 0}, values)                                -- at 0; 4 is undone; at 0 again; at 2
    assert.same({2, 3, 1, true, "gradient below tol"}, {p.value:item(), info.iterations, info.setbacks, info.converged, info.reason})
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

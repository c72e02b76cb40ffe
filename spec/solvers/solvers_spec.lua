local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const> = 300
local x <const> = gb.rand(n, 2, {seed = 1}):eval()
local b <const> = gb.randn(n, {seed = 2}):eval()
local noise <const> = 0.05
local A <const> = K.matern32{lengthscale = 0.3}(x) + noise * gb.eye(n)

local function rbf(points, length)
  local d2 <const> = ((points:unsqueeze(1) - points:unsqueeze(2)) ^ 2):sum(-1)
  return (d2 / (-2 * length ^ 2)):exp()
end

describe("gb.solvers.cg", function()
  it("solves, and says how it went", function()
    local v <const>, info <const> = gb.solvers.cg{tol = 1e-9}:solve(A, b)
    near(gb.linalg.solve(A, b), v, 1e-6)
    assert.is_true(info.converged and info.residual <= 1e-9 and info.iterations > 5)
    assert.equal("converged", info.reason)
    assert.is_true((A:matmul(v) - b):norm():item() <= 1.1e-9 * b:norm():item())
    assert.matches("^converged after %d+ steps", tostring(info))
  end)

  it("solves several columns at once, each as alone", function()
    local B <const> = gb.randn(n, 3, {seed = 3}):eval()
    local V <const> = gb.solvers.cg{tol = 1e-8}:solve(A, B)
    local one <const> = gb.solvers.cg{tol = 1e-8}:solve(A, B:slice(2, 2, 2))
    near(V:slice(2, 2, 2), one, 1e-12)
    near(gb.linalg.solve(A, B), V, 1e-5)
  end)

  it("solves right-hand sides of any size as well, column by column, and lets gradients and models have them", function()
    for dtype, sizes in pairs{f64 = {1, 1e-200, 1e200, 1e-290}, f32 = {1, 1e-30, 1e30, 1e-25}} do
      local a <const>, w <const> = A:to{dtype = dtype}:eval(), gb.tensor(sizes, {dtype = dtype})
      local B <const> = gb.randn(n, 4, {seed = 3, dtype = dtype}):eval()
      local solver <const> = gb.solvers.cg{tol = dtype == "f64" and 1e-9 or 1e-3}    -- f32 leaves condition times 6e-8 = 1e-4
      local want <const>, got <const>, info <const> = solver:solve(a, B), solver:solve(a, (B * w):eval())
      assert.is_true(info.converged and info.residual <= solver.o.tol, tostring(info))
      local size <const> = want:abs():max():item()
      for c = 1, 4 do
        local back <const> = got:select(2, c):to{dtype = "f64"} / sizes[c]
        near(want:select(2, c):to{dtype = "f64"} / size, back / size, dtype == "f64" and 1e-7 or 2e-2)
      end
    end
    local tiny <const> = (b * 1e-200):requires_grad()
    local slope <const> = gb.grad(gb.solvers.cg{tol = 1e-10}:solve(A, tiny):sum(), tiny)
    near(gb.linalg.solve(A, gb.ones(n)), slope, 1e-7)
    local cotangent <const> = (gb.ones(n) * 1e-200):eval()
    near(slope, gb.grad(gb.solvers.cg{tol = 1e-10}:solve(A, tiny), tiny, {cotangent = cotangent}) * 1e200, 1e-7)
    local function model(y, solver)
      return gb.gp.exact{kernel = K.matern32{lengthscale = 0.3}, noise = noise, solver = solver}:condition(x, y)
    end
    local exact <const> = model(b, "direct"):predict(x:slice(1, 1, 9)).mean
    near(exact, model(b * 1e-200, gb.solvers.cg{tol = 1e-9}):predict(x:slice(1, 1, 9)).mean * 1e200, 1e-7)
  end)

  it("says where a solution is beyond its dtype, and which column", function()
    local half <const> = gb.eye(4) / 2
    for dtype, size in pairs{f64 = 1.5e308, f32 = 3e38} do
      for _, name in ipairs{"cg", "minres", "sdd", "alternating_projections"} do
        local rhs <const> = gb.tensor({{1, size}, {1, 1}, {1, 1}, {1, 1}}, {dtype = dtype})
        local v <const>, info <const> = gb.solvers[name]{tol = 1e-3}:solve(half:to{dtype = dtype}, rhs)
        assert.same({false, "overflow"}, {info.converged, info.reason}, name)
        if name == "cg" then
          assert.equal("the solution of column 2 is larger than its dtype holds: scale the right-hand side", info.message)
        end
        near(gb.full({4}, 2.0, {dtype = dtype}), v:select(2, 1), 4e-3)
      end
    end
    local f32 <const> = {dtype = "f32"}
    local solver <const> = gb.solvers.cg{precision = "mixed"}
    local m <const> = gb.gp.exact{kernel = K.matern32{variance = 1e-4}, noise = 1e-4, solver = solver}
    local p <const> = m:condition(x:to(f32), (b * 1e37):to(f32)):predict(x:slice(1, 1, 3):to(f32), {precision = "f32"})
    p.mean:eval()
    assert.same({false, "overflow"}, {p.converged, p.info.reason})
  end)

  it("counts what rounding a tiny solution loses", function()
    for _, name in ipairs{"cg", "minres", "cholesky", "sdd", "alternating_projections"} do
      local _, info <const> = gb.solvers[name]{}:solve(gb.eye(3) * 1e15, gb.full({3}, 1e-308))
      assert.same({false, "underflow"}, {info.converged, info.reason}, name)
      assert.is_true(info.residual > 0.0115 and info.residual < 0.0125, name)
    end
  end)

  it("does not call solved what the lower triangle of a matrix gives where the upper is another", function()
    for _, dtype in ipairs{"f64", "f32"} do
      local o <const> = {dtype = dtype}
      local _, info <const> = gb.solvers.cholesky{}:solve(gb.tensor({{4, 100}, {1, 4}}, o), gb.tensor({1, 1}, o))
      assert.same({false, "not_symmetric"}, {info.converged, info.reason})
      assert.is_true(info.residual > 10)
      assert.matches("^not_symmetric: relative residual 14", tostring(info))
      local _, well <const> = gb.solvers.cholesky{}:solve(gb.tensor({{4, 1}, {1, 4}}, o), gb.tensor({1, 1}, o))
      assert.is_true(well.converged)
    end
  end)

  it("says where a solution is too small for its dtype", function()
    for dtype, size in pairs{f64 = {1e150, 1e-310}, f32 = {1e20, 1e-30}} do
      local o <const> = {dtype = dtype}
      for _, name in ipairs{"cg", "minres", "cholesky", "sdd", "alternating_projections"} do
        local small <const> = gb.full({4, 1}, size[2], o)
        local v <const>, info <const> = gb.solvers[name]{}:solve(gb.eye(4, o) * size[1], gb.cat({gb.ones(4, 1, o), small}, 2))
        assert.same({false, "underflow", 1}, {info.converged, info.reason, info.residual}, name)
        assert.equal(0, v:select(2, 2):abs():max():item())
        local _, plain <const> = gb.solvers[name]{}:solve(gb.eye(4, o), small)
        assert.is_true(plain.converged and plain.residual <= 1e-2, name .. ": a small b alone is no fault")
      end
    end
    local _, info <const> = gb.solvers.cg{}:solve(gb.eye(4) * 1e150, gb.full({4}, 1e-310))
    assert.equal("the solution of column 1 is smaller than its dtype holds: scale the right-hand side", info.message)
  end)

  it("starts from a guess", function()
    local v <const> = gb.linalg.solve(A, b)
    local _, info <const> = gb.solvers.cg{tol = 1e-6}:solve(A, b, {x0 = v:eval()})
    assert.equal(0, info.iterations)
    assert.is_true(info.converged)
  end)

  it("needs fewer steps with a preconditioner, for the same answer", function()
    local _, plain <const> = gb.solvers.cg{tol = 1e-8}:solve(A, b)
    local v <const>, info <const> = gb.solvers.cg{tol = 1e-8, precond = gb.precond.pivoted_cholesky{rank = 80,
      noise = noise}}:solve(A, b)
    assert.is_true(info.iterations < plain.iterations, ("%d, %d"):format(info.iterations, plain.iterations))
    near(gb.linalg.solve(A, b), v, 1e-5)
    local D <const> = A + gb.linalg.diag(gb.range(1, n) ^ 2)
    local _, without <const> = gb.solvers.cg{}:solve(D, b)
    local _, jacobi <const> = gb.solvers.cg{precond = gb.precond.jacobi{}}:solve(D, b)
    assert.is_true(jacobi.iterations < without.iterations)
  end)

  it("not converging is a field, not an error", function()
    local v <const>, info <const> = gb.solvers.cg{max_iter = 2}:solve(A, b)
    assert.is_false(info.converged)
    assert.equal("max_iter", info.reason)
    assert.is_true(info.residual > 1e-6)
    assert.equal(n, #v)
  end)

  it("sees that a matrix is not positive definite", function()
    local _, info <const> = gb.solvers.cg{}:solve(gb.linalg.diag(gb.tensor{1, -2, 3}), gb.tensor{1, 1, 1})
    assert.is_false(info.converged)
    assert.equal("indefinite", info.reason)
  end)

  it("never stores the matrix", function()
    local many <const> = gb.rand(4000, 2, {seed = 4, dtype = "f32"}):eval()
    local big <const> = K.rbf{lengthscale = 0.3}(many) + 0.5 * gb.eye(4000, {dtype = "f32"})
    local _, info <const> = gb.solvers.cg{tol = 1e-4}:solve(big, gb.randn(4000, {seed = 5, dtype = "f32"}))
    assert.is_true(info.converged, tostring(info))
    assert.is_true(info.bytes < 2 ^ 20)
  end)

  it("is lazy: nothing runs before x or its record is looked at", function()
    local v <const>, info <const> = gb.solvers.cg{tol = 1e-7}:solve(A, b)
    local plan <const> = gb.plan(v)
    assert.matches("call: conjugate gradients", plan:explain())
    assert.is_true(info.converged)                      -- runs it
    assert.equal(0, info.jitter)
    assert.equal("", info.message)
    local fields <const> = {}
    for key in pairs(info) do fields[key] = true end
    for _, key in ipairs{"converged", "reason", "message", "iterations", "residual", "condition", "jitter", "seconds", "bytes"} do
      assert.is_true(fields[key], key)
    end
    raises("option", "the report of a solve has no field 'convergd' (did you mean 'converged'?)",
      function() return info.convergd end)
    near(gb.linalg.solve(A, b), v, 1e-4)
  end)

  it("takes what its plan says, and is refused below", function()
    local B <const> = gb.randn(n, 4, {seed = 3}):eval()
    local function solve()
      return (gb.solvers.cg{precond = gb.precond.pivoted_cholesky{rank = 20, noise = noise}}:solve(A, B * 1))
    end
    local plan <const> = gb.plan(solve())
    plan:run()
    assert.equal(plan.peak, plan:stats().measured)
    local other <const> = gb.solvers.cg{tol = 1e-5, precond = gb.precond.pivoted_cholesky{rank = 20, noise = noise}}:solve(A, B)
    local err <const> = raises("refused", "call: conjugate gradients", gb.plan, other, {budget = plan.minimum // 2})
    assert.is_true(err.minimum > plan.minimum // 2)
    local least <const> = gb.plan(other, {budget = err.minimum})
    least:run()
    assert.is_true(least:stats().measured <= err.minimum)
  end)

  it("has the gradient of the solution in the matrix and in the right-hand side", function()
    local length <const>, s2 <const> = gb.tensor(0.3):requires_grad(), gb.tensor(noise):requires_grad()
    local rhs <const>, w <const> = b:requires_grad(), gb.randn(n, {seed = 8}):eval()
    local M <const> = rbf(x, length) + s2 * gb.eye(n)
    local function slopes(v) return gb.grad((v * w):sum(), {length, s2, rhs}) end
    local want <const> = slopes(gb.linalg.solve(M, rhs))
    local got <const> = slopes((gb.solvers.cg{tol = 1e-11, precond = gb.precond.pivoted_cholesky{rank = 40,
      noise = noise}}:solve(M, rhs)))
    for i = 1, 3 do near(want[i], got[i], 1e-6) end
  end)

  it("multiplies in f32 and is as exact as f64", function()
    local solver <const> = gb.solvers.cg{tol = 1e-10, precision = "mixed",
      precond = gb.precond.pivoted_cholesky{rank = 40, noise = noise}}
    local v <const>, info <const> = solver:solve(A, b)
    assert.is_true(info.converged and info.residual <= 1e-10, tostring(info))
    near(gb.linalg.solve(A, b), v, 1e-7)
    local xs <const> = x:to{dtype = "f32"}:eval()
    local narrow <const> = K.matern32{lengthscale = 0.3}(xs) + noise * gb.eye(n, {dtype = "f32"})
    local bs <const> = b:to{dtype = "f32"}:eval()
    local plain <const> = select(2, gb.solvers.cg{tol = 1e-10}:solve(narrow, bs))
    assert.equal("stagnated", plain.reason)
    assert.matches("the limit of rounding", plain.message)
    local wide <const>, said <const> = solver:solve(narrow, bs)
    assert.equal("f64", wide.dtype)
    assert.is_true(said.converged, tostring(said))
    local s <const> = gb.tensor(1, {dtype = "f32"}):requires_grad()
    local slope <const> = gb.grad((solver:solve(narrow * s, bs)):sum(), s)
    near(-wide:sum(), slope, 1e-4)
  end)

  it("says which column failed and what would help", function()
    local D <const>, B <const> = gb.linalg.diag(gb.tensor{1, -2, 3}), gb.tensor{{1, 0}, {0, 1}, {0, 0}}
    local v <const>, info <const> = gb.solvers.cg{}:solve(D, B)
    assert.equal("indefinite", info.reason)
    assert.matches("column 2 met the curvature %-2", info.message)
    near(gb.tensor{1, 0, 0}, v:select(2, 1), 1e-12)
    local half <const> = gb.stack({b / 0, b}, 2):eval()
    local halved <const>, one <const> = gb.solvers.cg{}:solve(A, half)
    assert.is_false(one.converged)
    assert.equal("nan", one.reason)
    assert.is_true(one.residual ~= one.residual)
    near(gb.linalg.solve(A, b), halved:select(2, 2), 1e-3)
    local bad <const> = select(2, gb.solvers.cg{}:solve(A, b * (0 / 0)))
    assert.equal("nan", bad.reason)
    local few <const> = select(2, gb.solvers.cg{max_iter = 2}:solve(A, b))
    assert.matches("after 2 steps, expected 1e%-06: raise max_iter", few.message)
  end)

  it("never takes a tolerance that x = 0 meets", function()
    for _, tol in ipairs{1, 1.5, math.huge} do
      raises("option", "must be below 1", gb.solvers.cg, {tol = tol})
      raises("option", "must be below 1", gb.solvers.cg, {train_tol = tol})
    end
    raises("option", "must be a positive number", gb.solvers.cg, {tol = 0})
    raises("option", "option 'probes' must be \"exact\" or a whole number", gb.solvers.cg, {probes = "many"})
    raises("option", "probes must be 2 or more", gb.solvers.cg, {probes = 1})
  end)

  it("solves empty systems and systems of one", function()
    local none <const>, info <const> = gb.solvers.cg{}:solve(gb.eye(0), gb.zeros(0))
    assert.equal(0, #none:eval())
    assert.is_true(info.converged)
    near(gb.tensor{0.5}, (gb.solvers.cg{}:solve(2 * gb.eye(1), gb.ones(1))), 1e-15)
    raises("shape", "does not fit", function() return (gb.solvers.cg{}:solve(A, gb.ones(3))) end)
    raises("dtype", "dtypes differ", function() return (gb.solvers.cg{}:solve(A, gb.ones(n, {dtype = "f32"}))) end)
  end)

  it("checks its arguments", function()
    raises("option", "gb.solvers.cg: unknown option 'tolerance'", gb.solvers.cg, {tolerance = 1})
    raises("option", "give noise", function()
      local v <const> = gb.solvers.cg{precond = gb.precond.pivoted_cholesky{rank = 5}}:solve(A, b)
      return v
    end)
    raises("option", "option 'precond' must be a gb.precond value", gb.solvers.cg, {precond = "jacobi"})
  end)
end)

describe("a model solved by conjugate gradients", function()
  local y <const> = ((x * 6):sin():sum(2) + 0.2 * gb.randn(n, {seed = 6})):eval()
  local xs <const> = gb.rand(40, 2, {seed = 7}):eval()
  local solver <const> = gb.solvers.cg{tol = 1e-8, probes = 64, precond = gb.precond.pivoted_cholesky{rank = 100}}

  local function model(o)
    return gb.gp.exact{kernel = K.matern52{lengthscale = 0.4}, noise = 0.05, solver = o}
  end

  it("predicts as the direct one does", function()
    local want <const>, got <const> = model "direct":condition(x, y):predict(xs), model(solver):condition(x, y):predict(xs)
    near(want.mean, got.mean, 1e-6)
    near(want.f_var, got.f_var, 1e-6)
    near(want.f_cov, got.f_cov, 1e-6)
    local s <const> = model(solver):condition(x, y):score(xs, xs:sum(2))
    assert.is_true(s.converged)
  end)

  it("estimates the log marginal likelihood and its gradient", function()
    local precise <const> = gb.solvers.cg{tol = 1e-8, probes = 1000, precond = gb.precond.pivoted_cholesky{rank = 100}}
    local a <const>, c <const> = model "direct":condition(x, y), model(precise):condition(x, y)
    near(a:log_marginal_likelihood(), c:log_marginal_likelihood(), 1e-3)
    local ga <const>, gc <const> = gb.grad(a:log_marginal_likelihood(), (gb.params(a))),
      gb.grad(c:log_marginal_likelihood(), (gb.params(c)))
    for i in ipairs(ga) do near(ga[i] / n, gc[i] / n, 0.01) end       -- a sum of n terms that nearly cancel
    assert.equal(c:log_marginal_likelihood():item(), c:log_marginal_likelihood():item())
  end)

  it("with all unit vectors for probes has the exact value and gradient", function()
    local exact <const> = gb.solvers.cg{tol = 1e-10, probes = "exact"}
    local a <const>, c <const> = model "direct":condition(x, y), model(exact):condition(x, y)
    local va <const>, vc <const> = a:log_marginal_likelihood(), c:log_marginal_likelihood()
    near(va, vc, 1e-7)
    local ga <const>, gc <const> = gb.grad(va, (gb.params(a))), gb.grad(vc, (gb.params(c)))
    for i in ipairs(ga) do near(ga[i], gc[i], 1e-5) end
  end)

  it("is planned as a whole: value, gradient and peak", function()
    local m <const> = model(gb.solvers.cg{precond = gb.precond.pivoted_cholesky{rank = 30}}):condition(x, y)
    local objective <const> = require "gibbous.gp.exact.objective"
    local function likelihood() return -objective.nlml(m, m.solver) end          -- m:log_marginal_likelihood() computes it
    local value <const> = likelihood()
    local g <const> = gb.grad(value, (gb.params(m)))
    local plan <const> = gb.plan{value, table.unpack(g)}
    assert.matches("call: marginal likelihood", plan:explain())
    plan:run()
    assert.equal(plan.peak, plan:stats().measured)
    local err <const> = raises("refused", "smallest budget", gb.plan, {likelihood() * 2}, {budget = 1000})
    assert.is_true(err.minimum > 1000 and err.minimum <= plan.peak)
  end)

  it("gives intervals of the log determinant and of the gradient that cover the truth", function()
    local few <const> = x:slice(1, 1, 80):eval()
    local length <const>, s2 <const> = gb.tensor(0.4):requires_grad(), gb.tensor(0.05):requires_grad()
    local k <const> = rbf(few, length)
    local c <const>, r <const> = k + s2 * gb.eye(80), y:slice(1, 1, 80):eval()
    local truth <const> = gb.linalg.logdet(c):item()
    local exact <const> = gb.grad((gb.linalg.inv_quad(c, r) + gb.linalg.logdet(c)) / 2, {length, s2})
    local covered, asked, inside = 0, 0, 0
    for seed = 1, 60 do
      local s <const> = gb.solvers.cg{tol = 1e-6, seed = seed, precond = gb.precond.pivoted_cholesky{rank = 10}}
      local value <const>, lo <const>, hi <const> = s:logdet(c, k, 0.05)
      assert.is_true(lo < value and value < hi)
      inside = inside + (lo <= truth and truth <= hi and 1 or 0)
      local g <const>, half <const> = s:gradient_interval(c, r, {length, s2}, k, 0.05)
      if seed <= 30 then
        for i = 1, 2 do
          asked = asked + 1
          covered = covered + (math.abs(g[i]:item() - exact[i]:item()) <= half[i]:item() and 1 or 0)
        end
      end
      if seed == 1 then
        local value1 <const> = s:objective(c, r, k, 0.05)
        for i, slope in ipairs(gb.grad(value1, {length, s2})) do near(slope, g[i], 1e-6) end
      end
    end
    assert.is_true(inside >= 53, inside .. " of 60")
    assert.is_true(covered >= 51, covered .. " of " .. asked)
  end)

  it("has no second derivatives, and says so", function()
    local s <const> = gb.tensor(1.5):requires_grad()
    local value <const> = gb.solvers.cg{}:objective(A * s, b)
    local slope <const> = gb.grad(value, s)
    raises("option", "no second derivatives", gb.grad, slope, s)
  end)

  it("fits to nearly the same place", function()
    local a <const>, c <const> = model "direct", model(solver)
    a:fit(x, y)
    local info <const> = c:fit(x, y)
    assert.matches("^cg%(tol 1e%-08, pivoted_cholesky%(100%)%)", info.solver)
    near(a.kernel.lengthscale.value:log(), c.kernel.lengthscale.value:log(), 0.1)
    near(a:get "likelihood.noise".value:log(), c:get "likelihood.noise".value:log(), 0.1)
  end)

  it("says when the solver did not converge", function()
    local m <const> = model(gb.solvers.cg{tol = 1e-10, max_iter = 2})
    local info <const> = m:fit(x, y, {steps = 2})
    assert.is_false(info.converged)
    assert.equal("the solver: max_iter", info.reason)
    assert.is_false(m:score(xs, xs:sum(2)).converged)
  end)
end)

describe("a model fitted by conjugate gradients", function()
  --- Bytes that stay after fits of n rows each, one after another, when their data and models are gone.
  local function held_after(fits, n, data)
    collectgarbage()
    collectgarbage()
    local before <const>, most = gb.memory.report().used, 0
    for i = 1, fits do
      do
        local inputs <const> = data(n, i)
        gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = "cg"}:fit(inputs, inputs:sum(2):eval(), {steps = 1})
      end
      collectgarbage()
      collectgarbage()
      most = math.max(most, gb.memory.report().used - before)
    end
    return most
  end

  it("leaves nothing of its data behind", function()
    assert.equal(0, held_after(3, 40, function(rows, i) return gb.tensor(gb.rand(rows, 2, {seed = 100 + i}):totable()) end))
  end)

  it("leaves data that are an expression of random numbers with the last solves, whose matrices are made of it", function()
    local most <const> = held_after(12, 41, function(rows, i) return gb.rand(rows, 2, {seed = 200 + i}):eval() end)
    assert.is_true(most <= 8 * 41 * 2 * 8, most)
  end)
end)

local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const> = 300
local x <const> = gb.rand(n, 2, {seed = 1}):eval()
local b <const> = gb.randn(n, {seed = 2}):eval()
local noise <const> = 0.05
local A <const> = K.matern32{lengthscale = 0.3}(x) + noise * gb.eye(n)

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

  it("starts from a guess", function()
    local v <const> = gb.linalg.solve(A, b)
    local _, info <const> = gb.solvers.cg{tol = 1e-6}:solve(A, b, {x0 = v:eval()})
    assert.equal(0, info.iterations)
    assert.is_true(info.converged)
  end)

  it("needs fewer steps with a preconditioner, for the same answer", function()
    local _, plain <const> = gb.solvers.cg{tol = 1e-8}:solve(A, b)
    local v <const>, info <const> = gb.solvers.cg{tol = 1e-8, precond = gb.precond.pivoted_cholesky{rank = 80, noise = noise}}:solve(A, b)
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

  it("checks its arguments", function()
    raises("option", "gb.solvers.cg: unknown option 'tolerance'", gb.solvers.cg, {tolerance = 1})
    raises("option", "give noise", function()
      local v <const> = gb.solvers.cg{precond = gb.precond.pivoted_cholesky{rank = 5}}:solve(A, b)
      return v
    end)
    raises("option", "bad value for option 'precond'", gb.solvers.cg, {precond = "jacobi"})
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

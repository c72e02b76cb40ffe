-- The residuals that a solve leaves in its record.
local gb <const> = require "gibbous"

local function system(n)
  local x <const> = gb.rand(n, 1, {seed = 1})
  return gb.kernels.rbf{lengthscale = 0.2}(x) + 1e-5 * gb.eye(n), gb.rand(n, {seed = 2})
end

local function record(solver)
  local x <const>, info <const> = solver:solve(system(300))
  x:eval()
  return info, info.curve
end

describe("the curve of a solve", function()
  it("is that of the solves that stop earlier", function()
    local _, curve <const> = record(gb.solvers.cg{max_iter = 10, precision = "full"})
    assert.same({1, 10}, {curve.every, #curve})
    for steps = 1, 10 do
      local info <const> = record(gb.solvers.cg{max_iter = steps, precision = "full"})
      assert.is_true(math.abs(curve[steps] / info.residual - 1) < 1e-3)
    end
  end)

  it("holds 64 residuals at most, of steps at equal distances", function()
    for _, solver in ipairs{gb.solvers.cg{tol = 1e-14, max_iter = 300}, gb.solvers.minres{tol = 1e-14, max_iter = 300}} do
      local info <const>, curve <const> = record(solver)
      assert.is_true(info.iterations > 64 and curve.every > 1 and #curve > 32 and #curve <= 64)
      assert.equal(info.iterations // curve.every, #curve)
    end
    local long <const> = select(2, record(gb.solvers.cg{tol = 1e-14, max_iter = 65, precision = "full"}))
    local short <const> = select(2, record(gb.solvers.cg{tol = 1e-14, max_iter = 64, precision = "full"}))
    assert.same({2, 1, short[64], short[2]}, {long.every, short.every, long[32], long[1]})
  end)

  it("has the extreme eigenvalues where there is no preconditioner", function()
    local info <const> = record(gb.solvers.cg{max_iter = 40})
    assert.is_true(math.abs(info.largest_eigenvalue / info.smallest_eigenvalue / info.condition - 1) < 1e-9)
    local K <const>, b <const> = system(300)
    local x <const>, with <const> = gb.solvers.cg{precond = gb.precond.nystrom{rank = 20, noise = 1e-5}}:solve(K, b)
    x:eval()
    assert.is_nil(with.largest_eigenvalue)
    assert.is_true(with.condition > 0)
  end)
end)

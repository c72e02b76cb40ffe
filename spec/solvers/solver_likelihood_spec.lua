--- Parts of a likelihood that solvers give: quadratic forms, log determinants, their gradients.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, with <const> = support.near, support.with
local P <const>, S <const> = gb.precond, gb.solvers

local f32 <const> = {dtype = "f32"}
local A <const> = gb.linalg.diag(gb.tensor{1, 2, 4, 8}):eval()
local b <const> = gb.ones(4)

describe("forms of solutions", function()
  it("are b' A^-1 b, also where a solver has none of its own or nothing is known of A's eigenvalues", function()
    local B <const> = gb.stack({b, gb.tensor{1, 0, 2, 0}}, 2)
    local want <const> = {1 + 0.5 + 0.25 + 0.125, 1 + 1}
    for _, case in ipairs{{S.cg{tol = 1e-10}, 0.5}, {S.cg{tol = 1e-10}, 0}, {S.minres{tol = 1e-10}, 0.5}, {S.cholesky{}, 0.5}} do
      local x <const>, info <const>, q <const>, missing <const> = base.forms(case[1]:prepare(A), B, gb.full({2}, 3), case[2])
      near(gb.linalg.solve(A, B), x, 1e-8)
      near(want, q, 1e-8)
      assert.is_true(info.converged)
      assert.equal(tostring(case[1]):find "^cg" ~= nil and case[2] > 0, missing ~= nil)
    end
  end)
end)

describe("the likelihood by conjugate gradients", function()
  local n <const> = 20
  local x <const> = gb.rand(n, 1, {seed = 1}):eval()
  local r <const> = ((6 * x):sin():squeeze(2) + 0.3 * gb.randn(n, {seed = 2})):eval()
  local variance <const>, level <const> = gb.tensor(1.5):requires_grad(), gb.tensor(0.2):requires_grad()
  local shape <const> = gb.kernels.rbf{lengthscale = 0.3}(x):detach():eval()
  local function terms()
    local k <const> = shape * variance
    return k + 0.1 * gb.eye(n), r - level, k
  end
  local function exact()
    local c <const>, e <const> = terms()
    return (gb.linalg.inv_quad(c, e) + gb.linalg.logdet(c) + n * math.log(2 * math.pi)) / 2
  end

  it("by all unit vectors is exact, and so are its slopes, without an interval", function()
    local s <const> = S.cg{probes = "exact", tol = 1e-10, train_tol = 1e-10}
    local c <const>, e <const> = terms()
    local want <const> = gb.grad(exact(), {level, variance})
    local value <const>, info <const> = s:objective(c, e)
    near(exact(), value, 1e-8)
    local slopes <const> = gb.grad(value, {level, variance})
    for i = 1, 2 do near(want[i], slopes[i], 1e-6) end
    assert.is_true(info.converged)
    local got <const>, half <const> = s:gradient_interval(c, e, {level, variance})
    for i = 1, 2 do
      near(want[i], got[i], 1e-6)
      near(0, half[i], 0)
    end
  end)

  it("has slopes with an interval as wide as seeds differ", function()
    local wanted <const> = gb.grad(exact(), {level, variance})
    local errors, widths = 0, 0
    for seed = 1, 40 do
      local s <const> = S.cg{probes = 6, seed = seed, tol = 1e-8, train_tol = 1e-8, precond = P.nystrom{rank = 3}}
      local c <const>, e <const>, k <const> = terms()
      local got <const>, half <const> = s:gradient_interval(c, e, {level, variance}, k, 0.1)
      near(wanted[1], got[1], 1e-5)
      near(0, half[1], 1e-12)                                     -- the residual is not estimated
      errors, widths = errors + (got[2]:item() - wanted[2]:item()) ^ 2, widths + half[2]:item() ^ 2
      if seed == 1 then
        near(gb.grad(s:objective(c, e, k, 0.1), variance), got[2], 1e-6)
        local _, less <const> = s:gradient_interval(c, e, {variance}, k, 0.1, 0.5)
        near(0.7266868438 / 2.570581835636314, less[1]:item() / half[2]:item(), 1e-6)
      end
    end
    near(2.570581835636314, math.sqrt(widths / errors), 0.3)
  end)
end)

-- Of 512 points and three probes: as few columns as a block takes. One point fewer is solved column by column.
describe("the likelihood by a block of right-hand sides", function()
  local n <const>, noise <const> = 512, 0.05
  local x <const> = gb.rand(n, 2, {seed = 1}):eval()
  local y <const> = ((6 * x):sin():sum(2) + 0.3 * gb.randn(n, {seed = 2})):eval()
  local shape <const> = gb.kernels.matern52{lengthscale = 0.3}(x):detach():eval()
  local each <const> = (0.01 + gb.rand(n, {seed = 3})):eval()
  local variance <const> = gb.tensor(1.0):requires_grad()

  --- The first m points by a solver: the objective, its record, its slope in the variance; the objective and the form of a
  -- factor; half the interval of the slope.
  local function terms(o, m, level)
    o.tol, o.train_tol, o.probes = 1e-8, 1e-8, 3
    local k <const> = shape:slice(1, 1, m):slice(2, 1, m) * variance
    local points <const> = type(level) == "number" and level * gb.eye(m) or gb.linalg.diag(level:slice(1, 1, m))
    local r <const> = y:slice(1, 1, m)
    local own <const>, s <const> = type(level) == "number" and level or level:slice(1, 1, m), S.cg(o)
    local value <const>, info <const> = s:objective(k + points, r, k, own)
    local _, half <const> = s:gradient_interval(k + points, r, {variance}, k, own)
    local exact <const> = (gb.linalg.inv_quad(k + points, r) + gb.linalg.logdet(k + points) + m * math.log(2 * math.pi)) / 2
    return value, info, gb.grad(value, variance), exact, gb.linalg.inv_quad(k + points, r):item(), half[1]:item()
  end

  it("is that of a factor within its standard error, with the form to the tolerance, as it is column by column", function()
    for _, case in ipairs{{noise}, {noise, P.jacobi{}}, {noise, P.pivoted_cholesky{rank = 20}}, {each, P.nystrom{rank = 20}}} do
      local got = {}
      for i, m in ipairs{n, n - 1} do
        local value <const>, info <const>, slope <const>, exact <const>, form <const>, half <const> =
          terms({precond = case[2]}, m, case[1])
        got[i] = info.iterations
        near(form, 2 * value:item() - info.logdet - m * math.log(2 * math.pi), 1e-9 * form)
        near(2 * exact:item(), 2 * value:item(), 6 * info.standard_error)
        assert.is_true(info.converged and info.residual <= 1e-8)
        near(gb.grad(exact, variance):item(), slope:item(), 2 * half)
      end
      assert.is_true(got[1] < 0.8 * got[2], ("%d, %d"):format(got[1], got[2]))
    end
  end)

  it("has the bytes that its plan has, and the same bits on any number of threads", function()
    local before <const> = gb.config{threads = 1}
    local bits
    for _, threads in ipairs{1, 2, 5} do
      gb.config{threads = threads}
      local value <const>, _, slope <const> = terms({}, n, noise)
      local plan <const> = gb.plan{value, slope}
      local v <const>, g <const> = table.unpack(plan:run())
      assert.equal(plan.peak, plan:stats().measured)
      bits = bits or {v:item(), g:item()}
      assert.same(bits, {v:item(), g:item()})
    end
    gb.config(before)
  end)

  it("knows the size of log det, also far from 1", function()
    for _, scale in ipairs{1e-200, 1e200} do
      local c <const> = (shape + noise * gb.eye(n)):eval()
      local s <const> = S.cg{tol = 1e-4, probes = 3}
      near(s:logdet(c) + n * math.log(scale), (s:logdet(c * scale)), 1e-3)
    end
  end)
end)

describe("the likelihood by a solver that is not part of the graph", function()
  local n <const> = 60
  local x <const> = gb.rand(n, 1, {seed = 1}):eval()
  local r <const> = ((6 * x):sin():squeeze(2) + 0.3 * gb.randn(n, {seed = 2})):eval()
  local k <const> = gb.kernels.rbf{lengthscale = 0.3}

  it("is that of a factor, with its slope in the residual, and a standard error of its log determinant", function()
    local level, variance = gb.tensor(0.2):requires_grad(), gb.tensor(1.5):requires_grad()
    local function value(s)
      local kx <const> = k(x) * variance
      return s:objective(kx + 0.1 * gb.eye(n), r - level, kx, 0.1)
    end
    local want <const> = value(S.cholesky{})
    local slopes <const> = gb.grad(want, {level, variance})
    for _, o in ipairs{{}, {precond = P.nystrom{rank = 30}}} do
      o.tol, o.train_tol, o.probes = 1e-8, 1e-8, 200
      local got <const>, info <const> = value(S.minres(o))
      near(want, got, 0.02)
      assert.is_true(info.standard_error > 0 and info.standard_error < 1)
      local mine <const> = gb.grad(got, {level, variance})
      near(slopes[1], mine[1], 1e-6)
      near(slopes[2], mine[2], 0.1)
      assert.equal(mine[2]:item(), gb.grad((value(S.minres(o))), variance):item())
      o.seed = 1
      assert.is_not.equal(mine[2]:item(), gb.grad((value(S.minres(o))), variance):item())
    end
  end)

  it("needs no kernel where the preconditioner knows the noise", function()
    local c <const> = k(x) + 0.1 * gb.eye(n)
    local s <const> = S.minres{tol = 1e-8, train_tol = 1e-8, precond = P.nystrom{rank = 30, noise = 0.1}}
    near(S.cholesky{}:objective(c, r), (s:objective(c, r)), 0.02)
  end)

  it("in f32 solves in f32", function()
    local seen <const> = {}
    local minres <const> = core.minres
    with(core, {minres = function(a, rhs, o)
      seen.dtype, seen.shape, seen.tol = rhs.dtype, tostring(rhs.shape), o.tol
      near({n, n, n, n, n}, (rhs * rhs):sum(1):slice(1, 2, 6), 1e-3)                -- probes of length sqrt(n)
      return minres(a, rhs, o)
    end}, function()
      local x32 <const> = x:to(f32)
      S.minres{probes = 5, train_tol = 0.05}:objective(k(x32) + 0.1 * gb.eye(n, f32), r:to(f32), k(x32), 0.1)
    end)
    assert.same({dtype = "f32", shape = "60x6", tol = 0.05}, seen)
  end)
end)

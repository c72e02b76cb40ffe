--- Conjugate gradients of many columns, or parts of one, in one block: what models of thousands of points use.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const> = support.near
local S <const> = gb.solvers

local n <const>, noise <const> = 2304, 0.05
local x <const> = gb.rand(n, 2, {seed = 1}):eval()
local r <const> = ((6 * x:select(2, 1)):sin() + 0.3 * gb.randn(n, {seed = 2})):eval()

describe("the likelihood of many points by conjugate gradients", function()
  local variance <const>, level <const> = gb.tensor(1.5):requires_grad(), gb.tensor(0.2):requires_grad()
  local shape <const> = gb.kernels.matern52{lengthscale = 0.2}
  local function terms()
    local k <const> = shape(x) * variance
    return k + noise * gb.eye(n), r - level, k
  end
  local c <const>, e <const>, k <const> = terms()
  local exact <const> = ((gb.linalg.inv_quad(c, e) + gb.linalg.logdet(c) + n * math.log(2 * math.pi)) / 2)
  local slopes <const> = gb.grad(exact, {level, variance})
  gb.eval(exact, slopes[1], slopes[2])

  for name, o in pairs{plain = {}, preconditioned = {precond = gb.precond.nystrom{rank = 30}}, full = {precision = "full"}} do
    it("is estimated with its slopes, " .. name, function()
      o.tol, o.probes = 1e-5, 16
      local s <const> = S.cg(o)
      local value <const>, info <const> = s:objective(c, e, k, noise)
      local got <const> = gb.grad(value, {level, variance})
      assert.is_true(info.converged and info.residual <= 1e-5)
      near(exact, value, 2 * info.standard_error)                  -- half of it is the value's: four of them
      near(slopes[1], got[1], 1e-4 * math.abs(slopes[1]:item()))   -- no probe is in it
      local interval <const>, half <const> = s:gradient_interval(c, e, {level, variance}, k, noise)
      near(got[2], interval[2], 1e-6 * math.abs(got[2]:item()))
      near(slopes[2], got[2], 2 * half[2]:item())
      assert.is_true(half[2]:item() < 0.2 * math.abs(slopes[2]:item()) + 20)
      local again <const> = s:objective(c, e, k, noise)
      assert.equal(value:item(), again:item())
    end)
  end

  it("takes a few of the products of a column", function()
    local s <const> = S.cg{tol = 1e-5, probes = 16}
    local _, info <const> = s:objective(c, e, k, noise)
    local _, alone <const> = s:solve(c:detach(), r)
    assert.is_true(info.iterations > 3 and 2 * info.iterations < alone.iterations,
      ("%d, %d"):format(info.iterations, alone.iterations))
  end)

  it("has an exact log determinant where its steps are cut short by no more than its interval says", function()
    local want <const> = gb.linalg.logdet(c):item()
    local value <const>, low <const>, high <const> = S.cg{train_tol = 1e-2, tol = 1e-2, probes = 16}:logdet(c:detach(), k:detach(),
      noise)
    assert.is_true(low < value and value < high and math.abs(value - want) < 2 * (high - low))
  end)
end)

describe("products in f32", function()
  local lazy <const> = require "gibbous.solvers.lazy"

  it("are usual for many points, unless rounding is known to be more than the least noise", function()
    local k <const> = 2 * gb.kernels.matern52{lengthscale = 0.2}(x)
    local least <const> = 2.0 ^ -24 * 2 * n
    local function mixed(o, noise) return lazy.is_mixed(o, k + noise * gb.eye(n), k, noise) end
    assert.is_true(mixed({}, least * 1.001))
    assert.is_false(mixed({}, least * 0.999))
    assert.is_true(mixed({precision = "mixed"}, least * 0.5))
    assert.is_false(mixed({precision = "full"}, 1))
    assert.is_true(lazy.is_mixed({}, k + 1e-9 * gb.eye(n)))
    local each <const> = gb.ones(n):eval()
    assert.is_true(lazy.is_mixed({}, k + gb.eye(n), k, each))
    assert.is_false(lazy.is_mixed({}, k + gb.eye(n), k, gb.cat({each:slice(1, 2, n), gb.full({1}, least / 2)}, 1)))
  end)
end)

describe("a model of many points by conjugate gradients", function()
  local function model(solver)
    return gb.gp.exact{kernel = gb.kernels.matern52{lengthscale = 0.2}, noise = noise, solver = solver}:condition(x, r)
  end
  local at <const> = gb.rand(70, 2, {seed = 3}):eval()
  local want <const> = model "direct":predict(at)

  it("has weights from the parts of its observations, in few steps", function()
    local p <const> = model(S.cg{tol = 1e-8}):predict(at:slice(1, 1, 1))
    near(want.mean:slice(1, 1, 1), p.mean, 1e-6)
    local _, alone <const> = S.cg{tol = 1e-8}:solve(gb.kernels.matern52{lengthscale = 0.2}(x) + noise * gb.eye(n), r)
    assert.is_true(p.info.converged and 2 * p.info.iterations < alone.iterations,
      ("%d, %d"):format(p.info.iterations, alone.iterations))
  end)

  it("has variances of many points without a preconditioner of its own, in few steps", function()
    local p <const> = model(S.cg{tol = 1e-4}):predict(at)
    near(want.mean, p.mean, 1e-2)
    for i = 1, #at do near(want.f_var:select(1, i), p.f_var:select(1, i), 1e-4 * want.f_var:select(1, i):item()) end
    assert.is_true(p.info.converged)
  end)

  it("keeps the weights of a block that has stagnated: those of a column have more left", function()
    local smooth <const> = gb.kernels.rbf{lengthscale = 0.3}(x)
    local c <const> = (smooth + 1e-6 * gb.eye(n)):detach():eval()
    local core <const> = require "gibbous.core"
    local _, info <const> = core.cg(c, r, {tol = 1e-10, max_iter = 1000, spread = true})
    assert.equal("stagnated", info.reason)
    assert.is_true(info.residual < 1e-5, tostring(info.residual))
  end)

  it("follows more observations from the weights that it has", function()
    local solver <const> = S.cg{tol = 1e-8}
    local some <const> = gb.gp.exact{kernel = gb.kernels.matern52{lengthscale = 0.2}, noise = noise, solver = solver}
      :condition(x:slice(1, 1, 2200):eval(), r:slice(1, 1, 2200):eval())
    some:predict(at).mean:eval()
    local all <const> = some:condition(x:slice(1, 2201, n):eval(), r:slice(1, 2201, n):eval())
    near(want.mean, all:predict(at).mean, 1e-6)
  end)
end)

-- What a likelihood and a score say of themselves: the error of an estimate, a solve that missed, noise that is not known.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"

describe("a log marginal likelihood", function()
  local n <const> = 120
  local x <const> = gb.rand(n, 2, {seed = 1}):eval()
  local y <const> = ((6 * x):sin():sum(2) + 0.1 * gb.randn(n, {seed = 2})):eval()

  local function model(solver, noise)
    return gb.gp.exact{kernel = gb.kernels.matern32{lengthscale = 0.5}, noise = noise or 0.02, solver = solver}:condition(x, y)
  end

  it("is exact by a factor, and has a standard error by a solver that estimates it", function()
    local exact <const>, info <const> = model "direct":log_marginal_likelihood()
    assert.same({0, true}, {info.standard_error, info.converged})
    for _, solver in ipairs{gb.solvers.cg{}, gb.solvers.minres{}} do
      local value <const>, of <const> = model(solver):log_marginal_likelihood()
      assert.is_true(of.converged and of.standard_error > 0)
      assert.is_true(math.abs(value:item() - exact:item()) < 4 * of.standard_error)
      assert.matches("standard error", tostring(of), 1, true)
      assert.equal(value:item(), of.value)
    end
    local _, whole <const> = model(gb.solvers.cg{probes = "exact"}):log_marginal_likelihood()
    assert.equal(0, whole.standard_error)
  end)

  it("is not told without a word where the solve missed", function()
    local m <const> = model(gb.solvers.cg{max_iter = 2}, 2e-4)
    local ok <const>, err <const> = pcall(m.log_marginal_likelihood, m)
    assert.is_false(ok)
    assert.equal("not_converged", err.code)
    assert.matches("missed its tolerance %(max_iter after 2 steps, residual", err.message)
    local _, info <const> = m:log_marginal_likelihood{unconverged = true}
    assert.is_false(info.converged)
    assert.matches("did not converge (max_iter)", tostring(info), 1, true)
  end)

  it("has its standard error in the report of a fit", function()
    local info <const> = model(gb.solvers.cg{}):fit{steps = 1}
    assert.is_true(info.log_likelihood_error > 0)
    assert.matches("standard error of the likelihood", tostring(info), 1, true)
    assert.is_nil(model "direct":fit{steps = 1}.log_likelihood_error)
  end)

  it("of several outputs has the same record", function()
    local m <const> = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}:condition(x, gb.stack({y, 2 * y}, 2))
    assert.is_true(select(2, m:log_marginal_likelihood()).converged)
  end)
end)

describe("a score where the noise is known per observation", function()
  local n <const> = 150
  local x <const>, sd <const> = gb.rand(n, 1, {seed = 1}):eval(), (gb.rand(n, {seed = 3}) * 0.5 + 0.05):eval()
  local clean <const> = (6 * x):sin():sum(2)
  local y <const>, fresh <const> = (clean + sd * gb.randn(n, {seed = 4})):eval(), (clean + sd * gb.randn(n, {seed = 5})):eval()
  local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.3}, noise = sd ^ 2}:condition(x, y)

  it("says that it leaves the noise out, and takes it", function()
    local bare <const>, whole <const> = m:score(x, fresh), m:score(x, fresh, {noise = sd ^ 2})
    assert.is_false(bare.noise_known)
    assert.matches("noise of these y is not known and left out", tostring(bare), 1, true)
    assert.is_true(whole.noise_known)
    assert.is_true(bare.nlpd > 5 and whole.nlpd < 1.2, ("%g %g"):format(bare.nlpd, whole.nlpd))
    assert.is_true(whole.coverage95 > bare.coverage95 + 0.2, ("%g %g"):format(whole.coverage95, bare.coverage95))
    assert.is_true(whole.joint_log_density < 0)
    support.raises("option", "their joint density means nothing", function() return bare.joint_log_density end)
    local new <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.3},
      likelihood = gb.likelihoods.fixed(sd ^ 2, {new = 0.1})}:condition(x, y)
    assert.is_true(new:score(x, fresh).noise_known)
    assert.equal(new:score(x, fresh).nlpd, m:score(x, fresh, {noise = 0.1}).nlpd)
  end)

  it("leaves out the noise of rows that are masked, and checks what it is given", function()
    local some <const> = gb.where(gb.range(1, n):le(10), 0 / 0, fresh)
    local s <const> = m:score(x, some, {missing = "mask", noise = sd ^ 2})
    assert.equal(m:score(x:slice(1, 11, n), fresh:slice(1, 11, n), {noise = (sd ^ 2):slice(1, 11, n)}).nlpd, s.nlpd)
    support.raises("shape", "one variance, or one for each of the 150 rows", m.score, m, x, fresh, {noise = gb.ones(3)})
    support.raises("option", "0 or more and finite", m.score, m, x, fresh, {noise = -sd})
  end)

  it("predictions say so, too", function()
    assert.equal("unknown", m:predict(x).info.noise)
    assert.matches("y_var is f_var", tostring(m:predict(x).info), 1, true)
  end)
end)

--- Variational models of several latent functions: the ELBO against dense formulas, slopes, fits, the surface.
local elbo <const> = require "gibbous.gp.svgp.elbo"
local fit <const> = require "gibbous.gp.svgp.fit"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const>, m <const>, C <const> = 36, 5, 3
local x <const> = gb.rand(n, 2, {seed = 1}):eval()
local f <const> = ((5 * x):sin():sum(2)):eval()
local y <const> = gb.where(f:gt(1), 3.0, gb.where(f:gt(0.2), 2.0, 1.0)):eval()
local z <const> = gb.rand(m, 2, {seed = 2}):eval()
local at <const> = gb.rand(4, 2, {seed = 3}):eval()

local function new(o)
  o = o or {}
  return gb.gp.svgp{kernel = K.matern52{lengthscale = 0.5, variance = 1.4}, inducing = z, q = o.q, batch = o.batch,
    rank = o.q == "low_rank" and 2 or nil, mean = gb.means.constant(0.3), likelihood = gb.likelihoods.softmax{classes = C}}
end

--- The free parameters and their unconstrained values.
local function free(a)
  local list <const>, raws <const> = fit.free(a), {}
  for k, p in ipairs(list) do raws[k] = p.raw end
  return list, raws
end

describe("gb.gp.svgp of softmax", function()
  it("has the ELBO of the dense formulas, and of one q for each class", function()
    for _, q in ipairs{"full", "diagonal", "low_rank"} do
      local a <const> = new{q = q}
      a:fit(x, y, {steps = 4, lr = 0.05, batch = 18})
      local zz <const> = a.inducing.points.value
      local L <const> = gb.linalg.cholesky(a.kernel(zz) + gb.linalg.diag(a.kernel:diag(zz) * 1e-8))
      local U <const> = gb.linalg.triangular_solve(L, a.kernel(zz, x))
      local kl, means <const>, vars <const> = 0, {}, {}
      for c = 1, C do
        local S, mean
        if q == "full" then
          S = gb.linalg.solve(a.q.precision.value:select(1, c), gb.eye(m))
          mean = S:matmul(a.q.shift.value:select(1, c))
        else
          S, mean = gb.linalg.diag(a.q.scale.value:select(1, c) ^ 2), a.q.mean.value:select(1, c)
          if q == "low_rank" then
            local w <const> = a.q.weights.value:select(1, c)
            S = S + w:matmul(w:t())
          end
        end
        kl = kl + ((S:diagonal():sum() + (mean * mean):sum() - m - gb.linalg.logdet(S)) / 2):item()
        means[c] = a.mean(x) + U:t():matmul(mean)
        vars[c] = a.kernel:diag(x) - (U * U):sum(1) + (U * S:matmul(U)):sum(1)
      end
      local mean <const>, var <const> = gb.stack(means, 2), gb.stack(vars, 2)
      near(a.likelihood:expected(mean, var, y):sum() - kl, (a:log_marginal_likelihood()), 1e-8, q)
      near(mean, a:predict((x + 0):eval()).mean, 1e-9, q)
      near(var, a:predict((x + 0):eval()).f_var, 1e-7, q)
    end
  end)

  it("has slopes of steps, written out, that are those of its expression", function()
    local a <const> = new()
    a:fit(x, y, {steps = 5})
    local list <const>, raws <const> = free(a)
    local t <const>, whole <const> = fit.tensors(a, list, x, y, nil, 2.5, 0.1), elbo.negative(a, x, y, 2.5)
    near(whole, t.value, 1e-11)
    for k, g in ipairs(gb.grad(whole, raws, {unused = "zero"})) do near(g, t.slopes[k], 1e-9, list[k].name) end
    for _, q in ipairs{"full", "diagonal", "low_rank"} do
      local b <const> = new{q = q}
      b:fit(x, y, {steps = 3})
      support.check_gradients(function() return b:log_marginal_likelihood() end, (free(b)), 1e-5)
    end
  end)

  it("moves by natural gradients to where the slopes by q are 0", function()
    local a <const> = new()
    a:fit(x, y, {steps = 200, rate = 0.3, lr = 1e-300})
    for _, name in ipairs{"q.precision", "q.shift"} do
      local p <const> = a:get(name)
      local g <const> = gb.grad(a:log_marginal_likelihood(), p.raw)
      assert.is_true(g:abs():max():item() < 2e-3, name .. " " .. g:abs():max():item())
    end
  end)

  it("gives the same bits within any budget, scores, copies and saves", function()
    local first <const>, second <const> = new{batch = 10}, new{batch = 10}
    first:fit(x, y, {steps = 6})
    second:fit(x, y, {steps = 6, budget = "500 KiB"})
    assert.same(first.q.precision:totable(), second.q.precision:totable())
    local fitted <const>, path <const> = new(), os.tmpname()
    fitted:fit(x, y, {steps = 300})
    local s <const>, p <const> = fitted:score(x, y), fitted:predict(at)
    assert.is_true(s.accuracy > 0.7 and s.nlpd < 0.7, tostring(s))
    near(gb.ones(4), p.probabilities:sum(2), 1e-12)
    fitted:save(path)
    local loaded <const> = gb.load(path)
    os.remove(path)
    assert.same(p.probabilities:totable(), loaded:predict(at).probabilities:totable())
    assert.same(p.probabilities:totable(), fitted:copy():predict(at).probabilities:totable())
    assert.matches("q.precision +3x5x5", tostring(loaded))
    assert.equal("q whitened, full of 5 values, 3 times", tostring(loaded.q))
  end)

  it("refuses what several latent functions have not", function()
    local a <const> = new()
    a:fit(x, y, {steps = 1})
    raises("option", "have no f_cov and no joint samples", function() return a:predict(at).f_cov:eval() end)
    raises("option", "cannot be drawn from a model of several latent functions", function() print(a:draw(1)(at):eval()) end)
    raises("option", "row 2 of y is 4, expected a class, 1 to 3", a.fit, a, at, gb.tensor{1, 4, 1, 2})
  end)
end)

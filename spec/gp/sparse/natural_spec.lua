--- Natural gradients of a diagonal q, and of mean and scale of a low-rank one, against an ELBO in plain Lua loops: values, steps,
-- where they come to rest, the last pass, bits.
local elbo <const> = require "gibbous.gp.svgp.elbo"
local fit <const> = require "gibbous.gp.svgp.fit"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const> = support.near
local K <const> = gb.kernels

local n <const>, m <const>, NOISE <const> = 30, 5, 0.07
local i <const>, j <const> = gb.range(0, n - 1, 1, {dtype = "f64"}), gb.range(0, m - 1, 1, {dtype = "f64"})
local x <const> = gb.stack({(1.7 * i + 0.3):sin(), (2.3 * i):cos()}, 2):eval()
local y <const> = ((3 * x:select(2, 1)):sin() + x:select(2, 2) ^ 2 + 0.1 * (11 * i):cos()):eval()
local z <const> = gb.stack({(2.9 * j + 1):sin(), (1.1 * j + 0.5):cos()}, 2):eval()
local counts <const> = (2 + 2 * (3 * x:select(2, 1)):sin()):floor():eval()
-- Adam all but stands still.
local STILL <const> = 1e-300

local function new(o)
  local all <const> = {kernel = K.matern52{lengthscale = {0.8, 1.1}, variance = 1.3}, inducing = z,
    noise = not o.likelihood and NOISE or nil}
  for key, v in pairs(o) do all[key] = v end
  return gb.gp.svgp(all)
end

-- The ELBO in loops ---------------------------------------------------------------------------------------------------------------

--- E log p(y | f) of f ~ N(mean, var).
local densities <const> = {}

function densities.gaussian(yi, mean, var)
  return -0.5 * (math.log(2 * math.pi * NOISE) + ((yi - mean) ^ 2 + var) / NOISE)
end

function densities.poisson(yi, mean, var)
  local logs = 0.0
  for k = 2, yi do logs = logs + math.log(k) end
  return yi * mean - math.exp(mean + var / 2) - logs
end

--- Column k of a matrix of lists.
local function column(a, k)
  local out <const> = {}
  for r = 1, #a do out[r] = a[r][k] end
  return out
end

--- L^-1 b.
local function forward(L, b)
  local out <const> = {}
  for r = 1, #L do
    local s = b[r]
    for k = 1, r - 1 do s = s - L[r][k] * out[k] end
    out[r] = s / L[r][r]
  end
  return out
end

--- The ELBO of a model of a diagonal q, as a function of lists: its mean and its variances.
local function dense(a, values, whiten)
  local zz <const> = a.inducing.points.value
  local Kzz <const> = (a.kernel(zz) + gb.linalg.diag(a.kernel:diag(zz) * 1e-8)):totable()
  local Kzx <const>, k <const>, ys <const> = a.kernel(zz, x):totable(), a.kernel:diag(x):totable(), values:totable()
  local L <const>, Q, logdet = support.cholesky(Kzz), {}, 0.0
  for r = 1, m do                                    -- Q: the prior's precision of what q is of
    local unit <const> = {}
    for c = 1, m do unit[c] = r == c and 1.0 or 0.0 end
    Q[r] = whiten and unit or support.cholesky_solve(L, unit)
    logdet = logdet - (whiten and 0 or 2 * math.log(L[r][r]))
  end
  local W <const>, left <const> = {}, {}             -- f of row r is W[r] times q's values, and noise of variance left[r]
  for r = 1, n do
    local own <const> = column(Kzx, r)
    W[r] = whiten and forward(L, own) or support.cholesky_solve(L, own)
    left[r] = k[r] - support.dot(own, support.cholesky_solve(L, own))
  end
  local density <const> = densities[a.likelihood.kind]
  return function(mean, var)
    local total = 0.0
    for r = 1, n do
      local v = left[r]
      for c = 1, m do v = v + W[r][c] ^ 2 * var[c] end
      total = total + density(ys[r], support.dot(W[r], mean), v)
    end
    local kl = -m - logdet
    for r = 1, m do kl = kl + Q[r][r] * var[r] - math.log(var[r]) + mean[r] * support.dot(Q[r], mean) end
    return total - kl / 2
  end
end

local function of(a) return a.q.mean.value:totable(), (a.q.scale.value ^ 2):totable() end

--- Derivatives of f() by the entries of a list, times 'unit' of each.
local function slopes(f, list, unit)
  local out <const> = {}
  for k = 1, #list do
    local was <const> = list[k]
    local h <const> = 1e-5 * unit(was)
    list[k] = was + h
    local up <const> = f()
    list[k] = was - h
    out[k] = (up - f()) / 2e-5
    list[k] = was
  end
  return out
end

local function relative(v) return v end
local function one() return 1.0 end

local cases <const> = {{nil, y, true}, {nil, y, false}, {gb.likelihoods.poisson{}, counts, true},
  {gb.likelihoods.poisson{}, counts, false}}

--- 0 are the derivatives by all entries of the mean and of the logarithms of the variances.
local function rests(f, mean, var, tol, what)
  local function value() return f(mean, var) end
  for _, g in ipairs{slopes(value, var, relative), slopes(value, mean, one)} do
    near((0 * j):totable(), g, tol, what)
  end
end

describe("natural gradients of a diagonal q", function()
  it("climb an ELBO that is that of loops", function()
    for _, case in ipairs(cases) do
      local likelihood <const>, values <const>, whiten <const> = table.unpack(case)
      local a <const> = new{likelihood = likelihood, q = "diagonal", whiten = whiten}
      a:fit(x, values, {steps = 3, lr = STILL, polish = false})
      near(dense(a, values, whiten)(of(a)), (a:log_marginal_likelihood()), 1e-9)
    end
  end)

  it("move precisions by slopes, and means by slopes over precisions, at most to the maximum along them", function()
    local limited, whole = 0, 0
    for _, case in ipairs(cases) do
      for _, rate in ipairs{0.05, 1.0} do
        local likelihood <const>, values <const>, whiten <const> = table.unpack(case)
        local a <const> = new{likelihood = likelihood, q = "diagonal", whiten = whiten}
        a:fit(x, values, {steps = 3, rate = 0.2, lr = STILL, polish = false})
        local f <const>, mean <const>, var <const> = dense(a, values, whiten), of(a)
        local by_var <const> = slopes(function() return f(mean, var) end, var, relative)
        local by_mean <const> = slopes(function() return f(mean, var) end, mean, one)
        local P <const>, d <const>, along = {}, {}, 0.0
        for k = 1, m do
          P[k] = 1 / var[k] - 2 * rate * by_var[k] / var[k]
          d[k] = by_mean[k] / P[k]
          along = along + d[k] * by_mean[k]
        end
        -- The likelihoods' second derivatives by f are twice the slopes by its variance: -1 / noise, and -E exp f.
        local function bent(t)
          local at <const> = {}
          for k = 1, m do at[k] = mean[k] + t * d[k] end
          return f(at, var)
        end
        local curvature <const> = -(bent(1e-3) - 2 * bent(0) + bent(-1e-3)) / 1e-6
        local step <const> = math.min(rate, along / curvature)
        if step < rate then limited = limited + 1 else whole = whole + 1 end
        local list <const> = fit.by_adam(a)
        local t <const> = fit.tensors(a, list, x, values, nil, 1, rate)
        for k = 1, m do
          near(mean[k] + step * d[k], t.q[1]:totable()[k], 1e-5, "mean")
          near(P[k] ^ -0.5, t.q[2]:totable()[k], 1e-5, "scale")
        end
      end
    end
    assert.is_true(limited > 0 and whole > 0)
  end)

  it("come to rest where the slopes by mean and variances are 0", function()
    for _, case in ipairs(cases) do
      local likelihood <const>, values <const>, whiten <const> = table.unpack(case)
      local a <const> = new{likelihood = likelihood, q = "diagonal", whiten = whiten}
      a:fit(x, values, {steps = 600, rate = 1, lr = STILL, polish = false})
      local mean <const>, var <const> = of(a)
      rests(dense(a, values, whiten), mean, var, 1e-4, a.likelihood.kind)
    end
  end)

  it("never descend with Gaussian noise on all rows, at any rate", function()
    for _, q in ipairs{"diagonal", "low_rank"} do
      for _, whiten in ipairs{true, false} do
        local last, worst = math.huge, -math.huge
        local a <const> = new{q = q, whiten = whiten, inducing = 12}
        a:fit(x, y, {steps = 60, rate = 1, lr = STILL, polish = false, on_step = function(s)
          worst, last = math.max(worst, s.value - last), s.value
        end})
        assert.is_true(worst <= 1e-7, q .. " " .. worst)
      end
    end
  end)

  it("end with the best q there is in the last pass with Gaussian noise", function()
    local known <const> = (0.05 + 0.02 * (1 + i:sin())):eval()
    for _, whiten in ipairs{true, false} do
      local a <const>, b <const> = new{q = "diagonal", whiten = whiten}, new{q = "diagonal", whiten = whiten}
      a:fit(x, y, {steps = 1, lr = STILL})
      local f <const>, mean <const>, var <const> = dense(a, y, whiten), of(a)
      near(f(mean, var), a.info.log_likelihood, 1e-9)
      rests(f, mean, var, 1e-5)
      b:fit(x, y, {steps = 600, rate = 1, lr = STILL, polish = false})
      assert.is_true(a.info.log_likelihood >= b.info.log_likelihood - 1e-9)
      near(b.info.log_likelihood, a.info.log_likelihood, 1e-4)
      assert.is_true(a.info.log_likelihood < a:bounds().lower)
      local c <const> = new{q = "diagonal", whiten = whiten, noise = known}
      c:fit(x, y, {steps = 1, lr = STILL})
      near((c:log_marginal_likelihood()), c.info.log_likelihood, 1e-9)
      for _, p in ipairs{c:get "q.mean", c:get "q.scale"} do
        near((0 * j):totable(), gb.grad(c:log_marginal_likelihood(), p.raw):totable(), 1e-6)
      end
    end
  end)

  it("leave what is fixed, in the last pass too", function()
    for _, names in ipairs{{"mean", "scale"}, {"scale", "mean"}} do
      local still <const>, moving <const> = table.unpack(names)
      local a <const> = new{q = "diagonal"}
      a:fit(x, y, {steps = 3, polish = false})
      a:get("q." .. still).fixed = true
      local before <const>, other <const> = a.q[still].value:totable(), a.q[moving].value:totable()
      a:fit{steps = 5, rate = 0.9}
      assert.same(before, a.q[still].value:totable())
      assert.is_not.same(other, a.q[moving].value:totable())
      near((a:log_marginal_likelihood()), a.info.log_likelihood, 1e-9)
    end
  end)

  it("go with slopes written out that are those of the expression, and with the same bits within any budget", function()
    for _, q in ipairs{"diagonal", "low_rank"} do
      for _, whiten in ipairs{true, false} do
        for _, case in ipairs{{nil, y}, {gb.likelihoods.student_t{}, y}} do
          local a <const> = new{q = q, whiten = whiten, likelihood = case[1], mean = gb.means.constant(0.3)}
          a:fit(x, case[2], {steps = 3, polish = false})
          local list <const>, raws <const> = fit.by_adam(a), {}
          for k, p in ipairs(list) do raws[k] = p.raw end
          local t <const>, whole <const> = fit.tensors(a, list, x, case[2], nil, 2.5, 0.1), elbo.negative(a, x, case[2], 2.5)
          near(whole, t.value, 1e-11)
          for k, g in ipairs(gb.grad(whole, raws, {unused = "zero"})) do near(g, t.slopes[k], 1e-9, list[k].name) end
        end
        local function bits(budget)
          local a <const> = new{q = q, whiten = whiten, batch = 12}
          a:fit(x, y, {steps = 6, rate = 0.3, budget = budget})
          return {a.info.value, a.q.mean:totable(), a.q.scale:totable(), a.inducing.points:totable()}
        end
        assert.same(bits(nil), bits "200 KiB")
      end
    end
  end)
end)

describe("natural gradients of a low-rank q", function()
  it("come to rest where the slopes by mean and scale are 0; the last pass puts the mean there at once", function()
    for _, whiten in ipairs{true, false} do
      for _, polish in ipairs{true, false} do
        local a <const> = new{q = "low_rank", rank = 2, whiten = whiten}
        a:set{["q.weights"] = 0.02 * (j:unsqueeze(2) + 2 * gb.tensor{{0, 1}}):cos()}
        a:fit(x, y, {steps = polish and 1 or 600, rate = 1, lr = STILL, polish = polish})
        local by <const> = gb.grad(a:log_marginal_likelihood(), {a.q.mean.raw, a.q.scale.raw})
        near((0 * j):totable(), by[1]:totable(), polish and 1e-6 or 5e-3)
        if not polish then near((0 * j):totable(), by[2]:totable(), 1e-6) end
        near((a:log_marginal_likelihood()), a.info.log_likelihood, 1e-9)
      end
    end
  end)

  it("move precisions of scales by the slopes with the weights as they are", function()
    for _, case in ipairs(cases) do
      local likelihood <const>, values <const>, whiten <const> = table.unpack(case)
      local a <const> = new{likelihood = likelihood, q = "low_rank", rank = 2, whiten = whiten}
      a:fit(x, values, {steps = 3, polish = false})
      a:set{["q.weights"] = 0.2 * (j:unsqueeze(2) + 2 * gb.tensor{{0, 1}}):cos()}
      local s <const> = a.q.scale.value
      -- By log scale: 2 scale^2 times the slope by scale^2.
      local by <const> = gb.grad(a:log_marginal_likelihood(), a.q.scale.raw) / (2 * s * s)
      local t <const> = fit.tensors(a, fit.by_adam(a), x, values, nil, 1, 0.3)
      near(1 / (1 / (s * s) - 0.6 * by):sqrt(), t.q[2], 1e-9)
    end
  end)

  it("leave the weights to Adam", function()
    local a <const> = new{q = "low_rank", rank = 2}
    a:fit(x, y, {steps = 0})
    local before <const> = a.q.weights.raw:totable()
    a:fit{steps = 1, lr = 0.01}
    local moved <const> = (a.q.weights.raw - gb.tensor(before)):abs()
    near({0.01, 0.01}, {moved:min():item(), moved:max():item()}, 1e-5)
  end)
end)

describe("natural gradients", function()
  it("keep a covariance where log p is not concave", function()
    local far <const> = gb.where(i:eq(3), 40.0, gb.where(i:eq(11), -30.0, y)):eval()
    for _, q in ipairs{"full", "diagonal"} do
      for _, whiten in ipairs{true, false} do
        local a <const> = new{q = q, whiten = whiten, likelihood = gb.likelihoods.student_t{scale = 0.05, df = 1.5}}
        local info <const> = a:fit(x, far, {steps = 40, rate = 1, lr = STILL})
        assert.is_true(info.log_likelihood > -1e6 and info.iterations == 40)
        assert.is_true(a:predict(x).f_var:min():item() > 0)
      end
    end
  end)

  it("move a diagonal q of several latent functions to where the slopes by it are 0", function()
    local classes <const> = gb.where(y:gt(0.8), 3.0, gb.where(y:gt(0.2), 2.0, 1.0)):eval()
    local a <const> = new{q = "diagonal", likelihood = gb.likelihoods.softmax{classes = 3}}
    a:fit(x, classes, {steps = 400, rate = 0.5, lr = STILL})
    for _, name in ipairs{"q.mean", "q.scale"} do
      local g <const> = gb.grad(a:log_marginal_likelihood(), a:get(name).raw)
      assert.same({3, m}, {g.shape[1], g.shape[2]})
      assert.is_true(g:abs():max():item() < 2e-3, name .. " " .. g:abs():max():item())
    end
    local list <const>, raws <const> = fit.by_adam(a), {}
    for k, p in ipairs(list) do raws[k] = p.raw end
    local t <const>, whole <const> = fit.tensors(a, list, x, classes, nil, 2.5, 0.1), elbo.negative(a, x, classes, 2.5)
    near(whole, t.value, 1e-11)
    for k, g in ipairs(gb.grad(whole, raws, {unused = "zero"})) do near(g, t.slopes[k], 1e-9, list[k].name) end
  end)
end)

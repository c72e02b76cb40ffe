--- Variational models fitted by L-BFGS on all rows: against exact models, the collapsed model, dense formulas and Adam; slopes; the
-- options, reports and resumptions of exact models' fits.
local all_rows <const> = require "gibbous.gp.svgp.all_rows"
local core <const> = require "gibbous.core"
local fit <const> = require "gibbous.gp.svgp.fit"
local gb <const> = require "gibbous"
local posterior <const> = require "gibbous.gp.svgp.posterior"
local support <const> = require "spec.support"
local whole <const> = require "gibbous.gp.svgp.whole"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const>, m <const> = 40, 7
local i <const>, j <const> = gb.range(0, n - 1, 1, {dtype = "f64"}), gb.range(0, m - 1, 1, {dtype = "f64"})
local x <const> = gb.stack({(1.7 * i + 0.3):sin(), (2.3 * i):cos()}, 2):eval()
local y <const> = ((3 * x:select(2, 1)):sin() + x:select(2, 2) ^ 2 + 0.1 * (11 * i):cos()):eval()
local z <const> = gb.stack({(2.9 * j + 1):sin(), (1.1 * j + 0.5):cos()}, 2):eval()
local classes <const> = gb.where((y + 0.5 * (7 * i):sin()):gt(0.2), 1.0, 0.0):eval()
local counts <const> = (3.2 + 2 * (3 * x:select(2, 1)):sin() + (5 * i):cos()):floor():eval()
local at <const> = gb.rand(6, 2, {seed = 3}):eval()

local function kernel() return K.matern52{lengthscale = {0.8, 1.1}, variance = 1.3} end

local function new(o)
  local all <const> = {kernel = kernel(), inducing = z, noise = not (o and o.likelihood) and 0.07 or nil}
  for key, v in pairs(o or {}) do all[key] = v end
  return gb.gp.svgp(all)
end

local function lbfgs(o)
  local all <const> = {method = "lbfgs"}
  for key, v in pairs(o or {}) do all[key] = v end
  return all
end

--- KL(N(mean, S) || N(0, prior)).
local function kl(mean, S, prior)
  return (gb.linalg.solve(prior, S):diagonal():sum() + (mean * gb.linalg.solve(prior, mean)):sum() - #mean
    + gb.linalg.logdet(prior) - gb.linalg.logdet(S)) / 2
end

--- What a fit came to, to the bit.
local function bits(a)
  local info <const> = a.info
  local out <const> = {info.value, info.iterations, info.evaluations, info.setbacks, info.reason}
  for _, p in ipairs(gb.params(a)) do out[#out + 1] = p.value:reshape(-1):totable() end
  return out
end

describe("gb.gp.svgp by L-BFGS", function()
  it("reaches the exact model's likelihood where the inducing points are the data", function()
    local exact <const> = gb.gp.exact{kernel = kernel(), noise = 0.07, mean = gb.means.constant(0.2)}
    exact:fit(x, y)
    local a <const> = gb.gp.svgp{kernel = kernel(), noise = 0.07, mean = gb.means.constant(0.2), inducing = x, learn = false}
    local info <const> = a:fit(x, y, lbfgs())
    near(exact.info.log_likelihood, info.log_likelihood, 1e-3)
    near(exact:predict(at).mean, a:predict(at).mean, 2e-3)
    near(exact:predict(at).y_var, a:predict(at).y_var, 2e-3)
    assert.is_true(info.converged)
    assert.same({"lbfgs", "elbo", false, "f64"}, {info.method, info.objective, info.interrupted, info.precision})
  end)

  it("has the bits of gb.gp.sgpr with Gaussian noise, and its q", function()
    local known <const> = (0.05 + 0.02 * (1 + i:sin())):eval()
    local varying <const> = gb.likelihoods.heteroscedastic{log_variance = gb.means.linear{}, noise = 0.07}
    for _, o in ipairs{{noise = 0.07}, {noise = known}, {likelihood = varying}} do
      local want <const> = gb.gp.sgpr{kernel = kernel(), inducing = z, noise = o.noise, likelihood = o.likelihood}
      want:fit(x, y, {steps = 12})
      for _, whiten in ipairs{true, false} do
        local a <const> = new{noise = o.noise, likelihood = o.likelihood, whiten = whiten}
        a:fit(x, y, lbfgs{steps = 12})
        assert.equal(want.info.value, a.info.value)
        assert.equal(want.info.evaluations, a.info.evaluations)
        assert.same(want.inducing.points.value:totable(), a.inducing.points.value:totable())
        for _, name in ipairs{"mean", "f_cov"} do near(want:predict(at)[name], a:predict(at)[name], 1e-7, name) end
        near(a.info.log_likelihood, (a:log_marginal_likelihood()), 1e-7)
      end
    end
  end)

  it("sets the q of counts to where the ELBO has no slope, by dense formulas", function()
    for _, whiten in ipairs{true, false} do
      local a <const> = new{likelihood = gb.likelihoods.poisson{}, whiten = whiten, mean = gb.means.constant(0.4)}
      a:fit(x, counts, lbfgs{steps = 6})
      local zz <const> = a.inducing.points.value
      local Kzz <const> = a.kernel(zz) + gb.linalg.diag(a.kernel:diag(zz) * 1e-8)
      local W <const> = gb.linalg.solve(Kzz, a.kernel(zz, x))                          -- f = m + W'u
      local p <const> = a:predict((x + 0):eval())
      local rate <const> = (p.mean + p.f_var / 2):exp()
      -- u ~ N(mean, S): S^-1 = K_zz^-1 + W diag(rate) W', K_zz^-1 mean = W (y - rate)
      local S <const> = gb.linalg.solve(gb.linalg.solve(Kzz, gb.eye(m)) + (W * rate:unsqueeze(1)):matmul(W:t()), gb.eye(m))
      local mean <const> = Kzz:matmul(W:matmul(counts - rate))
      near(a.mean(zz) + mean, a:predict((zz + 0):eval()).mean, 1e-5)
      near(S:diagonal(), a:predict((zz + 0):eval()).f_var, 1e-5)
      near((counts * p.mean - rate - (counts + 1):lgamma()):sum(), (a:log_marginal_likelihood()) + kl(mean, S, Kzz), 1e-5)
    end
  end)

  it("has the slopes of differences at the best q, and of every other q", function()
    for _, case in ipairs{{{}, y}, {{whiten = false}, y}, {{q = "diagonal"}, y}, {{q = "low_rank", rank = 2}, y},
      {{likelihood = gb.likelihoods.bernoulli{}}, classes}, {{likelihood = gb.likelihoods.bernoulli{}, whiten = false}, classes},
      {{likelihood = gb.likelihoods.poisson{}}, counts}, {{likelihood = gb.likelihoods.poisson{}, q = "diagonal"}, counts},
      {{likelihood = gb.likelihoods.negative_binomial{}}, counts}, {{likelihood = gb.likelihoods.student_t{}}, y}} do
      local o <const>, values <const> = table.unpack(case)
      o.mean = gb.means.constant(0.3)
      local a <const> = new(o)
      a:fit(x, values, lbfgs{steps = 2})
      support.check_gradients(function() return posterior.objective(a, all_rows.name) end, fit.free(a), 1e-5, 1e-4)
    end
  end)

  it("has them where log p is not concave", function()
    local rows <const>, six <const> = gb.linspace(0, 6, 60):eval(), gb.linspace(0, 6, 6):eval()
    local k <const> = gb.range(0, 59, 1, {dtype = "f64"})
    local far <const> = (rows:sin() + gb.where((k / 5):floor():eq(k / 5), 3.0, 0.0)):eval()
    local a <const> = gb.gp.svgp{kernel = K.rbf{lengthscale = 1, variance = 1}, inducing = six,
      likelihood = gb.likelihoods.student_t{scale = 0.2}}
    a:fit(rows, far, lbfgs{steps = 2})
    local p <const> = a:predict((rows + 0):eval())
    local var <const> = p.f_var:detach():eval():requires_grad()
    local slope <const> = gb.grad(a.likelihood:expected(p.mean:detach(), var, far):sum(), var)
    assert.is_true(slope:gt(0):any())
    support.check_gradients(function() return posterior.objective(a, all_rows.name) end, fit.free(a), 1e-5, 1e-4)
  end)

  it("reaches an ELBO that Adam does not pass, with other likelihoods and every q", function()
    for _, case in ipairs{{"bernoulli", classes, "full"}, {"poisson", counts, "full"}, {"bernoulli", classes, "diagonal"},
      {"poisson", counts, "low_rank"}, {"student_t", y, "full"}} do
      local kind <const>, values <const>, q <const> = table.unpack(case)
      local function make()
        return new{likelihood = gb.likelihoods[kind]{}, q = q, rank = q == "low_rank" and 3 or nil}
      end
      local one <const>, two <const> = make(), make()
      local by_adam <const> = one:fit(x, values, {steps = 200})
      local info <const> = two:fit(x, values, lbfgs{steps = 50})
      assert.is_true(info.log_likelihood >= by_adam.log_likelihood - 1e-2, ("%s, %s: %.4f, Adam %.4f"):format(kind, q,
        info.log_likelihood, by_adam.log_likelihood))
      assert.is_true(info.iterations > 3)
      near(info.log_likelihood, (two:log_marginal_likelihood()), 1e-6)
    end
  end)

  it("fits several latent functions", function()
    local labels <const> = gb.where(y:gt(1), 3.0, gb.where(y:gt(0.2), 2.0, 1.0)):eval()
    local function make() return new{likelihood = gb.likelihoods.softmax{classes = 3}} end
    local one <const>, two <const> = make(), make()
    one:fit(x, labels, {steps = 60})
    local info <const> = two:fit(x, labels, lbfgs{steps = 8})
    assert.is_true(info.log_likelihood >= one.info.log_likelihood - 0.05)
    assert.is_true(two:score(x, labels).accuracy > 0.8)
  end)

  it("has the same bits within any budget", function()
    for _, case in ipairs{{{}, y}, {{likelihood = gb.likelihoods.poisson{}}, counts}, {{q = "diagonal"}, y}} do
      local outcomes <const> = {}
      for k, budget in ipairs{false, "178 KiB", "1 MiB"} do
        local a <const> = new(case[1])
        a:fit(x, case[2], lbfgs{steps = 5, budget = budget or nil})
        outcomes[k] = bits(a)
      end
      assert.same(outcomes[1], outcomes[2])
      assert.same(outcomes[1], outcomes[3])
    end
  end)

  it("goes on where it was interrupted, to the same bits", function()
    for _, case in ipairs{{{}, y}, {{likelihood = gb.likelihoods.poisson{}}, counts}, {{q = "diagonal"}, y},
      {{likelihood = gb.likelihoods.poisson{}}, counts, {restarts = 1, seed = 2}}} do
      local o <const> = lbfgs{steps = 6}
      for key, v in pairs(case[3] or {}) do o[key] = v end
      local straight <const> = new(case[1])
      straight:fit(x, case[2], lbfgs(o))
      for _, every in ipairs{1, 3} do
        local a <const>, seen = new(case[1]), 0
        o.on_step = function()
          seen = seen + 1
          if seen % every == 0 then core.raise("interrupted", "interrupted") end
        end
        local report, pieces = a:fit(x, case[2], lbfgs(o)), 1
        while report.interrupted do report, pieces = a:fit{resume = report}, pieces + 1 end
        assert.is_true(pieces > 2)
        assert.same(bits(straight), bits(a))
      end
    end
  end)

  it("keeps its best point, and goes on, where it is interrupted while it searches q", function()
    local o <const> = {likelihood = gb.likelihoods.poisson{}}
    local straight <const> = new(o)
    straight:fit(x, counts, lbfgs{steps = 4})
    local natural <const> = whole.natural
    for _, when in ipairs{2, 20, 24} do
      local a <const>, calls = new(o), 0
      whole.natural = function(...)
        calls = calls + 1
        if calls == when then core.raise("interrupted", "interrupted") end
        return natural(...)
      end
      local ok <const>, info = pcall(a.fit, a, x, counts, lbfgs{steps = 4})
      whole.natural = natural
      assert.is_true(ok, tostring(info))
      assert.is_true(info.interrupted)
      if when > 2 then near(info.log_likelihood, (a:log_marginal_likelihood()), 1e-6) end
      info = a:fit{resume = info}
      assert.is_false(info.interrupted)
      near(straight.info.value, info.value, when > 2 and 0 or 1e-9)
    end
  end)

  it("tells of steps, at which q is the best for the parameters", function()
    for _, case in ipairs{{{}, y}, {{likelihood = gb.likelihoods.poisson{}}, counts}} do
      local a <const>, seen <const> = new(case[1]), {}
      local info <const> = a:fit(x, case[2], lbfgs{steps = 8, on_step = function(s)
        seen[#seen + 1] = s.value
        near(-s.value, (a:log_marginal_likelihood()), 1e-6)
        local again <const> = a:copy()
        again:fit(lbfgs{steps = 0})
        near(again:predict(at).mean, a:predict(at).mean, 1e-4)
      end})
      assert.equal(9, #seen)                                         -- the start and 8 steps
      assert.equal(9, #info.history)
      for k, s in ipairs(info.history) do assert.same({k - 1, seen[k]}, {s.step, s.value}) end
      assert.is_number(info.history[1].gradient_norm)
      for k = 2, 9 do assert.is_true(seen[k] < seen[k - 1]) end
      assert.same({"step limit reached", false, 8}, {info.reason, info.converged, info.iterations})
    end
  end)

  it("ends at a time limit, or where a step says so, at the best point and its q", function()
    local a <const> = new{likelihood = gb.likelihoods.poisson{}}
    local info = a:fit(x, counts, lbfgs{seconds = 1e-6})
    assert.matches("^the time limit of 1e%-06 s", info.reason)
    assert.is_false(info.converged)
    local b <const> = new{likelihood = gb.likelihoods.poisson{}}
    info = b:fit(x, counts, lbfgs{on_step = function(s) return s.step < 3 end})
    assert.same({true, false, 3, "stopped by on_step"}, {info.interrupted, info.converged, info.iterations, info.reason})
    near(info.log_likelihood, (b:log_marginal_likelihood()), 1e-6)
    assert.matches("^fit of 40 points, svgp on all rows: not converged", tostring(info))
  end)

  it("finds q where nothing else is free", function()
    local one <const> = gb.param(1, {fixed = true})
    local a <const> = gb.gp.svgp{kernel = K.rbf{lengthscale = one, variance = one}, inducing = z, learn = false,
      likelihood = gb.likelihoods.poisson{}}
    local info <const> = a:fit(x, counts, lbfgs())
    assert.same({"none", true, "there is no free parameter"}, {info.method, info.converged, info.reason})
    near(info.log_likelihood, (a:log_marginal_likelihood()), 1e-6)
  end)

  it("starts where it is told to, and keeps the best", function()
    local a <const> = new{likelihood = gb.likelihoods.poisson{}}
    local info = a:fit(x, counts, lbfgs{steps = 8, restarts = 1, seed = 1,
      starts = {{["kernel.lengthscale"] = {0.01, 0.01}}}})
    assert.equal(2, info.restarts)
    local alone <const> = new{likelihood = gb.likelihoods.poisson{}}
    alone:fit(x, counts, lbfgs{steps = 8})
    assert.is_true(info.log_likelihood >= alone.info.log_likelihood)
    near(info.log_likelihood, (a:log_marginal_likelihood()), 1e-6)
    for _, case in ipairs{{{}, y}, {{likelihood = gb.likelihoods.poisson{}}, counts}} do
      local b <const> = new(case[1])                                 -- whose last start is the worse
      info = b:fit(x, case[2], lbfgs{steps = 1, starts = {{["kernel.lengthscale"] = {0.01, 0.01}}}})
      near(info.log_likelihood, (b:log_marginal_likelihood()), 1e-6)
    end
  end)

  it("counts priors, scales data, takes f32 and mapped files, and leaves out missing rows", function()
    local function with_prior()
      local p <const> = gb.param({0.8, 1.1}, {min = 0, prior = gb.priors.gamma{shape = 3, rate = 4}})
      return K.matern52{lengthscale = p, variance = 1.3}
    end
    local a <const> = new{kernel = with_prior()}
    local want <const> = gb.gp.sgpr{kernel = with_prior(), inducing = z, noise = 0.07}
    a:fit(x, y, lbfgs{steps = 5})
    want:fit(x, y, {steps = 5})
    assert.equal(want.info.value, a.info.value)
    assert.is_true(a.info.log_prior ~= 0)
    local scaled <const>, plain <const> = new{standardize = true}, gb.gp.sgpr{kernel = kernel(), inducing = z, noise = 0.07,
      standardize = true}
    scaled:fit((5 * x + 3):eval(), (20 * y - 7):eval(), lbfgs{steps = 5})
    plain:fit((5 * x + 3):eval(), (20 * y - 7):eval(), {steps = 5})
    assert.equal(plain.info.value, scaled.info.value)
    local narrow <const> = new()
    narrow:fit(x:to{dtype = "f32"}:eval(), y:to{dtype = "f32"}:eval(), lbfgs{steps = 5})
    assert.equal("f64", narrow.info.precision)
    local path <const> = os.tmpname()
    os.remove(path)
    gb.data.write(path .. ".npy", x)
    gb.data.write(path .. "-y.npy", y)
    local b <const>, mapped <const> = new(), new()
    b:fit(x, y, lbfgs{steps = 5})
    mapped:fit(gb.data.read(path .. ".npy"), gb.data.read(path .. "-y.npy"), lbfgs{steps = 5})
    assert.same(bits(b), bits(mapped))
    os.remove(path .. ".npy")
    os.remove(path .. "-y.npy")
    local holes <const> = gb.where(i:gt(37), 0 / 0, y):eval()
    local c <const> = new()
    assert.equal(2, c:fit(x, holes, lbfgs{steps = 2, missing = "mask"}).masked)
  end)

  it("leaves a model that Adam, conditions, copies and files take on", function()
    local a <const>, path <const> = new(), os.tmpname()
    a:fit(x, y, lbfgs{steps = 5})
    a:save(path)
    for _, one in ipairs{a:copy(), gb.load(path)} do
      for _, name in ipairs{"mean", "f_var"} do assert.same(a:predict(at)[name]:totable(), one:predict(at)[name]:totable()) end
    end
    os.remove(path)
    local want <const> = gb.gp.sgpr{kernel = kernel(), inducing = z, noise = 0.07}
    want:fit(x, y, {steps = 5})
    local more <const> = gb.randn(6, {seed = 4}):eval()
    near(want:condition(at, more):predict(x).mean, a:condition(at, more):predict(x).mean, 1e-7)
    local before <const> = a.info.log_likelihood
    local info <const> = a:fit{steps = 30, lr = 1e-3}
    assert.equal("adam", info.method)
    assert.is_true(info.log_likelihood > before)
    assert.is_true(a:fit(lbfgs{steps = 3}).log_likelihood > info.log_likelihood)
  end)

  it("refuses options of the other method, and says why", function()
    for name, v in pairs{batch = 10, epochs = 2, lr = 0.1, rate = 0.5, polish = true, patience = 2} do
      raises("option", ('fit: %s is of method = "adam"; with "lbfgs" '):format(name),
        function() new():fit(x, y, lbfgs{[name] = v}) end)
    end
    raises("option", "every evaluation is of all rows, in windows that budget bounds",
      function() new():fit(x, y, lbfgs{batch = 10}) end)
    for name, v in pairs{tol = 1e-3, ftol = 1e-3, restarts = 1, starts = {}} do
      raises("option", ('fit: %s is of method = "lbfgs"; this fit is by "adam", the default'):format(name),
        function() new():fit(x, y, {[name] = v}) end)
    end
    raises("option", "method", function() new():fit(x, y, {method = "sgd"}) end)
    raises("option", 'plan: gb.gp.svgp is fitted by method = "adam" or "lbfgs"', function() new():plan(x, y, {method = "sgd"}) end)
    local a <const> = new()
    raises("option", "this is not the report of a fit that was interrupted",
      function() a:fit{resume = a:fit(x, y, {steps = 1})} end)
  end)

  it("is refused where its smallest window does not fit the budget, and the model stays as it was", function()
    local a <const> = new()
    a:fit(x, y, lbfgs{steps = 1})
    local before <const> = a:predict(at).mean:totable()
    raises("refused", "", function() a:fit(lbfgs{budget = 64}) end)
    assert.same(before, a:predict(at).mean:totable())
  end)
end)

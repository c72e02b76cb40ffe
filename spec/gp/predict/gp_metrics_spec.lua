--- Leave-one-out in closed form, and what score reports.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local X <const> = {{0.1, -0.4}, {1.2, 0.3}, {-0.7, 0.9}, {0.4, 0.4}, {-1.1, -0.8}}
local Y <const> = {0.3, -1.2, 0.8, 0.1, 2.0}
local x <const>, y <const> = gb.tensor(X), gb.tensor(Y)

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = K.rbf{lengthscale = {0.9, 1.3}, variance = 1.7}, mean = gb.means.constant(0.4),
    likelihood = o.likelihood or gb.likelihoods.gaussian(o.noise or 0.2), solver = o.solver or "direct"}
end

local function without(t, i)
  local keep <const> = {}
  for k = 1, #t do
    if k ~= i then keep[#keep + 1] = k end
  end
  return t:index(1, gb.tensor(keep, {dtype = "i64"}))
end

local function log_normal(e, var) return -0.5 * (math.log(2 * math.pi * var) + e * e / var) end

describe("the score of cached variances", function()
  it("says how much too large they are, and is the exact one at full rank", function()
    local x <const> = gb.linspace(0, 6, 60):eval()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}:condition(x, x:sin())
    local t <const> = gb.linspace(0.3, 5, 20):eval()
    local exact <const>, rough <const> = m:score(t, t:sin()), m:score(t, t:sin(), {variance = "cached", rank = 3})
    local full <const> = m:score(t, t:sin(), {variance = "cached", rank = 60})
    assert.is_nil(exact.f_var_bound)
    assert.is_true(rough.f_var_bound > 1e-6 and rough.nlpd > exact.nlpd)
    assert.is_true(math.abs(full.nlpd - exact.nlpd) <= 1e-6 and full.f_var_bound <= 1e-6)
    assert.equal(exact.rmse, rough.rmse)
  end)
end)

describe("m:leave_one_out", function()
  local function refits(build)
    local mean <const>, var <const>, density <const> = {}, {}, {}
    for i = 1, #x do
      local p <const> = build(i):condition(without(x, i), without(y, i)):predict(x:slice(1, i, i))
      mean[i], var[i] = p.mean:item(), p.y_var:item()
      density[i] = log_normal(Y[i] - mean[i], var[i])
    end
    return mean, var, density
  end

  it("equals n models that never saw the point", function()
    local mean <const>, var <const>, density <const> = refits(function() return model() end)
    local r <const> = model():condition(x, y):leave_one_out()
    near(mean, r.mean, 1e-9)
    near(var, r.var, 1e-9)
    near(density, r.log_density, 1e-9)
    local nlpd, mse = 0.0, 0.0
    for i = 1, 5 do nlpd, mse = nlpd - density[i] / 5, mse + (Y[i] - mean[i]) ^ 2 / 5 end
    near({nlpd, math.sqrt(mse)}, {r.nlpd, r.rmse}, 1e-9)
    assert.equal(5, r.n)
    assert.is_true(r.converged)
    assert.matches("^leave one out: rmse .* nlpd .* n 5$", tostring(r))
  end)

  it("counts the point's own known noise", function()
    local noise <const> = gb.tensor{0.1, 0.5, 0.2, 0.9, 0.05}
    local mean <const>, var <const> = refits(function(i)
      return model{likelihood = gb.likelihoods.fixed(without(noise, i), {new = noise[i]:item()})}
    end)
    local r <const> = model{likelihood = gb.likelihoods.fixed(noise)}:condition(x, y):leave_one_out()
    near(mean, r.mean, 1e-9)
    near(var, r.var, 1e-9)
  end)

  it("by conjugate gradients is the same to their tolerance", function()
    local n <const> = 90
    local points <const> = gb.rand(n, 2, {seed = 1}):eval()
    local values <const> = (points:sum(2) * 3):sin():eval()
    local direct <const> = model():condition(points, values):leave_one_out()
    local r <const> = model{solver = gb.solvers.cg{tol = 1e-10}}:condition(points, values):leave_one_out()
    near(direct.mean, r.mean, 1e-7)
    near(direct.var, r.var, 1e-7)
    assert.is_true(r.converged)
    local poor <const> = model{noise = 1e-4, solver = gb.solvers.cg{tol = 1e-12, max_iter = 2}}:condition(points, values)
      :leave_one_out()
    assert.is_false(poor.converged)
    assert.matches("did not converge", tostring(poor))
    local zero <const> = model{noise = 1e-4, solver = gb.solvers.cg{tol = 1e-12, max_iter = 2}}
      :condition(points, gb.full({n}, 0.4)):leave_one_out()            -- the residual is 0: only the unit columns miss
    assert.is_false(zero.converged)
  end)

  it("by a solver has the gradients of the factor's, from 64 columns at once", function()
    local core <const> = require "gibbous.core"
    local many <const> = gb.rand(129, 1, {seed = 1}):eval() * 40
    local function slope(solver, noise)
      local l <const> = gb.param(0.9, {min = 0})
      local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = l}, noise = noise, solver = solver}:condition(many,
        many:sum(2):sin())
      local r <const> = m:leave_one_out()
      return gb.grad((r.var * gb.range(1, 129)):sum() + (r.mean * gb.range(1, 129)):sum(), l):item()
    end
    local widths <const>, cg <const> = {}, core.cg
    local got <const> = support.with(core, {cg = function(a, b, o)
      widths[#widths + 1] = b.ndim == 2 and b.shape[2] or 1
      return cg(a, b, o)
    end}, function() return slope(gb.solvers.cg{tol = 1e-12}, 0.2) end)
    local want <const> = slope("direct", 0.2)
    assert.is_true(math.abs(got - want) <= 1e-6 * math.abs(want), ("%g, %g"):format(got, want))
    table.sort(widths, function(a, b) return a > b end)
    assert.same({64, 64, 1}, {widths[1], widths[2], widths[3]})
  end)

  -- Points far from all others are solved in one step, the others are not; columns are solved 64 at a time.
  it("by a solver converged where every slice of columns did", function()
    local function converged(crowd, alone)
      local near_by <const> = gb.rand(crowd, 1, {seed = 1})
      local far <const> = (gb.range(1, alone) * 1000):to{dtype = "f64"}:unsqueeze(2)
      local hard <const>, easy <const> = {near_by, gb.zeros(crowd)}, {far, gb.ones(alone)}
      local out <const> = {}
      for i, order in ipairs{{hard, easy}, {easy, hard}} do
        local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.2, solver = gb.solvers.cg{max_iter = 1, tol = 1e-6}}
          :condition(gb.cat({order[1][1], order[2][1]}, 1), gb.cat({order[1][2], order[2][2]}, 1))
        out[i] = m:leave_one_out().converged
      end
      return out
    end
    assert.same({false, false}, converged(100, 100))
    assert.same({true, true}, converged(1, 199))
  end)

  it("needs data, two points or more", function()
    raises("option", "leave_one_out: the model holds no data", function() model():leave_one_out() end)
    raises("shape", "needs 2 observations or more, got 1", function()
      model():condition(x:slice(1, 1, 1), y:slice(1, 1, 1)):leave_one_out()
    end)
  end)

  it("is an objective to fit by, differentiated", function()
    local n <const> = 40
    local points <const> = gb.rand(n, 2, {seed = 3}):eval()
    local values <const> = ((points:select(2, 1) * 5):sin() + 0.1 * gb.randn(n, {seed = 4})):eval()
    local m <const> = model():condition(points, values)
    local start <const> = m:leave_one_out().nlpd
    local info <const> = m:fit{objective = "loo"}
    assert.is_true(info.converged, tostring(info))
    near(n * m:leave_one_out().nlpd, info.value, 1e-9)
    assert.is_true(m:leave_one_out().nlpd < start)
    assert.equal("loo", info.objective)
    assert.matches("leave%-one%-out density", tostring(info))
    assert.is_true(info.gradient_norm <= 1e-2)
    local other <const> = model():condition(points, values)            -- the maximum of the likelihood is another point
    other:fit()
    assert.is_true(other:leave_one_out().nlpd >= m:leave_one_out().nlpd - 1e-6)
    local objective <const> = require "gibbous.gp.exact.objective"
    support.check_gradients(function() return objective.value(m, "direct", "loo") end, (gb.params(m)), 2e-5)
    raises("option", 'the objective "loo" needs solver = "direct"', function()
      model{solver = gb.solvers.cg{}}:fit(points, values, {objective = "loo"})
    end)
  end)
end)

describe("m:score", function()
  local xs <const> = gb.tensor{{0, 0}, {1, -1}, {5, 5}, {0.2, 0.1}}
  local YS <const> = {0.5, -0.3, 9, 0.2}

  local function ndtr(z) return gb.tensor(z):ndtr():item() end

  it("gives the figures of the formulas", function()
    local m <const> = model():condition(x, y)
    local p <const> = m:predict(xs)
    local mean <const>, var <const> = p.mean:totable(), p.y_var:totable()
    local want <const> = {se = 0, mae = 0, nlpd = 0, crps = 0}
    local inside <const> = {[50] = 0, [90] = 0, [95] = 0}
    local z_of <const> = {[50] = 0.6744897501960817, [90] = 1.6448536269514722, [95] = 1.959963984540054}
    for i, v in ipairs(YS) do
      local e <const>, sd <const> = v - mean[i], math.sqrt(var[i])
      local z <const> = e / sd
      want.se, want.mae = want.se + e * e / 4, want.mae + math.abs(e) / 4
      want.nlpd = want.nlpd - log_normal(e, var[i]) / 4
      want.crps = want.crps + sd / 4 * (z * (2 * ndtr(z) - 1) + 2 * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - 1 /
        math.sqrt(math.pi))
      for level, q in pairs(z_of) do inside[level] = inside[level] + (math.abs(z) <= q and 0.25 or 0) end
    end
    local s <const> = m:score(xs, gb.tensor(YS))
    near({math.sqrt(want.se), want.mae, want.nlpd, want.crps}, {s.rmse, s.mae, s.nlpd, s.crps}, 1e-12)
    near({inside[50], inside[90], inside[95]}, {s.coverage50, s.coverage90, s.coverage95}, 1e-14)
    local test <const>, train <const> = gb.tensor(YS), y
    near(want.se / test:var(nil, {ddof = 0}):item(), s.smse, 1e-12)
    local mu <const>, s2 <const> = train:mean():item(), train:var(nil, {ddof = 0}):item()
    local trivial = 0.0
    for _, v in ipairs(YS) do trivial = trivial - log_normal(v - mu, s2) / 4 end
    near(want.nlpd - trivial, s.msll, 1e-12)
  end)

  it("counts coverage by central intervals of a normal", function()
    local metrics <const> = require "gibbous.gp.report.metrics"
    near({1.959963984540054, -1.2815515655446004}, {metrics.quantile(0.975), metrics.quantile(0.1)}, 1e-11)
    local e <const> = {}
    for i = 1, 400 do e[i] = 2 * metrics.quantile((i - 0.5) / 400) end
    for _, level in ipairs{0.2, 0.5, 0.9} do near(level, metrics.coverage(gb.tensor(e), gb.full({400}, 4), level), 3e-3) end
  end)

  it("tells the marginal from the joint density", function()
    local m <const> = model():condition(x, y)
    local s <const> = m:score(xs, gb.tensor(YS))
    -- the joint density of new points is the ratio of two marginal likelihoods
    local both <const> = m:condition(xs, gb.tensor(YS))
    near(both:log_marginal_likelihood():item() - m:log_marginal_likelihood():item(), s.joint_log_density, 1e-9)
    assert.is_true(math.abs(s.joint_log_density + 4 * s.nlpd) > 1e-3)
    assert.equal(s.joint_log_density, rawget(s, "joint_log_density"))                     -- kept
    raises("option", "a score has no field 'joint_log_densit' (did you mean 'joint_log_density'?)",
      function() return m:score(xs, gb.tensor(YS)).joint_log_densit end)
  end)

  it("forms no covariance between test points until the joint density is read", function()
    local m <const> = model():condition(x, y)
    local many <const> = gb.rand(12000, 2, {seed = 5}):eval()
    local before <const> = support.leave_room(24 << 20)
    local ok <const>, s <const> = pcall(m.score, m, many, many:sum(2))
    local refused <const>, err <const> = pcall(function() return s.joint_log_density end)
    gb.memory.limit(before)
    assert.is_true(ok, tostring(s))
    assert.is_false(refused)
    assert.equal("refused", err.code)
  end)

  it("is calibrated where the model is true, and says where it is not", function()
    local n <const> = 400
    local at <const> = gb.rand(n, 1, {seed = 6}):eval() * 40
    local truth <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.3, solver = "direct"}
    local values <const> = truth:predict(at):sample(1, {of = "y", seed = 7})[1]:eval()
    local half <const> = n // 2
    local function score(noise)
      return gb.gp.exact{kernel = K.rbf{}, noise = noise, solver = "direct"}:condition(at:slice(1, 1, half),
        values:slice(1, 1, half)):score(at:slice(1, half + 1, n), values:slice(1, half + 1, n))
    end
    local right <const>, narrow <const> = score(0.3), score(0.01)
    assert.is_true(right.calibration < 0.06, tostring(right.calibration))
    assert.is_true(narrow.calibration > 0.2, tostring(narrow.calibration))
    near(0.9, right.coverage90, 0.06)
    assert.is_true(right.nlpd < narrow.nlpd and right.crps < narrow.crps)
  end)

  it("has no smse or msll where they have no meaning", function()
    local s <const> = model():score(xs, gb.ones(4))                    -- the prior; y that does not vary
    assert.is_nil(s.smse)
    assert.is_nil(s.msll)
    assert.is_true(s.nlpd == s.nlpd)
  end)

  it("is defined where a prediction has no variance", function()
    local t <const> = gb.tensor{0, 1, 2}
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.1}, noise = 0, solver = "direct"}:condition(t, gb.tensor{1, 2, 3})
    local s <const> = m:score(t, gb.tensor{1.5, 2.5, 3.5})
    assert.equal(math.huge, s.nlpd)
    near(0.5, s.crps, 1e-9)
    near(0, s.coverage95, 0)
    assert.equal(math.huge, m:score(t, gb.tensor{0.5, 1.5, 2.5}).nlpd)
    assert.equal(-math.huge, m:score(t, gb.tensor{1, 2, 3}).nlpd)
  end)

  it("says when it comes from a solve that missed its tolerance", function()
    local points <const> = gb.rand(90, 2, {seed = 1}):eval()
    local s <const> = model{noise = 1e-4, solver = gb.solvers.cg{tol = 1e-12, max_iter = 2}}
      :condition(points, points:sum(2)):score(points, points:sum(2))
    assert.is_false(s.converged)
    assert.matches("from a solve that did not converge", tostring(s))
  end)

  it("refuses other fields and other data", function()
    local m <const> = model():condition(x, y)
    local s <const> = m:score(xs, gb.tensor(YS))
    raises("option", "a score has no field 'nlpp' (did you mean 'nlpd'?)", function() return s.nlpp end)
    raises("shape", "score: there are no rows to score", m.score, m, gb.zeros(0, 2), gb.zeros(0))
    raises("shape", "the model was given 2 columns", m.score, m, gb.ones(3, 1), gb.ones(3))
    raises("nan", "score: y: the value in row 2 is not finite", m.score, m, gb.ones(2, 2), gb.tensor{1, 0 / 0})
  end)
end)

--- Scores against the same figures by hand, of a model's own predictions.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local x <const>, y <const> = gb.tensor{0, 0.4, 0.9, 1.7, 2.2}, gb.tensor{0.1, 0.5, 0.7, 0.9, 0.6}
local at <const>, seen <const> = gb.tensor{0.2, 0.6, 1.1, 1.5, 2.0, 3.5}, {0.35, 0.55, 0.4, 1.3, 0.75, -1.2}
local function model(likelihood)
  return gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.8}, solver = "direct",
    likelihood = likelihood or gb.likelihoods.gaussian(0.04)}:condition(x, y)
end

--- The standard normal distribution, by its series.
local function normal_cdf(z)
  local term, sum = z, z
  for k = 1, 200 do
    term = -term * z * z / (2 * k) * (2 * k - 1) / (2 * k + 1)
    sum = sum + term
  end
  return 0.5 + sum / math.sqrt(2 * math.pi)
end

local function quantile(p)
  local lo, hi = -6.0, 6.0
  for _ = 1, 100 do
    local mid <const> = (lo + hi) / 2
    if normal_cdf(mid) < p then lo = mid else hi = mid end
  end
  return lo
end

--- All figures of observations at means and variances; trained: the y that the trivial model knows.
local function figures(ys, mean, var, trained)
  local n <const>, s <const> = #ys, {mae = 0, nlpd = 0, crps = 0, coverage50 = 0, coverage90 = 0, coverage95 = 0, calibration = 0}
  local mse, trivial, m, v = 0.0, 0.0, 0.0, 0.0
  local spread, centre = 0.0, 0.0
  for _, t in ipairs(trained) do m = m + t / #trained end
  for _, t in ipairs(trained) do v = v + (t - m) ^ 2 / #trained end
  for _, t in ipairs(ys) do centre = centre + t / n end
  local inside <const> = {}
  for i, t in ipairs(ys) do
    local e <const>, sd <const> = t - mean[i], math.sqrt(var[i])
    local z <const> = e / sd
    mse, s.mae, spread = mse + e * e / n, s.mae + math.abs(e) / n, spread + (t - centre) ^ 2 / n
    s.nlpd = s.nlpd + (math.log(2 * math.pi * var[i]) + z * z) / 2 / n
    trivial = trivial + (math.log(2 * math.pi * v) + (t - m) ^ 2 / v) / 2 / n
    s.crps = s.crps + sd * (z * (2 * normal_cdf(z) - 1) + 2 * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - 1 /
      math.sqrt(math.pi)) / n
    for _, level in ipairs{10, 20, 30, 40, 50, 60, 70, 80, 90, 95} do
      inside[level] = (inside[level] or 0) + (math.abs(z) <= quantile(0.5 + level / 200) and 1 / n or 0)
    end
  end
  for _, level in ipairs{50, 90, 95} do s["coverage" .. level] = inside[level] end
  for tenth = 1, 9 do s.calibration = s.calibration + math.abs(inside[10 * tenth] - tenth / 10) / 9 end
  s.rmse, s.smse, s.msll = math.sqrt(mse), mse / spread, s.nlpd - trivial
  return s
end

local function check(score, want)
  for key, v in pairs(want) do near(v, score[key], 1e-6, key) end
end

describe("a score", function()
  it("has the figures of the textbook", function()
    local m <const> = model()
    local p <const> = m:predict(at)
    local s <const> = m:score(at, gb.tensor(seen))
    check(s, figures(seen, p.mean:totable(), p.y_var:totable(), y:totable()))
    assert.same({6, 0, true, true}, {s.n, s.masked, s.converged, s.noise_known})
    for _, key in ipairs{"mse", "spread", "trivial"} do assert.is_nil(rawget(s, key)) end
    local c <const>, e <const> = (p.f_cov + gb.eye(6) * 0.04):totable(), (gb.tensor(seen) - p.mean):totable()
    local l <const> = support.cholesky(c)
    local want = -0.5 * support.dot(e, support.cholesky_solve(l, e)) - 3 * math.log(2 * math.pi)
    for i = 1, 6 do want = want - math.log(l[i][i]) end
    near(want, s.joint_log_density, 1e-9)
  end)

  it("takes other noise of the new observations: one, or one a row", function()
    local m <const> = model()
    local p <const> = m:predict(at)
    local noises <const> = {0.1, 0.2, 0, 0.4, 0.5, 0.6}
    check(m:score(at, gb.tensor(seen), {noise = 0.3}), figures(seen, p.mean:totable(), (p.f_var + 0.3):totable(), y:totable()))
    check(m:score(at, gb.tensor(seen), {noise = gb.tensor(noises)}),
      figures(seen, p.mean:totable(), (p.f_var + gb.tensor(noises)):totable(),
      y:totable()))
    for _, noise in ipairs{gb.ones(5), gb.ones(7), gb.ones(6, 1)} do
      raises("shape", "score: noise must be one variance, or one for each of the 6 rows, got shape", m.score, m, at,
        gb.tensor(seen), {noise = noise})
    end
    for _, noise in ipairs{gb.tensor{1, 1, -1, 1, 1, 1}, gb.tensor{1, 1, 1 / 0, 1, 1, 1}} do
      raises("option", "score: noise variances must be 0 or more and finite", m.score, m, at, gb.tensor(seen), {noise = noise})
    end
  end)

  it("leaves out the rows whose y is missing, with their noise", function()
    local m <const> = model()
    local holed <const>, kept <const>, rows <const>, noises <const> = {}, {}, {}, {}
    for i, v in ipairs(seen) do
      holed[i] = i % 3 == 0 and 0 / 0 or v
      if i % 3 ~= 0 then kept[#kept + 1], rows[#rows + 1], noises[#noises + 1] = v, i, i / 10 end
    end
    local p <const> = m:predict(at:index(1, gb.tensor(rows, {dtype = "i64"})))
    local s <const> = m:score(at, gb.tensor(holed), {missing = "mask", noise = gb.range(1, 6) / 10})
    check(s, figures(kept, p.mean:totable(), (p.f_var + gb.tensor(noises)):totable(), y:totable()))
    assert.same({4, 2}, {s.n, s.masked})
    raises("shape", "score: there are no rows to score", m.score, m, at, gb.full({6}, 0 / 0), {missing = "mask"})
  end)

  it("says where nothing varies, and where the noise is not known", function()
    local m <const> = model()
    local flat <const> = m:score(at, gb.full({6}, 0.25))
    assert.is_nil(flat.smse)
    assert.equal("number", type(flat.msll))
    local small <const> = m:score(at, gb.tensor(seen) * 0.01)
    assert.equal("number", type(small.smse))
    local level <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = "direct"}:condition(x,
      gb.ones(5)):score(at, gb.tensor(seen))
    assert.is_nil(level.msll)
    local fixed <const> = gb.likelihoods.fixed(gb.full({5}, 0.04))
    local s <const> = model(fixed):score(at, gb.tensor(seen))
    assert.is_false(s.noise_known)
    raises("option", "score: the joint density of y needs their noise variances, which are not known: give noise",
      function() return s.joint_log_density end)
    assert.is_true(model(fixed):score(at, gb.tensor(seen), {noise = 0.1}).noise_known)
    assert.is_true(model(gb.likelihoods.fixed(gb.full({5}, 0.04), {new = 0.1})):score(at, gb.tensor(seen)).noise_known)
  end)

  it("by cached variances says how much too large they are", function()
    local m <const> = model()
    assert.is_nil(m:score(at, gb.tensor(seen)).f_var_bound)
    local s <const> = m:score(at, gb.tensor(seen), {variance = "cached"})
    assert.is_true(s.f_var_bound >= 0)
    near(m:score(at, gb.tensor(seen)).rmse, s.rmse, 1e-8)
  end)
end)

--- How reports print, every fact that they may have among it. A real report lends its class; the facts are given.
local gb <const> = require "gibbous"
local S <const> = gb.solvers

local x <const>, y <const> = gb.tensor{0, 0.5, 1.5, 2.5}, gb.tensor{1, 2, 0, 1}
local function model(o) return gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = o} end

--- A text for each change of the facts. class: a report; facts: of all texts.
local function prints(class, facts, rows)
  for i, row in ipairs(rows) do
    local all <const> = {}
    for key, v in pairs(facts) do all[key] = v end
    for key, v in pairs(row[1]) do all[key] = v end
    assert.equal(row[2], tostring(setmetatable(all, getmetatable(class))), "text " .. i)
  end
end

describe("the text of", function()
  it("a fit", function()
    local m <const> = model "direct"
    local head <const> = "fit of 4 points, direct: converged (why), log marginal likelihood -1.2500, 7 steps, 9 evaluations, 1.50 s"
    prints(m:fit(x, y, {steps = 1}), {n = 4, solver = "direct", converged = true, reason = "why", objective = "mll",
      log_likelihood = -1.25, log_prior = 0, iterations = 7, evaluations = 9, seconds = 1.5, restarts = 0, precision = "f64",
      dtype = "f64",
      setbacks = 0, notes = {}, active_bounds = {}, shared = {}, failed_starts = 0, masked = 0,
      solve_log = {solves = 0, unconverged = 0, residual = 0, condition = 0}}, {
      {{}, head},
      {{converged = false, objective = "loo"},
        "fit of 4 points, direct: not converged (why), leave-one-out density -1.2500, 7 steps, 9 evaluations, 1.50 s"},
      {{tasks = 2}, (head:gsub("4 points", "4 values of 2 tasks"))},
      {{log_likelihood_error = 0.125}, head .. "; standard error of the likelihood 0.12"},
      {{log_prior = 0.5}, head .. "; log prior 0.5000"},
      {{log_prior = -0.5}, head .. "; log prior -0.5000"},
      {{restarts = 2, failed_starts = 1}, head .. "; best of 3 starts\n  1 of 3 starts failed"},
      {{precision = "f32"}, head .. "; finished in f32"},
      {{setbacks = 1}, head .. "; 1 step undone"},
      {{n = 1, iterations = 1, evaluations = 1}, (head:gsub("4 points", "1 point"):gsub("7 steps, 9 evaluations",
        "1 step, 1 evaluation"))},
      {{log_likelihood = -math.huge}, (head:gsub(
        "log marginal likelihood %-1.2500", "stopped before the first log marginal likelihood"))},
      {{why = "because"}, head .. "\n  because"},
      {{notes = {"one", "two"}, active_bounds = {"a", "b"}, shared = {"c", "d"}, noise_floor = 1e-3, masked = 5,
        solve_log = {solves = 9, unconverged = 1, residual = 0.25, condition = 1e6}},
        head .. "\n  one\n  two\n  at a bound: a, b\n  shared with a model fitted before, whose predictions change too: c, d\n"
          .. "  the noise floor 0.001 binds\n  5 missing values of y left out\n"
          .. "  1 of 9 solves missed the tolerance, residual up to 0.25, condition about 1e+06"},
      {{masked = 1, shared = {"c"}}, head .. "\n  shared with a model fitted before, whose predictions change too: c\n"
        .. "  1 missing value of y left out"},
    })
  end)

  it("the choice of a solver", function()
    local why <const> = model "auto":fit(x, y, {steps = 1}).why
    prints(why, {solver = "direct", reason = "exact", direct = {seconds = 0.25, bytes = 1536}, budget = 3 * 2^30,
      iterative = {seconds = 2, bytes = 2^20, at_least = true}}, {
      {{}, "auto: direct, exact (direct about 0.25 s and 1.5 KiB a step; iterative at least 2 s and 1 MiB a step; budget 3 GiB)"},
      {{direct = {refused = true, minimum = 1023}, iterative = {bytes = 1024}, budget = 2^52},
        "auto: direct, exact (direct needs 1.02e+03 B; iterative 1 KiB a step; budget 4.1e+03 TiB)"},
    })
  end)

  it("a prediction", function()
    local info <const> = model "direct":condition(x, y):predict(x).info
    prints(info, {algorithm = "direct", variance = "exact", precision = "f64", converged = true}, {
      {{}, "direct, variance exact, f64"},
      {{variance = "cached", rank = 7}, "direct, variance cached of rank 7, f64"},
      {{converged = false, missed = "mean"}, "direct, variance exact, f64, mean not converged"},
      {{converged = false, missed = "mean", reason = "why", residual = 0.25, iterations = 3},
        "direct, variance exact, f64, mean not converged (why), residual 0.25 after 3 steps"},
      {{variance_error = 0.5, clamped = 1, invalid = 1, noise = "unknown", jitter = 1e-6},
        "direct, variance exact, f64, variances too large by 0.5 of themselves at most, 1 variance 0 after rounding, 1 variance "
          .. "lost "
          .. "to rounding: more noise, or precision = \"f64\", keeps them, noise of new observations not known: y_var is f_var, "
          .. "jitter 1e-06"},
      {{clamped = 0, invalid = 0, jitter = 0}, "direct, variance exact, f64"},
    })
  end)

  it("likelihoods, scores and leaving one out", function()
    local m <const> = model "direct":condition(x, y)
    prints(select(2, m:log_marginal_likelihood()), {value = -1.5, standard_error = 0, converged = true}, {
      {{}, "log marginal likelihood -1.5000"},
      {{standard_error = 0.25, converged = false, reason = "why"},
        "log marginal likelihood -1.5000, standard error 0.25, from a solve that did not converge (why)"},
    })
    local figures <const> = {rmse = 0.5, mae = 0.25, nlpd = 1.5, crps = 0.125, coverage95 = 0.75, n = 4, masked = 0,
      noise_known = true,
      converged = true}
    local text <const> = "rmse 0.5  mae 0.25  nlpd 1.5  crps 0.125  coverage95 75.0 %  n 4"
    prints(m:score(x, y), figures, {
      {{}, text},
      {{masked = 1}, text .. "  masked 1"},
      {{noise_known = false},
        text .. "  (the noise of these y is not known and left out: give noise = their variances, or the likelihood new)"},
      {{converged = false}, text .. "  (from a solve that did not converge)"},
    })
    prints(m:leave_one_out(), {rmse = 0.5, nlpd = 1.5, n = 4, converged = true}, {
      {{}, "leave one out: rmse 0.5  nlpd 1.5  n 4"},
      {{converged = false}, "leave one out: rmse 0.5  nlpd 1.5  n 4  (from a solve that did not converge)"},
    })
    local tasks <const> = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2, noise = 0.1}:condition(x, gb.stack({y, y + 1}, 2))
    prints(tasks:score(x, gb.stack({y, y}, 2)), figures, {
      {{tasks = {figures, {n = 0}}}, text .. "\ntask 1: " .. text .. "\ntask 2: no values"},
    })
  end)

  it("an update", function()
    local m <const> = model "direct":condition(x, y)
    m:predict(x).mean:eval()
    prints(m.update, {kind = "factor", rows = 4, onto = 0, seconds = 0.0015}, {
      {{}, "factored 4 rows in 1.5 ms"},
      {{kind = "append", rows = 1, onto = 1, seconds = 1}, "appended 1 row to 1 in 1 s"},
      {{kind = "append", rows = 2, onto = 7, seconds = 0.999}, "appended 2 rows to 7 in 999 ms"},
      {{kind = "decomposition", reason = "why"}, "decomposed 4 rows in 1.5 ms (why)"},
      {{kind = "solve", solve = {iterations = 3, converged = true}}, "solved 4 rows in 1.5 ms, 3 steps"},
      {{kind = "solve", solve = {iterations = 3, converged = false}, reason = "why"},
        "solved 4 rows in 1.5 ms, 3 steps, not converged (why)"},
      {{kind = "none", reason = "why"}, "nothing prepared: why"},
    })
  end)

  it("solves and determinants", function()
    local a <const>, b <const> = gb.eye(4) * 2, gb.ones(4)
    local by_steps <const> = {residual = 0.25, iterations = 3, seconds = 1.5, condition = 0, converged = true, reason = "why"}
    prints(select(2, S.cg{}:solve(a, b)), by_steps, {
      {{}, "converged after 3 steps: relative residual 0.25, 1.50 s"},
      {{converged = false, condition = 0.5},
        "not converged (why) after 3 steps: relative residual 0.25, condition about 0.5, 1.50 s"},
    })
    prints(select(2, S.cholesky{}:solve(a, b)), {residual = 0.25, condition = 10, digits = 14.6, jitter = 0, converged = true,
      reason = "why", seconds = 1.5}, {
      {{}, "solved: relative residual 0.25, condition about 10, 15 digits, no jitter, 1.50 s"},
      {{converged = false, jitter = 1e-3, relative_jitter = 1e-2},
        "why: relative residual 0.25, condition about 10, 15 digits, jitter 0.001 (0.01 of the mean diagonal), 1.50 s"},
    })
    prints(select(2, S.lanczos{}:logdet(a)), {value = 1.5, interval = {1, 2}, probes = 3, iterations = 4, seconds = 1.5,
      converged = true,
      reason = "why"}, {
      {{}, "log det 1.5, 95 % in [1, 2]: 3 probes, 4 steps, 1.50 s"},
      {{converged = false}, "log det 1.5, 95 % in [1, 2]: 3 probes, 4 steps (why), 1.50 s"},
    })
  end)

  it("a minimisation", function()
    local p <const> = gb.param(1)
    prints(gb.optim.minimize(function() return (p - 2) ^ 2 end, p, {steps = 1}), {converged = true, reason = "why", iterations = 3,
      method = "adam", value = 1.5, evaluations = 4, seconds = 1.5, setbacks = 0}, {
      {{}, "converged (why) after 3 steps of adam: value 1.5, 4 evaluations, 1.50 s"},
      {{converged = false, setbacks = 1}, "stopped (why) after 3 steps of adam: value 1.5, 4 evaluations, 1.50 s, 1 step undone"},
    })
  end)
end)

describe("the report of a fit", function()
  local fit_report <const> = require "gibbous.gp.fit.report"
  local param <const> = require "gibbous.param"
  local support <const> = require "spec.support"

  local function best(o)
    local out <const> = {converged = true, reason = "why", value = 2, gradient_norm = 0.5, iterations = 3, method = "adam"}
    for key, v in pairs(o or {}) do out[key] = v end
    return out
  end

  --- best, more: fields that differ; o: noise, likelihood, solver of the model, 'list' of parameters in place of its own.
  local function report(of_best, of_more, o)
    o = o or {}
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{variance = gb.param(2, {min = 0, prior = o.prior})},
      likelihood = o.likelihood,
      noise = not o.likelihood and (o.noise or 0.1) or nil, solver = o.solver or "direct"}:condition(x:to{dtype = o.dtype or "f64"},
      y:to{dtype = o.dtype or "f64"})
    m:predict(x:to{dtype = o.dtype or "f64"}).mean:eval()
    local more <const> = {seconds = 1.5, masked = 7, shared = {"a"}, log = {solves = 4}, restarts = 8, seed = 9, objective = "mll"}
    for key, v in pairs(of_more or {}) do more[key] = v end
    local collect <const> = param.collect
    return support.with(param, {collect = function(v)
      if o.list and rawequal(v, m) then return o.list, o.names end
      return collect(v)
    end}, function()
      return fit_report(m, best(of_best), {evaluations = 11, setbacks = 12, failed_starts = 13}, more)
    end)
  end

  it("has the facts of its best start, and of all", function()
    local r <const> = report()
    assert.same({true, "why", 2, 0, -2, "mll", 0.5, 3, 11, 12, 13, "f64", "f64", 8, "direct", 9, 4, 7, 1.5, false, "adam"},
      {r.converged, r.reason, r.value, r.log_prior, r.log_likelihood, r.objective, r.gradient_norm, r.iterations,
        r.evaluations, r.setbacks,
       r.failed_starts, r.precision, r.dtype, r.restarts, r.solver, r.seed, r.n, r.masked, r.seconds, r.interrupted, r.method})
    assert.same({{"a"}, {solves = 4}}, {r.shared, r.solve_log})
    assert.is_true(r.bytes > 0)
    assert.same({nil, nil, nil, nil}, {r.log_likelihood_error, r.noise_floor, r.why, r.tasks})
    local narrow <const> = report(nil, nil, {dtype = "f32"})
    assert.same({"f32", "f32"}, {narrow.precision, narrow.dtype})
    assert.equal("f64", report({precision = "f64"}, nil, {dtype = "f32"}).precision)
    assert.equal("cg(tol 0.001)", report(nil, nil, {solver = S.cg{tol = 1e-3}}).solver)
    local density <const> = gb.priors.gamma{shape = 3, rate = 2}
    local with_prior <const>, log_prior <const> = report(nil, nil, {prior = density}), density:log_density(gb.tensor(2)):item()
    support.near({log_prior, -2 - log_prior}, {with_prior.log_prior, with_prior.log_likelihood}, 1e-9)
  end)

  it("is not of convergence where the fit was stopped, or its last solve missed", function()
    assert.is_false(report{converged = false}.converged)
    local stopped <const> = report{interrupted = true}
    assert.same({false, true}, {stopped.converged, stopped.interrupted})
    local met <const> = report{solve = {converged = true, reason = "slow", standard_error = 0.5}}
    assert.same({true, "why", 0.25}, {met.converged, met.reason, met.log_likelihood_error})
    local missed <const> = report{solve = {converged = false, reason = "slow"}}
    assert.same({false, "the solver: slow"}, {missed.converged, missed.reason})
  end)

  it("tells of the noise floor where the least noise is within a twentieth of it", function()
    local function floor(noise, o) return report(nil, {floor = 0.1}, o or {noise = noise}).noise_floor end
    assert.same({0.1, 0.1}, {floor(0.1), floor(0.1049)})
    assert.is_nil(floor(0.1051))
    assert.equal(0.1, floor(nil, {likelihood = gb.likelihoods.fixed{9, 0.1, 9, 9}}))
  end)

  it("names free parameters at their bounds", function()
    for i, row in ipairs{
      {21, 20, nil, true}, {21.01, 20, nil, false}, {-19, -20, nil, true}, {19, nil, 20, true}, {18.99, nil, 20, false},
      {1e-12, 0, nil, true}, {1.5e-12, 0, nil, false}, {-1e-12, nil, 0, true}, {-1.5e-12, nil, 0, false}, {0.97, nil, 1, true},
      {11, 10, 110, true}, {11.01, 10, 110, false}, {109, 10, 110, true}, {108.99, 10, 110, false}, {5, nil, nil, false},
      {{50, 109}, 10, 110, true}, {{50, 11}, 10, 110, true}, {{50, 60}, 10, 110, false}, {{50, 21}, 20, nil, true},
      {{1, 19}, nil, 20, true},
      {{30, 22}, 20, nil, false}, {{1, 18}, nil, 20, false},
    } do
      local p <const> = {value = gb.tensor(row[1]), min = row[2], max = row[3]}
      local held <const> = {value = p.value, min = row[2], max = row[3], fixed = true}
      assert.same(row[4] and {"free"} or {}, report(nil, nil, {list = {held, p}, names = {"held", "free"}}).active_bounds,
        "row " .. i)
    end
  end)
end)

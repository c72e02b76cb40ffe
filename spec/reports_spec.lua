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
      log_likelihood = -1.25, log_prior = 0, iterations = 7, evaluations = 9, seconds = 1.5, restarts = 0, precision = "f64", dtype = "f64",
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
      {{setbacks = 1}, head .. "; 1 steps undone"},
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
        "direct, variance exact, f64, variances too large by 0.5 of themselves at most, 1 variances 0 after rounding, 1 variances lost "
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
    local figures <const> = {rmse = 0.5, mae = 0.25, nlpd = 1.5, crps = 0.125, coverage95 = 0.75, n = 4, masked = 0, noise_known = true,
      converged = true}
    local text <const> = "rmse 0.5  mae 0.25  nlpd 1.5  crps 0.125  coverage95 75.0 %  n 4"
    prints(m:score(x, y), figures, {
      {{}, text},
      {{masked = 1}, text .. "  masked 1"},
      {{noise_known = false}, text .. "  (the noise of these y is not known and left out: give noise = their variances, or the likelihood new)"},
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
      {{kind = "solve", solve = {iterations = 3, converged = false}, reason = "why"}, "solved 4 rows in 1.5 ms, 3 steps, not converged (why)"},
      {{kind = "none", reason = "why"}, "nothing prepared: why"},
    })
  end)

  it("solves and determinants", function()
    local a <const>, b <const> = gb.eye(4) * 2, gb.ones(4)
    local by_steps <const> = {residual = 0.25, iterations = 3, seconds = 1.5, condition = 0, converged = true, reason = "why"}
    prints(select(2, S.cg{}:solve(a, b)), by_steps, {
      {{}, "converged after 3 steps: relative residual 0.25, 1.50 s"},
      {{converged = false, condition = 0.5}, "not converged (why) after 3 steps: relative residual 0.25, condition about 0.5, 1.50 s"},
    })
    prints(select(2, S.cholesky{}:solve(a, b)), {residual = 0.25, condition = 10, digits = 14.6, jitter = 0, converged = true,
      reason = "why", seconds = 1.5}, {
      {{}, "solved: relative residual 0.25, condition about 10, 15 digits, no jitter, 1.50 s"},
      {{converged = false, jitter = 1e-3, relative_jitter = 1e-2},
        "why: relative residual 0.25, condition about 10, 15 digits, jitter 0.001 (0.01 of the mean diagonal), 1.50 s"},
    })
    prints(select(2, S.lanczos{}:logdet(a)), {value = 1.5, interval = {1, 2}, probes = 3, iterations = 4, seconds = 1.5, converged = true,
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
      {{converged = false, setbacks = 1}, "stopped (why) after 3 steps of adam: value 1.5, 4 evaluations, 1.50 s, 1 steps undone"},
    })
  end)
end)

--- Fitting: the free parameters that maximise the objective plus the log priors.
local core <const> = require "gibbous.core"
local choice <const> = require "gibbous.gp.exact.solver_choice"
local data <const> = require "gibbous.gp.data"
local model <const> = require "gibbous.gp.model"
local new_report <const> = require "gibbous.gp.fit.report"
local objective <const> = require "gibbous.gp.exact.objective"
local optim <const> = require "gibbous.optim"
local options <const> = require "gibbous.options"
local param <const> = require "gibbous.param"
local starts <const> = require "gibbous.gp.fit.starts"
local working <const> = require "gibbous.gp.exact.precision_twin"
local raised <const> = require "gibbous.raised"

local fields <const>, methods <const> = model.fields, model.methods

local fit_spec <const> = {restarts = "count", seed = "integer", objective = {"mll", "loo"}, budget = "any",
  missing = data.missing}
for key, kind in pairs(optim.spec) do fit_spec[key] = kind end

local function raw_values(list)
  local out <const> = {}
  for i, p in ipairs(list) do out[i] = p.raw end
  return out
end

local function set_raw(list, values)
  for i, p in ipairs(list) do p.raw = values[i] end
end

-- How far the first extra start lowers the noise, in its unconstrained value: a factor of 400.
local QUIET <const> = 6

--- Where the likelihood's noise stands in the list, whatever its name; nil where it is not free.
local function place_of_noise(self, list)
  local noise <const> = fields(self).likelihood.noise
  for i, p in ipairs(list) do
    if rawequal(p, noise) and not p.fixed and p.min ~= nil then return i end
  end
end

-- Noise that came down by more than this, and by less than QUIET, in its unconstrained value, has not been looked at from below;
-- nor has noise that takes more than this part of the variance of y.
local DOWN <const>, MOST <const> = 1, 0.5

--- Extra starts, where the caller did not say, and whether they leave the start given for the scale of the data: one with little
-- noise, after a start by a factor that has converged where an optimum of less noise may lie below, which its descent has not seen;
-- from the data's scale where noise has taken most of y, as the start given may be far from it.
local function extra_starts(self, o, run, info, list, start, noise)
  local ended <const> = run.solver == "direct" and (o.method or "lbfgs") == "lbfgs" and info and info.converged
  if not (ended and noise) then return 0 end
  if list[noise].value:max():item() > MOST * fields(self).y:var():item() then return 1, true end
  local down <const> = (start[noise] - list[noise].raw):max():item()
  return down > DOWN and down < QUIET and 1 or 0
end

--- A start with little noise, since the likelihood has an optimum that calls variation noise and often a better one that does not,
-- in whose reach this begins (Rasmussen & Williams (2006), section 5.4.1): from the start given, or from the data's scale.
local function quiet_start(list, start, noise, scales)
  set_raw(list, start)
  for _, p in ipairs(scales and list or {}) do starts.put(p, scales) end
  list[noise].raw = list[noise].raw - QUIET
end

--- A random start: every free parameter a standard normal step, in its unconstrained value, from the data's scale or, where it has
-- none there, from the start given.
local function scatter(list, start, scales, seed, attempt)
  set_raw(list, start)
  local stream = 0
  for _, p in ipairs(list) do
    if not p.fixed then
      stream = stream + 1
      starts.put(p, scales)
      local raw <const> = p.raw
      local step <const> = core.randn(raw.numel, {dtype = "f64", seed = seed * 7919 + attempt * 104729 + stream})
      p.raw = raw + step:reshape(raw.shape)
    end
  end
end

local function progress(label)
  if not core.isatty(2) then return nil, function() end end
  local last = -math.huge
  return function(s)
    local now <const> = core.clock()
    if now - last < 0.1 then return end
    last = now
    local solve <const> = s.solve and ("  %d iterations"):format(s.solve.iterations) or ""
    io.stderr:write(("\r%s step %d  value %.4f  |g| %.3g%s\27[K"):format(label, s.step, s.value, s.gradient_norm, solve))
  end, function() io.stderr:write("\r\27[K") end
end

--- The solver's log of a fit: how many solves, their iterations, the worst residual and condition.
local function solve_log() return {solves = 0, iterations = 0, residual = 0.0, condition = 0.0, unconverged = 0} end

local function add_solve(log, s)
  log.solves, log.iterations = log.solves + 1, log.iterations + s.iterations
  log.residual, log.condition = math.max(log.residual, s.residual), math.max(log.condition, s.condition)
  if not s.converged then log.unconverged = log.unconverged + 1 end
end

-- Of the square of a solve's tolerance: values err by the square of the residual.
local RESOLVED <const> = 0.1

--- The relative change of an objective that its solves can tell from none.
local function resolution_of(solver)
  local o <const> = objective.is_iterative(solver) and solver.o
  local tol <const> = o and o.train_tol
  return tol and RESOLVED * tol ^ 2 or nil
end

--- The optimiser on the objective of 'worker', the model or its twin in f64: pcall's results, the record with what belongs to
-- the best point, or the error and then the best value before it. before: steps made already.
local function optimise(self, worker, o, run, line, before)
  local f <const> = fields(worker)
  local best <const> = {value = math.huge}
  local solves = {}                                 -- of the points tried since the last step, by their values
  local function on_step(s)
    s.solve = solves[s.value]
    solves = {[s.value] = s.solve}
    if s.value < best.value then best.value, best.gradient_norm, best.solve = s.value, s.gradient_norm, s.solve end
    s.step = s.step + before
    if line then line(s) end
    if o.on_step then return o.on_step(s) end
  end
  local function evaluate()
    f.solve_info = nil
    return objective.value(worker, run.solver, o.objective)
  end
  local function realise(loss, ...)
    run.realise(loss, ...)
    local info <const>, value <const> = f.solve_info, loss:item()
    if info == nil then return end
    add_solve(run.log, info)
    if value == value then solves[value] = info end
  end
  local ok <const>, info <const> = pcall(optim.run, evaluate, self, {method = o.method,
    steps = (o.steps or optim.usual_steps(o.method)) - before, lr = o.lr, tol = o.tol, ftol = o.ftol, on_step = on_step,
    realise = realise, resolution = resolution_of(run.solver), units = run.units})
  if ok then info.gradient_norm, info.solve = best.gradient_norm, best.solve end
  return ok, info, best.value
end

--- Is this error the failure of one start, not of the call?
local function is_failed_start(err)
  return raised.is(err, "nan", "not_pd")
end

local function is_too_large(err) return raised.is(err, "refused", "oom") end

--- The model that computes the objective at the parameters there are: by a factor in f64 where predictions are (gp/exact/precision_twin.lua),
-- since f32 does not tell steps apart there.
local function worker_of(self, run)
  return run.solver == "direct" and not fields(self).grid and working(self, nil) or self
end

--- A descent that f32 has brought to where it no longer resolves the covariance goes on in f64, if memory holds that: its record
-- with what was done before, or the record there is.
local function finished(self, o, run, line, info)
  local worker <const> = worker_of(self, run)
  if rawequal(worker, self) or info.interrupted then return true, info end
  local list <const> = param.collect(self)
  local best <const> = raw_values(list)
  local ok <const>, rest <const> = optimise(self, worker, o, run, line, info.iterations)
  if ok and rest.value < math.huge then
    for _, name in ipairs{"iterations", "evaluations", "setbacks"} do rest[name] = rest[name] + info[name] end
    rest.precision = "f64"
    return true, rest
  end
  set_raw(list, best)
  if not (ok or is_failed_start(rest) or is_too_large(rest)) then return false, rest end
  if ok then info.interrupted, info.reason = rest.interrupted, rest.reason end
  return true, info
end

--- One start: the optimiser's record, with what belongs to the best point; or nil, the error, and the best value before it.
-- The parameters end at this start's best point either way.
local function attempt_fit(self, o, run, label)
  local line <const>, done <const> = progress(label)
  local worker = worker_of(self, run)
  local ok, info, reached = optimise(self, worker, o, run, line, 0)
  if not ok and not rawequal(worker, self) and is_too_large(info) then
    worker = self
    ok, info, reached = optimise(self, worker, o, run, line, 0)
  elseif ok then
    info.precision = fields(worker).x.dtype
    if rawequal(worker, self) then ok, info = finished(self, o, run, line, info) end
  end
  done()
  if not ok then return nil, info, reached end
  return info
end

--- The outcome of a fit without a free parameter: the value where it stands.
local function nothing_free(self, o, run)
  local f <const> = fields(self)
  local function value_by(worker)
    f.solve_info = nil
    local v <const> = objective.value(worker, run.solver, o.objective)
    run.realise(v)
    return v:item()
  end
  local worker = worker_of(self, run)
  local ok, value = pcall(value_by, worker)
  if not ok and not rawequal(worker, self) and is_too_large(value) then
    local wide <const> = value
    worker = self
    ok, value = pcall(value_by, self)
    if not ok and not is_too_large(value) then value = wide end
  end
  if not ok then error(value, 0) end
  if f.solve_info then add_solve(run.log, f.solve_info) end
  return {value = value, converged = true, reason = "there is no free parameter", iterations = 0, evaluations = 1,
    setbacks = 0, interrupted = false, gradient_norm = 0.0, solve = f.solve_info, method = "none",
    precision = fields(worker).x.dtype}
end

--- All starts; the parameters end at the best point. Gives its record, and the totals of all.
local function run_starts(self, o, run, list, scales)
  local first <const>, noise <const> = raw_values(list), place_of_noise(self, list)
  local best, best_raw, failure, from_scale
  local total <const> = {evaluations = 0, setbacks = 0, failed_starts = 0, restarts = o.restarts or nil}
  local attempt = 0
  repeat
    attempt = attempt + 1
    if attempt == 2 and noise then
      quiet_start(list, first, noise, from_scale and scales())
    elseif attempt > 1 then
      scatter(list, first, scales(), o.seed or 0, attempt - 1)
    end
    local info <const>, err <const>, reached <const> = attempt_fit(self, o, run,
      (total.restarts or 0) > 0 and ("fit %d/%d"):format(attempt, total.restarts + 1) or "fit")
    if total.restarts == nil then total.restarts, from_scale = extra_starts(self, o, run, info, list, first, noise) end
    if info then
      total.evaluations, total.setbacks = total.evaluations + info.evaluations, total.setbacks + info.setbacks
      if best == nil or info.value < best.value then best, best_raw = info, raw_values(list) end
      if info.interrupted then
        best.interrupted, best.reason = true, info.reason
        break
      end
    else
      if not is_failed_start(err) then
        if not (reached < (best and best.value or math.huge)) then set_raw(list, best_raw or first) end
        error(err, 0)
      end
      total.failed_starts, failure = total.failed_starts + 1, failure or err
    end
  until attempt > total.restarts
  set_raw(list, best_raw or first)
  if best == nil then error(failure) end
  return best, total
end

local function any_free(list)
  for _, p in ipairs(list) do
    if not p.fixed then return true end
  end
  return false
end

--- A start to which a prior gives no density is none.
local function check_priors(list, names)
  for i, p in ipairs(list) do
    local density <const> = not p.fixed and p.prior and p.prior:log_density(p.value):item() or 0
    if not (math.abs(density) < math.huge) then
      core.raise("option", ("fit: the prior of '%s', %s, gives its value %s no density"):format(names[i], tostring(p.prior),
        p.ndim == 0 and ("%g"):format(p.value:item()) or "of shape " .. tostring(p.shape)))
    end
  end
end

--- How tensors are computed within a budget: by a plan that must fit it.
local function within(budget)
  if budget == nil then return core.eval end
  return function(...)
    local plan <const> = core.plan({...}, {budget = budget})
    plan:run()
    plan:close()
  end
end

local told = false

--- The paths of free parameters that another model fitted last: its predictions change with this fit. At a terminal the first such
-- fit says so.
local function taken_over(self, list, names)
  local out <const> = {}
  for i, p in ipairs(list) do
    if not p.fixed and param.claim(p, fields(self)) then out[#out + 1] = names[i] end
  end
  if #out > 0 and not told and core.isatty(2) then
    told = true
    io.stderr:write(("fit: %s: shared with a model that was fitted before, whose predictions change with this fit; "
      .. "m:copy() and a gb.param for each model keep them apart\n"):format(table.concat(out, ", ")))
  end
  return out
end

--- The solver of a fit with the seed of its probes; 'seed' nil: the solver's own.
local function seeded(solver, seed)
  if type(solver) ~= "table" or seed == nil or solver.o == nil or solver.o.seed == nil then return solver end
  return choice.with_options(solver, {seed = seed})
end

--- Takes the data in, with the noise of the rows that are kept. Gives the number of rows left out. Data that do not go with
-- the model's kernel, mean or noise raise, and the model keeps those it had.
local function take_data(self, x, y, o)
  local f <const> = fields(self)
  if x == nil then return 0 end
  local xs <const>, ys <const>, keep <const> = data.check(x, y, "fit", o.missing)
  if #xs == 0 then core.raise("shape", "fit: there are no rows to fit") end
  local masked <const> = keep and #core.as_tensor(y) - #xs or 0
  local likelihood <const> = keep and f.likelihood:of_rows(keep, #xs + masked, "fit") or f.likelihood
  local before <const> = model.fields(model.with_data_of(self))
  f.likelihood = likelihood
  local ok <const>, err <const> = pcall(function()
    model.set_data(self, xs, ys)
    objective.covariance(self)
    objective.residual(self)
  end)
  if ok then return masked end
  for key in pairs(f) do f[key] = before[key] end
  for key, v in pairs(before) do f[key] = v end
  error(err, 0)
end

--- Fits all free parameters to the data. m:fit(x, y, o) replaces the data; m:fit(o) uses what the model holds. x (n, d) or (n), y
-- (n). It begins at the values given; lengthscales, variances, noise and constant means that nobody gave begin at the data's scale.
-- o: method "lbfgs"|"adam"|"sgd", steps, lr, tol, ftol, on_step; restarts (extra starts: the first with little noise, further
-- ones random, around the data's scale; where it is not given one with little noise, if a direct L-BFGS fit has brought the noise
-- down or to most of var(y)), seed (of the starts and of a solver's probes); objective "mll", the log marginal likelihood, or
-- "loo", the leave-one-out predictive density (direct only); budget (bytes or "1 GiB"): every evaluation is planned within it, or
-- refused with the smallest that would do; missing = "mask": rows whose y is NaN are left out. on_step gets {step, value,
-- gradient_norm, solve} and stops the fit by returning false. The best point seen is kept, also when interrupted; a start that
-- fails is counted, and fatal only if all do. Cost per step: O(n^3) direct, O(n^2) per iteration of cg.
---@return gibbous.fit_info
function methods.fit(self, x, y, o)
  local f <const> = fields(self)
  if o == nil and y == nil and (x == nil or core.as_tensor(x) == nil) then o, x = x, nil end
  o = options.parse(o, fit_spec, "fit")
  local budget <const> = o.budget and core.bytes(o.budget, "fit: the budget") or nil
  if x == nil and f.x == nil then core.raise("option", "fit: the model holds no data; call fit(x, y)") end
  local masked <const> = take_data(self, x, y, o)
  if #f.x == 0 then core.raise("shape", "fit: there are no rows to fit") end
  local start <const> = core.clock()
  local floor <const> = f.likelihood:set_floor(f.y)
  local list <const>, names <const> = param.collect(self)
  local scales <const> = starts.begin(self, list)
  f.active, f.state = seeded(objective.decide(self, budget), o.seed), nil
  check_priors(list, names)
  local shared <const> = taken_over(self, list, names)
  local run <const> = {solver = f.active, log = solve_log(), realise = within(budget), units = starts.units(self)}
  local best, total
  objective.guarded(self, "fit", function()
    if any_free(list) then
      best, total = run_starts(self, o, run, list, scales)
    else
      best = nothing_free(self, o, run)
      total = {evaluations = 1, setbacks = 0, failed_starts = 0, restarts = 0}
    end
  end)
  local probes <const> = choice.is_iterative(f.active) and f.active.o and f.active.o.seed or 0
  f.info = new_report(self, best, total, {seconds = core.clock() - start, masked = masked, floor = floor, shared = shared,
    log = run.log, restarts = total.restarts, seed = o.seed or probes, objective = o.objective or "mll"})
  return f.info
end

return {spec = fit_spec}

--- Fitting: the free parameters that maximise the objective of a model's posterior plus the log priors.
local algorithm <const> = require "gibbous.gp.algorithm"
local admission <const> = require "gibbous.base.admission"
local core <const> = require "gibbous.core"
local data <const> = require "gibbous.gp.data"
local descent <const> = require "gibbous.gp.fit.descent"
local frames <const> = require "gibbous.gp.frames"
local given_starts <const> = require "gibbous.gp.fit.given_starts"
local model <const> = require "gibbous.gp.model"
local new_report <const> = require "gibbous.gp.fit.report"
local observations <const> = require "gibbous.gp.observations"
local optim <const> = require "gibbous.optim"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"
local plans <const> = require "gibbous.gp.fit.plan"
local restarts <const> = require "gibbous.gp.fit.restarts"
local resume <const> = require "gibbous.gp.fit.resume"
local scaling <const> = require "gibbous.gp.scaling"
local starts <const> = require "gibbous.gp.fit.starts"
local within <const> = require "gibbous.gp.within"

local fields <const> = model.fields

local SPEC <const> = {resume = "table", restarts = "count", seed = "integer", objective = {"mll", "loo"}, budget = "any",
  missing = data.missing, inputs = "table", starts = "table", seconds = "positive"}
for key, kind in pairs(optim.spec) do SPEC[key] = kind end

local function any_free(list)
  for _, p in ipairs(list) do
    if not p.fixed then return true end
  end
  return false
end

--- Raises where the prior of a free parameter gives its start no density.
local function check_priors(list, names)
  for i, p in ipairs(list) do
    local density <const> = not p.fixed and p.prior and p.prior:log_density(p.value):item() or 0
    if not (math.abs(density) < math.huge) then
      core.raise("option", ("fit: the prior of '%s', %s, has density 0 at its value %s"):format(names[i], tostring(p.prior),
        p.ndim == 0 and ("%g"):format(p.value:item()) or "of shape " .. tostring(p.shape)))
    end
  end
end

local told = false

--- The paths of free parameters that another model fitted last, whose predictions change with this fit. At a terminal the first
-- such fit says so.
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

--- The algorithm of a fit with the seed of its probes; 'seed' nil: the solver's own.
local function seeded(solver, seed)
  if type(solver) ~= "table" or seed == nil or solver.o == nil or solver.o.seed == nil then return solver end
  return algorithm.with_options(solver, {seed = seed})
end

--- Can a fit that ended so go on? One of several starts only where it was interrupted.
local function can_go_on(best, total)
  return best.interrupted or best.reason == optim.LIMIT and total.restarts == 0
end

--- Fits a model that computes to the data that it holds. masked: missing values that were left out. from: what a fit goes on from
-- (fit/resume.lua), nil for one that begins. scaled: {shift, notes, steps}, what scaling the data took from values, in nats, what
-- is to be said of it, and 'steps' of the run (fit/descent.lua). Gives its report and, where it can go on, what from.
local function fit(self, o, budget, masked, from, scaled)
  local f <const>, of <const> = fields(self), model.posterior(self)
  local start <const> = core.clock()
  local floor <const> = f.likelihood:set_floor(f.y)
  local list <const>, names <const> = param.collect(self)
  local more <const> = from and from.more or {}
  local scales <const> = starts.begin(self, list, from and (more.scales or {}))
  local began <const> = more.began or starts.least(list)
  f.active, f.state = more.active or seeded(of.decide(self, budget, false, o.method), o.seed), nil
  check_priors(list, names)
  local listed <const> = given_starts(self, o.starts)
  local shared <const> = taken_over(self, list, names)
  local run <const> = {solver = f.active, log = more.log or descent.new_log(), history = more.history or descent.new_history(),
    realise = within(budget), units = more.units or starts.units(self), shift = scaled.shift,
    deadline = o.seconds and start + o.seconds or nil, steps = scaled.steps}
  local best, total, at
  of.guarded(self, "fit", function()
    if any_free(list) then
      best, total, at = restarts.run(self, o, run, list, scales, listed, from and from.at)
    else
      best = descent.nothing_free(self, o, run)
      total = {evaluations = 1, setbacks = 0, failed_starts = 0, restarts = 0}
    end
    of.settle(self, true)
  end)
  local probes <const> = algorithm.is_iterative(f.active) and f.active.o and f.active.o.seed or 0
  local seconds <const> = (more.seconds or 0) + core.clock() - start
  f.info = new_report(self, best, total, {seconds = seconds, masked = masked, floor = floor, began = began,
    shared = shared, log = run.log, history = run.history.list, restarts = total.restarts, seed = o.seed or probes,
    objective = o.objective or of.objective_name(self), shift = scaled.shift, notes = scaled.notes})
  local keeps <const> = at and can_go_on(best, total)
  return f.info, keeps and at, keeps and {scales = scales "known", active = f.active, log = run.log, history = run.history,
    units = run.units, began = began, seconds = seconds, masked = masked}
end

local methods <const> = {}

--- Fits all free parameters to the data. m:fit(x, y, o) replaces the data; m:fit(o) uses what the model holds. x (n, d) or (n); y
-- (n), of several outputs (n, T). The fit begins at the values given; lengthscales, variances, noise and constant means that
-- are not given begin at the scale of the data. The best point seen is kept, also when the fit is interrupted.
-- o: method "lbfgs"|"adam"|"sgd", steps, lr, tol, ftol.
--    on_step: gets {step, value, gradient_norm, solve}, and stops the fit by returning false.
--    restarts: extra starts, the first with little noise, further ones random around the scale of the data. Without it there is
--    one with little noise if a direct L-BFGS fit has brought the noise down or to most of var(y). A start that fails is counted,
--    and the fit raises only if all do.
--    starts: {{["kernel.lengthscale"] = 0.1, ...}, ...}: more starts, the first one but for these values, beside restarts.
--    seconds: the fit ends after the step at which so many have gone by since the call, at the best point so far; it can go on.
--    seed: of the starts and of a solver's probes.
--    objective: "mll", the log marginal likelihood, or "loo", the leave-one-out predictive density (direct only).
--    resume: the report of a fit that was interrupted, or of one start that reached its steps: the fit goes on, with the data that
--    the model holds and the options it had ('steps' counts those made), to the same bits as if it had not ended.
--    budget: bytes or "1 GiB": every evaluation is planned within it, or refused with the smallest that would do.
--    missing: "error" (default: NaN in y raises) or "mask": values of y that are NaN are left out; info.masked counts them.
-- Cost of a step: O(n^3) direct, O(n^2) per iteration of cg; of several outputs O(n^3 + T^3 + n T (n + T)) for a y without
-- missing cells, O(N^3) of the N values it has otherwise. Errors: option, shape, dtype, nan; refused, oom; not_pd.
---@return gibbous.fit_info
function methods.fit(self, x, y, o)
  if o == nil and y == nil and (x == nil or core.as_tensor(x) == nil and not frames.is(x)) then o, x = x, nil end
  o = options.parse(o, SPEC, "fit")
  local from <const> = o.resume and resume.of(self, o.resume, o)
  if from then
    if x ~= nil then core.raise("option", "fit: resume: goes on with the data that the model holds: m:fit{resume = report}") end
    o = from.o
  end
  optim.check(o, "fit")
  local budget <const> = o.budget and core.bytes(o.budget, "fit: the budget") or nil
  if x == nil and fields(self).x == nil then core.raise("option", "fit: the model holds no data; call fit(x, y)") end
  local left
  x, y, left = frames.data(self, x, y, o.inputs, "fit")
  admission.ask(function()
    return plans.bytes(self, x, y, {objective = o.objective, method = o.method, missing = o.missing})
  end)
  local masked <const> = observations.take(self, x, y, "fit", o.missing, left)
  local info <const>, at <const>, more <const> = fit(model.core(self), o, budget, from and from.more.masked or masked, from,
    {shift = scaling.log_scale(self), notes = scaling.notes(self)})
  if at then resume.note(self, info, o, at, more) end
  return info
end

return {methods = methods, run = fit}

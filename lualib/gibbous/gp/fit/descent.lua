--- One descent of a fit: the optimiser on a model's objective, in the precision that resolves it.
local algorithm <const> = require "gibbous.gp.algorithm"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.counted"
local model <const> = require "gibbous.gp.model"
local optim <const> = require "gibbous.optim"
local param <const> = require "gibbous.param"
local progress_line <const> = require "gibbous.progress_line"
local raised <const> = require "gibbous.raised"
local shallow_copy <const> = require "gibbous.shallow_copy"

local M <const> = {}
local fields <const> = model.fields

-- A run of a fit: {solver, log, history, realise, units, deadline, late, steps}; 'realise' computes tensors within the budget;
-- deadline: the clock at which the fit ends, late: it has. steps(worker, kind): the objective as a function of numbers, priors
-- included (gp/batch/steps.lua); nil: it is built from the posterior at every point. With it a history has no parameters.
--
-- What goes on from where it ended is a 'place' of a descent, {wide, own, first, raws, state, best}: wide: the twin in f64 computes
-- the objective from the start, nil before that is known; own: the model does, as memory holds no twin; first: the record of the
-- descent in f32 that one in f64 follows, and raws, where that began; state: of the optimiser; best: of the values so far. All are
-- numbers but raws, which are as large as the parameters.

--- The unconstrained values of a list of parameters.
function M.raw_values(list)
  local out <const> = {}
  for i, p in ipairs(list) do out[i] = p.raw end
  return out
end

--- Sets these.
function M.set_raw(list, values)
  for i, p in ipairs(list) do p.raw = values[i] end
end

local QUICK <const> = 0.5                  -- seconds of a fit of which nothing is said

--- A function that says how far a descent is, and one that takes it away.
local function progress(label)
  local began <const> = core.clock()
  local state <const>, said = {last = began}, false
  return function(s)
    local now <const> = core.clock()
    if now - began < QUICK or not progress_line.is_due(state, now) then return end
    said = true
    local solve <const> = s.solve and ("  %s"):format(counted(s.solve.iterations, "iteration")) or ""
    progress_line.say(("%s step %d  value %.4f  |g| %.3g%s"):format(label, s.step, s.value, s.gradient_norm, solve))
  end, function() if said then progress_line.clear() end end
end

--- The solver's log of a fit: how many solves, their iterations, the worst residual and condition.
function M.new_log() return {solves = 0, iterations = 0, residual = 0.0, condition = 0.0, unconverged = 0} end

-- What is kept of the worst solve that missed its tolerance: numbers.
local OF_WORST <const> = {"reason", "iterations", "tol", "residual", "condition", "curve", "smallest_eigenvalue",
  "largest_eigenvalue", "preconditioner_rank"}

local MOST <const> = 4096                  -- steps of a history; of a longer one every second is kept, again and again

--- The history of a fit: its steps as they are made.
function M.new_history() return {list = {}, stride = 1, seen = 0} end

local MOST_VALUES <const> = 64             -- of all free parameters, which a history then has by step

--- The values of the free parameters below a model, by path; nil where these are many.
local function values_of(self)
  local list <const>, names <const> = param.collect(self)
  local out <const>, count = {}, 0
  for i, p in ipairs(list) do
    count = count + (p.fixed and 0 or p.numel)
    if count > MOST_VALUES then return nil end
    if not p.fixed then out[names[i]] = p.ndim == 0 and p.value:item() or p.value:totable() end
  end
  return out
end

--- Notes a step; self: the model whose parameters it notes, or nil.
function M.record(history, s, self)
  local list <const> = history.list
  history.seen = history.seen + 1
  if (history.seen - 1) % history.stride ~= 0 then return end
  list[#list + 1] = {step = s.step, value = s.value, gradient_norm = s.gradient_norm,
    residual = s.solve and s.solve.residual or nil, parameters = self and values_of(self)}
  if #list < MOST then return end
  for i = 1, MOST do list[i] = list[2 * i - 1] end
  history.stride = 2 * history.stride
end

local function add_solve(log, s)
  log.solves, log.iterations = log.solves + 1, log.iterations + s.iterations
  log.residual, log.condition = math.max(log.residual, s.residual), math.max(log.condition, s.condition)
  if s.converged then return end
  log.unconverged = log.unconverged + 1
  if log.worst and log.worst.residual >= s.residual then return end
  log.worst = {}
  for _, name in ipairs(OF_WORST) do log.worst[name] = s[name] end
end

-- Of the square of a solve's tolerance: values err by the square of the residual.
local RESOLVED <const> = 0.1

--- The relative change of an objective that its solves can tell from none.
local function resolution_of(solver)
  local o <const> = algorithm.is_iterative(solver) and solver.o
  local tol <const> = o and o.train_tol
  return tol and RESOLVED * tol ^ 2 or nil
end

--- The optimiser on the objective of 'worker', the model or its twin in f64: pcall's results, the record with what belongs to
-- the best point, or the error and then the best value before it. before: steps made already. It goes on from 'place', and leaves
-- there where it ended.
local function optimise(self, worker, o, run, line, before, place)
  local f <const> = fields(worker)
  local best <const> = {value = math.huge}
  for key, v in pairs(place.best or {}) do best[key] = v end
  local solves = {}                                 -- of the points tried since the last step, by their values
  local function on_step(s)
    s.solve = solves[s.value]
    solves = {[s.value] = s.solve}
    if s.value < best.value then best.value, best.gradient_norm, best.solve = s.value, s.gradient_norm, s.solve end
    model.posterior(worker).settle(worker)
    s.step, s.value = s.step + before, s.value + run.shift
    core.fit_at(s.step, s.value)
    place.best = best
    M.record(run.history, s, not run.steps and self or nil)
    if line then line(s) end
    if o.on_step and o.on_step(s) == false then return false end
    run.late = run.deadline ~= nil and core.clock() > run.deadline
    return not run.late
  end
  local function evaluate()
    f.solve_info = nil
    return model.posterior(worker).objective(worker, run.solver, o.objective)
  end
  local function realise(loss, ...)
    run.realise(loss, ...)
    local info <const>, value <const> = f.solve_info, loss:item()
    if info == nil then return end
    add_solve(run.log, info)
    if value == value then solves[value] = info end
  end
  local answers <const> = run.steps and run.steps(worker, o.objective)
  local ok <const>, info <const> = pcall(optim.run, answers or evaluate, self, {method = o.method, answers = answers ~= nil,
    steps = (o.steps or optim.usual_steps(o.method)) - before, lr = o.lr, tol = o.tol, ftol = o.ftol, on_step = on_step,
    realise = realise, resolution = resolution_of(run.solver), units = run.units, from = place.state})
  if ok then info.gradient_norm, info.solve, place.state = best.gradient_norm, best.solve, optim.state(info) end
  if ok and run.late then info.reason = ("the time limit of %g s"):format(o.seconds) end
  return ok, info, best.value
end

--- Is this error the failure of one start, not of the call?
function M.is_failed_start(err)
  return raised.is(err, "nan", "not_pd")
end

local function is_too_large(err) return raised.is(err, "refused", "oom") end

--- The model that computes the objective at the present parameters: by a factor in f64 where predictions are
-- (gp/exact/precision_twin.lua), since f32 does not tell steps apart there.
local function worker_of(self, run)
  return run.solver == "direct" and model.posterior(self).worker(self) or self
end

--- The same record, apart from the first.
local function copied(info) return setmetatable(shallow_copy(info), getmetatable(info)) end
M.copied = copied

--- A descent that f32 has brought to where it no longer resolves the covariance goes on in f64, if memory holds that: its record
-- with what was done before, or the record there is.
local function finished(self, o, run, line, info, place)
  local worker <const> = worker_of(self, run)
  if rawequal(worker, self) or info.interrupted then return true, info end
  local list <const> = param.collect(self)
  local best <const> = place.first and place.raws or M.raw_values(list)
  if not place.first then
    place.first, place.raws, place.state, place.best = copied(info), best, nil, nil
  end
  local ok <const>, rest <const> = optimise(self, worker, o, run, line, info.iterations, place)
  if ok and rest.value < math.huge then
    for _, name in ipairs{"iterations", "evaluations", "setbacks"} do rest[name] = rest[name] + info[name] end
    rest.precision = "f64"
    return true, rest
  end
  M.set_raw(list, best)
  if not (ok or M.is_failed_start(rest) or is_too_large(rest)) then return false, rest end
  if ok then info.interrupted, info.reason = rest.interrupted, rest.reason end
  return true, info
end

--- The descent of one start, by whichever model memory allows: as optimise.
local function descend(self, o, run, line, place)
  if place.wide == nil then place.wide = not rawequal(worker_of(self, run), self) end
  local worker = place.wide and not place.own and model.posterior(self).worker(self, "f64") or self
  local ok, info, reached = optimise(self, worker, o, run, line, 0, place)
  if not ok and not rawequal(worker, self) and is_too_large(info) then
    worker, place.own = self, true
    ok, info, reached = optimise(self, worker, o, run, line, 0, place)
  elseif ok then
    info.precision = model.posterior(worker).dtype or fields(worker).x.dtype
    if rawequal(worker, self) and not place.own then ok, info = finished(self, o, run, line, info, place) end
  end
  return ok, info, reached
end

--- One start: the optimiser's record, with what belongs to the best point; or nil, the error, and the best value before it.
-- The parameters end at this start's best point either way. It goes on from 'place' (empty: it begins), and leaves there where it
-- ended.
function M.attempt(self, o, run, label, place)
  local line <const>, done <const> = progress(label)
  local ok, info, reached
  core.fit_begin(o.steps or optim.usual_steps(o.method))
  if place.first then
    ok, info = finished(self, o, run, line, copied(place.first), place)
  else
    ok, info, reached = descend(self, o, run, line, place)
  end
  core.fit_end()
  done()
  if not ok then return nil, info, reached end
  return info
end

--- The outcome of a fit without a free parameter: the value where it stands.
function M.nothing_free(self, o, run)
  local f <const> = fields(self)
  local function value_by(worker)
    f.solve_info = nil
    local v <const> = model.posterior(worker).objective(worker, run.solver, o.objective)
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
    precision = model.posterior(worker).dtype or fields(worker).x.dtype}
end

return M

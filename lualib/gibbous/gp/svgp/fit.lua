--- Fits of variational models: minibatches in an order that the seed fixes; natural gradients for q, Adam for the rest.
--
-- The rows are taken as a sequence of permutations, one an epoch, cut into batches of one size; so a batch may have rows of two
-- epochs, and every step has one plan. With Gaussian noise the first natural steps have rates 1, 1/2, 1/3, ..., the average of
-- what the batches say, down to the rate that is kept; and after the last step one step of rate 1 on all rows makes q the best
-- there is for these parameters and places (gp/svgp/natural.lua): the ELBO is then, of a full q, the collapsed bound. Where values
-- were not given, it begins with an exact fit to a few rows.
local admission <const> = require "gibbous.base.admission"
local all_rows <const> = require "gibbous.gp.svgp.all_rows"
local bound <const> = require "gibbous.gp.sgpr.bound"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local damped <const> = require "gibbous.gp.svgp.damped"
local descent <const> = require "gibbous.gp.fit.descent"
local elbo <const> = require "gibbous.gp.svgp.elbo"
local exact <const> = require "gibbous.gp.exact.class"
local fit_options <const> = require "gibbous.gp.svgp.fit_options"
local frames <const> = require "gibbous.gp.frames"
local likelihoods <const> = require "gibbous.likelihoods"
local model <const> = require "gibbous.gp.model"
local new_report <const> = require "gibbous.gp.fit.report"
local observations <const> = require "gibbous.gp.observations"
local param <const> = require "gibbous.param"
local progress_line <const> = require "gibbous.text.progress_line"
local raised <const> = require "gibbous.base.raised"
local scaling <const> = require "gibbous.gp.scaling"
local starts <const> = require "gibbous.gp.fit.starts"
local variational <const> = require "gibbous.gp.svgp.variational"
local whole <const> = require "gibbous.gp.svgp.whole"
local within <const> = require "gibbous.gp.within"

local M <const> = {}
local fields <const> = model.fields

local STEPS <const>, LR <const>, RATE <const> = 1000, 0.02, 0.1
-- The rate of natural steps does not fall below this part of itself towards the end of a fit.
local LEAST <const> = 0.1
local WIDE <const> = {dtype = "f64"}

-- Batches -------------------------------------------------------------------------------------------------------------------------

--- The rows of batch k (from 1) of b of n rows, (b) of i64.
function M.rows_of(k, b, n, seed, known)
  local function order(epoch)
    if known.epoch ~= epoch then
      known.epoch = epoch
      known.order = core.randperm(n, {seed = seed * 7919 + epoch}):eval()
    end
    return known.order
  end
  local first <const> = (k - 1) * b
  local epoch <const>, at <const> = first // n, first % n
  local own <const> = order(epoch)
  if at + b <= n then return own:slice(1, at + 1, at + b):eval() end
  local rest <const> = own:slice(1, at + 1, n)
  return core.cat({rest, order(epoch + 1):slice(1, 1, at + b - n)}, 1):eval()
end

--- Rows of the data as leaves of f64: x, y, and known noise.
local function batch(self, rows)
  local f <const> = fields(self)
  local known <const> = whole.known_noise(f)
  local function take(t) return t and (rows and t:index(1, rows) or t):to(WIDE) end
  local x <const>, y <const>, noise <const> = take(f.x), take(f.y), take(known)
  if rows then core.eval{x, y, noise} end
  return x, y, noise
end

-- Adam ------------------------------------------------------------------------------------------------------------------------

--- New unconstrained values of parameters by their slopes, lazy; state: moments by parameter, which the caller computes and keeps.
-- Source: Kingma & Ba (2015), algorithm 1.
local function adam(run, list, slopes, lr, k)
  local out <const> = {}
  for i, p in ipairs(list) do
    local unit <const> = run.units[p] or 1.0
    local g <const> = slopes[i] * unit
    local was <const> = run.moments[p] or {m = 0.0 * g, v = 0.0 * g}
    local m <const>, v <const> = 0.9 * was.m + 0.1 * g, 0.999 * was.v + 0.001 * g * g
    local step <const> = lr * unit * (m / (1 - 0.9 ^ k)) / ((v / (1 - 0.999 ^ k)):sqrt() + 1e-8)
    out[i] = {p = p, m = m:detach(), v = v:detach(), raw = (p.raw - step):detach()}
  end
  return out
end

-- Steps -----------------------------------------------------------------------------------------------------------------------

--- The tensors of a step on these rows: 'bound', -ELBO, and 'value', that with priors, its slopes by the listed parameters, and q
-- after a natural step of this rate, with its reach (svgp/damped.lua).
function M.tensors(self, list, x, y, noise, scale, rate)
  local value, q <const>, reach <const> = elbo.step(self, x, y, scale, rate, noise)
  local own <const> = value
  local prior <const>, raws <const> = param.log_prior(list), {}
  if prior then value = value - prior end
  for i, p in ipairs(list) do raws[i] = p.raw end
  local slopes <const> = #raws > 0 and core.grad(value, raws, {unused = "zero"}) or {}
  return {value = value:detach(), bound = own:detach(), slopes = slopes, q = q, reach = reach and reach:detach()}
end

--- The free parameters of a model.
function M.free(self)
  local out <const> = {}
  for _, p in ipairs((param.collect(self))) do out[#out + 1] = not p.fixed and p or nil end
  return out
end

--- Those of them that Adam moves.
function M.by_adam(self)
  local others <const>, out <const> = variational.natural(fields(self).q), {}
  for _, p in ipairs(M.free(self)) do out[#out + 1] = not others[p] and p or nil end
  return out
end

--- Takes a step on a batch b.
local function put(self, t, moved, run, b)
  damped.move(self, t, b, run.realise)
  for _, one in ipairs(moved) do
    one.p.raw = one.raw
    run.moments[one.p] = {m = one.m, v = one.v}
  end
end

--- All tensors that a step computes, as a list.
local function everything(t, moved)
  local all <const> = {t.value, t.bound, table.unpack(t.q)}
  all[#all + 1] = t.reach
  for _, one in ipairs(moved) do
    table.move({one.m, one.v, one.raw}, 1, 3, #all + 1, all)
  end
  return all
end

-- Bytes a second that rows are taken at, about.
local RATE_OF_ROWS <const> = 1e9

--- What stands in plans for a batch of b rows, which are there before a step and stay for it: the order of all rows, the numbers of
-- these, and their data.
local function gathered(self, b)
  local f <const> = fields(self)
  local columns <const> = f.x.shape[2] + (whole.known_noise(f) and 2 or 1)
  local bytes <const> = 8 * (#f.x + b + b * columns)
  return core.promise({}, "f64", function() return core.zeros({}, WIDE) end, function()
    return {what = ("a batch of %s"):format(counted(b, "row")), bytes = bytes, minimum = bytes, kept = bytes,
      seconds = bytes / RATE_OF_ROWS}
  end)
end

--- These of a step on a batch of the model's size, for plans: as all steps are but the first, which has no moments.
function M.planned(self)
  local f <const> = fields(self)
  local b <const>, n <const> = math.min(f.batch, #f.x), #f.x
  local function leaf(...)
    local shape <const> = {...}
    shape[#shape + 1] = WIDE
    return core.empty(table.unpack(shape))
  end
  local x, y, noise, drawn
  if b < n then
    x, y, drawn = leaf(b, f.x.shape[2]), leaf(b), gathered(self, b)
    noise = whole.known_noise(f) and leaf(b)
  else
    x, y, noise = batch(self)
  end
  local run <const> = {list = M.by_adam(self), moments = {}, units = starts.units(self)}
  for _, p in ipairs(run.list) do run.moments[p] = {m = leaf(table.unpack(p.raw.shape)), v = leaf(table.unpack(p.raw.shape))} end
  local t <const> = M.tensors(self, run.list, x, y, noise, n / b, RATE)
  local all <const> = everything(t, adam(run, run.list, t.slopes, LR, 2))
  all[#all + 1] = drawn
  return all
end

--- Raises for a step k whose ELBO on a batch b is not finite. rows: the numbers of its rows, nil: all.
local function not_finite(self, o, run, k, b, rows)
  local fault <const> = damped.row_at_fault(self, b, function(i) return rows and rows:select(1, i):item() or i end, run.realise)
  core.raise("nan", ("fit: the ELBO of step %d is not finite: %s"):format(k, fault
    and fault .. "; other values of mean, kernel and q (m:set) take f nearer to y"
    or ("a smaller lr, now %g, or rate, now %g, may keep it so"):format(o.lr, o.rate)))
end

--- Step k: the value before it. Computes everything at once.
local function step(self, o, run, k, share)
  local n <const>, b <const> = #fields(self).x, run.batch
  local fall <const> = 0.5 * (1 + math.cos(math.pi * share))
  local rate = o.rate * math.max(fall, LEAST)
  if run.gaussian then rate = math.max(rate, 1 / k) end
  local rows <const> = b < n and M.rows_of(k, b, n, o.seed, run.known) or nil
  local x <const>, y <const>, noise <const> = batch(self, rows)
  local t <const> = M.tensors(self, run.list, x, y, noise, n / b, rate)
  local moved <const> = adam(run, run.list, t.slopes, o.lr * fall, k)
  run.realise(table.unpack(everything(t, moved)))
  local value <const> = t.value:item()
  local own <const> = {x = x, y = y, noise = noise, scale = n / b}
  if value ~= value or math.abs(value) == math.huge then not_finite(self, o, run, k, own, rows) end
  put(self, t, moved, run, own)
  return value
end

-- Why a fit with 'patience' ended.
local NO_BETTER <const> = "no better over the last %g epochs"

-- Fits ------------------------------------------------------------------------------------------------------------------------

--- How many rows a step has: as asked for, or the model's, of n.
function M.batch_size(self, o, n)
  local b <const> = o.batch or fields(self).batch
  if o.batch and b > n then
    core.raise("option", ("fit: a batch of %s is larger than the data, %s: batch = %d at most"):format(counted(b, "row"),
      counted(n, "row"), n))
  end
  if b < 1 then core.raise("option", "fit: a batch has 1 row or more") end
  return math.min(b, n)
end

--- The steps to make at most. epochs and steps are two ways to say one thing.
local function limits(o, n, b)
  if o.steps and o.epochs then core.raise("option", "fit: give steps or epochs, not both") end
  local steps <const> = o.epochs and math.max(1, math.ceil(o.epochs * n / b)) or o.steps
  return steps or not o.seconds and STEPS or math.maxinteger
end

--- A function of the values of steps that says when the fit stops: where the mean over the last 'patience' epochs is not below
-- that over as many before. b of n rows a step.
local function watch(patience, n, b)
  local window <const> = math.max(1, math.ceil(patience * n / b))
  local recent <const>, before, after, seen = {}, 0, 0, 0     -- recent: a ring of two windows
  return function(value)
    seen = seen + 1
    local at <const>, middle <const> = seen % (2 * window), (seen - window) % (2 * window)
    before, after = before - (recent[at] or 0) + (recent[middle] or 0), after + value - (recent[middle] or 0)
    recent[at] = value
    return seen >= 2 * window and after >= before
  end
end

--- Runs the steps; why they ended, and how many there were.
local function descend(self, o, run, start, steps)
  local QUICK <const> = 0.5
  local line <const>, history = {last = start}, run.history
  local k, average, last = 0, nil, 0                -- last: seconds of the last step, but for the first, which is planned
  local function elapsed() return core.clock() - start end
  while k < steps do
    local spent <const> = elapsed()
    local reserve <const> = run.polish and run.share * last or 0
    if o.seconds and spent + reserve >= o.seconds then return "time limit reached", k end
    local share <const> = math.max((steps < math.maxinteger and k / steps or 0), o.seconds and (spent + reserve) / o.seconds or 0)
    local value <const> = step(self, o, run, k + 1, math.min(share, 1)) + run.shift
    k, last = k + 1, k > 0 and elapsed() - spent or 0
    average = average and 0.95 * average + 0.05 * value or value
    descent.record(history, {step = k, value = value})
    core.fit_at(k, value)
    if elapsed() > QUICK and progress_line.is_due(line, core.clock()) then
      progress_line.say(("fit step %d  ELBO about %.4f"):format(k, -average))
      run.said = true
    end
    if o.on_step and o.on_step{step = k, value = value} == false then
      error(core.error("interrupted", "stopped by on_step"), 0)
    end
    if run.idle and run.idle(value) then
      run.ended = true
      return NO_BETTER:format(o.patience), k
    end
  end
  return "step limit reached", k
end

-- Rows that parameters without given values are first fitted to by a factor, and the steps of that.
local FEW <const>, FIRST <const> = 500, 30

--- Fits the parameters of a model with Gaussian noise to a few of its rows, drawn by the seed, within a budget: where steps on
-- batches begin. The rows do not depend on the budget, or the bits of the fit would. open: the parameters without given values,
-- which they stay where that is refused. True: Ctrl-C stopped it.
local function begin_with_few(self, o, budget, open)
  local f <const> = fields(self)
  local rows <const> = core.randperm(#f.x, {seed = o.seed}):slice(1, 1, FEW):eval()
  local few <const> = exact.new{kernel = f.kernel, mean = f.mean, likelihood = f.likelihood, solver = "direct"}
  local function take(t) return t:index(1, rows):to(WIDE):eval() end
  local ok <const>, err <const> = pcall(few.fit, few, take(f.x), take(f.y), {steps = FIRST, seed = o.seed, budget = budget,
    seconds = o.seconds})
  if ok then return err.interrupted and not (o.seconds and err.seconds >= o.seconds) end
  if descent.is_failed_start(err) then return false end
  for _, p in ipairs(open) do param.set_open(p, true) end
  if not raised.is(err, "refused") then error(err, 0) end
  core.raise("refused", ("%s. This is the first fit, an exact one to %d of the rows, of parameters without given values: with "
    .. "values for those of kernel, mean and noise it is left out"):format(err.message, FEW), {need = err.need, have = err.have,
    minimum = err.minimum})
end

--- The free parameters of kernel, mean and noise that have no given value.
local function open_of(list)
  local out <const> = {}
  for _, p in ipairs(list) do
    if param.is_open(p) and not p.fixed then out[#out + 1] = p end
  end
  return out
end

-- Standard deviations of the prior between the mean function and the level that y asks of f, from which q begins at that level.
local OFF <const> = 3

--- Gives a q that has not moved a mean at the level that the likelihood expects of f for y, where the prior hardly has it: natural
-- steps, or Adam, would take long from there.
local function begin_at_level(self)
  local f <const> = fields(self)
  local box <const> = f.q.kind == "full" and f.q.shift or f.q.mean
  if likelihoods.is_gaussian(f.likelihood) or f.q.latents or not box.value:eq(0):all() then return end
  local at <const> = bound.places(self, f.inducing.points.value)
  local off <const> = f.likelihood:scales(f.y:to(WIDE)).level - f.mean(at.z) + core.zeros(f.q.count, WIDE)
  if not (off / at.Kzz:diagonal():sqrt()):abs():ge(OFF):any() then return end
  box.raw = f.q.whiten and core.linalg.triangular_solve(at.L, off) or off
end

-- The share of a step that a pass of sums takes, a row.
local PASS <const> = 0.4

local function fit(self, o, budget, masked)
  local f <const> = fields(self)
  local start <const> = core.clock()
  f.budget = budget
  local floor <const> = f.likelihood:set_floor(f.y)
  local everything <const> = param.collect(self)
  local n <const>, open <const>, stopped = #f.x, open_of(everything), false
  starts.begin(self, everything, nil)
  local began <const> = starts.least(everything)
  if #open > 0 and n > FEW and likelihoods.is_gaussian(f.likelihood) and f.likelihood.kind ~= "fixed" and o.steps ~= 0 then
    stopped = begin_with_few(self, o, budget, open)
    f.likelihood:set_floor(f.y)
  end
  begin_at_level(self)
  local b <const> = M.batch_size(self, o, n)
  local run <const> = {batch = b, list = M.by_adam(self), moments = {}, known = {}, units = starts.units(self),
    gaussian = likelihoods.is_gaussian(f.likelihood), history = descent.new_history(), realise = within(budget),
    share = PASS * n / b, shift = scaling.log_scale(self)}
  run.idle = o.patience and watch(o.patience, n, b)
  run.polish = run.gaussian and o.polish ~= false
  local steps <const> = limits(o, n, b)
  core.fit_begin(steps < math.maxinteger and steps or STEPS)
  f.active, f.state = "svgp", nil
  local reason, k = "step limit reached", 0
  local ok <const>, err <const> = pcall(model.posterior(self).guarded, self, "fit", function()
    if stopped then error(core.error("interrupted", "interrupted"), 0) end
    reason, k = descend(self, o, run, start, steps)
  end)
  core.fit_end()
  if run.said then progress_line.clear() end
  local interrupted <const> = not ok and raised.is(err, "interrupted")
  if not ok and not interrupted then error(err, 0) end
  if interrupted then reason, k = tostring(err.message), run.history.seen end
  local last
  model.posterior(self).guarded(self, "fit", function()
    if run.polish and not interrupted and steps > 0 then
      last = whole.polish(self)
    else
      local lazy <const> = whole.negative(self):detach()
      within(whole.pass_bytes(self))(lazy)
      last = lazy:item()
    end
  end)
  local prior <const> = param.log_prior(run.list)
  f.info = new_report(self, {value = last - (prior and prior:item() or 0), converged = run.ended == true, reason = reason,
    iterations = k, interrupted = interrupted, method = "adam", precision = "f64"},
    {evaluations = k, setbacks = 0, failed_starts = 0, restarts = 0},
    {seconds = core.clock() - start, masked = masked, floor = floor, began = began, shared = {},
      log = descent.new_log(), history = run.history.list, restarts = 0, seed = o.seed, objective = "elbo", shift = run.shift,
      notes = scaling.notes(self)})
  return f.info
end

--- Raises for options out of their ranges.
local function check_method(o)
  if o.patience and not (o.patience >= 1) then core.raise("option", "fit: patience is 1 epoch or more") end
end

local methods <const> = {}
M.methods = methods

--- Fits all free parameters, the places and q to the data: m:fit(x, y, o), or m:fit(o) to those that the model holds. x (n, d) or
-- (n); y (n), which may be arrays that gb.data.read has mapped.
-- o: method "adam" (the default) or "lbfgs", on all rows, with the options of exact models' fits (gp/svgp/all_rows.lua). Of Adam:
--    steps (1000) or epochs; seconds: a time limit, the last pass included; batch: rows of a step, the model's (1024), at most
--    all; lr (0.02) of Adam, in log parameters and of the spread of x, falling to 0 as a cosine does; rate (0.1) of natural
--    gradients, falling to a tenth; seed: of the order of rows; polish = false leaves out the last pass, which with Gaussian noise
--    makes q the best there is, of "low_rank" its mean.
--    patience: ends the fit where the mean ELBO of the batches of so many epochs is no better than that of as many before; without
--    it a fit makes all its steps, and ends with small ones.
--    on_step: gets {step, value}, -ELBO of the batch, and stops the fit by returning false. missing, budget: as of other models.
-- Cost of a step: O(m^2 (m + batch)); of the last pass O(n m^2). Errors: option, shape, dtype, nan; refused, oom; not_pd.
---@return gibbous.fit_info
function methods.fit(self, x, y, o)
  if o == nil and y == nil and (x == nil or core.as_tensor(x) == nil and not frames.is(x)) then o, x = x, nil end
  o = fit_options(o)
  check_method(o)
  if o.method == "lbfgs" then return all_rows.fit(self, x, y, o) end
  o.seed, o.lr, o.rate = o.seed or 0, o.lr or LR, o.rate or RATE
  local budget <const> = o.budget and core.bytes(o.budget, "fit: the budget") or nil
  if x == nil and fields(self).x == nil then core.raise("option", "fit: the model holds no data; call fit(x, y)") end
  local left
  x, y, left = frames.data(self, x, y, o.inputs, "fit")
  admission.ask(function() return self:plan(x, y, {missing = o.missing}).peak end)
  local masked <const> = observations.take(self, x, y, "fit", o.missing, left)
  return fit(self, o, budget, masked)
end

return M

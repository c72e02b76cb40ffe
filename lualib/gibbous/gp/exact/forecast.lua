--- What a field of a prediction will take before it is looked at: bytes, seconds, and cheaper ways where it takes hours. Nothing
-- is computed for it. Products and factors are planned; the steps of a solve are those of the model's last one, or a guess from
-- the conditioning of the covariance, which is a bound: text says which.
local algorithm <const> = require "gibbous.gp.algorithm"
local component <const> = require "gibbous.gp.predict.component"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local solver_choice <const> = require "gibbous.gp.exact.solver_choice"
local covariance <const> = require "gibbous.gp.covariance"
local model <const> = require "gibbous.gp.model"
local objective <const> = require "gibbous.gp.exact.objective"
local variance <const> = require "gibbous.gp.exact.variance"

local M <const> = {}

-- Seconds that are told in hours, with what takes less.
local LONG <const> = 3600
-- Pairs of points and test points times steps below which no prediction takes that long on any machine: nothing is asked.
local SMALL <const> = 1e12
local function time_text(s)
  if s >= LONG then return ("%.3g hours"):format(s / LONG) end
  if s >= 60 then return ("%.3g minutes"):format(s / 60) end
  return ("%.2g s"):format(s)
end

--- {seconds, bytes, minimum} of evaluating tensors, nil where not known.
local function planned(tensors)
  local plan <close> = core.plan(tensors)
  return {seconds = plan.seconds, bytes = plan.peak, minimum = plan.minimum}
end

local function sum(a, b) return a and b and a + b or nil end

-- Steps -------------------------------------------------------------------------------------------------------------------

--- Steps of a solve to the tolerance of predictions, and where the number is from.
local function steps_of(f, solver)
  local most <const> = math.min(solver.o.max_iter, 10 * #f.x)
  local state <const> = f.state
  if state and state.solve and state.solve.iterations > 0 then return state.solve.iterations, "as the last one" end
  local log <const> = f.info and f.info.solve_log
  if log and log.iterations > 0 then
    local ratio <const> = math.log(solver.o.tol) / math.log(solver.o.train_tol)
    return math.min(most, math.ceil(log.iterations / log.solves * math.max(1, ratio))), "by those of the fit"
  end
  return most, "at most: no solve before"
end

-- Solves ------------------------------------------------------------------------------------------------------------------

--- A solver's work for 'count' right-hand sides, so many at once.
local function solves(f, solver, count)
  local n <const> = #f.x
  local width <const> = math.min(count, variance.width(count, n))
  local columns <const> = core.empty(n, width, {dtype = f.x.dtype})
  local one <const> = planned{f.kernel(f.x):matmul(columns)}
  local steps <const> = steps_of(f, solver)
  local batches <const> = (count + width - 1) // width
  local wide <const> = counted(width, "column")
  local text <const> = batches == 1 and width == 1 and "a solve" or batches == 1 and "a solve of " .. wide
    or ("%d solves of %s"):format(batches, wide)
  return {seconds = one.seconds and one.seconds * (steps + 1) * batches, text = text, steps = true,
    bytes = one.bytes + solver_choice.working_bytes(n, width, solver)}
end

-- Parts -------------------------------------------------------------------------------------------------------------------

--- What preparing the model takes, once for all its predictions: a solve, or without a solver a factor. nil: it is prepared.
local function preparation(f, self, solver)
  if f.state and f.state.stamp == model.stamp(self) then return nil end
  if algorithm.takes_steps(solver) then
    local w <const> = solves(f, solver, solver.forms and core.spread_parts(#f.x) or 1)
    w.text, w.kept = "a solve", 8 * #f.x
    return w
  end
  local c <const>, r <const> = covariance.of(self), covariance.residual(self)
  local w <const> = planned{core.linalg.cholesky(c), core.linalg.solve(c, r)}
  w.kept = (f.x.dtype == "f32" and 4 or 8) * (#f.x + 1) * #f.x
  w.text = ("a factor of order %d"):format(#f.x)
  return w
end

--- What the field takes besides, once the model is prepared.
local function field_of(f, query, o, key, solver)
  local t <const>, kernel <const>, x <const> = query.inputs, component.kernel(query, f.kernel), component.data(query, f.x)
  local n <const>, m <const>, wide <const> = #x, #t, {dtype = x.dtype}
  if key == "mean" then
    local w <const> = planned{component.mean(query, f.mean, t), kernel(t, x):matmul(core.empty(n, wide))}
    w.text = "a pass over all pairs"
    return w
  end
  if o.variance == "cached" then
    local rank <const> = math.min(n, o.rank or 100)
    local make <const> = planned{f.kernel(f.x):matmul(core.empty(n, rank, wide))}
    local use <const> = planned{core.empty(rank, n, wide):matmul(kernel(x, t))}
    return {seconds = sum(make.seconds and 3 * make.seconds, use.seconds), text = ("a cache of rank %d"):format(rank),
      bytes = math.max(make.bytes, use.bytes) + 8 * n * 4 * rank}
  end
  if algorithm.takes_steps(solver) then
    return solves(f, solver, m)
  end
  local how <const> = variance.direct(core.empty(n, n, wide))
  local function cross() return kernel(t, x) end
  local w <const> = planned{(key == "f_cov" and how.joint or how.explained)(cross, m)}
  w.text = "triangular solves"
  return w
end

--- One after the other: bytes are those of the larger one beside what the first leaves.
local function followed(first, own)
  if first == nil then return own end
  local kept <const> = first.kept
  local function larger(a, b) return math.max(a, kept + b) end
  return {seconds = sum(first.seconds, own.seconds), text = first.text .. ", " .. own.text, kept = kept,
    steps = first.steps or own.steps, bytes = larger(first.bytes, own.bytes),
    minimum = larger(first.minimum or first.bytes, own.minimum or own.bytes)}
end

-- Cheaper ways --------------------------------------------------------------------------------------------------------------

--- The same by a factor; nil where memory does not hold it.
local function by_factor(f, self, query, key)
  local ok <const>, w <const> = pcall(function()
    return followed(preparation({x = f.x}, self), field_of(f, query, {}, key))
  end)
  return ok and w.minimum <= core.memory.room() and w or nil
end

--- What takes less than 'seconds', as options of predict and of the model.
local function cheaper(f, self, query, key, seconds)
  local ways <const>, o <const> = {}, query.options
  local function offer(text, w)
    if w and w.seconds and w.seconds < seconds then ways[#ways + 1] = text:format(time_text(w.seconds)) end
  end
  if key ~= "mean" and o.variance ~= "cached" then
    offer('variance = "cached" takes about %s; p.f_var_bound bounds their excess',
      field_of(f, query, {variance = "cached", rank = o.rank}, key, f.active))
  end
  if algorithm.takes_steps(f.active) then offer('solver = "direct" takes about %s', by_factor(f, self, query, key)) end
  ways[#ways + 1] = "time is proportional to the points"
  return table.concat(ways, "; ")
end

-- The forecast ----------------------------------------------------------------------------------------------------------------

local NAMES <const> = {mean = "the mean", f_var = "the variances", f_cov = "the covariance",
  f_var_bound = "the bounds of variances"}

--- Of fantasies of a model without data.
local function prior_of(f, query, key)
  local t <const>, kernel <const> = query.inputs, component.kernel(query, f.kernel)
  local w <const> = planned{key == "f_cov" and kernel(t) or kernel:diag(t)}
  return {what = ("%s of %s: fantasies of the prior"):format(NAMES[key], counted(#t, "point")), bytes = w.bytes,
    minimum = w.minimum, kept = w.bytes, seconds = w.seconds}
end

--- What 'key' of a prediction of the model at t takes: {what, bytes, minimum, kept, seconds}, as gb.plan wants it. o: the options
-- of predict; columns: right-hand sides besides, of fantasies; query: the whole of what is asked (gp/posterior.lua), where that is
-- more. Nothing is computed, and the model stays as it is.
function M.of(self, t, o, key, columns, query)
  query = query or {inputs = t, options = o}
  core.know_rates()
  local held <const> = model.with_data_of(self)
  local f <const> = model.fields(held)
  if f.x == nil or #f.x == 0 then return prior_of(f, query, key) end
  f.active = f.active or objective.decide(held, nil, true)
  local first, own = preparation(f, held, f.active), field_of(f, query, o, key, f.active)
  if columns and algorithm.takes_steps(f.active) then first = followed(first, solves(f, f.active, columns)) end
  local all <const> = followed(first, own)
  local seconds <const>, text = all.seconds, all.text
  if all.steps then text = ("%s; about %d steps each, %s"):format(text, steps_of(f, f.active)) end
  local value <const> = (t.dtype == "f32" and 4 or 8) * (key == "f_cov" and #t * #t or #t)
  local what = ("%s of %s: %s%s"):format(NAMES[key], counted(#t, "point"),
    seconds and "about " .. time_text(seconds) .. ", " or "", text)
  if seconds and seconds >= LONG then what = ("%s. Less: %s"):format(what, cheaper(f, held, query, key, seconds)) end
  return {what = what, bytes = all.bytes, minimum = all.minimum or all.bytes, kept = (all.kept or 0) + value, seconds = seconds}
end

local told = false

--- Says once on stderr, before it begins, that a field takes hours, and what takes less.
function M.announce(self, t, o, key, columns, query)
  local f <const> = model.fields(self)
  if told or f.x == nil or #f.x * #f.x * #t < SMALL then return end
  local ok <const>, w <const> = pcall(M.of, self, t, o, key, columns, query)
  if not (ok and w.seconds and w.seconds >= LONG) then return end
  told = true
  io.stderr:write("gibbous: ", w.what, "\n")
end

return M

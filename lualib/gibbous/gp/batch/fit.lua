--- Fits every model of a batch.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local data <const> = require "gibbous.gp.batch.data"
local exact_fit <const> = require "gibbous.gp.fit"
local frames <const> = require "gibbous.gp.frames"
local model <const> = require "gibbous.gp.model"
local object <const> = require "gibbous.base.object"
local observations <const> = require "gibbous.gp.observations"
local optim <const> = require "gibbous.optim"
local options <const> = require "gibbous.base.options"
local progress_line <const> = require "gibbous.text.progress_line"
local raised <const> = require "gibbous.base.raised"
local scaling <const> = require "gibbous.gp.scaling"
local steps <const> = require "gibbous.gp.batch.steps"

local M <const> = {}

local SPEC <const> = {restarts = "count", seed = "integer", objective = {"mll", "loo"}, budget = "any",
  missing = {"error", "mask"}, inputs = "table", starts = "table"}
for key, kind in pairs(optim.spec) do SPEC[key] = key ~= "on_step" and kind or nil end

---@class gibbous.batch_info
---@field count integer          models
---@field converged integer      of them, how many converged
---@field failed table           {{model, reason}, ...} of those that have no result, by number
---@field evaluations integer    of all models
---@field log_likelihood gibbous.tensor   (B); NaN where a model failed
---@field reports table          the report of each fit by number, as of gb.gp.exact; nil where it failed
---@field interrupted boolean    models without a result were not reached
---@field seconds number
local Info <const> = object.record("gibbous.batch_info", "the report of a batch", "")

local SAID <const> = 3                     -- failed models that the text names

function Info.__tostring(self)
  local text = ("fit of %s: %d converged, %d failed, %s, %.2f s"):format(counted(self.count, "model"), self.converged,
    #self.failed, counted(self.evaluations, "evaluation"), self.seconds)
  if self.interrupted then text = text .. "; interrupted" end
  for k, one in ipairs(self.failed) do
    if k > SAID then return ("%s\n  and %d more, in info.failed"):format(text, #self.failed - SAID) end
    text = ("%s\n  model %d: %s"):format(text, one.model, one.reason:match "^[^\n]*")
  end
  return text
end

--- Errors of one model's numbers, or that it has none; all others are of the call.
local function is_own(err)
  return raised.is(err, "nan", "not_pd", "not_converged") or raised.is(err, "shape") and rawget(err, "empty") == true
end

--- The error of a call, with the model that met it.
local function pass_on(err, i)
  if raised.code(err) == nil or raised.is_of_place(err) then error(err, 0) end
  core.raise(err.code, ("model %d: %s"):format(i, err.message))
end

--- Model i with its data, or nil and why it has none.
local function prepared(template, i, x, y, o)
  local m <const> = model.copy(template)
  local ok <const>, got <const> = pcall(function()
    local xs <const>, ys <const>, left <const> = frames.data(m, x, y, o.inputs, "fit")
    local masked <const> = observations.take(m, xs, ys, "fit", o.missing, left)
    local dtype <const> = model.fields(m).x.dtype
    if dtype ~= "f64" then
      core.raise("dtype", ('a batch is fitted in f64, and its data are %s: :to "f64" makes them so'):format(dtype))
    end
    return masked
  end)
  if ok then return m, got end
  if not is_own(got) then pass_on(got, i) end
  return nil, got.message
end

--- Raises where two models have inputs of other numbers of columns. list: as of prepare_all.
local function check_width(list)
  local function width(one) return model.fields(one.model).x.shape[2] end
  for _, one in ipairs(list) do
    if width(one) ~= width(list[1]) then
      core.raise("shape", ("fit: the models of a batch have as many columns: x of model %d has %s, that of model %d has %d"):format(
        one.number, counted(width(one), "column"), list[1].number, width(list[1])))
    end
  end
end

--- All models with data, by their rows, and those that have none.
local function prepare_all(template, count, at, o)
  local list <const>, failed <const> = {}, {}
  for i = 1, count do
    local x <const>, y <const> = at(i)
    local m <const>, got <const> = prepared(template, i, x, y, o)
    if m then list[#list + 1] = {number = i, model = m, masked = got}
    else failed[#failed + 1] = {model = i, reason = got} end
  end
  check_width(list)
  local function size(one) return #model.fields(one.model).x end
  for _, one in ipairs(list) do one.rows = size(one) end
  table.sort(list, function(a, b)
    if a.rows ~= b.rows then return a.rows < b.rows end
    return a.number < b.number
  end)
  return list, failed
end

--- Fits one model: its report; nil and why it has no result, or nil where Ctrl-C came before it had a point.
local function fitted(one, o, budget, step)
  local m <const> = one.model
  local ok <const>, err <const> = pcall(exact_fit.run, m, o, budget, one.masked, nil,
    {shift = scaling.log_scale(m), notes = scaling.notes(m), steps = step})
  if ok then return model.fields(m).info end
  if raised.is(err, "interrupted") then return nil end
  if not is_own(err) then pass_on(err, one.number) end
  return nil, err.message
end

--- The report of 'count' models from those of each, by number.
function M.report(count, reports, failed, interrupted, seconds)
  local converged, evaluations, values = 0, 0, {}
  for i = 1, count do
    local info <const> = reports[i]
    values[i] = info and info.log_likelihood or 0 / 0
    if info then converged, evaluations = converged + (info.converged and 1 or 0), evaluations + info.evaluations end
  end
  table.sort(failed, function(a, b) return a.model < b.model end)
  return setmetatable({count = count, converged = converged, failed = failed, evaluations = evaluations,
    log_likelihood = core.tensor(values, {dtype = "f64"}), reports = reports, interrupted = interrupted, seconds = seconds}, Info)
end

--- Fits copies of 'template' to the data of a call: the fitted models by number, false where the fit failed, and the report.
function M.run(template, x, y, opts)
  local o <const> = options.parse(opts, SPEC, "fit")
  optim.check(o, "fit")
  local budget <const> = o.budget and core.bytes(o.budget, "fit: the budget") or nil
  local start <const> = core.clock()
  local count <const>, at <const> = data.of(x, y, "fit")
  local list <const>, failed <const> = prepare_all(template, count, at, o)
  local models <const>, reports <const>, step <const>, told <const> = {}, {}, steps.new(budget), {last = start}
  for i = 1, count do models[i] = false end
  local interrupted, said = false, false
  for k, one in ipairs(list) do
    local info <const>, why <const> = fitted(one, o, budget, step)
    if info then models[one.number], reports[one.number] = one.model, info
    elseif why then failed[#failed + 1] = {model = one.number, reason = why} end
    interrupted = info == nil and why == nil or info ~= nil and info.interrupted
    if interrupted then break end
    if progress_line.is_due(told, core.clock()) then
      said = true
      progress_line.say(("fit: model %d of %d"):format(k, #list))
    end
  end
  if said then progress_line.clear() end
  return models, M.report(count, reports, failed, interrupted, core.clock() - start)
end

return M

--- gibbous sweep export --fmt optuna: a journal file of Optuna (JournalStorage with JournalFileBackend; versions 3.1 to 5), so that
-- its dashboard and its studies read what a sweep has. A line is an operation: one makes the study, one more each trial that ended.
local core <const> = require "gibbous.core"
local results <const> = require "gibbous.sweep.store.results"

local CREATE_STUDY <const>, CREATE_TRIAL <const> = 0, 4            -- operations, as Optuna numbers them
local MINIMIZE <const>, MAXIMIZE <const> = 1, 2
local states <const> = {ok = 1, pruned = 2}                        -- COMPLETE, PRUNED; FAIL for all others
local FAIL <const> = 3
local LISTED <const> = 12                                          -- values of a numeric axis that make it a list, without a script

local function date(seconds)
  return seconds and os.date("!%Y-%m-%dT%H:%M:%S", math.floor(seconds)) .. (".%06d"):format(math.floor(seconds % 1 * 1e6)) or nil
end

--- A choice as Optuna keeps it: tables are JSON.
local function choice(v) return type(v) == "table" and core.json_encode(v) or v end

--- The distribution of an axis, and a function that gives what stands for a value in the journal.
local function of_list(values)
  local choices <const>, place <const> = {}, {}
  for i, v in ipairs(values) do
    choices[i] = choice(v)
    place[results.key(v)] = i - 1
  end
  return {name = "CategoricalDistribution", attributes = {choices = choices}}, function(v) return place[results.key(v)] end
end

local function of_range(low, high, log, whole)
  local attributes <const> = {low = low, high = high, log = log, step = whole and 1 or nil}
  return {name = whole and "IntDistribution" or "FloatDistribution", attributes = attributes}, function(v) return v end
end

--- Those of an axis of the trials: of its range where the study has one, else of the values that occur.
local function distribution(axis, study)
  for _, own in ipairs(study and study.space or {}) do
    local r <const> = own.name == axis.name and own.range
    if r then return of_range(r.low, r.high, r.log, r.whole) end
  end
  if not axis.numeric or #axis.values <= LISTED or study then return of_list(axis.values) end
  local whole = true
  for _, v in ipairs(axis.values) do whole = whole and math.type(v) == "integer" end
  return of_range(axis.values[1], axis.values[#axis.values], false, whole)
end

--- JSON of a distribution: FloatDistribution wants a step, null.
local function json(d)
  local text <const> = core.json_encode(d)
  return d.name == "FloatDistribution" and text:gsub('"log":', '"step":null,"log":', 1) or text
end

local function object(fields)
  local out <const> = {}
  for _, f in ipairs(fields) do out[#out + 1] = core.json_encode(f[1]) .. ":" .. f[2] end
  return "{" .. table.concat(out, ",") .. "}"
end

--- Values that were told on the way, by step; Optuna's steps are whole.
local function reports(store, t)
  local out <const> = {}
  for _, r in ipairs(store:reports(t.row.id)) do
    local step <const> = math.tointeger(r.step)
    if step and r.value then out[#out + 1] = {tostring(step), core.json_encode(r.value)} end
  end
  return object(out)
end

local function trial_line(store, t, axes)
  local params <const>, kinds <const>, names <const> = {}, {}, {}
  for name in pairs(t.params) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    params[#params + 1] = {name, core.json_encode(axes[name].of(t.params[name]))}
    kinds[#kinds + 1] = {name, core.json_encode(axes[name].json)}
  end
  local metric <const> = t.row.class == "ok" and t.row.metric or nil
  return object{{"op_code", CREATE_TRIAL}, {"worker_id", '"gibbous"'}, {"study_id", 0},
    {"datetime_start", core.json_encode(date(t.row.started or 0))}, {"datetime_complete", core.json_encode(date(t.row.ended or 0))},
    {"state", metric and states.ok or t.row.class == "pruned" and states.pruned or FAIL},
    {"value", metric and core.json_encode(metric) or "null"}, {"params", object(params)}, {"distributions", object(kinds)},
    {"user_attrs", core.json_encode{gibbous_trial = t.number, gibbous_class = t.state, gibbous_seed = t.row.seed}},
    {"system_attrs", "{}"}, {"intermediate_values", reports(store, t)}}
end

--- The journal of the trials that ended. study: of the script, for its ranges; nil of a folder.
---@return string
return function(store, study)
  local trials <const>, axes <const>, lines <const> = results.of(store), {}, {}
  for _, axis in ipairs(results.axes(trials)) do
    local d <const>, of <const> = distribution(axis, study)
    axes[axis.name] = {json = json(d), of = of}
  end
  lines[1] = object{{"op_code", CREATE_STUDY}, {"worker_id", '"gibbous"'}, {"study_name", core.json_encode(store:value "name")},
    {"directions", ("[%d]"):format(store:value "goal" == "max" and MAXIMIZE or MINIMIZE)}}
  for _, t in ipairs(trials) do
    if t.row.state == "done" or t.row.state == "failed" then lines[#lines + 1] = trial_line(store, t, axes) end
  end
  return table.concat(lines, "\n") .. "\n"
end

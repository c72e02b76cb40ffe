--- What a store has, as tables, figures and exports look at it: trials with decoded parameters and flat results, axes with their
-- values.
local core <const> = require "gibbous.core"
local text <const> = require "gibbous.sweep.show.text"

local M <const> = {}

---@class gibbous.sweep.result  a trial
---@field row table        its row in the store
---@field number integer
---@field params table     values by name
---@field result table     plain values by name; "a.b" of a table in a table; {} where there is none
---@field state string     its class where it ended, else its state

-- JSON has no such numbers: the store keeps words.
local unordered <const> = {nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge}

local function flatten(t, prefix, out)
  for key, v in pairs(t) do
    local name <const> = prefix .. tostring(key)
    if type(v) == "table" then flatten(v, name .. ".", out) else out[name] = v end
  end
  return out
end

--- The word for how a trial stands: its class where it ended. lost: trials whose process is gone, as store:lost() gives them.
function M.state(row, lost)
  if row.state == "done" or row.state == "failed" then return row.class end
  return lost[row.id] and "pending" or row.state
end

local function of_row(row, lost)
  return {row = row, number = row.number, params = core.json_decode(row.params),
    result = row.result and flatten(core.json_decode(row.result), "", {}) or {},
    state = M.state(row, lost)}
end

--- The trials of a store, by number. condition: as store:trials takes it, of wanted ones by default.
---@return gibbous.sweep.result[]
function M.of(store, condition, ...)
  local out <const>, lost <const> = {}, store:lost()
  for i, row in ipairs(store:trials(condition or "wanted = 1", ...)) do out[i] = of_row(row, lost) end
  return out
end

--- The number that a field of a result is, also where it is nan or infinite; nil where it is none.
function M.number(v)
  if type(v) == "number" then return v end
  if type(v) == "boolean" then return v and 1 or 0 end
  return unordered[v]
end

--- The value of a metric of a trial that is ok; nil of others.
function M.metric(trial, name)
  return trial.row.class == "ok" and trial.row.state == "done" and M.number(trial.result[name]) or nil
end

--- The trials of which every named parameter has the value that is written there: "data=kin40k,rank=15". All where nothing is.
function M.where(trials, conditions)
  if not conditions then return trials end
  local axes <const>, out = M.axes(trials), trials
  for one in conditions:gmatch "[^,]+" do
    local name <const>, word <const> = one:match "^%s*(.-)%s*=%s*(.-)%s*$"
    if not name then core.raise("option", ("--where is NAME=VALUE,..., got '%s'"):format(one)) end
    M.axis(axes, name)
    local kept <const> = {}
    for _, t in ipairs(out) do
      local v <const> = t.params[name]
      local same <const> = type(v) == "string" and v == word or type(v) == "number" and v == tonumber(word) or M.key(v) == word
      kept[#kept + 1] = same and t or nil
    end
    if #kept == 0 then core.raise("option", ("no trial has %s = %s"):format(name, word)) end
    out = kept
  end
  return out
end

-- Axes ------------------------------------------------------------------------------------------------------------------------

--- A value as the key of a table: equal values have equal keys. nil, of an axis that a cell does not have: "-".
function M.key(v) return v == nil and "-" or core.json_encode(v) end

--- Values as one key.
function M.keys(values, names)
  local out <const> = {}
  for i, name in ipairs(names) do out[i] = M.key(values[name]) end
  return table.concat(out, "\0")
end

--- Numbers in their order; others as they came.
local function in_order(values)
  for _, v in ipairs(values) do
    if type(v) ~= "number" then return values end
  end
  table.sort(values)
  return values
end

---@class gibbous.sweep.axis
---@field name string
---@field values any[]     numbers sorted, others in the order of the trials
---@field place table<string, integer>  of a value in the list, by its key
---@field numeric boolean
---@field repeated boolean is it an axis of repeats?

--- The axes of trials, those of repeats last, each group by name.
---@return gibbous.sweep.axis[]
function M.axes(trials)
  local by_name <const>, out <const> = {}, {}
  for _, t in ipairs(trials) do
    local cell <const> = core.json_decode(t.row.cell)
    for name, v in pairs(t.params) do
      local axis = by_name[name]
      if not axis then
        axis = {name = name, values = {}, seen = {}, place = {}, numeric = true, repeated = cell[name] == nil}
        by_name[name], out[#out + 1] = axis, axis
      end
      local key <const> = M.key(v)
      if not axis.seen[key] then
        axis.seen[key], axis.values[#axis.values + 1] = true, v
        axis.numeric = axis.numeric and type(v) == "number"
      end
    end
  end
  table.sort(out, function(a, b)
    if a.repeated ~= b.repeated then return b.repeated end
    return a.name < b.name
  end)
  for _, axis in ipairs(out) do
    in_order(axis.values)
    for i, v in ipairs(axis.values) do axis.place[M.key(v)] = i end
  end
  return out
end

--- The axes that are of the space and have more than one value.
function M.varied(axes)
  local out <const> = {}
  for _, axis in ipairs(axes) do
    if not axis.repeated and #axis.values > 1 then out[#out + 1] = axis end
  end
  return out
end

--- Names of axes as a sentence has them.
function M.names(axes)
  local out <const> = {}
  for i, axis in ipairs(axes) do out[i] = axis.name end
  return out
end

--- The axis of this name; an error that says which there are.
function M.axis(axes, name)
  for _, axis in ipairs(axes) do
    if axis.name == name then return axis end
  end
  local known <const> = {}
  for _, axis in ipairs(axes) do known[axis.name] = true end
  local near <const> = require "gibbous.base.options".nearest(name, known)
  core.raise("option", ("the study has no parameter '%s'%s; it has %s"):format(name,
    near and (", did you mean '%s'?"):format(near) or "", table.concat(M.names(axes), ", ")))
end

-- Metrics ---------------------------------------------------------------------------------------------------------------------

--- The names of the fields of results that are numbers in some trial, sorted.
function M.fields(trials)
  local found <const>, out <const> = {}, {}
  for _, t in ipairs(trials) do
    for name, v in pairs(t.result) do
      if not found[name] and M.number(v) then found[name], out[#out + 1] = true, name end
    end
  end
  table.sort(out)
  return out
end

--- The metric to look at, and "min" or "max": the study's unless others are named. An error where no trial has it.
function M.chosen(store, trials, name, goal)
  local own <const> = store:value "metric"
  local metric <const> = name or own
  local fields <const> = M.fields(trials)
  if not metric then
    core.raise("option", #fields > 0 and ("the study names no metric: say which (--metric, metric = ...), one of %s"):format(
      table.concat(fields, ", "))
      or "the study names no metric and has no result yet")
  end
  local known <const> = {}
  for _, field in ipairs(fields) do known[field] = true end
  if name and not known[name] and #fields > 0 then
    local near <const> = require "gibbous.base.options".nearest(name, known)
    core.raise("option", ("no result has the number '%s'%s; there are %s"):format(name,
      near and (", did you mean '%s'?"):format(near) or "", table.concat(fields, ", ")))
  end
  if goal and goal ~= "min" and goal ~= "max" then core.raise("option", ("--goal is min or max, got '%s'"):format(goal)) end
  return metric, goal or (metric == own and store:value "goal") or "min"
end

--- Cells of trials, {cell (JSON), params, values (of ok trials), trials}, in order of their first trial.
function M.cells(trials, metric)
  local out <const>, by_key <const> = {}, {}
  for _, t in ipairs(trials) do
    local c = by_key[t.row.cell]
    if not c then
      c = {cell = t.row.cell, params = core.json_decode(t.row.cell), values = {}, trials = {}}
      by_key[t.row.cell], out[#out + 1] = c, c
    end
    c.trials[#c.trials + 1] = t
    local v <const> = metric and M.metric(t, metric)
    if v and v == v then c.values[#c.values + 1] = v end
  end
  return out
end

--- Parameters of a cell as words, of these names alone; "no period" where it does not have one.
function M.label(params, names)
  local out <const> = {}
  for i, name in ipairs(names) do
    out[i] = params[name] == nil and "no " .. name or text.params(core.json_encode{[name] = params[name]})
  end
  return table.concat(out, " ")
end

return M

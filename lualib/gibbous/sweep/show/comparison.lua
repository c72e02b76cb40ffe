--- Trials as a table of rows and columns of parameters: in each cell the mean over what is left, and whether it is worse than the
-- best of its group by tests that pair what is equal in all else.
local core <const> = require "gibbous.core"
local results <const> = require "gibbous.sweep.store.results"
local statistics <const> = require "gibbous.sweep.show.statistics"

local M <const> = {}

---@class gibbous.sweep.table
---@field rows string[]      names of parameters
---@field columns string[]
---@field heads table[]      of each column: values by name
---@field lines table[]      {values by name, cells}, a cell for each column
---@field over string[]      names of parameters that a mean is over
---@field metric string
---@field goal "min"|"max"
---@field level number
---@field tested integer     cells that a test compared with their best

---@class gibbous.sweep.table.cell
---@field n integer          values that are numbers
---@field mean number?
---@field se number?
---@field sd number?
---@field state string       "ok", or why there is none: "oom", "pending", ...
---@field best boolean       the best of its group
---@field equal boolean      it, or not significantly worse than it
---@field p_t number?        of the paired t test against the best
---@field p_wilcoxon number?

local function chosen_axes(axes, names)
  local out <const>, seen <const> = {}, {}
  for i, name in ipairs(names) do
    if seen[name] then core.raise("option", ("the parameter '%s' is named twice"):format(name)) end
    out[i], seen[name] = results.axis(axes, name), true
  end
  return out
end

--- The names of rows and columns: those that are given; without any, all varied axes are rows.
local function shape(axes, rows, columns)
  if not rows and not columns then return chosen_axes(axes, results.names(results.varied(axes))), {} end
  local c <const> = chosen_axes(axes, columns or {})
  if rows then
    for _, name in ipairs(rows) do
      for _, axis in ipairs(c) do
        if axis.name == name then core.raise("option", ("the parameter '%s' is of rows and of columns"):format(name)) end
      end
    end
    return chosen_axes(axes, rows), c
  end
  local r <const> = {}
  for _, axis in ipairs(results.varied(axes)) do
    local taken = false
    for _, other in ipairs(c) do taken = taken or other == axis end
    if not taken then r[#r + 1] = axis end
  end
  return r, c
end

--- The distinct values of these axes that trials have, a list of values by name: the first axis slowest, in the order of its
-- values.
local function distinct(trials, axes)
  local names <const>, seen <const>, out <const> = results.names(axes), {}, {}
  for _, t in ipairs(trials) do
    local key <const> = results.keys(t.params, names)
    if not seen[key] then
      seen[key] = true
      local values <const>, places <const> = {}, {}
      for i, axis in ipairs(axes) do
        values[axis.name] = t.params[axis.name]
        places[i] = axis.place[results.key(t.params[axis.name])] or 0
      end
      out[#out + 1] = {values = values, places = places, key = key}
    end
  end
  table.sort(out, function(a, b)
    for i, place in ipairs(a.places) do
      if place ~= b.places[i] then return place < b.places[i] end
    end
    return false
  end)
  return out
end

local STATES <const> = {"oom", "not_pd", "nan", "timeout", "crashed", "error", "interrupted", "pruned", "running", "pending", "ok"}

--- Why a cell has no value: the commonest state of its trials.
local function reason(states)
  local most, name = 0, "missing"
  for _, state in ipairs(STATES) do
    if (states[state] or 0) > most then most, name = states[state], state end
  end
  return name == "ok" and "nan" or name
end

local function new_cell() return {values = {}, paired = {}, states = {}} end

local function take(cell, trial, metric, pair)
  cell.states[trial.state] = (cell.states[trial.state] or 0) + 1
  local v <const> = results.metric(trial, metric)
  if v == nil or v ~= v then return end
  cell.values[#cell.values + 1] = v
  cell.paired[pair] = v
end

--- The cells of a table, by row and column.
local function filled(trials, row_names, column_names, over, metric)
  local cells <const> = {}
  for _, t in ipairs(trials) do
    local key <const> = results.keys(t.params, row_names) .. "\1" .. results.keys(t.params, column_names)
    cells[key] = cells[key] or new_cell()
    take(cells[key], t, metric, results.keys(t.params, over))
  end
  return cells
end

local function summarised(cell)
  for name, v in pairs(statistics.summary(cell.values)) do cell[name] = v end
  cell.state = cell.n > 0 and "ok" or reason(cell.states)
  cell.best, cell.equal = false, false
  return cell
end

-- Tests -----------------------------------------------------------------------------------------------------------------------

local function best_of(cells, goal)
  local best
  for _, c in ipairs(cells) do
    local better <const> = c.n > 0 and (not best or (goal == "max") == (c.mean > best.mean) and c.mean ~= best.mean)
    if better then best = c end
  end
  return best
end

--- Differences of what both have, in an order that does not matter.
local function differences(a, b)
  local keys <const>, out <const> = {}, {}
  for key in pairs(a.paired) do keys[#keys + 1] = b.paired[key] and key or nil end
  table.sort(keys)
  for i, key in ipairs(keys) do out[i] = a.paired[key] - b.paired[key] end
  return out
end

--- Not significantly worse: some test of those that there are does not say so. Without a test only the same mean is equal.
local function is_equal(cell, best, level)
  if not cell.p_t then return cell.mean == best.mean end
  return cell.p_t >= level or cell.p_wilcoxon ~= nil and cell.p_wilcoxon >= level
end

--- Marks the best of a group and what is not worse. Gives how many cells were tested.
local function compare(cells, goal, level)
  local best <const> = best_of(cells, goal)
  local tested = 0
  if not best then return 0 end
  best.best, best.equal = true, true
  for _, c in ipairs(cells) do
    if c ~= best and c.n > 0 then
      local d <const> = differences(c, best)
      c.p_t, c.p_wilcoxon = statistics.paired_t(d), statistics.wilcoxon(d)
      c.equal = is_equal(c, best, level)
      tested = tested + (c.p_t and 1 or 0)
    end
  end
  return tested
end

--- The cells of each group: lists by the values of the parameters 'group', by default of the rows.
local function groups(lines, names)
  local out <const>, by_key <const> = {}, {}
  for _, line in ipairs(lines) do
    local key <const> = results.keys(line.values, names)
    if not by_key[key] then
      by_key[key] = {}
      out[#out + 1] = by_key[key]
    end
    for _, c in ipairs(line.cells) do table.insert(by_key[key], c) end
  end
  return out
end

local function names_of_group(group, row_names, has_columns)
  if group then
    for _, name in ipairs(group) do
      local known = false
      for _, row in ipairs(row_names) do known = known or row == name end
      if not known then core.raise("option", ("--group names parameters of rows, '%s' is none"):format(name)) end
    end
    return group
  end
  return has_columns and row_names or {}       -- one column: all its cells are compared
end

--- trials: gibbous.sweep.result[]. o: rows, columns, group (lists of names), metric, goal, level.
---@return gibbous.sweep.table
function M.of(trials, o)
  local axes <const> = results.axes(trials)
  local rows <const>, columns <const> = shape(axes, o.rows, o.columns)
  local row_names <const>, column_names <const> = results.names(rows), results.names(columns)
  local used <const>, over <const>, averaged <const> = {}, {}, {}
  for _, list in ipairs{row_names, column_names} do
    for _, name in ipairs(list) do used[name] = true end
  end
  for _, axis in ipairs(axes) do
    if not used[axis.name] then
      over[#over + 1] = axis.name
      averaged[#averaged + 1] = #axis.values > 1 and axis.name or nil
    end
  end
  local cells <const> = filled(trials, row_names, column_names, over, o.metric)
  local heads <const>, lines <const> = distinct(trials, columns), {}
  for i, row in ipairs(distinct(trials, rows)) do
    lines[i] = {values = row.values, cells = {}}
    for k, column in ipairs(heads) do lines[i].cells[k] = summarised(cells[row.key .. "\1" .. column.key] or new_cell()) end
  end
  local tested = 0
  for _, group in ipairs(groups(lines, names_of_group(o.group, row_names, #columns > 0))) do
    tested = tested + compare(group, o.goal, o.level)
  end
  local head_values <const> = {}
  for k, head in ipairs(heads) do head_values[k] = head.values end
  return {rows = row_names, columns = column_names, heads = head_values, lines = lines, over = averaged, metric = o.metric,
    goal = o.goal, level = o.level, tested = tested}
end

return M

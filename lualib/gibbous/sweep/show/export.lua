--- gibbous sweep export: one row a trial, or one a report, as CSV, JSON lines or JSON, with all digits.
local core <const> = require "gibbous.core"
local csv <const> = require "gibbous.sweep.show.csv"
local printable <const> = require "gibbous.printable"
local results <const> = require "gibbous.sweep.store.results"

local M <const> = {forms = {"csv", "jsonl", "json"}}

--- Columns of the store that follow parameters and results.
local AFTER <const> = {"message", "seconds", "peak", "resident", "attempts", "seed", "code", "host", "device", "started", "ended"}

--- Sorted keys of the tables of.field of trials.
local function names_of(trials, field)
  local seen <const>, out <const> = {}, {}
  for _, t in ipairs(trials) do
    for name in pairs(t[field]) do
      if not seen[name] then seen[name], out[#out + 1] = true, name end
    end
  end
  table.sort(out)
  return out
end

--- Columns, {name, of = function(trial)}.
local function columns_of(trials)
  local out <const> = {{name = "number", of = function(t) return t.number end}, {name = "id", of = function(t) return t.row.id end},
    {name = "state", of = function(t) return t.state end}}
  for _, kind in ipairs{{"param", "params"}, {"result", "result"}} do
    for _, name in ipairs(names_of(trials, kind[2])) do
      out[#out + 1] = {name = kind[1] .. "." .. name, of = function(t) return t[kind[2]][name] end}
    end
  end
  for _, name in ipairs(AFTER) do out[#out + 1] = {name = name, of = function(t) return t.row[name] end} end
  return out
end

--- Names and rows of the trials.
local function of_trials(trials)
  local columns <const>, names <const>, rows <const> = columns_of(trials), {}, {}
  for k, column in ipairs(columns) do names[k] = column.name end
  for i, t in ipairs(trials) do
    rows[i] = {}
    for k, column in ipairs(columns) do rows[i][k] = column.of(t) end
  end
  return names, rows
end

--- Names and rows of what trials told on the way.
local function of_reports(trials, store)
  local params <const> = names_of(trials, "params")
  local names <const>, rows <const> = {"number", "id"}, {}
  for _, name in ipairs(params) do names[#names + 1] = "param." .. name end
  for _, name in ipairs{"step", "value", "seconds"} do names[#names + 1] = name end
  for _, t in ipairs(trials) do
    for _, report in ipairs(store:reports(t.row.id)) do
      local row <const> = {t.number, t.row.id}
      for k, name in ipairs(params) do row[2 + k] = t.params[name] end
      local n <const> = 2 + #params
      row[n + 1], row[n + 2], row[n + 3] = report.step, report.value, report.seconds
      rows[#rows + 1] = row
    end
  end
  return names, rows
end

--- A row as a JSON object in the order of the columns, null where there is nothing; nan and infinite numbers are strings, since
-- JSON has no such numbers. Messages may have any bytes.
local function object(names, row)
  local parts <const> = {}
  for k, name in ipairs(names) do
    local v <const> = type(row[k]) == "string" and printable(row[k]) or row[k]
    parts[k] = core.json_encode(name) .. ":" .. (v == nil and "null" or core.json_encode(v))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

--- Fields of results that are nan or infinite as numbers: for CSV, which can write them.
local function with_numbers(rows, names)
  for _, row in ipairs(rows) do
    for k, name in ipairs(names) do
      if name:find("^result%.") and type(row[k]) == "string" then row[k] = results.number(row[k]) or row[k] end
    end
  end
  return rows
end

--- The trials of a store as text. o: fmt "csv", "jsonl" or "json"; reports: what they told on the way instead; all: older ones too.
function M.text(store, o)
  local trials <const> = results.of(store, o.all and "1" or "wanted = 1")
  local names, rows
  if o.reports then names, rows = of_reports(trials, store) else names, rows = of_trials(trials) end
  if o.fmt == "csv" then return csv(names, with_numbers(rows, names)) end
  local objects <const> = {}
  for i, row in ipairs(rows) do objects[i] = object(names, row) end
  if o.fmt == "jsonl" then return #objects > 0 and table.concat(objects, "\n") .. "\n" or "" end
  return "[" .. table.concat(objects, ",\n ") .. "]\n"
end

return M

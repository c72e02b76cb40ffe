--- print(model): what it holds, and its parameters as a table, by column where these have names, and in the units of the data
-- beside those of the model where it scales these.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"
local table_text <const> = require "gibbous.text.table"
local units <const> = require "gibbous.gp.report.units"

local MOST <const> = 32                    -- elements of a parameter that are told by column
local NAMES <const> = 12                   -- names that are listed

local function value_text(v)
  if v == nil then return "-" end
  if v.ndim == 0 then return ("%.6g"):format(v:item()) end
  if v.ndim > 1 then return tostring(v.shape) end
  local cells <const> = {}
  for i, c in ipairs(v:totable()) do
    if i > 6 then
      cells[7] = "..."
      break
    end
    cells[i] = ("%.4g"):format(c)
  end
  return "{" .. table.concat(cells, ", ") .. "}"
end

local function constraint_text(p)
  if not p.min and not p.max then return "none" end
  return ("(%s, %s)"):format(p.min and ("%g"):format(p.min) or "-inf", p.max and ("%g"):format(p.max) or "inf")
end

--- Element i of a vector, of a value without axes that value.
local function element(v, i) return v and (v.ndim == 1 and v:select(1, i) or v) end

--- The rows of one parameter, {path, value, value in the units of the data}: one, or one a column where these have names and
-- values of their own.
local function rows_of(path, v, known)
  local labels <const> = known and known.labels
  local own <const> = known and known.of_data and known.of_data(v)
  local wide <const> = v.ndim == 1 and v or own and own.ndim == 1 and own
  if not labels or not wide or v.ndim > 1 or #labels ~= #wide or #labels > MOST or #labels == 1 then
    return {{path, v, own}}
  end
  local out <const> = {}
  for i, label in ipairs(labels) do out[i] = {("%s[%s]"):format(path, label), element(v, i), element(own, i)} end
  return out
end

local M <const> = {}

--- The headings and the rows of the parameters of a model, texts.
function M.rows(self)
  local list <const>, names <const> = param.collect(model.core(self))
  local known <const>, scales <const> = units.of(self), units.scales(self)
  local out <const> = {{"parameter", "value", scales and "in units of the data" or "", "constraint", "prior", "trainable"}}
  for i, p in ipairs(list) do
    for _, row in ipairs(rows_of(names[i], p.value, known[p])) do
      out[#out + 1] = {row[1], value_text(row[2]), scales and value_text(row[3]) or "", constraint_text(p),
        p.prior and tostring(p.prior) or "none", p.fixed and "no" or "yes"}
    end
  end
  return out
end

--- "a, b and 3 more"
local function listed(names)
  if #names <= NAMES then return table.concat(names, ", ") end
  return ("%s and %d more"):format(table.concat(names, ", ", 1, NAMES), #names - NAMES)
end

--- The lines about the data of a model, each with its end: the names of columns, and what is scaled.
local function data_text(self)
  local f <const>, cells <const> = model.fields(self), {}
  if f.x and f.names and f.names.x then cells[#cells + 1] = "inputs: " .. listed(f.names.x) end
  if f.x and f.names and f.names.y then
    cells[#cells + 1] = (#f.names.y == 1 and "target: " or "targets: ") .. listed(f.names.y)
  end
  local lines = #cells > 0 and table.concat(cells, "; ") .. "\n" or ""
  if f.standardize then
    lines = ("%sstandardized: %s\n"):format(lines, f.standardize.x and f.standardize.y and "inputs and targets"
      or f.standardize.x and "inputs" or "targets")
  end
  return lines
end

--- Text for print(model): 'title', what is held, the parameters. held(f): of a model with data of fields f.
function M.text(self, title, held)
  local f <const> = model.fields(self)
  local note <const> = model.fields(model.core(self)).likelihood:note()
  return ("%s%s\n%s%s%s"):format(title, f.x and held(f) or "no data: the prior", data_text(self), table_text(M.rows(self)),
    note and "\n" .. note or "")
end

--- "n points, d columns, dtype"
function M.points(f)
  return ("%s, %s, %s"):format(counted(#f.x, "point"), counted(f.x.shape[2], "column"), f.x.dtype)
end

local methods <const> = {}
M.methods = methods

--- The value of a parameter, by its path as print(model) shows it, in the units of the data: what m:get(path).value is where the
-- model scales nothing. A lengthscale of several columns that are scaled becomes one a column. Errors: option (no such path, or a
-- parameter whose value cannot be told in these units, as one of a function of the script).
---@param path string
---@return gibbous.tensor
function methods.value(self, path)
  local p <const> = self:get(path)
  if not units.scales(self) then return p.value end
  local known <const> = units.of(self)[p]
  local v <const> = known and known.of_data and known.of_data(p.value)
  if v then return v:eval() end
  core.raise("option", ("value: '%s' cannot be told in the units of the data; m:get \"%s\" has it in those of the model"):format(
    path, path))
end

return M

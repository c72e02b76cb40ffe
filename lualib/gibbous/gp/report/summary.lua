--- print(model): what it holds, and its parameters as a table.
local counted <const> = require "gibbous.counted"
local model <const> = require "gibbous.gp.model"
local param <const> = require "gibbous.param"
local table_text <const> = require "gibbous.table_text"

local function value_text(p)
  local v <const> = p.value
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

--- The table of the parameters of a model that computes, with what its likelihood has to note.
local function parameters_text(self)
  local list <const>, names <const> = param.collect(self)
  local rows <const> = {{"parameter", "value", "constraint", "prior", "trainable"}}
  for i, p in ipairs(list) do
    rows[#rows + 1] = {names[i], value_text(p), constraint_text(p), p.prior and tostring(p.prior) or "none",
      p.fixed and "no" or "yes"}
  end
  local note <const> = model.fields(self).likelihood:note()
  return table_text(rows) .. (note and "\n" .. note or "")
end

local M <const> = {}

--- Text for print(model): 'title', what is held, the parameters. held(f): of a model with data of fields f.
function M.text(self, title, held)
  local f <const> = model.fields(self)
  return ("%s%s\n%s"):format(title, f.x and held(f) or "no data: the prior", parameters_text(model.core(self)))
end

--- "n points, d columns, dtype"
function M.points(f)
  return ("%s, %s, %s"):format(counted(#f.x, "point"), counted(f.x.shape[2], "column"), f.x.dtype)
end

return M

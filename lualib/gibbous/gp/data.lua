--- Checking observations before a model takes them.
local core <const> = require "gibbous.core"
local kernels <const> = require "gibbous.kernels"

local M <const> = {}

local function first_bad(t)
  local at <const> = t:isfinite():to{dtype = "f32"}:argmin():item() - 1
  local columns <const> = t.ndim == 2 and t.shape[2] or 1
  return at // columns + 1, at % columns + 1
end

local function check_finite(t, what, level)
  if t:isfinite():all() then return end
  local row <const>, column <const> = first_bad(t)
  local where <const> = t.ndim == 2 and ("row %d, column %d"):format(row, column) or ("row %d"):format(row)
  core.raise("nan", ("%s: the value in %s is not finite"):format(what, where), level + 1)
end

--- x (n, d) or (n) and y (n) as tensors (n, d) and (n) of one float dtype, all finite. 'what' begins the messages.
function M.check(x, y, what, level)
  x = kernels.points(x, what .. ": x", level + 1)
  local t <const> = core.as_tensor(y)
  if t == nil then core.raise("option", ("%s: y must be a tensor, got %s"):format(what, type(y)), level + 1) end
  if t.ndim ~= 1 or #t ~= #x then
    core.raise("shape", ("%s: x has %d rows, y must be (%d), got shape %s"):format(what, #x, #x, tostring(t.shape)), level + 1)
  end
  if t.dtype ~= x.dtype then
    core.raise("dtype", ("%s: x is %s, y is %s"):format(what, x.dtype, t.dtype), level + 1)
  end
  if #x > 0 then
    check_finite(x, what .. ": x", level + 1)
    check_finite(t, what .. ": y", level + 1)
  end
  return x, t
end

--- Inputs of another number of columns than the model's raise.
function M.check_width(f, x, what, level)
  if f.x and x.shape[2] ~= f.x.shape[2] then
    core.raise("shape", ("%s: the model was given %d columns, x has shape %s"):format(what, f.x.shape[2],
      tostring(x.shape)), level + 1)
  end
  if f.x and x.dtype ~= f.x.dtype then
    core.raise("dtype", ("%s: the model's data are %s, x is %s"):format(what, f.x.dtype, x.dtype), level + 1)
  end
end

return M

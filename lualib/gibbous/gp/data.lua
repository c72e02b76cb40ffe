--- Checking observations before a model takes them.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local kernels <const> = require "gibbous.kernels"
local named <const> = require "gibbous.frame.named"

local M <const> = {}

--- What "missing" may be in fit, score and condition: NaN in y is an error, or such rows are left out.
M.missing = {"error", "mask"}

local function count(mask) return math.tointeger(mask:to{dtype = "f64"}:sum():item()) end

--- Raises where t has a value that is not finite: how many there are and where the first is. rows: where t's rows come from;
-- names: of its columns, nil where they have none.
local function check_finite(t, what, hint, rows, names)
  local good <const> = t:isfinite()
  if good:all() then return end
  local at <const> = good:to{dtype = "f32"}:reshape(-1):argmin():item() - 1
  local columns <const> = t.ndim == 2 and t.shape[2] or 1
  local bad <const> = t.numel - count(good)
  local row = at // columns + 1
  if rows then row = rows[row]:item() end
  local where = ("row %d"):format(row)
  local name <const> = names and names[at % columns + 1]
  if name then where = ("%s, column '%s'"):format(where, name)
  elseif t.ndim == 2 then where = ("%s, column %d"):format(where, at % columns + 1) end
  local text <const> = bad == 1 and ("%s: the value in %s is not finite"):format(what, where)
    or ("%s: %s are not finite, the first in %s"):format(what, counted(bad, "value"), where)
  core.raise("nan", text .. (hint or ""), {row = row, column = t.ndim == 2 and at % columns + 1 or nil,
    count = bad})
end

local function isnan(t) return ~t:eq(t) end

local function is_float(t) return t.dtype == "f64" or t.dtype == "f32" end

--- Raises that x and y are of two dtypes; x is of floats.
function M.refuse_dtypes(x, y, what)
  if not is_float(y) then
    core.raise("dtype", ('%s: x is %s, y is %s; y:to{dtype = "%s"} makes them one'):format(what, x.dtype, y.dtype, x.dtype))
  end
  core.raise("dtype", ('%s: x is %s, y is %s; y:to{dtype = "%s"} or x:to{dtype = "%s"} makes them one'):format(what, x.dtype,
    y.dtype, x.dtype, y.dtype))
end

--- Raises an error if x or y lies on a device that models do not work on; y may be nil. 'what' begins the message.
function M.check_home(what, x, y)
  local home <const> = core.config().device
  local far <const> = x.device ~= home and "x" or y and y.device ~= home and "y"
  if not far then return end
  local at = ("%s lies on %s"):format(far, (far == "x" and x or y).device)
  if y then at = ("x lies on %s, y on %s"):format(x.device, y.device) end
  local mend <const> = y and x.device == y.device and ("x:to '%s' and y:to '%s' move them"):format(home, home)
    or ("%s:to '%s' moves it"):format(far, home)
  core.raise("device", ("%s: %s, and models work on %s: %s"):format(what, at, home, mend))
end

--- y as a tensor.
function M.observations(y, what)
  local t <const> = core.as_tensor(y)
  if t == nil then
    local labels <const> = type(y) == "table" and type(y[1]) == "string" and tonumber(y[1]) == nil
    core.raise("option", ("%s: y must be a tensor, got %s%s"):format(what, columns.got(y),
      labels and "; gb.gp.classifier takes labels" or ""))
  end
  return t
end

--- x: (n, d), given as 'inputs'.
local function check_shapes(inputs, x, t, what)
  if t.ndim ~= 1 or #t ~= #x then
    local hint <const> = t.ndim == 2 and t.shape[2] == 1 and #t == #x and "; use y:squeeze(2)"
      or t.ndim == 2 and "; y:select(2, 1) is one column of it, gb.gp.multitask models all" or ""
    core.raise("shape", ("%s: x has %s, y must be (%d), got shape %s beside x %s%s"):format(what, counted(#x, "row"), #x,
      core.told(t), core.told(inputs), hint))
  end
  if not is_float(x) then
    core.raise("dtype", ('%s: x must be f64 or f32, got %s; x:to{dtype = "f64"} makes it so'):format(what, x.dtype))
  end
  if t.dtype ~= x.dtype then
    M.refuse_dtypes(x, t, what)
  end
end

--- x (n, d) or (n) and y (n) as tensors (n, d) and (n) of one float dtype, all finite. 'what' begins the messages.
-- missing = "mask": rows where y is NaN are left out. Gives x, y, and then the rows that were kept (i64, nil: all).
function M.check(x, y, what, missing)
  local inputs <const> = x
  x = kernels.points(x, what .. ": x")
  local t <const> = M.observations(y, what)
  M.check_home(what, x, t)
  check_shapes(inputs, x, t, what)
  local absent <const> = isnan(t)
  local masked <const> = count(absent)
  if masked == 0 or missing ~= "mask" then
    check_finite(x, what .. ": x", nil, nil, named.of(inputs))
    check_finite(t, what .. ": y", masked > 0 and '; missing = "mask" leaves such rows out' or nil, nil, named.of(y))
    return x, t
  end
  local keep <const> = {}
  for i, gone in ipairs(absent:totable()) do
    if not gone then keep[#keep + 1] = i end
  end
  local rows <const> = core.tensor(keep, {dtype = "i64"})
  local kept_x <const>, kept_y <const> = x:index(1, rows):eval(), t:index(1, rows):eval()
  check_finite(kept_x, what .. ": x", nil, rows, named.of(inputs))
  check_finite(kept_y, what .. ": y", nil, rows, named.of(y))
  return kept_x, kept_y, rows
end

--- Raises where gb.config has chosen another device since a model took data on this one. 'what' begins the message.
function M.check_session(what, device)
  local home <const> = core.config().device
  if device == home then return end
  core.raise("device", ("%s: the model's data lie on %s, and models work on %s: gb.config{device = '%s'} goes back, or "
    .. "m:fit(x, y) with data that lie on %s"):format(what, device, home, device, home))
end

--- Inputs of another number of columns than the model's raise, and those on another device.
function M.check_width(f, x, what)
  if f.x then M.check_session(what, f.x.device) end
  M.check_home(what, x)
  if f.x and x.shape[2] ~= f.x.shape[2] then
    core.raise("shape", ("%s: the model was given %s, x has shape %s"):format(what, counted(f.x.shape[2], "column"),
      core.told(x)))
  end
  if f.x and x.dtype ~= f.x.dtype then
    core.raise("dtype", ("%s: the model's data are %s, x is %s; x:to '%s' makes it one of them"):format(what, f.x.dtype, x.dtype,
      f.x.dtype))
  end
end

return M

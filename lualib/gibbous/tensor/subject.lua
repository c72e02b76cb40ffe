--- Checks of arguments that functions and methods of tensors share.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local options <const> = require "gibbous.base.options"

local M <const> = {}

--- v as a tensor, which a method or function takes.
function M.tensor(v, what)
  local t <const> = core.as_tensor(v)
  if t == nil then core.raise("option", ("%s takes a tensor, got %s"):format(what, core.type(v))) end
  return t
end

--- A dimension of x, counted from 1; negative from the end.
function M.dimension(x, d, what)
  local n <const> = options.whole(d)
  if n == nil then
    core.raise("option", ("%s: a dimension expected, 1 to %d, or -1 for the last; got %s"):format(what, x.ndim,
      options.got(d)))
  end
  if n == 0 or math.abs(n) > x.ndim then
    core.raise("index", ("%s: dimension %d of a tensor with %s"):format(what, n, counted(x.ndim, "dimension")))
  end
  return n > 0 and n or n + x.ndim + 1
end

--- A whole number that is at least 'least'.
function M.whole(v, least, name, what)
  local n <const> = options.whole(v)
  if n == nil or n < least then
    core.raise("option", ("%s: %s must be a whole number, %d or more, got %s"):format(what, name, least,
      options.got(v)))
  end
  return n
end

--- Every other extent of x, with n along dimension d.
function M.shape_with(x, d, n)
  local shape <const> = {}
  for i, extent in ipairs(x.shape) do shape[i] = extent end
  shape[d] = n
  return shape
end

--- The whole numbers first, first + step, ..., n of them, along dimension d of 'ndim', on a device.
function M.range_along(first, step, n, d, ndim, device)
  local shape <const> = {}
  for i = 1, ndim do shape[i] = 1 end
  shape[d] = n
  return core.range(first, first + step * (n - 1), step, {dtype = "i64", device = device}):reshape(shape)
end

--- Raises where v is no string. usage: the call, "m:save(path)", whose argument is named in the error.
function M.path(v, usage)
  if type(v) == "string" then return end
  local name <const>, argument <const> = usage:match "([%w_]+)%(([%w_]+)"
  core.raise("option", ("%s: expected a %s, got %s; %s"):format(name, argument, options.got(v), usage))
end

return M

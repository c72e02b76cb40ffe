--- Labels: whole numbers from 1 to k. Those whose values exist are checked at once, others where they are computed.
local core <const> = require "gibbous.core"

local M <const> = {}

local in_range <const> = setmetatable({}, {__mode = "k"})     -- labels that were looked at: their range

--- The position of the first that is outside, in words.
local function place_of(y, k)
  local row <const> = (y:lt(1) | y:gt(k)):reshape(-1):to{dtype = "i64"}:argmax():item()
  return y:reshape(-1)[row]:item(), row
end

local function check_known(y, k, what)
  if y.numel == 0 then return end
  local range <const> = in_range[y] or {y:min():item(), y:max():item()}
  in_range[y] = range
  if range[1] >= 1 and range[2] <= k then return end
  local label <const>, row <const> = place_of(y, k)
  core.raise("index", ("%s: label %d of row %d is outside 1 .. %d: labels are positions, counted from 1"):format(what, label, row,
    k))
end

--- labels as they are, i64 or i32; a list becomes a tensor of i64 on 'device'.
function M.of(labels, what, device)
  local is_list <const> = type(labels) == "table" and getmetatable(labels) == nil
  local y <const> = core.as_tensor(is_list and core.tensor(labels, {dtype = "i64", device = device}) or labels)
  if y == nil then core.raise("option", ("%s: labels must be a tensor or a list, got %s"):format(what, core.type(labels))) end
  if y.dtype ~= "i64" and y.dtype ~= "i32" then
    core.raise("dtype", ("%s: labels are whole numbers from 1, of i64 or i32, got %s: "
      .. "labels:to{dtype = 'i64'} rounds towards 0"):format(what, y.dtype))
  end
  if device and y.device ~= device then
    core.raise("device", ("%s: the values lie on %s, the labels on %s: labels:to '%s' moves them"):format(what, device, y.device,
      device))
  end
  return y
end

--- The same labels; where they are computed, each is looked up, so that one outside 1 .. k is an error then.
function M.checked(y, k, what)
  if core.known(y) then
    check_known(y, k, what)
    return y
  end
  local positions <const> = core.range(1, k, 1, {dtype = "i64", device = y.device}):index(1, y:reshape(-1))
  return core.name(positions, "the labels of " .. what):reshape(y.shape)
end

-- Whole numbers up to these are exact.
local exact_up_to <const> = {f64 = 1 << 53, f32 = 1 << 24}

--- Where y, of any shape and with labels from 1 to k, is j: a mask with j along dimension d, which is 1 in y (or new behind the
-- others). Beside numbers of 'dtype' labels are compared as such numbers: the mask is then part of their loop, and never stored.
function M.mask(y, k, d, dtype)
  local own <const> = k <= (exact_up_to[dtype] or 0) and dtype or "i64"
  local shape <const> = {}
  for i = 1, y.ndim do shape[i] = 1 end
  shape[d] = k
  return y:to{dtype = own}:eq(core.range(1, k, 1, {dtype = own, device = y.device}):reshape(shape))
end

return M

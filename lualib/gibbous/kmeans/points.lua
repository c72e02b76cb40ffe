--- What k-means is given: points as a list of tensors, weights, and what a fit of them takes.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"

local M <const> = {}

local function fail(code, what, text, ...) core.raise(code, ("%s: %s"):format(what, text:format(...))) end
M.fail = fail

--- X, a tensor (n, d) or a list of such tensors, as a list.
function M.list(X, what)
  if core.tracing() then fail("option", what, "k-means needs numbers: it cannot be traced by gb.vmap or a kernel") end
  local one <const> = X ~= nil and core.as_tensor(X) or nil
  local list <const> = one and {one} or X
  if type(list) ~= "table" or getmetatable(list) ~= nil or #list == 0 then
    fail("option", what, "the points must be a tensor (n, d) or a list of such tensors, got %s", core.type(X))
  end
  local out <const> = {}
  for i, t in ipairs(list) do
    local x <const> = core.as_tensor(t)
    local where <const> = one and "the points" or ("element %d of the list"):format(i)
    if x == nil then fail("option", what, "%s must be a tensor (n, d), got %s", where, core.type(t)) end
    if x.ndim ~= 2 then fail("shape", what, "%s must be a tensor (n, d), got shape %s", where, core.told(x)) end
    out[i] = x
  end
  for key in pairs(list) do
    if not out[key] then fail("option", what, "the list of points has %s, and nothing in place %d", tostring(key), #out + 1) end
  end
  return out
end

--- Rows of the list, and its columns.
function M.extent(list)
  local n = 0
  for _, x in ipairs(list) do n = n + #x end
  return n, list[1].shape[2]
end

--- The columns are those of the centroids.
function M.check_width(list, d, what)
  for _, x in ipairs(list) do
    if x.shape[2] ~= d then
      fail("shape", what, "points of %s, the centroids have %d: x %s", counted(x.shape[2], "column"), d, core.told(x))
    end
  end
end

--- Weights, a tensor or a list of numbers, one a row; with its values.
function M.weights(v, list, what)
  if not v then return nil end
  local w <const> = core.as_tensor(v) or type(v) == "table" and core.tensor(v) or nil
  if w == nil then fail("option", what, "option 'weights' must be a tensor or a list of numbers, got %s", core.type(v)) end
  local n <const> = M.extent(list)
  if w.ndim ~= 1 or #w ~= n then
    fail("shape", what, "option 'weights' must have one number a row, %d, got shape %s", n, core.told(w))
  end
  return core.known(w) and w or w:eval()
end

return M

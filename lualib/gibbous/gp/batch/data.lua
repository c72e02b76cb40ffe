--- The data of a batch as scripts give them: tensors with the models as their first axis, or lists with an entry a model.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local frames <const> = require "gibbous.gp.frames"

local M <const> = {}

local function is_list(v) return type(v) == "table" and getmetatable(v) == nil and core.type(v) ~= "tensor" end

local function raise(code, what, text, ...) core.raise(code, ("%s: " .. text):format(what, ...)) end

--- Inputs: {count = B or nil: one for all, at(i)}.
local function inputs_of(x, what)
  if is_list(x) then return {count = #x, at = function(i) return x[i] end} end
  if frames.is(x) then return {at = function() return x end} end
  local t <const> = core.as_tensor(x)
  if t == nil then raise("option", what, "x must be a tensor (B, n, d), one (n, d) for all, or a list, got %s", core.type(x)) end
  if t.ndim > 3 then raise("shape", what, "x must be (B, n, d), or (n, d) for all models, got shape %s", core.told(t)) end
  if t.ndim < 3 then return {at = function() return t end} end
  return {count = #t, at = function(i) return t:select(1, i) end}
end

--- Targets: {count, at(i)}.
local function targets_of(y, what)
  if is_list(y) then return {count = #y, at = function(i) return y[i] end} end
  local t <const> = core.as_tensor(y)
  if t == nil or t.ndim ~= 2 then
    raise(t and "shape" or "option", what, "y must be a tensor (B, n) or a list of tensors (n), got %s",
      t and "shape " .. core.told(t) or core.type(y))
  end
  return {count = #t, at = function(i) return t:select(1, i) end}
end

--- Data of a fit: their number of models, and at(i), which gives x and y of model i as gb.gp.exact takes them. x: a list of frames
-- and y the name of a column, too. Errors: option, shape.
function M.of(x, y, what)
  local named <const> = is_list(x) and frames.is(x[1])
  local xs <const>, ys <const> = inputs_of(x, what), not named and targets_of(y, what) or nil
  local count <const> = ys and ys.count or xs.count
  if count == 0 then raise("shape", what, "there are no models to fit: x and y have no entries") end
  if xs.count and xs.count ~= count then
    raise("shape", what, "x is of %s, y of %d", counted(xs.count, "model"), count)
  end
  return count, function(i) return xs.at(i), ys and ys.at(i) or y end
end

--- Points of a prediction by 'count' models: at(i), and whether all have as many rows.
function M.points(x, count, what)
  local xs <const> = inputs_of(x, what)
  if xs.count and xs.count ~= count then
    raise("shape", what, "x is of %s, the batch has %d", counted(xs.count, "model"), count)
  end
  return xs.at, not is_list(x)
end

--- Observations for each of 'count' models, beside points of a prediction.
function M.targets(y, count, what)
  local ys <const> = targets_of(y, what)
  if ys.count ~= count then raise("shape", what, "y is of %s, the batch has %d", counted(ys.count, "model"), count) end
  return ys.at
end

return M

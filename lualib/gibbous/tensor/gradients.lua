--- gb.grad for params as well as tensors.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

local M <const> = {}

local function raw_of(x) return core.type(x) == "param" and x.raw or x end

--- dy/dxs, lazy, with the keys of xs; y has one element unless a cotangent is given.
-- xs is a tensor, a param, or a table of them. raw: by the unconstrained values of params instead of their values.
-- unused = "zero" gives zeros for what y does not depend on, where the default is an error.
function M.grad(y, xs, opts)
  local o <const> = options.parse(opts, {raw = "boolean", cotangent = "any", unused = {"error", "zero"}}, "gb.grad")
  if type(y) == "number" or core.as_tensor(y) == nil then
    core.raise("option", ("gb.grad: the first argument must be the tensor to differentiate, got %s"):format(core.type(y)))
  end
  if core.type(xs) ~= "param" and core.as_tensor(xs) == nil and type(xs) ~= "table" then
    core.raise("option", ("gb.grad: the second argument must be a tensor, a gb.param or a table of them, got %s"):format(
      options.shown(xs)))
  end
  local by = xs
  if o.raw and (core.type(xs) == "param" or core.as_tensor(xs) ~= nil) then
    by = raw_of(xs)
  elseif o.raw and type(xs) == "table" then
    by = {}
    for key, x in pairs(xs) do by[key] = raw_of(x) end
  end
  return (core.grad(y, by, {cotangent = o.cotangent, unused = o.unused or nil}))
end

return M

--- Functions of tensors in Lua as ops of the graph: lazy, planned, differentiable, mapped.
--
--   local cube <const> = gb.func{name = "cube", shape = "same", bytes = "1 MiB",
--     forward = function(x) return x ^ 3 end,
--     backward = function(dy, x) return 3 * x ^ 2 * dy end}
--   local y <const> = cube(x)
--
-- forward runs while a plan does, on the thread that asked. Its arguments have values and are lent: after the call they are
-- closed. What it evaluates, its result apart, takes no more than 'bytes', or is refused; small operations take tens of KiB.
-- Equal calls are one node, evaluated once: forward must give the same for the same arguments.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

---@class gibbous.func
---@field name string
---@operator call(...): gibbous.tensor
local Func <const> = {__name = "gibbous.func"}

local spec <const> = {
  name = "string", shape = "string|function", forward = "function", backward = "function", bytes = "number|string|function",
  axes = "table", batched = "boolean",
}

local function box(self) return rawget(self, "_box") end

function Func.__index(self, key)
  if key == "name" then return box(self).name end
  core.raise("index", ("a function has no field '%s'"):format(tostring(key)))
end

function Func.__newindex(_, key) core.raise("option", ("a function never changes: '%s'"):format(tostring(key))) end
function Func.__children() return {} end

function Func.__tostring(self)
  local f <const> = box(self)
  return ("func %s: shape %s%s%s%s"):format(f.name, type(f.shape) == "string" and f.shape or "by function",
    f.declares and "" or ", no bytes", f.backward and ", backward" or "", f.batched and ", batched" or "")
end

--- Arguments as tensors; numbers take the type of the first tensor.
local function checked_arguments(name, ...)
  local list <const>, first = {}, nil
  for i = 1, select("#", ...) do
    local v <const> = select(i, ...)
    list[i] = type(v) == "number" and v or core.as_tensor(v)
    if list[i] == nil then
      core.raise("option", ("%s: argument %d must be a tensor, got %s"):format(name, i, core.type(v)))
    end
    if not first and type(v) ~= "number" then first = list[i] end
  end
  if not first then core.raise("option", ("%s: a tensor expected among the arguments"):format(name)) end
  for i, v in ipairs(list) do
    if type(v) == "number" then list[i] = core.full({}, v, {dtype = first.dtype}) end
  end
  return list
end

local function shapes_of(list)
  local out <const> = {}
  for i, t in ipairs(list) do out[i] = t.shape end
  return out
end

--- Shape and dtype of the result.
local function inferred(f, list, shapes)
  if f.shape == "same" then return list[1].shape, list[1].dtype end
  local shape <const>, dtype <const> = f.shape(table.unpack(shapes))
  if type(shape) ~= "table" then
    core.raise("option", ("%s: shape must give a list of extents, got %s"):format(f.name, core.type(shape)))
  end
  for i, n in ipairs(shape) do
    if not options.integral(n) or n < 0 then
      core.raise("shape", ("%s: shape gave extent %s at position %d"):format(f.name, tostring(n), i))
    end
  end
  return shape, dtype or list[1].dtype
end

--- Bytes that forward may hold for arguments of these shapes.
local function declared(name, bytes, shapes)
  if bytes == nil then return 0 end
  local v = bytes
  if type(bytes) == "function" then v = bytes(table.unpack(shapes)) end
  return core.bytes(v, name .. ": bytes")
end

function Func.__call(self, ...)
  local f <const> = box(self)
  local list <const> = checked_arguments(f.name, ...)
  local shapes <const> = shapes_of(list)
  local shape <const>, dtype <const> = inferred(f, list, shapes)
  return core.name(core.call(f.op, list, shape, dtype, declared(f.name, f.bytes, shapes)), f.name)
end

--- Bit a - 1 set: slices along dimension a may be computed on their own.
local function mapped_axes(axes, name)
  local mask = 0
  for a, kind in ipairs(axes or {}) do
    if kind ~= "map" and kind ~= "coupled" or a > 8 then
      core.raise("option", ("gb.func: %s: axes must be a list of 'map' and 'coupled', got %s at position %d"):format(name,
        tostring(kind), a))
    end
    if kind == "map" then mask = mask | 1 << (a - 1) end
  end
  return mask
end

local function checked_options(opts)
  local o <const> = options.parse(opts, spec, "gb.func")
  local name <const> = o.name or "func"
  for _, key in ipairs{"shape", "forward"} do
    if not o[key] then core.raise("option", ("gb.func: %s needs '%s'"):format(name, key)) end
  end
  if type(o.shape) == "string" and o.shape ~= "same" then
    core.raise("option", ("gb.func: %s: shape must be a function or 'same', got '%s'"):format(name, o.shape))
  end
  o.name = name
  return o
end

--- A function of tensors as an op: f(x, ...) is lazy.
--  name      for messages and plans
--  shape     "same" (as the first argument), or function of the arguments' shapes that gives extents and, optionally, a dtype
--  forward   function of the arguments, with values, that gives the result from ordinary operations
--  backward  function(dy, x, ...) on lazy tensors that gives the gradient by each argument, or nil for none; called by gb.grad
--  bytes     what forward holds at once beyond arguments and result: bytes, "1 MiB", or a function of the arguments' shapes.
--            Without it no plan takes the function
--  axes      per dimension "map", where slices may be computed on their own, or "coupled"; coupled where it is left out.
--            A plan that is short of memory then calls the function with windows of all its arguments, which must all have
--            the dimension; windows begin at multiples of 256, where products have the bits of the whole
--  batched   true: under gb.vmap forward gets all arguments with the mapped dimension in front; else one slice at a time
---@param opts table  name, shape, forward; backward, bytes, axes, batched
---@return gibbous.func
return function(opts)
  local o <const> = checked_options(opts)
  local name <const>, bytes <const> = o.name, o.bytes or nil
  if bytes ~= nil and type(bytes) ~= "function" then core.bytes(bytes, "gb.func: bytes") end
  local callbacks <const> = {run = o.forward, grad = o.backward or nil}
  if bytes ~= nil then
    callbacks.bytes = function(...) return declared(name, bytes, {...}) end
  end
  local op <const> = core.func(name, callbacks, o.batched or false, mapped_axes(o.axes or nil, name))
  return setmetatable({_box = {name = name, shape = o.shape, bytes = bytes, declares = bytes ~= nil, op = op,
    backward = o.backward ~= nil and o.backward ~= false, batched = o.batched or false}}, Func)
end

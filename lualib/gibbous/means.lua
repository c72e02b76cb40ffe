--- Mean functions: values, called as m(x) with x (n, d), giving (n), lazy.
local columns <const> = require "gibbous.kernels.columns"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

local Mean <const> = {__name = "gibbous.mean"}
local methods <const> = object.methods(Mean, "a mean", "m")

local M <const> = {}

-- Settings that not every mean has: a function or network it is made of; means that it is made of; what it does when data arrive; a
-- column it does not see.
local settings <const> = {root = true, parts = true, pending = true, task_column = true}

--- The state of a mean: kind, form, hyper, and settings. A sum and a multiple have 'parts'.
function M.fields(m) return rawget(m, "_fields") end

local fields <const> = M.fields

local function new(f) return setmetatable({_fields = f}, Mean) end

local function name_of(self) return ("the %s mean"):format(fields(self).kind) end

function Mean.__index(self, key)
  local f <const> = fields(self)
  if methods[key] then return methods[key] end
  if f.hyper[key] ~= nil then return f.hyper[key] end
  if math.type(key) == "integer" and f.parts then return f.parts[key] end
  if f[key] ~= nil or settings[key] then return f[key] end
  object.no_field(name_of(self), key, f.hyper, methods)
end

--- m.value = 3 gives the parameter that value; nothing else of a mean changes.
function Mean.__newindex(self, key, v)
  local f <const> = fields(self)
  if f.hyper[key] then
    param.set(f.hyper[key], v)
  elseif f[key] ~= nil or settings[key] then
    core.raise("option", ("%s: '%s' is chosen when a mean is made"):format(name_of(self), tostring(key)))
  else
    object.no_field(name_of(self), key, f.hyper)
  end
end

function Mean.__call(self, x) return fields(self).form(self, x.ndim == 1 and x:unsqueeze(2) or x) end

function Mean.__children(self)
  local out <const>, names <const> = {}, {}
  local root <const> = self.root
  if root then return type(root) == "table" and {{"net", root}} or {} end
  for name in pairs(self.hyper) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do out[#out + 1] = {name, self.hyper[name]} end
  for i, part in ipairs(self.parts or {}) do out[#out + 1] = {i, part} end
  return out
end

--- A sum "a + b", a multiple "c * a", whose sum keeps its brackets.
local function composite_text(self)
  local cells <const> = {}
  for i, part in ipairs(self.parts) do cells[i] = tostring(part) end
  if self.kind == "sum" then return table.concat(cells, " + ") end
  return ("%s * %s"):format(self.hyper.factor, self.parts[1].kind == "sum" and "(" .. cells[1] .. ")" or cells[1])
end

function Mean.__tostring(self)
  if self.parts then return composite_text(self) end
  local cells <const> = {}
  for _, pair in ipairs(Mean.__children(self)) do cells[#cells + 1] = pair[1] .. "=" .. tostring(pair[2]) end
  return ("%s{%s}"):format(fields(self).kind, table.concat(cells, ", "))
end

--- A mean of the same settings and boxes.
local function clone(self)
  local out <const> = {}
  for key, v in pairs(fields(self)) do out[key] = v end
  out.hyper = {}
  for name, p in pairs(self.hyper) do out.hyper[name] = p end
  out.parts = self.parts and table.move(self.parts, 1, #self.parts, 1, {})
  return new(out)
end

--- An independent copy: implicit parameters are copied, explicit gb.params and networks are shared. copies: param.copies().
function methods.copy(self, copies)
  copies = copies or param.copies()
  local out <const> = clone(self)
  for name, p in pairs(self.hyper) do out.hyper[name] = copies(p) end
  for i, part in ipairs(self.parts or {}) do out.parts[i] = part:copy(copies) end
  return out
end

function M.is(v) return type(v) == "table" and getmetatable(v) == Mean end

--- A parameter without bounds; v nil: 0, open to what a fit chooses.
local function unbounded(v, name)
  if type(v) == "table" and core.as_tensor(v) == nil and v[name] ~= nil then
    core.raise("option", ("the %s is given as it is, a number or a gb.param, not as an option: %s = %s"):format(name, name,
      options.shown(v[name])))
  end
  if type(v) == "table" and getmetatable(v) == nil and next(v) == nil then
    core.raise("option", ("the %s is given as it is, a number or a gb.param, got an empty table; without one it is 0"):format(name))
  end
  if param.is(v) then return param.hyper(v, name) end
  return param.set_open(param.hyper(v or 0, name, {name = name}), v == nil)
end

--- m(x) = 0
function M.zero()
  return new{kind = "zero", hyper = {}, form = function(_, x) return core.zeros(1, {dtype = x.dtype}):expand(#x) end}
end

--- m(x) = value, in units of y; a number is free to be fitted.
function M.constant(value)
  return new{kind = "constant", hyper = {value = unbounded(value, "value")}, form = function(self, x)
    return columns.adopt(self.hyper.value, x):expand(#x)
  end}
end

local function linear_form(self, x)
  local slope <const> = columns.adopt(self.hyper.slope, x)
  if slope.ndim == 1 and #slope ~= x.shape[2] then
    core.raise("shape", ("linear mean: %s for inputs with %s"):format(counted(#slope, "slope"), counted(x.shape[2], "column")))
  end
  return (x * slope):sum(2) + columns.adopt(self.hyper.offset, x)
end

--- m(x) = offset + x . slope; slope is a list, or a number to start every column from: a model gives each its own slope
-- when data arrive. A gb.param of one number stays one slope for all columns.
function M.linear(opts)
  local o <const> = options.parse(opts, {slope = "any", offset = "any"}, "gb.means.linear")
  local hyper <const> = {slope = unbounded(o.slope, "slope"), offset = unbounded(o.offset, "offset")}
  return new{kind = "linear", hyper = hyper, pending = type(o.slope or 0) == "number" or nil, form = linear_form}
end

--- m as a mean of inputs with one more column, the task; form(m, x) takes these. It keeps m's parameters.
function M.with_task(m, form)
  local out <const> = clone(m)
  local f <const> = fields(out)
  f.form, f.task_column = form, true
  return out
end

--- Gives a linear mean built from one number a slope for each of 'd' columns, the task's left out. Models call it when data
-- arrive.
function M.resolve(m, d)
  for _, part in ipairs(m.parts or {}) do M.resolve(part, d) end
  if not m.pending or m.kind ~= "linear" then return end
  if m.task_column then d = d - 1 end
  fields(m).pending = nil
  local slope <const> = m.hyper.slope
  if d == 1 or slope.ndim > 0 then return end
  local list <const> = {}
  for i = 1, d do list[i] = slope.value:item() end
  m.hyper.slope = param.like(slope, list)
end

--- The result of f for x, as (n).
local function one_a_row(v, x, what)
  if core.type(v) == "tensor" and v.ndim == 2 and v.shape[2] == 1 then v = v:squeeze(2) end
  if core.type(v) ~= "tensor" or v.ndim ~= 1 or #v ~= #x then
    core.raise("shape", ("%s: expected one value a row, shape %d, got %s"):format(what, #x,
      core.type(v) == "tensor" and "shape " .. core.told(v) or type(v)))
  end
  return v
end

--- A mean from a mean, from a function of x (n, d) giving (n) or (n, 1), or from a network, which stays shared; else nil.
function M.of(v)
  if M.is(v) then return v end
  local meta <const> = type(v) == "table" and getmetatable(v)
  if type(v) ~= "function" and not (type(meta) == "table" and meta.__call and meta.__children) then return nil end
  if require "gibbous.kernels".is(v) then return nil end
  return new{kind = "function", hyper = {}, root = v, form = function(_, x)
    return one_a_row(v(x), x, "the mean function")
  end}
end

-- Sums and multiples ------------------------------------------------------------------------------------------------------

local function sum_form(self, x)
  local v
  for _, part in ipairs(self.parts) do v = v and v + part(x) or part(x) end
  return v
end

local function multiple_form(self, x) return columns.adopt(self.hyper.factor, x) * self.parts[1](x) end

--- The sum of a list of means, or the multiple of one by hyper.factor.
function M.composite(kind, parts, hyper)
  return new{kind = kind, hyper = hyper or {}, parts = parts, form = kind == "sum" and sum_form or multiple_form}
end

--- The means of both sides of an operator, a number or gb.param that of a constant.
local function operands(a, b, event)
  local out <const> = {}
  for i, v in ipairs{a, b} do
    out[i] = (type(v) == "number" or param.is(v)) and M.constant(v) or M.of(v)
    if not out[i] then
      core.raise("option", ("mean %s: both sides must be means, functions, numbers or gb.params, got %s and %s"):format(event,
        core.type(a), core.type(b)))
    end
  end
  return out[1], out[2]
end

local function terms(m) return m.kind == "sum" and m.parts or {m} end

--- The sum of two means; a number is a constant, free to be fitted, a function of x (n, d) a mean.
function Mean.__add(a, b)
  local left <const>, right <const> = operands(a, b, "+")
  local parts <const> = table.move(terms(left), 1, #terms(left), 1, {})
  return M.composite("sum", table.move(terms(right), 1, #terms(right), #parts + 1, parts))
end

--- c times a mean: a number c stays what it is in fits, a gb.param is fitted.
function Mean.__mul(a, b)
  local c <const>, m <const> = M.is(a) and b or a, M.is(a) and a or b
  local is_number <const> = type(c) == "number" and c == c and math.abs(c) < math.huge
  if not (is_number or param.is(c) and c.ndim == 0) then
    core.raise("option", ("mean *: a mean is multiplied by a finite number or a gb.param of one number, got %s; gb.means.define "
      .. "makes other products"):format(M.is(c) and "a mean" or options.got(c)))
  end
  local factor <const> = param.hyper(c, "factor", {name = "factor"})
  if is_number then factor.fixed = true end
  return M.composite("multiple", {m}, {factor = factor})
end

function Mean.__unm(m) return -1 * m end

function Mean.__sub(a, b)
  if type(b) == "number" then return a + -b end
  local _, right <const> = operands(a, b, "-")
  return a + -1 * right
end

function Mean.__div(m, c)
  if type(c) == "number" and c ~= 0 then return (1 / c) * m end
  core.raise("option", ("mean /: a mean is divided by a number that is not 0, got %s"):format(options.got(c)))
end

--- A constructor for means of one's own: f(x, p) gives (n).
function M.define(name, params, f)
  if type(name) ~= "string" then core.raise("option", "gb.means.define: the name must be a string") end
  if type(params) ~= "table" then core.raise("option", "gb.means.define: the parameters must be a table") end
  if type(f) ~= "function" then core.raise("option", "gb.means.define: the third argument must be a function") end
  local spec <const> = {}
  for key in pairs(params) do
    if methods[key] or settings[key] or key == "kind" or key == "form" or key == "hyper" then
      core.raise("option", ("gb.means.define: '%s' cannot be the name of a parameter"):format(key))
    end
    spec[key] = "any"
  end
  return function(opts)
    local o <const> = options.parse(opts, spec, name)
    local hyper <const> = {}
    for key, default in pairs(params) do hyper[key] = unbounded(o[key] or default, key) end
    return new{kind = name, hyper = hyper, form = function(self, x)
      local p <const> = {}
      for key in pairs(params) do p[key] = columns.adopt(self.hyper[key], x) end
      return one_a_row(f(x, p), x, ("mean '%s'"):format(name))
    end}
  end
end

return require "gibbous.base.names"(M, "gb.means")

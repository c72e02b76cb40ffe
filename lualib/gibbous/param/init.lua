--- Parameters: named boxes whose value an optimiser replaces.
--
-- A box holds an unconstrained number or tensor ('raw'); its value is a smooth function of it that respects the bounds:
--   none          value = raw
--   min           value = min + exp(raw)
--   max           value = max - exp(raw)
--   min and max   value = min + (max - min) sigmoid(raw)
-- Using a parameter in an expression uses the version it has then; existing handles never change value.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"
local raised <const> = require "gibbous.base.raised"
local transform_of <const> = require "gibbous.param.transforms"

---@class gibbous.param
---@field value gibbous.tensor   constrained value; assigning a number, list or tensor evaluates it
---@field raw gibbous.tensor     unconstrained value; assigning evaluates it
---@field fixed boolean          true: optimisers leave it alone
---@field prior table|nil        see gb.priors
---@field min number|nil          the bounds; assigning keeps the value, which must be inside
---@field max number|nil
---@field name string
---@field version integer        counts assignments
local Param <const> = {}

--- Where a box's values may lie: within its bounds and, where its prior has no density outside an interval, within that, unless the
-- box has a transform of its own.
local function interval_of(box)
  local min, max = box.min, box.max
  local support <const> = type(box.way) ~= "table" and box.prior and box.prior.support
  if not support then return min, max, false end
  return math.max(min or -math.huge, support.min), math.min(max or math.huge, support.max), true
end

--- Chooses the transform of a box for its bounds and its prior.
local function set_transform(box)
  local min <const>, max <const>, confined <const> = interval_of(box)
  box.transform = transform_of{min = min, max = max, transform = not confined and box.way or nil}
end

-- Where a value starts that a raised bound pushes, in multiples of the bound.
local INSIDE <const> = 1.1

-- The check of the option and of the field 'prior'.
local PRIOR <const> = "a gb.priors value (gb.priors.define makes one's own)"

local function is_prior(v)
  if core.type(v) == "prior" then return true end
  return false, PRIOR
end

local spec <const> = {
  min = "number", max = "number", fixed = "boolean", prior = is_prior, name = "string",
  transform = function(v)
    return v == "identity" or v == "exp" or (type(v) == "table" and v.forward ~= nil and v.inverse ~= nil),
      '"identity", "exp" or {forward = f, inverse = g}'
  end,
}

--- Parameters lie on the session's device: kernels take them to that of their inputs.
local function home() return core.config().device end

local function data(self) return rawget(self, "_box") end

--- A value as a plain tensor of one dtype that depends on nothing.
local function plain(v, dtype, what)
  local t = v
  if type(v) == "number" or (type(v) == "table" and getmetatable(v) == nil) then t = core.tensor(v, {dtype = dtype}) end
  t = core.as_tensor(t)
  if t == nil then
    core.raise("option", ("%s must be a number, a list or a tensor, got %s"):format(what, type(v)))
  end
  if t.dtype ~= dtype or t.device ~= home() then t = t:to{dtype = dtype, device = home()} end
  return t:detach():eval()
end

--- Drops what was kept for the values that are being replaced.
local function drop_kept(box)
  for fields in pairs(box.kept or {}) do fields.state = nil end
  box.kept = nil
end

--- A box keeps its shape; one number stands for all elements.
local function shaped(box, t)
  if box.raw == nil then return t end
  local shape <const> = box.raw.shape
  if tostring(t.shape) == tostring(shape) then return t end
  if t.ndim == 0 then return t:expand(shape):eval() end
  core.raise("shape", ("parameter '%s' has shape %s, got a value of shape %s"):format(box.name, tostring(shape),
    core.told(t)))
end

local function assign_raw(self, raw)
  local box <const> = data(self)
  drop_kept(box)
  box.raw = core.leaf(raw, "param", box.name, box.raw)
  box.value = box.transform.forward(box.raw)
  box.version = box.version + 1
  box.open = nil
end

local function check_bounds(box, t)
  if t.numel == 0 then core.raise("shape", ("parameter '%s' needs a value, got none"):format(box.name)) end
  local lo <const>, hi <const> = t:min():item(), t:max():item()
  if not (lo > -math.huge and hi < math.huge) then
    local what <const> = lo == lo and hi == hi and "an infinite value" or "NaN"
    core.raise("nan", ("parameter '%s' cannot be set to %s"):format(box.name, what))
  end
  local min <const>, max <const>, confined <const> = interval_of(box)
  if (min and not (lo > min)) or (max and not (hi < max)) then
    core.raise("option", ("parameter '%s' = %s is not inside its bounds (%s, %s)%s"):format(box.name,
      t.ndim == 0 and tostring(t) or ("%g .. %g"):format(lo, hi), min or "-inf", max or "inf",
      confined and ", outside which its prior has no density" or ""))
  end
end

local function assign_value(self, v)
  local box <const> = data(self)
  local t <const> = shaped(box, plain(v, box.dtype, ("the value of parameter '%s'"):format(box.name)))
  check_bounds(box, t)
  assign_raw(self, box.transform.inverse(t):eval())
end

--- The same value under another prior, which may have an interval of its own.
local function set_prior(self, prior)
  local box <const> = data(self)
  local before <const>, value <const>, open <const> = box.prior, box.value, box.open
  local had <const> = select(3, interval_of(box))
  box.prior = prior
  if not (had or select(3, interval_of(box))) then return end
  local ok <const>, err <const> = pcall(check_bounds, box, value:detach())
  if not ok then
    box.prior = before
    core.raise(err.code, err.message)
  end
  set_transform(box)
  assign_raw(self, box.transform.inverse(value:detach()):eval())
  box.open = open
end

--- A bound as it may be assigned; nil: none.
local function bound_of(box, name, v)
  if v == nil or v == false or v == (name == "min" and -math.huge or math.huge) then return nil end
  if type(v) ~= "number" or not (math.abs(v) < math.huge) then
    core.raise("option", ("the bound %s of parameter '%s' must be a finite number, or nil for none, got %s"):format(name, box.name,
      options.got(v)))
  end
  return v
end

--- The bounds that a parameter is to have, checked but for its value.
local function checked_bounds(box, min, max)
  min, max = bound_of(box, "min", min) or box.least, bound_of(box, "max", max)
  if type(box.way) == "table" then
    core.raise("option", ("parameter '%s' has a transform of its own, which says where its values lie"):format(box.name))
  elseif box.least and min < box.least then
    core.raise("option", ("parameter '%s' is above %g by what it is: min = %g cannot be below"):format(box.name, box.least, min))
  elseif min and max and not (min < max) then
    core.raise("option", ("parameter '%s': min %g is not below max %g"):format(box.name, min, max))
  end
  return min, max
end

--- Other bounds for a parameter, with the value it has or, if there is one, another. It stays as it is where that is not inside.
local function set_bounds(self, min, max, value)
  local box <const> = data(self)
  min, max = checked_bounds(box, min, max)
  local open <const>, before <const> = value == nil and box.open, {box.min, box.max}
  local v <const> = value == nil and box.value:detach()
    or shaped(box, plain(value, box.dtype, ("the value of parameter '%s'"):format(box.name)))
  box.min, box.max = min, max
  local ok <const>, err <const> = pcall(check_bounds, box, v)
  if not ok then
    box.min, box.max = before[1], before[2]
    if raised.code(err) == nil then error(err, 0) end
    core.raise(err.code, err.message .. (value == nil and "; give it one inside first, or with m:bound(path, {value = v})" or ""))
  end
  set_transform(box)
  assign_raw(self, box.transform.inverse(v):eval())
  box.open, box.bounded = open, true
end

local facts <const> = {
  value = function(box) return box.value end,
  raw = function(box) return box.raw end,
  fixed = function(box) return box.fixed end,
  prior = function(box) return box.prior end,
  name = function(box) return box.name end,
  version = function(box) return box.version end,
  min = function(box) return (interval_of(box)) end,
  max = function(box) return (select(2, interval_of(box))) end,
}

function Param.__index(self, key)
  local box <const> = data(self)
  local fact <const> = facts[key]
  if fact then return fact(box) end
  local member <const> = box.value[key]          -- a tensor's fields and methods; unknown names raise there
  if type(member) ~= "function" then return member end
  return function(receiver, ...)
    return member(rawequal(receiver, self) and box.value or receiver, ...)
  end
end

function Param.__newindex(self, key, v)
  local box <const> = data(self)
  if key == "value" then
    assign_value(self, v)
  elseif key == "raw" then
    local t <const> = shaped(box, plain(v, box.dtype, ("the raw value of parameter '%s'"):format(box.name)))
    if not t:isfinite():all() then
      core.raise("nan", ("parameter '%s' cannot be set to a value that is not finite"):format(box.name))
    end
    assign_raw(self, t)
  elseif key == "fixed" then
    box.fixed = v and true or false
  elseif key == "prior" then
    if v and not is_prior(v) then
      core.raise("option", ("the prior of parameter '%s' must be %s, got %s"):format(box.name, PRIOR, core.type(v)))
    end
    set_prior(self, v or nil)
  elseif key == "min" then
    set_bounds(self, v, box.max)
  elseif key == "max" then
    set_bounds(self, box.min, v)
  else
    core.raise("option", ("a parameter has no field '%s' to assign (it has fixed, max, min, prior, raw, value)"):format(
      tostring(key)))
  end
end

function Param.__tensor(self) return data(self).value end
function Param.__tostring(self) return tostring(data(self).value) end
function Param.__len(self) return #data(self).value end
Param.__name = "gibbous.param"

local function value_of(v)
  if getmetatable(v) == Param then return data(v).value end
  return v
end

for event, f in pairs{
  __add = function(a, b) return a + b end, __sub = function(a, b) return a - b end,
  __mul = function(a, b) return a * b end, __div = function(a, b) return a / b end,
  __idiv = function(a, b) return a // b end, __mod = function(a, b) return a % b end,
  __pow = function(a, b) return a ^ b end, __unm = function(a) return -a end,
} do
  Param[event] = function(a, b)
    local other <const> = getmetatable(a) == Param and b or a
    local meta <const> = type(other) == "table" and getmetatable(other)
    if meta and meta ~= Param and meta[event] then return meta[event](a, b) end     -- a kernel says what p * k is
    return f(value_of(a), value_of(b))
  end
end

function Param.__concat(a, b)
  return tostring(a) .. tostring(b)
end

local M <const> = {}

--- A parameter of value v (a number, a list or a tensor), strictly inside its bounds. Kept in f64 unless 'dtype' says otherwise.
function M.new(v, opts, dtype)
  local o <const> = options.parse(opts, spec, "gb.param")
  local box <const> = {
    dtype = dtype or "f64",
    min = o.min or nil, max = o.max or nil, fixed = o.fixed or false, prior = o.prior or nil,
    name = o.name or "param", version = 0, explicit = true,
  }
  if box.min and box.max and not (box.min < box.max) then
    core.raise("option", ("gb.param: min %g is not below max %g"):format(box.min, box.max))
  end
  box.way = o.transform or "bounds"
  set_transform(box)
  local self <const> = setmetatable({_box = box}, Param)
  assign_value(self, v)
  return self
end

function M.is(v) return getmetatable(v) == Param end

--- An assignment to the field of an object that holds this parameter sets its value; the parameter object stays.
function M.set(p, v)
  if M.is(v) then
    core.raise("option", ("'%s' takes a value: pass a gb.param to the constructor instead"):format(data(p).name))
  end
  assign_value(p, v)
end

--- A hyper-parameter as constructors take it: a number or list becomes a positive box that a model may copy;
-- an explicit gb.param is shared. It has at most 'rank' axes (1).
function M.hyper(v, name, opts, rank)
  local p <const> = M.is(v) and v or M.new(v, opts or {min = 0, name = name})
  if p.ndim > (rank or 1) then
    core.raise("shape", ("parameter '%s' must be one number or a %s, got shape %s"):format(name,
      rank == 2 and "matrix" or "vector", tostring(p.shape)))
  end
  if p == v then
    local box <const> = data(v)
    if box.name == "param" then box.name = name end
    return v
  end
  local box <const> = data(p)
  box.name, box.explicit, box.least = name, false, box.min
  return p
end

--- Other bounds o = {min, max, value}: what is nil stays, a bound that is false is none. Errors: option where the value is not
-- inside.
function M.bound(p, o)
  local box <const> = data(p)
  local min <const>, max <const> = o.min == nil and box.min or o.min, o.max == nil and box.max or o.max
  set_bounds(p, min, max, o.value)
end

--- The unconstrained value by which a parameter would have the value v; the parameter stays as it is. Errors: as of assignments.
function M.raw_of(p, v)
  local box <const> = data(p)
  local t <const> = shaped(box, plain(v, box.dtype, ("the value of parameter '%s'"):format(box.name)))
  check_bounds(box, t)
  return box.transform.inverse(t):eval()
end

--- Were bounds assigned, in the place of those that it was made with?
function M.is_bounded(p) return data(p).bounded == true end

--- A parameter with the settings of p and another value, also of another shape, which counts as given.
function M.like(p, v)
  local box <const> = {}
  for key, one in pairs(data(p)) do box[key] = one end
  box.kept, box.fitter, box.raw, box.version = nil, nil, nil, 0
  local out <const> = setmetatable({_box = box}, Param)
  assign_value(out, v)
  return out
end

--- Has the value not been given yet, so that a fit begins at the scale of the data? Any assignment closes a box.
function M.is_open(p) return data(p).open == true end

--- Marks a box that random starts leave where it is. Gives the box.
function M.set_still(p)
  data(p).still = true
  return p
end

function M.is_still(p) return data(p).still == true end

--- Marks the value of a box as one that was not given, if 'open'; else it stays as it is. Gives the box.
function M.set_open(p, open)
  if open then data(p).open = true end
  return p
end

--- Whether a model shares this box instead of copying it.
function M.shared(p) return data(p).explicit end

--- An independent box of the same value, bounds and settings. Until one of the two is set, to gradients they are the same: what
-- is made of a copy, as of a model that was conditioned, has gradients by the original.
function M.copy(p)
  local box <const> = {}
  for k, v in pairs(data(p)) do box[k] = v end
  box.kept, box.fitter = nil, nil
  return setmetatable({_box = box}, Param)
end

--- Makes a box one that no gradient takes for another.
local function set_apart(box)
  box.raw = core.leaf(box.raw:detach():eval(), "param", box.name)
  box.value = box.transform.forward(box.raw)
end

--- From here on copied parameters below 'root' are no others to gradients: neither what they were copied from, nor copies.
function M.part(root)
  for _, p in ipairs((M.collect(root))) do
    local box <const> = data(p)
    if not box.explicit then set_apart(box) end
  end
end

--- No two boxes of a list are the same to gradients any more: those that were copied of another get versions of their own.
function M.apart(list)
  local seen <const> = {}
  for _, p in ipairs(list) do
    local box <const> = data(p)
    if seen[box.raw] then
      drop_kept(box)
      set_apart(box)
      box.version = box.version + 1
    end
    seen[box.raw] = true
  end
end

--- A function that copies boxes, each once, so that what is tied stays tied; those that are shared it gives back. all: it copies
-- these too, and nothing has to do with the originals any more, not gradients either.
function M.copies(all)
  local made <const> = {}
  return function(p)
    if not all and M.shared(p) then return p end
    if made[p] == nil then
      made[p] = M.copy(p)
      if all then set_apart(data(made[p])) end
    end
    return made[p]
  end
end

--- Notes that the model of these fields fits the box. Was it another model's the last time?
function M.claim(p, fields)
  local box <const> = data(p)
  fields.fitter = fields.fitter or {}
  local other <const> = box.fitter ~= nil and box.fitter ~= fields.fitter
  box.fitter = fields.fitter
  return other
end

--- 'fields.state' holds for the present values of these parameters: it becomes nil when one of them is set.
function M.keep(list, fields)
  for _, p in ipairs(list) do
    local box <const> = data(p)
    box.kept = box.kept or setmetatable({}, {__mode = "k"})
    box.kept[fields] = true
  end
end

local function swap(boxes, values)
  for i, box in ipairs(boxes) do
    local v <const> = values[i]
    box.raw, v.raw = v.raw, box.raw
    box.value, v.value = v.value, box.value
    box.version, v.version = v.version, box.version
  end
end

--- Remembers the parameters below 'root': gives a function at(f, ...) that calls f with all of them as they are now.
function M.remember(root)
  local boxes <const>, values <const> = {}, {}
  for i, p in ipairs(M.collect(root)) do
    local box <const> = data(p)
    boxes[i], values[i] = box, {raw = box.raw, value = box.value, version = box.version}
  end
  local function unchanged()
    for i, box in ipairs(boxes) do
      if box.version ~= values[i].version then return false end
    end
    return true
  end
  return function(f, ...)
    if unchanged() then return f(...) end
    swap(boxes, values)
    local results <const> = table.pack(pcall(f, ...))
    swap(boxes, values)
    if not results[1] then error(results[2], 0) end
    return table.unpack(results, 2, results.n)
  end
end

--- Gives a box of a copy that is only planned an unconstrained value that is yet to come, and where 'min' is a tensor, a lower
-- bound likewise.
function M.defer(p, raw, min)
  local box <const> = data(p)
  local _, hi <const>, confined <const> = interval_of(box)
  local way <const> = min and transform_of{min = min, max = hi, transform = not confined and box.way or nil} or box.transform
  box.raw, box.value = raw, way.forward(raw)
end

--- Gives an implicit box another lower bound. A value that is not clearly above it moves inside, to where its gradient by
-- the unconstrained value does not vanish.
function M.raise_bound(p, min)
  local box <const> = data(p)
  if box.max then core.raise("option", ("parameter '%s' has an upper bound"):format(box.name)) end
  local value <const>, open <const> = box.value:detach():eval(), box.open
  box.min = min
  set_transform(box)
  local max <const> = select(2, interval_of(box))
  local least <const> = min > 0 and INSIDE * min or 1e-300
  if max and not (least < max) then
    core.raise("option", ("fit: the noise floor %.3g leaves the prior of parameter '%s', %s, no room"):format(min, box.name,
      tostring(box.prior)))
  end
  assign_raw(p, box.transform.inverse(core.maximum(value, least)):eval())
  box.open = open
end

--- The sum of the log prior densities of the free parameters of a list, lazy; nil where none has a prior.
function M.log_prior(list)
  local sum
  for _, p in ipairs(list) do
    if p.prior and not p.fixed then
      local term <const> = p.prior:log_density(p.value)
      sum = sum and sum + term or term
    end
  end
  return sum
end

--- Walks tables of params, kernels, means, models; keyed tables in sorted order. Returns params and their paths.
function M.collect(root, path)
  local list <const>, names <const>, seen <const> = {}, {}, {}
  local function join(base, key)
    if type(key) == "number" then return ("%s[%d]"):format(base, key) end
    return base == "" and key or base .. "." .. key
  end
  local function visit(v, at)
    if type(v) ~= "table" or seen[v] then return end
    seen[v] = true
    if M.is(v) then
      list[#list + 1], names[#names + 1] = v, at == "" and data(v).name or at
      return
    end
    local meta <const> = getmetatable(v)
    local children <const> = meta and meta.__children and meta.__children(v)
    if children then                                  -- ordered {key, child} pairs
      for _, pair in ipairs(children) do visit(pair[2], join(at, pair[1])) end
      return
    end
    local keys <const> = {}
    for k in pairs(v) do
      if type(k) == "string" or type(k) == "number" then keys[#keys + 1] = k end
    end
    table.sort(keys, function(a, b)
      if type(a) ~= type(b) then return type(a) == "number" end
      return a < b
    end)
    for _, k in ipairs(keys) do visit(v[k], join(at, k)) end
  end
  visit(root, path or "")
  return list, names
end

-- The transform of a box in a file that is confined to where its prior has density.
local CONFINED <const> = "support"

--- A box as plain settings and its raw tensor, for files. transform: "bounds", "identity", "exp", "support", or a table of
-- functions.
function M.describe(p)
  local box <const> = data(p)
  local confined <const> = select(3, interval_of(box))
  return {name = box.name, min = box.min, max = box.max, fixed = box.fixed, prior = box.prior, explicit = box.explicit,
    open = box.open, least = box.least, bounded = box.bounded, version = box.version, transform = confined and CONFINED or box.way,
    raw = box.raw:detach():eval()}
end

--- The box of a description: the raw bits are taken as they are. nil and why where the description makes no sense.
function M.restore(d)
  local function bad(key, want) return nil, ("parameter '%s': %s must be %s"):format(tostring(d.name), key, want) end
  if type(d.name) ~= "string" then return bad("name", "a string") end
  for _, key in ipairs{"min", "max", "least"} do
    if d[key] ~= nil and type(d[key]) ~= "number" then return bad(key, "a number") end
  end
  if d.min and d.max and not (d.min < d.max) then return bad("min", "below max") end
  if type(d.fixed) ~= "boolean" or type(d.explicit) ~= "boolean" then return bad("fixed", "true or false") end
  if math.type(d.version) ~= "integer" then return bad("version", "a whole number") end
  local confined <const> = d.transform == CONFINED
  if not (spec.transform(d.transform) or d.transform == "bounds" or confined) then return bad("transform", "known") end
  if confined and not (d.prior and d.prior.support) then return bad("prior", "one of an interval") end
  if d.raw.dtype ~= "f64" and d.raw.dtype ~= "f32" or not d.raw:isfinite():all() then return bad("raw", "finite, f64 or f32") end
  local box <const> = {name = d.name, min = d.min, max = d.max, fixed = d.fixed, prior = d.prior, explicit = d.explicit,
    version = d.version - 1, dtype = d.raw.dtype, way = confined and "bounds" or d.transform}
  local self <const> = setmetatable({_box = box}, Param)
  local prior <const> = box.prior
  if not confined then box.prior = nil end              -- a file of a version whose priors left boxes their transforms
  set_transform(box)
  assign_raw(self, d.raw)
  if not confined and prior then
    local ok <const>, err <const> = pcall(set_prior, self, prior)
    if not ok then return nil, err.message end
    box.version = d.version
  end
  box.open, box.least, box.bounded = d.open == true or nil, d.least, d.bounded == true or nil
  return self
end

return M

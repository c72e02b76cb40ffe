--- Objects of the library as plain data and tensors, and back. Nothing in a file is code: an object is rebuilt by the
-- constructor of its kind, whose checks it passes again, and what only a script can say is asked for by name.
--
-- Plain data are what JSON holds. Other values are tables with the key "%":
--   {"%": "number", "is": "inf"}                  a number without JSON
--   {"%": "tensor", "at": name}                   a tensor of the file
--   {"%": "object", "at": i}                      entry i of the list of objects: {class = ..., fields}; shared ones are one entry
--   {"%": "given", "name": ..., "params": ...}    a function or network of a script; its parameters' values are kept
--   {"%": "record", "fields": ..., "class": ..., "text": ...}   a report: its fields, what it is, and how it prints
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"
local object <const> = require "gibbous.base.object"
local options <const> = require "gibbous.base.options"
local param <const> = require "gibbous.param"

local M <const> = {}

local DEEPEST <const> = 150                -- of objects within objects
local classes <const> = {}                 -- by the name of the metatable: {write(w, v, path) -> fields, read(r, fields, path)}

--- Makes values with this metatable name storable.
function M.class(name, adapter) classes[name] = adapter end

local function class_name(v)
  local meta <const> = type(v) == "table" and getmetatable(v)
  return type(meta) == "table" and meta.__name or nil
end

local function join(path, key)
  if type(key) == "number" then return ("%s[%d]"):format(path, key) end
  return path == "" and key or path .. "." .. key
end

--- Key and value in the order of the keys, so that equal objects give equal files.
function M.sorted(t)
  local keys <const> = {}
  for key in next, t do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    if math.type(a) == "integer" and math.type(b) == "integer" then return a < b end
    return tostring(a) < tostring(b)
  end)
  local i = 0
  return function()
    i = i + 1
    if i <= #keys then return keys[i], t[keys[i]] end
  end
end

-- Writing -----------------------------------------------------------------------------------------------------------------

local Writer <const> = {}
Writer.__index = Writer

--- tensors: filled by name; objects: the list of objects; given: what a load will have to be given, by name
function M.writer()
  return setmetatable({tensors = {}, objects = {}, given = {}, index = {}, depth = 0}, Writer)
end

function Writer:fail(path, text)
  core.raise("option", ("save: %s %s"):format(path == "" and "the model" or path, text))
end

function Writer:tensor(t, path)
  local name, k = path, 1
  while self.tensors[name] do
    k = k + 1
    name = ("%s~%d"):format(path, k)
  end
  self.tensors[name] = t
  return {["%"] = "tensor", at = name}
end

--- Values that only a script can give. Two different values never have one name.
function Writer:foreign(v, name, path)
  local unique, k = name, 1
  while self.given[unique] ~= nil and self.given[unique] ~= v do
    k = k + 1
    unique = ("%s~%d"):format(name, k)
  end
  self.given[unique] = v
  local list <const>, names <const> = param.collect(v)
  local params <const> = {}
  for i, p in ipairs(list) do
    params[i] = {name = names[i], raw = self:tensor(p.raw, join(path, (names[i]:gsub("^%.", ""))) .. ".raw")}
  end
  return {["%"] = "given", name = unique, params = params}
end

function Writer:object(v, path, adapter)
  local at = self.index[v]
  if not at then
    at = #self.objects + 1
    self.index[v] = at
    self.objects[at] = false               -- its place, before those of what it is made of
    if self.depth >= DEEPEST then self:fail(path, "cannot be saved: objects are nested too deep") end
    self.depth = self.depth + 1
    local fields <const> = adapter.write(self, v, path)
    self.depth = self.depth - 1
    fields.class = class_name(v)
    self.objects[at] = fields
  end
  return {["%"] = "object", at = at}
end

function Writer:table(v, path)
  local out <const> = {}
  for key, one in M.sorted(v) do
    local known <const> = math.type(key) == "integer" and key >= 1 and key <= #v or type(key) == "string" and #v == 0 and key ~= "%"
    if not known then self:fail(path, ("cannot be saved: a table with the key '%s'"):format(tostring(key))) end
    out[key] = self:value(one, join(path, key))
  end
  return out
end

function Writer:value(v, path)
  local kind <const> = type(v)
  if v == nil or kind == "boolean" or kind == "string" then return v end
  if kind == "number" then
    if v == v and v ~= math.huge and v ~= -math.huge then return v end
    return {["%"] = "number", is = v ~= v and "nan" or v > 0 and "inf" or "-inf"}
  end
  if core.type(v) == "tensor" then return self:tensor(v, path) end
  local adapter <const> = classes[class_name(v) or ""]
  if adapter then return self:object(v, path, adapter) end
  local meta <const> = kind == "table" and getmetatable(v)
  if kind == "table" and meta == nil then return self:table(v, path) end
  if kind == "function" or type(meta) == "table" and meta.__call then return self:foreign(v, path, path) end
  self:fail(path, ("cannot be saved: %s"):format(core.type(v)))
end

--- A report: what is plain in it, and its text.
function Writer:record(v, path)
  if v == nil then return nil end
  if type(v) ~= "table" then return self:value(v, path) end
  local fields <const> = {}
  for key, one in M.sorted(v) do
    local plain <const> = type(key) == "string" or #v > 0 and math.type(key) == "integer"
    if plain and type(one) == "table" and core.as_tensor(one) == nil then fields[key] = self:record(one, join(path, key))
    elseif plain and (type(one) == "number" or type(one) == "string" or type(one) == "boolean") then
      fields[key] = self:value(one, path)
    end
  end
  return {["%"] = "record", fields = fields, class = class_name(v),
    text = getmetatable(v) and tostring(v) or nil}
end

-- Reading -----------------------------------------------------------------------------------------------------------------

local Reader <const> = {}
Reader.__index = Reader

--- tensors, objects: of the file; given: {kernels, means, functions, warp}, from the script
function M.reader(tensors, objects, given)
  return setmetatable({tensors = tensors, objects = objects, given = given, made = {}, depth = 0}, Reader)
end

--- Raised through what is being rebuilt; gb.load says of which file.
function Reader:fail(text) error(core.error("format", text), 0) end

function Reader:missing(what, name, how)
  error(core.error("option", ("%s '%s' is not in the file: give it, gb.load(path, {%s})"):format(what, name, how),
    {missing = name}), 0)
end

function Reader:tensor_of(v)
  local t <const> = type(v) == "table" and self.tensors[v.at]
  if not t then self:fail(("tensor '%s' is missing"):format(type(v) == "table" and tostring(v.at) or tostring(v))) end
  return t
end

function Reader:object_of(v)
  local at <const> = v.at
  if self.made[at] then return self.made[at] end
  local fields <const> = math.type(at) == "integer" and self.objects[at]
  if type(fields) ~= "table" then self:fail(("object %s is missing"):format(tostring(at))) end
  local adapter <const> = classes[fields.class or ""]
  if adapter == nil then self:fail(("objects of class '%s' are unknown to this version"):format(tostring(fields.class))) end
  if self.depth >= DEEPEST then self:fail "objects are nested too deep, or in a circle" end
  self.depth = self.depth + 1
  self.made[at] = adapter.read(self, fields)
  self.depth = self.depth - 1
  return self.made[at]
end

--- Gives a network of the script the values that were saved.
local function restore_params(self, f, v)
  local list <const>, names <const> = param.collect(f)
  local saved <const> = self:list(v.params)
  if #saved ~= #list then
    self:fail(("'%s' has %s, the one that was saved had %d"):format(v.name, counted(#list, "parameter"), #saved))
  end
  for i, one in ipairs(saved) do
    local raw <const>, p <const> = self:tensor_of(one.raw), list[i]
    if one.name ~= names[i] or raw.shape ~= p.raw.shape or raw.dtype ~= p.raw.dtype then
      self:fail(("'%s': parameter %s (%s %s) was saved, the one given is %s (%s %s)"):format(v.name, one.name, raw.dtype,
        tostring(raw.shape), names[i], p.raw.dtype, tostring(p.raw.shape)))
    end
  end
  for i, one in ipairs(saved) do list[i].raw = self:tensor_of(one.raw) end
end

--- The function given as warp = f, which says of one warp only what it is.
function Reader:only_warp(name)
  local first <const> = self.warped or name
  if first ~= name then
    error(core.error("option", ("the file has two warps, '%s' and '%s': give each by its name, gb.load(path, "
      .. "{functions = {[\"%s\"] = f, [\"%s\"] = g}})"):format(first, name, first, name), {missing = name}), 0)
  end
  self.warped = name
  return self.given.warp
end

function Reader:given_of(v)
  local name <const> = tostring(v.name)
  local given <const> = self.given
  local f = given.functions[name]
  local is_warp <const> = name:match "%f[%w]warp%d*$" ~= nil
  if f == nil and is_warp and given.warp then f = self:only_warp(name) end
  if f == nil then
    self:missing("function", name, is_warp and "warp = f" or ('functions = {["%s"] = f}'):format(name))
  end
  if type(f) == "table" then restore_params(self, f, v) end
  return f
end

local numbers <const> = {nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge}

local function saved_record(self, v)
  local out <const> = {}
  for key, one in pairs(self:list(v.fields)) do out[key] = self:value(one) end
  local text <const> = v.text
  if type(text) ~= "string" then return out end
  local index <const> = object.record_index(v.class)
  return setmetatable(out, {__name = index and v.class or "gibbous.record", __index = index,
    __tostring = function() return text end})
end

local special <const> = {
  number = function(_, v) return numbers[v.is] end,
  tensor = Reader.tensor_of,
  object = Reader.object_of,
  given = Reader.given_of,
  record = saved_record,
}

function Reader:value(v)
  if type(v) ~= "table" then return v end
  local kind <const> = v["%"]
  if kind ~= nil then
    if not special[kind] then self:fail(("values of kind '%s' are unknown to this version"):format(tostring(kind))) end
    return special[kind](self, v)
  end
  local out <const> = {}
  for key, one in pairs(v) do out[key] = self:value(one) end
  return out
end

--- 'v' if it is a table.
function Reader:list(v)
  if type(v) ~= "table" then self:fail(("a list or object expected, got %s"):format(type(v))) end
  return v
end

--- The value of 'v', which must be an object of this class.
function Reader:of(v, class)
  local out <const> = self:value(v)
  if class_name(out) ~= class then self:fail(("%s expected, got %s"):format(class, class_name(out) or core.type(out))) end
  return out
end

--- The constructor 'name' of a part of the library, or one that the script gave.
function Reader:constructor(part, name, own, what)
  if own then
    local f <const> = self.given[what .. "s"][name]
    if f == nil then self:missing(what, name, ("%ss = {%s = constructor}"):format(what, name)) end
    return f
  end
  local f <const> = type(name) == "string" and rawget(part, name)
  if type(f) ~= "function" and type(f) ~= "table" then
    local near <const> = type(name) == "string" and options.nearest(name, part)
    self:fail(("%s '%s' is unknown to this version%s"):format(what, tostring(name),
      near and (", did you mean '%s'?"):format(near) or ""))
  end
  return f
end

return M

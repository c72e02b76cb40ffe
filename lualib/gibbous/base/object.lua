--- Common behaviour of the objects of the library: a method called with a dot names the colon, and a field that does not exist
-- raises an error that names the nearest field.
local core <const> = require "gibbous.core"
local options <const> = require "gibbous.base.options"

local M <const> = {}

--- A method that insists on its receiver. what: "a model"; var: how documents call one, "m".
local function guarded(name, f, meta, what, var)
  return function(self, ...)
    if getmetatable(self) ~= meta then
      core.raise("option", ("%s is a method of %s: write %s:%s(...) with a colon, not %s.%s(...)"):format(name, what, var, name,
        var, name))
    end
    return f(self, ...)
  end
end

--- A table for the methods of objects with this metatable: each function that is assigned to it checks its receiver.
function M.methods(meta, what, var)
  return setmetatable({}, {__newindex = function(methods, name, f) rawset(methods, name, guarded(name, f, meta, what, var)) end})
end

--- The same for a complete table of methods, by default that of the metatable itself.
function M.guard(meta, what, var, methods)
  methods = methods or meta
  for name, f in pairs(methods) do
    if type(f) == "function" and name:sub(1, 2) ~= "__" then methods[name] = guarded(name, f, meta, what, var) end
  end
end

-- Where no name is near, all of so many are said.
local LISTED <const> = 40

--- Raises that 'what' has no such field. The sets of names (keys) that it does have follow.
function M.no_field(what, key, ...)
  local known <const> = {}
  for _, names in ipairs{...} do
    for name in pairs(names) do known[name] = type(name) == "string" and name:sub(1, 1) ~= "_" or nil end
  end
  local near <const> = type(key) == "string" and options.nearest(key, known)
  local hint = near and (" (did you mean '%s'?)"):format(near) or ""
  if not near then
    local list <const> = {}
    for name in pairs(known) do list[#list + 1] = name end
    table.sort(list)
    if #list > 0 and #list <= LISTED then hint = (" (it has %s)"):format(table.concat(list, ", ")) end
  end
  core.raise("option", ("%s has no field '%s'%s"):format(what, tostring(key), hint))
end

-- Values ----------------------------------------------------------------------------------------------------------------------

local function set_of(names)
  local out <const> = {}
  for name in names:gmatch "%S+" do out[name] = true end
  return out
end

--- How objects of a class that are made once and never changed answer to their fields: with their methods, those of the metatable;
-- the options they were made with, in .o; and what the library keeps with them, of which 'sometimes' names what may be nil.
-- No other field exists, and none can be assigned. what: "a solver".
function M.settle(meta, what, sometimes)
  local absent <const> = set_of(sometimes or "")
  local function is_option(self, key)
    local spec <const>, o <const> = rawget(self, "_spec"), rawget(self, "o")
    return spec ~= nil and spec[key] ~= nil or o ~= nil and o[key] ~= nil
  end
  local function no_field(self, key)
    local own <const> = {}                   -- methods and facts
    for name, v in next, meta do own[name] = type(v) == "function" and name:sub(1, 2) ~= "__" or nil end
    for name, v in next, self do own[name] = type(v) ~= "function" and type(v) ~= "table" and name:sub(1, 1) ~= "_" or own[name] end
    M.no_field(what, key, own, rawget(self, "_spec") or {}, rawget(self, "o") or {})
  end
  function meta.__index(self, key)
    if type(key) ~= "string" or key:sub(1, 2) ~= "__" then
      local o <const>, method <const> = rawget(self, "o"), rawget(meta, key)
      if method ~= nil then return method end
      if o ~= nil and o[key] ~= nil then return o[key] end
    end
    if absent[key] or is_option(self, key) or type(key) == "string" and key:sub(1, 1) == "_" then return nil end
    no_field(self, key)
  end
  function meta.__newindex(self, key)
    if not is_option(self, key) then no_field(self, key) end
    local maker <const> = rawget(self, "_maker")
    core.raise("option", ("'%s' is chosen when %s is made%s"):format(key, what,
      maker and (": %s{%s = ...}"):format(maker, key) or ""))
  end
end

--- A value of a settled class: these fields, made by maker ("gb.solvers.cg") with options by the rules of 'spec'.
function M.made(meta, fields, maker, spec)
  fields._maker, fields._spec = maker, spec
  return setmetatable(fields, meta)
end

-- Reports -----------------------------------------------------------------------------------------------------------------

local records <const> = {}                 -- metatables by name

--- The metatable of reports: tables of facts that a library function made. sometimes: names of those that may be nil.
function M.record(name, what, sometimes)
  local absent <const> = set_of(sometimes)
  local meta <const> = {__name = name}
  function meta.__index(self, key)
    if type(key) ~= "string" or absent[key] or key:sub(1, 1) == "_" then return nil end
    M.no_field(what, key, absent, self)
  end
  records[name] = records[name] or meta
  return meta
end

--- How a report of this class, read from a file, answers to its fields; nil where the class is unknown.
function M.record_index(name) return records[name] and records[name].__index end

return M

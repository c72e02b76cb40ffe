--- Everything that a script can name: the parts of gb and, by running small programs, the classes of objects that these give, with
-- the names each object answers to. Derived from values, not from a list of names.
local gb <const> = require "gibbous"
local reference <const> = require "gibbous.reference"

local M <const> = {}

local function is_public(name) return type(name) == "string" and name:match "^[%a][%w_]*$" ~= nil end

-- What tables behind the '__index' function of a class are called in the library.
local TABLES <const> = {methods = true, derived = true, facts = true, public = true, inherited = true, fields = true}

local function add_keys(names, t)
  for name in next, t do
    if is_public(name) then names[name] = true end
  end
end

local function add_upvalues(names, f)
  for i = 1, 60 do
    local name <const>, value <const> = debug.getupvalue(f, i)
    if name == nil then return end
    if TABLES[name] and type(value) == "table" then add_keys(names, value) end
  end
end

local function add_methods(names, t)
  for name, v in next, t do
    if is_public(name) and type(v) == "function" then names[name] = true end
  end
end

--- The names that a value answers to: its own, those of its metatable, and those that '__index' leads to.
function M.names_of(value)
  local names <const> = {}
  local meta <const> = debug.getmetatable(value)
  if type(value) == "table" then add_keys(names, value) end
  if type(meta) ~= "table" then return names end
  local index <const> = rawget(meta, "__index")
  if rawget(meta, "__name") then add_methods(names, meta) end
  if type(index) == "table" then add_keys(names, index) elseif type(index) == "function" then add_upvalues(names, index) end
  return names
end

--- Values of every class: what small programs give. name -> function.
M.programs = require "spec.reachable_programs"

--- Calls f(class, value, path) for values and the objects found in them, each class once a path.
local function walk(value, path, visit, seen)
  if type(value) ~= "table" and type(value) ~= "userdata" or seen[value] then return end
  seen[value] = true
  local class <const> = reference.class_of(value)
  if class then visit(class, value, path) end
  if class == "gibbous.tensor" or class and class:match "^gb%." or class == "gibbous" then return end
  local names <const> = class and M.names_of(value) or {}
  if type(value) == "table" and not class then
    for k in next, value do
      if type(k) == "string" then names[k] = true end
    end
    if value[1] ~= nil and type(value[1]) ~= "number" then walk(value[1], path .. "[1]", visit, seen) end
  end
  for name in next, names do
    local ok <const>, inner <const> = pcall(function() return value[name] end)
    if ok then walk(inner, path .. "." .. name, visit, seen) end
  end
end

--- class -> {names = set of names that values of it answer to, from = the path of one}.
function M.classes()
  local classes <const> = {}
  local function visit(class, value, path)
    local c <const> = classes[class] or {names = {}, from = path}
    classes[class] = c
    for name in pairs(M.names_of(value)) do c.names[name] = true end
  end
  local seen <const> = {}
  for name, program in pairs(M.programs) do
    local values <const> = table.pack(program())
    for i = 1, values.n do walk(values[i], name, visit, seen) end
  end
  return classes
end

--- "gb.zeros", "gb.linalg.solve", ...: the functions and fields of gb and its parts.
function M.functions()
  local out <const> = {}
  for _, name in ipairs(debug.getmetatable(gb).__names()) do
    local part <const> = gb[name]
    out["gb." .. name] = type(part)
    if type(part) == "table" then
      for inner, v in next, part do
        if is_public(inner) then out["gb." .. name .. "." .. inner] = type(v) end
      end
    end
  end
  return out
end

return M

--- Everything that a script can name: the parts of gb and, by running small programs, the classes of objects that these give, with
-- the names each object answers to. Derived from values, not from a list of names.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local reference <const> = require "gibbous.reference"

local M <const> = {}

local function is_public(name) return type(name) == "string" and name:match "^[%a][%w_]*$" ~= nil end

-- What tables behind the '__index' function of a class are called in the library.
local TABLES <const> = {methods = true, derived = true, facts = true, public = true, inherited = true, fields = true,
  settings = true, PUBLIC = true, [""] = true}                      -- "": what a function in C keeps

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
  if type(value) == "table" then
    add_keys(names, value)
    local fields <const> = rawget(value, "_fields")
    if type(fields) == "table" and type(rawget(fields, "hyper")) == "table" then add_keys(names, fields.hyper) end
  end
  if type(meta) ~= "table" then return names end
  local index <const> = rawget(meta, "__index")
  if rawget(meta, "__name") then add_methods(names, meta) end
  if core.type(value) == "tensor" then add_keys(names, core.methods) end
  if type(index) == "table" then add_keys(names, index) elseif type(index) == "function" then add_upvalues(names, index) end
  return names
end

--- Values of every class: what small programs give. name -> function.
M.programs = require "spec.reachable_programs"

--- Calls visit(class, value, path) for values and the objects found in them, each class once a path.
local function walk(value, path, visit, seen)
  if type(value) ~= "table" and type(value) ~= "userdata" or seen[value] then return end
  seen[value] = true
  local class <const> = reference.class_of(value)
  if class then visit(class, value, path) end
  if class == "gibbous.tensor" or class and class:match "^gb%." or class == "gibbous" then return end
  local names <const> = M.names_of(value)
  if type(value) == "table" and type(rawget(value, 1)) == "table" then walk(rawget(value, 1), path .. "[1]", visit, seen) end
  for name in next, names do
    local ok <const>, inner <const> = pcall(function() return value[name] end)
    if ok then walk(inner, path .. "." .. name, visit, seen) end
  end
end

--- class -> {names = set of names that values of it answer to, values = the values met, from = the path of one}.
function M.classes()
  local classes <const> = {}
  local function visit(class, value, path)
    local c <const> = classes[class] or {names = {}, values = {}, from = path}
    classes[class] = c
    c.values[#c.values + 1] = value
    for name in pairs(M.names_of(value)) do c.names[name] = true end
  end
  local seen <const>, programs <const> = {}, {}
  for name in pairs(M.programs) do programs[#programs + 1] = name end
  table.sort(programs)
  for _, name in ipairs(programs) do
    local values <const> = table.pack(M.programs[name]())
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

--- What is known of an expression without running it: its value where that is a variable's or a field's, else the class that the
-- documentation says it has. Tables are read raw, so no code of the user runs and no part of gb is loaded.
--
-- Known is {value, name}, name being the documented one of a function or a part of the library, without the value of a part that
-- nobody has used yet; {class}; {list = class of its elements}; or {entry}, a function or method of the documentation.
local lexer <const> = require "gibbous.prompt.lexer"
local reference <const> = require "gibbous.reference"

local M <const> = {}

local infer

-- Bounds on what one look may cost: expressions that are looked at, tokens of the entry that are searched for an assignment.
local MOST_LOOKS <const>, MOST_TOKENS <const> = 500, 1000
local looks = 0

-- Types of the documentation ---------------------------------------------------------------------------------------------------

--- What a value has of the first type of "gibbous.tensor|number?" that is known.
local function of_type(text)
  local first <const> = (text or ""):match "^([^;]*)"
  for part in first:gmatch "[^|]+" do
    local name <const>, list <const> = part:match "^%s*([%w_.]*[%w_])%s*(%[?%]?)"
    if name == "string" then return {value = ""} end
    if name and reference.of(name) and reference.of(name).kind == "class" then
      return list == "[]" and {list = name} or {class = name}
    end
  end
  return nil
end

--- The documented name of a part of the library.
local function part_name(value)
  local class <const> = reference.class_of(value)
  if class == "gibbous" then return "gb" end
  return class and class:match "^gb%.[%w_.]+$" or nil
end

--- The class of what is known, nil where it has none.
function M.class(k)
  if k.class then return k.class end
  if k.entry and k.entry.kind == "field" then return (of_type(k.entry.returns) or {}).class end
  local part <const> = k.value == nil and k.name and reference.of(k.name) or nil
  if part and part.kind == "class" then return part.class end
  local class <const> = k.value ~= nil and reference.class_of(k.value) or nil
  return class and reference.of(class) and class or nil
end

--- The documentation of a function or method that is known.
function M.entry(k)
  if k == nil then return nil end
  return k.entry or k.name and reference.of(k.name) or nil
end

-- Values ----------------------------------------------------------------------------------------------------------------------

--- Does gb make this field when it is first asked for?
local function is_listed(t, key)
  local meta <const> = debug.getmetatable(t)
  local names <const> = type(meta) == "table" and rawget(meta, "__names")
  if type(names) ~= "function" or not rawequal(t, package.loaded.gibbous) then return false end
  for _, name in ipairs(names()) do
    if name == key then return true end
  end
  return false
end

--- A field of a table, its own or that of the tables that __index leads to.
local function raw_field(t, key)
  for _ = 1, 8 do
    local value <const> = rawget(t, key)
    if value ~= nil then return value end
    local meta <const> = debug.getmetatable(t)
    local next_table <const> = type(meta) == "table" and rawget(meta, "__index")
    if type(next_table) ~= "table" then return nil end
    t = next_table
  end
  return nil
end

local function field(k, name)
  if type(k.value) == "string" then return {value = rawget(string, name), name = "string." .. name} end
  if type(k.value) == "table" then
    local value <const> = raw_field(k.value, name)
    if value == nil and is_listed(k.value, name) then return {name = "gb." .. name} end
    local part <const> = part_name(k.value)
    if value ~= nil then return {value = value, name = part and part .. "." .. name or k.name and k.name .. "." .. name} end
  end
  local class <const> = M.class(k)
  local entry <const> = class and reference.member(class, name)
  return entry and {entry = entry} or nil
end

-- Areas of the documentation whose methods give a tensor, which is not said with each.
local gives_tensor <const> = {elementwise = "gibbous.tensor", reductions = "gibbous.tensor"}

local function called(k, tokens, first)
  if rawequal(k.value, require) then
    local name <const> = tokens[first].text == "(" and tokens[first + 1] or tokens[first]
    local module <const> = name and name.kind == "string" and name.text:match "^[\"'](.*)[\"']$"
    return module and package.loaded[module] ~= nil and {value = package.loaded[module]} or nil
  end
  local entry <const> = M.entry(k)
  return entry and of_type(entry.returns or gives_tensor[entry.area]) or nil
end

local function indexed(k, key)
  if k.list then return {class = k.list} end
  if M.class(k) == "gibbous.tensor" then return {class = "gibbous.tensor"} end
  if type(k.value) ~= "table" or key == nil then return nil end
  local literal = key.text:match "^[\"'](.*)[\"']$"
  if key.kind == "number" then literal = math.tointeger(tonumber(key.text)) or tonumber(key.text) end
  local value <const> = literal ~= nil and rawget(k.value, literal)
  return value ~= nil and value ~= false and {value = value} or nil
end

-- Expressions -----------------------------------------------------------------------------------------------------------------

--- What is in parentheses: of several operands one that is a tensor makes the whole one.
local function group(tokens, first, last)
  local at = last
  while at >= first do
    local known <const>, begin <const> = infer(tokens, at)
    if known and at == last and begin <= first then return known end
    if known and M.class(known) == "gibbous.tensor" then return {class = "gibbous.tensor"} end
    at = math.min(begin, at) - 2                           -- past the operator
  end
  return nil
end

--- May the expression that ends before this token go on with it?
local function goes_on(t)
  return t ~= nil and (t.kind == "string" or t.kind == "operator" and (".:([{"):find(t.text, 1, true) ~= nil)
end

--- The expression that begins at a token, as far as it is one of names, calls and indices.
local function from(tokens, first, before)
  for at = first, before - 1 do
    local known <const>, begin <const> = infer(tokens, at)
    if known and begin == first and not goes_on(tokens[at + 1]) then return known end
  end
  return nil
end

--- What the last assignment to a name gave, in the entry and before a token of it.
local function assigned(tokens, at)
  for i = at - 2, math.max(1, at - MOST_TOKENS), -1 do
    local t <const> = tokens[i]
    if t.kind == "name" and t.text == tokens[at].text and tokens[i + 1].text == "=" and i + 2 < at then
      return from(tokens, i + 2, at)
    end
  end
  return nil
end

local function of_name(tokens, at)
  local before <const> = tokens[at - 1]
  if before and before.kind == "operator" and (before.text == "." or before.text == ":") and at > 2 then
    local base <const>, begin <const> = infer(tokens, at - 2)
    return base and field(base, tokens[at].text), begin
  end
  local here <const> = assigned(tokens, at)
  if here then return here, at end
  local value <const> = rawget(_G, tokens[at].text)
  return value ~= nil and {value = value, name = part_name(value) or tokens[at].text} or nil, at
end

local function of_bracket(tokens, at)
  local open <const> = lexer.opening(tokens, at)
  if open == nil then return nil, at end
  if not lexer.ends_prefix(tokens[open - 1]) then
    if tokens[at].text == ")" then return group(tokens, open + 1, at - 1), open end
    return nil, open
  end
  local base <const>, begin <const> = infer(tokens, open - 1)
  if base == nil then return nil, begin end
  if tokens[at].text == "]" then return indexed(base, open == at - 2 and tokens[open + 1] or nil), begin end
  return called(base, tokens, open), begin
end

function infer(tokens, at)
  local t <const> = tokens[at]
  looks = looks + 1
  if looks > MOST_LOOKS then return nil, at end
  if t.kind == "name" then return of_name(tokens, at) end
  if t.kind == "string" then
    if not lexer.ends_prefix(tokens[at - 1]) then return {value = ""}, at end
    local base <const>, begin <const> = infer(tokens, at - 1)
    return base and called(base, tokens, at), begin
  end
  if t.kind == "operator" and (t.text == ")" or t.text == "]" or t.text == "}") then return of_bracket(tokens, at) end
  return nil, at
end

--- What is known of the expression that ends at a token, and the index at which it begins.
function M.infer(tokens, at)
  looks = 0
  return infer(tokens, at)
end

return M

--- What the text before the cursor may go on with: names, methods, fields, option keys, values of options, modules, files.
local knowledge <const> = require "gibbous.prompt.knowledge"
local lexer <const> = require "gibbous.prompt.lexer"
local parameters <const> = require "gibbous.prompt.parameters"
local reference <const> = require "gibbous.reference"
local strings <const> = require "gibbous.prompt.complete_string"

--- A set that takes the names which begin with 'prefix'; private ones only where the prefix is one.
local function collector(prefix)
  local set <const> = {}
  return set, function(name)
    if type(name) ~= "string" or name == "" or name:sub(1, #prefix) ~= prefix then return end
    if name:sub(1, 1) == "_" and prefix:sub(1, 1) ~= "_" then return end
    set[name] = true
  end
end

local function sorted(set)
  local list <const> = {}
  for name in next, set do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- Members ---------------------------------------------------------------------------------------------------------------------

local function can_be_called(v)
  local meta <const> = type(v) == "table" and debug.getmetatable(v)
  return type(v) == "function" or type(meta) == "table" and rawget(meta, "__call") ~= nil
end

--- Names of a table and of those that __index leads to.
local function add_table(t, methods_only, add)
  for _ = 1, 8 do
    for key, value in next, t do
      if not methods_only or can_be_called(value) then add(key) end
    end
    local meta <const> = debug.getmetatable(t)
    local next_table <const> = type(meta) == "table" and rawget(meta, "__index")
    if type(next_table) ~= "table" then return end
    t = next_table
  end
end

--- The documented names of gb or a part of it.
local function add_part(part, class, add)
  local prefix <const> = class == "gibbous" and "gb" or class
  local meta <const> = debug.getmetatable(part)
  local names <const> = type(meta) == "table" and rawget(meta, "__names")
  if type(names) == "function" then
    for _, name in ipairs(names()) do add(name) end
    return
  end
  for key in next, part do
    if type(key) == "string" and reference.of(prefix .. "." .. key) then add(key) end
  end
end

local function add_members(known, methods_only, add)
  local value <const> = known.value
  if type(value) == "string" then
    if methods_only then add_table(string, true, add) end
    return
  end
  local class <const> = reference.class_of(value)
  if class == "gibbous" or class and class:find "^gb%." then
    if not methods_only then add_part(value, class, add) end
    return
  end
  local documented <const> = knowledge.class(known)
  for _, m in ipairs(documented and reference.members(documented) or {}) do
    if (m.kind == "method") == methods_only then add(m.name) end
  end
  if not documented and type(value) == "table" then add_table(value, methods_only, add) end
end

-- Option keys -----------------------------------------------------------------------------------------------------------------

--- The options of the call whose table is open at 'brace', and the keys that the table has already.
local function open_options(tokens, brace)
  local at = brace
  if not lexer.ends_prefix(tokens[brace - 1]) then at = lexer.enclosing(tokens, brace - 1) end
  if at == nil or tokens[at].text == "[" or not lexer.ends_prefix(tokens[at - 1]) then return nil end
  local entry <const> = knowledge.entry((knowledge.infer(tokens, at - 1)))
  return entry and #(entry.options or {}) > 0 and entry.options or nil
end

local function keys_in(tokens, brace)
  local given <const> = {}
  for i = brace + 1, #tokens - 1 do
    if tokens[i].kind == "name" and tokens[i + 1].text == "=" and lexer.enclosing(tokens, i) == brace then
      given[tokens[i].text] = true
    end
  end
  return given
end

--- Keys of m:set{...}: paths of parameters, in brackets.
local function add_paths(tokens, brace, add)
  local paths <const> = parameters.of_table(tokens, brace)
  for _, path in ipairs(paths or {}) do add(('["%s"]'):format(path)) end
  return paths ~= nil
end

--- Adds the keys that the table may still take; false where the cursor is not at a key of a table of options.
local function add_option_keys(tokens, add)
  local brace <const> = lexer.enclosing(tokens, #tokens)
  if brace == nil or tokens[brace].text ~= "{" then return false end
  local last <const> = tokens[#tokens].text
  if not (#tokens == brace or last == "," or last == ";") then return false end
  local options <const> = open_options(tokens, brace)
  if options == nil then return add_paths(tokens, brace, add) end
  local given <const> = keys_in(tokens, brace)
  for _, o in ipairs(options) do
    if not given[o.key] then add(o.key) end
  end
  return true
end

-- The whole -------------------------------------------------------------------------------------------------------------------

local function add_globals(add)
  for name in next, _G do add(name) end
  for word in next, lexer.keywords do add(word) end
end

--- Names for the word at the end of some code.
local function in_code(tokens, prefix)
  local set <const>, add <const> = collector(prefix)
  local last <const> = tokens[#tokens]
  local separator <const> = last and last.kind == "operator" and (last.text == "." or last.text == ":") and last.text
  if separator then
    local known <const> = #tokens > 1 and knowledge.infer(tokens, #tokens - 1)
    if known then add_members(known, separator == ":", add) end
  elseif not add_option_keys(tokens, add) then
    add_globals(add)
  end
  return sorted(set), #prefix
end

local LONGEST <const> = 16384              -- bytes of a long entry that are looked at

local function code(text)
  if #text > LONGEST then text = text:sub(-LONGEST):match "\n(.*)$" or "" end
  local tokens <const> = lexer.tokens(text)
  local last <const> = tokens[#tokens]
  if last and not last.closed then
    tokens[#tokens] = nil
    if last.kind == "comment" then return {}, 0 end
    return strings(tokens, last.text, open_options)
  end
  if last and (last.kind == "name" or last.kind == "keyword") and last.to == #text then
    tokens[#tokens] = nil
    return in_code(tokens, last.text)
  end
  if last and last.to == #text and last.kind ~= "operator" then return {}, 0 end     -- a number or a string ends here
  return in_code(tokens, "")
end

local takes_file <const> = {save = true, run = true, edit = true}

local function command(text)
  local typed <const> = text:match "^:(%w*)$" or text:match "^:help%s+:(%w*)$"
  if typed then
    local set <const>, add <const> = collector(typed)
    for _, c in ipairs(require "gibbous.prompt.commands".list) do add(c.name) end
    return sorted(set), #typed
  end
  local name <const>, rest <const> = text:match "^:(%w+)%s+(.*)$"
  if takes_file[name] then return strings.files(rest) end
  return code(rest or "")
end

--- The sorted names that 'text' may go on with, and how many of their bytes it has already.
return function(text)
  if text:find "^:%w" or text == ":" then return command(text) end
  return code((text:gsub("^[?=]+", "")))
end

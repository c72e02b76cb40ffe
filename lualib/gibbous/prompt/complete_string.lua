--- What an unfinished string may go on with: a value of an option or an argument, a module, a file; never a variable.
local core <const> = require "gibbous.core"
local knowledge <const> = require "gibbous.prompt.knowledge"
local lexer <const> = require "gibbous.prompt.lexer"
local parameters <const> = require "gibbous.prompt.parameters"

local M <const> = {}

local function matching(names, prefix)
  local list <const>, seen <const> = {}, {}
  for _, name in ipairs(names) do
    if name:sub(1, #prefix) == prefix and not seen[name] then
      seen[name] = true
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return list, #prefix
end

--- Files and folders, which end with '/', that the path may become: their last names.
function M.files(path)
  local folder <const>, last <const> = path:match "^(.*/)([^/]*)$"
  local prefix <const> = last or path
  local pattern <const> = path:gsub("[%*%?%[%]\\]", "\\%0") .. "*"
  local directory <const> = {}
  for _, found in ipairs(core.glob(pattern .. "/")) do directory[found:sub(1, -2)] = true end
  local names <const> = {}
  for i, found in ipairs(core.glob(pattern)) do
    names[i] = found:sub(#(folder or "") + 1) .. (directory[found] and "/" or "")
  end
  return matching(names, prefix)
end

--- Modules that require finds: loaded ones, without the inside of the library, and files on package.path.
local function modules(prefix)
  local names <const> = {}
  for _, known in ipairs{package.loaded, package.preload} do
    for name in next, known do
      if type(name) == "string" and not name:find "^gibbous%." then names[#names + 1] = name end
    end
  end
  names[#names + 1] = "gibbous"
  for template in tostring(package.path):gmatch "[^;]+" do
    local head <const>, tail <const> = template:match "^([^?]*)%?([^?]*)$"
    local typed <const> = prefix:gsub("%.", "/"):gsub("[%*%?%[%]\\]", "\\%0")
    for _, found in ipairs(head and core.glob(head .. typed .. "*" .. tail) or {}) do
      names[#names + 1] = found:sub(#head + 1, -#tail - 1):gsub("/", ".") .. ""
    end
  end
  return matching(names, prefix)
end

-- Types -----------------------------------------------------------------------------------------------------------------------

local aliases                              -- name to text, of the documentation

local function alias(name)
  if aliases == nil then
    aliases = {}
    for _, area in ipairs(require "gibbous.reference.areas") do
      for key, text in (core.source("gibbous.meta." .. area[1]) or ""):gmatch "%-%-%-@alias ([%w_.]+) ([^\n]*)" do
        aliases[key] = text
      end
    end
  end
  return aliases[name]
end

--- The strings that a type admits; where it is any string, those that its words quote.
local function values(type_text, words)
  local list <const> = {}
  local whole <const> = type_text:gsub("gibbous%.[%w_.]+", function(name) return alias(name) or name end)
  for v in whole:gmatch '"([^"]*)"' do list[#list + 1] = v end
  if #list == 0 and whole:find "string" then
    for v in (words or ""):gmatch '"([%w_%-+|]+)"' do list[#list + 1] = v end
  end
  return list
end

local is_path <const> = {path = true, file = true, filename = true, directory = true, dir = true}

--- For something with a name, a type and words: its values, files where it is a path.
local function of_slot(name, slot, prefix)
  if slot == nil then return {}, 0 end
  local list <const> = values(slot.type or "", slot.text)
  if #list > 0 then return matching(list, prefix) end
  if is_path[name] then return M.files(prefix) end
  return {}, 0
end

-- Places ----------------------------------------------------------------------------------------------------------------------

local takes_file <const> = {[io.open] = true, [io.lines] = true, [io.input] = true, [io.output] = true, [dofile] = true,
  [loadfile] = true, [os.remove] = true, [os.rename] = true}

local function of_argument(tokens, callee, position, prefix)
  local known <const> = knowledge.infer(tokens, callee)
  if known == nil then return {}, 0 end
  if rawequal(known.value, require) then return modules(prefix) end
  if known.value ~= nil and takes_file[known.value] then return M.files(prefix) end
  local entry <const> = knowledge.entry(known)
  local paths <const> = position == 1 and parameters.of_method(tokens, callee)
  if paths then return matching(paths, prefix) end
  local arg <const> = entry and entry.args and entry.args[position]
  return of_slot(arg and arg.name, arg, prefix)
end

--- How many arguments end between the bracket at 'open' and the end.
local function position_in(tokens, open)
  local count = 1
  for i = open + 1, #tokens do
    if tokens[i].text == "," and lexer.enclosing(tokens, i) == open then count = count + 1 end
  end
  return count
end

local function of_option(tokens, open_options, prefix)
  local brace <const> = lexer.enclosing(tokens, #tokens)
  local options <const> = brace and tokens[brace].text == "{" and open_options(tokens, brace) or {}
  local key <const> = tokens[#tokens - 1]
  for _, o in ipairs(options) do
    if key and o.key == key.text then return of_slot(o.key, o, prefix) end
  end
  return {}, 0
end

--- A key in brackets: of m:set{["...
local function of_key(tokens, prefix)
  local brace <const> = lexer.enclosing(tokens, #tokens - 1)
  if brace == nil or tokens[brace].text ~= "{" then return {}, 0 end
  local paths <const> = parameters.of_table(tokens, brace)
  if paths == nil then return {}, 0 end
  return matching(paths, prefix)
end

local function quoted_text(text)
  return text:match "^%[=*%[(.*)$" or text:sub(2)
end

--- tokens: those before the string. open_options(tokens, brace): the options of the call whose table is open there.
local function complete(tokens, text, open_options)
  local prefix <const> = quoted_text(text)
  local before <const> = tokens[#tokens]
  if before == nil then return {}, 0 end
  if before.text == "=" then return of_option(tokens, open_options, prefix) end
  if before.text == "[" and not lexer.ends_prefix(tokens[#tokens - 1]) then return of_key(tokens, prefix) end
  if lexer.ends_prefix(before) then return of_argument(tokens, #tokens, 1, prefix) end
  if before.text ~= "(" and before.text ~= "," then return {}, 0 end
  local open <const> = lexer.enclosing(tokens, #tokens)
  if open == nil or tokens[open].text ~= "(" or not lexer.ends_prefix(tokens[open - 1]) then return {}, 0 end
  return of_argument(tokens, open - 1, position_in(tokens, open), prefix)
end

return setmetatable(M, {__call = function(_, ...) return complete(...) end})

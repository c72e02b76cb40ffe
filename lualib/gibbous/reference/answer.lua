--- Answers to '?topic' at the prompt and 'gibbous help topic': a name, a variable by its value, or words to look for.
local core <const> = require "gibbous.core"
local lexer <const> = require "gibbous.prompt.lexer"
local reference <const> = require "gibbous.reference"
local text <const> = require "gibbous.reference.text"
local window <const> = require "gibbous.text.window"

local MOST_FOUND <const> = 20              -- entries that a search lists
local LEAST <const>, WIDEST <const> = 20, 100              -- columns of text, where the terminal has them

local USAGE <const> = "?name explains a function, method, option table, class or command: ?gb.gp.exact, ?matmul, ?:time\n"
  .. "?m and ?m:fit do so for a variable, by its value; ??words looks for words: ??random numbers"

local function width_of_terminal()
  return math.max(LEAST, math.min(window.columns() or core.columns(1) or WIDEST, WIDEST))
end

local function found(words, width)
  words = words:gsub("[\"']", " "):gsub("^%s+", ""):gsub("%s+$", "")
  if not words:find "%S" then return text.fitted(USAGE, width), true end
  local list <const> = reference.search(words)
  if #list == 0 then return text.fitted(("nothing is said about '%s'"):format(words), width), false end
  return text.list(list, width, MOST_FOUND), true
end

--- The class that the first type of a field or a result names, nil if that class is not the library's.
local function class_of_result(e)
  local class <const> = e and e.kind == "field" and (e.returns or ""):match "^gibbous%.[%w_.]*[%w_]"
  return class and reference.of(class) and class or nil
end

--- The entry at the end of a path of fields and methods that begins at a class: types are followed, no value is read.
local function along(class, path)
  local e
  for name in path:gmatch "[.:]([%w_]+)" do
    e = class and reference.member(class, name)
    if e == nil then return nil end
    class = class_of_result(e)
  end
  return e
end

local function article(name) return name:match "^[aeiou]" and "an " or "a " end

--- What is said of a variable by its value, nil where the library says nothing.
local function of_value(topic, env, width)
  local name <const>, path <const> = topic:match "^([%a_][%w_]*)(.*)$"
  local value <const> = name and rawget(env, name)
  if value == nil or name == "gb" then return nil end
  local class <const> = reference.class_of(value)
  if path ~= "" then
    local e <const> = class and along(class, path)
    local ok <const>, f <const> = pcall(function() return value[path:match "[%w_]+$"] end)
    return e and text.of(e, width, ok and path:match "^[.:][%w_]+$" and f or nil)
  end
  if class and reference.of(class) then
    return ("%s is %s%s\n\n%s"):format(name, article(class), class, text.of(reference.of(class), width))
  end
  local e <const> = reference.of_value(value)
  return e and text.of(e, width)
end

--- Lua's own words and functions: for, print, string.format.
local function of_lua(topic, width)
  local manual <const> = "%s is %sof Lua itself: see the reference manual of Lua 5.4, chapter %d"
  if lexer.keywords[topic] then return text.fitted(manual:format(topic, "a word ", 3), width) end
  local value = _G
  for name in topic:gmatch "[%w_]+" do
    value = type(value) == "table" and rawget(value, name) or nil
  end
  local library <const> = topic:match "^(%a+)%." or topic
  if value == nil or package.loaded[library] == nil and rawget(_G, topic) == nil or library == "gb" then return nil end
  if type(value) == "function" or package.loaded[topic] == value then return text.fitted(manual:format(topic, "", 6), width) end
  return text.fitted(("%s is a %s of this session, not of the library"):format(topic, type(value)), width)
end

--- All entries whose last name this is, for a word without an owner: what can be called, else fields.
local function by_last_name(word, width)
  local calls <const>, fields <const> = {}, {}
  for _, e in ipairs(reference.all()) do
    local list <const> = e.kind == "field" and fields or calls
    if e.short == word and e.area ~= "core" and e.kind ~= "class" then list[#list + 1] = e end
  end
  local parts <const> = #calls > 0 and calls or fields
  if #parts == 0 then return nil end
  if #parts > 3 then return text.list(parts, width, MOST_FOUND) end
  for i, e in ipairs(parts) do parts[i] = text.of(e, width) end
  return table.concat(parts, "\n\n")
end

local function unknown(topic)
  local near <const> = reference.nearest(topic)
  return ("there is no help on '%s'%s"):format(topic, near and (", did you mean '%s'?"):format(near)
    or "; ??" .. (topic:match "[%w_]+$" or "word") .. " looks for words")
end

--- The text for a topic, and whether there is any. env: where variables are looked up, the globals unless it is given.
return function(topic, env)
  local width <const> = width_of_terminal()
  topic = topic:gsub("^%s+", ""):gsub("%s+$", "")
  if topic:sub(1, 1) == "?" then return found(topic:sub(2), width) end
  local name <const> = topic:gsub("%s*[%(%{%[\"'].*", "")
  if name == "" then return text.fitted(USAGE, width), true end
  local e <const> = reference.of(name)
  local said <const> = of_value(name, env or _G, width) or e and text.of(e, width)
    or name:match "^[%w_]+$" and by_last_name(name, width) or of_lua(name, width)
  if said then return said, true end
  if name:find "%s" then return found(topic, width) end
  return text.fitted(unknown(name), width), false
end

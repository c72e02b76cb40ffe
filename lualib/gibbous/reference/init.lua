--- The documentation as data: everything that Lua can reach in Gibbous, from the declarations in lualib/gibbous/meta/.
--
-- An entry has name ("gb.gp.exact", "tensor:matmul", "prediction.mean", "gibbous.tensor", ":time", "gibbous doctor"), kind
-- ("function", "method", "field", "class", "command"), call, line (the first sentence), text, args {name, type, text}, options
-- {key, type, text}, returns, cost, errors, example, see, and area (the file).
local areas <const> = require "gibbous.reference.areas"
local class <const> = require "gibbous.reference.class"
local core <const> = require "gibbous.core"
local parse <const> = require "gibbous.reference.parse"

local M <const> = {}

-- What is read of an entry when it is first asked for.
local described <const> = {args = true, fields = true, example = true, see = true, text = true, line = true, cost = true,
  errors = true, returns = true}

-- The registry: list (entries in order), by_name, classes (class name -> {entry, own members by name}). Read when first asked for.
local registry

--- A field of a class as an entry of its own, described where its class is.
local function field_entry(owner, field)
  local name <const> = (owner.short or owner.name) .. "." .. field
  return {name = name, kind = "field", call = name, short = field, owner = owner.class, area = owner.area, of = owner}
end

local function describe_field(e)
  for _, f in ipairs(e.of.fields) do
    if f.name == e.short then e.line, e.text, e.returns = f.text, f.text, f.type end
  end
  e.args, e.see, e.of = {}, {}, nil
end

local function class_of_name(r, name)
  r.classes[name] = r.classes[name] or {members = {}, opened = {}}
  return r.classes[name]
end

--- A class may be opened in several files: its text is where there is some, its fields are joined.
local function add_class(r, e)
  local c <const> = class_of_name(r, e.class)
  if not c.entry then
    c.entry = e
    r.list[#r.list + 1] = e
    r.by_name[e.name] = e
    if e.short ~= e.name then r.by_name[e.short] = r.by_name[e.short] or e end
  elseif c.entry.text == "" then
    for _, key in ipairs{"text", "line", "example", "cost", "errors", "area"} do c.entry[key] = e[key] end
  end
  c.parent = c.parent or e.parent
  table.insert(c.opened, e)
  for _, name in ipairs(e.names) do
    local field <const> = setmetatable(field_entry(e, name), getmetatable(e))
    c.members[name] = c.members[name] or field
    if not e.class:match "%.options$" then
      r.list[#r.list + 1] = field
      r.by_name[field.name] = r.by_name[field.name] or field
    end
  end
end

local function add_function(r, e)
  r.list[#r.list + 1] = e
  r.by_name[e.name] = e
  class_of_name(r, e.owner).members[e.short] = e
end

--- The fields of a class, in the files that open it, and of those it extends.
local function fields_of(r, class_name)
  local list <const>, seen <const> = {}, {}
  while class_name and r.classes[class_name] do
    local c <const> = r.classes[class_name]
    for _, e in ipairs(c.opened) do
      for _, f in ipairs(e.fields) do
        if not seen[f.name] then
          seen[f.name] = true
          list[#list + 1] = {key = f.name, type = f.type, text = f.text}
        end
      end
    end
    class_name = c.parent
  end
  return list
end

--- The options of a call: the fields of the class, or the keys of the table type, of its last argument that has some.
local function options_of(r, e)
  for i = #e.args, 1, -1 do
    local arg <const> = e.args[i]
    for part in (arg.type:match "^{" and "" or arg.type):gmatch "[%w_.]+" do
      if part:match "%.options$" and r.classes[part] then return fields_of(r, part) end
    end
    local keys <const> = parse.inline_keys(arg.type)
    if keys then return keys end
  end
  return {}
end

local function add_command(r, e)
  r.list[#r.list + 1] = e
  r.by_name[e.name] = e
end

local PROMPT <const> = "gibbous.prompt.commands"

--- A sentence from a line without a capital and a full stop.
local function sentence(line) return (line:gsub("^%l", string.upper)) .. "." end

--- The ':' commands, which the prompt's own list describes.
local function add_prompt_commands(r)
  for _, c in ipairs(core.source(PROMPT) and require(PROMPT).list or {}) do
    local line <const> = sentence(c.line)
    add_command(r, {name = ":" .. c.name, short = c.name, kind = "command", call = c.call, line = line, text = line, args = {},
      see = {}, area = "shell"})
  end
end

--- The metatable of entries that are described, and have their options, when they are first asked.
local function lazy(r)
  return {__index = function(e, key)
    if key == "options" then
      local options <const> = options_of(r, e)
      rawset(e, key, options)
      return options
    end
    if not described[key] then return nil end
    if rawget(e, "of") then describe_field(e) elseif rawget(e, "comment") then parse.describe(e) end
    return rawget(e, key)
  end}
end

local function read()
  local r <const> = {list = {}, by_name = {}, classes = {}}
  local entry <const> = lazy(r)
  for _, area in ipairs(areas) do
    for _, e in ipairs(parse.declared(core.source("gibbous.meta." .. area[1]) or "", area[1])) do
      setmetatable(e, entry)
      if e.kind == "class" then add_class(r, e)
      elseif e.kind == "command" then add_command(r, e)
      else add_function(r, e) end
    end
  end
  add_prompt_commands(r)
  for _, e in ipairs(r.list) do
    if getmetatable(e) == nil then setmetatable(e, entry) end
  end
  return r
end

local function registered()
  registry = registry or read()
  return registry
end

--- The member of a class or of those it extends, nil where it has none of that name.
local function member(class_name, name)
  local r <const> = registered()
  while class_name and r.classes[class_name] do
    local c <const> = r.classes[class_name]
    if c.members[name] then return c.members[name] end
    class_name = c.parent
  end
  return nil
end

--- The entry of a full name; of an object its class ("gibbous.tensor") or the name documents give it ("tensor") stands in front of
-- '.' or ':'. nil where there is none: nothing is guessed.
function M.of(name)
  local r <const> = registered()
  if r.by_name[name] then return r.by_name[name] end
  local owner <const>, last <const> = name:match "^([%w_.]+)[.:]([%w_]+)$"
  local e <const> = owner and r.by_name[owner]
  if e and e.kind == "class" then return member(e.class, last) end
  return nil
end

M.class_of = class.of

--- Name, kind and line of everything that values of a class have, sorted by name.
function M.members(class_name)
  local r <const> = registered()
  local found <const>, list <const> = {}, {}
  while class_name and r.classes[class_name] do
    local c <const> = r.classes[class_name]
    for name, e in pairs(c.members) do found[name] = found[name] or e end
    class_name = c.parent
  end
  for name, e in pairs(found) do list[#list + 1] = setmetatable({name = name, kind = e.kind}, {__index = e}) end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- The member of this name of a class, nil where there is none.
M.member = member

--- The options that a function's table takes: a list of {key, type, text}.
function M.options(name)
  local e <const> = M.of(name)
  return e and e.options or {}
end

--- Has it a line of its own? A table of options has none: the options are those of what takes it.
local function says_something(e) return e.line ~= "" and e.line ~= "-" end

--- Does the text have the word? A single letter, which nearly every text has, is looked for among names of one letter alone.
local function has(text, word) return #word > 1 and text:lower():find(word, 1, true) ~= nil end

--- How well an entry fits a word: 4 its last name, 3 in its name, 2 in its sentence, 1 in its text or options, 0 not at all.
local function fit(e, word)
  if e.short and e.short:lower() == word then return 4 end
  if has(e.name, word) then return 3 end
  if has(e.line, word) then return 2 end
  if has(e.text, word) then return 1 end
  for _, o in ipairs(e.options) do
    if o.key == word or has(o.text, word) then return 1 end
  end
  return 0
end

--- The entries in which all words occur, the best first; names inside the library last.
function M.search(words)
  local found <const> = {}
  for i, e in ipairs(registered().list) do
    local sum = 0
    for word in words:lower():gmatch "%S+" do
      local score <const> = fit(e, word)
      if score == 0 then sum = nil break end
      sum = sum + score
    end
    if sum and sum > 0 and says_something(e) then
      found[#found + 1] = {e = e, score = e.area == "core" and sum - 100 or sum, at = i}
    end
  end
  table.sort(found, function(a, b)
    if a.score ~= b.score then return a.score > b.score end
    return a.at < b.at
  end)
  for i, row in ipairs(found) do found[i] = row.e end
  return found
end

--- The value of "gb.part.name", read raw: nil where that part was not used yet.
function M.value_of(name)
  local value = package.loaded.gibbous
  for key in name:gmatch "%.([%w_]+)" do value = type(value) == "table" and rawget(value, key) or nil end
  return value
end

--- The entry of a function or a part of the library, by its value; nil where it has none.
function M.of_value(value)
  if type(value) == "table" then
    local name <const> = class.of(value)
    return name and name:find "^gb%." and M.of(name) or nil
  end
  if type(value) ~= "function" then return nil end
  for _, e in ipairs(registered().list) do
    if e.kind == "function" and e.name:find "^gb%." and rawequal(M.value_of(e.name), value) then return e end
  end
  return nil
end

--- All entries, in the order of the reference.
function M.all() return registered().list end

-- Shorter words are near to too much.
local LEAST_LETTERS <const> = 3

--- The full name that is nearest to one that is unknown: by the whole of it, else by its last word among what can be called. nil
--- where none is near.
function M.nearest(name)
  local names <const>, shorts <const>, full <const> = {}, {}, {}
  for _, e in ipairs(registered().list) do
    if e.area ~= "core" then names[#names + 1] = e.name end
    if e.area ~= "core" and e.kind ~= "field" and not full[e.short] then
      full[e.short] = e.name
      shorts[#shorts + 1] = e.short
    end
  end
  local last <const> = name:match "[%w_]+$" or ""
  if #last < LEAST_LETTERS then return nil end
  return core.nearest(name, names) or full[last] or full[core.nearest(last, shorts) or ""]
end

return M

--- Reads one file of declarations in the form of LuaLS (lualib/gibbous/meta/) into entries.
--
-- Read are: '--- text' before a declaration, '---@class name: parent', '---@field', '---@param', '---@return', '---@see', a block
-- between '---```lua' and '---```' (the example), and paragraphs of the text that begin with "Cost:" or "Errors:". Declarations are
-- 'local name = {}' after a class, 'gb.part = {}', 'function owner.name(...) end', and 'command["words ..."] = true'.
local M <const> = {}

local OPEN <const> = {["("] = true, ["{"] = true, ["<"] = true, ["["] = true}
local CLOSE <const> = {[")"] = true, ["}"] = true, [">"] = true, ["]"] = true}

--- A type at the start of 'text', which ends at the first blank outside brackets and quotation marks, and what follows it. After
-- ':' and ',' a type goes on ("fun(x: number): number"), and so it does behind '|'.
function M.type_and_text(text)
  local plain <const>, rest <const> = text:match "^([%w_.?|]*[%w_.?])%s+([^|].*)$"
  if plain then return plain, rest end
  local depth, i = 0, 1
  while i <= #text do
    local c <const> = text:sub(i, i)
    if c == '"' then i = text:find('"', i + 1, true) or #text
    elseif OPEN[c] then depth = depth + 1
    elseif CLOSE[c] then depth = depth - 1
    elseif c == " " and depth == 0 and not text:find("^[:|,]", i - 1) then break end
    i = i + 1
  end
  return text:sub(1, i - 1), (text:sub(i):gsub("^%s+", ""))
end

--- A type as readers need it: without the library's name in front of its classes, and classes of options as "options".
function M.plain_type(text)
  return (text:gsub("gibbous%.[%w_.]*options", "options"):gsub("gibbous%.([%w_])", "%1"))
end

--- The keys of an inline table type, "{a: number, b: string}?", as options; nil if the type is not such a table.
function M.inline_keys(type_text)
  local body <const> = type_text:match "^{(.*)}%??$"
  if not body or body:sub(1, 1) == "[" then return nil end
  local list, rest = {}, body
  while #rest > 0 do
    local key <const>, after <const> = rest:match "^%s*([%a_][%w_]*%??):%s*(.*)$"
    if not key then return nil end
    local depth, stop = 0, #after + 1
    for i = 1, #after do
      local c <const> = after:sub(i, i)
      if OPEN[c] then depth = depth + 1 elseif CLOSE[c] then depth = depth - 1 end
      if c == "," and depth == 0 then stop = i break end
    end
    list[#list + 1] = {key = key:gsub("%?$", ""), type = after:sub(1, stop - 1), text = ""}
    rest = after:sub(stop + 1)
  end
  return list
end

--- What a text says first: up to a full stop before a capital, a quotation mark or a backtick.
local function first_sentence(text)
  local flat <const> = text:gsub("%s+", " ")
  return flat:match '^(.-%.) [%u"`]' or flat
end

--- The lines of a comment without '---', apart: plain text, tags, the example.
local function sorted_lines(lines)
  local plain <const>, tags <const> = {}, {}
  local example
  local inside = false
  for _, line in ipairs(lines) do
    if line:match "^```" then
      inside = not inside
      example = example or {}
    elseif inside then example[#example + 1] = line
    elseif line:match "^@" then tags[#tags + 1] = line
    else plain[#plain + 1] = line end
  end
  return plain, tags, example and table.concat(example, "\n")
end

--- The lines, of which one that has "Errors:" after the cost is two.
local function split_labels(lines)
  local out <const> = {}
  for _, line in ipairs(lines) do
    local before <const>, after <const> = line:match "^(Cost:.-)%s+(Errors:.*)$"
    out[#out + 1] = before or line
    out[#out + 1] = after
  end
  return out
end

--- Text, cost and errors of plain lines: a line that begins with "Cost:" or "Errors:" and those after it, to the next such line.
local function paragraphs(plain)
  local into, current = {text = {}, cost = {}, errors = {}}, "text"
  for _, line in ipairs(split_labels(plain)) do
    local label <const>, rest <const> = line:match "^(%u%l+):%s*(.*)"
    if label == "Cost" or label == "Errors" then
      current = label:lower()
      line = rest
    end
    table.insert(into[current], line)
  end
  local function joined(list) return #list > 0 and table.concat(list, "\n") or nil end
  return joined(into.text) or "", joined(into.cost), joined(into.errors)
end

local function optional_name(name) return (name:gsub("%?$", "")) end

--- The lines of a comment, without their '---'.
local function comment_lines(comment)
  local lines <const> = {}
  for line in (comment .. "\n"):gmatch "%-%-%- ?([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end

--- What the comment before a declaration says; name, kind and call are the caller's.
local function said_in(comment)
  local plain <const>, tags <const>, example <const> = sorted_lines(comment_lines(comment))
  local e <const> = {args = {}, fields = {}, example = example, see = {}}
  e.text, e.cost, e.errors = paragraphs(plain)
  e.line = first_sentence(e.text)
  local results <const> = {}
  for _, tag in ipairs(tags) do
    local word <const>, rest <const> = tag:match "^@(%a+)%s*(.*)"
    if word == "param" then
      local name <const>, what <const> = rest:match "^(%S+)%s*(.*)"
      local kind <const>, text <const> = M.type_and_text(what)
      e.args[#e.args + 1] = {name = optional_name(name), type = kind, text = text}
    elseif word == "field" then
      local name <const>, what <const> = rest:match "^(%S+)%s*(.*)"
      local kind <const>, text <const> = M.type_and_text(what)
      if name:sub(1, 1) ~= "[" then e.fields[#e.fields + 1] = {name = optional_name(name), type = kind, text = text} end
    elseif word == "return" then results[#results + 1] = rest
    elseif word == "class" then e.class, e.parent = rest:match "^([%w_.]+)%s*:?%s*([%w_.]*)"
    elseif word == "see" then e.see[#e.see + 1] = rest end
  end
  e.returns = #results > 0 and table.concat(results, "; ") or nil
  if e.parent == "" then e.parent = nil end
  return e
end

--- The words of a command that are typed as they are: ":time" of ":time expr", "gibbous help" of "gibbous help [topic]", with the
-- verb of a command that has verbs.
function M.command_name(call)
  return call:match "^:%l+" or call:match "^gibbous sweep %l+" or call:match "^gibbous data synth" or call:match "^gibbous %l+"
    or call:match "^%S+"
end

local function fill(e, comment)
  for key, value in next, said_in(comment) do e[key] = value end
  return e
end

--- Reads what the comment of a declared entry says.
function M.describe(e)
  local comment <const> = e.comment
  e.comment = nil
  return comment and fill(e, comment) or e
end

--- The function, command or class that a line declares, nil where it declares none. locals: names to classes, which classes join.
local function declaration(line, comment, locals, area)
  local owner <const>, sep <const>, name <const>, args <const> = line:match "^function ([%w_.]-)([.:])([%w_]+)(%b())"
  if name then
    local full <const> = owner .. sep .. name
    return {name = full, kind = sep == ":" and "method" or "function", call = full .. args, short = name,
      owner = locals[owner] or owner, area = area, comment = comment}
  end
  local command <const> = line:match '^command%["(.-)"%] = true'
  if command then
    local words <const> = M.command_name(command)
    return {name = words, kind = "command", call = command, short = words:match "%l+$" or words, area = area, comment = comment}
  end
  local class <const>, parent <const> = comment:match "%-%-%- ?@class ([%w_.]+)%s*:?%s*([%w_.]*)"
  if not class then return nil end
  local object <const> = line:match "^local ([%w_]+) = {}" or line:match "^(gb%.[%w_.]+) = {}"
  if object then locals[object] = class end
  local names <const> = {}
  for field in comment:gmatch "%-%-%- ?@field ([^%s%[?]+)" do names[#names + 1] = field end
  return {name = class, kind = "class", call = class, short = object or class, class = class, names = names, area = area,
    parent = parent ~= "" and parent or nil, comment = comment}
end

local DASH <const> = ("-"):byte()

--- Does a line from 'at' to 'stop' belong to the comment of an entry?
local function is_comment(source, at, stop)
  local a <const>, b <const>, c <const>, d <const> = source:byte(at, at + 3)
  return a == DASH and b == DASH and c == DASH and (stop == at + 2 or d ~= DASH)
end

--- What a file declares, in its order: a list of entries with name, kind, call, area, which says where they come from, and of a
-- class the names of its fields. What the comments say is read by M.describe, since few of them are ever asked for.
function M.declared(source, area)
  local list <const>, locals <const> = {}, {}
  local from                               -- where the comment begins that ends before this line
  local at = 1
  source = source .. "\n\n"
  while at <= #source do
    local stop <const> = source:find("\n", at, true) - 1
    if is_comment(source, at, stop) then
      from = from or at
    else
      local line <const> = source:sub(at, stop)
      if line:sub(1, 2) ~= "--" and (line ~= "" or from) then
        list[#list + 1] = declaration(line, from and source:sub(from, at - 2) or "", locals, area)
      end
      from = nil
    end
    at = stop + 2
  end
  return list
end

--- The same, described.
function M.read(source, area)
  local list <const> = M.declared(source, area)
  for _, e in ipairs(list) do M.describe(e) end
  return list
end

return M

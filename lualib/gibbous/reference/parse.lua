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

--- An entry of the comment before a declaration; name, kind and call are the caller's.
local function entry_of(lines)
  local plain <const>, tags <const>, example <const> = sorted_lines(lines)
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

--- The words of a command that are typed as they are: ":time" of ":time expr", "gibbous help" of "gibbous help [topic]".
function M.command_name(call) return call:match "^:%l+" or call:match "^gibbous %l+" or call:match "^%S+" end

--- What a file declares, in its order: a list of entries with name, kind, call, and area, which says where they come from.
function M.read(source, area)
  local list <const>, locals <const> = {}, {}
  local comment = {}
  local function class(e, short)
    e.name, e.kind, e.call, e.short, e.area = e.class, "class", e.class, short or e.class, area
    list[#list + 1] = e
  end
  local function declaration(line)
    local owner <const>, sep <const>, name <const>, args <const> = line:match "^function ([%w_.]-)([.:])([%w_]+)(%b())"
    if name then
      local e <const> = entry_of(comment)
      e.owner, e.short, e.area = locals[owner] or owner, name, area
      e.name = owner .. sep .. name
      e.call, e.kind = e.name .. args, sep == ":" and "method" or "function"
      list[#list + 1] = e
      return
    end
    local command <const> = line:match '^command%["(.-)"%] = true'
    if command then
      local e <const> = entry_of(comment)
      e.name, e.kind, e.call, e.area = M.command_name(command), "command", command, area
      e.short = e.name:match "%l+$" or e.name
      list[#list + 1] = e
      return
    end
    local object <const> = line:match "^local ([%w_]+) = {}" or line:match "^(gb%.[%w_.]+) = {}"
    local e <const> = entry_of(comment)
    if e.class then
      if object then locals[object] = e.class end
      class(e, object)
    end
  end
  for line in (source .. "\n\n"):gmatch "([^\n]*)\n" do
    local text <const> = line:match "^%-%-%- ?([^%-].*)" or line == "---" and ""
    if text then
      comment[#comment + 1] = text
    else
      if line:sub(1, 2) ~= "--" and (line ~= "" or #comment > 0) then declaration(line) end
      if #comment > 0 then comment = {} end
    end
  end
  return list
end

return M

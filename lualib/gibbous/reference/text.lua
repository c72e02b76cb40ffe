--- Entries of the documentation as plain text of a given width.
local parse <const> = require "gibbous.reference.parse"
local place <const> = require "gibbous.reference.place"
local reference <const> = require "gibbous.reference"

local M <const> = {}

local NAME_WIDTH <const> = 14
local NARROW <const> = 50                  -- in fewer columns a text stands below its name, not beside it

--- 'text' in lines of at most 'width' characters, each after 'indent', further ones after 'hanging'.
local function wrapped(text, width, indent, hanging)
  local lines <const> = {}
  local line = indent
  local fresh = true
  for word in text:gmatch "%S+" do
    if not fresh and utf8.len(line) + 1 + (utf8.len(word) or #word) > width then
      lines[#lines + 1] = line
      line, fresh = hanging or indent, true
    end
    line = fresh and line .. word or line .. " " .. word
    fresh = false
  end
  if not fresh then lines[#lines + 1] = line end
  return table.concat(lines, "\n")
end

M.wrapped = wrapped

--- A text whose lines, where they are wider than the window, are broken between words.
function M.fitted(text, width)
  return (text:gsub("[^\n]+", function(line)
    if (utf8.len(line) or #line) <= width then return nil end
    local indent <const> = line:match "^ *"
    return wrapped(line, width, indent, indent .. "  ")
  end))
end

--- A name after 'indent' spaces and a text beside it, in a column of its own; below it where the name or the window leaves no room.
function M.row(name, text, width, indent, name_width)
  local left <const> = (" "):rep(indent) .. name
  if text == "" then return left end
  if width < NARROW then return left .. "\n" .. wrapped(text, width, (" "):rep(indent + 2)) end
  local hanging <const> = (" "):rep(indent + name_width + 1)
  if #name > name_width then return left .. "\n" .. wrapped(text, width, hanging) end
  return wrapped(text, width, left .. (" "):rep(#hanging - #left), hanging)
end

local function section(lines, width, title, list, name_of, text_of)
  if #list == 0 then return end
  lines[#lines + 1] = "  " .. title
  for _, one in ipairs(list) do lines[#lines + 1] = M.row(name_of(one), text_of(one), width, 4, NAME_WIDTH) end
end

--- "number: the first", "number, default: 3", "number".
local function typed(one)
  local between <const> = one.text == "" and "" or one.text:find "^default: " and ", " or ": "
  return parse.plain_type(one.type) .. between .. one.text
end

local function members(lines, width, e)
  local fields <const>, calls <const> = {}, {}
  for _, m in ipairs(reference.members(e.class)) do table.insert(m.kind == "field" and fields or calls, m) end
  local function name_of(m) return m.name end
  local function text_of(m) return m.line end
  section(lines, width, "fields", fields, name_of, text_of)
  section(lines, width, e.name:match "^gb%." and "functions" or "methods", calls, name_of, text_of)
end

--- An entry: the call, what it is, arguments, options, result, cost, errors, where it is written, an example. f: the function that
-- it is about, if it is at hand.
function M.of(e, width, f)
  width = width or 100
  local lines <const> = {wrapped(e.call, width, "", "    ")}
  if e.text ~= "" then lines[#lines + 1] = wrapped(e.text, width, "  ") end
  section(lines, width, "arguments", e.args, function(a) return a.name end, typed)
  section(lines, width, "options", e.options, function(o) return o.key end, typed)
  if e.kind == "class" then members(lines, width, e) end
  for _, part in ipairs{{"gives", e.returns and parse.plain_type(e.returns)}, {"cost", e.cost}, {"errors", e.errors},
    {"see", #e.see > 0 and table.concat(e.see, ", ") or nil}, {"source", place.of(e, f)}} do
    if part[2] then lines[#lines + 1] = wrapped(part[2], width, ("  %-6s "):format(part[1]), (" "):rep(9)) end
  end
  if e.example then
    lines[#lines + 1] = "  example"
    for line in e.example:gmatch "[^\n]+" do lines[#lines + 1] = "    " .. line end
  end
  return table.concat(lines, "\n")
end

--- A list of entries, a line each, at most 'most' of them.
function M.list(entries, width, most)
  local lines <const> = {}
  for i = 1, math.min(#entries, most) do
    local e <const> = entries[i]
    lines[i] = M.row(e.name, e.line == "" and "-" or e.line, width or 100, 0, 30)
  end
  if #entries > most then lines[#lines + 1] = ("and %d more: more words find fewer"):format(#entries - most) end
  return table.concat(lines, "\n")
end

return M

--- The reference as one HTML file that needs no network: an index by area, a search box, and an anchor for each entry.
local areas <const> = require "gibbous.reference.areas"
local core <const> = require "gibbous.core"
local page <const> = require "gibbous.reference.page"
local reference <const> = require "gibbous.reference"

local ENTITIES <const> = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}

local function escaped(text) return (text:gsub('[&<>"]', ENTITIES)) end

--- The anchor of an entry: its name, with what an address cannot hold replaced.
local function anchor(name) return (name:gsub("[^%w._:%-]", "_")) end

--- The entry that a word of a text or type names, nil where it names none that is shown.
local function named(word)
  local e <const> = word:find "[.:]" and reference.of(word)
  return e and e.area ~= "core" and not e.name:match "%.options$" and e or nil
end

--- Text with its names as links.
local function linked(text)
  return (escaped(text):gsub("%a[%w_]*[.:][%w_.:]*[%w_]", function(word)
    local e <const> = named(word)
    return e and ('<a href="#%s">%s</a>'):format(anchor(e.name), word) or nil
  end))
end

--- A type with its classes as links, without the library's name in front.
local function type_text(text)
  return (linked((text:gsub("gibbous%.[%w_.]*options", "options"))):gsub(">gibbous%.", ">"))
end

local function table_of(title, list, name_of)
  if #list == 0 then return "" end
  local rows <const> = {"<h4>", title, "</h4><table>"}
  for _, one in ipairs(list) do
    rows[#rows + 1] = ("<tr><td><code>%s</code></td><td class=type>%s</td><td>%s</td></tr>"):format(escaped(name_of(one)),
      type_text(one.type or ""), linked(one.text))
  end
  rows[#rows + 1] = "</table>"
  return table.concat(rows)
end

--- A row of a class: a field of its own has its anchor here, others are shown where they are declared.
local function member_row(e, m)
  local target <const> = reference.member(e.class, m.name)
  local name <const> = escaped(m.name)
  local is_here <const> = m.kind == "field" and target.owner == e.class
  local label <const> = is_here and name or ('<a href="#%s">%s</a>'):format(anchor(target.name), name)
  local id <const> = is_here and (' id="%s"'):format(anchor(target.name)) or ""
  if m.kind ~= "field" then return ("<tr><td><code>%s</code></td><td colspan=2>%s</td></tr>"):format(label, linked(m.line)) end
  return ("<tr%s><td><code>%s</code></td><td class=type>%s</td><td>%s</td></tr>"):format(id, label, type_text(target.returns),
    linked(m.line))
end

local function members(e)
  local list <const> = e.kind == "class" and reference.members(e.class) or {}
  if #list == 0 then return "" end
  local rows <const> = {}
  for i, m in ipairs(list) do rows[i] = member_row(e, m) end
  return "<table>" .. table.concat(rows) .. "</table>"
end

local function facts(e)
  local out <const> = {}
  for _, part in ipairs{{"Gives", e.returns and type_text(e.returns)}, {"Cost", e.cost and linked(e.cost)},
    {"Errors", e.errors and linked(e.errors)}, {"See", #e.see > 0 and linked(table.concat(e.see, ", "))}} do
    if part[2] then out[#out + 1] = ("<dt>%s</dt><dd>%s</dd>"):format(part[1], part[2]) end
  end
  return #out > 0 and "<dl>" .. table.concat(out) .. "</dl>" or ""
end

local function section(e)
  local kind <const> = e.name:match "^gb%." and e.kind == "class" and "part of the library" or e.kind
  local head <const> = '<section id="%s"><h3><code>%s</code> <small>%s</small></h3>'
  return table.concat{head:format(anchor(e.name), escaped(e.call), kind),
    e.text ~= "" and "<p>" .. linked(e.text) .. "</p>" or "",
    table_of("Arguments", e.args, function(a) return a.name end), table_of("Options", e.options, function(o) return o.key end),
    members(e), facts(e), e.example and "<pre>" .. escaped(e.example) .. "</pre>" or "", "</section>\n"}
end

--- Has the entry a section of its own? Option tables and fields are shown with what has them.
local function is_shown(e) return e.area ~= "core" and e.kind ~= "field" and not e.name:match "%.options$" end

local function by_area()
  local lists <const> = {}
  for _, e in ipairs(reference.all()) do
    lists[e.area] = lists[e.area] or {}
    if is_shown(e) then table.insert(lists[e.area], e) end
  end
  return lists
end

--- The text of the page.
return function()
  local lists <const>, index <const>, body <const> = by_area(), {}, {}
  for _, area in ipairs(areas) do
    local list <const> = lists[area[1]] or {}
    if #list > 0 then
      index[#index + 1] = ('<details><summary>%s</summary><ul>'):format(escaped(area[2]))
      body[#body + 1] = ('<h2 id="area-%s">%s</h2>\n'):format(area[1], escaped(area[2]))
      for _, e in ipairs(list) do
        body[#body + 1] = section(e)
        index[#index + 1] = ('<li><a href="#%s">%s</a></li>'):format(anchor(e.name), escaped(e.name))
      end
      index[#index + 1] = "</ul></details>"
    end
  end
  return (page:gsub("%$(%u+)", {VERSION = core.version, INDEX = table.concat(index), BODY = table.concat(body)}))
end

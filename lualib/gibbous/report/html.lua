--- A report as one HTML file: styles, a few lines of script that sort tables, and figures as SVG are in it; nothing is fetched.
local core <const> = require "gibbous.core"

local ENTITIES <const> = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}

local function escaped(text) return (tostring(text):gsub('[&<>"]', ENTITIES)) end

-- Values ----------------------------------------------------------------------------------------------------------------------

--- A number for reading: six digits, whole ones as they are.
local function number_text(v)
  if math.type(v) == "integer" then return tostring(v) end
  if v ~= v then return "nan" end
  return ("%.6g"):format(v)
end

--- A cell: its HTML, and its number, by which columns sort; nil of words.
local function cell(v)
  if v == nil then return "", nil end
  if type(v) == "number" then return number_text(v), v end
  if type(v) == "boolean" then return tostring(v), nil end
  local t <const> = core.as_tensor(v)
  if t and #t.shape == 0 then return cell(t:item()) end
  if type(v) == "table" and v.text ~= nil then
    local text <const> = escaped(v.text)
    return v.strong and "<strong>" .. text .. "</strong>" or text, v.value
  end
  if type(v) == "table" and getmetatable(v) == nil then return escaped(core.json_encode(v)), nil end
  return escaped(v):gsub("\n", "<br>"), nil
end

local LONG <const> = 30                    -- bytes of a text that gets a wider column

local function td(v)
  local html <const>, value <const> = cell(v)
  if not value then return (#html > LONG and "<td class=t>" or "<td>") .. html .. "</td>" end
  return ('<td class=n data-v="%.17g">%s</td>'):format(value, html)
end

-- Parts -----------------------------------------------------------------------------------------------------------------------

local parts <const> = {}

function parts.heading(p) return "<h2>" .. escaped(p.text) .. "</h2>" end

function parts.text(p)
  local out <const> = {}
  for paragraph in (p.text:gsub("^%s+", ""):gsub("%s+$", "") .. "\n\n"):gmatch "(.-)\n%s*\n" do
    out[#out + 1] = "<p>" .. escaped(paragraph) .. "</p>"
  end
  return table.concat(out, "\n")
end

function parts.code(p) return "<pre>" .. escaped(p.text) .. "</pre>" end

--- Has every cell of a column that is not empty a number? And is there one?
local function is_of_numbers(rows, k)
  local found = false
  for _, row in ipairs(rows) do
    local html <const>, value <const> = cell(row[k])
    if html ~= "" and not value then return false end
    found = found or value ~= nil
  end
  return found
end

function parts.table(p)
  local out <const> = {"<div class=wide><table class=sorts>", p.caption and "<caption>" .. escaped(p.caption) .. "</caption>" or "",
    "<thead><tr>"}
  for k, name in ipairs(p.top) do
    out[#out + 1] = ("<th tabindex=0%s>%s</th>"):format(is_of_numbers(p.rows, k) and " class=n" or "", escaped(name))
  end
  out[#out + 1] = "</tr></thead><tbody>"
  for _, row in ipairs(p.rows) do
    local cells <const> = {}
    for k = 1, #p.top do cells[k] = td(row[k]) end
    out[#out + 1] = "<tr>" .. table.concat(cells) .. "</tr>"
  end
  out[#out + 1] = "</tbody></table></div>" .. (p.note and "<p class=note>" .. escaped(p.note) .. "</p>" or "")
  return table.concat(out, "\n")
end

function parts.values(p)
  local out <const> = {p.caption and "<h3>" .. escaped(p.caption) .. "</h3>" or "", "<dl>"}
  for _, row in ipairs(p.rows) do
    local html <const> = cell(row[2])
    out[#out + 1] = ("<dt>%s</dt><dd>%s</dd>"):format(escaped(row[1]), html)
  end
  return table.concat(out, "\n") .. "</dl>"
end

--- An SVG inside of HTML: its names are those of this figure alone, and it is as wide as the page.
function parts.figure(p, place)
  local svg = p.svg:gsub("^.-(<svg)", "%1", 1)
  local prefix <const> = ("f%d-"):format(place)
  svg = svg:gsub(' id="', ' id="' .. prefix):gsub('xlink:href="#', 'xlink:href="#' .. prefix):gsub("url%(#", "url(#" .. prefix)
  svg = svg:gsub('(<svg[^>]-) width="[^"]*" height="[^"]*"', "%1", 1)
  local caption <const> = p.caption and "<figcaption>" .. escaped(p.caption) .. "</figcaption>" or ""
  return "<figure><div>" .. svg .. "</div>" .. caption .. "</figure>"
end

-- The page --------------------------------------------------------------------------------------------------------------------

local STYLE <const> = [[
:root{--ink:#1d1d24;--soft:#5c5c68;--line:#d9d9e0;--back:#fff;--code:#f5f5f8}
@media screen and (prefers-color-scheme:dark){
:root{color-scheme:dark;--ink:#e6e6ec;--soft:#a0a0ac;--line:#3a3a44;--back:#17171b;--code:#212127}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:60rem;background:var(--back);color:var(--ink);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0 1rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}
h3{font-size:1rem;margin:1.4rem 0 .4rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding-bottom:.3rem}
th,td{padding:.25rem 1.1rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
td{max-width:28rem}th{white-space:nowrap;cursor:pointer}th[aria-sort=ascending]:after{content:" \2191"}
th[aria-sort=descending]:after{content:" \2193"}.n{text-align:right;white-space:nowrap}
.wide{margin:.8rem 0}
.note{color:var(--soft);font-size:.85rem}
dl{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.15rem 1rem;margin:.5rem 0;font-size:.9rem}
dt{color:var(--soft)}dd{margin:0;min-width:0}
figure{margin:1.2rem 0;padding:.4rem;background:#fff;border:1px solid var(--line);border-radius:4px;color:#1d1d24}
figure>div{overflow-x:auto}
figure svg{display:block;width:100%;min-width:36rem;height:auto}figcaption{color:#5c5c68;font-size:.85rem}
pre{background:var(--code);padding:.7rem;overflow-x:auto;font-size:.82rem;border-radius:4px}
details{margin:1rem 0}summary{cursor:pointer;color:var(--soft)}
td.t{min-width:14rem}
@media(max-width:32rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}body{padding:1rem .7rem 3rem}}
@media print{body{max-width:none;padding:0}.wide,figure>div,pre{overflow:visible}.wide table{font-size:.62rem}
th,td{padding-right:.6rem}th{white-space:normal}td.t{min-width:7rem}pre{white-space:pre-wrap}
h2,h3,caption{break-after:avoid}figure,tr{break-inside:avoid}figure{margin:.6rem 0}figure svg{min-width:0;max-height:9cm}}
]]

-- A click on a heading sorts its table: numbers by data-v, what has none last. A printed page shows what is folded.
local SCRIPT <const> = [[
document.querySelectorAll("table.sorts th").forEach(function(th){
function sort(){
var row=th.parentNode,k=Array.prototype.indexOf.call(row.children,th),body=th.closest("table").tBodies[0];
var up=th.getAttribute("aria-sort")!=="ascending";
Array.prototype.forEach.call(row.children,function(o){o.removeAttribute("aria-sort")});
th.setAttribute("aria-sort",up?"ascending":"descending");
function key(tr){var td=tr.children[k],v=td.getAttribute("data-v");return v===null?td.textContent:parseFloat(v)}
function order(a,b){var x=key(a),y=key(b),nx=typeof x==="number"&&!isNaN(x),ny=typeof y==="number"&&!isNaN(y);
if(nx!==ny)return nx?-1:1;
var d=nx?x-y:String(x).localeCompare(String(y));return up?d:-d}
Array.prototype.slice.call(body.rows).sort(order).forEach(function(tr){body.appendChild(tr)})}
th.addEventListener("click",sort);
th.addEventListener("keydown",function(e){if(e.key==="Enter"||e.key===" "){e.preventDefault();sort()}})});
addEventListener("beforeprint",function(){document.querySelectorAll("details").forEach(function(d){d.open=true})});
]]

local function facts_of(t)
  local rows <const>, names <const> = {}, {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do rows[i] = {name, t[name]} end
  return parts.values{rows = rows}
end

--- What the report was made from. about: {facts, machine, script}.
local function provenance(about)
  local out <const> = {"<h2>Provenance</h2>", facts_of(about.facts)}
  if about.machine then out[#out + 1] = "<details><summary>Machine</summary>" .. facts_of(about.machine) .. "</details>" end
  if about.script then
    out[#out + 1] = "<details><summary>Script</summary><pre>" .. escaped(about.script) .. "</pre></details>"
  end
  return table.concat(out, "\n")
end

---@param title string
---@param list table[]    the parts of a report
---@param about (fun(): table)?  gives what it was made from
return function(title, list, about)
  local out <const> = {"<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
    .. '<meta name=viewport content="width=device-width,initial-scale=1"><title>' .. escaped(title) .. "</title>\n<style>" .. STYLE
    .. "</style></head><body>\n<h1>" .. escaped(title) .. "</h1>"}
  for i, part in ipairs(list) do out[#out + 1] = parts[part.kind](part, i) end
  if about then out[#out + 1] = provenance(about()) end
  out[#out + 1] = "<script>" .. SCRIPT .. "</script>\n</body></html>\n"
  return table.concat(out, "\n")
end

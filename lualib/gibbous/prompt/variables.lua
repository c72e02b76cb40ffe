--- The variables that the session has made, and what the library holds, each with the line that made it.
local core <const> = require "gibbous.core"
local results <const> = require "gibbous.prompt.results"
local table_text <const> = require "gibbous.text.table"

local M <const> = {}

local own <const> = {}                     -- globals that were there before the session began

--- What is there now is not the user's.
function M.note()
  for name in next, _G do own[name] = true end
end

local function bytes_text(n) return n > 0 and core.bytes_text(n) or "-" end

--- The text of a value, of which only its own __tostring may fail.
local function readable(v)
  local ok <const>, text <const> = pcall(tostring, v)
  return ok and text or "its __tostring fails"
end

--- Kind, a few words, bytes held, the line that made it.
local function row_of(name, v)
  if core.as_tensor(v) ~= nil and core.type(v) == "tensor" then
    local line <const>, bytes <const> = core.made(v)
    return {name, "tensor", ("%s %s"):format(v.shape, v.dtype), bytes > 0 and bytes_text(bytes) or "lazy", line}
  end
  local kind <const> = core.type(v):gsub("^gibbous%.", "")
  local text = ""
  if type(v) == "function" then
    local info <const> = debug.getinfo(v, "S")
    return {name, kind, "", "-", info.what == "C" and "" or ("%s:%d"):format(info.short_src, info.linedefined)}
  end
  local meta <const> = debug.getmetatable(v)
  if type(v) ~= "table" or meta and meta.__tostring then text = readable(v):match "^[^\n]*" end
  return {name, kind, utf8.len(text) and utf8.len(text) > 40 and text:sub(1, utf8.offset(text, 38) - 1) .. "..." or text, "-", ""}
end

--- A table of the session's variables.
function M.who()
  local names <const> = {}
  for name in next, _G do
    if type(name) == "string" and not own[name] then names[#names + 1] = name end
  end
  if #names == 0 then return "no variables yet" end
  table.sort(names)
  local rows <const> = {{"name", "kind", "what", "bytes", "line", "kept"}}
  for i, name in ipairs(names) do
    rows[i + 1] = row_of(name, rawget(_G, name))
    rows[i + 1][6] = results.is_pinned(name) and "by :pin" or ""
  end
  return table_text(rows)
end

--- Holders from one line and for one purpose as one row, the largest sum first.
local function gathered(holders)
  local list <const>, at <const> = {}, {}
  for _, h in ipairs(holders) do
    local key <const> = table.concat({h.line, h.purpose, h.name}, "\0")
    if not at[key] then
      list[#list + 1] = {line = h.line, purpose = h.purpose, name = h.name, bytes = 0, count = 0}
      at[key] = list[#list]
    end
    at[key].bytes, at[key].count = at[key].bytes + h.bytes, at[key].count + 1
  end
  table.sort(list, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return a.line < b.line
  end)
  return list
end

--- What is held: the sums, then the largest holders by line.
function M.memory()
  collectgarbage()
  local report <const> = core.memory.report()
  local sums <const> = tostring(report):match "^[^\n]*\n[^\n]*"
  local rows <const> = {{"bytes", "blocks", "for", "name", "line"}}
  for i, h in ipairs(gathered(report.holders)) do
    rows[i + 1] = {bytes_text(h.bytes), tostring(h.count), h.purpose, h.name, h.line ~= "" and h.line or "-"}
  end
  return #rows > 1 and sums .. "\n" .. table_text(rows) or sums
end

return M

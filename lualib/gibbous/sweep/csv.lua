--- Rows as CSV (RFC 4180) that keeps types: numbers with all their digits, true and false, nothing for nil; every string that
-- could be read as one of these, or begin a comment, is quoted.
local core <const> = require "gibbous.core"
local number <const> = require "gibbous.sweep.number"

local words <const> = {["true"] = true, ["false"] = true, nan = true, inf = true, ["-inf"] = true, na = true, null = true,
  [""] = true}

local function quoted(s) return '"' .. s:gsub('"', '""') .. '"' end

local function field(v)
  if v == nil then return "" end
  if type(v) == "number" then return number.exact(v) end
  if type(v) == "boolean" then return tostring(v) end
  if type(v) == "table" then return quoted(core.json_encode(v)) end
  if v:find '[",\r\n]' or v:find "^[%s#]" or v:find "%s$" or words[v:lower()] or tonumber(v) then return quoted(v) end
  return v
end

---@param top string[]
---@param rows any[][]  with as many places as 'top'
return function(top, rows)
  local lines <const>, n <const> = {}, #top
  local function line(row)
    local cells <const> = {}
    for i = 1, n do cells[i] = field(row[i]) end
    lines[#lines + 1] = table.concat(cells, ",")
  end
  line(top)
  for _, row in ipairs(rows) do line(row) end
  return table.concat(lines, "\n") .. "\n"
end

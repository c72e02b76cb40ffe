--- A frame as text: its size, then names, types and the first rows, as many columns as the window holds.
local counted <const> = require "gibbous.base.counted"
local window <const> = require "gibbous.text.window"
local column <const> = require "gibbous.frame.column"

local ROWS <const>, WORD <const>, NAMES <const> = 10, 24, 60
local WIDTH <const> = 100                                    -- where there is no window

local function length(s) return utf8.len(s) or #s end

--- One line of so many characters, WORD unless it is said.
local function shortened(s, most)
  most = most or WORD
  local line <const> = s:gsub("%c", " ")
  if length(line) <= most then return line end
  return line:sub(1, (utf8.len(line) and utf8.offset(line, most - 1) or most - 1) - 1) .. ".."
end

local function number(v)
  if type(v) == "boolean" then return tostring(v) end
  if v ~= v then return "-" end
  if math.type(v) == "integer" or v == math.floor(v) and math.abs(v) < 1e15 then return ("%.0f"):format(v) end
  return ("%.6g"):format(v)
end

--- The text of the first n cells.
local function cells(c, n)
  local out <const> = {}
  if c.words then
    for i, s in ipairs(c.words(n)) do
      if i > n then break end
      out[i] = shortened(s)
    end
  else
    local list <const> = n > 0 and c.value:slice(1, 1, n):totable() or {}
    for i, v in ipairs(list) do out[i] = math.type(v) == "integer" and ("%d"):format(v) or number(v) end
  end
  return out
end

--- Name, type and cells, as wide as the widest; numbers stand at the right.
local function block(c, n)
  local lines <const> = {shortened(c.name), column.kind(c)}
  if c.fault then
    for i = 1, n do lines[i + 2] = "?" end
  else
    table.move(cells(c, n), 1, n, 3, lines)
  end
  local width = 0
  for _, s in ipairs(lines) do width = math.max(width, length(s)) end
  local is_number <const> = c.value ~= nil and not c.words
  for i, s in ipairs(lines) do
    local pad <const> = (" "):rep(width - length(s))
    lines[i] = is_number and pad .. s or s .. pad
  end
  return lines, width
end

--- The blocks that fit side by side, and how many columns are left out at the right.
local function fitting(columns, n)
  local room <const> = window.columns() or WIDTH
  local blocks <const>, used = {}, 0
  for i, c in ipairs(columns) do
    local lines <const>, width <const> = block(c, n)
    if i > 1 and used + width + 2 > room then return blocks, #columns - i + 1 end
    blocks[i], used = lines, used + width + 2
  end
  return blocks, 0
end

return function(f)
  local columns <const>, n <const> = rawget(f, "_columns"), math.min(#f, ROWS)
  local blocks <const>, left <const> = fitting(columns, n)
  local out <const> = {("frame of %s, %s"):format(counted(#f, "row"), counted(#columns, "column"))}
  for i = 1, #columns > 0 and n + 2 or 0 do
    local line <const> = {}
    for k, lines in ipairs(blocks) do line[k] = lines[i] end
    out[#out + 1] = ("  " .. table.concat(line, "  ")):gsub("%s+$", "")
  end
  if #f > n then out[#out + 1] = ("  .. %s more"):format(counted(#f - n, "row")) end
  if left > 0 then
    out[#out + 1] = ("  .. %s more: %s"):format(counted(left, "column"),
      shortened(table.concat(rawget(f, "_names"), ", ", #columns - left + 1), NAMES))
  end
  return table.concat(out, "\n")
end

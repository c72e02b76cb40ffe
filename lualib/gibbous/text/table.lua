--- Rows of cells as aligned text, the first row a heading with a rule below it; empty columns are left out. Where the window is too
-- narrow, each row becomes lines of heading and cell.
local window <const> = require "gibbous.text.window"

local function length(cell) return utf8.len(cell) or #cell end

local function padded(cell, width) return cell .. (" "):rep(width - length(cell)) end

--- The widths of the columns that have a cell, and of the whole.
local function measured(rows)
  local width <const>, used <const>, total = {}, {}, -2
  for r, row in ipairs(rows) do
    for c, cell in ipairs(row) do
      width[c] = math.max(width[c] or 0, length(cell))
      if r > 1 and cell ~= "" then used[c] = true end
    end
  end
  for c in pairs(used) do total = total + width[c] + 2 end
  return width, used, math.max(total, 0)
end

local function side_by_side(rows, width, used, total)
  local lines <const> = {}
  for r, row in ipairs(rows) do
    local cells <const> = {}
    for c, cell in ipairs(row) do
      if used[c] then cells[#cells + 1] = padded(cell, width[c]) end
    end
    lines[#lines + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
    if r == 1 then lines[#lines + 1] = ("-"):rep(total) end
  end
  return table.concat(lines, "\n")
end

local function one_below_another(rows)
  local headings <const>, blocks <const>, widest = rows[1], {}, 0
  for _, heading in ipairs(headings) do widest = math.max(widest, length(heading)) end
  for r = 2, #rows do
    local lines <const> = {}
    for c, cell in ipairs(rows[r]) do
      if cell ~= "" then lines[#lines + 1] = padded(headings[c] or "", widest) .. "  " .. cell end
    end
    blocks[#blocks + 1] = table.concat(lines, "\n")
  end
  return table.concat(blocks, "\n\n")
end

return function(rows)
  local width <const>, used <const>, total <const> = measured(rows)
  local columns <const> = window.columns()
  if columns and total > columns and #rows > 1 then return one_below_another(rows) end
  return side_by_side(rows, width, used, total)
end

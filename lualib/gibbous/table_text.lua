--- Rows of cells as aligned text, the first row a heading with a rule below it; empty columns are left out.
return function(rows)
  local width <const>, used <const> = {}, {}
  for r, row in ipairs(rows) do
    for c, cell in ipairs(row) do
      width[c] = math.max(width[c] or 0, utf8.len(cell) or #cell)
      if r > 1 and cell ~= "" then used[c] = true end
    end
  end
  local lines <const> = {}
  for r, row in ipairs(rows) do
    local cells <const> = {}
    for c, cell in ipairs(row) do
      if used[c] then cells[#cells + 1] = cell .. (" "):rep(width[c] - (utf8.len(cell) or #cell)) end
    end
    lines[#lines + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
    if r == 1 then
      local total = -2
      for c in pairs(used) do total = total + width[c] + 2 end
      lines[#lines + 1] = ("-"):rep(math.max(total, 0))
    end
  end
  return table.concat(lines, "\n")
end

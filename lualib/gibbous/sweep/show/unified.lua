--- What two texts differ in, by lines, as `diff -u` shows it.
local M <const> = {}

local CONTEXT <const> = 3
local LARGEST <const> = 1e6                -- cells of the table of common lines

local function lines_of(text)
  local out <const> = {}
  if text == "" then return out end
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do out[#out + 1] = line end
  return out
end

--- Edits from a to b, {" " | "-" | "+", line}, by the longest common subsequence of what is between the equal first and last lines.
local function edits(a, b)
  local first, last = 0, 0
  while first < #a and first < #b and a[first + 1] == b[first + 1] do first = first + 1 end
  while last < #a - first and last < #b - first and a[#a - last] == b[#b - last] do last = last + 1 end
  local n <const>, m <const>, out <const> = #a - first - last, #b - first - last, {}
  for i = 1, first do out[i] = {" ", a[i]} end
  local common <const> = {}                -- [i][j]: of a's lines from i and b's from j
  local small <const> = n * m <= LARGEST
  for i = n + 1, 1, -1 do
    common[i] = {}
    for j = small and m + 1 or 0, 1, -1 do
      if i > n or j > m then common[i][j] = 0
      elseif a[first + i] == b[first + j] then common[i][j] = common[i + 1][j + 1] + 1
      else common[i][j] = math.max(common[i + 1][j], common[i][j + 1]) end
    end
  end
  local i, j = 1, 1
  while i <= n or j <= m do
    local x <const>, y <const> = i <= n and a[first + i], j <= m and b[first + j]
    if small and x and y and x == y then
      out[#out + 1] = {" ", x}
      i, j = i + 1, j + 1
    elseif x and (not y or not small or common[i + 1][j] >= common[i][j + 1]) then
      out[#out + 1], i = {"-", x}, i + 1
    else
      out[#out + 1], j = {"+", y}, j + 1
    end
  end
  for k = #a - last + 1, #a do out[#out + 1] = {" ", a[k]} end
  return out
end

--- Runs of edits with the lines around them: {first, last} into the list of edits.
local function hunks(list)
  local out <const> = {}
  for i, e in ipairs(list) do
    if e[1] ~= " " then
      local h <const> = out[#out]
      if h and i - CONTEXT <= h[2] + 1 then h[2] = math.min(i + CONTEXT, #list)
      else out[#out + 1] = {math.max(1, i - CONTEXT), math.min(i + CONTEXT, #list)} end
    end
  end
  return out
end

--- "first,count" of lines; where there is none, the line before.
local function span(before, count)
  return count == 1 and tostring(before + 1) or ("%d,%d"):format(count == 0 and before or before + 1, count)
end

--- The difference as text, nil where there is none.
---@return string?
function M.diff(a, b, name_a, name_b)
  if a == b then return nil end
  local list <const> = edits(lines_of(a), lines_of(b))
  local out <const> = {"--- " .. name_a, "+++ " .. name_b}
  local at, old, new = 1, 0, 0             -- edits, lines of a and of b before them
  for _, h in ipairs(hunks(list)) do
    local removed, added = 0, 0
    while at < h[1] do at, old, new = at + 1, old + 1, new + 1 end
    local body <const> = {}
    for i = h[1], h[2] do
      local kind <const> = list[i][1]
      removed, added = removed + (kind == "+" and 0 or 1), added + (kind == "-" and 0 or 1)
      body[#body + 1] = kind .. list[i][2]
    end
    out[#out + 1] = ("@@ -%s +%s @@"):format(span(old, removed), span(new, added))
    out[#out + 1] = table.concat(body, "\n")
    at, old, new = h[2] + 1, old + removed, new + added
  end
  return #out > 2 and table.concat(out, "\n") or nil
end

return M

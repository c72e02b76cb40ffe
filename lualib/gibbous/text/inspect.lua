--- Values as readable text for the prompt: tables with sorted keys, to a depth of 4 and 50 entries; cycles are marked.
local core <const> = require "gibbous.core"

local most_depth <const>, most_items <const> = 4, 50
local WIDTH <const> = 100                  -- columns, unless the caller says

local width = WIDTH                        -- of the text in progress

local function is_name(k) return type(k) == "string" and k:match "^[%a_][%w_]*$" ~= nil end

local function sorted_keys(t)
  local keys <const>, n <const> = {}, #t
  for k in next, t do
    if not (math.type(k) == "integer" and k >= 1 and k <= n) then keys[#keys + 1] = k end
  end
  table.sort(keys, function(a, b)
    if type(a) == "number" and type(b) == "number" then return a < b end
    if type(a) ~= type(b) then return type(a) < type(b) end
    return tostring(a) < tostring(b)
  end)
  return keys, n
end

local function first_line(v) return (tostring(v):match "^[^\n]*") end

local function quoted(s) return ("%q"):format(s):gsub("\\\n", "\\n") .. "" end

--- A number; NaN without the sign that its bits may have.
local function number(v) return v ~= v and "nan" or tostring(v) end

local show

local function key_text(k, path, depth)
  return is_name(k) and k or ("[%s]"):format(show(k, path, depth + 1))
end

local function entries(t, path, depth)
  local keys <const>, n <const> = sorted_keys(t)
  local cells <const>, total <const> = {}, n + #keys
  for i = 1, math.min(n, most_items) do cells[i] = show(rawget(t, i), path, depth + 1) end
  for _, k in ipairs(keys) do
    if #cells >= most_items then break end
    cells[#cells + 1] = key_text(k, path, depth) .. " = " .. show(rawget(t, k), path, depth + 1)
  end
  if total > #cells then cells[#cells + 1] = ("... %d more"):format(total - #cells) end
  return cells
end

local function table_text(t, path, depth)
  if path[t] then return "<cycle>" end
  if depth > most_depth then return "{...}" end
  path[t] = true
  local cells <const> = entries(t, path, depth)
  path[t] = nil
  local line <const> = "{" .. table.concat(cells, ", ") .. "}"
  if #line <= width - 2 * depth and not line:find "\n" then return line end
  local pad <const> = ("  "):rep(depth)
  return "{\n" .. pad .. table.concat(cells, ",\n" .. pad) .. "\n" .. ("  "):rep(depth - 1) .. "}"
end

--- 'v' inside a table: tensors and other objects by their first line only.
function show(v, path, depth)
  if type(v) == "string" then return quoted(v) end
  if type(v) == "number" then return number(v) end
  if core.as_tensor(v) ~= nil then
    if core.type(v) == "tensor" and v.numel ~= 1 then return ("<tensor %s %s>"):format(v.shape, v.dtype) end
    return first_line(v)
  end
  if type(v) ~= "table" then return tostring(v) end
  local meta <const> = debug.getmetatable(v)
  if meta and meta.__tostring then return "<" .. first_line(v) .. ">" end
  return table_text(v, path, depth)
end

--- A function or a part of the library by its name and what the documentation says first; nil for what is neither.
local function documented(v)
  if type(v) ~= "function" and type(v) ~= "table" then return nil end
  local e <const> = require "gibbous.reference".of_value(v)
  if e == nil then return nil end
  local kind <const> = type(v) == "function" and "function" or "part of the library"
  local line <const> = e.line:gsub("%.$", "")
  local said <const> = ("%s: %s, %s (?%s)"):format(e.name, kind, line, e.name)
  return require "gibbous.reference.text".wrapped(said, width, "", "  ")
end

--- The text the prompt prints for a value, in so many columns. A tensor of one element prints as its number and says that it is a
-- tensor.
local function inspect(v, columns)
  width = columns and math.min(columns, WIDTH) or WIDTH
  local known <const> = documented(v)
  if known then return known end
  if core.type(v) == "tensor" and v.numel == 1 then return ("%s  (a tensor of %s)"):format(v, v.dtype) end
  if type(v) == "table" then
    local meta <const> = debug.getmetatable(v)
    if not (meta and meta.__tostring) then return table_text(v, {}, 1) end
  elseif type(v) == "string" then
    return quoted(v)
  elseif type(v) == "number" then
    return number(v)
  end
  return tostring(v)
end

return inspect

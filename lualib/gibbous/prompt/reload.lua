--- Reads modules again whose files have changed: those written in Lua that the user required. Functions are put into the table that
-- the module gave, so that all code that holds the table calls the new ones; data that is there already stays.
local M <const> = {}

local known <const> = {}                   -- module to {path, text}; false: not a file of Lua

local function contents(path)
  local f <close> = io.open(path, "rb")
  return f and f:read "a"
end

local function is_library(name) return name == "gibbous" or name:sub(1, 8) == "gibbous." end

--- Looks which modules were required since the last look.
function M.note()
  for name in next, package.loaded do
    if known[name] == nil and type(name) == "string" then
      local path <const> = not is_library(name) and package.searchpath(name, package.path)
      local text <const> = path and contents(path)
      known[name] = text and {path = path, text = text} or false
    end
  end
end

--- Puts the functions of 'new' into 'old', also those in tables within; names that are new come with any value.
local function patch(old, new, done, count)
  done[new] = true
  for key, value in next, new do
    local there <const> = rawget(old, key)
    if type(value) == "function" then
      count[there == nil and "new" or "replaced"] = count[there == nil and "new" or "replaced"] + 1
      rawset(old, key, value)
    elseif there == nil then
      rawset(old, key, value)
    elseif type(value) == "table" and type(there) == "table" and value ~= there and not done[value] then
      patch(there, value, done, count)
    end
  end
end

local function said(name, count)
  return ("%s: %d function%s replaced, %d new"):format(name, count.replaced, count.replaced == 1 and "" or "s", count.new)
end

--- Runs the changed text. Where it fails, the module stays as it is.
local function again(name, module, text)
  local chunk <const>, message <const> = load(text, "@" .. module.path, "t")
  if not chunk then return ("%s: not reloaded: %s"):format(name, message) end
  local ok <const>, value <const> = pcall(chunk, name, module.path)
  if not ok then return ("%s: not reloaded: %s"):format(name, tostring(value)) end
  module.text = text
  local old <const> = package.loaded[name]
  if type(old) ~= "table" or type(value) ~= "table" then
    if value ~= nil then package.loaded[name] = value end
    return ("%s: run again; it gives no table to put functions into, so require it again"):format(name)
  end
  local count <const> = {replaced = 0, new = 0}
  patch(old, value, {}, count)
  return said(name, count)
end

--- A line for each module whose file has changed.
function M.changed()
  M.note()
  local names <const>, lines <const> = {}, {}
  for name, module in next, known do
    if module then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local module <const> = known[name]
    local text <const> = contents(module.path)
    if text == nil then lines[#lines + 1] = ("%s: %s cannot be read"):format(name, module.path)
    elseif text ~= module.text then lines[#lines + 1] = again(name, module, text) end
  end
  if #lines > 0 then return table.concat(lines, "\n") end
  return #names == 0 and "no module in Lua was required" or
    ("nothing has changed in %s"):format(table.concat(names, ", "))
end

return M

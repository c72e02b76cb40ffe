--- Reads modules again whose files have changed: those written in Lua that the user required. Functions are put into the table that
-- the module gave, so that all code that holds the table calls the new ones; data that is there already stays.
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"

local M <const> = {}

local known <const> = {}                   -- module to {path, text, stamp}; false: not a file of Lua
local automatic = false                    -- before each entry

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
      local stamp <const> = path and core.file_stamp(path)
      local text <const> = path and contents(path)
      known[name] = text and {path = path, text = text, stamp = stamp} or false
    end
  end
end

--- Puts the functions of 'new' into 'old', also those in tables within; names that are new come with any value. 'kept' gets the new
-- tables with the old ones that stay in their place.
local function patch(old, new, kept, count)
  kept[new] = old
  for key, value in next, new do
    local there <const> = rawget(old, key)
    if type(value) == "function" then
      count[there == nil and "new" or "replaced"] = count[there == nil and "new" or "replaced"] + 1
      rawset(old, key, value)
    elseif there == nil then
      rawset(old, key, value)
    elseif type(value) == "table" and type(there) == "table" and value ~= there and not kept[value] then
      patch(there, value, kept, count)
    end
  end
end

--- Lets the new functions use the tables that stay in place of those that were made beside them. 'kept': the new tables to the old.
local function use_kept(f, kept, done)
  done[f] = true
  for i = 1, math.huge do
    local name <const>, value <const> = debug.getupvalue(f, i)
    if name == nil then break end
    if kept[value] then debug.setupvalue(f, i, kept[value])
    elseif type(value) == "function" and not done[value] then use_kept(value, kept, done) end
  end
end

local function said(name, count)
  return ("%s: %s replaced, %d new"):format(name, counted(count.replaced, "function"), count.new)
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
  local count <const>, kept <const>, done <const> = {replaced = 0, new = 0}, {}, {}
  patch(old, value, kept, count)
  for new in next, kept do
    for _, f in next, new do
      if type(f) == "function" and not done[f] then use_kept(f, kept, done) end
    end
  end
  return said(name, count)
end

local function names_of_modules()
  local names <const> = {}
  for name, module in next, known do
    if module then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- A line where the module's file has changed, or is gone.
local function look(name, module)
  module.stamp = core.file_stamp(module.path)
  local text <const> = contents(module.path)
  if text == nil then return ("%s: %s cannot be read"):format(name, module.path) end
  return text ~= module.text and again(name, module, text) or nil
end

--- A line for each module whose file has changed.
function M.changed()
  M.note()
  local names <const>, lines <const> = names_of_modules(), {}
  for _, name in ipairs(names) do lines[#lines + 1] = look(name, known[name]) end
  if #lines > 0 then return table.concat(lines, "\n") end
  return #names == 0 and "no module in Lua was required" or
    ("nothing has changed in %s"):format(table.concat(names, ", "))
end

function M.automatic(on) automatic = on end

function M.is_automatic() return automatic end

--- Before an entry: reads again what has another stamp than at the last look. The lines to say, nil where there are none.
function M.before_entry()
  if not automatic then return nil end
  M.note()
  local lines <const> = {}
  for _, name in ipairs(names_of_modules()) do
    local module <const> = known[name]
    if core.file_stamp(module.path) ~= module.stamp then lines[#lines + 1] = look(name, module) end
  end
  return #lines > 0 and table.concat(lines, "\n") or nil
end

return M

--- Declarations of all names for editors (LuaLS): the files of lualib/gibbous/meta/ as they are, a module that gives the table gb,
--- and settings that find them.
local areas <const> = require "gibbous.reference.areas"
local core <const> = require "gibbous.core"
local counted <const> = require "gibbous.base.counted"

-- Not of scripts.
local LEFT_OUT <const> = {core = true, shell = true}

local MODULE <const> = [[
---@meta gibbous

---@type gibbous
local gb = {}
return gb
]]

local SETTINGS <const> = [[
{
  "runtime.version": "Lua 5.4",
  "workspace.library": ["library"]
}
]]

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

local function make_directory(path)
  if not os.execute("mkdir -p -- " .. quoted(path)) then core.raise("io", ("cannot make the directory %s"):format(path)) end
end

--- Writes into a directory, which is made where it is not there: library/gibbous.lua, library/gibbous/*.lua, and .luarc.json, which
--- stays as it is where there is one.
return function(directory)
  local library <const> = directory .. "/library"
  make_directory(library .. "/gibbous")
  core.text_write(library .. "/gibbous.lua", MODULE)
  local count = 1
  for _, area in ipairs(areas) do
    local source <const> = not LEFT_OUT[area[1]] and core.source("gibbous.meta." .. area[1])
    if source then
      core.text_write(("%s/gibbous/%s.lua"):format(library, area[1]), source)
      count = count + 1
    end
  end
  print(("%s of declarations in %s"):format(counted(count, "file"), library))
  local settings <const> = directory .. "/.luarc.json"
  if core.file_exists(settings) then
    print(('%s is there and stays: it needs "workspace.library": ["%s"]'):format(settings, library))
    return
  end
  core.text_write(settings, SETTINGS)
  print("settings in " .. settings)
end

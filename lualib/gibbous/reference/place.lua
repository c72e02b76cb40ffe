--- Where a function of the library is written, as a path in its source tree.
local core <const> = require "gibbous.core"

local M <const> = {}

local in_c = nil                           -- paths of C files by the names they give to functions; read when first asked for

--- Module gibbous.places is a text that the build makes of host/lua: a line "name path" for each function.
local function paths_in_c(name)
  if not in_c then
    in_c = {}
    for one, path in require "gibbous.places":gmatch "([%w_]+) (%S+)" do
      in_c[one] = in_c[one] and in_c[one] .. ", " .. path or path
    end
  end
  return in_c[name]
end

local function walked(value, path)
  for name in path:gmatch "[%w_]+" do
    if type(value) ~= "table" then return nil end
    local ok <const>, inner <const> = pcall(function() return value[name] end)
    value = ok and inner or nil
  end
  return value
end

--- The function that an entry is about; nil for one that belongs to values.
local function function_of(e)
  local path <const> = e.name:match "^gb%.([%w_.]+)$"
  if path then return walked(require "gibbous", path) end
  local method <const> = e.name:match "^tensor:([%w_]+)$"
  return method and rawget(core.methods, method)
end

--- "lualib/gibbous/data/init.lua:215", "host/lua/shape.c"; nil where that is not known. f: the function, if it is at hand.
function M.of(e, f)
  f = f or e.kind ~= "class" and function_of(e)
  local meta <const> = type(f) == "table" and getmetatable(f)
  if type(meta) == "table" then f = rawget(meta, "__call") end
  if type(f) ~= "function" then return nil end
  local info <const> = debug.getinfo(f, "S")
  if info.what ~= "C" then return ("lualib/%s:%d"):format(info.short_src, info.linedefined) end
  return paths_in_c(e.name:match "([%w_]+)$")
end

return M

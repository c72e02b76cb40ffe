--- Which documented class a value is of. Metatables are read raw: asking runs no code of the value.
local M <const> = {}

-- What the metatable of a value calls itself, where documentation has another name for it.
local renamed <const> = {["gibbous.csv"] = "gibbous.frame"}

local function module_of(value)
  local gb <const> = package.loaded.gibbous
  if rawequal(value, gb) then return "gibbous" end
  if type(gb) ~= "table" then return nil end
  for name, part in next, gb do
    if rawequal(part, value) and type(part) == "table" and type(name) == "string" then return "gb." .. name end
  end
  return nil
end

--- "gibbous.tensor", "gibbous.gp.exact", "gb.linalg", ...; nil for a value that is not the library's.
function M.of(value)
  local kind <const> = type(value)
  if kind ~= "table" and kind ~= "userdata" then return nil end
  local meta <const> = debug.getmetatable(value)
  local name <const> = type(meta) == "table" and rawget(meta, "__name")
  -- The name of tensors goes on with what messages of Lua should say of them.
  local class <const> = type(name) == "string" and name:match "^gibbous%.[%w_.]*[%w_]"
  if class then return renamed[class] or class end
  return kind == "table" and module_of(value) or nil
end

return M

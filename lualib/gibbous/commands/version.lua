--- gibbous version: the version, how the program was built, the versions of the libraries that it is linked with, and which of the
--- parts that need more than the rest are there.
local core <const> = require "gibbous.core"

--- "OpenBLAS 0.3.21" of what the device says of its BLAS.
local function blas() return core.devices()[1].blas:match "^%S+ [%d.]+" or core.devices()[1].blas end

local function facts()
  local libraries <const> = core.libraries()
  libraries.blas = blas()
  return {gibbous = core.version, lua = _VERSION, build = core.build, dirty = core.build.commit:find "%-dirty$" ~= nil,
    libraries = libraries, parts = core.parts()}
end

local function joined(t, form)
  local list <const> = {}
  for name, v in pairs(t) do list[#list + 1] = form(name, v) end
  table.sort(list)
  return table.concat(list, ", ")
end

return function(json)
  local f <const> = facts()
  if json then return print(core.json_encode(f)) end
  print(("gibbous %s  (%s)"):format(f.gibbous, f.lua))
  print(("commit     %s"):format(f.build.commit))
  print(("build      %s, %s"):format(f.build.kind, f.build.compiler))
  print(("libraries  %s"):format(joined(f.libraries, function(name, v) return name == "blas" and v or name .. " " .. v end)))
  print(("parts      %s"):format(joined(f.parts, function(name, there) return name .. (there and "" or " not built") end)))
end

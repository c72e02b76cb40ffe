--- gb.memory: the memory limit, and a report of what is held.
local core <const> = require "gibbous.core"
local object <const> = require "gibbous.base.object"

local M <const> = {limit = core.memory.limit}

local no_field <const> = object.record("gibbous.memory_report", "the memory report", "").__index
local meta <const> = debug.getmetatable(core.memory.report())     -- its text is the core's

function meta.__index(self, key)
  if debug.getmetatable(self) ~= meta then core.raise("option", "a memory report expected, got " .. core.type(self)) end
  return no_field(self, key)
end

--- Bytes by what they are for, and who holds the most.
M.report = core.memory.report

return require "gibbous.base.names"(M, "gb.memory")

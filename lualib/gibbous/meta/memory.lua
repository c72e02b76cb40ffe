---@meta

---@class gibbous
local gb = {}

---@class gb.memory
gb.memory = {}

--- Sets the memory limit, in bytes or as "1 GiB", of cpu or of another device; gives the previous one. Or of several by name,
--- {["cuda:0"] = "8 GiB", cpu = "4 GiB"}, all or none of them: gives a table of the previous ones. A GPU has no limit above its memory.
---@param size integer|string|table<string, integer|string>|nil
---@param o {device: string}?
---@return integer|table<string, integer>
function gb.memory.limit(size, o) end

--- Bytes by purpose, the peak, and the largest holders with the lines that made them; prints as a table. graph: nodes and plans,
--- beside 'used'; what is more than 64 MiB of it counts against the limit, too. devices: limit, used and peak of the others.
--- mapped: bytes of files that tensors lie in (gb.data.map), in no account.
---@return table
function gb.memory.report() end

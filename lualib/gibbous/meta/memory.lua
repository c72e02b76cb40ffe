---@meta

---@class gibbous
local gb = {}

--- The memory account: every byte that tensors and work take is in it.
---@class gb.memory
gb.memory = {}

---@class gibbous.memory.limit.options
---@field device? string  another device than cpu

--- Sets the memory limit, in bytes or as "1 GiB", of cpu or of another device; gives the previous one. Or of several by name,
--- {["cuda:0"] = "8 GiB", cpu = "4 GiB"}, all or none of them: gives a table of the previous ones. A GPU has no limit above its memory.
---@param size integer|string|table<string, integer|string>|nil
---@param o gibbous.memory.limit.options?
---@return integer|table<string, integer>
---```lua
--- local before = gb.memory.limit "1 GiB"
--- gb.memory.limit(before)
---```
function gb.memory.limit(size, o) end

--- Bytes by purpose, the peak, and the largest holders with the lines that made them; prints as a table. graph: nodes and plans,
--- beside 'used'; what is more than 64 MiB of it counts against the limit, too. devices: limit, used and peak of the others.
--- mapped: bytes of files that tensors lie in (gb.data.map), in no account.
---@return gibbous.memory_report
---```lua
--- print(gb.memory.report().used)
---```
function gb.memory.report() end

--- Bytes by purpose, as gb.memory.report gives them. Prints as a table.
---@class gibbous.memory_report
---@field used integer  bytes held now
---@field peak integer  the most since the last report with reset
---@field limit integer  bytes that may be held
---@field tensor integer  values of tensors
---@field arena integer  intermediate values of plans
---@field workspace integer  work of library calls
---@field cache integer  values that can be computed again
---@field blocks integer  how many pieces
---@field allocations integer  how often memory was asked for
---@field graph integer  nodes and plans, beside 'used'
---@field lua integer  the Lua heap, beside 'used'
---@field mapped integer  files that tensors lie in, in no account
---@field holders table[]  the largest {bytes, what, line}
---@field devices table  limit, used and peak of the other devices
local memory_report = {}

---@meta

---@class gibbous
local gb = {}

--- f over slices: each argument along its dimension (false: whole). f is traced once and must not observe its arguments.
---@param f function
---@param dims integer|(integer|false)[]?  1
---@param o {randomness: "independent"|"same"}?
---@return function
function gb.vmap(f, dims, o) end

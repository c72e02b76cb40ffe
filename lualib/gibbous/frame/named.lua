--- The names of the columns of tensors that frames gave: figures show them. A tensor that is made from such a one has none.
local M <const> = {}

local names <const> = setmetatable({}, {__mode = "k"})

--- Remembers the names of the columns of x (n, k), or of a vector; gives x.
function M.note(x, list)
  names[x] = list
  return x
end

--- The names, nil where there are none.
---@return string[]?
function M.of(x) return names[x] end

return M

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

--- 'to' holds the columns of 'from', in other rows perhaps: it has their names, too. Gives it.
function M.carry(from, to)
  if names[from] then names[to] = names[from] end
  return to
end

--- The name of column j, nil where it has none.
---@return string?
function M.column(x, j) return names[x] and names[x][j] end

return M

--- A table with the same fields, without the metatable.
---@generic T: table
---@param t T
---@return T
return function(t)
  local out <const> = {}
  for key, v in next, t do out[key] = v end
  return out
end

--- Sums in any algebra.
local M <const> = {}

function M.dot(S, a, b)
  local terms <const> = {}
  for i = 1, #a do terms[i] = S.mul(a[i], b[i]) end
  return S.sum(terms)
end

return M

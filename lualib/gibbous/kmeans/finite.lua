--- Points that must be numbers, as a fit says it.
local points <const> = require "gibbous.kmeans.points"

--- Raises where a coordinate of the tensors (n, d) of a list, of floats, is not finite; names its row, over all of them, and
-- column.
return function(list, what)
  local before = 0
  for _, x in ipairs(list) do
    local bad <const> = ~x:isfinite()
    if bad:any() then
      local at <const>, d <const> = bad:reshape(-1):to{dtype = "i64"}:argmax():item() - 1, x.shape[2]
      points.fail("nan", what, "the point in row %d is not finite in column %d", before + at // d + 1, at % d + 1)
    end
    before = before + #x
  end
end

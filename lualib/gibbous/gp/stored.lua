--- Reading what posteriors keep in files.
local core <const> = require "gibbous.core"

local M <const> = {}

--- Tensor 'name' of a saved state, of this dtype and these extents; nil where the file has none. Errors: format.
function M.tensor(r, saved, name, dtype, ...)
  local t <const> = r:value(r:list(saved)[name])
  if t == nil then return nil end
  local fits = core.type(t) == "tensor" and t.ndim == select("#", ...) and t.dtype == dtype
  for i, extent in ipairs{...} do fits = fits and t.shape[i] == extent end
  if not fits then r:fail(("'%s' does not go with the data"):format(name)) end
  return t
end

return M

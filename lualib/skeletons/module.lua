--- NAME: says what the module gives. local NAME = require "NAME"
local gb = require "gibbous"

local M = {}

--- A kernel for a trend with a season: a slow change plus a pattern that repeats. period: in units of x.
function M.seasonal(period)
  return gb.kernels.rbf{lengthscale = 5 * period}:named "trend" + gb.kernels.periodic{period = period}:named "season"
end

return M

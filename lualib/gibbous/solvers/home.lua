--- Where solvers compute: on the session's device alone.
local core <const> = require "gibbous.core"

local M <const> = {}

--- The matrix a, the right-hand side b and the first guess x0, those that there are, and where each lies.
local function places(a, b, x0)
  local out <const> = {}
  if a then out[1] = "the matrix lies on " .. a.device end
  if b then out[#out + 1] = (a and "the right-hand side on " or "the right-hand side lies on ") .. b.device end
  if x0 then out[#out + 1] = "x0 on " .. x0.device end
  return table.concat(out, ", ")
end

--- Raises where a matrix, a right-hand side or a first guess lies on another device than the session's; each may be nil.
function M.check(what, a, b, x0)
  local home <const> = core.config().device
  local far <const> = a and a.device ~= home and a.device or b and b.device ~= home and b.device
    or x0 and x0.device ~= home and x0.device
  if not far then return end
  core.raise("device", ("%s: %s, and iterative solvers work on %s: x:to '%s' moves a tensor, or what a matrix is made of; "
    .. "gb.config{device = '%s'} works there"):format(what, places(a, b, x0), home, home, far))
end

--- Raises where a matrix and a right-hand side, on whatever device, lie on two.
function M.check_one(what, a, b)
  if a.device == b.device then return end
  core.raise("device", ("%s: %s: x:to '%s' moves a tensor, or what a matrix is made of"):format(what, places(a, b), a.device))
end

return M

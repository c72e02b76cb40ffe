--- Who is asked before a fit takes memory: nobody, unless this process runs a trial of a sweep (sweep/run/trial.lua), which
-- then may end the process to be started again where there is more room.
local M <const> = {}

local ask

--- f(peak) is asked from now on; peak() plans the fit and gives its bytes.
function M.answers(f) ask = f end

--- Asks before a fit.
---@param peak fun(): integer
function M.ask(peak)
  if ask then ask(peak) end
end

return M

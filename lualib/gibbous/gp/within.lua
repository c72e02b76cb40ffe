--- How tensors are computed within a budget in bytes: by a plan that must fit it; nil: as gb.eval computes them.
local core <const> = require "gibbous.core"

return function(budget)
  if budget == nil then return core.eval end
  return function(...)
    local plan <const> = core.plan({...}, {budget = budget})
    plan:run()
    plan:close()
  end
end

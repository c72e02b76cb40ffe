--- How tensors are computed within a budget in bytes: by a plan that must fit it; nil: as gb.eval computes them.
-- Either way their history goes, unless a gradient may need it: what is built of them later is planned from their values.
local core <const> = require "gibbous.core"

return function(budget)
  if budget == nil then return core.eval end
  return function(...)
    local plan <const> = core.plan({...}, {budget = budget})
    plan:run()
    plan:close()
  end
end

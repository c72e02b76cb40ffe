--- Searches that learn from what has ended: search = "gp" (gp.lua) and "tpe" (tpe.lua). The first cells are drawn,
-- then the method names each next one. Its random numbers depend on the study's seed and on the number of the cell alone, so with
-- one trial at once a search is the same again; with more it depends on which trials had ended when a cell was asked for.
local core <const> = require "gibbous.core"
local identity <const> = require "gibbous.sweep.run.identity"
local space <const> = require "gibbous.sweep.search.space"

local M <const> = {}

local methods <const> = {gp = "gibbous.sweep.search.gp", tpe = "gibbous.sweep.search.tpe"}

--- Does a study's search learn?
function M.learns(study) return methods[study.search] ~= nil end

--- How many cells are drawn before the method is asked.
local function initial(study) return math.min(study.trials, math.max(5, 2 * #study.space + 1)) end

-- What is known ---------------------------------------------------------------------------------------------------------------

--- The cells that were tried, in order: {cell, value (mean of the metric over repeats that ended well, signed so that less is
-- better; nil while none has), ended (nothing of it runs or waits)}.
local function known(study, store)
  local sign <const> = study.goal == "max" and -1 or 1
  local list <const> = {}
  for _, r in ipairs(store.db:rows [[SELECT cell, AVG(CASE WHEN class = 'ok' THEN metric END) AS mean, MIN(number) AS first,
      SUM(state IN ('pending', 'running')) AS left FROM trial WHERE wanted = 1 GROUP BY cell ORDER BY first]]) do
    list[#list + 1] = {cell = core.json_decode(r.cell), key = r.cell, value = r.mean and sign * r.mean, ended = r.left == 0}
  end
  return list
end

--- Finds the first of the cells that were drawn which was not tried; nil where all were.
local function untried(study, drawn, list)
  local tried <const> = {}
  for _, c in ipairs(list) do tried[c.key] = true end
  for _, u in ipairs(drawn) do
    local cell <const> = space.cell(study.space, u)
    if not tried[identity.cell(cell)] then return cell end
  end
  return nil
end

--- A function that adds a cell to the store where the search wants one, and says whether the study has more cells now. add: takes
-- trials of space.repeated; it adds none where another process has added this cell or the last ones meanwhile.
function M.proposer(study, store, add)
  local next_cell <const> = require(methods[study.search])
  local drawn <const> = space.draws("sobol", initial(study), #study.space, study.seed)
  return function()
    local list <const> = known(study, store)
    if #list >= study.trials then return false end
    local cell <const> = #list < #drawn and untried(study, drawn, list) or next_cell(study, list)
    if not cell and store:value "cells" ~= #list then store:set("cells", #list) end       -- there are no others
    return cell ~= nil and (add(space.repeated(study, cell)) > 0 or #known(study, store) > #list)
  end
end

return M

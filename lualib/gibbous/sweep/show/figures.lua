--- gibbous sweep plot: a figure of a study.
local core <const> = require "gibbous.core"
local results <const> = require "gibbous.sweep.store.results"

local kinds <const> = {}
for _, name in ipairs{"parameters", "runs"} do
  for kind, draw in pairs(require("gibbous.sweep.show.figures_of_" .. name)) do kinds[kind] = draw end
end

local M <const> = {kinds = {"parallel", "slice", "heat", "curve", "importance", "timeline", "pareto"}}

--- A figure of a store. o: kind, metric, goal, x, y, where, trials (else they are read).
---@return gibbous.figure
function M.of(store, o)
  local draw <const> = kinds[o.kind]
  if not draw then
    local near <const> = require "gibbous.base.options".nearest(o.kind, kinds)
    core.raise("option", ("there is no figure '%s'%s; there are %s"):format(o.kind,
      near and (", did you mean '%s'?"):format(near) or "", table.concat(M.kinds, ", ")))
  end
  local trials <const> = results.where(o.trials or results.of(store), o.where)
  local s <const> = {store = store, trials = trials, name = store:value "name" or "sweep"}
  if o.kind ~= "timeline" and not (o.kind == "curve" and #results.fields(trials) == 0) then
    s.metric, s.goal = results.chosen(store, trials, o.metric, o.goal)
  end
  return draw(s, o)
end

return M

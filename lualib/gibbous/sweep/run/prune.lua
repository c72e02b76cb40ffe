--- When a trial is stopped because others were better at the same step.
local M <const> = {}

local FEWEST <const> = 5                   -- trials to compare with

--- For each other trial that got as far as 'step': its best value up to there.
local function others(store, row, step, sign, within, params)
  local list <const> = {}
  local same <const> = {"t.wanted = 1", "t.id <> ?"}
  local values <const> = {row.id}
  for _, name in ipairs(within) do
    same[#same + 1] = ("json_extract(t.params, '$.%s') IS ?"):format(name)
    values[#values + 1] = params[name]
  end
  local rows <const> = store.db:rows(([[SELECT MIN(? * r.value) AS best FROM report r JOIN trial t ON t.id = r.trial
    WHERE %s AND r.step <= ? GROUP BY r.trial
    HAVING (SELECT MAX(step) FROM report WHERE trial = r.trial) >= ?]]):format(table.concat(same, " AND ")), sign,
    table.unpack(M.flat(values, step, step)))
  for _, r in ipairs(rows) do list[#list + 1] = r.best end
  table.sort(list)
  return list
end

function M.flat(list, ...)
  local out <const> = {table.unpack(list)}
  for _, v in ipairs{...} do out[#out + 1] = v end
  return out
end

--- The step of the last rung of a halving at or below 'step', nil below the first: start, start * factor, ...
local function rung(rule, step)
  if step < rule.start then return nil end
  return rule.start * rule.factor ^ math.floor(math.log(step / rule.start) / math.log(rule.factor) + 1e-9)
end

--- Should the trial stop, whose best value up to 'step' is 'best'? rule: of the study; goal "min" or "max". Gives the words for
-- why.
function M.verdict(store, row, params, rule, goal, step, best)
  local sign <const> = goal == "max" and -1 or 1
  local at <const> = rule.rule == "halving" and rung(rule, step) or step
  if step < rule.start or at ~= step then return nil end
  local list <const> = others(store, row, step, sign, rule.within, params)
  if #list < FEWEST then return nil end
  local share <const> = rule.rule == "halving" and 1 / rule.factor or 0.5
  local bound <const> = list[math.max(1, math.ceil(share * #list))]
  if sign * best <= bound then return nil end
  return ("pruned at step %g: its best value %g is beyond %g, which %s of %d trials reached"):format(step, best, sign * bound,
    rule.rule == "halving" and ("a share of 1/%d"):format(rule.factor) or "half", #list)
end

return M

--- What a sweep says of itself: lines for terminals and logs.
local core <const> = require "gibbous.core"
local failure <const> = require "gibbous.sweep.run.failure"

local M <const> = {}

--- A parameter as a word: strings without quotes where they need none, as one that looks like a number does.
local function word(v)
  if type(v) == "string" and v:match "^[%w_.:/-]+$" and not tonumber(v) and v ~= "true" and v ~= "false" then return v end
  return core.json_encode(v)
end

--- "data=kin40k rank=15", sorted by name.
function M.params(json)
  local p <const>, names <const>, out <const> = core.json_decode(json), {}, {}
  for name in pairs(p) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do out[i] = name .. "=" .. word(p[name]) end
  return table.concat(out, " ")
end

--- 75 s as "1:15", an hour as "1:00:00".
function M.duration(seconds)
  local s <const> = math.floor(seconds + 0.5)
  if s < 3600 then return ("%d:%02d"):format(s // 60, s % 60) end
  return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60)
end

--- Numbers of trials: {done, failed, pending, running, total} and by class. One whose process is gone is pending.
function M.tally(store)
  local t <const> = {done = 0, failed = 0, pending = 0, running = 0, total = 0, class = {}}
  for _, row in ipairs(store:counts()) do
    t[row.state] = t[row.state] + row.n
    t.total = t.total + row.n
    if row.class and row.state ~= "pending" then t.class[row.class] = (t.class[row.class] or 0) + row.n end
  end
  if t.running > 0 then
    for _ in pairs(store:lost()) do t.running, t.pending = t.running - 1, t.pending + 1 end
  end
  return t
end

--- The best trial by the study's metric; nil where there is none.
function M.best(study, store)
  if not study.metric then return nil end
  return store.db:rows(([[SELECT * FROM trial WHERE wanted = 1 AND class = 'ok' AND metric IS NOT NULL ORDER BY metric %s, number
    LIMIT 1]]):format(study.goal == "max" and "DESC" or "ASC"))[1]
end

--- One line of how far the sweep is.
function M.status(study, store, running, seconds)
  local t <const> = M.tally(store)
  local parts <const> = {("%s  %d/%d"):format(study.name, t.done + t.failed, t.total), ("%d running"):format(running)}
  if t.failed > 0 then parts[#parts + 1] = ("%d failed"):format(t.failed) end
  local best <const> = M.best(study, store)
  if best then parts[#parts + 1] = ("best %s %.6g (trial %d)"):format(study.metric, best.metric, best.number) end
  local ended <const> = store.db:rows("SELECT COUNT(*) AS n FROM trial WHERE wanted = 1 AND ended >= ?", os.time() - seconds)[1].n
  if ended > 0 and t.pending + t.running > 0 then
    parts[#parts + 1] = M.duration(seconds / ended * (t.pending + t.running)) .. " left"
  end
  return table.concat(parts, "  ")
end

--- What is said of a trial that failed, at once.
function M.failed(row, store)
  local first <const> = (row.message or ""):match "^[^\n]*"
  return ("gibbous: trial %d (%s) failed: %s: %s\n         log: %s/log.txt"):format(row.number, M.params(row.params), row.class,
    first, store:folder_of(row.id))
end

--- How the study stands, in words.
function M.summary(study, store)
  local t <const>, parts <const> = M.tally(store), {}
  for _, class in ipairs(failure.classes) do
    if t.class[class] then parts[#parts + 1] = ("%d %s"):format(t.class[class], class) end
  end
  if t.pending > 0 then parts[#parts + 1] = ("%d pending"):format(t.pending) end
  if t.running > 0 then parts[#parts + 1] = ("%d running"):format(t.running) end
  local lines <const> = {("%s: %d trials: %s"):format(study.name, t.total, #parts > 0 and table.concat(parts, ", ") or "none yet")}
  local best <const> = M.best(study, store)
  if best then
    lines[2] = ("best %s: %.6g, trial %d (%s)"):format(study.metric, best.metric, best.number, M.params(best.params))
  end
  return table.concat(lines, "\n")
end

return M

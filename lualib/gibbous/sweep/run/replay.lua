--- gibbous sweep replay: runs a trial that ended again, in a store of its own, and compares what came out, bit for bit.
local core <const> = require "gibbous.core"
local coordinator <const> = require "gibbous.sweep.run.coordinator"
local results <const> = require "gibbous.sweep.store.results"
local store <const> = require "gibbous.sweep.store"

--- A store with this trial alone, pending, with its number, seed and bytes.
local function scratch(folder, t, name)
  local self <const> = store.open(folder, "create", "sqlite")
  local row <const> = t.row
  self:add({{id = row.id, params = row.params, cell = row.cell, seed = row.seed}}, row.code)
  self.db:run("UPDATE trial SET number = ?, need = ? WHERE id = ?", row.number, row.room, row.id)
  self:set("name", name)
  return self
end

--- Names of the fields of results that differ, sorted, but for those of a set.
local function differing(a, b, except)
  local seen <const>, out <const> = {}, {}
  for _, t in ipairs{a, b} do
    for name in pairs(t) do
      local same <const> = a[name] ~= nil and b[name] ~= nil and results.key(a[name]) == results.key(b[name])
      if not seen[name] and not except[name] and not same then out[#out + 1] = name end
      seen[name] = true
    end
  end
  table.sort(out)
  return out
end

--- The first step at which the reports of two stores differ; nil where none does.
local function first_difference(a, b)
  for i = 1, math.max(#a, #b) do
    local x <const>, y <const> = a[i], b[i]
    if not x or not y or x.step ~= y.step or x.value ~= y.value then return (x or y).step end
  end
  return nil
end

local function said(v) return v == nil and "nothing" or results.key(v) end

--- "a,b" as a set.
local function set_of(text)
  local out <const> = {}
  for name in (text or ""):gmatch "[^,%s]+" do out[name] = true end
  return out
end

local function check(t, code)
  if t.row.state ~= "done" and t.row.state ~= "failed" then
    core.raise("option", ("trial %d is %s: only what has ended can be compared"):format(t.number, t.row.state))
  end
  if t.state == "pruned" then
    core.raise("option", ("trial %d was pruned: other trials ended it, which a trial alone does not meet"):format(t.number))
  end
  if t.row.code ~= code then
    io.stderr:write(("gibbous: the code has changed since trial %d ran: what differs may be due to it\n"):format(t.number))
  end
end

--- The folder of a scratch store, removed when the value goes out of scope.
local function scratch_folder()
  local folder <const> = os.tmpname()
  os.remove(folder)
  return folder, setmetatable({}, {__close = function() core.child{"rm", "-rf", "--", folder}:reap() end})
end

--- What differs between two runs of a trial, as lines.
local function differences(t, again, reports, reports_again, except)
  local lines <const> = {}
  if again.state ~= t.state then
    local why <const> = again.row.message and ": " .. again.row.message:match "^[^\n]*" or ""
    lines[1] = ("it ended as %s, then as %s%s"):format(t.state, again.state, why)
  end
  for _, name in ipairs(differing(t.result, again.result, except)) do
    lines[#lines + 1] = ("%s was %s, is %s"):format(name, said(t.result[name]), said(again.result[name]))
  end
  local step <const> = first_difference(reports, reports_again)
  if step then lines[#lines + 1] = ("reports differ from step %g on"):format(step) end
  return lines
end

--- Runs trial t of a store again by the study of the script at 'path'. o: code, limit, devices, words; except: names of results
-- that may differ, "a,b". Prints what differs. True if nothing does.
return function(study, original, t, path, o)
  check(t, o.code)
  local folder <const>, _ <close> = scratch_folder()
  local self <close> = scratch(folder, t, study.name)
  coordinator.run(study, self, path, {jobs = 1, limit = o.limit, devices = o.devices, words = o.words, quiet = true,
    keep_going = true})
  local again <const>, reports <const> = results.of(self, "id = ?", t.row.id)[1], original:reports(t.row.id)
  local except <const> = set_of(o.except)
  local lines <const> = differences(t, again, reports, self:reports(t.row.id), except)
  if #lines > 0 then
    print(("trial %d differs:\n  %s"):format(t.number, table.concat(lines, "\n  ")))
    return false
  end
  local n = 0
  for name in pairs(t.result) do n = n + (except[name] and 0 or 1) end
  print(("trial %d: the same bits again, %d values and %d reports"):format(t.number, n, #reports))
  return true
end

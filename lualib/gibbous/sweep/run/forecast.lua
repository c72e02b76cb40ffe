--- gibbous sweep plan: what a run would do. The bytes of a cell are those of trials that ended; else the function of its first fit
-- is planned in a process that ends there.
local asked <const> = require "gibbous.sweep.asked"
local changed_data <const> = require "gibbous.sweep.run.changed_data"
local machine <const> = require "gibbous.sweep.run.machine"
local store <const> = require "gibbous.sweep.store"
local text <const> = require "gibbous.sweep.show.text"

local PATIENCE <const> = 30                -- seconds for a cell to come to its first fit
local SHOWN <const> = 40                   -- cells that are listed

--- What a process prints that runs one trial up to its first fit: bytes, or nil and words. o: limit, device.
local function planned(path, params, o)
  local pid <const> = machine.process()
  local said <const>, ended <const> = asked({"dry", path, params, tostring(o.limit), tostring(pid)},
    o.device and {"GIBBOUS_DEVICE=" .. o.device}, PATIENCE)
  local bytes <const> = math.tointeger(tonumber(said:match "need (%d+)\n?$"))
  if bytes then return bytes end
  if not ended then return nil, ("no fit within %d s"):format(PATIENCE) end
  return nil, said:match "plain\n?$" and "no fit: planned when it runs" or said:match "([^\n]+)" or "ended without a word"
end

--- Cells in order: {params (of the first of its trials), trials, done, need, seconds}.
local function cells_of(trials, rows)
  local list <const>, by_cell <const> = {}, {}
  for _, t in ipairs(trials) do
    local c = by_cell[t.cell]
    if not c then
      c = {cell = t.cell, params = t.params, trials = 0, done = 0, seconds = 0}
      by_cell[t.cell], list[#list + 1] = c, c
    end
    c.trials = c.trials + 1
    local row <const> = rows[t.id]
    if row and not row.outdated and (row.state == "done" or row.state == "failed") then
      c.done, c.seconds = c.done + 1, c.seconds + (row.seconds or 0)
    end
    if row then c.need = math.max(c.need or 0, row.peak or row.need or 0) end
    if c.need == 0 then c.need = nil end
  end
  return list
end

--- The trials of the store, by id. outdated: their data files have changed, so that they will run again.
local function rows_by_id(folder)
  local rows <const>, changed <const> = {}, {}
  if not store.is(folder) then return rows end
  local self <close> = store.open(folder, "read")
  for _, data in ipairs(changed_data(self)) do changed[data] = true end
  for _, row in ipairs(self:trials()) do
    row.outdated = row.state == "done" and changed[row.data] or nil
    rows[row.id] = row
  end
  return rows
end

local function mib(bytes) return ("%.1f MiB"):format(bytes / 2 ^ 20) end

--- The mean seconds of trials that ended, of all cells; nil where none has.
local function usual_seconds(cells)
  local n, sum = 0, 0
  for _, c in ipairs(cells) do n, sum = n + c.done, sum + c.seconds end
  return n > 0 and sum / n or nil
end

--- Prints the plan of a study. path: of its script; trials: as the store takes them. o: jobs, limit, device (that they run
-- on). True if every cell fits.
return function(study, path, trials, folder, o)
  local cells <const> = cells_of(trials, rows_by_id(folder))
  local usual <const>, table_rows <const> = usual_seconds(cells), {{"cell", "trials", "done", "bytes", "seconds each", "what"}}
  local left, time, misfits = 0, 0, 0
  for i, c in ipairs(cells) do
    local why
    if not c.need and c.done < c.trials and i <= SHOWN then c.need, why = planned(path, c.params, o) end
    local each <const> = c.done > 0 and c.seconds / c.done or nil
    left, time = left + c.trials - c.done, time + (each or usual or 0) * (c.trials - c.done)
    local fits <const> = not c.need or c.need <= o.limit
    misfits = misfits + (fits and 0 or 1)
    if i <= SHOWN then
      table_rows[#table_rows + 1] = {text.params(c.cell), tostring(c.trials), tostring(c.done), c.need and mib(c.need) or "unknown",
        each and ("%.1f"):format(each) or "", fits and (why or "") or "does not fit the limit"}
    end
  end
  print(require "gibbous.text.table"(table_rows))
  if #cells > SHOWN then print(("and %d cells more"):format(#cells - SHOWN)) end
  print(("%s: %d trials of %d cells, %d to run; %d at once within %s%s"):format(study.name, #trials, #cells, left, o.jobs,
    mib(o.limit), usual and (", about %s"):format(text.duration(time / o.jobs)) or ""))
  if misfits > 0 then print(("%d cells do not fit the limit"):format(misfits)) end
  return misfits == 0
end

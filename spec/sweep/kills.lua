--- Kills coordinators and trials of a study at random moments, until so many were killed.
local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local store <const> = require "gibbous.sweep.store"

local function run(study, jobs)
  return core.child({process.binary, "sweep", "run", study.script, "--store", study.store, "-j", tostring(jobs), "--quiet"}, nil,
    study:path "output.txt")
end

--- Processes of trials that the store has as running.
local function pids(study)
  if not store.is(study.store) then return {} end
  local ok <const>, rows <const> = pcall(function()
    local s <close> = store.open(study.store, "read")
    return s:trials "state = 'running'"
  end)
  local list <const> = {}
  for _, t in ipairs(ok and rows or {}) do
    local _, started <const> = core.process(t.pid)
    if started == t.pid_started then list[#list + 1] = t.pid end
  end
  return list
end

--- Gives numbers of kills: of coordinators, of trials.
return function(study, kills, jobs, seed)
  math.randomseed(seed)
  local coordinators, trials = 0, 0
  while coordinators + trials < kills do
    local child <close> = run(study, jobs)
    local at <const> = core.wait({child}, math.random() * 0.4)
    if at then
      child:reap()
      local s <close> = store.open(study.store, "write")      -- it is done: half of it once more
      s:again("number % 2 = ?", math.random(0, 1))
    elseif math.random() < 0.5 then
      child:signal "kill"
      child:reap()
      coordinators = coordinators + 1
    else
      for _, pid in ipairs(pids(study)) do
        if math.random() < 0.5 then
          os.execute(("kill -9 %d 2>/dev/null"):format(pid))
          trials = trials + 1
        end
      end
      core.wait({child}, math.random() * 0.2)
    end
  end
  return coordinators, trials
end

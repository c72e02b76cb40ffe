--- What coordinators leave behind that are killed, or interrupted again while they end.
local core <const> = require "gibbous.core"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"

local function start(s, ...)
  return core.child({process.binary, "sweep", "run", s.script, "--store", s.store, "--quiet", ...}, nil, s:path "output.txt")
end

local LONGEST <const> = 120                -- seconds that anything here may take, on a slow machine that is busy

--- Waits until f() gives something; what: in words. The error says what f() gave besides, and what the processes of the study said.
local function await(s, what, f)
  local seen
  local deadline <const> = core.clock() + LONGEST
  repeat
    local v
    v, seen = f()
    if v then return v end
    core.wait({}, 0.01)
  until core.clock() > deadline
  error(("%s: not within %d s; seen: %s; said: %s"):format(what, LONGEST, tostring(seen), s:said()), 2)
end

local function number_in(path)
  local f <const> = io.open(path)
  local n <const> = f and math.tointeger(tonumber(f:read "l"))
  if f then f:close() end
  return n
end

--- A look at the trials: state, class and token of each, by number.
local function states(s)
  local lines <const> = {}
  for i, t in ipairs(s:trials()) do lines[i] = ("%d %s %s %s"):format(t.number, t.state, t.class or "-", t.token or "-") end
  return table.concat(lines, "\n")
end

--- Do n trials run? Not yet: what is to be seen. The store may not be there yet.
local function are_running(s, n)
  local ok <const>, running <const> = pcall(s.trials, s, "state = 'running' AND pid <> 0")
  if not ok then return false, running end
  return #running >= n, ok and states(s)
end

for _, carrier in ipairs{"sqlite", "journal"} do
  describe("a coordinator that is killed: " .. carrier, function()
    local s, below

    setup(function()
      s = new [[space = {a = {1, 2}}, metric = "v", run = function(p, trial)
          if not io.open(trial.dir .. "/../../../go") then
            os.execute("sleep 600 & echo $! > " .. trial.dir .. "/pid; wait")
          end
          return {v = p.a}
        end]]
      s.env = "GIBBOUS_STORE=" .. carrier
      local child <close> = core.child({process.binary, "sweep", "run", s.script, "--store", s.store, "--quiet", "-j", "2"},
        {s.env}, s:path "output.txt")
      below = await(s, "two trials have started a process each", function()
        local found <const> = core.glob(s.store .. "/trials/*/pid")
        local pids <const> = {found[1] and number_in(found[1]), found[2] and number_in(found[2])}
        return #pids == 2 and pids, ("%d of them"):format(#found)
      end)
      for _, pid in ipairs(below) do assert(core.process(pid), ("the process %d of a trial is gone: %s"):format(pid, s:said())) end
      os.execute(("kill -9 %d"):format(child:pid()))
      child:reap()
    end)
    teardown(function() s:remove() end)

    it("takes what its trials have started along", function()
      for _, pid in ipairs(below) do
        await(s, ("the process %d, which a trial has started, ends"):format(pid), function()
          return not core.process(pid), "it is there"
        end)
      end
    end)

    it("leaves trials that are shown as pending", function()
      assert.equal(2, #s:trials "state = 'running'", states(s))
      local out <const> = s:sweep "ls"
      assert.equal(2, select(2, out:gsub("pending", "")), out)
      assert.is_nil(out:find("running", 1, true))
      assert.matches("2 pending", s:sweep "watch", 1, true)
      assert.equal(2, select(2, s:sweep "export":gsub(",pending,", "")))
      assert.matches("trial 1  pending", s:sweep("show", "1"), 1, true)
      assert(io.open(s:path "go", "w")):close()
      local said <const>, errors <const>, status <const> = s:sweep "run"
      assert.equal(0, status, said .. errors)
      assert.equal(2, #s:trials "class = 'ok'", states(s))
    end)
  end)
end

-- Trial 1 kills its coordinator once trial 2, of another one, runs; trial 2 ends after that. Both end at once where the spec makes
-- the file 'over', because a worker has ended that should not.
local LAST <const> = [[space = {a = {1, 2}}, metric = "v", run = function(p, trial)
    local core <const> = require "gibbous.core"
    local here <const> = trial.dir .. "/../../../"
    local function await(what, f)
      for _ = 1, 12000 do
        if f() then return end
        if core.file_exists(here .. "over") then error(what .. ": a worker has ended meanwhile") end
        core.wait({}, 0.01)
      end
      error(what .. ": not within two minutes")
    end
    local function write(name, text)
      local f <close> = assert(io.open(here .. name, "w"))
      f:write(text)
    end
    local killed <const> = core.file_exists(here .. "killed")
    if p.a == 1 and not killed then
      await("trial 2 runs", function() return core.file_exists(here .. "two") end)
      os.execute("echo $(cut -d ' ' -f 4 /proc/$PPID/stat) > " .. here .. "killed; kill -9 $(cat " .. here .. "killed)")
      await("the end of this trial, whose coordinator was killed", function() end)
    elseif p.a == 2 then
      write("two", "")
      await("the coordinator of trial 1 is gone", function()
        local f <close> = io.open(here .. "killed")
        local pid <const> = f and f:read "n"
        return pid and not core.process(pid)
      end)
    end
    return {v = p.a}
  end]]

for _, carrier in ipairs{"sqlite", "journal"} do
  describe("a worker that is lost: " .. carrier, function()
    --- How the next of some workers ends, which is reaped then.
    local function next_end(s, list)
      local at <const> = core.wait(list, LONGEST)
      assert(at, ("no worker has ended within %d s; trials: %s; said: %s"):format(LONGEST, states(s), s:said()))
      local how <const> = table.remove(list, at):reap()
      return how.signal or how.exit
    end

    it("leaves its trials to the last worker that runs one", function()
      local s <close> = new(LAST)
      local list <const> = {}
      for i = 1, 2 do
        list[i] = core.child({process.binary, "sweep", "work", s.script, "--store", s.store, "--quiet"},
          {"GIBBOUS_STORE=" .. carrier}, s:path "output.txt")
      end
      local first <const> = next_end(s, list)                     -- whichever has trial 1
      if first ~= "KILL" then assert(io.open(s:path "over", "w")):close() end
      assert.same({"KILL", 0}, {first, next_end(s, list)}, states(s) .. "\n" .. s:said())
      assert.equal(2, #s:trials "class = 'ok'", states(s) .. "\n" .. s:said())
    end)
  end)
end

-- A trial interrupts its coordinator. Only a pipe is of use to interrupt the process itself: os.execute ignores SIGINT meanwhile.
local INTERRUPTS <const> = [[os.execute "kill -INT $(cut -d ' ' -f 4 /proc/$PPID/stat); sleep 600"]]
local ITSELF <const> = [[local function interrupt() io.popen "kill -INT $PPID":close() end]]

describe("a sweep that is interrupted twice", function()
  local function check(s, status)
    assert.equal(130, status, s:said())
    assert.equal(8, #s:trials "state = 'pending' AND token IS NULL", states(s) .. "\n" .. s:said())
  end

  it("leaves no trial as running, wherever the second one comes", function()
    local s <close> = new [[space = {a = gb.sweep.range(1, 8)}, metric = "v", run = function() os.execute "sleep 600" end]]
    math.randomseed(7)
    for k = 1, tonumber(os.getenv "GIBBOUS_KILLS" or "8") do
      local child <close> = start(s, "-j", "8")
      await(s, ("four trials of start %d run"):format(k), function() return are_running(s, 4) end)
      child:signal "int"
      core.wait({child}, math.random() * 0.03)
      child:signal "int"
      local how <const> = child:reap()
      check(s, how.exit or how.signal)
    end
  end)

  it("says so when the second one comes at its very end", function()
    local s <close> = new(([[space = {a = gb.sweep.range(1, 8)}, metric = "v", run = function() %s end]]):format(INTERRUPTS),
      ITSELF .. [[

      if not os.getenv "GIBBOUS_TRIAL" then last = setmetatable({}, {__gc = interrupt}) end]])
    local child <close> = start(s, "-j", "2")
    local how <const> = child:reap()
    check(s, how.exit or how.signal)
    assert.matches("interrupted", s:said(), 1, true)
  end)

  --- Runs a search of eight trials beside which this code runs where it asks for the fourth.
  local function searched(seconds, code)
    local s <const> = new(([[space = {a = gb.sweep.uniform(0, 1)}, search = "tpe", trials = 8, metric = "v", memory = memory,
        run = function() os.execute "sleep %d" return {v = 1} end]]):format(seconds), ITSELF .. ([[

      local asked = 0
      local function memory()
        asked = asked + 1
        if asked == 4 then %s end
        return 2 ^ 20
      end]]):format(code))
    local child <close> = start(s, "-j", "8")
    local how <const> = child:reap()
    assert.equal(130, how.exit or how.signal, s:said())
    assert.equal(3, #s:trials "attempts = 1", states(s))
    assert.equal(3, #s:trials "attempts = 1 AND state = 'pending' AND token IS NULL", states(s) .. "\n" .. s:said())
    s:remove()
  end

  local CAUGHT <const> = [[pcall(function()
      interrupt()
      for _ = 1, 1e7 do end
    end)]]

  it("leaves no trial as running that a search was about to join", function() searched(600, CAUGHT .. " interrupt()") end)

  it("ends by the first one, also where a search takes that for its own", function() searched(2, CAUGHT) end)
end)

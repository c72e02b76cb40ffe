--- What coordinators leave behind that are killed, or interrupted again while they end.
local core <const> = require "gibbous.core"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"
local store <const> = require "gibbous.sweep.store"

local function start(s, ...)
  return core.child({process.binary, "sweep", "run", s.script, "--store", s.store, "--quiet", ...}, nil, s:path "output.txt")
end

--- Waits until f() gives something, 20 s at most.
local function await(f)
  for _ = 1, 2000 do
    local v <const> = f()
    if v then return v end
    core.wait({}, 0.01)
  end
  error("it did not happen", 2)
end

local function number_in(path)
  local f <const> = io.open(path)
  local n <const> = f and math.tointeger(tonumber(f:read "l"))
  if f then f:close() end
  return n
end

local function running(s)
  local ok <const>, n <const> = pcall(function() return #s:trials "state = 'running' AND pid <> 0" end)
  return ok and n or 0
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
      below = await(function()
        local found <const> = core.glob(s.store .. "/trials/*/pid")
        return #found == 2 and number_in(found[1]) and number_in(found[2]) and {number_in(found[1]), number_in(found[2])}
      end)
      assert.truthy(core.process(below[1]) and core.process(below[2]))
      os.execute(("kill -9 %d"):format(child:pid()))
      child:reap()
    end)
    teardown(function() s:remove() end)

    it("takes what its trials have started along", function()
      for _, pid in ipairs(below) do await(function() return not core.process(pid) end) end
    end)

    it("leaves trials that are shown as pending", function()
      assert.equal(2, #s:trials "state = 'running'")
      local out <const> = s:sweep "ls"
      assert.equal(2, select(2, out:gsub("pending", "")), out)
      assert.is_nil(out:find("running", 1, true))
      assert.matches("2 pending", s:sweep "watch", 1, true)
      assert.equal(2, select(2, s:sweep "export":gsub(",pending,", "")))
      assert.matches("trial 1  pending", s:sweep("show", "1"), 1, true)
      assert(io.open(s:path "go", "w")):close()
      assert.equal(0, select(3, s:sweep "run"))
      assert.equal(2, #s:trials "class = 'ok'")
    end)
  end)
end

-- Trial 1 kills its coordinator once trial 2, of another one, runs; trial 2 ends after that.
local LAST <const> = [[space = {a = {1, 2}}, metric = "v", run = function(p, trial)
    local core <const> = require "gibbous.core"
    local here <const> = trial.dir .. "/../../../"
    local function await(f)
      for _ = 1, 3000 do
        if f() then return end
        core.wait({}, 0.01)
      end
      error "it did not happen"
    end
    local function write(name, text)
      local f <close> = assert(io.open(here .. name, "w"))
      f:write(text)
    end
    local killed <const> = io.open(here .. "killed")
    if p.a == 1 and not killed then
      await(function() return io.open(here .. "two") end)
      os.execute("echo $(cut -d ' ' -f 4 /proc/$PPID/stat) > " .. here .. "killed; kill -9 $(cat " .. here .. "killed)")
      await(function() end)
    elseif p.a == 2 then
      write("two", "")
      await(function()
        local f <const> = io.open(here .. "killed")
        local pid <const> = f and f:read "n"
        return pid and not core.process(pid)
      end)
    end
    return {v = p.a}
  end]]

for _, carrier in ipairs{"sqlite", "journal"} do
  describe("a worker that is lost: " .. carrier, function()
    it("leaves its trials to the last worker that runs one", function()
      local s <close> = new(LAST)
      local list <const> = {}
      for i = 1, 2 do
        list[i] = core.child({process.binary, "sweep", "work", s.script, "--store", s.store, "--quiet"},
          {"GIBBOUS_STORE=" .. carrier}, s:path "output.txt")
      end
      local ends <const> = {}
      for _, child in ipairs(list) do
        local how <const> = child:reap()
        ends[how.signal or how.exit] = true
      end
      assert.same({KILL = true, [0] = true}, ends)
      assert.equal(2, #s:trials "class = 'ok'")
    end)
  end)
end

describe("a sweep that is interrupted twice", function()
  it("leaves no trial as running", function()
    local s <close> = new [[space = {a = gb.sweep.range(1, 8)}, metric = "v", run = function() os.execute "sleep 60" end]]
    math.randomseed(7)
    for _ = 1, tonumber(os.getenv "GIBBOUS_KILLS" or "8") do
      local child <close> = start(s, "-j", "8")
      await(function() return running(s) >= 4 end)
      child:signal "int"
      core.wait({child}, math.random() * 0.012)
      child:signal "int"
      local how <const> = child:reap()
      assert.equal(130, how.exit)
      local db <close> = store.open(s.store, "read")
      assert.equal(8, #db:trials "state = 'pending' AND token IS NULL")
    end
  end)
end)

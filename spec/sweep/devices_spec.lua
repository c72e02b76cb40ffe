--- Devices that a study gives out: how many trials have one at once, and how many bytes, over all coordinators of a host.
local core <const> = require "gibbous.core"
local devices <const> = require "gibbous.sweep.run.devices"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"

local FAR <const> = {"GIBBOUS_DEVICE_PATH=" .. process.tests, "GIBBOUS_FAR_COUNT=2"}

local function far_study(text)
  local s <const> = new(text)
  s.env = table.concat(FAR, " ")
  return s
end

--- The most that trials had at once of a device, by what f gives for each.
local function most_at_once(rows, device, f)
  local most = 0
  for _, at in ipairs(rows) do
    local sum = 0
    for _, t in ipairs(rows) do
      if t.device == device and t.started <= at.started and at.started < t.ended then sum = sum + f(t) end
    end
    most = math.max(most, sum)
  end
  return most
end

local function one() return 1 end

--- Each trial waits until that of its pair, 1 and 2, 3 and 4, runs too.
local PAIRS <const> = [[space = {a = gb.sweep.range(1, 6)}, metric = "v", run = function(p, trial)
    local function path(a) return trial.dir .. "/../" .. a end
    local f <close> = assert(io.open(path(p.a), "w"))
    local till = gb.clock() + 30
    while not io.open(path((p.a - 1 ~ 1) + 1)) do
      if gb.clock() > till then error "it runs alone" end
    end
    return {v = p.a, device = tostring(gb.tensor{1}.device)}
  end]]

describe("devices of a study", function()
  if not process.has_far() then
    pending "the far device was not built"
    return
  end

  it("are given out, one a trial", function()
    local s <close> = far_study('devices = {"far", "far:1"}, ' .. PAIRS)
    local out <const>, err <const>, code <const> = s:sweep "run"
    assert.equal(0, code, out .. err)
    local rows <const> = s:trials()
    for _, name in ipairs{"far", "far:1"} do assert.equal(1, most_at_once(rows, name, one)) end
    if os.getenv "GIBBOUS_DEVICE" then return end           -- tests on the far device give all of its kind one name
    for _, t in ipairs(rows) do assert.equal(t.device, core.json_decode(t.result).device) end
  end)

  it("are shared by trials whose bytes fit together", function()
    local s <close> = far_study('devices = {"far"}, share = 4, memory = "300 MiB", budget = {memory = "700 MiB"}, ' .. PAIRS)
    local out <const>, err <const>, code <const> = s:sweep "run"
    assert.equal(0, code, out .. err)
    assert.equal(600 << 20, most_at_once(s:trials(), "far", function(t) return t.room end))
  end)

  it("have their own bytes each", function()
    local s <close> = far_study('devices = {"far", "far:1"}, memory = "300 MiB", budget = {memory = "500 MiB"}, ' .. PAIRS)
    local out <const>, err <const>, code <const> = s:sweep "run"
    assert.equal(0, code, out .. err)
    for _, name in ipairs{"far", "far:1"} do
      assert.equal(300 << 20, most_at_once(s:trials(), name, function(t) return t.room end))
    end
  end)

  for _, carrier in ipairs{"sqlite", "journal"} do
    it("are not given out twice by two coordinators: " .. carrier, function()
      local s <close> = new [[devices = {"far"}, space = {a = gb.sweep.range(1, 8)}, metric = "v", run = function(p)
          local till = gb.clock() + 0.05
          while gb.clock() < till do end
          return {v = p.a}
        end]]
      local list <const> = {}
      for i, verb in ipairs{"run", "work", "work"} do
        list[i] = core.child({process.binary, "sweep", verb, s.script, "--store", s.store, "--quiet"},
          {"GIBBOUS_STORE=" .. carrier, table.unpack(FAR)}, s:path "output.txt")
      end
      for _, child in ipairs(list) do assert.equal(0, child:reap().exit) end
      local rows <const> = s:trials "class = 'ok' AND attempts = 1"
      assert.equal(8, #rows)
      assert.equal(1, most_at_once(rows, "far", one))
    end)
  end

  it("are asked for their bytes before a trial runs", function()
    local s <close> = far_study('devices = {"far", "far:7"}, ' .. PAIRS)
    local _, err <const>, code <const> = s:sweep "run"
    assert.equal(1, code)
    assert.matches("the device 'far:7' of devices does not answer", err, 1, true)
    assert.matches("there is no far device 7", err, 1, true)
    assert.equal(6, #s:trials "state = 'pending' AND attempts = 0")
  end)

  it("are known by the number that the host gives them", function()
    assert.equal("cuda:5", devices.place("cuda:1", "2,5"))
    assert.equal("cuda:2", devices.place("cuda", "2,5"))
    assert.equal("cuda:GPU-1f", devices.place("cuda:0", "GPU-1f"))
    assert.equal("cuda:3", devices.place("cuda:3", "2,5"))
    assert.equal("cuda:1", devices.place("cuda:1", nil))
    assert.equal("far", devices.place("far", "2,5"))
  end)
end)

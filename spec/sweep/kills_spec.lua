--- A study whose processes are killed at any moment comes to the same table.
local core <const> = require "gibbous.core"
local kills <const> = require "spec.sweep.kills"
local new <const> = require "spec.sweep.study"
local store <const> = require "gibbous.sweep.store"

local RUN <const> = [[space = {a = gb.sweep.range(1, 12)}, repeats = 2, metric = "v", run = function(p, trial)
    for step = 1, 5 do trial:report(step, p.a / step) end
    local till = gb.clock() + 0.02
    while gb.clock() < till do end
    return {v = p.a + trial.seed % 100 / 100}
  end]]

describe("a sweep whose processes are killed", function()
  it("comes to the table of one that is not", function()
    local calm <close> = new(RUN)
    assert.equal(0, select(3, calm:sweep("run", "-j", 4)))
    local s <close> = new(RUN)
    local n <const> = tonumber(os.getenv "GIBBOUS_KILLS" or "12")
    local coordinators <const>, trials <const> = kills(s, n, 4, 20261127)
    assert.is_true(coordinators + trials >= n)
    for _ = 1, 20 do                             -- killed trials are failures: crashed
      if select(3, s:sweep("run", "-j", 4, "--retry-failed", "--keep-going")) == 0 then break end
    end
    assert.equal(calm:results(), s:results())
    assert.equal(0, #s:trials "state = 'running' OR token IS NOT NULL")
    local db <close> = store.open(s.store, "read")
    assert.equal("ok", db.db:rows "PRAGMA integrity_check"[1].integrity_check)
    assert.equal(24 * 5, db.db:rows "SELECT COUNT(*) AS n FROM report"[1].n)
  end)

  it("gives an acknowledged result to nobody again", function()
    local s <close> = new(RUN)
    s:sweep("run", "-j", 2)
    local db <close> = store.open(s.store, "write")
    local row <const> = db:trials()[1]
    assert.is_false(db:acknowledge({id = row.id, token = "another", cell = row.cell}, {class = "error"}))
    assert.equal("ok", db:trials()[1].class)
    db:again("id = ?", row.id)
    local host <const> = select(3, core.process())
    local function claim()
      return db:claim{host = host, pid = 1, started = 1, limit = 1 << 30, least = 1}
    end
    local first <const> = claim()
    assert.equal(row.id, first.id)
    assert.is_nil(claim())
    assert.equal(0, #db:reports(row.id))         -- of the attempt that ended
    db:report(first, 99, 1, 0)
    assert.equal(1, db:recover(host, function() return false end))
    local second <const> = claim()
    assert.equal(0, #db:reports(row.id))         -- of the one that was lost
    assert.is_false(db:acknowledge(first, {class = "error"}))
    assert.is_true(db:acknowledge(second, {class = "ok", result = "{}"}))
    assert.is_false(db:acknowledge(second, {class = "error"}))
    assert.equal("ok", db:trials()[1].class)
  end)
end)

describe("a child", function()
  it("is of a list of strings", function()
    for _, wrong in ipairs{{{}}, {{1}}, {{"sh"}, "A=1"}, {{"sh"}, {1}}, {{"sh"}, 3}, {"sh"}} do
      local ok <const>, err <const> = pcall(core.child, table.unpack(wrong))
      assert.is_false(ok)
      assert.matches("bad argument", tostring(err), 1, true)
    end
  end)
end)

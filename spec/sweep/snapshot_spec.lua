--- Snapshots of journals: whatever lies there in their place, and whatever ends their writers, a store is known by its journals.
local core <const> = require "gibbous.core"
local events <const> = require "gibbous.sweep.store.events"
local known <const> = require "gibbous.sweep.store.known"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"
local store <const> = require "gibbous.sweep.store"
local support <const> = require "spec.support"

local read <const>, write <const> = support.read, support.write

--- All that a store knows but hints of bytes, which depend on the order of reading; and whether a snapshot told of it.
local function known_of(folder)
  local db <close> = store.open(folder, "read")
  local rows <const> = db:trials()
  for _, t in ipairs(rows) do t.need = nil end
  return {trials = rows, reports = db.db:rows "SELECT trial, step, value FROM report ORDER BY trial, step",
    study = db.db:rows "SELECT key, value FROM study ORDER BY key", damaged = db.reader.damaged,
    generation = db.generation}, db.covered > 0
end

--- What the journals alone say: of a folder that has them and no snapshot.
local function told_by_journals(folder)
  local twin <const> = os.tmpname()
  os.remove(twin)
  core.make_folder(twin)
  core.make_folder(folder .. "/trials")
  os.execute(("ln -s '%s/journal' '%s/trials' '%s'"):format(folder, folder, twin))
  local told <const>, by_snapshot <const> = known_of(twin)
  os.execute("rm -r '" .. twin .. "'")
  assert.is_false(by_snapshot)
  return told
end

local function renew(folder)
  local db <close> = store.open(folder, "write")
  known.renew(db, db.db and 0)
end

--- Is the snapshot of a folder used? It says what the journals say in any case.
local function is_used(folder)
  local told <const>, used <const> = known_of(folder)
  assert.same(told_by_journals(folder), told)
  return used
end

--- n trials, each claimed and acknowledged with this metric.
local function run(folder, n, metric)
  local db <close> = store.open(folder, "create", "journal")
  local trials <const> = {}
  for i = 1, n do
    local params <const> = core.json_encode{i = i}
    trials[i] = {id = ("%016x"):format(i), params = params, cell = params, seed = i}
  end
  db:want(trials, "code")
  db:set("metric", "v")
  local pid <const>, started <const>, host <const> = core.process()
  for _ = 1, n do
    local row <const> = db:claim{host = host, pid = pid, started = started, limit = 1 << 30, least = 1}
    if not row then break end
    for step = 1, 3 do db:report(row, step, metric / step, 0) end
    assert(db:acknowledge(row, {class = "ok", result = core.json_encode{v = metric}, metric = metric, peak = 5}))
  end
  return folder
end

local function scratch()
  local folder <const> = os.tmpname()
  os.remove(folder)
  core.make_folder(folder)
  finally(function() os.execute("rm -rf '" .. folder .. "'") end)
  return folder
end

local function journal_of(folder) return core.glob(folder .. "/journal/*.jsonl")[1] end

describe("a snapshot", function()
  it("with what came behind it is what the journals say, at any moment of a study", function()
    local s <close> = new [[space = {a = gb.sweep.range(1, 6)}, repeats = 2, metric = "v", run = function(p, trial)
        for step = 1, 3 do trial:report(step, p.a / step) end
        if p.a == 4 then error "a mistake" end
        return {v = p.a + trial.seed % 100 / 100}
      end]]
    s.env = "GIBBOUS_STORE=journal"
    s:sweep("run", "-j", 2, "--keep-going")
    s:sweep("rerun", "3", "5", "--failed")
    s:rewrite [[space = {a = gb.sweep.range(3, 8)}, repeats = 2, metric = "v", run = function(p) return {v = p.a} end]]
    s:sweep("run", "-j", 2)
    s:sweep("rerun", "3", "15")
    local lines <const> = {}
    for _, path in ipairs(core.glob(s.store .. "/journal/*.jsonl")) do
      for line in read(path):gmatch "[^\n]+\n" do lines[#lines + 1] = line end
    end
    math.randomseed(11)
    for case = 1, 6 do
      local folder <const> = s:path("case" .. case)
      core.make_folder(folder .. "/journal")
      local at, used = 1, 0
      while at <= #lines do
        local last <const> = math.min(at + math.random(#lines // 4), #lines)
        local path <const> = ("%s/journal/host-%d-1.jsonl"):format(folder, math.random(3))
        core.append(path, table.concat(lines, "", at, last))
        if math.random(4) == 1 then core.append(path, "cut off\n") end
        if math.random(3) > 1 then renew(folder) end
        used, at = used + (is_used(folder) and 1 or 0), last + 1
      end
      assert.is_true(used > 0)
      for i = #lines, 2, -1 do             -- the next case: in another order, where events wait for others
        local k <const> = math.random(i)
        lines[i], lines[k] = lines[k], lines[i]
      end
    end
  end)

  it("knows which pending trials have ended before", function()
    local folder <const> = scratch()
    run(folder, 3, 1)
    local db <close>, before <const> = store.open(folder, "write"), read(journal_of(folder))
    db:again "number = 2"
    known.renew(db, db.db and 0)
    core.append(folder .. "/journal/host-1-1.jsonl", before)       -- another has copied all of it once more
    assert.is_true(is_used(folder))
    assert.equal("pending", known_of(folder).trials[2].state)
  end)

  it("is written by those who write once there is much, and by no look", function()
    local folder <const> = scratch()
    run(folder, 20, 1)
    is_used(folder)
    assert.is_false(core.file_exists(folder .. "/snapshot"))
    local large <const> = {change = "keep", digest = "d", kind = "k", text = ("x"):rep(1 << 19)}
    core.append(folder .. "/journal/host-1-1.jsonl", events.line(large))
    is_used(folder)
    assert.is_false(core.file_exists(folder .. "/snapshot"))
    do
      local db <close> = store.open(folder, "write")
      assert.equal(20, #db:trials())
    end
    assert.is_true(is_used(folder))
  end)

  it("of journals that are others now is passed over", function()
    local folder <const>, other <const> = scratch(), scratch()
    run(folder, 20, 1)
    run(other, 20, 2)
    renew(folder)
    assert.is_true(is_used(folder))
    local path <const> = journal_of(folder)
    local text <const>, planted <const> = read(path), read(journal_of(other))
    for _, changed in ipairs{planted .. planted, text:sub(1, -2), text:sub(1, #text // 2), ""} do
      write(path, changed)
      assert.is_false(is_used(folder))
      write(path, text)
      assert.is_true(is_used(folder))
    end
    write(folder .. "/snapshot", (function()
      renew(other)
      return read(other .. "/snapshot")
    end)())
    assert.is_false(is_used(folder))
    os.remove(path)
    assert.is_false(is_used(folder))
    assert.equal(0, #known_of(folder).trials)
  end)

  it("that is cut, flipped or of another build is passed over", function()
    local folder <const> = scratch()
    run(folder, 20, 1)
    renew(folder)
    assert.is_true(is_used(folder))
    local text <const> = read(folder .. "/snapshot")
    math.randomseed(3)
    local head <const> = text:find "\n"
    for case = 1, 40 do
      local at <const> = case == 2 and head or case <= 10 and math.random(head) or math.random(#text)
      local flipped <const> = text:sub(1, at - 1) .. string.char(text:byte(at) ~ (1 << math.random(0, 7))) .. text:sub(at + 1)
      write(folder .. "/snapshot", case % 2 == 0 and flipped or text:sub(1, at - 1))
      assert.is_false(is_used(folder))
    end
    write(folder .. "/snapshot", "")
    assert.is_false(is_used(folder))
    os.remove(folder .. "/snapshot")
    core.make_folder(folder .. "/snapshot")
    assert.is_false(is_used(folder))
    renew(folder)                          -- it cannot be written, and nothing is lost
    assert.is_false(is_used(folder))
  end)

  it("has nothing of what a trial's process told and nobody has copied", function()
    local folder <const> = scratch()
    run(folder, 3, 1)
    local pid <const>, started <const>, host <const> = core.process()
    do
      local db <close> = store.open(folder, "write")
      db:again "number = 2"
      local row <const> = db:claim{host = host, pid = pid, started = started, limit = 1 << 30, least = 1}
      local one <close> = store.open(folder, "write")
      core.make_folder(folder .. "/trials/" .. row.id)
      one:claimed(row.id, row.token)
      one:report(row, 1, 0.5, 0)
      assert.equal(1, #db:reports(row.id))
      known.renew(db, 0)
      os.remove(one.out)
      assert.is_true(is_used(folder))
      assert.same({}, store.open(folder, "read"):reports(row.id))
    end
  end)
end)

describe("writers of snapshots", function()
  --- A process that writes snapshots of a folder until it is killed.
  local function writer(folder)
    local path <const> = folder .. "/writer.lua"
    write(path, ([[
      local known, store = require "gibbous.sweep.store.known", require "gibbous.sweep.store"
      while true do
        local db <close> = store.open(%q, "write")
        known.renew(db, db.db and -1)
      end]]):format(folder))
    return core.child({process.binary, path}, nil, folder .. "/out.txt")
  end

  it("that are two at once leave one that is whole, while a third tells more", function()
    local folder <const> = scratch()
    run(folder, 20, 1)
    renew(folder)
    local a <const>, b <const> = writer(folder), writer(folder)
    for i = 1, 40 do
      core.append(folder .. "/journal/host-1-1.jsonl", events.line{change = "set", key = "k", value = i, stamp = i, by = "host"})
      assert.is_true(is_used(folder))
      core.wait({}, 0.005)
    end
    for _, child in ipairs{a, b} do
      assert.is_nil(core.wait({child}, 0), read(folder .. "/out.txt"))
      child:signal "kill"
      child:reap()
    end
    assert.is_true(is_used(folder))
  end)

  it("that are killed at any moment leave the last one", function()
    local folder <const> = scratch()
    run(folder, 20, 1)
    renew(folder)
    math.randomseed(9)
    for _ = 1, 12 do
      local child <const> = writer(folder)
      core.wait({child}, 0.02 + 0.03 * math.random())
      child:signal "kill"
      child:reap()
      assert.is_true(is_used(folder))
    end
  end)

  it("that are killed between writing and renaming leave what the next one clears away", function()
    local folder <const> = scratch()
    run(folder, 20, 1)
    renew(folder)
    local child <const> = core.child({"true"}, nil, folder .. "/out.txt")
    local left <const> = ("%s/snapshot.tmp-%d-0"):format(folder, child:pid())
    child:reap()
    write(left, read(folder .. "/snapshot"):sub(1, -100))
    assert.is_true(is_used(folder))
    core.append(folder .. "/journal/host-1-1.jsonl", events.line{change = "set", key = "k", value = 1, stamp = 1, by = "host"})
    renew(folder)
    assert.is_true(is_used(folder))
    assert.is_false(core.file_exists(left))
  end)
end)

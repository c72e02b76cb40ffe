--- What processes of one store do to each other at its first and last moments, and at those of its trials.
local ask <const> = require "gibbous.sweep.run.ask"
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local journal <const> = require "gibbous.sweep.store.journal"
local machine <const> = require "gibbous.sweep.run.machine"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"
local search <const> = require "gibbous.sweep.search"
local store <const> = require "gibbous.sweep.store"
local support <const> = require "spec.support"
local turns <const> = require "gibbous.sweep.store.turns"

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

--- Starts gibbous sweep VERB of a study beside this process.
local function start(s, verb, ...)
  return core.child({process.binary, "sweep", verb, s.script, "--store", s.store, "--quiet", ...}, s.env and {s.env},
    s:path "output.txt")
end

--- A trial as a store takes it.
local function trial(k) return {id = ("%016x"):format(k), params = ('{"a":%d}'):format(k), cell = tostring(k), seed = k} end

--- pid: of the process that claims; nil: this one.
local function claim(db, pid)
  local number <const>, started <const>, host <const> = core.process(pid)
  return db:claim{host = host, pid = number, started = started, limit = 1 << 30, least = 1}
end

for _, carrier in ipairs{"sqlite", "journal"} do
  describe("two processes: " .. carrier, function()
    local s, db
    before_each(function()
      s = new "run = error"
      db = store.open(s.store, "create", carrier)
    end)
    after_each(function()
      db:close()
      s:remove()
    end)

    it("that add the same cell of a search both go on", function()
      local study <const> = gb.sweep{name = "s", search = "tpe", trials = 3, metric = "v", run = error,
        space = {a = gb.sweep.uniform(0, 1)}}
      local n, races = 0, true
      local function add(trials)
        n = n + 1
        for i, t in ipairs(trials) do trials[i] = {id = ("%016x"):format(n), params = core.json_encode(t.params),
          cell = core.json_encode(t.cell), seed = n} end
        if races then db:add(trials, "code", 3) end                -- by another process
        return db:add(trials, "code", 3)
      end
      local more <const> = search.proposer(study, db, add)
      assert.is_true(more())
      races = false
      assert.is_true(more())
      races = true
      assert.is_true(more())                                       -- the last one is another's
      assert.is_false(more())
      assert.equal(3, #db:trials())
    end)

    it("that ask both get a trial, where one takes what the other has added", function()
      local n = 0
      local function more()
        n = n + 1
        if n > 3 then return false end
        db:add({trial(n)}, "code")
        if n < 3 then claim(db) end                                -- another process is quicker
        return true
      end
      assert.matches("^3 ", ask.ask(db, {more = more}))
      assert.equal("none", ask.ask(db, {more = more}))
    end)

    it("that tell of one trial are not both believed", function()
      db:add({trial(1)}, "code")
      db:started(claim(db), core.process())
      local other <close> = store.open(s.store, "write")
      local acknowledge <const>, append <const> = other.acknowledge, core.append
      local function tell(one, v) return pcall(ask.tell, one, "1", {result = v}) end
      local second
      local function meanwhile()
        if second == nil then
          second = false
          second = tell(other, "2")
        end
      end
      local busy <const> = setmetatable({acknowledge = function(_, ...)
        if carrier == "sqlite" then meanwhile() end                -- within it nobody else writes
        return acknowledge(db, ...)
      end}, {__index = db})
      support.with(core, {append = function(...)                   -- behind the look at how the trial stands
        meanwhile()
        return append(...)
      end}, function() assert.equal(not tell(busy, "1"), second) end)
      assert.equal("done", db:trials()[1].state)
    end)

    it("one of which looks while the other's trial ends see it as ended", function()
      db:add({trial(1), trial(2)}, "code")
      local rows <const> = {claim(db), claim(db)}
      support.with(machine, {is_alive = function()                 -- behind the query: trial 1 says that it ended, and is gone
          if rows[1] then db:acknowledge(rows[1], {class = "ok", result = "{}", ended = 1}) end
          rows[1] = nil
          return false
        end}, function()
        assert.same({[rows[2].id] = true}, (function()
          local out <const> = {}
          for id in pairs(db:lost()) do out[id] = true end
          return out
        end)())
      end)
    end)
  end)

  describe("a worker: " .. carrier, function()
    it("that has no room beside another's trial waits for it", function()
      local s <close> = new [[space = {a = {1, 2}}, memory = "60 MiB", metric = "v", run = function(p, trial)
          local gb <const> = require "gibbous"
          local till <const> = gb.clock() + 0.6
          while gb.clock() < till do end
          return {v = p.a}
        end]]
      s.env = "GIBBOUS_STORE=" .. carrier
      local list <const> = {}
      for i = 1, 2 do list[i] = start(s, "work", "--limit", "100 MiB") end
      for _, child in ipairs(list) do assert.equal(0, child:reap().exit, s:said()) end
      assert.equal(2, #s:trials "class = 'ok'")
      assert.is_nil(s:said():find("pending", 1, true), s:said())
    end)
  end)

  describe("a search: " .. carrier, function()
    it("adds no cell while one waits for room", function()
      local s <close> = new [[search = "tpe", trials = 6, metric = "v", space = {a = gb.sweep.uniform(0, 1)}, memory = "60 MiB",
        run = function(p, trial)
          local store <const> = require "gibbous.sweep.store".open(trial.dir .. "/../..", "read")
          return {v = p.a, cells = #store:trials()}
        end]]
      s.env = "GIBBOUS_STORE=" .. carrier
      local out <const>, err <const>, code <const> = s:sweep("run", "-j", 4, "--limit", "100 MiB")
      assert.equal(0, code, out .. err)
      for _, t in ipairs(s:trials()) do
        local cells <const> = core.json_decode(t.result).cells
        assert.is_true(cells <= t.number + 1, ("trial %d: %d cells"):format(t.number, cells))
      end
    end)
  end)

  describe("the one run: " .. carrier, function()
    it("is waited for where it is about to end", function()
      local s <close> = new [[space = {a = {1}}, metric = "v", run = function(p) return {v = p.a} end]]
      s.env = "GIBBOUS_STORE=" .. carrier
      local held <const> = assert(store.lock(s.store, carrier))
      local child <const> = start(s, "run")
      core.wait({child}, 0.25)
      core.wait({child}, 0.25)
      held:close()
      assert.equal(0, child:reap().exit, s:said())
    end)

    it("is one of many that start as the last one ends", function()
      local s <close> = new "run = error"
      s:rewrite([[space = {a = {1}}, metric = "v", run = function(p)
          local gb <const> = require "gibbous"
          local till <const> = gb.clock() + 1.6                    -- longer than the others wait
          while gb.clock() < till do end
          return {v = p.a}
        end]], ([[if not os.getenv "GIBBOUS_TRIAL" then while not io.open "%s" do end end]]):format(s:path "go"))
      s.env = "GIBBOUS_STORE=" .. carrier
      local list <const>, exits <const> = {}, {[0] = 0, 0}
      for i = 1, 4 do list[i] = start(s, "run") end
      core.wait({}, 0.2)
      write(s:path "go", "")
      for _, child in ipairs(list) do
        local exit <const> = child:reap().exit
        exits[exit] = (exits[exit] or 0) + 1
      end
      assert.same({[0] = 1, 3}, exits, s:said())
      assert.equal(1, s:trials()[1].attempts)
    end)
  end)
end

describe("the one run of a journal", function()
  --- The lock, where 'meanwhile' happens once, behind the first call of turns[name] or before it.
  local function lock(folder, name, before, meanwhile)
    local f <const> = turns[name]
    local held
    support.with(turns, {[name] = function(...)
      turns[name] = f
      if before then meanwhile() end
      local result <const> = table.pack(f(...))
      if not before then meanwhile() end
      return table.unpack(result, 1, result.n)
    end}, function() held = journal.lock(folder) end)
    return held
  end

  it("is free at once where others began and ended while it was looked for", function()
    local s <close> = new "run = error"
    assert(journal.lock(s.store)):close()
    local wait <const> = core.wait
    support.with(core, {wait = function(...)
      assert(select(2, ...) < 0.4, "it waits for a sign of a run that nobody has")
      return wait(...)
    end}, function()
      local _ <close> = assert(lock(s.store, "last", false, function() assert(journal.lock(s.store)):close() end))
    end)
  end)

  it("is not taken by a process that has slept while others began and ended", function()
    local s <close> = new "run = error"
    assert(journal.lock(s.store)):close()
    local other
    assert.is_nil(lock(s.store, "take", true, function()
      assert(journal.lock(s.store)):close()
      other = assert(journal.lock(s.store))
    end))
    assert.equal(3, turns.last(s.store, "run"))
    other:close()
    assert(journal.lock(s.store)):close()
  end)
end)

describe("a database that another process makes", function()
  it("is no sweep before it is there", function()
    local s <close> = new "run = error"
    core.make_folder(s.store)
    for _, words in ipairs{{"ls"}, {"rerun", "--failed"}, {"tell", "1", "2"}} do
      local _, err <const>, code <const> = process.run{"sweep", words[1], s.store, table.unpack(words, 2)}
      assert.equal(1, code)
      assert.matches("there is no sweep in [^\n]*store: gibbous sweep run SCRIPT makes one", err)
    end
  end)

  it("is no sweep yet, and no other thing", function()
    local s <close> = new "space = {a = {1}}, run = error"
    core.make_folder(s.store)
    local db <close> = core.database(s.store .. "/study.db")
    for _, stage in ipairs{"PRAGMA user_version", "PRAGMA journal_mode = WAL"} do
      db:run(stage)
      for _, verb in ipairs{"ls", "watch", "table", "export", "plot", "report"} do
        local _, err <const>, code <const> = s:sweep(verb)
        assert.equal(1, code)
        assert.matches("there is no sweep in [^\n]* yet: gibbous sweep run SCRIPT makes one", err)
      end
    end
  end)

  it("and that is locked can be interrupted", function()
    local s <close> = new "space = {a = {1}}, run = error"
    store.open(s.store, "create", "sqlite"):close()
    local db <close> = core.database(s.store .. "/study.db", "write")
    db:run "BEGIN IMMEDIATE"
    local child <const> = core.child({process.binary, "-e", ([[local core <const> = require "gibbous.core"
      local db <const> = core.database("%s/study.db", "write")
      local _ <const> = io.popen "sleep 0.3; kill -INT $PPID"
      local ok <const>, why <const> = pcall(db.run, db, "BEGIN IMMEDIATE")
      print(ok, why.code)]]):format(s.store)}, nil, s:path "output.txt")
    child:reap()
    assert.matches("false\tinterrupted", s:said(), 1, true)
  end)
end)

for _, carrier in ipairs{"sqlite", "journal"} do
  describe("a trial of a process that is gone: " .. carrier, function()
    it("is waited for by the last worker while it ends", function()
      local s <close> = new [[space = {a = {1}}, metric = "v", run = function(p) return {v = p.a} end]]
      s.env = "GIBBOUS_STORE=" .. carrier
      local coordinator <const>, dying <const> = core.child{"sleep", "600"}, core.child{"sleep", "600"}
      assert.equal(0, select(3, s:sweep("run")))
      do
        local db <close> = store.open(s.store, "write")
        db:again "1"
        db:started(claim(db, coordinator:pid()), core.process(dying:pid()))
      end
      local child <const> = start(s, "work")
      assert.equal(1, core.wait({child}, 30), s:said())           -- another's, which goes on
      assert.equal(0, child:reap().exit, s:said())
      coordinator:close()
      local last <const> = start(s, "work")
      assert.is_nil(core.wait({last}, 0.8), s:said())
      dying:close()
      assert.equal(0, last:reap().exit, s:said())
      assert.equal(1, #s:trials "class = 'ok'")
    end)

    it("is its coordinator's to tell of, where that is there", function()
      local s <close> = new "run = error"
      local db <close> = store.open(s.store, "create", carrier)
      db:add({trial(1)}, "code")
      local dead <const>, coordinator <const>, host <const> = core.child{"true"}, core.child{"sleep", "600"},
        select(3, core.process())
      db:started(claim(db, coordinator:pid()), dead:pid(), 1)
      dead:reap()
      assert.equal(0, db:recover(host, machine.is_alive))
      assert.is_nil(next(db:lost()))
      coordinator:close()
      assert.is_not_nil(next(db:lost()))
      assert.equal(1, db:recover(host, machine.is_alive))
    end)

    it("is given back without a wait for the disk", function()
      local s <close> = new "run = error"
      local db <close> = store.open(s.store, "create", carrier)
      db:add({trial(1)}, "code")
      local row <const>, append <const> = claim(db), core.append
      support.with(core, {append = function(path, text, durable)
        assert.is_falsy(durable)
        return append(path, text)
      end}, function() assert.is_true(db:release(row, {})) end)
      assert.equal("pending", db:trials()[1].state)
    end)
  end)

  describe("gibbous sweep ask: " .. carrier, function()
    it("that Ctrl-C meets behind its claim says what it has", function()
      local s <close> = new([[space = {a = {1}}, metric = "v", run = error]], [[
        local core <const> = require "gibbous.core"
        local make_folder <const> = core.make_folder
        function core.make_folder(path)
          if path:find "/trials/" then io.popen "kill -INT $PPID":close() end
          return make_folder(path)
        end]])
      s.env = "GIBBOUS_STORE=" .. carrier
      local out <const>, err <const>, code <const> = s:sweep "ask"
      assert.same({"1  a=1\n", "", 0}, {out, err, code})
    end)
  end)
end

describe("a coordinator that ends while its store is locked", function()
  it("waits for it once, not for each trial, and ends all of them", function()
    local s <close> = new [[space = {a = {1, 2, 3}}, metric = "v", run = function() os.execute "sleep 600" end]]
    local db <close> = store.open(s.store, "create", "sqlite")
    db:add({trial(1), trial(2), trial(3)}, "code")
    local claims, releases, children = 0, 0, {}
    local child <const> = core.child
    local busy <const> = setmetatable({
      claim = function(_, o)
        claims = claims + 1
        if claims == 3 then core.raise("interrupted", "interrupted") end
        return db:claim(o)
      end,
      release = function()
        releases = releases + 1
        core.raise("io", "database is locked")
      end}, {__index = db})
    support.with(core, {child = function(...)
      children[#children + 1] = child(...)
      return children[#children]
    end}, function()
      support.raises("io", "database is locked", require "gibbous.sweep.run.coordinator".run, gb.sweep{name = "s", run = error},
        busy, s.script, {jobs = 3, limit = 1 << 30, quiet = true})
    end)
    assert.same({2, 1}, {#children, releases})
    for _, one in ipairs(children) do assert.is_nil(one:pid()) end
  end)
end)

describe("gibbous sweep watch", function()
  it("goes on between two cells of a search, and before the first", function()
    local s <close> = new "run = error"
    local db <close> = store.open(s.store, "create", "sqlite")
    local view <const> = require "gibbous.sweep.show.watch"
    --- How often a view of the store is drawn, whose keys are q at last.
    local function looks()
      local n = 0
      local function key(seconds)
        n = n + (seconds > 0 and 1 or 0)
        return n == 3 and "q" or nil
      end
      local function window() return 80, 24, true end
      support.with(core, {isatty = function() return true end, terminal = window, key = key}, function()
        support.with(io, {write = function() end}, function() view(db) end)
      end)
      return n
    end
    assert.equal(3, looks())
    db:set("cells", 2)
    for k = 1, 2 do
      db:add({trial(k)}, "code", 2)
      db:acknowledge(claim(db), {class = "ok", result = "{}", ended = 1})
      assert.equal(k == 1 and 3 or 0, looks())
    end
  end)
end)

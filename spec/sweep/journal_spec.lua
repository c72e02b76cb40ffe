--- Stores in journal files: the same results as in SQLite, whatever the order of the files, and after damage of any kind.
local core <const> = require "gibbous.core"
local events <const> = require "gibbous.sweep.store.events"
local holders <const> = require "gibbous.sweep.store.holders"
local journal <const> = require "gibbous.sweep.store.journal"
local kills <const> = require "spec.sweep.kills"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"
local store <const> = require "gibbous.sweep.store"
local support <const> = require "spec.support"
local turns <const> = require "gibbous.sweep.store.turns"

local RUN <const> = [[space = {a = gb.sweep.range(1, 12)}, repeats = 2, metric = "v", run = function(p, trial)
    for step = 1, 5 do trial:report(step, p.a / step) end
    return {v = p.a + trial.seed % 100 / 100}
  end]]

local function new_journal(text)
  local s <const> = new(text)
  s.env = "GIBBOUS_STORE=journal"
  return s
end

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

local function journals(s) return core.glob(s.store .. "/journal/*.jsonl") end

--- All that a store knows but what depends on when it was read: hints of bytes.
local function known_by(db)
  local rows <const> = db:trials()
  for _, t in ipairs(rows) do t.need = nil end
  return {trials = rows, reports = db.db:rows "SELECT trial, step, value FROM report", name = db:value "name"}
end

local function known(folder)
  local db <close> = store.open(folder, "read")
  return known_by(db)
end

describe("a sweep in journal files", function()
  it("gives the results of one in SQLite", function()
    local a <close> = new(RUN)
    local b <close> = new_journal(RUN)
    local out <const> = a:sweep("run", "-j", 4)
    local same <const>, err <const>, code <const> = b:sweep("run", "-j", 4)
    assert.equal(0, code, err)
    assert.equal(out, same)
    assert.equal(a:results(), b:results())
    assert.is_false(core.file_exists(b.store .. "/study.db"))
    assert.equal(120, #known(b.store).reports)
    assert.equal(out, (b:sweep "run"))
    for _, t in ipairs(b:trials()) do assert.equal(1, t.attempts) end
    b.env = nil                                  -- what is there decides
    assert.equal(out, (b:sweep "run"))
    assert.equal(out, (b:sweep("run", "--journal")))
    local _, words <const>, status <const> = a:sweep("run", "--journal")
    assert.equal(1, status)
    assert.matches("has a store of the other kind, sqlite", words, 1, true)
  end)

  it("adds, leaves out, fails, grows and runs again as others do", function()
    local text <const> = [[space = {a = {1, 2, 3}}, budget = {memory = "1 GiB"}, metric = "v", run = function(p)
        if p.a == 2 then error "a mistake" end
        if p.a == 3 then return {v = gb.ones(24 << 20, {dtype = "f64"}):eval():sum():item()} end
        return {v = p.a}
      end]]
    local s <close> = new_journal(text)
    local out <const>, err <const>, code <const> = s:sweep "run"
    assert.equal(3, code)
    assert.matches("study: 3 trials: 2 ok, 1 error", out, 1, true)
    assert.matches("a mistake", err, 1, true)
    local t <const> = s:trials "number = 3"[1]
    assert.equal(256 << 20, t.room)
    assert.equal(3, t.attempts)
    assert.matches("1 trials are pending again", (s:sweep("rerun", "--failed")), 1, true)
    assert.equal("pending", s:trials "number = 2"[1].state)
    s:rewrite((text:gsub("{1, 2, 3}", "{1, 4}")))
    assert.matches("study: 2 trials: 2 ok", (s:sweep "run"), 1, true)
    assert.equal(4, #s:trials())
    s:rewrite((text:gsub("{1, 2, 3}", "{1, 2}")))
    assert.matches("study: 2 trials: 1 ok, 1 error", (s:sweep "run"), 1, true)
  end)

  it("prunes, by reports of other processes", function()
    local s <close> = new_journal [[space = {a = gb.sweep.range(1, 10)}, metric = "v", prune = {rule = "median", start = 3},
      run = function(p, trial)
        for step = 1, 6 do trial:report(step, p.a) end
        return {v = p.a}
      end]]
    assert.matches("5 ok, 5 pruned", (s:sweep "run"), 1, true)
  end)

  it("searches by a Gaussian process", function()
    local s <close> = new_journal [[search = "gp", trials = 8, metric = "v", space = {x = gb.sweep.uniform(0, 1)},
      run = function(p) return {v = (p.x - 0.3) ^ 2} end]]
    assert.matches("study: 8 trials: 8 ok", (s:sweep "run"), 1, true)
  end)

  it("runs each trial once with 16 coordinators", function()
    local s <close> = new_journal((RUN:gsub("range%(1, 12%)", "range(1, 24)")))
    local children <const> = {}
    for i = 1, 16 do
      children[i] = core.child({process.binary, "sweep", "work", s.script, "--store", s.store, "-j", "1", "--quiet"},
        {"GIBBOUS_STORE=journal"}, s:path("out" .. i))
    end
    for i, child in ipairs(children) do assert.equal(0, child:reap().exit, read(s:path("out" .. i))) end
    local rows <const> = s:trials()
    assert.equal(48, #rows)
    for i, t in ipairs(rows) do
      assert.equal(i, t.number)
      assert.equal("ok", t.class)
      assert.equal(1, t.attempts)
    end
    assert.equal(16, #journals(s))
  end)

  it("is known alike from its lines in any files and any order", function()
    local s <close> = new_journal(RUN)
    s:sweep("run", "-j", 3)
    s:sweep("rerun", "3", "5")
    s:rewrite((RUN:gsub("range%(1, 12%)", "range(2, 13)")))
    s:sweep("run", "-j", 2)
    local lines <const>, want <const> = {}, known(s.store)
    for _, path in ipairs(journals(s)) do
      for line in read(path):gmatch "[^\n]+\n" do lines[#lines + 1] = line end
    end
    math.randomseed(5)
    for case = 1, 4 do
      local folder <const>, parts <const> = s:path("case" .. case), {{}, {}, {}}
      core.make_folder(folder .. "/journal")
      for i = #lines, 2, -1 do
        local k <const> = math.random(i)
        lines[i], lines[k] = lines[k], lines[i]
      end
      for _, line in ipairs(lines) do            -- some twice
        for _ = 1, math.random(6) == 1 and 2 or 1 do table.insert(parts[math.random(3)], line) end
      end
      local reader <close> = store.open(folder, "read")
      for i, part in ipairs(parts) do
        write(("%s/journal/host-%d-1.jsonl"):format(folder, i), table.concat(part))
        assert.is_true(#reader:trials() >= 0)    -- what comes first is applied first
      end
      assert.same(want, known(folder))
      assert.same(want, known_by(reader))
    end
  end)
end)

describe("a damaged journal", function()
  it("gives the same results when it is run again", function()
    local calm <close> = new(RUN)
    calm:sweep "run"
    local s <close> = new_journal(RUN)
    s:sweep "run"
    local path <const> = journals(s)[1]
    local text <const> = read(path)
    math.randomseed(7)
    for case = 1, 6 do
      local at <const> = math.random(#text)
      local how <const> = case % 3
      if how == 0 then write(path, text:sub(1, at))
      elseif how == 1 then write(path, text:sub(1, at - 1) .. string.char(text:byte(at) ~ 1) .. text:sub(at + 1))
      else write(path, text:sub(1, at) .. text:sub(at + 300)) end
      local _, err <const>, code <const> = s:sweep("run", "-j", 2)
      assert.equal(0, code, err)
      assert.equal(calm:results(), s:results())
      for _, other in ipairs(journals(s)) do os.remove(other) end
      os.execute(("rm -rf '%s/claims' '%s/trials'"):format(s.store, s.store))
    end
  end)

  it("says how many lines were left out", function()
    local s <close> = new_journal(RUN)
    s:sweep "run"
    local path <const> = journals(s)[1]
    write(path, (read(path):gsub('"metric":1', '"metric":7', 1)))
    local _, err <const> = s:sweep "run"
    assert.matches("1 lines are damaged and were left out; what they told is computed again", err, 1, true)
    for _, t in ipairs(s:trials()) do assert.is_true(t.metric < 13 and t.class == "ok") end
  end)

  it("is not one with foreign files beside it", function()
    local s <close> = new_journal(RUN)
    s:sweep "run"
    local before <const> = s:results()
    write(s.store .. "/journal/notes.txt", "mine\n")
    write(s.store .. "/journal/a-b-c.jsonl", "no event\n\0\0\n{}\n")
    core.make_folder(s.store .. "/journal/a-1-2.jsonl")
    assert.equal(0, select(3, s:sweep "run"))
    assert.equal(before, s:results())
  end)

  it("of a later version is refused", function()
    local s <close> = new_journal(RUN)
    core.make_folder(s.store .. "/journal")
    write(s.store .. "/journal/h-1-1.jsonl", events.line{change = "open", version = 2})
    local _, err <const>, code <const> = s:sweep "ls"
    assert.equal(1, code)
    assert.matches("a journal of version 2, this program knows 1", err, 1, true)
  end)
end)

describe("a process that was killed", function()
  it("between its claim and its word leaves the trial to others", function()
    local s <close> = new_journal(RUN)
    local db <close> = store.open(s.store, "create", "journal")
    local trials <const> = {{id = "0123456789abcdef", params = "{}", cell = "{}", seed = 1},
      {id = "fedcba9876543210", params = "{}", cell = "{}", seed = 2}}
    db:want(trials, "code")
    local me <const> = turns.me()
    local gone <const> = {host = me.host, pid = me.pid, started = me.started - 1}
    assert.is_true(turns.take(s.store, trials[1].id .. ".1", gone))
    write(s.store .. "/claims/" .. trials[2].id .. ".1", "")       -- killed before it could tell who it is
    assert.is_true(turns.take(s.store, "plan.2", gone))
    local function claim()
      return db:claim{host = me.host, pid = me.pid, started = me.started, limit = 1 << 30, least = 1}
    end
    local row <const> = claim()
    assert.equal(trials[1].id, row.id)
    assert.equal(2, row.attempts)
    assert.is_nil(claim())                       -- for a minute it may still be writing
    assert.equal(1, db:add({{id = "00000000000000aa", params = "{}", cell = "{}", seed = 3}}, "code"))
    assert.equal("00000000000000aa", claim().id)
  end)

  it("or stopped while it has the turn of its host keeps nobody from the next trial for ever", function()
    local s <close> = new_journal(RUN)
    local db <close> = store.open(s.store, "create", "journal")
    db:want({{id = "0123456789abcdef", params = "{}", cell = "{}", seed = 1},
      {id = "fedcba9876543210", params = "{}", cell = "{}", seed = 2}}, "code")
    local me <const> = turns.me()
    local function claim()
      return db:claim{host = me.host, pid = me.pid, started = me.started, limit = 1 << 30, least = 1}
    end
    claim()
    local _ <close> = assert(core.lock(db.turn))
    support.with(core, {interruptible = function(f)             -- Ctrl-C comes meanwhile, though it waits for all else
      assert.equal(core.wait, f)
      core.raise("interrupted", "interrupted")
    end}, function() support.raises("interrupted", "interrupted", claim) end)
    local clock <const> = core.clock
    finally(function() core.clock = clock end)
    core.clock = function() return clock() * 1e3 end          -- its ten seconds are ten milliseconds here
    assert.equal("fedcba9876543210", claim().id)
  end)

  it("at any moment changes nothing of the table", function()
    local text <const> = RUN:gsub("return {v", "local till = gb.clock() + 0.02 while gb.clock() < till do end return {v")
    local calm <close> = new(text)
    calm:sweep("run", "-j", 4)
    local s <close> = new_journal(text)
    store.open(s.store, "create", "journal"):close()
    kills(s, tonumber(os.getenv "GIBBOUS_KILLS" or "12"), 4, 20261128)
    for _ = 1, 20 do
      if select(3, s:sweep("run", "-j", 4, "--retry-failed", "--keep-going")) == 0 then break end
    end
    assert.equal(calm:results(), s:results())
    assert.equal(0, #s:trials "state = 'running' OR token IS NOT NULL")
    assert.equal(120, #known(s.store).reports)
  end)

  it("leaves the one run to the next, another's is waited for", function()
    local s <close> = new_journal(RUN)
    local held <const> = assert(journal.lock(s.store))
    assert.is_nil(journal.lock(s.store))
    held:close()
    local again <close> = assert(journal.lock(s.store))
    again:close()
    local me <const> = turns.me()
    turns.take(s.store, "run.3", {host = me.host, pid = me.pid, started = me.started + 1})
    local last <close> = assert(journal.lock(s.store))
    assert.equal(4, turns.last(s.store, "run"))
    last:close()
  end)

  it("on another host is silent for a minute first", function()
    local h <const> = holders.new()
    local function alive() error "only the kernel of that host knows" end
    local t <const> = {id = "x", host = "elsewhere", token = "elsewhere-1-1", pid = 1, pid_started = 1, beat = 10}
    assert.same({}, h:gone({t}, "here", alive))
    h.seen[t.token].since = core.clock() - 59
    assert.same({}, h:gone({t}, "here", alive))
    h.seen[t.token].since = core.clock() - 61
    assert.same({t}, h:gone({t}, "here", alive))
    t.beat = 5                                   -- its clock was set back; it is there
    assert.same({}, h:gone({t}, "here", alive))
  end)
end)

describe("a line of a journal", function()
  it("is what was written, or nothing", function()
    local line <const> = events.line{change = "set", key = "k", value = "a \xff b\n\0c"}
    assert.equal(1, select(2, line:gsub("\n", "\n")))
    assert.equal("a ? b\n?c", events.parse(line:sub(1, -2)).value)
    for at = 1, #line - 1 do
      local flipped <const> = line:sub(1, at - 1) .. string.char(line:byte(at) ~ 4) .. line:sub(at + 1, -2)
      assert.is_nil(events.parse(flipped), flipped)
    end
    support.raises("option", "are too many for one line of a journal: large results go to files in trial.dir", events.line,
      {change = "set", value = ("x"):rep(1 << 20)})
  end)

  it("that has come in part is read once it is whole", function()
    local path <const>, reader <const>, list <const> = os.tmpname(), events.reader(), {}
    finally(function() os.remove(path) end)
    local first <const>, second <const> = events.line{change = "set", key = "a"}, events.line{change = "set", key = "b"}
    write(path, first .. second:sub(1, 20))
    reader:read(path, list)
    assert.equal(1, #list)
    reader:read(path, list)
    assert.equal(1, #list)
    core.append(path, second:sub(21))
    reader:read(path, list)
    assert.equal("b", list[2].key)
    assert.equal(0, reader.damaged)
  end)
end)

--- What goes wrong around sweeps: damaged and frozen stores, processes left behind, logs without end, results that cannot be
-- written.
local core <const> = require "gibbous.core"
local log <const> = require "gibbous.sweep.run.log"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"
local store <const> = require "gibbous.sweep.store"
local support <const> = require "spec.support"

local RUN <const> = [[space = {a = gb.sweep.range(1, 40)}, metric = "v", run = function(p)
    return {v = p.a, text = ("x"):rep(200)}
  end]]

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

describe("a damaged database", function()
  local s, text, path
  setup(function()
    s = new(RUN)
    s:sweep("run", "-j", 2)
    path = s.store .. "/study.db"
    text = read(path)
  end)
  teardown(function() s:remove() end)

  local function refused(words)
    local _, err <const>, code <const> = s:sweep "run"
    assert.equal(1, code)
    assert.matches(words, err, 1, true)
  end

  it("is refused before anything runs", function()
    write(path, text:sub(1, 4096) .. ("\xa5"):rep(4096) .. text:sub(8193))
    refused "study.db"
    write(path, text:sub(1, #text // 2 // 4096 * 4096))
    refused "study.db"
    write(path, text)
    assert.equal(0, select(3, s:sweep "run"))
  end)

  it("says what is damaged, and what to do", function()
    local at <const> = assert(text:find(("x"):rep(200), 1, true))
    local page <const> = (at - 1) // 4096 * 4096
    write(path, text:sub(1, page) .. ("\0"):rep(4096) .. text:sub(page + 4097))
    refused "is damaged: "
    refused "Move it away and run the sweep again"
    write(path, text)
  end)

  it("is read as it is where nothing can be written beside it", function()
    local db <close> = core.database(path, "frozen")
    assert.equal(40, db:rows "SELECT COUNT(*) AS n FROM trial"[1].n)
    support.raises("io", "readonly", function() db:run "DELETE FROM trial" end)
    local odd <const> = s:path "odd %3f?#.db"
    write(odd, text)
    local other <close> = core.database(odd, "frozen")
    assert.equal(40, other:rows "SELECT COUNT(*) AS n FROM trial"[1].n)
  end)
end)

describe("a trial", function()
  it("ends with the processes that it started", function()
    local s <close> = new [[space = {a = {1}}, run = function(_, trial)
        os.execute("sleep 600 & echo $! > " .. trial.dir .. "/pid")
      end]]
    assert.equal(0, select(3, s:sweep "run"))
    local pid <const> = math.tointeger(tonumber(read(core.glob(s.store .. "/trials/*/pid")[1]):match "%d+"))
    for _ = 1, 100 do
      if not core.process(pid) then break end
      core.wait({}, 0.02)
    end
    assert.is_nil(core.process(pid))
  end)

  it("that is stopped, or ignores what asks it to end, is ended by its budget", function()
    local s <close> = new [[space = {what = {"stopped", "deaf"}}, budget = {time = 0.3}, run = function(p)
        if p.what == "stopped" then os.execute "kill -STOP $PPID" end
        os.execute "trap '' TERM; sleep 600"
      end]]
    local out <const> = s:sweep("run", "-j", 2)
    assert.matches("2 timeout", out, 1, true)
  end)

  it("keeps the first part and the latest lines of a log without end", function()
    local s <close> = new [[space = {a = {1}}, run = function()
        local line = ("line of words "):rep(73) .. "\n"
        print "the start"
        for _ = 1, 100 << 10 do io.write(line) end
        print "the end"
      end]]
    assert.equal(0, select(3, s:sweep "run"))
    local text <const> = read(core.glob(s.store .. "/trials/*/log.txt")[1])
    assert.is_true(#text <= 64 << 20, ("%d bytes"):format(#text))
    assert.equal("the start\n", text:sub(1, 10))
    assert.matches("[gibbous: the log grew beyond 64 MiB; ", text, 1, true)
    local short <const> = s:path "short.txt"
    write(short, "short")
    assert.equal(7, log.trim(short, 7))
    assert.equal("short", read(short))
  end)

  it("that cannot write what it came to is pending, and the sweep stops", function()
    local s <close> = new [[space = {a = {1, 2}}, run = function()
        return {v = ("x"):rep(2000000)}
      end]]
    s.env = "GIBBOUS_STORE=journal"
    local out <const>, err <const>, code <const> = s:sweep "run"
    assert.equal(3, code)
    assert.matches("2 pending", out, 1, true)
    assert.matches("trial 1 could not write what it came to, so the sweep stops here", err, 1, true)
    assert.matches("large results go to files in trial.dir", read(core.glob(s.store .. "/trials/*/log.txt")[1]), 1, true)
  end)
end)

-- The first trial takes the room to write from its coordinator, as a disk that is full does.
for _, carrier in ipairs{"sqlite", "journal"} do
  describe("a coordinator that cannot write: " .. carrier, function()
    it("stops with status 3 and keeps what trials came to", function()
      local s <close> = new [[space = {a = {1, 2, 3}}, metric = "v", run = function(p)
          os.execute "prlimit --pid $(cut -d ' ' -f 4 /proc/$PPID/stat) --fsize=1024"
          return {v = p.a}
        end]]
      local words <const> = {"-c", [=[trap "" XFSZ; exec "$@"]=], "sh", process.binary, "sweep", "run", s.script, "--store",
        s.store}
      local out <const>, err <const>, code <const> = process.run(words, {program = "sh", env = "GIBBOUS_STORE=" .. carrier})
      assert.equal(3, code, out .. err)
      assert.matches("the sweep stops here; what trials came to is kept, and the same line goes on from there", err, 1, true)
      local why <const> = carrier == "sqlite" and "study.db: disk I/O error" or "cannot write [^\n]*File too large"
      assert.matches("\ngibbous: [^\n]*" .. why, err)
      s.env = "GIBBOUS_STORE=" .. carrier
      s:rewrite [[space = {a = {1, 2, 3}}, metric = "v", run = function(p) return {v = p.a} end]]
      assert.equal(0, select(3, s:sweep "run"))
    end)
  end)
end

describe("files", function()
  it("are claimed by one, appended to, and cut", function()
    local path <const> = os.tmpname()
    os.remove(path)
    assert.is_true(core.claim(path, "one\n"))
    assert.is_false(core.claim(path, "two\n"))
    core.append(path, "more\n", true)
    core.append(path, "")
    assert.equal("one\nmore\n", read(path))
    core.cut(path, 100)
    core.cut(path, 3)
    assert.equal("one", read(path))
    support.raises("option", "a file is cut to 0 bytes or more, got -1", core.cut, path, -1)
    os.remove(path)
    for name, f in pairs{claim = core.claim, append = core.append} do
      support.raises("io", "No such file or directory", f, path .. "/none/" .. name, "x")
    end
    support.raises("io", "No such file or directory", core.cut, path, 1)
  end)
end)

describe("a store", function()
  it("is of one kind", function()
    local s <close> = new(RUN)
    s.env = "GIBBOUS_STORE=stone"
    local _, err <const>, code <const> = s:sweep "run"
    assert.equal(1, code)
    assert.matches("GIBBOUS_STORE is \"sqlite\" or \"journal\", got \"stone\"", err, 1, true)
    assert.is_false(store.is(s.store))
  end)

  it("of another user is read, where it cannot be written", function()
    local as <const> = "setpriv --reuid 65534 --clear-groups " .. process.binary
    if not os.execute("test $(id -u) = 0 && " .. as .. " -e '' 2>/dev/null") then
      pending "only root can be another user"
      return
    end
    local s <close> = new(RUN)
    s:sweep("run", "-j", 2)
    os.execute(("chmod 755 '%s' '%s'"):format(s.folder, s.store))
    local out <const>, err <const>, code <const> = process.run({"sweep", "table", s.store, "--rows", "a"}, {program = as})
    assert.equal(0, code, err)
    assert.matches("\n40 +40", out)
  end)

  it("in a folder that cannot be written says what to do", function()
    local make_folder <const> = core.make_folder
    finally(function() core.make_folder = make_folder end)
    for _, cause in ipairs{"Read-only file system", "Permission denied"} do
      core.make_folder = function(path) core.raise("io", ("cannot make the folder %s: %s"):format(path, cause)) end
      support.raises("io", "the store of a sweep needs a folder that can be written: name one with --store DIR",
        store.open, "/no/place", "create")
      support.raises("io", cause, store.lock, "/no/place")
    end
  end)
end)

describe("a store that several processes begin at once", function()
  local OPEN <const> = [[local sqlite <const> = require "gibbous.sweep.store.sqlite"
    while not io.open "%s/go" do end
    sqlite.open("%s", "create"):close()]]

  it("is opened by each", function()
    for _ = 1, 10 do
      local folder <const> = os.tmpname()
      os.remove(folder)
      core.make_folder(folder)
      local list <const> = {}
      for i = 1, 4 do
        list[i] = core.child({process.binary, "-e", OPEN:format(folder, folder)}, nil, ("%s/%d.txt"):format(folder, i))
      end
      core.wait({}, 0.06)                                     -- all of them are at the loop
      write(folder .. "/go", "")
      for i, child in ipairs(list) do
        assert.equal(0, child:reap().exit, read(("%s/%d.txt"):format(folder, i)))
      end
      os.execute("rm -r " .. folder)
    end
  end)
end)

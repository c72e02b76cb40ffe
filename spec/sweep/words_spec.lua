--- Names and values of any bytes in tables, and words of commands that name nothing.
local core <const> = require "gibbous.core"
local events <const> = require "gibbous.sweep.store.events"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"
local store <const> = require "gibbous.sweep.store"
local support <const> = require "spec.support"
local turns <const> = require "gibbous.sweep.store.turns"

local RUN <const> = [[space = {a = {"#x", "y&z~$"}}, repeats = 2, metric = "m%\nbye\\end{document}", run = function(p, trial)
    return {["m%\nbye\\end{document}"] = #p.a + trial.seed % 5}
  end]]

describe("tables of hostile names", function()
  local s
  setup(function()
    s = new(RUN)
    assert.equal(0, select(3, s:sweep "run"))
  end)
  teardown(function() s:remove() end)

  local function of(fmt)
    local out <const>, err <const>, code <const> = s:sweep("table", "--rows", "a", "--fmt", fmt)
    assert.equal(0, code, err)
    return out
  end

  it("keep comments of LaTeX on their lines", function()
    local out <const> = of "latex"
    local _, behind <const> = assert(out:find("\\end{tabular}\n", 1, true))
    local comments = 0
    for line in out:sub(behind + 1):gmatch "[^\n]+" do
      assert.equal("%", line:sub(1, 1), line)
      comments = comments + 1
    end
    assert.is_true(comments > 0)
    assert.matches("y\\&z\\textasciitilde{}\\$", out, 1, true)
  end)

  it("are the same words in Markdown", function()
    assert.matches("| y\\&z\\~\\$ |", of "md", 1, true)
  end)

  it("have no row in CSV that is a comment", function()
    local gb <const> = require "gibbous"
    local path <const> = s:path "table.csv"
    local f <close> = assert(io.open(path, "wb"))
    f:write(of "csv")
    f:flush()
    assert.same({"#x", "y&z~$"}, gb.data.read(path).a)
  end)
end)

describe("a word that names nothing", function()
  local s
  setup(function()
    s = new [[space = {a = {1, 2}}, metric = "v", run = function(p) return {v = p.a} end]]
    assert.equal(0, select(3, s:sweep "run"))
  end)
  teardown(function() s:remove() end)

  local function refused(words, ...)
    local out <const>, err <const>, code <const> = s:sweep(...)
    assert.equal(1, code, out)
    assert.matches(words, err, 1, true)
  end

  it("is refused, and nothing is pending again", function()
    refused("there is no trial 99 in", "rerun", "1", "99")
    refused("there is no trial abc in", "rerun", "1", "abc")
    refused("--class is one of ok, pruned", "rerun", "--class", "nonsense")
    refused("it needs numbers of trials, --failed or --class CLASS", "rerun")
    refused("--class is one of ok, pruned", "ls", "--class", "nonsense")
    assert.equal(2, #s:trials "state = 'done'")
    assert.matches("1 trials are pending again", (s:sweep("rerun", "2")), 1, true)
  end)

  it("becomes no line of a batch job", function()
    refused("--partition: names of partitions expected", "slurm", "--partition", "a\nrm")
    assert.matches("\n#SBATCH --partition=long,short.2\n", (s:sweep("slurm", "--partition", "long,short.2")), 1, true)
  end)
end)

describe("the words of a look", function()
  local s
  setup(function()
    s = new([[space = {["two words"] = {1, 2}, b = {1, 2}}, metric = "v", run = function(p)
        return {v = p.b + p["two words"]}
      end]], "local more = ...")
    assert.equal(0, select(3, s:sweep "run"))
  end)
  teardown(function() s:remove() end)

  local function refused(words, ...)
    local out <const>, err <const>, code <const> = process.run{"sweep", ...}
    assert.equal(1, code, out)
    assert.matches(words, err, 1, true)
  end

  it("that nothing takes are refused", function()
    for _, verb in ipairs{"ls", "export", "table", "plot", "watch", "report"} do
      refused("nothing is expected behind STORE, got 'extra'", verb, s.store, "extra")
    end
    refused("it shows one trial, got 2 numbers", "show", s.store, "1", "2")
    refused("--level is between 0 and 1, got 2", "table", s.store, "--level", "2")
    refused("two parameters, got 'b' twice", "plot", s.store, "--kind", "heat", "--x", "b", "--y", "b")
  end)

  it("name parameters with blanks", function()
    local out <const>, err <const>, code <const> = s:sweep("table", "--rows", "two words, b", "--fmt", "csv")
    assert.equal(0, code, err)
    assert.matches("^two words,b,metric", out)
  end)

  it("say a limit before anything is kept", function()
    local none <const> = s:path "none"
    refused("the limit must be above 0", "run", s.script, "--store", none, "--limit", "0")
    assert.is_false(core.file_exists(none))
  end)

  it("behind a script are the script's, as for run", function()
    local twin <close> = new [[space = {a = ... == "more" and {1, 2, 3} or {1}}, metric = "v", run = function(p)
        return {v = p.a}
      end]]
    local out <const>, err <const>, code <const> = twin:sweep("plan", "more")
    assert.equal(0, code, err)
    assert.matches("3 trials of 3 cells", out, 1, true)
  end)
end)

describe("a signal while a script is read", function()
  for signal, statuses in pairs{INT = {130, 130}, TERM = {143, 99}, USR1 = {99, 99}} do
    it("ends a run and a worker with the status of any time: " .. signal, function()
      local s <close> = new([[space = {a = {1}}, run = function() return 1 end]], ([[
        io.popen "kill -%s $PPID":close()
        for _ = 1, 1000000 do end]]):format(signal))
      for i, verb in ipairs{"run", "work"} do
        local _, err <const>, code <const> = s:sweep(verb)
        assert.equal(statuses[i], code, err)
        assert.matches("the same line goes on from here", err, 1, true)
      end
      if signal == "INT" then assert.equal(130, (select(3, s:sweep "ls"))) end
    end)
  end
end)

describe("an interrupt while a store is read", function()
  local function interrupt() core.raise("interrupted", "interrupted") end

  it("is no damaged line, and no owner of whom nothing is known", function()
    local s <close> = new [[run = error]]
    core.make_folder(s:path "claims")
    turns.take(s.folder, "plan.1", turns.me())
    local line <const> = events.line{change = "open", version = 1}:sub(1, -2)
    assert.equal("open", events.parse(line).change)
    support.with(core, {json_decode = interrupt}, function()
      support.raises("interrupted", "", events.parse, line)
      support.raises("interrupted", "", turns.owner, s.folder, "plan.1")
    end)
    support.with(core, {json_decode = function() core.raise("format", "no JSON") end}, function()
      assert.is_nil(events.parse(line))
      assert.is_nil(turns.owner(s.folder, "plan.1"))
    end)
  end)

  it("is no damage of a database", function()
    local s <close> = new [[run = error]]
    local db <close> = store.open(s.store, "create", "sqlite")
    local function failing(code)
      return setmetatable({db = {rows = function() core.raise(code, "words") end}}, {__index = db})
    end
    support.raises("interrupted", "words", db.damage, failing "interrupted")
    support.raises("format", "is damaged: ", db.damage, failing "format")
  end)
end)

describe("bytes that are no UTF-8", function()
  it("are told by JSON as question marks: of messages, and of the folder that a sweep runs in", function()
    local s <close> = new [[space = {a = {1, 2}}, metric = "v", run = function(p)
        if p.a == 2 then error "caf\xe9" end
        return {v = 1}
      end]]
    local folder <const> = s:path "caf\xe9"
    core.make_folder(folder)
    local words <const> = {"-c", [[cd "$1" && shift && exec "$@"]], "sh", folder, process.binary, "sweep", "run", s.script,
      "--store", s.store}
    local out <const>, err <const>, code <const> = process.run(words, {program = "sh"})
    assert.equal(3, code, out .. err)
    assert.matches("1 ok, 1 error", out, 1, true)
    local text <const> = s:sweep("export", "--fmt", "json")
    local rows <const> = core.json_decode(text)
    assert.equal(2, #rows)
    assert.matches("caf?", rows[2].message, 1, true)
  end)
end)

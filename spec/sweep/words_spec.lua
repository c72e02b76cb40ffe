--- Names and values of any bytes in tables, and words of commands that name nothing.
local new <const> = require "spec.sweep.study"

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

  local process <const> = require "spec.process"

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
    local store <const> = s:path "none"
    refused("the limit must be above 0", "run", s.script, "--store", store, "--limit", "0")
    assert.is_false(require "gibbous.core".file_exists(store))
  end)

  it("behind a script are the script's, as for run", function()
    local twin <close> = new([[space = {a = ... == "more" and {1, 2, 3} or {1}}, metric = "v", run = function(p) return {v = p.a} end]])
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

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

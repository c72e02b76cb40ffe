--- gb.cli, each script in a process of its own: it may end the process.
local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local raises <const> = (require "spec.support").raises

local DECLARED <const> = [[{"Fits a model to a data set.",
  data = {"kin40k", "name of the set"}, lr = {0.1, "learning rate", min = 0, max = 1},
  kernel = {default = "rbf", choices = {"rbf", "matern32"}, help = "of the model"}, steps = {10, "of the fit", short = "n"},
  ranks = {choices = {1, 15, 100}, help = "of the preconditioner"}, json = {false, "prints JSON"}, warm_start = true,
  out = {type = "string", help = "a file"}}]]

--- Runs a script that declares these options and prints its values as JSON. Gives output, errors, status.
local function run(words, o)
  o = o or {}
  local path <const> = os.tmpname()
  do
    local f <close> = assert(io.open(path, "w"))
    f:write(([[local gb = require "gibbous"
      local o = gb.cli%s
      print(require "gibbous.core".json_encode{data = o.data, lr = o.lr, kernel = o.kernel, steps = o.steps, ranks = o.ranks,
        json = o.json, warm = o.warm_start, out = o.out, type = math.type(o.steps)})]]):format(o.declared or DECLARED))
  end
  local out, err <const>, code <const> = process.run({path, table.unpack(words)}, {env = o.env})
  os.remove(path)
  return out:gsub(path:gsub("%p", "%%%0"), "script"), err:gsub(path:gsub("%p", "%%%0"), "script"), code
end

local function values(...)
  local out <const>, err <const>, code <const> = run{...}
  assert.same({"", 0}, {err, code})
  return core.json_decode(out)
end

describe("the options of a script", function()
  it("have their defaults", function()
    assert.same({data = "kin40k", lr = 0.1, kernel = "rbf", steps = 10, json = false, warm = true, type = "integer"}, values())
  end)

  it("are given in every usual form, the last one counts", function()
    local v <const> = values("--lr=0.5", "--data", "bike", "-n", "3", "--json", "--no-warm-start", "--ranks=15", "--lr", "0.25",
      "--out=a=b c")
    assert.same({data = "bike", lr = 0.25, kernel = "rbf", steps = 3, json = true, warm = false, ranks = 15, out = "a=b c",
      type = "integer"}, v)
    assert.is_true(values("--warm_start=no", "--warm-start=yes").warm)
    assert.equal(-3, values("--steps", "-3").steps)
    assert.equal("", values("--out=").out)
  end)

  it("end the script with 2 where the words are wrong, and say what would do", function()
    for words, message in pairs{
      ["--lrr=1"] = "there is no option '--lrr', did you mean '--lr'?", ["-x"] = "there is no option '-x'",
      ["--lr=fast"] = "--lr needs a number, got 'fast'", ["--lr=nan"] = "--lr needs a number, got 'nan'",
      ["--lr=2"] = "--lr must be from 0 to 1, got 2", ["--steps=1.5"] = "--steps needs a whole number, got '1.5'",
      ["--steps"] = "--steps needs a whole number", ["--json=maybe"] = "--json needs true or false, got 'maybe'",
      ["--kernel=rbff"] = "--kernel must be one of rbf, matern32, got 'rbff', did you mean 'rbf'?",
      ["--ranks=2"] = "--ranks must be one of 1, 15, 100, got '2'", ["file"] = "'file' is no option: options begin with --",
      ["--no-steps"] = "there is no option '--no-steps'",
    } do
      local out <const>, err <const>, code <const> = run{words}
      assert.same({"", 2}, {out, code}, words)
      assert.equal(1, (err:find("script: " .. message, 1, true)), words .. ": " .. err)
      assert.matches("; %-%-help lists the options\n$", err)
    end
  end)

  it("that are required must be there", function()
    local declared <const> = '{data = {required = true, type = "string"}}'
    assert.same({"", "script: --data is missing: it needs a text; --help lists the options\n", 2}, {run({}, {declared = declared})})
    assert.matches('"data":"x"', (run({"--data=x"}, {declared = declared:gsub("}$", ", lr = 1, kernel = 1, steps = 1, ranks = 1, "
      .. "json = 1, warm_start = 1, out = 1}")})))
  end)

  it("are listed by --help, wherever it stands", function()
    local out <const>, err <const>, code <const> = run{"--lr=x", "--help"}
    assert.same({"", 0}, {err, code})
    assert.equal([[
usage: gibbous script [options]
Fits a model to a data set.
  --data STRING          name of the set (kin40k unless given)
  --json                 prints JSON (false unless given)
  --kernel rbf|matern32  of the model (rbf unless given)
  --lr NUMBER            learning rate (0.1 unless given)
  --out STRING           a file
  --ranks 1|15|100       of the preconditioner
  -n, --steps INTEGER    of the fit (10 unless given)
  --warm-start           (true unless given)
  --help                 shows this
]], out)
  end)

  it("are printed for shells", function()
    local out <const>, err <const>, code <const> = run({}, {env = "GIBBOUS_COMPLETE=1"})
    assert.same({"", 0}, {err, code})
    assert.equal("--help\n--data\n--json\n--kernel\n--kernel=rbf\n--kernel=matern32\n--lr\n--out\n--ranks\n--ranks=1\n--ranks=15\n"
      .. "--ranks=100\n--steps\n--warm-start\n", out)
  end)

  it("have no other names, and stay as they are", function()
    local code <const> = [[arg = {[0] = "s"} local o = require "gibbous".cli{lr = 0.1} ]]
    local _ <const>, err <const> = process.run{"-e", code .. "print(o.lrr)"}
    assert.matches("what gb.cli gave has no field 'lrr' %(did you mean 'lr'%?%)", err)
    assert.equal("lr\t0.1\n", (process.run{"-e", code .. "for k, v in pairs(o) do print(k, v) end"}))
    assert.matches("the option 'lr' cannot be assigned to", (select(2, process.run{"-e", code .. "o.lr = 1"})))
  end)
end)

describe("a declaration", function()
  local cli <const> = require "gibbous".cli

  it("that makes no sense is refused where it stands", function()
    raises("option", "gb.cli takes a table", function() cli "lr" end)
    raises("option", "gb.cli: options have names, got the key 2", function() cli{"about", "more"} end)
    raises("option", "gb.cli: --help is there already", function() cli{help = true} end)
    raises("option", "gb.cli: lr is {default, help}", function() cli{lr = {1, "a", "b"}} end)
    raises("option", "gb.cli: lr: unknown option 'mn'", function() cli{lr = {default = 1, mn = 0}} end)
    raises("option", "gb.cli: short of lr must be a letter", function() cli{lr = {1, "rate", short = "lr"}} end)
  end)
end)

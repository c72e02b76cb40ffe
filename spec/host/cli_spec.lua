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
  --[no-]warm-start      (true unless given)
  --help                 shows this
]], out)
  end)

  it("are printed for shells", function()
    local out <const>, err <const>, code <const> = run({}, {env = "GIBBOUS_COMPLETE=1"})
    assert.same({"", 0}, {err, code})
    assert.equal("--help\n--data\n--json\n--kernel\n--kernel=rbf\n--kernel=matern32\n--lr\n--out\n--ranks\n--ranks=1\n--ranks=15\n"
      .. "--ranks=100\n--steps\n--warm-start\n--no-warm-start\n", out)
  end)

  it("have no other names, and stay as they are", function()
    local code <const> = [[arg = {[0] = "s"} local o = require "gibbous".cli{lr = 0.1} ]]
    local _ <const>, err <const> = process.run{"-e", code .. "print(o.lrr)"}
    assert.matches("what gb.cli gave has no field 'lrr' %(did you mean 'lr'%?%)", err)
    assert.equal("lr\t0.1\n", (process.run{"-e", code .. "for k, v in pairs(o) do print(k, v) end"}))
    assert.matches("the option 'lr' cannot be assigned to", (select(2, process.run{"-e", code .. "o.lr = 1"})))
  end)
end)

describe("words that have a place", function()
  local DECLARED_PLACES <const> = [[{"Joins tables.", {"how", choices = {"inner", "left"}, help = "of a row without a partner"},
    {"file", help = "tables to read", n = "+"}, {"out", help = "the table to write"}, lr = {0.1, "rate"}}]]

  --- The values that a script with these declarations has, as JSON.
  local function placed(declared, words)
    local list <const> = {}
    for i, word in ipairs(words) do list[i] = ("%q"):format(word) end
    local out <const>, err <const>, code <const> = process.run{"-e", ([[arg = {[0] = "script", %s}
      local o, all = require "gibbous".cli%s, {}
      for k, v in pairs(o) do all[k] = v end
      print(require "gibbous.core".json_encode(all))]]):format(table.concat(list, ", "), declared)}
    return code == 0 and core.json_decode(out) or out, err, code
  end

  it("are given in order, wherever options stand", function()
    local want <const> = {how = "left", file = {"a.csv", "b.csv"}, out = "c.csv", lr = 0.5}
    assert.same(want, (placed(DECLARED_PLACES, {"left", "a.csv", "--lr", "0.5", "b.csv", "c.csv"})))
    assert.same(want, (placed(DECLARED_PLACES, {"--lr=0.5", "left", "a.csv", "b.csv", "c.csv"})))
    assert.same({how = "left", file = {"--lr=1", "-"}, out = "--help", lr = 0.1},
      (placed(DECLARED_PLACES, {"left", "--", "--lr=1", "-", "--help"})))
  end)

  it("have types, and as many words as n says", function()
    local two <const> = '{{"x", type = "number", n = 2, min = -5}, {"name", default = "none"}, {"more", type = "integer", n = "*"}}'
    assert.same({x = {-3.5, 2}, name = "none", more = {}}, (placed(two, {"-3.5", "2"})))
    assert.same({x = {1, 2}, name = "a", more = {4, 5}}, (placed(two, {"1", "2", "a", "4", "5"})))
    local maybe <const> = '{{"out", n = "?"}}'
    assert.same({}, (placed(maybe, {})))
    assert.same({out = "x"}, (placed(maybe, {"x"})))
  end)

  it("that are too few, too many or wrong end the script with 2", function()
    for _, case in ipairs{
      {DECLARED_PLACES, {}, "HOW is missing: it needs a text"},
      {DECLARED_PLACES, {"left"}, "FILE is missing: it needs one or more words, each a text"},
      {DECLARED_PLACES, {"left", "a"}, "OUT is missing: it needs a text"},
      {DECLARED_PLACES, {"lefft", "a", "b"}, "HOW must be one of inner, left, got 'lefft', did you mean 'left'?"},
      {DECLARED_PLACES, {"left", "a", "b", "--lrr=1"}, "there is no option '--lrr', did you mean '--lr'?"},
      {DECLARED_PLACES, {"left", "a", "b", "-xy"}, "'-xy' is no option: options begin with --"},
      {'{{"a"}, {"b", n = "?"}}', {"1", "2", "3"}, "there is no place for '3': the words are A [B]"},
      {'{{"x", type = "number", n = 2}}', {"1"}, "X is missing: it needs 2 words, each a number"},
      {'{{"x", type = "integer"}}', {"1.5"}, "X needs a whole number, got '1.5'"},
      {'{{"x", type = "number", max = 1}}', {"2"}, "X must be 1 or less, got 2"},
    } do
      local out <const>, err <const>, code <const> = placed(case[1], case[2])
      assert.same({"", 2, "script: " .. case[3] .. "; --help lists the options\n"}, {out, code, err})
    end
  end)

  it("are in the help and in what shells complete", function()
    local out <const> = run({"--help"}, {declared = DECLARED_PLACES})
    assert.equal([[
usage: gibbous script [options] HOW FILE... OUT
Joins tables.
  HOW inner|left  of a row without a partner
  FILE            tables to read
  OUT             the table to write
  --lr NUMBER     rate (0.1 unless given)
  --help          shows this
]], out)
    assert.equal("--help\n--lr\ninner\nleft\n", (run({}, {declared = DECLARED_PLACES, env = "GIBBOUS_COMPLETE=1"})))
    assert.matches("%[options%] X X %[Y%] %[Z%.%.%.%]\n", (run({"-h"}, {declared = '{{"x", n = 2}, {"y", default = "a"}, '
      .. '{"z", n = "*"}}'})))
  end)

  it("make sense, or are refused where they stand", function()
    local cli <const> = require "gibbous".cli
    raises("option", "gb.cli: a word by its place is {\"name\", help = ...}, got nil", function() cli{"about", {help = "x"}} end)
    raises("option", "gb.cli: a word by its place is {\"name\", help = ...}, got two words", function() cli{{"a", "b"}} end)
    raises("option", "gb.cli: a: unknown option 'typ', did you mean 'type'?", function() cli{{"a", typ = "number"}} end)
    raises("option", "gb.cli: a: option 'n' must be \"?\" (one or none)", function() cli{{"a", n = 0}} end)
    raises("option", "gb.cli: 'a' and 'b' both take any number of words", function() cli{{"a", n = "+"}, {"b", n = "*"}} end)
    raises("option", "gb.cli: 'a' is declared twice", function() cli{{"a"}, a = 1} end)
    raises("option", "gb.cli: 'a' is declared twice", function() cli{{"a"}, {"a"}} end)
    raises("option", "gb.cli: a: a default is for one word, n = \"?\"", function() cli{{"a", default = 1, n = "+"}} end)
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

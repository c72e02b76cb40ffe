--- A study whose trials something else runs, and what Optuna reads of one.
local core <const> = require "gibbous.core"
local new <const> = require "spec.sweep.study"
local process <const> = require "spec.process"

local SEARCH <const> = [[search = "tpe", trials = 12, metric = "v", space = {x = gb.sweep.uniform(0, 1)}, run = error]]

--- gibbous sweep ask, held by this process.
local function ask(s, ...)
  local holder <const> = tostring((core.process()))
  local out <const>, err <const>, code <const> = s:sweep("ask", "--json", "--holder", holder, ...)
  assert.same({"", 0}, {err, code})
  return core.json_decode(out)
end

describe("gibbous sweep ask and tell", function()
  for _, carrier in ipairs{"sqlite", "journal"} do
    it("let another program run the trials of a search: " .. carrier, function()
      local s <close> = new(SEARCH)
      s.env = "GIBBOUS_STORE=" .. carrier
      local seen <const>, n = {}, 0
      while true do
        local t <const> = ask(s)
        if not t then break end
        n = n + 1
        assert.is_nil(seen[t.params.x])
        seen[t.params.x] = true
        assert.equal(n, t.number)
        assert.is_true(core.file_exists(t.dir))
        local v <const> = (t.params.x - 0.3) ^ 2
        local word <const> = n % 2 == 0 and core.json_encode{v = v, note = "even"} or ("%.17g"):format(v)
        local out <const>, err <const>, code <const> = s:sweep("tell", t.number, word)
        assert.same({"", 0}, {err, code})
        assert.matches("^" .. n .. "  ok  ", out)
      end
      assert.equal(12, n)
      local rows <const> = s:trials()
      for _, row in ipairs(rows) do
        local x <const> = core.json_decode(row.params).x
        assert.equal("ok", row.class)
        assert(math.abs(row.metric - (x - 0.3) ^ 2) <= 1e-15)
      end
      assert.matches("12 done", (s:sweep "watch"))
    end)
  end

  it("hand out each trial once, and again when its holder is gone", function()
    local s <close> = new [[metric = "v", space = {x = {1, 2}}, run = error]]
    assert.equal(1, ask(s).number)
    assert.equal(2, ask(s).number)
    assert.is_nil(ask(s))
    local other <close> = new [[metric = "v", space = {x = {1, 2}}, run = error]]
    local child <const> = core.child({"/bin/sleep", "600"}, {}, other:path "log")
    assert.equal('{"x":1}', core.json_encode(core.json_decode((other:sweep("ask", "--json", "--holder", child:pid()))).params))
    child:signal "kill"
    child:reap()
    assert.equal(1, ask(other).number)
  end)

  it("belong to the process that calls", function()
    local s <close> = new [[metric = "v", space = {x = {1, 2}}, run = error]]
    local out <const> = process.run({"-c", [=[
      "$1" sweep ask "$2" --store "$3" > /dev/null
      "$1" sweep ask "$2" --store "$3"]=], "sh", process.binary, s.script, s.store}, {program = "sh"})
    assert.equal("2  x=2\n", out)
    assert.equal(1, ask(s).number)           -- that shell has ended
  end)

  it("take failures, and say what is wrong", function()
    local s <close> = new [[metric = "v", space = {x = {1, 2, 3}}, run = error]]
    ask(s)
    ask(s)
    local function fails(words, ...)
      local _, err <const>, code <const> = s:sweep("tell", ...)
      assert.equal(1, code)
      assert(err:find(words, 1, true), err)
    end
    fails("there is no trial 9", 9, 1)
    fails("trial 3 is pending, not handed out", 3, 1)
    fails("a result is a number or a JSON object", 1, "good")
    fails("the result has no number 'v'", 1, '{"w": 1}')
    fails("either its result or --failed MESSAGE", 1)
    assert.same({"1  error\n", "", 0}, {s:sweep("tell", 1, "--failed", "no luck")})
    assert.same({"2  nan\n", "", 0}, {s:sweep("tell", 2, "nan")})
    fails("trial 1 is error, not handed out", 1, 1)
    fails("there is no option 'i'", "-i", 3)
    assert.equal("no luck", s:trials("number = 1")[1].message)
  end)
end)

describe("gibbous sweep tell of what is no finite number", function()
  it("is a failed trial of the class nan, however it is written", function()
    local words <const> = {["-inf"] = "-inf", ["inf"] = "inf", ["nan"] = "nan", ["-nan"] = "nan", ["-Infinity"] = "-inf",
      ["1e999"] = "inf", ['{"v": "-inf", "seconds": 3}'] = "-inf", ['{"v": "nan"}'] = "nan", ["NaN"] = "nan"}
    local s <close> = new [[metric = "v", space = {x = {1, 2, 3, 4, 5, 6, 7, 8, 9}}, run = error]]
    for word, kept in pairs(words) do
      local number <const> = ask(s).number
      assert.same({number .. "  nan\n", "", 0}, {s:sweep("tell", number, word)}, word)
      local row <const> = s:trials("number = ?", number)[1]
      assert.same({"failed", "nan", "the metric 'v' is " .. kept}, {row.state, row.class, row.message}, word)
      assert.equal(kept, core.json_decode(row.result).v, word)
    end
  end)

  it("is refused where it is no JSON, with what to write", function()
    local s <close> = new [[metric = "v", space = {x = {1}}, run = error]]
    ask(s)
    local _, err <const>, code <const> = s:sweep("tell", 1, '{"v": NaN}')
    assert.equal(1, code)
    assert(err:find('nan and infinite numbers in it are strings: {"v": "nan"}', 1, true), err)
  end)
end)

describe("gibbous sweep export --fmt optuna", function()
  it("is a journal of operations, one a line", function()
    local s <close> = new [[metric = "v", goal = "max", search = "sobol", trials = 5, space = {x = gb.sweep.log_uniform(0.01, 1),
      n = gb.sweep.integers(1, 9), kind = {"a", true, 3}, extra = gb.sweep.when({kind = "a"}, {{1, 2}, {3}})},
      run = function(p, trial)
        if trial.number == 2 then error "no" end
        trial:report(1, 0.5)
        return {v = p.x}
      end]]
    s:sweep("run", "--keep-going")
    local out <const>, err <const>, code <const> = s:sweep("export", "--fmt", "optuna")
    assert.same({"", 0}, {err, code})
    local lines <const> = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = core.json_decode(line) end
    assert.same({op_code = 0, worker_id = "gibbous", study_name = "study", directions = {2}}, lines[1])
    assert.equal(6, #lines)
    for i, row in ipairs(s:trials()) do
      local op <const>, p <const> = lines[i + 1], core.json_decode(row.params)
      assert.equal(4, op.op_code)
      assert.equal(i == 2 and 3 or 1, op.state)
      assert.equal(row.metric, op.value)
      assert.matches("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%d%d%d%d$", op.datetime_complete)
      assert.same({p.x, p.n}, {op.params.x, op.params.n})
      local kind <const> = core.json_decode(op.distributions.kind)
      assert.equal("CategoricalDistribution", kind.name)
      assert.equal(p.kind, kind.attributes.choices[op.params.kind + 1])
      assert.equal(p.kind == "a", op.params.extra ~= nil)
      assert.same({name = "IntDistribution", attributes = {low = 1, high = 9, log = false, step = 1}},
        core.json_decode(op.distributions.n))
      assert.equal(0.01, core.json_decode(op.distributions.x).attributes.low)
      assert.equal(i ~= 2 and 0.5 or nil, op.intermediate_values["1"])
    end
  end)
end)

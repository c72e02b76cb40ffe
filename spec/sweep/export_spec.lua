local core <const> = require "gibbous.core"
local csv <const> = require "gibbous.sweep.show.csv"
local shown <const> = require "spec.sweep.shown"

describe("gibbous sweep export", function()
  local f

  setup(function() f = shown.ran() end)
  teardown(function() f.close() end)

  it("is CSV, a row a trial, with the bits of the results", function()
    local out <const>, _, rc <const> = f.run("export", "study.lua")
    assert.equal(0, rc)
    assert.equal(24, select(2, out:gsub("\n%d+,\"?%x+\"?,", "")))
    assert.truthy(out:find("number,id,state,param.data,param.rank,param.split,result.bad,result.converged,result.fit.seconds,"
      .. "result.fit.steps,result.name,result.nlpd,result.rmse,message,seconds,peak,resident,attempts,seed,code,host,device,"
      .. "started,ended\n", 1, true))
    assert.truthy(out:find(",ok,kin_40k,0,1,nan,true,1,40,\"a,\"\"b\",0.511,0.30000000000000004,,", 1, true))
    assert.truthy(out:find(",error,pol,0,1,,,,,,,,\"study.lua:8: no room for rank 0\n", 1, true))
  end)

  it("is JSON lines and JSON, in which what is not there is null", function()
    local lines <const> = f.run("export", "study.lua", "--fmt", "jsonl")
    local n = 0
    for line in lines:gmatch "[^\n]+" do
      n = n + 1
      local t <const> = core.json_decode(line)
      assert.equal(n, t.number)
      if t.state == "ok" then
        assert.equal("float", math.type(t["result.nlpd"]))
        assert.equal("integer", math.type(t["param.split"]))
        assert.same({true, "nan", 0.1 + 0.2}, {t["result.converged"], t["result.bad"], t["result.rmse"]})
      else
        assert.is_nil(t["result.nlpd"])
        assert.truthy(line:find('"result.nlpd":null', 1, true))
      end
    end
    assert.equal(24, n)
    local all <const> = core.json_decode((f.run("export", "study.gibbous", "--fmt", "json")))
    assert.equal(24, #all)
    f.run("export", "study.lua", "--out", "x.jsonl")
    assert.equal(lines, f.read "x.jsonl")
  end)

  it("has the reports", function()
    local out <const> = f.run("export", "study.lua", "--reports")
    assert.truthy(out:find("number,id,param.data,param.rank,param.split,step,value,seconds\n", 1, true))
    assert.equal(1 + 5 * 17, select(2, out:gsub("\n", "\n")))
    local step <const>, value <const> = out:match "\n3,%x+,kin_40k,0,1,([%d.]+),([%d.]+),"
    assert.same({1.0, 0.5 + 0.011 + 1}, {tonumber(step), tonumber(value)})
  end)

  it("has trials of an older study where it is asked to", function()
    f.write("study.lua", (shown.script:gsub("{0, 15}", "{15}")))
    f.run("run", "study.lua", "--quiet", "--keep-going")
    local function rows(...) return select(2, f.run("export", "study.lua", "--fmt", "jsonl", ...):gsub("\n", "\n")) end
    assert.same({12, 24}, {rows(), rows "--all"})
  end)
end)

describe("CSV", function()
  it("quotes what could be read as something else", function()
    assert.equal('a,b\n"15",15\n"true",true\n"",\n"a ""b""",x y\n"{""k"":1}"," z"\n',
      csv({"a", "b"}, {{"15", 15}, {"true", true}, {""}, {'a "b"', "x y"}, {{k = 1}, " z"}}))
  end)
end)

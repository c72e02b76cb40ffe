local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local raises <const> = support.raises

--- A folder with a set 'own', and one that is called as a known one but holds other bytes.
local function places()
  local dir <const> = os.tmpname()
  os.remove(dir)
  for _, name in ipairs{"own", "yacht"} do
    assert(os.execute(("mkdir -p '%s/%s'"):format(dir, name)))
    support.write(dir .. "/" .. name .. "/data.csv", "1,2\n3,4\n")
  end
  support.write(dir .. "/own/citation.txt", "Somebody (2020)\n")
  support.write(dir .. "/own/licence.txt", "MIT\n")
  return dir
end

local function with(dir, f)
  return support.with(os, {getenv = function(name) return name == "GIBBOUS_DATA" and dir or nil end}, f)
end

describe("gb.data.info", function()
  it("has licence, citation and digest of the customary sets", function()
    local names <const> = require "gibbous.data.registry".names()
    assert.equal(10, #names)
    for _, name in ipairs(names) do
      local i <const> = gb.data.info(name)
      assert.is_true(#i.licence > 0 and #i.citation > 0 and #i.source > 0 and i.n > 0 and i.d > 0, name)
      assert.is_true(i.sha256 == nil or #i.sha256 == 64, name)
    end
    local yacht <const> = gb.data.info "yacht"
    assert.same({"CC-BY-4.0", 308, 6}, {yacht.licence, yacht.n, yacht.d})
    assert.matches("^yacht: Yacht Hydrodynamics\n  308 rows, 6 columns\n  source    UCI", tostring(yacht))
    raises("option", "nothing is known of a data set 'yatch', did you mean 'yacht'?; known: airfoil", gb.data.info, "yatch")
    raises("option", "what is known of a data set has no field 'licens' (did you mean 'licence'?)",
      function() return yacht.licens end)
  end)

  it("has what a set's own folder says", function()
    local dir <const> = places()
    with(dir, function()
      local own <const> = gb.data.info "own"
      assert.same({"Somebody (2020)", "MIT", dir .. "/own/data.csv"}, {own.citation, own.licence, own.path})
      assert.equal("Somebody (2020)", gb.data.set("own").citation)
      local verify <const> = require "gibbous.data.registry".verify
      assert.same({nil, "its digest is not known"}, {verify(own)})
      local ok <const>, why <const> = verify(gb.data.info "yacht")
      assert.is_false(ok)
      assert.matches(core.sha256 "1,2\n3,4\n", why, 1, true)
    end)
    assert(os.execute("rm -r " .. dir))
  end)

  it("agrees with the sets that are here", function()
    for _, name in ipairs(gb.data.sets()) do
      local i <const> = gb.data.info(name)
      if i.sha256 then assert.is_true(require "gibbous.data.registry".verify(i), name) end
    end
  end)
end)

describe("gibbous data", function()
  it("lists, explains, finds and cites", function()
    local dir <const> = places()
    local function run(...)
      return process.run({"data", ...}, {env = "GIBBOUS_DATA=" .. dir})
    end
    local out, err, rc = run "list"
    local none
    assert.matches("\nown +MIT +" .. dir, out)
    assert.matches("\nairfoil +1503 +5 +CC%-BY%-4%.0 +not found", out)
    assert.equal("", err)
    assert.equal(0, rc)
    assert.equal(dir .. "/own/data.csv\n", (run("path", "own")))
    assert.equal("Somebody (2020)\n", (run("cite", "own")))
    out, none, rc = run("verify", "yacht")
    assert.matches("^yacht: .* is expected\n$", out)
    assert.is_true(rc ~= 0)
    assert.equal("", none)
    none, err, rc = run("path", "wine")
    assert.matches("'wine' is not found in", err)
    assert.is_true(rc ~= 0)
    assert.equal("", none)
    err = select(2, run "lst")
    assert.equal("gibbous: data takes a verb: list, info, verify, path, cite, synth; did you mean 'list'?\n", err)
    err = select(2, run "info")
    assert.equal("gibbous: a name is needed; gibbous data list has them\n", err)
    assert(os.execute("rm -r " .. dir))
  end)
end)

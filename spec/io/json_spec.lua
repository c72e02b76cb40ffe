--- Plain Lua data as JSON text and back.
local core <const> = require "gibbous.core"

--- The bits of a number that was written and read.
local function again(v) return core.json_decode(core.json_encode(v)) end

describe("core.json_encode", function()
  it("writes floats with the fewest digits that have the same bits, as floats", function()
    for text, v in pairs{["0.1"] = 0.1, ["0.3"] = 0.3, ["1.0"] = 1.0, ["-0.0"] = -0.0, ["0.30000000000000004"] = 0.1 + 0.2,
      ["2.5e-10"] = 2.5e-10, ["9007199254740992.0"] = 2.0 ^ 53, ["7"] = 7} do
      assert.equal(text, core.json_encode(v))
    end
    assert.equal('{"a 0.10000000000000001":"\\\\\\"0.10000000000000001","b":[0.1,true]}',
      core.json_encode{["a 0.10000000000000001"] = '\\"0.10000000000000001', b = {0.1, true}})
  end)

  it("keeps all bits, and what is whole and what is not", function()
    math.randomseed(1)
    for _ = 1, 20000 do
      local v <const> = string.unpack(">d", string.pack(">i8", math.random(0)))
      if v == v and math.abs(v) < math.huge then
        local back <const> = again(v)
        assert(string.pack(">d", back) == string.pack(">d", v) and math.type(back) == "float", ("%a"):format(v))
      end
    end
    for _, v in ipairs{math.maxinteger, math.mininteger, 0, -1} do
      assert(again(v) == v and math.type(again(v)) == "integer")
    end
  end)
end)

-- gibbous $(command -v busted) NAME_spec.lua
local gb = require "gibbous"
local NAME = require "NAME"

describe("NAME", function()
  it("repeats after a period", function()
    local K = NAME.seasonal(1).season(gb.tensor{{0}, {1}, {0.5}})
    assert.is_true(K[1][2]:item() > K[1][3]:item())
  end)
end)

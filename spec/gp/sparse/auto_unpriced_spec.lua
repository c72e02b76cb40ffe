-- A model of which no time is known is not taken for one that takes none.
local choice <const> = require "gibbous.gp.auto.choice"
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"

--- What is decided where every plan has these seconds.
local function decided(seconds)
  local x <const> = core.empty(1000, 2, {dtype = "f64"})
  local function make()
    return {kernel = gb.kernels.rbf{}, plan = function()
      return {seconds = seconds, peak = 8, close = function() end}
    end}
  end
  return choice.decide(make, x, core.empty(1000, {dtype = "f64"}), 60, 2 ^ 30, "laplace")
end

describe("gb.gp.auto", function()
  it("takes as few places as there are where no time is known", function()
    local how <const> = decided(nil)
    assert.equal("svgp", how.kind)
    assert.equal(16, how.inducing)
    assert.truthy(how.reason:find("no time is known", 1, true))
  end)

  it("takes what takes no time", function()
    assert.equal("laplace", decided(0).kind)
  end)
end)

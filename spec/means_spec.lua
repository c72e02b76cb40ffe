local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local x <const> = gb.tensor{{1, 2}, {3, 4}, {5, 6}}

describe("gb.means", function()
  it("zero is 0 everywhere, in the inputs' type", function()
    near({0, 0, 0}, gb.means.zero()(x), 0)
    assert.equal("f32", gb.means.zero()(x:to{dtype = "f32"}).dtype)
  end)

  it("constant is its value, free and unbounded", function()
    local m <const> = gb.means.constant(-7)
    near({-7, -7, -7}, m(x), 0)
    assert.equal("constant{value=-7.0}", tostring(m))
    m.value.value = 3
    near({3, 3, 3}, m(x), 0)
  end)

  it("linear is offset + x . slope", function()
    near({1 + 2 + 20, 1 + 6 + 40, 1 + 10 + 60}, gb.means.linear{slope = {2, 10}, offset = 1}(x), 1e-14)
    near({-1, -2}, gb.means.linear{slope = -1}(gb.tensor{1, 2}), 0)
    raises("shape", "3 slopes for inputs with 2 columns", gb.means.linear{slope = {1, 2, 3}}, x)
  end)

  it("define gives a mean of one's own, differentiated by its parameters", function()
    local wave <const> = gb.means.define("wave", {height = 2, rate = 0.5}, function(at, p)
      return p.height * (at:select(2, 1) * p.rate):sin()
    end)
    local m <const> = wave{height = 3}
    near({3 * math.sin(0.5), 3 * math.sin(1.5), 3 * math.sin(2.5)}, m(x), 1e-14)
    support.check_gradients(function() return (m(x) * gb.tensor{1, -2, 3}):sum() end, (gb.params(m)), 1e-8)
  end)

  it("rejects unknown options by name", function()
    raises("option", "gb.means.linear: unknown option 'slop', did you mean 'slope'?", gb.means.linear, {slop = 1})
  end)
end)

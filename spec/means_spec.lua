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

  it("linear from one number has a slope for each column once a model has data", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, mean = gb.means.linear{slope = 0.5, offset = 1}, noise = 0.1}
    local held <const> = m:condition(x, gb.ones(3))
    near({0.5, 0.5}, held.mean.slope.value, 0)
    near({1 + 1.5, 1 + 3.5, 1 + 5.5}, held.mean(x), 1e-14)
    held:set("mean.slope", {1, 0})
    near({2, 4, 6}, held.mean(x), 1e-14)
    assert.equal(0, m.mean.slope.ndim)                                 -- the first model saw no data
    local one <const> = m:condition(gb.tensor{1, 2}, gb.ones(2))
    assert.equal(0, one.mean.slope.ndim)
    local shared <const> = gb.param(0.5)
    local common <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, mean = gb.means.linear{slope = shared}, noise = 0.1}
      :condition(x, gb.ones(3))
    assert.is_true(rawequal(shared, common:get "mean.slope"))
    raises("shape", "linear mean: 2 slopes for inputs with 3 columns", function()
      return gb.means.linear{slope = {1, 2}}(gb.ones(2, 3))
    end)
  end)

  it("may be a plain function of x, or a network, in a model", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, mean = function(at) return at:sum(2) * 2 end}
    near({6, 14, 22}, m:predict(x).mean, 1e-14)
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 1, {seed = 1})}
    local n <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, mean = net}
    near(net(x):squeeze(2), n:predict(x).mean, 1e-14)
    local before <const> = (gb.params(net))[1].value:totable()
    n:fit(x, gb.tensor{1, 5, 2}, {steps = 3})
    assert.is_true(math.abs((gb.params(net))[1].value[1][1]:item() - before[1][1]) > 1e-6)      -- networks are shared
    raises("shape", "the mean function: expected one value a row, shape 3, got shape 3x2", function()
      return gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, mean = function(at) return at end}:predict(x).mean
    end)
    raises("shape", "mean 'bad': expected one value a row, shape 3, got number", function()
      return gb.means.define("bad", {}, function() return 1 end){}(x)
    end)
    raises("option", "option 'mean' must be a gb.means value", gb.gp.exact, {kernel = gb.kernels.rbf{}, mean = 3})
    raises("option", "option 'mean' must be a gb.means value", gb.gp.exact, {kernel = gb.kernels.rbf{}, mean = gb.kernels.rbf{}})
  end)

  it("rejects unknown options by name", function()
    raises("option", "gb.means.linear: unknown option 'slop', did you mean 'slope'?", gb.means.linear, {slop = 1})
  end)
end)

describe("parameters of means", function()
  it("are open where nobody gave a value, and shared where one was given", function()
    local param <const> = require "gibbous.param"
    local p <const> = gb.param(3)
    assert.is_true(param.is_open(gb.means.constant().hyper.value))
    assert.is_false(param.is_open(gb.means.constant(2).hyper.value))
    assert.is_true(rawequal(p, gb.means.constant(p).hyper.value))
    assert.equal("value", gb.means.constant(2).hyper.value.name)
  end)
end)

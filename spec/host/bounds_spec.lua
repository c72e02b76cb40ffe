--- Bounds of parameters that are changed.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

describe("bounds that are assigned", function()
  it("keep the value and take its transform along", function()
    local p <const> = gb.param(0.5)
    p.min = 0
    near(0.5, p.value, 1e-15)
    near(math.log(0.5), p.raw, 1e-15)
    p.max = 2
    near(0.5, p.value, 1e-15)
    near(math.log(0.25 / 0.75), p.raw, 1e-14)
    assert.same({0, 2}, {p.min, p.max})
    p.min, p.max = nil, math.huge
    assert.same({nil, nil}, {p.min, p.max})
    near(0.5, p.raw, 1e-15)
    p.value = -3
  end)

  it("hold in fits, of parameters that are implicit too", function()
    local x <const> = gb.rand(30, 1, {seed = 1})
    local y <const> = (8 * x):sin():sum(2) + 0.1 * gb.randn(30, {seed = 2})
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}
    m.kernel.lengthscale.min = 0.9
    m:bound("likelihood.noise", {max = 0.2, min = 0.05})
    m:fit(x, y)
    assert.is_true(m:get "kernel.lengthscale":item() >= 0.9 and m:get "kernel.lengthscale":item() < 0.92)
    local noise <const> = m:get "likelihood.noise":item()
    assert.is_true(noise >= 0.05 and noise <= 0.2)
    assert.same({0.05, 0.2}, {m:get "likelihood.noise".min, m:get "likelihood.noise".max})
    assert.same({"kernel.lengthscale"}, {m.info.active_bounds[1]})
    local copy <const>, path <const> = m:copy(), os.tmpname()
    m:save(path)
    for _, one in ipairs{copy, gb.load(path)} do
      local p <const> = one:get "likelihood.noise"
      assert.same({0.05, 0.2, 0.9}, {p.min, p.max, one:get "kernel.lengthscale".min})
      raises("option", "is above 0 by what it is", function() p.min = -1 end)
      one:fit(x, y, {steps = 2})
      assert.equal(0.05, one:get "likelihood.noise".min)
    end
    os.remove(path)
  end)

  it("stay when data give each column its own, and leave what is not given open", function()
    local k <const> = K.rbf{ard = true}
    k.lengthscale.max = 7
    local m <const> = gb.gp.exact{kernel = k, noise = 0.1, mean = gb.means.linear{slope = 1}}
    m.mean.slope.min = -2
    local held <const> = m:condition(gb.ones(3, 2), gb.ones(3))
    assert.same({2, 0, 7}, {#held.kernel.lengthscale, held.kernel.lengthscale.min, held.kernel.lengthscale.max})
    assert.same({2, -2}, {#held.mean.slope, held.mean.slope.min})
    assert.is_true(require "gibbous.param".is_open(held.kernel.lengthscale))
  end)

  it("drop what was computed for the old unconstrained value, and no prediction that exists", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}:condition(gb.tensor{1, 2, 3}, gb.tensor{1, 0, 1})
    local before <const> = m:predict(gb.tensor{1.5})
    m.kernel.lengthscale.max = 3
    near(before.mean, m:predict(gb.tensor{1.5}).mean, 1e-14)
    local p <const> = m:get "kernel.lengthscale"
    local function f() return m:predict(gb.tensor{1.5}).mean:sum() end
    near(support.differences(f, {p}, 1e-5)[1], {gb.grad(f(), p.raw):item()}, 1e-8)
  end)
end)

describe("bounds that cannot be", function()
  it("say the value and the bounds, and leave the parameter as it was", function()
    local p <const> = gb.param(0.5, {min = 0, name = "p"})
    raises("option", "parameter 'p' = 0.5 is not inside its bounds (1.0, inf)", function() p.min = 1.0 end)
    raises("option", "parameter 'p' = 0.5 is not inside its bounds (0, 0.25)", function() p.max = 0.25 end)
    raises("option", "parameter 'p': min 3 is not below max 2", function() p.max = 2; p.min = 3 end)
    local finite <const> = "of parameter 'p' must be a finite number, or nil for none, got "
    raises("option", "the bound min " .. finite .. "nan", function() p.min = 0 / 0 end)
    raises("option", "the bound max " .. finite .. "string 1", function() p.max = "1" end)
    assert.same({0, 2}, {p.min, p.max})
    near(0.5, p.value, 1e-15)
    local own <const> = gb.param(4, {name = "own", transform = {forward = function(r) return r ^ 2 end,
      inverse = function(v) return v:sqrt() end}})
    raises("option", "parameter 'own' has a transform of its own", function() own.min = 1 end)
    local inside <const> = gb.param(0.5, {name = "q", prior = gb.priors.uniform{min = 0, max = 1}})
    inside.max = 0.75
    assert.same({0, 0.75}, {inside.min, inside.max})
  end)

  it("by m:bound, which moves both and the value at once", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}
    m:bound("kernel.lengthscale", {min = 0.1, max = 2})
    assert.equal(m, m:bound("kernel.lengthscale", {min = 5, max = 6, value = 5.5}))
    near(5.5, m:get "kernel.lengthscale", 1e-14)
    raises("option", "parameter 'lengthscale' = 5.5 is not inside its bounds (7, 9); give it one inside first, or", m.bound, m,
      "kernel.lengthscale",
      {min = 7, max = 9})
    m:bound("kernel.lengthscale", {max = false})
    assert.same({5, nil}, {m:get "kernel.lengthscale".min, m:get "kernel.lengthscale".max})
    m:bound("kernel.lengthscale", {min = false})
    assert.equal(0, m:get "kernel.lengthscale".min)
    raises("option", "did you mean 'kernel.lengthscale'?", m.bound, m, "lengthscale", {min = 7})
    raises("option", "bound: option 'min' must be a number, got string a", m.bound, m, "kernel.lengthscale", {min = "a"})
  end)

  it("and a fit that was interrupted does not go on by other ones", function()
    local x <const> = gb.rand(20, 1, {seed = 1})
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}
    local info <const> = m:fit(x, x:sum(2), {on_step = function(s) return s.step < 2 end})
    m:bound("kernel.lengthscale", {max = 1e3})
    raises("option", "fit: resume: parameters have other bounds by now", m.fit, m, {resume = info})
  end)
end)

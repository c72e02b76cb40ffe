--- What a fit's report says of fits that came to little: where each remark begins.
local gb <const> = require "gibbous"
local likelihoods <const> = require "gibbous.likelihoods"
local notes <const> = require "gibbous.gp.fit.notes"

local values <const> = {0, 0, 0, 4}                       -- variance 4, of a normal by likelihood 3
local x <const> = gb.tensor{1, 2, 3, 4}
local by_chance <const> = -2 * (math.log(2 * math.pi * 3) + 1)

local function of(o)
  local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, mean = o.mean, noise = not o.likelihood and (o.noise or 0.1) or nil,
    likelihood = o.likelihood, solver = "direct"}
  return notes(m:condition(o.x or x, gb.tensor(values) + (o.shift or 0)),
    {objective = o.objective or "mll", log_likelihood = o.log_likelihood or 0})
end

describe("the choice of a solver", function()
  local core <const> = require "gibbous.core"
  local support <const> = require "spec.support"

  it("has the machine measured where a direct step takes long enough to be worth it", function()
    local function asked(n)
      local count = 0
      support.with(core, {know_rates = function() count = count + 1 end}, function()
        gb.gp.exact{kernel = gb.kernels.rbf{}}:plan(gb.rand(n, 1, {seed = 1}), gb.rand(n, {seed = 2}))
      end)
      return count
    end
    assert.same({0, 1}, {asked(1500), asked(2200)})
  end)

  it("has no figures in its text where the machine is not known", function()
    local info <const> = gb.gp.exact{kernel = gb.kernels.rbf{}}:fit(x, gb.tensor(values), {steps = 0}).why
    local unknown <const> = setmetatable({solver = "direct", reason = "exact, and it fits", direct = {bytes = 2^20},
      iterative = {bytes = 2^10}, budget = 2^30}, debug.getmetatable(info))
    assert.equal("auto: direct, exact, and it fits (direct 1 MiB a step; iterative 1 KiB a step; budget 1 GiB)", tostring(unknown))
  end)
end)

describe("a fit explains nothing", function()
  it("where noise takes 95 % of the variance of y", function()
    assert.same({"the fit explains nothing: noise takes 95 % of var(y)"}, of{noise = 3.80001})
    assert.same({"the fit explains nothing: noise takes 200 % of var(y)"}, of{noise = 8})
    assert.same({}, of{noise = 3.79999})
  end)

  it("where a constant and noise are nearly as likely", function()
    local text <const> = ("the fit explains nothing: a constant with noise alone has the log marginal likelihood %.4f"):format(
      by_chance)
    assert.same({text}, of{log_likelihood = by_chance + 0.9999})
    assert.same({text}, of{log_likelihood = by_chance + 1})
    assert.same({}, of{log_likelihood = by_chance + 1.0001})
    assert.same({}, of{log_likelihood = by_chance, objective = "loo"})
  end)

  it("which is not looked at where noise is known or varies", function()
    assert.same({}, of{likelihood = gb.likelihoods.fixed(gb.tensor{9, 9, 9, 9}), log_likelihood = by_chance})
  end)
end)

describe("y is far from the mean function", function()
  it("where it is 3 standard deviations off, on average", function()
    for _, shift in ipairs{4.9999, 5} do assert.same({}, of{shift = shift}) end
    assert.same({"mean(y) is 3 standard deviations from the zero mean; gb.means.constant() would follow it"}, of{shift = 5.0001})
    assert.same({"mean(y) is -3 standard deviations from the zero mean; gb.means.constant() would follow it"},
      of{shift = -7.0001})
    local fixed <const> = gb.means.constant(gb.param(-5, {fixed = true, name = "constant"}))
    assert.same({"y is 3 standard deviations from its mean function on average"}, of{mean = fixed, shift = 0.0001})
    assert.same({}, of{mean = gb.means.constant(-50)})
  end)

  it("beside noise that takes all", function()
    assert.equal(2, #of{noise = 8, shift = 9})
  end)
end)

describe("y that does not vary", function()
  it("is all there is to say", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = "direct"}
    local info <const> = {objective = "mll", log_likelihood = -1e9}
    assert.same({"y does not vary"}, notes(m:condition(x, gb.full({4}, 3)), info))
    assert.same({"y does not vary"}, notes(m:condition(x, gb.zeros(4)), info))
    assert.same({}, notes(m:condition(gb.tensor{1}, gb.tensor{100}), info))
    assert.equal(2, #notes(m:condition(gb.tensor{1, 2}, gb.tensor{100, 101}), info))
  end)

  it("is told from small y", function()
    for _, size in ipairs{1e-100, 1e-200, 5e-324, 1e200} do
      assert.is_true(likelihoods.varies(gb.tensor{1, 2, 3} * size))
      assert.is_false(likelihoods.varies(gb.tensor{3, 3, 3} * size))
    end
    assert.is_true(likelihoods.varies(gb.tensor{1, 1 + 1e-13}))
    assert.is_false(likelihoods.varies(gb.tensor{1, 1 + 4e-15}))
  end)
end)

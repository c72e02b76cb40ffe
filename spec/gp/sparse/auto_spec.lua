--- gb.gp.auto: which model it takes for which data, time and memory, by plans at fixed rates; what it reports.
local choice <const> = require "gibbous.gp.auto.choice"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local raises <const> = support.raises
local K <const> = gb.kernels

local function data(n)
  local x <const> = gb.rand(n, 2, {seed = 1}):eval()
  return x, ((5 * x):sin():sum(2) + 0.1 * gb.randn(n, {seed = 2})):eval()
end

local function make(kind, m)
  if kind == "sgpr" then return gb.gp.sgpr{kernel = K.matern52{}, inducing = m} end
  if kind == "svgp" then return gb.gp.svgp{kernel = K.matern52{}, inducing = m} end
  return gb.gp.exact{kernel = K.matern52{}, solver = kind == "exact" and "direct" or "auto"}
end

--- What is chosen for n rows, by plans alone.
local function chosen(n, seconds, budget)
  local x <const>, y <const> = data(n)
  return choice.decide(make, x, y, seconds, budget, "exact")
end

describe("the choice of gb.gp.auto", function()
  it("is exact where time and memory allow, and inducing points else, more of them in more time", function()
    assert.equal("exact", chosen(300, 60, 2 ^ 30).kind)
    local short <const>, long <const> = chosen(20000, 5, 2 ^ 28), chosen(20000, 100, 2 ^ 28)
    assert.is_true(short.kind == "svgp" or short.kind == "sgpr")
    assert.is_true(long.inducing > short.inducing)
    for _, how in ipairs{short, long} do
      assert.is_true(how.costs.exact.refused)                    -- 3.2 GB
      assert.matches("inducing points.* are as many as time and memory allow", how.reason)
    end
  end)

  it("weighs models that the limit does not even let it make", function()
    local was <const> = support.leave_room(6 << 20)
    local ok <const>, how <const> = pcall(chosen, 20000, 100, 2 ^ 22)
    gb.memory.limit(was)
    assert.is_true(ok, tostring(how))
    assert.is_true(how.inducing < 512)                           -- 4,096 of them hold 128 MiB beside the data
  end)

  it("counts all steps of a fit, and passes over all rows", function()
    assert.is_true(chosen(300, 60, 2 ^ 30).costs.exact.seconds >= 59 * chosen(300, 60, 2 ^ 30).costs.exact.step)
    local few <const>, many <const> = chosen(20000, 1e6, 2 ^ 23).costs.svgp, chosen(40000, 1e6, 2 ^ 23).costs.svgp
    assert.is_true(few.pass > 0 and many.pass > 1.5 * few.pass)
    support.near(3 * few.pass, few.seconds - 300 * few.step, 1e-9)
  end)

  it("keeps to the budget, and says what the least would take", function()
    local wide <const>, narrow <const> = chosen(20000, 100, 2 ^ 30), chosen(20000, 100, 2 ^ 23)
    assert.is_true(narrow.inducing < wide.inducing)
    assert.is_true(narrow.costs[narrow.kind].bytes <= 2 ^ 23)
    raises("refused", "the smallest model, of 16 inducing points", chosen, 20000, 100, 2000)
  end)
end)

describe("gb.gp.auto", function()
  it("gives a fitted model, and says which, why, and what was approximated", function()
    local x <const>, y <const> = data(200)
    local m <const>, info <const> = gb.gp.auto{kernel = K.matern52{}}:fit(x, y, {seconds = 60})
    assert.same({"exact", "nothing was approximated"}, {info.kind, info.approximated})
    assert.is_true(m:score(x, y).rmse < 0.15 and info.fit.converged)
    assert.matches("^auto: exact, it approximates nothing, and it fits %(predicted: exact about", tostring(info))
  end)

  it("reports the gap of a sparse model, and ends at its limit", function()
    local x <const>, y <const> = data(6000)
    local m <const>, info <const> = gb.gp.auto{kernel = K.matern52{}}:fit(x, y, {seconds = 4, budget = "20 MiB"})
    assert.is_true(info.kind == "sgpr" or info.kind == "svgp")
    assert.equal(info.inducing, m.inducing.count)
    assert.is_true(info.approximated:find("gap", 1, true) ~= nil or info.approximated:find("m:bounds()", 1, true) ~= nil)
    if info.bounds then assert.is_true(info.bounds.lower <= info.bounds.upper) end
    if not info.fit.converged then assert.matches("time limit", info.fit.reason) end
    local _, said <const> = tostring(info):gsub("inducing points: the exact log marginal likelihood is between", "")
    assert.equal(info.bounds and 1 or 0, said)
    assert.is_true(m:score(x, y).rmse < 0.2)
  end)

  it("takes likelihoods that are not Gaussian", function()
    local x <const>, y <const> = data(150)
    local m <const>, info <const> = gb.gp.auto{kernel = K.rbf{}, likelihood = gb.likelihoods.bernoulli{}}:fit(x,
      gb.where(y:gt(0), 1.0, 0.0), {seconds = 60})
    assert.equal("laplace", info.kind)
    assert.is_true(m:score(x, gb.where(y:gt(0), 1.0, 0.0)).accuracy > 0.9)
    -- whose log density has no second derivative, as Laplace's approximation needs it
    local rough <const>, how <const> = gb.gp.auto{kernel = K.rbf{}, likelihood = gb.likelihoods.laplace{}}:fit(x, y,
      {seconds = 0.5})
    assert.equal("svgp", how.kind)
    assert.equal("laplace", rough.likelihood.kind)
    assert.is_nil(how.costs.laplace)
    -- of several latent functions, whose probabilities Laplace's approximation makes too even
    local _, classes <const> = gb.gp.auto{kernel = K.rbf{}, likelihood = gb.likelihoods.softmax{classes = 3}}:fit(x,
      gb.where(y:gt(0.5), 3, gb.where(y:gt(-0.5), 2, 1)), {seconds = 0.5})
    assert.equal("svgp", classes.kind)
    assert.is_nil(classes.costs.laplace)
  end)

  it("takes frames, and counts of any dtype", function()
    local x <const>, y <const> = data(60)
    local f <const> = gb.data.frame{a = x:select(2, 1), b = x:select(2, 2), y = y, c = gb.ones(60)}
    local m <const> = gb.gp.auto{kernel = K.rbf{}}:fit(f, "y", {seconds = 60, inputs = {"a", "b"}})
    local plain <const> = gb.gp.auto{kernel = K.rbf{}}:fit(x, y, {seconds = 60})
    assert.is_true(m:predict(f:select{"b", "a"}).mean:equal(plain:predict(x).mean))
    local counts <const> = (2 * x:sum(2)):floor():to{dtype = "i64"}
    local _, info <const> = gb.gp.auto{kernel = K.rbf{}, likelihood = gb.likelihoods.poisson{}}:fit(x, counts, {seconds = 60})
    assert.equal("laplace", info.kind)
  end)

  it("leaves out missing observations, and the noise that is known of them", function()
    local x <const>, y <const> = data(40)
    local holes <const>, noise <const> = gb.where(y:gt(1), 0 / 0, y), 0.01 + 0.01 * gb.rand(40, {seed = 3})
    local m <const> = gb.gp.auto{kernel = K.rbf{}, likelihood = gb.likelihoods.fixed(noise)}:fit(x, holes, {seconds = 60,
      missing = "mask"})
    local want <const> = gb.gp.exact{kernel = K.rbf{}, likelihood = gb.likelihoods.fixed(noise)}
    want:fit(x, holes, {missing = "mask"})
    assert.is_true(#m.y < 40 and m:predict(x).mean:equal(want:predict(x).mean))
  end)

  it("takes no more places than rows differ", function()
    local x <const> = gb.rand(30, 2, {seed = 1}):index(1, gb.range(0, 5999, 1, {dtype = "i64"}) % 30 + 1):eval()
    local y <const> = ((5 * x):sin():sum(2) + 0.1 * gb.randn(6000, {seed = 2})):eval()
    local m <const>, info <const> = gb.gp.auto{kernel = K.matern52{}}:fit(x, y, {seconds = 4, budget = "20 MiB"})
    assert.same({30, "no more rows differ than 30 inducing points"}, {info.inducing, info.reason})
    assert.equal(30, m.inducing.count)
    assert.is_true(m:score(x, y).rmse < 0.15)
  end)

  it("ends where the choice takes all the time", function()
    local x <const>, y <const> = data(60)
    local _, info <const> = gb.gp.auto{kernel = K.rbf{}}:fit(x, y, {seconds = 1e-9})
    assert.matches("time limit", info.fit.reason)
  end)

  it("refuses what makes no sense", function()
    raises("shape", "fit: there are no rows to fit", function() gb.gp.auto{kernel = K.rbf{}}:fit(gb.zeros(0, 2), gb.zeros(0)) end)
    raises("option", "gb.gp.auto: a kernel is needed", gb.gp.auto, {})
    raises("option", "give noise or likelihood, not both", gb.gp.auto,
      {kernel = K.rbf{}, noise = 1, likelihood = gb.likelihoods.gaussian(1)})
    raises("option", "cannot be assigned", function() gb.gp.auto{kernel = K.rbf{}}.kernel = 1 end)
  end)
end)

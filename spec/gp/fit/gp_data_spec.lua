--- Data a model is given: missing values, and what is wrong with it.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels
local nan <const> = 0 / 0

local x <const> = gb.rand(12, 2, {seed = 1}):eval()
local y <const> = ((x:select(2, 1) * 5):sin() + 0.1 * gb.randn(12, {seed = 2})):eval()

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or K.rbf{lengthscale = 0.5}, noise = o.noise or 0.1, solver = "direct"}
end

--- y with NaN at these rows, and the rows that are left.
local function with_holes(t, rows)
  local values <const>, gone <const>, keep <const> = t:totable(), {}, {}
  for _, i in ipairs(rows) do values[i], gone[i] = nan, true end
  for i = 1, #values do
    if not gone[i] then keep[#keep + 1] = i end
  end
  return gb.tensor(values), gb.tensor(keep, {dtype = "i64"})
end

describe("y with NaN", function()
  local holes <const>, keep <const> = with_holes(y, {2, 5, 12})

  it("is an error that counts them and names the way out", function()
    for _, f in ipairs{"fit", "score", "plan"} do
      local m <const> = model():condition(x, y)
      local err <const> = raises("nan", f .. ': y: 3 values are not finite, the first in row 2; missing = "mask"', m[f], m, x,
        holes)
      assert.equal(3, err.count)
      assert.equal(2, err.row)
    end
  end)

  it("masked, leaves those rows out of a fit", function()
    local a <const>, b <const> = model(), model()
    local info <const> = a:fit(x, holes, {missing = "mask", steps = 5})
    b:fit(x:index(1, keep), y:index(1, keep), {steps = 5})
    assert.equal(3, info.masked)
    assert.equal(9, info.n)
    near(b:predict(x).mean, a:predict(x).mean, 1e-12)
    assert.matches("3 missing values of y left out", tostring(info))
  end)

  it("masked, leaves them out of a score", function()
    local m <const> = model():condition(x, y)
    local s <const> = m:score(x, holes, {missing = "mask"})
    near(m:score(x:index(1, keep), y:index(1, keep)).nlpd, s.nlpd, 1e-14)
    assert.equal(3, s.masked)
    assert.equal(9, s.n)
    assert.matches("masked 3", tostring(s))
  end)

  it("masked, takes their known noise along", function()
    local noise <const> = gb.linspace(0.1, 1, 12)
    local a <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.5}, noise = noise, solver = "direct"}
    a:fit(x, holes, {missing = "mask", steps = 2})
    near(noise:index(1, keep), a.likelihood.noise, 0)
    local b <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.5}, noise = noise:index(1, keep), solver = "direct"}
    b:fit(x:index(1, keep), y:index(1, keep), {steps = 2})
    near(b:log_marginal_likelihood(), a:log_marginal_likelihood(), 1e-10)
  end)

  it("masked, asks for the noise of all rows", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = gb.linspace(0.1, 1, 12), solver = "direct"}
    m:fit(x, holes, {missing = "mask", steps = 1})
    for _, f in ipairs{"fit", "plan"} do
      raises("shape", f .. ": noise has 9 variances for 12 observations", m[f], m, x, holes, {missing = "mask"})
    end
  end)

  it("masked, is no excuse for an infinity, nor for NaN in x", function()
    local m <const> = model()
    local values <const> = holes:totable()
    values[7] = math.huge
    raises("nan", "fit: y: the value in row 7 is not finite", m.fit, m, x, gb.tensor(values), {missing = "mask"})
    local inputs <const> = x:totable()
    inputs[6][2] = nan
    raises("nan", "fit: x: the value in row 6, column 2 is not finite", m.fit, m, gb.tensor(inputs), holes, {missing = "mask"})
    inputs[6][2], inputs[5][1] = 0.5, nan                              -- beside a missing y: gone with it
    m:fit(gb.tensor(inputs), holes, {missing = "mask", steps = 1})
    assert.equal(9, #m.x)
  end)

  it("masked, names the row of the data where one is left", function()
    local m <const>, inf <const> = model(), math.huge
    local two <const> = gb.tensor{{0.1, 0.2}, {0.3, 0.4}}
    raises("nan", "fit: y: the value in row 2 is not finite", m.fit, m, two, gb.tensor{nan, inf}, {missing = "mask"})
    raises("nan", "fit: x: the value in row 2, column 1 is not finite", m.fit, m, gb.tensor{{0.1, 0.2}, {inf, 0.4}},
      gb.tensor{nan, 1},
      {missing = "mask"})
  end)

  it("has rows only where some are left out", function()
    local check <const> = require "gibbous.gp.data".check
    for _, missing in ipairs{"error", "mask"} do
      assert.is_nil((select(3, check(x, y, "fit", missing))))
      assert.equal(0, #check(gb.zeros(0, 2), gb.zeros(0), "fit", missing))
    end
    assert.same({1, 3, 4, 6, 7, 8, 9, 10, 11}, select(3, check(x, holes, "fit", "mask")):totable())
  end)

  it("masked everywhere leaves no rows", function()
    local m <const> = model()
    raises("shape", "fit: there are no rows to fit: y is NaN throughout", m.fit, m, x, y * nan, {missing = "mask"})
    raises("shape", "score: there are no rows to score", m.score, m, x, y * nan, {missing = "mask"})
    m:fit(x, y, {steps = 0})
    raises("shape", "fit: there are no rows to fit", m.fit, m, x, y * nan, {missing = "mask"})
    raises("shape", "fit: there are no rows to fit", m.fit, m, gb.zeros(0, 2), gb.zeros(0))
    assert.is_true(m.x:equal(x) and m.y:equal(y))
  end)

  it("with nothing missing is the plain thing", function()
    local info <const> = model():fit(x, y, {missing = "mask", steps = 1})
    assert.equal(0, info.masked)
    raises("option", "option 'missing' must be one of error, mask", model().fit, model(), x, y, {missing = "maks"})
  end)
end)

describe("x with NaN", function()
  it("names how many, and row and column of the first", function()
    local inputs <const> = x:totable()
    inputs[3][2], inputs[9][1] = nan, -math.huge
    local err <const> = raises("nan", "fit: x: 2 values are not finite, the first in row 3, column 2",
      model().fit, model(), gb.tensor(inputs), y)
    assert.same({3, 2, 2}, {err.row, err.column, err.count})
  end)
end)

describe("odd data", function()
  it("with duplicate rows: defined, and the average where noise is equal", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.5, solver = "direct"}:condition(gb.tensor{1, 1}, gb.tensor{2, 4})
    local one <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.25, solver = "direct"}:condition(gb.tensor{1}, gb.tensor{3})
    near(one:predict(gb.tensor{1, 2}).mean, m:predict(gb.tensor{1, 2}).mean, 1e-13)
    near(one:predict(gb.tensor{1, 2}).f_var, m:predict(gb.tensor{1, 2}).f_var, 1e-13)
    local twice <const> = gb.cat({x, x}, 1)
    local info <const> = model():fit(twice, gb.cat({y, y + 0.1}, 1), {steps = 5})
    assert.is_true(info.value == info.value)
  end)

  it("with a constant column is as without it", function()
    local wide <const> = gb.cat({x, gb.full({12, 1}, 3)}, 2)
    near(model():condition(x, y):log_marginal_likelihood(), model():condition(wide, y):log_marginal_likelihood(), 1e-12)
    local m <const> = model{kernel = K.matern52{ard = true}}
    assert.is_true(m:fit(wide, y, {steps = 20}).converged ~= nil)
    near(1, m.kernel.lengthscale.value[3], 1e-12)                      -- nothing speaks for another
  end)

  it("with constant y: a fit ends at finite values", function()
    local m <const> = model()
    local info <const> = m:fit(x, gb.full({12}, 2.5))
    assert.is_true(math.abs(info.value) < math.huge)
    near(gb.full({12}, 2.5), m:predict(x).mean, 1e-2)
    assert.is_true(m:predict(x).y_var:ge(0):all())
    near(info.value, -m:log_marginal_likelihood():item(), 1e-8)
  end)

  it("of y that is zero everywhere", function()
    local info <const> = model():fit(x, gb.zeros(12), {steps = 30})
    assert.is_true(info.value == info.value)
  end)

  it("of one point", function()
    local m <const> = model()
    local info <const> = m:fit(gb.tensor{0.3}, gb.tensor{1})
    assert.equal(1, info.n)
    assert.is_true(info.value == info.value)
    assert.is_true(m:predict(gb.tensor{0.3, 9}).y_var:ge(0):all())
    assert.equal(1, m:score(gb.tensor{0.4}, gb.tensor{1}).n)
  end)

  it("of no points: a prior to look at, nothing to fit", function()
    local m <const> = model():condition(gb.zeros(0, 2), gb.zeros(0))
    near(gb.ones(12), m:predict(x).f_var, 1e-14)
    raises("shape", "fit: there are no rows to fit", m.fit, m)
    raises("shape", "fit: there are no rows to fit", m.fit, model(), gb.zeros(0, 2), gb.zeros(0))
  end)

  it("of a shape that nearly fits", function()
    local m <const> = model()
    raises("shape", "y must be (12), got shape 12x1 beside x 12x2; use y:squeeze(2)", m.fit, m, x, y:unsqueeze(2))
    raises("shape", "y must be (12), got shape 1x12", m.fit, m, x, y:unsqueeze(1))
    raises("shape", "x has 12 rows, y must be (12), got shape 11", m.fit, m, x, y:slice(1, 1, 11))
    raises("dtype", "fit: x is f64, y is f32", m.fit, m, x, y:to{dtype = "f32"})
    raises("dtype", 'x is f64, y is i64; y:to{dtype = "f64"} makes them one', m.fit, m, x, y:to{dtype = "i64"})
    raises("dtype", 'fit: x must be f64 or f32, got i64; x:to{dtype = "f64"} makes it so', m.fit, m,
      gb.ones(2, 2):to{dtype = "i64"}, gb.ones(2):to{dtype = "i64"})
  end)

  it("with test points of another width", function()
    local m <const> = model():condition(x, y)
    raises("shape", "predict: the model was given 2 columns, x has shape 4x3", m.predict, m, gb.ones(4, 3))
    raises("shape", "score: the model was given 2 columns, x has shape 4x3", m.score, m, gb.ones(4, 3), gb.ones(4))
  end)

  it("in f32 all the way", function()
    local f32 <const> = {dtype = "f32"}
    local m <const> = model()
    local info <const> = m:fit(x:to(f32), y:to(f32), {steps = 10, restarts = 0})
    local d <const> = model()
    d:fit(x, y, {steps = 10, restarts = 0})
    near(d:leave_one_out().nlpd, m:leave_one_out().nlpd, 2e-2)
    assert.equal("f32", m:predict(x:to(f32)).mean.dtype)
    assert.equal("f32", m:leave_one_out().mean.dtype)
    assert.is_true(info.gradient_norm == info.gradient_norm)
    assert.is_true(m:score(x:to(f32), y:to(f32)).crps > 0)
  end)
end)

describe("a prior", function()
  it("is sampled without data, as a function of the seed", function()
    local m <const> = model()
    local draws <const> = m:predict(x):sample(3, {seed = 5})
    assert.equal("3x12", tostring(draws.shape))
    assert.is_true(draws:equal(m:predict(x):sample(3, {seed = 5})))
    assert.is_nil(m.x)
    m:fit(x, y, {steps = 1})                                           -- and fitted afterwards
  end)
end)

describe("data that do not go with the model", function()
  it("raise from fit, and the model keeps those it had", function()
    local cases <const> = {
      {gb.gp.exact{kernel = K.rbf{}, noise = gb.full({12}, 0.1), solver = "direct"}, x:slice(1, 1, 3),
        "noise has 12 variances for 3"},
      {gb.gp.exact{kernel = K.rbf{ard = true}, solver = "direct"}, gb.ones(3, 1), "2 lengthscales for inputs with 1 column"},
    }
    for _, case in ipairs(cases) do
      local m <const>, other <const>, text <const> = table.unpack(case)
      m:fit(x, y, {steps = 2})
      local before <const>, text_before <const> = m:predict(x).mean:eval(), tostring(m)
      raises("shape", text, m.fit, m, other, gb.ones(3))
      assert.equal(text_before, tostring(m))
      near(before, m:predict(x).mean, 0)
    end
  end)
end)

describe("y that is hard to scale", function()
  it("constant, has a report by either algorithm", function()
    for _, solver in ipairs{"direct", gb.solvers.cg{}} do
      local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = solver}
      local info <const> = m:fit(x, gb.ones(12), {steps = 5})
      assert.is_true(info.log_likelihood == info.log_likelihood)
      near(1, m:predict(x).mean:mean(), 1e-2)
    end
  end)

  it("whose variance is beyond f64 is refused, and the noise keeps its bounds", function()
    local m <const> = model()
    raises("nan", "fit: the variance of y is too large", m.fit, m, x, y * 1e300)
    assert.equal(0, m:get "likelihood.noise".min)
    local wide <const> = gb.gp.exact{kernel = K.rbf{}, solver = "direct"}
    wide:fit(x:to{dtype = "f32"}, (y * 1e20):to{dtype = "f32"}, {steps = 0})        -- beyond f32 only
    assert.is_true(wide:get "likelihood.noise".value:item() < math.huge)
  end)

  it("given as a list beside a list of points is told of as such", function()
    local m <const> = model()
    for _, f in ipairs{"fit", "plan"} do raises("option", f .. ": x must be a tensor, got a list", m[f], m, {{1, 2}}, {1}) end
  end)
end)

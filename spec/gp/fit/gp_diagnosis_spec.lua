--- A covariance that has no factor: the error that fit, predict and the marginal likelihood raise, and what stays.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

-- The second pivot is 1 - 1 * 1: exactly 0, whatever the rounding.
local x <const> = gb.tensor{{0.5, 0.1}, {0.5, 0.1}, {0.9, 0.7}, {0.1, 0.2}}
local y <const> = gb.tensor{1, 2, 3, 2.5}

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or K.rbf{lengthscale = 0.5}, noise = o.noise or 0, solver = "direct"}
end

local negative <const> = K.define("negative", {a = 1}, function(p, q, v) return -(-((p - q) ^ 2):sum(-1)):exp() * v.a end)

local function each_path(m, check)
  check("log_marginal_likelihood: ", function() local v <const> = m:condition(x, y):log_marginal_likelihood() return v end)
  check("predict: ", function() local v <const> = m:condition(x, y):predict(x).mean:eval() return v end)
  check("leave_one_out: ", function() local v <const> = m:condition(x, y):leave_one_out() return v end)
  check("fit: ", function() local v <const> = m:fit(x, y, {steps = 3}) return v end)
end

describe("duplicate rows without noise", function()
  it("raise where they are used, with a diagnosis", function()
    if not core.source "gibbous.gp.report.diagnosis" then pending "there is no diagnosis in this tree" return end
    each_path(model(), function(what, f)
      local err <const> = raises("not_pd", what, f)
      local d <const> = err.diagnosis
      assert.equal(4, d.n)
      assert.equal(2, d.pivot)
      assert.same({1, 2}, {math.min(d.nearest.i, d.nearest.j), math.max(d.nearest.i, d.nearest.j)})
      near(0, d.nearest.distance, 0)
      near(0, d.noise, 0)
      assert.equal(2, d.duplicates)
      assert.same({row = 1, distance = 0}, d.of_pivot)
      assert.equal("f64", d.dtype)
      assert.equal(3, #d.remedies)
      assert.is_true(err.message:find(tostring(d), 1, true) ~= nil)
      assert.matches("gp_diagnosis_spec.lua:%d+", err.line)
    end)
  end)

  it("lose nothing: parameters and data stay", function()
    local m <const> = model()
    raises("not_pd", "", m.fit, m, x, y, {steps = 3})
    near(0.5, m.kernel.lengthscale.value, 1e-15)
    assert.equal(4, #m.y)
    m:condition(x:slice(1, 1, 1) + 5, gb.tensor{1})                    -- and it can be used
    local ok <const> = model{noise = 0.1}:fit(x, y, {steps = 3})
    assert.is_true(ok.value == ok.value)
  end)

  it("in f32 too", function()
    local f32 <const> = {dtype = "f32"}
    local m <const> = model()
    raises("not_pd", "minor of order 2", m.fit, m, x:to(f32), y:to(f32), {steps = 1})
  end)
end)

describe("a kernel that is not positive definite", function()
  it("is an error of the covariance, on every path", function()
    each_path(model{kernel = negative{}, noise = 1e-3}, function(_, f) raises("not_pd", "", f) end)
  end)

  it("is what the diagnosis blames, with the noise that would make up for it", function()
    local m <const> = model{kernel = negative{}, noise = 1e-3}
    local d <const> = raises("not_pd", "", m.fit, m, x, y, {steps = 1}).diagnosis
    assert.is_true(d.smallest < -1 and d.condition == math.huge)       -- a row and its twin: eigenvalue -2 of the kernel
    assert.equal(3, #d.remedies)
    local text <const> = table.concat(d.remedies, "\n")
    assert.matches("the kernel: it is not positive definite", text)
    local enough <const> = tonumber(text:match "raise the noise to (%S+)")
    local mended <const> = model{kernel = negative{}, noise = enough}:condition(x, y):log_marginal_likelihood()
    assert.is_nil(text:find("jitter", 1, true))
    local at <const>, c <const> = x:totable(), {}
    for i, p in ipairs(at) do
      c[i] = {}
      for j, q in ipairs(at) do
        c[i][j] = -math.exp(-(p[1] - q[1]) ^ 2 - (p[2] - q[2]) ^ 2) + (i == j and enough or 0)
      end
    end
    local l <const>, v <const> = support.cholesky(c), y:totable()
    local want = -0.5 * support.dot(v, support.cholesky_solve(l, v)) - 0.5 * #v * math.log(2 * math.pi)
    for i = 1, #v do want = want - math.log(l[i][i]) end
    near(want, mended, 1e-9)
  end)

  it("met on the way of a fit is a step undone", function()
    local turning <const> = K.define("turning", {a = 1}, function(p, q, v)
      return (-((p - q) ^ 2):sum(-1)):exp() * (3 - v.a)
    end)
    local m <const> = model{kernel = turning{a = 2.9}, noise = 1e-2}
    local seen = 0
    local info <const> = m:fit(x, y, {method = "adam", lr = 3, steps = 20, on_step = function() seen = seen + 1 end})
    assert.is_true(seen > 0)
    near(-info.value, m:log_marginal_likelihood(), 1e-8)
    assert.is_true(m:get "kernel.a".value:item() < 3.02)
  end)
end)

describe("values that are not finite", function()
  it("are of the kernel that gives them, by name and kind", function()
    local broken <const> = K.define("broken", {a = 1}, function(p, q, v) return (p - q):sum(-1) * 0 + v.a * (0 / 0) end)
    for _, row in ipairs{
      {broken{}, "'broken'"}, {broken{}:named "mine", "'mine' (broken)"}, {K.rbf{} + broken{}:named "mine", "'mine' (broken)"},
    } do
      local m <const> = gb.gp.exact{kernel = row[1], noise = 0.1, solver = "direct"}
      local err <const> = raises("nan", "", m.fit, m, gb.tensor{1, 2, 3}, gb.tensor{1, 2, 3})
      assert.equal(("fit: kernel %s gives k(a, a) = NaN for row 1 of x"):format(row[2]), err.message)
    end
  end)

  it("are named by row and column, of x before y", function()
    local diagnosis <const> = require "gibbous.gp.report.diagnosis"
    local inf <const> = math.huge
    local function bad(p, q) return diagnosis(p, q, K.rbf{}, 0.1, nil).bad end
    assert.same({what = "x", row = 3, column = 2, count = 2},
      bad(gb.tensor{{1, 2}, {3, 4}, {5, 0 / 0}, {inf, 1}}, gb.tensor{1, 2, 3, inf}))
    assert.same({what = "x", row = 1, column = 1, count = 1}, bad(gb.tensor{-inf, 1}, nil))
    assert.same({what = "y", row = 2, column = 1, count = 1}, bad(gb.tensor{{1, 2}, {3, 4}}, gb.tensor{1, 0 / 0}))
    assert.is_nil(bad(gb.tensor{{1, 2}, {3, 4}}, gb.tensor{1, 2}))
    assert.same({what = "x", row = 1, column = 1, count = 1}, bad(gb.tensor{0 / 0}, nil))
    assert.equal(0, diagnosis(gb.tensor{0 / 0}, nil, K.rbf{}, 0.1, nil).duplicates)
  end)
end)

describe("the diagnosis", function()
  local diagnosis <const> = require "gibbous.gp.report.diagnosis"

  it("has the facts of x, the kernel and the noise", function()
    local at <const> = gb.tensor{{0, 1000}, {3, 1004}, {0, 1000}}
    local d <const> = diagnosis(at, nil, K.rbf{variance = 2}, 0.5, {code = "not_pd", order = 2})
    assert.same({"not_pd", 2, 3, "f64", 0.5, 2}, {d.code, d.pivot, d.n, d.dtype, d.noise, d.duplicates})
    assert.same({i = 1, j = 3, distance = 0}, d.nearest)
    assert.equal(5, d.of_pivot.distance)
    assert.is_true(d.of_pivot.row == 1 or d.of_pivot.row == 3)
    near({{1, math.sqrt(2)}, {1001 + 1 / 3, math.sqrt(32) / 3}},
      {{d.scale[1].mean, d.scale[1].spread}, {d.scale[2].mean, d.scale[2].spread}},
      1e-12)
    near({4.5, 0.5, 9, 2.5}, {d.largest, d.smallest, d.condition, d.mean_diagonal}, 1e-4)
    near(0.25, diagnosis(at, nil, K.rbf{}, gb.tensor{0.25, 0.5, 1}, nil).noise, 0)
    near(2.5, diagnosis(at, nil, K.constant{variance = 0.75}, 0.25, "text").largest, 1e-9)
    assert.equal(math.huge, diagnosis(at, nil, K.rbf{}, 0, nil).condition)
    local by_rows <const> = diagnosis(gb.tensor{0, 50, 100}, nil, K.rbf{}, gb.tensor{0.25, 0.5, 1}, nil)
    near({2, 1.25}, {by_rows.largest, by_rows.smallest}, 1e-9)
    assert.is_nil(diagnosis(at, nil, K.rbf{}, 0, {order = 4}).of_pivot)
    assert.is_nil(diagnosis(at, nil, K.rbf{}, 0, {order = 0}).of_pivot)
    assert.same({row = 2, distance = 2}, diagnosis(gb.tensor{0, 3, 5}, nil, K.rbf{}, 0, {order = 3}).of_pivot)
    assert.same({row = 1, distance = 3}, diagnosis(gb.tensor{0, 3, 7}, nil, K.rbf{}, 0, {order = 2}).of_pivot)
    assert.same({row = 2, distance = 3}, diagnosis(gb.tensor{0, 3}, nil, K.rbf{}, 0, {order = 1}).of_pivot)
    assert.is_nil(diagnosis(gb.tensor{0}, nil, K.rbf{}, 0, {order = 1}).of_pivot)
    assert.equal("diagnosis", gb.type(d))
  end)

  it("takes up to thirty products, and NaN for what they do not give", function()
    local asked <const>, lanczos <const> = {}, core.lanczos
    support.with(core, {lanczos = function(c, start, steps)
      asked[#asked + 1] = steps
      return lanczos(c, start, steps)
    end}, function()
      for _, n in ipairs{3, 40} do diagnosis(gb.range(1, n):to{dtype = "f64"}, nil, K.rbf{}, 0.1, nil) end
    end)
    assert.same({3, 30}, asked)
    local lost <const> = support.with(core, {lanczos = function() error "not finite" end}, function()
      return diagnosis(gb.tensor{1, 2}, nil, K.rbf{}, 0.1, nil)
    end)
    assert.is_true(lost.largest ~= lost.largest and lost.smallest ~= lost.smallest)
  end)

  it("calls a covariance of zeros neither indefinite nor well conditioned", function()
    local zero <const> = K.define("zero", {a = 1}, function(p, q, v) return (p - q):sum(-1) * 0 * v.a end)
    local d <const> = diagnosis(gb.tensor{1, 2, 3}, nil, zero{}, 0, nil)
    assert.same({0, 0, math.huge, "raise the noise to 0 or more; it is 0"}, {d.largest, d.smallest, d.condition, d.remedies[1]})
  end)

  it("gives three remedies, the most fitting first", function()
    local function of(at, noise, kernel) return diagnosis(gb.tensor(at), nil, kernel or K.rbf{}, noise, nil).remedies end
    assert.same({"average the 2 rows that have a twin, such as 1 and 3, or give them noise",
      "raise the noise to 8.3e-15 or more; it is 0.5",
      "ask for jitter and have it reported: gb.solvers.cholesky{jitter = 6e-16, max_jitter = 6e-14}"}, of({{0}, {50}, {0}}, 0.5))
    assert.same({"raise the noise to 3.3e-15 or more; it is 0.5",
      "ask for jitter and have it reported: gb.solvers.cholesky{jitter = 2e-16, max_jitter = 2e-14}",
      "drop row 1 or row 2, which are 50 apart"}, of({0, 50}, 0.5))
    assert.same({"raise the noise to 1.7e-15 or more; it is 0.5",
      "ask for jitter and have it reported: gb.solvers.cholesky{jitter = 1e-16, max_jitter = 1e-14}"}, of({0}, 0.5))
    assert.equal("centre the inputs: column 2 has mean 5000 and spread 1", of({{7, 4999}, {57, 5001}}, 0.5)[1])
    assert.equal("centre the inputs: column 1 has mean -5000 and spread 1", of({{-5001, 4999}, {-4999, 5001}}, 0.5)[1])
    assert.equal("centre the inputs: column 1 has mean 600 and spread 0.5", of({599.5, 600.5}, 0.5)[1])
    assert.equal("average the 2 rows that have a twin, such as 1 and 2, or give them noise", of({1, 1, 50}, 0)[1])
    assert.equal("ask for jitter and have it reported: gb.solvers.cholesky{jitter = 3e-16, max_jitter = 3e-14}",
      of({0, 50, 100}, 0.5)[2])
    assert.equal("raise the noise to 3.6e-15 or more; it is 0.5", of({{999, 3}, {1001, 3}}, 0.5)[1])
    local f32 <const> = diagnosis(gb.tensor({{0}, {50}}, {dtype = "f32"}), nil, K.rbf{}, 0.25, nil).remedies
    assert.equal("use f64: condition 5 leaves 15.3 digits there", f32[1])
    assert.equal("raise the noise to 1.5e-06 or more; it is 0.25", f32[2])
    assert.equal("use f64: condition 1e+20 leaves 0.0 digits there",
      diagnosis(gb.tensor({{0}, {50}}, {dtype = "f32"}), nil, K.rbf{}, 1e-20, nil).remedies[1])
    assert.same({"look at the kernel: it is not positive definite, the covariance has an eigenvalue of -1.7 or less",
      "give x a column that differs between rows: as it is, the kernel sees one point 2 times",
      "average the 2 rows that have a twin, such as 1 and 2, or give them noise"},
      of({0, 0}, 0.3, negative{}))
  end)

  it("of what is not finite names the way out", function()
    local d <const> = diagnosis(gb.tensor{{1, 2}, {3, 4}, {5, 0 / 0}}, nil, K.rbf{}, 0.1, nil)
    assert.equal([[
the covariance of 3 points, f64, could not be factored (not_pd)
  x: 1 value is not finite, the first in row 3, column 2
  1. drop the rows of x with a value that is not finite, from row 3 on
  2. mask them in y: missing = "mask" leaves out 1 value
  3. look at how row 3, column 2 of x was made]], tostring(d))
  end)

  it("prints what it found", function()
    local class <const> = getmetatable(diagnosis(x, nil, K.rbf{}, 0.1, nil))
    local d <const> = setmetatable({n = 4, dtype = "f64", code = "nan", pivot = 3, of_pivot = {row = 1, distance = 0.25},
      nearest = {i = 1, j = 2, distance = 0.125}, duplicates = 2,
        scale = {{mean = -10, spread = 2}, {mean = 3, spread = 0.5}, {mean = 7, spread = 0}},
      noise = 1e-3, largest = 4, condition = 1e5, remedies = {"one", "two"}}, class)
    assert.equal([[
the covariance of 4 points, f64, could not be factored (nan)
  it failed at row 3, whose nearest is row 1 at distance 0.25
  rows 1 and 2 are nearest, at distance 0.125; 2 rows have a twin at distance 0
  columns have spreads from 0 to 2 and means up to 6 spreads from 0; column 3 of x is constant
  noise 0.001, largest eigenvalue about 4, condition about 1e+05: 11.0 of 16.0 digits are left
  1. one
  2. two]], tostring(d))
    d.of_pivot, d.nearest, d.scale, d.condition, d.dtype = nil, nil, {{mean = 0.125, spread = 0.5}, {mean = 7, spread = 0}}, 1e20,
      "f32"
    assert.matches("it failed at row 3\n  there is one row\n  columns have spreads from 0 to 0.5 and means up to 0.25 "
      .. "spreads from 0; column 2 of x is constant\n", tostring(d))
    assert.matches("condition about 1e%+20: 0.0 of 7.2 digits are left", tostring(d))
    d.pivot = nil
    assert.is_nil(tostring(d):find("it failed", 1, true))
  end)
end)

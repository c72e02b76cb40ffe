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
  check("predict: ", function() local v <const> = m:condition(x, y):predict(x).mean return v end)
  check("leave_one_out: ", function() local v <const> = m:condition(x, y):leave_one_out() return v end)
  check("fit: ", function() local v <const> = m:fit(x, y, {steps = 3}) return v end)
end

describe("duplicate rows without noise", function()
  it("raise where they are used, with a diagnosis", function()
    if not core.source "gibbous.gp.diagnosis" then pending "there is no diagnosis in this tree" return end
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
    local diagnosis <const> = require "gibbous.gp.diagnosis"
    local inf <const> = math.huge
    local function bad(p, q) return diagnosis(p, q, K.rbf{}, 0.1, nil).bad end
    assert.same({what = "x", row = 3, column = 2, count = 2}, bad(gb.tensor{{1, 2}, {3, 4}, {5, 0 / 0}, {inf, 1}}, gb.tensor{1, 2, 3, inf}))
    assert.same({what = "x", row = 1, column = 1, count = 1}, bad(gb.tensor{-inf, 1}, nil))
    assert.same({what = "y", row = 2, column = 1, count = 1}, bad(gb.tensor{{1, 2}, {3, 4}}, gb.tensor{1, 0 / 0}))
    assert.is_nil(bad(gb.tensor{{1, 2}, {3, 4}}, gb.tensor{1, 2}))
  end)
end)

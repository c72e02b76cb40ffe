-- A fit that was interrupted goes on with the bits of one that was not.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local raises <const> = support.raises

local function copy(t)
  local out <const> = {}
  for key, v in pairs(t) do out[key] = v end
  return out
end

local function data(dtype)
  local x <const> = gb.rand(40, 2, {seed = 1, dtype = dtype}):eval()
  return x, ((6 * x):sin():sum(2) + 0.1 * gb.randn(40, {seed = 2, dtype = dtype})):eval()
end

local function model(solver)
  return gb.gp.exact{kernel = gb.kernels.matern52{ard = true}, noise = 0.1, solver = solver}
end

--- What a fit came to, to the bit.
local function outcome(m, report)
  local list <const> = {report.value, report.iterations, report.evaluations, report.setbacks, report.reason, report.restarts,
    report.precision}
  for _, p in ipairs(gb.params(m)) do
    for _, v in ipairs(p.value:reshape(-1):totable()) do list[#list + 1] = ("%a"):format(v) end
  end
  return list
end

--- A fit that Ctrl-C ends after 'count' accepted points of all starts, and again after each further 'count', until it ends.
local function in_pieces(m, x, y, o, count)
  local seen = 0
  o = copy(o)
  o.on_step = function()
    seen = seen + 1
    if seen % count == 0 then core.raise("interrupted", "interrupted") end
  end
  local report, pieces = m:fit(x, y, o), 1
  while report.interrupted do
    report, pieces = m:fit{resume = report}, pieces + 1
    assert.is_true(pieces < 500)
  end
  return report, pieces
end

describe("a fit that is resumed", function()
  local cases <const> = {lbfgs = {}, adam = {method = "adam", steps = 20, lr = 0.1}, sgd = {method = "sgd", steps = 15},
    starts = {restarts = 2, steps = 20, seed = 3}}
  for name, o in pairs(cases) do
    it("has the bits of one that was not interrupted: " .. name, function()
      local x <const>, y <const> = data "f64"
      local whole <const> = model()
      local expected <const> = outcome(whole, whole:fit(x, y, copy(o)))
      for _, count in ipairs{1, 4, 11} do
        local m <const> = model()
        local report <const>, pieces <const> = in_pieces(m, x, y, o, count)
        assert.is_true(pieces > 1)
        assert.same(expected, outcome(m, report))
      end
    end)
  end

  it("has them with f32 data that f64 finishes, and by conjugate gradients", function()
    for _, case in ipairs{{"f32"}, {"f64", gb.solvers.cg{}}} do
      local x <const>, y <const> = data(case[1])
      local whole <const>, m <const> = model(case[2]), model(case[2])
      local expected <const> = outcome(whole, whole:fit(x, y, {steps = 30}))
      assert.same(expected, outcome(m, (in_pieces(m, x, y, {steps = 30}, 3))))
    end
  end)

  it("goes on after the limit of steps, once more are given", function()
    local x <const>, y <const> = data "f64"
    for _, method in ipairs{"lbfgs", "adam"} do
      local whole <const>, m <const> = model(), model()
      local expected <const> = outcome(whole, whole:fit(x, y, {method = method, steps = 12}))
      local first <const> = m:fit(x, y, {method = method, steps = 5})
      raises("option", "the fit made its 5 steps: give it more, m:fit{resume = report, steps = 10}", m.fit, m, {resume = first})
      assert.same(expected, outcome(m, m:fit{resume = first, steps = 12}))
    end
  end)

  it("goes on wherever the parameters were moved to meanwhile", function()
    local x <const>, y <const> = data "f64"
    local whole <const>, m <const> = model(), model()
    local expected <const> = outcome(whole, whole:fit(x, y))
    local report <const> = m:fit(x, y, {on_step = function(s) return s.step < 3 end})
    m.likelihood.noise = 2.5
    assert.same(expected, outcome(m, m:fit{resume = report, on_step = function() end}))
  end)

  it("says what cannot go on", function()
    local x <const>, y <const> = data "f64"
    local function cut(m) return m:fit(x, y, {on_step = function(s) return s.step < 2 end}) end
    local m <const> = model()
    local report <const> = cut(m)
    raises("option", "with the data that the model holds", m.fit, m, x, y, {resume = report})
    raises("option", "method stays what it was", m.fit, m, {resume = report, method = "adam"})
    local other <const> = model()
    cut(other)
    raises("option", "the report is of another model", other.fit, other, {resume = report})
    m:fit(x:slice(1, 1, 20), y:slice(1, 1, 20), {steps = 1})
    raises("option", "the model holds other data by now", m.fit, m, {resume = report})
    raises("option", "not the report of a fit that was interrupted", other.fit, other, {resume = other:fit(x, y)})
  end)

  it("is forgotten with its report", function()
    local x <const>, y <const> = data "f64"
    local m <const> = model()
    local kept <const> = setmetatable({m:fit(x, y, {on_step = function(s) return s.step < 2 end})}, {__mode = "v"})
    local resume <const> = require "gibbous.gp.fit.resume"
    assert.equal(kept[1], (resume.last()))
    m:fit(x, y, {steps = 1})
    collectgarbage()
    collectgarbage()
    assert.is_nil(kept[1])
    assert.is_nil((resume.last()))
  end)
end)

describe("a minimisation that is resumed", function()
  it("has the bits of one that was not", function()
    for _, method in ipairs{"lbfgs", "adam", "sgd"} do
      local function run(first)
        local p <const> = gb.param{-1.2, 1}
        local function f() return (1 - p:select(1, 1)) ^ 2 + 100 * (p:select(1, 2) - p:select(1, 1) ^ 2) ^ 2 end
        local info = gb.optim.minimize(f, p, {method = method, steps = first})
        if first < 9 then info = gb.optim.minimize(f, p, {resume = info, steps = 9}) end
        return {info.value, info.iterations, info.evaluations, ("%a %a"):format(table.unpack(p.value:totable()))}
      end
      assert.same(run(9), run(4))
    end
    raises("option", "resume: expected the report of an earlier call", gb.optim.minimize, function() end, gb.param(1),
      {resume = {}})
  end)
end)

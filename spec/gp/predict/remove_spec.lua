--- Models without some of their rows: against models made anew of the others.
local gb <const> = require "gibbous"
local fields <const> = require "gibbous.gp.model".fields
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const> = 30
local x <const> = gb.rand(n, 2, {seed = 1}):eval()
local y <const> = ((5 * x):sin():sum(2) + 3 + 0.1 * gb.randn(n, {seed = 2})):eval()
local t <const> = gb.rand(9, 2, {seed = 3}):eval()

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = K.matern52{lengthscale = {0.4, 0.3}, variance = 1.3}, mean = gb.means.constant(0.2),
    noise = o.noise or 0.02, solver = o.solver or "direct", standardize = o.standardize}
end

local function ready(m)
  m:predict(t).mean:eval()
  return m
end

--- The tensor's rows but those in the list.
local function but(v, rows)
  local gone <const>, keep <const> = {}, {}
  for _, k in ipairs(rows) do gone[k] = true end
  for k = 1, #v do keep[#keep + 1] = not gone[k] and k or nil end
  return v:index(1, gb.tensor(keep, {dtype = "i64"})):eval()
end

local function same(m, other, tol)
  local p <const>, q <const> = m:predict(t), other:predict(t)
  near(q.mean, p.mean, tol)
  near(q.f_cov, p.f_cov, tol)
  near(q.y_var, p.y_var, tol)
end

describe("m:remove", function()
  it("gives the model of the other rows, by what is left of a factor or anew", function()
    for _, case in ipairs{{{30}, "remove"}, {{28, 29, 30}, "remove"}, {{20, 25}, "remove"}, {{17, 30, 24}, "remove"}, {{1}, "none"},
      {{2, 30}, "none"}} do
      local rows <const>, kind <const> = table.unpack(case)
      local m <const> = ready(model():condition(x, y))
      local less <const> = m:remove(rows)
      assert.equal(kind, less.update.kind)
      local other <const> = model():condition(but(x, rows), but(y, rows))
      same(less, other, 1e-10)
      near(other:log_marginal_likelihood(), less:log_marginal_likelihood(), 1e-10)
      assert.same({n, n - #rows}, {#m.x, #less.x})
      assert.is_true(less.y:equal(but(y, rows)))
    end
  end)

  it("takes one number or a tensor, and says what it took", function()
    local m <const> = ready(model():condition(x, y))
    local less <const> = m:remove(gb.tensor({30, 29}, {dtype = "i64"}))
    assert.same({"remove", 2, 28}, {less.update.kind, less.update.rows, less.update.onto})
    assert.matches("^removed 2 rows, 28 are left, in ", tostring(less.update))
    assert.equal(29, #m:remove(7).x)
    assert.matches("nothing prepared: most rows lie below the first that was removed", tostring(m:remove(7).update))
    assert.matches("nothing prepared: the model was not asked", tostring(model():condition(x, y):remove(7).update))
  end)

  it("undoes what was added, and adds again to what is left", function()
    local some <const> = ready(model():condition(x:slice(1, 1, 26), y:slice(1, 1, 26)))
    local all <const> = some:condition(x:slice(1, 27, 30), y:slice(1, 27, 30))
    local back <const> = all:remove{27, 28, 29, 30}
    assert.equal("remove", back.update.kind)
    same(back, some, 1e-10)
    local again <const> = back:condition(x:slice(1, 27, 30), y:slice(1, 27, 30))
    assert.equal("append", again.update.kind)
    same(again, model():condition(x, y), 1e-10)
  end)

  it("has gradients by parameters as the other model has", function()
    local m <const> = ready(model():condition(x, y)):remove{22, 30}
    local p <const> = m:get "kernel.lengthscale"
    local function f() return m:predict(t).f_var:sum() end
    near(support.differences(f, {p}, 1e-5)[1], gb.grad(f(), p.raw), 1e-6)
  end)

  it("of a solver, of f32, of scaled data, of known noise, of several outputs", function()
    local rows <const> = {3, 29}
    local cg <const> = gb.solvers.cg{tol = 1e-12}
    local by_solver <const> = ready(model{solver = cg}:condition(x, y)):remove(rows)
    assert.equal("remove", by_solver.update.kind)
    same(by_solver, model():condition(but(x, rows), but(y, rows)), 1e-8)
    local narrow <const> = {dtype = "f32"}
    local m <const> = model{noise = 1e-5}:condition(x:to(narrow), y:to(narrow))
    m:predict(t:to(narrow)).mean:eval()
    local low <const> = m:remove{29}
    assert.equal("remove", low.update.kind)
    assert.is_not_nil(fields(m).twin)
    near(model{noise = 1e-5}:condition(but(x:to(narrow), {29}), but(y:to(narrow), {29})):predict(t:to(narrow)).mean,
      low:predict(t:to(narrow)).mean, 1e-6)
    local scaled <const> = ready(model{standardize = true}:condition(x, y))
    local less <const> = scaled:remove{29}
    assert.is_true(less.x:equal(but(x, {29})))
    local sx <const>, sy <const> = fields(scaled).scaling.x, fields(scaled).scaling.y
    same(less, model{standardize = {x = sx, y = sy}}:condition(but(x, {29}), but(y, {29})), 1e-10)
    local noise <const> = (0.01 + gb.rand(n, {seed = 4})):eval()
    local fixed <const> = ready(gb.gp.exact{kernel = K.rbf{}, noise = noise}:condition(x, y)):remove(rows)
    near(gb.gp.exact{kernel = K.rbf{}, noise = but(noise, rows)}:condition(but(x, rows), but(y, rows)):predict(t).mean,
      fixed:predict(t).mean, 1e-10)
    local Y <const> = gb.stack({y, gb.where(x:select(2, 1):lt(0.2), 0 / 0, y)}, 2):eval()
    for _, values in ipairs{gb.stack({y, -y}, 2):eval(), Y} do
      local function several() return gb.gp.multitask{kernel = K.rbf{}, tasks = 2, noise = 0.1} end
      local two <const> = ready(several():condition(x, values, {missing = "mask"})):remove(rows)
      near(several():condition(but(x, rows), but(values, rows), {missing = "mask"}):predict(t).mean, two:predict(t).mean, 1e-10)
    end
  end)

  it("refuses what is no row, by its number", function()
    local m <const> = model():condition(x, y)
    raises("index", "remove: there is no row 31, the model holds 30 rows", m.remove, m, {1, 31})
    raises("index", "remove: there is no row 0,", m.remove, m, 0)
    raises("index", "remove: there is no row 1.5,", m.remove, m, {1.5})
    raises("option", "got a tensor of bool: mask:nonzero():reshape(-1) has the numbers", m.remove, m, y:gt(y:mean():item()))
    assert.equal(30 - y:gt(y:mean():item()):sum():item(), #m:remove(y:gt(y:mean():item()):nonzero():reshape(-1)).y)
    raises("option", "remove: row 4 is given twice", m.remove, m, {4, 5, 4})
    raises("option", "remove: all 30 rows would go", m.remove, m, gb.range(1, 30))
    raises("option", "remove: numbers of rows are needed, a list or a tensor (k), got string x", m.remove, m, "x")
    raises("option", "remove: the model holds no data", function() model():remove(1) end)
    assert.equal(30, #m:remove{}.x)
  end)
end)

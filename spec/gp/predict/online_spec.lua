--- Conditioning on more observations: against a model made anew with all data and the same parameters.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local fields <const> = require "gibbous.gp.model".fields
local process <const> = require "spec.process"
local raises <const> = require "spec.support".raises
local K <const> = gb.kernels

local function truth(x) return (x:select(2, 1) * 6):sin() * (x:select(2, 2) * 3):cos() + 0.3 end

local function draw(n, seed, dtype)
  local o <const> = {seed = seed, dtype = dtype}
  local x <const> = gb.rand(n, 2, o):eval()
  return x, (truth(x) + gb.randn(n, {seed = seed + 1, dtype = dtype}) * 0.1):eval()
end

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = K.matern52{lengthscale = {0.4, 0.3}, variance = 1.3}, mean = gb.means.constant(0.2),
    noise = o.noise or 0.02, solver = o.solver or "direct"}
end

--- A model that was asked for a prediction: it has a factor.
local function ready(m)
  m:predict(gb.zeros(1, m.x.shape[2], {dtype = m.x.dtype})).mean:eval()
  return m
end

local t <const> = gb.rand(25, 2, {seed = 99}):eval()

local function far(a, b) return (a:to{dtype = "f64"} - b:to{dtype = "f64"}):abs():max():item() end

local function same_predictions(m, other, tol, at)
  local p <const>, q <const> = m:predict(at or t), other:predict(at or t)
  assert.is_true(far(p.mean, q.mean) <= tol)
  assert.is_true(far(p.f_var, q.f_var) <= tol)
  assert.is_true(far(p.y_var, q.y_var) <= tol)
end

local function anew(m, o) return model(o):condition(m.x, m.y) end

describe("condition, direct", function()
  it("equals a model made anew, for any number of rows onto any number", function()
    for _, n in ipairs{1, 15, 16, 255, 256, 300} do
      local m <const> = ready(model():condition(draw(n, n)))
      for _, k in ipairs{1, 3, 64, 300} do
        local more <const> = m:condition(draw(k, 1000 + k))
        assert.equal("append", more.update.kind)
        assert.equal(k, more.update.rows)
        assert.equal(n, more.update.onto)
        same_predictions(more, anew(more), 1e-10)
      end
    end
  end)

  it("row by row, across a border of blocks, still equals it", function()
    local m = ready(model():condition(draw(240, 1)))
    local x <const>, y <const> = draw(40, 5)
    for i = 1, 40 do m = m:condition(x:slice(1, i, i), y:slice(1, i, i)) end
    assert.equal(280, #m.x)
    assert.equal(279, m.update.onto)
    same_predictions(m, anew(m), 1e-9)
    assert.is_true(far(m:predict(t).f_cov, anew(m):predict(t).f_cov) <= 1e-9)
  end)

  it("changes no value of a model that it came from, whichever grows next", function()
    local m <const> = ready(model():condition(draw(200, 3)))
    local first <const> = m:condition(draw(2, 50))
    local mean <const>, f_var <const> = m:predict(t).mean:eval(), m:predict(t).f_var:eval()
    local mean1 <const>, f_var1 <const> = first:predict(t).mean:eval(), first:predict(t).f_var:eval()
    local branches <const> = {}
    for i = 1, 4 do branches[i] = m:condition(draw(70, 60 + i)):condition(draw(1, 70 + i)) end
    local onward <const> = first:condition(draw(3, 80))
    assert.is_true(m:predict(t).mean:equal(mean) and m:predict(t).f_var:equal(f_var))
    assert.is_true(first:predict(t).mean:equal(mean1) and first:predict(t).f_var:equal(f_var1))
    for i = 1, 4 do same_predictions(branches[i], anew(branches[i]), 1e-10) end
    same_predictions(onward, anew(onward), 1e-10)
  end)

  it("shares memory: a row costs its row", function()
    local m <const> = ready(model():condition(draw(600, 7))):condition(draw(1, 8))
    collectgarbage() collectgarbage()
    local before <const> = gb.memory.report().used
    local more <const> = m:condition(draw(1, 9))
    collectgarbage() collectgarbage()
    local grown <const> = gb.memory.report().used - before
    assert.is_true(grown < 32 * 1024)                     -- data, weights, a table of block rows; the factor has 3 MiB
    assert.is_true(more.update.bytes > 2 ^ 21)
  end)

  it("holds no more bytes at its end than it must", function()
    local m = ready(model():condition(draw(30, 7)))
    local x <const>, y <const> = draw(200, 11)
    local function live()
      collectgarbage() collectgarbage()
      return gb.memory.report().used
    end
    m = m:condition(x:slice(1, 1, 1), y:slice(1, 1, 1))
    local before <const> = live()
    for i = 2, 200 do m = ready(m:condition(x:slice(1, i, i), y:slice(1, i, i))) end
    assert.is_true(live() - before <= 256 * 256 * 8 + 64 * 1024)
  end)

  it("factors anew where parameters were set since, and says so", function()
    local m <const> = ready(model():condition(draw(40, 3)))
    m:get "kernel.lengthscale".value = gb.tensor{0.2, 0.2}
    local more <const> = m:condition(draw(2, 4))
    assert.equal("none", more.update.kind)
    assert.equal("nothing prepared: the parameters were set", tostring(more.update))
    local fresh <const> = gb.gp.exact{kernel = K.matern52{lengthscale = {0.2, 0.2}, variance = 1.3},
      mean = gb.means.constant(0.2), noise = 0.02, solver = "direct"}:condition(more.x, more.y)
    same_predictions(more, fresh, 1e-10)
    assert.equal("factor", more.update.kind)
    assert.matches("^factored 42 rows in .*%(the parameters were set%)$", tostring(more.update))
    assert.matches("^appended 1 row to 42 in [%d.e+-]+ m?s$", tostring(more:condition(draw(1, 5)).update))
    more:get "likelihood.noise".value = 0.5
    assert.equal("none", more:condition(draw(1, 5)).update.kind)
    local unseen <const> = ready(model():condition(draw(40, 3))):condition(draw(1, 4))      -- never predicted from
    unseen:get "likelihood.noise".value = 0.5
    assert.equal("none", unseen:condition(draw(1, 5)).update.kind)
  end)

  it("leaves the factor for later where there was none", function()
    local more <const> = model():condition(draw(10, 1)):condition(draw(1, 2))
    assert.equal("nothing prepared: the model was not asked for a prediction before", tostring(more.update))
    same_predictions(more, anew(more), 1e-12)
    assert.is_nil(model():condition(draw(10, 1)).update)
  end)

  it("takes no rows, one column as a vector, and f32", function()
    local m <const> = ready(model():condition(draw(10, 1)))
    same_predictions(m:condition(gb.zeros(0, 2), gb.zeros(0)), m, 1e-14)
    local line = ready(gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = "direct"}:condition(gb.tensor{0, 1}, gb.tensor{1, 2}))
    line = line:condition(gb.tensor{2, 4}, gb.tensor{0, 1})
    local all <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}:condition(gb.tensor{0, 1, 2, 4}, gb.tensor{1, 2, 0, 1})
    same_predictions(line, all, 1e-12, gb.tensor{0.5, 3})
    local narrow <const> = ready(model():condition(draw(50, 1, "f32"))):condition(draw(3, 2, "f32"))
    same_predictions(narrow, anew(narrow), 1e-4, t:to{dtype = "f32"})
    assert.equal("append", narrow.update.kind)
  end)

  it("appends in f64 where f32 data are predicted in f64", function()
    local o <const> = {noise = 1e-6}
    local m = ready(model(o):condition(draw(50, 1, "f32")))
    assert.equal("f64", m:predict(t:to{dtype = "f32"}).info.precision)
    assert.equal("factor", m.update.kind)
    for i = 1, 3 do m = m:condition(draw(1, 2 + i, "f32")) end
    assert.equal("append", m.update.kind)
    assert.equal(52, m.update.onto)
    same_predictions(m, anew(m, o), 1e-6, t:to{dtype = "f32"})
  end)

  it("names the order where the larger covariance is not positive definite, and keeps the model", function()
    local exact <const> = {noise = gb.param(1e-300, {fixed = true})}
    local x <const>, y <const> = draw(20, 1)
    local m <const> = ready(model(exact):condition(x, y))
    local ok, err = pcall(m.condition, m, gb.cat({x:slice(1, 3, 3), x:slice(1, 3, 3), x:slice(1, 3, 3)}, 1), gb.zeros(3))
    assert.is_false(ok)
    assert.equal("not_pd", err.code)
    assert.matches("minor of order 2[123] of 23", err.message)
    local more <const> = m:condition(draw(2, 9))
    assert.equal("append", more.update.kind)
    assert.is_true(far(more:predict(more.x).mean, more.y) <= 1e-6)
  end)

  it("needs the noise of new observations where it is known per observation", function()
    local x <const>, y <const> = draw(6, 1)
    local xn <const>, yn <const> = draw(2, 2)
    local first <const>, second <const> = gb.tensor{0.1, 0.2, 0.3, 0.1, 0.2, 0.3}, gb.tensor{0.5, 0.01}
    local m <const> = ready(model{noise = first}:condition(x, y))
    local more <const> = m:condition(xn, yn, {noise = second})
    assert.equal("append", more.update.kind)
    local all <const> = model{noise = gb.cat({first, second}, 1)}:condition(more.x, more.y)
    same_predictions(more, all, 1e-12)
    assert.is_true(far(more:log_marginal_likelihood(), all:log_marginal_likelihood()) <= 1e-12)
    same_predictions(ready(more:condition(xn, yn, {noise = second})), model{noise = gb.cat({first, second, second}, 1)}
      :condition(gb.cat({more.x, xn}, 1), gb.cat({more.y, yn}, 1)), 1e-12)
    raises("option", "condition: the model's noise is known per observation: give noise = a tensor of 2 variances",
      m.condition, m, xn, yn)
    raises("shape", "condition: 2 variances are needed, got shape 3", m.condition, m, xn, yn, {noise = gb.ones(3)})
    raises("option", "condition: noise variances must be 0 or more", m.condition, m, xn, yn, {noise = gb.tensor{1, -1}})
    local common <const> = ready(model():condition(x, y))
    raises("option", "noise is for gb.likelihoods.fixed", common.condition, common, xn, yn, {noise = second})
    raises("option", "unknown option 'nois', did you mean 'noise'?", m.condition, m, xn, yn, {nois = second})
  end)

  it("predicts in windows under a limit, with the same bits, and with gradients", function()
    local m <const> = ready(model():condition(draw(300, 1))):condition(draw(2, 2))
    local many <const> = gb.rand(20000, 2, {seed = 4}):eval()
    local whole <const> = m:predict(many).f_var:eval()
    local limit <const> = gb.memory.limit(gb.memory.report().used + 4 * 2 ^ 20)     -- n m values take 46 MiB
    local ok, cut = pcall(function() return m:predict(many).f_var:eval() end)
    gb.memory.limit(limit)
    assert.is_true(ok, tostring(cut))
    assert.is_true(cut:equal(whole))
    local x <const> = gb.rand(4, 2, {seed = 6}):eval():requires_grad()
    local function slopes(of)
      local p <const> = of:predict(x)
      return gb.grad((p.mean + p.f_var):sum(), x)
    end
    assert.is_true(far(slopes(m), slopes(anew(m))) <= 1e-9)
  end)

  it("appends rows one by one at 2,000 points", function()
    local m = ready(model():condition(draw(2000, 1)))
    for i = 1, 12 do
      m = m:condition(draw(1, i))
      assert.equal("append", m.update.kind)
    end
    assert.equal(2012, #m.x)
  end)
end)

describe("condition with a solver", function()
  local solver <const> = gb.solvers.cg{tol = 1e-10, precond = gb.precond.pivoted_cholesky{rank = 20}}

  it("starts from the old solution and equals the direct model to its residual", function()
    local m <const> = ready(model{solver = solver}:condition(draw(150, 1)))
    local more <const> = m:condition(draw(2, 2))
    assert.equal("solve", more.update.kind)
    assert.is_true(more.update.solve.converged)
    local condition <const> = 1 + 152 * 1.3 / 0.02
    assert.is_true(far(more:predict(t).mean, anew(more):predict(t).mean) <= 1e-10 * condition)
    local same <const> = m:condition(gb.zeros(0, 2), gb.zeros(0))
    assert.is_true(same.update.solve.iterations <= 1)
    assert.matches("^solved 2 rows to 150 in .*, %d+ steps$", tostring(more.update))
  end)

  it("says where it did not converge", function()
    local short <const> = gb.solvers.cg{tol = 1e-12, max_iter = 2}
    local more <const> = ready(model{solver = short}:condition(draw(100, 1))):condition(draw(1, 2))
    assert.matches("not converged", tostring(more.update))
  end)
end)

describe("f32 data that are predicted in f64", function()
  it("can be conditioned on again and again, by either algorithm", function()
    local x <const>, y <const> = draw(40, 1, "f32")
    for _, solver in ipairs{"auto", "direct", gb.solvers.cg{tol = 1e-8}} do
      local m = gb.gp.exact{kernel = K.rbf{}, noise = 1e-4, solver = solver}:condition(x, y)
      for i = 1, 3 do
        assert.equal("f64", m:predict(x).info.precision)
        m:predict(x).mean:eval()
        m:condition(draw(2, i, "f32"))
        m = m:condition(draw(2, 10 + i, "f32"))
      end
      assert.equal(46, #m.x)
    end
  end)
end)

describe("condition of several outputs", function()
  local nan <const> = 0 / 0
  local exact <const> = gb.solvers.cg{tol = 1e-13, precond = gb.precond.pivoted_cholesky{rank = 20}}

  --- k points with 3 tasks; holes: cells without a value.
  local function cells(k, seed, holes, dtype)
    local x <const> = draw(k, seed, dtype)
    local y <const> = gb.stack({truth(x), truth(x) * 2, truth(x * 0.5)}, 2) + 0.1 * gb.randn(k, 3, {seed = seed, dtype = dtype})
    local gone <const> = gb.rand(k, 3, {seed = seed + 1}):lt(0.3)
    return x, (holes and gb.where(gone, nan, y) or y):eval()
  end

  local function several(o)
    o = o or {}
    return gb.gp.multitask{kernel = K.matern52{lengthscale = {0.4, 0.3}, variance = 1.3}, tasks = 3, rank = 2,
      mean = gb.means.constant{0.2, 0.1, -0.3}, noise = o.noise or {0.02, 0.03, 0.01}, solver = o.solver}
  end

  local function with(m, x, y) return m:condition(x, y, {missing = "mask"}) end

  it("equals all data at once, with Kronecker structure as long as every cell has a value", function()
    for _, solver in ipairs{"auto", "direct", exact} do
      for _, case in ipairs{{false, false}, {false, true}, {true, false}, {true, true}} do
        local x1 <const>, y1 <const> = cells(30, 1, case[1])
        local x2 <const>, y2 <const> = cells(7, 5, case[2])
        local holed <const> = case[1] or case[2]
        local m <const> = with(several{solver = solver}, x1, y1)
        local all <const> = with(several{solver = solver}, gb.cat({x1, x2}, 1), gb.cat({y1, y2}, 1))
        local fitted <const> = several{solver = solver}
        fitted:fit(all.x, all.y, {steps = 0, missing = "mask"})
        local unseen <const> = with(m, x2, y2)
        local before <const> = {m:predict(t).mean:eval(), m:predict(t).f_var:eval()}
        local more <const> = with(m, x2, y2)
        local kronecker <const> = solver == "auto" and not holed
        local carried <const> = solver ~= "auto" or case[1]
        local kind <const> = carried and (solver == exact and "solve" or "append") or "none"
        assert.same({kind, "none"}, {more.update.kind, unseen.update.kind})
        for _, other in ipairs{more, unseen} do
          assert.equal(37, #other.x)
          assert.equal(kronecker, other:predict(t).info.algorithm == "kronecker")
          for _, want in ipairs{all, fitted} do
            same_predictions(other, want, 1e-9)
            assert.is_true(far(other:predict(t).f_cov, want:predict(t).f_cov) <= 1e-9)
            if solver ~= exact then
              assert.is_true(far(other:log_marginal_likelihood(), want:log_marginal_likelihood()) <= 1e-9)
            end
          end
        end
        assert.equal(30, #m.x)
        assert.is_true(m:predict(t).mean:equal(before[1]) and m:predict(t).f_var:equal(before[2]))
        assert.equal(kronecker and "decomposition" or kind == "none" and "factor" or kind, more.update.kind)
        local active <const> = fields(fields(more).inner).active          -- what "auto" decides is decided anew
        assert.equal(kronecker and "kronecker" or solver == exact and exact or "direct", active or "kronecker")
        more:get "likelihood.noise".value = 1                            -- parameters are the new model's own
        assert.is_true(m:predict(t).mean:equal(before[1]))
      end
    end
  end)

  it("goes on: a point at a time, out of the grid and appended from then on", function()
    local m = with(several(), cells(20, 1))
    local xs <const>, ys <const> = cells(12, 5, true)
    for i = 1, 12 do
      m = with(m, xs:slice(1, i, i), ys:slice(1, i, i))
      m:predict(t).mean:eval()
    end
    assert.equal("append", m.update.kind)
    assert.matches("^gp.multitask  3 tasks, 32 points, 2 columns, ", tostring(m))
    same_predictions(m, with(several(), m.x, m.y), 1e-9)
    same_predictions(with(m, gb.zeros(0, 2), gb.zeros(0, 3)), m, 1e-12)
    same_predictions(with(m, t, gb.full({25, 3}, nan)), m, 1e-12)       -- points without a value say nothing
    local none <const> = with(several(), gb.zeros(0, 2), gb.zeros(0, 3))
    same_predictions(none, several(), 0)
    same_predictions(with(none, cells(20, 1)), with(several(), cells(20, 1)), 0)
    assert.equal("kronecker", with(several{solver = "kronecker"}, cells(5, 1)):condition(cells(5, 2)):predict(t).info.algorithm)
    local line <const> = gb.gp.multitask{kernel = K.rbf{ard = true}, tasks = 2}:condition(gb.tensor{0, 1}, gb.ones(2, 2))
    assert.equal(3, #line:condition(gb.tensor{2}, gb.ones(1, 2)).x)
    local info <const> = with(m, cells(3, 9)):fit{steps = 1}
    assert.equal(32 * 3 + 9 - info.masked, info.n)
  end)

  it("takes f32, also where it is predicted in f64", function()
    local at <const> = t:to{dtype = "f32"}
    local quiet <const> = {noise = 1e-6}
    local m = with(several(quiet), cells(20, 1, true, "f32"))
    assert.equal("f64", m:predict(at).info.precision)
    m = with(m, cells(3, 7, true, "f32"))
    assert.equal("append", m.update.kind)
    same_predictions(m, with(several(quiet), m.x, m.y), 1e-5, at)
    local grid <const> = with(several(), cells(20, 1, false, "f32")):condition(cells(3, 7, false, "f32"))
    same_predictions(grid, with(several(), grid.x, grid.y), 0, at)
  end)

  it("names what is wrong, and keeps the model", function()
    local x <const>, y <const> = cells(10, 1)
    local m <const> = with(several(), x, y)
    local before <const> = m:predict(t).mean:eval()
    local one <const> = x:slice(1, 1, 2)
    local holes <const> = gb.tensor{{1, 2, 3}, {1, nan, nan}}
    local err = raises("nan", 'condition: y is NaN in 2 cells, the first in row 2, task 2; missing = "mask" leaves such cells out',
      m.condition, m, one, holes)
    assert.matches("^%.?/?spec/", err.line)
    assert.same({2, 2, 2}, {err.row, err.column, err.count})
    raises("nan", "condition: y is infinite in 1 cell, the first in row 1, task 3", with, m, one,
      gb.tensor{{1, 2, 1 / 0}, {1, 2, nan}})
    raises("nan", "condition: x", m.condition, m, one * nan, gb.ones(2, 3))
    raises("shape", "condition: x has 2 rows, y must be (2, 3), a column a task, got shape 2x2", m.condition, m, one, gb.ones(2, 2))
    raises("shape", "condition: the model was given 2 columns", m.condition, m, gb.ones(2, 3), gb.ones(2, 3))
    raises("dtype", "condition: the model's data are f64", m.condition, m, one:to{dtype = "f32"}, gb.ones(2, 3, {dtype = "f32"}))
    raises("option", "condition: y must be a tensor, got nil", m.condition, m, one)
    raises("option", "unknown option 'noise'", m.condition, m, one, gb.ones(2, 3), {noise = 1})
    local strict <const> = with(several{solver = "kronecker"}, x, y)
    err = raises("option", 'condition: solver = "kronecker" needs a value in every cell, 34 of 36 have one', with, strict, one,
      holes)
    assert.matches("^%.?/?spec/", err.line)
    assert.is_true(m:predict(t).mean:equal(before) and strict:predict(t).mean:equal(before))
    local twice <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2, rank = 0, noise = gb.param(1e-300, {fixed = true})}
    local held <const> = with(twice, gb.tensor{0, 1}, gb.tensor{{1, nan}, {1, 2}})
    held:predict(gb.tensor{0}).mean:eval()
    err = raises("not_pd", "condition: ", with, held, gb.tensor{1, 1}, gb.ones(2, 2))
    assert.matches("^%.?/?spec/", err.line)
  end)
end)

describe("the story of one more observation", function()
  it("runs, draws and holds", function()
    local folder <const> = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
    local out <const>, errors <const>, code <const> = process.run({"scripts/stories/online_learning.lua", "--quick", folder},
      {env = "GIBBOUS_RATES=fixed"})
    assert.equal(0, code, errors)
    assert.matches("appending one point is %d+ times as fast as building the model again", out)
    assert.matches("64 fantasies of one point each on 300", out)
    for _, ending in ipairs{"svg", "png"} do
      local file <close> = assert(io.open(("%s/online_learning.%s"):format(folder, ending), "rb"))
      assert.is_true(#file:read "a" > 1000)
    end
    os.execute("rm -r " .. folder)
  end)
end)

describe("a growing factor", function()
  local function covariance(n) return (K.rbf{lengthscale = 0.3}(gb.rand(n, 2, {seed = 2})) + 0.1 * gb.eye(n)):eval() end
  local A <const> = covariance(20)
  local function rows(i, j, k, l) return A:slice(1, i, j):slice(2, k, l) end

  it("is a value with facts", function()
    local f <const> = core.factor(nil, rows(1, 15, 1, 15))
    local g <const> = f:append(rows(16, 20, 1, 15), rows(16, 20, 16, 20))
    assert.equal(15, #f)
    assert.equal(20, g.n)
    assert.equal(16, f.capacity)
    assert.equal(32, g.capacity)
    assert.equal("f64", g.dtype)
    assert.equal(8 + 32 * 256 * 8, g.bytes)
    assert.equal("factor of order 20 f64, 64.01 KiB", tostring(g))
    local L <const> = gb.linalg.cholesky(A)
    assert.is_true(far(g:dense(), L) <= 1e-14)
    assert.is_true(far(core.factor(L):dense(), L) == 0)
    local b <const> = gb.randn(20, 3, {seed = 3})
    assert.is_true(far(g:solve(b), gb.linalg.solve(A, b)) <= 1e-12)
    assert.is_true(far(gb.linalg.triangular_solve(g, b), gb.linalg.triangular_solve(L, b)) <= 1e-12)
    assert.is_true(far(g:back_solve(g:half_solve(b)), gb.linalg.solve(A, b)) <= 1e-12)
    assert.is_true(far(g:logdet(), gb.linalg.logdet(A)) <= 1e-12)
    f:close()
    f:close()
    assert.equal("closed factor", tostring(f))
    raises("closed", "closed factor", f.append, f, A, A)
    raises("shape", "append: the rows: expected shape 1x20, got 1x15", g.append, g, rows(1, 1, 1, 15), rows(1, 1, 1, 1))
    assert.has_error(function() core.factor(gb.zeros(2, 3)) end)
    assert.has_error(function() return gb.linalg.triangular_solve(g, b, {upper = true}) end)
  end)

  it("outlives its handle while something lazy needs it", function()
    local b <const> = gb.randn(20, {seed = 3})
    local x
    do
      local f <const> = core.factor(nil, A)
      x = f:solve(b)
      f:close()
    end
    collectgarbage()
    assert.is_true(far(x, gb.linalg.solve(A, b)) <= 1e-12)
  end)

  it("leaks nothing", function()
    local function used()
      do
        local f = core.factor(nil, rows(1, 5, 1, 5))
        for i = 6, 20 do f = f:append(rows(i, i, 1, i - 1), rows(i, i, i, i)) end
        for _ = 1, 3 do pcall(f.append, f, gb.zeros(1, 20), gb.tensor{{-1}}) end
      end
      collectgarbage() collectgarbage()
      return gb.memory.report().used
    end
    used()                                                 -- what specs before left behind goes
    local first <const> = used()
    assert.equal(first, used())
  end)
end)

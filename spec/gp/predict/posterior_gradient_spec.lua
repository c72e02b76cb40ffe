-- Gradients of what a model predicts, against differences: every quantity by everything that it depends on.
local gb <const> = require "gibbous"

-- Each setup is a function of a table of values that gives a model; what it is differentiated by are entries of that table:
-- parameters by path, and tensors.
local n <const>, d <const> = 12, 2
local data <const> = {x = gb.rand(n, d, {seed = 1}):eval(), y = gb.randn(n, {seed = 2}):eval(),
  t = gb.rand(3, d, {seed = 3}):eval(),
  z = gb.rand(2, d, {seed = 4}):eval(), zy = gb.randn(2, {seed = 5}):eval(), fz = gb.rand(3, 2, d, {seed = 6}):eval(),
  fy = gb.randn(3, 2, {seed = 7}):eval(), sy = gb.randn(3, 2, {seed = 8}):eval(), Y = gb.randn(n, 2, {seed = 9}):eval(),
  zY = gb.randn(2, 2, {seed = 10}):eval(), sd = (gb.rand(n, {seed = 11}) * 0.2 + 0.1):eval()}

local function kernel() return gb.kernels.rbf{lengthscale = {0.7, 0.9}} end

local setups <const> = {}

function setups.single(v, solver)
  return gb.gp.exact{kernel = kernel(), mean = gb.means.constant(0.3), noise = 0.1, solver = solver}:condition(v.x, v.y)
end

function setups.noisy(v, solver)                        -- a condition number of 10: of the residuals' size are the errors then
  return gb.gp.exact{kernel = kernel(), noise = 1, solver = solver}:condition(v.x, v.y)
end

function setups.known(v, solver)
  return gb.gp.exact{kernel = kernel(), likelihood = gb.likelihoods.fixed(v.sd, {new = 0.1}), solver = solver}
    :condition(v.x, v.y)
end

function setups.heteroscedastic(v, solver)
  local m <const> = gb.gp.exact{kernel = kernel(), solver = solver, likelihood = gb.likelihoods.heteroscedastic{noise = 0.1,
    kernel = gb.kernels.rbf{lengthscale = 1}, places = gb.tensor{{0.1, 0.2}, {0.8, 0.6}, {0.4, 0.9}}}}
  m:set("likelihood.latent", {0.3, -0.4, 0.6})
  return m:condition(v.x, v.y)
end

function setups.multitask(v, solver)
  local m <const> = gb.gp.multitask{kernel = kernel(), tasks = 2, noise = {0.1, 0.2}, solver = solver}
  m:set{["kernel.tasks.weights"] = {{0.8}, {0.5}}, ["kernel.tasks.diagonal"] = {0.4, 0.3}}
  return m:condition(v.x, v.Y)
end

-- Fixed numbers that make one of what a quantity has, so that no symmetry hides an error.
local function weighed(q) return (q * gb.randn(q.shape, {seed = 99})):sum() end

local function prepared(m, v)
  m:predict(v.t).mean:eval()
  return m
end

local quantities <const> = {
  mean = function(m, v) return m:predict(v.t).mean end,
  f_var = function(m, v) return m:predict(v.t).f_var end,
  y_var = function(m, v) return m:predict(v.t).y_var end,
  f_cov = function(m, v) return m:predict(v.t).f_cov end,
  sample = function(m, v) return m:predict(v.t):sample(2, {seed = 3}) end,
  draw = function(m, v) return m:draw(2, {seed = 3, features = 64})(v.t) end,
  cached = function(m, v) return m:predict(v.t, {variance = "cached", rank = 5}).f_var end,
  cached_whole = function(m, v) return m:predict(v.t, {variance = "cached"}).f_var end,
  cached_cov = function(m, v) return m:predict(v.t, {variance = "cached", rank = 5}).f_cov end,
  loo = function(m) return m:leave_one_out().log_density end,
  condition_mean = function(m, v) return m:condition(v.z, v.zy or v.zY):predict(v.t).mean end,
  append_mean = function(m, v) return prepared(m, v):condition(v.z, v.zy):predict(v.t).mean end,
  append_var = function(m, v) return prepared(m, v):condition(v.z, v.zy):predict(v.t).f_var end,
  append_cov = function(m, v) return prepared(m, v):condition(v.z, v.zy):predict(v.t).f_cov end,
  append_twice = function(m, v)
    return prepared(prepared(m, v):condition(v.z, v.zy), v):condition(v.t, v.t:sum(2)):predict(v.z).mean
  end,
  fantasy_mean = function(m, v) return m:condition(v.fz, v.fy):predict(v.t).mean end,
  fantasy_var = function(m, v) return m:condition(v.fz, v.fy):predict(v.t).f_var end,
  fantasy_cov = function(m, v) return m:condition(v.fz, v.fy):predict(v.t).f_cov end,
  fantasy_sample = function(m, v) return m:condition(v.fz, v.fy):predict(v.t):sample(2, {seed = 3}) end,
  shared_mean = function(m, v) return m:condition(v.z, v.sy):predict(v.t).mean end,
  shared_var = function(m, v) return m:condition(v.z, v.sy):predict(v.t).f_var end,
}

local STEP <const> = 2e-3

--- The derivative of f at 0, of order 6.
local function difference(f)
  local h <const> = STEP
  return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h)
end

local function with(values, name, v)
  local out <const> = {}
  for key, old in pairs(values) do out[key] = old end
  out[name] = v
  return out
end

--- What the model of these values says, and the model; a path that is among the values is set.
local function told(setup, quantity, solver, values, path, raw)
  local m <const> = setups[setup](values, solver)
  if path then m:get(path).raw = raw end
  return weighed(quantities[quantity](m, values)), m
end

--- The derivative by 'by', a path or a tensor, along a fixed direction, by gradients and by differences.
local function derivatives(setup, quantity, solver, by)
  local path <const> = by:find(".", 1, true) and by or nil
  local start, gradient
  if path then
    local value <const>, m <const> = told(setup, quantity, solver, data)
    start, gradient = m:get(path).raw:detach():eval(), gb.grad(value, m:get(path), {raw = true})
  else
    start = data[by]
    local leaf <const> = start:requires_grad()
    gradient = gb.grad(told(setup, quantity, solver, with(data, by, leaf)), leaf)
  end
  local direction <const> = (gb.randn(start.shape, {seed = 77}) * 0.5):eval()
  local want <const> = difference(function(h)
    local moved <const> = (start + direction * h):eval()
    return told(setup, quantity, solver, path and data or with(data, by, moved), path, moved):item()
  end)
  return (gradient * direction):sum():item(), want
end

local function check(setup, quantity, solver, by, tol)
  local got <const>, want <const> = derivatives(setup, quantity, solver, by)
  local text <const> = ("%s of %s by %s: gradient %.12g, difference %.12g"):format(quantity, setup, by, got, want)
  assert.is_true(math.abs(got - want) <= tol * math.max(math.abs(want), 1e-3), text)
end

local posterior <const> = {"kernel.lengthscale", "kernel.variance", "likelihood.noise", "x"}
local function and_more(list, ...)
  local out <const> = table.move(list, 1, #list, 1, {})
  for _, v in ipairs{...} do out[#out + 1] = v end
  return out
end

local all <const> = and_more(posterior, "mean.value", "y", "t")
local spread <const> = and_more(posterior, "t")
local of_model <const> = {mean = all, f_var = spread, y_var = spread, f_cov = spread, sample = all, draw = all, loo = and_more(
  posterior, "mean.value", "y")}
local of_caches <const> = {cached = spread, cached_whole = spread, cached_cov = spread}
local of_growth <const> = {condition_mean = and_more(all, "z", "zy"), append_mean = and_more(all, "z", "zy"),
  append_var = and_more(spread, "z"), append_cov = and_more(spread, "z"), append_twice = and_more(all, "z", "zy"),
  fantasy_mean = and_more(all, "fz", "fy"), fantasy_var = and_more(spread, "fz"), fantasy_cov = and_more(spread, "fz"),
  fantasy_sample = and_more(all, "fz", "fy"), shared_mean = and_more(all, "z", "sy"), shared_var = and_more(spread, "z")}

local function renamed(list, names)
  local out <const> = {}
  for i, v in ipairs(list) do out[i] = names[v] or v end
  return out
end

local function without(list, ...)
  local out <const>, gone <const> = {}, {}
  for _, v in ipairs{...} do gone[v] = true end
  for _, v in ipairs(list) do if not gone[v] then out[#out + 1] = v end end
  return out
end

local solvers <const> = {direct = {"direct", 1e-6}, kronecker = {"kronecker", 1e-6}, cg = {gb.solvers.cg{tol = 1e-10}, 1e-4}}

local function walk(title, setup, table_of, change, names_of_solvers)
  for _, name in ipairs(names_of_solvers or {"direct", "cg"}) do
    local solver <const>, tol <const> = table.unpack(solvers[name])
    local names <const> = {}
    for quantity in pairs(table_of) do names[#names + 1] = quantity end
    table.sort(names)
    for _, quantity in ipairs(names) do
      it(("%s, %s: %s"):format(title, name, quantity), function()
        for _, by in ipairs(change(table_of[quantity])) do check(setup, quantity, solver, by, tol) end
      end)
    end
  end
end

local function same(list) return list end
local function of_known(list)
  return renamed(without(list, "mean.value"), {["likelihood.noise"] = "sd"})
end
local function of_varying(list) return and_more(without(list, "mean.value"), "likelihood.latent") end
local function of_tasks(list)
  return and_more(renamed(without(list, "mean.value", "kernel.variance"),
    {["kernel.lengthscale"] = "kernel[1].lengthscale", y = "Y",
    zy = "zY"}), "kernel.tasks.weights", "kernel.tasks.diagonal")
end

describe("gradients of predictions", function()
  walk("one noise", "single", of_model, same)
  walk("one noise", "single", of_growth, same)
  walk("one noise", "single", of_caches, same)
  walk("known noise", "known", of_model, of_known)
  walk("noise that varies", "heteroscedastic", of_model, of_varying)
  walk("two tasks, long form", "multitask", of_model, of_tasks)
  walk("two tasks, on a grid", "multitask", of_model, of_tasks, {"kronecker"})
end)

describe("what is made of predictions", function()
  local x <const> = gb.rand(30, 1, {seed = 1}):eval()
  local y <const> = ((6 * x):sin():squeeze(2) + 0.2 * gb.randn(30, {seed = 2})):eval()
  local at <const> = gb.rand(20, 1, {seed = 3}):eval()
  local seen <const> = ((6 * at):sin():squeeze(2) + 0.2 * gb.randn(20, {seed = 4})):eval()

  local function nlpd(p) return ((seen - p.mean) ^ 2 / p.y_var + p.y_var:log()):mean() / 2 end

  it("can be fitted: a validation likelihood", function()
    for _, solver in ipairs{"direct", gb.solvers.cg{tol = 1e-10}} do
      local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 1, solver = solver}:condition(x, y)
      local before <const> = nlpd(m:predict(at)):item()
      local info <const> = gb.optim.minimize(function() return nlpd(m:predict(at)) end, m)
      assert.is_true(info.converged and info.value < before - 0.5, tostring(info))
      local g <const> = gb.grad(nlpd(m:predict(at)), {m:get "kernel.lengthscale", m:get "likelihood.noise"}, {raw = true})
      assert.is_true(math.abs(g[1]:item()) < 1e-4 and math.abs(g[2]:item()) < 1e-4)
      assert.is_true(math.abs(m:get "likelihood.noise":item() - 0.04) < 0.03)
    end
  end)

  it("can be fitted: the noise alone", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.3}, noise = 1}:condition(x, y)
    local info <const> = gb.optim.minimize(function() return nlpd(m:predict(at)) end, m.likelihood)
    assert.is_true(info.iterations > 1 and m:get "likelihood.noise":item() < 0.1, tostring(info))
  end)

  it("can be fitted: a prior, over tasks with a few points each", function()
    local prior <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.5}
    local function loss()
      local sum = 0
      for task = 1, 3 do
        local from <const> = 8 * task - 7
        local m <const> = prior:condition(x:slice(1, from, from + 7), y:slice(1, from, from + 7))
        sum = sum + nlpd(m:predict(at))
      end
      return sum
    end
    local before <const> = loss():item()
    local info <const> = gb.optim.minimize(loss, prior)
    assert.is_true(info.iterations > 1 and info.value < before, tostring(info))
  end)

  it("may be the best point to look at next: a knowledge gradient", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.2}, noise = 0.04}:condition(x, y)
    local grid <const>, z0 <const> = gb.linspace(0, 1, 25):unsqueeze(2), gb.randn(8, 1, {seed = 5}):eval()
    local function gain(z)
      local p <const> = m:predict(z)
      local means <const> = m:condition(z, p.mean + p.y_var:sqrt() * z0):predict(grid).mean
      return means:max(2):mean()
    end
    local z <const> = gb.param({0.37}, {min = 0, max = 1})
    local h <const> = 1e-5
    local leaf <const> = gb.tensor{{0.37}}:requires_grad()
    local got <const> = gb.grad(gain(leaf), leaf):item()
    local want <const> = (gain(gb.tensor{{0.37 + h}}) - gain(gb.tensor{{0.37 - h}})):item() / (2 * h)
    assert.is_true(math.abs(got - want) <= 1e-6 * math.abs(want), ("%g %g"):format(got, want))
    local before <const> = gain(gb.tensor{{0.37}}):item()
    gb.optim.minimize(function() return -gain(z:reshape(1, 1)) end, {z}, {steps = 20})
    assert.is_true(gain(z.value:reshape(1, 1)):item() > before)
  end)

  --- The second derivative by p, at 0.3, whose slope this is, agrees with differences of the slope.
  local function check_second(p, slope, tol)
    local got <const> = gb.grad(slope(), p):item()
    local h <const> = 1e-3
    local function moved(by)
      p.value = 0.3 + by
      local v <const> = slope():item()
      p.value = 0.3
      return v
    end
    local want <const> = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
    assert.is_true(math.abs(got - want) <= tol * math.abs(want), ("%g %g"):format(got, want))
  end

  it("has second derivatives", function()
    for _, case in ipairs{{"direct", 1e-6}, {gb.solvers.cg{tol = 1e-10}, 1e-4}} do
      local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.3}, noise = 0.1, solver = case[1]}:condition(x, y)
      local p <const> = m:get "kernel.lengthscale"
      check_second(p, function() return gb.grad(nlpd(m:predict(at)), p) end, case[2])
    end
  end)

  it("has second derivatives on a grid of tasks, or says that it has none", function()
    local m <const> = gb.gp.multitask{kernel = gb.kernels.rbf{lengthscale = 0.3}, tasks = 2, noise = {0.1, 0.2}}
      :condition(x, gb.stack({y, y:flip(1)}, 2))
    local p <const> = m:get "kernel[1].lengthscale"
    check_second(p, function() return gb.grad(m:predict(at).f_var:log():sum() + m:predict(at).mean:sum(), p) end, 1e-6)
    local ok <const>, err <const> = pcall(function()
      return gb.grad(gb.grad(m:log_marginal_likelihood(), p), p):item()
    end)
    assert.is_false(ok)
    assert.matches('second derivatives; solver = "direct" has them', tostring(err), 1, true)
  end)

  it("keeps its accuracy at other tolerances of a solver", function()
    local function gradients(quantity, solver)
      local value <const>, m <const> = told("noisy", quantity, solver, data)
      local g <const> = gb.grad(value, {m:get "kernel.lengthscale", m:get "kernel.variance", m:get "likelihood.noise"},
        {raw = true})
      return gb.cat({g[1], g[2]:reshape(1), g[3]:reshape(1)}, 1)
    end
    for _, tol in ipairs{1e-3, 1e-5} do
      for _, quantity in ipairs{"mean", "f_var", "f_cov", "append_mean", "append_var", "fantasy_mean", "fantasy_var", "draw"} do
        local want <const>, got <const> = gradients(quantity, "direct"), gradients(quantity, gb.solvers.cg{tol = tol})
        local error <const> = ((got - want):norm() / want:norm()):item()
        assert.is_true(error <= 10 * tol, ("%s at %g: %g"):format(quantity, tol, error))
      end
    end
  end)

  it("says where an objective cannot be followed", function()
    local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 1}:condition(x, y)
    local ok, err = pcall(gb.optim.minimize, function() return nlpd(m:predict(at)):detach() end, m)
    assert.is_false(ok)
    assert.matches("does not depend on any free parameter", tostring(err), 1, true)
    m = gb.gp.exact{kernel = gb.kernels.rational_quadratic{}, noise = 1}:condition(x, y)
    ok, err = pcall(function() return gb.grad(m:draw(1, {seed = 1})(at):sum(), m:get "kernel.alpha"):item() end)
    assert.is_false(ok)
    assert.matches("no gradient by its alpha", tostring(err), 1, true)
  end)
end)

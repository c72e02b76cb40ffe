-- Gradients of what a model predicts, against differences: every quantity by everything that it depends on.
local gb <const> = require "gibbous"

-- Each setup is a function of a table of values that gives a model; what it is differentiated by are entries of that table:
-- parameters by path, and tensors.
local n <const>, d <const> = 12, 2
local data <const> = {x = gb.rand(n, d, {seed = 1}):eval(), y = gb.randn(n, {seed = 2}):eval(), t = gb.rand(3, d, {seed = 3}):eval(),
  z = gb.rand(2, d, {seed = 4}):eval(), zy = gb.randn(2, {seed = 5}):eval(), fz = gb.rand(3, 2, d, {seed = 6}):eval(),
  fy = gb.randn(3, 2, {seed = 7}):eval(), sy = gb.randn(3, 2, {seed = 8}):eval(), Y = gb.randn(n, 2, {seed = 9}):eval(),
  zY = gb.randn(2, 2, {seed = 10}):eval(), sd = (gb.rand(n, {seed = 11}) * 0.2 + 0.1):eval()}

local function kernel() return gb.kernels.rbf{lengthscale = {0.7, 0.9}} end

local setups <const> = {}

function setups.single(v, solver)
  return gb.gp.exact{kernel = kernel(), mean = gb.means.constant(0.3), noise = 0.1, solver = solver}:condition(v.x, v.y)
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
  return and_more(renamed(without(list, "mean.value", "kernel.variance"), {["kernel.lengthscale"] = "kernel[1].lengthscale", y = "Y",
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

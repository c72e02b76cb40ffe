--- Models on the session's device: what they say with hyper-parameters fixed and fitted, and what they refuse; a line a number,
-- "case number value". fits_spec.lua compares two devices.
package.path = "scripts/bench/?.lua;" .. package.path
local gb <const> = require "gibbous"
local K <const>, S <const> = gb.kernels, gb.solvers

local function say(case, key, value)
  local list <const> = type(value) == "number" and {value} or value:reshape(-1):totable()
  for i, v in ipairs(list) do print(("%s %s[%d] %.17g"):format(case, key, i, v)) end
end

local function refusal(case, f, ...)
  local ok <const>, err <const> = pcall(f, ...)
  assert(not ok, case)
  local d <const> = err.diagnosis
  print(("%s refused %s %s %s"):format(case, err.code, err.message:match "^[^\n]*", d and d.pivot .. " " .. d.of_pivot.row or ""))
end

local x <const> = gb.rand(90, 2, {seed = 1}):eval()
local y <const> = ((4 * x:select(2, 1)):sin() + x:select(2, 2) ^ 2 + 0.1 * gb.randn(90, {seed = 2})):eval()
local z <const> = gb.rand(25, 2, {seed = 3}):eval()

local function describe(case, m)
  local v <const> = m:log_marginal_likelihood()
  local list <const>, names <const> = gb.params(m)
  say(case, "log_marginal", v:item())
  for i, g in ipairs(gb.grad(v, list, {raw = true, unused = "zero"})) do say(case, "gradient of " .. names[i], g) end
  for i, p in ipairs(list) do say(case, names[i], p.value) end
  local p <const> = m:predict(z)
  say(case, "mean", p.mean)
  say(case, "f_var", p.f_var)
  say(case, "y_var", p.y_var)
end

local kernels <const> = {
  {"rbf", function() return K.rbf{lengthscale = {0.5, 0.8}, variance = 1.2} end},
  {"matern12", function() return K.matern12{lengthscale = 0.7} end},
  {"matern32", function() return K.matern32{lengthscale = {0.5, 0.8}} end},
  {"matern52", function() return K.matern52{lengthscale = 0.6} + K.linear{} end},
  {"periodic", function() return K.rbf{lengthscale = 0.9} * K.periodic{lengthscale = 1.1, period = 1.7} end},
  {"rational", function() return K.rational_quadratic{lengthscale = 0.5, alpha = 1.5} end},
}
local function model(kernel, o)
  return gb.gp.exact{kernel = kernel(), mean = gb.means.constant(0.1), noise = 0.05, solver = o and o.solver or "direct"}
end

for _, k in ipairs(kernels) do
  describe(k[1] .. ".fixed", model(k[2]):condition(x, y))
  local m <const> = model(k[2])
  m:fit(x, y, {steps = 5})
  describe(k[1] .. ".fitted", m)
end
for _, name in ipairs{"cg", "minres"} do
  local solver <const> = S[name]{tol = 1e-12}
  local p <const> = model(kernels[3][2], {solver = solver}):condition(x, y):predict(z)
  say("solver." .. name, "mean", p.mean)
  say("solver." .. name, "f_var", p.f_var)
end

-- CO2, as spec/gp/model/gate0_spec.lua has it
for _, row in ipairs(require "gate0_cases".values "spec/gp/model/gate0.csv") do
  for _, key in ipairs{"log_marginal", "nlpd", "mean", "y_var"} do
    say("gate0." .. row.set, key, type(row[key]) == "number" and row[key] or gb.tensor(row[key]))
  end
end

-- what has no factor, and no number
-- The second pivot is exactly 0, whatever the rounding: a variance of 1, at which a fit starts, too.
local twice <const> = gb.cat({x:slice(1, 1, 1), x:slice(1, 1, 6)}, 1):eval()
local unit <const> = K.rbf{lengthscale = 0.5, variance = gb.param(1, {fixed = true})}
local bare <const> = gb.gp.exact{kernel = unit, noise = 0, solver = "direct"}
refusal("duplicates", function() return bare:condition(twice, y:slice(1, 1, 7)):log_marginal_likelihood():item() end)
refusal("duplicates.fit", bare.fit, bare, twice, y:slice(1, 1, 7), {steps = 2})
local hole <const> = gb.where(gb.range(1, 90):eq(17), 0 / 0, y):eval()
refusal("hole", function() return model(kernels[1][2]):condition(x, hole):log_marginal_likelihood():item() end)
local m <const> = model(kernels[1][2])
refusal("hole.fit", m.fit, m, x, hole, {steps = 2})
local signs <const> = gb.where(gb.range(1, 70):eq(33), -1.0, 1.0)
refusal("indefinite", function() return gb.linalg.cholesky(gb.eye(70) * signs):eval() end)
local one <const> = gb.where(gb.range(1, 50):eq(12), 0 / 0, 1.0)
refusal("nan", function() return gb.linalg.cholesky(gb.eye(50) * one + gb.eye(50)):eval() end)

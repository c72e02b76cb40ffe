-- Pairs a second of every kernel's product with one vector, and its gradients, beside rbf in the same run.
-- Run: build/gibbous scripts/bench/kernels.lua [points]
local gb <const> = require "gibbous"
local table_text <const> = require "gibbous.text.table"
local K <const> = gb.kernels

local n <const> = math.tointeger(tonumber(arg and arg[1])) or 10000
local ROUNDS <const> = 4

-- Name, kernel, columns; with task numbers in the last column where there is a number of tasks.
local cases <const> = {
  {"rbf", K.rbf{}, 3},
  {"matern12", K.matern12{}, 3},
  {"matern32", K.matern32{}, 3},
  {"matern52", K.matern52{}, 3},
  {"rational_quadratic", K.rational_quadratic{}, 3},
  {"periodic", K.periodic{}, 3},
  {"cosine", K.cosine{}, 3},
  {"piecewise_polynomial 0", K.piecewise_polynomial{degree = 0}, 3},
  {"piecewise_polynomial 2", K.piecewise_polynomial{degree = 2}, 3},
  {"piecewise_polynomial 2, reach 1/10", K.piecewise_polynomial{degree = 2, lengthscale = 0.1}, 1},
  {"linear", K.linear{}, 3},
  {"polynomial 3", K.polynomial{degree = 3}, 3},
  {"arc_cosine 0", K.arc_cosine{order = 0}, 3},
  {"arc_cosine 1", K.arc_cosine{order = 1}, 3},
  {"spectral_mixture 1", K.spectral_mixture{components = 1}, 1},
  {"spectral_mixture 4", K.spectral_mixture{components = 4}, 1},
  {"change_point(rbf, matern32)", K.change_point(K.rbf{}, K.matern32{}, {location = 0}), 3},
  {"rbf * index", K.rbf{} * K.index{tasks = 4}, 3, 4},
  {"rbf + matern52", K.rbf{} + K.matern52{}, 3},
  {"rbf * periodic + linear", K.rbf{} * K.periodic{} + K.linear{}, 3},
}

--- Points in ascending order of their first column, as a compact support likes them.
local function points(case, dtype)
  local x = gb.randn(n, case[3], {seed = 1, dtype = dtype})
  local _, order <const> = x:select(2, 1):sort(1)
  x = x:index(1, order)
  if case[4] then x = gb.cat({x, (gb.rand(n, 1, {seed = 2, dtype = dtype}) * case[4]):floor() + 1}, 2) end
  return x:eval()
end

--- Seconds of evaluating what f(v) gives, for a vector not seen before.
local function seconds(f, v, round)
  local list <const> = f((v * (1 + round / 1000)):eval())
  local start <const> = gb.clock()
  gb.eval(list)
  return gb.clock() - start
end

for _, dtype in ipairs{"f32", "f64"} do
  local v <const> = gb.randn(n, {seed = 3, dtype = dtype}):eval()
  local product <const>, gradient <const> = {}, {}
  for round = 1, ROUNDS do                              -- in turns, so that a busy moment meets them all
    for i, case in ipairs(cases) do
      local k <const>, x <const> = case[2], points(case, dtype)
      local list <const> = gb.params(k)
      local p <const> = seconds(function(w) return {k(x):matmul(w)} end, v, round)
      local g <const> = seconds(function(w)
        return gb.grad((k(x):matmul(w) * v):sum(), list, {raw = true})
      end, v, round)
      product[i], gradient[i] = math.min(product[i] or math.huge, p), math.min(gradient[i] or math.huge, g)
    end
  end
  local rows <const> = {{dtype .. ", n = " .. n, "pairs/s", "of rbf", "gradients / product"}}
  for i, case in ipairs(cases) do
    rows[#rows + 1] = {case[1], ("%.3g"):format(n * n / product[i]), ("%.2f"):format(product[1] / product[i]),
      ("%.2f"):format(gradient[i] / product[i])}
  end
  print(table_text(rows))
end

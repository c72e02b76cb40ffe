-- The results of models at fixed hyper-parameters, for tests/shell/test_numerics.c to check: doubles in the machine's order on
-- standard output. Records: kernel n m lengthscale noise variance alpha period state, x y xs, C (n, n), and where state is 0 also
-- C^-1 y, log |C|, log p(y), mean and f_var at xs. Then a record of -1 and the gradient records: kernel n, four parameters, noise,
-- x y, d log p / d log parameter.
local gb <const> = require "gibbous"

local kinds <const> = {"rbf", "matern12", "matern32", "matern52", "rational_quadratic", "periodic"}
local n <const>, m <const> = 100, 24

local function emit(...)
  for _, v in ipairs{...} do
    local t <const> = type(v) == "number" and {v} or v:reshape(-1):totable()
    for from = 1, #t, 200 do
      local count <const> = math.min(200, #t - from + 1)
      io.write(string.pack(("d"):rep(count), table.unpack(t, from, from + count - 1)))
    end
  end
end

local function kernel_of(kind, lengthscale)
  local o <const> = {lengthscale = lengthscale, variance = 1.3}
  if kind == "rational_quadratic" then o.alpha = 1.5 end
  if kind == "periodic" then o.period = 0.8 end
  return gb.kernels[kind](o)
end

local function hyper(k, name) return k.hyper[name] and k.hyper[name].value:item() or 0.0 end

--- Points of [0, 1] in ascending order, off a grid by a third of its step, and a smooth function of them.
local function points(count)
  local x <const> = ((gb.range(1, count) - 0.5 + 0.3 * (2 * gb.rand(count, {seed = 1}) - 1)) / count):eval()
  return x, ((6 * x):sin() + 0.3 * (23 * x):cos()):eval()
end

--- 0 and the values, 1 where the matrix is not positive definite.
local function attempt(f)
  local ok <const>, values = pcall(f)
  if ok then return 0, values end
  assert(type(values) ~= "string" and values.code == "not_pd", tostring(values))
  return 1
end

local function cell(id, kind, lengthscale, noise)
  local x <const>, y <const> = points(n)
  local xs <const> = (gb.rand(m, {seed = 2}) * 1.1 - 0.05):eval()
  local k <const> = kernel_of(kind, lengthscale)
  local per_point <const> = gb.full({n}, noise):eval()
  local model <const> = gb.gp.exact{kernel = k, noise = noise > 0 and gb.param(noise, {min = 0}) or per_point,
    solver = "direct"}:condition(x, y)
  noise = noise > 0 and model.likelihood.noise.value:item() or 0.0
  local c <const> = (k(x) + noise * gb.eye(n)):eval()
  local state <const>, values <const> = attempt(function()
    local out <const> = {gb.linalg.solve(c, y), gb.linalg.logdet(c), model:log_marginal_likelihood()}
    gb.eval(out[1], out[2], out[3])
    return out
  end)
  local predicted <const>, p <const> = attempt(function()
    local p <const> = model:predict(xs)
    gb.eval(p.mean, p.f_var)
    return p
  end)
  assert(state == predicted, "the objective and the predictions disagree")
  emit(id, n, m, hyper(k, "lengthscale"), noise, hyper(k, "variance"), hyper(k, "alpha"), hyper(k, "period"), state)
  emit(x, y, xs, c)
  if state == 0 then emit(values[1], values[2], values[3], p.mean, p.f_var) end
end

local function gradients(id, kind)
  local x <const>, y <const> = points(40)
  local k <const> = kernel_of(kind, 0.1)
  local model <const> = gb.gp.exact{kernel = k, noise = gb.param(1e-3, {min = 0})}:condition(x, y)
  local own <const> = model.kernel.hyper
  local list <const> = {own.lengthscale, own.variance, own.alpha or own.period or own.variance, model.likelihood.noise}
  local raws <const> = {}
  for i, p in ipairs(list) do raws[i] = p.raw end
  local g <const> = gb.grad(model:log_marginal_likelihood(), raws)
  emit(id, 40, hyper(model.kernel, "lengthscale"), hyper(model.kernel, "variance"), hyper(model.kernel, "alpha"),
    hyper(model.kernel, "period"), model.likelihood.noise.value:item(), x, y, g[1], g[2], g[3], g[4])
end

for id, kind in ipairs(kinds) do
  for _, lengthscale in ipairs{0.01, 0.05, 0.2, 1} do
    for _, noise in ipairs{1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 0} do cell(id - 1, kind, lengthscale, noise) end
  end
end
emit(-1)
for id, kind in ipairs(kinds) do gradients(id - 1, kind) end
emit(-1)

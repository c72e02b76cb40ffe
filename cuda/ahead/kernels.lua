-- What the kernels that come with the library are for: each expression is planned, and each model fitted, on the device that
-- records texts (record.c). Extents of points are no part of a text; those here are as large as walks must be to be recorded.
--
-- Run:  GIBBOUS_DEVICE=cuda GIBBOUS_CUDA=<libgibbous_cuda_record.so> GIBBOUS_CUDA_RECORD=<folder> \
--         build/gibbous cuda/ahead/kernels.lua
local gb <const> = require "gibbous"
local n <const>, few <const> = 512, 200

local function profile(name)
  local make <const> = gb.kernels[name]
  return name == "linear" and make{} or make{lengthscale = 0.3}
end

local function zeros(dtype, ...)
  local shape <const> = {...}
  shape[#shape + 1] = {dtype = dtype}
  return gb.zeros(table.unpack(shape)):eval()
end

--- K(x, y) v, K(y, x)' v and K(x, x) v with r columns.
local function products(names, dtype, dims, columns)
  for _, name in ipairs(names) do
    local k <const> = profile(name)
    for _, d in ipairs(dims) do
      local x <const>, y <const> = zeros(dtype, n, d), zeros(dtype, n, d)
      for _, r in ipairs(columns) do
        local v <const> = r == 1 and zeros(dtype, n) or zeros(dtype, n, r)
        gb.plan(k(x, y):matmul(v))
        if r == 1 then
          gb.plan(k(x, x):matmul(v))
          gb.plan(k(x, y):t():matmul(v))
        end
      end
    end
  end
end

--- The position of the nearest of n points to each of n, and logarithms of sums of exp K(x, y).
local function reductions(dtype, dims)
  for _, d in ipairs(dims) do
    local x <const>, y <const> = zeros(dtype, n, d), zeros(dtype, n, d)
    gb.plan(((x:unsqueeze(2) - y:unsqueeze(1)) ^ 2):sum(3):argmin(2))
    gb.plan(profile "rbf"(x, y):logsumexp(2))
  end
end

local usual <const> = {"rbf", "matern32", "matern52"}
products(usual, "f32", {1, 2, 3}, {1, 16})
products({"rbf", "matern32"}, "f32", {8}, {1, 16})
products({"rbf"}, "f32", {32}, {1, 16})
products({"matern12", "rational_quadratic", "linear"}, "f32", {3}, {1})
products({"rbf", "matern32"}, "f64", {1, 3}, {1})
reductions("f32", {2, 3})

--- A fit of two steps and the means of predictions; c.variance: with their variances. Without c.solver the model chooses, and takes
-- Cholesky factors for so few points: its gradients are other programs than those of solver = "cholesky".
local function fit(c)
  local d <const>, dtype <const> = c.d, c.dtype
  local x <const> = d == 0 and gb.rand(n, {seed = 1, dtype = dtype}) or gb.rand(n, d, {seed = 1, dtype = dtype})
  local y <const> = ((6 * (d == 0 and x or x:sum(-1))):sin() + 0.1 * gb.randn(n, {seed = 2, dtype = dtype})):eval()
  local m <const> = gb.gp.exact{kernel = c.kernel, mean = c.mean, noise = c.noise, solver = c.solver}
  m:fit(x, y, {steps = 2})
  local p <const> = m:predict(d == 0 and gb.rand(few, {seed = 3, dtype = dtype}) or gb.rand(few, d, {seed = 3, dtype = dtype}))
  p.mean:eval()
  if c.variance then p.f_var:eval() end
end

local cg <const> = gb.solvers.cg{probes = 16} -- as many as for 5000 points and more
for _, name in ipairs(usual) do
  for _, d in ipairs{2, 3} do
    fit{kernel = profile(name), dtype = "f32", d = d, solver = cg, variance = d == 3 and name ~= "matern52"}
  end
end
fit{kernel = profile "rbf", dtype = "f32", d = 0, solver = cg}
fit{kernel = gb.kernels.rbf{lengthscale = {0.3, 0.4, 0.5}}, dtype = "f32", d = 3, solver = cg}
fit{kernel = profile "matern32", dtype = "f64", d = 3, solver = cg}
for _, name in ipairs{"rbf", "matern32"} do
  for _, d in ipairs{0, 2, 3} do
    fit{kernel = profile(name), dtype = "f64", d = d, variance = true}
    if d > 0 then fit{kernel = profile(name), dtype = "f32", d = d} end
  end
end

-- That of scripts/mauna_loa.lua.
local k <const> = gb.kernels
fit{kernel = k.rbf{variance = 4, lengthscale = 5}
    + 4 * k.rbf{lengthscale = 9} * k.periodic{period = gb.param(1, {fixed = true}), lengthscale = 1.3}
    + k.rational_quadratic{variance = 0.25, lengthscale = 1, alpha = 1},
  mean = gb.means.constant(0.1), noise = 0.04, dtype = "f64", d = 0, variance = true}

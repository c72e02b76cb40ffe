--- A whole session on the session's device: a small Gaussian process is fitted, predicts, draws and is saved, tensors move, systems
-- are solved. Says what came of it, what is still held, and whether the CPU, and the device if it is there, compute on.
-- faults_spec.lua lets its calls fail.
local gb <const> = require "gibbous"
local K <const> = gb.kernels
local device <const> = gb.config().device
local path <const> = os.tmpname()

local function work()
  local out <const> = {}
  local function say(v) out[#out + 1] = ("%a"):format(v:sum():item()) end
  local x <const> = gb.rand(12, 2, {seed = 1}):eval()
  local y <const> = (x:select(2, 1) * 3):sin() + 0.1 * gb.randn(12, {seed = 2})
  local m <const> = gb.gp.exact{kernel = K.matern32{lengthscale = 0.5}, noise = 0.1, solver = "direct"}
  m:fit(x, y, {steps = 1})
  local z <const> = gb.rand(5, 2, {seed = 3})
  local p <const> = m:predict(z)
  say(p.mean + p.y_var)
  say(p:sample(2, {seed = 4}))
  m:save(path)
  say(gb.load(path):predict(z).mean)
  say((x:to "cpu" * 2):to(device))
  local k <const> = K.rbf{}(x, x) + 0.5 * gb.eye(12)
  say((gb.solvers.cg{tol = 1e-2}:solve(k, y)))
  say((gb.linalg.qr(x)))
  say((gb.linalg.eigh(k)))
  say(gb.linalg.solve(k, x))
  return table.concat(out, " ")
end

local function says(f)
  local ok <const>, got <const> = pcall(f)
  return ok and "done" or got.code, ok and got or (got.message:gsub("\n", " "))
end

print(says(work))
for _ = 1, 4 do collectgarbage() end
local r <const> = gb.memory.report()
print(r.tensor, r.arena + r.workspace)
local how <const>, sum <const> = says(function()
  local a <const> = gb.rand(9, 3, {seed = 5})
  return ("%a"):format((a:matmul(a:t()) + gb.eye(9)):sum():item())
end)
print(gb.devices()[1].state, how, sum)
print(says(function()
  local a <const> = gb.rand(30, 3, {seed = 5, device = "cpu"})
  return ("%a"):format(gb.linalg.cholesky(a:matmul(a:t()) + gb.eye(30, {device = "cpu"})):sum():item())
end))
os.remove(path)

--- gibbous selftest: does this installation compute, stop and keep what it should? Each check has a known answer.
local core <const> = require "gibbous.core"

local PATIENCE <const> = 15                -- seconds until a process counts as stuck

local function apart(a, b) return (a - b):abs():max():item() end

--- Raises unless v is within tol of what is expected; a NaN is not.
local function near(what, v, expected, tol)
  if not (math.abs(v - expected) <= tol) then error(("%s is %.15g, expected %.15g"):format(what, v, expected), 0) end
end

--- A model of three points, against figures computed by hand: rbf of lengthscale 1 and variance 1, noise 0.01.
local function known_answer(gb)
  local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 1, variance = 1}, noise = 0.01}
  m:fit(gb.tensor{0, 1, 2}, gb.tensor{0, 1, 0}, {steps = 0})
  local p <const> = m:predict(gb.tensor{0.5})
  near("the log marginal likelihood", (m:log_marginal_likelihood()):item(), -3.6174919422103917, 1e-9)
  near("the mean", p.mean:item(), 0.6616675750075639, 1e-9)
  near("the variance", p.f_var:item(), 0.025020486661309738, 1e-9)
end

local function kernel_product(gb, device)
  local x <const> = gb.linspace(0, 6, 900):reshape(300, 3):to(device)
  return gb.kernels.matern52{lengthscale = 0.7}(x):matmul(gb.linspace(-1, 1, 300):to(device))
end

--- The same product where the matrix is stored, and where it is not.
local function streamed(gb)
  local x <const> = gb.linspace(0, 6, 900):reshape(300, 3)
  local stored <const> = gb.kernels.matern52{lengthscale = 0.7}(x):eval()
  near("the difference", apart(kernel_product(gb, "cpu"), stored:matmul(gb.linspace(-1, 1, 300))), 0, 1e-11)
end

--- Conjugate gradients, against the factor.
local function solvers(gb)
  local x <const> = gb.linspace(0, 10, 400)
  local function mean(solver)
    local m <const> = gb.gp.exact{kernel = gb.kernels.matern32{lengthscale = 1}, noise = 0.1, solver = solver}
    m:fit(x, x:sin(), {steps = 0})
    return m:predict(gb.tensor{2.5, 5, 11}).mean
  end
  near("the difference", apart(mean(gb.solvers.cg{tol = 1e-8}), mean "direct"), 0, 1e-5)
end

local function with_folder(f)
  local path <const> = os.tmpname()
  os.remove(path)
  core.make_folder(path)
  local ok <const>, err <const> = pcall(f, path)
  os.execute("rm -rf '" .. path .. "'")
  if not ok then error(err, 0) end
end

local function files(gb)
  with_folder(function(folder)
    local x <const> = gb.tensor{{0.1, 0 / 0, math.huge}, {-0.0, 1e-310, math.pi}}
    gb.data.write(folder .. "/x.npy", x)
    local y <const> = gb.data.read(folder .. "/x.npy")
    for i, row in ipairs(x:totable()) do
      for j, v in ipairs(row) do
        local w <const> = y[i][j]:item()
        if ("<d"):pack(v) ~= ("<d"):pack(w) then error(("%g was written, %g was read"):format(v, w), 0) end
      end
    end
  end)
end

local function first_line(path)
  local f <close> = io.open(path)
  return f and f:read "l"
end

--- A process of this program that runs the text and has printed "ready".
local function started(text, out)
  local child <const> = core.child({"/proc/self/exe", "-e", text}, nil, out)
  local begin <const> = core.clock()
  while first_line(out) ~= "ready" do
    if core.wait({child}, 0.02) or core.clock() - begin > PATIENCE then
      error("a process of this program did not start: " .. tostring(first_line(out)), 0)
    end
  end
  return child
end

--- Ends a process by a signal, and gives how it ended.
local function ended(child, signal)
  child:signal(signal)
  if not core.wait({child}, PATIENCE) then error(("a process did not end by %s"):format(signal), 0) end
  return child:reap()
end

--- Ctrl-C stops a computation that would take minutes.
local function interrupts()
  with_folder(function(folder)
    local child <const> = started([[
      local gb = require "gibbous"
      local x = gb.rand(1000000, 3, {seed = 1, dtype = "f32"}):eval()
      io.write "ready\n" io.flush()
      gb.kernels.rbf{}(x):matmul(gb.ones(1000000, {dtype = "f32"})):eval()]], folder .. "/out")
    local how <const> = ended(child, "int")
    if how.exit ~= 130 then error(("the status was %s, expected 130"):format(how.exit or how.signal), 0) end
  end)
end

--- A result that a sweep has acknowledged is there after kill -9.
local function store()
  with_folder(function(folder)
    local child <const> = started(([[
      local store = require "gibbous.sweep.store".open(%q, "create")
      store:want({{id = "a", params = "{}", cell = "{}", seed = 1}, {id = "b", params = "{}", cell = "{}", seed = 2}}, "code")
      local o = {host = "here", pid = 1, started = 1, limit = 2, least = 1, now = 0}
      store:acknowledge(store:claim(o), {class = "ok", result = "{}", metric = 0.5, seconds = 0, ended = 0})
      store:claim(o)
      io.write "ready\n" io.flush()
      while true do end]]):format(folder), folder .. "/out")
    ended(child, "kill")
    local self <close> = require "gibbous.sweep.store".open(folder, "write")
    local done <const> = self:trial "a"
    near("the metric", done.metric or 0 / 0, 0.5, 0)
    if self:recover("here", function() return false end) ~= 1 then error("the trial that ran was not given back", 0) end
  end)
end

local function figures(gb)
  with_folder(function(folder)
    gb.plot.figure{}:line(gb.linspace(0, 1, 9), gb.linspace(0, 1, 9) ^ 2):save(folder .. "/figure.svg")
    local f <close> = assert(io.open(folder .. "/figure.svg"))
    if not f:read "a":find "</svg>%s*$" then error("the SVG does not end", 0) end
  end)
end

--- Each GPU, against the CPU.
local function gpus(gb)
  local cuda <const> = (gb.devices().kinds or {}).cuda
  if not cuda or cuda.count == 0 then return "left out: " .. (cuda and cuda.why or "no GPU") end
  for i = 0, cuda.count - 1 do
    local device <const> = "cuda:" .. i
    near("the difference on " .. device, apart(kernel_product(gb, device):to "cpu", kernel_product(gb, "cpu")), 0, 1e-11)
  end
  return ("%d, as the CPU"):format(cuda.count)
end

local CHECKS <const> = {{"known answer", known_answer}, {"streamed product", streamed}, {"solvers", solvers}, {"files", files},
  {"figures", figures}, {"interrupts", interrupts}, {"store", store}, {"GPUs", gpus}}

--- Prints a line a check; true where none failed.
return function()
  local gb <const> = require "gibbous"
  local failed = 0
  for _, check in ipairs(CHECKS) do
    local begin <const> = core.clock()
    local ok <const>, text <const> = pcall(check[2], gb)
    failed = failed + (ok and 0 or 1)
    local why <const> = not ok and tostring(type(text) == "table" and text.message or text) or text or ""
    print(("%s %-18s %5.2f s  %s"):format(ok and "ok " or "BAD", check[1], core.clock() - begin, why):match "^(.-)%s*$")
  end
  if failed > 0 then print(("%d of %d failed; gibbous doctor --json says more of this machine"):format(failed, #CHECKS)) end
  return failed == 0
end

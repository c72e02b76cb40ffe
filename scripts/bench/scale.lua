-- Inducing points at scale. Sets of GIBBOUS_DATA (kin40k, protein): gb.gp.svgp with so many points for a third of T seconds and
-- for T, and with --python GPyTorch's SVGP for T, in turns; RMSE and marginal NLPD of one customary split, standardised, and by
-- how much the process grew at its peak. "drawn": 217,437 x 3 points drawn from a model by a seed, a tenth held out, fitted by
-- gb.gp.auto within --limit and T seconds, then 100,000 predictions with variances.
-- Run: GIBBOUS_DATA=folder build/gibbous scripts/bench/scale.lua [kin40k] [protein] [drawn] [--seconds 60] [--points 1024]
--   [--batch 1024] [--split 1] [--python PATH] [--peer_dtype f32] [--limit "1 GiB"]
-- Model: Matern 5/2 with a lengthscale a column, a variance, Gaussian noise, zero mean; both begin at centroids
-- of a k-means. Times are of the fit alone, for Gibbous with the choice of points. Each row is a process of its own; the load of
-- the machine is printed, and figures of a machine with other work compare only within one run.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "support"

local o <const>, words <const> = support.options{seconds = 60, points = 1024, batch = 1024, split = 1, python = "",
  peer_dtype = "f32", limit = "1 GiB", folder = "", row = ""}
local names <const> = #words > 0 and words or {"kin40k", "protein"}
local N <const>, D <const>, ASKED <const> = 217437, 3, 100000

local function kernel() return gb.kernels.matern52{ard = true} end

--- Points in the unit cube and a smooth function of them, made of 2,000 random features of a Matern 5/2 kernel, with noise.
local function drawn()
  local x <const> = gb.rand(N, D, {seed = 1, dtype = "f64"}):eval()
  local f <const> = gb.gp.exact{kernel = gb.kernels.matern52{lengthscale = 0.2}, noise = 0.1}:condition(gb.zeros(0, D), gb.zeros(0))
    :draw(1, {seed = 2, features = 2000})
  local y <const> = (f(x):reshape(N) + 0.1 * gb.randn(N, {seed = 3})):eval()
  local test <const> = N // 10
  return {x = x:slice(1, test + 1, N):eval(), y = y:slice(1, test + 1, N):eval()},
    {x = x:slice(1, 1, test):eval(), y = y:slice(1, 1, test):eval()}
end

local function write(name, folder)
  local train, test
  if name == "drawn" then train, test = drawn()
  else train, test = support.split(assert(support.set(name)), math.tointeger(o.split)) end
  local z <const> = gb.gp.inducing_points(train.x, math.tointeger(o.points))
  for key, t in pairs{x = train.x, y = train.y, xs = test.x, ys = test.y, z = z} do
    gb.data.write(("%s/%s.npy"):format(folder, key), t)
  end
end

local function read(key) return gb.data.read(("%s/%s.npy"):format(o.folder, key)):eval() end

-- One row, in a process of its own ------------------------------------------------------------------------------------------------

local function say(seconds, s, steps, bytes)
  print(("row %.2f %.5f %.5f %d %d"):format(seconds, s.rmse, s.nlpd, steps, bytes))
end

local rows <const> = {}

function rows.svgp()
  local x <const>, y <const> = read "x", read "y"
  local before <const> = support.process_bytes "VmHWM"
  local m <const> = gb.gp.svgp{kernel = kernel(), inducing = math.tointeger(o.points), batch = math.tointeger(o.batch)}
  local info <const> = m:fit(x, y, {seconds = o.seconds})
  local grown <const> = support.process_bytes "VmHWM" - before
  say(info.seconds, m:score(read "xs", read "ys"), info.iterations, grown)
end

function rows.auto()
  gb.memory.limit(o.limit)
  local x <const>, y <const> = read "x", read "y"
  local before <const> = support.process_bytes "VmHWM"
  local m <const>, info <const> = gb.gp.auto{kernel = kernel()}:fit(x, y, {seconds = o.seconds})
  io.stderr:write(tostring(info), "\n")
  local start <const> = core.clock()
  local p <const> = m:predict(gb.rand(ASKED, D, {seed = 4, dtype = x.dtype}))
  core.eval(p.mean, p.y_var)
  io.stderr:write(("%d predictions with variances: %.1f s\n"):format(ASKED, core.clock() - start))
  say(info.seconds, m:score(read "xs", read "ys"), info.fit.iterations, support.process_bytes "VmHWM" - before)
end

if o.row ~= "" then
  rows[o.row]()
  os.exit(0, true)
end

-- The table -----------------------------------------------------------------------------------------------------------------------

local function run(command)
  local pipe <const> = assert(io.popen(command))
  local text <const> = pipe:read "a"
  pipe:close()
  return text:match "row (%S+) (%S+) (%S+) (%S+) (%S+)"
end

local function load_text()
  local f <const> = io.open "/proc/loadavg"
  local text <const> = f and f:read "l" or "? ? ?"
  if f then f:close() end
  return text:match "^%S+"
end

local function line(set, what, ...)
  local seconds <const>, rmse <const>, nlpd <const>, steps <const>, bytes <const> = ...
  print(("%-8s %-12s %8s s  rmse %s  nlpd %s  %6s steps  %8.1f MiB  load %s"):format(set, what, seconds or "-", rmse or "-",
    nlpd or "-", steps or "-", (tonumber(bytes) or 0 / 0) / 2 ^ 20, load_text()))
end

local function ours(folder, row, seconds)
  return run(("%s %s --row %s --folder %s --seconds %g --points %d --batch %d --limit %s"):format(support.quoted(support.binary()),
    support.quoted(arg[0]), row, support.quoted(folder), seconds, o.points, o.batch, support.quoted(o.limit)))
end

for _, name in ipairs(names) do
  local folder <const> = os.tmpname()
  os.remove(folder)
  os.execute("mkdir " .. support.quoted(folder))
  write(name, folder)
  if name == "drawn" then
    line(name, "auto", ours(folder, "auto", o.seconds))
  else
    line(name, "svgp, T / 3", ours(folder, "svgp", o.seconds / 3))
  end
  if o.python ~= "" then
    line(name, "GPyTorch, T", run(("%s %s/peers/scale_gpytorch.py %s %d %d %g %s"):format(support.quoted(o.python), here,
      support.quoted(folder), o.points, o.batch, o.seconds, o.peer_dtype)))
  end
  if name ~= "drawn" then line(name, "svgp, T", ours(folder, "svgp", o.seconds)) end
  os.execute("rm -r " .. support.quoted(folder))
end

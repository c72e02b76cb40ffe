-- Natural gradients of a diagonal or a low-rank q against Adam: the ELBO of all training rows after T seconds, of sets of
-- GIBBOUS_DATA.
-- Run: GIBBOUS_DATA=folder build/gibbous scripts/bench/natural.lua [airfoil] [protein] [kin40k] [--seconds 20] [--points 500]
--   [--batch 1024] [--split 1] [--q diagonal]
-- Model: Matern 5/2 with a lengthscale a column (d^1/2 at first), a variance (1), Gaussian noise (0.1), zero mean; all begin at the
-- same centroids of a k-means, which do not count in T. "Adam" moves q as fits move the kernel's parameters; "closed" is the ELBO
-- after the last pass. Figures of a machine with other work compare only within one run; the load is printed.
local here <const> = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path
local elbo <const> = require "gibbous.gp.svgp.elbo"
local gb <const> = require "gibbous"
local support <const> = require "support"
local variational <const> = require "gibbous.gp.svgp.variational"

local o <const>, words <const> = support.options{seconds = 20, points = 500, batch = 1024, split = 1, q = "diagonal"}
local names <const> = #words > 0 and words or {"airfoil", "protein", "kin40k"}

local function kernel(d)
  local lengthscale <const> = {}
  for k = 1, d do lengthscale[k] = d ^ 0.5 end
  return gb.kernels.matern52{lengthscale = lengthscale, variance = 1}
end

--- f() while Adam moves all of q.
local function by_adam(f)
  local step <const>, natural <const>, put <const> = elbo.step, variational.natural, variational.put
  function elbo.step(self, x, y, scale, _, noise) return elbo.negative(self, x, y, scale, noise), {} end
  function variational.natural() return {} end
  function variational.put() end
  f()
  elbo.step, variational.natural, variational.put = step, natural, put
end

local function load_text()
  local f <close> = assert(io.open "/proc/loadavg")
  return f:read "l":match "^%S+"
end

for _, name in ipairs(names) do
  local train <const>, test <const> = support.split(assert(support.set(name)), math.tointeger(o.split))
  local z <const> = gb.gp.inducing_points(train.x, math.tointeger(o.points)):eval()
  for _, whiten in ipairs{true, false} do
    for _, way in ipairs{"Adam", "natural"} do
      local m <const> = gb.gp.svgp{kernel = kernel(train.x.shape[2]), inducing = z, q = o.q, whiten = whiten, noise = 0.1,
        batch = math.tointeger(o.batch)}
      local info
      local function run()
        info = m:fit(train.x, train.y, {seconds = o.seconds, polish = false, batch = math.min(math.tointeger(o.batch), #train.x)})
      end
      if way == "Adam" then by_adam(run) else run() end
      local before <const> = info.log_likelihood
      local s <const> = m:score(test.x, test.y)
      -- One more step that moves the parameters by nothing, and the last pass.
      local closed <const> = m:fit{steps = 1, lr = 1e-300}.log_likelihood
      print(("%-8s %s %-9s %-8s ELBO %10.1f  closed %10.1f  full %10.1f  rmse %.4f  nlpd %.4f  %5d steps  load %s"):format(name,
        o.q, whiten and "whitened" or "of u", way, before, closed, m:bounds().lower, s.rmse, s.nlpd, info.iterations, load_text()))
    end
  end
end

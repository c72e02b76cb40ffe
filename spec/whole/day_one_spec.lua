-- The scripts of a first day: whole ones, shortened only in their numbers of points and steps.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const> = support.near
local K <const> = gb.kernels

describe("the first day", function()
  after_each(support.sweep)

  it("forecasts CO2 with a composite kernel and draws it", function()
    local record <const> = gb.data.read "scripts/data/mauna_loa_co2.csv"
    local every <const> = gb.range(1, 820, 5):to{dtype = "i64"}     -- in step with no season
    local t <const>, y <const> = record:col "decimal_date":index(1, every), record:col "co2_ppm":index(1, every)
    local cut <const> = #t - 24
    local mu <const> = y:slice(1, 1, cut):mean():item()
    local m <const> = gb.gp.exact{mean = gb.means.constant(mu), noise = 0.2 ^ 2,
      kernel = K.rbf{variance = 50 ^ 2, lengthscale = 50}:named "trend"
        + (2 ^ 2 * K.rbf{lengthscale = 90} * K.periodic{period = gb.param(1, {fixed = true})}):named "season"
        + K.rational_quadratic{variance = 0.5 ^ 2, lengthscale = 1, alpha = 1}:named "medium"}
    local info <const> = m:fit(t:slice(1, 1, cut), y:slice(1, 1, cut), {restarts = 1, seed = 1, steps = 60})
    assert.equal(cut, info.n)
    assert.is_true(#tostring(m) > 200)
    near(1, m:get "kernel.season[2].period".value, 0)
    local s <const> = m:score(t:slice(1, cut + 1, -1), y:slice(1, cut + 1, -1))
    assert.is_true(s.rmse < 6, tostring(s))            -- the record rises by more than 20 ppm meanwhile
    assert.is_true(s.coverage95 > 0.5)
    assert.is_true(m:log_marginal_likelihood():item() > -400)
    local xs <const> = gb.linspace(1958, 2035, 300)
    local p <const> = m:predict(xs)
    local lo <const>, hi <const> = p:interval(0.95)
    local path <const> = support.path ".svg"
    gb.plot.figure{title = "Mauna Loa", xlabel = "year", ylabel = "CO2 (ppm)"}
      :band(xs, lo, hi):line(xs, p.mean):scatter(t, y):save(path)
    assert.is_true(#support.read(path) > 10000)
  end)

  it("trains a kernel of one's own by a hand-written loop and by a closure", function()
    local gibbs <const> = K.define("gibbs", {a = 0.5, b = 0.5}, function(x, z, p)
      local lx <const>, lz <const> = p.a + p.b * x:abs(), p.a + p.b * z:abs()
      local s <const> = lx ^ 2 + lz ^ 2
      return ((2 * lx * lz / s):sqrt() * (-(x - z) ^ 2 / s):exp()):prod(-1)
    end)
    local n <const> = 80
    local x <const> = gb.linspace(-3, 3, n):unsqueeze(2)
    local y <const> = (x:squeeze(2) ^ 3):sin() + 0.1 * gb.randn(n, {seed = 1})
    local k <const>, noise <const> = gibbs{a = 0.2}, gb.param(0.05, {min = 1e-6})
    local function nlml()
      local C <const> = k(x) + noise * gb.eye(n)
      return (gb.linalg.inv_quad(C, y) + gb.linalg.logdet(C) + n * math.log(2 * math.pi)) / 2
    end
    local ps <const>, names <const> = gb.params{kernel = k, noise = noise}
    assert.same({"kernel.a", "kernel.b", "kernel.variance", "noise"}, names)
    support.check_gradients(nlml, ps, 1e-6)
    local losses <const> = {}
    for step = 1, 20 do
      local loss <const> = nlml()
      local g <const> = gb.grad(loss, ps, {raw = true})
      gb.eval(loss, g)
      for i, p in ipairs(ps) do p.raw = p.raw - 1e-3 * g[i] end
      losses[step] = loss:item()
    end
    assert.is_true(losses[20] < losses[1])
    local info <const> = gb.optim.minimize(nlml, ps, {method = "lbfgs", steps = 100})
    assert.is_true(info.value < losses[20])
    local path <const> = support.path ".svg"
    gb.plot.posterior(gb.gp.exact{kernel = k, noise = noise}:condition(x, y)):save(path)
    assert.is_true(#support.read(path) > 5000)
  end)

  it("asks, observes and conditions in a loop", function()
    local pi <const> = math.pi
    local function branin(u)
      local a <const>, b <const> = u:select(2, 1) * 15 - 5, u:select(2, 2) * 15
      return (b - 5.1 / (4 * pi ^ 2) * a ^ 2 + 5 / pi * a - 6) ^ 2 + 10 * (1 - 1 / (8 * pi)) * a:cos() + 10
    end
    gb.seed(4)
    local x <const> = gb.sobol(8, 2)
    local y <const> = branin(x)
    local m = gb.gp.exact{kernel = K.matern52{lengthscale = {0.3, 0.3}, variance = 1e4},
      mean = gb.means.constant(y:mean():item()), noise = gb.param(1e-4, {fixed = true})}
    m:fit(x, y, {steps = 20})
    local best = y:min():item()
    for step = 1, 12 do
      local c <const> = gb.rand(500, 2)
      local p <const> = m:predict(c)
      local sd <const> = p.f_var:sqrt()
      local z <const> = (best - p.mean) / sd
      local ei <const> = sd * (z * z:ndtr() + (-0.5 * z ^ 2):exp() / math.sqrt(2 * pi))
      local i <const> = ei:argmax():item()
      local xn <const> = c:slice(1, i, i)
      local yn <const> = branin(xn)
      m = m:condition(xn, yn)
      if step % 6 == 0 then m:fit{steps = 20} end
      best = math.min(best, yn:item())
    end
    assert.equal(20, #m.x)
    assert.is_true(best < 5, tostring(best))           -- the minimum is 0.398; 8 points alone leave about 20
  end)
end)

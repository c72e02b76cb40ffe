--- What a fit does and reports; the choice of a solver; plans of a step.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local x <const> = gb.rand(60, 2, {seed = 1}):eval()
local y <const> = ((x:select(2, 1) * 5):sin() + 0.1 * gb.randn(60, {seed = 2})):eval()

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or K.rbf{lengthscale = 0.5}, noise = o.noise or 0.2, solver = o.solver or "direct"}
end

local function norm(values)
  local s = 0.0
  for _, v in ipairs(values) do s = s + v * v end
  return math.sqrt(s)
end

--- Norm of the gradient of the log marginal likelihood by the free unconstrained parameters.
local function gradient_norm(m)
  local all <const> = {}
  for _, p in ipairs((gb.params(m))) do
    for _, v in ipairs(support.numbers(gb.grad(m:log_marginal_likelihood(), p, {raw = true}))) do all[#all + 1] = v end
  end
  return norm(all)
end

describe("the report of a fit", function()
  it("has the value, the gradient norm and the counts at the best point", function()
    local m <const> = model()
    local info <const> = m:fit(x, y, {steps = 6})
    near(-m:log_marginal_likelihood():item(), info.value, 1e-9)
    near(gradient_norm(m), info.gradient_norm, 1e-6)
    assert.is_true(info.evaluations >= info.iterations)
    assert.equal(0, info.failed_starts)
    assert.equal(0, info.masked)
    assert.equal("direct", info.solver)
    assert.is_nil(info.why)
    assert.equal(0, info.solve_log.solves)
  end)

  it("of Adam is of its best point too, not of its last", function()
    local m <const> = model()
    local info <const> = m:fit(x, y, {method = "adam", lr = 1.5, steps = 15})
    near(-m:log_marginal_likelihood():item(), info.value, 1e-9)
    near(gradient_norm(m), info.gradient_norm, 1e-6)
  end)

  it("names parameters at their bounds", function()
    local m <const> = model{kernel = K.rbf{lengthscale = gb.param({0.5, 0.5}, {min = 0.1, max = 0.9})}}
    local info <const> = m:fit(x, y)
    near(0.9, m.kernel.lengthscale.value[2], 1e-2)                     -- y does not depend on column 2
    assert.same({"kernel.lengthscale"}, info.active_bounds)
    assert.matches("at a bound: kernel.lengthscale", tostring(info))
    local held <const> = model{noise = gb.param(0.101, {min = 0.1, fixed = true})}:fit(x, y, {steps = 1})
    assert.same({}, held.active_bounds)
  end)

  it("takes no small unit for a bound: 0 is near beside where a parameter began", function()
    for _, o in ipairs{{steps = 500}, {steps = 500, method = "adam"}} do
      assert.same({}, gb.gp.exact{kernel = K.rbf{}}:fit(x * 1e-13, y * 1e-16, o).active_bounds)
      assert.same({}, gb.gp.svgp{kernel = K.rbf{}, inducing = 5}:fit(x * 1e-13, y * 1e-16, {steps = 3}).active_bounds)
    end
    local still <const> = gb.gp.exact{kernel = K.rbf{}, standardize = true}:fit(x, 0 * y + 5)
    assert.matches("at a bound: kernel.variance, likelihood.noise", tostring(still))
  end)

  it("hands each step what it knows", function()
    local seen <const> = {}
    model{solver = gb.solvers.cg{tol = 1e-8}}:fit(x, y, {steps = 3, on_step = function(s) seen[#seen + 1] = s end})
    assert.is_true(#seen >= 3)
    for _, s in ipairs(seen) do
      assert.equal("number", type(s.value))
      assert.is_true(s.gradient_norm >= 0)
      assert.is_true(s.solve.converged)
      assert.is_true(s.solve.iterations > 0)
    end
  end)

  it("reports the solve of the best point, not of one that failed after it", function()
    local points <const> = gb.rand(30, 2, {seed = 1})                 -- y that do not vary: the noise goes to 0
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.5, variance = 1}, solver = gb.solvers.cg{},
      likelihood = gb.likelihoods.gaussian{noise = 0.1, floor = false}}
    local info <const> = m:fit(points, gb.ones(30) * 3)
    assert.is_true(info.setbacks > 0 and info.value == info.value)
    assert.is_true(type(info.converged) == "boolean" and #info.reason > 0)
  end)

  it("logs the solves of an iterative fit, and warns of those that missed", function()
    local info <const> = model{solver = gb.solvers.cg{tol = 1e-5}}:fit(x, y, {steps = 3})
    local log <const> = info.solve_log
    assert.equal(info.evaluations, log.solves)
    assert.equal(0, log.unconverged)
    assert.is_true(log.residual <= 1e-5 and log.condition >= 1 and log.iterations >= log.solves)
    local poor <const> = model{noise = 1e-3, solver = gb.solvers.cg{tol = 1e-10, max_iter = 3}}:fit(x, y, {steps = 2})
    assert.is_true(poor.solve_log.unconverged > 0)
    assert.is_false(poor.converged)
    assert.matches("solves missed the tolerance", tostring(poor))
    assert.matches("^the solver: ", poor.reason)
  end)
end)

describe("a fit", function()
  it("with nothing free says so and computes the value", function()
    local function fixed(v) return gb.param(v, {min = 0, fixed = true}) end
    local m <const> = model{kernel = K.rbf{lengthscale = fixed(0.5), variance = fixed(1)}, noise = fixed(0.2)}
    local info <const> = m:fit(x, y)
    assert.is_true(info.converged)
    assert.equal("there is no free parameter", info.reason)
    near(-m:log_marginal_likelihood():item(), info.value, 1e-9)
    assert.equal(0, info.iterations)
    assert.matches("there is no free parameter", tostring(info))
  end)

  it("counts a start that fails, and goes on", function()
    local broken <const> = K.define("broken", {a = 1}, function(p, q, v)
      return (-((p - q) ^ 2):sum(-1)):exp() * (2 - v.a)               -- negative where a is above 2
    end)
    local found = 0
    for seed = 1, 8 do
      local b <const> = gb.gp.exact{kernel = broken{a = 1}, noise = 1e-4, solver = "direct"}
      local r <const> = b:fit(x, y, {restarts = 3, seed = seed, steps = 2})
      found = found + r.failed_starts
      if r.failed_starts > 0 then assert.matches("of 4 starts failed", tostring(r)) end
      near(-r.value, b:log_marginal_likelihood(), 1e-8)
    end
    assert.is_true(found > 0)
  end)

  it("looks from little noise too, where noise came down from its start and may have stopped too early", function()
    local t <const> = (10 * gb.rand(25, {seed = 1})):eval()
    local wave <const> = ((0.3 * t):sin() + 0.5 * (3 * t):sin() + 0.05 * gb.randn(25, {seed = 51})):eval()
    local function fit(noise, o, solver)
      local m <const> = model{kernel = K.rbf{lengthscale = 3}, solver = solver,
        noise = gb.param(noise, {min = 1e-4, fixed = o and o.fixed, name = o and o.name})}
      return m:fit(t, wave, o and o.fit), m
    end
    local one <const> = fit(1, {fit = {restarts = 0}})
    local two <const>, m <const> = fit(1)
    assert.equal(0, one.restarts)
    assert.equal(1, two.restarts)
    assert.is_true(two.log_likelihood > one.log_likelihood + 15 and two.evaluations > one.evaluations)
    assert.matches("best of 2 starts", tostring(two))
    assert.is_true(m:get "likelihood.noise".value:item() < 0.01)
    assert.equal(0, (fit(0.003).restarts))                            -- it began with little
    local line <const> = gb.linspace(0, 10, 40)
    local noise <const> = model{kernel = K.rbf{lengthscale = 3}, noise = gb.param(1, {min = 1e-4})}
    assert.is_true(noise:fit(line, (2 * line):sin(), {restarts = 0}).log_likelihood < -30)          -- all of y is noise
    noise:set{["kernel.lengthscale"] = 3, ["kernel.variance"] = 1, ["likelihood.noise"] = 1}
    assert.is_true(noise:fit(line, (2 * line):sin()).log_likelihood > 0)
    assert.equal(0, (fit(1, {fixed = true}).restarts))
    assert.equal(0, (fit(1, {fit = {steps = 2}}).restarts))            -- not there yet
    assert.equal(0, (fit(1, {fit = {method = "adam", steps = 5}}).restarts))
    assert.equal(0, (fit(1, {fit = {steps = 5}}, gb.solvers.cg{}).restarts))
    local stopped <const> = fit(1, {fit = {on_step = function(s) return s.step < 4 end}})
    assert.is_true(stopped.interrupted and stopped.restarts == 0)
    local seen = 0                                                     -- step 0 of the second start
    local late <const> = fit(1, {fit = {on_step = function(s)
      seen = seen + (s.step == 0 and 1 or 0)
      return seen < 2
    end}})
    assert.is_true(late.interrupted and not late.converged and late.restarts == 1)
    assert.equal("stopped by on_step", late.reason)
    assert.equal(1, (fit(1, {name = "sigma2"}).restarts))                -- noise is what the likelihood has, whatever its name
    local other <const> = model{kernel = K.rbf{lengthscale = 3, variance = gb.param(20, {min = 0, name = "noise"})},
      noise = gb.full({25}, 0.01)}
    assert.equal(0, other:fit(t, wave).restarts)
  end)

  it("fails if all starts do, with the parameters where they were", function()
    local broken <const> = K.define("broken", {a = 1}, function(p, q, v) return -(-((p - q) ^ 2):sum(-1)):exp() * v.a end)
    local m <const> = gb.gp.exact{kernel = broken{a = 1}, noise = 1e-4, solver = "direct"}
    local err <const> = raises("not_pd", "", m.fit, m, x, y, {restarts = 1, steps = 2})
    assert.is_true(err ~= nil)
    near(1, m:get "kernel.a".value, 1e-15)
    near(1e-4, m:get "likelihood.noise".value, 1e-15)
    assert.is_nil(m.info)
  end)

  it("is a function of its seed, the probes of a solver included", function()
    local function run(seed)
      return model{solver = gb.solvers.cg{tol = 1e-8, probes = 4}}:fit(x, y, {steps = 2, seed = seed}).value
    end
    assert.equal(run(1), run(1))
    assert.is_true(run(1) ~= run(2))
  end)

  it("by a solver fits the smallest budget that a refusal tells", function()
    local many <const> = gb.rand(20000, 2, {seed = 1, dtype = "f32"}):eval()
    local target <const> = (4 * many:select(2, 1)):sin():eval()
    for _, solver in ipairs{"auto", gb.solvers.cg{precond = gb.precond.nystrom{}}} do
      local m <const> = gb.gp.exact{kernel = K.matern32{}, noise = 0.1, solver = solver}
      local err <const> = raises("refused", "", m.plan, m, many, target, {budget = "1 MiB"})
      assert.is_true(m:plan(many, target, {budget = err.minimum}).peak <= err.minimum)
      local plan <const> = m:plan(many, target, {budget = "64 MiB"})
      assert.is_true(err.minimum < plan.peak)
      m:plan(many, target, {budget = plan.minimum})
    end
  end)

  it("is finished in f64 where f32 tells no steps apart any more", function()
    local wide <const> = gb.rand(250, 2, {seed = 7}):eval()
    local target <const> = ((4 * wide:select(2, 1)):sin() * wide:select(2, 2) + 0.01 * gb.randn(250, {seed = 8})):eval()
    local function fitted(dtype, o)
      local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = {1, 1}}, noise = 0.1, solver = "direct"}
      local settings <const> = {restarts = 0}
      for key, v in pairs(o or {}) do settings[key] = v end
      return m:fit(wide:to{dtype = dtype}, target:to{dtype = dtype}, settings), m
    end
    local steps <const> = {}
    local want <const> = fitted("f64")
    local info <const>, m <const> = fitted("f32", {on_step = function(s) steps[#steps + 1] = s.step end})
    assert.is_true(info.converged, info.reason)
    assert.equal("f64", info.precision)
    assert.matches("; finished in f64", tostring(info), 1, true)
    near(want.value, info.value, 1e-2)
    assert.equal(info.iterations, steps[#steps])
    for i = 2, #steps do assert.is_true(steps[i] >= steps[i - 1]) end
    assert.equal("f32", m.x.dtype)
    assert.equal("f64", want.precision)
    assert.not_matches("finished in", tostring(want), 1, true)
    local few <const> = fitted("f32", {steps = info.iterations - 3})
    assert.is_true(few.iterations <= info.iterations - 3)
    local tight <const> = fitted("f32", {budget = m:plan().minimum + 1000})    -- no room for f64
    assert.equal("f32", tight.precision)
    assert.is_true(tight.value > info.value - 1)
    local was <const> = info.value
    near(-was, m:log_marginal_likelihood(), 1e-2)                              -- of the model as it is now, too
    local again <const> = m:fit{restarts = 0}
    assert.is_true(again.converged and again.value <= was + 1e-3 and again.precision == "f64")
    local wide_model <const> = gb.gp.exact{kernel = m.kernel, likelihood = m.likelihood, solver = "direct"}:condition(
      m.x:to{dtype = "f64"}, m.y:to{dtype = "f64"})
    local r <const>, rw <const> = m:leave_one_out(), wide_model:leave_one_out()
    near({rw.rmse, rw.nlpd}, {r.rmse, r.nlpd}, 1e-3)
  end)

  it("with nothing free is computed in f64 too, where memory holds that", function()
    local narrow <const> = gb.rand(250, 2, {seed = 7, dtype = "f32"}):eval()
    local target <const> = (4 * narrow:select(2, 1)):sin():eval()
    local function fitted(noise, budget)
      local function held(v) return gb.param(v, {fixed = true}) end
      return gb.gp.exact{kernel = K.rbf{lengthscale = held(1), variance = held(1)}, noise = held(noise), solver = "direct"}:fit(
        narrow, target, {budget = budget})
    end
    local wide <const>, small <const> = fitted(1e-4), fitted(1e-4, 450000)
    assert.same({"f64", "f32"}, {wide.precision, small.precision})
    near(0, wide.value - small.value, 1)
    raises("refused", "cholesky 250x250 f64", fitted, 1e-7, 450000)        -- f32 has no factor of it
    raises("refused", "cholesky 250x250 f32", fitted, 1e-4, 100000)
  end)

  it("stopped in its f64 part keeps what f32 had reached", function()
    local wide <const> = gb.rand(120, 2, {seed = 7, dtype = "f32"}):eval()
    local target <const> = (4 * wide:select(2, 1)):sin():eval()
    local seen = 0
    local mean <const> = gb.means.define("watched", {}, function(t)
      if t.dtype == "f64" then
        seen = seen + 1
        core.raise("interrupted", "stopped")
      end
      return gb.zeros(#t, {dtype = t.dtype})
    end)
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 1}, mean = mean{}, noise = 0.1, solver = "direct"}
    local info <const> = m:fit(wide, target, {restarts = 0})
    assert.is_true(seen > 0 and info.interrupted and not info.converged)
    assert.is_true(info.value < 0 and info.precision == "f32")
  end)

  it("plans its steps within a budget, or is refused with the smallest that would do", function()
    local n <const> = 300
    local many <const> = gb.rand(n, 2, {seed = 3}):eval()
    local values <const> = many:sum(2):sin():eval()
    local free <const> = model():fit(many, values, {steps = 3})
    local least <const> = model():plan(many, values).minimum
    local tight <const> = model():fit(many, values, {steps = 3, budget = least})
    near(free.value, tight.value, 1e-9)
    local m <const> = model()
    local err <const> = raises("refused", "", m.fit, m, many, values, {steps = 3, budget = least // 2})
    assert.equal(least, err.minimum)
    near(0.5, m.kernel.lengthscale.value, 1e-15)
    raises("option", "", m.fit, m, many, values, {budget = "a lot"})
  end)

  it("flat in time and bytes over many models", function()
    collectgarbage() collectgarbage()
    local function run() model():fit(x, y, {steps = 1}) end
    for _ = 1, 5 do run() end
    collectgarbage() collectgarbage()
    local before <const> = gb.memory.report().used
    for _ = 1, 20 do run() end
    collectgarbage() collectgarbage()
    assert.is_true(gb.memory.report().used <= before + 1024)
  end)
end)

describe('solver = "auto"', function()
  local choice <const> = require "gibbous.gp.exact.solver_choice"

  it("is direct where that is not slower, and says why with numbers", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1}
    local info <const> = m:fit(x, y, {steps = 1})
    assert.equal("direct", info.solver)
    assert.is_true(info.why.direct.seconds > 0 and info.why.direct.bytes > 60 * 60 * 8)
    assert.is_true(info.why.iterative.seconds > 0 and info.why.iterative.bytes > 0)
    assert.matches("\n  auto: direct, exact and quick enough %(direct about [%d.e-]+ s and [%d.]+ KiB a step; iterative at least",
      tostring(info))
    assert.equal("direct", m.info.solver)
  end)

  it("is iterative where a direct step does not fit the budget", function()
    local n <const> = 3000
    local many <const> = gb.rand(n, 2, {seed = 3}):eval()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.5}, noise = 0.1}
    local info <const> = m:fit(many, many:sum(2):sin(), {steps = 1, budget = "30 MiB"})
    assert.matches("^cg", info.solver)
    assert.is_true(info.why.direct.refused)
    assert.matches("direct does not fit the budget %(direct needs %d+[.%d]* MiB", tostring(info))
  end)

  it("is refused where neither fits, with the smallest budget that would do", function()
    local n <const> = 400
    local many <const> = gb.rand(n, 2, {seed = 3}):eval()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.5}, noise = 0.1}
    local err <const> = raises("refused", "fit: needs", m.fit, m, many, many:sum(2), {steps = 1, budget = "600 KiB"})
    assert.equal(600 << 10, err.have)
    assert.is_true(err.minimum > err.have)
    m:fit(many, many:sum(2), {steps = 1, budget = err.minimum})
    local cg <const> = model{solver = gb.solvers.cg{}}
    raises("refused", "fit: needs", cg.fit, cg, many, many:sum(2), {steps = 1, budget = "100 KiB"})
  end)

  it("is direct where memory holds a direct step and no iterative one", function()
    local script <const> = [[
      local gb = require "gibbous"
      local x = gb.rand(400, 2, {seed = 1}):eval()
      local y = (5 * x):sin():sum(2):eval()
      gb.memory.limit "3 MiB"
      local m = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.5}, noise = 0.1}
      print(m:plan(x, y).peak < 3 << 20, m:fit(x, y, {steps = 1}).why)
      gb.memory.limit "1.5 MiB"
      local ok, err = pcall(m.fit, m, x, y, {steps = 1})
      print(ok, err.code, err.minimum < 3 << 20)]]
    local out <const>, errors <const> = process.run({"-e", script}, {env = "GIBBOUS_DEVICE=cpu GIBBOUS_RATES=fixed"})
    assert.equal("", errors)
    assert.matches("^true\tauto: direct, exact, and it fits %(direct .* a step; iterative needs", out)
    assert.matches("\nfalse\trefused\ttrue\n$", out)
  end)

  it("is decided once per fit, and the same each time", function()
    local fixed <const> = require("gibbous.core").fixed_rates
    local decide <const> = choice.decide
    local n <const>, decided = 500, 0
    local many <const> = gb.rand(n, 2, {seed = 3}):eval()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.5}, noise = 0.1}
    fixed(true)
    choice.decide = function(...)
      decided = decided + 1
      return decide(...)
    end
    finally(function()
      choice.decide = decide
      fixed(os.getenv "GIBBOUS_RATES" == "fixed")
    end)
    for i, steps in ipairs{0, 3} do
      m:set{["kernel.lengthscale"] = 0.5, ["kernel.variance"] = 1, ["likelihood.noise"] = 0.1}
      local why <const> = tostring(m:fit(many, many:sum(2):sin(), {steps = steps}).why)
      -- 7 MiB; 6 where the device has memory of its own, for a solver's numbers are at home
      assert.matches("^auto: direct, exact and quick enough %(direct about 0%.%d+ s and 3%.9%d MiB a step; iterative at "
        .. "least 0%.%d+ s and [67]%.3%d MiB a step; budget [%d.]+ [KMG]iB%)$", why)
      assert.equal(i, decided)
    end
  end)

  it("compares predicted times: many points go to the solver, few or hard ones to the factor", function()
    local function chosen(n, kernel)
      local points <const> = gb.rand(n, 2, {seed = 4}):eval()
      local m <const> = gb.gp.exact{kernel = kernel, noise = 0.5}:condition(points, points:sum(2))
      local objective <const> = require "gibbous.gp.exact.objective"
      local solver <const> = objective.decide(m)
      local record <const> = require "gibbous.gp.model".fields(m).choice
      return type(solver) == "table", record
    end
    local few <const>, small <const> = chosen(800, K.rbf{})
    local many <const>, large <const> = chosen(9000, K.rbf{})
    assert.is_false(few)
    assert.is_true(many, tostring(large))
    assert.is_true(small.direct.seconds <= 1 and small.iterative.at_least)
    assert.is_true(large.direct.seconds > 2 * large.iterative.seconds)
    local quick <const>, easy <const> = chosen(3000, K.rbf{})           -- one iteration would do, but direct is quick
    assert.is_false(quick)
    assert.is_true(easy.direct.seconds > 2 * easy.iterative.seconds)
    local rough <const>, hard <const> = chosen(4200, K.matern12{lengthscale = 0.2, variance = 400})
    assert.is_false(rough)
    assert.is_true(hard.iterative.at_least)
    assert.is_true(hard.direct.seconds <= 2 * hard.iterative.seconds, tostring(hard))
    assert.is_true(large.iterative.steps >= 1 and not large.iterative.at_least)
  end)
end)

describe("m:plan", function()
  it("is the plan of one training step of a model without data, which stays as it is", function()
    local m <const> = gb.gp.exact{kernel = K.matern52{ard = true}, mean = gb.means.linear{slope = 1}, noise = 0.1,
      solver = "direct"}
    local p <const> = m:plan(x, y)
    assert.equal("plan", gb.type(p))
    assert.is_true(p.peak >= 60 * 60 * 8 and p.minimum <= p.peak)
    assert.matches('"what": "cholesky"', p:json())
    assert.is_nil(m.x)
    assert.equal(0, m.kernel.lengthscale.ndim)
    m:fit(x, y, {steps = 0})
    assert.equal(p.peak, m:plan().peak)
    assert.is_true(m:plan{objective = "loo"}.peak >= p.peak)
  end)

  it("has the gradients of the free parameters only", function()
    local objective <const> = require "gibbous.gp.exact.objective"
    local m <const> = model{noise = gb.param(0.1, {min = 0, fixed = true})}:condition(x, y)
    assert.equal(3, #objective.step(m, "direct", "mll"))               -- the value, a lengthscale, a variance
  end)

  it("tries no solver: solver = \"auto\" is direct where that fits, as a trial could yet change", function()
    local core <const> = require "gibbous.core"
    local n <const>, cg, solves = 4200, core.cg, 0
    local many <const> = gb.rand(n, 2, {seed = 4}):eval()
    local values <const> = many:sum(2):eval()
    core.fixed_rates(true)
    core.cg = function(...)
      solves = solves + 1
      return cg(...)
    end
    finally(function()
      core.cg = cg
      core.fixed_rates(os.getenv "GIBBOUS_RATES" == "fixed")
    end)
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.5}, noise = 0.1}
    assert.matches("cholesky", m:plan(many, values):explain())
    assert.equal(0, solves)
  end)

  it("computes nothing and keeps nothing", function()
    local n <const> = 2000
    local many <const> = gb.rand(n, 2, {seed = 3}):eval()
    local values <const> = many:sum(2):eval()
    collectgarbage() collectgarbage()
    local before <const> = gb.memory.report().used
    local p <const> = model():plan(many, values)
    assert.is_true(p.peak >= n * n * 8)
    collectgarbage() collectgarbage()
    assert.is_true(gb.memory.report().used <= before + 1024)
  end)

  it("of a solver streams: no n x n value", function()
    local n <const> = 3000
    local many <const> = gb.rand(n, 2, {seed = 3}):eval()
    local p <const> = model{solver = gb.solvers.cg{}}:plan(many, many:sum(2))
    assert.is_true(p.peak < n * n * 4)
  end)

  it("needs shapes alone: gb.empty has the bytes of any data", function()
    local rows <const>, values <const> = gb.rand(50, 2, {seed = 1}):eval(), gb.rand(50, {seed = 2}):eval()
    local counts <const> = (10 * values):floor():eval()
    for name, o in pairs{exact = {}, sgpr = {inducing = 8}, svgp = {inducing = 8},
        laplace = {likelihood = gb.likelihoods.poisson()}} do
      for _, scaled in ipairs{false, {x = true}} do
        o.kernel, o.standardize = K.rbf{}, scaled
        local function make() return gb.gp[name](o) end
        local y <const> = name == "laplace" and counts or values
        assert.equal(make():plan(rows, y).peak, make():plan(gb.empty(50, 2), gb.empty(50)).peak)
      end
    end
    local two <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2}
    assert.equal(two:plan(rows, rows).peak, two:plan(gb.empty(50, 2), gb.empty(50, 2)).peak)
    raises("shape", "plan: x has 50 rows, y must be (50)", model().plan, model(), gb.empty(50, 2), gb.empty(40))
    local holed <const> = gb.where(gb.range(1, 50):eq(1), 0 / 0, values)
    raises("nan", "plan: y: the value in row 1 is not finite", model().plan, model(), rows, holed)
    raises("option", "has no value", model().fit, model(), gb.empty(50, 2), gb.empty(50))
  end)

  it("refuses what does not fit, and checks its arguments", function()
    local m <const> = model()
    local err <const> = raises("refused", "", m.plan, m, x, y, {budget = "4 KiB"})
    assert.is_true(err.minimum > 4096)
    raises("option", "plan: the model holds no data", m.plan, m)
    raises("shape", "plan: there are no rows", m.plan, m, gb.zeros(0, 2), gb.zeros(0))
    raises("option", 'fit: lr is of method = "adam" or "sgd"; with "lbfgs" a line search', m.fit, m, x, y, {lr = 0.1})
    raises("option", 'fit: lr is of method = "adam" or "sgd"; with "lbfgs" a line search', function()
      gb.gp.batch{kernel = K.rbf{}}:fit({x}, {y}, {method = "lbfgs", lr = 0.1})
    end)
    raises("option", "unknown option 'budge', did you mean 'budget'?", m.plan, m, x, y, {budge = 1})
  end)
end)

describe("a fit at a terminal", function()
  it("draws a line of where it is after half a second, and takes it away", function()
    local inner <const> = require "gibbous.core"
    local support <const> = require "spec.support"
    local x <const>, y <const> = gb.tensor{0, 0.5, 1.5, 2.5}, gb.tensor{1, 2, 0, 1}
    local function drawn(solver, every)
      local out <const>, now = {}, 0.0
      local stderr <const> = {write = function(_, ...) out[#out + 1] = table.concat{...} end}
      support.with(inner, {isatty = function(fd) return fd == 2 end, clock = function() now = now + every return now end},
        function()
        support.with(io, {stderr = stderr}, function()
          gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = solver}:fit(x, y, {steps = 2, method = "adam"})
        end)
      end)
      return out
    end
    local lines <const> = drawn("direct", 1)
    for i, step in ipairs{0, 1, 2} do
      assert.matches("^\r[%w ]+ step " .. step .. "  value %-?%d+%.%d%d%d%d  |g| %d[%d.e-]*\27%[K$", lines[i])
    end
    assert.equal("\r\27[K", lines[#lines])
    assert.equal(0, #drawn("direct", 1e-6))                 -- within half a second
    assert.matches("  |g| %d[%d.e-]*  %d+ iterations?\27%[K$", drawn("cg", 1)[1])
  end)

  it("says once which parameters another model was fitted with", function()
    local support <const> = require "spec.support"
    local x <const>, y <const> = gb.tensor{0, 0.5, 1.5, 2.5}, gb.tensor{1, 2, 0, 1}
    local told <const> = {}
    local stderr <const> = {write = function(_, ...)
      local line <const> = table.concat{...}
      if line:find "^fit: " then told[#told + 1] = line end
    end}
    support.with(require "gibbous.core", {isatty = function(fd) return fd == 2 end}, function()
      support.with(io, {stderr = stderr}, function()
        local l <const> = gb.param(0.5, {min = 0.1})
        for i = 1, 3 do gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = l}, noise = 0.1 + i}:fit(x, y, {steps = 1}) end
      end)
    end)
    assert.same({"fit: kernel.lengthscale: shared with a model that was fitted before, whose predictions change with "
      .. "this fit; m:copy() and a gb.param for each model keep them apart\n"}, told)
  end)
end)

--- The starts of a fit: where each begins, which come without being asked for, what is kept of them. The descents are given here;
-- real ones are in gp_fit_spec.lua.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local model <const> = require "gibbous.gp.model"
local optim <const> = require "gibbous.optim"
local starts <const> = require "gibbous.gp.fit.starts"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local x <const>, y <const> = gb.tensor{1, 2, 3, 4, 5}, gb.tensor{1, 3, 2, 6, 8}

local function new(o)
  o = o or {}
  return gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = gb.param(2, {min = 0}),
    variance = gb.param(o.variance or 3, {min = 0, fixed = o.held})},
    likelihood = gb.likelihoods.gaussian{noise = gb.param(o.noise or 1, {min = o.min or 0, fixed = o.known}), floor = false},
    solver = o.solver or "direct"}
end

local function parameters(m) return m:get "kernel.lengthscale", m:get "kernel.variance", m:get "likelihood.noise" end

local function raws(m)
  local l <const>, v <const>, n <const> = parameters(m)
  return {l.raw:item(), v.raw:item(), n.raw:item()}
end

--- Fits by these descents, each a function of a call that gives its record, or raises. Gives the report or the error, and the
-- calls: where they began, and with which settings. o.scales: of parameters, by name.
local function fit(m, descents, o)
  local calls <const>, settings <const> = {}, {}
  for key, v in pairs(o or {}) do settings[key] = v end
  local scales <const>, at <const>, values <const> = settings.scales or {}, {}, settings.dtype and {dtype = settings.dtype}
  settings.scales, settings.dtype = nil, nil
  at.lengthscale, at.variance, at.noise = parameters(m)
  local ok, got = pcall(support.with, optim, {run = function(evaluate, root, s)
    assert.is_true(rawequal(root, m))
    calls[#calls + 1] = {at = raws(m), settings = s, evaluate = evaluate}
    local f <const> = assert(descents[#calls], "one descent too many")
    local info <const> = f(calls[#calls])
    for key, v in pairs{converged = true, reason = "met", iterations = 1, evaluations = 2, setbacks = 3, interrupted = false,
      method = "lbfgs"} do
      if info[key] == nil then info[key] = v end
    end
    return info
  end}, function()
    return support.with(starts, {begin = function()
      return function()
        local out <const> = {}
        for name, v in pairs(scales) do out[at[name]] = v end
        return out
      end
    end}, function() return m:fit(values and x:to(values) or x, values and y:to(values) or y, settings) end)
  end)
  assert.equal(#descents, #calls)
  return got, calls, ok
end

--- A descent that ends at this value, with the noise times a factor.
local function down(m, value, factor, more)
  return function()
    local noise <const> = select(3, parameters(m))
    noise.value = noise.value * (factor or 1)
    local info <const> = {value = value}
    for key, v in pairs(more or {}) do info[key] = v end
    return info
  end
end

local function fail(code) return function() core.raise(code, "failed") end end

describe("a start besides", function()
  it("comes where noise came down by a factor of e to e^6, at a 400th of it", function()
    local function restarts(factor, o)
      local m <const> = new(o)
      local info <const>, calls <const> = fit(m,
        {down(m, 1, factor), factor < math.exp(-1) and factor > math.exp(-6) and down(m, 2) or nil},
        {scales = {lengthscale = 7}})
      if calls[2] then near({math.log(2), math.log(3), -6}, calls[2].at, 1e-9) end
      return info.restarts
    end
    near({math.log(2), math.log(3), 0}, raws(new()), 1e-12)
    assert.same({0, 0, 1, 1, 1, 0, 0},
      {restarts(1), restarts(0.38), restarts(0.36), restarts(0.1), restarts(0.0026), restarts(0.0024), restarts(1e-4)})
    for _, raw in ipairs{-1, -6} do
      local m <const> = new()
      assert.equal(0, (fit(m, {function()
        select(3, parameters(m)).raw = gb.tensor(raw)
        return {value = 1}
      end})).restarts)
    end
  end)

  it("comes where the noise of one task did so", function()
    local both <const> = gb.stack({y, 2 * y}, 2):eval()
    local function restarts(first, second)
      local m <const> = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2, noise = {1, 1}, solver = "direct"}
      local count = 0
      return support.with(optim, {run = function()
        count = count + 1
        if count == 1 then m:set("likelihood.noise", {first, second}) end
        return {value = count, converged = true, reason = "met", iterations = 1, evaluations = 1, setbacks = 0, interrupted = false}
      end}, function()
        return support.with(starts, {begin = function() return function() return {} end end},
          function() return m:fit(x, both).restarts end)
      end)
    end
    local most <const> = both:var():item() / 2
    assert.same({0, 1, 1, 1, 1}, {restarts(1, 1), restarts(0.1, 1), restarts(1, 0.1), restarts(1.01 * most, 1),
      restarts(1, 1.01 * most)})
  end)

  it("comes from the scale of the data where noise took half of y", function()
    local half <const> = 0.5 * y:var():item()
    local function asked(noise, scales)
      local m <const> = new{noise = noise}
      local info <const>, calls <const> = fit(m, {down(m, 1), noise > half and down(m, 2) or nil}, {scales = scales})
      return info.restarts, calls[2] and calls[2].at
    end
    assert.equal(0, (asked(0.999 * half)))
    local count <const>, at <const> = asked(1.001 * half, {lengthscale = 7, noise = 0.5})
    assert.equal(1, count)
    near({math.log(7), math.log(3), math.log(0.5) - 6}, at, 1e-9)
  end)

  it("comes after a descent by a factor that has converged, of free noise with a bound", function()
    local function restarts(o, settings, more)
      local m <const> = new(o)
      return (fit(m, {down(m, 1, not (o and o.known) and 0.1 or 1, more),
        not settings and not more and not o and down(m, 2) or nil}, settings)).restarts
    end
    assert.equal(1, restarts())
    assert.equal(0, restarts(nil, {method = "adam"}))
    assert.equal(0, restarts(nil, nil, {converged = false}))
    assert.equal(0, restarts{known = true})
    assert.equal(0, restarts{solver = gb.solvers.cholesky{}})
    local free <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = gb.param(2, {min = 0})}, solver = "direct",
      likelihood = gb.likelihoods.gaussian{noise = 1, floor = false}}
    local m <const> = new()
    assert.equal(1, (fit(m, {down(m, 1, 0.1), down(m, 2)}, {method = "lbfgs"})).restarts)
    assert.equal(0, (fit(free, {down(free, 1, 1)})).restarts)
  end)

  it("is random from the third, or the second where noise is not free", function()
    local function at(base, k, free, seed)
      local out <const> = {}
      local stream = 0
      for i, v in ipairs(base) do
        if free[i] then
          stream = stream + 1
          v = v + core.randn(1, {dtype = "f64", seed = seed * 7919 + k * 104729 + stream}):item()
        end
        out[i] = v
      end
      return out
    end
    local all <const>, base <const> = {true, true, true}, {math.log(2), math.log(3), 0}
    for _, seed in ipairs{0, 5} do
      local m <const> = new()
      local info <const>, calls <const> = fit(m, {down(m, 3, 2), down(m, 1), down(m, 2), down(m, 2)},
        {restarts = 3, seed = seed > 0 and seed or nil})
      assert.equal(3, info.restarts)
      near(base, calls[1].at, 1e-12)
      near({base[1], base[2], -6}, calls[2].at, 1e-9)
      near(at(base, 2, all, seed), calls[3].at, 1e-9)
      near(at(base, 3, all, seed), calls[4].at, 1e-9)
      near(raws(m), calls[2].at, 1e-9)                                 -- the best of all stays
      assert.same({1, 8, 12, 0}, {info.value, info.evaluations, info.setbacks, info.failed_starts})
    end
    local known <const> = new{known = true}
    local _, calls <const> = fit(known, {down(known, 1), down(known, 2), down(known, 2)},
      {restarts = 2, scales = {variance = 9, noise = 4}})
    near(at({math.log(2), math.log(9), 0}, 1, {true, true, false}, 0), calls[2].at, 1e-9)
    near(at({math.log(2), math.log(9), 0}, 2, {true, true, false}, 0), calls[3].at, 1e-9)
    near(raws(known), base, 1e-12)
    local held <const> = new{held = true}
    local _, second <const> = fit(held, {down(held, 1), down(held, 2), down(held, 2)}, {restarts = 2})
    near(at(base, 2, {true, false, true}, 0), second[3].at, 1e-9)
  end)

  it("that fails is counted, and what it reached is undone", function()
    local function refuse(m, code)
      return function()
        select(3, parameters(m)).value = 50
        core.raise(code, code .. " here")
      end
    end
    for _, code in ipairs{"nan", "not_pd"} do
      local m <const> = new()
      local info <const> = fit(m, {refuse(m, code), down(m, 1, 0.5), refuse(m, code)}, {restarts = 2})
      assert.same({2, 2, 3, 2}, {info.failed_starts, info.evaluations, info.setbacks, info.restarts})
      near(0.5 * math.exp(-6), select(3, parameters(m)).value, 1e-9)
      local all <const> = new()
      local err <const>, _, ok <const> = fit(all, {refuse(all, code), fail(code)}, {restarts = 1})
      assert.is_false(ok)
      assert.is_true(err.message:find(code .. " here", 1, true) ~= nil, err.message)     -- the first failure
      near(1, select(3, parameters(all)).value, 1e-9)
    end
  end)

  it("that another error ends leaves the best point there was", function()
    local function ended(reached, before)
      local m <const> = new()
      local function broken(call)
        select(3, parameters(m)).value = 50
        if reached then call.settings.on_step{value = reached, gradient_norm = 1, step = 0} end
        core.raise("refused", "no room")
      end
      local err <const>, _, ok <const> = fit(m, before and {down(m, 1, 0.5), broken} or {broken}, {restarts = 1})
      assert.is_false(ok)
      assert.equal("refused", err.code)
      return select(3, parameters(m)).value:item()
    end
    near({1, 50, 0.5, 0.5, 50}, {ended(nil), ended(3), ended(nil, true), ended(1, true), ended(0.9, true)}, 1e-9)
  end)

  it("of no smaller value than another changes nothing", function()
    local m <const> = new()
    fit(m, {down(m, 1, 0.5), down(m, 1)}, {restarts = 1})
    near(0.5, select(3, parameters(m)).value, 1e-9)
    local plain <const>, _, ok <const> = fit(new(), {function() error("plain", 0) end}, {restarts = 0})
    assert.same({false, "plain"}, {ok, plain})
  end)

  it("does not come after an interruption, which the report tells", function()
    local m <const> = new()
    local info <const> = fit(m, {down(m, 1, 0.5), down(m, 2, 3, {interrupted = true, reason = "stopped"})}, {restarts = 5})
    assert.same({true, "stopped", false, 1, 4}, {info.interrupted, info.reason, info.converged, info.value, info.evaluations})
    near(0.5, select(3, parameters(m)).value, 1e-9)
    local first <const> = new()
    assert.is_true(fit(first, {down(first, 1, 0.1, {interrupted = true})}, {restarts = 5}).interrupted)
  end)
end)

describe("a descent", function()
  it("has the settings of the fit", function()
    local m <const> = new()
    local function step() end
    local _, calls <const> = fit(m, {down(m, 1)},
      {method = "adam", steps = 7, lr = 0.5, tol = 0.25, ftol = 0.125, restarts = 0, on_step = step})
    local s <const> = calls[1].settings
    assert.same({"adam", 7, 0.5, 0.25, 0.125}, {s.method, s.steps, s.lr, s.tol, s.ftol})
    assert.is_nil(s.resolution)
    for method, steps in pairs{lbfgs = 200, adam = 500, sgd = 500} do
      local other <const> = new()
      local _, asked <const> = fit(other, {down(other, 1)}, {method = method, restarts = 0})
      assert.equal(steps, asked[1].settings.steps)
    end
    local by_steps <const> = new{solver = gb.solvers.cg{tol = 1e-4, train_tol = 1e-2}}
    local _, solved <const> = fit(by_steps, {down(by_steps, 1)}, {restarts = 0})
    near(1e5, 1 / solved[1].settings.resolution, 1e-4)
  end)

  it("logs its solves, and reports that of the best point", function()
    local objective <const> = require "gibbous.gp.exact.objective"
    local m <const> = new{solver = gb.solvers.cg{}}
    local told <const> = {}
    local pending = nil
    local info <const> = support.with(objective, {value = function(self)
      if pending then model.fields(self).solve_info = pending end
      return gb.tensor(0)
    end}, function()
      return (fit(m, {function(call)
        local function step(record, v, norm)
          pending = record
          call.evaluate()
          call.settings.realise(gb.tensor(v))
          if norm then call.settings.on_step{value = v, gradient_norm = norm, step = #told} end
        end
        local function solve(iterations, residual, condition, converged)
          return {iterations = iterations, residual = residual, condition = condition, converged = converged, reason = "slow",
            standard_error = iterations}
        end
        step(solve(3, 0.5, 10, true), 5, 0.75)
        step(solve(4, 0.25, 30, false), 7)
        step(solve(6, 0.125, 20, true), 2, 0.5)
        step(solve(9, 0.0625, 5, true), 0 / 0)
        step(nil, 3, 0.25)
        step(nil, 2, 0.25)
        step(solve(1, 0, 0, true), 8)
        step(nil, 9, 1)
        step(nil, 8, 1)
        return {value = 2}
      end}, {restarts = 0, on_step = function(s) told[#told + 1] = {s.step, s.value, s.solve and s.solve.iterations or 0} end}))
    end)
    assert.same({solves = 5, iterations = 23, residual = 0.5, condition = 30, unconverged = 1,
      worst = {iterations = 4, residual = 0.25, condition = 30, reason = "slow"}}, info.solve_log)
    assert.same({{0, 5, 3}, {1, 2, 6}, {2, 3, 0}, {3, 2, 0}, {4, 9, 0}, {5, 8, 0}}, told)
    assert.same({0.5, 3, true}, {info.gradient_norm, info.log_likelihood_error, info.converged})
  end)

  it("is told at a terminal after half a second, ten times a second at most, and by the number of its start", function()
    local now, out = 0, {}
    local function lines(o)
      out = {}
      local m <const> = new()
      local function descent(call)
        local times <const> = {0.49, 0.51, 0.6099, 0.62, 0.7199, 0.73, 0.84, 0.845}
        for i, at in ipairs(times) do
          now = now + at - (times[i - 1] or 0)
          call.settings.on_step{step = i, value = -1.5, gradient_norm = 0.25}
        end
        return {value = 1}
      end
      support.with(core, {isatty = function(fd) return fd == 2 end, clock = function() return now end}, function()
        support.with(io, {stderr = {write = function(_, ...) out[#out + 1] = table.concat{...} end}}, function()
          return fit(m, o.restarts > 0 and {descent, descent} or {descent}, o)
        end)
      end)
      return out
    end
    local function shown(label)
      local all <const> = {}
      for i, step in ipairs{2, 4, 6, 7} do all[i] = ("\r%s step %d  value -1.5000  |g| 0.25\27[K"):format(label, step) end
      all[5] = "\r\27[K"
      return all
    end
    assert.same(shown "fit", lines{restarts = 0})
    local two <const> = lines{restarts = 1}
    assert.same(shown "fit 1/2", table.move(two, 1, 5, 1, {}))
    assert.same(shown "fit 2/2", table.move(two, 6, 10, 1, {}))
    assert.equal(10, #two)
    out = {}
    support.with(core, {isatty = function() return false end}, function()
      support.with(io, {stderr = {write = function() out[1] = "something" end}}, function()
        local m <const> = new()
        fit(m, {function(call)
          call.settings.on_step{step = 0, value = 1, gradient_norm = 1}
          return {value = 1}
        end}, {restarts = 0})
      end)
    end)
    assert.same({}, out)
  end)

  it("without solves has a log of zeros", function()
    local m <const> = new()
    assert.same({solves = 0, iterations = 0, residual = 0, condition = 0,
      unconverged = 0}, (fit(m, {down(m, 1)}, {restarts = 0})).solve_log)
  end)

  it("in f32 goes on in f64 where f32 resolves no more, unless memory ends it", function()
    local m <const> = new()
    local told <const> = {}
    local function first() return down(m, 5, 1e-7, {iterations = 4, evaluations = 6, setbacks = 1}) end
    local function go(second, steps)
      m:set{["likelihood.noise"] = 1}
      local info <const>, calls <const>, ok <const> = fit(m, {first(), second}, {dtype = "f32", restarts = 0, steps = steps,
        on_step = function(s) told[#told + 1] = s.step end})
      return info, calls, ok
    end
    local info <const>, calls <const> = go(function(call)
      call.settings.on_step{value = 4, gradient_norm = 1, step = 2}
      return {value = 4, iterations = 10, evaluations = 20, setbacks = 30}
    end, 30)
    assert.same({14, 26, 31, "f64", 4, 30, 26, 6}, {info.iterations, info.evaluations, info.setbacks, info.precision, info.value,
      calls[1].settings.steps, calls[2].settings.steps, told[1]})
    near(math.log(1e-7), calls[2].at[3], 1e-5)
    for _, code in ipairs{"refused", "oom", "nan", "not_pd"} do
      local kept <const> = go(function()
        select(3, parameters(m)).value = 50
        core.raise(code, "no more")
      end)
      assert.same({4, "f32", 5, true}, {kept.iterations, kept.precision, kept.value, kept.converged})
      near(1e-7, m:get "likelihood.noise".value, 1e-12)
    end
    local stopped <const> = go(function()
      select(3, parameters(m)).value = 50
      return {value = math.huge, interrupted = true, reason = "stopped"}
    end)
    assert.same({4, "f32", 5, true, "stopped"},
      {stopped.iterations, stopped.precision, stopped.value, stopped.interrupted, stopped.reason})
    near(1e-7, m:get "likelihood.noise".value, 1e-12)
    local err <const>, _, ok <const> = go(function() core.raise("io", "broken") end)
    assert.is_false(ok)
    assert.equal("broken", err.message)
    m:set{["likelihood.noise"] = 1}
    assert.is_true(fit(m, {down(m, 5, 1e-7, {interrupted = true})}, {dtype = "f32", restarts = 0}).interrupted)
  end)

  it("in f64 where f32 resolves nothing begins in f32 where memory is short", function()
    for _, code in ipairs{"refused", "oom"} do
      local m <const> = new{noise = 1e-7}
      local dtypes <const> = {}
      local objective <const> = require "gibbous.gp.exact.objective"
      local info <const>, calls <const> = support.with(objective, {value = function(worker)
        dtypes[#dtypes + 1] = model.fields(worker).x.dtype
      end}, function()
        return fit(m, {function(call)
          call.evaluate()
          core.raise(code, "failed")
        end, function(call)
          call.evaluate()
          return {value = 2}
        end}, {dtype = "f32", restarts = 0})
      end)
      assert.same({2, "f32", 200, 200}, {info.value, info.precision, calls[1].settings.steps, calls[2].settings.steps})
      assert.same({"f64", "f32"}, dtypes)
    end
    local wide <const> = new{noise = 1e-7}
    assert.equal("f64", (fit(wide, {down(wide, 2)}, {dtype = "f32", restarts = 0})).precision)
    local other <const> = new{noise = 1e-7}
    local err <const>, _, ok <const> = fit(other, {fail "io"}, {dtype = "f32", restarts = 0})
    assert.is_false(ok)
    assert.same({"io", "failed"}, {err.code, err.message})
    raises("refused", "failed", function()
      local m <const> = new()
      local got <const>, _, done <const> = fit(m, {fail "refused"}, {restarts = 0})
      if not done then error(got, 0) end
    end)
  end)
end)

describe("a fit of nothing free", function()
  local objective <const> = require "gibbous.gp.exact.objective"

  --- The report, or the error, where value(dtype) is that of the objective; o: noise, dtype.
  local function fitted(value, o)
    o = o or {}
    local function held(v) return gb.param(v, {min = 0, fixed = true}) end
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = held(2), variance = held(3)}, solver = "direct",
      likelihood = gb.likelihoods.gaussian{noise = held(o.noise or 1), floor = false}}
    model.fields(m).solve_info = o.stale
    local to <const>, dtypes <const> = {dtype = o.dtype or "f64"}, {}
    local ok <const>, got <const> = pcall(support.with, objective, {value = function(worker)
      local f <const> = model.fields(worker)
      dtypes[#dtypes + 1] = f.x.dtype
      f.solve_info = o.solve or f.solve_info
      return gb.tensor(value(f.x.dtype))
    end}, function() return m:fit(x:to(to), y:to(to), {restarts = 3}) end)
    return got, table.concat(dtypes, " "), ok
  end

  it("has one value, and no steps", function()
    local info <const> = fitted(function() return 7 end, {stale = {iterations = 5}})
    assert.same({7, true, "there is no free parameter", 0, 1, 0, false, 0, "none", "f64", 0, 0},
      {info.value, info.converged, info.reason,
      info.iterations, info.evaluations, info.setbacks, info.interrupted, info.gradient_norm, info.method, info.precision,
        info.restarts,
      info.failed_starts})
    assert.equal(0, info.solve_log.solves)
    local solved <const> = fitted(function() return 7 end,
      {solve = {iterations = 4, residual = 0.5, condition = 3, converged = false,
      reason = "slow", standard_error = 3}})
    assert.same({{solves = 1, iterations = 4, residual = 0.5, condition = 3, unconverged = 1,
      worst = {iterations = 4, residual = 0.5, condition = 3, reason = "slow"}}, "the solver: slow", 1.5},
      {solved.solve_log, solved.reason, solved.log_likelihood_error})
  end)

  it("is computed in f64 where f32 does not resolve it, if there is room", function()
    local narrow <const> = {dtype = "f32", noise = 1e-7}
    local function of(wide, own)
      return fitted(function(dtype)
        local v <const> = dtype == "f64" and wide or dtype == "f32" and own
        if type(v) == "string" then core.raise(v, dtype) end
        return v
      end, narrow)
    end
    local info, dtypes = of(7, "io")
    assert.same({7, "f64", "f64"}, {info.value, info.precision, dtypes})
    info, dtypes = of("oom", 5)
    assert.same({5, "f32", "f64 f32"}, {info.value, info.precision, dtypes})
    for _, row in ipairs{{"refused", "nan", "refused", "f64"}, {"refused", "oom", "oom", "f32"}, {"io", 5, "io", "f64"}} do
      local err <const>, _, ok <const> = of(row[1], row[2])
      assert.is_false(ok)
      assert.same({row[3], row[4]}, {err.code, err.message:match "f%d+"})
    end
    local err <const>, asked <const>, ok <const> = fitted(function() core.raise("refused", "no room") end)
    assert.same({"refused", "f64", false}, {err.code, asked, ok})
  end)
end)

describe("the seed of a fit", function()
  it("is that of the probes of its solver, where it has some", function()
    local S <const> = gb.solvers
    local function seeds(solver, seed)
      local m <const> = new{solver = solver}
      local info <const> = fit(m, {down(m, 1)}, {restarts = 0, seed = seed})
      local active <const> = model.fields(m).active
      return info.seed, type(active) == "table" and active.o.seed, rawequal(active, solver)
    end
    assert.same({2, 2, true}, {seeds(S.cg{seed = 2})})
    assert.same({5, 5, false}, {seeds(S.cg{seed = 2}, 5)})
    assert.same({0, nil, true}, {seeds(S.cholesky{})})
    assert.same({5, nil, true}, {seeds(S.cholesky{}, 5)})
    assert.same({5, false, true}, {seeds("direct", 5)})
  end)
end)

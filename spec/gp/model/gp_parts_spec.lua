--- The parts of an exact model on a few points, against dense algebra, and their reports field by field.
local core <const> = require "gibbous.core"
local algorithm <const> = require "gibbous.gp.algorithm"
local covariance_of <const> = require "gibbous.gp.covariance"
local features <const> = require "gibbous.gp.predict.features"
local gb <const> = require "gibbous"
local kept <const> = require "gibbous.gp.model".fields
local objective <const> = require "gibbous.gp.exact.objective"
local training_step <const> = require "gibbous.gp.training_step"
local support <const> = require "spec.support"
local near <const>, raises <const>, with <const> = support.near, support.raises, support.with
local K <const>, S <const> = gb.kernels, gb.solvers

local f32 <const> = {dtype = "f32"}
local n <const> = 5
local x <const>, y <const> = gb.tensor{{0, 1}, {0.5, 0}, {1.2, 0.3}, {2, 2}, {3, 1}}, gb.tensor{0.1, 0.7, -0.4, 1.3, 0.2}
local at <const> = gb.tensor{{0.2, 0.5}, {1, 1}, {2.5, 0.5}}
local noises <const> = gb.tensor{0.1, 0.2, 0.3, 0.4, 0.5}

local function kernel() return K.rbf{lengthscale = 0.8, variance = 1.5} end

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or kernel(), noise = o.noise or 0.1, mean = o.mean or gb.means.constant(0.25),
    solver = o.solver or "direct",
    likelihood = o.likelihood}
end

local function given(o) return model(o):condition(x, y) end

--- The dense covariance of y, by noise.
local function covariance(noise)
  return kernel()(x) + (core.type(noise) == "tensor" and gb.linalg.diag(noise) or noise * gb.eye(n))
end

local function likelihood(noise)
  local c <const>, r <const> = covariance(noise), y - 0.25
  return -((gb.linalg.inv_quad(c, r) + gb.linalg.logdet(c) + n * math.log(2 * math.pi)) / 2)
end

--- Asked for a prediction, so that it is ready for more.
local function ready(m)
  m:predict(at).mean:eval()
  return m
end

--- The fields of a record as a plain table, without those named.
local function fields_of(record, but)
  local out <const> = {}
  for key, v in pairs(record) do if not (but or {})[key] then out[key] = v end end
  return out
end

describe("the objective's parts", function()
  it("are the covariance, the residual and the noise, by number or by row", function()
    near(covariance(0.1), covariance_of.of(given()), 1e-14)
    near(covariance(noises), covariance_of.of(given{noise = noises}), 1e-14)
    near(y - 0.25, covariance_of.residual(given()), 1e-15)
    near(0.1, covariance_of.noise_of(kept(given())), 1e-15)
    local each <const> = covariance_of.noise_of(kept(model{noise = noises}:condition(x:to(f32), y:to(f32))))
    assert.equal("f64", each.dtype)
    near(noises, each, 1e-7)
    near(gb.linalg.solve(covariance(0.1), gb.eye(n)):diagonal(), covariance_of.inverse_diagonal(covariance(0.1)), 1e-12)
    near(-likelihood(0.1), objective.nlml(given(), "direct"), 1e-12)
    assert.is_nil(algorithm.standard_error(nil))
    assert.is_nil(algorithm.standard_error{})
    assert.is_nil(algorithm.standard_error{standard_error = 0})
    assert.equal(0.25, algorithm.standard_error{standard_error = 0.5})
  end)

  it("give what a fit minimises, with its gradients by free parameters", function()
    local m <const> = given()
    local c <const>, r <const> = covariance(0.1), y - 0.25
    local precision <const>, alpha <const> = gb.linalg.solve(c, gb.eye(n)):diagonal(), gb.linalg.solve(c, r)
    near(0.5 * (alpha ^ 2 / precision - precision:log() + math.log(2 * math.pi)):sum(), objective.value(m, "direct", "loo"), 1e-12)
    near(-likelihood(0.1), objective.value(m, "direct", "mll"), 1e-12)
    local solver <const> = S.cg{tol = 1e-3}
    raises("option", "the objective \"loo\" needs solver = \"direct\"; this model uses cg(tol 0.001)", objective.value, m, solver,
      "loo")
    local step <const> = objective.step(m, "direct", "mll")
    assert.equal(5, #step)                                         -- lengthscale, variance, level and noise
    m:get "mean.value".fixed = true
    assert.equal(4, #objective.step(m, "direct", "mll"))
    for _, p in ipairs((gb.params(m))) do p.fixed = true end
    local results <const> = {}
    assert.is_true(rawequal(results, training_step.with_gradients(m, y:sum(), results)))
    assert.equal(0, #results)
  end)

  it("are of the solver that was asked for", function()
    raises("option", "got string directt, did you mean direct?", model, {solver = "directt"})
    assert.equal("direct", objective.decide(given()))
    assert.equal("minres(tol 1e-06)", tostring(objective.decide(given{solver = "minres"})))
    assert.equal("direct", objective.decide(given{solver = "auto"}))
    assert.equal("cholesky()", tostring(objective.decide(given{solver = "cholesky"})))
  end)

  it("explain a covariance without a factor", function()
    local m <const> = given{kernel = K.define("odd", {},
      function(a, b) return (-(a - b):abs() * (a * 0 + b * 0 + 1)):sum(-1) end){}}
    for _, what in ipairs{"predict", "log_marginal_likelihood"} do
      local err <const> = raises("not_pd", what .. ": ", function()
        if what == "predict" then return m:predict(at).mean:eval() end
        return m:log_marginal_likelihood()
      end)
      assert.is_true(err.order >= 1 and err.diagnosis ~= nil)
      assert.is_true(err.message:find("\n" .. tostring(err.diagnosis), 1, true) ~= nil)
    end
    local broken <const> = K.define("broken", {}, function(a, b) return (a * 0 + b * 0 + 0 / 0):sum(-1) end)
    raises("nan", "log_marginal_likelihood: kernel 'broken' ",
      function() return given{kernel = broken{}}:log_marginal_likelihood() end)
    assert.has_error(function() objective.guarded(given(), "x", function() error("plain", 0) end) end, "plain")
    assert.same({1, nil, 3}, {objective.guarded(given(), "x", function() return 1, nil, 3 end)})
  end)
end)

describe("the likelihood of a model", function()
  it("has a value and a record, by a factor exactly", function()
    local value <const>, info <const> = given():log_marginal_likelihood()
    near(likelihood(0.1), value, 1e-12)
    assert.same({value = value:item(), standard_error = 0.0, converged = true}, fields_of(info))
    for key in ("reason iterations residual"):gmatch "%S+" do assert.is_nil(info[key]) end
    raises("option", "the report of a likelihood has no field 'valu' (did you mean 'value'?)", function() return info.valu end)
    assert.equal("likelihood_info", gb.type(info))
    local each <const> = given{noise = noises}:log_marginal_likelihood()
    near(likelihood(noises), each, 1e-12)
    local narrow <const> = model():condition(x:to(f32), y:to(f32)):log_marginal_likelihood()
    assert.equal("f32", narrow.dtype)
    near(likelihood(0.1), narrow, 1e-5)
    local rough <const> = model{noise = 1e-6}:condition(x:to(f32), y:to(f32))
    assert.equal("f32", rough:log_marginal_likelihood().dtype)
    assert.equal("f64", kept(rough).twin.x.dtype)                        -- where f32 would lose it
  end)

  it("by a solver is an estimate, that raises where the solve missed its tolerance", function()
    local function by(o) return given{solver = S.cg(o)} end
    local value <const>, info <const> = by{probes = 8, tol = 1e-8, train_tol = 1e-8}:log_marginal_likelihood()
    assert.is_true(info.standard_error > 0)
    near(value:item(), info.value, 0)
    assert.is_true(info.converged and info.reason == "converged" and info.iterations > 0 and info.residual <= 1e-8)
    near(likelihood(0.1), value, 6 * info.standard_error)
    local exact <const>, none <const> = by{probes = "exact", tol = 1e-10, train_tol = 1e-10}:log_marginal_likelihood()
    near(likelihood(0.1), exact, 1e-8)
    assert.equal(0.0, none.standard_error)
    local short <const> = by{max_iter = 1, tol = 1e-8, train_tol = 1e-8}
    local err <const> = raises("not_converged", "", short.log_marginal_likelihood, short)
    assert.equal("log_marginal_likelihood: the solver missed its tolerance (max_iter after 1 step, residual R), and "
      .. "the value is off by an "
      .. "unknown amount; more steps (max_iter), a preconditioner or solver = \"direct\" mend that, unconverged = true "
      .. "gives it all the same",
      (err.message:gsub("residual [%d.e+-]+", "residual R")))
    raises("not_converged", "", short.log_marginal_likelihood, short, {unconverged = false})
    local _, told <const> = short:log_marginal_likelihood{unconverged = true}
    assert.same({false, "max_iter", 1}, {told.converged, told.reason, told.iterations})
    raises("option", "log_marginal_likelihood: option 'unconverged' must be a boolean", short.log_marginal_likelihood, short,
      {unconverged = 3})
    raises("option", "log_marginal_likelihood: the model holds no data", model().log_marginal_likelihood, model())
  end)
end)

describe("the record of a prediction of a model", function()
  it("says how it was computed", function()
    assert.same({algorithm = "prior", variance = "exact", precision = "f64", converged = true, reused = false},
      fields_of(model():predict(at).info))
    local m <const> = given()
    m:predict(at).mean:eval()
    assert.same({algorithm = "direct", variance = "exact", precision = "f64", converged = true, reused = true},
      fields_of(m:predict(at).info))
    local cached <const> = given():predict(at, {variance = "cached"})
    cached.f_var:eval()
    assert.same({algorithm = "direct", variance = "cached", rank = 5, precision = "f64", converged = true, reused = false,
      clamped = 0,
      invalid = 0}, fields_of(cached.info))
    local many <const> = gb.gp.exact{kernel = kernel(), noise = 0.1, solver = "direct"}:condition(gb.linspace(0, 9, 120),
      gb.zeros(120))
    assert.same({100, 7}, {many:predict(gb.ones(1), {variance = "cached"}).info.rank,
      many:predict(gb.ones(1), {variance = "cached", rank = 7}).info.rank})
    local by <const> = given{solver = S.cg{tol = 1e-8}}:predict(at).info
    assert.same({"cg(tol 1e-08)", "exact", true, "converged"}, {by.algorithm, by.variance, by.converged, by.reason})
    assert.is_true(by.residual <= 1e-8 and by.iterations > 0)
  end)

  it("has the values of dense algebra, whatever the noise, the algorithm and the way", function()
    for _, noise in ipairs{0.1, noises} do
      local c <const>, k <const> = covariance(noise), kernel()(at, x)
      local mean <const> = 0.25 + k:matmul(gb.linalg.solve(c, y - 0.25))
      local cov <const> = kernel()(at) - k:matmul(gb.linalg.solve(c, k:t()))
      for _, solver in ipairs{"direct", S.cg{tol = 1e-10}, S.minres{tol = 1e-10}, S.cholesky{}} do
        for _, o in ipairs{{}, {variance = "cached"}, {variance = "exact", precision = "f64"}} do
          local p <const> = given{noise = noise, solver = solver}:predict(at, o)
          near(mean, p.mean, 1e-8)
          near(cov, p.f_cov, 1e-8)
          near(cov:diagonal(), p.f_var, 1e-8)
          assert.is_true(p.converged)
          if noise == 0.1 then near(cov:diagonal() + 0.1, p.y_var, 1e-8) else assert.equal("unknown", p.info.noise) end
        end
      end
    end
    near(kernel()(at), model():predict(at).f_cov, 1e-14)
    near({0.25, 0.25, 0.25}, model():predict(at).mean, 1e-14)
    local one <const> = model():condition(x:slice(1, 1, 1), y:slice(1, 1, 1)):predict(x:slice(1, 1, 1))
    near({1.5 - 1.5 ^ 2 / 1.6, 0.25 + 1.5 / 1.6 * (0.1 - 0.25)}, {one.f_var:item(), one.mean:item()}, 1e-12)
    assert.equal("direct", one.info.algorithm)
  end)

  it("is solved for in slices where there is little room", function()
    local want <const> = given():predict(at)
    for _, width in ipairs{1, 2, 3} do
      local m <const> = given{solver = S.cg{tol = 1e-10}}
      m:predict(at).mean:eval()
      local p <const> = m:predict(at)
      with(core.memory, {room = function() return 2 * 8 * 16 * n * width end}, function() gb.eval(p.f_var, p.f_cov) end)
      near(want.f_var, p.f_var, 1e-8)
      near(want.f_cov, p.f_cov, 1e-8)
      assert.equal(2 * math.ceil(3 / width), p.info.slices)
      assert.is_nil(p.info.rank)
    end
    local two <const> = given{solver = S.cg{tol = 1e-10}}:predict(at:slice(1, 1, 2))
    with(core.memory, {room = function() return 2 * 8 * 16 * n end}, function() gb.eval(two.f_var) end)
    near(want.f_var:slice(1, 1, 2), two.f_var, 1e-8)
  end)

  it("waits for a factor when the present parameters have no factor yet", function()
    local function waits(m, t, o) return core.is_promise(m:predict(t or at, o).mean) end
    assert.is_false(waits(model()))
    assert.is_false(waits(model():condition(gb.zeros(0, 2), gb.zeros(0))))
    local m <const> = given()
    assert.is_true(waits(m))
    m:predict(at).mean:eval()
    assert.is_false(waits(m))
    m:set("kernel.variance", 2)
    assert.is_true(waits(m))
    local t <const> = at:to(f32)
    local function narrow(noise) return model{noise = noise}:condition(x:to(f32), y:to(f32)) end
    for _, precision in ipairs{"f32", "f64"} do
      local one <const> = narrow(0.1)
      assert.is_true(waits(one, t, {precision = precision}))
      one:predict(t, {precision = precision}).mean:eval()
      assert.is_false(waits(one, t, {precision = precision}))
      assert.is_true(waits(one, t, {precision = precision == "f32" and "f64" or "f32"}))
    end
    for _, noise in ipairs{0.1, 1e-6} do
      local one <const> = narrow(noise)
      assert.is_true(waits(one, t))
      one:predict(t).mean:eval()
      assert.is_false(waits(one, t))
      one:set("kernel.variance", 2)
      assert.is_true(waits(one, t))
      local wide <const> = narrow(noise)
      wide:predict(t, {precision = "f64"}).mean:eval()
      wide:predict(t, {precision = "f32"}).mean:eval()
      wide:predict(t).mean:eval()
      assert.is_false(waits(wide, t))
    end
    local one <const> = narrow(0.1)
    one:condition(x:to(f32), y:to(f32))
    one:predict(t, {precision = "f64"}).mean:eval()
    assert.is_true(waits(one, t))                                -- f32 is enough, and has no factor yet
  end)

  it("keeps what it computes in the model, as long as that is what it was", function()
    local m <const> = given()
    local p <const> = m:predict(at)
    assert.is_nil(m.update)
    p.mean:eval()
    assert.equal("factor", m.update.kind)
    local other <const> = given()
    local late <const> = other:predict(at)
    other:set("kernel.variance", 2)
    late.mean:eval()
    assert.is_nil(other.update)
    near(p.mean, late.mean, 1e-14)
  end)

  it("refuses what it cannot use", function()
    local m <const> = given()
    raises("option", "predict: the rank must be 1 or more", m.predict, m, at, {variance = "cached", rank = 0})
    raises("option", "predict: option 'variance' must be one of exact, cached, got string x", m.predict, m, at, {variance = "x"})
    raises("option", "predict: option 'rank' must be a whole number", m.predict, m, at, {rank = 0.5})
    raises("option", "predict: option 'precision' must be one of f32, f64, got string f16", m.predict, m, at, {precision = "f16"})
    raises("shape", "predict: the model was given 2 columns, x has shape 3x1", m.predict, m, gb.ones(3))
    local open <const> = gb.gp.exact{kernel = K.rbf{ard = true}, noise = 0.1}
    open:predict(at)
    assert.equal(2, open.kernel.lengthscale.numel)
    local lopsided <const> = K.define("lopsided", {}, function(a, b) return (a + 0 * b):sum(-1) end)
    raises("option", "lopsided", function() return model{kernel = lopsided{}}:predict(at).f_cov end)
    local hollow <const> = K.define("hollow", {}, function(a, b) return (a * 0 + b * 0 + 1 / (a * b - 1)):sum(-1) end)
    raises("option", "lopsided", function()
      return model{kernel = lopsided{}}:condition(gb.zeros(0, 2), gb.zeros(0)):predict(at).f_cov end)
    raises("option", "predict: x must be", m.predict, m, "x")
    local empty <const> = model{kernel = hollow{}}:predict(gb.tensor{1, 2})
    raises("nan", "sample: ", empty.sample, empty)
  end)
end)

describe("the precision of f32 data", function()
  --- The precision of predictions of four points of variance 1 at this noise; the bound of the loss is 1e-2 or a solver's
  -- tolerance.
  local function precision(noise, solver, o)
    local points <const> = gb.tensor({1, 2, 3, 4}, f32)
    local m <const> = gb.gp.exact{kernel = K.rbf{}, noise = noise, solver = solver or "direct"}:condition(points, points)
    return m:predict(points, o).info.precision, m
  end

  it("is f64 where a condition number of 1 + trace / noise would lose too much", function()
    local least <const> = 4 / (1e-2 * 2 ^ 24 - 1)
    assert.same({"f32", "f64"}, {precision((1 + 2e-6) * least), (precision((1 - 2e-6) * least))})
    local one <const> = gb.gp.exact{kernel = K.rbf{}, noise = 1e-9, solver = "direct"}:condition(gb.ones(1, f32), gb.ones(1, f32))
    assert.equal("f64", one:predict(gb.ones(1, f32)).info.precision)
    assert.same({"f32", "f64"}, {precision(0.999 * least, nil, {precision = "f32"}), (precision(1, nil, {precision = "f64"}))})
    local tight <const> = 4 / (1e-3 * 2 ^ 24 - 1)
    assert.same({"f32", "f64"}, {precision(1.001 * tight, S.cg{tol = 1e-3}), (precision(0.999 * tight, S.cg{tol = 1e-3}))})
    assert.same({"f32", "f64"}, {precision(1.001 * least, S.cg{tol = 0.5}), (precision(0.999 * least, S.cg{tol = 0.5}))})
    assert.same({"f32", "f64"}, {precision(1.001 * least, S.cholesky{}), (precision(0.999 * least, S.cholesky{}))})
    assert.equal("f64", (precision(gb.tensor{1, 1, 1, 0})))
  end)

  it("has one model in f64 for all predictions of the data", function()
    local _, m <const> = precision(1e-6)
    local points <const> = gb.tensor({1.5}, f32)
    m:predict(points).mean:eval()
    local twin <const> = kept(m).twin
    assert.is_true(twin ~= nil)
    m:predict(points).f_var:eval()
    assert.is_true(rawequal(twin, kept(m).twin))
    assert.same({"f64", "f64", "direct"}, {twin.x.dtype, twin.y.dtype, kept(twin).active})
    m:set("likelihood.noise", 1)
    assert.equal("f32", m:predict(points).info.precision)
    assert.equal("factor", m.update.kind)
    assert.is_true(rawequal(m.x, m.update.x))
  end)
end)

describe("what a model did to be ready", function()
  it("is a record, by a factor and by a solver", function()
    local m <const> = given()
    m:predict(at).mean:eval()
    local u <const> = m.update
    assert.same({"factor", 5, 0, true}, {u.kind, u.rows, u.onto, rawequal(u.x, m.x)})
    assert.is_true(u.seconds >= 0 and u.solve == nil and u.reason == nil)
    assert.equal("gp.update", gb.type(u))
    local more <const> = m:condition(gb.tensor{{4, 4}, {5, 5}}, gb.tensor{1, 2})
    assert.same({"append", 2, 5}, {more.update.kind, more.update.rows, more.update.onto})
    assert.is_true(more.update.bytes >= 7 * 8 and more.update.seconds >= 0)
    local by <const> = given{solver = S.cg{tol = 1e-8}}
    by:predict(at).mean:eval()
    assert.same({"solve", 5, 0, true}, {by.update.kind, by.update.rows, by.update.onto, by.update.solve.converged})
    local further <const> = by:condition(gb.tensor{{4, 4}}, gb.tensor{1})
    assert.same({"solve", 1, 5}, {further.update.kind, further.update.rows, further.update.onto})
    local late <const> = given():condition(gb.tensor{{4, 4}}, gb.tensor{1})
    assert.same({kind = "none", rows = 0, onto = 0, seconds = 0, reason = "the model was not asked for a prediction before"},
      fields_of(late.update, {x = true}))
    late:predict(at).mean:eval()
    assert.equal("the model was not asked for a prediction before", late.update.reason)
    late:set("kernel.variance", 2)
    late:predict(at).mean:eval()
    assert.same({"factor", "the parameters were set"}, {late.update.kind, late.update.reason})
  end)

  it("gives predictions of all rows, with noise of each where that is known", function()
    local x2 <const>, y2 <const> = gb.tensor{{4, 4}, {0.7, 0.2}}, gb.tensor{1, -1}
    for _, solver in ipairs{"direct", S.cg{tol = 1e-10}} do
      for _, noise in ipairs{0.1, noises} do
        local m <const> = given{solver = solver, noise = noise}
        m:predict(at).mean:eval()
        local own <const> = noise ~= 0.1 and gb.tensor{0.6, 0.7} or nil
        local more <const> = m:condition(x2, y2, {noise = own})
        local want <const> = model{noise = own and gb.cat({noises, own}, 1) or 0.1}:condition(gb.cat({x, x2}, 1),
          gb.cat({y, y2}, 1))
        near(want:predict(at).mean, more:predict(at).mean, 1e-8)
        near(want:predict(at).f_cov, more:predict(at).f_cov, 1e-8)
        assert.same({true, true, true}, {more:predict(at).converged, kept(more).state.converged, kept(more).state.carried})
        assert.is_true(more.update.seconds < 100 and (solver == "direct" or more:predict(at).info.residual <= 1e-10))
        local last <const> = more:condition(x2:slice(1, 1, 1) + 1, y2:slice(1, 1, 1), {noise = own and own:slice(1, 1, 1)})
        local all <const> = model{noise = own and gb.cat({noises, own, own:slice(1, 1, 1)}, 1) or 0.1}:condition(last.x, last.y)
        near(all:predict(at).mean, last:predict(at).mean, 1e-8)
        near(all:predict(at).f_var, last:predict(at).f_var, 1e-8)
      end
    end
    local single <const> = model{noise = noises:slice(1, 1, 1):eval()}:condition(x:slice(1, 1, 1), y:slice(1, 1, 1))
    local three <const> = single:condition(x2, y2, {noise = gb.tensor{0.6, 0.7}})
    near({0.1, 0.6, 0.7}, three.likelihood.noise, 1e-15)
    assert.same({3, 3}, {#three.x, #three.y})
    local missed <const> = ready(given{solver = S.cg{tol = 1e-12, max_iter = 1}}):condition(x2, y2)
    assert.is_false(missed:predict(at).converged)
    local narrow <const> = model{noise = 1e-6}:condition(x:to(f32), y:to(f32))
    narrow:predict(at:to(f32)).mean:eval()
    local grown <const> = narrow:condition(x2:to(f32), y2:to(f32))
    assert.same({"append", 2, 5}, {grown.update.kind, grown.update.rows, grown.update.onto})
    near(model{noise = 1e-6}:condition(grown.x:to{dtype = "f64"}, grown.y:to{dtype = "f64"}):predict(at).mean,
      grown:predict(at:to(f32)).mean, 1e-5)
  end)

  it("gives fantasies their noise, one for each observation of each", function()
    local m <const> = ready(given{noise = noises})
    local own <const>, values <const>, noise <const> = gb.tensor{{{4, 4}}, {{0.7, 0.2}}}, gb.tensor{{1}, {-1}},
      gb.tensor{{0.6}, {0.7}}
    local p <const> = m:condition(own, values, {noise = noise}):predict(at)
    for i = 1, 2 do
      local one <const> = m:condition(own[i], values[i], {noise = noise[i]}):predict(at)
      near(one.mean, p.mean[i], 1e-9)
      near(one.f_var, p.f_var[i], 1e-9)
    end
    local shared <const> = m:condition(own[1], values, {noise = noise[1]}):predict(at)
    near(m:condition(own[1], values[2], {noise = noise[1]}):predict(at).mean, shared.mean[2], 1e-9)
    raises("option", "condition: the model's noise is known per observation: give noise = a tensor of 2 variances", m.condition,
      m, own, values)
  end)

  it("checks the noise of new observations", function()
    local x2 <const>, y2 <const> = gb.tensor{{4, 4}, {0.7, 0.2}}, gb.tensor{1, -1}
    local m <const>, plain <const> = given{noise = noises}, given()
    raises("option", "condition: noise is for gb.likelihoods.fixed; this model has its own", plain.condition, plain, x2, y2,
      {noise = y2})
    raises("option", "condition: the model's noise is known per observation: give noise = a tensor of 2 variances", m.condition,
      m, x2, y2)
    for _, bad in ipairs{gb.ones(3), gb.ones(1), gb.ones(2, 1), gb.full({}, 1)} do
      raises("shape", ("condition: 2 variances are needed, got shape %s"):format(tostring(bad.shape)), m.condition, m, x2, y2,
        {noise = bad})
    end
    for _, bad in ipairs{gb.tensor{1, -1}, gb.tensor{1, 1 / 0}, gb.tensor{0 / 0, 1}} do
      raises("option", "condition: noise variances must be 0 or more and finite", m.condition, m, x2, y2, {noise = bad})
    end
    assert.equal(7, #m:condition(x2, y2, {noise = gb.zeros(2)}).likelihood.noise)
    assert.equal(5, #m:condition(gb.zeros(0, 2), gb.zeros(0), {noise = gb.zeros(0)}).x)
    raises("option", "condition: unknown option 'nois', did you mean 'noise'?", m.condition, m, x2, y2, {nois = 1})
    raises("shape", "condition: the model was given 2 columns, x has shape 2x1", m.condition, m, gb.ones(2), y2)
    local masked <const> = m:condition(x2, gb.tensor{0 / 0, 1}, {noise = gb.tensor{8, 9}, missing = "mask"})
    near(gb.cat({noises, gb.tensor{9}}, 1), masked.likelihood.noise, 0)
    local first <const> = model{noise = gb.ones(2)}:condition(x2, y2, {noise = gb.tensor{8, 9}})
    near({8, 9}, first.likelihood.noise, 0)
    near({1, 1}, model{noise = gb.ones(2)}:condition(x2, y2).likelihood.noise, 0)
    local single <const> = model{noise = gb.tensor(noises:totable(), f32)}:condition(x, y):condition(x2, y2, {noise = gb.ones(2)})
    assert.equal("f32", single.likelihood.noise.dtype)
  end)
end)

describe("a function drawn from the posterior", function()
  it("is the prior's with the correction of Matheron's rule", function()
    for _, noise in ipairs{0.1, noises} do
      for _, solver in ipairs{"direct", S.cg{tol = 1e-10}} do
        local f <const> = given{noise = noise, solver = solver}:draw(2, {features = 16, seed = 3})
        local prior <const> = features.draw(kernel(), x, 2, 16, 3)
        local sd <const> = core.type(noise) == "tensor" and noise:sqrt():unsqueeze(2) or math.sqrt(noise)
        local e <const> = sd * gb.randn(n, 2, {seed = 3 * 7919 + 7907})
        local weights <const> = gb.linalg.solve(covariance(noise), (y - 0.25):unsqueeze(2) - prior(x) - e)
        near((0.25 + prior(at) + kernel()(at, x):matmul(weights)):t(), f(at), 1e-7)
        assert.same({2, 16, true}, {f.count, f.features, f.converged})
      end
    end
    local alone <const> = model():condition(gb.zeros(0, 2), gb.zeros(0)):draw(1, {features = 16, seed = 3})
    near((0.25 + features.draw(kernel(), x, 1, 16, 3)(at)):t(), alone(at), 1e-12)
    assert.same({true, 1}, {alone.converged, alone.count})
    assert.is_nil(alone.info)
    local white <const> = given{kernel = kernel() + K.white{variance = 0.3}, noise = 0.1}:draw(1, {features = 16, seed = 3})
    local prior <const> = features.draw(kernel() + K.white{variance = 0.3}, x, 1, 16, 3)
    local e <const> = math.sqrt(0.4) * gb.randn(n, 1, {seed = 3 * 7919 + 7907})
    local w <const> = gb.linalg.solve(covariance(0.4), (y - 0.25):unsqueeze(2) - prior(x) - e)
    near((0.25 + prior(at) + kernel()(at, x):matmul(w)):t(), white(at), 1e-9)
    local missed <const> = given{solver = S.cg{tol = 1e-12, max_iter = 1}}:draw(1, {features = 16, seed = 3})
    assert.same({false, "max_iter"}, {missed.converged, missed.info.reason})
  end)

  it("takes gradients through the solve, and values of a seed where one is given", function()
    local function slope(solver)
      local m <const> = given{solver = solver}
      local v <const> = m:draw(1, {features = 16, seed = 3})(at)
      return gb.grad(v:sum(), m:get "mean.value")
    end
    near(slope "direct", slope(S.cg{tol = 1e-10}), 1e-6)
    assert.is_true(slope "direct":abs():item() > 1e-6)
    local m <const> = given()
    with(core, {rand = function() return gb.tensor{0.5} end}, function()
      near(m:draw(1, {seed = 2 ^ 30 | 0})(at), m:draw(1)(at), 0)
    end)
    assert.equal(1024, m:draw(1).features)
    assert.equal(1, m:draw().count)
  end)

  it("refuses what is no number of functions, no point and no field", function()
    local m <const> = given()
    local f <const> = m:draw(2, {seed = 1})
    raises("option", "a draw has no field 'mean'; call it with points", function() return f.mean end)
    raises("option", "a draw is a value; 'count' cannot be assigned", function() f.count = 1 end)
    assert.equal("2 functions drawn with 1024 features: call with points (m, d) for values (2, m)", tostring(f))
    assert.equal("1 function drawn with 8 features: call with points (m, d) for values (1, m)", tostring(m:draw(1, {features = 8})))
    for _, k in ipairs{0, 1.5, "x"} do
      raises("option", "draw: the number of functions must be 1 or more, got " .. (k == "x" and "string x" or k), m.draw, m, k)
    end
    raises("option", "draw: features must be 1 or more", m.draw, m, 1, {features = 0})
    raises("option", "draw: option 'seed' must be", m.draw, m, 1, {seed = 0.5})
    raises("option", "draw: unknown option 'sed', did you mean 'seed'?", m.draw, m, 1, {sed = 1})
    raises("option", "draw: the model holds no data; condition it, be it on zero rows", model().draw, model(), 1)
    raises("shape", "draw: the model was given 2 columns, x has shape 3x1", f, gb.ones(3))
    raises("dtype", "draw: the model's data are f64, x is f32", f, at:to(f32))
    raises("option", "draw: x must be a tensor", f, "x")
    local narrow <const> = model{noise = 1e-6}:condition(x:to(f32), y:to(f32)):draw(2, {seed = 1, features = 16})
    assert.equal("f32", narrow(at:to(f32)).dtype)
    local wide <const> = model{noise = 1e-6}:condition(x:to(f32):to{dtype = "f64"}, y:to(f32):to{dtype = "f64"}):draw(2,
      {seed = 1, features = 16})
    near(wide(at:to(f32):to{dtype = "f64"}), narrow(at:to(f32)), 1e-6)
  end)
end)

describe("the plan of a step", function()
  it("is that of the data given, or of those the model holds", function()
    local m <const> = given()
    assert.equal(m:plan().peak, model():plan(x, y).peak)
    assert.equal(m:plan().peak, m:plan{objective = "mll"}.peak)
    assert.is_true(m:plan(x:slice(1, 1, 2), y:slice(1, 1, 2)).peak < m:plan().peak)
    assert.is_true(m:plan{objective = "loo"}.peak ~= m:plan().peak)
    assert.equal(5, #m.x)
    raises("option", "plan: the model holds no data; call plan(x, y)", model().plan, model())
    raises("option", "plan: the model holds no data; call plan(x, y)", model().plan, model(), {budget = 100})
    raises("shape", "plan: there are no rows to fit", model().plan, model(), gb.zeros(0, 2), gb.zeros(0))
    raises("option", "plan: unknown option 'budge', did you mean 'budget'?", m.plan, m, {budge = 1})
    raises("option", "plan: option 'objective' must be one of mll, loo", m.plan, m, {objective = "x"})
    raises("option", "plan: the budget must be bytes or text such as", m.plan, m, {budget = "x"})
    raises("option", "plan: y must be a tensor", m.plan, m, x)
    raises("shape", "plan: x has 5 rows, y must be (5), got shape 3", m.plan, m, x, gb.ones(3))
    local err <const> = raises("refused", "", m.plan, m, {budget = 200})
    assert.is_true(err.minimum > 200)
    local holed <const> = gb.tensor{0.1, 0 / 0, -0.4, 1.3, 0.2}
    local masked <const> = model{noise = noises}:plan(x, holed, {missing = "mask"})
    local rows <const> = gb.tensor({1, 3, 4, 5}, {dtype = "i64"})
    assert.equal(model{noise = noises:index(1, rows)}:plan(x:index(1, rows), y:index(1, rows)).peak, masked.peak)
    raises("nan", "missing = \"mask\"", m.plan, m, x, holed)
  end)

  it("by a solver is its node of the graph, or its product with all columns", function()
    local cg <const> = model{solver = S.cg{probes = 3}}:plan(x, y)
    assert.matches("call: marginal likelihood", cg:explain())
    local wide <const>, few <const> = model{solver = S.minres{probes = 30}}:plan(x, y),
      model{solver = S.minres{probes = 3}}:plan(x, y)
    assert.is_nil(wide:explain():find("marginal", 1, true))
    assert.matches("^plan +add 5x31 f64", wide:explain())
    assert.matches("^plan +add 5x4 f64", few:explain())
  end)
end)

describe("a model prints", function()
  it("its parameters, with bounds, priors and what is fixed", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = {1, 2, 3, 4, 5, 6, 7}, variance = gb.param(2, {max = 3})}
      + K.linear{variance = gb.param(0.123456789, {min = 0.1, max = 5})},
      mean = gb.means.linear{slope = {1, 2, 3, 4, 5, 6, 7}},
        noise = gb.param(0.25, {min = 0, fixed = true, prior = gb.priors.gamma{}}), solver = "direct"}
    local lines <const> = {}
    for line in tostring(m):gmatch "[^\n]+" do lines[#lines + 1] = (line:gsub("%s+", " "):gsub(" $", "")) end
    local text <const> = table.concat(lines, "\n") .. "\n"
    local function has(line) assert.is_true(text:find("\n" .. line .. "\n", 1, true) ~= nil,
      line .. " is not in\n" .. text .. "\n") end
    assert.equal("gp.exact no data: the prior", lines[1])
    assert.equal("parameter value constraint prior trainable", lines[2])
    has "kernel[1].lengthscale {1, 2, 3, 4, 5, 6, ...} (0, inf) none yes"
    has "kernel[1].variance 2 (-inf, 3) none yes"
    has "kernel[2].variance 0.123457 (0.1, 5) none yes"
    has "mean.offset 0 none none yes"
    assert.matches("\nlikelihood%.noise 0%.25 %(0, inf%) gamma%(.-%) no\n", text)
    assert.equal("gp.exact 5 points, 2 columns, f64", (tostring(given()):match "^[^\n]+":gsub("%s+", " ")))
    local tasks <const> = tostring(gb.gp.multitask{kernel = K.rbf{}, tasks = 2})
    assert.matches("weights +2x1 +none +none +yes", tasks)
  end)
end)

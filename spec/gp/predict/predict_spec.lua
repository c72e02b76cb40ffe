--- Predictions: what they compute and when, how they keep, many points, odd inputs.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const> = 150
local x <const> = (4 * gb.rand(n, 2, {seed = 1})):eval()
local y <const> = ((2 * x):sin():sum(2) + 0.1 * gb.randn(n, {seed = 2})):eval()
local xs <const> = (5 * gb.rand(60, 2, {seed = 3})):eval()
local f32 <const> = {dtype = "f32"}

local function cg(o)
  o = o or {}
  return gb.solvers.cg{tol = o.tol or 1e-8, max_iter = o.max_iter, precond = gb.precond.pivoted_cholesky{rank = 40}}
end

local function model(o)
  o = o or {}
  return gb.gp.exact{kernel = o.kernel or K.matern52{variance = 1.5}, noise = o.noise or 0.02,
    mean = gb.means.constant(gb.param(0.3)), solver = o.solver or "direct"}
end

local function worst(a, b) return (a - b):abs():max():item() end
local function most(t) return t:max():item() end
local function least(t) return t:min():item() end

--- How often functions of the core were called while f ran.
local function counting(names, f)
  local counts <const>, saved <const> = {}, {}
  for name, owner in pairs(names) do
    local original <const> = owner[name]
    saved[name], counts[name] = original, 0
    owner[name] = function(...)
      counts[name] = counts[name] + 1
      return original(...)
    end
  end
  local ok <const>, err <const> = pcall(f)
  for name, owner in pairs(names) do owner[name] = saved[name] end
  assert(ok, err)
  return counts
end

local spied <const> = {cholesky = core.linalg, triangular_solve = core.linalg, cg = core}

--- f runs with 'room' bytes beyond what is held now: the ledger grants no more.
local function within(room, f)
  collectgarbage()
  collectgarbage()
  local before <const> = gb.memory.limit(gb.memory.report().used + room)
  local ok <const>, err <const> = pcall(f)
  gb.memory.limit(before)
  assert(ok, tostring(err))
end

describe("a prediction of a model whose noise is known for its observations alone", function()
  it("says that y_var is f_var", function()
    local x <const>, y <const> = gb.tensor{1, 2, 3}, gb.tensor{1, 0, 1}
    local note <const> = "\n  noise of new observations not known: y_var is f_var"
    local function text(o)
      o.kernel = gb.kernels.rbf{}
      return tostring(gb.gp.exact(o):condition(x, y):predict(x)), tostring(gb.gp.exact(o):predict(x))
    end
    for _, one in ipairs{text{noise = gb.full({3}, 0.01)}} do assert.equal(note, one:match "\n.*") end
    for _, one in ipairs{text{noise = 0.01}} do assert.is_nil(one:match "\n") end
    for _, one in ipairs{text{likelihood = gb.likelihoods.fixed(gb.full({3}, 0.01), {new = 0.1})}} do
      assert.is_nil(one:match "\n") end
  end)
end)

describe("a prediction computes what is looked at:", function()
  local m <const> = model():condition(x, y)
  m:predict(xs).mean:eval()

  it("nothing by itself, and no solve but alpha's for the mean", function()
    local counts <const> = counting(spied, function() m:predict(xs).mean:eval() end)
    assert.same({cholesky = 0, triangular_solve = 0, cg = 0}, counts)
    local c <const> = model{solver = cg()}:condition(x, y)
    assert.equal(1, counting(spied, function() c:predict(xs).mean:eval() end).cg)
    assert.equal(0, counting(spied, function() c:predict(xs).mean:eval() end).cg)
    assert.equal(1, counting(spied, function() c:predict(xs).f_var:eval() end).cg)
    assert.equal(1, counting(spied, function()
      local p <const> = c:predict(xs)
      gb.eval(p.f_var_bound, p.f_var)
    end).cg)
  end)

  it("one triangular solve for variances, and no (m, m) but for f_cov", function()
    local p <const> = m:predict((5 * gb.rand(2000, 2, {seed = 4})):eval())
    assert.same({cholesky = 0, triangular_solve = 1, cg = 0}, counting(spied, function()
      local _ <const> = {p.f_var, p.y_var, p:interval(0.9)}
    end))
    local lo <const>, hi <const> = p:interval(0.95)
    assert.is_true(gb.plan({p.mean, p.f_var, p.y_var, lo, hi}).peak < 2000 * 2000 * 8 / 4)
    assert.is_true(gb.plan(p.f_cov).peak >= 2000 * 2000 * 8)
  end)

  it("the factor once for all predictions", function()
    local fresh <const> = model():condition(x, y)
    local infos <const> = {}
    local counts <const> = counting(spied, function()
      for i = 1, 3 do
        local p <const> = fresh:predict(xs)
        p.f_var:eval()
        infos[i] = p.info.reused
      end
    end)
    assert.equal(1, counts.cholesky)
    assert.same({false, true, true}, infos)
  end)
end)

describe("a prediction is a value", function()
  it("of the parameters and the data it was made with, whenever it is looked at", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 3, {seed = 1}), "tanh"}
    local shared <const> = gb.param(1.5, {min = 0})
    for _, solver in ipairs{"direct", cg()} do
      local m <const> = gb.gp.exact{kernel = K.matern52{variance = shared}:warp(net), noise = 0.02, solver = solver,
        mean = gb.means.linear{}}:condition(x, y)
      local want <const> = m:predict(xs)
      gb.eval(want.mean, want.f_var, want.y_var, want.f_cov)
      local late <const>, cached <const> = m:predict(xs), m:predict(xs, {variance = "cached", rank = n})
      local draw <const> = m:draw(2, {seed = 1})
      local drawn <const> = draw(xs):eval()
      shared.value = 9
      m:get "likelihood.noise".value = 1
      m:get "mean.offset".value = 100
      for _, p in ipairs((gb.params(net))) do p.raw = p.raw * 2 end
      m:fit(x:slice(1, 1, 20), y:slice(1, 1, 20), {steps = 1})
      for _, field in ipairs{"mean", "f_var", "y_var", "f_cov"} do near(want[field], late[field], 1e-12, field) end
      near(want.f_var, cached.f_var, 1e-7)
      near(drawn, draw(xs), 0)
      assert.is_true(worst(want.mean, m:predict(xs).mean) > 0.01)
      shared.value = 1.5
    end
  end)

  it("and what was kept for it is gone when a parameter is set", function()
    local function used()                                       -- when all that goes has gone
      local before, now = math.huge, gb.memory.report().used
      while now < before do
        collectgarbage() collectgarbage()
        before, now = now, gb.memory.report().used
      end
      return now
    end
    local m <const> = model():condition((4 * gb.rand(500, 2, {seed = 5})):eval(), gb.rand(500, {seed = 6}):eval())
    m:predict(xs).f_var:eval()                                  -- what others left goes meanwhile
    m:get "likelihood.noise".value = 0.02
    local before <const> = used()
    m:predict(xs).f_var:eval()
    assert.is_true(used() >= before + 500 * 500 * 4)            -- the factor, less what others left until now
    m:get "likelihood.noise".value = 0.03
    assert.is_true(used() <= before + 500 * 500)
    assert.is_false(m:predict(xs).info.reused)
  end)

  it("an error while old parameters stand leaves the present ones in place", function()
    local shared <const> = gb.param(1, {min = 0})
    local fails = false
    local odd <const> = K.define("odd", {}, function(a, b)
      if fails then error "odd" end
      return (-(a - b) ^ 2):exp():prod(-1)
    end)
    local m <const> = gb.gp.exact{kernel = shared * odd{}, noise = 0.1}:condition(x, y)
    local p <const> = m:predict(xs)
    shared.value = 2
    fails = true
    assert.is_false(pcall(function() return p.mean:eval() end))
    near(2, shared.value, 0)
    fails = false
    assert.is_true(worst(p.mean, m:predict(xs).mean) > 1e-3)
  end)
end)

describe("many test points", function()
  local many <const> = (4 * gb.rand(200000, 2, {seed = 9})):eval()
  local few <const> = 40

  it("are cut to the memory there is: 200,000 by a factor", function()
    local m <const> = model():condition(x, y)
    within(12 * 2 ^ 20, function()                                               -- k(x, xs) takes 229 MiB
      local p <const> = m:predict(many)
      gb.eval(p.mean, p.f_var)
      assert.is_true(least(p.f_var) >= 0)
    end)
  end)

  it("200,000 by a solver, and from a cache", function()
    local m <const> = model{solver = cg{tol = 1e-6}}:condition(x:slice(1, 1, few), y:slice(1, 1, few))
    within(16 * 2 ^ 20, function()                                               -- k(x, xs) takes 61 MiB
      local p <const> = m:predict(many)
      gb.eval(p.mean, p.f_var)
      assert.is_true(p.converged and p.info.slices > 1 and p.info.residual <= 1e-6)
      local c <const> = m:predict(many, {variance = "cached", rank = few})
      assert.is_true(worst(c.f_var, p.f_var) <= 1e-8)
    end)
  end)

  it("by a solver are the same in narrow slices", function()
    local m <const> = model{solver = cg{tol = 1e-6}}:condition(x, y)
    local points <const> = many:slice(1, 1, 500):eval()
    local wide <const> = m:predict(points)
    wide.f_var:eval()
    local p <const> = m:predict(points)
    within(2 ^ 20, function() p.f_var:eval() end)
    assert.is_true(p.info.slices > wide.info.slices)
    near(wide.f_var, p.f_var, 1e-12)
  end)

  it("are refused with the least that would do", function()
    local m <const> = model{solver = cg()}:condition(x, y)
    local p <const> = m:predict(many:slice(1, 1, 10):eval())
    local before <const> = support.leave_room(4096)
    local ok <const>, err <const> = pcall(function() return p.f_var:eval() end)
    gb.memory.limit(before)
    assert.is_false(ok)
    assert.equal("refused", err.code)
    assert.is_true(err.minimum > 0)
    near(model():condition(x, y):predict(many:slice(1, 1, 10)).f_var, p.f_var, 1e-9)   -- nothing is lost
  end)
end)

describe("other data of the same x", function()
  local x32 <const>, at <const> = x:to(f32):eval(), xs:to(f32):eval()
  local y32 <const> = y:to(f32):eval()
  local other <const> = (10 * y32 - 3):eval()

  it("are seen where f32 data are predicted in f64", function()
    local function held()
      return gb.gp.exact{kernel = K.rbf{lengthscale = 1, variance = 1}, noise = gb.param(1e-4, {min = 0, fixed = true}),
        solver = "direct"}
    end
    local m <const>, fresh <const> = held(), held()
    m:fit(x32, y32, {steps = 0})
    local first <const> = m:predict(at)
    near(fresh:condition(x32, y32):predict(at).mean, first.mean, 1e-4)
    assert.equal("f64", first.info.precision)
    m:fit(x32, other, {steps = 0})
    near(fresh:condition(x32, other):predict(at).mean, m:predict(at).mean, 1e-4)
  end)

  it("leave draws from an earlier prediction alone", function()
    local m <const>, o <const> = model():condition(x, y), {method = "pathwise", seed = 5}
    local p <const> = m:predict(xs)
    local before <const> = p:sample(2, o):eval()
    m:fit(x, 10 * y, {steps = 1})
    near(before, p:sample(2, o), 1e-12)
  end)
end)

describe("odd inputs", function()
  it("a point that is NaN gives NaN in its place alone", function()
    local at <const> = gb.tensor{{1, 1}, {0 / 0, 1}, {2, 1}}
    for _, solver in ipairs{"direct", cg()} do
      local m <const> = model{solver = solver}:condition(x, y)
      local p <const>, fine <const> = m:predict(at), m:predict(gb.tensor{{1, 1}, {2, 1}})
      for _, field in ipairs{"mean", "f_var", "y_var"} do
        local got <const>, want <const> = p[field]:totable(), fine[field]:totable()
        assert.is_true(got[2] ~= got[2])
        near(want, {got[1], got[3]}, 1e-9)
      end
      assert.equal(0, p.info.invalid)
      assert.is_true(p.converged)
      local cov <const> = p.f_cov:slice(1, 1, 1):totable()[1]
      assert.is_true(cov[2] ~= cov[2] and math.abs(cov[3] - fine.f_cov:totable()[1][2]) < 1e-9)
    end
  end)

  it("a point that is NaN among so many that they are solved in slices", function()
    local many <const> = gb.cat({gb.tensor{{0 / 0, 1}}, gb.rand(2 ^ 18 // n + 5, 2, {seed = 1})}, 1):eval()
    local p <const> = model{solver = cg{tol = 1e-10}}:condition(x, y):predict(many)
    local v <const> = p.f_var:totable()
    assert.is_true(v[1] ~= v[1] and p.converged and p.info.slices > 1)
    near(model():condition(x, y):predict(many).f_var:slice(1, 2, #many), p.f_var:slice(1, 2, #many), 1e-8)
  end)

  it("no points, one point, no rows", function()
    for _, solver in ipairs{"direct", cg()} do
      local m <const> = model{solver = solver}:condition(x, y)
      local p <const> = m:predict(gb.zeros(0, 2))
      for _, field in ipairs{"mean", "f_var", "y_var", "f_var_bound"} do assert.equal("0", tostring(p[field].shape)) end
      assert.equal("0x0", tostring(p.f_cov.shape))
      assert.equal("3x0", tostring(p:sample(3).shape))
      assert.equal("2x0", tostring(m:draw(2)(gb.zeros(0, 2)).shape))
      local one <const> = m:predict(xs:slice(1, 1, 1))
      near(m:predict(xs).f_var:slice(1, 1, 1), one.f_var, 1e-9)
      near(one.f_var, one.f_cov:reshape(1), 1e-12)
      assert.equal("4x1", tostring(one:sample(4, {seed = 1}).shape))
      local none <const> = model{solver = solver}:condition(gb.zeros(0, 2), gb.zeros(0)):predict(xs, {variance = "cached"})
      near(gb.full({60}, 1.5), none.f_var, 1e-14)
      assert.equal("prior", none.info.algorithm)
    end
  end)

  it("at the data the variance is near 0, never below", function()
    local m <const> = model{noise = 1e-10}:condition(x, y)
    local p <const> = m:predict(x)
    assert.is_true(least(p.f_var) >= 0 and most(p.f_var) <= 1.1e-10)
  end)

  it("are told of: closed tensors, unknown options", function()
    local m <const> = model():condition(x, y)
    local t <const> = gb.ones(3, 2):eval()
    t:close()
    local text <const> = "closed tensor: x:close(), the end of its <close> variable or of a gb.func released it; use it before, "
      .. "or leave it to the collector, as models need their data"
    local a <const>, b <const> = (x * 1.0):eval(), (y * 1.0):eval()
    local of_closed <const>, of_half <const> = model():condition(a, y), model():condition(x, b)
    a:close()
    b:close()
    for _, f in ipairs{function() return m:predict(t).mean end, function() return of_closed:predict(xs).mean:eval() end,
      function() return of_half:predict(xs).mean:eval() end, function() return (of_closed:fit{steps = 1}) end} do
      local err <const> = raises("closed", text, f)
      assert.matches("predict_spec.lua:%d+", tostring(err))
    end
    raises("option", "predict: unknown option 'variances', did you mean 'variance'?", m.predict, m, xs, {variances = "cached"})
    raises("option", "option 'precision' must be one of f32, f64", m.predict, m, xs, {precision = "f16"})
  end)
end)

describe("a prediction that nobody has looked at", function()
  local function solvers() return {"direct", "auto", gb.solvers.cg{}, gb.solvers.cholesky{}, gb.solvers.minres{}} end
  local several <const> = gb.stack({y, 2 * y + 1}, 2):eval()
  local makers <const> = {}
  for i, s in ipairs(solvers()) do
    makers[i] = function() return model{solver = s}:condition(x, y) end
  end
  makers[#makers + 1] = function()
    return model{solver = cg()}:condition(gb.rand(3, 2, 2, {seed = 4}), gb.randn(3, 2, {seed = 5})) end
  makers[#makers + 1] = function()
    return model{solver = cg()}:condition(x, y):condition(gb.rand(3, 2, 2, {seed = 4}), gb.randn(3, 2, {seed = 5}))
  end
  makers[#makers + 1] = function() return gb.gp.multitask{kernel = K.rbf{}, tasks = 2}:condition(x, several) end

  local function all_of(p) return {mean = p.mean, f_var = p.f_var, y_var = p.y_var, f_cov = p.f_cov} end

  it("has computed nothing, and plans compute nothing", function()
    for _, make in ipairs(makers) do
      local m <const> = make()
      local watched <const> = {cg = core, minres = core, eval = core}
      local counts <const> = counting(watched, function()
        for _, o in ipairs{{}, {variance = "cached"}} do
          local p <const> = m.x.ndim == 2 and m:predict(xs, m.y.ndim == 1 and o or nil) or m:predict(xs)
          for _, v in pairs(all_of(p)) do
            local plan <const> = gb.plan(v)
            assert.is_true(plan.seconds > 0 and plan.peak > 0 and plan.minimum > 0)
          end
        end
      end)
      assert.same({cg = 0, minres = 0, eval = 0}, counts)
    end
  end)

  it("is the same as one of a model that was asked before, bit by bit, looked at or planned and run", function()
    for _, make in ipairs(makers) do
      local ready <const>, fresh <const>, planned <const> = make(), make(), make()
      ready:predict(xs).mean:eval()
      local want <const> = all_of(ready:predict(xs))
      for name, v in pairs(all_of(fresh:predict(xs))) do assert.is_true(v:equal(want[name]), name) end
      local plan <const> = gb.plan(planned:predict(xs).f_var)
      assert.is_true(plan:run():equal(want.f_var))
      assert.is_true(plan:run():equal(want.f_var))
    end
  end)

  it("keeps what it computes in the model, once for all", function()
    local m <const> = model{solver = cg()}:condition(x, y)
    local p <const>, q <const> = m:predict(xs), m:predict(0.5 * xs)
    local means <const> = {p.mean, q.mean}
    assert.equal(1, counting(spied, function() gb.eval(means) end).cg)
    assert.equal("solve", m.update.kind)
    assert.equal(1, counting(spied, function() gb.eval(p.f_var, p.y_var, p.mean) end).cg)
  end)

  it("is what it was, whatever the model has become", function()
    local m <const> = model():condition(x, y)
    local want <const> = model():condition(x, y):predict(xs)
    local p <const>, before <const> = m:predict(xs), all_of(m:predict(xs))
    m:set("kernel.lengthscale", 3)
    m:fit(x, 2 * y, {steps = 2})
    for name, v in pairs(before) do assert.is_true(v:equal(want[name]), name) end
    assert.is_true(p.f_var:equal(want.f_var))
    near(3, model{}:condition(x, y):set("kernel.lengthscale", 3).kernel.lengthscale.value, 1e-12)
    local t <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2}:condition(x, several)
    local old <const> = t:predict(xs)
    local expected <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2}:condition(x, several):predict(xs).mean:eval()
    t:set("kernel[1].lengthscale", 3)
    t:predict(xs).mean:eval()
    assert.is_true(old.mean:equal(expected))
  end)

  it("goes with the model when both are let go", function()
    local seen <const> = setmetatable({}, {__mode = "k"})
    for _ = 1, 3 do
      local m <const> = model{solver = cg()}:condition(x, y)
      local p <const> = m:predict(xs)
      local s <const> = (p.f_var + p.mean):sum()
      seen[m], seen[p], seen[s] = true, true, true
    end
    collectgarbage() collectgarbage()
    assert.is_nil(next(seen))
  end)

  it("is mapped over points as one of a model that was asked before", function()
    local function mapped(m)
      return gb.vmap(function(at)
        local p <const> = m:predict(at:unsqueeze(1))
        return p.mean:squeeze(1) + p.f_var:squeeze(1)
      end)(xs)
    end
    local m <const> = model():condition(x, y)
    local got <const>, p <const> = mapped(m), m:predict(xs)
    near(p.mean + p.f_var, got, 1e-12)
  end)

  it("has gradients, and is part of other expressions", function()
    local m <const> = model():condition(x, y)
    local at <const> = xs:requires_grad()
    local ready <const> = model():condition(x, y)
    ready:predict(xs).mean:eval()
    local function loss(p) return (p.mean * p.f_var):sum() + p.f_cov:diagonal():sum() end
    local got <const>, want <const> = gb.grad(loss(m:predict(at)), at), gb.grad(loss(ready:predict(at)), at)
    assert.is_true(got:equal(want))
    local chained <const> = model():condition(xs, m:predict(xs, {precision = "f64"}).mean)
    near(chained:predict(xs).mean, ready:condition(xs, ready:predict(xs).mean):predict(xs).mean, 1)
    local lazy <const> = gb.solvers.cg{tol = 1e-10}:solve(gb.eye(#xs) + gb.linalg.diag(m:predict(xs,
      {variance = "cached"}).f_var), gb.ones(#xs))
    near(1 / (1 + m:predict(xs, {variance = "cached"}).f_var), lazy, 1e-8)
  end)

  it("says bytes, steps and seconds beforehand, and cheaper ways where it takes hours, which are there", function()
    local m <const> = model{solver = cg()}:condition(x, y)
    local large <const> = model{solver = gb.solvers.cg{}}:condition(gb.rand(20000, 2, {seed = 1}), gb.randn(20000, {seed = 2}))
    local first <const> = gb.plan(m:predict(xs).f_var)
    assert.matches("^the variances of %d+ points: about .+ s, a solve, .*; about %d+ steps each, at most: no solve before$",
      first.waits[1].what)
    assert.matches("  about .+ s$", tostring(first))
    assert.is_true(first:explain():find(first.waits[1].what, 1, true) == 1)
    m:predict(xs).mean:eval()
    local steps <const> = m:predict(xs).info.iterations
    assert.matches(("about %d steps each, as the last one$"):format(steps), gb.plan(m:predict(xs).f_var).waits[1].what)
    raises("refused", "the solves that it waits for need", gb.plan, m:predict(xs).f_var, {budget = 100})
    local many_points <const> = gb.rand(200000, 2, {seed = 3})
    local plan <const> = gb.plan(large:predict(many_points).f_var)
    local text <const> = plan.waits[1].what
    assert.is_true(plan.seconds > 3600)
    assert.matches("about %S+ hours, .*%. Less: variance = \"cached\" takes about .*; time is proportional", text)
    local advice <const> = {[text:match "Less: (%w+) ="] = text:match "Less: %w+ = \"(%w+)\""}
    assert.is_true(gb.plan(large:predict(many_points, advice).f_var).seconds < plan.seconds / 10)
    local p <const> = m:predict(xs, advice)
    assert.is_true(p.f_var:isfinite():all() and p.f_var_bound:isfinite():all())
    local fits <const> = model{solver = gb.solvers.cg{}}:condition(gb.rand(5000, 2, {seed = 1}), gb.randn(5000, {seed = 2}))
    local some <const> = gb.rand(100000, 2, {seed = 3})
    assert.matches("; solver = \"direct\" takes about %S+ %a+; time is", gb.plan(fits:predict(some).f_var).waits[1].what)
    local direct <const> = model{solver = "direct"}:condition(fits.x, fits.y)
    assert.is_true(gb.plan(direct:predict(some).f_var).seconds < gb.plan(fits:predict(some).f_var).seconds)
  end)
end)

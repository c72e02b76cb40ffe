-- m:save and gb.load: the same model, bit for bit, from one file that runs nothing.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local x <const> = gb.rand(40, 2, {seed = 1}):eval()
local y <const> = ((6 * x):sin():sum(2) + 0.1 * gb.randn(40, {seed = 2})):eval()
local new <const> = gb.rand(9, 2, {seed = 3}):eval()

local function saved(m, opts)
  local path <const> = support.path ".gb"
  m:save(path, opts)
  return path
end

local function same_predictions(a, b, at)
  local p <const>, q <const> = a:predict(at or new), b:predict(at or new)
  assert.is_true(p.mean:equal(q.mean))
  assert.is_true(p.f_var:equal(q.f_var))
  assert.is_true(p.y_var:equal(q.y_var))
end

--- A model of the usual parts.
local function usual()
  local shared <const> = gb.param(1.3, {min = 0.1, prior = gb.priors.gamma{shape = 2, rate = 1}})
  local kernel <const> = K.rbf{lengthscale = shared}:named "slow"
    + (2 * K.matern32{ard = true} * K.periodic{period = gb.param(1, {fixed = true})}):named "season"
    + K.polynomial{degree = 3, active_dims = {2}} + K.matern12{lengthscale = shared}
  return gb.gp.exact{kernel = kernel, mean = gb.means.linear{slope = {0.1, 0.2}}, noise = 0.1}:condition(x, y)
end

--- The file at 'path' with its description changed by 'change', and a checksum that fits.
local function forged(path, change)
  local tensors <const>, texts <const> = core.safetensors_read(path)
  local described <const> = core.json_decode(texts.model)
  local other <const> = change(described, texts, tensors)
  texts.model = core.json_encode(other == nil and described or other)
  texts.checksum = require "gibbous.gp.save".checksum(texts, tensors)
  local out <const> = support.path ".gb"
  core.safetensors_write(out, tensors, texts)
  return out
end

describe("m:save and gb.load", function()
  after_each(support.sweep)

  it("keep a model bit for bit", function()
    local m <const> = usual()
    m:fit{steps = 4}
    local l <const> = gb.load(saved(m))
    assert.equal(tostring(m), tostring(l))
    assert.equal(tostring(m.info), tostring(l.info))
    assert.equal(m.info.iterations, l.info.iterations)
    assert.equal("auto", l.solver)
    local boxes <const>, names <const> = gb.params(m)
    for i, p in ipairs(boxes) do
      local q <const> = l:get(names[i])
      assert.is_true(p.raw:equal(q.raw), names[i])
      assert.same({p.fixed, p.min, p.max, p.name, tostring(p.prior)}, {q.fixed, q.min, q.max, q.name, tostring(q.prior)})
    end
    assert.is_true(l.x:equal(x) and l.y:equal(y))
    same_predictions(m, l)
    assert.is_true(m:predict(m.x).mean:equal(l:predict(l.x).mean))
    assert.equal(m:log_marginal_likelihood():item(), l:log_marginal_likelihood():item())
    assert.equal(l.kernel.slow.lengthscale, l.kernel[4].lengthscale)             -- still one box
  end)

  it("predict the same in another process", function()
    local m <const> = usual()
    m:fit{steps = 3}
    local path <const> = saved(m)
    local points <const> = support.path ".npy"
    gb.data.write(points, new)
    local script <const> = support.write(support.path ".lua", ([[
      local gb, core = require "gibbous", require "gibbous.core"
      local p = gb.load(%q):predict(gb.data.read(%q))
      print(core.digest{p.mean, p.f_var, p.y_var})]]):format(path, points))
    local out <const>, errors <const>, rc <const> = require "spec.process".run{script}
    assert.equal(0, rc, errors)
    local p <const> = m:predict(new)
    assert.equal(core.digest{p.mean, p.f_var, p.y_var} .. "\n", out)
  end)

  it("give equal bytes for equal models", function()
    local m <const> = usual()
    local first <const> = support.read(saved(m))
    assert.equal(first, support.read(saved(m)))
    assert.equal(first, support.read(saved(gb.load(saved(m)))))
  end)

  it("go on where the model was", function()
    local m <const> = usual()
    local l <const> = gb.load(saved(m))
    m:fit{steps = 3}
    l:fit{steps = 3}
    same_predictions(m, l)
    same_predictions(m:condition(new, new:select(2, 1)), l:condition(new, new:select(2, 1)))
  end)

  it("keep every kind of parameter, prior, mean and noise", function()
    local kernel <const> = K.rbf{lengthscale = gb.param(0.4, {min = 0.1, max = 2, prior = gb.priors.uniform{min = 0.1, max = 2}}),
      variance = gb.param(1.5, {max = 4, prior = gb.priors.smoothed_box{min = 0, max = 3, sd = 0.1}})}
      + K.rational_quadratic{alpha = gb.param(2, {transform = "exp", prior = gb.priors.log_normal{}}), variance = 1}
      + K.constant{variance = 1} + K.white{variance = 1}
      + K.linear{variance = gb.param(-0.3, {transform = "identity", min = -1})}
    for _, mean in ipairs{gb.means.zero(), gb.means.constant(gb.param(0.3, {prior = gb.priors.normal{sd = 2}})),
      gb.means.linear{slope = 0.2, offset = -1}} do
      local m <const> = gb.gp.exact{kernel = kernel, mean = mean, likelihood = gb.likelihoods.fixed(gb.rand(40, {seed = 4}) + 0.1)}
      m:fit(x, y, {steps = 2})
      local l <const> = gb.load(saved(m))
      assert.equal(tostring(m), tostring(l))
      same_predictions(m, l)
    end
  end)

  it("keep f32 and solvers", function()
    local s <const> = gb.solvers.cg{tol = 1e-3, probes = 5, seed = 3, precond = gb.precond.pivoted_cholesky{rank = 7}}
    local x32 <const>, y32 <const> = x:to{dtype = "f32"}, y:to{dtype = "f32"}
    local m <const> = gb.gp.exact{kernel = K.matern52{}, noise = 0.1, solver = s}:condition(x32, y32)
    local l <const> = gb.load(saved(m))
    assert.equal(tostring(s), tostring(l.solver))
    assert.equal("f32", l.x.dtype)
    same_predictions(m, l, new:to{dtype = "f32"})
    local j <const> = gb.gp.exact{kernel = K.rbf{}, solver = gb.solvers.cg{precond = gb.precond.jacobi{}}}
    assert.equal(tostring(j.solver), tostring(gb.load(saved(j)).solver))
    assert.equal("direct", gb.load(saved(gb.gp.exact{kernel = K.rbf{}, solver = "direct"})).solver)
  end)

  it("keep a model that never had data: it is the prior", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.3} * K.matern12{ard = true}, noise = 0.2}
    local l <const> = gb.load(saved(m))
    same_predictions(m, l)
    l:fit(x, y, {steps = 1})
    assert.equal(2, l:get "kernel[2].lengthscale".numel)
  end)

  it("keep what was appended to a smaller model", function()
    local m = gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = "direct"}:condition(x, y)
    m:predict(new).mean:eval()
    for i = 1, 5 do m = m:condition(new:slice(1, i, i), new:slice(1, i, i):select(2, 1)) end
    same_predictions(m, gb.load(saved(m)))
    same_predictions(m, gb.load(saved(gb.load(saved(m)))))
    local l <const> = gb.load(saved(m))
    local one <const> = new:slice(1, 9, 9)
    same_predictions(m:condition(one, one:select(2, 1)), l:condition(one, one:select(2, 1)))
  end)

  it("keep what was appended in f64 to f32 data", function()
    local single <const> = {dtype = "f32"}
    local m = gb.gp.exact{kernel = K.rbf{}, noise = gb.param(1e-9), solver = "direct"}:condition(x:to(single), y:to(single))
    for i = 1, 8 do
      m:predict(new:to(single)).mean:eval()
      m = m:condition(new:slice(1, i, i):to(single), new:slice(1, i, i):select(2, 1):to(single))
    end
    local l <const> = gb.load(saved(m))
    local info <const> = l:predict(new:to(single)).info
    assert.same({"f64", true}, {info.precision, info.reused})
    same_predictions(m, l, new:to(single))
    raises("format", "its caches do not go with the data", gb.load, forged(saved(m), function(_, _, t)
      for _, name in ipairs{"x", "y"} do t[name] = t[name]:to{dtype = "f64"} end
    end))
  end)

  it("keep the factor where it is asked for", function()
    local m <const> = usual()
    m:predict(new).mean:eval()
    local plain <const>, with <const> = saved(m), saved(m, {caches = true})
    assert.is_true(#support.read(with) >= #support.read(plain) + 40 * 40 * 8)
    same_predictions(m, gb.load(with))
    local sparse <const> = gb.gp.exact{kernel = K.rbf{}, noise = 0.1, solver = gb.solvers.cg{tol = 1e-8}}:condition(x, y)
    sparse:predict(new).mean:eval()
    same_predictions(sparse, gb.load(saved(sparse, {caches = true})))
    raises("format", "its caches are not complete", gb.load, forged(with, function(d) d.state.alpha = nil end))
    raises("format", "'alpha' does not go with the data", gb.load, forged(with, function(_, _, t) t.alpha = gb.ones(3) end))
    local l <const> = gb.load(with)
    l:get "likelihood.noise".value = 0.5                       -- what is kept belongs to other parameters now
    m:get "likelihood.noise".value = 0.5
    same_predictions(m, l)
  end)
end)

describe("a model of several outputs", function()
  after_each(support.sweep)

  local nan <const> = 0 / 0
  local full <const> = (gb.stack({y, -2 * y}, 2) + 0.1 * gb.randn(40, 2, {seed = 4})):eval()
  local holes <const> = gb.where(gb.rand(40, 2, {seed = 5}):lt(0.2), nan, full):eval()
  local mask <const> = {missing = "mask"}

  local function several(o)
    o = o or {}
    return gb.gp.multitask{kernel = o.kernel or K.rbf{ard = true} + K.matern32{active_dims = {-1}}, tasks = 2, noise = o.noise,
      mean = o.mean, solver = o.solver}
  end

  local function same_model(m, l, at)
    assert.equal(tostring(m), tostring(l))
    assert.equal(tostring(m.info), tostring(l.info))
    assert.same({m.tasks, tostring(m.solver)}, {l.tasks, tostring(l.solver)})
    same_predictions(m, l, at)
    assert.equal(m:predict(at or new).info.algorithm, l:predict(at or new).info.algorithm)
    assert.is_true(m:predict(at or new).f_cov:equal(l:predict(at or new).f_cov))
  end

  it("is kept bit for bit, with and without missing cells, and goes on where it was", function()
    local shared <const> = gb.param(0.3, {min = 0.01, prior = gb.priors.gamma{shape = 2, rate = 4}})
    for _, o in ipairs{{}, {noise = shared, mean = gb.means.linear{slope = 0.5}, solver = "direct"}, {noise = {0.1, 0.2},
      mean = gb.means.constant{0.1, 0.2}, kernel = 2 * K.rbf{lengthscale = gb.param(0.5)}:named "slow" * K.matern52{}},
      {kernel = K.rbf{}, solver = gb.solvers.cg{tol = 1e-3, probes = 5, seed = 3}}} do
      for _, values in ipairs{full, holes} do
        local m <const> = several(o)
        m:fit(x, values, {steps = 2, missing = "mask"})
        local path <const> = saved(m)
        local l <const> = gb.load(path)
        same_model(m, l)
        assert.equal(support.read(path), support.read(saved(l)))
        assert.equal(gb.type(m), gb.type(l))
        assert.is_true(l.x:equal(x) and l.y:eq(values):equal(values:eq(values)))
        assert.equal(m:log_marginal_likelihood():item(), l:log_marginal_likelihood():item())
        near(m:score(x, values, mask).nlpd, l:score(x, values, mask).nlpd, 1e-12)   -- x is m's own handle, and not l's
        assert.is_true(m.kernel.tasks:matrix():equal(l.kernel.tasks:matrix()))
        local more <const> = gb.stack({new:select(2, 1), new:select(2, 2)}, 2)
        same_predictions(m:condition(new, more), l:condition(new, more))
        m:fit{steps = 2}
        l:fit{steps = 2}
        same_predictions(m, l)
      end
    end
  end)

  it("is the prior where it never had data, and keeps f32 and 'kronecker'", function()
    local m <const> = several{solver = "kronecker", mean = gb.means.linear{}}
    local l <const> = gb.load(saved(m))
    same_predictions(m, l)
    raises("option", 'solver = "kronecker" needs a value in every cell', l.fit, l, x, holes, mask)
    for _, one in ipairs{m, l} do one:fit(x:to{dtype = "f32"}, full:to{dtype = "f32"}, {steps = 1}) end
    assert.equal(2, l:get "mean.slope".numel)
    same_model(m, gb.load(saved(m)), new:to{dtype = "f32"})
    same_model(m, gb.load(saved(m, {caches = true})), new:to{dtype = "f32"})
    same_predictions(m, l, new:to{dtype = "f32"})
  end)

  it("keeps what predictions need, where it is asked for or was appended to", function()
    local m = several{noise = {0.1, 0.2}}:condition(x, full)
    m:predict(new).mean:eval()
    local plain <const>, with <const> = saved(m), saved(m, {caches = true})
    assert.is_true(#support.read(with) >= #support.read(plain) + 40 * 40 * 8)
    local l <const> = gb.load(with)
    assert.is_true(l:predict(new).info.reused)
    same_model(m, l)
    assert.is_false(gb.load(plain):predict(new).info.reused)
    assert.equal(#support.read(plain), #support.read(saved(gb.load(with), {caches = false})))
    m = gb.load(plain)
    l:get "likelihood.noise".value = 0.5                       -- what is kept belongs to other parameters now
    m:get "likelihood.noise".value = 0.5
    same_predictions(m, l)
    for _, name in ipairs{"U", "M", "Q", "weights"} do
      raises("format", "'" .. name .. "' does not go with the data", gb.load,
        forged(with, function(_, _, t) t["grid." .. name] = gb.ones(3) end))
      raises("format", "its caches are not complete", gb.load, forged(with, function(d) d.grid[name] = nil end))
    end
    raises("format", "its caches do not go with the data", gb.load, forged(with, function(d) d.solver = "direct" end))
    m = several{noise = 0.1}:condition(x, holes, mask)
    for i = 1, 5 do
      m:predict(new).mean:eval()
      m = m:condition(new:slice(1, i, i), new:slice(1, i, i))
    end
    assert.equal("append", m.update.kind)
    same_model(m, gb.load(saved(gb.load(saved(m)))))
  end)

  it("predicts nothing without its data until it has them back", function()
    for _, values in ipairs{full, holes} do
      local m <const> = several{noise = {0.1, 0.2}}
      m:fit(x, values, {steps = 2, missing = "mask"})
      local path <const> = saved(m, {data = false})
      local l <const> = gb.load(path)
      for _, name in ipairs{"predict", "score", "condition", "log_marginal_likelihood"} do
        local err <const> = raises("option", name .. ": the model was saved without its data (40 points, 2 columns, f64)",
          function() return l[name](l, new) end)
        assert.matches("^%.?/?spec/", err.line)
      end
      raises("option", "fit: the model holds no data", l.fit, l)
      local other_nan <const> = gb.where(values:eq(values), values, -nan)
      same_model(m, gb.load(path, {x = x, y = other_nan}))
      assert.equal(support.read(path), support.read(saved(l)))
      same_model(m, gb.load(saved(l), {x = x, y = values}))
      raises("option", "load: these are not the data of the model: expected 40 points", gb.load, path, {x = x, y = values + 1})
      raises("option", "these are not the data", gb.load, path, {x = x, y = gb.where(holes:eq(holes), values, 0)})
      raises("shape", "load: x has 40 rows, y must be (40, 2), a column a task", gb.load, path, {x = x, y = y})
      l:fit(new, new, {steps = 1})
      assert.equal(9, #l.x)
    end
  end)

  it("is given what only a script can say", function()
    local make <const> = K.define("tent", {a = 0.5}, function(u, v, p) return (1 - (u - v):abs() * p.a):relu():prod(-1) end)
    local function trend(u) return u:select(2, 1) end
    local m <const> = several{kernel = make{a = 0.3} + K.rbf{}, mean = trend}:condition(x, full)
    local path <const> = saved(m)
    raises("option", "kernel 'tent' is not in the file", gb.load, path)
    raises("option", [[functions = {["mean"] = f}]], gb.load, path, {kernels = {tent = make}})
    same_model(m, gb.load(path, {kernels = {tent = make}, functions = {mean = trend}}))
  end)

  it("is refused when it is another function than the one that was saved", function()
    local function make(f) return K.define("tent", {a = 0.5}, f) end
    local tent <const> = make(function(u, v, p) return (1 - (u - v):abs() * p.a):relu():prod(-1) end)
    local round <const> = make(function(u, v, p) return (((u - v) ^ 2):sum(-1) * -p.a):exp() end)
    local m <const> = gb.gp.exact{kernel = K.rbf{} + tent{a = 0.3}, noise = 0.1, solver = "direct"}:condition(x, y)
    local path <const> = saved(m)
    local text <const> = "kernel 'tent' is not the one that was saved: the given functions have other values at fixed points; "
      .. "load it with the functions it was fitted with"
    assert.equal(path .. ": " .. text, raises("option", "", gb.load, path, {kernels = {tent = round}}).message)
    local again <const> = make(function(u, v, p) return (1 - p.a * (v - u):abs()):relu():prod(-1) end)
    assert.equal(40, #gb.load(path, {kernels = {tent = again}}).x)
    local warped <const> = saved(gb.gp.exact{kernel = K.rbf{}:warp(function(u) return u * u end), noise = 0.1}:condition(x, y))
    raises("option", "kernel 'rbf' is not the one that was saved", gb.load, warped, {warp = function(u) return u + 1 end})
    assert.equal(40, #gb.load(warped, {warp = function(u) return u ^ 2 end}).x)
    local old <const> = forged(path, function(d)                         -- of a version that kept none
      for _, o in ipairs(d.objects) do o.fingerprint = nil end
    end)
    assert.equal(40, #gb.load(old, {kernels = {tent = round}}).x)
    local odd <const> = make(function(u, v, p) return (1 - (u - v):abs() * p.a):prod(-1) * (0 / 0) end)
    raises("option", "is not the one that was saved", gb.load, path, {kernels = {tent = odd}})
  end)

  it("is refused where it is no function", function()
    local path <const> = saved(gb.gp.exact{kernel = K.rbf{}, noise = 0.1}:condition(x, y))
    for _, name in ipairs{"kernels", "means", "priors", "functions"} do
      local expected <const> = ("gb.load: option '%s' must be a table of functions by name, got "):format(name)
      assert.equal(expected .. "mine = number", raises("option", "", gb.load, path, {[name] = {mine = 3}}).message)
      assert.equal(expected .. "the key 1", raises("option", "", gb.load, path, {[name] = {print}}).message)
    end
  end)

  it("is refused by name where it is none", function()
    local path <const> = saved(several{noise = {0.1, 0.2}, mean = gb.means.constant{1, 2}}:condition(x, holes, mask))
    local function broken(text, change) raises("format", text, gb.load, forged(path, change)) end
    for _, T in ipairs{3, 0, 1.5, "x", false} do broken("its kernel is not one of its tasks", function(d) d.tasks = T end) end
    broken("its data are no x (n, d) and y (n)", function(d) d.tasks = nil end)
    broken("its data are no x (n, d) and y (n, tasks)", function(_, _, t) t.y = gb.ones(40, 3) end)
    broken("its kernel is not one of its tasks", function(d) d.kernel = {["%"] = "object", at = 2} end)
    broken("its noise is not one of its tasks", function(_, _, t) t["likelihood.noise.raw"] = gb.zeros(3) end)
    broken("3 constant means for 2 tasks", function(_, _, t) t["mean.value.raw"] = gb.zeros(3) end)
    broken("load: x: ", function(_, _, t) t.x = t.x * gb.tensor{1, nan} end)
    broken("load: y: 80 values are not finite", function(_, _, t) t.y = gb.full({40, 2}, 1 / 0) end)
  end)
end)

describe("noise by task", function()
  it("is kept", function()
    local xt <const> = gb.cat({gb.rand(12, 1, {seed = 8}), (gb.range(1, 12) % 3 + 1):to{dtype = "f64"}:unsqueeze(2)}, 2):eval()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{} * gb.kernels.index{tasks = 3},
      likelihood = gb.likelihoods.tasks{0.1, 0.2, 0.3}, solver = "direct"}:condition(xt, gb.randn(12, {seed = 9}))
    same_predictions(m, gb.load(saved(m)), xt:slice(1, 3, 9):eval())
  end)
end)

describe("a model saved without its data", function()
  after_each(support.sweep)

  it("predicts nothing until it has them back", function()
    local m <const> = usual()
    m:fit{steps = 1}
    local path <const> = saved(m, {data = false})
    assert.is_true(#support.read(path) < #support.read(saved(m)) - 40 * 3 * 8 + 200)
    local l <const> = gb.load(path)
    for _, name in ipairs{"predict", "score", "condition", "log_marginal_likelihood"} do
      raises("option", name .. ": the model was saved without its data (40 points, 2 columns, f64); give them back with "
        .. "gb.load(path, {x = x, y = y}), or fit it to others", function() return l[name](l, new) end)
    end
    raises("option", "fit: the model holds no data", l.fit, l)
    assert.equal(tostring(m:get "kernel.season.variance"), tostring(l:get "kernel.season.variance"))
    assert.is_true(math.abs(l:copy():set("kernel.season.variance", 0.75):get "kernel.season.variance".value:item() - 0.75) <= 1e-12)
    same_predictions(m, gb.load(path, {x = x, y = y}))
    assert.equal(support.read(path), support.read(saved(l)))    -- saved again without them
    same_predictions(m, gb.load(saved(l), {x = x, y = y}))
    raises("option", "load: these are not the data of the model: expected 40 points", gb.load, path, {x = x, y = y + 1})
    raises("option", "got 9 points", gb.load, path, {x = new, y = new:select(2, 1)})
    raises("option", "x and y are given together", gb.load, path, {x = x})
    raises("option", "the model was saved with its data", gb.load, saved(m), {x = x, y = y})
    l:fit(new, new:select(2, 1), {steps = 1})                   -- other data are a new fit
    assert.equal(9, #l:predict(x).mean - 31)
  end)
end)

describe("what only a script can say", function()
  after_each(support.sweep)

  local function gibbs()
    return K.define("gibbs", {a = 0.5, b = 0.5}, function(u, v, p)
      local s <const> = (p.a + p.b * u:abs()) ^ 2 + (p.a + p.b * v:abs()) ^ 2
      return (-(u - v) ^ 2 / s):exp():prod(-1)
    end)
  end

  it("kernels and means of one's own are given by name", function()
    local trend <const> = gb.means.define("trend", {slope = 0.5}, function(u, p) return u:select(2, 1) * p.slope end)
    local make <const> = gibbs()
    local m <const> = gb.gp.exact{kernel = make{a = 0.2} + K.rbf{}, mean = trend{slope = 2}, noise = 0.1}:condition(x, y)
    local path <const> = saved(m)
    raises("option", "kernel 'gibbs' is not in the file: give it, gb.load(path, {kernels = {gibbs = constructor}})", gb.load, path)
    raises("option", "mean 'trend' is not in the file", gb.load, path, {kernels = {gibbs = make}})
    same_predictions(m, gb.load(path, {kernels = {gibbs = gibbs()}, means = {trend = trend}}))
    raises("format", "makes no kernel", gb.load, path, {kernels = {gibbs = function() return 3 end}, means = {trend = trend}})
    raises("option", "unknown option 'kernel', did you mean 'kernels'?", gb.load, path, {kernel = {}})
    local other <const> = K.define("gibbs", {a = 1, c = 1}, function(u, v) return (u * v):sum(-1) end)
    raises("format", "unknown option 'b'", gb.load, path, {kernels = {gibbs = other}, means = {trend = trend}})
  end)

  it("networks of gb.nn are kept whole", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 5, {seed = 1}), "tanh", gb.nn.layer_norm(5, {eps = 1e-3}),
      gb.nn.sequential{gb.nn.linear(5, 3, {seed = 2, bias = false}), "relu"}}
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = {0.3, 0.4, 0.5}}:warp(net), noise = 0.1}
    m:fit(x, y, {method = "adam", lr = 0.01, steps = 3})
    local l <const> = gb.load(saved(m))
    assert.equal(tostring(m), tostring(l))
    same_predictions(m, l)
    assert.equal(tostring(net), tostring(l.kernel.warps[1]))
  end)

  it("networks keep their type, and loading them draws no random numbers", function()
    local before <const> = gb.config{dtype = "f32"}
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 3, {seed = 1}), "tanh"}
    local m <const> = gb.gp.exact{kernel = K.rbf{}:warp(net), noise = 0.1}:condition(x:to{dtype = "f32"}, y:to{dtype = "f32"})
    gb.config(before)
    local path <const> = saved(m)
    gb.seed(5)
    local draw <const> = gb.rand(3):totable()
    gb.seed(5)
    local l <const> = gb.load(path)
    assert.same(draw, gb.rand(3):totable())
    same_predictions(m, l, new:to{dtype = "f32"})
    assert.equal("f32", l:get "kernel.warp[1].weight".raw.dtype)
  end)

  it("a transform of one's own is given by path", function()
    local square <const> = {forward = function(raw) return raw * raw end, inverse = function(v) return v:sqrt() end}
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = gb.param(0.3, {transform = square})}, noise = 0.1}:condition(x, y)
    local path <const> = saved(m)
    raises("option", [[functions = {["kernel.lengthscale.transform"] = f}]], gb.load, path)
    same_predictions(m, gb.load(path, {functions = {["kernel.lengthscale.transform"] = square}}))
  end)

  it("functions are given by path or name, and networks of one's own get the saved values", function()
    local function square(u) return u * u end
    local m <const> = gb.gp.exact{kernel = K.rbf{}:warp(square), noise = 0.1}:condition(x, y)
    local path <const> = saved(m)
    raises("option", "function 'kernel.warp' is not in the file: give it, gb.load(path, {warp = f})", gb.load, path)
    same_predictions(m, gb.load(path, {warp = square}))
    same_predictions(m, gb.load(path, {functions = {["kernel.warp"] = square}}))

    local function network(v)
      local self <const> = {scale = gb.param(v, {name = "scale"})}
      return setmetatable(self, {__call = function(_, u) return u * self.scale end})
    end
    local own <const> = gb.gp.exact{kernel = K.rbf{}:warp(network(3)), noise = 0.1}:condition(x, y)
    local file <const>, blank <const> = saved(own), network(1)
    local l <const> = gb.load(file, {warp = blank})
    assert.equal(3, blank.scale:item())
    same_predictions(own, l)
    raises("format", "'kernel.warp': parameter scale (f64 ()) was saved, the one given is scale (f64 2)", gb.load, file,
      {warp = network{1, 2}})

    local twice <const> = gb.func{name = "twice", shape = "same", bytes = "1 MiB", forward = function(u) return 2 * u end,
      backward = function(dy) return 2 * dy end}
    local called <const> = gb.gp.exact{kernel = K.rbf{}:warp(twice), noise = 0.1}:condition(x, y)
    raises("option", [[function 'twice' is not in the file: give it, gb.load(path, {functions = {["twice"] = f}})]], gb.load,
      saved(called))
    same_predictions(called, gb.load(saved(called), {functions = {twice = twice}}))
  end)

  it("asks for each of two warps by its name", function()
    local path <const> = os.tmpname()
    local function triple(t) return t * 3 end
    local function square(t) return t ^ 2 end
    local x <const> = gb.rand(12, 1, {seed = 1})
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}:warp(triple) * gb.kernels.rbf{}:warp(square), noise = 0.01,
      solver = "direct"}
    m:fit(x, x:squeeze(2) * 2 + 1, {steps = 1})
    m:save(path)
    local err <const> = raises("option", "the file has two warps, 'kernel[1].warp' and 'kernel[2].warp': give each by its name",
      gb.load, path, {warp = triple})
    assert.matches('functions = {["kernel[1].warp"] = f, ["kernel[2].warp"] = g}', err.message, 1, true)
    local l <const> = gb.load(path, {functions = {["kernel[1].warp"] = triple, ["kernel[2].warp"] = square}})
    near(m:predict(gb.tensor{{2}}).mean, l:predict(gb.tensor{{2}}).mean, 1e-14)
    os.remove(path)
  end)
end)

describe("files that are no such model", function()
  after_each(support.sweep)

  local function small()
    return saved(gb.gp.exact{kernel = K.rbf{}, noise = 0.1}:condition(x:slice(1, 1, 4), y:slice(1, 1, 4)))
  end

  it("are refused by name", function()
    local path <const> = small()
    raises("io", "cannot open", gb.load, "/nonexistent/m.gb")
    raises("format", "not a model file, which m:save(path) writes", gb.load, support.write(support.path(), "garbage, not a model"))
    raises("format", "not a model file", gb.load, support.write(support.path ".csv", "a,b\n1,2\n"))
    gb.data.write(path .. ".safetensors", {v = gb.ones(2)})
    raises("format", "not a saved model; gb.data.read reads tensors", gb.load, path .. ".safetensors")
    os.remove(path .. ".safetensors")
    raises("format", "in format 7; this version, " .. gb.version .. ", reads up to format 1", gb.load,
      forged(path, function(_, texts)
      texts.version = "7"
    end))
    raises("format", "format 1 expected, got 'x'", gb.load, forged(path, function(_, texts) texts.version = "x" end))
    raises("format", "kernel 'rbff' is unknown to this version, did you mean 'rbf'?", gb.load, forged(path, function(d)
      for _, o in ipairs(d.objects) do if o.kind == "rbf" then o.kind = "rbff" end end
    end))
    raises("format", "objects of class 'x' are unknown", gb.load, forged(path, function(d) d.objects[1].class = "x" end))
    raises("format", "object 99 is missing", gb.load, forged(path, function(d) d.kernel.at = 99 end))
    raises("format", "tensor 'y' is missing", gb.load, forged(path, function(_, _, t) t.y = nil end))
    raises("format", "its data are no x (n, d) and y (n)", gb.load, forged(path, function(_, _, t) t.y = gb.ones(3) end))
    raises("format", "raw must be finite", gb.load,
      forged(path, function(_, _, t) t["likelihood.noise.raw"] = gb.tensor(0 / 0) end))
    raises("format", "nested too deep, or in a circle", gb.load, forged(path, function(d)
      d.objects[1] = {class = "gibbous.kernel", kind = "sum", own = false, hyper = {}, parts = {d.kernel, d.kernel}}
    end))
    raises("format", "it describes no model", gb.load, forged(path, function() return {1, 2} end))
    local function unknown(what, change)
      raises("format", "its solver is unknown to this version: " .. what, gb.load, forged(path, change))
    end
    for _, key in ipairs{"solver", "active"} do
      unknown("'kronecker'", function(d) d[key] = "kronecker" end)
      unknown("table", function(d) d[key] = {1} end)
    end
    unknown("nil", function(d) d.solver = nil end)
    assert.is_false(pcall(gb.load))
  end)

  it("say what is wrong with an object", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 3, {seed = 1}), "tanh", gb.nn.linear(3, 2, {seed = 2})}
    local m <const> = gb.gp.exact{kernel = (K.rbf{} + K.linear{} * K.periodic{}):warp(net), mean = gb.means.constant(1),
      noise = 0.1,
      solver = gb.solvers.cg{}}:condition(x, y)
    local path <const> = saved(m)
    local function refused(text, class, kind, change)
      local err <const> = raises("format", text, gb.load, forged(path, function(d)
        local found = false
        for _, o in ipairs(d.objects) do
          if o.class == class and (kind == nil or o.kind == kind) and not found then
            found = true
            change(o, d)
          end
        end
        assert.is_true(found)
      end))
      assert.equal(text, err.message:sub(-#text))
    end
    local kernel <const>, mean <const>, block <const> = "gibbous.kernel", "gibbous.mean", "gibbous.block"
    refused("rbf: parameter 'lengthscale' is missing", kernel, "rbf", function(o) o.hyper.lengthscale = nil end)
    refused("rbf: parameter 'x' is missing", kernel, "rbf", function(o) o.pending = {"x"} end)
    refused("a list or object expected, got number", kernel, "rbf", function(o) o.hyper = 3 end)
    refused("gibbous.param expected, got number", kernel, "rbf", function(o) o.hyper.lengthscale = 3 end)
    refused("gibbous.param expected, got gibbous.kernel", kernel, "sum", function(o) o.hyper.variance = o.parts[1] end)
    refused("a sum of kernels has 1 parts", kernel, "sum", function(o) o.parts = {o.parts[1]} end)
    refused("a sum of kernels has 0 parts", kernel, "sum", function(o) o.parts = nil end)
    refused("a product of kernels has no parameter 'width'", kernel, "product", function(o) o.hyper.width = o.hyper.variance end)
    refused("gibbous.kernel expected, got string", kernel, "product", function(o) o.parts[1] = "x" end)
    refused("values of kind 'what' are unknown to this version", kernel, "rbf", function(o) o.settings = {a = {["%"] = "what"}} end)
    refused("mean 'median' is unknown to this version", mean, "constant", function(o) o.kind = "median" end)
    refused("likelihood 'poisson' is unknown to this version", "gibbous.likelihood", "gaussian", function(o) o.kind = "poisson" end)
    refused("linear(2, 3): parameter 'weight' is missing or of another shape", block, "linear",
      function(o) o.params.weight = nil end)
    refused("linear(2, 3): parameter 'weight' is missing or of another shape", block, "linear",
      function(o) o.params.weight = o.params.bias end)
    refused("a list or object expected, got boolean", block, "linear", function(o) o.made = false end)
    refused("block 'gelu' is unknown to this version", block, "linear", function(o) o.kind = "gelu" end)
    refused("parameter 'lengthscale': version must be a whole number", "gibbous.param", nil, function(_, d)
      for _, o in ipairs(d.objects) do
        if o.name == "lengthscale" then o.version = 0.5 end
      end
    end)
    same_predictions(m, gb.load(forged(path, function() end)))
  end)

  it("one bit changed anywhere, or cut anywhere, is noticed", function()
    local path <const> = small()
    local bytes <const>, out <const> = support.read(path), support.path()
    for i = 1, #bytes, 2 do
      support.write(out, bytes:sub(1, i - 1) .. string.char(bytes:byte(i) ~ 1 << i // 2 % 8) .. bytes:sub(i + 1))
      local ok <const>, err <const> = pcall(gb.load, out)
      assert.is_false(ok, "byte " .. i)
      assert.equal("format", err.code)
    end
    for i = 0, #bytes - 1, 7 do
      support.write(out, bytes:sub(1, i))
      assert.is_false(pcall(gb.load, out))
    end
  end)

  local exact <const> = gb.gp.exact{kernel = K.rbf{}:named "a" * K.polynomial{} + K.matern32{lengthscale = {1, 2}}:warp(
    gb.nn.sequential{gb.nn.linear(2, 2, {seed = 1}), "tanh"}), mean = gb.means.constant(1), noise = 0.1,
    solver = gb.solvers.cg{precond = gb.precond.jacobi{}}}:condition(x, y)
  local several <const> = gb.gp.multitask{kernel = K.rbf{} + K.linear{}, tasks = 2, mean = gb.means.constant{1, 2}}
    :condition(x, gb.stack({y, -y}, 2))
  several:predict(new).mean:eval()

  for label, m in pairs{["a model"] = exact, ["a model of several outputs"] = several} do
    it("descriptions that a liar signed give a model or a named error: " .. label, function()
      local path <const> = saved(m, {caches = true})
      local state = 1
      local function draw(n)
        state = (state * 6364136223846793005 + 1442695040888963407) & math.maxinteger
        return (state >> 33) % n + 1
      end
      local junk <const> = {0, -1, 1.5, 1e300, "", "x", "kernel", true, false, {}, {1, 2}, {["%"] = "object", at = 1},
        {["%"] = "tensor", at = "x"}, {["%"] = "given", name = "z"}, {["%"] = "number", is = "nan"}, {["%"] = "zzz"}, {a = {b = 1}}}
      local function mutate(t)
        local keys <const> = {}
        for key in pairs(t) do keys[#keys + 1] = key end
        if #keys == 0 then return end
        table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
        local key <const> = keys[draw(#keys)]
        if type(t[key]) == "table" and draw(5) > 1 then return mutate(t[key]) end
        if draw(6) == 1 then t[key] = nil else t[key] = junk[draw(#junk)] end
      end
      local loaded, refused = 0, 0
      for _ = 1, 150 do
        local well <const>, file <const> = pcall(forged, path, function(d) for _ = 1, draw(2) do mutate(d) end end)
        if well then                                             -- a list with a hole is no JSON
          local ok <const>, got <const> = pcall(gb.load, file)
          if ok then
            loaded = loaded + 1
            pcall(function() return got:predict(new).mean:eval() end)
            tostring(got)
          else
            refused = refused + 1
            assert.is_not_equal("string", type(got), got)
            assert.is_truthy(got.code)
          end
          os.remove(file)
        end
      end
      assert.is_true(loaded > 5 and refused > 50, ("%d loaded, %d refused"):format(loaded, refused))
    end)
  end
end)

describe("saving", function()
  after_each(support.sweep)

  it("leaves the old file where it cannot write a new one", function()
    local m <const> = usual()
    raises("io", "cannot write '/nonexistent/a.gb'", m.save, m, "/nonexistent/a.gb")
    raises("option", "unknown option 'cache', did you mean 'caches'?", m.save, m, "x.gb", {cache = true})
    local deep = K.rbf{}
    for i = 1, 200 do deep = (deep + K.rbf{}):named("a" .. i) end
    local nested <const> = gb.gp.exact{kernel = deep}
    raises("option", "objects are nested too deep", nested.save, nested, support.path())
    local own <const> = require "gibbous.solvers.base".new({}, {run = print, text = function() return "own" end})
    local odd <const> = gb.gp.exact{kernel = K.rbf{}, solver = own}
    local path <const> = saved(m)
    local before <const> = support.read(path)
    raises("option", "save: solver is a solver of its own kind, which cannot be saved", odd.save, odd, path)
    assert.equal(before, support.read(path))
  end)
end)

describe("what cannot be saved", function()
  it("is named by where it is", function()
    local store <const> = require "gibbous.store"
    local function fails(v, path, text)
      local w <const> = store.writer(2)
      support.raises("option", text, w.value, w, v, path)
    end
    fails({a = {b = {io.stdout}}}, "root", "save: root.a.b[1] cannot be saved: userdata")
    fails({a = {b = {[1.5] = 2}}}, "root", "save: root.a.b cannot be saved: a table with the key '1.5'")
    fails({a = {b = {["%"] = 2}}}, "", "save: a.b cannot be saved: a table with the key '%'")
    fails(io.stdout, "", "save: the model cannot be saved: userdata")
  end)
end)

describe("plain data of objects", function()
  local store <const> = require "gibbous.store_classes"
  local object <const> = require "gibbous.object"
  local nan <const> = 0 / 0

  local function given(o)
    local out <const> = {kernels = {}, means = {}, functions = {}, priors = {}}
    for key, v in pairs(o or {}) do out[key] = v end
    return out
  end

  --- What a writer makes of v, and the writer.
  local function written(v, path)
    local w <const> = store.writer()
    return w:value(v, path or "at"), w
  end

  local function read(v, tensors, objects, from) return store.reader(tensors or {}, objects or {}, given(from)):value(v) end

  it("are in the order of their keys", function()
    local keys <const> = {}
    for key, v in store.sorted{[10] = 1, [9] = 2, b = 3, a = 4, [true] = 5, [1.5] = 6} do keys[#keys + 1] = tostring(key) .. v end
    assert.same({"1.56", "92", "101", "a4", "b3", "true5"}, keys)
    local numbers <const> = {}
    for key in store.sorted{[10] = 1, [9] = 2, [100] = 3} do numbers[#numbers + 1] = key end
    assert.same({9, 10, 100}, numbers)
    assert.is_nil(store.sorted{}())
  end)

  it("are numbers that JSON lacks, texts, lists and tables", function()
    for _, v in ipairs{1, 1.5, "x", true, false, {1, {2}}, {a = {b = "c"}}, {}} do assert.same(v, (written(v))) end
    assert.is_nil((written(nil)))
    for v, is in pairs{[math.huge] = "inf", [-math.huge] = "-inf"} do
      assert.same({["%"] = "number", is = is}, (written(v)))
      assert.equal(v, read{["%"] = "number", is = is})
    end
    assert.same({["%"] = "number", is = "nan"}, (written(nan)))
    local back <const> = read{["%"] = "number", is = "nan"}
    assert.is_true(back ~= back)
    assert.same({a = {1, "x"}, b = math.huge}, read{a = {1, "x"}, b = {["%"] = "number", is = "inf"}})
    for text, v in pairs{["save: at cannot be saved: a table with the key 'a'"] = {1, a = 2},
      ["save: at cannot be saved: a table with the key 'true'"] = {[true] = 1},
      ["save: at cannot be saved: a table with the key '%'"] = {["%"] = 1},
        ["save: at[2].a cannot be saved: userdata"] = {1, {a = io.stdout}},
      ["save: at cannot be saved: a table with the key '0'"] = {[0] = 1}} do
      assert.equal(text, raises("option", "", written, v).message)
    end
  end)

  it("are tensors by their path, told apart by a number", function()
    local a <const>, b <const> = gb.ones(2), gb.ones(3)
    local w <const> = store.writer()
    assert.same({{["%"] = "tensor", at = "x.a"}, {["%"] = "tensor", at = "x.a~2"}, {["%"] = "tensor", at = "x.a~3"}},
      {w:value(a, "x.a"), w:value(b, "x.a"), w:value(a, "x.a")})
    assert.is_true(rawequal(a, w.tensors["x.a"]) and rawequal(b, w.tensors["x.a~2"]))
    assert.is_true(rawequal(a, read({["%"] = "tensor", at = "t"}, {t = a})))
    for text, v in pairs{["tensor 'u' is missing"] = {["%"] = "tensor", at = "u"}, ["tensor 'nil' is missing"] = {["%"] = "tensor"},
      ["object 3 is missing"] = {["%"] = "object", at = 3}, ["object 1.5 is missing"] = {["%"] = "object", at = 1.5},
      ["objects of class 'x' are unknown to this version"] = {["%"] = "object", at = 1},
        ["objects of class 'nil' are unknown to this version"] = {["%"] = "object", at = 2},
      ["values of kind 'zzz' are unknown to this version"] = {["%"] = "zzz"},
        ["values of kind '3' are unknown to this version"] = {["%"] = 3}} do
      assert.equal(text, raises("format", "", read, v, {t = a}, {{class = "x"}, {}}).message)
    end
  end)

  it("are what a script gives, by path: the same value once", function()
    local function f() end
    local function g() end
    local w <const> = store.writer()
    assert.same({["%"] = "given", name = "m.warp", params = {}}, w:value(f, "m.warp"))
    assert.same({"m.warp", "m.warp~2", "m.warp~2"},
      {w:value(f, "m.warp").name, w:value(g, "m.warp").name, w:value(g, "m.warp").name})
    assert.is_true(rawequal(g, w.given["m.warp~2"]))
    local net <const> = setmetatable({w = gb.param(3), deep = {gb.param{1, 2}}}, {__call = f})
    local out <const> = w:value(net, "net")
    assert.same({["%"] = "given", name = "net", params = {{name = "deep[1]", raw = {["%"] = "tensor", at = "net.deep[1].raw"}},
      {name = "w", raw = {["%"] = "tensor", at = "net.w.raw"}}}}, out)
    local own <const> = setmetatable({w = gb.param(0), deep = {gb.param{0, 0}}}, {__call = f})
    assert.is_true(rawequal(own, read(out, w.tensors, {}, {functions = {net = own}})))
    near({3, {1, 2}}, {own.w, own.deep[1].value:totable()}, 0)
    local other <const> = setmetatable({w = gb.param(0)}, {__call = f})
    assert.equal("'net' has 1 parameters, the one that was saved had 2",
      raises("format", "", read, out, w.tensors, {}, {functions = {net = other}}).message)
    local named <const> = setmetatable({v = gb.param(0), deep = {gb.param{0, 0}}}, {__call = f})
    assert.equal("'net': parameter w (f64 ()) was saved, the one given is v (f64 ())",
      raises("format", "", read, out, w.tensors, {}, {functions = {net = named}}).message)
    local single <const> = setmetatable({w = require "gibbous.param".new(0, nil, "f32"), deep = {gb.param{0, 0}}}, {__call = f})
    assert.equal("'net': parameter w (f64 ()) was saved, the one given is w (f32 ())",
      raises("format", "", read, out, w.tensors, {}, {functions = {net = single}}).message)
    near({0, 0}, single.deep[1], 0)                       -- all or none
    local function missing(name, from) return raises("option", "", read, {["%"] = "given", name = name, params = {}}, {}, {},
      from).message end
    for _, name in ipairs{"warp", "kernel.warp", "kernel[1].warp2", "a.warp12"} do
      assert.equal(("function '%s' is not in the file: give it, gb.load(path, {warp = f})"):format(name), missing(name))
      assert.equal(f, read({["%"] = "given", name = name, params = {}}, {}, {}, {warp = f}))
      assert.equal(g, read({["%"] = "given", name = name, params = {}}, {}, {}, {warp = f, functions = {[name] = g}}))
    end
    for _, name in ipairs{"mean", "unwarp", "warped", "warp.transform"} do
      assert.equal(([[function '%s' is not in the file: give it, gb.load(path, {functions = {["%s"] = f}})]]):format(name, name),
        missing(name, {warp = f}))
    end
    local err <const> = raises("option", "", read, {["%"] = "given", name = "f"})
    assert.equal("f", err.missing)
  end)

  it("are objects, each once, no deeper than 150", function()
    local meta <const> = {__name = "gibbous.test_nest"}
    store.class("gibbous.test_nest", {
      write = function(w, v, path) return {inner = w:value(v.inner, path .. ".in")} end,
      read = function(r, d) return setmetatable({inner = r:value(d.inner)}, meta) end,
    })
    local function nested(n)
      local v = setmetatable({}, meta)
      for _ = 2, n do v = setmetatable({inner = v}, meta) end
      return v
    end
    local one <const> = nested(2)
    local out <const>, w <const> = written{one, one, one.inner}
    assert.same({{["%"] = "object", at = 1}, {["%"] = "object", at = 1}, {["%"] = "object", at = 2}}, out)
    assert.same({{class = "gibbous.test_nest", inner = {["%"] = "object", at = 2}}, {class = "gibbous.test_nest"}}, w.objects)
    local back <const> = read(out, {}, w.objects)
    assert.is_true(rawequal(back[1], back[2]) and rawequal(back[1].inner, back[3]))
    local deep <const>, of <const> = written(nested(150))
    assert.equal(150, #of.objects)
    assert.is_not_nil(read(deep, {}, of.objects))
    assert.equal("save: at" .. (".in"):rep(150) .. " cannot be saved: objects are nested too deep",
      raises("option", "", written, nested(151)).message)
    of.objects[151], of.objects[150] = {class = "gibbous.test_nest"},
      {class = "gibbous.test_nest", inner = {["%"] = "object", at = 151}}
    assert.equal("objects are nested too deep, or in a circle", raises("format", "", read, deep, {}, of.objects).message)
    local many <const> = {}
    for i = 1, 200 do many[i] = nested(1) end
    assert.equal(200, #(select(2, written(many))).objects)
    for _ = 1, 2 do                                       -- the depth is that of one object, not of all
      local r <const> = store.reader({}, w.objects, given())
      for _ = 1, 200 do
        r.made = {}
        r:value(out)
      end
    end
    local r <const> = store.reader({}, w.objects, given())
    assert.equal("gibbous.test_nest", getmetatable(r:of(out[1], "gibbous.test_nest")).__name)
    assert.equal("gibbous.kernel expected, got gibbous.test_nest", raises("format", "", r.of, r, out[1], "gibbous.kernel").message)
    assert.equal("gibbous.kernel expected, got number", raises("format", "", r.of, r, 3, "gibbous.kernel").message)
    assert.equal("a list or object expected, got nil", raises("format", "", r.list, r).message)
  end)

  it("are reports: what is plain in them, and their text", function()
    local meta <const> = object.record("gibbous.test_stored", "the stored report", "absent")
    function meta.__tostring() return "as text" end
    local w <const> = store.writer()
    local inner <const> = setmetatable({v = nan}, {__tostring = function() return "inner" end})
    local out <const> = w:record(setmetatable({a = 1, b = "x", c = true, f = print, t = gb.ones(2), list = {1, 2}, inner = inner,
      [true] = 1, [7] = 2}, meta), "at")
    assert.same({["%"] = "record", class = "gibbous.test_stored", text = "as text", fields = {a = 1, b = "x", c = true,
      list = {["%"] = "record", fields = {1, 2}},
        inner = {["%"] = "record", text = "inner", fields = {v = {["%"] = "number", is = "nan"}}}}}, out)
    assert.is_nil(w:record(nil, "at"))
    assert.equal(3, w:record(3, "at"))
    assert.is_nil(next(w.tensors))
    local back <const> = read(out)
    assert.same({"as text", 1, "x", true, 1, 2, "inner"},
      {tostring(back), back.a, back.b, back.c, back.list[1], back.list[2], tostring(back.inner)})
    assert.is_nil(back.absent)
    assert.same({"gibbous.test_stored", "gibbous.record"}, {getmetatable(back).__name, getmetatable(back.inner).__name})
    assert.is_nil(getmetatable(back.list))
    assert.equal("the stored report has no field 'zzzzzz' (it has a, absent, b, c, inner, list)",
      raises("option", "", function() return back.zzzzzz end).message)
    assert.is_nil(back.inner.zzzzzz)
  end)

  it("find constructors by name", function()
    local r <const> = store.reader({}, {}, given{kernels = {mine = print}})
    assert.is_true(rawequal(K.rbf, r:constructor(K, "rbf", false, "kernel"))
      and rawequal(print, r:constructor(K, "mine", true, "kernel")))
    for text, args in pairs{["kernel 'rbff' is unknown to this version, did you mean 'rbf'?"] = {K, "rbff"},
      ["kernel 'zzzzzzzz' is unknown to this version"] = {K, "zzzzzzzz"},
      ["kernel '3' is unknown to this version"] = {K, 3},
        ["kernel 'x' is unknown to this version, did you mean 'x'?"] = {{x = 3}, "x"}} do
      assert.equal(text, raises("format", "", r.constructor, r, args[1], args[2], false, "kernel").message)
    end
    local err <const> = raises("option", "", r.constructor, r, K, "other", true, "mean")
    assert.same({"mean 'other' is not in the file: give it, gb.load(path, {means = {other = constructor}})", "other"},
      {err.message, err.missing})
  end)

  --- Writes an object, changes its description, and reads it.
  local function again(v, change, from)
    local w <const> = store.writer()
    local top <const> = w:value(v, "at")
    if change then change(w.objects[1], w) end
    return store.reader(w.tensors, w.objects, given(from)):value(top), w
  end

  it("make the same objects again", function()
    local warp <const> = gb.nn.linear(1, 1, {seed = 1})
    for _, v in ipairs{
      gb.param(2, {min = 1, max = 3, fixed = true}), gb.param(0.5, {prior = gb.priors.uniform{}}),
        gb.param(-1, {max = 0, transform = "identity"}),
      gb.priors.normal{mean = 2, sd = 3}, gb.priors.uniform{max = 7}, K.rbf{lengthscale = {1, 2}, active_dims = {2, 1}}:named "n",
      K.spectral_mixture{components = 3}, K.index{tasks = 3, rank = 2}, K.polynomial{degree = 4}, K.arc_cosine{order = 0, ard = 2},
      K.change_point({K.rbf{}, K.linear{}, K.white{}}, {location = {1, 2}, steepness = 0.5, column = 2}),
        3 * (K.rbf{} + K.linear{}):named "s" * K.cosine{},
      K.rbf{}:warp(warp):warp(gb.nn.layer_norm(1)), gb.means.zero(), gb.means.constant(3),
        gb.means.linear{slope = {1, 2}, offset = 3}, gb.means.linear{},
      gb.likelihoods.gaussian{noise = 0.5, min = 0.1}, gb.likelihoods.gaussian{noise = 0.5, floor = 0.1},
        gb.likelihoods.gaussian(0), gb.likelihoods.fixed({1, 2}, {new = 0.3}),
      gb.likelihoods.tasks{1, 2}, gb.likelihoods.heteroscedastic{kernel = K.rbf{}, places = gb.ones(2, 1), noise = 0.5},
      gb.likelihoods.heteroscedastic{log_variance = gb.means.linear{}, noise = 0.5}, gb.nn.linear(2, 3, {bias = false}),
        gb.nn.layer_norm(2, {eps = 0.1}),
      gb.nn.sequential{gb.nn.linear(2, 1), "relu"},
        gb.solvers.cg{tol = 1e-4, probes = 7, precond = gb.precond.pivoted_cholesky{rank = 3}}, gb.solvers.cholesky{jitter = 1e-9},
      gb.solvers.minres{max_iter = 3}, gb.solvers.sdd{batch = 3}, gb.solvers.alternating_projections{block = 7},
        gb.precond.nystrom{rank = 3, seed = 2},
    } do
      local out <const> = again(v)
      assert.equal(tostring(v), tostring(out))
      assert.equal(gb.type(v), gb.type(out))
      local list <const>, names <const> = gb.params(v)
      local others <const>, of <const> = gb.params(out)
      assert.same(names, of)
      for i, p in ipairs(list) do
        assert.same({p.name, p.fixed, p.min, p.max, p.version},
          {others[i].name, others[i].fixed, others[i].min, others[i].max, others[i].version})
        assert.is_true(p.raw:equal(others[i].raw))
      end
    end
    local c <const> = again(gb.likelihoods.gaussian{noise = 0.5, floor = 0.1})
    assert.same({0.1, "gaussian"}, {c.floor, c.kind})
    assert.same({7, 1e-4}, {again(gb.solvers.cg{tol = 1e-4, probes = 7}).probes, again(gb.solvers.cg{tol = 1e-4}).tol})
    local pending <const> = again(K.rbf{ard = true})
    K.resolve_ard(pending, 3)
    assert.equal(3, pending.lengthscale.numel)
    local slope <const> = again(gb.means.linear{})
    gb.means.resolve(slope, 3)
    assert.equal(3, slope.slope.numel)
  end)

  it("are refused by reason", function()
    local function refused(text, v, change, code) assert.equal(text, raises(code or "format", "", again, v, change).message) end
    local sum <const> = K.rbf{} + K.linear{}
    refused("a sum of kernels has 1 parts", sum, function(o) o.parts[2] = nil end)
    refused("a sum of kernels has no parameter 'width'", sum, function(o) o.hyper.width = {["%"] = "object", at = 3} end)
    refused("rbf: parameter 'lengthscale' is missing", K.rbf{}, function(o) o.hyper.lengthscale = nil end)
    refused("rbf: parameter 'zz' is missing", K.rbf{}, function(o) o.pending = {"zz"} end)
    refused("'is' makes no kernel", K.rbf{}, function(o) o.kind = "is" end)
    refused("the mean's parameter 'value' is missing", gb.means.constant(1), function(o) o.hyper = {} end)
    refused("mean 'median' is unknown to this version", gb.means.constant(1), function(o) o.kind = "median" end)
    refused("likelihood 'nil' is unknown to this version", gb.likelihoods.gaussian(1), function(o) o.kind = nil end)
    refused("linear(1, 1): parameter 'bias' is missing or of another shape", gb.nn.linear(1, 1),
      function(o) o.params.bias = nil end)
    refused("linear(1, 2): parameter 'weight' is missing or of another shape", gb.nn.linear(1, 2),
      function(o) o.params.weight = o.params.bias end)
    refused("block 'zzzzzzzz' is unknown to this version", gb.nn.linear(1, 1), function(o) o.kind = "zzzzzzzz" end)
    refused("solver 'zzzzzzzz' is unknown to this version", gb.solvers.cg{}, function(o) o.kind = "zzzzzzzz" end)
    refused("preconditioner 'zzzzzzzz' is unknown to this version", gb.precond.jacobi(), function(o) o.kind = "zzzzzzzz" end)
    refused("prior 'zzzzzzzz' is unknown to this version", gb.priors.normal{}, function(o) o.name = "zzzzzzzz" end)
    refused("a preconditioner's choices are by number of points", gb.precond.jacobi(), function(o) o.choices = {{n = 1.5}} end)
    refused("a list or object expected, got number", gb.precond.jacobi(), function(o) o.choices = {3} end)
    refused("parameter 'p': fixed must be true or false", gb.param(1, {name = "p"}), function(o) o.fixed = 3 end)
    refused("save: at cannot be saved before its places are chosen: fit the model, or give places as inputs (m, d)",
      gb.likelihoods.heteroscedastic{kernel = K.rbf{}}, nil, "option")
    local tent <const> = K.define("rbf", {a = 1}, function(u, v) return (u * v):sum(-1) end)
    refused("kernel 'rbf' is not in the file: give it, gb.load(path, {kernels = {rbf = constructor}})", tent{}, nil, "option")
    assert.equal("rbf{a=1, variance=1}", tostring((again(tent{}, nil, {kernels = {rbf = tent}}))))
    local mean <const> = gb.means.define("m", {a = 1}, function(u) return u:sum(2) end)
    refused("mean 'm' is not in the file: give it, gb.load(path, {means = {m = constructor}})", mean{}, nil, "option")
    assert.equal("m{a=3.0}", tostring((again(mean{a = 3}, nil, {means = {m = mean}}))))
    assert.equal("'m' makes no mean", raises("format", "", again, mean{}, nil, {means = {m = function() return 3 end}}).message)
    local f <const> = gb.func{name = "f", shape = "same", forward = print}
    refused([[function 'f' is not in the file: give it, gb.load(path, {functions = {["f"] = f}})]], f, nil, "option")
    assert.is_true(rawequal(f, (again(f, nil, {functions = {f = f}}))))
    local warped <const> = K.rbf{}:warp(print):warp(select)
    local _, w <const> = again(warped, nil, {functions = {["at.warp"] = print, ["at.warp2"] = select}})
    assert.same({print, select}, {w.given["at.warp"], w.given["at.warp2"]})
    local parts <const> = store.writer()
    parts:value((K.rbf{}:named "trend" + K.linear{}):warp(gb.nn.sequential{gb.nn.linear(1, 1)}), "k")
    local names <const> = {}
    for name in store.sorted(parts.tensors) do names[#names + 1] = name end
    assert.equal("k.trend.lengthscale.raw k.trend.variance.raw k.warp[1].bias.raw k.warp[1].weight.raw k[2].variance.raw",
      table.concat(names, " "))
  end)
end)

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

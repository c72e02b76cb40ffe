--- Objects of the library against slips: a dot for a colon, misspelt fields, assignments.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local x <const> = gb.rand(12, 1, {seed = 1}):eval()
local y <const> = (5 * x):sin():squeeze(2):eval()

local function model()
  return gb.gp.exact{kernel = K.rbf{lengthscale = 0.3}, mean = gb.means.constant(0.5), noise = 0.1, solver = "direct"}
end

local function tasks() return gb.gp.multitask{kernel = K.rbf{}, tasks = 2} end

describe("a method called with a dot", function()
  local function slips(object, name, var, ...)
    return raises("option", ("write %s:%s(...) with a colon, not %s.%s(...)"):format(var, name, var, name), object[name], ...)
  end

  it("names the method, the colon and the script's line", function()
    local m <const> = model()
    local ok <const>, err <const> = pcall(function() m.fit(x, y) end)
    local line <const> = debug.getinfo(1, "l").currentline - 1
    assert.is_false(ok)
    assert.equal("fit is a method of a model: write m:fit(...) with a colon, not m.fit(...)", err.message)
    assert.matches("object_spec.lua:" .. line .. "$", err.line)
  end)

  it("is noticed by every method of every class", function()
    local m <const> = model():condition(x, y)
    local p <const> = m:predict(x)
    for _, name in ipairs{"condition", "draw", "fit", "get", "leave_one_out", "log_marginal_likelihood", "plan", "predict", "save",
      "score", "set"} do
      slips(m, name, "m", x, y)
      slips(tasks(), name, "m", x, y)
    end
    for _, name in ipairs{"interval", "sample"} do
      slips(p, name, "p", 0.9)
      slips(tasks():predict(x), name, "p", 0.9)
    end
    for _, name in ipairs{"copy", "diag", "named", "warp"} do slips(m.kernel, name, "k", x) end
    slips(K.index{tasks = 2}, "matrix", "k")
    slips(K.spectral_mixture{components = 2}, "init", "k", x, y)
    slips(m.mean, "copy", "m")
    slips(m.likelihood, "copy", "l")
    slips(gb.priors.normal{}, "log_density", "prior", x)
    for _, make in ipairs{gb.solvers.cg, gb.solvers.cholesky, gb.solvers.minres} do slips(make{}, "solve", "solver", x, y) end
    slips(gb.solvers.lanczos{}, "logdet", "solver", x)
    slips(gb.optim.adam(gb.param(1)), "step", "opt", function() end)
    slips(gb.optim.lbfgs(gb.param(1)), "step", "opt", function() end)
    slips(gb.plot.figure{}, "line", "fig", x, y)
    local _, scaler <const> = gb.data.standardize(x)
    slips(scaler, "undo", "scaler", x)
    local z <const> = gb.rand(2, 1, 1, {seed = 2})
    slips(m:condition(z, gb.zeros(2, 1)), "predict", "f", x)
  end)

  it("takes no object of another class for its own", function()
    raises("option", "fit is a method of a model", model().fit, tasks(), x, y)
  end)
end)

describe("assigning to a field", function()
  it("gives a parameter its value, within its bounds", function()
    local m <const> = model():condition(x, y)
    local before <const> = m:predict(x).mean:totable()
    m.kernel.lengthscale = 3
    m.mean.value = 7
    m.likelihood.noise = 0.5
    near(3, m:get "kernel.lengthscale".value, 1e-14)
    near(7, m:get "mean.value".value, 0)
    near(0.5, m:get "likelihood.noise".value, 1e-14)
    local want <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 3}, mean = gb.means.constant(7), noise = 0.5}:condition(x, y)
    near(want:predict(x).mean, m:predict(x).mean, 1e-9)
    assert.is_true(math.abs(m:predict(x).mean:totable()[1] - before[1]) > 1e-3)
    local ok <const>, err <const> = pcall(function() m.kernel.lengthscale = -1 end)
    assert.is_false(ok)
    assert.matches("parameter 'lengthscale' = %-1.0 is not inside its bounds", err.message)
    assert.matches("object_spec.lua:%d+$", err.line)
    near(3, m:get "kernel.lengthscale".value, 1e-14)
  end)

  it("reaches the parts of a kernel, lists and the noise of tasks", function()
    local k <const> = K.rbf{lengthscale = {1, 2}}:named "trend" + K.periodic{}
    k.trend.lengthscale = {3, 4}
    k[2].period = 5
    near({3, 4}, k.trend.lengthscale.value, 1e-14)
    near(5, k[2].period.value, 1e-14)
    local m <const> = tasks()
    m.likelihood.noise = {0.1, 0.2}
    near({0.1, 0.2}, m:get "likelihood.noise".value, 1e-14)
    local h <const> = gb.likelihoods.heteroscedastic{kernel = K.rbf{lengthscale = 1}, places = x}
    h.kernel.lengthscale = 2
    h.latent = gb.ones(12)
    near(gb.ones(12), h.latent.value, 0)
    near(2, h.kernel.lengthscale.value, 1e-14)
  end)

  it("changes nothing else", function()
    local m <const> = model()
    local function refused(text, f) raises("option", text, f) end
    refused("'lengthscale' takes a value: pass a gb.param to the constructor instead", function()
      m.kernel.lengthscale = gb.param(1, {min = 0.1})
    end)
    refused("'active_dims' is chosen when a kernel is made", function() m.kernel.active_dims = {1} end)
    refused("'kind' is chosen when a kernel is made", function() m.kernel.kind = "matern32" end)
    refused("parts are chosen when a kernel is made", function() m.kernel[1] = K.rbf{} end)
    refused("'form' is chosen when a mean is made", function() m.mean.form = print end)
    refused("'floor' of a likelihood cannot change once it is made", function() m.likelihood.floor = 1 end)
    refused("'noise' of a likelihood cannot change once it is made", function()
      gb.likelihoods.fixed(gb.ones(3)).noise = gb.zeros(3)
    end)
    refused('to set the parameter, m:set("kernel.lengthscale", v)', function() m.lengthscale = 3 end)
    refused("it is chosen when a model is made: gb.gp.exact{kernel = ...}", function() m.kernel = K.rbf{} end)
    refused("it is chosen when a model is made: gb.gp.multitask{solver = ...}", function() tasks().solver = "direct" end)
    refused("data are given to m:fit(x, y) or m:condition(x, y)", function() m.y = y end)
    refused("m:set sets parameters by their paths", function() m.nothing = y end)
  end)
end)

describe("a field that does not exist", function()
  it("raises with the nearest, or with all where they are few", function()
    local m <const> = model():condition(x, y)
    local function missing(text, f) raises("option", text, f) end
    missing("the kernel rbf has no field 'lengthscal' (did you mean 'lengthscale'?)", function() return m.kernel.lengthscal end)
    missing("the kernel rbf has no field 'lengthscal' (did you mean 'lengthscale'?)", function() m.kernel.lengthscal = 2 end)
    missing("the kernel rbf has no field 'exp' (it has copy, diag, lengthscale, named, variance, warp)", function()
      return m.kernel:exp()
    end)
    missing("has no field 'tred' (did you mean 'trend'?)", function() return (K.rbf{}:named "trend" + K.rbf{}).tred end)
    missing("the constant mean has no field 'valu' (did you mean 'value'?)", function() return m.mean.valu end)
    missing("a likelihood has no field 'nois' (did you mean 'noise'?)", function() return m.likelihood.nois end)
    missing("a model has no field 'predct' (did you mean 'predict'?)", function() return m.predct end)
    missing("a model has no field 'kernl' (did you mean 'kernel'?)", function() return m.kernl end)
    missing("a prediction has no field 'mena' (did you mean 'mean'?)", function() return m:predict(x).mena end)
    missing("a prediction has no field 'var': f_var of the function", function() return m:predict(x).var end)
    assert.is_nil(m.kernel.active_dims)
    assert.is_nil(K.linear{}.lengthscale)
    assert.is_nil(m.kernel[2])
  end)

  it("of a report raises too, and those that may be absent are nil", function()
    local m <const> = model()
    local info <const> = m:fit(x, y, {steps = 2})
    raises("option", "the report of a fit has no field 'convergd' (did you mean 'converged'?)", function() return info.convergd end)
    assert.is_nil(info.noise_floor)
    assert.is_nil(info.why)
    raises("option", "the report of a prediction has no field 'ranks'", function() return m:predict(x).info.ranks end)
    assert.is_nil(m:predict(x).info.rank)
    raises("option", "an update has no field 'row' (did you mean 'rows'?)", function()
      m:predict(x).mean:eval()
      return m.update.row
    end)
    raises("option", "has no field 'convergd'", function()
      local p <const> = gb.param(1)
      return gb.optim.minimize(function() return p * p end, p, {steps = 1}).convergd
    end)
    raises("option", "has no field 'nlpdd'", function() return m:leave_one_out().nlpdd end)
    local auto <const> = gb.gp.exact{kernel = K.rbf{}}:fit(x, y, {steps = 1})
    raises("option", "the choice of a solver has no field 'resaon' (did you mean 'reason'?)", function() return auto.why.resaon end)
  end)

  it("of what is made once raises, and so does an assignment", function()
    local S <const>, P <const>, C <const> = gb.solvers, gb.priors, gb.precond
    local function refused(text, f) raises("option", text, f) end
    local prior <const>, cg <const>, nystrom <const> = P.gamma{shape = 2, rate = 1}, S.cg{}, C.nystrom{rank = 5}
    local cubic <const> = P.define("cubic", {at = 1}, function(v, o) return -((v - o.at) ^ 2) end){}
    refused("'shape' is chosen when a prior is made: gb.priors.gamma{shape = ...}", function() prior.shape = 9 end)
    refused("'at' is chosen when a prior is made: cubic{at = ...}", function() cubic.at = 9 end)
    refused("a prior has no field 'meen' (did you mean 'mean'?)", function() return P.normal{mean = 1, sd = 1}.meen end)
    refused("a prior has no field 'meen' (did you mean 'mean'?)", function() P.normal{}.meen = 1 end)
    refused("'max_iter' is chosen when a solver is made: gb.solvers.cg{max_iter = ...}", function() cg.max_iter = 1 end)
    refused("'precision' is chosen when a solver is made", function() cg.precision = "mixed" end)
    refused("a solver has no field 'max_itr' (did you mean 'max_iter'?)", function() cg.max_itr = 1 end)
    refused("'rank' is chosen when a preconditioner is made: gb.precond.nystrom{rank = ...}", function() nystrom.rank = 3 end)
    refused("a preconditioner has no field 'rnk' (did you mean 'rank'?)", function() nystrom.rnk = 3 end)
    refused("a preconditioner has no field 'rnk'", function() return C.jacobi{}.rnk end)
    for _, name in ipairs{"alternating_projections", "cg", "cholesky", "lanczos", "minres", "sdd"} do
      refused("a solver has no field 'foo'", function() return S[name]{}.foo end)
      refused("a solver has no field 'foo'", function() S[name]{}.foo = 1 end)
    end
    for _, one in ipairs{{"sdd", "batch"}, {"minres", "tol"}, {"alternating_projections", "block"}, {"lanczos", "steps"},
      {"cholesky", "jitter"}} do
      refused(("gb.solvers.%s{%s = ...}"):format(one[1], one[2]), function() S[one[1]]{}[one[2]] = 1 end)
      assert.equal("number", type(S[one[1]]{}[one[2]]))
    end
    assert.same({2, 1, 1000, 5, "gamma"}, {prior.shape, prior.rate, cg.max_iter, nystrom.rank, prior.name})
    assert.is_nil(cg.precond)
    assert.is_nil(cg.probes)
    assert.is_nil(nystrom.seed)
    assert.is_nil(C.pivoted_cholesky{}.rank)
    refused("a scaler has no field 'men'", function() return select(2, gb.data.standardize(x)).men end)
    refused("an optimiser has no field 'l_r' (did you mean 'lr'?)", function() gb.optim.adam(gb.param(1)).l_r = 1 end)
    refused("an optimiser has no field 'foo'", function() return gb.optim.lbfgs(gb.param(1)).foo end)
    refused("step is a method of an optimiser: write opt:step(...) with a colon", function() gb.optim.adam(gb.param(1)).step() end)
    refused("the report of gb.time has no field 'medain' (did you mean 'median'?)", function()
      return gb.bench(function() end, {runs = 1, seconds = 1e-9}).medain
    end)
    refused("the report of gb.profile has no field 'fold' (did you mean 'folds'?)", function()
      return gb.profile(function() end).fold
    end)
    refused("the memory report has no field 'foo'", function() return gb.memory.report().foo end)
    raises("index", "gb.memory.reprot does not exist, did you mean gb.memory.report?", function() return gb.memory.reprot end)
  end)

  it("of a report from a file raises as that of the fit did", function()
    local m <const> = model()
    m:fit(x, y, {steps = 2})
    local path <const> = support.path()
    m:save(path)
    local info <const> = gb.load(path).info
    support.sweep()
    assert.equal(tostring(m.info), tostring(info))
    assert.is_nil(info.noise_floor)
    raises("option", "the report of a fit has no field 'convergd'", function() return info.convergd end)
  end)
end)

describe("a parameter's path", function()
  it("that is only its end is found with its beginning", function()
    local m <const> = model()
    raises("option", "the model has no parameter 'lengthscale' (did you mean 'kernel.lengthscale'?)", m.get, m, "lengthscale")
    local two <const> = gb.gp.exact{kernel = K.rbf{} + K.rbf{}}
    raises("option", "(did you mean 'kernel[1].lengthscale' or 'kernel[2].lengthscale'?)", two.set, two, "lengthscale", 1)
    raises("option", "(it has kernel.lengthscale, kernel.variance, likelihood.noise, mean.value)", m.get, m, "qqq")
  end)

  it("cannot have names that kernels and means use themselves", function()
    raises("option", "gb.kernels.define: 'label' cannot be the name of a parameter", K.define, "k", {label = 1}, function() end)
    raises("option", "gb.means.define: 'kind' cannot be the name of a parameter", gb.means.define, "m", {kind = 1}, function() end)
  end)
end)

describe("what a model is made of", function()
  local function made(text, o) raises("option", text, gb.gp.exact, o) end

  it("is told apart from constructors that were not called, and from numbers", function()
    made("option 'kernel' must be a gb.kernels value, got the function gb.kernels.rbf: call it, gb.kernels.rbf{}", {kernel = K.rbf})
    made("option 'mean' must be a gb.means value (gb.means.constant(0) for a number)", {kernel = K.rbf{}, mean = 0})
    made("got the function gb.means.constant: call it, gb.means.constant()", {kernel = K.rbf{}, mean = gb.means.constant})
    made("option 'likelihood' must be a gb.likelihoods value, got number 0.1", {kernel = K.rbf{}, likelihood = 0.1})
    made("got the function gb.solvers.cg: call it, gb.solvers.cg{}", {kernel = K.rbf{}, solver = gb.solvers.cg})
    made("a kernel is needed: gb.gp.exact{kernel = gb.kernels.rbf{}}", {noise = 0.1})
    made("gb.gp.exact: options must be a table, got kernel", K.rbf{})
    made("gb.gp.exact: options have names, {kernel = ...}: got a value without one", {K.rbf{}})
    raises("option", "option 'kernel' must be a gb.kernels value", gb.gp.multitask, {kernel = K.rbf, tasks = 2})
    raises("option", "both sides must be kernels, got a kernel and a tensor", function() return K.rbf{} * x end)
  end)

  it("may name its solver", function()
    local names <const> = '"auto", "direct", "cg", "cholesky", "minres", "sdd", "alternating_projections" or a gb.solvers value, '
      .. "got "
    made("option 'solver' must be " .. names .. "string foo", {kernel = K.rbf{}, solver = "foo"})
    made("got string CG, did you mean cg?", {kernel = K.rbf{}, solver = "CG"})
    made("got kernel", {kernel = K.rbf{}, solver = K.rbf{}})
    raises("option", 'must be "auto", "direct", "kronecker", "cg"', gb.gp.multitask, {kernel = K.rbf{}, tasks = 2, solver = "foo"})
    local want <const> = model():condition(x, y):log_marginal_likelihood():item()
    for _, name in ipairs{"cg", "cholesky", "minres"} do
      local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.3}, mean = gb.means.constant(0.5), noise = 0.1,
        solver = name}
      assert.equal(name, m.solver)
      assert.matches("^" .. name .. "%(", m:fit(x, y, {steps = 0}).solver)
      near(want, m:log_marginal_likelihood(), 1)              -- of probes
      local path <const> = support.path()
      m:save(path)
      assert.equal(name, gb.load(path).solver)
      support.sweep()
    end
    local narrow <const> = gb.gp.exact{kernel = K.rbf{}, solver = "cg"}
    assert.matches("^cg%(tol 0.001,", narrow:fit(x:to{dtype = "f32"}, y:to{dtype = "f32"}, {steps = 0}).solver)
    local several <const> = gb.gp.multitask{kernel = K.rbf{}, tasks = 2, solver = "cg"}
    assert.matches("^cg%(", several:fit(x, gb.randn(12, 2, {seed = 3}), {steps = 1}).solver)
  end)

  it("has names other libraries use", function()
    local function field(part, name) return function() return part[name] end end
    raises("index", "gb.kernels.matern does not exist: gb.kernels.matern12, matern32 and matern52", field(K, "matern"))
    raises("index", "gb.kernels.RBF does not exist, did you mean gb.kernels.rbf?", field(K, "RBF"))
    raises("index", "gb.kernels.SquaredExponential", field(K, "SquaredExponential"))
    raises("option", "gb.likelihoods.binomial is not in this version", field(gb.likelihoods, "binomial"))
    local m <const> = model()
    raises("option", "one of lbfgs, adam, sgd, got string L-BFGS, did you mean lbfgs?", m.fit, m, x, y, {method = "L-BFGS"})
    raises("option", "unknown option 'optimizer'; known: budget, ftol, inputs, lr, method", m.fit, m, x, y, {optimizer = "adam"})
  end)

  it("is fitted to tensors of one dtype, and says how to make them", function()
    local m <const> = model()
    raises("dtype", 'x is f32, y is f64; y:to{dtype = "f32"} or x:to{dtype = "f64"}', m.fit, m, x:to{dtype = "f32"}, y)
    raises("option", "fit: x must be a tensor, got a list: gb.tensor(list) makes one of it", m.fit, m, {1, 2}, {1, 2})
    raises("option", "fit: y must be a tensor, got a list: gb.tensor(list)", m.fit, m, gb.tensor{1, 2}, {1, 2})
    raises("option", "predict: x must be a tensor, got a list", m.predict, m, {1, 2})
    raises("option", "must return a tensor of one element, got shape 3", gb.optim.minimize, function() return gb.ones(3) end,
      gb.param(1))
  end)
end)

describe("a kernel of one's own", function()
  local asym <const> = K.define("asym", {a = 1}, function(p, q, v) return (p * q + p):sum(-1) * v.a end)
  local nan <const> = K.define("nanny", {a = 1}, function(p, q, v) return (p * q - 1):log():sum(-1) * v.a end)
  local far <const> = K.define("faraway", {a = 1}, function(p, q, v)
    local s <const> = ((p - q) ^ 2):sum(-1)
    return gb.where(s:gt(0.25), 0 / 0, (-s):exp() * v.a)
  end)

  it("that is not symmetric is named with the worst pair of the first and the last rows", function()
    local skew <const> = gb.kernels.define("skew", {}, function(p, q) return (2 * p + q):sum(-1) end)
    local m <const> = gb.gp.exact{kernel = skew{}, noise = 1}
    local err = raises("option", "", m.condition, m, gb.tensor{0, 10, 0, 3, 5}, gb.ones(5))
    assert.equal("kernel 'skew' is not symmetric: k(a, b) = 23, but k(b, a) = 16, for rows 2 and 4 of x", err.message)
    err = raises("option", "", m.condition, m, gb.tensor{1, 2, 3}, gb.ones(3))
    assert.equal("kernel 'skew' is not symmetric: k(a, b) = 5, but k(b, a) = 7, for rows 1 and 3 of x", err.message)
  end)

  it("that is not symmetric is named, with a pair", function()
    local text <const> = "kernel 'asym' is not symmetric: k(a, b) = %-?[%d.]+, but k(b, a) = %-?[%d.]+, for rows %d+ and %d+ of x"
    for _, k in ipairs{asym{}, K.rbf{} + asym{}, K.rbf{} * asym{}, asym{}:warp(function(t) return t * 2 end)} do
      local m <const> = gb.gp.exact{kernel = k}
      local err <const> = raises("option", "kernel 'asym' is not symmetric", m.fit, m, x, y)
      assert.matches(text:gsub("[()]", "%%%0"), err.message)
      raises("option", "kernel 'asym' is not symmetric", m.condition, m, x, y)
    end
    local several <const> = gb.gp.multitask{kernel = asym{}, tasks = 2}
    raises("option", "kernel 'asym' is not symmetric", several.fit, several, x, gb.zeros(12, 2))
  end)

  it("is looked at in four pairs of the first and the last rows, up to rounding", function()
    local checks <const> = require "gibbous.gp.kernel_checks"
    local function kernel(f) return K.define("lean", {}, f){} end
    local lean <const> = kernel(function(p, q) return 1 + (p - q):sum(-1) end)
    local function seen(k, t) return not pcall(checks.symmetric, k, t) end
    local function odd_row(i, n)
      local values <const> = {}
      for row = 1, n do values[row] = {row == i and 1 or 0} end
      return seen(lean, gb.tensor(values))
    end
    local found <const> = {}
    for i = 1, 12 do found[i] = odd_row(i, 12) end
    assert.same({true, true, true, true, false, false, false, false, true, true, true, true}, found)
    assert.same({true, true, false, true, false}, {odd_row(1, 2), odd_row(1, 3), odd_row(2, 3), odd_row(3, 3), odd_row(1, 1)})
    for dtype, bound in pairs{f64 = 1e-8, f32 = 1e-3} do
      local function leaning(by)
        return seen(kernel(function(p, q) return 1 + (p - q):sum(-1) * by end), gb.tensor({{0}, {1}}, {dtype = dtype}))
      end
      assert.same({false, true}, {leaning(0.45 * bound), leaning(0.8 * bound)})
    end
    local pair <const> = gb.tensor{{0}, {1}}
    assert.is_false(seen(kernel(function(p, q) return (p - q):sum(-1) * 0 end), pair))
    assert.is_false(seen(kernel(function(p, q) return (p - q):sum(-1) / 0 end), pair))
    assert.is_false(seen(K.rbf{}, pair))
    local growing <const> = kernel(function(p, q) return (p * q):sum(-1) * (1 + 1e-13 * (p - q):sum(-1)) end)
    assert.is_false(seen(growing, gb.tensor{{1}, {1}, {1}, {1e4}}))    -- by the largest of all
    local two <const> = K.define("other", {}, function(p, q) return (p - 2 * q):sum(-1) end)
    raises("option", "kernel 'lean' or 'other' is not symmetric", checks.symmetric, lean + two{} + two{}, pair)
  end)

  it("names rows as the user has them", function()
    local checks <const> = require "gibbous.gp.kernel_checks"
    local names <const> = {}
    for i = 1, 4 do names[i] = checks.rows_of_tasks(3)(i) end
    assert.same({"1 (task 1)", "1 (task 2)", "1 (task 3)", "2 (task 1)"}, names)
    local of_points <const> = checks.rows_of_points(gb.tensor{{5, 6, 2}, {7, 8, 1}, {5, 7, 1}}, gb.tensor{{7, 8}, {5, 6}, {1, 1}})
    assert.same({"2 (task 2)", "1 (task 1)", "3 of the values (task 1)"}, {of_points(1), of_points(2), of_points(3)})
    local hole <const> = K.define("hole", {}, function(p, q) return gb.where((p - q):abs():sum(-1):gt(1), math.huge, 1) end)
    assert.equal("kernel 'hole' gives k(a, b) = inf for rows 2 and 3 of x", checks.not_finite(hole{}, gb.tensor{{1}, {0.2}, {1.9}}))
    assert.equal("kernel 'mine' (hole) gives k(a, b) = inf for rows b and c of x",
      checks.not_finite(K.rbf{} * hole{}:named "mine", gb.tensor{{1}, {0.2}, {1.9}}, function(i) return ("abc"):sub(i, i) end))
    assert.is_nil(checks.not_finite(hole{}, gb.tensor{{0}, {1}}))
  end)

  it("is named by the rows of x of a model of several outputs", function()
    local y2 <const> = gb.randn(12, 2, {seed = 4}):eval()
    local text <const> = "for rows (%d+) %(task [12]%) and (%d+) %(task [12]%) of x"
    for _, missing in ipairs{false, true} do
      local m <const> = gb.gp.multitask{kernel = asym{}, tasks = 2, noise = 1}
      local z <const> = missing and gb.where((gb.range(1, 24, 1, {dtype = "f64"}):reshape(12, 2)):eq(3), 0 / 0, y2) or y2
      local err <const> = raises("option", "kernel 'asym' is not symmetric", m.fit, m, x, z, {missing = "mask"})
      local i <const>, j <const> = err.message:match(text)
      assert.is_true(i ~= nil and tonumber(i) <= 2 and tonumber(j) >= 11 and tonumber(j) <= 12, err.message)
    end
    local late <const> = K.define("late", {a = 1}, function(p, q, v) return (0.01 - p):sqrt():sum(-1) * q:sum(-1) * v.a end)
    local m <const> = gb.gp.multitask{kernel = late{}, tasks = 2, noise = 1}
    raises("nan", "NaN for row 2 (task 1) of x", m.fit, m, gb.tensor{0.0, 0.02, 0.01}, gb.zeros(3, 2))
  end)

  it("is named by what is predicted without data", function()
    for _, k in ipairs{asym{}, K.rbf{} + asym{}} do
      raises("option", "kernel 'asym' is not symmetric", function() return gb.gp.exact{kernel = k, noise = 1}:predict(x).f_cov end)
      raises("option", "kernel 'asym' is not symmetric", function() gb.gp.exact{kernel = k, noise = 1}:predict(x):sample(1) end)
    end
    raises("nan", "sample: kernel 'nanny' gives k(a, a) = NaN for row 1 of x", function()
      gb.gp.exact{kernel = K.rbf{} + nan{}, noise = 1}:predict(x):sample(1)
    end)
    raises("nan", "sample: kernel 'nanny' gives k(a, a) = NaN for row 1 (task 1) of x", function()
      gb.gp.multitask{kernel = nan{}, tasks = 2, noise = 1}:predict(x):sample(1)
    end)
    raises("option", "for rows 1 (task 1) and 11 (task 1) of x", function()
      return gb.gp.multitask{kernel = asym{}, tasks = 2, noise = 1}:predict(x).f_cov
    end)
    raises("nan", "sample: the point in row 2 is not finite", function()
      gb.gp.exact{kernel = K.rbf{}, noise = 1}:predict(gb.tensor{1, 0 / 0, 3}):sample(1)
    end)
  end)

  it("that gives NaN is named, with the rows", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{} + nan{}:named "odd"}
    raises("nan", "fit: kernel 'odd' (nanny) gives k(a, a) = NaN for row 1 of x", m.fit, m, x, y)
    local by_solver <const> = gb.gp.exact{kernel = nan{}, solver = "cg"}
    raises("nan", "fit: kernel 'nanny' gives k(a, a) = NaN for row 1 of x", by_solver.fit, by_solver, x, y)
    local apart <const> = gb.gp.exact{kernel = K.rbf{} * far{}}:condition(x, y)
    raises("nan", "predict: kernel 'faraway' gives k(a, b) = NaN for rows ", function() return apart:predict(x).mean:eval() end)
  end)
end)

describe("priors of one's own", function()
  local P <const> = gb.priors
  local cubic <const> = P.define("cubic", {at = 1, width = 2}, function(v, o) return -((v - o.at) / o.width):abs() ^ 3 end)

  it("are made by gb.priors.define, print, and are kept in files by name", function()
    local p <const> = cubic{width = 3}
    assert.equal("cubic(at=1, width=3)", tostring(p))
    near(-8 / 27, p:log_density(gb.tensor(3)), 1e-15)
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = gb.param(0.5, {min = 0, prior = p})}}
    near(p:log_density(m.kernel.lengthscale.value), m:fit(x, y, {steps = 0}).log_prior, 1e-12)
    local path <const> = support.path()
    m:save(path)
    raises("option", "prior 'cubic' is not in the file: give it, gb.load(path, {priors = {cubic = constructor}})", gb.load, path)
    local l <const> = gb.load(path, {priors = {cubic = cubic}})
    support.sweep()
    assert.equal(tostring(m), tostring(l))
  end)

  it("are refused where they are something else", function()
    local duck <const> = {log_density = function() return gb.tensor(0) end}
    raises("option", "option 'prior' must be a gb.priors value (gb.priors.define makes one's own), got table", gb.param, 1,
      {prior = duck})
    raises("option", "must be a gb.priors value", function() gb.param(1).prior = duck end)
    raises("option", "cubic: unknown option 'widht', did you mean 'width'?", cubic, {widht = 1})
    raises("option", "the settings must be a table of numbers by name", P.define, "p", {a = "x"}, function() end)
    raises("option", "the third argument must be a function", P.define, "p", {})
    local bad <const> = P.define("bad", {}, function() return 1 end)
    raises("option", "prior 'bad' must give a tensor of log densities, got number", bad{}.log_density, bad{}, gb.tensor(1))
  end)
end)

describe("a gb.param in several models", function()
  local function folds() return x:slice(1, 1, 6), y:slice(1, 1, 6), x:slice(1, 7, 12), y:slice(1, 7, 12) end

  it("is named by the report of the fit that moves another model's predictions", function()
    local x1 <const>, y1 <const>, x2 <const>, y2 <const> = folds()
    local p <const> = gb.param(0.5, {min = 0.05})
    local function fold(a, b)
      local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = p}, noise = 0.1, solver = "direct"}
      return m, m:fit(a, b, {steps = 3})
    end
    local one <const>, first <const> = fold(x1, y1)
    assert.same({}, first.shared)
    assert.same({}, one:fit{steps = 1}.shared)
    local before <const> = one:predict(x2).mean:totable()
    local _, second <const> = fold(x2, y2)
    assert.same({"kernel.lengthscale"}, second.shared)
    assert.matches("shared with a model fitted before, whose predictions change too: kernel.lengthscale", tostring(second))
    assert.is_true((one:predict(x2).mean - gb.tensor(before)):abs():max():item() > 1e-8)
    p.fixed = true
    local _, third <const> = fold(x1, y1)
    assert.same({}, third.shared)
  end)

  it("is apart in a copy, where what is tied stays tied", function()
    local x1 <const>, y1 <const>, x2 <const>, y2 <const> = folds()
    local p <const> = gb.param(0.5, {min = 0.05, prior = gb.priors.gamma{shape = 2, rate = 2}})
    local proto <const> = gb.gp.exact{kernel = K.rbf{lengthscale = p} + K.matern32{lengthscale = p}, noise = 0.1, solver = "direct"}
    local one <const>, two <const> = proto:copy(), proto:copy()
    one:fit(x1, y1, {steps = 3})
    local before <const> = one:predict(x2).mean:totable()
    assert.same({}, two:fit(x2, y2, {steps = 3}).shared)
    near(before, one:predict(x2).mean, 1e-14)
    near(0.5, p.value, 0)
    local k <const> = two.kernel
    assert.is_true(rawequal(k[1].lengthscale, k[2].lengthscale) and not rawequal(k[1].lengthscale, p))
    assert.equal(0.05, k[1].lengthscale.min)
    local again <const> = one:copy()
    near(before, again:predict(x2).mean, 1e-14)
    again:fit{steps = 3}
    near(before, one:predict(x2).mean, 1e-14)
  end)

  it("is not what a copy predicts from, once that has another value", function()
    local both <const> = gb.cat({y:unsqueeze(2), -y:unsqueeze(2)}, 2):eval()
    local f32 <const> = {dtype = "f32"}
    local function exact(noise, dtype)
      return gb.gp.exact{kernel = K.rbf{lengthscale = 0.3}, noise = noise, solver = "direct"}:condition(x:to(dtype), y:to(dtype))
    end
    local makers <const> = {
      function(noise) return exact(noise, {dtype = "f64"}) end,
      function(noise) return exact(noise, f32) end,                    -- whose predictions a twin in f64 computes
      function(noise) return gb.gp.multitask{kernel = K.rbf{lengthscale = 0.3}, tasks = 2, noise = noise}:condition(x, both) end,
    }
    for i, make in ipairs(makers) do
      local at <const> = i == 2 and x:to(f32) or x
      local m <const> = make(1e-6)
      local before <const> = m:predict(at).mean:eval()
      local c <const> = m:copy()
      assert.is_nil(c.update)
      near(before, c:predict(at).mean, 1e-6)
      c:set("likelihood.noise", 0.5)
      near(make(0.5):predict(at).mean, c:predict(at).mean, 1e-6)
      assert.is_true((c:predict(at).mean - before):abs():max():item() > 1e-3)
      near(before, m:predict(at).mean, 0)
      assert.is_true(m:predict(at).info.reused)
    end
  end)

  it("is apart in a copy of a model of several outputs", function()
    local m <const> = gb.gp.multitask{kernel = K.rbf{lengthscale = gb.param(0.5, {min = 0.05})}, tasks = 2}
    m:fit(x, gb.cat({y:unsqueeze(2), -y:unsqueeze(2)}, 2), {steps = 2})
    local before <const> = m:predict(x).mean:totable()
    local other <const> = m:copy()
    near(before, other:predict(x).mean, 0)
    other:fit(x, gb.randn(12, 2, {seed = 9}), {steps = 2})
    near(before, m:predict(x).mean, 0)
    assert.is_true((other:predict(x).mean - gb.tensor(before)):abs():max():item() > 1e-6)
  end)
end)

describe("y that does not vary", function()
  it("has a noise floor by its size, so that fits end", function()
    for _, c in ipairs{3, 0, 0.1} do
      for _, mean in ipairs{gb.means.zero(), gb.means.constant(0)} do
        local m <const> = gb.gp.exact{kernel = K.rbf{}, mean = mean, solver = "direct"}
        local info <const> = m:fit(x, gb.full({12}, c))
        assert.is_true(info.converged, info.reason)
        assert.is_true(m:get "likelihood.noise".value:item() >= 1e-6 * (c == 0 and 1 or c * c))
        near(gb.full({12}, c), m:predict(x).mean, 1e-2)
      end
    end
  end)
end)

describe("classes of the library", function()
  local object <const> = require "gibbous.base.object"

  it("of reports know their fields, those that may be absent, and what is private", function()
    local t <const> = setmetatable({first = 1}, object.record("gibbous.test_report", "a thing", "second third"))
    assert.same({1}, {t.first, t.second, t.third, t._private, t[1], t[true]})
    raises("option", "a thing has no field 'secnd' (did you mean 'second'?)", function() return t.secnd end)
    raises("option", "a thing has no field 'x_' (it has first, second, third)", function() return t.x_ end)
    assert.equal(getmetatable(t).__index, object.record_index "gibbous.test_report")
    assert.is_nil(object.record_index "gibbous.no_report")
    local names <const> = {}
    for i = 1, 41 do names[i] = "f" .. i end
    local many <const> = setmetatable({}, object.record("gibbous.test_many", "a thing", table.concat(names, " ")))
    local err <const> = raises("option", "", function() return many.zzzzzz end)
    assert.equal("a thing has no field 'zzzzzz'", err.message)
    local eight <const> = setmetatable({}, object.record("gibbous.test_eight", "a thing", "aa bb cc dd ee ff gg hh"))
    raises("option", "a thing has no field 'zzzzzz' (it has aa, bb, cc, dd, ee, ff, gg, hh)", function() return eight.zzzzzz end)
  end)

  it("that are made once and never changed know their methods, options and facts", function()
    local meta <const> = {size = function() return 7 end, __len = function() return 3 end}
    object.settle(meta, "a thing", "later last")
    local function refused(text, f) assert.equal(text, raises("option", "", f).message) end
    local t <const> = object.made(meta, {o = {rate = 2}, kind = "k", inner = {}, run = print, _kept = 5}, "gb.thing",
      {rate = "number", seed = "count"})
    assert.same({7, 2, "k", 5, 3}, {t:size(), t.rate, t.kind, t._kept, #t})
    for _, key in ipairs{"seed", "later", "last", "_other", "__len", "__x"} do assert.is_nil(t[key], key) end
    local known <const> = " (it has kind, rate, seed, size)"
    refused("a thing has no field 'zzz'" .. known, function() return t.zzz end)
    refused("a thing has no field '3'" .. known, function() return t[3] end)
    refused("a thing has no field 'sed' (did you mean 'seed'?)", function() return t.sed end)
    refused("a thing has no field 'zzz'" .. known, function() t.zzz = 1 end)
    refused("a thing has no field '_other'" .. known, function() t._other = 1 end)
    refused("'rate' is chosen when a thing is made: gb.thing{rate = ...}", function() t.rate = 1 end)
    refused("'seed' is chosen when a thing is made: gb.thing{seed = ...}", function() t.seed = 1 end)
    local plain <const> = setmetatable({o = {rate = 2}}, meta)
    refused("'rate' is chosen when a thing is made", function() plain.rate = 1 end)
    refused("a thing has no field 'zzz' (it has rate, size)", function() return plain.zzz end)
    local bare <const>, other <const> = setmetatable({}, {}), {}
    object.settle(getmetatable(bare), "a bare thing")
    refused("a bare thing has no field 'zzz'", function() return bare.zzz end)
    refused("a bare thing has no field 'table: " .. ("%p"):format(other) .. "'", function() return bare[other] end)
  end)

  it("guard their methods, and nothing else", function()
    local meta <const> = {__len = function() return 7 end, size = function(self, v) return self, v end,
      _x = function() return 3 end, kept = 5}
    local len <const> = meta.__len
    object.guard(meta, "a thing", "t")
    assert.is_true(rawequal(len, meta.__len))
    assert.equal(5, meta.kept)
    local t <const> = setmetatable({}, meta)
    assert.same({t, 2}, {meta.size(t, 2)})
    assert.equal(3, meta._x(t))
    raises("option", "size is a method of a thing: write t:size(...) with a colon, not t.size(...)", meta.size, 2)
    raises("option", "_x is a method of a thing: write t:_x(...) with a colon, not t._x(...)", meta._x, 2)
  end)
end)

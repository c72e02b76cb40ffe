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
    refused("'lengthscale' takes a value; a gb.param is given where its owner is made", function()
      m.kernel.lengthscale = gb.param(1, {min = 0.1})
    end)
    refused("'active_dims' is chosen when a kernel is made", function() m.kernel.active_dims = {1} end)
    refused("'kind' is chosen when a kernel is made", function() m.kernel.kind = "matern32" end)
    refused("parts are chosen when a kernel is made", function() m.kernel[1] = K.rbf{} end)
    refused("'form' is chosen when a mean is made", function() m.mean.form = print end)
    refused("a likelihood's 'floor' is chosen when it is made", function() m.likelihood.floor = 1 end)
    refused("a likelihood's 'noise' is chosen when it is made", function()
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
      return gb.optim.minimize(function() return x:sum() end, gb.param(1), {steps = 1}).convergd
    end)
    raises("option", "has no field 'nlpdd'", function() return m:leave_one_out().nlpdd end)
    local auto <const> = gb.gp.exact{kernel = K.rbf{}}:fit(x, y, {steps = 1})
    raises("option", "the choice of a solver has no field 'resaon' (did you mean 'reason'?)", function() return auto.why.resaon end)
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

-- What a likelihood and a score say of themselves: the error of an estimate, a solve that missed, noise that is not known.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"

describe("a log marginal likelihood", function()
  local n <const> = 120
  local x <const> = gb.rand(n, 2, {seed = 1}):eval()
  local y <const> = ((6 * x):sin():sum(2) + 0.1 * gb.randn(n, {seed = 2})):eval()

  local function model(solver, noise)
    return gb.gp.exact{kernel = gb.kernels.matern32{lengthscale = 0.5}, noise = noise or 0.02, solver = solver}:condition(x, y)
  end

  it("is exact by a factor, and has a standard error by a solver that estimates it", function()
    local exact <const>, info <const> = model "direct":log_marginal_likelihood()
    assert.same({0, true}, {info.standard_error, info.converged})
    for _, solver in ipairs{gb.solvers.cg{}, gb.solvers.minres{}} do
      local value <const>, of <const> = model(solver):log_marginal_likelihood()
      assert.is_true(of.converged and of.standard_error > 0)
      assert.is_true(math.abs(value:item() - exact:item()) < 4 * of.standard_error)
      assert.matches("standard error", tostring(of), 1, true)
      assert.equal(value:item(), of.value)
    end
    local _, whole <const> = model(gb.solvers.cg{probes = "exact"}):log_marginal_likelihood()
    assert.equal(0, whole.standard_error)
  end)

  it("is not told without a word where the solve missed", function()
    local m <const> = model(gb.solvers.cg{max_iter = 2}, 2e-4)
    local ok <const>, err <const> = pcall(m.log_marginal_likelihood, m)
    assert.is_false(ok)
    assert.equal("not_converged", err.code)
    assert.matches("missed its tolerance %(max_iter after 2 steps, residual", err.message)
    local _, info <const> = m:log_marginal_likelihood{unconverged = true}
    assert.is_false(info.converged)
    assert.matches("did not converge (max_iter)", tostring(info), 1, true)
  end)

  it("has its standard error in the report of a fit", function()
    local info <const> = model(gb.solvers.cg{}):fit{steps = 1}
    assert.is_true(info.log_likelihood_error > 0)
    assert.matches("standard error of the likelihood", tostring(info), 1, true)
    assert.is_nil(model "direct":fit{steps = 1}.log_likelihood_error)
  end)

  it("of several outputs has the same record", function()
    local m <const> = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2}:condition(x, gb.stack({y, 2 * y}, 2))
    assert.is_true(select(2, m:log_marginal_likelihood()).converged)
  end)
end)

describe("a score where the noise is known per observation", function()
  local n <const> = 150
  local x <const>, sd <const> = gb.rand(n, 1, {seed = 1}):eval(), (gb.rand(n, {seed = 3}) * 0.5 + 0.05):eval()
  local clean <const> = (6 * x):sin():sum(2)
  local y <const>, fresh <const> = (clean + sd * gb.randn(n, {seed = 4})):eval(), (clean + sd * gb.randn(n, {seed = 5})):eval()
  local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.3}, noise = sd ^ 2}:condition(x, y)

  it("says that it leaves the noise out, and takes it", function()
    local bare <const>, whole <const> = m:score(x, fresh), m:score(x, fresh, {noise = sd ^ 2})
    assert.is_false(bare.noise_known)
    assert.matches("noise of these y is not known and left out", tostring(bare), 1, true)
    assert.is_true(whole.noise_known)
    assert.is_true(bare.nlpd > 5 and whole.nlpd < 1.2, ("%g %g"):format(bare.nlpd, whole.nlpd))
    assert.is_true(whole.coverage95 > bare.coverage95 + 0.2, ("%g %g"):format(whole.coverage95, bare.coverage95))
    assert.is_true(whole.joint_log_density < 0)
    support.raises("option", "which are not known: give noise", function() return bare.joint_log_density end)
    local new <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.3},
      likelihood = gb.likelihoods.fixed(sd ^ 2, {new = 0.1})}:condition(x, y)
    assert.is_true(new:score(x, fresh).noise_known)
    assert.equal(new:score(x, fresh).nlpd, m:score(x, fresh, {noise = 0.1}).nlpd)
  end)

  it("leaves out the noise of rows that are masked, and checks what it is given", function()
    local some <const> = gb.where(gb.range(1, n):le(10), 0 / 0, fresh)
    local s <const> = m:score(x, some, {missing = "mask", noise = sd ^ 2})
    assert.equal(m:score(x:slice(1, 11, n), fresh:slice(1, 11, n), {noise = (sd ^ 2):slice(1, 11, n)}).nlpd, s.nlpd)
    support.raises("shape", "one variance, or one for each of the 150 rows", m.score, m, x, fresh, {noise = gb.ones(3)})
    support.raises("option", "0 or more and finite", m.score, m, x, fresh, {noise = -sd})
  end)

  it("predictions say so, too", function()
    assert.equal("unknown", m:predict(x).info.noise)
    assert.matches("y_var is f_var", tostring(m:predict(x).info), 1, true)
  end)
end)

describe("a likelihood", function()
  local L <const>, K <const> = gb.likelihoods, gb.kernels
  local near <const>, raises <const> = support.near, support.raises
  local param <const> = require "gibbous.param"
  local x <const> = gb.tensor{{0}, {1}, {3}}
  local single <const> = x:to{dtype = "f32"}

  it("knows its kind, its noise and what it may have", function()
    local l <const> = L.gaussian(0.5)
    for _, key in ipairs{"kernel", "latent", "log_variance", "new", "places", "count", "floor", "min", "least"} do
      assert.is_nil(l[key], key)
      assert.equal(("'%s' of a likelihood cannot change once it is made"):format(key),
        raises("option", "", function() l[key] = 1 end).message)
    end
    assert.equal("'kind' of a likelihood cannot change once it is made", raises("option", "", function() l.kind = 1 end).message)
    local known <const> = "a likelihood has no field 'zzz' (it has kind, noise)"
    assert.same({known, known}, {raises("option", "", function() return l.zzz end).message,
      raises("option", "", function() l.zzz = 1 end).message})
    assert.same({"gaussian", "noise", 0, false}, {l.kind, l.noise.name, l.noise.min, l.noise.fixed})
    assert.equal("copy is a method of a likelihood: write l:copy(...) with a colon, not l.copy(...)",
      raises("option", "", l.copy, 3).message)
    assert.same({true, false, false, false}, {L.is(l), L.is{}, L.is(3), L.is(K.rbf{})})
    raises("option", "gb.likelihoods.binomial is not in this version", function() return L.binomial end)
    raises("index", "gb.likelihoods.normal does not exist: gb.likelihoods.gaussian", function() return L.normal end)
  end)

  it("has an open noise of 1 where none is given, held at 0, or as it was given", function()
    local shared <const> = gb.param(0.3, {min = 0})
    assert.same({1, true, false}, {L.gaussian().noise:item(), param.is_open(L.gaussian().noise), L.gaussian().noise.fixed})
    assert.same({1, true}, {L.gaussian(false).noise:item(), param.is_open(L.gaussian{}.noise)})
    assert.same({0, true, false}, {L.gaussian(0).noise:item(), L.gaussian(0).noise.fixed, param.is_open(L.gaussian(0).noise)})
    assert.is_true(rawequal(shared, L.gaussian(shared).noise) and rawequal(shared, L.gaussian{noise = shared}.noise))
    assert.same({"noise", "noise", "noise"},
      {L.tasks{0.1, 0.2}.noise.name, L.tasks(gb.param{1, 2}).noise.name, L.gaussian(gb.param(1)).noise.name})
    assert.equal("gaussian{noise=0.123457}", tostring(L.gaussian(0.123456789)))
    assert.equal("heteroscedastic{noise=1, log_variance=constant{value=2.0}}",
      tostring(L.heteroscedastic{log_variance = gb.means.constant(2)}))
    for _, v in ipairs{-1, math.huge, 0 / 0, "x"} do
      assert.equal("gb.likelihoods.gaussian: the noise must be a variance, 0 or more and finite, got "
        .. (v ~= v and "nan" or v == "x" and "string x" or tostring(v)),
        raises("option", "", L.gaussian, v).message)
    end
    assert.equal("gb.likelihoods.gaussian: the noise must be one number, a vector is for gb.likelihoods.fixed",
      raises("shape", "", L.gaussian, gb.param({1, 2}, {min = 0})).message)
    assert.equal("gb.likelihoods.gaussian: noise 0.5 is not above its floor, min = 0.5",
      raises("option", "", L.gaussian, {noise = 0.5, min = 0.5}).message)
    assert.equal("gb.likelihoods.gaussian: give min or floor, not both",
      raises("option", "", L.gaussian, {min = 1, floor = 1}).message)
    for _, v in ipairs{-1, math.huge, "1"} do
      for _, key in ipairs{"min", "floor"} do
        raises("option", ("gb.likelihoods.gaussian: option '%s' must be a finite number, 0 or more"):format(key), L.gaussian,
          {[key] = v})
        raises("option", ("gb.likelihoods.heteroscedastic: option '%s' must be a finite number, 0 or more"):format(key),
          L.heteroscedastic,
          {kernel = K.rbf{}, [key] = v})
      end
    end
    assert.equal("gb.likelihoods.tasks takes a list of variances, one a task", raises("option", "", L.tasks, 0.1).message)
  end)

  it("gives variances in the type of the inputs", function()
    for _, l in ipairs{L.gaussian(0.5), L.fixed{0.5, 0.5, 0.5}, L.heteroscedastic{kernel = K.rbf{}, noise = 0.5},
      L.heteroscedastic{kernel = K.rbf{}, noise = 0.5, places = gb.tensor{0, 2}},
        L.heteroscedastic{log_variance = gb.means.constant(0), noise = 0.5}} do
      for _, at in ipairs{x, single} do
        assert.equal(at.dtype, l:variance(at).dtype)
        near(0.5, l:variance(at):max(), 1e-6)
        local new <const> = l:new_variance(at)
        if l.kind == "fixed" then assert.is_nil(new) else
          assert.equal(at.dtype, new.dtype)
          near(0.5, new:min(), 1e-6)
        end
      end
    end
    assert.equal("noise has 2 variances for 3 observations",
      raises("shape", "", function() return L.fixed{1, 2}:variance(x) end).message)
    for _, new in ipairs{0.2, gb.param(0.2)} do
      near(0.2, L.fixed({1, 2, 3}, {new = new}):new_variance(x), 1e-14)
      assert.equal("f32", L.fixed({1, 2, 3}, {new = new}):new_variance(single).dtype)
    end
    for _, f in ipairs{function() return 3 end, function() return gb.ones(2) end, function() return gb.ones(3, 1) end} do
      assert.equal("'new' of the noise must give one variance a row, shape 3",
        raises("shape", "", function() return L.fixed({1}, {new = f}):new_variance(x) end).message)
    end
    assert.equal("gb.likelihoods.fixed: new must be a number, a gb.param or a function, got tensor",
      raises("option", "", L.fixed, {1}, {new = gb.ones(1)}).message)
    assert.is_nil(L.fixed({1}, {new = false}).new)
    raises("option", "gb.likelihoods.fixed: noise variances must be 0 or more and finite", L.fixed, {1}, {new = math.huge})
    assert.same({0, 0}, {L.fixed({0}, {new = 0}).new:item(), L.fixed(gb.zeros(0)).noise.numel})
    for _, v in ipairs{3, gb.ones(2, 1), gb.tensor(1)} do
      assert.equal("gb.likelihoods.fixed takes a vector of variances (n)", raises("option", "", L.fixed, v).message)
    end
  end)

  it("has copies of its parameters, but for those that are shared", function()
    local shared <const> = gb.param(0.3, {min = 0})
    local l <const> = L.heteroscedastic{kernel = K.rbf{lengthscale = 2}, noise = 0.5, places = gb.tensor{0, 2}}
    local copy <const> = l:copy()
    copy.noise, copy.kernel.lengthscale, copy.latent = 7, 3, {1, 2}
    assert.same({0.5, 2, 0}, {l.noise:item(), l.kernel.lengthscale:item(), l.latent[1]:item()})
    local m <const> = L.heteroscedastic{log_variance = gb.means.constant(1)}
    m:copy().log_variance.value = 9
    assert.equal(1, m.log_variance.value:item())
    local f <const> = L.fixed({1}, {new = param.hyper(0.3, "new")})
    f:copy().new.value = 9
    near(0.3, f.new, 1e-14)
    assert.is_true(rawequal(shared, L.gaussian(shared):copy().noise) and rawequal(shared, L.fixed({1}, {new = shared}):copy().new))
    local function names(v) return table.concat(select(2, gb.params(v)), " ") end
    assert.equal("noise kernel.lengthscale kernel.variance latent", names(l))
    assert.equal("noise log_variance.value", names(m))
    assert.equal("new", names(f))
    assert.equal("", names(L.fixed({1}, {new = print})))
  end)

  it("of noise that varies holds what the user's kernel was given, and takes columns when data arrive", function()
    local own <const> = gb.param(2, {min = 0})
    local l <const> = L.heteroscedastic{kernel = K.rbf{lengthscale = own} + K.rbf{ard = true}, places = 2}
    assert.same({false, true, true}, {l.kernel[1].lengthscale.fixed, l.kernel[1].variance.fixed, l.kernel[2].lengthscale.fixed})
    local wide <const> = gb.tensor{{0, 0}, {5, 0}, {0, 1}, {5, 1}}
    l:resolve(wide:slice(1, 1, 0))
    assert.is_nil(l.places)
    l:resolve(wide)
    assert.same({2, 2}, {l.kernel[2].lengthscale.numel, #l.places})
    assert.same({"latent", 2, "normal(mean=0, sd=1)", 0},
      {l.latent.name, #l.latent, tostring(l.latent.prior), l.latent.value:max():item()})
    local before <const> = l.places
    l:resolve(wide:slice(1, 1, 1))
    assert.is_true(rawequal(before, l.places))
    assert.equal(30, L.heteroscedastic{kernel = K.rbf{}}.count)
    local mean <const> = L.heteroscedastic{log_variance = gb.means.linear{slope = 1}}
    mean:resolve(wide)
    assert.equal(2, mean.log_variance.slope.numel)
    assert.same({true, false, false},
      {mean.noise.fixed, L.heteroscedastic{log_variance = gb.means.zero(), noise = 1}.noise.fixed, l.noise.fixed})
    local what <const> = "gb.likelihoods.heteroscedastic: "
    for text, o in pairs{["give either kernel or log_variance"] = {kernel = K.rbf{}, log_variance = gb.means.zero()},
      ["places must be a count, 1 or more, or inputs (m, d)"] = {kernel = K.rbf{}, places = 1.5},
      ["give min or floor, not both"] = {kernel = K.rbf{}, min = 1, floor = 1},
        ["places must be (n) or (n, d), got shape ()"] = {kernel = K.rbf{}, places = gb.tensor(1)},
      ["places must be a tensor, got string"] = {kernel = K.rbf{}, places = "x"}} do
      local ok <const>, err <const> = pcall(L.heteroscedastic, o)
      assert.same({false, what .. text}, {ok, support.shapes_alone(err.message)})
    end
    assert.equal(1, L.heteroscedastic{kernel = K.rbf{}, places = 1}.count)
  end)

  it("takes places that lie apart, the first the farthest from the mean", function()
    local l <const> = L.heteroscedastic{kernel = K.rbf{}, places = 3}
    l:resolve(gb.tensor{{0}, {1}, {10}, {4}, {10}, {9}})
    assert.same({{0}, {10}, {4}}, l.places:totable())
    local all <const> = L.heteroscedastic{kernel = K.rbf{}, places = 5}
    all:resolve(gb.tensor{{2}, {2}, {3}})
    assert.same({{3}, {2}}, all.places:totable())
  end)

  it("is the level times exp of what its places say, with a jitter of 1e-6 of the kernel's variance", function()
    local l <const> = L.heteroscedastic{kernel = K.rbf{variance = 4}, noise = 0.5, places = gb.tensor{0}}
    l.latent = {0.7}
    local root <const> = math.sqrt(4 * (1 + 1e-6))
    near(0.5 * math.exp(4 / root * 0.7), l:variance(gb.tensor{{0}}), 1e-12)
    near(0.5 * math.exp(4 * math.exp(-0.5) / root * 0.7), l:new_variance(gb.tensor{{1}}), 1e-12)
    near(0.5 * math.exp(4 / root * 0.7), l:variance(gb.tensor({{0}}, {dtype = "f32"})), 1e-6)
  end)
end)

describe("a noise floor", function()
  local L <const>, K <const> = gb.likelihoods, gb.kernels
  local near <const> = support.near
  local y <const> = gb.tensor{1, 3, 5}

  it("is worked out from the values, by their type", function()
    local function floor(l, v) return l:set_floor(v or y) end
    near({4e-6, 4e-5, 0.4, 0.3}, {floor(L.gaussian(1)), floor(L.gaussian(1), y:to{dtype = "f32"}), floor(L.gaussian{floor = 0.1}),
      floor(L.gaussian{min = 0.3})}, 1e-12)
    near({25e-6, 0.25e-6, 1e-6, 1e-6, 9e-6},
      {floor(L.gaussian(1), gb.tensor{5, 5}), floor(L.gaussian(1), gb.tensor{0.5, 0.5}), floor(L.gaussian(1), gb.tensor{0, 0}),
      floor(L.gaussian(1), gb.zeros(0)),
      floor(L.gaussian(1), gb.tensor{3})}, 1e-15)
    near({100e-6, 2e-24 * 1e-6}, {floor(L.gaussian(1), gb.tensor{10, 10 + 4e-14}),
      floor(L.gaussian(1), gb.tensor{1e-12, -1e-12})}, 1e-15)
    for _, l in ipairs{L.gaussian{noise = 1, floor = false}, L.gaussian{noise = 1, min = false}, L.gaussian(0),
      L.gaussian(gb.param(1, {min = 0})), L.fixed{1, 2, 3},
      L.gaussian{floor = 0}} do assert.is_nil(floor(l)) end
    local fixed <const> = L.gaussian(1)
    fixed.noise.fixed = true
    assert.is_nil(floor(fixed))
    local varying <const> = L.heteroscedastic{log_variance = gb.means.zero(), min = 0.25}
    assert.equal(0.25, floor(varying))
    near(1.25, varying:variance(gb.ones(1, 1)), 1e-14)
    assert.is_nil(floor(L.heteroscedastic{kernel = K.rbf{}, floor = false}))
  end)

  it("refuses y whose variance, or a small part of it, is no number of its type, whatever the noise", function()
    local function refused(how, v, l)
      local ok <const>, err <const> = pcall(function() return (l or L.gaussian(1)):set_floor(v) end)
      assert.same({false, "nan", ("fit: the variance of y is too %s for %s; gb.data.standardize scales y"):format(how, v.dtype)},
        {ok, err.code, err.message})
    end
    local function f32(v) return gb.tensor(v, {dtype = "f32"}) end
    refused("large", gb.tensor{1e300, -1e300})
    refused("large", gb.tensor{1e200, 1e200})
    refused("small", gb.tensor{1e-200, -1e-200})
    refused("small", gb.tensor{5e-324, 0})
    refused("small", gb.tensor{1e-155, 2e-155})                          -- its variance is a number, its noise floor none
    refused("small", f32{1e-25, -1e-25})
    refused("small", gb.tensor{1e-200, -1e-200}, L.fixed{1, 2})
    refused("large", gb.tensor{1e200, -1e200}, L.gaussian(0))
    for _, v in ipairs{gb.tensor{1e-150, -1e-150}, f32{1e-16, -1e-16}, f32{1e20, -1e20}, gb.tensor{1e148, -1e148}} do
      near(1, L.gaussian{floor = 1}:set_floor(v) / v:to{dtype = "f64"}:var():item(), 0)
    end
  end)

  it("is the bound of the noise, which moves inside", function()
    local function set(l)
      l:set_floor(y)
      return l.noise.min, l.noise:item()
    end
    local min, v = set(L.gaussian{noise = 1, floor = 0.1})
    near({0.4, 1}, {min, v}, 1e-13)
    min, v = set(L.gaussian{noise = 0.42, floor = 0.1})
    near({0.4, 0.44}, {min, v}, 1e-13)
    min, v = set(L.gaussian{noise = 0.5, min = 0.3})
    near({0.3, 0.5}, {min, v}, 1e-13)
    for _, least in ipairs{1, 4} do
      local l <const> = L.gaussian{noise = 5, min = least}
      assert.equal(least, l.noise.min)
      l.noise = 1.05 * least
      set(l)
      near(1.1 * least, l.noise, 1e-13)
    end
    assert.equal(0, L.gaussian{noise = gb.param(1, {min = 0}), min = 0.5}.noise.min)
    assert.equal(0.5, L.gaussian{min = 0.5}.noise.min)
  end)

  it("is said with the model", function()
    for text, l in pairs{["noise floor: 1e-06 of var(y), 1e-05 in f32"] = L.gaussian(1),
      ["noise floor: 0.25 of var(y)"] = L.gaussian{floor = 0.25},
      ["noise floor: 0.125"] = L.gaussian{min = 0.125}, ["noise of new observations: not known, y_var is f_var"] = L.fixed{1},
      ["noise floor: 0.5"] = L.heteroscedastic{kernel = K.rbf{}, min = 0.5}} do assert.equal(text, l:note()) end
    for _, l in ipairs{L.gaussian(0), L.gaussian{floor = false}, L.gaussian(gb.param(1, {min = 0})), L.fixed({1}, {new = 1})} do
      assert.is_nil(l:note()) end
  end)

  it("goes with the rows that are kept", function()
    local keep <const> = gb.tensor({3, 1}, {dtype = "i64"})
    local l <const> = L.fixed({1, 2, 3}, {new = 5})
    local few <const> = l:of_rows(keep, 3, "fit")
    assert.same({{3, 1}, 5, {1, 2, 3}}, {few.noise:totable(), few.new:item(), l.noise:totable()})
    local gaussian <const> = L.gaussian(1)
    assert.is_true(rawequal(gaussian, gaussian:of_rows(keep, 3, "fit")))
    local ok <const>, err <const> = pcall(l.of_rows, l, keep, 4, "fit")
    assert.same({false, "shape", "fit: noise has 3 variances for 4 observations, those with missing y included"},
      {ok, err.code, err.message})
  end)
end)

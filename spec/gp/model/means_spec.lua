local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local x <const> = gb.tensor{{1, 2}, {3, 4}, {5, 6}}

describe("sums and multiples of means", function()
  local M <const> = gb.means
  local line <const> = M.linear{slope = {2, 10}, offset = 1}

  it("add up, with numbers and functions too", function()
    local values <const> = line(x)
    near(values + 3, (line + M.constant(3))(x), 1e-14)
    near(values + 3, (3 + line)(x), 1e-14)
    near(values + 3, (line + gb.param(3))(x), 1e-14)
    near(values - 3, (line - 3)(x), 1e-14)
    near(3 - values, (3 - line)(x), 1e-14)
    near(values + x:sum(2), (line + function(t) return t:sum(2) end)(x), 1e-14)
    near(x:sum(2) - values, ((function(t) return t:sum(2) end) - line)(x), 1e-14)
    near(-2 * values, (-2 * line)(x), 1e-14)
    near(-values, (-line)(x), 1e-14)
    near(values / 4, (line / 4)(x), 1e-14)
    near(2.5 * (values + 1), (gb.param(2.5) * (line + 1))(x), 1e-14)
  end)

  it("have the parameters of their terms; a number's factor is fixed", function()
    local m <const> = 2 * (M.linear{slope = 1} + M.constant(3) + 4)
    local list <const>, names <const> = gb.params(m, "mean")
    assert.same({"mean.factor", "mean[1][1].offset", "mean[1][1].slope", "mean[1][2].value", "mean[1][3].value"}, names)
    assert.is_true(list[1].fixed)
    assert.is_false(list[2].fixed)
    assert.equal("2.0 * (linear{offset=0.0, slope=1.0} + constant{value=3.0} + constant{value=4.0})", tostring(m))
    local p <const> = gb.param(2)
    assert.is_true(rawequal(p, (p * line).factor))
    support.check_gradients(function() return (m(x) * gb.tensor{1, -2, 3}):sum() end, list, 1e-8)
    local copy <const> = m:copy()
    copy[1][2].value = 9
    near(3, m[1][2].value.value, 0)
  end)

  it("are fitted, widened, saved, and taken by models of several outputs", function()
    local t <const> = gb.rand(30, 2, {seed = 1})
    local y <const> = (t * gb.tensor{3, -2}):sum(2) + 100 + (5 * t:select(2, 1)):sin()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, mean = M.linear{} + 2 * M.define("sine", {rate = 5}, function(at, p)
      return (p.rate * at:select(2, 1)):sin()
    end){}, noise = 0.01}
    assert.is_true(m:fit(t, y).converged)
    assert.equal(2, #m:get "mean[1].slope")
    assert.is_true(math.abs(m:get "mean[1].offset":item() - 100) < 20)
    local path <const> = os.tmpname()
    m:save(path)
    local back <const> = gb.load(path, {means = {sine = M.define("sine", {rate = 5}, function(at, p)
      return (p.rate * at:select(2, 1)):sin()
    end)}})
    os.remove(path)
    near(m:predict(t).mean, back:predict(t).mean, 0)
    assert.equal(tostring(m.mean), tostring(back.mean))
    local both <const> = gb.gp.multitask{kernel = gb.kernels.rbf{}, tasks = 2, mean = M.linear{slope = 1} + M.constant{1, 5}}
    near(t:sum(2):unsqueeze(2) + gb.tensor{{1, 5}}, both:predict(t).mean, 1e-12)
  end)

  it("say what they refuse", function()
    for text, f in pairs{
      ["mean *: a mean is multiplied by a finite number or a gb.param of one number, got a mean"] = function()
        return line * line
      end,
      ["mean *: a mean is multiplied by a finite number or a gb.param of one number, got nan"] = function()
        return line * (0 / 0)
      end,
      ["mean +: both sides must be means, functions, numbers or gb.params, got mean and string"] = function() return line + "1" end,
      ["mean /: a mean is divided by a number that is not 0, got 0"] = function() return line / 0 end,
    } do raises("option", text, f) end
  end)
end)

describe("gb.means", function()
  it("zero is 0 everywhere, in the inputs' type", function()
    near({0, 0, 0}, gb.means.zero()(x), 0)
    assert.equal("f32", gb.means.zero()(x:to{dtype = "f32"}).dtype)
  end)

  it("constant is its value, free and unbounded", function()
    local m <const> = gb.means.constant(-7)
    near({-7, -7, -7}, m(x), 0)
    assert.equal("constant{value=-7.0}", tostring(m))
    m.value.value = 3
    near({3, 3, 3}, m(x), 0)
  end)

  it("linear is offset + x . slope", function()
    near({1 + 2 + 20, 1 + 6 + 40, 1 + 10 + 60}, gb.means.linear{slope = {2, 10}, offset = 1}(x), 1e-14)
    near({-1, -2}, gb.means.linear{slope = -1}(gb.tensor{1, 2}), 0)
    raises("shape", "3 slopes for inputs with 2 columns", gb.means.linear{slope = {1, 2, 3}}, x)
  end)

  it("define gives a mean of one's own, differentiated by its parameters", function()
    local wave <const> = gb.means.define("wave", {height = 2, rate = 0.5}, function(at, p)
      return p.height * (at:select(2, 1) * p.rate):sin()
    end)
    local m <const> = wave{height = 3}
    near({3 * math.sin(0.5), 3 * math.sin(1.5), 3 * math.sin(2.5)}, m(x), 1e-14)
    support.check_gradients(function() return (m(x) * gb.tensor{1, -2, 3}):sum() end, (gb.params(m)), 1e-8)
  end)

  it("linear from one number has a slope for each column once a model has data", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, mean = gb.means.linear{slope = 0.5, offset = 1}, noise = 0.1}
    local held <const> = m:condition(x, gb.ones(3))
    near({0.5, 0.5}, held.mean.slope.value, 0)
    near({1 + 1.5, 1 + 3.5, 1 + 5.5}, held.mean(x), 1e-14)
    held:set("mean.slope", {1, 0})
    near({2, 4, 6}, held.mean(x), 1e-14)
    assert.equal(0, m.mean.slope.ndim)                                 -- the first model saw no data
    local one <const> = m:condition(gb.tensor{1, 2}, gb.ones(2))
    assert.equal(0, one.mean.slope.ndim)
    local shared <const> = gb.param(0.5)
    local common <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, mean = gb.means.linear{slope = shared}, noise = 0.1}
      :condition(x, gb.ones(3))
    assert.is_true(rawequal(shared, common:get "mean.slope"))
    raises("shape", "linear mean: 2 slopes for inputs with 3 columns", function()
      return gb.means.linear{slope = {1, 2}}(gb.ones(2, 3))
    end)
  end)

  it("may be a plain function of x, or a network, in a model", function()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, mean = function(at) return at:sum(2) * 2 end}
    near({6, 14, 22}, m:predict(x).mean, 1e-14)
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 1, {seed = 1})}
    local n <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, mean = net}
    near(net(x):squeeze(2), n:predict(x).mean, 1e-14)
    local before <const> = (gb.params(net))[1].value:totable()
    n:fit(x, gb.tensor{1, 5, 2}, {steps = 3})
    assert.is_true(math.abs((gb.params(net))[1].value[1][1]:item() - before[1][1]) > 1e-6)      -- networks are shared
    raises("shape", "the mean function: expected one value a row, shape 3, got shape 3x2", function()
      return gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, mean = function(at) return at end}:predict(x).mean
    end)
    raises("shape", "mean 'bad': expected one value a row, shape 3, got number", function()
      return gb.means.define("bad", {}, function() return 1 end){}(x)
    end)
    raises("option", "option 'mean' must be a gb.means value", gb.gp.exact, {kernel = gb.kernels.rbf{}, mean = 3})
    raises("option", "option 'mean' must be a gb.means value", gb.gp.exact, {kernel = gb.kernels.rbf{}, mean = gb.kernels.rbf{}})
  end)

  it("rejects unknown options by name", function()
    raises("option", "gb.means.linear: unknown option 'slop', did you mean 'slope'?", gb.means.linear, {slop = 1})
  end)
end)

describe("parameters of means", function()
  it("are open where no value was given, and shared where one was", function()
    local param <const> = require "gibbous.param"
    local p <const> = gb.param(3)
    assert.is_true(param.is_open(gb.means.constant().hyper.value))
    assert.is_false(param.is_open(gb.means.constant(2).hyper.value))
    assert.is_true(rawequal(p, gb.means.constant(p).hyper.value))
    assert.equal("value", gb.means.constant(2).hyper.value.name)
  end)
end)

describe("a mean", function()
  local param <const> = require "gibbous.param"
  local means <const> = gb.means
  local single <const> = x:to{dtype = "f32"}

  it("is in the type of its inputs", function()
    local half <const> = means.define("half", {rate = 0.5}, function(at, p) return at:sum(2) * p.rate end)
    for _, m in ipairs{means.zero(), means.constant(2), means.linear{slope = {1, 2}, offset = 3}, half{}} do
      assert.same({"f32", "f64", 3}, {m(single).dtype, m(x).dtype, #m(x)})
      assert.equal(1, m(x).ndim)
    end
    near({1.5, 3.5, 5.5}, half{}(x), 1e-14)
    near({0.5, 1}, half{}(gb.tensor{1, 2}), 1e-14)
    near({2, 2}, means.constant(2)(gb.tensor{1, 2}), 0)
    near({1.5, 2.5}, means.linear{slope = 1, offset = 0.5}(gb.tensor{1, 2}), 1e-14)
  end)

  it("has copies of their own, and shares what is a gb.param", function()
    local shared <const>, m <const> = gb.param(3), means.linear{slope = 2}
    local copy <const> = m:copy()
    copy.slope = 5
    assert.same({2, 5}, {m.slope:item(), copy.slope:item()})
    assert.is_true(rawequal(shared, means.constant(shared):copy().hyper.value))
    assert.same({"value", true}, {shared.name, rawequal(means.constant(shared).value, shared)})
    assert.same({"linear", "slope", "offset"}, {copy.kind, copy.slope.name, copy.offset.name})
    assert.is_nil(m.root)
    assert.is_nil(means.zero().task_column)
  end)

  it("changes in nothing but its parameters", function()
    local m <const> = means.linear{}
    for key, text in pairs{kind = "the linear mean: 'kind' is chosen when a mean is made",
      root = "the linear mean: 'root' is chosen when a mean is made",
      pending = "the linear mean: 'pending' is chosen when a mean is made",
        slop = "the linear mean has no field 'slop' (did you mean 'slope'?)",
      zzz = "the linear mean has no field 'zzz' (it has offset, slope)"} do
      assert.equal(text, raises("option", "", function() m[key] = 1 end).message)
    end
    assert.equal("the linear mean has no field 'zzz' (it has copy, offset, slope)",
      raises("option", "", function() return m.zzz end).message)
    assert.equal("linear mean: 3 slopes for inputs with 2 columns", raises("shape", "", means.linear{slope = {1, 2, 3}}, x).message)
  end)

  it("gets a slope for each column once, open as the first was, or fixed and with its prior", function()
    local prior <const> = gb.priors.normal{}
    local function resolved(m, d)
      means.resolve(m, d)
      return m.slope
    end
    local open <const> = resolved(means.linear{}, 2)
    assert.same({2, "slope", false}, {open.numel, open.name, param.is_open(open)})
    near({4, 4, 4}, resolved(means.linear{slope = 4}, 3), 0)
    local m <const> = means.linear{slope = 4}
    m.slope.fixed, m.slope.prior = true, prior
    assert.is_true(resolved(m, 2).fixed and rawequal(prior, m.slope.prior))
    assert.is_nil(m.pending)
    assert.same({2, 1, 0, 0}, {resolved(m, 3).numel, resolved(means.linear{slope = {4}}, 3).numel,
      resolved(means.linear{slope = 4}, 1).ndim,
      resolved(means.linear{slope = gb.param(4)}, 3).ndim})
    local tasks <const> = means.with_task(means.linear{slope = 4}, function() end)
    assert.equal(2, resolved(tasks, 3).numel)
    means.resolve(means.constant(1), 3)
  end)

  it("may give a column, or values that are no tensor's, of its own names", function()
    local function made(f) return means.of(f)(x) end
    near({3, 7, 11}, made(function(at) return at:sum(2, {keepdim = true}) end), 0)
    assert.equal(1, made(function(at) return at:sum(2, {keepdim = true}) end).ndim)
    for text, f in pairs{["the mean function: expected one value a row, shape 3, got shape 1x3"] = function()
      return gb.ones(1, 3) end,
      ["the mean function: expected one value a row, shape 3, got shape 4"] = function() return gb.ones(4) end,
      ["the mean function: expected one value a row, shape 3, got nil"] = function() end,
      ["the mean function: expected one value a row, shape 3, got shape 2"] = function() return gb.ones(2, 1) end} do
      assert.equal(text, support.shapes_alone(raises("shape", "", made, f).message))
    end
    for _, v in ipairs{3, "x", {}, setmetatable({}, {__call = print}), gb.kernels.rbf{}, gb.ones(3)} do
      assert.is_nil(means.of(v)) end
    local net <const> = gb.nn.linear(2, 1, {seed = 1})
    assert.same({"function", "net.bias net.weight"}, {means.of(net).kind, (table.concat((function()
      local names <const> = select(2, gb.params(means.of(net)))
      table.sort(names)
      return names
    end)(), " "))})
    assert.same({}, (gb.params(means.of(function() end))))
    local one <const> = means.constant(1)
    assert.is_true(rawequal(one, means.of(one)))
  end)

  it("of one's own has free parameters, by name", function()
    for _, key in ipairs{"copy", "root", "pending", "task_column", "kind", "form", "hyper"} do
      assert.equal(("gb.means.define: '%s' cannot be the name of a parameter"):format(key),
        raises("option", "", means.define, "m", {[key] = 1}, print).message)
    end
    local make <const> = means.define("wave", {b = 2, a = 1}, function(at, p) return at:sum(2) * p.a + p.b end)
    assert.equal("wave{a=1.0, b=-3.0}", tostring(make{b = -3}))
    assert.equal("wave: unknown option 'zzzzz'; known: a, b", raises("option", "", make, {zzzzz = 1}).message)
    local shared <const> = gb.param(5)
    assert.is_true(rawequal(shared, make{a = shared}.a))
  end)
end)

local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

describe("gb.param", function()
  it("without bounds is its own unconstrained value", function()
    local p <const> = gb.param(-2.5)
    near(-2.5, p.value, 0)
    near(-2.5, p.raw, 0)
  end)

  it("above a minimum is min + exp(raw)", function()
    near(math.log(3), gb.param(3, {min = 0}).raw, 1e-14)
    local p <const> = gb.param(3, {min = 1})
    near(math.log(2), p.raw, 1e-14)
    p.raw = 0
    near(2, p.value, 1e-14)
  end)

  it("below a maximum is max - exp(raw)", function()
    local p <const> = gb.param(-1, {max = 1})
    near(math.log(2), p.raw, 1e-14)
    near(-1, p.value, 1e-14)
  end)

  it("between two bounds is a sigmoid of raw", function()
    local p <const> = gb.param(0.25, {min = 0, max = 1})
    near(math.log(0.25 / 0.75), p.raw, 1e-13)
    p.raw = 0
    near(0.5, p.value, 1e-14)
    near(1, p.min + p.max, 0)
  end)

  it("takes a list, and gives it back", function()
    local p <const> = gb.param({0.5, 2, 8}, {min = 0})
    assert.equal(3, #p)
    near({0.5, 2, 8}, p.value, 1e-14)
    near({math.log(0.5), math.log(2), math.log(8)}, p.raw, 1e-14)
  end)

  it("takes a transform of one's own", function()
    local p <const> = gb.param(9, {transform = {forward = function(raw) return raw ^ 2 end,
      inverse = function(v) return v:sqrt() end}})
    near(3, p.raw, 1e-14)
    p.raw = 4
    near(16, p.value, 1e-14)
  end)

  it("counts assignments in version", function()
    local p <const> = gb.param(1, {min = 0})
    local before <const> = p.version
    p.value = 2
    p.raw = 0
    assert.equal(before + 2, p.version)
  end)

  it("keeps the value an expression was built with", function()
    local p <const> = gb.param(2)
    local y <const> = p * 10
    p.value = 3
    near(20, y, 0)
    near(30, p * 10, 0)
  end)

  it("acts as a tensor: operators, methods, text", function()
    local p <const>, x <const> = gb.param(4, {min = 0}), gb.tensor{1, 2}
    near({5, 6}, x + p, 0)
    near({5, 6}, p + x, 0)
    near({3, 2}, p - x, 0)
    near({0.25, 0.5}, x / p, 0)
    near(16, p ^ 2, 0)
    near(-4, -p, 0)
    near(2, p:sqrt(), 0)
    assert.equal(0, p.ndim)
    assert.equal("param", gb.type(p))
    assert.equal("4.0 nats", p .. " nats")
  end)

  it("adopts the float type of what it meets", function()
    local p <const> = gb.param(0.5)
    assert.equal("f32", (gb.ones(3, {dtype = "f32"}) * p).dtype)
    assert.equal("f64", (gb.ones(3) * p).dtype)
  end)

  it("differentiates by value and by raw", function()
    local p <const> = gb.param(3, {min = 0})
    near(6, gb.grad(p ^ 2, p), 1e-14)
    near(18, gb.grad(p ^ 2, p, {raw = true}), 1e-13)
    local g <const> = gb.grad(p ^ 2 * 5, {scale = p}, {raw = true})
    near(90, g.scale, 1e-13)
  end)

  it("refuses values outside its bounds, naming them", function()
    raises("option", "parameter 'noise' = 0.0 is not inside its bounds (0, inf)", gb.param, 0, {min = 0, name = "noise"})
    raises("option", "parameter 'param' = 1 .. 5 is not inside its bounds (0, 3)", gb.param, {1, 5}, {min = 0, max = 3})
    raises("nan", "cannot be set to an infinite value", gb.param, {1, math.huge}, {min = 0})
    local p <const> = gb.param(0.5, {min = 0, max = 1, name = "weight"})
    raises("option", "(0, 1)", function() p.value = 1.5 end)
    near(0.5, p.value, 1e-15)
  end)

  it("refuses NaN and what is not finite", function()
    local p <const> = gb.param(1, {name = "scale"})
    raises("nan", "parameter 'scale' cannot be set to NaN", function() p.value = 0 / 0 end)
    raises("nan", "parameter 'scale' cannot be set to an infinite value", function() p.value = math.huge end)
    raises("shape", "parameter 'scale' needs a value, got none", gb.param, {}, {name = "scale"})
    raises("nan", "not finite", function() p.raw = math.huge end)
    near(1, p.value, 0)
  end)

  it("takes a matrix, by nested lists or as a tensor, and optimisers move it", function()
    local p <const> = gb.param({{1, 2}, {3, 4}}, {min = 0})
    near({{1, 2}, {3, 4}}, p.value, 1e-14)
    p.value = gb.full({2, 2}, 2)
    near(math.log(2), p.raw[2][1], 1e-14)
    gb.optim.minimize(function() return ((p - gb.tensor{{1, 3}, {5, 7}}) ^ 2):sum() end, p)
    near({{1, 3}, {5, 7}}, p.value, 1e-5)
  end)

  it("refuses words and swapped bounds, and a kernel refuses a matrix", function()
    raises("shape", "parameter 'lengthscale' must be one number or a vector, got shape 2x2", gb.kernels.rbf,
      {lengthscale = gb.ones(2, 2)})
    raises("option", "must be a number, a list or a tensor, got string", gb.param, "one")
    raises("option", "min 2 is not below max 1", gb.param, 1.5, {min = 2, max = 1})
  end)

  it("names the nearest option", function()
    raises("option", "unknown option 'prioor', did you mean 'prior'?", gb.param, 1, {prioor = 1})
  end)

  it("refuses fields it does not have", function()
    raises("option", "no field 'values'", function() gb.param(1).values = 2 end)
  end)

  it("blames the caller's line", function()
    local err <const> = raises("option", "bounds", function()
      local p <const> = gb.param(-1, {min = 0})
      return p
    end)
    assert.matches("param_spec%.lua:%d+$", err.line)
  end)
end)

describe("gb.params", function()
  it("walks tables in sorted order, list part first, and gives paths", function()
    local a <const>, b <const>, c <const>, d <const> = gb.param(1), gb.param(2), gb.param(3), gb.param(4)
    local list <const>, names <const> = gb.params{b, weight = {out = d, inner = c}, bias = a}
    assert.same({"[1]", "bias", "weight.inner", "weight.out"}, names)
    assert.is_true(rawequal(list[1], b) and rawequal(list[2], a) and rawequal(list[3], c) and rawequal(list[4], d))
  end)

  it("lists a parameter that occurs twice once", function()
    local p <const> = gb.param(1)
    local list <const> = gb.params{a = p, b = p}
    assert.equal(1, #list)
  end)

  it("knows the paths of kernels and their parts", function()
    local K <const> = gb.kernels
    local k <const> = K.rbf{}:named "trend" + K.periodic{} * K.rbf{}
    local _, names <const> = gb.params(k)
    assert.same({"trend.lengthscale", "trend.variance", "[2].variance", "[2][1].lengthscale", "[2][1].period",
      "[2][2].lengthscale"}, names)
  end)

  it("puts a given path in front", function()
    local _, names <const> = gb.params({scale = gb.param(1)}, "net")
    assert.same({"net.scale"}, names)
  end)
end)

describe("a parameter of many numbers", function()
  it("takes one for all of them, and no other shape", function()
    local p <const> = gb.param({1, 2, 3}, {min = 0})
    p.value = 5
    near({5, 5, 5}, p, 1e-15)
    p.raw = gb.tensor(0):reshape{}
    assert.equal("3", tostring(p.shape))
    near({1, 1, 1}, p, 1e-15)
    local ok <const>, err <const> = pcall(function() p.value = {1, 2} end)
    assert.is_false(ok)
    assert.same({"shape", "parameter 'param' has shape 3, got a value of shape 2"}, {err.code, support.shapes_alone(err.message)})
  end)
end)

describe("a parameter's description", function()
  local param <const> = require "gibbous.param"
  local function described(changes, p)
    local d <const> = param.describe(p or gb.param({0.5, 0.25}, {min = 0, max = 1, name = "p"}))
    for key, v in pairs(changes or {}) do d[key] = v end
    return d
  end

  it("gives the parameter back", function()
    for _, p in ipairs{gb.param(2), gb.param(-3, {max = -1}),
      gb.param(0.3, {min = -1, max = 2, prior = gb.priors.uniform{max = 7}}), gb.param({1, 2}, {min = 0, fixed = true}),
      gb.param(0.5, {min = 0, max = 1, name = "q"}), gb.param(3, {min = 0, prior = gb.priors.gamma{shape = 2}}),
      gb.param(0.5, {prior = gb.priors.uniform{}})} do
      p.value = p.value
      local q <const> = param.restore(param.describe(p))
      for _, key in ipairs{"name", "min", "max", "fixed", "prior", "version"} do assert.same(p[key], q[key], key) end
      assert.same(p.value:reshape(-1):totable(), q.value:reshape(-1):totable())
      assert.same(p.raw:reshape(-1):totable(), q.raw:reshape(-1):totable())
    end
  end)

  it("that makes no sense is refused, with what was expected", function()
    for _, row in ipairs{
      {{name = 3}, "parameter '3': name must be a string"},
      {{min = "0"}, "parameter 'p': min must be a number"}, {{max = "1"}, "parameter 'p': max must be a number"},
      {{min = 1, max = 1}, "parameter 'p': min must be below max"}, {{min = 2}, "parameter 'p': min must be below max"},
      {{fixed = 1}, "parameter 'p': fixed must be true or false"}, {{explicit = 1}, "parameter 'p': fixed must be true or false"},
      {{version = 1.5}, "parameter 'p': version must be a whole number"},
      {{transform = "magic"}, "parameter 'p': transform must be known"},
      {{transform = "support"}, "parameter 'p': prior must be one of an interval"},
      {{transform = "support", prior = gb.priors.normal{}}, "parameter 'p': prior must be one of an interval"},
      {{raw = gb.tensor({1}, {dtype = "i64"})}, "parameter 'p': raw must be finite, f64 or f32"},
      {{raw = gb.tensor{0 / 0}}, "parameter 'p': raw must be finite, f64 or f32"},
    } do
      local p <const>, why <const> = param.restore(described(row[1]))
      assert.is_nil(p)
      assert.equal(row[2], why)
    end
    assert.equal("f32", param.restore(described{raw = gb.tensor({1, 2}, {dtype = "f32"})}).value.dtype)
  end)
end)

describe("a raised bound", function()
  local param <const> = require "gibbous.param"

  it("moves what is not clearly above it inside", function()
    for _, row in ipairs{{5, 5}, {0.5, 2}} do
      local p <const> = gb.param(row[1], {min = 0, name = "p"})
      param.raise_bound(p, 1)
      assert.equal(1, p.min)
      local v <const> = p.value:item()
      assert.is_true(v > 1 and (row[1] > 1 and math.abs(v - row[1]) <= 1e-12 or row[1] < 1 and v <= row[2]))
    end
    local ok, err = pcall(param.raise_bound, gb.param(0.5, {min = 0, max = 1, name = "p"}), 0.25)
    assert.same({false, "parameter 'p' has an upper bound"}, {ok, err.message})
    ok, err = pcall(param.raise_bound, gb.param(0.5, {min = 0, name = "p", prior = gb.priors.uniform{min = 0, max = 1}}), 2)
    assert.same({false, "fit: the noise floor 2 leaves the prior of parameter 'p', uniform(max=1, min=0), no room"},
      {ok, err.message})
  end)
end)

describe("parameters in formulas", function()
  it("are their values, on either side", function()
    local p <const>, q <const>, t <const> = gb.param(3), gb.param(2), gb.tensor{1, 4}
    near({5, 1, 6, 1.5, 1, 1, 9, -3}, {p + q, p - q, p * q, p / q, p // q, p % q, p ^ q, -p}, 1e-15)
    near({4, 2, 6, 1.5, 1, 1, 9}, {p + 1, p - 1, p * 2, p / 2, p // 2, p % 2, p ^ 2}, 1e-15)
    near({4, -2, 6, 2, 2, 1, 8}, {1 + p, 1 - p, 2 * p, 6 / p, 7 // p, 7 % p, 2 ^ p}, 1e-15)
    near({{4, 7}, {2, -1}, {3, 12}, {1 / 3, 4 / 3}, {1, 64}}, {p + t, p - t, t * p, t / p, t ^ p}, 1e-15)
  end)

  it("have transforms by name, or two functions", function()
    local function f(v) return v end
    for _, v in ipairs{"exp", "identity", {forward = f, inverse = f}} do
      near(0.5, gb.param(0.5, {transform = v}).value, 1e-15)
    end
    for _, v in ipairs{"log", {forward = f}, {inverse = f}, {}, 3} do
      raises("option", "gb.param: option 'transform' must be \"identity\", \"exp\" or {forward = f, inverse = g}", gb.param, 0.5,
        {transform = v})
    end
  end)
end)

describe("a prior of an interval", function()
  it("that the value lies outside of is refused, and nothing changes", function()
    local p <const> = gb.param(3, {min = 0, name = "p"})
    local value <const>, raw <const> = p.value:item(), p.raw:item()
    raises("option", "is not inside its bounds (0, 1), outside which its prior has no density",
      function() p.prior = gb.priors.uniform{min = 0, max = 1} end)
    assert.is_nil(p.prior)
    assert.same({value, raw}, {p.value:item(), p.raw:item()})
    p.prior = gb.priors.uniform{min = 2, max = 5}
    near(3, p.value, 1e-14)
    p.raw = p.raw + 100
    assert.is_true(p.value:item() <= 5 and p.value:item() > 4.9)
    p.prior = nil
    assert.is_true(p.value:item() <= 5 and p.value:item() > 4.9)
    raises("option", "the raw value of parameter 'p' must be", function() p.raw = "x" end)
  end)
end)

describe("what the library keeps of parameters", function()
  local param <const> = require "gibbous.param"

  it("are values to compute with, for a while", function()
    local p <const>, q <const> = gb.param(2, {min = 0}), gb.param(5)
    local at <const> = param.remember{p, q}
    local function values(...) return p.value:item(), q.value:item(), p.raw:item(), ... end
    local before <const>, first <const> = table.pack(at(values, "x")), p.version
    near({2, 5}, {before[1], before[2]}, 1e-14)
    assert.equal("x", before[4])
    p.value, q.value = 7, 8
    local version <const> = p.version
    assert.same(before, table.pack(at(values, "x")))
    near({7, 8}, {p.value, q.value}, 1e-14)
    assert.equal(version, p.version)
    assert.equal(first, at(function() return p.version end))
    assert.same({false, "text"}, {pcall(at, function() error("text", 0) end)})
    local ok <const>, err <const> = pcall(at, function() error({}, 0) end)
    assert.same({false, "table"}, {ok, type(err)})
    near({7, 8}, {p.value, q.value}, 1e-14)
    assert.same(before, table.pack(at(values, "x")))
    assert.same({"a", nil, "c"}, {at(function(...) return ... end, "a", nil, "c")})
  end)

  it("are copies, told apart by gradients", function()
    local p <const> = gb.param(2, {name = "p"})
    local q <const> = param.copy(p)
    param.apart{p, q}
    local g <const> = gb.grad(p * p + 3 * q, {p, q})
    near({4, 3}, {g[1], g[2]}, 1e-14)
    local version <const> = p.version
    param.apart{p, q}
    assert.equal(version, p.version)
    local once <const> = param.copies(true)
    assert.is_true(rawequal(once(p), once(p)) and not rawequal(once(p), p))
    near(2, once(p).value, 0)
  end)

  it("is who fits them, and what was made with their values", function()
    local p <const>, one <const>, other <const> = gb.param(2), {}, {state = "made"}
    assert.same({false, false, true, true}, {param.claim(p, one), param.claim(p, one), param.claim(p, other), param.claim(p, one)})
    param.keep({p}, other)
    assert.equal("made", other.state)
    p.value = 3
    assert.is_nil(other.state)
  end)

  it("is whether their value was not given", function()
    assert.is_false(param.is_open(gb.param(1)))
    assert.is_true(param.is_open(param.set_open(gb.param(1), true)))
    assert.is_false(param.is_open(param.set_open(gb.param(1), false)))
  end)
end)

describe("the unconstrained value", function()
  local uniform <const> = gb.priors.uniform
  local function logit(v) return math.log(v / (1 - v)) end

  it("is by the bounds, by the prior's interval, or by the transform that was given", function()
    local cube <const> = {forward = function(raw) return raw ^ 3 end, inverse = function(v) return v ^ (1 / 3) end}
    for _, row in ipairs{
      {-0.3, {transform = "identity", min = -1}, -0.3}, {2, {transform = "exp"}, math.log(2)},
      {2, {transform = "exp", max = 5}, math.log(2)},
      {1.5, {transform = "exp", min = 1}, math.log(0.5)}, {2, {max = 5}, math.log(3)}, {2, {min = 1, max = 5}, logit(1 / 4)},
      {2, {min = -1, max = 5}, logit(1 / 2)}, {0.3, {prior = uniform{}}, logit(0.3)},
      {1.2, {min = 1, prior = uniform{max = 3}}, logit(0.1), 1, 3},
      {0.3, {max = 0.5, prior = uniform{}}, logit(0.6), 0, 0.5}, {0.3, {min = -1, max = 2, prior = uniform{}}, logit(0.3), 0, 1},
      {0.3, {transform = "identity", prior = uniform{}}, logit(0.3), 0, 1},
      {0.3, {transform = "exp", prior = uniform{}}, logit(0.3), 0, 1},
      {8, {transform = cube, prior = uniform{max = 9}}, 2}, {8, {transform = cube, min = 1, prior = uniform{max = 9}}, 2, 1},
      {0.3, {prior = gb.priors.gamma{}}, 0.3},
    } do
      local p <const> = gb.param(row[1], row[2])
      near(row[3], p.raw, 1e-13)
      near(row[1], p.value, 1e-13)
      if row[4] then assert.same({row[4], row[5]}, {p.min, p.max}) end
    end
    local p <const> = gb.param(8, {transform = cube, prior = uniform{max = 9}})
    assert.same({}, {p.min, p.max})
    near(logit(0.3), gb.param({0.3, 0.5}, {min = 0, max = 1}).raw[1], 1e-14)
  end)

  it("goes with the value when the interval of the prior changes, and the value stays", function()
    local p <const> = gb.param(0.3, {min = 0})
    near(math.log(0.3), p.raw, 1e-14)
    for _, row in ipairs{{uniform{}, logit(0.3), 0, 1}, {uniform{max = 0.6}, 0, 0, 0.6}, {gb.priors.normal{}, math.log(0.3), 0},
        {nil, math.log(0.3), 0}} do
      local version <const> = p.version
      p.prior = row[1]
      near(row[2], p.raw, 1e-13)
      near(0.3, p.value, 1e-13)
      assert.same({row[3], row[4]}, {p.min, p.max})
      assert.equal(version + (row[1] and 1 or 0), p.version)
    end
    p.prior = uniform{}
    p.prior = false
    assert.is_nil(p.prior)
  end)
end)

describe("a parameter's fields", function()
  local param <const> = require "gibbous.param"

  it("are as they were given, and assigned", function()
    local p <const> = gb.param(1)
    assert.same({"param", false, 1}, {p.name, p.fixed, p.version})
    assert.same({"p", true, 1}, {gb.param(1, {name = "p"}).name, gb.param(1, {fixed = true}).fixed, #gb.param{1}})
    p.fixed = 3
    assert.is_true(p.fixed)
    p.fixed = nil
    assert.is_false(p.fixed)
    p.raw = 4
    near(4, p.value, 0)
    assert.equal(2, p.version)
    assert.equal("a parameter has no field 'fix' to assign (it has fixed, max, min, prior, raw, value)",
      raises("option", "", function() p.fix = 1 end).message)
    raises("index", "", function() return p.fix end)
    near(2, p.sqrt(p), 0)
    near(3, p.sqrt(gb.tensor(9)), 0)
    assert.equal("x4.0", "x" .. p)
  end)

  it("keep its type", function()
    local p <const> = param.new(0.5, {min = 0}, "f32")
    p.value = gb.tensor(2)
    assert.same({"f32", "f32"}, {p.value.dtype, p.raw.dtype})
    p.raw = gb.tensor(1)
    assert.equal("f32", p.raw.dtype)
    assert.equal("f64", gb.param(gb.ones(2, {dtype = "f32"})).dtype)
  end)

  it("take values that depend on nothing", function()
    local p <const>, q <const> = gb.param(1), gb.param(2)
    p.value = q * 3
    near({0}, {gb.grad(p * 1, q, {unused = "zero"})}, 0)
    p.value = q
    near(2, p.value, 0)
  end)

  it("are refused outside of bounds, to the letter", function()
    for _, row in ipairs{
      {1, {max = 1}, "option", "parameter 'param' = 1.0 is not inside its bounds (-inf, 1)"},
      {1, {min = 1}, "option", "parameter 'param' = 1.0 is not inside its bounds (1, inf)"},
      {{1, 5}, {max = 3}, "option", "parameter 'param' = 1 .. 5 is not inside its bounds (-inf, 3)"},
      {-math.huge, {}, "nan", "parameter 'param' cannot be set to an infinite value"},
      {{1, math.huge}, {}, "nan", "parameter 'param' cannot be set to an infinite value"},
      {{1, 0 / 0}, {}, "nan", "parameter 'param' cannot be set to NaN"},
      {{}, {}, "shape", "parameter 'param' needs a value, got none"},
      {2, {prior = gb.priors.uniform{}}, "option",
        "parameter 'param' = 2.0 is not inside its bounds (0, 1), outside which its prior has no density"},
      {1, {min = 1, max = 1}, "option", "gb.param: min 1 is not below max 1"},
      {print, {}, "option", "the value of parameter 'param' must be a number, a list or a tensor, got function"},
      {1, {fixed = 1}, "option", "gb.param: option 'fixed' must be a boolean, got number 1"},
      {1, {min = "0"}, "option", "gb.param: option 'min' must be a number, got string 0"},
      {1, {max = "0"}, "option", "gb.param: option 'max' must be a number, got string 0"},
      {1, {name = 3}, "option", "gb.param: option 'name' must be a string, got number 3"},
      {1, {prior = 3}, "option",
        "gb.param: option 'prior' must be a gb.priors value (gb.priors.define makes one's own), got number 3"},
    } do assert.equal(row[4], raises(row[3], "", gb.param, row[1], row[2]).message) end
    local p <const> = gb.param(1, {name = "p"})
    for text, f in pairs{["parameter 'p' cannot be set to a value that is not finite"] = function() p.raw = -math.huge end,
      ["the raw value of parameter 'p' must be a number, a list or a tensor, got string"] = function() p.raw = "x" end,
      ["the prior of parameter 'p' must be a gb.priors value (gb.priors.define makes one's own), got string"] = function()
        p.prior = "x"
      end,
      ["'p' takes a value: pass a gb.param to the constructor instead"] = function() param.set(p, gb.param(2)) end,
    } do
      local err <const> = select(2, pcall(f))
      assert.same({text, text:find "not finite" and "nan" or "option"}, {err.message, err.code})
    end
    param.set(p, 5)
    near(5, p.value, 0)
  end)
end)

describe("gb.grad", function()
  local p <const>, q <const> = gb.param(3, {min = 0}), gb.param(2)
  local y <const> = p * p * q

  it("gives derivatives with the keys of what it differentiates by", function()
    near(12, gb.grad(y, p), 1e-13)
    near(36, gb.grad(y, p, {raw = true}), 1e-13)
    near(12, gb.grad(y, p, {raw = false}), 1e-13)
    near(9, gb.grad(y, q, {raw = true}), 1e-13)
    local both <const>, raw <const> = gb.grad(y, {a = p, b = q}), gb.grad(y, {p, q}, {raw = true})
    near({12, 9, 36, 9}, {both.a, both.b, raw[1], raw[2]}, 1e-13)
    local t <const> = gb.tensor{1, 2}:requires_grad()
    near({2, 4}, gb.grad((t * t):sum(), t, {raw = true}), 0)
    near({10, 80}, gb.grad(t * t, t, {cotangent = gb.tensor{5, 20}}), 0)
    near(0, gb.grad(p * 1, q, {unused = "zero"}), 0)
    near(0, gb.grad(p * 1, {q}, {raw = true, unused = "zero"})[1], 0)
    raises("option", "", gb.grad, p * 1, q, {unused = "error"})
    raises("option", "", gb.grad, p * 1, q, {unused = false})
    near(1, gb.grad(p, p), 0)
    assert.equal(1, select("#", gb.grad(y, {p, q})))
  end)

  it("says what it takes", function()
    for text, args in pairs{
      ["gb.grad: the first argument must be the tensor to differentiate, got number"] = {3, p},
      ["gb.grad: the first argument must be the tensor to differentiate, got string"] = {"x", p},
      ["gb.grad: the first argument must be the tensor to differentiate, got nil"] = {nil, p},
      ["gb.grad: the second argument must be a tensor, a gb.param or a table of them, got nil"] = {y},
      ["gb.grad: the second argument must be a tensor, a gb.param or a table of them, got string x"] = {y, "x"},
      ["gb.grad: unknown option 'rw', did you mean 'raw'? known: cotangent, raw, unused"] = {y, p, {rw = true}},
      ["gb.grad: option 'raw' must be a boolean, got number 1"] = {y, p, {raw = 1}},
      ["gb.grad: option 'unused' must be one of error, zero, got string one"] = {y, p, {unused = "one"}},
    } do assert.equal(text, raises("option", "", gb.grad, args[1], args[2], args[3]).message) end
  end)
end)

local gb <const> = require "gibbous"
local options <const> = require "gibbous.base.options"
local raises <const> = require "spec.support".raises

describe("options.parse", function()
  local spec <const> = {steps = "count", lr = "positive", method = {"adam", "sgd"}, on_step = "function", x = "number|tensor",
    even = function(v) return v % 2 == 0 end}

  it("copies what is given and leaves the rest nil", function()
    local given <const> = {lr = 0.5}
    local o <const> = options.parse(given, spec, "fit")
    assert.same({lr = 0.5}, o)
    assert.not_equal(given, o)
    assert.same({}, options.parse(nil, spec, "fit"))
  end)

  it("names the nearest key", function()
    raises("option", "fit: unknown option 'step', did you mean 'steps'?", options.parse, {step = 3}, spec, "fit")
    raises("option", "fit: unknown option 'frobnicate'; known: even, lr, method, on_step, steps, x", options.parse,
      {frobnicate = 3}, spec, "fit")
    raises("option", "fit: unknown option 'on-Step', did you mean 'on_step'?", options.parse, {["on-Step"] = 3}, spec, "fit")
    raises("option", "fit: options have names, {even = ...}: got a value without one", options.parse, {5}, spec, "fit")
  end)

  it("takes whole floats for integers and nothing else", function()
    assert.equal("integer", math.type(options.parse({steps = 3.0}, spec, "fit").steps))
    raises("option", "option 'steps' must be a whole number, 0 or more, got number 2.5", options.parse, {steps = 2.5}, spec, "fit")
    raises("option", "option 'steps'", options.parse, {steps = -1}, spec, "fit")
    raises("option", "option 'steps'", options.parse, {steps = "3"}, spec, "fit")
  end)

  it("checks types, choices and predicates", function()
    raises("option", "option 'lr' must be a positive number, got number 0", options.parse, {lr = 0}, spec, "fit")
    raises("option", "option 'lr'", options.parse, {lr = 0 / 0}, spec, "fit")
    raises("option", "did you mean adam?", options.parse, {method = "adan"}, spec, "fit")
    raises("option", "bad value for option 'even'", options.parse, {even = 3}, spec, "fit")
    raises("option", "option 'x' must be a number or a tensor", options.parse, {x = "3"}, spec, "fit")
    assert.equal("adam", options.parse({method = "adam"}, spec, "fit").method)
    assert.equal("tensor", gb.type(options.parse({x = gb.zeros(2)}, spec, "fit").x))
  end)

  it("lets false switch anything off", function()
    assert.is_false(options.parse({lr = false}, spec, "fit").lr)
    assert.is_false(options.parse({method = false}, spec, "fit").method)
  end)

  it("accepts callable tables as functions", function()
    local callable <const> = setmetatable({}, {__call = function() end})
    assert.equal(callable, options.parse({on_step = callable}, spec, "fit").on_step)
  end)

  it("refuses what is not an option table", function()
    raises("option", "fit: options must be a table, got number 3", options.parse, 3, spec, "fit")
    raises("option", "fit: options must be a table, got tensor", options.parse, gb.zeros(2), spec, "fit")
  end)
end)

describe("options of functions in C", function()
  it("name the function, the key and the nearest key", function()
    raises("option", "zeros: unknown option 'dtpe', did you mean 'dtype'?", gb.zeros, 2, {dtpe = "f32"})
    raises("option", "unknown dtype 'f31'", gb.zeros, 2, {dtype = "f31"})
    raises("device", "there is no device 'tpu'", gb.zeros, 2, {device = "tpu"})
    raises("option", "option 'keepdim' must be a boolean, got number", function() return gb.zeros(2):sum(1, {keepdim = 1}) end)
    raises("option", "option 'ddof' must be a number", function() return gb.zeros(2):var(1, {ddof = "1"}) end)
    raises("option", "option names are strings", gb.rand, 2, {[{}] = 1})
  end)

  it("point at the caller's line", function()
    local err <const> = select(2, pcall(function() gb.zeros(2, {dtpe = "f32"}) end))
    local line <const> = debug.getinfo(1, "l").currentline - 1
    assert.matches("options_spec.lua:" .. line .. "$", err.line)
    assert.equal(err.line .. ": " .. err.message, tostring(err))
  end)
end)

describe("a rule of an option", function()
  local function parsed(rule, v) return options.parse({x = v}, {x = rule}, "f").x end
  local function refused(text, rule, v) assert.equal("f: " .. text, raises("option", "", parsed, rule, v).message) end
  local callable <const> = setmetatable({}, {__call = function() end})

  it("is a type, or one of several", function()
    for _, row in ipairs{
      {"any", callable}, {"number", -1.5}, {"number", math.huge}, {"integer", -3}, {"positive", 1e-300}, {"positive", math.huge},
      {"count", 0}, {"tensor", gb.ones(1)},
      {"tensor", gb.param(1)}, {"function", print}, {"function", callable}, {"string", "x"}, {"boolean", true}, {"table", {}},
      {"param", gb.param(1)},
      {"kernel", gb.kernels.rbf{}}, {"string|number", 3}, {"number|string", "3"}, {"number|string|function", print}, {{1, 2}, 2},
      {{"a", true}, true},
    } do assert.is_true(rawequal(row[2], parsed(row[1], row[2]))) end
    for _, rule in ipairs{"integer", "count"} do
      assert.same({3, "integer"}, {parsed(rule, 3.0), math.type(parsed(rule, 3.0))})
    end
    assert.equal("float", math.type(parsed("number", 3.0)))
    assert.equal("float", math.type(parsed("positive", 3.0)))
    for _, rule in ipairs{"any", "number", "count", {"a"}, function() return false end} do assert.is_false(parsed(rule, false)) end
    assert.equal("y", parsed(function(v) return v == "y" end, "y"))
  end)

  it("names what was expected and what was given", function()
    for _, row in ipairs{
      {"option 'x' must be a number, got string 3", "number", "3"}, {"option 'x' must be an integer, got number 1.5", "integer",
        1.5},
      {"option 'x' must be an integer, got string 3", "integer", "3"},
      {"option 'x' must be a positive number, got number 0", "positive", 0},
      {"option 'x' must be a positive number, got number nan", "positive", 0 / 0},
      {"option 'x' must be a positive number, got table", "positive", {}},
      {"option 'x' must be a whole number, 0 or more, got number -1", "count", -1},
      {"option 'x' must be a whole number, 0 or more, got number 0.5", "count", 0.5},
      {"option 'x' must be a tensor, got number 3", "tensor", 3}, {"option 'x' must be a function, got table", "function", {}},
      {"option 'x' must be a function, got tensor", "function", gb.ones(1)},
      {"option 'x' must be a string or a function, got number 3", "string|function", 3},
      {"option 'x' must be a kernel, got param", "kernel", gb.param(1)},
      {"option 'x' must be a table, got tensor", "table", gb.ones(1)},
      {"option 'x' must be one of left, right, got string middle", {"left", "right"}, "middle"},
      {"option 'x' must be one of left, right, got string lft, did you mean left?", {"left", "right"}, "lft"},
      {"option 'x' must be one of left, right, got string LEFT, did you mean left?", {"left", "right"}, "LEFT"},
      {"option 'x' must be one of 1, 2, got number 3", {1, 2}, 3}, {"option 'x' must be one of 1, 2, got boolean", {1, 2}, true},
      {"bad value for option 'x', got number 3", function() return false end, 3},
      {"bad value for option 'x', got table", function() return nil end, {}},
      {"option 'x' must be mine, got string y", function() return false, "mine" end, "y"},
      {"option 'x' must be mine, got yours", function() return false, "mine", "yours" end, "y"},
    } do
      if row[3] == row[3] then
        refused(row[1], row[2], row[3])
      else
        raises("option", "must be a positive number, got number", parsed, row[2], row[3])
      end
    end
  end)

  it("may tell a constructor that was not called from its values", function()
    local part <const> = {make = function() end, other = 3}
    local rule <const> = options.value_of(function(v) return v == "made" or v == print end, "a thing", part, "gb.part", "{...}")
    assert.equal("made", parsed(rule, "made"))
    assert.equal(print, parsed(rule, print))
    refused("option 'x' must be a thing, got the function gb.part.make: call it, gb.part.make{...}", rule, part.make)
    refused("option 'x' must be a thing, got number 3", rule, 3)
    refused("option 'x' must be a thing, got function", rule, select)
    assert.equal("made", parsed(options.value_of(function() return true end, "a thing"), "made"))
  end)
end)

describe("an option table", function()
  local function said(o, spec)
    return raises("option", "", options.parse, o, spec or {alpha = "any", beta_two = "any"}, "f").message
  end

  it("has names that are known, or near", function()
    for name, text in pairs{alph = "f: unknown option 'alph', did you mean 'alpha'? known: alpha, beta_two",
      ALPHA = "f: unknown option 'ALPHA', did you mean 'alpha'? known: alpha, beta_two",
      betaTwo = "f: unknown option 'betaTwo', did you mean 'beta_two'? known: alpha, beta_two",
      zzzzzz = "f: unknown option 'zzzzzz'; known: alpha, beta_two"} do
      assert.equal(text, said{[name] = 1})
    end
    assert.equal("f: unknown option 'zzzzzz', there are none", said({zzzzzz = 1}, {}))
    assert.equal("f: options have names, {name = ...}: got a value without one", said({1}, {}))
    assert.equal("f: options have names, {alpha = ...}: got a value without one", said{3, alpha = 1})
    assert.equal("f: options have names, {alpha = ...}: got a value without one", said{[true] = 1})
    assert.equal("f: unknown option 'aaaaaaa'; known: alpha, beta_two", said{zzzzzz = 1, aaaaaaa = 1, mmmmm = 1})
    assert.equal("beta_two", options.nearest("beta two", {beta_two = true, alpha = true}))
    assert.is_nil(options.nearest("qqqqqqq", {beta_two = true, [3] = true}))
  end)

  it("is a table of the script's", function()
    for text, v in pairs{["number 3"] = 3, ["string x"] = "x", tensor = gb.ones(1), param = gb.param(1), kernel = gb.kernels.rbf{},
        boolean = true, ["function"] = print} do
      assert.equal("f: options must be a table, got " .. text, said(v))
    end
    assert.same({alpha = 1}, options.parse(setmetatable({alpha = 1}, {}), {alpha = "any"}, "f"))
    assert.same({alpha = 1}, options.parse(setmetatable({alpha = 1}, {__metatable = "locked"}), {alpha = "any"}, "f"))
    assert.same({}, options.parse({}, {}, "f"))
  end)
end)

local gb <const> = require "gibbous"
local options <const> = require "gibbous.options"
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
    raises("option", "option 'x' must be number or tensor", options.parse, {x = "3"}, spec, "fit")
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

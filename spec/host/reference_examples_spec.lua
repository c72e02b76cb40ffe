local options <const> = require "gibbous.base.options"
local reference <const> = require "gibbous.reference"
local support <const> = require "spec.support"

-- The library calls them; what they take is not a script's to make.
local without <const> = {["block:forward"] = true, ["optimiser:update"] = true, ["solver:forms"] = true, ["solver:run"] = true,
  ["set:split"] = true}

local function is_called(e) return (e.kind == "function" or e.kind == "method") and e.area ~= "core" end

--- Runs 'code' as a script of its own, with gb at hand; gives what it printed.
local function run(code, name)
  local gb <const> = require "gibbous"
  local printed <const> = {}
  local env <const> = setmetatable({gb = gb, print = function(...)
    for i = 1, select("#", ...) do printed[#printed + 1] = tostring((select(i, ...))) end
  end}, {__index = _G})
  local f <const>, why <const> = load(code, "=" .. name, "t", env)
  assert(f, why)
  gb.seed(0)
  f()
  return printed
end

--- The entries whose options a message calls 'what': "gb.optim.minimize", "figure:line", or a method's name alone.
local function entries_of(what)
  if what:find "[.:]" then return {reference.of(what)} end
  local found <const> = {}
  for _, e in ipairs(reference.all()) do
    if e.kind == "method" and e.short == what and e.area ~= "core" then found[#found + 1] = e end
  end
  return found
end

local function keys(t)
  local list <const> = {}
  for key in pairs(t) do list[#list + 1] = key end
  table.sort(list)
  return table.concat(list, " ")
end

local function has_options(e, spec)
  local documented <const> = {}
  for _, o in ipairs(e.options) do documented[o.key] = true end
  return keys(documented) == keys(spec)
end

describe("an example of the documentation", function()
  it("is there for every function and method", function()
    local missing <const> = {}
    for _, e in ipairs(reference.all()) do
      if is_called(e) and not e.example and not without[e.name] then missing[#missing + 1] = e.name end
    end
    assert.same({}, missing)
  end)

  it("calls what it is the example of", function()
    local wrong <const> = {}
    for _, e in ipairs(reference.all()) do
      if is_called(e) and e.example and not e.example:find(e.short, 1, true) then wrong[#wrong + 1] = e.name end
    end
    assert.same({}, wrong)
  end)

  local failed <const>, rules <const> = {}, {}

  -- Runs all of them, and notes by which rules options were checked meanwhile, by whose they are in messages.
  local function run_all()
    local parse <const> = options.parse
    local function noted(given, spec, what, ...)
      rules[what] = rules[what] or {}
      rules[what][#rules[what] + 1] = spec
      return parse(given, spec, what, ...)
    end
    for _, e in ipairs(reference.all()) do
      local ok <const>, err <const> = pcall(support.with, options, {parse = noted}, function() run(e.example or "", e.name) end)
      if not ok then failed[#failed + 1] = e.name .. ": " .. tostring(err) end
    end
  end

  it("runs", function()
    support.with(io, {write = function() return io.stdout end}, run_all)       -- figures that are shown
    assert.same({}, failed)
  end)

  it("shows by which rules options are checked: those that are documented", function()
    local wrong <const>, compared = {}, 0
    for what, list in pairs(rules) do
      for _, spec in ipairs(list) do
        local entries <const> = entries_of(what)
        local fits = #entries == 0
        for _, e in ipairs(entries) do fits = fits or has_options(e, spec) end
        if not fits then wrong[#wrong + 1] = what .. ": " .. keys(spec) end
        compared = compared + #entries
      end
    end
    table.sort(wrong)
    assert.same({}, wrong)
    assert.is_true(compared > 100, compared)
  end)
end)

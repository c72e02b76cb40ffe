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

  it("runs", function()
    local failed <const> = {}
    local function run_all()
      for _, e in ipairs(reference.all()) do
        local ok <const>, err <const> = pcall(run, e.example or "", e.name)
        if not ok then failed[#failed + 1] = e.name .. ": " .. tostring(err) end
      end
    end
    support.with(io, {write = function() return io.stdout end}, run_all)       -- figures that are shown
    assert.same({}, failed)
  end)
end)

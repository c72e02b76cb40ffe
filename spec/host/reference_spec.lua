local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local reachable <const> = require "spec.reachable"
local reference <const> = require "gibbous.reference"

-- Read once: the programs build models.
local classes <const>, functions <const> = reachable.classes(), reachable.functions()

local function sorted(list)
  table.sort(list)
  return list
end

local function is_inside(e) return e.area == "core" end

local function answers(values, member, entry)
  local optional <const> = entry.kind == "field" and (entry.returns or ""):find("?", 1, true) ~= nil
  for _, value in ipairs(values) do
    local ok <const>, v <const> = pcall(function() return value[member] end)
    if ok and (v ~= nil or optional) then return true end
  end
  return false
end

describe("the documentation", function()
  it("has every function of gb and its parts", function()
    local missing <const> = {}
    for name in pairs(functions) do
      if not reference.of(name) then missing[#missing + 1] = name end
    end
    assert.same({}, sorted(missing))
  end)

  it("has every class of objects, and every method and field of each", function()
    local missing <const> = {}
    for class, c in pairs(classes) do
      if not reference.of(class) then missing[#missing + 1] = class .. " (" .. c.from .. ")" end
      for name in pairs(c.names) do
        if not reference.member(class, name) and not functions["gb." .. name] then missing[#missing + 1] = class .. "." .. name end
      end
    end
    assert.same({}, sorted(missing))
  end)

  it("has nothing that is not there", function()
    local wrong <const> = {}
    for _, e in ipairs(reference.all()) do
      if e.kind == "function" and not is_inside(e) and not functions[e.name] then wrong[#wrong + 1] = e.name end
    end
    for class, c in pairs(classes) do
      for _, m in ipairs(reference.members(class)) do
        local e <const> = reference.member(class, m.name)
        if not answers(c.values, m.name, e) then wrong[#wrong + 1] = class .. "." .. m.name end
      end
    end
    assert.same({}, sorted(wrong))
  end)

  it("has no class that no program meets", function()
    local unseen <const> = {}
    for _, e in ipairs(reference.all()) do
      if e.kind == "class" and not is_inside(e) and not e.class:match "%.options$" and not classes[e.class] then
        unseen[#unseen + 1] = e.class
      end
    end
    assert.same({"gibbous.model"}, sorted(unseen))       -- what models share: gb.gp.exact, gb.gp.multitask
  end)

  it("has the commands of the prompt and of the program", function()
    local usage <const> = require "spec.process".run{"help"}
    for call in usage:gmatch "gibbous ([^\n]*|?[^\n]*)\n" do
      for word in (" | " .. call):gmatch "| (%l+)" do assert.truthy(reference.of("gibbous " .. word), word) end
    end
    for option in usage:gmatch "\n  (%-%S*) " do assert.truthy(reference.of(option), option) end
    for _, c in ipairs(core.source "gibbous.prompt.commands" and require "gibbous.prompt.commands".list or {}) do
      assert.equal(c.call, reference.of(":" .. c.name).call)
    end
  end)

  it("says something about each, and of each argument its type", function()
    local bare <const> = {}
    for _, e in ipairs(reference.all()) do
      local silent <const> = e.line == "" and not e.name:match "%.options$"
      if silent and not is_inside(e) then bare[#bare + 1] = e.name end
      local args <const> = e.call:match "%((.*)%)" or ""
      for arg in (is_inside(e) and "" or args):gmatch "[%w_.]+" do
        local known = false
        for _, a in ipairs(e.args) do known = known or a.name == arg end
        if not known then bare[#bare + 1] = e.name .. ": " .. arg end
      end
      for _, o in ipairs(e.options) do
        if not is_inside(e) and o.text == "" then bare[#bare + 1] = e.name .. "{" .. o.key .. "}" end
      end
    end
    assert.same({}, sorted(bare))
  end)

  it("has the defaults of solvers as they are", function()
    for _, name in ipairs{"cg", "minres", "sdd", "alternating_projections", "lanczos"} do
      local made <const> = gb.solvers[name]{}.o
      for _, option in ipairs(reference.options("gb.solvers." .. name)) do
        local said <const> = tonumber(option.text:match "default: ([%d.e+-]+)$")
        if said and made[option.key] ~= nil then assert.equal(made[option.key], said, name .. " " .. option.key) end
      end
    end
  end)
end)

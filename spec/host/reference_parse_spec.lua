local parse <const> = require "gibbous.reference.parse"
local text <const> = require "gibbous.reference.text"

local declared <const> = [[
-- of the file
--- A thing.
---@class gibbous.x: gibbous.parent
---@field a number  the first
---@field b? string|nil
---@field [integer] number
local x = {}

---@class gibbous
local gb = {}

--- A part.
---@class gb.part
gb.part = {}

--- Makes one of two. Nothing else.
--- Cost: O(n). Errors: option;
--- shape.
---@param x number  the first
---@param f fun(a: number, b: string): boolean  called
---@param o? {tol: number, at: table<string, number>}  tol: small
---@return gibbous.x  both
---@return number
---@see gb.other
---```lua
--- gb.make(1, print)
---   indented()
---```
function gb.make(x, f, o) end

-- A heading

--- A method.
function x:go(n) end

function gb.part.bare() end

--- Of no class.
gb.value = 3

--- Does it.
command[":time expr"] = true

--- Says it.
command["gibbous help [topic]"] = true
]]

describe("a declaration", function()
  local list <const>, by <const> = parse.read(declared, "here"), {}
  for _, e in ipairs(list) do by[e.name] = e end

  it("has a name, a kind and a call", function()
    local got <const> = {}
    for i, e in ipairs(list) do got[i] = table.concat({e.name, e.kind, e.call, e.short, e.owner or "-"}, " ") end
    assert.same({"gibbous.x class gibbous.x x -", "gibbous class gibbous gb -", "gb.part class gb.part gb.part -",
      "gb.make function gb.make(x, f, o) make gibbous", "x:go method x:go(n) go gibbous.x",
      "gb.part.bare function gb.part.bare() bare gb.part", ":time command :time expr time -",
      "gibbous help command gibbous help [topic] help -"}, got)
  end)

  it("has text, cost, errors, arguments, results and an example", function()
    local e <const> = by["gb.make"]
    assert.equal("Makes one of two.", e.line)
    assert.equal("Makes one of two. Nothing else.", e.text)
    assert.equal("O(n).", e.cost)
    assert.equal("option;\nshape.", e.errors)
    assert.same({{name = "x", type = "number", text = "the first"},
      {name = "f", type = "fun(a: number, b: string): boolean", text = "called"},
      {name = "o", type = "{tol: number, at: table<string, number>}", text = "tol: small"}}, e.args)
    assert.equal("gibbous.x  both; number", e.returns)
    assert.same({"gb.other"}, e.see)
    assert.equal("gb.make(1, print)\n  indented()", e.example)
    assert.equal("", by["gb.part.bare"].text)
  end)

  it("has fields and a parent, where it is a class", function()
    assert.equal("gibbous.parent", by["gibbous.x"].parent)
    assert.same({{name = "a", type = "number", text = "the first"}, {name = "b", type = "string|nil", text = ""}},
      by["gibbous.x"].fields)
  end)

  it("has a type whose values in quotation marks have blanks", function()
    assert.same({'"auto"|"top left"|":"', '"auto": where it fits'},
      {parse.type_and_text '"auto"|"top left"|":"  "auto": where it fits'})
    assert.same({'"top left"|"off"', "where"}, {parse.type_and_text '"top left"|"off"  where'})
  end)

  it("has options in a table type", function()
    assert.same({{key = "tol", type = "number", text = ""}, {key = "at", type = "table<string, number>", text = ""}},
      parse.inline_keys(by["gb.make"].args[3].type))
    assert.is_nil(parse.inline_keys "{[string]: number}")
    assert.is_nil(parse.inline_keys "number")
  end)

  it("is text of a width", function()
    local e <const> = by["gb.make"]
    e.options = {}
    assert.equal([[
gb.make(x, f, o)
  Makes one of two. Nothing
  else.
  arguments
    x
      number: the first
    f
      fun(a: number, b: string):
      boolean: called
    o
      {tol: number, at:
      table<string, number>}:
      tol: small
  gives  x both; number
  cost   O(n).
  errors option; shape.
  see    gb.other
  example
    gb.make(1, print)
      indented()]], text.of(e, 32))
  end)

  it("has a text beside its name, or below it where the name or the window leaves no room", function()
    local said <const> = "so much is said of it that it takes two lines here"
    assert.equal("  ab    so much is said of it that it takes two\n        lines here", text.row("ab", said, 50, 2, 5))
    assert.equal("  abcdef\n        so much is said of it that it takes two\n        lines here",
      text.row("abcdef", said, 50, 2, 5))
    assert.equal("  ab\n    so much is said of it that it takes two lines\n    here", text.row("ab", said, 49, 2, 5))
    assert.equal("  ab", text.row("ab", "", 50, 2, 5))
  end)
end)

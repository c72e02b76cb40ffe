--- The declarations that gibbous stubs writes follow the grammar of LuaCATS, name only what is declared, and agree with the
--- functions that they precede.
local areas <const> = require "gibbous.reference.areas"
local core <const> = require "gibbous.core"

-- Types: a recursive descent that gives the position after what it has read, or raises ------------------------------------------

local union

local function skip(s, i) return s:match("^ *()", i) end

local function expect(s, i, text)
  i = skip(s, i)
  if s:sub(i, i + #text - 1) ~= text then error(("'%s' expected at %d of '%s'"):format(text, i, s), 0) end
  return i + #text
end

--- One or more of what 'one' reads, with commas between them.
local function list(s, i, one, names)
  i = one(s, i, names)
  while s:match("^ *,", i) do i = one(s, expect(s, i, ","), names) end
  return i
end

--- "name?: type", "name", "...", of a function or an inline table; "[type]: type" of a table.
local function member(s, i, names)
  i = skip(s, i)
  if s:sub(i, i) == "[" then return union(s, expect(s, expect(s, union(s, i + 1, names), "]"), ":"), names) end
  local after <const> = s:match("^[%a_][%w_]*%??()", i) or s:match("^%.%.%.()", i)
  if not after then error(("a name expected at %d of '%s'"):format(i, s), 0) end
  return s:match("^ *:", after) and union(s, expect(s, after, ":"), names) or after
end

local function fun(s, i, names)
  i = expect(s, i, "(")
  if not s:match("^ *%)", i) then i = list(s, i, member, names) end
  i = expect(s, i, ")")
  return s:match("^:", i) and list(s, i + 1, union, names) or i
end

local function primary(s, i, names)
  i = skip(s, i)
  local c <const> = s:sub(i, i)
  if c == '"' then return s:match('^"[^"]*"()', i) or error("a string has no end: " .. s, 0) end
  if c == "(" then return expect(s, union(s, i + 1, names), ")") end
  if c == "{" then
    return s:match("^{ *}()", i) or expect(s, list(s, i + 1, member, names), "}")
  end
  if s:match("^%.%.%.", i) then return i + 3 end
  local name <const>, after <const> = s:match("^([%a_][%w_.]*[%w_]?)()", i)
  if not name then return s:match("^%-?%d+()", i) or error(("a type expected at %d of '%s'"):format(i, s), 0) end
  if name == "fun" then return fun(s, after, names) end
  names[name] = true
  return s:sub(after, after) == "<" and expect(s, list(s, after + 1, union, names), ">") or after
end

function union(s, i, names)
  i = primary(s, i, names)
  while true do
    local after <const> = s:match("^%[%]()", i) or s:match("^%?()", i)
    if after then i = after
    elseif s:match("^|", i) then i = primary(s, i + 1, names)
    else return i end
  end
end

-- Lines -------------------------------------------------------------------------------------------------------------------------

--- Behind a type is nothing, or a blank and text.
local function type_then_text(s, i, names)
  i = union(s, i, names)
  if i <= #s and s:sub(i, i) ~= " " then error(("a blank expected at %d of '%s'"):format(i, s), 0) end
end

local TAGS <const> = {
  meta = function(s) assert(s == "" or s:match "^[%w_.]+$", s) end,
  see = function(s) assert(s:match "^%S", s) end,
  class = function(s, names)
    local parents <const> = s:match "^[%a_][%w_.]*[%w_](.*)$"
    assert(parents == "" or parents and parents:sub(1, 1) == ":", s)
    if parents ~= "" then assert(list(parents, 2, union, names) == #parents + 1, s) end
  end,
  alias = function(s, names) type_then_text(s, assert(s:match "^[%a_][%w_.]* ()", s), names) end,
  field = function(s, names)
    local after <const> = s:match "^[%a_][%w_]*%?? ()"
    if after then return type_then_text(s, after, names) end
    type_then_text(s, expect(s, union(s, expect(s, 1, "["), names), "]"), names)
  end,
  param = function(s, names)
    type_then_text(s, s:match "^[%a_][%w_]*%?? ()" or s:match "^%.%.%. ()" or error("no name: " .. s, 0), names)
  end,
  ["return"] = function(s, names) type_then_text(s, 1, names) end,
  operator = function(s, names)
    local after = assert(s:match "^%l+()", s)
    if s:sub(after, after) == "(" then after = expect(s, union(s, after + 1, names), ")") end
    type_then_text(s, expect(s, after, ":"), names)
  end,
  overload = function(s, names) assert(fun(s, expect(s, 1, "fun"), names) == #s + 1, s) end,
}

--- What is wrong with one line '---@tag rest', nil where nothing is.
local function fault_of(line, names)
  local tag <const>, rest <const> = line:match "^%-%-%-@([%a]+) ?(.*)$"
  local check <const> = TAGS[tag]
  if not check then return "unknown tag: " .. line end
  local ok <const>, err <const> = pcall(check, rest, names)
  return not ok and ("%s: %s"):format(line, err) or nil
end

local BUILT_IN <const> = {}
for name in ("any boolean false function integer nil number self string table thread true userdata"):gmatch "%a+" do
  BUILT_IN[name] = true
end

--- All lines of all files that are written, with their area.
local function each_line()
  return coroutine.wrap(function()
    for _, area in ipairs(areas) do
      local source <const> = not ({core = true, shell = true})[area[1]] and core.source("gibbous.meta." .. area[1])
      for line in (source or ""):gmatch "[^\n]*" do coroutine.yield(line, area[1]) end
    end
  end)
end

describe("a declaration for editors", function()
  it("is in the grammar of LuaCATS, and names what is declared", function()
    local names <const>, declared <const>, faults <const>, count = {}, {}, {}, 0
    for line in each_line() do
      if line:match "^%-%-%-@" then
        count = count + 1
        faults[#faults + 1] = fault_of(line, names)
        local name <const> = line:match "^%-%-%-@class ([%w_.]+)" or line:match "^%-%-%-@alias ([%w_.]+)"
        if name then declared[name] = true end
      end
    end
    for name in pairs(names) do
      if not declared[name] and not BUILT_IN[name] then faults[#faults + 1] = "not declared: " .. name end
    end
    table.sort(faults)
    assert.same({}, faults)
    assert.is_true(count > 1500)
  end)

  it("has the parameters of its function, in their order, each with a type", function()
    local faults <const>, params = {}, {}
    for line, area in each_line() do
      local name <const> = line:match "^%-%-%-@param (%S+)"
      local called <const>, list_text <const> = line:match "^function ([%w_.:]+)(%b())"
      if name then params[#params + 1] = name:gsub("%?$", "")
      elseif called then
        local given <const> = table.concat(params, ", ")
        if "(" .. given .. ")" ~= list_text then
          faults[#faults + 1] = ("%s: %s has %s, its lines (%s)"):format(area, called, list_text, given)
        end
      end
      if not line:match "^%-%-%-" then params = {} end
    end
    assert.same({}, faults)
  end)

  it("gives tables of options a class", function()
    local function needs_none(line) return line:find("no options", 1, true) or line:find("checked options", 1, true) end
    for line in each_line() do
      assert.is_true(needs_none(line) ~= nil or line:match "^%-%-%-@param o table" == nil, line)
    end
  end)

  it("is refused where it is wrong", function()
    for _, line in ipairs{"---@param", "---@param x", "---@param x number[", "---@param x fun(a: number", "---@param x {a: number",
      "---@return", "---@return |number", "---@field x", "---@field 3 number", "---@class", "---@class a b", "---@alias x",
      '---@alias x "a', "---@operator add(number) number", "---@overload number",
      "---@parm x number", "---@param x number,text"} do
      assert.is_string(fault_of(line, {}), line)
    end
    for _, line in ipairs{"---@param x? number  text", "---@param ... any",
      "---@param f fun(a: number, b?: string): number, string",
      '---@field a "x"|"y"|nil  text', "---@field [integer] number", "---@return {[1]: number, n: integer}[]?  text",
      "---@class a.b: c.d, e", "---@operator add(number|a.b): a.b", "---@overload fun(x: number): string",
      "---@param t table<string, (number|false)[]>"} do
      assert.is_nil(fault_of(line, {}))
    end
  end)
end)

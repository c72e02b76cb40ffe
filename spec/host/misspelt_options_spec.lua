--- A misspelt option is an error that names the right one, of every function that takes options: its example is run with such a key
--- in the option table.
local gb <const> = require "gibbous"
local reference <const> = require "gibbous.reference"
local support <const> = require "spec.support"

-- Their examples call another name, have no option table, or catch the error; or there is none.
local WITHOUT <const> = {["gb.gp.load"] = true, ["gb.data.set"] = true, ["set:split"] = true, ["gb.bench"] = true,
  ["gb.data.frame"] = true, ["gb.plot.sweep"] = true}

--- The arguments of a call, from the text between its brackets.
local function arguments(text)
  local list, depth, from, i = {}, 0, 1, 1
  while i <= #text do
    local c <const> = text:sub(i, i)
    if c:match "[%(%[{]" then depth = depth + 1
    elseif c:match "[%)%]}]" then depth = depth - 1
    elseif c == '"' then i = text:find('"', i + 1, true)
    elseif c == "," and depth == 0 then
      list[#list + 1], from = text:sub(from, i - 1), i + 1
    end
    i = i + 1
  end
  if text:match "%S" then list[#list + 1] = text:sub(from) end
  return list
end

--- Which argument has the options, and whether any number of others comes before it.
local function position(e)
  for i = #e.args, 1, -1 do
    local kind <const> = e.args[i].type
    if kind:find("options", 1, true) or kind:match "^{[%a_]" then return i, e.args[i].name == "..." end
  end
end

--- The arguments with one more key in the option table, which is added where the call has none.
local function with_key(list, e, key)
  local at <const>, varied <const> = position(e)
  local last <const> = (list[#list] or ""):match "^%s*({.*})%s*$"
  if last and (last:match "[%a_][%w_]* = " or last == "{}" and #list == at) then
    list[#list] = (" {%s = 1, %s"):format(key, last:sub(2))
  elseif varied or #list < at then
    while #list < at - 1 do list[#list + 1] = " nil" end
    list[#list + 1] = (" {%s = 1}"):format(key)
  else
    list[at] = (" {%s = 1}"):format(key)
  end
  return table.concat(list, ",")
end

--- The example of an entry, its own first call with one more key in the options; nil where it has no such call.
local function edited(e, key)
  local from = 1
  while true do
    local at <const>, to <const> = (e.example or ""):find("[.:]" .. e.short .. "%f[^%w_]", from)
    if not at then return nil end
    local rest <const> = e.example:sub(to + 1)
    local bare <const> = rest:match "^%s*%b{}" or rest:match '^%s*%b""'
    local given <const> = bare or rest:match "^%s*%b()"
    if given then
      local list <const> = arguments(bare or given:match "%((.*)%)")
      return ("%s(%s)%s"):format(e.example:sub(1, to), with_key(list, e, key), rest:sub(#given + 1))
    end
    from = to
  end
end

--- The longest key, its last two letters exchanged; nil where all are short or that is another key.
local function misspelt(e)
  local key, known = "", {}
  for _, o in ipairs(e.options) do
    known[o.key] = true
    if #o.key > #key then key = o.key end
  end
  local wrong <const> = key:sub(1, -3) .. key:sub(-1) .. key:sub(-2, -2)
  if #key < 4 or wrong == key or known[wrong] then return nil end
  return wrong, key
end

--- What running the code says.
local function message(code, name)
  local env <const> = setmetatable({gb = gb, print = function(...)
    for i = 1, select("#", ...) do tostring((select(i, ...))) end
  end}, {__index = _G})
  gb.seed(0)
  local ok <const>, err <const> = pcall(assert(load(code, "=" .. name, "t", env)))
  return ok and "nothing" or tostring(err)
end

describe("a misspelt option", function()
  it("is an error that names the right one", function()
    local silent <const>, tried, skipped = {}, 0, {}
    support.with(io, {write = function() return io.stdout end}, function()
      for _, e in ipairs(reference.all()) do
        local is_called <const> = (e.kind == "function" or e.kind == "method") and e.area ~= "core" and #e.options > 0
        local wrong <const>, right <const> = misspelt(e)
        if is_called and wrong and not WITHOUT[e.name] then
          local code <const> = edited(e, wrong)
          if not code then
            skipped[#skipped + 1] = e.name
          else
            local said <const> = message(code, e.name)
            tried = tried + 1
            if not said:find(("unknown option '%s', did you mean '%s'"):format(wrong, right), 1, true) then
              silent[#silent + 1] = ("%s{%s}: %s"):format(e.name, wrong, said:match "^[^\n]*")
            end
          end
        end
      end
    end)
    assert.same({}, silent)
    assert.same({}, skipped)
    assert.is_true(tried > 100, tostring(tried))
  end)
end)

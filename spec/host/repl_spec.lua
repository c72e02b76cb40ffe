local run <const> = require "spec.process".run

-- The prompt on a pipe: no editing, but everything else. Without the prompts themselves.
local function session(text, o)
  local out <const>, err <const>, code <const> = run({"-i"}, {input = text, env = o and o.env or "HOME=/nonexistent"})
  return (out:gsub("^gibbous [^\n]*\nLua [^\n]*\n", ""):gsub(">+ ", "")), err, code
end

describe("the prompt", function()
  it("prints what expressions give", function()
    assert.equal("3\n", (session "1 + 2\n"))
    assert.equal('1\t"two"\tnil\n', (session '1, "two", nil\n'))
    assert.equal("", (session "x = 3\n"))
  end)

  it("tells a tensor of one element from the number that it prints as", function()
    local text <const> = "gb = require 'gibbous'\nt = gb.tensor{3.5}:sum()\nt, t:item()\nprint(t)\nt == 3.5\n"
    assert.equal("3.5  (a tensor of f64)\t3.5\n3.5\nfalse\n", (session(text)))
  end)

  it("takes =expression, over several lines too", function()
    assert.equal('2\n2\t"x"\n', (session "=1+1\n= 2, 'x'\n"))
    assert.equal("7\n", (session "=(3 +\n4)\n"))
    assert.matches("stdin:1: .*near 'x'", (select(2, session "=1 x\n")))
    assert.matches("near <eof>", (select(2, session "=1 +\n")))
    assert.matches("unexpected symbol near '='", (select(2, session "==1\n")))
  end)

  it("goes on where the script has a rule that raises for names that do not exist", function()
    local out <const>, err <const> = run({"-e", "setmetatable(_G, {__index = function(_, k) error('no ' .. k, 2) end})", "-i"},
      {input = "1 + 1\nfoo\n:pin kept\nkept\n?:pin\n"})
    assert.matches("> 2\n> > kept as kept; :unpin kept lets go of it\n> 2\n> :pin %[NAME%]", out)
    assert.matches("^stdin:1: no foo\n", err)
  end)

  it("takes its prompts from _PROMPT and _PROMPT2", function()
    local function prompts(before, input)
      return (run({"-e", before, "-i"}, {input = input}):gsub("^gibbous [^\n]*\nLua [^\n]*\n", ""))
    end
    assert.equal("aloalomore5\nalo", prompts("_PROMPT, _PROMPT2 = 'alo', 'more'", "a = 1\n(\n5)\n"))
    assert.equal("> 1\nx2\nx", prompts("", "_PROMPT = 'x' print(1)\n2\n"))
    assert.equal("123", prompts(
      "local n = 0 _PROMPT = setmetatable({}, {__tostring = function() n = n + 1 return tostring(n) end})", "a = 1\nb = 2\n"))
    local out <const>, err <const> = run({"-e", "_PROMPT = setmetatable({}, {__tostring = function() error 'no text' end})", "-i"},
      {input = "1\n"})
    assert.matches("\n> 1\n> $", out)
    assert.matches("no text", err)
  end)

  it("prints with the script's own print", function()
    local typed <const> = "function print(...) io.write(select('#', ...), ' ', (...), ' ', tostring((select(2, ...))), '\\n') end\n"
      .. "'a', nil, {}\nprint = nil io.write '1\\n'\n"
    assert.equal("3 a nil\n1\n", (session(typed)))
    local out <const>, err <const> = session "print = nil\n10\nprint = function() error 'mine' end\n10\nio.write '11'\n"
    assert.matches("^11", out)
    assert.matches("^error calling 'print' %(attempt to call a nil value%)\nerror calling 'print' %(stdin:1: mine%)\n", err)
  end)

  it("is silenced by a semicolon", function()
    assert.equal("", (session "1 + 2;\n"))
    assert.equal("called\n", (session "print 'called';\n"))
  end)

  it("reads on until a chunk is complete", function()
    assert.equal("1\n2\n", (session "for i = 1, 2 do\nprint(i)\nend\n"))
    assert.equal("3\n", (session "(function()\n  return 3\nend)()\n"))
    assert.equal('"a\\nb"\n', (session "[[a\nb]]\n"))
  end)

  it("survives errors", function()
    local out <const>, err <const>, code <const> = session "error 'boo'\n1 + 1\nnil .. 'x'\n)\n7\n"
    assert.equal("2\n7\n", out)
    assert.matches("stdin:1: boo", err)
    assert.matches("attempt to concatenate", err)
    assert.matches("unexpected symbol near '%)'", err)
    assert.equal(0, code)
  end)

  it("survives errors in __tostring", function()
    local out <const>, err <const> = session "setmetatable({}, {__tostring = function() error 'inner' end})\n1\n"
    assert.equal("1\n", out)
    assert.matches("inner", err)
  end)

  it("reports what is left unfinished at the end", function()
    assert.matches("near <eof>", (select(2, session "for i = 1, 2 do\n")))
  end)

  it("has gb, and prints tensors and tables to be read", function()
    assert.equal("tensor 2 f64 cpu  16 B\n  1  2\n", (session "gb.tensor{1, 2}\n"))
    assert.equal("{1, 2, a = {b = true}}\n", (session "{1, 2, a = {b = true}}\n"))
    assert.equal('{["a b"] = "c", x = <tensor 2x2 f64>, y = 0.5}\n',
      (session "{x = gb.zeros(2, 2), y = gb.full({}, 0.5), ['a b'] = 'c'}\n"))
    assert.equal("nan\n", (session "0/0\n"))                -- no sign, whatever its bits say
    assert.equal("{nan, b = nan, inf = -inf}\n", (session "{0/0, b = -(0/0), inf = -1/0}\n"))
    assert.equal("{<cycle>}\n", (session "t = {} t[1] = t\nt\n"))
    assert.equal("{{{{{...}}}}}\n", (session "{{{{{1}}}}}\n"))
    assert.matches("^{%s+1,%s+2,.*%.%.%. 50 more", (session "t = {} for i = 1, 100 do t[i] = i end\nt\n"))
  end)

  it("explains names", function()
    assert.matches("gb.linspace%(a, b, n, o%)", (session "?gb.linspace\n"))
    assert.matches("there is no help on 'bogusname'", (session "?bogusname\n"))
  end)

  it("follows a script with -i", function()
    local out <const> = run({"-i", "-e", "x = 41"}, {input = "x + 1\n"})
    assert.matches("\n> 42\n", out)
  end)
end)

describe("completion", function()
  -- lgb_complete is part of the binary alone: asked through a pseudo-terminal in tests/shell/test_repl.c.
  it("has names to offer for the library", function()
    local names <const> = debug.getmetatable(require "gibbous").__names()
    local set <const> = {}
    for _, name in ipairs(names) do set[name] = true end
    for _, name in ipairs{"tensor", "linalg", "kernels", "gp", "linspace", "param", "grad"} do assert.is_true(set[name], name) end
    assert.is_nil(set.dispatch)
  end)
end)

describe("a value at the prompt", function()
  local gb <const> = require "gibbous"
  local inspect <const> = require "gibbous.text.inspect"

  it("is text to be read", function()
    local object <const> = setmetatable({}, {__tostring = function() return "first\nsecond" end})
    local t <const> = setmetatable({1}, {__index = {2}})
    for _, row in ipairs{
      {3, "3"}, {nil, "nil"}, {true, "true"}, {"a\nb\"", '"a\\nb\\""'}, {object, "first\nsecond"}, {{}, "{}"}, {t, "{1}"},
      {{object}, "{<first>}"}, {{gb.zeros(2, 3)}, "{<tensor 2x3 f64>}"},
      {{gb.zeros(1)}, "{" .. tostring(gb.zeros(1)):match "^[^\n]*" .. "}"},
      {{gb.param(2)}, "{2.0}"}, {gb.tensor(2), "2.0  (a tensor of f64)"}, {gb.param(2), "2.0"},
      {gb.zeros(2), "tensor 2 f64 cpu  16 B\n  0  0"},
      {{[1] = "x", [2] = "y", [7] = "z", a = 1, _b2 = 2, ["c d"] = 3, ["2e"] = 4, [-1] = 5, [0.5] = 6, [false] = 7},
        '{"x", "y", [false] = 7, [-1] = 5, [0.5] = 6, [7] = "z", ["2e"] = 4, _b2 = 2, a = 1, ["c d"] = 3}'},
      {{[9.5] = 1, [10.5] = 2, [0.5] = 3}, "{[0.5] = 3, [9.5] = 1, [10.5] = 2}"}, {{[0] = 1}, "{[0] = 1}"},
      {{["end"] = {1}}, "{end = {1}}"},
      {{[{}] = 1}, "{[{}] = 1}"}, {{[true] = 1, [false] = 2}, "{[false] = 2, [true] = 1}"},
    } do assert.equal(row[2], inspect(row[1])) end
  end)

  it("is a table to a depth of four; cycles are marked, and what occurs twice is no cycle", function()
    assert.equal("{{{{{...}}}}}", inspect{{{{{1}}}}})
    assert.equal("{a = {a = {a = {a = {...}}}}}", inspect{a = {a = {a = {a = {a = 1}}}}})
    assert.equal("{[{[{[{[{...}] = 1}] = 1}] = 1}] = 1}", inspect{[{[{[{[{[1] = 1}] = 1}] = 1}] = 1}] = 1})
    local loop <const>, one <const> = {}, {1}
    loop.again = {loop}
    assert.equal("{again = {<cycle>}}", inspect(loop))
    assert.equal("{{1}, {1}}", inspect{one, one})
  end)

  it("has fifty entries, and a line of a hundred characters less two a level", function()
    local function list(n) local t <const> = {} for i = 1, n do t[i] = 1 end return t end
    local function text(n, v) return "{\n  " .. ("1,\n  "):rep(n - 1) .. "1" .. v .. "\n}" end
    assert.equal(text(50, ""), inspect(list(50)))
    assert.equal(text(50, ",\n  ... 1 more"), inspect(list(51)))
    local mixed <const> = list(49)
    mixed.a, mixed.b, mixed.c = 1, 2, 3
    assert.equal(text(49, ",\n  a = 1,\n  ... 2 more"), inspect(mixed))
    for n, lines in pairs{[94] = 1, [95] = 3} do                    -- {"..."} has four more
      assert.equal(lines, select(2, inspect{("x"):rep(n)}:gsub("\n", "")) + 1)
    end
    assert.equal('{{"' .. ("x"):rep(90) .. '"}}', inspect{{("x"):rep(90)}})
    assert.equal('{{"' .. ("x"):rep(92) .. '"}}', inspect{{("x"):rep(92)}})
    assert.equal('{\n  a = {"' .. ("x"):rep(92) .. '"}\n}', inspect{a = {("x"):rep(92)}})
    assert.equal('{\n  {\n    "' .. ("x"):rep(93) .. '"\n  }\n}', inspect{{("x"):rep(93)}})
    assert.equal('{\n  a = {\n    b = {\n      "' .. ("x"):rep(95) .. '"\n    }\n  }\n}', inspect{a = {b = {("x"):rep(95)}}})
  end)
end)

describe("a value in a narrow window", function()
  local inspect <const> = require "gibbous.text.inspect"

  it("has lines of its width, as far as one entry allows", function()
    local t <const> = {alpha = 1, beta = 2, gamma = 3}
    assert.equal("{alpha = 1, beta = 2, gamma = 3}", inspect(t, 40))
    assert.equal("{\n  alpha = 1,\n  beta = 2,\n  gamma = 3\n}", inspect(t, 20))
    assert.equal("{\n  alpha = 1,\n  beta = 2,\n  gamma = 3\n}", inspect(t, 1))
    assert.equal("{alpha = 1, beta = 2, gamma = 3}", inspect(t))
  end)
end)

describe("a table of text", function()
  local table_text <const> = require "gibbous.text.table"

  it("has columns as wide as their cells, without those that are empty", function()
    assert.equal("name    value\n-------------\nx       1\nlonger  22",
      table_text{{"name", "", "value", "note"}, {"x", "", "1", ""}, {"longer", "", "22", ""}})
    assert.equal("a\n-\nx", table_text{{"a", "b"}, {"x"}})
    assert.equal("a\n--\n\u{e9}\u{e9}", table_text{{"a"}, {"\u{e9}\u{e9}"}})
    assert.equal("a    b\n------\nx\xff   1\nxxx  2", table_text{{"a", "b"}, {"x\xff", "1"}, {"xxx", "2"}})
    assert.equal("\n", table_text{{"a", "b"}})
    assert.equal("", table_text{})
  end)

  it("has rows one below another where the window is too narrow", function()
    local window <const> = require "gibbous.text.window"
    local rows <const> = {{"name", "", "value"}, {"x", "", "1"}, {"longer", "", ""}}
    local wide <const> = "name    value\n-------------\nx       1\nlonger"
    local function text(columns)
      return require "spec.support".with(window, {columns = function() return columns end}, function() return table_text(rows) end)
    end
    assert.equal(wide, text(nil))
    assert.equal(wide, text(13))
    assert.equal("name   x\nvalue  1\n\nname   longer", text(12))
    assert.equal("name   x\nvalue  1\n\nname   longer", text(1))
  end)
end)

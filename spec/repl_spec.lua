local run <const> = require "spec.process".run

-- The prompt on a pipe: no editing, but everything else. Without the prompts themselves.
local function session(text, o)
  local out <const>, err <const>, code <const> = run({"-i"}, {input = text, env = o and o.env or "HOME=/nonexistent"})
  out:gsub("^gibbous [^\n]*\n", "")
  return (out:gsub("^gibbous [^\n]*\n", ""):gsub(">+ ", "")), err, code
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
    assert.equal("{<cycle>}\n", (session "t = {} t[1] = t\nt\n"))
    assert.equal("{{{{{...}}}}}\n", (session "{{{{{1}}}}}\n"))
    assert.matches("^{%s+1,%s+2,.*%.%.%. 50 more", (session "t = {} for i = 1, 100 do t[i] = i end\nt\n"))
  end)

  it("explains names", function()
    assert.matches("gb.linspace%(a, b, n, o%)", (session "?gb.linspace\n"))
    assert.matches("nothing is known about 'bogusname'", (session "?bogusname\n"))
  end)

  it("follows a script with -i", function()
    local out <const> = run({"-i", "-e", "x = 41"}, {input = "x + 1\n"})
    assert.matches("\n> 42\n", out)
  end)
end)

describe("completion", function()
  -- lgb_complete is part of the binary alone: asked through a pseudo-terminal in tests/test_repl.c.
  it("has names to offer for the library", function()
    local names <const> = debug.getmetatable(require "gibbous").__names()
    local set <const> = {}
    for _, name in ipairs(names) do set[name] = true end
    for _, name in ipairs{"tensor", "linalg", "kernels", "gp", "linspace", "param", "grad"} do assert.is_true(set[name], name) end
    assert.is_nil(set.dispatch)
  end)
end)

local run <const> = require "spec.process".run

-- The prompt on a pipe, without its prompts and its first lines.
local function session(text, o)
  local out <const>, err <const>, code <const> = run({"-i"}, {input = text, env = o and o.env or "HOME=/nonexistent"})
  return (out:gsub("^gibbous [^\n]*\nLua [^\n]*\n", ""):gsub(">+ ", "")), err, code
end

local function temporary(text)
  local path <const> = os.tmpname()
  if text then
    local f <close> = assert(io.open(path, "w"))
    f:write(text)
  end
  return path, setmetatable({}, {__close = function() os.remove(path) end})
end

local function contents(path)
  local f <close> = assert(io.open(path))
  return f:read "a"
end

describe("results of the prompt", function()
  it("are _ and _1, the one before _2", function()
    assert.equal("3\n4\n4\t4\t3\n", (session "1 + 2\n_ + 1\n_, _1, _2\n"))
    assert.equal("1\nnil\n", (session "1\n_10\n"))
    assert.equal("nil\nnil\n5\n", (session "_\nnil\n5;\n_\n"))
    assert.equal("7\n8\n", (session "7\n_ = 8\n_\n"))
  end)

  it("are kept when they are silenced, and the first of several", function()
    assert.equal('"a"\n', (session "'a', 'b';\n_\n"))
  end)

  it("do not hold tensors, or what has tensors in it", function()
    for _, made in ipairs{"gb.rand(100000):eval();", "{{gb.rand(100000):eval()}};", "{x = gb.rand(100000):eval()};"} do
      local out <const>, err <const> = session(made .. "\ncollectgarbage() collectgarbage()\ngb.memory.report().tensor\n_2\n")
      assert.equal("0\n", out)
      assert.matches("^stdin:1: _2 was a [^\n]* that nothing else held: its memory was given back; name a result to keep it\n",
        err)
    end
    assert.equal("0\n100000\n", (session "x = gb.rand(100000):eval()\nx;\ncollectgarbage()\n_2.numel\n"))
    assert.equal('{1, "b"}\n', (session "{1, 'b'};\ncollectgarbage() collectgarbage()\n_\n"))
  end)

  it("leave a script's own rule for unknown names", function()
    assert.equal('4\n"rule zz"\n4\n',
      (session "setmetatable(_G, {__index = function(_, k) return k == 'zz' and 'rule zz' or nil end});\n4\nzz\n_2\n"))
    assert.equal("4\n9\n4\n", (session "setmetatable(_G, {__index = {zz = 9}});\n4\nzz\n_2\n"))
  end)
end)

describe("a function or a part of the library", function()
  it("is shown by its name and what it does, but not by print", function()
    local out <const> = session("gb.gp.exact\ngb.linalg\nf = gb.cat\nf\n"
      .. "print(gb.linalg == nil, tostring(gb.gp):match '^table')\n")
    assert.equal("gb.gp.exact: function, Exact regression: y = mean(x) + f(x) + noise, f ~ GP(0, kernel)\n  (?gb.gp.exact)\n"
      .. "gb.linalg: part of the library, Linear algebra (?gb.linalg)\n"
      .. "gb.cat: function, Joins tensors along dimension d (?gb.cat)\nfalse\ttable\n", out)
    local narrow <const> = session("require 'gibbous.text.window'.columns = function() return 30 end\n"
      .. "print\n{}\nfunction f() end\nf\n")
    assert.matches("^function: 0x%x+\n{}\nfunction: 0x%x+\n$", narrow)
  end)
end)

describe("an entry that fails", function()
  it("has the line of the entry, and the frames of the library as one line", function()
    local _, err <const> = session "gb.gp.exact{noise = .1}\n"
    assert.equal("stdin:1: gb.gp.exact: a kernel is needed: gb.gp.exact{kernel = gb.kernels.rbf{}}\nstack traceback:\n"
      .. "\t(2 calls within the library)\n\tstdin:1: in main chunk\n\t[C]: in ?\n", err)
    local _, script <const> = run({"-e", "local gb = require 'gibbous' local m = gb.gp.exact{noise = .1}"})
    assert.matches("^gibbous: %(command line%):1: gb%.gp%.exact: [^\n]*\nstack traceback:\n\t%(2 calls within the library%)\n"
      .. "\t%(command line%):1: in main chunk\n", script)
  end)

  it("keeps the script's own frames, of a deep stack those at the ends", function()
    local _, err <const> = session "function f(n) if n == 0 then error 'deep' end f(n - 1) end\nf(2)\n"
    assert.equal(3, select(2, err:gsub("in [%w ]+ 'f'", "")))
    local _, long <const> = session "function f(n) if n == 0 then error 'deep' end f(n - 1) end\nf(100)\n"
    assert.matches("\n\t%.%.%.\t%(skipping %d+ levels%)\n", long)
    local _, overflow <const>, code <const> = session "function f() return 1 + f() end\nf()\n"
    assert.matches("stack overflow", overflow)
    assert.equal(0, code)
  end)

  it("has frames and locals for :debug", function()
    local typed <const> = "local up = 'u'; function f(z) local t = gb.rand(4, 2); local q = up .. z; error(q) end\nf(3)\n"
    local out <const> = session(typed .. ":debug\n:debug q .. '!', gb ~= nil\n:up\n:up\n:down\n:down\n")
    assert.equal("> 1  stdin:1: in global 'f'\n  2  stdin:1: in main chunk\n      z  = 3\n      t  = tensor 4x2 f64\n"
      .. "      q  = \"u3\"\n      up = \"u\"\n" .. '"u3!"\ttrue\n'
      .. "  1  stdin:1: in global 'f'\n2  stdin:1: in main chunk\n      no locals\nthis is the outermost frame\n",
      (out:gsub("\n> 2", "\n2"):match "^(.-this is the outermost frame\n)"):gsub("^1", "> 1"))
    assert.matches("this is the innermost frame\n$", out)
    assert.matches("^no error to look at", (session ":debug\n"))
    assert.matches("^no error to look at", (session ":up\n"))
  end)

  it("while it was displayed has a line, frames for :debug, and no traceback of the prompt itself", function()
    local out <const>, err <const> = session "gb.linalg.cholesky(gb.tensor{{1,2},{2,1}})\n:debug\n:debug _.shape\n"
    assert.matches("^stdin:1: the leading minor of order 2 of 2 is not positive[^\n]*\n$", err)
    assert.equal("> 1  stdin:1: in the display of _\n      _ = tensor 2x2 f64\n2x2\n", (out:gsub("^1", "> 1")))
    local later <const> = session "7\n:debug 8, 'a', gb.linalg.cholesky(-gb.eye(3)), gb.ones(2)\n:debug\n"
    assert.equal("7\n1  stdin:1: in the display of _\n      _ = tensor 3x3 f64\n", (later:gsub("\n> 1", "\n1")))
    local own <const>, boom <const> = session "setmetatable({}, {__tostring = function() error 'boom' end})\n:debug\n:who\n"
    assert.matches("^stdin:1: boom\nstack traceback:\n", boom)
    assert.matches("1  stdin:1: in function <stdin:1>\n  2  stdin:1: in the display of _\n      no locals\n", own)
  end)

  it("holds no tensor of its frames", function()
    local out <const> = session("do local t = gb.rand(100000):eval() error 'x' end\ncollectgarbage() collectgarbage()\n"
      .. "gb.memory.report().tensor\n")
    assert.equal("0\n", out)
  end)
end)

describe("a command", function()
  local commands <const> = require "gibbous.prompt.commands"

  it("is listed by :help with a line", function()
    local out <const> = session ":help\n"
    for _, c in ipairs(commands.list) do
      assert.is_true(out:find(c.call, 1, true) ~= nil and out:find(c.line, 1, true) ~= nil, c.name)
      assert.is_true(#c.line > 10 and c.call:find("^:" .. c.name) ~= nil, c.name)
    end
    assert.matches("gb.linspace", (session ":help gb.linspace\n"))
  end)

  it("is laid out for the window, and so is a search, which passes over tables of options", function()
    local out = session "??\"log marginal\"\n?for\n"
    assert.matches("^model:log_marginal_likelihood +log p", out)
    assert.is_nil(out:find(".options", 1, true))
    assert.matches("\nfor is a word of Lua itself: see the reference manual of Lua 5.4, chapter 3\n$", out)
    out = session "require 'gibbous.text.window'.columns = function() return 60 end\n:help\n"
    for line in out:gmatch "[^\n]+" do assert.is_true(#line <= 60, line) end
  end)

  it("and help are broken between words where the window is narrow", function()
    local narrow <const> = "require 'gibbous.text.window'.columns = function() return 44 end\n"
    local out <const> = session(narrow
      .. "gb.linalg.cholesky(gb.tensor{{1,2},{2,1}})\n:why\n?m.fit\n?gb.gp.exact\n??leading minor\n?print\n?for\n??\n")
    for line in out:gsub("  example\n.-\n%f[^ \n]", ""):gmatch "[^\n]+" do
      assert.is_true(utf8.len(line) <= 44 or line:find "^    " ~= nil, line)
    end
    assert.matches("worth a try: add to the diagonal %(the noise\n  of a model, or A %+ 1e%-6 %* gb%.eye%(n%)%); look\n", out)
  end)

  it("that does not exist names the nearest; what is mistyped gets no traceback", function()
    local _, err <const> = session(":timit 1\n:zzzzzz\n:mem 1\n:save\n:run\n:time\n:time )\n:run /dev/null/x.lua\n"
      .. ":\n: timit\n:plot 1 +\n")
    assert.equal("there is no command :timit, did you mean :timeit?\nthere is no command :zzzzzz; :help lists them\n"
      .. ":mem takes nothing after it\na file is missing: :save FILE\na file is missing: :run FILE\n"
      .. "an expression or a statement is missing\nstdin:1: unexpected symbol near ')'\n"
      .. "/dev/null/x.lua: Not a directory\na command is missing; :help lists them\n"
      .. "there is no command :timit, did you mean :timeit?\nstdin:1: unexpected symbol near <eof>\n", err)
  end)

  it("takes nothing after it where it has no argument, and goes on", function()
    local out <const>, err <const> = session ":quit now\n:up 2\n:down 2\n:reload all\n7\n"
    assert.equal("7\n", out)
    assert.equal(":quit takes nothing after it\n:up takes nothing after it\n:down takes nothing after it\n"
      .. ":reload takes nothing after it\n", err)
  end)

  it("is not a label", function()
    assert.equal("1\n", (session "::again:: print(1)\n"))
  end)

  it(":time runs once and prints the results", function()
    local out <const> = session "n = 0\n:time (function() n = n + 1 return n, 'x' end)()\n:time n = n + 10\nn\n"
    assert.matches('^1\t"x"\nwall [%d.]+ %a+\n', out)
    assert.matches("\n11\n$", out)
  end)

  it(":timeit computes in every run", function()
    local out <const> = session "x = gb.ones(30, 30):eval()\n:timeit x:matmul(x)\n"
    assert.matches("^median .* %(%d+ runs%)\n  device [%d.]+ %a+  1 step  ", out)
  end)

  it(":prof lists the steps by line", function()
    assert.matches("\nline +op +device.*\nstdin:1 ", (session "x = gb.ones(30, 30):eval()\n:prof x:matmul(x)\n"))
  end)

  it(":who lists the session's variables with the lines that made them", function()
    assert.equal("no variables yet\n", (session ":who\n"))
    local out <const> = session "x = gb.rand(5, 2):eval()\ny = x:sin()\nfunction f() end\nn, s = 3, ('s'):rep(50)\n:who\n"
    assert.equal("name  kind      what                                      bytes  line\n"
      .. ("-"):rep(68) .. "\n"
      .. "f     function                                            -      stdin:1\n"
      .. "n     number    3                                         -\n"
      .. "s     string    " .. ("s"):rep(37) .. "...  -\n"
      .. "x     tensor    5x2 f64                                   80 B   stdin:1\n"
      .. "y     tensor    5x2 f64                                   lazy   stdin:1\n",
      (out:gsub("%-%-%-+", ("-"):rep(68))))
  end)

  it(":mem lists the holders by line", function()
    local out <const> = session "x = gb.rand(1000):eval()\n:mem\n"
    assert.matches("^memory  used 7.8125? KiB", out)
    assert.matches("\n7.812 KiB +1 +tensor +stdin:1\n$", out)
  end)

  it(":why tells of the last numerical failure", function()
    assert.matches("^no error of the library", (session "error 'x'\n:why\n"))
    local out <const> = session "gb.linalg.cholesky(gb.tensor{{1,2},{2,1}}):eval()\nerror 'other'\n:why\n"
    assert.matches("^stdin:1: the leading minor of order 2 of 2 is not positive", out)
    assert.matches("%(not_pd%)\n  order +2\nworth a try: add to the diagonal", out)
    local diagnosed <const> = session("pcall(error)\nm = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0}\n"
      .. "m:fit(gb.ones(5, 1), gb.ones(5))\n:why\n")
    assert.equal(1, select(2, diagnosed:gsub("could not be factored %(not_pd%)", "")))
    local solved <const> = session("a = gb.rand(30, 30, {seed = 1})\nK = a:matmul(a:t()) + gb.eye(30)\n"
      .. "gb.solvers.cg{max_iter = 1}:solve(K, gb.rand(30, {seed = 2}))\nerror 'x'\n:why\n")
    assert.matches("not converged", solved)
    assert.matches("\n  iterations +1\n", solved)
    assert.matches("\nworth a try:\n  1. use a preconditioner: gb.solvers.cg{precond = gb.precond.nystrom{rank = 200, noise = ",
      solved, 1, true)
    local both <const> = session("{converged = false};\ngb.linalg.cholesky(gb.tensor{{1,2},{2,1}}):eval()\n:why\n"
      .. "{converged = false, steps = 3};\n:why\n")
    assert.matches("%(not_pd%)\n.*\n  steps +3\nworth a try: allow more steps", both)
  end)

  it(":why draws the curve of a solve, and says its spectrum and what to type", function()
    local out <const> = session("x = gb.rand(300, 1, {seed = 1})\nK = gb.kernels.rbf{lengthscale = 0.2}(x) + 1e-5 * gb.eye(300)\n"
      .. "z, r = gb.solvers.cg{max_iter = 40}:solve(K, gb.rand(300, {seed = 2}))\nz:eval(), r;\n:why\n", {
        env = "HOME=/nonexistent LC_ALL=C"})
    assert.matches("relative residual\n", out)
    assert.matches("tolerance 1e%-06\ncondition at least 1.4e%+07, by the Lanczos matrix of these steps: "
      .. "eigenvalues from 1e%-05 to 138\n", out)
    assert.matches("worth a try:\n  1. allow more steps: max_iter = %d+; .*\n  2. use a preconditioner: .*\n  3. a larger diagonal "
      .. "would make these steps do: A %+ %d", out)
    assert.is_nil(out:find("[\128-\255]"))
  end)

  it(":why says of a fit whose solves miss what its parameters are, and what noise would do", function()
    local out <const> = session("x = gb.rand(300, 1, {seed = 1})\n"
      .. "m = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.2}, noise = 1e-4, solver = gb.solvers.cg{max_iter = 10}}\n"
      .. "m:fit(x, (9 * x):sin():reshape(300), {steps = 3})\n:why\n")
    assert.matches("\n  kernel.lengthscale +%d", out)
    assert.matches("\n  likelihood.noise +%d", out)
    assert.matches('instead of [^\n]* would make these steps do: m:set%("likelihood.noise", ', out)
  end)

  it(":why finds a result that a variable holds, and a fit that ended early", function()
    local solved <const> = session("x = gb.rand(300, 1, {seed = 1})\nz, r = gb.solvers.cg{max_iter = 40}:solve("
      .. "gb.kernels.rbf{lengthscale = 0.2}(x) + 1e-5 * gb.eye(300), gb.rand(300, {seed = 2}))\nw = z:eval()\n:why\n")
    assert.matches("^not converged %(max_iter%) after 40 steps", solved)
    local fitted <const> = session("x = gb.linspace(0, 1, 20):eval() y = (5 * x):sin():eval()\n"
      .. "m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}\n"
      .. "local r = m:fit(x, y, {on_step = function(s) return s.step ~= 2 end})\n:why\n")
    assert.matches("worth a try:\n  1. go on: :continue, or m:fit{resume = report}", fitted)
  end)

  it(":why tells how far a solve was that Ctrl-C ended", function()
    local out <const> = session('x = gb.rand(20000, 3, {seed = 1}):eval()\nos.execute("(sleep 1; kill -INT $PPID) &");\n'
      .. "z = gb.solvers.cg{tol = 1e-12, precision = 'full'}:solve(gb.kernels.rbf{}(x) + 1e-6 * gb.eye(20000), "
      .. "gb.ones(20000)):eval()\n"
      .. ":why\n")
    assert.matches("interrupted in conjugate gradients after %d+ steps, relative residual %d", out)
  end)

  it(":continue goes on with the last interrupted fit", function()
    local made <const> = "x = gb.linspace(0, 1, 20):eval() y = (5 * x):sin():eval()\n"
      .. "m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}\n"
    local whole <const> = session(made .. "m:fit(x, y).iterations\nm:get 'likelihood.noise'\n")
    local out <const> = session(made .. "r = m:fit(x, y, {on_step = function(s) return s.step ~= 2 end})\n:continue\n"
      .. "_.iterations\nm:get 'likelihood.noise'\n")
    assert.matches("^fit of 20 points", out)
    assert.equal(whole, out:match "[^\n]*\n[^\n]*\n$")
    assert.matches("there is no interrupted fit", (select(2, session ":continue\n")))
    local stopped <const> = "m:fit(x, y, {on_step = function(s) return s.step ~= 2 end})\n"
    local said <const> = "the fit was interrupted and keeps its best point; :continue goes on\n"
    assert.equal(said, (select(2, session(made .. "r = " .. stopped .. "z = 1\n"))))
    assert.equal("", (select(2, session(made .. stopped .. "z = 1\n"))))
  end)

  it(":plot draws what suits the values", function()
    assert.matches("position\n", (session ":plot gb.linspace(0, 1, 9)\n"))
    assert.matches("┤", (session ":plot {1, 2, 3}, gb.tensor{3, 1, 2}\n"))
    assert.matches("┤", (session ":plot gb.plot.figure{}:line(gb.linspace(0, 1, 3), gb.ones(3))\n"))
    assert.equal(":plot draws a vector, x and y, a matrix, a model or a figure, got string\n", (select(2, session ":plot 'x'\n")))
    assert.equal(":plot draws a vector, x and y, a matrix, a model or a figure, got nil\n", (select(2, session ":plot nonsense\n")))
  end)

  it(":save writes a script that runs and prints the same", function()
    local path <const>, _ <close> = temporary()
    local typed <const> = "x = 3\nlocal x = 4\nx + 1\nnil .. 1\n_ * 2\n_2 + _\n'silent';\nprint 'called'\nreturn 1, 2\n"
      .. "function f() local a = 1 return a end\nf()\n=f() + 1\nfor i = 1, 2 do\nprint(i)\nend\n"
    local out <const> = session(typed .. ":save " .. path .. "\n")
    local saved <const>, err <const>, code <const> = run({path})
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal(out:gsub("written to [^\n]*\n$", ""), saved)
    assert.is_nil(contents(path):find("nil ..", 1, true))
    assert.matches("Not a directory\n$", (select(2, session ":save /dev/null/x.lua\n")))
  end)

  it(":save writes a script that makes the same random numbers, also where entries failed and commands made some", function()
    local path <const>, _ <close> = temporary()
    local typed <const> = "gb.rand(2)\nlocal y = gb.rand(3) error 'x'\ngb.rand(2)\n:time gb.rand(4)\n:nosuch\ngb.randn(2)\n"
      .. "gb.seed(5)\nx = gb.rand(2)\nx + y\nx\ngb.rand(2)\n"
    local function pairs_in(text)
      local list <const> = {}
      for values in text:gmatch "tensor 2 f64[^\n]*\n([^\n]*)\n" do list[#list + 1] = values end
      return list
    end
    local printed <const> = pairs_in((session(typed .. ":save " .. path .. "\n")))
    local saved <const>, err <const> = run{path}
    assert.equal("", err)
    assert.equal(5, #printed)
    assert.same(printed, pairs_in(saved))
    assert.is_truthy(contents(path):find("gb.seed(0, 2)", 1, true))
    assert.is_nil(contents(path):find("gb.seed(5, 1)", 1, true))
  end)

  it(":save without results that are named has none of their kind", function()
    local path <const>, _ <close> = temporary()
    session("x = 3\nx + 1\n:save " .. path .. "\n")
    assert.equal('local gb = require "gibbous"\n\nx = 3\nprint(x + 1)\n', contents(path))
  end)

  it(":run runs a script in the session", function()
    local path <const>, _ <close> = temporary "#!/usr/bin/env gibbous\nz = 42 print 'from the file'\n"
    assert.equal("from the file\n42\n", (session(":run " .. path .. "\nz\n")))
    local bad <const>, _ <close> = temporary "z = = 1\n"
    assert.matches("^/[^\n]*:1: unexpected symbol near '='\n$", (select(2, session(":run " .. bad .. "\n"))))
    assert.equal("/dev: Is a directory\n", (select(2, session ":run /dev\n")))
  end)

  it(":edit runs what an editor leaves of the last entry", function()
    local editor <const>, _ <close> = temporary "#!/bin/sh\nsed -i s/7/8/ \"$1\"\n"
    local out <const> = session("7 + 1\n:edit\n_\n", {env = "HOME=/nonexistent VISUAL='sh " .. editor .. "'"})
    assert.equal("8\n9\n9\n", out)
    local _, err <const> = session("7\n:edit\n", {env = "HOME=/nonexistent VISUAL=false"})
    assert.matches("^false ended with exit 1: VISUAL or EDITOR names another editor\n$", err)
  end)

  it(":reload puts changed functions into the table of a module", function()
    local folder <const> = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
    local function write(text) return ("io.open('%s/amod.lua', 'w'):write(%q):close();\n"):format(folder, text) end
    local typed <const> = ("package.path = '%s/?.lua'\n"):format(folder)
      .. write "local M = {n = 1, inner = {}} function M.f() return 1 end function M.inner.g() return 1 end return M"
      .. "a = require 'amod'; held = a.f\n:reload\na.n = 5\n"
      .. write("local M = {n = 2, inner = {}, k = 3} function M.f() return 2 end function M.inner.g() return 2 end "
        .. "function M.h() end return M")
      .. ":reload\na.f(), a.inner.g(), a.n, a.k\n" .. write "local M = {} error 'half' return M" .. ":reload\na.f()\n"
      .. write "x = = 1" .. ":reload\na.f()\n"
    local out <const> = session(typed)
    os.execute("rm -r " .. folder)
    assert.matches("nothing has changed in amod\namod: 2 functions replaced, 1 new\n2\t2\t5\t3\n"
      .. "amod: not reloaded: [^\n]*half\n2\namod: not reloaded: [^\n]*unexpected symbol[^\n]*\n2\n$", out)
    assert.matches("^no module in Lua was required\n", (session ":reload\n"))
  end)

  it(":history lists entries with when, where, how long and how they ended", function()
    local folder <const> = os.tmpname()
    os.remove(folder)
    os.execute("mkdir -p " .. folder .. "/.local/state/gibbous/history")
    local env <const> = {env = "-u XDG_STATE_HOME TZ=UTC HOME=" .. folder}
    local file <const> = folder .. "/.local/state/gibbous/history"
    assert.matches("not a plain file\n", (select(2, session(":history\n", env))))
    os.execute("rmdir " .. file)
    assert.equal("no entry is kept: the history begins with what is typed at a terminal\n", (session(":history\n", env)))
    do
      local f <close> = assert(io.open(file, "w"))
      f:write("old = 1\n\\@86400.000001-7\t", folder, "/w\tm:fit(x, y)\n\\=86400.000001-7\t12.5\tinterrupted\n",
        "\\@86460.5-7\t/tmp\tfor i = 1, 2 do\\nend\n\\=86460.5-7\t0.001\tok\n\27[2J\n\\@86520.5-7\t/tmp\terror 'é'\n",
        "\\=86520.5-7\t2e-6\terror\n\\@86580.5-7\t/tmp\tkilled(", ("é"):rep(200), ")\n")
    end
    local out <const> = session(":history\n:history --failed\n:history --failed fit x\n:history --failed old\n"
      .. ":history zz yy\n", env)
    os.execute("rm -r " .. folder)
    local heading <const> = "typed +took +ended +directory +entry\n%-+\n"
    local fit <const> = "1970%-01%-02 00:00  12.5 s +interrupted  ~/w +m:fit%(x, y%)\n"
    local failed <const> = "1970%-01%-02 00:02  2 us +error +/tmp +error 'é'\n"
    local damaged <const> = "1 damaged line left out\n"
    assert.matches("^" .. heading .. " +old = 1\n" .. fit .. "1970%-01%-02 00:01  1 ms +ok +/tmp +for i = 1, 2 do %.%.%.\n"
      .. failed .. "1970%-01%-02 00:03 +/tmp +killed%(" .. ("é"):rep(29) .. " %.%.%.\n" .. damaged .. heading .. fit .. failed
      .. damaged .. heading .. fit .. damaged .. "none of 5 entries failed and has 'old'\n" .. damaged
      .. "none of 5 entries has 'zz' and 'yy'\n" .. damaged .. "$", out)
  end)

  it(":autoreload looks before each entry, and says what it did", function()
    local folder <const> = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
    local function write(text)
      return ("do local f = io.open('%s/amod.lua', 'w') f:write(%q) f:close() end\n"):format(folder, text)
    end
    local typed <const> = ("package.path = '%s/?.lua'\n"):format(folder)
      .. write "local M = {n = 1} function M.f() return M.n end return M"
      .. "a = require 'amod'\n:autoreload\n:autoreload on\na.n = 5\n"
      .. write "local M = {n = 2} local function n() return M.n end function M.f() return n() * 10 end return M"
      .. "a.f(), a.n\n"
      .. write "local M = = {}" .. "a.f()\na.f()\n"
      .. write "local M = {} function M.f() return M.n + 1 end return M" .. ":time a.f()\n:autoreload off\n"
      .. write "local M = {} function M.f() return 0 end return M" .. "a.f()\n:autoreload maybe\n"
    local out <const>, err <const> = session(typed)
    os.execute("rm -r " .. folder)
    assert.matches("^required modules are read again by :reload only\nrequired modules are looked at before each entry\n50\t5\n"
      .. "50\n50\n6\nwall [^\n]*\n[^\n]*\nrequired modules are read again by :reload only\n6\n$", out)
    assert.matches("^amod: 1 function replaced, 0 new\namod: not reloaded: [^\n]*unexpected symbol[^\n]*\n"
      .. "amod: 1 function replaced, 0 new\n:autoreload takes on or off, got 'maybe'\n$", err)
  end)

  it(":pin keeps a result that is held weakly, :unpin lets go of it", function()
    local collect <const> = "collectgarbage() collectgarbage()\n"
    local made <const> = "gb.rand(100000):eval();\n"
    local out <const> = session(made .. ":pin\n" .. made .. ":pin K\n" .. made .. collect .. "gb.memory.report().tensor\n:who\n"
      .. "K.numel\n:unpin K\n" .. collect .. "gb.memory.report().tensor\n:unpin\n" .. collect .. "gb.memory.report().tensor\n")
    assert.equal("kept as pin1; :unpin pin1 lets go of it\nkept as K; :unpin K lets go of it\n1600000\n"
      .. "name  kind    what        bytes      line     kept\n" .. ("-"):rep(53) .. "\n"
      .. "K     tensor  100000 f64  781.2 KiB  stdin:1  by :pin\npin1  tensor  100000 f64  781.2 KiB  stdin:1  by :pin\n100000\n"
      .. "no longer kept: K\n800000\nno longer kept: pin1\n0\n", out)
  end)

  it(":pin takes a free name that moves with nothing", function()
    local out <const>, err <const> = session(":pin\nx = 1\n2\n:pin x\n:pin a b\n:pin end\n:pin _ENV\n:pin _2\n:unpin\n"
      .. ":unpin x\n:pin y\n3\n:pin y\nx, y\ny = 4\n:unpin y\n")
    assert.equal("2\nkept as y; :unpin y lets go of it\n3\nkept as y; :unpin y lets go of it\n1\t3\n", out)
    assert.equal("there is no result to keep: an expression gives one\nx is a variable already: choose another name\n"
      .. "'a b' cannot name a variable\n'end' cannot name a variable\n'_ENV' cannot name a variable\n"
      .. "_2 moves on with the next result: choose another name\n"
      .. "no result is kept\nno result is kept as x\nno result is kept as y\n", err)
  end)

  it(":save writes what was kept", function()
    local path <const>, _ <close> = temporary()
    session("3 + 4\n:pin K\nK + 1\n:save " .. path .. "\n")
    assert.equal("7\n8\n", (run{path}))
  end)

  it(":quit ends the session", function()
    local out <const>, _, code <const> = session "1\n:quit\n2\n"
    assert.equal("1\n", out)
    assert.equal(0, code)
  end)
end)

describe("colour", function()
  local function printed(options, env)
    local words <const> = {table.unpack(options)}
    words[#words + 1] = "-i"
    local out <const>, err <const> = run(words, {input = "gb.ones(2)\nerror 'x'\n", env = "HOME=/nonexistent " .. (env or "")})
    return out:find("\27[2mtensor 2 f64 cpu  16 B\27[0m\n", 1, true) ~= nil,
      err:find("\27[31mstdin:1: x\27[0m\27[2m\nstack traceback:", 1, true) ~= nil, out:find "\27" == nil and err:find "\27" == nil
  end

  it("is for terminals, unless --color says otherwise", function()
    assert.same({false, false, true}, {printed{}})
    assert.same({true, true, false}, {printed{"--color=always"}})
    assert.same({true, true, false}, {printed({"--color=always"}, "NO_COLOR=1")})
    assert.same({false, false, true}, {printed{"--color=auto"}})
    assert.same({false, false, true}, {printed{"--color=never"}})
    assert.same({true, true, false}, {printed({}, "CLICOLOR_FORCE=1")})
    assert.same({false, false, true}, {printed({}, "CLICOLOR_FORCE=0")})
    assert.same({false, false, true}, {printed({}, "CLICOLOR_FORCE=1 NO_COLOR=1")})
  end)

  it("must be chosen from three", function()
    local _, err <const>, code <const> = run{"--color=blue", "-e", "print(1)"}
    assert.matches("^gibbous: %-%-color=blue: auto, always or never is meant\n", err)
    assert.equal(1, code)
  end)

  it("marks the error of a script", function()
    local _, err <const> = run{"--color=always", "-e", "error('x', 0)"}
    assert.matches("^gibbous: \27%[31mx\27%[0m", err)
  end)
end)

describe("completion", function()
  local gb <const> = require "gibbous"
  local complete <const> = require "gibbous.prompt.complete"
  local support <const> = require "spec.support"

  -- The names that a text may go on with, as words; and how much of them is typed.
  local function names(text)
    local list <const>, typed <const> = complete(text)
    return table.concat(list, " "), typed
  end
  local function has(text, ...)
    local all <const> = " " .. names(text) .. " "
    for _, name in ipairs{...} do assert.is_truthy(all:find(" " .. name .. " ", 1, true), text .. " -> " .. name) end
  end
  local function lacks(text, ...)
    local all <const> = " " .. names(text) .. " "
    for _, name in ipairs{...} do assert.is_nil(all:find(" " .. name .. " ", 1, true), text .. " -/> " .. name) end
  end

  local values <const> = {gb = gb, x = gb.rand(5), m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}, k = gb.kernels.rbf{},
    fig = gb.plot.figure{}, pl = gb.plan(gb.rand(3):sum()), t = {alpha = 1, f = print, inner = {go = print}, list = {gb.rand(2)}}}
  values.p = values.m:predict(gb.rand(3, 1))
  setup(function() for name, v in pairs(values) do _G[name] = v end end)
  teardown(function() for name in pairs(values) do _G[name] = nil end end)

  it("has names of the library, keywords and globals", function()
    assert.same({"linspace", 5}, {names "gb.linsp"})
    assert.same({"while", 3}, {names "whi"})
    has("", "print", "gb", "function", "x")
    has("t.", "alpha", "f", "inner")
    assert.equal("go", (names "t.inner."))
    has("gb.kernels.", "rbf", "matern52")
    assert.equal("format", (names "string.form"))
  end)

  it("has methods after a colon and fields after a dot", function()
    has("x:", "sum", "matmul", "gelu")
    lacks("x:", "shape", "dtype")
    assert.equal("device dtype ndim numel shape", (names "x."))
    has("m:", "fit", "predict", "save", "get")
    lacks("m:", "x", "kernel")
    has("m.", "kernel", "likelihood")
    lacks("m.", "fit", "predict")
    has("p:", "interval", "sample")
    has("p.", "mean", "f_var", "y_var")
    has("pl:", "explain", "json")
    has("pl.", "peak")
    has("fig:", "line", "save", "show")
    has("k:", "named", "diag", "warp")
    lacks("k:", "hyper", "kind", "row")
    assert.equal("f", (names "t:"))
  end)

  it("knows what calls and elements give, without running them", function()
    for _, text in ipairs{"gb.rand(5):su", "x[1]:su", "(x + 1):su", "(2 * x):su", "x:exp():su", "t.list[1]:su", "-x:su", "y = x:su",
      "print(x:su", "gb.grad(x:sum(), {x})[1]:su", "(x):su", "x:matmul(x:t()):su", "f{x = x:su"} do
      assert.same({"sum", 2}, {names(text)}, text)
    end
    has("m:predict(x):", "interval")
    has("m:predict(x).", "y_var")
    has("m.kernel:", "named")
    has("gb.kernels.rbf{}:", "named")
    has("gb.plot.figure{}:", "line")
    has("gb.gp.exact{kernel = k, noise = .1}:", "fit")
    has("('x'):", "rep", "format")
    has('"abc":', "upper")
    has("require 'gibbous'.", "rand")
    has("require('gibbous').", "rand")
    for _, text in ipairs{"zz:", "zz.", "f(x):", "t.zz.", "x + 1.", "nil.", ").", ".", "{}:", "}.", "]:", "x[1"} do
      assert.same({"", 0}, {names(text)}, text)
    end
  end)

  it("knows the variables that the entry has assigned", function()
    assert.same({"sum", 2}, {names "local y = gb.rand(3):exp() y:su"})
    assert.same({"sum", 2}, {names "for i = 1, 3 do\n  local z = x[1]\n  z:su"})
    has("local n = gb.gp.exact{kernel = k, noise = .1}\nn:", "fit", "predict")
    assert.same({"sum", 2}, {names "x = x:exp() x = x:log() x:su"})
    has("m = gb.rand(3)\nm:", "sum")
    assert.same({"", 0}, {names "local q = nil q:"})
    assert.same({"sum", 2}, {names(("local a = f(a)\n"):rep(3000) .. "a = x a:su")})
    assert.same({"", 0}, {names(("a = f(a) + a "):rep(300) .. "a:")})       -- soon given up
    assert.same({"kernel", 3}, {names "gb.gp.exact{\n  noise = 1,\n  ker"})
  end)

  it("runs no code of the user", function()
    local called = 0
    local function count() called = called + 1 end
    _G.trap = setmetatable({}, {__index = count, __call = count, __pairs = count, __len = count})
    for _, text in ipairs{"trap.", "trap:", "trap.a.", "trap():", "trap[1].", "trap{"} do complete(text) end
    _G.trap = nil
    assert.equal(0, called)
  end)

  it("loads no part of the library, and reads of the documentation what it needs", function()
    local out <const>, err <const> = run({"-e", [[
      gb = require "gibbous"
      local parse, described = require "gibbous.reference.parse", 0
      local describe = parse.describe
      function parse.describe(e) described = described + 1 return describe(e) end
      local complete = require "gibbous.prompt.complete"
      for _, text in ipairs{"gb.linsp", "gb.gp.exact{ker", "gb.kernels.rbf{}:nam", "gb.plot.figure{}:hea", "gb.rand(3):logsume"} do
        print(complete(text)[1])
      end
      for name in pairs(package.loaded) do
        if name:find "^gibbous%.gp" or name:find "^gibbous%.plot" or name:find "^gibbous%.kernels" then print(name) end
      end
      print(described < 20)]]})
    assert.equal("", err)
    assert.equal("linspace\nkernel\nnamed\nheatmap\nlogsumexp\ntrue\n", out)
  end)

  it("has the keys of options that are not given yet", function()
    assert.same({"kernel", 3}, {names "gb.gp.exact{ker"})
    has("gb.gp.exact{kernel = k, ", "noise", "likelihood")
    lacks("gb.gp.exact{kernel = k, ", "kernel", "print")
    has("m:fit(x, x, {", "objective")
    assert.equal("ard", (names "gb.kernels.rbf{ar"))
    has("gb.gp.exact{kernel = ", "gb", "k")
    has("print{", "print")
    assert.equal("sum", (names "gb.gp.exact{kernel = x:su"))
  end)

  it("has the values of an option or an argument in a string", function()
    assert.same({"f16 f32 f64", 1}, {names 'x:to{dtype = "f'})
    has('m:fit(x, x, {objective = "', "mll", "loo")
    has("m:fit(x, x, {objective = '", "mll", "loo")
  end)

  it("has the paths of a model's parameters in m:get and m:set", function()
    local all <const> = "kernel.lengthscale kernel.variance likelihood.noise"
    for _, text in ipairs{'m:get "', "m:get('", 'm:set("', 'm:set{["', 'm:set({["', 'm:set{["kernel.variance"] = 2, ["'} do
      assert.same({all, 0}, {names(text)}, text)
    end
    assert.same({"kernel.lengthscale", 8}, {names 'm:get "kernel.l'})
    assert.same({'["kernel.lengthscale"] ["kernel.variance"] ["likelihood.noise"]', 0}, {names "m:set{"})
    for _, text in ipairs{'m:set("kernel.variance", "', 'zz:get "', 'gb.gp.exact{kernel = k, noise = 1}:get "', 't:get "', 'x["',
      't[{["', 'get "', 'm.get "', '{["'} do
      assert.equal("", (names(text)), text)
    end
  end)

  it("has files in strings that are paths, and no names", function()
    assert.same({"host/ hostile_collector.lua", 2}, {names 'gb.data.read "spec/ho'})
    assert.same({"prompt_spec.lua", 6}, {names 'gb.data.read("spec/host/prompt'})
    assert.same({"README.md", 3}, {names 'io.open("REA'})
    assert.same({"README.md", 3}, {names 'm:save "REA'})
    assert.same({"k-means++ k-means||", 2}, {names 'gb.kmeans{k = 2, init = "k-'})
    assert.same({"gold gray green grey", 1}, {names 'gb.plot.figure{}:line(x, x, {colour = "g'})
    assert.same({"prompt_spec.lua", 6}, {names ":run spec/host/prompt"})
    assert.same({"", 2}, {names 'io.open("*E'})
    for _, text in ipairs{'s = "gb.li', "print 'gb.li", "-- gb.li", "[[gb.l", "x = 'a' .. 'p", '"pri', "gb.data.read([[spec/zz"} do
      assert.equal("", (names(text)), text)
    end
  end)

  it("has modules after require", function()
    assert.same({"gibbous", 3}, {names 'require "gib'})
    assert.equal("gibbous", (names "require('gibbous"))
    support.with(package, {path = "./?.lua"}, function() assert.equal("spec.process", (names "require 'spec.proc")) end)
  end)

  it("has commands, and code after them", function()
    assert.same({"time timeit", 2}, {names ":ti"})
    assert.same({"time timeit", 2}, {names ":help :ti"})
    has(":", "help", "quit")
    assert.equal("sum", (names ":timeit x:su"))
    assert.equal("linspace", (names "?gb.linsp"))
    assert.equal("linspace", (names "=gb.linsp"))
  end)
end)

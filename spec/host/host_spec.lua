local process <const> = require "spec.process"
local support <const> = require "spec.support"
local run <const> = process.run

local function script(text) return support.write(support.path ".lua", text) end

describe("environment variables", function()
  local function errors(env, text)
    local _, err <const>, code <const> = run({"-e", text or "require 'gibbous'"}, {env = env})
    return err, code
  end

  it("whose values cannot be meant are ignored, and said", function()
    local counts <const> = {"abc", "0", "-1", "1e9", "4x", "2.5", "99999999999999999999"}
    for name, most in pairs{GIBBOUS_THREADS = 1024, GIBBOUS_DEVICES = 16} do
      for _, value in ipairs(counts) do
        local err <const>, code <const> = errors(name .. "=" .. value)
        assert.equal(0, code)
        assert.matches(("^gibbous: warning: %s='%s' is ignored: expected a whole number from 1 to %%d+\n$"):format(name,
          (value:gsub("[-.]", "%%%0"))), err)
      end
      assert.equal("", (errors(("%s=%d"):format(name, math.min(most, 2)))))
      assert.equal("", (errors(name .. "=")))
    end
    assert.equal("gibbous: warning: GIBBOUS_RATES='fast' is ignored: expected 'fixed', or nothing to measure the machine\n",
      (errors "GIBBOUS_RATES=fast"))
    assert.equal("", (errors "GIBBOUS_RATES=fixed"))
    assert.equal("gibbous: warning: GIBBOUS_LUA_DIR='/nowhere' is ignored: expected a folder of Lua modules\n",
      (errors "GIBBOUS_LUA_DIR=/nowhere"))
    local err <const>, code <const> = errors "GIBBOUS_ISA=fast"
    assert.equal(1, code)
    assert.matches("expected an instruction set this machine has .*, got 'fast', which is unknown", err)
  end)
end)

describe("the interpreter", function()
  after_each(support.sweep)

  it("runs strings, scripts and stdin like lua", function()
    assert.equal("3\n", (run{"-e", "print(1 + 2)"}))
    assert.equal("3\n", (run{"-e", "x = 3", "-e", "print(x)"}))
    assert.equal("a b\n", (run{script "#!/usr/bin/env gibbous\nprint(table.concat({...}, ' '))", "a", "b"}))
    assert.equal("5\n", (run({"-"}, {input = "print(5)"})))
    assert.equal("6\n", (run({}, {input = "print(6)"})))
  end)

  it("sets arg as lua does", function()
    local path <const> = script "print(arg[0], #arg, arg[1], arg[-1])"
    assert.equal(("%s\t1\tx\t-W\n"):format(path), (run{"-W", path, "x"}))
    assert.equal(("%s\t1\tx\trun\n"):format(path), (run{"run", path, "x"}))
  end)

  it("takes a script's arguments from arg as -e leaves it", function()
    local path <const> = script "print(#arg, ...)"
    assert.equal("1\t100\n", (run({"-e", "arg[1] = 100", "-"}, {input = "print(#arg, ...)"})))
    assert.equal("3\t7\t8\t9\n", (run{"-e", "arg = {7, 8, 9}", path, "a"}))
    assert.equal("0\n", (run{"-e", "arg = {}", path, "a", "b"}))
    local out <const>, err <const>, code <const> = run{"-e", "arg = 1", path, "a"}
    assert.equal("", out)
    assert.matches("^gibbous: 'arg' is not a table", err)
    assert.equal(1, code)
  end)

  it("says what require looked for as lua does", function()
    assert.matches("module 'nosuch' not found:\n\tno field package.preload%['nosuch'%]\n\tno file",
      (select(2, run{"-e", "require 'nosuch'"})))
    assert.matches("no module 'gibbous.nosuch' in the Gibbous library", (select(2, run{"-e", "require 'gibbous.nosuch'"})))
  end)

  it("exits 130 after Ctrl-C, with the library or without", function()
    local press <const> = "local function press() io.popen('kill -INT $PPID'):close() for _ = 1, 1e6 do end end "
    for _, load in ipairs{"", "require 'gibbous' "} do
      local _, err <const>, code <const> = run{"-e", load .. press .. "press()"}
      assert.matches("^gibbous: .*interrupted\nstack traceback:", err)
      assert.equal(130, code)
      assert.equal(130, (select(3, run{script(load .. press .. "press()")})))
      -- what is raised after an interrupt was caught is an error like any other
      assert.equal(1, (select(3, run{"-e", load .. press .. "pcall(press) error 'interrupted'"})))
    end
  end)

  it("lets a script catch Ctrl-C once: the second goes through every protected call", function()
    for _, load in ipairs{"", "require 'gibbous' "} do
      local out <const>, err <const>, code <const> = run{"-e", load .. [[
        local function press() io.popen("kill -INT $PPID"):close() for _ = 1, 1e6 do end end
        print(pcall(press))
        for i = 1, 3 do pcall(pcall, xpcall, press, tostring) end
        print "never"]] }
      assert.matches("^false\t[^\n]*interrupted\n$", out)
      assert.matches("^\nCtrl%-C once more ends the session\ngibbous: [^\n]*interrupted\n", err)
      assert.equal(130, code)
    end
  end)

  it("hears Ctrl-C in coroutines, handlers and what is closed, and the second ends the script", function()
    local ways <const> = {
      "pcall(coroutine.wrap(press))",
      "coroutine.resume(coroutine.create(press))",
      "pcall(coroutine.wrap(function() coroutine.resume(coroutine.create(function() pcall(press) end)) end))",
      "xpcall(press, press)",
      "xpcall(error, press)",
      "coroutine.wrap(function() xpcall(press, press) end)()",
      "local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = press}) coroutine.yield() end) "
        .. "coroutine.resume(co) coroutine.close(co)",
    }
    for _, way in ipairs(ways) do
      local out <const>, err <const>, code <const> = run{"-e", [[
        local function press()
          io.popen("kill -INT $PPID"):close()
          local stop = os.time() + 3
          while os.time() < stop do end
          print "not heard"
        end
        for i = 1, 3 do ]] .. way .. [[ end
        print "never"]] }
      assert.equal("", out, way)
      assert.matches("^\nCtrl%-C once more ends the session\ngibbous: [^\n]*interrupted\n", err, way)
      assert.equal(130, code)
    end
  end)

  it("has coroutines and xpcall behave as in lua", function()
    local path <const> = script [[
      local function closer(e)
        return setmetatable({}, {__close = function(_, err) print("closing", err) if e then error(e, 0) end end})
      end
      local function fails() error "x" end
      local w = coroutine.wrap(function() local a <close> = closer() fails() end)
      print(pcall(w)) print(pcall(w))
      w = coroutine.wrap(function() local a <close> = closer "other" error "first" end)
      print(pcall(w))
      w = coroutine.wrap(function() return pcall(w) end) print(w())
      local co co = coroutine.create(function() local a <close> = closer "c" coroutine.yield(1) end)
      print(coroutine.resume(co)) print(coroutine.close(co)) print(coroutine.status(co))
      co = coroutine.create(function() return pcall(coroutine.close, co) end) print(coroutine.resume(co))
      co = coroutine.create(function(...) return ... end)
      print(coroutine.resume(co, 1, nil, 3, nil)) print(coroutine.resume(co)) print(pcall(coroutine.resume, 1))
      function depth_of(n)
        local ok, d = coroutine.resume(coroutine.create(function() return depth_of(n + 1) end))
        return ok and d or n
      end
      print(depth_of(0))
      print(xpcall(function(...) return select("#", ...), ... end, print, 1, nil, nil))
      print(xpcall(error, function(...) return select("#", ...) end, "x", 0))
      w = coroutine.wrap(function()
        return xpcall(function(a) local b = coroutine.yield(a) error{b} end, function(e) return e[1] end, 3)
      end)
      print(w()) print(w(9))
      print(pcall(xpcall)) print(pcall(xpcall, print)) print(pcall(xpcall, print, 3))
      print(xpcall(function() local t = nil t.x = 1 end, function(e) return debug.traceback(e, 2):match "^[^
]*
[^
]*
[^
]*" end))
      print(xpcall(function() local t = nil t.x = 1 end, debug.traceback))]]
    local pipe <const> = io.popen("lua5.4 " .. path .. " 2>/dev/null")
    local expected <const> = pipe:read "a"
    pipe:close()
    if expected ~= "" then assert.equal(expected, (run{path})) end
  end)

  it("requires libraries with -l", function()
    assert.equal("table\tnil\n", (run{"-l", "gibbous.base.options", "-e", "print(type(_G['gibbous.base.options']), gb)"}))
    assert.equal("0.1.0\n", (run{"-l", "g=gibbous", "-e", "print(g.version)"}))
  end)

  it("exits 0, or 1 with the message on stderr", function()
    local out <const>, err <const>, code <const> = run{"-e", "error 'boo'"}
    assert.equal("", out)
    assert.matches("^gibbous: %(command line%):1: boo\nstack traceback:", err)
    assert.equal(1, code)
    assert.equal(1, (select(3, run{"nosuchscript.lua"})))
    assert.equal(1, (select(3, run{"-z"})))
    assert.equal(1, (select(3, run{"-e"})))
    assert.equal(1, (select(3, run{"run"})))
    assert.equal(0, (select(3, run{"-e", ""})))
    assert.equal(9, (select(3, run{"-e", "os.exit(9)"})))
  end)

  it("shows error objects of scripts with their line", function()
    local path <const> = script "local gb = require 'gibbous'\nlocal x = gb.zeros(2)\nreturn x.view\n"
    local _, err <const> = run{path}
    assert.matches(":3: a tensor has no field 'view': use x:reshape%(...%)\nstack traceback:", err)
  end)

  it("honours LUA_INIT and -E", function()
    assert.equal("init\nx\n", (run({"-e", "print 'x'"}, {env = "LUA_INIT=\"print'init'\""})))
    assert.equal("x\n", (run({"-E", "-e", "print 'x'"}, {env = "LUA_INIT=\"print'init'\""})))
  end)

  it("turns warnings on with -W", function()
    assert.equal("", (select(2, run{"-e", "warn 'careful'"})))
    assert.matches("careful", (select(2, run{"-W", "-e", "warn 'careful'"})))
  end)

  it("loads text only", function()
    local dumped <const> = support.path()
    os.execute(("lua5.4 -e \"local f = io.open('%s', 'wb') f:write(string.dump(function() return 1 end))\""):format(dumped))
    if #support.read(dumped) > 0 then
      local out <const> = run{"-e", ([[
        local f = io.open(%q, "rb") local code = f:read "a"
        print(load(code)) print(load(code, "x", "b")) print(load(code, "x", "bt"))
        print(loadfile(%q)) print(pcall(dofile, %q))
        package.path = %q print(pcall(require, "anything"))]]):format(dumped, dumped, dumped, dumped)}
      local refused <const> = select(2, out:gsub("attempt to load a binary chunk", ""))
      assert.equal(6, refused)
      assert.equal(1, (select(3, run{dumped})))
    end
    assert.equal("nil\n", (run{"-e", "print(string.dump)"}))
    assert.equal("5\t6\n", (run{"-e", "local env = {x = 5} print(load('return x', '=c', 't', env)(), load(function() end) and 6)"}))
    assert.equal("nil\n", (run{"-e", "print(load('return x', 'c', 't', nil) and nil)"}))
  end)

  it("lets C modules of the distribution load", function()
    for _, name in ipairs{"cjson", "lfs", "lpeg"} do
      if package.searchpath(name, package.cpath) then
        assert.equal("table\n", (run{"-e", ("print(type(require '%s'))"):format(name)}))
      end
    end
  end)

  it("collects incrementally, as the charge for tensors needs", function()
    assert.equal("incremental\n", (run{"-e", "print(collectgarbage 'generational')"}))
  end)

  it("answers help and version", function()
    assert.matches("^gibbous %d+%.%d+%.%d+  %(Lua 5%.4", (run{"version"}))
    assert.matches("^gibbous %d+%.%d+%.%d+  %(Lua 5%.4%.%d+%)\nLua 5%.4%.%d+  Copyright [^\n]*PUC%-Rio\nhello\n$",
      (run{"-v", "-eprint 'hello'"}))
    assert.matches("^gibbous: '%-e' needs argument\nusage: gibbous", (select(2, run{"-e"})))
    assert.matches("^gibbous: '%-l' needs argument\n", (select(2, run{"-l"})))
    assert.matches("^gibbous: unrecognized option '%-iv'\n", (select(2, run{"-iv"})))
    assert.matches("^usage: gibbous", (run{"help"}))
    assert.matches("^usage: gibbous", (run{"--help"}))
  end)

  it("doctor finds the installation well", function()
    local out <const>, err <const>, code <const> = run{"doctor"}
    assert.equal("", err)
    assert.matches("ok  arithmetic", out)
    assert.matches("ok  linear algebra", out)
    assert.not_matches("BAD", out)
    assert.equal(0, code)
  end)

  it("env lists what it runs with", function()
    local out <const> = run{"env"}
    for _, fact in ipairs{"gibbous ", "instruction set ", "threads ", "memory limit ", "BLAS "} do
      assert.is_truthy(out:find(fact, 1, true), fact)
    end
  end)

  it("lets files under GIBBOUS_LUA_DIR stand in for built-in modules", function()
    local dir <const> = os.tmpname()
    os.remove(dir)
    os.execute("mkdir -p " .. dir .. "/gibbous/text")
    support.write(dir .. "/gibbous/text/inspect.lua", "return 'mine'")
    assert.equal("mine\n", (run({"-e", "print((require 'gibbous.text.inspect'))"}, {env = "GIBBOUS_LUA_DIR=" .. dir})))
    os.execute("rm -r " .. dir)
  end)

  it("reads nothing of the library before it is required", function()
    local out <const> = run{"-e", "for n in pairs(package.loaded) do if n:match '^gibbous' then print(n) end end print 'end'"}
    assert.equal("end\n", out)
  end)
end)

describe("gibbous.so", function()
  local module <const> = process.binary:gsub("[^/]*$", "") .. "gibbous.so"

  it("gives a stock lua5.4 the same library", function()
    local probe <const> = io.open(module)
    if not probe or not os.execute "command -v lua5.4 >/dev/null" then return end
    probe:close()
    local out <const>, err <const>, code <const> = run({"-e", [[
      local gb = require "gibbous"
      local x = gb.linspace(0, 1, 5)
      print(gb.version, x:sum():item())]]}, {program = "lua5.4", env = ("LUA_CPATH='%s'"):format(module)})
    if err:find("ASan runtime does not come first", 1, true) then return end     -- only a sanitized program loads it
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal("0.1.0\t2.5\n", out)
  end)
end)

describe("tensors that stand for what is built later", function()
  it("may be collected while another tensor is checked", function() -- in a small heap the collector meets every place
    local out <const>, err <const>, code <const> = run({"-e", [[
      local gb, core = require "gibbous", require "gibbous.core"
      local a = gb.eye(2):eval()
      for i = 1, 4000 do
        core.promise({1}, "f64", function() return a end, function() return {} end)
        collectgarbage("step", i % 97)
        assert(core.factor(a).n == 2)
      end
      print "done"]]})
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal("done\n", out)
  end)
end)

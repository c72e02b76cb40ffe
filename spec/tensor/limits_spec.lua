--- A system that gives less memory, threads or time than a program asks for: errors at the script's line, never a hang.
local process <const> = require "spec.process"

local PRODUCT <const> = "local gb = require 'gibbous'\nlocal a = gb.rand(40, 40, {seed = "
  .. "1}):eval()\nprint(a:matmul(a):sum():item())\n"

-- Runs 'script' where the shell's 'limits' hold; a run of more than 20 seconds counts as hung.
local function run_within(limits, script, threads)
  local path <const> = os.tmpname()
  do
    local f <close> = assert(io.open(path, "w"))
    f:write(script)
  end
  local command <const> = ("%s; exec env GIBBOUS_THREADS=%d timeout -s KILL 20 %s %s"):format(limits, threads or 2,
    process.binary, path)
  local out, errors, code = process.run({"-c", command}, {program = "sh"})
  os.remove(path)
  return out, (errors:gsub(path:gsub("%p", "%%%0"), "script.lua")), code
end

-- Sanitizers map more addresses than any limit here.
local starts <const> = select(3, run_within("ulimit -v 400000", "")) == 0

describe("limits of the process", function()
  if not starts then return end

  it("refuse what needs BLAS at the script's line where it cannot have its buffers", function()
    for _, limits in ipairs{"ulimit -v 120000", "ulimit -v 200000", "ulimit -v 300000", "ulimit -d 20000", "ulimit -d 100000"} do
      local out <const>, errors <const>, code <const> = run_within(limits, PRODUCT)
      assert.equal(5, code, limits)
      assert.equal("", out)
      assert.matches("script.lua:3: out of memory: BLAS needs 256 MiB of address space, 128 MiB a thread", errors, 1, true)
    end
  end)

  it("leave room for one thread where there is none for two", function()
    local out <const>, errors <const>, code <const> = run_within("ulimit -v 290000", PRODUCT, 1)
    assert.equal("", errors)
    assert.equal(0, code)
    assert.equal(run_within("true", PRODUCT), out)
  end)

  it("are no matter to scripts without BLAS", function()
    assert.equal("6.0\n", (run_within("ulimit -v 200000",
      "local gb = require 'gibbous'\nprint(gb.tensor{1, 2, 3}:sum():item())\n")))
  end)

  it("can be caught, and the session goes on", function()
    local script <const> = PRODUCT:gsub("print.*$", "local ok, e = pcall(function() return a:matmul(a):eval() end)\n"
      .. "print(ok, tostring(e):match 'out of memory', gb.ones(3):sum():item())\n")
    assert.equal("false\tout of memory\t3.0\n", (run_within("ulimit -v 200000", script)))
  end)
end)

describe("the threads of the process", function()
  it("may be as few as the system allows", function()
    local _, errors <const>, code <const> = run_within("ulimit -d 5000", PRODUCT)
    assert.equal(5, code)
    assert.matches("script.lua:3: out of memory: BLAS needs", errors, 1, true)
  end)

  it("are those that were asked for: BLAS makes none", function()
    local script <const> = PRODUCT .. "for line in io.lines '/proc/self/status' do print(line:match '^Threads:%s*(%d+)') end\n"
    for threads = 1, 2 do
      local out <const> = run_within("true", script, threads)
      assert.equal(tostring(threads), out:match "\n(%d+)\n")
    end
  end)

  it("are none of BLAS before the script runs either", function()
    local out <const> = run_within("true",
      "for line in io.lines '/proc/self/status' do print(line:match '^Threads:%s*(%d+)') end\n")
    assert.equal("1", out:match "(%d+)\n")
  end)
end)

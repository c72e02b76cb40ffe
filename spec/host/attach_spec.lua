-- gibbous attach, on processes that run.
local binary <const> = require "spec.process".binary
local core <const> = require "gibbous.core"
local run <const> = require "spec.process".run

local function output(command)
  local pipe <close> = assert(io.popen(command))
  return (pipe:read "a")
end

--- A script that runs, and is killed when it goes out of scope. 'ready': it has written a line.
local function running(script, o)
  local path <const>, out <const> = os.tmpname(), os.tmpname()
  do
    local f <close> = assert(io.open(path, "w"))
    f:write("local gb = require 'gibbous'\n", script)
  end
  local pid <const> = tonumber(output(("%s %s %s >%s 2>/dev/null </dev/null & echo $!"):format(o and o.env or "", o and o.program
    or binary, path, out)))
  for _ = 1, 200 do
    local f <close> = io.open(out)
    if f and f:read "l" then break end
    os.execute "sleep 0.05"
  end
  return setmetatable({pid = pid, path = path}, {__close = function()
    os.execute(("kill -KILL %d 2>/dev/null"):format(pid))
    os.remove(path)
    os.remove(out)
  end})
end

local began <const> = "io.stdout:write 'begun\\n' io.stdout:flush()\n"

--- Asks until the answer has the words: what is looked for may not have begun.
local function attached(job, words)
  local out, err
  for _ = 1, 60 do
    out, err = run{"attach", tostring(job.pid)}
    if out:find(words) then return out end
    os.execute "sleep 0.05"
  end
  error(("no '%s' in: %s%s"):format(words, out, err))
end

describe("gibbous attach", function()
  it("says the line, the step and the value of a fit, memory, and the stack", function()
    local job <close> = running([[
local x = gb.rand(400, 2, {seed = 1})
local y = (6 * x):sin():sum(2):eval()
]] .. began .. [[
local function train()
  local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
  m:fit(x, y, {method = "adam", steps = 1000000, lr = 1e-6})
end
train()]])
    local out <const> = attached(job, "fit: step %d+ of at most 1000000, value %-?%d")
    assert.matches("^" .. job.pid .. "  [^\n]*\nat " .. job.path:gsub("%p", "%%%0") .. ":7\n", out)
    assert.matches("\nmemory of cpu: [%d.]+ .?B of ", out)
    assert.matches(":7 in train\n", out)
  end)

  it("says the step and the residual of a solve, and of k-means", function()
    local job <close> = running(began .. "local x = gb.rand(20000, 3, {seed = 1}):eval()\n"
      .. "gb.solvers.cg{tol = 1e-12, precision = 'full'}:solve(gb.kernels.rbf{}(x) + 1e-6 * gb.eye(20000), gb.ones(20000)):eval()")
    attached(job, "conjugate gradients: step %d+ of at most 1000, relative residual %d")
    local clusters <close> = running(began .. "local x = gb.rand(100000, 8, {seed = 1}):eval()\n"
      .. "while true do gb.kmeans{k = 200, max_iter = 500, tol = 1e-12}:fit(x) end")
    attached(clusters, "k%-means: step %d+ of at most 500, inertia %d")
  end)

  it("names the call that is not cut, and what was said last", function()
    local job <close> = running(began .. "local a = gb.rand(3000, 3000, {seed = 1}):eval()\n"
      .. "while true do gb.linalg.eigh(a + a:t()):eval() end")
    attached(job, "busy in eigh %([^\n]*%) for %d")
    local loop <close> = running("package.loaded['gibbous.core'].said 'trial 3 of 5'\n" .. began .. "while true do end")
    attached(loop, "\nsaid: trial 3 of 5\n")
    assert.matches("at [^\n]*:4\n", (run{"attach", tostring(loop.pid)}))
  end)

  it("says where it waits outside Lua that there is no stack, and does not disturb it", function()
    local job <close> = running(began .. "local pipe = io.popen 'sleep 60' pipe:read 'a'")
    local out <const> = attached(job, "no stack: the script did not come")
    assert.matches("memory of cpu", out)
    assert.equal("", (run({"-e", ""}, {})))
    assert.is_true(os.execute(("kill -0 %d"):format(job.pid)))
  end)

  it("gives JSON, and lists what runs", function()
    local job <close> = running(began .. "while true do end")
    local state <const> = core.json_decode((run{"attach", tostring(job.pid), "--json"}))
    assert.equal(job.pid, state.pid)
    assert.same({3, job.path}, {state.stack[1].line, state.stack[1].source})
    assert.equal("cpu", state.memory[1].device)
    assert.matches("\n" .. job.pid .. "  [^\n]*" .. job.path:gsub("%p", "%%%0"), "\n" .. run{"attach"})
    local found = false
    for _, one in ipairs(core.json_decode((run{"attach", "--json"}))) do found = found or one.pid == job.pid end
    assert.is_true(found)
  end)

  it("leaves no file, and one that it wrote is the user's own", function()
    local directory <const> = os.tmpname()
    os.remove(directory)
    os.execute("mkdir " .. directory)
    local job <close> = running(began .. "while true do end", {env = "XDG_RUNTIME_DIR=" .. directory})
    assert.matches("at ", (run{"attach", tostring(job.pid)}))
    assert.equal("", output("ls " .. directory))
    os.execute(("kill -USR1 %d; sleep 0.5"):format(job.pid))
    local path <const> = ("%s/gibbous-%d.state"):format(directory, job.pid)
    assert.equal("600\n", output("stat -c %a " .. path))
    os.execute(("rm %s; ln -s /nonexistent/x %s"):format(path, path))
    assert.matches("at ", (run{"attach", tostring(job.pid)}))
    os.execute("rm -r " .. directory)
  end)

  it("says why a process cannot be asked", function()
    local function refused(pid)
      local out <const>, err <const>, code <const> = run{"attach", tostring(pid)}
      assert.same({"", 1}, {out, code})
      return err
    end
    assert.equal("gibbous: there is no process 4194305\n", refused(4194305))
    local other <const> = tonumber(output "sleep 60 >/dev/null & echo $!")
    assert.equal(("gibbous: process %d is not a gibbous process\n"):format(other), refused(other))
    os.execute("kill " .. other)
    assert.equal("gibbous: attach takes a process number and --json, got 'x'\n", refused "x")
    local stopped <close> = running(began .. "while true do end")
    os.execute("kill -STOP " .. stopped.pid)
    assert.matches("gave no answer within 2 s: it is stopped", refused(stopped.pid))
    local as <const> = "setpriv --reuid 65534 --clear-groups " .. binary
    if output "id -u" == "0\n" and os.execute(as .. " -e '' 2>/dev/null") then
      local pid <const> = tonumber(output(as .. " -e 'while true do end' >/dev/null 2>&1 & sleep 0.5; echo $!"))
      assert.matches("is another user's\n$", refused(pid))
      os.execute("kill -KILL " .. pid)
    end
  end)
end)

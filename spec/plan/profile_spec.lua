--- gb.profile: rows of steps, recording on and off, JSON; devices with a clock of their own, whose steps take known times.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local process <const> = require "spec.process"
local raises <const> = require("spec.support").raises

local x <const>, v <const> = gb.randn(40, 3, {seed = 1}):eval(), gb.randn(40, 2, {seed = 2}):eval()

--- The script line of the caller, as rows name it.
local function here()
  local info <const> = debug.getinfo(2, "Sl")
  return ("%s:%d"):format(info.short_src, info.currentline)
end

--- Does any step run between two looks? Values that exist take none.
local function is_recording()
  local ok <const> = pcall(gb.profile, "off")
  return ok
end

describe("a profile", function()
  it("has a row for each op of each script line, the slowest first", function()
    local lines <const> = {}
    local p <const> = gb.profile(function()
      local K <const> = gb.kernels.rbf{}(x)
      lines.product = here() local a <const> = K:matmul(v)
      lines.factor = here() local L <const> = gb.linalg.cholesky(K + gb.eye(40))
      return a, L
    end)
    local by_op <const>, seconds = {}, 0
    for i, r in ipairs(p) do
      by_op[r.op:match "%w+" .. " " .. r.line] = r
      assert.is_true(i == 1 or p[i - 1].seconds >= r.seconds)
      assert.is_true(r.calls >= 1 and r.seconds >= 0 and r.bytes > 0 and r.total >= r.seconds)
      assert.equal(gb.config().device, r.device)
      seconds = seconds + r.seconds
    end
    assert.is_true(#p >= 3)
    assert.is_true(by_op["fold " .. lines.product] ~= nil, "no row for the product")
    assert.equal(1, by_op["cholesky " .. lines.factor].calls)
    assert.is_true(math.abs(seconds - p.device) <= 1e-9 * seconds)
    assert.equal(p.folds + p.opaques, p.steps)
    assert.is_true(p.folds >= 2 and p.opaques >= 1 and p.pairs > 0 and p.measured > 0)
  end)

  it("names the arithmetic that ran a step, and the kernel", function()
    local p <const> = gb.profile(function() return gb.kernels.rbf{}(x):matmul(v) end)
    for _, r in ipairs(p) do
      if r.op:find("^fold rbf") and gb.config().device == "cpu" then
        assert.equal(gb.devices()[1].isa, r.carrier)
        assert.matches("^rbf%.d3", r.kernel)
      end
    end
    raises("option", "a row of gb.profile has no field 'secnds' (did you mean 'seconds'?)", function() return p[1].secnds end)
    raises("option", "the report of gb.profile has no field 'jsn' (did you mean 'json'?)", function() return p.jsn end)
    raises("option", "json is a method of the report of gb.profile: write p:json(...) with a colon", function() p.json() end)
  end)

  it("predicts what a step takes, of all its windows once", function()
    if gb.config().device ~= "cpu" then return end
    core.fixed_rates(true)
    local n <const> = 1200
    local y <const>, w <const> = gb.randn(n, 3, {seed = 3}):eval(), gb.randn(n, 2, {seed = 4}):eval()
    local function f() return gb.kernels.rbf{}(y, y + 1):exp():matmul(w):exp():sum(2) end
    local plan <const> = gb.plan(f())
    gb.profile "on"
    plan:run()
    local p <const> = gb.profile "off"
    assert.is_true(p.predicted > 0 and p.steps >= 2)
    local sum = 0.0
    for _, r in ipairs(p) do sum = sum + r.predicted end
    assert.is_true(math.abs(sum - p.predicted) <= 1e-12)
    assert.is_true(math.abs(plan.seconds - p.predicted) <= 1e-9 * p.predicted, ("%g %g"):format(plan.seconds, p.predicted))
    local cut <const> = gb.plan(f(), {budget = plan.minimum, prefer = "memory"})
    gb.profile "on"
    cut:run()
    local q <const> = gb.profile "off"
    assert.is_true(cut:stats().windows > 1)
    assert.is_true(math.abs(cut.seconds - q.predicted) <= 1e-9 * cut.seconds, ("%g %g"):format(cut.seconds, q.predicted))
    local bytes, flops = 0.0, 0.0
    for _, r in ipairs(q) do bytes, flops = bytes + r.bytes, flops + r.flops end
    local whole = 0.0
    for _, r in ipairs(p) do whole = whole + r.flops end
    assert.is_true(math.abs(flops - whole) <= 1e-9 * whole, ("%g %g"):format(flops, whole))
  end)

  it("has a row for each of the devices that share a step, of its part of the work", function()
    local out <const>, errors <const> = process.run({"-e", [[
      local gb = require "gibbous"
      gb.config{devices = 2}
      local x, y = gb.randn(3000, 3, {seed = 1}):eval(), gb.randn(2500, 3, {seed = 3}):eval()
      local v = gb.randn(2500, 2, {seed = 2}):eval()
      local K = gb.kernels.rbf{}(x, y)
      local plan = gb.plan(K:matmul(v), {device = {gb.config().device, gb.config().device .. ":2"}})
      gb.profile "on"
      plan:run()
      local p = gb.profile "off"
      local all = gb.profile(function() return (K * 1.5):matmul(v) end)
      local flops, devices, whole = 0, 0, nil
      for _, r in ipairs(p) do
        if r.op:find "^fold" then flops, devices = flops + r.flops, devices + 1 end
      end
      for _, r in ipairs(all) do whole = r.op:find "^fold" and r.flops or whole end
      print(devices, flops > 0 and math.abs(flops / whole - 1) < 0.1)]]}, {env = "GIBBOUS_RATES=fixed"})
    assert.same({"2\ttrue\n", ""}, {out, errors})
  end)

  it("prints as an aligned table", function()
    local p <const> = gb.profile(function() return x:exp():sum(), gb.linalg.cholesky(gb.eye(3) * 2) end)
    local lines <const> = {}
    for line in tostring(p):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.matches("^[%d.e+-]+ %a+  of it in steps [%d.e+-]+ %a+  %d+ steps  %d folds %(%d+ pairs%)  1 library calls", lines[1])
    assert.matches("^line +op +device +carrier +calls +seconds +%% +bytes", lines[2])
    assert.matches("^%-+$", lines[3])
    assert.equal(#p + 3, #lines)
    local at <const> = lines[2]:find "op"
    for i = 1, #p do assert.equal(p[i].op, lines[i + 3]:sub(at, at + #p[i].op - 1)) end
    assert.matches("^[%d.]+ %a+  of it in steps 0 us  0 steps  0 folds %(0 pairs%)  0 library calls  peak 0.0 MiB$",
      tostring(gb.profile(function() end)))
  end)

  it("counts a solver's steps inside its own once", function()
    local A <const> = gb.kernels.rbf{}(x) + gb.eye(40)
    local p <const> = gb.profile(function() return (gb.solvers.cg{}:solve(A, v)) end)
    local call, inner = nil, 0.0
    for _, r in ipairs(p) do
      if r.carrier == "host" then call = r else inner = inner + r.total end
    end
    assert.matches("conjugate gradients", call.op)
    assert.is_true(call.seconds > 0 and call.seconds < call.total)
    assert.is_true(call.total <= p.seconds and p.device <= p.seconds * (1 + 1e-9))
    assert.is_true(inner > 0)
  end)
end)

describe("a recording", function()
  it("is of what the script computes between on and off, with what it remembers", function()
    local twice <const> = x * 2                                    -- what is made of it again is found while it is there
    gb.profile "on"
    local y <const> = twice:sum(2):eval()
    local p <const> = gb.profile "off"
    assert.is_true(#p == 1 and p.steps == 1)
    assert.is_nil(p.folds)
    assert.is_nil(p.core_seconds)
    gb.profile "on"
    y:eval()
    local z <const> = twice:sum(2):eval()
    assert.is_true(z:equal(y))
    local q <const> = gb.profile "off"
    assert.is_true(q.steps <= 1, tostring(q))                     -- the comparison alone may be a step
    for _, r in ipairs(q) do assert.is_nil(r.op:find "sum") end
    assert.is_false(is_recording())
  end)

  it("nests, and holds profiles and measurements", function()
    gb.profile "on"
    local a <const> = (x * 3):sum():eval()
    gb.profile "on"
    local b <const> = (x * 5):sum():eval()
    local inner <const> = gb.profile "off"
    local t, p
    gb.time(function()
      t = gb.time(function() return (x * 7):sum() end, {runs = 2, warmup = 0, seconds = 1e-9})
      p = gb.profile(function() return (x * 9):sum() end)
      return (x * 11):sum()
    end, {runs = 1, warmup = 0, seconds = 1e-9})
    local outer <const> = gb.profile "off"
    assert.is_true(a:item() ~= b:item())
    assert.same({1, 1, 1, 1 + 1 + 2 + 1 + 1}, {inner.steps, t.steps, p.steps, outer.steps})
    assert.is_false(is_recording())
  end)

  it("ends with an error of f, which keeps its line", function()
    local line
    local ok <const>, err <const> = pcall(gb.profile, function()
      line = here() local L <const> = gb.linalg.cholesky(gb.eye(3) * -1)
      return L
    end)
    assert.is_false(ok)
    assert.equal("not_pd", err.code)
    assert.is_truthy(tostring(err):find(line, 1, true), tostring(err))
    for _, measure in ipairs{gb.time, gb.profile} do
      local failed <const>, text <const> = pcall(measure, function() error "boo" end)
      assert.is_false(failed)
      assert.matches("profile_spec.lua:%d+: boo$", tostring(text))
    end
    assert.is_false(is_recording())
    assert.equal(1, gb.profile(function() return x + 1 end).steps)
    gb.profile "on"                                                -- an error between them ends nothing
    pcall(function() return gb.linalg.cholesky(gb.eye(3) * -2):eval() end)
    assert.same({3}, (x + 2):sum(1):eval().shape)
    assert.is_true(gb.profile "off".steps >= 1)
  end)

  it("ends with Ctrl-C, in Lua and inside a step", function()
    for _, measure in ipairs{"gb.time", "gb.profile"} do
      for _, body in ipairs{"for _ = 1, 1e9 do end", "while true do (x * 2):sum():item() end", "return x:matmul(x):exp():eval()"} do
        local out <const>, errors <const>, code <const> = process.run({"-e", ([[
          local gb, core = require "gibbous", require "gibbous.core"
          local x = gb.ones(30, 30):eval()
          local y = x:sum(1)
          local press = gb.func{name = "press", shape = "same", bytes = "1 MiB", forward = function(v)
            io.popen("kill -INT $PPID"):close()
            return v * 2
          end}
          local ok, err = pcall(%s, function() y:eval() press(x):eval() %s end)
          print(ok, ok or tostring(err):match "interrupted", core.known(y), (pcall(gb.profile, "off")))
          local p = gb.profile(function() return x + 1 end)
          print(p.steps, #p)]]):format(measure, body)}, {env = "GIBBOUS_RATES=fixed"})
        assert.same({"false\tinterrupted\tfalse\tfalse\n1\t1\n", "", 0}, {out, errors, code}, measure .. body)
      end
    end
  end)

  it("keeps nothing alive", function()
    local function settled()
      for _ = 1, 3 do collectgarbage() end
      core.drop_caches()
      return core.live()
    end
    settled()
    local bytes <const>, blocks <const>, nodes <const> = settled()
    for _ = 1, 3 do
      gb.profile "on"
      gb.profile "on"
      gb.profile(function() return gb.kernels.rbf{}(x):matmul(v) end)
      gb.profile "off"
      pcall(gb.profile, function() error "boo" end)
      gb.profile "off"
    end
    assert.same({bytes, blocks, nodes}, {settled()})
  end)

  it("is over with the script", function()
    local out <const>, errors <const>, code <const> = process.run{"-e", [[
      local gb = require "gibbous"
      gb.profile "on"
      gb.profile "on"
      print((gb.ones(3) + 1):sum():item())]]}
    assert.same({"6.0\n", "", 0}, {out, errors, code})
  end)
end)

describe("a profile as JSON", function()
  it("is Chrome's trace format: complete events that nest on the thread of their device", function()
    local A <const> = gb.kernels.rbf{}(x) + gb.eye(40)
    local p <const> = gb.profile(function() return (gb.solvers.cg{}:solve(A, v)), x:exp():sum() end)
    local j <const> = core.json_decode(p:json())
    assert.equal("ms", j.displayTimeUnit)
    local threads <const>, count, open = {}, 0, {}
    local events <const> = {}
    for _, e in ipairs(j.traceEvents) do
      assert.equal(1, e.pid)
      if e.ph == "M" then
        assert.equal("thread_name", e.name)
        threads[e.tid] = e.args.name
      else
        assert.equal("X", e.ph)
        assert.is_true(e.ts >= 0 and e.dur >= 0 and #e.name > 0 and #e.cat > 0 and threads[e.tid] ~= nil)
        assert.is_true(e.args.line ~= nil and e.args.carrier == e.cat)
        count = count + 1
        events[count] = e
      end
    end
    assert.equal(p.steps, count)
    assert.equal(0, j.otherData.dropped)
    table.sort(events, function(a, b) return a.ts < b.ts or a.ts == b.ts and a.dur > b.dur end)
    for _, e in ipairs(events) do                                  -- within the one that is open, or after it
      while #open > 0 and open[#open].ts + open[#open].dur <= e.ts + 1e-6 do open[#open] = nil end
      assert.is_true(#open == 0 or e.tid ~= open[#open].tid or e.ts + e.dur <= open[#open].ts + open[#open].dur + 1e-3)
      open[#open + 1] = e
    end
    assert.same({displayTimeUnit = "ms", traceEvents = {}, otherData = {dropped = 0}},
      core.json_decode(gb.profile(function() end):json()))
  end)
end)

-- Devices whose calls return before their work is done ----------------------------------------------------------------------

local script <const> = [[
  local gb = require "gibbous"
  local x, v = gb.randn(40, 3, {seed = 1}):eval(), gb.randn(40, 2, {seed = 2}):eval()
  local function f()
    return gb.kernels.rbf{}(x):matmul(v), gb.linalg.cholesky(gb.kernels.rbf{}(x) + gb.eye(40)), x:sort(1)
  end
  local p, q = gb.profile(f), gb.profile(f)
  for _, r in ipairs(p) do print(r.op, r.device, r.carrier, r.calls, r.device ~= "cpu" and ("%.9f"):format(r.seconds) or "-") end
  print(p.steps, p.device > 0)
  local same = #p == #q
  local of = {}
  for _, r in ipairs(q) do of[r.op .. r.line .. r.device] = r.seconds end
  for _, r in ipairs(p) do
    if r.device ~= "cpu" then same = same and math.abs(r.seconds - of[r.op .. r.line .. r.device]) < 1e-9 end
  end
  print(same)
  local t = gb.time(f, {runs = 3, seconds = 1e-9})
  print(t.steps, t.remembered, t.device > 0)
  local s = gb.profile(function() return (gb.solvers.cg{}:solve(gb.kernels.rbf{}(x) + gb.eye(40), v)) end)
  for _, r in ipairs(s) do
    if r.carrier == "host" then print(r.op, r.device, r.total > r.seconds) end
  end
  print((pcall(gb.profile, function() return gb.linalg.cholesky(gb.eye(3) * -1) end)))
  print(gb.profile(function() return x + 1 end).steps)]]

local function run(env, text)
  local out <const>, errors <const>, code <const> = process.run({"-e", text or script}, {env = env})
  assert.equal("", errors)
  assert.equal(0, code)
  local lines <const> = {}
  for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines, out
end

local far <const> = "GIBBOUS_DEVICE=far GIBBOUS_FAR_NAME=far GIBBOUS_FAR_CLOCK=1 GIBBOUS_RATES=fixed GIBBOUS_DEVICE_PATH="
  .. process.tests

describe("a device with a clock", function()
  it("is asked for the seconds of its steps", function()
    if not process.has_far() then return pending "the far device was not built" end
    local lines <const>, out <const> = run(far)
    local folds, calls = 0, 0
    for _, line in ipairs(lines) do
      local op <const>, device <const>, carrier <const>, n <const>, seconds <const> =
        line:match "^([^\t]+)\t([^\t]+)\t([^\t]+)\t(%d+)\t([%d.]+)$"
      if op then
        calls = calls + 1
        assert.equal("far", device)
        assert.equal(("%.9f"):format(1e-3 * tonumber(n)), seconds, line)   -- a launch or a call is a millisecond
        if op:find "^fold" or op:find "^map" then folds = folds + 1 end
        local want <const> = op:find "^cholesky" and "library" or op:find "^sort" and "template" or nil
        if want then assert.equal(want, carrier) end
      end
    end
    assert.is_true(calls >= 4 and folds >= 2, out)
    local steps <const> = lines[#lines - 5]:match "^(%d+)\ttrue$"
    assert.equal(("%s\tnil\ttrue"):format(steps), lines[#lines - 3], out)
    assert.equal("true", lines[#lines - 4], out)
    assert.matches("^call: conjugate gradients\tfar\ttrue$", lines[#lines - 2])
    assert.same({"false", "1"}, {lines[#lines - 1], lines[#lines]})
  end)

  it("has many spans in one run, and none where nothing is timed", function()
    if not process.has_far() then return pending "the far device was not built" end
    local lines <const> = run(far, [[
      local gb = require "gibbous"
      local x = gb.randn(700, 3, {seed = 1}):eval()
      local y = gb.kernels.rbf{}(x, x + 1):exp():sum(1)
      for i = 1, 700 do y = y:sort(1) * 1.5 end                     -- more steps than a run keeps unread
      local z = y:sum()
      local p = gb.profile(function() return z:item() end)
      local n, seconds = 0, 0
      for _, r in ipairs(p) do n, seconds = n + r.calls, seconds + r.seconds end
      print(n == p.steps, n > 1400, math.abs(seconds - n * 1e-3) < 1e-6)]])
    assert.same({"true\ttrue\ttrue"}, lines)
  end)

  it("that is lost ends a profile with its error, and nothing is recorded any more", function()
    if not process.has_far() then return pending "the far device was not built" end
    local lost, fine = 0, 0
    for calls = 1, 60, 3 do
      local out <const> = process.run({"-e", [[
        local gb = require "gibbous"
        local ok, err = pcall(gb.profile, function()
          local x = gb.randn(40, 3, {seed = 1})
          return gb.kernels.rbf{}(x):matmul(x), gb.linalg.cholesky(gb.kernels.rbf{}(x) + gb.eye(40))
        end)
        print(ok, ok or err.code, (pcall(gb.profile, "off")))]]}, {env = far .. (" GIBBOUS_FAR_FAULT=lost=%d"):format(calls)})
      if out == "true\ttrue\tfalse\n" then fine = fine + 1
      else
        assert.equal("false\tdevice\tfalse\n", out)
        lost = lost + 1
      end
    end
    assert.is_true(lost > 3 and fine > 3, ("%d %d"):format(lost, fine))
  end)
end)

describe("a GPU in a profile", function()
  it("times its steps by events, names who ran them, and draws ranges", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    for _, schedule in ipairs{"eager", "lazy", "5"} do
      local lines <const>, out <const> = run("GIBBOUS_DEVICE=cuda:0 GIBBOUS_CUDA=emulated GIBBOUS_CUDA_COMPILE=off "
        .. "GIBBOUS_ISA=avx2 GIBBOUS_RATES=fixed EMU_SCHEDULE=" .. schedule)
      local carriers <const> = {}
      for _, line in ipairs(lines) do
        local op <const>, device <const>, carrier <const>, seconds <const> =
          line:match "^(%a+)[^\t]*\t([^\t]+)\t([^\t]+)\t%d+\t([%d.-]+)$"
        if op then
          carriers[op] = carriers[op] or carrier
          assert.is_true(device == "cpu" or tonumber(seconds) > 0, line)
        end
      end
      assert.matches("^%a+$", carriers.fold)
      assert.same({"library", "copy", "avx2"}, {carriers.cholesky, carriers.move, carriers.sort})
      assert.is_truthy(out:find("\ntrue\n", 1, true), out)          -- the model clock repeats itself
      assert.same({"false", "1"}, {lines[#lines - 1], lines[#lines]})
    end
  end)

  it("has a range for each of its steps, and no events where nothing is timed", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local env <const> = "GIBBOUS_DEVICE=cuda:0 GIBBOUS_CUDA=emulated GIBBOUS_CUDA_COMPILE=off GIBBOUS_RATES=fixed "
      .. "EMU_COUNT=1"
    local function calls(text)
      local _ <const>, errors <const> = process.run({"-e", [[
        local gb = require "gibbous"
        local x = gb.randn(40, 3, {seed = 1}):eval() ]] .. text}, {env = env})
      local function count(name) return tonumber(errors:match(name .. " (%d+)") or 0) end
      return count "nvtxRangePushA", count "nvtxRangePop", count "cudaEventElapsedTime", count "kernel:%*"
    end
    local push <const>, pop <const>, elapsed <const>, kernels <const> = calls "gb.profile(function() return x:exp(), x:sum(1) end)"
    assert.is_true(push >= 1 and push == pop and elapsed == 2 * push and kernels >= push)
    local none <const>, _, no_events <const>, some <const> = calls "print(x:exp():sum(1):totable()[1])"
    assert.same({0, 0, true}, {none, no_events, some > 0})
  end)

  it("says of steps whose times it cannot read that they ran, and why it is lost", function()
    if not process.has_cuda() then return pending "the emulated GPU was not built" end
    local env <const> = "GIBBOUS_DEVICE=cuda:0 GIBBOUS_CUDA=emulated GIBBOUS_CUDA_COMPILE=off GIBBOUS_RATES=fixed EMU_FAIL="
    local text <const> = [[
      local gb = require "gibbous"
      local x = gb.randn(40, 3, {seed = 1}):eval()
      local p = gb.profile(function() return x:exp():sum(1) end)
      print(#p, p.missed > 0, tostring(p):match "more, whose times the device does not tell")
      print(tostring(gb.time(function() return x:exp():sum(1) end)):match "ran, and the device does not tell their times")
      print(select(2, pcall(gb.tensor, {1})))
      print(gb.tensor({1, 2}, {device = "cpu"}):sum():item())]]
    local lines = run(env .. "cudaEventElapsedTime@1+=1", text)
    assert.equal("0\ttrue\tmore, whose times the device does not tell", lines[1])
    assert.equal("ran, and the device does not tell their times", lines[2])
    lines = run(env .. "cudaEventElapsedTime@1+=700", text:gsub("print%(tostring%(gb.time.-\n", ""))
    assert.equal("0\ttrue\tmore, whose times the device does not tell", lines[1])
    assert.matches("device cuda:0 is lost %(cudaEventElapsedTime: ", lines[2])
    assert.equal("3.0", lines[#lines])
  end)
end)

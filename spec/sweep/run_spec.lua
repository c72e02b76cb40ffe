--- Studies from end to end: gibbous sweep run, again, with other grids, other code, other data, and failures.
local new <const> = require "spec.sweep.study"

local RUN <const> = [[space = {a = {1, 2, 3}, b = {"x", "y"}}, repeats = 2, metric = "v", run = function(p, trial)
    return {v = p.a + (p.b == "y" and 0.5 or 0) + p["repeat"] / 100, u = trial.seed % 1000}
  end]]

local function column(rows, name)
  local out <const> = {}
  for i, r in ipairs(rows) do out[i] = r[name] end
  return out
end

describe("gibbous sweep run", function()
  it("runs each trial once, and tells the best", function()
    local s <close> = new(RUN)
    local out <const>, err <const>, code <const> = s:sweep("run", "-j", 2)
    assert.equal(0, code, err)
    assert.matches("study: 12 trials: 12 ok", out, 1, true)
    assert.matches("best v: 1.01, trial 1 (a=1 b=x repeat=1)", out, 1, true)
    local rows <const> = s:trials()
    assert.equal(12, #rows)
    for i, t in ipairs(rows) do
      assert.equal(i, t.number)
      assert.equal(1, t.attempts)
      assert.equal("done", t.state)
      assert.is_true(t.seconds >= 0 and t.resident > 1e6)
    end
    local before <const> = s:results()
    assert.equal(0, select(3, s:sweep "run"))
    assert.same(before, s:results())
    assert.same(column(rows, "ended"), column(s:trials(), "ended"))
  end)

  it("gives the same results for any number of processes", function()
    local a <close> = new(RUN)
    local b <close> = new(RUN)
    a:sweep("run", "-j", 1)
    b:sweep("run", "-j", 8)
    assert.equal(a:results(), b:results())
    assert.matches('"u":', a:results(), 1, true)
  end)

  it("adds what a larger grid has, and leaves out what a smaller one has not", function()
    local s <close> = new(RUN)
    s:sweep "run"
    s:rewrite((RUN:gsub("{1, 2, 3}", "{2, 3, 4}")))
    local out <const> = s:sweep "run"
    assert.matches("study: 12 trials: 12 ok", out, 1, true)
    local rows <const> = s:trials()
    assert.equal(16, #rows)
    assert.equal(4, #s:trials "wanted = 0")
    for _, t in ipairs(rows) do assert.equal(1, t.attempts) end
  end)

  it("runs again what another code computes, not what another comment says", function()
    local s <close> = new(RUN, "local function helper(v) return v end\n")
    s:sweep "run"
    s:rewrite((RUN:gsub("return {v", "-- a comment\n    return   {v")), "local function helper(v) return v end\n")
    s:sweep "run"
    assert.equal(12, #s:trials())
    s:rewrite((RUN:gsub("return {v = p.a", "return {v = 1 + p.a")))
    local _, err <const> = s:sweep "run"
    assert.matches("12 finished ones are of the older code and stay in the store, 12 are new", err, 1, true)
    assert.equal(24, #s:trials())
  end)

  it("sees the functions and values that the trials reach", function()
    local run <const> = "space = {a = {1}}, run = function(p) return {v = step(p.a), w = table_of.scale} end"
    local s <close> = new(run, "local table_of = {scale = 2}\nlocal function step(v) return v + 1 end")
    s:sweep "run"
    s:rewrite(run, "local table_of = {scale = 2}\nlocal function step(v) return v + 2 end")
    s:sweep "run"
    assert.equal(2, #s:trials())
    s:rewrite(run, "local table_of = {scale = 3}\nlocal function step(v) return v + 2 end")
    s:sweep "run"
    assert.equal(3, #s:trials())
    s:rewrite(run, "local table_of = {scale = 3}\nfunction step(v) return v + 3 end")
    s:sweep "run"
    assert.equal(4, #s:trials())
    assert.same({'{"v":4,"w":3}'}, column(s:trials "wanted = 1", "result"))
  end)

  it("runs again what read a file that has changed", function()
    local s <close> = new [[space = {a = {1, 2}}, metric = "v", run = function(p)
        local f = gb.data.read(os.getenv "STUDY_DATA")
        return {v = f:col("y"):sum():item() + p.a}
      end]]
    s.env = "STUDY_DATA=" .. s:path "data.csv"
    local function data(text)
      local f <close> = assert(io.open(s:path "data.csv", "wb"))
      f:write(text)
    end
    data "x,y\n1,2\n3,4\n"
    s:sweep "run"
    assert.same({7.0, 8.0}, column(s:trials(), "metric"))
    s:sweep "run"
    assert.same({1, 1}, column(s:trials(), "attempts"))
    assert.matches(", 0 to run;", (s:sweep "plan"), 1, true)
    data "x,y\n1,2\n3,5\n"
    assert.matches(", 2 to run;", (s:sweep "plan"), 1, true)
    local _, err <const> = s:sweep "run"
    assert.matches("data files have changed: 2 finished trials run again", err, 1, true)
    assert.same({8.0, 9.0}, column(s:trials(), "metric"))
  end)

  it("classes failures, goes on after them, and says so by its status", function()
    local s <close> = new [[space = {what = {"error", "nan", "not_pd", "oom", "exit", "kill", "text", "none", "ok", "missing"}},
      metric = "v", run = function(p)
        local w = p.what
        if w == "error" then error "a mistake" end
        if w == "nan" then return {v = 0 / 0} end
        if w == "not_pd" then gb.linalg.cholesky(gb.tensor{{1, 2}, {2, 1}}):eval() end
        if w == "oom" then gb.ones(1000, 1000, 1000, 1000):eval() end
        if w == "exit" then os.exit(7) end
        if w == "kill" then os.execute "kill -9 $PPID" end
        if w == "text" then return "words" end
        if w == "none" then return end
        if w == "missing" then return {other = 1} end
        return {v = 1}
      end]]
    local out <const>, err <const>, code <const> = s:sweep("run", "--keep-going")
    assert.equal(3, code)
    assert.matches("study: 10 trials: 1 ok, 1 oom, 1 not_pd, 1 nan, 2 crashed, 4 error", out, 1, true)
    assert.matches("error: ", err, 1, true)
    local class <const>, message <const> = {}, {}
    for _, t in ipairs(s:trials()) do
      local what <const> = t.params:match '"what":"(.-)"'
      class[what], message[what] = t.class, t.message
    end
    assert.same({error = "error", nan = "nan", not_pd = "not_pd", oom = "oom", exit = "crashed", kill = "crashed", text = "error",
      none = "error", ok = "ok", missing = "error"}, class)
    assert.matches("study.lua:%d+: a mistake", message.error)
    assert.matches("the metric 'v' is nan", message.nan, 1, true)
    assert.matches("status 7 before the trial did", message.exit, 1, true)
    assert.matches("signal KILL", message.kill, 1, true)
    assert.matches("the metric 'v' is not in the result of run, which has other", message.missing, 1, true)
    assert.matches("which has nothing", message.none, 1, true)
    assert.matches("run must give a table as {rmse = 0.1} or a number, got string", message.text, 1, true)
    local again <const> = s:sweep("rerun", "--class", "crashed")
    assert.matches("2 trials are pending again", again, 1, true)
    assert.equal(2, #s:trials "state = 'pending'")
  end)

  it("stops where the first trials fail alike", function()
    local s <close> = new "space = {a = gb.sweep.range(1, 20)}, run = function(p) error('bad ' .. p.a) end"
    local out <const>, err <const>, code <const> = s:sweep "run"
    assert.equal(3, code)
    assert.matches("3 error, 17 pending", out, 1, true)
    assert.matches("3 trials in a row failed alike, so the sweep stops here; --keep-going runs the others", err, 1, true)
    assert.matches("20 error", (s:sweep("run", "--keep-going")), 1, true)
  end)

  it("ends a trial that takes longer than its budget", function()
    local s <close> = new [[space = {a = {0, 60}}, budget = {time = 0.5}, run = function(p)
        local till = gb.clock() + p.a
        while gb.clock() < till do end
        return {v = 1}
      end]]
    local out <const> = s:sweep("run", "-j", 2)
    assert.matches("1 ok, 1 timeout", out, 1, true)
  end)

  it("goes on after trials that took too long, once one was ok", function()
    local study <const> = [[budget = {time = 0.5}, run = function(p)
        local till = gb.clock() + p.a
        while gb.clock() < till do end
        return {v = 1}
      end]]
    local some <close> = new("space = {a = {0, 60, 61, 62, 63, 64, 0.01}}, " .. study)
    assert.matches("2 ok, 5 timeout", (some:sweep "run"), 1, true)
    local none <close> = new("space = {a = {60, 61, 62, 63, 0}}, " .. study)
    assert.matches("3 timeout, 2 pending", (none:sweep "run"), 1, true)
  end)

  it("stops after five failures alike, also where trials of an earlier run were ok", function()
    local s <close> = new [[space = {a = gb.sweep.range(1, 20)}, run = function(p)
        if p.a <= 2 then return {v = p.a} end
        error("bad " .. p.a)
      end]]
    assert.matches("2 ok, 5 error, 13 pending", (s:sweep "run"), 1, true)
    assert.matches("2 ok, 10 error, 8 pending", (s:sweep "run"), 1, true)
  end)

  it("gives trials a seed, a folder and their number", function()
    local s <close> = new [[space = {a = {1}}, seed = 3, run = function(p, trial)
        local f = assert(io.open(trial.dir .. "/kept.txt", "w"))
        f:write(trial.number) f:close()
        return {seed = trial.seed, first = gb.rand(1):item(), lua = math.random(1e9)}
      end]]
    s:sweep "run"
    local t <const> = s:trials()[1]
    assert.equal(("%d"):format(t.seed), t.result:match '"seed":(%d+)')
    local f <close> = assert(io.open(s.store .. "/trials/" .. t.id .. "/kept.txt"))
    assert.equal("1", f:read "a")
    local before <const> = t.result
    s:sweep("rerun", "1")
    s:sweep "run"
    assert.equal(before, s:trials()[1].result)
  end)

  it("says what is wrong with a script", function()
    for text, words in pairs{["return 1"] = "gives a number: a script of a sweep ends with  return gb.sweep{...}",
      ["x ="] = "unexpected symbol", ["return gb.sweep{name = 'a b', run = print}"] = "name must be a word",
      ["return gb.sweep{name = 'a'}"] = "it needs run = function(p, trial)",
      ["return gb.sweep{name = 'a', run = print, space = {k = gb.kernels}}"] = "space.k",
      ["return gb.sweep{name = 'a', run = print, space = {k = {gb.kernels.rbf{}}}}"] = "make the object from them in run",
      ["return gb.sweep{name = 'a', run = print, space = {k = {1, 1.0}}}"] = "holds 1 twice",
      ["return gb.sweep{name = 'a', run = print, space = {k = gb.sweep.uniform(0, 1)}}"] = "a range, of which a grid",
      ["return gb.sweep{name = 'a', run = print, space = {k = {}}}"] = "space.k is empty",
      ["return gb.sweep{name = 'a', run = print, spaces = {}}"] = "did you mean 'space'?"} do
      local s <close> = new ""
      local f <close> = assert(io.open(s.script, "wb"))
      f:write('local gb = require "gibbous"\n', text, "\n")
      f:close()
      local _, err <const>, code <const> = s:sweep "run"
      assert.equal(1, code, text)
      assert.matches(words, err, 1, true)
    end
  end)

  it("refuses a second run of a store", function()
    local s <close> = new "space = {a = {1}}, run = function() return 1 end"
    s:sweep "run"
    local held <close> = require "gibbous.sweep.store".lock(s.store)
    assert.is_not_nil(held)
    local _, err <const>, code <const> = s:sweep "run"
    assert.equal(1, code)
    assert.matches("another `gibbous sweep run` works on", err, 1, true)
  end)

  it("refuses what is no store of a sweep", function()
    local s <close> = new "space = {a = {1}}, run = function() return 1 end"
    local core <const> = require "gibbous.core"
    core.make_folder(s.store)
    local f <close> = assert(io.open(s.store .. "/study.db", "wb"))
    f:write(("no database at all, but long enough to be looked at "):rep(100))
    f:close()
    local _, err <const>, code <const> = s:sweep "ls"
    assert.equal(1, code)
    assert.matches("file is not a database", err, 1, true)
  end)
end)

describe("the bytes of trials", function()
  it("are predicted by the plan of the first fit, and held", function()
    local s <close> = new [[space = {n = {50, 2400}}, repeats = 2, budget = {memory = "120 MiB"}, metric = "nlpd",
      run = function(p, trial)
        local x = gb.rand(p.n, 2, {seed = trial.seed})
        local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1}
        m:fit(x, x:sum(-1), {steps = 1, restarts = 0})
        return {nlpd = m:score(x:slice(1, 1, 20), x:sum(-1):slice(1, 1, 20)).nlpd}
      end]]
    local out <const>, err <const>, code <const> = s:sweep("run", "-j", 3)
    assert.equal(0, code, out .. err)
    for _, t in ipairs(s:trials()) do
      assert.is_true(t.peak <= t.room, ("peak %d of %d"):format(t.peak, t.room))
      if t.params:find("2400", 1, true) then
        assert.is_true(t.need >= t.peak and t.need <= 1.05 * t.peak, ("need %d, peak %d"):format(t.need or -1, t.peak))
      end
    end
  end)

  it("are enough for variances of a model whose covariance is streamed", function()
    local s <close> = new [[space = {n = {2000}}, budget = {memory = "1 GiB"}, metric = "nlpd",
      run = function(p, trial)
        local x = gb.rand(p.n, 2, {seed = trial.seed})
        local m = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.1, solver = gb.solvers.cg{tol = 1e-2, probes = 2}}
        m:fit(x, x:sum(-1), {method = "adam", steps = 1})
        return {nlpd = m:score(x:slice(1, 1, 200), x:sum(-1):slice(1, 1, 200)).nlpd}
      end]]
    local out <const>, err <const>, code <const> = s:sweep "run"
    assert.equal(0, code, out .. err)
    local t <const> = s:trials()[1]
    local room <const> = require "gibbous.gp.exact.variance".room(2000)
    assert.is_true(t.need >= room and room > 50 << 20 and t.peak <= t.room, ("need %d, peak %d of %d, room %d"):format(t.need,
      t.peak, t.room, room))
  end)

  it("are what the study says of them", function()
    local s <close> = new [[space = {a = {70, 90}}, budget = {memory = "200 MiB"}, memory = function(p) return p.a << 20 end,
      run = function() return 1 end]]
    local out, err, code = s:sweep "run"
    assert.equal(0, code, out .. err)
    assert.same({70 << 20, 90 << 20}, column(s:trials(), "room"))
    s:rewrite [[space = {a = {1}}, memory = function() return "lots" end, run = function() return 1 end]]
    out, err, code = s:sweep "run"
    assert.equal(1, code, out)
    assert.matches("gb.sweep: memory", err, 1, true)
  end)

  it("grow where a trial had too few", function()
    local s <close> = new [[space = {a = {1}}, budget = {memory = "1 GiB"}, run = function()
        return {v = gb.ones(24 << 20, {dtype = "f64"}):eval():sum():item()}
      end]]
    local out <const>, err <const>, code <const> = s:sweep "run"
    assert.equal(0, code, out .. err)
    local t <const> = s:trials()[1]
    assert.equal(256 << 20, t.room)
    assert.equal(3, t.attempts)
  end)

  it("are refused where no machine has them", function()
    local s <close> = new [[space = {a = {1}}, budget = {memory = "70 MiB"}, run = function()
        return {v = gb.ones(24 << 20, {dtype = "f64"}):eval():sum():item()}
      end]]
    local out <const> = s:sweep "run"
    assert.matches("1 oom", out, 1, true)
    assert.equal(2, s:trials()[1].attempts)
  end)
end)

describe("a pruned trial", function()
  it("ends where others were better at its step", function()
    local s <close> = new [[space = {a = gb.sweep.range(1, 10)}, metric = "v", prune = {rule = "median", start = 3},
      run = function(p, trial)
        for step = 1, 6 do trial:report(step, p.a) end
        return {v = p.a}
      end]]
    local out <const> = s:sweep "run"
    assert.matches("5 ok, 5 pruned", out, 1, true)
    assert.matches("best v: 1, trial 1", out, 1, true)
    for _, t in ipairs(s:trials "class = 'pruned'") do assert.matches("pruned at step 3: its best value", t.message, 1, true) end
  end)

  it("is one that reports no numbers", function()
    local s <close> = new [[space = {a = {1}}, run = function(_, trial)
        for step = 1, 6 do trial:report(step, 0 / 0) end
      end]]
    assert.matches("1 nan", (s:sweep "run"), 1, true)
  end)
end)

local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local line <const> = require "gibbous.text.progress_line"
local text <const> = require "gibbous.text.progress"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local raises <const> = support.raises

describe("gb.progress", function()
  it("counts from 1, or walks a list", function()
    local seen <const> = {}
    for i in gb.progress(4, "count") do seen[#seen + 1] = i end
    assert.same({1, 2, 3, 4}, seen)
    local values <const> = {}
    for i, v in gb.progress({"a", false, "c"}) do values[i] = v end
    assert.same({"a", false, "c"}, values)
    for _ in gb.progress(0, "none") do error "no round expected" end
    for _ in gb.progress{} do error "no round expected" end
    local sum = 0
    for i in gb.progress(3.0) do sum = sum + i end
    assert.equal("integer", math.type(sum))
  end)

  it("leaves by break and by error", function()
    local last
    for i in gb.progress(9) do
      last = i
      if i == 4 then break end
    end
    assert.equal(4, last)
    assert.is_false(pcall(function()
      for i in gb.progress(9) do if i == 2 then error "out" end end
    end))
  end)

  it("refuses what cannot be counted", function()
    raises("option", "gb.progress: a whole number, 0 or more, or a list expected, got -1", gb.progress, -1)
    raises("option", "got 2.5", gb.progress, 2.5)
    raises("option", "got string", gb.progress, "x")
    raises("option", "got tensor", gb.progress, gb.ones(3))
    raises("option", "got param", gb.progress, gb.param(1))
    raises("option", "the label must be a string, got number", gb.progress, 3, 4)
  end)

  it("says rate and time left", function()
    local loop <const> = {label = "fit", done = 3, total = 12, start = 100}
    assert.equal("fit █████                3/12  1.5/s  0:06 left", text.text(loop, 102))
    assert.equal("fit █████                3/12  20 s each  3:00 left", text.text(loop, 160))
    assert.equal("fit █████                3/12  4e+03 s each  10:00:00 left", text.text(loop, 100 + 12000))
    loop.done = 0
    assert.equal("fit                      0/12", text.text(loop, 102))
    loop.done = 12
    assert.equal("fit 12/12 in 2 s", text.closing(loop, 102))
    assert.equal("3/12 in 1.5 s", text.closing({label = "", done = 3, total = 12, start = 100}, 101.5))
    local function left(rounds)                              -- at one second each
      return (text.text({label = "", done = 1, total = rounds + 1, start = 0}, 1):match "(%S+) left$")
    end
    assert.same({"0:09", "1:01", "59:59", "1:00:00", "1:00:01", "2:03:04"},
      {left(9), left(61), left(3599), left(3600), left(3601), left(7384)})
    local function bar(done, total)
      return (text.text({label = "", done = done, total = total, start = 0}, 1):match "^(.-) *%d+/")
    end
    assert.same({"█▏", "███████████████████▉", ("█"):rep(20), ("█"):rep(20)}, {bar(9, 160), bar(159, 160), bar(7, 7), bar(9, 7)})
    assert.equal(("█"):rep(20) .. " 0/0", text.text({label = "", done = 0, total = 0, start = 0}, 1))
    assert.equal("██", text.clip("███", 2))
    assert.equal("ab", text.clip("ab", 5))
  end)

  it("draws one line for loops within loops, ten times a second, and leaves what the outermost reached", function()
    local now, out = 100.0, {}
    local stderr <const> = {write = function(_, ...) out[#out + 1] = table.concat{...} end}
    local function take()
      local text <const> = table.concat(out)
      out = {}
      return text
    end
    support.with(core, {isatty = function(fd) return fd == 2 end, clock = function() return now end,
      columns = function() return 45 end},
      function()
        support.with(line, {is_utf8 = function() return true end}, function()
        support.with(io, {stderr = stderr}, function()
          for i in gb.progress(4, "outer") do
            if i == 1 then
              assert.equal("\router                      0/4\27[K", take())
              now = 100.09
              for _ in gb.progress(2) do end                       -- too soon to be drawn; its end is
              assert.equal("\router                      0/4\27[K", take())
            elseif i == 2 then
              assert.equal("", take())
              now = 101.0
              for _ in gb.progress({"a", "b"}, "inner") do -- luacheck: ignore 512 (left early)
                if out[1] then assert.equal("\router █████                1/4  1/s  0:03 le\27[K", take()) end
                break
              end
              take()
            elseif i == 3 then now = 110.0
            else take() now = 112.5 end
          end
          assert.equal("\router 4/4 in 12.5 s\27[K\n", take())
          for i in gb.progress(5) do
            take()
            if i == 2 then break end
          end
          assert.equal("\r1/5 in 0 s\27[K\n", take())
          local abandoned <const> = coroutine.wrap(function() for _ in gb.progress(3, "lost") do coroutine.yield() end end)
          for i in gb.progress(2, "whole") do
            if i == 1 then abandoned() end
          end
          assert.equal("\rwhole 2/2 in 0 s\27[K\n", out[#out])
          out = {}
          for _ in gb.progress(0, "none") do end
          assert.equal("", take())
          for _ in gb.progress(1, "one") do now = now + 0.125 end
          assert.equal("\rone 1/1 in 0.125 s\27[K\n", out[#out])
          out, now = {}, 1000.0
          for i in gb.progress(3) do now = ({1000.09375, 1000.109375, 1000.21875})[i] end
          assert.equal(3, #out)                                  -- at the start, the third round, and the end
        end) end)
      end)
  end)

  it("is written once a minute where stderr is a log", function()
    local now, out = 100.0, {}
    local stderr <const> = {write = function(_, ...) out[#out + 1] = table.concat{...} end}
    support.with(core, {isatty = function() return false end, clock = function() return now end}, function()
      support.with(io, {stderr = stderr}, function()
        for _ in gb.progress(4, "long") do now = now + 50 end
        for _ in gb.progress(3) do now = now + 10 end
      end)
    end)
    assert.same({"long 2/4  50 s each  1:40 left\n"}, out)
  end)

  it("has a bar of ASCII where the locale is not UTF-8, and none without columns", function()
    local loop <const> = {label = "fit", done = 3, total = 12, start = 100}
    assert.equal("fit [#####...............] 3/12  1.5/s  0:06 left", text.text(loop, 102, "ascii"))
    assert.equal("fit 3/12  1.5/s  0:06 left", text.text(loop, 102, "none"))
    assert.equal("", text.clip("abc", 0))
    assert.equal("", text.clip("", 3))
    for _, row in ipairs{{"C", "", "", false}, {"", "de_DE.utf8", "C", true}, {"", "", "en_US.UTF-8", true}, {"", "", "", false}} do
      local env <const> = {LC_ALL = row[1], LC_CTYPE = row[2], LANG = row[3]}
      support.with(os, {getenv = function(name) return env[name] end}, function() assert.equal(row[4], line.is_utf8()) end)
    end
  end)

  it("says nothing where stderr is no terminal", function()
    local path <const> = support.write(support.path ".lua", [[
      local gb = require "gibbous"
      for i in gb.progress(3, "quiet") do if i == 2 then break end end]])
    local out <const>, errors <const>, rc <const> = process.run{path}
    support.sweep()
    assert.same({"", "", 0}, {out, errors, rc})
  end)
end)

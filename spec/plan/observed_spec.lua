--- An expression has the same bits whatever was looked at before it was built, and whatever the collector has left of that.
local gb <const> = require "gibbous"

local function sweep()
  collectgarbage()
  collectgarbage()
end

describe("bits do not depend on what was observed before", function()
  --- {name, build = function(k, dtype) that gives the expression, as a function, and what looks at parts of it}
  local cases <const> = {
    {"a sum of an outer product", function(k, dtype)
      local a <const>, b <const> = gb.randn(37 + k, {seed = k, dtype = dtype}):eval(),
        gb.randn(7, {seed = 50 + k, dtype = dtype}):eval()
      local z <const> = gb.randn(37 + k, 7, {seed = 100 + k, dtype = dtype}):eval()
      local function outer() return a:unsqueeze(2) * b:unsqueeze(1) + 0.3 end
      return function() return (z * outer()):sum() end, function() return outer():eval() end
    end},
    {"a sum of a transposed matrix", function(k, dtype)
      local z <const> = gb.randn(37 + k, 7, {seed = k, dtype = dtype}):eval()
      return function() return (z:t() * 2):sin():sum() end, function() return (z:t() * 2):eval() end
    end},
    {"a sum of sums", function(k, dtype)
      local x <const> = gb.randn(137 + k, 53, {seed = k, dtype = dtype}):eval()
      return function() return x:exp():sum(1):sum() * x:exp():sum(2):log():sum() end, function() return x:exp():sum(1):eval() end
    end},
    {"a product of random numbers", function(k, dtype)
      local v <const> = gb.randn(137 + k, {seed = k, dtype = dtype}):eval()
      local function drawn() return gb.randn(137 + k, 137 + k, {seed = 50 + k, dtype = dtype}) end
      return function() return drawn():matmul(v):sum() end, function() return drawn():eval() end
    end},
    {"a product of joined random numbers", function(k, dtype)
      local v <const> = gb.randn(2 * (137 + k), {seed = k, dtype = dtype}):eval()
      local function drawn(i) return gb.randn(137 + k, 137 + k, {seed = 50 + 2 * k + i, dtype = dtype}) end
      return function() return gb.cat({drawn(0), drawn(1)}, 2):matmul(v):sum() end, function()
        local one <const>, other <const> = drawn(0), drawn(1)
        one:totable()
        return {one, other:eval()}
      end
    end},
  }

  for _, case in ipairs(cases) do
    for _, dtype in ipairs{"f64", "f32"} do
      it(case[1] .. ", " .. dtype, function()
        for k = 1, 6 do
          local build <const>, look <const> = case[2](k, dtype)
          sweep()
          local want <const> = build():item()
          sweep()
          local seen = look() -- luacheck: ignore 231 (kept alive)
          assert.equal(want, build():item(), "after a look")
          seen = nil
          sweep()
          assert.equal(want, build():item(), "after a look and a collection")
        end
      end)
    end
  end

  it("a value that was looked at is not computed again", function()
    local calls = 0
    local twice <const> = gb.func{name = "twice", shape = "same", bytes = "1 MiB", forward = function(x)
      calls = calls + 1
      return 2 * x
    end}
    local x <const> = gb.randn(9, {seed = 1}):eval()
    local y <const> = twice(x):eval()
    assert.is_true(twice(x):sum():allclose(2 * x:sum()))
    assert.is_true(twice(x):equal(y))
    assert.equal(1, calls)
  end)
end)

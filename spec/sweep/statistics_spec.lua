local statistics <const> = require "gibbous.sweep.show.statistics"

local function near(want, got, tol)
  assert.is_true(math.abs(got - want) <= tol, ("%.17g, want %.17g"):format(got, want))
end

describe("a summary", function()
  it("has mean, deviation and error", function()
    local s <const> = statistics.summary{1, 2, 3, 4}
    assert.same({4, 2.5}, {s.n, s.mean})
    near(math.sqrt(5 / 3), s.sd, 1e-15)
    near(math.sqrt(5 / 12), s.se, 1e-15)
  end)

  it("has no error of one value, and nothing of none", function()
    assert.same({n = 1, mean = 7}, statistics.summary{7})
    assert.same({n = 0}, statistics.summary{})
  end)

  it("keeps the digits of values far from 0", function()
    near(1, statistics.summary{1e9, 1e9 + 1, 1e9 + 2}.sd, 1e-7)
  end)
end)

describe("Student's distribution", function()
  it("has the closed forms of 1, 2 and 4 degrees of freedom", function()
    for _, t in ipairs{0.0, 1e-9, 0.1, 0.9, 2.0, 7.5, 300.0} do
      near(1 - 2 / math.pi * math.atan(t), statistics.student(t, 1), 1e-13)
      near(1 - t / math.sqrt(2 + t * t), statistics.student(t, 2), 1e-13)
      local u <const> = t / math.sqrt(t * t + 4)
      near(1 - u * (3 - u * u) / 2, statistics.student(-t, 4), 1e-13)
    end
  end)

  it("has its ends", function()
    assert.equal(0.0, statistics.student(math.huge, 3))
    assert.is_true(statistics.student(0 / 0, 3) ~= statistics.student(0 / 0, 3))
    assert.equal(1.0, statistics.student(0, 7))
    near(0.05, statistics.student(1.9599639845400545, 1000001), 1e-6)
  end)
end)

describe("a paired t test", function()
  it("has the p of its t", function()
    near(statistics.student(2 / (1 / math.sqrt(3)), 2), statistics.paired_t{1, 2, 3}, 1e-15)
  end)

  it("knows differences that are all equal, and too few", function()
    assert.equal(1.0, statistics.paired_t{0, 0, 0})
    assert.equal(0.0, statistics.paired_t{0.5, 0.5})
    assert.is_nil(statistics.paired_t{3})
  end)
end)

--- P of the test by trying all signs.
local function tried(ranks, least)
  local n, below = #ranks, 0
  for signs = 0, (1 << n) - 1 do
    local plus, minus = 0, 0
    for i, r in ipairs(ranks) do
      if signs >> (i - 1) & 1 == 1 then plus = plus + r else minus = minus + r end
    end
    below = below + (math.min(plus, minus) <= least and 1 or 0)
  end
  return math.min(1, below / (1 << n))
end

describe("Wilcoxon's test", function()
  it("counts the signs", function()
    near(2 / 64, statistics.wilcoxon{1, 2, 3, 4, 5, 6}, 1e-15)
    near(tried({1, 2, 3, 4, 5, 6, 7}, 4), statistics.wilcoxon{-1, 2, -3, 4, 5, 6, 7}, 1e-15)
  end)

  it("counts ties by their mean rank, and leaves zeros out", function()
    near(tried({1.5, 1.5, 3.5, 3.5, 5, 6}, 5), statistics.wilcoxon{1, -1, 0, 2, -2, 3, 4}, 1e-15)
  end)

  it("has none of fewer than six differences", function()
    assert.is_nil(statistics.wilcoxon{1, 2, 3, 4, 5})
    assert.is_nil(statistics.wilcoxon{1, 2, 3, 4, 5, 0})
  end)

  it("is near the exact one where it takes the normal distribution", function()
    local list <const>, ways <const>, minus = {}, {[0] = 1.0}, 0
    for i = 1, 26 do
      list[i] = i % 3 == 0 and -i or i
      minus = minus + (i % 3 == 0 and i or 0)
      for sum = i * (i + 1) // 2, i, -1 do ways[sum] = (ways[sum] or 0) + (ways[sum - i] or 0) end
    end
    local below = 0.0
    for sum = 0, minus do below = below + ways[sum] end
    near(2 * below / 2.0 ^ 26, statistics.wilcoxon(list), 2e-3)
  end)
end)

--- gb.kmeans{spherical = true} against a plain iteration over unit vectors; what agrees with it; rows of length 0.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

-- On another device the host reads copies of the points, which its account has beside the fit.
local at_home <const> = gb.devices()[1].name == "cpu" and not os.getenv "GIBBOUS_DEVICE"

--- Rows around k directions, of lengths from 0.1 to 10.
local function rays(n, d, k, o)
  o = o or {}
  local at <const> = gb.randn(k, d, {seed = 1})
  local ways <const> = (at / (at * at):sum(2, {keepdim = true}):sqrt()):index(1, gb.range(1, n, 1, {dtype = "i64"}) % k + 1)
  local lengths <const> = (gb.rand(n, 1, {seed = 3}) * 4.6 - 2.3):exp()
  return ((ways + gb.randn(n, d, {seed = 2}) * (o.spread or 0.2) + (o.offset or 0)) * lengths):to{dtype = o.dtype or "f64"}:eval()
end

local function unit(v)
  local s = 0.0
  for _, e in ipairs(v) do s = s + e * e end
  if s == 0 then return nil end
  local out <const> = {}
  for t, e in ipairs(v) do out[t] = e / math.sqrt(s) end
  return out
end

--- Spherical k-means from its definition: {labels, centres, inertia, iterations, gap}.
local function plain(x, start, weights)
  local r <const> = {labels = {}, centres = {}, iterations = 0, gap = math.huge}
  local rows <const> = {}
  for i, v in ipairs(x) do rows[i] = unit(v) end
  for j, v in ipairs(start) do r.centres[j] = unit(v) end
  local moved = true
  while moved do
    local sums <const> = {}
    for j = 1, #start do sums[j] = gb.zeros(#x[1]):totable() end
    moved, r.inertia, r.iterations = false, 0.0, r.iterations + 1
    for i, row in ipairs(rows) do
      local best, next_best, at = -2, -2, 0
      for j, c in ipairs(r.centres) do
        local s = 0.0
        for t, v in ipairs(row) do s = s + v * c[t] end
        if s > best then best, next_best, at = s, best, j elseif s > next_best then next_best = s end
      end
      local w <const> = weights and weights[i] or 1
      moved = moved or r.labels[i] ~= at
      r.labels[i], r.inertia, r.gap = at, r.inertia + 2 * w * (1 - best), math.min(r.gap, best - next_best)
      for t, v in ipairs(row) do sums[at][t] = sums[at][t] + w * v end
    end
    for j, s in ipairs(sums) do r.centres[j] = unit(s) or r.centres[j] end
  end
  return r
end

local function lengths(x) return (x * x):sum(2):sqrt() end

describe("gb.kmeans{spherical = true}", function()
  teardown(support.sweep)

  it("is a plain iteration over unit vectors", function()
    for _, s in ipairs{{300, 2, 3}, {700, 5, 8}, {400, 17, 12}} do
      local x <const> = rays(s[1], s[2], s[3])
      local start <const> = x:slice(1, 1, s[3]):eval()
      for _, weights in ipairs{false, gb.range(1, s[1]) % 7 + 0.25} do
        local want <const> = plain(x:totable(), start:totable(), weights and weights:totable() or nil)
        assert.is_true(want.gap > 1e-9)
        for _, algorithm in ipairs{"lloyd", "elkan"} do
          local km <const> = gb.kmeans{k = s[3], init = start, tol = 0, spherical = true, algorithm = algorithm}
          km:fit(x, {weights = weights})
          assert.same(want.labels, km.labels:totable())
          assert.equal(want.iterations, km.iterations)
          near(1, km.inertia / want.inertia, 1e-12)
          near(want.centres, km.centroids, 1e-11)
          near(1, km:score(x, {weights = weights}) / -want.inertia, 1e-12)
          near(want.inertia, km.history[want.iterations]:item(), 1e-9)
        end
      end
    end
  end)

  it("labels, scores and measures rows of any length alike", function()
    for _, dtype in ipairs{"f64", "f32", "f16"} do
      local x <const> = rays(2000, 6, 5, {dtype = dtype})
      local tolerance <const> = dtype == "f64" and 1e-12 or 1e-5
      for _, init in ipairs{"k-means++", "random", x:slice(1, 1, 5):to "f64" * 7} do
        local km <const> = gb.kmeans{k = 5, init = init, spherical = true, n_init = 1}:fit(x)
        near(gb.ones(5), lengths(km.centroids), dtype == "f64" and 1e-14 or 1e-6)
        assert.is_true(km:predict(x):equal(km.labels))
        assert.is_true(km:predict(x:to "f32" * 0.25):equal(km.labels))
        near(1, km:score(x) / -km.inertia, tolerance)
        local apart <const> = km:transform(x):to "f64"
        assert.same(km.labels:totable(), apart:argmin(2):totable())
        near(1, (apart:min(2) ^ 2):sum():item() / km.inertia, 1e-4)
        local same <const> = gb.kmeans{k = 5, init = init, spherical = true, n_init = 1, algorithm = "elkan"}:fit(x)
        assert.is_true(same.centroids:equal(km.centroids) and same.history:equal(km.history))
        assert.equal(km.inertia, same.inertia)
      end
    end
  end)

  it("has the same bits for any pieces and strides", function()
    for _, dtype in ipairs{"f64", "f32"} do
      local x <const> = rays(3000, 5, 6, {dtype = dtype, spread = 0.5})
      local want <const> = gb.kmeans{k = 6, spherical = true}:fit(x)
      local turned <const> = x:t():eval():t()
      for _, points in ipairs{{x:slice(1, 1, 1), x:slice(1, 2, 977), x:slice(1, 978, 3000)}, turned, x * 1.0} do
        local km <const> = gb.kmeans{k = 6, spherical = true}:fit(points)
        assert.is_true(km.labels:equal(want.labels) and km.centroids:equal(want.centroids))
        assert.equal(want.inertia, km.inertia)
      end
      if at_home then assert.equal(gb.kmeans{k = 6, spherical = true}:plan(x).peak, want.bytes) end
    end
  end)

  it("tells directions apart that differ by little", function()
    local x <const> = rays(1500, 8, 4, {offset = 2000, spread = 0.05, dtype = "f32"})
    local start <const> = x:slice(1, 1, 4):to "f64":eval()
    local want <const> = gb.kmeans{k = 4, init = start, spherical = true, tol = 0}:fit(x:to "f64":eval())
    local km <const> = gb.kmeans{k = 4, init = start, spherical = true, tol = 0}:fit(x)
    local wrong <const> = km.labels:ne(want.labels):to "i64":sum():item()
    assert.is_true(wrong <= 15, tostring(wrong))                  -- of 1500: rows of f32 are that far from their directions
  end)

  it("keeps the centroid of a cluster whose rows cancel", function()
    local x <const> = gb.tensor{{1, 0}, {-2, 0}, {0, 3}, {0, 4}}
    for _, dtype in ipairs{"f64", "f32"} do
      for _, algorithm in ipairs{"lloyd", "elkan"} do
        local km = gb.kmeans{k = 2, spherical = true, algorithm = algorithm, init = gb.tensor{{0, -1}, {0, 1}}}
        km:fit(x:to(dtype):eval())
        near({{0, -1}, {0, 1}}, km.centroids, 1e-6)
        near(4, km.inertia, 1e-6)
        local some <const> = rays(77, 3, 4)                                                      -- and their opposites
        km = gb.kmeans{k = 1, spherical = true, algorithm = algorithm, init = gb.tensor{{0.6, 0, 0.8}}}
        near({{0.6, 0, 0.8}}, km:fit(gb.cat({some, some * -3}, 1):to(dtype):eval()).centroids, 1e-6)
      end
    end
  end)

  it("goes by mini-batches to directions", function()
    local x <const> = rays(9000, 4, 5)
    local all <const> = gb.kmeans{k = 5, spherical = true}:fit(x)
    local batches <const> = gb.kmeans{k = 5, spherical = true, algorithm = "minibatch"}:fit(x)
    near(gb.ones(5), lengths(batches.centroids), 1e-12)
    near(1, batches.inertia / all.inertia, 1e-2)
    local part <const> = gb.kmeans{k = 5, spherical = true}
    for i = 1, 9 do part:partial_fit(x:slice(1, 1000 * i - 999, 1000 * i)) end
    near(gb.ones(5), lengths(part.centroids), 1e-12)
    near(1, part:score(x) / all:score(x), 1e-2)
    local rows <const> = gb.tensor{{3, 0}, {1, 1}, {0, 2}}
    local km <const> = gb.kmeans{k = 1, spherical = true, init = gb.tensor{{2, 0}}}:partial_fit(rows)
    near({{math.sqrt(0.5), math.sqrt(0.5)}}, km.centroids, 1e-14)
  end)

  it("is saved and loaded", function()
    local path <const> = os.tmpname()
    local x <const> = rays(500, 4, 3)
    local km <const> = gb.kmeans{k = 3, spherical = true}:fit(x)
    km:save(path)
    local again <const> = gb.load(path)
    os.remove(path)
    assert.is_true(again:predict(x * 3):equal(km.labels))
    assert.equal(km:score(x), again:score(x))
    assert.matches("k = 3, spherical, ", tostring(again))
  end)

  it("names rows that have no direction", function()
    local x <const> = rays(30, 4, 3)
    local at <const> = gb.tensor({18}, {dtype = "i64"})
    local km <const> = gb.kmeans{k = 3, spherical = true}:fit(x)
    local centroids <const> = km.centroids:totable()
    for _, dtype in ipairs{"f64", "f32"} do
      local zero <const> = x:put(1, at, gb.zeros(1, 4)):to(dtype):eval()
      for _, points in ipairs{zero, {zero:slice(1, 1, 7), zero:slice(1, 8, 30)}, zero * 1.0} do
        for _, how in ipairs{"fit", "predict", "score", "partial_fit"} do
          raises("nan", "the point in row 18 has length 0, and no direction", function() return (km[how](km, points)) end)
        end
      end
    end
    assert.same(centroids, km.centroids:totable())
    local bad <const> = x:put(1, at, gb.full({1, 4}, 0 / 0)):eval()
    raises("nan", "row 18 is not finite in column 1", km.fit, km, bad)
    raises("option", "row 2 of the start has length 0", function()
      return (gb.kmeans{k = 2, spherical = true, init = gb.tensor{{1, 0, 0, 0}, {0, 0, 0, 0}}}:fit(x))
    end)
    for _, scale in ipairs{1e-310, 1e-200, 1e200, 1e307} do
      near(1, gb.kmeans{k = 3, spherical = true}:fit((x * scale):eval()).inertia / km.inertia, 1e-6)
    end
  end)

  it("gives the defined result where directions are few", function()
    local x <const> = gb.tensor{{1, 0}, {2, 0}, {0, 1}, {0, 5}, {3, 0}}
    for _, init in ipairs{"k-means++", "random"} do
      local km <const> = gb.kmeans{k = 4, init = init, spherical = true}:fit(x)
      near(0, km.inertia, 1e-30)
      assert.equal(2, km.empty)
    end
    assert.is_true(core.known(x))
  end)

  it("has silhouettes of rows divided by their lengths", function()
    local x <const> = gb.randn(60, 3, {seed = 3}):eval()
    local long <const> = (x * gb.rand(60, 1, {seed = 4}) * 1e200):eval()
    local km <const> = gb.kmeans{k = 3, seed = 1, spherical = true}:fit(x)
    local unit <const> = (x / (x * x):sum(2, {keepdim = true}):sqrt()):eval()
    local want <const> = gb.silhouette(unit, km.labels).values:totable()
    for _, rows in ipairs{x, long} do
      local got <const> = km:silhouette(rows).values:totable()
      for i, v in ipairs(want) do assert.is_true(math.abs(got[i] - v) < 1e-9) end
    end
    assert.is_true(math.abs(km:silhouette(x, {simplified = true}).mean - km:silhouette(long, {simplified = true}).mean) < 1e-12)
  end)
end)

--- gb.kmeans against a plain Lloyd iteration; bits, bytes, bad input, files, mini-batches.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local lloyd <const> = require "spec.cluster.lloyd"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

-- On a GPU the plan is what a fit takes at most, on each account: results lie there in the end.
local at_home <const> = gb.devices()[1].name == "cpu" and not os.getenv "GIBBOUS_DEVICE"

--- Rows around k places.
local function blobs(n, d, k, o)
  o = o or {}
  local at <const> = gb.randn(k, d, {seed = 1}) * 4
  local places <const> = at:index(1, gb.range(1, n, 1, {dtype = "i64"}) % k + 1)
  local x <const> = places + gb.randn(n, d, {seed = 2}) * (o.spread or 1) + (o.offset or 0)
  return x:to{dtype = o.dtype or "f64"}:eval()
end

local function settle()
  core.drop_caches()
  for _ = 1, 3 do collectgarbage() end
end

describe("gb.kmeans", function()
  teardown(support.sweep)

  local shapes <const> = {{300, 1, 3}, {800, 2, 5}, {1100, 3, 8}, {600, 17, 12}, {400, 40, 33}}

  for _, s in ipairs(shapes) do
    it(("is a plain iteration for %d x %d, k = %d"):format(table.unpack(s)), function()
      local x <const> = blobs(s[1], s[2], s[3])
      local start <const> = x:slice(1, 1, s[3])
      for _, weights in ipairs{false, gb.range(1, s[1]) % 7 + 0.25} do
        local want <const> = lloyd.run(x:totable(), start:totable(), weights and weights:totable() or nil)
        assert.is_true(want.gap > 1e-9)                                     -- nothing ties
        local km <const> = gb.kmeans{k = s[3], init = start, tol = 0}:fit(x, {weights = weights})
        assert.same(want.labels, km.labels:totable())
        assert.equal(want.iterations, km.iterations)
        assert.is_true(km.converged)
        assert.is_true(math.abs(km.inertia / want.inertia - 1) <= 1e-12, ("%.17g %.17g"):format(km.inertia, want.inertia))
        near(want.centres, km.centroids, 1e-11)
        assert.equal(want.iterations, #km.history)
        near(want.inertia, km.history[want.iterations]:item(), 1e-9)
        assert.is_true(math.abs(km:score(x, {weights = weights}) / -want.inertia - 1) <= 1e-12)
      end
    end)
  end

  it("takes strides, types and expressions without another result", function()
    local x <const> = blobs(700, 6, 5)
    local start <const> = x:slice(1, 1, 5):eval()
    local want <const> = gb.kmeans{k = 5, init = start}:fit(x)
    local wide <const> = gb.cat({x:t(), gb.ones(2, 700)}, 1):eval()
    local padded <const> = gb.cat({gb.ones(700, 3), x}, 2):eval()
    local views <const> = {wide:slice(1, 1, 6):t(), padded:slice(2, 4, 9), x:flip(1):eval():flip(1), x:flip(2):eval():flip(2),
      x:unsqueeze(1):eval():squeeze(1), x:reshape{4200}:eval():reshape{700, 6}, x * 1.0, gb.param(x), (x - 3) + 3}
    for i, v in ipairs(views) do
      local km <const> = gb.kmeans{k = 5, init = start}:fit(v)
      assert.is_true(km.labels:equal(want.labels), "view " .. i)
      near(want.inertia, km.inertia, 1e-12, "view " .. i)
      assert.is_true(km:predict(v):equal(want.labels), "view " .. i)
      if at_home and i <= 6 then assert.equal(want.bytes, km.bytes, "view " .. i) end          -- nothing was copied
    end
    for _, dtype in ipairs{"f32", "f16", "bf16"} do
      local y <const> = x:to{dtype = dtype}:eval()
      local km <const> = gb.kmeans{k = 5, init = start}:fit(y)
      local same <const> = gb.kmeans{k = 5, init = start}:fit(y:to "f32":eval())
      assert.is_true(km.centroids:equal(same.centroids) and km.labels:equal(same.labels), dtype)
      assert.equal(same.inertia, km.inertia)
    end
    local eighths <const> = (x * 8):eval()
    for _, dtype in ipairs{"f32", "f16", "bf16", "i64"} do                          -- computed from points of another type
      local v <const> = eighths:to(dtype)
      local lazy <const> = gb.kmeans{k = 5, init = start}:fit(v)
      local stored <const> = gb.kmeans{k = 5, init = start}:fit(v:eval())
      assert.is_true(lazy.centroids:equal(stored.centroids) and lazy.labels:equal(stored.labels), dtype)
      assert.equal(stored.inertia, lazy.inertia)
    end
    for _, dtype in ipairs{"i64", "i32"} do
      local whole <const> = (x * 10):round():to(dtype):eval()
      local km <const> = gb.kmeans{k = 5, init = start * 10}:fit(whole)
      assert.is_true(km.centroids:equal(gb.kmeans{k = 5, init = start * 10}:fit(whole:to "f64":eval()).centroids), dtype)
      near(km:transform(whole:to "f64"):min(2), km:transform(whole):min(2), 0)
    end
  end)

  it("computes an expression tile by tile", function()
    local x <const> = gb.randn(600000, 4, {seed = 9})
    local p <const> = gb.kmeans{k = 6, max_iter = 4}:plan(x)
    assert.is_true(p.peak < p.data / 1.5, tostring(p))
    local lazy <const> = gb.kmeans{k = 6, max_iter = 4}:fit(x)
    assert.is_false(core.known(x))
    local whole <const> = gb.kmeans{k = 6, max_iter = 4}:fit(x:eval())
    assert.is_true(lazy.centroids:equal(whole.centroids) and lazy.labels:equal(whole.labels))
    assert.equal(whole.inertia, lazy.inertia)
    if at_home then assert.equal(p.peak, lazy.bytes) end
  end)

  it("gives no wrong label 1e4 standard deviations off the origin in f32", function()
    local x <const> = blobs(1500, 8, 6, {offset = 1e4, dtype = "f32"})
    local start <const> = x:slice(1, 1, 6):eval()
    local want <const> = lloyd.run(x:totable(), start:totable())
    local km <const> = gb.kmeans{k = 6, init = start, tol = 0}:fit(x)
    assert.same(want.labels, km.labels:totable())
    assert.same(want.labels, km:predict(x):totable())
    near(0, km.inertia / want.inertia - 1, 1e-6)
    local apart <const> = km:transform(x)
    assert.equal("f32", apart.dtype)
    assert.same(want.labels, (apart:argmin(2)):totable())
    local exact <const> = core.sqdist(x:to "f64", km.centroids, nil):sqrt()
    assert.is_true((apart:to "f64" / exact - 1):abs():max():item() <= 2e-5)
  end)

  -- Bits ----------------------------------------------------------------------------------------------------------------

  local script <const> = [[
    local gb, core = require "gibbous", require "gibbous.core"
    for _, dtype in ipairs{"f32", "f64"} do
      local x = (gb.randn(20000, 8, {seed = 3, dtype = dtype}) + gb.range(1, 20000, 1, {dtype = dtype}):unsqueeze(2) % 7):eval()
      for _, init in ipairs{"k-means++", "random", "k-means||"} do
        local km = gb.kmeans{k = 7, init = init, n_init = 2, max_iter = 20}:fit(x, {weights = gb.range(1, 20000) % 3})
        local elkan = gb.kmeans{k = 7, init = init, n_init = 2, max_iter = 20, algorithm = "elkan"}
        elkan:fit(x, {weights = gb.range(1, 20000) % 3})
        assert(elkan.centroids:equal(km.centroids) and elkan.labels:equal(km.labels) and elkan.history:equal(km.history))
        assert(elkan.inertia == km.inertia and elkan.iterations == km.iterations)
        local some = gb.kmeans{k = 7, init = init, algorithm = "minibatch", max_iter = 2}:fit(x)
        local part = gb.kmeans{k = 7}:partial_fit(x:slice(1, 1, 9000)):partial_fit(x:slice(1, 9001, 20000))
        print(core.digest{km.centroids, km.labels, km.history, some.centroids, part.centroids, part.counts, km:transform(x):eval()},
          ("%a %a %a"):format(km.inertia, km:score(x), part.inertia))
      end
    end]]

  it("has the same bits for 1 and 2 threads", function()
    local one <const>, err <const> = process.run({"-e", script}, {env = "GIBBOUS_THREADS=1"})
    assert.equal("", err)
    assert.equal(6, select(2, one:gsub("\n", "\n")))
    assert.equal(one, (process.run({"-e", script}, {env = "GIBBOUS_THREADS=2"})))
  end)

  it("has the same bits for any pieces and any budget", function()
    for _, dtype in ipairs{"f64", "f32"} do
      local x <const> = blobs(3000, 5, 6, {spread = 3, dtype = dtype})
      local weights <const> = gb.rand(3000, {seed = 4})
      for _, init in ipairs{"k-means++", "k-means||", "random", x:slice(1, 11, 16)} do
        local function fit(list, budget)
          return gb.kmeans{k = 6, init = init, n_init = 2, budget = budget}:fit(list, {weights = weights})
        end
        local want <const> = fit(x)
        for _, count in ipairs{1, 2, 3, 8} do
          local list <const>, first = {}, 1
          for i = 1, count do
            local last <const> = i == count and 3000 or first + (i * 97 % 300)
            list[i] = x:slice(1, first, last)
            first = last + 1
          end
          local km <const> = fit(list)
          assert.is_true(km.labels:equal(want.labels) and km.centroids:equal(want.centroids) and km.history:equal(want.history))
          assert.equal(want.inertia, km.inertia)
          assert.is_true(want:predict(list):equal(want.labels))
          assert.equal(want:score(x), want:score(list))
        end
        local p <const> = gb.kmeans{k = 6, init = init, n_init = 2}:plan(x, {weights = weights})
        local least = p.peak                                             -- one number is the budget of each account
        for _, on in ipairs(p.devices) do least = math.max(least, on.peak) end
        for _, budget in ipairs{least, 2 * least, "1 GB"} do
          assert.is_true(fit(x, budget).centroids:equal(want.centroids))
        end
        assert.equal(least, raises("refused", "the smallest budget that works is", fit, x, least - 1).minimum)
      end
    end
  end)

  -- Bytes ---------------------------------------------------------------------------------------------------------------

  it("takes what it planned, to the byte", function()
    local cases <const> = {
      {100, 2, 3}, {1000, 1, 10}, {961, 7, 5}, {5000, 6, 9, init = "random"}, {5000, 6, 9, n_init = 3},
      {2000, 33, 17, dtype = "f32"}, {4097, 16, 64, dtype = "f16", n_init = 2}, {3000, 5, 4, weights = "f64"},
      {3000, 5, 4, weights = "f32", dtype = "bf16"}, {3000, 5, 4, weights = "f32", part = true},
      {3000, 5, 4, weights = "f64", part = true}, {700, 3, 5, start = "f32"},
      {700, 3, 5, start = "f64"}, {2500, 4, 6, pieces = 3}, {3000, 5, 9, algorithm = "elkan"},
      {999, 3, 5, dtype = "f32", n_init = 2, algorithm = "elkan"}, {4000, 3, 8, algorithm = "elkan", start = "f64"},
      {2500, 4, 6, pieces = 3, algorithm = "elkan"},
      {2500, 4, 6, spherical = true}, {2500, 4, 6, init = "k-means||"}, {961, 7, 50, init = "k-means||", dtype = "f32"},
      {2500, 4, 6, pieces = 3, init = "k-means||", algorithm = "elkan"}}
    for i, c in ipairs(cases) do
      local n <const>, d <const>, k <const> = c[1], c[2], c[3]
      local x <const> = blobs(n, d, k, {dtype = c.dtype})
      local weights = c.weights and gb.rand(c.part and 3 * n or n, {seed = 5, dtype = c.weights}):eval() or nil
      if c.part then weights = weights:slice(1, n + 1, 2 * n) end
      local init <const> = c.start and x:slice(1, 1, k):to{dtype = c.start}:eval() or c.init
      local list <const> = c.pieces and {x:slice(1, 1, 10), x:slice(1, 11, 2000), x:slice(1, 2001, n)} or x
      local o <const> = {k = k, init = init, n_init = c.n_init, max_iter = 12, algorithm = c.algorithm, spherical = c.spherical}
      local km <const> = gb.kmeans(o)
      local p <const> = km:plan(list, {weights = weights})
      if not c.pieces then
        assert.equal(p.peak, km:plan(gb.empty(n, d, {dtype = c.dtype or "f64"}), {weights = weights}).peak)
      end
      settle()
      local before <const> = gb.memory.report()
      km:fit(list, {weights = weights})
      assert.is_true(km.bytes <= p.peak, ("case %d: %d bytes on the host, planned %d"):format(i, km.bytes, p.peak))
      for _, on in ipairs(p.devices) do
        local got <const> = km.device_bytes[on.name]
        assert.is_true(got <= on.peak, ("case %d: %d bytes on %s, planned %d"):format(i, got, on.name, on.peak))
      end
      if at_home then
        assert.equal(p.peak, km.bytes, "case " .. i)
        local old <const> = gb.memory.limit(before.used + p.peak)          -- the account itself says so, too
        local ok <const>, err <const> = pcall(function()
          local again <const> = gb.kmeans(o)
          local kept <const> = gb.memory.report().used - before.used
          gb.memory.limit(before.used + kept + p.peak)
          again:fit(list, {weights = weights})
          gb.memory.limit(before.used + kept + p.peak - 1)
          raises("refused", "the smallest free memory that works is", gb.kmeans(o).fit, again, list, {weights = weights})
        end)
        gb.memory.limit(old)
        assert.is_true(ok, tostring(err))
      end
    end
  end)

  it("plans the 4 GB case within 1.04 of the formula, and allocates nothing for it", function()
    settle()
    local before <const> = gb.memory.report().used
    local p <const> = gb.kmeans{k = 10000}:plan(gb.empty(4000000, 250, {dtype = "f32", device = "cpu"}))
    assert.equal(before, gb.memory.report().used)
    assert.equal((4000000 * 250 + 10000 * 250) * 4 + 4 * 4000000, p.formula)
    local sum, of_threads = 0, 0
    for _, b in ipairs(p.buffers) do
      sum = sum + b.bytes
      if b.what:find "threads" then of_threads = b.bytes end
    end
    assert.equal(p.peak, sum)
    if at_home then assert.is_true((p.data + p.peak - of_threads) / p.formula <= 1.03, tostring(p)) end
    assert.matches("formula  %(n d %+ k d%) numbers of 4 B and a label of 4 B a row: 4,026,000,000 B", tostring(p))
  end)

  it("keeps labels as the i32 that the plan counts, and takes nothing to show them", function()
    local n <const> = 20000
    local x <const> = blobs(n, 2, 5)
    local km <const> = gb.kmeans{k = 5, init = x:slice(1, 1, 5):eval(), tol = 0}:fit(x)
    settle()
    local before <const> = gb.memory.report().used
    local labels <const> = km.labels
    assert.equal("i32", labels.dtype)
    assert.equal(labels, km.labels)
    assert.is_true(labels:ge(1):all() and labels:le(5):all())
    settle()
    assert.equal(before, gb.memory.report().used)
    local predicted <const> = km:predict(x)
    assert.is_true(predicted:equal(labels))                                   -- of one type, too
    settle()
    assert.equal(before + 4 * n, gb.memory.report().used)
    -- they go where labels go, as they lie
    local sums <const> = gb.segment_sum(x, labels, km.k)
    assert.is_true(gb.plan(sums).peak < 4 * n)
    local counts <const> = gb.bincount(labels, {k = km.k})
    near(km.centroids, sums / counts:to "f64":unsqueeze(2), 1e-9)
    assert.equal(n, counts:sum():item())
    near(km.inertia, ((x - km.centroids:index(1, labels)) ^ 2):sum(), 1e-9)
  end)

  it("never stores the distances", function()
    local km <const> = gb.kmeans{k = 50, max_iter = 2}:fit(gb.randn(20000, 3, {seed = 1}):eval())
    local x <const> = gb.randn(20000, 3, {seed = 2}):eval()
    settle()
    local used <const> = gb.memory.report().used
    local least <const> = km:transform(x):min(2)
    assert.is_true(gb.plan(least).peak < 20000 * 50 * 8 / 4)
    near(-km:score(x), (least ^ 2):sum(), 1e-9)
    assert.is_true(gb.memory.report().used - used < 20000 * 50 * 8 / 4)
    local list <const> = km:transform{x:slice(1, 1, 10), x:slice(1, 11, 30)}
    assert.equal(2, #list)
    assert.is_true(list[2].shape == km:transform(x:slice(1, 11, 30)).shape)
  end)

  -- Starts, mini-batches, files --------------------------------------------------------------------------------------------

  it("finds blobs that are apart from every start", function()
    local x <const> = blobs(1000, 5, 8, {spread = 0.05})
    local function check(km)
      for i, at in ipairs(km.labels:totable()) do assert.equal(km.labels:totable()[(i - 1) % 8 + 1], at) end
      near(1000 * 5 * 0.05 ^ 2, km.inertia, 0.1)
    end
    check(gb.kmeans{k = 8}:fit(x))
    check(gb.kmeans{k = 8, init = x:slice(1, 1, 8)}:fit(x))
    local runs <const> = {}
    check(gb.kmeans{k = 8, n_init = 3, init = function(points, k, run)
      assert.is_true(rawequal(points, x))
      runs[#runs + 1] = run
      return points:slice(1, run, run + k - 1)
    end}:fit(x))
    assert.same({1, 2, 3}, runs)
  end)

  it("keeps the best of n_init runs, and gives the same for a seed", function()
    local x <const> = blobs(500, 2, 9, {spread = 2})
    local best = math.huge
    for seed = 5, 14 do best = math.min(best, gb.kmeans{k = 9, init = "random", n_init = 1, seed = seed}:fit(x).inertia) end
    local km <const> = gb.kmeans{k = 9, init = "random", seed = 5}:fit(x)
    assert.equal(best, km.inertia)
    assert.is_true(km.centroids:equal(gb.kmeans{k = 9, init = "random", seed = 5}:fit(x).centroids))
  end)

  it("refits from its own centroids without moving them", function()
    local x <const> = blobs(400, 3, 4)
    local km <const> = gb.kmeans{k = 4, tol = 0}:fit(x)
    local again <const> = gb.kmeans{k = 4, tol = 0, init = km.centroids}:fit(x)
    near(km.centroids, again.centroids, 1e-14)
    assert.is_true(again.labels:equal(km.labels))
  end)

  it("moves centroids to the means of their batches", function()
    local rows <const> = {{0, 0}, {1, 0}, {10, 0}, {10, 2}}
    local km <const> = gb.kmeans{k = 2, init = gb.tensor{{0, 0}, {10, 0}}}
    assert.is_true(rawequal(km, km:partial_fit(gb.tensor(rows))))
    near({{0.5, 0}, {10, 1}}, km.centroids, 1e-14)
    near({2, 2}, km.counts, 0)
    near(1 + 4, km.inertia, 1e-14)
    km:partial_fit(gb.tensor{{2, 0}}, {weights = {4}})
    near({{1.5, 0}, {10, 1}}, km.centroids, 1e-14)                  -- (2 * 0.5 + 4 * 2) / 6
    near({6, 2}, km.counts, 0)
    assert.equal(2, km.iterations)
    near({5, 4 * 1.5 ^ 2}, km.history, 1e-14)
    assert.is_nil(km.labels)
    assert.same({1, 2}, km:predict(gb.tensor{{3, 0}, {9, 0}}):totable())
    local x <const> = blobs(6000, 4, 5, {spread = 0.1})
    local all <const> = gb.kmeans{k = 5}:fit(x)
    local batches <const> = gb.kmeans{k = 5}
    for i = 1, 6 do batches:partial_fit(x:slice(1, 1000 * i - 999, 1000 * i)) end
    near(1, batches:score(x) / all:score(x), 1e-3)
  end)

  it("counts the rows of a batch once, although their inertia is summed again in finer quanta", function()
    local x <const> = gb.tensor{{0, 0}, {1, 1}, {0, 0}}
    local km <const> = gb.kmeans{k = 2, init = gb.tensor{{0, 0}, {1, 1}}}
    for _ = 1, 3 do km:partial_fit(x) end
    assert.same({6, 3}, km.counts:totable())
  end)

  it("fits by mini-batches as a plain evaluator does, with its bits and bytes", function()
    local x <const> = blobs(9000, 3, 4, {spread = 2})
    local start <const> = x:slice(1, 1, 4):eval()
    local km <const> = gb.kmeans{k = 4, init = start, algorithm = "minibatch", tol = 0, max_iter = 3}:fit(x)
    local want <const> = lloyd.minibatches(x:totable(), start:totable(), 4096, km.iterations)
    assert.same(want.labels, km.labels:totable())
    near(want.centres, km.centroids, 1e-10)
    near(want.history, km.history, 1e-10)
    near(0, km.inertia / want.inertia - 1, 1e-12)
    assert.equal(-km.inertia, km:score(x))
    local o <const> = {k = 4, algorithm = "minibatch", seed = 3}
    local whole <const> = gb.kmeans(o):fit(x)
    local pieces <const> = gb.kmeans(o):fit{x:slice(1, 1, 5), x:slice(1, 6, 4500), x:slice(1, 4501, 9000)}
    assert.is_true(pieces.labels:equal(whole.labels) and pieces.centroids:equal(whole.centroids))
    local z <const> = gb.randn(300000, 4, {seed = 5})
    local p <const> = gb.kmeans(o):plan(z)
    settle()
    local lazy <const> = gb.kmeans(o):fit(z)
    assert.is_true(gb.kmeans(o):fit(z:eval()).centroids:equal(lazy.centroids))
    if at_home then
      assert.equal(p.peak, lazy.bytes)
      assert.equal(gb.kmeans(o):plan(x).peak, whole.bytes)
    end
  end)

  it("comes back from a file with its bits", function()
    local x <const> = blobs(300, 3, 4, {offset = 100, dtype = "f32"})
    local km <const> = gb.kmeans{k = 4, seed = 7, tol = 1e-6, n_init = 2}:fit(x)
    local path <const> = support.path ".safetensors"
    km:save(path)
    local back <const> = gb.load(path)
    assert.is_true(back.centroids:equal(km.centroids) and back.labels:equal(km.labels) and back.history:equal(km.history))
    assert.equal("i32", back.labels.dtype)
    assert.is_true(back:predict(x):equal(km.labels))
    assert.equal(km:score(x), back:score(x))
    assert.equal(tostring(km), tostring(back))
    assert.is_true(back:fit(x).centroids:equal(km.centroids))
    local batch <const> = gb.kmeans{k = 2, init = function(points) return points:slice(1, 1, 2) end}:partial_fit(x)
    batch:save(path)
    raises("option", "functions", gb.load, path)
    local again <const> = gb.load(path, {functions = {init = function(points) return points:slice(1, 1, 2) end}})
    assert.is_true(again:partial_fit(x).centroids:equal(batch:partial_fit(x).centroids))
    gb.kmeans{k = 3}:save(path)
    assert.is_nil(gb.load(path).centroids)
  end)

  it("prints what it found", function()
    local x <const> = blobs(300, 3, 4)
    local km <const> = gb.kmeans{k = 4, seed = 7}
    assert.equal("k-means  k = 4, k-means++, seed 7\n  no centroids yet: km:fit(X)", tostring(km))
    local form = "^k%-means  k = 4, k%-means%+%+, seed 7\n  300 rows of 3 columns, inertia %d+%.%d+\n  %d+ iterations?, "
      .. "converged\n  [%d.]+ KB beside the rows, planned [%d.]+ KB"
    for _, on in ipairs(km:plan(x).devices) do form = form .. "\n  [%d.]+ KB on " .. on.name .. ", planned [%d.]+ KB" end
    assert.matches(form .. "$", tostring(km:fit(x)))
    assert.equal("kmeans", gb.type(km))
  end)

  -- What is bad ---------------------------------------------------------------------------------------------------------------

  local function bad(code, text, f, ...)
    local err <const> = raises(code, text, f, ...)
    assert.matches("kmeans_spec%.lua:%d+$", err.line)
  end

  it("names what is wrong with options", function()
    local function make(o) return function() return (gb.kmeans(o)) end end
    bad("option", "gb.kmeans: option 'k' is needed", make{})
    bad("option", "'k' must be a whole number, 1 to 16777216, got number 0", make{k = 0})
    bad("option", "got number -3", make{k = -3})
    bad("option", "got number 2.5", make{k = 2.5})
    bad("option", "got number nan", make{k = 0 / 0})
    bad("option", "unknown option 'clusters'; known: algorithm, budget, device, init, k, max_iter, n_init, ranks, seed, spherical, "
      .. "tol, weights", make{k = 2, clusters = 3})
    bad("option", "did you mean 'max_iter'", make{k = 2, maxiter = 3})
    bad("option", "'init' must be 'k-means++', 'k-means||', 'random', a tensor", make{k = 2, init = "kmeans"})
    bad("option", "'algorithm' must be one of auto, elkan, lloyd, minibatch", make{k = 2, algorithm = "macqueen"})
    bad("option", "'n_init' must be 'auto' or a whole number", make{k = 2, n_init = 0})
    bad("option", "'max_iter' must be a whole number", make{k = 2, max_iter = 0})
    bad("option", "'tol' must be a number, 0 or more", make{k = 2, tol = 0 / 0})
    bad("option", "'tol' must be a number, 0 or more", make{k = 2, tol = -1})
    bad("option", "'budget' must be bytes", make{k = 2, budget = "much"})
    bad("option", "fit: option 'budget' names cdua:1, which has no part in it: cpu", function()
      return (gb.kmeans{k = 2, budget = {["cdua:1"] = 1e9}}:fit(gb.ones(4, 2)))
    end)
    bad("shape", "'init' must have k = 2 rows, got shape 3x2", make{k = 2, init = gb.ones(3, 2)})
  end)

  it("names what is wrong with points, weights and starts", function()
    local x <const> = blobs(30, 4, 3)
    local km <const> = gb.kmeans{k = 3}
    local function fit(o, points, more) return function() return (gb.kmeans(o):fit(points, more)) end end
    for _, how in ipairs{"predict", "transform", "score", "predict"} do
      bad("option", how .. ": there are no centroids yet: km:fit(X)", function() return (km[how](km, x)) end)
    end
    km:fit(x)
    for _, how in ipairs{"predict", "transform", "score", "partial_fit"} do
      bad("shape", "points of 3 columns, the centroids have 4", function() return (km[how](km, x:slice(2, 1, 3))) end)
    end
    bad("shape", "fit: 2 rows cannot be 3 clusters: choose k of at most 2", fit({k = 3}, x:slice(1, 1, 2)))
    bad("shape", "without columns", fit({k = 3}, gb.zeros(3, 0)))
    bad("option", "the list of points has 3, and nothing in place 2", fit({k = 1}, {x, nil, x}))
    bad("shape", "0 rows cannot be 1 clusters: give a row a cluster at least", fit({k = 1}, gb.zeros(0, 3)))
    local function at(i) return gb.tensor({i}, {dtype = "i64"}) end
    for _, v in ipairs{0 / 0, 1 / 0, -1 / 0} do
      local y <const> = x:put(1, at(18), x:slice(1, 18, 18):put(2, at(3), v)):eval()
      bad("nan", "the point in row 18 is not finite in column 3", fit({k = 3}, y))
      bad("nan", "row 18 is not finite in column 3", fit({k = 3}, {y:slice(1, 1, 11), y:slice(1, 12, 30)}))
      bad("nan", "row 18 is not finite in column 3", fit({k = 3}, y * 2))
      bad("nan", "row 18 is not finite in column 3", function() return (km:predict(y)) end)
      bad("nan", "row 18 is not finite in column 3", function() return (km:score(y)) end)
      bad("nan", "row 18 is not finite in column 3", function() return (km:partial_fit(y)) end)
    end
    local w <const> = gb.ones(30)
    bad("nan", "the weight of point 7 is negative or not finite", fit({k = 3}, x, {weights = w:put(1, at(7), -1)}))
    bad("nan", "the weight of point 7", fit({k = 3, weights = w:put(1, at(7), 0 / 0)}, x))
    bad("option", "all weights are 0", fit({k = 3}, x, {weights = gb.zeros(30)}))
    bad("shape", "one number a row, 30, got shape 29", fit({k = 3}, x, {weights = gb.ones(29)}))
    bad("option", "'weights' must be a tensor or a list of numbers, got string", fit({k = 3}, x, {weights = "w"}))
    bad("option", "unknown option 'weight', did you mean 'weights'", fit({k = 3}, x, {weight = w}))
    bad("shape", "the start must be 2x4", fit({k = 2, init = gb.ones(2, 3)}, x))
    bad("shape", "the start must be 2x4", fit({k = 2, init = function() return gb.ones(2, 3) end}, x))
    bad("option", "init must give a tensor 2x4, got number", fit({k = 2, init = function() return 1 end}, x))
    bad("option", "not finite in row 2, column 1", fit({k = 2, init = gb.tensor{{0, 0, 0, 0}, {0 / 0, 0, 0, 0}}}, x))
    bad("option", "the points must be a tensor (n, d) or a list of such tensors, got string", fit({k = 2}, "x"))
    bad("option", "got nil", fit{k = 2})
    bad("option", "element 2 of the list must be a tensor (n, d), got number", fit({k = 2}, {x, 3}))
    bad("shape", "must be a tensor (n, d), got shape 30", fit({k = 2}, w))
    bad("shape", "has 3 columns, the first has 4", fit({k = 2}, {x, x:slice(2, 1, 3)}))
    bad("dtype", "is f32, the first is f64", fit({k = 2}, {x, x:to "f32"}))
    bad("dtype", "points are numbers, got bool", fit({k = 2}, x:gt(0)))
    bad("option", "gb.empty is for km:plan alone", fit({k = 2}, gb.empty(10, 2)))
    bad("device", "there is no device 'gpu9'", fit({k = 2, device = "gpu9"}, x))
    local closed <const> = gb.ones(4, 2):eval()
    closed:close()
    bad("closed", "closed tensor", fit({k = 2}, closed))
    bad("option", "write km:fit(...) with a colon", function() return (km.fit(x)) end)
    bad("option", "km.inertia cannot be assigned", function() km.inertia = 3 end)
    bad("option", "k-means has no field 'centroid' (did you mean 'centroids'?)", function() return (km.centroid) end)
  end)

  it("names ranges whose squares or sums no number holds", function()
    local x <const> = blobs(50, 3, 3)
    local function fit(points, weights) return function() return (gb.kmeans{k = 3}:fit(points, {weights = weights})) end end
    bad("nan", "coordinates lie up to", fit(x * 1e130))
    bad("nan", "is possible in f32: divide all by one number, or give f64", fit((x * 1e19):to "f32"))
    bad("nan", "coordinates lie within", fit(x * 1e-125))
    bad("nan", "is needed in f32: multiply all by one number, or give f64", fit((x * 1e-30):to "f32"))
    bad("nan", "the greatest weight is 1e+31, and must be in 7.89e-31..1.27e+30: divide all by it", fit(x, gb.full({50}, 1e31)))
    bad("nan", "the greatest weight is 1e-300", fit(x, gb.full({50}, 1e-300)))
    local km <const> = gb.kmeans{k = 3}:fit(x)
    bad("nan", "coordinates lie up to", function() return (km:predict(x * 1e130)) end)
    for _, by in ipairs{1e100, 1e-100} do
      local far <const> = gb.kmeans{k = 3, tol = 0}:fit(x * by)
      assert.is_true(math.abs(far.inertia / by ^ 2 / km.inertia - 1) < 0.3)
      assert.is_true(math.abs(far.inertia + far:score(x * by)) <= 1e-12 * far.inertia)
    end
    for _, by in ipairs{1e29, 1e-29} do
      local heavy <const> = gb.kmeans{k = 3}:fit(x, {weights = gb.full({50}, by)})
      assert.is_true(math.abs(heavy.inertia / by / km.inertia - 1) < 1e-12)
    end
  end)

  it("has the inertia of the other points beside one far away", function()
    for _, far in ipairs{1e6, 1e9, 1e12} do -- differences from the mean are numbers of f64, too
      local x <const> = gb.cat({gb.randn(50, 3, {seed = 1}), gb.full({1, 3}, far)}, 1):eval()
      local km <const> = gb.kmeans{k = 2, seed = 1}:fit(x)
      local want <const> = ((x - km.centroids:index(1, km.labels)) ^ 2):sum():item()
      assert.is_true(want > 0 and math.abs(km.inertia - want) <= 1e-18 * far * want + 1e-12 * want)
      assert.is_true(math.abs(km:score(x) + km.inertia) <= 1e-12 * want)
    end
    local flat <const> = gb.kmeans{k = 2}:fit(gb.full({20, 3}, 0.1))
    assert.equal(0, flat.inertia)
    assert.is_true(flat:score(gb.full({20, 3}, 0.1)) == 0)
  end)

  it("gives the labels that predict gives, where few rows are distinct", function()
    for _, s in ipairs{{12, 3, 2, 3}, {4, 1, 1, 2}, {30, 17, 2, 3}, {40, 5, 6, 9}} do
      local n <const>, d <const>, distinct <const>, k <const> = table.unpack(s)
      for seed = 1, 60 do
        local rows <const> = (gb.rand(n, {seed = seed + 1}) * distinct):floor():clamp(0, distinct - 1):to "i64" + 1
        local x <const> = gb.randn(distinct, d, {seed = seed}):index(1, rows):eval()
        local km <const> = gb.kmeans{k = k, seed = seed, tol = 0, max_iter = 1 + seed % 6}:fit(x)
        assert.same(km.labels:totable(), km:predict(x):totable())
      end
    end
    for seed = 1, 20 do                                             -- centroids far from the mean, in f32
      local x <const> = gb.cat({gb.randn(200, 3, {seed = seed}), gb.full({1, 3}, 1e8)}, 1):to{dtype = "f32"}:eval()
      local km <const> = gb.kmeans{k = 4, seed = seed, tol = 0}:fit(x)
      assert.same(km.labels:totable(), km:predict(x):totable())
      assert.is_true(math.abs(km:score(x) + km.inertia) <= 1e-12 * km.inertia)
    end
  end)

  it("counts what a fit takes beside garbage that goes", function()
    local x <const> = gb.randn(100, 4, {seed = 1}):eval()
    local km <const> = gb.kmeans{k = 3}
    for i = 1, at_home and 1000 or 0 do
      do local _ <const> = gb.randn(1000, {seed = i}):eval() end
      km:fit(x)
      assert.equal(km:plan(x).peak, km.bytes)
    end
  end)

  it("is as before where a fit raises", function()
    local x <const> = blobs(300, 4, 3)
    local km <const> = gb.kmeans{k = 3}:fit(x)
    local text <const>, labels <const>, centroids <const> = tostring(km), km.labels:totable(), km.centroids:totable()
    settle()
    local used <const> = gb.memory.report().used
    for n = 0, at_home and 5 or 0 do                  -- its arrays, and the two blocks of a fit
      core.fail_after(n)
      local ok <const>, err <const> = pcall(km.fit, km, x)
      core.fail_after(-1)
      assert.is_false(ok, n)
      assert.equal("oom", err.code, tostring(err))
    end
    assert.is_false(pcall(km.fit, km, x * (0 / 0)))
    assert.is_false(pcall(km.partial_fit, km, x * (0 / 0)))
    assert.equal(text, tostring(km))
    assert.same(labels, km.labels:totable())
    assert.same(centroids, km.centroids:totable())
    settle()
    assert.is_true(gb.memory.report().used - used <= 3 * 300 * 8)
  end)

  it("answers Ctrl-C, and keeps what it had", function()
    local out <const>, err <const> = process.run({"-e", [[
      local gb = require "gibbous"
      local x = gb.randn(400000, 16, {seed = 1}):eval()
      local km = gb.kmeans{k = 3, max_iter = 2}:fit(x)
      local before = tostring(km)
      local many = gb.kmeans{k = 2000, max_iter = 100000, tol = 0}
      os.execute("(sleep 0.4; kill -INT $PPID) &")
      local ok, err = pcall(many.fit, many, x)
      print(ok, err.code, many.centroids, tostring(km) == before)]]})
    assert.equal("", err)
    assert.equal("false\tinterrupted\tnil\ttrue\n", out)
  end)

  it("gives the defined result where rows are few", function()
    local x <const> = gb.tensor{{0, 1}, {1, 1}, {2, 1}, {0, 1}, {1, 1}, {2, 1}}
    for _, init in ipairs{"k-means++", "random", "k-means||"} do
      local km <const> = gb.kmeans{k = 5, init = init}:fit(x)
      assert.equal(0, km.inertia)
      assert.equal(2, km.empty)
      assert.matches("2 of the clusters without rows", tostring(km))
    end
    local one <const> = gb.kmeans{k = 1}:fit(gb.tensor{{3, 4}})
    near({{3, 4}}, one.centroids, 0)
    assert.same({1}, one.labels:totable())
    assert.equal(0, one.inertia)
    assert.equal(0, one.empty)
    assert.is_true(one.converged)
    local ends <const> = gb.kmeans{k = 3, max_iter = 1, tol = 0}:fit(blobs(200, 2, 3))
    assert.is_false(ends.converged)
    assert.matches("not converged: max_iter ends it", tostring(ends))
  end)
end)

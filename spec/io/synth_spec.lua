local gb <const> = require "gibbous"
local process <const> = require "spec.process"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

--- Numbers, whole numbers, words, truth values, and a target.
local function table_of(n)
  local words <const>, truth <const> = {}, {}
  for i = 1, n do words[i], truth[i] = i % 5 == 0 and "rare" or "usual", i % 4 == 0 end
  return gb.data.frame({x = gb.randn(n, {seed = 1}) * 3 + 10, k = gb.range(1, n), w = words, b = truth,
    y = gb.randn(n, {seed = 2}) * 2 - 1, note = words}, {names = {"x", "k", "w", "b", "y", "note"}})
end

describe("gb.data.synth", function()
  after_each(support.sweep)

  it("gives columns that look like those of a frame", function()
    local like <const> = table_of(60)
    local f <const>, truth <const> = gb.data.synth(like, {n = 20000, seed = 3})
    assert.same(like.names, f.names)
    assert.equal(20000, #f)
    assert.is_true(math.abs(f.x:mean():item() - like.x:mean():item()) < 0.1)
    assert.is_true(math.abs(f.x:std():item() / like.x:std():item() - 1) < 0.1)
    assert.is_true(f.x:min():item() >= like.x:min():item() and f.x:max():item() <= like.x:max():item())
    assert.is_true(f.k:floor():eq(f.k):all() and f.k:min():item() >= 1 and f.k:max():item() <= 60)
    assert.is_true(math.abs(f.b:to{dtype = "f64"}:mean():item() - 0.25) < 0.02)
    local counts <const> = f:group "w":count()
    assert.same({"rare", "usual"}, counts.w)
    assert.is_true(math.abs(counts.count[1]:item() / 20000 - 0.2) < 0.02)
    assert.same({"y", math.sqrt(2), 0.1, 3}, {truth.target, truth.lengthscale, truth.noise, truth.seed})
    assert.matches("^y: an rbf kernel over the other numbers, lengthscale 1.414 of their standard deviations, 10 %% noise, seed 3$",
      tostring(truth))
  end)

  it("is a function of the seed, and has as many rows as the table unless it is said", function()
    local like <const> = table_of(30)
    local a <const>, b <const>, c <const> = gb.data.synth(like), gb.data.synth(like), gb.data.synth(like, {seed = 1})
    assert.equal(30, #a)
    assert.same({a.x:totable(), a.y:totable(), a.w}, {b.x:totable(), b.y:totable(), b.w})
    assert.is_false(a.x:eq(c.x):any())
  end)

  it("draws a target that its own process predicts up to the noise", function()
    local f <const>, truth <const> = gb.data.synth("airfoil", {n = 600, seed = 5})
    local x <const>, y <const> = f:col{1, 2, 3, 4, 5}, f.V6
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = truth.lengthscale}, noise = truth.noise}
      :condition(x:slice(1, 1, 500), y:slice(1, 1, 500))
    local left <const> = (m:predict(x:slice(1, 501, 600)).mean - y:slice(1, 501, 600)):eval()
    near(math.sqrt(truth.noise), math.sqrt((left * left):mean():item()), 0.3)
  end)

  it("says what cannot be", function()
    raises("option", "a frame, a path or the name of a set expected, got number", gb.data.synth, 3)
    raises("option", "no column of numbers, which could be the target", gb.data.synth, gb.data.frame{w = {"a", "b"}})
    raises("option", "0 rows; n = ... says how many", gb.data.synth, table_of(3), {n = 0})
    raises("io", "cannot find 'yatch'", gb.data.synth, "yatch")
    local path <const> = support.write(support.path ".npy", "")
    raises("format", "not a NumPy array file", gb.data.synth, path)
  end)

  it("is a command, too", function()
    local path <const> = support.path ".csv"
    local out <const>, errors <const>, rc <const> = process.run{"data", "synth", "--like", "yacht", "--rows=50", "--out", path}
    assert.same({"", 0}, {errors, rc})
    assert.matches("^" .. path:gsub("%p", "%%%0") .. ": 50 rows of 7 columns\nV7: an rbf kernel", out)
    assert.equal(50, #gb.data.read(path))
    for text, words in pairs{["--rows: a whole number expected, got 'x'"] = {"--like", "yacht", "--rows", "x", "--out", path},
        ["data synth --like FILE|NAME --out OUT.csv"] = {}, ["--out needs a value"] = {"--like", "yacht", "--out"},
        ["unknown word 'more'"] = {"--like", "yacht", "--out", path, "more"}} do
      local _ <const>, said <const>, status <const> = process.run{"data", "synth", table.unpack(words)}
      assert.matches(text, said, 1, true)
      assert.equal(1, status)
    end
  end)
end)

local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local points <const> = {{0.1, -0.4}, {1.2, 0.3}, {-0.7, 0.9}}
local others <const> = {{0.5, 0.5}, {-1.0, 0.2}, {1.2, 0.3}, {0.0, 0.0}}
local x <const>, z <const> = gb.tensor(points), gb.tensor(others)

local function squared(a, b, l)
  local s = 0.0
  for k = 1, #a do s = s + ((a[k] - b[k]) / l) ^ 2 end
  return s
end

--- The matrix of f(a, b) over two lists of points.
local function matrix(f, as, bs)
  local out <const> = {}
  for i, a in ipairs(as) do
    out[i] = {}
    for j, b in ipairs(bs) do out[i][j] = f(a, b) end
  end
  return out
end

describe("a shared variance", function()
  local K <const> = gb.kernels
  it("stays that of a product whose other factor has 1", function()
    local shared <const> = gb.param(3, {min = 0})
    for _, k in ipairs{K.rbf{variance = shared} * K.linear{}, K.linear{} * K.rbf{variance = shared}} do
      near(3, k.variance.value, 1e-14)
      shared.value = 5
      near(5, k.variance.value, 1e-14)
      shared.value = 3
    end
    for _, other in ipairs{K.linear{variance = 2}, K.linear{variance = gb.param(1)}} do
      for _, f in ipairs{function() return K.rbf{variance = shared} * other end, function() return other * K.rbf{variance = shared} end} do
        local ok <const>, err <const> = pcall(f)
        assert.is_false(ok)
        assert.equal("a product has one variance: give at most one factor a variance that is a gb.param", err.message)
      end
    end
    near(6, (K.rbf{variance = 3} * K.linear{variance = 2}).variance.value, 1e-14)
  end)
end)

describe("kernel algebra", function()
  local a <const>, b <const> = K.rbf{lengthscale = 0.7, variance = 2}, K.matern32{lengthscale = 1.1, variance = 3}

  it("adds values, each part with its own variance", function()
    near(a(x, z) + b(x, z), (a + b)(x, z), 1e-13)
    local _, names <const> = gb.params(a + b)
    assert.same({"[1].lengthscale", "[1].variance", "[2].lengthscale", "[2].variance"}, names)
  end)

  it("multiplies values, with one variance a product", function()
    local k <const> = a * b
    near(a(x, z) * b(x, z), k(x, z), 1e-13)
    near(6, k.variance.value, 1e-14)
    local _, names <const> = gb.params(k)
    assert.same({"variance", "[1].lengthscale", "[2].lengthscale"}, names)
  end)

  it("keeps one variance through longer products", function()
    local k <const> = a * b * K.periodic{variance = 5}
    near(30, k.variance.value, 1e-13)
    assert.equal(3, #k)
    near(a(x, z) * b(x, z) * K.periodic{variance = 5}(x, z), k(x, z), 1e-13)
  end)

  it("scales by a number on either side", function()
    near(10, (5 * a).variance.value, 1e-14)
    near(a(x, z) * 5, (a * 5)(x, z), 1e-13)
    near((a(x, z) + b(x, z)) * 0.5, (0.5 * (a + b))(x, z), 1e-13)
    raises("option", "scaled by a positive number, got -1", function() return -1 * a end)
    raises("option", "scaled by a positive number, got nan", function() return a * (0 / 0) end)
  end)

  it("never changes its operands", function()
    near(2, a.variance.value, 1e-14)
    near(matrix(function(p, q) return 2 * math.exp(-squared(p, q, 0.7) / 2) end, points, others), a(x, z), 1e-13)
  end)

  it("distributes and nests", function()
    local c <const> = K.linear{variance = 0.4}
    near(a(x, z) * (b(x, z) + c(x, z)), (a * (b + c))(x, z), 1e-13)
    near(a(x, z) + b(x, z) * c(x, z), (a + b * c)(x, z), 1e-13)
    near((a * (b + c))(x):diagonal(), (a * (b + c)):diag(x), 1e-13)
  end)

  it("counts and indexes its parts, by number and by name", function()
    local k <const> = a:named "smooth" + b + K.constant{}
    assert.equal(3, #k)
    assert.is_true(rawequal(k[2], k[2]))
    near(1.1, k[2].lengthscale.value, 1e-14)
    near(0.7, k.smooth.lengthscale.value, 1e-14)
    assert.is_nil(k[4])
    assert.equal(1, #a)
  end)

  it("names must be identifiers", function()
    raises("option", "must be an identifier, got 2nd", function() return a:named "2nd" end)
  end)

  it("refuses what is not a kernel", function()
    raises("option", "both sides must be kernels", function() return a + 1 end)
  end)

  it("shares explicit parameters between parts", function()
    local l <const> = gb.param(0.9, {min = 0})
    local k <const> = K.rbf{lengthscale = l} + K.matern12{lengthscale = l}
    local list <const> = gb.params(k)
    assert.equal(3, #list)
    l.value = 0.4
    near(K.rbf{lengthscale = 0.4}(x, z) + K.matern12{lengthscale = 0.4}(x, z), k(x, z), 1e-13)
  end)

  it("takes a parameter as the scale", function()
    local s <const> = gb.param(3, {min = 0})
    local k <const> = s * K.rbf{}
    near(K.rbf{variance = 3}(x), k(x), 1e-14)
    s.value = 4
    near(K.rbf{variance = 4}(x), k(x), 1e-14)
    raises("option", "already has a variance", function() return s * a end)
  end)

  it("warps inputs, innermost last", function()
    local k <const> = K.rbf{}:warp(function(t) return t * 2 end):warp(function(t) return t + 1 end)
    near(K.rbf{lengthscale = 0.5}(x, z), k(x, z), 1e-13)
    local narrow <const> = K.rbf{}:warp(function(t) return t:select(2, 1) end)
    near(K.rbf{active_dims = {1}}(x, z), narrow(x, z), 1e-13)
  end)

  it("prints itself", function()
    assert.equal("rbf{lengthscale=0.7, variance=2} + matern32{lengthscale=1.1, variance=3}", tostring(a + b))
    assert.equal("{variance=6} (rbf{lengthscale=0.7} * matern32{lengthscale=1.1})", tostring(a * b))
    assert.equal("kernel", gb.type(a))
  end)
end)

describe("gb.kernels.define", function()
  local gibbs <const> = K.define("gibbs", {a = 0.5, b = 0.5}, function(p, q, o)
    local lp <const>, lq <const> = o.a + o.b * p:abs(), o.a + o.b * q:abs()
    local s <const> = lp ^ 2 + lq ^ 2
    return ((2 * lp * lq / s):sqrt() * (-(p - q) ^ 2 / s):exp()):prod(-1)
  end)

  local function reference(a, b, at)
    local out = 1.0
    for k = 1, #a do
      local la <const>, lb <const> = at + 0.5 * math.abs(a[k]), at + 0.5 * math.abs(b[k])
      local s <const> = la ^ 2 + lb ^ 2
      out = out * math.sqrt(2 * la * lb / s) * math.exp(-(a[k] - b[k]) ^ 2 / s)
    end
    return out
  end

  it("gives a kernel like the built-in ones", function()
    local k <const> = gibbs{a = 0.2, variance = 3}
    near(matrix(function(p, q) return 3 * reference(p, q, 0.2) end, points, others), k(x, z), 1e-13)
    near({3, 3, 3}, k:diag(x), 1e-13)
    local _, names <const> = gb.params(k)
    assert.same({"a", "b", "variance"}, names)
  end)

  it("differentiates", function()
    local k <const> = gibbs{a = 0.2}
    local w <const> = gb.randn(3, 4, {seed = 7}):eval()
    support.check_gradients(function() return (k(x, z) * w):sum() end, (gb.params(k)), 1e-7)
  end)

  it("joins sums and products", function()
    near(gibbs{}(x, z) * K.rbf{}(x, z) + K.linear{}(x, z), (gibbs{} * K.rbf{} + K.linear{})(x, z), 1e-13)
  end)

  it("an RBF written out is the RBF", function()
    local mine <const> = K.define("mine", {l = 1}, function(p, q, o) return (-0.5 * ((p - q) / o.l) ^ 2):sum(-1):exp() end)
    near(K.rbf{lengthscale = 0.6}(x, z), mine{l = 0.6}(x, z), 1e-14)
  end)

  it("says so when the last axis is not reduced, or no tensor comes back", function()
    local flat <const> = K.define("flat", {}, function(p, q) return (p - q) ^ 2 end)
    raises("shape", "kernel 'flat' must reduce the last axis: a block gave shape 3x4x2, expected 3x4", flat{}, x, z)
    raises("option", "kernel 'none' must return a tensor, got nil", K.define("none", {}, function() end){}, x)
  end)

  it("checks its arguments and options", function()
    raises("option", "the name must be a string", K.define, 1, {}, print)
    raises("option", "the third argument must be a function", K.define, "k", {}, nil)
    raises("option", "gibbs: unknown option 'c'", gibbs, {c = 1})
  end)
end)

describe("columns of the inputs", function()
  local columns <const> = require "gibbous.kernels.columns"

  it("are taken as they are asked for, neighbours as one view", function()
    local at <const> = gb.rand(4, 6, {seed = 1}):eval()
    for _, list in ipairs{{1}, {6}, {1, 2, 3}, {2, 3, 5}, {5, 2, 3}, {1, 3, 5}, {6, 5, 4}, {3, 3}, {1, 2, 4, 5, 6}, {1, 2, 3, 4, 5, 6}} do
      local got <const> = columns.take(at, list)
      assert.same({4, #list}, {#got, got.shape[2]})
      for k, c in ipairs(list) do assert.same(at:select(2, c):totable(), got:select(2, k):totable()) end
    end
    assert.is_true(columns.take(at, {2, 3}) == columns.take(at, {2, 3}))
  end)
end)

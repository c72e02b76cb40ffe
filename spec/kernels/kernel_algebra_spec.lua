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

describe("operators that make no kernel", function()
  it("say what does", function()
    local k <const> = K.rbf{}
    for text, f in pairs{
      ["kernel ^: the exponent must be a whole number from 1 to 16: other powers need not be kernels; got a kernel and 0.5"] =
        function() return k ^ 0.5 end,
      ["kernel ^: the exponent must be a whole number from 1 to 16: other powers need not be kernels; got number and a kernel"] =
        function() return 2 ^ k end,
      ["kernel ^: the exponent must be a whole number from 1 to 16: other powers need not be kernels; got a kernel and 0"] =
        function() return k ^ 0 end,
      ["kernel -: the negative of a kernel is not a kernel: kernels can be added and multiplied; got a kernel and a kernel"] =
        function() return -k end,
      ["kernel -: the difference of two kernels is not a kernel: kernels can be added and multiplied; got a kernel and number"] =
        function() return k - 1 end,
      ["kernel +: a constant that is added is a variance, a positive number, got -1; gb.means.constant(c) shifts f"] =
        function() return k + -1 end,
      ["kernel +: a constant that is added is a variance, a positive number, got nan; gb.means.constant(c) shifts f"] =
        function() return k + 0 / 0 end,
      ["kernel -: the difference of two kernels is not a kernel: kernels can be added and multiplied; got a kernel and a kernel"] =
        function() return k - k end,
      ["kernel /: a kernel has no /: (1 / c) * k scales it by a number; got a kernel and number"] = function()
        return k / 2
      end,
    } do
      local err <const> = raises("option", "", f)
      assert.equal(text, err.message)
      assert.matches("kernel_algebra_spec", tostring(err))
    end
    near((k * k)(x), k(x) ^ 2, 1e-15)
  end)
end)

describe("a power of a kernel", function()
  it("is the product of so many, with the same parameters", function()
    local k <const> = K.rbf{lengthscale = 0.7, variance = 3} + K.linear{}
    near(k(x, z) ^ 3, (k ^ 3)(x, z), 1e-12)
    near(k:diag(x) ^ 2, (k ^ 2):diag(x), 1e-12)
    assert.is_true(rawequal(k, k ^ 1))
    local square <const> = K.rbf{lengthscale = 0.7, variance = 3} ^ 2
    assert.equal(2, #gb.params(square))
    near(9, square.variance.value, 1e-14)
    square[1].lengthscale = 0.5
    near(9 * K.rbf{lengthscale = 0.5}(x, z) ^ 2, square(x, z), 1e-13)
  end)

  it("keeps one lengthscale for each column when data arrive, and through copies", function()
    local m <const> = gb.gp.exact{kernel = K.rbf{ard = true} ^ 2, noise = 0.1}:condition(x, gb.tensor{1, 2, 3})
    for _, one in ipairs{m, m:copy()} do
      assert.equal(3, #gb.params(one))
      assert.is_true(rawequal(one.kernel[1].lengthscale, one.kernel[2].lengthscale))
      assert.equal(2, #one.kernel[1].lengthscale)
    end
  end)
end)

describe("a number beside a kernel", function()
  it("is added as the variance of a constant, on either side, and multiplies", function()
    local k <const> = K.rbf{}
    for _, one in ipairs{k + 0.5, 0.5 + k} do
      near(k(x, z) + 0.5, one(x, z), 1e-15)
      near(k:diag(x) + 0.5, one:diag(x), 1e-15)
    end
    near(2 * (k(x, z) + 3) + 1, (2 * (k + 3) + 1)(x, z), 1e-14)
    assert.is_true(rawequal(k, k + 0) and rawequal(k, 0 + k))
    assert.equal("rbf{lengthscale=1, variance=1} + constant{variance=0.5}", tostring(k + 0.5))
    local p <const> = gb.param(2, {min = 0})
    local shared <const> = p + k
    p.value = 4
    near(k(x, z) + 4, shared(x, z), 1e-14)
  end)
end)

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
      for _, f in ipairs{function() return K.rbf{variance = shared} * other end,
          function() return other * K.rbf{variance = shared} end} do
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
    raises("option", "both sides must be kernels", function() return a + "1" end)
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
    for _, list in ipairs{{1}, {6}, {1, 2, 3}, {2, 3, 5}, {5, 2, 3}, {1, 3, 5}, {6, 5, 4}, {3, 3}, {1, 2, 4, 5, 6},
        {1, 2, 3, 4, 5, 6}} do
      local got <const> = columns.take(at, list)
      assert.same({4, #list}, {#got, got.shape[2]})
      for k, c in ipairs(list) do assert.same(at:select(2, c):totable(), got:select(2, k):totable()) end
    end
    assert.is_true(columns.take(at, {2, 3}) == columns.take(at, {2, 3}))
  end)
end)

describe("a kernel, to the letter,", function()
  local param <const> = require "gibbous.param"
  local function said(code, f, ...) return raises(code, "", f, ...).message end
  local function names(v) return table.concat(select(2, gb.params(v)), " ") end
  local function id(t) return t end

  it("prints settings, numbers of four digits, six of a list, and names", function()
    for _, row in ipairs{
      {K.rbf{lengthscale = 1 / 3, variance = 12345.678}, "rbf{lengthscale=0.3333, variance=1.235e+04}"},
      {K.rbf{lengthscale = {1, 2, 3, 4, 5, 6}}, "rbf{lengthscale={1, 2, 3, 4, 5, 6}, variance=1}"},
      {K.rbf{lengthscale = {1, 2, 3, 4, 5, 6, 7, 8}}, "rbf{lengthscale={1, 2, 3, 4, 5, 6, ...}, variance=1}"},
      {K.rbf{}:named "trend", "trend:rbf{lengthscale=1, variance=1}"},
      {K.rbf{active_dims = {2, -1}}:named "a":warp(id), "a:rbf{lengthscale=1, variance=1, active_dims={2, -1}}:warp(...)"},
      {2 * (K.white{} + K.constant{}), "{variance=2} (white{variance=1} + constant{variance=1})"},
      {K.white{} * (2 * (K.white{} + K.constant{})), "{variance=2} (white{} * (white{variance=1} + constant{variance=1}))"},
      {K.white{} * (K.white{} + K.constant{}):named "s", "{variance=1} (white{} * s(white{variance=1} + constant{variance=1}))"},
      {(K.white{} * K.constant{}):named "p" + K.white{}, "{variance=1} (p(white{} * constant{})) + white{variance=1}"},
      {(K.white{} + K.constant{}):warp(id) + K.white{}, "(white{variance=1} + constant{variance=1}):warp(...) + white{variance=1}"},
      {K.change_point({K.white{}, K.white{} + K.constant{}, K.constant{}}, {location = {1, 2}, steepness = 3}),
        "change_point{location={1, 2}, steepness=3}(white{variance=1}, white{variance=1} + constant{variance=1}, "
          .. "constant{variance=1})"},
      {K.change_point(K.white{}, K.constant{}, {location = 0}):named "cp",
        "change_point{location=0, steepness=1}(white{variance=1}, constant{variance=1})"},
    } do assert.equal(row[2], tostring(row[1])) end
  end)

  it("joins sums with sums and products with products, unless they have something of their own", function()
    local a <const>, b <const>, c <const> = K.rbf{}, K.linear{}, K.white{}
    for want, ks in pairs{[3] = {a + b + c, a + (b + c), a * b * c, a * (b * c)},
      [2] = {(a + b):named "s" + c, a + (b + c):warp(id), 2 * (a + b) + c,
      (a * b):named "p" * c, (a * b):warp(id) * c, a * b + c, a * (b + c)}, [4] = {(a + b) + (c + a), (a * b) * (c * a)}} do
      for i, k in ipairs(ks) do assert.equal(want, #k, want .. "," .. i) end
    end
    near(6, ((2 * (a * b)) * (3 * c)).variance.value, 1e-13)
    assert.is_nil((a + b).hyper.variance)
    assert.equal("sum product", (a + b).kind .. " " .. (a * b).kind)
  end)

  it("shares handles of variances by what was chosen", function()
    local function open(k) return param.is_open(k.variance) end
    assert.same({true, false, false, false}, {open(K.rbf{} * K.linear{}), open(K.rbf{variance = 1} * K.linear{}),
      open(K.rbf{} * K.linear{variance = 1}),
      open(2 * K.rbf{})})
    local shared <const> = gb.param(2, {min = 0})
    assert.is_true(rawequal(shared, (shared * K.rbf{}).variance) and rawequal(shared, (K.rbf{} * shared).variance))
    assert.is_true(rawequal(shared, (shared * (K.rbf{} + K.linear{})).variance))
    assert.is_true(rawequal(shared, (K.rbf{variance = shared} * K.index{tasks = 2}).variance))
    assert.equal("variance", (3 * K.rbf{}).variance.name)
    for _, k in ipairs{K.rbf{}, K.rbf{ard = true}, K.linear{ard = true}} do
      assert.is_true(param.is_open(k.lengthscale) and param.is_open(k.variance))
    end
    assert.is_false(param.is_open(K.rbf{lengthscale = 1}.lengthscale))
    assert.is_true(param.is_open(K.rbf{lengthscale = 1}.variance))
    local i <const> = K.index{tasks = 2}
    assert.same({true, true, false, false}, {param.is_open(i.weights), param.is_open(i.diagonal),
      param.is_open(K.index{tasks = 2, weights = {{1}, {1}}}.weights),
      param.is_open(K.index{tasks = 2, diagonal = {1, 1}}.diagonal)})
  end)

  it("gives its parameters by path: sorted, the variance last, then parts, then a warp", function()
    local box <const> = {gb.param(1)}
    local f <const> = setmetatable({box[1]}, {__call = function(_, t) return t end})
    assert.equal("alpha lengthscale variance", names(K.rational_quadratic{}))
    assert.equal("variance [1].lengthscale tail.period tail.lengthscale", (names(K.rbf{} * K.periodic{}:named "tail")
      :gsub("tail.lengthscale tail.period", "tail.period tail.lengthscale")))
    assert.equal("lengthscale variance warp[1]", names(K.rbf{}:warp(f)))
    assert.equal("lengthscale variance warp[2][1]", names(K.rbf{}:warp(id):warp(f)))
    assert.equal("[1].lengthscale [1].variance [2].variance warp[1]", names((K.rbf{} + K.linear{}):warp(f)))
    local k <const> = K.rbf{}:named "a" + K.linear{}
    assert.is_true(rawequal(k.a, k[1]) and k[3] == nil and k[0] == nil)
    local one <const> = K.rbf{}
    assert.is_true(rawequal(one, one[1]) and one[2] == nil)
    local copy <const> = k:copy()
    copy.a.lengthscale = 7
    near({1, 7}, {k.a.lengthscale, copy.a.lengthscale}, 1e-14)
  end)

  it("has no other fields, and changes in none but its parameters", function()
    local k <const> = K.rbf{} + K.polynomial{}:named "poly"
    for text, f in pairs{
      ["the kernel rbf: 'active_dims' is chosen when a kernel is made"] = function() K.rbf{}.active_dims = {1} end,
      ["the kernel trend: 'label' is chosen when a kernel is made"] = function() K.rbf{}:named "trend".label = "x" end,
      ["the kernel polynomial: 'degree' is chosen when a kernel is made"] = function() K.polynomial{}.degree = 3 end,
      ["the kernel sum: parts are chosen when a kernel is made"] = function() k[1] = K.rbf{} end,
      ["the kernel rbf: parts are chosen when a kernel is made"] = function() K.rbf{}.other = K.rbf{} end,
      ["the kernel rbf has no field 'lengthscle' (did you mean 'lengthscale'?)"] = function() K.rbf{}.lengthscle = 3 end,
      ["the kernel rbf has no field 'zzzzzz' (it has lengthscale, variance)"] = function() K.rbf{}.zzzzzz = 3 end,
      ["the kernel sum has no field 'zzzzzz' (it has copy, diag, named, poly, warp)"] = function() return k.zzzzzz end,
      ["the kernel sum has no field 'ply' (did you mean 'poly'?)"] = function() return k.ply end,
      ["the kernel index has no field 'zzzzzz' (it has copy, diag, diagonal, matrix, named, warp, weights)"] = function()
        return K.index{tasks = 2}.zzzzzz
      end,
      ["the kernel polynomial: 'lengthscale' is chosen when a kernel is made"] = function() K.polynomial{}.lengthscale = 1 end,
    } do assert.equal(text, said("option", f)) end
    for _, key in ipairs{"parts", "active_dims", "warp_by", "warps", "label", "pending", "column"} do
      assert.is_nil(K.rbf{}[key], key)
    end
    for _, key in ipairs{"parts", "active_dims", "warp_by", "warps", "label", "pending", "column", "kind", "row", "hyper", "copy",
        "diag", "named", "warp"} do
      assert.equal(("gb.kernels.define: '%s' cannot be the name of a parameter"):format(key),
        said("option", K.define, "k", {[key] = 1}, print))
    end
    assert.equal("gb.kernels.define: '1' cannot be the name of a parameter", said("option", K.define, "k", {1}, print))
    assert.same({true, false, false, false}, {K.is(k), K.is{}, K.is(3), K.is(gb.means.zero())})
  end)

  it("is refused by operators", function()
    local p <const> = gb.param({1, 2}, {min = 0})
    for text, f in pairs{
      ["kernel +: both sides must be kernels, got a kernel and a table"] = function() return K.rbf{} + {} end,
      ["kernel *: both sides must be kernels, got a kernel and a string"] = function() return K.rbf{} * "x" end,
      ["kernel *: both sides must be kernels, got a kernel and a tensor"] = function() return K.rbf{} * gb.ones(2) end,
      ["a kernel can be scaled by a positive number, got 0"] = function() return 0 * K.rbf{} end,
      ["a kernel can be scaled by a positive number, got -0.5"] = function() return K.rbf{} * -0.5 end,
      ["a kernel can be scaled by a positive number, got nan"] = function() return K.rbf{} * (0 / 0) end,
      ["this kernel's variance is a gb.param; scale the parameter instead"] = function()
        return 2 * K.rbf{variance = gb.param(1)}
      end,
      ["this kernel already has a variance; scale a kernel of variance 1"] = function()
        return gb.param(1) * K.rbf{variance = 2}
      end,
      ["warp takes a function, got number"] = function() return K.rbf{}:warp(3) end,
      ["warp takes a function, got table"] = function() return K.rbf{}:warp{} end,
      ["a kernel's name must be an identifier, got 3"] = function() return K.rbf{}:named(3) end,
      ["a kernel's name must be an identifier, got a-b"] = function() return K.rbf{}:named "a-b" end,
      ["the warped inputs must be a tensor, got nil"] = function() return K.rbf{}:warp(function() end)(x) end,
      ["argument 1 of a kernel must be a tensor, got nil"] = function() return K.rbf{}() end,
      ["argument 2 of a kernel must be a tensor, got string"] = function() return K.rbf{}(x, "z") end,
      ["argument 1 of diag must be a tensor, got number"] = function() return K.rbf{}:diag(3) end,
      ["argument 1 of a kernel must be a tensor, got a list: gb.tensor(list) makes one of it"] = function()
        return K.rbf{}{1, 2}
      end,
      ["argument 1 of a kernel must be a tensor, got table"] = function() return K.rbf{}{} end,
      ["argument 1 of a kernel must be a tensor, got a list: gb.tensor(list) makes one of it "] = function()
        return K.rbf{}{"1", "2"}
      end,
      ["argument 1 of a kernel must be a tensor, got a list of text, whose entry 2 is '" .. ("x"):rep(40) .. "'"] = function()
        return K.rbf{}{"1", ("x"):rep(50)}
      end,
    } do assert.equal((text:gsub(" $", "")), said("option", f)) end
    for text, f in pairs{
      ["a kernel's variance must be one number, got shape 2"] = function() return p * K.rbf{} end,
      ["gb.kernels.rbf: 'variance' must be one number, got 2; lengthscale may be one per column"] = function()
        return K.rbf{variance = {1, 2}}
      end,
      ["gb.kernels.rational_quadratic: 'alpha' must be one number, got 2"] = function()
        return K.rational_quadratic{alpha = {1, 2}}
      end,
      ["gb.kernels.white: 'variance' must be one number, got 3"] = function() return K.white{variance = {1, 2, 3}} end,
      ["gb.kernels.rbf: ard = 2, but 'lengthscale' has 3"] = function() return K.rbf{ard = 2, lengthscale = {1, 2, 3}} end,
      ["gb.kernels.rbf: ard = 1, but 'lengthscale' has 1"] = function() return K.rbf{ard = 1, lengthscale = gb.param(1)} end,
      ["gb.kernels.periodic: ard = 2, but 'lengthscale' has 3"] = function()
        return K.periodic{ard = 2, lengthscale = gb.param{1, 2, 3}}
      end,
      ["kernel: inputs differ in columns: 3x2 and 4"] = function() return K.rbf{}(x, gb.ones(4)) end,
      ["argument 1 of diag must be (n) or (n, d), got shape 1x1x1"] = function() return K.rbf{}:diag(gb.ones(1, 1, 1)) end,
      ["rbf: 3 lengthscales for inputs with 2 columns"] = function() return K.rbf{lengthscale = {1, 2, 3}}(x) end,
      ["cosine: 3 periods for inputs with 2 columns"] = function() return K.cosine{period = {1, 2, 3}}(x) end,
      ["rbf: beside the task numbers the inputs have no column"] = function() return (K.rbf{} * K.index{tasks = 2})(gb.ones(3)) end,
      ["kernel 'flat' must reduce the last axis: a block gave shape 3x4x2, expected 3x4"] = function()
        return K.define("flat", {}, function(p, q) return p - q end){}(x, z)
      end,
      ["kernel 'flat' must reduce the last axis: the diagonal gave shape 3x2, expected 3"] = function()
        return K.define("flat", {}, function(p, q) return p - q end){}:diag(x)
      end,
      ["kernel 'odd' must reduce the last axis: a block gave shape 1x4, expected 3x4"] = function()
        return K.define("odd", {}, function(_, q) return q:sum(-1) end){}(x, z)
      end,
    } do assert.equal(text, support.shapes_alone(said("shape", f))) end
    assert.is_true(K.rbf{ard = 2, lengthscale = gb.param{1, 2}}.lengthscale.numel == 2)
    assert.equal("gb.kernels.rbf: ard = true gives each column a lengthscale of its own; 'lengthscale' is one shared gb.param",
      said("option", K.rbf, {ard = true, lengthscale = gb.param(1)}))
    assert.is_true(rawequal(p, K.rbf{ard = true, lengthscale = p}.lengthscale))
    for _, v in ipairs{0, -1, 1.5, "x"} do
      raises("option", "gb.kernels.rbf: option 'ard' must be true, or the number of columns, 1 or more", K.rbf, {ard = v})
    end
    for key, kind in pairs{active_dims = "table", ard = false} do
      if kind then
        assert.equal(("gb.kernels.rbf: option '%s' must be a %s, got number 3"):format(key, kind),
          said("option", K.rbf, {[key] = 3}))
      end
    end
    assert.equal("gb.kernels.rbf: active_dims must be column numbers, counted from 1, got string x",
      said("option", K.rbf, {active_dims = {"x"}}))
    for at, k in pairs{[3] = K.rbf{active_dims = {3}}, [-3] = K.rbf{active_dims = {1, -3}}} do
      assert.equal(("rbf: active_dims %d, but the inputs have 2 columns"):format(at), said("index", k, x))
    end
    assert.equal("kernel 'none' must return a tensor, got number",
      said("option", K.define("none", {}, function() return 3 end){}, x))
    for i, text in ipairs{"the name must be a string", "the parameters must be a table", "the third argument must be a function"} do
      local args <const> = {"k", {}, print}
      args[i] = 3
      assert.equal("gb.kernels.define: " .. text, said("option", K.define, table.unpack(args)))
    end
  end)

  it("sees the columns beside those of tasks, and all where it is warped", function()
    local task <const> = gb.tensor{{0.3, 1, 5}, {0.9, 2, 7}, {0.4, 1, 2}}
    local plain <const> = task:slice(2, 1, 1)
    local both <const> = gb.cat({plain, task:slice(2, 3, 3)}, 2)
    local index <const> = K.index{tasks = 2, active_dims = {2}}
    near(K.rbf{}(both) * index(task), (K.rbf{} * index)(task), 1e-14)
    near(K.rbf{}(both) * index(task), (K.rbf{} * index)(task, task + 0), 1e-14)
    near((K.rbf{} * index)(task):diagonal(), (K.rbf{} * index):diag(task), 1e-14)
    near(K.rbf{}(task:slice(2, 2, 2)) * index(task), (K.rbf{active_dims = {2}} * index)(task), 1e-14)
    near(K.rbf{}(both * 2) + index(task), (K.rbf{}:warp(function(t) return t * 2 end) + index)(task), 1e-14)
    near(K.constant{}(task) + K.white{}(task) + index(task), (K.constant{} + K.white{} + index)(task), 1e-14)
    local inner <const> = (K.rbf{} * K.index{tasks = 2}):warp(
      function(t) return gb.cat({t:slice(2, 1, 1), t:slice(2, 2, 2)}, 2) end)
    near(K.rbf{}(plain) * index(task), inner(task), 1e-14)
    near(K.rbf{}(plain) * index(task) + K.linear{}(task), (inner + K.linear{})(task), 1e-13)
    local wide <const> = (K.rbf{ard = true} + K.rbf{ard = true, active_dims = {1}}) * index
    K.resolve_ard(wide, 3)
    assert.same({2, 1}, {wide[1][1].lengthscale.numel, wide[1][2].lengthscale.numel})
    assert.is_true(param.is_open(wide[1][1].lengthscale))
  end)
end)

describe("change_point, to the letter,", function()
  local a <const>, b <const> = K.rbf{}, K.linear{}

  it("is refused by reason", function()
    local what <const> = "gb.kernels.change_point: "
    local function said(...) return raises("option", "", K.change_point, ...).message end
    for _, args in ipairs{{a}, {{a}, {location = 1}}, {a, 3}, {{a, 3}, {location = 1}}, {3, b}, {}, {a, {location = 1}}} do
      assert.equal(what .. "two kernels or a list of kernels are needed", said(args[1], args[2]))
    end
    assert.equal(what .. "a location is needed", said(a, b, {steepness = 1}))
    assert.equal(what .. "a location is needed", said({a, b}))
    assert.equal(what .. "columns count from 1, got 0", said(a, b, {location = 1, column = 0}))
    assert.equal(what .. "option 'column' must be an integer, got number 1.5", said(a, b, {location = 1, column = 1.5}))
    for text, o in pairs{["2 kernels need 1 location values, got 2"] = {location = {1, 2}},
        ["2 kernels need 1 steepness values, got 2"] = {location = 1, steepness = {1, 2}}} do
      assert.equal(what .. text, raises("shape", "", K.change_point, a, b, o).message)
    end
    assert.equal(what .. "3 kernels need 2 locations, got 1", raises("shape", "", K.change_point, {a, b, a},
      {location = 1}).message)
    for at, o in pairs{[3] = {location = 1, column = 3}, [-3] = {location = 1, column = -3}} do
      assert.equal(("change_point: column %d, but the inputs have 2 columns"):format(at),
        raises("index", "", K.change_point(a, b, o), x).message)
    end
  end)

  it("goes along its column, with one location or one a change", function()
    for column, same in pairs{[2] = -1, [1] = -2} do
      near(K.change_point(a, b, {location = 0.2, column = column})(x),
        K.change_point({a, b}, {location = {0.2}, column = same, steepness = {1}})(x), 1e-15)
    end
    near(K.change_point(a, b, {location = 0.2})(x), K.change_point(a, b, {location = 0.2, column = 1, steepness = 1})(x), 0)
    assert.is_false(K.change_point(a, b, {location = 0.2})(x):allclose(K.change_point(a, b, {location = 0.2, column = 2})(x)))
    local parts <const> = {a, b}
    local k <const> = K.change_point(parts, {location = 0.2})
    parts[2] = nil
    assert.equal(2, #k)
    near(k(x):diagonal(), k:diag(x), 1e-14)
    near(k(x, z), k(x, z + 0), 0)
    assert.same({"location", "steepness", 0}, {k.location.name, k.steepness.name, k.steepness.min})
    near(0.7, K.change_point(a, b, {location = -0.2, steepness = 0.7}).steepness, 1e-15)
  end)
end)

describe("index, to the letter,", function()
  it("starts with correlations of a half, and small numbers that break the symmetry", function()
    local second <const> = (gb.randn(3, 1, {seed = 0, dtype = "f64"}) * 0.1):squeeze(2)
    local k <const> = K.index{tasks = 3, rank = 2}
    near(gb.full({3}, math.sqrt(0.5)), k.weights.value:select(2, 1), 1e-15)
    near(second, k.weights.value:select(2, 2), 1e-15)
    near((gb.randn(3, 1, {seed = 5, dtype = "f64"}) * 0.1):squeeze(2),
      K.index{tasks = 3, rank = 2, seed = 5}.weights.value:select(2, 2), 1e-15)
    near({0.5, 0.5, 0.5}, k.diagonal, 1e-15)
    near({1, 1}, K.index{tasks = 2, rank = 0}.diagonal, 1e-15)
    assert.same({3, 2, "weights", "diagonal", -1}, {k.tasks, k.rank, k.weights.name, k.diagonal.name, k.active_dims[1]})
    assert.is_nil(K.index{tasks = 2, rank = 0}.hyper.weights)
    near({{1, 0}, {0, 1}}, K.index{tasks = 2, rank = 0}:matrix(), 1e-15)
    near({{1, 0.5}, {0.5, 1}}, K.index{tasks = 2}(gb.tensor({1, 2}, {dtype = "f32"})), 1e-6)
  end)

  it("is refused by reason", function()
    for _, row in ipairs{
      {"option", "gb.kernels.index: tasks, the number of tasks, is needed", {}},
      {"option", "gb.kernels.index: tasks, the number of tasks, is needed", {tasks = 0}},
      {"option", "gb.kernels.index: task numbers are one column, got 2", {tasks = 2, active_dims = {1, 2}}},
      {"shape", "gb.kernels.index: 'weights' must be 2x1, got 2", {tasks = 2, weights = {1, 2}}},
      {"shape", "gb.kernels.index: 'weights' must be 2x2, got 2x1", {tasks = 2, rank = 2, weights = {{1}, {2}}}},
      {"shape", "gb.kernels.index: 'diagonal' must be 2, got 3", {tasks = 2, diagonal = {1, 2, 3}}},
      {"shape", "gb.kernels.index: 'diagonal' must be 2, got ()", {tasks = 2, diagonal = 1}},
      {"option", "gb.kernels.index: option 'rank' must be a whole number, 0 or more, got number -1", {tasks = 2, rank = -1}},
      {"option", "gb.kernels.index: option 'tasks' must be a whole number, 0 or more, got number 1.5", {tasks = 1.5}},
      {"option", "gb.kernels.index: option 'seed' must be an integer, got string x", {tasks = 2, seed = "x"}},
    } do assert.equal(row[2], raises(row[1], "", K.index, row[3]).message) end
    for text, at in pairs{["row 2 has task 3"] = {1, 3, 4}, ["row 1 has task 0"] = {0, 1, 1}, ["row 3 has task 1.5"] = {1, 2, 1.5},
      ["row 1 has task nan"] = {0 / 0, 1, 1},
      ["row 2 has task -1"] = {2, -1, 1}} do
      assert.equal(("index: %s, expected a whole number from 1 to 2"):format(text),
        raises("index", "", K.index{tasks = 2}, gb.tensor(at)).message)
    end
    assert.equal(0, K.index{tasks = 2}(gb.zeros(0, 1)).numel)
  end)
end)

describe("spectral_mixture, to the letter,", function()
  it("starts with equal weights, frequencies 1 to q and variances 1", function()
    local k <const> = K.spectral_mixture{components = 4}
    near({{0.25, 0.25, 0.25, 0.25}, {1, 2, 3, 4}, {1, 1, 1, 1}}, {k.weights, k.means, k.variances}, 1e-14)
    assert.same({4, "weights", "means", "variances"}, {k.components, k.weights.name, k.means.name, k.variances.name})
    assert.same({3, 3, 3}, {K.spectral_mixture{weights = {1, 1, 1}}.components,
      K.spectral_mixture{means = gb.param{1, 2, 3}}.components,
      K.spectral_mixture{variances = gb.ones(3, 2)}.components})
    near({1, 1, 1}, k:diag(gb.ones(3)), 1e-14)
    local some <const> = K.spectral_mixture{components = 2, means = {1, 2}}
    K.resolve_ard(some, 3)
    assert.same({"2", "2x3", "2"}, {tostring(some.means.shape), tostring(some.variances.shape), tostring(some.weights.shape)})
    local c <const> = K.spectral_mixture{components = 2}:init(gb.rand(9, 2, {seed = 1}), gb.randn(9, {seed = 2}))
    K.resolve_ard(c, 2)
    assert.same({"2x2", "2x2", "2"}, {tostring(c.means.shape), tostring(c.variances.shape), tostring(c.weights.shape)})
  end)

  it("is refused by reason", function()
    local what <const> = "gb.kernels.spectral_mixture: "
    for _, row in ipairs{
      {"option", "components, their number, is needed", {}}, {"option", "components, their number, is needed", {components = 0}},
      {"option", "'weights' must be a list with a row per component", {components = 2, weights = 1}},
      {"option", "'means' must be a list with a row per component", {components = 1, means = gb.tensor(1)}},
      {"option", "'variances' must be a list with a row per component", {components = 1, variances = gb.param(1)}},
      {"shape", "2 components, but 'means' has 3", {components = 2, means = {1, 2, 3}}},
      {"shape", "2 components, but 'variances' has 1", {weights = {1, 2}, variances = gb.ones(1, 2)}},
      {"shape", "2 components, but 'weights' has 3", {components = 2, weights = gb.param{1, 2, 3}}},
    } do assert.equal(what .. row[2], raises(row[1], "", K.spectral_mixture, row[3]).message) end
    assert.equal("parameter 'weights' must be one number or a vector, got shape 2x1",
      raises("shape", "", K.spectral_mixture, {weights = gb.ones(2, 1)}).message)
    for _, name in ipairs{"means", "variances"} do
      assert.equal(("spectral_mixture: %s for 3 columns, the inputs have 2"):format(name),
        raises("shape", "", K.spectral_mixture{[name] = gb.ones(1, 3)}, x).message)
    end
  end)
end)

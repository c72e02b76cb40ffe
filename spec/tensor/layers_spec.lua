--- Activations, losses and layers of gb.nn: values by plain loops, gradients by differences, cuts along the batch.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local nn <const> = gb.nn

local function whole(list) return gb.tensor(list, {dtype = "i64"}) end
local function read(t) return gb.tensor(t:totable(), {dtype = t.dtype}) end
local function map(f, ...)
  local out <const>, lists <const> = {}, {...}
  for i, v in ipairs(lists) do lists[i] = support.numbers(v) end
  for i = 1, #lists[1] do out[i] = f(lists[1][i], lists[2] and lists[2][i], lists[3] and lists[3][i]) end
  return out
end

local points <const> = {-30, -4.5, -2.5, -1, -0.25, 0, 0.125, 1, 2.75, 5.5, 40}

--- Phi by its series, or the continued fraction of its tail.
local function phi(z)
  if math.abs(z) > 5 then
    local f = 0.0
    for i = 60, 1, -1 do f = i / (math.abs(z) + f) end
    local tail <const> = math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / (math.abs(z) + f)
    return z < 0 and tail or 1 - tail
  end
  local term, sum = z, z
  for k = 1, 200 do
    term = term * z * z / (2 * k + 1)
    sum = sum + term
  end
  return 0.5 + sum * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
end

local function sigmoid(z) return 1 / (1 + math.exp(-z)) end
local function tanh(z) return 2 * sigmoid(2 * z) - 1 end

local activations <const> = {
  leaky_relu = {function(z) return z > 0 and z or 0.01 * z end},
  ["leaky_relu 0.25"] = {function(z) return z > 0 and z or 0.25 * z end, 0.25},
  elu = {function(z) return z > 0 and z or math.exp(z) - 1 end},
  ["elu 2"] = {function(z) return z > 0 and z or 2 * (math.exp(z) - 1) end, 2},
  selu = {function(z) return 1.0507009873554805 * (z > 0 and z or 1.6732632423543772 * (math.exp(z) - 1)) end},
  silu = {function(z) return z * sigmoid(z) end},
  gelu = {function(z) return z * phi(z) end},
  ["gelu tanh"] = {function(z) return z / 2 * (1 + tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z ^ 3))) end,
    {approximate = "tanh"}},
  mish = {function(z) return z * tanh(z > 30 and z or math.log(1 + math.exp(z))) end},
  softsign = {function(z) return z / (1 + math.abs(z)) end},
  hard_tanh = {function(z) return math.max(-1, math.min(1, z)) end},
  hard_sigmoid = {function(z) return math.max(0, math.min(1, z / 6 + 0.5)) end},
  hard_swish = {function(z) return z * math.max(0, math.min(1, z / 6 + 0.5)) end},
  relu6 = {function(z) return math.max(0, math.min(6, z)) end},
}

describe("activations", function()
  for name, case in pairs(activations) do
    local method <const> = name:match "^%S+"
    it(name .. " has its formula, as a method and a function, and its derivative", function()
      local t <const> = gb.tensor(points)
      near(map(case[1], points), t[method](t, case[2]), 1e-14)
      near(map(case[1], points), nn[method](t, case[2]), 1e-14)
      assert.equal("f32", nn[method](t:to "f32", case[2]).dtype)
      near(map(case[1], points), nn[method](t:to "f32", case[2]), 1e-6)
      local p <const> = gb.param(gb.tensor{-4.5, -2.5, -0.7, -0.25, 0.125, 0.8, 2.75, 5.5}, {name = name})
      support.check_gradients(function() return (nn[method](p.value, case[2]) * gb.range(1, 8)):sum() end, {p}, 1e-7)
      local second <const> = gb.grad(gb.grad(nn[method](p.value, case[2]):sum(), p.value):sum(), {p.value}, {unused = "zero"})
      assert.is_true(second[1]:isfinite():all())
    end)
  end

  it("are layers by name, and keep a NaN", function()
    near(map(activations.silu[1], points), nn.sequential{"silu"}(gb.tensor(points)), 1e-14)
    for name in pairs(activations) do
      local method <const> = name:match "^%S+"
      local y <const> = nn[method](gb.tensor(0 / 0)):item()
      assert.is_true(y ~= y, name)
    end
  end)

  it("have the mean of both sides as derivative at a corner", function()
    local zero <const> = gb.tensor(0):requires_grad()
    near(0.505, gb.grad(zero:leaky_relu(), zero), 1e-15)
    near(0.75, gb.grad(zero:elu(0.5), zero), 1e-15)
    near(-0.25, gb.grad(nn.bce_with_logits(zero, gb.tensor(0.75)), zero), 1e-15)
  end)

  it("keep their digits where they are small", function()
    local z <const> = gb.tensor{-4, -5, -8}:requires_grad()
    local value <const>, slope <const> = {-7.024594819237269e-5, -2.291796196629506e-7, -3.1077829375011112e-21},
      {-0.00033512319712267076, -1.5463619875325946e-6, -4.7147845041068416e-20}
    near({1, 1, 1}, z:gelu{approximate = "tanh"} / gb.tensor(value), 1e-14)
    near({1, 1, 1}, gb.grad(z:gelu{approximate = "tanh"}:sum(), z) / gb.tensor(slope), 1e-14)
    local far <const> = gb.tensor({1e4, -1e4}, {dtype = "f32"}):requires_grad()
    near({1, 1}, gb.grad(far:softsign():sum(), far):to "f64" / 9.998000299960005e-09, 3e-7)
  end)

  it("refuse what is no number", function()
    raises("option", "leaky_relu: the slope must be a finite number, got nan", nn.leaky_relu, gb.ones(2), 0 / 0)
    raises("option", "elu: alpha must be a finite number, got x", nn.elu, gb.ones(2), "x")
    raises("option", "gelu: option 'approximate' must be one of", nn.gelu, gb.ones(2), {approximate = "erf"})
    raises("option", "silu takes a tensor, got number", nn.silu, 3)
  end)
end)

-- Losses ------------------------------------------------------------------------------------------------------------------

local p <const>, t <const> = {{0.1, 0.9}, {0.5, 0.25}, {1e-3, 1 - 1e-9}}, {{0, 1}, {0.25, 1}, {0, 1}}
local far <const> = {{-3, 0.6}, {0.25, 8}, {-0.9, 1}}

local losses <const> = {
  l1 = {far, t, function(a, b) return math.abs(a - b) end},
  huber = {far, t, function(a, b)
    local e <const> = math.abs(a - b)
    return e < 1.5 and e * e / 2 or 1.5 * (e - 0.75)
  end, {delta = 1.5}},
  smooth_l1 = {far, t, function(a, b)
    local e <const> = math.abs(a - b)
    return e < 0.5 and e * e or e - 0.25
  end, {beta = 0.5}},
  bce = {p, t, function(a, b) return -(b * math.log(a) + (1 - b) * math.log(1 - a)) end},
  bce_with_logits = {far, t, function(z, b) return -(b * math.log(sigmoid(z)) + (1 - b) * math.log(sigmoid(-z))) end},
}

describe("losses", function()
  for name, case in pairs(losses) do
    local got <const>, want <const>, f <const> = gb.tensor(case[1]), gb.tensor(case[2]), case[3]
    local function options(more)
      local o <const> = {}
      for key, v in pairs(case[4] or {}) do o[key] = v end
      for key, v in pairs(more) do o[key] = v end
      return o
    end

    it(name .. " has its formula, reductions, weights and gradient", function()
      local each <const> = map(f, got, want)
      local sum = 0
      for _, v in ipairs(each) do sum = sum + v end
      near(each, nn[name](got, want, options{reduction = "none"}), 1e-8)
      near(sum, nn[name](got, want, options{reduction = "sum"}), 1e-8)
      near(sum / 6, nn[name](got, want, options{}), 1e-8)
      near((each[1] + each[2] + 3 * (each[5] + each[6])) / 8, nn[name](got, want, options{weights = {1, 0, 3}}), 1e-8)
      local inputs <const> = gb.param(name == "bce" and gb.tensor{{0.1, 0.9}, {0.5, 0.25}, {0.3, 0.7}} or got, {name = name})
      support.check_gradients(function() return nn[name](inputs.value, want, options{weights = {1, 2, 3}}) end, {inputs}, 1e-7)
      raises("shape", ("gb.nn.%s: shapes differ: 3x2 and 2"):format(name), nn[name], got, gb.ones(2))
      raises("option", ("gb.nn.%s takes two tensors, got tensor and nil"):format(name), nn[name], got)
      raises("option", "unknown option 'reduce'", nn[name], got, want, {reduce = "sum"})
    end)
  end

  it("lose no digits far from 0, and know what is no probability", function()
    local z <const> = gb.tensor{40, -40, 1000, -1000, 1000}
    near({math.exp(-40), math.exp(-40), 0, 0, 1000}, nn.bce_with_logits(z, gb.tensor{1, 0, 1, 0, 0}, {reduction = "none"}), 1e-30)
    assert.is_true(math.abs(nn.bce_with_logits(gb.tensor(40), gb.tensor(1)):item() / math.exp(-40) - 1) < 1e-14)
    near({100, 0, 0, 100}, nn.bce(gb.tensor{0, 0, 1, 1}, gb.tensor{1, 0, 1, 0}, {reduction = "none"}), 1e-13)
    local q <const> = gb.tensor{0.0, 1}:requires_grad()
    assert.is_true(gb.grad(nn.bce(q, gb.tensor{0, 1}), q):isfinite():all())
    local none <const> = nn.bce(gb.tensor(1.5), gb.tensor(1)):item()
    assert.is_true(none ~= none)
  end)

  it("leave out rows of a label to ignore, and smooth labels", function()
    local z <const>, y <const> = read(gb.randn(4, 3, {seed = 1})), whole{1, -7, 3, 2}
    local function kept(t) return t:index(1, {1, 3, 4}) end
    for _, o in ipairs{{}, {reduction = "sum"}} do
      local with <const> = {reduction = o.reduction, ignore = -7}
      near(nn.cross_entropy(kept(z), kept(y), o), nn.cross_entropy(z, y, with), 1e-15)
      near(nn.cross_entropy(kept(z), kept(y), o), nn.nll(z:log_softmax(2), y, with), 1e-15)
    end
    near(nn.cross_entropy(kept(z), kept(y), {weights = {1, 3, 4}}), nn.cross_entropy(z, y, {ignore = -7, weights = {1, 2, 3, 4}}),
      1e-15)
    local log_p <const> = kept(z):log_softmax(2)
    local want <const> = -(gb.where(gb.one_hot(kept(y), 3, {dtype = "bool"}), 0.7 + 0.1, 0.1) * log_p):sum(2):mean()
    near(want, nn.cross_entropy(z, y, {ignore = -7, smoothing = 0.3}), 1e-15)
    local inputs <const> = gb.param(z, {name = "z"})
    local both <const> = {ignore = -7, smoothing = 0.3}
    support.check_gradients(function() return nn.cross_entropy(inputs.value, y, both) end, {inputs}, 1e-7)
    near({0, 0, 0}, gb.grad(nn.cross_entropy(inputs.value, y, {ignore = -7}), inputs.value)[2], 0)
    raises("index", "label -7 of row 2 is outside 1 .. 3", nn.cross_entropy, z, y, {ignore = 3})
    raises("option", "gb.nn.cross_entropy: smoothing must be a number from 0 to 1, got 1.5", nn.cross_entropy, z, y,
      {smoothing = 1.5})
    raises("option", "smoothing must be a number from 0 to 1, got nan", nn.cross_entropy, z, y, {smoothing = 0 / 0})
  end)

  it("nll and cross_entropy agree, and kl is 0 of the same", function()
    local z <const>, y <const> = read(gb.randn(5, 3, {seed = 1})), whole{1, 3, 2, 2, 1}
    for _, o in ipairs{{}, {reduction = "sum"}, {weights = {1, 0, 2, 1, 1}}} do
      near(nn.cross_entropy(z, y, o), nn.nll(z:log_softmax(2), y, o), 1e-14)
    end
    raises("index", "gb.nn.nll: label 4 of row 2 is outside 1 .. 3", nn.nll, z, whole{1, 4, 1, 1, 1})
    local a <const>, b <const> = z:softmax(2):totable(), read(gb.randn(5, 3, {seed = 2})):log_softmax(2)
    a[1] = {0, 0.25, 0.75}
    local want <const> = {}
    for i, row in ipairs(b:totable()) do
      want[i] = 0
      for j, q in ipairs(row) do if a[i][j] > 0 then want[i] = want[i] + a[i][j] * (math.log(a[i][j]) - q) end end
    end
    near(want, nn.kl(b, gb.tensor(a), {reduction = "none"}), 1e-14)
    near(0, nn.kl(z:log_softmax(2), z:softmax(2)), 1e-15)
    local inputs <const>, target <const> = gb.param(z, {name = "z"}), gb.param(gb.tensor(a):clamp(0.01), {name = "p"})
    support.check_gradients(function() return nn.kl(inputs.value:log_softmax(2), target.value) end, {inputs, target}, 1e-7)
    support.check_gradients(function() return nn.nll(inputs.value:log_softmax(2), y) end, {inputs}, 1e-7)
  end)
end)

-- Layers ------------------------------------------------------------------------------------------------------------------

describe("gb.nn.batch_norm", function()
  local x <const> = read(gb.randn(6, 3, 4, {seed = 1}) * 2 + 1)

  --- (n, c, l) normalised over n and l.
  local function by_loops(v, eps, weight, bias)
    local out <const> = v:totable()
    for c = 1, 3 do
      local mean, var = 0, 0
      for i = 1, 6 do for k = 1, 4 do mean = mean + out[i][c][k] / 24 end end
      for i = 1, 6 do for k = 1, 4 do var = var + (out[i][c][k] - mean) ^ 2 / 24 end end
      for i = 1, 6 do
        for k = 1, 4 do out[i][c][k] = (out[i][c][k] - mean) / math.sqrt(var + eps) * weight[c] + bias[c] end
      end
    end
    return out
  end

  it("normalises channels by the batch in training, else by what calibrate found", function()
    local net <const> = nn.batch_norm(3, {eps = 1e-3})
    net.weight.value, net.bias.value = {1, 2, -1}, {0, 0.5, 3}
    local want <const> = by_loops(x, 1e-3, {1, 2, -1}, {0, 0.5, 3})
    near(want, net(x), 1e-13)
    nn.training(net, false)
    near(x:select(2, 1) / math.sqrt(1.001), net(x):select(2, 1), 1e-13)
    nn.calibrate(net, x)
    near(want, net(x), 1e-13)
    near(want[1], net(x:slice(1, 1, 1))[1], 1e-13)
    near(x:mean{1, 3}, net.mean, 1e-13)
    nn.training(net)
    near(by_loops(x * 3, 1e-3, {1, 2, -1}, {0, 0.5, 3}), net(x * 3), 1e-13)
  end)

  it("calibrates each layer by what those before it give, without dropout", function()
    local net <const> = nn.sequential{nn.linear(3, 4, {seed = 1}), nn.batch_norm(4), "tanh", nn.dropout(0.5), nn.batch_norm(4)}
    local rows <const> = read(gb.randn(50, 3, {seed = 2}))
    nn.training(nn.calibrate(net, rows), false)
    near(gb.zeros(4), net(rows):mean(1), 1e-12)
    near(gb.ones(4), net(rows):var(1, {ddof = 0}), 1e-3)
    local path <const> = support.path ".gb"
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}:warp(net), noise = 0.1}
    m:condition(rows, rows:select(2, 1)):save(path)
    local p <const> = m:condition(rows, rows:select(2, 1)):predict(rows).mean
    assert.same(p:totable(), gb.load(path):predict(rows).mean:totable())
    support.sweep()
  end)

  it("has gradients through its statistics", function()
    local p <const>, net <const> = gb.param(x, {name = "x"}), nn.batch_norm(3)
    local r <const> = read(gb.randn(6, 3, 4, {seed = 3}))
    support.check_gradients(function() return (net(p.value) * r):sum() end, {p, net.weight, net.bias}, 1e-6)
    assert.equal(2, #gb.params(nn.batch_norm(3)) - 2)                     -- mean and variance are fixed
    raises("shape", "batch_norm(3) expects 3 channels in the second dimension: input 6x4", net, gb.ones(6, 4))
    raises("option", "gb.nn.training takes a block, got tensor", nn.training, x)
    raises("option", "gb.nn.training: true or false expected, got string", nn.training, net, "on")
    raises("shape", "expects 3 channels", nn.calibrate, net, gb.ones(6, 4))
    assert.is_nil(rawget(net, "mode").calibrating)
  end)
end)

describe("gb.nn.group_norm", function()
  it("normalises groups of channels of each row", function()
    local x <const>, net <const> = read(gb.randn(2, 4, 3, {seed = 1})), nn.group_norm(2, 4, {eps = 1e-3})
    net.weight.value, net.bias.value = {1, 2, 3, 4}, {0, 1, 0, 1}
    local want <const> = x:totable()
    for i = 1, 2 do
      for g = 0, 1 do
        local mean, var = 0, 0
        for c = 2 * g + 1, 2 * g + 2 do for k = 1, 3 do mean = mean + want[i][c][k] / 6 end end
        for c = 2 * g + 1, 2 * g + 2 do for k = 1, 3 do var = var + (want[i][c][k] - mean) ^ 2 / 6 end end
        for c = 2 * g + 1, 2 * g + 2 do
          for k = 1, 3 do want[i][c][k] = (want[i][c][k] - mean) / math.sqrt(var + 1e-3) * c + (c + 1) % 2 end
        end
      end
    end
    near(want, net(x), 1e-13)
    local p <const> = gb.param(x, {name = "x"})
    support.check_gradients(function() return (net(p.value) ^ 3):sum() end, {p, net.weight, net.bias}, 1e-6)
    near({{0, 0}}, nn.group_norm(2, 2)(gb.tensor{{3, 4}}), 1e-14)
    raises("option", "gb.nn.group_norm: 4 channels do not divide into 3 groups", nn.group_norm, 3, 4)
    raises("shape", "group_norm(2, 4) expects 4 channels", net, gb.ones(2, 3))
  end)
end)

describe("gb.nn.instance_norm and gb.nn.rms_norm", function()
  it("normalise each channel of a row; the last dimension by its mean square", function()
    local x <const> = read(gb.randn(2, 4, 3, {seed = 1}))
    local net <const>, want <const> = nn.instance_norm(4, {eps = 1e-3}), x:totable()
    for i = 1, 2 do
      for c = 1, 4 do
        local row <const> = want[i][c]
        local mean <const> = (row[1] + row[2] + row[3]) / 3
        local var <const> = ((row[1] - mean) ^ 2 + (row[2] - mean) ^ 2 + (row[3] - mean) ^ 2) / 3
        for k = 1, 3 do row[k] = (row[k] - mean) / math.sqrt(var + 1e-3) end
      end
    end
    near(want, net(x), 1e-13)
    raises("option", "gb.nn.instance_norm: c must be a whole number, 1 or more, got 0", nn.instance_norm, 0)
    local rms <const> = nn.rms_norm(2, {eps = 0.5})
    rms.weight.value = {1, -3}
    near({{3 / math.sqrt(13), -12 / math.sqrt(13)}, {0, 0}}, rms(gb.tensor{{3, 4}, {0, 0}}), 1e-15)
    local p <const> = gb.param(x:reshape(12, 2), {name = "x"})
    support.check_gradients(function() return (rms(p.value) ^ 3):sum() end, {p, rms.weight}, 1e-6)
    raises("shape", "rms_norm(2) expects 2 columns: input 4x3, weight 2", rms, gb.ones(4, 3))
    local path <const> = support.path ".gb"
    local y <const> = gb.randn(6, {seed = 3}):eval()
    local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}:warp(rms), noise = 0.1}:condition(p.value:slice(1, 1, 6), y)
    m:save(path)
    local at <const> = p.value:slice(1, 7, 12)
    assert.same(m:predict(at).mean:totable(), gb.load(path):predict(at).mean:totable())
    support.sweep()
  end)
end)

describe("gb.nn.dropout", function()
  local x <const> = gb.ones(100, 100)

  it("keeps 1 - p of the elements, scaled, by its seed; all of them in evaluation", function()
    local net <const> = nn.dropout(0.25, {seed = 3})
    near(0.75, net(x):gt(0):mean(), 0.01)
    near(4 / 3, net(x):max(), 1e-15)
    assert.same(net(x):totable(), nn.dropout(0.25, {seed = 3})(x):totable())
    assert.is_false(nn.dropout(0.25, {seed = 4})(x):equal(net(x)))
    assert.is_true(nn.training(net, false)(x):equal(x))
    local free <const> = nn.dropout(0.5)
    assert.is_false(free(x):equal(free(x)))
    gb.seed(3)
    local one <const> = free(x):totable()
    gb.seed(3)
    assert.same(one, free(x):totable())
    raises("option", "gb.nn.dropout: p must be a number from 0 to 1, 1 excluded, got 1", nn.dropout, 1)
  end)

  it("stores no mask, and drops gradients where it drops values", function()
    local net <const>, big <const> = nn.dropout(0.5, {seed = 1}), read(gb.randn(2000, 50, {seed = 2}))
    assert.is_true(gb.plan(net(big):sum(2)).peak < 2000 * 50)
    local p <const> = gb.param(read(gb.randn(5, {seed = 2})), {name = "x"})
    support.check_gradients(function() return (net(p.value) ^ 2):sum() end, {p}, 1e-7)
    local inf <const> = nn.dropout(0.5, {seed = 1})(gb.full({40}, math.huge))
    assert.is_false(inf:isnan():any())
  end)
end)

describe("gb.nn.embedding", function()
  it("gives the row of each label, and adds up gradients", function()
    local net <const> = nn.embedding(4, 2, {seed = 1})
    local w <const> = net.weight.value:totable()
    near({{w[3], w[1]}, {w[1], w[4]}}, net(whole{{3, 1}, {1, 4}}), 0)
    support.check_gradients(function() return (net(whole{3, 1, 1}) ^ 3):sum() end, {net.weight}, 1e-6)
    raises("index", "embedding(4, 2): label 5 of row 2 is outside 1 .. 4", net, whole{1, 5})
    raises("dtype", "labels are whole numbers from 1, of i64 or i32, got f64", net, gb.ones(2))
  end)

  it("is trained in windows of its batch", function()
    local l <const> = gb.lazy(read(gb.randperm(4000, {seed = 2}) % 10 + 1), {batch = 1})
    local net <const> = nn.sequential{nn.embedding(10, 32, {seed = 1}), nn.linear(32, 32, {seed = 2}), "tanh"}
    local loss <const> = (net(l) ^ 2):mean()
    local plan <const> = gb.plan{loss, table.unpack(gb.grad(loss, (gb.params(net))))}
    assert.is_true(plan.minimum < plan.peak / 3)
  end)
end)

local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local x <const> = gb.tensor{{1, -2, 0.5}, {0.25, 3, -1}, {2, 2, 2}, {-1, 0, 1}}

local function labels(list) return gb.tensor(list, {dtype = "i64"}) end

local function largest(v)
  local m = 0
  for _, e in ipairs(support.numbers(v)) do m = math.max(m, math.abs(e)) end
  return m
end

describe("layer_norm", function()
  it("adds 1e-5 to the variance where nothing else is said", function()
    local x <const> = gb.tensor{{1e-3, -1e-3}}
    for eps, net in pairs{[1e-5] = gb.nn.layer_norm(2), [1e-3] = gb.nn.layer_norm(2, {eps = 1e-3})} do
      assert.is_true(math.abs(net(x):select(2, 1):item() - 1e-3 / math.sqrt(1e-6 + eps)) <= 1e-12)
    end
  end)
end)

describe("gb.nn.linear", function()
  it("is x weight + bias, for one point, rows and stacks of rows", function()
    local layer <const> = gb.nn.linear(3, 2)
    layer.weight.value = {{1, 10}, {2, 20}, {4, 40}}
    layer.bias.value = {0.5, -0.5}
    near({{-0.5, -10.5}, {2.75, 22.0}, {14.5, 139.5}, {3.5, 29.5}}, layer(x), 1e-14)
    near({14.5, 139.5}, layer(x[3]), 1e-14)
    near({{{-0.5, -10.5}, {2.75, 22.0}}, {{14.5, 139.5}, {3.5, 29.5}}}, layer(x:reshape(2, 2, 3)), 1e-14)
  end)

  it("starts uniform within sqrt(6 / n_in) and 1 / sqrt(n_in), by its seed", function()
    local a <const>, b <const>, c <const> = gb.nn.linear(24, 50, {seed = 5}), gb.nn.linear(24, 50, {seed = 5}),
      gb.nn.linear(24, 50, {seed = 6})
    assert.is_true(a.weight:equal(b.weight) and a.bias:equal(b.bias))
    assert.is_false(a.weight:equal(c.weight))
    assert.is_true(largest(a.weight) <= 0.5 and largest(a.weight) > 0.49)
    assert.is_true(largest(a.bias) <= 1 / math.sqrt(24) and largest(a.bias) > 0.8 / math.sqrt(24))
    near(2 / 24, a.weight:var(), 0.01)                        -- He et al.: variance 2 / n_in
    near(0, a.weight:mean(), 0.03)
  end)

  it("does without a bias, and takes its draws from gb.seed", function()
    gb.seed(3)
    local a <const> = gb.nn.linear(3, 2, {bias = false})
    gb.seed(3)
    local b <const> = gb.nn.linear(3, 2, {bias = false})
    assert.equal(1, #gb.params(a))
    assert.is_true(a.weight:equal(b.weight))
    near(x:matmul(a.weight), a(x), 1e-14)
    raises("index", "linear(3, 2) has no field 'bias'", function() return a.bias end)
  end)

  it("keeps parameters in the type asked for; they adopt that of the input", function()
    local half <const> = gb.nn.linear(3, 2, {dtype = "f32", seed = 1})
    local single <const> = x:to{dtype = "f32"}
    assert.equal("f32", half.weight.dtype)
    assert.equal("f32", half(single).dtype)
    assert.equal("f64", half(x).dtype)
    assert.equal("f32", gb.nn.linear(3, 2)(single).dtype)
    gb.optim.adam(half):step(function() return (half(single) ^ 2):sum() end)
    assert.equal("f32", half.weight.dtype)
  end)

  it("names the layer and both shapes where widths differ, with the script's line", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(3, 4), "relu", gb.nn.linear(5, 1)}
    local err = raises("shape", "linear(3, 4) expects 3 columns: input 4x2, weight 3x4",
      function() local y <const> = net[1](gb.ones(4, 2)) return y end)
    assert.matches("nn_spec.lua:%d+$", err.line)
    err = raises("shape", "sequential[3]: linear(5, 1) expects 5 columns: input 4x4, weight 5x1",
      function() local y <const> = net(x) return y end)
    assert.matches("nn_spec.lua:%d+$", err.line)
    raises("shape", "input (), weight", net[1], gb.tensor(1))
  end)

  it("refuses what is no width, and unknown options", function()
    raises("option", "gb.nn.linear: n_in must be a whole number, 1 or more, got 0", gb.nn.linear, 0, 2)
    raises("option", "n_out must be a whole number, 1 or more, got 1.5", gb.nn.linear, 2, 1.5)
    raises("option", "gb.nn.linear: unknown option 'bais', did you mean 'bias'?", gb.nn.linear, 2, 2, {bais = false})
    raises("option", "linear(2, 2) takes a tensor, got string", gb.nn.linear(2, 2), "x")
  end)
end)

describe("gb.nn.layer_norm", function()
  it("centres and scales rows, then weight and bias", function()
    local norm <const> = gb.nn.layer_norm(3, {eps = 0.01})
    norm.weight.value = {1, 2, -1}
    norm.bias.value = {0, 0.5, 3}
    local want <const> = {}
    for i, row in ipairs(x:totable()) do
      local m <const> = (row[1] + row[2] + row[3]) / 3
      local v = 0
      for j = 1, 3 do v = v + (row[j] - m) ^ 2 / 3 end
      local s <const> = math.sqrt(v + 0.01)
      want[i] = {(row[1] - m) / s, 2 * (row[2] - m) / s + 0.5, -(row[3] - m) / s + 3}
    end
    near(want, norm(x), 1e-13)
  end)

  it("names both shapes where widths differ", function()
    raises("shape", "layer_norm(4) expects 4 columns: input 4x3, weight 4", gb.nn.layer_norm(4), x)
    raises("option", "option 'eps' must be a positive number", gb.nn.layer_norm, 4, {eps = -1})
  end)
end)

describe("gb.nn.sequential", function()
  it("applies blocks, functions and tensor methods in order", function()
    local layer <const> = gb.nn.linear(3, 2, {seed = 1})
    local net <const> = gb.nn.sequential{layer, "tanh", function(h) return h * 2 end, gb.nn.sequential{"exp"}}
    near(((layer(x):tanh()) * 2):exp(), net(x), 1e-14)
    assert.equal(4, #net)
    assert.equal(layer, net[1])
    assert.equal("tanh", net[2])
    assert.is_nil(net[5])
  end)

  it("lets gb.params find all parameters by path", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(3, 2), "relu", gb.nn.sequential{gb.nn.layer_norm(2), gb.nn.linear(2, 1)}}
    local list <const>, names <const> = gb.params(net, "net")
    assert.same({"net[1].weight", "net[1].bias", "net[3][1].weight", "net[3][1].bias", "net[3][2].weight", "net[3][2].bias"}, names)
    assert.equal(net[3][2].weight, list[5])
    local _, within <const> = gb.params({scale = gb.param(1), net = net[1]})
    assert.same({"net.weight", "net.bias", "scale"}, within)
  end)

  it("prints layers, shapes and how many numbers", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(3, 2), "relu",
      gb.nn.sequential{gb.nn.layer_norm(2), function(h) return h end}}
    net[1].bias.fixed = true
    assert.equal([[
layer               parameters                numbers
-----------------------------------------------------
sequential
1  linear(3, 2)     weight 3x2, bias 2 fixed  8
2  relu
3  sequential
3.1  layer_norm(2)  weight 2, bias 2          4
3.2  function
12 numbers]], tostring(net))
  end)

  it("refuses what is no layer, and what gives no tensor", function()
    raises("option", "gb.nn.sequential: layer 2: a tensor has no method 'rellu', did you mean 'relu'?", gb.nn.sequential,
      {"exp", "rellu"})
    raises("option", "layer 1 must be a block, a function or the name of a tensor method, got number", gb.nn.sequential, {3})
    raises("option", "takes a list of layers, got the key 'hidden'", gb.nn.sequential, {hidden = 3})
    raises("option", "takes a list of layers, got block", gb.nn.sequential, gb.nn.linear(1, 1))
    raises("option", "sequential[1] must give a tensor, got nil", gb.nn.sequential{function() end}, x)
    raises("option", "sequential: field 'x' cannot be assigned", function() gb.nn.sequential{}.x = 1 end)
    near(x, gb.nn.sequential{}(x), 0)
  end)
end)

describe("gb.nn.mse", function()
  local p <const>, t <const> = gb.tensor{{1, 2}, {3, 5}, {0, -1}}, gb.tensor{{1, 0}, {2, 2}, {1, 1}}
  local e <const> = {{0, 4}, {1, 9}, {1, 4}}

  it("averages, sums, or leaves squared errors", function()
    near(19 / 6, gb.nn.mse(p, t), 1e-14)
    near(19, gb.nn.mse(p, t, {reduction = "sum"}), 1e-14)
    near(e, gb.nn.mse(p, t, {reduction = "none"}), 1e-14)
  end)

  it("weights rows, or elements", function()
    local w <const> = {1, 0, 3}
    near((4 + 3 * 5) / (2 * 4), gb.nn.mse(p, t, {weights = w}), 1e-14)
    near(19, gb.nn.mse(p, t, {weights = gb.tensor(w), reduction = "sum"}), 1e-14)
    near({{0, 4}, {0, 0}, {3, 12}}, gb.nn.mse(p, t, {weights = w, reduction = "none"}), 1e-14)
    near((4 * 2 + 9 * 5) / 7, gb.nn.mse(p, t, {weights = {{0, 2}, {0, 5}, {0, 0}}}), 1e-14)
  end)

  it("names the shapes that differ", function()
    raises("shape", "gb.nn.mse: shapes differ: 3x2 and 3", gb.nn.mse, p, gb.ones(3))
    raises("shape", "weights must be one a row or one an element: weights 2, losses 3x2", gb.nn.mse, p, t, {weights = {1, 2}})
    raises("option", "one of mean, sum, none", gb.nn.mse, p, t, {reduction = "max"})
    raises("option", "gb.nn.mse takes two tensors, got tensor and nil", gb.nn.mse, p)
  end)
end)

describe("gb.nn.cross_entropy", function()
  local z <const> = {{1, 2, -1}, {0, 0, 0}, {30, -30, 2}, {5, 1, 700}}
  local y <const> = {2, 3, 1, 1}
  local each <const> = {}
  for i, row in ipairs(z) do
    local m <const> = math.max(row[1], row[2], row[3])
    each[i] = m + math.log(math.exp(row[1] - m) + math.exp(row[2] - m) + math.exp(row[3] - m)) - row[y[i]]
  end

  it("is -log softmax at the label, also for large logits", function()
    near(each, gb.nn.cross_entropy(gb.tensor(z), labels(y), {reduction = "none"}), 1e-14)
    near((each[1] + each[2] + each[3] + each[4]) / 4, gb.nn.cross_entropy(gb.tensor(z), labels(y)), 1e-14)
    near(each[1] + each[2] + each[3] + each[4], gb.nn.cross_entropy(gb.tensor(z), labels(y), {reduction = "sum"}), 1e-14)
    near((2 * each[1] + each[3]) / 3, gb.nn.cross_entropy(gb.tensor(z), labels(y), {weights = {2, 0, 1, 0}}), 1e-14)
  end)

  it("has the gradient softmax - [j = label]", function()
    local logits <const> = gb.tensor(z):requires_grad()
    local want <const> = gb.tensor(z):softmax(2):totable()
    for i, label in ipairs(y) do want[i][label] = want[i][label] - 1 end
    near(want, gb.grad(gb.nn.cross_entropy(logits, labels(y), {reduction = "sum"}), logits), 1e-14)
  end)

  it("works in f32", function()
    local loss <const> = gb.nn.cross_entropy(gb.tensor(z, {dtype = "f32"}), labels(y))
    assert.equal("f32", loss.dtype)
    near((each[1] + each[2] + each[3] + each[4]) / 4, loss, 1e-6)
  end)

  it("stores nothing larger than what its inputs and outputs are", function()
    local n <const>, k <const> = 4000, 10
    local net <const> = gb.nn.sequential{gb.nn.linear(8, 16, {seed = 1}), "relu", gb.nn.linear(16, k, {seed = 2})}
    local at <const> = gb.randperm(n, {seed = 1}) % k + 1
    local loss <const> = gb.nn.cross_entropy(net(gb.randn(n, 8, {seed = 3})), at)
    local plan <const> = gb.plan({loss, table.unpack(gb.grad(loss, (gb.params(net))))}, {budget = 8 * n * 16 * 4})
    for _, row in ipairs(plan.rows) do
      if row.what ~= "scratch" then assert.is_true(row.bytes <= 8 * n * 16, row.what .. " " .. row.bytes) end
    end
    assert.is_true(plan.peak < 8 * n * 16 * 4)
    assert.is_true(plan.minimum < 8 * n * 16 * 2.2)         -- layers of generated inputs need not be stored
  end)

  it("refuses labels that are none", function()
    local logits <const> = gb.tensor(z)
    raises("index", "gb.nn.cross_entropy: label 0 of row 1 is outside 1 .. 3", gb.nn.cross_entropy, logits, labels{0, 1, 2, 1})
    raises("index", "label 4 of row 4 is outside 1 .. 3", gb.nn.cross_entropy, logits, labels{1, 1, 2, 4})
    raises("dtype", "labels are whole numbers from 1, of i64 or i32, got f64", gb.nn.cross_entropy, logits, gb.tensor(y))
    raises("shape", "expected logits (n, k) and labels (n), got 4x3 and 3", gb.nn.cross_entropy, logits, labels{1, 2, 3})
    raises("shape", "got 3 and 3", gb.nn.cross_entropy, logits[1], labels{1, 2, 3})
    local lazy <const> = gb.nn.cross_entropy(logits, labels(y) + 1)       -- 4 is no class, and is not known beforehand
    local err <const> = raises("index", "position 4 (entry 2) is outside 1 .. 3", lazy.item, lazy)
    assert.matches("%(the labels of gb%.nn%.cross_entropy, .*nn_spec%.lua:%d+%)$", err.message)
    local zero_based <const> = (gb.rand(4, {seed = 1}) * 3):floor():to{dtype = "i64"}
    local objective <const> = gb.nn.cross_entropy(gb.tensor(z):requires_grad(), zero_based, {reduction = "sum"})
    raises("index", "is outside 1 .. 3 (the labels of gb.nn.cross_entropy, ", objective.item, objective)
  end)
end)

describe("logits far from 0", function()
  local cases <const> = {{"f32", 300, 0.5}, {"f32", 1e6, 1}, {"f32", 1e10, 0}, {"f64", 1e12, 0.25}, {"f64", 1e308, 0},
    {"f64", -1e308, 0}}

  it("lose no digits in log_softmax, cross_entropy and their gradients", function()
    for _, c in ipairs(cases) do
      local dtype <const>, at <const>, more <const> = table.unpack(c)
      local z <const> = gb.tensor({{at, at + more}}, {dtype = dtype}):requires_grad()
      local first <const>, tol <const> = 1 / (1 + math.exp(more)), dtype == "f32" and 1e-6 or 1e-14
      near({{math.log(first), more + math.log(first)}}, z:log_softmax(2), tol)
      local loss <const> = gb.nn.cross_entropy(z, labels{2})
      near(-more - math.log(first), loss, tol)
      near({{first, -first}}, gb.grad(loss, z), tol)
      near({{1 - first, first - 1}}, gb.grad(z:log_softmax(2):select(2, 1):sum(), z), tol)
    end
  end)

  it("are as they were where infinite or absent", function()
    local inf <const> = math.huge
    for _, c in ipairs{{{inf, 0}, {0 / 0, -inf}}, {{-inf, 0}, {-inf, 0}}, {{-inf, -inf}, {0 / 0, 0 / 0}},
        {{0 / 0, 0}, {0 / 0, 0 / 0}}} do
      local got <const> = gb.tensor{c[1]}:log_softmax(2):totable()[1]
      for i = 1, 2 do assert.is_true(got[i] == c[2][i] or got[i] ~= got[i] and c[2][i] ~= c[2][i]) end
    end
    assert.same({"0x3", "3x0"}, {tostring(gb.zeros(0, 3):log_softmax(2).shape), tostring(gb.zeros(3, 0):log_softmax(2).shape)})
  end)
end)

describe("networks", function()
  local targets <const> = gb.tensor{{0.5}, {-1}, {2}, {0}}

  local function mlp()
    return gb.nn.sequential{gb.nn.linear(3, 5, {seed = 1}), "tanh", gb.nn.layer_norm(5), gb.nn.linear(5, 3, {seed = 2}), "softplus",
      gb.nn.linear(3, 1, {seed = 3})}
  end

  it("have the gradients of differences, through every layer and loss", function()
    local net <const> = mlp()
    support.check_gradients(function() return gb.nn.mse(net(x), targets) end, (gb.params(net)), 1e-7)
    local classes <const> = gb.nn.sequential{gb.nn.linear(3, 4, {seed = 4}), "tanh", gb.nn.linear(4, 3, {seed = 5})}
    support.check_gradients(function()
      return gb.nn.cross_entropy(classes(x), labels{1, 3, 2, 3}, {weights = {1, 2, 0.5, 3}})
    end, (gb.params(classes)), 1e-7)
  end)

  it("learn exclusive or by Adam", function()
    local points <const>, want <const> = gb.tensor{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, labels{1, 2, 2, 1}
    local net <const> = gb.nn.sequential{gb.nn.linear(2, 8, {seed = 11}), "relu", gb.nn.linear(8, 2, {seed = 12})}
    local function loss() return gb.nn.cross_entropy(net(points), want) end
    local before <const> = loss():item()
    local adam <const> = gb.optim.adam(net, {lr = 0.05})
    for _ = 1, 150 do adam:step(loss) end
    assert.is_true(loss():item() < 0.05 and before > 0.3, ("%g from %g"):format(loss():item(), before))
    assert.same({1, 2, 2, 1}, net(points):argmax(2):totable())
  end)

  it("fit a curve by L-BFGS, and come down by gradient descent", function()
    local t <const> = gb.linspace(-2, 2, 40):unsqueeze(2)
    for method, o in pairs{lbfgs = {steps = 150}, sgd = {steps = 100, lr = 0.05}} do
      local net <const> = gb.nn.sequential{gb.nn.linear(1, 12, {seed = 7}), "tanh", gb.nn.linear(12, 1, {seed = 8})}
      local function loss() return gb.nn.mse(net(t), (t * 2):sin()) end
      local before <const> = loss():item()
      o.method = method
      gb.optim.minimize(loss, net, o)
      assert.is_true(loss():item() < (method == "lbfgs" and 1e-3 or 0.5 * before), method .. " " .. loss():item())
    end
  end)

  it("warp the inputs of a kernel, shared with its models", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(3, 2, {seed = 1}), "tanh"}
    local k <const> = gb.kernels.rbf{lengthscale = 0.7}:warp(net)
    near(gb.kernels.rbf{lengthscale = 0.7}(net(x)), k(x), 1e-14)
    local before <const> = net[1].weight.version
    gb.gp.exact{kernel = k}:fit(x, targets:reshape(-1), {steps = 3})
    assert.is_true(net[1].weight.version > before)
  end)
end)

describe("a block", function()
  it("can be made again from what it remembers", function()
    for _, row in ipairs{{gb.nn.linear(2, 3, {seed = 4}), {kind = "linear",
      arguments = {2, 3, {bias = true, dtype = "f64", seed = 0}}}},
      {gb.nn.linear(1, 1, {bias = false, dtype = "f32"}), {kind = "linear",
        arguments = {1, 1, {bias = false, dtype = "f32", seed = 0}}}},
      {gb.nn.layer_norm(5), {kind = "layer_norm", arguments = {5, {eps = 1e-5, dtype = "f64"}}}},
      {gb.nn.layer_norm(5, {eps = 1e-3, dtype = "f32"}), {kind = "layer_norm", arguments = {5, {eps = 1e-3, dtype = "f32"}}}},
      {gb.nn.sequential{}, {kind = "sequential"}}} do assert.same(row[2], rawget(row[1], "made")) end
  end)

  it("lists its layers", function()
    local net <const> = gb.nn.sequential{gb.nn.linear(1, 1, {bias = false}), print, "tanh",
      gb.nn.sequential{gb.nn.layer_norm(1), gb.nn.sequential{"exp"}}}
    net[1].weight.fixed = true
    assert.equal(table.concat({"layer               parameters        numbers", "---------------------------------------------",
      "sequential",
      "1  linear(1, 1)     weight 1x1 fixed  1", "2  function", "3  tanh", "4  sequential",
      "4.1  layer_norm(1)  weight 1, bias 1  2",
      "4.2  sequential", "4.2.1  exp", "3 numbers"}, "\n"), tostring(net))
    assert.same({4, 0, 1}, {#net, #gb.nn.sequential{}, #gb.nn.linear(1, 1, {bias = false})})
    assert.equal("layer\n----------\nsequential\n0 numbers", tostring(gb.nn.sequential{}))
  end)

  it("is refused to the letter", function()
    local linear <const>, net <const> = gb.nn.linear(2, 3), gb.nn.sequential{function() return 3 end}
    for _, row in ipairs{
      {"option", "linear(2, 3): field 'weight' cannot be assigned; give its parameters values: net.weight.value = w",
        function() linear.weight = 3 end},
      {"option", "sequential[1] must give a tensor, got number", net, x}, {"option", "sequential takes a tensor, got nil", net},
      {"option", "gb.nn.sequential takes a list of layers, got block", gb.nn.sequential, linear},
      {"option", "gb.nn.sequential takes a list of layers, got the key 'a'", gb.nn.sequential, {a = linear}},
      {"option", "gb.nn.sequential: layer 2: a tensor has no method 'rlu', did you mean 'elu'?", gb.nn.sequential,
        {"tanh", "rlu"}},
      {"option", "gb.nn.sequential: layer 1: a tensor has no method 'qqqqqqqq'", gb.nn.sequential, {"qqqqqqqq"}},
      {"option", "gb.nn.sequential: layer 1 must be a block, a function or the name of a tensor method, got table",
        gb.nn.sequential, {{}}},
      {"option", "gb.nn.linear: option 'bias' must be a boolean, got number 3", gb.nn.linear, 1, 1, {bias = 3}},
      {"option", "gb.nn.linear: option 'seed' must be an integer, got string x", gb.nn.linear, 1, 1, {seed = "x"}},
      {"option", "gb.nn.linear: option 'dtype' must be one of f32, f64, got string f16", gb.nn.linear, 1, 1, {dtype = "f16"}},
      {"option", "gb.nn.layer_norm: option 'dtype' must be one of f32, f64, got string f16", gb.nn.layer_norm, 1, {dtype = "f16"}},
      {"option", "gb.nn.layer_norm: option 'eps' must be a positive number, got number 0", gb.nn.layer_norm, 1, {eps = 0}},
      {"shape", "layer_norm(4) expects 4 columns: input 4x3, weight 4", gb.nn.layer_norm(4), x},
      {"option", "gb.nn.mse: option 'reduction' must be one of mean, sum, none, got string all", gb.nn.mse, x, x,
        {reduction = "all"}},
      {"option", "gb.nn.cross_entropy: unknown option 'zzzzz'; known: ignore, reduction, smoothing, weights",
        gb.nn.cross_entropy, x, labels{1, 2, 3, 1}, {zzzzz = 1}},
      {"option", "gb.nn.cross_entropy takes two tensors, got tensor and nil", gb.nn.cross_entropy, x},
      {"shape", "gb.nn.cross_entropy: expected logits (n, k) and labels (n), got 4x3 and 4x1", gb.nn.cross_entropy, x,
        gb.ones(4, 1)},
      {"shape", "gb.nn.cross_entropy: expected logits (n, k) and labels (n), got 3 and 3", gb.nn.cross_entropy, gb.ones(3),
        labels{1, 2, 3}},
      {"shape", "gb.nn.cross_entropy: expected logits (n, k) and labels (n), got 4x3 and 3", gb.nn.cross_entropy, x,
        labels{1, 2, 3}},
      {"index", "gb.nn.cross_entropy: label 4 of row 4 is outside 1 .. 3: labels are positions, counted from 1",
        gb.nn.cross_entropy, x, labels{1, 2, 3, 4}},
      {"index", "gb.nn.cross_entropy: label 0 of row 2 is outside 1 .. 3: labels are positions, counted from 1",
        gb.nn.cross_entropy, x, labels{1, 0, 3, 2}},
      {"index", "gb.nn.cross_entropy: label 4 of row 1 is outside 1 .. 3: labels are positions, counted from 1",
        gb.nn.cross_entropy, x:slice(1, 1, 1), labels{4}},
      {"option", "gb.nn.mse: weights must be a tensor or a list, got string", gb.nn.mse, x, x, {weights = "x"}},
      {"shape", "gb.nn.mse: weights must be one a row or one an element: weights 3, losses 4x3", gb.nn.mse, x, x,
        {weights = {1, 2, 3}}},
      {"shape", "gb.nn.mse: weights must be one a row or one an element: weights 1, losses ()", gb.nn.mse, gb.tensor(1),
        gb.tensor(2), {weights = {1}}},
      {"shape", "gb.nn.mse: weights must be one a row or one an element: weights 4x1, losses 4x3", gb.nn.mse, x, x,
        {weights = gb.ones(4, 1)}},
    } do assert.equal(row[2], support.shapes_alone(raises(row[1], "", table.unpack(row, 3, 6)).message)) end
  end)
end)

describe("a weighted loss", function()
  local p <const>, t <const> = gb.tensor{1, 2, 4}, gb.tensor{0, 0, 1}
  local w <const> = {1, 2, 3}                                       -- squared errors 1, 4, 9

  it("is the mean by the weights' sum, their sum, or each", function()
    near({14 / 3, 14, 36 / 6, 36}, {gb.nn.mse(p, t), gb.nn.mse(p, t, {reduction = "sum"}), gb.nn.mse(p, t, {weights = w}),
      gb.nn.mse(p, t, {weights = w, reduction = "sum"})}, 1e-14)
    near({1, 8, 27}, gb.nn.mse(p, t, {weights = w, reduction = "none"}), 1e-14)
    near({1, 4, 9}, gb.nn.mse(p, t, {reduction = "none"}), 1e-14)
    local P <const>, T <const> = gb.tensor{{1, 2}, {3, 4}}, gb.zeros(2, 2)                 -- 1, 4, 9, 16
    near((1 * 5 + 3 * 25) / (2 * 4), gb.nn.mse(P, T, {weights = {1, 3}}), 1e-14)
    near({{1, 4}, {27, 48}}, gb.nn.mse(P, T, {weights = {1, 3}, reduction = "none"}), 1e-14)
    near((1 + 8 + 27 + 64) / 10, gb.nn.mse(P, T, {weights = {{1, 2}, {3, 4}}}), 1e-14)
    near(25, gb.nn.mse(gb.tensor(5), gb.tensor(0), {weights = gb.tensor(2)}), 1e-14)
    near(6, gb.nn.mse(p, t, {weights = gb.param(w)}), 1e-14)
    assert.equal("f32", gb.nn.mse(p:to{dtype = "f32"}, t:to{dtype = "f32"}, {weights = gb.tensor(w)}).dtype)
    near(7.5, gb.nn.mse(gb.ones(3, 2, 1) * 2, gb.zeros(3, 2, 1), {weights = w, reduction = "sum"}) / 6.4, 1e-13)
  end)

  it("of classes looks at the label of each row", function()
    local z <const> = gb.tensor{{1, 2, 3}, {0, 0, 5}}
    local function nll(row, k)
      local s = 0.0
      for _, v in ipairs(row) do s = s + math.exp(v) end
      return math.log(s) - row[k]
    end
    local a <const>, b <const> = nll({1, 2, 3}, 3), nll({0, 0, 5}, 1)
    near({(a + b) / 2, a + b, (2 * a + 6 * b) / 8}, {gb.nn.cross_entropy(z, labels{3, 1}),
      gb.nn.cross_entropy(z, labels{3, 1}, {reduction = "sum"}),
      gb.nn.cross_entropy(z, labels{3, 1}, {weights = {2, 6}})}, 1e-13)
    near({a, b}, gb.nn.cross_entropy(z, labels{3, 1}, {reduction = "none"}), 1e-13)
    local known <const> = labels{3, 1}
    for _ = 1, 2 do near((a + b) / 2, gb.nn.cross_entropy(z, known), 1e-13) end
    raises("index", "label 3 of row 1 is outside 1 .. 2", gb.nn.cross_entropy, gb.ones(2, 2), known)
    assert.equal(0, gb.nn.cross_entropy(gb.zeros(0, 3), gb.zeros(0, {dtype = "i64"}), {reduction = "sum"}):item())
    assert.is_false(pcall(function() return gb.nn.cross_entropy(z, labels{2, 4} * 1):item() end))
  end)
end)

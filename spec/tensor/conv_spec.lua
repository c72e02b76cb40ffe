--- Convolutions and pooling against loops, gradients against differences, memory against that of joined windows.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local nn <const> = gb.nn

local function read(t) return gb.tensor(t:totable(), {dtype = t.dtype}) end

--- x (n, c, h, w) with w (co, c / groups, kh, kw) by loops over everything.
local function by_loops(x, weight, stride, padding, dilation, groups)
  local a <const>, w <const>, n <const>, c <const>, h <const>, l <const> = x:totable(), weight:totable(), table.unpack(x.shape)
  local co <const>, cg <const>, kh <const>, kw <const> = table.unpack(weight.shape)
  local oh <const> = (h + 2 * padding[1] - dilation[1] * (kh - 1) - 1) // stride[1] + 1
  local ow <const> = (l + 2 * padding[2] - dilation[2] * (kw - 1) - 1) // stride[2] + 1
  local out <const> = {}
  for b = 1, n do
    out[b] = {}
    for o = 1, co do
      out[b][o] = {}
      local first <const> = (o - 1) // (co // groups) * (c // groups)
      for i = 1, oh do
        out[b][o][i] = {}
        for j = 1, ow do
          local s = 0
          for k = 1, cg do
            for p = 1, kh do
              for q = 1, kw do
                local y <const>, z <const> = (i - 1) * stride[1] + (p - 1) * dilation[1] + 1 - padding[1],
                  (j - 1) * stride[2] + (q - 1) * dilation[2] + 1 - padding[2]
                if y >= 1 and y <= h and z >= 1 and z <= l then s = s + a[b][first + k][y][z] * w[o][k][p][q] end
              end
            end
          end
          out[b][o][i][j] = s
        end
      end
    end
  end
  return out
end

local cases <const> = {
  {{2, 3, 6, 5}, {4, 3, 3, 2}}, {{2, 3, 6, 5}, {4, 3, 3, 3}, stride = {2, 1}, padding = {1, 2}},
  {{1, 2, 9, 8}, {3, 2, 3, 2}, dilation = {3, 2}, padding = {2, 0}}, {{2, 4, 5, 5}, {6, 2, 3, 3}, groups = 2, padding = {1, 1}},
  {{2, 4, 4, 4}, {4, 1, 2, 2}, groups = 4, stride = {2, 2}}, {{3, 2, 4, 4}, {5, 2, 1, 1}}, {{1, 1, 3, 3}, {1, 1, 3, 3}},
  {{1, 8, 6, 6}, {1, 8, 4, 4}}, {{1, 1, 6, 6}, {40, 1, 4, 4}},
}

describe("gb.nn.convolve", function()
  for i, case in ipairs(cases) do
    it(("is a sum over windows, channels and taps, and has gradients: case %d"):format(i), function()
      local x <const>, w <const> = read(gb.randn(case[1], {seed = 1})), read(gb.randn(case[2], {seed = 2}))
      local o <const> = {stride = case.stride, padding = case.padding, dilation = case.dilation, groups = case.groups}
      local want <const> = by_loops(x, w, o.stride or {1, 1}, o.padding or {0, 0}, o.dilation or {1, 1}, o.groups or 1)
      near(want, nn.convolve(x, w, o), 1e-13)
      local p <const>, q <const> = gb.param(x, {name = "x"}), gb.param(w, {name = "w"})
      support.check_gradients(function() return (nn.convolve(p.value, q.value, o) ^ 2):sum() end, {p, q}, 1e-5)
    end)
  end

  it("goes along one dimension, too", function()
    local x <const>, w <const> = read(gb.randn(2, 4, 9, {seed = 1})), read(gb.randn(6, 2, 3, {seed = 2}))
    local want <const> = by_loops(x:unsqueeze(3), w:unsqueeze(3), {1, 2}, {0, 1}, {1, 2}, 2)
    near(want, nn.convolve(x, w, {stride = 2, padding = 1, dilation = 2, groups = 2}), 1e-13)
  end)

  it("has a transposed one, its gradient by x", function()
    for _, case in ipairs{{{2, 3, 7, 6}, {4, 3, 3, 2}, {stride = {2, 1}, padding = {1, 0}}}, {{1, 4, 9}, {6, 2, 3}, {groups = 2,
      dilation = 2, stride = 3}}, {{1, 2, 5, 5}, {3, 2, 1, 1}, {padding = 1}}} do
      local x <const>, w <const> = read(gb.randn(case[1], {seed = 1})):requires_grad(), read(gb.randn(case[2], {seed = 2}))
      local o <const> = case[3]
      local y <const> = nn.convolve(x, w, o)
      local bar <const> = read(gb.randn(y.shape, {seed = 3}))
      local more <const> = {}                                              -- what the stride leaves open
      for i = 3, x.ndim do
        local function at(v) if type(v) == "table" then return v[i - 2] else return v end end
        more[i - 2] = x.shape[i] - ((y.shape[i] - 1) * (at(o.stride) or 1) - 2 * (at(o.padding) or 0)
          + (o.dilation or 1) * (w.shape[i] - 1) + 1)
      end
      local with <const> = {output_padding = more}
      for key, v in pairs(o) do with[key] = v end
      near(gb.grad(y, x, {cotangent = bar}), nn.convolve_transposed(bar, w, with), 1e-13)
    end
    local net <const> = nn.conv_transpose2d(3, 4, {2, 3}, {stride = 2, output_padding = {1, 0}, seed = 1})
    assert.matches("conv_transpose2d%(3, 4, 2x3%)", tostring(net))
    assert.equal("3x4x2x3", tostring(net.weight.shape))
    assert.equal("5x4x9x9", tostring(net(gb.randn(5, 3, 4, 4)).shape))
    local p <const> = gb.param(gb.randn(2, 2, 4, {seed = 1}), {name = "x"})
    local line <const> = nn.conv_transpose1d(2, 4, 3, {stride = 2, padding = 1, groups = 2, seed = 2})
    support.check_gradients(function() return (line(p.value) ^ 2):sum() end, {p, line.weight, line.bias}, 1e-6)
    raises("shape", "nothing is left along dimension 3 of input 1x2x1 with padding 2", nn.convolve_transposed, gb.ones(1, 2, 1),
      gb.ones(2, 2, 3), {padding = 2})
    raises("shape", "gb.nn.convolve_transposed: 1 group for input 1x2x4, weight 3x2x3", nn.convolve_transposed, gb.ones(1, 2, 4),
      gb.ones(3, 2, 3))
    raises("option", "gb.nn.conv_transpose1d: 2 and 3 channels do not divide into 2 groups", nn.conv_transpose1d, 2, 3, 3,
      {groups = 2})
    raises("option", "gb.nn.conv1d: unknown option 'output_padding'", nn.conv1d, 2, 3, 3, {output_padding = 1})
  end)

  it("says what does not fit", function()
    local x <const>, w <const> = gb.ones(1, 2, 4, 4), gb.ones(3, 2, 3, 3)
    raises("shape", "gb.nn.convolve: a window of 7 entries along dimension 3 of input 1x2x4x4 with padding 1", nn.convolve, x, w,
      {dilation = 3, padding = 1})
    raises("shape", "1 group of 2 channels for input 1x3x4x4, weight 3x2x3x3", nn.convolve, gb.ones(1, 3, 4, 4), w)
    raises("shape", "weights of as many dimensions, got 1x2x4x4 and 3x2x3", nn.convolve, x, gb.ones(3, 2, 3))
    raises("option", "stride must be a whole number, 1 or more, got 0", nn.convolve, x, w, {stride = 0})
    raises("option", "padding must be a number, or one for each of 2 dimensions, got 3", nn.convolve, x, w, {padding = {1, 1, 1}})
    raises("option", "unknown option 'strides', did you mean 'stride'?", nn.convolve, x, w, {strides = 1})
  end)

  it("holds less than all windows side by side, and runs in windows of the batch with the same bits", function()
    local function made(c, co, k)
      local x <const> = gb.lazy(read(gb.randn(16, c, 20, 20, {seed = 1})), {batch = 1})
      return nn.convolve(x, read(gb.randn(co, c, k, k, {seed = 2})), {padding = k // 2})
    end
    for _, case in ipairs{{8, 8, 3}, {8, 4, 3}, {4, 4, 5}, {6, 12, 5}, {4, 2, 7}} do
      local c <const>, co <const>, k <const> = table.unpack(case)
      local windows <const> = 16 * 400 * c * k * k * 8
      local plan <const> = gb.plan(made(c, co, k))
      assert.is_true(plan.peak < windows, plan.peak .. " of " .. windows)
      assert.is_true(plan.minimum < windows / 2, plan.minimum .. " of " .. windows)
      local whole <const>, cut <const> = made(c, co, k), made(c, co, k)
      gb.plan(cut, {budget = plan.minimum}):run()
      assert.is_true(whole:equal(cut))
    end
  end)
end)

describe("a convolution that is trained", function()
  it("needs a window of its batch", function()
    local function made()
      local x <const>, y <const> = gb.lazy(read(gb.randn(64, 8, 16, 16, {seed = 1})), read(gb.randperm(64, {seed = 3}) % 4 + 1),
        {batch = 1})
      local net <const> = nn.sequential{nn.conv2d(8, 8, 3, {seed = 1}), "relu", nn.max_pool(2), nn.flatten(),
        nn.linear(8 * 49, 4, {seed = 2})}
      local loss <const> = nn.cross_entropy(net(x), y)
      return {loss, table.unpack(gb.grad(loss, (gb.params(net))))}
    end
    local plan <const> = gb.plan(made())
    local windows <const> = 64 * 196 * 72 * 8
    assert.is_true(plan.minimum < windows / 2, plan.minimum .. " of " .. windows)
    local values <const> = {}
    for i, budget in ipairs{plan.minimum, plan.peak} do
      local out <const> = made()
      gb.plan(out, {budget = budget}):run()
      values[i] = {}
      for k, t in ipairs(out) do values[i][k] = t:reshape(-1):totable() end
    end
    assert.same(values[1], values[2])
  end)
end)

describe("blocks of convolutions", function()
  it("have weights, a bias, a label and a start by their seed", function()
    local net <const> = nn.conv2d(3, 4, {3, 2}, {seed = 1, stride = 2})
    assert.matches("^layer.-conv2d%(3, 4, 3x2%)%s+weight 4x3x3x2, bias 4%s+76", tostring(net))
    local x <const> = read(gb.randn(2, 3, 7, 6, {seed = 2}))
    near(nn.convolve(x, net.weight.value, {stride = 2}) + net.bias.value:reshape(1, 4, 1, 1), net(x), 1e-14)
    assert.is_true(nn.conv2d(3, 4, {3, 2}, {seed = 1}).weight:equal(net.weight))
    local line <const> = nn.conv1d(2, 4, 3, {groups = 2, bias = false, padding = 1})
    assert.same({2, 4, 8}, {table.unpack(line(gb.ones(2, 2, 8)).shape)})
    raises("shape", "conv2d(3, 4, 3x2) expects input (n, 3, h, w): got 2x2x8", net, gb.ones(2, 2, 8))
    raises("option", "gb.nn.conv1d: 3 and 4 channels do not divide into 2 groups", nn.conv1d, 3, 4, 1, {groups = 2})
    raises("option", "size must be a whole number, 1 or more, got nil", nn.conv1d, 3, 4)
  end)

  it("make a network that is trained and saved", function()
    local net <const> = nn.sequential{nn.conv2d(1, 4, 3, {seed = 1, padding = 1}), nn.batch_norm(4), "relu", nn.max_pool(2),
      nn.avg_pool({2, 1}), nn.flatten(), nn.linear(16, 2, {seed = 2})}
    local x <const> = read(gb.randn(12, 1, 8, 4, {seed = 3}))
    local y <const> = x:sum{2, 3, 4}:gt(0):to{dtype = "i64"} + 1
    local function loss() return nn.cross_entropy(net(x), y) end
    local before <const> = loss():item()
    gb.optim.minimize(loss, net, {steps = 20})
    assert.is_true(loss():item() < before / 2)
    support.check_gradients(loss, {net[1].weight, net[7].bias}, 1e-5)
  end)
end)

describe("pooling", function()
  local x <const> = read(gb.randn(2, 2, 5, 4, {seed = 1}))

  local function pooled(size, stride, padding, largest)
    local a <const>, out <const> = x:totable(), {}
    for b = 1, 2 do
      out[b] = {}
      for c = 1, 2 do
        out[b][c] = {}
        for i = 1, (5 + 2 * padding[1] - size[1]) // stride[1] + 1 do
          out[b][c][i] = {}
          for j = 1, (4 + 2 * padding[2] - size[2]) // stride[2] + 1 do
            local most, sum = -math.huge, 0
            for p = 1, size[1] do
              for q = 1, size[2] do
                local v <const> = (a[b][c][(i - 1) * stride[1] + p - padding[1]] or {})[(j - 1) * stride[2] + q - padding[2]]
                if v then most, sum = math.max(most, v), sum + v end
              end
            end
            out[b][c][i][j] = largest and most or sum / (size[1] * size[2])
          end
        end
      end
    end
    return out
  end

  it("is the largest, or the mean, of each window", function()
    for _, case in ipairs{{{2, 2}, {2, 2}, {0, 0}}, {{3, 2}, {1, 2}, {1, 1}}, {{3, 3}, {2, 1}, {0, 1}}, {{5, 4}, {1, 1}, {0, 0}}} do
      local o <const> = {stride = case[2], padding = case[3]}
      near(pooled(case[1], case[2], case[3], true), nn.max_pool(case[1], o)(x), 0)
      near(pooled(case[1], case[2], case[3], false), nn.avg_pool(case[1], o)(x), 1e-14)
      local p <const> = gb.param(x, {name = "x"})
      support.check_gradients(function() return (nn.max_pool(case[1], o)(p.value) ^ 2):sum() end, {p}, 1e-6)
      support.check_gradients(function() return (nn.avg_pool(case[1], o)(p.value) ^ 2):sum() end, {p}, 1e-6)
    end
    near({{{2, 4}}}, nn.max_pool(2)(gb.tensor{{{1, 2, 3, 4, 0}}}), 0)
    near({{{1.5, 3.5}}}, nn.avg_pool(2)(gb.tensor{{{1, 2, 3, 4, 0}}}), 0)
  end)

  it("stores no windows", function()
    local big <const> = read(gb.randn(8, 4, 40, 40, {seed = 2}))
    for _, block in ipairs{nn.max_pool(2), nn.avg_pool(2)} do
      assert.is_true(gb.plan(block(big)).peak < big.numel * 8)
    end
  end)

  it("says what does not fit", function()
    raises("shape", "max_pool(2) expects input (n, c, l) or (n, c, h, w): got 5x4", nn.max_pool(2), gb.ones(5, 4))
    raises("option", "max_pool(3): padding of at most half of the window, 1, got 2", nn.max_pool(3, {padding = 2}), x)
    raises("shape", "avg_pool(6): a window of 6 entries along dimension 3", nn.avg_pool(6), x)
    raises("option", "gb.nn.max_pool: size must be a whole number, 1 or more, got nil", nn.max_pool)
  end)
end)

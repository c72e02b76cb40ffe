--- Ops, layers and losses beside torch: values, positions and gradients. Only where GIBBOUS_PEERS names a Python that has torch.
--
-- A case is a function of tensors and the expression of the same function in torch, whose inputs are a, b, c, ... and whose
-- positions count from 0. All cases of a group run in one process; torch computes in f64, from the same numbers.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local python <const> = os.getenv "GIBBOUS_PEERS"
local nn <const> = gb.nn

-- Numbers -----------------------------------------------------------------------------------------------------------------------

local drawn = 0

--- A whole number from 'lo' to 'hi'.
local function draw(lo, hi)
  drawn = (drawn * 6364136223846793005 + 1442695040888963407) & math.maxinteger
  return lo + (drawn >> 33) % (hi - lo + 1)
end

local function normal(...) return gb.randn(...) end
local function ties(...) return (gb.randn(...) * 1.5):round() + 0.0 end
local function labels(n, k) return (gb.rand(n) * k):floor():clamp(0, k - 1):to "i64" + 1 end

-- Cases -------------------------------------------------------------------------------------------------------------------------

--- |u - v| relative to the larger of |u| and floor; infinite where one alone is NaN, or where infinities differ.
local function error_of(u, v, floor)
  if u == v or u ~= u and v ~= v then return 0 end
  local e <const> = math.abs(u - v) / math.max(math.abs(u), floor)
  return e == e and e or math.huge
end

local least <const> = {f64 = 1e-290, f32 = 1e-31}           -- below, numbers lose digits

--- Errors are relative to the largest finite number of a result, or to each element where row.elementwise; never to less than
-- row.floor.
local function floor_of(list, row, dtype)
  local floor = math.max(least[dtype], row.floor or 0)
  for _, v in ipairs(row.elementwise and {} or list) do
    if math.abs(v) < math.huge then floor = math.max(floor, math.abs(v)) end
  end
  return floor
end

local function near(want, got, row, dtype, tol, what)
  local a <const>, b <const> = support.numbers(want), support.numbers(got)
  assert.equal(#a, #b, row.torch .. ": numbers of " .. what)
  local floor <const> = floor_of(a, row, dtype)
  for i = 1, #a do
    local e <const> = error_of(a[i], b[i], floor)
    assert.is_true(e <= tol, ("%s: element %d of %s: %.17g, torch has %.17g"):format(row.torch, i, what, b[i], a[i]))
  end
end

local function is_float(t) return t.dtype == "f64" or t.dtype == "f32" end

--- What torch gives for rows {inputs, torch, bar}: a list of {out, grad} of tensors.
local function theirs(rows)
  local folder <const> = support.path ".torch"
  os.execute("mkdir " .. folder)
  local lines <const> = {}
  for k, row in ipairs(rows) do
    for i, x in ipairs(row.inputs) do core.npy_write(("%s/%d_%d.npy"):format(folder, k, i), x) end
    if row.bar then core.npy_write(("%s/%d_bar.npy"):format(folder, k), row.bar) end
    lines[k] = #row.inputs .. " " .. row.torch
  end
  support.write(folder .. "/cases.txt", table.concat(lines, "\n"))
  assert.is_true(os.execute(("%s scripts/bench/peers/torch_ops.py %s"):format(python, folder)))
  local function read(k, kind, i)
    local path <const> = ("%s/%d_%s_%d.npy"):format(folder, k, kind, i)
    local f <const> = io.open(path)
    if not f then return nil end
    f:close()
    return core.npy_read(path):totable()
  end
  local out <const> = {}
  for k, row in ipairs(rows) do
    out[k] = {out = {}, grad = {}}
    for j = 1, 3 do out[k].out[j] = read(k, "out", j) end
    for i in ipairs(row.inputs) do out[k].grad[i] = read(k, "grad", i) end
  end
  os.execute("rm -r " .. folder)
  return out
end

--- Ours: inputs, results, and the gradients of the first result times a cotangent.
local function ours(row, dtype)
  local inputs <const>, leaves <const> = {}, {}
  for i, make in ipairs(row.inputs) do
    local x = make
    if is_float(x) then
      x = gb.tensor(x:to(dtype):totable(), {dtype = dtype}):reshape(x.shape):eval():requires_grad()
      leaves[#leaves + 1] = {i, x}
    end
    inputs[i] = x
  end
  local results <const> = table.pack(row.f(table.unpack(inputs)))
  local r <const> = {inputs = inputs, torch = row.torch, results = results, leaves = leaves}
  if row.grad ~= false and is_float(results[1]) and #leaves > 0 then
    r.bar = gb.randn(results[1].shape, {seed = 77, dtype = dtype}):eval()
    local by <const> = {}
    for k, leaf in ipairs(leaves) do by[k] = leaf[2] end
    r.grads = gb.grad(results[1], by, {cotangent = r.bar, unused = "zero"})
  end
  return r
end

local tolerance <const> = {f64 = 1e-12, f32 = 2e-6}

--- One 'it' a type for rows {f, torch, inputs = {...}, grad = false: none, elementwise, tol = {f64 =, f32 =}}.
local function compare(name, make)
  for _, dtype in ipairs{"f64", "f32"} do
    it(("%s, %s"):format(name, dtype), function()
      if not python then return pending "GIBBOUS_PEERS is not set" end
      gb.seed(5)
      drawn = 11
      local rows <const>, made <const> = make(dtype), {}
      for k, row in ipairs(rows) do made[k] = ours(row, dtype) end
      for k, their in ipairs(theirs(made)) do
        local row <const>, m <const> = rows[k], made[k]
        local tol <const> = row.tol and row.tol[dtype] or tolerance[dtype]
        for j = 1, m.results.n do
          assert.is_not_nil(their.out[j], row.torch)
          near(their.out[j], m.results[j], row, dtype, is_float(m.results[j]) and tol or 0, "result " .. j)
        end
        for i, leaf in ipairs(m.grads and m.leaves or {}) do
          near(their.grad[leaf[1]], m.grads[i], row, dtype, tol, "gradient " .. i)
        end
      end
    end)
  end
end

local function row(inputs, torch, f, more)
  local r <const> = {inputs = inputs, torch = torch, f = f}
  for key, v in pairs(more or {}) do r[key] = v end
  return r
end

local values <const> = {grad = false}

-- Elementwise -------------------------------------------------------------------------------------------------------------------

local corners <const> = {0, -0.0, 1, -1, 3, -3, 6, 0.5, -0.5, 1e-8, -1e-8, 20, -20, 100, -100, 1e4, -1e4, 1 / 0, -1 / 0, 0 / 0}
local smooth <const> = {0.3, -0.3, 0.7, -0.7, 1.7, -1.7, 2.5, -2.5, 5, -5, 1e-3, -1e-3, 20, -20, 100, -100, 1e4, -1e4}

--- Values at the corners too; slopes elsewhere. In f32 slopes such as y (1 - y) have lost digits where they are small.
local function elementwise(list)
  return function(dtype)
    local rows <const> = {}
    for _, one in ipairs(list) do
      local function add(x, more)
        rows[#rows + 1] = row({x}, one[1], one[2], {elementwise = true, tol = one.tol, floor = more.floor, grad = more.grad})
      end
      add(gb.tensor(one.at or corners), {grad = false, floor = one.floor})
      local slopes <const> = {floor = math.max(one.floor or 0, dtype == "f32" and 1 or 0)}
      add(gb.tensor(one.at or smooth), slopes)
      if not one.at then add(normal(300) * 3, {floor = math.max(slopes.floor, 0.1)}) end
    end
    return rows
  end
end

describe("beside torch:", function()
  teardown(support.sweep)

  compare("activations", elementwise{
    {"F.relu(a)", function(x) return x:relu() end},
    {"F.leaky_relu(a)", function(x) return x:leaky_relu() end},
    {"F.leaky_relu(a, 0.3)", function(x) return x:leaky_relu(0.3) end},
    {"F.elu(a)", function(x) return x:elu() end},
    {"F.elu(a, 0.7)", function(x) return x:elu(0.7) end},
    {"F.selu(a)", function(x) return x:selu() end},
    {"F.silu(a)", function(x) return x:silu() end},
    {"F.gelu(a)", function(x) return x:gelu() end, floor = 1},             -- torch cancels where it is small
    {"a * torch.erfc(a * -0.5 ** 0.5) / 2", function(x) return x:gelu() end},
    {"F.gelu(a, approximate='tanh')", function(x) return x:gelu{approximate = "tanh"} end, floor = 1},
    {"a * torch.sigmoid((a + 0.044715 * a ** 3) * (8 / torch.pi) ** 0.5)", function(x) return x:gelu{approximate = "tanh"} end},
    {"F.mish(a)", function(x) return x:mish() end},
    {"F.softsign(a)", function(x) return x:softsign() end},
    {"F.hardtanh(a)", function(x) return x:hard_tanh() end},
    {"F.hardsigmoid(a)", function(x) return x:hard_sigmoid() end, tol = {f64 = 1e-7}},       -- its slope 1/6 is of f32
    {"torch.clamp(a / 6 + 0.5, 0, 1)", function(x) return x:hard_sigmoid() end},
    {"F.hardswish(a)", function(x) return x:hard_swish() end},
    {"F.relu6(a)", function(x) return x:relu6() end},
    {"torch.sigmoid(a)", function(x) return x:sigmoid() end},
    {"torch.tanh(a)", function(x) return x:tanh() end},
    {"torch.logaddexp(a, torch.zeros_like(a))", function(x) return x:softplus() end},
  })

  compare("functions", elementwise{
    {"torch.exp(a)", function(x) return x:exp() end, at = {0, 1, -1, 10, -30, 1e-9, -1 / 0, 1 / 0, 0 / 0}},
    {"torch.expm1(a)", function(x) return x:expm1() end, at = {0, 1, -1, 10, -30, 1e-9, -1 / 0, 1 / 0, 0 / 0}, floor = 1},
    {"torch.log(a)", function(x) return x:log() end, at = {1, 2, 1e-30, 1e30, 0.99, -1, 1 / 0, 0 / 0}},
    {"torch.log1p(a)", function(x) return x:log1p() end, at = {1, 2, 1e-30, 1e30, -0.99, -2, 1 / 0, 0 / 0}},
    {"torch.sqrt(a)", function(x) return x:sqrt() end, at = {1, 2, 1e-30, 1e30, 1 / 0, 0 / 0}},
    {"torch.rsqrt(a)", function(x) return x:rsqrt() end, at = {1, 2, 1e-20, 1e20, 0 / 0}},
    {"torch.sin(a)", function(x) return x:sin() end, at = {0, 1, -2, 100, 0 / 0}},
    {"torch.cos(a)", function(x) return x:cos() end, at = {0.1, 1, -2, 100, 0 / 0}},
    {"torch.tan(a)", function(x) return x:tan() end, at = {0, 1, -2, 0 / 0}},
    {"torch.asin(a)", function(x) return x:asin() end, at = {0, 0.5, -0.9, 2, 0 / 0}},
    {"torch.acos(a)", function(x) return x:acos() end, at = {0, 0.5, -0.9, 2, 0 / 0}},
    {"torch.atan(a)", function(x) return x:atan() end, at = {0, 1, -2, 1e10, 1 / 0, 0 / 0}},
    {"torch.erf(a)", function(x) return x:erf() end, at = {0, 0.1, -2, 3, 1 / 0, 0 / 0}},
    {"torch.erfc(a * -0.5 ** 0.5) / 2", function(x) return x:ndtr() end, at = {0, 0.1, -2, 3, -6, 1 / 0, 0 / 0}},
    {"torch.special.log_ndtr(a)", function(x) return x:log_ndtr() end, at = {0, 0.1, -2, -30, -6, 0 / 0}},
    {"torch.lgamma(a)", function(x) return x:lgamma() end, at = {0.1, 3.5, 1.2, 1e5, -2.5, 0 / 0}, tol = {f32 = 1e-5}},
    -- torch's derivative of digamma is off by 1e-10
    {"torch.digamma(a)", function(x) return x:digamma() end, at = {0.1, 3.5, 1.2, 1e5, -2.5, 0 / 0},
      tol = {f64 = 1e-9, f32 = 1e-5}},
    {"torch.abs(a)", function(x) return x:abs() end, at = {1, -2, 1 / 0, -1 / 0}},
    {"torch.clamp(a, -1, 2)", function(x) return x:clamp(-1, 2) end, at = {0.5, -2, 3, 1 / 0, -1 / 0, 0 / 0}},
  })

  compare("rounding and tests", function()
    local rows <const> = {}
    local x <const> = gb.tensor{0, -0.5, 0.5, 1.5, 2.5, -1.5, 1e10, 1 / 0, -1 / 0, 0 / 0}
    for expression, f in pairs{["torch.floor(a)"] = "floor", ["torch.ceil(a)"] = "ceil", ["torch.round(a)"] = "round",
      ["torch.isnan(a)"] = "isnan", ["torch.isfinite(a)"] = "isfinite"} do
      rows[#rows + 1] = row({x}, expression, function(t) return t[f](t) end, values)
    end
    rows[#rows + 1] = row({gb.tensor{0, -0.5, 3, 1 / 0, -1 / 0}}, "torch.sign(a)", function(t) return t:sign() end, values)
    return rows
  end)

  compare("softmax, log_softmax, logsumexp", function()
    local rows <const> = {}
    for _, x in ipairs{normal(7, 11), normal(7, 11) * 100, gb.tensor{{1e4, -1e4, 0}, {-1 / 0, 0, 1}, {0 / 0, 0, 1}}} do
      for d = 1, 2 do
        local cancels <const> = {floor = 1, tol = {f32 = 2e-5}}                                -- p (g - sum p g)
        rows[#rows + 1] = row({x}, ("torch.softmax(a, %d)"):format(d - 1), function(t) return t:softmax(d) end, cancels)
        rows[#rows + 1] = row({x}, ("torch.log_softmax(a, %d)"):format(d - 1), function(t) return t:log_softmax(d) end, cancels)
        rows[#rows + 1] = row({x}, ("torch.logsumexp(a, %d)"):format(d - 1), function(t) return t:logsumexp(d) end,
          {tol = {f32 = 2e-5}})
      end
    end
    return rows
  end)

  -- Convolutions and pooling ------------------------------------------------------------------------------------------------------

  compare("convolutions of 1 and 2 dimensions", function()
    local rows <const> = {}
    while #rows < 60 do
      local count <const>, groups <const> = draw(1, 2), draw(1, 3)
      local c <const>, co <const>, n <const> = groups * draw(1, 3), groups * draw(1, 3), draw(1, 3)
      local stride <const>, padding <const>, dilation <const>, size <const>, extent <const> = {}, {}, {}, {}, {}
      for i = 1, count do
        stride[i], padding[i], dilation[i], size[i] = draw(1, 3), draw(0, 3), draw(1, 3), draw(1, 4)
        extent[i] = dilation[i] * (size[i] - 1) + 1 + draw(0, 6)
      end
      local function text(list) return "(" .. table.concat(list, ",") .. ",)" end
      rows[#rows + 1] = row({normal(n, c, table.unpack(extent)), normal(co, c // groups, table.unpack(size))},
        ("F.conv%dd(a, b, None, %s, %s, %s, %d)"):format(count, text(stride), text(padding), text(dilation), groups),
        function(x, w)
          return nn.convolve(x, w, {stride = stride, padding = padding, dilation = dilation, groups = groups})
        end)
    end
    return rows
  end)

  compare("transposed convolutions", function()
    local rows <const> = {}
    while #rows < 40 do
      local count <const>, groups <const> = draw(1, 2), draw(1, 3)
      local c <const>, co <const> = groups * draw(1, 3), groups * draw(1, 3)
      local stride <const>, padding <const>, more <const>, dilation <const>, size <const>, extent <const> = {}, {}, {}, {}, {}, {}
      for i = 1, count do
        stride[i], dilation[i], size[i] = draw(1, 3), draw(1, 3), draw(1, 4)
        more[i], extent[i] = draw(0, math.max(stride[i], dilation[i]) - 1), draw(2, 6)
        padding[i] = draw(0, math.min(3, ((extent[i] - 1) * stride[i] + dilation[i] * (size[i] - 1)) // 2))
      end
      local function text(list) return "(" .. table.concat(list, ",") .. ",)" end
      rows[#rows + 1] = row({normal(draw(1, 3), c, table.unpack(extent)), normal(c, co // groups, table.unpack(size))},
        ("F.conv_transpose%dd(a, b, None, %s, %s, %s, %d, %s)"):format(count, text(stride), text(padding), text(more), groups,
          text(dilation)),
        function(x, w)
          return nn.convolve_transposed(x, w, {stride = stride, padding = padding, output_padding = more, dilation = dilation,
            groups = groups})
        end)
    end
    return rows
  end)

  compare("pooling", function()
    local rows <const> = {}
    while #rows < 60 do
      local count <const> = draw(1, 2)
      local size <const>, stride <const>, padding <const>, extent <const> = {}, {}, {}, {}
      for i = 1, count do
        size[i], stride[i] = draw(1, 4), draw(1, 4)
        padding[i], extent[i] = draw(0, size[i] // 2), size[i] + draw(0, 8)
      end
      local function text(list) return "(" .. table.concat(list, ",") .. ",)" end
      for _, kind in ipairs{"max", "avg"} do
        rows[#rows + 1] = row({normal(draw(1, 3), draw(1, 3), table.unpack(extent)) - 3},
          ("F.%s_pool%dd(a, %s, %s, %s)"):format(kind, count, text(size), text(stride), text(padding)),
          nn[kind .. "_pool"](size, {stride = stride, padding = padding}))
      end
    end
    return rows
  end)

  -- Layers ------------------------------------------------------------------------------------------------------------------------

  --- A block whose parts have these values, called with x.
  local function with_parts(block, x, parts)
    for _, part in ipairs(rawget(block, "parts")) do part[2] = {value = parts[part[1]] or part[2].value, shape = part[2].shape} end
    return block(x)
  end

  compare("normalisations", function()
    local rows <const>, cancels <const> = {}, {floor = 1, tol = {f32 = 1e-4}}       -- slopes of a few numbers
    for _, shape in ipairs{{5, 6}, {1, 6}, {4, 6, 5}, {3, 6, 4, 5}} do
      local x <const>, w <const>, b <const> = normal(shape) * 3 + 2, normal(6), normal(6)
      local d <const> = shape[#shape]
      rows[#rows + 1] = row({x, normal(d), normal(d)}, ("F.layer_norm(a, (%d,), b, c)"):format(d), function(t, u, v)
        return with_parts(nn.layer_norm(d, {dtype = t.dtype}), t, {weight = u, bias = v})
      end, cancels)
      if #shape > 2 or shape[1] > 1 then
        rows[#rows + 1] = row({x, w, b}, "F.batch_norm(a, None, None, b, c, True)", function(t, u, v)
          return with_parts(nn.batch_norm(6, {dtype = t.dtype}), t, {weight = u, bias = v})
        end, cancels)
      end
      rows[#rows + 1] = row({x, normal(d)}, ("F.rms_norm(a, (%d,), b, 1e-6)"):format(d), function(t, u)
        return with_parts(nn.rms_norm(d, {dtype = t.dtype}), t, {weight = u})
      end, cancels)
      if #shape > 2 then
        rows[#rows + 1] = row({x, w, b}, "F.instance_norm(a, None, None, b, c)", function(t, u, v)
          return with_parts(nn.instance_norm(6, {dtype = t.dtype}), t, {weight = u, bias = v})
        end, cancels)
      end
      rows[#rows + 1] = row({x, w, b, normal(6), gb.rand(6) + 0.1}, "F.batch_norm(a, d.detach(), e.detach(), b, c, False)",
        function(t, u, v, m, q)
        return with_parts(nn.batch_norm(6, {training = false, dtype = t.dtype}), t, {weight = u, bias = v, mean = m:detach(),
            variance = q:detach()})
      end, cancels)
      for _, groups in ipairs{1, 2, 3} do
        rows[#rows + 1] = row({x, w, b}, ("F.group_norm(a, %d, b, c)"):format(groups), function(t, u, v)
          return with_parts(nn.group_norm(groups, 6, {dtype = t.dtype}), t, {weight = u, bias = v})
        end, cancels)
      end
    end
    return rows
  end)

  compare("linear layers and embeddings", function()
    return {
      row({normal(5, 3), normal(3, 4), normal(4)}, "a @ b + c", function(x, w, b)
        return with_parts(nn.linear(3, 4, {dtype = x.dtype}), x, {weight = w, bias = b})
      end),
      row({normal(6, 3), labels(40, 6)}, "F.embedding(b - 1, a)", function(w, at)
        return with_parts(nn.embedding(6, 3, {dtype = w.dtype}), at, {weight = w})
      end),
      row({normal(6, 3), labels(40, 6):reshape(5, 8)}, "F.embedding(b - 1, a)", function(w, at)
        return with_parts(nn.embedding(6, 3, {dtype = w.dtype}), at, {weight = w})
      end),
    }
  end)

  -- Losses ------------------------------------------------------------------------------------------------------------------------

  compare("losses", function()
    local rows <const> = {}
    local p <const>, t <const> = normal(20, 3) * 2, normal(20, 3)
    local q <const>, u <const> = gb.rand(20, 3), gb.rand(20, 3)
    local log_q <const> = normal(20, 5):log_softmax(2)
    local v <const> = normal(20, 5):softmax(2)
    local wild <const> = gb.tensor{100, -100, 1e4, -1e4, 0.5, 20}
    for _, reduction in ipairs{"mean", "sum", "none"} do
      local o <const>, text <const> = {reduction = reduction}, ("reduction='%s'"):format(reduction)
      local function add(inputs, expression, f) rows[#rows + 1] = row(inputs, expression:gsub("R", text), f) end
      add({p, t}, "F.mse_loss(a, b, R)", function(a, b) return nn.mse(a, b, o) end)
      add({p, t}, "F.l1_loss(a, b, R)", function(a, b) return nn.l1(a, b, o) end)
      for _, corner in ipairs{1, 0.3, 2.5} do
        add({p, t}, ("F.huber_loss(a, b, R, delta=%g)"):format(corner), function(a, b)
          return nn.huber(a, b, {reduction = reduction, delta = corner})
        end)
        add({p, t}, ("F.smooth_l1_loss(a, b, R, beta=%g)"):format(corner), function(a, b)
          return nn.smooth_l1(a, b, {reduction = reduction, beta = corner})
        end)
      end
      add({q, u}, "F.binary_cross_entropy(a, b, R)", function(a, b) return nn.bce(a, b, o) end)
      add({p, u}, "F.binary_cross_entropy_with_logits(a, b, R)", function(a, b) return nn.bce_with_logits(a, b, o) end)
      add({wild, gb.tensor{1, 0, 0, 1, 0.5, 0.25}}, "F.binary_cross_entropy_with_logits(a, b, R)", function(a, b)
        return nn.bce_with_logits(a, b, o)
      end)
      local y <const> = labels(20, 5)
      add({normal(20, 5), y}, "F.cross_entropy(a, b - 1, R)", function(a, b) return nn.cross_entropy(a, b, o) end)
      add({normal(20, 5) * 1e3, y}, "F.cross_entropy(a, b - 1, R)", function(a, b) return nn.cross_entropy(a, b, o) end)
      add({normal(20, 5), y}, "F.cross_entropy(a, b - 1, ignore_index=1, label_smoothing=0.2, R)", function(a, b)
        return nn.cross_entropy(a, b, {reduction = reduction, ignore = 2, smoothing = 0.2})
      end)
      local holes <const> = gb.where(y:eq(3), -100, y):eval()
      add({normal(20, 5), holes}, "F.cross_entropy(a, torch.where(b < 0, b, b - 1), R)", function(a, b)
        return nn.cross_entropy(a, b, {reduction = reduction, ignore = -100})
      end)
      add({log_q, holes}, "F.nll_loss(a, torch.where(b < 0, b, b - 1), R)", function(a, b)
        return nn.nll(a, b, {reduction = reduction, ignore = -100})
      end)
      add({normal(20, 5), y}, "F.cross_entropy(a, b - 1, label_smoothing=1.0, R)", function(a, b)
        return nn.cross_entropy(a, b, {reduction = reduction, smoothing = 1})
      end)
      add({log_q, y}, "F.nll_loss(a, b - 1, R)", function(a, b) return nn.nll(a, b, o) end)
      local kl <const> = {mean = "F.kl_div(a, b, reduction='batchmean')", sum = "F.kl_div(a, b, R)",
        none = "F.kl_div(a, b, R).sum(-1)"}
      add({log_q, v}, kl[reduction], function(a, b) return nn.kl(a, b, o) end)
    end
    local w <const>, y <const> = gb.rand(20), labels(20, 5)
    rows[#rows + 1] = row({normal(20, 5), y, w}, "(F.cross_entropy(a, b - 1, reduction='none') * c).sum() / c.sum()",
      function(a, b, c) return nn.cross_entropy(a, b, {weights = c}) end)
    rows[#rows + 1] = row({p, t, w}, "(((a - b) ** 2) * c[:, None]).sum() / (3 * c.sum())",
      function(a, b, c) return nn.mse(a, b, {weights = c}) end)
    return rows
  end)

  compare("bce of 0 and 1", function()
    return {row({gb.tensor{1, 0, 0.25}, gb.tensor{1, 0, 1}}, "F.binary_cross_entropy(a, b)", nn.bce, values)}
  end)

  -- Positions ---------------------------------------------------------------------------------------------------------------------

  compare("gather and scatter_add, with repeats", function()
    local rows <const> = {}
    for _, d in ipairs{1, 2, 3} do
      for _, count in ipairs{1, 3, 9} do
        local shape <const> = {5, 6, 4}
        local x <const> = normal(shape)
        local extent <const> = shape[d]
        shape[d] = count
        local at <const> = labels(5 * 6 * 4 // extent * count, extent):reshape(shape)
        rows[#rows + 1] = row({x, at}, ("torch.gather(a, %d, b - 1)"):format(d - 1), function(a, b) return a:gather(d, b) end)
        rows[#rows + 1] = row({x, at, normal(shape)}, ("torch.scatter_add(a, %d, b - 1, c)"):format(d - 1),
          function(a, b, c) return a:scatter_add(d, b, c) end)
      end
    end
    local x <const>, at <const> = normal(6, 4), labels(15, 6)
    rows[#rows + 1] = row({x, at}, "a[b - 1]", function(a, b) return a:index(1, b) end)
    rows[#rows + 1] = row({x, at, normal(15, 4)}, "a.index_add(0, b - 1, c)", function(a, b, c) return a:index_add(1, b, c) end)
    return rows
  end)

  compare("order, with ties", function()
    local rows <const> = {}
    for _, x in ipairs{ties(40), ties(7, 30), ties(4, 5, 20)} do
      for d = 1, x.ndim do
        for _, down in ipairs{false, true} do
          local o <const>, text <const> = {descending = down}, down and "True" or "False"
          rows[#rows + 1] = row({x}, ("torch.argsort(a, dim=%d, descending=%s, stable=True) + 1"):format(d - 1, text),
            function(t) return t:argsort(d, o) end)
          rows[#rows + 1] = row({x}, ("(lambda r: (r[0], r[1] + 1))(torch.sort(a, dim=%d, descending=%s, stable=True))"):format(
            d - 1, text), function(t) return t:sort(d, o) end)
        end
        rows[#rows + 1] = row({x}, ("torch.argmax(a, %d) + 1"):format(d - 1), function(t) return t:argmax(d) end)
        rows[#rows + 1] = row({x}, ("torch.argmin(a, %d) + 1"):format(d - 1), function(t) return t:argmin(d) end)
        rows[#rows + 1] = row({x}, ("torch.amax(a, %d)"):format(d - 1), function(t) return t:max(d) end)
        rows[#rows + 1] = row({x}, ("torch.amin(a, %d)"):format(d - 1), function(t) return t:min(d) end)
      end
    end
    local holes <const> = gb.tensor{3, 0 / 0, 1, -1 / 0, 0 / 0, 1 / 0, 2}
    rows[#rows + 1] = row({holes}, "torch.argsort(a, stable=True) + 1", function(t) return t:argsort(1) end)
    rows[#rows + 1] = row({holes}, "torch.argmax(a) + 1", function(t) return t:argmax() end)
    rows[#rows + 1] = row({holes}, "torch.argmin(a) + 1", function(t) return t:argmin() end)
    return rows
  end)

  compare("topk", function()
    local rows <const> = {}
    for _, k in ipairs{1, 2, 5, 17, 30} do
      for _, largest in ipairs{true, false} do
        for d = 1, 2 do
          local x <const> = d == 2 and normal(9, 30) or normal(30, 9)
          rows[#rows + 1] = row({x}, ("(lambda r: (r[0], r[1] + 1))(torch.topk(a, %d, %d, %s))"):format(k, d - 1,
            largest and "True" or "False"), function(t) return t:topk(k, d, {largest = largest}) end)
        end
        rows[#rows + 1] = row({ties(9, 30)}, ("torch.topk(a, %d, 1, %s)[0]"):format(k, largest and "True" or "False"),
          function(t) return (t:topk(k, 2, {largest = largest})) end, values)
      end
    end
    return rows
  end)

  compare("median, quantile, unique, nonzero", function()
    local rows <const> = {}
    for i, x in ipairs{normal(9, 11), ties(8, 6), gb.tensor{{1, 0 / 0}, {2, 3}}} do
      local kinds <const> = i > 1 and values or nil                         -- equal neighbours: each library has its subgradient
      rows[#rows + 1] = row({x}, "torch.quantile(a, 0.5, 0)", function(t) return t:median(1) end, kinds)
      for _, q in ipairs{0, 0.1, 0.5, 0.77, 1} do
        rows[#rows + 1] = row({x}, ("torch.quantile(a, %g, 1)"):format(q), function(t) return t:quantile(q, 2) end, kinds)
        rows[#rows + 1] = row({x}, ("torch.quantile(a, %g)"):format(q), function(t) return t:quantile(q) end, kinds)
      end
    end
    rows[#rows + 1] = row({ties(8, 6)},
      "(lambda r: (r[0], r[1] + 1, r[2]))(torch.unique(a, return_inverse=True, return_counts=True))",
      function(t) return t:unique() end, values)
    rows[#rows + 1] = row({ties(8, 6)}, "torch.nonzero(a) + 1", function(t) return t:nonzero() end, values)
    return rows
  end)

  compare("segments, counts, histograms, one-hot rows", function()
    local rows <const> = {}
    local y <const> = labels(50, 4)                                        -- of 5: one is empty
    local columns <const> = "(b - 1)[:, None].expand_as(a)"
    for _, x in ipairs{normal(50, 3), ties(50, 3)} do
      rows[#rows + 1] = row({x, y}, "torch.zeros(5, 3).double().index_add(0, b - 1, a)",
        function(a, b) return gb.segment_sum(a, b, 5) end)
      local means <const> = "torch.zeros(4, 3).double().scatter_reduce(0, %s, a, 'mean', include_self=False)"
      rows[#rows + 1] = row({x, y}, means:format(columns),
        function(a, b) return gb.segment_mean(a, b, 4) end)
      for name, kind in pairs{segment_max = "amax", segment_min = "amin"} do
        local extremes <const> = "torch.full((5, 3), %sinf).double().scatter_reduce(0, %s, a, '%s', include_self=False)"
        rows[#rows + 1] = row({x, y}, extremes:format(kind == "amax" and "-" or "", columns, kind),
          function(a, b) return gb[name](a, b, 5) end)
      end
    end
    rows[#rows + 1] = row({y}, "torch.bincount(a - 1, minlength=5)", function(a) return gb.bincount(a, {k = 5}) end)
    rows[#rows + 1] = row({y, normal(50)}, "torch.bincount(a - 1, b.detach(), 5)",
      function(a, b) return gb.bincount(a, {k = 5, weights = b}) end, values)
    rows[#rows + 1] = row({y}, "F.one_hot(a - 1, 5)", function(a) return gb.one_hot(a, 5, {dtype = "i64"}) end)
    for _, x in ipairs{ties(200), normal(200)} do
      rows[#rows + 1] = row({x}, "torch.histogram(a.detach(), 6, range=(-3., 3.))[0].long()",
        function(a) return (gb.histogram(a, {bins = 6, range = {-3, 3}})) end)
      rows[#rows + 1] = row({x}, "torch.histogram(a.detach(), torch.tensor([-2., -1, 0, 1.5, 3]).double())[0].long()",
        function(a) return (gb.histogram(a, {bins = {-2, -1, 0, 1.5, 3}})) end)
      rows[#rows + 1] = row({x, gb.rand(200)}, "torch.histogram(a.detach(), 6, range=(-3., 3.), weight=b.detach())[0]",
        function(a, b) return (gb.histogram(a, {bins = 6, range = {-3, 3}, weights = b})) end, values)
    end
    return rows
  end)

  compare("cdist, outer, norms", function()
    local rows <const> = {}
    local a <const>, b <const> = normal(9, 4), normal(7, 4)
    for _, p in ipairs{1, 2, 3, 1.5, math.huge} do
      rows[#rows + 1] = row({a, b}, ("torch.cdist(a, b, p=%s)"):format(p == math.huge and "inf" or p),
        function(x, y) return gb.cdist(x, y, {p = p}) end)
      rows[#rows + 1] = row({a}, ("torch.linalg.vector_norm(a, %s, 1)"):format(p == math.huge and "inf" or p),
        function(x) return x:norm(2, {p = p}) end)
    end
    rows[#rows + 1] = row({normal(2, 5, 3), normal(2, 4, 3)}, "torch.cdist(a, b)", function(x, y) return gb.cdist(x, y) end)
    rows[#rows + 1] = row({normal(5), normal(4)}, "torch.outer(a, b)", function(x, y) return gb.outer(x, y) end)
    for d = 1, 2 do
      rows[#rows + 1] = row({a}, ("torch.var(a, %d)"):format(d - 1), function(x) return x:var(d) end)
      rows[#rows + 1] = row({a}, ("torch.std(a, %d, correction=0)"):format(d - 1), function(x) return x:std(d, {ddof = 0}) end)
      rows[#rows + 1] = row({a}, ("torch.prod(a, %d)"):format(d - 1), function(x) return x:prod(d) end)
      rows[#rows + 1] = row({a}, ("torch.cumsum(a, %d)"):format(d - 1), function(x) return x:cumsum(d) end)
    end
    return rows
  end)

  compare("moves", function()
    local rows <const> = {}
    local x <const> = normal(6, 7, 5)
    for d = 1, 3 do
      rows[#rows + 1] = row({x}, ("torch.roll(a, 3, %d)"):format(d - 1), function(t) return t:roll(3, d) end)
      rows[#rows + 1] = row({x}, ("torch.roll(a, -9, %d)"):format(d - 1), function(t) return t:roll(-9, d) end)
      for _, w in ipairs{{2, 1}, {3, 2}, {5, 3}, {1, 4}} do
        rows[#rows + 1] = row({x}, ("a.unfold(%d, %d, %d)"):format(d - 1, w[1], w[2]),
          function(t) return t:unfold(d, w[1], w[2]) end)
      end
      rows[#rows + 1] = row({x}, ("torch.chunk(a, 3, %d)"):format(d - 1), function(t) return table.unpack(t:chunk(3, d)) end)
      rows[#rows + 1] = row({x}, ("torch.split(a, 4, %d)"):format(d - 1), function(t) return table.unpack(t:split(4, d)) end)
      rows[#rows + 1] = row({x}, ("torch.flip(a, (%d,))"):format(d - 1), function(t) return t:flip(d) end)
    end
    for k = -8, 8, 2 do
      rows[#rows + 1] = row({x}, ("torch.tril(a, %d)"):format(k), function(t) return t:tril(k) end)
      rows[#rows + 1] = row({x}, ("torch.triu(a, %d)"):format(k), function(t) return t:triu(k) end)
    end
    rows[#rows + 1] = row({x:select(1, 1)}, "a.diagonal().sum()", function(t) return t:trace() end)
    rows[#rows + 1] = row({x}, "F.pad(a, (1, 2, 0, 3), value=1.5)", function(t)
      return t:pad(3, 1, 2, {value = 1.5}):pad(2, 0, 3, {value = 1.5})
    end)
    for _, mode in ipairs{"reflect", "replicate", "circular"} do
      for _, by in ipairs{{1, 2}, {0, 4}, {4, 0}, {3, 3}} do
        rows[#rows + 1] = row({x}, ("F.pad(a, (%d, %d), mode='%s')"):format(by[1], by[2], mode), function(t)
          return t:pad(3, by[1], by[2], {mode = mode})
        end)
        rows[#rows + 1] = row({x}, ("F.pad(a.permute(0, 2, 1), (%d, %d), mode='%s').permute(0, 2, 1)"):format(by[1], by[2], mode),
          function(t) return t:pad(2, by[1], by[2], {mode = mode}) end)
      end
    end
    rows[#rows + 1] = row({x}, "a.masked_fill(a > 0, 7)", function(t) return t:masked_fill(t:gt(0), 7) end)
    return rows
  end)
end)

--- Which programs plans can cut, and that a cut changes no bit.
local gb <const> = require "gibbous"

local function bits(t)
  local out <const> = {}
  for i, v in ipairs(t) do out[i] = v:reshape(v.numel):totable() end
  return out
end

--- The program's values within 'budget', as tables of numbers.
local function values(program, lazy, budget)
  local out <const> = program(lazy)
  gb.plan(out, {budget = budget}):run()
  return bits(out)
end

local function minimum(program, lazy) return gb.plan(program(lazy)).minimum end

--- Data that are read: a value computed from a seed would be the same node in every program.
local function leaf(...)
  local args <const> = {...}
  return gb.tensor(gb.randn(table.unpack(args)):totable())
end

local function named(lazy, batch, ...)
  if not lazy then return ... end
  return gb.lazy(..., {batch = batch})
end

--- At the smallest budget, and between it and the whole: the same bits, and no less memory does.
local function same_bits_everywhere(program, lazy)
  local plan <const> = gb.plan(program(lazy))
  local least <const>, most <const> = plan.minimum, plan.peak
  local whole <const> = values(program, lazy, nil)
  for i = 0, 3 do
    assert.same(whole, values(program, lazy, least + (most - least) * i // 3))
  end
  assert.is_false(pcall(gb.plan, program(lazy), {budget = least - 1}))
end

-- Normalised over the batch: everything is read twice, so that nothing can be cut.
local function batch_norm(lazy)
  local x, y = leaf(3000, 16, {seed = 5}), leaf(3000, {seed = 6})
  if lazy then x, y = gb.lazy(x, y, {batch = 1}) end
  local w <const> = gb.randn(16, 16, {seed = 7}):requires_grad()
  local h <const> = x:matmul(w)
  local z <const> = (h - h:mean(1)) / (h:var(1, {ddof = 0}) + 1e-5):sqrt()
  local loss <const> = ((z:relu():sum(2) - y) ^ 2):mean()
  return {loss, gb.grad(loss, w)}
end

-- The samples are columns.
local function features_by_samples(lazy)
  local x <const> = named(lazy, 2, leaf(16, 3000, {seed = 1}))
  local w <const> = gb.randn(16, 16, {seed = 2}):requires_grad()
  local loss <const> = (w:matmul(w:matmul(x):tanh()) ^ 2):mean()
  return {loss, gb.grad(loss, w)}
end

local function sorted_columns(lazy)
  local x <const> = named(lazy, 2, leaf(20, 2000, {seed = 1}))
  return {(x:sort(1) * gb.range(1, 20, 1, {dtype = "f64"}):unsqueeze(2)):sum(), x:exp():sum(1)}
end

-- As many shifted slices as a 3 x 3 convolution takes.
local function stacked(lazy)
  local x <const> = named(lazy, 1, leaf(400, 60, {seed = 1}))
  local w <const> = gb.randn(9, 4, {seed = 2}):requires_grad()
  local slices <const> = {}
  for i = 1, 9 do slices[i] = x:slice(2, i, 50 + i) end
  local loss <const> = gb.stack(slices, 3):matmul(w):relu():mean()
  return {loss, gb.grad(loss, w)}
end

-- A batch beside an axis that can be cut as well: rows of samples and columns of weights.
local function two_axes(lazy)
  local x <const> = named(lazy, 1, leaf(20, 40, {seed = 1}))
  local w <const> = leaf(40, 3000, {seed = 2})
  return {(x:matmul(w):tanh() ^ 2):sum(1)}
end

local programs <const> = {batch_norm = batch_norm, features_by_samples = features_by_samples, stacked = stacked,
  sorted_columns = sorted_columns, two_axes = two_axes}

describe("a named batch", function()
  for name, program in pairs(programs) do
    it("never raises the smallest budget: " .. name, function()
      assert.is_true(minimum(program, true) <= minimum(program, false) * 1.001 + 4096)
    end)

    it("has the same bits at every budget: " .. name, function()
      same_bits_everywhere(program, true)
      same_bits_everywhere(program, false)
    end)
  end

  it("may be the columns of a product", function()
    local plan <const> = gb.plan(features_by_samples(true))
    assert.is_true(plan.minimum < plan.peak / 4)
  end)

  it("leaves other axes to be cut", function()
    local plan <const> = gb.plan(two_axes(true))
    assert.is_true(plan.minimum < plan.peak / 4)
  end)
end)

describe("stack", function()
  it("of any number of tensors is cut along the batch", function()
    local plan <const> = gb.plan(stacked(true))
    assert.is_true(plan.minimum < plan.peak / 4)
  end)
end)

describe("gb.func{axes = ...}", function()
  local function cube(axes, seen)
    return gb.func{name = "cube", shape = "same", axes = axes,
      bytes = function(s) return s[1] * s[2] * 16 + 65536 end,
      forward = function(x)
        seen[#seen + 1] = x.shape[1]
        return x ^ 3
      end,
      backward = function(dy, x) return 3 * x ^ 2 * dy end}
  end

  local function program(axes, seen)
    return function()
      local x <const>, w <const> = leaf(5000, 16, {seed = 1}), gb.randn(16, 16, {seed = 2}):requires_grad()
      local loss <const> = cube(axes, seen)(x:matmul(w)):mean()
      return {loss, gb.grad(loss, w)}
    end
  end

  it("lets windows of a mapped axis be computed on their own, with the bits of the whole", function()
    local seen <const> = {}
    same_bits_everywhere(program({"map", "map"}, seen))
    assert.equal(5000, seen[1])
    local windows = 0
    for _, n in ipairs(seen) do windows = windows + (n < 5000 and 1 or 0) end
    assert.is_true(windows > 10)
    local plan <const> = gb.plan(program({"map", "map"}, {})())
    assert.is_true(plan.minimum < plan.peak / 4)
  end)

  it("runs a function whole whose axis is coupled", function()
    for _, axes in ipairs{{}, {"coupled", "map"}} do
      local seen <const> = {}
      local p <const> = program(axes, seen)
      local plan <const> = gb.plan(p())
      plan:run()
      assert.same({5000}, seen)
      assert.is_true(plan.minimum > plan.peak / 2)
    end
  end)

  it("asks the function for the bytes of a window", function()
    local asked <const> = {}
    local f <const> = gb.func{name = "noted", shape = "same", axes = {"map"}, forward = function(x) return x + 1 end,
      bytes = function(s)
        asked[s[1]] = true
        return s[1] * 8 + 16384
      end}
    local x <const> = leaf(4096, {seed = 1})
    local plan <const> = gb.plan(f(x * 2):sum())
    assert.is_true(plan.minimum < plan.peak / 2)
    assert.is_true(asked[4096] and asked[512])
  end)
end)

describe("an axis that no leaf has", function()
  local k <const> = gb.kernels.matern52{ard = true}
  local function rows() return leaf(2003, 3, {seed = 4}) end
  local function squares(x)
    local L <const> = (2 * gb.eye(64) + 0.1 * leaf(64, 64, {seed = 9}):tril(-1)):eval()
    local u <const> = gb.linalg.triangular_solve(L, k(leaf(64, 3, {seed = 2}), x))
    return (u * u):sum(1)
  end
  local function spread(t) return t:unsqueeze(2):expand(2003, 3) end
  local cases <const> = {
    ["random numbers"] = function() return {squares(gb.rand(2003, 3, {seed = 4}))} end,
    ["running sums"] = function() return {squares(rows():cumsum(1))} end,
    ["sorted rows"] = function() return {squares((rows():sort(1)))} end,
    ["a permutation"] = function() return {squares(spread(gb.randperm(2003, {seed = 1}):to{dtype = "f64"} / 2003))} end,
    ["a range"] = function() return {squares(spread(gb.range(1, 2003) / 2003))} end,
    ["random numbers, and the share of each"] = function()
      local s <const> = squares(gb.rand(2003, 3, {seed = 4}))
      return {s / s:sum()}
    end,
    ["random numbers, and a gradient"] = function()
      local w <const> = gb.zeros(3):requires_grad()
      return {gb.grad(squares(gb.rand(2003, 3, {seed = 4}) * (1 + w)):sum(), w)}
    end,
  }
  for name, program in pairs(cases) do
    it("begins where it is made: " .. name, function()
      local plan <const> = gb.plan(program())
      assert.is_true(plan.minimum < plan.peak / 2, ("%d of %d bytes"):format(plan.minimum, plan.peak))
      same_bits_everywhere(program)
    end)
  end
end)

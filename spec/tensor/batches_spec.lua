--- Factorisations and solves of batches: each slice has the bits of its matrix alone, under any budget, and gradients are those
--- of the slices.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises

local function leaf(...) return gb.tensor(gb.randn(...):totable()) end

--- B positive definite matrices of order n, symmetric by structure.
local function positive(x) return x:matmul(x:t()) + gb.eye(x.shape[x.ndim - 1]) end

local function bits(t) return t:reshape(t.numel):totable() end

local calls <const> = {
  cholesky = function(a) return gb.linalg.cholesky(a, {jitter = 0.1}) end,
  solve = function(a, b) return gb.linalg.solve(a, b) end,
  ["solve by LU"] = function(a, b) return gb.linalg.solve(a + gb.linalg.diag(b * 0.1):cumsum(-1), b) end,
  triangular_solve = function(a, b) return gb.linalg.triangular_solve(gb.linalg.cholesky(a), b, {transposed = true}) end,
  logdet = function(a) return gb.linalg.logdet(a) end,
  ["logdet by LU"] = function(a, b) return gb.linalg.logdet(a + gb.linalg.diag(b * 0.1):cumsum(-1)) end,
  inv_quad = function(a, b) return gb.linalg.inv_quad(a, b) end,
  qr = function(a) local q <const>, r <const> = gb.linalg.qr(a) return q:matmul(r:exp()) end,
  eigh = function(a) local w <const>, v <const> = gb.linalg.eigh(a) return v * w:unsqueeze(-2) end,
  svd = function(a) local u <const>, s <const> = gb.linalg.svd(a) return u:abs() * s:unsqueeze(-2) end,
  lstsq = function(a, b) return gb.linalg.lstsq(a, b) end,
}

describe("linear algebra of a batch", function()
  it("has the bits of each matrix alone, and vmap makes it", function()
    local x <const>, b <const> = leaf(3, 4, 5), leaf(3, 4)
    for name, f in pairs(calls) do
      local all <const> = f(positive(x), b):eval()
      local mapped <const> = gb.vmap(function(xi, bi) return f(positive(xi), bi) end)(x, b):eval()
      assert.same(bits(all), bits(mapped), name)
      for i = 1, 3 do assert.same(bits(f(positive(x[i]), b[i])), bits(all[i]), name .. " of one") end
    end
  end)

  it("has the gradients of the slices", function()
    for name, f in pairs(calls) do
      local x <const>, b <const> = leaf(3, 4, 4):requires_grad(), leaf(3, 4):requires_grad()
      local gx <const>, gb_ <const> = table.unpack(gb.grad(f(positive(x), b):sin():sum(), {x, b}, {unused = "zero"}))
      for i = 1, 3 do
        local xi <const>, bi <const> = gb.tensor(x[i]:totable()):requires_grad(), gb.tensor(b[i]:totable()):requires_grad()
        local hx <const>, hb <const> = table.unpack(gb.grad(f(positive(xi), bi):sin():sum(), {xi, bi}, {unused = "zero"}))
        near(hx, gx[i], 1e-9, name)
        near(hb, gb_[i], 1e-9, name)
      end
    end
  end)

  it("reads right-hand sides by their axes", function()
    local a <const>, l <const> = positive(leaf(3, 4, 5)), leaf(4, 4)
    assert.same({3, 4}, gb.linalg.solve(a, leaf(4)).shape)
    assert.same({3, 4}, gb.linalg.solve(a, leaf(3, 4)).shape)
    assert.same({3, 4, 2}, gb.linalg.solve(a, leaf(1, 4, 2)).shape)
    assert.same({2, 3, 4, 2}, gb.linalg.solve(a, leaf(2, 3, 4, 2)).shape)
    assert.same({5, 4, 2}, gb.linalg.solve(positive(l), leaf(5, 4, 2)).shape)
    assert.same({5}, gb.linalg.inv_quad(positive(l), leaf(5, 4, 2)).shape)
    assert.same({3, 4, 4}, gb.linalg.diag(leaf(3, 4)).shape)
    raises("shape", "(1, n, r)", gb.linalg.solve, a, leaf(4, 2))
    raises("shape", "batch axes do not fit", gb.linalg.solve, a, leaf(2, 4, 2))
    raises("shape", "numbers of rows differ", gb.linalg.triangular_solve, a, leaf(1, 3, 2))
    raises("shape", "a square matrix, or a batch of them", gb.linalg.logdet, leaf(2, 3, 4))
    local many <const> = leaf(5, 4, 2)
    near(gb.linalg.inv_quad(positive(l):expand(5, 4, 4), many), gb.linalg.inv_quad(positive(l), many), 1e-12)
  end)

  it("factors a batch of identities times rows, and what was computed before, as symmetric", function()
    local rows <const>, ones <const>, eyes <const> = leaf(2, 3):exp(), gb.ones(3, 3):eval(), gb.eye(3):expand(2, 3, 3):eval()
    near({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, ones * 1, 0)
    near(gb.linalg.diag(rows), eyes * rows:unsqueeze(2), 0)
    near(rows:log():sum(2), gb.linalg.logdet(gb.linalg.diag(rows)), 1e-14)
  end)

  it("takes matrices of order 1 for any numbers", function()
    local a <const> = gb.tensor{{-2}} * 1.5
    near({-4}, gb.linalg.solve(a, gb.tensor{12}), 1e-15)
    near(math.log(3), gb.linalg.logdet(a):item(), 1e-15)
    near(-48, gb.linalg.inv_quad(a, gb.tensor{12}):item(), 1e-15)
    near({{-4}, {2}}, gb.linalg.solve(gb.tensor{{{-2}}, {{4}}} * 1.5, gb.tensor{{12}, {12}}), 1e-15)
  end)

  it("is cut along the batch where the whole does not fit, with the same bits", function()
    local points <const>, values <const> = gb.randn(64, 40, 3):totable(), gb.randn(64, 40):totable()
    local function program()
      local x <const>, y <const> = gb.tensor(points), gb.tensor(values)
      local d <const> = x:unsqueeze(3) - x:unsqueeze(2)
      local k <const> = ((d * d):sum(-1) * -0.5):exp() + gb.eye(40)
      return {gb.linalg.inv_quad(k, y) + gb.linalg.logdet(k)}
    end
    local whole <const> = program()
    local plan <const> = gb.plan(whole)
    plan:run()
    assert.is_true(plan.minimum < plan.peak / 4, ("%d of %d"):format(plan.minimum, plan.peak))
    for i = 0, 3 do
      local part <const> = program()
      gb.plan(part, {budget = plan.minimum + (plan.peak - plan.minimum) * i // 3}):run()
      assert.same(bits(whole[1]), bits(part[1]))
    end
    assert.is_false(pcall(gb.plan, program(), {budget = plan.minimum - 1}))
  end)

  it("names the matrix of the whole batch that fails, in windows too", function()
    local points <const> = gb.randn(64, 40, 3):totable()
    local shift <const> = gb.zeros(64, 1, 1):totable()
    shift[50][1][1] = -2
    local function program()
      local x <const> = gb.tensor(points)
      local d <const> = x:unsqueeze(3) - x:unsqueeze(2)
      return {gb.linalg.logdet(((d * d):sum(-1) * -0.5):exp() + gb.eye(40):unsqueeze(1) * (gb.tensor(shift) + 1))}
    end
    local plan <const> = gb.plan(program())
    for i = 0, 1 do
      local part <const> = gb.plan(program(), {budget = plan.minimum + (plan.peak - plan.minimum) * i})
      raises("not_pd", "matrix 50 of 64: the leading minor of order ", function() part:run() end)
    end
  end)
end)

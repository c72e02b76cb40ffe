--- Derivatives where the usual formula has a hole: factors that are 0, norms and powers at 0, far tails.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local near <const> = support.near

-- The derivatives 1, 2, .. 'order' of f at x along v: f'(x + t v) at t = 0, and so on.
local function along(f, x, v, order)
  x = gb.tensor(x):requires_grad()
  v = gb.tensor(v)
  local y, out = f(x), {}
  for k = 1, order do
    y = (gb.grad(y, x, {unused = "zero"}) * v):sum()
    out[k] = y:item()
  end
  return out
end

-- k! times the coefficient of t^k in the product of (x_i + t v_i).
local function product_along(x, v, order)
  local c <const> = {[0] = 1}
  for k = 1, order do c[k] = 0 end
  for i = 1, #x do
    for k = order, 0, -1 do c[k] = c[k] * x[i] + (k > 0 and c[k - 1] * v[i] or 0) end
  end
  local out <const>, factorial = {}, 1
  for k = 1, order do
    factorial = factorial * k
    out[k] = c[k] * factorial
  end
  return out
end

describe("derivatives of prod", function()
  it("of second order are right where a factor is 0", function()
    local x <const> = gb.tensor{2, 0, 3}:requires_grad()
    near({3, 5, 2}, gb.grad(gb.grad(x:prod(), x):sum(), x), 0)
    local y <const> = gb.tensor{2, 0, 0}:requires_grad()
    near({0, 2, 2}, gb.grad(gb.grad(y:prod(), y):sum(), y), 0)
  end)

  it("of order 1 to 4 are right with none to four zeros among any number of factors", function()
    for _, n in ipairs{1, 2, 3, 7, 18, 34, 37} do
      for zeros = 0, math.min(4, n) do
        local x <const>, v <const> = gb.rand(n, {seed = n}):totable(), gb.randn(n, {seed = n + 1}):totable()
        for i = 1, n do x[i] = x[i] + 0.5 end
        for k = 1, zeros do x[(k * 5) % n + 1] = 0 end
        near(product_along(x, v, 4), along(function(t) return t:prod() end, x, v, 4), 1e-11, n .. " factors, " .. zeros .. " zeros")
      end
    end
  end)

  it("are right over several axes, in any of eight", function()
    local x <const>, v <const> = {1.5, 0, 2, 0, 0, 1, 3, 0.5}, {1, 2, -1, 0.5, 3, 1, -2, 1}
    local want <const> = product_along(x, v, 4)
    for _, shape in ipairs{{2, 2, 2}, {4, 2}, {1, 2, 1, 2, 1, 1, 2, 1}} do
      local function f(t) return t:reshape(table.unpack(shape)):prod() end
      near(want, along(f, x, v, 4), 1e-12)
    end
    local rows <const> = gb.tensor{{0, 2}, {3, 0}, {0, 0}}:requires_grad()
    local g <const> = gb.grad(rows:prod(2):sum(), rows)
    near({{2, 0}, {0, 3}, {0, 0}}, g, 0)
    near({{1, 1}, {1, 1}, {1, 1}}, gb.grad(g:sum(), rows), 0)
  end)

  it("stream: those of second order of pairs need no more memory than the points", function()
    local x <const> = gb.rand(3000, 3, {seed = 1}):requires_grad()
    local k <const> = (x:unsqueeze(2) - x:unsqueeze(1)):cos():prod(-1)
    local g <const> = gb.grad(k:sum(), x)
    assert.is_true(gb.plan(gb.grad((g * g):sum(), x)).peak < 4 * 2^20)
  end)

  it("of first order alone plan nothing for those of second order", function()
    local x <const> = gb.rand(997, {seed = 1}):eval():requires_grad()
    assert.is_true(gb.plan(gb.grad(x:prod(), x)).peak < 100 * 2^10)
  end)
end)

describe("gradients of diagonals", function()
  it("are right for batches and for matrices that are not square", function()
    for _, shape in ipairs{{3, 3}, {2, 3, 3}, {2, 2, 3, 2}, {2, 1, 2, 4}} do
      local x <const> = gb.rand(shape, {seed = 2}):eval():requires_grad()
      local d <const> = x:diagonal()
      local w <const> = gb.rand(d.shape, {seed = 3}):eval()
      local g <const> = gb.grad((d * w):sum(), x)
      near(w, g:diagonal(), 0)
      assert.equal(w:sum():item(), g:sum():item())
    end
  end)

  it("pass through einsum with a letter used twice", function()
    local x <const> = gb.rand(2, 3, 3, {seed = 4}):eval():requires_grad()
    local w <const> = gb.tensor{2, 5}
    local want <const> = gb.eye(3):unsqueeze(1) * w:unsqueeze(2):unsqueeze(3)
    near(want, gb.grad((gb.einsum("abb->a", x) * w):sum(), x), 0)
    local y <const> = gb.rand(3, 2, 3, 2, {seed = 5}):eval():requires_grad()
    local v <const> = gb.rand(3, 2, {seed = 6}):eval()
    local g <const> = gb.grad((gb.einsum("abab->ab", y) * v):sum(), y)
    near(v, gb.einsum("abab->ab", g), 0)
    assert.equal(6, g:ne(0):to{dtype = "i64"}:sum():item())
  end)
end)

describe("gradients at 0", function()
  it("of norms are 0 for every p, and those of other elements finite", function()
    local z <const> = gb.zeros(3):requires_grad()
    local x <const> = gb.tensor{0, 3, -4}:requires_grad()
    for _, p in ipairs{-1, 0.5, 1, 1.5, 2, 3, 4, math.huge} do
      if p < math.huge then near({0, 0, 0}, gb.grad(z:norm(nil, {p = p}), z), 0, "p = " .. p) end
      local y <const> = x:norm(nil, {p = p})
      local g <const> = gb.grad(y, x):totable()
      assert.equal(0, g[1], "p = " .. p)
      if p > 0 and p < math.huge then
        local n <const> = y:item()
        near({(3 / n)^(p - 1), -(4 / n)^(p - 1)}, {g[2], g[3]}, 1e-12, "p = " .. p)
      end
    end
  end)

  it("of powers are those of polynomials, to the third order, whether the exponent is a number or a tensor", function()
    for p = 0, 5 do
      local want <const>, c = {}, 1
      for k = 1, 3 do
        c = c * (p - k + 1)
        want[k] = k == p and c or 0
      end
      near(want, along(function(t) return (t^p):sum() end, {0}, {1}, 3), 0, "x^" .. p)
      near(want, along(function(t) return (t^gb.tensor{p}):sum() end, {0}, {1}, 3), 0, "x^{" .. p .. "}")
    end
    near({0, 0}, along(function(t) return (t^0):sum() end, {0, 2}, {1, 1}, 2), 0)
    local p <const> = gb.tensor{0, 2}:requires_grad()
    near({math.log(2), 4 * math.log(2)}, gb.grad((gb.tensor{2, 2}^p):sum(), p), 1e-15)
  end)
end)

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

-- x, and there the first three derivatives of log Phi, to 17 digits by 120 digits or more.
local tails <const> = {
    {-1e8, 100000000.00000001, -0.9999999999999999, 1.9999999999999976e-24},
    {-1e6, 1000000.000001, -0.999999999999, 1.999999999976e-18},
    {-1e4, 10000.000099999998, -0.9999999900000006, 1.99999976000003e-12},
    {-300, 300.00333325926337, -0.99998888962956105, 7.4064198902395809e-8},
    {-100, 100.00999800099926, -0.99990005995005174, 1.9976029958623432e-6},
    {-37.5, 37.526628874883654, -0.99929190511457925, 3.7605140156381738e-5},
    {-10, 10.098093233962512, -0.99055462217434374, 0.0017864003921165069},
    {-5, 5.1865039671258421, -0.96730356538288777, 0.0108257645063567},
    {-3, 3.2830986549304365, -0.92944081321473188, 0.031470672830842488},
    {-2.5, 2.8227447976639073, -0.91102619857888456, 0.04287863103702551},
    {-2, 2.3732155328228409, -0.88572089958591874, 0.059355861291565813},
    {-1.999, 2.3723298416077572, -0.88566152400877956, 0.059395297838358123},
    {-1, 1.5251352761609812, -0.80090233442965121, 0.11693119540604883},
    {0, 0.79788456080286536, -0.63661977236758134, 0.21801361414499016},
    {1, 0.28759997093917836, -0.3703137142233946, 0.29571817018227121},
    {5, 1.4867199409049057e-6, -7.4336019148607112e-6, 3.568131173676705e-5},
    {10, 7.6945986267064193e-23, -7.6945986267064193e-22, 7.6176526404393552e-21},
    {20, 5.5209483621597632e-88, -1.1041896724319526e-86, 2.2028583965017455e-85},
    {37, 2.1200065515246056e-298, 0, 0},
    {40, 0, 0, 0},
}

-- x, and there the derivatives of order 1 to 6 of log Gamma.
local gammas <const> = {
    {0.1, {-10.423754940411076, 101.43329915079275, -2001.8614573783437, 60004.512876790253, -2400015.6072031952,
      120000069.30751093}},
    {0.5, {-1.9635100260214235, 4.9348022005446793, -16.82879664423432, 97.409091034002437, -771.47424982666723,
      7691.1135486024355}},
    {1, {-0.57721566490153286, 1.6449340668482264, -2.4041138063191886, 6.4939394022668291, -24.886266123440878,
      122.0811674381339}},
    {2.5, {0.70315664064524319, 0.49035775610023486, -0.2362040516417274, 0.22390584881725205, -0.31375599950673136,
      0.57856917856718348}},
    {7.25, {1.910453526883736, 0.14787923315893217, -0.021828952295197739, 0.0064330375979401567, -0.0028387579634221854,
      0.001667357519228256}},
    {30, {3.3844381326855249, 0.033895060357739944, -0.0011487652037285998, 7.7860036647361291e-5, -7.914941340181024e-6,
      1.0726994936161624e-6}},
    {1e6, {13.815510057964191, 1.0000005000001667e-6, -1.0000010000005e-12, 2.000003000002e-18, -6.00001200001e-24,
      2.400006000006e-29}},
    {-0.5, {0.036489973978576521, 8.9348022005446793, -0.82879664423432, 193.40909103400244, -3.4742498266672252,
      15371.113548602435}},
    {-3.3, {3.6203534605921258, 14.817739525515929, 68.769445477485234, 768.98565825542855, 9738.7330621320227,
      165660.14652917209}},
    {-25.7, {0.98331942645047892, 15.041250395072113, -68.838999975986553, 769.02080320890627, -9738.7603145718647,
      165660.17445142363}},
    {-1000.25, {10.050097693066706, 19.738209551699785, 124.02510572269784, 1558.5454565420435, 24481.57478282251,
      492231.26711055587}},
}

local function relative(want, got, tol, what)
  local ok <const> = want == got or math.abs(got - want) <= tol * math.abs(want)
  assert.is_true(ok, ("%s: expected %.17g, got %.17g"):format(what, want, got))
end

describe("derivatives of log_ndtr", function()
  for dtype, tol in pairs{f64 = 1e-14, f32 = 4e-7} do
    it("keep their digits in the far tails, in " .. dtype, function()
      for _, row in ipairs(tails) do
        local at <const> = row[1]
        local x <const> = gb.tensor({at}, {dtype = dtype}):requires_grad()
        if dtype == "f64" or (x:item() == at and at < 10) then
          local y = x:log_ndtr():sum()
          for k = 1, at == 37 and 1 or dtype == "f32" and 2 or 3 do
            y = gb.grad(y, x):sum()
            relative(row[k + 1], y:item(), k < 3 and tol or 4e-14 * math.max(1, math.min(16, math.abs(at))),
              ("%g, order %d"):format(at, k))
          end
        end
      end
    end)
  end
end)

describe("derivatives of log_ndtr of high order", function()
  -- x, and there the third and the fourth
  local high <const> = {
    {-1e4, 1.99999976000003e-12, 5.99999880000021e-16}, {-1000, 1.9999760002999958561e-9, 5.9998800020999627047e-12},
    {-30, 7.3099930157844384667e-5, 7.2459372109803420824e-6}, {-16.5, 0.0004264571329740315673, 7.5361935390503565548e-5},
    {-15.5, 0.000511569412608730001, 9.5883593475755281478e-5}, {-8, 0.0032918765663441355071, 0.0011052920954551626932},
  }
  it("keep their digits where their terms cancel, by every way to them", function()
    for _, row in ipairs(high) do
      local x <const> = gb.tensor({row[1]}):requires_grad()
      local first <const> = gb.grad(x:log_ndtr():sum(), x)
      local third <const> = gb.grad(gb.grad(first:sum(), x):sum(), x)
      relative(row[2], third:item(), 4e-13, row[1] .. ", order 3")
      relative(row[2], gb.grad(gb.grad((first + x):sum(), x):sum(), x):item(), 4e-13, row[1] .. ", of the gap")
      relative(row[3], gb.grad(third:sum(), x):item(), row[1] < -16 and 1e-14 or 1e-11, row[1] .. ", order 4")
    end
  end)
end)

describe("derivatives of lgamma", function()
  it("are right to the sixth order, on both sides of 0", function()
    for _, row in ipairs(gammas) do
      local x <const> = gb.tensor{row[1]}:requires_grad()
      local y = x:lgamma():sum()
      for k = 1, 6 do
        y = gb.grad(y, x):sum()
        relative(row[2][k], y:item(), row[1] < 0 and 1e-11 or 2e-15 * (k + 1), ("%g, order %d"):format(row[1], k))
      end
    end
  end)

  it("have their poles", function()
    assert.equal(-math.huge, gb.tensor{0.0}:digamma():item())
    assert.equal(math.huge, gb.tensor{-0.0}:digamma():item())
    assert.is_true(gb.tensor{-1.0}:digamma():isnan():item())
  end)
end)

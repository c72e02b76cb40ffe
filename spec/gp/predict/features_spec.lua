--- Functions drawn from a prior, number by number: the random features of each kernel, written out.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local features <const> = require "gibbous.gp.predict.features"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local x <const> = gb.tensor{{0.1, -0.4}, {1.2, 0.3}, {-0.7, 0.9}}
local SEED <const>, DRAWS <const> = 3, 2

--- Normal numbers in the order in which they are asked for; 'options' those of another kind.
local function stream(dtype)
  local s <const> = {asked = 0}
  function s.options()
    s.asked = s.asked + 1
    return {dtype = dtype or "f64", seed = SEED * 7919 + s.asked}
  end
  function s.normal(rows, columns) return core.randn(rows, columns, s.options()) end
  return s
end

--- a (cos p w + sin p w') with weights of this variance in all.
local function waves(s, p, scale, a)
  local width <const> = p.shape[2]
  local w <const>, w_sin <const> = s.normal(width, DRAWS) * math.sqrt(scale / width),
    s.normal(width, DRAWS) * math.sqrt(scale / width)
  local cos <const>, sin <const> = p:cos(), p:sin()
  return (a and a * cos or cos):matmul(w) + (a and a * sin or sin):matmul(w_sin)
end

--- The kernel's draws from so many features are 'want(s)', of numbers from the stream s.
local function is(k, count, want, at)
  at = at or x
  local f <const>, white <const> = features.draw(k, at, DRAWS, count, SEED)
  near(want(stream(at.dtype)), f(at), at.dtype == "f32" and 1e-5 or 1e-12)
  return white
end

local l2 <const> = gb.tensor{{0.5}, {2}}

describe("functions of a stationary kernel", function()
  it("are waves of random frequencies", function()
    is(K.rbf{lengthscale = 0.5, variance = 3}, 8, function(s) return waves(s, x:matmul(s.normal(2, 4) / 0.5), 3) end)
    is(K.rbf{lengthscale = {0.5, 2}}, 9, function(s) return waves(s, x:matmul(s.normal(2, 4) / l2), 1) end)
    is(K.rbf{}, 1, function(s) return waves(s, x:matmul(s.normal(2, 1)), 1) end)
    is(K.rbf{active_dims = {2}}, 6, function(s) return waves(s, x:slice(2, 2, 2):matmul(s.normal(1, 3)), 1) end)
    local narrow <const> = x:to{dtype = "f32"}
    is(K.rbf{}, 6, function(s) return waves(s, narrow:matmul(s.normal(2, 3)), 1) end, narrow)
    for name, dof in pairs{matern12 = 1, matern32 = 3, matern52 = 5} do
      is(K[name]{lengthscale = 0.5}, 8, function(s)
        local chi2 <const> = (s.normal(dof, 4) ^ 2):sum(1, {keepdim = true})
        return waves(s, x:matmul(s.normal(2, 4) * (dof / chi2):sqrt() / 0.5), 1)
      end)
    end
  end)

  -- Marsaglia and Tsang's method: a shape below 1 takes one more and a power of a uniform number.
  it("of many scales have frequencies that vary by a gamma distribution", function()
    for _, alpha in ipairs{0.4, 1, 2.5} do
      local count <const> = 40
      is(K.rational_quadratic{alpha = alpha, lengthscale = 0.5}, 2 * count, function(s)
        local w <const> = s.normal(2, count)
        local out <const>, d <const> = {}, (alpha < 1 and alpha + 1 or alpha) - 1 / 3
        local z, u, v
        local at = 1
        while #out < count do
          if z == nil or at > #z then
            local function fresh(make)
              return make(2 * count + 16, {dtype = "f64", seed = s.options().seed}):totable()
            end
            z, u, v, at = fresh(core.randn), fresh(core.rand), fresh(core.rand), 1
          end
          local t <const> = (1 + z[at] / (3 * math.sqrt(d))) ^ 3
          if t > 0 and math.log(u[at]) < 0.5 * z[at] ^ 2 + d * (1 - t + math.log(t)) then
            out[#out + 1] = d * t / alpha * (alpha < 1 and v[at] ^ (1 / alpha) or 1)
          end
          at = at + 1
        end
        return waves(s, x:matmul(w * gb.tensor{out}:sqrt() / 0.5), 1)
      end)
    end
  end)

  it("that repeat are waves on circles", function()
    is(K.periodic{period = 1.5, lengthscale = {0.5, 2}}, 8, function(s)
      local a <const>, b <const>, angle <const> = s.normal(2, 4) / l2, s.normal(2, 4) / l2, x * (2 * math.pi / 1.5)
      return waves(s, angle:cos():matmul(a) + angle:sin():matmul(b), 1)
    end)
    is(K.cosine{period = 1.5, variance = 2}, 8, function(s)
      return waves(s, (x * (2 * math.pi / 1.5)):sum(2, {keepdim = true}), 2)
    end)
    local one <const> = x:slice(2, 1, 1):eval()
    is(K.spectral_mixture{components = 2, means = {0.5, 3}, variances = {0.25, 4}, weights = {0.75, 0.5}}, 12, function(s)
      local function frequencies(mean, sd)
        local sign <const> = core.where(core.rand(1, 3, s.options()):lt(0.5), -gb.ones(1, 3), 1)
        return 2 * math.pi * (mean * sign + sd * s.normal(1, 3))
      end
      local first <const>, second <const> = frequencies(0.5, 0.5), frequencies(3, 2)
      return waves(s, one:matmul(first), 0.75) + waves(s, one:matmul(second), 0.5)
    end, one)
  end)
end)

describe("functions of inner products", function()
  it("of a linear kernel are those of its columns, with no wave", function()
    is(K.linear{variance = 2}, 8, function(s)
      s.options()
      return x:matmul(s.normal(2, DRAWS) * math.sqrt(2))
    end)
  end)

  it("of a polynomial are products of as many as its degree", function()
    is(K.polynomial{degree = 2, offset = 0.5, variance = 3}, 8, function(s)
      local a, b, c, d = s.normal(2, 4), s.normal(1, 4) * math.sqrt(0.5), s.normal(2, 4), s.normal(1, 4) * math.sqrt(0.5)
      return ((x:matmul(a) + b) * (x:matmul(c) + d)):matmul(s.normal(4, DRAWS) * math.sqrt(3 / 4))
    end)
    is(K.linear{} * K.linear{}, 8, function(s)
      local a, b = s.normal(2, 4), s.normal(2, 4)
      return (x:matmul(a) * x:matmul(b)):matmul(s.normal(4, DRAWS) / 2)
    end)
  end)

  it("of a constant are its weights", function()
    is(K.constant{variance = 2}, 8, function(s) return gb.ones(3, 1):matmul(s.normal(1, DRAWS) * math.sqrt(2)) end)
  end)
end)

describe("functions of composites", function()
  it("add terms, of which each has its part of the features", function()
    local white <const> = is(K.rbf{lengthscale = 0.5} + K.white{variance = 0.25} + K.cosine{variance = 2} + K.white{variance =
      0.5}, 8, function(s)
      local w <const> = s.normal(2, 2) / 0.5
      return waves(s, x:matmul(w), 1) + waves(s, (x * (2 * math.pi)):sum(2, {keepdim = true}), 2)
    end)
    near(0.75, white, 1e-12)
    assert.is_nil(is(K.rbf{}, 2, function(s) return waves(s, x:matmul(s.normal(2, 1)), 1) end))
  end)

  it("multiply amplitudes, and add phases", function()
    is((K.rbf{lengthscale = 0.5} * K.polynomial{degree = 1, offset = 0.5} * K.matern12{}) * 2, 8, function(s)
      local w <const> = s.normal(2, 4) / 0.5
      local a <const>, b <const> = s.normal(2, 4), s.normal(1, 4) * math.sqrt(0.5)
      local chi2 <const> = (s.normal(1, 4) ^ 2):sum(1, {keepdim = true})
      local m <const> = s.normal(2, 4) * (1 / chi2):sqrt()
      return waves(s, x:matmul(w) + x:matmul(m), 2, x:matmul(a) + b)
    end)
    is((K.rbf{} + K.cosine{variance = 3}) * (K.rbf{lengthscale = 0.5} + K.cosine{period = 2}), 16, function(s)
      local first <const>, second <const> = s.normal(2, 2), s.normal(2, 2) / 0.5
      local turn <const> = (x * (2 * math.pi)):sum(2, {keepdim = true})
      local p <const>, q <const> = x:matmul(first), x:matmul(second)
      return waves(s, p + q, 1) + waves(s, p + turn / 2, 1) + waves(s, turn + q, 3) + waves(s, turn * 1.5, 3)
    end)
    is((K.rbf{} * K.rbf{}):warp(function(t) return t * 2 end), 4, function(s)
      return waves(s, (x * 2):matmul(s.normal(2, 2)) + (x * 2):matmul(s.normal(2, 2)), 1)
    end)
  end)

  it("of white noise alone are 0, beside its variance", function()
    local white <const> = is(K.white{variance = 0.5}, 8, function() return gb.zeros(3, DRAWS) end)
    near(0.5, white, 1e-12)
  end)

  it("that have none are named", function()
    local text <const> = "a function cannot be drawn from kernel '%s': it has no random features; p:sample draws values at points"
    for kind, k in pairs{white = K.rbf{} * K.white{}, piecewise_polynomial = K.rbf{} + K.piecewise_polynomial{}} do
      raises("option", text:format(kind), features.draw, k, x, 1, 8, 1)
    end
  end)
end)

describe("functions of tasks", function()
  local root <const> = gb.tensor{{1, 0.5, 0}, {2, 0, 1.5}}
  local tasks <const> = gb.tensor{{1}, {2}, {1}}
  local function kernel() return K.index{tasks = 2, rank = 1, weights = {{1}, {2}}, diagonal = {0.25, 2.25}} end

  --- The numbers 1 .. n by the size of random numbers.
  local function order(s, n)
    local key <const>, out <const> = s.normal(1, n):reshape(n):totable(), {}
    for i = 1, n do out[i] = i end
    table.sort(out, function(a, b) return key[a] < key[b] end)
    return out
  end

  it("alone are of the columns of a root of their covariance", function()
    is(kernel(), 8, function(s)
      order(s, 3)
      order(s, 4)
      return root:index(1, tasks:to{dtype = "i64"}:reshape(3)):matmul(s.normal(3, DRAWS))
    end, tasks)
  end)

  it("have features that each have one column, in turn", function()
    local both <const> = gb.cat({x, tasks}, 2):eval()
    for _, pairs_of in ipairs{7, 2} do
      is(K.rbf{active_dims = {1, 2}} * kernel(), 2 * pairs_of, function(s)
        local w <const> = s.normal(2, pairs_of)
        local columns <const>, places <const> = order(s, 3), order(s, pairs_of)
        local amplitude <const> = {}
        for row, task in ipairs{1, 2, 1} do
          amplitude[row] = {}
          for i, j in ipairs(places) do
            local turn <const> = (i - 1) % 3 + 1
            local held <const> = pairs_of < 3 and pairs_of / 3 or turn == 1 and 3 or 2       -- of 7: 3, 2 and 2
            amplitude[row][j] = root[task][columns[turn]]:item() * math.sqrt(pairs_of / held)
          end
        end
        return waves(s, x:matmul(w), 1, gb.tensor(amplitude))
      end, both)
    end
  end)
end)

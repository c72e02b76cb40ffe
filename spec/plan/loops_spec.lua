--- Several loops over one axis: what a later loop needs of an earlier one is computed again, slice by slice. Whatever the budget and
--- the number of threads, the results have the bits of the run without a budget, and plans keep to their bytes.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local raises <const> = support.raises

local drawn <const> = {}

--- Data that are read, as new leaves: of the same ones a program would find the values of the run before.
local function draw(seed, ...)
  local shape <const> = {...}
  local key <const> = seed .. ":" .. table.concat(shape, "x")
  shape[#shape + 1] = {seed = seed}
  drawn[key] = drawn[key] or gb.randn(table.unpack(shape)):totable()
  return gb.tensor(drawn[key])
end

-- Programs over n rows: the results, not yet computed.
local programs <const> = {}

local function normalise(z, gain, shift)
  local centred <const> = z - z:mean(1)
  return centred / ((centred ^ 2):mean(1) + 1e-5):sqrt() * gain + shift
end

function programs.batch_norm(n)
  local x <const>, w <const>, target <const> = draw(1, n, 16), draw(2, 16, 16), draw(3, n, 16)
  local gain <const>, shift <const> = draw(4, 16), draw(5, 16)
  local y <const> = normalise(x:matmul(w), gain, shift)
  local loss <const> = ((y - target) ^ 2):mean()
  return {loss, table.unpack(gb.grad(loss, {w, gain, shift}))}
end

function programs.two_batch_norms(n)
  local x <const>, w <const>, v <const>, target <const> = draw(1, n, 16), draw(2, 16, 16), draw(3, 16, 16), draw(4, n, 16)
  local gain <const>, shift <const> = draw(5, 16), draw(6, 16)
  local h <const> = normalise(x:matmul(w), gain, shift):tanh()
  local loss <const> = ((normalise(h:matmul(v), shift, gain) - target) ^ 2):sum(2):mean()
  return {loss, table.unpack(gb.grad(loss, {w, v, gain, shift}))}
end

function programs.layer_norm(n)
  local x <const>, w <const>, gain <const> = draw(1, n, 16), draw(2, 16, 16), draw(3, 16)
  local z <const> = x:matmul(w)
  local centred <const> = z - z:mean(2, {keepdim = true})
  local loss <const> = ((centred / ((centred ^ 2):mean(2, {keepdim = true}) + 1e-5):sqrt() * gain):sin()):sum(2):mean()
  return {loss, table.unpack(gb.grad(loss, {w, gain}))}
end

function programs.covariance_of_standardised(n)
  local x <const> = draw(1, n, 16)
  local z <const> = x:sin() + x
  local centred <const> = z - z:mean(1)
  local s <const> = centred / (centred ^ 2):mean(1):sqrt()
  return {s:t():matmul(s) / n}
end

function programs.softmax_cross_entropy(n)
  local x <const>, w <const>, labels <const> = draw(1, n, 16), draw(2, 16, 16), draw(3, n, 16):argmax(2)
  local scores <const> = normalise(x:matmul(w), gb.ones(16), gb.zeros(16))
  local loss <const> = (scores:logsumexp(2) - (scores * gb.one_hot(labels, 16)):sum(2)):mean()
  return {loss, table.unpack(gb.grad(loss, {w}))}
end

local function attention(masked)
  return function(n)
    local q <const>, k <const>, v <const> = draw(1, 3, n // 8, 8), draw(2, 3, n // 8, 8), draw(3, 3, n // 8, 8)
    local loss <const> = (masked(q:matmul(k:permute(1, 3, 2)), n // 8):softmax(3):matmul(v) ^ 2):sum()
    return {loss, table.unpack(gb.grad(loss, {q, k, v}))}
  end
end

local function is_past(n)
  local i <const> = gb.range(1, n)
  return i:reshape(n, 1):ge(i:reshape(1, n))
end

programs.attention = attention(function(s) return s end)
programs.attention_causal_by_where = attention(function(s, n) return gb.where(is_past(n), s, -1e9) end)
programs.attention_causal_by_addition = attention(function(s, n) return s + gb.where(is_past(n), 0, -1e9) end)

local function bits(list)
  local out <const> = {}
  for i, v in ipairs(list) do out[i] = v:reshape(v.numel):totable() end
  return out
end

local function run(list, o)
  local p <const> = gb.plan(list, o)
  p:run()
  assert.equal(p.peak, p:stats().measured)
  assert.is_true(o == nil or p.peak <= o.budget)
  return bits(list), p
end

describe("several loops over an axis", function()
  for name, program in pairs(programs) do
    it("change no bit of " .. name, function()
      local want <const>, ample <const> = run(program(2100))
      for i = 0, 6 do
        local budget <const> = ample.minimum + (ample.peak - ample.minimum) * i // 7
        assert.same(want, (run(program(2100), {budget = budget})), ("at %d bytes"):format(budget))
      end
      raises("refused", ("%d bytes"):format(ample.minimum), gb.plan, program(2100), {budget = ample.minimum - 1})
    end)
  end
end)

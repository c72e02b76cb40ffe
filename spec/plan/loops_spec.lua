--- Several loops over one axis: what a later loop needs of an earlier one is computed again, slice by slice. Whatever the budget
--- and the number of threads, the results have the bits of the run without a budget, and plans keep to their bytes.
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local readers <const> = require "spec.plan.readers"
local raises <const> = support.raises

local drawn <const> = {}
local batch = false -- whether the first axis of data is named

--- Data that are read, as new leaves: of the same ones a program would find the values of the run before.
local function draw(seed, ...)
  local shape <const> = {...}
  local key <const> = seed .. ":" .. table.concat(shape, "x")
  shape[#shape + 1] = {seed = seed}
  drawn[key] = drawn[key] or gb.randn(table.unpack(shape)):totable()
  return gb.tensor(drawn[key])
end

--- Data whose first axis is the batch.
local function rows(...)
  local x <const> = draw(...)
  return batch and gb.lazy(x, {batch = 1}) or x
end

-- Programs over n rows: the results, not yet computed.
local programs <const> = {}

local function normalise(z, gain, shift)
  local centred <const> = z - z:mean(1)
  return centred / ((centred ^ 2):mean(1) + 1e-5):sqrt() * gain + shift
end

function programs.batch_norm(n)
  local x <const>, w <const>, target <const> = rows(1, n, 16), draw(2, 16, 16), rows(3, n, 16)
  local gain <const>, shift <const> = draw(4, 16), draw(5, 16)
  local y <const> = normalise(x:matmul(w), gain, shift)
  local loss <const> = ((y - target) ^ 2):mean()
  return {loss, table.unpack(gb.grad(loss, {w, gain, shift}))}
end

--- A loss that is summed with the columns.
function programs.wide_batch_norm(n)
  local x <const>, w <const>, target <const> = rows(1, n, 64), draw(2, 64, 64), rows(3, n, 64)
  local gain <const>, shift <const> = draw(4, 64), draw(5, 64)
  local loss <const> = ((normalise(x:matmul(w), gain, shift) - target) ^ 2):mean()
  return {loss, table.unpack(gb.grad(loss, {w, gain, shift}))}
end

function programs.two_batch_norms(n)
  local x <const>, w <const>, v <const>, target <const> = rows(1, n, 16), draw(2, 16, 16), draw(3, 16, 16), rows(4, n, 16)
  local gain <const>, shift <const> = draw(5, 16), draw(6, 16)
  local h <const> = normalise(x:matmul(w), gain, shift):tanh()
  local loss <const> = ((normalise(h:matmul(v), shift, gain) - target) ^ 2):sum(2):mean()
  return {loss, table.unpack(gb.grad(loss, {w, v, gain, shift}))}
end

function programs.layer_norm(n)
  local x <const>, w <const>, gain <const> = rows(1, n, 16), draw(2, 16, 16), draw(3, 16)
  local z <const> = x:matmul(w)
  local centred <const> = z - z:mean(2, {keepdim = true})
  local loss <const> = ((centred / ((centred ^ 2):mean(2, {keepdim = true}) + 1e-5):sqrt() * gain):sin()):sum(2):mean()
  return {loss, table.unpack(gb.grad(loss, {w, gain}))}
end

function programs.covariance_of_standardised(n)
  local x <const> = rows(1, n, 16)
  local z <const> = x:sin() + x
  local centred <const> = z - z:mean(1)
  local s <const> = centred / (centred ^ 2):mean(1):sqrt()
  return {s:t():matmul(s) / n}
end

--- One step makes the sums of rows, which a later loop reads, and the sums of columns, which run through one loop only.
function programs.sums_of_rows_and_columns(n)
  local k <const> = (rows(1, n, 16):sin() * 3 + 1):exp()
  local of_rows <const>, of_columns <const> = k:sum(2), k:sum(1)
  local weighted <const> = (of_rows:reshape(n, 1) * rows(2, n, 16) * of_columns):sin()
  return {weighted:sum(1), (of_rows / of_columns:sum()):exp():sum()}
end

--- The rows are the columns of a solve, which no loop does twice: what a later loop reads of it exists whole, and its windows would
--- be no runs of memory there.
function programs.solves_of_columns(n)
  local w <const> = draw(2, 64, 64)
  local factor <const> = gb.linalg.cholesky(w:matmul(w:t()) + 64 * gb.eye(64))
  local x <const> = rows(1, n, 64)
  local z <const>, wide <const> = gb.linalg.triangular_solve(factor, x:t()), x:matmul(draw(3, 64, 256))
  local centred <const> = z - z:mean(2, {keepdim = true})
  return {(centred ^ 2):sum(2), ((wide - wide:mean(1)) ^ 3):mean(1)}
end

function programs.softmax_cross_entropy(n)
  local x <const>, w <const>, labels <const> = rows(1, n, 16), draw(2, 16, 16), rows(3, n, 16):argmax(2)
  local scores <const> = normalise(x:matmul(w), gb.ones(16), gb.zeros(16))
  local loss <const> = (scores:logsumexp(2) - (scores * gb.one_hot(labels, 16)):sum(2)):mean()
  return {loss, table.unpack(gb.grad(loss, {w}))}
end

local function attention(masked)
  return function(n)
    local q <const>, k <const>, v <const> = rows(1, 3, n // 8, 8), rows(2, 3, n // 8, 8), rows(3, 3, n // 8, 8)
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

local function least(list, o) return gb.plan(list, o).minimum end

describe("several loops over an axis", function()
  for name, program in pairs(programs) do
    for _, named in ipairs{false, true} do
      it(("change no bit of %s%s"):format(name, named and ", with a named batch" or ""), function()
        batch = named
        local want <const>, ample <const> = run(program(2100))
        for i = 0, 6 do
          local budget <const> = ample.minimum + (ample.peak - ample.minimum) * i // 7
          assert.same(want, (run(program(2100), {budget = budget})), ("at %d bytes"):format(budget))
        end
        local threads <const> = gb.config{threads = 1}.threads
        local one <const> = gb.plan(program(2100)).minimum
        local alone <const> = run(program(2100), {budget = one})
        gb.config{threads = threads}
        assert.same(want, alone, "on one thread")
        raises("refused", ("%d bytes"):format(ample.minimum), gb.plan, program(2100), {budget = ample.minimum - 1})
      end)
    end
  end

  it("take no whole activation", function()
    batch = false
    local n <const> = 20000
    local activation <const> = n * 16 * 8
    for _, name in ipairs{"batch_norm", "two_batch_norms", "softmax_cross_entropy", "covariance_of_standardised"} do
      assert.is_true(least(programs[name](n)) < activation / 4, name)
    end
    assert.is_true(least(programs.solves_of_columns(2100)) < 2100 * 256 * 8 / 2)
    assert.is_true(least(programs.batch_norm(n), {allow = {"order", "cut"}}) > activation)
    batch = true
    assert.is_true(least(programs.batch_norm(n)) < activation / 4)
  end)

  it("compute a product once where there is room for it, and else again", function()
    local n <const> = 4000
    local function products(budget)
      local x <const>, w <const> = draw(1, n, 64), draw(2, 64, 64)
      local loss <const> = (normalise(x:matmul(w), gb.ones(64), gb.zeros(64)) ^ 3):mean()
      local p <const> = gb.plan({loss, table.unpack(gb.grad(loss, {w}))}, {budget = budget})
      local count = 0
      for _, step in ipairs(readers.read_json(p:json()).steps) do
        if step.what == "gemm" then count = count + 1 end
      end
      return count, p
    end
    local once <const>, ample <const> = products()
    assert.equal(2, once)                                      -- the values, and the gradient by w
    assert.equal(2, (products(n * 64 * 8 * 3 // 2)))
    local again <const>, tight <const> = products(ample.minimum)
    assert.is_true(again > 4)
    local loops <const> = readers.read_json(tight:json()).windows.loops
    assert.equal(again - 1, #loops)
    assert.matches(("chosen  %d loops, %d steps again: windows of %%d+ of %d along"):format(#loops, again - 2, n), tight:explain())
  end)

  it("are 32 at most, and one where nothing may be computed again", function()
    local n <const> = 2100
    local bytes <const> = n * 64 * 8 -- of the product
    local function minimum(passes, allow)
      local z <const>, mean = draw(1, n, 64):matmul(draw(2, 64, 64)), 0
      for _ = 1, passes do mean = (z + mean):sin():mean(1) end
      return gb.plan({mean}, {allow = allow}).minimum
    end
    assert.is_true(minimum(1, {"cut"}) < bytes / 2)
    assert.is_true(minimum(2, {"cut"}) > bytes)
    assert.is_true(minimum(2) < bytes / 2)
    assert.is_true(minimum(32) < bytes / 2)
    assert.is_true(minimum(33) > bytes)
  end)

  it("are reported with what is computed again: its work, and the bytes that it does not take", function()
    batch = false
    local plan <const> = gb.plan(programs.wide_batch_norm(4000))
    local tight <const> = gb.plan(programs.wide_batch_norm(4000), {budget = plan.minimum})
    local values <const> = readers.read_json(tight:json()).windows.again
    local flops <const> = 4 * 2 * 4000 * 64 * 64 -- four times again
    assert.equal(1, #values)
    local held <const> = values[1].held
    assert.same({step = 1, times = 4, flops = flops, whole = 4000 * 64 * 8, held = held}, values[1])
    assert.is_true(held < 4000 * 64 * 8 / 4)
    local text <const> = tight:explain()
    assert.matches("computed again by later loops, never stored whole: %+131 Mflop, 17%d %% more work\n", text)
    assert.matches(("   1.953 MiB  matmul 4000x64 f64 +holds %d KiB, 4 times again: %%+131 Mflop"):format(held // 1024), text)
    assert.matches("^plan of %d+ steps, 4 of them again  peak", tostring(tight))
    assert.is_nil(plan:explain():find("computed again", 1, true))
  end)

  it("leave attention with a mask the bytes of attention", function()
    batch = false
    local plain <const> = least(programs.attention(4096))
    assert.is_true(least(programs.attention_causal_by_where(4096)) <= 1.25 * plain)
    assert.is_true(least(programs.attention_causal_by_addition(4096)) <= 1.25 * plain)
  end)
end)

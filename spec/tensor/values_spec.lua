local gb <const> = require "gibbous"

describe("selections", function()
  it("topk is the front of sort, ties and NaN in its order", function()
    local n <const> = 700
    local nan <const>, inf <const> = 0 / 0, math.huge
    local ties <const>, odd <const>, up <const> = {}, {}, {}
    for i = 1, n do
      ties[i] = i * 37 % 11
      odd[i] = ({nan, -inf, inf, -0.0, 0.0, i, -i, 1e-310})[i * 7 % 8 + 1]
      up[i] = i
    end
    local sources <const> = {gb.randn(n, {seed = 3}), gb.tensor(ties), gb.tensor(odd), gb.tensor(up), -gb.tensor(up),
      gb.full({n}, nan)}
    for s, source in ipairs(sources) do
      for _, dtype in ipairs{"f64", "f32", "f16", "i64"} do
        local x <const> = source:to{dtype = dtype}:eval()
        for _, k in ipairs{1, 2, 10, 16, 17, 100, 349, 699, n} do
          for _, largest in ipairs{true, false} do
            local v <const>, p <const> = x:sort(1, {descending = largest})
            local w <const>, q <const> = x:topk(k, 1, {largest = largest})
            local where <const> = ("source %d, %s, k = %d, largest = %s"):format(s, dtype, k, tostring(largest))
            assert.is_true(q:equal(p:slice(1, 1, k)), where)
            local a <const>, b <const> = w:totable(), v:totable()
            for i = 1, k do
              if a[i] ~= b[i] then assert.is_true(a[i] ~= a[i] and b[i] ~= b[i], where) end
              if a[i] == 0 then assert.equal(1 / b[i], 1 / a[i], where) end
            end
          end
        end
      end
    end
    for _, dtype in ipairs{"f64", "f32"} do                        -- along every dimension, also of views
      local x <const> = gb.randn(13, 300, 7, {seed = 5, dtype = dtype}):eval()
      for _, y in ipairs{x, x:permute(3, 2, 1), x:slice(2, 1, -1, 3), x:flip(2)} do
        for d = 1, 3 do
          local _, p <const> = y:sort(d, {descending = true})
          local _, q <const> = y:topk(5, d)
          assert.is_true(q:equal(p:slice(d, 1, 5)))
        end
      end
    end
  end)
end)

describe("copies", function()
  it("of views are those of what the views show", function()
    for _, dtype in ipairs{"f64", "f32", "f16", "i64"} do
      local x <const> = (gb.randn(67, 131, {seed = 9}) * 8):to{dtype = dtype}:eval()
      local t <const> = x:totable()
      local function holds(view, at)
        local got <const> = (view + 0):totable()
        for i = 1, #got do
          for j = 1, #got[1] do assert.equal(at(i, j), got[i][j]) end
        end
      end
      holds(x:flip(2), function(i, j) return t[i][132 - j] end)
      holds(x:flip(1), function(i, j) return t[68 - i][j] end)
      holds(x:t(), function(i, j) return t[j][i] end)
      holds(x:t():flip(1), function(i, j) return t[j][132 - i] end)
      holds(x:t():flip(2), function(i, j) return t[68 - j][i] end)
      holds(x:slice(2, 2, -1, 3), function(i, j) return t[i][3 * j - 1] end)
      holds(x:slice(1, 2, -1, 3):t(), function(i, j) return t[3 * j - 1][i] end)
      holds(x:select(1, 5):unsqueeze(1):expand(70, 131):t(), function(i, _) return t[5][i] end)
    end
  end)
end)

describe("halves keep their range", function()
  local function of(dtype, n, v) return gb.full({n}, v, {dtype = dtype}):eval() end

  it("in moments and norms whose sums leave it", function()
    for _, dtype in ipairs{"f16", "bf16"} do
      local x <const> = of(dtype, 100, 1000)
      local y <const> = gb.tensor({{5.25, -3.25, 3}, {6.25, 2.25, -1.5}}, {dtype = dtype}):eval()
      local wide <const> = y:to{dtype = "f64"}:eval()
      assert.equal(dtype, x:mean().dtype)
      assert.equal(1000, x:mean():item())
      assert.equal(0, x:var():item())
      assert.equal(0, x:std():item())
      assert.equal(gb.tensor(1e4, {dtype = dtype}):item(), x:norm():item())
      for _, name in ipairs{"mean", "var", "std", "norm"} do
        assert.equal(wide[name](wide):to{dtype = dtype}:item(), y[name](y):item(), name .. " of " .. dtype)
      end
    end
  end)

  it("in products whose operands were scaled into it", function()
    local a <const> = gb.tensor({{300}}, {dtype = "f16"}):eval()
    assert.equal(22496, (a * 0.5):matmul((a * 0.5):t()):item())
    local x <const> = of("f16", 100, 1000)
    assert.is_true(math.abs((x * 0.01):matmul(x * 0.01):item() - 1e4) <= 16)
    local big <const> = gb.full({100, 100}, 1000, {dtype = "f16"}):eval()
    for _, y in ipairs{(big * 0.001):matmul(x * 0.001), gb.einsum("ij,j->i", big * 0.001, x * 0.001),
      gb.kernels.rbf{lengthscale = 1000}(big):matmul(x * 0.001)} do
      assert.is_true(math.abs(y:max():item() - 100) <= 0.25)
    end
    local w <const> = gb.full({3, 4}, 2, {dtype = "f16"}):eval():tile(3, 2):var{keepdim = true}
    assert.equal(0, w:matmul(w:t()):item())
  end)
end)

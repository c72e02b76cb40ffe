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

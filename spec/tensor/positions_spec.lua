--- Positions of argmin and argmax do not depend on whether what they search was stored, seen through views, or computed.
local gb <const> = require "gibbous"

local next_number
local function draw(n)
  next_number = (next_number * 1103515245 + 12345) & 0x7fffffff
  return (next_number >> 16) % n + 1
end

local function numel(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return n
end

-- Another shape of as many elements: random divisors in turn.
local function other_shape(n)
  local out <const> = {}
  while n > 1 and #out < 3 do
    local divisors <const> = {}
    for d = 2, n do if n % d == 0 then divisors[#divisors + 1] = d end end
    local d <const> = divisors[draw(#divisors)]
    out[#out + 1] = d
    n = n // d
  end
  out[#out + 1] = n
  return out
end

local function random_order(n)
  local order <const> = {}
  for i = 1, n do order[i] = i end
  for i = n, 2, -1 do
    local k <const> = draw(i)
    order[i], order[k] = order[k], order[i]
  end
  return order
end

-- A chain of views and maps of an expression that nothing has stored.
local function random_view(x)
  for _ = 1, draw(4) do
    local shape <const> = {table.unpack(x.shape)}
    local kind <const> = draw(5)
    if kind == 1 then x = x:permute(table.unpack(random_order(#shape)))
    elseif kind == 2 then x = x:reshape(table.unpack(other_shape(numel(shape))))
    elseif kind == 3 and numel(shape) < 200 then
      for i = 1, #shape do shape[i] = draw(2) end
      x = x:tile(table.unpack(shape))
    elseif kind == 4 then x = x:flip(draw(#shape))
    else x = x * 0.5 + 1 end
  end
  return x
end

-- The sets of axes of n: all of them, and a random one.
local function check(x, what)
  local stored <const> = gb.tensor(x:totable())
  local axes <const> = {}
  for i = 1, x.ndim do if draw(2) == 1 then axes[#axes + 1] = i end end
  for _, name in ipairs{"argmin", "argmax"} do
    assert.same(stored[name](stored):totable(), x[name](x):totable(), what .. ", all axes, " .. name)
    if #axes > 0 then
      assert.same(stored[name](stored, axes):totable(), x[name](x, axes):totable(),
        what .. ", axes " .. table.concat(axes, " ") .. ", " .. name)
    end
  end
end

describe("argmin and argmax", function()
  it("count in row-major order through tiles and reshapes", function()
    assert.equal(2, gb.tensor{{1, 9}, {2, 4}, {3, 5}}:tile(2, 1):argmax():item())
    assert.equal(3, (gb.tensor{{1, 2}, {9, 4}} * 1):tile(2, 1):argmax():item())
    local pairs_of <const> = gb.tensor{0, 0, 0, 0, 0, 5}:unsqueeze(2) + gb.tensor{0, 1, 0, 0}:unsqueeze(1)
    assert.equal(22, pairs_of:reshape(12, 2):argmax():item())
  end)

  it("give the same positions for a stored value and for 400 chains of views", function()
    for seed = 1, 400 do
      next_number = seed * 7919
      local n <const> = draw(6)
      local x = gb.rand(n, seed % 2 == 0 and n or draw(6), 2, {seed = seed}):eval()
      if seed % 3 == 0 then x = (x * 4):floor() end                     -- ties: the first counts
      if seed % 2 == 0 then x = x:slice(3, 1, 1) + x:slice(3, 2, 2):permute(2, 1, 3) end
      check(random_view(x), "seed " .. seed)
    end
  end)
end)

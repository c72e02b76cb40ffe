--- How the rank of a preconditioner is chosen, with times and condition numbers that are given.
local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local choose <const> = require "gibbous.solvers.precond_rank"
local support <const> = require "spec.support"
local near <const> = support.near

--- The choice for n points. costs[rank] = {build, apply, condition, iterations or nil}; product: seconds; room: bytes.
local function chosen(n, costs, o)
  o = o or {}
  local now, runs, seen = 50.0, 0, {}
  local function slow_then(seconds)                        -- the first of two runs is slow: the other counts
    runs = runs + 1
    now = now + (runs % 2 == 1 and 3 or 1) * seconds
  end
  local a <const> = setmetatable({dtype = "f64", matmul = function(_, block)
    seen.blocks = seen.blocks or {}
    seen.blocks[#seen.blocks + 1] = block
    return {eval = function() slow_then(o.product or 1) end}
  end},
    {__len = function() return n end})
  local function make(_, _, rank)
    assert(rank > 0)
    now = now + costs[rank][1]
    return {rank = rank}
  end
  local got <const> = support.with(core, {clock = function() return now end,
    precond_apply = function(p, block)
      seen.columns, seen.block = block.shape[2], block
      slow_then(costs[p.rank][2])
    end,
    cg = function(_, one, options)
      local c <const> = costs[options.precond and options.precond.rank or 0]
      seen.one, seen.tol, seen.steps = one, options.tol, options.max_iter
      return nil, {converged = c[4] ~= nil, iterations = c[4], condition = c[3]}
    end}, function()
      return support.with(core.memory, {room = function() return o.room or 2 ^ 40 end}, function()
        return choose(make, a, nil, o.noise or 0.1, {columns = o.columns, tol = o.tol})
      end)
    end)
  return got, seen
end

local function ranks(c)
  local out <const> = {}
  for i, t in ipairs(c.tried) do out[i] = t.rank end
  return out
end

describe("the rank of a preconditioner", function()
  local costs <const> = {[0] = {0, 0, 1e4}, [16] = {4, 0.5, 100}, [32] = {8, 1, 81}, [64] = {9, 1, 50}}

  it("is doubled while the solves it saves outweigh it", function()
    local c <const>, seen <const> = chosen(1000, costs)
    assert.same({0, 16, 32}, ranks(c))
    assert.equal(16, c.rank)
    local want <const> = {{0, 0, 1e4, 265, 265}, {4, 0.5, 100, 27, 4 + 27 * 1.5}, {8, 1, 81, 24, 8 + 24 * 2}}
    for i, t in ipairs(c.tried) do near(want[i], {t.build, t.apply, t.condition, t.steps, t.seconds}, 1e-12) end
    near({1, 17, 0.01, 4 * 1 + 4 + 4 * 0.5 + 8 + 4 * 1}, {c.tried[2].product, c.columns, c.tol, c.seconds}, 1e-12)
    assert.same({17, 0.01, 10}, {seen.columns, seen.tol, seen.steps})
    assert.is_true(gb.randn(1000, {seed = 1}):equal(seen.one))                -- the same in any run
    assert.is_true(gb.randn(1000, 17, {seed = 2}):equal(seen.block) and rawequal(seen.block, seen.blocks[1]))
    assert.is_true(gb.randn(1000, 17, {seed = 3}):equal(seen.blocks[2]))
    assert.equal([[
rank 16 for 17 columns at tol 0.01
rank  build s  apply s  product s  condition  steps  solve s
--------------------------------------------------------------------
0     0        0        1          1e+04      265    265
16    4        0.5      1          100        27     44.5     chosen
32    8        1        1          81         24     56]], (tostring(c):gsub(" +\n", "\n"):gsub(" +$", "")))
  end)

  it("goes on as long as the last was the best, and building pays", function()
    assert.same({0, 16, 32, 64}, ranks((chosen(1000, {[0] = costs[0], [16] = {4, 0.5, 100}, [32] = {5, 0.5, 50},
      [64] = {70, 0.5, 49}}))))
    assert.equal(32, (chosen(1000, {[0] = costs[0], [16] = {4, 0.5, 100}, [32] = {5, 0.5, 50}, [64] = {70, 0.5, 49}})).rank)
    -- 4 x 65 is more than all it takes.
    assert.same({0, 16}, ranks((chosen(1000, {[0] = costs[0], [16] = {65, 0.5, 100}}))))
    assert.same({0, 16}, ranks((chosen(1000, {[0] = {0, 0, 4}, [16] = {1, 0.5, 3}}))))
    assert.equal(0, (chosen(1000, {[0] = {0, 0, 1, 20}, [16] = {0, 1, 1, 10}})).rank)             -- as quick: the first stays
    assert.same({0, 16}, ranks((chosen(1000, {[0] = {0, 0, 1, 20}, [16] = {3, 0.5, 1, 6}}))))     -- 4 x 3 is all it takes
    assert.equal(0, (chosen(1000, {[0] = {0, 0, 4}, [16] = {1, 0.5, 3}})).rank)
    -- 4 x 11 is less than 51.5.
    assert.same({0, 16, 32}, ranks((chosen(1000, {[0] = costs[0], [16] = {11, 0.5, 100}, [32] = {99, 1, 81}}))))
  end)

  it("takes steps as they were where the short run converged, else ten or more", function()
    local c <const> = chosen(1000, {[0] = {0, 0, 1e4, 3}, [16] = {9, 9, 1, 0}})
    assert.same({3, 1}, {c.tried[1].steps, c.tried[2].steps})
    assert.equal(10, (chosen(1000, {[0] = {0, 0, 4}, [16] = {1, 0.5, 3}})).tried[1].steps)
    assert.equal(math.ceil(50 * math.log(2000)), (chosen(1000, costs, {tol = 1e-3, columns = 5})).tried[1].steps)
    assert.equal(5, select(2, chosen(1000, costs, {columns = 5})).columns)
  end)

  it("stays below half of the points, and a tenth of the memory left", function()
    local cheap <const> = setmetatable({[0] = costs[0]}, {__index = function(_, rank) return {0, 0, 1e4 / rank ^ 2} end})
    local few <const> = chosen(31, cheap)
    assert.same({0, 0, {}}, {few.rank, few.seconds, few.tried})
    assert.same({0, 16}, ranks((chosen(32, cheap))))
    assert.same({0, 16}, ranks((chosen(63, cheap))))
    assert.same({0, 16, 32}, ranks((chosen(64, cheap))))
    assert.same({0, 16, 32}, ranks((chosen(1000, cheap, {room = 10 * 8 * 1000 * 33}))))
    assert.same({0, 16}, ranks((chosen(1000, cheap, {room = 10 * 8 * 1000 * 31}))))
    assert.same({0, 16}, ranks((chosen(1000, cheap, {room = 0}))))
  end)

  it("is 16 at least where points have noises of their own", function()
    assert.same({16, 32}, ranks((chosen(1000, costs, {noise = gb.ones(3)}))))
  end)

  it("has a class", function() assert.equal("precond_choice", gb.type((chosen(1000, costs)))) end)
end)

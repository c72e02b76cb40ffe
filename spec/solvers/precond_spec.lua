--- Preconditioners: what they are made of, what the core is given, and how good they are.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local arguments <const>, near <const>, raises <const>, with <const> = support.arguments, support.near, support.raises, support.with
local P <const> = gb.precond

local f32 <const> = {dtype = "f32"}
local A <const> = gb.linalg.diag(gb.tensor{1, 2, 4, 8}):eval()
local b <const> = gb.ones(4)

describe("a preconditioner", function()
  it("splits a matrix with the noise it knows, or is given, in any shape", function()
    local p <const> = P.nystrom{rank = 3, noise = 0.5}
    local k <const>, noise <const> = p:split(A)
    near(A - 0.5 * gb.eye(4), k, 1e-15)
    assert.equal(0.5, noise)
    local given <const>, other <const> = p:split(A, b, 0.25)
    assert.same({true, 0.25}, {rawequal(given, b), other})
    assert.equal(0, select(2, p:split(A, b, gb.tensor{0.25})).ndim)
    assert.equal(1, select(2, p:split(gb.eye(1), b, gb.tensor{0.25})).ndim)            -- of the one point
    assert.equal(0, select(2, p:split(gb.eye(2), b, gb.tensor{0.25})).ndim)
    assert.equal(1, select(2, p:split(A, b, gb.ones(4))).ndim)
    assert.equal("f32", (p:split(A:to(f32))).dtype)
    for _, kind in ipairs{"nystrom", "pivoted_cholesky"} do
      raises("option", ("gb.precond.%s: give noise, the multiple of the identity in the matrix"):format(kind), P[kind]{}.split,
        P[kind]{}, A)
      raises("option", ("gb.precond.%s: option 'noise' must be a positive number"):format(kind), P[kind], {noise = 0})
    end
    raises("option", "gb.precond.nystrom: option 'seed' must be", P.nystrom, {seed = 0.5})
    for _, rank in ipairs{0, 2.5, "best"} do
      raises("option", "option 'rank' must be \"auto\" or a whole number, 1 or more", P.nystrom, {rank = rank})
    end
    for _, tol in ipairs{-0.1, 1, "x"} do
      raises("option", "option 'tol' must be a number from 0, below 1", P.nystrom, {tol = tol})
    end
    assert.same({1, 0}, {P.nystrom{rank = 1}.rank, P.nystrom{tol = 0}.tol})
    raises("option", "gb.precond.jacobi: unknown option 'rank'", P.jacobi, {rank = 1})
  end)

  it("takes noise of one element of any shape for a number, and is not built at rank 0", function()
    local k <const> = gb.eye(4)
    local function given(noise) return arguments(core, "nystrom", function() P.nystrom{rank = 3}:build(A, k, noise) end)[2] end
    assert.same({0.5, 0.5, 0.5}, {given(0.5), given(gb.full({}, 0.5)), given(gb.tensor{0.5})})
    assert.equal("4", tostring(given(gb.ones(4)).shape))
    near(A - 0.5 * gb.eye(4), arguments(core, "nystrom", function() P.nystrom{rank = 3, noise = 0.5}:build(A) end)[1], 1e-15)
    assert.equal(0.5, arguments(core, "nystrom", function() P.nystrom{rank = 3, noise = 0.5}:build(A) end)[2])
    local auto <const> = P.nystrom{rank = "auto", noise = 0.5}
    assert.is_nil(auto:build(A))
    assert.equal(0, auto.info.rank)
    assert.equal("nystrom(auto: 0)", tostring(auto))
    local choice <const> = auto:resolve(A, nil, nil, {columns = 3, tol = 0.5}).info
    assert.same({0, 17}, {choice.rank, choice.columns})                                    -- chosen before
    local other <const> = P.nystrom{rank = "auto", noise = 0.5}:resolve(A, nil, nil, {columns = 3, tol = 0.5}).info
    assert.same({3, 0.5}, {other.columns, other.tol})
    assert.equal("kept", with(core, {nystrom = function() return "kept" end},
      function() return P.nystrom{rank = 1}:build(A, k, 0.5) end))
    assert.equal(P.nystrom{rank = 2}.rank, P.nystrom{rank = 2}:resolve(A).rank)
  end)

  it("within a budget takes an eighth of it", function()
    local p <const> = P.nystrom{}:within(8 * 8 * 6000 * 37)
    assert.equal(37, p:rank_at(6000))
    for n, rank in pairs{[6000] = 120, [5000] = 100, [99] = 99, [90000] = 1000} do
      assert.equal(rank, P.nystrom{}:within(2 ^ 40 // 1 | 0):rank_at(n))
    end
    assert.equal("nystrom", tostring(p))
  end)

  it("for many right-hand sides is made only with a higher rank, to what the noise hides of the trace", function()
    local k <const> = 2 * gb.eye(10)
    local function deep(kind, noise, rank, of)
      local args
      with(core, {[kind] = function(...)
        args = table.pack(...)
        return "made"
      end}, function()
        local got <const> = P[kind]{rank = 5, tol = 0.9, seed = 3}:deepen(of or k, noise, rank)
        assert.equal(args and "made" or nil, got)
      end)
      return args
    end
    assert.is_nil(deep("nystrom", 0.5, 5))
    local args <const> = deep("nystrom", 0.5, 6)
    assert.same({0.5, 6, 3}, {args[2], args[3], args[4]})
    near(0.5 / 20, args[5], 1e-15)
    near(0.25 / 20, deep("nystrom", gb.tensor{0.5, 0.25}, 6)[5], 1e-15)
    assert.equal(1, deep("nystrom", 50, 6)[5])
    near(0.2, deep("nystrom", 0.1, 6, 0.05 * gb.eye(10))[5], 1e-15)
    assert.equal(0, deep("nystrom", 0.5, 6, gb.zeros(10, 10))[5])
    assert.is_nil(P.nystrom{rank = "auto"}:deepen(k, 0.5, 6))
    assert.is_nil(deep("nystrom", 20 * 1e-14, 6))                  -- rounding is more than such a noise
    near(2e-14, deep("nystrom", 20 * 2e-14, 6)[5], 1e-20)
  end)

  it("for 64 right-hand sides or more has a rank up to 1,000, a quarter of the points and of the memory left", function()
    local asked
    local function system(n, o)
      local a <const> = setmetatable({detach = function(a) return a end}, {__len = function() return n end})
      local deep <const> = o.deepen or function(_, _, _, rank)
        asked = rank
        return nil
      end
      local s <const> = base.prepare({o = {precond = o.precond == nil and {deepen = deep, build = function() return 1 end}
        or o.precond}},
        a, o.k == nil and a or o.k or nil, o.noise or 0.1)
      return s, s:for_many(o.count or 64)
    end
    local function rank(n, room)
      asked = nil
      return with(core.memory, {room = function() return room or 2 ^ 50 // 1 | 0 end}, function()
        local s <const>, same <const> = system(n, {})
        assert.is_true(rawequal(s, same))
        return asked
      end)
    end
    assert.same({1000, 1000, 999, 25}, {rank(100000), rank(4000), rank(3999), rank(100)})
    assert.same({10, 9}, {rank(100, 4 * 8 * 100 * 10), rank(100, 4 * 8 * 100 * 10 - 1)})
    for _, o in ipairs{{count = 63}, {noise = 0}, {k = false}, {precond = false}, {precond = {build = function() end}}} do
      asked = nil
      local s <const>, same <const> = system(100, o)
      assert.is_true(rawequal(s, same) and asked == nil)
    end
    local s <const>, same <const> = system(100, {deepen = function() core.raise("oom", "full") end})
    assert.is_true(rawequal(s, same))
    raises("option", "odd", system, 100, {deepen = function() core.raise("option", "odd") end})
    assert.equal("plain", select(2, pcall(system, 100, {deepen = function() error("plain", 0) end})))
    local closed = 0
    local own <const> = setmetatable({}, {__close = function() closed = closed + 1 end})
    do
      local plain <const>, many <close> = system(100, {deepen = function() return own end})
      assert.is_true(not rawequal(plain, many) and rawequal(own, many.precond) and rawequal(plain.a, many.a) and closed == 0)
      getmetatable(many).__close(many)
      assert.equal(1, closed)
    end
    assert.equal(1, closed)
  end)
end)

describe("gb.precond", function()
  local K <const> = gb.kernels
  local n <const>, noise <const> = 200, 0.1
  local x <const> = gb.rand(n, 2, {seed = 1}):eval()
  local B <const> = gb.randn(n, 3, {seed = 2}):eval()
  local k <const> = K.matern32{lengthscale = 0.3}
  local A <const> = k(x) + noise * gb.eye(n)

  local b <const> = B:select(2, 1):eval()

  it("saves steps, for the same answer", function()
    local _, plain <const> = gb.solvers.cg{tol = 1e-8}:solve(A, b)
    for _, kind in ipairs{"nystrom", "pivoted_cholesky"} do
      local p <const> = gb.precond[kind]{rank = 80, noise = noise}
      for _, name in ipairs{"cg", "minres"} do
        local v <const>, info <const> = gb.solvers[name]{tol = 1e-8, precond = p}:solve(A, b)
        assert.is_true(info.iterations < 0.7 * plain.iterations, tostring(p))
        near(gb.linalg.solve(A, b), v, 1e-5)
      end
    end
  end)

  it("is made for many right-hand sides where conjugate gradients have none, not where noise is less than rounding", function()
    for _, case in ipairs{{0.1, true}, {1e-13, false}} do
      local level <const>, made <const> = table.unpack(case)
      local system <const> = gb.solvers.cg{tol = 1e-8}:prepare(k(x) + level * gb.eye(n), k(x):detach(), level)
      assert.is_nil(system.precond)
      assert.is_true(rawequal(system, system:for_many(63)))
      local many <close> = system:for_many(64)
      assert.equal(made, many.precond ~= nil)
    end
    local minres <const> = gb.solvers.minres{tol = 1e-8}:prepare(A, k(x):detach(), noise)
    assert.is_true(rawequal(minres, minres:for_many(64)))         -- its forms know nothing of variances
    local z <const> = gb.rand(70, 2, {seed = 8}):eval()
    local m <const> = gb.gp.exact{kernel = K.rbf{lengthscale = 0.5}, noise = 1e-14, solver = gb.solvers.cg{}}
    local p <const> = m:condition(x, gb.zeros(n)):predict(z)
    assert.is_true((p.f_var:max():item() < 1e-3))
  end)

  it("gets a higher rank for many right-hand sides, and gives it back", function()
    for _, kind in ipairs{"nystrom", "pivoted_cholesky"} do
      collectgarbage()
      local system <const> = gb.solvers.cg{tol = 1e-8, precond = gb.precond[kind]{rank = 5}}:prepare(A, k(x):detach(), noise)
      local want <const>, few <const> = system:solve(b)
      assert.is_true(rawequal(system, system:for_many(63)))
      local used <const> = gb.memory.report().used
      do
        local many <close> = system:for_many(64)
        assert.is_true(gb.memory.report().used > used + 8 * n * n // 8)
        local v <const>, info <const> = many:solve(b)
        assert.is_true(info.converged and 2 * info.iterations < few.iterations, ("%d, %d"):format(info.iterations, few.iterations))
        near(want, v, 1e-5)
        v:close()
      end
      assert.is_true(gb.memory.report().used <= used + 2 * 8 * n)
      for _, room in ipairs{20000, 40000, 100000} do                    -- for no more rows of the factor, or for some
        collectgarbage()
        local before <const> = gb.memory.limit(gb.memory.report().limit - core.memory.room() + room)
        local some <close> = system:for_many(64)
        gb.memory.limit(before)
        assert.is_true(room > 20000 or rawequal(system, some))
      end
    end
  end)

  it("chooses its rank once, with a record of why", function()
    local p <const> = gb.precond.pivoted_cholesky{rank = "auto", noise = 0.01}
    assert.equal("pivoted_cholesky(auto)", tostring(p))
    local hard <const> = K.rbf{lengthscale = 0.2}(x) + 0.01 * gb.eye(n)
    local v <const> = gb.solvers.cg{tol = 1e-8, precond = p}:solve(hard, b)
    near(gb.linalg.solve(hard, b), v, 1e-4)
    local choice <const> = p.info
    assert.is_true(#choice.tried >= 2 and choice.tried[1].rank == 0)
    local best = choice.tried[1]
    for _, t in ipairs(choice.tried) do if t.seconds < best.seconds then best = t end end
    assert.equal(best.rank, choice.rank)
    assert.matches("chosen", tostring(choice))
    assert.equal("pivoted_cholesky(auto: " .. choice.rank .. ")", tostring(p))
    gb.solvers.cg{tol = 1e-8, precond = p}:solve(hard, b)
    assert.equal(choice, p.info)
  end)

  it("checks its options", function()
    raises("option", "option 'rank' must be \"auto\" or a whole number, 1 or more", gb.precond.nystrom, {rank = 0})
    for _, tol in ipairs{-0.1, 1, 0 / 0} do
      raises("option", "option 'tol' must be a number from 0, below 1", gb.precond.nystrom, {tol = tol})
      raises("option", "option 'tol' must be a number from 0, below 1", gb.precond.pivoted_cholesky, {tol = tol})
    end
    raises("option", "option 'rank' must be \"auto\" or a whole number, 1 or more", gb.precond.pivoted_cholesky, {rank = "best"})
    raises("option", "gb.precond.nystrom: give noise", function()
      local v <const> = gb.solvers.minres{precond = gb.precond.nystrom{rank = 5}}:solve(A, b)
      return v
    end)
  end)

  it("inverts itself", function()
    for _, make in ipairs{core.nystrom, core.pivoted_cholesky} do
      local p <const> = make(k(x), noise, n, 0)         -- of full rank: A itself
      near(B, core.precond_apply(p, A:matmul(B)), 1e-8)
      near(gb.linalg.logdet(A), core.precond_logdet(p), 1e-8)
    end
  end)
end)

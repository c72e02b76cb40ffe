--- What data explain of variances, algorithm by algorithm, against dense algebra; slices and reports with parts that are given.
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local parts <const> = require "gibbous.gp.predict.parts"
local variance <const> = require "gibbous.gp.exact.variance"
local near <const>, with <const> = support.near, support.with
local S <const> = gb.solvers

local n <const>, m <const> = 6, 4
local x <const>, at <const> = gb.linspace(0, 2, n):unsqueeze(2):eval(), gb.tensor{{0.3}, {1.1}, {2.5}, {9}}
local k <const> = gb.kernels.rbf{lengthscale = 0.8}
local noise <const> = 0.3
local C <const> = (k(x) + noise * gb.eye(n)):eval()
local joint <const> = k(at, x):matmul(gb.linalg.solve(C, k(x, at))):eval()
local q <const> = joint:diagonal():eval()
local extra <const> = gb.tensor{{0.1, 0.2, 0.3, 0.4}, {1, 0, 0.5, 0}}
local more_q <const>, more_joint <const> = (extra * extra):sum(1), extra:t():matmul(extra)

local function cross(from, to) return k(at:slice(1, from, to), x) end
local function len(count) return setmetatable({}, {__len = function() return count end}) end

--- Further observations that explain 'extra'; the arguments it was called with stand in the list.
local function more(calls)
  return function(v, from, to)
    calls[#calls + 1] = {v and tostring(v.shape) or v, from, to}
    return extra:slice(2, from, to)
  end
end

describe("what is left of a prior variance", function()
  it("is 0 within 8 n units of rounding of the prior, and of the size of what was subtracted; less is NaN", function()
    for dtype, unit in pairs{f64 = 2.0 ^ -53, f32 = 2.0 ^ -24} do
      local o <const> = {dtype = dtype}
      for _, size in ipairs{0, 6} do
        local slack <const> = 8 * 16 * unit * (2 + size)
        local v <const> = parts.left(gb.full({5}, 2, o), gb.tensor({0.5, 2 + 0.98 * slack, 2 + 1.06 * slack, -1, 2}, o),
          size > 0 and gb.full({5}, size, o) or nil, 16):totable()
        near({1.5, 0, 2, 0}, {v[1], v[2], v[4], v[5]}, 0)
        assert.is_true(v[3] ~= v[3])
      end
    end
    assert.is_true(parts.left(gb.tensor{0 / 0}, gb.tensor{1}, nil, 16):ne(0):item())
  end)
end)

describe("variances without data", function()
  it("are what further observations explain", function()
    local calls <const> = {}
    local how <const> = parts.alone(more(calls))
    near(more_q, how.explained(m), 1e-15)
    near(more_joint, how.joint(m), 1e-15)
    assert.same({{nil, 1, m}, {nil, 1, m}}, calls)
    assert.is_nil(how.solves)
  end)
end)

describe("variances by a factor", function()
  it("are those of dense algebra, with the gradients of them", function()
    local scale <const> = gb.tensor(1):requires_grad()
    local factor <const> = gb.linalg.cholesky(C * scale)
    local how <const> = variance.direct(factor)
    near(q, how.explained(cross, m), 1e-12)
    near(joint, how.joint(cross, m), 1e-12)
    near(-q:sum(), gb.grad(how.explained(cross, m):sum(), scale), 1e-12)
    near(-joint:sum(), gb.grad(how.joint(cross, m):sum(), scale), 1e-12)
    local factor2 <const>, points <const> = factor:detach(), at:requires_grad()
    local function live(from, to) return k(points:slice(1, from, to), x) end
    local want <const> = (k(points, x) * gb.linalg.solve(C, k(x, points)):t()):sum()
    near(gb.grad(want, points), gb.grad(variance.direct(factor2).explained(live, m):sum(), points), 1e-10)
    local calls <const> = {}
    local both <const> = variance.direct(factor2, more(calls))
    near(q + more_q, both.explained(cross, m), 1e-12)
    near(joint + more_joint, both.joint(cross, m), 1e-12)
    assert.same({{"6x4", 1, m}, {"6x4", 1, m}}, calls)
    assert.is_nil(how.solves)
  end)
end)

describe("the points taken at once", function()
  local function room(bytes, f) return with(core.memory, {room = function() return bytes or 2 ^ 60 // 1 | 0 end}, f) end

  it("by a solver are 128, or 2^18 values, in half the memory", function()
    local function width(count, data, bytes) return room(bytes, function() return variance.width(count, data) end) end
    assert.same({5, 2 ^ 18 | 0, 262, 128, 128, 129}, {width(5, 1000), width(10 ^ 9, 1), width(10 ^ 9, 1000), width(10 ^ 9, 2048),
      width(10 ^ 9, 10 ^ 6), width(10 ^ 9, 2032)})
    local each <const> = 2 * 8 * 16 * 100
    assert.same({37, 36, 1, 1}, {width(1000, 100, 37 * each), width(1000, 100, 37 * each - 1), width(1000, 100, each),
      width(1000, 100, 0)})
    assert.equal("integer", math.type(width(1000, 100, 37.5 * each)))
  end)

  --- Slices that a cache of this rank asks for.
  local function slices(rank, data, count, bytes)
    local list <const> = {}
    local state <const> = {low_rank = {asked = rank, root = function(_, part) return part end,
      sides = function(_, part) return part, part end, residual = function(_, part) return part:sum(1) end}}
    room(bytes, function()
      local how <const> = variance.cached(state, nil, len(data), rank, gb.full({}, 0.5))
      assert.equal(math.min(rank, data), how.rank)
      assert.is_true(how.solves)
      local got <const> = how.explained(function(from, to)
        list[#list + 1] = to - from + 1
        return gb.full({to - from + 1, 1}, 3)
      end, count)
      near(9, got:max(), 0)
      near(9, got:min(), 0)
      assert.equal(count, #got)
    end)
    return list
  end

  it("by a cache are 1,024, or 2^21 values, in half the memory", function()
    assert.same({7}, slices(4, 10, 7))
    assert.same({1024, 1024, 452}, slices(4096, 5000, 2500))
    assert.same({131072, 1}, slices(16, 100, 131073))
    assert.same({131072, 1}, slices(20, 16, 131073))
    assert.same({10, 10, 5}, slices(4, 10, 25, 2 * 8 * (8 * 4 + 64) * 10))
    assert.same({9, 9, 7}, slices(4, 10, 25, 2 * 8 * (8 * 4 + 64) * 10 - 1))
  end)

  it("are halved where they are refused, down to one", function()
    local function tried(refuses, code, widest)
      local list <const> = {}
      local state <const> = {low_rank = {asked = 4, root = function(_, part) return part end,
        sides = function(_, part) return part, part end}}
      local ok <const>, err <const> = pcall(room, 2 * 8 * (8 * 4 + 64) * widest, function()
        return variance.cached(state, nil, len(10), 4, gb.full({}, 0.5)).explained(function(from, to)
          list[#list + 1] = {from, to}
          if refuses(to - from + 1) then core.raise(code, "no room") end
          return gb.full({to - from + 1, 1}, 3)
        end, 10):eval()
      end)
      return list, ok, err
    end
    for _, code in ipairs{"refused", "oom"} do
      assert.same({{1, 8}, {1, 4}, {1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}, (tried(function(w) return w > 3 end, code, 8)))
    end
    local list <const>, ok <const>, err <const> = tried(function() return true end, "refused", 3)
    assert.same({{1, 3}, {1, 1}}, list)
    assert.same({false, "refused"}, {ok, err.code})
    assert.same({{1, 3}}, (tried(function() return true end, "nan", 3)))
    assert.equal("plain", select(3, tried(function() error("plain", 0) end, "nan", 3)))
  end)
end)

describe("variances by a cache", function()
  it("of full rank are those of dense algebra, in slices too, with gradients, and a bound over the noise", function()
    local points <const> = at:requires_grad()
    local function live(from, to) return k(points:slice(1, from, to), x) end
    local want <const> = gb.grad((k(points, x) * gb.linalg.solve(C, k(x, points)):t()):sum(), points)
    for _, width in ipairs{100, 3} do
      with(core.memory, {room = function() return 2 * 8 * (8 * n + 64) * width end}, function()
        local how <const> = variance.cached({}, k(x), C, 100, gb.full({}, noise))
        assert.equal(n, how.rank)
        local got <const> = how.explained(live, m)
        near(q, got, 1e-9)
        near(want, gb.grad(got:sum(), points), 1e-7)
        near(joint, how.joint(cross, m), 1e-9)
        near(want, gb.grad(how.joint(live, m):diagonal():sum(), points), 1e-7)
        near({0, 0, 0, 0}, how.bound(cross, m), 1e-9)
        assert.equal(0, #how.explained(live, 0))
      end)
    end
    local state <const> = {}
    local few <const> = variance.cached(state, k(x), C, 2, gb.full({}, noise))
    local cache <const> = require "gibbous.gp.exact.low_rank_variance"(state, k(x), C, 2, 0)
    near(cache:residual(k(x, at)) / noise, few.bound(cross, m), 1e-12)
    near((cache:root(k(x, at)) ^ 2):sum(1), few.explained(cross, m), 1e-12)
    local silent <const> = variance.cached(state, k(x), C, 2, gb.full({}, 0))
    near(cache:residual(k(x, at)) / 1e-30, silent.bound(cross, m), 1e-12)
    assert.is_true(few.bound(cross, m):max():item() > 0)
  end)
end)

describe("variances by a solver", function()
  local function prior(from, to) return k:diag(at:slice(1, from, to)) end
  local function how_of(s, o)
    o = o or {}
    local system <const> = (s or S.cg{tol = 1e-10}):prepare(o.c or C, o.k, o.k and noise)
    return variance.solver(system, prior, o.noise or noise, o.more)
  end

  it("are those of dense algebra, with their gradients, whatever the solver", function()
    local points <const> = at:requires_grad()
    local function live(from, to) return k(points:slice(1, from, to), x) end
    local want <const> = gb.grad((k(points, x) * gb.linalg.solve(C, k(x, points)):t()):sum(), points)
    for _, s in ipairs{S.cg{tol = 1e-10}, S.minres{tol = 1e-10}, S.cg{tol = 1e-10, precond = gb.precond.nystrom{rank = 2}}} do
      for _, width in ipairs{4, 3, 1} do
        with(core.memory, {room = function() return 2 * 8 * 16 * n * width end}, function()
          local how <const> = how_of(s, {k = k(x):detach()})
          local got <const>, size <const> = how.explained(live, m)
          near(q, got, 1e-8)
          near((gb.linalg.solve(C, k(x, at)) * k(x, at)):abs():sum(1), size, 1e-6)
          near(want, gb.grad(got:sum(), points), 1e-6)
          assert.equal(math.ceil(m / width), how.report.slices)
          assert.is_true(how.solves and how.report.converged)
          near(joint, how.joint(cross, m), 1e-8)
          near(want, gb.grad(how.joint(live, m):diagonal():sum(), points), 1e-6)
          assert.equal(0, #how.explained(live, 0))
        end)
      end
    end
  end)

  it("of a point that is not finite are NaN, beside others that are not", function()
    local odd <const> = gb.tensor{{0.3}, {0 / 0}, {2.5}, {9}}
    local how <const> = how_of()
    local got <const> = how.explained(function(from, to) return k(odd:slice(1, from, to), x) end, m):totable()
    near({q[1]:item(), q[3]:item(), q[4]:item()}, {got[1], got[3], got[4]}, 1e-8)
    assert.is_true(got[2] ~= got[2])
    assert.is_true(how.report.converged)
    local all <const> = how.joint(function(from, to) return k(odd:slice(1, from, to), x) end, m)
    near(joint[1][3], all[1][3], 1e-8)
    assert.is_true(all[2][2]:item() ~= all[2][2]:item())
  end)

  it("have a bound where each slice knows one, infinite elsewhere, none with further observations", function()
    local rough <const> = how_of(S.cg{tol = 0.5})
    local over <const> = q - rough.explained(cross, m)
    local bound <const> = rough.bound(cross, m)
    assert.is_true((over - bound):max():item() <= 1e-12 and over:min():item() >= -1e-12)
    assert.is_true(bound:max():item() < 1)
    local first <const> = how_of(S.cg{tol = 0.5})
    near(bound, first.bound(cross, m), 1e-12)                               -- asked for alone
    assert.equal(1, first.report.slices)
    assert.is_true(how_of(S.minres{}).bound(cross, m):eq(1 / 0):all())
    assert.is_true(how_of(nil, {noise = 0}).bound(cross, m):eq(1 / 0):all())
    assert.is_nil(how_of(nil, {more = more{}}).bound)
  end)

  it("count further observations beside them", function()
    local calls <const> = {}
    local how <const> = how_of(nil, {more = more(calls)})
    near(q + more_q, how.explained(cross, m), 1e-8)
    near(joint + more_joint, how.joint(cross, m), 1e-8)
    assert.same({{"6x4", 1, m}, {false, 1, m}, {"6x4", 1, m}}, calls)
    assert.is_nil(rawget(how.report, "variance_error"))
  end)

  it("of several fantasies are joined along the points", function()
    local all <const> = gb.stack({extra, 2 * extra}, 1)
    for _, width in ipairs{4, 3, 1} do
      with(core.memory, {room = function() return 2 * 8 * 16 * n * width end}, function()
        local how <const> = how_of(nil, {more = function(_, from, to) return all:slice(3, from, to) end})
        near(gb.stack({q + more_q, q + 4 * more_q}, 1), how.explained(cross, m), 1e-8)
      end)
    end
  end)

  it("are solved for by what the system has for many, closed then, and differentiated from the solution of one slice", function()
    local s <const> = S.minres{tol = 1e-10}:prepare(C)
    local seen
    local deep <const> = setmetatable({a = s.a, solver = s.solver, solve = function(_, ...)
      seen.solves = seen.solves + 1
      return s:solve(...)
    end}, {__close = function() seen.closed = seen.closed + 1 end})
    local host <const> = {a = s.a, for_many = function(_, count)
      seen.asked = count
      return deep
    end, lazy = function(_, rhs, x0)
      seen.guesses = seen.guesses + (x0 and 1 or 0)
      return s:lazy(rhs, x0)
    end}
    for _, width in ipairs{4, 3} do
      seen = {solves = 0, closed = 0, guesses = 0}
      with(core.memory, {room = function() return 2 * 8 * 16 * n * width end}, function()
        near(q, variance.solver(host, prior, noise).explained(cross, m), 1e-8)
      end)
      assert.same({solves = width == 4 and 1 or 2, closed = 1, guesses = width == 4 and 1 or 0, asked = m}, seen)
    end
  end)

  it("are those of f32 in f32", function()
    local f32 <const> = {dtype = "f32"}
    local how <const> = variance.solver(S.cg{tol = 1e-4}:prepare(C:to(f32)),
      function(from, to) return prior(from, to):to(f32) end, noise)
    local got <const>, size <const> = how.explained(function(from, to) return cross(from, to):to(f32) end, m)
    assert.same({"f32", "f32"}, {got.dtype, size.dtype})
    near(q, got, 1e-4)
    assert.equal("f32", how.explained(function(from, to) return cross(from, to):to(f32) end, 0).dtype)
  end)
end)

describe("the report of the solves of variances", function()
  it("is the worst of all slices", function()
    local function report() return variance.solver({a = gb.eye(2)}, nil, 1).report end
    local r <const> = report()
    assert.same({slices = 0, seconds = 0.0, converged = true, residual = 0.0, iterations = 0}, r)
    r:add{seconds = 1, converged = true, iterations = 3, residual = 0.25}
    assert.same({slices = 1, seconds = 1.0, converged = true, residual = 0.25, iterations = 3}, r)
    r:add{converged = false, reason = "why"}
    assert.same({slices = 2, seconds = 1.0, converged = false, residual = 0.25, iterations = 3, reason = "why"}, r)
    r:add{seconds = 2, converged = true, iterations = 2, residual = 0.125, reason = "converged"}
    assert.same({slices = 3, seconds = 3.0, converged = false, residual = 0.25, iterations = 3, reason = "why"}, r)
    local empty <const> = report()
    empty:add{converged = true}
    assert.same({slices = 1, seconds = 0.0, converged = true, residual = 0.0, iterations = 0}, empty)
    local bounded <const> = report()
    bounded:add{converged = true, missing = 0.25, residual = 0.5, iterations = 1}
    assert.same({0.25, 0.0}, {bounded.variance_error, bounded.residual})
    bounded:add{converged = true, missing = 0.125}
    assert.equal(0.25, bounded.variance_error)
    bounded:add{converged = true, missing = 7}
    assert.equal(1, bounded.variance_error)
    local partial <const> = report()
    partial:add({converged = true, missing = 0.25, residual = 0.5}, true)
    assert.is_nil(rawget(partial, "variance_error"))
    assert.equal(0.0, partial.residual)
    partial:add({converged = true, residual = 0.5}, true)
    assert.equal(0.5, partial.residual)
  end)
end)

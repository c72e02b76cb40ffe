--- The defaults of solvers, the arguments that they pass to the core, and their records at the bounds.
local base <const> = require "gibbous.solvers.base"
local core <const> = require "gibbous.core"
local gb <const> = require "gibbous"
local support <const> = require "spec.support"
local arguments <const>, near <const>, raises <const>, with <const> = support.arguments, support.near, support.raises, support.with
local P <const>, S <const> = gb.precond, gb.solvers

local f32 <const> = {dtype = "f32"}
local A <const> = gb.linalg.diag(gb.tensor{1, 2, 4, 8}):eval()
local b <const> = gb.ones(4)

describe("a solver's options", function()
  it("have these defaults", function()
    assert.same({tol = 1e-6, train_tol = 1e-2, max_iter = 1000, seed = 0}, S.cg{}.o)
    assert.same({tol = 1e-3, train_tol = 1e-3, max_iter = 1000, seed = 0}, S.cg{tol = 1e-3}.o)
    assert.same({tol = 1e-3, train_tol = 0.1, max_iter = 7, seed = 3, precision = "full", probes = 9},
      S.cg{tol = 1e-3, train_tol = 0.1, max_iter = 7, seed = 3, precision = "full", probes = 9}.o)
    assert.same({tol = 1e-6, train_tol = 1e-2, max_iter = 1000, probes = 16, seed = 0}, S.minres{}.o)
    assert.same({tol = 1e-3, train_tol = 1e-3, max_iter = 9, probes = 2, seed = 4},
      S.minres{tol = 1e-3, max_iter = 9, probes = 2, seed = 4}.o)
    assert.same({tol = 1e-2, train_tol = 1e-2, max_iter = 20000, batch = 512, momentum = 0.9, probes = 16, seed = 0}, S.sdd{}.o)
    assert.same({tol = 1e-6, train_tol = 1e-2, max_iter = 200, block = 1000, probes = 16, seed = 0}, S.alternating_projections{}.o)
    assert.same({tol = 1e-8, steps = 100, probes = 32, seed = 0}, S.lanczos{}.o)
    assert.same({jitter = 0, max_jitter = 1e-6}, S.cholesky{}.o)
    assert.same({1, 0, 1}, {S.sdd{batch = 1}.o.batch, S.sdd{momentum = 0}.o.momentum, S.alternating_projections{block = 1}.o.block})
    assert.same({1, 2}, {S.lanczos{steps = 1}.o.steps, S.lanczos{probes = 2}.o.probes})
    assert.same({0.1, 0.1}, {S.cholesky{jitter = 0.1, max_jitter = 0.1}.o.jitter, S.cholesky{max_jitter = 0.1}.o.max_jitter})
  end)

  it("are of these kinds", function()
    local kinds <const> = {tol = {0, "must be a positive number"}, train_tol = {0, "must be a positive number"},
      max_iter = {1.5, "must be a whole number, 0 or more"}, seed = {1.5, "must be"}}
    for _, name in ipairs{"cg", "minres", "sdd", "alternating_projections"} do
      for key, kind in pairs(kinds) do
        raises("option", ("gb.solvers.%s: option '%s' %s"):format(name, key, kind[2]), S[name], {[key] = kind[1]})
      end
      raises("option", ("gb.solvers.%s: probes must be 2 or more"):format(name), S[name], {probes = 1})
      raises("option", "'probes'", S[name], {probes = 2.5})
      for _, key in ipairs{"tol", "train_tol"} do
        raises("option", ("gb.solvers.%s: %s must be %s, got 1"):format(name, key,
          name == "cg" and "below 1" or "between 0 and 1"), S[name],
          {[key] = 1})
      end
    end
    raises("option", "gb.solvers.cholesky: option 'jitter' must be a number", S.cholesky, {jitter = "x"})
    raises("option", "gb.solvers.cholesky: option 'max_jitter' must be a positive number", S.cholesky, {max_jitter = 0})
    raises("option", "expected 0 <= jitter <= max_jitter < 1, got 0 and 1", S.cholesky, {max_jitter = 1})
    raises("option", "gb.solvers.sdd: option 'batch' must be a whole number", S.sdd, {batch = 1.5})
    raises("option", "gb.solvers.sdd: option 'momentum' must be a number", S.sdd, {momentum = "x"})
    raises("option", "gb.solvers.sdd: momentum must be from 0 to below 1, got -0.1", S.sdd, {momentum = -0.1})
    raises("option", "gb.solvers.alternating_projections: option 'block' must be a whole number", S.alternating_projections,
      {block = 1.5})
    raises("option", "gb.solvers.lanczos: option 'steps' must be a whole number", S.lanczos, {steps = 1.5})
    raises("option", "gb.solvers.lanczos: probes must be 2 or more", S.lanczos, {probes = 1})
    raises("option", "option 'precond' must be a gb.precond value", S.minres, {precond = 3})
    for _, noise in ipairs{0, -1, "x"} do
      raises("option", "logdet: option 'noise' must be a number above 0, or a tensor (n)", S.lanczos{}.logdet, S.lanczos{}, A,
        {noise = noise})
    end
  end)

  it("that models take by name", function()
    local want <const> = {cg = "cg(tol 1e-06, 0.01 in fits, nystrom)", cholesky = "cholesky()", minres = "minres(tol 1e-06)",
      sdd = "sdd(tol 0.01, batch 512)", alternating_projections = "alternating_projections(tol 1e-06, block 1000)"}
    for name, text in pairs(want) do assert.equal(text, tostring(S.named(name, "f64"))) end
    assert.equal("cg(tol 0.001, 0.01 in fits, nystrom)", tostring(S.named("cg", "f32")))
    assert.equal("cg(tol 1e-06, 0.01 in fits, nystrom)", tostring(S.for_models "f64"))
    assert.equal("auto", S.named("auto", "f64"))
    assert.same({"cg", "cholesky", "minres", "sdd", "alternating_projections"}, S.names)
  end)

  it("that are not said, and parts that not every one has, are nil", function()
    for _, name in ipairs{"cg", "minres", "sdd", "alternating_projections", "cholesky"} do
      local s <const> = S[name]{}
      for key in ("planned forms probe_count run text objective logdet lazy gradient_interval tol train_tol seed probes precond "
        .. "max_iter")
        :gmatch "%S+" do
        assert.has_no.errors(function() return s[key] end)
      end
      raises("option", name == "cholesky" and "a solver has no field 'tols' (it has jitter, max_jitter, objective, prepare, solve)"
        or "a solver has no field 'tols' (did you mean 'tol'?)", function() return s.tols end)
      raises("option", "solve is a method of a solver: write solver:solve(...) with a colon, not solver.solve(...)", s.solve, A, b)
    end
    local own <const> = {cg = "tol", minres = "tol", sdd = "batch", alternating_projections = "block", cholesky = "jitter",
      lanczos = "steps"}
    for name, key in pairs(own) do
      raises("option", ("'%s' is chosen when a solver is made: gb.solvers.%s{%s = ...}"):format(key, name, key),
        function() S[name]{}[key] = 1 end)
      assert.equal(name == "lanczos" and "lanczos" or "solver", gb.type(S[name]{}))
    end
    for _, kind in ipairs{"nystrom", "pivoted_cholesky"} do
      raises("option", ("'rank' is chosen when a preconditioner is made: gb.precond.%s{rank = ...}"):format(kind),
        function() P[kind]{}.rank = 1 end)
      assert.equal("precond", gb.type(P[kind]{}))
    end
    raises("option", "gb.precond.jacobi: unknown option 'rank'", P.jacobi, {rank = 1})
    for _, s in ipairs{S.minres{}, S.cholesky{}} do
      raises("option", "solve is a method of a prepared matrix: write system:solve(...) with a colon, not system.solve(...)",
        s:prepare(A).solve, b)
    end
    raises("option", "run is a method of a solver: write solver:run(...)", S.lanczos{}.run, A, b)
    raises("option", "a solver has no field 'stps' (did you mean 'steps'?)", function() return S.lanczos{}.stps end)
    raises("option", "a preconditioner has no field 'rnk' (did you mean 'rank'?)", function() return P.nystrom{}.rnk end)
    for key in ("info budget rank noise tol seed"):gmatch "%S+" do assert.is_nil(P.nystrom{}[key]) end
    for key in ("info budget choices make deepen resolve noise tol seed"):gmatch "%S+" do assert.is_nil(P.jacobi{}[key]) end
  end)
end)

describe("the core is given", function()
  it("what each algorithm takes", function()
    local x0 <const> = gb.zeros(4)
    local function given(owner, s) return arguments(core, owner, function() return s:solve(A, b, {x0 = x0}) end)[3] end
    local got <const> = given("minres", S.minres{tol = 1e-3, max_iter = 9, precond = P.jacobi{}})
    assert.same({1e-3, 9, true, true}, {got.tol, got.max_iter, got.precond ~= nil, got.x0:equal(x0)})
    local sdd <const> = given("sdd", S.sdd{tol = 1e-3, max_iter = 9, batch = 3, momentum = 0.5, seed = 4})
    assert.same({1e-3, 9, 3, 0.5, 4, 0, true}, {sdd.tol, sdd.max_iter, sdd.batch, sdd.momentum, sdd.seed, sdd.step,
      sdd.x0:equal(x0)})
    assert.equal(0.25, given("sdd", S.sdd{step = 0.25}).step)
    with(core.memory, {room = function() return 12345 end}, function()
      local ap <const> = given("alternating_projections", S.alternating_projections{tol = 1e-3, max_iter = 9, block = 3})
      assert.same({1e-3, 9, 3, 1234, true}, {ap.tol, ap.max_iter, ap.block, ap.keep, ap.x0:equal(x0)})
    end)
    local slq <const> = arguments(core, "logdet_slq", function() S.lanczos{steps = 9, probes = 5, tol = 1e-3,
      seed = 4}:logdet(A) end)[2]
    assert.same({tol = 1e-3, max_iter = 9, probes = 5, seed = 4}, slq)
    assert.equal(9, arguments(core, "lanczos", function() S.lanczos{steps = 9}:run(A, b) end)[3])
  end)

  it("by conjugate gradients tolerance, steps, precision and the preconditioner", function()
    local function lazy(o, a, opts) return arguments(core, "solver", function() S.cg(o):solve(a or A, b, opts) end)[3] end
    assert.same({tol = 1e-6, max_iter = 1000, mixed = false}, lazy{})
    assert.same({tol = 1e-3, max_iter = 9, mixed = true, precond = "jacobi"},
      lazy{tol = 1e-3, max_iter = 9, precision = "mixed", precond = P.jacobi{}})
    for kind, seed in pairs{pivoted_cholesky = false, nystrom = 5} do
      local s <const> = lazy{precond = P[kind]{rank = 7, tol = 0.1, seed = seed or nil, noise = 0.5}}
      near(gb.linalg.diag(gb.tensor{0.5, 1.5, 3.5, 7.5}), s.k, 1e-15)
      s.k = nil
      assert.same({tol = 1e-6, max_iter = 1000, mixed = false, precond = kind, rank = 4, precond_tol = 0.1,
        precond_seed = seed or nil,
        noise = 0.5}, s)
    end
    local none <const> = lazy{precond = P.nystrom{rank = "auto", noise = 0.5}}                    -- of few points
    assert.same({tol = 1e-6, max_iter = 1000, mixed = false}, none)
    local system <const> = S.cg{tol = 1e-3, precond = P.nystrom{rank = 2, noise = 9}}:prepare(A, A - 0.5 * gb.eye(4), 0.5)
    local s <const> = arguments(core, "solver", function() system:lazy(b, 2 * b) end)[3]
    assert.same({1e-3, "nystrom", 2, 0.5}, {s.tol, s.precond, s.rank, s.noise})
    near(2 * b, s.x0, 0)
    near(A - 0.5 * gb.eye(4), s.k, 0)
    local other <const> = arguments(core, "solver", function() S.minres{tol = 1e-4}:prepare(A):lazy(b, b) end)[3]
    assert.same({1e-4, true}, {other.tol, rawequal(other.x0, b)})
    assert.is_nil(other.precond)
    local run <const> = arguments(core, "cg", function() S.cg{tol = 1e-4, max_iter = 8}:prepare(A):solve(b, b) end)[3]
    assert.same({tol = 1e-4, max_iter = 8, x0 = b, mixed = false}, run)
    local forms <const> = arguments(core, "cg", function() base.forms(S.cg{tol = 1e-4, max_iter = 8}:prepare(A), b:unsqueeze(2), b,
      0.5) end)[3]
    assert.same({tol = 1e-4, max_iter = 8, mixed = false, prior = b, least = 0.5}, forms)
  end)

  it("in a fit its tolerance there, and the probes", function()
    local function of(o)
      return arguments(core, "marginal", function() S.cg(o):objective(A, b) end)[3]
    end
    assert.same({tol = 1e-2, max_iter = 1000, mixed = false, seed = 0, probes = 64, exact = false}, of{})
    assert.same({tol = 0.1, max_iter = 9, mixed = true, seed = 3, probes = 5, exact = false},
      of{tol = 1e-4, train_tol = 0.1, max_iter = 9, precision = "mixed", seed = 3, probes = 5})
    assert.same({tol = 1e-2, max_iter = 1000, mixed = false, seed = 0, exact = true}, of{probes = "exact"})
    for n, want in pairs{[0] = 64, [1] = 64, [1250] = 64, [1251] = 64, [1270] = 63, [4999] = 17, [5000] = 16, [100000] = 16} do
      assert.equal(want, S.cg{}:probe_count(n), n .. " points")
    end
    assert.same({7, 12}, {S.cg{probes = 7}:probe_count(5000), S.cg{probes = "exact"}:probe_count(12)})
  end)

  it("for a preconditioner the rank, the tolerance and the seed", function()
    local k <const> = gb.eye(4)
    local function made(owner, p) return arguments(core, owner, function() p:build(A, k, 0.5) end) end
    local v <const> = made("nystrom", P.nystrom{rank = 3})
    assert.same({true, 0.5, 3, 0, 0, 5}, {rawequal(v[1], k), v[2], v[3], v[4], v[5], v.n})
    local w <const> = made("nystrom", P.nystrom{rank = 9, seed = 4, tol = 0.25})
    assert.same({4, 4, 0.25}, {w[3], w[4], w[5]})
    local u <const> = made("pivoted_cholesky", P.pivoted_cholesky{rank = 3})
    assert.same({true, 0.5, 3, 0, 4}, {rawequal(u[1], k), u[2], u[3], u[4], u.n})
    assert.equal(0.25, made("pivoted_cholesky", P.pivoted_cholesky{rank = 3, tol = 0.25})[4])
    assert.equal(A, arguments(core, "jacobi", function() P.jacobi{}:build(A) end)[1])
  end)
end)

describe("mixed precision of f32", function()
  local function solve(scale, rhs, o)
    local s <const> = S.cg{tol = o and o.tol or 1e-6, precision = "mixed"}
    return s:prepare(gb.eye(4, f32) * scale):solve(gb.full({4}, rhs, f32))
  end

  it("says where f32 cannot hold the solution, and loses no more than the tolerance or a thousandth", function()
    local v <const>, info <const> = solve(0.5, 3e38)
    assert.equal("f32", v.dtype)
    assert.same({false, "overflow", "the solution is larger than f32 holds: scale the right-hand side"},
      {info.converged, info.reason, info.message})
    local _, tiny <const> = solve(1e20, 1e-30)
    assert.same({false, "underflow", "the solution is smaller than f32 holds: scale the right-hand side", 1},
      {tiny.converged, tiny.reason, tiny.message, tiny.residual})
    local function below(units, o) return select(2, solve(2.0 ^ 60, units * 2.0 ^ -89, o)) end           -- x = units 2^-149
    local some <const> = below(300.5)
    assert.same({false, "underflow"}, {some.converged, some.reason})
    near(0.5 / 300.5, some.residual, 1e-6)
    assert.is_true(below(800.5).converged)
    assert.is_true(below(300.5, {tol = 0.01}).converged)
    assert.is_true(solve(2, 1):equal(gb.full({4}, 0.5, f32)))
    assert.equal("nan", select(2, solve(2, 0 / 0)).reason)
    -- x = 300.5 and 1 units of the least number in one column: what is lost is measured by the largest
    local s <const>, mixed <const> = S.cg{precision = "mixed"}, gb.linalg.diag(gb.full({2}, 2.0 ^ 60, f32))
    local _, beside <const> = s:prepare(mixed):solve(gb.tensor({{300.5, 4}, {600, 4}}, f32) * 2.0 ^ -89)
    assert.is_true(beside.converged)
    local _, one <const> = s:prepare(mixed):solve(gb.tensor({{300.5, 4}, {300, 4}}, f32) * 2.0 ^ -89)
    assert.same({false, "underflow"}, {one.converged, one.reason})
    near(0.5 / 300.5, one.residual, 1e-6)
    local _, zeros <const> = s:prepare(mixed):solve(gb.tensor({{300.5, 0}, {300, 0}}, f32) * 2.0 ^ -89)
    near(0.5 / 300.5, zeros.residual, 1e-6)
    local x <const>, forms <const>, q <const> = base.forms(s:prepare(mixed), gb.full({2, 1}, 3e38, f32) * 0 + 2.0 ^ 61,
      gb.ones(1, f32) * 3e38, 1)
    assert.same({"f32", true}, {x.dtype, forms.converged})
    near(2 * 2.0 ^ 62, q, 1)
    -- what is of another dtype is brought back to that of the right-hand side
    local system <const> = S.cg{precision = "mixed", tol = 1e-8}:prepare(gb.eye(2, f32) * 2)
    local rhs <const> = gb.ones(2, f32)
    local lazy <const> = system:lazy(rhs)
    assert.equal("f32", lazy.dtype)
    near({0.5, 0.5}, lazy, 1e-7)
    local held <const> = system:hold(rhs:requires_grad(), gb.tensor({7, 8}, f32))
    assert.equal("f32", held.dtype)
    near({7, 8}, held, 0)
    local plain <const> = S.cg{tol = 1e-8}:prepare(gb.eye(2) * 2)
    local b2 <const> = gb.ones(2):requires_grad()
    local kept <const> = plain:hold(b2, gb.tensor{7, 8})
    near({7, 8}, kept, 0)
    near({0.5, 0.5}, gb.grad(kept:sum(), b2), 1e-7)
    near({0.5, 0.5}, plain:lazy(b2), 1e-7)
  end)
end)

describe("a factor", function()
  local solver <const> = S.cholesky{}
  local function info_of(a, rhs) return select(2, solver:solve(a, rhs or gb.ones(#a, {dtype = a.dtype}))) end
  local function two(c, dtype) return gb.linalg.diag(gb.tensor({1, c}, {dtype = dtype})):eval() end

  it("is trusted while two digits are left", function()
    for dtype, row in pairs{f64 = {9.0e13, 2.0 ^ -53}, f32 = {167772, 2.0 ^ -24}} do
      local good <const>, bad <const> = info_of(two(1 / (0.95 * row[1]), dtype)), info_of(two(1 / (1.05 * row[1]), dtype))
      assert.same({true, "converged", false, "ill_conditioned"}, {good.converged, good.reason, bad.converged, bad.reason})
      near(-math.log(bad.condition * row[2], 10), bad.digits, 1e-12)
      near(1, bad.condition / (1.05 * row[1]), 1e-5)
      assert.equal(4 * (dtype == "f32" and 4 or 8), bad.bytes)
      assert.same({0, 0}, {good.jitter, good.relative_jitter})
      assert.equal(0, bad.iterations)
    end
    assert.equal(0, info_of(two(1e-17)).digits)
  end)

  it("leaves no residual that a symmetric matrix would not", function()
    local function upper(d, c, dtype) return gb.tensor({{1, d}, {0, c}}, {dtype = dtype}) end
    for dtype, unit in pairs{f64 = 2.0 ^ -53, f32 = 2.0 ^ -24} do
      local bound <const> = math.sqrt(2 * unit)                       -- d / sqrt(2) of the residual is the root of unit
      assert.equal("converged", info_of(upper(0.9 * bound, 1, dtype)).reason)
      assert.equal("not_symmetric", info_of(upper(1.1 * bound, 1, dtype)).reason)
    end
    local c <const> = 2.0 ^ -23
    local allowed <const> = 100 * 2 * 2.0 ^ 23 * 2.0 ^ -53            -- 100 n condition u
    for share, reason in pairs{[0.997] = "converged", [1.003] = "not_symmetric"} do
      assert.equal(reason, info_of(upper(share * allowed * math.sqrt(2) * c, c), gb.tensor{1, 1}).reason)
    end
  end)

  it("counts a solution below the normal numbers as lost where the residual says so", function()
    for dtype, least in pairs{f64 = 2.0 ^ -1022, f32 = 2.0 ^ -126} do
      local a <const> = gb.tensor({{4, 100}, {1, 4}}, {dtype = dtype})        -- x = b / 5 by its lower triangle
      for share, reason in pairs{[0.75] = "underflow", [1.25] = "not_symmetric"} do
        assert.equal(reason, info_of(a, gb.full({2}, 5 * share * least, {dtype = dtype})).reason)
      end
      assert.equal("not_symmetric", info_of(a, gb.tensor({1, 1}, {dtype = dtype})).reason)
    end
  end)

  it("has the residual of columns of any size", function()
    local a <const> = gb.tensor{{4, 1, 0}, {1, 3, 1}, {0, 1, 5}}
    for dtype, sizes in pairs{f64 = {1e-200, 1e200}, f32 = {1e-30, 1e30}} do
      local m <const>, o <const> = a:to{dtype = dtype}, {dtype = dtype}
      local rhs <const> = gb.stack({gb.full({3}, sizes[1], o), gb.zeros(3, o), gb.full({3}, sizes[2], o)}, 2)
      local x <const>, info <const> = solver:solve(m, rhs)
      assert.is_true(info.converged and info.residual < 1e-6)
      near((solver:solve(m, gb.ones(3, o))), x:select(2, 3) / sizes[2], 1e-6)
    end
    -- the factor is replaced by one whose solutions are wrong: the residual must say so
    local system <const> = solver:prepare(a)
    with(core, {solve_chol = function(_, rhs) return rhs * gb.tensor{0, 1, 0.5} end}, function()
      local _, info <const> = system:solve(gb.stack({gb.tensor{0, 0, 0}, gb.tensor{2, 0, 0}, gb.tensor{0, 2, 0}}, 2))
      near(math.sqrt(10), info.residual, 1e-12)
    end)
  end)

  it("with jitter has the residual of the matrix with it, and adds none above its bound", function()
    local a <const> = gb.tensor{{2, 2 + 6e-6}, {2 + 6e-6, 2}}
    local s <const> = S.cholesky{jitter = 1e-5, max_jitter = 1e-5}
    local _, info <const> = s:solve(a, gb.tensor{1, -1})
    near(1e-5, info.relative_jitter, 1e-16)
    assert.is_true(info.residual < 1e-9)
    local err <const> = raises("not_pd", "; nor with jitter up to 2e-06 of the mean diagonal",
      S.cholesky{jitter = 1e-6, max_jitter = 2e-6}.solve,
      S.cholesky{jitter = 1e-6, max_jitter = 2e-6}, a, gb.ones(2))
    assert.equal(2, err.order)
    local plain <const> = raises("not_pd", "minor", solver.solve, solver, a, gb.ones(2))
    assert.is_nil(plain.message:find("nor with", 1, true))
    raises("not_pd", "nor with jitter", s.solve, s, gb.tensor{{-1, 0}, {0, -1}}, gb.ones(2))
    with(core, {eval = function() error("plain", 0) end}, function() assert.equal("plain", select(2, pcall(s.prepare, s, a))) end)
    local zero <const> = raises("not_pd", "minor", s.solve, s, gb.tensor{{0, 0}, {0, 0}}, gb.ones(2))    -- no scale to go by
    assert.equal(1, zero.order)
  end)

  it("says how long factoring and solving took", function()
    local now = 0
    local function tick()
      now = now + 1
      return now
    end
    with(core, {clock = tick}, function()
      local system <const> = solver:prepare(A)
      assert.equal(2, select(2, system:solve(b)).seconds)
      assert.equal(2, select(2, system:solve(b)).seconds)
    end)
  end)
end)

describe("the record of a solve", function()
  it("has fields that may be absent, and no others", function()
    local records <const> = {[S.cholesky{}] = "message missing standard_error",
      [S.minres{}] = "message missing relative_jitter step digits residual_y residual_probes logdet standard_error",
      [S.cg{}] = "relative_jitter step digits residual_y residual_probes logdet standard_error missing"}
    for s, names in pairs(records) do
      local _, info <const> = s:solve(A, b)
      for key in names:gmatch "%S+" do assert.has_no.errors(function() return info[key] end, key) end
      assert.is_nil(info[1])
      assert.is_nil(info._x)
      raises("option", "the report of a solve has no field 'iteration' (did you mean 'iterations'?)",
        function() return info.iteration end)
    end
    local _, logdet <const> = S.lanczos{}:logdet(A)
    assert.is_true(logdet.message == nil or logdet.message == "")
    raises("option", "the report of a log determinant has no field 'intervl' (did you mean 'interval'?)",
      function() return logdet.intervl end)
  end)

  it("of a lazy solve comes with it, or is gone", function()
    local record <const> = require "gibbous.solvers.info"
    raises("option", "the report of this solve is gone: too many others ran since", function() return record(b).converged end)
    local _, fresh <const> = S.cg{}:solve(A, b)
    local seen <const> = {}
    for key, v in pairs(fresh) do seen[key] = v end
    assert.same({true, "converged"}, {seen.converged, seen.reason})
  end)

  it("of the log determinant of no rows is of zeros", function()
    local value <const>, info <const> = S.lanczos{probes = 5}:logdet(gb.zeros(0, 0))
    assert.equal(0, value)
    local fields <const> = {}
    for key, v in pairs(info) do fields[key] = v end
    assert.same({value = 0.0, standard_error = 0.0, interval = {0.0, 0.0}, truncation = 0.0, probes = 5, converged = true,
      reason = "converged", iterations = 0, residual = 0.0, condition = 0.0, seconds = 0.0, bytes = 0}, fields)
  end)

  it("of log determinants has an interval by Student's t, wider by what the last steps changed", function()
    local x <const> = gb.rand(60, 1, {seed = 1})
    local a <const> = gb.kernels.rbf{lengthscale = 0.1}(x) + 1e-4 * gb.eye(60)
    for _, steps in ipairs{5, 60} do
      local value <const>, info <const> = S.lanczos{steps = steps, probes = 6, tol = 1e-3}:logdet(a)
      assert.equal(steps == 60, info.converged)
      local half <const> = 2.570581835636314 * info.standard_error + (info.converged and 0 or info.truncation)
      near({value - half, value + half}, info.interval, 1e-6)
      assert.same({6, value}, {info.probes, info.value})
    end
    local s <const> = S.cg{probes = 6, tol = 1e-8}
    local value <const>, low <const>, high <const>, info <const> = s:logdet(a)
    near({2.570581835636314 * info.standard_error, 2.570581835636314 * info.standard_error}, {value - low, high - value}, 1e-6)
    local _, closer <const> = s:logdet(a, nil, nil, 0.5)
    near(0.7266868438 * info.standard_error, value - closer, 1e-6)
    local exact <const> = table.pack(S.cg{probes = "exact", tol = 1e-10}:logdet(a))
    assert.is_true(exact[1] == exact[2] and exact[1] == exact[3])
    near(gb.linalg.logdet(a), exact[1], 1e-6)
  end)
end)

local gb <const> = require "gibbous"
local core <const> = require "gibbous.core"
local diagnosis <const> = require "gibbous.gp.report.diagnosis"
local support <const> = require "spec.support"
local near <const>, raises <const> = support.near, support.raises
local K <const> = gb.kernels

local n <const> = 200
local x <const> = gb.rand(n, 2, {seed = 1}):eval()
local B <const> = gb.randn(n, 3, {seed = 2}):eval()
local noise <const> = 0.1
local k <const> = K.matern32{lengthscale = 0.3}
local A <const> = k(x) + noise * gb.eye(n)

local function field_names(info)
  for _, name in ipairs{"converged", "reason", "iterations", "residual", "condition", "jitter", "seconds", "bytes"} do
    assert.is_not_nil(info[name], name)
  end
end

local function true_residual(a, b, v)
  local left <const>, all <const> = ((b - a:matmul(v)) ^ 2):sum(1):sqrt(), (b ^ 2):sum(1):sqrt()
  return (left / all):max():item()
end

describe("a model with a solver that is not part of the graph", function()
  it("is planned, and fits within a budget", function()
    local x <const>, y <const> = gb.rand(30, 1, {seed = 1}):eval(), gb.rand(30, {seed = 2}):eval()
    for _, name in ipairs{"sdd", "minres", "alternating_projections"} do
      local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{}, noise = 0.5, solver = gb.solvers[name]{tol = 1e-2}}
      assert.is_true(m:plan(x, y, {budget = "1 GiB"}).peak > 0)
      assert.equal(1, m:fit(x, y, {steps = 1, budget = "1 GiB"}).iterations)
    end
  end)
end)

describe("jitter", function()
  it("is the least of the powers of ten, from the first on, that a factor needs", function()
    local a <const> = gb.tensor{{2, 2 + 6e-6}, {2 + 6e-6, 2}}
    for _, row in ipairs{{1e-8, 1e-5}, {2e-7, 2e-5}, {1e-3, 1e-3}} do
      local _, info <const> = gb.solvers.cholesky{jitter = row[1], max_jitter = 1e-2}:solve(a, gb.ones(2))
      assert.is_true(math.abs(info.relative_jitter - row[2]) <= 1e-12 * row[2])
      assert.is_true(math.abs(info.jitter - 2 * row[2]) <= 1e-12)
    end
  end)
end)

describe("every solver", function()
  local solvers <const> = {gb.solvers.minres{tol = 1e-9}, gb.solvers.alternating_projections{tol = 1e-9, block = 60,
    max_iter = 2000},
    gb.solvers.sdd{tol = 1e-3, batch = 50}, gb.solvers.cholesky{}}

  it("solves, and gives the same record", function()
    for _, s in ipairs(solvers) do
      local v <const>, info <const> = s:solve(A, B)
      near(gb.linalg.solve(A, B), v, s.o.tol and s.o.tol >= 1e-3 and 0.05 or 1e-6, tostring(s))
      field_names(info)
      assert.is_true(info.converged and info.residual <= (s.o.tol or 1e-10), tostring(s) .. ": " .. tostring(info))
      near(true_residual(A, B, v), info.residual, 1e-9)
      near(v:select(2, 1), (s:solve(A, B:select(2, 1):eval())), s.o.tol and 1e3 * s.o.tol or 1e-12)
    end
  end)

  it("drops columns of a guess that are worse than 0 by far, or no numbers", function()
    local n <const> = 60
    local x <const> = gb.linspace(0, 1, n):unsqueeze(2)
    local a <const> = gb.kernels.rbf{lengthscale = 0.2}(x, x):eval() + gb.eye(n) * 0.1
    local b <const> = gb.randn(n, 4, {seed = 1}):eval()
    for _, name in ipairs{"cg", "minres", "alternating_projections", "sdd"} do
      local o <const> = name == "sdd" and {tol = 1e-2, max_iter = 20000} or {tol = 1e-8}
      local plain <const>, without <const> = gb.solvers[name](o):solve(a, b)
      local bad <const> = gb.stack({gb.full({n}, 0 / 0), gb.full({n}, 1 / 0), plain:select(2, 3) * 1e10, gb.zeros(n)}, 2)
      local got <const>, info <const> = gb.solvers[name](o):solve(a, b, {x0 = bad:eval()})
      assert.is_true(info.converged and info.iterations == without.iterations, ("%s: %s, %s"):format(name, info, without))
      assert.same(plain:totable(), got:totable(), name)
    end
  end)

  it("report an indefinite matrix, with its diagonal as preconditioner, too", function()
    local a <const> = gb.linalg.diag(gb.tensor{2, 1, -1, 3})
    for _, precond in ipairs{false, gb.precond.jacobi{}} do
      local _, info <const> = gb.solvers.cg{precond = precond or nil}:solve(a, gb.ones(4))
      assert.same({false, "indefinite"}, {info.converged, info.reason})
    end
    local v <const>, info <const> = gb.solvers.minres{precond = gb.precond.jacobi{}}:solve(a, gb.ones(4))
    assert.is_true(info.converged)
    support.near({0.5, 1, -1, 1 / 3}, v, 1e-6)
  end)

  it("starts from a guess", function()
    local v <const> = gb.linalg.solve(A, B):eval()
    for i = 1, 3 do
      local _, info <const> = solvers[i]:solve(A, B, {x0 = v})
      assert.is_true(info.converged)
      assert.equal(0, info.iterations)
    end
  end)

  it("takes f32", function()
    local a <const>, b <const> = k(x:to{dtype = "f32"}) + noise * gb.eye(n, {dtype = "f32"}), B:to{dtype = "f32"}
    for _, s in ipairs{gb.solvers.minres{tol = 1e-4}, gb.solvers.alternating_projections{tol = 1e-2, block = 60, max_iter = 2000},
      gb.solvers.sdd{tol = 1e-2, batch = 50}, gb.solvers.cholesky{}} do
      local v <const>, info <const> = s:solve(a, b)
      assert.equal("f32", v.dtype)
      assert.is_true(info.converged and info.residual <= 1e-2, tostring(info))
    end
  end)

  it("says that it did not converge", function()
    for _, s in ipairs{gb.solvers.minres{max_iter = 2}, gb.solvers.alternating_projections{block = 30, max_iter = 1},
      gb.solvers.sdd{batch = 10, max_iter = 5}} do
      local v <const>, info <const> = s:solve(A, B)
      assert.is_false(info.converged)
      assert.equal("max_iter", info.reason)
      near(true_residual(A, B, v), info.residual, 1e-9)
    end
  end)

  it("takes a tolerance in (0, 1), and known options only", function()
    for name, make in pairs{minres = gb.solvers.minres, sdd = gb.solvers.sdd, lanczos = gb.solvers.lanczos,
      alternating_projections = gb.solvers.alternating_projections} do
      raises("option", "gb.solvers." .. name .. ": tol must be between 0 and 1, got 1", make, {tol = 1})
      raises("option", "tol", make, {tol = 0})
      raises("option", ("gb.solvers.%s: unknown option 'tolerance'"):format(name), make, {tolerance = 0.1})
    end
    raises("option", "momentum must be from 0 to below 1", gb.solvers.sdd, {momentum = 1})
    raises("option", "block must be 1 or more", gb.solvers.alternating_projections, {block = 0})
    raises("shape", "does not fit", function() gb.solvers.minres{}:solve(A, gb.ones(3)) end)
  end)
end)

describe("the condition of a record", function()
  local second <const> = {gb.solvers.alternating_projections{block = 70, tol = 1e-3}, gb.solvers.alternating_projections{},
    gb.solvers.alternating_projections{block = 25, max_iter = 2}, gb.solvers.sdd{batch = 50, max_iter = 500},
    gb.solvers.sdd{batch = 50, max_iter = 5, step = 1e-3}}

  it("is below the true one, and near it for smooth kernels, converged or not", function()
    for _, case in ipairs{{A, 3}, {K.rbf{lengthscale = 0.5}(x) + 0.01 * gb.eye(n), 3},
      {1e3 * K.rbf{lengthscale = 3}(x) + gb.eye(n), 3}, {K.matern12{lengthscale = 0.05}(x) + 1e-3 * gb.eye(n), 20},
      {gb.linalg.diag(gb.linspace(1, 50, n)), 3}} do
      local c <const>, factor <const> = table.unpack(case)
      local values <const> = gb.linalg.eigh(c):totable()
      local exact <const> = values[n] / values[1]
      for _, s in ipairs(second) do
        local _, info <const> = s:solve(c, B)
        local _, one <const> = s:solve(c, B:select(2, 1):eval())
        for _, got in ipairs{info.condition, one.condition} do
          assert.is_true(got <= exact * (1 + 1e-9) and got >= exact / factor,
            ("%s: %g of %g"):format(tostring(s), got, exact))
        end
      end
    end
  end)

  it("is exact where all is known: a number, the unit matrix, two eigenvalues", function()
    for _, case in ipairs{{gb.tensor{{4}}, 1}, {gb.eye(5), 1}, {gb.linalg.diag(gb.tensor{1, 3, 3, 1}), 3}} do
      for _, s in ipairs(second) do
        local _, info <const> = s:solve(case[1], gb.ones(#case[1]))
        near(case[2], info.condition, 1e-9, tostring(s))
      end
    end
  end)

  it("stays finite, and below what the dtype tells apart", function()
    local flat <const> = K.rbf{lengthscale = 5}(x:to{dtype = "f32"}) + 1e-5 * gb.eye(n, {dtype = "f32"})
    local singular <const> = gb.linalg.diag(gb.tensor{1, 1, 0})
    for _, s in ipairs(second) do
      local _, info <const> = s:solve(flat, B:to{dtype = "f32"})
      assert.is_true(info.condition >= 0 and info.condition <= 2 ^ 23, tostring(info))
      local _, none <const> = s:solve(singular, gb.ones(3))
      assert.is_true(none.condition >= 0 and none.condition <= 2 ^ 52, tostring(none))
      local _, broken <const> = s:solve(gb.linalg.diag(gb.tensor{1, 0 / 0}), gb.ones(2))
      assert.equal(0, broken.condition)
    end
  end)
end)

describe("gb.solvers.minres", function()
  it("solves indefinite systems, which conjugate gradients cannot", function()
    local C <const> = A - gb.eye(n)
    local v <const>, info <const> = gb.solvers.minres{tol = 1e-10}:solve(C, B)
    assert.is_true(info.converged, tostring(info))
    assert.is_true(true_residual(C, B, v) <= 1.01e-10)
    local _, cg <const> = gb.solvers.cg{tol = 1e-10}:solve(C, B)
    assert.equal("indefinite", cg.reason)
  end)

  it("gives least squares where there is no solution", function()
    local v <const>, info <const> = gb.solvers.minres{}:solve(gb.linalg.diag(gb.tensor{1, 0, 3}), gb.tensor{1, 1, 1})
    assert.equal("singular", info.reason)
    near({1, 1 / 3}, {v[1]:item(), v[3]:item()}, 1e-10)
    near(1 / math.sqrt(3), info.residual, 1e-10)
  end)
end)

describe("gb.solvers.lanczos", function()
  local lanczos <const> = gb.solvers.lanczos{steps = 60}

  it("gives an orthonormal basis and the tridiagonal matrix in it", function()
    local q <const>, t <const>, info <const> = lanczos:run(A, B:select(2, 1))
    assert.equal(60, info.steps)
    assert.is_true((q:t():matmul(q) - gb.eye(60)):norm():item() <= 1e-12)
    local left <const> = (A:matmul(q) - q:matmul(t)):norm():item()
    near(left, info.residual, 1e-9)
    near(q:t():matmul(A):matmul(q), t, 1e-12)
  end)

  it("stops at an invariant subspace", function()
    local _, t <const>, info <const> = lanczos:run(gb.linalg.diag(gb.tensor{1, 1, 2, 2, 3}), gb.ones(5))
    assert.equal(3, info.steps)
    near({1, 2, 3}, gb.linalg.eigh(t), 1e-12)
  end)

  it("gives log det with an interval that holds it in about 95 of 100 seeds", function()
    local few <const> = gb.kernels.matern32{lengthscale = 0.3}(x:slice(1, 1, 40):eval()) + noise * gb.eye(40)
    local truth <const>, inside, runs <const> = gb.linalg.logdet(few):item(), 0, 1000
    for seed = 1, runs do
      local value <const>, info <const> = gb.solvers.lanczos{steps = 40, probes = 12, seed = seed, tol = 1e-6}:logdet(few)
      assert.equal(value, info.value)
      if info.interval[1] <= truth and truth <= info.interval[2] then inside = inside + 1 end
    end
    assert.is_true(inside >= 0.93 * runs and inside <= 0.97 * runs, ("%d of %d"):format(inside, runs))
  end)

  it("knows the quantiles of Student's t", function()
    local one <const> = gb.solvers.lanczos{probes = 2}
    local _, info <const> = one:logdet(A)
    near(12.7062 * info.standard_error, info.interval[2] - info.value, 1e-4)
    local _, many <const> = gb.solvers.lanczos{probes = 31}:logdet(A)
    near(2.04227 * many.standard_error, many.interval[2] - many.value, 1e-4)
  end)

  it("takes one noise in any shape", function()
    local k <const> = gb.kernels.rbf{}(gb.rand(30, 1, {seed = 1}))
    local s <const> = gb.solvers.lanczos{precond = gb.precond.nystrom{rank = 5}}
    local c <const> = k + gb.eye(30) * 0.1
    local want <const> = s:logdet(c, {k = k, noise = 0.1})
    for _, noise in ipairs{gb.tensor{0.1}, gb.full({}, 0.1)} do near(want, (s:logdet(c, {k = k, noise = noise})), 1e-9) end
    near(want, (s:logdet(c, {k = k, noise = gb.full({30}, 0.1)})), 1e-2)
    raises("shape", "one for each row", s.logdet, s, c, {k = k, noise = gb.ones(3)})
  end)

  it("is narrow with a preconditioner", function()
    local truth <const> = gb.linalg.logdet(A):item()
    for _, kind in ipairs{"nystrom", "pivoted_cholesky"} do
      local s <const> = gb.solvers.lanczos{precond = gb.precond[kind]{rank = 100}, steps = 50}
      local _, info <const> = s:logdet(A, {k = k(x), noise = noise})
      assert.is_true(info.converged and info.interval[2] - info.interval[1] <= 0.02 * math.abs(truth), tostring(info))
      assert.is_true(math.abs(info.value - truth) <= 2 * (info.interval[2] - info.value), tostring(info))
    end
  end)

  it("widens the interval where steps are too few", function()
    local ill <const> = K.rbf{lengthscale = 0.5}(x) + 1e-6 * gb.eye(n)
    local _, info <const> = gb.solvers.lanczos{steps = 8}:logdet(ill)
    assert.is_false(info.converged)
    assert.is_true(info.truncation > info.standard_error)
  end)

  it("takes empty matrices, and refuses indefinite ones", function()
    assert.equal(0, (lanczos:logdet(gb.zeros(0, 0))))
    local _, one <const> = lanczos:logdet(gb.tensor{{4}})
    near({math.log(4), math.log(4)}, one.interval, 1e-6)
    raises("nan", "not finite", function() lanczos:logdet(gb.tensor{{1, 0 / 0}, {0 / 0, 1}}) end)
    raises("not_pd", "logdet: the matrix is not positive definite",
      function() lanczos:logdet(gb.linalg.diag(gb.tensor{1, -2, 3})) end)
  end)
end)

describe("gb.solvers.cholesky", function()
  local ill <const> = K.rbf{lengthscale = 0.5}(x)

  it("adds no jitter that was not asked for", function()
    local err <const> = raises("not_pd", "leading minor of order", function() gb.solvers.cholesky{}:solve(ill, B) end)
    assert.is_true(math.type(err.order) == "integer" and err.order > 1 and err.order <= n)
    local _, info <const> = gb.solvers.cholesky{jitter = 1e-12}:solve(A, B)
    assert.equal(0, info.jitter)
  end)

  it("adds the least jitter that serves, relative to the mean diagonal, and says how much", function()
    local s <const> = gb.solvers.cholesky{jitter = 1e-14, max_jitter = 1e-8}
    local v <const>, info <const> = s:solve(ill * 100, B)
    assert.is_true(info.relative_jitter >= 1e-14 and info.relative_jitter <= 1e-8)
    near(100 * info.relative_jitter / info.jitter, 1, 1e-9)
    near(true_residual(ill * 100 + info.jitter * gb.eye(n), B, v), info.residual, 0.1)
    assert.matches("of the mean diagonal", tostring(info))
    raises("not_pd", "nor with jitter up to 1e-19", function()
      gb.solvers.cholesky{jitter = 1e-20, max_jitter = 1e-19}:solve(ill, B)
    end)
    raises("option", "0 <= jitter <= max_jitter < 1", gb.solvers.cholesky, {jitter = 1e-3})
    raises("option", "0 <= jitter <= max_jitter < 1", gb.solvers.cholesky, {jitter = -1})
  end)

  it("says how many digits are left, and when none are", function()
    local _, good <const> = gb.solvers.cholesky{}:solve(A, B)
    local values <const> = gb.linalg.eigh(A):totable()
    local exact <const> = values[n] / values[1]
    assert.is_true(good.condition >= exact / 3 and good.condition <= 30 * exact, tostring(good))
    near(-math.log(good.condition * 2 ^ -53, 10), good.digits, 1e-9)
    local _, bad <const> = gb.solvers.cholesky{jitter = 1e-15}:solve(ill, B)
    assert.is_false(bad.converged)
    assert.equal("ill_conditioned", bad.reason)
  end)

  it("is differentiable, as gb.linalg.solve", function()
    local points <const> = gb.rand(20, 2, {seed = 4}):requires_grad()
    local c <const>, b <const> = k(points) + noise * gb.eye(20), gb.randn(20, {seed = 5})
    local v <const>, w <const> = gb.solvers.cholesky{}:solve(c, b), gb.linalg.solve(c, b)
    near(gb.grad((w * w):sum(), {points})[1], gb.grad((v * v):sum(), {points})[1], 1e-9)
  end)

  it("takes n = 0, 1 and r = 0", function()
    local s <const> = gb.solvers.cholesky{}
    near(0.5, (s:solve(gb.tensor{{4}}, gb.tensor{2})), 1e-15)
    assert.equal(0, (s:solve(gb.zeros(0, 0), gb.zeros(0))).numel)
    assert.same({2, 0}, {table.unpack((s:solve(gb.eye(2), gb.zeros(2, 0))).shape)})
    local _, info <const> = s:solve(gb.eye(2), gb.tensor{1, 0 / 0})
    assert.is_false(info.converged)
    assert.equal("nan", info.reason)
    raises("nan", "", function() s:solve(gb.tensor{{1, 0 / 0}, {0 / 0, 1}}, gb.ones(2)) end)
  end)
end)

describe("the likelihood of a model solved by minimal residuals", function()
  it("is solved to train_tol, and its error is quadratic in that", function()
    local x <const> = gb.rand(200, 2, {seed = 5}):eval()
    local y <const> = (3 * x):sin():sum(2):eval()
    local function likelihood(o)
      local m <const> = gb.gp.exact{kernel = gb.kernels.rbf{lengthscale = 0.4}, noise = 0.05, solver = gb.solvers.minres(o)}
      return m:condition(x, y):log_marginal_likelihood():item()
    end
    local exact <const> = likelihood{tol = 1e-10}
    local loose <const> = math.abs(likelihood{} - exact)
    assert.is_true(loose > 1e-9 and loose <= 5e-3 * math.abs(exact))
    assert.is_true(math.abs(likelihood{train_tol = 1e-3} - exact) <= loose / 50)
    assert.equal(exact, likelihood{tol = 1e-6, train_tol = 1e-10})
  end)
  it("takes no tolerance of 1", function()
    raises("option", "gb.solvers.minres: train_tol must be between 0 and 1, got 1", gb.solvers.minres, {train_tol = 1})
  end)
end)

describe("a model", function()
  local y <const> = ((x * 6):sin():sum(2) + 0.3 * gb.randn(n, {seed = 6})):eval()
  local xs <const> = gb.rand(20, 2, {seed = 7}):eval()
  local function model(s) return gb.gp.exact{kernel = K.matern52{lengthscale = 0.4}, noise = 0.1, solver = s}:condition(x, y) end
  local exact <const> = model "direct"

  it("predicts with any solver", function()
    local want <const> = exact:predict(xs)
    for _, s in ipairs{gb.solvers.minres{tol = 1e-8}, gb.solvers.alternating_projections{tol = 1e-5, block = 50, max_iter = 3000},
      gb.solvers.cholesky{}} do
      local got <const> = model(s):predict(xs)
      near(want.mean, got.mean, 1e-3, tostring(s))
      near(want.f_var, got.f_var, 1e-3, tostring(s))
    end
    near(want.mean, model(gb.solvers.sdd{tol = 1e-4, batch = 50, max_iter = 40000}):predict(xs).mean, 1e-2)
  end)

  it("has a likelihood and its gradient with any solver", function()
    local want <const> = exact:log_marginal_likelihood()
    local slopes <const> = gb.grad(want, (gb.params(exact)))
    for _, s in ipairs{gb.solvers.minres{tol = 1e-6, probes = 300}, gb.solvers.cholesky{},
      gb.solvers.alternating_projections{tol = 1e-3, block = n, probes = 300}} do
      local m <const> = model(s)
      local got <const> = m:log_marginal_likelihood()
      near(want:item() / n, got:item() / n, 0.02, tostring(s))
      for i, g in ipairs(gb.grad(got, (gb.params(m)))) do near(slopes[i] / n, g / n, 0.02, tostring(s)) end
    end
  end)
end)

describe("a diagnosis", function()
  local function failure(c)
    local ok <const>, err <const> = pcall(core.eval, gb.linalg.cholesky(c))
    assert.is_false(ok)
    return err
  end

  it("names the row that failed, the two nearest rows and three remedies", function()
    local twice <const> = gb.cat({x, x:slice(1, 5, 5)}, 1):eval()
    local rbf <const> = K.rbf{lengthscale = 0.3}
    local err <const> = failure(rbf(twice))
    local d <const> = diagnosis(twice, nil, rbf, 0, err)
    assert.equal(err.order, d.pivot)
    assert.same({5, n + 1, 0}, {math.min(d.nearest.i, d.nearest.j), math.max(d.nearest.i, d.nearest.j), d.nearest.distance})
    assert.equal(2, d.duplicates)
    assert.equal(3, #d.remedies)
    local text <const> = tostring(d)
    assert.matches("it failed at row " .. err.order, text, 1, true)
    assert.matches("raise the noise to [%d.e-]+ or more", text)
    local floor <const> = tonumber(text:match "raise the noise to ([%d.e-]+)")
    assert.is_true((pcall(core.eval, gb.linalg.cholesky(rbf(twice) + floor * gb.eye(n + 1)))))
    local values <const> = gb.linalg.eigh(rbf(twice)):totable()
    near(values[n + 1], d.largest, 1e-6)
  end)

  it("finds the nearest of rows that differ", function()
    local points <const> = gb.tensor{{0, 0}, {3, 0}, {3, 0.25}, {9, 9}}
    local d <const> = diagnosis(points, nil, K.rbf{}, 1e-3, nil)
    assert.same({2, 3}, {math.min(d.nearest.i, d.nearest.j), math.max(d.nearest.i, d.nearest.j)})
    near(0.25, d.nearest.distance, 1e-12)
    assert.equal(0, d.duplicates)
  end)

  it("sees f32, and inputs far from their centre", function()
    local far <const> = (x:to{dtype = "f32"} + 1e4):eval()
    local d <const> = diagnosis(far, nil, K.rbf{}, 1e-7, {code = "not_pd", order = 3})
    local text <const> = table.concat(d.remedies, "\n")
    assert.matches("use f64: condition", text)
    assert.matches("centre the inputs: column 1 has mean 1e%+04", text)
    assert.equal(3, d.pivot)
  end)

  it("says where values are not finite", function()
    local y <const> = gb.ones(n):put(1, gb.tensor({7, 9}, {dtype = "i64"}), gb.tensor{0 / 0, 1 / 0})
    local d <const> = diagnosis(x, y, K.rbf{}, 0.1, nil)
    assert.same({what = "y", row = 7, column = 1, count = 2}, d.bad)
    assert.matches("y: 2 values are not finite, the first in row 7, column 1", tostring(d))
    assert.equal(3, #d.remedies)
  end)

  it("takes one row, and noise of every point", function()
    assert.equal(2, #diagnosis(x:slice(1, 1, 1), nil, K.rbf{}, 0, nil).remedies)
    local d <const> = diagnosis(x, nil, K.rbf{}, gb.full({n}, 0.5), nil)
    near(0.5, d.noise, 1e-15)
  end)
end)

describe("what solvers print", function()
  it("is the tolerance of fits, too, where that is another", function()
    assert.equal("cg(tol 1e-06, 0.01 in fits)", tostring(gb.solvers.cg{}))
    assert.equal("cg(tol 0.001, nystrom(20), mixed)",
      tostring(gb.solvers.cg{tol = 1e-3, precond = gb.precond.nystrom{rank = 20}, precision = "mixed"}))
  end)

  it("is no condition where none was estimated", function()
    local _, estimated <const> = gb.solvers.cg{}:solve(A, B)
    local _, other <const> = gb.solvers.alternating_projections{}:solve(A, B, {x0 = gb.linalg.solve(A, B)})
    assert.matches("condition about", tostring(estimated))
    assert.equal(0, other.condition)
    assert.is_nil(tostring(other):find("condition", 1, true))
  end)
end)

describe("what solvers choose where nothing is said", function()
  it("is a rank of one for every 50 points, from 100 to 1,000, and within an eighth of the memory", function()
    local p <const> = gb.precond.nystrom{}
    local before <const> = gb.memory.limit "4 GiB"
    finally(function() gb.memory.limit(before) end)
    for n, rank in pairs{[1] = 1, [60] = 60, [100] = 100, [5000] = 100, [5050] = 101, [40000] = 800, [50000] = 1000,
        [60000] = 1000} do
      assert.equal(rank, p:rank_at(n), n .. " points")
    end
    gb.memory.limit "32 MiB"                                           -- an eighth holds 52 columns of 10,000 numbers
    assert.equal(52, p:rank_at(10000))
    assert.equal(1, p:rank_at(10000000))
    assert.equal(7, gb.precond.nystrom{rank = 7}:rank_at(40000))
    assert.equal(5, gb.precond.nystrom{rank = 7}:rank_at(5))
    assert.equal("auto", gb.precond.nystrom{rank = "auto"}:rank_at(5))
  end)

  it("is mixed precision for streamed matrices of f64 from 1,000 rows on", function()
    local core <const> = require "gibbous.core"
    local cg <const>, seen = core.cg, nil
    core.cg = function(a, b, o)
      seen = o.mixed
      return cg(a, b, o)
    end
    finally(function() core.cg = cg end)
    local function mixed(n, dtype, o, stored)
      local x <const> = gb.rand(n, 1, {seed = 1, dtype = dtype}):eval()
      local a <const> = gb.kernels.rbf{}(x) + gb.eye(n, {dtype = dtype})
      gb.solvers.cg(o or {max_iter = 1}):run({a = stored and gb.ones(n, n, {dtype = dtype}):eval() or a},
        gb.ones(n, {dtype = dtype}))
      return seen
    end
    assert.is_true(mixed(1000, "f64"))
    assert.is_false(mixed(999, "f64"))
    assert.is_false(mixed(1000, "f32"))
    assert.is_false(mixed(1000, "f64", {max_iter = 1, precision = "full"}))
    assert.is_true(mixed(10, "f64", {max_iter = 1, precision = "mixed"}))
    assert.is_false(mixed(1000, "f64", nil, true))
  end)
end)

describe("a solve that misses its tolerance", function()
  local process <const> = require "spec.process"

  --- The lines that a script writes to stderr.
  local function errors_of(script)
    local path <const> = os.tmpname()
    local f <close> = assert(io.open(path, "w"))
    f:write(script)
    f:close()
    local _, errors <const>, code <const> = process.run{path}
    os.remove(path)
    assert.equal(0, code, errors)
    local lines <const> = {}
    for line in errors:gmatch "[^\n]+" do lines[#lines + 1] = line end
    return lines
  end

  it("says so on stderr once a script line, for every solver", function()
    local lines <const> = errors_of[[
local gb = require "gibbous"
local A, b = gb.rand(30, 30, {seed = 1}), gb.ones(30)
for _ = 1, 3 do gb.solvers.cg{}:solve(A, b):eval() end
gb.solvers.minres{max_iter = 2}:solve(A + A:t(), b)
gb.solvers.cg{precond = gb.precond.jacobi{}, max_iter = 2}:solve(A + A:t() + gb.eye(30) * 20, b):eval()
local good = gb.solvers.cg{}:solve(A + A:t() + gb.eye(30) * 40, b):eval()]]
    assert.equal(3, #lines, table.concat(lines, "\n"))
    assert.matches(
      ":3: a solve missed its tolerance: indefinite after %d+ steps, relative residual %S+; the matrix is not positive", lines[1])
    assert.matches(":4: a solve missed its tolerance: max_iter after 2 steps", lines[2])
    assert.matches(":5: a solve missed its tolerance: max_iter after 2 steps", lines[3])
  end)

  it("does so in a gradient too, which nobody has a record of", function()
    local lines <const> = errors_of[[
local gb = require "gibbous"
local B = gb.randn(40, 40, {seed = 1})
local A, b = (B:matmul(B:t()) + 0.01 * gb.eye(40)):eval(), gb.eye(40):select(2, 1):requires_grad()
local x, info = gb.solvers.cg{tol = 1e-6, max_iter = 12}:solve(gb.eye(40) * 2 + A * 0, b)
assert(info.converged)
local s = gb.randn(40, {seed = 2}):requires_grad()
local y, second = gb.solvers.cg{tol = 1e-6, max_iter = 12}:solve(A + gb.linalg.diag(s * 0),
  A:matmul(gb.ones(40)):detach() * 0 + b * 0)
assert(second.converged)
gb.grad((y * gb.randn(40, {seed = 3})):sum(), b):eval()]]
    assert.equal(1, #lines, table.concat(lines, "\n"))
    assert.matches(":10: a solve missed its tolerance: max_iter after 12 steps", lines[1])
  end)
end)
